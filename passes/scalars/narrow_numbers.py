"""Integers of 4 and 8 bits, and floats of at most 8, which no PTX register holds, in registers of 16."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    bf16,
    f16,
    f32,
    f64,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.dialects.ptx.conversion import UnpackOp
from tirx.dialects.ptx.packed import CvtPairOp, PairFormat
from tirx.dialects.xdsl_private import type_of
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import float_code
from tirx.passes.scalars.bf16_numbers import has
from tirx.passes.scalars.byte_floats import BY_INTEGERS, halves_of_bytes
from tirx.rules import NoFormError
from tirx.values import dataclass

_FORMATS: Mapping[type[Attribute], PairFormat] = {
    Float8E4M3FNType: PairFormat.E4M3X2,
    Float8E5M2Type: PairFormat.E5M2X2,
    Float8E8M0FNUType: PairFormat.UE8M0X2,
    Float6E2M3FNType: PairFormat.E2M3X2,
    Float6E3M2FNType: PairFormat.E3M2X2,
    Float4E2M1FNType: PairFormat.E2M1X2,
}
"""Types of floats of which no element has a register of its own -> the format of two of them."""

_INTEGERS = (IntegerType(4), IntegerType(8))

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


def narrow_format(type_: Attribute) -> PairFormat | None:
    """Returns the format of two elements of a float type that no register of its own holds; None for other types."""
    return _FORMATS.get(type(type_))


@dataclass(frozen=True)
class _Narrow:
    """An operation of `arith`, and the types of its operands and result where they are narrow; else None."""

    op: Operation
    operands: tuple[Attribute | None, ...]
    result: Attribute | None

    @staticmethod
    def of(op: Operation) -> _Narrow:
        return _Narrow(op, tuple(map(_narrow, op.operands)), next(map(_narrow, op.results), None))

    @property
    def float_type(self) -> Attribute | None:
        """The type of the first operand or result that is a narrow float."""
        return next((each for each in (*self.operands, self.result) if type(each) in _FORMATS), None)


def _narrow(value: SSAValue) -> Attribute | None:
    """The type of a narrow number, None for that of other values."""
    return narrow_type(value.type)


def narrow_type(type_: Attribute) -> Attribute | None:
    """Returns the type of a narrow number, None for other types."""
    if type(type_) is IntegerType:
        return type_ if type_.width.data <= 8 and type_ in _INTEGERS else None
    return type_ if type(type_) in _FORMATS else None


def defined_values(ops: Sequence[Operation]) -> list[SSAValue]:
    """Returns the results of operations and the arguments of their blocks."""
    found: list[SSAValue] = [result for op in ops for result in op.results]
    found += [
        argument
        for op in ops
        if op.regions
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    ]
    return found


def types_of(values: Iterable[SSAValue]) -> dict[int, Attribute]:
    """Returns the types of values by their identity: to hash one takes several times as long."""
    types = [*map(type_of, values)]
    return dict(zip(map(id, types), types, strict=True))


def widen_narrow(ops: Sequence[Operation], values: Sequence[SSAValue]) -> bool:
    """Makes i16 of every narrow number of an entry, of which only the low bits count; returns False if there is none.

    `ops` are all operations of the entry and `values` what they define. Operations of `arith` on integers are done in
    i32, on operands that are extended as the operation reads them. Floats are converted, selected and have bits; other
    operations on them are a NoFormError.
    """
    if not any(map(narrow_type, types_of(values).values())):
        return False
    values = [value for value in values if _narrow(value)]
    found = [
        _Narrow.of(op) for op in ops if op.name.startswith("arith.") and any(map(_narrow, (*op.operands, *op.results)))
    ]
    for value in values:
        Rewriter.replace_value_with_new_type(value, i16)
    for narrow in found:
        if (type_ := narrow.float_type) is None:
            _widen_integers(narrow)
        else:
            _widen_floats(narrow.op, type_)
    return True


def _widen_floats(op: Operation, type_: Attribute) -> None:
    emit, format_ = Emitter.before(op), _FORMATS[type(type_)]
    match op:
        case arith.ConstantOp() | arith.TruncFOp() if op.result.first_use is None:  # a tile was filled with it
            erase(op)
        case arith.ConstantOp(value=FloatAttr(value=number)):
            _replace(op, emit.constant(float_code(type_, number.data), i16))
        case arith.TruncFOp(input=source) if source.type in (f16, bf16, f32):
            # f32 has all numbers of f16 and bf16, so that rounding is done once.
            wide = source if source.type == f32 else emit(arith.ExtFOp(source, f32)).result
            _replace(op, emit(CvtPairOp(format_, wide, wide)).result)
        case arith.ExtFOp(input=source) if op.result.type in (f16, bf16, f32, f64):
            _replace(op, _extended_float(op, emit, format_, source, op.result.type))
        case arith.BitcastOp():
            _replace(op, op.input)
        case arith.SelectOp():
            pass
        case _:
            raise NoFormError(
                op,
                f"expected arith.truncf to {type_} of f16, bf16 or f32, arith.extf of it to f16, bf16, f32 or f64, "
                f"arith.select, arith.bitcast or a constant, found '{op.name}'",
            )


def _extended_float(op: Operation, emit: Emitter, format_: PairFormat, source: SSAValue, type_: Attribute) -> SSAValue:
    """The float in the low bits of an i16, by way of f16 or bf16, which has all numbers of the format."""
    middle = bf16 if format_ is PairFormat.UE8M0X2 else f16
    by_integers = format_ in BY_INTEGERS and not has(op, BY_INTEGERS[format_])
    half = emit(UnpackOp(halves_of_bytes(emit, format_, source, by_integers), middle)).low
    if type_ == middle:
        return half
    wide = emit(arith.ExtFOp(half, f32)).result
    if type_ == f32:
        return wide
    return emit((arith.ExtFOp if type_ == f64 else arith.TruncFOp)(wide, type_)).result


def _widen_integers(narrow: _Narrow) -> None:
    op, emit = narrow.op, Emitter.before(narrow.op)
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            _replace(op, emit.constant(number.data, i16))
        case arith.TruncIOp():
            type_ = i16 if narrow.result else op.result.type
            _replace(op, op.input if op.input.type == type_ else emit(arith.TruncIOp(op.input, type_)).result)
        case arith.ExtSIOp() | arith.ExtUIOp() if narrow.operands == (None,):  # of an i1
            _replace(op, emit(type(op)(op.input, i16)).result)
        case arith.ExtSIOp() | arith.ExtUIOp():
            (of,) = filter(None, narrow.operands)
            type_ = _integer(i16 if narrow.result else op.result.type)
            _replace(op, _extended(emit, op.input, of, type_, unsigned=isinstance(op, arith.ExtUIOp)))
        case arith.SelectOp() | arith.BitcastOp():
            pass
        case _:
            unsigned = isinstance(op, _UNSIGNED) or (
                isinstance(op, arith.CmpiOp) and op.predicate.value.data >= _UNSIGNED_PREDICATES
            )
            # i16 is wide enough for a float of any type to be exact, or rounded once.
            width = i16 if isinstance(op, arith.SIToFPOp | arith.UIToFPOp) else i32
            operands = [
                value if type_ is None else _extended(emit, value, type_, width, unsigned=unsigned)
                for value, type_ in zip(op.operands, narrow.operands, strict=True)
            ]
            types = [i32] if narrow.result else op.result_types
            wide = emit(op.create(operands=operands, result_types=types, properties=op.properties)).results
            _replace(op, emit(arith.TruncIOp(wide[0], i16)).result if narrow.result else wide[0])


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    erase(op)


def _extended(emit: Emitter, value: SSAValue, of: Attribute, type_: IntegerType, *, unsigned: bool) -> SSAValue:
    """The integer of type `of` in the low bits of an i16, as one of `type_`."""
    bits = _integer(of).width.data
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
