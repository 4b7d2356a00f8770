"""Parameters, address conversion, loads and stores."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, SymbolNameConstraint, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.nesting import ancestors, enclosing
from tirx.dialects.ptx.base import (
    Names,
    PTXInstruction,
    PureInstruction,
    Register,
    ThreadOp,
    address,
    expect_choice,
    expect_type,
    memory_type,
    typed,
    width,
)
from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, MemoryAccess
from tirx.dialects.ptx.parameters import PARAM_TYPES, EntryParam
from tirx.dialects.xdsl_private import operands_of
from tirx.rules import InstructionFormError, ParameterError


def _entry(op: PTXInstruction) -> EntryOp | None:
    """The entry around an operation that names a parameter. Raises ParameterError in a kernel, which has none yet."""
    entry = enclosing(op, EntryOp)
    if entry is None and any(around.name == "tirx.kernel" for around in ancestors(op)):
        raise ParameterError("expected a parameter of a ptx.entry, found one in a kernel, which has arguments")
    return entry


def _declared(entry: EntryOp, name: str) -> EntryParam:
    declared = entry.param(name)
    if declared is None:
        known = ", ".join(p.data.name for p in entry.params)
        raise ParameterError(f"expected one of the entry's parameters ({known}), found '{name}'")
    return declared


@irdl_op_definition
class LdParamOp(PureInstruction):
    """Reads a parameter of the enclosing `ptx.entry` by name: `ld.param.u64 %rd0, [a]`.

    ```mlir
    %a = ptx.ld.param @a : i64
    ```
    """

    name = "ptx.ld.param"

    param = prop_def(SymbolNameConstraint())
    result = result_def(Register)

    assembly_format = "$param attr-dict `:` type($result)"

    def declared(self) -> EntryParam | None:
        """The parameter's declaration; None outside an entry or if there is none."""
        entry = enclosing(self, EntryOp)
        return None if entry is None else entry.param(self.param.data)

    def verify_(self) -> None:
        entry = _entry(self)
        if entry is None:
            return
        name = self.param.data
        declared = _declared(entry, name)
        if declared.count is not None:
            raise ParameterError(f"expected a scalar parameter, found array '{name}'")
        bits = 8 * PARAM_TYPES[declared.type]
        if width(self.result.type) != bits:
            raise ParameterError(f"expected a result of {bits} bits for parameter '{name}', found {self.result.type}")
        if declared.type.startswith("f") and str(self.result.type) != declared.type:
            raise ParameterError(f"expected {declared.type} for parameter '{name}', found {self.result.type}")

    def emit(self, reg: Names) -> str:
        declared, type_ = self.declared(), memory_type(self.result.type)
        if type_.startswith("b"):  # of the others, instructions want registers of their own type
            type_ = typed(self.result.type, unsigned=True) if declared is None else declared.type
        return f"ld.param.{type_} {reg(self.result)}, [{self.param.data}]"


@irdl_op_definition
class CvtaToGlobalOp(PureInstruction):
    """Generic address to global address: `cvta.to.global.u64`. See PTX ISA, "cvta"."""

    name = "ptx.cvta.to.global"

    operand = operand_def(i64)
    result = result_def(i64)

    assembly_format = "$operand attr-dict"

    def emit(self, reg: Names) -> str:
        return f"cvta.to.global.u64 {reg(self.result)}, {reg(self.operand)}"


@irdl_op_definition
class ParamAddressOp(PureInstruction):
    """The generic address of a parameter of the enclosing `ptx.entry`, such as a tensor map.

    ```mlir
    %map = ptx.param_address @map
    ```
    is `mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0;`. See PTX ISA, "cvta".
    """

    name = "ptx.param_address"
    NEEDS: ClassVar = ("cvta.param",)

    param = prop_def(SymbolNameConstraint())
    result = result_def(i64)

    assembly_format = "$param attr-dict"

    def verify_(self) -> None:
        if (entry := _entry(self)) is not None:
            _declared(entry, self.param.data)

    def emit(self, reg: Names) -> str:
        address = reg(self.result)
        return f"mov.b64 {address}, {self.param.data}\ncvta.param.u64 {address}, {address}"


