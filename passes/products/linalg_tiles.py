"""Tiles of functions of structured operations: parts of arguments, maps of bodies, and loops over reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import operation_name
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Formula
from tirx.dialects.structured import Structured, memref_type
from tirx.dialects.tirx.elements import scalar_type
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.launch_values import launched
from tirx.passes.products.linalg_reading import Reading
from tirx.passes.products.linalg_steps import require_computable, require_type, used_inputs
from tirx.rules import LinalgError
from tirx.values import dataclass, field

_STAGED_BYTES = 16384
"""Most bytes of an operand that are staged at a time, of which each element is read in a round of its own."""

_LEAST_DEPTH = 4
"""Fewer places than this are not staged."""


@dataclass(frozen=True)
class Held:
    """The elements of an argument that the block has written: a tile, in registers or an accumulator, or a number."""

    tile: SSAValue | None = None
    number: SSAValue | None = None


@dataclass
class LinalgTiles(Reading):
    """Emits the work of a block on its tiles. `arguments` maps values of the function to those of the kernel."""

    emit: Emitter = field(init=False)
    arguments: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    held: dict[SSAValue, Held] = field(default_factory=dict[SSAValue, Held])
    starts: list[SSAValue] = field(default_factory=list[SSAValue])
    """Where the tiles of the block start along the parallel dimensions."""
    tile: tuple[int, ...] = ()
    """The extents of tiles along the last parallel dimensions, and along that of a reduction."""
    exchanged: bool = False
    """Products are those of B and A."""

    def _shape(self, step: Structured, dims: Sequence[int], depth: int | None = None) -> tuple[int, ...]:
        """The extents of a tile that has these dimensions, without those that count a batch.

        `depth` is that along the last dimension of a reduction, in place of that of tiles, and 1 along others.
        """
        parallel, last = step.parallel[self.batch :], step.reduction[-1:]
        extents = dict.fromkeys(step.reduction, 1)
        extents.update(zip(parallel, self.tile, strict=False))
        extents.update((d, self.tile[self.rank] if depth is None else depth) for d in last)
        return tuple(extents[d] for d in self.inside(step, dims))

    def _view(
        self,
        step: Structured,
        operand: SSAValue,
        dims: Sequence[int],
        at: Sequence[SSAValue] = (),
        depth: int | None = None,
    ) -> SSAValue:
        """The part of an argument that the block works on, `at` places along the dimensions of a reduction."""
        value, form = self.arguments[operand], self.forms[operand]
        order, inside = self.order(step, dims), self._shape(step, dims, depth)
        where = dict(zip((*step.parallel, *step.reduction), (*self.starts, *at), strict=False))
        places = [where[d] for d in order]
        extents = form.inserted((*(1,) * (len(order) - len(inside)), *inside), 1)
        shape = extents[len(order) - len(inside) :]
        if form.units:
            places = form.inserted(places, self.emit.constant(0, IndexType()))
        clipped = any(
            size == DYNAMIC_INDEX or size % extent
            for size, extent in zip(memref_type(value).get_shape(), extents, strict=True)
        )
        type_ = tirx.TileType.get(shape, memref_type(value).element_type, tirx.MemorySpace.GLOBAL)
        view = tirx.ViewOp(value, places, type_, clipped=clipped)
        return self.emit(view).result

    def _full_shape(self, step: Structured, dims: Sequence[int], loops: Sequence[int]) -> tuple[int, ...]:
        """The extents of a tile with an extent of 1 for each dimension of `loops` that it lacks."""
        shape = dict(zip(self.inside(step, dims), self._shape(step, dims), strict=True))
        return tuple(shape.get(d, 1) for d in loops)

    def _alloc(self, shape: Sequence[int], element: Attribute, memory: tirx.MemorySpace) -> SSAValue:
        return self.emit(tirx.AllocOp(tirx.TileType.get(shape, element, memory))).result

    def _in_registers(self, tile: SSAValue) -> SSAValue:
        type_ = tirx.TileType.of(tile)
        if type_.memory is tirx.MemorySpace.REGISTER:
            return tile
        held = self._alloc(type_.dims, type_.element_type, tirx.MemorySpace.REGISTER)
        self.emit(tirx.CopyOp(tile, held))
        return self._turned(held) if self.exchanged and type_.memory is tirx.MemorySpace.ACCUMULATOR else held

    def _turned(self, tile: SSAValue) -> SSAValue:
        """A register tile with its dimensions swapped."""
        type_ = tirx.TileType.of(tile)
        turned = tirx.TileType.get(type_.dims[::-1], type_.element_type, tirx.MemorySpace.REGISTER)
        return self.emit(tirx.TransposeOp(tile, [1, 0], turned)).result

    def _read(
        self,
        step: Structured,
        operand: SSAValue,
        dims: Sequence[int],
        loops: Sequence[int],
        at: Sequence[SSAValue] = (),
    ) -> SSAValue:
        """The elements of an argument in registers, with a dimension for each of `loops`."""
        shape = self._full_shape(step, dims, loops)
        held = self.held.get(operand)
        if held is not None and held.tile is not None:
            tile = self._in_registers(held.tile)
            self.held[operand] = Held(tile)
            return tile
        if held is not None and held.number is not None:
            tile = self._alloc(shape, memref_type(operand).element_type, tirx.MemorySpace.REGISTER)
            self.emit(tirx.FillOp(tile, held.number))
            return tile
        return self._in_registers(self._view(step, operand, dims, at))

    # Loops.

    def _size_along(self, step: Structured, d: int) -> Formula:
        """The size of a dimension of a step, of the first argument that has it."""
        operand, dims = next(each for each in zip(step.operands, step.dims, strict=True) if d in each[1])
        size = self.size(step, operand, dims, dims.index(d))
        assert size is not None
        return size

    def _enter(self, step: Structured, high: SSAValue, by: int) -> tuple[scf.ForOp, SSAValue]:
        """A loop from 0 to `high`, and its index; the builder goes into it."""
        low, increment = (self.emit.constant(n, IndexType()) for n in (0, by))
        body = Block(arg_types=[IndexType()])
        loop = self.emit(scf.ForOp(low, high, increment, [], Region(body)))
        self.emit = Emitter(InsertPoint.at_end(body), step.op.location)
        return loop, body.args[0]

    def _leave(self, loop: scf.ForOp) -> None:
        self.emit(scf.YieldOp())
        block = loop.parent
        assert block is not None
        self.emit = Emitter(InsertPoint.at_end(block), loop.location)

    def _sequence(self, step: Structured) -> None:
        """Does the body of a reduction for one place along its dimensions after the other, on tiles of the others."""
        loops = (*step.parallel[self.batch :], *((-1,) if self.rank == 1 else ()))
        used = used_inputs(step, len(step.operands))
        tiles = self._totals(step, loops)
        totals = [tiles[i] for i in range(len(step.inputs), len(step.operands))]
        for i in used:
            if i not in tiles and step.operands[i] in self.held:
                tiles[i] = self._read(step, step.operands[i], step.dims[i], loops)
        entered: list[scf.ForOp] = []
        at: list[SSAValue] = []
        *outer, last = step.reduction
        for d in outer:
            loop, index = self._enter(step, launched(self.emit, self._size_along(step, d)), 1)
            entered.append(loop)
            at.append(index)
        staged = [i for i in used if i not in tiles and last in step.dims[i]]
        depth, size = self._depth(step, staged), self._size_along(step, last)
        high = launched(self.emit, size)
        shared = {i: self._staging(step, i, depth) for i in staged if depth > 1}
        loop, place = self._enter(step, high, depth)
        entered.append(loop)
        for i, tile in shared.items():
            self.emit(tirx.CopyOp(self._view(step, step.operands[i], step.dims[i], (*at, place), depth), tile))
        column = place
        if depth > 1:
            rounds = self.emit.constant(depth, IndexType())
            if not isinstance(size, int) or size % depth:
                left = self.emit(arith.SubiOp(high, place)).result
                rounds = self.emit(arith.MinUIOp(left, rounds)).result
            loop, column = self._enter(step, rounds, 1)
            entered.append(loop)
            place = self.emit.add(place, column)
        at.append(place)
        for i in used:
            if i in shared:
                shape = tirx.TileType.of(shared[i]).dims
                part = tirx.SubviewOp.of(shared[i], [0] * (len(shape) - 1) + [column], (*shape[:-1], 1))
                tiles[i] = self._with_dimensions(step, i, loops, self.emit(part).result)
            elif i not in tiles:
                part = self._view(step, step.operands[i], step.dims[i], at, 1)
                tiles[i] = self._with_dimensions(step, i, loops, part)
        shape = self._full_shape(step, step.parallel, loops)
        results = self._map(step, used, [tiles[i] for i in used], step.yielded, shape, at)
        for total, result in zip(totals, results, strict=True):
            self.emit(tirx.CopyOp(result, total))
        for loop in reversed(entered):
            self._leave(loop)
        self.held.update((out, Held(total)) for out, total in zip(step.outputs, totals, strict=True))

    def _totals(self, step: Structured, loops: Sequence[int]) -> dict[int, SSAValue]:
        """Register tiles of what a reduction writes, with the values before it, by the numbers of the operands."""
        shape, found = self._full_shape(step, step.parallel, loops), dict[int, SSAValue]()
        for number, out in enumerate(step.outputs, len(step.inputs)):
            before = self._read(step, out, step.parallel, loops)
            found[number] = self._alloc(shape, memref_type(out).element_type, tirx.MemorySpace.REGISTER)
            self.emit(tirx.CopyOp(before, found[number]))
        return found

    def _staging(self, step: Structured, i: int, depth: int) -> SSAValue:
        """Shared memory for an operand's elements of `depth` places along the last dimension of a reduction."""
        dims, element = step.dims[i], memref_type(step.operands[i]).element_type
        form, inside = self.forms[step.operands[i]], self._shape(step, dims, depth)
        batch = len(self.order(step, dims)) - len(inside)
        return self._alloc(form.inserted((*(1,) * batch, *inside), 1)[batch:], element, tirx.MemorySpace.SHARED)

    def _depth(self, step: Structured, staged: Sequence[int]) -> int:
        """The places along the last dimension of a reduction whose operands are staged at a time; 1: none are."""
        depth = 1 << (self.tile[self.rank].bit_length() - 1)
        types = {i: memref_type(step.operands[i]).element_type for i in staged}
        while depth > 1 and any(
            tirx.TileType.get(self._shape(step, step.dims[i], depth), each, tirx.MemorySpace.SHARED).num_bytes
            > _STAGED_BYTES
            for i, each in types.items()
        ):
            depth //= 2
        return depth if staged and depth >= _LEAST_DEPTH else 1

    def _with_dimensions(self, step: Structured, i: int, loops: Sequence[int], part: SSAValue) -> SSAValue:
        """The elements of an operand at one place along the dimensions of a reduction, in registers, as maps need."""
        tile, shape = self._in_registers(part), self._full_shape(step, step.dims[i], loops)
        return tile if tirx.TileType.of(tile).dims == shape else self.emit(tirx.ReshapeOp(tile, shape)).result

    # Bodies.

    def _map(
        self,
        step: Structured,
        used: Sequence[int],
        tiles: Sequence[SSAValue],
        yielded: Sequence[SSAValue],
        shape: tuple[int, ...],
        at: Sequence[SSAValue] = (),
    ) -> list[SSAValue]:
        """A map of what a body computes for some of its arguments, `at` places along the dimensions of a reduction."""
        assert step.body is not None
        block = Block(arg_types=[scalar_type(tirx.TileType.of(tile).element_type) for tile in tiles])
        values: dict[SSAValue, SSAValue] = dict(self.arguments)
        for operand, argument in zip(step.operands, step.body.args, strict=True):
            values[argument] = self.arguments.get(operand, operand)
        values.update(zip((step.body.args[i] for i in used), block.args, strict=True))
        needed = self._needed(yielded)
        for op in step.body.ops:
            if op not in needed:
                continue
            if isinstance(op, IndexOp):
                values[op.result] = self._index(step, op, block, at)
                continue
            if op.regions or not op.name.startswith(("arith.", "math.")):
                raise LinalgError(
                    op, f"expected arith and math in the body of a structured operation, found '{operation_name(op)}'"
                )
            require_computable(op)
            clone = op.clone(values)
            clone.location = op.location
            block.add_op(clone)
        results = [values.get(each, each) for each in yielded]
        for value in results:
            require_type(step.op, value.type)
        block.add_op(tirx.YieldOp(*results))
        elements = [memref_type(output).element_type for output in step.outputs]
        types = [tirx.TileType.get(shape, element, tirx.MemorySpace.REGISTER) for element in elements]
        return list(self.emit(tirx.MapOp(tiles, Region(block), types)).res)

    def _index(self, step: Structured, op: IndexOp, block: Block, at: Sequence[SSAValue]) -> SSAValue:
        """The coordinate of an element along a dimension of a step, in the body of a map."""
        d, places = op.dim.value.data, (*self.starts, *at)
        start = dict(zip((*step.parallel, *step.reduction), places, strict=False))[d]
        if d not in step.parallel[self.batch :]:
            return start
        emit, dim = Emitter(InsertPoint.at_end(block), op.location), step.parallel.index(d) - self.batch
        own = tirx.IndexOp.create(properties={"dim": i32_attr(dim)}, result_types=[IndexType()])
        return emit.add(start, emit(own).result)

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
