"""
Every kernel with rings in which one line of PTX is wrong, and how the simulator finds it.

    python test/sweeps/ring_mutants.py [SECONDS]

The table says of each mutation how many mutants failed and how. Those that did not fail are listed: they have to be
right, as an arrival that nobody waits for is.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.kernels.ring_mutants import KERNELS, Mutant, mutants


def main() -> None:
    end = monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 1e9)
    verdicts: dict[str, Counter[str]] = {}
    survivors: list[Mutant] = []
    for mutant in (mutant for kernel in KERNELS for mutant in mutants(kernel)):
        if monotonic() > end:
            break
        verdict = mutant.verdict()
        kind = "survives" if verdict is None else "wrong numbers" if verdict == "wrong numbers" else "reported"
        verdicts.setdefault(mutant.mutation, Counter())[kind] += 1
        if verdict is None:
            survivors.append(mutant)
    for mutation, counts in verdicts.items():
        print(f"{mutation:28}", *(f"{kind}: {count}" for kind, count in sorted(counts.items())))
    for mutant in survivors:
        print(f"survives: {mutant.mutation}: {mutant.line}  in {mutant.kernel}")


if __name__ == "__main__":
    main()
