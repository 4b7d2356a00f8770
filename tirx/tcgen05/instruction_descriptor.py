"""The 32-bit instruction descriptor of tcgen05.mma (PTX ISA "Instruction descriptor"), for all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirx.tcgen05.dtypes import find_dtype
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.kinds import Codes, find_kind
from tirx.tcgen05.shapes import SHAPES, check_shape, check_transposed_b
from tirx.tcgen05.swizzle_modes import MAJORS, Major

MAX_SHIFTS = (0, 8, 16, 32)
"""Values of `max_shift` in columns, by their code in bits 30-31."""

# field -> (first bit, width). `m` holds M >> 4 in both forms: the block-scaled table calls it M >> 7 in bits 27-28,
# which is the same bits, because M is 128 or 256 there.
_COMMON = {
    "sparsity_selector": (0, 2),
    "sparse": (2, 1),
    "a": (7, 3),
    "b": (10, 3),
    "negate_a": (13, 1),
    "negate_b": (14, 1),
    "a_major": (15, 1),
    "b_major": (16, 1),
    "n": (17, 6),
    "m": (24, 5),
}
_DENSE = _COMMON | {"saturate": (3, 1), "d": (4, 2), "max_shift": (30, 2)}
_SCALED = _COMMON | {"sf_b_id": (4, 2), "scale": (23, 1), "sf_a_id": (29, 2), "k96": (31, 1)}


@dataclass(frozen=True)
class InstructionDescriptor:
    """What one tcgen05.mma multiplies: kind, element types, shape, major-ness and modifiers.

    - `kind`: f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4;
    - `a`, `b`, `d`: element types, by PTX or MLIR name, kept as PTX names;
    - `m`, `n`: shape of D in elements; for cta_group 2 of both CTAs together. K follows from the kind;
    - `a_major`, `b_major`: "K" or "MN" (the transpose bits); `negate_a`, `negate_b`; `sparse`: A is 2:4 sparse;
    - `saturate`: kind i8 only; `max_shift`: 0, 8, 16 or 32 columns, `.ws` only;
    - `scale`: "ue8m0" or "ue4m3", mandatory for the block-scaled kinds and None for the others;
      `sf_a_id`, `sf_b_id`: which scale factors of the 32-bit tensor-memory cell the instruction uses;
    - `sparsity_selector`: 0 to 3, sparse f16 and tf32 only; `k96`: K = 96 instead of 64 (dense mxf4 and mxf4nvf4,
      sm_103a).

    Raises LegalityError for an unknown kind, type or major-ness.
    """

    kind: str = "f16"
    a: str = "f16"
    b: str = "f16"
    d: str = "f32"
    m: int = 128
    n: int = 256
    a_major: Major = "K"
    b_major: Major = "K"
    negate_a: bool = False
    negate_b: bool = False
    sparse: bool = False
    saturate: bool = False
    max_shift: int = 0
    scale: str | None = None
    sf_a_id: int = 0
    sf_b_id: int = 0
    sparsity_selector: int = 0
    k96: bool = False

    def __post_init__(self) -> None:
        find_kind(self.kind)
        for name in ("a", "b", "d"):
            object.__setattr__(self, name, find_dtype(getattr(self, name)).name)
        if self.scale is not None:
            object.__setattr__(self, "scale", find_dtype(self.scale).name)
        for name, major in (("a_major", self.a_major), ("b_major", self.b_major)):
            if major not in MAJORS:
                raise LegalityError(f"{name}: expected {' or '.join(MAJORS)}, got '{major}'")

    @property
    def k(self) -> int:
        """Elements of K that the instruction multiplies."""
        return 96 if self.k96 else find_kind(self.kind).instruction_k(self.sparse)

    def verify(self, cta_group: int | None = None, ws: bool | None = None) -> None:
        """Raises LegalityError, naming the field, unless the ISA allows the descriptor.

        The descriptor does not say whether it is for a CTA pair or for `.ws`: pass what is known, and the shape is
        checked against that; with None it must be legal for some choice.
        """
        row = find_kind(self.kind)
        where = f"kind::{row.name}"
        for field, value in (("A", self.a), ("B", self.b)):
            _expect(where, f"{field} type", value, [name for name, _ in row.operands])
        _expect(where, "D type", self.d, [name for name, _ in row.accumulators])
        for d, operands in row.d_operands:
            if self.d == d and not {self.a, self.b} <= set(operands):
                raise LegalityError(
                    f"{where}: D = {d} is expected with A and B of {', '.join(operands)}, got {self.a} and {self.b}; "
                    "nearest is D = f32"
                )
        _expect(where, "scale type", self.scale, [name for name, _ in row.scales] or [None])
        for field, value in (("sf_a_id", self.sf_a_id), ("sf_b_id", self.sf_b_id)):
            _expect(where, field, value, row.sf_ids)
        for field, element, major in (("a_major", self.a, self.a_major), ("b_major", self.b, self.b_major)):
            if major == "MN" and (not row.transposable or find_dtype(element).bits < 8):
                raise LegalityError(
                    f"{where}: {field} of {element} is expected K (4-bit and 6-bit types never are MN-major)"
                )
        _expect(where, "saturate", self.saturate, (False, True) if row.integer else (False,))
        for field, value in (("negate_a", self.negate_a), ("negate_b", self.negate_b)):
            _expect(where, field, value, (False,) if row.integer else (False, True))
        selectors = range(4) if row.has_sparsity_selector and self.sparse else (0,)
        _expect(where, "sparsity_selector", self.sparsity_selector, selectors)
        _expect(where, "k96", self.k96, (False, True) if row.has_k96 and not self.sparse else (False,))
        _expect(where, "max_shift", self.max_shift, (0,) if row.block_scaled or ws is False else MAX_SHIFTS)
        self._verify_shape(cta_group, True if self.max_shift and ws is None else ws)

    def _verify_shape(self, cta_group: int | None, ws: bool | None) -> None:
        variants = [
            (shape.cta_group, shape.ws)
            for shape in SHAPES
            if self.kind in shape.kinds
            and shape.sparse == self.sparse
            and cta_group in (None, shape.cta_group)
            and ws in (None, shape.ws)
        ]
        if not variants:  # no such variant at all: let the table explain which there are
            variants = [(cta_group or 1, bool(ws))]
        error: LegalityError | None = None
        for group, weight_stationary in variants:
            try:
                check_shape(self.kind, self.m, self.n, group, weight_stationary, self.sparse)
                if self.b_major == "MN":
                    check_transposed_b(self.b, self.n, group)
                return
            except LegalityError as failure:
                error = error or failure
        if error is not None:
            raise error

    def encode(self) -> int:
        """The descriptor as a 32-bit integer. Raises LegalityError as `verify()` does: ptxas checks none of it."""
        self.verify()
        return self.encode_unchecked()

    def encode_unchecked(self) -> int:
        """The bits of the fields, legal together or not: to compare with other encoders.

        Raises LegalityError only for a value that has no code or does not fit its field.
        """
        row = find_kind(self.kind)
        values: dict[str, int] = {
            "sparsity_selector": self.sparsity_selector,
            "sparse": int(self.sparse),
            "saturate": int(self.saturate),
            "d": _code("D type", self.d, row.accumulators),
            "a": _code("A type", self.a, row.operands),
            "b": _code("B type", self.b, row.operands),
            "negate_a": int(self.negate_a),
            "negate_b": int(self.negate_b),
            "a_major": MAJORS.index(self.a_major),
            "b_major": MAJORS.index(self.b_major),
            "n": _scaled("N", self.n, 8),
            "m": _scaled("M", self.m, 16),
            "sf_a_id": self.sf_a_id,
            "sf_b_id": self.sf_b_id,
            "k96": int(self.k96),
        }
        if row.block_scaled:
            values["scale"] = _code("scale type", self.scale, row.scales)
        else:
            _expect(f"kind::{self.kind}", "max_shift", self.max_shift, MAX_SHIFTS)
            values["max_shift"] = MAX_SHIFTS.index(self.max_shift)
        word = 0
        for field, (first, width) in (_SCALED if row.block_scaled else _DENSE).items():
            if not 0 <= values[field] < 1 << width:
                raise LegalityError(f"{field}: expected a code of {width} bits, got {values[field]}")
            word |= values[field] << first
        return word

    @staticmethod
    def decode(value: int, kind: str) -> InstructionDescriptor:
        """The descriptor that a 32-bit integer means for `.kind::KIND`; the kind itself is not in the bits.

        Raises LegalityError for a set reserved bit or a type code without meaning; `verify` judges the rest.
        """
        row = find_kind(kind)
        if not 0 <= value < 1 << 32:
            raise LegalityError(f"expected a 32-bit instruction descriptor, got {value:#x}")
        fields = _SCALED if row.block_scaled else _DENSE
        field = {name: value >> first & ((1 << width) - 1) for name, (first, width) in fields.items()}
        known = sum(((1 << width) - 1) << first for first, width in fields.values())
        if reserved := value & ~known:
            raise LegalityError(f"kind::{row.name}: expected 0 in the reserved bits, got {reserved:#x}")
        return InstructionDescriptor(
            kind=row.name,
            a=_name("A type", field["a"], row.operands),
            b=_name("B type", field["b"], row.operands),
            d=_name("D type", field["d"], row.accumulators) if "d" in field else row.accumulators[0][0],
            m=field["m"] * 16,
            n=field["n"] * 8,
            a_major=MAJORS[field["a_major"]],
            b_major=MAJORS[field["b_major"]],
            negate_a=bool(field["negate_a"]),
            negate_b=bool(field["negate_b"]),
            sparse=bool(field["sparse"]),
            saturate=bool(field.get("saturate", 0)),
            max_shift=MAX_SHIFTS[field.get("max_shift", 0)],
            scale=_name("scale type", field["scale"], row.scales) if row.block_scaled else None,
            sf_a_id=field.get("sf_a_id", 0),
            sf_b_id=field.get("sf_b_id", 0),
            sparsity_selector=field["sparsity_selector"],
            k96=bool(field.get("k96", 0)),
        )


def _expect(where: str, field: str, value: object, legal: Sequence[object]) -> None:
    if value not in legal:
        raise LegalityError(f"{where}: expected {field} {' or '.join(map(str, legal))}, got {value}")


def _code(field: str, name: str | None, codes: Codes) -> int:
    for known, code in codes:
        if known == name:
            return code
    raise LegalityError(f"{field}: expected one of {', '.join(known for known, _ in codes)}, got {name}")


def _name(field: str, code: int, codes: Codes) -> str:
    for name, known in codes:
        if known == code:
            return name
    raise LegalityError(f"{field}: expected a code of {', '.join(f'{c} ({name})' for name, c in codes)}, got {code}")


def _scaled(letter: str, value: int, unit: int) -> int:
    if value % unit:
        raise LegalityError(
            f"{letter}: expected a multiple of {unit}, got {value}; nearest is {round(value / unit) * unit}"
        )
    return value // unit
