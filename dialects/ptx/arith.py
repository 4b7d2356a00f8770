"""Integer, floating-point, comparison and selection instructions.

Floating-point arithmetic always carries `.rn`: without a rounding modifier `ptxas` may contract `mul` and `add` into
`fma` (PTX ISA, "Floating Point Instructions: add").
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import Value, enum_attribute, irdl_op_definition, unit, value_of
from tirx.dialects.ptx.base import (
    Names,
    PureInstruction,
    Register,
    is_float,
    memory_type,
    source,
    typed,
)
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


@row("and", form("and.{b}", *BITS))
class AndOp(BinaryInstruction):
    """`and.b32`, `and.pred`."""


@row("or", form("or.{b}", *BITS))
class OrOp(BinaryInstruction):
    """`or.b32`, `or.pred`."""


@row("xor", form("xor.{b}", *BITS))
class XorOp(BinaryInstruction):
    """`xor.b32`, `xor.pred`."""


@row("not", form("not.{b}", *BITS))
class NotOp(UnaryInstruction):
    """`not.b32`, `not.pred`."""


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


@row("fma", form("fma.rn.{s}", *FLOATS, bf16="bf16.fma"))
class FmaOp(TernaryInstruction):
    """`fma.rn.f32`: a * b + c with one rounding."""


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


_WIDER: dict[Attribute, Attribute] = {i16: i32, i32: i64}


@irdl_op_definition
class MulWideOp(PureInstruction):
    """`mul.wide.s32`: i32 times i32 (or i16 times i16) with a product of twice the width."""

    name = "ptx.mul.wide"

    T: ClassVar = VarConstraint("T", Register)
    lhs = operand_def(T)
    rhs = operand_def(T)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(Register)

    assembly_format = "(`unsigned` $unsigned^)? $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, lhs: Value, rhs: Value, *, unsigned: bool = False):
        super().__init__(
            operands=[lhs, rhs],
            properties={"unsigned": unit(unsigned)},
            result_types=[_WIDER.get(value_of(lhs).type, i64)],
        )

    def verify_(self) -> None:
        if _WIDER.get(self.lhs.type) != self.result.type:
            raise InstructionFormError(
                f"expected i16 -> i32 or i32 -> i64, found {self.lhs.type} -> {self.result.type}"
            )

    def emit(self, reg: Names) -> str:
        type_ = typed(self.lhs.type, unsigned=self.unsigned is not None)
        return f"mul.wide.{type_} {reg(self.result)}, {source(reg, self.lhs)}, {source(reg, self.rhs)}"


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


_INTEGER_COMPARISONS = tuple(list(Comparison)[:6])


ComparisonAttr = enum_attribute("ptx.comparison", Comparison)


@irdl_op_definition
class SetpOp(PureInstruction):
    """`setp.lt.s32 %p, a, b`. See PTX ISA, "Comparison and Selection Instructions: setp"."""

    name = "ptx.setp"

    T: ClassVar = VarConstraint("T", Register)
    comparison = prop_def(ComparisonAttr)
    unsigned = opt_prop_def(UnitAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(i1)

    assembly_format = "$comparison (`unsigned` $unsigned^)? $lhs `,` $rhs attr-dict `:` type($lhs)"

    def verify_(self) -> None:
        type_ = self.lhs.type
        if type_ not in (*INTS, *FLOATS):
            raise InstructionFormError(f"expected integer or float registers, found {type_}")
        if not is_float(type_) and self.comparison.data not in _INTEGER_COMPARISONS:
            choices = ", ".join(_INTEGER_COMPARISONS)
            raise InstructionFormError(f"expected a comparison of integers ({choices}), found {self.comparison.data}")
        if is_float(type_) and self.unsigned is not None:
            raise InstructionFormError(f"expected 'unsigned' on integers only, found {type_}")

    def features(self) -> tuple[str, ...]:
        return ("bf16.setp",) if self.lhs.type == bf16 else ()

    def emit(self, reg: Names) -> str:
        type_ = typed(self.lhs.type, unsigned=self.unsigned is not None)
        lhs, rhs = source(reg, self.lhs), source(reg, self.rhs)
        return f"setp.{self.comparison.data.value}.{type_} {reg(self.result)}, {lhs}, {rhs}"


@irdl_op_definition
class SelpOp(PureInstruction):
    """`selp.b32 d, a, b, %p`: a if the predicate holds, b otherwise."""

    name = "ptx.selp"

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
        on_true, on_false = source(reg, self.on_true), source(reg, self.on_false)
        type_ = memory_type(self.result.type)
        return f"selp.{type_} {reg(self.result)}, {on_true}, {on_false}, {reg(self.condition)}"
