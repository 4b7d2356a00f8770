"""Iters, and the normal forms and factorisations of lists of iters.

Everything here works on plain tuples of iters, outermost first, so that the layout classes stay thin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index

import numpy as np
from numpy.typing import NDArray

from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError


@dataclass(frozen=True)
class Iter:
    """`extent` steps of `stride` on the axis named `axis`. Stride 0 broadcasts; strides may be negative."""

    extent: int
    stride: int
    axis: str = "m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", index(self.extent))
        object.__setattr__(self, "stride", index(self.stride))
        if self.extent < 1:
            raise LayoutError(f"the extent of an iter must be positive, found {self.extent}")
        axis(self.axis)

    def __str__(self) -> str:
        return f"{self.extent} : {scaled(self.stride, self.axis)}"


Iters = tuple[Iter, ...]


def scaled(count: int, name: str) -> str:
    """`count@name`, with the default axis m left out."""
    return str(count) if name == "m" else f"{count}@{name}"


def row_major(shape: Sequence[int], axis_name: str = "m") -> Iters:
    """Compact iters for a shape, last dimension fastest."""
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    return tuple(Iter(e, s, axis_name) for e, s in zip(shape, strides, strict=True))


def size_of(iters: Iterable[Iter]) -> int:
    """Number of digit combinations."""
    return prod(it.extent for it in iters)


def reach(iters: Iterable[Iter], name: str) -> tuple[int, int]:
    """Smallest and largest sum that the iters on one axis can produce."""
    ends = [(it.extent - 1) * it.stride for it in iters if it.axis == name]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)


def canonical_shard(iters: Iterable[Iter], broadcast_axis: str) -> Iters:
    """The shortest shard of the same map: no unit iters, neighbours fused wherever they continue each other.

    This form is unique for a map. The innermost extent is the first index where the map stops being linear, and so
    on outwards; only the axis of a zero stride is free, therefore the caller fixes it with `broadcast_axis`.
    """
    fused: list[Iter] = []
    for it in iters:
        if it.extent == 1:
            continue
        name = canonical_name(it.axis) if it.stride else broadcast_axis
        outer = fused[-1] if fused else None
        if outer is not None and outer.axis == name and outer.stride == it.extent * it.stride:
            fused[-1] = Iter(outer.extent * it.extent, it.stride, name)
        else:
            fused.append(Iter(it.extent, it.stride, name))
    return tuple(fused)


def replica_offsets(replica: Iterable[Iter]) -> dict[str, tuple[int, ...]]:
    """Per axis, the sorted set of distinct sums of the replica iters.

    Every iter moves on one axis only, so the whole replica set is the product of these sets.
    """
    sums: dict[str, set[int]] = {}
    for it in replica:
        steps = range(it.extent)
        sums[it.axis] = {base + r * it.stride for base in sums.get(it.axis, {0}) for r in steps}
    return {name: tuple(sorted(values)) for name, values in sums.items()}


def _factor(values: tuple[int, ...]) -> list[tuple[int, int]] | None:
    """(extent, stride) pairs, innermost first, whose sums are exactly `values`, each once; None if there are none.

    `values` is sorted and starts at 0. Longest inner run first, so equal sets give equal factors.
    """
    count = len(values)
    if count == 1:
        return []
    stride = values[1]
    members = set(values)
    run = 1
    while run * stride in members:
        run += 1
    for extent in range(run, 1, -1):
        if count % extent:
            continue
        left = set(members)
        starts: list[int] = []
        for value in values:
            if value not in left:
                continue
            block = {value + r * stride for r in range(extent)}
            if not block <= left:
                break
            left -= block
            starts.append(value)
        if left:
            continue
        outer = _factor(tuple(starts))
        if outer is not None:
            return [(extent, stride), *outer]
    return None


def canonical_replica(replica: Iterable[Iter]) -> tuple[Iters, dict[str, int]]:
    """Normal form of a replica and the shift per axis that has to go to the offset.

    Unit and zero-stride iters add nothing to a set and go; negative strides become positive with a shift; the rest is
    refactored from the set itself, so that equal sets have equal texts. A set that is no sum of disjoint runs
    (e.g. R[(2, 2, 2) : (2, 3, 5)], which reaches 5 twice) keeps its iters, sorted.
    """
    shift: dict[str, int] = {}
    by_axis: dict[str, list[Iter]] = {}
    for it in replica:
        if it.extent == 1 or it.stride == 0:
            continue
        name = canonical_name(it.axis)
        if it.stride < 0:
            shift[name] = shift.get(name, 0) + (it.extent - 1) * it.stride
        by_axis.setdefault(name, []).append(Iter(it.extent, abs(it.stride), name))
    result: list[Iter] = []
    for name, iters in sorted(by_axis.items()):
        if len(iters) > 1:
            factors = _factor(replica_offsets(iters)[name])
            if factors is not None:
                iters = [Iter(extent, stride, name) for extent, stride in factors]
        result.extend(sorted(iters, key=lambda it: (-it.stride, it.extent)))
    return tuple(result), shift


def group_iters(iters: Sequence[Iter], shape: Sequence[int], unit_axis: str) -> tuple[Iters, tuple[int, ...]]:
    """Splits iters so that every dimension of `shape` owns a run of them: (iters, separators).

    Group d is iters[seps[d]:seps[d + 1]] and is never empty: a unit dimension gets a unit iter. Raises LayoutError
    when a dimension ends inside an iter in a place where the iter cannot be cut.
    """
    groups: list[list[Iter]] = []
    pending = list(iters)
    for d in range(len(shape) - 1, -1, -1):
        need = shape[d]
        group: list[Iter] = []
        while need > 1 or (not group and pending and pending[-1].extent == 1):
            if not pending:
                raise LayoutError(f"shape {tuple(shape)} has more elements than the layout")
            it = pending.pop()
            if need % it.extent == 0:
                need //= it.extent
                group.append(it)
            elif it.extent % need == 0:
                group.append(Iter(need, it.stride, it.axis))
                pending.append(Iter(it.extent // need, it.stride * need, it.axis))
                need = 1
            else:
                raise LayoutError(
                    f"dimension {d} of shape {tuple(shape)} does not line up with the iters of the layout: "
                    f"{need} elements remain where an iter of extent {it.extent} stands, and neither divides the other"
                )
        groups.append(group or [Iter(1, 0, unit_axis)])
    if groups:
        groups[-1].extend(it for it in reversed(pending) if it.extent == 1)
    if any(it.extent != 1 for it in pending):
        raise LayoutError(f"shape {tuple(shape)} has fewer elements than the layout")
    seps = [0]
    result: list[Iter] = []
    for group in reversed(groups):
        result.extend(reversed(group))
        seps.append(len(result))
    return tuple(result), tuple(seps)


def accumulate(iters: Sequence[Iter]) -> dict[str, NDArray[np.int64]]:
    """Per axis, the sum of the digits times their strides for every flat index."""
    extents = [it.extent for it in iters]
    total = prod(extents)
    sums: dict[str, NDArray[np.int64]] = {}
    inner = total
    for it in iters:
        inner //= it.extent
        term = np.arange(it.extent, dtype=np.int64) * it.stride
        # (outer, extent, inner): adding by broadcast is cheaper than splitting a flat index by division.
        view = sums.setdefault(it.axis, np.zeros(total, dtype=np.int64)).reshape(-1, it.extent, inner)
        view += term[None, :, None]
    return sums


@dataclass(frozen=True)
class NotStrided:
    """Why a sequence is not a list of iters: only its first `prefix` elements lie on one line."""

    prefix: int


def infer_iters(values: Mapping[str, NDArray[np.int64]], count: int, broadcast_axis: str) -> Iters | NotStrided:
    """The canonical iters that produce a given sequence of coordinates starting at 0, or why there are none.

    Complete: by the uniqueness of the canonical form, the innermost extent can only be the first index at which the
    sequence stops being linear.
    """
    names = sorted(values)
    points = np.stack([values[name] for name in names], axis=1) if names else np.zeros((count, 0), dtype=np.int64)
    found: list[Iter] = []
    covered = 1
    while len(points) > 1:
        step = points[1]
        moving = np.flatnonzero(step)
        if len(moving) > 1:
            return NotStrided(covered)
        line = np.arange(len(points), dtype=np.int64)[:, None] * step
        bent = (points != line).any(axis=1)
        extent = int(np.argmax(bent)) if bent.any() else len(points)
        if len(points) % extent:
            return NotStrided(covered * extent)
        outer = points[::extent]
        if (points.reshape(len(outer), extent, -1) != outer[:, None, :] + line[:extent]).any():
            return NotStrided(covered * extent)
        if len(moving):
            found.append(Iter(extent, int(step[moving[0]]), names[int(moving[0])]))
        else:
            found.append(Iter(extent, 0, broadcast_axis))
        points = outer
        covered *= extent
    return tuple(reversed(found))
