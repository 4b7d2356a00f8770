"""Tiles of global memory: where they begin, how they are aligned, and which of their accesses lie within the bounds."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.ir import SSAValue

from tirx.dialects.tirx import KernelOp, ViewOp
from tirx.hw.errors import ClippedViewError
from tirx.passes.ir.views import (
    ClipPlan,
    Origin,
    access_bytes,
    argument_number,
    plan_clip,
    surely_negative_start,
    unproved_starts,
    view_alignment,
)

KERNEL = """
tirx.kernel @k(%first: index, %a: {memref}) target("sm_100a") grid(7) threads(32) {{
  %c0 = arith.constant 0 : index
  %x = tirx.block_id x
  %row = arith.constant {row} : index
  %column = arith.constant {column} : index
  %by = arith.constant {by} : index
  %moving = arith.muli %x, %by : index
  %from = arith.addi %moving, %column : index
  %t = tirx.view %a[{indices}] {clipped} : {memref} -> !tirx.tile<{tile}>
  {part}
  tirx.return
}}
"""


def _tile(
    memref: str,
    tile: str,
    indices: str = "%row, %column",
    *,
    row: int = 0,
    column: int = 0,
    by: int = 1,
    clipped: str = "clipped",
    part: str = "",
) -> SSAValue:
    """A view of an argument, or the part of it that the text `part` makes."""
    text = KERNEL.format(
        memref=memref,
        tile=tile if "global" in tile else f"{tile}, global",
        indices=indices,
        row=row,
        column=column,
        by=by,
        clipped=clipped,
        part=part,
    )
    module = parsed(text)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return next(op.results[0] for op in reversed(list(kernel.body.block.ops)) if op.results)


Bound = tuple[int | None, int | None, int, int]
"""Dimensions of the memref and of the tile, extent, and where a part begins in the view."""


def _bounds(plan: ClipPlan) -> list[Bound]:
    return [(bound.of_memref, bound.of_tile, bound.extent, bound.first) for bound in plan.bounds]


@together(
    ("memref", "tile", "options", "bounds", "inner", "run", "row_run", "never_whole"),
    [
        # What is surely inside has no bounds; one row or column more has.
        ("100x48xf32", "20x24xf32", {"row": 80, "column": 24}, None, 0, 0, 0, False),
        ("100x48xf32", "20x24xf32", {"row": 81, "column": 24}, [(0, 0, 20, 0)], 1, 8, 8, True),
        ("100x48xf32", "20x24xf32", {"row": 80, "column": 25}, [(1, 1, 24, 0)], 1, 1, 1, True),
        ("100x48xf32", "20x24xf32", {"row": 80, "column": 28}, [(1, 1, 24, 0)], 1, 4, 4, True),
        ("100x48xf32", "20x24xf32", {"row": -1, "column": 24}, [(0, 0, 20, 0)], 1, 8, 8, False),
        ("100x48xf32", "20x24xf32", {"row": -1, "column": 28}, [(0, 0, 20, 0), (1, 1, 24, 0)], 1, 4, 4, True),
        # A tile as long as the memref is whole, and one that is longer is not.
        ("19x48xf32", "19x48xf32", {"row": -1}, [(0, 0, 19, 0)], 1, 16, 16, False),
        ("18x48xf32", "18x48xf32", {"row": 1}, [(0, 0, 18, 0)], 1, 16, 16, True),
        ("18x48xf32", "19x48xf32", {"row": -1}, [(0, 0, 19, 0)], 1, 16, 16, True),
        # Rows that end at the bound, and those that are not a multiple of an access.
        ("64x40xf32", "16x32xf32", {"indices": "%row, %moving", "by": 8}, [(1, 1, 32, 0)], 1, 8, 8, False),
        ("64x52xf32", "16x32xf32", {"indices": "%row, %moving", "by": 8}, [(1, 1, 32, 0)], 1, 4, 4, False),
        # One row needs no stride: only its own elements count.
        ("64x50xf32", "1x32xf32", {"indices": "%row, %moving", "by": 16}, [(1, 1, 32, 0)], 1, 2, 16, False),
        ("64x50xf32", "2x32xf32", {"indices": "%row, %moving", "by": 16}, [(1, 1, 32, 0)], 1, 2, 2, False),
        ("64x?xf32", "1x32xf32", {"indices": "%row, %moving", "by": 16}, [(1, 1, 32, 0)], 1, 1, 16, False),
        ("64x?xf32", "2x32xf32", {"indices": "%row, %moving", "by": 16}, [(1, 1, 32, 0)], 1, 1, 16, False),
        # A dimension that the tile does not have.
        (
            "6x30x36xf16",
            "10x12xf16",
            {"indices": "%x, %row, %column", "row": 20, "column": 12},
            [(0, None, 1, 0)],
            1,
            4,
            4,
            False,
        ),
        ("30x5xf16, strided<[1, 40]>", "24x3xf16", {"row": 8, "column": 1}, [(0, 0, 24, 0)], 0, 2, 8, True),
        ("30x5xf16, strided<[10, 2]>", "24x3xf16", {"row": 8, "column": 1}, [(0, 0, 24, 0)], None, 1, 1, True),
        # A part begins behind its view, whose own bounds it may not reach.
        (
            "100x48xf32",
            "40x48xf32",
            {"row": 70, "part": "%p = tirx.subview %t[20, 8] : !tirx.tile<40x48xf32, global> -> "
             "!tirx.tile<20x12xf32, global>"},
            [(0, 0, 20, 20)],
            1,
            4,
            4,
            True,
        ),
        (
            "100x48xf32",
            "40x48xf32",
            {"row": 70, "part": "%p = tirx.subview %t[10, 8] : !tirx.tile<40x48xf32, global> -> "
             "!tirx.tile<20x12xf32, global>"},
            None,
            0,
            0,
            0,
            False,
        ),
        (
            "100x48xf32",
            "40x48xf32",
            {"row": -30, "part": "%p = tirx.subview %t[30, 8] : !tirx.tile<40x48xf32, global> -> "
             "!tirx.tile<10x12xf32, global>"},
            None,
            0,
            0,
            0,
            False,
        ),
        (
            "100x48xf32",
            "40x48xf32",
            {"row": -30, "part": "%p = tirx.subview %t[29, 8] : !tirx.tile<40x48xf32, global> -> "
             "!tirx.tile<10x12xf32, global>"},
            [(0, 0, 10, 29)],
            1,
            4,
            4,
            False,
        ),
    ],
)  # fmt: skip
def test_clipped_tiles(
    memref: str,
    tile: str,
    options: dict[str, int],
    bounds: list[Bound] | None,
    inner: int | None,
    run: int,
    row_run: int,
    never_whole: bool,
) -> None:
    plan = plan_clip(_tile(f"memref<{memref}>", tile, **options))  # pyright: ignore[reportArgumentType]
    if bounds is None:
        assert plan is None
    else:
        assert plan is not None
        found = (_bounds(plan), plan.argument, plan.inner, plan.run, plan.row_run, plan.never_whole)
        assert found == (bounds, 1, inner, run, row_run, never_whole)


WORDS = "!tirx.tile<16x4x3xi32, global, #tirx.tile_layout<S[(16, 4, 3) : (12, 3, 1)]>>"
PART = "!tirx.tile<7x2x3xi32, global, #tirx.tile_layout<S[(7, 2, 3) : (12, 3, 1)]>>"
PACKED = "16x64xf6E2M3FN, global, #tirx.tile_layout<S[(16, 64) : (64, 1)]>"


def _words(rows: int, columns: int, at: tuple[int, int] | None = None, **options: int) -> SSAValue:
    part = f"%w = tirx.words %t : !tirx.tile<{PACKED}> -> {WORDS}"
    if at is not None:
        part += f"\n  %p = tirx.subview %w[{at[0]}, {at[1]}, 0] : {WORDS} -> {PART}"
    return _tile(f"memref<{rows}x{columns}xf6E2M3FN>", PACKED, part=part, **options)  # pyright: ignore[reportArgumentType]


def test_words_have_the_bounds_of_their_elements() -> None:
    """Rows may be missing; elements of a row may not. Words 1 and 2 of a row are elements 16 to 47."""
    plan = plan_clip(_words(30, 64, row=20))
    assert plan is not None
    assert (_bounds(plan), plan.dims, plan.inner, plan.run, plan.row_run, plan.never_whole) == (
        [(0, 0, 16, 0)], (16, 4, 3), None, 1, 1, True,
    )  # fmt: skip
    part = _words(30, 64, (5, 1), row=20)
    assert (origin := Origin.of(part)) is not None and origin.start == (5, 16)
    plan = plan_clip(part)
    assert plan is not None
    assert (_bounds(plan), plan.dims, plan.never_whole) == ([(0, 0, 7, 5)], (7, 2, 3), True)
    assert plan_clip(_words(30, 64, (3, 1), row=20)) is None
    assert plan_clip(_words(36, 48, (3, 1), row=20)) is None
    with pytest.raises(ClippedViewError) as error:
        plan_clip(_words(36, 47, (3, 1), row=20))
    assert str(error.value) == "expected a clipped view of 6-bit elements whose rows are all in the memref"


@together(
    ("memref", "tile", "options", "expected"),
    [
        ("64x48xf32", "16x8xf32", {"row": 4, "column": 8}, 16),
        ("64x48xf32", "16x8xf32", {"row": 5, "column": 6}, 8),
        ("64x48xf32", "16x8xf32", {"row": 5, "column": 7}, 4),
        ("64x50xf32", "16x8xf32", {"row": 5, "column": 8}, 8),
        ("64x50xf32", "16x8xf32", {"row": 6, "column": 8}, 16),
        ("64x48xi4", "16x8xi4", {"row": 5, "column": 6}, 1),
        ("64x48xi4", "16x8xi4", {"row": 5, "column": 7}, 0),
        ("64x48xf32, strided<[?, 1]>", "16x8xf32", {"row": 1, "column": 2}, 8),
    ],
)
def test_alignments_of_views(memref: str, tile: str, options: dict[str, int], expected: int) -> None:
    view = _tile(f"memref<{memref}>", tile, clipped="", **options).owner  # pyright: ignore[reportArgumentType]
    assert view_alignment(view) == expected  # pyright: ignore[reportArgumentType]


@together(("places", "expected"), [("[%t], %c0", 16), ("%c0, [%t]", 4), ("[%t], %c3", 4)])
def test_alignments_of_index_tiles(places: str, expected: int) -> None:
    """Rows that they name need not be neighbours."""
    text = f"""tirx.kernel @k(%a: memref<64x64xf32>) threads(32) {{
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %t = tirx.zero : !tirx.tile<8xi32, register>
      %v = tirx.view %a[{places}] : memref<64x64xf32>, !tirx.tile<8xi32, register> -> !tirx.tile<8x8xf32, global>
      tirx.return
    }}"""
    (view,) = (op for op in parsed(text).walk() if isinstance(op, ViewOp))
    assert view_alignment(view) == expected


@together(
    ("memref", "tile", "options", "expected"),
    [
        ("64x48xf32", "16x8xf32", {"row": 4, "column": 8}, 16),
        ("64x48xf32", "16x8xf32", {"row": 5, "column": 6}, 8),
        ("64x48xf32", "16x8xf32", {"row": 5, "column": 42}, 8),
        ("64x48xf32", "16x8xf32", {"row": 5, "column": 44}, 16),
        ("64x50xf32", "1x32xf32", {"row": 4, "column": 48}, 8),
        ("64x45xf32", "1x8xf32", {"row": 4, "column": 40}, 4),
        ("64x46xf16", "1x8xf16", {"row": 8, "column": 40}, 4),
        ("64x45xi8", "1x8xi8", {"row": 16, "column": 40}, 1),
        ("64x45xi4", "1x8xi4", {"row": 32, "column": 40}, 1),
        ("64x42xi4", "1x8xi4", {"row": 32, "column": 40}, 1),
        ("64x44xi4", "1x8xi4", {"row": 32, "column": 40}, 2),
    ],
)
def test_widths_of_accesses(memref: str, tile: str, options: dict[str, int], expected: int) -> None:
    assert access_bytes(_tile(f"memref<{memref}>", tile, **options)) == expected  # pyright: ignore[reportArgumentType]


def test_starts_before_the_memref() -> None:
    """Blocks 0 to 6 start at 0, 8, ... minus 3: block 0 three elements before the memref."""
    whole = _tile("memref<64x48xf32>", "16x8xf32", "%row, %from", column=-3, by=8, row=2)
    assert unproved_starts(whole) == (1,) and surely_negative_start(whole) == (1, -3)
    types = "!tirx.tile<16x8xf32, global> -> !tirx.tile<16x5xf32, global>"
    for at, start in ((2, -1), (3, None)):
        part = _tile(
            "memref<64x48xf32>", "16x8xf32", "%row, %from", column=-3, by=8, row=2,
            part=f"%p = tirx.subview %t[1, {at}] : {types}",
        )  # fmt: skip
        assert unproved_starts(part) == (() if start is None else (1,))
        assert surely_negative_start(part) == (None if start is None else (1, start))
    inside = _tile("memref<64x48xf32>", "16x8xf32", "%row, %from", column=-3, by=8, clipped="clipped begins_inside")
    assert unproved_starts(inside) == () and surely_negative_start(inside) is None
    anywhere = _tile("memref<64x48xf32>", "16x8xf32", "%first, %column")
    assert unproved_starts(anywhere) == (0,) and surely_negative_start(anywhere) is None


def test_where_parts_begin() -> None:
    """Along a dimension of the memref that the tile does not have, where the view does."""
    part = "%p = tirx.subview %t[2, 3] : !tirx.tile<10x12xf16, global> -> !tirx.tile<4x5xf16, global>"
    origin = Origin.of(_tile("memref<6x30x36xf16>", "10x12xf16", "%x, %row, %column", part=part))
    assert origin is not None and [origin.first(d) for d in range(3)] == [0, 2, 3]


def test_arguments() -> None:
    view = _tile("memref<64x48xf32>", "16x8xf32")
    assert argument_number(view.owner.operands[0]) == 1  # pyright: ignore
    assert argument_number(view) is None
    assert argument_number(view.owner.parent_op().body.block.args[0]) == 0  # pyright: ignore
