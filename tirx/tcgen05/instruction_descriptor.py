"""The 32-bit instruction descriptor of tcgen05.mma (PTX ISA "Instruction descriptor"), for all kinds.

The bits have three forms: one of the kinds without scale factors, one of kind::mxf8f6f4, one of the two 4-bit kinds.
A form is a table of fields; `legal_values` says which values of a field a kind has. What depends on several fields, on
the CTA group or on `.ws` is in `InstructionDescriptor.verify`; what depends on other operands, in `tirx.tcgen05.check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from tirx.hw.bits import Bits, bits_text, extract
from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import DescriptorError, LegalityError
from tirx.hw.features import supporting_targets, supports
from tirx.hw.targets import Target
from tirx.layout.caching import bounded_cache
from tirx.smem.swizzle_modes import MAJORS, Major
from tirx.tcgen05.kinds import find_kind
from tirx.tcgen05.shapes import SHAPES, check_shape, check_transposed_b
from tirx.values import dataclass

SPARSITY_VERSION_1 = "tcgen05.sparsity_version_1"
"""The capability of targets whose sparse 4-bit operands are 2:4 elements, and not 4:8 in pairs."""

A_SCALE_LANES = (32, 128)
"""Lanes that hold A's scale factors, by code: 32 with four groups of rows in columns, or 128 with a row each."""

MAX_SHIFTS = (0, 8, 16, 32)
"""Values of `max_shift` in columns, by their code in bits 30-31."""


@dataclass(frozen=True)
class Form:
    """The positions of the fields. `reserved` bits are 0; a field outside of the form has its default."""

    fields: Mapping[str, Bits]
    reserved: tuple[Bits, ...]


_COMMON: Mapping[str, Bits] = {
    "sparse": (2, 1),
    "a": (7, 3),
    "b": (10, 3),
    "negate_a": (13, 1),
    "negate_b": (14, 1),
    "a_major": (15, 1),
    "b_major": (16, 1),
    "n": (17, 6),
}
_SCALE: Mapping[str, Bits] = {
    "sf_b_id": (4, 2),
    "scale": (23, 2),
    "a_scale_lanes": (26, 1),
    "m": (27, 2),
    "sf_a_id": (29, 2),
}

_SELECTOR: Mapping[str, Bits] = {"sparsity_selector": (0, 2)}

_UNSCALED_FORM = Form(
    {**_COMMON, **_SELECTOR, "saturate": (3, 1), "d": (4, 2), "m": (24, 5), "wide_k": (29, 1), "max_shift": (30, 2)},
    reserved=((6, 1), (23, 1)),
)
_MXF8F6F4_FORM = Form({**_COMMON, **_SCALE, "wide_k": (31, 1)}, reserved=((0, 2), (3, 1), (6, 1), (25, 1)))
_MXF4_FORM = Form(
    {**_COMMON, **_SCALE, "b": (10, 2), "sparsity_version": (12, 1), "widest_k": (3, 1), "wide_k": (31, 1)},
    reserved=((0, 2), (6, 1), (25, 1)),
)

_TITLES = {
    "a": "A type",
    "b": "B type",
    "d": "D type",
    "m": "M",
    "n": "N",
    "scale": "scale type",
    "a_scale_lanes": "lanes of A's scale factors",
    "sparsity_version": "sparsity version",
}


def field_title(field: str) -> str:
    """The name of a field in messages."""
    return _TITLES.get(field, field)


def find_form(kind: str) -> Form:
    """The form of the descriptors of a kind. Raises LegalityError for an unknown kind."""
    row = find_kind(kind)
    return (_MXF4_FORM if row.is_packed else _MXF8F6F4_FORM) if row.block_scaled else _UNSCALED_FORM


