"""The composition of two layouts as functions."""

from __future__ import annotations

from math import prod

from tirx.layout.arrays import NDArray, np
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, NotStrided, infer_iters
from tirx.layout.replica import replica_of_set
from tirx.layout.shape import check_count
from tirx.layout.strided import Strided, owner_table, sum_offsets, table


def _indices(outer: Strided, inner: Strided) -> NDArray[np.int64]:
    """The flat index of every copy of every element of `inner`: (elements, copies)."""
    where = owner_table(inner).get("m", np.zeros((inner.size, 1), dtype=np.int64))
    outside = np.argwhere((where < 0) | (where >= outer.size))
    if len(outside):
        x, copy = outside[0]
        raise LayoutError(
            f"expected flat indices of the {outer.size} elements of {outer}, found {where[x, copy]} for element {x} "
            f"of {inner}"
        )
    return where


def compose(outer: Strided, inner: Strided) -> Strided:
    """See TileLayout.compose, for normal forms, the inner one on axis m.

    The copies of an element are those of the outer layout at all indices that the inner one gives. Per axis the
    smallest coordinate is the base; what lies above it must be one set for all elements, a product over axes of sets
    that iters generate. All of this is forced, because a replica set in normal form starts at 0 on every axis.
    """
    check_count(outer.size, outer)
    where = _indices(outer, inner)
    tables, axes = table(outer), outer.axes
    if where.shape[1] == 1:
        base = {name: tables[name][where[:, 0]] for name in axes}
        replica = outer.replica
    else:
        owners = owner_table(outer)
        check_count(where.size * sum(found.shape[1] for found in owners.values()), outer)
        above: list[NDArray[np.int64]] = []
        base = dict[str, NDArray[np.int64]]()
        for name in axes:
            found = owners[name][where].reshape(len(where), -1)
            base[name] = found.min(axis=1)
            above.append(found - base[name][:, None])
        replica = _common_replica(axes, above, outer, inner)
    first = {name: int(values[0]) for name, values in base.items()}
    shard = infer_iters({name: values - first[name] for name, values in base.items()}, inner.size, "m")
    if isinstance(shard, NotStrided):
        raise LayoutError(
            f"no tile layout is {outer} at the indices {inner}: its first {shard.prefix} elements are one, and the "
            f"elements after them do not repeat those"
        )
    return Strided(shard, replica, sum_offsets(first.items()))


def _common_replica(
    axes: tuple[str, ...], above: list[NDArray[np.int64]], outer: Strided, inner: Strided
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
