"""Refusals of launches, beyond the tests of their parts; drivers and frameworks are stand-ins."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from unit.cases import together
from unit.runtime.fake_cuda import CUresult, FakeCuda
from unit.runtime.test_launch import LAUNCH, MAPS, launches_of
from xdsl.dialects.builtin import FloatAttr, f32

from tirx.runtime import ArgumentError, GpuError, Program, driver
from tirx.runtime.arrays import ArrayView, check_array
from tirx.runtime.binding import bind
from tirx.runtime.driver import Device, Driver
from tirx.runtime.extract import _value  # pyright: ignore[reportPrivateUsage]
from tirx.runtime.frameworks import view_of_interface, view_of_jax
from tirx.runtime.launch import PointerArgument
from tirx.runtime.launcher import Launcher
from tirx.runtime.torch_op import torch_operator
from tirx.runtime.tune import _Arrays  # pyright: ignore[reportPrivateUsage]

_BYTES = ArrayView(0, (8, 4), (4, 1), "uint8", 1, 0)


def _packed(shape: tuple[int, ...], strides: tuple[int, ...]) -> PointerArgument:
    return PointerArgument("x", "e2m1", shape, strides, 1, "read")


def _device() -> Device:
    return Device.open(Driver(FakeCuda()), 0)


def _failing() -> Driver:
    cuda = FakeCuda()
    cuda.errors["cuCtxSynchronize"] = CUresult.CUDA_ERROR_INVALID_VALUE
    return Driver(cuda)


def _array(device: int) -> ArrayView:
    return replace(_BYTES, device=device)


_PTX = ".version 7.0\n.target sm_80\n.visible .entry k() { ret; }"
_SCALARS = replace(LAUNCH, arguments=())
_ANY = PointerArgument("x", "e2m1", None, None, 1, "read")


@together(
    ("refused", "message"),
    [
        (
            lambda: check_array(_packed((8, 8), (1, 8)), _BYTES),
            "expected e2m1 elements that are contiguous in the last",
        ),
        (
            lambda: check_array(_packed((8, 7), (8, 1)), _BYTES),
            "expected rows of whole bytes, found 7 elements of 4 bits",
        ),
        (
            lambda: bind(replace(_SCALARS, arguments=(_ANY,)), [replace(_BYTES, shape=(), strides=())], 1),
            "'x': expected an array of one dimension or more for elements of type e2m1, found a single one",
        ),
        (lambda: bind(replace(_SCALARS, block=None), [], 1), "'copy': expected an entry with reqntid, which says its"),
        (
            lambda: bind(replace(_SCALARS, grid=(3, 1, 1)), [], 1),
            r"'copy': expected a grid that is a multiple of the cluster \(2, 1, 1\), found \(3, 1, 1\)",
        ),
        (
            lambda: Launcher.device_of(cast("Any", None), [_array(0), _array(1)]),
            r"expected arrays on one GPU, found some on GPUs \[0, 1\]",
        ),
        (
            lambda: torch_operator("a::b", replace(LAUNCH, grid=None), print),
            r"'copy': expected a kernel with a clause grid\(...\), found none",
        ),
    ],
)
def test_arguments(refused: Callable[[], object], message: str):
    with pytest.raises(ArgumentError, match=message):
        refused()


@together(
    ("refused", "message"),
    [
        (lambda: _device().check_target("gfx90a"), "expected a target such as sm_90a, found gfx90a"),
        (lambda: _device().function(_PTX, "k", 10**9, 1), "'k' takes 1000000000 bytes of shared memory, GPU 0 has"),
        (lambda: _failing().cuCtxSynchronize(), "cuCtxSynchronize: text of CUDA_ERROR_INVALID_VALUE"),
        (lambda: _Arrays([np.zeros(4, np.float32)]), "expected arrays on one GPU"),
    ],
)
def test_devices(refused: Callable[[], object], message: str):
    with pytest.raises(GpuError, match=message):
        refused()


def test_maps_that_the_driver_refuses(monkeypatch: pytest.MonkeyPatch):
    cuda = FakeCuda((8, 8, 128, 128))
    cuda.errors["cuTensorMapEncodeTiled"] = CUresult.CUDA_ERROR_INVALID_VALUE
    opened = Device.open(Driver(cuda), 0)
    monkeypatch.setattr(driver, "device", lambda index: opened)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    (launch,) = launches_of(MAPS)
    kernel = Program(".visible .entry copy(", [replace(launch, grid=(1, 1, 1))]).kernels["copy"]
    with pytest.raises(GpuError, match="^tensor map '.*': cuTensorMapEncodeTiled: text of CUDA_ERROR_INVALID_VALUE"):
        kernel(np.zeros((100, 72), np.float16)[:, :64], np.zeros((64, 64), np.float16))


def test_attributes_of_descriptors():
    with pytest.raises(ValueError, match="expected strings, integers, arrays, dictionaries and unit, found 1.0"):
        _value(FloatAttr(1.0, f32))


def test_arrays_of_other_frameworks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda.core.utils", None)
    with pytest.raises(ArgumentError, match=r"expected the package cuda-core .* for an array of type list"):
        view_of_interface([], cast("Any", None), 0)
    view = SimpleNamespace(from_dlpack=lambda value, stream_ptr: SimpleNamespace(is_device_accessible=False))  # pyright: ignore
    for name in ("cuda", "cuda.core"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, "cuda.core.utils", SimpleNamespace(StridedMemoryView=view))
    with pytest.raises(ArgumentError, match=r"expected an array on a GPU, found one in the host's memory \(list\)"):
        view_of_interface([], cast("Any", None), 0)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(core=SimpleNamespace(Tracer=int)))
    devices = [SimpleNamespace(platform="cpu")]
    with pytest.raises(ArgumentError, match="expected a jax array on one GPU, found one on .*cpu"):
        view_of_jax(SimpleNamespace(devices=lambda: devices))
