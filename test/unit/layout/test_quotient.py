"""`is_tile_inner`, `is_tile_outer`, `is_direct_sum_right`, `is_direct_sum_left`: exact inverses, nothing missed."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import layouts, owner_set, same_map, shapes_of
from unit.cases import together

from tirx.layout import Iter, LayoutError, TileLayout


def tile(text: str) -> TileLayout:
    return TileLayout.parse(text)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[TileLayout, tuple[int, ...], TileLayout, tuple[int, ...]]:
    """Two layouts with shapes of one rank."""
    first, second = draw(layouts(2)), draw(layouts(2))
    shapes = [draw(shapes_of(first)), draw(shapes_of(second))]
    rank = max(map(len, shapes))
    a, b = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    return first, a, second, b


def interleave(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for pair in zip(left, right, strict=True) for extent in pair)


@given(pairs())
def test_every_tiling_is_recognised(pair: tuple[TileLayout, tuple[int, ...], TileLayout, tuple[int, ...]]) -> None:
    inner, inner_shape, outer, outer_shape = pair
    tiled = inner.tile(outer, outer_shape, inner_shape)
    shape = tuple(o * i for o, i in zip(outer_shape, inner_shape, strict=True))
    found = inner.is_tile_inner(tiled, shape, inner_shape)
    assert found is not None
    assert same_map(found, outer)
    found = outer.is_tile_outer(tiled, shape, outer_shape)
    assert found is not None
    assert same_map(found, inner)


@given(pairs())
def test_every_direct_sum_is_recognised(pair: tuple[TileLayout, tuple[int, ...], TileLayout, tuple[int, ...]]) -> None:
    right, right_shape, left, left_shape = pair
    whole = right.direct_sum(left, left_shape, right_shape)
    interleaved = interleave(left_shape, right_shape)
    found = right.is_direct_sum_right(whole, interleaved, right_shape)
    assert found is not None
    assert same_map(right.direct_sum(found, left_shape, right_shape), whole)
    found = left.is_direct_sum_left(whole, interleaved, left_shape)
    assert found is not None
    assert same_map(found.direct_sum(left, left_shape, right_shape), whole)


# All layouts of two elements on one axis, with strides and copies up to a bound, as the places of every element. Their
# offsets are not bounded: the one that could fit is known from the first element.

Places = tuple[frozenset[int], ...]
Pieces = dict[tuple[int, int], frozenset[int]]
"""The places of every (inner element, outer element)."""

LARGEST_SUM, LARGEST_STRIDE = 4, 8


def replicas_up_to(most: int, smallest: int = 1) -> Iterator[tuple[int, ...]]:
    """Every multiset of steps that reaches no further than `most`."""
    yield ()
    for step in range(smallest, most + 1):
        for rest in replicas_up_to(most - step, step):
            yield (step, *rest)


def places(layout: TileLayout) -> Places:
    return tuple(frozenset(dict(point).get("m", 0) for point in owner_set(layout, x)) for x in range(layout.size()))


def small_layout(extent: int, stride: int, steps: tuple[int, ...], offset: int) -> TileLayout:
    return TileLayout([Iter(extent, stride)], [Iter(2, step) for step in steps], {"m": offset})


@cache
def universe() -> dict[Places, TileLayout]:
    found: dict[Places, TileLayout] = {}
    for stride in range(-LARGEST_STRIDE, LARGEST_STRIDE + 1):
        for steps in replicas_up_to(LARGEST_SUM):
            layout = small_layout(2, stride, steps, 0)
            found.setdefault(places(layout), layout)
    return found


strides = st.integers(-4, 4)
steps = st.sampled_from(tuple(replicas_up_to(LARGEST_SUM)))
some_offsets = st.integers(-2, 2)
part_layouts = st.builds(small_layout, st.just(2), strides, steps, some_offsets)


@st.composite
def wholes(draw: st.DrawFn, part: TileLayout, tiled: bool) -> tuple[TileLayout, tuple[int, ...], tuple[int, ...]]:
    """A layout of 4 elements that may contain the part, its shape and that of the part."""
    shape, part_shape = draw(st.sampled_from([((4,), (2,)), ((2, 2), (1, 2)), ((2, 2), (2, 1))]))
    if draw(st.booleans()):
        rest = draw(st.builds(small_layout, st.just(2), st.integers(-2, 2), st.just(()), st.integers(-1, 1)))
        rest_shape = tuple(s // p for s, p in zip(shape, part_shape, strict=True))
        pair = (part, rest) if draw(st.booleans()) else (rest, part)
        whole_shapes = (rest_shape, part_shape) if pair[0] is part else (part_shape, rest_shape)
        return (pair[0].tile if tiled else pair[0].direct_sum)(pair[1], *whole_shapes), shape, part_shape
    shard = draw(st.sampled_from([(4,), (2, 2)]))
    offset = {"m": draw(some_offsets)}
    copies = [Iter(2, step) for step in draw(steps)]
    return TileLayout([Iter(extent, draw(strides)) for extent in shard], copies, offset), shape, part_shape


def sums(inner: Places, outer: Places, scale: int) -> Pieces:
    """Places of a layout of two and two elements, by definition; the outer one is scaled."""
    return {(n, o): frozenset(p + scale * q for p in inner[n] for q in outer[o]) for n in range(2) for o in range(2)}


def split(whole: TileLayout, shape: tuple[int, ...], inner_shape: tuple[int, ...]) -> Pieces:
    found: Pieces = {}
    for at, coord in zip(places(whole), np.ndindex(*shape), strict=True):
        inner = [c % i for c, i in zip(coord, inner_shape, strict=True)]
        outer = [c // i for c, i in zip(coord, inner_shape, strict=True)]
        found[sum(inner), sum(outer)] = at
    return found


def moved(pieces: Pieces, wanted: Pieces, unit: int) -> bool:
    """Returns True if both are equal when one is moved by a multiple of a unit."""
    shift = min(wanted[0, 0]) - min(pieces[0, 0])
    return shift % unit == 0 and all(
        frozenset(place + shift for place in places) == wanted[key] for key, places in pieces.items()
    )


@given(st.data(), part_layouts)
def test_tile_inner_misses_nothing(data: st.DataObject, inner: TileLayout) -> None:
    tiled, shape, inner_shape = data.draw(wholes(inner, True))
    wanted, own, span = split(tiled, shape, inner_shape), places(inner), inner.span()
    exists = any(moved(sums(own, outer, span), wanted, span) for outer in universe())
    assert (inner.is_tile_inner(tiled, shape, inner_shape) is not None) == exists


@given(st.data(), part_layouts)
def test_tile_outer_misses_nothing(data: st.DataObject, outer: TileLayout) -> None:
    tiled, shape, outer_shape = data.draw(wholes(outer, True))
    inner_shape = tuple(s // o for s, o in zip(shape, outer_shape, strict=True))
    wanted, own = split(tiled, shape, inner_shape), places(outer)
    exists = any(moved(sums(inner, own, layout.span()), wanted, 1) for inner, layout in universe().items())
    assert (outer.is_tile_outer(tiled, shape, outer_shape) is not None) == exists


@given(st.data(), part_layouts)
def test_direct_sum_misses_nothing(data: st.DataObject, part: TileLayout) -> None:
    whole, shape, part_shape = data.draw(wholes(part, False))
    rest_shape = tuple(s // p for s, p in zip(shape, part_shape, strict=True))
    own = places(part)
    as_right = split(whole, shape, part_shape)
    found = part.is_direct_sum_right(whole, interleave(rest_shape, part_shape), part_shape)
    assert (found is not None) == any(moved(sums(own, left, 1), as_right, 1) for left in universe())
    as_left = split(whole, shape, rest_shape)
    found = part.is_direct_sum_left(whole, interleave(part_shape, rest_shape), part_shape)
    assert (found is not None) == any(moved(sums(right, own, 1), as_left, 1) for right in universe())


def test_replicas_and_offsets_are_recovered() -> None:
    inner, outer = tile("S[8 : 1] + R[2 : 8] + 5"), tile("S[4 : 1] + R[2 : 4] + 1")
    tiled = inner.tile(outer, (4,), (8,))
    assert inner.is_tile_inner(tiled, (32,), (8,)) == outer
    assert outer.is_tile_outer(tiled, (32,), (4,)) == inner
    # A part on an axis that the outer layout does not use.
    atom = tile("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    whole = atom.direct_sum(tile("S[4 : 4@TCol]"), (4, 1), (32, 4))
    assert atom.is_direct_sum_right(whole, (4, 32, 1, 4), (32, 4)) == tile("S[4 : 4@TCol]")
    assert tile("S[4 : 4@TCol]").is_direct_sum_left(whole, (4, 32, 1, 4), (4, 1)) == atom


def test_which_replica_is_recovered() -> None:
    """A copy belongs to the part that is known; the rest makes no copies that meet, where it can."""
    part = tile("S[2 : 1@laneid] + R[2 : 1@warpid]")
    whole = tile("S[(3, 2) : (2@laneid, 1@laneid)] + R[4 : 1@warpid]")
    found = part.is_direct_sum_right(whole, (3, 2), (2,))
    assert found == tile("S[3 : 2@laneid] + R[2 : 2@warpid]")
    same = tile("S[(3, 2) : (2@laneid, 1@laneid)] + R[2 : 1@warpid]")
    assert part.is_direct_sum_right(same, (3, 2), (2,)) == tile("S[3 : 2@laneid]")
    # {0, 1, 2} takes two runs of {0, 1} that meet.
    meeting = tile("S[(3, 2) : (2@laneid, 1@laneid)] + R[3 : 1@warpid]")
    assert part.is_direct_sum_right(meeting, (3, 2), (2,)) == tile("S[3 : 2@laneid] + R[2 : 1@warpid]")


@together(
    ("inner", "tiled", "inner_shape"),
    [
        ("S[8 : 1]", "S[32 : 2]", (8,)),
        ("S[8 : 1]", "S[(4, 8) : (9, 1)]", (8,)),  # 9 is no multiple of the span
        ("S[8 : 1] + 3", "S[32 : 1] + 4", (8,)),  # the offset left is no multiple of the span
        ("S[8 : 1] + R[2 : 1]", "S[32 : 1]", (8,)),  # the copies of the part are not in the whole
        ("S[8 : 1]", "S[32 : 1] + R[2 : 4]", (8,)),  # copies inside of a tile
        ("S[8 : 1@laneid]", "S[32 : 1]", (8,)),
        ("S[3 : 1]", "S[32 : 1]", (3,)),  # 3 does not divide 32
    ],
)
def test_tile_inner_without_an_outer(inner: str, tiled: str, inner_shape: tuple[int, ...]) -> None:
    assert tile(inner).is_tile_inner(tile(tiled), (tile(tiled).size(),), inner_shape) is None


def test_shapes_are_checked() -> None:
    part, whole = tile("S[8 : 1]"), tile("S[32 : 1]")
    with pytest.raises(LayoutError, match=r"the layout has 8 elements, shape \(4,\) has 4"):
        part.is_tile_inner(whole, (32,), (4,))
    with pytest.raises(LayoutError, match=r"expected shapes of one rank, found \(4, 8\) and \(8,\)"):
        part.is_tile_inner(whole, (4, 8), (8,))
    with pytest.raises(LayoutError, match=r"with the right dimensions \(8,\), found \(8, 4\)"):
        part.is_direct_sum_right(whole, (8, 4), (8,))
    with pytest.raises(
        LayoutError,
        match=(
            r"^expected an interleaved shape \(left, right, left, right, \.\.\.\) with the left "
            r"dimensions \(8,\), found \(4, 8\)$"
        ),
    ):
        part.is_direct_sum_left(whole, (4, 8), (8,))
