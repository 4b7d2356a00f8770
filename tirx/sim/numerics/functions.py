"""
Powers, logarithms and trigonometric functions, rounded once.

numpy's own differ in their last bits between CPUs and between C libraries, but by less than `_MARGIN`. Where that
decides how a result is rounded, it is computed with as many digits as it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from tirx.sim.core.types import Array, Unary
from tirx.sim.numerics.rounding import round_to

Name: TypeAlias = Literal["exp2", "log2", "sin", "cos", "tanh"]

_MARGIN = 2.0**-46
"""A bound of the relative error of numpy's functions of f64, whose documentation says 4 units of the last place."""

# The largest operand has 39 digits before the point, and the smallest result is 2^-150, of 105 digits.
_DIGITS = Context(prec=160)


def rounded_function(name: Name, dtype: np.dtype[Any]) -> Unary:
    """Returns the function of numbers of `dtype` (at most 32 bits), whose results are rounded to nearest even once."""
    function: Callable[[Array], Array] = getattr(np, name)
    code = np.dtype(f"u{dtype.itemsize}")

    def rounded(values: Array) -> Array:
        wide = values.astype(np.float64)
        near = function(wide)
        low, high = round_to(near * (1 - _MARGIN), dtype), round_to(near * (1 + _MARGIN), dtype)
        unsure = low.view(code) != high.view(code)
        if unsure.any():
            exact = np.array([_odd(_exact(name, Decimal(each))) for each in wide[unsure].tolist()])
            low[unsure] = round_to(exact, dtype)
        return low

    return rounded


def _odd(value: Decimal) -> float:
    """Rounds to f64; inexact results get an odd last bit, so that rounding them once more is rounding once."""
    near = float(value)
    found = np.float64(near)
    if Decimal(near) == value or found.view(np.uint64) & np.uint64(1):
        return near
    return float(np.nextafter(found, np.inf if value > Decimal(near) else -np.inf))


def _exact(name: Name, value: Decimal) -> Decimal:
    """The result, wrong by less than 10^-100 of it; exact where it is a power of two."""
    with localcontext(_DIGITS):
        if name == "exp2":
            whole = value.to_integral_value(ROUND_FLOOR)
            return Decimal(2) ** whole * ((value - whole) * Decimal(2).ln()).exp()
        if name == "log2":
            return value.ln() / Decimal(2).ln()
        if name == "tanh":
            power = (2 * value).exp()
            return (power - 1) / (power + 1)
        quarter = _pi() / 2
        turns = (value / quarter).to_integral_value()
        rest, quadrant = value - turns * quarter, int(turns) + (name == "cos")
        series = _series(rest, quadrant & 1)
        return -series if quadrant & 2 else series


def _series(x: Decimal, first: int) -> Decimal:
    """sin(x) (`first` is 0) or cos(x) (1) of a small number, by their power series."""
    term = Decimal(1) if first else x
    total, index = term, 1 - first
    while abs(term) > abs(total) * Decimal(10) ** -120:
        term *= -x * x / ((index + 1) * (index + 2))
        total, index = total + term, index + 2
    return total


@lru_cache(maxsize=1)
def _pi() -> Decimal:
    """Pi by Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""

    def inverse_tangent(of: int) -> Decimal:
        power, total, index = Decimal(1) / of, Decimal(0), 1
        while power > Decimal(10) ** -_DIGITS.prec:
            total += power / index if index & 2 == 0 else -power / index
            power, index = power / (of * of), index + 2
        return total

    return 16 * inverse_tangent(5) - 4 * inverse_tangent(239)
