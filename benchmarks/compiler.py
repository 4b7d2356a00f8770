"""
How fast the compiler is: `python benchmarks/compiler.py [warm] [examples] [python] [process] [scaling] [--help]`.

- warm: CPU time to compile `examples/tcgen05_gemm.mlir` again in the same process, beside that of building and
  verifying 1,000 `arith.addi` with xDSL, and of Triton and CuTe DSL compiling the same product, if they are installed:
  `pip install -e '.[benchmarks]'`. None of them needs a GPU. CuTe DSL goes on to a cubin where tirx stops at PTX;
  Triton runs `ptxas` as a process of its own, whose time is not counted.
- examples: the same of ten examples, beside that of the 1,000 `arith.addi`, and calls of Python functions, of which
  there are as many on a machine that does other work.
- python: the same examples from text and from `examples/python`, in turns; tracing is part of the latter.
- process: whole processes beside the stock `xdsl-opt -p canonicalize` on a function of three lines: `tirx-opt` on a
  kernel of three lines and on that GEMM, `tirx.compile` of it, and `tirx.build` that finds it in a cache on disk.
- scaling: time and memory of 10 to 10,000 tile operations in programs of five shapes. The exponent is the slope of a
  line through the sizes from 100 on, in logarithms: 1 is linear. Each point is measured in a process of its own,
  `--jobs` shapes at a time. `--points FILE.json` keeps what was measured, to be drawn elsewhere by `--plot`.

Times are CPU times, the best of several repeats where the task is short; look at the ratios, which come from one run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from io import StringIO
from math import log
from pathlib import Path
from runpy import run_path
from time import process_time

ROOT = Path(__file__).resolve().parents[1]
GEMM = ROOT / "examples" / "tcgen05_gemm.mlir"
SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
FITTED_FROM = 100
LIMIT_SECONDS = 180
"""CPU time; a shape whose point takes longer is not measured at larger sizes."""
GOAL = {"addi": 1.3, "CuTe DSL": 0.25, "exponent": 1.15}


# Programs of `size` tile operations.

HEAD = """
tirx.kernel @k{name}(%a: memref<32xf32>, %b: memref<32xf32>) target("sm_90") threads(32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = tirx.view %a[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
  %y = tirx.view %b[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
  %s = tirx.alloc : !tirx.tile<32xf32, shared>
"""
LOAD = "tirx.copy %x, %s : !tirx.tile<32xf32, global>, !tirx.tile<32xf32, shared>\n"
STORE = "tirx.copy %s, %y : !tirx.tile<32xf32, shared>, !tirx.tile<32xf32, global>\n"
TAIL = "tirx.return\n}\n"
LOOP = "scf.for %i{name} = %c0 to %c4 step %c1 {{\n"


def kernels(size: int) -> str:
    """Kernels of two copies each."""
    return "".join(HEAD.format(name=i) + LOAD + STORE + TAIL for i in range(size // 2))


def straight_line(size: int) -> str:
    """Copies one after the other."""
    return HEAD.format(name=0) + (LOAD + STORE) * (size // 2) + TAIL


def sibling_loops(size: int) -> str:
    """Loops of two copies one after the other."""
    loops = (LOOP.format(name=i) + LOAD + STORE + "}\n" for i in range(size // 2))
    return HEAD.format(name=0) + "".join(loops) + TAIL


def nested_loops(size: int) -> str:
    """Loops inside of loops, at most 100 deep, with one copy at each level; as many nests as it takes."""
    depth = min(size, 100)
    nest = "".join(LOOP.format(name=i) + (LOAD if i % 2 == 0 else STORE) for i in range(depth)) + "}\n" * depth
    return HEAD.format(name=0) + nest * (size // depth) + TAIL


PRODUCTS = """
!operand = !tirx.tile<128x16xf16, shared>
!column = !tirx.tile<16x16xf16, shared>
!sum = !tirx.tile<128x16xf32, tensor>
tirx.kernel @products(%a: memref<128x16xf16>, %b: memref<16x16xf16>, %d: memref<128x16xf32>)
    target("sm_100a") threads(128) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !operand
  %sb = tirx.alloc : !column
  %acc = tirx.alloc : !sum
  %ga = tirx.view %a[%c0, %c0] : memref<128x16xf16> -> !tirx.tile<128x16xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<16x16xf16> -> !tirx.tile<16x16xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<128x16xf32> -> !tirx.tile<128x16xf32, global>
  tirx.copy %ga, %sa : !tirx.tile<128x16xf16, global>, !operand
  tirx.copy %gb, %sb : !tirx.tile<16x16xf16, global>, !column
  tirx.fill %acc, %zero : f32, !sum
  {body}
  tirx.copy %acc, %gd : !sum, !tirx.tile<128x16xf32, global>
  tirx.return
}}
"""


def products(size: int) -> str:
    """Products into one accumulator, one after the other."""
    return PRODUCTS.format(body="tirx.mma %sa, %sb, %acc : !operand, !column, !sum\n" * size)


SHAPES: dict[str, Callable[[int], str]] = {
    "kernels": kernels,
    "straight line": straight_line,
    "sibling loops": sibling_loops,
    "nested loops": nested_loops,
    "products": products,
}


# One point of the scaling, in a process of its own.


def compile_steps(text: str) -> dict[str, float]:
    """Compiles to PTX; the CPU time of every step in seconds, those of the same name added up."""
    from tirx.passes import lower_to_ptx_passes
    from tirx.ptx.printer import PtxTarget
    from tirx.text.collector import paused_collector
    from tirx.text.parsing import parse_located
    from tirx.text.verification import verify_located
    from tirx.universe import new_context

    times: dict[str, float] = {}

    def timed(name: str, step: Callable[[], object]) -> None:
        start = process_time()
        step()
        times[name] = times.get(name, 0.0) + process_time() - start

    with paused_collector():
        context = new_context()
        start = process_time()
        module = parse_located(context, text)
        times["parse"] = process_time() - start
        timed("verify", lambda: verify_located(module))
        for module_pass in lower_to_ptx_passes().passes:
            timed(module_pass.name, lambda module_pass=module_pass: module_pass.apply(context, module))
        timed("verify", lambda: verify_located(module))
        timed("print", lambda: PtxTarget().emit(context, module, StringIO()))
    return times


@dataclass(frozen=True)
class Point:
    """CPU seconds of every step, and peak memory in MiB beyond that of a tiny program."""

    size: int
    steps: dict[str, float]
    memory: float

    @property
    def seconds(self) -> float:
        return sum(self.steps.values())


def peak_memory() -> float:
    """The largest resident size of this process so far, in MiB. What `getrusage` says includes the parent's."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def measure_point(shape: str, size: int) -> None:
    """Prints one point as JSON."""
    text = SHAPES[shape](size)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    compile_steps(SHAPES[shape](10))
    before = peak_memory()
    steps = compile_steps(text)
    print(json.dumps({"size": size, "steps": steps, "memory": peak_memory() - before}))


def run_point(shape: str, size: int) -> Point | str:
    """The point, or why there is none."""
    command = [sys.executable, __file__, "--point", shape, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment())
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"more than {LIMIT_SECONDS} s"
    if done.returncode != 0:
        return done.stderr.strip().rpartition("\n")[2][:100] or f"exit code {done.returncode}"
    return Point(**json.loads(done.stdout))


def exponent(points: Sequence[Point], of: Callable[[Point], float]) -> float | None:
    """The slope of a line through log(size), log(of(point)); None if there are not two points with a positive value."""
    pairs = [(log(p.size), log(of(p))) for p in points if p.size >= FITTED_FROM and of(p) > 0]
    if len(pairs) < 2:
        return None
    x, y = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, _ in pairs)


