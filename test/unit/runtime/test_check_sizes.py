"""Sizes at which a lowering may go wrong: by the tiles of views, and by counts of tiles."""

from __future__ import annotations

from itertools import islice

import pytest
from unit.examples import EXAMPLES

from tirx.dialects.tirx import kernels
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass
from tirx.runtime.check_sizes import Pace, Sizes, sizes_of
from tirx.text.parsing import parse_located
from tirx.universe import new_context


def _sizes(example: str) -> list[Sizes]:
    context = new_context()
    module = parse_located(context, (EXAMPLES / f"{example}.mlir").read_text(), example)
    TirxSpecializePass().apply(context, module)
    return list(islice(sizes_of(next(iter(kernels(module))), 0), 8))


def test_dimensions_that_views_walk_through_together_have_one_size() -> None:
    """A product of tiles of 128x256x64: its sums have eight steps, others several tiles, or no step at all."""
    assert [str(each) for each in _sizes("wgmma_any_size_gemm")] == [
        "1x1, 1x1, 1x1", "192x480, 320x480, 192x320", "128x288, 256x288, 128x256", "320x96, 576x96, 320x576",
        "128x0, 256x0, 128x256", "1x161, 1x161, 1x1", "129x129, 257x129, 129x257", "383x63, 767x63, 383x767",
    ]  # fmt: skip


def test_memory_has_room_for_what_numbers_count() -> None:
    found = _sizes("wgmma_ring_gemm")
    assert [each.numbers for each in found[:3]] == [(1, 1, 1), (2, 3, 1), (3, 3, 3)]
    assert len({number for each in found for number in each.numbers}) > 3
    for each in found:
        a, b, d, *_ = each.shapes
        assert a and b and d and a[0] == d[0] >= 128 * each.numbers[0] and b[0] >= 256 * each.numbers[1]


def test_places_that_are_computed_where_they_are_used() -> None:
    """`%x[%i * 64, %k]` has a product of its own in each access, within the loop, but M is one dimension around it."""
    found = _sizes("gallery/int8_gemm")
    assert [str(each) for each in found[:2]] == ["1x1, 1x1, 1, 1, 1x1", "96x480, 80x480, 96, 80, 96x80"]
    assert [each.work for each in found[:4]] == [1, 32, 5, 18]


def test_places_of_two_variables() -> None:
    """Rows `%p * 8 + %r - 1` of a convolution of stride 2 are two for each row `%p * 4` of its result."""
    found = _sizes("gallery/conv2d")
    assert [str(each) for each in found[:2]] == ["1x1x1x1, 1x3x3x1, 1x1x1x1", "1x7x31x144, 64x3x3x144, 1x4x16x64"]
    assert [each.work for each in found[:4]] == [1, 5, 1, 3]


def test_scale_factors_go_on_slower_than_what_they_scale() -> None:
    """Rows of K have an element for each 128 of A and B, and scale factors of B one for each 128 rows, too."""
    assert [str(each) for each in _sizes("gallery/fp8_gemm")[1:3]] == [
        "192x960, 160x960, 8x192, 2x8, 192x160",
        "128x576, 128x576, 5x128, 1x5, 128x128",
    ]


def test_a_launch_may_take_as_long_as_the_last_one_says() -> None:
    pace, small, large = Pace(3600), Sizes((), (), 1), Sizes((), (), 1e12)
    assert pace.allows(large), "the first one"
    sum(range(10**5))
    pace.done(small)
    assert pace.allows(small) and not pace.allows(large)
    assert not pace.allows(small, 1e-12)


def test_a_launch_may_take_all_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one of the last two says how long it takes: a second for each unit of work, and one more."""
    now = [0.0]
    monkeypatch.setattr("tirx.runtime.check_sizes.time.process_time", lambda: now[0])
    pace, one, none = Pace(10, 0.0), Sizes((), (), 1), Sizes((), (), 0)
    for took, work in ((2.0, one), (0.5, one), (9.0, none)):
        assert pace.allows(one)
        now[0] += took
        pace.done(work)
        now[0] -= took
    now[0] = 9.0
    assert pace.allows(none) and not pace.allows(Sizes((), (), 0.001)) and not pace.allows(none, 0.999)
    now[0] = 8.0
    assert pace.allows(one)
    pace.done(Sizes((), (), 1))
    assert pace.allows(Sizes((), (), 7)) and not pace.allows(Sizes((), (), 7.1))
