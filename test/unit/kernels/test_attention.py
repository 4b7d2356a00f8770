"""The examples of attention on other targets, and in other sizes and types."""

from __future__ import annotations

import re
import runpy
from typing import Any

import ml_dtypes
import numpy as np
from unit.examples import EXAMPLES
from unit.sim.arithmetic_launches import attention, weighted

import tirx


def test_wgmma_keeps_scores_and_weights_in_registers() -> None:
    program = tirx.build((EXAMPLES / "attention.mlir").read_text(), "sm_90a", "pipeline=off")
    entry = program.ptx[program.ptx.index(".entry attention(") : program.ptx.index(".entry causal_attention(")]
    assert entry.count("wgmma.mma_async") == 8
    assert "ld.shared" not in entry
    launch = attention(np.random.default_rng(0), "normal")
    program.kernels["attention"].simulate(*launch.arguments, check="strict")
    (output,) = launch.outputs
    found = np.asarray(launch.arguments[output.index]).astype(np.float64)
    assert (np.abs(found - output.expected) <= output.tolerance).all()


def test_heads_of_64_in_bf16() -> None:
    """Three warpgroups, more keys than a block of them; the loop has no product that waits for the one before it."""
    replacements: Any = runpy.run_path(str(EXAMPLES.parent / "benchmarks" / "gpu_programs.py"))["attention_of"]
    text = (EXAMPLES / "flash_attention.mlir").read_text()
    for pattern, new in replacements(64, "bf16", 192, 64, 384):
        text = re.sub(pattern, new, text)
    program = tirx.build(text)
    loop = program.ptx[program.ptx.index(".entry flash_attention(") :]
    assert "wgmma.wait_group.sync.aligned 1;" in loop
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, rows, 64)).astype(ml_dtypes.bfloat16) for rows in (100, 150, 150))
    o = np.zeros_like(q)
    program.kernels["flash_attention"].simulate(q, k, v.transpose(0, 2, 1), o, check="strict")
    expected = weighted(q[0], k[0], v[0], causal=False)
    np.testing.assert_allclose(o[0].astype(np.float64), expected, atol=2.0**-7 * float(np.abs(expected).max()))


def test_flash_attention_on_ampere() -> None:
    """The example for Hopper with static sizes: mma.sync, and keys that `cp.async` brings ahead."""
    replacements: Any = runpy.run_path(str(EXAMPLES.parent / "benchmarks" / "gpu_programs.py"))["attention_of"]
    text = (EXAMPLES / "flash_attention.mlir").read_text()
    for pattern, new in replacements(64, "f16", 64, 64, 128):
        text = re.sub(pattern, new, text)
    text = text.replace("memref<?x?x64xf16>", "memref<1x72x64xf16>")
    text = text.replace("memref<?x64x?xf16, strided<[?, 1, 64]>>", "memref<1x64x72xf16, strided<[4608, 1, 64]>>")
    program = tirx.build(text, "sm_80")
    assert "cp.async.cg" in program.ptx
    assert "mma.sync" in program.ptx
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 72, 64)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    program.kernels["causal_flash_attention"].simulate(q, k, v.transpose(0, 2, 1), o, check="strict")
    np.testing.assert_allclose(o[0].astype(np.float64), weighted(q[0], k[0], v[0], causal=True), atol=4e-3)
