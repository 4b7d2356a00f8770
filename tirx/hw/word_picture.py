"""Words of bits as tables for notebooks: the bits of every field, its code, and what the code means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from tirx.hw.bits import Bits, bits_text, extract
from tirx.hw.rules import result
from tirx.layout.picture import CATEGORIES

_CELL = 9
_MOST_DRAWN = 64

Row = tuple[str, Bits, int | None, str]
"""Name, bits, code (None: not known) and meaning of a field."""


def word_html(title: str, width: int, rows: Sequence[Row], lines: Sequence[str] = ()) -> str:
    """HTML of a word of `width` bits: a strip of its fields, unless it is wide, their table, and lines below."""
    coloured = [(*row, CATEGORIES[k % len(CATEGORIES)]) for k, row in enumerate(rows)]
    head = "".join(f"<th>{each}</th>" for each in ("", "bits", "field", "code", "meaning"))
    body = "".join(
        f'<tr><td style="background:{colour}">&nbsp;</td><td>{bits_text(bits)}</td><td>{escape(name)}</td>'
        f"<td>{'?' if code is None else f'{code:#x}'}</td><td>{escape(meaning)}</td></tr>"
        for name, bits, code, meaning, colour in coloured
    )
    strip = _strip(width, coloured) if width <= _MOST_DRAWN else ""
    below = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return (
        f'<div><code>{escape(title)}</code><br>{strip}<table style="text-align:left"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def _strip(width: int, rows: Sequence[tuple[str, Bits, int | None, str, str]]) -> str:
    """The bits of a word, the highest one first, in the colours of their fields; bits of no field are grey."""
    cells: list[tuple[str, str]] = [("0", "#eceef0")] * width
    for _, (first, count), code, _, colour in rows:
        for bit in range(count):
            cells[first + bit] = "?" if code is None else str(code >> bit & 1), colour
    drawn = "".join(
        f'<rect x="{_CELL * k}" width="{_CELL}" height="16" fill="{colour}"/>'
        f'<text x="{_CELL * (k + 0.5):g}" y="12" text-anchor="middle">{text}</text>'
        for k, (text, colour) in enumerate(reversed(cells))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_CELL * width}" height="16" font-size="10" '
        f'font-family="monospace" fill="#16202c" role="img" aria-label="bits {width - 1} to 0">{drawn}</svg>'
    )


def descriptor_html(
    value: object, encode: Callable[[], int], fields: Mapping[str, Bits], lines: Sequence[str] = ()
) -> str:
    """HTML of a descriptor, or its text alone if it has no word: the meaning of a field is the attribute of its name.

    A field with an index, such as `first_span[2]`, is that element of the attribute.
    """
    if (word := result(encode)) is None:
        return f"<code>{escape(repr(value))}</code>"
    ordered = sorted(fields.items(), key=lambda field: field[1])
    rows = [(name, bits, extract(word, bits), _attribute(value, name)) for name, bits in ordered]
    width = 64 if sum(ordered[-1][1]) > 32 else 32
    return word_html(f"{type(value).__name__} {word:#0{width // 4 + 2}x}", width, rows, lines)


def _attribute(value: object, name: str) -> str:
    stem, _, index = name.rstrip("]").partition("[")
    found = getattr(value, stem, "")
    found = found[int(index)] if index else found
    return "not read" if found is None else str(found)
