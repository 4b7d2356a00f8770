"""The CUDA driver: devices, modules, memory, through the package cuda-bindings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tirx.hw.workspaces import ZEROS
from tirx.values import dataclass, field

_LOG_BYTES = 16384


class GpuError(RuntimeError):
    """A kernel cannot be launched: no GPU, an old driver, another architecture, or an error of the driver."""


class Driver:
    """The functions of `cuda.bindings.driver` (or of `api`, which stands in for it), with errors as GpuError.

    `driver.cuMemAlloc(16)` returns what the driver returns besides its error code: nothing, a value or a tuple.
    """

    def __init__(self, api: Any):
        self.api = api
        self._functions: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self.api, name)

        def call(*arguments: Any) -> Any:
            error, *values = function(*arguments)
            if error:
                raise self.error(name, error)
            return values[0] if len(values) == 1 else tuple(values) or None

        setattr(self, name, call)
        return call

    def error(self, name: str, code: Any) -> GpuError:
        """The exception for an error code that the driver's function `name` returned."""
        _, text = self.api.cuGetErrorString(code)
        return GpuError(f"{name}: {_decoded(text) or 'unknown error'} ({getattr(code, 'name', code)})")


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text or "")


_WITHOUT = "; kernel.simulate(...) runs a kernel without a GPU"


@cache
def driver() -> Driver:
    """The driver of this machine, initialised. Raises GpuError, which says what is missing, where there is none."""
    try:
        api = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise GpuError(
            f"expected the package cuda-bindings (pip install 'tirx-compiler[cuda]'), found none: {error}{_WITHOUT}"
        ) from error
    return open_driver(api)


def open_driver(api: Any) -> Driver:
    """Initialises the driver behind `api`. Raises GpuError where there is no GPU."""
    try:
        (error,) = api.cuInit(0)
    except RuntimeError as missing:  # the library of the driver is not installed
        raise GpuError(f"expected an NVIDIA GPU with its driver, found none: {missing}{_WITHOUT}") from missing
    found = Driver(api)
    if error:
        raise GpuError(f"expected an NVIDIA GPU, found none: {found.error('cuInit', error)}{_WITHOUT}")
    return found


