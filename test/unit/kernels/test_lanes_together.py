"""Lanes of which one has arrived at an mbarrier come together before instructions of whole warps."""

from __future__ import annotations

import tirx

KERNEL = """
!a = !tirx.tile<64x32xf8E4M3FN, shared>
!b = !tirx.tile<8x32xf8E4M3FN, shared>
!sums = !tirx.tile<64x8xf32, tensor>
tirx.kernel @k(%a: memref<64x32xf8E4M3FN>, %b: memref<16x32xf8E4M3FN, strided<[1, 16]>>, %d: memref<64x8xf32>)
    target("sm_100a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %c32 step %c32 {
    %ga = tirx.view %a[%c0, %k] : memref<64x32xf8E4M3FN> -> !tirx.tile<64x32xf8E4M3FN, global>
    %gb = tirx.view %b[%c0, %k] : memref<16x32xf8E4M3FN, strided<[1, 16]>> -> !tirx.tile<8x32xf8E4M3FN, global>
    tirx.copy %ga, %sa : !tirx.tile<64x32xf8E4M3FN, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<8x32xf8E4M3FN, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !sums
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x8xf32> -> !tirx.tile<64x8xf32, global>
  tirx.copy %acc, %gd : !sums, !tirx.tile<64x8xf32, global>
  tirx.return
}
"""


def test_lanes_come_together_before_loads_of_tensor_memory():
    ptx = tirx.compile(KERNEL)
    arrival, load = ptx.rindex("mbarrier.arrive.shared"), ptx.index("tcgen05.ld")
    assert arrival < load
    assert "bar.warp.sync" in ptx[arrival:load]
