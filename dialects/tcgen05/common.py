"""Parts that all tcgen05 instructions share, over tiles and over addresses: bases, checks, places in tensor memory.

None of them has a memory-effect trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyOf, BaseAttr, EqAttrConstraint, prop_def

from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import enclosing
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE, known_bits
from tirx.dialects.tirx import KernelOp, MemorySpace, TileType
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError, TileLayout
from tirx.rules import InstructionFormError, InvalidOperation, OperandFormError
from tirx.tcgen05.check import Instruction, check_instruction
from tirx.tcgen05.tmem import CTA_GROUPS

COLUMN_BITS = 32
"""Bits of one lane of one column of tensor memory."""

TOUCHED_LANES = 16
"""Lanes of every 32 that all data paths put rows in."""

TENSOR = AnyOf[Attribute]((EqAttrConstraint(i32), BaseAttr(TileType)))
"""What is in tensor memory: a tile, or its address, lane << 16 | column."""


def text(value: StringAttr | None) -> str | None:
    """The value of an optional property."""
    return None if value is None else value.data


def immediate(value: SSAValue | None, depth: int = IMMEDIATE) -> int | None:
    """The bits of an operand where all of them are known before the kernel runs."""
    return None if value is None else known_bits(value, depth).value


def is_tile(value: SSAValue) -> bool:
    """Returns True for a tile, False for an address."""
    return isinstance(value.type, TileType)


def require(check: Callable[[], None]) -> None:
    """Runs a check of `tirx.tcgen05`; VerifyException with its message if it fails."""
    try:
        check()
    except LegalityError as error:
        raise InvalidOperation(str(error)) from error


def expect_tile(value: SSAValue, memory: MemorySpace, what: str) -> TileType:
    """The type of a tile; VerifyException unless it is in that memory and has a layout."""
    type_ = TileType.of(value)
    if type_.memory is not memory or type_.layout is None:
        raise OperandFormError(f"expected {what} in {memory.place} with a layout, found {type_}")
    return type_


def expect_place(value: SSAValue | None, what: str) -> None:
    """VerifyException unless a tile is in tensor memory and starts with a column. Addresses may be any, or missing."""
    if value is not None and is_tile(value):
        first_cell(expect_tile(value, MemorySpace.TENSOR, what))


def target_of(op: Operation) -> str | None:
    """The target of the kernel on tiles that an operation is in. That of an entry counts when it is printed."""
    parent = enclosing(op, KernelOp)
    return None if parent is None or parent.target is None else parent.target.data


class Tcgen05Op(PTXInstruction, abc.ABC):
    """An instruction of the targets that have tensor memory, on tiles or, once those have their places, on addresses.

    The rules of `tirx.tcgen05.check` hold for it. The verifier looks at tiles and immediates; the printer, with the
    target known, at all that is known of the operands.
    """

    NEEDS: ClassVar = ("tcgen05",)

    def describe(self, depth: int) -> Instruction | None:
        """The instruction as plain data, with what is known of its operands (`known_bits`); None where there are no
        rules for it."""
        return None

    @property
    def description(self) -> Instruction | None:
        """The instruction with all that is known of its operands."""
        return self.describe(EVERYTHING)

    def verify_(self) -> None:
        if (description := self.describe(IMMEDIATE)) is not None:
            require(lambda: check_instruction(description, target_of(self)))


class CtaGroupOp(Tcgen05Op, abc.ABC):
    """`cta_group` 2 works on the tensor memories of a pair of CTAs."""

    cta_group = prop_def(IntegerAttr[I32], default_value=i32_attr(1))

    def verify_(self) -> None:
        super().verify_()
        if self.cta_group.value.data not in CTA_GROUPS:
            raise InstructionFormError(f"expected cta_group 1 or 2, found {self.cta_group.value.data}")

    @property
    def group(self) -> str:
        """The modifier's text."""
        return f"cta_group::{self.cta_group.value.data}"


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
    if fragment == layout:
        return True
    try:
        return fragment.fuse_threads().equivalent(layout.fuse_threads())
    except LayoutError:
        return fragment.equivalent(layout)  # its axes leave the warp or the lane open
