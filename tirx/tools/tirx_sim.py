"""`tirx-sim`: runs a kernel of a PTX file on the CPU, with arrays from .npy files.

Exit code 0 is success and 1 an error in the kernel or on the command line; no file but a timeline is written then.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tirx.dialects.formula import FormulaError
from tirx.dialects.schedule_names import Schedule
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.launch import Launch, read_launches
from tirx.runtime.simulation import simulate
from tirx.sim import Dump, Observers, Profile, SimError, SimWarning, Timeline, Trace, entries, run
from tirx.sim.trace import DUMPED_STATES, DumpedState
from tirx.tools import commands
from tirx.tools.files import FileError, check_place, close_output, read_input, write_file, write_output
from tirx.tools.process import ArgumentParser, UsageError
from tirx.values import dataclass

_Array = npt.NDArray[Any]

# The names of types in `--out file:type:shape`: those of PTX. Types that NumPy lacks are kept as their bit patterns.
_TYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"{letter}{bits}": np.dtype(f"u{bits // 8}") for letter in "ub" for bits in (8, 16, 32, 64)},
    "bf16": np.dtype(np.uint16),
    "e4m3": np.dtype(np.uint8),
    "e5m2": np.dtype(np.uint8),
}

_MOST_DIGITS = 20  # of an extent
_EPILOG = """\
The kernel's parameters are the --arg and --out options, in their order on the command line:

  --arg a.npy             a pointer to the array in this file; what the kernel writes to it is dropped
  --arg 5, --arg 1.5      a number; negative ones as --arg=-5
  --out d.npy             a pointer to the array in this file, which is written back after the run
  --out d.npy:f32:64x32   a pointer to a new array of zeros, which is written to the file after the run

Arrays are row-major. bf16, fp8 and packed types are arrays of uint16 or uint8 with their bit patterns. A file that is
given several times is one array, as when a kernel gets the same pointer twice.

What tirx-opt has compiled is launched as its launch descriptor says: grid, block, cluster, shared memory, tensor maps.
Parameters are then the arguments of the program's kernel.

  tirx-opt --lower-to-ptx examples/tcgen05_gemm.mlir -o gemm.ptx --launch gemm.json
  tirx-sim gemm.ptx --launch gemm.json --arg a.npy --arg b.npy --out d.npy:f32:512x1024 --profile

PTX of other compilers needs these values on the command line:

  tirx-sim kernel.ptx --grid 4,4 --block 128 --dynamic-shared 65536 --arg a.npy --out d.npy:f32:512x1024
