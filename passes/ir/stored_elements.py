"""
Elements as memory and registers hold them: truths are bytes, an index has 64 bits, numbers have no sign of their own.

MLIR stores i1 as a byte, 1 or 0. Numbers of si8 to ui64 and of tf32 are i8 to i64 and f32, as in the bodies of maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    FloatTF32Type,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    UnrealizedConversionCastOp,
    f32,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.dialects import tirx
from tirx.dialects.tirx import TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.passes.ir.emitter import Emitter, erase
from tirx.rules import NoFormError

_STORED: dict[Attribute, Attribute] = {i1: i8, IndexType(): i64}
"""Element type -> the one that stands for it in tiles and memrefs."""

_OPERATIONS = (
    *(tirx.AllocOp, tirx.AssertOp, tirx.BroadcastOp, tirx.ConcatOp, tirx.ConvertOp, tirx.CopyOp, tirx.ElementOp),
    *(tirx.FillOp, tirx.KernelOp, tirx.LoadOp, tirx.MapOp, tirx.PrintOp, tirx.ReshapeOp, tirx.SplatOp, tirx.StoreOp),
    *(tirx.SubviewOp, tirx.TransposeOp, tirx.ViewOp, tirx.ZeroOp),
    *(memref.DimOp, memref.LoadOp, memref.StoreOp, memref.SubviewOp, arith.SelectOp),
    *(scf.ConditionOp, scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp),
)
"""Operations on tiles and memrefs of truths and indices."""

_OF_INDICES = (tirx.ReduceOp, tirx.ScanOp)
"""Operations on tiles of indices alone."""


def elements_as_stored(kernel: tirx.KernelOp) -> None:
    """Makes i8 and i64 of the elements of all tiles and memrefs of i1 and index; what reads and writes them converts.

    Numbers with a sign, or without one, and those of tf32 get the type that they have in maps. Raises NoFormError at an
    operation that takes no such elements.
    """
    _drop_signs(kernel)
    values = [value for op in kernel.walk() for value in _defined(op) if _is_stored_as_other(value)]
    if not values:
        return
    for op in list(kernel.walk()):
        found = {_element(value) for value in (*op.operands, *op.results) if _is_stored_as_other(value)}
        if not found:
            continue
        if not isinstance(op, _OPERATIONS) and not (isinstance(op, _OF_INDICES) and i1 not in found):
            name = "i1" if i1 in found else "index"
            raise NoFormError(
                op,
                f"expected tiles of integers for '{op.name}', found {name}; a map makes them: "
                f"{{ {'i32' if name == 'i1' else 'i64'}(%e) }}",
            )
        _convert(op)
    for value in values:
        Rewriter.replace_value_with_new_type(value, _as_stored(value.type))
    kernel.function_type = FunctionType.from_lists(kernel.body.block.arg_types, ())


def _defined(op: Operation) -> list[SSAValue]:
    return [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]


def _element(value: SSAValue) -> Attribute | None:
    return cast("TileType", value.type).element_type if type(value.type) in (TileType, MemRefType) else None


def _is_stored_as_other(value: SSAValue) -> bool:
    """Returns True for tiles and memrefs of `_STORED` but scalar variables, which are in registers."""
    return _element(value) in _STORED and not isinstance(value.owner, memref.AllocaOp)


def _as_stored(type_: Attribute) -> Attribute:
    if isinstance(type_, TileType):
        return TileType(type_.shape, _STORED[type_.element_type], type_.memory_space, type_.layout_attribute)
    if isinstance(type_, MemRefType):
        found = cast("MemRefType[Attribute]", type_)
        return MemRefType(_STORED[found.element_type], found.shape, found.layout, found.memory_space)
    return _STORED[type_]


def _convert(op: Operation) -> None:
    """Converts the scalars that an operation reads from elements, or writes to them."""
    match op:
        case tirx.MapOp():
            _convert_body(op.body.block, [_element(tile) for tile in op.ins], [t.element_type for t in op.out_types])
        case tirx.ReduceOp() | tirx.ScanOp() if op.body is not None:
            elements = [_element(tile) for tile in op.ins]
            _convert_body(op.body.block, [*elements, *elements], elements)
        case tirx.FillOp() | tirx.SplatOp() | memref.StoreOp():
            _write(op, op.value)
        case tirx.LoadOp(pad=SSAValue() as pad):
            _write(op, pad)
        case tirx.ElementOp() | memref.LoadOp():
            (result,) = op.results
            _read(Emitter.after(op), result)
        case _:
            pass


def _convert_body(block: Block, read: Sequence[Attribute | None], written: Sequence[Attribute | None]) -> None:
    first, last = block.first_op, block.last_op
    assert first is not None and last is not None
    for argument, element in zip(block.args, read, strict=True):
        if element in _STORED:
            _read(Emitter.before(first), argument)
    for index, element in enumerate(written):
        if element in _STORED:
            last.operands[index] = _to_stored(Emitter.before(last), last.operands[index])


def _read(emit: Emitter, value: SSAValue) -> None:
    """Gives an element that is read the type that it is stored as, and its users the one that it had."""
    uses, type_ = list(value.uses), value.type
    value = Rewriter.replace_value_with_new_type(value, _STORED[type_])
    if not uses:
        return
    read = emit.compare(value, emit.constant(0, i8), "ne") if type_ == i1 else emit.cast(value, IndexType())
    for use in uses:
        use.operation.operands[use.index] = read


def _write(op: Operation, value: SSAValue) -> None:
    """Lets an operation write a truth or an index, the first operand that is `value`, as it is stored."""
    first = next(index for index, each in enumerate(op.operands) if each is value)
    op.operands[first] = _to_stored(Emitter.before(op), value)


def _to_stored(emit: Emitter, value: SSAValue) -> SSAValue:
    return emit.extend(value, i8) if value.type == i1 else emit.cast(value, i64)


def _drop_signs(kernel: tirx.KernelOp) -> None:
    """Gives numbers with signs the types that they have in maps; `memref.load` and `memref.store` get casts of them."""
    found = [value for op in kernel.walk() for value in _defined(op) if _is_signed(value)]
    if not found or any(map(_is_signed, kernel.body.block.args)):
        return  # of an argument of the kernel that is such a number there is an error later on
    for op in list(kernel.walk()):
        if op.name.startswith("arith."):
            _compute_without_sign(op)
    kept: set[SSAValue] = set()
    for op in list(kernel.walk()):
        if isinstance(op, memref.LoadOp | memref.StoreOp) and not isinstance(op.memref.owner, memref.AllocaOp):
            if isinstance(op, memref.LoadOp) and _is_signed(op.res):
                uses = list(op.res.uses)
                plain = Emitter.after(op).retyped(op.res, scalar_type(op.res.type))
                for use in uses:
                    use.operation.operands[use.index] = plain
                kept.add(op.res)
            elif isinstance(op, memref.StoreOp) and scalar_type(stored := _element_type(op.memref)) != stored:
                # The value may have this type now and lose it below.
                op.operands[0] = Emitter.before(op)(UnrealizedConversionCastOp.get([op.value], [stored])).results[0]
    for value in found:
        if value not in kept:
            Rewriter.replace_value_with_new_type(value, _without_sign(value.type))
    for op in list(kernel.walk()):
        if isinstance(op, UnrealizedConversionCastOp) and [*op.operand_types] == [*op.result_types]:
            op.results[0].replace_all_uses_with(op.operands[0])
            erase(op)


def _compute_without_sign(op: Operation) -> None:
    """Lets `arith` have numbers without signs of their own: constants of tf32, and indices.

    Raises NoFormError at other operations, which are not for such numbers: their names say what sign they take.
    """
    match op:
        case arith.SelectOp():
            pass
        case arith.ConstantOp(value=FloatAttr(value=number, type=FloatTF32Type())):
            op.properties["value"] = FloatAttr(number.data, f32)
        case arith.IndexCastOp(input=value) if type(value.type) is IntegerType:
            if value.type.signedness.data is Signedness.UNSIGNED and value.type.bitwidth < i64.bitwidth:
                emit = Emitter.before(op)
                op.operands[0] = emit.extend(emit.retyped(value, scalar_type(value.type)), i64)
        case _ if any(map(_is_signed, (*op.operands, *op.results))) and not isinstance(op, arith.IndexCastOp):
            found = next(value.type for value in (*op.operands, *op.results) if _is_signed(value))
            raise NoFormError(
                op,
                f"expected numbers without a sign of their own for '{op.name}', found {found}; expressions take them",
            )
        case _:
            pass


def _is_signed(value: SSAValue) -> bool:
    """Returns True for numbers, and for scalar variables, of types that `arith` has not."""
    type_: Attribute = value.type
    if type(type_) is MemRefType:
        return isinstance(value.owner, memref.AllocaOp) and _without_sign(type_) != type_
    return type(type_) in (IntegerType, FloatTF32Type) and scalar_type(type_) != type_


def _without_sign(type_: Attribute) -> Attribute:
    if type(type_) is not MemRefType:
        return scalar_type(type_)
    found: MemRefType[Attribute] = type_
    return MemRefType(scalar_type(found.element_type), found.shape, found.layout, found.memory_space)


def _element_type(value: SSAValue) -> Attribute:
    return cast("MemRefType[Attribute]", value.type).element_type
