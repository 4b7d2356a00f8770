"""Two products in a row, the sums of the first as A of the second, as in attention: equal to numpy in the simulator."""

from __future__ import annotations

import numpy as np

import tirx
from tirx.ptx.ptxas import assemble

TEXT = """
!gq = !tirx.tile<128x64xf16, global>
!gk = !tirx.tile<64x64xf16, global>
!gv = !tirx.tile<32x64xf16, global>
!sq = !tirx.tile<128x64xf16, shared>
!sk = !tirx.tile<64x64xf16, shared>
!sv = !tirx.tile<32x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!p = !tirx.tile<128x64xf16, register>
!o = !tirx.tile<128x32xf32, register>

tirx.kernel @attention(%q: memref<128x64xf16>, %k: memref<64x64xf16>, %v: memref<32x64xf16, strided<[1, 32]>>,
    %o: memref<128x32xf32>) target("sm_90a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %gq = tirx.view %q[%c0, %c0] : memref<128x64xf16> -> !gq
  %gk = tirx.view %k[%c0, %c0] : memref<64x64xf16> -> !gk
  %gv = tirx.view %v[%c0, %c0] : memref<32x64xf16, strided<[1, 32]>> -> !gv
  %go = tirx.view %o[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %sq = tirx.alloc : !sq
  %sk = tirx.alloc : !sk
  %sv = tirx.alloc : !sv
  tirx.copy %gq, %sq : !gq, !sq
  tirx.copy %gk, %sk : !gk, !sk
  tirx.copy %gv, %sv : !gv, !sv
  %zs = tirx.splat %zero : f32 -> !s
  %zo = tirx.splat %zero : f32 -> !o
  %first = tirx.async_mma %sq, %sk, %zs : !sq, !sk, !s -> !tirx.pending<!s>
  %s = tirx.await %first : !tirx.pending<!s>
  %p = tirx.map ins(%s : !s) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tirx.yield %y : f16
  } -> !p
  %sums = tirx.async_mma %p, %sv, %zo : !p, !sv, !o -> !tirx.pending<!o>
  %next = tirx.async_mma %sq, %sk, %zs : !sq, !sk, !s -> !tirx.pending<!s>
  %result = tirx.await %sums : !tirx.pending<!o>
  %unused = tirx.await %next : !tirx.pending<!s>
  tirx.copy %result, %go : !o, !tirx.tile<128x32xf32, global>
  tirx.return
}
"""


def test_sums_are_operands():
    program = tirx.build(TEXT)
    found = assemble(program.ptx, "sm_90a", verbose=True)
    assert found.ok and "C75" not in found.stderr and " 0 bytes spill stores" in found.stderr
    # The second product is awaited while the third is pending; the fragments of D are those of A.
    waits = [line.split()[-1] for line in program.ptx.splitlines() if "wgmma.wait_group" in line]
    assert waits == ["0;", "1;", "0;"]
    assert "shfl" not in program.ptx and "ldmatrix" not in program.ptx
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 64), (64, 64), (64, 32)))
    o = np.zeros((128, 32), np.float32)
    program.kernels["attention"].simulate(q, k, v.T, o, check="strict")
    np.testing.assert_array_equal(o, (q.astype(np.float64) @ k.T.astype(np.float64)) @ v.astype(np.float64))
