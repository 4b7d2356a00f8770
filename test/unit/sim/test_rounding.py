"""Rounding, against fractions: the two neighbours of each number come from the definition of the formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tirx.sim.numerics import rounding
from tirx.sim.numerics.rounding import Rounding, bits_of, round_stochastic, round_to

Array = npt.NDArray[Any]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """As in a launch, where overflows are no warnings."""
    with np.errstate(all="ignore"):
        yield


@dataclass(frozen=True)
class _Format:
    """A format of IEEE 754: the bits of its exponents and fractions."""

    dtype: Any
    exponent: int
    fraction: int

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    def value(self, pattern: int) -> Fraction:
        """The magnitude of a pattern; that of infinity is the number that would follow the largest one."""
        exponent, fraction = divmod(pattern, 1 << self.fraction)
        lowest = 2 - (1 << (self.exponent - 1)) - self.fraction
        significand = fraction if exponent == 0 else fraction + (1 << self.fraction)
        return Fraction(2) ** (lowest + max(exponent - 1, 0)) * significand

    @cache  # noqa: B019
    def below(self, magnitude: Fraction) -> int:
        """The pattern of the largest number that is no larger."""
        low, high = 0, self.infinity
        if self.exponent == 11:  # where a float is next to the number already
            near = bits_of(np.array([_float(magnitude)])).tolist()[0]
            low, high = max(near - 1, 0), min(near + 1, high)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.value(middle) <= magnitude else (low, middle - 1)
        return low

    def rounded(self, value: Fraction, negative: bool, mode: Rounding) -> int:
        magnitude = abs(value)
        low = self.below(magnitude)
        if low == self.infinity:
            low -= 1
        elif self.value(low) == magnitude:
            return low | negative << (self.exponent + self.fraction)
        middle = (self.value(low) + self.value(low + 1)) / 2
        if mode == "rn":
            up = magnitude > middle or (magnitude == middle and low % 2 == 1)
        else:
            up = mode == ("rm" if negative else "rp")
        return low + up | negative << (self.exponent + self.fraction)

    def samples(self) -> list[float]:
        """Numbers of the format and between them: ties, and both sides of ties, and beyond the largest one."""
        rng = np.random.default_rng(self.fraction)
        one = 1 << self.fraction
        patterns = [0, 1, 2, one - 2, one - 1, one, one + 1, self.infinity - 2, self.infinity - 1, self.infinity]
        patterns += rng.integers(0, self.infinity, 20).tolist()
        found: list[float] = []
        for pattern in patterns:
            low, high = self.value(pattern), self.value(pattern + 1)
            middle = float((low + high) / 2)
            found += [float(low), middle, math.nextafter(middle, 0), math.nextafter(middle, math.inf)]
            found += [float(low + (high - low) / 4), math.nextafter(float(high), 0)]
        return [sign * each for each in found for sign in (1, -1)]


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


_F16, _F32, _F64 = _Format(np.float16, 5, 10), _Format(np.float32, 8, 23), _Format(np.float64, 11, 52)
_FORMATS = (_F16, _Format(ml_dtypes.bfloat16, 8, 7), _Format(ml_dtypes.float8_e5m2, 5, 2), _F32)
_MODES: tuple[Rounding, ...] = ("rn", "rz", "rm", "rp")


@pytest.mark.sample(8)
@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("form", _FORMATS, ids=lambda form: np.dtype(form.dtype).name)
def test_once(form: _Format, mode: Rounding) -> None:
    values = form.samples()
    found = bits_of(round_to(np.array(values), np.dtype(form.dtype), mode)).tolist()
    assert found == [form.rounded(Fraction(each), math.copysign(1, each) < 0, mode) for each in values]
    ends = round_to(np.array([np.inf, -np.inf, np.nan]), np.dtype(form.dtype), mode).astype(np.float64)
    assert ends[:2].tolist() == [np.inf, -np.inf] and np.isnan(ends[2])


def test_f64_stays() -> None:
    values = np.array([1 / 3, -0.0, 5e-324])
    assert round_to(values, np.dtype(np.float64), "rz") is values


def _odd(form: _Format, value: Fraction, negative: bool) -> int:
    low = min(form.below(abs(value)), form.infinity - 1)
    inexact = form.value(low) != abs(value)
    return low + (inexact and low % 2 == 0) | negative << (form.exponent + form.fraction)


def test_to_odd() -> None:
    values = _F32.samples()
    found = bits_of(rounding.to_odd_f32(np.array(values))).tolist()
    assert found == [_odd(_F32, Fraction(each), math.copysign(1, each) < 0) for each in values]
    assert rounding.to_odd_f32(np.array([np.inf, -np.inf])).tolist() == [np.inf, -np.inf]


def test_odd_sums() -> None:
    rng = np.random.default_rng(5)
    first = np.ldexp(rng.standard_normal(200), rng.integers(-3, 3, 200))
    second = np.ldexp(rng.standard_normal(200), rng.integers(-60, 3, 200))
    first[:4], second[:4] = [1, -1, 3, 2.0**1000], [2.0**-53, 2.0**-53, 2.0**-53, -(2.0**-1000)]
    found = bits_of(rounding.odd_sum(first, second)).tolist()
    sums = [Fraction(a) + Fraction(b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert found == [_odd(_F64, each, each < 0) for each in sums]
    assert rounding.odd_sum(np.array([np.inf, 1.0]), np.array([1.0, 2.0])).tolist() == [np.inf, 3.0]
    # Of three that are far apart, sums of pairs lose the last one.
    for whole in (1.0, 1 + 2.0**-52, -1 - 2.0**-52):
        for part in (2.0**-60, -(2.0**-60)):
            found = rounding.exact_sum(np.array([whole]), [np.array([part]), np.array([2.0**-140])])
            exact = Fraction(whole) + Fraction(part) + Fraction(2.0**-140)
            assert bits_of(found).tolist() == [_odd(_F64, exact, whole < 0)]


@pytest.mark.parametrize("form", _FORMATS[:3], ids=lambda form: np.dtype(form.dtype).name)
def test_at_random(form: _Format) -> None:
    """Up where the part of a place that is cut off and the random number reach 1."""
    one = 1 << form.fraction
    for pattern in (0, 1, one - 1, one, 5 * one // 2 + 1, form.infinity - 2, form.infinity - 1):
        low = form.value(pattern)
        place = form.value(pattern + 1) - low
        for eighths in range(8):
            value = float(low + place * eighths / 8)
            for sign in (1, -1):
                draws = np.array([0, 1, 2, 3, 4, 5, 6, 7]) / 8
                found = round_stochastic(np.full(8, sign * value), np.dtype(form.dtype), draws)
                expected = [pattern + (eighths + draw >= 8) for draw in range(8)]
                assert bits_of(found).tolist() == [
                    each | (sign < 0) << (form.exponent + form.fraction) for each in expected
                ]
    ends = round_stochastic(np.array([np.inf, -np.inf]), np.dtype(form.dtype), np.array([0.9, 0.9]))
    assert ends.astype(np.float64).tolist() == [np.inf, -np.inf]


# f64: edges, and numbers whose sums, products and quotients are inexact or cancel.
_EDGES = [
    0.0, -0.0, 1.0, -1.0, 1 / 3, -1.5, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -2.0**1023, np.inf, np.nan,
    1 + 2.0**-52, 2.0**-540,
]  # fmt: skip


def _expected(value: Fraction | None, zero: float, mode: Rounding) -> float:
    """A number rounded; the zero has the sign of an exact one."""
    if not value:
        return zero
    pattern = _F64.rounded(value, value < 0, mode)
    return np.array([pattern], np.uint64).view(np.float64)[0]


def _compare(found: Array, expected: list[float]) -> None:
    wanted = np.array(expected)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    real = ~np.isnan(wanted)
    assert bits_of(found)[real].tolist() == bits_of(wanted)[real].tolist()


def _cancelled(mode: Rounding) -> float:
    return -0.0 if mode == "rm" else 0.0


def _sum(a: float, b: float, mode: Rounding) -> float:
    if not math.isfinite(a) or not math.isfinite(b):
        return a + b
    both_negative = math.copysign(1, a) < 0 and math.copysign(1, b) < 0
    both_zero = a == b == 0
    same = both_zero and math.copysign(1, a) == math.copysign(1, b)
    return _expected(Fraction(a) + Fraction(b), (-0.0 if both_negative else 0.0) if same else _cancelled(mode), mode)


def _product(a: float, b: float, mode: Rounding) -> float:
    if not math.isfinite(a) or not math.isfinite(b):
        return a * b
    return _expected(Fraction(a) * Fraction(b), math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b)), mode)


def _quotient(a: float, b: float, mode: Rounding) -> float:
    sign = math.copysign(1, a) * math.copysign(1, b)
    if not math.isfinite(a) or not math.isfinite(b):
        return float(np.float64(a) / np.float64(b))
    if b == 0:
        return math.nan if a == 0 else sign * math.inf
    return _expected(Fraction(a) / Fraction(b), math.copysign(0.0, sign), mode)


_PAIRS: dict[str, tuple[Callable[..., Array], Callable[[float, float, Rounding], float]]] = {
    "sum": (rounding.sum_f64, _sum),
    "product": (rounding.product_f64, _product),
    "quotient": (rounding.quotient_f64, _quotient),
}


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("name", _PAIRS)
def test_pairs_of_f64(name: str, mode: Rounding) -> None:
    function, reference = _PAIRS[name]
    pairs = [(a, b) for a in _EDGES for b in _EDGES]
    found = function(*np.array(pairs).T.copy(), mode)
    _compare(found, [reference(a, b, mode) for a, b in pairs])


@pytest.mark.parametrize("mode", _MODES)
def test_roots_of_f64(mode: Rounding) -> None:
    values = [2.0, 3.0, 4.0, 1 / 3, 5e-324, 2.0**-1021, 1.7976931348623157e308, 0.0, np.inf, 1 + 2.0**-52, 2.25]
    expected: list[float] = []
    for each in values:
        root = Fraction(math.isqrt(int(Fraction(each) * 2**1200)), 2**600) if each and each < np.inf else None
        if root is not None and root * root != Fraction(each):
            root += Fraction(1, 2**601)  # it is cut off there, and no tie
        expected.append(_expected(root, each, mode))
    _compare(rounding.root_f64(np.array(values), mode), expected)
    assert np.isnan(rounding.root_f64(np.array([-1.0]), mode)[0])


def _fused(a: float, b: float, c: float, mode: Rounding) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return c if math.isfinite(a) and math.isfinite(b) else a * b + c
    sign = math.copysign(1, a) * math.copysign(1, b)
    no_product = a == 0 or b == 0
    zero = math.copysign(0.0, sign) if no_product and c == 0 and sign == math.copysign(1, c) else _cancelled(mode)
    return _expected(Fraction(a) * Fraction(b) + Fraction(c), zero, mode)


@pytest.mark.parametrize("mode", _MODES)
def test_fused_f64(mode: Rounding) -> None:
    few = [0.0, -1.0, 1 / 3, 5e-324, -(2.0**-1022), 1.7976931348623157e308, np.inf, 1 + 2.0**-52]
    triples = [(a, b, c) for a in few for b in few for c in (*few, -0.0, -1 / 9, 2.0**-540)]
    third = 1 / 3
    triples += [(third, third, -(third * third)), (1 + 2.0**-30, 1 - 2.0**-30, -1.0), (3.0, third, -1.0)]
    triples += [(2.0**-540, 2.0**-534, 0.0), (2.0**-538, -(2.0**-537), 5e-324), (-(2.0**-600), 2.0**-600, -0.0)]
    triples += [(2.0**-538, 2.0**-537, 5e-324), (2.0**-537, 2.0**-537, 0.0), (1.5 * 2.0**-538, 2.0**-537, 0.0)]
    triples += [(1.25 * 2.0**-537, sign * 2.0**-537, -sign * 5e-324) for sign in (1, -1)]
    a, b, c = np.array(triples).T.copy()
    _compare(rounding.fused_f64(a, b, c, mode), [_fused(*each, mode) for each in triples])


def test_small_things() -> None:
    """Flushed, saturated, rectified; NaN, which arithmetic gives in one form only."""
    least = {np.float16: 2.0**-14, np.float32: 2.0**-126, np.float64: 2.0**-1022, ml_dtypes.bfloat16: 2.0**-126}
    for dtype, smallest in least.items():
        values = np.array([smallest, -smallest, smallest / 2, -smallest / 2, 0.0, -0.0, 1.0, -2.0]).astype(dtype)
        flushed = rounding.flush(values).astype(np.float64)
        assert flushed.tolist() == [smallest, -smallest, 0, 0, 0, 0, 1, -2]
        assert np.signbit(flushed).tolist() == [False, True] * 3 + [False, True]
        assert values[2] != 0  # the operand stays what it was
        numbers = np.array([-1.0, -0.0, 0.0, 0.5, 1.0, 1.5, np.inf, -np.inf, np.nan]).astype(dtype)
        saturated = rounding.saturate_unit(numbers)
        assert saturated.dtype == dtype and saturated.astype(np.float64).tolist() == [0, 0, 0, 0.5, 1, 1, 1, 0, 0]
        assert not np.signbit(saturated.astype(np.float64)).any()
        rectified = rounding.rectified(numbers).astype(np.float64)
        assert rectified[:8].tolist() == [0, 0, 0, 0.5, 1, 1.5, np.inf, 0] and np.isnan(rectified[8])
        assert not np.signbit(rectified[:8]).any()


def test_nans() -> None:
    for dtype, pattern in ((np.float16, 0x7FFF), (np.float32, 0x7FFFFFFF), (ml_dtypes.bfloat16, 0x7FFF)):
        values = np.array([1.5, -np.nan, np.inf]).astype(dtype)
        found = rounding.canonical(values)
        assert bits_of(found).tolist() == [bits_of(values)[0], pattern, bits_of(values)[2]]
        assert bits_of(values)[1] != pattern
        assert rounding.canonical(values[:1].copy()).tolist() == [1.5]
    rows = [0x7FF0000000000005, 1, 0x7FF8000000000001], [0xFFF0000000000009, 0xFFF8000000000003, 1]
    patterns = np.array(rows, np.uint64)
    operands = [each.view(np.float64) for each in patterns]
    result = np.array([np.nan, np.nan, np.nan])
    assert bits_of(rounding.propagated(result, *operands)).tolist() == [
        0x7FF8000000000005, 0xFFF8000000000003, 0x7FF8000000000001,
    ]  # fmt: skip
    assert rounding.propagated(np.array([2.0]), operands[0][:1]).tolist() == [2.0]
