"""Numbers of memrefs and tiles on their own, of every type that has some."""

from __future__ import annotations

import numpy as np
import pytest

import tirx
from tirx.dialects.tirx.elements import SCALAR_ELEMENTS

_NUMBERS = """
!row = !tirx.tile<1x64xTYPE, register>
tirx.kernel @k(%a: memref<?x64xTYPE>, %d: memref<?x66xTYPE, strided<[?, 1]>>) target("sm_80") grid(4) threads(64) {
  %i = tirx.block_id x
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c65 = arith.constant 65 : index
  %first = memref.load %a[%i, %c3] : memref<?x64xTYPE>
  %second = memref.load %a[%c3, %i] : memref<?x64xTYPE>
  %c = arith.cmpi slt, %i, %c3 : index
  %x = scf.if %c -> (TYPE) {
    scf.yield %first : TYPE
  } else {
    scf.yield %second : TYPE
  }
  %s = tirx.alloc copy(%a[%i, 0]) : memref<?x64xTYPE>, !tirx.tile<1x64xTYPE, shared>
  %r = tirx.load %s : !tirx.tile<1x64xTYPE, shared> -> !row
  %y = tirx.subview %r[0, 37] : !row -> TYPE
  %z = arith.select %c, %y, %second : TYPE
  %all = tirx.splat %x : TYPE -> !row
  tirx.store %all, %d[%i, 0] : !row, memref<?x66xTYPE, strided<[?, 1]>>
  memref.store %z, %d[%i, %c64] : memref<?x66xTYPE, strided<[?, 1]>>
  tirx.fill %s, %y : TYPE, !tirx.tile<1x64xTYPE, shared>
  %o = tirx.load %s[0, %i] : !tirx.tile<1x64xTYPE, shared> -> !tirx.tile<1x1xTYPE, register>
  %w = tirx.element %o : !tirx.tile<1x1xTYPE, register> -> TYPE
  memref.store %w, %d[%i, %c65] : memref<?x66xTYPE, strided<[?, 1]>>
  %beyond = tirx.load %a[%i, 44] clipped pad(%first) : memref<?x64xTYPE> -> !tirx.tile<1x32xTYPE, register>
  tirx.store %beyond, %d[%i, 32] : !tirx.tile<1x32xTYPE, register>, memref<?x66xTYPE, strided<[?, 1]>>
}
"""


@pytest.mark.sample(6)
@pytest.mark.parametrize("element", [*map(str, SCALAR_ELEMENTS)])
def test_numbers_of_every_type(element: str) -> None:
    """They are loaded, chosen, taken out of tiles, filled with and stored as the interpreter does."""
    program = tirx.build(_NUMBERS.replace("TYPE", element))
    assert [each.exact == each.launches > 0 for each in program.check(numbers=["normal"], seconds=0.1)] == [True]


_SIGNS = """
tirx.kernel @k(%u: memref<8xui8>, %s: memref<8xsi8>, %t: memref<8xtf32>, %d: memref<8xi32>, %v: memref<8xui8>,
    %w: memref<8xtf32>) target("sm_80") grid(8) threads(32) {
  %i = tirx.block_id x
  %x = memref.load %u[%i] : memref<8xui8>
  %y = memref.load %s[%i] : memref<8xsi8>
  %f = memref.load %t[%i] : memref<8xtf32>
  %sum = tirx.map () { i32(%x) * 1000 + i32(%y) } -> i32
  %narrow = tirx.map () { ui8(%sum >> 3) } -> ui8
  %float = tirx.map () { %f * 2.0 + f32(%x) } -> tf32
  %last = memref.alloca() : memref<ui8>
  memref.store %narrow, %last[] : memref<ui8>
  %same = memref.load %last[] : memref<ui8>
  memref.store %sum, %d[%i] : memref<8xi32>
  memref.store %same, %v[%i] : memref<8xui8>
  memref.store %float, %w[%i] : memref<8xtf32>
}
"""


