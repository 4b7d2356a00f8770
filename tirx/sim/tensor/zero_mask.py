"""Zero-column mask descriptors of tcgen05.mma.ws (PTX ISA, section 9.7.16.4.3)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Mask
from tirx.sim.errors import SimError

_SUB_MASKS = {128: 1, 64: 2, 32: 4}  # by M
_MAX_SHIFT = {128: 32, 64: 32, 32: 16}


def expand_zero_mask(bits: int, m: int, n: int, max_shift: int) -> tuple[Mask, int]:
    """
    Decodes a zero-column mask: True for each of the `n` columns of B that counts as zero, and the shift. Logical column
    j is column j + shift of B.

    `max_shift` is that of the instruction descriptor. Skip Span (bits 40-47) is the length - 1 of the runs of zeroed
    columns and Use Span (48-55) that of the others, as the examples of the ISA have it. Raises SimError for reserved
    bits and shifts that are too large.
    """

    def field(low: int, width: int) -> int:
        return (bits >> low) & ((1 << width) - 1)

    def error(message: str) -> SimError:
        return SimError(f"illegal zero-column mask {bits & ((1 << 64) - 1):#018x}: {message}")

    if field(36, 3) or field(62, 2):
        raise error("bits 36-38 and 62-63 must be zero")
    shift, limit = field(56, 6), min(_MAX_SHIFT[m], max_shift)
    if shift > limit:
        raise error(
            f"shift {shift} is more than {limit} (M={m}, maximum shift {max_shift} in the instruction descriptor)"
        )
    zero = np.zeros(n, np.bool_)
    if not field(39, 1):
        return zero, shift
    zeroed, used = field(40, 8) + 1, field(48, 8) + 1
    width = n // _SUB_MASKS[m]
    for index in range(_SUB_MASKS[m]):
        skipped = field(8 * index, 8) + (0 if field(32 + index, 1) else zeroed)  # of zeroed columns, then used ones
        zero[index * width : (index + 1) * width] = (skipped + np.arange(width)) % (zeroed + used) < zeroed
    return zero, shift


def late_start(bits: int, m: int) -> str | None:
    """Says which sub-mask skips more than its first run, as no example of the ISA does; None if none does."""
    for index in range(_SUB_MASKS[m] if bits >> 39 & 1 else 0):
        length = (bits >> (40 if bits >> (32 + index) & 1 else 48) & 0xFF) + 1
        if (skipped := bits >> 8 * index & 0xFF) >= length:
            return (
                f"start count {skipped} of sub-mask {index} is not below the length {length} of its first run: the "
                "columns here are those after so many bits of the pattern"
            )
    return None
