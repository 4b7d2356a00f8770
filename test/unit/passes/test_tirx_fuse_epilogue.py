"""The shared tile that a register tile takes on its way to global memory."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.tirx_fuse_epilogue import _staged_type  # pyright: ignore[reportPrivateUsage]


def _register(text: str) -> TileType:
    alloc = f"%r = tirx.alloc : !tirx.tile<{text}, register>"
    kernel = f'tirx.kernel @k() target("sm_90a") threads(32) {{\n  {alloc}\n  tirx.return\n}}'
    module = parsed(kernel)
    return next(TileType.of(op.results[0]) for op in module.walk() if op.name == "tirx.alloc")


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
