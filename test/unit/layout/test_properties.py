"""Random layouts against the definition, element by element."""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from layout_definition import (
    AXES,
    Point,
    as_point,
    factorisations,
    fits,
    layouts,
    owner_set,
    same_map,
    shapes_of,
)

from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout, parse_layout

linear = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.sampled_from([2, 3, 4, 8]), st.integers(0, 70)), max_size=3),
    st.lists(st.builds(Iter, st.integers(1, 3), st.integers(0, 9)), max_size=2),
    st.dictionaries(st.just("m"), st.integers(0, 99), max_size=1),
)
swizzles = st.integers(0, 3).flatmap(
    lambda bits: st.builds(SwizzleLayout, st.integers(0, 4), st.just(bits), st.integers(bits, 4))
)


@given(layouts())
def test_text_round_trips(layout: TileLayout) -> None:
    assert TileLayout.parse(str(layout)) == layout
    assert parse_layout(f"#tirx.tile_layout<{layout}>") == layout


@given(linear, swizzles)
def test_compose_text_round_trips(tile: TileLayout, swizzle: SwizzleLayout) -> None:
    layout = ComposeLayout(swizzle, tile)
    numbers = f"{swizzle.per_element}, {swizzle.swizzle_len}, {swizzle.atom_len}"
    assert ComposeLayout.parse(str(layout)) == layout
    assert parse_layout(f"ComposeLayout({swizzle}, {tile})") == layout
    assert ComposeLayout.parse(f"#tirx.swizzle_layout<{numbers}>, #tirx.tile_layout<{tile}>") == layout
    assert SwizzleLayout.parse(numbers) == SwizzleLayout.parse(str(swizzle)) == swizzle


@given(layouts())
def test_map(layout: TileLayout) -> None:
    """owners, apply, tables and footprint all say what the definition says."""
    table = layout.flat_table()
    reached: dict[str, set[int]] = {axis: set() for axis in layout.axes}
    for x in range(layout.size()):
        owners = layout.owners(x)
        assert len(owners) == len(owner_set(layout, x))
        assert {as_point(owner) for owner in owners} == owner_set(layout, x)
        assert layout.apply(x) == {axis: int(values[x]) for axis, values in table.items()}
        for owner in owners:
            for axis, at in owner.items():
                reached[axis].add(at)
    assert layout.footprint() == {axis: (min(seen), max(seen)) for axis, seen in reached.items()}
    for axis, seen in reached.items():
        assert layout.span(axis) == max(seen) - min(seen) + 1


@given(st.data(), layouts())
def test_coordinates_are_row_major(data: st.DataObject, layout: TileLayout) -> None:
    shape = data.draw(shapes_of(layout))
    for x, coord in enumerate(np.ndindex(*shape)):
        assert layout.apply(coord, shape) == layout.apply(x)


@given(layouts())
@example(TileLayout([], [Iter(2, 2, "laneid"), Iter(2, 1, "laneid")]))
@example(TileLayout([Iter(2, 0, "m"), Iter(2, 0, "laneid")]))
def test_canonicalize(layout: TileLayout) -> None:
    canonical = layout.canonicalize()
    assert same_map(canonical, layout)
    assert canonical.canonicalize() == canonical
    assert canonical.equivalent(layout)
    assert all(it.extent > 1 for it in (*canonical.shard, *canonical.replica))


@given(layouts(3), layouts(3))
def test_equivalent_is_equality_of_maps(a: TileLayout, b: TileLayout) -> None:
    assert a.equivalent(b) == same_map(a, b)


small = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.sampled_from([2, 4]), st.integers(0, 2)), max_size=3),
    st.lists(st.builds(Iter, st.integers(1, 3), st.integers(-2, 3)), max_size=3),
    st.dictionaries(st.just("m"), st.integers(0, 2), max_size=1),
)


@given(small, small)
def test_equal_maps_have_equal_normal_forms(a: TileLayout, b: TileLayout) -> None:
    assert (a.canonicalize() == b.canonicalize()) == same_map(a, b)


@given(layouts())
def test_injective(layout: TileLayout) -> None:
    places = [point for x in range(layout.size()) for point in owner_set(layout, x)]
    assert layout.is_injective() == (len(places) == len(set(places)))


