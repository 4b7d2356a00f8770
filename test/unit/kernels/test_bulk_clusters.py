"""Bulk tensor copies within clusters: to both blocks of a pair, and onto the mbarrier of the other block."""

from __future__ import annotations

import numpy as np
from unit.sim.assembled import assembled

import tirx

HEAD = """
!s = !tirx.tile<128x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!h = !tirx.tile<64x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!u = !tirx.tile<64x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)] + 4096>>>
!g = !tirx.tile<128x64xf16, global>
!gh = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<128x64xf16>, %d: memref<256x64xf16>) target("sm_90a")
    grid(1) cluster(2) per_cta threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0 : i32
  %both = arith.constant 3 : i16
  %rank = tirx.cta_rank
  %odd = arith.cmpi eq, %rank, %c0 : index
  %leader = tirx.leader
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %s = tirx.alloc : !s
  %lower = tirx.subview %s[0, 0] : !s -> !h
  %upper = tirx.subview %s[64, 0] : !s -> !u
  %g0 = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !gh
  %g1 = tirx.view %a[%c64, %c0] : memref<128x64xf16> -> !gh
  %m = arith.muli %rank, %c128 : index
  %gd = tirx.view %d[%m, %c0] : memref<256x64xf16> -> !g
"""

MULTICAST = (
    HEAD
    + """
  scf.if %leader {
    ptx.mbarrier.init %bar, 1
    ptx.fence.mbarrier_init
  }
  tirx.barrier
  scf.if %leader {
    ptx.mbarrier.arrive.expect_tx %bar, 16384
    scf.if %odd {
      tirx.tma_load %g0, %lower, %bar multicast %both : !gh, !h
    } else {
      tirx.tma_load %g1, %upper, %bar multicast %both : !gh, !u
    }
  }
  ptx.mbarrier.wait_parity %bar, %zero
  tirx.copy %s, %gd : !s, !g
  tirx.barrier
  tirx.return
}
"""
)
"""Each block loads one half of the tile for both: each expects the whole."""

ONE_MBARRIER = (
    HEAD
    + """
  %to = ptx.mapa %bar, %zero
  scf.if %leader {
    ptx.mbarrier.init %bar, 1
    ptx.fence.mbarrier_init
  }
  tirx.barrier
  scf.if %leader {
    scf.if %odd {
      ptx.mbarrier.arrive.expect_tx %bar, 16384
      tirx.tma_load %g0, %lower, %to cta_group 2 : !gh, !h
    } else {
      tirx.tma_load %g1, %lower, %to cta_group 2 : !gh, !h
    }
  }
  scf.if %odd {
    ptx.mbarrier.wait_parity %bar, %zero
  }
  tirx.barrier
  %m2 = arith.muli %rank, %c64 : index
  %gh = tirx.view %d[%m2, %c0] : memref<256x64xf16> -> !gh
  tirx.copy %lower, %gh : !h, !gh
  tirx.return
}
"""
)
"""Each block loads a half for itself: the even block waits for both."""


def _run(text: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    program = tirx.build(text, target)
    assembled(program.ptx)
    a = np.random.default_rng(1).integers(-5, 6, (128, 64)).astype(np.float16)
    d = np.zeros((256, 64), np.float16)
    program.kernels["k"].simulate(a, d, check="strict")
    return a, d


def test_multicast():
    a, d = _run(MULTICAST, "sm_90a")
    np.testing.assert_array_equal(d, np.concatenate([a, a]))


def test_one_mbarrier_for_the_pair():
    a, d = _run(ONE_MBARRIER, "sm_100a")
    np.testing.assert_array_equal(d[:128], a)
