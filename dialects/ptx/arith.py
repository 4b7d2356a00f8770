"""Integer, floating-point, comparison and selection instructions.

Floating-point arithmetic always carries `.rn`: without a rounding modifier `ptxas` may contract `mul` and `add` into
`fma` (PTX ISA, "Floating Point Instructions: add").
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    VarConstraint,
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import HasFolder
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import Value, irdl_op_definition, unit, value_of
from tirx.dialects.ptx.base import (
    Names,
    PureInstruction,
    Register,
    bits_type,
    is_float,
    memory_type,
    source,
    typed,
)
from tirx.dialects.ptx.folding import fold_integers
from tirx.rules import InstructionFormError

_INTS = (i16, i32, i64)
_FLOATS = (f16, bf16, f32, f64)
_BITS = (i1, *_INTS)


class _FoldsIntegers(HasFolder):
    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        return fold_integers(op)


class _SameTypeOp(PureInstruction, abc.ABC):
    """An instruction whose result has the type of its first operand, which `ACCEPTS` lists."""

    traits = traits_def(_FoldsIntegers())

    ACCEPTS: ClassVar[tuple[Attribute, ...]]
    FEATURES: ClassVar[Mapping[Attribute, str]] = {}

    T: ClassVar = VarConstraint("T", Register)

    result = result_def(T)

    def verify_(self) -> None:
        if self.result.type not in self.ACCEPTS:
            accepted = ", ".join(map(str, self.ACCEPTS))
            raise InstructionFormError(f"{self.name}: expected type to be one of {accepted}, found {self.result.type}")

    def features(self) -> tuple[str, ...]:
        feature = self.FEATURES.get(self.result.type)
        return () if feature is None else (feature,)

    def mnemonic(self) -> str:
        """The instruction with all its modifiers: `add.s32`, `add.rn.f32`."""
        name, type_ = self.name.removeprefix("ptx."), self.result.type
        return f"{name}.rn.{type_}" if is_float(type_) else f"{name}.{typed(type_)}"


class _BinaryOp(_SameTypeOp, abc.ABC):
    lhs = operand_def(_SameTypeOp.T)
    rhs = operand_def(_SameTypeOp.T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__(operands=[lhs, rhs], result_types=[value_of(lhs).type])

    def emit(self, reg: Names) -> str:
        return f"{self.mnemonic()} {reg(self.result)}, {source(reg, self.lhs)}, {source(reg, self.rhs)}"


class _SignedBinaryOp(_SameTypeOp, abc.ABC):
    """Integers are read as signed unless `unsigned` is given."""

    lhs = operand_def(_SameTypeOp.T)
    rhs = operand_def(_SameTypeOp.T)
    unsigned = opt_prop_def(UnitAttr)

    assembly_format = "(`unsigned` $unsigned^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: Value, rhs: Value, *, unsigned: bool = False):
        super().__init__(
            operands=[lhs, rhs],
            properties={"unsigned": unit(unsigned)},
            result_types=[value_of(lhs).type],
        )

    def verify_(self) -> None:
        super().verify_()
        if self.unsigned is not None and is_float(self.result.type):
            raise InstructionFormError(f"{self.name}: expected 'unsigned' on integers only, found {self.result.type}")

    def mnemonic(self) -> str:
        name, type_ = self.name.removeprefix("ptx."), self.result.type
        if is_float(type_):
            return f"{name}.rn.{type_}"
        return f"{name}.{typed(type_, unsigned=self.unsigned is not None)}"

    def emit(self, reg: Names) -> str:
        return f"{self.mnemonic()} {reg(self.result)}, {source(reg, self.lhs)}, {source(reg, self.rhs)}"


class _UnaryOp(_SameTypeOp, abc.ABC):
    operand = operand_def(_SameTypeOp.T)

    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[value_of(operand).type])

    def emit(self, reg: Names) -> str:
        return f"{self.mnemonic()} {reg(self.result)}, {source(reg, self.operand)}"


@irdl_op_definition
class AddOp(_BinaryOp):
    """`add.s32`, `add.rn.f32`. See PTX ISA, "Integer Arithmetic Instructions: add"."""

    name = "ptx.add"
    ACCEPTS: ClassVar = (*_INTS, *_FLOATS)
    FEATURES: ClassVar = {bf16: "bf16.arith"}


@irdl_op_definition
class SubOp(_BinaryOp):
    """`sub.s32`, `sub.rn.f32`."""

    name = "ptx.sub"
    ACCEPTS: ClassVar = (*_INTS, *_FLOATS)
    FEATURES: ClassVar = {bf16: "bf16.arith"}


@irdl_op_definition
class MulOp(_BinaryOp):
    """`mul.rn.f32`; integers have `ptx.mul.lo` and `ptx.mul.wide`."""

    name = "ptx.mul"
    ACCEPTS: ClassVar = _FLOATS
    FEATURES: ClassVar = {bf16: "bf16.arith"}


@irdl_op_definition
class MulLoOp(_BinaryOp):
    """`mul.lo.s32`: the low half of the product."""

    name = "ptx.mul.lo"
    ACCEPTS: ClassVar = _INTS


@irdl_op_definition
class DivOp(_SignedBinaryOp):
    """`div.s32`, `div.u32`, `div.rn.f32`. Integers round towards zero."""

    name = "ptx.div"
    ACCEPTS: ClassVar = (*_INTS, f32, f64)


@irdl_op_definition
class RemOp(_SignedBinaryOp):
    """`rem.s32`, `rem.u32`; the remainder has the sign of the dividend."""

    name = "ptx.rem"
    ACCEPTS: ClassVar = _INTS


class _MinMaxOp(_SignedBinaryOp, abc.ABC):
    nan = opt_prop_def(UnitAttr)

    assembly_format = "(`unsigned` $unsigned^)? (`nan` $nan^)? $lhs `,` $rhs attr-dict `:` type($result)"
    ACCEPTS: ClassVar = (*_INTS, *_FLOATS)
    FEATURES: ClassVar = {f16: "f16.minmax", bf16: "bf16.minmax"}

    def __init__(self, lhs: Value, rhs: Value, *, unsigned: bool = False, nan: bool = False):
        super().__init__(lhs, rhs, unsigned=unsigned)
        if nan:
            self.nan = UnitAttr()

    def verify_(self) -> None:
        super().verify_()
        if self.nan is not None and self.result.type not in (f16, bf16, f32):
            raise InstructionFormError(f"{self.name}: expected 'nan' on f16, bf16 or f32, found {self.result.type}")

    def features(self) -> tuple[str, ...]:
        return super().features() + (() if self.nan is None else ("minmax.NaN",))

    def mnemonic(self) -> str:
        name, type_ = self.name.removeprefix("ptx."), self.result.type
        nan = "" if self.nan is None else ".NaN"
        return f"{name}{nan}.{typed(type_, unsigned=self.unsigned is not None)}"


@irdl_op_definition
class MinOp(_MinMaxOp):
    """`min.s32`, `min.u32`, `min.f32`; `nan` makes a NaN operand win instead of lose."""

    name = "ptx.min"


@irdl_op_definition
class MaxOp(_MinMaxOp):
    """`max.s32`, `max.u32`, `max.f32`; `nan` makes a NaN operand win instead of lose."""

    name = "ptx.max"


class _BitwiseOp(_BinaryOp, abc.ABC):
    ACCEPTS: ClassVar = _BITS

    def mnemonic(self) -> str:
        return f"{self.name.removeprefix('ptx.')}.{bits_type(self.result.type)}"


@irdl_op_definition
class AndOp(_BitwiseOp):
    """`and.b32`, `and.pred`."""

    name = "ptx.and"


@irdl_op_definition
class OrOp(_BitwiseOp):
    """`or.b32`, `or.pred`."""

    name = "ptx.or"


@irdl_op_definition
class XorOp(_BitwiseOp):
    """`xor.b32`, `xor.pred`."""

    name = "ptx.xor"


@irdl_op_definition
class NotOp(_UnaryOp):
    """`not.b32`, `not.pred`."""

    name = "ptx.not"
    ACCEPTS: ClassVar = _BITS

    def mnemonic(self) -> str:
        return f"not.{bits_type(self.result.type)}"


@irdl_op_definition
class NegOp(_UnaryOp):
    """`neg.s32`, `neg.f32`."""

    name = "ptx.neg"
    ACCEPTS: ClassVar = (*_INTS, *_FLOATS)
    FEATURES: ClassVar = {bf16: "bf16.neg"}

    def mnemonic(self) -> str:
        return f"neg.{typed(self.result.type)}"


@irdl_op_definition
class Ex2ApproxOp(_UnaryOp):
    """`ex2.approx.f32`: 2 to the power of the operand, with a relative error of 2^-22 (2^-9.9 in f16, 2^-7 in bf16).

    `ftz` flushes subnormal operands and results to zero: bf16 has this form only, f16 has it not. See PTX ISA, "ex2".
    """

    name = "ptx.ex2.approx"
    ACCEPTS: ClassVar = (f16, bf16, f32)
    FEATURES: ClassVar = {f16: "f16.ex2", bf16: "bf16.ex2"}

    ftz = opt_prop_def(UnitAttr)

    assembly_format = "(`ftz` $ftz^)? $operand attr-dict `:` type($result)"

    def __init__(self, operand: Value, *, ftz: bool = False):
        super().__init__(operand)
        if ftz:
            self.ftz = UnitAttr()

    def verify_(self) -> None:
        super().verify_()
        if self.result.type == bf16 and self.ftz is None:
            raise InstructionFormError("expected 'ftz' on bf16, found none")
        if self.result.type == f16 and self.ftz is not None:
            raise InstructionFormError("expected 'ftz' on bf16 or f32, found f16")

    def mnemonic(self) -> str:
        return f"ex2.approx{'' if self.ftz is None else '.ftz'}.{self.result.type}"


class _ShiftOp(_SameTypeOp, abc.ABC):
    value = operand_def(_SameTypeOp.T)
    amount = operand_def(i32)

    ACCEPTS: ClassVar = _INTS


@irdl_op_definition
class ShlOp(_ShiftOp):
    """`shl.b32`; the amount is an i32 whatever the value's type."""

    name = "ptx.shl"
    assembly_format = "$value `,` $amount attr-dict `:` type($result)"

    def __init__(self, value: Value, amount: Value):
        super().__init__(operands=[value, amount], result_types=[value_of(value).type])

    def emit(self, reg: Names) -> str:
        type_ = bits_type(self.result.type)
        return f"shl.{type_} {reg(self.result)}, {source(reg, self.value)}, {source(reg, self.amount)}"


