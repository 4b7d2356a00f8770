"""Boxes of a layout: one box, or all boxes of one size whose begin is some multiple of a step."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tirx.layout.arrays import NDArray, np
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, NotStrided, Table, accumulate, group_iters, infer_iters
from tirx.layout.shape import Region, Shape, check_count, check_region, row_major_strides
from tirx.layout.strided import Offset, Strided


def _box(table: Table, dims: Shape, bounds: Region) -> Table:
    """The flattened entries of a box of a flat table, relative to the first."""
    box = tuple(slice(begin, end) for begin, end in bounds)
    cut = {name: values.reshape(dims)[box].reshape(-1) for name, values in table.items()}
    return {name: values - values[0] for name, values in cut.items()}


def _aligned(iters: Iters, begin: int, size: int) -> Iters | None:
    """The iters of [begin, begin + size) where it is whole runs of the inner iters and a part of one other; or None."""
    inner: list[Iter] = []
    for it in reversed(iters):
        digit = begin % it.extent
        if digit == 0 and size % it.extent == 0:
            inner.append(it)
        elif digit + size <= it.extent:
            inner.append(Iter(size, it.stride, it.axis))
            break
        else:
            return None
        begin //= it.extent
        size //= it.extent
    return tuple(reversed(inner))


def slice_region(layout: Strided, dims: Shape, bounds: Region, base: Offset) -> Strided:
    """See TileLayout.slice, for a normal form and a region inside of its shape.

    base: the base coordinate of the first element of the region.

    When the shard splits by dimension, every dimension is decided on its own; otherwise the box is decided as a whole,
    element by element.
    """
    try:
        shard, seps = group_iters(layout.shard, dims, "m")
    except LayoutError as error:
        check_count(layout.size, layout)
        table = accumulate(layout.shard)
        count = prod(end - begin for begin, end in bounds)
        whole = infer_iters(_box(table, dims, bounds), count, "m")
        if isinstance(whole, NotStrided):
            raise LayoutError(f"region {bounds} of shape {dims} is no tile layout: {error}") from None
        return Strided(whole, layout.replica, base)
    parts: list[Iter] = []
    for d, (begin, end) in enumerate(bounds):
        iters = shard[seps[d] : seps[d + 1]]
        aligned = _aligned(iters, begin, end - begin)
        if aligned is not None:
            parts += aligned
            continue
        check_count(dims[d], layout)
        found = infer_iters(_box(accumulate(iters), (dims[d],), [(begin, end)]), end - begin, "m")
        if isinstance(found, NotStrided):
            raise LayoutError(
                f"no tile layout describes [{begin}, {end}) of dimension {d} of shape {dims}: "
                f"the longest part from {begin} that one does starts with [{begin}, {begin + found.prefix})"
            )
        parts += found
    return Strided(tuple(parts), layout.replica, base)


_CHUNK = 1 << 20
"""Coordinates that are compared at once."""


def _grid(extents: Sequence[int], weights: Sequence[int]) -> NDArray[np.int64]:
    """Sums of a multiple of every weight, below the extents, last dimension fastest."""
    return accumulate([Iter(extent, weight) for extent, weight in zip(extents, weights, strict=True)])["m"]


def _movable(table: Table, begins: NDArray[np.int64], box: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each begin whether the box there is the first box moved. All are flat indices of a table that starts at 0."""
    same = np.ones(len(begins), dtype=np.bool_)
    rows = -(-_CHUNK // len(box))
    for values in table.values():
        shape = values[box]
        for k in range(0, len(begins), rows):
            part = begins[k : k + rows]
            same[k : k + rows] &= (values[part[:, None] + box] - values[part][:, None] == shape).all(axis=1)
    return same


def _moving_box(
    table: Table, counts: Shape, steps: Shape, sizes: Shape, strides: Shape, what: str
) -> tuple[Iters, Iters]:
    """The iters of a box and those of its displacement, over begins that are multiples of `steps` per dimension."""
    begins = _grid(counts, [step * stride for step, stride in zip(steps, strides, strict=True)])
    box = _grid(sizes, strides)
    same = _movable(table, begins, box)
    if not same.all():
        raise LayoutError(_why_not_movable(same, counts, steps, what))
    shard = infer_iters({name: values[box] for name, values in table.items()}, len(box), "m")
    if isinstance(shard, NotStrided):
        raise LayoutError(f"no tile layout describes a box of {what}: only its first {shard.prefix} elements have one")
    moves = infer_iters({name: values[begins] for name, values in table.items()}, len(begins), "m")
    if isinstance(moves, NotStrided):
        raise LayoutError(
            f"no tile layout describes where boxes of {what} begin: only the first {moves.prefix} begins have one"
        )
    return shard, moves


def _why_not_movable(same: NDArray[np.bool_], counts: Shape, steps: Shape, what: str) -> str:
    """Names the first begin that fails and, of one dimension, the next larger step that works."""
    left = int(np.argmin(same))
    begin: list[int] = []
    for count, step in zip(reversed(counts), reversed(steps), strict=True):
        begin.insert(0, left % count * step)
        left //= count
    at = begin[0] if len(begin) == 1 else tuple(begin)
    text = f"the box of {what} that begins at {at} has another layout than the first"
    if len(counts) > 1:
        return text
    larger = next((factor for factor in range(2, counts[0]) if same[::factor].all()), None)
    hint = "no larger multiple of it works" if larger is None else f"begins at multiples of {larger * steps[0]} work"
    return f"{text}; the begin may not be any multiple of {steps[0]}, {hint}"


def slice_dynamic(
    layout: Strided, dims: tuple[int, ...], sizes: Shape, multiples: Sequence[int | None]
) -> tuple[Strided, Iters, tuple[int, ...]]:
    """The first box, its displacement by the number of steps, and how many begins each dimension has.

    See TileLayout.slice_dynamic; this is for a normal form.

    A box at begin b is the first box moved exactly when D(b + y) - D(b) = D(y) for every y in the box: row-major flat
    indices add up like coordinates.
    """
    check_region([(0, size) for size in sizes], dims)
    if len(multiples) != len(dims):
        raise LayoutError(f"expected one multiple per dimension of shape {dims}, found {tuple(multiples)}")
    steps = tuple([multiple or 0 for multiple in multiples])
    if any(step < 0 for step in steps):
        raise LayoutError(f"expected multiples above 0, or 0 or None for a begin that is always 0, found {steps}")
    counts = tuple(
        [(extent - size) // step + 1 if step else 1 for extent, size, step in zip(dims, sizes, steps, strict=True)]
    )
    try:
        shard, seps = group_iters(layout.shard, dims, "m")
    except LayoutError:
        check_count(layout.size, layout)
        check_count(prod(counts) * prod(sizes), layout)
        whole = accumulate(layout.shard)
        box, moves = _moving_box(whole, counts, steps, sizes, row_major_strides(dims), f"shape {dims}")
    else:
        box, moves = (), ()
        for d, extent in enumerate(dims):
            iters = shard[seps[d] : seps[d + 1]]
            if len(iters) == 1:
                stride, name = iters[0].stride, iters[0].axis
                part, move = (Iter(sizes[d], stride, name),), (Iter(counts[d], stride * steps[d], name),)
            else:
                check_count(max(extent, counts[d] * sizes[d]), layout)
                own = slice(d, d + 1)
                what = f"dimension {d} of shape {dims}"
                part, move = _moving_box(accumulate(iters), counts[own], steps[own], sizes[own], [1], what)
            box, moves = (*box, *part), (*moves, *move)
    return layout._replace(shard=box), moves, counts
