"""The 64-bit shared-memory matrix descriptor of wgmma (PTX ISA, wgmma.mma_async, "Matrix Descriptor Format").

It names the same canonical layouts as that of tcgen05 and has start, LBO, SBO and base offset in the same places. Bits
46-48 are zero instead of 0b001, the swizzle mode takes bits 62-63 only, and there is no absolute LBO mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tirx.hw.bits import Bits, bits_text, deposit, extract
from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import DescriptorError
from tirx.hw.rules import reason, result
from tirx.smem.smem_descriptor import ADDRESS_BYTES, SmemDescriptor
from tirx.smem.smem_descriptor import FIELDS as _TCGEN05_FIELDS
from tirx.smem.swizzle_modes import SWIZZLE_MODES, WGMMA_OPERANDS, Major, OperandFamily, SwizzleName, legal_modes
from tirx.symbolic.integers import Integers
from tirx.values import dataclass

_CODES: dict[SwizzleName, int] = {
    name: mode.wgmma_code for name, mode in SWIZZLE_MODES.items() if mode.wgmma_code is not None
}
_MODE_OF_CODE: dict[int, SwizzleName] = {code: name for name, code in _CODES.items()}

FIELDS: Mapping[str, Bits] = {
    "start": (0, 14),
    "lbo": (16, 14),
    **{name: _TCGEN05_FIELDS[name] for name in ("sbo", "base_offset")},
    "swizzle": (62, 2),
}
"""The fields of a descriptor. Start, LBO and SBO count 16 bytes."""

RESERVED: tuple[Bits, ...] = ((14, 2), (30, 2), (46, 3), (52, 10))
"""Bits that are always zero."""

_CHOICES = deposit(0, FIELDS["swizzle"], 0b11)  # the swizzle decides what the other fields mean


@dataclass(frozen=True)
class WgmmaDescriptor:
    """A matrix descriptor of wgmma, in bytes.

    `start`: shared-memory byte address of element (0, 0). `lbo`, `sbo`: leading and stride dimension byte offset, None
    where the hardware reads none (written as field values 1 and 0). `swizzle`: name of a swizzle mode. `base_offset`: 0
    unless the swizzle pattern starts off its alignment.

    Raises LegalityError for an address that is no multiple of 16 below 2**18, for a base offset beyond 7, and for a
    swizzle that wgmma does not have.
    """

    start: int
    lbo: int | None
    sbo: int | None
    swizzle: SwizzleName
    base_offset: int = 0

    def __post_init__(self) -> None:
        if self.swizzle not in _CODES:
            raise DescriptorError(f"swizzle: expected one of {', '.join(_CODES)}, found '{self.swizzle}'")
        _ = self.walk  # checks the fields that both kinds of descriptors have
        for name, value in (("start address", self.start), ("LBO", self.lbo or 0)):
            if value >= ADDRESS_BYTES:
                raise DescriptorError(f"{name}: expected 0 to {ADDRESS_BYTES - 16} bytes, found {value}")

    def _repr_html_(self) -> str:
        """Returns a table of the fields with their bits, which notebooks show."""
        from tirx.hw.word_picture import descriptor_html

        return descriptor_html(self, self.encode, FIELDS)

    @staticmethod
    def of(descriptor: SmemDescriptor) -> WgmmaDescriptor:
        """The descriptor that makes wgmma read what `descriptor` makes tcgen05.mma read.

        Raises LegalityError for a swizzle that wgmma does not have, and for the absolute LBO mode.
        """
        if descriptor.lbo_absolute:
            raise DescriptorError("expected a relative LBO for wgmma, found an absolute one")
        return WgmmaDescriptor(
            descriptor.start, descriptor.lbo, descriptor.sbo, descriptor.swizzle, descriptor.base_offset
        )

    @property
    def walk(self) -> SmemDescriptor:
        """The descriptor of tcgen05 with the same fields: `read_addresses` says where either looks for elements."""
        return SmemDescriptor(self.start, self.lbo, self.sbo, self.swizzle, self.base_offset)

    def verify(self, dtype: str | DType, major: Major, *, k_bytes: int | None = None) -> None:
        """Checks what the hardware demands of a descriptor beyond its fields, and `ptxas` does not check.

        `dtype`, `major`: element type and major-ness of the operand. `k_bytes`: bytes of K that one instruction reads
        (32, or 64 for the B of a sparse product), None to leave that out.

        Raises LegalityError, with the fix, when the element type does not have this swizzle in this major-ness, when
        the base offset of a swizzle is not 0 (tirx aligns the pattern instead), when the start is in another row of the
        pattern than the first, or when what is read of K passes the end of the row of a K-major swizzled operand.
        Source: PTX ISA, wgmma.mma_async, "Shared Memory Matrix Layout", "Strides", "Matrix Descriptor Format".
        """
        element = find_dtype(dtype)
        if self.swizzle not in (modes := legal_modes(element, major, WGMMA_OPERANDS)):
            raise DescriptorError(
                f"{major}-major {element.name}: expected "
                + (f"swizzle {', '.join(modes)}" if modes else "a K-major operand, wgmma transposes 16-bit types only")
                + f", found {self.swizzle}"
            )
        self.walk.verify_place(major, k_bytes=k_bytes)

    def encode(self) -> int:
        """The descriptor as a 64-bit integer."""
        walked = self.walk.encode()
        word = deposit(0, FIELDS["swizzle"], _CODES[self.swizzle])
        for name in ("start", "lbo", "sbo", "base_offset"):
            word = deposit(word, FIELDS[name], extract(walked, FIELDS[name]))
        return word

    @staticmethod
    def decode(value: int) -> WgmmaDescriptor:
        """The descriptor that a 64-bit integer means; `encode` gives the integer back.

        An LBO that the hardware ignores is reported as the bytes in the field. Raises LegalityError when a reserved bit
        is set.
        """
        if not 0 <= value < 1 << 64:
            raise DescriptorError(f"expected a 64-bit matrix descriptor, found {value:#x}")
        for bits in RESERVED:
            if found := extract(value, bits):
                raise DescriptorError(f"{bits_text(bits)}: expected 0, found {found:#x}")
        codes = {name: extract(value, bits) for name, bits in FIELDS.items()}
        start, lbo, sbo = (codes[name] << 4 for name in ("start", "lbo", "sbo"))
        return WgmmaDescriptor(start, lbo, sbo, _MODE_OF_CODE[codes["swizzle"]], codes["base_offset"])


def decode_descriptor(word: int, family: OperandFamily) -> SmemDescriptor:
    """The fields of a matrix descriptor of either family. Raises LegalityError as the `decode` of its class does."""
    return WgmmaDescriptor.decode(word).walk if family is WGMMA_OPERANDS else SmemDescriptor.decode(word)


@lru_cache(maxsize=1024)
def possible_wgmma_descriptors(value: WgmmaDescriptor | Integers | int) -> tuple[WgmmaDescriptor, ...]:
    """The descriptors that a value may be, one for each choice of the unknown bits of the swizzle.

    Other unknown bits count as 0, which breaks no rule. Returns none where no choice has a meaning;
    `meaningless_wgmma` explains why.
    """
    if isinstance(value, WgmmaDescriptor):
        return (value,)
    found = (result(lambda word=word: WgmmaDescriptor.decode(word)) for word in _words(value))
    return tuple(descriptor for descriptor in found if descriptor is not None)


def meaningless_wgmma(value: WgmmaDescriptor | Integers | int | None) -> str | None:
    """Returns why a value is no descriptor of wgmma, whatever its unknown bits are; None if it may be one."""
    if value is None or isinstance(value, WgmmaDescriptor) or possible_wgmma_descriptors(value):
        return None
    return reason(lambda: WgmmaDescriptor.decode(_words(value)[-1]))


def _words(value: Integers | int) -> list[int]:
    return [value] if isinstance(value, int) else list(value.choices(_CHOICES))