@irdl_op_definition
class ShrOp(_ShiftOp):
    """`shr.s32`, `shr.u32`; the amount is an i32 whatever the value's type."""

    name = "ptx.shr"
    unsigned = opt_prop_def(UnitAttr)
    assembly_format = "(`unsigned` $unsigned^)? $value `,` $amount attr-dict `:` type($result)"

    def __init__(self, value: Value, amount: Value, *, unsigned: bool = False):
        super().__init__(
            operands=[value, amount],
            properties={"unsigned": unit(unsigned)},
            result_types=[value_of(value).type],
        )

    def emit(self, reg: Names) -> str:
        type_ = typed(self.result.type, unsigned=self.unsigned is not None)
        return f"shr.{type_} {reg(self.result)}, {source(reg, self.value)}, {source(reg, self.amount)}"


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


class _TernaryOp(_SameTypeOp, abc.ABC):
    a = operand_def(_SameTypeOp.T)
    b = operand_def(_SameTypeOp.T)
    c = operand_def(_SameTypeOp.T)

    assembly_format = "$a `,` $b `,` $c attr-dict `:` type($result)"

    def __init__(self, a: Value, b: Value, c: Value):
        super().__init__(operands=[a, b, c], result_types=[value_of(a).type])

    def emit(self, reg: Names) -> str:
        sources = ", ".join(source(reg, v) for v in (self.a, self.b, self.c))
        return f"{self.mnemonic()} {reg(self.result)}, {sources}"


