"""Atomic operations that return, and accesses that other threads may make at the same time."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, UnitAttr, bf16, f16, f32, f64, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, Register, ThreadOp, address, expect_choice, memory_type, typed, width
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, MemoryAccess
from tirx.rules import InstructionFormError


class Order(StrEnum):
    """The order between an access and others of its thread (PTX ISA, "Operation types")."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"

    @property
    def acquires(self) -> bool:
        """True if what comes behind stays behind."""
        return self in (Order.ACQUIRE, Order.ACQ_REL)

    @property
    def releases(self) -> bool:
        """True if what comes before stays before."""
        return self in (Order.RELEASE, Order.ACQ_REL)


class Scope(StrEnum):
    """The threads towards which an access is one step and orders others (PTX ISA, "Scope")."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class Atomic(StrEnum):
    """The operation of `atom` on the number in memory."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCH = "exch"
    CAS = "cas"
    INC = "inc"


OrderAttr = enum_attribute("ptx.order", Order)
ScopeAttr = enum_attribute("ptx.scope", Scope)
AtomicAttr = enum_attribute("ptx.atomic", Atomic)

_BITS: Mapping[Attribute, str] = {i32: "b32", i64: "b64", f32: "b32", f64: "b64"}
_SIGNED: Mapping[Attribute, str] = {i32: "s32", i64: "s64"}
_ADDED: Mapping[Attribute, str] = {
    i32: "u32",
    i64: "u64",
    f32: "f32",
    f64: "f64",
    f16: "noftz.f16",
    bf16: "noftz.bf16",
}
_CAS: Mapping[Attribute, str] = {**_BITS, i16: "b16", f16: "b16", bf16: "b16"}
_FORMS: Mapping[Atomic, Mapping[Attribute, str]] = {
    Atomic.ADD: _ADDED,
    Atomic.MIN: _SIGNED,
    Atomic.MAX: _SIGNED,
    Atomic.AND: {i32: "b32", i64: "b64"},
    Atomic.OR: {i32: "b32", i64: "b64"},
    Atomic.XOR: {i32: "b32", i64: "b64"},
    Atomic.EXCH: _BITS,
    Atomic.CAS: _CAS,
    Atomic.INC: {i32: "u32"},
}
"""Operation -> the types of registers that it has, with their PTX names (PTX ISA, "atom")."""


