"""Registers of the operands of a product."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.context import Context
from xdsl.dialects.builtin import UnrealizedConversionCastOp

from tirx.dialects.wgmma import MmaAsyncOp
from tirx.passes.products.convert_wgmma_to_ptx import ConvertWgmmaToPtxPass

_PRODUCT = """
#fragment = #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
#d = #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!fragment = !tirx.tile<64x32xf16, register, #fragment>
!d = !tirx.tile<64x16xf16, register, #d>
func.func @k(%b: i64, %d: !d, %r: !fragment) {{
  %0 = wgmma.mma_async "f16" "f16" n 8 a(%r : !fragment) b(%b) c(%d : !d) at 0 {at} -> !tirx.pending<!d>
  func.return
}}
"""


@pytest.mark.parametrize(("at", "first"), [("", 0), ("a_at 8", 4)])
def test_registers_of_a(at: str, first: int) -> None:
    module = parsed(_PRODUCT.format(at=at))
    ConvertWgmmaToPtxPass().apply(Context(), module)
    product = next(op for op in module.walk() if isinstance(op, MmaAsyncOp))
    held = product.a[0].owner
    assert isinstance(held, UnrealizedConversionCastOp)
    assert list(product.a) == list(held.results[first : first + 4])
