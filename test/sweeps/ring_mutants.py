"""
Kernels with rings in which one thing is wrong, and who refuses each.

    python test/sweeps/ring_mutants.py [--ptx] [--part I/N] [--jobs N] [--seconds S] [--results FILE] [KERNEL ...]

Wrong is one operation of the tile program, or one of what `tirx-lower-rings` makes of it; with `--ptx` also one line of
the PTX. KERNEL are numbers of `KERNELS`, all of them without any. `--part 3/40` is the third of 40 parts of the
mutants. A sweep that `--seconds` of wall time end goes on in the next run with the same `--results`.

The table says of each mutation how many mutants a verifier, `tirx-check-rings`, another pass or the simulator refuses
first, and how many compute wrong numbers. Mutants that nobody refuses are listed: those of `RIGHT` are right, for the
reason given there, and any other is an error.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps.shares import Sweep, one_thread_each

one_thread_each()

from unit.kernels.ring_ir_mutants import (  # noqa: E402
    NOBODY,
    NUMBERS,
    SIMULATOR,
    VERIFIER,
    IrMutant,
    ir_mutants,
    reason_of,
)
from unit.kernels.ring_mutants import KERNELS, Mutant, mutants  # noqa: E402

CHECK = "tirx-check-rings"
OTHER = "another pass"
COLUMNS = (VERIFIER, CHECK, OTHER, SIMULATOR, NUMBERS, NOBODY)


def everything(kernels: list[int], ptx: bool) -> Iterator[tuple[str, IrMutant | Mutant]]:
    """Mutants and their names."""
    for number in kernels:
        for mutant in ir_mutants(KERNELS[number]):
            yield f"{number}: {mutant.level}: {mutant.mutation}: {mutant.ordinal}", mutant
        for mutant in mutants(KERNELS[number]) if ptx else ():
            yield f"{number}: PTX: {mutant.mutation}: {mutant.ordinal}", mutant


def outcome(mutant: IrMutant | Mutant) -> Mapping[str, Any]:
    """Who refuses a mutant first."""
    if isinstance(mutant, IrMutant):
        who = mutant.verdict().who
        return {"who": who if who in COLUMNS else OTHER}
    said = mutant.verdict()
    return {"who": NOBODY if said is None else NUMBERS if said == NUMBERS else SIMULATOR}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptx", action="store_true", help="lines of PTX, too")
    parser.add_argument("kernels", nargs="*", type=int, metavar="KERNEL")
    Sweep.add_arguments(parser)
    options = parser.parse_args()
    start = time.monotonic()
    counts: dict[tuple[str, str], Counter[str]] = {}
    wrong = 0
    tasks = list(everything(options.kernels or list(range(len(KERNELS))), options.ptx))
    random.Random(0).shuffle(tasks)
    for mutant, found in Sweep.of(options).run(tasks, outcome):
        who = found["who"]
        if isinstance(mutant, IrMutant):
            level, place, reason = mutant.level, mutant.place, reason_of(mutant)
        else:
            level, place, reason = "PTX", mutant.line, mutant.reason
        counts.setdefault((level, mutant.mutation), Counter())[who] += 1
        if who == NOBODY:
            wrong += reason is None
            number = KERNELS.index(mutant.kernel)
            print(f"kernel {number}: {mutant.mutation}: {place}: {reason or 'NOBODY refuses it'}", flush=True)
    print(f"{'':14}{'':32}" + "".join(f"{name:>18}" for name in COLUMNS))
    total = sum(counts.values(), Counter[str]())
    for (level, mutation), row in (*sorted(counts.items()), (("all", ""), total)):
        print(f"{level:14}{mutation:32}" + "".join(f"{row[name] or '':>18}" for name in COLUMNS))
    print(f"{total.total()} of {len(tasks)}, {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
