"""Swizzled tiles: views of other widths, footprints, parts whose address is a plain add."""

import re
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import factorisations, fits

from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout

swizzles = st.integers(0, 3).flatmap(
    lambda bits: st.builds(SwizzleLayout, st.integers(0, 3), st.just(bits), st.integers(bits, 4), st.booleans())
)
tiles = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.sampled_from([2, 3, 4, 8]), st.integers(-20, 70)), max_size=3),
    st.lists(st.builds(Iter, st.integers(1, 3), st.integers(-9, 40)), max_size=2),
    st.dictionaries(st.just("m"), st.integers(-40, 99), max_size=1),
)
layouts = st.builds(ComposeLayout, swizzles, tiles)

ROWS = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64)))


@given(layouts)
def test_footprint(layout: ComposeLayout) -> None:
    """The ends of the footprint are the smallest and the largest owner, for holes and negative strides too."""
    addresses = [owner["m"] for x in range(layout.size()) for owner in layout.owners(x)]
    assert layout.footprint() == {"m": (min(addresses), max(addresses))}
    assert layout.span() == max(addresses) - min(addresses) + 1
    assert sorted(set(layout.tile_addresses().ravel().tolist())) == sorted(
        {owner.get("m", 0) for x in range(layout.size()) for owner in layout.tile.owners(x)}
    )


@given(layouts, layouts, st.integers(-60, 200), st.integers(1, 40))
def test_places(layout: ComposeLayout, other: ComposeLayout, low: int, extent: int) -> None:
    mine, theirs = ({owner["m"] for x in range(each.size()) for owner in each.owners(x)} for each in (layout, other))
    assert layout.is_surjective({"m": (low, low + extent)}) == (set(range(low, low + extent)) <= mine)
    first = min(mine)
    run = next(n for n in range(1, len(mine) + 1) if first + n not in mine)
    assert layout.is_surjective({"m": (first, first + run)})
    assert not layout.is_surjective({"m": (first, first + run + 1)})
    assert layout.overlaps(other) == bool(mine & theirs)
    plain = {owner.get("m", 0) for x in range(other.size()) for owner in other.tile.owners(x)}
    assert layout.overlaps(other.tile) == bool(mine & plain)


def test_places_of_a_tile() -> None:
    assert ROWS.is_surjective({"m": 512})
    assert ROWS.is_surjective({"m": (8, 64), "laneid": 1})
    assert not ROWS.is_surjective({"m": 513})
    assert not ROWS.is_surjective({"m": 512, "laneid": 2})
    # Columns 0 to 7 and 8 to 15 of a swizzled tile share no place, nor do two tiles one after the other.
    left, right = (ROWS.slice((8, 64), [(0, 8), (c, c + 8)]) for c in (0, 8))
    assert not left.overlaps(right)
    # Without its swizzle the right part is where the left part has its row 1.
    assert left.overlaps(right.tile)
    assert not ROWS.overlaps(ComposeLayout(ROWS.swizzle, ROWS.tile.with_offset(m=512)))
    with pytest.raises(LayoutError, match=r"expected begin < end on axis 'm' of the box, found \(4, 4\)"):
        ROWS.is_surjective({"m": (4, 4)})
    with pytest.raises(LayoutError, match="expected a layout on axis m only, found laneid"):
        ROWS.overlaps(TileLayout.parse("S[8 : 1@laneid]"))
    large = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((1 << 13, 1 << 13)))
    with pytest.raises(LayoutError, match="expected at most 16777216 .* to compare, found 67108864"):
        large.is_surjective({"m": 8})


def test_footprint_of_a_large_tile_needs_no_table() -> None:
    tile = TileLayout.parse("S[(4096, 4096, 4096) : (-16777216, 4096, 1)] + 68702699520")
    layout = ComposeLayout(SwizzleLayout(3, 3, 3), tile)
    assert layout.footprint() == {"m": (0, 2**36 - 1)}


@given(layouts, st.sampled_from([1, 2, 4, 8]))
def test_unpack_keeps_every_bit_in_place(layout: ComposeLayout, factor: int) -> None:
    narrow = layout.unpack(factor)
    wide, parts = layout.owner_table()["m"], narrow.owner_table()["m"]
    assert narrow.size() == factor * layout.size()
    for x in range(layout.size()):
        for part in range(factor):
            assert sorted(wide[x] * factor + part) == sorted(parts[x * factor + part])
    assert narrow.pack(factor).equivalent(layout)


