"""Boxes of a layout."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from tirx.layout.domain import Region, Shape, check_region, check_shape
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, NotStrided, accumulate, group_iters, infer_iters
from tirx.layout.tile import TileLayout

_LARGEST_TABLE = 1 << 24
"""Elements up to which a slice that does not split by dimension is decided element by element."""


def _box(table: dict[str, NDArray[np.int64]], dims: Shape, bounds: Region) -> dict[str, NDArray[np.int64]]:
    """The flattened entries of a box of a flat table, relative to the first."""
    box = tuple(slice(begin, end) for begin, end in bounds)
    cut = {name: values.reshape(dims)[box].reshape(-1) for name, values in table.items()}
    return {name: values - values[0] for name, values in cut.items()}


def slice_region(layout: TileLayout, shape: Shape, region: Region) -> TileLayout:
    """See TileLayout.slice.

    When the shard splits by dimension, every dimension is decided on its own; otherwise the box is decided as a
    whole, element by element.
    """
    dims = check_shape(shape, layout.size())
    bounds = check_region(region, dims)
    base = layout.apply([begin for begin, _ in bounds], dims)
    try:
        shard, seps = group_iters(layout.shard, dims, "m")
    except LayoutError as error:
        if layout.size() > _LARGEST_TABLE:
            raise LayoutError(f"cannot slice: {error}") from None
        table = accumulate(layout.shard)
        count = prod(end - begin for begin, end in bounds)
        whole = infer_iters(_box(table, dims, bounds), count, "m")
        if isinstance(whole, NotStrided):
            raise LayoutError(f"region {bounds} of shape {dims} is no tile layout: {error}") from None
        return TileLayout(whole, layout.replica, base).canonicalize()
    parts: list[Iter] = []
    for d, (begin, end) in enumerate(bounds):
        iters = shard[seps[d] : seps[d + 1]]
        if (begin, end) == (0, dims[d]):
            parts += iters
            continue
        found = infer_iters(_box(accumulate(iters), (dims[d],), [(begin, end)]), end - begin, "m")
        if isinstance(found, NotStrided):
            raise LayoutError(
                f"no tile layout describes [{begin}, {end}) of dimension {d} of shape {dims}: "
                f"the longest part from {begin} that one does starts with [{begin}, {begin + found.prefix})"
            )
        parts += found
    return TileLayout(parts, layout.replica, base).canonicalize()
