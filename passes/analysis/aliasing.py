"""Which parts of one allocation or memref share memory."""

from __future__ import annotations

from enum import Enum

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tirx.dialects.tirx import MemorySpace, ReshapeOp, SubviewOp, TileType, ViewOp, at_known_place
from tirx.layout import TileLayout
from tirx.layout.arrays import np
from tirx.passes.analysis.index_analysis import index_range
from tirx.passes.emit.emitter import constant_value
from tirx.passes.plan.tensor_tiles import TensorTile


class Overlap(Enum):
    """What is known of two tiles."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


def overlap(a: SSAValue, b: SSAValue) -> Overlap:
    """
    Returns True if two tiles with the same `base_allocation` share an element.

    Parts of an allocation are compared by the places that their layouts give, views of a memref by their indices.
    """
    views = _view(a), _view(b)
    if views[0] is not None and views[1] is not None:
        found = _views_overlap(views[0], views[1])
        # Only a part of what the views cover may be meant.
        whole = a is views[0].result and b is views[1].result
        return found if whole or found is Overlap.NO else Overlap.MAYBE
    places = [_places(t) for t in (a, b)]
    if places[0] is None or places[1] is None:
        return Overlap.MAYBE
    return Overlap.YES if np.intersect1d(places[0], places[1]).size else Overlap.NO


def _places(tile: SSAValue) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    """Where the elements of a part of an allocation are, as numbers; None before that is known."""
    if at_known_place(tile) is not tile:
        return None
    type_ = TileType.of(tile)
    layout = type_.layout
    if layout is None:
        return None
    if type_.memory is MemorySpace.TENSOR and isinstance(layout, TileLayout):
        return np.flatnonzero(TensorTile.of(type_).cells())
    return layout.axis_table("m", (layout.size(),))


def _view(tile: SSAValue) -> ViewOp | None:
    """The view that a tile of global memory is (a part of)."""
    while isinstance(op := tile.owner, SubviewOp | ReshapeOp):
        tile = op.source
    return op if isinstance(op, ViewOp) else None


def _views_overlap(a: ViewOp, b: ViewOp) -> Overlap:
    certain = True
    for x, y, m, n in zip(a.indices, b.indices, _extents(a), _extents(b), strict=True):
        difference = _difference(x, y)
        first, second = index_range(x), index_range(y)
        if difference is not None and (difference >= m or -difference >= n):
            return Overlap.NO
        if first.high is not None and second.low is not None and first.high + m <= second.low:
            return Overlap.NO
        if second.high is not None and first.low is not None and second.high + n <= first.low:
            return Overlap.NO
        certain = certain and difference is not None
    return Overlap.YES if certain else Overlap.MAYBE


def _extents(view: ViewOp) -> tuple[int, ...]:
    dims = view.result.type.dims
    return (1,) * (len(view.indices) - len(dims)) + dims


def _difference(a: SSAValue, b: SSAValue) -> int | None:
    """`b - a` where constants added to one value, or to none, show it."""
    (base, first), (other, second) = _without_constant(a), _without_constant(b)
    return second - first if base is other else None


def _without_constant(value: SSAValue) -> tuple[SSAValue | None, int]:
    """A value as a constant added to another one, or to nothing."""
    steps: list[int] = []
    while isinstance(op := value.owner, arith.AddiOp) and (step := constant_value(op.rhs)) is not None:
        steps.append(step)
        value = op.lhs
    if (rest := constant_value(value)) is not None:
        return None, rest + sum(steps)
    return value, sum(steps)
