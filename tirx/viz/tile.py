"""`Tile`: a layout with the shape, element type and place that pictures of it need."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.layout import ComposeLayout, LayoutError, TileLayout, element_type
from tirx.layout.shape import check_shape
from tirx.values import dataclass

DIGEST_PRIME = 67108859
"""Sums of products of two numbers below it are exact in the 53 bits of JavaScript's numbers."""

_MOST_DIGESTED = 1 << 16


@dataclass(frozen=True)
class Tile:
    """One layout to show.

    name: for headings. shape: logical dimensions, row-major. dtype: PTX name of the element type, which says how many
    bytes an element takes in shared memory. place: `file:line:column` of a tile of a program. group, note: for presets.
    Raises LayoutError for a shape of another size than the layout, and for an unknown element type.
    """

    name: str
    layout: TileLayout | ComposeLayout
    shape: tuple[int, ...]
    dtype: str = "f16"
    place: str | None = None
    group: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_shape(self.shape, self.layout.size()))
        object.__setattr__(self, "dtype", element_type(self.dtype).name)

    def json(self) -> dict[str, Any]:
        """Plain data for the page. Fields without content are left out."""
        data = {
            "name": self.name,
            "text": str(self.layout),
            "shape": list(self.shape),
            "dtype": self.dtype,
            "place": self.place,
            "group": self.group,
            "note": self.note,
            "digest": digest_of(self.layout),
        }
        return {name: value for name, value in data.items() if value not in (None, "")}


def digest_of(layout: TileLayout | ComposeLayout) -> int | None:
    """A number that depends on every entry of the layout's table; None for large layouts.

    The page computes it with its own algebra and says so when both differ.
    """
    if layout.size() > _MOST_DIGESTED:
        return None
    try:
        table = layout.flat_table()
    except LayoutError:
        return None
    flat = np.arange(layout.size(), dtype=np.int64)
    total = 0
    for k, name in enumerate(sorted(table)):
        weights = (flat * (k + 3) + k + 1) % DIGEST_PRIME
        total += int((table[name] % DIGEST_PRIME * weights % DIGEST_PRIME).sum())
    return total % DIGEST_PRIME
