"""The layout of a reduced tile: that of the whole one, without the dimensions that are combined."""

from __future__ import annotations

from collections.abc import Collection

from tirx.layout.axis import axis
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.shape import Shape
from tirx.layout.tile import TileLayout


def reduced(layout: TileLayout, shape: Shape, dims: Collection[int]) -> TileLayout:
    """
    The register layout of what a reduction along `dims` leaves of a tile of `shape`, in normal form.

    A thread that holds any element of a row holds what the row is combined to: iters of `dims` on thread axes become
    replicas, those on m go. Slots (axis m) of the other dimensions move together: the smallest stride becomes 1, and
    every other one as large as what the smaller ones reach. The order of the slots stays.

    Raises LayoutError when an iter cannot be cut at the dimensions, or walks backwards along m.
    """
    grouped, starts = layout.group(shape)
    gone = [k for d in dims for k in range(starts[d], starts[d + 1])]
    kept = [k for k in range(len(grouped.shard)) if k not in gone]
    strides: dict[int, int] = {}
    reach = 1
    for k in sorted(kept, key=lambda k: grouped.shard[k].stride):
        it = grouped.shard[k]
        if it.axis != "m" or it.extent == 1:
            continue
        if it.stride < 0:
            raise LayoutError(f"expected slots that count up, found {it} in {layout}")
        strides[k] = reach if it.stride else 0
        reach *= it.extent if it.stride else 1
    shard = [
        Iter(it.extent, strides.get(k, 0) if it.axis == "m" else it.stride, it.axis)
        for k, it in enumerate(grouped.shard)
        if k in kept
    ]
    copies = [it for k in gone if (it := grouped.shard[k]).axis != "m" and it.extent > 1]
    replica = [it for it in grouped.replica if it.axis != "m"]
    offset = [(name, count) for name, count in grouped.offset if axis(name).kind != "memory"]
    return TileLayout(shard, (*replica, *copies), offset).canonicalize()
