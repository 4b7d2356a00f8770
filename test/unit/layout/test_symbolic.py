"""Layouts with an outermost extent that is not known: for every number they are what the TileLayout is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import AXES, layouts, owner_set, same_map, shapes_of
from unit.cases import together

from tirx.layout import Iter, LayoutError, SymbolicTileLayout, TileLayout, parse_layout, shape


def symbolic(text: str) -> SymbolicTileLayout:
    return SymbolicTileLayout.parse(text)


def all_symbolic(max_iters: int = 3) -> st.SearchStrategy[SymbolicTileLayout]:
    return st.builds(
        SymbolicTileLayout,
        st.sampled_from(("n", "rows")),
        layouts(max_iters),
        st.integers(-9, 30),
        st.sampled_from(AXES),
    )


counts = st.integers(1, 4)


@given(all_symbolic())
def test_text_round_trips(layout: SymbolicTileLayout) -> None:
    assert SymbolicTileLayout.is_symbolic(str(layout))
    assert symbolic(str(layout)) == layout
    assert symbolic(f"#tirx.tile_layout<{layout}>") == layout
    assert not SymbolicTileLayout.is_symbolic(str(layout.tile))


@given(all_symbolic(), counts)
def test_map(layout: SymbolicTileLayout, n: int) -> None:
    """By definition: element q * size + y lies q strides from where the tile has y."""
    bound = layout.bind(n)
    size = layout.tile.size()
    for x in range(n * size):
        moved = layout.tile.with_offset(**{layout.axis: x // size * layout.stride})
        assert owner_set(bound, x) == owner_set(moved, x % size)
        assert layout.apply(x) == bound.apply(x)
        assert layout.owners(x) == bound.owners(x)


@given(st.data(), all_symbolic(), counts)
def test_coordinates_and_groups(data: st.DataObject, layout: SymbolicTileLayout, n: int) -> None:
    step, *dims = data.draw(shapes_of(layout.tile))
    shape = (None, *dims)
    bound = layout.bind(n)
    grouped, seps = layout.group(shape)
    assert grouped.equivalent(layout)
    assert (grouped.bind(n), seps) == bound.group((n * step, *dims)) or 1 in (n, step)
    parts = [grouped.bind(n).extents[a:b] for a, b in zip(seps, seps[1:], strict=False)]
    sizes = [1] * len(parts)
    for d, part in enumerate(parts):
        for extent in part:
            sizes[d] *= extent
    assert sizes == [n * step, *dims]
    coord = tuple(data.draw(st.integers(0, extent - 1)) for extent in sizes)
    assert layout.apply(coord, shape) == bound.apply(coord, (n * step, *dims))
    assert layout.owners(coord, shape) == bound.owners(coord, (n * step, *dims))


@given(all_symbolic(2), all_symbolic(2))
def test_equivalent_and_canonical(a: SymbolicTileLayout, b: SymbolicTileLayout) -> None:
    same = a.symbol == b.symbol and all(same_map(a.bind(n), b.bind(n)) for n in (1, 2, 3))
    assert a.equivalent(b) == same
    assert (a.canonicalize() == b.canonicalize()) == same
    assert a.canonicalize().equivalent(a)
    assert all(same_map(a.canonicalize().bind(n), a.bind(n)) for n in (1, 2))


few = st.builds(
    SymbolicTileLayout,
    st.just("n"),
    st.builds(
        TileLayout,
        st.lists(st.builds(Iter, st.integers(2, 3), st.integers(-3, 5), st.sampled_from(("m", "laneid"))), max_size=2),
        st.lists(st.builds(Iter, st.just(2), st.integers(1, 5)), max_size=1),
    ),
    st.integers(-9, 9),
)


@given(few)
def test_injective_for_every_n(layout: SymbolicTileLayout) -> None:
    # Places of a tile are less than 21 apart: if two repetitions meet, then two of the first 22.
    bound = layout.bind(22)
    places = [point for x in range(bound.size()) for point in owner_set(bound, x)]
    assert layout.is_injective() == (len(places) == len(set(places)))


@given(st.data(), layouts(2), all_symbolic(2), counts)
def test_tiles(data: st.DataObject, inner: TileLayout, outer: SymbolicTileLayout, n: int) -> None:
    inner_shape, (step, *dims) = data.draw(shapes_of(inner)), data.draw(shapes_of(outer.tile))
    rank = max(len(inner_shape), 1 + len(dims))
    inner_shape = (*inner_shape, *(1,) * (rank - len(inner_shape)))
    dims += [1] * (rank - 1 - len(dims))
    tiled = outer.of_tiles(inner, (None, *dims), inner_shape)
    assert same_map(tiled.bind(n), inner.tile(outer.bind(n), (n * step, *dims), inner_shape))


@given(st.data(), all_symbolic(), counts)
def test_slice(data: st.DataObject, layout: SymbolicTileLayout, n: int) -> None:
    step, *dims = data.draw(shapes_of(layout.tile))
    bounds = [tuple(sorted(data.draw(st.lists(st.integers(0, e), min_size=2, max_size=2, unique=True)))) for e in dims]
    region = [(low, high) for low, high in bounds]
    try:
        part = layout.slice((None, *dims), (None, *region)).bind(n)
    except LayoutError:
        with pytest.raises(LayoutError, match="no tile layout describes"):
            layout.tile.slice((step, *dims), [(0, step), *region])
        return
    # By definition: the elements of the region, in row-major order.
    whole, shape = layout.bind(n), (n * step, *dims)
    kept = product(range(n * step), *(range(low, high) for low, high in region))
    places = [owner_set(whole, int(np.ravel_multi_index(index, shape))) for index in kept]
    assert [owner_set(part, x) for x in range(part.size())] == places


def test_notation() -> None:
    rows = symbolic("S[(n, 64) : (64, 1)]")
    assert rows == SymbolicTileLayout("n", TileLayout.parse("S[64 : 1]"), 64)
    assert str(rows) == "S[(n, 64) : (64, 1)]"
    assert symbolic("S[n, 64]") == rows
    assert rows.bind(8) == TileLayout.row_major((8, 64))
    fours = symbolic("S[(n*4, 64) : (64, 1)] + R[2 : 4@warpid] - 3@laneid")
    assert str(fours) == "S[(n, 4, 64) : (256, 64, 1)] + R[2 : 4@warpid] - 3@laneid"
    assert fours.bind(2).equivalent(TileLayout.parse("S[(8, 64) : (64, 1)] + R[2 : 4@warpid] - 3@laneid"))
    assert fours.apply((5, 1), (None, 64)) == {"m": 321, "laneid": -3, "warpid": 0}
    assert symbolic("S[k : 2@TCol] + 1") == SymbolicTileLayout("k", TileLayout((), (), {"m": 1}), 2, "TCol")
    assert str(symbolic("TileLayout(S[ ( n * 2 , 8 ) : (8, 1)])")) == "S[(n, 2, 8) : (16, 8, 1)]"
    for other in ("S[(8, 64) : (64, 1)]", "S[(8, n) : (64, 1)]", "S[]", "Swizzle(3, 3, 3)"):
        assert not SymbolicTileLayout.is_symbolic(other)


@together(
    ("text", "message", "position"),
    [
        ("S[(8, 64) : (64, 1)]", "expected a tile layout whose outermost extent is symbolic", 0),
        ("S[(n*0, 64) : (64, 1)]", "an extent must be positive, found 0", 3),
        ("S[(n, k) : (64, 1)]", "expected an extent", 6),
        ("S[(n*4, 64) : (64, 1@lane)]", "unknown axis 'lane'", 21),
        ("S[(n, 64) : (64)]", "expected 2 strides for 2 extents, found 1", 12),
    ],
)
def test_notation_errors(text: str, message: str, position: int) -> None:
    with pytest.raises(LayoutError, match=message) as caught:
        symbolic(text)
    assert caught.value.position == position


def test_copies_count_where_places_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = symbolic("S[(n, 4) : (3, 6)] + R[3 : 1]")
    monkeypatch.setattr(shape, "MOST_ELEMENTS", 12)
    assert not layout.is_injective()
    monkeypatch.setattr(shape, "MOST_ELEMENTS", 11)
    with pytest.raises(LayoutError) as found:
        layout.is_injective()
    assert str(found.value) == f"expected at most 11 elements or places to compare, found 12 in {layout}"


def test_what_needs_the_number_is_refused() -> None:
    layout = symbolic("S[(n, 64) : (64, 1)]")
    for name in ("size", "span", "table", "extents", "inverse", "shard", "permute", "footprint"):
        with pytest.raises(LayoutError, match=rf"'{name}' needs to know n in S\[.*there are .*apply, .*bind\(n\) is a"):
            getattr(layout, name)
    with pytest.raises(AttributeError, match="^'SymbolicTileLayout' object has no attribute 'shape'$"):
        layout.shape  # pyright: ignore  # noqa: B018
    with pytest.raises(LayoutError, match="expected n to be positive, found 0"):
        layout.bind(0)
    with pytest.raises(LayoutError, match="expected an identifier for a symbolic extent, found '4'"):
        SymbolicTileLayout("4", TileLayout(), 1)
    with pytest.raises(LayoutError, match="^unknown axis 'lane'"):
        SymbolicTileLayout("n", TileLayout(), 1, "lane")
    assert type(SymbolicTileLayout("n", TileLayout(), np.int64(7)).stride) is int  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match=r"expected a shape \(None, ...\) .* found \(8, 64\)"):
        layout.apply((0, 0), (8, 64))
    with pytest.raises(LayoutError, match=r"expected a shape \(None, ...\) .* found \(8, None\)"):
        layout.group((8, None))
    with pytest.raises(LayoutError, match=r"whose product divides the 64 elements of a repetition, found \(48,\)"):
        layout.group((None, 48))
    with pytest.raises(LayoutError, match="expected a flat index from 0 on, found -1"):
        layout.apply(-1)
    with pytest.raises(LayoutError, match=r"coordinate \(3, 64\) is outside shape"):
        layout.apply((3, 64))
    with pytest.raises(LayoutError, match="expected a coordinate of rank 2, found"):
        layout.apply((3,))
    for region in ((), ((0, 2), (0, 64)), ((0, 2), None), (None, None)):
        with pytest.raises(LayoutError, match=r"with all of the symbolic dimension.*a slice of bind\(n\)"):
            layout.slice((None, 64), region)
    for dims in ((), (3, 64), (64, None), (None, None)):
        with pytest.raises(LayoutError, match=r"expected a shape \(None, ...\) with the symbolic dimension first"):
            layout.slice(dims, (None, (0, 64)))


@together("text", ["S[", "S[(", "S[(n", "S[(n *", "T.TileLayout(", "#tirx.tile_layout<S["])
def test_much_white_space_takes_no_time(text: str) -> None:
    """A hundred thousand spaces are read once: in every split of them it would take minutes."""
    with pytest.raises(LayoutError, match=r"expected (an extent|a tile layout)"):
        parse_layout(" " * 100_000 + text + " " * 100_000)
