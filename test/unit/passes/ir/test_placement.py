"""Layouts of views that follow from those that passes pick for shared tiles."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import AllocOp, ViewOp
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.ir.placement import place
from tirx.rules import LayoutChoiceError

_ROWS = """tirx.kernel @k() target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %t = tirx.zero : !tirx.tile<8xi32, register>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %v = tirx.view %s[[%t], %c0]
    : !tirx.tile<64x64xf16, shared>, !tirx.tile<8xi32, register> -> !tirx.tile<8x64xf16, shared>
  tirx.return
}"""


def test_rows_by_index() -> None:
    """Of tiles with a stride along each dimension only."""
    plain, padded, halves = map(
        TileLayout.parse, ("S[64, 64]", "S[(64, 64) : (72, 1)]", "S[(64, 2, 32) : (32, 2048, 1)]")
    )
    for layout in (plain, padded, halves, ComposeLayout(SwizzleLayout.for_bits(16, "128B"), plain)):
        ops = list(parsed(_ROWS).walk())
        (alloc,), (view,) = ([op for op in ops if isinstance(op, kind)] for kind in (AllocOp, ViewOp))
        if layout in (plain, padded):
            place(alloc.result, layout)
            assert view.result.type.layout == TileLayout.parse("S[(8, 64) : (0, 1)]")
            continue
        with pytest.raises(LayoutChoiceError) as error:
            place(alloc.result, layout)
        assert error.value.message == f"expected a tile with a stride along each dimension, found {layout}"
