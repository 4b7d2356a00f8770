"""Functions on bytes, integers and products of matrices, against Python's integers and fractions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together

from tirx.sim import SimError
from tirx.sim.core.types import TYPES
from tirx.sim.isa.mma_sync import elements_of, raw_results, registers_of
from tirx.sim.numerics import formats, integers, products
from tirx.sim.numerics.chains import _DEPTH, Chain  # pyright: ignore[reportPrivateUsage]
from tirx.sim.numerics.combine import combine_function
from tirx.sim.numerics.tensor_cores import find_rule, multiply, multiply_values, operand, raw_exponents

Array = npt.NDArray[Any]


def _small(code: int, exponent: int, fraction: int) -> float:
    """The number of a code of a format with so many bits of each part; no code is NaN."""
    magnitude, sign = code & ((1 << (exponent + fraction)) - 1), code >> (exponent + fraction)
    power, rest = divmod(magnitude, 1 << fraction)
    bias = (1 << (exponent - 1)) - 1
    value = Fraction(rest + (1 << fraction if power else 0)) * Fraction(2) ** (max(power, 1) - bias - fraction)
    return float(-value if sign else value)


@together(
    ("element", "exponent", "fraction", "codes"),
    [
        ("e4m3", 4, 3, [*range(0x7F), *range(0x80, 0xFF)]), ("e5m2", 5, 2, [*range(0x7C), *range(0x80, 0xFC)]),
        ("e2m3", 2, 3, range(64)), ("e3m2", 3, 2, range(64)), ("e2m1", 2, 1, range(16)),
    ],
)  # fmt: skip
def test_narrow_elements(element: str, exponent: int, fraction: int, codes: Any) -> None:
    found = formats.decode_elements(np.array([codes], np.uint8), element)
    assert found.dtype == np.float32 and found.tolist() == [[_small(each, exponent, fraction) for each in codes]]
    if len(codes) < 100:  # bits above the element do not count
        high = np.array([codes], np.uint8) | np.uint8(256 - len(codes))
        assert np.array_equal(formats.decode_elements(high, element), found)


def test_wide_elements() -> None:
    raw = np.array([[0x12, 0x34, 0xFF, 0xC2, 0x00, 0x80, 0x81, 0x7F]], np.uint8)
    words = [0x3412, 0xC2FF, 0x8000, 0x7F81]
    assert formats.decode_elements(raw, "u8").tolist() == [[0x12, 0x34, 0xFF, 0xC2, 0, 0x80, 0x81, 0x7F]]
    assert formats.decode_elements(raw, "s8").tolist() == [[0x12, 0x34, -1, 0xC2 - 256, 0, -128, 0x81 - 256, 127]]
    bf16 = formats.decode_elements(raw, "bf16")
    assert bf16.view(np.uint32).tolist() == [[each << 16 for each in words]]
    assert formats.decode_elements(raw, "tf32").view(np.uint32).tolist() == [[0xC2FF2000, 0x7F818000 & 0xFFFFE000]]
    halves = formats.decode_elements(np.array([[0x01, 0x3C, 0x00, 0x84]], np.uint8), "f16")
    assert halves.tolist() == [[1 + 2.0**-10, -(2.0**-14)]]


@pytest.mark.parametrize(("element", "bits"), [("e2m1", 4), ("e2m3", 6), ("e3m2", 6)])
def test_packed_groups(element: str, bits: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (3, 5, 16))
    rows: list[list[int]] = []
    for row in codes.tolist():
        groups = [sum(code << bits * index for index, code in enumerate(group)) for group in row]
        rows.append([byte for group in groups for byte in (group | 0x9 << 124).to_bytes(16, "little")])
    found = formats.unpack_groups(np.array(rows, np.uint8), element)
    assert found.dtype == np.uint8 and found.tolist() == codes.reshape(3, -1).tolist()
    assert formats.bytes_used(35, element).tolist() == [index % 16 < 2 * bits for index in range(35)]
    assert formats.bytes_used(35, "e4m3").all()


@np.errstate(all="ignore")
def test_largest_numbers() -> None:
    for dtype, most in (
        (np.float16, 65504.0), (ml_dtypes.bfloat16, 255 * 2.0**120), (ml_dtypes.float8_e4m3fn, 448.0),
        (ml_dtypes.float8_e5m2, 57344.0), (ml_dtypes.float8_e8m0fnu, 2.0**127),
    ):  # fmt: skip
        assert formats.largest_finite(np.dtype(dtype)) == most


# Integers


def _edges(name: str) -> Array:
    limits = np.iinfo(TYPES[name].dtype)
    low, high = int(limits.min), int(limits.max)
    few = {low, low + 1, low + 7, -3, -2, -1, 0, 1, 2, 3, high // 2, high // 3, high - 7, high - 1, high}
    return np.array(sorted(each for each in few if low <= each <= high), TYPES[name].dtype)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@together("name", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integers(name: str) -> None:
    edges, value_type = _edges(name), TYPES[name]
    a, b = (each.ravel() for each in np.meshgrid(edges, edges))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    found = integers.multiply_high(a, b, value_type)
    assert found.dtype == value_type.dtype and found.tolist() == [x * y >> value_type.bits for x, y in pairs]
    ones = -1 if value_type.is_signed else (1 << value_type.bits) - 1

    def wrapped(value: int) -> int:
        value &= (1 << value_type.bits) - 1
        return value - (1 << value_type.bits) if value_type.is_signed and value >> (value_type.bits - 1) else value

    assert integers.divide(a, b).tolist() == [wrapped(_truncated(x, y)) if y else ones for x, y in pairs]
    assert integers.remainder(a, b).tolist() == [x - y * _truncated(x, y) if y else ones for x, y in pairs]
    limits = np.iinfo(value_type.dtype)
    low, high = int(limits.min), int(limits.max)
    if value_type.bits < 64:
        wide = np.array([low - 1, low, low + 1, 0, high - 1, high, high + 1], np.int64)
        saturated = integers.saturate(wide, value_type)
        assert saturated.dtype == value_type.dtype
        assert saturated.tolist() == [low, low, low + 1, 0, high - 1, high, high]
    ends = np.array([-np.inf, float(low) * 2 - 2, float(low), 5.0, float(high), float(high) * 2, np.inf, np.nan])
    clamped = integers.float_to_integer(ends, value_type.dtype, 0x1234)
    assert clamped.dtype == value_type.dtype and clamped.tolist() == [low, low, low, 5, high, high, high, 0x1234]
    inside = np.array([float(high // 2 + 1), float(low // 2)])
    assert integers.float_to_integer(inside, value_type.dtype, 0).tolist() == [high // 2 + 1, low // 2]


_ATOMIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, new: (old + new) & 0xFFFFFFFF, "min": min, "max": max, "and": lambda old, new: old & new,
    "or": lambda old, new: old | new, "xor": lambda old, new: old ^ new, "exch": lambda old, new: new,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
}  # fmt: skip


@together("name", _ATOMIC)
def test_atomic_integers(name: str) -> None:
    edges = np.array([0, 1, 2, 5, 6, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32)
    old, new = (each.ravel() for each in np.meshgrid(edges, edges))
    found = combine_function(name, TYPES["u32"], ftz=False)(old, new)
    expected = [_ATOMIC[name](x, y) for x, y in zip(old.tolist(), new.tolist(), strict=True)]
    assert found.dtype == np.uint32 and found.tolist() == expected


@np.errstate(all="ignore")
def test_atomic_numbers() -> None:
    """Sums are rounded once; `ftz` makes those that are subnormal zeros of their sign."""
    old, new = (
        np.array([2.0**-126, -(2.0**-126), 1.0, 2.0**127], np.float32),
        np.array([-1.5 * 2.0**-127, 1.5 * 2.0**-127, 2.0**-24 + 2.0**-40, 2.0**127], np.float32),
    )
    exact = combine_function("add", TYPES["f32"], ftz=False)(old, new)
    assert exact.tolist() == [2.0**-128, -(2.0**-128), 1 + 2.0**-23, np.inf]
    flushed = combine_function("add", TYPES["f32"], ftz=True)(old, new)
    assert flushed.tolist() == [0, 0, 1 + 2.0**-23, np.inf] and np.signbit(flushed[:2]).tolist() == [False, True]
    pair = np.array([1.5, -2.0, np.nan, 3.0], np.float16).view(np.uint32)
    other = np.array([-1.0, -2.5, 7.0, np.nan], np.float16).view(np.uint32)
    for name, expected in (("min", [-1, -2.5, 7, 3]), ("max", [1.5, -2, 7, 3]), ("add", [0.5, -4.5])):
        found = combine_function(name, TYPES["f16x2"], ftz=False)(pair, other)
        halves = found.view(np.float16)
        assert found.dtype == TYPES["f16x2"].dtype and halves.tolist()[: len(expected)] == expected
    assert (found.view(np.uint16)[2:] == 0x7FFF).all()


# Matrices


def test_large_products() -> None:
    """Some rows at a time, for any leading dimensions."""
    rng = np.random.default_rng(1)
    shapes = [
        ((5, 700, 30), (40, 30)), ((700, 30), (2, 40, 30)), ((218, 30), (40, 30)), ((219, 30), (40, 30)),
        ((3, 2), (131073, 2)), ((4, 0), (3, 0)),
    ]  # fmt: skip
    for left, right in shapes:
        a, b = (rng.integers(-5, 6, shape).astype(np.float32) for shape in (left, right))
        found = products.product(a, b)
        assert found.dtype == np.float32 and np.array_equal(found, a @ b.swapaxes(-1, -2))


@np.errstate(all="ignore")
@pytest.mark.parametrize(
    ("target", "element", "count"), [("sm_80", "bf16", 8), ("sm_80", "tf32", 4), ("sm_89", "e4m3", 16)]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_pieces(target: str, element: str, count: int, sparse: bool) -> None:
    """16 bytes of stored elements along K are one sum, to which the next is added."""
    rule = find_rule("mma.sync", target, element)
    assert rule is not None and rule.order == "pieces"
    rng, step = np.random.default_rng(count), count * (1 + sparse)
    a, b = (np.ldexp(rng.integers(-7, 8, (rows, 3 * step)), rng.integers(-3, 4, (rows, 3 * step))) for rows in (5, 6))
    kept = np.tile([[True, False, False, True]], (5, 3 * step // 4)) if sparse else None
    a = a if kept is None else np.where(kept, a, 0.0)
    c = rng.standard_normal((5, 6)).astype(np.float32).astype(np.float64)
    found = multiply(rule, operand(a, element), operand(b, element), c, "f32", kept)
    total, whole = c, replace(rule, order="whole")
    for start in (0, step, 2 * step):
        own = slice(start, start + step)
        part = None if kept is None else kept[:, own]
        total = multiply(whole, operand(a[:, own], element), operand(b[:, own], element), total, "f32", part)
    assert np.array_equal(found, total)


def test_exponents() -> None:
    for element, lowest in (("f16", -14), ("bf16", -126), ("e5m2", -14), ("e4m3", -6), ("e3m2", -2), ("e2m3", 0)):
        values = np.array([2.0, 1.99, -4.0, 2.0 ** (lowest + 1), 2.0**lowest, 2.0 ** (lowest - 1), 0.0])
        expected = [1, max(0, lowest), 2, lowest + 1, lowest, lowest, -10000]
        assert raw_exponents(values, element).tolist() == expected


@together("depths", [(16,) * 9, (32, 48, 16, 64, 1, 63, 2), (80, 8, 56, 8), (65, 1)])
def test_sums_that_wait(depths: tuple[int, ...]) -> None:
    """So many elements along K are one product of small integers, and what is rounded follows the order."""
    rule = find_rule("wgmma", "sm_90a", "e4m3")
    assert rule is not None
    rng = np.random.default_rng(len(depths))
    for most in (2, 15):  # with 15, sums leave the 13 bits that are kept
        chain = Chain(rule, ("e4m3", "e4m3"), "f32")
        c = expected = rng.integers(-9, 10, (4, 8)).astype(np.float32)
        for depth in depths:
            a, b = (rng.integers(0, most, (rows, depth)).astype(np.float32) for rows in (4, 8))
            chain.add(a, b)
            expected = multiply_values(rule, a, b, expected, ("e4m3", "e4m3"), "f32")
        assert np.array_equal(chain.plus(c), expected)
    ends: list[int] = []
    start = 0
    for index, depth in enumerate(depths):
        if index and sum(depths[start:index]) + depth > _DEPTH:
            ends.append(index)
            start = index
    starts = [0, *ends]
    assert [chain._end(each) for each in starts] == [*ends, len(depths)]  # pyright: ignore[reportPrivateUsage]


@np.errstate(all="ignore")
def test_registers() -> None:
    """Elements to registers and back, the lowest bits first."""
    words = np.array([[0x87654321, 0xFEDCBA98], [0x00FF7F80, 0x12345678]], np.uint32)
    nibbles = [[int(word) >> 4 * index & 15 for word in row] for row in words for index in range(8)]
    assert elements_of(words, "u4").tolist() == nibbles
    assert elements_of(words, "s4").tolist() == [[each - 16 * (each > 7) for each in row] for row in nibbles]
    codes = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]
    assert elements_of(words, "e2m1x2").tolist() == [[codes[each] for each in row] for row in nibbles]
    bytes_ = [[int(word) >> 8 * index & 255 for word in row] for row in words for index in range(4)]
    assert elements_of(words, "u8").tolist() == bytes_
    assert elements_of(words, "e2m1").tolist() == [[codes[each >> 2 & 15] for each in row] for row in bytes_]
    assert elements_of(words, "b1").tolist() == [
        [int(word) >> index & 1 for word in row] for row in words for index in range(32)
    ]
    assert elements_of(words, "s32").tolist() == [[0x87654321 - 2**32, 0xFEDCBA98 - 2**32], [0xFF7F80, 0x12345678]]
    assert elements_of(words, "f32").tolist() == words.view(np.float32).astype(np.float64).tolist()
    doubles = np.array([[1.5, -2.0]])
    assert elements_of(doubles, "f64") is doubles and registers_of(doubles, "f64", False) is doubles
    values = np.array([[2.0**31, -5.0], [-(2.0**31) - 1, 2.0**31 - 1], [2.0**33 + 3, -(2.0**33) - 3], [0.0, 7.0]])
    low, high = 0x80000000, 0x7FFFFFFF
    assert registers_of(values, "s32", False).tolist() == [[low, 2**32 - 5], [high, high], [3, 2**32 - 3], [0, 7]]
    assert registers_of(values, "s32", True).tolist() == [[high, 2**32 - 5], [low, high], [high, low], [0, 7]]
    halves = np.array([[1.0, -2.0], [2.0 + 2.0**-10, 65520.0], [np.nan, 0.5], [-0.0, 3.0]])
    assert registers_of(halves, "f16", False).tolist() == [[0x40003C00, 0x7C00C000], [0x80007FFF, 0x42003800]]
    assert registers_of(halves[:2], "f32", False).tolist() == [[0x3F800000, 0xC0000000], [0x40001000, 0x477FF000]]
    assert raw_results(np.array([[np.nan, 1 + 2.0**-24]]), "f32", False).tolist() == [[0x7FFFFFFF, 0x3F800000]]


def test_signs_and_magnitudes():
    """Elements of kind::ti16 have a sign, four zeros and eleven bits."""
    decoded = formats.decode_elements(np.array([5, 0x8003, 0x7FF], np.uint16).view(np.uint8), "s1z4m11")
    assert decoded.tolist() == [5, -3, 2047]
    with pytest.raises(SimError, match="^expected zeros in bits 11-14 of elements of kind::ti16, found 0x0800$"):
        formats.decode_elements(np.array([5, 0x0800], np.uint16).view(np.uint8), "s1z4m11")
