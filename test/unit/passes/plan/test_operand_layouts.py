"""Layouts of operands in shared memory: stages, the copies that count, and the dimension of neighbours."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import f16

from tirx.dialects.tirx import AllocOp, KernelOp, MemorySpace, TileType
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.plan.operand_layouts import (
    _in_stages,  # pyright: ignore[reportPrivateUsage]
    _run_time_major,  # pyright: ignore[reportPrivateUsage]
    placed_copies,
)
from tirx.smem.swizzle_modes import Major


@pytest.mark.parametrize(
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
    """Registers have no place in memory, and run-time strides beyond those of threads none that is known."""
    row = TileLayout.parse("S[(8, 16) : (64, 1)]")
    column = TileLayout.parse("S[(8, 16) : (1, 8)]")
    placed = _alloc("64x64xf16", "8x16xf16, global, #tirx.tile_layout<S[(8, 16) : (64, 1)]>")
    ends = {copy.other.memory: copy.other.layout for copy in placed_copies(placed)}
    assert ends == {"global": row, "shared": column}
    unknown = _alloc("?x?x?x64xf16, strided<[?, ?, ?, 1]>", "8x16xf16, global")
    assert {copy.other.memory: copy.other.layout for copy in placed_copies(unknown)} == {"shared": column}


@pytest.mark.parametrize(
    ("strides", "major"),
    [("?, ?, 1", "K"), ("?, 1, ?", "MN"), ("1, ?, ?", None), ("1, ?, 1", "K"), ("1, 1, ?", "MN"), ("96, 16, 1", None)],
)
def test_neighbours_beside_run_time_strides(strides: str, major: Major | None) -> None:
    assert _run_time_major(_alloc(f"?x?x?xf16, strided<[{strides}]>", "8x16xf16, global")) == major
