"""The operands of a `tcgen05` operation as the plain data that `tirx.tcgen05` checks.

Descriptors are known while they are symbolic, and where they are constants; tiles as far as their allocation is seen.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tirx.dialects.ptx.known_bits import IMMEDIATE, known_bits
from tirx.dialects.ptx.memory import LdOp
from tirx.dialects.ptx.tcgen05 import immediate, require, tmem_operand
from tirx.dialects.tcgen05.allocation import AllocOp, TileOp
from tirx.dialects.tcgen05.common import first_cell
from tirx.dialects.tcgen05.descriptors import InstructionDescriptorOp, SmemDescriptorOp, ZeroColumnMaskOp
from tirx.dialects.tirx import TileType, base_allocation
from tirx.layout import LayoutError, TileLayout
from tirx.rules import ElementTypeError
from tirx.tcgen05 import (
    InstructionDescriptor,
    LegalityError,
    Mma,
    OperandSlice,
    SmemDescriptor,
    SmemOperand,
    TmemOperand,
    ZeroColumnMask,
    check_mma,
)
from tirx.tcgen05.stored_operand import SLOT_BITS


def tensor_operand(value: SSAValue, depth: int = IMMEDIATE) -> TmemOperand:
    """The place of a tile in tensor memory, counted from its allocation, and its contents; or that of an address."""
    return _tile_operand(value) if isinstance(value.type, TileType) else tmem_operand(value, depth)


def _tile_operand(tile: SSAValue) -> TmemOperand:
    type_ = TileType.of(tile)
    lane, column = first_cell(type_)
    layout = type_.layout if isinstance(type_.layout, TileLayout) else None
    rows = type_.dims[-2] if len(type_.dims) > 1 else None
    root = base_allocation(tile).owner
    if not isinstance(root, TileOp):
        return TmemOperand(None, lane, dtype=type_.dtype.name, layout=layout, rows=rows)
    first, allocated = root.column.value.data + column, _allocated(root.base)
    return TmemOperand(first, lane, allocated, type_.dtype.name, layout, rows, root.base)


def _allocated(base: SSAValue) -> int | None:
    """Columns of the allocation at `base`, where that is read from the slot that one allocation writes."""
    load = base.owner
    if not isinstance(load, LdOp) or load.offset.value.data:
        return None
    writers = [use.operation for use in load.address.uses if isinstance(use.operation, AllocOp)]
    return writers[0].columns.value.data if len(writers) == 1 else None


def _slice_of(op: SmemDescriptorOp) -> OperandSlice | None:
    """The slice that a symbolic descriptor describes. None while the tile has no layout, or one that no descriptor
    reaches: the pass that needs it reports that."""
    try:
        return op.slices()[op.step.value.data]
    except (LegalityError, LayoutError):
        return None


def shared_operand(value: SSAValue, depth: int = IMMEDIATE) -> SmemOperand:
    """An operand in shared memory, by its descriptor."""
    if not isinstance(op := value.owner, SmemDescriptorOp):
        return SmemOperand(known_bits(value, depth))
    type_, part = TileType.of(op.tile), _slice_of(op)
    slot = type_.dtype.storage_bits if op.padded is None else SLOT_BITS
    known = SmemOperand(rows=type_.dims[0], dtype=type_.dtype.name, k=op.k.value.data, container_bits=slot)
    if part is None:
        return known
    layout = part.canonical
    # Tiles start where the pattern of their swizzle does, so that the offset decides about the place in the pattern.
    descriptor = SmemDescriptor(
        part.offset_bytes, layout.lbo, layout.sbo, layout.swizzle, lbo_absolute=layout.lbo_absolute
    )
    return replace(known, descriptor=descriptor, major=layout.major)


def operand(a: SSAValue, depth: int) -> SmemOperand | TmemOperand:
    """A of a product, in either memory."""
    return shared_operand(a, depth) if a.type == i64 else tensor_operand(a, depth)


def instruction_descriptor(value: SSAValue, depth: int) -> InstructionDescriptor | int | None:
    """An instruction descriptor, its bits, or None where it is not known."""
    return op.descriptor.data if isinstance(op := value.owner, InstructionDescriptorOp) else immediate(value, depth)


def zero_column_mask(value: SSAValue | None, depth: int) -> ZeroColumnMask | int | None:
    """A zero-column mask, its bits, or None where it is not known."""
    if value is None:
        return None
    return op.mask.data if isinstance(op := value.owner, ZeroColumnMaskOp) else immediate(value, depth)


def check_product(mma: Mma, accumulator: SSAValue) -> None:
    """VerifyException unless the instruction is legal and a tile that it writes, of one CTA or both, has its shape."""
    fields, type_ = mma.descriptor, accumulator.type
    if not isinstance(fields, InstructionDescriptor) or not isinstance(type_, TileType):
        require(lambda: check_mma(mma))
        return
    shapes = [(rows, fields.n) for rows in dict.fromkeys((fields.m, fields.m // mma.cta_group))]
    # Where a tile of another shape lies says nothing: the shape is the error, unless the descriptor has one.
    known = mma if type_.dims in shapes or mma.d is None else replace(mma, d=replace(mma.d, layout=None))
    require(lambda: check_mma(known))
    if type_.dims not in shapes:
        expected = " or ".join(f"{rows}x{columns}" for rows, columns in shapes)
        raise ElementTypeError(
            f"expected an accumulator of {expected}, as in the instruction descriptor, found {type_}"
        )
