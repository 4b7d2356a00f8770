"""Instructions on pairs of narrow elements: arithmetic on `.f16x2` and `.bf16x2`, conversions of two elements at once.

A pair is a register of 32 bits (two 16-bit elements) or 16 bits (two elements of 8 bits), the first element in the low
half.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr, bf16, f16, f32, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, var_operand_def
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import Value, enum_attribute, fill, irdl_op_definition, value_of
from tirx.dialects.ptx.base import Names, PureInstruction, Register, expect_choice, expect_type
from tirx.rules import InstructionFormError
from tirx.values import dataclass


class PairFormat(StrEnum):
    """Types of two elements in one register (PTX ISA, "Packed Data Types" and "cvt")."""

    F16X2 = "f16x2"
    BF16X2 = "bf16x2"
    E4M3X2 = "e4m3x2"
    E5M2X2 = "e5m2x2"
    E2M3X2 = "e2m3x2"
    E3M2X2 = "e3m2x2"
    E2M1X2 = "e2m1x2"
    UE8M0X2 = "ue8m0x2"
    UE5M3X2 = "ue5m3x2"

    @property
    def register(self) -> Attribute:
        """The type of the register: 32 bits, or 16 for elements of a byte each (6 bits have a byte as well). Two
        elements of 4 bits are in the low byte of 16 bits.
        """
        return i32 if self in HALVES else i16


HALVES: dict[PairFormat, Attribute] = {PairFormat.F16X2: f16, PairFormat.BF16X2: bf16}
"""Formats of two 16-bit elements, with the type of one."""


PairFormatAttr = enum_attribute("ptx.pair_format", PairFormat)

_FORMATS = {each: PairFormatAttr(each) for each in PairFormat}
"""Format -> its attribute, made once."""


class PairOperation(StrEnum):
    """Arithmetic on both elements of a pair; `_nan` makes a NaN operand win instead of lose."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    FMA = "fma"
    MIN = "min"
    MAX = "max"
    MIN_NAN = "min_nan"
    MAX_NAN = "max_nan"
    NEG = "neg"
    ABS = "abs"
    EX2 = "ex2"
    TANH = "tanh"


PairOperationAttr = enum_attribute("ptx.pair_operation", PairOperation)


@dataclass(frozen=True)
class PairRow:
    """The instruction without its type, its operands, and the features it needs on f16x2 and on bf16x2."""

    mnemonic: str
    operands: int
    f16: tuple[str, ...] = ()
    bf16: tuple[str, ...] = ()


PAIR_ROWS: dict[PairOperation, PairRow] = {
    PairOperation.ADD: PairRow("add.rn", 2, bf16=("bf16.arith",)),
    PairOperation.SUB: PairRow("sub.rn", 2, bf16=("bf16.arith",)),
    PairOperation.MUL: PairRow("mul.rn", 2, bf16=("bf16.arith",)),
    PairOperation.FMA: PairRow("fma.rn", 3, bf16=("bf16.fma",)),
    PairOperation.MIN: PairRow("min", 2, ("f16.minmax",), ("bf16.minmax",)),
    PairOperation.MAX: PairRow("max", 2, ("f16.minmax",), ("bf16.minmax",)),
    PairOperation.MIN_NAN: PairRow("min.NaN", 2, ("f16.minmax", "minmax.NaN"), ("bf16.minmax", "minmax.NaN")),
    PairOperation.MAX_NAN: PairRow("max.NaN", 2, ("f16.minmax", "minmax.NaN"), ("bf16.minmax", "minmax.NaN")),
    PairOperation.NEG: PairRow("neg", 1, bf16=("bf16.neg",)),
    PairOperation.ABS: PairRow("abs", 1, ("f16.abs",), ("bf16.neg",)),
    PairOperation.EX2: PairRow("ex2.approx", 1, ("f16.ex2",), ("bf16.ex2",)),
    PairOperation.TANH: PairRow("tanh.approx", 1, ("f16.tanh",), ("bf16.tanh",)),
}
"""PTX ISA, "Half Precision Floating Point Instructions"."""


