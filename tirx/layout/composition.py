"""The composition of two layouts as functions."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from tirx.layout.domain import check_count
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, NotStrided, infer_iters
from tirx.layout.replica import replica_of_set
from tirx.layout.tile import TileLayout, check_all_on


def _indices(outer: TileLayout, inner: TileLayout) -> NDArray[np.int64]:
    """The flat index of every copy of every element of `inner`: (elements, copies)."""
    where = inner.owner_table().get("m", np.zeros((inner.size(), 1), dtype=np.int64))
    outside = np.argwhere((where < 0) | (where >= outer.size()))
    if len(outside):
        x, copy = outside[0]
        raise LayoutError(
            f"expected flat indices of the {outer.size()} elements of {outer}, found {where[x, copy]} for element {x} "
            f"of {inner}"
        )
    return where


def compose(outer: TileLayout, inner: TileLayout) -> TileLayout:
    """See TileLayout.compose.

    The copies of an element are those of the outer layout at all indices that the inner one gives. Per axis the
    smallest coordinate is the base; what lies above it must be one set for all elements, a product over axes of sets
    that iters generate. All of this is forced, because a replica set in normal form starts at 0 on every axis.
    """
    inner = inner.canonicalize()
    outer = outer.canonicalize()
    check_all_on(inner, "m")
    check_count(outer.size(), outer)
    where = _indices(outer, inner)
    table, axes = outer.flat_table(), outer.axes
    if where.shape[1] == 1:
        base = {name: table[name][where[:, 0]] for name in axes}
        replica = outer.replica
    else:
        owners = outer.owner_table()
        check_count(where.size * sum(places.shape[1] for places in owners.values()), outer)
        above: list[NDArray[np.int64]] = []
        base = dict[str, NDArray[np.int64]]()
        for name in axes:
            places = owners[name][where].reshape(len(where), -1)
            base[name] = places.min(axis=1)
            above.append(places - base[name][:, None])
        replica = _common_replica(axes, above, outer, inner)
    first = {name: int(values[0]) for name, values in base.items()}
    shard = infer_iters({name: values - first[name] for name, values in base.items()}, inner.size(), "m")
    if isinstance(shard, NotStrided):
        raise LayoutError(
            f"no tile layout is {outer} at the indices {inner}: its first {shard.prefix} elements are one, and the "
            f"elements after them do not repeat those"
        )
    return TileLayout(shard, replica, first).canonicalize()


def _common_replica(
    axes: tuple[str, ...], above: list[NDArray[np.int64]], outer: TileLayout, inner: TileLayout
) -> tuple[Iter, ...]:
    """The replica of displacements, (elements, copies) for each axis, that every element has."""
    sets: dict[str, tuple[int, ...]] = {}
    keys = np.zeros_like(above[0])
    for name, steps in zip(axes, above, strict=True):
        distinct = np.unique(steps)
        sets[name] = tuple([int(step) for step in np.unique(steps[0])])
        # Ranks instead of the steps, so that the keys stay small.
        keys = keys * len(distinct) + np.searchsorted(distinct, steps)
    keys.sort(axis=1)
    common = np.unique(keys[0])
    counts = 1 + np.count_nonzero(np.diff(keys, axis=1), axis=1)
    if not np.isin(keys, common).all() or (counts != len(common)).any():
        raise LayoutError(f"the copies that {inner} makes lie differently for different elements of {outer}")
    replica = replica_of_set(sets)
    if replica is None or prod(map(len, sets.values())) != len(common):
        raise LayoutError(f"no replica iters make the copies of {inner} in {outer}: {sets}")
    return replica
