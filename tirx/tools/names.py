"""Names in the text of a program: where they are defined and used, what there is, words by kind, indentation.

The text is looked at word by word, so that all of this works while it does not parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tirx.text.source import Source

WORD = re.compile(r"[%@!#^]?[\w$.-]*\w|[%@!#^]")
_CHUNK = re.compile(r"[ \t]*// -----[ \t]*")
_CODE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//.*')  # what is no name
_DEFINES = r"(?:tirx\.kernel|ptx\.entry|func\.func|tirx\.for|tirx\.role|tirx\.tiles)"
_SYMBOL = re.compile(
    rf"^\s*(?:(?P<alias>[!#][\w$.-]+)\s*=|(?P<operation>{_DEFINES})\s+(?:\w+\s+)?(?P<name>@[\w$.-]+)"
    r"|(?P<loop>scf\.for)\s+(?P<index>%[\w$.-]+)|(?P<value>%[\w$.-]+)\s*=\s*(?:tirx\.alloc|tirx\.view|ptx\.shared_alloc)\b)"
)
_START = re.compile(r"\s*(?:[%!#][\w$.:-]+(?:\s*,\s*%[\w$.:-]+)*\s*=[^=]|\^|\}|module\b|\"?[a-z_]\w*\.\w)")
_FUNCTION = re.compile(r"\s*(?:tirx\.kernel|ptx\.entry|func\.func)\b")
_NAME = re.compile(r"[A-Za-z_$][\w$.-]*|\d+")
_TOKEN = re.compile(
    r'(?P<comment>//.*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<variable>%[\w$.-]+)|(?P<function>@[\w$.-]+)|(?P<label>\^[\w$.-]+)'
    r"|(?P<type>![\w$.-]+|\b(?:memref|vector|tensor|index|[su]?i\d+|b?f\d+\w*|tf32)\b)|(?P<macro>#[\w$.-]+)"
    r"|(?P<keyword>\b[a-z_]\w*(?:\.[a-z_]\w*)+)|(?P<number>(?<![\w.])-?(?:0x[0-9a-fA-F]+|\d[\d.]*(?:[eE][+-]?\d+)?)\b)"
)

TOKEN_KINDS = ("comment", "string", "variable", "function", "label", "type", "macro", "keyword", "number")
"""The kinds of words, as the groups of `_TOKEN`; all but one are those of LSP 3.17."""


class Place(NamedTuple):
    """A name in the text: line and column count from 0."""

    line: int
    column: int
    length: int


@dataclass
class Symbol:
    """Something that a text defines, with the lines that it takes and what is inside of it."""

    name: str
    kind: str
    place: Place
    last_line: int
    inside: list[Symbol]


@dataclass
class Text:
    """A text by its words. Lines and columns count from 0, as in editors."""

    source: Source

    def word(self, line: int, column: int) -> tuple[str, int] | None:
        """The word at a place, with the column where it starts."""
        lines = self.source.lines
        if not 0 <= line < len(lines):
            return None
        return next(((m[0], m.start()) for m in WORD.finditer(lines[line]) if m.start() <= column <= m.end()), None)

    def name(self, line: int, column: int) -> tuple[str, Place] | None:
        """The value, kernel, alias or block at a place; `%x` for a result `%x#0`. None for other words."""
        word = self.word(line, column)
        if word is None or word[0][0] not in "%@!#^" or len(word[0]) == 1:
            return None
        name = word[0].partition("#")[0] if word[0].startswith("%") else word[0]
        return name, Place(line, word[1], len(name))

    def definition(self, line: int, column: int) -> tuple[int, int] | None:
        """The line and column where the value, kernel, alias or block at a place is defined; None if nowhere."""
        found = self.name(line, column)
        return None if found is None else _home(*found, self._definitions(found[0], self._scope(found[0], line)))

    def _definitions(self, name: str, lines: range, sigil: str | None = None) -> list[tuple[int, int]]:
        """The places where a name is defined in these lines; several where functions have values of one name.

        With `sigil`, `name` is a pattern of names with it.
        """
        quoted = re.escape(name) if sigil is None else name
        end = r"(?![\w$.-])"
        patterns = {
            # Results, `%a, %b = ...`, arguments, `%a: type`, loops, `%k = %c0 to`.
            "%": rf"{quoted}{end}(?=(?::\d+)?(?:\s*,\s*%[\w$.-]+)*\s*=[^=])|{quoted}{end}(?=:\s)",
            "@": rf"{_DEFINES}\s+(?:\w+\s+)?(?P<at>{quoted}{end})",
            "!": rf"^\s*(?P<at>{quoted}{end})\s*=",
            "#": rf"^\s*(?P<at>{quoted}{end})\s*=",
            "^": rf"^\s*(?P<at>{quoted}{end})\s*[:(]",
        }
        pattern = re.compile(patterns[sigil or name[0]])
        group = "at" if "at" in pattern.groupindex else 0
        text = self.source.lines
        rows = ((number, text[number].partition("//")[0]) for number in lines)
        return [(number, found.start(group)) for number, row in rows for found in pattern.finditer(row)]

    def _chunk(self, line: int) -> range:
        """The lines of the part between `// -----` lines that a line is in."""
        marks = [-1, *(i for i, text in enumerate(self.source.lines) if _CHUNK.fullmatch(text))]
        first = max(mark for mark in marks if mark < line)
        return range(first + 1, next((mark for mark in marks if mark > first), len(self.source.lines)))

    def _scope(self, name: str, line: int) -> range:
        """The lines in which a name means one thing: of values and blocks those of the function that a line is in."""
        return self.function(line) if name[0] in "%^" else self._chunk(line)

    def function(self, line: int) -> range:
        """The lines of the innermost function around a line; of its part of the text where there is none."""
        around = [(start, end) for start, end in self._ends().items() if start <= line <= end]
        homes = [range(start, end + 1) for start, end in around if _FUNCTION.match(self.source.lines[start])]
        return max(homes, key=lambda each: each.start, default=self._chunk(line))

    # What there is, and where it is used

    def names(self, lines: range) -> Iterator[tuple[str, Place]]:
        """Every name in these lines, outside of comments and strings."""
        text = self.source.lines
        for number in lines:
            blank = _CODE.sub(lambda found: " " * len(found[0]), text[number])
            for word in WORD.finditer(blank):
                if word[0][0] in "%@!#^" and len(word[0]) > 1:
                    yield word[0], Place(number, word.start(), len(word[0]))

    def references(self, line: int, column: int) -> list[Place]:
        """Every place of what is named at a place, its definition included; empty if it is defined nowhere."""
        found = self.name(line, column)
        if found is None:
            return []
        lines = self._scope(found[0], line)
        places = self._definitions(found[0], lines)
        if (home := _home(*found, places)) is None:
            return []
        return [at for name, at in self.names(lines) if name == found[0] and _home(name, at, places) == home]

    def renamed(self, line: int, column: int, name: str) -> list[Place]:
        """The places at which a new name is to be written. Raises ValueError for one that is taken, and for no name."""
        found = self.name(line, column)
        places = self.references(line, column)
        if not places:
            raise ValueError("expected a value, kernel, alias or block that this text defines")
        assert found is not None
        wanted = name.removeprefix(found[0][0])
        if _NAME.fullmatch(wanted) is None:
            raise ValueError(f"expected a name of letters, digits, _, $, . and -, found '{name}'")
        if any(each == found[0][0] + wanted for each, _ in self.names(self._scope(found[0], line))):
            raise ValueError(f"expected a name that is free, found {found[0][0]}{wanted}")
        return [Place(at.line, at.column + 1, at.length - 1) for at in places]

    def visible(self, line: int, column: int, sigil: str) -> list[str]:
        """The names with this sigil that are defined in front of a place, or anywhere for those that have no order."""
        text = self.source.lines
        places = self._definitions(rf"{re.escape(sigil)}[\w$.-]*\w", self._scope(sigil, line), sigil)
        shown = [place for place in places if sigil != "%" or place < (line, column)]
        return [*dict.fromkeys(found[0] for at in shown if (found := WORD.match(text[at[0]], at[1])) is not None)]

    def symbols(self) -> list[Symbol]:
        """Kernels, functions, aliases, and in them loops, roles, allocations and views."""
        found: list[Symbol] = []
        open_: list[Symbol] = []
        ends = self._ends()
        for number, line in enumerate(self.source.lines):
            match = _SYMBOL.match(line)
            if match is None:
                continue
            group = next(name for name in ("alias", "name", "index", "value") if match[name] is not None)
            kind = match["operation"] or match["loop"] or group
            place = Place(number, match.start(group), len(match[group]))
            symbol = Symbol(match[group], kind, place, ends.get(number, number), [])
            while open_ and open_[-1].last_line < number:
                open_.pop()
            (open_[-1].inside if open_ else found).append(symbol)
            open_.append(symbol)
        return found

    def _ends(self) -> dict[int, int]:
        """Line on which a statement that opens a region starts -> the line on which the region ends."""
        found: dict[int, int] = {}
        stack: list[int] = []
        start = 0  # of the statement
        for number, line in enumerate(self.source.lines):
            code = _CODE.sub("", line)
            if _starts_statement(code):
                start = number
            for bracket in re.findall(r"[{}]", code):
                if bracket == "{":
                    stack.append(start)
                elif stack:
                    found[stack.pop()] = number
        return found

    def tokens(self) -> Iterator[tuple[Place, str]]:
        """Every word with its kind, of `TOKEN_KINDS`, in the order of the text."""
        for number, line in enumerate(self.source.lines):
            for found in _TOKEN.finditer(line):
                assert found.lastgroup is not None
                yield Place(number, found.start(), len(found[0])), found.lastgroup

    def formatted(self) -> str:
        """The text with statements indented by two columns for each region around them, and no spaces at ends of lines.

        Lines that go on a statement keep their distance to its first line; nothing else changes.
        """
        depth = moved = 0
        brackets = 0  # that are open in the statement
        out: list[str] = []
        for line in self.source.lines:
            text = line.strip()
            code = _CODE.sub("", text)
            closed = len(code) - len(code.lstrip("}"))
            before = len(line) - len(line.lstrip())
            if brackets or (out and not _starts_statement(code) and code):
                indent = max(before + moved, 0)
            else:
                indent = 2 * max(depth - closed - text.startswith("^"), 0)
                moved = indent - before
            out.append(" " * indent + text if text else "")
            depth = max(depth + code.count("{") - code.count("}"), 0)
            brackets = max(brackets + sum(code.count(c) for c in "([") - sum(code.count(c) for c in ")]"), 0)
        return "\n".join(out)


def _home(name: str, at: Place, places: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Returns which of the definitions of a name is meant at a place: for values and blocks the last one before it."""
    before = [place for place in places if place <= at[:2]] if name[0] in "%^" else []
    if name[0] == "%":
        return before[-1] if before else None
    return before[-1] if before else places[0] if places else None


def _starts_statement(code: str) -> bool:
    """Returns True for a line with an operation, results, a block or a closing bracket at its start."""
    return _START.match(code) is not None
