"""Reductions in global memory: the instructions, their registers and offsets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from unit.cases import together
from xdsl.dialects.builtin import (
    Float64Type,
    IntegerType,
    Signedness,
    UnknownLoc,
    bf16,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block
from xdsl.rewriter import InsertPoint

from tirx.dialects.ptx.reductions import Red, RedOp
from tirx.hw.targets import Target
from tirx.passes.copies.global_reductions import GlobalReduction
from tirx.passes.ir.emitter import Emitter
from tirx.rules import ReductionTypeError

U32, U64 = (IntegerType(width, Signedness.UNSIGNED) for width in (32, 64))
F64 = Float64Type()

Found = list[tuple[int, list[int], str, bool]]
"""Offset, numbers of registers, format, whether unsigned."""


def _emitted(operation: Red, element: Attribute, register: Attribute, vectors: bool, count: int) -> Found:
    block = Block(arg_types=[i64, *[register] * count])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    target = Target.parse("sm_90" if vectors else "sm_80")
    GlobalReduction(operation, element, target).emit(emit, block.args[0], 100, block.args[1:])
    found: Found = []
    for op in block.ops:
        assert isinstance(op, RedOp) and op.operation.data is operation and op.address is block.args[0]
        format_ = "" if op.format is None else op.format.data.value
        offset = op.offset.value.data
        numbers = [block.args.index(each) - 1 for each in op.data]  # pyright: ignore[reportArgumentType]
        found.append((offset, numbers, format_, op.unsigned is not None))
    return found


@together(
    ("operation", "element", "register", "vectors", "expected"),
    [
        (
            Red.ADD,
            f16,
            i32,
            False,
            [(100, [0], "f16x2", False), (104, [1], "f16x2", False), (108, [2], "f16x2", False)],
        ),
        (Red.ADD, f32, f32, False, [(100, [0], "", False), (104, [1], "", False), (108, [2], "", False)]),
        (Red.ADD, F64, F64, True, [(100, [0], "", False), (108, [1], "", False), (116, [2], "", False)]),
        (Red.ADD, i32, i32, True, [(100, [0], "", False), (104, [1], "", False), (108, [2], "", False)]),
        (Red.ADD, U32, i32, False, [(100, [0], "", False), (104, [1], "", False), (108, [2], "", False)]),
        (Red.MIN, U32, i32, False, [(100, [0], "", True), (104, [1], "", True), (108, [2], "", True)]),
        (Red.MAX, U64, i64, False, [(100, [0], "", True), (108, [1], "", True), (116, [2], "", True)]),
        (Red.MAX, i64, i64, False, [(100, [0], "", False), (108, [1], "", False), (116, [2], "", False)]),
        (Red.MIN, i32, i32, False, [(100, [0], "", False), (104, [1], "", False), (108, [2], "", False)]),
    ],
)
def test_instructions(operation: Red, element: Attribute, register: Attribute, vectors: bool, expected: Found) -> None:
    assert _emitted(operation, element, register, vectors, 3) == expected


@pytest.mark.parametrize(("element", "register", "format_"), [(bf16, i32, "bf16x2"), (f32, f32, "")])
def test_vectors(element: Attribute, register: Attribute, format_: str) -> None:
    """All registers at once where the target has it (PTX ISA, red: .v2 and .v4)."""
    assert _emitted(Red.ADD, element, register, True, 4) == [(100, [0, 1, 2, 3], format_, False)]
    assert _emitted(Red.ADD, element, register, True, 2) == [(100, [0, 1], format_, False)]


def _refused(operation: Red, element: Attribute) -> str:
    with pytest.raises(ReductionTypeError) as error:
        _emitted(operation, element, i32, False, 1)
    return error.value.message


def test_other_types() -> None:
    expected = (
        "expected add, min or max of f16, bf16, f32 or f64, or add, min, max, and, or, xor of integers of 32 or 64 "
        "bits in memory, found {}"
    )
    cases: Sequence[tuple[Red, Attribute]] = (
        (Red.AND, f16), (Red.OR, bf16), (Red.XOR, f32), (Red.AND, F64),
        (Red.ADD, IntegerType(16)), (Red.ADD, IntegerType(8)),
    )  # fmt: skip
    for operation, element in cases:
        assert _refused(operation, element) == expected.format(f"{operation} of {element}")


@pytest.mark.parametrize("half", [0, 1])
def test_halves_of_a_register(half: int) -> None:
    block = Block(arg_types=[i64, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    GlobalReduction(Red.ADD, bf16, Target.parse("sm_90")).emit_half(emit, block.args[0], 34, block.args[1], half)
    unpack, red = block.ops
    assert isinstance(red, RedOp) and red.address is block.args[0]
    assert list(red.data) == [unpack.results[half]] and unpack.operands[0] is block.args[1]
    assert red.offset.value.data == 34
    for operation, element, name in ((Red.ADD, f32, "add of f32"), (Red.AND, f16, "and of f16")):
        with pytest.raises(ReductionTypeError, match=f"in memory, found {name}"):
            GlobalReduction(operation, element, Target.parse("sm_90")).emit_half(
                emit, block.args[0], 34, block.args[1], half
            )
