"""Costs of variants in descriptors: formulas that differ in their numbers stand there once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from xdsl.dialects.builtin import f16, f32

from tirx.dialects.formula import Call, Formula, LaunchSizes
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import Operands
from tirx.passes.match.variant_choice import choose_variants
from tirx.runtime.launch import Launch, Variant

_ROWS = Call("size", (0, 0))


def _launch(*costs: Formula) -> Launch:
    listed = tuple(Variant(f"k{i}", (), cost) for i, cost in enumerate(costs))
    return Launch("k", "sm_90a", None, None, (1, 1, 1), 0, (), variants=listed)


def _cost(rows: int, time: int) -> Formula:
    tiles = Call("ceildiv", (_ROWS, rows))
    return Call("add", (Call("mul", (tiles, time)), Call("max", (tiles, 7))))


def test_formulas_that_differ_in_numbers_stand_once() -> None:
    """Parts that one uses twice do, too; numbers that all have in common stand in the formula."""
    launch = _launch(_cost(64, 3), 5, _cost(128, 4), _ROWS)
    data = launch.to_json()
    assert data["costs"] == [
        [["ceildiv", ["size", 0, 0], "n0"], ["add", ["mul", "s0", "n1"], ["max", "s0", 7]]],
        [["size", 0, 0]],
    ]
    assert [each["cost"] for each in data["variants"]] == [["cost", 0, 64, 3], 5, ["cost", 0, 128, 4], ["cost", 1]]
    assert Launch.from_json(data) == launch
    data["variants"][0]["cost"] = ["add", 1, 2]  # as descriptors without `costs` have them
    assert Launch.from_json(data).variants[0].cost == Call("add", (1, 2))


def test_costs_of_products_are_read_as_they_were_written() -> None:
    operands = Operands((None, None, None), f16, f16, f32, f16)
    m, n, k = (Call("size", (0, d)) for d in range(3))
    launch = _launch(*(each.cost for each in choose_variants(operands, (m, n, k), Target.parse("sm_90a"), most=8)))
    text = json.dumps(launch.to_json())
    assert Launch.from_json(json.loads(text)) == launch and len(text) < 40_000


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (["cost", 1], "found one with a fault: IndexError"),
        (["cost", 0], "found one with a fault: IndexError"),
        (["cost", 0, "64"], "expected a formula, found 64"),
        (["cost", 0, True], "expected a formula, found True"),
        (["cost", 0, ["add", "n0", 1]], "expected a formula, found .'add', 'n0', 1."),
        (["cost", -1, 64], "expected a function of size, .* found cost"),
        (["cost"], "expected a function of size, .* found cost"),
        ("s0", "expected a formula, found s0"),
    ],
)
def test_wrong_costs(cost: Any, message: str) -> None:
    data = _launch(Call("ceildiv", (_ROWS, 64)), Call("ceildiv", (_ROWS, 128))).to_json()
    data["variants"][0]["cost"] = cost
    with pytest.raises(ValueError, match=message):
        Launch.from_json(data)


@pytest.mark.parametrize("part", ["s-1", "n-1", "s 0", "n1", "s1", "s", "x0"])
def test_parts_are_those_before_and_numbers_of_the_variant(part: str) -> None:
    data = _launch(_ROWS).to_json()
    data["variants"][0]["cost"], data["costs"] = ["cost", 0, 8], [[["size", 0, 0], ["mul", "s0", part]]]
    with pytest.raises(ValueError, match="expected a"):
        Launch.from_json(data)


def test_costs_of_parts_of_parts_are_refused() -> None:
    """Before they take the stack, or for ever: each part is several times in the next one."""
    data = _launch(_ROWS).to_json()
    data["costs"] = [[["size", 0, 0], *(["add", f"s{i}", f"s{i}"] for i in range(3000))]]
    launch = Launch.from_json(data)
    with pytest.raises(ValueError, match="^expected at most 600 operations within each other in a formula"):
        launch.place(LaunchSizes([(4,)], [(1,)], 132))
