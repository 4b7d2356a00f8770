"""Where layouts put things: surjectivity, overlap, and thread axes that say the same."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import AXES, layouts, owner_set
from unit.cases import together

from tirx.layout import Iter, LayoutError, TileLayout, addresses, axis, known_axes


def tile(text: str) -> TileLayout:
    return TileLayout.parse(text)


dense = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.integers(1, 4), st.integers(-3, 5), st.sampled_from(("m", "laneid"))), max_size=3),
    st.lists(st.builds(Iter, st.integers(1, 3), st.integers(-2, 4), st.sampled_from(("m", "laneid"))), max_size=2),
    st.dictionaries(st.sampled_from(("m", "laneid")), st.integers(-3, 3)),
)
bounds = st.tuples(st.integers(-4, 4), st.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def everywhere(layout: TileLayout) -> set[tuple[tuple[str, int], ...]]:
    return {point for x in range(layout.size()) for point in owner_set(layout, x)}


@given(dense, st.dictionaries(st.sampled_from(AXES[:3]), bounds))
def test_surjective(layout: TileLayout, box: dict[str, tuple[int, int]]) -> None:
    reached = {tuple(dict(point).get(name, 0) for name in box) for point in everywhere(layout)}
    wanted = product(*(range(low, high) for low, high in box.values()))
    assert layout.is_surjective(box) == all(place in reached for place in wanted)


@given(dense)
def test_what_a_layout_reaches_is_where_it_is_surjective(layout: TileLayout) -> None:
    """Every single place, so that both answers occur."""
    for name, (low, high) in layout.footprint().items():
        reached = {dict(point).get(name, 0) for point in everywhere(layout)}
        for at in range(low - 1, high + 2):
            assert layout.is_surjective({name: (at, at + 1)}) == (at in reached)


@given(st.one_of(dense, layouts()), st.one_of(dense, layouts()))
def test_overlap(a: TileLayout, b: TileLayout) -> None:
    meets = not everywhere(a).isdisjoint(everywhere(b))
    assert a.overlaps(b) == b.overlaps(a) == meets


def test_surjective_onto_a_fragment() -> None:
    accumulator = tile("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]")
    assert accumulator.is_surjective({"laneid": 32, "m": 2})
    assert not accumulator.is_surjective({"laneid": 32, "m": 3})
    assert not accumulator.is_surjective({"laneid": 32, "warpid": 4})
    assert accumulator.replicate_over("warpid", 4).is_surjective({"laneid": 32, "warpid": 4})
    assert tile("S[128 : 1@tid]").is_surjective({"tx": (64, 128)})
    # Far too many elements to list, but they are runs.
    assert tile("S[(65536, 65536) : (65536, 1)]").is_surjective({"m": 2**32})
    with pytest.raises(LayoutError, match=r"expected begin < end on axis 'm' of the box, found \(3, 3\)"):
        accumulator.is_surjective({"m": (3, 3)})
    with pytest.raises(LayoutError, match="another name of it have different bounds"):
        accumulator.is_surjective({"tid": 3, "tx": 4})
    # Fewer elements than places, and a gap behind the first run.
    assert not tile("S[(8192, 8192) : (65536, 3)]").is_surjective({"m": 2**32})
    with pytest.raises(LayoutError, match="expected at most 2097152 places to compare"):
        tile("S[(8192, 8192) : (4097, 3)]").is_surjective({"m": 2**24})


def test_many_independent_strides() -> None:
    """2**30 sums are not listed: what is asked for needs few of them, or the answer is an error at once."""
    powers = TileLayout([Iter(2, 3**i) for i in range(30)])
    assert not powers.is_surjective({"m": powers.size()})
    assert powers.is_surjective({"m": (3**20, 3**20 + 2)})
    assert powers.overlaps(TileLayout([Iter(2, 1)], [Iter(10**18, 0)]))
    assert not powers.overlaps(TileLayout([Iter(1, 1)], (), {"m": 2}))
    with pytest.raises(LayoutError, match="expected at most 2097152 places to compare"):
        powers.overlaps(powers.with_offset(m=1))


def test_overlapping_buffers() -> None:
    accumulator = tile("S[(128, 256) : (1@TLane, 1@TCol)]")
    assert not accumulator.overlaps(accumulator.with_offset(TCol=256))
    assert accumulator.overlaps(accumulator.with_offset(TCol=255))
    assert not tile("S[(64, 256) : (1@TLane, 1@TCol)]").overlaps(accumulator.with_offset(TLane=64))
    # Interleaved columns.
    even = tile("S[(8, 16) : (32, 2)]")
    assert not even.overlaps(even.with_offset(m=1))
    # An axis that one of them does not mention is 0 there.
    assert tile("S[8 : 1]").overlaps(tile("S[8 : 1] + R[2 : 1@warpid]"))
    assert not tile("S[8 : 1]").overlaps(tile("S[8 : 1] + 1@warpid"))


def test_axes_that_depend_on_one_another() -> None:
    expected = {
        ("laneid", "tx"),
        ("laneid", "tid_in_wg"),
        ("warpid", "tx"),
        ("warpid", "wgid"),
        ("warpid", "wid_in_wg"),
        ("wgid", "tx"),
        ("tid_in_wg", "tx"),
        ("tid_in_wg", "wid_in_wg"),
        ("warpid", "tid_in_wg"),
        ("wid_in_wg", "tx"),
    }
    names = ("tx", "warpid", "wgid", "laneid", "tid_in_wg", "wid_in_wg")
    found = {(a, b) for a in names for b in names if a != b and axis(a).depends_on(axis(b))}
    assert found == expected | {(b, a) for a, b in expected}
    assert not any(axis("tx").depends_on(row) for row in known_axes() if row.weight is None)
    with pytest.raises(
        LayoutError,
        match=(
            r"^the coordinates of a thread on axes 'tx' and 'laneid' depend on one another, so S\[128 : "
            r"1@tx\] and S\[32 : 1@laneid\] cannot be compared axis by axis; expected the same thread "
            r"axes in both \(see fuse_threads\)$"
        ),
    ):
        tile("S[128 : 1@tx]").overlaps(tile("S[32 : 1@laneid]"))
    lanes = tile("S[(4, 32) : (1@warpid, 1@laneid)]")
    assert tile("S[128 : 1@tx]").overlaps(lanes.fuse_threads())


def test_inverse_knows_the_names_of_an_axis() -> None:
    layout = tile("S[(2, 4) : (4@tid, 1@tx)]")
    assert layout.inverse({"tx": 5}) == layout.inverse({"tid": 5}) == [5]
    assert layout.inverse({"tx": 5, "tid": 5}) == [5]
    with pytest.raises(LayoutError, match="another name of it are asked for at different places"):
        layout.inverse({"tx": 5, "tid": 6})


def test_coordinates_beyond_the_integers_of_tables() -> None:
    with pytest.raises(LayoutError, match="expected coordinates that fit 62 bits"):
        TileLayout([Iter(4, 2**61)]).table()
    assert TileLayout([Iter(4, 2**61)]).apply(3) == {"m": 3 * 2**61}


def _window(steps: list[tuple[int, int]], base: int, low: int, high: int) -> tuple[list[int], list[int]]:
    """The sums of the steps in [low, high], by definition, and how many are listed on the way, largest stride first."""
    left, sums, listed = sum((extent - 1) * stride for extent, stride in steps), {base}, list[int]()
    if base + left < low or base > high:
        return [], []
    for extent, stride in sorted(steps, key=lambda step: -step[1]):
        left -= (extent - 1) * stride
        digits = [k for k in range(extent) if max(sums) + k * stride + left >= low and min(sums) + k * stride <= high]
        listed.append(len(sums) * len(digits))
        sums = {at + k * stride for at in sums for k in digits}
        sums = {at for at in sums if at + left >= low and at <= high}
        if not sums:
            break
    return sorted(sums), listed


@pytest.mark.parametrize("steps", [[(3, 7), (4, 1)], [(2, 10), (3, 3), (2, 4)], [(5, 6), (2, 6)], [(4, 2)], []])
def test_sums_in_every_window(steps: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[int] = []
    monkeypatch.setattr(addresses, "check_window", lambda count, layout: listed.append(count))  # type: ignore[misc]
    end = sum((extent - 1) * stride for extent, stride in steps)
    for low in range(-5, end):
        for high in range(low, end, 5):
            listed.clear()
            found = addresses.sums_between(steps, -3, low, high, "x").tolist()
            assert (found, listed) == _window(steps, -3, low, high)


_Steps = tuple[tuple[int, int], ...]
_RUNS: list[tuple[list[Iter], int, _Steps]] = [  # iters, the length of a run, (extent, stride) of where they begin
    ([Iter(4, 1)], 4, ()),
    ([Iter(3, 5), Iter(2, -1)], 2, ((3, 5),)),
    ([Iter(2, 7), Iter(3, 2)], 1, ((3, 2), (2, 7))),
    ([Iter(2, 3), Iter(2, 2)], 1, ((2, 2), (2, 3))),
    ([Iter(3, 4), Iter(2, 9), Iter(3, 1)], 3, ((3, 4), (2, 9))),
    ([Iter(3, 3), Iter(3, 1)], 9, ()),
    ([Iter(2, -11), Iter(2, 4), Iter(4, 1)], 8, ((2, 11),)),
]


def _runs(iters: list[Iter], base: int) -> tuple[addresses._Runs, set[int]]:  # pyright: ignore[reportPrivateUsage]
    """The runs of a layout, and the coordinates that it has."""
    layout = TileLayout(iters, (), {"m": base})
    reached = {layout.apply(x)["m"] for x in range(layout.size())}
    return addresses._Runs.of(layout.strided, "m"), reached  # pyright: ignore[reportPrivateUsage]


def test_runs_cover_every_window_that_they_fill() -> None:
    for iters, length, steps in _RUNS:
        runs, reached = _runs(iters, 2)
        assert (runs.base, runs.end) == (min(reached), max(reached) + 1)
        assert (runs.length, runs.steps) == (length, steps)
        begins = {runs.base + sum(at) for at in product(*(range(0, e * s, s) for e, s in steps))}
        for low in range(runs.base - 1, runs.end):
            for high in range(low + 1, min(low + 12, runs.end + 2)):
                assert runs.cover(low, high) == reached.issuperset(range(low, high)), (iters, low, high)
                near = sorted(begin for begin in begins if begin < high and begin + length > low)
                assert runs.starts(low, high).tolist() == near


def test_runs_meet_where_they_have_a_coordinate_in_common() -> None:
    for (iters, *_), (others, *_) in product(_RUNS, _RUNS[1:5]):
        mine, reached = _runs(iters, 0)
        for base in range(-24, 24, 1 if iters is others else 7):
            theirs, taken = _runs(others, base)
            assert mine.meet(theirs) == theirs.meet(mine) == (not reached.isdisjoint(taken)), (iters, others, base)


@together(
    ("stride", "base", "beyond"),
    [(8, 2**62 - 9, None), (8, 2**62 - 8, 2**62), (-8, 9 - 2**62, None), (-8, 8 - 2**62, -(2**62))],
)
def test_runs_fit_62_bits(stride: int, base: int, beyond: int | None) -> None:
    layout = TileLayout([Iter(2, stride)], (), {"m": base})
    if beyond is None:
        assert layout.is_surjective({"m": (base, base + 1)}) and layout.overlaps(layout)
        return
    for query in (lambda: layout.is_surjective({"m": (base, base + 1)}), lambda: layout.overlaps(layout)):
        with pytest.raises(LayoutError) as found:
            query()
        assert str(found.value) == f"expected coordinates that fit 62 bits, found {beyond} in {layout}"
