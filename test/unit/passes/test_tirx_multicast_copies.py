"""Pairs of blocks where the last pair has a tile more than there are: it has to lie outside of what is written."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed

from tirx.dialects.tirx import KernelOp
from tirx.passes.tirx_multicast_copies import TirxMulticastCopiesPass

KERNEL = """
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @odd(%b: memref<64x4096xf16>, %d: memref<{d}xf16>, %n: index)
    target("sm_90a") grid(1, {rows}) threads(256) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %m = {m} : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {{
    tirx.role @math warps(4) {{
      tirx.for @k %k = 0 to %n {{
        %used = tirx.acquire %ring at(use)
        %f = tirx.load %used : !s -> !f
        tirx.release %ring at(use)
        %gd = tirx.view %d[{indices}] clipped : memref<{d}xf16> -> !g
        tirx.store %f, %gd : !f, !g
      }}
    }}
    tirx.role @load warps(4) {{
      tirx.for @k %k = 0 to %n {{
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }}
    }}
  }}
  tirx.return
}}
"""


@pytest.mark.parametrize(
    ("d", "rows", "m", "indices", "pairs"),
    [
        # Three tiles of 64 rows: the fourth is outside of up to 192 rows.
        ("192x64", "3", "arith.muli %i, %c64", "%m, %c0", True),
        ("191x64", "3", "arith.muli %i, %c64", "%m, %c0", True),
        ("193x64", "3", "arith.muli %i, %c64", "%m, %c0", False),
        ("256x64", "4", "arith.muli %i, %c64", "%m, %c0", True),
        ("192x64", "3", "arith.muli %c64, %i", "%m, %c0", True),
        ("64x192", "3", "arith.muli %i, %c64", "%c0, %m", True),
        ("64x193", "3", "arith.muli %i, %c64", "%c0, %m", False),
        # A row of the tiles is not one of the memref, or not a known number of them.
        ("192x64", "3", "arith.addi %i, %c64", "%m, %c0", False),
        ("192x64", "3", "arith.muli %i, %n", "%m, %c0", False),
        ("192x64", "3", "arith.muli %i, %c0", "%m, %c0", False),
        ("3x192x64", "3", "arith.addi %i, %c0", "%m, %c0, %c0", False),
        # Sizes of the launch.
        ("?x64", "ceildiv(size(%d, 0), 64)", "arith.muli %i, %c64", "%m, %c0", True),
        ("?x64", "ceildiv(size(%d, 0), 32)", "arith.muli %i, %c64", "%m, %c0", False),
        ("?x64", "3", "arith.muli %i, %c64", "%m, %c0", False),
    ],
)
def test_tiles_beyond_the_last_one(d: str, rows: str, m: str, indices: str, pairs: bool) -> None:
    text = KERNEL.format(d=d, rows=rows.replace("%d", "1"), m=m, indices=indices)
    module = parsed(text)
    TirxMulticastCopiesPass("rows").apply(context(), module)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert (kernel.cluster is not None) == pairs
