"""Numbers beyond what tables and lists can hold: an error at once, or the exact answer, and never anything else."""

from collections.abc import Callable

import numpy as np
import pytest

import tirx.layout.shape as shape
from tirx.layout import (
    BitMatrix,
    ComposeLayout,
    Iter,
    LayoutError,
    SwizzleLayout,
    TileLayout,
    parse_layout,
    to_linear,
)

BIG = 2**70
SWIZZLE = SwizzleLayout(3, 3, 3)
FAR = TileLayout([Iter(4, 1)], (), {"m": BIG})
WIDE = TileLayout([Iter(4, BIG), Iter(4, 1)])
LONG = TileLayout([Iter(2**40, 1)])
COPIED = TileLayout([Iter(4, 1)], [Iter(2**20, 1, "m"), Iter(2**20, 1, "pid")])


@pytest.mark.parametrize(
    "query",
    [
        FAR.table,
        WIDE.table,
        LONG.table,
        ComposeLayout(SWIZZLE, FAR).table,
        ComposeLayout(SWIZZLE, LONG).table,
        ComposeLayout(SWIZZLE, FAR).footprint,
        ComposeLayout(SWIZZLE, LONG).owner_table,
        ComposeLayout(SwizzleLayout(0, 30, 30), LONG).footprint,
        lambda: SwizzleLayout(0, 30, 30).table(),
        lambda: SWIZZLE.table((2**40,)),
        COPIED.replicas,
        lambda: COPIED.owners(1),
        COPIED.owner_table,
        lambda: FAR.is_surjective({"m": (BIG, BIG + 4)}),
        lambda: FAR.overlaps(FAR),
        lambda: WIDE.overlaps(WIDE),
        lambda: FAR.compose(TileLayout([Iter(2, 1)])),
        lambda: TileLayout([Iter(4, 1)]).compose(FAR),
        lambda: TileLayout([Iter(2, BIG), Iter(2, BIG)]).is_injective(),
        lambda: to_linear(FAR, (4,)),
        lambda: ComposeLayout(SWIZZLE, LONG).commutes_with(3),
        lambda: ComposeLayout(SWIZZLE, FAR).commutes_with(3),
        lambda: ComposeLayout(SWIZZLE, LONG).slice_dynamic((2**40,), (32,), (32,)),
        lambda: SWIZZLE.matrix(10**6),
    ],
)
@pytest.mark.sample(8)
def test_too_large_to_list(query: Callable[[], object]) -> None:
    with pytest.raises(LayoutError, match=r"expected (at most|coordinates|9 to 62)"):
        query()


def test_answers_without_a_list_have_no_limit() -> None:
    assert FAR.apply(3) == {"m": BIG + 3}
    assert FAR.owners(3) == [{"m": BIG + 3}]
    assert FAR.inverse({"m": BIG + 3}) == [3]
    assert FAR.inverse({"m": 3}) == []
    assert WIDE.footprint() == {"m": (0, 3 * BIG + 3)}
    assert WIDE.is_injective()
    assert WIDE.pack(4) == TileLayout([Iter(4, BIG // 4)])
    assert LONG.is_surjective({"m": 2**40})
    assert LONG.overlaps(LONG.with_offset(m=2**39))
    assert LONG.slice((2**40,), [(3, 2**39)]) == TileLayout([Iter(2**39 - 3, 1)], (), {"m": 3})
    assert ComposeLayout(SWIZZLE, FAR).inverse({"m": BIG + 2}) == [2]
    assert parse_layout(str(WIDE)) == WIDE


def test_a_unit_iter_of_any_stride_has_a_table() -> None:
    assert TileLayout([Iter(1, BIG), Iter(4, 1)]).table()["m"].tolist() == [[0, 1, 2, 3]]


def test_footprint_of_a_long_swizzled_tile_looks_at_its_ends() -> None:
    tile = TileLayout([Iter(2**40, 1)], (), {"m": 5})
    assert ComposeLayout(SWIZZLE, tile).footprint() == {"m": (5, 2**40 + 4)}
    steps = ComposeLayout(SWIZZLE, TileLayout([Iter(2**20, 24), Iter(2**20, -1)]))
    assert steps.footprint()["m"][0] == min(SWIZZLE.apply(np.arange(1 - 2**20, 512 - 2**20))).item()


def test_footprint_of_a_full_period_is_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "MOST_IN_WINDOW", 8)
    assert ComposeLayout(SwizzleLayout(0, 1, 2), LONG).footprint() == {"m": (0, 2**40 - 1)}
    with pytest.raises(LayoutError, match="expected at most 8 places to compare, found 16"):
        ComposeLayout(SwizzleLayout(1, 1, 2), LONG).footprint()


def test_commuting_with_a_large_offset() -> None:
    within = np.arange(64, dtype=np.int64)
    assert SWIZZLE.commutes_with(SWIZZLE.period * BIG + 3 * 64, within) is False
    assert SWIZZLE.commutes_with(SWIZZLE.period * BIG, within)
    assert SWIZZLE.commutes_with(SWIZZLE.period * BIG + 4, within[:4])


@pytest.mark.parametrize("matrix", [BitMatrix((1, 2), 3), BitMatrix((), 3), BitMatrix((1, 2, 4), 2 + 2)])
def test_no_swizzle_changes_the_number_of_bits(matrix: BitMatrix) -> None:
    with pytest.raises(LayoutError, match="a swizzle keeps their number"):
        SwizzleLayout.from_matrix(matrix)
