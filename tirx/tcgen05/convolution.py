"""Zero-column masks of implicit-GEMM convolutions: the padding of an image, without storing it.

N runs over the pixels of an image, row after row, and a tile may start and end anywhere in it. For one filter tap, the
product needs the pixel `tap * dilation - left_pad` columns further on. Those columns that leave their own row are
padding: in memory they hold pixels of the neighbouring row, and the zero-column mask makes them zero.
Source: PTX ISA "Zero-Column Mask Descriptor"; the shift is its "Column Shift".
"""

from __future__ import annotations

from tirx.hw.errors import ZeroColumnsError
from tirx.layout.arrays import np
from tirx.tcgen05.zero_column_mask import MAX_COLUMN_SHIFT, ZeroColumnMask, sub_mask_width


def convolution_mask(
    m: int, n: int, row_length: int, left_pad: int, tap: int, *, first_column: int = 0, dilation: int = 1
) -> ZeroColumnMask:
    """The zero-column mask and column shift of one filter tap along a row of the image.

    - `m`, `n`: shape of the instruction; the sub-masks of M = 64 and 32 follow from it;
    - `row_length`: output pixels (columns of B) in one row of the image; a tile may hold many rows;
    - `left_pad`: columns of padding before a row; `tap`: position of the filter tap, from 0; `dilation`: pixels
      between two taps;
    - `first_column`: number, in the whole image, of column 0 of the tile.

    Logical column j is pixel q = (first_column + j) % row_length of its row and needs pixel q + d, where
    d = tap * dilation - left_pad; it counts as zero when that is outside 0 to row_length - 1. Column 0 of B in shared
    memory is pixel first_column - left_pad, so that B is the same for every tap and the shift is tap * dilation.

    The pattern has period row_length with one zeroed run, so a descriptor always exists. Raises LegalityError for sizes
    without meaning and for a shift beyond that of M (32; 16 for M = 32).
    """
    sub_mask_width(m, n)
    for name, value, least in (
        ("row_length", row_length, 1),
        ("left_pad", left_pad, 0),
        ("tap", tap, 0),
        ("first_column", first_column, 0),
        ("dilation", dilation, 1),
    ):
        if value < least:
            raise ZeroColumnsError(f"{name}: expected at least {least}, found {value}")
    shift = tap * dilation
    if shift > MAX_COLUMN_SHIFT[m]:
        raise ZeroColumnsError(
            f"tap {tap} with dilation {dilation}: expected a column shift of at most {MAX_COLUMN_SHIFT[m]} "
            f"for M = {m}, found {shift}; a shared-memory descriptor that starts further on shifts as well"
        )
    pixel = (first_column + np.arange(n)) % row_length + shift - left_pad
    return ZeroColumnMask.from_columns((pixel < 0) | (pixel >= row_length), m, n, shift)
