"""Giving tiles in memory the layouts that passes pick."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.tirx import MemorySpace, ReshapeOp, SubviewOp, TileType, TransposeOp, ViewOp, tile_strides
from tirx.dialects.tirx.attributes import shape_text
from tirx.layout import ComposeLayout, LayoutError, TileLayout
from tirx.rules import LayoutChoiceError
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS


def place(tile: SSAValue, layout: TileLayout | ComposeLayout) -> SSAValue:
    """Gives a tile its layout, and the views of it that have none the layout that follows. Returns the placed tile.

    Raises LayoutChoiceError at the tile if the layout does not fit its memory, at a view that has no layout in it.
    """
    type_ = TileType.of(tile)
    assert isinstance(tile.owner, Operation)  # what is picked is an allocation or a view
    _check_columns(tile.owner, type_, layout)
    try:
        placed = type_.with_layout(layout)
    except VerifyException as e:
        raise LayoutChoiceError(tile.owner, f"the layout picked for the tile does not fit its memory: {e}") from e
    value = Rewriter.replace_value_with_new_type(tile, placed)
    for op in [use.operation for use in value.uses]:
        match op:
            case SubviewOp() if op.result.type.layout is None:
                try:
                    part = SubviewOp.type_of(placed, op.start, op.result.type.dims, op.step).layout
                except LayoutError as e:
                    raise LayoutChoiceError(op, f"the layout picked for the source has no such part: {e}") from e
                if part is not None:
                    place(op.result, part)
            case ReshapeOp() if op.result.type.layout is None:
                place(op.result, layout)
            case TransposeOp() if op.result.type.layout is None and type_.memory is MemorySpace.SHARED:
                place(op.result, TransposeOp.layout_of(layout, type_.dims, op.order))
            case ViewOp() if op.result.type.layout is None:
                found = op.derived_layout(op.result.type.dims)
                if tile_strides(placed) is None:
                    raise LayoutChoiceError(op, f"expected a tile with a stride along each dimension, found {layout}")
                assert isinstance(found, TileLayout), found
                place(op.result, found)
            case _:
                pass
    return value


def _check_columns(op: Operation, type_: TileType, layout: TileLayout | ComposeLayout) -> None:
    """Raises LayoutChoiceError for a tile that needs more columns than tensor memory has."""
    if type_.memory is not MemorySpace.TENSOR or "TCol" not in layout.axes:
        return
    columns = (layout.footprint()["TCol"][1] * type_.dtype.storage_bits) // COLUMN_BITS + 1
    if columns > COLUMNS:
        raise LayoutChoiceError(
            op,
            f"expected a tile of at most {COLUMNS} columns of tensor memory, found {shape_text(type_)}, which takes "
            f"{columns}: {layout}",
        )
