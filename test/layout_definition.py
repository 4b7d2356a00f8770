"""Random layouts, and the definition of what they mean, element by element. Tests compare `tirx.layout` with this."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tirx.layout import Iter, TileLayout

Point = tuple[tuple[str, int], ...]
"""A physical coordinate without its zeros: an axis that is not mentioned has coordinate 0."""

AXES = ("m", "laneid", "warpid", "TCol")

iters = st.builds(Iter, st.sampled_from([1, 2, 2, 3, 4, 5]), st.integers(-9, 9), st.sampled_from(AXES))
replicas = st.builds(Iter, st.integers(1, 4), st.integers(-4, 4), st.sampled_from(AXES))
offsets = st.dictionaries(st.sampled_from(AXES), st.integers(-20, 20), max_size=2)


def layouts(max_iters: int = 4) -> st.SearchStrategy[TileLayout]:
    return st.builds(TileLayout, st.lists(iters, max_size=max_iters), st.lists(replicas, max_size=3), offsets)


def owner_set(layout: TileLayout, flat: int) -> frozenset[Point]:
    """L(x), by the four steps of the definition."""
    base: dict[str, int] = dict(layout.offset)
    for k, it in enumerate(layout.shard):
        digit = flat // prod(inner.extent for inner in layout.shard[k + 1 :]) % it.extent
        base[it.axis] = base.get(it.axis, 0) + digit * it.stride
    points: set[Point] = set()
    for steps in product(*(range(it.extent) for it in layout.replica)):
        point = dict(base)
        for step, it in zip(steps, layout.replica, strict=True):
            point[it.axis] = point.get(it.axis, 0) + step * it.stride
        points.add(as_point(point))
    return frozenset(points)


def as_point(coordinate: dict[str, int]) -> Point:
    return tuple(sorted((axis, at) for axis, at in coordinate.items() if at))


def same_map(a: TileLayout, b: TileLayout) -> bool:
    return a.size() == b.size() and all(owner_set(a, x) == owner_set(b, x) for x in range(a.size()))


@st.composite
def shapes_of(draw: st.DrawFn, layout: TileLayout) -> tuple[int, ...]:
    """A shape that the layout groups by: runs of its iters, sometimes with one iter cut in two."""
    shape = [1]
    for it in layout.shard:
        if it.extent == 4 and draw(st.booleans()):
            pieces = [2, 2]
        else:
            pieces = [it.extent]
        for piece in pieces:
            if draw(st.booleans()):
                shape.append(piece)
            else:
                shape[-1] *= piece
    return tuple(shape)


def factorisations(n: int) -> list[tuple[int, ...]]:
    if n == 1:
        return [()]
    return [(e, *rest) for e in range(2, n + 1) if n % e == 0 for rest in factorisations(n // e)]


def fits(line: NDArray[np.int64], factors: tuple[int, ...]) -> bool:
    """Returns True if digits of these extents, innermost first, each with a stride on a single axis, give the line."""
    left = line.copy()
    index = np.arange(line.shape[1], dtype=np.int64)
    weight = 1
    for extent in factors:
        stride = line[:, weight]
        if np.count_nonzero(stride) > 1:
            return False
        left -= stride[:, None] * (index // weight % extent)
        weight *= extent
    return not left.any()
