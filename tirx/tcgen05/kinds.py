"""The `.kind` of tcgen05.mma: element types, their codes in the instruction descriptor, and K.

Source: PTX ISA "Data types", "Matrix shape" and "Instruction descriptor". A kind is a row; nothing elsewhere tests
names.
"""

from __future__ import annotations

from tirx.hw.errors import TensorProductError
from tirx.values import dataclass

Codes = tuple[tuple[str, int], ...]
"""Pairs (PTX type name, code in the instruction descriptor)."""


@dataclass(frozen=True)
class WideK:
    """A larger K of a kind, in elements of a `dense` and of a `sparse` instruction; None where there is no such one.

    `sf_ids`: legal scale-factor ids. `feature`: the capability of targets that have it.
    """

    dense: int
    sparse: int | None
    feature: str
    sf_ids: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Kind:
    """One `.kind::NAME`.

    `operands`: types of A and B, which may differ; `accumulators`: types of D; `scales`: scale-factor types, empty when
    not block scaled; all with their codes. A block-scaled descriptor has no D type field (D is f32).
    `k`: elements of K of a dense instruction, 32 bytes of packed values; a sparse one has twice as many. `wide`: larger
    K, whose codes in the instruction descriptor count from 1; `wide_operands`: the types of A and B that they multiply,
    if not all. `sf_ids`: legal scale-factor ids with code 0. `d_operands`: accumulators that only some operand types
    have. `mixed`: whether every source has A and B of two types.
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
    wide: tuple[WideK, ...] = ()
    wide_operands: tuple[str, ...] = ()
    d_operands: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mixed: bool = True

    @property
    def block_scaled(self) -> bool:
        """Returns True if A and B come with scale factors in tensor memory."""
        return bool(self.scales)

    @property
    def is_packed(self) -> bool:
        """Returns True if two 4-bit elements share a byte."""
        return all(name == "e2m1" for name, _ in self.operands)

    def k_codes(self, sparse: bool = False) -> tuple[int, ...]:
        """Codes of K in the instruction descriptor: 0, and those of `wide` that exist dense or sparse."""
        found = ((0, self.k), *enumerate((each.sparse if sparse else each.dense for each in self.wide), 1))
        return tuple(code for code, k in found if k is not None)

    def instruction_k(self, sparse: bool = False, k_code: int = 0) -> int:
        """Elements of K that one instruction multiplies. Raises LegalityError for a code that does not exist."""
        if k_code not in self.k_codes(sparse):
            raise TensorProductError(
                f"kind::{self.name}{', sparse' if sparse else ''}: expected a code of K of "
                f"{' or '.join(map(str, self.k_codes(sparse)))}, found {k_code}"
            )
        if k_code:
            wide = self.wide[k_code - 1]
            return (wide.sparse or 0) if sparse else wide.dense
        return self.k * 2 if sparse else self.k

    def scale_factor_ids(self, k_code: int = 0) -> tuple[int, ...]:
        """Legal values of the two scale-factor ids."""
        return self.wide[k_code - 1].sf_ids if k_code else self.sf_ids


_F8F6F4: Codes = (("e4m3", 0), ("e5m2", 1), ("e2m3", 3), ("e3m2", 4), ("e2m1", 5))
_E2M1: Codes = (("e2m1", 1),)
_UE8M0: Codes = (("ue8m0", 1),)
_WIDE_K = "tcgen05.wide_K"
# Three factors of a row may start at any byte (PTX ISA, "Scale Factor A ID"). The next K has all four bytes or more.
_WIDE_E2M1 = (WideK(96, 192, "tcgen05.K96", (0, 1, 2, 3)), WideK(128, None, _WIDE_K))

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
    Kind(
        "f8f6f4",
        operands=_F8F6F4,
        accumulators=(("f16", 0), ("f32", 1)),
        k=32,
        wide=(WideK(64, None, _WIDE_K),),
        # CuTe has K = 64 of 8-bit types only, and no source describes where wider padding would put narrower ones.
        wide_operands=("e4m3", "e5m2"),
    ),
    Kind("i8", operands=(("u8", 0), ("s8", 1)), accumulators=(("s32", 2),), k=32, integer=True),
    # Tables 51 and 62 of PTX ISA 9.4 contradict each other about its transpose bits.
    Kind(
        "ti16",
        operands=(("s1z4m11", 3),),
        accumulators=(("s32", 2),),
        k=16,
        transposable=False,
        has_sparsity_selector=True,
    ),
    Kind(
        "mxf8f6f4",
        operands=_F8F6F4,
        accumulators=(("f32", 0),),
        k=32,
        scales=_UE8M0,
        sf_ids=(0, 1, 2, 3),
        wide=(WideK(64, 128, _WIDE_K, (0, 2)),),
    ),
    Kind(
        "mxf4",
        operands=_E2M1,
        accumulators=(("f32", 0),),
        k=64,
        scales=_UE8M0,
        sf_ids=(0, 2),
        transposable=False,
        wide=_WIDE_E2M1,
    ),
    Kind(
        "mxf4nvf4",
        operands=_E2M1,
        accumulators=(("f32", 0),),
        k=64,
        scales=(*_UE8M0, ("ue4m3", 0), ("ue5m3", 2)),
        sf_ids=(0, 2),
        transposable=False,
        wide=_WIDE_E2M1,
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
