"""Functions of `cuda.bindings.driver` that `tirx.runtime` calls, without a GPU.

The memory of the GPU is the host's, and a launch calls a function with the bytes of its parameters.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import SimpleNamespace
from typing import Any


class CUresult(IntEnum):
    """Error codes of the driver."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


_MEMBERS = {
    "DEVICE_ATTRIBUTE": "COMPUTE_CAPABILITY_MAJOR COMPUTE_CAPABILITY_MINOR MULTIPROCESSOR_COUNT "
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "FUNC_ATTRIBUTE": "MAX_DYNAMIC_SHARED_SIZE_BYTES NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    "JIT": "ERROR_LOG_BUFFER ERROR_LOG_BUFFER_SIZE_BYTES",
    "STREAM": "NON_BLOCKING CAPTURE_MODE_RELAXED CAPTURE_MODE_GLOBAL",
    "LAUNCH_ATTRIBUTE": "CLUSTER_DIMENSION COOPERATIVE",
    "POINTER_ATTRIBUTE": "DEVICE_ORDINAL",
    "TENSOR_MAP_DATA_TYPE": "UINT8 UINT16 UINT32 INT32 UINT64 INT64 FLOAT16 FLOAT32 FLOAT64 BFLOAT16 TFLOAT32",
    "TENSOR_MAP_INTERLEAVE": "NONE",
    "TENSOR_MAP_SWIZZLE": "NONE 32B 64B 128B 128B_ATOM_32B 128B_ATOM_32B_FLIP_8B 128B_ATOM_64B",
    "TENSOR_MAP_L2_PROMOTION": "NONE L2_64B L2_128B L2_256B",
    "TENSOR_MAP_FLOAT_OOB_FILL": "NONE NAN_REQUEST_ZERO_FMA",
}
"""Members of these enums in `cuda.h` (CUDA 13), as far as they may be used, without their `CU_`."""

_KNOWN = {f"CU_{kind}_{name}" for kind, names in _MEMBERS.items() for name in names.split()}


class _Names:
    """An enum whose members are their names."""

    def __getattr__(self, name: str) -> str:
        if name not in _KNOWN:
            raise AttributeError(f"cuda.h has no {name}")
        return name


class TensorMap:
    """An encoded tensor map."""

    def __init__(self, fields: tuple[Any, ...]):
        self.fields = fields
        self.data = ctypes.create_string_buffer(b"map", 128)

    def getPtr(self) -> int:
        return ctypes.addressof(self.data)


