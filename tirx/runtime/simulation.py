"""A launch in the simulator, with numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tirx.copy.tma import ROW_UNIT
from tirx.hw.workspaces import ZEROS
from tirx.runtime.arrays import ArgumentError, flat_bytes, named_argument, number_of, restrided, view_of_numpy
from tirx.runtime.binding import BoundLaunch, Value, bind, check_preconditions, tensor_of_map
from tirx.runtime.launch import (
    ComputedArgument,
    Launch,
    PointerArgument,
    ScalarArgument,
    TensorMapArgument,
    WorkspaceArgument,
)
from tirx.runtime.overlap import check_overlap
from tirx.sim import SimError, TensorMap, run


def view_arguments(launch: Launch, arguments: Sequence[Any]) -> list[Value]:
    """Numpy arrays and numbers as values of a launch. Raises ArgumentError for arguments of other kinds."""
    values: list[Value] = []
    for i, argument in enumerate(arguments):
        with named_argument(launch, i):
            number: Any = number_of(argument)
            if isinstance(argument, np.ndarray):
                values.append(view_of_numpy(cast("npt.NDArray[Any]", argument)))
            elif isinstance(number, int | float):
                values.append(number)
            else:
                raise ArgumentError(f"expected a numpy array or a number to simulate, found {type(argument).__name__}")
    return values


def bound_arguments(
    launch: Launch, arguments: Sequence[Any], grid: Sequence[int] | None = None, sm_count: int = 2
) -> BoundLaunch:
    """A launch with numpy arguments. Raises ArgumentError for those that a GPU refuses, and without multiprocessors."""
    if sm_count < 1:
        raise ArgumentError(f"expected a GPU of 1 multiprocessor or more, found sm_count={sm_count}")
    bound = bind(launch, view_arguments(launch, arguments), sm_count, grid)
    check_preconditions(bound)
    check_overlap(launch, bound.values)
    return bound


def simulate(
    ptx: str,
    launch: Launch,
    arguments: Sequence[Any],
    *,
    grid: Sequence[int] | None = None,
    sm_count: int = 2,
    **options: Any,
) -> None:
    """Runs a launch in `tirx.sim`, which updates the arrays in place; `options` are those of `tirx.sim.run`.

    Raises ArgumentError for arguments that a launch on a GPU refuses.
    """
    bound = bound_arguments(launch, arguments, grid, sm_count)
    if prod(bound.grid) == 0:
        return
    workspace = _workspace(launch)
    if workspace.size:
        options.setdefault("max_resident", 1)  # blocks in order: each may wait for earlier ones only
    run(
        ptx,
        launch.entry,
        bound.grid,
        bound.block,
        _parameters(bound, arguments, workspace),
        launch.dynamic_shared,
        launch.cluster,
        **options,
    )
    if (left := np.flatnonzero(workspace[:ZEROS])).size:
        raise SimError(
            f"expected a kernel that leaves zeros in the first {ZEROS} bytes of its workspace, where the next launch "
            f"begins, found byte {left[0]} to be {workspace[left[0]]}"
        )


def _workspace(launch: Launch) -> npt.NDArray[np.uint8]:
    """Returns the bytes of the workspace of a launch: zeros, and behind them what another kernel may have left."""
    size = max((each.bytes for each in launch.arguments if isinstance(each, WorkspaceArgument)), default=0)
    workspace = np.full(size, 0xA5, np.uint8)
    workspace[:ZEROS] = 0
    return workspace


def _parameters(bound: BoundLaunch, arguments: Sequence[Any], workspace: npt.NDArray[np.uint8]) -> list[Any]:
    waiting = iter(arguments)
    passed: list[Any] = [next(waiting) if value is not None else None for value in bound.values]
    parameters: list[Any] = []
    for argument, value, number in zip(bound.launch.arguments, passed, bound.values, strict=True):
        match argument:
            case PointerArgument():
                parameters.append(flat_bytes(value))
            case ScalarArgument():
                parameters.append(number)
            case ComputedArgument():
                parameters.append(bound.sizes.evaluate(argument.value))
            case WorkspaceArgument():
                parameters.append(workspace)
            case TensorMapArgument():
                parameters.append(_tensor_map(bound, passed[argument.argument], argument))
    return parameters


def _tensor_map(bound: BoundLaunch, array: npt.NDArray[Any], argument: TensorMapArgument) -> TensorMap:
    shape, strides = (each[::-1] for each in tensor_of_map(bound, argument))
    if 0 in shape:  # there is no map of no elements, which are zeros to whoever loads them
        array, shape, strides = np.zeros(1, array.dtype), [1] * len(shape), [ROW_UNIT] * len(strides)
    tensor = restrided(array, shape, (*strides, array.itemsize))
    return TensorMap(
        tensor,
        argument.box,
        argument.swizzle,
        element_strides=argument.steps or None,
        oob_fill=argument.fill,
        element=argument.element,
    )
