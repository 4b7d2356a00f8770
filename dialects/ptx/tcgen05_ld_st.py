"""`tcgen05.ld`, `tcgen05.ld.red` and `tcgen05.st`: between tensor memory and the registers of one warp.

See PTX ISA, "Tensor Memory Data Movement Instructions". Addresses as in `tirx.dialects.ptx.tcgen05`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, f32, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import Value, int32, irdl_op_definition, unit
from tirx.dialects.ptx.base import Names, PTXInstruction, Register, address, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, MemoryAccess, TensorCells
from tirx.dialects.ptx.tcgen05 import Tcgen05Op, tmem_operand
from tirx.rules import InstructionFormError
from tirx.tcgen05 import LD_SHAPES
from tirx.tcgen05.check_memory import LdSt


def _check_registers(op: PTXInstruction, types: Sequence[Attribute]) -> None:
    for type_ in types:
        if type_ not in (i32, f32):
            raise InstructionFormError(f"{op.name}: expected registers of type i32 or f32, found {type_}")


def _access(op: Tcgen05LdOp | Tcgen05LdRedOp | Tcgen05StOp, depth: int, registers: int) -> LdSt:
    """What loads and stores have in common."""
    place = tmem_operand(op.taddr, depth, op.offset.value.data)
    return LdSt(
        op.shape.data,
        op.num.value.data,
        registers,
        split=None if op.half_split_offset is None else op.half_split_offset.value.data,
        lane=place.lane,
        column=place.column,
        allocated=place.allocated,
    )


def _cells(op: Tcgen05LdOp | Tcgen05LdRedOp | Tcgen05StOp, *, packed: bool = False) -> TensorCells:
    """The lanes and columns that a warp loads or stores."""
    row = _SHAPES[op.shape.data]
    columns = row.columns * op.num.value.data * (2 if packed else 1)
    return TensorCells(op.taddr, row.lanes, columns, op.offset.value.data)


_SHAPES = {str(name): row for name, row in LD_SHAPES.items()}


def _registers(shape: str, num: int) -> int:
    """Registers of an access; as many as repeats for a shape that does not exist, which the verifier reports."""
    row = _SHAPES.get(shape)
    return num if row is None else num * row.registers_per_repeat


@irdl_op_definition
class Tcgen05LdOp(Tcgen05Op):
    """Starts to load registers from tensor memory at `taddr + offset` (columns), all lanes of a warp together.

    The registers may be used after `ptx.tcgen05.wait.ld`. See PTX ISA, "tcgen05.ld".
    """

    name = "ptx.tcgen05.ld"
    ISSUE: ClassVar = Issue.WARP

    taddr = operand_def(i32)
    shape = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    offset = prop_def(IntegerAttr[I32], default_value=IntegerAttr(0, 32))
    pack = opt_prop_def(UnitAttr)
    half_split_offset = opt_prop_def(IntegerAttr[I32])
    res = var_result_def(Register)

    assembly_format = """
    $shape `num` $num $taddr (`offset` $offset^)? (`pack` $pack^)? (`half_split_offset` $half_split_offset^)?
    attr-dict `->` type($res)
    """

    def __init__(
        self,
        taddr: Value,
        shape: str,
        num: int,
        *,
        result_type: Attribute = i32,
        offset: int = 0,
        pack: bool = False,
        half_split_offset: int | None = None,
    ):
        """`pack` joins two 16-bit columns in one register (`.pack::16b`)."""
        super().__init__(
            operands=[taddr],
            properties={
                "shape": StringAttr(shape),
                "num": int32(num),
                "offset": int32(offset),
                "pack": unit(pack),
                "half_split_offset": int32(half_split_offset),
            },
            result_types=[[result_type] * _registers(shape, num)],
        )

    def describe(self, depth: int) -> LdSt:
        return replace(_access(self, depth, len(self.res)), packed=self.pack is not None)

    def verify_(self) -> None:
        super().verify_()
        _check_registers(self, self.res.types)

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.TENSOR_LOAD, reads=(_cells(self, packed=self.pack is not None),)))

    def emit(self, reg: Names) -> str:
        pack = "" if self.pack is None else ".pack::16b"
        split = "" if self.half_split_offset is None else f", {self.half_split_offset.value.data}"
        where = address(reg, self.taddr, self.offset.value.data)
        form = f"{self.shape.data}.x{self.num.value.data}{pack}"
        return f"tcgen05.ld.sync.aligned.{form}.b32 {vector(reg, self.res)}, {where}{split}"


class Reduction(StrEnum):
    """What `tcgen05.ld.red` keeps of the loaded registers."""

    MIN = "min"
    MAX = "max"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """`min` or `max`."""

    name = "ptx.reduction"


REDUCTION_TYPES: Mapping[str, Attribute] = {"f32": f32, "u32": i32, "s32": i32}
"""How `tcgen05.ld.red` reads the columns -> the register that holds the result."""


@irdl_op_definition
class Tcgen05LdRedOp(Tcgen05Op):
    """`ptx.tcgen05.ld` that also gives the least or greatest of the registers of each thread, as the first result.

    `abs` compares magnitudes, `nan` makes the result NaN if any register is; both for `f32` only.

    ```mlir
    %max, %0, %1 = ptx.tcgen05.ld.red max "f32" "32x32b" num 2 %t abs nan -> f32, f32, f32
    ```
    See PTX ISA, "tcgen05.ld.red".
    """

    name = "ptx.tcgen05.ld.red"
    ISSUE: ClassVar = Issue.WARP
    NEEDS: ClassVar = ("tcgen05", "tcgen05.ld.red")

    taddr = operand_def(i32)
    reduction = prop_def(ReductionAttr)
    type = prop_def(StringAttr)
    shape = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    offset = prop_def(IntegerAttr[I32], default_value=IntegerAttr(0, 32))
    abs = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)
    half_split_offset = opt_prop_def(IntegerAttr[I32])
    reduced = result_def(Register)
    res = var_result_def(Register)

    assembly_format = """
    $reduction $type $shape `num` $num $taddr (`offset` $offset^)? (`abs` $abs^)? (`nan` $nan^)?
    (`half_split_offset` $half_split_offset^)? attr-dict `->` type($reduced) `,` type($res)
    """

    def __init__(
        self,
        taddr: Value,
        shape: str,
        num: int,
        *,
        reduction: Reduction | str,
        type: str,
        result_type: Attribute = i32,
        offset: int = 0,
        abs: bool = False,
        nan: bool = False,
        half_split_offset: int | None = None,
    ):
        super().__init__(
            operands=[taddr],
            properties={
                "reduction": ReductionAttr(Reduction(reduction)),
                "type": StringAttr(type),
                "shape": StringAttr(shape),
                "num": int32(num),
                "offset": int32(offset),
                "abs": unit(abs),
                "nan": unit(nan),
                "half_split_offset": int32(half_split_offset),
            },
            result_types=[REDUCTION_TYPES.get(type, i32), [result_type] * _registers(shape, num)],
        )

    def describe(self, depth: int) -> LdSt:
        return replace(
            _access(self, depth, len(self.res)),
            reduce=self.reduction.data.value,
            type=self.type.data,
            modified=self.abs is not None or self.nan is not None,
        )

    def verify_(self) -> None:
        super().verify_()
        _check_registers(self, self.res.types)
        if (expected := REDUCTION_TYPES[self.type.data]) != self.reduced.type:
            raise InstructionFormError(
                f"expected the reduction of {self.type.data} in a register {expected}, found {self.reduced.type}"
            )

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.TENSOR_LOAD, reads=(_cells(self),)))

    def emit(self, reg: Names) -> str:
        flags = ("" if self.abs is None else ".abs") + ("" if self.nan is None else ".NaN")
        split = "" if self.half_split_offset is None else f", {self.half_split_offset.value.data}"
        where = address(reg, self.taddr, self.offset.value.data)
        form = f"{self.shape.data}.x{self.num.value.data}.{self.reduction.data.value}{flags}.{self.type.data}"
        return f"tcgen05.ld.red.sync.aligned.{form} {vector(reg, self.res)}, {reg(self.reduced)}, {where}{split}"


@irdl_op_definition
class Tcgen05StOp(Tcgen05Op):
    """Starts to store registers to tensor memory at `taddr + offset` (columns), all lanes of a warp together.

    Complete after `ptx.tcgen05.wait.st`. See PTX ISA, "tcgen05.st".
    """

    name = "ptx.tcgen05.st"
    ISSUE: ClassVar = Issue.WARP

    taddr = operand_def(i32)
    data = var_operand_def(Register)
    shape = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    offset = prop_def(IntegerAttr[I32], default_value=IntegerAttr(0, 32))
    unpack = opt_prop_def(UnitAttr)
    half_split_offset = opt_prop_def(IntegerAttr[I32])

    assembly_format = """
    $shape `num` $num $taddr (`offset` $offset^)? (`unpack` $unpack^)? (`half_split_offset` $half_split_offset^)?
    `,` $data attr-dict `:` type($data)
    """

    def __init__(
        self,
        taddr: Value,
        data: Sequence[Value],
        shape: str,
        num: int,
        *,
        offset: int = 0,
        unpack: bool = False,
        half_split_offset: int | None = None,
    ):
        """`unpack` spreads a register over two 16-bit columns (`.unpack::16b`)."""
        super().__init__(
            operands=[taddr, data],
            properties={
                "shape": StringAttr(shape),
                "num": int32(num),
                "offset": int32(offset),
                "unpack": unit(unpack),
                "half_split_offset": int32(half_split_offset),
            },
        )

    def describe(self, depth: int) -> LdSt:
        return replace(_access(self, depth, len(self.data)), packed=self.unpack is not None)

    def verify_(self) -> None:
        super().verify_()
        _check_registers(self, self.data.types)

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.TENSOR_STORE, writes=(_cells(self, packed=self.unpack is not None),)))

    def emit(self, reg: Names) -> str:
        unpack = "" if self.unpack is None else ".unpack::16b"
        split = "" if self.half_split_offset is None else f"{self.half_split_offset.value.data}, "
        where = address(reg, self.taddr, self.offset.value.data)
        form = f"{self.shape.data}.x{self.num.value.data}{unpack}"
        return f"tcgen05.st.sync.aligned.{form}.b32 {where}, {split}{vector(reg, self.data)}"
