"""The shared-memory swizzle modes of tcgen05 and wgmma, and which element types may use them.

Source: PTX ISA "Shared memory descriptor" (bits 61-63), "Canonical layouts", and the tables on swizzling and
major-ness of tcgen05; "Matrix Descriptor Format" and "Shared Memory Matrix Layout" of wgmma.
All arithmetic is on bit addresses, so that packed 4-bit elements need no special case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from tirx.hw.dtypes import DType
from tirx.hw.errors import OperandLayoutError
from tirx.layout import SwizzleLayout
from tirx.layout import SwizzleMode as SwizzleName
from tirx.layout.arrays import IntArray
from tirx.values import dataclass, field

Major = Literal["K", "MN"]
BitAddresses = IntArray

MAJORS: tuple[Major, ...] = ("K", "MN")


@dataclass(frozen=True)
class SwizzleMode:
    """One swizzle mode. Its XOR is that of `SwizzleLayout.for_bits`.

    `code`: value of bits 61-63 of a tcgen05 descriptor; `wgmma_code`: of bits 62-63 of a wgmma descriptor, None where
    wgmma has no such mode. `row_bytes`: contiguous bytes of the major dimension in one atom.
    `rows`: rows of an atom, which is also the step of the stride dimension of an MN-major layout.
    `base_alignment`: bytes to which a tile base must be aligned for the matrix base offset of the descriptor to be 0.
    """

    name: SwizzleName
    code: int
    wgmma_code: int | None
    row_bytes: int
    rows: int
    base_alignment: int

    @cached_property
    def on_bits(self) -> SwizzleLayout:
        """The XOR on bit addresses: where the hardware finds what an unswizzled walk puts there. Its own inverse."""
        return SwizzleLayout.for_bits(1, self.name)

    @cached_property
    def swizzled(self) -> bool:
        """Returns True if anything moves at all."""
        return not self.on_bits.is_identity

    @property
    def atom_bytes(self) -> int:
        """Contiguous bytes that the XOR never splits."""
        return 2**self.on_bits.per_element // 8

    @property
    def period_bytes(self) -> int:
        """Bytes after which the XOR pattern repeats; adding a multiple commutes with the swizzle."""
        return self.row_bytes * self.rows if self.swizzled else self.atom_bytes

    def start_bytes(self, major: Major) -> int:
        """Bytes from the start of the pattern on in which a start address may be: K steps go along the first row.

        Along MN the pattern is stepped over as a whole: no source says what an MN-major walk from inside a row reads
        (PTX ISA "Canonical layouts" and "Strides" have atoms only). Another row would need a matrix base offset.
        """
        return self.row_bytes if major == "K" or not self.swizzled else self.atom_bytes

    @property
    def cute(self) -> str:
        """The swizzle as CuTe writes it over byte addresses, as in the ISA's table of canonical layouts."""
        on_bytes = SwizzleLayout.for_bits(8, self.name)
        return f"Swizzle<{on_bytes.swizzle_len},{on_bytes.per_element},{on_bytes.atom_len}>"


SWIZZLE_MODES: dict[SwizzleName, SwizzleMode] = {
    mode.name: mode
    for mode in (
        SwizzleMode("none", code=0, wgmma_code=0, row_bytes=16, rows=8, base_alignment=16),
        SwizzleMode("32B", code=6, wgmma_code=3, row_bytes=32, rows=8, base_alignment=256),
        SwizzleMode("64B", code=4, wgmma_code=2, row_bytes=64, rows=8, base_alignment=512),
        SwizzleMode("128B", code=2, wgmma_code=1, row_bytes=128, rows=8, base_alignment=1024),
        # The pattern of 32-byte atoms repeats every 512 bytes, but the alignment rule is that of all 128-byte modes.
        SwizzleMode("128B_base32B", code=1, wgmma_code=None, row_bytes=128, rows=4, base_alignment=1024),
    )
}
"""Every swizzle mode by name, narrowest first."""

_NARROW: tuple[SwizzleName, ...] = ("none", "32B", "64B", "128B")

# (width of a value in bits, major-ness) -> modes. The ISA's table on swizzling says "all" for K-major, but its table of
# atoms has no K-major atom with 32-byte atomicity and no library builds one, so that mode stays MN-major tf32 only.
_MODES_OF_WIDTH: dict[tuple[int, Major], tuple[SwizzleName, ...]] = {
    (4, "K"): _NARROW,
    (6, "K"): _NARROW,
    (8, "K"): _NARROW,
    (16, "K"): _NARROW,
    (32, "K"): _NARROW,
    (4, "MN"): (),
    (6, "MN"): (),
    (8, "MN"): _NARROW,
    (16, "MN"): _NARROW,
    (32, "MN"): ("128B_base32B",),
}

OPERAND_DTYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8", "u8", "s1z4m11")
"""Element types that A and B of tcgen05.mma can have."""


@dataclass(frozen=True)
class OperandFamily:
    """An instruction family whose operands in shared memory are named by matrix descriptors.

    `instruction`: its name in messages. `dtypes`: element types of A and B. `modes`: the swizzle modes of an operand,
    by width of a value in bits and major-ness; a pair that is missing cannot be stored so.
    """

    instruction: str
    dtypes: tuple[str, ...]
    modes: Mapping[tuple[int, Major], tuple[SwizzleName, ...]] = field(hash=False)


TCGEN05_OPERANDS = OperandFamily("tcgen05.mma", OPERAND_DTYPES, _MODES_OF_WIDTH)

# wgmma transposes 16-bit types only, and has no swizzle of 32-byte atoms (PTX ISA, wgmma.mma_async: imm-trans-a,
# imm-trans-b; "Matrix Descriptor Format").
WGMMA_OPERANDS = OperandFamily(
    "wgmma.mma_async",
    ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"),
    {(8, "K"): _NARROW, (16, "K"): _NARROW, (32, "K"): _NARROW, (16, "MN"): _NARROW},
)

GEOMETRIES: tuple[tuple[Major, SwizzleName], ...] = tuple((major, name) for major in MAJORS for name in SWIZZLE_MODES)
"""Every (major-ness, swizzle), in the order in which they are tried; `legal_modes` says what a type may use."""


def legal_modes(element: DType, major: Major, family: OperandFamily = TCGEN05_OPERANDS) -> tuple[SwizzleName, ...]:
    """Swizzle modes that an operand of this element type and major-ness may use; empty when it cannot be so stored.

    Raises LegalityError when the family does not multiply this type.
    """
    if element.name not in family.dtypes:
        raise OperandLayoutError(
            f"expected an operand type of {family.instruction} ({', '.join(family.dtypes)}), found {element.name}"
            + ("; f32 data are multiplied as tf32" if element.name == "f32" else "")
        )
    return family.modes.get((element.bits, major), ())
