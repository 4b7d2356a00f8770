"""`Strided`: shard, replica and offset of a tile layout as plain tuples, and what follows from them.

The algebra (`algebra`, `quotient`, `slicing`, `addresses`, ...) works on these tuples. `TileLayout` is the class around
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, product
from math import prod
from typing import NamedTuple

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import (
    Iter,
    Iters,
    Table,
    broadcast_sums,
    canonical_shard,
    fused_if_needed,
    group_iters,
    reach,
    scaled,
    size_of,
)
from tirx.layout.replica import MOST_COPIES, canonical_replica, replica_offsets
from tirx.layout.shape import check_coordinates, check_count, check_entries

Offset = tuple[tuple[str, int], ...]
"""Pairs of axis name and coordinate, sorted and without zeros."""


class Strided(NamedTuple):
    """A tile layout as plain data: L(x) = { D(x) + r + offset : r in R }, D over `shard` and R over `replica`."""

    shard: Iters = ()
    replica: Iters = ()
    offset: Offset = ()

    def __str__(self) -> str:
        text = _bracket("S", self.shard)
        if self.replica:
            text += f" + {_bracket('R', self.replica)}"
        for name, count in self.offset:
            text += f" {'-' if count < 0 else '+'} {scaled(abs(count), name)}"
        return text

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis mentioned, in order of appearance in shard, replica, offset."""
        names = [it.axis for it in self.shard]
        names += [it.axis for it in self.replica]
        names += [name for name, _ in self.offset]
        return tuple(dict.fromkeys(names))

    @property
    def size(self) -> int:
        """Number of logical elements."""
        return size_of(self.shard)

    def base(self, name: str) -> int:
        """The offset on an axis under this very name."""
        return dict(self.offset).get(name, 0)


def _bracket(letter: str, iters: Iters) -> str:
    if not iters:
        return f"{letter}[]"
    if len(iters) == 1:
        return f"{letter}[{iters[0]}]"
    extents = ", ".join(str(it.extent) for it in iters)
    strides = ", ".join(scaled(it.stride, it.axis) for it in iters)
    return f"{letter}[({extents}) : ({strides})]"


def sum_offsets(*offsets: Iterable[tuple[str, int]]) -> Offset:
    """The sum of offsets, in the form of `Offset`."""
    sums: dict[str, int] = {}
    for name, count in chain.from_iterable(offsets):
        sums[name] = sums.get(name, 0) + count
    return tuple(sorted((name, count) for name, count in sums.items() if count))


def memory_first(name: str) -> bool:
    """A sort key that puts memory axes before others."""
    return axis(name).kind != "memory"


def normal_form(layout: Strided) -> Strided:
    """The shortest shard and replica of the same map, under canonical axis names; see `TileLayout.canonicalize`.

    Returns `layout` itself if it is that form.
    """
    shard = canonical_shard(layout.shard)
    replica, offset = layout.replica, layout.offset
    if replica:
        replica, shift = canonical_replica(replica)
        if shift:
            offset = sum_offsets(offset, shift.items())
    for name, _ in offset:
        if canonical_name(name) != name:
            offset = sum_offsets((canonical_name(name), count) for name, count in offset)
            break
    for it in shard:
        if not it.stride:
            shard = _with_broadcast_axis(shard, replica, offset)
            break
    if shard is layout.shard and replica == layout.replica and offset is layout.offset:
        return layout
    return Strided(shard, replica, offset)


def _with_broadcast_axis(shard: Iters, replica: Iters, offset: Offset) -> Iters:
    """The shard with one axis for all broadcast iters, which have none of their own.

    The choice depends on the map only and keeps a layout of one memory free of foreign axes.
    """
    moving = {it.axis for it in (*shard, *replica) if it.stride} | {name for name, _ in offset}
    name = min(moving, key=lambda name: (memory_first(name), name), default="m")
    return tuple([it if it.stride else Iter(it.extent, 0, name) for it in shard])


def span(layout: Strided, name: str) -> int:
    """Length of the footprint on an axis under this very name, max - min + 1; 1 for an axis not mentioned."""
    low, high = reach((*layout.shard, *layout.replica), name)
    return high - low + 1


def footprint(layout: Strided) -> dict[str, tuple[int, int]]:
    """Per axis the smallest and largest coordinate that any copy of any element has."""
    ends: dict[str, tuple[int, int]] = {}
    iters = (*layout.shard, *layout.replica)
    for name in layout.axes:
        low, high = reach(iters, name)
        base = layout.base(name)
        ends[name] = (low + base, high + base)
    return ends


def displacements(layout: Strided) -> list[dict[str, int]]:
    """The distinct displacements that the replica iters reach, sorted; a single empty one without replicas.

    Raises LayoutError for more than 2**20 of them.
    """
    sets = replica_offsets(layout.replica)
    if (count := prod(map(len, sets.values()))) > MOST_COPIES:
        raise LayoutError(f"expected at most {MOST_COPIES} copies of an element, found {count} in {layout}")
    return [dict(zip(sets, steps, strict=True)) for steps in product(*sets.values())]


def check_table(layout: Strided) -> None:
    """Raises LayoutError for more than 2**26 elements, and for coordinates beyond 62 bits."""
    check_entries(layout.size, layout)
    check_coordinates(layout, *chain.from_iterable(footprint(layout).values()))


def table(layout: Strided) -> Table:
    """Base coordinates of all elements by flat index: {axis: int64 array of length size}, replicas not applied.

    Raises LayoutError as `check_table` does.
    """
    check_table(layout)
    return {name: broadcast_sums(layout.shard, name, layout.base(name)) for name in layout.axes}


def axis_table(layout: Strided, name: str) -> NDArray[np.int64]:
    """Base coordinates on one axis by flat index, under any of its names; zeros for an axis not mentioned."""
    check_table(layout)
    wanted = canonical_name(name)
    names = [own for own in layout.axes if canonical_name(own) == wanted] or [name]
    found = [broadcast_sums(layout.shard, own, layout.base(own)) for own in names]
    return sum(found[1:], found[0])


def owner_table(layout: Strided) -> Table:
    """Coordinates of all copies of all elements: {axis: int64 array of (size, copies)}, in order of `displacements`."""
    steps = displacements(layout)
    check_count(layout.size * len(steps), layout)
    return {
        name: base[:, None] + np.array([step.get(name, 0) for step in steps], dtype=np.int64)
        for name, base in table(layout).items()
    }


def group(layout: Strided, dims: tuple[int, ...]) -> tuple[Strided, tuple[int, ...]]:
    """See TileLayout.group."""
    iters, seps = fused_if_needed(layout.shard, lambda shard: group_iters(shard, dims, unit_axis(layout)))
    return layout._replace(shard=iters), seps


def unit_axis(layout: Strided) -> str:
    """The axis of the iters of unit dimensions."""
    return layout.shard[0].axis if layout.shard else "m"


def scale(layout: Strided, factors: Mapping[str, int]) -> Strided:
    """The layout with strides and offsets multiplied, by the factor of each axis (1 for axes not mentioned)."""

    def scaled_iters(iters: Iters) -> Iters:
        return tuple([Iter(it.extent, it.stride * factors.get(it.axis, 1), it.axis) for it in iters])

    offset = tuple([(name, count * factors.get(name, 1)) for name, count in layout.offset])
    return Strided(scaled_iters(layout.shard), scaled_iters(layout.replica), offset)
