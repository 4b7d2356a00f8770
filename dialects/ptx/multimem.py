"""Memory of several GPUs: `multimem` instructions, whose addresses stand for one on each, and `fabric`.

PTX ISA 9.3, "multimem.ld_reduce" to "multimem.cp.reduce.async.bulk" and "fabric". The simulator has one GPU and refuses
them by name.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, bf16, f16, f32, i16, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.atomics import Order, OrderAttr, Scope, ScopeAttr
from tirx.dialects.ptx.base import Names, Register, ThreadOp, address, expect_choice, expect_type, vector, width
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, MemoryAccess

_TYPES: Mapping[str, tuple[Attribute, tuple[int, ...]]] = {
    **dict.fromkeys(("u32", "s32", "b32"), (i32, (1,))),
    **dict.fromkeys(("u64", "s64", "b64"), (i64, (1,))),
    "f32": (f32, (1, 2, 4)),
    "f16x2": (i32, (1, 2, 4)),
    "bf16x2": (i32, (1, 2, 4)),
    "f16": (f16, (2, 4, 8)),
    "bf16": (bf16, (2, 4, 8)),
}
"""PTX types, their registers, and how many of these there may be."""

_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_EXTREMA = ("u32", "s32", "u64", "s64", *_HALVES)
_BITS = ("b32", "b64")
_REDUCTIONS: Mapping[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f32", *_HALVES),
    **dict.fromkeys(("min", "max"), _EXTREMA),
    **dict.fromkeys(("and", "or", "xor"), _BITS),
}
"""Operations on what the GPUs have, and their types."""

_ASYNC: Mapping[str, tuple[str, ...]] = {"add": ("u32", "s32", "u64")}
_BULK: Mapping[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), _BITS),
}
_FABRIC: Mapping[str, tuple[str, ...]] = {
    "add": ("u32", "u64", "f32"),
    **dict.fromkeys(("min", "max"), ("u32", "u64", "s32")),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}
_UNIT = 16
"""Bytes that a copy of unknown size touches for certain."""


class _Multimem(ThreadOp, abc.ABC):
    """An access at a multimem address."""

    type = prop_def(StringAttr)
    order = prop_def(OrderAttr)
    scope = prop_def(ScopeAttr)
    address = operand_def(i64)

    ORDERS: ClassVar = (Order.RELAXED, Order.RELEASE)
    FORMS_NEED: ClassVar[tuple[str, ...]] = ("multimem", "multimem.async")

    @property
    @abc.abstractmethod
    def values(self) -> tuple[SSAValue, ...]:
        """The registers that are stored, combined or loaded."""

    def _check(self, types: tuple[str, ...] = tuple(_TYPES)) -> None:
        expect_choice("type", name := self.type.data, types)
        expect_choice("order", self.order.data, self.ORDERS)
        register, counts = _TYPES[name]
        expect_choice(f"number of registers of {name}", len(self.values), counts)
        for value in self.values:
            expect_type(name, value, register)

    def effects(self) -> Effects:
        size = sum(width(value.type) for value in self.values) // 8
        region = (Bytes(self.address, size),)
        reads, writes = (region if self.has_trait(trait) else () for trait in (MemoryReadEffect, MemoryWriteEffect))
        return Effects(MemoryAccess(AccessKind.GLOBAL, reads, writes, atomic=True))

    def _form(self, operation: str = "") -> str:
        count = len(self.values)
        parts = (
            self.order.data,
            self.scope.data,
            "global",
            operation,
            f"v{count}" if count > 1 else "",
            self.type.data,
        )
        return ".".join(part for part in parts if part)

    def _data(self, reg: Names) -> str:
        return reg(self.values[0]) if len(self.values) == 1 else vector(reg, self.values)


@irdl_op_definition
class MultimemLdReduceOp(_Multimem):
    """`%x = ptx.multimem.ld_reduce "add" "f32" relaxed sys %a -> f32` is `multimem.ld_reduce...add.f32`.

    The sum (`min`, `max`, `and`, `or`, `xor`) of what all GPUs have at the address, of up to eight numbers.
    See PTX ISA, "multimem.ld_reduce".
    """

    name = "ptx.multimem.ld_reduce"
    NEEDS: ClassVar = ("multimem",)
    FORMS_NEED: ClassVar = ()
    ORDERS: ClassVar = (Order.RELAXED, Order.ACQUIRE)

    operation = prop_def(StringAttr)
    res = var_result_def(Register)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$operation $type $order $scope $address attr-dict `->` type($res)"

    @property
    def values(self) -> tuple[SSAValue, ...]:
        return tuple(self.res)

    def verify_(self) -> None:
        expect_choice("operation", self.operation.data, tuple(_REDUCTIONS))
        self._check(_REDUCTIONS[self.operation.data])

    def emit(self, reg: Names) -> str:
        form = self._form(self.operation.data)
        return f"multimem.ld_reduce.{form} {self._data(reg)}, {address(reg, self.address)}"


class _Written(_Multimem, abc.ABC):
    """Registers that go to all GPUs; `async` does not wait for it, and has `release` only."""

    asynchronous = opt_prop_def(UnitAttr)
    data = var_operand_def(Register)

    @property
    def values(self) -> tuple[SSAValue, ...]:
        return tuple(self.data)

    @property
    def _async(self) -> str:
        return "" if self.asynchronous is None else "async."

    def _check_async(self) -> None:
        if self.asynchronous is not None:
            expect_choice("order of an asynchronous access", self.order.data, (Order.RELEASE,))
            expect_choice("scope of an asynchronous access", self.scope.data, (Scope.GPU, Scope.SYS))
            expect_choice("number of registers of an asynchronous access", len(self.data), (1,))

    def features(self) -> tuple[str, ...]:
        return ("multimem",) if self.asynchronous is None else ("multimem.async",)


@irdl_op_definition
class MultimemStOp(_Written):
    """`ptx.multimem.st "f32" release sys %a, %x : f32` is `multimem.st.release.sys.global.f32`: a store to all GPUs.

    See PTX ISA, "multimem.st" and "multimem.st.async".
    """

    name = "ptx.multimem.st"

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "(`async` $asynchronous^)? $type $order $scope $address `,` $data attr-dict `:` type($data)"

    def verify_(self) -> None:
        self._check(tuple(_TYPES) if self.asynchronous is None else ("u32", "s32", "b32", "u64", "s64", "b64", "f32"))
        self._check_async()

    def emit(self, reg: Names) -> str:
        return f"multimem.st.{self._async}{self._form()} {address(reg, self.address)}, {self._data(reg)}"


@irdl_op_definition
class MultimemRedOp(_Written):
    """`ptx.multimem.red "add" "f32" relaxed sys %a, %x : f32` is `multimem.red.relaxed.sys.global.add.f32`.

    Combines registers with what each GPU has. See PTX ISA, "multimem.red" and "multimem.red.async".
    """

    name = "ptx.multimem.red"

    operation = prop_def(StringAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "(`async` $asynchronous^)? $operation $type $order $scope $address `,` $data attr-dict `:` type($data)"
    )

    def verify_(self) -> None:
        operations = _REDUCTIONS if self.asynchronous is None else _ASYNC
        expect_choice("operation", operation := self.operation.data, tuple(operations))
        types = operations[operation]
        if operation in ("min", "max") and len(self.data) == 1:
            types = tuple(name for name in types if name not in _HALVES)
        self._check(types)
        self._check_async()

    def emit(self, reg: Names) -> str:
        form = self._form(self.operation.data)
        return f"multimem.red.{self._async}{form} {address(reg, self.address)}, {self._data(reg)}"


@irdl_op_definition
class MultimemBulkOp(ThreadOp):
    """`ptx.multimem.cp.async.bulk %a, %src, %size` is `multimem.cp.async.bulk.global.shared::cta.bulk_group`.

    Starts to copy bytes of shared memory to all GPUs, those that `mask` (i16) has of every 16, or with `reduce "add"
    "u32"` combines them with what is there. Complete as `ptx.cp.async.bulk.tensor.store` is.
    See PTX ISA, "multimem.cp.async.bulk" and "multimem.cp.reduce.async.bulk".
    """

    name = "ptx.multimem.cp.async.bulk"
    NEEDS: ClassVar = ("multimem.cp.async.bulk",)
    OPTIONS_NEED: ClassVar = {"mask": "cp.async.bulk.cp_mask"}

    operation = opt_prop_def(StringAttr)
    type = opt_prop_def(StringAttr)
    address = operand_def(i64)
    src = operand_def(i32)
    size = operand_def(i32)
    mask = opt_operand_def(i16)

    assembly_format = "(`reduce` $operation^ $type)? $address `,` $src `,` $size (`mask` $mask^)? attr-dict"

    def verify_(self) -> None:
        if self.operation is not None and self.type is not None:
            expect_choice("operation", self.operation.data, tuple(_BULK))
            expect_choice("type", self.type.data, _BULK[self.operation.data])
            expect_choice("masks of a reduction", int(self.mask is not None), (0,))

    def effects(self) -> Effects:
        written = (Bytes(self.address, _UNIT),)
        return Effects(
            MemoryAccess(AccessKind.BULK_STORE, reads=(Bytes(self.src, _UNIT),)),
            outside=MemoryAccess(
                AccessKind.BULK_WRITE, reads=() if self.operation is None else written, writes=written
            ),
        )

    def emit(self, reg: Names) -> str:
        where = f"{address(reg, self.address)}, {address(reg, self.src)}, {reg(self.size)}"
        if self.operation is not None and self.type is not None:
            noftz = "noftz." if self.operation.data == "add" and self.type.data in ("f16", "bf16") else ""
            form = f"{self.operation.data}.{noftz}{self.type.data}"
            return f"multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.{form} {where}"
        mask, of = ("", "") if self.mask is None else (".cp_mask", f", {reg(self.mask)}")
        return f"multimem.cp.async.bulk.global.shared::cta.bulk_group{mask} {where}{of}"


class _FabricTransfer(ThreadOp, abc.ABC):
    """A copy between shared memory and an endpoint: `at` bytes of it; its bytes count on the mbarrier."""

    NEEDS: ClassVar = ("fabric",)

    endpoint = operand_def(i32)
    at = operand_def(i64)
    shared = operand_def(i32)
    size = operand_def(i32)
    barrier = operand_def(i32)


@irdl_op_definition
class FabricTryGetOp(_FabricTransfer):
    """`ptx.fabric.try_get %dst, %endpoint[%at], %size, %bar`: bytes of an endpoint of the fabric to shared memory.

    See PTX ISA, "fabric.try_get".
    """

    name = "ptx.fabric.try_get"

    assembly_format = "$shared `,` $endpoint `[` $at `]` `,` $size `,` $barrier attr-dict"

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.BULK_LOAD, writes=(Bytes(self.shared, _UNIT),), barrier=self.barrier))

    def emit(self, reg: Names) -> str:
        form = "async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.b128"
        where = f"[{reg(self.endpoint)}, {reg(self.at)}]"
        ends = f"{address(reg, self.shared)}, {where}, {reg(self.size)}, {address(reg, self.barrier)}"
        return f"fabric.try_get.{form} {ends}"


@irdl_op_definition
class FabricTryPutOp(_FabricTransfer):
    """`ptx.fabric.try_put %endpoint[%at], %src, %size, %bar`: bytes of shared memory to an endpoint of the fabric.

    `multimem` writes to several GPUs, `counted %n` counts the bytes at an address of the endpoint, `mask` has those of
    every 16 bytes that are written. `reduce "add" "u32"` combines them with what is there. See PTX ISA,
    "fabric.try_put" and "fabric.try_red".
    """

    name = "ptx.fabric.try_put"

    multimem = opt_prop_def(UnitAttr)
    operation = opt_prop_def(StringAttr)
    type = opt_prop_def(StringAttr)
    counted = opt_operand_def(i64)
    mask = opt_operand_def(i16)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    (`multimem` $multimem^)? (`reduce` $operation^ $type)? $endpoint `[` $at `]` `,` $shared `,` $size `,` $barrier
    (`counted` $counted^)? (`mask` $mask^)? attr-dict
    """

    def verify_(self) -> None:
        if self.operation is not None and self.type is not None:
            expect_choice("operation", self.operation.data, tuple(_FABRIC))
            expect_choice("type", self.type.data, _FABRIC[self.operation.data])
        alone = self.mask is None or (self.counted is None and self.operation is None)
        expect_choice("masks of a counted copy or a reduction", int(not alone), (0,))

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.BULK_LOAD, reads=(Bytes(self.shared, _UNIT),), barrier=self.barrier))

    def emit(self, reg: Names) -> str:
        verb, kind = "put", "b128"
        if self.operation is not None and self.type is not None:
            verb, kind = "red", f"{self.operation.data}.{self.type.data}"
        parts = (
            *("async", "" if self.multimem is None else "multimem", "shared::cta", "mbarrier::complete_tx::16B"),
            *("mbarrier::report::fabric", "" if self.mask is None else "cp_mask"),
            *("" if self.counted is None else "counted::bytes", "relaxed", "sys", kind),
        )
        counted = "" if self.counted is None else f", {reg(self.counted)}"
        mask = "" if self.mask is None else f", {reg(self.mask)}"
        where = f"[{reg(self.endpoint)}, {reg(self.at)}{counted}], {address(reg, self.shared)}"
        form = ".".join(part for part in parts if part)
        return f"fabric.try_{verb}.{form} {where}, {reg(self.size)}, {address(reg, self.barrier)}{mask}"


