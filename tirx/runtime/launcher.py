"""Launches of one kernel on real GPUs: a dictionary look-up and a call of the driver for arrays seen before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, TypeAlias

from tirx.dialects.formula import LaunchSizes
from tirx.runtime import driver as drivers
from tirx.runtime.arrays import ArgumentError, ArrayView, StrideError, flat_bytes, named_argument, number_of
from tirx.runtime.binding import BoundLaunch, Value, bind, check_count, check_preconditions, launch_sizes
from tirx.runtime.driver import Device
from tirx.runtime.frameworks import (
    KEYS,
    READY_LIMIT,
    SCALAR_KEYS,
    VIEWS,
    CurrentStream,
    current_stream,
    default_stream,
    framework_of,
    stream_handle,
    view_of_interface,
)
from tirx.runtime.launch import Launch, PointerArgument
from tirx.runtime.overlap import check_overlap
from tirx.runtime.packing import Plan, Ready, running_clusters
from tirx.values import dataclass, replace

_Other: TypeAlias = "Callable[[LaunchSizes | None], Launcher | None]"


class Launcher:
    """Launches one kernel: the entry of `launch` in a PTX module. `other` gives the one of the variant for some
    sizes, and for None the one for strides that this refuses.

    Arrays of torch and cupy are used where they are. Those of jax are immutable: what the kernel writes are new arrays,
    which are returned. Those of numpy are copied to the GPU and back. For the last two, a launch waits for its end.
    """

    def __init__(
        self, ptx: str, launch: Launch, other: Callable[[LaunchSizes | None], Launcher | None] = lambda _: None
    ):
        self.launch = launch
        self._ptx = ptx
        self._other = other
        self.keys: dict[type, Callable[[Any], Hashable]] = dict(SCALAR_KEYS)
        """The function that makes the key of an argument of each type that was seen before."""
        self.ready: dict[Hashable, Ready] = {}
        """The launch of each key that was seen before: a grid, and the keys of the arguments."""
        self._plans: dict[Hashable, Plan] = {}

    def __call__(self, arguments: Sequence[Any], stream: Any, grid: Sequence[int] | None) -> Any:
        """Launches with arguments that are not in `ready`: not seen before, or moved at each launch."""
        grid = None if grid is None else tuple(grid)
        frameworks: list[str] = []
        for i, argument in enumerate(arguments):
            with named_argument(self.launch, i):
                frameworks.append(framework_of(argument))
        for argument, framework in zip(arguments, frameworks, strict=True):
            if framework in KEYS:
                self.keys[type(argument)] = KEYS[framework]
        if not {*frameworks} <= {*KEYS, "number"}:
            return _Staged(self, arguments, frameworks, stream, grid).run()
        values = self.views(arguments, frameworks)
        device = self.device_of(values)
        ready = self.prepare(values, device, grid, current_stream({*frameworks}, device.index))
        if all(type(argument) in self.keys for argument in arguments):
            if len(self.ready) >= READY_LIMIT:
                self.ready.clear()
            self.ready[(grid, *[self.keys[type(argument)](argument) for argument in arguments])] = ready
        return ready(stream)

    def views(self, arguments: Sequence[Any], frameworks: Sequence[str], stream: int = 0) -> list[Value]:
        """The views of arrays, of which those of unknown libraries are ready for work on `stream`, and the numbers."""
        values: list[Value] = []
        for i, (argument, framework) in enumerate(zip(arguments, frameworks, strict=True)):
            with named_argument(self.launch, i):
                if framework == "number":
                    values.append(_number(argument))
                elif framework == "cuda":
                    values.append(view_of_interface(argument, drivers.device(0), stream))
                else:
                    values.append(VIEWS[framework](argument))
        return values

    def device_of(self, values: Sequence[Value]) -> Device:
        """The GPU that all arrays are on; the first one if there is no array on a GPU."""
        indices = {value.device for value in values if isinstance(value, ArrayView) and value.device is not None}
        if len(indices) > 1:
            raise ArgumentError(f"expected arrays on one GPU, found some on GPUs {sorted(indices)}")
        return drivers.device(next(iter(indices), 0))

    def prepare(
        self,
        values: Sequence[Value],
        device: Device,
        grid: tuple[int, ...] | None,
        current: CurrentStream = default_stream,
    ) -> Ready:
        """Checks a launch, or finds the plan of one that was checked, and packs its parameters."""
        key = (device.index, grid, *[_without_address(value) for value in values])
        plan = self._plans.get(key)
        if plan is None:
            of, bound = self.bound(values, device, grid)
            function = of._function(device)
            if len(self._plans) >= READY_LIMIT:
                self._plans.clear()
            plan = self._plans[key] = Plan(device, function, bound)
        return plan.ready(values, current)

    def _function(self, device: Device) -> Any:
        """The kernel on a GPU. Raises GpuError for one of another target."""
        launch = self.launch
        device.check_target(launch.target)
        return device.function(self._ptx, launch.entry, launch.dynamic_shared, prod(launch.cluster))

    def bound(
        self, values: Sequence[Value], device: Device, grid: tuple[int, ...] | None
    ) -> tuple[Launcher, BoundLaunch]:
        """The checked launch of this kernel, of the variant for these sizes, or of the one for any strides."""
        if self.launch.variants:
            variant = self._other(launch_sizes(self.launch, values, device.sm_count))
            if variant is not None:
                return variant.bound(values, device, grid)
        launch = self.launch
        clusters = running_clusters(device, self._function(device), launch) if launch.counts_clusters else None
        bound = bind(launch, values, device.sm_count, grid, clusters)
        try:
            check_preconditions(bound)
        except StrideError:
            if (other := self._other(None)) is None:
                raise
            return other.bound(values, device, grid)
        return self, bound


def _number(value: Any) -> int | float:
    number = number_of(value)
    if not isinstance(number, int | float):
        raise ArgumentError(f"expected an integer or a real number, found {type(value).__name__}")
    return number


def _without_address(value: Value) -> Hashable:
    if isinstance(value, ArrayView):
        return value.shape, value.strides, value.dtype, value.writable
    return type(value)


@dataclass
class _Staged:
    """One launch with arrays of jax, numpy or of unknown libraries: to the GPU, and back where that is needed."""

    launcher: Launcher
    arguments: Sequence[Any]
    frameworks: Sequence[str]
    stream: Any
    grid: tuple[int, ...] | None

    def run(self) -> Any:
        passed = self.launcher.launch.passed
        writes = [isinstance(argument, PointerArgument) and argument.is_written for argument in passed]
        check_count(self.launcher.launch, len(self.arguments))
        new = list(self.arguments)
        for i, framework in enumerate(self.frameworks):
            if framework == "jax" and (writes[i] or isinstance(new[i], sys.modules["jax"].ShapeDtypeStruct)):
                new[i] = _jax_copy(new[i])
        handle = None if self.stream is None else stream_handle(self.stream)
        values = self.launcher.views(new, self.frameworks, -1 if handle is None else handle)
        device = self.launcher.device_of(values)
        current = current_stream({*self.frameworks}, device.index)() if handle is None else handle
        with device.current():
            if handle is None:
                device.driver.cuCtxSynchronize()  # whoever made the arrays is done with them
            self._launch(new, values, writes, device, current)
        outputs = [new[i] for i, framework in enumerate(self.frameworks) if framework == "jax" and writes[i]]
        return (outputs[0] if len(outputs) == 1 else tuple(outputs)) if outputs else None

    def _launch(
        self, arrays: Sequence[Any], values: list[Value], writes: Sequence[bool], device: Device, stream: int
    ) -> None:
        driver = device.driver
        _, bound = self.launcher.bound(values, device, self.grid)
        check_overlap(bound.launch, bound.values)
        copies: dict[int, Any] = {}
        try:
            for i, (framework, value) in enumerate(zip(self.frameworks, values, strict=True)):
                if framework == "numpy" and isinstance(value, ArrayView) and value.span:
                    copies[i] = driver.cuMemAlloc(value.span)
                    data = flat_bytes(arrays[i])
                    driver.cuMemcpyHtoD(copies[i], data.__array_interface__["data"][0], value.span)
                    values[i] = replace(value, address=int(copies[i]), device=device.index)
            self.launcher.prepare(values, device, self.grid)(stream)
            driver.cuStreamSynchronize(stream)
            for i, copy in copies.items():
                if writes[i]:
                    data = flat_bytes(arrays[i])
                    driver.cuMemcpyDtoH(data.__array_interface__["data"][0], copy, data.nbytes)
        finally:
            for copy in copies.values():
                driver.cuMemFree(copy)


def _jax_copy(array: Any) -> Any:
    """A new array that nobody else has seen, with the values of `array` (zeros for a ShapeDtypeStruct)."""
    jax = sys.modules["jax"]
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.numpy.zeros(array.shape, array.dtype)
    return jax.numpy.array(array, copy=True)
