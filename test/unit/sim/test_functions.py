"""Functions that numpy computes in its own way on each CPU: rounded once, and minima, NaNs and sums of fixed bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.cpu_words import any_numbers, edges, turns

from tirx.sim.core.types import TYPES
from tirx.sim.numerics import functions, rounding
from tirx.sim.numerics.combine import combine_function
from tirx.sim.numerics.functions import rounded_function
from tirx.sim.numerics.rounding import bits_of, extremum_of, ordered, unordered, with_payload
from tirx.sim.numerics.tensor_cores import ideal

Array = npt.NDArray[Any]
_F32 = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """As in a launch, where overflows are no warnings."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", get_args(functions.Name))
def test_digits_agree_with_numpy(monkeypatch: pytest.MonkeyPatch, name: functions.Name):
    """Where numpy's own result decides, and where it does not because of a large margin, the result is one."""
    numbers = [edges(_F32), any_numbers(_F32, 600), turns()[::9]]
    numbers += [(np.arange(-400, 400) / 32).astype(np.float32), np.array([-149, -150, -149.5], np.float32)]
    values = np.concatenate(numbers)
    usual = rounded_function(name, _F32)(values)
    asked: list[tuple[float, Decimal]] = []

    def counted(name: functions.Name, value: Decimal) -> Decimal:
        result = exact(name, value)
        asked.append((float(value), result))
        return result

    exact = functions._exact  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(functions, "_exact", counted)
    monkeypatch.setattr(functions, "_MARGIN", 2.0**-25)
    found = rounded_function(name, _F32)(values)
    assert len(asked) > 100
    operands, results = zip(*asked, strict=True)
    near = getattr(np, name)(np.array(operands)).tolist()
    errors = [abs(Decimal(own) / result - 1) for own, result in zip(near, results, strict=True) if result]
    assert max(errors) < Decimal(2) ** -50, "numpy's own error is near the margin"
    is_nan = np.isnan(usual)
    assert np.array_equal(np.isnan(found), is_nan)
    assert np.array_equal(bits_of(found)[~is_nan], bits_of(usual)[~is_nan])


def test_ties_and_their_neighbours():
    """2^-150 is a tie of zero and the smallest number; the cosine of 2^-12 is 2^-52.6 above a tie."""
    assert bits_of(rounded_function("exp2", _F32)(np.array([-149, -149.5, -150, -150.5], np.float32))).tolist() == [
        1,
        1,
        0,
        0,
    ]
    assert rounded_function("cos", _F32)(np.array([2.0**-12], np.float32)).tolist() == [1.0]
    assert rounded_function("exp2", np.dtype(np.float16))(np.array([-24, -25, 15, 16], np.float16)).tolist() == [
        2.0**-24, 0.0, 2.0**15, math.inf,
    ]  # fmt: skip


@pytest.mark.parametrize(("smaller", "propagate"), list(itertools.product((False, True), repeat=2)))
def test_minima_and_maxima_in_any_order(smaller: bool, propagate: bool):
    """-0 is less than +0, and the result does not depend on the order: reductions of integers say the same."""
    pairs = np.array(list(itertools.product(edges(_F32).view(np.uint32).tolist(), repeat=2)), np.uint32)
    a, b = (np.ascontiguousarray(column).view(np.float32) for column in pairs.T)
    expected = rounding.canonical(extremum_of(a, b, smaller=smaller, propagate=propagate))
    swapped = rounding.canonical(extremum_of(b, a, smaller=smaller, propagate=propagate))
    assert np.array_equal(bits_of(expected), bits_of(swapped))
    order = [ordered(each, smaller=smaller, propagate=propagate) for each in (a, b)]
    found = unordered((np.minimum if smaller else np.maximum)(*order))
    assert np.array_equal(bits_of(found), bits_of(expected))
    if not propagate:
        combined = combine_function("min" if smaller else "max", TYPES["f32"], False)(a, b)
        assert np.array_equal(bits_of(combined), bits_of(expected))
        zeros = np.array([0.0, -0.0], np.float32)
        assert np.signbit(extremum_of(zeros, -zeros, smaller=smaller, propagate=False)).all() == smaller


# What an H200 gave.
_SIGNALING, _QUIET, _NEGATIVE = 0x7FF400007FA0FD03, 0xFFF8ABCDFFC57C05, 0xFFF00001FF8AFFFF


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("f64", "f16", [(_SIGNALING, 0x7F00), (_QUIET, 0xFE2A), (_NEGATIVE, 0xFE00)]),
        ("f64", "bf16", [(_SIGNALING, 0x7FE0), (_QUIET, 0xFFC5), (_NEGATIVE, 0xFFC0)]),
        ("f64", "f32", [(_SIGNALING, 0x7FE00003), (_QUIET, 0xFFC55E6F), (_NEGATIVE, 0xFFC0000F)]),
        ("f32", "f64", [(0x7FA0FD03, 0x7FFC1FA060000000), (0xFF8AFFFF, 0xFFF95FFFE0000000)]),
        ("f16", "f64", [(0xFD03, 0xFFFC0C0000000000), (0x7C05, 0x7FF8140000000000)]),
        ("bf16", "f64", [(0x7FA0, 0x7FFC000000000000), (0xFF8A, 0xFFF9400000000000)]),
    ],
)
def test_payloads_of_converted_nans(source: str, target: str, words: list[tuple[int, int]]):
    own, other = TYPES[source].dtype, TYPES[target].dtype
    values = np.array([each for each, _ in words], f"u{own.itemsize}").view(own)
    found = with_payload(values.astype(other), values)
    assert [hex(each) for each in bits_of(found).tolist()] == [hex(each) for _, each in words]


def test_nans_of_atomic_sums():
    """An H200 gives the operand if it is NaN, or the old value, and makes neither quiet."""
    words = np.array([_SIGNALING, _QUIET, 0x3FF0000000000000], np.uint64).view(np.float64)
    old, operand = words[[0, 1, 2, 0]], words[[1, 0, 0, 2]]
    found = combine_function("add", TYPES["f64"], False)(old, operand)
    assert bits_of(found).tolist() == [_QUIET, _SIGNALING, _SIGNALING, _SIGNALING]
    assert bits_of(rounding.propagated(np.array([np.nan], np.float64), np.array([1.0], np.float64))).tolist() == [
        0xFFF8000000000000
    ]


def test_exact_sums():
    """Sums that f64 does not have, of numbers that cancel, are rounded once."""
    rng = np.random.default_rng(4)
    a, b, c = (rng.standard_normal(each) * 2.0 ** rng.integers(-60, 61, each) for each in ((3, 16), (4, 16), (3, 4)))
    a, b, c = (each.astype(ml_dtypes.bfloat16).astype(np.float64) for each in (a, b, c))
    b[:, 1::2], a[:, 1::2] = -b[:, ::2], a[:, ::2]
    b[:, ::8] *= 1 + 2.0**-7
    found = ideal(a, b, c).astype(np.float32)
    for m, n in np.ndindex(c.shape):
        pairs = zip(a[m].tolist(), b[n].tolist(), strict=True)
        exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(float(c[m, n])))
        near = [found[m, n], np.nextafter(found[m, n], np.float32(9e38)), np.nextafter(found[m, n], np.float32(-9e38))]
        distances = [abs(Fraction(float(each)) - exact) for each in near]
        assert distances[0] == min(distances)
