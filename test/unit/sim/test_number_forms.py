"""Arithmetic of pairs and of mixed types, and conversions of narrow types, against exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError

Array = npt.NDArray[Any]

_COUNT = 64
_FLOATS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}

_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "e2m3": 7.5, "e3m2": 28.0}


def _run(body: str, inputs: Array, outputs: int = 1, version: str = "9.3") -> Array:
    """Threads get a row of `inputs` (64, 8) of words as %r0 to %r7, and give %r8 and on."""
    stores = "".join(f"st.global.b32 [%d1+{4 * index}], %r{8 + index};" for index in range(outputs))
    text = entry(
        f"""
  mov.u32 %r31, %tid.x; ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; mad.wide.u32 %d0, %r31, 32, %d0;
  mad.wide.u32 %d1, %r31, {4 * outputs}, %d1; ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%d0];
  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d0+16];
  {body}
  {stores}""",
        ("p", "q"),
    ).replace("8.6", version)
    out = np.zeros((_COUNT, outputs), np.uint32)
    run(assembled(text), "k", 1, _COUNT, [np.ascontiguousarray(inputs), out])
    return out


def _words(rng: np.random.Generator, scale: float = 4.0) -> Array:
    """Rows of eight f32 numbers, among them zeros, subnormal numbers, infinities and NaNs, as words."""
    values = (rng.standard_normal((_COUNT, 8)) * scale).astype(np.float32)
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38], np.float32)
    values[:8] = special[(np.arange(8)[:, None] * 3 + np.arange(8)[None, :]) % 8]
    return values.view(np.uint32)


def _exact(value: Array) -> Fraction:
    return Fraction(float(value))


_SUMS: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "fma": lambda a, b, c: a * b + c,
}


def _is_rounded(found: np.float32, exact: Fraction, mode: str) -> bool:
    """Returns True if an f32 is the exact number rounded."""
    low, high = (Fraction(float(np.nextafter(found, np.float32(end)))) for end in (-np.inf, np.inf))
    got = Fraction(float(found))
    if mode == "rn":
        return abs(got - exact) <= abs(low - exact) and abs(got - exact) <= abs(high - exact)
    down = mode == "rm" or (mode == "rz" and exact > 0)
    return got <= exact < high if down else low < exact <= got


@pytest.mark.parametrize("mode", ["rn", "rm", "rz"])
@pytest.mark.parametrize("name", _SUMS)
@pytest.mark.sample(6)
def test_pairs_of_f32(name: str, mode: str):
    """Each half of a 64-bit register is what f32 arithmetic gives."""
    words = _words(np.random.default_rng(0))
    more = (", %d7", ", %f5", ", %f6") if name == "fma" else ("", "", "")
    body = f"""mov.b64 %d5, {{%r0, %r1}}; mov.b64 %d6, {{%r2, %r3}}; mov.b64 %d7, {{%r4, %r5}};
  {name}.{mode}.f32x2 %d8, %d5, %d6{more[0]}; mov.b64 {{%r8, %r9}}, %d8;
  mov.b32 %f1, %r0; mov.b32 %f2, %r1; mov.b32 %f3, %r2; mov.b32 %f4, %r3; mov.b32 %f5, %r4; mov.b32 %f6, %r5;
  {name}.{mode}.f32 %f7, %f1, %f3{more[1]}; {name}.{mode}.f32 %f8, %f2, %f4{more[2]};
  mov.b32 %r10, %f7; mov.b32 %r11, %f8;"""
    found = _run(body, words, 4)
    assert np.array_equal(found[:, :2], found[:, 2:])
    values = words.view(np.float32)
    for row in range(8, _COUNT):
        for half in range(2):
            operands = [_exact(values[row, half + step]) for step in (0, 2, 4)]
            assert _is_rounded(found[row, half : half + 1].view(np.float32)[0], _SUMS[name](*operands), mode)


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rm", "rz"])
@pytest.mark.parametrize("name", ["add", "sub", "fma"])
@pytest.mark.sample(4)
def test_mixed_types(name: str, mode: str, half: str):
    """The first operands are 16 bits wide; the result is rounded once."""
    words = _words(np.random.default_rng(1))
    for column in range(2):
        with np.errstate(over="ignore"):
            narrow = words.view(np.float32)[:, column].astype(_FLOATS[half])
        words[:, column] = narrow.view(np.uint16)
    operands = "%h0, %h1, %f2" if name == "fma" else "%h0, %f2"
    body = f"""mov.b32 {{%h0, %h2}}, %r0; mov.b32 {{%h1, %h2}}, %r1; mov.b32 %f2, %r2;
  {name}.{mode}.f32.{half} %f3, {operands}; mov.b32 %r8, %f3;
  {name}.{mode}.sat.f32.{half} %f4, {operands}; mov.b32 %r9, %f4;"""
    found = _run(body, words, 2).view(np.float32)
    halves = words[:, :2].astype(np.uint16).view(_FLOATS[half]).astype(np.float64)
    rest = words.view(np.float32)[:, 2]
    for row in range(8, _COUNT):
        operands_of = [_exact(halves[row, 0]), _exact(halves[row, 1]), _exact(rest[row])]
        exact = _SUMS[name](*(operands_of if name == "fma" else (operands_of[0], operands_of[2], Fraction(0))))
        assert _is_rounded(found[row, 0], exact, mode)
    clipped = np.where(np.isnan(found[:, 0]), 0, np.clip(found[:, 0], 0, 1))
    assert np.array_equal(found[:, 1], clipped)


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_nan_of_tensor_maps(half: str, relu: str):
    """OOB-NaN as an operand gives 0; other NaNs give NaN."""
    dtype = _FLOATS[half]
    values = np.zeros((_COUNT, 16), dtype)
    values[:, [0, 2, 4]] = np.random.default_rng(2).integers(-9, 9, (_COUNT, 3))
    for row in range(3):
        values.view(np.uint16)[row, 2 * row] = 0x7FFE
    values[3, 2] = np.nan
    operands = "".join(f"mov.b32 {{%h{index}, %h9}}, %r{index};" for index in range(3))
    body = f"""{operands} fma.rn.oob{relu}.{half} %h3, %h0, %h1, %h2; cvt.u32.u16 %r8, %h3;
  fma.rn.oob{relu}.{half}x2 %r9, %r0, %r1, %r2; and.b32 %r9, %r9, 0xffff;"""
    found = _run(body, values.view(np.uint32), 2)
    assert np.array_equal(found[:, 0], found[:, 1])
    got = found[:, 0].astype(np.uint16).view(dtype).astype(np.float64)
    assert (got[:3] == 0).all() and np.isnan(got[3])
    a, b, c = (values[4:, index].astype(np.float64) for index in (0, 2, 4))
    assert np.array_equal(got[4:], np.maximum(a * b + c, 0) if relu else a * b + c)


def _neighbours(value: float, dtype: Any) -> tuple[float, float]:
    """The numbers of a type next to |value|, towards zero and away from it."""
    codes = np.arange(1 << min(8 * np.dtype(dtype).itemsize, 15), dtype=f"u{np.dtype(dtype).itemsize}")
    with np.errstate(invalid="ignore"):
        numbers = codes.view(dtype).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers) & (numbers >= 0)])
    index = int(np.searchsorted(numbers, abs(value), "right")) - 1
    low = float(numbers[index])
    return low, float(numbers[index + 1]) if index + 1 < len(numbers) else low


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_random_rounding_of_halves(name: str):
    rng = np.random.default_rng(3)
    words = _words(rng)
    words[:, 2] = rng.integers(0, 2**32, _COUNT)
    words[20:28, 2] = 0xFFFFFFFF
    words[28:36, 2] = 0
    body = f"mov.b32 %f0, %r0; mov.b32 %f1, %r1; cvt.rs.{name}x2.f32 %r8, %f0, %f1, %r2;"
    found = _run(body, words).view(np.uint16).reshape(_COUNT, 2)
    bits = 13 if name == "f16" else 16
    for row in range(8, _COUNT):
        for place, half in ((0, found[row, 1:]), (1, found[row, :1])):
            value = float(words.view(np.float32)[row, place])
            low, high = _neighbours(value, _FLOATS[name])
            random = Fraction(int(words[row, 2]) >> (16 if place == 0 else 0) & ((1 << bits) - 1), 1 << bits)
            up = high != low and Fraction(abs(value)) - Fraction(low) + random * Fraction(high - low) >= Fraction(
                high - low
            )
            assert float(half.view(_FLOATS[name])[0]) == np.copysign(high if up else low, value)


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m3", "e3m2"])
@pytest.mark.sample(4)
def test_random_rounding_of_four(name: str, relu: str):
    rng = np.random.default_rng(4)
    words = _words(rng, 1.0)
    words[:, 4] = rng.integers(0, 2**32, _COUNT)
    body = f"""mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
  cvt.rs{relu}.satfinite.{name}x4.f32 %r8, {{%f0, %f1, %f2, %f3}}, %r4;"""
    found = _run(body, words).view(np.uint8).reshape(_COUNT, 4)[:, ::-1]
    largest = _LARGEST[name]
    for row in range(_COUNT):
        for place in range(4):
            value = float(words.view(np.float32)[row, place])
            got = float(np.ascontiguousarray(found[row, place : place + 1]).view(_FLOATS[name])[0])
            if np.isnan(value):
                assert np.isnan(got) if name in ("e4m3", "e5m2") else got == largest
                continue
            value = max(value, 0.0) if relu else value
            value = float(np.clip(value, -largest, largest))
            low, high = _neighbours(value, _FLOATS[name])
            random = Fraction(int(words[row, 4]) >> (16 if place < 2 else 0) & 0xFFFF, 1 << 16)
            up = high != low and Fraction(abs(value)) - Fraction(low) + random * Fraction(high - low) >= Fraction(
                high - low
            )
            assert got == np.copysign(high if up else low, value)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m3", "e3m2"])
def test_scaled_conversions(name: str):
    """Every code times a power of two, rounded once to bf16."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 64 if name in ("e2m3", "e3m2") else 120, (_COUNT, 2)).astype(np.uint8)
    factors = rng.integers(100, 150, (_COUNT, 2)).astype(np.uint8)
    words = np.zeros((_COUNT, 8), np.uint32)
    words[:, 0] = codes[:, 0] | codes[:, 1].astype(np.uint32) << 8
    words[:, 1] = factors[:, 0] | factors[:, 1].astype(np.uint32) << 8
    body = f"""mov.b32 {{%h0, %h2}}, %r0; mov.b32 {{%h1, %h2}}, %r1;
  cvt.rn.scaled::n2::ue8m0.bf16x2.{name}x2 %r8, %h0, %h1;"""
    found = _run(body, words).view(np.uint16).reshape(_COUNT, 2).view(ml_dtypes.bfloat16).astype(np.float64)
    expected = codes.view(_FLOATS[name]).astype(np.float64) * 2.0 ** (factors.astype(int) - 127)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("cvt.rs.satfinite.e2m1x4.f32 %h0, {%f0, %f1, %f2, %f3}, %r0;", "which random bits are whose"),
        ("cvt.rn.satfinite.s2f6x2.f32 %h0, %f0, %f1;", "conversions of .s2f6x2 are not simulated"),
        ("cvt.rs.e4m3x4.f32 %r8, {%f0, %f1, %f2, %f3}, %r0;", "expected .satfinite with .e4m3x4"),
    ],
)
def test_what_is_refused(body: str, message: str):
    with pytest.raises(SimError, match=message):
        run(entry(body), "k", 1, 32, [np.zeros(1, np.uint32)])


@pytest.mark.parametrize("swap", [False, True])
def test_products_of_four_elements_of_4_bits(swap: bool) -> None:
    """The first element is in the lowest bits: 0.5, 1, 2 and 6 times 4, 3, 1 and 2."""
    sources, operands = ("e4m3x4", "e2m1x4"), ("%r1", "%h0")
    types, registers = (sources, operands) if swap else (sources[::-1], operands[::-1])
    body = f"""
  cvt.u16.u32 %h0, %r0;
  mul.satfinite.e4m3x4.{types[0]}.{types[1]} %r8, {registers[0]}, {registers[1]};"""
    inputs = np.zeros((_COUNT, 8), np.uint32)
    inputs[:, :2] = 0x7421, 0x40384448
    found = _run(body, inputs, version="9.4").view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    assert np.array_equal(found, np.tile(np.array([2, 3, 2, 12], np.float32), (_COUNT, 1)))
