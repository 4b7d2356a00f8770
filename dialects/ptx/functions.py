"""Functions of one number: approximations, roots, absolute values, rounding to integers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.irdl import operand_def, prop_def
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute
from tirx.dialects.ptx.table import FLOATS, TableInstruction, form, row


class Function(StrEnum):
    """Functions of one floating-point number.

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


FunctionAttr = enum_attribute("ptx.function_name", Function)


_ROUND = (f16, f32, f64)


@row(
    "function",
    form("lg2.approx.{s}", f32, of="lg2"),
    form("rcp.approx.{s}", f32, of="rcp"),
    form("sqrt.rn.{s}", f32, f64, of="sqrt"),
    form("sqrt.approx.{s}", f32, of="sqrt_approx"),
    form("rsqrt.approx.{s}", f32, f64, of="rsqrt"),
    form("sin.approx.{s}", f32, of="sin"),
    form("cos.approx.{s}", f32, of="cos"),
    form("tanh.approx.{s}", f16, bf16, f32, of="tanh", f16="f16.tanh", bf16="bf16.tanh", f32="f32.tanh"),
    form("abs.{s}", *FLOATS, of="abs", f16="f16.abs", bf16="bf16.neg"),
    form("cvt.rni.{s}.{s}", *_ROUND, of="rint"),
    form("cvt.rmi.{s}.{s}", *_ROUND, of="floor"),
    form("cvt.rpi.{s}.{s}", *_ROUND, of="ceil"),
    form("cvt.rzi.{s}.{s}", *_ROUND, of="trunc"),
    choices=("function",),
)
class FunctionOp(TableInstruction):
    """`%y = ptx.function lg2 %x : f32` is `lg2.approx.f32` (PTX ISA, "Floating Point Instructions" and "cvt")."""

    OPERANDS: ClassVar = ("operand",)

    function = prop_def(FunctionAttr)
    operand = operand_def(TableInstruction.T)
