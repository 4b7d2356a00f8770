"""Layouts of tiles that are reduced, and of what is left of them."""

from __future__ import annotations

from collections.abc import Collection
from math import gcd

from tirx.layout.axis import WARP_SIZE, axis
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.shape import Shape
from tirx.layout.tile import TileLayout

SEGMENT_BYTES = 128
"""Neighbouring bytes that the lanes of a warp read: a line of the L1 cache."""


def reduced(layout: TileLayout, shape: Shape, dims: Collection[int]) -> TileLayout:
    """The register layout of what a reduction along `dims` leaves of a tile of `shape`, in normal form.

    A thread that holds any element of a row holds what the row is combined to: iters of `dims` on thread axes become
    replicas, those on m go. Slots (axis m) of the other dimensions move together: the smallest stride becomes 1, and
    every other one as large as what the smaller ones reach. The order of the slots stays.

    Raises LayoutError when an iter cannot be cut at the dimensions, or walks backwards along m.
    """
    grouped, starts = layout.group(shape)
    gone = [k for d in dims for k in range(starts[d], starts[d + 1])]
    kept = [k for k, it in enumerate(grouped.shard) if k not in gone and it.extent > 1]
    strides: dict[int, int] = {}
    reach = 1
    for k in sorted(kept, key=lambda k: grouped.shard[k].stride):
        it = grouped.shard[k]
        if it.axis != "m":
            continue
        if it.stride < 0:
            raise LayoutError(f"expected slots that count up, found {it} in {layout}")
        strides[k] = reach if it.stride else 0
        reach *= it.extent if it.stride else 1
    shard = [
        Iter(it.extent, strides[k] if it.axis == "m" else it.stride, it.axis)
        for k, it in enumerate(grouped.shard)
        if k in kept
    ]
    copies = [it for k in gone if (it := grouped.shard[k]).axis != "m"]
    replica = [it for it in grouped.replica if it.axis != "m"]
    offset = [(name, count) for name, count in grouped.offset if axis(name).kind != "memory"]
    return TileLayout(shard, (*replica, *copies), offset).canonicalize()


def by_warp_and_lane(layout: TileLayout) -> TileLayout:
    """The same layout with every iter on a thread axis split into one on `warpid` and one on `laneid`.

    Raises LayoutError for an iter that crosses warps and does not divide into them.
    """

    def split(it: Iter) -> list[Iter]:
        row = axis(it.axis)
        if row.weight is None:
            return [it]
        step = it.stride * row.weight
        if step % WARP_SIZE == 0:
            return [Iter(it.extent, step // WARP_SIZE, "warpid")]
        crosses = step * it.extent > WARP_SIZE
        if step < 0 or (crosses and (WARP_SIZE % step or it.extent % (WARP_SIZE // step))):
            raise LayoutError(f"expected thread iters that divide into warps, found {it} in {layout}")
        if not crosses:
            return [Iter(it.extent, step, "laneid")]
        inner = WARP_SIZE // step
        return [Iter(it.extent // inner, 1, "warpid"), Iter(inner, step, "laneid")]

    weights = {name: weight for name, _ in layout.offset if (weight := axis(name).weight) is not None}
    threads = sum(count * weights[name] for name, count in layout.offset if name in weights)
    others = [(name, count) for name, count in layout.offset if name not in weights]
    warp, lane = divmod(threads, WARP_SIZE)
    return TileLayout(
        [part for it in layout.shard for part in split(it)],
        [part for it in layout.replica for part in split(it)],
        [*others, ("warpid", warp), ("laneid", lane)],
    )


def row_layout(
    shape: Shape, dims: Collection[int], contiguous: int, element_bits: int, threads: int, vector_bytes: int = 16
) -> TileLayout:
    """A register layout for a tile of `shape` that is reduced along `dims`, for `threads` threads (whole warps).

    What is combined lies within a warp where that keeps all threads busy. Vectors of up to `vector_bytes` run along
    the dimension `contiguous`, neighbouring lanes along it too: as far as it goes if it is reduced, for
    `SEGMENT_BYTES` otherwise. Warps share out the dimensions that are kept, and the others only if that is too few.
    """
    warps = threads // WARP_SIZE
    left = list(shape)
    lanes: dict[int, int] = dict.fromkeys(range(len(shape)), 1)
    in_warps: dict[int, int] = dict.fromkeys(range(len(shape)), 1)

    def power_of_two(n: int, most: int) -> int:
        return min(n & -n, 1 << most.bit_length() - 1)

    vector = power_of_two(left[contiguous], max(1, 8 * vector_bytes // element_bits))
    left[contiguous] //= vector
    kept = [d for d in reversed(range(len(shape))) if d not in dims]
    combined = [d for d in reversed(range(len(shape))) if d in dims]
    free = WARP_SIZE
    segment = max(1, 8 * SEGMENT_BYTES // (element_bits * vector))
    first = [(contiguous, WARP_SIZE if contiguous in dims else segment)]
    for dimension, most in (*first, *((d, WARP_SIZE) for d in (*combined, *kept))):
        count = power_of_two(left[dimension], min(free, most))
        lanes[dimension] *= count
        left[dimension] //= count
        free //= count
    unused = warps
    for dimension in (*kept, *combined):
        count = gcd(left[dimension], unused)
        in_warps[dimension] = count
        left[dimension] //= count
        unused //= count
    shard: list[Iter] = []
    slot, lane, warp = vector, 1, 1
    order = [contiguous, *(d for d in (*combined, *kept) if d != contiguous)]
    steps: dict[int, list[Iter]] = {}
    for dimension in order:
        inside = [Iter(vector, 1, "m")] if dimension == contiguous else []
        steps[dimension] = [
            Iter(left[dimension], slot, "m"),
            Iter(in_warps[dimension], warp, "warpid"),
            Iter(lanes[dimension], lane, "laneid"),
            *inside,
        ]
        slot, lane, warp = slot * left[dimension], lane * lanes[dimension], warp * in_warps[dimension]
    for dimension in range(len(shape)):
        shard += [it for it in steps[dimension] if it.extent > 1]
    replica = [it for it in (Iter(free, lane, "laneid"), Iter(unused, warp, "warpid")) if it.extent > 1]
    return TileLayout(shard, replica).canonicalize()
