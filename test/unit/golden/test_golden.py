"""The instructions of every example stay as they are, up to the names of registers and labels.

`python test/unit/golden/test_golden.py` writes the record again, after a change that is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from unit.examples import PROGRAMS, compiled

RECORD = Path(__file__).parent
NAMES = [path.stem for path in PROGRAMS]


def instructions(ptx: str) -> list[str]:
    """The lines of a PTX text with registers and labels numbered in order of first appearance."""
    names: dict[str, str] = {}
    count = Counter[str]()

    def rename(match: re.Match[str]) -> str:
        word = match[0]
        if word not in names:
            family = re.sub(r"\d+$", "", word)
            names[word] = f"{family}{sum(n for other, n in count.items() if other.startswith(family))}"
            count[family] += 1
        return names[word]

    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    renamed = (re.sub(r"%(?:r|rd|h|f|fd|p|rb|b)\d+\b|\$\w+", rename, line) for line in lines if line)
    return [line for line in renamed if ".reg" not in line]


@pytest.mark.parametrize("name", NAMES)
def test_instructions_stay(name: str):
    found = instructions(compiled(name)[0])
    assert found == (RECORD / f"{name}.txt").read_text().splitlines()


if __name__ == "__main__":
    for name in NAMES:
        lines = instructions(compiled(name)[0])
        (RECORD / f"{name}.txt").write_text("\n".join(lines) + "\n")
