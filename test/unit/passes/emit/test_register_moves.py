"""Moves and reductions of elements in registers."""

from __future__ import annotations

import pytest

from tirx.passes.emit.register_moves import ReduceEmission


@pytest.mark.parametrize(
    ("slots", "whole"),
    [
        ((), True),
        ((0, 1), True),
        ((4, 5, 0, 1), True),
        ((0,), False),
        ((1, 2), False),
        ((0, 2), False),
        ((0, 1, 3, 4), False),
    ],
)
def test_slots_that_are_whole_registers(slots: tuple[int, ...], whole: bool) -> None:
    assert ReduceEmission._whole_registers(slots) is whole  # pyright: ignore[reportPrivateUsage]
