"""Engines that a program writes stay in loops that would be pipelined by faster ones."""

import re

import numpy as np
import pytest

import tirx

GEMM = """
tirx.kernel @k(%a: memref<64x256xf16>, %b: memref<64x256xf16>, %d: memref<64x64xf32>) target("TARGET") grid(1)
    threads(128) attributes {tirx.epilogue = "direct"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, register>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] CLIPPED : memref<64x256xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%c0, %k] CLIPPED : memref<64x256xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa ENGINE : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.copy %gb, %sb ENGINE : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>,
        !tirx.tile<64x64xf32, register>
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd STORED : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
  tirx.return
}
"""
INSTRUCTIONS = {
    "tma": r"cp\.async\.bulk\.tensor\.2d\.shared",
    "cp_async": r"cp\.async\.c[ag]\.shared",
    "ld_st": r"st\.shared",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("clipped", ["", "clipped"])
@pytest.mark.parametrize(
    ("target", "engine", "expected"),
    [
        ("sm_80", "", "cp_async"),
        ("sm_80", "ld_st", "ld_st"),
        ("sm_80", "cp_async", "cp_async"),
        ("sm_90a", "", "tma"),
        ("sm_90a", "ld_st", "ld_st"),
        ("sm_90a", "cp_async", "cp_async"),
        ("sm_90a", "tma", "tma"),
    ],
)
def test_copies_of_a_loop(target: str, engine: str, expected: str, clipped: str) -> None:
    text = GEMM.replace("TARGET", target).replace("CLIPPED", clipped).replace("STORED", "")
    program = tirx.build(text.replace("ENGINE", f"engine {engine}" if engine else ""))
    assert [name for name, form in INSTRUCTIONS.items() if re.search(form, program.ptx)] == [expected]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (64, 256)).astype(np.float16) for _ in range(2))
    d = np.zeros((64, 64), np.float32)
    program.kernels["k"].simulate(a, b, d)
    assert (d == a.astype(np.float32) @ b.astype(np.float32).T).all()


@pytest.mark.parametrize(("stored", "expected"), [("", True), ("engine ld_st", False)])
def test_stores_behind_a_loop(stored: str, expected: bool) -> None:
    """A store with an engine does not go through shared memory."""
    text = GEMM.replace("TARGET", "sm_90a").replace("CLIPPED", "").replace("ENGINE", "").replace("STORED", stored)
    ptx = tirx.build(text.replace(' attributes {tirx.epilogue = "direct"}', "")).ptx
    assert ("cp.async.bulk.tensor.2d.global" in ptx) == expected
