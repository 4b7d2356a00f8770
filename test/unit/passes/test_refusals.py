"""
Refusals of passes beyond the FileCheck tests, and kernels that they leave as they are: `Inputs` with the messages.

A part of a file begins with the flags; one without them changes the last part with flags, as the lines of a diff say.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from tirx.tools import tirx_opt

_COMMAND, _COMMENT = "// tirx-opt ", "// "
_RULE = re.compile(r" \[[a-z-]+\]$")


def _changed(text: str, changes: str) -> str:
    """The text after changes, each a run of lines with the marks of a diff: ` `, `-` and `+`; `@@` separates them."""
    for change in changes.split("@@\n"):
        lines = change.splitlines(keepends=True)
        before = "\n" + "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(before) == 1, change
        text = text.replace(before, "\n" + "".join(line[1:] for line in lines if line[0] in " +"))
    return text


def _cases() -> list[tuple[str, list[str], str]]:
    """Flags, messages (`line:column: severity: message`) and the text of each part of the files, behind both."""
    found: list[tuple[str, list[str], str]] = []
    for path in sorted((Path(__file__).parent / "Inputs").glob("*.mlir")):
        flags = kernel = ""
        for part in path.read_text().split("\n// -----\n\n"):
            lines = part.splitlines(keepends=True)
            if whole := part.startswith(_COMMAND):
                flags = lines.pop(0).removeprefix(_COMMAND)
            count = next(i for i, line in enumerate(lines) if not line.startswith(_COMMENT))
            messages = [line.removeprefix(_COMMENT).strip() for line in lines[:count]]
            text = "".join(lines[count:])
            if whole:
                kernel = text
            found.append((flags, messages, text if whole else _changed("\n" + kernel, text)[1:]))
    return found


@pytest.mark.parametrize(("flags", "messages", "text"), _cases(), ids=range(len(_cases())))
def test_messages(
    flags: str, messages: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status = tirx_opt.main(shlex.split(flags))
    said = [_RULE.sub("", line.removeprefix("<stdin>:")) for line in capsys.readouterr().err.splitlines()]
    assert set(messages) <= set(said) and messages
    assert status == any(": error: " in message for message in messages)
