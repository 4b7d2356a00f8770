"""
Bugs of pipelines that others have reported, one test each: what they did wrong is refused, or runs right here.

Where a number of iterations, slots or tiles matters, `python test/sweeps/rings.py` has all of them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from unit.kernels import pipelined_kernels, ring_kernels
from unit.kernels.pipelined_kernels import Pipelined
from unit.kernels.ring_ir_mutants import BARRIERS, SIMULATOR, TILES, Verdict, ir_mutants
from unit.kernels.ring_kernels import RingKernel
from unit.sim.assembled import assembled_well

import tirx
from tirx.diagnostics import Diagnostic, diagnostic_handler

ROLES = RingKernel(slots=1, skew=0, roles=True, engine="tma")
"""A role that loads by TMA into one slot, and one that multiplies fragments."""
PENDING = RingKernel(slots=3, skew=1, engine="tma", family="wgmma", pending=1, tiles=True)
"""Products of one warpgroup that stay pending while the next ones are issued."""
TWO_WARPGROUPS = Pipelined("wgmma, two warpgroups", "stages=3")
"""Two warpgroups that multiply what a role of 40 registers a thread loads."""


def verdicts(kernel: RingKernel, level: str, mutation: str, where: str = "") -> list[Verdict]:
    """Who refuses the kernels in which one operation is wrong."""
    found = [m for m in ir_mutants(kernel) if m.level == level and m.mutation == mutation and where in m.place]
    assert found
    return [mutant.verdict(seeds=1) for mutant in found]


@pytest.mark.parametrize("trips", [0, 1, 2])
@pytest.mark.sample(1)
def test_triton_2868_one_slot(trips: int):
    """It hung with a pipeline of one stage."""
    ring_kernels.check(ROLES, trips, seed=trips)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4])
@pytest.mark.sample(1)
def test_tilelang_2566_trip_counts_around_the_slots(trips: int):
    """It hung where a loop with roles ran once."""
    pipelined_kernels.check(Pipelined("m16n8k8 f16, tma", "stages=3"), 1, 1 + trips, seed=trips)


def test_tilelang_2674_phases_go_on_in_the_next_tile():
    """Its phases began anew in every tile: 3 iterations with 2 slots, and 3 tiles for one block."""
    pipelined_kernels.check(Pipelined("m16n8k8 f16, tma", "stages=2 roles=load order=row", (1, 3)), 0, 3)


def test_tilelang_2668_a_tile_that_is_read_and_overwritten():
    """It gave such a tile several buffers. Here it keeps one, and the tile beside it is pipelined."""
    text = """
!g = !tirx.tile<16x64xf32, global>
!s = !tirx.tile<16x64xf32, shared>
!r = !tirx.tile<16x64xf32, register>
tirx.kernel @sums(%a: memref<16x512xf32>, %d: memref<16x512xf32>) target("sm_90") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %staged = tirx.alloc : !s
  %state = tirx.alloc : !s
  tirx.fill %state, %zero : f32, !s
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<16x512xf32> -> !g
    tirx.copy %ga, %staged : !g, !s
    %x = tirx.load %staged : !s -> !r
    %before = tirx.load %state : !s -> !r
    %sum = tirx.map ins(%x, %before : !r, !r) {
    ^bb0(%p: f32, %q: f32):
      %y = arith.addf %p, %q : f32
      tirx.yield %y : f32
    } -> !r
    tirx.store %sum, %state : !r, !s
    %gd = tirx.view %d[%c0, %k] : memref<16x512xf32> -> !g
    tirx.store %sum, %gd : !r, !g
  }
  tirx.return
}"""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        program = tirx.build(text, options="stages=3")
    assert any("a ring of 3 slots" in each.message and "%staged" in each.message for each in said)
    assert not any("slots" in each.message and "%state," in each.message for each in said)
    a = np.random.default_rng(0).integers(-3, 4, (16, 512)).astype(np.float32)
    d = np.zeros_like(a)
    program.kernels["sums"].simulate(a, d, check="strict", seed=0)
    np.testing.assert_array_equal(d.reshape(16, 8, 64), np.cumsum(a.reshape(16, 8, 64), axis=1))


def test_tilelang_2613_two_warpgroups_read_an_operand():
    """It let one warpgroup's wait speak for both: a slot is free when all eight warps have arrived."""
    kernel = pipelined_kernels.kernel_of(TWO_WARPGROUPS)
    counts = re.findall(r"mbarrier\.init[^;]*, (\d+);", kernel.program.ptx)
    assert counts == ["1"] * 3 + ["8"] * 3


def test_facebookexperimental_1278_release_of_pending_products():
    """Its release fired while wgmma still read the slot."""
    (verdict,) = verdicts(PENDING, TILES, "release without its queue", "at(use)")
    assert verdict.who == "tirx-check-rings"
    assert "wgmma" in verdict.text


def test_deepgemm_389_deepep_642_flash_attention_2462_proxy_fence():
    """Without a fence between the threads' reads and the next copy by TMA, numbers were wrong on an H200."""
    (verdict,) = verdicts(ROLES, BARRIERS, "no proxy fence")
    assert verdict.who == SIMULATOR
    assert "fence.proxy.async" in verdict.text


