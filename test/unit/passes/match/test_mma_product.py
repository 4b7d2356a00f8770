"""The registers from which a product with an accumulator in f16 and a result in f32 starts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import MmaOp
from tirx.mma.fragments import VARIANTS, WIDENING, FragmentError
from tirx.mma.pick import pick_fragments
from tirx.passes.match.mma_product import has_widening_form, mma_steps, start_slots, why_widened
from tirx.passes.match.product import Product


def _product(a: str, b: str, c: str, d: str) -> Product:
    """A product of an accumulator in f16 with a result in f32, whose tiles have these layouts, or none."""
    module = parsed(
        f"""
!a = !tirx.tile<32x8xf16, register{a}>
!b = !tirx.tile<16x8xf16, register{b}>
!c = !tirx.tile<32x16xf16, register{c}>
!d = !tirx.tile<32x16xf32, register{d}>
tirx.kernel @k() target("sm_70") threads(32) {{
  %a = tirx.zero : !a
  %b = tirx.zero : !b
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c : !a, !b, !c -> !d
  tirx.return
}}
"""
    )
    return Product.of(next(op for op in module.walk() if isinstance(op, MmaOp)))


def test_wider_results() -> None:
    """Of tiles that all have layouts, those of one instruction, or none."""
    variant = VARIANTS["m8n8k4.row.col.f32.f16"]
    wide = pick_fragments(32, 16, 8, "f16", "f32", 1, variants=(variant,))
    half = pick_fragments(32, 16, 8, "f16", "f16", 1, variants=(WIDENING[variant.name],))
    a, b, c, d = (f", #tirx.tile_layout<{layout}>" for layout in (wide.a, wide.b, half.c, wide.c))
    assert has_widening_form(_product(a, b, c, d))
    assert has_widening_form(_product("", "", "", ""))
    assert not has_widening_form(_product(a, b, "", d))
    assert not has_widening_form(_product("", "", c, ""))
    assert not has_widening_form(_product(a, b, d, d)), "the sums are in the places of f32"


_FLOATS = """
!a = !tirx.tile<16x32xf8E4M3FN, register>
!b = !tirx.tile<8x32xf8E4M3FN, register>
!d = !tirx.tile<16x8xf32, register>
tirx.kernel @k() target("sm_80") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.zero : !b
  %c = tirx.zero : !d
  %d = tirx.mma %a, %b, %c : !a, !b, !d -> !d
  tirx.return
}
"""


def _floats(text: str = _FLOATS) -> Product:
    return Product.of(next(op for op in parsed(text).walk() if isinstance(op, MmaOp)))


@pytest.mark.parametrize(("rows", "name"), [(16, "a"), (8, "b")])
def test_floats_of_8_bits_that_stay(rows: int, name: str) -> None:
    """They are widened where the instruction is missing, unless somebody has chosen the layout of an operand."""
    layout = getattr(pick_fragments(16, 8, 32, "e4m3", "f32", 1), name)
    chosen = f"{rows}x32xf8E4M3FN, register, #tirx.tile_layout<{layout}>>"
    assert why_widened(_floats()) is not None
    assert why_widened(_floats(_FLOATS.replace(f"{rows}x32xf8E4M3FN, register>", chosen))) is None
    shared = f"{rows}x32xf8E4M3FN, shared, #tirx.tile_layout<S[({rows}, 32) : (32, 1)]>>"
    text = _FLOATS.replace(f"{rows}x32xf8E4M3FN, register>", shared)
    assert why_widened(_floats(text.replace(f"%{name} = tirx.zero", f"%{name} = tirx.alloc"))) is not None


def test_products_that_stay() -> None:
    """Products whose instruction or plan somebody has written, and those of factors or metadata, which f16 has not."""
    product = _floats()
    for change in ({"instruction": "m16n8k32"}, {"scale_a": product.a}, {"metadata": product.a}, {"target": None}):
        assert why_widened(replace(product, **change)) is None
    integers = _FLOATS.replace("f8E4M3FN", "i8").replace("f32", "i32").replace("sm_80", "sm_70")
    assert why_widened(_floats(integers)) is None, "f16 does not have them"


def test_start_slots() -> None:
    variant = VARIANTS["m8n8k4.row.col.f32.f16"]
    wide = pick_fragments(32, 16, 8, "f16", "f32", 1, variants=(variant,))
    half = pick_fragments(32, 16, 8, "f16", "f16", 1, variants=(WIDENING[variant.name],))
    product = _product(*(f", #tirx.tile_layout<{layout}>" for layout in (wide.a, wide.b, half.c, wide.c)))
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
