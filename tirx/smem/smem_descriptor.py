"""The 64-bit shared-memory matrix descriptor of tcgen05 (PTX ISA "Shared memory descriptor")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tirx.hw.bits import Bits, bits_text, deposit, extract
from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import DescriptorError
from tirx.hw.features import supporting_targets
from tirx.hw.rules import reason, result
from tirx.layout.caching import bounded_cache
from tirx.smem.swizzle_modes import SWIZZLE_MODES, Major, SwizzleName, legal_modes
from tirx.symbolic.integers import Integers
from tirx.values import dataclass

ADDRESS_BYTES = 1 << 18
"""Start address, LBO and SBO are 18-bit byte quantities: 14 encoded bits and 4 that are always zero."""

WIDE_ADDRESS_BYTES = 1 << 19
"""Start address and LBO have 19 bits on targets with `WIDE_ADDRESSES`."""

WIDE_ADDRESSES = "matrix_descriptor.15_bits"
"""The capability of targets with 15-bit start and LBO fields and a segment of K (bit 53)."""

K_SEGMENTS = (0, 24)
"""Bytes at which 24 bytes of a compressed B start in a row of 48, by the code of bit 53."""

SEGMENTED_BYTES = 48
"""Bytes of a row of a compressed B, of which a product reads 24."""

UNUSED_LBO = 16
"""Bytes written for an LBO that the hardware does not read: field value 1, the ISA's "assumed to be 1"."""

ABSOLUTE_LBO = "matrix_descriptor.absolute_lbo"
"""The capability of targets whose descriptors have the absolute LBO mode (bit 52); elsewhere that bit must be 0."""

ABSOLUTE_LBO_SWIZZLE: SwizzleName = "128B"
ABSOLUTE_LBO_BYTES = 48
"""The absolute LBO mode reads this many bytes of K, with this swizzle only (seed 9.7.16.3.1.1.2)."""

CONSTANT = 0b001
"""What bits 46-48 of every descriptor are."""

FIELDS: Mapping[str, Bits] = {
    "start": (0, 15),
    "lbo": (16, 15),
    "sbo": (32, 14),
    "constant": (46, 3),
    "base_offset": (49, 3),
    "lbo_absolute": (52, 1),
    "k_segment": (53, 1),
    "swizzle": (61, 3),
}
"""The fields of a descriptor. Start, LBO and SBO count 16 bytes."""

RESERVED: tuple[Bits, ...] = ((15, 1), (31, 1), (54, 7))
"""Bits that are always zero. So are the uppermost of start and LBO, and bit 53, without `WIDE_ADDRESSES`."""

_MODE_OF_CODE: dict[int, SwizzleName] = {mode.code: name for name, mode in SWIZZLE_MODES.items()}
# Swizzle and LBO mode decide what the other fields mean.
_CHOICES = deposit(0, FIELDS["swizzle"], 0b111) | deposit(0, FIELDS["lbo_absolute"], 1)


