"""The instructions of every example stay as they are, up to the names of registers and labels.

`python test/unit/golden/test_golden.py` writes the record again, after a change that is meant.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tirx

EXAMPLES = Path(__file__).parents[3] / "examples"
RECORD = Path(__file__).parent
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))


def instructions(ptx: str) -> list[str]:
    """The lines of a PTX text with registers and labels numbered in order of first appearance."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        word = match[0]
        family = re.sub(r"\d+$", "", word)
        return names.setdefault(word, f"{family}{sum(name.startswith(family) for name in names)}")

    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    renamed = (re.sub(r"%(?:r|rd|h|f|fd|p|rb|b)\d+\b|\$\w+", rename, line) for line in lines if line)
    return [line for line in renamed if ".reg" not in line]


@pytest.mark.parametrize("name", NAMES)
def test_instructions_stay(name: str):
    found = instructions(tirx.compile((EXAMPLES / f"{name}.mlir").read_text()))
    assert found == (RECORD / f"{name}.txt").read_text().splitlines()


if __name__ == "__main__":
    for name in NAMES:
        lines = instructions(tirx.compile((EXAMPLES / f"{name}.mlir").read_text()))
        (RECORD / f"{name}.txt").write_text("\n".join(lines) + "\n")
