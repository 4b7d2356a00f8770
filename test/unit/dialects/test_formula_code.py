"""Formulas as Python code: the same values as those of `LaunchSizes.evaluate`, and the first of the least ones."""

from __future__ import annotations

from random import Random

import pytest

from tirx.dialects.formula import OPERATORS, Call, Formula, LaunchSizes, Requirement
from tirx.dialects.formula_code import LeastCost, Parts, compiled

_LAUNCHES = [
    LaunchSizes([(m, n), (k,)], [(n, 1), (1,)], 132) for m in (0, 1, 7, 130) for n in (1, 64) for k in (5, 900)
]
_LEAVES: tuple[Formula, ...] = (
    *(Call("size", (0, 0)), Call("size", (0, 1)), Call("size", (1, 0)), Call("stride", (0, 0))),
    *(Call("sm_count"), Call("cluster_count", (4,)), -3, 0, 1, 8, 1 << 40),
)


def _made(random: Random, depth: int, known: list[Formula]) -> Formula:
    """A formula; parts of it are parts of others, too. Divisors are numbers, or 1 or more."""
    if depth == 0 or random.random() < 0.1:
        return random.choice(_LEAVES)
    if known and random.random() < 0.3:
        return random.choice(known)
    function = random.choice([*OPERATORS])
    a, b = (_made(random, depth - 1, known) for _ in range(2))
    if function == "ceildiv":
        b = random.choice((-7, 16, 132)) if random.random() < 0.5 else Call("max", (b, 1))
    known.append(Call(function, (a, b)))
    return known[-1]


def _formulas(random: Random, count: int) -> list[Formula]:
    known: list[Formula] = []
    return [_made(random, 5, known) for _ in range(count)]


def _values(formula: Formula, launch: LaunchSizes) -> int:
    """As `evaluate`, which refuses negative divisors."""
    match formula:
        case Call(function, (a, b)) if function in OPERATORS:
            return OPERATORS[function](_values(a, launch), _values(b, launch))
        case _:
            return launch.evaluate(formula)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(100))
def test_code_has_the_values_of_formulas(seed: int) -> None:
    formulas = _formulas(Random(seed), 12)
    evaluate = compiled(formulas)
    for launch in _LAUNCHES:
        assert evaluate(launch) == [_values(each, launch) for each in formulas]


def test_long_sums_are_code() -> None:
    """Expressions that Python would not parse are several."""
    formula: Formula = Call("size", (0, 0))
    for i in range(500):
        formula = Call("max" if i % 2 else "add", (formula, Call("add", (i, formula))))
    assert compiled([formula])(_LAUNCHES[2])[0] > 0


def _costs(random: Random) -> list[Formula]:
    """Costs with bounds in front of some of them; some are equal."""
    costs = _formulas(random, 9)
    for i in range(0, 9, 2):
        costs[i] = Call("max", (costs[i - 1], Call("max", (costs[i - 3], costs[i]))))
    return [*costs, *costs[:3]]


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(100))
def test_the_first_of_the_least_costs_is_found(seed: int) -> None:
    random = Random(seed)
    costs = _costs(random)
    tests = "multiple_of", "at_most", "at_least", "equal"
    asked = [
        [
            Requirement(random.choice(_LEAVES[:3]), random.choice(tests), random.choice((1, 7, 64)), "")
            for _ in range(random.choice((0, 0, 1, 2)))
        ]
        for _ in costs
    ]
    found = LeastCost(costs, asked)
    for launch in _LAUNCHES:
        fitting = [i for i, each in enumerate(asked) if all(one.holds(launch) for one in each)]
        least = min(fitting, key=lambda i: _values(costs[i], launch), default=None)
        assert found.place(launch) == least, (seed, launch)


def test_costs_are_evaluated_only_where_their_bounds_are_least() -> None:
    """The bound of the second formula is more than the first one, whose divisor is 1; its own divisor is 0."""
    size, other = Call("size", (0, 0)), Call("ceildiv", (8, Call("size", (0, 1))))
    found = LeastCost([Call("max", (size, other)), Call("max", (9, other))], [(), ()])
    assert (
        found.place(LaunchSizes([(4, 1)], [], 1))
        == 0
        == LeastCost([size, Call("max", (9, other))], [(), ()]).place(LaunchSizes([(4, 0)], [], 1))
    )
    assert found.place(LaunchSizes([(10, 1)], [], 1)) == 1


