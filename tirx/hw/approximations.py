"""Error bounds of the functions of `math`, as `convert-math-to-ptx` computes them, and of the instructions behind them.

Sources: PTX ISA, sections "Floating Point Instructions" and "Half Precision Floating Point Instructions", under the
name of each instruction. Sequences of several instructions have the bound that follows from those of their parts.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirx.values import dataclass


@dataclass(frozen=True)
class Bound:
    """The largest error of a function on one type.

    relative, absolute: exponents of two of the largest relative or absolute error; None where there is no such bound.
    Where both are given, the error is within one of the two. It is for all finite operands if nothing else is said.
    """

    relative: float | None = None
    absolute: float | None = None


EXACT = -24.0
"""The relative error of a correctly rounded f32: half a unit in the last of 24 digits."""

INSTRUCTIONS: Mapping[tuple[str, str], Bound] = {
    ("ex2", "f32"): Bound(-22.0),  # ex2.approx.f32
    ("ex2", "f16"): Bound(-9.9),  # ex2.approx.f16
    ("ex2", "bf16"): Bound(-7.0),  # ex2.approx.ftz.bf16
    ("lg2", "f32"): Bound(-22.0, absolute=-22.0),  # lg2.approx.f32, for positive x
    ("rcp", "f32"): Bound(-23.0),  # rcp.approx.f32
    ("sqrt", "f32"): Bound(-23.0),  # sqrt.approx.f32
    ("rsqrt", "f32"): Bound(-22.9),  # rsqrt.approx.f32
    ("sin", "f32"): Bound(absolute=-20.5),  # sin.approx.f32, for |x| <= 2 pi
    ("cos", "f32"): Bound(absolute=-20.5),  # cos.approx.f32, for |x| <= 2 pi
    ("tanh", "f32"): Bound(-11.0),  # tanh.approx.f32
    ("tanh", "f16"): Bound(absolute=-10.987),  # tanh.approx.f16
    ("tanh", "bf16"): Bound(absolute=-8.0),  # tanh.approx.bf16
}
"""Instruction (without `.approx`) and type -> its error."""

FUNCTIONS: Mapping[str, Bound] = {
    "exp2": INSTRUCTIONS["ex2", "f32"],
    "exp": Bound(-21.5),  # ex2.approx.f32 of x log2(e), corrected for what that product rounds off, for |x| <= 88
    "log2": INSTRUCTIONS["lg2", "f32"],
    "log": Bound(-21.5, absolute=-22.0),  # lg2.approx.f32 times log(2), for positive x
    "sqrt": Bound(EXACT),  # sqrt.rn.f32
    "rsqrt": INSTRUCTIONS["rsqrt", "f32"],
    "tanh": Bound(-20.5),  # 1 - 2 / (exp(2 |x|) + 1) with the sign of x, from 0.55 on; a polynomial below
    "sin": Bound(absolute=-19.5),  # sin.approx.f32 of x reduced to one period by three fma, for |x| <= 2^16
    "cos": Bound(absolute=-19.5),  # cos.approx.f32 of x reduced to one period by three fma, for |x| <= 2^16
    "erf": Bound(absolute=-20.0),  # a rational polynomial times exp(-x^2) (Abramowitz and Stegun, 7.1.26)
    "log10": Bound(-21.5, absolute=-22.0),  # lg2.approx.f32 times log10(2), for positive x
    "log1p": Bound(-20.0),  # 2 atanh(x / (2 + x)) by a polynomial for |x| < 1 / 2, log(1 + x) elsewhere
    "expm1": Bound(-19.5),  # a polynomial for |x| < 1 / 2, exp(x) - 1 elsewhere, for |x| <= 88
    "tan": Bound(-20.5, absolute=-24.0),  # a polynomial of x less a multiple of pi / 2, or its inverse, for |x| <= 2^16
    "atan": Bound(-20.5),  # a polynomial of x, 1 / x or what is left of them behind pi / 8
    "atan2": Bound(-20.5),  # as atan, of the quotient of the smaller by the larger one
    "asin": Bound(-20.5),  # a polynomial of x or of sqrt((1 - |x|) / 2), for |x| <= 1
    "acos": Bound(-20.5),  # a polynomial of x or of sqrt((1 - |x|) / 2), for |x| <= 1
    "sinh": Bound(-20.0),  # a polynomial for |x| < 1, exp(|x| / 2) squared and its inverse elsewhere
    "cosh": Bound(-20.0),  # exp(|x| / 2) squared and its inverse
    "asinh": Bound(-19.5),  # log1p(|x| + x^2 / (1 + sqrt(x^2 + 1)))
    "acosh": Bound(-19.5),  # log1p of x - 1 + sqrt(x^2 - 1), for x >= 1
    "atanh": Bound(-19.5),  # a polynomial for |x| < 1 / 3, log1p(2 |x| / (1 - |x|)) / 2 elsewhere, for |x| < 1
    "cbrt": Bound(-22.0),  # 2^(log2(|x|) / 3) and one step of Newton's method
    "powf": Bound(-14.5),  # 2^(y log2(|x|)), of a logarithm with a relative error of 2^-21
    "fma": Bound(EXACT),  # fma.rn.f32
    "absf": Bound(EXACT),  # abs.f32
}
"""Function of `math` -> its error in f32. In f16 and bf16 it is computed in f32 and rounded once more.

With `fastmath<afn>` the instruction of `INSTRUCTIONS` is used alone (`exp` is ex2 of x log2(e), with a relative error
of 2^-22 + |x| 2^-23), and f16 and bf16 have their own `ex2` and `tanh`, two elements at once in a `tirx.map`.
"""

WIDE_FUNCTIONS: Mapping[str, Bound] = {
    "exp2": Bound(-51.0),  # 2^k times a Taylor series of the rest, for results that are normal numbers
    "exp": Bound(-51.0),
    "expm1": Bound(-50.0),  # the series for |x| < 1, exp(x) - 1 elsewhere
    "log2": Bound(-50.0),  # a series of 2 atanh((m - 1) / (m + 1)) of the mantissa m
    "log": Bound(-51.0),
    "log10": Bound(-50.0),
    "rsqrt": Bound(-52.0),  # 1 / sqrt(x), each rounded
    "tanh": Bound(-50.0),  # t / (t + 2) of t = expm1(2 |x|)
    "sin": Bound(-51.0),  # a Taylor series of x less a multiple of pi / 2, for |x| < 2^30; NaN from there on
    "cos": Bound(-51.0),
}
"""Function of `math` -> its error in f64, of sequences of instructions that are rounded to nearest each."""
