"""Parts of one allocation or memref that share memory."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects import tirx
from tirx.layout import TileLayout
from tirx.layout.arrays import np
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.ir.tile_loops import is_same, iterations_apart, view_extents, without_constant
from tirx.passes.match.tensor_tiles import TensorTile


class Overlap(Enum):
    """The relation of two tiles, as far as it is known."""

    YES = auto()
    NO = auto()
    MAYBE = auto()


def overlap(a: SSAValue, b: SSAValue) -> Overlap:
    """Returns True if two tiles with the same `base_allocation` share an element.

    Parts of an allocation are compared by the places that their layouts give, views of a memref by their indices.
    """
    views = view_of(a), view_of(b)
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
    """The places of the elements of a part of an allocation, as numbers; None before that is known."""
    if tirx.at_known_place(tile) is not tile:
        return None
    type_ = tirx.TileType.of(tile)
    layout = type_.layout
    if layout is None:
        return None
    if type_.memory is tirx.MemorySpace.TENSOR and isinstance(layout, TileLayout):
        return np.flatnonzero(TensorTile.of(type_).cells())
    return layout.axis_table("m", (layout.size(),))


def view_of(tile: SSAValue) -> tirx.ViewOp | None:
    """The view that a tile of global memory is (a part of)."""
    while isinstance(op := tile.owner, tirx.PartOp):
        tile = op.source
    return op if isinstance(op, tirx.ViewOp) else None


def _views_overlap(a: tirx.ViewOp, b: tirx.ViewOp) -> Overlap:
    certain = a.is_box and b.is_box
    for x, y, m, n in zip(a.indices, b.indices, view_extents(a), view_extents(b), strict=True):
        if _are_apart(x, y, m, n):
            return Overlap.NO
        certain = certain and difference(x, y) is not None
    return Overlap.YES if certain else Overlap.MAYBE


def _are_apart(x: SSAValue, y: SSAValue, m: int, n: int, loops: Collection[Operation] = ()) -> bool:
    """Returns True if `m` elements from index `x` on and `n` from `y` on have none in common for certain."""
    apart = difference(x, y, loops)
    if apart is not None and (apart >= m or -apart >= n):
        return True
    first, second = index_range(x), index_range(y)
    return (first.high is not None and second.low is not None and first.high + m <= second.low) or (
        second.high is not None and first.low is not None and second.high + n <= first.low
    )


def difference(a: SSAValue, b: SSAValue, loops: Collection[Operation] = ()) -> int | None:
    """`b - a` where constants added to one value that does not change within `loops`, or to none, show it."""
    (base, first), (other, second) = without_constant(a), without_constant(b)
    if base is None or other is None:
        return second - first if base is other else None
    if any(is_inside(base, loop) for loop in loops):
        return None
    return second - first if is_same(base, other) else None


def is_inside(value: SSAValue, loop: Operation) -> bool:
    """Returns True if each iteration of a loop has another such value."""
    owner = value.owner
    return loop.is_ancestor(owner) and owner is not loop


def may_share(before: SSAValue, now: SSAValue, loops: Collection[Operation] = ()) -> bool:
    """Returns False if two tiles of global memory, or memrefs, share no element for certain.

    Since `before`, the next iterations of `loops`, each inside of the one before, have begun. Arguments of a kernel do
    not overlap where one is written; parts of one argument are compared by their indices.
    """
    if tirx.base_allocation(before) is not tirx.base_allocation(now):
        return False
    a, b = view_of(before), view_of(now)
    if a is None or b is None or not _is_injective(a.source_type):
        return True
    outermost = next((one for one in loops if all(one.is_ancestor(other) for other in loops)), None)
    if outermost is not None and iterations_apart(outermost, a, b):
        return False
    sides = zip(a.indices, b.indices, view_extents(a), view_extents(b), strict=True)
    return not any(_are_apart(x, y, m, n, loops) for x, y, m, n in sides)


def _is_injective(type_: MemRefType[Attribute]) -> bool:
    """Returns True if no two elements of a memref have one place."""
    if isinstance(type_.layout, NoneAttr):
        return True
    strides, sizes = type_.get_strides(), type_.get_shape()
    if strides is None or any(n < 0 for n in sizes):
        return False
    reached = 0
    for stride, size in sorted((stride or 0, size) for stride, size in zip(strides, sizes, strict=True) if size > 1):
        if stride <= reached:
            return False
        reached += stride * (size - 1)
    return True
