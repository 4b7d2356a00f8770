"""Checks, modifiers and addresses that the operations of the `tcgen05` dialect share."""

from __future__ import annotations

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyOf, BaseAttr, EqAttrConstraint
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import enclosing
from tirx.dialects.tirx import KernelOp, MemorySpace, TileType
from tirx.layout import LayoutError, TileLayout
from tirx.rules import InstructionFormError, OperandFormError
from tirx.tcgen05.tmem import CTA_GROUPS

COLUMN_BITS = 32
"""Bits of one lane of one column of tensor memory."""

EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())
"""Traits of whatever touches tensor memory or synchronises: no pass moves or merges it."""

TENSOR = AnyOf[Attribute]((EqAttrConstraint(i32), BaseAttr(TileType)))
"""What is in tensor memory: a tile, or its address, lane << 16 | column."""

ONE_CTA = i32_attr(1)
"""The default of `cta_group`, which is not printed."""


def text(value: StringAttr | None) -> str | None:
    """The value of an optional property."""
    return None if value is None else value.data


def expect_tile(value: SSAValue, memory: MemorySpace, what: str) -> TileType:
    """The type of a tile; VerifyException unless it is in that memory and has a layout."""
    type_ = TileType.of(value)
    if type_.memory is not memory or type_.layout is None:
        raise OperandFormError(f"expected {what} in {memory.place} with a layout, found {type_}")
    return type_


def expect_tensor_tile(value: SSAValue, what: str) -> TileType:
    """As `expect_tile`, of a tile in tensor memory that starts with a column and so has an address."""
    type_ = expect_tile(value, MemorySpace.TENSOR, what)
    first_cell(type_)
    return type_


def expect_place(value: SSAValue | None, what: str) -> None:
    """As `expect_tensor_tile`, of an operand that may be an address instead, or missing."""
    if value is not None and isinstance(value.type, TileType):
        expect_tensor_tile(value, what)


def target_of(op: Operation) -> str | None:
    """The target of the kernel that an operation is in: one on tiles. That of an entry counts when it is printed."""
    parent = enclosing(op, KernelOp)
    return None if parent is None or parent.target is None else parent.target.data


def check_cta_group(group: IntegerAttr[I32]) -> None:
    """VerifyException unless the group is one CTA or a pair."""
    if group.value.data not in CTA_GROUPS:
        raise InstructionFormError(f"expected cta_group 1 or 2, found {group.value.data}")


def first_cell(type_: TileType) -> tuple[int, int]:
    """The first lane and the first 32-bit column of a tensor tile, counted from where `tcgen05.tile` puts it.

    `TCol` counts elements. VerifyException for a tile that does not start with a column.
    """
    offsets = {} if type_.layout is None else _tile_layout(type_).offsets
    bits = offsets.get("TCol", 0) * type_.dtype.storage_bits
    if bits % COLUMN_BITS:
        raise OperandFormError(
            f"expected a tile that starts with a column of {COLUMN_BITS} bits, found one that starts at bit "
            f"{bits % COLUMN_BITS} of column {bits // COLUMN_BITS}"
        )
    return offsets.get("TLane", 0), bits // COLUMN_BITS


def _tile_layout(type_: TileType) -> TileLayout:
    assert isinstance(type_.layout, TileLayout), type_
    return type_.layout


def same_registers(fragment: TileLayout, layout: TileLayout) -> bool:
    """Returns True if two register layouts are one, also when one counts threads and the other warps and lanes."""
    try:
        return fragment.fuse_threads().equivalent(layout.fuse_threads())
    except LayoutError:
        return fragment.equivalent(layout)  # its axes leave the warp or the lane open
