"""
Sums of products as tensor cores compute them, bit for bit.

A tensor core does not round every product: it shifts all of them and C to the largest exponent, cuts off what lies
below a number of bits, adds the rest exactly and rounds once. `RULES` is the table of how many bits, in which order and
with which rounding; the functions below take its rows.

Sources. [B200]: bit model and recorded words of sf-tensor/tcgen05 (tcgen05_model/MODEL.md), B200. [MMA-Sim]: arXiv
2511.10909 and the package mmasim 2.1.1 (nv_ptx/sim.py). [H200]: own recordings, 262,144 results for each type of
elements and result; a share of them is in test/unit/sim/data. [SASS]: what ptxas 13.3 compiles the instruction to.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.numerics import modular
from tirx.sim.numerics.products import product
from tirx.sim.numerics.rounding import exact_sum, odd_sum, round_to

Family: TypeAlias = Literal["tcgen05", "wgmma", "mma.sync"]
# The order of the sum: all of K at once, or in pieces of some bytes of K, each added to the sum before. `halves` is how
# ptxas compiles fp8 where mma.sync has only f16: it unpacks low halves of registers, then the high ones. One sum takes
# the stored elements 0 and 1 of every four of A, the next adds the others, and C is added last. Each of the three has
# the type of the result.
Order: TypeAlias = Literal["whole", "pieces", "halves", "modular"]

_WIDE = ("f16", "bf16", "tf32")
_FP8 = ("e4m3", "e5m2")
_NARROW = (*_FP8, "e3m2", "e2m3", "e2m1", "e2m1x2")


@dataclass(frozen=True, slots=True)
class Rule:
    """
    The arithmetic of a sum of products of some element types.

    Products and C are cut off, toward zero, at multiples of 2^(e - bits), e being their largest raw exponent; zeros
    count as 2^zero, for which there is one number for f32 results and one for f16. An f32 result keeps `fraction` bits
    behind the leading one, cut off toward zero; an f16 result is rounded to nearest even.
    """

    family: Family
    capabilities: range  # compute capabilities (10 * major + minor)
    elements: tuple[str, ...]
    bits: int
    order: Order
    piece: int  # bytes of K that are one sum, with the order "pieces"
    fraction: int
    zero: tuple[int, int]
    source: str


_ANY = range(1000)
RULES: tuple[Rule, ...] = (
    # Not Rubin: its sums along a larger K are nobody's measurement, and are computed exactly.
    *(
        Rule("tcgen05", others, (*_WIDE, *_NARROW), 25, "whole", 0, 23, (-133, -21), "[B200], [MMA-Sim]")
        for others in (range(107), range(108, 120))
    ),
    Rule("wgmma", _ANY, _WIDE, 25, "whole", 0, 23, (-133, -21), "[H200], [MMA-Sim]"),
    Rule("wgmma", _ANY, _FP8, 13, "whole", 0, 13, (-133, -21), "[H200], [MMA-Sim]"),
    Rule("mma.sync", range(80), _WIDE, 24, "pieces", 16, 23, (-132, -20), "[MMA-Sim], sm_75"),
    Rule("mma.sync", range(80, 90), _WIDE, 24, "pieces", 16, 23, (-132, -20), "[MMA-Sim]"),
    Rule("mma.sync", range(80, 90), _FP8, 13, "pieces", 16, 13, (-132, -20), "[MMA-Sim], sm_89"),
    Rule("mma.sync", range(90, 100), _WIDE, 25, "whole", 0, 23, (-133, -21), "[H200], [MMA-Sim]"),
    Rule("mma.sync", range(90, 120), _FP8, 25, "halves", 0, 23, (-133, -21), "[H200]; [SASS] for sm_100a and sparse A"),
    Rule("mma.sync", range(100, 120), _WIDE, 25, "whole", 0, 23, (-133, -21), "[MMA-Sim]"),
    Rule("mma.sync", range(120, 122), (*_WIDE, *_NARROW), 25, "whole", 0, 23, (-133, -21), "[MMA-Sim], sm_120"),
)
MODULAR = Rule("mma.sync", _ANY, (), 0, "modular", 0, 0, (0, 0), "a definition: tirx.sim.numerics.modular")
# mxf4 and mxf4nvf4: products of 16 stored elements along K are added exactly and multiplied with their scale factors;
# the exponents are those of the factors ([B200], [MMA-Sim]).
GROUP = 16
_GROUP_BITS, _GROUP_ZERO = 35, -139

# The smallest exponent of a normal number, and the bits of a significand.
_LOWEST = {
    "f32": -126, "tf32": -126, "bf16": -126, "f16": -14, "e5m2": -14, "e4m3": -6, "e3m2": -2, "e2m3": 0, "e2m1": 0,
    "e2m1x2": 0, "ue8m0": -127, "ue4m3": -6,
}  # fmt: skip
_F32, _F16 = np.dtype(np.float32), np.dtype(np.float16)
_NO_EXPONENT = np.int16(-10_000)  # of a zero
# Exponents of elements within which products and their scaled values are exact in f32.
_SAFE = 20
_LARGEST_SHIFT = 25 + 2 * _SAFE
# Products of so many elements of K, each below 2^27, do not overflow 32 bits.
_TERMS = 15
_ROWS = 64  # worked on at once, so that intermediate results stay in a cache


@lru_cache(maxsize=256)
def find_rule(family: Family, target: str, element: str) -> Rule | None:
    """The row of `RULES` for elements of A on a target; None where products are exact integers or f64."""
    found = re.match(r"sm_(\d+)", target)
    capability = int(found[1]) if found else 90
    return next(
        (
            rule
            for rule in RULES
            if rule.family == family and capability in rule.capabilities and element in rule.elements
        ),
        None,
    )


def rule_of(arithmetic: str, family: Family, target: str, element: str) -> Rule | None:
    """The rule of a run with an arithmetic (`tirx.sim.run`) for elements of A; None where sums are exact."""
    if arithmetic == "modular":
        return None if element == "s1z4m11" or (element[0] in "sub" and element[1:].isdigit()) else MODULAR
    return find_rule(family, target, element) if arithmetic == "hardware" else None


@dataclass(frozen=True, slots=True)
class Operand:
    """Finite numbers and others (float64), and their raw exponents: subnormal numbers have the smallest one."""

    values: Array
    exponents: Array  # int16
    element: str

    def scaled(self, factors: Array, element: str) -> Operand:
        """Returns the numbers times factors, which are powers of two; their exponents are added."""
        other = raw_exponents(factors, element)
        return Operand(self.values * factors, self.exponents + other, self.element)

    def part(self, chosen: Array | slice) -> Operand:
        """Returns the numbers at some places along K."""
        return Operand(self.values[..., chosen], self.exponents[..., chosen], self.element)


def raw_exponents(values: Array, element: str) -> Array:
    """Exponents (int16) as the bits of a format say them; `_NO_EXPONENT` for zeros."""
    found = np.maximum(np.frexp(values)[1] - 1, _LOWEST[element]).astype(np.int16)
    found[values == 0] = _NO_EXPONENT
    return found


def operand(values: Array, element: str) -> Operand:
    """Numbers of type `element`."""
    values = values.astype(np.float64, copy=False)
    return Operand(values, raw_exponents(values, element), element)


def multiply(rule: Rule, a: Operand, b: Operand, c: Array, result: str, kept: Mask | None = None) -> Array:
    """
    A (..., M, K) times the transpose of B (..., N, K), plus C (..., M, N): float64 numbers of type `result`.

    `kept`: the places of a sparse A that its metadata selects, which alone take part.
    """
    if rule.order == "halves":
        return _multiply_halves(replace(rule, order="whole"), a, b, c, result, kept)
    special = _special(a.values, b.values, c, kept)
    if special is not None:
        a, b, c = _finite(a), _finite(b), np.where(np.isfinite(c), c, 0.0)
    depth: int = a.values.shape[-1]
    if rule.order == "pieces":
        step = rule.piece // _element_bytes(a.element) * (1 if kept is None else 2)
        total = c
        for start in range(0, depth, step):
            places = slice(start, start + step)
            total = _sum(rule, a.part(places), b.part(places), total, result)
    else:
        total = _sum(rule, a, b, c, result)
    return total if special is None else np.where(np.isfinite(special), total, special)


def _multiply_halves(rule: Rule, a: Operand, b: Operand, c: Array, result: str, kept: Mask | None) -> Array:
    """Multiplies in the order "halves"; `rule` is that of one sum, and C is added last."""
    period = 4 if kept is None else 8  # of a sparse A, half of the places along K is stored
    depth: int = a.values.shape[-1]
    places: Array = np.arange(depth) % period
    total = np.zeros(c.shape)
    for half in (places < period // 2, places >= period // 2):
        chosen = None if kept is None else kept[..., half]
        total = multiply(rule, a.part(half), b.part(half), total, result, chosen)
    return round_to(odd_sum(total, c), _F32 if result == "f32" else _F16).astype(np.float64)


def multiply_scaled(
    rule: Rule | None,
    operands: tuple[Array, Array],
    factors: tuple[Array, Array],
    c: Array,
    types: tuple[str, str, str, str],
    factor_type: str,
    kept: Mask | None,
) -> Array:
    """
    A (..., M, K) times the transpose of B (..., N, K), each times its scale factors, plus C, of types (D, A, B, C).

    `factors` are (..., M, blocks) and (..., N, blocks), each for an equal part of K. Without a rule the sum is exact.
    The grouped kinds are those of packed elements (`e2m1x2`).
    """
    a, b = (each.astype(np.float64) for each in operands)
    factors = factors[0].astype(np.float64), factors[1].astype(np.float64)
    c = c.astype(np.float64, copy=False)
    if rule is MODULAR:
        a, b = (
            modular.residues(each) * modular.residues(np.repeat(own, each.shape[-1] // own.shape[-1], axis=-1))
            for each, own in zip((a, b), factors, strict=True)
        )
        return modular.multiply(a, b, c, kept)
    if rule is not None and types[1] == "e2m1x2":
        return multiply_groups(a, b, factors, factor_type, c, kept)
    wide_a, wide_b = (np.repeat(each, a.shape[-1] // each.shape[-1], axis=-1) for each in factors)
    if rule is None:
        return ideal(a * wide_a, b * wide_b, c)
    scaled = operand(a, types[1]).scaled(wide_a, factor_type), operand(b, types[2]).scaled(wide_b, factor_type)
    return multiply(rule, *scaled, c, types[0], kept)


def multiply_groups(
    a: Array, b: Array, factors: tuple[Array, Array], factor_type: str, c: Array, kept: Mask | None = None
) -> Array:
    """
    mxf4 and mxf4nvf4: A (..., M, K) times the transpose of B (..., N, K), scaled, plus C: float64 numbers of type f32.

    `factors` are (..., M, blocks) and (..., N, blocks), each for an equal part of K.
    """
    size = GROUP * (1 if kept is None else 2)
    groups = a.shape[-1] // size
    sa, sb = (np.repeat(each, groups // each.shape[-1], axis=-1) for each in factors)
    special = _special(sa, sb, c, None)
    if special is not None:
        sa, sb, c = (np.where(np.isfinite(each), each, 0.0) for each in (sa, sb, c))
    ea, eb = raw_exponents(sa, factor_type), raw_exponents(sb, factor_type)
    largest = np.maximum(raw_exponents(c, "f32"), np.int16(_GROUP_ZERO))
    sums: list[Array] = []
    for group in range(groups):
        own = slice(group * size, (group + 1) * size)
        left, right = a[..., own], b[..., own]
        sums.append(product(left, right) * (sa[..., :, None, group] * sb[..., None, :, group]))
        # A group of zeros alone has no exponent; one whose products cancel has.
        used = product((left != 0).astype(np.float64), (right != 0).astype(np.float64)) != 0
        exponents = ea[..., :, None, group] + eb[..., None, :, group]
        np.maximum(largest, np.where(used, exponents, _NO_EXPONENT), out=largest)
    shift = (_GROUP_BITS - largest).astype(np.int32)
    total = np.trunc(np.ldexp(c, shift))
    for each in sums:
        total += np.trunc(np.ldexp(each, shift))
    total = _rounded(np.ldexp(total, -shift), "f32", 23)
    return total if special is None else np.where(np.isfinite(special), total, special)


def _element_bytes(element: str) -> int:
    return {"tf32": 4, "f16": 2, "bf16": 2}.get(element, 1)


def _special(a: Array, b: Array, c: Array, kept: Mask | None) -> Array | None:
    """Returns the infinite and NaN results; other elements are finite. None if all numbers are finite."""
    if np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all():
        return None
    if kept is None:
        return product(a, b) + c
    found = c.copy()
    for k in range(a.shape[-1]):
        terms = a[..., :, None, k] * b[..., None, :, k]
        found += np.where(kept[..., :, None, k], terms, 0.0)
    return found


def _finite(each: Operand) -> Operand:
    bad = ~np.isfinite(each.values)
    return Operand(np.where(bad, 0.0, each.values), np.where(bad, _NO_EXPONENT, each.exponents), each.element)


def _sum(rule: Rule, a: Operand, b: Operand, c: Array, result: str) -> Array:
    """One sum of finite numbers."""
    zero = rule.zero[result == "f16"]
    if _is_exact(rule, a, b, c, zero):
        return _rounded(product(a.values, b.values) + c, result, rule.fraction)
    exponents_of_c = raw_exponents(c, result)
    leading = np.broadcast_shapes(a.values.shape[:-2], b.values.shape[:-2])
    rows, columns = a.values.shape[-2], b.values.shape[-2]
    total = np.empty((*leading, rows, columns))
    single = max(_span(a), _span(b)) <= _SAFE
    term = _terms_f32 if single else _terms_f64
    for start in range(0, rows, _ROWS):
        own = np.s_[..., start : start + _ROWS, :]
        left = Operand(a.values[own], a.exponents[own], a.element)
        largest = np.maximum(exponents_of_c[own], np.int16(zero))
        pairs = np.empty(largest.shape, np.int16)
        for k in range(left.values.shape[-1]):
            np.add(left.exponents[..., :, None, k], b.exponents[..., None, :, k], out=pairs)
            np.maximum(largest, pairs, out=largest)
        shift = (rule.bits - largest).astype(np.int32)
        kept = term(left, b, shift) + np.trunc(np.ldexp(c[own], shift))
        total[own] = np.ldexp(kept, -shift)
    return _rounded(total, result, rule.fraction)


def _span(each: Operand) -> int:
    """Returns the largest absolute exponent of the numbers; 0 if all numbers are zero."""
    used = each.exponents[each.exponents != _NO_EXPONENT]
    return int(max(abs(int(used.max())), abs(int(used.min())))) if used.size else 0


def _terms_f64(a: Operand, b: Operand, shift: Array) -> Array:
    """The sum of the products in units of 2^-shift, each cut off."""
    scale = np.ldexp(1.0, shift)
    total, terms = np.zeros(shift.shape), np.empty(shift.shape)
    for k in range(a.values.shape[-1]):
        np.multiply(a.values[..., :, None, k], b.values[..., None, :, k], out=terms)
        np.multiply(terms, scale, out=terms)
        np.trunc(terms, out=terms)
        np.add(total, terms, out=total)
    return total


def _terms_f32(a: Operand, b: Operand, shift: Array) -> Array:
    """`_terms_f64` where products are exact in f32 and all numbers are of moderate size."""
    left, right = a.values.astype(np.float32), b.values.astype(np.float32)
    # Where the exponent is smaller than that of any product, all products are zero.
    scale = np.ldexp(np.float32(1.0), np.minimum(shift, _LARGEST_SHIFT))
    total, terms = np.zeros(shift.shape), np.empty(shift.shape, np.float32)
    part, whole = np.zeros(shift.shape, np.int32), np.empty(shift.shape, np.int32)
    for k in range(left.shape[-1]):
        np.multiply(left[..., :, None, k], right[..., None, :, k], out=terms)
        np.multiply(terms, scale, out=terms)
        np.copyto(whole, terms, casting="unsafe")
        np.add(part, whole, out=part)
        if k % _TERMS == _TERMS - 1:
            total += part
            part[...] = 0
    return total + part


def _is_exact(rule: Rule, a: Operand, b: Operand, c: Array, zero: int) -> bool:
    """Returns True if nothing can be cut off, so that a plain product gives the sum: all terms are multiples of it."""
    of_a, of_b = _granule(a.values), _granule(b.values)
    if of_a is None or of_b is None:
        return False
    _, exponent = np.frexp(np.abs(c).max())
    largest = max(int(a.exponents.max()) + int(b.exponents.max()), int(exponent) - 1, zero)
    scaled = c * 2.0 ** (rule.bits - largest)
    return of_a + of_b >= largest - rule.bits and np.array_equal(scaled, np.trunc(scaled))


# Numbers beyond are not looked at more closely by `_granule`.
_MOST = 2.0**40
_FINEST = 20


def _granule(values: Array) -> int | None:
    """
    Returns the largest g up to 40 such that all numbers are multiples of 2^g. None if one is no multiple of 2^-20.
    """
    scaled = values * 2.0**_FINEST
    if np.abs(scaled).max() > _MOST:
        return None
    whole = scaled.astype(np.int64)
    if not np.array_equal(whole, scaled):
        return None
    bits = int(np.bitwise_or.reduce(whole, axis=None))
    return 40 if bits == 0 else (bits & -bits).bit_length() - 1 - _FINEST


def _rounded(values: Array, result: str, fraction: int) -> Array:
    """Exact sums to the type of the result; -0 becomes +0."""
    if result == "f16":
        return round_to(values, _F16).astype(np.float64) + 0.0
    limit = 2.0**128
    found = round_to(values, _F32, "rz")
    if fraction < 23:
        found = (found.view(np.uint32) & np.uint32(0xFFFFFFFF << (23 - fraction) & 0xFFFFFFFF)).view(np.float32)
    total = found.astype(np.float64) + 0.0
    return np.where(np.abs(values) >= limit, np.copysign(np.inf, values), total)


# A (..., M, K), B (..., N, K) and C (..., M, N) to D, each float32 or float64.
Multiply: TypeAlias = Callable[[Array, Array, Array], Array]


def ideal(a: Array, b: Array, c: Array) -> Array:
    """
    The exact sum as float64, rounded to odd, so that rounding it once more is rounding once. It is never -0.

    Products of two numbers have to be exact in float64.
    """
    a, b, c = (each.astype(np.float64, copy=False) for each in (a, b, c))
    of_a, of_b, of_c = largest_integer(a), largest_integer(b), largest_integer(c, 2.0**52)
    if of_a is not None and of_b is not None and of_c is not None and of_a * of_b * a.shape[-1] + of_c < 2.0**53:
        return product(a, b) + c
    return exact_sum(c, (a[..., :, None, k] * b[..., None, :, k] for k in range(a.shape[-1]))) + 0.0


def multiplier(rule: Rule | None, types: tuple[str, str], result: str) -> Multiply:
    """Returns the function that multiplies elements of two types by a rule. Without a rule the sum is exact."""
    if rule is None:
        return ideal
    return lambda a, b, c: multiply_values(rule, a, b, c, types, result)


def multiply_values(
    rule: Rule, a: Array, b: Array, c: Array, types: tuple[str, str], result: str, kept: Mask | None = None
) -> Array:
    """Multiplies the numbers of two types: `multiply`, with a shorter way for small integers, whose sum is float32."""
    if rule is MODULAR:
        return modular.multiply(a, b, c, kept)
    found = _small_integers(rule, a, b, c) if result == "f32" else None
    if found is not None:
        return found
    wide = c.astype(np.float64, copy=False)
    return multiply(rule, operand(a, types[0]), operand(b, types[1]), wide, result, kept)


def _small_integers(rule: Rule, a: Array, b: Array, c: Array) -> Array | None:
    """
    Returns the sum if all numbers are integers so small that no order cuts off or rounds anything; otherwise None.
    """
    limit = 2.0 ** min(rule.bits - 1, rule.fraction + 1)
    of_a, of_b, of_c = largest_integer(a), largest_integer(b), largest_integer(c)
    if of_a is None or of_b is None or of_c is None or of_a * of_b * a.shape[-1] + of_c >= limit:
        return None
    # No sum along the way is too large for f32.
    total = product(a, b)
    np.add(total, c, out=total, casting="same_kind")
    return np.add(total, np.float32(0), out=total)


def largest_integer(values: Array, limit: float = 2.0**24) -> float | None:
    """Returns the largest absolute value if all numbers are integers below `limit`, otherwise None."""
    most = max(float(np.maximum.reduce(values, axis=None)), -float(np.minimum.reduce(values, axis=None)))
    if not most < limit:  # so that NaN is none of them
        return None
    return most if np.array_equal(values, np.rint(values)) else None
