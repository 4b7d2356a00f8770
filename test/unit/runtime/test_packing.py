"""Parameters in memory, calls of the driver, and which launches are kept; the driver is a stand-in."""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.runtime.fake_cuda import CUresult, FakeCuda
from unit.runtime.test_launcher import Tensor, aligned, fake, torch

from tirx.dialects.formula import Call
from tirx.hw.workspaces import ZEROS
from tirx.runtime import ArgumentError, GpuError, driver, launcher, tune
from tirx.runtime.arrays import ArrayView, StrideError
from tirx.runtime.binding import bind
from tirx.runtime.driver import Device, Driver
from tirx.runtime.launch import (
    Access,
    Argument,
    ComputedArgument,
    Launch,
    PointerArgument,
    Precondition,
    ScalarArgument,
    TensorMapArgument,
    WorkspaceArgument,
)
from tirx.runtime.launcher import Launcher
from tirx.runtime.overlap import check_overlap
from tirx.runtime.packing import Plan

__all__ = ["fake", "torch"]

_PTX = ".version 8.1\n.visible .entry k("


def _pointer(name: str, access: Access = "read_write") -> PointerArgument:
    return PointerArgument(name, "f32", (None, None), (None, 1), 4, access)


def _launch(*arguments: Argument, **changes: Any) -> Launch:
    return replace(Launch("k", "sm_90a", (3, 5, 7), (32, 2, 4), (1, 1, 1), 96, arguments), **changes)


def _plan(cuda: FakeCuda, launch: Launch, *values: Any) -> Plan:
    device = Device.open(Driver(cuda), 0)
    return Plan(device, "the function", bind(launch, values, device.sm_count))


def test_parameters_in_order():
    cuda = FakeCuda((8, 1, 8, 2, 4))
    launch = _launch(
        _pointer("x"), ScalarArgument("n", "s8"), _pointer("y"), ComputedArgument("m", "u16", Call("stride", (2, 0))),
        ScalarArgument("scale", "f32"),
    )  # fmt: skip
    x, y = (ArrayView(address, (3, 5), (stride, 1), "float32", 4, 0) for address, stride in ((4096, 5), (8192, 300)))
    plan = _plan(cuda, launch, x, 5, y, 1.5)
    plan.ready([replace(x, address=512), -2, y, 2.5])(9)
    (found,) = cuda.launches
    assert found.parameters == [
        (512).to_bytes(8, "little"), b"\xfe", (8192).to_bytes(8, "little"), b"\x2c\x01", np.float32(2.5).tobytes()
    ]  # fmt: skip
    assert (found.function, found.grid, found.block) == ("the function", (3, 5, 7), (32, 2, 4))
    assert (found.shared, found.stream, found.cluster) == (96, 9, None)


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_grid_without_blocks_launches_nothing(grid: Any):
    cuda = FakeCuda()
    _plan(cuda, _launch(grid=grid)).ready([])(0)
    assert not cuda.launches


def test_clusters():
    cuda: Any = FakeCuda()
    cuda.CUlaunchConfig = Mock(side_effect=SimpleNamespace)
    ready = _plan(cuda, _launch(cluster=(3, 1, 7), grid=(6, 5, 14))).ready([])
    for stream in (4, 6, 4):
        ready(stream)
        found = cuda.launches[-1]
        assert (found.function, found.grid, found.block) == ("the function", (6, 5, 14), (32, 2, 4))
        assert (found.shared, found.stream, found.cluster) == (96, stream, (3, 1, 7))
    # A stream's configuration is kept.
    assert cuda.CUlaunchConfig.call_count == 2


