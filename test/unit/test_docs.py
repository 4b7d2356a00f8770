"""Every code block of the guides is run: Python sessions as doctests, programs through the pipeline."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import tirx

DOCS = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))


def blocks(path: Path) -> list[tuple[str, str]]:
    """(language, code) of every fenced block."""
    return re.findall(r"^```(.*?)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCS, ids=[path.name for path in DOCS])
def test_sessions(path: Path) -> None:
    session = doctest.DocTestParser().get_doctest(path.read_text(), {}, path.name, str(path), 0)
    assert session.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0


@pytest.mark.parametrize("path", DOCS, ids=[path.name for path in DOCS])
def test_every_block_is_run(path: Path) -> None:
    for language, code in blocks(path):
        match language:
            case "python":
                # The whole file is one session; a block without a prompt would not be run.
                assert code.startswith(">>> ")
            case "mlir":
                tirx.compile(code)
            case other:
                pytest.fail(f"{path.name} has a block of {other or 'no language'}, which no test runs:\n{code}")
