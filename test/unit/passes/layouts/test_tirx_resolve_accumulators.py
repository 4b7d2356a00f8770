"""One program for four generations: `examples/gemm_any_target.mlir` assembles for each and computes what numpy does."""

from __future__ import annotations

import numpy as np
import pytest
from unit.examples import EXAMPLES
from unit.sim import arithmetic_launches

import tirx
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.ptx.ptxas import assemble

_TEXT = (EXAMPLES / "gemm_any_target.mlir").read_text()


@pytest.mark.parametrize(
    ("target", "where", "instruction", "copies"),
    [
        ("sm_75", "registers, for mma.sync", "mma.sync.aligned.m16n8k8.", "ld.global.v4.b32"),
        ("sm_80", "registers, for mma.sync", "mma.sync.aligned.m16n8k16.", "cp.async.cg"),
        ("sm_90a", "registers, for wgmma", "wgmma.mma_async.", "cp.async.bulk.tensor"),
        ("sm_100a", "tensor memory, for tcgen05.mma of kind f16", "tcgen05.mma.", "cp.async.bulk.tensor"),
    ],
)
@pytest.mark.sample(1)
def test_four_generations(target: str, where: str, instruction: str, copies: str):
    remarks: list[Diagnostic] = []
    with diagnostic_handler(remarks.append):
        program = tirx.build(_TEXT, target)
    said = [d.message for d in remarks]
    assert any(message.startswith(f"accumulator in {where}") for message in said)
    assert any(message.startswith("a ring of") for message in said) == (target != "sm_75"), "pipelined"
    assert instruction in program.ptx
    assert copies in program.ptx
    assembled = assemble(program.ptx, target)
    assert assembled.ok, assembled.stderr

    launch = arithmetic_launches.bias_relu(np.random.default_rng(0), "integers", (100, 40, 256))
    warnings: list[object] = []
    program.kernels["gemm_any_target"].simulate(*launch.arguments, check="strict", report=warnings.append)
    assert not warnings
    for output in launch.outputs:
        np.testing.assert_array_equal(np.asarray(launch.arguments[output.index]).astype(float), output.expected)


def test_any_depth():
    """K that only a launch knows: the accumulator is filled, by threads that have met those of the last stores."""
    program = tirx.build(_TEXT.replace("memref<?x256xf16>", "memref<?x?xf16>"), "sm_100a")
    launch = arithmetic_launches.bias_relu(np.random.default_rng(0), "integers", (100, 40, 128))
    program.kernels["gemm_any_target"].simulate(*launch.arguments, check="strict")
    for output in launch.outputs:
        np.testing.assert_array_equal(np.asarray(launch.arguments[output.index]).astype(float), output.expected)
