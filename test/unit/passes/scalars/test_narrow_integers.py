"""Bytes in registers of 16 bits: which of their bits are read as a sign."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block

from tirx.passes.scalars.narrow_integers import widen_bytes


@pytest.mark.parametrize("width", [8, 7, 16])
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons(predicate: str, width: int) -> None:
    """Bytes are clean 32-bit integers for comparisons, other integers as they are."""
    block = Block(arg_types=[IntegerType(width)])
    block.add_op(given := arith.ConstantOp.from_int_and_width(3, width))
    block.add_op(arith.CmpiOp(given.result, given.result, predicate))
    assert widen_bytes(list(block.ops)) == (width == 8)
    names = [op.name for op in block.ops if op.operands]
    signed, unsigned = ["arith.shli", "arith.shrsi", "arith.extsi"], ["arith.andi", "arith.extui"]
    extended = (unsigned if predicate.startswith("u") else signed) * 2
    assert names == [*(extended if width == 8 else []), "arith.cmpi"]
