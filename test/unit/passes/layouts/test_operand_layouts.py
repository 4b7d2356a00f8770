"""Layouts of operands in shared memory: stages, the copies that count, and the dimension of neighbours."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import f16

from tirx.dialects.tirx import AllocOp, KernelOp, MemorySpace, MmaOp, TileType
from tirx.hw.dtypes import DType
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.layouts import operand_layouts
from tirx.passes.layouts.operand_layouts import (
    _in_stages,  # pyright: ignore[reportPrivateUsage]
    _run_time_major,  # pyright: ignore[reportPrivateUsage]
    _Use,  # pyright: ignore[reportPrivateUsage]
    placed_copies,
)
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.tcgen05.shapes import check_transposed_b


@together(
    ("dims", "expected"),
    [
        ((64, 40), "S[(64, 40) : (40, 1)]"),
        # 5120 bytes are five periods, 5200 six: 2560 and 3072 elements.
        ((3, 64, 40), "S[(3, 64, 40) : (2560, 40, 1)]"),
        ((3, 65, 40), "S[(3, 65, 40) : (3072, 40, 1)]"),
        ((2, 3, 5, 64, 40), "S[(2, 3, 5, 64, 40) : (38400, 12800, 2560, 40, 1)]"),
    ],
)
def test_stages_start_at_whole_periods(dims: tuple[int, ...], expected: str) -> None:
    tile = TileLayout.row_major(dims[-2:])
    type_ = TileType.get(dims, f16, MemorySpace.SHARED)
    assert _in_stages(tile, type_) == TileLayout.parse(expected)
    swizzle = SwizzleLayout(3, 3, 3)
    assert _in_stages(ComposeLayout(swizzle, tile), type_) == ComposeLayout(swizzle, TileLayout.parse(expected))


def _alloc(memref: str, view: str) -> AllocOp:
    text = f"""
!s = !tirx.tile<8x16xf16, shared>
!r = !tirx.tile<8x16xf16, register, #tirx.tile_layout<S[(8, 16) : (4@laneid, 1)]>>
!t = !tirx.tile<8x16xf16, shared, #tirx.tile_layout<S[(8, 16) : (1, 8)]>>
tirx.kernel @k(%a: memref<{memref}>) target("sm_90a") threads(32) {{
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  %r = tirx.zero : !r
  %g = tirx.view %a[{", ".join(["%c0"] * memref.count("x"))}] : memref<{memref}> -> !tirx.tile<{view}>
  tirx.copy %r, %s : !r, !s
  tirx.copy %g, %s : !tirx.tile<{view}>, !s
  tirx.copy %s, %t : !s, !t
  tirx.return
}}
"""
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    return next(op for op in kernel.walk() if isinstance(op, AllocOp))


def test_copies_to_and_from_placed_memory() -> None:
    """Registers have no place in memory; run-time strides count where the tile moves along them only."""
    row = TileLayout.parse("S[(8, 16) : (64, 1)]")
    column = TileLayout.parse("S[(8, 16) : (1, 8)]")
    placed = _alloc("64x64xf16", "8x16xf16, global, #tirx.tile_layout<S[(8, 16) : (64, 1)]>")
    ends = {copy.other.memory: copy.other.layout for copy in placed_copies(placed)}
    assert ends == {"global": row, "shared": column}
    unknown = _alloc("?x?x?x64xf16, strided<[?, ?, ?, 1]>", "8x16xf16, global")
    stand_in = TileLayout.parse("S[(8, 16) : (1048576, 1)]")
    ends = {copy.other.memory: copy.other.layout for copy in placed_copies(unknown)}
    assert ends == {"global": stand_in, "shared": column}


@together(
    ("strides", "major"),
    [("?, ?, 1", "K"), ("?, 1, ?", "MN"), ("1, ?, ?", None), ("1, ?, 1", "K"), ("1, 1, ?", "MN"), ("96, 16, 1", None)],
)
def test_neighbours_beside_run_time_strides(strides: str, major: Major | None) -> None:
    assert _run_time_major(_alloc(f"?x?x?xf16, strided<[{strides}]>", "8x16xf16, global")) == major


def _mma(rows: int, pair: str = "") -> MmaOp:
    text = f"""
!a = !tirx.tile<128x32xf8E4M3FN, shared>
!b = !tirx.tile<{rows}x32xf8E4M3FN, shared>
!d = !tirx.tile<128x{rows * 2 if pair else rows}xf32, tensor>
tirx.kernel @k() target("sm_100a") {"cluster(2) per_cta" if pair else ""} threads(128) {{
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  tirx.mma %a, %b, %d{pair} : !a, !b, !d
  tirx.return
}}
"""
    return next(op for op in parsed(text).walk() if isinstance(op, MmaOp))


@pytest.mark.parametrize("pair", ["", " pair"])
@pytest.mark.parametrize(
    ("rows", "layout", "problem", "asks"),
    [
        (16, "S[(16, 32) : (1, 16)]", None, True),
        (48, "S[(3, 16, 32) : (512, 1, 16)]", None, True),
        (48, "S[(48, 2, 16) : (16, 768, 1)]", None, False),
        (48, "S[(48, 32) : (33, 1)]", "the layout of K elements [0, 32) is not canonical: ", False),
    ],
)
def test_operand_b_of_8_bits(
    rows: int, layout: str, problem: str | None, asks: bool, pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block of a pair has half of N, which has steps of its own if B is MN-major."""
    mma = _mma(rows, pair)
    asked: list[tuple[str, int, int]] = []

    def check(dtype: DType, n: int, group: int) -> None:
        asked.append((dtype.name, n, group))
        check_transposed_b(dtype, n, group)

    monkeypatch.setattr(operand_layouts, "check_transposed_b", check)
    found = _Use(mma, 1, 32).problem(mma.b, TileLayout.parse(layout))
    assert found is None if problem is None else found is not None and found.startswith(problem)
    assert asked == ([("e4m3", 2 * rows, 2) if pair else ("e4m3", rows, 1)] if asks else [])


def test_operand_a_may_be_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(operand_layouts, "check_transposed_b")
    mma = _mma(48)
    assert _Use(mma, 0, 32).problem(mma.a, TileLayout.parse("S[(8, 16, 32) : (512, 1, 16)]")) is None


@together(
    ("layout", "parts", "is_legal"),
    [
        ("S[(128, 2, 16) : (16, 2048, 1)]", 1, True),
        ("S[(128, 2, 16) : (16, 2048, 1)]", 2, True),
        # Each half of the rows is canonical by itself, both together are not.
        ("S[(2, 64, 2, 16) : (4096, 16, 1024, 1)]", 1, False),
        ("S[(2, 64, 2, 16) : (4096, 16, 1024, 1)]", 2, True),
        # Quarters are, and so are no halves.
        ("S[(4, 32, 2, 16) : (2048, 16, 512, 1)]", 2, False),
        ("S[(4, 32, 2, 16) : (2048, 16, 512, 1)]", 4, True),
    ],
)
def test_rows_of_warpgroups(layout: str, parts: int, is_legal: bool) -> None:
    mma = _mma(48)
    found = _Use(mma, 0, 32, WGMMA_OPERANDS, parts=parts).problem(mma.a, TileLayout.parse(layout))
    assert (found is None) == is_legal
    assert found is None or found.startswith("the layout of K elements [0, 32) is not canonical: ")
