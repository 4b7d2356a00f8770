"""Copies by the tensor memory accelerator and by cp.async move every element, over random shapes and layouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from unit.kernels.bulk_kernels import random_clipped_kernel, random_kernel
from unit.sim.assembled import assembled

import tirx
from tirx.runtime import ArgumentError, Program
from tirx.sim import SimError

SEEDS = (14, 23, 30)
CLIPPED_SEEDS = (1, 3)
"""A sample of `python test/sweeps/bulk_copies.py`."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.sample(1)
def test_random_kernels(seed: int):
    random_kernel(seed).check(seed)


@pytest.mark.parametrize("seed", CLIPPED_SEEDS)
@pytest.mark.sample(1)
def test_random_clipped_kernels(seed: int):
    random_clipped_kernel(seed).check(seed)


def test_the_sample_has_all_engines():
    kernels = [random_kernel(seed) for seed in SEEDS]
    assert {kernel.load for kernel in kernels} >= {"tma", "cp_async"}
    assert {kernel.store for kernel in kernels} == {"tma_store", "ld_st"}
    # Tiles that reach beyond the last row.
    clipped = map(random_clipped_kernel, CLIPPED_SEEDS)
    assert any(kernel.offset[0] + 2 * kernel.tile[0] > kernel.shape[0] for kernel in clipped)


REDUCE = """
!s = !tirx.tile<64x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<256x64xf16>, %d: memref<64x64xf16>) target("sm_90a") grid(4) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%m, %c0] : memref<256x64xf16> -> !g
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf16> -> !g
  tirx.copy %ga, %s engine tma : !g, !s
  tirx.copy %s, %gd reduce(add) : !s, !g
  tirx.return
}
"""


def test_blocks_add_to_one_tile():
    program = tirx.build(REDUCE)
    assembled(program.ptx)
    a = np.random.default_rng(1).integers(-5, 6, (256, 64)).astype(np.float16)
    d = np.ones((64, 64), np.float16)
    program.kernels["k"].simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, 1 + a.reshape(4, 64, 64).sum(0))


THROUGH_A_RING = """
!s = !tirx.tile<64x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<448x64xf16>, %d: memref<448x64xf16>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %ring = tirx.ring slots(3) stations(fill, use) : !tirx.ring<!s>
  tirx.for @i %i = 0 to 7 skew(1) {
    tirx.at(0) {
      %m = arith.muli %i, %c64 : index
      %x = tirx.view %a[%m, %c0] : memref<448x64xf16> -> !g
      %s = tirx.acquire %ring at(fill)
      tirx.async_copy %x, %s engine(tma) : !g, !s
      tirx.release %ring at(fill) after(tma)
    }
    tirx.at(1) {
      %m = arith.muli %i, %c64 : index
      %y = tirx.view %d[%m, %c0] : memref<448x64xf16> -> !g
      %s = tirx.acquire %ring at(use)
      tirx.async_copy %s, %y engine(tma_store) : !s, !g
      tirx.release %ring at(use) after(store)
      tirx.await store pending(1)
    }
  }
  tirx.await store pending(0)
  tirx.return
}
"""


def test_one_role_copies_both_ways_through_a_ring():
    program = tirx.build(THROUGH_A_RING)
    assembled(program.ptx)
    a = np.random.default_rng(3).integers(-500, 500, (448, 64)).astype(np.float16)
    d = np.zeros_like(a)
    program.kernels["k"].simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, a)


CLIPPED = """
!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = memref<?x?xf16, strided<[?, 1]>>
tirx.kernel @k(%a: memref<?x?xf16>, %d: !d) target("sm_90a")
    grid(ceildiv(size(0, 1), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%m, %n] clipped : memref<?x?xf16> -> !g
  %gd = tirx.view %d[%m, %n] clipped : !d -> !g
  tirx.copy %ga, %s : !g, !s
  tirx.copy %s, %gd : !s, !g
  tirx.return
}
"""


@pytest.mark.parametrize("shape", [(64, 64), (100, 136), (1, 8)])
def test_sizes_and_strides_of_the_launch(shape: tuple[int, int]):
    program = tirx.build(CLIPPED)
    assembled(program.ptx)
    a = np.random.default_rng(2).integers(-5, 6, shape).astype(np.float16)
    d = np.ones((shape[0], shape[1] + 24), np.float16)
    program.kernels["k"].simulate(a, d[:, : shape[1]], check="strict")
    np.testing.assert_array_equal(d[:, : shape[1]], a)
    assert (d[:, shape[1] :] == 1).all()


def test_strides_that_tensor_maps_do_not_have(tmp_path: Path):
    """Another kernel takes them, of threads; not where the engine is written, or the first program is a mere text."""
    a = np.random.default_rng(2).integers(-5, 6, (100, 77)).astype(np.float16)
    d, program = np.zeros_like(a), tirx.build(CLIPPED, cache_directory=tmp_path)
    program.kernels["k"].simulate(a, d, check="strict")
    np.testing.assert_array_equal(d, a)
    assert "cp.async.bulk" in program.ptx and "cp.async.bulk" not in tirx.compile(CLIPPED, options="strides=any")
    written = CLIPPED.replace("tirx.copy %s, %gd", "tirx.copy %s, %gd engine tma_store")
    for refused in (tirx.build(written), Program.from_json(program.to_json())):
        with pytest.raises(ArgumentError, match="expected a stride of a multiple of 16 bytes along dimension 1"):
            refused.kernels["k"].simulate(a, d)


