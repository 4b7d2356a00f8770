"""Costs of variants in a launch descriptor: formulas that differ in their numbers only stand there once.

Each of the `costs` of a descriptor is a list of formulas, the last of which is the cost. In them `"s2"` is formula 2 of
the list, which comes before, and `"n3"` number 3 of a variant, whose cost is `["cost", 4, ...]`: formula 4 of `costs`,
and its numbers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tirx.dialects.formula import Call, Formula
from tirx.dialects.formula_code import Parts

_Read = Callable[[Any], Formula]

_EARLIER = re.compile("[sn][0-9]+")
"""A formula that comes before, or a number of the variant."""


def write_costs(costs: Sequence[Formula]) -> tuple[list[Any], list[Any]]:
    """The shared lists of formulas as JSON, and each of the costs; numbers stay numbers."""
    found: dict[str, list[int]] = {}
    numbers: list[list[int]] = []
    for i, cost in enumerate(costs):
        steps, own = _steps(cost)
        numbers.append(own)
        if not isinstance(cost, int):
            found.setdefault(json.dumps(steps), []).append(i)
    shared, written = list[Any](), list[Any](costs)
    for text, places in found.items():
        columns = list(zip(*(numbers[i] for i in places), strict=True))
        differ = [i for i, column in enumerate(columns) if len({*column}) > 1]
        known: dict[str, Any] = {f"n{i}": column[0] for i, column in enumerate(columns)}
        known |= {f"n{i}": f"n{n}" for n, i in enumerate(differ)}
        for i in places:
            written[i] = ["cost", len(shared), *(numbers[i][n] for n in differ)]
        shared.append([_with_numbers(each, known) for each in json.loads(text)])
    return shared, written


def read_cost(data: Any, shared: Sequence[Any], read: Callable[[Any, _Read], Formula]) -> Formula:
    """The counterpart of `write_costs` for one cost; `read` reads one operation, and calls for each of its operands."""
    steps: list[Formula] = []
    numbers: Sequence[Any] = ()

    def inner(each: Any) -> Formula:
        match each:
            case str() if _EARLIER.fullmatch(each):
                return (steps if each[0] == "s" else numbers)[int(each[1:])]
            case _:
                return read(each, inner)

    match data:
        case ["cost", int(i), *numbers] if i >= 0:
            for number in numbers:
                if type(number) is not int:
                    raise ValueError(f"expected a formula, found {number}")
            for each in shared[i]:
                steps.append(inner(each))
            return steps[-1]
        case _:
            return read(data, inner)


def _steps(formula: Formula) -> tuple[list[Any], list[int]]:
    """A formula as a list of what it uses several times, and itself; with places for its numbers, and the numbers."""
    parts, steps, numbers = Parts(), list[Any](), list[int]()
    parts.place(formula)
    uses = Counter(operand for place in range(len(parts.keys)) for operand in parts.operands(place))
    written: list[Any] = []

    def operand(place: int) -> Any:
        if isinstance(number := parts.keys[place], int):
            numbers.append(number)
            return f"n{len(numbers) - 1}"
        return written[place]

    for place, key in enumerate(parts.keys):
        match key:
            case (str(function), int(a), int(b)):
                each = [function, operand(a), operand(b)]
                if uses[place] > 1:
                    steps.append(each)
                    each = f"s{len(steps) - 1}"
            case Call(function, operands):
                each = [function, *operands]
            case _:
                each = key
        written.append(each)
    return [*steps, written[-1]], numbers


def _with_numbers(value: Any, known: dict[str, Any]) -> Any:
    match value:
        case [function, *operands]:
            return [function, *(_with_numbers(each, known) for each in operands)]
        case str():
            return known.get(value, value)
        case _:
            return value
