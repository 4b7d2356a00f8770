"""Layouts of scale factors in tensor memory, with stages."""

from __future__ import annotations

from math import prod

import pytest

from tirx.passes.plan.tcgen05_scales import scale_tmem_layout


@pytest.mark.parametrize(
    ("dims", "halves"), [((128, 8), 1), ((3, 128, 8), 1), ((5, 3, 128, 8), 1), ((256, 8), 2), ((5, 3, 256, 8), 2)]
)
def test_stages_follow_each_other(dims: tuple[int, ...], halves: int) -> None:
    """Each stage begins behind the columns of the one before."""
    layout, stages = scale_tmem_layout(dims, halves), prod(dims[:-2])
    one = scale_tmem_layout(dims[-2:], halves)
    assert layout.size() == prod(dims) and one.size() == prod(dims[-2:])
    columns = one.footprint()["TCol"][1] + 1
    assert layout.footprint()["TCol"][1] + 1 == stages * columns
    places = layout.axis_table("TCol", (stages, prod(dims[-2:])))
    assert [int(row.min()) for row in places.reshape(stages, -1)] == [columns * i for i in range(stages)]
