"""Constants that instructions compute, and operands that change nothing, against Python's numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.test_value import create_ssa_value

from tirx.dialects import ptx
from tirx.dialects.ptx.folding import fold_integers

_KINDS: dict[type[Operation], Callable[[int, int], int]] = {
    ptx.AddOp: lambda a, b: a + b,
    ptx.SubOp: lambda a, b: a - b,
    ptx.MulLoOp: lambda a, b: a * b,
    ptx.AndOp: lambda a, b: a & b,
    ptx.OrOp: lambda a, b: a | b,
    ptx.XorOp: lambda a, b: a ^ b,
}
_TYPES = (i32, i64)


@pytest.mark.parametrize("type_", _TYPES, ids=str)
@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
def test_two_constants(kind: type[Operation], type_: IntegerType) -> None:
    bits = type_.width.data
    numbers = (0, 1, 6, -1, -7, 1 << bits - 2, -(1 << bits - 1))
    for a in numbers:
        for b in numbers:
            op = kind.create(operands=[_constant(n, type_) for n in (a, b)], result_types=[type_])
            (found,) = fold_integers(op) or [None]
            assert isinstance(found, IntegerAttr)
            assert (found.value.data - _KINDS[kind](a, b)) % (1 << bits) == 0, (a, b)


def _constant(number: int, type_: IntegerType) -> SSAValue:
    return ptx.ConstantOp.integer(number, type_).results[0]


@pytest.mark.parametrize("type_", _TYPES, ids=str)
@pytest.mark.parametrize(
    ("kind", "neutral", "absorbing", "commutes"),
    [
        (ptx.AddOp, 0, None, True),
        (ptx.SubOp, 0, None, False),
        (ptx.MulLoOp, 1, 0, True),
        (ptx.AndOp, -1, 0, True),
        (ptx.OrOp, 0, -1, True),
        (ptx.XorOp, 0, None, True),
    ],
)
def test_one_constant(
    kind: type[Operation], neutral: int, absorbing: int | None, commutes: bool, type_: IntegerType
) -> None:
    x = create_ssa_value(type_)
    for number in (0, 1, -1, 2):
        constant = _constant(number, type_)
        answer = x if number == neutral else constant if number == absorbing else None
        for operands, expected in (([x, constant], answer), ([constant, x], answer if commutes else None)):
            found = fold_integers(kind.create(operands=operands, result_types=[type_]))
            assert found == (None if expected is None else [expected]), (number, operands)


@pytest.mark.parametrize(
    ("kind", "flags", "number", "amount", "found"),
    [
        (ptx.ShlOp, {}, 5, 2, 20),
        (ptx.ShlOp, {}, 5, 31, 1 << 31),
        (ptx.ShlOp, {}, 5, 32, 0),
        (ptx.ShlOp, {}, 5, -1, 0),
        (ptx.ShrOp, {}, -8, 2, -2),
        (ptx.ShrOp, {}, -8, 40, -1),
        (ptx.ShrOp, {"unsigned": True}, -8, 1, (1 << 31) - 4),
        (ptx.ShrOp, {"unsigned": True}, -8, 32, 0),
    ],
)
def test_shifts(
    kind: type[ptx.ShlOp | ptx.ShrOp], flags: dict[str, bool], number: int, amount: int, found: int
) -> None:
    op = kind(_constant(number, i32), _constant(amount, i32), **flags)
    (result,) = fold_integers(op) or [None]
    assert isinstance(result, IntegerAttr) and (result.value.data - found) % (1 << 32) == 0
    zero, some = _constant(0, i32), create_ssa_value(i32)
    assert fold_integers(kind(zero, some, **flags)) == [zero]
    assert fold_integers(kind(some, zero, **flags)) == [some]
    assert fold_integers(kind(some, _constant(1, i32), **flags)) is None
