"""What the operands of a `tcgen05` operation say about it, as the plain data that `tirx.tcgen05` checks.

Descriptors are known while they are symbolic, and where they are constants; tiles as far as their allocation is seen.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.ptx.core import ConstantOp, EntryOp
from tirx.dialects.ptx.tcgen05 import require
from tirx.dialects.tcgen05.allocation import TileOp
from tirx.dialects.tcgen05.common import first_cell
from tirx.dialects.tcgen05.descriptors import InstructionDescriptorOp, SmemDescriptorOp, ZeroColumnMaskOp
from tirx.dialects.tirx import KernelOp, TileType, owner_root
from tirx.layout import ComposeLayout, LayoutError, TileLayout
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
    data_path,
    operand_slices,
)
from tirx.tcgen05.tmem import data_path_layout


def target_of(op: Operation) -> str | None:
    """The target of the kernel that an operation is in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp | EntryOp):
        parent = parent.parent_op()
    return None if parent is None or parent.target is None else parent.target.data


def constant_bits(value: SSAValue) -> int | None:
    """The bits of an integer constant, None for anything else."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp | ConstantOp) or not isinstance(constant := op.value, IntegerAttr):
        return None
    return (
        constant.value.data & (1 << type_.width.data) - 1 if isinstance(type_ := constant.type, IntegerType) else None
    )


def tensor_operand(tile: SSAValue) -> TmemOperand:
    """Where a tile in tensor memory is, counted from its allocation."""
    lane, column = first_cell(TileType.of(tile))
    root = owner_root(tile).owner
    return TmemOperand(root.column.value.data + column if isinstance(root, TileOp) else None, lane)


@cache
def _slices(
    layout: TileLayout | ComposeLayout, rows: int, columns: int, dtype: str, k: int
) -> tuple[OperandSlice, ...]:
    """The slices of an operand; none for a layout that no descriptor reaches, which the pass that needs one reports."""
    try:
        return tuple(operand_slices(layout, (rows, columns), dtype, k))
    except (LegalityError, LayoutError):
        return ()


def _slice_of(op: SmemDescriptorOp) -> OperandSlice | None:
    """What a symbolic descriptor describes; None while the tile has no layout, or none that a descriptor reaches."""
    type_ = TileType.of(op.tile)
    if type_.placement is None:
        return None
    rows, columns = type_.dims
    slices = _slices(type_.placement, rows, columns, type_.dtype.name, op.k.value.data)
    return slices[op.step.value.data] if slices else None


def shared_operand(value: SSAValue) -> SmemOperand:
    """An operand in shared memory, by its descriptor."""
    if not isinstance(op := value.owner, SmemDescriptorOp):
        return SmemOperand(constant_bits(value))
    part, rows = _slice_of(op), TileType.of(op.tile).dims[0]
    if part is None:
        return SmemOperand(rows=rows)
    layout = part.canonical
    return SmemOperand(SmemDescriptor(start=0, lbo=layout.lbo, sbo=layout.sbo, swizzle=layout.swizzle), rows)


def operand(a: SSAValue) -> SmemOperand | TmemOperand:
    """A of a product, in either memory."""
    return tensor_operand(a) if isinstance(a.type, TileType) else shared_operand(a)


def instruction_descriptor(value: SSAValue) -> InstructionDescriptor | int | None:
    """An instruction descriptor, its bits, or None where it is not known."""
    return op.descriptor.data if isinstance(op := value.owner, InstructionDescriptorOp) else constant_bits(value)


def zero_column_mask(value: SSAValue | None) -> ZeroColumnMask | int | None:
    """A zero-column mask, its bits, or None where it is not known."""
    if value is None:
        return None
    return op.mask.data if isinstance(op := value.owner, ZeroColumnMaskOp) else constant_bits(value)


def check_product(mma: Mma, accumulator: SSAValue, a: SSAValue, b: SSAValue, descriptor: SSAValue) -> None:
    """VerifyException unless the instruction is legal and its tiles are what its descriptor says."""
    require(lambda: check_mma(mma))
    if not isinstance(symbolic := descriptor.owner, InstructionDescriptorOp):
        return
    fields = symbolic.descriptor.data
    _check_accumulator(mma, TileType.of(accumulator), fields)
    # A sparse A is stored at half its length.
    _check_operand("A", a, fields.a, fields.a_major, fields.k // 2 if mma.sparse else fields.k)
    _check_operand("B", b, fields.b, fields.b_major, fields.k)


def _check_operand(name: str, value: SSAValue, dtype: str, major: str, k: int) -> None:
    op = value.owner
    if isinstance(value.type, TileType):
        found = value.type.dtype.name
    elif isinstance(op, SmemDescriptorOp):
        found = TileType.of(op.tile).dtype.name
        if (stored := op.k.value.data) != k:
            raise VerifyException(
                f"expected a descriptor of {k} elements of {name} along K, as one instruction reads, found {stored}"
            )
        if (part := _slice_of(op)) is not None and part.canonical.major != major:
            raise VerifyException(
                f"expected {major}-major {name}, as in the instruction descriptor, found a layout that is "
                f"{part.canonical.major}-major"
            )
    else:
        return
    if found != dtype:
        raise VerifyException(f"expected {name} of {dtype}, as in the instruction descriptor, found {found}")


def _check_accumulator(mma: Mma, type_: TileType, descriptor: InstructionDescriptor) -> None:
    """The tile must be where the instruction writes it, for one CTA or (with axis `cbx`) for both."""
    m, n, d = descriptor.m, descriptor.n, descriptor.d
    if type_.dtype.name != d:
        raise VerifyException(f"expected an accumulator of {d}, as in the instruction descriptor, found {type_}")
    shapes = [(rows, n) for rows in dict.fromkeys((m, m // mma.cta_group))]
    if type_.dims not in shapes:
        expected = " or ".join(f"{rows}x{columns}" for rows, columns in shapes)
        raise VerifyException(f"expected an accumulator of {expected}, as in the instruction descriptor, found {type_}")
    layout = type_.placement
    if not isinstance(layout, TileLayout):
        raise VerifyException(f"expected an accumulator with a tile layout, found {type_}")
    lane, _ = first_cell(type_)
    path = data_path(m, mma.cta_group, mma.ws, mma.sparse)
    expected = data_path_layout(path.letter, type_.dims[0], n, sub_slab=lane // 16, dtype=d)
    moved = TileLayout(expected.shard, expected.replica, {**expected.offsets, "TCol": layout.offsets.get("TCol", 0)})
    if not layout.equivalent(moved):
        raise VerifyException(
            f"expected the accumulator where the instruction writes it (data path {path.letter}), {expected} plus any "
            f"column offset, found {layout}"
        )