def test_expressions_know_of_signs() -> None:
    """Numbers without one are extended by zeros, and those of tf32 are f32."""
    u, s = np.arange(249, 257).astype(np.uint8), np.arange(-4, 4).astype(np.int8)
    t, d, v, w = np.arange(8).astype(np.float32), np.zeros(8, np.int32), np.zeros(8, np.uint8), np.zeros(8, np.float32)
    tirx.build(_SIGNS).kernels["k"].simulate(u, s, t, d, v, w)
    total = u.astype(np.int32) * 1000 + s
    assert np.array_equal(d, total) and np.array_equal(v, (total >> 3).astype(np.uint8))
    assert np.array_equal(w, 2 * t + u)


_SAME_BITS = """
tirx.kernel @k(%u: memref<8xui64>, %s: memref<8xi32>, %d: memref<8xi64>, %v: memref<8xui32>, %w: memref<8xui64>,
    %f: memref<16xf32>) target("sm_80") grid(8) threads(32) {
  %i = tirx.block_id x
  %c8 = arith.constant 8 : index
  %j = arith.addi %i, %c8 : index
  %x = memref.load %u[%i] : memref<8xui64>
  %y = memref.load %s[%i] : memref<8xi32>
  memref.store %x, %w[%i] : memref<8xui64>
  %half = tirx.map () { i64(%x) >> 1 } -> i64
  memref.store %half, %d[%i] : memref<8xi64>
  %bits = tirx.map () { ui32(%y) } -> ui32
  memref.store %bits, %v[%i] : memref<8xui32>
  %positive = tirx.map () { f32(%bits) } -> f32
  %number = tirx.map () { f32(i32(%bits)) } -> f32
  memref.store %positive, %f[%i] : memref<16xf32>
  memref.store %number, %f[%j] : memref<16xf32>
}
"""


def test_numbers_get_and_lose_a_sign() -> None:
    """A conversion to as many bits keeps these; one that is stored as it was loaded needs none."""
    u, s = (np.arange(8) - 4).astype(np.uint64), np.arange(-4, 4).astype(np.int32)
    d, v, w, f = np.zeros(8, np.int64), np.zeros(8, np.uint32), np.zeros(8, np.uint64), np.zeros(16, np.float32)
    kernel = tirx.build(_SAME_BITS, verify=True).kernels["k"]
    kernel.simulate(u, s, d, v, w, f)
    assert np.array_equal(d, u.astype(np.int64) >> 1) and np.array_equal(w, u)
    assert np.array_equal(v, s.astype(np.uint32))
    assert np.array_equal(f, np.concatenate([s.astype(np.uint32), s]).astype(np.float32))


_VARIABLE = """
tirx.kernel @k(%a: memref<4xf32>, %d: memref<4xf32>) target("sm_80") grid(4) threads(32) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = memref.alloca() : memref<f32>
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %sum[] : memref<f32>
  scf.for %k = %c0 to %i step %c1 {
    %x = memref.load %a[%k] : memref<4xf32>
    %old = memref.load %sum[] : memref<f32>
    %new = arith.addf %old, %x : f32
    memref.store %new, %sum[] : memref<f32>
  }
  %all = memref.load %sum[] : memref<f32>
  memref.store %all, %d[%i] : memref<4xf32>
}
"""


def test_variables_are_interpreted() -> None:
    a, d = np.arange(1, 5).astype(np.float32), np.zeros(4, np.float32)
    assert tirx.build(_VARIABLE).kernels["k"].check(a, d).exact == 1


_PLACES = """
tirx.kernel @k(%x: memref<1xui8>, %t: memref<256xtf32>, %d: memref<3xtf32>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %half = arith.constant 5.0e-01 : f16
  %three = arith.constant 3.0 : tf32
  %u = memref.load %x[%c0] : memref<1xui8>
  %i = arith.index_cast %u : ui8 to index
  %y = memref.load %t[%i] : memref<256xtf32>
  %z = tirx.map () { f32(%half) + %three } -> tf32
  memref.store %y, %d[%c0] : memref<3xtf32>
  memref.store %three, %d[%c1] : memref<3xtf32>
  memref.store %z, %d[%c2] : memref<3xtf32>
}
"""