def worst_step(points: Sequence[Point]) -> str:
    """The step with the largest exponent among those that take 5 % of the largest program's time."""
    last = points[-1]
    steps = [name for name, seconds in last.steps.items() if seconds >= 0.05 * last.seconds]
    slopes = {name: exponent(points, lambda p, name=name: p.steps.get(name, 0.0)) or 0.0 for name in steps}
    worst = max(slopes, key=lambda name: slopes[name])
    return f"{worst} ({slopes[worst]:.2f}, {last.steps[worst] / last.seconds:.0%} of the time)"


@dataclass(frozen=True)
class Curve:
    """The points of a shape, and why there are no larger ones; empty if there are."""

    points: list[Point]
    why: str = ""


def run_shape(shape: str, largest: int) -> Curve:
    """All points of a shape, one after the other, up to the first that takes too long."""
    points: list[Point] = []
    for size in (size for size in SIZES if size <= largest):
        point = run_point(shape, size)
        if isinstance(point, str):
            return Curve(points, f"; {size}: {point}")
        points.append(point)
    return Curve(points)


def measured(largest: int, jobs: int, kept: Path | None) -> dict[str, Curve]:
    """The points of all shapes: those in the file `kept`, if there is one, or those that are measured now."""
    if kept is not None and kept.exists():
        read = json.loads(kept.read_text())
        return {shape: Curve([Point(**each) for each in one["points"]], one["why"]) for shape, one in read.items()}
    with ThreadPoolExecutor(jobs) as pool:  # of threads that wait for processes
        curves = dict(zip(SHAPES, pool.map(lambda shape: run_shape(shape, largest), SHAPES), strict=True))
    if kept is not None:
        kept.write_text(json.dumps({shape: asdict(curve) for shape, curve in curves.items()}, indent=1) + "\n")
    return curves


