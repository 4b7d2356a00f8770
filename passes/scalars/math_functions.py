"""Instructions for functions of numbers, with the errors of `tirx.hw.approximations`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.dialects.builtin import FloatAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.functions import Function
from tirx.layout.arrays import np
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.scalars.fast_math import may_approximate
from tirx.rules import NoFormError

LOG2_E = 1.4426950408889634
LOG_2 = 0.6931471805599453
TWO_PI = 6.283185307179586

_EXP_LIMIT = 88.0
"""Beyond it exp is subnormal or infinite, and what corrects it would be no number."""

_TANH_LIMIT = 0.55
"""Below it 1 - 2 / (exp(2 |x|) + 1) would lose digits."""

_TANH = (-0.33333313465118408, 0.13332474231719971, -0.053840052336454391, 0.021019127219915390, -0.0061971647664904594)
"""tanh(x) = x + x^3 p(x^2) for |x| <= 0.55, by a least-squares fit of p at Chebyshev nodes; relative error 2^-29."""

_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, 7.1.26: erf(x) = 1 - (a1 t + ... + a5 t^5) exp(-x^2) with t = 1 / (1 + p x), for x >= 0."""

_ERF_P = 0.3275911


def lower_math(op: Operation) -> None:
    """Replaces a `math` operation inside a `ptx.entry` by instructions. Raises NoFormError if there are none."""
    type_ = op.results[0].type
    supported = {rule.name for rule in (*_DIRECT, *_FUNCTIONS)}
    if type(op) not in _DIRECT and type(op) not in _FUNCTIONS:
        raise NoFormError(op, f"no PTX form for '{op.name}'; convert-math-to-ptx lowers {', '.join(sorted(supported))}")
    if type_ not in (f16, bf16, f32, f64):
        raise NoFormError(op, f"expected '{op.name}' on f16, bf16, f32 or f64, found {type_}")
    compute = _Compute(Emitter.before(op), op)
    replacement = compute.run()
    op.results[0].replace_all_uses_with(replacement)
    erase(op)