@irdl_op_definition
class MapaOp(PureInstruction):
    """The `shared::cluster` address, in the CTA of this rank, of what is at a shared address of this CTA.

    See PTX ISA, "mapa".
    """

    name = "ptx.mapa"
    NEEDS: ClassVar = ("cluster",)

    address = operand_def(i32)
    rank = operand_def(i32)
    result = result_def(i32)

    assembly_format = "$address `,` $rank attr-dict"

    def emit(self, reg: Names) -> str:
        return f"mapa.shared::cluster.u32 {reg(self.result)}, {reg(self.address)}, {reg.imm(self.rank)}"


class Space(StrEnum):
    """State spaces of loads and stores (PTX ISA, "State Spaces")."""

    GLOBAL = "global"
    SHARED = "shared"
    SHARED_CLUSTER = "shared_cluster"

    @property
    def modifier(self) -> str:
        """The PTX text."""
        return self.replace("_", "::")


ADDRESS_TYPES: dict[Space, Attribute] = {Space.GLOBAL: i64, Space.SHARED: i32, Space.SHARED_CLUSTER: i32}
"""Registers that hold an address of each space: shared addresses are 32-bit offsets in the shared window."""


ACCESS_BITS = 128
"""The most that one load or store moves (PTX ISA, "Vectors")."""


SpaceAttr = enum_attribute("ptx.space", Space)


def _check_vector(space: Space, base: SSAValue, types: Sequence[Attribute]) -> None:
    if base.type is not (expected := ADDRESS_TYPES[space]):
        expect_type(f"{space} address", base, expected)
    expect_choice("number of registers", len(types), (1, 2, 4))
    first = types[0]
    is_mixed = any(t != first for t in types)
    if first == i1 or (is_mixed and i1 in types):
        raise InstructionFormError("expected integer or float registers, found i1: PTX loads and stores no predicates")
    if is_mixed:
        raise InstructionFormError(f"expected registers of one type, found {', '.join(map(str, types))}")
    if (bits := len(types) * width(first)) > ACCESS_BITS:
        raise InstructionFormError(f"expected at most {ACCESS_BITS} bits in one access, found {bits}")


_KINDS: dict[Space, AccessKind] = {Space.GLOBAL: AccessKind.GLOBAL, Space.SHARED: AccessKind.GENERIC}
"""Spaces whose accesses are checked: the memory of other CTAs is not among them."""


def _size(registers: Sequence[SSAValue]) -> int:
    """Bytes of registers, which are of one type."""
    return len(registers) * width(registers[0].type) // 8


def _suffix(registers: Sequence[SSAValue]) -> str:
    vector = "" if len(registers) == 1 else f".v{len(registers)}"
    return f"{vector}.{memory_type(registers[0].type)}"


class _AccessOp(ThreadOp, abc.ABC):
    """A load or store at `address + offset` (bytes) of a space."""

    FOLLOWS_TYPES: ClassVar = True

    space = prop_def(SpaceAttr)
    address = operand_def(Register)
    offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, 64))

    FORMS_NEED: ClassVar = ("cluster",)

    def verify_(self) -> None:
        expect_type(f"{self.space.data} address", self.address, ADDRESS_TYPES[self.space.data])

    def features(self) -> tuple[str, ...]:
        return ("cluster",) if self.space.data is Space.SHARED_CLUSTER else ()

    def _access(self, size: int, *, write: bool) -> Effects:
        """The effects of reading or writing `size` bytes."""
        if (kind := _KINDS.get(self.space.data)) is None:
            return NO_EFFECTS
        region = (Bytes(self.address, size, self.offset.value.data),)
        return Effects(MemoryAccess(kind, writes=region) if write else MemoryAccess(kind, reads=region))

    def _where(self, reg: Names) -> str:
        return address(reg, self.address, self.offset.value.data)