def test_nvfuser_4804_fences_are_of_shared_memory():
    """A `fence.proxy.async` of all memories took it from 90 to 84 % of cuBLAS."""
    fences = re.findall(r"fence\.proxy\.async[^;]*;", ring_kernels.kernel_of(ROLES).program.ptx)
    assert set(fences) == {"fence.proxy.async.shared::cta;"}


def test_nvfuser_3446_one_arrival_of_a_warp_and_no_wider_release():
    """Releases by mbarriers were slower than bar.sync: `.release.cluster` alone costs 25 %."""
    ptx = ring_kernels.kernel_of(ROLES).program.ptx
    assert set(re.findall(r"mbarrier\.arrive\.(?!expect)[^ ]*", ptx)) == {"mbarrier.arrive.shared::cta.b64"}
    assert "mbarrier.init.shared::cta.b64" in ptx and "bar.sync 0;" in ptx


def test_cutlass_1840_2452_sglang_6453_products_that_ptxas_serialises():
    """ptxas only informs (C7510 to C7519) of a product that has to wait for another. Here that is an error."""
    ptx = pipelined_kernels.kernel_of(TWO_WARPGROUPS).program.ptx
    first = re.search(r"wgmma\.mma_async\S* \{(%f\d+),[^;]*;", ptx)
    assert first is not None
    serial = f"{ptx[: first.end()]}\nadd.f32 {first[1]}, {first[1]}, {first[1]};{ptx[first.end() :]}"
    with pytest.raises(AssertionError, match=r"\(C75\d\d\) w(gmma|arpgroup)"):
        assembled_well(serial)


def test_cutlass_1801_numbers_of_iterations_differ():
    """Roles that disagree on the number of iterations hung."""
    found = verdicts(RingKernel(slots=2, skew=0, roles=True, engine="tma"), TILES, "one iteration more")
    assert {verdict.who for verdict in found} == {"tirx-check-rings"}
    assert all("numbers of iterations of @k may differ" in verdict.text for verdict in found)


def test_cutlass_2100_2238_more_blocks_than_tiles():
    """Persistent kernels hung, or were refused, for small shapes: here one tile for four blocks, and none of K."""
    for trips in (0, 1):
        pipelined_kernels.check(Pipelined("m16n8k8 f16, tma", "stages=2 roles=load order=row"), 0, trips, blocks=4)


def test_cutlass_3636_one_role_goes_on_under_a_condition():
    """The ring of an epilogue took its index from a counter that one role alone moved."""
    found = verdicts(RingKernel(slots=2, skew=0, roles=True, engine="tma"), TILES, "release under a condition")
    assert {verdict.who for verdict in found} == {"tirx-check-rings"}


def test_cutlass_3308_registers_of_roles_are_moved():
    """`setmaxnreg` was compiled out in silence: ptxas ignores it in an entry that does not say its registers."""
    ptx = pipelined_kernels.kernel_of(TWO_WARPGROUPS).program.ptx
    assert "setmaxnreg.inc.sync.aligned.u32 232" in ptx and "setmaxnreg.dec.sync.aligned.u32 40" in ptx
    with pytest.raises(AssertionError, match="setmaxnreg"):
        assembled_well(re.sub(r"\.maxnreg \d+\n", "", ptx))


def test_triton_10284_a_simple_loop_with_roles():
    """Warp specialisation failed to compile loops without a product."""
    text = """
!g = !tirx.tile<32x64xf32, global>
!s = !tirx.tile<32x64xf32, shared>
!r = !tirx.tile<32x64xf32, register>
tirx.kernel @twice(%a: memref<32x512xf32>, %d: memref<32x512xf32>) target("sm_90") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %staged = tirx.alloc : !s
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<32x512xf32> -> !g
    tirx.copy %ga, %staged : !g, !s
    %x = tirx.load %staged : !s -> !r
    %sum = tirx.map ins(%x : !r) {
    ^bb0(%p: f32):
      %y = arith.addf %p, %p : f32
      tirx.yield %y : f32
    } -> !r
    %gd = tirx.view %d[%c0, %k] : memref<32x512xf32> -> !g
    tirx.store %sum, %gd : !r, !g
  }
  tirx.return
}"""
    program = tirx.build(text, options="stages=3 roles=load")
    assert ".reqntid 160" in program.ptx
    a = np.random.default_rng(0).integers(-3, 4, (32, 512)).astype(np.float32)
    d = np.zeros_like(a)
    program.kernels["twice"].simulate(a, d, check="strict", seed=0)
    np.testing.assert_array_equal(d, 2 * a)


def test_triton_2339_7108_hopper_gets_bulk_copies_and_pending_products():
    """TMA and wgmma were at half of cuBLAS: loads run ahead, and one group of products stays pending."""
    ptx = pipelined_kernels.kernel_of(TWO_WARPGROUPS).program.ptx
    assert "cp.async.bulk.tensor.2d" in ptx and "wgmma.wait_group.sync.aligned 1;" in ptx
