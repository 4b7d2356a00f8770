"""Rings of integers: what one role reads from memory, others need, such as which blocks of rows come next."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled_well

import tirx

_GATHER = """
!g = !tirx.tile<8x64xf16, global>
!s = !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
!r = !tirx.tile<8x64xf16, register>
tirx.kernel @gather(%x: memref<?x64xf16>, %blocks: memref<?xi32>, %d: memref<?x64xf16>, %n: index) target("sm_90a")
    grid(1) threads(192) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %next = tirx.ring slots(SLOTS) stations(ask, read) : !tirx.ring<row: index, factor: i8, negative: i1, wide: i64>
  %tiles = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @ask warps(1) {
      tirx.for @k %k = 0 to %n {
        tirx.acquire %next at(ask)
        %block = memref.load %blocks[%k] : memref<?xi32>
        %at = arith.index_cast %block : i32 to index
        %row = arith.muli %at, %c8 : index
        %factor = arith.trunci %block : i32 to i8
        %odd = arith.trunci %block : i32 to i1
        %wide = arith.extui %block : i32 to i64
        tirx.release %next at(ask) with(%row, %factor, %odd, %wide)
      }
    }
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n skew(1) {
        %row = tirx.at(0) {
          %read, %factor, %odd, %wide = tirx.acquire %next at(read)
          tirx.release %next at(read)
          tirx.yield %read
        }
        tirx.at(1) {
          %ga = tirx.view %x[%row, %c0] clipped : memref<?x64xf16> -> !g
          %s = tirx.acquire %tiles at(fill)
          tirx.async_copy %ga, %s engine(tma) : !g, !s
          tirx.release %tiles at(fill) after(tma)
        }
      }
    }
    tirx.role @work warps(4) {
      tirx.for @k %k = 0 to %n {
        %row, %factor, %odd, %wide = tirx.acquire %next at(read)
        tirx.release %next at(read)
        %low = arith.extui %factor : i8 to i32
        %high = arith.trunci %wide : i64 to i32
        %sum = arith.addi %low, %high : i32
        %zero = arith.constant 0 : i32
        %even = arith.select %odd, %zero, %sum : i32
        %added = arith.sitofp %even : i32 to f16
        %to = arith.muli %k, %c8 : index
        %gd = tirx.view %d[%to, %c0] clipped : memref<?x64xf16> -> !g
        %s = tirx.acquire %tiles at(use)
        %v = tirx.load %s : !s -> !r
        tirx.release %tiles at(use)
        %w = tirx.map ins(%v : !r) {
        ^bb0(%e: f16):
          %z = arith.addf %e, %added : f16
          tirx.yield %z : f16
        } -> !r
        tirx.store %w, %gd : !r, !g
      }
    }
  }
  tirx.return
}
"""


@pytest.mark.parametrize("slots", (1, 3))
@pytest.mark.sample(1)
def test_two_roles_read_what_a_third_one_found_in_memory(slots: int) -> None:
    program = tirx.build(_GATHER.replace("SLOTS", str(slots)))
    assembled_well(program.ptx)
    rng = np.random.default_rng(slots)
    x = rng.integers(-8, 8, (96, 64)).astype(np.float16)
    for n in (0, 1, slots + 3):
        blocks = rng.integers(0, 12, n + 1).astype(np.int32)
        d = np.full((8 * n + 8, 64), 7, np.float16)
        expected = d.copy()
        for k, block in enumerate(blocks[:n]):
            expected[8 * k : 8 * k + 8] = x[8 * block : 8 * block + 8] + np.float16(0 if block % 2 else 2 * block)
        program.kernels["gather"].simulate(x, blocks, d, n, check="strict", seed=n)
        np.testing.assert_array_equal(d, expected)
