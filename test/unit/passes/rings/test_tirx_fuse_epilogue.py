"""The shared tile that a register tile takes on its way to global memory."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import context, parsed

from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.rings.tirx_fuse_epilogue import (
    TirxFuseEpiloguePass,
    _staged_type,  # pyright: ignore[reportPrivateUsage]
)


def _register(text: str) -> TileType:
    alloc = f"%r = tirx.alloc : !tirx.tile<{text}, register>"
    kernel = f'tirx.kernel @k() target("sm_90a") threads(32) {{\n  {alloc}\n  tirx.return\n}}'
    module = parsed(kernel)
    return next(TileType.of(op.results[0]) for op in module.walk() if op.name == "tirx.alloc")


@together(
    ("tile", "swizzle", "rows"),
    [
        # Boxes of rows of 128, 64 and 32 bytes with the swizzle of that name.
        ("24x64xf16", (3, 3, 3), "S[(24, 1, 64) : (64, 1536, 1)]"),
        ("24x128xf16", (3, 3, 3), "S[(24, 2, 64) : (64, 1536, 1)]"),
        ("24x32xf16", (3, 2, 3), "S[(24, 1, 32) : (32, 768, 1)]"),
        ("24x96xf16", (3, 2, 3), "S[(24, 3, 32) : (32, 768, 1)]"),
        ("24x16xf16", (3, 1, 3), "S[(24, 1, 16) : (16, 384, 1)]"),
        ("16x96xf32", (2, 3, 3), "S[(16, 3, 32) : (32, 512, 1)]"),
        ("16x128xi8", (4, 3, 3), "S[(16, 1, 128) : (128, 2048, 1)]"),
        # Whole rows: several boxes of 32 bytes would be slower.
        ("24x48xf16", None, "S[(24, 48) : (48, 1)]"),
        ("24x8xf16", None, "S[(24, 8) : (8, 1)]"),
        ("8x240xi8", None, "S[(8, 240) : (240, 1)]"),
    ],
)
def test_layouts(tile: str, swizzle: tuple[int, int, int] | None, rows: str) -> None:
    found = _staged_type(_register(tile))
    assert isinstance(found, TileType) and found.memory is MemorySpace.SHARED
    plain = TileLayout.parse(rows)
    assert str(found.layout) == str(plain if swizzle is None else ComposeLayout(SwizzleLayout(*swizzle), plain))


@together(
    ("tile", "reason"),
    [
        ("2x24x64xf16", "a tile of 3 dimensions"),
        ("64xf16", "a tile of 1 dimensions"),
        ("12x64xf16", "12 rows of 64 elements of 16 bits"),
        ("16x64xf6E2M3FN", "16 rows of 64 elements of 6 bits"),
        ("24x20xf16", "rows of 20 elements of 16 bits"),
        ("24x264xf16", "rows of 264 elements of 16 bits"),
        ("24x272xi8", "rows of 272 elements of 8 bits"),
    ],
)
def test_tiles_without_one(tile: str, reason: str) -> None:
    assert _staged_type(_register(tile)) == reason


def _remarks(stores: int, padding: int) -> list[str]:
    """Remarks about stores of 12288 bytes each, beside a staged tile of 8192 bytes and another one."""
    store = "tirx.store %v, %gd : !d, !tirx.tile<64x96xf16, global>\n"
    module = parsed(f"""
!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x96xf16, register>
tirx.kernel @k(%a: memref<64x4096xf16>, %d: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sa = tirx.alloc : !s
  {f"%pad = tirx.alloc : !tirx.tile<{padding}xi8, shared>" if padding else ""}
  scf.for %k = %c0 to %n step %c64 {{
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }}
  %v = tirx.zero : !d
  %gd = tirx.view %d[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<64x96xf16, global>
  {store * stores}
  tirx.return
}}""")
    found: list[Diagnostic] = []
    with diagnostic_handler(found.append):
        TirxFuseEpiloguePass().apply(context(), module)
    return [each.message for each in found]


@pytest.mark.parametrize(
    ("padding", "left"),
    [(0, [182272 + 24576, 182272 + 12288, 182272]), (182272 + 12288, [12288, 0, 0]), (182272 + 13312, [11264] * 3)],
)
def test_room_beside_slots(padding: int, left: list[int]) -> None:
    """sm_90 has 232448 bytes: 1024 for barriers, and three slots of 8192, leave 206848."""
    expected = [
        "stored through 12288 bytes of shared memory, by tma_store"
        if 12288 <= before
        else f"stored directly: 12288 bytes have no room beside 3 slots, {before} are left"
        for before in left
    ]
    assert _remarks(3, padding) == expected
