"""The tile loop of a persistent kernel: which tiles a block takes, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, i1, i32
from xdsl.ir import Block, OpResult, Region, SSAValue

from tirx.dialects.definition import built
from tirx.dialects.formula import Formula
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.launch_control import QueryCancelOp
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx import KernelOp, TileOrder, TilesOp
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.launch_values import product_of, sum_of
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.ir.tile_loops import mark_coordinate

Body = Callable[[Emitter, Sequence[SSAValue]], None]


def persistent_tiles(
    op: TilesOp, extents: Sequence[SSAValue], table: SSAValue | None, emit: Emitter, body: Body
) -> None:
    """Emits a loop over the tiles of one block: those whose number is the block's, modulo the number of blocks.

    `extents` are the numbers of tiles, `body` gets the coordinates of a tile. The blocks of a cluster take one tile
    together. `table` has the numbers of the tiles, row by row, in the order in which they are begun.
    """
    first, blocks = _block_and_blocks(op, emit)
    if op.order.data is TileOrder.ITEMS:
        assert table is not None
        total = emit(memref.DimOp(table, emit.constant(0, IndexType()))).result
    else:
        total = emit.mul(extents[0], extents[1])
    block = Block(arg_types=[IndexType()])
    inside = emit.at(block, op.location)
    coordinates = _coordinates(op, inside, block.args[0], extents, table)
    counts = [constant_value(extent) for extent in extents] if op.order.data in _ORDERS else ()
    body(inside, _as_indices(inside, coordinates, counts))
    inside(built(scf.YieldOp))
    emit(built(scf.ForOp, (first, total, blocks), regions=(Region(block),)))


def _coordinates(
    op: TilesOp, emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], table: SSAValue | None
) -> Sequence[SSAValue]:
    """The coordinates of the tile of a number, and of items the iterations along K, as i32."""
    if op.order.data is TileOrder.ITEMS:
        assert table is not None
        columns = (emit.constant(column, IndexType()) for column in range(4))
        return [emit(memref.LoadOp.get(table, [number, column])).res for column in columns]
    # Launches check that tiles are counted in 32 bits: 64-bit divisions are subroutines.
    place, *sizes = (emit.cast(value, i32) for value in (number, *extents))
    if op.order.data is TileOrder.TABLE:
        assert table is not None
        return _row(emit, emit(memref.LoadOp.get(table, [number])).res, sizes, None)
    return coordinates_of(op.order.data, emit, place, sizes, None if op.group is None else op.group.value.data)


def coordinates_of(
    order: TileOrder, emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None
) -> Sequence[SSAValue]:
    """Row and column (i32) of the tile of a number (i32) in an order, of so many rows and columns of tiles."""
    return _ORDERS[order](emit, number, extents, group)


def counted_tiles(order: TileOrder, group: int | None, rows: Formula, columns: Formula) -> Formula:
    """Returns a number for `coordinates_of`, at most `MOST_TILES`: the tiles, with a group of rows or a square more."""
    more = {TileOrder.GROUP: group or 0, TileOrder.HILBERT: _SQUARE}.get(order, 0)
    return product_of(sum_of(rows, more) if more else rows, columns)


def require_countable(kernel: KernelOp, tiles: Formula) -> None:
    """Lets launches check that `counted_tiles` are at most `MOST_TILES`."""
    if not isinstance(tiles, int):
        message = f"expected at most {MOST_TILES} tiles of a grid, which blocks count in 32 bits"
        add_requirement(kernel, Requirement(tiles, "at_most", MOST_TILES, message))


def _as_indices(emit: Emitter, coordinates: Sequence[SSAValue], counts: Sequence[int | None]) -> list[SSAValue]:
    """Coordinates (i32) as indices. `counts`: rows and columns of tiles, None where they are known at the launch only.
    It is empty where a tile may come more than once, as a table may have it.
    """
    found = [emit.cast(value, IndexType()) for value in coordinates]
    for index, (cast, count) in enumerate(zip(found, counts, strict=False)):
        assert isinstance(cast, OpResult)
        mark_coordinate(cast.op, index, alone=count == 1)
    return found


def launched_tiles(op: TilesOp, emit: Emitter, answer: Callable[[Emitter], QueryCancelOp], body: Body) -> None:
    """Emits a loop over the tile of this block and those that cluster launch control gives it, one for each answer.

    A block of the grid stands for a tile: that of its row and, with a third dimension, of all rows before.
    """
    first = _launched(op, emit, *(emit(ReadSpecialOp(f"ctaid.{axis}")).result for axis in "xyz"))
    head, block = Block(arg_types=[i1, i32, i32]), Block(arg_types=[i32, i32])
    emit.at(head, op.location)(scf.ConditionOp(head.args[0], *head.args[1:]))
    inside = emit.at(block, op.location)
    dims = kernel_of(op).grid_dims
    body(inside, _as_indices(inside, block.args, (None, None) if dims is None else (dims[1] * dims[2], dims[0])))
    found = answer(inside)
    inside(scf.YieldOp(found.more, *_launched(op, inside, found.x, found.y, found.z)))
    emit(scf.WhileOp([emit.constant(1, i1), *first], [i32, i32], Region(head), Region(block)))


def _launched(op: TilesOp, emit: Emitter, x: SSAValue, y: SSAValue, z: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The row and column of the tile that stands at a place of the grid; the blocks of a cluster have one together."""
    rows = emit(ReadSpecialOp("nctaid.y")).result
    row = emit.add(y, emit.mul(z, rows))
    return row, emit.div(x, kernel_of(op).cluster_size)


