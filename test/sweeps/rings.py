"""
Every kernel with rings (`RingKernel`), for every number of iterations around the slots and several schedules.

    python test/sweeps/rings.py [--every N] [--first N] [--seeds N]
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.ring_kernels import RingKernel, all_kernels, check

MOST_TRIPS = 8
"""Iterations that matrices of 128 columns have."""


def trip_counts(kernel: RingKernel) -> list[int]:
    """0 (where there is such a kernel), 1, 2 and what is around one and two times the slots."""
    n = kernel.slots
    return sorted(
        {count for count in (0, 1, 2, n - 1, n, n + 1, 2 * n + 1) if kernel.least_trips <= count <= MOST_TRIPS}
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--every", type=int, default=1, help="take every N-th kernel")
    parser.add_argument("--first", type=int, default=0, help="skip so many kernels")
    parser.add_argument("--seeds", type=int, default=2, help="schedules of each run")
    options = parser.parse_args()
    failed = runs = 0
    kernels = list(all_kernels())[options.first :: options.every]
    for kernel in kernels:
        try:
            for trips in trip_counts(kernel):
                for seed in range(options.seeds):
                    shape = ((3, 2), 2) if kernel.tiles else ((1, 1), 1)
                    check(kernel, trips, seed=seed, extents=shape[0], blocks=shape[1])
                    runs += 1
        except Exception:  # the sweep goes on, and says which kernel it was
            failed += 1
            print(f"{kernel}\n{traceback.format_exc()}", file=sys.stderr)
    print(f"{len(kernels)} kernels, {runs} runs, {failed} kernels failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
