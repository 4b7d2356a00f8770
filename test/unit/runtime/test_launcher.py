"""Launches: what is packed, what is kept, what is refused. The driver is a stand-in; `test/gpu` has the real one."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from unit.runtime.fake_cuda import CUresult, FakeCuda
from unit.runtime.test_launch import MAPS, launches_of
from unit.runtime.test_program import KERNEL

import tirx
from tirx.builder import calls
from tirx.runtime import ArgumentError, GpuError, Kernel, Program, driver
from tirx.runtime.driver import Device, Driver, open_driver


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    found = FakeCuda()
    devices: dict[int, Device] = {}

    def device(index: int) -> Device:
        return devices.setdefault(index, Device.open(Driver(found), index))

    monkeypatch.setattr(driver, "device", device)
    return found


@dataclass
class Tensor:
    """A torch tensor, as far as launches look."""

    data: npt.NDArray[Any]
    device: str = "cuda:0"
    is_cuda: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> str:
        return f"torch.{self.data.dtype.name}"

    def data_ptr(self) -> int:
        return self.data.__array_interface__["data"][0]

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.data.itemsize for stride in self.data.strides)

    def element_size(self) -> int:
        return self.data.itemsize

    def get_device(self) -> int:
        return int(self.device[-1])


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    found: Any = SimpleNamespace(Tensor=Tensor, _C=SimpleNamespace(_cuda_getCurrentRawStream=Mock(return_value=77)))
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


def aligned(shape: tuple[int, ...], offset: int = 0) -> Tensor:
    """A tensor of f32 at an address `offset` bytes behind a multiple of 256."""
    count = int(np.prod(shape))
    data = np.zeros(4 * count + 512, np.uint8)
    start = -data.__array_interface__["data"][0] % 256 + offset
    return Tensor(data[start : start + 4 * count].view(np.float32).reshape(shape))


def kernel_of(text: str) -> Kernel:
    """A fresh kernel that has launched nothing."""
    built = tirx.build(text)
    return next(iter(Program.from_json(built.to_json()).kernels.values()))


def test_what_a_launch_passes(fake: FakeCuda, torch: Any) -> None:
    fake.sizes = (8, 8, 4)
    kernel = kernel_of(KERNEL)
    x, wide = aligned((24, 8)), aligned((24, 16))
    y = Tensor(wide.data[:, :8])
    assert kernel(x, y, -2) is None
    (launch,) = fake.launches
    assert (launch.function, launch.grid, launch.block, launch.shared) == ("rows", (3, 1, 1), (32, 1, 1), 0)
    assert launch.stream == 77 and launch.cluster is None
    pointers = [tensor.data_ptr().to_bytes(8, "little") for tensor in (x, y)]
    assert launch.parameters == [*pointers, (-2 & 0xFFFFFFFF).to_bytes(4, "little")]


def test_what_was_seen_is_not_prepared_again(fake: FakeCuda, torch: Any) -> None:
    fake.sizes = (8, 8, 4)
    kernel = kernel_of(KERNEL)
    x, y = aligned((24, 8)), Tensor(aligned((24, 16)).data[:, :8])
    for stream, expected in ((None, 77), (5, 5), (SimpleNamespace(cuda_stream=6), 6), (SimpleNamespace(ptr=7), 7)):
        kernel(x, y, 1, stream=stream)
        assert fake.launches[-1].stream == expected
    kernel(x, y, 1, stream=SimpleNamespace(__cuda_stream__=lambda: (0, 8)))
    assert fake.launches[-1].stream == 8
    with pytest.raises(ArgumentError, match="expected a stream of torch, cupy or cuda-core, or its handle, found 's'"):
        kernel(x, y, 1, stream="s")
    kernel(x, y, 2)
    kernel(aligned((24, 8)), y, 1)
    assert [fake.calls[name] for name in ("cuModuleLoadDataEx", "cuModuleGetFunction")] == [1, 1]
    kernel(aligned((8, 8)), y, 1)
    assert fake.launches[-1].grid == (1, 1, 1)
    assert [fake.calls[name] for name in ("cuModuleLoadDataEx", "cuModuleGetFunction")] == [1, 2]
    # Parameters are those of the arrays, whatever was launched before.
    kernel(x, y, 1)
    assert fake.launches[-1].parameters == fake.launches[0].parameters


def test_arrays_of_numpy_are_copied_both_ways(fake: FakeCuda) -> None:
    def copy(parameters: list[bytes]) -> None:
        x, y = (int.from_bytes(each, "little") for each in parameters[:2])
        for row in range(24):
            fake.cuMemcpyHtoD(y + 64 * row, x + 32 * row, 32)

    fake.sizes, fake.execute = (8, 8, 4), copy
    x = np.arange(192, dtype=np.float32).reshape(24, 8)
    wide = np.full((24, 16), 7, np.float32)
    assert kernel_of(KERNEL)(x, wide[:, :8], np.int32(1)) is None
    np.testing.assert_array_equal(wide[:, :8], x)
    assert (wide[:, 8:] == 7).all()
    assert not fake.allocated and fake.context == ["of torch"]
    assert fake.calls["cuStreamSynchronize"] == 1
    with pytest.raises(ArgumentError, match="arguments 'x' and 'y': expected arrays that do not overlap"):
        square = np.zeros((8, 8), np.float32)
        kernel_of(KERNEL.replace("strided<[16, 1]>", "strided<[8, 1]>"))(square, square, 1)


def test_the_interface_of_cuda_arrays(fake: FakeCuda) -> None:
    fake.sizes = (8, 8, 4)
    x, wide = aligned((24, 8)), aligned((24, 16))

    def interface(tensor: Tensor, **more: Any) -> Any:
        data = {"data": (tensor.data_ptr(), False), "typestr": "<f4", "version": 3}
        return SimpleNamespace(__cuda_array_interface__=data | more)

    kernel = kernel_of(KERNEL)
    kernel(interface(x, shape=(24, 8)), interface(wide, shape=(24, 8), strides=(64, 4), stream=2), 1)
    (launch,) = fake.launches
    assert launch.stream == 0 and launch.grid == (3, 1, 1)
    assert launch.parameters[0] == x.data_ptr().to_bytes(8, "little")
    assert fake.calls["cuStreamSynchronize"] == 2 and fake.calls["cuCtxSynchronize"] == 1
    with pytest.raises(ArgumentError, match=r"argument 'x': expected strides \(8, 1\) in elements, found \(16, 1\)"):
        kernel(interface(wide, shape=(24, 8), strides=(64, 4)), interface(x, shape=(24, 8)), 1)


def test_tensor_maps_and_clusters(fake: FakeCuda, torch: Any) -> None:
    fake.sizes = (8, 8, 128, 128)
    (launch,) = launches_of(MAPS)
    launch = replace(launch, cluster=(2, 1, 1), grid=(4, 1, 1), dynamic_shared=65536)
    kernel = Program(".visible .entry copy(", [launch]).kernels["copy"]
    half = np.zeros(100000, np.float16)
    half = half[-(half.__array_interface__["data"][0] // 2) % 8 :]
    a = Tensor(np.lib.stride_tricks.as_strided(half, (100, 64), (144, 2)))
    d = Tensor(half[20000:24096].reshape(64, 64))
    for _ in range(2):
        kernel(a, d)
    launched = fake.launches[-1]
    assert launched.cluster == (2, 1, 1) and launched.grid == (4, 1, 1) and launched.shared == 65536
    assert fake.calls["cuTensorMapEncodeTiled"] == 2
    assert fake.attributes == {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 65536}
    assert [p[:3] for p in launched.parameters[2:]] == [b"map", b"map"]
    for cluster in ((16, 1, 1), (1, 8, 2), (4, 2, 2)):
        fake.attributes.clear()
        Program(".visible .entry copy(", [replace(launch, cluster=cluster, grid=(16, 16, 2))]).kernels["copy"](a, d)
        assert fake.attributes["CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] == 1
    with pytest.raises(ArgumentError, match="expected a stride of a multiple of 16 bytes along dimension 1 of tensor"):
        kernel(Tensor(np.lib.stride_tricks.as_strided(half, (100, 64), (136, 2))), d)


X, Y = aligned((24, 8)), Tensor(aligned((24, 16)).data[:, :8])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((aligned((24, 8), offset=4), Y, 1), "argument 'x': expected an address that is a multiple of 16 bytes, found"),
        ((Tensor(X.data, "cpu", is_cuda=False), Y, 1), "argument 'x': expected a tensor on a GPU, found one on 'cpu'"),
        (([1], Y, 1), "argument 'x': expected a torch, cupy, jax or numpy array"),
        ((X, Y), "'rows': expected 3 arguments (x, y, n), found 2"),
        ((np.zeros((8, 8), np.float32), 3), "'rows': expected 3 arguments (x, y, n), found 2"),
        ((Y, Y, 1), "argument 'x': expected strides (8, 1) in elements, found (16, 1)"),
        ((X, Y, np.complex64(1)), "argument 'n': expected an integer or a real number, found complex64"),
    ],
)
def test_arguments_that_do_not_fit(fake: FakeCuda, torch: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        kernel_of(KERNEL)(*arguments)
    assert not fake.launches


def test_a_thread_without_a_context_gets_one(fake: FakeCuda, torch: Any) -> None:
    fake.sizes, fake.context = (8, 8, 4), ["none"]
    kernel_of(KERNEL)(X, Y, 1)
    assert len(fake.launches) == 1 and fake.context == ["none"]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            "cuModuleLoadDataEx",
            CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            "expected a driver that reads PTX 7.0, found one of CUDA 13.8: it is too old",
        ),
        (
            "cuModuleLoadDataEx",
            CUresult.CUDA_ERROR_INVALID_PTX,
            "cuModuleLoadDataEx: text of CUDA_ERROR_INVALID_PTX (CUDA_ERROR_INVALID_PTX)\na log",
        ),
        (
            "launch",
            CUresult.CUDA_ERROR_INVALID_VALUE,
            "launch of 'rows': text of CUDA_ERROR_INVALID_VALUE (CUDA_ERROR_INVALID_VALUE)",
        ),
    ],
)
def test_errors_of_the_driver(fake: FakeCuda, torch: Any, function: str, error: CUresult, message: str) -> None:
    fake.sizes = (8, 8, 4)
    fake.errors[function] = error
    with pytest.raises(GpuError, match=re.escape(message)):
        kernel_of(KERNEL)(X, Y, 1)


def test_kernels_of_another_architecture(fake: FakeCuda, torch: Any) -> None:
    fake.capability = (7, 5)
    with pytest.raises(GpuError, match="expected a kernel for sm_75, the architecture of GPU 0, found one for sm_80"):
        kernel_of(KERNEL)(X, Y, 1)


def test_machines_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCuda()
    fake.errors["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    with pytest.raises(GpuError, match=r"expected an NVIDIA GPU, found none: cuInit: .*; kernel.simulate\(...\) runs"):
        open_driver(fake)
    missing: Any = SimpleNamespace(cuInit=Mock(side_effect=RuntimeError("no libcuda.so.1")))
    with pytest.raises(
        GpuError,
        match=(
            r"^expected an NVIDIA GPU with its driver, found none: no libcuda\.so\.1; "
            r"kernel\.simulate\(\.\.\.\) runs a kernel without a GPU$"
        ),
    ):
        open_driver(missing)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    driver.driver.cache_clear()
    with pytest.raises(
        GpuError,
        match=r"expected the package cuda-bindings \(pip install .*\), found none.*kernel\.simulate",
    ):
        kernel_of(KERNEL)(np.zeros((8, 8), np.float32), np.zeros((8, 16), np.float32)[:, :8], 1)


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        ("sm_80", (9, 0), True),
        ("sm_90", (8, 9), False),
        ("sm_90a", (9, 0), True),
        ("sm_90a", (10, 0), False),
        ("sm_100f", (10, 3), True),
        ("sm_100f", (12, 0), False),
        ("sm_100a", (10, 3), False),
    ],
)
def test_targets(fake: FakeCuda, target: str, capability: tuple[int, int], runs: bool) -> None:
    fake.capability = capability
    opened = Device.open(Driver(fake), 0)
    if runs:
        opened.check_target(target)
    else:
        with pytest.raises(GpuError, match=f"found one for {target}"):
            opened.check_target(target)


# Kernels in Python


def _scaled(x: Any, y: Any, by: Any, BM: int = 2) -> None:
    m = tirx.grid((x.shape[0], BM))
    y[m, :] = x[m, :] * by


def test_calls_with_arguments_that_were_seen(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.sizes = (8, 8, 4, 4, 4, 4)
    monkeypatch.setattr(calls, "device_target", lambda: "sm_90a")
    monkeypatch.setenv("TIRX_CACHE", "")
    kernel = tirx.jit(threads=32)(_scaled)
    traced = Mock(wraps=kernel._calls.program)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(kernel._calls, "program", traced)  # pyright: ignore[reportPrivateUsage]
    x, y, z = aligned((4, 32)), aligned((4, 32)), aligned((6, 32))
    launches = 0
    for arguments, constants, programs in (
        ((x, y, 2.0), {}, 1),
        ((x, y, 2.0), {}, 1),
        ((y, x, 2.0), {}, 2),
        ((x, y, 2.0), {"BM": 4}, 3),
        ((x, y, 2.0), {"BM": 4}, 3),
        ((x, y, 3.0), {}, 4),
        ((x, y, 2.0), {}, 4),
    ):
        kernel(*arguments, **constants)
        launches += 1
        assert (traced.call_count, len(fake.launches)) == (programs, launches)
    with pytest.raises(tirx.BuildError, match=r"x.shape\[0\] and y.shape\[0\] to be equal"):
        kernel(x, z, 2.0)


def test_a_call_from_python_runs_no_more_functions_than_a_launch(
    fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.sizes = (8, 8, 4, 4, 4, 4)
    monkeypatch.setattr(calls, "device_target", lambda: "sm_90a")
    monkeypatch.setenv("TIRX_CACHE", "")
    kernel = tirx.jit(threads=32)(_scaled)
    given = aligned((4, 32)), aligned((4, 32)), 2.0
    (launched,) = kernel._calls.program(given, {}, "sm_90a").kernels.values()  # pyright: ignore[reportPrivateUsage]
    counts: list[int] = []
    for each in (kernel, launched):
        each(*given)
        events, before = list[str](), sys.getprofile()
        sys.setprofile(lambda frame, event, argument, events=events: events.append(event))
        try:
            each(*given)
        finally:
            sys.setprofile(before)
        counts.append(sum(event in ("call", "c_call") for event in events))
    assert 0 < counts[0] <= counts[1] < 100, counts
