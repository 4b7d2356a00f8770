"""
Speed of kernels on this machine's GPU: `python benchmarks/gpu.py [CASE ...] [--sizes 4096,8192] [--json FILE]
[--shapes] [--plot FILE.png] [--rounds N] [--profile] [--tune] [--list]`.

Attention, softmax, norms and transposes (`gpu_programs.py`) are compared with torch: with the fastest backend of
scaled_dot_product_attention, and with a copy in the same rounds. So are, by name, those of `gpu_gallery.py`
(`python benchmarks/gpu.py gallery`). Of all others:

The kernels are the files of `examples/`, scaled to the sizes. Each is compared with cuBLAS (what torch calls) first; a
wrong result is a failure, however fast. Then all kernels of a size, their peers in cuBLAS and the probes of the tensor
cores' limits run in turn, round by round, with a pause and an untimed launch before each: without pauses the GPU
reaches its power limit and everything slows down. The table has medians over the rounds; `x cuBLAS` is the median of
the ratios of each round.
`--profile` runs Nsight Compute (ncu) on each kernel, where it is installed, and prints what holds it up. `--tune`
searches for the options of the pipeline with which a kernel is fastest.

Needs torch with CUDA and `pip install 'tirx-compiler[cuda]'`; the plot needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_cases import CASES, Case, Size, built, fitting, program, program_of
from gpu_gallery import GALLERY
from gpu_measure import Variant, error_of, measure, operands, peer
from gpu_probes import LOOPS, OUT_BYTES, Probe, all_probes
from gpu_programs import PROGRAMS, Program

import tirx
from tirx.diagnostics import LocatedError
from tirx.runtime import ArgumentError, GpuError, Kernel
from tirx.runtime.driver import device
from tirx.runtime.launch import PointerArgument
from tirx.runtime.tune import tune

# What runs on the GPU


def launches(torch: Any, case: Case, size: Size, arrays: tuple[Any, Any, Any]) -> Callable[[], object]:
    """
    Launches the kernels of a case one after the other. An argument that is none of %a, %b and %d is a workspace, which
    is zero before the first launch.
    """
    known = dict(zip("abd", arrays, strict=True))
    calls: list[tuple[Kernel, list[Any]]] = []
    for kernel in program(case, size).kernels.values():
        for argument in kernel.launch.passed:
            if argument.name not in known and isinstance(argument, PointerArgument):
                dtype = getattr(torch, _WORKSPACES[argument.element])
                known[argument.name] = torch.zeros(*argument.shape, device="cuda", dtype=dtype)
        calls.append((kernel, [known[argument.name] for argument in kernel.launch.passed]))
    if len(calls) == 1:
        kernel, given = calls[0]
        return lambda: kernel(*given)

    def run() -> None:
        for kernel, given in calls:
            kernel(*given)

    return run


_WORKSPACES = {"f32": "float32", "f64": "float64", "s32": "int32"}
"""Element types of workspaces -> those of torch."""


def probe_variant(torch: Any, probe: Probe) -> Variant:
    """A probe, on all multiprocessors."""
    out = torch.zeros(OUT_BYTES, device="cuda", dtype=torch.uint8)
    return Variant(probe.name, probe.flops(device(0).sm_count), lambda: probe.kernel(out, LOOPS))


# Results


@dataclass(frozen=True)
class Row:
    """Line of the report about a case at one size; `limit` and `share` (of it) are None if it was not measured."""

    case: str
    size: Size
    seconds: float
    tflops: float
    peer_tflops: float
    ratio: float
    limit: float | None
    share: float | None
    error: float
    tolerance: float

    @property
    def is_right(self) -> bool:
        return self.error <= self.tolerance


def run_size(torch: Any, cases: Sequence[Case], size: Size, rounds: int) -> tuple[list[Row], dict[str, list[float]]]:
    """Compares and measures all cases at one size. Returns the rows, and the seconds of each variant and round."""
    flops = 2.0 * math.prod(size)
    probes = all_probes()
    variants: dict[str, Variant] = {}
    errors: dict[str, float] = {}
    measured: list[Case] = []
    for case in cases:
        a, b, d = operands(torch, case, size)
        matmul = peer(torch, case, a, b)
        try:
            run = launches(torch, case, size, (a, b, d))
            run()
        except (LocatedError, GpuError, ArgumentError) as error:
            print(f"{case.name}: {error}")
            continue
        errors[case.name] = error_of(torch, d, matmul())
        measured.append(case)
        variants[case.name] = Variant(case.name, flops, run)
        variants[f"cuBLAS {case.a}"] = Variant(f"cuBLAS {case.a}", flops, matmul)
        if case.limit not in variants:
            variants[case.limit] = probe_variant(torch, probes[case.limit])
    seconds = measure(torch, list(variants.values()), rounds)
    rows: list[Row] = []
    for case in measured:
        mine, theirs, limit = seconds[case.name], seconds[f"cuBLAS {case.a}"], variants[case.limit]
        median = statistics.median(mine)
        bound = limit.flops / statistics.median(seconds[case.limit])
        rows.append(
            Row(
                case.name,
                size,
                median,
                flops / median / 1e12,
                flops / statistics.median(theirs) / 1e12,
                statistics.median(t / m for t, m in zip(theirs, mine, strict=True)),
                bound / 1e12,
                flops / median / bound,
                errors[case.name],
                case.tolerance,
            )
        )
    return rows, seconds


@dataclass(frozen=True)
class ProgramRow:
    """
    Line of the report about a program: rates in its unit, of it and of its fastest peer in torch. `of_copy` is its rate
    relative to that of a copy in the same rounds, None where that says nothing.
    """

    program: str
    size: str
    seconds: float
    unit: str
    rate: float
    peer: str
    peer_rate: float
    ratio: float
    of_copy: float | None
    error: float
    tolerance: float

    @property
    def is_right(self) -> bool:
        return self.error <= self.tolerance


def run_program(torch: Any, what: Program, rounds: int) -> tuple[ProgramRow, dict[str, list[float]]]:
    """Compares and measures a program with its peers. Returns its row, and the seconds of each in each round."""
    arrays, expected, peers = what.make(torch)
    kernel = what.built()
    kernel(*arrays)
    error = error_of(torch, arrays[what.result][: len(expected)], expected)
    runs: dict[str, Callable[[], object]] = {what.name: lambda: kernel(*arrays), **peers}
    seconds = measure(torch, [Variant(name, what.amount, run) for name, run in runs.items()], rounds)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    peer = min((name for name in peers if name != "copy"), key=medians.__getitem__)
    scale = what.amount / (1e12 if what.unit == "TFLOP/s" else 1e9)

    def ratio(other: str) -> float:
        return statistics.median(t / m for t, m in zip(seconds[other], seconds[what.name], strict=True))

    row = ProgramRow(
        what.name,
        what.size,
        medians[what.name],
        what.unit,
        scale / medians[what.name],
        peer,
        scale / medians[peer],
        ratio(peer),
        ratio("copy") if "copy" in peers else None,
        error,
        what.tolerance,
    )
    return row, seconds


def program_table(rows: Sequence[ProgramRow]) -> str:
    """The rows as text."""
    head = ("program", "size", "ms", "rate", "unit", "peer", "its rate", "x peer", "x copy", "error")
    body = [
        (
            row.program,
            row.size,
            f"{row.seconds * 1e3:.3f}",
            f"{row.rate:.0f}",
            row.unit,
            row.peer,
            f"{row.peer_rate:.0f}",
            f"{row.ratio:.3f}",
            "" if row.of_copy is None else f"{row.of_copy:.3f}",
            f"{row.error:.1e}" + ("" if row.is_right else " WRONG"),
        )
        for row in rows
    ]
    return aligned(head, body)


def launch_costs(torch: Any, rounds: int) -> dict[str, float]:
    """Microseconds of the host for a launch of an empty kernel with three tensors, and of Triton's if it is there."""
    text = """
        tirx.kernel @empty(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %d: memref<8x8xf32>) target("sm_80")
            grid(1) threads(32) {
          tirx.return
        }
    """
    kernel = tirx.build(text).kernels["empty"]
    arrays = [torch.zeros(8, 8, device="cuda") for _ in range(3)]
    launches: dict[str, Callable[[], object]] = {"tirx": lambda: kernel(*arrays)}
    try:
        from gpu_triton import empty
    except ImportError:
        pass
    else:
        launches["Triton"] = lambda: empty[(1,)](*arrays)
    costs: dict[str, list[float]] = {name: [] for name in launches}
    for _ in range(2 * rounds):
        for name, launch in launches.items():
            launch()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                launch()
            costs[name].append((time.perf_counter() - start) / 200 * 1e6)
            torch.cuda.synchronize()
    return {name: statistics.median(each) for name, each in costs.items()}


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    if not rows:
        return "nothing was measured"
    head = ("kernel", "M x N x K", "ms", "TFLOP/s", "cuBLAS", "x cuBLAS", "limit", "of limit", "error")
    body = [
        (
            row.case,
            "x".join(map(str, row.size)),
            f"{row.seconds * 1e3:.3f}",
            f"{row.tflops:.1f}",
            f"{row.peer_tflops:.1f}",
            f"{row.ratio:.3f}",
            "" if row.limit is None else f"{row.limit:.1f}",
            "" if row.share is None else f"{row.share:.1%}",
            f"{row.error:.1e}" + ("" if row.is_right else " WRONG"),
        )
        for row in rows
    ]
    return aligned(head, body)


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table in columns."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (head, *body)
    )