@cache
def legal_values(kind: str, k_code: int = 0) -> Mapping[str, tuple[object, ...]]:
    """Field -> the values that this kind has for it, with this code of K, whatever the other fields are."""
    row = find_kind(kind)
    sf_ids = row.scale_factor_ids(k_code if k_code <= len(row.wide) else 0)
    shapes = [shape for shape in SHAPES if row.name in shape.kinds]
    flags, majors = (False, True), MAJORS if row.transposable else ("K",)
    return {
        "a": tuple(name for name, _ in row.operands),
        "b": tuple(name for name, _ in row.operands),
        "d": tuple(name for name, _ in row.accumulators),
        "m": tuple(sorted({m for shape in shapes for m in shape.m})),
        "n": tuple(sorted({n for shape in shapes for n in shape.n})),
        "scale": tuple(name for name, _ in row.scales) or (None,),
        "sf_a_id": sf_ids,
        "sf_b_id": sf_ids,
        "a_major": majors,
        "b_major": majors,
        "saturate": flags if row.integer else (False,),
        "negate_a": (False,) if row.integer else flags,
        "negate_b": (False,) if row.integer else flags,
        "sparse": flags,
        "sparsity_selector": tuple(range(4)) if row.has_sparsity_selector else (0,),
        "wide_k": flags if row.wide else (False,),
        "widest_k": flags if len(row.wide) > 1 else (False,),
        "a_scale_lanes": A_SCALE_LANES if row.block_scaled else (32,),
        "sparsity_version": (0, 1) if row.is_packed else (0,),
        "max_shift": (0,) if row.block_scaled else MAX_SHIFTS,
    }


def smallest_max_shift(shift: int) -> int:
    """The `max_shift` to write for a zero-column mask that shifts by so many columns. Raises LegalityError above 32."""
    if not 0 <= shift <= MAX_SHIFTS[-1]:
        raise DescriptorError(f"expected a column shift of 0 to {MAX_SHIFTS[-1]}, found {shift}")
    return next(value for value in MAX_SHIFTS if value >= shift)


