"""Arithmetic of CUDA C++, compiled by nvcc: integers, the math library, halves and narrower numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

Array: TypeAlias = npt.NDArray[Any]


def _rng() -> np.random.Generator:
    return np.random.default_rng(6)


def _words(count: int, dtype: Any) -> Array:
    """Random patterns, small numbers and the limits."""
    limits = np.iinfo(dtype)
    special = np.array([limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1], dtype)
    small = _rng().integers(max(-9, limits.min), 9, count // 3).astype(dtype)
    rest = _rng().integers(limits.min, limits.max, count - len(special) - len(small), dtype, endpoint=True)
    return np.concatenate([special, small, rest])


# integers.cu


@program("integers")
@pytest.mark.parametrize("name", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.sample(3)
def test_division(program: Program, name: str) -> None:
    dtype = np.dtype(f"{'i' if name[0] == 's' else 'u'}{int(name[1:]) // 8}")
    a, b = _words(90, dtype), np.roll(_words(90, dtype), 7)
    b[b == 0] = 3
    out = np.zeros((90, 2), dtype)
    run(program.ptx, f"divide_{name}", 1, 96, [a, b, out, 90])
    quotients = [abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)]
    rests = [int(x) - q * int(y) for x, y, q in zip(a, b, quotients, strict=True)]
    bits = 8 * dtype.itemsize
    assert out.view(f"u{dtype.itemsize}")[:, 0].tolist() == [q % 2**bits for q in quotients]
    assert out[:, 1].tolist() == rests


def _signed(x: int, bits: int = 64) -> int:
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _products(x: int, y: int) -> list[int]:
    low_x, low_y, u, v = _signed(x, 32), _signed(y, 32), x % 2**64, y % 2**64
    wide = u * v + u
    return [
        x * y,
        x * y >> 64,
        u * v >> 64,
        low_x * low_y >> 32,
        (u % 2**32) * (v % 2**32) >> 32,
        low_x * low_y + 3,
        _signed(_signed(x, 24) * _signed(y, 24), 32),
        (u % 2**24) * (v % 2**24) % 2**32,
        wide >> 64,
        (wide - v) % 2**128 >> 37,
        (x > y) - (x < y) + 2 * (u < v),
        min(x, y) ^ _signed(max(u, v)) ^ _signed(abs(y)),
    ]


@program("integers")
def test_products(program: Program) -> None:
    a, b = _words(64, np.int64), np.roll(_words(64, np.int64), 5)
    out = np.zeros((12, 64), np.int64)
    run(program.ptx, "products", 1, 64, [a, b, out])
    for lane, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert out[:, lane].tolist() == [_signed(each) for each in _products(x, y)], (x, y)


def _bytes(x: int, *, signed: bool = False, size: int = 1) -> list[int]:
    raw = x.to_bytes(4, "little")
    return [int.from_bytes(raw[i : i + size], "little", signed=signed) for i in range(0, 4, size)]


def _joined(parts: list[int], size: int = 1) -> int:
    return sum(part % 256**size << 8 * size * i for i, part in enumerate(parts))


def _bits(x: int, y: int) -> list[int]:
    z, sx, sy, both = x << 32 | y, _signed(x, 32), _signed(y, 32), y << 32 | x
    reverse = int(f"{x:032b}"[::-1], 2)
    pairs = list(zip(_bytes(x), _bytes(y), strict=True))
    signed_pairs = list(zip(_bytes(x, signed=True), _bytes(y, signed=True), strict=True))
    halves = list(zip(_bytes(x, signed=True, size=2), _bytes(y, signed=True, size=2), strict=True))
    clamped = min(y & 63, 32)
    return [
        x.bit_count(),
        32 - x.bit_length(),
        (x & -x).bit_length(),
        reverse,
        _joined([(_bytes(x) + _bytes(y))[i] for i in (1, 7, 2, 5)]),
        both << (y & 31) >> 32,
        both >> (y & 31),
        both << clamped >> 32,
        both >> clamped,
        x << (y & 31),
        x >> (y & 31),
        sx >> (y & 31),
        (x & y) | (~x & 0x12345678),
        x ^ y ^ 0xFF00FF,
        z.bit_count(),
        64 - z.bit_length(),
        (z & -z).bit_length(),
        int(f"{z:064b}"[::-1], 2) >> 7,
        x >> 5 & 0x3FF,
        (x & ~0xFF0) | (y << 4 & 0xFF0),
        abs(sx - sy) + 7,
        abs(x - y) + 7,
        sum(i * j for i, j in signed_pairs) + 11,
        sum(i * j for i, j in pairs) + 11,
        halves[0][0] * signed_pairs[0][1] + halves[1][0] * signed_pairs[1][1] + 5,
        _bytes(x, size=2)[0] * _bytes(y)[2] + _bytes(x, size=2)[1] * _bytes(y)[3] + 5,
        _joined([i + j for i, j in pairs]),
        _joined([max(pair) for pair in halves], 2),
        _joined([abs(i - j) for i, j in pairs]),
        _joined([255 * (i > j) for i, j in pairs]),
        sx + sy + 1 >> 1,
        x + y >> 1,
    ]


@program("integers")
def test_bits(program: Program) -> None:
    a, b = _words(64, np.uint32), np.roll(_words(64, np.uint32), 5)
    out = np.zeros((32, 64), np.uint32)
    run(program.ptx, "bits", 1, 64, [a, b, out])
    for lane, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert out[:, lane].tolist() == [each % 2**32 for each in _bits(x, y)], (hex(x), hex(y))


@program("integers")
def test_narrow_integers(program: Program) -> None:
    x = _words(64, np.int32)
    out = np.zeros((8, 64), np.int32)
    run(program.ptx, "narrow", 1, 64, [x, out])
    half = x.astype(np.uint16).astype(np.uint32)
    wanted = [x.astype(np.int8), x.astype(np.uint8), x.astype(np.int16), x.astype(np.uint16)]
    wanted += [(x.astype(np.int8).astype(int) + 100).astype(np.int8), (half * half).astype(np.uint16)]
    wanted += [x.clip(-128, 127), np.where(x == 0, 2, 1)]
    for row, each in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(row, each)


# math.cu

_Function = Callable[[float, float], float]


def _cbrt(x: float) -> float:
    return math.copysign(abs(x) ** (1 / 3), x)


_MATH_F32: list[_Function] = [
    lambda x, y: math.tan(x), lambda x, y: math.exp(x), lambda x, y: math.sqrt(y), lambda x, y: _cbrt(x),
    lambda x, y: math.erf(x), lambda x, y: math.sinh(x), lambda x, y: math.atan(x), lambda x, y: math.hypot(x, y),
    math.fmod, lambda x, y: math.floor(x), lambda x, y: math.ceil(x), lambda x, y: round(x),
    lambda x, y: math.copysign(math.floor(abs(x) + 0.5), x), lambda x, y: math.sin(math.pi * x),
]  # fmt: skip
_MATH_F64: list[_Function] = [
    lambda x, y: math.sin(x), lambda x, y: math.exp(x), lambda x, y: math.log(y), lambda x, y: math.sqrt(y),
    lambda x, y: _cbrt(x), lambda x, y: math.erf(x), lambda x, y: math.atan(x), lambda x, y: math.atan2(x, y),
    lambda x, y: math.hypot(x, y), lambda x, y: math.floor(x), lambda x, y: math.ceil(x), lambda x, y: math.trunc(x),
    lambda x, y: round(x), lambda x, y: math.copysign(math.floor(abs(x) + 0.5), x), lambda x, y: x / y,
    lambda x, y: 1 / y,
]  # fmt: skip


def _apply(functions: list[_Function], a: Array, b: Array) -> Array:
    return np.array([[f(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)] for f in functions])


@program("math")
def test_math_f32(program: Program) -> None:
    a = np.concatenate([_rng().uniform(-9, 9, 60), [0.0, -0.0, 0.5, -1.0]]).astype(np.float32)
    b = np.concatenate([_rng().uniform(0.01, 20, 60), [1.0, 2.0, 0.25, 3.0]]).astype(np.float32)
    out = np.zeros((len(_MATH_F32), 64), np.float32)
    run(program.ptx, "math_f32", 1, 64, [a, b, out, 64])
    # The programming guide gives at most 6 units in the last place for these.
    np.testing.assert_allclose(out, _apply(_MATH_F32, a, b), rtol=1e-6, atol=2e-7)


@program("math")
def test_math_f64(program: Program) -> None:
    a = np.concatenate([_rng().uniform(-9, 9, 60), [0.0, -0.0, 0.5, -1.0]])
    b = np.concatenate([_rng().uniform(0.01, 20, 60), [1.0, 2.0, 0.25, 3.0]])
    out = np.zeros((len(_MATH_F64), 64))
    run(program.ptx, "math_f64", 1, 64, [a, b, out, 64])
    np.testing.assert_allclose(out, _apply(_MATH_F64, a, b), rtol=2e-15, atol=2e-16)


@program("math")
def test_large_arguments(program: Program) -> None:
    """The tangent of large numbers takes the slow reduction, whose table is in constant or global memory."""
    a = _rng().uniform(-1e6, 1e6, 32).astype(np.float32)
    out = np.zeros((len(_MATH_F32), 32), np.float32)
    run(program.ptx, "math_f32", 1, 32, [a, np.ones_like(a), out, 32])
    np.testing.assert_allclose(out[0], np.tan(a.astype(np.float64)), rtol=1e-5, atol=1e-7)


@program("math")
def test_fast_functions(program: Program) -> None:
    a, b = _rng().uniform(-3, 3, 32).astype(np.float32), _rng().uniform(0.1, 9, 32).astype(np.float32)
    out = np.zeros((12, 32), np.float32)
    run(program.ptx, "fast_f32", 1, 32, [a, b, out, 32])
    x, y = a.astype(np.float64), b.astype(np.float64)
    wanted = [np.sin(x), np.cos(x), np.exp(x), np.log(y), np.log2(y), y**x, x / y, y**-0.5, y**-0.5]
    wanted += [np.tan(x), 10**x, x.clip(0, 1)]
    np.testing.assert_allclose(out, np.array(wanted), rtol=4e-6, atol=1e-6)


# Directed rounding, compared with fractions.


def _special(dtype: Any, count: int) -> Array:
    info = np.finfo(dtype)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        info.max,
        -info.max,
        info.smallest_normal,
        info.smallest_subnormal,
        3.0,
        np.inf,
        np.nan,
    ]
    scale = np.ldexp(_rng().standard_normal(count - len(special)), _rng().integers(-20, 20, count - len(special)))
    return np.concatenate([np.array(special), scale]).astype(dtype)


def _neighbour(value: Any, up: bool) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(value, value.dtype.type(np.inf if up else -np.inf))


def _is_rounded(found: Any, exact: Fraction, mode: str) -> bool:
    """Returns True if a finite or infinite number is `exact`, rounded to its type."""

    def value(x: Any) -> Fraction | float:
        return Fraction(float(x)) if np.isfinite(x) else float(x)

    below, above = _neighbour(found, False), _neighbour(found, True)
    if mode == "rd":
        return value(found) <= exact and (above == found or value(above) > exact)
    if mode == "ru":
        return value(found) >= exact and (below == found or value(below) < exact)
    if mode == "rz":
        return _is_rounded(found, exact, "rd" if exact >= 0 else "ru")
    if not np.isfinite(found):
        return abs(exact) > Fraction(float(np.finfo(found.dtype).max))
    error = abs(Fraction(float(found)) - exact)
    others = [abs(value(x) - exact) for x in (below, above) if np.isfinite(x)]
    return all(error <= other for other in others)


_MODES = ("rn", "rz", "ru", "rd")


@program("math")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directed_rounding(program: Program, dtype: Any) -> None:
    name, inverts = ("rounded_f32", True) if dtype is np.float32 else ("rounded_f64", False)
    a, b = _special(dtype, 48), np.roll(_special(dtype, 48), 5)
    rows = 24
    out = np.zeros((rows, 48), dtype)
    run(program.ptx, name, 1, 64, [a, b, out, 48])
    operations: list[tuple[str, Callable[[Fraction, Fraction], Fraction | None]]] = [
        ("sum", lambda x, y: x + y),
        ("product", lambda x, y: x * y),
        ("fused", lambda x, y: x * y + x),
        ("quotient", lambda x, y: x / y if y else None),
    ]
    if inverts:
        operations.append(("inverse", lambda x, y: 1 / y if y else None))
    for row, (what, exact) in enumerate(operations):
        for lane in np.flatnonzero(np.isfinite(a) & np.isfinite(b)).tolist():
            wanted = exact(Fraction(float(a[lane])), Fraction(float(b[lane])))
            for column, mode in enumerate(_MODES):
                found = out[4 * row + column, lane]
                assert wanted is None or _is_rounded(found, wanted, mode), (what, mode, a[lane], b[lane], found)
    roots = len(operations)
    for lane in np.flatnonzero(np.isfinite(b)).tolist():
        square = Fraction(abs(float(b[lane])))
        down, up = out[4 * roots + 3, lane], out[4 * roots + 2, lane]
        assert Fraction(float(down)) ** 2 <= square <= Fraction(float(up)) ** 2
        assert down == up or _neighbour(down, True) == up
        assert out[4 * roots + 1, lane] == down and out[4 * roots, lane] in (down, up)
    if dtype is np.float64:
        with np.errstate(invalid="ignore"):
            wanted_rows = [np.fmin(a, b), np.fmax(a, b), np.copysign(a, b), np.abs(a)]
        np.testing.assert_array_equal(out[20:], np.array(wanted_rows))


_INTEGER_MODES: dict[str, Callable[[Array], Array]] = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
# The columns of to_integers: from f32, rounding, type.
_TO_INTEGERS = [
    (False, "rn", "i4"), (False, "rz", "i4"), (False, "ru", "i4"), (False, "rd", "i4"), (False, "rn", "u4"),
    (False, "rz", "u4"), (False, "rn", "i8"), (False, "rz", "i8"), (False, "ru", "i8"), (False, "rd", "i8"),
    (False, "rn", "u8"), (False, "rz", "u8"), (True, "rn", "i4"), (True, "rz", "i4"), (True, "ru", "i4"),
    (True, "rd", "i4"), (True, "rn", "u4"), (True, "rz", "i8"), (True, "ru", "u8"),
]  # fmt: skip


def _clamped_integer(x: float, narrow: bool, dtype: str) -> int:
    """Out of range values saturate; NaN becomes 0, but half of the unsigned range where 64 bits are involved."""
    limits = np.iinfo(dtype)
    if math.isnan(x):
        return 0 if narrow and limits.bits < 64 else 1 << (limits.bits - 1)
    return int(max(limits.min, min(limits.max, x))) if math.isfinite(x) else (limits.max if x > 0 else limits.min)


@program("math")
def test_floats_to_integers(program: Program) -> None:
    large = np.ldexp(_rng().standard_normal(40), _rng().integers(-2, 70, 40))
    x = np.concatenate(
        [
            [0.0, -0.0, 0.5, 1.5, -2.5, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64, np.inf, -np.inf, np.nan, -0.5],
            large,
        ]
    )
    out = np.zeros((25, len(x)), np.int64)
    run(program.ptx, "to_integers", 1, 64, [x, out, len(x)])
    single = x.astype(np.float32)
    for row, (narrow, mode, dtype) in zip(out, _TO_INTEGERS, strict=False):
        source = single.astype(np.float64) if narrow else x
        wanted = [_clamped_integer(float(v), narrow, dtype) for v in _INTEGER_MODES[mode](source)]
        bits = np.iinfo(dtype).bits
        assert [v % 2**bits for v in row.tolist()] == [v % 2**bits for v in wanted], (narrow, mode, dtype)
    np.testing.assert_array_equal(out[19], x.view(np.int64) >> 32)
    np.testing.assert_array_equal(out[20].astype(np.uint32), x.view(np.uint64).astype(np.uint32))
    np.testing.assert_array_equal(out[21], x.view(np.int64))
    finite = ~np.isnan(x)
    np.testing.assert_array_equal(out[22][finite], single.view(np.int32)[finite])


@program("math")
def test_integers_to_floats(program: Program) -> None:
    x = np.concatenate([_words(40, np.int64), _words(20, np.int32).astype(np.int64), [2**53 + 1, 2**62 + 2**9 + 1]])
    f, d = np.zeros((14, len(x)), np.float32), np.zeros((8, len(x)))
    run(program.ptx, "from_integers", 1, 64, [x, f, d, len(x)])
    int32, uint32, uint64 = x.astype(np.int32), x.astype(np.uint32), x.astype(np.uint64)
    singles = [(int32, mode) for mode in ("rn", "rz", "ru", "rd")] + [(uint32, "rn"), (uint32, "rz")]
    singles += [(x, mode) for mode in ("rn", "rz", "ru", "rd")] + [(uint64, "rn"), (uint64, "rz")]
    doubles = [
        (int32, "rn"),
        (uint32, "rn"),
        *((x, mode) for mode in ("rn", "rz", "ru", "rd")),
        (uint64, "rn"),
        (uint64, "rd"),
    ]
    for out, rows in ((f, singles), (d, doubles)):
        for row, (source, mode) in zip(out, rows, strict=False):
            for value, found in zip(source.tolist(), row, strict=True):
                assert _is_rounded(found, Fraction(value), mode), (value, found, mode)
    np.testing.assert_array_equal(f[12], x.astype(np.float64).astype(np.float32))


# halves.cu


def _half_values(dtype: Any, count: int) -> Array:
    special = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 6e-8, 1e-5, 60000.0, -60000.0, 0.1]).astype(
        dtype
    )
    rest = np.ldexp(_rng().standard_normal(count - len(special)), _rng().integers(-14, 12, count - len(special)))
    return np.concatenate([special, rest.astype(dtype)])


def _same(found: Array, wanted: Array, message: str = "") -> None:
    """Equal halves; NaNs are equal (of bfloat16 numpy does not know that)."""
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32), err_msg=message)


def _round(values: Array, dtype: Any) -> Array:
    """f64 values that are exact in f64 to a half, rounded once (ml_dtypes would go through f32)."""
    if dtype == np.float16:
        return values.astype(np.float16)
    single = values.astype(np.float32)
    back = single.astype(np.float64)
    inexact = np.isfinite(single) & (back != values)
    raw = single.view(np.uint32) & np.uint32(0xFFFFFFFE)
    # To odd: the truncated pattern with the last bit set.
    larger = np.abs(back) > np.abs(values)
    truncated = np.where(larger, single.view(np.uint32) - np.uint32(1), single.view(np.uint32))
    odd = (truncated | np.uint32(1)).view(np.float32)
    assert raw.shape == odd.shape
    return np.where(inexact, odd, single).astype(np.float32).astype(dtype)


@program("halves")
@pytest.mark.parametrize("name", ["half", "bf16"])
@pytest.mark.filterwarnings("ignore:invalid value|overflow|divide by zero:RuntimeWarning")
def test_half_arithmetic(program: Program, name: str) -> None:
    dtype: Any = np.float16 if name == "half" else ml_dtypes.bfloat16
    a, b = _half_values(dtype, 96), np.roll(_half_values(dtype, 96), 17)
    out = np.zeros((24, 96), dtype)
    run(program.ptx, f"{name}_arithmetic", 1, 96, [a, b, out, 96])
    x, y = a.astype(np.float64), b.astype(np.float64)
    quotient = x / y
    fused, other, relu = x * y + x, x * y + y, np.maximum
    nan_or_max = np.where(np.isnan(x) | np.isnan(y), np.nan, np.maximum(x, y))
    exact = [x + y, x - y, x * y, None, fused, -x, np.abs(x), np.fmin(x, y), np.fmax(x, y), nan_or_max]
    exact += [relu(other, 0), x + y, fused, other, relu(fused, 0), relu(other, 0), np.fmax(x, y), np.sqrt(np.abs(y))]
    exact += [
        np.rint(x),
        np.floor(x),
        np.trunc(y),
        np.where(x < y, x, y),
        np.where(~(x < y), x, y),
        np.where(x == x, x, y),
    ]
    for index, (row, wanted) in enumerate(zip(out, exact, strict=True)):
        if wanted is None:
            # __hdiv multiplies by an approximate reciprocal and corrects it.
            np.testing.assert_allclose(
                row.astype(np.float64),
                quotient.astype(dtype).astype(np.float64),
                rtol=1e-2 if name == "bf16" else 1e-3,
                err_msg="hdiv",
            )
        elif name == "bf16" and index == 17:
            np.testing.assert_allclose(row.astype(np.float64), wanted, rtol=2**-8)
        else:
            _same(row, _round(wanted, dtype), f"row {index}")


@program("halves")
@pytest.mark.filterwarnings("ignore:invalid value|overflow:RuntimeWarning")
def test_half_saturation(program: Program) -> None:
    a, b = _half_values(np.float16, 64), np.roll(_half_values(np.float16, 64), 17)
    out = np.zeros((3, 64), np.float16)
    run(program.ptx, "half_saturated", 1, 64, [a, b, out, 64])
    x, y = a.astype(np.float64), b.astype(np.float64)
    for row, exact in zip(out, (x + y, x * y, x * y + y), strict=True):
        clamped = np.where(np.isnan(exact), 0, exact.astype(np.float16)).clip(0, 1)
        np.testing.assert_array_equal(row, clamped)


@program("halves")
@pytest.mark.filterwarnings("ignore:invalid value|overflow:RuntimeWarning")
def test_conversions_to_halves(program: Program) -> None:
    x = np.concatenate([_half_values(np.float32, 60), np.array([65519.0, 65520.0, 1 + 2**-11, 1 + 3 * 2**-11])]).astype(
        np.float32
    )
    h, b = np.zeros((8, 64), np.float16), np.zeros((7, 64), ml_dtypes.bfloat16)
    back = np.zeros(64, np.float32)
    run(program.ptx, "to_halves", 1, 64, [x, h, b, back, 64])
    for out, dtype in ((h, np.float16), (b, ml_dtypes.bfloat16)):
        for index, wanted in ((0, x), (4, x), (5, -x)):
            _same(out[index], wanted.astype(dtype), f"row {index}")
        for lane in np.flatnonzero(np.isfinite(x)).tolist():
            exact = Fraction(float(x[lane]))
            low, high = out[3, lane].astype(np.float64), out[2, lane].astype(np.float64)
            assert float(low) <= exact <= float(high)
            inward = low if exact >= 0 else high
            assert out[1, lane].astype(np.float64) == inward
            nearest = out[0, lane].astype(np.float64)
            assert nearest in (low, high) and (low == high) == (float(exact) == nearest)
    whole = np.where(np.isfinite(x), x, 0).astype(np.int64).clip(-(2**31), 2**31 - 1)
    finite = np.isfinite(x)
    np.testing.assert_array_equal(h[6][finite], whole[finite].astype(np.float16))
    np.testing.assert_array_equal(b[6][finite], whole[finite].astype(np.float32).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(back, h[0].astype(np.float32) + b[0].astype(np.float32))


_NARROW = [
    (ml_dtypes.float8_e4m3fn, 8), (ml_dtypes.float8_e5m2, 8), (ml_dtypes.float6_e2m3fn, 8),
    (ml_dtypes.float6_e3m2fn, 8), (ml_dtypes.float4_e2m1fn, 4),
]  # fmt: skip


@program("halves")
def test_conversions_to_8_6_and_4_bits(program: Program) -> None:
    finite = np.ldexp(_rng().standard_normal(120), _rng().integers(-9, 10, 120))
    x = np.concatenate([[0.0, -0.0, 464.0, 1e6, -1e6, 1.0, 2.5, 5.0], finite]).astype(np.float32).reshape(64, 2)
    codes, back = np.zeros((7, 64), np.uint16), np.zeros((5, 64, 2), np.float16)
    run(program.ptx, "to_narrow", 1, 64, [x, codes, back, 64])
    for row, (dtype, bits) in enumerate(_NARROW):
        largest = float(cast(Any, ml_dtypes.finfo(dtype)).max)
        wanted = x.clip(-largest, largest).astype(dtype)
        raw = wanted.view(np.uint8).astype(np.uint16)
        np.testing.assert_array_equal(codes[row], raw[:, 0] | raw[:, 1] << bits, err_msg=str(dtype))
        np.testing.assert_array_equal(back[row], wanted.astype(np.float16), err_msg=str(dtype))
    power = np.ceil(np.log2(np.where(x == 0, 1, np.abs(x)).astype(np.float64)))
    exponents = np.where(x == 0, 0, power + 127).astype(np.uint16)
    np.testing.assert_array_equal(codes[5], exponents[:, 0] | exponents[:, 1] << 8)
    from_half = x.clip(-448, 448).astype(np.float16).astype(np.float32).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    wide = from_half.astype(np.uint16)
    np.testing.assert_array_equal(codes[6], wide[:, 0] | wide[:, 1] << 8)


@program("halves")
def test_functions_of_halves(program: Program) -> None:
    x = _rng().uniform(-4, 4, (32, 2)).astype(np.float16)
    out = np.zeros((8, 32, 2), np.float16)
    run(program.ptx, "half_functions", 1, 32, [x, out, 32])
    y = x.astype(np.float64)
    wanted = [np.exp(y), 2**y, y, 1 / y, np.exp(-y / 2), np.sin(y), np.cos(y), np.tanh(y)]
    for index, each in enumerate(wanted):
        np.testing.assert_allclose(out[index].astype(np.float64), each, rtol=2e-3, atol=2e-3, err_msg=str(index))
