"""A share of the corpus: kernels that Triton, Gluon, CuTe DSL, TileLang and nvcc compiled; docs/corpus.md has all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from unit.sim.packed_kernels import PackedKernel, digest, load

from tirx.explain import explain_ptx
from tirx.sim import SimWarning, run

_KERNELS = load(Path(__file__).parent / "data" / "corpus.xz")


@pytest.mark.sample(1)
@pytest.mark.parametrize("kernel", _KERNELS, ids=[kernel.title for kernel in _KERNELS])
def test_runs_and_equals_numpy(kernel: PackedKernel) -> None:
    warnings: list[SimWarning] = []
    run(
        kernel.ptx,
        kernel.entry,
        kernel.grid,
        kernel.block,
        kernel.arguments,
        kernel.shared,
        kernel.cluster,
        check="hardware",
        report=warnings.append,
    )
    for found, wanted, tolerance in kernel.results:
        if isinstance(wanted, str):
            assert digest(found) == wanted
            continue
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance)
    assert {warning.rule for warning in warnings} == set(kernel.warnings)


@pytest.mark.parametrize("kernel", _KERNELS, ids=[kernel.title for kernel in _KERNELS])
@pytest.mark.sample(3)
def test_descriptors_are_legal(kernel: PackedKernel) -> None:
    report = explain_ptx(kernel.ptx)
    assert report.legal, report.text(kernel.title)