def test_tensor_maps():
    cuda = FakeCuda((8, 8, 128))
    tensor_map = TensorMapArgument(
        "map", 1, "tf32", (64, Call("size", (1, 0))), (Call("mul", (Call("stride", (1, 0)), 4)),), (32, 8), "64B", "nan"
    )
    x, y = (ArrayView(1 << n, (9, 64), (68, 1), "float32", 4, 0) for n in (12, 16))
    plan = _plan(cuda, _launch(_pointer("x"), _pointer("y"), tensor_map), x, y)
    encoded: list[tuple[Any, ...]] = []
    cuda.cuTensorMapEncodeTiled = lambda *fields: (encoded.append(fields), FakeCuda.cuTensorMapEncodeTiled(cuda))[1]
    plan.ready([x, y])
    names = ("DATA_TYPE_TFLOAT32", "INTERLEAVE_NONE", "SWIZZLE_64B", "L2_PROMOTION_L2_128B", "FLOAT_OOB_FILL_NAN_REQ")
    kind, interleave, swizzle, promotion, fill = (f"CU_TENSOR_MAP_{name}" for name in names)
    rows = [64, 9], [272], [32, 8], [1, 1]
    assert encoded == [(kind, 2, 1 << 16, *rows, interleave, swizzle, promotion, f"{fill}UEST_ZERO_FMA")]
    plan = _plan(cuda, _launch(_pointer("x"), _pointer("y"), replace(tensor_map, steps=(2, 1))), x, y)
    plan.ready([x, y])
    assert encoded[1][3:7] == ([64, 9], [272], [32, 8], [2, 1])


@together(
    ("element", "dtype", "kind"),
    [
        ("u8", "uint8", "UINT8"), ("u16", "uint16", "UINT16"), ("u32", "uint32", "UINT32"), ("s32", "int32", "INT32"),
        ("u64", "uint64", "UINT64"), ("s64", "int64", "INT64"), ("f16", "float16", "FLOAT16"),
        ("bf16", "bfloat16", "BFLOAT16"), ("f32", "float32", "FLOAT32"), ("f64", "float64", "FLOAT64"),
        ("tf32", "float32", "TFLOAT32"),
    ],
)  # fmt: skip
@together(("promotion", "of_cuda"), [("none", "NONE"), ("64B", "L2_64B"), ("256B", "L2_256B")])
def test_names_of_tensor_maps(element: str, dtype: str, kind: str, promotion: Any, of_cuda: str):
    cuda, size = FakeCuda((8, 128)), int(re.sub(r"\D", "", dtype)) // 8
    tensor_map = TensorMapArgument("map", 0, element, (64, 8), (64 * size,), (16, 8), "none", "zero", promotion)
    x = ArrayView(1 << 12, (8, 64), (64, 1), dtype, size, 0)
    plan = _plan(cuda, _launch(PointerArgument("x", element, (8, 64), (64, 1), 16, "read"), tensor_map), x)
    encoded: list[tuple[Any, ...]] = []
    cuda.cuTensorMapEncodeTiled = lambda *fields: (encoded.append(fields), FakeCuda.cuTensorMapEncodeTiled(cuda))[1]
    plan.ready([x])
    names = f"DATA_TYPE_{kind}", "SWIZZLE_NONE", f"L2_PROMOTION_{of_cuda}", "FLOAT_OOB_FILL_NONE"
    assert [(fields[0], *fields[-3:]) for fields in encoded] == [tuple(f"CU_TENSOR_MAP_{name}" for name in names)]


