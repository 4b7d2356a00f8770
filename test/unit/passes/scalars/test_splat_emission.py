"""Registers of tiles whose elements are all one scalar."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, dtype_of, evaluated
from unit.passes.parsed import parsed
from xdsl.dialects import arith
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.tirx import KernelOp
from tirx.dialects.tirx.registers import SplatOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.scalars.splat_emission import splat
from tirx.rules import PackedElementsError


def _operation(element: str, scalar: str = "%x", count: int = 12) -> tuple[KernelOp, SplatOp]:
    """A splat of the last argument, or of an operation of it."""
    own, _, text = scalar.partition("; ")
    argument = element if not text else text.split(" : ")[1].split(" to ")[0]
    line = f"{own} = {text}" if text else ""
    tile = f"!tirx.tile<32x{count}x{element}, register, #tirx.tile_layout<S[(32, {count}) : (1@laneid, 1)]>>"
    kernel = f"""
tirx.kernel @k(%x: {argument}) target("sm_100a") threads(32) {{
  {line}
  %r = tirx.splat {own} : {element} -> {tile}
  tirx.return
}}"""
    module = parsed(kernel)
    (op,) = (op for op in module.walk() if isinstance(op, SplatOp))
    (kernel_op,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return kernel_op, op


@together(
    ("element", "number", "word"),
    [
        ("i8", 0xA5, 0xA5A5A5A5),
        ("f16", 0x3C01, 0x3C013C01),
        ("f32", 0x3FC00000, 0x3FC00000),
        ("i32", 0x12345678, 0x12345678),
        ("f64", 0x3FF8000000000001, 0x3FF8000000000001),
    ],
)
def test_registers(element: str, number: int, word: int) -> None:
    """One register, as often as the tile has registers, with the scalar in all its elements."""
    kernel, op = _operation(element)
    argument = kernel.body.block.args[0]
    format_ = register_format(op.result.type)
    block = Block()
    found = splat(Emitter(InsertPoint.at_end(block), UnknownLoc()), op)
    assert len(found) == format_.count == -(-12 // format_.packed) and len(set(found)) == 1
    bits = np.uint8 if element == "i8" else np.dtype(dtype_of(argument.type))
    dtype = np.dtype(bits)
    values: dict[SSAValue, Lanes] = {argument: np.full(32, number, f"u{dtype.itemsize}").view(dtype)}
    evaluated(block.ops, values)
    register = values[found[0]]
    assert register.view(f"u{register.dtype.itemsize}").tolist() == [word] * 32


@together(
    ("element", "number", "word"),
    [
        ("f8E4M3FN", "1.5", 0x3C3C3C3C),
        ("f8E5M2", "-2.0", 0xC0C0C0C0),
        ("f6E2M3FN", "1.0", 0x08080808),
        ("f4E2M1FN", "-3.0", 0xDDDDDDDD),
    ],
)
def test_constants_of_few_bits(element: str, number: str, word: int) -> None:
    _, op = _operation(element, f"%y; arith.constant {number} : {element}", 16)
    block = Block()
    found = splat(Emitter(InsertPoint.at_end(block), UnknownLoc()), op)
    values: dict[SSAValue, Lanes] = {}
    evaluated(block.ops, values)
    assert len(found) == register_format(op.result.type).count and values[found[0]].tolist() == [word] * 32


@pytest.mark.parametrize(
    ("element", "names"),
    [
        ("f8E4M3FN", ["ptx.cvt.pair", "ptx.pack"]),
        # Two elements of 4 bits are a byte, which goes to all four bytes of the register.
        ("f4E2M1FN", ["ptx.cvt.pair", *["arith.shli", "arith.ori"] * 2, "ptx.pack"]),
    ],
)
def test_numbers_that_are_rounded(element: str, names: list[str]) -> None:
    _, op = _operation(element, f"%y; arith.truncf %x : f32 to {element}", 16)
    assert isinstance(op.value.owner, arith.TruncFOp)
    block = Block()
    found = splat(Emitter(InsertPoint.at_end(block), UnknownLoc()), op)
    assert [each.name for each in block.ops if each.operands] == names
    assert found[0].owner is block.last_op


def test_types_without_arithmetic() -> None:
    _, op = _operation("si4")
    with pytest.raises(PackedElementsError) as error:
        splat(Emitter(InsertPoint.at_end(Block()), UnknownLoc()), op)
    assert error.value.message == "expected a fill with a type that arith computes in registers, found si4"
