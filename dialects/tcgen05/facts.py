"""The operands of a `tcgen05` operation as the plain data that `tirx.tcgen05` checks.

Descriptors are known while they are symbolic, and then as far as their bits are; tiles as far as their allocation is
seen, addresses as far as their terms are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tirx.dialects.ptx.arith import AddOp
from tirx.dialects.ptx.known_bits import IMMEDIATE, known_bits
from tirx.dialects.tcgen05.allocation import TileOp, allocation_of
from tirx.dialects.tcgen05.common import first_cell, immediate, is_tile, require
from tirx.dialects.tcgen05.descriptors import InstructionDescriptorOp, SmemDescriptorOp, ZeroColumnMaskOp
from tirx.dialects.tirx import TileType, base_allocation
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError, TileLayout
from tirx.rules import ElementTypeError
from tirx.smem.canonical_form import OperandSlice
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.symbolic.integers import Integers
from tirx.tcgen05.check import Mma, SmemOperand, TmemOperand, check_mma
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.stored_operand import SLOT_BITS
from tirx.tcgen05.zero_column_mask import ZeroColumnMask


def tensor_operand(value: SSAValue, depth: int = IMMEDIATE) -> TmemOperand:
    """The place of a tile in tensor memory, counted from its allocation, and its contents; or that of an address."""
    if not is_tile(value):
        return address_operand(value, depth)
    type_ = TileType.of(value)
    lane, column = first_cell(type_)
    layout = type_.layout if isinstance(type_.layout, TileLayout) else None
    rows = type_.dims[-2] if len(type_.dims) > 1 else None
    root = base_allocation(value).owner
    if not isinstance(root, TileOp):
        return TmemOperand(None, lane, dtype=type_.dtype.name, layout=layout, rows=rows)
    allocation = allocation_of(root.base)
    allocated = None if allocation is None else allocation.describe(depth).columns
    return TmemOperand(root.column.value.data + column, lane, allocated, type_.dtype.name, layout, rows, root.base)


def address_operand(address: SSAValue, depth: int, offset: int = 0) -> TmemOperand:
    """Lane and column of an address in tensor memory, as far as they are known.

    The column counts from the start of an allocation where the address is a sum with what `tcgen05.alloc` wrote.
    """
    terms = list(_terms(address, depth - 1, set()))
    base = next((term for term in terms if depth > IMMEDIATE and allocation_of(term) is not None), None)
    if base is not None:
        terms.remove(base)
    place = Integers.of(offset, 32)
    for term in terms:
        place += known_bits(term, depth)
    column, lane = place.extend(16, signed=False).value, place.shift_right(16, signed=False).value
    if base is None or (allocation := allocation_of(base)) is None:
        return TmemOperand(column, lane, base="tensor memory")
    return TmemOperand(column, lane, allocation.describe(depth).columns, base=allocation)


def _terms(value: SSAValue, depth: int, seen: set[SSAValue]) -> Iterator[SSAValue]:
    """The values that add up to a value; a sum that comes again is a term itself, so that doublings stay short."""
    if isinstance(op := value.owner, AddOp) and depth and value not in seen:
        seen.add(value)
        yield from _terms(op.lhs, depth - 1, seen)
        yield from _terms(op.rhs, depth - 1, seen)
    else:
        yield value


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
