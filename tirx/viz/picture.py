"""Pictures of tiles in SVG, without a browser."""

from __future__ import annotations

from tirx.layout import TileLayout
from tirx.layout.picture import svg
from tirx.viz.tile import Tile


def tile_svg(tile: Tile) -> str:
    """A tile as SVG: its elements with their coordinates; of large tiles the first rows and columns, in colours."""
    notes = [] if tile.name == str(tile.layout) else [tile.name]
    if tile.place:
        notes.append(tile.place)
    replica = tile.layout.replica if isinstance(tile.layout, TileLayout) else ()
    copies = len(tile.layout.owners(0))
    if copies > 1:
        notes.append(f"every element has {copies} owners{'' if replica else ', of which the first is shown'}")
    return svg(tile.layout.table(tile.shape), tile.shape, str(tile.layout), notes, replica=replica)