@given(layouts(), st.integers(0, 10**6), st.sets(st.sampled_from(AXES)))
def test_inverse(layout: TileLayout, seed: int, asked: set[str]) -> None:
    owners = layout.owners(seed % layout.size())
    owner = owners[seed % len(owners)]
    query = {axis: owner.get(axis, 0) for axis in asked}
    expected = [
        x
        for x in range(layout.size())
        if any(all(dict(point).get(a, 0) == at for a, at in query.items()) for point in owner_set(layout, x))
    ]
    assert layout.inverse(query) == expected


@given(st.data(), layouts())
def test_group(data: st.DataObject, layout: TileLayout) -> None:
    shape = data.draw(shapes_of(layout))
    grouped, seps = layout.group(shape)
    assert same_map(grouped, layout)
    groups = [grouped.shard[a:b] for a, b in zip(seps, seps[1:], strict=False)]
    assert tuple(prod(it.extent for it in group) for group in groups) == shape
    assert all(groups)
    assert seps[0] == 0 and seps[-1] == len(grouped.shard)


@given(st.data(), layouts())
def test_group_fails_only_when_boundaries_do_not_nest(data: st.DataObject, layout: TileLayout) -> None:
    """Iters that are one in the normal form are no boundary where they stand in the way."""
    shape = data.draw(st.sampled_from(factorisations(layout.size())))
    try:
        layout.group(shape)
    except LayoutError:
        assert not nest(layout.canonicalize().extents, shape)
    else:
        assert nest(layout.canonicalize().extents, shape)


def nest(*shapes: Sequence[int]) -> bool:
    marks = sorted(set[int]().union(*map(boundaries, shapes)))
    return all(b % a == 0 for a, b in zip(marks, marks[1:], strict=False))


def boundaries(extents: Sequence[int]) -> set[int]:
    return {prod(extents[k:]) for k in range(len(extents) + 1)}


@given(st.data(), layouts(5))
def test_group_many(data: st.DataObject, layout: TileLayout) -> None:
    shapes = [with_units(data, data.draw(st.sampled_from(factorisations(layout.size())))) for _ in range(2)]
    extents = layout.canonicalize().extents
    try:
        grouped, separators = layout.group_many(shapes)
    except LayoutError:
        assert not nest(extents, *shapes)
        return
    assert nest(extents, *shapes)
    assert same_map(grouped, layout)
    found = boundaries(grouped.extents)
    assert found >= boundaries(extents) | boundaries(shapes[0]) | boundaries(shapes[1])
    if nest(layout.extents, *shapes):
        assert found == boundaries(layout.extents) | boundaries(shapes[0]) | boundaries(shapes[1])
    for shape, seps in zip(shapes, separators, strict=True):
        groups = [grouped.extents[a:b] for a, b in zip(seps, seps[1:], strict=False)]
        assert tuple(map(prod, groups)) == shape
        assert all(groups)
        assert seps[0] == 0 and (seps[-1] == len(grouped.shard) or not shape)
    if 1 not in layout.extents:  # `group` drops unit iters that no dimension asks for
        grouped, seps = layout.group(shapes[0])
        assert layout.group_many(shapes[:1]) == (grouped, (seps,))


