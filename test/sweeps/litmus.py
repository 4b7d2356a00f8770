"""
Litmus tests of order through global memory in the simulator, and each verdict beside the one expected.

    python test/sweeps/litmus.py [--only TEXT] [--level hardware|strict] [--seeds none,1,2] [--targets sm_80,...]
                                 [--ptxas] [--jobs N] [--differing]

One line a test and level: name, level, expected verdict, verdicts of all targets and seeds (`/` between those that
differ). `unit/sim/litmus.py` says what the verdicts and the files of `test/litmus` mean. The exit status is 1 if any
verdict differs from the expected one, or if ptxas refuses a kernel.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps.shares import one_thread_each

one_thread_each()

from unit.sim.litmus import LEVELS, TARGETS, WARNING, Level, Twin, pairs  # noqa: E402

from tirx.ptx.ptxas import assemble  # noqa: E402


@dataclass(frozen=True)
class Task:
    """A twin, and how it is to be run."""

    twin: Twin
    levels: Sequence[Level]
    targets: Sequence[str]
    seeds: Sequence[int | None]
    assembles: bool

    def run(self) -> tuple[Task, str, dict[Level, list[str]]]:
        """Returns the task itself, messages of ptxas, and the different verdicts at each level."""
        said = ""
        for target in self.targets if self.assembles else ():
            result = assemble(self.twin.ptx(target), target)
            said += "" if result.ok else f"{target}: {result.stderr}"
        found: dict[Level, list[str]] = {}
        for level in self.levels:
            cases = self.twin.cases(self.seeds, self.targets)
            verdicts = (self.twin.verdict(level, target, seed) for target, seed in cases)
            found[level] = list(dict.fromkeys(verdicts))
        return self, said, found


def _run(task: Task) -> tuple[Task, str, dict[Level, list[str]]]:
    return task.run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="tests whose name has TEXT")
    parser.add_argument("--level", choices=LEVELS)
    parser.add_argument("--seeds", default="none,1,2")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--ptxas", action="store_true", help="assemble each for all targets")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--differing", action="store_true", help="print only what is not as expected")
    options = parser.parse_args()
    seeds = [None if each == "none" else int(each) for each in options.seeds.split(",")]
    levels: Sequence[Level] = (options.level,) if options.level else LEVELS
    tasks: list[Task] = []
    for twin in (twin for pair in pairs() for twin in pair.twins if options.only in twin.name):
        targets = [target for target in twin.targets if target in options.targets.split(",")]
        tasks.append(Task(twin, levels, targets, seeds, options.ptxas))
    counts: Counter[tuple[str, Level, str, str]] = Counter()
    differing = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for task, said, found in pool.map(_run, tasks):
            twin = task.twin
            if said:
                differing += 1
                print(f"{twin.name}: ptxas {said}")
            for level, verdicts in found.items():
                if not verdicts:
                    continue
                expected = f"{WARNING} {twin.rule}" if twin.expected[level] == WARNING else twin.expected[level]
                wrong = not all(twin.agrees(level, verdict) for verdict in verdicts)
                differing += wrong
                kind = "right" if twin.is_right else "fault"
                counts[kind, level, twin.expected[level], "differs" if wrong else "as expected"] += 1
                if wrong or not options.differing:
                    mark = "  <-- differs" if wrong else ""
                    print(f"{twin.name:48s} {level:8s} expected {expected:9s} found {' / '.join(verdicts)}{mark}")
    for (kind, level, expected, outcome), count in sorted(counts.items()):
        print(f"# {kind} {level:8s} {expected:7s} {outcome:11s} {count}")
    print(f"# {sum(counts.values())} verdicts, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
