"""Numbers of scalars: equal terms have equal numbers, in time that grows with the number of operations."""

from __future__ import annotations

from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Region, SSAValue

from tirx.dialects.tirx import ForOp
from tirx.passes.analysis.rings.scalars import ScalarNames


def doubled(value: SSAValue, times: int) -> SSAValue:
    for _ in range(times):
        value = AddiOp(value, value).result
    return value


def test_equal_terms_are_equal():
    x, y = Block(arg_types=[IndexType(), IndexType()]).args
    name = ScalarNames()
    assert name(AddiOp(x, y).result) == name(AddiOp(x, y).result)
    assert len({name(v) for v in (x, y, AddiOp(x, y).result, AddiOp(y, x).result, MuliOp(x, y).result)}) == 5


def test_iterations_of_copies_of_a_loop_are_equal():
    bodies = [Block(arg_types=[IndexType()]) for _ in range(3)]
    for symbol, body in zip("kkl", bodies, strict=True):
        ForOp(symbol, 4, Region(body))
    name = ScalarNames()
    first, second, other = (name(AddiOp(body.args[0], body.args[0]).result) for body in bodies)
    assert first == second != other


def test_values_that_are_no_pure_terms_differ():
    name = ScalarNames()
    first, second = (AnyOp(result_types=[IndexType()]).results[0] for _ in range(2))
    assert name(first) == name(first) != name(second)


def test_shared_and_deep_terms_are_cheap():
    x = Block(arg_types=[IndexType()]).args[0]
    name = ScalarNames()
    assert name(doubled(x, 1500)) == name(doubled(x, 1500)) != name(doubled(x, 1499))


def test_comparisons_with_zero():
    n = Block(arg_types=[IndexType()]).args[0]
    zero, one = (ConstantOp.from_int_and_width(value, IndexType()).result for value in (0, 1))
    name = ScalarNames()
    found = {predicate: name.zero_test(CmpiOp(n, zero, predicate).result) for predicate in ("eq", "ne", "sgt", "slt")}
    assert found == {"eq": (name(n), True), "ne": (name(n), False), "sgt": (name(n), False), "slt": None}
    assert name.zero_test(CmpiOp(n, one, "eq").result) is None
    assert name.zero_test(n) is None
