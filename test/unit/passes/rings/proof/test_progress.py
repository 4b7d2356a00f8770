"""The check of rings against known kernels and bugs, and the simulator as its witness."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from itertools import product

import pytest
from unit.cases import together
from unit.passes.rings.proof.cases import CASES, cluster, without_roles
from unit.passes.rings.proof.programs import (
    CARRY,
    FENCE,
    GROUPS,
    READ,
    TMA,
    acquire,
    condition,
    early,
    kernel,
    loop,
    read,
    release,
    use,
    wait,
    when,
    work,
    write,
)
from unit.passes.rings.proof.simulator import BugError, Path, run_in_all_orders, run_randomly, straight_line

from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.model import Kernel, Loop, Ring, Statement, walk
from tirx.passes.rings.proof.progress import check, smallest_slots


def symbols(kernel: Kernel) -> list[str]:
    """The numbers of iterations that a kernel depends on."""
    return sorted({str(s.trips) for body in kernel.roles.values() for s in walk(body) if isinstance(s, Loop)})


def witness(kernel: Kernel, trips: Sequence[int], runs: int) -> None:
    """Runs a kernel for combinations of numbers of iterations. Raises BugError."""
    rng = random.Random(1)
    names = symbols(kernel)
    combinations = list(product(trips, repeat=len(names)))
    rng.shuffle(combinations)
    for combination in combinations[:60]:
        known = dict(zip(names, combination, strict=True))
        conditions: dict[tuple[Hashable, Path], bool] = {}

        def condition(name: Hashable, path: Path, conditions: dict[tuple[Hashable, Path], bool] = conditions) -> bool:
            return conditions.setdefault((name, path), rng.random() < 0.5)

        def count(name: Hashable, path: Path, known: dict[str, int] = known) -> int:
            return known[str(name)]

        programs = straight_line(kernel, count, condition)
        if sum(map(len, programs.values())) <= 1500:
            for _ in range(runs):
                run_randomly(kernel, programs, rng)


def test_there_are_113_cases():
    assert len({name for name, _, _ in CASES}) == len(CASES) == 113


@pytest.mark.parametrize(("name", "expected", "kernel"), CASES, ids=[name for name, _, _ in CASES])
def test_verdicts_agree_with_the_simulator(name: str, expected: bool, kernel: Kernel):
    """Kernels that are accepted never fail in the simulator, and those that are refused fail there as well."""
    if expected:
        check(kernel)
        witness(kernel, (0, 1, 2, 3), runs=1)
    else:
        with pytest.raises(RingError) as refusal:
            check(kernel)
        assert len(str(refusal.value).split()) > 3  # a sentence: what it says depends on the kernel
        with pytest.raises(BugError, match=r"\w+"):
            witness(kernel, (0, 1, 2, 3, 7), runs=12)


@pytest.mark.parametrize("kernel", [without_roles(2, 1, 0), without_roles(3, 1, 1)])
def test_all_interleavings_of_a_small_kernel(kernel: Kernel):
    check(kernel)
    programs = straight_line(kernel, lambda name, path: 1 if name == "T" else 2, lambda name, path: True)
    assert run_in_all_orders(kernel, programs)


def test_a_condition_around_loops_of_all_parties():
    ring = Ring("r", 2, (("a",), ("b",)))

    def around(*steps: Statement) -> Statement:
        return loop("t", "T", when(condition("p"), loop("k", "K", *steps), *steps), *steps)

    programs = kernel(ring, a=[around(*write("r"))], b=[around(*read("r"))])
    check(programs)
    assert smallest_slots(programs) == {"r": 1}


@pytest.mark.parametrize(("ahead", "pending"), list(product(range(4), range(2))))
def test_the_least_number_of_slots(ahead: int, pending: int):
    assert smallest_slots(without_roles(6, ahead, pending)) == {"r": ahead + 1 + pending}


def test_a_deadlock_names_both_operations_and_the_iterations():
    with pytest.raises(RingError) as error:
        check(without_roles(2, 2, 0))
    assert error.value.message == (
        "deadlock: w0 waits for ever for use 2 at station 0 of r, for a release by w0, when every loop has 3 iterations"
    )
    assert [text for text, _ in error.value.others] == [
        "w1 waits for ever for use 2 at station 1 of r, for a release by w0",
        "w0 would have to release it here",
    ]


_RING = Ring("r", 1, (("a",), ("b",)))
_READS = [loop("k", "K", read("r"))]


@together(
    ("kernel", "message"),
    [
        (kernel(_RING, a=[acquire("r", 1)]), "a works at station 1 of r, where it is not a party"),
        (
            kernel(_RING, a=[acquire("r", 0), use("r", 0, CARRY), release("r", 0)]),
            "r carries a value",
        ),
        (cluster(signal_all=False), "r: writers in another block are not told of the release"),
        (
            kernel(_RING, a=[when(early(1), loop("k", "K", write("r")))]),
            "a: cannot decide: a loop @k in a part of a loop with a skew",
        ),
        (kernel(_RING, a=[when(condition("p"), loop("k", "K", write("r")))], b=_READS), "deadlock: b waits for ever"),
        (
            kernel(_RING, **{p: [when(condition(p), loop("k", "K", f("r")))] for p, f in (("a", write), ("b", read))}),
            "the numbers of iterations of @k under a condition may differ between a and b",
        ),
        (kernel(_RING, a=[loop("k", "K", write("r"))] * 2), "a: cannot decide: loop @k twice in a row"),
        (
            kernel(
                Ring("r", 2, (("a",), ("b",))),
                a=write("r", 0, FENCE) * 2,
                b=[acquire("r", 1), work(GROUPS, ("r", 1, READ)), release("r", 1, GROUPS), *read("r"), wait(GROUPS)],
            ),
            "b: releases of r overtake each other",
        ),
        (
            kernel(_RING, a=[*write("r")[:-1], release("r", 0, TMA)], b=read("r")),
            "a: expected no release after TMA, which fills no slot of r here",
        ),
        # With few iterations it ends: what is wrong is that loops of all roles are replayed one after the other.
        (
            kernel(_RING, a=[loop("j", "K", write("r"))], b=_READS),
            "cannot decide: loop @j comes back to no state that was seen before: what is put into a ring and taken "
            "out of it differs, or ever more work is pending",
        ),
    ],
)
def test_what_is_refused(kernel: Kernel, message: str):
    with pytest.raises(RingError) as error:
        check(kernel)
    assert error.value.message.startswith(message)
