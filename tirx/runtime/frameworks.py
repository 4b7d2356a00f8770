"""Arrays of torch, cupy, jax, numpy and whatever speaks DLPack or `__cuda_array_interface__`, as views."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tirx.layout.shape import row_major_strides as row_major
from tirx.runtime.arrays import ArgumentError, ArrayView, dtype_name, element_strides, view_of_numpy
from tirx.runtime.driver import Device

CurrentStream = Callable[[], int]


def framework_of(value: Any) -> str:
    """`"torch"`, `"cupy"`, `"jax"`, `"numpy"`, `"cuda"` (an interface of arrays on a GPU) or `"number"`."""
    if isinstance(value, int | float | np.generic):
        return "number"
    if isinstance(value, np.ndarray):
        return "numpy"
    for name, kind in (("torch", "Tensor"), ("cupy", "ndarray"), ("jax", "Array"), ("jax", "ShapeDtypeStruct")):
        module = sys.modules.get(name)
        if module is not None and isinstance(value, getattr(module, kind)):
            return name
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        return "cuda"
    raise ArgumentError(
        f"expected a torch, cupy, jax or numpy array, one with __dlpack__ or __cuda_array_interface__, or a number, "
        f"found {type(value).__name__}"
    )


def view_of_torch(tensor: Any) -> ArrayView:
    """The view of a torch tensor on a GPU. Raises ArgumentError for one that is elsewhere."""
    if not tensor.is_cuda:
        raise ArgumentError(f"expected a tensor on a GPU, found one on '{tensor.device}'; tensor.cuda() copies it")
    dtype = str(tensor.dtype).removeprefix("torch.")
    return ArrayView(
        tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), dtype, tensor.element_size(), tensor.get_device()
    )


def view_of_cupy(array: Any) -> ArrayView:
    """The view of a cupy array."""
    size = array.itemsize
    strides, dtype = element_strides(array.strides, size), dtype_name(array.dtype)
    return ArrayView(array.data.ptr, array.shape, strides, dtype, size, array.data.device_id)


def view_of_jax(array: Any) -> ArrayView:
    """The view of a jax array on one GPU, once it is computed. Raises ArgumentError for another or a traced one."""
    jax = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        raise ArgumentError("expected a jax array with a value, found one that jax traces: call kernels outside of jit")
    devices = array.devices()
    place = next(iter(devices))
    if len(devices) != 1 or place.platform != "gpu":
        raise ArgumentError(f"expected a jax array on one GPU, found one on {devices}")
    array.block_until_ready()
    dtype = np.dtype(array.dtype)
    address, index = array.unsafe_buffer_pointer(), place.local_hardware_id
    return ArrayView(address, array.shape, row_major(array.shape), dtype.name, dtype.itemsize, index)


def view_of_interface(value: Any, device: Device, stream: int) -> ArrayView:
    """The view of an array on a GPU with `__cuda_array_interface__` or DLPack, ready for work on `stream`."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _view_of_cuda(interface, device)
    try:
        utils = importlib.import_module("cuda.core.utils")
    except ImportError as error:
        raise ArgumentError(
            "expected the package cuda-core (pip install 'tirx-compiler[cuda]') for an array of type "
            f"{type(value).__name__}"
        ) from error
    view = utils.StridedMemoryView.from_dlpack(value, stream_ptr=stream)
    if not view.is_device_accessible:
        raise ArgumentError(f"expected an array on a GPU, found one in the host's memory ({type(value).__name__})")
    dtype, shape = np.dtype(view.dtype), tuple(view.shape)
    strides = row_major(shape) if view.strides is None else tuple(view.strides)
    return ArrayView(view.ptr, shape, strides, dtype.name, dtype.itemsize, view.device_id, not view.readonly)


def _view_of_cuda(interface: Mapping[str, Any], device: Device) -> ArrayView:
    """The view behind `__cuda_array_interface__` (numba's documentation, "CUDA Array Interface", versions 2 and 3)."""
    driver = device.driver
    address, read_only = interface["data"]
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    in_bytes = interface.get("strides")
    strides = row_major(shape) if in_bytes is None else element_strides(in_bytes, dtype.itemsize)
    if (stream := interface.get("stream")) is not None:
        with device.current():
            driver.cuStreamSynchronize(stream)
    attribute = driver.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    index = driver.cuPointerGetAttribute(attribute, address) if address else device.index
    return ArrayView(address, shape, strides, dtype_name(dtype), dtype.itemsize, index, not read_only)


VIEWS: dict[str, Callable[[Any], ArrayView]] = {
    "torch": view_of_torch,
    "cupy": view_of_cupy,
    "jax": view_of_jax,
    "numpy": view_of_numpy,
}
"""Framework -> the view of its arrays."""


# Launches of arrays that were seen before look up their parameters by these keys: what a view is made of, cheaply.

READY_LIMIT = 4096
"""Launches that a kernel keeps prepared; all go when there are more."""


def _torch_key(tensor: Any) -> Hashable:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.get_device()


def _cupy_key(array: Any) -> Hashable:
    return array.data.ptr, array.shape, array.strides, array.dtype, array.data.device_id


def _float_key(value: float) -> Hashable:
    return value, math.copysign(1.0, value), "float"


KEYS: dict[str, Callable[[Any], Hashable]] = {"torch": _torch_key, "cupy": _cupy_key}
"""Frameworks whose arrays stay where they are from launch to launch -> the key of an array, its address first."""

SCALAR_KEYS: dict[type, Callable[[Any], Hashable]] = {int: lambda value: (value, "int"), float: _float_key}
"""The same for numbers."""


def default_stream() -> int:
    """The default stream of CUDA, which waits for others (CUDA driver API, "Stream synchronization behavior")."""
    return 0


def current_stream(frameworks: set[str], device: int) -> CurrentStream:
    """Returns what gives the stream that the framework of the arrays works on at the moment."""
    if "torch" in frameworks:
        torch = sys.modules["torch"]
        # What Triton and torch's own compiler call: a tenth of the time of torch.cuda.current_stream.
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        if raw is not None:
            return partial(raw, device)
        return lambda: torch.cuda.current_stream(device).cuda_stream
    if "cupy" in frameworks:
        cupy = sys.modules["cupy"]
        return lambda: cupy.cuda.get_current_stream(device).ptr
    return default_stream


def stream_handle(stream: Any) -> int:
    """The handle of a stream: a number, or an object of torch, cupy, cuda-core or another with `__cuda_stream__`.

    Raises ArgumentError for anything else.
    """
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr"):
        if isinstance(found := getattr(stream, name, None), int):
            return found
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise ArgumentError(f"expected a stream of torch, cupy or cuda-core, or its handle, found {stream!r}")