def scaling(largest: int, jobs: int, kept: Path | None, plot: str | None) -> None:
    """A table with one row a shape, and a plot of all points if `plot` names a file."""
    print(f"\n| shape | largest size | time | exponent | memory | exponent | steepest step | goal {GOAL['exponent']} |")
    print("|---|---:|---:|---:|---:|---:|---|---|")
    curves = measured(largest, jobs, kept)
    for shape, curve in curves.items():
        points, why = curve.points, curve.why
        if not points:
            print(f"| {shape} | {why} |", flush=True)
            continue
        last = points[-1]
        time, memory = exponent(points, lambda p: p.seconds), exponent(points, lambda p: p.memory)
        met = time is not None and time <= GOAL["exponent"] and (memory or 0.0) <= GOAL["exponent"] and not why
        slopes = ["-" if value is None else f"{value:.2f}" for value in (time, memory)]
        print(
            f"| {shape} | {last.size}{why} | {last.seconds:.2f} s | {slopes[0]} | {last.memory:.0f} MiB | {slopes[1]} "
            f"| {worst_step(points)} | {'met' if met else 'missed'} |",
            flush=True,
        )
    if plot is not None:
        draw({shape: curve.points for shape, curve in curves.items()}, plot)


def draw(curves: dict[str, list[Point]], path: str) -> None:
    """Writes a PNG of time and memory over the size, both axes logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axis, title, of in (
        (axes[0], "CPU time (s)", lambda p: p.seconds),
        (axes[1], "memory (MiB)", lambda p: p.memory),
    ):
        for shape, points in curves.items():
            axis.loglog([p.size for p in points], [max(of(p), 1e-3) for p in points], "o-", label=shape)
        axis.set(title=title, xlabel="tile operations")
        axis.grid(which="both", alpha=0.3)
    axes[0].legend()
    figure.savefig(path, dpi=120)


# Warm compilations.


def best(*tasks: Callable[[], object], repeats: int = 9) -> list[float]:
    """
    The least CPU time of one call of each task, after one that does not count. They take turns, so that what else the
    machine does meets all of them.
    """
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats + 1):
        for task, measured in zip(tasks, times, strict=True):
            start = process_time()
            task()
            measured.append(process_time() - start)
    return [min(measured[1:]) for measured in times]


def build_and_verify_addi() -> None:
    """1,000 `arith.addi` with xDSL, as everybody writes it."""
    from xdsl.dialects.arith import AddiOp, ConstantOp
    from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
    from xdsl.ir import Operation

    ops: list[Operation] = [ConstantOp(IntegerAttr(1, i32))]
    for _ in range(1000):
        ops.append(AddiOp(ops[-1], ops[-1]))
    ModuleOp(ops).verify()


def other_compilers() -> dict[str, float | str]:
    """The CPU times of Triton and CuTe DSL, or why there is none."""
    times: dict[str, float | str] = {}
    for name, package, file in (("Triton", "triton", "gemm_triton"), ("CuTe DSL", "cutlass", "gemm_cute")):
        if importlib.util.find_spec(package) is None:
            times[name] = "not installed"
            continue
        sys.path.insert(0, str(Path(__file__).parent))
        (times[name],) = best(importlib.import_module(file).compile_gemm, repeats=5)
    return times


def warm() -> None:
    """A table with one row a rival: its time, and those of tirx over it, pipelined and sequential."""
    import tirx

    text = GEMM.read_text()
    pipelined, sequential, addi_time = best(
        lambda: tirx.compile(text), lambda: tirx.compile(text, options="pipeline=off"), build_and_verify_addi
    )
    print("\n| warm, CPU time | | pipelined tirx / it | sequential tirx / it | goal |")
    print("|---|---:|---:|---:|---|")
    print(f"| tirx: {GEMM.name} to PTX, pipelined | {pipelined * 1e3:.1f} ms | | | |")
    print(f"| tirx: the same with pipeline=off | {sequential * 1e3:.1f} ms | | | |")
    rows = {"xDSL: 1,000 arith.addi built and verified": (addi_time, GOAL["addi"])}
    rows |= {f"{name}: the same product": (time, GOAL.get(name)) for name, time in other_compilers().items()}
    for name, (time, goal) in rows.items():
        if isinstance(time, str):
            print(f"| {name} | {time} | | | |")
        else:
            ratios = [each / time for each in (pipelined, sequential)]
            verdict = "" if goal is None else f"at most {goal}: {'met' if max(ratios) <= goal else 'missed'}"
            print(f"| {name} | {time * 1e3:.1f} ms | {ratios[0]:.2f} | {ratios[1]:.2f} | {verdict} |")


EXAMPLES = {
    "tcgen05_gemm": 1.24,
    "wgmma_gemm": 1.89,
    "mma_m16n8k16_f16_gemm": 3.60,
    "flash_attention": 18.5,
    "tcgen05_attention": 13.9,
    "grouped_gemm": 3.95,
    "softmax": 0.90,
    "norms": 2.09,
    "wgmma_ring_gemm": 1.87,
    "tcgen05_2cta_ring_gemm": 1.60,
}
"""Examples -> their CPU time in that of 1,000 `arith.addi`, of which 0.6 is the goal."""


def calls_of(task: Callable[[], object]) -> int:
    """The number of Python functions that a task calls; generators count each time they go on."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        task()
    finally:
        sys.setprofile(None)
    return calls