class _Compute:
    """The instructions for one operation."""

    def __init__(self, emit: Emitter, op: Operation):
        self.emit = emit
        self.op = op
        self.approximate = may_approximate(op)

    def run(self) -> SSAValue:
        op, type_ = self.op, self.op.results[0].type
        if (direct := _DIRECT.get(type(op))) is not None and type_ in direct.types:
            return self.emit.value(direct.make(op.operands))
        if self.approximate and (type(op), type_) in _HALF:
            return self.emit.value(_HALF[type(op), type_](op.operands[0]))
        if type_ == f64:
            wide = ", ".join(sorted(rule.name for rule, direct in _DIRECT.items() if f64 in direct.types))
            raise NoFormError(op, f"no PTX form for '{op.name}' on f64; expected {wide}, or f32 and less")
        operands = [v if type_ == f32 else self.emit.value(ptx.CvtOp(v, f32)) for v in op.operands]
        if (compute := _FUNCTIONS.get(type(op))) is not None:
            result = compute(self, operands[0])
        else:
            result = self.emit.value(_DIRECT[type(op)].make(operands))
        return result if type_ == f32 else self.emit.value(ptx.CvtOp(result, type_))

    def constant(self, value: float) -> SSAValue:
        return self.emit(ConstantOp(FloatAttr(value, f32))).result

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.emit(ptx.MulOp(a, self._value(b))).result

    def add(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.emit(ptx.AddOp(a, self._value(b))).result

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        return self.emit(ptx.FmaOp(a, self._value(b), self._value(c))).result

    def _value(self, value: SSAValue | float) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.constant(value)

    def function(self, function: Function, x: SSAValue) -> SSAValue:
        return self.emit(ptx.FunctionOp(function, x)).result

    def ex2(self, x: SSAValue) -> SSAValue:
        return self.emit(ptx.Ex2ApproxOp(x, ftz=self.approximate)).result

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """The sum of coefficients[i] x^i, by fma."""
        result = self.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            result = self.fma(result, x, coefficient)
        return result

    def below(self, x: SSAValue, limit: float, small: SSAValue, other: SSAValue) -> SSAValue:
        """`small` where |x| < limit, `other` elsewhere and for NaN."""
        magnitude = self.function(Function.ABS, x)
        condition = self.emit(ptx.SetpOp(ptx.Comparison.LT, magnitude, self.constant(limit))).result
        return self.emit(ptx.SelpOp(condition, small, other)).result

    def signed(self, magnitude: SSAValue, sign: SSAValue) -> SSAValue:
        """`magnitude`, which is not negative, with the sign of `sign`."""
        return self.emit(ptx.CopysignOp(sign, magnitude)).result

    # Functions.

    def exp2(self, x: SSAValue) -> SSAValue:
        return self.ex2(x)

    def exp(self, x: SSAValue) -> SSAValue:
        product = self.mul(x, LOG2_E)
        result = self.ex2(product)
        if self.approximate:
            return result
        # x log2(e) is product + rest, and 2^rest is 1 + rest log(2) as far as an f32 shows.
        rest = self.fma(x, LOG2_E, self.emit(ptx.NegOp(product)).result)
        rest = self.fma(x, _low_part(LOG2_E), rest)
        return self.below(x, _EXP_LIMIT, self.fma(result, self.mul(rest, LOG_2), result), result)

    def log2(self, x: SSAValue) -> SSAValue:
        return self.function(Function.LG2, x)

    def log(self, x: SSAValue) -> SSAValue:
        return self.mul(self.function(Function.LG2, x), LOG_2)

    def sqrt(self, x: SSAValue) -> SSAValue:
        return self.function(Function.SQRT_APPROX if self.approximate else Function.SQRT, x)

    def rsqrt(self, x: SSAValue) -> SSAValue:
        return self.function(Function.RSQRT, x)

    def tanh(self, x: SSAValue) -> SSAValue:
        if self.approximate:
            return self.function(Function.TANH, x)
        magnitude = self.function(Function.ABS, x)
        power = self.ex2(self.mul(magnitude, 2 * LOG2_E))
        inverse = self.function(Function.RCP, self.add(power, 1.0))
        large = self.signed(self.fma(inverse, -2.0, 1.0), x)
        square = self.mul(x, x)
        small = self.fma(self.mul(self.polynomial(square, _TANH), square), x, x)
        return self.below(x, _TANH_LIMIT, small, large)

    def sin(self, x: SSAValue) -> SSAValue:
        return self.function(Function.SIN, x if self.approximate else self._reduced(x))

    def cos(self, x: SSAValue) -> SSAValue:
        return self.function(Function.COS, x if self.approximate else self._reduced(x))

    def _reduced(self, x: SSAValue) -> SSAValue:
        """x less the nearest multiple of 2 pi, which is subtracted in three parts of 24 digits each."""
        periods = self.function(Function.RINT, self.mul(x, 1 / TWO_PI))
        for part in _three_parts(TWO_PI, 2.4492935982947064e-16):
            x = self.fma(periods, -part, x)
        return x

    def erf(self, x: SSAValue) -> SSAValue:
        magnitude = self.function(Function.ABS, x)
        t = self.function(Function.RCP, self.fma(magnitude, _ERF_P, 1.0))
        square = self.emit(ptx.NegOp(self.mul(x, x))).result
        power = self.ex2(self.mul(square, LOG2_E))
        tail = self.mul(self.mul(self.polynomial(t, _ERF), t), power)
        return self.signed(self.fma(tail, -1.0, 1.0), x)


def _f32(value: float) -> float:
    return float(np.float32(value))


def _low_part(value: float) -> float:
    """Returns the part of a number that rounding to f32 takes off."""
    return value - _f32(value)


def _three_parts(value: float, rest: float) -> tuple[float, float, float]:
    """Three f32 whose sum is `value` + `rest`."""
    first = _f32(value)
    second = _f32(value - first)
    return first, second, _f32(value - first - second + rest)


_FUNCTIONS: Mapping[type[Operation], Callable[[_Compute, SSAValue], SSAValue]] = {
    math.Exp2Op: _Compute.exp2,
    math.ExpOp: _Compute.exp,
    math.Log2Op: _Compute.log2,
    math.LogOp: _Compute.log,
    math.SqrtOp: _Compute.sqrt,
    math.RsqrtOp: _Compute.rsqrt,
    math.TanhOp: _Compute.tanh,
    math.SinOp: _Compute.sin,
    math.CosOp: _Compute.cos,
    math.ErfOp: _Compute.erf,
}
"""Function -> how it is computed in f32."""


@dataclass(frozen=True)
class _Direct:
    """An operation that is one instruction on some types; on f16 and bf16 without it, on f32 in between."""

    make: Callable[[Sequence[SSAValue]], Operation]
    types: tuple[Attribute, ...]


def _function(function: Function) -> _Direct:
    return _Direct(lambda operands: ptx.FunctionOp(function, operands[0]), ptx.FunctionOp.types_of(function))


_DIRECT: Mapping[type[Operation], _Direct] = {
    math.FmaOp: _Direct(lambda operands: ptx.FmaOp(*operands), (f16, bf16, f32, f64)),
    math.AbsFOp: _function(Function.ABS),
    math.FloorOp: _function(Function.FLOOR),
    math.CeilOp: _function(Function.CEIL),
    math.TruncOp: _function(Function.TRUNC),
    math.RoundEvenOp: _function(Function.RINT),
    math.SqrtOp: _Direct(lambda operands: ptx.FunctionOp(Function.SQRT, operands[0]), (f64,)),
}
"""Exact operations."""

_HALF: Mapping[tuple[type[Operation], Attribute], Callable[[SSAValue], Operation]] = {
    (math.Exp2Op, f16): ptx.Ex2ApproxOp,
    (math.Exp2Op, bf16): lambda x: ptx.Ex2ApproxOp(x, ftz=True),
    (math.TanhOp, f16): lambda x: ptx.FunctionOp(Function.TANH, x),
    (math.TanhOp, bf16): lambda x: ptx.FunctionOp(Function.TANH, x),
}
"""Approximations that 16-bit types have themselves."""
