"""
Random products by mma.sync of staged tiles, sequential and pipelined, against numpy.

`python test/sweeps/staged_products.py FIRST LAST` runs the kernels of these seeds and prints what is refused.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.staged_kernels import random_kernel

from tirx.diagnostics import LocatedError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int, metavar="FIRST", help="the first seed")
    parser.add_argument("last", type=int, metavar="LAST", help="the seed behind the last")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for seed in range(arguments.first, arguments.last):
        kernel = random_kernel(seed)
        try:
            profile = kernel.check(seed)
        except LocatedError as error:
            counts[kernel.element, "refused"] += 1
            print(f"{seed}: {kernel}: {error}")
            continue
        except Exception:
            print(f"{seed}: {kernel}")
            raise
        counts[kernel.element, "conflicts" if profile.conflicts else "no conflicts"] += 1
    for (element, outcome), count in sorted(counts.items()):
        print(element, outcome, count)


if __name__ == "__main__":
    main()
