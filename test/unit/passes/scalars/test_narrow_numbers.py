"""Bytes in registers of 16 bits: which of their bits are read as a sign."""

from __future__ import annotations

from unit.cases import together
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block

from tirx.passes.scalars.narrow_numbers import defined_values, widen_narrow

SIGNED, UNSIGNED = ["arith.shli", "arith.shrsi", "arith.extsi"], ["arith.andi", "arith.extui"]
KINDS = {op.name: op for op in arith.Arith.operations}


def _names(block: Block) -> list[str]:
    return [op.name for op in block.ops if op.operands]


@together("width", [8, 7, 16])
@together("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons(predicate: str, width: int) -> None:
    """Bytes are clean 32-bit integers for comparisons, other integers as they are."""
    block = Block(arg_types=[IntegerType(width)])
    block.add_op(given := arith.ConstantOp.from_int_and_width(3, width))
    block.add_op(arith.CmpiOp(given.result, given.result, predicate))
    assert widen_narrow(list(block.ops), defined_values(list(block.ops))) == (width == 8)
    extended = (UNSIGNED if predicate.startswith("u") else SIGNED) * 2
    assert _names(block) == [*(extended if width == 8 else []), "arith.cmpi"]


@together("name", ["div", "rem", "min", "max", "shr", "ceildiv"])
@together("sign", ["s", "u"])
def test_operations_that_say_their_sign(name: str, sign: str) -> None:
    block = Block(arg_types=[IntegerType(8)])
    operation = f"arith.{name}{sign}i"
    block.add_op(KINDS[operation].create(operands=[block.args[0]] * 2, result_types=[IntegerType(8)]))
    assert widen_narrow(list(block.ops), defined_values(list(block.ops)))
    assert _names(block) == [*(SIGNED if sign == "s" else UNSIGNED) * 2, operation, "arith.trunci"]
