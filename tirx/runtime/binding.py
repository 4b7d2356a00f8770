"""The values that one launch passes: arguments checked against the descriptor, formulas evaluated."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from numbers import Integral

from tirx.dialects.formula import LaunchSizes
from tirx.runtime.arrays import ArgumentError, ArrayView, StrideError, check_array, storage_of
from tirx.runtime.launch import Argument, Extents, Launch, PointerArgument, ScalarArgument, TensorMapArgument
from tirx.values import dataclass

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z (CUDA C++ Programming Guide, "Compute Capabilities")."""

_FLOATS = {"f32": "<f", "f64": "<d"}
_INTEGERS = {f"{kind}{8 * size}": size for kind in "usb" for size in (1, 2, 4, 8)}
"""The bytes of integers, by their PTX types."""

Number = int | float
Value = ArrayView | Number
"""What a caller passes: an array or a scalar."""


@dataclass(frozen=True)
class BoundLaunch:
    """A launch with its numbers."""

    launch: Launch
    values: tuple[Value | None, ...]
    """What the caller passes for each argument of the descriptor, None for those that the launch computes."""
    sizes: LaunchSizes
    grid: Extents
    block: Extents


def bind(
    launch: Launch,
    values: Sequence[Value],
    sm_count: int,
    grid: Sequence[int] | None = None,
    cluster_count: int | None = None,
) -> BoundLaunch:
    """Checks what a caller passes for the pointers and scalars of `launch`, and evaluates its formulas.

    `grid` is for launches that do not say theirs, `cluster_count` are those of `LaunchSizes`. Raises ArgumentError for
    what does not fit; preconditions are not checked, see `check_preconditions`.
    """
    bound = _bound_values(launch, values)
    sizes = _sizes(launch, bound, sm_count, cluster_count)
    if launch.block is None:
        raise ArgumentError(f"'{launch.entry}': expected an entry with reqntid, which says its block, found none")
    return BoundLaunch(launch, bound, sizes, _grid(launch, sizes, grid), launch.block)


def launch_sizes(launch: Launch, values: Sequence[Value], sm_count: int) -> LaunchSizes:
    """The sizes of a launch, of which its grid is not evaluated: that of a variant may fit where its own is too large.

    Raises ArgumentError for what is no argument of `launch`.
    """
    return _sizes(launch, _bound_values(launch, values), sm_count)


def _bound_values(launch: Launch, values: Sequence[Value]) -> tuple[Value | None, ...]:
    """Checked values of all arguments, None for those that are computed."""
    check_count(launch, len(values))
    waiting = iter(values)
    bound: list[Value | None] = []
    for argument in launch.arguments:
        if isinstance(argument, PointerArgument):
            value = next(waiting)
            if not isinstance(value, ArrayView):
                raise ArgumentError(f"argument '{argument.name}': expected an array, found {value!r}")
            check_array(argument, value)
        elif isinstance(argument, ScalarArgument):
            value = next(waiting)
            if isinstance(value, ArrayView):
                raise ArgumentError(f"argument '{argument.name}': expected a number, found an array")
            scalar_bytes(argument.name, argument.type, value)
        else:
            value = None
        bound.append(value)
    return tuple(bound)


def _sizes(
    launch: Launch, values: Sequence[Value | None], sm_count: int, cluster_count: int | None = None
) -> LaunchSizes:
    extents = [_elements(argument, value) for argument, value in zip(launch.arguments, values, strict=True)]
    shapes, strides = [shape for shape, _ in extents], [strides for _, strides in extents]
    return LaunchSizes(shapes, strides, sm_count, cluster_count)


def check_count(launch: Launch, count: int) -> None:
    """Raises ArgumentError unless a caller passes `count` arguments for `launch`."""
    passed = launch.passed
    if count != len(passed):
        names = ", ".join(argument.name for argument in passed)
        raise ArgumentError(f"'{launch.entry}': expected {len(passed)} arguments ({names}), found {count}")


