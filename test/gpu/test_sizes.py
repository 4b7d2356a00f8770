"""Arrays of sizes that a launch on a GPU treats apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from unit.runtime.test_sizes import NOTHING

import tirx
from tirx.runtime import ArgumentError, GpuError
from tirx.runtime.driver import Device

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def hopper(gpu: Device) -> None:
    """A GPU that runs kernels for sm_90a."""
    try:
        gpu.check_target("sm_90a")
    except GpuError as error:
        pytest.skip(str(error))


def test_tensor_maps_of_nothing(hopper: None) -> None:
    """Blocks that load tiles of an array without elements find zeros, and none may store to one."""
    kernel = tirx.build(NOTHING).kernels["k"]
    nothing, rows = np.zeros((0, 64), np.float16), np.empty((48, 64), np.float16)
    for _ in range(2):
        rows[:] = 1
        kernel(nothing, rows)
        assert not rows.any()
    with pytest.raises(ArgumentError, match="expected 1 element or more along dimension 1 of tensor map 'd_map'"):
        kernel(rows, nothing)


def test_a_product_along_nothing(hopper: None) -> None:
    kernel = tirx.build((EXAMPLES / "wgmma_any_size_gemm.mlir").read_text()).kernels["wgmma_any_size_gemm"]
    a, b, d = (np.ones(shape, np.float16) for shape in ((200, 0), (264, 0), (200, 264)))
    kernel(a, b, d)
    assert not d.any()
