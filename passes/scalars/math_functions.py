"""Instructions for functions of numbers, with the errors of `tirx.hw.approximations`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import factorial
from math import tan as math_tan

from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.definition import UNIT
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.functions import Function
from tirx.dialects.xdsl_private import become
from tirx.layout.arrays import np
from tirx.passes.ir.emitter import Emitter, erase, replace_uses
from tirx.passes.scalars.bf16_numbers import has, rounded, widened
from tirx.passes.scalars.exact_functions import COUNTS, DIRECT, HALF, ON_BF16
from tirx.passes.scalars.fast_math import may_approximate
from tirx.rules import NoFormError

LOG2_E = 1.4426950408889634
LOG_2 = 0.6931471805599453
LOG_10 = 2.302585092994046
TWO_PI = 6.283185307179586

_EXP_LIMIT = 88.0
"""Beyond it exp is subnormal or infinite, and what corrects it would be no number."""

_TANH_LIMIT = 0.55
"""Below it 1 - 2 / (exp(2 |x|) + 1) would lose digits."""

_TANH = (-0.33333313465118408, 0.13332474231719971, -0.053840052336454391, 0.021019127219915390, -0.0061971647664904594)
"""tanh(x) = x + x^3 p(x^2) for |x| <= 0.55, by a least-squares fit of p at Chebyshev nodes; relative error 2^-29."""

_TAN = (0.33333156, 0.133387998, 0.0534112081, 0.0244303942, 0.00311950850, 0.00938564353)
"""tan(x) = x + x^3 p(x^2) for |x| <= pi / 4; relative error 2^-25. These, and those below, are fits of least error."""

_ATAN = (-0.333333164, 0.199984714, -0.142435327, 0.105938138, -0.0607822090)
"""atan(x) = x + x^3 p(x^2) for |x| <= tan(pi / 8); relative error 2^-30."""

_ASIN = (0.166667521, 0.0749529749, 0.0454703756, 0.0241795164, 0.0421663076)
"""asin(x) = x + x^3 p(x^2) for |x| <= 1 / 2; relative error 2^-27."""

_SINH = (0.166666672, 0.00833334960, 0.000198361595, 2.81695134e-6)
"""sinh(x) = x + x^3 p(x^2) for |x| <= 1; relative error 2^-34."""

_ATANH = (0.333333373, 0.199994445, 0.143082976, 0.107153706, 0.121447787)
"""atanh(x) = x + x^3 p(x^2) for |x| <= 1 / 3; relative error 2^-33."""

_EXPM1 = (0.5, 0.166666672, 0.0416666567, 0.00833314098, 0.00138895563, 0.000199739778, 0.0000247373312)
"""exp(x) - 1 = x + x^2 p(x) for |x| <= 1 / 2; relative error 2^-33."""

_HUGE = 1e9
"""From it on x^2 + 1 is x^2, also where the square of x is infinite."""

_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, 7.1.26: erf(x) = 1 - (a1 t + ... + a5 t^5) exp(-x^2) with t = 1 / (1 + p x), for x >= 0."""

_ERF_P = 0.3275911

_LOG_2_PARTS = 0.6931471803691238, 1.9082149292705877e-10
"""log(2) as two f64, of which the first has 32 digits: its products by exponents are exact."""

_QUARTER_TURN = 1.5707963267948966, 6.123233995736766e-17 - 2.0**-106, 2.0**-106 - 1.4973849048591698e-33
"""pi / 2 as three positive f64."""

_WIDE_EXP = tuple(1 / factorial(n) for n in range(2, 14))
"""exp(x) - 1 = x + x^2 p(x) for |x| <= log(2) / 2; relative error 2^-57. These are Taylor series, for f64."""

_WIDE_ATANH = tuple(2 / (2 * n + 3) for n in range(10))
"""2 atanh(x) = 2 x + x^3 p(x^2) for |x| <= 0.1716; relative error 2^-60."""

