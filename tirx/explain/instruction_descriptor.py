"""Explains instruction descriptors of tcgen05.mma."""

from __future__ import annotations

from tirx.explain.nearest import nearest_word
from tirx.explain.report import Explanation, FieldValue, Word, changes_text, known_code, known_value, reserved_problems
from tirx.hw.bits import bits_text
from tirx.hw.rules import reason, result
from tirx.tcgen05.instruction_descriptor import (
    Form,
    InstructionDescriptor,
    field_codes,
    field_title,
    find_form,
    legal_values,
)
from tirx.tcgen05.shapes import portable


def explain_instruction_descriptor(
    word: Word, kind: str, *, cta_group: int | None = None, ws: bool | None = None, target: str | None = None
) -> Explanation:
    """Explains the 32 bits of the instruction descriptor of a tcgen05.mma of `.kind::KIND`.

    `cta_group`, `ws`, `target`: of the instruction, which the descriptor does not say; None if they are not known.
    Raises LegalityError for an unknown kind.
    """
    form = find_form(kind)
    fields = sorted((_field(name, kind, form, word) for name in form.fields), key=lambda field: field.bits)
    problems = reserved_problems(word, form.reserved)
    value = known_value(word)
    notes: list[tuple[str, str]] = []
    nearest = None
    if value is None:
        problems += _bad_codes(word, kind, form)
        descriptor = None if (bits := shaping_bits(word, kind)) is None else result(lambda: _decode(bits, kind))
        if descriptor is not None:
            unknown = ", ".join(field.name for field in fields if field.code is None)
            notes += [*_notes(descriptor, cta_group, ws), ("computed by the kernel", unknown)]
    else:
        descriptor = result(lambda: InstructionDescriptor.decode(value, kind))
        if descriptor is None and not problems:
            problems.append(reason(lambda: InstructionDescriptor.decode(value, kind)) or "")
        if descriptor is not None:
            notes += _notes(descriptor, cta_group, ws)
            if (refused := reason(lambda: descriptor.verify(cta_group, ws, target))) is not None:
                problems.append(refused)
        if problems and (better := _nearest(value, kind, form, cta_group, ws, target)) is not None:
            nearest = better, changes_text(form.fields, form.reserved, value, better)
    title = f"instruction descriptor of kind::{kind}"
    known = ", ".join(f"{field.name} {field.meaning}" for field in fields if field.code)
    summary = dict(notes).get("meaning", f"fields that are not zero: {known}")
    if "computed by the kernel" in dict(notes):
        summary += f"; computed by the kernel: {dict(notes)['computed by the kernel']}"
    if "note" in dict(notes):
        summary += f"; {dict(notes)['note']}"
    return Explanation(title, value, 32, tuple(fields), summary, tuple(notes), tuple(problems), nearest)


_SHAPING = ("a", "b", "d", "m", "n", "a_major", "b_major", "sparse", "wide_k", "widest_k")


def shaping_bits(word: Word, kind: str) -> int | None:
    """The bits of a descriptor whose types, shape and major-ness are known, with 0 for those that are not.

    Returns None if one of these is not known. Raises LegalityError for an unknown kind.
    """
    fields = find_form(kind).fields
    if any(known_code(word, fields[name]) is None for name in _SHAPING if name in fields):
        return None
    return word if isinstance(word, int) else word.ones


def _decode(bits: int, kind: str) -> InstructionDescriptor:
    return InstructionDescriptor.decode(bits, kind)


def _field(name: str, kind: str, form: Form, word: Word) -> FieldValue:
    bits = form.fields[name]
    code = known_code(word, bits)
    if code is None:
        return FieldValue(field_title(name), bits, None, "computed by the kernel")
    meaning = field_codes(kind)[name].get(code, "no meaning")
    text = str(meaning).lower() if isinstance(meaning, bool) else str(meaning)
    if name == "max_shift":
        text += " columns"
    return FieldValue(field_title(name), bits, code, text)


def _bad_codes(word: Word, kind: str, form: Form) -> list[str]:
    """Known fields with a code that the kind does not have."""
    legal, codes = legal_values(kind), field_codes(kind)
    problems: list[str] = []
    for name, bits in form.fields.items():
        code = known_code(word, bits)
        if code is not None and codes[name].get(code) not in legal[name]:
            problems.append(f"{field_title(name)} ({bits_text(bits)}): code {code} has no meaning for kind::{kind}")
    return problems


def _notes(descriptor: InstructionDescriptor, cta_group: int | None, ws: bool | None) -> list[tuple[str, str]]:
    d = descriptor
    modifiers = [name for name in ("sparse", "negate_a", "negate_b", "saturate") if getattr(d, name)]
    scale = f", scale factors of {d.scale}" if d.scale else ""
    k = result(lambda: d.k) or "?"  # a code without a K
    text = f"D ({d.d}, {d.m} x {d.n}) += A ({d.a}, {d.m} x {k}, {d.a_major}-major) * B ({d.b}, {d.n} x {k}, "
    text += f"{d.b_major}-major){scale}{''.join(f', {name}' for name in modifiers)}"
    notes = [("meaning", text)]
    agreed = result(lambda: portable(d.kind, d.m, d.n, cta_group or 1, bool(ws), d.sparse, k_code=d.k_code))
    if agreed is False and result(lambda: d.verify(cta_group, ws) or True):
        notes.append(("note", "the ISA's table has this shape, other compilers reject it"))
    return notes


def _nearest(
    value: int, kind: str, form: Form, cta_group: int | None, ws: bool | None, target: str | None
) -> int | None:
    def legal(candidate: int) -> bool:
        descriptor = result(lambda: InstructionDescriptor.decode(candidate, kind))
        return descriptor is not None and reason(lambda: descriptor.verify(cta_group, ws, target)) is None

    values, codes = legal_values(kind), field_codes(kind)
    choices = {
        name: [code for code, meaning in codes[name].items() if meaning in values[name] and code >> bits[1] == 0]
        for name, bits in form.fields.items()
    }
    return nearest_word(
        value, form.fields, form.reserved, choices, legal, ("a", "b", "d", "scale", "a_major", "b_major")
    )