def pair_features(operation: PairOperation, format_: PairFormat) -> tuple[str, ...]:
    """Rows of features that an operation on pairs needs."""
    row = PAIR_ROWS[operation]
    return row.f16 if format_ is PairFormat.F16X2 else row.bf16


@irdl_op_definition
class PairOp(PureInstruction):
    """`ptx.pair add f16x2 %a, %b` is `add.rn.f16x2`: both elements of a pair at once."""

    name = "ptx.pair"

    operation = prop_def(PairOperationAttr)
    format = prop_def(PairFormatAttr)
    inputs = var_operand_def(i32)
    result = result_def(i32)

    assembly_format = "$operation $format $inputs attr-dict"

    def verify_(self) -> None:
        if self.format.data not in HALVES:
            raise InstructionFormError(f"expected {' or '.join(HALVES)}, found {self.format.data}")
        if len(self.inputs) != (count := PAIR_ROWS[self.operation.data].operands):
            raise InstructionFormError(f"expected {count} operands of {self.operation.data}, found {len(self.inputs)}")

    FORMS_NEED: ClassVar = tuple(dict.fromkeys(need for row in PAIR_ROWS.values() for need in (*row.f16, *row.bf16)))

    def features(self) -> tuple[str, ...]:
        return pair_features(self.operation.data, self.format.data)

    def emit(self, reg: Names) -> str:
        format_ = self.format.data
        # bf16 has ex2 with subnormal numbers flushed only.
        flush = ".ftz" if (self.operation.data, format_) == (PairOperation.EX2, PairFormat.BF16X2) else ""
        inputs = ", ".join(map(reg, self.inputs))
        return f"{PAIR_ROWS[self.operation.data].mnemonic}{flush}.{format_} {reg(self.result)}, {inputs}"


_ROUNDINGS = ("rn", "rz", "rm", "rp")
_PRODUCTS_AND_SUMS = (PairOperation.ADD, PairOperation.SUB, PairOperation.MUL)
_NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


@irdl_op_definition
class MixedPairOp(PureInstruction):
    """`ptx.mixed.pair add f16x2 %a, %c` is `add.rn.f32x2.f16x2.f32x2`: two sums of an f16 or bf16 and an f32.

    `sub`, and `fma f16x2 %a, %b, %c`, of which only the first operand is narrow. Pairs of f32 are registers of 64 bits.
    `add f16x2 "rz" %a, %c` rounds towards zero, "rm" and "rp" down and up.
    """

    name = "ptx.mixed.pair"
    NEEDS: ClassVar = ("packed.mixed",)

    operation = prop_def(PairOperationAttr)
    format = prop_def(PairFormatAttr)
    rounding = opt_prop_def(StringAttr)
    narrow = operand_def(i32)
    wide = var_operand_def(i64)
    result = result_def(i64)

    assembly_format = "$operation $format ($rounding^)? $narrow `,` $wide attr-dict"

    def verify_(self) -> None:
        operation = self.operation.data
        if operation not in (PairOperation.ADD, PairOperation.SUB, PairOperation.FMA):
            raise InstructionFormError(f"expected add, sub or fma, found {operation}")
        if self.format.data not in HALVES:
            raise InstructionFormError(f"expected {' or '.join(HALVES)}, found {self.format.data}")
        if self.rounding is not None:
            expect_choice("rounding", self.rounding.data, _ROUNDINGS)
        if len(self.wide) != (count := PAIR_ROWS[operation].operands - 1):
            raise InstructionFormError(f"expected {count} pairs of f32 of {operation}, found {len(self.wide)}")

    def emit(self, reg: Names) -> str:
        types = f"f32x2.{self.format.data}{'.f32x2' * len(self.wide)}"
        operands = ", ".join(map(reg, (self.result, self.narrow, *self.wide)))
        rounding = _ROUNDINGS[0] if self.rounding is None else self.rounding.data
        return f"{self.operation.data}.{rounding}.{types} {operands}"


