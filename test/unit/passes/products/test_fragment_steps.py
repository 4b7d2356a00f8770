"""Steps along K of products by mma.sync whose operands are loaded for them: those that stay whole, and why."""

from __future__ import annotations

from unit.cases import together

from tirx.dialects.tirx import MmaOp
from tirx.layout import LayoutError, TileLayout
from tirx.passes.products.fragment_steps import (
    StagedProduct,
    _packed,  # pyright: ignore[reportPrivateUsage]
    plan_steps,
)
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_ROW_MAJOR = ", #tirx.tile_layout<S[16, 64]>"
_ENDS = ", #tirx.tile_layout<S[(16, 32, 2) : (64, 1, 32)]>"
"""Every element lies far from its neighbour along K."""


def _fragments(registers: tuple[int, int, int, int], more: str = "") -> str:
    """16x64 fragments, with these distances between registers along rows and K, the largest parts first."""
    rows, steps, halves, pairs = registers
    iters = f"({rows}, 4@laneid, {steps}, {halves}, 1@laneid, {pairs})"
    return f", #tirx.tile_layout<S[(2, 8, 4, 2, 4, 2) : {iters}]{more}>"


_PLAIN = _fragments((2, 8, 4, 1))


def _count(shared: str, registers: str, engine: str = "") -> int:
    text = f"""
!s = !tirx.tile<16x64xf16, shared{shared}>
!a = !tirx.tile<16x64xf16, register{registers}>
!b = !tirx.tile<16x64xf16, register{_fragments((4, 8, 2, 1))}>
!c = !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_80") threads(32) {{
  %s = tirx.alloc : !s
  %c = tirx.zero : !c
  %a = tirx.load %s{engine} : !s -> !a
  %b = tirx.load %s{engine} : !s -> !b
  %d = tirx.mma %a, %b, %c plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"]) : !a, !b, !c -> !c
  tirx.return
}}
"""
    module = parse_located(new_context(), text)
    product = StagedProduct.of(next(op for op in module.walk() if isinstance(op, MmaOp)))
    assert product is not None
    return plan_steps(product).count


def test_as_many_as_instructions():
    assert _count(_ROW_MAJOR, _PLAIN) == 4


@together(
    ("shared", "registers", "engine"),
    [
        ("", _PLAIN, ""),  # no layout to load from
        (_ROW_MAJOR, "", ""),  # none to load to
        (_ENDS, _PLAIN, " engine ldmatrix"),  # rows that are no matrices
        (_ROW_MAJOR, _fragments((2, 24, 12, 3)), ""),  # registers of rows and of K alternate
        (_ROW_MAJOR, _fragments((2, 8, 4, 1), " + R[2 : 64]"), ""),  # elements in two registers
    ],
)
def test_whole_where_fragments_do_not_fall_into_steps(shared: str, registers: str, engine: str):
    assert _count(shared, registers, engine) == 1


@together(
    ("layout", "expected"),
    [
        ("S[(4, 2, 2) : (1@laneid, 8, 2)] + 4", "S[(4, 4) : (1@laneid, 1)]"),
        ("S[(2, 4) : (4, 1)] + 1@laneid", "S[8 : 1] + 1@laneid"),
        ("S[(2, 3) : (1, 1)]", "expected registers whose iters nest, found S[(2, 3) : (1, 1)]"),
        ("S[(2, 4) : (2, 1)]", "expected registers whose iters nest, found S[(2, 4) : (2, 1)]"),
        ("S[2 : 1] + R[2 : 4]", "expected every element once in the registers of a thread, found S[2 : 1] + R[2 : 4]"),
    ],
)
def test_registers_without_gaps(layout: str, expected: str) -> None:
    try:
        found = str(_packed(TileLayout.parse(layout)))
    except LayoutError as error:
        found = str(error)
    assert found == expected
