"""The inverses of `tile` and `direct_sum`: one part of a layout, given the whole and the other part.

They follow from the definition and miss nothing. Let the whole T split by dimension into pairs (outer index o, inner
index n), and let normal forms make every replica set start at 0. Then T = L_inner + L_outer as maps to sets, for
every o and n, exactly when

    shards    D_T(o, 0) = D_outer(o), D_T(0, n) = D_inner(n) and D_T(o, n) is their sum
    offsets   O_T = O_inner + O_outer
    replicas  R_T is the set of all sums of R_inner and R_outer

The first line says that the normal form of T groups by the interleaved shape, because the shard of the combined layout
does and its normal form is unique. `tile` is the same with everything of the outer layout scaled by the span of the
inner one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, group_iters, reach
from tirx.layout.replica import missing_replica
from tirx.layout.shape import Shape, check_shape
from tirx.layout.strided import Offset, Strided, normal_form, scale, span, sum_offsets

Dims = tuple[int, ...]


def _split(whole: Strided, outer_dims: Dims, inner_dims: Dims) -> tuple[Iters, Iters] | None:
    """The iters of the outer and of the inner dimensions of a layout in normal form; None when an iter is in both."""
    interleaved = [extent for pair in zip(outer_dims, inner_dims, strict=True) for extent in pair]
    try:
        iters, seps = group_iters(whole.shard, interleaved, "m")
    except LayoutError:
        return None
    groups = [iters[a:b] for a, b in zip(seps, seps[1:], strict=False)]
    return _concatenated(groups[0::2]), _concatenated(groups[1::2])


def _concatenated(groups: Sequence[Iters]) -> Iters:
    return tuple([it for group in groups for it in group])


def _same_shard(a: Iters, b: Iters) -> bool:
    """Returns True if two shards are one map, broadcast iters under any axis."""
    return normal_form(Strided(a)) == normal_form(Strided(b))


def _divided(iters: Iters, factors: Mapping[str, int]) -> Iters | None:
    """The iters with strides divided; None when one does not divide."""
    if any(it.stride % factors[it.axis] for it in iters):
        return None
    return tuple([Iter(it.extent, it.stride // factors[it.axis], it.axis) for it in iters])


def _difference(whole: Strided, part: Strided) -> Offset:
    """The offset that is missing to that of the whole."""
    return sum_offsets(whole.offset, ((name, -count) for name, count in part.offset))


def _quotient(tiled: Strided, shape: Shape, part: Dims) -> Dims | None:
    """The shape of the other part; None when the shape of this part does not divide that of the whole."""
    dims = check_shape(shape, tiled.size)
    if len(dims) != len(part):
        raise LayoutError(f"expected shapes of one rank, found {dims} and {part}")
    if any(t % p for t, p in zip(dims, part, strict=True)):
        return None
    return tuple([t // p for t, p in zip(dims, part, strict=True)])


def is_tile_inner(inner: Strided, tiled: Strided, tiled_shape: Shape, inner_shape: Shape) -> Strided | None:
    """See TileLayout.is_tile_inner, for normal forms.

    The scale is known, the span of the inner layout, so everything of the outer layout is unique.
    """
    inner_dims = check_shape(inner_shape, inner.size)
    outer_dims = _quotient(tiled, tiled_shape, inner_dims)
    iters = None if outer_dims is None else _split(tiled, outer_dims, inner_dims)
    if iters is None or not _same_shard(iters[1], inner.shard):
        return None
    spans = {name: span(inner, name) for name in (*tiled.axes, *inner.axes, *(it.axis for it in iters[0]))}
    # Copies of the inner layout lie in disjoint blocks of its span: a missing replica that has other copies has a
    # stride that the span does not divide.
    copies = missing_replica(tiled.replica, inner.replica)
    shard = _divided(iters[0], spans)
    replica = None if copies is None else _divided(copies, spans)
    offset = _difference(tiled, inner)
    if shard is None or replica is None or any(count % spans[name] for name, count in offset):
        return None
    return Strided(shard, replica, tuple([(name, count // spans[name]) for name, count in offset]))


def is_tile_outer(outer: Strided, tiled: Strided, tiled_shape: Shape, outer_shape: Shape) -> Strided | None:
    """See TileLayout.is_tile_outer, for normal forms.

    The scale is the span of the layout that is asked for, 1 + reach(shard) + reach(replica). On every axis the
    replica of the whole reaches as far as the inner replica and the scaled outer one together, so
    scale * (1 + reach(outer replica)) = 1 + reach(inner shard) + reach(replica of the whole), which gives it.
    """
    outer_dims = check_shape(outer_shape, outer.size)
    inner_dims = _quotient(tiled, tiled_shape, outer_dims)
    iters = None if inner_dims is None else _split(tiled, outer_dims, inner_dims)
    if iters is None:
        return None
    spans: dict[str, int] = {}
    for name in (*tiled.axes, *outer.axes):
        low, high = reach(iters[1], name)
        whole = 1 + high - low + reach(tiled.replica, name)[1]
        spans[name], rest = divmod(whole, 1 + reach(outer.replica, name)[1])
        if rest:
            return None
    scaled = scale(outer, spans)
    if not _same_shard(iters[0], scaled.shard):
        return None
    replica = missing_replica(tiled.replica, normal_form(Strided((), scaled.replica)).replica)
    return None if replica is None else Strided(iters[1], replica, _difference(tiled, scaled))


def _interleaved(whole: Strided, shape: Shape, own: Dims, place: int) -> tuple[Dims, Dims]:
    """The left and right dimensions of an interleaved shape; `own` must be those at `place` (0 left, 1 right)."""
    dims = check_shape(shape, whole.size)
    if len(dims) != 2 * len(own) or dims[place::2] != own:
        side = ("left", "right")[place]
        raise LayoutError(
            f"expected an interleaved shape (left, right, left, right, ...) with the {side} dimensions {own}, "
            f"found {dims}"
        )
    return dims[0::2], dims[1::2]


def direct_sum_rest(part: Strided, whole: Strided, shape: Shape, part_shape: Shape, place: int) -> Strided | None:
    """See TileLayout.is_direct_sum_right (place 1) and is_direct_sum_left (place 0), for normal forms."""
    left, right = _interleaved(whole, shape, check_shape(part_shape, part.size), place)
    iters = _split(whole, left, right)
    if iters is None or not _same_shard(iters[place], part.shard):
        return None
    replica = missing_replica(whole.replica, part.replica)
    return None if replica is None else Strided(iters[1 - place], replica, _difference(whole, part))
