"""Tiles and memrefs of i1, as MLIR stores it: a byte for each truth, 1 or 0."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, i1, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.dialects import tirx
from tirx.dialects.tirx import TileType
from tirx.passes.ir.emitter import Emitter
from tirx.rules import NoFormError

_OPERATIONS = (
    *(tirx.AllocOp, tirx.AssertOp, tirx.BroadcastOp, tirx.ConcatOp, tirx.ConvertOp, tirx.CopyOp, tirx.ElementOp),
    *(tirx.FillOp, tirx.KernelOp, tirx.LoadOp, tirx.MapOp, tirx.PrintOp, tirx.ReshapeOp, tirx.SplatOp, tirx.StoreOp),
    *(tirx.SubviewOp, tirx.TransposeOp, tirx.ViewOp, tirx.ZeroOp),
    *(memref.DimOp, memref.LoadOp, memref.StoreOp, memref.SubviewOp, arith.SelectOp),
    *(scf.ConditionOp, scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp),
)
"""Operations on tiles and memrefs of truths."""


def truths_to_bytes(kernel: tirx.KernelOp) -> None:
    """Makes i8 of the elements of all tiles and memrefs of i1; what reads one compares it with 0.

    Raises NoFormError at an operation that takes no truths.
    """
    values = [value for op in kernel.walk() for value in _defined(op) if _has_truths(value)]
    if not values:
        return
    for op in list(kernel.walk()):
        if any(map(_has_truths, (*op.operands, *op.results))):
            if not isinstance(op, _OPERATIONS):
                raise NoFormError(
                    op, f"expected tiles of integers for '{op.name}', found i1; a map makes them: {{ i32(%e) }}"
                )
            _convert(op)
    for value in values:
        Rewriter.replace_value_with_new_type(value, _of_bytes(value.type))
    kernel.function_type = FunctionType.from_lists(kernel.body.block.arg_types, ())


def _defined(op: Operation) -> list[SSAValue]:
    return [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]


def _has_truths(value: SSAValue) -> bool:
    """Returns True for tiles and memrefs of i1 but scalar variables, which are in registers."""
    if type(value.type) not in (TileType, MemRefType) or isinstance(value.owner, memref.AllocaOp):
        return False
    return cast("TileType", value.type).element_type == i1


def _of_bytes(type_: Attribute) -> TileType | MemRefType[Attribute]:
    assert isinstance(type_, TileType | MemRefType)
    if isinstance(type_, TileType):
        return TileType(type_.shape, i8, type_.memory_space, type_.layout_attribute)
    return MemRefType(i8, type_.shape, type_.layout, type_.memory_space)


def _convert(op: Operation) -> None:
    """Converts the scalars that an operation reads from truths, or writes to them."""
    match op:
        case tirx.MapOp():
            _convert_body(op)
        case tirx.FillOp() | tirx.SplatOp() | tirx.LoadOp() | memref.StoreOp():
            for index, value in enumerate(op.operands):
                if value.type == i1:
                    op.operands[index] = _byte(Emitter.before(op), value)
        case tirx.ElementOp() | memref.LoadOp():
            (result,) = op.results
            _read(Emitter.after(op), result)
        case _:
            pass


def _convert_body(op: tirx.MapOp) -> None:
    block, last = op.body.block, op.body.block.last_op
    assert last is not None
    for argument, tile in zip(block.args, op.ins, strict=True):
        if _has_truths(tile):
            _read(_at_start(block), argument)
    for index, type_ in enumerate(op.out_types):
        if type_.element_type == i1:
            last.operands[index] = _byte(Emitter.before(last), last.operands[index])


def _at_start(block: Block) -> Emitter:
    assert block.first_op is not None
    return Emitter.before(block.first_op)


def _read(emit: Emitter, value: SSAValue) -> None:
    """Gives a truth that is read the type i8, and its users the comparison with 0."""
    uses = list(value.uses)
    value = Rewriter.replace_value_with_new_type(value, i8)
    truth = emit.compare(value, emit.constant(0, i8), "ne")
    for use in uses:
        use.operation.operands[use.index] = truth


def _byte(emit: Emitter, truth: SSAValue) -> SSAValue:
    return emit.extend(truth, i8)


__all__ = ["truths_to_bytes"]
