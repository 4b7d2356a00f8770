"""The tile loop of a persistent kernel: which tiles a block takes, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.nesting import enclosing
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.launch_control import QueryCancelOp
from tirx.dialects.tirx import KernelOp, TileOrder, TilesOp
from tirx.passes.ir.emitter import Emitter, constant_value
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
    inside = Emitter(InsertPoint.at_end(block), op.location)
    coordinates = _coordinates(op, inside, block.args[0], extents, table)
    counts = [constant_value(extent) for extent in extents] if op.order.data in _ORDERS else ()
    body(inside, _as_indices(inside, coordinates, counts))
    inside(scf.YieldOp())
    emit(scf.ForOp(first, total, blocks, [], Region(block)))


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
    return _ORDERS[op.order.data](emit, place, sizes, None if op.group is None else op.group.value.data)


def _as_indices(emit: Emitter, coordinates: Sequence[SSAValue], counts: Sequence[int | None]) -> list[SSAValue]:
    """Coordinates (i32) as indices. `counts`: rows and columns of tiles, None where they are known at the launch only.
    It is empty where a tile may come more than once, as a table may have it.
    """
    casts = [emit(arith.IndexCastOp(value, IndexType())) for value in coordinates]
    for index, (cast, count) in enumerate(zip(casts, counts, strict=False)):
        mark_coordinate(cast, index, alone=count == 1)
    return [cast.result for cast in casts]


def launched_tiles(op: TilesOp, emit: Emitter, answer: Callable[[Emitter], QueryCancelOp], body: Body) -> None:
    """Emits a loop over the tile of this block and those that cluster launch control gives it, one for each answer.

    A block of the grid stands for a tile: that of its row and, with a third dimension, of all rows before.
    """
    first = _launched(op, emit, *(emit(ReadSpecialOp(f"ctaid.{axis}")).result for axis in "xyz"))
    head, block = Block(arg_types=[i1, i32, i32]), Block(arg_types=[i32, i32])
    Emitter(InsertPoint.at_end(head), op.location)(scf.ConditionOp(head.args[0], *head.args[1:]))
    inside = Emitter(InsertPoint.at_end(block), op.location)
    dims = _kernel_of(op).grid_dims
    body(inside, _as_indices(inside, block.args, (None, None) if dims is None else (dims[1] * dims[2], dims[0])))
    found = answer(inside)
    inside(scf.YieldOp(found.more, *_launched(op, inside, found.x, found.y, found.z)))
    emit(scf.WhileOp([emit.constant(1, i1), *first], [i32, i32], Region(head), Region(block)))


def _launched(op: TilesOp, emit: Emitter, x: SSAValue, y: SSAValue, z: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The row and column of the tile that stands at a place of the grid; the blocks of a cluster have one together."""
    rows = emit(ReadSpecialOp("nctaid.y")).result
    row = emit.add(y, emit.mul(z, rows))
    return row, emit.div(x, _kernel_of(op).cluster_size)


def _kernel_of(op: Operation) -> KernelOp:
    around = enclosing(op, KernelOp)
    assert around is not None, op.name
    return around


def _index(emit: Emitter, register: str) -> SSAValue:
    return emit.cast(emit(ReadSpecialOp(register)).result, IndexType())


def _block_and_blocks(op: TilesOp, emit: Emitter) -> tuple[SSAValue, SSAValue]:
    """The number of this block in the grid, and how many there are; clusters count as one block."""
    around = _kernel_of(op)
    x, y, z = (_index(emit, f"ctaid.{axis}") for axis in "xyz")
    nx, ny, nz = (_index(emit, f"nctaid.{axis}") for axis in "xyz")
    x, nx = emit.div(x, around.cluster_size), emit.div(nx, around.cluster_size)
    rows = emit.add(y, emit.mul(z, ny))
    number = emit.add(x, emit.mul(rows, nx))
    return number, emit.mul(emit.mul(nx, ny), nz)


def _row(emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None) -> Sequence[SSAValue]:
    """Row by row."""
    columns = extents[1]
    return emit(arith.DivUIOp(number, columns)).result, emit(arith.RemUIOp(number, columns)).result


def _group(emit: Emitter, number: SSAValue, extents: Sequence[SSAValue], group: int | None) -> Sequence[SSAValue]:
    """Groups of `group` rows, each column by column: neighbours in time share rows of A and columns of B in L2."""
    assert group is not None
    rows, columns = extents
    size = emit.constant(group, i32)
    in_group = emit.mul(columns, size)
    index = emit(arith.DivUIOp(number, in_group)).result
    first = emit.mul(index, group)
    here = emit(arith.MinSIOp(emit(arith.SubiOp(rows, first)).result, size)).result
    place = emit(arith.RemUIOp(number, in_group)).result
    i = emit.add(first, emit(arith.RemUIOp(place, here)).result)
    return i, emit(arith.DivUIOp(place, here)).result


_ORDERS: Mapping[TileOrder, Callable[[Emitter, SSAValue, Sequence[SSAValue], int | None], Sequence[SSAValue]]] = {
    TileOrder.ROW: _row,
    TileOrder.GROUP: _group,
}
"""Order -> the coordinates of a tile from its number."""
