"""Conversions: between numeric types, between types of the same bits, between one register and its two halves."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, bf16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import VarConstraint, operand_def, opt_prop_def, result_def

from tirx.dialects.definition import Value, irdl_op_definition, value_of
from tirx.dialects.ptx.base import (
    NO_EFFECTS,
    Names,
    PureInstruction,
    Register,
    ThreadOp,
    bits_type,
    is_float,
    source,
    typed,
    width,
)
from tirx.rules import InstructionFormError


@irdl_op_definition
class CvtOp(PureInstruction):
    """Numeric conversion: `cvt.s64.s32`, `cvt.rn.f32.s32`, `cvt.rzi.s32.f32`, `cvt.rn.f16.f32`, `cvt.f64.f32`.

    Integers are read as signed unless `unsigned` is given. Results are rounded to nearest, those of f32 and f64 also
    down with `rm` and up with `rp`, and integers towards zero. See PTX ISA, "Data Movement and Conversion: cvt".
    """

    name = "ptx.cvt"
    FOLLOWS_TYPES: ClassVar = True

    operand = operand_def(Register)
    unsigned = opt_prop_def(UnitAttr)
    rm = opt_prop_def(UnitAttr)
    rp = opt_prop_def(UnitAttr)
    result = result_def(Register)

    assembly_format = (
        "(`unsigned` $unsigned^)? (`rm` $rm^)? (`rp` $rp^)? $operand attr-dict `:` type($operand) `->` type($result)"
    )

    def verify_(self) -> None:
        types = (self.operand.type, self.result.type)
        if i1 in types or types[0] == types[1]:
            raise InstructionFormError(f"expected two different integer or float types, found {types[0]} -> {types[1]}")
        if bf16 in types and f32 not in types and (types[0] == bf16 or is_float(types[0])):
            raise InstructionFormError(
                f"expected bf16 to convert from f32 or an integer, or to f32, found {types[0]} -> {types[1]}"
            )
        if self.rm is None and self.rp is None:
            return
        if self.rm is not None and self.rp is not None:
            raise InstructionFormError("expected one of rm and rp, found both")
        if types[1] not in (f32, f64) or self._rounding() != ".rn":
            raise InstructionFormError(
                f"expected rm and rp on a result of f32 or f64 that is rounded, found {types[0]} -> {types[1]}"
            )

    FORMS_NEED: ClassVar = ("bf16.cvt", "bf16.cvt.integer", "bf16.extend")

    def features(self) -> tuple[str, ...]:
        if self.result.type == bf16:
            return ("bf16.cvt" if self.operand.type == f32 else "bf16.cvt.integer",)
        return ("bf16.extend",) if self.operand.type == bf16 else ()

    def rounding(self) -> str:
        """`.rn`, `.rm` or `.rp` where a float result may be inexact, `.rzi` for float to integer, else nothing."""
        return ".rm" if self.rm is not None else ".rp" if self.rp is not None else self._rounding()

    def _rounding(self) -> str:
        from_float, to_float = is_float(self.operand.type), is_float(self.result.type)
        if from_float and not to_float:
            return ".rzi"
        if to_float and (not from_float or width(self.result.type) < width(self.operand.type)):
            return ".rn"
        return ""

    def emit(self, reg: Names) -> str:
        unsigned = self.unsigned is not None
        types = f"{typed(self.result.type, unsigned=unsigned)}.{typed(self.operand.type, unsigned=unsigned)}"
        return f"cvt{self.rounding()}.{types} {reg(self.result)}, {source(reg, self.operand)}"


@irdl_op_definition
class UndefinedOp(ThreadOp):
    """A register that nobody has written, for an instruction that does not read what was there: no instruction."""

    name = "ptx.undefined"
    FOLLOWS_TYPES: ClassVar = True
    EFFECTS: ClassVar = NO_EFFECTS

    result = result_def(Register)

    assembly_format = "attr-dict `:` type($result)"

    def emit(self, reg: Names) -> str:
        reg(self.result)
        return ""


@irdl_op_definition
class MovOp(PureInstruction):
    """Reads the bits of a register as another type of the same width: `mov.b32 %f0, %r0`."""

    name = "ptx.mov"

    operand = operand_def(Register)
    result = result_def(Register)

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def verify_(self) -> None:
        found, expected = width(self.operand.type), width(self.result.type)
        if found != expected:
            raise InstructionFormError(f"expected an operand of {expected} bits, found {self.operand.type}")

    def emit(self, reg: Names) -> str:
        return f"mov.{bits_type(self.result.type)} {reg(self.result)}, {reg(self.operand)}"


@irdl_op_definition
class PackOp(PureInstruction):
    """Joins two registers, low half first: `mov.b32 %r0, {%h0, %h1}`, `mov.b64 %rd0, {%r0, %r1}`."""

    name = "ptx.pack"

    T: ClassVar = VarConstraint("T", Register)
    low = operand_def(T)
    high = operand_def(T)
    result = result_def(Register)

    assembly_format = "$low `,` $high attr-dict `:` type($low) `->` type($result)"

    def __init__(self, low: Value, high: Value):
        super().__init__(low, high, i32 if width(value_of(low).type) == 16 else i64)

    def verify_(self) -> None:
        _check_halves(self.low.type, self.result.type)

    def emit(self, reg: Names) -> str:
        type_ = bits_type(self.result.type)
        return f"mov.{type_} {reg(self.result)}, {{{reg(self.low)}, {reg(self.high)}}}"


@irdl_op_definition
class UnpackOp(PureInstruction):
    """Splits a register, low half first: `mov.b32 {%h0, %h1}, %r0`."""

    name = "ptx.unpack"
    FOLLOWS_TYPES: ClassVar = True

    T: ClassVar = VarConstraint("T", Register)
    operand = operand_def(Register)
    low = result_def(T)
    high = result_def(T)

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($low)"

    def verify_(self) -> None:
        _check_halves(self.low.type, self.operand.type)

    def emit(self, reg: Names) -> str:
        type_ = bits_type(self.operand.type)
        return f"mov.{type_} {{{reg(self.low)}, {reg(self.high)}}}, {reg(self.operand)}"


def _check_halves(half: Attribute, whole: Attribute) -> None:
    if whole not in (i32, i64) or 2 * width(half) != width(whole):
        raise InstructionFormError(
            f"expected two 16-bit halves of i32 or two 32-bit halves of i64, found {half} and {whole}"
        )
