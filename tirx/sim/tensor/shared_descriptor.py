"""Shared memory descriptors of tcgen05 (PTX ISA, section 9.7.16.5.1): fields, and addresses of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.targets import TARGETS, has


@dataclass(frozen=True, slots=True)
class SwizzleMode:
    """
    A value of bits 61-63. `row` is the bytes of a row of the pattern, `mn_group` the rows after which it repeats along
    K if MN-major. An address is XORed with `(address >> shift) & mask`, counted from the start of the pattern.
    """

    name: str
    row: int
    mask: int
    shift: int
    mn_group: int


SWIZZLE_MODES = {
    0: SwizzleMode("none", 16, 0x00, 3, 8),
    1: SwizzleMode("128B with 32-byte atoms", 128, 0x60, 2, 4),
    2: SwizzleMode("128B", 128, 0x70, 3, 8),
    4: SwizzleMode("64B", 64, 0x30, 3, 8),
    6: SwizzleMode("32B", 32, 0x10, 3, 8),
}
_ATOM_32B = 1
_128B = 2
_NONE = 0
_K_GROUP = 8
_CHUNK = 16

# Fields: lowest bit and width.
_START, _LEADING, _STRIDE = (0, 15), (16, 15), (32, 14)
_CONSTANT, _BASE_OFFSET, _ABSOLUTE, _MODE = (46, 3), (49, 3), (52, 1), (61, 3)
_RESERVED = ((15, 1), (31, 1), (53, 8))
# Which half of a row of 48 bytes, for B with a table: a reserved bit elsewhere.
SEGMENT_BIT = 53
# The upper bits of start and leading offset, where they exist.
_WIDE_BITS = ((14, 1), (30, 1))
# wgmma: the numbers here of its swizzle modes none, 128B, 64B, 32B.
_WGMMA_MODES = (0, 2, 4, 6)
_WGMMA_RESERVED = ((14, 2), (30, 2), (46, 3), (52, 10))
_BASE_OFFSET_UNIT = 128
# Absolute leading dimension addresses: for how many bytes along K.
_ABSOLUTE_SIZE = 48


class SharedDescriptor:
    """
    A descriptor of the operand `what`. Raises SimError if it is not legal on `target`.

    The pattern of a swizzle starts at multiples of its size, or so many units behind them as the base offset says; an
    operand may start in any of its rows, as CuTe DSL's kernels with operands aligned to 128 bytes do. wgmma reads both
    so on an H100 (K-major f16, 128B). An operand may also start inside of a row: K-major if it ends in the same one, or
    MN-major of wgmma (`_check_inside`), as Triton's m64n32k16 reads half of 64 columns.

    Addresses are bytes of the CTA's shared memory (18 bits, 19 on Rubin, without the rank).
    """

    def __init__(self, bits: int, what: str, target: str = ""):
        self.bits = bits
        self.what = what
        self._target = target
        self._of_wgmma = False
        self.start = self._field(_START) << 4
        self.leading = self._field(_LEADING) << 4
        self.stride = self._field(_STRIDE) << 4
        for low, width in _RESERVED if has(target, "matrix_descriptor.15_bits") else (*_WIDE_BITS, *_RESERVED):
            if self._field((low, width)):
                self._illegal(f"bit {low} must be zero" if width == 1 else f"bits {low}-{low + width - 1} must be zero")
        if self._field(_CONSTANT) != 1:
            self._illegal(f"bits 46-48 must be 0b001, found {self._field(_CONSTANT):#05b}")
        if self._field(_MODE) not in SWIZZLE_MODES:
            self._illegal(f"swizzle mode {self._field(_MODE)} does not exist")
        self.number = self._field(_MODE)
        self.mode = SWIZZLE_MODES[self.number]
        # The pattern starts this many bytes behind a multiple of its size. Without a swizzle there is none: the ISA's
        # table of base offsets has rows for swizzles only, and Triton writes address bits there for scale factors.
        self.base = self._field(_BASE_OFFSET) * _BASE_OFFSET_UNIT
        self.absolute = bool(self._field(_ABSOLUTE))
        if self.absolute:
            self._check_absolute(target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedDescriptor) and (self.bits, self.what) == (other.bits, other.what)

    def __hash__(self) -> int:
        return hash((self.bits, self.what))

    def swapped(self) -> SharedDescriptor:
        """The descriptor with leading and stride offset in each other's place."""
        leading, stride = self._field(_LEADING), self._field(_STRIDE)
        bits = self.bits & ~(0x7FFF << _LEADING[0] | 0x3FFF << _STRIDE[0])
        return SharedDescriptor(bits | stride << _LEADING[0] | leading << _STRIDE[0], self.what, self._target)

    def _check_absolute(self, target: str) -> None:
        if not has(target, "matrix_descriptor.absolute_lbo"):
            shown = ", ".join(TARGETS["matrix_descriptor.absolute_lbo"])
            self._illegal(f"absolute leading dimension addresses (bit 52) exist on {shown}, not on {target}")
        if self.number != _128B or self.base:
            self._illegal("absolute leading dimension addresses (bit 52) need 128B swizzle and base offset 0")
        if self.leading % (_K_GROUP * self.mode.row):
            self._illegal(f"absolute leading dimension address {self.leading:#x} is not where a pattern starts")

    def _check_inside(self, row: int, size: int) -> None:
        """
        Raises SimError unless hardware is known to read `size` bytes along MN that start inside of a row.

        An H200 reads operands of wgmma that end in the same row; with the 128B swizzle also those of up to a row that
        end in the next one, by the XOR on absolute addresses.
        """
        if not self._of_wgmma:
            self._illegal(f"MN-major start {self.start:#x} is not a multiple of the row of {row} bytes")
        if self.start % row + size > row and (self.number != _128B or size > row):
            self._illegal(
                f"{size} bytes of MN from byte {self.start % row} leave the swizzle row of {row} bytes; expected the "
                "start of a row, or an operand that ends in the same row or, of 128 bytes, in the next one"
            )

    @classmethod
    def of_wgmma(cls, bits: int, what: str) -> SharedDescriptor:
        """One of wgmma (section 9.7.15.5.1): the same layouts, but the mode is in bits 62-63, and no constant."""
        mode = _WGMMA_MODES[bits >> 62 & 3]
        for low, width in _WGMMA_RESERVED:
            if bits >> low & ((1 << width) - 1):
                where = f"bits {low}-{low + width - 1}"
                raise SimError(f"illegal shared memory descriptor {bits:#018x} of {what}: {where} must be zero")
        found = cls(bits & ((1 << _MODE[0]) - 1) | 1 << _CONSTANT[0] | mode << _MODE[0], what)
        found._of_wgmma = True
        return found

    def _field(self, field: tuple[int, int]) -> int:
        low, width = field
        return (self.bits >> low) & ((1 << width) - 1)

    def _illegal(self, message: str) -> NoReturn:
        raise SimError(f"illegal shared memory descriptor {self.bits:#018x} of {self.what}: {message}")

    def _swizzled(self, addresses: Array) -> Array:
        return addresses ^ (((addresses - self.base) >> self.mode.shift) & self.mode.mask)

    def k_major(self, rows: Array, size: int) -> Array:
        """Addresses (len(rows), size): bytes [0, size) along K of each row (M or N index)."""
        if self.number == _ATOM_32B:
            self._illegal("128B swizzle with 32-byte atoms has no K-major layout")
        row = self.mode.row
        if self.absolute:
            return self._continued(rows, size)
        if self.number != _NONE and self.start % row + size > row:
            self._illegal(f"{size} bytes of K from byte {self.start % row} leave the swizzle row of {row} bytes")
        index, byte = rows[:, None], np.arange(size)[None, :]
        step = self.leading if self.number == _NONE else _CHUNK
        column = byte // _CHUNK * step + byte % _CHUNK
        return self._swizzled(self.start + index % _K_GROUP * row + index // _K_GROUP * self.stride + column)

    def _continued(self, rows: Array, size: int) -> Array:
        """Computes `k_major` with bytes behind the end of a row at the start of the pattern at the absolute address."""
        if size != _ABSOLUTE_SIZE:
            self._illegal(f"absolute leading dimension addresses are for {_ABSOLUTE_SIZE} bytes of K, not {size}")
        row, index, byte = self.mode.row, rows[:, None], self.start % self.mode.row + np.arange(size)[None, :]
        base = np.where(byte < row, self.start - self.start % row, self.leading)
        return self._swizzled(base + byte % row + index % _K_GROUP * row + index // _K_GROUP * self.stride)

    def mn_major(self, rows: Array, depth: int, element: int) -> Array:
        """Addresses (len(rows), depth, element): the bytes of each of `depth` elements along K of each row."""
        if (element == 4) != (self.number == _ATOM_32B):
            self._illegal(
                f"MN-major elements of {element} bytes with swizzle {self.mode.name}: 32-bit elements need 128B "
                "swizzle with 32-byte atoms, others must not have it"
            )
        if self.absolute:
            self._illegal("absolute leading dimension addresses (bit 52) are for K-major operands")
        row, group = self.mode.row, self.mode.mn_group
        if self.number != _NONE and self.start % row:
            self._check_inside(row, int(rows.max() + 1) * element)
        per_row = row // element
        index, k, byte = rows[:, None, None], np.arange(depth)[None, :, None], np.arange(element)[None, None, :]
        # Leading and stride offsets trade places without a swizzle.
        chunk, next_group = (self.stride, self.leading) if self.number == _NONE else (self.leading, self.stride)
        within = index % per_row * element + index // per_row * chunk
        return self._swizzled(self.start + within + k % group * row + k // group * next_group + byte)
