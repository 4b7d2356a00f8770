"""Parts of tiles at coordinates that a kernel computes: in shared, tensor and global memory."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
import tirx as tx
from tirx import f16, f32

SHARED = """
!s = !tirx.tile<32x64xf16, shared{layout}>
!p = !tirx.tile<8x32xf16, shared>
!g = !tirx.tile<8x32xf16, global>
tirx.kernel @k(%a: memref<32x64xf16>, %d: memref<32x64xf16>) target("{target}") grid(1) threads(64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c24 = arith.constant 24 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<32x64xf16> -> !tirx.tile<32x64xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<32x64xf16> -> !tirx.tile<32x64xf16, global>
  scf.for %i = %c0 to %c4 step %c1 {{
    scf.for %j = %c0 to %c2 step %c1 {{
      %m = arith.muli %i, %c8 : index
      %n = arith.muli %j, %c32 : index
      %part = tirx.subview %s[%m, %n] : !s -> {part}
      %from = tirx.subview %ga[%m, %n] : !tirx.tile<32x64xf16, global> -> !g
      tirx.copy %from, %part {engine} : !g, {part}
    }}
  }}
  scf.for %i = %c0 to %c4 step %c1 {{
    %m = arith.muli %i, %c8 : index
    %to = arith.subi %c24, %m : index
    scf.for %j = %c0 to %c2 step %c1 {{
      %n = arith.muli %j, %c32 : index
      %part = tirx.subview %s[%m, %n] : !s -> {part}
      %gp = tirx.subview %gd[%to, %n] : !tirx.tile<32x64xf16, global> -> !g
      tirx.copy %part, %gp : {part}, !g
    }}
  }}
  tirx.return
}}
"""

BOXES = ", #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(32, 2, 32) : (32, 1024, 1)]>>"
BOX = (
    "!tirx.tile<8x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, "
    "#tirx.tile_layout<S[(8, 32) : (32, 1)]>>>"
)


@pytest.mark.parametrize(
    "target, layout, part, engine",
    [
        ("sm_75", "", "!p", ""),
        ("sm_80", "", "!p", "engine cp_async"),
        ("sm_90a", BOXES, BOX, "engine tma"),
    ],
)
@pytest.mark.sample(2)
def test_parts_of_shared_and_global_tiles(target: str, layout: str, part: str, engine: str):
    program = tirx.build(SHARED.format(target=target, layout=layout, part=part, engine=engine))
    assembled(program.ptx)
    a, d = np.arange(2048, dtype=np.float16).reshape(32, 64), np.zeros((32, 64), np.float16)
    program.kernels["k"].simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, a.reshape(4, 8, 64)[::-1].reshape(32, 64))


PRODUCTS = """
!a = !tirx.tile<{m}x128xf16, shared>
!b = !tirx.tile<32x128xf16, shared>
!sums = !tirx.tile<{m}x64xf32, {memory}>
!acc = !tirx.tile<{m}x32xf32, {memory}>
tirx.kernel @k(%a: memref<{m}x128xf16>, %b: memref<64x128xf16>, %d: memref<{m}x64xf32>)
    target("{target}") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %ga = tirx.view %a[%c0, %c0] : memref<{m}x128xf16> -> !tirx.tile<{m}x128xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<{m}x128xf16, global>, !a
  {alloc}
  scf.for %j = %c0 to %c2 step %c1 {{
    %n = arith.muli %j, %c32 : index
    %gb = tirx.view %b[%n, %c0] : memref<64x128xf16> -> !tirx.tile<32x128xf16, global>
    tirx.copy %gb, %sb : !tirx.tile<32x128xf16, global>, !b
    {part}
    tirx.fill %acc, %zero : f32, !acc
    scf.for %kk = %c0 to %c2 step %c1 {{
      %k = arith.muli %kk, %c64 : index
      %pa = tirx.subview %sa[0, %k] : !a -> !tirx.tile<{m}x64xf16, shared>
      %pb = tirx.subview %sb[0, %k] : !b -> !tirx.tile<32x64xf16, shared>
      tirx.mma %pa, %pb, %acc : !tirx.tile<{m}x64xf16, shared>, !tirx.tile<32x64xf16, shared>, !acc
    }}
    %gd = tirx.view %d[%c0, %n] : memref<{m}x64xf32> -> !tirx.tile<{m}x32xf32, global>
    tirx.copy %acc, %gd : !acc, !tirx.tile<{m}x32xf32, global>
  }}
  tirx.return
}}
"""

ONE = "%acc = tirx.alloc : !acc"


@pytest.mark.parametrize(
    "target, memory, m, alloc, part",
    [
        ("sm_80", "register", 32, ONE, ""),
        ("sm_90a", "register", 64, ONE, ""),
        ("sm_100a", "tensor", 128, "%sums = tirx.alloc : !sums", "%acc = tirx.subview %sums[0, %n] : !sums -> !acc"),
    ],
)
@pytest.mark.sample(1)
def test_products_of_parts(target: str, memory: str, m: int, alloc: str, part: str):
    """Descriptors, fragments and columns of tensor memory start at computed coordinates."""
    program = tirx.build(PRODUCTS.format(target=target, memory=memory, m=m, alloc=alloc, part=part))
    assembled(program.ptx)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (rows, 128)).astype(np.float16) for rows in (m, 64))
    d = np.zeros((m, 64), np.float32)
    program.kernels["k"].simulate(a, b, d, check="strict")
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


def _stepped(a: tx.Array, b: tx.Array, c: tx.Array) -> None:
    s, r = tx.shared(a[:, :]), tx.shared(b[:, :])
    sums = tx.zeros(f32, 32, 32)
    sums += s[::-1, ::2][::2, :] @ r[31::-1, 1::2].T
    c[:, :] = sums
    for i in tx.range(32):
        c[i, 0:16] += s[i, 63:31:-2].to(f32)


def test_steps_of_shared_tiles() -> None:
    """Steps of steps, backwards, as operands of a product, and beside computed coordinates."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    kernel = tx.jit(f16[64, 64], f16[64, 64], f32[32, 32], threads=64, target="sm_80", grid=[1])(_stepped)
    program = tirx.build(kernel.module)
    assembled(program.ptx)
    program.kernels["_stepped"].simulate(a, b, c, check="strict")
    expected = a[::-2, ::2].astype(np.float32) @ b[31::-1, 1::2].T.astype(np.float32)
    expected[:, :16] += a[:32, 63:31:-2]
    np.testing.assert_array_equal(c, expected)


_STEPPED = """
!t = !tirx.tile<4x8xf32, global>
!r = !tirx.tile<4x8xf32, register>
tirx.kernel @k(%a: memref<?x?xf32>, %d: memref<?x?xf32>, %m: index, %n: index) grid(1) threads(32) {
  %x = tirx.view %a[%m, %n] steps [2, 3] clipped : memref<?x?xf32> -> !t
  %y = tirx.load %x : !t -> !r
  %z = tirx.view %d[%m, %n] steps [2, 3] clipped : memref<?x?xf32> -> !t
  tirx.store %y, %z : !r, !t
  tirx.return
}
"""


def test_steps_of_views_that_are_clipped_in_both_dimensions() -> None:
    kernel = tirx.build(_STEPPED, "sm_80").kernels["k"]
    a = 1 + np.arange(9 * 26, dtype=np.float32).reshape(9, 26)
    for m, n in ((0, 0), (3, 5), (2, 4), (8, 25)):
        d, expected = np.zeros_like(a), np.zeros_like(a)
        expected[m : m + 8 : 2, n : n + 24 : 3] = a[m : m + 8 : 2, n : n + 24 : 3]
        kernel.simulate(a, d, m, n)
        assert np.array_equal(d, expected), (m, n)
