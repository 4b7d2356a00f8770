"""Facts of the PTX ISA about wgmma, written from its text alone: nothing of the library is used here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

ROW_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a row of the swizzle pattern by the value of bits 62-63."""


def hardware_bytes(word: int, major: str, element: int, shape: tuple[int, int]) -> IntArray:
    """Byte address of every element of (MN, K), from the bits of the descriptor alone (PTX ISA, "Strides")."""
    start, lbo, sbo = ((word >> shift & 0x3FFF) * 16 for shift in (0, 16, 32))
    mode = word >> 62
    row = ROW_BYTES[mode]
    mn, k = (x.astype(np.int64) for x in np.indices(shape))
    if major == "K":
        byte = k * element
        address = start + mn % 8 * row + mn // 8 * sbo + byte // 16 * (16 if mode else lbo) + byte % 16
    else:
        width = row // element
        chunk, group = (lbo, sbo) if mode else (sbo, lbo)
        address = start + mn % width * element + mn // width * chunk + k % 8 * row + k // 8 * group
    return address ^ (address >> 3 & {0: 0, 1: 0x70, 2: 0x30, 3: 0x10}[mode])


# Row and column of element i of lane l, for one warp (PTX ISA, wgmma.mma_async, "Matrix fragments"): groupID is l >> 2,
# threadID_in_group is l % 4, and a warp has 16 rows.
def d_place(lane: int, i: int) -> tuple[int, int]:
    """The accumulator, any N."""
    return (lane >> 2) + (0 if i % 4 < 2 else 8), i // 4 * 8 + lane % 4 * 2 + (i & 1)


def a_place_32(lane: int, i: int) -> tuple[int, int]:
    """A of .tf32, K = 8."""
    return (lane >> 2) + (8 if i in (1, 3) else 0), lane % 4 + (4 if i >= 2 else 0)


def a_place_16(lane: int, i: int) -> tuple[int, int]:
    """A of .f16 and .bf16, K = 16."""
    row = (lane >> 2) + (0 if 0 <= i < 2 or 4 <= i < 6 else 8)
    return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


def a_place_8(lane: int, i: int) -> tuple[int, int]:
    """A of 8-bit types, K = 32."""
    row = (lane >> 2) + (0 if 0 <= i < 4 or 8 <= i < 12 else 8)
    return row, lane % 4 * 4 + (i & 3) + (16 if i >= 8 else 0)


def metadata_place(lane: int, code: int, bits: int, selector: int) -> tuple[int, int] | None:
    """Row and chunk of code 0 to 7 of a lane, None where the selector names other lanes ("Sparse matrix storage").

    16-bit and 32-bit types: threads 2 s and 2 s + 1 of four hold 16 bits of row g and 16 of row g + 8, each for a half
    of K. 8-bit types: threads 0 and 1 hold the first half of K of rows g and g + 8, threads 2 and 3 the second.
    """
    group, thread = divmod(lane, 4)
    if bits == 8:
        return group + 8 * (thread % 2), 8 * (thread // 2) + code
    if thread // 2 != selector:
        return None
    return group + 8 * (code // 4), 4 * (thread % 2) + code % 4
