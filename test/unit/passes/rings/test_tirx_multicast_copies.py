"""Pairs of blocks where the last pair has a tile more than there are: nothing of it is written."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed
from xdsl.dialects import arith

from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import KernelOp, TilesOp
from tirx.passes.rings.tirx_multicast_copies import TirxMulticastCopiesPass

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


def _paired(text: str, along: str) -> KernelOp:
    module = parsed(text)
    TirxMulticastCopiesPass(along).apply(context(), module)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return kernel


@pytest.mark.parametrize(
    ("d", "rows", "m", "indices", "moved"),
    [
        # Three tiles of 64 rows: the fourth is outside of up to 192 rows.
        ("192x64", "3", "arith.muli %i, %c64", "%m, %c0", False),
        ("191x64", "3", "arith.muli %i, %c64", "%m, %c0", False),
        ("193x64", "3", "arith.muli %i, %c64", "%m, %c0", True),
        ("256x64", "4", "arith.muli %i, %c64", "%m, %c0", False),
        ("192x64", "3", "arith.muli %c64, %i", "%m, %c0", False),
        ("64x192", "3", "arith.muli %i, %c64", "%c0, %m", False),
        ("64x193", "3", "arith.muli %i, %c64", "%c0, %m", True),
        # A row of the tiles is not one of the memref, or not a known number of them.
        ("192x64", "3", "arith.addi %i, %c64", "%m, %c0", True),
        ("192x64", "3", "arith.muli %i, %n", "%m, %c0", True),
        ("192x64", "3", "arith.muli %i, %c0", "%m, %c0", True),
        ("192x64", "3", "arith.muli %i, %i", "%m, %c0", True),
        # The columns count, and not the rows, which have another factor.
        ("64x192", "3", "arith.muli %i, %c64 : index\n  %q = arith.muli %n, %c64", "%q, %m", False),
        ("64x193", "3", "arith.muli %i, %c64 : index\n  %q = arith.muli %n, %c64", "%q, %m", True),
        ("3x192x64", "3", "arith.addi %i, %c0", "%m, %c0, %c0", True),
        # Sizes of the launch.
        ("?x64", "ceildiv(size(%d, 0), 64)", "arith.muli %i, %c64", "%m, %c0", False),
        ("?x64", "ceildiv(size(%d, 0), 32)", "arith.muli %i, %c64", "%m, %c0", True),
        ("?x64", "3", "arith.muli %i, %c64", "%m, %c0", True),
    ],
)
def test_tiles_beyond_the_last_one(d: str, rows: str, m: str, indices: str, moved: bool) -> None:
    """Tiles that would lie within D are moved out of it; those outside anyway have the index that they had."""
    kernel = _paired(KERNEL.format(d=d, rows=rows.replace("%d", "1"), m=m, indices=indices), "rows")
    assert kernel.cluster is not None
    assert any(isinstance(op, arith.SelectOp) for op in kernel.walk()) == moved


_STORE = "tirx.store %f, %gd : !f, !g"


@pytest.mark.parametrize(
    ("instead", "reason"),
    [
        # What a reshaped view has outside of its memref is not known.
        (f"%gr = tirx.reshape %gd : !g -> !g\n{_STORE.replace('%gd', '%gr')}",
         "'tirx.store' would write a tile more than 3"),
        ("%zero = arith.constant 0.0 : f16\ntirx.fill %gd, %zero : f16, !g",
         "'tirx.fill' would write a tile more than 3"),
        ("%one = memref.load %d[%m, %c0] : memref<192x64xf16>", "'memref.load' would read for a tile more than 3"),
    ],
)  # fmt: skip
def test_accesses_that_cannot_be_left_out(instead: str, reason: str) -> None:
    text = KERNEL.format(d="192x64", rows="3", m="arith.muli %i, %c64", indices="%m, %c0")
    assert _STORE in text
    said: list[str] = []
    with diagnostic_handler(lambda diagnostic: said.append(diagnostic.message), remarks=True):
        kernel = _paired(text.replace(_STORE, instead), "rows")
    assert kernel.cluster is None and said == [f"@odd has no pairs of blocks: {reason}"]


TILES = """
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @tiles(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %n: index) target("sm_90a")
    grid({grid}) threads(256) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = {x}
  %y = {y}
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {{
    tirx.role @math warps(4) {{
      tirx.tiles @tile %i, %j = order({order}) of (%x, %y) {{
        tirx.for @k %k = 0 to %n {{
          %used = tirx.acquire %ring at(use)
          %f = tirx.load %used : !s -> !tirx.tile<64x64xf16, register>
          tirx.release %ring at(use)
        }}
      }}
    }}
    tirx.role @load warps(4) {{
      tirx.tiles @tile %i, %j = order({order}) of (%x, %y) {{
        %m = arith.muli {index}, %c64 : index
        tirx.for @k %k = 0 to %n {{
          %gb = tirx.view %b[%m, %k] : memref<?x4096xf16> -> !g
          %filled = tirx.acquire %ring at(fill)
          tirx.async_copy %gb, %filled engine(tma) : !g, !s
          tirx.release %ring at(fill) after(tma)
        }}
      }}
    }}
  }}
  tirx.return
}}
"""


@pytest.mark.parametrize(
    ("along", "order", "x", "y", "grid", "found_grid", "pairs", "group"),
    [
        ("rows", "group 8", "arith.constant 5 : index", "arith.constant 3 : index", "min(15, sm_count())",
         "min(9, ceildiv(sm_count(), 2))", "arith.constant 3 : index", 4),
        ("rows", "group 1", "arith.constant 4 : index", "arith.constant 3 : index", "min(12, sm_count())",
         "min(6, ceildiv(sm_count(), 2))", "arith.constant 2 : index", 1),
        ("rows", "row", "arith.constant 4 : index", "arith.constant 1 : index", "min(4, sm_count())",
         "min(2, ceildiv(sm_count(), 2))", "arith.constant 2 : index", None),
        ("columns", "group 8", "arith.constant 4 : index", "arith.constant 3 : index", "min(12, sm_count())",
         "min(8, ceildiv(sm_count(), 2))", "arith.constant 2 : index", 8),
        ("rows", "row", "tirx.launch_value ceildiv(size(0, 0), 64)", "arith.constant 3 : index",
         "min(mul(ceildiv(size(0, 0), 64), 3), sm_count())",
         "min(mul(ceildiv(ceildiv(size(0, 0), 64), 2), 3), ceildiv(sm_count(), 2))",
         "tirx.launch_value ceildiv(ceildiv(size(0, 0), 64), 2)", None),
    ],
)  # fmt: skip
def test_numbers_of_pairs(
    along: str, order: str, x: str, y: str, grid: str, found_grid: str, pairs: str, group: int | None
) -> None:
    """Loops and the grid count pairs along one side; so does a group of rows."""
    index = "%j" if along == "rows" else "%i"
    kernel = _paired(TILES.format(order=order, x=x, y=y, grid=grid, index=index), along)
    text = str(kernel)
    assert f"grid({found_grid})" in text and pairs in text
    loops = [op for op in kernel.walk() if isinstance(op, TilesOp)]
    assert [None if op.group is None else op.group.value.data for op in loops] == [group] * 2
