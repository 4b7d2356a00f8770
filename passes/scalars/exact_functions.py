"""Functions of numbers that are one instruction or two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.functions import Function
from tirx.passes.ir.emitter import Emitter
from tirx.passes.scalars.bf16_numbers import fused, magnitude
from tirx.values import dataclass


@dataclass(frozen=True)
class _Direct:
    """An operation that is one instruction on some types; on f16 and bf16 without it, on f32 in between."""

    make: Callable[[Sequence[SSAValue]], Operation]
    types: tuple[Attribute, ...]


def _function(function: Function) -> _Direct:
    return _Direct(lambda operands: ptx.FunctionOp(function, operands[0]), ptx.FunctionOp.types_of(function))


DIRECT: Mapping[type[Operation], _Direct] = {
    math.FmaOp: _Direct(lambda operands: ptx.FmaOp(*operands), (f16, bf16, f32, f64)),
    math.AbsFOp: _function(Function.ABS),
    math.FloorOp: _function(Function.FLOOR),
    math.CeilOp: _function(Function.CEIL),
    math.TruncOp: _function(Function.TRUNC),
    math.RoundEvenOp: _function(Function.RINT),
    math.SqrtOp: _Direct(lambda operands: ptx.FunctionOp(Function.SQRT, operands[0]), (f64,)),
    math.CopySignOp: _Direct(lambda operands: ptx.CopysignOp(operands[1], operands[0]), (f32, f64)),
}
"""Exact operations."""


@dataclass(frozen=True)
class _Half:
    """An approximation of a 16-bit type on targets with a row of `FEATURES`."""

    feature: str
    make: Callable[[SSAValue], Operation]


HALF: Mapping[tuple[type[Operation], Attribute], _Half] = {
    (math.Exp2Op, f16): _Half("f16.ex2", ptx.Ex2ApproxOp),
    (math.Exp2Op, bf16): _Half("bf16.ex2", lambda x: ptx.Ex2ApproxOp(x, ftz=True)),
    (math.TanhOp, f16): _Half("f16.tanh", lambda x: ptx.FunctionOp(Function.TANH, x)),
    (math.TanhOp, bf16): _Half("bf16.tanh", lambda x: ptx.FunctionOp(Function.TANH, x)),
}
"""Approximations that 16-bit types have themselves."""


ON_BF16: Mapping[type[Operation], Callable[[Operation, Emitter], SSAValue]] = {
    math.FmaOp: lambda op, emit: fused(op, emit, *op.operands),
    math.AbsFOp: lambda op, emit: magnitude(emit, op.operands[0]),
}
"""Exact operations on bf16 where the target has no instruction."""


COUNTS: Mapping[type[Operation], Callable[[Emitter, SSAValue], SSAValue]] = {
    math.CtPopOp: lambda emit, x: _ones(emit, x),
    math.CountLeadingZerosOp: lambda emit, x: _zeros_ahead(emit, x),
    math.CountTrailingZerosOp: lambda emit, x: _zeros_ahead(emit, emit(ptx.BrevOp(x)).result),
}
"""Functions of the bits of an i32 or i64."""


def _ones(emit: Emitter, x: SSAValue) -> SSAValue:
    if x.type == i32:
        return emit(ptx.PopcOp(x)).result
    halves = emit(ptx.UnpackOp(x, i32))
    low, high = (emit(ptx.PopcOp(half)).result for half in (halves.low, halves.high))
    return emit(ptx.CvtOp(emit(ptx.AddOp(low, high)).result, i64, unsigned=True)).result


def _zeros_ahead(emit: Emitter, x: SSAValue) -> SSAValue:
    if x.type == i32:
        return emit(ptx.ClzOp(x)).result
    halves = emit(ptx.UnpackOp(x, i32))
    low, high = (emit(ptx.ClzOp(half)).result for half in (halves.low, halves.high))
    all_ = emit(ptx.SetpOp(ptx.Comparison.EQ, high, emit(ConstantOp.integer(32, i32)).result)).result
    more = emit(ptx.SelpOp(all_, low, emit(ConstantOp.integer(0, i32)).result)).result
    return emit(ptx.CvtOp(emit(ptx.AddOp(high, more)).result, i64, unsigned=True)).result