def _index(emit: Emitter, register: str) -> SSAValue:
    return emit.cast(emit(ReadSpecialOp(register)).result, IndexType())


def _block_and_blocks(op: TilesOp, emit: Emitter) -> tuple[SSAValue, SSAValue]:
    """The number of this block in the grid, and how many there are; clusters count as one block."""
    around = kernel_of(op)
    x, y, z = (_index(emit, f"ctaid.{axis}") for axis in "xyz")
    nx, ny, nz = (_index(emit, f"nctaid.{axis}") for axis in "xyz")
    x, nx = emit.div(x, around.cluster_size), emit.div(nx, around.cluster_size)
    rows = emit.add(y, emit.mul(z, ny))
    number = emit.add(x, emit.mul(rows, nx))
    return number, emit.mul(emit.mul(nx, ny), nz)


def _row(emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None) -> Sequence[SSAValue]:
    """Row by row."""
    columns = extents[1]
    return emit.div(number, columns), emit.mod(number, columns)


def _group(emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None) -> Sequence[SSAValue]:
    """Groups of `group` rows, each column by column: neighbours in time share rows of A and columns of B in L2."""
    assert group is not None
    rows, columns = extents
    size = emit.constant(group, i32)
    in_group = emit.mul(columns, size)
    first = emit.mul(emit.div(number, in_group), group)
    here = emit(arith.MinSIOp(emit.sub(rows, first), size)).result
    place = emit.mod(number, in_group)
    i = emit.add(first, emit.mod(place, here))
    return i, emit.div(place, here)


def _hilbert(emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None) -> Sequence[SSAValue]:
    """Bands of 8 rows, cut into squares of 8 x 8 tiles: each follows a Hilbert curve, so that neighbours in time are
    neighbours in both directions. What is left at the edges goes column by column.
    """
    rows, columns = extents
    size = emit.constant(_SQUARE, i32)

    def split(value: SSAValue, by: SSAValue) -> tuple[SSAValue, SSAValue]:
        return emit.div(value, by), emit.mod(value, by)

    def rest(whole: SSAValue, before: SSAValue) -> SSAValue:
        """Returns the rest behind whole squares, at most one."""
        return emit(arith.MinSIOp(emit.sub(whole, emit.mul(before, _SQUARE)), size)).result

    band, place = split(number, emit.mul(columns, size))
    height = rest(rows, band)
    square, place = split(place, emit.mul(height, _SQUARE))
    width = rest(columns, square)
    plain_j, plain_i = split(place, height)
    curve_i, curve_j = _hilbert_curve(emit, place)
    cells = emit.mul(height, width)
    is_whole = emit.compare(cells, emit.constant(_SQUARE**2, i32), "eq")
    i, j = (emit.select(is_whole, curve, plain) for curve, plain in ((curve_i, plain_i), (curve_j, plain_j)))
    first_i, first_j = emit.mul(band, _SQUARE), emit.mul(square, _SQUARE)
    return emit.add(first_i, i), emit.add(first_j, j)


def _hilbert_curve(emit: Emitter, place: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The cell at a place of the Hilbert curve through a square: two bits of the place for each bit of its sides."""
    zero, one = emit.constant(0, i32), emit.constant(1, i32)
    x = y = zero
    side = 1
    while side < _SQUARE:
        right = emit.bit_and(emit.div(place, 2), 1)
        up = emit.bit_and(emit.xor(place, right), 1)
        # The quarters at both ends are turned, the second one of them is mirrored as well.
        turned = emit.compare(up, zero, "eq")
        mirrored = emit.bit_and(turned, emit.compare(right, one, "eq"))
        last = emit.constant(side - 1, i32)
        x, y = (emit.select(mirrored, emit.sub(last, value), value) for value in (x, y))
        x, y = emit.select(turned, y, x), emit.select(turned, x, y)
        x = emit.add(x, emit.mul(right, side))
        y = emit.add(y, emit.mul(up, side))
        place = emit.div(place, 4)
        side *= 2
    return x, y


MOST_TILES = (1 << 31) - 1
"""Tiles that are counted in 32 bits."""

_SQUARE = 8
"""Tiles along a side of a square of `order(hilbert)`."""

_ORDERS: Mapping[TileOrder, Callable[[Emitter, SSAValue, Sequence[SSAValue], int | None], Sequence[SSAValue]]] = {
    TileOrder.ROW: _row,
    TileOrder.GROUP: _group,
    TileOrder.HILBERT: _hilbert,
}
"""Order -> the coordinates of a tile from its number."""
