"""Copies between any two memories, and of any shape, move every element once."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.runtime import ArgumentError, Kernel, Program


def _by_way_of(shape: tuple[int, ...], dtype: str, tiles: list[str], target: str, threads: int) -> str:
    """A kernel that copies a matrix through tiles of these memories, one after the other."""
    extents = "x".join(map(str, shape))
    names = [f"%t{i}" for i in range(len(tiles))]
    types = [f"!tirx.tile<{extents}x{dtype}, {memory}>" for memory in ("global", *tiles, "global")]
    allocs = "\n".join(f"{name} = tirx.alloc : {type_}" for name, type_ in zip(names, types[1:], strict=False))
    ends = ["%ga", *names, "%gd"]
    copies = "\n".join(f"tirx.copy {ends[i]}, {ends[i + 1]} : {types[i]}, {types[i + 1]}" for i in range(len(ends) - 1))
    zeros = ", ".join(["%c0"] * len(shape))
    return f"""
      tirx.kernel @k(%a: memref<{extents}x{dtype}>, %d: memref<{extents}x{dtype}>)
          target("{target}") grid(1) threads({threads}) {{
        %c0 = arith.constant 0 : index
        %ga = tirx.view %a[{zeros}] : memref<{extents}x{dtype}> -> !tirx.tile<{extents}x{dtype}, global>
        %gd = tirx.view %d[{zeros}] : memref<{extents}x{dtype}> -> !tirx.tile<{extents}x{dtype}, global>
        {allocs}
        {copies}
        tirx.return
      }}"""


def _check(text: str, shape: tuple[int, ...], dtype: str) -> str:
    program = tirx.build(text)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    if dtype.startswith("f6"):
        a = rng.integers(0, 256, (*shape[:-1], shape[-1] * 6 // 8), np.uint8)
    else:
        a = rng.integers(-9, 10, shape).astype({"f16": np.float16, "f32": np.float32}[dtype])
    d = np.zeros_like(a)
    program.kernels["k"].simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, a)
    return program.ptx


@pytest.mark.parametrize(
    ("shape", "dtype", "tiles", "threads"),
    [
        ((64, 16), "f32", ["tensor", "tensor"], 128),
        ((64, 16), "f16", ["shared", "tensor", "tensor", "register", "tensor", "shared"], 256),
        ((2, 256, 8), "f16", ["tensor"], 128),
        ((64, 32), "f6E2M3FN", ["tensor", "shared", "tensor", "register"], 128),
    ],
)
@pytest.mark.sample(2)
def test_tensor_memory(shape: tuple[int, ...], dtype: str, tiles: list[str], threads: int):
    """Tiles in tensor memory that no product uses have rows on lanes; they are copied to each other, too."""
    _check(_by_way_of(shape, dtype, tiles, "sm_100a", threads), shape, dtype)


@pytest.mark.parametrize(
    ("shape", "threads", "accesses"),
    [((131, 16), 128, 4), ((131, 17), 128, 7), ((37, 19), 64, 8), ((257, 64), 256, 9), ((101, 101), 96, 25)],
)
@pytest.mark.sample(2)
def test_odd_shapes(shape: tuple[int, int], threads: int, accesses: int):
    """Copies of tiles that the threads do not divide are vectors but for a rest of less than a vector each."""
    ptx = _check(_by_way_of(shape, "f16", ["shared"], "sm_80", threads), shape, "f16")
    assert len(re.findall(r"ld\.global", ptx)) == accesses


_SCALED = """
tirx.kernel @k(%a: memref<128x256xf8E4M3FN>, %s: memref<128x8xf8E8M0FNU>, %d: memref<128x128xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x128xf8E4M3FN, shared>
  %ts = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
  scf.for %k = %c0 to %c256 step %c128 {
    %step = arith.divui %k, %c32 : index
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf8E4M3FN> -> !tirx.tile<128x128xf8E4M3FN, global>
    %gs = tirx.view %s[%c0, %step] : memref<128x8xf8E8M0FNU> -> !tirx.tile<128x4xf8E8M0FNU, global>
    tirx.copy %ga, %sa : !tirx.tile<128x128xf8E4M3FN, global>, !tirx.tile<128x128xf8E4M3FN, shared>
    tirx.copy %gs, %ts : !tirx.tile<128x4xf8E8M0FNU, global>, !tirx.tile<128x4xf8E8M0FNU, tensor>
    tirx.mma %sa, %sa, %acc scales(%ts, %ts) : !tirx.tile<128x128xf8E4M3FN, shared>,
      !tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf32, tensor>,
      !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, global>
  tirx.return
}
"""


def test_scale_factors_from_global_memory():
    program = tirx.build(_SCALED)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (128, 256)).astype(ml_dtypes.float8_e4m3fn)
    s = (2.0 ** rng.integers(-1, 3, (128, 8))).astype(ml_dtypes.float8_e8m0fnu)
    d = np.zeros((128, 128), np.float32)
    program.kernels["k"].simulate(a, s, d, check="strict")
    scaled = a.astype(np.float32) * np.repeat(s.astype(np.float32), 32, axis=1)
    np.testing.assert_array_equal(d, scaled @ scaled.T)


_EXCHANGE = """
tirx.kernel @k(%a: memref<128x256xf16>, %b: memref<64x256xf16>, %d: memref<128x64xf32, strided<[1, 128]>>)
    target("sm_89") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, accumulator>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, accumulator>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x256xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>,
      !tirx.tile<128x64xf32, accumulator>
  }
  %sums = tirx.load %acc : !tirx.tile<128x64xf32, accumulator> -> !tirx.tile<128x64xf32, register>
  %columns = tirx.convert %sums : !tirx.tile<128x64xf32, register> ->
    !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32, strided<[1, 128]>> -> !tirx.tile<128x64xf32, global>
  tirx.store %columns, %gd :
    !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>,
    !tirx.tile<128x64xf32, global>
  tirx.return
}
"""


def test_rings_leave_room_for_exchanges():
    """Four slots would leave no room for the tile through which the sums change their layout."""
    program = tirx.build(_EXCHANGE)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, 256)).astype(np.float16) for rows in (128, 64))
    d = np.zeros((128, 64), np.float32, order="F")
    program.kernels["k"].simulate(a, b, d, check="strict")
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


_STRIDES = """
tirx.kernel @k(%a: memref<?x?x?xf16>, %d: memref<?x?xf16, strided<[1, ?]>>) target("TARGET") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<16x32xf16, shared>
  %ga = tirx.view %a[%c1, %c0, %c0] CLIPPED : memref<?x?x?xf16> -> !tirx.tile<16x32xf16, global>
  %gd = tirx.view %d[%c0, %c0] CLIPPED : memref<?x?xf16, strided<[1, ?]>> -> !tirx.tile<16x32xf16, global>
  tirx.copy %ga, %s ENGINE : !tirx.tile<16x32xf16, global>, !tirx.tile<16x32xf16, shared>
  %upper = tirx.subview %s[8, 0] : !tirx.tile<16x32xf16, shared> -> !tirx.tile<8x32xf16, shared>
  %gupper = tirx.subview %gd[8, 0] : !tirx.tile<16x32xf16, global> -> !tirx.tile<8x32xf16, global>
  %lower = tirx.subview %s[0, 0] : !tirx.tile<16x32xf16, shared> -> !tirx.tile<8x32xf16, shared>
  %glower = tirx.subview %gd[0, 0] : !tirx.tile<16x32xf16, global> -> !tirx.tile<8x32xf16, global>
  tirx.copy %upper, %gupper : !tirx.tile<8x32xf16, shared>, !tirx.tile<8x32xf16, global>
  tirx.copy %lower, %glower : !tirx.tile<8x32xf16, shared>, !tirx.tile<8x32xf16, global>
  tirx.return
}
"""


def _strided(target: str, clipped: bool, engine: str) -> Kernel:
    text = _STRIDES.replace("TARGET", target).replace("CLIPPED", "clipped" if clipped else "").replace("ENGINE", engine)
    program = tirx.build(text)
    assembled(program.ptx)
    return program.kernels["k"]


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(16, 32), (16, 40), (17, 33), (11, 27)])
@pytest.mark.sample(3)
def test_run_time_strides(clipped: bool, rows: int, columns: int):
    """Threads find elements behind any strides, by vectors where these are multiples of 16 bytes."""
    if not clipped and (rows < 16 or columns < 32):
        return
    a = np.random.default_rng(0).integers(-9, 10, (2, rows, columns)).astype(np.float16)
    d = np.full((rows, columns), 7, np.float16, order="F")
    _strided("sm_75", clipped, "").simulate(a, d, check="strict")
    expected = np.full_like(d, 7)
    expected[:16, :32] = a[1, :16, :32]
    np.testing.assert_array_equal(d, expected)


def test_cp_async_needs_strides_of_16_bytes():
    kernel = _strided("sm_80", True, "engine cp_async")
    a = np.random.default_rng(0).integers(-9, 10, (2, 11, 24)).astype(np.float16)
    d = np.zeros((11, 24), np.float16, order="F")
    kernel.simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, a[1])
    with pytest.raises(ArgumentError, match="multiple of 16 bytes along dimension 1 of 'a' for cp.async"):
        kernel.simulate(np.zeros((2, 11, 27), np.float16), np.zeros((11, 27), np.float16, order="F"))


def test_gaps_between_rows_of_16_bytes():
    """Where sizes make strides multiples of 16 bytes, a launch with an array that has gaps has to keep to it."""
    text = """
    !t = !tirx.tile<2x16x64xf16, global>
    !s = !tirx.tile<2x16x64xf16, shared>
    tirx.kernel @k(%a: memref<2x?x64xf16>, %d: memref<2x16x64xf16>) target("sm_80") grid(1) threads(64) {
      %c0 = arith.constant 0 : index
      %s = tirx.alloc : !s
      %ga = tirx.view %a[%c0, %c0, %c0] : memref<2x?x64xf16> -> !t
      %gd = tirx.view %d[%c0, %c0, %c0] : memref<2x16x64xf16> -> !t
      tirx.copy %ga, %s : !t, !s
      tirx.copy %s, %gd : !s, !t
      tirx.return
    }
    """
    kernel = tirx.build(text).kernels["k"]
    numbers, d = np.arange(2600).astype(np.float16), np.zeros((2, 16, 64), np.float16)
    whole = numbers[:2560].reshape(2, 20, 64)[:, :17]
    kernel.simulate(whole, d, check="strict")
    np.testing.assert_array_equal(d, whole[:, :16])
    uneven = np.lib.stride_tricks.as_strided(numbers, (2, 17, 64), ((17 * 64 + 1) * 2, 128, 2))
    kernel.simulate(uneven, d, check="strict")  # by another kernel
    np.testing.assert_array_equal(d, uneven[:, :16])
    with pytest.raises(ArgumentError, match="multiple of 16 bytes along dimension 0 of 'a' for vectors"):
        Program.from_json(kernel.program.to_json()).kernels["k"].simulate(uneven, d)
