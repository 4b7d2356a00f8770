"""One scalar in every slot of a register."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerType, f32, i8, i32
from xdsl.ir import SSAValue

from tirx.dialects.ptx.base import register_class
from tirx.dialects.ptx.conversion import MovOp, PackOp
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.packed import CvtPairOp, PairFormat
from tirx.dialects.tirx import SplatOp
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.register_values import NARROW_FLOATS, REGISTER_BITS, float_code, register_format
from tirx.passes.scalars.map_emission import packed_bytes
from tirx.passes.scalars.narrow_numbers import narrow_format
from tirx.rules import PackedElementsError


def splat(emit: Emitter, op: SplatOp) -> list[SSAValue]:
    """The registers of a tile whose elements are all one scalar. Raises LocatedError for one that nothing computes."""
    format_ = register_format(op.result.type)
    register = _register(emit, op, format_.packed)
    if register.type != format_.type:  # tf32 is kept as bits
        register = emit(MovOp(register, format_.type)).result
    return [register] * format_.count


def _register(emit: Emitter, op: SplatOp, packed: int) -> SSAValue:
    value = op.value
    if str(value.type) in NARROW_FLOATS:
        if (register := _narrow(emit, op)) is not None:
            return register
        value = emit.retyped(value, i8)
    if value.type in (IntegerType(4), IntegerType(8)):
        ones = sum(1 << at for at in range(0, REGISTER_BITS, REGISTER_BITS // packed))
        return emit.mul(emit.extend(value, i32), ones)
    if register_class(value.type) is None:
        raise PackedElementsError(
            op, f"expected a fill with a type that arith computes in registers, found {value.type}"
        )
    return value if packed == 1 else emit(PackOp(value, value)).result


def _narrow(emit: Emitter, op: SplatOp) -> SSAValue | None:
    """A constant as bits, or an f32 rounded to two elements, twice; None for any other number."""
    value, type_ = op.value, op.value.type
    match value.owner:
        case arith.ConstantOp(value=FloatAttr(value=number)):
            bits = NARROW_FLOATS[str(type_)][1]
            word = sum(float_code(type_, number.data) << at for at in range(0, REGISTER_BITS, bits))
            return emit(ConstantOp(bit_pattern(word, REGISTER_BITS))).result
        case arith.TruncFOp(input=source) if source.type == f32 and (format_ := narrow_format(type_)) is not None:
            pair = emit(CvtPairOp(format_, source, source)).result
            return packed_bytes(emit, [pair] * 4) if format_ is PairFormat.E2M1X2 else emit(PackOp(pair, pair)).result
        case _:
            return None
