"""An explanation of one word, as data: its fields, what follows from them, what is wrong, the nearest legal word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx.hw.bits import Bits, bits_text, extract
from tirx.hw.word_picture import word_html
from tirx.symbolic.integers import Integers
from tirx.values import dataclass

Word = int | Integers
"""A word, or what is known of it before a kernel runs."""


@dataclass(frozen=True)
class FieldValue:
    """One field: `bits` are (first, width), `code` its value in the word (None: not known before the kernel runs)."""

    name: str
    bits: Bits
    code: int | None
    meaning: str

    def text(self) -> str:
        code = "?" if self.code is None else f"{self.code:#x}" if self.bits[1] > 8 else str(self.code)
        return f"{bits_text(self.bits):<13} {self.name:<27} {code:<7} {self.meaning}".rstrip()

    def json(self) -> dict[str, Any]:
        return {"name": self.name, "bits": list(self.bits), "code": self.code, "meaning": self.meaning}


@dataclass(frozen=True)
class Explanation:
    """All that is known of one word.

    - `title`: what the word is; `word`: its bits, None where some are not known; `width`: bits of it;
    - `fields`: in the order of their bits; `summary`: all of them in one line;
    - `notes`: (label, text) of what the fields mean together;
    - `problems`: why the hardware does not accept the word, or does what nobody wants; empty if nothing is wrong;
    - `nearest`: a legal word close by, where there are problems and one exists, with what it changes.
    """

    title: str
    word: int | None
    width: int
    fields: tuple[FieldValue, ...]
    summary: str
    notes: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
    nearest: tuple[int, str] | None = None

    @property
    def legal(self) -> bool:
        """Returns True if nothing is wrong with what is known."""
        return not self.problems

    def __str__(self) -> str:
        return self.text()

    def text(self, indent: str = "") -> str:
        """Lines for people."""
        word = "not known before the kernel runs" if self.word is None else self.hex(self.word)
        lines = [f"{self.title}: {word}"]
        lines += [f"  {field.text()}" for field in self.fields]
        lines += [f"  {label}: {text}" for label, text in self.notes]
        lines += [f"  wrong: {problem}" for problem in self.problems]
        if self.nearest is not None:
            lines.append(f"  nearest: {self.hex(self.nearest[0])} ({self.nearest[1]})")
        return "\n".join(indent + line for line in lines)

    def _repr_html_(self) -> str:
        """Returns the lines as a table, which notebooks show."""
        rows = [(field.name, field.bits, field.code, field.meaning) for field in self.fields]
        below = self.text().split("\n")[len(rows) + 1 :]
        return word_html(self.text().partition("\n")[0], self.width, rows, below)

    def brief(self, indent: str = "") -> str:
        """Lines for people, without the fields."""
        word = "" if self.word is None else f"{self.hex(self.word)}: "
        lines = [f"{word}{self.summary}"]
        lines += [f"  wrong: {problem}" for problem in self.problems]
        if self.nearest is not None:
            lines.append(f"  nearest: {self.hex(self.nearest[0])} ({self.nearest[1]})")
        return f"\n{indent}".join(lines)

    def json(self) -> dict[str, Any]:
        """Plain data for programs; words are hexadecimal texts, as JSON numbers are not exact beyond 53 bits."""
        nearest = None
        if self.nearest is not None:
            nearest = {"word": self.hex(self.nearest[0]), "changes": self.nearest[1]}
        return {
            "title": self.title,
            "word": None if self.word is None else self.hex(self.word),
            "width": self.width,
            "fields": [field.json() for field in self.fields],
            "summary": self.summary,
            "notes": dict(self.notes),
            "legal": self.legal,
            "problems": list(self.problems),
            "nearest": nearest,
        }

    def hex(self, word: int) -> str:
        """A word of this width, and one of more than 64 bits as its bytes in memory."""
        if self.width > 64:
            return word.to_bytes(self.width // 8, "little").hex()
        return f"0x{word:0{self.width // 4}x}"


def known_code(word: Word, bits: Bits) -> int | None:
    """The code in a field; None if one of its bits is not known."""
    if isinstance(word, int):
        return extract(word, bits)
    return None if extract(word.unknown, bits) else extract(word.ones, bits)


def known_value(word: Word) -> int | None:
    return word if isinstance(word, int) else word.value


def reserved_problems(word: Word, reserved: tuple[Bits, ...]) -> list[str]:
    """Reserved bits that are set."""
    ones = word if isinstance(word, int) else word.ones
    return [f"{bits_text(bits)}: expected 0 (reserved), found {extract(ones, bits):#x}" for bits in reserved
            if extract(ones, bits)]  # fmt: skip


def changes_text(fields: Mapping[str, Bits], reserved: tuple[Bits, ...], old: int, new: int) -> str:
    """The fields that two words differ in."""
    parts = [
        f"{name} {extract(old, bits):#x} to {extract(new, bits):#x}"
        for name, bits in fields.items()
        if extract(old, bits) != extract(new, bits)
    ]
    parts += [f"{bits_text(bits)} to 0" for bits in reserved if extract(old, bits) != extract(new, bits)]
    return ", ".join(parts)
