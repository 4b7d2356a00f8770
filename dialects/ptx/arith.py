"""Integer, floating-point, comparison and selection instructions.

Floating-point arithmetic always carries `.rn`: without a rounding modifier `ptxas` may contract `mul` and `add` into
`fma` (PTX ISA, "Floating Point Instructions: add").
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.irdl import VarConstraint, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, PureInstruction, Register, memory_type
from tirx.dialects.ptx.table import (
    BITS,
    FLOATS,
    INTS,
    BinaryInstruction,
    Form,
    TableInstruction,
    TernaryInstruction,
    UnaryInstruction,
    form,
    row,
)
from tirx.dialects.xdsl_private import operands_of
from tirx.rules import InstructionFormError


@row("add", form("add.{s}", *INTS), form("add.rn.{s}", *FLOATS, bf16="bf16.arith"))
class AddOp(BinaryInstruction):
    """`add.s32`, `add.rn.f32`. See PTX ISA, "Integer Arithmetic Instructions: add"."""


@row("sub", form("sub.{s}", *INTS), form("sub.rn.{s}", *FLOATS, bf16="bf16.arith"))
class SubOp(BinaryInstruction):
    """`sub.s32`, `sub.rn.f32`."""


@row("mul", form("mul.rn.{s}", *FLOATS, bf16="bf16.arith"))
class MulOp(BinaryInstruction):
    """`mul.rn.f32`; integers have `ptx.mul.lo` and `ptx.mul.wide`."""


@row("mul.lo", form("mul.lo.{s}", *INTS))
class MulLoOp(BinaryInstruction):
    """`mul.lo.s32`: the low half of the product."""


@row("div", form("div.{s}", *INTS), form("div.{u}", *INTS, flags="unsigned"), form("div.rn.{s}", f32, f64))
class DivOp(BinaryInstruction):
    """`div.s32`, `div.u32`, `div.rn.f32`. Integers round towards zero."""

    unsigned = opt_prop_def(UnitAttr)


@row("rem", form("rem.{s}", *INTS), form("rem.{u}", *INTS, flags="unsigned"))
class RemOp(BinaryInstruction):
    """`rem.s32`, `rem.u32`; the remainder has the sign of the dividend."""

    unsigned = opt_prop_def(UnitAttr)


def _extremum(name: str) -> Iterator[Form]:
    """Forms of `min` and `max`."""
    yield form(f"{name}.{{s}}", *INTS, *FLOATS, f16="f16.minmax", bf16="bf16.minmax")
    yield form(f"{name}.{{u}}", *INTS, flags="unsigned")
    needs = {"f16": "f16.minmax minmax.NaN", "bf16": "bf16.minmax minmax.NaN", "f32": "minmax.NaN"}
    yield form(f"{name}.NaN.{{s}}", f16, bf16, f32, flags="nan", **needs)


@row("min", *_extremum("min"))
class MinOp(BinaryInstruction):
    """`min.s32`, `min.u32`, `min.f32`; `nan` makes a NaN operand win instead of lose."""

    unsigned = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)


@row("max", *_extremum("max"))
class MaxOp(BinaryInstruction):
    """`max.s32`, `max.u32`, `max.f32`; `nan` makes a NaN operand win instead of lose."""

    unsigned = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)


def _of_bytes(name: str, flags: str = "") -> tuple[Form, ...]:
    modifier = f".{flags}" if flags else ""
    return (
        form(f"{name}{modifier}.s8x4", i32, flags=flags, i32="packed_integers"),
        form(f"{name}{modifier}.u8x4", i32, flags=f"unsigned {flags}", i32="packed_integers"),
    )


class _BytesInstruction(BinaryInstruction, abc.ABC):
    """An instruction on the four bytes of two registers: `ptxas` takes no literal."""

    LITERALS: ClassVar = False

    unsigned = opt_prop_def(UnitAttr)


class _SaturatingInstruction(_BytesInstruction, abc.ABC):
    """One that wraps, or with `sat` ends at the least and greatest byte."""

    sat = opt_prop_def(UnitAttr)


@row("add.x4", *_of_bytes("add"), *_of_bytes("add", "sat"))
class AddX4Op(_SaturatingInstruction):
    """`add.s8x4`, `add.sat.u8x4`: the four bytes of two registers, each by itself; sums wrap, or saturate with `sat`
    (PTX ISA, "add").
    """


@row("sub.x4", *_of_bytes("sub"), *_of_bytes("sub", "sat"))
class SubX4Op(_SaturatingInstruction):
    """`sub.s8x4`, `sub.sat.u8x4`: as `ptx.add.x4`."""


class _Extremum(_BytesInstruction, abc.ABC):
    """One that with `relu`, of bytes with a sign, gives no negative one."""

    relu = opt_prop_def(UnitAttr)


@row("min.x4", *_of_bytes("min"), form("min.relu.s8x4", i32, flags="relu", i32="packed_integers"))
class MinX4Op(_Extremum):
    """`min.s8x4`, `min.u8x4`, `min.relu.s8x4`: the lesser of each two bytes."""


@row("max.x4", *_of_bytes("max"), form("max.relu.s8x4", i32, flags="relu", i32="packed_integers"))
class MaxX4Op(_Extremum):
    """`max.s8x4`, `max.u8x4`, `max.relu.s8x4`: the greater of each two bytes."""


@row("neg.x4", form("neg.s8x4", i32, i32="packed_integers"))
class NegX4Op(UnaryInstruction):
    """`neg.s8x4`: the four bytes, each negated; -128 stays."""

    LITERALS: ClassVar = False


@row("add.sat", form("add.sat.s32", i32), form("add.sat.u32", i32, flags="unsigned", i32="packed_integers"))
class AddSatOp(BinaryInstruction):
    """`add.sat.s32`, `add.sat.u32`: a sum that ends at the least and greatest number."""

    unsigned = opt_prop_def(UnitAttr)


@row(
    "add.sat.x2",
    form("add.sat.s16x2", i32, i32="packed_integers"),
    form("add.sat.u16x2", i32, flags="unsigned", i32="packed_integers"),
)
class AddSatX2Op(_BytesInstruction):
    """`add.sat.s16x2`, `add.sat.u16x2`: sums of the halves of two registers."""


@row("and", form("and.{b}", *BITS))
class AndOp(BinaryInstruction):
    """`and.b32`, `and.pred`."""


@row("or", form("or.{b}", *BITS))
class OrOp(BinaryInstruction):
    """`or.b32`, `or.pred`."""


@row("xor", form("xor.{b}", *BITS))
class XorOp(BinaryInstruction):
    """`xor.b32`, `xor.pred`."""


@row("prmt", form("prmt.{b}", i32))
class PrmtOp(TernaryInstruction):
    """`prmt.b32 d, a, b, selector`: four bytes of two registers, each by a digit of the selector (PTX ISA, "prmt")."""


_AND_XOR = (0xF0 & 0xCC) ^ 0xAA
"""The table of `(a & b) ^ c` (PTX ISA, "lop3")."""


@row("lop3.and.xor", form("lop3.{b}", i32))
class LogicAndXorOp(TernaryInstruction):
    """`lop3.b32 d, a, b, c, 0x6a`: `(a & b) ^ c` in one instruction."""

    def emit(self, reg: Names) -> str:
        return f"{super().emit(reg)}, {_AND_XOR:#x}"


@row("not", form("not.{b}", *BITS))
class NotOp(UnaryInstruction):
    """`not.b32`, `not.pred`."""


@row("popc", form("popc.{b}", i32))
class PopcOp(UnaryInstruction):
    """`popc.b32`: the number of bits that are set."""


@row("clz", form("clz.{b}", i32))
class ClzOp(UnaryInstruction):
    """`clz.b32`: the number of zeros in front of the first bit that is set, 32 of no bit."""


@row("brev", form("brev.{b}", i32, i64))
class BrevOp(UnaryInstruction):
    """`brev.b32`: the bits in reversed order."""


@row("neg", form("neg.{s}", *INTS, *FLOATS, bf16="bf16.neg"))
class NegOp(UnaryInstruction):
    """`neg.s32`, `neg.f32`."""


@row(
    "ex2.approx",
    form("ex2.approx.{s}", f16, f32, f16="f16.ex2"),
    form("ex2.approx.ftz.{s}", bf16, f32, flags="ftz", bf16="bf16.ex2"),
)
class Ex2ApproxOp(UnaryInstruction):
    """`ex2.approx.f32`: 2 to the power of the operand, with a relative error of 2^-22 (2^-9.9 in f16, 2^-7 in bf16).

    `ftz` flushes subnormal operands and results to zero: bf16 has this form only, f16 has it not. See PTX ISA, "ex2".
    """

    ftz = opt_prop_def(UnitAttr)


@row(
    "fma",
    form("fma.rn.{s}", *FLOATS, bf16="bf16.fma"),
    form("fma.rm.{s}", f32, f64, flags="rm"),
    form("fma.rp.{s}", f32, f64, flags="rp"),
)
class FmaOp(TernaryInstruction):
    """`fma.rn.f32`: a * b + c with one rounding, to nearest, or with `rm` down and with `rp` up."""

    rm = opt_prop_def(UnitAttr)
    rp = opt_prop_def(UnitAttr)


@row("mad.lo", form("mad.lo.{s}", *INTS))
class MadLoOp(TernaryInstruction):
    """`mad.lo.s32`: the low half of a * b, plus c."""


@row("div.full", form("div.full.{s}", f32))
class DivFullOp(BinaryInstruction):
    """`div.full.f32`: a quotient with an error of at most two units in the last place (PTX ISA, "div")."""


@row("copysign", form("copysign.{s}", f32, f64))
class CopysignOp(TableInstruction):
    """`copysign.f32 d, sign, magnitude`: the second operand with the sign of the first (PTX ISA, "copysign")."""

    OPERANDS: ClassVar = ("sign", "magnitude")

    sign = operand_def(TableInstruction.T)
    magnitude = operand_def(TableInstruction.T)


class _Shift(TableInstruction, abc.ABC):
    OPERANDS: ClassVar = ("value", "amount")

    value = operand_def(TableInstruction.T)
    amount = operand_def(i32)


@row("shl", form("shl.{b}", *INTS))
class ShlOp(_Shift):
    """`shl.b32`; the amount is an i32 whatever the value's type."""


