"""The example of attention on the other targets that it is for."""

from __future__ import annotations

import numpy as np
from unit.examples import EXAMPLES
from unit.sim.arithmetic_launches import attention
from unit.sim.assembled import assembled

import tirx
from tirx.sim import run


def test_wgmma_keeps_scores_and_weights_in_registers() -> None:
    ptx = tirx.compile((EXAMPLES / "attention.mlir").read_text(), "sm_90a", "pipeline=off")
    entry = ptx[ptx.index(".entry attention(") : ptx.index(".entry causal_attention(")]
    assert entry.count("wgmma.mma_async") == 8
    assert "ld.shared" not in entry
    launch = attention(np.random.default_rng(0), "normal")
    run(assembled(ptx), "attention", (2, 2, 1), (128, 1, 1), launch.arguments, check="strict")
    (output,) = launch.outputs
    found = np.asarray(launch.arguments[output.index]).astype(np.float64)
    assert (np.abs(found - output.expected) <= output.tolerance).all()