def test_places_and_constants_of_numbers_with_signs() -> None:
    kernel = tirx.build(_PLACES).kernels["k"]
    x, t, d = np.array([200], np.uint8), np.arange(256).astype(np.float32), np.zeros(3, np.float32)
    assert kernel.check(x, t, d).exact == 1
    kernel.simulate(x, t, d)
    assert np.array_equal(d, [200, 3, 3.5])


_INDICES = """
!m = memref<16x32xindex>
!t = !tirx.tile<16x32xindex, register>
tirx.kernel @k(%a: !m, %x: memref<40x32xf32>, %d: !m, %e: memref<16x32xf32>, %h: memref<16x1xindex>)
    grid(1) threads(64) {
  %c5 = arith.constant 5 : index
  %s = tirx.alloc copy(%a[0, 0]) : !m, !tirx.tile<16x32xindex, shared>
  %v = tirx.load %s : !tirx.tile<16x32xindex, shared> -> !t
  %fives = tirx.splat %c5 : index -> !t
  %k = tirx.map ins(%v, %fives : !t, !t) (%p, %q) { maxsi(%p * 3 + index(1), %q) } -> !t
  %scanned = tirx.scan ins(%k : !t) dim(1) (%p, %q) { minsi(%p, %q) } -> !t
  tirx.store %scanned, %d[0, 0] : !t, !m
  %row = tirx.map () { index(0) * 3 } -> !tirx.tile<16xindex, register>
  %y = tirx.load %x[[%row], 0] clipped : memref<40x32xf32> -> !tirx.tile<16x32xf32, register>
  tirx.store %y, %e[0, 0] : !tirx.tile<16x32xf32, register>, memref<16x32xf32>
  %sum = tirx.reduce %k dim(1) add : !t -> !tirx.tile<16x1xindex, register>
  tirx.store %sum, %h[0, 0] : !tirx.tile<16x1xindex, register>, memref<16x1xindex>
}
"""


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_tiles_of_indices(target: str) -> None:
    """They have 64 bits, arithmetic, and name rows."""
    kernel = tirx.build(_INDICES, target).kernels["k"]
    rng = np.random.default_rng(0)
    a, x = rng.integers(-(2**40), 2**40, (16, 32)), rng.standard_normal((40, 32), np.float32)
    d, e, h = np.zeros_like(a), np.zeros((16, 32), np.float32), np.zeros((16, 1), np.int64)
    assert kernel.check(a, x, d, e, h).exact == 1
    kernel.simulate(a, x, d, e, h)
    k = np.maximum(3 * a + np.arange(32), 5)
    assert np.array_equal(d, np.minimum.accumulate(k, 1)) and np.array_equal(h, k.sum(1, keepdims=True))
    assert np.array_equal(e, np.pad(x[::3], ((0, 2), (0, 0))))


