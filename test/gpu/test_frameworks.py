"""The same kernel from arrays of torch, cupy, jax and numpy; streams, graphs, `torch.compile`, the cost of a launch."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import tirx
from tirx.runtime import ArgumentError, GpuError, Kernel
from tirx.runtime.driver import Device

EXAMPLES = Path(__file__).parents[2] / "examples"
LAUNCH_LIMIT = 16e-6
"""Seconds: the launch of an empty kernel by Triton 3.6 from torch tensors, on the same machines."""

_RNG = np.random.default_rng(0)
A, B = (_RNG.integers(-3, 4, (rows, 128)).astype(np.float64) for rows in (256, 192))
D = A @ B.T


def framework(name: str) -> Any:
    """The module, or a skipped test. jax must not take the whole memory of the GPU."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return pytest.importorskip(name)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return tirx.build((EXAMPLES / "mma_m8n8k4_f64_gemm.mlir").read_text()).kernels["dgemm"]


@pytest.fixture
def torch_arrays() -> tuple[Any, Any, Any, Any]:
    torch = framework("torch")
    a, b = (torch.from_numpy(array).cuda() for array in (A, B))
    return torch, a, b, torch.zeros(256, 192, dtype=torch.float64, device="cuda")


def test_numpy(kernel: Kernel, gpu: Device) -> None:
    d = np.zeros((256, 192))
    assert kernel(A, B, d) is None
    np.testing.assert_array_equal(d, D)


def test_torch(kernel: Kernel, torch_arrays: Any) -> None:
    torch, a, b, d = torch_arrays
    for _ in range(2):
        d.zero_()
        kernel(a, b, d)
        np.testing.assert_array_equal(d.cpu().numpy(), D)
    other = torch.cuda.Stream()
    other.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(other):
        torch.cuda._sleep(10_000_000)
        d.zero_()
        kernel(a, b, d)
    other.synchronize()
    np.testing.assert_array_equal(d.cpu().numpy(), D)
    d.zero_()
    torch.cuda.synchronize()
    kernel(a, b, d, stream=other)
    other.synchronize()
    np.testing.assert_array_equal(d.cpu().numpy(), D)


def test_threads_without_a_context(kernel: Kernel, torch_arrays: Any) -> None:
    _, a, b, d = torch_arrays
    thread = threading.Thread(target=lambda: kernel(a, b, d))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(d.cpu().numpy(), D)


def test_arguments_that_do_not_fit(kernel: Kernel, torch_arrays: Any) -> None:
    _, a, b, d = torch_arrays
    with pytest.raises(ArgumentError, match="argument 'a': expected a tensor on a GPU, found one on 'cpu'"):
        kernel(a.cpu(), b, d)
    with pytest.raises(ArgumentError, match=r"argument 'd': expected shape \(256, 192\), found \(192, 256\)"):
        kernel(a, b, d.T)
    with pytest.raises(ArgumentError, match="argument 'b': expected dtype float64 for elements of type f64"):
        kernel(a, b.float(), d)


def test_cupy(kernel: Kernel, gpu: Device) -> None:
    cupy = framework("cupy")
    a, b, d = cupy.asarray(A), cupy.asarray(B), cupy.zeros((256, 192))
    with cupy.cuda.Stream() as stream:
        for _ in range(2):
            d[...] = 0
            kernel(a, b, d)
        stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(d), D)


def test_jax(kernel: Kernel, gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = framework("jax")
    jax.config.update("jax_enable_x64", True)
    a, b, d = jax.numpy.asarray(A), jax.numpy.asarray(B), jax.numpy.zeros((256, 192))
    result = kernel(a, b, d)
    np.testing.assert_array_equal(np.asarray(result), D)
    assert not np.asarray(d).any()
    np.testing.assert_array_equal(np.asarray(kernel(a, b, jax.ShapeDtypeStruct((256, 192), np.float64))), D)
    with pytest.raises(ArgumentError, match="found one that jax traces: call kernels outside of jit"):
        jax.jit(kernel)(a, b, d)


def test_other_arrays(kernel: Kernel, torch_arrays: Any) -> None:
    """Arrays that have only DLPack, or only the CUDA array interface."""
    _, a, b, d = torch_arrays

    class Interface:
        __cuda_array_interface__ = a.__cuda_array_interface__

    class Dlpack:
        def __dlpack__(self, **options: Any) -> Any:
            return b.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return b.__dlpack_device__()

    kernel(Interface(), Dlpack(), d)
    np.testing.assert_array_equal(d.cpu().numpy(), D)


def test_graphs(kernel: Kernel, torch_arrays: Any) -> None:
    torch, a, b, d = torch_arrays
    kernel(a, b, d)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d.zero_()
        kernel(a, b, d)
    a.mul_(2)
    graph.replay()
    np.testing.assert_array_equal(d.cpu().numpy(), 2 * D)


def test_compiled_programs_keep_the_operator(kernel: Kernel, torch_arrays: Any) -> None:
    torch, a, b, d = torch_arrays
    operator = kernel.torch_operator("tirx_test::dgemm")
    assert str(operator._opoverload._schema) == "tirx_test::dgemm(Tensor a, Tensor b, Tensor(a2!) d) -> ()"
    torch.library.opcheck(operator, (a, b, d))

    def program(a: Any, b: Any) -> Any:
        d = torch.empty(256, 192, dtype=torch.float64, device="cuda")
        operator(2 * a, b, d)
        return d + 1

    compiled = torch.compile(program, fullgraph=True)
    np.testing.assert_array_equal(compiled(a, b).cpu().numpy(), 2 * D + 1)
    with pytest.raises(Exception, match=r"argument 'a': expected shape \(256, 128\), found"):
        torch.compile(program, fullgraph=True)(a[:8].contiguous(), b)


def test_launches_are_cheap(kernel: Kernel, torch_arrays: Any) -> None:
    torch, a, b, d = torch_arrays
    best = float("inf")
    for _ in range(20):
        torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(100):
            kernel(a, b, d)
        best = min(best, (perf_counter() - start) / 100)
    print(f"a launch takes {best * 1e6:.2f} us")
    assert best < LAUNCH_LIMIT


def test_kernels_of_other_architectures(gpu: Device) -> None:
    text = (EXAMPLES / "tcgen05_gemm.mlir").read_text()
    kernel = tirx.build(text).kernels["gemm"]
    if gpu.capability == (10, 0):
        pytest.skip("this GPU runs tcgen05")
    a, b = (np.zeros((rows, 256), np.float16) for rows in (512, 1024))
    with pytest.raises(GpuError, match="expected a kernel for sm_.*, found one for sm_100a"):
        kernel(a, b, np.zeros((512, 1024), np.float32))