@irdl_op_definition
class NarrowPairOp(PureInstruction):
    """`ptx.narrow.pair add f16x2 %a, %b` is `add.rz.ftz.f16x2.f32x2.f32x2`: pairs of f32 (i64) to one of f16.

    `add`, `sub` and `mul`, rounded towards zero once. bf16x2 has no `ftz`.
    """

    name = "ptx.narrow.pair"
    NEEDS: ClassVar = ("packed.mixed",)

    operation = prop_def(PairOperationAttr)
    format = prop_def(PairFormatAttr)
    lhs = operand_def(i64)
    rhs = operand_def(i64)
    result = result_def(i32)

    assembly_format = "$operation $format $lhs `,` $rhs attr-dict"

    def verify_(self) -> None:
        expect_choice("operation", self.operation.data, _PRODUCTS_AND_SUMS)
        expect_choice("format", self.format.data, list(HALVES))

    def emit(self, reg: Names) -> str:
        flush = ".ftz" if self.format.data is PairFormat.F16X2 else ""
        operands = ", ".join(map(reg, (self.result, self.lhs, self.rhs)))
        return f"{self.operation.data}.rz{flush}.{self.format.data}.f32x2.f32x2 {operands}"


@irdl_op_definition
class MulPairOp(PureInstruction):
    """`ptx.mul.pair f16x2 %a, %b` is `mul.f16x2.f16x2.bf16x2`: a pair of f16 times one of bf16."""

    name = "ptx.mul.pair"
    NEEDS: ClassVar = ("packed.mixed",)

    format = prop_def(PairFormatAttr)
    lhs = operand_def(i32)
    rhs = operand_def(i32)
    result = result_def(i32)

    assembly_format = "$format $lhs `,` $rhs attr-dict"

    def verify_(self) -> None:
        expect_choice("format", self.format.data, list(HALVES))

    def emit(self, reg: Names) -> str:
        own = self.format.data
        other = next(each for each in HALVES if each is not own)
        return f"mul.{own}.{own}.{other} {reg(self.result)}, {reg(self.lhs)}, {reg(self.rhs)}"


@irdl_op_definition
class MulX4Op(PureInstruction):
    """`ptx.mul.x4 "e4m3" "e5m2" %a, "e2m1" %b : i32, i16` is `mul.rn.e4m3x4.e5m2x4.e2m1x4`: four products.

    The result is e4m3 or e5m2, an operand any format of 8, 6 or 4 bits; four of e2m1 are an i16. With `satfinite` what
    is too large becomes the largest number.
    """

    name = "ptx.mul.x4"
    NEEDS: ClassVar = ("narrow.arith",)

    element = prop_def(StringAttr)
    of_lhs = prop_def(StringAttr)
    of_rhs = prop_def(StringAttr)
    lhs = operand_def(Register)
    rhs = operand_def(Register)
    satfinite = opt_prop_def(UnitAttr)
    result = result_def(i32)

    assembly_format = (
        "(`satfinite` $satfinite^)? $element $of_lhs $lhs `,` $of_rhs $rhs attr-dict `:` type($lhs) `,` type($rhs)"
    )

    def verify_(self) -> None:
        expect_choice("elements of the result", self.element.data, _NARROW[:2])
        for name, format_, value in (("lhs", self.of_lhs, self.lhs), ("rhs", self.of_rhs, self.rhs)):
            expect_choice(f"elements of {name}", format_.data, _NARROW)
            expect_type(name, value, i16 if format_.data == _NARROW[-1] else i32)

    def emit(self, reg: Names) -> str:
        finite = "" if self.satfinite is None else ".satfinite"
        types = ".".join(f"{each.data}x4" for each in (self.element, self.of_lhs, self.of_rhs))
        return f"mul.rn{finite}.{types} {reg(self.result)}, {reg(self.lhs)}, {reg(self.rhs)}"