STARTS = """
!s = !tirx.tile<8x16xf32, shared>
!g = !tirx.tile<8x16xf32, global>
tirx.kernel @k(%a: memref<8x16xf32>, %d: memref<20x16xf32>, %t: memref<2xi32>) target("sm_90a") grid(2) threads(64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c13 = arith.constant 13 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<8x16xf32> -> !g
  tirx.copy %ga, %s : !g, !s
  %i = tirx.block_id x
  %word = memref.load %t[%i] : memref<2xi32>
  %any = arith.index_cast %word : i32 to index
  START
  %gd = tirx.view %d[%m, %c0] clipped : memref<20x16xf32> -> !g
  tirx.copy %s, %gd ENGINE : !s, !g
  tirx.return
}
"""


@pytest.mark.parametrize(
    "start, engine, starts, is_bulk",
    [
        ("%m = arith.muli %i, %c13 : index", "", (0, 13), True),
        ("%m = arith.addi %any, %c0 : index", "engine tma_store", (3, 17), True),
        ("%m = arith.addi %any, %c0 : index", "engine tma_store", (3, -1), True),
        ("%m = arith.addi %any, %c0 : index", "", (-7, 30), False),
        ("%n = arith.muli %i, %c13 : index\n  %m = arith.subi %n, %c8 : index", "", (-8, 5), False),
    ],
)
@pytest.mark.sample(2)
def test_tiles_that_begin_before_the_memref(start: str, engine: str, starts: tuple[int, int], is_bulk: bool):
    """Threads drop what is before the memref; a bulk store that is written, and not known to begin inside, traps."""
    program = tirx.build(STARTS.replace("START", start).replace("ENGINE", engine))
    assembled(program.ptx)
    assert ("cp.async.bulk.tensor.2d.global" in program.ptx) is is_bulk
    assert ("trap" in program.ptx) is (is_bulk and "%any" in start)
    a, d = np.arange(1, 129, dtype=np.float32).reshape(8, 16), np.zeros((20, 16), np.float32)
    arguments = a, d, np.array(starts, np.int32)
    if is_bulk and min(starts) < 0:
        with pytest.raises(SimError, match="the kernel executes trap"):
            program.kernels["k"].simulate(*arguments)
        return
    program.kernels["k"].simulate(*arguments, check="strict")
    expected = np.zeros((60, 16), np.float32)
    for first in starts:
        expected[20 + first : 28 + first] = a
    np.testing.assert_array_equal(d, expected[20:40])


BEFORE = """
!s = !tirx.tile<8x16xf32, shared>
!g = !tirx.tile<8x16xf32, global>
tirx.kernel @k(%a: memref<20x16xf32>, %d: memref<48x16xf32>) target("sm_90a") grid(6) threads(64) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %i = tirx.block_id x
  %s = tirx.alloc : !s
  %m = arith.muli %i, %c4 : index
  %n = arith.subi %m, %c8 : index
  %to = arith.muli %i, %c8 : index
  %ga = tirx.view %a[%n, %c0] clipped : memref<20x16xf32> -> !g
  tirx.copy %ga, %s engine ENGINE : !g, !s
  %gd = tirx.view %d[%to, %c0] : memref<48x16xf32> -> !g
  tirx.copy %s, %gd : !s, !g
  tirx.return
}
"""


@pytest.mark.parametrize("engine", ["tma", "cp_async", "ld_st"])
def test_loads_of_tiles_that_begin_before_the_memref(engine: str):
    a, d = np.arange(1, 321, dtype=np.float32).reshape(20, 16), np.ones((48, 16), np.float32)
    tirx.build(BEFORE.replace("ENGINE", engine)).kernels["k"].simulate(a, d, check="strict")
    padded = np.pad(a, ((8, 8), (0, 0)))
    np.testing.assert_array_equal(d, np.concatenate([padded[4 * i : 4 * i + 8] for i in range(6)]))


PRODUCT = """
!a = !tirx.tile<64x32xf16, shared>
!acc = !tirx.tile<64x64xf32, register>
!ga = memref<{rows}x{k}xf16>
!gb = memref<{n}x{k}xf16>
!gd = memref<{rows}x{n}xf32>
tirx.kernel @k(%a: !ga, %b: !gb, %d: !gd) target("{target}") grid({columns}, ceildiv(size(0, 0), 64)) threads(128) {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %ck = arith.constant {k} : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %ck step %c32 {{
    %ga = tirx.view %a[%m, %k] clipped : !ga -> !tirx.tile<64x32xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : !gb -> !tirx.tile<64x32xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<64x32xf16, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<64x32xf16, global>, !a
    tirx.mma %sa, %sb, %acc : !a, !a, !acc
  }}
  %gd = tirx.view %d[%m, %n] clipped : !gd -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<64x64xf32, global>
  tirx.return
}}
"""


@pytest.mark.parametrize(("target", "m", "n", "k", "rows"), [("sm_80", 70, 37, 50, "70"), ("sm_90a", 65, 72, 40, "?")])
@pytest.mark.sample(1)
def test_products_of_odd_sizes(target: str, m: int, n: int, k: int, rows: str):
    program = tirx.build(PRODUCT.format(target=target, n=n, k=k, rows=rows, columns=-(-n // 64)))
    assembled(program.ptx)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (size, k)).astype(np.float16) for size in (m, n))
    d = np.full((m, n), 9, np.float32)
    program.kernels["k"].simulate(a, b, d, check="strict")
    np.testing.assert_array_equal(d, a.astype(np.float64) @ b.T.astype(np.float64))