def test_tensor_maps_of_nothing():
    """They are those of one element, a zero that the device has."""
    cuda = FakeCuda((8, 128, 128))
    of_rows = TensorMapArgument("rows", 0, "f16", (64, Call("size", (0, 0))), (128,), (64, 8))
    of_all = replace(of_rows, name="all", shape=(1, 64, Call("size", (0, 0))), strides=(16, 128), box=(1, 64, 8))
    x = ArrayView(1 << 12, (0, 64), (64, 1), "float16", 2, 0)
    argument = PointerArgument("x", "f16", (None, 64), (64, 1), 16, "read")
    plan = _plan(cuda, _launch(argument, of_rows, of_all), x)
    encoded: list[tuple[Any, ...]] = []
    cuda.cuTensorMapEncodeTiled = lambda *fields: (encoded.append(fields), FakeCuda.cuTensorMapEncodeTiled(cuda))[1]
    for _ in range(2):
        plan.ready([x])
    ((address, memory),) = cuda.allocated.items()
    assert ctypes.string_at(address, ZEROS) == bytes(ZEROS) and address % 16 == 0 and len(memory) >= ZEROS
    assert [fields[2:6] for fields in encoded] == [
        (address, [1, 1], [16], [64, 8]), (address, [1, 1, 1], [16, 16], [1, 64, 8])
    ] * 2  # fmt: skip
    # Zeros are there before a kernel on any stream is, in the context that has the memory.
    assert cuda.log == [
        ("cuCtxPushCurrent", "primary 0"),
        ("cuMemsetD8Async", address, 0, ZEROS, "a stream"),
        ("cuStreamSynchronize", "a stream"),
        ("cuCtxPopCurrent",),
    ]


def test_workspaces_of_streams_and_captures():
    """One of each stream, and of what each capture of it records; capture allows and does not record their zeros."""
    cuda = FakeCuda((8,))
    plan = _plan(cuda, _launch(WorkspaceArgument("workspace", 8192)))
    ready = plan.ready([])
    for stream, captures in (
        (1, {}),
        (1, {}),
        (2, {}),
        (1, {1: 5}),
        (1, {1: 5}),
        (1, {1: 6, 2: 6}),
        (2, {2: 6}),
        (1, {}),
    ):
        cuda.captures = captures
        ready(stream)
    one, two, five, six, other = (int(address) for address in cuda.allocated)
    found = [int.from_bytes(each.parameters[0], "little") for each in cuda.launches]
    assert found == [one, one, two, five, five, six, other, one]
    assert cuda.capture_mode == "CU_STREAM_CAPTURE_MODE_GLOBAL" and len(cuda.context) == 1


@together(
    ("start", "stride", "accesses", "overlaps"),
    [
        (1024, 5, ("read", "write"), True),
        (1024, 5, ("write", "none"), True),
        (1024, 5, ("read", "read"), False),
        (1024 + 59, 5, ("write", "read"), True),
        (1024 + 60, 5, ("write", "read"), False),
        (1024 - 59, 5, ("read", "write"), True),
        (1024 - 60, 5, ("read", "write"), False),
        (1024, 6, ("write", "write"), True),
        (1024 + 36, 5, ("read", "write"), True),
    ],
)
def test_overlaps(start: int, stride: int, accesses: tuple[Access, Access], overlaps: bool):
    """Two arrays of 60 bytes or, with a gap behind each row, of 68."""
    arguments = _pointer("x", accesses[0]), ScalarArgument("n", "s32"), _pointer("y", accesses[1]), _pointer("z")
    x, y = ArrayView(1024, (3, 5), (5, 1), "float32", 4), ArrayView(start, (3, 5), (stride, 1), "float32", 4)
    values = x, 7, y, ArrayView(1 << 20, (3, 5), (5, 1), "float32", 4)
    if not overlaps:
        check_overlap(_launch(*arguments), values)
        return
    with pytest.raises(ArgumentError) as found:
        check_overlap(_launch(*arguments), values)
    assert str(found.value) == (
        "arguments 'x' and 'y': expected arrays that do not overlap, since the kernel writes one of them"
    )


def test_an_error_that_another_context_does_not_mend():
    cuda = FakeCuda()
    cuda.errors["launch"] = CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(GpuError, match="^launch of 'k': text of CUDA_ERROR_INVALID_VALUE [(]CUDA_ERROR"):
        _plan(cuda, _launch()).ready([])(0)
    assert cuda.log == [("cuCtxPushCurrent", "primary 0"), ("cuCtxPopCurrent",)] and len(cuda.launches) == 2


