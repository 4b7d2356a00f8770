"""The choice of a layout for a tile in tensor memory that products use, whole or in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import SSAValue

from tirx.dialects.tirx import AllocOp, MmaOp, TileType, base_allocation
from tirx.dialects.tirx.attributes import shape_text
from tirx.hw.errors import LegalityError, TensorMemoryError
from tirx.layout import Iter, LayoutError, TileLayout
from tirx.passes.layouts.operand_layouts import view_layout
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tcgen05_product import (
    SELECTABLE_COLUMNS,
    ProductShape,
    TensorOperand,
    check_tensor_operand,
    product_shape,
    required_layout,
    tensor_operands,
)
from tirx.rules import LayoutChoiceError
from tirx.tcgen05.tmem import COLUMN_BITS, DATA_PATHS
from tirx.values import dataclass

_DATA_PATH_D, _DATA_PATH_F = DATA_PATHS["D"], DATA_PATHS["F"]


@dataclass(frozen=True)
class TensorUse:
    """A product and the operand of it that is a view of a tensor tile."""

    mma: MmaOp
    operand: TensorOperand
    tile: SSAValue
    shape: ProductShape

    def fits(self, root: SSAValue, layout: TileLayout) -> bool:
        """Returns True if the product finds its operand in place when the allocation gets this layout."""
        try:
            type_ = TileType.of(self.tile).with_layout(view_layout(self.tile, root, layout))
            check_tensor_operand(self.operand, type_, self.shape)
        except (LegalityError, LayoutError):
            return False
        return True


def tensor_roots(mmas: Sequence[MmaOp]) -> Iterator[tuple[SSAValue, list[TensorUse]]]:
    """Yields each allocation without a layout of which products use a view in tensor memory, with these uses.

    Raises LocatedError at a product for which there is no instruction.
    """
    uses: dict[SSAValue, list[TensorUse]] = {}
    for mma in mmas:
        product = Product.of(mma)
        for operand, tile in tensor_operands(mma):
            if TileType.of(tile).layout is None:
                with legal(mma):
                    shape = product_shape(product)
                uses.setdefault(base_allocation(tile), []).append(TensorUse(mma, operand, tile, shape))
    yield from uses.items()


def choose_tensor_layout(root: SSAValue, uses: Sequence[TensorUse]) -> TileLayout:
    """Chooses a layout of an allocation with which all its products find their operands in place. Where there is none,
    one that suits the first product: the check then says what is wrong with the others.

    Raises LocatedError at a product that no layout suits.
    """
    first = uses[0]
    if not isinstance(root.owner, AllocOp):
        raise LayoutChoiceError(
            first.mma, f"expected a layout on the tile type {root.type}, which is not an allocation"
        )
    with legal(first.mma):
        candidates = [layout for use in uses for layout in _candidates(root, use) if first.fits(root, layout)]
    if not candidates:
        raise LayoutChoiceError(
            first.mma,
            f"expected the {first.operand} to be neighbouring columns of all rows of its tile, or a layout on the "
            f"tile, found {shape_text(TileType.of(first.tile))} of {shape_text(TileType.of(root))}",
        )
    return next((layout for layout in candidates if all(use.fits(root, layout) for use in uses)), candidates[0])


def plain_tensor_layout(dims: Sequence[int]) -> TileLayout:
    """The layout of a tile that no product uses: 128 or 64 rows on lanes, as accumulators have them, and neighbours of
    a row in neighbouring columns. More rows, and leading dimensions, follow each other in columns.

    Raises LegalityError for other numbers of rows.
    """
    rows, columns = dims[-2:] if len(dims) > 1 else (1, dims[0])
    lanes = next((path for path in (_DATA_PATH_D, _DATA_PATH_F) if rows % path.m == 0), None)
    if lanes is None:
        raise TensorMemoryError(
            f"expected rows in multiples of {_DATA_PATH_F.m} for a tensor tile that no product uses, or a layout on "
            f"it, found {rows}"
        )
    outer = (*dims[:-2], rows // lanes.m)
    stages = (Iter(extent, prod(outer[i + 1 :]) * columns, "TCol") for i, extent in enumerate(outer))
    return TileLayout((*stages, *lanes.rows, Iter(columns, 1, "TCol")))


def _candidates(root: SSAValue, use: TensorUse) -> Iterator[TileLayout]:
    """Yields the layout of the hardware for all columns of the tile and then, for data paths that fold columns onto
    lanes, the layout of the view that a product uses, repeated. Leading dimensions are stages, repeated as well.
    """
    type_, used = TileType.of(root), TileType.of(use.tile)
    # Not M: of a pair's product a CTA has its own rows only.
    if len(type_.dims) < 2 or type_.dims[-2] != used.dims[-2]:
        return
    *outer, rows, columns = type_.dims
    part = used.dims[-1]
    yield _repeated(required_layout(use.operand, type_, use.shape, columns), type_, outer)
    if part < columns and columns % part == 0:
        grouped, starts = required_layout(use.operand, type_, use.shape, part).group((rows, part))
        parts = Iter(columns // part, _span(grouped, type_, 1), "TCol")
        shard = (*grouped.shard[: starts[1]], parts, *grouped.shard[starts[1] :])
        yield _repeated(TileLayout(shard, grouped.replica, grouped.offsets), type_, outer)


def _repeated(layout: TileLayout, type_: TileType, outer: Sequence[int]) -> TileLayout:
    """The layout, repeated for the leading dimensions of a tile, from columns on where metadata may start."""
    span = _span(layout, type_, SELECTABLE_COLUMNS)
    stages = (Iter(extent, prod(outer[i + 1 :]) * span, "TCol") for i, extent in enumerate(outer))
    return TileLayout((*stages, *layout.shard), layout.replica, layout.offsets)


def _span(layout: TileLayout, type_: TileType, step: int) -> int:
    """Elements on `TCol` from one part or stage to the next, in steps of so many columns."""
    unit = step * COLUMN_BITS // type_.dtype.storage_bits
    return -(-(layout.footprint()["TCol"][1] + 1) // unit) * unit