_CONVERTED = """
tirx.kernel @k(%a: memref<256xTYPE>, %wide: memref<256xWIDE>, %back: memref<256xTYPE>)
    target("sm_100a") grid(256) threads(32) {
  %i = tirx.block_id x
  %x = memref.load %a[%i] : memref<256xTYPE>
  %w = arith.extf %x : TYPE to WIDE
  memref.store %w, %wide[%i] : memref<256xWIDE>
  %y = arith.truncf %w : WIDE to TYPE
  memref.store %y, %back[%i] : memref<256xTYPE>
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("wide", ["f32", "bf16"])
@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_floats_of_a_byte(element: str, wide: str) -> None:
    """All of them are exact in f32 and bf16, and come back: infinities as the largest number."""
    dtype = np.dtype(f"float8_{element[2:].lower()}")
    numbers = np.arange(256, dtype=np.uint8).view(dtype)
    found, back = np.zeros(256, np.dtype({"f32": "float32"}.get(wide, "bfloat16"))), np.zeros_like(numbers)
    program = tirx.build(_CONVERTED.replace("TYPE", element).replace("WIDE", wide))
    program.kernels["k"].simulate(numbers, found, back)
    wanted = numbers.astype(np.float32)
    assert np.array_equal(found.astype(np.float32), wanted, equal_nan=True)
    largest = wanted[np.isfinite(wanted)].max()
    assert np.array_equal(back.astype(np.float32), np.clip(wanted, -largest, largest), equal_nan=True)


_MASKS = """
!g = memref<?x64xi1>
!m = !tirx.tile<16x64xi1, register>
!t = !tirx.tile<16x64xf32, register>
tirx.kernel @k(%a: memref<?x64xf32>, %m: !g, %d: memref<?x64xf32>, %n: !g) target("TARGET")
    grid(ceildiv(size(0, 0), 16)) threads(64) {
  %i = tirx.block_id x
  %true = arith.constant true
  %x = tirx.load %a[%i * 16, 0] clipped : memref<?x64xf32> -> !t
  %s = tirx.alloc copy(%m[%i * 16, 0] clipped) : !g, !tirx.tile<16x64xi1, shared>
  %back = tirx.subview %s[0, 63] steps [1, -1] : !tirx.tile<16x64xi1, shared> -> !tirx.tile<16x64xi1, shared>
  %b = tirx.load %back : !tirx.tile<16x64xi1, shared> -> !m
  %k = tirx.load %m[%i * 16, 1] clipped pad(%true) : !g -> !m
  %one = tirx.subview %b[3, 5] : !m -> i1
  %either = arith.select %one, %b, %k : !m
  %zeros = tirx.zero : !m
  %c = scf.if %one -> (!m) {
    scf.yield %either : !m
  } else {
    scf.yield %zeros : !m
  }
  %y, %l = tirx.map ins(%x, %c, %k : !t, !m, !m) (%e, %p, %q) {
    select(%p, %e, -1.0), (%q & !%one) | (%e < 0.0)
  } -> !t, !m
  tirx.store %y, %d[%i * 16, 0] clipped : !t, memref<?x64xf32>
  tirx.store %l, %n[%i * 16, 0] clipped : !m, !g
}
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_masks(target: str) -> None:
    """Truths are bytes in memory, which arrays of bool are."""
    program = tirx.build(_MASKS.replace("TARGET", target))
    assert [each.exact == each.launches > 0 for each in program.check(seconds=0.3)] == [True]
    rng = np.random.default_rng(0)
    a, m = rng.standard_normal((20, 64), np.float32), rng.random((20, 64)) < 0.5
    d, n = np.zeros_like(a), np.zeros_like(m)
    program.kernels["k"].simulate(a, m, d, n)
    k = np.pad(m[:, 1:], ((0, 0), (0, 1)), constant_values=True)
    one = np.repeat(np.array([m[3, 58], m[19, 58]]), [16, 4])[:, None]
    assert np.array_equal(d, np.where(one & m[:, ::-1], a, -1.0)) and np.array_equal(n, (k & ~one) | (a < 0))


_LOW_BITS = """
tirx.kernel @k(%a: memref<32xi32>, %d: memref<32xi32>, %m: memref<32xi1>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.load %a[0] : memref<32xi32> -> !tirx.tile<32xi32, register>
  %w = memref.load %a[%c0] : memref<32xi32>
  %n = arith.trunci %w : i32 to TYPE
  %t = arith.trunci %n : TYPE to i1
  %y, %q = tirx.map ins(%x : !tirx.tile<32xi32, register>) {
  ^bb0(%e: i32):
    %f = arith.trunci %e : i32 to TYPE
    %u = arith.trunci %f : TYPE to i1
    %g = arith.extsi %u : i1 to i32
    %v = arith.xori %u, %t : i1
    tirx.yield %g, %v : i32, i1
  } -> !tirx.tile<32xi32, register>, !tirx.tile<32xi1, register>
  tirx.store %y, %d[0] : !tirx.tile<32xi32, register>, memref<32xi32>
  tirx.store %q, %m[0] : !tirx.tile<32xi1, register>, memref<32xi1>
}
"""


@pytest.mark.parametrize("narrow", ["i4", "i8"])
def test_low_bits_of_narrow_integers(narrow: str) -> None:
    """The truth that a narrow integer is truncated to is its lowest bit."""
    a, d, m = np.arange(-15, 17, dtype=np.int32), np.zeros(32, np.int32), np.zeros(32, bool)
    tirx.build(_LOW_BITS.replace("TYPE", narrow)).kernels["k"].simulate(a, d, m)
    assert np.array_equal(d, -(a & 1)) and np.array_equal(m, a & 1 != a[0] & 1)
