"""Loops in which threads and products hand each other tiles of tensor memory, against numpy and the sequential form."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

_HEAD = """
!gm = memref<128x?xf16>
!gn = memref<64x?xf16>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!at = !tirx.tile<128x64xf16, tensor>
!ar = !tirx.tile<128x64xf16, register>
!acc = !tirx.tile<128x64xf32, tensor>
!r = !tirx.tile<128x64xf32, register>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!gd = !tirx.tile<128x64xf32, global>
tirx.kernel @k(%a: !gm, %b: !gn, %d: memref<128x64xf32>) target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %depth = memref.dim %a, %c1 : !gm
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !gd
"""

_OPERAND = """
  %at = tirx.alloc : !at
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %depth step %c64 {
    %ga = tirx.view %a[%c0, %k] : !gm -> !ga
    %gb = tirx.view %b[%c0, %k] : !gn -> !gb
    tirx.copy %gb, %sb : !gb, !b
    %x = tirx.load %ga : !ga -> !ar
    %y = tirx.map ins(%x : !ar) {
    ^bb0(%e: f16):
      %r = arith.addf %e, %e : f16
      tirx.yield %r : f16
    } -> !ar
    tirx.store %y, %at : !ar, !at
    tirx.mma %at, %sb, %acc : !at, !b, !acc
  }
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}
"""
"""Threads compute A, which is in tensor memory."""

_SUMS = """
  %sa = tirx.alloc : !a
  %total = tirx.alloc : !r
  tirx.fill %total, %zero : f32, !r
  scf.for %k = %c0 to %depth step %c64 {
    %ga = tirx.view %a[%c0, %k] : !gm -> !ga
    %gb = tirx.view %b[%c0, %k] : !gn -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %gb, %sb : !gb, !b
    tirx.fill %acc, %zero : f32, !acc
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
    %part = tirx.load %acc : !acc -> !r
    tirx.map ins(%total, %part : !r, !r) outs(%total : !r) {
    ^bb0(%t: f32, %p: f32):
      %twice = arith.addf %p, %p : f32
      %r = arith.addf %t, %twice : f32
      tirx.yield %r : f32
    }
  }
  tirx.copy %total, %gd : !r, !gd
  tirx.return
}
"""
"""Threads add the sums of each iteration up in registers, as for blocks with a scale of their own."""

_CARRIED = """
  %sa = tirx.alloc : !a
  %one = arith.constant 1.0 : f32
  tirx.fill %acc, %one : f32, !acc
  scf.for %k = %c0 to %depth step %c64 {
    %ga = tirx.view %a[%c0, %k] : !gm -> !ga
    %gb = tirx.view %b[%c0, %k] : !gn -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %gb, %sb : !gb, !b
    %x = tirx.load %acc : !acc -> !r
    %y = tirx.map ins(%x : !r) {
    ^bb0(%e: f32):
      %r = arith.addf %e, %e : f32
      tirx.yield %r : f32
    } -> !r
    tirx.store %y, %acc : !r, !acc
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}
"""
"""Threads double the sums before each product adds to them."""

_BOTH = """
  %sa = tirx.alloc : !a
  %sc = tirx.alloc : !b
  %at = tirx.alloc : !at
  %total = tirx.alloc : !r
  tirx.fill %total, %zero : f32, !r
  scf.for %o = %c0 to %c128 step %c64 {
    scf.for %k = %o to %depth step %c64 {
      %ga = tirx.view %a[%c0, %k] : !gm -> !ga
      %gb = tirx.view %b[%c0, %k] : !gn -> !gb
      tirx.copy %ga, %sa : !ga, !a
      tirx.copy %gb, %sb : !gb, !b
      tirx.copy %gb, %sc : !gb, !b
      %x = tirx.load %ga : !ga -> !ar
      tirx.store %x, %at : !ar, !at
      tirx.fill %acc, %zero : f32, !acc
      tirx.mma %sa, %sb, %acc : !a, !b, !acc
      tirx.mma %at, %sc, %acc : !at, !b, !acc
      %part = tirx.load %acc : !acc -> !r
      tirx.map ins(%total, %part : !r, !r) outs(%total : !r) {
      ^bb0(%t: f32, %p: f32):
        %r = arith.addf %t, %p : f32
        tirx.yield %r : f32
      }
    }
  }
  tirx.copy %total, %gd : !r, !gd
  tirx.return
}
"""
"""The second product on a tile reads what threads write, so that the first cannot run ahead; in a loop of its own."""


@pytest.mark.parametrize("name", ["operand", "sums", "carried", "both"])
@pytest.mark.sample(1)
def test_tiles_change_hands(name: str) -> None:
    text = _HEAD + {"operand": _OPERAND, "sums": _SUMS, "carried": _CARRIED, "both": _BOTH}[name]
    program = tirx.build(text)
    assembled(program.ptx)
    assert "tcgen05.commit" in program.ptx
    assert program.kernels["k"].launch.block == (192, 1, 1)
    rng = np.random.default_rng(0)
    for blocks in (0, 3):
        a, b = (rng.integers(-3, 4, (rows, 64 * blocks)).astype(np.float16) for rows in (128, 64))
        d = np.full((128, 64), np.nan, np.float32)
        program.kernels["k"].simulate(a, b, d, check="strict")
        expected = np.full((128, 64), 1.0 if name == "carried" else 0.0)
        for k in range(0, 64 * blocks, 64):
            part = a[:, k : k + 64].astype(np.float64) @ b[:, k : k + 64].T.astype(np.float64)
            times = 2 * min(k // 64 + 1, 2) if name == "both" else 2
            expected = 2 * expected + part if name == "carried" else expected + times * part
        np.testing.assert_array_equal(d, expected)
