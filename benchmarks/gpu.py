"""
How fast kernels are on this machine's GPU: `python benchmarks/gpu.py [CASE ...] [--sizes 4096,8192] [--json FILE]
[--shapes] [--plot FILE.png] [--rounds N] [--profile] [--tune] [--list]`.

The kernels are the files of `examples/`, scaled to the sizes. Each is compared with cuBLAS (what torch calls) first; a
wrong result is a failure, however fast. Then all kernels of a size, their peers in cuBLAS and the probes of the tensor
cores' limits run in turn, round by round, with a pause before each: without pauses the GPU reaches its power limit and
everything slows down. The table has medians over the rounds; `x cuBLAS` is the median of the ratios of each round.
`--profile` runs Nsight Compute (ncu) on each kernel, where it is installed, and prints what holds it up. `--tune`
searches for the options of the pipeline with which a kernel is fastest.

Needs torch with CUDA and `pip install 'tirx[cuda]'`; the plot needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_probes import LOOPS, OUT_BYTES, Probe, all_probes

import tirx
from tirx.diagnostics import LocatedError
from tirx.runtime import GpuError, Kernel
from tirx.runtime.driver import device
from tirx.runtime.tune import tune

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PAUSE = (0.03, 0.15)
"""Seconds before each measurement, drawn anew each time."""
BURST = 4e-3
"""Seconds that the launches of one measurement take at most, if one launch does not take longer."""
SHORT = 1e-4
"""Seconds of a launch below which `REPLAYED` launches are replayed as a graph."""
REPLAYED = 20


@dataclass(frozen=True)
class Case:
    """
    A product D = A B^T in `examples/file`. `a` and `d` are torch dtypes, `tolerance` is the largest error, relative to
    the largest element of D, `limit` the probe whose speed bounds the kernel's. `options` are those of the pipeline.
    `replace` are texts of the file to replace besides shapes, grid and the bound of the loop over K; `{m}`, `{n}` and
    `{k}` in them are the sizes.
    """

    name: str
    file: str
    a: str
    d: str
    tolerance: float
    limit: str
    target: str | None = None
    options: str = ""
    replace: tuple[tuple[str, str], ...] = ()


PIPELINE = "pipeline=on"
"""Options of the pipeline that let copies, products and stores overlap."""

_TILES_OF_K = {"f16": 64, "bf16": 64, "e4m3": 128, "tf32": 32, "s8": 128}
"""Elements of 128 bytes, which tiles of A and B have along K."""


def _wgmma(kind: str, a: str, d: str, tolerance: float, replace: Sequence[tuple[str, str]], options: str) -> Case:
    """An example for wgmma in another type: with results in f32 (i32) in registers, or rounded to 16 bits."""
    k = _TILES_OF_K[kind]
    rounds = d in ("float16", "bfloat16")
    file, element = ("wgmma_f16_out_gemm.mlir", "!in") if rounds else ("wgmma_gemm.mlir", "f16")
    tiles = [(f"{rows}x64x{element}", f"{rows}x{k}x{element}") for rows in (128, 256)]
    tiles += [("step %c64", f"step %c{k}"), _constant(k)]
    changes = (*(tiles if k != 64 else ()), *replace)
    name = f"{kind} wgmma{', pipeline' if options else ''}"
    return Case(name, file, a, d, tolerance, f"wgmma m64n256k{k // 4}.{kind}", options=options, replace=changes)


def _staged(name: str, file: str, a: str, limit: str, options: str, target: str = "sm_90a") -> Case:
    """A product by mma.sync whose operands are staged in shared memory."""
    d, tolerance = ("float64", 1e-12) if a == "float64" else ("float32", 2e-3)
    return Case(name + (", pipeline" if options else ""), file, a, d, tolerance, limit, target, options)


def _constant(k: int) -> tuple[str, str]:
    line = "  %c128 = arith.constant 128 : index\n"
    return line, line if k == 128 else f"{line}  %c{k} = arith.constant {k} : index\n"


_BF16 = (("!in = f16", "!in = bf16"), ("!out = f16", "!out = bf16"))
"""What makes a product in bf16 of one in f16."""

_S32 = (("xf16", "xsi8"), ("xf32", "xi32"), (": f32", ": i32"), ("constant 0.0", "constant 0"))
"""What makes a product of signed bytes of one in f16."""

CASES = (
    Case("f64 m8n8k4", "mma_m8n8k4_f64_gemm.mlir", "float64", "float64", 1e-12, "m8n8k4.f64", "sm_90"),
    Case("f16 registers", "mma_m8n8k4_f16_gemm.mlir", "float16", "float32", 2e-3, "m16n8k16.f16", "sm_90"),
    *(
        case
        for options in ("", PIPELINE)
        for case in (
            _staged("f64 m8n8k4 staged", "mma_m8n8k4_f64_staged_gemm.mlir", "float64", "m8n8k4.f64", options),
            _staged("f64 m16n8k8", "mma_m16n8k8_f64_gemm.mlir", "float64", "m16n8k8.f64", options),
        )
    ),
    _staged("f16 m16n8k16", "mma_m16n8k16_f16_gemm.mlir", "float16", "m16n8k16.f16", "", "sm_80"),
    _staged("f16 m16n8k16", "mma_m16n8k16_f16_gemm.mlir", "float16", "m16n8k16.f16", PIPELINE, "sm_80"),
    _staged("f16 m16n8k16 TMA", "mma_m16n8k16_f16_gemm.mlir", "float16", "m16n8k16.f16", PIPELINE),
    *(
        case
        for options in ("", PIPELINE)
        for case in (
            _wgmma("f16", "float16", "float16", 2e-3, (), options),
            _wgmma("bf16", "bfloat16", "bfloat16", 8e-3, _BF16, options),
            _wgmma("e4m3", "float8_e4m3fn", "bfloat16", 8e-3, (("!in = f16", "!in = f8E4M3FN"), _BF16[1]), options),
            _wgmma("tf32", "float32", "float32", 2e-3, (("xf16", "xtf32"),), options),
            _wgmma("s8", "int8", "int32", 0.0, _S32, options),
        )
    ),
)
"""Every kernel that is measured. A case whose file does not exist is left out."""

Size = tuple[int, int, int]

SHAPES = ("4000x4104x1000", "512x8192x8192", "128x4096x16384", "512", "1000x777x200")
"""M x N x K that are no large squares: edges, few rows, long sums, small ones."""


# Kernels of any size


def scaled(text: str, size: Size, replace: Sequence[tuple[str, str]]) -> str:
    """
    The program of a kernel of arguments %a (M x K), %b (N x K) and %d (M x N) for another size.

    Its grid counts tiles of N along x and of M along y, and its loop over K has the variable %k. Where tiles do not
    divide the sizes, views are clipped.
    """
    m, n, k = size
    shapes = {"a": (m, k), "b": (n, k), "d": (m, n)}
    found = {name: re.search(rf"%{name}: memref<(\d+)x(\d+)x", text) for name in shapes}
    grid = re.search(r"grid\((\d+), (\d+)\)", text)
    loop = re.search(r"(scf\.for %k = %\w+ to )%\w+( step)", text)
    if grid is None or loop is None or any(match is None for match in found.values()):
        raise ValueError("expected a product of %a, %b and %d with a grid (N, M) and a loop over %k")
    rows, columns = (int(found["d"][i]) // int(grid[3 - i]) for i in (1, 2))  # of a tile  # pyright: ignore
    for name, (height, width) in shapes.items():
        text = re.sub(rf"(%{name}(?:\[[^\]]*\] :|:) memref<)\d+x\d+x", rf"\g<1>{height}x{width}x", text)
    text = text.replace(grid[0], f"grid({-(-n // columns)}, {-(-m // rows)})")
    text = text.replace(loop[0], f"{loop[1]}%benchmark_k{loop[2]}")
    text = re.sub(r"(threads\(\d+\).*\{\n)", rf"\g<1>  %benchmark_k = arith.constant {k} : index\n", text, count=1)
    for old, new in replace:
        if old not in text:
            raise ValueError(f"expected {old!r} in the program")
        text = text.replace(old, new.format(m=m, n=n, k=k))
    step = re.search(r"scf\.for %k = .* step %(\w+)", text)
    depth = None if step is None else re.search(rf"%{step[1]} = arith\.constant (\d+)", text)
    if depth is None:
        raise ValueError("expected a loop over %k whose step is a constant")
    if m % rows or n % columns or k % int(depth[1]):
        text = re.sub(r"(tirx\.view %\w+\[[^\]]*\]) :", r"\g<1> clipped :", text)
    return text


def program_of(case: Case, size: Size) -> str:
    """The text of a case for a size."""
    return scaled((EXAMPLES / case.file).read_text(), size, case.replace)


def built(case: Case, size: Size) -> Kernel:
    """The kernel of a case for a size."""
    return next(iter(tirx.build(program_of(case, size), case.target, case.options).kernels.values()))


# What runs on the GPU


@dataclass(frozen=True)
class Variant:
    """Something that is measured: `run` launches it once, which takes `flops` operations."""

    name: str
    flops: float
    run: Callable[[], object]


def operands(torch: Any, case: Case, size: Size) -> tuple[Any, Any, Any]:
    """Random A and B, and an array for D."""
    m, n, k = size
    generator = torch.Generator(device="cuda").manual_seed(0)
    dtype = getattr(torch, case.a)

    def random_matrix(rows: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-128, 128, (rows, k), generator=generator, device="cuda", dtype=dtype)
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        return torch.randn(rows, k, generator=generator, device="cuda", dtype=wide).to(dtype)

    return random_matrix(m), random_matrix(n), torch.zeros(m, n, device="cuda", dtype=getattr(torch, case.d))


def peer(torch: Any, case: Case, a: Any, b: Any) -> Callable[[], Any]:
    """What torch calls cuBLAS with for the same product. Sums of f16 and bf16 are returned in these types."""
    if case.a == "int8":
        return lambda: torch._int_mm(a, b.T)
    if case.a.startswith("float8"):
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    if case.a == "float32":
        torch.backends.cuda.matmul.allow_tf32 = True
    return lambda: torch.matmul(a, b.T)


def error_of(torch: Any, found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest element; infinity if a number is missing."""
    wide = torch.float64
    if not bool(torch.isfinite(found.to(wide)).all()):
        return float("inf")
    worst = 0.0
    for first in range(0, found.shape[0], 1024):  # the whole difference may not fit into memory
        rows = slice(first, first + 1024)
        worst = max(worst, float((found[rows].to(wide) - expected[rows].to(wide)).abs().max()))
    return worst / float(expected.abs().max().to(wide))


