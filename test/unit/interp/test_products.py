"""Products and folds of numbers: which sums are exact, how far others are off, and what residues are."""

# pyright: basic

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from unit.cases import together
from xdsl.dialects.builtin import Float16Type, IntegerType, f32, i32
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from tirx.dialects.tirx import MemorySpace, MmaOp, TileType
from tirx.interp import products
from tirx.interp.memory import Numbers
from tirx.sim.numerics.modular import FUNCTIONS, ordered

_INF = float("inf")


@together(
    ("a", "b", "c", "digits", "exact"),
    [
        ([[1.0]], [[3.0]], None, 2, True),
        ([[1.0]], [[4.0]], None, 2, False),
        ([[0.5]], [[3.0]], None, 2, True),
        ([[0.5]], [[4.0]], None, 2, False),
        ([[1.0, 1.0]], [[3.0, 0.0]], None, 2, True),
        ([[2.0, 0.0]], [[1.0, 1.0]], None, 2, True),
        ([[1.0, 1.0]], [[2.0, 2.0]], None, 2, False),
        ([[1.0]], [[2.0]], [[1.0]], 2, True),
        ([[1.0]], [[2.0]], [[-2.0]], 2, False),
        ([[1.0]], [[0.5]], [[0.25]], 2, True),
        ([[1.0]], [[0.75]], [[0.25]], 2, False),
        ([[0.0]], [[_INF]], None, 20, False),
        ([[_INF]], [[0.0]], None, 20, False),
        ([[1.0]], [[1.0]], [[_INF]], 20, False),
    ],
)
def test_sums_in_any_order(a: Any, b: Any, c: Any, digits: int, exact: bool) -> None:
    left, right = (products._Operand(np.array(each, np.float32), None, None) for each in (a, b))
    assert products._is_exact(left, right, None if c is None else Numbers(np.array(c, np.float16)), digits) is exact


def _multiplied(element: Attribute, result: Attribute, a: Any, b: Any, c: Any, **words: Any) -> products.Sum:
    types = [TileType.get((1, 2), element, MemorySpace.SHARED)] * 2
    op = MmaOp(*map(create_ssa_value, (*types, TileType.get((1, 1), result, MemorySpace.REGISTER))))
    return products.multiply(op, a, b, c, (), **words)


def test_errors_of_products_are_those_of_their_operands() -> None:
    """A sum that is exact has an error if an operand has one."""
    plain = Numbers(np.array([[1.0, 2.0]], np.float16))
    off = Numbers(plain.data, None, np.array([[0.5, 0.0]]))
    zero, far = (Numbers(np.zeros((1, 1), np.float32), None, np.full((1, 1), error)) for error in (0.0, 0.25))
    for a, b, c, error in (
        (plain, plain, None, None),
        (plain, plain, zero, None),
        (plain, plain, Numbers(zero.data), None),
        (off, plain, None, 0.5),
        (plain, off, None, 0.5),
        (plain, plain, far, 0.25),
    ):
        found = _multiplied(Float16Type(), f32, a, b, c, bounds=True)
        assert found.exact and found.numbers.data.tolist() == [[5.0]]
        own = found.numbers.error
        assert (None if own is None else own.round(3).tolist()) == (None if error is None else [[error]])
        assert _multiplied(Float16Type(), f32, a, b, c, bounds=False).numbers.error is None


def test_integers_are_no_residues() -> None:
    numbers, c = Numbers(np.array([[100, 100]], np.int8)), Numbers(np.array([[7]], np.int32))
    assert _multiplied(IntegerType(8), i32, numbers, numbers, c, bounds=False, modular=True).numbers.data == 20007
    wide = Numbers(np.array([1000, 2000], np.int32))
    for how, total in (("add", 3000), ("mul", 2_000_000)):
        assert products.reduce(wide, (0,), how, bounds=False, modular=True).numbers.data == total
        assert products.combined(how, True)(wide, wide).data.tolist() == (
            [2000, 4000] if how == "add" else [1_000_000, 4_000_000]
        )


def test_folds_of_residues() -> None:
    data = np.array([[300.5, -7.0, 33.0]], np.float32)
    for how in ("add", "mul", "max", "min"):
        function, parts = FUNCTIONS[how], [data[:, :1], data[:, 1:2], data[:, 2:]]
        two = function(parts[0], parts[1])
        expected = [ordered(parts[0]), two, function(two, parts[2])]
        found = products.reduce(Numbers(data), (1,), how, bounds=True, modular=True)
        assert found.exact and found.numbers.error is None
        assert FUNCTIONS["sub"](found.numbers.data, expected[-1]).tolist() == [[0.0]], how
        scanned = products.scan(Numbers(data), 1, how, bounds=True, modular=True).numbers.data
        assert FUNCTIONS["sub"](scanned, np.concatenate(expected, 1)).tolist() == [[0.0] * 3], how
        both = products.combined(how, True)(Numbers(parts[0]), Numbers(parts[1])).data
        assert both.tolist() == two.astype(np.float32).tolist(), how


@together(
    ("how", "data", "dtype", "exact"),
    [
        ("add", [0.5, 0.5], np.float16, True),
        ("mul", [0.5, 0.5], np.float16, False),
        ("mul", [2.0, 3.0, 0.0], np.float16, True),
        ("add", [2047.0, 0.0], np.float16, True),
        ("add", [2047.0, -1.0], np.float16, False),
        ("mul", [1024.0, 0.0, 2.0], np.float16, False),
        ("mul", [0.0, 23.0, 89.0], np.float16, True),
        ("add", [_INF, 1.0], np.float16, False),
        ("add", [3.0, 4.0], ml_dtypes.float6_e2m3fn, True),
        ("add", [4.0, 4.0], ml_dtypes.float6_e2m3fn, False),
        ("max", [_INF, 0.3], np.float16, True),
    ],
)
def test_folds_in_any_order(how: str, data: list[float], dtype: Any, exact: bool) -> None:
    assert products.reduce(Numbers(np.array(data, dtype)), (0,), how, bounds=True).exact is exact


def test_errors_of_folds() -> None:
    """Of what is exact only those of the elements; a product with a zero is zero."""
    numbers = Numbers(np.array([0.0, 1.0, 1.0], np.float32), None, np.array([0.0, 1e200, 1e200]))
    found = products.reduce(numbers, (0,), "mul", bounds=True)
    assert found.exact and found.numbers.error is not None and found.numbers.error.tolist() == [0.0]
    old, new = (Numbers(np.array([each], np.float32), None, np.array([0.5])) for each in (1.0, 2.0**-30))
    for how, least in (("add", 1.0 + 2.0**-23), ("max", 1.0), ("min", 1.0)):
        error = products.combined(how)(old, new).error
        assert error is not None and error[0] >= least and (error[0] == 1.0) == (how != "add")
    assert products.combined("add")(Numbers(old.data), new).error is None
    error = products.combined("add")(old, Numbers(old.data)).error
    assert error is not None and error.tolist() == [0.5]
