"""`tirx-tile-linalg`: functions of structured operations become kernels on tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tirx.diagnostics import LocatedError
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import (
    AllocOp,
    BlockIdOp,
    Combination,
    CopyOp,
    FillOp,
    GridAxis,
    KernelOp,
    LaunchValueOp,
    MapOp,
    MemorySpace,
    MmaOp,
    ReduceOp,
    ReturnOp,
    TileType,
    ViewOp,
    YieldOp,
    kernels,
)
from tirx.dialects.tirx.maps import scalar_type
from tirx.hw.targets import Target, TargetError
from tirx.passes.analysis.structured import Structured, contracted, is_structured, memref_type, reduced, structured
from tirx.passes.emit.emitter import Emitter
from tirx.rules import InvalidOperation, LinalgError, TilingError


@dataclass(frozen=True)
class TirxTileLinalgPass(ModulePass):
    """
    A function that holds `linalg.generic`, `linalg.matmul`, `linalg.fill` or `memref.copy` on its arguments becomes a
    kernel of that name: `tirx-tile-linalg{tile=128,256,64 threads=256 target=sm_90a}`.

    All operations of a function have the same one or two parallel dimensions, which `tile` cuts into the tiles of the
    blocks; the size behind them cuts the reduction. Contractions (`D += A B`, each operand in either order, converted
    by `arith.extf` where types differ) become products, elementwise operations maps, reductions by addf, maxnumf and
    minnumf loops. What one operation writes at a place the next may read at the same place: it stays in registers.
    Operands that are indexed the other way round become arguments with strides, vectors that have one of two dimensions
    rows (`memref<1x64xf32>`) or columns. Other functions stay.
    """

    name = "tirx-tile-linalg"

    tile: tuple[int, ...] = (128, 128, 64)
    threads: int = 256
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inside = set(kernels(op))
        found = [each for each in op.walk() if isinstance(each, func.FuncOp) and each not in inside]
        made = [each for each in found if any(is_structured(inner) for inner in each.body.walk())]
        names = {each.sym_name.data for each in made}
        for call in op.walk():
            if isinstance(call, func.CallOp) and (name := call.callee.string_value()) in names:
                raise LinalgError(call, f"expected no calls of @{name}, which becomes a kernel; launch it")
        for each in made:
            self._check(each)
            try:
                _Tiling(each, self).run()
            except InvalidOperation as error:  # of a tile that is too large
                raise LocatedError(each, str(error)) from error

    def _check(self, function: func.FuncOp) -> None:
        """Raises LocatedError for options that no kernel can have."""
        if any(extent < 1 for extent in self.tile):
            raise TilingError(function, f"expected positive tile sizes, found {','.join(map(str, self.tile))}")
        if not 1 <= self.threads <= 1024:
            raise TilingError(function, f"expected 1 to 1024 threads, found {self.threads}")
        if self.target is not None:
            try:
                Target.parse(self.target)
            except TargetError as error:
                raise LocatedError(function, str(error)) from error


class _Form(StrEnum):
    """How a kernel has an argument of the function: a vector that is one of two dimensions is a row or a column."""

    AS_IT_IS = "it is"
    TURNED = "its transpose"
    ROW = "a row"
    COLUMN = "a column"


@dataclass(frozen=True)
class _Held:
    """The elements of an argument that the block has written: a tile, in registers or an accumulator, or a number."""

    tile: SSAValue | None = None
    number: SSAValue | None = None


@dataclass
class _Tiling:
    """Tiles one function."""

    function: func.FuncOp
    options: TirxTileLinalgPass
    held: dict[SSAValue, _Held] = field(default_factory=dict[SSAValue, _Held])
    origins: list[SSAValue] = field(default_factory=list[SSAValue])

    def run(self) -> None:
        steps = [structured(op) for op in self._operations()]
        self.rank = len(steps[0].parallel)
        self._check(steps)
        tile = self.options.tile
        self.extents = tile[: self.rank]
        self.has_reduction = any(step.reduction for step in steps)
        if len(tile) < self.rank + self.has_reduction:
            raise TilingError(
                self.function,
                f"expected {self.rank + self.has_reduction} tile sizes, {self.rank} of parallel dimensions"
                f"{' and that of the reduction' if self.has_reduction else ''}, found {len(tile)}",
            )
        self.forms = self._forms(steps)
        kernel = self._kernel(steps)
        block = kernel.body.block
        self.arguments: Mapping[SSAValue, SSAValue] = dict(zip(self.function.body.block.args, block.args, strict=True))
        self.emit = Emitter(InsertPoint.at_end(block), self.function.location)
        for op in self.function.body.block.ops:
            if isinstance(op, arith.ConstantOp):
                constant = self.emit(op.clone())
                constant.result.name_hint = op.result.name_hint
                self.arguments = {**self.arguments, op.result: constant.result}
        axes = (GridAxis.Y, GridAxis.X) if self.rank == 2 else (GridAxis.X,)
        ids = [self.emit(BlockIdOp(axis)).result for axis in axes]
        steps_of = [self.emit.constant(extent, IndexType()) for extent in self.extents]
        self.origins = [self.emit(arith.MuliOp(i, by)).result for i, by in zip(ids, steps_of, strict=True)]
        for step in steps:
            self.emit = Emitter(InsertPoint.at_end(block), step.op.location)
            self._step(step)
        self._store(steps)
        self.emit(ReturnOp())
        Rewriter.insert_op(kernel, InsertPoint.before(self.function))
        self.function.detach()
        self.function.erase()

    def _operations(self) -> list[Operation]:
        blocks = self.function.body.blocks
        if len(blocks) != 1:
            raise LinalgError(self.function, f"expected a function of one block, found {len(blocks)}")
        found: list[Operation] = []
        for op in self.function.body.block.ops:
            if is_structured(op):
                found.append(op)
            elif not isinstance(op, arith.ConstantOp | func.ReturnOp) or (
                isinstance(op, func.ReturnOp) and op.operands
            ):
                raise LinalgError(
                    op,
                    "expected linalg.generic, linalg.matmul, linalg.fill, memref.copy and constants in a function that "
                    f"becomes a kernel, found '{op.name}'{' with operands' if op.name == 'func.return' else ''}",
                )
        return found

    def _check(self, steps: Sequence[Structured]) -> None:
        """Raises LocatedError for operations that blocks cannot do one after the other, each on its own tile."""
        arguments = set(self.function.body.block.args)
        written = {output: step.op for step in steps for output in step.outputs}
        for step in steps:
            if len(step.parallel) not in (1, 2) or len(step.parallel) != self.rank:
                raise LinalgError(
                    step.op,
                    f"expected one or two parallel dimensions, the same number in all operations of @"
                    f"{self.function.sym_name.data}, found {len(step.parallel)}",
                )
            if len(step.reduction) > 1:
                raise LinalgError(step.op, f"expected at most one reduction dimension, found {len(step.reduction)}")
            for number, (operand, dims) in enumerate(zip(step.operands, step.dims, strict=True)):
                if not isinstance(operand.type, MemRefType):
                    continue
                if operand not in arguments:
                    raise LinalgError(step.op, "expected memrefs that are arguments of the function, found another")
                if number >= len(step.inputs) and dims != step.parallel:
                    raise LinalgError(
                        step.op, f"expected outputs indexed by the parallel dimensions in order, found {dims}"
                    )
                if operand in written and dims != step.parallel:
                    raise LinalgError(
                        step.op,
                        f"expected what this function writes to be read where it is written, found it read by {dims}; "
                        "blocks do not wait for each other: make two functions of it",
                    )

    def _forms(self, steps: Sequence[Structured]) -> dict[SSAValue, _Form]:
        """How the kernel has each argument."""
        found: dict[SSAValue, _Form] = {}
        for step in steps:
            for operand, dims in zip(step.operands, step.dims, strict=True):
                if not isinstance(operand.type, MemRefType):
                    continue
                form = _Form.AS_IT_IS
                if dims != self._order(step, dims):
                    form = _Form.TURNED
                elif len(dims) == 1 and (self.rank == 2 or self.has_reduction):
                    form = _Form.COLUMN if dims[0] == step.parallel[0] else _Form.ROW
                if found.setdefault(operand, form) != form:
                    ways = f"as {found[operand]} and as {form}"
                    raise LinalgError(step.op, f"expected an argument to be indexed in one way, found it {ways}")
        return found

    @staticmethod
    def _order(step: Structured, dims: Sequence[int]) -> tuple[int, ...]:
        """The dimensions in the order of tiles: parallel ones, then that of the reduction."""
        return tuple(d for d in (*step.parallel, *step.reduction) if d in dims)

    def _kernel(self, steps: Sequence[Structured]) -> KernelOp:
        types: list[Attribute] = []
        for argument in self.function.body.block.args:
            type_: Attribute = argument.type
            form = self.forms.get(argument)
            if form in (_Form.ROW, _Form.COLUMN):
                (extent,) = memref_type(argument).get_shape()
                shape = [1, extent] if form is _Form.ROW else [extent, 1]
                type_ = MemRefType(memref_type(argument).element_type, shape)
            if form is _Form.TURNED:
                type_ = memref_type(argument)
                strides = type_.get_strides()
                if strides is None or any(n is None for n in strides):
                    raise LinalgError(
                        self.function,
                        f"expected known strides of an argument indexed in the other order, found {type_}",
                    )
                layout = StridedLayoutAttr([n for n in reversed(strides) if n is not None])
                type_ = MemRefType(type_.element_type, list(reversed(type_.get_shape())), layout)
            types.append(type_)
        out = steps[0].outputs[0]
        position = list[SSAValue](self.function.body.block.args).index(out)
        sizes = [self._size(out, position, d) for d in range(self.rank)]
        blocks: list[Formula] = [
            -(-size // extent) if isinstance(size, int) else Call("ceildiv", (size, extent))
            for size, extent in zip(sizes, self.extents, strict=True)
        ]
        self.sizes: list[Formula] = sizes
        name, options = self.function.sym_name.data, self.options
        kernel = KernelOp(name, types, options.threads, target=options.target, grid=tuple(reversed(blocks)))
        kernel.location = self.function.location
        kernel.attributes.update(self.function.attributes)
        for old, new in zip(self.function.body.block.args, kernel.body.block.args, strict=True):
            new.name_hint = old.name_hint
        return kernel

    @staticmethod
    def _size(value: SSAValue, position: int, dimension: int) -> Formula:
        size = memref_type(value).get_shape()[dimension]
        return Call("size", (position, dimension)) if size == DYNAMIC_INDEX else size

    # Tiles.

    def _shape(self, step: Structured, dims: Sequence[int]) -> tuple[int, ...]:
        """The extents of a tile that has these dimensions."""
        sizes = (*self.extents, *self.options.tile[self.rank : self.rank + 1])
        order = (*step.parallel, *step.reduction)
        return tuple(sizes[order.index(d)] for d in self._order(step, dims))

    def _view(self, step: Structured, operand: SSAValue, dims: Sequence[int], at: SSAValue | None = None) -> SSAValue:
        """The part of an argument that the block, in an iteration of the reduction, works on."""
        value = self.arguments[operand]
        order, shape = self._order(step, dims), self._shape(step, dims)
        starts = [self.origins[step.parallel.index(d)] if d in step.parallel else at for d in order]
        match self.forms[operand]:
            case _Form.ROW:
                starts, shape = [self.emit.constant(0, IndexType()), *starts], (1, *shape)
            case _Form.COLUMN:
                starts, shape = [*starts, self.emit.constant(0, IndexType())], (*shape, 1)
            case _:
                pass
        clipped = any(
            size == DYNAMIC_INDEX or size % extent
            for size, extent in zip(memref_type(value).get_shape(), shape, strict=True)
        )
        type_ = TileType.get(shape, memref_type(value).element_type, MemorySpace.GLOBAL)
        view = ViewOp(value, [start for start in starts if start is not None], type_, clipped=clipped)
        return self.emit(view).result

    def _full_shape(self, step: Structured, dims: Sequence[int], loops: Sequence[int]) -> tuple[int, ...]:
        """The extents of a tile with an extent of 1 for each dimension of `loops` that it lacks."""
        shape = dict(zip(self._order(step, dims), self._shape(step, dims), strict=True))
        return tuple(shape.get(d, 1) for d in loops)

    def _alloc(self, shape: Sequence[int], element: Attribute, memory: MemorySpace) -> SSAValue:
        return self.emit(AllocOp(TileType.get(shape, element, memory))).result

    def _in_registers(self, tile: SSAValue) -> SSAValue:
        type_ = TileType.of(tile)
        if type_.memory is MemorySpace.REGISTER:
            return tile
        held = self._alloc(type_.dims, type_.element_type, MemorySpace.REGISTER)
        self.emit(CopyOp(tile, held))
        return held

    def _read(
        self, step: Structured, operand: SSAValue, dims: Sequence[int], loops: Sequence[int], at: SSAValue | None = None
    ) -> SSAValue:
        """The elements of an argument in registers, with a dimension for each of `loops`."""
        shape = self._full_shape(step, dims, loops)
        held = self.held.get(operand)
        if held is not None and held.tile is not None:
            tile = self._in_registers(held.tile)
            self.held[operand] = _Held(tile)
            return tile
        if held is not None and held.number is not None:
            tile = self._alloc(shape, memref_type(operand).element_type, MemorySpace.REGISTER)
            self.emit(FillOp(tile, held.number))
            return tile
        return self._in_registers(self._view(step, operand, dims, at))

    # Steps.

    def _step(self, step: Structured) -> None:
        if step.is_fill:
            number = self.arguments.get(step.inputs[0], step.inputs[0])
            self.held[step.outputs[0]] = _Held(number=number)
        elif not step.reduction:
            self._elementwise(step)
        elif contracted(step) is not None and self.rank == 2:
            self._contraction(step)
        elif (found := reduced(step)) is not None and self.rank == 1:
            self._reduction(step, *found)
        else:
            raise LinalgError(
                step.op,
                "expected a product of two inputs that is added to the output over two parallel dimensions, or a "
                "reduction by addf, maxnumf or minnumf over one, found another body",
            )

    def _loop(self, step: Structured) -> tuple[scf.ForOp, SSAValue]:
        """A loop over the tiles of the reduction; the builder goes into it."""
        (d,) = step.reduction
        size: Formula | None = None
        for operand, dims in zip(step.operands, step.dims, strict=True):
            if size is None and d in dims:
                index = list(self.arguments).index(operand)
                position = self._order(step, dims).index(d) + (self.forms[operand] is _Form.ROW)
                size = self._size(self.arguments[operand], index, position)
        assert size is not None
        high = self.emit.constant(size, IndexType()) if isinstance(size, int) else self.emit(LaunchValueOp(size)).result
        low, by = (self.emit.constant(n, IndexType()) for n in (0, self.options.tile[self.rank]))
        body = Block(arg_types=[IndexType()])
        loop = self.emit(scf.ForOp(low, high, by, [], Region(body)))
        self.emit = Emitter(InsertPoint.at_end(body), step.op.location)
        return loop, body.args[0]

    def _leave(self, loop: scf.ForOp) -> None:
        self.emit(scf.YieldOp())
        block = loop.parent
        assert block is not None
        self.emit = Emitter(InsertPoint.at_end(block), loop.location)

    def _contraction(self, step: Structured) -> None:
        m, n = step.parallel
        (k,) = step.reduction
        by_dims = {frozenset(dims): (operand, dims) for operand, dims in zip(step.inputs, step.dims, strict=False)}
        pair = [by_dims.get(frozenset(wanted)) for wanted in ((m, k), (n, k))]
        if None in pair:
            raise LinalgError(
                step.op,
                f"expected inputs indexed by ({m}, {k}) and ({n}, {k}), found {step.dims[0]} and {step.dims[1]}",
            )
        operands = [each for each in pair if each is not None]
        shared: list[SSAValue] = []
        for operand, dims in operands:
            shared.append(self._alloc(self._shape(step, dims), memref_type(operand).element_type, MemorySpace.SHARED))
        out = step.outputs[0]
        accumulator = self._alloc(self.extents, memref_type(out).element_type, MemorySpace.ACCUMULATOR)
        held = self.held.get(out, _Held())
        if held.number is not None:
            self.emit(FillOp(accumulator, held.number))
        else:
            self.emit(CopyOp(held.tile or self._view(step, out, step.parallel), accumulator))
        loop, at = self._loop(step)
        views = [self._view(step, operand, dims, at) for operand, dims in operands]
        for view, tile in zip(views, shared, strict=True):
            self.emit(CopyOp(view, tile))
        self.emit(MmaOp(shared[0], shared[1], accumulator))
        self._leave(loop)
        self.held[out] = _Held(accumulator)

    def _elementwise(self, step: Structured) -> None:
        loops: tuple[int, ...] = step.parallel
        if self.rank == 1 and self.has_reduction:
            loops = (*step.parallel, -1)  # a column, as reductions make them
        if step.body is None:
            self.held[step.outputs[0]] = _Held(self._read(step, step.inputs[0], step.dims[0], loops))
            return
        used = [i for i, argument in enumerate(step.body.args) if argument.first_use is not None]
        tiles = [self._read(step, step.operands[i], step.dims[i], loops) for i in used]
        results = self._map(step, used, tiles, step.yielded, self._full_shape(step, step.parallel, loops))
        for output, result in zip(step.outputs, results, strict=True):
            self.held[output] = _Held(result)

    def _reduction(self, step: Structured, how: Combination, value: SSAValue) -> None:
        loops = (*step.parallel, *step.reduction)
        (d,) = step.reduction
        out = step.outputs[0]
        for operand, dims in zip(step.inputs, step.dims, strict=False):
            if d not in dims:
                continue
            type_, part = memref_type(operand), self.options.tile[1]
            size = type_.get_shape()[dims.index(d)]
            if size == DYNAMIC_INDEX or size % part:
                raise TilingError(step.op, f"expected a multiple of {part} elements to reduce, found {type_}")
        assert step.body is not None
        column = (*self.extents, 1)
        total = self._alloc(column, memref_type(out).element_type, MemorySpace.REGISTER)
        self.emit(CopyOp(self._read(step, out, step.parallel, loops), total))
        loop, at = self._loop(step)
        used = [i for i, argument in enumerate(step.body.args[:-1]) if argument.first_use is not None]
        tiles = [self._read(step, step.operands[i], step.dims[i], loops, at) for i in used]
        shape = (*self.extents, self.options.tile[1])
        (values,) = self._map(step, used, tiles, [value], shape)
        type_ = TileType.get(column, memref_type(out).element_type, MemorySpace.REGISTER)
        combine = step.yielded[0].owner
        assert isinstance(combine, Operation)
        part = self.emit(ReduceOp(values, [1], how, type_)).result
        block = Block(arg_types=[scalar_type(memref_type(out).element_type)] * 2)
        both = combine.clone()
        both.operands = block.args
        block.add_ops([both, YieldOp(both.results[0])])
        self.emit(CopyOp(self.emit(MapOp([total, part], Region(block), [type_])).res[0], total))
        self._leave(loop)
        self.held[out] = _Held(total)

    def _map(
        self,
        step: Structured,
        used: Sequence[int],
        tiles: Sequence[SSAValue],
        yielded: Sequence[SSAValue],
        shape: tuple[int, ...],
    ) -> list[SSAValue]:
        """A map of what a body computes for some of its arguments."""
        assert step.body is not None
        block = Block(arg_types=[scalar_type(TileType.of(tile).element_type) for tile in tiles])
        values: dict[SSAValue, SSAValue] = dict(self.arguments)
        values.update(zip((step.body.args[i] for i in used), block.args, strict=True))
        needed = self._needed(yielded)
        for op in step.body.ops:
            if op not in needed:
                continue
            if op.regions or not op.name.startswith(("arith.", "math.")):
                raise LinalgError(
                    op, f"expected arith and math in the body of a structured operation, found '{op.name}'"
                )
            clone = op.clone(values)
            clone.location = op.location
            block.add_op(clone)
        block.add_op(YieldOp(*(values.get(each, each) for each in yielded)))
        types = [TileType.get(shape, memref_type(output).element_type, MemorySpace.REGISTER) for output in step.outputs]
        return list(self.emit(MapOp(tiles, Region(block), types)).res)

    @staticmethod
    def _needed(values: Sequence[SSAValue]) -> set[Operation]:
        found: set[Operation] = set()
        waiting = [each.owner for each in values]
        while waiting:
            op = waiting.pop()
            if isinstance(op, Operation) and op not in found:
                found.add(op)
                waiting += [operand.owner for operand in op.operands]
        return found

    def _store(self, steps: Sequence[Structured]) -> None:
        """Writes what the block has computed, in the order of the first writes."""
        last = {output: step for step in steps for output in step.outputs}
        for output, held in list(self.held.items()):
            step = last[output]
            self.emit = Emitter(self.emit.point, step.op.location)
            view = self._view(step, output, step.parallel)
            if held.number is not None:
                self.emit(FillOp(view, held.number))
                continue
            assert held.tile is not None
            self.emit(CopyOp(held.tile, view))