@given(layouts, st.sampled_from([2, 4, 8]))
def test_pack_is_exact_or_refuses(layout: ComposeLayout, factor: int) -> None:
    """A packed view exists when the parts of every wider element lie in order and aligned, and no unit is cut."""
    try:
        wide = layout.pack(factor)
    except LayoutError:
        if layout.size() % factor == 0 and 1 << layout.swizzle.per_element >= factor and not layout.tile.replica:
            parts = layout.table((layout.size() // factor, factor))["m"]
            assert (parts[:, 0] % factor).any() or (parts != parts[:, :1] + np.arange(factor)).any()
        return
    places = {x: {owner["m"] for owner in wide.owners(x)} for x in range(wide.size())}
    for x in range(layout.size()):
        expected = {place * factor + x % factor for place in places[x // factor]}
        assert {owner["m"] for owner in layout.owners(x)} == expected


def test_views_of_an_operand_tile() -> None:
    """The 128B mode stays the 128B mode, whatever the width of the view."""
    for bits, factor in ((32, 2), (64, 4), (128, 8)):
        assert ROWS.pack(factor).swizzle == SwizzleLayout.for_bits(bits, "128B")
    assert ROWS.unpack(2).swizzle == SwizzleLayout.for_bits(8, "128B")
    assert ROWS.pack(8).tile.equivalent(TileLayout.row_major((8, 8)))
    plain = ComposeLayout(SwizzleLayout.for_bits(16, "none"), TileLayout.row_major((8, 96)))
    assert plain.pack(4).swizzle == SwizzleLayout.for_bits(64, "none")
    assert plain.pack(16).swizzle == SwizzleLayout(0, 0, 3)
    assert plain.unpack(3).pack(3).equivalent(plain)


def test_views_that_do_not_exist() -> None:
    with pytest.raises(LayoutError, match=r"an element of 16 parts would cut the units of 8 .* a factor of at most 8"):
        ROWS.pack(16)
    with pytest.raises(LayoutError, match=r"change their width by a power of two, found 3"):
        ROWS.unpack(3)
    with pytest.raises(LayoutError, match="expected 2 contiguous elements on axis m innermost"):
        ROWS.permute((1, 0), (8, 64)).pack(2)
    with pytest.raises(LayoutError, match="must be multiples of 4, found 2"):
        ROWS.slice((8, 64), [(0, 8), (2, 6)]).pack(4)


@given(layouts, st.integers(-300, 300))
def test_commutes_with(layout: ComposeLayout, offset: int) -> None:
    moved = ComposeLayout(layout.swizzle, layout.tile.with_offset(m=offset))
    expected = all(
        moved.swizzle.apply(at + offset) == layout.swizzle.apply(at) + offset
        for x in range(layout.size())
        for at in (owner.get("m", 0) for owner in layout.tile.owners(x))
    )
    assert layout.commutes_with(offset) == expected
    if expected:
        assert (moved.table()["m"] == layout.table()["m"] + offset).all()


def test_steps_along_k() -> None:
    """Only a step over whole groups of 8 rows is a plain add to a swizzled address.

    The hardware swizzles the sum, so *before* the swizzle every step is a plain add.
    """
    step = ROWS.slice((8, 64), [(0, 8), (0, 16)])
    assert not step.commutes_with(16)
    assert step.commutes_with(8 * 64)
    assert ROWS.slice((8, 64), [(0, 1), (0, 16)]).commutes_with(16)
    assert ComposeLayout(SwizzleLayout(3, 0, 3), step.tile).commutes_with(16)


@given(layouts, swizzles)
def test_equivalence_is_exact(layout: ComposeLayout, swizzle: SwizzleLayout) -> None:
    other = ComposeLayout(swizzle, layout.tile)
    same = all(layout.owners(x) == other.owners(x) for x in range(layout.size()))
    assert layout.equivalent(other) == other.equivalent(layout) == same


def test_a_layout_on_threads_is_no_composition() -> None:
    on_lanes = TileLayout.parse("S[(8, 64) : (1@laneid, 1)]")
    assert not ROWS.equivalent(on_lanes) and not on_lanes.equivalent(ROWS)


def test_cute_writes_the_opposite_direction_as_a_negative_shift() -> None:
    layout = ComposeLayout(SwizzleLayout(3, 3, 3, swizzle_inner=False), ROWS.tile)
    assert layout.to_cute((8, 64), 16) == "Swizzle<3,4,-3> o (8,64):(64,1)"
    assert ComposeLayout.from_cute("Swizzle<3,4,-3> o (8,64):(64,1)", 16) == layout


@given(layouts, st.data())
def test_reshaping_operations_leave_the_swizzle_alone(layout: ComposeLayout, data: st.DataObject) -> None:
    """Each moves elements about before the swizzle, so owners follow the element."""
    size = layout.size()
    extents = tuple(it.extent for it in layout.tile.shard)
    grouped, seps = layout.group_many([extents, (size,)])
    assert grouped.equivalent(layout)
    assert len(seps) == 2
    position = data.draw(st.integers(0, len(extents)))
    wide = layout.broadcast(3, position)
    assert wide.axes == ("m",)
    dims = (*extents[:position], 3, *extents[position:])
    for coord in np.ndindex(*dims):
        rest = (*coord[:position], *coord[position + 1 :])
        assert wide.owners(coord, dims) == layout.owners(rest, extents)
    step = prod(extents[data.draw(st.integers(0, len(extents))) :])
    every = layout.compose(TileLayout([Iter(size // step, step)]))
    assert [every.owners(x) for x in range(size // step)] == [layout.owners(x * step) for x in range(size // step)]
    assert layout.storage() == layout


def test_is_tile_inner() -> None:
    """The usual operand of 8x64 atoms gives back how the atoms are laid out."""
    outer = TileLayout.parse("S[(16, 2) : (1, 16)]")
    operand = ROWS.tile_by(outer, (16, 2), (8, 64))
    assert ROWS.is_tile_inner(operand, (128, 128), (8, 64)) == outer
    for other in (SwizzleLayout(3, 2, 3), SwizzleLayout(3, 3, 3, swizzle_inner=False), SwizzleLayout(0, 0, 0)):
        assert ComposeLayout(other, ROWS.tile).is_tile_inner(operand, (128, 128), (8, 64)) is None
    # Half an atom cannot be repeated.
    half = ROWS.slice((8, 64), [(0, 4), (0, 64)])
    assert half.is_tile_inner(operand, (128, 128), (4, 64)) is None
    with pytest.raises(LayoutError, match="period 512 elements, the tile spans 256"):
        half.tile_by(outer, (16, 2), (4, 64))
    assert (
        ROWS.is_tile_inner(ComposeLayout(ROWS.swizzle, TileLayout.row_major((128, 128))), (128, 128), (8, 64)) is None
    )
    plain = ComposeLayout(SwizzleLayout(3, 0, 3), TileLayout.row_major((4, 24)))
    repeated = plain.tile_by(outer, (16, 2), (4, 24))
    assert plain.is_tile_inner(repeated, (64, 48), (4, 24)) == outer


# Boxes whose begin is not known.


@given(swizzles, st.sampled_from([(8, 64), (16, 32), (4, 12), (32, 16)]), st.data())
def test_slice_dynamic(swizzle: SwizzleLayout, shape: tuple[int, int], data: st.DataObject) -> None:
    """Right at every begin; refused only when some box moves differently, or its displacement is no layout."""
    layout = ComposeLayout(swizzle, TileLayout.row_major(shape))
    sizes = tuple(data.draw(st.sampled_from([n for n in (1, 2, 4, 8, 16) if n <= extent])) for extent in shape)
    multiples = tuple(data.draw(st.sampled_from([None, 1, 2, 4, 8, 16])) for _ in shape)
    counts = tuple((e - n) // m + 1 if m else 1 for e, n, m in zip(shape, sizes, multiples, strict=True))
    table = layout.table(shape)["m"]
    first = table[: sizes[0], : sizes[1]]
    moved = np.zeros(counts, dtype=np.int64)
    together = np.ones(counts, dtype=np.bool_)
    for k in np.ndindex(*counts):
        i, j = (x * (m or 0) for x, m in zip(k, multiples, strict=True))
        apart = table[i : i + sizes[0], j : j + sizes[1]] - first
        moved[k] = apart[0, 0]
        together[k] = (apart == apart[0, 0]).all()
    try:
        found = layout.slice_dynamic(shape, sizes, multiples)
    except LayoutError as error:
        if together.all():
            assert "no tile layout describes where the boxes begin" in str(error)
            line = moved.reshape(1, -1)
            assert not any(fits(line, factors) for factors in factorisations(line.size))
        elif hint := re.search(r"begins at multiples of \((.*)\) work", str(error)):
            coarser = tuple(int(step) for step in hint.group(1).split(", "))
            steps = tuple(slice(None, None, c // (m or 1)) if c else 0 for c, m in zip(coarser, multiples, strict=True))
            assert together[steps].all()
        return
    assert together.all()
    assert found.begin_shape == counts
    assert (found.layout.table(sizes)["m"] == first).all()
    assert (found.begin.axis_table("m", counts) == moved).all()
    assert all(found.displacement(k) == moved[k] for k in np.ndindex(*counts))


def test_begins_in_an_operand() -> None:
    """Whole groups of 8 rows move by a plain add; one row alone moves along a diagonal; 16 columns are torn."""
    operand = ROWS.tile_by(TileLayout.parse("S[(16, 2) : (1, 16)]"), (16, 2), (8, 64))
    found = operand.slice_dynamic((128, 128), (64, 64), (8, 64))
    assert found.begin == TileLayout.parse("S[(9, 2) : (512, 8192)]")
    assert found.layout.equivalent(operand.slice((128, 128), [(0, 64), (0, 64)]))
    assert ROWS.slice_dynamic((8, 64), (1, 8), (1, None)).begin == TileLayout.parse("S[8 : 72]")
    with pytest.raises(LayoutError) as caught:
        operand.slice_dynamic((128, 128), (64, 16), (8, 16))
    assert str(caught.value) == (
        "Swizzle(3, 3, 3) tears the box that begins at (0, 16): its elements do not all move by one displacement; "
        "begins at multiples of (8, 64) work"
    )
    with pytest.raises(LayoutError, match=r"begins at \(0, 4\): .* begins at multiples of \(0, 0\) work"):
        ROWS.slice_dynamic((8, 64), (8, 60), (None, 4))
    with pytest.raises(LayoutError, match="only the first 2 begins have one"):
        ROWS.slice((8, 64), [(3, 4), (0, 64)]).slice_dynamic((64,), (8,), (24,))
