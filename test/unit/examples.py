"""The examples, each compiled once for all tests of a process."""

from functools import cache
from pathlib import Path

import tirx
from tirx.diagnostics import Diagnostic, diagnostic_handler

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.mlir"))


@cache
def compiled(name: str, options: str = "") -> tuple[str, tuple[Diagnostic, ...]]:
    """PTX of an example, with options of the pipeline, and what was reported; the IR is verified after every pass."""
    reported: list[Diagnostic] = []
    with diagnostic_handler(reported.append):
        ptx = tirx.compile((EXAMPLES / f"{name}.mlir").read_text(), options=options)
    return ptx, tuple(reported)
