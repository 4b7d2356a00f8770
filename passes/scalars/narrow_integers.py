"""Integers of 8 bits, which no PTX register holds, in registers of 16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.passes.ir.emitter import Emitter, erase

_BYTE = IntegerType(8)

_UNSIGNED = (
    arith.DivUIOp,
    arith.RemUIOp,
    arith.MinUIOp,
    arith.MaxUIOp,
    arith.ShRUIOp,
    arith.CeilDivUIOp,
    arith.UIToFPOp,
)

_UNSIGNED_PREDICATES = 6
"""Comparisons of `arith.cmpi` from this number on are unsigned."""


@dataclass(frozen=True)
class _Bytes:
    """The operands of an operation of `arith` that are bytes, and a flag for its result."""

    op: Operation
    operands: tuple[bool, ...]
    result: bool

    @staticmethod
    def of(op: Operation) -> _Bytes:
        return _Bytes(op, tuple(map(_is_byte, op.operands)), any(map(_is_byte, op.results)))


def _is_byte(value: SSAValue) -> bool:
    return value.type == _BYTE


def defined_values(ops: Iterable[Operation]) -> Iterator[SSAValue]:
    """The results of operations and the arguments of their blocks."""
    for op in ops:
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def widen_bytes(ops: Sequence[Operation]) -> bool:
    """
    Makes i16 of every i8 of an entry, of which only the low byte counts; returns False if there is none.

    `ops` are all operations of the entry. Operations of `arith` on i8 are done in i32, on operands that are extended as
    the operation reads them.
    """
    values = [value for value in defined_values(ops) if _is_byte(value)]
    if not values:
        return False
    found = [
        _Bytes.of(op) for op in ops if op.name.startswith("arith.") and any(map(_is_byte, (*op.operands, *op.results)))
    ]
    for value in values:
        Rewriter.replace_value_with_new_type(value, i16)
    for bytes_ in found:
        _widen(bytes_)
    return True


def _widen(bytes_: _Bytes) -> None:
    op = bytes_.op
    emit = Emitter.before(op)
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            _replace(op, emit.constant(number.data, i16))
        case arith.TruncIOp():
            _replace(op, _truncated(emit, op.input))
        case arith.ExtSIOp() | arith.ExtUIOp():
            _replace(op, _extended(emit, op.input, op.result.type, unsigned=isinstance(op, arith.ExtUIOp)))
        case arith.SelectOp() | arith.BitcastOp():
            pass
        case _:
            unsigned = isinstance(op, _UNSIGNED) or (
                isinstance(op, arith.CmpiOp) and op.predicate.value.data >= _UNSIGNED_PREDICATES
            )
            # i16 is wide enough for a float of any type to be exact, or rounded once.
            width = i16 if isinstance(op, arith.SIToFPOp | arith.UIToFPOp) else i32
            operands = [
                _extended(emit, value, width, unsigned=unsigned) if byte else value
                for value, byte in zip(op.operands, bytes_.operands, strict=True)
            ]
            types = [i32] if bytes_.result else op.result_types
            wide = emit(op.create(operands=operands, result_types=types, properties=op.properties)).results
            _replace(op, _truncated(emit, wide[0]) if bytes_.result else wide[0])


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    erase(op)


def _truncated(emit: Emitter, value: SSAValue) -> SSAValue:
    """An integer in 16 bits whose low byte is that of `value`."""
    return value if value.type == i16 else emit(arith.TruncIOp(value, i16)).result


def _extended(emit: Emitter, value: SSAValue, type_: Attribute, *, unsigned: bool) -> SSAValue:
    """The byte in the low bits of an i16, as an integer of `type_`."""
    if unsigned:
        clean = emit.bit_and(value, 0xFF)
        return clean if type_ == i16 else emit.extend(clean, _integer(type_))
    eight = emit.constant(8, i16)
    high = emit(arith.ShLIOp(value, eight)).result
    clean = emit(arith.ShRSIOp(high, eight)).result
    return clean if type_ == i16 else emit(arith.ExtSIOp(clean, _integer(type_))).result


def _integer(type_: Attribute) -> IntegerType:
    match type_:
        case IntegerType():
            return type_
        case _:
            raise AssertionError(f"expected an integer type, found {type_}")


__all__ = ["widen_bytes"]
