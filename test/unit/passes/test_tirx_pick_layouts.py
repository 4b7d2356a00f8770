"""Limits of what is picked early, and of tiles that threads cannot share out."""

from __future__ import annotations

from xdsl.dialects.builtin import Float4E2M1FNType, f16, i8

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.passes.tirx_pick_layouts import (
    _has_few_pairs,  # pyright: ignore[reportPrivateUsage]
    _is_wasteful,  # pyright: ignore[reportPrivateUsage]
)


def test_few_pairs() -> None:
    """Fewer than 8 elements of 4 bits for each thread."""
    types = [TileType.get((n, 4), Float4E2M1FNType(), MemorySpace.REGISTER) for n in (1, 63, 64, 65)]
    assert [_has_few_pairs(type_, 32) for type_ in types] == [True, True, False, False]
    wider = [TileType.get((1, 4), type_, MemorySpace.REGISTER) for type_ in (i8, f16)]
    assert not any(_has_few_pairs(type_, 32) for type_ in wider)


def test_wasteful_tiles() -> None:
    """More registers than a thread has, and more than four slots of all threads for each element."""
    assert [_is_wasteful(held, 401, 100) for held in (255, 256)] == [False, True]
    assert [_is_wasteful(1000, slots, 100) for slots in (399, 400, 401)] == [False, False, True]
