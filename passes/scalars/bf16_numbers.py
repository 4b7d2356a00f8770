"""Numbers of bf16 on targets whose instructions have none: the same bits by way of f32 and integers."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f32, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.nesting import ancestors
from tirx.dialects.ptx.base import width
from tirx.dialects.ptx.core import ConstantOp, EntryOp
from tirx.hw.features import supports
from tirx.passes.ir.emitter import Emitter

_SIGN = 0x8000
_NAN = 0x7FFF
"""The NaN of instructions."""


def has(op: Operation, feature: str) -> bool:
    """Returns True if the target of the entry around `op` has a row of `FEATURES`, or the entry has no target."""
    entry = next((around for around in ancestors(op) if isinstance(around, EntryOp)), None)
    return entry is None or supports(entry.target_info, feature)


def _integer(emit: Emitter, value: int, type_: Attribute) -> SSAValue:
    return emit.value(ConstantOp.integer(value, type_))


def widened(op: Operation, emit: Emitter, value: SSAValue) -> SSAValue:
    """Returns an f16 or bf16 as f32, for the target of `op`. The bits of a bf16 are the upper ones of the f32."""
    if value.type != bf16 or has(op, "bf16.extend"):
        return emit.value(ptx.CvtOp(value, f32))
    bits = emit.value(ptx.MovOp(value, i16))
    return emit.value(ptx.MovOp(emit.value(ptx.PackOp(_integer(emit, 0, i16), bits)), f32))


def rounded(op: Operation, emit: Emitter, value: SSAValue, type_: Attribute) -> SSAValue:
    """Returns an f32 as f16 or bf16, to nearest, ties to even, for the target of `op`.

    Half a unit of the upper 16 bits less one is added, and one more where they are odd; a carry goes to the exponent.
    """
    if type_ != bf16 or has(op, "bf16.cvt"):
        return emit.value(ptx.CvtOp(value, type_))
    bits = emit.value(ptx.MovOp(value, i32))
    odd = emit.value(ptx.AndOp(emit.value(ptx.ShrOp(bits, _integer(emit, 16, i32), unsigned=True)), _one(emit)))
    half = emit.value(ptx.AddOp(bits, _integer(emit, 0x7FFF, i32)))
    upper = emit(ptx.UnpackOp(emit.value(ptx.AddOp(half, odd)), i16)).high
    is_nan = emit.value(ptx.SetpOp(ptx.Comparison.NAN, value, value))
    upper = emit.value(ptx.SelpOp(is_nan, _integer(emit, _NAN, i16), upper))
    return emit.value(ptx.MovOp(upper, bf16))


_EXACT_BITS = 16
"""Width of integers of which f32 has all."""


def rounded_integer(op: Operation, emit: Emitter, value: SSAValue, *, unsigned: bool) -> SSAValue:
    """Returns an integer of 16, 32 or 64 bits as bf16, to nearest, ties to even, for the target of `op`."""
    if width(value.type) <= _EXACT_BITS:
        return rounded(op, emit, emit.value(ptx.CvtOp(value, f32, unsigned=unsigned)), bf16)
    if has(op, "bf16.cvt.integer"):
        return emit.value(ptx.CvtOp(value, bf16, unsigned=unsigned))
    low, high = (emit.value(ptx.CvtOp(value, f32, unsigned=unsigned, **{mode: True})) for mode in ("rm", "rp"))
    return rounded(op, emit, _odd(emit, low, high), bf16)


def _odd(emit: Emitter, low: SSAValue, high: SSAValue) -> SSAValue:
    """Returns the f32 that rounds to bf16 as a number does that is rounded down to `low` and up to `high`.

    They are neighbours, or both the number. The odd one of neighbours is on the side of every tie of bf16 that the
    number is on (rounding to odd).
    """
    ends = [emit.value(ptx.MovOp(end, i32)) for end in (low, high)]
    less = emit.value(ptx.MinOp(*ends, unsigned=True))
    odd = emit.value(ptx.AndOp(emit.value(ptx.OrOp(*ends)), _one(emit)))
    return emit.value(ptx.MovOp(emit.value(ptx.OrOp(less, odd)), f32))


def _one(emit: Emitter) -> SSAValue:
    return _integer(emit, 1, i32)


def fused(op: Operation, emit: Emitter, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
    """Returns a * b + c of three bf16 with one rounding, where the target of `op` has no such instruction."""
    wide = [widened(op, emit, value) for value in (a, b, c)]
    low, high = (emit.value(ptx.FmaOp(*wide, **{mode: True})) for mode in ("rm", "rp"))
    return rounded(op, emit, _odd(emit, low, high), bf16)


def negated(emit: Emitter, value: SSAValue) -> SSAValue:
    """Returns a bf16 with the other sign."""
    bits = emit.value(ptx.XorOp(emit.value(ptx.MovOp(value, i16)), _integer(emit, _SIGN, i16)))
    return emit.value(ptx.MovOp(bits, bf16))


def magnitude(emit: Emitter, value: SSAValue) -> SSAValue:
    """Returns a bf16 without its sign."""
    bits = emit.value(ptx.AndOp(emit.value(ptx.MovOp(value, i16)), _integer(emit, _SIGN - 1, i16)))
    return emit.value(ptx.MovOp(bits, bf16))