@dataclass(frozen=True)
class SmemDescriptor:
    """A shared-memory matrix descriptor, in bytes.

    - `start`: shared-memory byte address of element (0, 0);
    - `lbo`: leading dimension byte offset; an absolute byte address when `lbo_absolute`; None where the hardware reads
      no LBO (K-major swizzled, or a single repeat), written as field value 1;
    - `sbo`: stride dimension byte offset; None where a single repeat leaves it unread, written as 0;
    - `swizzle`: name of a swizzle mode; `base_offset`: 0 unless the swizzle pattern starts off its alignment, ignored
      without a swizzle;
    - `k_segment`: 0 or 24, the byte of a 48-byte row where the indices of a compressed B start.

    Raises LegalityError for what no field holds: a start or LBO that is no multiple of 16 below 2**19, an SBO below
    2**18, an unknown swizzle. `verify` judges the fields together.
    """

    start: int
    lbo: int | None
    sbo: int | None
    swizzle: SwizzleName
    base_offset: int = 0
    lbo_absolute: bool = False
    k_segment: int = 0

    def __post_init__(self) -> None:
        for name, value, end in (
            ("start address", self.start, WIDE_ADDRESS_BYTES),
            ("LBO", self.lbo, WIDE_ADDRESS_BYTES),
            ("SBO", self.sbo, ADDRESS_BYTES),
        ):
            if value is None:
                continue
            if value % 16:
                raise DescriptorError(
                    f"{name}: expected a multiple of 16 bytes, found {value}; nearest is {round(value / 16) * 16}"
                )
            if not 0 <= value < end:
                nearest = 0 if value < 0 else end - 16
                raise DescriptorError(f"{name}: expected 0 to {end - 16} bytes, found {value}; nearest is {nearest}")
        if self.swizzle not in SWIZZLE_MODES:
            raise DescriptorError(f"swizzle: expected one of {', '.join(SWIZZLE_MODES)}, found '{self.swizzle}'")
        if not 0 <= self.base_offset < 8:
            raise DescriptorError(f"matrix base offset: expected 0 to 7, found {self.base_offset}")
        if self.k_segment not in K_SEGMENTS:
            raise DescriptorError(f"segment of K: expected byte 0 or 24, found {self.k_segment}")
        if self.lbo_absolute and self.lbo is None:
            raise DescriptorError("absolute LBO: expected the byte address of the second data chunk, found None")

    def _repr_html_(self) -> str:
        """Returns a table of the fields with their bits, which notebooks show."""
        from tirx.hw.word_picture import descriptor_html

        return descriptor_html(self, self.encode, FIELDS)

    def verify(
        self, dtype: str | DType, major: Major, *, k_bytes: int | None = None, target: str | None = None
    ) -> None:
        """Checks what the hardware demands of a descriptor beyond its fields, and nobody else checks.

        `dtype`, `major`: element type and major-ness of the operand that the instruction descriptor names. `k_bytes`:
        bytes of K that one instruction reads (32 dense, 48 for K = 96, 64 for the B of a sparse product), None to leave
        that out. `target`: name of the target, None for one that has every mode.

        Raises LegalityError, with the fix, when

        - the element type does not have this swizzle in this major-ness;
        - the matrix base offset is not 0 with a swizzle: tirx aligns the swizzle pattern instead;
        - the start is in another row of the pattern than the first, which only a base offset could express, or inside
          a row of an MN-major operand;
        - what is read of K passes the end of the row of a K-major swizzled operand, in relative mode;
        - the absolute LBO mode is used for an MN-major operand, another K than 48 bytes, a second chunk that is not
          aligned, or a target that lacks it.

        Source: PTX ISA "Shared memory descriptor", "Strides", and its table of types and major-ness.
        """
        element = find_dtype(dtype)
        if self.swizzle not in (modes := legal_modes(element, major)):
            raise DescriptorError(
                f"{major}-major {element.name}: expected swizzle {', '.join(modes) or 'of K-major layouts only'}, "
                f"found {self.swizzle}"
            )
        self.verify_place(major, k_bytes=k_bytes, target=target)

    def verify_place(self, major: Major, *, k_bytes: int | None = None, target: str | None = None) -> None:
        """The part of `verify` that is not about the element type."""
        mode = SWIZZLE_MODES[self.swizzle]
        row_bytes = SEGMENTED_BYTES if k_bytes == K_SEGMENTS[1] else k_bytes
        if self.start % mode.atom_bytes:
            raise DescriptorError(
                f"start address: expected a multiple of the {mode.atom_bytes}-byte atom of swizzle {self.swizzle}, "
                f"found {self.start}; nearest is {round(self.start / mode.atom_bytes) * mode.atom_bytes}"
            )
        self._verify_target(target)
        if self.k_segment and k_bytes not in (None, K_SEGMENTS[1]):
            raise DescriptorError(
                f"segment of K: expected byte 0, found {self.k_segment}, which is for the B of .decompress::lut::b "
                f"with {K_SEGMENTS[1]} bytes of K"
            )
        # Without a swizzle no pattern starts anywhere: the ISA's table of base offsets has no row for it.
        if self.base_offset and mode.swizzled:
            raise DescriptorError(
                f"matrix base offset: expected 0, found {self.base_offset}; align the tile to {mode.base_alignment} "
                "bytes"
            )
        if mode.swizzled and self.start % mode.period_bytes >= mode.start_bytes(major):
            where = f"the first {mode.row_bytes} bytes" if major == "K" else f"the start ({major}-major)"
            raise DescriptorError(
                f"start address: expected {where} of a {mode.period_bytes}-byte pattern of "
                f"swizzle {self.swizzle}, found {self.start}; nearest is "
                f"{round(self.start / mode.period_bytes) * mode.period_bytes}"
            )
        if self.lbo_absolute:
            self._verify_absolute(major, k_bytes, target)
        elif row_bytes is not None and major == "K" and mode.swizzled:
            if row_bytes > mode.row_bytes:
                raise DescriptorError(
                    f"swizzle {self.swizzle}: expected at most {mode.row_bytes} bytes of K, found {row_bytes}; a wider "
                    "swizzle reads more"
                )
            if (column := self.start % mode.row_bytes) + row_bytes > mode.row_bytes:
                raise DescriptorError(
                    f"start address: expected {row_bytes} bytes of K within one {mode.row_bytes}-byte row of swizzle "
                    f"{self.swizzle}, found byte {column} of a row; nearest is byte {mode.row_bytes - row_bytes}"
                )

    def _verify_target(self, target: str | None) -> None:
        if target is None or target in (wide := supporting_targets(WIDE_ADDRESSES)):
            return
        for name, value in (("start address", self.start), ("LBO", self.lbo or 0)):
            if value >= ADDRESS_BYTES:
                raise DescriptorError(
                    f"{name}: expected 0 to {ADDRESS_BYTES - 16} bytes on {target}, found {value}; {', '.join(wide)} "
                    f"has up to {WIDE_ADDRESS_BYTES - 16}"
                )
        if self.k_segment:
            raise DescriptorError(f"segment of K: expected byte 0 on {target}, found {self.k_segment}")

    def _verify_absolute(self, major: Major, k_bytes: int | None, target: str | None) -> None:
        mode = SWIZZLE_MODES[self.swizzle]
        if self.swizzle != ABSOLUTE_LBO_SWIZZLE:
            raise DescriptorError(
                f"absolute LBO: expected swizzle {ABSOLUTE_LBO_SWIZZLE} (16-byte atoms), found {self.swizzle}"
            )
        if target is not None and target not in (known := supporting_targets(ABSOLUTE_LBO)):
            raise DescriptorError(f"absolute LBO: expected target {', '.join(known)}, found {target}")
        if major != "K":
            raise DescriptorError(f"absolute LBO: expected a K-major operand, found {major}-major")
        if k_bytes is not None and k_bytes != ABSOLUTE_LBO_BYTES:
            raise DescriptorError(
                f"absolute LBO: expected {ABSOLUTE_LBO_BYTES} bytes of K (K = 96 of 4-bit elements), found {k_bytes}"
            )
        if self.lbo is not None and self.lbo % mode.period_bytes:
            raise DescriptorError(
                f"absolute LBO: expected the second data chunk aligned to {mode.period_bytes} bytes, found {self.lbo}; "
                f"nearest is {round(self.lbo / mode.period_bytes) * mode.period_bytes}"
            )

    def encode(self) -> int:
        """The descriptor as a 64-bit integer."""
        codes = {
            "start": self.start >> 4,
            "lbo": (UNUSED_LBO if self.lbo is None else self.lbo) >> 4,
            "sbo": (0 if self.sbo is None else self.sbo) >> 4,
            "constant": CONSTANT,
            "base_offset": self.base_offset,
            "lbo_absolute": int(self.lbo_absolute),
            "k_segment": K_SEGMENTS.index(self.k_segment),
            "swizzle": SWIZZLE_MODES[self.swizzle].code,
        }
        word = 0
        for name, code in codes.items():
            word = deposit(word, FIELDS[name], code)
        return word

    @staticmethod
    @bounded_cache
    def decode(value: int) -> SmemDescriptor:
        """The descriptor that a 64-bit integer means; `encode` gives the integer back.

        An LBO that the hardware will ignore is reported as the bytes in the field, whatever they are.
        Raises LegalityError when a constant or reserved bit is wrong, or the swizzle code has no meaning.
        """
        if not 0 <= value < 1 << 64:
            raise DescriptorError(f"expected a 64-bit shared-memory descriptor, found {value:#x}")
        codes = {name: extract(value, bits) for name, bits in FIELDS.items()}
        if (found := codes["constant"]) != CONSTANT:
            raise DescriptorError(f"{bits_text(FIELDS['constant'])}: expected {CONSTANT:#05b}, found {found:#05b}")
        for bits in RESERVED:
            if found := extract(value, bits):
                raise DescriptorError(f"{bits_text(bits)}: expected 0, found {found:#x}")
        if (code := codes["swizzle"]) not in _MODE_OF_CODE:
            raise DescriptorError(
                f"{bits_text(FIELDS['swizzle'])}: expected a swizzle mode {sorted(_MODE_OF_CODE)}, found {code}"
            )
        return SmemDescriptor(
            start=codes["start"] << 4,
            lbo=codes["lbo"] << 4,
            sbo=codes["sbo"] << 4,
            swizzle=_MODE_OF_CODE[code],
            base_offset=codes["base_offset"],
            lbo_absolute=bool(codes["lbo_absolute"]),
            k_segment=K_SEGMENTS[codes["k_segment"]],
        )


