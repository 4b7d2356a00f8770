"""Slots of the tiles in tensor memory that threads and products of a loop hand to each other."""

from __future__ import annotations

import re

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import scf

from tirx.dialects.tirx import AllocOp, MmaOp
from tirx.passes.match.pipelining import NotApplicable
from tirx.passes.rings.tensor_exchanges import Exchange, ExchangedTile, choose_slots


def _tensor(columns: int) -> str:
    return f"!tirx.tile<128x{columns}xf32, tensor, #tirx.tile_layout<S[(128, {columns}) : (1@TLane, 1@TCol)]>>"


KERNEL = f"""
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
tirx.kernel @k(%n: index) target("sm_100a") threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %s = tirx.alloc : {_tensor(64)}
  %w = tirx.alloc : !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
  %o = tirx.alloc : {_tensor(64)}
  RING
  scf.for %i = %c0 to %n step %c1 {{
    tirx.mma %a, %b, %s : !a, !b, {_tensor(64)}
  }}
  tirx.return
}}
"""


def _ring(slots: int, *tiles: tuple[int, ...]) -> str:
    """A ring with tiles of these columns in tensor memory, several views of each, and one in shared memory."""
    views = ", ".join(" | ".join(f"t{i}{j}: {_tensor(n)}" for j, n in enumerate(tile)) for i, tile in enumerate(tiles))
    return f"%ring = tirx.ring slots({slots}) stations(x, y) : !tirx.ring<{views}, u: !tirx.tile<4x512xf32, shared>>"


@together(
    ("ring", "is_early", "slots"),
    [
        # 512 columns, of which 64 + 32 + 64 are those of the first slots.
        ("", True, (2, 2, 1)),
        # 96 columns are left: for both.
        (_ring(2, (64, 32), (64,)), True, (2, 2, 1)),
        # 64: the sums, which are ready early, come first.
        (_ring(3, (32, 64), (32,)), True, (2, 1, 1)),
        (_ring(3, (32, 64), (32,)), False, (1, 2, 1)),
        # 61: not enough for the sums, which need none if nothing reads them early.
        (_ring(3, (64,), (33,)), False, (1, 2, 1)),
        (_ring(3, (64,), (33,)), True, "%s has no room for a second slot: 64 columns, with 61 left"),
    ],
)
def test_slots(ring: str, is_early: bool, slots: tuple[int, int, int] | str) -> None:
    module = parsed(KERNEL.replace("RING", ring))
    allocs = {op.result.name_hint: op for op in module.walk() if isinstance(op, AllocOp)}
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    (product,) = (op for op in loop.walk() if isinstance(op, MmaOp))
    w, s, o = (
        ExchangedTile(allocs[name], exchange, (), (product,))
        for name, exchange in (("w", Exchange.OPERAND), ("s", Exchange.SUMS), ("o", Exchange.CARRIED))
    )
    early = (product,) if is_early else ()
    if isinstance(slots, str):
        with pytest.raises(NotApplicable, match=f"^{re.escape(slots)}$"):
            choose_slots(loop, (w, s, o), early)
    else:
        choose_slots(loop, (w, s, o), early)
        assert (s.slots, w.slots, o.slots) == slots
