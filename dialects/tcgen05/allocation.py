"""Allocation of tensor memory, and the tiles in it."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import I32, IntAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, i32_attr, irdl_op_definition
from tirx.dialects.ptx.tcgen05 import require
from tirx.dialects.tcgen05.common import EFFECTS, ONE_CTA, check_cta_group, expect_tile, target_of
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.rules import PlaceError
from tirx.tcgen05.check_memory import Alloc, check_memory
from tirx.tcgen05.tmem import COLUMNS


@irdl_op_definition
class AllocOp(DirectOperation):
    """
    `tcgen05.alloc %slot, 256 : i32`: one warp allocates columns of tensor memory.

    The address of the allocation is written to the 4 bytes of shared memory at `%slot`. With `cta_group 2`, one warp of
    each CTA of a pair allocates the columns in both. PTX ISA, "tcgen05.alloc".
    """

    name = "tcgen05.alloc"

    slot = operand_def(I32)
    columns = prop_def(IntegerAttr[I32])
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$slot `,` $columns (`cta_group` $cta_group^)? attr-dict `:` type($slot)"
    traits = traits_def(*EFFECTS)

    def __init__(self, slot: SSAValue, columns: int, cta_group: int = 1):
        super().__init__(
            operands=[slot],
            properties={"columns": i32_attr(columns), "cta_group": i32_attr(cta_group)},
        )

    def verify_(self) -> None:
        allocation = Alloc(self.columns.value.data, self.cta_group.value.data, target_of(self))
        require(lambda: check_memory(allocation))


@irdl_op_definition
class RelinquishAllocPermitOp(DirectOperation):
    """`tcgen05.relinquish_alloc_permit`: this block allocates no more tensor memory."""

    name = "tcgen05.relinquish_alloc_permit"

    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "(`cta_group` $cta_group^)? attr-dict"
    traits = traits_def(*EFFECTS)

    def __init__(self, cta_group: int = 1):
        super().__init__(properties={"cta_group": i32_attr(cta_group)})

    def verify_(self) -> None:
        check_cta_group(self.cta_group)


@irdl_op_definition
class DeallocOp(DirectOperation):
    """`tcgen05.dealloc %base, 256 : i32`: one warp (of each CTA of a pair) gives the columns at `%base` back."""

    name = "tcgen05.dealloc"

    base = operand_def(I32)
    columns = prop_def(IntegerAttr[I32])
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `,` $columns (`cta_group` $cta_group^)? attr-dict `:` type($base)"
    traits = traits_def(*EFFECTS)

    def __init__(self, base: SSAValue, columns: int, cta_group: int = 1):
        super().__init__(
            operands=[base],
            properties={"columns": i32_attr(columns), "cta_group": i32_attr(cta_group)},
        )

    def verify_(self) -> None:
        allocation = Alloc(self.columns.value.data, self.cta_group.value.data, target_of(self))
        require(lambda: check_memory(allocation))


@irdl_op_definition
class TileOp(DirectOperation):
    """
    `%acc = tcgen05.tile %base, 128 : i32 -> !tirx.tile<128x256xf32, tensor, L>`

    The tile in an allocation of tensor memory that starts at a column (of 32 bits) of it.
    """

    name = "tcgen05.tile"

    base = operand_def(I32)
    column = prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `,` $column attr-dict `:` type($base) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, base: SSAValue, column: int, type_: TileType):
        super().__init__(operands=[base], properties={"column": i32_attr(column)}, result_types=[type_])

    def verify_(self) -> None:
        type_ = expect_tile(self.result, MemorySpace.TENSOR, "a tile")
        first = self.column.value.data
        last = first + type_.span_columns - 1
        match self.base.owner:
            case arith.ConstantOp(value=IntegerAttr(value=IntAttr(data=base))):
                first, last = first + (base & 0xFFFF), last + (base & 0xFFFF)  # lanes are above
            case _:
                pass
        if first < 0 or last >= COLUMNS:
            raise PlaceError(f"expected columns 0 to {COLUMNS - 1} of tensor memory, found {first} to {last}")
