"""Parameters of a launch in the host's memory, and the call that launches: prepared once, called many times."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from tirx.copy.tma import ROW_UNIT
from tirx.runtime.arrays import ArrayView, check_address
from tirx.runtime.binding import BoundLaunch, Value, scalar_bytes, tensor_of_map
from tirx.runtime.driver import Device
from tirx.runtime.frameworks import CurrentStream, default_stream, stream_handle
from tirx.runtime.launch import (
    ComputedArgument,
    Launch,
    PointerArgument,
    ScalarArgument,
    TensorMapArgument,
    WorkspaceArgument,
)
from tirx.runtime.overlap import check_overlap

_TENSOR_MAP_TYPES = {"u": "UINT", "s": "INT", "f": "FLOAT", "bf": "BFLOAT", "tf": "TFLOAT"}
"""Element types of tensor maps, without their bits -> the end of their name in CUtensorMapDataType, without these."""

_L2_PROMOTIONS = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILLS = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}

Ready = Callable[[Any], None]
"""Launches on a stream, or on the current one for None."""


class Plan:
    """The part that launches with arrays of the same shapes, strides and types have in common.

    `bound` is the first of them: its checks hold for all. Other arrays differ in their addresses, numbers are free.
    """

    def __init__(self, device: Device, function: Any, bound: BoundLaunch):
        self.device = device
        self.function = function
        self.bound = bound

    def ready(self, values: Sequence[Value], current: CurrentStream = default_stream) -> Ready:
        """Packs the parameters of one launch. What is returned may be called any number of times, from any thread.

        `current` gives the stream of launches that name none. Raises ArgumentError for addresses and numbers that do
        not fit.
        """
        launch = self.bound.launch
        waiting = iter(values)
        passed = [None if value is None else next(waiting) for value in self.bound.values]
        for argument, value in zip(launch.arguments, passed, strict=True):
            if isinstance(argument, PointerArgument):
                check_address(argument, cast(ArrayView, value))
        check_overlap(launch, passed)
        if not prod(self.bound.grid):
            return lambda stream: None
        size = max((each.bytes for each in launch.arguments if isinstance(each, WorkspaceArgument)), default=0)
        if not size:
            return self._packed(passed, 0, current)
        by_stream: dict[tuple[int, int], Ready] = {}

        def ready(stream: Any) -> None:
            handle = current() if stream is None else stream_handle(stream)
            key = handle, self.device.capture(handle)
            if key not in by_stream:
                by_stream[key] = self._packed(passed, self.device.workspace(key, size), current)
            by_stream[key](handle)

        return ready

    def _packed(self, passed: Sequence[Value | None], workspace: int, current: CurrentStream) -> Ready:
        """Packs the parameters of one launch; `workspace` is the address of that of its stream."""
        parts: list[Any] = []
        for argument, value in zip(self.bound.launch.arguments, passed, strict=True):
            match argument:
                case WorkspaceArgument():
                    parts.append(ctypes.c_uint64(workspace))
                case PointerArgument() if isinstance(value, ArrayView):
                    parts.append(ctypes.c_uint64(value.address))
                case ScalarArgument() if isinstance(value, int | float):
                    parts.append(_buffer(scalar_bytes(argument.name, argument.type, value)))
                case ComputedArgument():
                    number = self.bound.sizes.evaluate(argument.value)
                    parts.append(_buffer(scalar_bytes(argument.name, argument.type, number)))
                case TensorMapArgument() if isinstance(tensor := passed[argument.argument], ArrayView):
                    parts.append(self._tensor_map(argument, tensor.address))
                case _:
                    raise AssertionError(f"{argument.name}: {value!r}")  # values are of the kinds that were bound
        addresses = [part.getPtr() if hasattr(part, "getPtr") else ctypes.addressof(part) for part in parts]
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        return self._call(parameters, parts, current)

    def _tensor_map(self, argument: TensorMapArgument, address: int) -> Any:
        api, rank, letters = self.device.driver.api, len(argument.shape), argument.element.rstrip("0123456789")
        type_ = f"CU_TENSOR_MAP_DATA_TYPE_{_TENSOR_MAP_TYPES[letters]}{argument.element.removeprefix(letters)}"
        shape, strides = tensor_of_map(self.bound, argument)
        if 0 in shape:
            # The driver has no map of no elements, which are zeros to whoever loads them; a launch that stores some is
            # refused by its preconditions.
            address, shape, strides = self.device.zeros(), [1] * rank, [ROW_UNIT] * (rank - 1)
        try:
            return self.device.driver.cuTensorMapEncodeTiled(
                getattr(api.CUtensorMapDataType, type_),
                rank,
                address,
                [api.cuuint64_t(n) for n in shape],
                # The driver takes no null pointer, which an empty list becomes, for the strides of one dimension.
                [api.cuuint64_t(n) for n in strides or [ROW_UNIT]],
                [api.cuuint32_t(n) for n in argument.box],
                [api.cuuint32_t(n) for n in argument.steps or [1] * rank],
                api.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                getattr(api.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{argument.swizzle.upper()}"),
                getattr(
                    api.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{_L2_PROMOTIONS[argument.l2_promotion]}"
                ),
                getattr(api.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{_FILLS[argument.fill]}"),
            )
        except RuntimeError as error:
            raise type(error)(f"tensor map '{argument.name}': {error}") from error

    def _call(self, parameters: Any, parts: Sequence[Any], current: CurrentStream) -> Ready:
        launch, device, api = self.bound.launch, self.device, self.device.driver.api
        is_cluster = prod(launch.cluster) > 1
        start = api.cuLaunchKernelEx if is_cluster else api.cuLaunchKernel
        address = ctypes.addressof(parameters)
        kept = (parameters, parts)  # the driver reads them at each launch
        given: dict[int, tuple[Any, ...]] = {}

        def ready(stream: Any) -> None:
            handle = current() if stream is None else stream_handle(stream)
            arguments = given.get(handle)
            if arguments is None:
                arguments = given[handle] = self._arguments(address, handle, is_cluster)
            (error,) = start(*arguments)
            if error:
                # Another context may be current in this thread, or none.
                with device.current():
                    (error,) = start(*arguments)
                if error:
                    raise device.driver.error(f"launch of '{launch.entry}'", error)
            _ = kept

        return ready

    def _arguments(self, parameters: int, stream: int, is_cluster: bool) -> tuple[Any, ...]:
        """The arguments of `cuLaunchKernel`, or of `cuLaunchKernelEx` for clusters."""
        launch, grid, block = self.bound.launch, self.bound.grid, self.bound.block
        if not is_cluster:
            return self.function, *grid, *block, launch.dynamic_shared, stream, parameters, 0
        config = _config(self.device.driver.api, launch, grid, block, stream)
        return config, self.function, parameters, 0


def _config(api: Any, launch: Launch, grid: Sequence[int], block: Sequence[int], stream: int = 0) -> Any:
    """The configuration of a launch of clusters."""
    attribute = api.CUlaunchAttribute()
    attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dim = attribute.value.clusterDim
    dim.x, dim.y, dim.z = launch.cluster
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes, config.hStream = launch.dynamic_shared, stream
    config.attrs, config.numAttrs = [attribute], 1
    return config


def running_clusters(device: Device, function: Any, launch: Launch) -> int:
    """The clusters of a kernel that the GPU runs at once (CUDA driver API, `cuOccupancyMaxActiveClusters`): those of
    four blocks do not take all multiprocessors, since a cluster is within one GPC, of 16 or 18 of them.
    """
    assert launch.block is not None
    with device.uncaptured():
        config = _config(device.driver.api, launch, launch.cluster, launch.block)
        return int(device.driver.cuOccupancyMaxActiveClusters(function, config))


def _buffer(data: bytes) -> Any:
    return (ctypes.c_char * len(data)).from_buffer_copy(data)
