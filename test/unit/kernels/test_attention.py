"""The examples of attention on other targets, and in other sizes and types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from unit.examples import EXAMPLES
from unit.sim.arithmetic_launches import attention, scaled_attention, weighted
from unit.sim.assembled import assembled
from unit.sim.attention_texts import attention_text

import tirx


def test_wgmma_keeps_scores_and_weights_in_registers() -> None:
    text = (EXAMPLES / "attention.mlir").read_text()
    program = tirx.build(text[: text.index("tirx.kernel @causal_attention(")], "sm_90a", "pipeline=off")
    entry = program.ptx[program.ptx.index(".entry attention(") :]
    assert entry.count("wgmma.mma_async") == 8
    assert "ld.shared" not in entry
    launch = attention(np.random.default_rng(0), "normal")
    program.kernels["attention"].simulate(*launch.arguments, check="strict")
    (output,) = launch.outputs
    found = np.asarray(launch.arguments[output.index]).astype(np.float64)
    assert (np.abs(found - output.expected) <= output.tolerance).all()


def test_heads_of_64_in_bf16() -> None:
    """Three warpgroups, more keys than a block of them; the loop has no product that waits for the one before it."""
    program = tirx.build(attention_text("flash_attention", 64, "bf16", 192, 64, 384))
    loop = program.ptx[program.ptx.index(".entry flash_attention(") :]
    assert "wgmma.wait_group.sync.aligned 1;" in loop
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, rows, 64)).astype(ml_dtypes.bfloat16) for rows in (100, 100, 100))
    o = np.zeros_like(q)
    program.kernels["flash_attention"].simulate(q, k, v.transpose(0, 2, 1), o, check="strict")
    expected = weighted(q[0], k[0], v[0], causal=False)
    np.testing.assert_allclose(o[0].astype(np.float64), expected, atol=2.0**-7 * float(np.abs(expected).max()))


@pytest.mark.parametrize(
    "target, kernel, head, element",
    [
        ("sm_80", "causal_flash_attention", 32, "bf16"),
        ("sm_120a", "flash_attention", 32, "f16"),
    ],
)
@pytest.mark.sample(1)
def test_flash_attention_on_other_targets(target: str, kernel: str, head: int, element: str) -> None:
    """The example for Hopper: mma.sync, and keys that `cp.async` or the accelerator brings ahead."""
    program = tirx.build(attention_text(kernel, head, element, 64, 64, 128), target)
    assembled(program.ptx)
    assert ("cp.async.cg" if target == "sm_80" else "cp.async.bulk.tensor") in program.ptx
    # Neither single elements nor rows that threads transpose.
    assert "ld.global.b16" not in program.ptx
    assert "st.shared.b16" not in program.ptx
    rng = np.random.default_rng(0)
    type_ = np.dtype(np.float16 if element == "f16" else ml_dtypes.bfloat16)
    q, k, v = (rng.standard_normal((1, rows, head)).astype(type_) for rows in (40, 70, 70))
    o = np.zeros_like(q)
    program.kernels[kernel].simulate(q, k, v.transpose(0, 2, 1), o, check="strict")
    expected = weighted(q[0], k[0], v[0], causal=kernel.startswith("causal"))
    atol = 2.0 ** (-9 if element == "f16" else -6) * float(np.abs(expected).max())
    np.testing.assert_allclose(o[0].astype(np.float64), expected, atol=atol)


@pytest.mark.parametrize("kernel", ["causal_tensor_attention", "tensor_attention"])
@pytest.mark.sample(1)
def test_products_on_tensor_memory_overlap(kernel: str) -> None:
    """Scores, weights and sums are rings between threads and products, whose role runs an iteration ahead."""
    program = tirx.build(attention_text(kernel, 64, "bf16", 128, 64, 128))
    assembled(program.ptx)
    assert [role.name for role in program.kernels[kernel].launch.schedule.roles] == ["epilogue", "load", "mma"]
    causal = kernel.startswith("causal")
    launch = scaled_attention(
        np.random.default_rng(0), "normal", (1, 1), (40, 100), causal=causal, size=64, dtype=ml_dtypes.bfloat16
    )
    program.kernels[kernel].simulate(*launch.arguments, check="strict")
    (output,) = launch.outputs
    found = np.asarray(launch.arguments[output.index]).astype(np.float64)
    assert (np.abs(found - output.expected) <= output.tolerance).all()
