"""The tiles of a cluster of blocks, and accesses to global memory for tiles that the last cluster has too many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, UnitAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tirx.dialects import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.kernel import PAIR
from tirx.dialects.traits import is_terminator
from tirx.layout import TileLayout
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.ir.launch_values import ceildiv, launched
from tirx.passes.ir.tile_loops import or_outside
from tirx.passes.ir.views import Origin, argument_number, clipped_view, copied_view
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.pipelining import NotApplicable
from tirx.passes.match.slots import Cluster
from tirx.passes.rings.proof.parties import multiplies_in_pairs
from tirx.values import dataclass

_BOUNDED = (tirx.Engine.TMA, tirx.Engine.TMA_MULTICAST, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)


@dataclass(frozen=True)
class TooMany:
    """An operation that accesses global memory, through operand `number`, for tiles that the last cluster has too many.

    `view` is the box that the operand is (a part of). Along `sides` it may lie within the memref then, and has to move
    out of it; `is_open`: threads access it, and it is not clipped yet.
    """

    op: Operation
    number: int
    view: tirx.ViewOp
    sides: Sequence[int]
    is_open: bool


class ClusterTiles:
    """The tiles of the blocks of a cluster: neighbours along `sides`, with one tile for each unit of blocks."""

    def __init__(self, kernel: tirx.KernelOp, along: Cluster):
        self.kernel = kernel
        self.shape = along.shape
        self.unit = PAIR if multiplies_in_pairs(kernel) else 1
        """The blocks that multiply one tile."""
        self.size = along.size * self.unit
        self.sides = [side for side, extent in enumerate(self.shape) if extent > 1]
        """The coordinates along which a cluster has several tiles, as they are numbered in `tirx.tiles`."""
        self.loops = [op for op in kernel.walk() if isinstance(op, tirx.TilesOp)]
        self.blocks = [
            [op for op in kernel.walk() if isinstance(op, tirx.BlockIdOp) and op.axis.data is axis]
            for axis in (tirx.GridAxis.Y, tirx.GridAxis.X)
        ]
        self.coordinates = [self._coordinates(side) for side in range(2)]
        self.dependent = [_dependent(found) for found in self.coordinates]

    def _coordinates(self, side: int) -> set[SSAValue]:
        found: set[SSAValue] = {loop.body.block.args[side] for loop in self.loops if loop.extents}
        return found | {op.result for op in self.blocks[side]}

    def depends(self, value: SSAValue) -> bool:
        """Returns True if a value may differ between the tiles of a cluster."""
        return any(value in self.dependent[side] for side in self.sides)

    def tile(self, cluster: SSAValue, side: int, emit: Emitter) -> SSAValue:
        """The number along a side of the tile that this block has of a cluster."""
        count = self.shape[side]
        first = emit.mul(cluster, emit.constant(count, IndexType()))
        tile = emit.add(first, self.rank_within(count, self.unit * (1 if side else self.shape[1]), emit))
        tile.name_hint = cluster.name_hint
        return tile

    def rank_within(self, count: int, stride: int, emit: Emitter) -> SSAValue:
        """The number of the own block among `count` blocks whose ranks are `stride` apart."""
        rank = emit.value(tirx.CtaRankOp())
        number = rank if stride == 1 else emit.value(arith.DivUIOp(rank, emit.constant(stride, IndexType())))
        if count * stride == self.size:
            return number
        return emit.value(arith.RemUIOp(number, emit.constant(count, IndexType())))

    def tiles_too_many(self) -> list[TooMany]:
        """Accesses to global memory that the last cluster may make for tiles that are not there.

        Raises NotApplicable for those that can neither be clipped nor moved out of their memref.
        """
        tiles = self.tiles() or (None, None)
        partial = [side for side in self.sides if not self._is_whole(tiles[side], side)]
        found = [each for op in self.kernel.walk() for each in self._too_many(op, partial, tiles)] if partial else []
        if found and self.loops and any(self._loop_of(each.op) is None for each in found):
            raise NotApplicable(found[0].op, f"'{found[0].op.name}' belongs to no tile")
        return found

    def _is_whole(self, count: Formula | None, side: int) -> bool:
        return isinstance(count, int) and count % self.shape[side] == 0

    def _too_many(self, op: Operation, partial: Sequence[int], tiles: Sequence[Formula | None]) -> Iterator[TooMany]:
        """The accesses of one operation that have to change, `partial` being the sides with an incomplete cluster."""
        counts = " x ".join(str(tiles[side]) for side in partial)
        if isinstance(op, memref.LoadOp) and any(self.dependent[side] & set(op.indices) for side in partial):
            raise NotApplicable(op, f"'{op.name}' would read for a tile more than {counts}")
        written = _written(op)
        if written is None and any(access.writes for access in accesses_of(op)):
            raise NotApplicable(op, f"'{op.name}' would write a tile more than {counts}")
        for number, tile in enumerate(op.operands):
            if tile not in _in_memory(op):
                continue
            outside = [side for side in partial if tile is written and not self._is_outside(tile, side, tiles[side])]
            depends = any(tile in self.dependent[side] for side in partial)
            is_open = not _is_bounded(op) and clipped_view(tile) is None and (depends or tile is written)
            if not outside and not is_open:
                continue
            origin = Origin.of(tile)
            if origin is None or not origin.view.is_box or argument_number(origin.view.source) is None:
                verb = "write" if tile is written else "access"
                raise NotApplicable(op, f"'{op.name}' would {verb} a tile more than {counts}")
            if not _is_bounded(op) and any(map(_is_folded, op.operands)):
                folded = "whose tile of tensor memory has its columns in several runs of lanes"
                raise NotApplicable(op, f"'{op.name}', {folded}, would access a tile more than {counts}")
            yield TooMany(op, number, origin.view, tuple(outside), is_open)

    def _is_outside(self, tile: SSAValue, side: int, count: Formula | None) -> bool:
        """Returns True if a tile that is written lies outside of its memref wherever its number is too large."""
        return tile in self.dependent[side] and self._is_beyond(tile, side, count)

    def _loop_of(self, op: Operation) -> tirx.TilesOp | None:
        around = (each for each in ancestors(op) if isinstance(each, tirx.TilesOp))
        return next(around, None)

    def _is_beyond(self, tile: SSAValue, side: int, count: Formula | None) -> bool:
        """Returns True if tile number `count` along a side lies outside of the memref, where stores are dropped."""
        origin = Origin.of(tile)
        if origin is None or (number := argument_number(origin.view.source)) is None:
            return False
        view = origin.view
        if not view.is_box:
            return False
        leading = len(view.indices) - len(view.result.type.dims)
        for d, (index, size) in enumerate(zip(view.indices, view.source_type.get_shape(), strict=True)):
            index = _without_place_in_pair(index)
            if d < leading or not isinstance(index.owner, arith.MuliOp):
                continue
            first, step = index.owner.operands
            if constant_value(step) is None:
                first, step = step, first
            width = constant_value(step)
            if first not in self.coordinates[side] or width is None:
                continue
            if isinstance(count, int) and size != DYNAMIC_INDEX:
                return count * width >= size
            return count == Call("ceildiv", (Call("size", (number, d)), width))
        return False

    def tiles(self) -> tuple[Formula, Formula] | None:
        """The numbers of tiles along rows and columns; None where they are only known in the kernel."""
        if not self.loops:
            grid = self.kernel.grid_formulas
            return None if grid is None else (grid[1], grid[0])
        first, *_ = self.loops
        found = [formula_of(extent) for extent in first.extents]
        return None if None in found else (found[0], found[1])  # pyright: ignore[reportReturnType]

    def leave_out(
        self,
        access: TooMany,
        counts: Mapping[tirx.TilesOp, Sequence[SSAValue]],
        tiles: tuple[Formula, Formula] | None,
    ) -> None:
        """Lets an access read zeros, or write nothing, where there is no such tile.

        What it writes begins behind the last element of the memref then: bulk copies and clipped views drop that.
        `counts` are the numbers of tiles of each loop, `tiles` those of a grid without one.
        """
        op, view = access.op, access.view
        tile, emit, indices = op.operands[access.number], Emitter.before(op), list(view.indices)
        if access.sides:
            d = self._moved_dimension(view, access.sides)
            loop = self._loop_of(op)
            is_there: SSAValue | None = None
            for side in access.sides:
                if loop is not None:
                    cluster, count = loop.body.block.args[side], counts[loop][side]
                else:
                    assert tiles is not None
                    axis = tirx.GridAxis.X if side else tirx.GridAxis.Y
                    cluster, count = emit(tirx.BlockIdOp(axis)).result, launched(emit, tiles[side])
                inside = emit.compare(self.tile(cluster, side, emit), count, "ult")
                is_there = inside if is_there is None else emit.bit_and(is_there, inside)
            assert is_there is not None
            indices[d] = or_outside(is_there, indices[d], self._behind(view, d, emit), emit)
        moved = view.clone()
        moved.operands = (view.source, *indices)  # a box has no sizes
        if not _is_bounded(op):
            moved.clipped = UnitAttr()
        emit(moved)
        op.operands[access.number] = copied_view(tile, {view.result: moved.result}, emit)

    def _moved_dimension(self, view: tirx.ViewOp, sides: Sequence[int]) -> int:
        """The dimension of a memref along which a view moves out of it: one that follows the tiles, or the first."""
        first = len(view.indices) - len(view.result.type.dims)
        follow = (d for d, index in enumerate(view.indices) if any(index in self.dependent[side] for side in sides))
        return next((d for d in follow if d >= first), first)

    @staticmethod
    def _behind(view: tirx.ViewOp, d: int, emit: Emitter) -> SSAValue:
        """An index behind the last one of a dimension, as aligned as that of the view."""
        step, size = index_range(view.indices[d]).divisor or 1, view.source_type.get_shape()[d]
        if size != DYNAMIC_INDEX:
            return emit.constant(-(-size // step) * step, IndexType())
        number = argument_number(view.source)
        assert number is not None
        last = launched(emit, ceildiv(Call("size", (number, d)), step))
        return emit.mul(last, emit.constant(step, IndexType()))


def _dependent(coordinates: Iterable[SSAValue]) -> set[SSAValue]:
    """The values that may differ between tiles of other coordinates: all that comes of these, through regions too."""
    found = set(coordinates)
    pending = list(found)
    while pending:
        for use in pending.pop().uses:
            reached = [use.operation]
            if is_terminator(use.operation) and (around := use.operation.parent_op()) is not None:
                reached.append(around)
            for op in reached:
                for value in (*op.results, *(each for block in _blocks(op) for each in block.args)):
                    if value not in found:
                        found.add(value)
                        pending.append(value)
    return found


def _without_place_in_pair(index: SSAValue) -> SSAValue:
    """The index of the tile of a pair, where `index` is that of a block in it: that without a multiple of the rank."""
    match index.owner:
        case arith.AddiOp(lhs=first, rhs=OpResult(op=arith.MuliOp() | arith.ShLIOp() as op)):
            times = constant_value(op.rhs)
            is_place = isinstance(op.lhs.owner, tirx.CtaRankOp) and times is not None and times >= 0
            return first if is_place else index
        case _:
            return index


def _blocks(op: Operation) -> Iterator[Block]:
    return (block for region in op.regions for block in region.blocks)


def _in_memory(op: Operation) -> Iterator[SSAValue]:
    """The tiles of global memory that an operation reads or writes."""
    if isinstance(op, tirx.PartOp):
        return iter(())
    tiles = (value for value in op.operands if isinstance(value.type, tirx.TileType))
    return (tile for tile in tiles if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL)


def _is_bounded(op: Operation) -> bool:
    """Returns True for a bulk tensor copy, which reads zeros and writes nothing outside of a memref."""
    engine = op.engine if isinstance(op, tirx.CopyOp | tirx.StoreOp | tirx.AsyncCopyOp) else None
    return engine is not None and engine.data in _BOUNDED


def _is_folded(tile: SSAValue) -> bool:
    """Returns True for a tile of tensor memory whose rows are several runs of columns: copies of these clip nothing."""
    if not isinstance(type_ := tile.type, tirx.TileType) or type_.memory is not tirx.MemorySpace.TENSOR:
        return False
    last = type_.layout.shard[-1:] if isinstance(type_.layout, TileLayout) else ()
    return type_.dims[-1] not in (1, sum(it.extent for it in last if it.axis == "TCol"))


def _written(op: Operation) -> SSAValue | None:
    match op:
        case tirx.StoreOp() | tirx.CopyOp() | tirx.AsyncCopyOp():
            return op.destination if tirx.TileType.of(op.destination).memory is tirx.MemorySpace.GLOBAL else None
        case _:
            return None


def formula_of(value: SSAValue) -> Formula | None:
    owner = value.owner
    return owner.formula.data if isinstance(owner, tirx.LaunchValueOp) else constant_value(value)
