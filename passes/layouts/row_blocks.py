"""Products whose accumulator has the rows of two instructions, in tensor memory."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from tirx.dialects.tirx import AllocOp, MemorySpace, MmaOp, SubviewOp, TileType, base_allocation
from tirx.layout import Iter, TileLayout
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.placement import place
from tirx.passes.match.product import Product, legal
from tirx.tcgen05.tmem import LANES, accumulator_layout

ROWS = 2 * LANES
"""Rows of an accumulator that two instructions of 128 rows compute."""


def has_two_blocks(product: Product) -> bool:
    """True for a product of 256 rows by one block, not by a pair, of operands in shared memory.

    Scale factors and sparsity metadata, whose rows are those of A, are for accumulators of 128 rows.
    """
    plain = product.scale_a is None and product.metadata is None and not product.is_weight_stationary
    dims = product.accumulator.dims
    has_rows = len(dims) == 2 and dims[0] == ROWS
    return plain and not product.of_pairs and has_rows and product.a.memory is MemorySpace.SHARED


def block_of(product: Product) -> Product:
    """The product of the first 128 rows."""
    rows = (LANES, product.a.dims[1]), (LANES, product.accumulator.dims[1])
    a, accumulator = (
        TileType.get(dims, type_.element_type, type_.memory)
        for dims, type_ in zip(rows, (product.a, product.accumulator), strict=True)
    )
    return replace(product, a=a, accumulator=accumulator)


def split_rows(mma: MmaOp) -> None:
    """Makes two products of one with an accumulator of 256 rows: the second half is in the columns behind the first.

    Products of another form, and those on a part of a tile without a layout, stay as they are. Raises LocatedError for
    an accumulator of which tensor memory has none.
    """
    if not mma.on_tensor_memory or mma.result is not None or not has_two_blocks(Product.of(mma)):
        return
    with legal(mma):
        if mma.accumulator_type.layout is None and not _place(mma.accumulator):
            return
    emit = Emitter.before(mma)
    depth, columns = mma.a_type.dims[1], mma.accumulator_type.dims[1]
    for row in (0, LANES):
        product = mma.clone()
        product.operands[0] = emit(SubviewOp.of(mma.a, (row, 0), (LANES, depth))).result
        product.operands[2] = emit(SubviewOp.of(mma.accumulator, (row, 0), (LANES, columns))).result
        emit(product)
    erase(mma)


def _place(tile: SSAValue) -> bool:
    """Lets a tile of 256 rows, or the allocation that it is a part of, have two accumulators side by side.

    False for a tile with no such allocation: one that has a layout, or other extents. Raises TensorMemoryError for an
    element type or more columns than accumulators have.
    """
    root = base_allocation(tile)
    type_ = TileType.of(root)
    if not isinstance(root.owner, AllocOp) or type_.layout is not None or type_.dims[-2:-1] != (ROWS,):
        return False
    *outer, _, columns = type_.dims
    half = accumulator_layout(LANES, columns, dtype=type_.dtype)
    span = max(each.extent * each.stride for each in half.shard if each.axis == "TCol")
    stages = (Iter(extent, prod(outer[i + 1 :]) * 2 * span, "TCol") for i, extent in enumerate(outer))
    place(root, TileLayout((*stages, Iter(2, span, "TCol"), *half.shard), half.replica, half.offsets))
    return True
