"""Tiles of global memory as parts of kernel arguments: where they begin, how they are aligned, what of them exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, SSAValue

from tirx.dialects.tirx import KernelOp, MemorySpace, PartOp, SubviewOp, TileType, ViewOp, WordsOp
from tirx.hw.errors import ClippedViewError
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.index_analysis import index_limits, index_range
from tirx.tcgen05.stored_operand import UNIT
from tirx.values import dataclass

POINTER_ALIGNMENT = 16
"""Bytes to which kernel arguments in global memory are aligned: the widest vector access."""


def copied_view(tile: SSAValue, known: Mapping[SSAValue, SSAValue], emit: Emitter) -> SSAValue:
    """Emits the views that a tile is, of the tile that is `known` to stand for the one that they are views of."""
    if tile in known or not isinstance(op := tile.owner, PartOp):
        return known.get(tile, tile)
    return emit.value(op.clone({op.source: copied_view(op.source, known, emit)}))


@dataclass(frozen=True)
class Origin:
    """A tile of global memory as a part of a memref: its view, and where it begins in the tile of the view."""

    view: ViewOp
    start: tuple[int, ...]

    @staticmethod
    def of(tile: SSAValue) -> Origin | None:
        """The origin of a view or of a part of one; None for other shapes of it."""
        start = [0] * len(TileType.of(tile).dims)
        while isinstance(part := tile.owner, SubviewOp | WordsOp):
            if isinstance(part, SubviewOp):
                start = [a + b for a, b in zip(start, part.start, strict=True)]
            else:
                *outer, run, _ = start
                start = [*outer, run * UNIT]
            tile = part.source
        return Origin(tile.owner, tuple(start)) if isinstance(tile.owner, ViewOp) else None

    def first(self, dimension: int) -> int:
        """Returns the distance from the index of the view to the start of the tile, in elements along a dimension."""
        of_memref = self.view.of_memref
        return self.start[of_memref.index(dimension)] * self.view.step(dimension) if dimension in of_memref else 0


def clipped_view(tile: SSAValue) -> ViewOp | None:
    """The clipped view that a tile is, or is a part of; None for other tiles."""
    while isinstance(part := tile.owner, PartOp):
        tile = part.source
    view = tile.owner
    return view if isinstance(view, ViewOp) and view.clipped is not None else None


def view_alignment(view: ViewOp) -> int:
    """Bytes to which the address of a view is aligned, at most `POINTER_ALIGNMENT`; 0 where it may split a byte."""
    type_ = view.source_type
    bits = view.result.type.dtype.bits
    alignment = POINTER_ALIGNMENT * 8
    for index, stride in zip(view.indices, type_.get_strides() or (), strict=True):
        # Run-time strides are multiples of as many bytes where this matters: their views have no vectors elsewhere.
        if (step := bits * (stride or 0)) % alignment:
            alignment = gcd(alignment, index_range(index).divisor * step)
    moved = {t for d in view.index_tiles for t in range(len(view.of_memref)) if t not in view.still_dims(d)}
    if any(view.tile_strides()[t] == 1 for t in moved):
        return bits // 8  # what are neighbours but for index tiles is not
    return alignment // 8 if alignment % 8 == 0 else 0


def argument_number(value: SSAValue) -> int | None:
    """The position of a memref among the arguments of its kernel."""
    owner = value.owner
    if not isinstance(owner, Block) or not isinstance(owner.parent_op(), KernelOp):
        return None
    return owner.args.index(value)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class OpenBound:
    """A dimension of a memref along which a tile may reach beyond it: the tile begins at `index` + `first`.

    `of_memref` is its number in the memref, `of_tile` that in the tile, None for one that the tile does not have;
    `extent` are the elements of the memref from the first to the last of the tile along it, `step` those from one to
    the next. Of a view of `positions` along it those from `size` on are outside. `index` is the index tile of a
    dimension that has one; of its positions another bound, without a dimension of the memref, says which there are.
    """

    of_memref: int | None
    of_tile: int | None
    extent: int
    index: SSAValue
    first: int
    step: int = 1
    size: SSAValue | None = None
    positions: int = 1

    @property
    def is_plain(self) -> bool:
        """Returns True unless coordinates come from an index tile."""
        return not isinstance(self.index.type, TileType)


NO_ARGUMENT = -1
"""The number in `ClipPlan` of a tile in shared memory, whose sizes are known."""


@dataclass(frozen=True)
class ClipPlan:
    """The bounds of a clipped tile of `dims` elements that are not known to hold.

    `inner` is the dimension of the tile whose elements are neighbours, None where there is none. Accesses of `run`
    neighbouring elements, aligned to as many, lie within the bounds or outside of them; those of `row_run` may end
    beyond the innermost bound. Both are powers of two. `never_whole`: some of the tile is beyond the bounds for sure.
    """

    argument: int
    dims: tuple[int, ...]
    bounds: tuple[OpenBound, ...]
    inner: int | None
    run: int
    row_run: int
    never_whole: bool


def plan_clip(tile: SSAValue) -> ClipPlan | None:
    """The bounds of a tile of global memory, None where all of it exists.

    Raises LegalityError for a tile that is not a clipped view of an argument or a part of one.
    """
    if (view := clipped_view(tile)) is None:
        return None
    origin, dims = Origin.of(tile), TileType.of(tile).dims
    number = argument_number(view.source) if view.is_global else NO_ARGUMENT
    if of_words := origin is not None and len(dims) > len(origin.start):
        dims = (*dims[:-2], dims[-2] * UNIT)
    if origin is None or number is None:
        raise ClippedViewError(
            "expected a clipped view of a kernel argument or a part of one, found another shape of it"
        )
    sizes, strides = view.source_type.get_shape(), view.tile_strides()
    bounds = tuple(_open_bounds(origin, sizes, dims))
    never_whole = any(
        _is_beyond(bound, sizes[bound.of_memref]) for bound in bounds if bound.is_plain and bound.of_memref is not None
    )
    if of_words:
        if any(bound.of_tile == len(dims) - 1 for bound in bounds):
            raise ClippedViewError("expected a clipped view of 6-bit elements whose rows are all in the memref")
        # Words have one dimension more, behind those that have bounds.
        return ClipPlan(number, TileType.of(tile).dims, bounds, None, 1, 1, never_whole) if bounds else None
    inner = next((d for d in reversed(range(len(dims))) if strides[d] == 1), None)
    if inner is None:
        return ClipPlan(number, dims, bounds, None, 1, 1, never_whole) if bounds else None
    # Addresses that are multiples of this are so along the innermost dimension, and accesses stay in a row.
    row_run = gcd(dims[inner], *(strides[d] or 0 for d, n in enumerate(dims) if d != inner and n > 1))
    run = row_run
    for bound in bounds:
        if bound.of_tile == inner:
            row_run = gcd(row_run, index_range(bound.index).divisor)
            size = DYNAMIC_INDEX if bound.of_memref is None else sizes[bound.of_memref]
            whole = 2 if bound.size is None and TileType.of(tile).dtype.bits == 4 else 1  # launches ask for whole bytes
            run = gcd(row_run, whole if size == DYNAMIC_INDEX or bound.size is not None else size)
    return ClipPlan(number, dims, bounds, inner, run & -run, row_run & -row_run, never_whole) if bounds else None


def _is_beyond(bound: OpenBound, size: int) -> bool:
    low = index_range(bound.index).low
    return size != DYNAMIC_INDEX and max(0, bound.first if low is None else low + bound.first) + bound.extent > size


def _open_bounds(origin: Origin, sizes: Sequence[int], dims: tuple[int, ...]) -> list[OpenBound]:
    found: list[OpenBound] = []
    for d, (place, size) in enumerate(zip(origin.view.places, sizes, strict=True)):
        if not place.is_plain:
            found.append(OpenBound(d, None, 1, place.index, 0))
            if (t := place.of_tile) is not None and place.size is not None:
                found.append(OpenBound(None, t, dims[t], place.size, origin.start[t], positions=place.extent))
            continue
        extent, first = 1 if (t := place.of_tile) is None else (dims[t] - 1) * place.step + 1, origin.first(d)
        fact = index_range(place.index)
        begins = fact.low is not None and fact.low + first >= 0
        ends = size != DYNAMIC_INDEX and fact.high is not None and fact.high + first + extent <= size
        if not (begins and ends and place.size is None):
            found.append(OpenBound(d, t, extent, place.index, first, place.step, place.size, place.extent))
    return found


def unproved_starts(tile: SSAValue) -> tuple[int, ...]:
    """The dimensions of the memref in which a clipped tile is not known to begin at 0 or later; () for other tiles."""
    view, origin = clipped_view(tile), Origin.of(tile)
    if view is None or view.begins_inside is not None or origin is None:
        return ()
    return tuple(
        d
        for d, place in enumerate(view.places)
        if place.is_plain and ((low := index_limits(place.index).low) is None or low + origin.first(d) < 0)
    )


def surely_negative_start(tile: SSAValue) -> tuple[int, int] | None:
    """A dimension of the memref, and the index before 0 at which constants let a clipped tile begin in it."""
    view, origin = clipped_view(tile), Origin.of(tile)
    if view is None or view.begins_inside is not None or origin is None:
        return None
    for d, index in enumerate(view.indices):
        if (low := index_range(index).low) is not None and low + origin.first(d) < 0:
            return d, low + origin.first(d)
    return None


def access_bytes(tile: SSAValue) -> int:
    """The bytes of the widest accesses that threads can make to a tile that exists: less than 16 where it is a view
    that begins anywhere, or surely ends beyond its memref. A power of two, at least the size of an element.
    """
    if TileType.of(tile).memory is not MemorySpace.GLOBAL or (origin := Origin.of(tile)) is None:
        return POINTER_ALIGNMENT
    bits = TileType.of(tile).dtype.storage_bits
    found = view_alignment(origin.view) or POINTER_ALIGNMENT
    if (clip := plan_clip(tile)) is not None and clip.never_whole:
        found = min(found, clip.run * bits // 8)
    return max(found, 1)
