"""Iterations of loops: constants where bounds are, and operations that compute them."""

from __future__ import annotations

import numpy as np
from unit.cases import together
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, UnknownLoc
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.trip_count import trip_count

Triple = tuple[int, int, int]

BOUNDS: list[Triple] = [(0, 24, 8), (0, 25, 8), (3, 24, 7), (3, 25, 7), (-5, 6, 4), (9, 9, 1), (9, 8, 1), (24, 0, 8)]


def _loop(bounds: Triple, constants: str) -> tuple[Block, scf.ForOp, dict[SSAValue, Lanes]]:
    """A loop whose bounds and step are constants where `constants` has a c."""
    block = Block(arg_types=[IndexType()] * 3)
    ends: list[SSAValue] = []
    values: dict[SSAValue, Lanes] = {}
    for bound, kind, argument in zip(bounds, constants, block.args, strict=True):
        values[argument] = np.full(32, bound, np.int64).view(np.uint64)
        if kind == "c":
            block.add_op(constant := arith.ConstantOp.from_int_and_width(bound, IndexType()))
            ends.append(constant.result)
        else:
            ends.append(argument)
    body = Block([scf.YieldOp()], arg_types=[IndexType()])
    low, high, step = ends
    return block, scf.ForOp(low, high, step, [], Region(body)), values


@together("bounds", BOUNDS)
def test_iterations(bounds: Triple) -> None:
    expected = len(range(*bounds))
    for constants in ("ccc", "cc-", "-cc", "c-c", "---"):
        block, loop, values = _loop(bounds, constants)
        found = trip_count(Emitter(InsertPoint.at_end(block), UnknownLoc()), loop)
        assert isinstance(found, int) == (constants == "ccc")
        if isinstance(found, int):
            assert found == expected
        else:
            evaluated(block.ops, values)
            assert values[found].tolist() == [expected] * 32
            assert found.name_hint == "loop_trips"


def test_steps_that_are_not_positive_stay_operations() -> None:
    """The pass that checks kernels refuses them."""
    for step in (0, -1):
        block, loop, _ = _loop((0, 8, step), "ccc")
        assert not isinstance(trip_count(Emitter(InsertPoint.at_end(block), UnknownLoc()), loop), int)


def test_no_operations_for_what_is_zero_or_one() -> None:
    def names(bounds: Triple) -> list[str]:
        block, loop, _ = _loop(bounds, "c-c")
        trip_count(Emitter(InsertPoint.at_end(block), UnknownLoc()), loop)
        return [op.name.removeprefix("arith.") for op in block.ops if op.operands]

    assert names((0, 8, 1)) == ["maxsi"]
    assert names((0, 8, 2)) == ["maxsi", "ceildivui"]
    assert names((1, 8, 1)) == ["subi", "maxsi"]
    assert names((1, 8, 3)) == ["subi", "maxsi", "ceildivui"]