@irdl_op_definition
class LdOp(_AccessOp):
    """Loads one, two or four registers from `address + offset` (bytes), which must be aligned to the access.

    ```mlir
    %0, %1 = ptx.ld global %a offset 16 : i64 -> i32, i32
    ```
    is `ld.global.v2.b32 {%r0, %r1}, [%rd0+16]`. See PTX ISA, "Data Movement and Conversion: ld".
    """

    name = "ptx.ld"

    res = var_result_def(Register)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$space $address (`offset` $offset^)? attr-dict `:` type($address) `->` type($res)"

    def verify_(self) -> None:
        _check_vector(self.space.data, self.address, self.res.types)

    def effects(self) -> Effects:
        return self._access(_size(self.res), write=False)

    def emit(self, reg: Names) -> str:
        names, suffix = [*map(reg, self.res)], _suffix(self.res)
        target = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        return f"ld.{self.space.data.modifier}{suffix} {target}, {self._where(reg)}"


@irdl_op_definition
class StOp(_AccessOp):
    """Stores one, two or four registers to `address + offset` (bytes), which must be aligned to the access.

    ```mlir
    ptx.st shared %a offset 16, %x, %y : i32, i32, i32
    ```
    is `st.shared.v2.b32 [%r0+16], {%r1, %r2}`. See PTX ISA, "Data Movement and Conversion: st".
    """

    name = "ptx.st"

    address = operand_def(Register)  # again, so that it precedes `data`
    data = var_operand_def(Register)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$space $address (`offset` $offset^)? `,` $data attr-dict `:` type($address) `,` type($data)"

    def verify_(self) -> None:
        _check_vector(self.space.data, self.address, self.data.types)

    def effects(self) -> Effects:
        _, *data = operands_of(self)
        return self._access(_size(data), write=True)

    def emit(self, reg: Names) -> str:
        base, *data = operands_of(self)
        names = [*map(reg if width(data[0].type) == 16 else reg.imm, data)]
        stored = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        place = address(reg, base, self.offset.value.data)
        return f"st.{self.space.data.modifier}{_suffix(data)} {place}, {stored}"


@irdl_op_definition
class LdU8Op(_AccessOp):
    """Loads one byte from `address + offset` (bytes) into the low bits of a register, zeros above.

    ```mlir
    %0 = ptx.ld.u8 global %a offset 3 : i64
    ```
    is `ld.global.u8 %r0, [%rd0+3]`. The register may be wider than what is loaded: PTX ISA, "Operand Size Exceeding
    Instruction-Type Size".
    """

    name = "ptx.ld.u8"

    result = result_def(i32)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$space $address (`offset` $offset^)? attr-dict `:` type($address)"

    def effects(self) -> Effects:
        return self._access(1, write=False)

    def emit(self, reg: Names) -> str:
        return f"ld.{self.space.data.modifier}.u8 {reg(self.result)}, {self._where(reg)}"


@irdl_op_definition
class StU8Op(_AccessOp):
    """Stores the low byte of a register to `address + offset` (bytes).

    ```mlir
    ptx.st.u8 shared %a offset 3, %x : i32
    ```
    is `st.shared.u8 [%r0+3], %r1`. See PTX ISA, "Operand Size Exceeding Instruction-Type Size".
    """

    name = "ptx.st.u8"

    address = operand_def(Register)  # again, so that it precedes `data`
    data = operand_def(i32)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$space $address (`offset` $offset^)? `,` $data attr-dict `:` type($address)"

    def effects(self) -> Effects:
        return self._access(1, write=True)

    def emit(self, reg: Names) -> str:
        return f"st.{self.space.data.modifier}.u8 {self._where(reg)}, {reg(self.data)}"