def seconds_of(torch: Any, run: Callable[[], object], repeats: int) -> float:
    """Seconds of one launch, from `repeats` launches between two events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def replayed(torch: Any, run: Callable[[], object], launches: int) -> Callable[[], object]:
    """A graph of so many launches: without it, short kernels would wait for the host."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            run()
    return graph.replay


def measure(torch: Any, variants: Sequence[Variant], rounds: int) -> dict[str, list[float]]:
    """Seconds of each variant in each round."""
    ready: dict[str, tuple[Callable[[], object], int, int]] = {}  # what is called, how often, launches in each
    for variant in variants:
        variant.run()
        seconds = seconds_of(torch, variant.run, 1)
        launches = 1 if seconds > SHORT else REPLAYED
        run = variant.run if launches == 1 else replayed(torch, variant.run, launches)
        ready[variant.name] = run, max(1, min(50, int(BURST / (seconds * launches)))), launches
    found: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for _ in range(rounds):
        for name, (run, repeats, launches) in ready.items():
            torch.cuda.synchronize()
            time.sleep(random.uniform(*PAUSE))
            found[name].append(seconds_of(torch, run, repeats) / launches)
    return found


def probe_variant(torch: Any, probe: Probe) -> Variant:
    """A probe, on all multiprocessors."""
    out = torch.zeros(OUT_BYTES, device="cuda", dtype=torch.uint8)
    return Variant(probe.name, probe.flops(device(0).sm_count), lambda: probe.kernel(out, LOOPS))


