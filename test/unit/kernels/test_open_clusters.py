"""Clusters over tiles of open sizes: the last ones have tiles too many, which take part and write nothing."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.runtime.program import Kernel

# The grid follows A and B, so that nothing says how far D reaches.
_GEMM = """
!m = memref<?x?xf16>
!d = {d}
!sa = !tirx.tile<64x16xf16, shared>
!sb = !tirx.tile<16x16xf16, shared>
!acc = !tirx.tile<64x16xf32, accumulator>
!gd = !tirx.tile<64x16xf32, global>
tirx.kernel @gemm(%a: !m, %b: !m, %d: !d) target("sm_90a")
    grid(%j = ceildiv(size(1, 0), 16), %i = ceildiv(size(0, 0), 64)) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %k = memref.dim %a, %c1 : !m
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  %before = tirx.view %d[%i * 64, %j * 16] {clipped} : !d -> !gd
  tirx.copy %before, %acc : !gd, !acc
  scf.for %at = %c0 to %k step %c16 {{
    tirx.copy %a[%i * 64, %at] clipped, %sa : !m, !sa
    tirx.copy %b[%j * 16, %at] clipped, %sb : !m, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  }}
  %after = tirx.view %d[%i * 64, %j * 16] {clipped} : !d -> !gd
  tirx.copy %acc, %after : !acc, !gd
}}
"""

_OPEN = _GEMM.format(d="memref<?x?xf32>", clipped="clipped")


def _adds(kernel: Kernel, m: int, n: int, k: int, shape: tuple[int, int], seed: int) -> None:
    """Launches D += A B^T, D of a `shape` that may be larger than M x N, on few multiprocessors."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, (rows, k)).astype(np.float16) for rows in (m, n))
    d = rng.integers(-3, 4, shape).astype(np.float32)
    expected = d.copy()
    expected[:m, :n] += a.astype(np.float32) @ b.astype(np.float32).T
    kernel.simulate(a, b, d, check="strict", seed=seed, sm_count=9)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize(
    ("options", "cluster"),
    [
        ("cluster=rows order=group", 2),
        ("cluster=columns order=none", 2),
        ("cluster=2x2 order=row", 4),
        ("cluster=1x4 order=none", 4),
        ("cluster=2x4 order=group", 8),
    ],
)
@pytest.mark.sample(2)
def test_tiles_too_many(options: str, cluster: int) -> None:
    """The last cluster ends along rows, columns or both; D may go on behind it."""
    program = tirx.build(_OPEN, options=f"{options} stages=2")
    assembled(program.ptx)
    kernel = program.kernels["gemm"]
    assert kernel.launch.cluster == (cluster, 1, 1) and ".multicast::cluster" in program.ptx
    for seed, (m, n, k, shape) in enumerate(((130, 16, 40, (256, 48)), (60, 40, 8, (60, 40)))):
        _adds(kernel, m, n, k, shape, seed)


def test_tiles_that_threads_write() -> None:
    """Rows of 196 bytes are no bulk copies: views that reach no end of D otherwise are clipped."""
    program = tirx.build(_GEMM.format(d="memref<192x49xf32>", clipped=""), options="cluster=2x2 stages=2 order=row")
    kernel = program.kernels["gemm"]
    assert kernel.launch.cluster == (4, 1, 1) and "st.global" in program.ptx
    _adds(kernel, 192, 16, 24, (192, 49), 0)


def test_stores_of_other_tiles_go_on() -> None:
    """An index that may be outside does not let a tile wait for the store of another one."""
    waits = {
        options: tirx.build(_OPEN, options=f"{options} stages=2 order=row").ptx.count("bulk.wait_group 0")
        for options in ("cluster=none", "cluster=2x2")
    }
    assert waits["cluster=2x2"] == waits["cluster=none"]


def test_commits_that_nobody_waits_for() -> None:
    """Products are read in each round, before the tensor core gives B back to both blocks: none leaves before that."""
    text = """
    !s = !tirx.tile<64x16xf16, shared>
    !acc = !tirx.tile<64x64xf32, accumulator>
    !r = !tirx.tile<64x64xf32, register>
    tirx.kernel @sums(%a: memref<128x16xf16>, %b: memref<192x16xf16>, %d: memref<128x64xf32>) target("sm_100a")
        grid(1, %i = 2) threads(128) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c192 = arith.constant 192 : index
      %sa = tirx.alloc copy(%a[%i * 64, 0]) : memref<128x16xf16>, !s
      %sb = tirx.alloc : !s
      %acc = tirx.alloc : !acc
      %none = tirx.zero : !r
      %zero = arith.constant 0.0 : f32
      %all = scf.for %n = %c0 to %c192 step %c64 iter_args(%sum = %none) -> (!r) {
        tirx.copy %b[%n, 0], %sb : memref<192x16xf16>, !s
        tirx.fill %acc, %zero : f32, !acc
        tirx.mma %sa, %sb, %acc : !s, !s, !acc
        %more = tirx.map ins(%acc, %sum : !acc, !r) (%x, %y) { %x + %y } -> !r
        scf.yield %more : !r
      }
      tirx.store %all, %d[%i * 64, 0] : !r, memref<128x64xf32>
    }"""
    program = tirx.build(text, options="cluster=rows roles=load-mma-epilogue stages=2")
    assert "tcgen05.commit" in program.ptx and ".multicast::cluster" in program.ptx
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (rows, 16)).astype(np.float16) for rows in (128, 192))
    d = np.zeros((128, 64), np.float32)
    program.kernels["sums"].simulate(a, b, d, check="strict")
    np.testing.assert_array_equal(d, (a @ b.reshape(3, 64, 16).sum(0).T).astype(np.float32))
