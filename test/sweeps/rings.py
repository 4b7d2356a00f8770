"""
Every kernel with rings: written by hand (`RingKernel`) and made by the compiler from sequential programs (`Pipelined`).

    python test/sweeps/rings.py [--pairwise] [--seeds N] [--part I/N] [--jobs N] [--seconds S] [--results FILE]
        [FAMILY ...]

Kernels are all legal combinations of family, slots 1 to 6, roles, tiles for each block (a grid, or 1, 2 and 3 tiles in
each order, that of cluster launch control too), sizes that end inside of tiles, and for those by hand engines, skew,
pending products, rings of stores and clusters. Each is assembled (no spills, no warnings, registers within the block's
bound) and simulated strictly with 0, 1, 2 and, around the n slots, n - 1, n, n + 1 and 2 n + 1 iterations, in `--seeds`
schedules each. It has to equal numpy bit for bit. Those with few iterations and tiles come first. `--part 3/40` is the
third of 40 parts of the kernels. A sweep that `--seconds` of wall time end goes on in the next run with the same
`--results`. `--pairwise` takes few kernels, which have all pairs of choices that a kernel can have.

The table counts kernels by how they end: right, refused by the compiler, by ptxas (spills, warnings, registers), by a
warning or an error of the simulator, or wrong numbers; `registers` are the most of a kernel.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps.shares import Sweep, one_thread_each

one_thread_each()

from unit.kernels.ring_cases import Case, cases, pairwise  # noqa: E402
from unit.kernels.ring_kernels import Warned  # noqa: E402

from tirx.diagnostics import LocatedError  # noqa: E402
from tirx.sim import SimError  # noqa: E402

RIGHT, REFUSED, PTXAS, WARNED, HAZARD, WRONG = "right", "refused", "ptxas", "warned", "sim error", "wrong"
ENDS = (RIGHT, REFUSED, PTXAS, WARNED, HAZARD, WRONG)
COLUMNS = ("of", "kernels", "runs", *ENDS)


def outcome(case: Case, seeds: int) -> Mapping[str, Any]:
    """Runs the kernel. Returns its end, the runs up to there, its registers, and the message if it is not right."""
    runs = registers = 0
    try:
        try:
            registers = case.registers()
        except AssertionError as error:
            return {"end": PTXAS, "runs": 0, "registers": 0, "said": str(error)}
        for trips in case.trips():
            for seed in range(seeds):
                case.run(trips, seed + trips)
                runs += 1
    except LocatedError as error:
        end, said = REFUSED, error.message
    except Warned as error:
        end, said = WARNED, str(error)
    except SimError as error:
        end, said = HAZARD, str(error)
    except Exception:  # the sweep goes on, and says which kernel it was
        end, said = WRONG, traceback.format_exc()[-1500:]
    else:
        return {"end": RIGHT, "runs": runs, "registers": registers}
    return {"end": end, "runs": runs, "registers": registers, "said": said}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairwise", action="store_true", help="kernels that have every pair of choices")
    parser.add_argument("--seeds", type=int, default=1, help="schedules of each run")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="parts of names of families; all without any")
    Sweep.add_arguments(parser)
    options = parser.parse_args()
    start = time.monotonic()
    everything = pairwise(cases()) if options.pairwise else list(cases())
    # Neighbours differ, so that every part and a sweep that ends early have something of everything.
    random.Random(0).shuffle(everything)
    everything.sort(key=lambda case: case.steps)
    if options.families:
        everything = [case for case in everything if any(part in case.family for part in options.families)]
    counts: dict[str, Counter[str]] = {}
    registers: dict[str, int] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    for case in everything:
        counts.setdefault(case.family, Counter())["of"] += 1
    sweep = Sweep.of(options)
    tasks = [(case.name, case) for case in everything]
    for case, found in sweep.run(tasks, lambda case: outcome(case, options.seeds)):
        row = counts[case.family]
        row["kernels"] += 1
        row["runs"] += found["runs"]
        row[found["end"]] += 1
        registers[case.family] = max(registers.get(case.family, 0), found["registers"])
        if found["end"] != RIGHT:
            reasons[found["end"], found["said"]] += 1
            print(f"{case.name}: {found['end']}: {found['said']}", file=sys.stderr, flush=True)
    print(f"{'':32}" + "".join(f"{name:>10}" for name in (*COLUMNS, "registers")))
    total = sum(counts.values(), Counter[str]())
    registers["all"] = max(registers.values(), default=0)
    for name, row in (*sorted(counts.items()), ("all", total)):
        print(f"{name:32}" + "".join(f"{row[column]:>10}" for column in COLUMNS) + f"{registers.get(name, 0):>10}")
    for (end, said), count in reasons.most_common():
        print(f"{count} {end}: {said.strip().splitlines()[-1]}")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if total[PTXAS] or total[WARNED] or total[HAZARD] or total[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
