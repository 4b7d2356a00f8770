"""
Random kernels that copy tiles by the tensor memory accelerator, cp.async, loads and stores, against numpy; some reach
beyond the tensors.

`python test/sweeps/bulk_copies.py FIRST LAST` runs the kernels of these seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.bulk_kernels import random_clipped_kernel, random_kernel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int, metavar="FIRST", help="the first seed")
    parser.add_argument("last", type=int, metavar="LAST", help="the seed behind the last")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    for seed in range(arguments.first, arguments.last):
        for kernel in (random_kernel(seed), random_clipped_kernel(seed)):
            kernel.check(seed)
            counts[kernel.target, kernel.load, kernel.store] += 1
    for combination, count in sorted(counts.items()):
        print(*combination, count)


if __name__ == "__main__":
    main()
