"""Registers of index tiles, for threads that move what they name."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import i64

from tirx.copy.access import Access
from tirx.dialects.tirx import ViewOp
from tirx.layout import LayoutError, TileLayout
from tirx.passes.copies.index_tiles import IndexTiles, slots_of_indices
from tirx.passes.ir.emitter import Emitter
from tirx.symbolic.index_expr import Const

_GATHERED = """
!rows = !tirx.tile<4x64xf32, global>
tirx.kernel @k(%m: memref<64x64xf32>, %i: memref<4xi32>) threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %i[%c0] : memref<4xi32> -> !tirx.tile<4xi32, global>
  %t = tirx.load %g : !tirx.tile<4xi32, global> -> !tirx.tile<4xi32, registerLAYOUT>
  %v = tirx.view %m[[%t], %c0] clipped : memref<64x64xf32>, !tirx.tile<4xi32, registerLAYOUT> -> !rows
  tirx.return
}
"""


@together(
    ("layout", "moved", "expected"),
    [
        ("S[4 : 1] + R[32 : 1@laneid]", "S[(4, 32, 2) : (2, 1@laneid, 1)]", [0, 0, 1, 1, 2, 2, 3, 3]),
        ("S[4 : 8@laneid] + R[8 : 1@laneid]", "S[(4, 8, 8) : (8@laneid, 1@laneid, 1)]", [0] * 8),
        ("S[4 : 1] + R[32 : 1@laneid]", "S[(4, 32, 2) : (3, 1@laneid, 1)]", [0, 0, None, 1, 1, None, 2, 2, None, 3, 3]),
        (
            None,
            "S[(4, 32, 2) : (2, 1@laneid, 1)]",
            "expected a layout on the index tile !tirx.tile<4xi32, register>; tirx-pick-layouts chooses one",
        ),
        (
            "S[4 : 1@laneid]",
            "S[(4, 32, 2) : (2, 1@laneid, 1)]",
            "expected every thread to hold the indices of what it moves, found them as S[4 : 1@laneid]",
        ),
    ],
)
def test_slots(layout: str | None, moved: str, expected: list[int] | str) -> None:
    written = "" if layout is None else f", #tirx.tile_layout<{layout}>"
    *_, view = (op for op in parsed(_GATHERED.replace("LAYOUT", written)).walk() if isinstance(op, ViewOp))
    if isinstance(expected, list):
        assert slots_of_indices(view, 0, TileLayout.parse(moved), 32) == expected
        return
    with pytest.raises(LayoutError) as caught:
        slots_of_indices(view, 0, TileLayout.parse(moved), 32)
    assert str(caught.value) == expected


def test_coordinates_of_vectors() -> None:
    """Elements that are moved at once have one index."""
    text = _GATHERED.replace("LAYOUT", ", #tirx.tile_layout<S[4 : 1] + R[32 : 1@laneid]>")
    *_, view = (op for op in parsed(text).walk() if isinstance(op, ViewOp))
    start, emit = view.indices[1], Emitter.before(view)
    registers = [emit.constant(i, i64) for i in range(4)]
    moved = TileLayout.parse("S[(4, 32, 2) : (3, 1@laneid, 1)]")
    tiles = IndexTiles(view, moved, 32, lambda _: registers, lambda _: start)
    for register, count, found in ((0, 2, 0), (9, 1, 3), (9, 2, 3)):
        assert tiles.coordinates(emit, Access(register, count, Const(0), 0)) == {0: registers[found]}
    for register, count in ((0, 4), (1, 2), (2, 1)):
        with pytest.raises(LayoutError, match="^expected vectors of elements with one index, found some with several$"):
            tiles.coordinates(emit, Access(register, count, Const(0), 0))
