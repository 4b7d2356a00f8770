"""Operations that make new layouts out of layouts, and queries about a whole layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tirx.layout.axis import axis, canonical_name
from tirx.layout.domain import Shape, check_shape
from tirx.layout.errors import LayoutError
from tirx.layout.iters import (
    Iter,
    Iters,
    group_iters,
    scale_iters,
)

if TYPE_CHECKING:
    from tirx.layout.tile import TileLayout


def _join(outer: Iters, outer_shape: Sequence[int], inner: Iters, inner_shape: Sequence[int]) -> Iters:
    """Interleaves two grouped shards: the iters of outer dimension d, then those of inner dimension d."""
    a, seps_a = group_iters(outer, outer_shape, "m")
    b, seps_b = group_iters(inner, inner_shape, "m")
    joined: list[Iter] = []
    for d in range(len(outer_shape)):
        joined += a[seps_a[d] : seps_a[d + 1]]
        joined += b[seps_b[d] : seps_b[d + 1]]
    return tuple(joined)


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
        scale_iters(outer.shard, scale),
        scale_iters(outer.replica, scale),
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


def _scale_storage(layout: TileLayout, name: str, convert: Mapping[int, int]) -> TileLayout:
    """The layout with every stride and offset on the storage axis replaced."""

    def change(iters: Iters) -> Iters:
        return tuple(
            [Iter(it.extent, convert[it.stride], it.axis) if canonical_name(it.axis) == name else it for it in iters]
        )

    offset = [(a, convert[n]) if canonical_name(a) == name else (a, n) for a, n in layout.offset]
    return type(layout)(change(layout.shard), change(layout.replica), offset)


def _storage_counts(layout: TileLayout, name: str) -> set[int]:
    strides = {it.stride for it in (*layout.shard, *layout.replica) if canonical_name(it.axis) == name}
    return strides | {n for a, n in layout.offset if canonical_name(a) == name}


def unpack(layout: TileLayout, factor: int, name: str) -> TileLayout:
    """See TileLayout.unpack."""
    name = canonical_name(name)
    if factor < 1:
        raise LayoutError(f"the factor must be positive, found {factor}")
    wide = _scale_storage(layout, name, {count: count * factor for count in _storage_counts(layout, name)})
    return type(layout)((*wide.shard, Iter(factor, 1, name)), wide.replica, wide.offset)


def pack(layout: TileLayout, factor: int, name: str) -> TileLayout:
    """See TileLayout.pack."""
    name = canonical_name(name)
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


def replicate_over(layout: TileLayout, name: str, extent: int | None) -> TileLayout:
    """See TileLayout.replicate_over."""
    if canonical_name(name) in map(canonical_name, layout.axes):
        raise LayoutError(f"axis '{name}' has a coordinate for every element already in {layout}")
    if extent is None:
        extent = axis(name).bound
    if extent is None:
        raise LayoutError(f"axis '{name}' has no bound: expected how many copies to make")
    return type(layout)(layout.shard, (*layout.replica, Iter(extent, 1, name)), layout.offset)


def _memory_first(name: str) -> bool:
    return axis(name).kind != "memory"


def broadcast(layout: TileLayout, extent: int, position: int, name: str | None, shape: Shape) -> TileLayout:
    """See TileLayout.broadcast."""
    dims = check_shape(shape, layout.size())
    if not 0 <= position <= len(dims):
        raise LayoutError(f"expected a position in 0..{len(dims)} of shape {dims}, found {position}")
    grouped, seps = layout.group(dims)
    new = Iter(extent, 0, min(layout.axes, key=_memory_first, default="m") if name is None else name)
    at = seps[position] if dims else 0
    return type(layout)((*grouped.shard[:at], new, *grouped.shard[at:]), layout.replica, layout.offset)


def storage(layout: TileLayout) -> TileLayout:
    """See TileLayout.storage."""

    def kept(iters: Iters) -> Iters:
        return tuple([it for it in iters if axis(it.axis).kind == "memory"])

    offset = [(name, count) for name, count in layout.offset if axis(name).kind == "memory"]
    return type(layout)(kept(layout.shard), kept(layout.replica), offset)