@irdl_op_definition
class FabricSubmitOp(ThreadOp):
    """`ptx.fabric.submit`: hands the thread's copies to the fabric, those that fetch only with `fetching`.

    `ptx.fabric.submit group` is `fabric.submit.commit_group`: it makes a group of them. See PTX ISA, "fabric.submit".
    """

    name = "ptx.fabric.submit"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("fabric",)
    OPTIONS_NEED: ClassVar = {"group": "fabric.groups"}

    group = opt_prop_def(UnitAttr)
    fetching = opt_prop_def(UnitAttr)

    assembly_format = "(`group` $group^)? (`fetching` $fetching^)? attr-dict"

    def verify_(self) -> None:
        expect_choice("of 'group' and 'fetching'", int(None not in (self.group, self.fetching)), (0,))

    def emit(self, reg: Names) -> str:
        group = "" if self.group is None else ".commit_group"
        return f"fabric.submit{group}{'' if self.fetching is None else '.op_restrict::fetching'}"


@irdl_op_definition
class FabricWaitOp(ThreadOp):
    """`ptx.fabric.wait` waits until the thread's copies have read shared memory, `group 1` all groups but the last.

    PTX 9.5 has groups, and deprecates the form without. See PTX ISA, "fabric.wait".
    """

    name = "ptx.fabric.wait"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("fabric",)
    OPTIONS_NEED: ClassVar = {"group": "fabric.groups"}

    group = opt_prop_def(IntegerAttr[I32])

    assembly_format = "(`group` $group^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return "fabric.wait.sync_restrict::" + ("reads" if self.group is None else f"read {self.group.value.data}")
