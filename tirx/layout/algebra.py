"""Operations that make new layouts out of layouts, on plain data; `TileLayout` says what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from math import prod

from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, group_iters
from tirx.layout.shape import Shape, check_shape
from tirx.layout.strided import Strided, group, memory_first, scale, span, sum_offsets


def _join(outer: Iters, outer_shape: Sequence[int], inner: Iters, inner_shape: Sequence[int]) -> Iters:
    """Interleaves two shards: the iters of outer dimension d, then those of inner dimension d, without unit iters.

    Dimensions of one of them are one where the other has unit dimensions only between them.
    """
    places = [place for pair in zip(outer_shape, inner_shape, strict=True) for place in enumerate(pair) if place[1] > 1]
    dims = [(part, prod(extent for _, extent in run)) for part, run in groupby(places, key=lambda place: place[0])]
    parts = [
        iter(_of_dimensions(iters, [extent for part, extent in dims if part == which]))
        for which, iters in enumerate((outer, inner))
    ]
    return tuple([it for part, _ in dims for it in next(parts[part])])


def _of_dimensions(iters: Iters, shape: Sequence[int]) -> list[Iters]:
    grouped, seps = group_iters(iters, shape, "m")
    return [grouped[begin:end] for begin, end in pairwise(seps)]


def direct_sum(right: Strided, left: Strided, left_shape: Shape, right_shape: Shape) -> Strided:
    """See TileLayout.direct_sum, for normal forms."""
    left_dims, right_dims = check_shape(left_shape, left.size), check_shape(right_shape, right.size)
    if len(left_dims) != len(right_dims):
        raise LayoutError(f"expected shapes of one rank, found {left_dims} and {right_dims}")
    shard = _join(left.shard, left_dims, right.shard, right_dims)
    return Strided(shard, (*left.replica, *right.replica), sum_offsets(left.offset, right.offset))


def tile(inner: Strided, outer: Strided, outer_shape: Shape, inner_shape: Shape) -> Strided:
    """See TileLayout.tile, for normal forms."""
    return direct_sum(inner, scale(outer, {name: span(inner, name) for name in outer.axes}), outer_shape, inner_shape)


def permute(layout: Strided, perm: Sequence[int], shape: Shape) -> Strided:
    """See TileLayout.permute."""
    dims = check_shape(shape, layout.size)
    if sorted(perm) != list(range(len(dims))):
        raise LayoutError(f"expected a permutation of 0..{len(dims) - 1}, found {tuple(perm)}")
    grouped, seps = group(layout, dims)
    return grouped._replace(shard=tuple([it for d in perm for it in grouped.shard[seps[d] : seps[d + 1]]]))


def _map_counts(layout: Strided, name: str, convert: Callable[[int], int]) -> Strided:
    """The layout with every stride and offset on one axis, under any of its names, converted."""

    def change(iters: Iters) -> Iters:
        return tuple(
            [Iter(it.extent, convert(it.stride), it.axis) if canonical_name(it.axis) == name else it for it in iters]
        )

    offset = [(a, convert(n)) if canonical_name(a) == name else (a, n) for a, n in layout.offset]
    return Strided(change(layout.shard), change(layout.replica), tuple(offset))


def unpack(layout: Strided, factor: int, name: str) -> Strided:
    """See TileLayout.unpack."""
    name = canonical_name(name)
    if factor < 1:
        raise LayoutError(f"the factor must be positive, found {factor}")
    wide = _map_counts(layout, name, lambda count: count * factor)
    return wide._replace(shard=(*wide.shard, Iter(factor, 1, name)))


def pack(layout: Strided, factor: int, name: str) -> Strided:
    """See TileLayout.pack, for a normal form."""
    name = canonical_name(name)
    if factor < 1 or layout.size % factor:
        raise LayoutError(f"expected a factor that divides the {layout.size} elements, found {factor}")
    grouped, seps = group(layout, (layout.size // factor, factor))
    inner = grouped.shard[seps[1] :]
    if factor > 1 and (len(inner) != 1 or inner[0].axis != name or inner[0].stride != 1):
        raise LayoutError(f"expected {factor} contiguous elements on axis {name} innermost, found {layout}")

    def divide(count: int) -> int:
        if count % factor:
            raise LayoutError(f"strides and offsets on axis {name} must be multiples of {factor}, found {count}")
        return count // factor

    return _map_counts(grouped._replace(shard=grouped.shard[: seps[1]]), name, divide)


def replicate_over(layout: Strided, name: str, extent: int | None) -> Strided:
    """See TileLayout.replicate_over."""
    if canonical_name(name) in map(canonical_name, layout.axes):
        raise LayoutError(f"axis '{name}' has a coordinate for every element already in {layout}")
    if extent is None:
        extent = axis(name).bound
    if extent is None:
        raise LayoutError(f"axis '{name}' has no bound: expected how many copies to make")
    return layout._replace(replica=(*layout.replica, Iter(extent, 1, name)))


def broadcast(layout: Strided, extent: int, position: int, name: str | None, shape: Shape) -> Strided:
    """See TileLayout.broadcast."""
    dims = check_shape(shape, layout.size)
    if not 0 <= position <= len(dims):
        raise LayoutError(f"expected a position in 0..{len(dims)} of shape {dims}, found {position}")
    grouped, seps = group(layout, dims)
    new = Iter(extent, 0, min(layout.axes, key=memory_first, default="m") if name is None else name)
    at = seps[position] if dims else 0
    return grouped._replace(shard=(*grouped.shard[:at], new, *grouped.shard[at:]))


def storage(layout: Strided) -> Strided:
    """See TileLayout.storage."""

    def kept(iters: Iters) -> Iters:
        return tuple([it for it in iters if axis(it.axis).kind == "memory"])

    offset = tuple([(name, count) for name, count in layout.offset if axis(name).kind == "memory"])
    return Strided(kept(layout.shard), kept(layout.replica), offset)
