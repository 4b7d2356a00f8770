"""Positions: in chunks, under tabs, past the end of a line, after bytes that are not UTF-8."""

from __future__ import annotations

import pytest
from unit.cases import together
from xdsl.dialects.builtin import UNKNOWN_LOC

from tirx.diagnostics import Diagnostic, LocatedError
from tirx.text.source import Source, check_encoding, file_location


def _render(text: str, line: int, column: int, file: str = "f") -> str:
    return Source("f", text).render(Diagnostic("error", "no", file_location(file, line, column)))


def test_caret_stands_under_the_column():
    assert _render("ab\n cd", 2, 3) == "f:2:3: error: no\n cd\n  ^"
    assert _render("\tab", 1, 2) == "f:1:2: error: no\n\tab\n\t^"
    assert _render("ab", 1, 3) == "f:1:3: error: no\nab\n  ^"
    assert _render("ab\r\ncd\r\n", 1, 1) == "f:1:1: error: no\nab\n^"


def test_of_a_long_line_a_part_is_shown():
    name, line, caret = _render("a" * 3000 + "b" * 3000, 1, 3001).splitlines()
    assert name == "f:1:3001: error: no"
    assert len(line) == 1006 and line.startswith("...a") and line.endswith("b...")
    assert line[caret.index("^")] == "b" and line[caret.index("^") - 1] == "a"
    assert _render("a" * 3000, 1, 2).splitlines()[1:] == ["a" * 1000 + "...", " ^"]


def test_no_line_is_shown_for_other_files_and_unknown_places():
    assert _render("ab", 1, 1, file="g") == "g:1:1: error: no"
    assert _render("ab", 9, 1) == "f:9:1: error: no"
    assert Source("f", "ab").render(Diagnostic("error", "no", UNKNOWN_LOC)) == "error: no"


def test_only_newlines_end_lines():
    assert Source("f", "a\x0cb\u2028c\nd").lines == ["a\x0cb\u2028c", "d"]


def test_chunks_keep_their_lines():
    chunks = Source("f", "a\n// -----\nb\nc\n  // -----  \r\nd").chunks()
    assert [(chunk.text.strip(), chunk.text.count("\n", 0, len(chunk.text.rstrip()))) for chunk in chunks] == [
        ("a", 0),
        ("b\nc", 3),
        ("d", 5),
    ]


@together("text", ["a\n// ------\nb", "a // -----\nb", "// ----- b", "//-----\n"])
def test_rulers_do_not_split(text: str):
    assert Source("f", text).chunks() == [Source("f", text)]


def test_encoding():
    check_encoding("f", "é".encode())
    with pytest.raises(LocatedError, match="^f:2:3: error: expected UTF-8 text, found byte 0xff"):
        check_encoding("f", "a\néb".encode() + b"\xff")
