"""Pictures of layouts: one self-contained interactive page, SVG, PNG, PDF, and the terminal.

`tirx.viz` reads layouts in any notation that `tirx.layout` knows, and the tiles of a program. The command is
`tirx-viz`.
"""

from __future__ import annotations

from tirx.viz.page import page
from tirx.viz.picture import tile_svg
from tirx.viz.presets import presets
from tirx.viz.sources import read_tiles
from tirx.viz.tile import Tile

__all__ = ["Tile", "page", "presets", "read_tiles", "tile_svg"]
