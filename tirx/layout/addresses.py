"""Queries about the coordinates that the elements of a layout take.

Every iter moves on one axis only, so the map of a layout, its copies included, is a product of one map per axis, and
most questions are answered axis by axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from operator import index

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, broadcast_sums, reach, size_of
from tirx.layout.replica import canonical_replica, offsets_on
from tirx.layout.shape import check_bound, check_coordinates, check_count, check_window
from tirx.layout.strided import Strided, sum_offsets
from tirx.values import dataclass

Box = Mapping[str, int | tuple[int, int]]
"""An extent, or (begin, end) with end exclusive, per axis."""


def inverse(layout: Strided, coord: Mapping[str, int]) -> list[int]:
    """See TileLayout.inverse. Each axis gives a set of partial flat indices; sums of one of each are the answer."""
    queried: dict[str, int] = {}
    for name, at in coord.items():
        at = index(at)
        if queried.setdefault(canonical_name(name), at) != at:
            raise LayoutError(f"axis '{name}' and another name of it are asked for at different places")
    weights: list[int] = []
    weight = layout.size
    for it in layout.shard:
        weight //= it.extent
        weights.append(weight)
    replica, shift = canonical_replica(layout.replica)
    offset = sum_offsets(shift.items(), ((canonical_name(name), count) for name, count in layout.offset))
    normal = Strided((), replica, offset)
    flats = np.zeros(1, dtype=np.int64)
    for name in dict.fromkeys((*map(canonical_name, layout.axes), *queried)):
        own = [(it, w) for it, w in zip(layout.shard, weights, strict=True) if canonical_name(it.axis) == name]
        check_count(size_of(it for it, _ in own), layout)
        partial = broadcast_sums([Iter(it.extent, w) for it, w in own], "m")
        if name in queried:
            at = broadcast_sums([Iter(it.extent, it.stride) for it, _ in own], "m")
            wanted = {queried[name] - normal.base(name) - step for step in offsets_on(replica, name)}
            low, high = int(at.min()), int(at.max())
            partial = partial[np.isin(at, [each for each in wanted if low <= each <= high])]
        check_count(len(flats) * len(partial), layout)
        flats = (flats[:, None] + partial[None, :]).reshape(-1)
    return [int(flat) for flat in np.sort(flats)]


def is_injective(layout: Strided) -> bool:
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
        copies = np.array(offsets_on(replica, name), dtype=np.int64)
        check_count(size_of(mine) * len(copies), layout)
        found = broadcast_sums(mine, name)[:, None] + copies[None, :]
        if len(np.unique(found)) != found.size:
            return False
    return True


def sums_between(steps: Iterable[tuple[int, int]], base: int, low: int, high: int, layout: object) -> NDArray[np.int64]:
    """The distinct sums of `base` and steps that lie in [low, high], sorted.

    steps: (extent, stride) pairs, stride positive: 0 to extent - 1 strides are added. Partial sums that cannot come
    back to the window are dropped. Raises LayoutError when too many are left.
    """
    ordered = sorted(((stride, extent) for extent, stride in steps), reverse=True)
    left = sum(stride * (extent - 1) for stride, extent in ordered)
    if base > high or base + left < low:
        return np.zeros(0, dtype=np.int64)
    sums = np.array([base], dtype=np.int64)
    for stride, extent in ordered:
        left -= stride * (extent - 1)
        lowest = max(0, -((int(sums.max()) + left - low) // stride))
        count = min(extent - 1, (high - int(sums.min())) // stride) - lowest + 1
        check_window(len(sums) * count, layout)
        sums = np.sort(sums[:, None] + np.arange(lowest, lowest + count, dtype=np.int64) * stride, axis=None)
        # `np.unique` hashes integers, which takes ten times as long.
        distinct = np.append(True, sums[1:] != sums[:-1])
        sums = sums[distinct & (sums + left >= low) & (sums <= high)]
        if not len(sums):
            break
    return sums


@dataclass(frozen=True)
class _Runs:
    """The coordinates of a layout on one axis: `length` neighbours from every sum of `base` and `steps` on."""

    layout: Strided
    base: int
    length: int
    steps: tuple[tuple[int, int], ...]

    @staticmethod
    def of(layout: Strided, name: str) -> _Runs:
        """The runs of a layout in normal form. Raises LayoutError for coordinates beyond 62 bits."""
        own = [it for it in (*layout.shard, *layout.replica) if it.axis == name]
        base = layout.base(name)
        low, high = reach(own, name)
        check_coordinates(layout, base + low, base + high)
        # The smallest strides, as long as each continues what the smaller ones fill, make the runs.
        length = 1
        steps: list[tuple[int, int]] = []
        for it in sorted(own, key=lambda it: abs(it.stride)):
            if not steps and abs(it.stride) <= length:
                length += (it.extent - 1) * abs(it.stride)
            else:
                steps.append((it.extent, abs(it.stride)))
        return _Runs(layout, base + low, length, tuple(steps))

    @property
    def end(self) -> int:
        """One more than the last coordinate."""
        return self.base + self.length + sum((extent - 1) * stride for extent, stride in self.steps)

    def starts(self, low: int, high: int) -> NDArray[np.int64]:
        """The first coordinates of the runs that reach into [low, high), sorted."""
        return sums_between(self.steps, self.base, low - self.length + 1, high - 1, self.layout)

    def cover(self, low: int, high: int) -> bool:
        """Returns True if all of [low, high) is there."""
        if low < self.base or high > self.end:
            return False
        near = self.starts(low, high)
        if not len(near) or near[0] > low or near[-1] + self.length < high:
            return False
        return bool((np.diff(near) <= self.length).all())

    def meet(self, other: _Runs) -> bool:
        """Returns True if both have a coordinate in common."""
        low, high = max(self.base, other.base), min(self.end, other.end)
        mine, theirs = self.starts(low, high), other.starts(low, high)
        first = np.searchsorted(theirs, mine - other.length, side="right")
        found = first < len(theirs)
        return bool((theirs[first[found]] < mine[found] + self.length).any())


def is_surjective(layout: Strided, box: Box) -> bool:
    """See TileLayout.is_surjective, for a normal form."""
    bounds: dict[str, tuple[int, int]] = {}
    for name, bound in box.items():
        low, high = check_bound(name, bound)
        if bounds.setdefault(canonical_name(name), (low, high)) != (low, high):
            raise LayoutError(f"axis '{name}' and another name of it have different bounds in the box")
    return all(_Runs.of(layout, name).cover(low, high) for name, (low, high) in bounds.items())


def overlaps(layout: Strided, other: Strided) -> bool:
    """See TileLayout.overlaps, for normal forms."""
    names = tuple(dict.fromkeys((*layout.axes, *other.axes)))
    for a, b in combinations(map(axis, names), 2):
        if a.depends_on(b):
            raise LayoutError(
                f"the coordinates of a thread on axes '{a.name}' and '{b.name}' depend on one another, so {layout} and "
                f"{other} cannot be compared axis by axis; expected the same thread axes in both (see fuse_threads)"
            )
    return all(_Runs.of(layout, name).meet(_Runs.of(other, name)) for name in names)
