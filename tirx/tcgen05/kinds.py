"""The `.kind` of tcgen05.mma: element types, their codes in the instruction descriptor, and K.

Source: PTX ISA "Data types", "Matrix shape" and "Instruction descriptor". A kind is a row; nothing elsewhere tests
names.
"""

from __future__ import annotations

from dataclasses import dataclass

from tirx.hw.errors import TensorProductError

K96 = 96
"""The other K of the dense 4-bit kinds (`has_k96`), on sm_103a: 48 bytes of packed values."""

K96_SF_IDS = (0, 1, 2, 3)
"""Scale-factor ids with that K, where three factors of a row may start at any byte (PTX ISA, "Scale Factor A ID")."""

Codes = tuple[tuple[str, int], ...]
"""Pairs (PTX type name, code in the instruction descriptor)."""


@dataclass(frozen=True)
class Kind:
    """One `.kind::NAME`.

    `operands`: types of A and B, which may differ; `accumulators`: types of D; `scales`: scale-factor types, empty when
    not block scaled; all with their codes. A block-scaled descriptor has no D type field (D is f32).
    `k`: elements of K of a dense instruction, 32 bytes of packed values; a sparse one has twice as many.
    `sf_ids`: legal scale-factor ids, but for K = 96. `d_operands`: accumulators that only some operand types may use.
    `mixed`: whether every source has A and B of two types.
    """

    name: str
    operands: Codes
    accumulators: Codes
    k: int
    scales: Codes = ()
    sf_ids: tuple[int, ...] = (0,)
    integer: bool = False
    transposable: bool = True
    has_sparsity_selector: bool = False
    has_k96: bool = False
    d_operands: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mixed: bool = True

    @property
    def block_scaled(self) -> bool:
        """Returns True if A and B come with scale factors in tensor memory."""
        return bool(self.scales)

    def instruction_k(self, sparse: bool = False, k96: bool = False) -> int:
        """Elements of K that one instruction multiplies."""
        return K96 if k96 else self.k * 2 if sparse else self.k


_F8F6F4: Codes = (("e4m3", 0), ("e5m2", 1), ("e2m3", 3), ("e3m2", 4), ("e2m1", 5))
_E2M1: Codes = (("e2m1", 1),)
_UE8M0: Codes = (("ue8m0", 1),)

_ROWS = (
    Kind(
        "f16",
        operands=(("f16", 0), ("bf16", 1)),
        accumulators=(("f16", 0), ("f32", 1)),
        k=16,
        has_sparsity_selector=True,
        d_operands=(("f16", ("f16",)),),
        # A and B have a code each, and the ISA does not forbid f16 times bf16; CUTLASS and TVM do.
        mixed=False,
    ),
    Kind("tf32", operands=(("tf32", 2),), accumulators=(("f32", 1),), k=8, has_sparsity_selector=True),
    # The ISA's shape table has D = f16 for f8f6f4 as well; renderings of its descriptor table that show only f32 merged
    # two cells.
    Kind("f8f6f4", operands=_F8F6F4, accumulators=(("f16", 0), ("f32", 1)), k=32),
    Kind("i8", operands=(("u8", 0), ("s8", 1)), accumulators=(("s32", 2),), k=32, integer=True),
    Kind("mxf8f6f4", operands=_F8F6F4, accumulators=(("f32", 0),), k=32, scales=_UE8M0, sf_ids=(0, 1, 2, 3)),
    Kind(
        "mxf4",
        operands=_E2M1,
        accumulators=(("f32", 0),),
        k=64,
        scales=_UE8M0,
        sf_ids=(0, 2),
        transposable=False,
        has_k96=True,
    ),
    Kind(
        "mxf4nvf4",
        operands=_E2M1,
        accumulators=(("f32", 0),),
        k=64,
        scales=(*_UE8M0, ("ue4m3", 0)),
        sf_ids=(0, 2),
        transposable=False,
        has_k96=True,
    ),
)

KINDS: dict[str, Kind] = {row.name: row for row in _ROWS}
"""Every kind of tcgen05.mma by name."""


def find_kind(name: str | Kind) -> Kind:
    """The kind of that name; raises LegalityError for an unknown one."""
    if isinstance(name, Kind):
        return name
    if name not in KINDS:
        raise TensorProductError(f"expected a kind of tcgen05.mma ({', '.join(KINDS)}), found '{name}'")
    return KINDS[name]
