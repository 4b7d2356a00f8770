"""
Every family of products x slots 1 to 6 x numbers of iterations x roles x tiles for each block, simulated strictly.

`python test/sweeps/pipelines.py [FAMILY...]` compares each run with numpy bit for bit, prints a line for each kernel
and ends with the counts. It takes some minutes for each family.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from unit.kernels.pipelined_kernels import FAMILIES, MOST_STEPS, Pipelined, check, kernel_of

from tirx.diagnostics import LocatedError

SLOTS = range(1, 7)
ROLES = ("none", "load", "load-mma-epilogue")
TILES = ((None, 1), ("row", 1), ("group", 2), ("row", 3))
"""Order of the tile loop, and tiles for each of two blocks."""


def kernels(family: str) -> Iterator[tuple[Pipelined, int]]:
    """The kernels of a family, each with the number of blocks that run it."""
    for slots in SLOTS:
        for roles in ROLES:
            if roles == "load-mma-epilogue" and FAMILIES[family].accumulator != "tensor":
                continue
            for order, tiles in TILES:
                options = f"pipeline=on stages={slots} roles={roles}"
                grid = (1, 1) if order is None else (2, tiles)
                yield Pipelined(family, options if order is None else f"{options} order={order}", grid), 2


def trips(slots: int) -> list[int]:
    """Numbers of iterations around that of the slots."""
    return sorted({0, 1, 2, slots - 1, slots, slots + 1, 2 * slots + 1} & set(range(MOST_STEPS)))


def main(families: list[str]) -> int:
    """Runs the families, all by default; the exit code says whether every run was right."""
    counts: Counter[str] = Counter()
    for family in families or list(FAMILIES):
        for kernel, blocks in kernels(family):
            start = time.perf_counter()
            slots = int(kernel.options.split("stages=")[1].split()[0])
            found = "right"
            for seed, count in enumerate(trips(slots)):
                try:
                    low = seed % 2 if count + seed % 2 <= MOST_STEPS else 0
                    check(kernel, low, low + count, blocks, seed)
                    counts["runs"] += 1
                except LocatedError as error:
                    found = f"refused: {error.message[:200]}"
                    break
                except Exception as error:
                    found = f"WRONG with {count} iterations: {type(error).__name__}: {str(error).strip()[:300]}"
                    break
            counts[f"{found.split()[0].rstrip(':').lower()} kernels"] += 1
            print(
                f"{family}, {kernel.options}, {kernel.grid}: {found} ({time.perf_counter() - start:.1f} s)", flush=True
            )
        kernel_of.cache_clear()
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    return 1 if counts["wrong kernels"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
