"""Queries about the physical places that the elements of a layout take.

Every iter moves on one axis only, so the map of a layout, its copies included, is a product of one map per axis, and
most questions are answered axis by axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from operator import index

import numpy as np
from numpy.typing import NDArray

from tirx.layout.axis import axis, canonical_name
from tirx.layout.domain import check_bound, check_coordinates, check_count
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, accumulate, size_of
from tirx.layout.replica import canonical_replica, replica_offsets
from tirx.layout.tile import TileLayout


def inverse(layout: TileLayout, coord: Mapping[str, int]) -> list[int]:
    """See TileLayout.inverse. Each axis gives a set of partial flat indices; sums of one of each are the answer."""
    queried: dict[str, int] = {}
    for name, at in coord.items():
        at = index(at)
        if queried.setdefault(canonical_name(name), at) != at:
            raise LayoutError(f"axis '{name}' and another name of it are asked for at different places")
    weights: list[int] = []
    weight = layout.size()
    for it in layout.shard:
        weight //= it.extent
        weights.append(weight)
    replica, shift = canonical_replica(layout.replica)
    replicas = replica_offsets(replica)
    offsets: dict[str, int] = dict(shift)
    for name, count in layout.offset:
        offsets[canonical_name(name)] = offsets.get(canonical_name(name), 0) + count
    flats = np.zeros(1, dtype=np.int64)
    for name in dict.fromkeys((*map(canonical_name, layout.axes), *queried)):
        own = [(it, w) for it, w in zip(layout.shard, weights, strict=True) if canonical_name(it.axis) == name]
        check_count(size_of(it for it, _ in own), layout)
        partial = accumulate([Iter(it.extent, w) for it, w in own]).get("m", np.zeros(1, dtype=np.int64))
        if name in queried:
            place = accumulate([Iter(it.extent, it.stride) for it, _ in own]).get("m", np.zeros(1, dtype=np.int64))
            wanted = {queried[name] - offsets.get(name, 0) - step for step in replicas.get(name, (0,))}
            low, high = int(place.min()), int(place.max())
            partial = partial[np.isin(place, [at for at in wanted if low <= at <= high])]
        check_count(len(flats) * len(partial), layout)
        flats = (flats[:, None] + partial[None, :]).reshape(-1)
    return [int(flat) for flat in np.sort(flats)]


def is_injective(layout: TileLayout) -> bool:
    """See TileLayout.is_injective."""
    replica, _ = canonical_replica(layout.replica)
    shard = [Iter(it.extent, it.stride, canonical_name(it.axis)) for it in layout.shard if it.extent > 1]
    if any(it.stride == 0 for it in shard):
        return False
    for name in {it.axis for it in shard}:
        mine = [it for it in shard if it.axis == name]
        copying = [it for it in replica if it.axis == name]
        reached = 0
        nested = True
        for it in sorted((*mine, *copying), key=lambda it: abs(it.stride)):
            nested &= abs(it.stride) > reached
            reached += (it.extent - 1) * abs(it.stride)
        if nested:
            continue
        check_coordinates(layout, reached)
        copies = np.array(replica_offsets(copying).get(name, (0,)), dtype=np.int64)
        check_count(size_of(mine) * len(copies), layout)
        places = accumulate(mine)[name][:, None] + copies[None, :]
        if len(np.unique(places)) != places.size:
            return False
    return True


class _Runs:
    """The places of a layout on one axis: `length` neighbours from each of the sorted `starts` on."""

    starts: NDArray[np.int64]
    length: int

    def __init__(self, layout: TileLayout, name: str):
        check_coordinates(layout, *layout.footprint().get(name, ()))
        # The smallest strides, as long as each continues what the smaller ones fill, make the runs.
        self.length = 1
        low = layout.offsets.get(name, 0)
        starts = np.zeros(1, dtype=np.int64)
        own = [it for it in (*layout.shard, *layout.replica) if it.axis == name]
        for it in sorted(own, key=lambda it: abs(it.stride)):
            stride = abs(it.stride)
            low += min(0, (it.extent - 1) * it.stride)
            if len(starts) == 1 and stride <= self.length:
                self.length += (it.extent - 1) * stride
            else:
                check_count(len(starts) * it.extent, layout)
                steps = np.arange(it.extent, dtype=np.int64) * stride
                starts = np.unique(starts[:, None] + steps[None, :])
        self.starts = starts + low

    def cover(self, low: int, high: int) -> bool:
        """Whether all of [low, high) is there."""
        near = self.starts[(self.starts > low - self.length) & (self.starts < high)]
        if not len(near) or near[0] > low or near[-1] + self.length < high:
            return False
        return bool((np.diff(near) <= self.length).all())

    def meet(self, other: _Runs) -> bool:
        """Whether both have a place."""
        first = np.searchsorted(other.starts, self.starts - other.length, side="right")
        found = first < len(other.starts)
        return bool((other.starts[first[found]] < self.starts[found] + self.length).any())


def is_surjective(layout: TileLayout, box: Mapping[str, int | tuple[int, int]]) -> bool:
    """See TileLayout.is_surjective."""
    layout = layout.canonicalize()
    bounds: dict[str, tuple[int, int]] = {}
    for name, bound in box.items():
        low, high = check_bound(name, bound)
        if bounds.setdefault(canonical_name(name), (low, high)) != (low, high):
            raise LayoutError(f"axis '{name}' and another name of it have different bounds in the box")
    return all(_Runs(layout, name).cover(low, high) for name, (low, high) in bounds.items())


def overlaps(layout: TileLayout, other: TileLayout) -> bool:
    """See TileLayout.overlaps."""
    layout, other = layout.canonicalize(), other.canonicalize()
    names = tuple(dict.fromkeys((*layout.axes, *other.axes)))
    for a, b in combinations(map(axis, names), 2):
        if a.depends_on(b):
            raise LayoutError(
                f"the coordinates of a thread on axes '{a.name}' and '{b.name}' depend on one another, so {layout} and "
                f"{other} cannot be compared axis by axis; expected the same thread axes in both (see fuse_threads)"
            )
    return all(_Runs(layout, name).meet(_Runs(other, name)) for name in names)
