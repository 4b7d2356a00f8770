"""The examples, each compiled once for all tests of a process."""

from functools import cache
from pathlib import Path

import tirx
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.runtime import Program

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.mlir"))


@cache
def compiled(name: str) -> tuple[Program, tuple[Diagnostic, ...]]:
    """The program of an example, and what was reported; the IR is verified after every pass."""
    reported: list[Diagnostic] = []
    with diagnostic_handler(reported.append):
        program = tirx.build((EXAMPLES / f"{name}.mlir").read_text())
    return program, tuple(reported)
