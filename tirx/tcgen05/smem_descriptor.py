"""The 64-bit shared-memory matrix descriptor of tcgen05 (PTX ISA "Shared memory descriptor")."""

from __future__ import annotations

from dataclasses import dataclass

from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.swizzle_modes import SWIZZLE_MODES, SwizzleName

ADDRESS_BYTES = 1 << 18
"""Start address, LBO and SBO are 18-bit byte quantities: 14 encoded bits and 4 that are always zero."""

UNUSED_LBO = 16
"""Bytes written for an LBO that the hardware does not read: field value 1, the ISA's "assumed to be 1"."""

ABSOLUTE_LBO_TARGETS = ("sm_103a",)
"""Targets whose descriptors have the absolute LBO mode (bit 52); on the others that bit must be 0."""

ABSOLUTE_LBO_SWIZZLE: SwizzleName = "128B"
ABSOLUTE_LBO_BYTES = 48
"""The absolute LBO mode reads this many bytes of K, with this swizzle only (seed 9.7.16.3.1.1.2)."""

_CONSTANT = 0b001  # bits 46-48
_MODE_OF_CODE: dict[int, SwizzleName] = {mode.code: name for name, mode in SWIZZLE_MODES.items()}
_RESERVED = ((14, 2), (30, 2), (53, 8))  # (first bit, width), always zero on sm_100, sm_103 and sm_110


@dataclass(frozen=True)
class SmemDescriptor:
    """A shared-memory matrix descriptor, in bytes.

    - `start`: shared-memory byte address of element (0, 0);
    - `lbo`: leading dimension byte offset; an absolute byte address when `lbo_absolute`; None where the hardware reads
      no LBO (K-major swizzled, or a single repeat), written as field value 1;
    - `sbo`: stride dimension byte offset; None where a single repeat leaves it unread, written as 0;
    - `swizzle`: name of a swizzle mode; `base_offset`: 0 unless the swizzle pattern starts off its alignment.

    Raises LegalityError for an address that is no multiple of 16 below 2**18 (the start: of the swizzle's atom), for an
    unknown swizzle, and for the absolute mode with anything but a 128-byte swizzle of 16-byte atoms at base offset 0.
    """

    start: int
    lbo: int | None
    sbo: int | None
    swizzle: SwizzleName
    base_offset: int = 0
    lbo_absolute: bool = False

    def __post_init__(self) -> None:
        for name, value in (("start address", self.start), ("LBO", self.lbo), ("SBO", self.sbo)):
            if value is None:
                continue
            if value % 16:
                raise LegalityError(
                    f"{name}: expected a multiple of 16 bytes, got {value}; nearest is {round(value / 16) * 16}"
                )
            if not 0 <= value < ADDRESS_BYTES:
                raise LegalityError(f"{name}: expected 0 to {ADDRESS_BYTES - 16} bytes, got {value}")
        if self.swizzle not in SWIZZLE_MODES:
            raise LegalityError(f"swizzle: expected one of {', '.join(SWIZZLE_MODES)}, got '{self.swizzle}'")
        atom = SWIZZLE_MODES[self.swizzle].atom_bytes
        if self.start % atom:
            raise LegalityError(
                f"start address: expected a multiple of the {atom}-byte atom of swizzle {self.swizzle}, "
                f"got {self.start}"
            )
        if not 0 <= self.base_offset < 8:
            raise LegalityError(f"matrix base offset: expected 0 to 7, got {self.base_offset}")
        if self.lbo_absolute:
            if self.swizzle != ABSOLUTE_LBO_SWIZZLE:
                raise LegalityError(
                    f"absolute LBO: expected swizzle {ABSOLUTE_LBO_SWIZZLE} (16-byte atoms), got {self.swizzle}"
                )
            if self.base_offset:
                raise LegalityError(f"absolute LBO: expected matrix base offset 0, got {self.base_offset}")
            if self.lbo is None:
                raise LegalityError("absolute LBO: expected the byte address of the second data chunk, got None")

    def encode(self) -> int:
        """The descriptor as a 64-bit integer."""
        lbo = UNUSED_LBO if self.lbo is None else self.lbo
        sbo = 0 if self.sbo is None else self.sbo
        return (
            self.start >> 4
            | lbo >> 4 << 16
            | sbo >> 4 << 32
            | _CONSTANT << 46
            | self.base_offset << 49
            | int(self.lbo_absolute) << 52
            | SWIZZLE_MODES[self.swizzle].code << 61
        )

    @staticmethod
    def decode(value: int) -> SmemDescriptor:
        """The descriptor that a 64-bit integer means; `encode` gives the integer back.

        An LBO that the hardware will ignore is reported as the bytes in the field, whatever they are.
        Raises LegalityError when a constant or reserved bit is wrong, or the swizzle code has no meaning.
        """
        if not 0 <= value < 1 << 64:
            raise LegalityError(f"expected a 64-bit shared-memory descriptor, got {value:#x}")
        if (found := value >> 46 & 0b111) != _CONSTANT:
            raise LegalityError(f"bits 46-48: expected 0b001, got {found:#05b}")
        for first, width in _RESERVED:
            if found := value >> first & ((1 << width) - 1):
                raise LegalityError(f"bits {first}-{first + width - 1}: expected 0, got {found:#x}")
        if (code := value >> 61) not in _MODE_OF_CODE:
            raise LegalityError(f"bits 61-63: expected a swizzle mode {sorted(_MODE_OF_CODE)}, got {code}")
        return SmemDescriptor(
            start=(value & 0x3FFF) << 4,
            lbo=(value >> 16 & 0x3FFF) << 4,
            sbo=(value >> 32 & 0x3FFF) << 4,
            swizzle=_MODE_OF_CODE[code],
            base_offset=value >> 49 & 0b111,
            lbo_absolute=bool(value >> 52 & 1),
        )