def plot(rows: Sequence[Row], path: str, title: str) -> None:
    """Bars of TFLOP/s next to those of cuBLAS, with the limit of the instruction as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.6 * len(rows)))
    places = range(len(rows))
    axes.barh([i - 0.2 for i in places], [row.tflops for row in rows], 0.38, label="tirx")
    axes.barh([i + 0.2 for i in places], [row.peer_tflops for row in rows], 0.38, label="cuBLAS")
    limits = [(i, row.limit) for i, row in enumerate(rows) if row.limit is not None]
    axes.vlines(
        [x for _, x in limits], [i - 0.42 for i, _ in limits], [i + 0.42 for i, _ in limits], "black", label="limit"
    )
    for i, row in enumerate(rows):
        axes.text(row.tflops, i - 0.2, f" {row.ratio:.2f} x", va="center")
    axes.set_yticks(list(places), [f"{row.case}, {'x'.join(map(str, row.size))}" for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("TFLOP/s")
    axes.set_title(title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


# Why a kernel is not faster

_SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "WarpStateStats", "MemoryWorkloadAnalysis", "Occupancy")
_FIGURES = (
    "Duration",
    "SM Frequency",
    "Compute (SM) Throughput",
    "Memory Throughput",
    "L1/TEX Cache Throughput",
    "L2 Cache Throughput",
    "DRAM Throughput",
    "Warp Cycles Per Issued Instruction",
    "Achieved Occupancy",
)


def profile(case: Case, size: Size) -> str:
    """Runs Nsight Compute on a kernel: how busy its units are, and in its own words what holds it up."""
    ncu = shutil.which("ncu")
    if ncu is None:
        return "ncu is not installed"
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    options = ["--csv", "--page", "details", "--clock-control", "none", "--launch-skip", "1", "--launch-count", "1"]
    command = [ncu, *sections, *options, "-k", f"regex:^{built(case, size).launch.entry}$"]
    once = [sys.executable, __file__, case.name, "--sizes", "x".join(map(str, size)), "--launch-only"]
    done = subprocess.run([*command, *once], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return f"ncu failed with exit code {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    found = list(csv.DictReader(lines[start:]))
    figures = {
        row["Metric Name"]: f"{row['Metric Name']}: {row['Metric Value']} {row['Metric Unit']}"
        for row in found
        if row["Metric Name"] in _FIGURES
    }
    sentences = [(_gain(row), row["Rule Description"]) for row in found if row.get("Rule Description")]
    sentences.sort(key=lambda each: -each[0])
    return "\n".join([*figures.values(), *(f"- ({gain:.0f} %) {text}" for gain, text in sentences[:4])])


def _gain(row: dict[str, str]) -> float:
    """The speed-up in percent that ncu expects of a remedy."""
    try:
        return float(row.get("Estimated Speedup") or 0)
    except ValueError:
        return 0.0


def launch_only(torch: Any, work: Sequence[tuple[Case, Size]]) -> None:
    """Launches each kernel twice, for a profiler."""
    for case, size in work:
        run = launches(torch, case, size, operands(torch, case, size))
        for _ in range(2):
            run()
        torch.cuda.synchronize()


def search(torch: Any, case: Case, size: Size, rounds: int) -> None:
    """Searches for the best options of the pipeline, and says what was tried."""
    print(f"\n{case.name}, {'x'.join(map(str, size))}")
    arrays, text = operands(torch, case, size), program_of(case, size)
    tuned = tune(text, arrays, target=case.target, rounds=rounds, report=lambda trial: print(trial, flush=True))
    print(f"best: {tuned.best}")


def _size(text: str) -> Size:
    numbers = [int(part) for part in text.split("x")]
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) not in (3, 4):
        raise argparse.ArgumentTypeError(f"expected N, MxNxK or BATCHxMxNxK, found {text}")
    return tuple(numbers)


SQUARES: tuple[Size, ...] = ((4096,) * 3, (8192,) * 3)
"""The sizes of the kernels that are for no size of their own."""


def planned(cases: Sequence[Case], sizes: Sequence[Size] | None, shapes: bool) -> list[tuple[Case, Size]]:
    """The cases with the sizes that are measured: those that are asked for, or squares and the sizes of `SHAPES`."""
    if sizes is not None and not shapes:
        return fitting(cases, sizes)
    squares = [] if shapes else fitting([case for case in cases if not case.only], SQUARES)
    return squares + [(case, size) for case in cases for size in case.only]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flag = parser.add_argument
    flag("cases", nargs="*", metavar="CASE", help="names of kernels, or parts of them (default: all)")
    flag("--sizes", type=lambda text: [_size(each) for each in text.split(",")], help="(default: 4096,8192 and shapes)")
    flag("--shapes", action="store_true", help="only kernels for one shape each, which is no large square")
    flag("--rounds", type=int, default=7)
    flag("--json", metavar="FILE")
    flag("--plot", metavar="FILE.png")
    flag("--profile", action="store_true")
    flag("--tune", action="store_true", help="search for the best options of the pipeline, instead of measuring")
    flag("--launch-only", action="store_true", help=argparse.SUPPRESS)
    flag("--list", action="store_true", help="print the names of the kernels")
    args = parser.parse_args()
    cases = CASES
    exact = {case.name for case in cases} >= set(args.cases)
    cases = [c for c in cases if not args.cases or any(n == c.name if exact else n in c.name for n in args.cases)]
    programs = [p for p in PROGRAMS if not args.cases or any(name in p.name for name in args.cases)]
    programs += [p for p in GALLERY if any(p.name.startswith(name) for name in args.cases)]
    if args.list:
        print("\n".join([*(case.name for case in cases), *dict.fromkeys(p.name for p in programs)]))
        return 0
    work = planned(cases, args.sizes, args.shapes)
    import torch

    if args.launch_only:
        launch_only(torch, work)
        return 0
    if args.tune:
        for case, size in work:
            search(torch, case, size, args.rounds)
        return 0
    title = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(title)
    rows: list[Row] = []
    raw: dict[str, dict[str, list[float]]] = {}
    for size in dict.fromkeys(size for _, size in work):
        found, seconds = run_size(torch, [case for case, its in work if its == size], size, args.rounds)
        rows += found
        raw["x".join(map(str, size))] = seconds
        print(table(found), flush=True)
    others: list[ProgramRow] = []
    for each in programs:
        try:
            row, raw[f"{each.name}, {each.size}"] = run_program(torch, each, args.rounds)
        except (LocatedError, GpuError, ArgumentError) as error:
            print(f"{each.name}: {error}")
            continue
        others.append(row)
        torch.cuda.empty_cache()
    if others:
        print(program_table(others), flush=True)
    costs = launch_costs(torch, args.rounds)
    print("launch of an empty kernel, us: " + ", ".join(f"{name} {cost:.2f}" for name, cost in costs.items()))
    if args.json is not None:
        data = {
            "device": title,
            "rows": [vars(row) for row in rows],
            "programs": [vars(row) for row in others],
            "seconds": raw,
            "launch_us": costs,
        }
        Path(args.json).write_text(json.dumps(data, indent=1) + "\n")
    if args.plot is not None:
        plot(rows, args.plot, title)
    if args.profile:
        for case, size in work:
            try:
                print(f"\n{case.name}, {'x'.join(map(str, size))}\n{profile(case, size)}", flush=True)
            except LocatedError as error:
                print(f"{case.name}: {error}")
    return 0 if all(row.is_right for row in (*rows, *others)) else 1


if __name__ == "__main__":
    sys.exit(main())
