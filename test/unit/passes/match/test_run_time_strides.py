"""Layouts of tiles behind run-time strides: numbers in place of the strides, and tiles that have none."""

from __future__ import annotations

import re

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.ir import SSAValue

from tirx.dialects.tirx import SubviewOp, TileType, ViewOp
from tirx.hw.errors import ThreadCopyError
from tirx.passes.match.bulk_copies import plan_thread_copies
from tirx.passes.match.run_time_strides import (
    are_multiples,
    memory_layout,
    placed,
    run_time_strides,
    why_beyond_threads,
)


def _tile(memref: str, tile: str, part: tuple[str, str] | None = None) -> SSAValue:
    """A view of all dimensions of a memref, or the part of it at `part[0]` of the tile `part[1]`."""
    indices = ", ".join(["%c0"] * (memref.count("x")))
    text = f"""
tirx.kernel @k(%a: memref<{memref}>) target("sm_100a") threads(32) {{
  %c0 = arith.constant 0 : index
  %t = tirx.view %a[{indices}] : memref<{memref}> -> !tirx.tile<{tile}, global>
"""
    if part is not None:
        text += f"  %p = tirx.subview %t[{part[0]}] : !tirx.tile<{tile}, global> -> !tirx.tile<{part[1]}, global>\n"
    module = parsed(text + "  tirx.return\n}")
    kind = ViewOp if part is None else SubviewOp
    return next(op.results[0] for op in module.walk() if isinstance(op, kind))


@together(
    ("memref", "tile", "strides", "multiples"),
    [
        ("6x5x24xf16", "3x24xf16", {}, True),
        ("6x?x24xf16", "3x24xf16", {0: 0}, True),
        ("6x?x4xf16", "2x3x4xf16", {0: 1 << 20}, False),
        ("?x2x?x4xf16", "3x4xf16", {1: 0, 0: 0}, False),
        ("?x2x?x12xf32", "3x2x3x12xf32", {1: 1 << 20, 0: 1 << 40}, True),
        ("5x?x3x4xi8", "3x4xi8", {0: 0}, False),
        ("5x?x3x16xi8", "5x1x3x16xi8", {0: 1 << 20}, True),
        ("5x?xi8", "3x16xi8", {0: 1 << 20}, False),
        ("6x24xf16, strided<[?, 1]>", "3x24xf16", {0: 1 << 20}, False),
        ("?x?x?x?xf16", "2x3x8x24xf16", {2: 1 << 7, 1: 1 << 10, 0: 1 << 12}, False),
        ("?x?x?x?xf16", "2x3x8x127xf16", {2: 1 << 7, 1: 1 << 10, 0: 1 << 12}, False),
        ("?x?x?x?xf16", "2x3x8x128xf16", {2: 1 << 8, 1: 1 << 11, 0: 1 << 13}, False),
        ("6x5xi8, strided<[?, 2097151]>", "2x2xi8", {0: 1 << 22}, False),
    ],
)
def test_numbers_of_strides(memref: str, tile: str, strides: dict[int, int], multiples: bool) -> None:
    view = _tile(memref, tile)
    assert run_time_strides(view) == strides and list(run_time_strides(view)) == list(strides)
    assert are_multiples(view) is multiples


STATIC = "expected static strides of 0 or more beside run-time strides, found memref<{}>"


@together(
    ("memref", "tile", "problem"),
    [
        ("6x24xi8, strided<[?, 1]>", "3x24xi8", None),
        ("6x24xi4, strided<[?, 1]>", "3x24xi4", None),
        (
            "6x24xi4, strided<[1, ?]>",
            "3x24xi4",
            "expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found ",
        ),
        (
            "6x24xf6E2M3FN, strided<[?, 1]>",
            "3x24xf6E2M3FN",
            "expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found ",
        ),
        ("6x24xf32, strided<[?, ?]>", "3x24xf32", None),
        ("6x24x8xf32, strided<[?, ?, ?]>", "3x24xf32", None),
        ("6x24x8xf32, strided<[?, ?, ?]>", "2x3x8xf32", None),
        ("6x4xf32, strided<[?, 0]>", "3x4xf32", None),
        ("6x4xf32, strided<[?, -1]>", "3x4xf32", STATIC),
        ("6x4xf32, strided<[?, 349525]>", "2x4xf32", None),
        ("6x5xf32, strided<[?, 262143]>", "2x5xf32", None),
        ("6x5xf32, strided<[?, 9007199254740991]>", "2x5xf32", None),
        (
            "6x5xf32, strided<[?, 9007199254740992]>",
            "4x5xf32",
            "expected a tile whose offsets have at most 56 bits, found !tirx.tile<4x5xf32, global> in ",
        ),
        ("6x5x7xf32, strided<[2000000, ?, 1]>", "5x7xf32", None),
    ],
)
def test_tiles_that_threads_do_not_find(memref: str, tile: str, problem: str | None) -> None:
    expected = problem
    if problem is not None:
        expected = problem.format(memref) if "{" in problem else f"{problem}memref<{memref}>"
    view = _tile(memref, tile)
    assert why_beyond_threads(view) == expected
    assert (memory_layout(view) is None) == (problem is not None)
    if problem is not None:
        with pytest.raises(ThreadCopyError, match=re.escape(str(expected))):
            plan_thread_copies(view, TileType.of(view), 32)


@together(
    ("memref", "tile", "part", "layout"),
    [
        ("6x24xf32, strided<[?, 1]>", "3x24xf32", None, "S[(3, 24) : (1048576, 1)]"),
        ("6x24xf32, strided<[?, 0]>", "3x24xf32", None, "S[(3, 24) : (1048576, 0)]"),
        ("5x6x24xf32, strided<[?, 30, 1]>", "3x24xf32", None, "S[(3, 24) : (30, 1)]"),
        ("5x6x24xf32, strided<[30, ?, 1]>", "4x3x24xf32", None, "S[(4, 3, 24) : (30, 1048576, 1)]"),
        ("5x?x?x4xf32", "2x3x4xf32", None, "S[(2, 3, 4) : (1048576, 4, 1)]"),
        ("6x24xf32, strided<[?, 3]>", "5x24xf32", ("2, 7", "3x4xf32"), "S[(3, 4) : (1048576, 3)] + 2097173"),
    ],
)
def test_layouts(memref: str, tile: str, part: tuple[str, str] | None, layout: str) -> None:
    view = _tile(memref, tile, part)
    assert str(memory_layout(view)) == layout
    assert str(placed(view).layout) == layout


def test_tiles_without_run_time_strides_stay() -> None:
    view = _tile("6x24xf32", "3x24xf32")
    assert memory_layout(view) is None and placed(view) is view.type
