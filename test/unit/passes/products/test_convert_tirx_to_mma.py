"""`convert-tirx-to-mma` alone: plans that nobody has checked before."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.context import Context

from tirx.diagnostics import LocatedError
from tirx.passes.products.convert_tirx_to_mma import ConvertTirxToMmaPass


def test_a_plan_for_elements_of_another_type() -> None:
    module = parsed("""
!a = !tirx.tile<16x16xf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
!b = !tirx.tile<8x16xf16, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>
!c = !tirx.tile<16x8xf32, register, #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>>
tirx.kernel @k(%x: f16, %y: f32) target("sm_80") threads(32) {
  %a = tirx.splat %x : f16 -> !a
  %b = tirx.splat %x : f16 -> !b
  %c = tirx.splat %y : f32 -> !c
  %d = tirx.mma %a, %b, %c plan(mma_sync, variants = ["m16n8k16.row.col.f32.bf16"]) : !a, !b, !c -> !c
  tirx.return
}""")
    with pytest.raises(LocatedError, match="found one of m16n8k16.row.col.f32.bf16"):
        ConvertTirxToMmaPass().apply(Context(), module)