def test_parts_that_most_groups_have_are_common() -> None:
    """Without the parts of these, and numbers; a lookup is common, too."""
    parts, m, n = Parts(), Call("size", (0, 0)), Call("size", (0, 1))
    product = Call("add", (Call("mul", (m, n)), 7))
    costs = (Call("add", (product, 1)), Call("max", (product, 1)), Call("min", (product, 1)), 3, 4, 5)
    groups = [[parts.place(each)] for each in costs]
    lookups = [parts.place(m), parts.place(n)]
    assert parts.common(groups[:5]) == [*lookups, parts.place(product)]
    assert parts.common(groups) == lookups


@pytest.mark.parametrize(("m", "n"), [(16, 2), (16, 16), (12, 1), (0, 1)])
def test_bounds_of_conditions_may_be_products(m: int, n: int) -> None:
    launch = LaunchSizes([(m, n)], [], 1)
    for test in ("multiple_of", "at_most", "at_least", "equal"):
        asked = Requirement(Call("size", (0, 0)), test, Call("mul", (Call("size", (0, 1)), 8)), "")
        assert (LeastCost([1], [[asked]]).place(launch) == 0) is asked.holds(launch)


@pytest.mark.parametrize(
    ("function", "times", "message"),
    [
        ("mul", 60, "formulas of at most 4096 bits, found one of 8064"),
        ("add", 700, "at most 600 operations within each"),
    ],
)
def test_formulas_that_grow_for_ever_are_refused(function: str, times: int, message: str) -> None:
    formula: Formula = Call("size", (0, 0))
    for _ in range(times):
        formula = Call(function, (formula, formula))
    with pytest.raises(ValueError, match=f"^expected {message}"):
        LeastCost([formula], [()])


@pytest.mark.parametrize("place", [0, 1])
def test_operations_within_each_other_are_counted(place: int) -> None:
    formula: Formula = Call("size", (0, 0))
    for _ in range(600):
        formula = Call("max", (formula, 8) if place == 0 else (8, formula))
    assert compiled([formula])(_LAUNCHES[-1]) == [130]
    with pytest.raises(
        ValueError, match="^expected at most 600 operations within each other in a formula, found more$"
    ):
        compiled([Call("add", (formula, formula))])


def test_a_sum_has_one_bit_more() -> None:
    """Of 2 sizes it has 64, which 6 squares make 4096."""
    size = Call("size", (0, 0))
    for sizes in (2, 3):
        formula: Formula = size
        for _ in range(sizes - 1):
            formula = Call("add", (formula, size))
        for _ in range(6):
            formula = Call("mul", (formula, formula))
        if sizes == 2:
            assert compiled([formula])(_LAUNCHES[1]) == [0]
        else:
            with pytest.raises(ValueError, match="^expected formulas of at most 4096 bits, found one of 4160$"):
                compiled([formula])


def test_nothing_is_least_of_none() -> None:
    launch = _LAUNCHES[0]
    assert LeastCost([], []).place(launch) is None
    assert LeastCost([1], [[Requirement(Call("size", (0, 0)), "at_least", 1, "")]]).place(launch) is None


def test_parameters_have_no_code() -> None:
    formula = Call("ceildiv", (Call("size", (0, 1)), Call("BM")))
    with pytest.raises(ValueError, match="^expected a number for the parameter BM$"):
        compiled([formula])


def test_costs_without_a_value_are_an_error() -> None:
    size, cost = Call("size", (0, 0)), Call("ceildiv", (8, Call("size", (0, 1))))
    for launch in (LaunchSizes([(4, 0)], [], 1), LaunchSizes([(4,)], [], 1), LaunchSizes([], [], 1)):
        with pytest.raises(ValueError, match="^expected costs that are defined for the sizes of a launch, found "):
            LeastCost([Call("add", (size, cost)), 1], [(), ()]).place(launch)