# Devices


def test_what_a_device_says_of_itself():
    cuda = FakeCuda()
    cuda.capability = (10, 3)
    found = Device.open(Driver(cuda), 3)
    assert (found.index, found.context, found.capability) == (3, "primary 3", (10, 3))
    assert (found.sm_count, found.shared_limit) == (132, 232448)


@together(
    ("shared", "cluster", "attributes"),
    [
        (0, 8, {}),
        (1, 8, {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 1}),
        (0, 9, {"CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": 1}),
        (232448, 1, {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 232448}),
    ],
)
def test_attributes_of_functions(shared: int, cluster: int, attributes: dict[str, int]):
    cuda = FakeCuda()
    device = Device.open(Driver(cuda), 0)
    for _ in range(2):
        assert device.function(_PTX, "k", shared, cluster) == "k"
    assert cuda.attributes == attributes and cuda.calls["cuModuleLoadDataEx"] == 1
    assert cuda.context == ["of torch"]
    with pytest.raises(GpuError) as found:
        device.function(_PTX, "k", 232449, cluster)
    assert str(found.value) == "'k' takes 232449 bytes of shared memory, GPU 0 has 232448 for a block"


@together(
    ("capability", "target", "runs"),
    [
        ((10, 3), "sm_100f", True), ((10, 0), "sm_103f", False), ((10, 0), "sm_100f", True),
        ((11, 0), "sm_100f", False),
        ((9, 0), "sm_90", True), ((9, 0), "sm_89", True), ((8, 9), "sm_90", False), ((10, 0), "sm_103", False),
        ((9, 0), "sm_90a", True), ((9, 0), "sm_100a", False), ((12, 1), "sm_121a", True),
    ],
)  # fmt: skip
def test_which_targets_run(capability: tuple[int, int], target: str, runs: bool):
    cuda = FakeCuda()
    cuda.capability = capability
    device = Device.open(Driver(cuda), 2)
    if runs:
        device.check_target(target)
        return
    with pytest.raises(GpuError) as found:
        device.check_target(target)
    here = f"sm_{capability[0]}{capability[1]}"
    assert str(found.value) == (
        f"expected a kernel for {here}, the architecture of GPU 2, found one for {target}; "
        f'tirx.build(..., target="{here}") compiles it for this GPU, where its instructions exist'
    )


def test_answers_of_the_driver():
    api = SimpleNamespace(
        none=lambda: (0,), one=lambda: (0, 5), two=lambda: (0, 5, 6), bad=lambda: (7,),
        cuGetErrorString=lambda code: (0, None),  # pyright: ignore
    )  # fmt: skip
    found = Driver(api)
    assert (found.none(), found.one(), found.two()) == (None, 5, (5, 6))
    with pytest.raises(GpuError, match=r"^bad: unknown error \(7\)$"):
        found.bad()


# Launches that are kept


