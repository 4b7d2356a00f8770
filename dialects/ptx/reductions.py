"""Reductions in global memory: `red`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, UnitAttr, bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_prop_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, Register, ThreadOp, address, expect_choice, expect_type, width
from tirx.dialects.ptx.effects import AccessKind, Bytes, Effects, MemoryAccess
from tirx.dialects.ptx.packed import HALVES, PairFormat, PairFormatAttr
from tirx.rules import InstructionFormError


class Red(StrEnum):
    """The operation of `red` on the number in memory."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


RedAttr = enum_attribute("ptx.red_operation", Red)

_BITWISE = (Red.AND, Red.OR, Red.XOR)
_FLOATS: Mapping[Attribute, str] = {f32: "f32", f64: "f64", f16: "noftz.f16", bf16: "noftz.bf16"}


class _Reduction(ThreadOp):
    """Combines registers with what memory has at `address + offset` (bytes)."""

    operation = prop_def(RedAttr)
    address = operand_def(i64)
    data = var_operand_def(Register)
    offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, 64))
    format = opt_prop_def(PairFormatAttr)
    unsigned = opt_prop_def(UnitAttr)

    SPACE: ClassVar[AccessKind]

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$operation (`of` $format^)? (`unsigned` $unsigned^)? $address (`offset` $offset^)? `,` $data attr-dict `:` "
        "type($data)"
    )

    @property
    def _type(self) -> Attribute:
        return self.data.types[0]

    def verify_(self) -> None:
        expect_choice("number of registers", len(self.data), (1, 2, 4))
        if any(type_ != self._type for type_ in self.data.types):
            raise InstructionFormError("expected registers of one type")
        operation, type_ = self.operation.data, self._type
        halves = type_ in (f16, bf16)
        if self.format is not None:
            expect_type("pairs", type_, i32)
            expect_choice("format of pairs", self.format.data, list(HALVES))
        elif type_ not in (*_FLOATS, i32, i64):
            raise InstructionFormError(f"expected registers of i32, i64, f16, bf16, f32 or f64, found {type_}")
        if halves or self.format is not None:
            choices = (Red.ADD,) if len(self.data) == 1 else (Red.ADD, Red.MIN, Red.MAX)
            expect_choice("operation on elements of 16 bits", operation, choices)
        elif type_ in _FLOATS:
            expect_choice(f"operation on {type_}", operation, (Red.ADD,))
        if len(self.data) > 1 and self.format is None and type_ not in (f16, bf16, f32):
            raise InstructionFormError(f"expected one register of {type_}, found {len(self.data)}")
        if self.unsigned is not None and (type_ not in (i32, i64) or self.format is not None):
            raise InstructionFormError("expected 'unsigned' on integers only")

    FORMS_NEED: ClassVar = ("red.vector", "red.bf16", "red.f16", "red.f16x2")

    def features(self) -> tuple[str, ...]:
        if len(self.data) > 1:
            return ("red.vector",)
        if self.format is not None:
            return ("red.bf16" if self.format.data is PairFormat.BF16X2 else "red.f16x2",)
        return (f"red.{self._type}",) if self._type in (f16, bf16) else ()

    def effects(self) -> Effects:
        size = sum(width(type_) for type_ in self.data.types) // 8
        region = (Bytes(self.address, size, self.offset.value.data),)
        return Effects(MemoryAccess(self.SPACE, reads=region, writes=region, atomic=True))

    def emit(self, reg: Names) -> str:
        space = "global" if self.SPACE is AccessKind.GLOBAL else "shared"
        type_, operation = self._type, self.operation.data
        if self.format is not None:
            name = f"noftz.{{}}{self.format.data}"
        elif type_ in _FLOATS:
            prefix, _, own = _FLOATS[type_].rpartition(".")
            name = f"{prefix}{'.' if prefix else ''}{{}}{own}"
        else:
            letter = "b" if operation in _BITWISE else "u" if self.unsigned is not None or operation is Red.ADD else "s"
            name = f"{{}}{letter}{width(type_)}"
        vector = "" if len(self.data) == 1 else f"v{len(self.data)}."
        names = [reg(value) for value in self.data]
        data = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        where = address(reg, self.address, self.offset.value.data)
        return f"red.{space}.{operation}.{name.format(vector)} {where}, {data}"


@irdl_op_definition
class RedOp(_Reduction):
    """`ptx.red add %a offset 16, %x, %y : f32, f32` is `red.global.add.v2.f32 [%rd0+16], {%f0, %f1}`.

    Combines one register with what global memory has at `address + offset` (bytes), or two or four of f16, bf16, f32
    and pairs. i32 registers are integers, signed unless `unsigned` is given, or pairs if there is a format:
    `ptx.red add of f16x2 %a, %x : i32`. See PTX ISA, "red".
    """

    name = "ptx.red"
    SPACE: ClassVar = AccessKind.GLOBAL


@irdl_op_definition
class RedSharedOp(_Reduction):
    """`ptx.red.shared add %a, %x : f32` is `red.shared.add.f32 [%r0], %f0`: `ptx.red` in shared memory."""

    name = "ptx.red.shared"
    SPACE: ClassVar = AccessKind.GENERIC

    address = operand_def(i32)

    def verify_(self) -> None:
        super().verify_()
        expect_choice("number of registers", len(self.data), (1,))