def examples() -> None:
    """A table with one row an example."""
    import tirx

    print("\n| warm | CPU time | / 1,000 addi | goal | calls |")
    print("|---|---:|---:|---|---:|")
    for name, before in EXAMPLES.items():
        text = (ROOT / "examples" / f"{name}.mlir").read_text()
        time, addi = best(lambda text=text: tirx.compile(text), build_and_verify_addi, repeats=5)
        verdict = f"at most {0.6 * before:.2f}: {'met' if time <= 0.6 * before * addi else 'missed'}"
        calls = calls_of(lambda text=text: tirx.compile(text))
        print(f"| {name} | {time * 1e3:.0f} ms | {time / addi:.2f} | {verdict} | {calls:,} |", flush=True)


def python() -> None:
    """A table with one row an example; softmax, which has no types of its own in Python, is left out."""
    import tirx

    print("\n| warm | from text | from Python | ratio | calls | at most 1.1 |")
    print("|---|---:|---:|---:|---:|---|")
    for name in [each for each in EXAMPLES if each != "softmax"]:
        text = (ROOT / "examples" / f"{name}.mlir").read_text()
        names = run_path(str(ROOT / "examples" / "python" / f"{name}.py"))
        kernels = [each for each in names.values() if isinstance(each, tirx.Kernel)]

        def from_text(text: str = text) -> str:
            return tirx.compile(text)

        def from_python(kernels: Sequence[tirx.Kernel] = kernels) -> str:
            return tirx.compile(tirx.builder.module(*kernels))

        first, second = best(from_text, from_python, repeats=5)
        calls = calls_of(from_python) / calls_of(from_text)
        figures = f"{first * 1e3:.0f} ms | {second * 1e3:.0f} ms | {second / first:.2f} | {calls:.2f}"
        print(f"| {name} | {figures} | {'met' if second <= 1.1 * first else 'missed'} |", flush=True)