def test_plans_and_launches_are_limited(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launcher, "READY_LIMIT", 2)
    fake.sizes = (8, 4)
    kernel = Launcher(_PTX, _launch(_pointer("x"), ScalarArgument("n", "s32")))
    plans, ready = kernel._plans, kernel.ready  # pyright: ignore[reportPrivateUsage]
    arrays = [aligned((rows, 3)) for rows in (2, 3, 4)]
    sizes: list[tuple[int, int]] = []
    for index, number in ((0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (1, 3), (0, 3)):
        kernel((arrays[index], number), None, None)
        sizes.append((len(plans), len(ready)))
    assert sizes == [(1, 1), (1, 2), (1, 1), (2, 2), (1, 1), (2, 2), (1, 1)]
    assert fake.calls["cuModuleGetFunction"] == 5


def test_the_cluster_counts_blocks():
    launch = _launch(cluster=(3, 5, 7), grid=(3, 5, 7))
    device: Any = SimpleNamespace(index=0, sm_count=1, check_target=Mock(), function=Mock(), driver=Mock())
    Launcher(_PTX, launch).prepare([], device, None)
    device.function.assert_called_once_with(_PTX, "k", 96, 105)
    device.check_target.assert_called_once_with("sm_90a")


@pytest.mark.parametrize(("blocks", "grid"), [(4, 120), (2, 120), (64, 64)])
def test_clusters_that_run_at_once(blocks: int, grid: int):
    """The driver says how many fit: those of four blocks take 120 of 132 multiprocessors here."""
    cuda = FakeCuda()
    extent = Call("mul", (Call("cluster_count", (blocks,)), blocks))
    launch = _launch(cluster=(blocks, 1, 1), grid=(extent, 1, 1))
    _, bound = Launcher(_PTX, launch).bound([], Device.open(Driver(cuda), 0), None)
    assert bound.grid == (grid, 1, 1) and cuda.calls["cuOccupancyMaxActiveClusters"] == 1


def test_another_kernel_takes_strides_that_one_refuses():
    first, other, last = (
        _launch(entry=name, preconditions=(Precondition(3, test, bound, f"expected {name}"),))
        for name, test, bound in (("k", "multiple_of", 2), ("l", "at_most", 3), ("m", "multiple_of", 2))
    )
    device = Mock(sm_count=1)
    found, bound = Launcher(_PTX, first, lambda _: Launcher("other", other)).bound([], device, None)
    assert bound.launch is other and found.bound([], device, None) == (found, bound)
    with pytest.raises(StrideError, match="^'m': expected m$"):
        Launcher(_PTX, first, lambda _: Launcher("last", last)).bound([], device, None)
    with pytest.raises(StrideError, match="^'k': expected k$"):
        Launcher(_PTX, first).bound([], device, None)


def test_errors_name_the_argument(fake: FakeCuda, torch: Any):
    kernel = Launcher(_PTX, _launch(_pointer("x"), ScalarArgument("n", "s32")))
    kinds = "expected a torch, cupy, jax or numpy array, one with __dlpack__ or __cuda_array_interface__, or a number"
    for arguments, where in (((1, "a"), "argument 'n'"), ((1, 2, "a"), "argument 2")):
        with pytest.raises(ArgumentError) as found:
            kernel(arguments, None, None)
        assert str(found.value) == f"{where}: {kinds}, found str"
    on_host = Tensor(np.zeros((2, 2), np.float32), "cpu", is_cuda=False)
    for arguments in ((1, on_host), (np.zeros((2, 2), np.float32), on_host)):
        with pytest.raises(ArgumentError, match=r"^argument 'n': expected a tensor on a GPU, found one on 'cpu'"):
            kernel(arguments, None, None)


# Arrays that are moved


class _Jax:
    """An array of jax; the GPU's memory is the host's."""

    def __init__(self, data: Any):
        self.data = data
        self.shape, self.dtype = data.shape, data.dtype

    def devices(self) -> Any:
        return [SimpleNamespace(platform="gpu", local_hardware_id=0)]

    def block_until_ready(self) -> None:
        pass

    def unsafe_buffer_pointer(self) -> int:
        return self.data.__array_interface__["data"][0]


class _Struct(SimpleNamespace):
    pass


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = SimpleNamespace(
        zeros=lambda shape, dtype: _Jax(np.zeros(shape, dtype)),  # pyright: ignore
        array=lambda array, copy: _Jax(np.array(array.data, copy=copy)),  # pyright: ignore
    )
    core = SimpleNamespace(Tracer=_Struct)
    found = SimpleNamespace(Array=_Jax, ShapeDtypeStruct=_Struct, core=core, numpy=made)
    monkeypatch.setitem(sys.modules, "jax", found)
    return found


def test_arrays_of_jax_are_new_where_they_are_written(fake: FakeCuda, jax: Any):
    def add(parameters: list[bytes]) -> None:
        addresses = [int.from_bytes(each, "little") for each in parameters]
        for address in addresses[1:]:
            value = np.empty(1, np.float32)
            fake.cuMemcpyDtoH(value.__array_interface__["data"][0], address, 4)
            value += 1
            fake.cuMemcpyHtoD(address, value.__array_interface__["data"][0], 4)

    fake.sizes, fake.execute = (8, 8, 8), add
    x, y = (_Jax(np.full((2, 3), n, np.float32)) for n in (4, 6))
    zeros = _Struct(shape=(2, 3), dtype=np.float32)
    kernel = Launcher(_PTX, _launch(_pointer("x", "read"), _pointer("y"), _pointer("z", "write")))
    written, made = kernel((x, y, zeros), None, None)
    assert (y.data == 6).all() and written.data.tolist() == [[7, 6, 6], [6, 6, 6]]
    assert made.data.tolist() == [[1, 0, 0], [0, 0, 0]]
    parameters = fake.launches[0].parameters
    assert int.from_bytes(parameters[0], "little") == x.unsafe_buffer_pointer()
    fake.sizes, fake.execute = (8, 8), None
    one = Launcher(_PTX, _launch(_pointer("x", "read"), _pointer("y")))
    assert isinstance(one((zeros, y), 5, None), _Jax)
    assert fake.launches[-1].stream == 5
    assert Launcher(_PTX, _launch(_pointer("x", "read"), _pointer("y", "none")))((x, y), None, None) is None


def test_when_arrays_of_numpy_are_copied(fake: FakeCuda):
    """Arrays of the host go there before the launch, and back behind it if they are written; empty ones stay."""
    fake.sizes = (8, 8, 8)
    x, y = np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)[:, :2]
    nothing = np.zeros((0, 3), np.float32)
    kernel = Launcher(_PTX, _launch(_pointer("x", "read"), _pointer("y"), _pointer("z")))
    context = [("cuCtxPushCurrent", "primary 0"), ("cuCtxPopCurrent",)]
    for stream, synchronised in ((None, [("cuCtxSynchronize",)]), (6, [])):
        fake.log.clear()
        fake.calls.clear()
        kernel((x, y, nothing), stream, None)
        copies = {name: fake.calls[name] for name in ("cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemFree")}
        assert copies == {"cuMemAlloc": 2, "cuMemcpyHtoD": 2, "cuMemcpyDtoH": 1, "cuMemFree": 2}
        # The first launch loads the module.
        log = [each for each in fake.log if not each[0].startswith("cuCtxP")]
        assert log == [*synchronised, ("cuStreamSynchronize", stream or 0)]
        assert (fake.log[0], fake.log[-1]) == tuple(context)
        assert int.from_bytes(fake.launches[-1].parameters[2], "little") == nothing.__array_interface__["data"][0]


