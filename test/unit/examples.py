"""The examples, each compiled once for all tests of a process."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import FileLineColLoc

from tirx import compiler
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.ptx.printer import print_ptx
from tirx.runtime import Program
from tirx.runtime.check import Source
from tirx.runtime.describe import describe

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.mlir"))


@dataclass(frozen=True)
class Compiled:
    """A program, what was reported, and the operations of its PTX that name no line of the source."""

    program: Program
    reported: tuple[Diagnostic, ...]
    without_line: tuple[str, ...]


@cache
def compiled(name: str) -> Compiled:
    """The example `name`, with the default options."""
    reported: list[Diagnostic] = []
    with diagnostic_handler(reported.append):
        module = compiler.lower(text := (EXAMPLES / f"{name}.mlir").read_text())
    without_line = (op.name for op in module.walk() if not isinstance(op.location, FileLineColLoc))
    program = Program(print_ptx(module), describe(module), Source(text, None, ""))
    return Compiled(program, tuple(reported), tuple(without_line))
