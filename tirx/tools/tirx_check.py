"""`tirx-check`: compares the PTX of tile programs, in the simulator, with what the programs mean.

Exit code 0 says that all launches agree, 1 that one differs or that the input or the command line is wrong, 2 that a
pass leaves IR that does not verify.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import get_args

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tirx.diagnostics import LocatedError
from tirx.hw.targets import TargetError
from tirx.passes import lower_to_ptx_pipeline
from tirx.passes.pipeline import OptionError
from tirx.runtime.check_arguments import Numbers
from tirx.runtime.program import Program, build, compiled
from tirx.text.parsing import parse_located
from tirx.text.source import check_encoding
from tirx.text.verification import CheckError, InvalidPassOutputError
from tirx.tools import commands
from tirx.tools.files import FileError, read_input, write_output
from tirx.tools.flags import add_placed, passes_of
from tirx.tools.process import ArgumentParser, UsageError
from tirx.universe import new_context

_EPILOG = """\
Arguments are random: several legal sizes, small integers and numbers of a normal distribution. Each launch is run on
whole tiles, as docs/language.md says, and in the simulator, with all checks. Results are compared bit for bit where all
sums are exact, and within the bounds of their errors elsewhere. The simulated GPU has 2 multiprocessors, so that
kernels which loop over tiles do; those whose grid is numbers are compiled again to loop (order=row, then
multiprocessors=2), while time is left. Where a launch differs, the pass is named behind which the program does.

  tirx-check examples/tcgen05_gemm.mlir
  tirx-check kernel.mlir --options "pipeline=off" --numbers integers --seconds 60
"""


_MOST_LINES = 100
"""Lines of a change to the IR that are shown: the lowering behind the last pass that keeps tiles has thousands."""


def _parser() -> ArgumentParser:
    parser = ArgumentParser("tirx-check", __doc__, _EPILOG)
    parser.add_argument("input", help="the file with the kernels, - for standard input")
    parser.add_argument("--target", help="the GPU, instead of that which the kernels name")
    parser.add_argument("--options", default="", help="options of the pipeline, such as 'stages=2 roles=load'")
    add_placed(parser)
    parser.add_argument("--kernel", help="only this kernel")
    parser.add_argument(
        "--numbers", action="append", choices=get_args(Numbers), help="which numbers arrays hold (integers and normal)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="of CPU time that all may take (3)")
    parser.add_argument("--seed", type=int, default=0, help="of sizes and numbers (0)")
    return parser


def _compiled(module: ModuleOp, flags: Namespace) -> Program:
    if not flags.placed:
        return build(module.clone(), flags.target, flags.options)

    def passes(options: str) -> tuple[ModulePass, ...]:
        return passes_of(lower_to_ptx_pipeline(flags.target, options), flags.placed)

    return compiled(module.clone(), flags.target, flags.options, passes=passes)


def _check(flags: Namespace) -> int:
    start = time.process_time()
    data = read_input(flags.input)
    check_encoding(flags.input, data)
    module = parse_located(new_context(), data.decode(), flags.input)
    program = _compiled(module, flags)
    known = program.kernels | program.variants
    chosen = {name: each for name, each in known.items() if flags.kernel in (None, name)}
    if not chosen:
        names = ", ".join(f"@{name}" for name in known) or "none"
        raise UsageError(f"expected a kernel of the file ({names}), found {flags.kernel or 'none'}")
    numbers: tuple[Numbers, ...] = tuple(flags.numbers or ("integers", "normal"))
    status = 0
    for done, kernel in enumerate(chosen.values()):
        try:
            seconds = max(0, start + flags.seconds - time.process_time()) / (len(chosen) - done)
            said = str(kernel.check(numbers=numbers, seconds=seconds, seed=flags.seed))
        except CheckError as error:
            change = error.change.splitlines()
            rest = [f"... and {len(change) - _MOST_LINES} lines more"] if len(change) > _MOST_LINES else []
            said, status = "\n".join([f"error: {error}", *change[:_MOST_LINES], *rest]), 1
        write_output("-", f"{flags.input}: {said}\n")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tirx-check`. Returns the exit code."""
    try:
        given = _parser().parse_args(arguments)
        if not (given.seconds >= 0 and given.seed >= 0):
            raise UsageError(f"expected --seconds and --seed of 0 or more, found {given.seconds} and {given.seed}")
        return _check(given)
    except (UsageError, FileError, DiagnosticException, OptionError, TargetError) as error:
        print(error if isinstance(error, LocatedError) else f"error: {error}", file=sys.stderr)
        return 1
    except InvalidPassOutputError as error:
        print(f"internal error: {error}\nThis is a bug in {error.culprit}.", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(commands.tirx_check())
