"""Integers of 8 bits, four in a register, from the operation to numpy; and on targets that lack them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirx.diagnostics import LocatedError
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import assemble
from tirx.sim import SimError, run
from tirx.text.parsing import parse_located
from tirx.universe import new_context

OPERATIONS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}


def _ptx(operation: str, target: str) -> str:
    text = f"""
    ptx.entry @bytes(a : u64 ptr, b : u64 ptr, d : u64 ptr) target("{target}") reqntid(32) {{
      %tid = ptx.read_special tid.x
      %four = ptx.constant 4 : i32
      %at = ptx.mul.wide unsigned %tid, %four : i32 -> i64
      %a0 = ptx.ld.param @a : i64
      %b0 = ptx.ld.param @b : i64
      %d0 = ptx.ld.param @d : i64
      %a = ptx.add %a0, %at : i64
      %b = ptx.add %b0, %at : i64
      %d = ptx.add %d0, %at : i64
      %x = ptx.ld global %a : i64 -> i32
      %y = ptx.ld global %b : i64 -> i32
      {operation if "%z" in operation else f"%z = {operation} %x, %y"}
      ptx.st global %d, %z : i64, i32
      ptx.ret
    }}"""
    return print_ptx(parse_located(new_context(), text, "bytes.mlir"))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.sample(1)
def test_four_bytes(name: str, dtype: type[np.generic]) -> None:
    ptx = _ptx(f"ptx.{name}.x4{' unsigned' if dtype is np.uint8 else ''}", "sm_107a")
    assert f"{name}.{'u' if dtype is np.uint8 else 's'}8x4 " in ptx
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).integers(0, 256, 128).astype(np.uint8).view(dtype) for seed in (0, 1))
    d = np.zeros(128, dtype)
    run(ptx, "bytes", 1, 32, [a, b, d])
    np.testing.assert_array_equal(d, OPERATIONS[name](a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_saturation(name: str, dtype: type[np.generic]) -> None:
    ptx = _ptx(f"ptx.{name}.x4{' unsigned' if dtype is np.uint8 else ''} sat", "sm_107a")
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).integers(0, 256, 128).astype(np.uint8).view(dtype) for seed in (0, 1))
    d = np.zeros(128, dtype)
    run(ptx, "bytes", 1, 32, [a, b, d])
    least, most = (0, 255) if dtype is np.uint8 else (-128, 127)
    exact = OPERATIONS[name](a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(d, np.clip(exact, least, most).astype(dtype))


_Numbers = np.ndarray[Any, Any]


def _saturated(a: _Numbers, b: _Numbers) -> _Numbers:
    limits = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) + b, limits.min, limits.max)


def _set(a: _Numbers, b: _Numbers) -> _Numbers:
    return np.where(a < b, -1, 0)


def _least(a: _Numbers, b: _Numbers) -> _Numbers:
    return np.maximum(np.minimum(a, b), 0)


@pytest.mark.parametrize(
    ("operation", "dtype", "expected"),
    [
        ("ptx.add.sat unsigned", np.uint32, _saturated),
        ("ptx.add.sat", np.int32, _saturated),
        ("ptx.add.sat.x2", np.int16, _saturated),
        ("ptx.add.sat.x2 unsigned", np.uint16, _saturated),
        ("ptx.min.x4 relu", np.int8, _least),
        ("ptx.set.x4 lt", np.int8, _set),
        ("ptx.set.x4 lt unsigned", np.uint8, _set),
        ("ptx.set.x2 lt", np.int16, _set),
        ("ptx.set.x2 lt unsigned", np.uint16, _set),
    ],
)
@pytest.mark.sample(2)
def test_others(operation: str, dtype: type[np.generic], expected: Callable[[_Numbers, _Numbers], _Numbers]) -> None:
    ptx = _ptx(operation, "sm_107a")
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).integers(0, 256, 128).astype(np.uint8).view(dtype) for seed in (0, 1))
    d = np.zeros(len(a), dtype)
    run(ptx, "bytes", 1, 32, [a, b, d])
    np.testing.assert_array_equal(d, expected(a, b).astype(dtype))


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "fma"])
@pytest.mark.sample(2)
def test_mixed_pairs(name: str, half: str) -> None:
    """Pairs of f32 with one of 16-bit numbers: each is rounded once."""
    text = _ptx("ptx.add.x4", "sm_107a").split("\n")
    at = next(index for index, line in enumerate(text) if "add.s8x4" in line)
    registers = re.findall(r"%r\d+", text[at])
    lines = {
        "add": f"add.rn.f32x2.{half}x2.f32x2 %w, {registers[1]}, %v;",
        "sub": f"sub.rn.f32x2.{half}x2.f32x2 %w, {registers[1]}, %v;",
        "fma": f"fma.rn.f32x2.{half}x2.f32x2.f32x2 %w, {registers[1]}, %v, %v;",
    }
    pair = f"mov.b64 %v, {{{registers[2]}, {registers[2]}}};"
    text[at] = f"  {{ .reg .b64 %v, %w; .reg .b32 %low, %high; {pair} {lines[name]} mov.b64 {{%low, %high}}, %w; "
    text[at] += f"mov.b32 {registers[0]}, %high; }}"
    ptx = "\n".join(text)
    assert assemble(ptx, "sm_107a").ok
    dtype = np.float16 if half == "f16" else ml_dtypes.bfloat16
    a = np.random.default_rng(0).integers(-64, 64, 64).astype(np.int8).astype(dtype)
    b, d = np.random.default_rng(1).standard_normal(32).astype(np.float32), np.zeros(32, np.float32)
    run(ptx, "bytes", 1, 32, [a, b, d])
    first, second = a[1::2].astype(np.float64), b.astype(np.float64)
    exact = {"add": first + second, "sub": first - second, "fma": first * second + second}[name]
    np.testing.assert_array_equal(d, exact.astype(np.float32))
    with pytest.raises(SimError, match="does not exist here; supported on sm_107a, sm_107f"):
        run(ptx.replace("sm_107a", "sm_103a"), "bytes", 1, 32, [a, b, d])


_PACKED = "%v = ptx.pack %x, %y : i32 -> i64\n%w = ptx.pack %y, %x : i32 -> i64\n%z = "


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.sample(2)
def test_narrower_pairs(name: str, half: str) -> None:
    """Pairs of f32 to one of 16-bit numbers, rounded towards zero once; NaN is that of other arithmetic."""
    ptx = _ptx(f"{_PACKED}ptx.narrow.pair {name} {half}x2 %v, %w", "sm_107a")
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).standard_normal(32).astype(np.float32) for seed in (0, 1))
    a[0], a[1] = np.nan, 1e-40
    d = np.zeros(32, np.uint32)
    run(ptx, "bytes", 1, 32, [a, b, d])
    dtype = np.dtype(np.float16 if half == "f16" else ml_dtypes.bfloat16)
    found = d.view(dtype)[::2].astype(np.float64)
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](a.astype(np.float64), b.astype(np.float64))
    assert d[0] == 0x7FFF7FFF
    assert (np.abs(found[1:]) <= np.abs(exact[1:])).all()
    following = (d.view(np.uint16)[::2] + 1).view(dtype).astype(np.float64)
    assert (np.abs(following[1:]) > np.abs(exact[1:])).all()


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
@pytest.mark.sample(1)
def test_rounding_of_mixed_pairs(rounding: str) -> None:
    ptx = _ptx(
        f'%v = ptx.pack %y, %y : i32 -> i64\n%w = ptx.mixed.pair add f16x2 "{rounding}" %x, %v\n'
        "%z, %other = ptx.unpack %w : i64 -> i32",
        "sm_107a",
    )
    assert assemble(ptx, "sm_107a").ok and f"add.{rounding}.f32x2.f16x2.f32x2" in ptx
    a = np.random.default_rng(0).standard_normal(64).astype(np.float16)
    b, d = np.random.default_rng(1).standard_normal(32).astype(np.float32), np.zeros(32, np.float32)
    run(ptx, "bytes", 1, 32, [a, b, d])
    error = d.astype(np.float64) - (a[::2].astype(np.float64) + b)
    assert error.any()
    assert {"rm": error <= 0, "rp": error >= 0, "rz": error * d <= 0}[rounding].all()


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.sample(1)
def test_products_of_two_types(half: str) -> None:
    ptx = _ptx(f"ptx.mul.pair {half}x2", "sm_107a")
    assert assemble(ptx, "sm_107a").ok
    types = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
    own, other = types if half == "f16" else types[::-1]
    a = np.random.default_rng(0).standard_normal(64).astype(np.float32).astype(own)
    b = np.random.default_rng(1).standard_normal(64).astype(np.float32).astype(other)
    d = np.zeros(64, own)
    run(ptx, "bytes", 1, 32, [a, b, d])
    np.testing.assert_array_equal(d, (a.astype(np.float32) * b.astype(np.float32)).astype(own))


@pytest.mark.parametrize(("result", "of_a", "of_b"), [("e4m3", "e5m2", "e2m3"), ("e5m2", "e3m2", "e4m3")])
@pytest.mark.sample(1)
def test_four_products(result: str, of_a: str, of_b: str) -> None:
    operation = f'%z = ptx.mul.x4 satfinite "{result}" "{of_a}" %x, "{of_b}" %y : i32, i32'
    ptx = _ptx(operation, "sm_100a")
    assert assemble(ptx, "sm_100a").ok
    dtypes = {"e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn}
    dtypes |= {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
    codes = [np.random.default_rng(seed).integers(0, 32, 128).astype(np.uint8) for seed in (0, 1)]
    a, b = (each.view(dtypes[name]).astype(np.float32) for each, name in zip(codes, (of_a, of_b), strict=True))
    d = np.zeros(128, np.uint8)
    run(ptx, "bytes", 1, 32, [*codes, d])
    np.testing.assert_array_equal(d, (a * b).astype(dtypes[result]).view(np.uint8))
    large = np.full(128, 0x5F, np.uint8)
    ptx = _ptx('%z = ptx.mul.x4 "e4m3" "e4m3" %x, "e4m3" %y : i32, i32', "sm_100a")
    with pytest.raises(SimError, match="too large, without .satfinite: no source says more"):
        run(ptx, "bytes", 1, 32, [large, large, d])


def test_where_they_are() -> None:
    with pytest.raises(LocatedError, match="packed_integers.*supported on sm_107a, sm_107f, sm_120a"):
        _ptx("ptx.add.x4", "sm_100a")
    for form, target, message in (
        ("sub.sat.u32", "sm_107a", "expected .s32 with .sat, found .?u32"),
        ("set.lt.u8x4", "sm_120a", "set of packed integers does not exist here; supported on sm_107a, sm_107f"),
        ("mul.rn.e4m3x4.e4m3x4.e4m3x4", "sm_107a", "e4m3x4 does not exist on sm_107a; supported on sm_100a, sm_103a"),
    ):
        with pytest.raises(SimError, match=message):
            ptx = _ptx("ptx.add.x4", "sm_107a").replace("add.s8x4", form).replace("sm_107a", target)
            run(ptx, "bytes", 1, 32, [np.zeros(128, np.int8)] * 3)
    ptx = _ptx("ptx.add.x4", "sm_120a").replace("sm_120a", "sm_100a")
    with pytest.raises(SimError, match=r".s8x4 does not exist on sm_100a; supported on sm_107a"):
        run(ptx, "bytes", 1, 32, [np.zeros(128, np.int8)] * 3)
