"""Plans of rings: batons that parties of a role pass on, and the work that a release waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import KernelOp, Queue, RingOp, TileType
from tirx.passes.rings.ring_plan import (
    Members,
    Passing,
    RingsPlan,
    Tile,
    _works_at,  # pyright: ignore[reportPrivateUsage]
    plan_rings,
)
from tirx.rules import RingLoweringError


def _plan(math: str, more: str) -> RingsPlan:
    """A plan of roles whose parties acquire and release a baton at some stations."""
    parts = {
        role: " ".join(f"tirx.acquire %turn at({at}) tirx.release %turn at({at})" for at in stations.split())
        for role, stations in (("math", math), ("more", more))
    }
    module = parsed(f"""tirx.kernel @k() target("sm_90a") threads(512) {{
      %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
      tirx.roles {{
        tirx.role @math warps(8) unit(warpgroup) {{ {parts["math"]} }}
        tirx.role @more warps(8) unit(warpgroup) {{ {parts["more"]} }}
      }}
      tirx.return
    }}""")
    return plan_rings(next(op for op in module.walk() if isinstance(op, KernelOp)))


def _tile(text: str) -> TileType:
    module = parsed(f"tirx.kernel @k() threads(128) {{ %t = tirx.alloc : !tirx.tile<{text}>\n tirx.return }}")
    return next(TileType.of(op.results[0]) for op in module.walk() if op.name == "tirx.alloc")


@pytest.mark.parametrize("role", ["math", "more"])
def test_parties_of_a_role_pass_on_a_baton(role: str) -> None:
    (ring,) = _plan(**{"math": "", "more": "", role: "self"}).rings.values()
    assert [station.first for station in ring.stations] == [0, 1]
    for station in ring.stations:
        (side,) = station.sides
        assert (side.owner.sym_name.data, side.passing, side.parties, side.warps) == (role, Passing.THREADS, 2, 4)


@pytest.mark.parametrize(("math", "more"), [("self", "self"), ("self", "wg1"), ("self wg0", "")])
def test_batons_of_others(math: str, more: str) -> None:
    with pytest.raises(RingLoweringError) as error:
        _plan(math, more)
    assert error.value.message == "expected a ring with at(self) to be used by one role, and only so, found other uses"


_SUMS = "f32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>"
_WEIGHTS = "f16, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>"
_CODES = "i4, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>"
_PLAIN = "f16, shared, #tirx.tile_layout<S[128, 128]>"
_SWIZZLED = "i8, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[128, 128]>>"


@together("views", [(_SUMS, _WEIGHTS), (_CODES, _SUMS), (_PLAIN, _SWIZZLED)])
@together("turned", [False, True])
def test_the_last_slot_holds_every_view(views: tuple[str, str], turned: bool) -> None:
    """In whichever order they are written, and wherever the strictest alignment is that of a small one."""
    tiles = tuple(_tile(f"128x128x{view}") for view in (reversed(views) if turned else views))
    tile = Tile(tiles)
    storage = tile.storage(3)
    if tile.in_tensor_memory:
        assert storage.span_columns >= 2 * tile.stride + max(view.span_columns for view in tiles)
    else:
        assert storage.span_bytes >= 2 * tile.stride + max(view.span_bytes for view in tiles)


def test_work_on_a_slot() -> None:
    """By the queue, the ring and the station of the slot that it is about; nothing else starts any."""
    module = parsed("""
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %one = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %two = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %t = tirx.alloc : !s
  %f = tirx.acquire %one at(fill)
  %u = tirx.acquire %two at(use)
  tirx.async_copy %g, %f engine(tma) : !g, !s
  tirx.async_copy %u, %g engine(tma_store) : !s, !g
  tirx.async_copy %g, %t engine(tma) : !g, !s
  tirx.copy %f, %u : !s, !s
  tirx.return
}
""")
    rings = {op.result.name_hint: op for op in module.walk() if isinstance(op, RingOp)}
    ops = [op for op in module.walk() if "copy" in op.name]
    found = [
        (number, queue, name, station)
        for number, op in enumerate(ops)
        for queue in Queue
        for name, ring in rings.items()
        for station in ("fill", "use")
        if _works_at(op, queue, ring, station)
    ]
    assert found == [(0, Queue.TMA, "one", "fill"), (1, Queue.STORE, "two", "use")]


def test_arrivals() -> None:
    """Of a role of 8 warps in two parties: both work, or only one of the first block."""
    (ring,) = _plan("self", "").rings.values()
    (side,) = ring.stations[0].sides
    found = {
        passing.name: [
            replace(side, passing=passing, members=members).arrivals for members in (Members.ALL, Members.FIRST)
        ]
        for passing in Passing
    }
    assert found == {
        "BYTES": [1, 1], "COMMIT": [1, 1], "NOINC": [128, 128], "THREADS": [4, 1], "GROUPS": [4, 1], "BARRIER": [0, 0],
        "ORDER": [0, 0],
    }  # fmt: skip
