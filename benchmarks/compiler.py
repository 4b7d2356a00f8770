"""
Speed of the compiler: `python benchmarks/compiler.py [warm] [examples] [python] [process] [scaling] [--help]`.

- warm: CPU time to compile `examples/tcgen05_gemm.mlir` again in the same process, beside that of building and
  verifying 1,000 `arith.addi` with xDSL (in a process without tirx, which makes classes of xDSL faster: `addi` prints
  the seconds), and of Triton and CuTe DSL compiling the same product, if they are installed:
  `pip install -e '.[benchmarks]'`. None of them needs a GPU. The kernel of CuTe DSL has one stage of shared memory, so
  that tirx compiles the product with one, too. CuTe DSL goes on to a cubin where tirx stops at PTX; Triton runs `ptxas`
  as a process of its own, whose time is not counted. A second table has three kernels beside Triton and TileLang (`pip
  install tilelang`), by `benchmarks/compiler_peers.py`.
- examples: the same of ten examples, beside that of the 1,000 `arith.addi`, and calls of Python functions, of which
  there are as many on a machine that does other work.
- python: the same examples from text and from `examples/python`, in turns; tracing is part of the latter.
- process: whole processes beside the stock `xdsl-opt -p canonicalize` on a function of three lines: `tirx-opt` on a
  kernel of three lines and on that GEMM, `tirx.compile` of it, and `tirx.build` that finds it in a cache on disk.
- scaling: time and memory of programs of 40 shapes (`benchmarks/compiler_shapes.py`), doubled in size from 0.3 s to
  `--until` seconds, warm. The exponent is the slope of a line through them, in logarithms: 1 is linear. Each point is
  measured in a process of its own, `--jobs` shapes at a time; `--shapes` names some of them. `--calls` counts calls of
  Python functions, too, which other work on the machine does not change. `--points FILE.json` keeps what was measured,
  to be drawn elsewhere by `--plot`.

Times are CPU times, the best of several repeats where the task is short; look at the ratios, which come from one run.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from time import process_time

from compiler_peers import KERNELS, peers, text_of
from compiler_products import SHAPES
from compiler_scaling import calls_of, child_environment, scaling

ROOT = Path(__file__).resolve().parents[1]
GEMM = ROOT / "examples" / "tcgen05_gemm.mlir"
GOAL = {"addi": 1.3, "CuTe DSL": 0.25}


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


def addi_seconds() -> float:
    """CPU seconds of that, in a process that has not imported tirx: it makes classes of xDSL faster."""
    command = [sys.executable, __file__, "addi"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=child_environment()).stdout)


def other_compilers() -> dict[str, float | str]:
    """The CPU times of Triton and CuTe DSL, or why there is none."""
    times: dict[str, float | str] = {}
    for name, package, file in (("Triton", "triton", "gemm_triton"), ("CuTe DSL", "cutlass", "gemm_cute")):
        if importlib.util.find_spec(package) is None:
            times[name] = "not installed"
            continue
        (times[name],) = best(importlib.import_module(file).compile_gemm, repeats=5)
    return times


def children_seconds(task: Callable[[], object]) -> float:
    """The least CPU time of the processes that a task starts and waits for."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        task()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    run()
    return min(run() for _ in range(7))


def warm() -> None:
    """Tables of one product beside all compilers, and of three kernels beside two."""
    warm_product()
    warm_kernels()


def one_stage() -> str:
    """The product as `gemm_cute.py` computes it: one stage of shared memory, filled by TMA."""
    text = GEMM.read_text()
    for tile in ("%sa", "%sb"):
        text = text.replace(f", {tile} : ", f", {tile} engine tma : ")
    return text


