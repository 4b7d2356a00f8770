"""The shared-memory layouts of an operand tile that tcgen05.mma reads, built from whole swizzle patterns."""

from __future__ import annotations

from dataclasses import dataclass

from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.tcgen05.canonical_form import OperandLayout
from tirx.tcgen05.dtypes import DType
from tirx.tcgen05.swizzle_modes import MAJORS, SWIZZLE_MODES, Major, SwizzleName, legal_modes


@dataclass(frozen=True)
class OperandTile:
    """One layout of an operand, canonical by construction.

    K-major: the pattern (8 rows of S bytes) repeats along MN first, then along K, which is also how a TMA box of MN
    rows of S bytes lands. MN-major: each chunk of S bytes along MN holds all of K, a TMA box of K rows of S bytes.
    `blocks`: how many such boxes; `padding_bytes`: bytes within the tile that hold no element.
    """

    major: Major
    swizzle: SwizzleName
    layout: OperandLayout
    blocks: int
    padding_bytes: int


def operand_tile(shape: tuple[int, int], major: Major, swizzle: SwizzleName, container_bits: int) -> OperandTile | None:
    """The tile of `shape` (MN, K) elements of `container_bits` bits, None where there is none.

    The contiguous dimension is a number of whole rows of the pattern, or part of a single one.
    """
    mode = SWIZZLE_MODES[swizzle]
    contiguous, lines = (shape[1], shape[0]) if major == "K" else shape
    row = mode.row_bytes * 8 // container_bits  # elements
    step = 128 // container_bits if major == "K" else mode.atom_bytes * 8 // container_bits
    if contiguous < 1 or lines < 1 or contiguous % step or (contiguous > row and contiguous % row):
        return None
    if major == "MN" and lines % mode.rows:
        return None
    blocks = max(1, contiguous // row)
    # A block starts where the pattern of rows does, also behind a tile that ends inside a group of rows.
    block_rows = -(-lines // mode.rows) * mode.rows
    block, line = Iter(blocks, block_rows * row, "m"), Iter(lines, row, "m")
    column = Iter(min(row, contiguous), 1, "m")
    order = (line, block, column) if major == "K" else (block, column, line)
    tile = TileLayout(it for it in order if it is not block or blocks > 1)
    layout = ComposeLayout(SwizzleLayout.for_bits(container_bits, swizzle), tile) if mode.swizzled else tile
    padding = (blocks * block_rows * row - shape[0] * shape[1]) * container_bits // 8
    return OperandTile(major, swizzle, layout, blocks, padding)


def operand_tiles(shape: tuple[int, int], element: DType, container_bits: int) -> list[OperandTile]:
    """Every tile that the element type may have, K-major and then MN-major ones, narrow swizzles first."""
    found = (
        operand_tile(shape, major, swizzle, container_bits)
        for major in MAJORS
        for swizzle in legal_modes(element, major)
    )
    return [tile for tile in found if tile is not None]
