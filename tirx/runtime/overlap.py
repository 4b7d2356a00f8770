"""Arrays that share bytes with themselves or with each other, which a launch may not write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd
from typing import cast

from tirx.runtime.arrays import ArgumentError, ArrayView
from tirx.runtime.launch import Launch, PointerArgument

_MOST_STEPS = 1 << 16
"""Partial sums that are looked at; arrays that need more count as overlapping."""

_Step = tuple[int, int]
"""A stride of 1 or more, and how often it may be taken at most."""


def check_overlap(launch: Launch, values: Sequence[ArrayView | float | None]) -> None:
    """Raises ArgumentError if arrays share bytes, or elements of one array do, and the kernel writes there.

    `values` has one for each argument of the descriptor.
    """
    arrays = [
        (argument, cast(ArrayView, value))
        for argument, value in zip(launch.arguments, values, strict=True)
        if isinstance(argument, PointerArgument)
    ]
    for i, (argument, array) in enumerate(arrays):
        if argument.is_written and overlaps_itself(array):
            raise ArgumentError(
                f"argument '{argument.name}': expected elements that do not overlap, since the kernel writes them, "
                f"found shape {array.shape} with strides {array.strides}"
            )
        for other, before in arrays[:i]:
            if (argument.is_written or other.is_written) and overlap(before, array):
                raise ArgumentError(
                    f"arguments '{other.name}' and '{argument.name}': expected arrays that do not overlap, since the "
                    "kernel writes one of them"
                )


def overlap(a: ArrayView, b: ArrayView) -> bool:
    """Returns True if two arrays, whose strides are 0 or more, have a byte in common."""
    if not a.span or not b.span or a.address >= b.address + b.span or b.address >= a.address + a.span:
        return False
    # A byte of `a` counts from its first one, a byte of `b` back from its last one.
    return _reaches(
        [*_steps(a), (1, a.itemsize - 1), *_steps(b), (1, b.itemsize - 1)], b.address + b.span - 1 - a.address
    )


def overlaps_itself(array: ArrayView) -> bool:
    """Returns True if two elements of an array, whose strides are 0 or more, are in one place."""
    if 0 in array.shape:
        return False
    if any(stride == 0 and n > 1 for n, stride in zip(array.shape, array.strides, strict=True)):
        return True
    steps = sorted(_steps(array))
    span = array.itemsize
    for stride, most in steps:
        if stride < span:
            break
        span += stride * most
    else:
        return False
    # Two elements are as far apart along one dimension as back along the others; of these either may be ahead.
    return any(
        _reaches([(stride, most - 1), *((s, 2 * m) for s, m in steps[:i])], sum(s * m for s, m in steps[:i]) - stride)
        for i, (stride, most) in enumerate(steps)
    )


def _steps(array: ArrayView) -> Iterator[_Step]:
    """The strides (bytes) of the dimensions that have several elements, and the greatest index along each."""
    for n, stride in zip(array.shape, array.strides, strict=True):
        if n > 1 and stride:
            yield stride * array.itemsize, n - 1


def _reaches(steps: Sequence[_Step], target: int) -> bool:
    """Returns True if so many of the steps add up to `target`, or if that takes too long to find out."""
    merged: Counter[int] = Counter()
    for stride, most in steps:
        merged[stride] += most
    ordered = sorted(((s, m) for s, m in merged.items() if m), reverse=True)
    left, reach = [0], [0]  # of the steps from each on: their greatest common divisor, and their sum
    for stride, most in reversed(ordered):
        left.append(gcd(left[-1], stride))
        reach.append(reach[-1] + stride * most)
    left.reverse()
    reach.reverse()
    pending, looked_at = [(0, target)], 0
    while pending:
        i, rest = pending.pop()
        if rest == 0:
            return True
        if rest < 0 or rest % left[i]:
            continue
        stride, most = ordered[i]
        fewest = max(0, -(-(rest - reach[i + 1]) // stride))
        counts = range(fewest, min(most, rest // stride) + 1)
        looked_at += len(counts)
        if looked_at > _MOST_STEPS:
            return True
        pending += [(i + 1, rest - count * stride) for count in counts]
    return False
