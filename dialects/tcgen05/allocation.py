"""Allocation of tensor memory, and the tiles in it."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import I32, IntAttr, IntegerAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import ParsePropInAttrDict, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.ptx.base import Names, address
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, Issue, MemoryAccess
from tirx.dialects.ptx.memory import LdOp, Space, StOp
from tirx.dialects.tcgen05.common import CtaGroupOp, expect_tile, immediate
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.rules import InstructionFormError, PlaceError
from tirx.tcgen05.check_memory import Alloc
from tirx.tcgen05.tmem import COLUMNS, EXCLUSIVE_SIZES

_SLOT_BYTES = 4
"""What tcgen05.alloc stores: an address in tensor memory."""


class _ColumnsOp(CtaGroupOp, abc.ABC):
    """Executed by one warp. The number of columns is known, or in a register."""

    ISSUE: ClassVar = Issue.ONE_WARP

    address = operand_def(I32)
    columns_register = opt_operand_def(I32)
    columns = opt_prop_def(IntegerAttr[I32])
    exclusive = opt_prop_def(UnitAttr)

    assembly_format = """
    $address (`exclusive` $exclusive^)? (`columns` $columns^)? (`columns_in` $columns_register^)?
    (`cta_group` $cta_group^)? attr-dict
    """
    OPTIONS_NEED: ClassVar = {"exclusive": "tcgen05.alloc.exclusive"}

    def describe(self, depth: int) -> Alloc:
        columns = immediate(self.columns_register, depth) if self.columns is None else self.columns.value.data
        return Alloc(columns, self.cta_group.value.data, exclusive=self.exclusive is not None)

    def verify_(self) -> None:
        if (self.columns is None) == (self.columns_register is None):
            found = "none" if self.columns is None else "both"
            raise InstructionFormError(f"{self.name}: expected one of columns and columns_in, found {found}")
        super().verify_()

    @property
    def modifier(self) -> str:
        """The modifier of an exclusive allocation."""
        return "" if self.exclusive is None else "exclusive."

    def count(self, reg: Names) -> str:
        """The operand with the number of columns."""
        if self.columns is not None:
            return str(self.columns.value.data)
        return "" if self.columns_register is None else reg(self.columns_register)


@irdl_op_definition
class AllocOp(_ColumnsOp):
    """`tcgen05.alloc %slot columns 256`: one warp allocates columns of tensor memory.

    The address of the allocation is written to the 4 bytes of shared memory at `%slot`. With `cta_group 2`, one warp of
    each CTA of a pair allocates the columns in both. `columns_in %n`: the number is in a register. `exclusive`: the
    only allocation of the block, a multiple of 32 columns, up to 576 on sm_107a. PTX ISA, "tcgen05.alloc".
    """

    name = "tcgen05.alloc"

    def effects(self) -> Effects:
        slot = Bytes(self.address, _SLOT_BYTES)
        return Effects(MemoryAccess(AccessKind.GENERIC, writes=(slot,), warp_wide=True))

    def emit(self, reg: Names) -> str:
        form = f"{self.modifier}{self.group}.sync.aligned.shared::cta.b32"
        return f"tcgen05.alloc.{form} {address(reg, self.address)}, {self.count(reg)}"


@irdl_op_definition
class DeallocOp(_ColumnsOp):
    """`tcgen05.dealloc %base columns 256`: one warp (of each CTA of a pair) gives the columns at `%base` back.

    It does so before the kernel ends, `exclusive` where the allocation was. PTX ISA, "tcgen05.dealloc".
    """

    name = "tcgen05.dealloc"
    EFFECTS: ClassVar = NO_EFFECTS

    def emit(self, reg: Names) -> str:
        return f"tcgen05.dealloc.{self.modifier}{self.group}.sync.aligned.b32 {reg(self.address)}, {self.count(reg)}"


@irdl_op_definition
class RelinquishAllocPermitOp(CtaGroupOp):
    """`tcgen05.relinquish_alloc_permit`: this block allocates no more tensor memory; executed by one warp."""

    name = "tcgen05.relinquish_alloc_permit"
    ISSUE: ClassVar = Issue.ONE_WARP
    EFFECTS: ClassVar = NO_EFFECTS

    assembly_format = "(`cta_group` $cta_group^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return f"tcgen05.relinquish_alloc_permit.{self.group}.sync.aligned"


def allocation_of(base: SSAValue) -> AllocOp | None:
    """The allocation at `base`, where that is read from the slot that one allocation, and nothing else, writes."""
    load = base.owner
    if not isinstance(load, LdOp) or load.space.data is not Space.SHARED or load.offset.value.data:
        return None
    users = [use.operation for use in load.address.uses]
    if any(isinstance(user, StOp) for user in users):
        return None
    writers = [user for user in users if isinstance(user, AllocOp)]
    return writers[0] if len(writers) == 1 else None


@irdl_op_definition
class TileOp(DirectOperation):
    """`%acc = tcgen05.tile %base, 128 : i32 -> !tirx.tile<128x256xf32, tensor, L>`

    The tile in an allocation of tensor memory that starts at a column (of 32 bits) of it.
    """

    name = "tcgen05.tile"

    base = operand_def(I32)
    column = prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `,` $column attr-dict `:` type($base) `->` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        type_ = expect_tile(self.result, MemorySpace.TENSOR, "a tile")
        first = self.column.value.data
        last = first + type_.span_columns - 1
        match self.base.owner:
            case arith.ConstantOp(value=IntegerAttr(value=IntAttr(data=base))):
                first, last = first + (base & 0xFFFF), last + (base & 0xFFFF)  # lanes are above
            case _:
                pass
        allocation = allocation_of(self.base)
        limit = COLUMNS if allocation is None or allocation.exclusive is None else EXCLUSIVE_SIZES[-1]
        if first < 0 or last >= limit:
            raise PlaceError(f"expected columns 0 to {limit - 1} of tensor memory, found {first} to {last}")
