"""Integers of 4 and 8 bits, which no PTX register holds, in registers of 16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.passes.ir.emitter import Emitter, erase
from tirx.values import dataclass

_NARROW = (IntegerType(4), IntegerType(8))

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
class _Widths:
    """The bits of the operands of an operation of `arith`, and of its result, that are narrow integers; else 0."""

    op: Operation
    operands: tuple[int, ...]
    result: int

    @staticmethod
    def of(op: Operation) -> _Widths:
        return _Widths(op, tuple(map(_bits, op.operands)), max(map(_bits, op.results), default=0))


def _bits(value: SSAValue) -> int:
    """The bits of a narrow integer, 0 of other values."""
    type_ = value.type
    if type(type_) is not IntegerType or (bits := type_.width.data) > 8 or type_ not in _NARROW:
        return 0
    return bits


def defined_values(ops: Iterable[Operation]) -> Iterator[SSAValue]:
    """The results of operations and the arguments of their blocks."""
    for op in ops:
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def widen_narrow(ops: Sequence[Operation]) -> bool:
    """Makes i16 of every i4 and i8 of an entry, of which only the low bits count; returns False if there is none.

    `ops` are all operations of the entry. Operations of `arith` on them are done in i32, on operands that are extended
    as the operation reads them.
    """
    values = [value for value in defined_values(ops) if _bits(value)]
    if not values:
        return False
    found = [
        _Widths.of(op) for op in ops if op.name.startswith("arith.") and any(map(_bits, (*op.operands, *op.results)))
    ]
    for value in values:
        Rewriter.replace_value_with_new_type(value, i16)
    for widths in found:
        _widen(widths)
    return True


def _widen(widths: _Widths) -> None:
    op = widths.op
    emit = Emitter.before(op)
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            _replace(op, emit.constant(number.data, i16))
        case arith.TruncIOp():
            _replace(op, _truncated(emit, op.input))
        case arith.ExtSIOp() | arith.ExtUIOp() if not widths.operands[0]:  # of an i1
            _replace(op, emit(type(op)(op.input, i16)).result)
        case arith.ExtSIOp() | arith.ExtUIOp():
            type_ = _integer(i16 if widths.result else op.result.type)
            _replace(op, _extended(emit, op.input, widths.operands[0], type_, unsigned=isinstance(op, arith.ExtUIOp)))
        case arith.SelectOp() | arith.BitcastOp():
            pass
        case _:
            unsigned = isinstance(op, _UNSIGNED) or (
                isinstance(op, arith.CmpiOp) and op.predicate.value.data >= _UNSIGNED_PREDICATES
            )
            # i16 is wide enough for a float of any type to be exact, or rounded once.
            width = i16 if isinstance(op, arith.SIToFPOp | arith.UIToFPOp) else i32
            operands = [
                _extended(emit, value, bits, width, unsigned=unsigned) if bits else value
                for value, bits in zip(op.operands, widths.operands, strict=True)
            ]
            types = [i32] if widths.result else op.result_types
            wide = emit(op.create(operands=operands, result_types=types, properties=op.properties)).results
            _replace(op, _truncated(emit, wide[0]) if widths.result else wide[0])


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    erase(op)


def _truncated(emit: Emitter, value: SSAValue) -> SSAValue:
    """An integer in 16 bits whose low bits are those of `value`."""
    return value if value.type == i16 else emit(arith.TruncIOp(value, i16)).result


def _extended(emit: Emitter, value: SSAValue, bits: int, type_: IntegerType, *, unsigned: bool) -> SSAValue:
    """The integer in the low bits of an i16, as one of `type_`."""
    if unsigned:
        clean = emit.bit_and(value, (1 << bits) - 1)
        return clean if type_ == i16 else emit.extend(clean, type_)
    above = emit.constant(16 - bits, i16)
    high = emit(arith.ShLIOp(value, above)).result
    clean = emit(arith.ShRSIOp(high, above)).result
    return clean if type_ == i16 else emit(arith.ExtSIOp(clean, type_)).result


def _integer(type_: Attribute) -> IntegerType:
    match type_:
        case IntegerType():
            return type_
        case _:
            raise AssertionError(f"expected an integer type, found {type_}")


__all__ = ["widen_narrow"]
