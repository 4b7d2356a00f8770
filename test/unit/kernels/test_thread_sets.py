"""Kernels with 32 to 1024 threads compute the same numbers as numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.sim.assembled import assembled

import tirx
from tirx.sim import run

SMALL = (32, 64, 96)
LARGE = (128, 160, 256, 384, 512, 1024)

Matrix = NDArray[Any]


def small_integers(shape: tuple[int, ...], dtype: type[np.generic], seed: int) -> Matrix:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def product_kernel(threads: int, m: int, n: int, k: int, target: str, dtype: str, sums: str, memory: str) -> str:
    """D += A B^T in the memory of the accumulator, which goes through registers as a value once more."""
    operands = "register" if memory == "register" else "shared"
    a, b, d = f"{m}x{k}x{dtype}", f"{n}x{k}x{dtype}", f"{m}x{n}x{sums}"
    tiles = f"!tirx.tile<{a}, {operands}>, !tirx.tile<{b}, {operands}>, !tirx.tile<{d}, {memory}>"
    return f"""
    tirx.kernel @k(%a: memref<{a}>, %b: memref<{b}>, %d: memref<{d}>) target("{target}") threads({threads}) {{
      %c0 = arith.constant 0 : index
      %ta = tirx.alloc : !tirx.tile<{a}, {operands}>
      %tb = tirx.alloc : !tirx.tile<{b}, {operands}>
      %acc = tirx.alloc : !tirx.tile<{d}, {memory}>
      %again = tirx.alloc : !tirx.tile<{d}, register>
      %ga = tirx.view %a[%c0, %c0] : memref<{a}> -> !tirx.tile<{a}, global>
      %gb = tirx.view %b[%c0, %c0] : memref<{b}> -> !tirx.tile<{b}, global>
      %gd = tirx.view %d[%c0, %c0] : memref<{d}> -> !tirx.tile<{d}, global>
      tirx.copy %gd, %acc : !tirx.tile<{d}, global>, !tirx.tile<{d}, {memory}>
      tirx.copy %ga, %ta : !tirx.tile<{a}, global>, !tirx.tile<{a}, {operands}>
      tirx.copy %gb, %tb : !tirx.tile<{b}, global>, !tirx.tile<{b}, {operands}>
      tirx.mma %ta, %tb, %acc : {tiles}
      tirx.copy %acc, %again : !tirx.tile<{d}, {memory}>, !tirx.tile<{d}, register>
      tirx.copy %again, %acc : !tirx.tile<{d}, register>, !tirx.tile<{d}, {memory}>
      tirx.copy %acc, %gd : !tirx.tile<{d}, {memory}>, !tirx.tile<{d}, global>
      tirx.return
    }}
    """


def check_product(text: str, a: Matrix, b: Matrix, d: Matrix, threads: int, blocks: int = 1) -> None:
    expected = d + a.astype(d.dtype) @ b.astype(d.dtype).T
    grid = (blocks, 1, 1)
    run(assembled(tirx.compile(text)), "k", grid, (threads, 1, 1), [a, b, d], cluster=grid)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize(("threads", "m"), [*((t, 128) for t in LARGE), (256, 64)])
@pytest.mark.sample(1)
def test_products_in_tensor_memory(threads: int, m: int):
    n = 64  # columns of a row that one thread of a warpgroup holds, all its registers in a block of 1024 threads
    a, b = small_integers((m, 32), np.float16, 0), small_integers((n, 32), np.float16, 1)
    text = product_kernel(threads, m, n, 32, "sm_100a", "f16", "f32", "tensor")
    check_product(text, a, b, small_integers((m, n), np.float32, 2), threads)


@pytest.mark.parametrize("threads", [128, 192, 256])
@pytest.mark.sample(1)
def test_products_of_pairs(threads: int):
    a, b = small_integers((256, 32), np.float16, 0), small_integers((64, 32), np.float16, 1)
    text = product_kernel(threads, 256, 64, 32, "sm_100a", "f16", "f32", "tensor")
    text = text.replace("threads(", "cluster(2) threads(")
    check_product(text, a, b, small_integers((256, 64), np.float32, 2), threads, blocks=2)


@pytest.mark.parametrize("threads", [32, 64, 128, 256, 512, 1024])
@pytest.mark.sample(1)
def test_products_in_registers(threads: int):
    a, b = small_integers((64, 8), np.float64, 0), small_integers((32, 8), np.float64, 1)
    text = product_kernel(threads, 64, 32, 8, "sm_80", "f64", "f64", "register")
    check_product(text, a, b, small_integers((64, 32), np.float64, 2), threads)


@pytest.mark.parametrize("threads", SMALL + LARGE)
@pytest.mark.sample(1)
def test_copies(threads: int):
    """Fill, and copies through registers and shared memory, of rows that the threads do not divide."""
    text = f"""
    tirx.kernel @k(%a: memref<48x24xf32>, %d: memref<24x48xf32, strided<[1, 24]>>, %e: memref<48x24xf32>, %x: f32)
        target("sm_90a") threads({threads}) {{
      %c0 = arith.constant 0 : index
      %s = tirx.alloc : !tirx.tile<48x24xf32, shared>
      %r = tirx.alloc : !tirx.tile<48x24xf32, register>
      %ga = tirx.view %a[%c0, %c0] : memref<48x24xf32> -> !tirx.tile<48x24xf32, global>
      %gd = tirx.view %d[%c0, %c0] : memref<24x48xf32, strided<[1, 24]>> -> !tirx.tile<24x48xf32, global>
      %ge = tirx.view %e[%c0, %c0] : memref<48x24xf32> -> !tirx.tile<48x24xf32, global>
      tirx.fill %gd, %x : f32, !tirx.tile<24x48xf32, global>
      tirx.copy %ga, %s : !tirx.tile<48x24xf32, global>, !tirx.tile<48x24xf32, shared>
      tirx.copy %s, %r : !tirx.tile<48x24xf32, shared>, !tirx.tile<48x24xf32, register>
      tirx.copy %r, %ge : !tirx.tile<48x24xf32, register>, !tirx.tile<48x24xf32, global>
      tirx.return
    }}
    """
    a, d, e = small_integers((48, 24), np.float32, 0), np.zeros((48, 24), np.float32), np.zeros((48, 24), np.float32)
    run(assembled(tirx.compile(text)), "k", (1, 1, 1), (threads, 1, 1), [a, d, e, 2.5])
    np.testing.assert_array_equal(e, a)
    assert (d == 2.5).all()


def test_warpgroups_share_a_tile():
    """All threads meet between the warpgroup that writes a tile and those that read it."""
    text = """
    !g = !tirx.tile<32x16xf32, global>
    !s = !tirx.tile<32x16xf32, shared>
    tirx.kernel @k(%a: memref<32x16xf32>, %b: memref<32x16xf32>, %d: memref<64x16xf32>) target("sm_80") threads(256) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %s = tirx.alloc : !s
      %ga = tirx.view %a[%c0, %c0] : memref<32x16xf32> -> !g
      %gb = tirx.view %b[%c0, %c0] : memref<32x16xf32> -> !g
      scf.for %i = %c0 to %c2 step %c1 {
        %row = arith.muli %i, %c32 : index
        %gd = tirx.view %d[%row, %c0] : memref<64x16xf32> -> !g
        tirx.warpgroup 1 {
          tirx.copy %ga, %s : !g, !s
        }
        tirx.warpgroup 0 {
          tirx.copy %s, %gb : !s, !g
        }
        tirx.copy %s, %gd : !s, !g
      }
      tirx.return
    }
    """
    a, b, d = (small_integers((rows, 16), np.float32, rows) for rows in (32, 32, 64))
    run(assembled(tirx.compile(text)), "k", (1, 1, 1), (256, 1, 1), [a, b, d], seed=1)
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(d, np.concatenate([a, a]))
