"""Pairs of floats of 8 bits as pairs of f16, on targets without an instruction for it, too."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import SSAValue

from tirx.dialects import ptx
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.packed import NARROW_FEATURES, CvtFromPairOp, PairFormat, PairOp, PairOperation
from tirx.passes.ir.emitter import Emitter

BY_INTEGERS: Mapping[PairFormat, str] = {
    format_: NARROW_FEATURES[format_] for format_ in (PairFormat.E4M3X2, PairFormat.E5M2X2)
}
"""Formats that integers convert where the target does not have the feature."""

_UPPER_BYTES = 0x1404
"""`prmt`: the bytes 0 and 1 as the upper bytes of two halves, whose lower ones are the byte 4, which is 0."""


def halves_of_bytes(emit: Emitter, format_: PairFormat, pair: SSAValue, by_integers: bool) -> SSAValue:
    """Returns two floats of a byte each (i16) as two f16 (i32), exactly; NaN of e4m3 is NaN.

    `by_integers`: without the instruction, as `BY_INTEGERS` allows. A byte of e5m2 is the upper one of the f16. That of
    e4m3, with all but its sign a bit further down, is the f16 of 2^-8 times the number, subnormal or not.
    """
    if not by_integers:
        return emit(CvtFromPairOp(format_, pair)).result

    def integer(value: int) -> SSAValue:
        return emit.value(ConstantOp.integer(value, i32))

    both = emit.value(ptx.PackOp(pair, emit.value(ConstantOp.integer(0, i16))))
    upper = emit.value(ptx.PrmtOp(both, integer(0), integer(_UPPER_BYTES)))
    if format_ is PairFormat.E5M2X2:
        return upper
    magnitude = emit.value(ptx.AndOp(upper, integer(0x7F007F00)))
    sign = emit.value(ptx.AndOp(upper, integer(0x80008000)))
    scaled = emit.value(ptx.OrOp(emit.value(ptx.ShrOp(magnitude, integer(1), unsigned=True)), sign))
    number = emit(PairOp(PairOperation.MUL, PairFormat.F16X2, [scaled, integer(0x5C005C00)])).result  # 256
    # Seven ones are NaN: the sum has the bit above them, of which the bits of a NaN of f16 are made.
    carry = emit.value(ptx.AndOp(emit.value(ptx.AddOp(magnitude, integer(0x01000100))), integer(0x80008000)))
    nan = emit.value(ptx.SubOp(carry, emit.value(ptx.ShrOp(carry, integer(6), unsigned=True))))
    return emit.value(ptx.OrOp(number, nan))
