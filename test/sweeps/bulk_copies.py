"""
Random kernels that copy tiles by the tensor memory accelerator, cp.async, loads and stores, against numpy.

`python test/sweeps/bulk_copies.py FIRST LAST` runs the kernels of these seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.bulk_kernels import random_kernel


def main() -> None:
    first, last = map(int, sys.argv[1:])
    counts: Counter[tuple[str, str, str]] = Counter()
    for seed in range(first, last):
        kernel = random_kernel(seed)
        kernel.check(seed)
        counts[kernel.target, kernel.load, kernel.store] += 1
    for combination, count in sorted(counts.items()):
        print(*combination, count)


if __name__ == "__main__":
    main()