def check_preconditions(bound: BoundLaunch) -> None:
    """Raises ArgumentError for the first precondition that arguments do not pass. A launch without blocks has none."""
    broken = (each for each in bound.launch.preconditions if not each.holds(bound.sizes))
    if math.prod(bound.grid) and (first := next(broken, None)) is not None:
        kind = StrideError if first.test == "multiple_of" else ArgumentError
        raise kind(f"'{bound.launch.entry}': {first.error(bound.sizes)}")


def tensor_of_map(bound: BoundLaunch, argument: TensorMapArgument) -> tuple[list[int], list[int]]:
    """Sizes (elements) and strides (bytes) of the tensor of a map, innermost first.

    Raises ArgumentError for a tensor that leaves its array: copies through the map would read and write other memory.
    """
    shape, strides = ([bound.sizes.evaluate(n) for n in each] for each in (argument.shape, argument.strides))
    array = bound.values[argument.argument]
    assert isinstance(array, ArrayView), "maps are of pointers"
    last = sum((n - 1) * stride for n, stride in zip(shape, (array.itemsize, *strides), strict=True))
    if min(*shape, *strides, 0) < 0 or (0 not in shape and last + array.itemsize > array.span):
        raise ArgumentError(
            f"tensor map '{argument.name}': expected a tensor within the {array.span} bytes of argument "
            f"'{bound.launch.arguments[argument.argument].name}', found sizes {shape} with strides of {strides} bytes"
        )
    return shape, strides


def scalar_bytes(name: str, type_: str, value: Number) -> bytes:
    """The bytes of a number that is passed as the PTX type `type_`. Raises ArgumentError if it does not fit."""
    if (form := _FLOATS.get(type_)) is not None:
        try:
            packed = struct.pack(form, value)
        except (OverflowError, struct.error):  # the latter for integers that no float is near
            packed = struct.pack(form, math.inf if value > 0 else -math.inf)
        return packed
    if type_ not in _INTEGERS:
        raise ArgumentError(
            f"argument '{name}': expected a type of {', '.join((*_INTEGERS, *_FLOATS))}, found {type_!r}"
        )
    size = _INTEGERS[type_]
    if isinstance(value, float) or not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
        raise ArgumentError(f"argument '{name}': expected an integer of {8 * size} bits, found {value!r}")
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _elements(argument: Argument, value: Value | None) -> tuple[Sequence[int], Sequence[int]]:
    """Returns shape and strides in elements of the kernel, of which a byte may hold several; () for scalars."""
    if not isinstance(value, ArrayView):
        return (), ()
    assert isinstance(argument, PointerArgument), "arrays are bound to pointers"
    if argument.element is None or (bits := storage_of(argument.name, argument.element).bits) >= 8:
        return value.shape, value.strides
    if not value.shape:
        raise ArgumentError(
            f"argument '{argument.name}': expected an array of one dimension or more for elements of type "
            f"{argument.element}, found a single one"
        )
    shape = (*value.shape[:-1], value.shape[-1] * 8 // bits)
    return shape, (*(stride * 8 // bits for stride in value.strides[:-1]), 1)


def _grid(launch: Launch, sizes: LaunchSizes, given: Sequence[int] | None) -> Extents:
    if launch.grid is not None:
        if given is not None:
            raise ArgumentError(f"'{launch.entry}': expected no grid: the kernel has a clause grid(...)")
        x, y, z = dims = tuple(map(sizes.evaluate, launch.grid))
    elif given is None:
        raise ArgumentError(f"'{launch.entry}': expected grid=(x, y, z): the kernel has no clause grid(...)")
    elif not 1 <= len(given) <= 3 or not all(isinstance(each, Integral) for each in given):
        raise ArgumentError(f"'{launch.entry}': expected a grid of 1 to 3 extents, found {tuple(given)}")
    else:
        x, y, z = dims = (*given, 1, 1)[:3]
    if any(not 0 <= n <= limit for n, limit in zip(dims, GRID_LIMITS, strict=True)):
        raise ArgumentError(f"'{launch.entry}': expected a grid of at most {GRID_LIMITS}, found {dims}")
    if any(n % c for n, c in zip(dims, launch.cluster, strict=True)):
        raise ArgumentError(
            f"'{launch.entry}': expected a grid that is a multiple of the cluster {launch.cluster}, found {dims}"
        )
    return x, y, z
