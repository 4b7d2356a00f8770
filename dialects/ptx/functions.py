"""Functions of one number: approximations, roots, absolute values, rounding to integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute
from xdsl.irdl import VarConstraint, operand_def, prop_def, result_def
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, PureInstruction, Register, source
from tirx.rules import InstructionFormError


class Function(StrEnum):
    """
    Functions of one floating-point number.

    `lg2`, `rcp`, `sqrt_approx`, `rsqrt`, `sin`, `cos` and `tanh` are approximations with the errors of
    `tirx.hw.approximations`; `sqrt` is rounded to nearest. The others are exact: `abs`, and `rint`, `floor`, `ceil`
    and `trunc` to an integer of the same type.
    """

    LG2 = "lg2"
    RCP = "rcp"
    SQRT = "sqrt"
    SQRT_APPROX = "sqrt_approx"
    RSQRT = "rsqrt"
    SIN = "sin"
    COS = "cos"
    TANH = "tanh"
    ABS = "abs"
    RINT = "rint"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"


_ROUND = (f16, f32, f64)

FORMS: Mapping[Function, tuple[str, tuple[Attribute, ...]]] = {
    Function.LG2: ("lg2.approx.{0}", (f32,)),
    Function.RCP: ("rcp.approx.{0}", (f32,)),
    Function.SQRT: ("sqrt.rn.{0}", (f32, f64)),
    Function.SQRT_APPROX: ("sqrt.approx.{0}", (f32,)),
    Function.RSQRT: ("rsqrt.approx.{0}", (f32, f64)),
    Function.SIN: ("sin.approx.{0}", (f32,)),
    Function.COS: ("cos.approx.{0}", (f32,)),
    Function.TANH: ("tanh.approx.{0}", (f16, bf16, f32)),
    Function.ABS: ("abs.{0}", (f16, bf16, f32, f64)),
    Function.RINT: ("cvt.rni.{0}.{0}", _ROUND),
    Function.FLOOR: ("cvt.rmi.{0}.{0}", _ROUND),
    Function.CEIL: ("cvt.rpi.{0}.{0}", _ROUND),
    Function.TRUNC: ("cvt.rzi.{0}.{0}", _ROUND),
}
"""Function -> the instruction, and the types that have it (PTX ISA, "Floating Point Instructions" and "cvt")."""

_FEATURES: Mapping[tuple[Function, Attribute], str] = {
    (Function.TANH, f16): "f16.tanh",
    (Function.TANH, bf16): "bf16.tanh",
    (Function.TANH, f32): "f32.tanh",
    (Function.ABS, f16): "f16.abs",
    (Function.ABS, bf16): "bf16.neg",
}


FunctionAttr = enum_attribute("ptx.function_name", Function)


@irdl_op_definition
class FunctionOp(PureInstruction):
    """`%y = ptx.function lg2 %x : f32` is `lg2.approx.f32`."""

    name = "ptx.function"

    T: ClassVar = VarConstraint("T", Register)
    function = prop_def(FunctionAttr)
    operand = operand_def(T)
    result = result_def(T)

    assembly_format = "$function $operand attr-dict `:` type($result)"

    def verify_(self) -> None:
        types = FORMS[self.function.data][1]
        if self.result.type not in types:
            expected = ", ".join(map(str, types))
            raise InstructionFormError(
                f"expected a type that {self.function.data} has ({expected}), found {self.result.type}"
            )

    def features(self) -> tuple[str, ...]:
        feature = _FEATURES.get((self.function.data, self.result.type))
        return () if feature is None else (feature,)

    def emit(self, reg: Names) -> str:
        mnemonic = FORMS[self.function.data][0].format(self.result.type)
        return f"{mnemonic} {reg(self.result)}, {source(reg, self.operand)}"
