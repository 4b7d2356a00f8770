"""Register tiles with one layout, or with one that follows: what operations state, and what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.ir import SSAValue

from tirx.dialects.tirx import BroadcastOp, KernelOp, MapOp, ReduceOp, TileType
from tirx.layout import TileLayout
from tirx.passes.ir.register_classes import register_classes
from tirx.passes.layouts.register_layouts import LayoutFlow, insert_conversions, mismatch


def _kernel(body: str) -> KernelOp:
    text = f"""
!t = !tirx.tile<32x4xf32, register>
!r = !tirx.tile<32x1xf32, register>
!c = !tirx.tile<1x4xf32, register>
tirx.kernel @k() target("sm_90a") threads(32) {{
  %t = tirx.zero : !t
  %u = tirx.zero : !t
  {body}
  tirx.return
}}"""
    return next(op for op in parsed(text).walk() if isinstance(op, KernelOp))


ROWS = "%r = tirx.reduce %u dim(1) add : !t -> !r"
COLUMNS = "%c = tirx.reduce %t dim(0) add : !t -> !c"
TIED = """%v = tirx.map ins(%t, %u : !t, !t) {
  ^bb(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tirx.yield %z : f32
  } -> !t"""
CHANGED = "%v = tirx.convert %t : !t -> !t\n  %r = tirx.reduce %v dim(1) add : !t -> !r"


@together(
    ("body", "has_rows", "combined"),
    [
        ("", False, []),
        (ROWS, False, []),
        (COLUMNS, False, [(0,)]),
        (ROWS + "\n" + COLUMNS, False, [(0,)]),
        (ROWS + "\n" + TIED, True, [(1,)]),
        (COLUMNS + "\n" + TIED, False, [(0,)]),
        # A change of layout ties nothing.
        (CHANGED, False, []),
    ],
)
def test_what_becomes_of_a_tile(body: str, has_rows: bool, combined: list[tuple[int, ...]]) -> None:
    kernel = _kernel(body)
    flow = LayoutFlow(kernel, register_classes(kernel))
    first = kernel.body.block.first_op
    assert first is not None
    tile = flow.registers.of(first.results[0])
    assert (flow.has_rows(tile), flow.combined(tile)) == (has_rows, combined)


LANES = "#tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>"
TURNED = "#tirx.tile_layout<S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]>"
ONE = "#tirx.tile_layout<S[(32, 1) : (1@laneid, 1)]>"
OTHER = "#tirx.tile_layout<S[(2, 16, 1) : (1@laneid, 2@laneid, 1)]>"


def _tile(dims: str, layout: str) -> str:
    return f"!tirx.tile<{dims}xf32, register{', ' if layout else ''}{layout}>"


@together(
    ("whole", "part", "problem"),
    [
        (LANES, ONE, False),
        (LANES, "", False),
        ("", ONE, False),
        ("", "", False),
        (LANES, OTHER, True),
        (TURNED, ONE, True),
        (TURNED, OTHER, False),
    ],
)
def test_parts_follow_from_wholes(whole: str, part: str, problem: bool) -> None:
    """In reductions, broadcasts and maps of a tile with one element a row; what has no layout fits everything."""
    big, small = _tile("32x4", whole), _tile("32x1", part)
    kernel = _kernel(f"""
  %a = tirx.zero : {big}
  %b = tirx.reduce %a dim(1) add : {big} -> {small}
  %c = tirx.broadcast %b : {small} -> {big}
  %d = tirx.map ins(%a, %b : {big}, {small}) {{
  ^bb(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tirx.yield %z : f32
  }} -> {big}""")
    ops = [op for op in kernel.walk() if isinstance(op, ReduceOp | BroadcastOp | MapOp)]
    for op in ops:
        found = mismatch(op)
        assert (found is not None) == problem
        assert found is None or found.startswith("expected a tile with layout S[")
    assert [[(found.whole, found.part, found.dims) for found in op.reductions()] for op in ops] == [
        [(ops[0].operands[0], ops[0].results[0], (1,))],
        [(ops[1].results[0], ops[1].operands[0], (1,))],
        [(ops[2].results[0], ops[2].operands[1], (1,))],
    ]
    assert [sum(map(len, op.same_layout())) for op in ops] == [0, 0, 2]


SPLIT = "#tirx.tile_layout<S[(2, 16, 4) : (16@laneid, 1@laneid, 1)]>"


@together(
    ("to", "names"),
    [
        (LANES, ["zero", "reduce"]),
        (SPLIT, ["zero", "builtin.unrealized_conversion_cast", "reduce"]),  # the same in other words
        (TURNED, ["zero", "convert", "reduce"]),
        ("", ["zero", "convert", "reduce"]),
    ],
)
def test_changes_of_layout_that_change_nothing(to: str, names: list[str]) -> None:
    source, result, part = _tile("32x4", LANES), _tile("32x4", to), _tile("32x1", "")
    kernel = _kernel(f"""
  %a = tirx.zero : {source}
  %b = tirx.convert %a : {source} -> {result}
  %c = tirx.reduce %b dim(1) add : {result} -> {part}""")
    before = list(kernel.body.block.ops)[-2].operands[0].type
    insert_conversions(kernel)
    ops = list(kernel.body.block.ops)[2:-1]
    assert [op.name.removeprefix("tirx.") for op in ops] == names
    assert all(tuple(later.operands) == tuple(earlier.results) for earlier, later in pairwise(ops))
    assert ops[-1].operands[0].type == before and len(list(ops[0].results[0].uses)) == 1


@pytest.mark.parametrize("tiles", [1, 16])
def test_spreading_asks_each_operation_a_few_times(tiles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a chain is and whichever end has the layout: time grows with the number of operations only."""
    asked: list[int] = []
    for length in (16, 32):
        lines = [f"%t{i} = tirx.zero : !t" for i in range(tiles)]
        value = "%t"
        for i in range(length):
            lines.append(
                f"%v{i} = tirx.map ins({value}, %t{i % tiles} : !t, !t) {{\n^bb(%x: f32, %y: f32):\n"
                "%z = arith.addf %x, %y : f32\ntirx.yield %z : f32\n} -> !t"
            )
            value = f"%v{i}"
        kernel = _kernel("\n".join(lines))
        calls: list[MapOp] = []

        def same_layout(op: MapOp, calls: list[MapOp] = calls) -> Sequence[Sequence[SSAValue]]:
            calls.append(op)
            return [[*op.ins, *op.res]]

        monkeypatch.setattr(MapOp, "same_layout", same_layout)
        flow = LayoutFlow(kernel, register_classes(kernel))
        last = [op for op in kernel.body.block.ops if isinstance(op, MapOp)][-1]
        layout = TileLayout.parse("S[(32, 4) : (1@laneid, 1)]")
        placed = [(flow.registers.of(last.res[0]), layout, "")]
        for registers, layout, _ in chain(placed, flow.spread()):
            flow.registers.retype(registers, lambda type_, layout=layout: type_.with_layout(layout))
            flow.placed(registers)
        assert all(
            TileType.of(tile).layout is not None for op in kernel.walk() if isinstance(op, MapOp) for tile in op.ins
        )
        asked.append(len(calls))
    assert asked[1] <= 2.5 * asked[0]