@dataclass
class Device:
    """A GPU, with its primary context: that of torch, cupy and jax too."""

    driver: Driver
    index: int
    context: Any
    capability: tuple[int, int]
    sm_count: int
    shared_limit: int
    """Bytes of shared memory that a block may have."""
    modules: dict[str, Any] = field(default_factory=dict[str, Any])
    """Modules that are loaded, by their PTX."""
    workspaces: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    """Addresses and bytes of the workspaces of streams, and of what each capture of one records."""
    _zeros: int | None = None

    @staticmethod
    def open(driver: Driver, index: int) -> Device:
        """The device number `index`, as CUDA counts them."""
        handle = driver.cuDeviceGet(index)
        attributes = driver.api.CUdevice_attribute
        major, minor, count, shared = (
            driver.cuDeviceGetAttribute(getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), handle)
            for name in (
                "COMPUTE_CAPABILITY_MAJOR",
                "COMPUTE_CAPABILITY_MINOR",
                "MULTIPROCESSOR_COUNT",
                "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
            )
        )
        context = driver.cuDevicePrimaryCtxRetain(handle)
        return Device(driver, index, context, (major, minor), count, shared)

    @contextmanager
    def current(self) -> Generator[None]:
        """Makes the context that of the thread for a while."""
        self.driver.cuCtxPushCurrent(self.context)
        try:
            yield
        finally:
            self.driver.cuCtxPopCurrent()

    @contextmanager
    def uncaptured(self) -> Generator[None]:
        """Makes the context current, for calls that the capture of a CUDA graph forbids elsewhere, and does not record.

        They may not use the default stream, nor wait for the context (CUDA driver API,
        `cuThreadExchangeStreamCaptureMode`).
        """
        relaxed = self.driver.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with self.current():
            before = self.driver.cuThreadExchangeStreamCaptureMode(relaxed)
            try:
                yield
            finally:
                self.driver.cuThreadExchangeStreamCaptureMode(before)

    def capture(self, stream: int) -> int:
        """The number of the capture that records what is launched on a stream, 0 for none."""
        with self.current():
            if not self.driver.cuStreamIsCapturing(stream):
                return 0
            _, number, *_ = self.driver.cuStreamGetCaptureInfo(stream)
        return int(number)

    def check_target(self, target: str) -> None:
        """Raises GpuError unless code for `target` runs here (PTX ISA, ".target": suffixes `a` and `f`)."""
        found = re.fullmatch(r"sm_(\d+)(\d)([af]?)", target)
        if found is None:
            raise GpuError(f"expected a target such as sm_90a, found {target}")
        wanted = int(found[1]), int(found[2])
        runs = {
            "a": self.capability == wanted,
            "f": self.capability[0] == wanted[0] and self.capability >= wanted,
            "": self.capability >= wanted,
        }[found[3]]
        if not runs:
            here = "sm_{}{}".format(*self.capability)
            raise GpuError(
                f"expected a kernel for {here}, the architecture of GPU {self.index}, found one for {target}; "
                f'tirx.build(..., target="{here}") compiles it for this GPU, where its instructions exist'
            )

    def function(self, ptx: str, entry: str, dynamic_shared: int, cluster: int) -> Any:
        """The kernel `entry` of a module, loaded once into this context and ready to launch."""
        driver = self.driver
        with self.uncaptured():
            module = self.modules.get(ptx)
            if module is None:
                module = self.modules[ptx] = self._load(ptx)
            function = driver.cuModuleGetFunction(module, entry.encode())
            attributes = driver.api.CUfunction_attribute
            if dynamic_shared > self.shared_limit:
                raise GpuError(
                    f"'{entry}' takes {dynamic_shared} bytes of shared memory, GPU {self.index} has "
                    f"{self.shared_limit} for a block"
                )
            if dynamic_shared:
                limit = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                driver.cuFuncSetAttribute(function, limit, dynamic_shared)
            if cluster > 8:
                allowed = attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
                driver.cuFuncSetAttribute(function, allowed, 1)
        return function

    def workspace(self, stream: tuple[int, int], size: int) -> int:
        """The address of `size` bytes for launches on a stream, one after the other.

        `stream` is its handle, and the number of its `capture`: graphs have their own, whatever stream they run on.

        They find `ZEROS` zeros at its start, and leave them so; the others may be anything. A larger one is a new one:
        launches that have begun go on with the other, which is kept.
        """
        address, has = self.workspaces.get(stream, (0, 0))
        if has < size:
            address, has = self._new_zeros(max(size, ZEROS)), max(size, ZEROS)
            self.workspaces[stream] = address, has
        return address

    def zeros(self) -> int:
        """The address of `ZEROS` bytes of zeros that no kernel writes, allocated with the first call."""
        if self._zeros is None:
            self._zeros = self._new_zeros(ZEROS)
        return self._zeros

    def _new_zeros(self, size: int) -> int:
        driver = self.driver
        with self.uncaptured():
            address = int(driver.cuMemAlloc(size))
            stream = driver.cuStreamCreate(driver.api.CUstream_flags.CU_STREAM_NON_BLOCKING)
            driver.cuMemsetD8Async(address, 0, ZEROS, stream)
            driver.cuStreamSynchronize(stream)  # before a kernel on any stream
            driver.cuStreamDestroy(stream)
        return address

    def _load(self, ptx: str) -> Any:
        api = self.driver.api
        options = api.CUjit_option
        log = bytearray(_LOG_BYTES)
        names = [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        error, module = api.cuModuleLoadDataEx(ptx.encode() + b"\0", len(names), names, [log, len(log)])
        if not error:
            return module
        if error == api.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
            version = self.driver.cuDriverGetVersion()
            needed = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
            raise GpuError(
                f"expected a driver that reads PTX {needed[1] if needed else ''}, found one of CUDA "
                f"{version // 1000}.{version % 1000 // 10}: it is too old"
            )
        text = log.split(b"\0")[0].decode(errors="replace").strip()
        raise GpuError(f"{self.driver.error('cuModuleLoadDataEx', error)}\n{text}".rstrip())


@cache
def device(index: int) -> Device:
    """The GPU number `index` of this machine. Raises GpuError where there is none."""
    return Device.open(driver(), index)
