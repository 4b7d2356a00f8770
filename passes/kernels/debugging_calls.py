"""`tirx.print` and `tirx.assert` as calls of the device runtime, by the first thread of those that come to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerType,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import nearest_location, position
from tirx.dialects.ptx.debugging import AssertFailOp, PrintfOp
from tirx.dialects.ptx.memory import LdOp, LdU8Op
from tirx.dialects.ptx.sync import BarWarpSyncOp
from tirx.dialects.tirx import AssertOp, PrintOp, TileType
from tirx.dialects.tirx.debugging import shown_format
from tirx.dialects.tirx.elements import scalar_type
from tirx.passes.ir.emitter import Emitter

_Address = Callable[[SSAValue], SSAValue]
"""The address of the first element of a tile in shared memory, which is in row-major order."""


_NARROW = (i1, i8, i16)


def _shown(emit: Emitter, value: SSAValue) -> SSAValue:
    """Returns a scalar as an i32, i64 or f64."""
    match value.type:
        case IndexType():
            return emit.cast(value, i64)
        case IntegerType() if value.type in _NARROW:
            return emit.extend(value, i32) if value.type == i1 else emit(arith.ExtSIOp(value, i32)).result
        case Float16Type() | BFloat16Type() | Float32Type():
            wide = value if value.type == f32 else emit(arith.ExtFOp(value, f32)).result
            return emit(arith.ExtFOp(wide, f64)).result
        case _:
            return value


def _loaded(emit: Emitter, type_: Attribute, address: SSAValue) -> SSAValue:
    """Returns an element of shared memory."""
    scalar = scalar_type(type_)
    if scalar == i8:
        return emit(arith.TruncIOp(emit(LdU8Op("shared", address, 0)).result, i8)).result
    return emit(LdOp("shared", address, [scalar], 0)).res[0]


def _loop(emit: Emitter, first: SSAValue, count: int, step: SSAValue) -> tuple[Emitter, SSAValue]:
    """Emits a loop from `first` to `count` (i32); returns where its body is, and its index."""
    block = Block(arg_types=[i32])
    last = emit.constant(count, i32)
    emit(scf.ForOp(first, last, step, [], Region(block)))
    end = Emitter(InsertPoint.at_end(block), emit.location)(scf.YieldOp())
    return Emitter(InsertPoint.before(end), emit.location), block.args[0]


def emit_print(emit: Emitter, op: PrintOp, thread: SSAValue, address: _Address) -> None:
    """Emits the calls of `vprintf` of the thread of index 0."""
    scalars = [value for value in op.values if not isinstance(value.type, TileType)]
    text = " ".join([op.text.data.replace("%", "%%"), *(shown_format(value.type) for value in scalars)])
    bases = {value: address(value) for value in op.values if isinstance(value.type, TileType)}
    first = emit.branch(emit.compare(thread, emit.constant(0, i32), "eq"))
    first(PrintfOp(f"{text}\n", [_shown(first, value) for value in scalars]))
    for tile, base in bases.items():
        type_ = TileType.of(tile)
        *outer, columns = type_.dims
        zero, one = first.constant(0, i32), first.constant(1, i32)
        rows, row = _loop(first, zero, prod(outer), one)
        inner, column = _loop(rows, zero, columns, one)
        place = inner.add(inner.mul(row, columns), column)
        element = _loaded(inner, type_.element_type, inner.add(base, inner.mul(place, type_.dtype.storage_bits // 8)))
        inner(PrintfOp(f" {shown_format(type_)}", [_shown(inner, element)]))
        assert rows.point.insert_before is not None
        rows(PrintfOp("\n", []))
    emit(BarWarpSyncOp())  # instructions of whole warps may follow


def emit_assert(emit: Emitter, op: AssertOp, kernel: str, thread: SSAValue, threads: int, address: _Address) -> None:
    """Emits a branch that fails: of a scalar in every thread, of a tile in threads that find an element which is 0."""
    message, condition = op.message.data, op.condition
    where, number, _ = position(nearest_location(op)) or ("unknown", 0, 0)

    def fail(inside: Emitter, holds: SSAValue, said: Sequence[tuple[str, SSAValue]]) -> None:
        wrong = inside.branch(inside.compare(holds, inside.constant(0, i1), "eq"))
        for text, value in said:
            wrong(PrintfOp(text, [value]))
        wrong(AssertFailOp(message, kernel, where, number))

    if not isinstance(type_ := condition.type, TileType):
        fail(emit, condition, ())
        emit(BarWarpSyncOp())
        return
    base = address(condition)
    inside, at = _loop(emit, thread, type_.num_elements, emit.constant(threads, i32))
    element = _loaded(inside, type_.element_type, inside.add(base, inside.mul(at, type_.dtype.storage_bits // 8)))
    wide = element if element.type in (i32, i64) else inside(arith.ExtSIOp(element, i32)).result
    holds = inside.compare(wide, inside.constant(0, IntegerType(64 if wide.type == i64 else 32)), "ne")
    emit(BarWarpSyncOp())
    fail(inside, holds, [(f"{message.replace('%', '%%')}: element %d in row-major order\n", at)])
