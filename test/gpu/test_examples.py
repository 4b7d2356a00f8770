"""Every example that this GPU runs gives on it what numpy and the simulator give."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from gpu.arrays import DYNAMIC, product_of, random_arguments
from sweeps.example_sizes import Case, all_cases, check

import tirx
from tirx.runtime import GpuError, Program
from tirx.runtime.driver import Device

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_example(path: Path, gpu: Device) -> None:
    _compare(tirx.build(path.read_text()), gpu)


@pytest.mark.parametrize(
    ("name", "target"), [("gemm_any_target", "sm_75"), ("gemm_any_target", "sm_90a"), ("flash_attention", "sm_80")]
)
def test_one_program_for_several_targets(name: str, target: str, gpu: Device) -> None:
    _compare(tirx.build((EXAMPLES / f"{name}.mlir").read_text(), target), gpu)


@pytest.mark.parametrize(("name", "cluster"), [("wgmma_f16_out_gemm", "rows"), ("wgmma_split_k_gemm", "columns")])
def test_pairs_of_blocks(name: str, cluster: str, gpu: Device) -> None:
    _compare(tirx.build((EXAMPLES / f"{name}.mlir").read_text(), options=f"cluster={cluster} stages=3"), gpu)


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("name", ["wgmma_gemm", "wgmma_f16_out_gemm"])
def test_clusters_along_k(name: str, parts: int, gpu: Device) -> None:
    _compare(tirx.build((EXAMPLES / f"{name}.mlir").read_text(), options=f"parts={parts}"), gpu)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
@pytest.mark.sample(24)
def test_other_sizes(case: Case, gpu: Device) -> None:
    """`python test/sweeps/example_sizes.py --gpu` runs all of them."""
    try:
        assert check(case, on_gpu=True) is None
    except GpuError as error:
        pytest.skip(str(error))


def _compare(program: Program, gpu: Device) -> None:
    """Compares all kernels of a program with the simulator, and products with numpy."""
    for kernel in program.kernels.values():
        try:
            gpu.check_target(kernel.launch.target)
        except GpuError as error:
            pytest.skip(str(error))
        grid = DYNAMIC[kernel.launch.entry][1] if kernel.launch.grid is None else None
        arrays = random_arguments(kernel.launch, np.random.default_rng(0))
        simulated = copy.deepcopy(arrays)
        kernel(*arrays, grid=grid)
        expected = product_of(kernel.launch, arrays)
        if expected is not None:
            np.testing.assert_array_equal(arrays[2], expected)
        kernel.simulate(*simulated, grid=grid)
        is_exact = ".approx" not in kernel.program.ptx
        for on_gpu, in_simulator in zip(arrays, simulated, strict=True):
            if is_exact:
                assert np.asarray(on_gpu).tobytes() == np.asarray(in_simulator).tobytes()
            else:  # the last bits of approximations are not documented
                np.testing.assert_allclose(np.float64(on_gpu), np.float64(in_simulator), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["mma_m8n8k4_f64_gemm", "mma_m8n8k4_f16_gemm"])
def test_arithmetic_is_that_of_the_simulator(name: str, gpu: Device) -> None:
    """Random numbers, whose sums are rounded: the same bits."""
    (kernel,) = tirx.build((EXAMPLES / f"{name}.mlir").read_text()).kernels.values()
    rng = np.random.default_rng(1)
    arrays = random_arguments(kernel.launch, rng)
    for array in arrays[:2]:
        array[:] = rng.standard_normal(array.shape)
    simulated = [array.copy() for array in arrays]
    kernel(*arrays)
    kernel.simulate(*simulated)
    words = np.dtype(f"u{arrays[2].itemsize}")
    np.testing.assert_array_equal(arrays[2].view(words), simulated[2].view(words))