def with_units(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with unit dimensions somewhere."""
    for at in data.draw(st.lists(st.integers(0, len(shape)), max_size=2)):
        shape = (*shape[:at], 1, *shape[at:])
    return shape


@given(st.data(), layouts())
def test_permute(data: st.DataObject, layout: TileLayout) -> None:
    shape = data.draw(shapes_of(layout))
    perm = data.draw(st.permutations(range(len(shape))))
    permuted = layout.permute(perm, shape)
    new_shape = tuple(shape[d] for d in perm)
    for axis, values in layout.table(shape).items():
        assert (permuted.axis_table(axis, new_shape) == values.transpose(perm)).all()


def combined(inner: frozenset[Point], outer: frozenset[Point], scale: dict[str, int]) -> frozenset[Point]:
    points: set[Point] = set()
    for a, b in product(inner, outer):
        point = dict(a)
        for axis, at in b:
            point[axis] = point.get(axis, 0) + at * scale.get(axis, 1)
        points.add(as_point(point))
    return frozenset(points)


@given(st.data(), layouts(2), layouts(2), st.booleans())
def test_tile_and_direct_sum(data: st.DataObject, inner: TileLayout, outer: TileLayout, scaled: bool) -> None:
    shapes = [data.draw(shapes_of(layout)) for layout in (inner, outer)]
    rank = max(map(len, shapes))
    inner_shape, outer_shape = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    scale = {axis: inner.span(axis) for axis in AXES} if scaled else {}
    result = (inner.tile if scaled else inner.direct_sum)(outer, outer_shape, inner_shape)
    whole = tuple(o * i for o, i in zip(outer_shape, inner_shape, strict=True))
    for x, coord in enumerate(np.ndindex(*whole)):
        o = np.ravel_multi_index([c // i for c, i in zip(coord, inner_shape, strict=True)], outer_shape)
        n = np.ravel_multi_index([c % i for c, i in zip(coord, inner_shape, strict=True)], inner_shape)
        expected = combined(owner_set(inner, int(n)), owner_set(outer, int(o)), scale)
        assert owner_set(result, x) == expected


@given(st.data(), layouts())
def test_slice(data: st.DataObject, layout: TileLayout) -> None:
    shape = data.draw(shapes_of(layout))
    region = [sorted(data.draw(st.lists(st.integers(0, e), min_size=2, max_size=2, unique=True))) for e in shape]
    box = [(begin, end) for begin, end in region]
    sizes = tuple(end - begin for begin, end in box)
    try:
        part = layout.slice(shape, box)
    except LayoutError:
        assert not expressible(layout, shape, box)
        return
    assert part.size() == prod(sizes)
    for y, coord in enumerate(np.ndindex(*sizes)):
        x = np.ravel_multi_index([c + b for c, (b, _) in zip(coord, box, strict=True)], shape)
        assert owner_set(part, y) == owner_set(layout, int(x))


def expressible(layout: TileLayout, shape: tuple[int, ...], box: list[tuple[int, int]]) -> bool:
    """Returns True if some list of iters gives every element of the box: tries all factorisations of dimensions."""
    table = layout.table(shape)
    for d, (begin, end) in enumerate(box):
        index = tuple(slice(begin, end) if e == d else b for e, (b, _) in enumerate(box))
        line = np.array([table[axis][index] for axis in layout.axes], dtype=np.int64).reshape(-1, end - begin)
        line = line - line[:, :1]
        if not any(fits(line, factors) for factors in factorisations(end - begin)):
            return False
    return True


@given(swizzles, st.integers(0, 2**16))
def test_swizzle(swizzle: SwizzleLayout, address: int) -> None:
    m, b, s = swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len
    x = address >> m
    expected = ((x ^ ((x & (((1 << b) - 1) << s)) >> s)) << m) + address % (1 << m)
    assert swizzle.apply(address) == expected
    assert swizzle.inverse(expected) == address
    assert swizzle.apply(address + swizzle.period) == expected + swizzle.period
    assert swizzle.apply(np.array([address], dtype=np.int64)).tolist() == [expected]


@given(linear, swizzles)
def test_compose(tile: TileLayout, swizzle: SwizzleLayout) -> None:
    layout = ComposeLayout(swizzle, tile)
    table = layout.flat_table()["m"]
    for x in range(layout.size()):
        base = tile.apply(x).get("m", 0)
        assert layout.apply(x) == {"m": swizzle.apply(base)} == {"m": int(table[x])}
        expected = sorted({swizzle.apply(owner.get("m", 0)) for owner in tile.owners(x)})
        assert layout.owners(x) == [{"m": at} for at in expected]
        for at in expected:
            assert x in layout.inverse({"m": at})
    assert layout.equivalent(layout.canonicalize())


@given(linear, swizzles, linear, swizzles)
def test_compose_equivalent(a: TileLayout, s: SwizzleLayout, b: TileLayout, t: SwizzleLayout) -> None:
    x, y = ComposeLayout(s, a), ComposeLayout(t, b)
    same = x.size() == y.size() and all(x.owners(i) == y.owners(i) for i in range(x.size()))
    assert x.equivalent(y) == same


@given(st.data(), linear)
def test_cute_round_trips(data: st.DataObject, tile: TileLayout) -> None:
    shape = data.draw(shapes_of(tile))
    plain = TileLayout(tile.shard)
    assert TileLayout.from_cute(plain.to_cute(shape)).equivalent(plain)


def test_slice_of_a_layout_that_does_not_split_by_dimension() -> None:
    layout = TileLayout.parse("S[(6, 2) : (2, 1)]")
    assert layout.slice((4, 3), [(1, 3), (0, 3)]) == TileLayout.parse("S[6 : 1] + 3")
    with pytest.raises(LayoutError, match="is no tile layout"):
        TileLayout.parse("S[(6, 2) : (5, 1)]").slice((4, 3), [(1, 4), (0, 2)])