@lru_cache(maxsize=1024)
def possible_descriptors(value: SmemDescriptor | Integers | int) -> tuple[SmemDescriptor, ...]:
    """The descriptors that a value may be, as far as it matters: one for each choice of the swizzle and the LBO mode.

    Bits that are not known have their constant value, or are 0: no address and no offset breaks fewer rules. None of
    them where no choice of the unknown bits has a meaning, which `meaningless` explains.
    """
    if isinstance(value, SmemDescriptor):
        return (value,)
    words = (result(lambda word=word: SmemDescriptor.decode(word)) for word in _words(value))
    found = tuple(descriptor for descriptor in words if descriptor is not None)
    legal = tuple(each for each in found if not each.lbo_absolute or each.swizzle == ABSOLUTE_LBO_SWIZZLE)
    return legal or found


def meaningless(value: SmemDescriptor | Integers | int | None) -> str | None:
    """Explains why a value is no descriptor, whatever its unknown bits are. Returns None if it may be one."""
    if value is None or isinstance(value, SmemDescriptor) or possible_descriptors(value):
        return None
    return reason(lambda: SmemDescriptor.decode(_words(value)[-1]))


def _words(value: Integers | int) -> list[int]:
    fill = deposit(0, FIELDS["constant"], CONSTANT)
    return [value] if isinstance(value, int) else list(value.choices(_CHOICES, fill=fill))
