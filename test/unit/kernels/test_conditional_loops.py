"""Products whose loops stand under conditions and in other loops, and several outputs of one product, by default."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.sim.assembled import assembled_well

import tirx

_GEMM = """
!s = !tirx.tile<64x16xf16, shared>
!g = !tirx.tile<64x16xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!y = !tirx.tile<64x64xf16, register>
!gd = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<{rows}x64xf16>, %b: memref<64x64xf16>, %d: memref<{rows}x64xf16>, %e: memref<{rows}x64xf16>,
    %p: index) target("sm_80") grid({tiles}) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : f16
  %i = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %s = tirx.alloc : !s
  %s_1 = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  {before}
  scf.for %k = %c0 to %c64 step %c16 {{
    %ga = tirx.view %a[%m, %k] : memref<{rows}x64xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x64xf16> -> !g
    tirx.copy %ga, %s : !g, !s
    tirx.copy %gb, %s_1 : !g, !s
    tirx.mma %s, %s_1, %acc : !s, !s, !acc
  }}
  {behind}
  %y = tirx.map ins(%acc : !acc) {{
  ^bb0(%x: f32):
    %r = arith.truncf %x : f32 to f16
    tirx.yield %r : f16
  }} -> !y
  %gd = tirx.view %d[%m, %c0] : memref<{rows}x64xf16> -> !gd
  tirx.copy %y, %gd : !y, !gd
  %z = tirx.map ins(%y : !y) {{
  ^bb0(%x: f16):
    %r = arith.maximumf %x, %none : f16
    tirx.yield %r : f16
  }} -> !y
  %ge = tirx.view %e[%m, %c0] : memref<{rows}x64xf16> -> !gd
  tirx.copy %z, %ge : !y, !gd
  tirx.return
}}
"""

_AROUND: dict[str, tuple[str, str, Callable[[int], int]]] = {
    "plain": ("", "", lambda p: 1),
    "condition": ("%if = arith.cmpi ne, %p, %c1 : index scf.if %if {", "}", lambda p: p != 1),
    "two conditions": (
        "%if = arith.cmpi ne, %p, %c1 : index %n = arith.cmpi ne, %p, %c0 : index scf.if %if { scf.if %n {",
        "} }",
        lambda p: p not in (0, 1),
    ),
    "while": (
        "%end = scf.while (%w = %c0) : (index) -> index { %if = arith.cmpi ult, %w, %p : index "
        "scf.condition(%if) %w : index } do { ^bb0(%w: index):",
        "%next = arith.addi %w, %c1 : index scf.yield %next : index }",
        lambda p: p,
    ),
}
"""Text around the loop, and the number of times that the loop then runs."""


def _check(target: str, around: str, options: str, tiles: int, p: int) -> str:
    before, behind, times = _AROUND[around]
    text = _GEMM.format(rows=64 * tiles, tiles=tiles, before=before, behind=behind)
    program = tirx.build(text, target, options)
    rng = np.random.default_rng(p)
    a, b = (rng.integers(-2, 3, (rows, 64)).astype(np.float16) for rows in (64 * tiles, 64))
    d, e = (np.full((64 * tiles, 64), 9, np.float16) for _ in range(2))
    program.kernels["k"].simulate(a, b, d, e, p, check="strict")
    expected = times(p) * (a.astype(np.float32) @ b.astype(np.float32).T)
    np.testing.assert_array_equal(d, expected.astype(np.float16))
    np.testing.assert_array_equal(e, np.maximum(expected, 0).astype(np.float16))
    return program.ptx


@pytest.mark.parametrize("p", range(3))
@pytest.mark.parametrize("around", list(_AROUND))
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.sample(3)
def test_loops_under_conditions_are_pipelined(target: str, around: str, p: int):
    ptx = _check(target, around, "", 1, p)
    assert ("cp.async.commit_group" if target == "sm_80" else "mbarrier.try_wait") in ptx


@pytest.mark.parametrize("around", ["plain", "condition"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.sample(1)
def test_two_outputs_of_a_persistent_kernel(target: str, around: str):
    ptx = _check(target, around, "order=row", 3, 0)
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared::cta") == 2
    assembled_well(ptx)
