"""
Growth of time and memory of a compilation with the program: `python benchmarks/compiler.py scaling`.

Each point is measured in a process of its own, after a compilation of a small program of the same shape, so that
neither imports nor tables that are filled once count. Sizes are doubled from the first that takes 0.3 s on.
"""

from __future__ import annotations

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
from functools import partial
from io import StringIO
from math import log, log2
from pathlib import Path
from time import process_time

from compiler_products import SHAPES

ROOT = Path(__file__).resolve().parents[1]
SMALLEST = 4
FITTED_SECONDS = 0.3
"""Points that take less are not part of the fit: what does not grow is too much of them."""
FITTED_MEMORY = 4.0
"""The same of memory, in MiB."""
LIMIT_SECONDS = 180
"""CPU time; a shape whose point takes longer is not measured at larger sizes."""
GOAL = 1.15


# One point, in a process of its own.


def compile_steps(text: str, timed: Callable[[str, Callable[[], object]], None]) -> None:
    """Compiles to PTX, each step of it as `timed(name, step)`."""
    from xdsl.dialects.builtin import ModuleOp

    from tirx.passes import lower_to_ptx_passes
    from tirx.ptx.printer import PtxTarget
    from tirx.text.collector import paused_collector
    from tirx.text.parsing import parse_located
    from tirx.text.verification import verify_located
    from tirx.universe import new_context

    with paused_collector():
        context = new_context()
        modules: list[ModuleOp] = []
        timed("parse", lambda: modules.append(parse_located(context, text)))
        (module,) = modules
        timed("verify", lambda: verify_located(module))
        for module_pass in lower_to_ptx_passes().passes:
            timed(module_pass.name, partial(module_pass.apply, context, module))
        timed("verify", lambda: verify_located(module))
        timed("print", lambda: PtxTarget().emit(context, module, StringIO()))


@dataclass(frozen=True)
class Point:
    """CPU seconds of every step, peak memory in MiB beyond that of a small program, calls of every step, or none."""

    size: int
    steps: dict[str, float]
    memory: float
    calls: dict[str, float]

    @property
    def seconds(self) -> float:
        return sum(self.steps.values())


def peak_memory() -> float:
    """The largest resident size of this process so far, in MiB. What `getrusage` says includes the parent's."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


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


def measure_point(shape: str, size: int, count: bool) -> None:
    """Prints one point as JSON, with calls if they are to be counted, in a compilation of its own."""
    times: dict[str, float] = {}
    calls: dict[str, float] = {}

    def timed(name: str, step: Callable[[], object]) -> None:
        start = process_time()
        step()
        times[name] = times.get(name, 0.0) + process_time() - start

    def counted(name: str, step: Callable[[], object]) -> None:
        calls[name] = calls.get(name, 0.0) + calls_of(step)

    text = SHAPES[shape](size)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    compile_steps(SHAPES[shape](SMALLEST), timed)
    times.clear()
    before = peak_memory()
    compile_steps(text, timed)
    memory = peak_memory() - before
    if count:
        compile_steps(text, counted)
    print(json.dumps(asdict(Point(size, times, memory, calls))))


def child_environment() -> dict[str, str]:
    """The environment of this process, in which Python keeps bytecode, as installed programs do, and finds tirx."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    prefix = str(Path(tempfile.gettempdir()) / "tirx-benchmark-bytecode")
    paths = [str(ROOT), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return environment | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONPYCACHEPREFIX": prefix}


def run_point(shape: str, size: int, count: bool) -> Point | str:
    """The point, or why there is none."""
    command = [sys.executable, __file__, shape, str(size), *["calls"] * count]
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment())
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"more than {LIMIT_SECONDS} s"
    if done.returncode != 0:
        return done.stderr.strip().rpartition("\n")[2][:100] or f"exit code {done.returncode}"
    return Point(**json.loads(done.stdout))


# Shapes.


