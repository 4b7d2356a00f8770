"""Explains shared-memory matrix descriptors of tcgen05 and wgmma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx.explain.nearest import nearest_word
from tirx.explain.report import Explanation, FieldValue, Word, changes_text, known_code, known_value, reserved_problems
from tirx.hw.bits import Bits, bits_text, deposit, extract
from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.rules import reason
from tirx.smem import smem_descriptor, wgmma_descriptor
from tirx.smem.aliasing import aliased_operand
from tirx.smem.canonical_form import CanonicalLayout
from tirx.smem.smem_descriptor import CONSTANT, K_SEGMENTS, SmemDescriptor, possible_descriptors
from tirx.smem.swizzle_modes import (
    MAJORS,
    SWIZZLE_MODES,
    TCGEN05_OPERANDS,
    WGMMA_OPERANDS,
    Major,
    OperandFamily,
    SwizzleName,
    legal_modes,
)
from tirx.smem.walk import ATOM_BITS, Walk
from tirx.smem.wgmma_descriptor import WgmmaDescriptor, possible_wgmma_descriptors
from tirx.symbolic.integers import Integers
from tirx.values import dataclass

_K_BYTES = 32
"""Bytes of K that a dense instruction reads of a row."""

_START_UNITS = (2, 4, 8, 16, 32, 64)
"""What the start address of a repaired descriptor may be a multiple of, in 16 bytes: up to the period of a swizzle."""

_TITLES = {
    "start": "start address",
    "lbo": "leading dimension offset",
    "sbo": "stride dimension offset",
    "constant": "constant",
    "base_offset": "matrix base offset",
    "lbo_absolute": "LBO mode",
    "k_segment": "segment of K",
    "swizzle": "swizzle",
}


@dataclass(frozen=True)
class _Format:
    """The places of the fields of a family, and the codes of the swizzle modes."""

    fields: Mapping[str, Bits]
    reserved: tuple[Bits, ...]
    modes: Mapping[int, SwizzleName]


_FORMATS: dict[str, _Format] = {
    TCGEN05_OPERANDS.instruction: _Format(
        smem_descriptor.FIELDS, smem_descriptor.RESERVED, {mode.code: name for name, mode in SWIZZLE_MODES.items()}
    ),
    WGMMA_OPERANDS.instruction: _Format(
        wgmma_descriptor.FIELDS,
        wgmma_descriptor.RESERVED,
        {mode.wgmma_code: name for name, mode in SWIZZLE_MODES.items() if mode.wgmma_code is not None},
    ),
}


@dataclass(frozen=True)
class _Operand:
    """An operand as far as its descriptor does not say it: `shape` are the elements that one instruction reads."""

    element: DType
    shape: tuple[int, int]
    bits: int
    family: OperandFamily
    target: str | None


def explain_matrix_descriptor(
    word: Word,
    family: OperandFamily = TCGEN05_OPERANDS,
    *,
    major: Major | None = None,
    dtype: str | DType | None = None,
    shape: tuple[int, int] | None = None,
    container_bits: int | None = None,
    target: str | None = None,
) -> Explanation:
    """Explains the 64 bits of a matrix descriptor of `family`, known as far as `word` says.

    `major`, `dtype`: of the operand, which the descriptor does not say; both major-nesses are explained if it is None,
    f16 is assumed if there is no `dtype`. `shape`: (MN, K) elements that one instruction reads, by default 64 rows of
    32 bytes. `container_bits`: 8 for 4-bit elements padded to a byte. `target`: `sm_100a`, to check modes that only
    some have.
    """
    form = _FORMATS[family.instruction]
    element = find_dtype("f16" if dtype is None else dtype)
    bits = element.storage_bits if container_bits is None else container_bits
    extent = (64, _K_BYTES * 8 // bits) if shape is None else shape
    operand = _Operand(element, extent, bits, family, target)
    majors = MAJORS if major is None else (major,)
    fields = tuple(_field(name, form, word) for name in form.fields)
    problems, candidates, known = _problems_of_bits(word, form, family)
    notes: list[tuple[str, str]] = []
    refused: dict[Major, list[str]] = {}
    for each in majors:
        found, refused[each] = _as_major(candidates, each, operand)
        if not refused[each] and (shared := aliased_operand(known, each, extent, bits, family)) is not None:
            found, refused[each] = [], [shared]
        notes += found
    if candidates and all(refused.values()):
        problems += [problem for each in majors for problem in refused[each]]
    elif candidates:
        notes += [(f"not as {each}-major", "; ".join(refused[each])) for each in majors if refused[each]]
    value = known_value(word)

    def legal(candidate: int) -> bool:
        descriptors = _decoded(candidate, family)
        return bool(descriptors) and any(
            not _as_major(descriptors, each, operand)[1]
            and aliased_operand(candidate, each, extent, bits, family) is None
            for each in majors
        )

    nearest = None
    if problems and value is not None:
        choices = _choices(value, form, majors, operand)
        better = nearest_word(value, form.fields, form.reserved, choices, legal, ("swizzle", "lbo_absolute"))
        if better is not None:
            nearest = better, changes_text(form.fields, form.reserved, value, better)
    summary = _summary(form, fields) + "".join(f"; {label} {text}" for label, text in notes)
    title = f"matrix descriptor of {family.instruction}"
    return Explanation(title, value, 64, fields, summary, tuple(notes), tuple(problems), nearest)


def _problems_of_bits(word: Word, form: _Format, family: OperandFamily) -> tuple[list[str], list[SmemDescriptor], Word]:
    """Returns what is wrong with the bits, the descriptors that they may be, and the word, repaired if it was none."""
    problems = reserved_problems(word, form.reserved)
    candidates = _decoded(word, family)
    if candidates:
        return problems, candidates, word
    known = _repaired(word, form)
    bits_of = known if isinstance(known, int) else known.ones
    if "constant" in form.fields and known_code(word, form.fields["constant"]) != CONSTANT:
        problems.append(f"{bits_text(form.fields['constant'])}: expected {CONSTANT:#05b} on tcgen05, found another")
    candidates = _decoded(known, family)
    if not candidates:
        problem = reason(lambda: _decode(bits_of, family))
        assert problem is not None, "unknown bits that are 0 are one of the choices"
        problems.append(problem)
    return problems, candidates, known


def _summary(form: _Format, fields: Sequence[FieldValue]) -> str:
    """Returns the fields that say where the elements of an operand lie, as one sentence."""
    meanings = {name: field.meaning for name, field in zip(form.fields, fields, strict=True)}
    text = f"start {meanings['start']}, LBO {meanings['lbo']}, SBO {meanings['sbo']}, swizzle {meanings['swizzle']}"
    if meanings.get("lbo_absolute") != "LBO is an offset" and "lbo_absolute" in meanings:
        text += f", {meanings['lbo_absolute']}"
    return text


def _repaired(word: Word, form: _Format) -> Word:
    """The word with reserved bits that are 0 and the right constant."""
    fixed = [*((bits, 0) for bits in form.reserved)]
    if "constant" in form.fields:
        fixed.append((form.fields["constant"], CONSTANT))
    for bits, code in fixed:
        if isinstance(word, int):
            word = deposit(word, bits, code)
        else:
            word = Integers(word.width, deposit(word.zeros, bits, ~code), deposit(word.ones, bits, code))
    return word


def _decode(word: int, family: OperandFamily) -> object:
    return (WgmmaDescriptor if family is WGMMA_OPERANDS else SmemDescriptor).decode(word)


def _decoded(word: Word, family: OperandFamily) -> list[SmemDescriptor]:
    """The descriptors that a word may be, as far as it matters."""
    if family is WGMMA_OPERANDS:
        return [each.walk for each in possible_wgmma_descriptors(word)]
    return list(possible_descriptors(word))


def _field(name: str, form: _Format, word: Word) -> FieldValue:
    bits = form.fields[name]
    code = known_code(word, bits)
    if name == "base_offset" and code and known_code(word, form.fields["swizzle"]) == SWIZZLE_MODES["none"].code:
        return FieldValue(_TITLES[name], bits, code, "ignored without a swizzle")
    return FieldValue(_TITLES[name], bits, code, _unknown(word, bits) if code is None else _meaning(name, code, form))


def _unknown(word: Word, bits: Bits) -> str:
    """Returns what is known of the bits of a field that is not constant."""
    assert isinstance(word, Integers)
    first, _ = bits
    if first:
        return "computed by the kernel"
    return f"computed by the kernel, a multiple of {16 << word.trailing_zeros} bytes"


def _meaning(name: str, code: int, form: _Format) -> str:
    match name:
        case "start":
            return f"byte {code << 4} of shared memory"
        case "lbo" | "sbo":
            return f"{code << 4} bytes"
        case "constant":
            return "as it must be" if code == CONSTANT else f"must be {CONSTANT:#05b}"
        case "lbo_absolute":
            return "LBO is an address" if code else "LBO is an offset"
        case "k_segment":
            return f"from byte {K_SEGMENTS[code]} of a row on"
        case "swizzle":
            return form.modes.get(code, "no swizzle mode")
        case _:
            return f"the pattern starts {code} rows of 128 bytes off" if code else "the pattern is aligned"


def _as_major(
    candidates: Sequence[SmemDescriptor], major: Major, operand: _Operand
) -> tuple[list[tuple[str, str]], list[str]]:
    """The canonical layouts that descriptors name for one major-ness, and why none of them is legal."""
    notes: list[tuple[str, str]] = []
    problems: list[str] = []
    legal, shape, bits = False, operand.shape, operand.bits
    for descriptor in candidates:
        mode = SWIZZLE_MODES[descriptor.swizzle]
        refused = _refused(descriptor, major, operand)
        legal |= refused is None
        if refused is not None:
            problems.append(refused)
            continue
        walk = Walk.of(major, mode, shape, bits)
        of_lbo, of_sbo = (walk.outer_mn, walk.outer_k) if walk.traded else (walk.outer_k, walk.outer_mn)
        lbo_read, sbo_read = descriptor.lbo_absolute or bool(of_lbo.any()), bool(of_sbo.any())
        lbo, sbo = descriptor.lbo if lbo_read else None, descriptor.sbo if sbo_read else None
        layout = CanonicalLayout(
            major, descriptor.swizzle, ATOM_BITS // bits, walk.repeats_mn, walk.repeats_k, lbo, sbo
        )
        what = f"{shape[0]} x {shape[1]} elements of {operand.element.name}"
        unread = [name for name, read in (("LBO", lbo_read), ("SBO", sbo_read)) if not read]
        ignored = f"; {' and '.join(unread)} not read" if unread else ""
        notes.append((f"as {major}-major", f"{layout.cute()}, {what}{ignored}"))
    return notes, [] if legal else list(dict.fromkeys(problems))


def _refused(descriptor: SmemDescriptor, major: Major, operand: _Operand) -> str | None:
    """Why the operand cannot be read with a descriptor, or should not be."""
    element, k_bytes = operand.element, operand.shape[1] * operand.bits // 8
    if operand.family is WGMMA_OPERANDS:
        whole = WgmmaDescriptor.of(descriptor)
        return reason(lambda: whole.verify(element, major, k_bytes=k_bytes))
    return reason(lambda: descriptor.verify(element, major, k_bytes=k_bytes, target=operand.target))


def _choices(value: int, form: _Format, majors: Sequence[Major], operand: _Operand) -> dict[str, list[int]]:
    """The codes that a repaired descriptor may have: those of the word, and those of a tile without gaps."""
    names: set[SwizzleName] = {name for each in majors for name in legal_modes(operand.element, each, operand.family)}
    codes = [code for code, name in form.modes.items() if name in names]
    start = extract(value, form.fields["start"])
    starts = {start, *(start // unit * unit for unit in _START_UNITS)}
    offsets: set[int] = set()
    for each in majors:
        for name in names:
            mode = SWIZZLE_MODES[name]
            walk = Walk.of(each, mode, operand.shape, operand.bits)
            block = (8 if each == "K" else mode.rows) * mode.row_bytes
            offsets |= {block, *(block * (int(last) + 1) for *_, last in (walk.outer_mn, walk.outer_k))}
    _, width = form.fields["lbo"]
    stored = [extract(value, form.fields[name]) for name in ("lbo", "sbo")]
    strides = sorted({*stored, *(offset // 16 for offset in offsets if not offset // 16 >> width)})
    found = {"start": sorted(starts), "lbo": strides, "sbo": strides, "base_offset": [0], "swizzle": codes}
    if "constant" in form.fields:
        found |= {"constant": [CONSTANT], "lbo_absolute": [0, 1], "k_segment": [0]}
    return found
