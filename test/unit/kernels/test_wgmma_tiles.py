"""A tile program with warpgroup products round a loop: lowered, assembled, and equal to numpy in the simulator."""

from __future__ import annotations

import numpy as np

import tirx
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import run

_TEXT = """
#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#b = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[32, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 4, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!b = !tirx.tile<32x64xf16, shared, #b>
!d = !tirx.tile<128x32xf32, register, #d>
!p = !tirx.pending<!d>

tirx.kernel @gemm(%a: memref<128x192xf16>, %b: memref<32x192xf16>, %d: memref<128x32xf32>)
    target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %none = wgmma.uninitialized : !d
  %acc = scf.for %k = %c0 to %c192 step %c64 iter_args(%old = %none) -> (!d) {
    %ga = tirx.view %a[%c0, %k] : memref<128x192xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<32x192xf16> -> !tirx.tile<32x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<32x64xf16, global>, !b
    ptx.fence.proxy.async "shared::cta"
    ptx.bar.sync 0
    wgmma.fence
    %again = arith.cmpi ne, %k, %c0 : index
STEPS
    wgmma.commit_group
    %new = wgmma.wait_group 0 (%p3 : !p) -> !d
    scf.yield %new : !d
  }
  tirx.copy %acc, %gd : !d, !tirx.tile<128x32xf32, global>
  tirx.return
}
"""


def _kernel() -> str:
    lines: list[str] = []
    for step in range(4):
        lines += [
            f"%a{step} = wgmma.smem_descriptor %sa, {step} of 16 rows 64 from [0, 64] : !a -> i64",
            f"%b{step} = wgmma.smem_descriptor %sb, {step} of 16 rows 32 from [0] : !b -> i64",
        ]
    for step in range(4):
        accumulator, type_, scale = (f"%p{step - 1}", "!p", "") if step else ("%old", "!d", " scale_d %again")
        lines.append(
            f'%p{step} = wgmma.mma_async "f16" "f16" n 32 a(%a{step} : i64) b(%b{step}) c({accumulator} : {type_}) at 0'
            f"{scale} -> !p"
        )
    return _TEXT.replace("STEPS", "\n".join(f"    {line}" for line in lines))


def test_products_round_a_loop():
    ptx = tirx.compile(_kernel())
    products = [line.split("}")[0] for line in ptx.split("\n") if "wgmma.mma_async" in line]
    assert len(products) == 4 and len(set(products)) == 1  # the same registers, which nothing moves
    assert "mov.f32" not in ptx
    if find_ptxas() is not None:
        found = assemble(ptx, "sm_90a", verbose=True)
        assert found.ok and "C75" not in found.stderr and " 0 bytes spill stores" in found.stderr
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (128, 192)).astype(np.float16), rng.integers(-3, 4, (32, 192)).astype(np.float16)
    d = np.zeros((128, 32), np.float32)
    run(ptx, "gemm", 1, 256, [a, b, d])
    np.testing.assert_array_equal(d, a.astype(np.float64) @ b.T.astype(np.float64))


_ONE_OF_THREE = """
!a = !tirx.tile<64x16xf16, shared>
!b = !tirx.tile<16x16xf16, shared>
!d = !tirx.tile<64x16xf32, register, #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!ga = !tirx.tile<64x16xf16, global>
!gb = !tirx.tile<16x16xf16, global>
!gd = !tirx.tile<64x16xf32, global>
tirx.kernel @k(%a: memref<64x16xf16>, %b: memref<16x16xf16>, %d: memref<64x16xf32>) target("sm_90a") threads(384) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x16xf16> -> !ga
  %gb = tirx.view %b[%c0, %c0] : memref<16x16xf16> -> !gb
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  tirx.copy %ga, %sa : !ga, !a
  tirx.copy %gb, %sb : !gb, !b
  %sum = tirx.alloc : !d
  tirx.fill %sum, %zero : f32, !d
  tirx.mma %sa, %sb, %sum : !a, !b, !d
  %gd = tirx.view %d[%c0, %c0] : memref<64x16xf32> -> !gd
  tirx.copy %sum, %gd : !d, !gd
  tirx.return
}
"""


def test_a_written_accumulator_of_one_warpgroup_among_three() -> None:
    """No grid of three warpgroups divides 64x16, but none is asked for."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (64, 16)).astype(np.float16), rng.integers(-3, 4, (16, 16)).astype(np.float16)
    d = np.zeros((64, 16), np.float32)
    ptx = tirx.compile(_ONE_OF_THREE)
    assert find_ptxas() is None or assemble(ptx, "sm_90a").ok
    run(ptx, "k", 1, 384, [a, b, d])
    np.testing.assert_array_equal(d, a.astype(np.float64) @ b.T.astype(np.float64))
