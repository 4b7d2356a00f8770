"""`parse_layout`: any layout text to its value."""

from __future__ import annotations

from typing import TypeAlias

from tirx.layout.compose import ComposeLayout
from tirx.layout.domain import Shape
from tirx.layout.notation import ComposeParts, TileParts, read_layout
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout

Layout: TypeAlias = TileLayout | SwizzleLayout | ComposeLayout


def parse_layout(text: str) -> Layout:
    """Reads a tile, swizzle or compose layout; LayoutError carries the character offset of the mistake."""
    parts = read_layout(text)
    if isinstance(parts, TileParts):
        return TileLayout.from_parts(parts)
    if isinstance(parts, ComposeParts):
        return ComposeLayout.from_parts(parts)
    return SwizzleLayout.from_parts(parts)


def resolve(layout: Layout, shape: Shape) -> TileLayout | ComposeLayout:
    """The layout of a tensor of that shape: a bare swizzle permutes its row-major addresses."""
    if isinstance(layout, SwizzleLayout):
        return ComposeLayout(layout, TileLayout.row_major(shape))
    return layout
