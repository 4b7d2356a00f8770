"""
Kernels with rings in which one thing is wrong, and who refuses each.

    python test/sweeps/ring_mutants.py [--share S] [--ptx] [KERNEL ...]

Wrong is one operation of the tile program, or one of what `tirx-lower-rings` makes of it; with `--ptx` also one line of
the PTX. KERNEL are numbers of `KERNELS`, all of them without any. The table says of each mutation how many mutants a
verifier, `tirx-check-rings`, another pass or the simulator refuses first, and how many compute wrong numbers. Mutants
that nobody refuses are listed: those of `RIGHT` are right, for the reason given there, and any other is an error.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.ring_ir_mutants import NOBODY, NUMBERS, SIMULATOR, VERIFIER, ir_mutants, reason_of
from unit.kernels.ring_mutants import KERNELS, RIGHT, mutants

CHECK = "tirx-check-rings"
OTHER = "another pass"
COLUMNS = (VERIFIER, CHECK, OTHER, SIMULATOR, NUMBERS, NOBODY)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="part of the mutants, from 0 to 1")
    parser.add_argument("--ptx", action="store_true", help="lines of PTX, too")
    parser.add_argument("kernels", nargs="*", type=int, metavar="KERNEL")
    options = parser.parse_args()
    rng = random.Random(0)
    counts: dict[tuple[str, str], Counter[str]] = {}
    wrong = 0
    for number in options.kernels or range(len(KERNELS)):
        for mutant in ir_mutants(KERNELS[number]):
            if rng.random() >= options.share:
                continue
            verdict = mutant.verdict()
            who = verdict.who if verdict.who in COLUMNS else OTHER
            counts.setdefault((mutant.level, mutant.mutation), Counter())[who] += 1
            if who == NOBODY:
                reason = reason_of(mutant)
                wrong += reason is None
                print(
                    f"kernel {number}: {mutant.mutation}: {mutant.place}: {reason or 'NOBODY refuses it'}", flush=True
                )
        for mutant in mutants(KERNELS[number]) if options.ptx else ():
            if rng.random() >= options.share:
                continue
            said = mutant.verdict()
            who = NOBODY if said is None else NUMBERS if said == NUMBERS else SIMULATOR
            counts.setdefault(("PTX", mutant.mutation), Counter())[who] += 1
            if who == NOBODY:
                reason = RIGHT.get((mutant.kernel, mutant.mutation, mutant.line))
                wrong += reason is None
                print(f"kernel {number}: {mutant.mutation}: {mutant.line}: {reason or 'NOBODY refuses it'}", flush=True)
    print(f"{'':14}{'':32}" + "".join(f"{name:>18}" for name in COLUMNS))
    total = sum(counts.values(), Counter[str]())
    for (level, mutation), row in (*sorted(counts.items()), (("all", ""), total)):
        print(f"{level:14}{mutation:32}" + "".join(f"{row[name] or '':>18}" for name in COLUMNS))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
