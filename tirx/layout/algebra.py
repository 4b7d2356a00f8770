"""Operations that make new layouts out of layouts, and queries about a whole layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tirx.layout.axis import SCOPE_THREADS, Axis, axis, canonical_name, known_axes
from tirx.layout.domain import Region, Shape, check_region, check_shape
from tirx.layout.errors import LayoutError
from tirx.layout.iters import (
    Iter,
    Iters,
    NotStrided,
    accumulate,
    canonical_replica,
    group_iters,
    infer_iters,
    replica_offsets,
    size_of,
)

if TYPE_CHECKING:
    from tirx.layout.tile import TileLayout

_LARGEST_TABLE = 1 << 24
"""Elements up to which a slice that does not split by dimension is decided element by element."""


def _join(outer: Iters, outer_shape: Sequence[int], inner: Iters, inner_shape: Sequence[int]) -> Iters:
    """Interleaves two grouped shards: the iters of outer dimension d, then those of inner dimension d."""
    a, seps_a = group_iters(outer, outer_shape, "m")
    b, seps_b = group_iters(inner, inner_shape, "m")
    joined: list[Iter] = []
    for d in range(len(outer_shape)):
        joined += a[seps_a[d] : seps_a[d + 1]]
        joined += b[seps_b[d] : seps_b[d + 1]]
    return tuple(joined)


def _scale(iters: Iterable[Iter], scale: Mapping[str, int]) -> Iters:
    return tuple(Iter(it.extent, it.stride * scale.get(it.axis, 1), it.axis) for it in iters)


def direct_sum(right: TileLayout, left: TileLayout, left_shape: Shape, right_shape: Shape) -> TileLayout:
    """See TileLayout.direct_sum."""
    left_dims, right_dims = check_shape(left_shape, left.size()), check_shape(right_shape, right.size())
    if len(left_dims) != len(right_dims):
        raise LayoutError(f"expected shapes of one rank, found {left_dims} and {right_dims}")
    left, right = left.canonicalize(), right.canonicalize()
    shard = _join(left.shard, left_dims, right.shard, right_dims)
    result = type(right)(shard, (*left.replica, *right.replica), (*left.offset, *right.offset))
    return result.canonicalize()


def tile(inner: TileLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape) -> TileLayout:
    """See TileLayout.tile."""
    inner, outer = inner.canonicalize(), outer.canonicalize()
    scale = {name: inner.span(name) for name in outer.axes}
    scaled_outer = type(outer)(
        _scale(outer.shard, scale),
        _scale(outer.replica, scale),
        [(name, count * scale[name]) for name, count in outer.offset],
    )
    return direct_sum(inner, scaled_outer, outer_shape, inner_shape)


def permute(layout: TileLayout, perm: Sequence[int], shape: Shape) -> TileLayout:
    """See TileLayout.permute."""
    dims = check_shape(shape, layout.size())
    if sorted(perm) != list(range(len(dims))):
        raise LayoutError(f"expected a permutation of 0..{len(dims) - 1}, found {tuple(perm)}")
    grouped, seps = layout.group(dims)
    shard = [it for d in perm for it in grouped.shard[seps[d] : seps[d + 1]]]
    return type(layout)(shard, layout.replica, layout.offset)


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
        return type(layout)(whole, layout.replica, base).canonicalize()
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
    return type(layout)(parts, layout.replica, base).canonicalize()


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


def _threads(row: Axis, scope: str | None) -> int:
    """Threads in a scope; a CTA has more than any fixed scope, so it sorts last."""
    return SCOPE_THREADS.get(scope or row.name, 1 << 30)


def fuse_threads(layout: TileLayout) -> TileLayout:
    """See TileLayout.fuse_threads."""
    layout = layout.canonicalize()
    used = [row for row in map(axis, layout.axes) if row.weight is not None]
    if len(used) < 2:
        return layout
    chain = sorted(used, key=lambda row: _threads(row, row.unit))
    for low, high in zip(chain, chain[1:], strict=False):
        if low.parent != high.unit:
            relation = "overlap" if _threads(low, low.parent) > _threads(high, high.unit) else "leave a level open"
            raise LayoutError(
                f"thread axes '{low.name}' ({low.unit} in {low.parent}) and '{high.name}' ({high.unit} in "
                f"{high.parent}) {relation}; expected the second to count {low.parent}s"
            )
    unit, parent = chain[0].unit, chain[-1].parent
    fused = next(
        row
        for row in known_axes()
        if (row.unit, row.parent) == (unit, parent) and row.weight is not None and row.alias_of is None
    )
    base = fused.weight or 1
    factor = {row.name: (row.weight or 1) // base for row in used}

    def rename(iters: Iters) -> Iters:
        return tuple(
            Iter(it.extent, it.stride * factor[it.axis], fused.name) if it.axis in factor else it for it in iters
        )

    offset = [(fused.name, n * factor[a]) if a in factor else (a, n) for a, n in layout.offset]
    return type(layout)(rename(layout.shard), rename(layout.replica), offset).canonicalize()


def _scale_storage(layout: TileLayout, name: str, convert: Mapping[int, int]) -> TileLayout:
    """The layout with every stride and offset on the storage axis replaced."""

    def change(iters: Iters) -> Iters:
        return tuple(Iter(it.extent, convert[it.stride], name) if it.axis == name else it for it in iters)

    offset = [(a, convert[n]) if a == name else (a, n) for a, n in layout.offset]
    return type(layout)(change(layout.shard), change(layout.replica), offset)


def _storage_counts(layout: TileLayout, name: str) -> set[int]:
    strides = {it.stride for it in (*layout.shard, *layout.replica) if it.axis == name}
    return strides | {n for a, n in layout.offset if a == name}


def unpack(layout: TileLayout, factor: int, name: str) -> TileLayout:
    """See TileLayout.unpack."""
    if factor < 1:
        raise LayoutError(f"the factor must be positive, found {factor}")
    wide = _scale_storage(layout, name, {count: count * factor for count in _storage_counts(layout, name)})
    return type(layout)((*wide.shard, Iter(factor, 1, name)), wide.replica, wide.offset)


def pack(layout: TileLayout, factor: int, name: str) -> TileLayout:
    """See TileLayout.pack."""
    if factor < 1 or layout.size() % factor:
        raise LayoutError(f"expected a factor that divides the {layout.size()} elements, found {factor}")
    grouped, seps = layout.canonicalize().group((layout.size() // factor, factor))
    inner = [it for it in grouped.shard[seps[1] :] if it.extent > 1]
    if factor > 1 and (len(inner) != 1 or inner[0].axis != name or inner[0].stride != 1):
        raise LayoutError(f"expected {factor} contiguous elements on axis {name} innermost, found {layout}")
    rest = type(layout)(grouped.shard[: seps[1]], grouped.replica, grouped.offset)
    counts = _storage_counts(rest, name)
    odd = sorted(count for count in counts if count % factor)
    if odd:
        raise LayoutError(f"strides and offsets on axis {name} must be multiples of {factor}, found {odd[0]}")
    return _scale_storage(rest, name, {count: count // factor for count in counts})