class FakeCuda:
    """The driver's functions. `launches` are those made, `calls` counts functions, `errors` are results to return."""

    CUresult = CUresult
    CUdevice_attribute = CUfunction_attribute = CUjit_option = CUlaunchAttributeID = CUpointer_attribute = _Names()
    CUtensorMapDataType = CUtensorMapInterleave = CUtensorMapSwizzle = _Names()
    CUtensorMapL2promotion = CUtensorMapFloatOOBfill = _Names()
    CUstream_flags = CUstreamCaptureMode = _Names()
    cuuint32_t = cuuint64_t = int

    def __init__(self, sizes: Sequence[int] = (), execute: Callable[[list[bytes]], None] | None = None):
        self.sizes = sizes
        """Bytes of each parameter."""
        self.execute = execute
        self.launches: list[SimpleNamespace] = []
        self.calls: dict[str, int] = {}
        self.errors: dict[str, CUresult] = {}
        self.capability: tuple[int, int] = (9, 0)
        self.context: list[str] = ["of torch"]
        self.allocated: dict[int, Any] = {}
        self.attributes: dict[str, int] = {}
        self.elapsed: list[float] = []
        """Milliseconds between the next events; 2 when none are left."""
        self.pointers: dict[int, int] = {}
        """Address -> its GPU; others are on GPU 0."""
        self.captures: dict[int, int] = {}
        """Stream -> the number of the capture that records it."""
        self.capture_mode = "CU_STREAM_CAPTURE_MODE_GLOBAL"
        self.log: list[tuple[Any, ...]] = []
        """Changes of the context, copies, events and synchronisations, with what they are given."""

    def _call(self, name: str, *values: Any) -> tuple[Any, ...]:
        self.calls[name] = self.calls.get(name, 0) + 1
        error = self.errors.get(name, CUresult.CUDA_SUCCESS)
        return (error,) if error and not values else (error, *values)

    def cuGetErrorString(self, error: CUresult) -> Any:
        return CUresult.CUDA_SUCCESS, f"text of {error.name}".encode()

    def cuInit(self, flags: int) -> Any:
        assert flags == 0
        return self._call("cuInit")

    def cuDriverGetVersion(self) -> Any:
        return self._call("cuDriverGetVersion", 13080)

    def cuDeviceGet(self, index: int) -> Any:
        return self._call("cuDeviceGet", index)

    def cuDeviceGetAttribute(self, name: str, device: int) -> Any:
        major, minor = self.capability
        values = {"MAJOR": major, "MINOR": minor, "MULTIPROCESSOR_COUNT": 132, "OPTIN": 232448}
        return self._call("cuDeviceGetAttribute", next(v for end, v in values.items() if name.endswith(end)))

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return self._call("cuDevicePrimaryCtxRetain", f"primary {device}")

    def cuCtxPushCurrent(self, context: str) -> Any:
        self.context.append(context)
        self.log.append(("cuCtxPushCurrent", context))
        return self._call("cuCtxPushCurrent")

    def cuCtxPopCurrent(self) -> Any:
        self.log.append(("cuCtxPopCurrent",))
        return self._call("cuCtxPopCurrent", self.context.pop())

    def cuModuleLoadDataEx(self, image: bytes, count: int, names: list[Any], values: list[Any]) -> Any:
        assert image.endswith(b"\0") and not image.endswith(b"\0\0") and count == len(names) == len(values)
        assert len(values[0]) == values[1] == 16384
        values[0][:6] = b"a log\0"
        return self._call("cuModuleLoadDataEx", image.decode())

    def cuModuleGetFunction(self, module: str, name: bytes) -> Any:
        found = re.search(rf"\.entry {name.decode()}\(", module)
        assert found and self.context[-1] == "primary 0"
        return self._call("cuModuleGetFunction", name.decode())

    def cuFuncSetAttribute(self, function: str, name: str, value: int) -> Any:
        self.attributes[name] = value
        return self._call("cuFuncSetAttribute")

    def cuTensorMapEncodeTiled(self, *fields: Any) -> Any:
        return self._call("cuTensorMapEncodeTiled", TensorMap(fields))

    def cuThreadExchangeStreamCaptureMode(self, mode: str) -> Any:
        before, self.capture_mode = self.capture_mode, mode
        return self._call("cuThreadExchangeStreamCaptureMode", before)

    def cuStreamIsCapturing(self, stream: int) -> Any:
        return self._call("cuStreamIsCapturing", int(stream in self.captures))

    def cuStreamGetCaptureInfo(self, stream: int) -> Any:
        return self._call("cuStreamGetCaptureInfo", 1, self.captures[stream], "a graph", [], 0)

    def cuStreamCreate(self, flags: str) -> Any:
        assert flags == "CU_STREAM_NON_BLOCKING"
        return self._call("cuStreamCreate", "a stream")

    def cuStreamDestroy(self, stream: str) -> Any:
        return self._call("cuStreamDestroy")

    def cuMemsetD8Async(self, to: int, value: int, size: int, stream: str) -> Any:
        ctypes.memset(to, value, size)
        self.log.append(("cuMemsetD8Async", to, value, size, stream))
        return self._call("cuMemsetD8Async")

    def cuMemAlloc(self, size: int) -> Any:
        if self.captures and self.capture_mode != "CU_STREAM_CAPTURE_MODE_RELAXED":
            return (CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
        # As much as the driver aligns.
        data = ctypes.create_string_buffer(size + 256)
        address = -(-ctypes.addressof(data) // 256) * 256
        self.allocated[address] = data
        return self._call("cuMemAlloc", address)

    def cuMemFree(self, address: int) -> Any:
        del self.allocated[address]
        return self._call("cuMemFree")

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        ctypes.memmove(to, source, size)
        return self._call("cuMemcpyHtoD")

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> Any:
        ctypes.memmove(to, source, size)
        return self._call("cuMemcpyDtoH")

    def cuEventCreate(self, flags: int) -> Any:
        assert flags == 0
        return self._call("cuEventCreate", f"event {self.calls.get('cuEventCreate', 0)}")

    def cuEventRecord(self, event: str, stream: int) -> Any:
        self.log.append(("cuEventRecord", event, stream))
        return self._call("cuEventRecord")

    def cuEventSynchronize(self, event: str) -> Any:
        self.log.append(("cuEventSynchronize", event))
        return self._call("cuEventSynchronize")

    def cuEventElapsedTime(self, start: str, end: str) -> Any:
        self.log.append(("cuEventElapsedTime", start, end))
        return self._call("cuEventElapsedTime", self.elapsed.pop(0) if self.elapsed else 2.0)

    def cuEventDestroy(self, event: str) -> Any:
        self.log.append(("cuEventDestroy", event))
        return self._call("cuEventDestroy")

    def cuCtxSynchronize(self) -> Any:
        assert not self.captures
        self.log.append(("cuCtxSynchronize",))
        return self._call("cuCtxSynchronize")

    def cuPointerGetAttribute(self, name: str, address: int) -> Any:
        assert name == "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL"
        return self._call("cuPointerGetAttribute", self.pointers.get(address, 0))

    def cuStreamSynchronize(self, stream: int) -> Any:
        self.log.append(("cuStreamSynchronize", stream))
        return self._call("cuStreamSynchronize")

    def cuLaunchKernel(self, function: str, *numbers: int) -> Any:
        *extents, shared, stream, address, extra = numbers
        assert extra == 0
        return self._launch(function, tuple(extents), shared, stream, address, None)

    CUlaunchConfig = SimpleNamespace

    @staticmethod
    def CUlaunchAttribute() -> Any:
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def cuOccupancyMaxActiveClusters(self, function: str, config: Any) -> Any:
        (attribute,) = config.attrs
        dim = attribute.value.clusterDim
        assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (dim.x, dim.y, dim.z)
        return self._call("cuOccupancyMaxActiveClusters", 120 // (dim.x * dim.y * dim.z))

    def cuLaunchKernelEx(self, config: Any, function: str, address: int, extra: int) -> Any:
        assert (extra, config.numAttrs) == (0, 1)
        c = config
        extents = (c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ)
        (attribute,) = c.attrs
        assert attribute.id == "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"
        dim = attribute.value.clusterDim
        cluster = (dim.x, dim.y, dim.z)
        return self._launch(function, extents, c.sharedMemBytes, c.hStream, address, cluster)

    def _launch(
        self, function: str, extents: tuple[int, ...], shared: int, stream: int, address: int, cluster: Any
    ) -> Any:
        if self.context[-1] == "none":
            return (CUresult.CUDA_ERROR_INVALID_CONTEXT,)
        pointers = (ctypes.c_void_p * len(self.sizes)).from_address(address)
        parameters = [ctypes.string_at(p or 0, size) for p, size in zip(pointers, self.sizes, strict=True)]
        self.launches.append(
            SimpleNamespace(
                function=function,
                grid=extents[:3],
                block=extents[3:],
                shared=shared,
                stream=stream,
                parameters=parameters,
                cluster=cluster,
            )
        )
        if self.execute is not None:
            self.execute(parameters)
        return self._call("launch")