def warm_product() -> None:
    """A table with one row a rival: its time, and those of tirx over it, as pipelined and with one stage, to PTX and to
    a cubin.
    """
    import tirx
    from tirx.ptx.ptxas import assemble, find_ptxas

    text, other = GEMM.read_text(), one_stage()
    ours = best(lambda: tirx.compile(text), lambda: tirx.compile(other, options="stages=1 roles=none"))
    if find_ptxas() is not None:
        for made in (str(tirx.compile(text)), str(tirx.compile(other, options="stages=1 roles=none"))):
            ours.append(ours[len(ours) - 2] + children_seconds(lambda made=made: assemble(made, "sm_100a")))
    names = ["pipelined", "one stage by TMA", "pipelined, with `ptxas`", "one stage by TMA, with `ptxas`"][: len(ours)]
    print(f"\n| warm, CPU time | | {' | '.join(f'{name} / it' for name in names)} | goal |")
    print(f"|---|{'---:|' * (len(ours) + 1)}---|")
    for name, time in zip(names, ours, strict=True):
        print(f"| tirx: {GEMM.name}, {name} | {time * 1e3:.1f} ms |{' |' * (len(ours) + 1)}")
    rows = {"xDSL: 1,000 arith.addi built and verified": (addi_seconds(), GOAL["addi"])}
    rows |= {f"{name}: the same product": (time, GOAL.get(name)) for name, time in other_compilers().items()}
    for name, (time, goal) in rows.items():
        if isinstance(time, str):
            print(f"| {name} | {time} |{' |' * (len(ours) + 1)}")
        else:
            ratios = [each / time for each in ours]
            verdict = "" if goal is None else f"to PTX {goal}: {'met' if max(ratios[:2]) <= goal else 'missed'}"
            print(f"| {name} | {time * 1e3:.1f} ms | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} | {verdict} |")


def warm_kernels() -> None:
    """A table with one row a kernel: the time of tirx, and of each other compiler with the ratio of the two."""
    import tirx

    print(f"\n| warm, CPU time | tirx | {' | '.join(f'{name} | tirx / it' for name in peers('softmax'))} |")
    print("|---|---:|" + "---:|---:|" * len(peers("softmax")))
    for kernel in KERNELS:
        text, others = text_of(kernel), peers(kernel)
        there = [task for task in others.values() if task is not None]
        ours, *times = best(lambda text=text: tirx.compile(text), *there, repeats=5)
        left = iter(times)
        cells = [
            "not installed | " if task is None else f"{(time := next(left)) * 1e3:.0f} ms | {ours / time:.2f}"
            for task in others.values()
        ]
        print(f"| {kernel} | {ours * 1e3:.0f} ms | {' | '.join(cells)} |", flush=True)


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


def examples() -> None:
    """A table with one row an example."""
    import tirx

    print("\n| warm | CPU time | / 1,000 addi | goal | calls |")
    print("|---|---:|---:|---|---:|")
    for name, before in EXAMPLES.items():
        text = (ROOT / "examples" / f"{name}.mlir").read_text()
        (time,), addi = best(lambda text=text: tirx.compile(text), repeats=5), addi_seconds()
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


def process_seconds(command: Sequence[str]) -> float:
    """The least CPU time of a process."""
    return children_seconds(
        lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=child_environment())
    )


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


def growth(arguments: argparse.Namespace) -> None:
    """A table with one row a shape, and a plot of all if a file is named for it."""
    curves = scaling(arguments.shapes, arguments.until, arguments.jobs, arguments.calls, arguments.points)
    if arguments.plot is not None:
        from compiler_plot import draw

        draw(curves, arguments.plot)


def main() -> None:
    """Runs the parts that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="warm, examples, python, process, scaling (default: all)"
    )
    parser.add_argument(
        "--until", type=float, default=4.0, metavar="SECONDS", help="how long the largest programs of the scaling take"
    )
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=[*SHAPES], help="shapes of the scaling")
    parser.add_argument("--calls", action="store_true", help="count calls of Python functions, too")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="shapes that are measured at a time")
    parser.add_argument(
        "--points", type=Path, metavar="FILE.json", help="read the points from a file, or write them if it is not there"
    )
    parser.add_argument("--plot", metavar="FILE.png", help="draw the scaling (needs matplotlib)")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "warm": warm,
        "examples": examples,
        "python": python,
        "process": process,
        "addi": lambda: print(best(build_and_verify_addi)[0]),
        "scaling": lambda: growth(arguments),
    }
    if unknown := set(arguments.parts) - parts.keys():
        parser.error(f"expected parts out of {', '.join(parts)}, found {', '.join(sorted(unknown))}")
    for name in arguments.parts or [part for part in parts if part != "addi"]:
        parts[name]()


if __name__ == "__main__":
    main()
