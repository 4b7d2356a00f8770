"""Limits of what is picked early, and of tiles that threads cannot share out."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed
from xdsl.dialects.builtin import Float4E2M1FNType, f16, i8

from tirx.dialects.tirx import LoadOp, MemorySpace, TileType
from tirx.layout.reduction import row_layout
from tirx.passes.tirx_pick_layouts import (
    TirxPickLayoutsPass,
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


@pytest.mark.parametrize(
    ("shape", "memory", "along", "fastest"),
    [
        ((64, 32), "S[(64, 32) : (32, 1)]", 0, 1),
        ((64, 32), "S[(64, 32) : (1, 64)]", 1, 0),
        ((8, 64, 16), "S[(8, 64, 16) : (1024, 1, 64)]", 2, 1),
        # No dimension whose neighbours are adjacent.
        ((64, 32), "S[(64, 32) : (64, 2)]", 0, 1),
    ],
)
def test_tiles_that_are_reduced(shape: tuple[int, ...], memory: str, along: int, fastest: int) -> None:
    """What is combined lies within a warp, and vectors along the dimension whose neighbours are adjacent in memory."""
    text = "x".join(map(str, shape))
    rest = "x".join(str(1 if d == along else extent) for d, extent in enumerate(shape))
    module = parsed(f"""!s = !tirx.tile<{text}xf32, shared, #tirx.tile_layout<{memory}>>
    !v = !tirx.tile<{text}xf32, register>
    tirx.kernel @k() target("sm_90a") threads(128) {{
      %s = tirx.alloc : !s
      %v = tirx.load %s : !s -> !v
      %r = tirx.reduce %v dim({along}) add : !v -> !tirx.tile<{rest}xf32, register>
      tirx.return
    }}""")
    TirxPickLayoutsPass().apply(context(), module)
    (load,) = (op for op in module.walk() if isinstance(op, LoadOp))
    assert load.result.type.layout == row_layout(shape, {along}, fastest, 32, 128)
