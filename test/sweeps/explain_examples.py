"""Explains every descriptor of every example, as `tirx-explain` does, and fails where one is not legal.

python test/sweeps/explain_examples.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tirx
from tirx.explain import explain_ptx

_EXAMPLES = Path(__file__).parents[2] / "examples"


def main() -> int:
    """Prints a line for each example with tensor-core instructions; returns how many have something illegal."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    wrong = 0
    for path in sorted(_EXAMPLES.glob("*.mlir")):
        report = explain_ptx(tirx.compile(path.read_text()))
        words = [word for each in report.instructions for _, word in each.words]
        if not report.instructions:
            continue
        open_ = sum(any(f.code is None and f.name != "start address" for f in word.fields) for word in words)
        print(f"{path.stem}: {len(report.instructions)} instructions, {len(words)} words, {open_} not known")
        if not report.legal:
            wrong += 1
            print(report.text(path.stem))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
