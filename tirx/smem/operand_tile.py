"""The shared-memory layouts that an operand of a shape can have, with what each of them costs in room."""

from __future__ import annotations

from tirx.hw.dtypes import DType
from tirx.layout.caching import bounded_cache
from tirx.smem.atoms import container, smem_layout
from tirx.smem.canonical_form import OperandLayout
from tirx.smem.swizzle_modes import (
    MAJORS,
    SWIZZLE_MODES,
    TCGEN05_OPERANDS,
    Major,
    OperandFamily,
    SwizzleName,
    legal_modes,
)
from tirx.values import dataclass


@dataclass(frozen=True)
class OperandTile:
    """One layout of an operand, canonical by construction (`smem_layout`).

    `blocks`: how many boxes of whole rows of the swizzle it takes, one behind the other; `padding_bytes`: bytes within
    the tile that hold no element.
    """

    major: Major
    swizzle: SwizzleName
    layout: OperandLayout
    blocks: int
    padding_bytes: int


def operand_tile(
    shape: tuple[int, int], element: DType, major: Major, swizzle: SwizzleName, container_bits: int | None = None
) -> OperandTile | None:
    """The tile of `shape` (MN, K) elements, None where there is none.

    The contiguous dimension is a number of whole rows of the mode, or whole atoms of a single row, which is padded: no
    tile layout can say that only the last of several rows is partly used. `container_bits`: 8 for 4-bit elements padded
    to a byte; packed by default.
    """
    mode = SWIZZLE_MODES[swizzle]
    bits = container(element, container_bits)
    contiguous, lines = (shape[1], shape[0]) if major == "K" else shape
    row, atom = mode.row_bytes * 8 // bits, (16 if major == "K" else mode.atom_bytes) * 8 // bits  # elements
    if contiguous < 1 or lines < 1 or contiguous % atom or (contiguous > row and contiguous % row):
        return None
    if major == "MN" and lines % mode.rows:
        return None
    whole = -(-contiguous // row) * row
    padded = (shape[0], whole) if major == "K" else (whole, shape[1])
    layout = smem_layout(element, swizzle, major, padded, container_bits=bits)
    if padded != shape:
        layout = layout.slice(padded, tuple((0, extent) for extent in shape))
    elements = whole * -(-lines // mode.rows) * mode.rows
    return OperandTile(major, swizzle, layout, whole // row, (elements - shape[0] * shape[1]) * bits // 8)


@bounded_cache
def operand_tiles(
    shape: tuple[int, int], element: DType, container_bits: int | None = None, family: OperandFamily = TCGEN05_OPERANDS
) -> tuple[OperandTile, ...]:
    """Every tile that the element type may have, K-major and then MN-major ones, narrow swizzles first."""
    found = (
        operand_tile(shape, element, major, swizzle, container_bits)
        for major in MAJORS
        for swizzle in legal_modes(element, major, family)
    )
    return tuple(tile for tile in found if tile is not None)
