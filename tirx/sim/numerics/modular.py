"""
Numbers modulo a prime: floats for arithmetic without rounding, in which every order of a sum has the same result.

A finite float is a whole number times a power of two, and stands for its residue modulo `PRIME`. Residues are kept as
the smallest whole numbers that have them, which all formats of 16 bits and more hold: conversions between these change
nothing, and constants such as 0.125 are what they are elsewhere, the inverse of 8. Sums, products and quotients are
those of the field of residues; other functions are permutations of it. Infinities stay what they are where numbers are
compared, and are residues of their own elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from tirx.sim.core.types import Array, Binary, Mask, Unary
from tirx.sim.numerics.products import product

PRIME = 509
"""The largest prime whose residues, of both signs, have at most 8 bits: those of bf16."""

_HALF = PRIME // 2
_POWERS = np.array([pow(2, n, PRIME) for n in range(PRIME - 1)])
_INVERSES = np.array([pow(n, PRIME - 2, PRIME) for n in range(PRIME)], np.float64)
_INFINITY, _NAN = 200.0, 100.0


def reduced(values: Array) -> Array:
    """Whole numbers (f64) to the smallest ones, of both signs, with their residues."""
    return np.remainder(values + _HALF, PRIME) - _HALF


def residues(values: Array) -> Array:
    """Returns the residues of floats, as whole numbers of both signs (f64)."""
    wide = np.asarray(values).astype(np.float64)
    if (np.abs(wide) < 2.0**52).all() and np.array_equal(wide, np.rint(wide)):
        return reduced(wide)
    finite = np.isfinite(wide)
    fraction, exponent = np.frexp(np.where(finite, wide, 0.0))
    whole = np.remainder(np.ldexp(fraction, 53), PRIME)
    found = reduced(whole * _POWERS[(exponent - 53) % (PRIME - 1)])
    special = np.where(np.isnan(wide), _NAN, np.copysign(_INFINITY, wide))
    return np.where(finite, found, special)


def ordered(values: Array) -> Array:
    """Returns numbers (f64) that are compared in place of floats: their residues, infinities and NaN."""
    wide = np.asarray(values).astype(np.float64)
    return np.where(np.isfinite(wide), residues(wide), wide)


def _permuted(name: str) -> Unary:
    key = sum(name.encode())
    return lambda x: reduced(np.remainder(residues(x) + key, PRIME) ** 3 + key)


def _inverse(x: Array) -> Array:
    return _INVERSES[residues(x).astype(np.int64) % PRIME]


_UNARY: dict[str, Unary] = {
    "neg": lambda a: -ordered(a),
    "abs": lambda a: np.abs(ordered(a)),
    "rcp": lambda a: reduced(_inverse(a)),
    **{name: _permuted(name) for name in ("sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")},
}
_BINARY: dict[str, Binary] = {
    "add": lambda a, b: reduced(residues(a) + residues(b)),
    "sub": lambda a, b: reduced(residues(a) - residues(b)),
    "mul": lambda a, b: reduced(residues(a) * residues(b)),
    "div": lambda a, b: reduced(residues(a) * _inverse(b)),
    "min": lambda a, b: np.fmin(ordered(a), ordered(b)),
    "max": lambda a, b: np.fmax(ordered(a), ordered(b)),
}


def _fma(a: Array, b: Array, c: Array) -> Array:
    return reduced(residues(a) * residues(b) + residues(c))


FUNCTIONS: dict[str, Callable[..., Array]] = {**_UNARY, **_BINARY, "fma": _fma}
"""Functions of floats to f64, by the names of PTX instructions. The inverse of 0 is 0."""


def multiply(a: Array, b: Array, c: Array, kept: Mask | None = None) -> Array:
    """A (..., M, K) times the transpose of B (..., N, K), plus C, as residues (f64). `kept`: places of A that count."""
    left = residues(a)
    return reduced(product(left if kept is None else np.where(kept, left, 0.0), residues(b)) + residues(c))


@lru_cache(maxsize=16)
def _codes(dtype: np.dtype[Any]) -> Array:
    """Returns the code of an 8-bit or narrower format for each residue: that of a number that has it, or another."""
    finfo: Any = ml_dtypes.finfo
    bits = int(finfo(dtype).bits)
    codes = np.arange(1 << bits, dtype=np.uint8)
    numbers = codes.view(dtype).astype(np.float64)
    codes = codes[np.isfinite(numbers)]
    found = codes[np.arange(PRIME) * 7 % len(codes)]
    own = residues(codes.view(dtype).astype(np.float64)).astype(np.int64) % PRIME
    found[own[::-1]] = codes[::-1]
    return found


def converted(values: Array, dtype: np.dtype[Any]) -> Array:
    """Returns floats in another format: the same residue in one of 16 bits and more, one of its own in others."""
    if dtype.itemsize > 1:
        return ordered(values).astype(dtype)
    return _codes(dtype)[residues(values).astype(np.int64) % PRIME].view(dtype)
