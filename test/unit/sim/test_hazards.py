"""Every hazard is reported, whatever the order in which warps run; kernels without one run."""

from __future__ import annotations

import re

import numpy as np
import pytest
from unit.sim.hazards import HARMLESS, HAZARDS, KERNELS, Hazard
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap

_SEEDS = (None, 1, 2)


def _run(kernel: str, text: str, seed: int | None) -> None:
    cluster = 2 if kernel == "cluster" else 1
    tiles = TensorMap(np.arange(128 * 32, dtype=np.float16).reshape(128, 32) % 7, box=(16, 128), swizzle="32B")
    arguments = [np.zeros((128, 4), np.uint32), tiles]
    run(text, "k", cluster, 128, arguments, cluster=cluster, seed=seed, max_instructions=100_000)


@pytest.mark.sample(11)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_clean(name: str, seed: int | None):
    _run(name, KERNELS[name], seed)


@pytest.mark.parametrize("change", HARMLESS, ids=lambda change: change.name)
def test_harmless(change: Hazard):
    for seed in _SEEDS:
        _run(change.kernel, change.text(), seed)


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
@pytest.mark.sample(10)
def test_hazards(hazard: Hazard):
    lines = hazard.text().split("\n")
    for seed in _SEEDS:
        with pytest.raises(SimError) as caught:
            _run(hazard.kernel, hazard.text(), seed)
        error = caught.value
        assert re.search(hazard.message, str(error)), str(error)
        if hazard.at:
            assert error.text.startswith(hazard.at), error.text
            assert error.line is not None
            assert error.text.rstrip(";") in lines[error.line - 1]
            assert re.search(r"thread", error.where)
