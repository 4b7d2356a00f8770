"""Chooses the shared-memory layout of an operand: canonical by construction, with the widest swizzle that fits."""

from __future__ import annotations

from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.tcgen05.dtypes import DType, find_dtype
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.swizzle_modes import MAJORS, SWIZZLE_MODES, Major, legal_modes


def pick_operand_layout(
    shape: tuple[int, int], dtype: str | DType, major: Major = "K", *, container_bits: int | None = None
) -> TileLayout | ComposeLayout:
    """A layout for an operand of `shape` (MN, K) elements that tcgen05.mma can read, each K step with one descriptor.

    The swizzle is the widest of the type whose row divides the major dimension: bank conflicts fall with its width.
    K-major: the atom (8 rows of S bytes) repeats along MN first, then along K, which is also how a TMA box of MN rows
    of S bytes lands. MN-major: each chunk of S bytes along MN holds all of K, which is a TMA box of K rows of S bytes.
    `container_bits`: 8 for e2m1 padded to a byte; packed by default. Allocate the tile at the `base_alignment` of its
    canonical layout.

    Raises LegalityError when no layout exists for this shape and type, saying what does.
    """
    element = find_dtype(dtype)
    if major not in MAJORS:
        raise LegalityError(f"expected major-ness {' or '.join(MAJORS)}, got '{major}'")
    bits = element.storage_bits if container_bits is None else container_bits
    mn, k = shape
    contiguous, name = (k, "K") if major == "K" else (mn, "MN")
    modes = [SWIZZLE_MODES[mode] for mode in legal_modes(element, major)]
    if not modes:
        raise LegalityError(
            f"{element.name} has no MN-major layout, only K-major: 4-bit and 6-bit types are never transposed"
        )
    fitting = [mode for mode in modes if contiguous > 0 and contiguous * bits % (mode.row_bytes * 8) == 0]
    if not fitting:
        step = min(mode.row_bytes for mode in modes) * 8 // bits
        raise LegalityError(
            f"{major}-major {element.name}: expected {name} in steps of {step} elements ({step * bits // 8} bytes), "
            f"got {contiguous}; nearest is {max(step, round(contiguous / step) * step)}"
        )
    mode = max(fitting, key=lambda x: x.row_bytes)
    if mn < 1:
        raise LegalityError(f"expected a positive MN, got {mn}")
    if k < 1 or (major == "MN" and k % mode.rows):
        raise LegalityError(f"{major}-major {element.name}: expected K in steps of {mode.rows}, got {k}")
    row = mode.row_bytes * 8 // bits  # elements
    blocks, lines = (k // row, mn) if major == "K" else (mn // row, k)
    # A block starts where the pattern of rows does, also behind a tile that ends inside a group of rows.
    block_rows = -(-lines // mode.rows) * mode.rows
    block, line, column = Iter(blocks, block_rows * row, "m"), Iter(lines, row, "m"), Iter(row, 1, "m")
    order = (line, block, column) if major == "K" else (block, column, line)
    tile = TileLayout(it for it in order if it is not block or blocks > 1)
    return ComposeLayout(SwizzleLayout.for_bits(bits, mode.name), tile) if mode.swizzled else tile
