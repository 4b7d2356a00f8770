"""Queries about the physical places that the elements of a layout take.

Every iter moves on one axis only, so the map of a layout, its copies included, is a product of one map per axis, and
most questions are answered axis by axis.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tirx.layout.axis import axis, canonical_name
from tirx.layout.iters import Iter, accumulate, size_of
from tirx.layout.replica import canonical_replica, replica_offsets
from tirx.layout.tile import TileLayout


def inverse(layout: TileLayout, coord: Mapping[str, int]) -> list[int]:
    """See TileLayout.inverse. Axes are independent: each gives a set of partial flat indices, and sums of one
    of each are the answer."""
    for name in coord:
        axis(name)
    weights: list[int] = []
    weight = layout.size()
    for it in layout.shard:
        weight //= it.extent
        weights.append(weight)
    replicas = replica_offsets(layout.replica)
    offsets = layout.offsets
    flats = np.zeros(1, dtype=np.int64)
    for name in dict.fromkeys((*layout.axes, *coord)):
        own = [(it, w) for it, w in zip(layout.shard, weights, strict=True) if it.axis == name]
        partial = accumulate([Iter(it.extent, w) for it, w in own]).get("m", np.zeros(1, dtype=np.int64))
        if name in coord:
            place = accumulate([Iter(it.extent, it.stride) for it, _ in own]).get("m", np.zeros(1, dtype=np.int64))
            wanted = [coord[name] - offsets.get(name, 0) - step for step in replicas.get(name, (0,))]
            partial = partial[np.isin(place, wanted)]
        flats = (flats[:, None] + partial[None, :]).reshape(-1)
    return [int(flat) for flat in np.sort(flats)]


def is_injective(layout: TileLayout) -> bool:
    """See TileLayout.is_injective. The map is a product over axes, so every axis is decided on its own."""
    replica, _ = canonical_replica(layout.replica)
    shard = [Iter(it.extent, it.stride, canonical_name(it.axis)) for it in layout.shard if it.extent > 1]
    if any(it.stride == 0 for it in shard):
        return False
    steps = replica_offsets(replica)
    for name in {it.axis for it in shard}:
        mine = [it for it in shard if it.axis == name]
        reached = 0
        nested = True
        for it in sorted((*mine, *(r for r in replica if r.axis == name)), key=lambda it: abs(it.stride)):
            nested &= abs(it.stride) > reached
            reached += (it.extent - 1) * abs(it.stride)
        if nested:
            continue
        copies = np.array(steps.get(name, (0,)), dtype=np.int64)
        places = accumulate(mine)[name][:, None] + copies[None, :]
        if len(np.unique(places)) != size_of(mine) * len(copies):
            return False
    return True