@row("shr", form("shr.{s}", *INTS), form("shr.{u}", *INTS, flags="unsigned"))
class ShrOp(_Shift):
    """`shr.s32`, `shr.u32`; the amount is an i32 whatever the value's type."""

    unsigned = opt_prop_def(UnitAttr)


@row(
    "mul.wide",
    form("mul.wide.{s}", i16, i32),
    form("mul.wide.{u}", i16, i32, flags="unsigned"),
    results={i16: i32, i32: i64},
)
class MulWideOp(BinaryInstruction):
    """`mul.wide.s32`: i32 times i32 (or i16 times i16) with a product of twice the width."""

    unsigned = opt_prop_def(UnitAttr)
    result = result_def(Register)


class Comparison(StrEnum):
    """Comparison operators of `setp` (PTX ISA, "Comparisons"); those after `ge` are for floats: `ltu` is "less or
    unordered"."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    EQU = "equ"
    NEU = "neu"
    LTU = "ltu"
    LEU = "leu"
    GTU = "gtu"
    GEU = "geu"
    NUM = "num"
    NAN = "nan"


ComparisonAttr = enum_attribute("ptx.comparison", Comparison)


def _comparisons() -> Iterator[Form]:
    for i, comparison in enumerate(Comparison):
        text, integers = f"setp.{comparison}", INTS[: 3 if i < 6 else 0]
        yield form(f"{text}.{{s}}", *integers, *FLOATS, of=comparison, bf16="bf16.setp")
        if integers:
            yield form(f"{text}.{{u}}", *integers, of=comparison, flags="unsigned")


@row("setp", *_comparisons(), choices=("comparison",))
class SetpOp(TableInstruction):
    """`setp.lt.s32 %p, a, b`. See PTX ISA, "Comparison and Selection Instructions: setp"."""

    OPERANDS: ClassVar = ("lhs", "rhs")

    comparison = prop_def(ComparisonAttr)
    unsigned = opt_prop_def(UnitAttr)
    lhs = operand_def(TableInstruction.T)
    rhs = operand_def(TableInstruction.T)
    result = result_def(i1)


def _sets(lanes: str) -> Iterator[Form]:
    for comparison in tuple(Comparison)[:6]:
        yield form(f"set.{comparison}.s{lanes}", i32, of=comparison, i32="set.packed")
        yield form(f"set.{comparison}.u{lanes}", i32, of=comparison, flags="unsigned", i32="set.packed")


class _PackedSet(TableInstruction, abc.ABC):
    """Elements of two registers, compared: all bits of an element are set where the comparison holds."""

    OPERANDS: ClassVar = ("lhs", "rhs")
    LITERALS: ClassVar = False

    comparison = prop_def(ComparisonAttr)
    unsigned = opt_prop_def(UnitAttr)
    lhs = operand_def(TableInstruction.T)
    rhs = operand_def(TableInstruction.T)


@row("set.x4", *_sets("8x4"), choices=("comparison",))
class SetX4Op(_PackedSet):
    """`ptx.set.x4 lt %a, %b` is `set.lt.s8x4`: a byte of ones where that of `%a` is less, or zero."""


@row("set.x2", *_sets("16x2"), choices=("comparison",))
class SetX2Op(_PackedSet):
    """`ptx.set.x2 lt unsigned %a, %b` is `set.lt.u16x2`: as `ptx.set.x4`, of halves."""


@irdl_op_definition
class SelpOp(PureInstruction):
    """`selp.b32 d, a, b, %p`: a if the predicate holds, b otherwise."""

    name = "ptx.selp"
    FOLLOWS_TYPES: ClassVar = True

    T: ClassVar = VarConstraint("T", Register)
    condition = operand_def(i1)
    on_true = operand_def(T)
    on_false = operand_def(T)
    result = result_def(T)

    assembly_format = "$condition `,` $on_true `,` $on_false attr-dict `:` type($result)"

    def verify_(self) -> None:
        if self.result.type == i1:
            raise InstructionFormError("expected integer or float registers, found i1: PTX selects no predicates")

    def emit(self, reg: Names) -> str:
        condition, *values = operands_of(self)
        on_true, on_false = reg.sources(values)
        return f"selp.{memory_type(self.result.type)} {reg(self.result)}, {on_true}, {on_false}, {reg(condition)}"
