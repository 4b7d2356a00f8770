"""`parse_layout`: any layout text to its value."""

from __future__ import annotations

from typing import TypeAlias

from tirx.layout.compose import ComposeLayout
from tirx.layout.notation import ParsedCompose, ParsedTile, read_layout
from tirx.layout.shape import Shape
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout

Layout: TypeAlias = TileLayout | SwizzleLayout | ComposeLayout


def parse_layout(text: str) -> Layout:
    """Reads a tile, swizzle or compose layout. LayoutError carries the character offset of the mistake.

    >>> from tirx.layout import parse_layout
    >>> parse_layout("Swizzle(3, 3, 3)")
    SwizzleLayout(per_element=3, swizzle_len=3, atom_len=3, swizzle_inner=True)
    """
    parsed = read_layout(text)
    if isinstance(parsed, ParsedTile):
        return TileLayout.from_parsed(parsed)
    if isinstance(parsed, ParsedCompose):
        return ComposeLayout.from_parsed(parsed)
    return SwizzleLayout.from_parsed(parsed)


def resolve(layout: Layout, shape: Shape) -> TileLayout | ComposeLayout:
    """The layout of a tensor of that shape: a bare swizzle permutes its row-major addresses.

    >>> from tirx.layout import SwizzleLayout, resolve
    >>> print(resolve(SwizzleLayout(3, 3, 3), (8, 64)).tile)
    S[(8, 64) : (64, 1)]
    """
    if isinstance(layout, SwizzleLayout):
        return ComposeLayout(layout, TileLayout.row_major(shape))
    return layout
