"""Views, keys and streams of frameworks, of which there are stand-ins with what is looked at."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest
from unit.runtime.fake_cuda import FakeCuda

from tirx.runtime.arrays import ArgumentError, ArrayView
from tirx.runtime.driver import Device, Driver
from tirx.runtime.frameworks import (
    KEYS,
    SCALAR_KEYS,
    VIEWS,
    current_stream,
    framework_of,
    row_major,
    stream_handle,
    view_of_cupy,
    view_of_interface,
    view_of_jax,
    view_of_torch,
)
from tirx.runtime.launch import Launch, PointerArgument, ScalarArgument
from tirx.runtime.torch_op import torch_operator


class _Array:
    """An array of a framework."""

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


class _Struct(_Array):
    pass


class _Other(_Array):
    pass


def _cuda_array(**attributes: Any) -> Any:
    return SimpleNamespace(__cuda_array_interface__=attributes)


def test_frameworks(monkeypatch: pytest.MonkeyPatch):
    values: list[Any] = [3, 2.5, np.float32(1), np.zeros(3), _cuda_array(), SimpleNamespace(__dlpack__=1)]
    for name in ("torch", "cupy", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert [framework_of(each) for each in values] == ["number", "number", "number", "numpy", "cuda", "cuda"]
    with pytest.raises(ArgumentError) as found:
        framework_of(_Array())
    assert str(found.value) == (
        "expected a torch, cupy, jax or numpy array, one with __dlpack__ or __cuda_array_interface__, or a number, "
        "found _Array"
    )
    for name, kind in (("torch", "Tensor"), ("cupy", "ndarray")):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**{kind: _Array}))
        assert framework_of(_Array()) == name
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**{kind: _Other}))
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(Array=_Array, ShapeDtypeStruct=_Struct))
    assert [framework_of(each) for each in (_Array(), _Struct())] == ["jax", "jax"]


def test_views_of_torch_and_cupy():
    tensor: Any = _Array(
        is_cuda=True, dtype="torch.bfloat16", shape=[3, 5], device="cuda:1",
        data_ptr=lambda: 640, stride=lambda: (7, 1), element_size=lambda: 2, get_device=lambda: 1,
    )  # fmt: skip
    assert view_of_torch(tensor) == ArrayView(640, (3, 5), (7, 1), "bfloat16", 2, 1)
    assert KEYS["torch"](tensor) == (640, [3, 5], (7, 1), "torch.bfloat16", 1)
    tensor.is_cuda = False
    with pytest.raises(ArgumentError, match=r"^expected a tensor on a GPU, found one on 'cuda:1'; tensor.cuda\(\) cop"):
        view_of_torch(tensor)
    dtype = np.dtype(np.int32)
    array = _Array(data=SimpleNamespace(ptr=96, device_id=2), itemsize=4, strides=(40, 8), shape=(3, 5), dtype=dtype)
    assert view_of_cupy(array) == ArrayView(96, (3, 5), (10, 2), "int32", 4, 2)
    assert KEYS["cupy"](array) == (96, (3, 5), (40, 8), dtype, 2)
    assert {*VIEWS} == {"torch", "cupy", "jax", "numpy"} and {*KEYS} == {"torch", "cupy"}


def test_keys_of_numbers():
    """-0.0 and 0, True and 1 are other parameters."""
    keys = [SCALAR_KEYS[type(value)](value) for value in (0, 1, 0.0, -0.0, 1.0)]
    assert len({*keys}) == 5 and keys[0] == (0, "int") and keys[3] == (0.0, -1.0, "float")


def test_views_of_jax(monkeypatch: pytest.MonkeyPatch):
    class Tracer(_Array):
        pass

    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(core=SimpleNamespace(Tracer=Tracer)))
    gpus = [SimpleNamespace(platform="gpu", local_hardware_id=index) for index in (3, 4)]
    ready = Mock()
    array: Any = _Array(
        shape=(2, 3, 5), dtype=np.float16, devices=lambda: gpus[:1], unsafe_buffer_pointer=lambda: 256,
        block_until_ready=ready,
    )  # fmt: skip
    assert view_of_jax(array) == ArrayView(256, (2, 3, 5), (15, 5, 1), "float16", 2, 3)
    ready.assert_called_once_with()
    for devices in (gpus, [SimpleNamespace(platform="cpu")]):
        array.devices = Mock(return_value=devices)
        with pytest.raises(ArgumentError) as found:
            view_of_jax(array)
        assert str(found.value) == f"expected a jax array on one GPU, found one on {devices}"
    with pytest.raises(ArgumentError, match="^expected a jax array with a value, found one that jax traces: call"):
        view_of_jax(Tracer())
    assert ready.call_count == 1


def test_interfaces():
    cuda = FakeCuda()
    cuda.pointers = {512: 6}
    device = Device.open(Driver(cuda), 5)
    fields: dict[str, Any] = {"data": (512, True), "typestr": "<i2", "shape": [2, 3], "version": 3}
    view = ArrayView(512, (2, 3), (3, 1), "int16", 2, 6, False)
    assert view_of_interface(_cuda_array(**fields), device, 9) == view
    assert "cuStreamSynchronize" not in cuda.calls
    cuda.log.clear()
    fields |= {"strides": (20, 4), "stream": 0, "data": (0, False)}
    # An array without elements may be at address 0, which is on no GPU.
    assert view_of_interface(_cuda_array(**fields), device, 9) == ArrayView(0, (2, 3), (10, 2), "int16", 2, 5)
    assert cuda.log == [
        ("cuCtxPushCurrent", "primary 5"),
        ("cuStreamSynchronize", 0),
        ("cuCtxPopCurrent",),
    ]


def test_operators_of_torch(monkeypatch: pytest.MonkeyPatch):
    """Registered are the launch, the schema, the arrays that are written, and a function that only checks."""
    x = PointerArgument("x", "f32", (None, 4), (4, 1), 16, "read")
    launch = Launch(
        "k",
        "sm_90a",
        (1, 1, 1),
        (32, 1, 1),
        (1, 1, 1),
        0,
        (x, ScalarArgument("n", "s32"), replace(x, name="y", access="write")),
    )
    operator, kernel = Mock(), Mock(return_value=5)
    custom_op = Mock(return_value=operator)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, "torch.library", SimpleNamespace(custom_op=custom_op))
    assert torch_operator("a::k", launch, kernel) is operator
    schema = "(Tensor x, int n, Tensor(a2!) y) -> ()"
    assert custom_op.call_args.kwargs == {"mutates_args": ["y"], "device_types": "cuda", "schema": schema}
    name, call = custom_op.call_args.args
    assert name == "a::k" and call(1, 2, 3) is None
    kernel.assert_called_once_with(1, 2, 3)
    (fake,) = operator.register_fake.call_args.args
    tensor = _Array(dtype="torch.float32", shape=[3, 4], stride=lambda: (4, 1), element_size=lambda: 4)
    with monkeypatch.context() as patched:
        patched.setattr("tirx.runtime.torch_op.check_array", check := Mock())
        fake(tensor, "any number", tensor)
    assert [call.args for call in check.call_args_list] == [
        (launch.passed[i], ArrayView(0, (3, 4), (4, 1), "float32", 4)) for i in (0, 2)
    ]
    fake(tensor, "any number", tensor)
    with pytest.raises(ArgumentError, match="^argument 'y': expected shape .*, found .3, 5.$"):
        fake(tensor, 1, _Array(**{**vars(tensor), "shape": [3, 5]}))
    assert kernel.call_count == 1


def test_dlpack(monkeypatch: pytest.MonkeyPatch):
    found: dict[str, Any] = {
        "is_device_accessible": True, "dtype": np.float32, "shape": [2, 3], "strides": None, "ptr": 32, "device_id": 4,
        "readonly": False,
    }  # fmt: skip
    from_dlpack = Mock(side_effect=lambda value, stream_ptr: SimpleNamespace(**found))  # pyright: ignore
    for name in ("cuda", "cuda.core"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(__path__=[]))
    utils = SimpleNamespace(StridedMemoryView=SimpleNamespace(from_dlpack=from_dlpack))
    monkeypatch.setitem(sys.modules, "cuda.core.utils", utils)
    nowhere = cast("Any", None)
    assert view_of_interface([7], nowhere, 11) == ArrayView(32, (2, 3), (3, 1), "float32", 4, 4, True)
    from_dlpack.assert_called_once_with([7], stream_ptr=11)
    found |= {"strides": [5, 2], "readonly": True}
    assert view_of_interface([7], nowhere, 11) == ArrayView(32, (2, 3), (5, 2), "float32", 4, 4, False)


def test_rows_without_gaps():
    assert [row_major(shape) for shape in ((), (5,), (2, 3, 5, 7))] == [(), (1,), (105, 35, 7, 1)]


def test_current_streams(monkeypatch: pytest.MonkeyPatch):
    raw = Mock(side_effect=lambda device: 70 + device)  # pyright: ignore
    slow = Mock(side_effect=lambda device: SimpleNamespace(cuda_stream=80 + device))  # pyright: ignore
    cupy = Mock(side_effect=lambda device: SimpleNamespace(ptr=90 + device))  # pyright: ignore
    torch: Any = SimpleNamespace(
        _C=SimpleNamespace(_cuda_getCurrentRawStream=raw), cuda=SimpleNamespace(current_stream=slow)
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(get_current_stream=cupy)))
    assert current_stream({"torch", "cupy"}, 3)() == 73
    assert current_stream({"cupy", "number"}, 3)() == 93
    assert current_stream({"number"}, 3)() == 0
    torch._C = SimpleNamespace()
    assert current_stream({"torch"}, 3)() == 83


def test_handles_of_streams():
    assert stream_handle(5) == 5
    assert stream_handle(SimpleNamespace(cuda_stream=6, ptr=7)) == 6
    assert stream_handle(SimpleNamespace(cuda_stream="none", ptr=7)) == 7
    assert stream_handle(SimpleNamespace(__cuda_stream__=lambda: (0, 8))) == 8
    with pytest.raises(ArgumentError, match="expected a stream of torch, cupy or cuda-core, or its handle, found 2.5$"):
        stream_handle(2.5)