class _Strong(ThreadOp, abc.ABC):
    """An access of one number at `address + offset` (bytes), in global memory or, with an i32, in shared memory."""

    order = prop_def(OrderAttr)
    scope = prop_def(ScopeAttr)
    address = operand_def(Register)
    offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, 64))

    def verify_(self) -> None:
        if self.address.type not in (i32, i64):
            raise InstructionFormError(f"expected an address of i32 or i64, found {self.address.type}")

    FORMS_NEED: ClassVar = ("cluster",)

    def features(self) -> tuple[str, ...]:
        return ("cluster",) if self.scope.data is Scope.CLUSTER else ()

    def _access(self, type_: Attribute, *, reads: bool, writes: bool) -> Effects:
        region = (Bytes(self.address, width(type_) // 8, self.offset.value.data),)
        kind = AccessKind.GLOBAL if self.address.type == i64 else AccessKind.GENERIC
        return Effects(MemoryAccess(kind, region if reads else (), region if writes else (), atomic=True))

    @property
    def _modifiers(self) -> str:
        return f"{self.order.data}.{self.scope.data}.{'global' if self.address.type == i64 else 'shared'}"

    def _where(self, reg: Names) -> str:
        return address(reg, self.address, self.offset.value.data)


@irdl_op_definition
class AtomOp(_Strong):
    """`%o = ptx.atom add relaxed gpu %a offset 16, %x : i64, i32 -> i32` is `atom.relaxed.gpu.global.add.u32`.

    Combines what memory has with a register in one step, and gives what was there before. `cas` has two registers: the
    second one takes the place of what is equal to the first. `inc` counts to its register, and then from 0 again.
    Integers are signed unless `unsigned` is given. See PTX ISA, "atom".
    """

    name = "ptx.atom"

    operation = prop_def(AtomicAttr)
    unsigned = opt_prop_def(UnitAttr)
    data = var_operand_def(Register)
    result = result_def(Register)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$operation $order $scope (`unsigned` $unsigned^)? $address (`offset` $offset^)? `,` $data attr-dict `:` "
        "type($address) `,` type($data) `->` type($result)"
    )

    def verify_(self) -> None:
        super().verify_()
        operation, type_ = self.operation.data, self.result.type
        expect_choice("number of registers", len(self.data), (1 + (operation is Atomic.CAS),))
        if any(value.type != type_ for value in self.data):
            raise InstructionFormError("expected registers of one type")
        if type_ not in _FORMS[operation]:
            known = ", ".join(map(str, _FORMS[operation]))
            raise InstructionFormError(f"expected {operation} on {known}, found {type_}")
        if self.unsigned is not None and operation not in (Atomic.MIN, Atomic.MAX):
            raise InstructionFormError(f"expected 'unsigned' on min and max, found it on {operation}")

    FORMS_NEED: ClassVar = ("cluster", "red.bf16", "atom.b16")

    def features(self) -> tuple[str, ...]:
        is_bf16 = self.result.type == bf16 and self.operation.data is Atomic.ADD
        of_16_bits = ("red.bf16" if is_bf16 else "atom.b16",) if width(self.result.type) == 16 else ()
        return (*super().features(), *of_16_bits)

    def effects(self) -> Effects:
        return self._access(self.result.type, reads=True, writes=True)

    def emit(self, reg: Names) -> str:
        type_ = _FORMS[self.operation.data].get(self.result.type) or typed(self.result.type, unsigned=False)
        form = f"atom.{self._modifiers}.{self.operation.data}.{type_.replace('s', 'u') if self.unsigned else type_}"
        return f"{form} {reg(self.result)}, {self._where(reg)}, {', '.join(map(reg, self.data))}"


@irdl_op_definition
class LdStrongOp(_Strong):
    """`%x = ptx.ld.strong acquire gpu %a : i64 -> i32` is `ld.acquire.gpu.global.b32`.

    Loads what other threads may write at the same time. See PTX ISA, "ld".
    """

    name = "ptx.ld.strong"

    result = result_def(Register)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$order $scope $address (`offset` $offset^)? attr-dict `:` type($address) `->` type($result)"

    def verify_(self) -> None:
        super().verify_()
        expect_choice("order of a load", self.order.data, (Order.RELAXED, Order.ACQUIRE))

    def effects(self) -> Effects:
        return self._access(self.result.type, reads=True, writes=False)

    def emit(self, reg: Names) -> str:
        return f"ld.{self._modifiers}.{memory_type(self.result.type)} {reg(self.result)}, {self._where(reg)}"


@irdl_op_definition
class StStrongOp(_Strong):
    """`ptx.st.strong release gpu %a, %x : i64, i32` is `st.release.gpu.global.b32`.

    Stores what other threads may read at the same time. See PTX ISA, "st".
    """

    name = "ptx.st.strong"

    data = operand_def(Register)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$order $scope $address (`offset` $offset^)? `,` $data attr-dict `:` type($address) `,` type($data)"
    )

    def verify_(self) -> None:
        super().verify_()
        expect_choice("order of a store", self.order.data, (Order.RELAXED, Order.RELEASE))

    def effects(self) -> Effects:
        return self._access(self.data.type, reads=False, writes=True)

    def emit(self, reg: Names) -> str:
        return f"st.{self._modifiers}.{memory_type(self.data.type)} {self._where(reg)}, {reg(self.data)}"


@irdl_op_definition
class NanosleepOp(ThreadOp):
    """`ptx.nanosleep %t` is `nanosleep.u32`: the thread waits about so many nanoseconds. See PTX ISA, "nanosleep"."""

    name = "ptx.nanosleep"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("nanosleep",)

    time = operand_def(i32)

    assembly_format = "$time attr-dict"

    def emit(self, reg: Names) -> str:
        return f"nanosleep.u32 {reg.imm(self.time)}"