def test_streams_that_interfaces_are_made_ready_for(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch):
    """-1 asks for no synchronisation, as the launch synchronises everything itself."""
    streams: list[int] = []
    view = ArrayView(1 << 16, (2, 3), (3, 1), "float32", 4, 0)
    monkeypatch.setattr(launcher, "view_of_interface", lambda value, device, stream: (streams.append(stream), view)[1])  # pyright: ignore
    fake.sizes = (8,)
    kernel = Launcher(_PTX, _launch(_pointer("x")))
    for stream in (None, 0, 7):
        kernel((SimpleNamespace(__dlpack__=1),), stream, None)
    assert streams == [-1, 0, 7]


# Measurements


@pytest.mark.parametrize(
    ("milliseconds", "launches"),
    [(2.0, 1), (1.4, 2), (0.7, 4), (0.0600001, 49), (0.06, 50), (0.01, 50), (9.0, 1), (0.0, 50)],
)
def test_how_often_a_launch_is_repeated(
    fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch, milliseconds: float, launches: int
):
    monkeypatch.setattr(tune, "device", driver.device)
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    arrays = tune._Arrays([aligned((2, 3))])  # pyright: ignore[reportPrivateUsage]
    calls: list[int] = []
    fake.log.clear()
    fake.elapsed = [milliseconds, 30.0, 10.0, 20.0]
    found = arrays.measure([lambda: calls.append(len(fake.log))], 3)
    assert found == [pytest.approx(20.0 / 1e3 / launches)]
    assert len(calls) == 1 + 3 * launches
    assert len(pauses) == 3 and all(0.03 <= pause <= 0.1 for pause in pauses)
    start, end = "event 0", "event 1"
    once = [
        ("cuEventRecord", start, 0), ("cuEventRecord", end, 0), ("cuEventSynchronize", end),
        ("cuEventElapsedTime", start, end),
    ]  # fmt: skip
    assert fake.log == [
        ("cuCtxPushCurrent", "primary 0"), *once * 4, ("cuEventDestroy", start), ("cuEventDestroy", end),
        ("cuCtxPopCurrent",),
    ]  # fmt: skip
    # Between both events of a measurement.
    assert calls == [2, *(6 + 4 * n for n in range(3) for _ in range(launches))]


