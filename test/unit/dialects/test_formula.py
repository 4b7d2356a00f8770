"""Formulas of a launch, and names of schedules: values of the dialects that need no IR."""

import pytest
from unit.cases import together

from tirx.dialects.formula import Call, Formula, LaunchSizes, constant_divisors, lookups
from tirx.dialects.schedule_names import RingPlace, SlotTile

SIZES = LaunchSizes(shapes=((5, 7), (), (11,)), strides=((70, 3), (), (13,)), sm_count=132)
FORMULAS = [
    (-3, -3),
    (Call("sm_count"), 132),
    (Call("cluster_count", (4,)), 33),
    (Call("cluster_count", (200,)), 1),
    (Call("size", (0, 1)), 7),
    (Call("size", (2, 0)), 11),
    (Call("stride", (0, 0)), 70),
    (Call("stride", (2, 0)), 13),
    (Call("add", (Call("size", (0, 0)), 9)), 14),
    (Call("mul", (Call("size", (0, 0)), -9)), -45),
    (Call("ceildiv", (7, 1)), 7),
    (Call("ceildiv", (7, 2)), 4),
    (Call("ceildiv", (8, 2)), 4),
    (Call("ceildiv", (-7, 2)), -3),
    (Call("min", (5, 3)), 3),
    (Call("max", (5, 3)), 5),
    (Call("size", (0, 2)), "expected an argument that has size(0, 2), found none"),
    (Call("stride", (1, 0)), "expected an argument that has stride(1, 0), found none"),
    (Call("size", (3, 0)), "expected an argument that has size(3, 0), found none"),
    (Call("ceildiv", (7, 0)), "expected a positive divisor in ceildiv(7, 0), found 0"),
    (Call("ceildiv", (7, -1)), "expected a positive divisor in ceildiv(7, -1), found -1"),
]


@together(("formula", "expected"), FORMULAS)
def test_values_of_a_launch(formula: Formula, expected: int | str):
    try:
        found = SIZES.evaluate(formula)
    except ValueError as error:
        found = str(error)
    assert found == expected


def test_what_a_formula_asks_for():
    inner = Call("ceildiv", (Call("stride", (2, 3)), 4))
    formula = Call("add", (Call("ceildiv", (Call("size", (0, 1)), inner)), Call("ceildiv", (6, 5))))
    assert lookups(formula) == [("size", 0, 1), ("stride", 2, 3)]
    assert constant_divisors(formula) == [4, 5]
    assert (lookups(3), constant_divisors(3)) == ([], [])
    assert constant_divisors(Call("mul", (2, 3))) == []


@together(
    ("function", "operands", "message"),
    [
        ("size", (1,), "expected 2 numbers of 0 or more for size, found size(1)"),
        ("stride", (0, -1), "expected 2 numbers of 0 or more for stride, found stride(0, -1)"),
        ("size", (0, Call("sm_count")), "expected 2 numbers of 0 or more for size, found size(0, sm_count())"),
        ("sm_count", (1,), "expected 0 numbers of 0 or more for sm_count, found sm_count(1)"),
        ("min", (1, 2, 3), "expected two operands for min, found min(1, 2, 3)"),
        (
            "sub",
            (1, 2),
            "expected a function of size, stride, sm_count, cluster_count, add, mul, ceildiv, min, max, found sub",
        ),
    ],
)
def test_formulas_that_do_not_exist(function: str, operands: tuple[Formula, ...], message: str):
    with pytest.raises(ValueError) as found:
        Call(function, operands)
    assert str(found.value) == message


def test_parameters_have_no_number_yet():
    formula = Call("ceildiv", (Call("size", (0, 1)), Call("BM")))
    with pytest.raises(ValueError, match="^expected a number for the parameter BM$"):
        SIZES.evaluate(formula)


def test_a_ring_gets_its_places():
    tiles = (SlotTile("a", "shared", -1, 512), SlotTile("", "tensor", -1, 64))
    placed = RingPlace("r", 4, ("fill", "read", "turn"), (32, -1, 0), tiles).placed(4096, (1024, 128))
    assert placed.barriers == (4128, -1, 4096)
    assert placed.tiles == (SlotTile("a", "shared", 1024, 512), SlotTile("", "tensor", 128, 64))
    assert (placed.name, placed.slots, placed.stations) == ("r", 4, ("fill", "read", "turn"))
