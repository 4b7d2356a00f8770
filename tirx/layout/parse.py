"""`parse_layout`: any layout text to its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tirx.layout.compose import ComposeLayout
from tirx.layout.errors import LayoutError
from tirx.layout.notation import ParsedCompose, ParsedTile, read_layout
from tirx.layout.shape import Shape
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout

if TYPE_CHECKING:
    from tirx.layout.symbolic import SymbolicTileLayout

Layout: TypeAlias = TileLayout | SwizzleLayout | ComposeLayout


def parse_layout(text: str) -> Layout | SymbolicTileLayout:
    """Reads a tile, swizzle or compose layout, or a tile whose outermost extent is a symbol: S[(n, 64) : (64, 1)].

    LayoutError carries the character offset of the mistake.

    >>> from tirx.layout import parse_layout
    >>> parse_layout("Swizzle(3, 3, 3)")
    SwizzleLayout(per_element=3, swizzle_len=3, atom_len=3, swizzle_inner=True)
    """
    try:
        parsed = read_layout(text)
    except LayoutError:
        # Only what is no other layout can be symbolic, so that reading the others does not load the module.
        from tirx.layout.symbolic import SymbolicTileLayout

        if SymbolicTileLayout.is_symbolic(text):
            return SymbolicTileLayout.parse(text)
        raise
    if isinstance(parsed, ParsedTile):
        return TileLayout.from_parsed(parsed)
    if isinstance(parsed, ParsedCompose):
        return ComposeLayout.from_parsed(parsed)
    return SwizzleLayout.from_parsed(parsed)


def concrete(layout: Layout | SymbolicTileLayout) -> Layout:
    """The layout itself; LayoutError when its outermost extent is a symbol.

    >>> from tirx.layout import TileLayout, concrete
    >>> concrete(TileLayout("S[8, 4]")) == TileLayout("S[8, 4]")
    True
    """
    if not isinstance(layout, TileLayout | SwizzleLayout | ComposeLayout):
        raise LayoutError(f"expected a layout with numbers as extents, found {layout}; bind makes one")
    return layout


def resolve(layout: Layout | SymbolicTileLayout, shape: Shape) -> TileLayout | ComposeLayout:
    """The layout of a tensor of that shape: a bare swizzle permutes its row-major addresses.

    LayoutError when the outermost extent is a symbol.

    >>> from tirx.layout import SwizzleLayout, resolve
    >>> print(resolve(SwizzleLayout(3, 3, 3), (8, 64)).tile)
    S[(8, 64) : (64, 1)]
    """
    layout = concrete(layout)
    if isinstance(layout, SwizzleLayout):
        return ComposeLayout(layout, TileLayout.row_major(shape))
    return layout
