"""`tirx-tile-linalg`: functions of structured operations become kernels on tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import count
from math import nan, prod
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, FloatAttr, IndexType, IntegerType, ModuleOp, StringAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tirx.diagnostics import LocatedError, for_each, remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call, Formula
from tirx.dialects.requirements import Variant, add_requirement, set_variants
from tirx.dialects.structured import Structured, is_structured, memref_type, reduced
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.tirx.kernel import grid_problem
from tirx.hw.targets import Target, TargetError
from tirx.passes.ir.emitter import Emitter, erase, is_zero
from tirx.passes.ir.launch_values import ceildiv, launched
from tirx.passes.match.slots import CLUSTER, MOST_SLOTS, MOST_STAGES, ORDER, PARTS, SPLIT, Cluster
from tirx.passes.match.tile_choice import Operands, Schedules, TileChoice, VariantChoice, choose_tiles
from tirx.passes.products.linalg_steps import factors_of, has_index, has_instructions, require_computable, used_inputs
from tirx.passes.products.linalg_tiles import Held, LinalgTiles
from tirx.remarks import TilesChosen
from tirx.rules import InvalidOperation, LinalgError, TilingError
from tirx.values import dataclass, field, replace

if TYPE_CHECKING:
    from tirx.passes.match.variant_choice import OpenProduct

_MOST_SIZES = 3

KERNEL = "tirx.kernel"
"""The attribute of a function that becomes a kernel; it may say the target."""

_LEAST_BITS = 16
"""Bits of elements that `tirx.reduce` combines, at least."""

_TILE, _THREADS = (128, 128, 64), 256
"""Tile and threads where neither options nor the timing model say them."""

SCHEDULES = Schedules((1, 2, 4), (MOST_SLOTS, 8, 12), ordered=True)
"""What the model rates where nothing is written."""


@dataclass(frozen=True)
class TirxTileLinalgPass(ModulePass):
    """A function that holds operations of `linalg` (`linalg.generic` and named ones) on its arguments becomes a kernel
    of that name: `tirx-tile-linalg{target=sm_90a}`, or `{tile=128,256,64 threads=256 target=sm_90a}`. Functions with
    `attributes {tirx.kernel}`, or `{tirx.kernel = "sm_90a"}` with a target, do so wherever they are compiled: the
    pipeline begins with this pass and `marked`, which takes no others. A mark is needed for a function that holds
    `memref.copy` alone, which may be host code.

    Without `tile` the timing model chooses the tiles of a contraction for its sizes, types and target, and a remark
    says why; other functions, and those without a target, have tiles of 128x128 and 64 elements of a reduction. Few
    rows of D become columns of a product of B and A (D^T = B A^T), whose sums are transposed in registers: instructions
    multiply 64 rows or more, but as few as 8 columns. `exchanged` asks for that beside a `tile`. Sums that begin at
    zero may be those of several parts of K (see `tirx-split-k`), and rings of small tiles have more slots, as the model
    says; `parts` and `stages` fix these. Blocks take few tiles in groups of rows, too (`tirx.order`), and load operands
    in pairs (`tirx.cluster`), where that is worth it, unless `schedule=false`. A function whose sizes only a launch
    knows becomes several kernels, at most `variants`; a launch takes the one that the model gives the least time. With
    `sizes` (M, N and K) it becomes one, with the best tile for these. All operations of a function have the same
    parallel dimensions, at most three, of the same sizes, which the launch checks where only it knows them. `tile` cuts
    the last two (the last one of reductions) into the tiles of the blocks; the size behind them cuts the reduction.
    Dimensions in front of these count a batch: a block works on one element of it. Contractions (`D += A B`, each
    operand in either order, converted by `arith.extf` where types differ) become products, elementwise operations maps,
    reductions by addf, addi, maxnumf and minnumf loops. Other reductions, of any body, and contractions of types that
    no tensor core of the target has, such as f32, do their body for one element after the other, in order. Bodies may
    ask for `linalg.index`. What one operation writes at a place the next may read at the same place: it stays in
    registers, and a `memref.alloc` that only lives within the function is nowhere else. Operands whose dimensions come
    in another order become arguments with strides, vectors that have one of two dimensions rows (`memref<1x64xf32>`) or
    columns. Other functions stay.
    """

    name = "tirx-tile-linalg"

    tile: tuple[int, ...] | None = None
    threads: int | None = None
    target: str | None = None
    exchanged: bool = False
    parts: int | None = None
    stages: int | None = None
    variants: int | None = None
    sizes: tuple[int, ...] | None = None
    schedule: bool = True
    marked: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inside = set(tirx.kernels(op))
        found = [each for each in op.walk() if isinstance(each, func.FuncOp) and each not in inside]
        made = [each for each in found if KERNEL in each.attributes or (not self.marked and _has_linalg(each))]
        names = {each.sym_name.data for each in made}
        for call in op.walk():
            if isinstance(call, func.CallOp) and (name := call.callee.string_value()) in names:
                raise LinalgError(call, f"expected no calls of @{name}, which becomes a kernel; launch it")
        for_each(made, self._tile)

    def _tile(self, function: func.FuncOp) -> None:
        options = self._for(function)
        function.attributes.pop(KERNEL, None)
        options.check(function)
        try:
            _Tiling(function, options=options).run()
        except InvalidOperation as error:  # of a tile that is too large
            raise LocatedError(function, str(error)) from error

    def _for(self, function: func.FuncOp) -> TirxTileLinalgPass:
        """The pass with the target of the mark, where it has none itself."""
        mark = function.attributes.get(KERNEL)
        return replace(self, target=mark.data) if self.target is None and isinstance(mark, StringAttr) else self

    def open_product(self, function: func.FuncOp) -> OpenProduct | None:
        """The product of a function that becomes several kernels, None for others. Raises LocatedError."""
        tiling = _Tiling(function, options=self._for(function))
        return tiling.open_product(tiling.read())

    def check(self, function: func.FuncOp) -> None:
        """Raises LocatedError for options that no kernel can have."""
        tile = self.tile or _TILE
        if any(extent < 1 for extent in tile):
            raise TilingError(function, f"expected positive tile sizes, found {','.join(map(str, tile))}")
        if len(tile) > _MOST_SIZES:
            sizes = ",".join(map(str, tile))
            raise TilingError(
                function, f"expected at most {_MOST_SIZES} tile sizes, of two dimensions and a reduction, found {sizes}"
            )
        if self.sizes is not None and not (len(self.sizes) == 3 and min(self.sizes) > 0):
            found = ",".join(map(str, self.sizes))
            raise TilingError(function, f"expected sizes: M, N and K of 1 or more, found {found}")
        if self.variants is not None and self.variants < 1:
            raise TilingError(function, f"expected variants of 1 or more, found {self.variants}")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise TilingError(function, f"expected 1 to 1024 threads, found {self.threads}")
        if self.target is not None:
            try:
                Target.parse(self.target)
            except TargetError as error:
                raise LocatedError(function, str(error)) from error


def _has_linalg(function: func.FuncOp) -> bool:
    """Returns True if a function holds a structured operation that is no copy."""
    return any(is_structured(inner) and not isinstance(inner, memref.CopyOp) for inner in function.body.walk())


@dataclass
class _Tiling(LinalgTiles):
    options: TirxTileLinalgPass = field(default_factory=TirxTileLinalgPass)

    def run(self) -> None:
        """Puts a kernel in the place of the function, and its variants in front of it."""
        steps = self.read()
        found = self._variants(steps)
        tiles = {each.tile.kind: each.tile for each in found}
        name, first = self.function.sym_name.data, next(iter(tiles.values()), None)
        names = {kind: self._make_variant(tile) if tile is not first else name for kind, tile in tiles.items()}
        kernel = self._make(steps, first)
        if any(each.cost for each in found):
            set_variants(kernel, [Variant(names[each.tile.kind], each.conditions, each.cost) for each in found])

    def _make_variant(self, choice: TileChoice) -> str:
        """Puts a kernel of the same function with another tile in front of it. Returns its name."""
        copy, module = self.function.clone(), self.function.get_toplevel_object()
        assert isinstance(module, Operation)
        taken = {op.properties["sym_name"] for op in module.walk() if "sym_name" in op.properties}
        stem = f"{self.function.sym_name.data}_{choice.rows}x{choice.columns}"
        copy.sym_name = next(n for i in count(1) if (n := StringAttr(stem if i == 1 else f"{stem}_{i}")) not in taken)
        for own, copied in zip(self.function.walk(), copy.walk(), strict=True):
            copied.location = own.location
        Rewriter.insert_op(copy, InsertPoint.before(self.function))
        tiling = _Tiling(copy, options=self.options)
        tiling._make(tiling.read(), choice)
        return copy.sym_name.data

    def _make(self, steps: Sequence[Structured], choice: TileChoice | None) -> tirx.KernelOp:
        """Puts a kernel in the place of the function, with the tile of a choice or that of the options."""
        options, parallel = self.options, self.batch + self.rank
        tile, self.threads = options.tile or _TILE, options.threads or _THREADS
        self.exchanged, self.parts, self.most = options.exchanged, options.parts or 1, MOST_SLOTS
        if choice is not None:
            extents = (choice.columns, choice.rows) if choice.exchanged else (choice.rows, choice.columns)
            tile, self.threads = (*extents, choice.depth), choice.threads
            self.exchanged, self.parts, self.most = choice.exchanged, choice.parts, choice.most
        self.tile = tile
        self.extents = tile[: self.rank]
        if len(tile) < self.rank + self.has_reduction:
            raise TilingError(
                self.function,
                f"expected {self.rank + self.has_reduction} tile sizes, {self.rank} of the last parallel dimensions"
                f"{' and that of the reduction' if self.has_reduction else ''}, found {len(tile)}",
            )
        kernel = self._kernel(steps)
        if self.parts != 1:
            kernel.attributes[PARTS] = i32_attr(self.parts)
        if choice is not None and choice.is_ordered:
            kernel.attributes[ORDER] = StringAttr(tirx.TileOrder.GROUP)
        if choice is not None and options.schedule and any(map(self._reassociates, steps)):
            kernel.attributes[SPLIT] = StringAttr("stream" if choice.streamed else "none")
        if choice is not None and choice.shares is not None:
            kernel.attributes[CLUSTER] = StringAttr(Cluster.COLUMNS if choice.shares == "a" else Cluster.ROWS)
        block = kernel.body.block
        self.arguments: Mapping[SSAValue, SSAValue] = dict(zip(self.function.body.block.args, block.args, strict=True))
        self.emit = Emitter(InsertPoint.at_end(block), self.function.location)
        for op in self.function.body.block.ops:
            if isinstance(op, arith.ConstantOp):
                constant = self.emit(op.clone())
                constant.result.name_hint = op.result.name_hint
                self.arguments = {**self.arguments, op.result: constant.result}
        axes = (tirx.GridAxis.Z, tirx.GridAxis.Y, tirx.GridAxis.X)[-parallel:]
        ids = [self.emit(tirx.BlockIdOp(axis)).result for axis in axes]
        steps_of = [self.emit.constant(extent, IndexType()) for extent in self.extents]
        tiled = zip(ids[self.batch :], steps_of, strict=True)
        self.starts = [*ids[: self.batch], *(self.emit.mul(i, by) for i, by in tiled)]
        for step in steps:
            self.emit = Emitter(InsertPoint.at_end(block), step.op.location)
            self._step(step)
        self._store(steps)
        self.emit(tirx.ReturnOp())
        Rewriter.insert_op(kernel, InsertPoint.before(self.function))
        erase(self.function)
        return kernel

    def _variants(self, steps: Sequence[Structured]) -> Sequence[VariantChoice]:
        """The best tiles for the first contraction, and where to take which. Empty where options say the tile."""
        options, name, step = self.options, self.function.sym_name.data, self._contracted(steps)
        if step is None or (asked := self._asked(steps, step)) is None:
            return ()
        product = self.open_product(steps)
        if product is not None:
            variants = product.variants if options.sizes is None else product.best(options.sizes)
            for choice in dict.fromkeys(each.tile for each in variants):
                remark(step.op, TilesChosen(name, str(choice), f"{choice.prediction}"))
            return variants
        found = choose_tiles(*asked)[:2]
        if found:
            others = "".join(f"; {each}: {each.score / found[0].score - 1:+.0%}" for each in found[1:])
            remark(step.op, TilesChosen(name, str(found[0]), f"{found[0].prediction}{others}"))
        return [VariantChoice(each) for each in found[:1]]

    def open_product(self, steps: Sequence[Structured]) -> OpenProduct | None:
        """The first contraction, None where its sizes are known, or options say its tile."""
        step = self._contracted(steps)
        if step is None or (asked := self._asked(steps, step)) is None or None not in asked[0].size:
            return None
        from tirx.passes.match.variant_choice import MOST_VARIANTS, OpenProduct  # of no use to other functions

        operands, target, schedules = asked
        m, n, k = (self._size_along(step, d) for d in (*step.parallel[self.batch :], *step.reduction))
        return OpenProduct(operands, (m, n, k), target, schedules, self.options.variants or MOST_VARIANTS)

    def _asked(self, steps: Sequence[Structured], step: Structured) -> tuple[Operands, Target, Schedules] | None:
        """The product of a contraction, and the schedules that it may have. None where options say the tile."""
        options = self.options
        if options.tile is not None or options.target is None or self.rank != 2:
            return None
        parts = (options.parts,) if options.parts else SCHEDULES.parts if self._splits(steps, step) else (1,)
        streams = options.schedule and parts != (1,) and self._reassociates(step)
        schedules = Schedules(
            parts, SCHEDULES.slots, options.stages, options.schedule, streams, threads=options.threads
        )
        return self._operands(steps, step), Target.parse(options.target), schedules

    def _contracted(self, steps: Sequence[Structured]) -> Structured | None:
        """The first contraction that tensor cores do."""
        return next(filter(self._multiplies, steps), None)

    def _multiplies(self, step: Structured) -> bool:
        """Returns True for a contraction that tensor cores do."""
        factors, target = factors_of(step), self.options.target
        if factors is None or self.rank != 2:
            return False
        return target is None or has_instructions(step, factors, Target.parse(target))

    @staticmethod
    def _operands(steps: Sequence[Structured], step: Structured) -> Operands:
        """The product of a contraction, whose sums become what the last step writes."""
        shape, (a, b) = memref_type(step.outputs[0]).get_shape(), factors_of(step) or (0, 1)
        inner = memref_type(step.inputs[a]).get_shape()[step.dims[a].index(step.reduction[0])]
        m, n, k = (None if size == DYNAMIC_INDEX else size for size in (*shape[-2:], inner))
        last = next(each for each in reversed(steps) if each.outputs)
        return Operands(
            (m, n, k),
            memref_type(step.inputs[a]).element_type,
            memref_type(step.inputs[b]).element_type,
            memref_type(step.outputs[0]).element_type,
            memref_type(last.outputs[0]).element_type,
            prod(max(1, size) for size in shape[:-2]),
        )

    @staticmethod
    def _reassociates(step: Structured) -> bool:
        """Returns True if the additions of a contraction have `fastmath<reassoc>`."""
        add = step.yielded[0].owner if step.reduction and step.yielded else None
        return isinstance(add, arith.AddfOp) and FastMathFlag.REASSOC in add.fastmath.data

    @staticmethod
    def _splits(steps: Sequence[Structured], step: Structured) -> bool:
        """Returns True if blocks may share out the sums of a contraction along K: see `tirx-split-k`."""
        before = [each for each in steps[: steps.index(step)] if step.outputs[0] in each.outputs]
        alone = all(each is step or not each.reduction for each in steps)
        shared: dict[SSAValue, bool] = {}
        """What the function writes -> True if it comes from the sums, so that each block writes its share of it."""
        for each in steps:
            read = range(len(each.inputs)) if each.body is None else used_inputs(each, len(each.operands))
            comes = each is step or any(shared.get(each.operands[i], False) for i in read)
            shared.update(dict.fromkeys(each.outputs, comes))
        written = all(comes for output, comes in shared.items() if isinstance(output, BlockArgument))
        return alone and written and bool(before) and before[-1].is_fill and is_zero(before[-1].inputs[0])

    def _kernel(self, steps: Sequence[Structured]) -> tirx.KernelOp:
        types: list[Attribute] = []
        for argument in self.function.body.block.args:
            form = self.forms.get(argument)
            types.append(argument.type if form is None else form.type_of(memref_type(argument)))
        sizes = [self._size_of_outputs(steps, d) for d in range(self.batch + self.rank)]
        tiles = zip(sizes[self.batch :], self.extents, strict=True)
        blocks = [*sizes[: self.batch], *(ceildiv(size, extent) for size, extent in tiles)]
        name, options, grid = self.function.sym_name.data, self.options, tuple(reversed(blocks))
        if (problem := grid_problem(grid)) is not None:
            raise TilingError(self.function, problem)
        kernel = tirx.KernelOp(name, types, self.threads, target=options.target, grid=grid)
        kernel.location = self.function.location
        kernel.attributes.update(self.function.attributes)
        for each in self.requirements:
            add_requirement(kernel, each)
        for old, new in zip(self.function.body.block.args, kernel.body.block.args, strict=True):
            new.name_hint = old.name_hint
        return kernel

    def _size_of_outputs(self, steps: Sequence[Structured], dimension: int) -> Formula:
        """The one size of what is written along a parallel dimension.

        The largest one, where the launch compares them: if only some are empty, there are blocks and preconditions.
        """
        sizes: list[Formula] = []
        for step in steps:
            for operand, dims in zip(step.operands, step.dims, strict=True):
                if operand in step.outputs and isinstance(operand, BlockArgument):
                    size = self.size(step, operand, dims, dims.index(step.parallel[dimension]))
                    assert size is not None
                    sizes.append(size)
        if not sizes:
            raise LinalgError(self.function, "expected a function that writes one of its arguments, found none")
        known = next((size for size in sizes if isinstance(size, int)), None)
        first, *others = dict.fromkeys(sizes)
        return reduce(lambda most, each: Call("max", (most, each)), others, first) if known is None else known

    # Steps.

    def _step(self, step: Structured) -> None:
        if step.is_fill:
            number = self.arguments.get(step.inputs[0], step.inputs[0])
            self.held[step.outputs[0]] = Held(number=number)
        elif not step.reduction:
            self._elementwise(step)
        elif self._multiplies(step) and (factors := factors_of(step)) is not None:
            self._contraction(step, factors)
        elif (found := self._reduced(step)) is not None:
            self._reduction(step, *found)
        else:
            self._sequence(step)

    def _reduced(self, step: Structured) -> tuple[tirx.Combination, SSAValue] | None:
        """The values that `tirx.reduce` combines, and how; None for other steps."""
        if self.rank != 1 or len(step.reduction) != 1 or has_index(step):
            return None
        element = memref_type(step.outputs[0]).element_type
        bits = tirx.TileType.get((1,), element, tirx.MemorySpace.REGISTER).dtype.bits
        return None if bits < _LEAST_BITS else reduced(step)

    def _loop(self, step: Structured) -> tuple[scf.ForOp, SSAValue]:
        """A loop over the tiles of the reduction; the builder goes into it."""
        high = launched(self.emit, self._size_along(step, step.reduction[0]))
        loop, at = self._enter(step, high, self.tile[self.rank])
        if self.most != MOST_SLOTS and factors_of(step) is not None:
            loop.attributes[MOST_STAGES] = i32_attr(self.most)
        return loop, at

    def _contraction(self, step: Structured, factors: Sequence[int]) -> None:
        operands = [(step.inputs[i], step.dims[i]) for i in factors]
        shared = [
            self._alloc(self._shape(step, dims), memref_type(operand).element_type, tirx.MemorySpace.SHARED)
            for operand, dims in operands
        ]
        out = step.outputs[0]
        extents = self.extents[::-1] if self.exchanged else self.extents
        accumulator = self._alloc(extents, memref_type(out).element_type, tirx.MemorySpace.ACCUMULATOR)
        held = self.held.get(out, Held())
        if held.number is not None:
            self.emit(tirx.FillOp(accumulator, held.number))
        else:
            before = held.tile or self._view(step, out, step.parallel)
            self.emit(tirx.CopyOp(self._turned(self._in_registers(before)) if self.exchanged else before, accumulator))
        loop, at = self._loop(step)
        views = [self._view(step, operand, dims, (at,)) for operand, dims in operands]
        for view, tile in zip(views, shared, strict=True):
            self.emit(tirx.CopyOp(view, tile))
        first, second = reversed(shared) if self.exchanged else shared
        product = self.emit(tirx.MmaOp(first, second, accumulator))
        if self._reassociates(step):
            product.fastmath = arith.FastMathFlagsAttr((FastMathFlag.REASSOC,))
        self._leave(loop)
        self.held[out] = Held(accumulator)

    def _elementwise(self, step: Structured) -> None:
        loops = step.parallel[self.batch :]
        if self.rank == 1 and self.has_reduction:
            loops = (*loops, -1)  # a column, as reductions make them
        if step.body is None:
            self.held[step.outputs[0]] = Held(self._read(step, step.inputs[0], step.parallel, loops))
            return
        used = used_inputs(step, len(step.operands))
        # Loads in front of what waits for a product.
        order = sorted(used, key=lambda i: step.operands[i] in self.held)
        read = {i: self._read(step, step.operands[i], step.dims[i], loops) for i in order}
        tiles = [read[i] for i in used]
        results = self._map(step, used, tiles, step.yielded, self._full_shape(step, step.parallel, loops))
        for output, result in zip(step.outputs, results, strict=True):
            self.held[output] = Held(result)

    def _reduction(self, step: Structured, how: tirx.Combination, value: SSAValue) -> None:
        loops = (*step.parallel[self.batch :], *step.reduction)
        out, size = step.outputs[0], self._size_along(step, step.reduction[0])
        assert step.body is not None
        column = (*self.extents, 1)
        total = self._alloc(column, memref_type(out).element_type, tirx.MemorySpace.REGISTER)
        self.emit(tirx.CopyOp(self._read(step, out, step.parallel, loops), total))
        loop, at = self._loop(step)
        used = used_inputs(step, len(step.inputs))
        tiles = [self._read(step, step.operands[i], step.dims[i], loops, (at,)) for i in used]
        shape = (*self.extents, self.tile[1])
        (values,) = self._map(step, used, tiles, [value], shape)
        if not isinstance(size, int) or size % self.tile[1]:
            values = self._inside(values, at, launched(self.emit, size), 0.0 if how is tirx.Combination.ADD else nan)
        type_ = tirx.TileType.get(column, memref_type(out).element_type, tirx.MemorySpace.REGISTER)
        combine = step.yielded[0].owner
        assert isinstance(combine, Operation)
        require_computable(combine)
        part = self.emit(tirx.ReduceOp([values], [1], how, [type_])).res[0]
        block = Block(arg_types=[scalar_type(memref_type(out).element_type)] * 2)
        both = combine.clone()
        both.operands = block.args
        block.add_ops([both, tirx.YieldOp(both.results[0])])
        self.emit(tirx.CopyOp(self.emit(tirx.MapOp([total, part], Region(block), [type_])).res[0], total))
        self._leave(loop)
        self.held[out] = Held(total)

    def _inside(self, tile: SSAValue, at: SSAValue, size: SSAValue, otherwise: float) -> SSAValue:
        """The elements of a part of rows that begins `at` a place before `size`; those behind the end are another."""
        type_ = tirx.TileType.of(tile)
        element = scalar_type(type_.element_type)
        if isinstance(type_.element_type, IntegerType | IndexType):
            other = self.emit.constant(0, cast("IntegerType", element))
        else:
            other = self.emit(arith.ConstantOp(FloatAttr(otherwise, cast("AnyFloat", element)))).result
        body = Block(arg_types=[element])
        emit = Emitter(InsertPoint.at_end(body), self.emit.location)
        place = emit.add(
            at, emit(tirx.IndexOp.create(properties={"dim": i32_attr(1)}, result_types=[IndexType()])).result
        )
        kept = emit(arith.SelectOp(emit.compare(place, size, "ult"), body.args[0], other)).result
        emit(tirx.YieldOp(kept))
        return self.emit(tirx.MapOp([tile], Region(body), [type_])).res[0]

    def _store(self, steps: Sequence[Structured]) -> None:
        """Writes what the block has computed, in the order of the first writes."""
        last = {output: step for step in steps for output in step.outputs}
        for output, held in list(self.held.items()):
            if not isinstance(output, BlockArgument):
                continue
            step = last[output]
            self.emit = Emitter(self.emit.point, step.op.location)
            view = self._view(step, output, step.parallel)
            if held.number is not None:
                self.emit(tirx.FillOp(view, held.number))
                continue
            assert held.tile is not None
            self.emit(tirx.CopyOp(self._in_registers(held.tile) if self.exchanged else held.tile, view))