@irdl_op_definition
class FmaOp(_TernaryOp):
    """`fma.rn.f32`: a * b + c with one rounding."""

    name = "ptx.fma"
    ACCEPTS: ClassVar = _FLOATS
    FEATURES: ClassVar = {bf16: "bf16.fma"}


@irdl_op_definition
class MadLoOp(_TernaryOp):
    """`mad.lo.s32`: the low half of a * b, plus c."""

    name = "ptx.mad.lo"
    ACCEPTS: ClassVar = _INTS


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


@irdl_attr_definition
class ComparisonAttr(EnumAttribute[Comparison], SpacedOpaqueSyntaxAttribute):
    """A comparison operator."""

    name = "ptx.comparison"


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

    def __init__(self, comparison: Comparison | str, lhs: Value, rhs: Value, *, unsigned: bool = False):
        super().__init__(
            operands=[lhs, rhs],
            properties={"comparison": ComparisonAttr(Comparison(comparison)), "unsigned": unit(unsigned)},
            result_types=[i1],
        )

    def verify_(self) -> None:
        type_ = self.lhs.type
        if type_ not in (*_INTS, *_FLOATS):
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

    def __init__(self, condition: Value, on_true: Value, on_false: Value):
        super().__init__(operands=[condition, on_true, on_false], result_types=[value_of(on_true).type])

    def verify_(self) -> None:
        if self.result.type == i1:
            raise InstructionFormError("expected integer or float registers, found i1: PTX selects no predicates")

    def emit(self, reg: Names) -> str:
        on_true, on_false = source(reg, self.on_true), source(reg, self.on_false)
        type_ = memory_type(self.result.type)
        return f"selp.{type_} {reg(self.result)}, {on_true}, {on_false}, {reg(self.condition)}"
