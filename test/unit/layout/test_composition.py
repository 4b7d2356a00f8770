"""Composition, broadcast and storage."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layout_definition import Point, as_point, layouts, owner_set, shapes_of

from tirx.layout import Iter, LayoutError, TileLayout


def tile(text: str) -> TileLayout:
    return TileLayout.parse(text)


indices = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.integers(1, 4), st.integers(-3, 8)), max_size=2),
    st.lists(st.builds(Iter, st.integers(1, 3), st.integers(-2, 4)), max_size=2),
    st.dictionaries(st.just("m"), st.integers(0, 6)),
)


def of_all(outer: TileLayout, inner: TileLayout) -> list[frozenset[Point]]:
    """The places of every element of the composition, by definition."""
    found: list[frozenset[Point]] = []
    for x in range(inner.size()):
        at = [dict(point).get("m", 0) for point in owner_set(inner, x)]
        assert all(0 <= flat < outer.size() for flat in at)
        found.append(frozenset(point for flat in at for point in owner_set(outer, flat)))
    return found


def inside(outer: TileLayout, inner: TileLayout) -> bool:
    low, high = inner.footprint().get("m", (0, 0))
    return 0 <= low and high < outer.size()


@given(layouts(), indices)
def test_compose_is_right_or_refused(outer: TileLayout, inner: TileLayout) -> None:
    if not inside(outer, inner):
        with pytest.raises(LayoutError, match="expected flat indices of the"):
            outer.compose(inner)
        return
    try:
        composed = outer.compose(inner)
    except LayoutError:
        return
    assert [owner_set(composed, x) for x in range(composed.size())] == of_all(outer, inner)


@given(st.data(), layouts())
def test_compose_with_a_permutation(data: st.DataObject, layout: TileLayout) -> None:
    """Never refused: reading the elements in another order of dimensions is `permute`."""
    shape = data.draw(shapes_of(layout))
    perm = data.draw(st.permutations(range(len(shape))))
    order = TileLayout.row_major(shape).permute(perm, shape)
    assert layout.compose(order).equivalent(layout.permute(perm, shape))


small = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.just(2), st.integers(0, 2)), min_size=2, max_size=3),
    st.lists(st.builds(Iter, st.just(2), st.integers(1, 2)), max_size=1),
)


few = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.just(2), st.integers(0, 3)), min_size=1, max_size=2),
    st.lists(st.builds(Iter, st.just(2), st.integers(1, 2)), max_size=1),
    st.dictionaries(st.just("m"), st.integers(0, 1)),
)


@given(small, few)
def test_compose_refuses_only_what_no_layout_is(outer: TileLayout, inner: TileLayout) -> None:
    """Of 4 elements or less on one axis, with few copies, all layouts are tried."""
    assume(inside(outer, inner))
    try:
        outer.compose(inner)
    except LayoutError:
        wanted = of_all(outer, inner)
        assert tuple(wanted) not in every(inner.size())


_FARTHEST = 8
"""The place of the last element of the largest of `small`: three times 2 and one time 2."""


@cache
def every(size: int) -> set[tuple[frozenset[Point], ...]]:
    """Layouts of 2 or 4 elements on axis m, as far as their places are those of elements of `small`."""
    shards = [[Iter(size, s)] for s in range(-8, 9)]
    if size == 4:
        shards += [[Iter(2, s), Iter(2, t)] for s in range(-8, 9) for t in range(-8, 9)]
    copies = [(), (1,), (2,), (3,), (4,), (1, 1), (1, 2), (1, 3), (2, 2), (1, 1, 1), (1, 1, 2), (1, 1, 1, 1)]
    steps = [{sum(chosen) for chosen in product(*((0, step) for step in each))} for each in copies]
    found: set[tuple[frozenset[Point], ...]] = set()
    for shard in shards:
        layout = TileLayout(shard)
        places = [layout.apply(x).get("m", 0) for x in range(size)]
        for copied, offset in product(steps, range(9)):
            if min(places) + offset < 0 or max(places) + offset + max(copied) > _FARTHEST:
                continue
            found.add(tuple(frozenset(_point(place + offset + step) for step in copied) for place in places))
    return found


@cache
def _point(place: int) -> Point:
    return as_point({"m": place})


def test_compose_selects_elements() -> None:
    fragment = tile("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)] + R[2 : 4@warpid]")
    # Column 0 and 1 of every second row.
    assert fragment.compose(tile("S[(4, 2) : (16, 1)]")) == tile("S[(4, 2) : (8@laneid, 1)] + R[2 : 4@warpid]")
    # A copy of the index is a copy of the place.
    assert (
        fragment.compose(tile("S[2 : 1] + R[8 : 8] + 2"))
        == tile("S[2 : 1] + R[(2, 8) : (4@warpid, 4@laneid)] + 1@laneid").canonicalize()
    )
    with pytest.raises(LayoutError, match="expected a layout on axis m only, found laneid"):
        fragment.compose(tile("S[4 : 1@laneid]"))
    with pytest.raises(LayoutError, match=r"of the 64 elements of .*, found 64 for element 4"):
        fragment.compose(tile("S[8 : 16]"))
    with pytest.raises(LayoutError, match=r"its first 2 elements are one"):
        fragment.compose(tile("S[3 : 1]"))
    with pytest.raises(LayoutError, match="lie differently for different elements"):
        tile("S[(2, 2) : (5, 1)]").compose(tile("S[2 : 1] + R[2 : 1]"))
    with pytest.raises(LayoutError, match="no replica iters make the copies"):
        # On the diagonal of two axes.
        tile("S[(2, 2) : (1@laneid, 1)]").compose(tile("S[1 : 0] + R[2 : 3]"))


@given(st.data(), layouts(), st.integers(1, 3))
def test_broadcast(data: st.DataObject, layout: TileLayout, extent: int) -> None:
    shape = data.draw(shapes_of(layout))
    position = data.draw(st.integers(0, len(shape)))
    wide = layout.broadcast(extent, position, shape=shape)
    new_shape = (*shape[:position], extent, *shape[position:])
    assert wide.size() == extent * layout.size()
    for x, coord in enumerate(np.ndindex(*new_shape)):
        old = np.ravel_multi_index((*coord[:position], *coord[position + 1 :]), shape)
        assert owner_set(wide, x) == owner_set(layout, int(old))


def test_broadcast_iters() -> None:
    layout = tile("S[(32, 4) : (1@TLane, 1@TCol)]")
    assert layout.broadcast(2, 1) == tile("S[(32, 2, 4) : (1@TLane, 0@TLane, 1@TCol)]")
    assert layout.broadcast(2, 2, "TCol") == tile("S[(32, 4, 2) : (1@TLane, 1@TCol, 0@TCol)]")
    assert layout.broadcast(2, 0, shape=(128,)) == tile("S[(2, 32, 4) : (0@TLane, 1@TLane, 1@TCol)]")
    assert TileLayout().broadcast(3, 0) == tile("S[3 : 0]")
    with pytest.raises(LayoutError, match=r"expected a position in 0..2 of shape \(32, 4\), found 3"):
        layout.broadcast(2, 3)


@given(layouts())
def test_storage(layout: TileLayout) -> None:
    """Every element, with the coordinates on thread axes forgotten, is an element of the storage."""
    own = layout.storage()
    assert set(own.axes) == set(layout.axes) - {"laneid", "warpid"}
    seen = {owner_set(own, y) for y in range(own.size())}
    for x in range(layout.size()):
        memory = {tuple(p for p in point if p[0] not in ("laneid", "warpid")) for point in owner_set(layout, x)}
        assert memory in seen


def test_storage_of_a_fragment() -> None:
    layout = tile("S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[(2, 3) : (4@warpid, 2)] + 5@warpid + 7")
    assert layout.storage() == tile("S[2 : 1] + R[3 : 2] + 7")
    assert tile("S[(2, 4) : (1@pid, 1)] + 1@pid").storage() == tile("S[4 : 1]")


def test_replicate_over() -> None:
    lanes = tile("S[(8, 4) : (4@laneid, 1@laneid)]")
    assert lanes.replicate_over("warpid", 4) == tile("S[(8, 4) : (4@laneid, 1@laneid)] + R[4 : 1@warpid]")
    assert lanes.replicate_over("wid_in_wg").owners(3)[3] == {"laneid": 3, "wid_in_wg": 3}
    with pytest.raises(LayoutError, match="axis 'laneid' has a coordinate for every element already"):
        lanes.replicate_over("laneid", 2)
    with pytest.raises(LayoutError, match="^axis 'pid' has no bound: expected how many copies to make$"):
        lanes.replicate_over("pid")
