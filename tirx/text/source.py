"""Input text: where a line is, how a diagnostic is shown under it, how a file splits into chunks."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tirx.diagnostics import Diagnostic, position
from tirx.rules import TextError
from tirx.values import dataclass

_CHUNK_MARKER = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)

_WIDEST = 1000
"""Characters of a line that are shown."""


def file_location(name: str, line: int, column: int) -> FileLineColLoc:
    """The location of a character of the file `name`; `line` and `column` count from 1."""
    return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))


@dataclass(frozen=True)
class Source:
    """The text of one input, under the name that diagnostics use."""

    name: str
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines without their line ends; only `\\n` and `\\r\\n` end a line, as in the lexer."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    def render(self, diagnostic: Diagnostic) -> str:
        """`file:line:col: severity: message`, the line it is about and a caret under the column; behind it each note in
        the same way.
        """
        shown = [self._shown(str(diagnostic), diagnostic.position)]
        for note in diagnostic.notes:
            where = position(note.location)
            prefix = "" if where is None else f"{where[0]}:{where[1]}:{where[2]}: "
            shown.append(self._shown(f"{prefix}note: {note.message}", where))
        return "\n".join(shown)

    def _shown(self, text: str, where: tuple[str, int, int] | None) -> str:
        lines = self.lines
        if where is None or where[0] != self.name or not 1 <= where[1] <= len(lines):
            return text
        row, column = lines[where[1] - 1], where[2]
        if len(row) > _WIDEST:
            first = max(0, column - _WIDEST // 2)
            before, after = "..." if first else "", "..." if len(row) > first + _WIDEST else ""
            row, column = f"{before}{row[first : first + _WIDEST]}{after}", column - first + len(before)
        indent = "".join("\t" if char == "\t" else " " for char in row[: column - 1])
        return f"{text}\n{row}\n{indent}^"

    def chunks(self) -> list[Source]:
        """The parts between `// -----` lines.

        Every part is preceded by as many empty lines as it takes for its positions to be those of the whole file.
        """
        chunks: list[Source] = []
        lines_before = 0
        for part in _CHUNK_MARKER.split(self.text):
            chunks.append(Source(self.name, "\n" * lines_before + part))
            lines_before += part.count("\n")
        return chunks


def decode(name: str, data: bytes) -> Source:
    """The source in `data`, with the replacement character in the place of what is not UTF-8."""
    return Source(name, data.decode("utf-8", errors="replace"))


def check_encoding(name: str, data: bytes) -> None:
    """Raises LocatedError at the first byte that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"expected UTF-8 text, found byte 0x{data[error.start]:02x} ({error.reason})"
        raise TextError(file_location(name, line, column), message) from error
