"""Random programs: what the check accepts never fails in the simulator."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable

import pytest
from unit.passes.rings.proof.random_programs import generate, mutate
from unit.passes.rings.proof.simulator import BugError, Path, run_in_all_orders, run_randomly, straight_line

from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.model import Kernel
from tirx.passes.rings.proof.progress import check

TRIPS = ((0, 1), (0, 1, 2, 3), (2, 3, 4, 5), (1, 5, 7))
"""Numbers of iterations of one run."""


class Inputs:
    """Numbers of iterations and conditions, chosen when a run first asks for them."""

    def __init__(self, rng: random.Random):
        self.rng, self.per_entry, self.values = rng, rng.random() < 0.5, rng.choice(TRIPS)
        self.counts: dict[tuple[Hashable, Path], int] = {}
        self.conditions: dict[tuple[Hashable, Path], bool] = {}

    def trips(self, name: Hashable, path: Path) -> int:
        return self.counts.setdefault((name, path if self.per_entry else ()), self.rng.choice(self.values))

    def condition(self, name: Hashable, path: Path) -> bool:
        return self.conditions.setdefault((name, path), self.rng.random() < 0.5)


def bug_of(kernel: Kernel, rng: random.Random, trials: int) -> str | None:
    """First fault of a run with some numbers of iterations; None if none was seen."""
    try:
        for _ in range(trials):
            inputs = Inputs(rng)
            programs = straight_line(kernel, inputs.trips, inputs.condition)
            if sum(map(len, programs.values())) <= 400:
                for _ in range(4):
                    run_randomly(kernel, programs, rng)
        if rng.random() < 0.1:
            programs = straight_line(kernel, lambda name, path: 2, lambda name, path: True)
            if sum(map(len, programs.values())) <= 30:
                run_in_all_orders(kernel, programs, 1000)
    except BugError as error:
        return str(error)
    return None


def compare(seed: int, programs: int) -> Counter[str]:
    """Counts how often each verdict of the check met each finding of the simulator."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(programs):
        kernel = generate(rng)
        if rng.random() < 0.7:
            kernel = mutate(rng, kernel)
        try:
            check(kernel)
            accepted = True
        except RingError:
            accepted = False
        bug = bug_of(kernel, rng, 6)
        assert not (accepted and bug), f"accepted, yet wrong: {bug}\n{kernel}"
        found[f"{'accepted' if accepted else 'refused'}, {'wrong' if bug else 'clean'}"] += 1
        found["across"] += any(ring.multicast for ring in kernel.rings.values())
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.sample(1)
def test_no_accepted_program_is_wrong(seed: int):
    found = compare(seed, 24)
    assert found["accepted, clean"] >= 6
    assert found["refused, wrong"] >= 6
    assert found["across"] >= 1
