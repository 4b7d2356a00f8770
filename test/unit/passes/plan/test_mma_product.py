"""The registers from which a product with an accumulator in f16 and a result in f32 starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirx.dialects.tirx import MmaOp
from tirx.mma import VARIANTS, WIDENING, FragmentError, pick_fragments
from tirx.passes.plan.mma_product import mma_steps, start_slots
from tirx.passes.plan.product import Product
from tirx.text.parsing import parse_located
from tirx.universe import new_context


def test_start_slots():
    variant = VARIANTS["m8n8k4.row.col.f32.f16"]
    wide = pick_fragments(32, 16, 8, "f16", "f32", 1, variants=(variant,))
    half = pick_fragments(32, 16, 8, "f16", "f16", 1, variants=(WIDENING[variant.name],))
    module = parse_located(
        new_context(),
        f"""
!a = !tirx.tile<32x8xf16, register, #tirx.tile_layout<{wide.a}>>
!b = !tirx.tile<16x8xf16, register, #tirx.tile_layout<{wide.b}>>
!c = !tirx.tile<32x16xf16, register, #tirx.tile_layout<{half.c}>>
!d = !tirx.tile<32x16xf32, register, #tirx.tile_layout<{wide.c}>>
tirx.kernel @k() target("sm_70") threads(32) {{
  %a = tirx.zero : !a
  %b = tirx.zero : !b
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c : !a, !b, !c -> !d
  tirx.return
}}
""",
    )
    product = Product.of(next(op for op in module.walk() if isinstance(op, MmaOp)))
    steps = mma_steps(product, (variant,))
    assert [(step.c_reg, step.a_reg, step.b_reg) for step in steps] == [(0, 0, 0), (8, 8, 0), (0, 4, 4), (8, 12, 4)]
    assert start_slots(product, steps) == (0, 8, None, None)  # the second half of K adds to the sums of the first
    assert start_slots(replace(product, start=None), steps) == (None, None, None, None)
    with pytest.raises(FragmentError) as raised:
        start_slots(product, [*steps[:3], replace(steps[3], b_reg=16)])
    assert str(raised.value) == (
        "expected the fragments of one product in the accumulator of f16 and the result of f32, found no "
        "m8n8k4.row.col.f16 of A from slot 12 and B from slot 16 on"
    )
