"""Tiles whose elements are some of those of another tile, at steps through its row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from tirx.layout.arrays import IntArray, np
from tirx.layout.axis import axis
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.shape import Shape, row_major_strides
from tirx.layout.tile import TileLayout
from tirx.values import dataclass


def in_order(layout: TileLayout) -> TileLayout:
    """Returns the layout in which every thread has the same elements in the order in which they are in the tile.

    >>> str(in_order(TileLayout("S[(8, 2, 4, 2) : (4@laneid, 1, 1@laneid, 2)]")))
    'S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]'
    """
    shard: list[Iter] = []
    slots = 1
    for it in reversed(layout.canonicalize().shard):
        shard.append(Iter(it.extent, slots, "m") if it.axis == "m" else it)
        slots *= it.extent if it.axis == "m" else 1
    others = [it for it in layout.replica if it.axis != "m"], [each for each in layout.offset if each[0] != "m"]
    return TileLayout(shard[::-1], *others).canonicalize()


@dataclass(frozen=True)
class Arrangement:
    """A tile of `dims` whose element at p is that of another tile at `offset` + the sum of `strides[d]` * p[d], counted
    in row-major order: a part, a reversed or transposed tile, one of another shape.

    >>> Arrangement.part((8, 64), (0, 63), (1, -1), (8, 64))
    Arrangement(dims=(8, 64), offset=63, strides=(64, -1))
    """

    dims: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    @staticmethod
    def part(source: Shape, start: Sequence[int], steps: Sequence[int], dims: Shape) -> Arrangement:
        """Returns the part of a tile of shape `source` that begins at `start` and goes on by `steps`."""
        strides = row_major_strides(source)
        offset = sum(n * stride for n, stride in zip(start, strides, strict=True))
        return Arrangement(tuple(dims), offset, tuple(n * stride for n, stride in zip(steps, strides, strict=True)))

    @staticmethod
    def transposed(source: Shape, permutation: Sequence[int]) -> Arrangement:
        """Returns the tile whose dimension i is dimension `permutation[i]` of one of shape `source`."""
        strides = row_major_strides(source)
        return Arrangement(tuple(source[d] for d in permutation), 0, tuple(strides[d] for d in permutation))

    def steps(self, source: Shape) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Returns where a part of a tile of shape `source` begins, and its steps; None for what is no part."""
        strides = row_major_strides(source)
        if len(self.dims) != len(source):
            return None
        if any(n % stride for n, stride in zip(self.strides, strides, strict=True)):
            return None
        start = tuple(self.offset // stride % n for stride, n in zip(strides, source, strict=True))
        steps = tuple(n // stride for n, stride in zip(self.strides, strides, strict=True))
        last = [a + step * (n - 1) for a, step, n in zip(start, steps, self.dims, strict=True)]
        return (start, steps) if all(0 <= a < n for a, n in zip(last, source, strict=True)) else None

    def inverse(self, source: Shape) -> Arrangement | None:
        """Returns the tile of shape `source`, up to dimensions that lie in one, of which this one is made; None if it
        has not all elements of it, or some backwards.

        >>> Arrangement.transposed((8, 64), (1, 0)).inverse((8, 64))
        Arrangement(dims=(8, 64), offset=0, strides=(1, 8))
        """
        order = sorted((d for d, n in enumerate(self.dims) if n > 1), key=lambda d: -self.strides[d])
        dims, strides = (tuple(one[d] for d in order) for one in (self.dims, self.strides))
        if prod(dims) != prod(source) or strides != row_major_strides(dims):
            return None
        own = row_major_strides(self.dims)
        return Arrangement(dims, 0, tuple(own[d] for d in order))

    def elements(self, held: IntArray) -> IntArray:
        """Returns the elements of the other tile that flat indices of this one are; -1, no element, stays."""
        at = np.unravel_index(np.maximum(held, 0), self.dims)
        flat = self.offset + sum(stride * each for stride, each in zip(self.strides, at, strict=True))
        return np.where(held < 0, -1, flat)

    def layout(self, source: TileLayout) -> TileLayout:
        """Returns a register layout in which threads hold what they hold of the other tile, in normal form.

        Reversed dimensions have it as if they were not; slots move together. Raises LayoutError where a dimension
        takes a part of an iter of `source`.
        """
        iters = source.canonicalize().shard
        steps = [prod(it.extent for it in iters[i + 1 :]) for i in range(len(iters))]
        first = self.offset + sum(min(0, stride * (n - 1)) for stride, n in zip(self.strides, self.dims, strict=True))
        shard: list[Iter] = []
        for n, stride in zip(self.dims, map(abs, self.strides), strict=True):
            ends = [stride]
            for it, step in reversed(list(zip(iters, steps, strict=True))):
                low, high = max(stride, step), min(stride * n, step * it.extent)
                if high <= low:
                    continue
                if low % step or high % low or ends[-1] != low:
                    raise LayoutError(f"expected dimensions of whole iters, found {n} steps of {stride} in {source}")
                ends.append(high)
            if ends[-1] != stride * n:
                raise LayoutError(f"expected dimensions of whole iters, found {n} steps of {stride} in {source}")
            for low, high in reversed(list(pairwise(ends))):
                pairs = zip(iters, steps, strict=True)
                it, step = next((it, step) for it, step in pairs if step <= low)  # from the outermost on
                shard.append(Iter(high // low, it.stride * (low // step), it.axis))
        offset = {name: count for name, count in source.offset if axis(name).kind != "memory"}
        for it, step in zip(iters, steps, strict=True):
            if it.axis != "m":
                offset[it.axis] = offset.get(it.axis, 0) + first // step % it.extent * it.stride
        reach = 1
        slots: dict[int, int] = {}
        for i in sorted((i for i, it in enumerate(shard) if it.axis == "m"), key=lambda i: abs(shard[i].stride)):
            slots[i] = reach
            reach *= shard[i].extent
        placed = [Iter(it.extent, slots.get(i, it.stride), it.axis) for i, it in enumerate(shard)]
        replica = [it for it in source.replica if it.axis != "m"]
        return TileLayout(placed, replica, tuple(offset.items())).canonicalize()