_WIDE_SIN = tuple((-1) ** n / factorial(2 * n + 1) for n in range(1, 10))
"""sin(x) = x + x^3 p(x^2) for |x| <= pi / 4; relative error 2^-63."""

_WIDE_COS = tuple((-1) ** n / factorial(2 * n) for n in range(1, 11))
"""cos(x) = 1 + x^2 p(x^2) for |x| <= pi / 4; relative error 2^-68."""


_AT_ONCE: Mapping[type[Operation], type[Operation]] = {math.FmaOp: ptx.FmaOp, math.Exp2Op: ptx.Ex2ApproxOp}
"""Operations on f32 that are one instruction of the same operands."""


def lower_math(op: Operation) -> None:
    """Replaces a `math` operation inside a `ptx.entry` by instructions. Raises NoFormError if there are none."""
    type_ = op.results[0].type
    if type(type_) is Float32Type and type(op) in _AT_ONCE:
        flags: dict[str, Attribute] = {"ftz": UNIT} if type(op) is math.Exp2Op and may_approximate(op) else {}
        become(op, _AT_ONCE[type(op)], flags)
        return
    if (count := COUNTS.get(type(op))) is not None:
        if type_ not in (i32, i64):
            raise NoFormError(op, f"expected '{op.name}' on i32 or i64, found {type_}")
        replace_uses(op.results[0], count(Emitter.before(op), op.operands[0]))
        erase(op)
        return
    if type(op) not in DIRECT and type(op) not in _FUNCTIONS:
        supported = {rule.name for rule in (*DIRECT, *_FUNCTIONS, *COUNTS)}
        raise NoFormError(op, f"no PTX form for '{op.name}'; convert-math-to-ptx lowers {', '.join(sorted(supported))}")
    if type_ not in (f16, bf16, f32, f64):
        raise NoFormError(op, f"expected '{op.name}' on f16, bf16, f32 or f64, found {type_}")
    compute = (_WideCompute if type_ == f64 else _Compute)(Emitter.before(op), op)
    replacement = compute.run()
    replace_uses(op.results[0], replacement)
    erase(op)