# Whole processes.


def child_environment() -> dict[str, str]:
    """The environment of this process, in which Python keeps bytecode, as installed programs do, and finds tirx."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    prefix = str(Path(tempfile.gettempdir()) / "tirx-benchmark-bytecode")
    paths = [str(ROOT), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return environment | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONPYCACHEPREFIX": prefix}


def process_seconds(command: Sequence[str]) -> float:
    """The least CPU time of a process."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=child_environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    run()
    return min(run() for _ in range(7))


def process() -> None:
    """A table with one row a command."""
    with tempfile.TemporaryDirectory() as directory:
        function, kernel = Path(directory, "function.mlir"), Path(directory, "kernel.mlir")
        function.write_text("func.func @f() {\n  func.return\n}\n")
        kernel.write_text('tirx.kernel @f() target("sm_90") threads(32) {\n  tirx.return\n}\n')
        stock = process_seconds([sys.executable, "-m", "xdsl.tools.xdsl_opt", "-p", "canonicalize", str(function)])
        print("\n| whole process, CPU time | | / xdsl-opt | goal |")
        print("|---|---:|---:|---|")
        print(f"| xdsl-opt -p canonicalize, a function of three lines | {stock * 1e3:.0f} ms | 1.00 | |")
        tirx_opt = "import sys; from tirx.tools.commands import tirx_opt; sys.exit(tirx_opt())"
        read = "import sys, tirx, pathlib; text = pathlib.Path(sys.argv[1]).read_text(); "
        for name, goal, code, *arguments in (
            ("tirx-opt -p canonicalize, the same", 1.3, tirx_opt, "-p", "canonicalize", function),
            ("tirx-opt --lower-to-ptx, a kernel of three lines", 1.3, tirx_opt, "--lower-to-ptx", kernel),
            (f"tirx-opt --lower-to-ptx, {GEMM.name}", 1.9, tirx_opt, "--lower-to-ptx", GEMM),
            (f"tirx.compile, {GEMM.name}", 2.0, f"{read}tirx.compile(text)", GEMM),
            (
                "tirx.build, from a cache",
                0.3,
                f"{read}tirx.build(text, cache_directory=sys.argv[2]).kernels",
                GEMM,
                directory,
            ),
            ("tirx-opt, from a cache", 0.3, tirx_opt, "--lower-to-ptx", "--cache-directory", directory, GEMM),
        ):
            time = process_seconds([sys.executable, "-c", code, *map(str, arguments)])
            verdict = "met" if time <= goal * stock else "missed"
            print(f"| {name} | {time * 1e3:.0f} ms | {time / stock:.2f} | at most {goal}: {verdict} |")


def main() -> None:
    """Runs the parts that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="warm, examples, python, process, scaling (default: all)"
    )
    parser.add_argument(
        "--largest", type=int, default=SIZES[-1], metavar="N", help="the largest program of the scaling"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="shapes that are measured at a time")
    parser.add_argument(
        "--points", type=Path, metavar="FILE.json", help="read the points from a file, or write them if it is not there"
    )
    parser.add_argument("--plot", metavar="FILE.png", help="draw the scaling (needs matplotlib)")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.point is not None:
        measure_point(arguments.point[0], int(arguments.point[1]))
        return
    parts: dict[str, Callable[[], None]] = {
        "warm": warm,
        "examples": examples,
        "python": python,
        "process": process,
        "scaling": lambda: scaling(arguments.largest, arguments.jobs, arguments.points, arguments.plot),
    }
    if unknown := set(arguments.parts) - parts.keys():
        parser.error(f"expected parts out of {', '.join(parts)}, found {', '.join(sorted(unknown))}")
    for name in arguments.parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
