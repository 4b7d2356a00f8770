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
    Where both are given, the error is within one of the two. `within` says for which operands, None for all that are
    finite; `instructions` what computes it.
    """

    instructions: str
    relative: float | None = None
    absolute: float | None = None
    within: str | None = None


EXACT = -24.0
"""The relative error of a correctly rounded f32: half a unit in the last of 24 digits."""

INSTRUCTIONS: Mapping[tuple[str, str], Bound] = {
    ("ex2", "f32"): Bound("ex2.approx.f32", relative=-22.0),
    ("ex2", "f16"): Bound("ex2.approx.f16", relative=-9.9),
    ("ex2", "bf16"): Bound("ex2.approx.ftz.bf16", relative=-7.0),
    ("lg2", "f32"): Bound("lg2.approx.f32", relative=-22.0, absolute=-22.0, within="positive"),
    ("rcp", "f32"): Bound("rcp.approx.f32", relative=-23.0),
    ("sqrt", "f32"): Bound("sqrt.approx.f32", relative=-23.0),
    ("rsqrt", "f32"): Bound("rsqrt.approx.f32", relative=-22.9),
    ("sin", "f32"): Bound("sin.approx.f32", absolute=-20.5, within="|x| <= 2 pi"),
    ("cos", "f32"): Bound("cos.approx.f32", absolute=-20.5, within="|x| <= 2 pi"),
    ("tanh", "f32"): Bound("tanh.approx.f32", relative=-11.0),
    ("tanh", "f16"): Bound("tanh.approx.f16", absolute=-10.987),
    ("tanh", "bf16"): Bound("tanh.approx.bf16", absolute=-8.0),
}
"""Instruction (without `.approx`) and type -> its error."""

FUNCTIONS: Mapping[str, Bound] = {
    "exp2": INSTRUCTIONS["ex2", "f32"],
    "exp": Bound(
        "ex2.approx.f32 of x log2(e) and a first-order correction for what its product rounds off",
        -21.5,
        None,
        "|x| <= 88",
    ),
    "log2": INSTRUCTIONS["lg2", "f32"],
    "log": Bound("lg2.approx.f32 times log(2)", relative=-21.5, absolute=-22.0, within="positive"),
    "sqrt": Bound("sqrt.rn.f32", relative=EXACT),
    "rsqrt": INSTRUCTIONS["rsqrt", "f32"],
    "tanh": Bound("1 - 2 / (exp(2 |x|) + 1) with the sign of x, from 0.55 on; a polynomial below", relative=-20.5),
    "sin": Bound("sin.approx.f32 of x reduced to one period by three fma", absolute=-19.5, within="|x| <= 2^16"),
    "cos": Bound("cos.approx.f32 of x reduced to one period by three fma", absolute=-19.5, within="|x| <= 2^16"),
    "erf": Bound("a rational polynomial times exp(-x^2) (Abramowitz and Stegun, 7.1.26)", absolute=-20.0),
    "log10": Bound("lg2.approx.f32 times log10(2)", relative=-21.5, absolute=-22.0, within="positive"),
    "log1p": Bound("2 atanh(x / (2 + x)) by a polynomial for |x| < 1 / 2, log(1 + x) elsewhere", relative=-20.0),
    "expm1": Bound("a polynomial for |x| < 1 / 2, exp(x) - 1 elsewhere", -19.5, None, "|x| <= 88"),
    "tan": Bound("a polynomial of x less a multiple of pi / 2, or its inverse", -20.5, -24.0, "|x| <= 2^16"),
    "atan": Bound("a polynomial of x, 1 / x or what is left of them behind pi / 8", relative=-20.5),
    "atan2": Bound("as atan, of the quotient of the smaller by the larger one", relative=-20.5),
    "asin": Bound("a polynomial of x or of sqrt((1 - |x|) / 2)", -20.5, None, "|x| <= 1"),
    "acos": Bound("a polynomial of x or of sqrt((1 - |x|) / 2)", -20.5, None, "|x| <= 1"),
    "sinh": Bound("a polynomial for |x| < 1, exp(|x| / 2) squared and its inverse elsewhere", relative=-20.0),
    "cosh": Bound("exp(|x| / 2) squared and its inverse", relative=-20.0),
    "asinh": Bound("log1p(|x| + x^2 / (1 + sqrt(x^2 + 1)))", relative=-19.5),
    "acosh": Bound("log1p of x - 1 + sqrt(x^2 - 1)", -19.5, None, "x >= 1"),
    "atanh": Bound("a polynomial for |x| < 1 / 3, log1p(2 |x| / (1 - |x|)) / 2 elsewhere", -19.5, None, "|x| < 1"),
    "cbrt": Bound("2^(log2(|x|) / 3) and one step of Newton's method", relative=-22.0),
    "powf": Bound("2^(y log2(|x|)), of a logarithm with a relative error of 2^-21", relative=-14.5),
    "fma": Bound("fma.rn.f32", relative=EXACT),
    "absf": Bound("abs.f32", relative=EXACT),
}
"""Function of `math` -> its error in f32. In f16 and bf16 it is computed in f32 and rounded once more.

With `fastmath<afn>` the instruction of `INSTRUCTIONS` is used alone (`exp` is ex2 of x log2(e), with a relative error
of 2^-22 + |x| 2^-23), and f16 and bf16 have their own `ex2` and `tanh`, two elements at once in a `tirx.map`.
"""

__all__ = ["EXACT", "FUNCTIONS", "INSTRUCTIONS", "Bound"]