@dataclass(frozen=True)
class InstructionDescriptor:
    """The instruction descriptor of one tcgen05.mma: kind, element types, shape, major-ness and modifiers.

    - `kind`: f16, tf32, f8f6f4, i8, ti16, mxf8f6f4, mxf4 or mxf4nvf4;
    - `a`, `b`, `d`: element types, by PTX or MLIR name, kept as PTX names;
    - `m`, `n`: shape of D in elements; for cta_group 2 of both CTAs together. K follows from the kind;
    - `a_major`, `b_major`: "K" or "MN" (the transpose bits); `negate_a`, `negate_b`; `sparse`: A is 2:4 sparse;
    - `saturate`: kind i8 only; `max_shift`: 0, 8, 16 or 32 columns, `.ws` only;
    - `scale`: "ue8m0", "ue4m3" or "ue5m3", mandatory for the block-scaled kinds and None for the others;
      `sf_a_id`, `sf_b_id`: which scale factors of the 32-bit tensor-memory cell the instruction uses;
    - `sparsity_selector`: 0 to 3, sparse f16, tf32 and ti16 only; `sparsity_version`: of 4-bit kinds, 0 for pairs of
      elements (4:8) and 1 for elements (2:4), ignored when dense;
    - `wide_k`, `widest_k`: a larger K, `k_code` 1 or 2 (`Kind.wide`); `a_scale_lanes`: 32 or 128.

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
    wide_k: bool = False
    widest_k: bool = False
    a_scale_lanes: int = 32
    sparsity_version: int = 0

    def __post_init__(self) -> None:
        find_kind(self.kind)
        for name in ("a", "b", "d"):
            object.__setattr__(self, name, find_dtype(getattr(self, name)).name)
        if self.scale is not None:
            object.__setattr__(self, "scale", find_dtype(self.scale).name)
        for name, major in (("a_major", self.a_major), ("b_major", self.b_major)):
            if major not in MAJORS:
                raise DescriptorError(f"{name}: expected {' or '.join(MAJORS)}, found '{major}'")

    def _repr_html_(self) -> str:
        """Returns a table of the fields with their bits, which notebooks show."""
        from tirx.hw.word_picture import descriptor_html

        return descriptor_html(self, self.encode, find_form(self.kind).fields)

    @property
    def k_code(self) -> int:
        """The code of K: 0, 1 or 2."""
        return self.wide_k + 2 * self.widest_k

    @property
    def k(self) -> int:
        """Elements of K that the instruction multiplies. Raises LegalityError for a code that does not exist."""
        return find_kind(self.kind).instruction_k(self.sparse, self.k_code)

    @property
    def needs(self) -> tuple[tuple[str, str], ...]:
        """Pairs (capability, what it is for) of targets that have all values of the fields (`tirx.hw.features`)."""
        row = find_kind(self.kind)
        found = [(wide.feature, f"K = {self.k}") for code, wide in enumerate(row.wide, 1) if code == self.k_code]
        if self.a_scale_lanes != A_SCALE_LANES[0]:
            found.append(("tcgen05.scale_a_128_lanes", "scale factors of A in 128 lanes"))
        if self.sparsity_version:
            found.append((SPARSITY_VERSION_1, "sparsity version 1"))
        if self.scale == "ue5m3":
            found.append(("tcgen05.scale_ue5m3", "scale factors of ue5m3"))
        return tuple(found)

    def target_reason(self, target: str | Target | None) -> str | None:
        """Explains which field `target` does not have. Returns None if it has all, or is not known."""
        if target is None:
            return None
        found = Target.parse(target) if isinstance(target, str) else target
        for feature, what in self.needs:
            if not supports(found, feature):
                return f"{what}: expected target {', '.join(supporting_targets(feature))}, found {found}"
        if self.sparse and find_kind(self.kind).is_packed and not self.sparsity_version:
            if supports(found, SPARSITY_VERSION_1):
                return f"sparse kind::{self.kind}: expected sparsity version 1 on {found}, found 0"
        return None

    def verify(self, cta_group: int | None = None, ws: bool | None = None, target: str | Target | None = None) -> None:
        """Raises LegalityError, naming the field, unless the ISA allows the descriptor.

        The descriptor does not say whether it is for a CTA pair or for `.ws`, nor the target: pass what is known, and
        the shape is checked against that; with None it must be legal for some choice.
        """
        self.verify_fields(ws)
        self.verify_shape(cta_group, ws, target)
        if (refused := self.target_reason(target)) is not None:
            raise DescriptorError(refused)

    def verify_fields(self, ws: bool | None = None) -> None:
        """The part of `verify` that is not about M and N."""
        row = find_kind(self.kind)
        where = f"kind::{row.name}"
        legal = legal_values(row.name, self.k_code)
        for field in ("a", "b", "d"):
            self._expect(field, legal[field])
        for d, operands in row.d_operands:
            if self.d == d and not {self.a, self.b} <= set(operands):
                raise DescriptorError(
                    f"{where}: D = {d} is expected with A and B of {', '.join(operands)}, found {self.a} and {self.b}; "
                    "nearest is D = f32"
                )
        for field in ("scale", "sf_a_id", "sf_b_id"):
            self._expect(field, legal[field])
        for field, element, major in (("a_major", self.a, self.a_major), ("b_major", self.b, self.b_major)):
            if major not in legal[field] or (major == "MN" and find_dtype(element).bits % 8):
                raise DescriptorError(
                    f"{where}: {field} of {element} is expected K (4-bit and 6-bit types never are MN-major)"
                )
        for field in ("saturate", "negate_a", "negate_b"):
            self._expect(field, legal[field])
        self._expect("sparsity_selector", legal["sparsity_selector"] if self.sparse else (0,))
        for field in ("wide_k", "widest_k", "a_scale_lanes", "sparsity_version"):
            self._expect(field, legal[field])
        row.instruction_k(self.sparse, self.k_code)
        if self.k_code and row.wide_operands and not {self.a, self.b} <= set(row.wide_operands):
            raise DescriptorError(
                f"{where}: K = {self.k} is expected with A and B of {' or '.join(row.wide_operands)}, found {self.a} "
                f"and {self.b}; nearest is K = {row.instruction_k(self.sparse)}"
            )
        self._expect("max_shift", (0,) if ws is False else legal["max_shift"])

    def _expect(self, field: str, legal: Sequence[object]) -> None:
        if (value := getattr(self, field)) not in legal:
            raise DescriptorError(
                f"kind::{self.kind}: expected {field_title(field)} {' or '.join(map(str, legal))}, found {value}"
            )

    def verify_shape(
        self, cta_group: int | None = None, ws: bool | None = None, target: str | Target | None = None
    ) -> None:
        """The part of `verify` that is about M, N, K and the target."""
        if self.max_shift and ws is None:
            ws = True
        variants = [
            (shape.cta_group, shape.ws)
            for shape in SHAPES
            if self.kind in shape.kinds
            and (shape.sparse, shape.k_code) == (self.sparse, self.k_code)
            and cta_group in (None, shape.cta_group)
            and ws in (None, shape.ws)
        ]
        if not variants:  # no such variant at all: let the table explain which there are
            variants = [(cta_group or 1, bool(ws))]
        error: LegalityError | None = None
        for group, weight_stationary in variants:
            try:
                check_shape(
                    *(self.kind, self.m, self.n, group, weight_stationary, self.sparse),
                    k_code=self.k_code,
                    target=target,
                )
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
        codes = field_codes(self.kind)
        word = 0
        for field, (first, _) in {**find_form(self.kind).fields, **_SELECTOR}.items():
            value = getattr(self, field)
            code = next((code for code, meaning in codes[field].items() if meaning == value), None)
            if code is None:
                raise DescriptorError(
                    f"kind::{self.kind}: expected {field_title(field)} {_some(map(str, codes[field].values()))}, "
                    f"found {value}"
                )
            word |= code << first
        return word

    @staticmethod
    @bounded_cache
    def decode(value: int, kind: str) -> InstructionDescriptor:
        """The descriptor that a 32-bit integer means for `.kind::KIND`; the kind itself is not in the bits.

        Strict: raises LegalityError, naming the field and its bits, for a set reserved bit and for a code that this
        kind does not have in a field. `verify` judges the fields together.
        """
        row = find_kind(kind)
        if not 0 <= value < 1 << 32:
            raise DescriptorError(f"expected a 32-bit instruction descriptor, found {value:#x}")
        form = find_form(kind)
        codes_of_k = [extract(value, form.fields[name]) for name in ("wide_k", "widest_k") if name in form.fields]
        legal = legal_values(row.name, sum(code << place for place, code in enumerate(codes_of_k)))
        for bits in form.reserved:
            if code := extract(value, bits):
                raise DescriptorError(
                    f"kind::{row.name}: expected 0 in the reserved {bits_text(bits)}, found {code:#b}"
                )
        codes = field_codes(row.name)
        found: dict[str, object] = {"d": row.accumulators[0][0]}
        for field, bits in sorted(form.fields.items(), key=lambda item: item[1]):
            code = extract(value, bits)
            meaning = codes[field]
            if meaning.get(code) not in legal[field]:
                expected = _some(f"{c} ({m})" for c, m in meaning.items() if m in legal[field])
                raise DescriptorError(
                    f"kind::{row.name}: {field_title(field)} ({bits_text(bits)}): expected a code of {expected}, "
                    f"found {code}"
                )
            found[field] = meaning[code]
        return InstructionDescriptor(kind=row.name, **found)  # pyright: ignore[reportArgumentType]


def _some(values: Iterable[str]) -> str:
    """A list without its middle, when it is long."""
    parts = list(values)
    return ", ".join([*parts[:3], "...", parts[-1]] if len(parts) > 8 else parts)


@cache
def field_codes(kind: str) -> Mapping[str, Mapping[int, object]]:
    """Field -> code -> value, for every code with a value, whether the kind has it or not."""
    row = find_kind(kind)
    flag: Mapping[int, object] = {0: False, 1: True}
    majors: Mapping[int, object] = dict(enumerate(MAJORS))
    operands: Mapping[int, object] = {code: name for name, code in row.operands}
    number: Mapping[int, object] = {code: code for code in range(4)}
    return {
        "sparsity_selector": number,
        "sparse": flag,
        "saturate": flag,
        "d": {code: name for name, code in row.accumulators},
        "a": operands,
        "b": operands,
        "negate_a": flag,
        "negate_b": flag,
        "a_major": majors,
        "b_major": majors,
        "n": {code: code * 8 for code in range(1 << 6)},
        "m": {code: code * 128 for code in range(1 << 2)} if row.block_scaled else {c: c * 16 for c in range(1 << 5)},
        "scale": {code: name for name, code in row.scales},
        "sf_a_id": number,
        "sf_b_id": number,
        "wide_k": flag,
        "widest_k": flag,
        "a_scale_lanes": dict(enumerate(A_SCALE_LANES)),
        "sparsity_version": {0: 0, 1: 1},
        "max_shift": dict(enumerate(MAX_SHIFTS)),
    }