@dataclass(frozen=True)
class Curve:
    """The points of a shape, and why there are no larger ones; empty if there are."""

    points: list[Point]
    why: str = ""

    def exponent(self, of: Callable[[Point], float], least: float = 0.0) -> float | None:
        """The slope of a line through log(size), log(of(point)); None if fewer than two points are large enough."""
        pairs = [(log(p.size), log(of(p))) for p in self.points if p.seconds >= FITTED_SECONDS and of(p) > least]
        if len(pairs) < 2:
            return None
        x, y = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        return sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, _ in pairs)

    @property
    def exponents(self) -> dict[str, float | None]:
        """Of time, memory and, if they were counted, calls."""
        of: dict[str, float | None] = {
            "time": self.exponent(lambda p: p.seconds),
            "memory": self.exponent(lambda p: p.memory, FITTED_MEMORY),
        }
        if self.points and self.points[-1].calls:
            of["calls"] = self.exponent(lambda p: sum(p.calls.values()))
        return of

    @property
    def steepest_step(self) -> str:
        """The step with the largest exponent, of calls if they were counted, among those with 5 % of the last point."""

        def values(point: Point) -> dict[str, float]:
            return point.calls or point.steps

        last = values(self.points[-1])
        total = sum(last.values())
        slopes = {
            name: self.exponent(lambda p, name=name: values(p).get(name, 0.0)) or 0.0
            for name, value in last.items()
            if value >= 0.05 * total
        }
        worst = max(slopes, key=lambda name: slopes[name])
        return f"{worst} ({slopes[worst]:.2f}, {last[worst] / total:.0%})"


def run_shape(shape: str, until: float, count: bool) -> Curve:
    """The points of a shape: sizes doubled up to the first that takes `until` seconds, in larger steps at first."""
    points: list[Point] = []
    size = SMALLEST
    while True:
        point = run_point(shape, size, count and bool(points))
        if isinstance(point, str):
            return Curve(points, f"; {size}: {point}")
        points.append(point)
        if point.seconds >= until:
            return Curve(points)
        size *= 2 ** max(1, int(log2(FITTED_SECONDS / point.seconds)))


def measured(shapes: Sequence[str], until: float, jobs: int, count: bool, kept: Path | None) -> dict[str, Curve]:
    """The curves of shapes: those in the file `kept`, if there is one, or those that are measured now."""
    if kept is not None and kept.exists():
        read = json.loads(kept.read_text())
        return {shape: Curve([Point(**each) for each in one["points"]], one["why"]) for shape, one in read.items()}
    with ThreadPoolExecutor(jobs) as pool:  # of threads that wait for processes
        found = pool.map(partial(run_shape, until=until, count=count), shapes)
        curves = dict(zip(shapes, found, strict=True))
    if kept is not None:
        kept.write_text(json.dumps({shape: asdict(curve) for shape, curve in curves.items()}, indent=1) + "\n")
    return curves


def scaling(
    shapes: Sequence[str],
    until: float,
    jobs: int,
    count: bool = False,
    kept: Path | None = None,
) -> dict[str, Curve]:
    """Prints a table with one row a shape. Returns the curves."""
    curves = measured(shapes, until, jobs, count, kept)
    named = ["time", "memory", *["calls"] * any(point.calls for curve in curves.values() for point in curve.points)]
    exponents = " | ".join(f"exponent of {name}" for name in named)
    print(f"\n| shape | largest size | time | memory | {exponents} | steepest step | at most {GOAL} |")
    print(f"|---|---:|---:|---:|{'---:|' * len(named)}---|---|")
    missed = 0
    for shape, curve in curves.items():
        if not curve.points:
            print(f"| {shape} | {curve.why} |")
            continue
        last = curve.points[-1]
        found = [curve.exponents.get(name) for name in named]
        met = None not in found and max(each or 0.0 for each in found) <= GOAL and not curve.why
        missed += not met
        slopes = " | ".join("-" if value is None else f"{value:.2f}" for value in found)
        print(
            f"| {shape} | {last.size}{curve.why} | {last.seconds:.1f} s | {last.memory:.0f} MiB | {slopes} "
            f"| {curve.steepest_step} | {'met' if met else 'missed'} |"
        )
    print(f"\n{len(curves) - missed} of {len(curves)} shapes are at most {GOAL}.")
    return curves


if __name__ == "__main__":
    measure_point(sys.argv[1], int(sys.argv[2]), "calls" in sys.argv[3:])
