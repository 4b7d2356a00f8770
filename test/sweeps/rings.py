"""
Every kernel with rings: written by hand (`RingKernel`) and made by the compiler from sequential programs (`Pipelined`).

    python test/sweeps/rings.py [--pairwise] [--share S] [--first N] [--seeds N] [--seconds S] [FAMILY ...]

Kernels are all legal combinations of family, slots 1 to 6, roles, tiles for each block (a grid, or 1, 2 and 3 tiles in
each order, that of cluster launch control too), sizes that end inside of tiles, and for those by hand engines, skew,
pending products, rings of stores and clusters. Each is assembled (no spills, no warnings, registers within the block's
bound) and simulated strictly with 0, 1, 2 and, around the n slots, n - 1, n, n + 1 and 2 n + 1 iterations, in `--seeds`
schedules each. It has to equal numpy bit for bit. `--share 0.02` takes a random part of the kernels; `--first` says
which. `--pairwise` takes few of them, which have all pairs of choices that a kernel can have. A table has the counts.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from unit.kernels.ring_cases import cases, pairwise

from tirx.diagnostics import LocatedError

COLUMNS = ("of", "kernels", "runs", "refused", "wrong")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairwise", action="store_true", help="kernels that have every pair of choices")
    parser.add_argument("--share", type=float, default=1.0, help="part of the kernels, from 0 to 1")
    parser.add_argument("--first", type=int, default=0, help="which part: the seed of the choice")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU time after which no kernel begins")
    parser.add_argument("--seeds", type=int, default=1, help="schedules of each run")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="parts of names of families; all without any")
    options = parser.parse_args()
    rng = random.Random(options.first)
    counts: dict[str, Counter[str]] = {}
    start = time.process_time()
    # In any order, so that a sweep that ends early has seen something of everything.
    everything = pairwise(cases()) if options.pairwise else list(cases())
    for case in rng.sample(everything, len(everything)):
        if options.families and not any(part in case.family for part in options.families):
            continue
        row = counts.setdefault(case.family, Counter())
        row["of"] += 1
        if rng.random() >= options.share or time.process_time() - start > options.seconds:
            continue
        row["kernels"] += 1
        try:
            for trips in case.trips():
                for seed in range(options.seeds):
                    case.run(trips, seed + trips)
                    row["runs"] += 1
        except LocatedError as error:
            row["refused"] += 1
            print(f"{case.kernel}: refused: {error.message}", file=sys.stderr, flush=True)
        except Exception:  # the sweep goes on, and says which kernel it was
            row["wrong"] += 1
            print(f"{case.kernel}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
    print(f"{'':32}" + "".join(f"{name:>9}" for name in COLUMNS))
    total = sum(counts.values(), Counter[str]())
    for name, row in (*sorted(counts.items()), ("all", total)):
        print(f"{name:32}" + "".join(f"{row[column]:>9}" for column in COLUMNS))
    print(f"{time.process_time() - start:.0f} s of CPU time")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