def test_what_a_search_reads_of_arrays(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tune, "device", driver.device)
    x, empty = aligned((2, 3)), Tensor(np.zeros((0, 3), np.float32))
    x.data[...] = np.arange(6).reshape(2, 3)
    arrays = tune._Arrays([x, 4, empty])  # pyright: ignore[reportPrivateUsage]
    assert arrays.start == {0: x.data.tobytes(), 2: b""}
    fake.sizes = (8, 4, 8)
    launch = _launch(_pointer("x"), ScalarArgument("n", "s32"), _pointer("z", "write"))
    kernel: Any = Mock(launch=launch)
    x.data[...] = 9
    assert arrays.results(kernel) == {0: np.arange(6, dtype=np.float32).tobytes(), 2: b""}
    kernel.assert_called_once_with(x, 4, empty, stream=0)
    for others in ([np.zeros(3, np.float32)], [Tensor(np.zeros(3, np.float32), "cuda:1")]):
        with pytest.raises(GpuError, match="^expected arrays on one GPU$"):
            tune._Arrays([x, *others])  # pyright: ignore[reportPrivateUsage]
    assert tune._Arrays([3]).device.index == 0  # pyright: ignore[reportPrivateUsage]


def test_workspaces_are_as_large_as_was_asked_for():
    cuda = FakeCuda((8,))
    device = Device.open(Driver(cuda), 0)
    first = device.workspace((1, 0), ZEROS + 8)
    assert [device.workspace((1, 0), size) for size in (8, ZEROS, ZEROS + 8)] == [first] * 3
    larger = device.workspace((1, 0), ZEROS + 9)
    assert larger != first and device.workspace((1, 0), ZEROS + 9) == larger == device.workspace((1, 0), 8)
    assert [len(each) - ZEROS for each in cuda.allocated.values()][:2] == [8, 9] or len(cuda.allocated) == 2


def test_tensor_maps_of_one_dimension():
    """The driver refuses a null pointer for the strides, though it reads none; an empty list becomes one."""
    cuda = FakeCuda((8, 128))
    x = ArrayView(1 << 12, (64,), (1,), "float32", 4, 0)
    row = TensorMapArgument("row", 0, "f32", (64,), (), (32,))
    plan = _plan(cuda, _launch(PointerArgument("x", "f32", (64,), (1,), 16, "read"), row), x)
    encoded: list[tuple[Any, ...]] = []
    cuda.cuTensorMapEncodeTiled = lambda *fields: (encoded.append(fields), FakeCuda.cuTensorMapEncodeTiled(cuda))[1]
    plan.ready([x])
    ((_, rank, _, shape, strides, box, *_),) = encoded
    assert (rank, shape, len(strides), box) == (1, [64], 1, [32])