# Results


@dataclass(frozen=True)
class Row:
    """What is reported of a case at one size; `limit` and `share` (of it) are None if it was not measured."""

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
    m, n, k = size
    flops = 2.0 * m * n * k
    probes = all_probes()
    variants: dict[str, Variant] = {}
    errors: dict[str, float] = {}
    measured: list[Case] = []
    for case in cases:
        a, b, d = operands(torch, case, size)
        matmul = peer(torch, case, a, b)
        try:
            kernel = built(case, size)
            kernel(a, b, d)
        except (LocatedError, GpuError) as error:
            print(f"{case.name}: {error}")
            continue
        errors[case.name] = error_of(torch, d, matmul())
        measured.append(case)
        variants[case.name] = Variant(case.name, flops, lambda k=kernel, arrays=(a, b, d): k(*arrays))
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
    """What Nsight Compute says about a kernel: how busy its units are, and in its own words what holds it up."""
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


def launch_only(torch: Any, cases: Sequence[Case], sizes: Sequence[Size]) -> None:
    """Launches each kernel twice, for a profiler."""
    for case in cases:
        for size in sizes:
            kernel, arrays = built(case, size), operands(torch, case, size)
            for _ in range(2):
                kernel(*arrays)
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
    m, n, k = numbers
    return m, n, k


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flag = parser.add_argument
    flag("cases", nargs="*", metavar="CASE", help="names of kernels, or parts of them (default: all)")
    flag("--sizes", type=lambda text: [_size(each) for each in text.split(",")], default=[_size("4096"), _size("8192")])
    flag("--shapes", action="store_true", help=f"measure other shapes: {', '.join(SHAPES)}")
    flag("--rounds", type=int, default=7)
    flag("--json", metavar="FILE")
    flag("--plot", metavar="FILE.png")
    flag("--profile", action="store_true")
    flag("--tune", action="store_true", help="search for the best options of the pipeline, instead of measuring")
    flag("--launch-only", action="store_true", help=argparse.SUPPRESS)
    flag("--list", action="store_true", help="print the names of the kernels")
    args = parser.parse_args()
    cases = [case for case in CASES if (EXAMPLES / case.file).is_file()]
    exact = {case.name for case in cases} >= set(args.cases)
    cases = [c for c in cases if not args.cases or any(n == c.name if exact else n in c.name for n in args.cases)]
    if args.list:
        print("\n".join(case.name for case in cases))
        return 0
    if args.shapes:
        args.sizes = [_size(shape) for shape in SHAPES]
    import torch

    if args.launch_only:
        launch_only(torch, cases, args.sizes)
        return 0
    if args.tune:
        for case in cases:
            for size in args.sizes:
                search(torch, case, size, args.rounds)
        return 0
    title = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(title)
    rows: list[Row] = []
    raw: dict[str, dict[str, list[float]]] = {}
    for size in args.sizes:
        found, seconds = run_size(torch, cases, size, args.rounds)
        rows += found
        raw["x".join(map(str, size))] = seconds
        print(table(found), flush=True)
    costs = launch_costs(torch, args.rounds)
    print("launch of an empty kernel, us: " + ", ".join(f"{name} {cost:.2f}" for name, cost in costs.items()))
    if args.json is not None:
        data = {"device": title, "rows": [vars(row) for row in rows], "seconds": raw, "launch_us": costs}
        Path(args.json).write_text(json.dumps(data, indent=1) + "\n")
    if args.plot is not None:
        plot(rows, args.plot, title)
    if args.profile:
        for case in cases:
            for size in args.sizes:
                try:
                    print(f"\n{case.name}, {'x'.join(map(str, size))}\n{profile(case, size)}", flush=True)
                except LocatedError as error:
                    print(f"{case.name}: {error}")
    return 0 if all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
