"""The address walk of the hardware: where tcgen05.mma looks for every element of an operand in shared memory.

With S the row bytes of the swizzle mode, `size` the bytes of an element and all divisions rounding down, it is

    K-major    start + (mn % 8) * S + (mn / 8) * SBO + (kbyte / 16) * (LBO if not swizzled else 16) + kbyte % 16
    MN-major   start + (mn % c) * size + (mn / c) * (LBO if swizzled else SBO)
                     + (k % g) * S + (k / g) * (SBO if swizzled else LBO)      c = S / size, g = 8 (4 with 32-byte
                     atoms)

followed by the XOR of the swizzle mode, which acts on absolute shared-memory address bits. One descriptor stays within
a row: start % S plus what it reads of the contiguous dimension is at most S. In absolute LBO mode the bytes past the
row go on at column 0 of the chunk whose address the LBO field holds. Source: PTX ISA "Strides", "Canonical layouts",
"Leading dimension stride: relative offset or absolute address" (seed 9.7.16.3).

All arithmetic is on bits, so that packed 4-bit elements need no special case.
"""

from __future__ import annotations

from tirx.hw.errors import OperandLayoutError
from tirx.layout.arrays import NDArray, np
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import SWIZZLE_MODES, BitAddresses, Major, SwizzleMode
from tirx.values import dataclass

ATOM_BITS = 128
"""The ISA normalises all element types to 128 bits, the T of its tables."""

CORE_ROWS = 8
"""Rows along MN that share one SBO step of a K-major operand."""

Shape = tuple[int, int]


@dataclass(frozen=True)
class Walk:
    """The walk of one major-ness and swizzle over (MN, K) elements of `bits` bits, before start, strides and XOR.

    `inner`: bits from the start of a repeat to the element, [MN, K]. `outer_mn`, `outer_k`: which repeat along MN and
    along K, [MN] and [K]. `column`: bits along the contiguous dimension inside a repeat, one for each MN or K.
    """

    major: Major
    mode: SwizzleMode
    inner: BitAddresses
    outer_mn: BitAddresses
    outer_k: BitAddresses
    column: BitAddresses

    @staticmethod
    def of(major: Major, mode: SwizzleMode, shape: Shape, bits: int) -> Walk:
        """The walk over an operand of `shape` (MN, K)."""
        row = mode.row_bytes * 8
        mn, k = (np.arange(extent, dtype=np.int64) for extent in shape)
        if major == "K":
            outer_mn, inner_mn = np.divmod(mn, CORE_ROWS)
            outer_k, column = (np.zeros_like(k), k * bits) if mode.swizzled else np.divmod(k * bits, ATOM_BITS)
            inner = (inner_mn * row)[:, None] + column
        else:
            outer_mn, inner_mn = np.divmod(mn, row // bits)
            outer_k, inner_k = np.divmod(k, mode.rows)
            column = inner_mn * bits
            inner = column[:, None] + inner_k * row
        return Walk(major, mode, inner, outer_mn, outer_k, column)

    @property
    def traded(self) -> bool:
        """Returns True if LBO steps along MN and SBO along K, as only MN-major swizzled layouts have it."""
        return self.major == "MN" and self.mode.swizzled

    @property
    def repeats_mn(self) -> int:
        """Repeats of the pattern along MN; a partly used one counts."""
        return int(self.outer_mn[-1]) + 1

    @property
    def repeats_k(self) -> int:
        """Repeats along K: of 32 bytes when K-major, of the rows of the pattern when MN-major."""
        if self.major == "K":
            width = int(self.column[-1] + self.outer_k[-1] * ATOM_BITS)
            return width // (2 * ATOM_BITS) + 1
        return int(self.outer_k[-1]) + 1

    def unswizzled(self, start: int, lbo: int, sbo: int) -> BitAddresses:
        """Bit addresses [MN, K] before the XOR; `start` in bits, `lbo` and `sbo` in bytes, relative mode."""
        stride_mn, stride_k = (lbo, sbo) if self.traded else (sbo, lbo)
        return start + self.inner + (self.outer_mn * stride_mn * 8)[:, None] + self.outer_k * stride_k * 8

    def past_row(self, start: int) -> NDArray[np.bool_]:
        """Marks the elements [MN, K] past the row of the pattern that a walk from `start` (bits) reads."""
        row = self.mode.row_bytes * 8
        past = start % row + self.column >= row
        return np.broadcast_to(past if self.major == "K" else past[:, None], self.inner.shape)

    def absolute(self, start: int, second: int, sbo: int) -> BitAddresses:
        """Like `unswizzled` in absolute LBO mode: past the row, columns go on in the chunk at bit `second`."""
        row = self.mode.row_bytes * 8
        near = self.unswizzled(start, 0, sbo)
        return np.where(self.past_row(start), near - (start - start % row) - row + second, near)


def read_addresses(descriptor: SmemDescriptor, major: Major, shape: Shape, container_bits: int) -> BitAddresses:
    """Bit address in shared memory where the hardware reads every element of an operand, [MN, K].

    `container_bits`: the slot of an element in shared memory, 4 to 32, and the result are those of its slots: within 16
    bytes, padded elements lie closer together (`SmemPacking`). `major` is that of the instruction descriptor.

    Raises LegalityError when one descriptor does not reach all of the operand: with swizzling it reads one row of the
    pattern, and no strides reach further along the contiguous dimension when K-major.
    """
    mode = SWIZZLE_MODES[descriptor.swizzle]
    walk = Walk.of(major, mode, shape, container_bits)
    start, lbo, sbo = descriptor.start * 8, descriptor.lbo or 0, descriptor.sbo or 0
    past = walk.past_row(start)
    if not past.any():
        return mode.on_bits.apply(walk.unswizzled(start, lbo, sbo))
    if not descriptor.lbo_absolute:
        row, column = (int(x) for x in np.argwhere(past)[0])
        raise OperandLayoutError(
            f"expected an operand within one {mode.row_bytes}-byte row of swizzle {mode.name}, found element "
            f"{(row, column)} past its end: one descriptor reads no further, and every K step has its own"
        )
    return mode.on_bits.apply(walk.absolute(start, lbo * 8, sbo))