"""


@dataclass(frozen=True)
class SimFlags:
    """The flags of one run of `tirx-sim`; `parameters` are (is it --out, its text)."""

    input_path: str
    entry: str | None
    launch: str | None
    grid: tuple[int, ...] | None
    block: tuple[int, ...]
    cluster: tuple[int, ...]
    parameters: tuple[tuple[bool, str], ...]
    dynamic_shared: int
    seed: int | None
    check: Literal["hardware", "strict"] | bool
    arithmetic: Literal["hardware", "exact", "modular"]
    max_instructions: int | None
    jobs: int
    trace: bool
    trace_values: bool
    trace_threads: range | None
    trace_lines: range | None
    dump: tuple[tuple[int, DumpedState], ...]
    profile: bool
    timeline: tuple[str, ...]


def _dimensions(text: str) -> tuple[int, ...]:
    values = tuple(int(part) if part.strip().isdecimal() else 0 for part in text.split(","))
    if len(values) > 3 or 0 in values:
        raise argparse.ArgumentTypeError(f"expected one to three positive numbers, as 4 or 4,2,1, found '{text}'")
    return values


def _bytes(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of bytes, found '{text}'")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, found '{text}'")
    return int(text)


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()) or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"expected a number or a range, as 5 or 0-31, found '{text}'")
    return range(int(first), int(last or first) + 1)


def _dump(text: str) -> tuple[int, DumpedState]:
    line, _, what = text.partition(":")
    states: dict[str, DumpedState] = {state: state for state in DUMPED_STATES}
    if not line.isdecimal() or what not in states:
        raise argparse.ArgumentTypeError(f"expected LINE:{' or LINE:'.join(DUMPED_STATES)}, found '{text}'")
    return int(line), states[what]


def _parser() -> ArgumentParser:
    what = "Run a kernel of a PTX file on the CPU, and check its synchronisation."
    parser = ArgumentParser("tirx-sim", what, _EPILOG)
    parser.add_argument("input", help="the PTX file, or - for standard input")
    parser.add_argument("--entry", help="the kernel; not needed if the module has only one")
    parser.add_argument("--launch", metavar="FILE", help="launch descriptors, which 'tirx-opt --launch FILE' writes")
    parser.add_argument(
        "--grid", type=_dimensions, metavar="X[,Y[,Z]]", help="CTAs (default: 1, or what --launch says)"
    )
    parser.add_argument(
        "--block", type=_dimensions, metavar="X[,Y[,Z]]", help="threads of a CTA; needed without --launch"
    )
    parser.add_argument("--cluster", type=_dimensions, metavar="X[,Y[,Z]]", help="CTAs of a cluster (default: 1)")
    for name, is_output, text in (
        ("--arg", False, "the next parameter: a number, or a .npy file"),
        ("--out", True, "the next parameter: an array to write after the run"),
    ):
        parser.add_argument(
            name,
            dest="parameters",
            action="append",
            default=[],
            type=lambda value, is_output=is_output: (is_output, value),
            metavar="VALUE" if not is_output else "FILE[:TYPE:SHAPE]",
            help=text,
        )
    parser.add_argument("--dynamic-shared", type=_bytes, metavar="BYTES", help="dynamic shared memory")
    parser.add_argument("--seed", type=int, help="interleave the warps at random, reproducibly")
    parser.add_argument(
        "--check",
        choices=("hardware", "strict"),
        default="hardware",
        help="data races, missing fences and reads of what was never written are errors: those that go wrong on a GPU "
        "(default; the others are warnings), or all that the letter of the PTX ISA forbids",
    )
    parser.add_argument("--no-check", dest="check", action="store_false", help="report none of them")
    parser.add_argument(
        "--arithmetic",
        choices=("hardware", "exact", "modular"),
        default="hardware",
        help="sums of tensor cores: as the hardware computes them (default), or exact and rounded once; modular: all "
        "floats are residues modulo a prime",
    )
    parser.add_argument(
        "--max-instructions", type=_count, metavar="COUNT", help="end with an error after so many warp instructions"
    )
    parser.add_argument("--jobs", type=_count, default=1, metavar="COUNT", help="run blocks in so many processes")
    parser.add_argument("--trace", action="store_true", help="print every instruction that a warp executes")
    parser.add_argument("--trace-values", action="store_true", help="with the registers that it reads and writes")
    parser.add_argument("--trace-threads", type=_range, metavar="T[-T]", help="trace these threads of a block only")
    parser.add_argument("--trace-lines", type=_range, metavar="L[-L]", help="trace these lines only")
    parser.add_argument(
        "--dump",
        type=_dump,
        action="append",
        default=[],
        metavar="LINE:WHAT",
        help=f"print {', '.join(DUMPED_STATES)} when a warp first comes to a line",
    )
    parser.add_argument("--profile", action="store_true", help="print counts of instructions, bytes and conflicts")
    parser.add_argument(
        "--timeline",
        action="append",
        default=[],
        metavar="FILE",
        help="write what warps, copies, products and slots of rings do, step by step: a page (.html), or a trace for "
        "Perfetto (.json); without checks",
    )
    return parser


def parse_flags(argv: Sequence[str]) -> SimFlags:
    """Reads the command line. Raises UsageError."""
    found = _parser().parse_args(argv)
    for path in found.timeline:
        if not path.endswith((".html", ".json")):
            raise UsageError(f"--timeline: expected a file called .html or .json, found '{path}'")
    if found.timeline and found.check == "strict":
        raise UsageError("expected no --check with --timeline, which runs without checks; found both")
    if found.launch is None and found.block is None:
        raise UsageError("expected --block, or --launch with the launch descriptors of 'tirx-opt --launch'")
    for name in ("block", "cluster", "dynamic_shared"):
        if found.launch is not None and getattr(found, name) is not None:
            raise UsageError(f"expected no --{name.replace('_', '-')} with --launch, which says it; found both")
    is_traced = found.trace or found.trace_values
    given: dict[str, Any] = vars(found) | {
        "block": found.block or (),
        "cluster": found.cluster or (1,),
        "parameters": tuple(found.parameters),
        "dynamic_shared": found.dynamic_shared or 0,
        "check": found.check if not found.timeline else False,
        "trace": is_traced or found.trace_threads is not None or found.trace_lines is not None,
        "dump": tuple(found.dump),
        "timeline": tuple(found.timeline),
    }
    return SimFlags(given.pop("input"), **given)


class _Parameters:
    """The arguments of the launch; `outputs` are the arrays to write, by file."""

    def __init__(self, parameters: Sequence[tuple[bool, str]]):
        self.arguments: list[_Array | int | float] = []
        self.outputs: dict[str, _Array] = {}
        self._arrays: dict[str, _Array] = {}
        for is_output, text in parameters:
            self.arguments.append(self._output(text) if is_output else self._argument(text))

    def _argument(self, text: str) -> _Array | int | float:
        if text.endswith(".npy"):
            return self._array(text)
        for convert in (lambda: int(text, 0), lambda: float(text)):
            try:
                return convert()
            except ValueError:
                continue
        raise UsageError(f"--arg: expected a number or a .npy file, found '{text}'")

    def _output(self, text: str) -> _Array:
        if text.endswith(".npy"):
            path, array = text, self._array(text)
        else:
            path, array = _new_array(text)
            if path in self._arrays:
                raise UsageError(f"--out: '{path}' is given already, and cannot be a new array")
            self._arrays[path] = array
        check_place(path)
        self.outputs[path] = array
        return array

    def _array(self, path: str) -> _Array:
        found = self._arrays.get(path)
        if found is None:
            found = self._arrays[path] = _read_array(path)
        return found


def _read_array(path: str) -> _Array:
    data = read_input(path)
    if not data.startswith(np.lib.format.MAGIC_PREFIX):
        raise FileError(f"cannot read '{path}': it is not a .npy file")
    try:
        with np.errstate(all="ignore"):  # of the product of sizes that are no sizes
            array: _Array = np.load(io.BytesIO(data), allow_pickle=False)
    except (
        ValueError,
        EOFError,
        SyntaxError,
        TokenError,
        RecursionError,
        MemoryError,
        OverflowError,
        Warning,
        SystemError,  # of CPython, where a warning about the header is an error
    ) as error:
        raise FileError(f"cannot read '{path}': it is not a .npy file of numbers") from error
    return np.array(array, order="C", ndmin=1)


def _new_array(text: str) -> tuple[str, _Array]:
    path, *rest = text.rsplit(":", 2)
    if len(rest) != 2 or not path.endswith(".npy"):
        raise UsageError(f"--out: expected file.npy or file.npy:type:shape, found '{text}'")
    dtype = _TYPES.get(rest[0])
    if dtype is None:
        raise UsageError(f"--out: expected a type of {', '.join(_TYPES)}, found '{rest[0]}'")
    parts = rest[1].split("x")
    shape = [int(part) if part.isdecimal() and len(part) <= _MOST_DIGITS else 0 for part in parts]
    if 0 in shape:
        raise UsageError(f"--out: expected a shape as 128x64, found '{rest[1][:80]}'")
    try:
        return path, np.zeros(shape, dtype)
    except (ValueError, MemoryError) as error:
        raise UsageError(f"--out: an array of shape {rest[1]} is too large") from error


def _entry(text: str, wanted: str | None) -> str:
    if wanted is not None:
        return wanted
    names = entries(text)
    if len(names) != 1:
        raise UsageError(f"expected --entry with a name of {', '.join(names)}" if names else "the module has no entry")
    return names[0]


def _read_launch(path: str, entry: str) -> Launch:
    try:
        launches = {launch.entry: launch for launch in read_launches(read_input(path).decode())}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise FileError(f"cannot read '{path}': it has no launch descriptors of 'tirx-opt --launch'") from error
    if entry not in launches:
        raise UsageError(f"--launch: expected a descriptor of {entry}, found those of {', '.join(launches) or 'none'}")
    return launches[entry]


def _progress_line() -> Callable[[int, int], None] | None:
    """Shows progress on a terminal; None where there is none."""
    if not sys.stderr.isatty():
        return None

    start = time.monotonic()

    def show(ended: int, total: int) -> None:
        # The cursor goes back to the start of the line, where an error message may follow.
        end = "\n" if ended == total else "\r"
        left = (time.monotonic() - start) * (total - ended) / ended if ended else 0.0
        shown = f", {left:.0f} s left" if ended < total else "          "
        print(f"{ended} of {total} CTAs{shown}", end=end, file=sys.stderr, flush=True)

    return show


def _run(flags: SimFlags) -> None:
    for path in flags.timeline:
        check_place(path)
    try:
        text = read_input(flags.input_path).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read '{flags.input_path}': it is not text in UTF-8") from error
    parameters = _Parameters(flags.parameters)
    profile, trace = Profile() if flags.profile else None, None
    if flags.trace:
        trace = Trace(sys.stdout, values=flags.trace_values, threads=flags.trace_threads, lines=flags.trace_lines)
    dumps = [Dump(sys.stdout, line, what) for line, what in flags.dump]
    entry = _entry(text, flags.entry)
    launch = None if flags.launch is None else _read_launch(flags.launch, entry)
    timeline = None
    if flags.timeline:
        from tirx.tools.timeline_page import named_timeline

        timeline = named_timeline(Schedule() if launch is None else launch.schedule)
    watching = [each for each in (profile, trace, timeline, *dumps) if each is not None]

    def report(warning: SimWarning) -> None:
        print(_show(flags.input_path, warning, "warning"), file=sys.stderr)

    options: dict[str, Any] = {
        "seed": flags.seed,
        "check": flags.check,
        "arithmetic": flags.arithmetic,
        "max_instructions": flags.max_instructions,
        "jobs": flags.jobs,
        "observer": Observers(*watching) if watching else None,
        "progress": _progress_line(),
        "report": report,
    }
    try:
        if launch is not None:
            simulate(text, launch, parameters.arguments, grid=flags.grid, **options)
        else:
            run(
                text,
                entry,
                flags.grid or (1,),
                flags.block,
                parameters.arguments,
                flags.dynamic_shared,
                flags.cluster,
                **options,
            )
    finally:
        if trace is not None:
            trace.finish()
        if timeline is not None:
            _write_timeline(timeline, flags, entry)
    for path, array in parameters.outputs.items():
        content = io.BytesIO()
        np.save(content, array)
        write_file(path, content.getvalue())
    if profile is not None:
        write_output("-", profile.table())


def _write_timeline(timeline: Timeline, flags: SimFlags, entry: str) -> None:
    from tirx.tools.timeline_page import timeline_html, timeline_trace

    timeline.finish()
    title = f"{entry} ({'<stdin>' if flags.input_path == '-' else Path(flags.input_path).name})"
    for path in flags.timeline:
        text = timeline_html(timeline, title) if path.endswith(".html") else timeline_trace(timeline)
        write_output(path, text)


def _show(path: str, error: SimError | SimWarning, severity: str = "error") -> str:
    name = "<stdin>" if path == "-" else path
    if error.line is None:
        return f"{severity}: {error}"
    source = f"of {error.source}" if isinstance(error, SimError) and error.source else ""
    lines = (error.text, source, f"in {error.where}" if error.where else "")
    rest = "".join(f"\n    {line}" for line in lines if line)
    return f"{name}:{error.line}: {severity}: {error.message}{rest}"


def main(argv: Sequence[str]) -> int:
    """Runs `tirx-sim` with the arguments `argv`, without its name, and returns its exit code."""
    flags = None
    try:
        flags = parse_flags(argv)
        _run(flags)
        sys.stdout.flush()  # of the trace
    except SimError as error:
        print(_show(flags.input_path if flags else "", error), file=sys.stderr)
        return 1
    except (UsageError, FileError, ArgumentError, FormulaError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # by the command
    except OSError as error:  # of the trace; files have errors of their own
        close_output()
        print(f"error: cannot write standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(commands.tirx_sim())
