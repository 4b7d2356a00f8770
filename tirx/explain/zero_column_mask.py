"""Explains zero-column mask descriptors of tcgen05.mma.ws."""

from __future__ import annotations

from itertools import groupby

from tirx.explain.nearest import nearest_word
from tirx.explain.report import Explanation, FieldValue, Word, changes_text, known_code, known_value, reserved_problems
from tirx.hw.bits import extract
from tirx.hw.rules import reason, result
from tirx.tcgen05.zero_column_mask import FIELDS, MAX_COLUMN_SHIFT, MAX_SPAN, RESERVED, SUB_MASKS, ZeroColumnMask

_SPANS = {"skip_span": "zeroed", "use_span": "used"}


def explain_zero_column_mask(word: Word, *, m: int | None = None, n: int | None = None) -> Explanation:
    """Explains the 64 bits of a zero-column mask descriptor; `m`, `n`: of the instruction, to expand the mask."""
    fields = tuple(_field(name, known_code(word, bits)) for name, bits in FIELDS.items())
    value = known_value(word)
    problems = reserved_problems(word, RESERVED)
    notes: list[tuple[str, str]] = []
    nearest = None
    if value is not None:
        mask = result(lambda: ZeroColumnMask.decode(value))
        if mask is None and not problems:
            problems.append(reason(lambda: ZeroColumnMask.decode(value)) or "")
        if mask is not None:
            rows = [m] if m is not None else list(SUB_MASKS)
            refused = [reason(lambda each=each: _verify(mask, each, n)) for each in rows]
            if None not in refused:
                problems += dict.fromkeys(text for text in refused if text is not None)
            elif m is not None and n is not None:
                notes.append((f"zeroed columns with M = {m}, N = {n}", _runs(mask, m, n)))
            shown = [each for each, text in zip(rows, refused, strict=True) if text is None]
            notes += [("unusual", text) for text in mask.late_starts(m)]
            notes.append(("legal", f"with M = {', '.join(map(str, shown)) or 'none'}"))
        if problems and (better := _nearest(value, m, n)) is not None:
            nearest = better, changes_text(FIELDS, RESERVED, value, better)
    summary = ", ".join(f"{field.name} {'?' if field.code is None else field.code}" for field in fields)
    summary += "".join(f"; {label}: {text}" for label, text in notes)
    return Explanation("zero-column mask", value, 64, fields, summary, tuple(notes), tuple(problems), nearest)


def _verify(mask: ZeroColumnMask | None, m: int, n: int | None) -> None:
    assert mask is not None, "its bits have a meaning"
    mask.verify(m, MAX_SPAN if n is None else n)  # which is a legal N for every M


def _field(name: str, code: int | None) -> FieldValue:
    bits = FIELDS[name]
    if code is None:
        return FieldValue(name, bits, None, "computed by the kernel")
    if name in _SPANS:
        text = f"runs of {code + 1} {_SPANS[name]} columns, as in the examples of the ISA"
        text += "; its table exchanges the two" if name == "skip_span" else ""
    elif name == "generate":
        text = "columns are zeroed" if code else "all columns are used"
    elif name == "shift":
        text = f"column j reads column j + {code} of B"
    elif name.startswith("first_span"):
        text = f"sub-mask {name[-2]} starts in a {'zeroed' if code else 'used'} run"
    else:
        text = f"sub-mask {name[-2]} starts {code} columns into its first run"
    return FieldValue(name, bits, code, text)


def _runs(mask: ZeroColumnMask, m: int, n: int) -> str:
    zero = mask.expand(m, n).tolist()
    runs: list[str] = []
    for is_zero, columns in groupby(range(n), key=lambda column: zero[column]):
        found = list(columns)
        if is_zero:
            runs.append(str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}")
    return ", ".join(runs) or "none"


def _nearest(value: int, m: int | None, n: int | None) -> int | None:
    def legal(candidate: int) -> bool:
        mask = result(lambda: ZeroColumnMask.decode(candidate))
        rows = SUB_MASKS if m is None else (m,)
        return mask is not None and any(reason(lambda each=each: _verify(mask, each, n)) is None for each in rows)

    most = max(limit for rows, limit in MAX_COLUMN_SHIFT.items() if rows == m or m not in MAX_COLUMN_SHIFT)
    choices = {"shift": [min(extract(value, FIELDS["shift"]), most)]}
    return nearest_word(value, FIELDS, RESERVED, choices, legal)