NARROW_FEATURES: dict[PairFormat, str] = {
    PairFormat.BF16X2: "bf16.cvt",
    PairFormat.F16X2: "f16x2.cvt",
    PairFormat.E4M3X2: "f8x2.cvt",
    PairFormat.E5M2X2: "f8x2.cvt",
    PairFormat.E2M3X2: "narrow.cvt",
    PairFormat.E3M2X2: "narrow.cvt",
    PairFormat.E2M1X2: "narrow.cvt",
    PairFormat.UE8M0X2: "narrow.cvt",
    PairFormat.UE5M3X2: "cvt.ue5m3x2",
}
"""What a conversion to or from each format needs (PTX ISA, "cvt", target ISA notes)."""


@irdl_op_definition
class CvtPairOp(PureInstruction):
    """`ptx.cvt.pair e4m3x2 %low, %high -> i16` is `cvt.rn.satfinite.e4m3x2.f32 d, high, low`.

    Two f32 rounded to nearest even, powers of two (ue8m0) up; formats of 8 bits and less have no infinity to overflow
    to and saturate. ue5m3, of numbers without sign, is for sm_107a and sm_107f; nobody says what negative ones become.
    """

    name = "ptx.cvt.pair"
    FOLLOWS_TYPES: ClassVar = True

    format = prop_def(PairFormatAttr)
    low = operand_def(f32)
    high = operand_def(f32)
    result = result_def(Register)

    assembly_format = "$format $low `,` $high attr-dict `->` type($result)"

    def __init__(self, format_: PairFormat, low: Value, high: Value):
        fill(self, (value_of(low), value_of(high)), (format_.register,), {"format": _FORMATS[format_]})

    def verify_(self) -> None:
        expect_type("a pair", self.result, self.format.data.register)

    FORMS_NEED: ClassVar = tuple(dict.fromkeys(NARROW_FEATURES.values()))

    def features(self) -> tuple[str, ...]:
        return (NARROW_FEATURES[self.format.data],)

    def emit(self, reg: Names) -> str:
        format_ = self.format.data
        finite = "" if format_ in HALVES else ".satfinite"
        rounding = "rp" if format_ is PairFormat.UE8M0X2 else "rn"
        if format_ is PairFormat.E2M1X2:
            # Registers of 8 bits are operands of this conversion only.
            cvt = f"cvt.rn.satfinite.e2m1x2.f32 %byte, {reg(self.high)}, {reg(self.low)}"
            return f"{{ .reg .b8 %byte; {cvt}; cvt.u16.u8 {reg(self.result)}, %byte; }}"
        return f"cvt.{rounding}{finite}.{format_}.f32 {reg(self.result)}, {reg(self.high)}, {reg(self.low)}"


@irdl_op_definition
class CvtFromPairOp(PureInstruction):
    """`ptx.cvt.from_pair e4m3x2 %pair` is `cvt.rn.f16x2.e4m3x2`.

    It is exact: f16 has all numbers of the narrow formats, and bf16, which pairs of ue8m0 and of ue5m3 become, theirs.
    """

    name = "ptx.cvt.from_pair"

    format = prop_def(PairFormatAttr)
    operand = operand_def(i16)
    result = result_def(i32)

    assembly_format = "$format $operand attr-dict"

    def verify_(self) -> None:
        if self.format.data in HALVES:
            raise InstructionFormError(f"expected a format of elements of a byte, found {self.format.data}")

    FORMS_NEED: ClassVar = tuple(dict.fromkeys(NARROW_FEATURES.values()))

    def features(self) -> tuple[str, ...]:
        return (NARROW_FEATURES[self.format.data],)

    def emit(self, reg: Names) -> str:
        if self.format.data is PairFormat.E2M1X2:
            cvt = f"cvt.rn.f16x2.e2m1x2 {reg(self.result)}, %byte"
            return f"{{ .reg .b8 %byte; cvt.u8.u16 %byte, {reg(self.operand)}; {cvt}; }}"
        wide = "bf16x2" if self.format.data in (PairFormat.UE8M0X2, PairFormat.UE5M3X2) else "f16x2"
        return f"cvt.rn.{wide}.{self.format.data} {reg(self.result)}, {reg(self.operand)}"
