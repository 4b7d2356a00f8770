"""Products on the GPU that are measured beside cuBLAS: operands, peers, errors and times."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_cases import Case, Size

PAUSE = (0.03, 0.15)
"""Seconds before each measurement, drawn anew each time."""
BURST = 4e-3
"""Seconds that the launches of one measurement take at most, if one launch does not take longer."""
SHORT = 1e-4
"""Seconds of a launch below which `REPLAYED` launches are replayed as a graph."""
REPLAYED = 20


@dataclass(frozen=True)
class Variant:
    """Something that is measured: `run` launches it once, which takes `flops` operations."""

    name: str
    flops: float
    run: Callable[[], object]


def operands(torch: Any, case: Case, size: Size) -> tuple[Any, Any, Any]:
    """Random A and B, and an array for D."""
    *batch, m, n, k = size
    generator = torch.Generator(device="cuda").manual_seed(0)
    dtype = getattr(torch, case.a)

    def random_matrix(rows: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-128, 128, (*batch, rows, k), generator=generator, device="cuda", dtype=dtype)
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        return torch.randn(*batch, rows, k, generator=generator, device="cuda", dtype=wide).to(dtype)

    return random_matrix(m), random_matrix(n), torch.zeros(*batch, m, n, device="cuda", dtype=getattr(torch, case.d))


def peer(torch: Any, case: Case, a: Any, b: Any) -> Callable[[], Any]:
    """Call of cuBLAS by torch for the same product. Sums of f16 and bf16 are returned in these types."""
    if case.a == "int8":
        return lambda: torch._int_mm(a, b.T)
    if case.a.startswith("float8"):
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    if case.a == "float32":
        torch.backends.cuda.matmul.allow_tf32 = True
    return lambda: torch.matmul(a, b.mT)


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


def measure(
    torch: Any, variants: Sequence[Variant], rounds: int, pause: tuple[float, float] = PAUSE
) -> dict[str, list[float]]:
    """Seconds of each variant in each round, behind pauses of random seconds between two bounds."""
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
            time.sleep(random.uniform(*pause))
            run()  # the first launch behind a pause finds clocks and caches that the others do not
            found[name].append(seconds_of(torch, run, repeats) / launches)
    return found