class _Compute:
    """The instructions for one operation, in f32."""

    TYPE = f32

    def __init__(self, emit: Emitter, op: Operation):
        self.emit = emit
        self.op = op
        self.approximate = may_approximate(op)

    def run(self) -> SSAValue:
        op, type_ = self.op, self.op.results[0].type
        if type(op) in ON_BF16 and type_ == bf16 and not has(op, "bf16.fma"):
            return ON_BF16[type(op)](op, self.emit)
        if (direct := DIRECT.get(type(op))) is not None and type_ in direct.types:
            return self.emit.value(direct.make(op.operands))
        if self.approximate and (half := HALF.get((type(op), type_))) is not None and has(op, half.feature):
            return self.emit.value(half.make(op.operands[0]))
        if type_ == f64 and type(op) not in _WIDE_FUNCTIONS:
            exact = (rule.name for rule, direct in DIRECT.items() if f64 in direct.types)
            wide = ", ".join(sorted((*exact, *(rule.name for rule in _WIDE_FUNCTIONS))))
            raise NoFormError(op, f"no PTX form for '{op.name}' on f64; expected {wide}, or f32 and less")
        operands = [v if type_ in (f32, f64) else widened(op, self.emit, v) for v in op.operands]
        if (compute := (_WIDE_FUNCTIONS if type_ == f64 else _FUNCTIONS).get(type(op))) is not None:
            result = compute(self, *operands)
        else:
            result = self.emit.value(DIRECT[type(op)].make(operands))
        return result if type_ in (f32, f64) else rounded(op, self.emit, result, type_)

    def constant(self, value: float) -> SSAValue:
        return self.emit(ConstantOp(FloatAttr(value, self.TYPE))).result

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
        return self.below(x, _TANH_LIMIT, self.odd(x, _TANH), large)

    def sin(self, x: SSAValue) -> SSAValue:
        return self.function(Function.SIN, x if self.approximate else self._reduced(x))

    def cos(self, x: SSAValue) -> SSAValue:
        return self.function(Function.COS, x if self.approximate else self._reduced(x))

    def _turns(self, x: SSAValue, by: float) -> SSAValue:
        """x * by as an integer, 0 where x is -0: what is left of that, less 0 times a positive number, is -0."""
        return self.add(self.function(Function.RINT, self.mul(x, by)), 0.0)

    def _reduced(self, x: SSAValue) -> SSAValue:
        """x less the nearest multiple of 2 pi, which is subtracted in three parts of 24 digits each."""
        periods = self._turns(x, 1 / TWO_PI)
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

    # Choices between values.

    def less(self, a: SSAValue, b: float | SSAValue) -> SSAValue:
        return self.emit(ptx.SetpOp(ptx.Comparison.LT, a, self._value(b))).result

    def equal(self, a: SSAValue, b: float | SSAValue) -> SSAValue:
        return self.emit(ptx.SetpOp(ptx.Comparison.EQ, a, self._value(b))).result

    def chosen(self, condition: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self.emit(ptx.SelpOp(condition, self._value(a), self._value(b))).result

    def negated(self, x: SSAValue) -> SSAValue:
        return self.emit(ptx.NegOp(x)).result

    def divided(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.mul(a, self.function(Function.RCP, b))

    def odd(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """x + x^3 p(x^2). Of a negative p(0) the product by x^2 is not -0, so that the sign of a zero stays."""
        square = self.mul(x, x)
        sum_ = self.polynomial(square, coefficients)
        product = self.fma(sum_, square, 0.0) if coefficients[0] < 0 else self.mul(sum_, square)
        return self.fma(product, x, x)

    # More functions.

    def log10(self, x: SSAValue) -> SSAValue:
        return self.mul(self.function(Function.LG2, x), LOG_2 / LOG_10)

    def log1p(self, x: SSAValue) -> SSAValue:
        """log(1 + x), near 0 as 2 atanh(x / (2 + x))."""
        near = self.mul(self.odd(self.divided(x, self.add(x, 2.0)), _ATANH), 2.0)
        return self.below(x, 0.5, near, self.log(self.add(x, 1.0)))

    def expm1(self, x: SSAValue) -> SSAValue:
        near = self.signed(self.fma(self.mul(x, x), self.polynomial(x, _EXPM1), x), x)
        return self.below(x, 0.5, near, self.add(self.exp(x), -1.0))

    def tan(self, x: SSAValue) -> SSAValue:
        """The tangent of x less the nearest multiple of pi / 2, or minus its inverse for odd multiples."""
        turns = self._turns(x, 4 / TWO_PI)
        for part in _three_parts(TWO_PI / 4, 6.123233995736766e-17):
            x = self.fma(turns, -part, x)
        near, half = self.odd(x, _TAN), self.mul(turns, 0.5)
        even = self.equal(self.function(Function.RINT, half), half)
        return self.chosen(even, near, self.negated(self.function(Function.RCP, near)))

    def _angle(self, up: SSAValue, right: SSAValue) -> SSAValue:
        """The angle of a point whose coordinates are not negative, `up` not more than `right`."""
        ratio = self.divided(up, right)
        steep = self.less(self.constant(math_tan(TWO_PI / 16)), ratio)
        turned = self.odd(self.divided(self.add(ratio, -1.0), self.add(ratio, 1.0)), _ATAN)
        return self.chosen(steep, self.add(turned, TWO_PI / 8), self.odd(ratio, _ATAN))

    def atan(self, x: SSAValue) -> SSAValue:
        magnitude = self.function(Function.ABS, x)
        steep = self.less(self.constant(1.0), magnitude)
        up, right = self.chosen(steep, 1.0, magnitude), self.chosen(steep, magnitude, 1.0)
        angle = self._angle(up, right)
        return self.signed(self.chosen(steep, self.fma(angle, -1.0, TWO_PI / 4), angle), x)

    def atan2(self, y: SSAValue, x: SSAValue) -> SSAValue:
        up, right = self.function(Function.ABS, y), self.function(Function.ABS, x)
        steep = self.less(right, up)
        less, more = self.chosen(steep, right, up), self.chosen(steep, up, right)
        # Equal ends have no quotient where both are infinite, and 0 has none by a number without an inverse.
        angle = self.chosen(self.equal(up, right), TWO_PI / 8, self._angle(less, more))
        angle = self.chosen(self.equal(less, self.mul(more, 0.0)), 0.0, angle)
        angle = self.chosen(steep, self.fma(angle, -1.0, TWO_PI / 4), angle)
        is_left = self.less(self.signed(self.constant(1.0), x), 0.0)
        return self.signed(self.chosen(is_left, self.fma(angle, -1.0, TWO_PI / 2), angle), y)

    def _half_arc(self, magnitude: SSAValue) -> SSAValue:
        """asin(sqrt((1 - x) / 2)), which is acos(x) / 2."""
        return self.odd(self.function(Function.SQRT, self.fma(magnitude, -0.5, 0.5)), _ASIN)

    def asin(self, x: SSAValue) -> SSAValue:
        magnitude = self.function(Function.ABS, x)
        far = self.fma(self._half_arc(magnitude), -2.0, TWO_PI / 4)
        return self.below(x, 0.5, self.odd(x, _ASIN), self.signed(far, x))

    def acos(self, x: SSAValue) -> SSAValue:
        arc = self.mul(self._half_arc(self.function(Function.ABS, x)), 2.0)
        far = self.chosen(self.less(x, 0.0), self.fma(arc, -1.0, TWO_PI / 2), arc)
        return self.below(x, 0.5, self.fma(self.odd(x, _ASIN), -1.0, TWO_PI / 4), far)

    def _halves(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """exp(|x|) / 2 and exp(-|x|) / 2, of which the first is infinite only where cosh is."""
        root = self.exp(self.mul(self.function(Function.ABS, x), 0.5))
        grown = self.mul(self.mul(root, 0.5), root)
        return grown, self.mul(self.function(Function.RCP, grown), 0.25)

    def sinh(self, x: SSAValue) -> SSAValue:
        grown, fallen = self._halves(x)
        return self.below(x, 1.0, self.odd(x, _SINH), self.signed(self.fma(fallen, -1.0, grown), x))

    def cosh(self, x: SSAValue) -> SSAValue:
        return self.emit(ptx.AddOp(*self._halves(x))).result

    def asinh(self, x: SSAValue) -> SSAValue:
        """log(|x| + sqrt(x^2 + 1)) with the sign of x, as log1p of what is more than 1."""
        magnitude = self.function(Function.ABS, x)
        square = self.mul(x, x)
        root = self.add(self.function(Function.SQRT, self.add(square, 1.0)), 1.0)
        near = self.log1p(self.emit(ptx.AddOp(magnitude, self.divided(square, root))).result)
        return self.signed(self.below(x, _HUGE, near, self.add(self.log(magnitude), LOG_2)), x)

    def acosh(self, x: SSAValue) -> SSAValue:
        more = self.add(x, -1.0)
        root = self.function(Function.SQRT, self.fma(more, more, self.mul(more, 2.0)))
        near = self.log1p(self.emit(ptx.AddOp(more, root)).result)
        found = self.below(x, _HUGE, near, self.add(self.log(x), LOG_2))
        return self.chosen(self.less(x, 1.0), float("nan"), found)

    def atanh(self, x: SSAValue) -> SSAValue:
        magnitude = self.function(Function.ABS, x)
        quotient = self.divided(self.mul(magnitude, 2.0), self.fma(magnitude, -1.0, 1.0))
        return self.below(x, 1 / 3, self.odd(x, _ATANH), self.signed(self.mul(self.log1p(quotient), 0.5), x))

    def cbrt(self, x: SSAValue) -> SSAValue:
        """2^(log2(|x|) / 3), and one step of Newton's method."""
        magnitude = self.function(Function.ABS, x)
        root = self.ex2(self.mul(self.function(Function.LG2, magnitude), 1 / 3))
        square = self.mul(root, root)
        off = self.fma(square, root, self.negated(magnitude))
        better = self.fma(self.divided(off, self.mul(square, 3.0)), -1.0, root)
        usual = self.less(self.constant(0.0), magnitude)
        finite = self.less(magnitude, float("inf"))
        return self.signed(self.chosen(usual, self.chosen(finite, better, magnitude), magnitude), x)

    def powf(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """2^(y log2(|x|)), negative for a negative x and an odd y; NaN for a negative x and a y that is no integer."""
        magnitude = self.function(Function.ABS, x)
        more = self.add(magnitude, -1.0)
        # The logarithm of what is near 1 has an error that is small beside it, not only beside 1.
        near = self.mul(self.log1p(more), LOG2_E)
        log = self.below(more, 0.5, near, self.function(Function.LG2, magnitude))
        # 1 to whatever power, infinity and NaN among them, is 1.
        power = self.ex2(self.chosen(self.equal(log, 0.0), 0.0, self.mul(y, log)))
        half, whole = self.mul(y, 0.5), self.function(Function.TRUNC, y)
        is_even = self.equal(self.function(Function.TRUNC, half), half)
        is_whole = self.equal(whole, y)
        other = self.chosen(is_whole, self.chosen(is_even, power, self.signed(power, x)), power)
        root = self.chosen(is_whole, other, self.chosen(self.less(magnitude, float("inf")), float("nan"), power))
        result = self.chosen(self.less(x, 0.0), root, other)
        return self.chosen(self.equal(y, 0.0), 1.0, result)

    def round(self, x: SSAValue) -> SSAValue:
        """The nearest integer, of two that are as near the one further from zero."""
        whole = self.function(Function.TRUNC, x)
        rest = self.emit(ptx.SubOp(x, whole)).result
        away = self.emit(ptx.AddOp(whole, self.signed(self.constant(1.0), x))).result
        return self.signed(self.function(Function.ABS, self.below(rest, 0.5, whole, away)), x)


class _WideCompute(_Compute):
    """The instructions for one operation in f64, which has no approximations: `fastmath` changes nothing."""

    TYPE = f64

    def integer(self, value: int) -> SSAValue:
        return self.emit(ConstantOp(IntegerAttr(value, i64))).result

    def power_of_two(self, exponent: SSAValue) -> SSAValue:
        """2^exponent, of an i64 from -1022 to 1023."""
        biased = self.emit(ptx.AddOp(exponent, self.integer(1023))).result
        return self.emit(ptx.MovOp(self.emit(ptx.ShlOp(biased, self.shift(52))).result, f64)).result

    def shift(self, count: int) -> SSAValue:
        return self.emit(ConstantOp(IntegerAttr(count, i32))).result

    def quotient(self, a: SSAValue | float, b: SSAValue) -> SSAValue:
        return self.emit(ptx.DivOp(self._value(a), b)).result

    def _split(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """exp(r) - 1 and k, an i64, for x = k log(2) + r with |r| <= log(2) / 2."""
        k = self.function(Function.RINT, self.mul(x, LOG2_E))
        for part in _LOG_2_PARTS:
            x = self.fma(k, -part, x)
        return self.fma(self.mul(x, x), self.polynomial(x, _WIDE_EXP), x), self.emit(ptx.CvtOp(k, i64)).result

    def _scaled(self, x: SSAValue, k: SSAValue) -> SSAValue:
        """x 2^k, infinite or subnormal where that is."""
        half = self.emit(ptx.ShrOp(k, self.shift(1))).result
        rest = self.emit(ptx.SubOp(k, half)).result
        return self.mul(self.mul(x, self.power_of_two(half)), self.power_of_two(rest))

    def _within(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """x between two bounds; NaN stays."""
        x = self.chosen(self.less(x, low), low, x)
        return self.chosen(self.less(self.constant(high), x), high, x)

    def exp(self, x: SSAValue) -> SSAValue:
        more, k = self._split(self._within(x, -746.0, 710.0))
        return self._scaled(self.add(more, 1.0), k)

    def exp2(self, x: SSAValue) -> SSAValue:
        x = self._within(x, -1076.0, 1025.0)
        whole = self.function(Function.RINT, x)
        rest = self.mul(self.emit(ptx.SubOp(x, whole)).result, LOG_2)
        more = self.fma(self.mul(rest, rest), self.polynomial(rest, _WIDE_EXP), rest)
        return self._scaled(self.add(more, 1.0), self.emit(ptx.CvtOp(whole, i64)).result)

    def expm1(self, x: SSAValue) -> SSAValue:
        more, k = self._split(self._within(x, -1.0, 1.0))
        scale = self.power_of_two(k)
        near = self.signed(self.fma(more, scale, self.add(scale, -1.0)), x)
        return self.below(x, 1.0, near, self.add(self.exp(x), -1.0))

    def tanh(self, x: SSAValue) -> SSAValue:
        """t / (t + 2) for t = exp(2 |x|) - 1, with the sign of x; 1 where 2^-53 is nothing beside it."""
        more = self.expm1(self.mul(self._within(self.function(Function.ABS, x), 0.0, 22.0), 2.0))
        return self.signed(self.quotient(more, self.add(more, 2.0)), x)

    def _mantissa(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """log(m), and e in f64, for x = m 2^e with m from sqrt(1 / 2) to sqrt(2), of a positive finite x."""
        subnormal = self.less(x, 2.0**-1022)
        bits = self.emit(ptx.MovOp(self.chosen(subnormal, self.mul(x, 2.0**54), x), i64)).result
        root = self.integer(int(np.float64(0.5**0.5).view(np.int64)))
        exponent = self.emit(ptx.ShrOp(self.emit(ptx.SubOp(bits, root)).result, self.shift(52))).result
        own = self.emit(ptx.SubOp(bits, self.emit(ptx.ShlOp(exponent, self.shift(52))).result)).result
        e = self.emit(ptx.CvtOp(exponent, f64)).result
        # log(1 + f) is 2 atanh(s) for s = f / (2 + f), and 2 s is f - s f.
        f = self.add(self.emit(ptx.MovOp(own, f64)).result, -1.0)
        s = self.quotient(f, self.add(f, 2.0))
        square, half = self.mul(s, s), self.mul(self.mul(f, f), 0.5)
        rest = self.mul(s, self.fma(square, self.polynomial(square, _WIDE_ATANH), half))
        log = self.emit(ptx.SubOp(f, self.emit(ptx.SubOp(half, rest)).result)).result
        return log, self.chosen(subnormal, self.add(e, -54.0), e)

    def _of_positive(self, x: SSAValue, result: SSAValue) -> SSAValue:
        """A logarithm of x: minus infinity of 0, NaN below, and x itself where that is infinite."""
        result = self.chosen(self.less(x, float("inf")), result, x)
        return self.chosen(
            self.less(self.constant(0.0), x), result, self.chosen(self.equal(x, 0.0), float("-inf"), float("nan"))
        )

    def log(self, x: SSAValue) -> SSAValue:
        log, e = self._mantissa(x)
        high, low = _LOG_2_PARTS
        return self._of_positive(x, self.fma(e, high, self.fma(e, low, log)))

    def log2(self, x: SSAValue) -> SSAValue:
        log, e = self._mantissa(x)
        return self._of_positive(x, self.fma(log, LOG2_E, e))

    def log10(self, x: SSAValue) -> SSAValue:
        return self.mul(self.log(x), 1 / LOG_10)

    def rsqrt(self, x: SSAValue) -> SSAValue:
        return self.quotient(1.0, self.function(Function.SQRT, x))

    def _on_circle(self, x: SSAValue, quarters: int) -> SSAValue:
        """sin(x + quarters pi / 2); NaN from 2^30 on, which `_QUARTER_TURN` does not reach."""
        turns, rest = self._turns(x, 4 / TWO_PI), x
        for part in _QUARTER_TURN:
            rest = self.fma(turns, -part, rest)
        square = self.mul(rest, rest)
        sine = self.odd(rest, _WIDE_SIN)
        cosine = self.fma(self.polynomial(square, _WIDE_COS), square, 1.0)
        number = self.emit(ptx.AddOp(self.emit(ptx.CvtOp(turns, i64)).result, self.integer(quarters))).result
        odd, negative = (
            self.emit(
                ptx.SetpOp(ptx.Comparison.NE, self.emit(ptx.AndOp(number, self.integer(bit))).result, self.integer(0))
            ).result
            for bit in (1, 2)
        )
        found = self.chosen(odd, cosine, sine)
        return self.below(x, 2.0**30, self.chosen(negative, self.negated(found), found), self.constant(float("nan")))

    def sin(self, x: SSAValue) -> SSAValue:
        return self._on_circle(x, 0)

    def cos(self, x: SSAValue) -> SSAValue:
        return self._on_circle(x, 1)


def _f32(value: float) -> float:
    return float(np.float32(value))


def _low_part(value: float) -> float:
    """Returns the part of a number that rounding to f32 takes off."""
    return value - _f32(value)


def _three_parts(value: float, rest: float) -> tuple[float, float, float]:
    """Three positive f32 whose sum is `value` + `rest`."""
    first = _f32_below(value)
    second = _f32_below(value - first)
    return first, second, _f32(value - first - second + rest)


def _f32_below(value: float) -> float:
    nearest = np.float32(value)
    return float(nearest if float(nearest) <= value else np.nextafter(nearest, np.float32(0)))


_FUNCTIONS: Mapping[type[Operation], Callable[..., SSAValue]] = {
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
    math.Log10Op: _Compute.log10,
    math.Log1pOp: _Compute.log1p,
    math.ExpM1Op: _Compute.expm1,
    math.TanOp: _Compute.tan,
    math.AtanOp: _Compute.atan,
    math.Atan2Op: _Compute.atan2,
    math.AsinOp: _Compute.asin,
    math.AcosOp: _Compute.acos,
    math.SinhOp: _Compute.sinh,
    math.CoshOp: _Compute.cosh,
    math.AsinhOp: _Compute.asinh,
    math.AcoshOp: _Compute.acosh,
    math.AtanhOp: _Compute.atanh,
    math.CbrtOp: _Compute.cbrt,
    math.PowFOp: _Compute.powf,
    math.RoundOp: _Compute.round,
}
"""Function -> how it is computed in f32."""


_WIDE_FUNCTIONS: Mapping[type[Operation], Callable[..., SSAValue]] = {
    math.Exp2Op: _WideCompute.exp2,
    math.ExpOp: _WideCompute.exp,
    math.ExpM1Op: _WideCompute.expm1,
    math.Log2Op: _WideCompute.log2,
    math.LogOp: _WideCompute.log,
    math.Log10Op: _WideCompute.log10,
    math.RsqrtOp: _WideCompute.rsqrt,
    math.TanhOp: _WideCompute.tanh,
    math.SinOp: _WideCompute.sin,
    math.CosOp: _WideCompute.cos,
}
"""Function -> how it is computed in f64."""
