"""Elements that other threads hold: reductions across lanes; changes of layout by moves, shuffles or shared memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from math import prod
from typing import NamedTuple

from tirx.copy.access import widest_vectors
from tirx.copy.banks import wavefronts
from tirx.copy.cost import CopyCost
from tirx.copy.distribute import SHARED_PHASE_BYTES, VECTOR_BYTES
from tirx.copy.slots import projected, source_slots
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.layout.arrays import IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.layout.ownership import AccessError, held_elements
from tirx.layout.reduction import by_warp_and_lane, reduced
from tirx.layout.shape import Shape
from tirx.layout.swizzle import SwizzleMode
from tirx.values import dataclass

SHUFFLED_BITS = 16
"""Narrower elements are not shuffled: a register of 32 bits would have to be taken apart for each."""

BARRIER_CYCLES = 40.0
"""What two barriers cost next to the terms of `CopyCost`: the time in which warps wait for each other."""


def reduced_shape(shape: Shape, dims: Collection[int]) -> tuple[int, ...]:
    """The shape of what a reduction along `dims` leaves."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


@dataclass(frozen=True)
class Reduction:
    """A reduction inside of warps.

    `slots` has the slot of the result for each slot of the source, None for slots without elements. What the slots give
    is then combined with that of the lanes whose number differs by the bits of each of `masks`, one after the other.
    """

    slots: tuple[int | None, ...]
    masks: tuple[int, ...]


def plan_reduction(layout: TileLayout, shape: Shape, dims: Collection[int], threads: int) -> Reduction | None:
    """Plans how warps reduce a register tile along `dims`, to the layout `reduced(layout, shape, dims)`.

    None where a warp does not hold all that is combined, or lanes do not differ by single bits. Raises LayoutError
    where the reduced tile has no layout.
    """
    return _plan_reduction(layout, tuple(shape), tuple(sorted(dims)), threads)


@bounded_cache
def _plan_reduction(
    layout: TileLayout, shape: tuple[int, ...], dims: tuple[int, ...], threads: int
) -> Reduction | None:
    part_shape = reduced_shape(shape, dims)
    slots = source_slots(layout, shape, reduced(layout, shape, dims), part_shape, threads)
    try:
        grouped, starts = by_warp_and_lane(layout).group(shape)
    except LayoutError:
        return None
    masks: list[int] = []
    for dimension in dims:
        for it in grouped.shard[starts[dimension] : starts[dimension + 1]]:
            if it.extent == 1 or it.axis == "m":
                continue
            if it.axis != "laneid" or it.extent & (it.extent - 1) or it.stride & (it.stride - 1):
                return None
            masks += [it.stride << bit for bit in range(it.extent.bit_length() - 1)]
    if masks and threads % WARP_SIZE:
        return None
    plan = Reduction(slots, tuple(sorted(masks)))
    return plan if _is_complete(plan, layout, shape, dims, threads) else None


def _is_complete(plan: Reduction, layout: TileLayout, shape: Shape, dims: Collection[int], threads: int) -> bool:
    """Returns True if every thread combines all elements of each of its results, and each of them once."""
    held = held_elements(layout, shape, threads)
    wanted = projected(held, shape, reduced_shape(shape, dims))
    combined = prod(shape[d] for d in dims)
    others = np.zeros(1, dtype=np.int64)
    for mask in plan.masks:
        others = np.concatenate([others, others ^ mask])
    reached = np.arange(threads)[:, None] ^ others[None, :]
    if reached.max() >= threads:
        return False
    for slot in {slot for slot in plan.slots if slot is not None}:
        columns = [source for source, found in enumerate(plan.slots) if found == slot]
        holding = np.any(held[:, columns] >= 0, axis=1)
        elements: IntArray = held[:, columns][reached[holding]].reshape(int(holding.sum()), -1)
        results: IntArray = wanted[:, columns][reached[holding]].reshape(elements.shape)
        elements = np.sort(elements, axis=1)
        if elements.shape[1] != combined or (elements < 0).any():
            return False
        if (np.diff(elements, axis=1) == 0).any() or (results != results[:, :1]).any():
            return False
    return True


class Level(NamedTuple):
    """An iter of a line that is scanned: `extent` positions, each of them `slots` or `lanes` further on."""

    extent: int
    slots: int
    lanes: int


@dataclass(frozen=True)
class Scan:
    """A scan inside of warps.

    `levels` are those of a line, the outermost first. `lines` has the first slot of each line of a thread, with the
    slot of its total in the layout `reduced(layout, shape, (dim,))`.
    """

    levels: tuple[Level, ...]
    lines: tuple[tuple[int, int], ...]


@bounded_cache
def plan_scan(layout: TileLayout, shape: tuple[int, ...], dim: int, threads: int) -> Scan | None:
    """Plans how warps scan a register tile along `dim`; None where a warp does not hold whole lines in order.

    Raises LayoutError where the totals have no layout.
    """
    try:
        grouped, starts = by_warp_and_lane(layout).group(shape)
    except LayoutError:
        return None
    iters = [it for it in grouped.shard[starts[dim] : starts[dim + 1]] if it.extent > 1]
    levels = tuple(Level(it.extent, *((it.stride, 0) if it.axis == "m" else (0, it.stride))) for it in iters)
    of_lanes = [level for level in levels if level.lanes]
    if any(it.axis not in ("m", "laneid") or it.stride <= 0 for it in iters) or (of_lanes and threads % WARP_SIZE):
        return None
    if any(n & n - 1 for level in of_lanes for n in (level.extent, level.lanes)):
        return None
    # Where each element of a line lies by the levels: compared with where it does.
    slots, lanes, mask = np.zeros(1, np.int64), np.arange(threads) * 0, 0
    step = shape[dim]
    positions = np.zeros(1, np.int64)
    for level in levels:
        step //= level.extent
        each = np.arange(level.extent)
        if level.lanes:
            lanes += np.arange(threads) // level.lanes % level.extent * step
            mask |= (level.extent - 1) * level.lanes
        else:
            slots = (slots[:, None] + each * level.slots).ravel()
            positions = (positions[:, None] + each * step).ravel()
    held = held_elements(layout, shape, threads)
    inner = prod(shape[dim + 1 :])
    at = held // inner % shape[dim]
    rest = held - at * inner
    first = held[np.arange(threads) & ~mask]
    if (np.where(first < 0, -1, first + lanes[:, None] * inner) != held).any():
        return None
    totals = source_slots(layout, shape, reduced(layout, shape, (dim,)), reduced_shape(shape, (dim,)), threads)
    lines: list[tuple[int, int]] = []
    seen: set[int] = set()
    for slot, total in enumerate(totals):
        if total is None or slot in seen:
            continue
        line = slot + slots
        if line[-1] >= held.shape[1] or not seen.isdisjoint(line.tolist()):
            return None
        missing = (held[:, line] < 0).any(1)
        fits = (at[:, line] == positions + lanes[:, None]).all(1) & (rest[:, line] == rest[:, slot, None]).all(1)
        if not (missing | fits).all() or (missing != (held[:, line] < 0).all(1)).any():
            return None
        seen.update(line.tolist())
        lines.append((slot, total))
    return Scan(levels, tuple(lines))


def split_scan(layout: TileLayout, shape: tuple[int, ...], dim: int) -> tuple[int, int, int] | None:
    """Returns the factors of an extent whose middle one is that of warps, so that a warp scans the last by itself.

    The first is of slots, or 1. None where lanes lie outside of warps or slots between them.
    """
    try:
        grouped, starts = by_warp_and_lane(layout).group(shape)
    except LayoutError:
        return None
    iters = [it for it in grouped.shard[starts[dim] : starts[dim + 1]] if it.extent > 1]
    warps = [i for i, it in enumerate(iters) if it.axis == "warpid"]
    if not warps or warps != list(range(warps[0], warps[-1] + 1)) or any(it.axis != "m" for it in iters[: warps[0]]):
        return None
    outer, across = (prod(it.extent for it in part) for part in (iters[: warps[0]], iters[warps[0] : warps[-1] + 1]))
    return outer, across, shape[dim] // (outer * across)


def _ends(
    source: TileLayout, result: TileLayout, shape: tuple[int, ...], threads: int, arranged: Arrangement | None
) -> tuple[IntArray, IntArray]:
    """The elements of the source that each thread holds in each slot, and those that it is to hold."""
    have, want = held_elements(source, (source.size(),), threads), held_elements(result, shape, threads)
    return have, want if arranged is None else arranged.elements(want)


Selection = tuple[tuple[int, int], ...]
"""The slots of which one is chosen, each with the warps that choose it as bits of a mask."""


@bounded_cache
def plan_selections(
    source: TileLayout, result: TileLayout, shape: tuple[int, ...], threads: int, arranged: Arrangement | None = None
) -> tuple[Selection, ...] | None:
    """Plans how every slot of `result` is chosen among slots of `source` in the same thread, by the warp.

    None where a thread lacks an element, or threads of a warp choose different slots.
    """
    have, want = _ends(source, result, shape, threads, arranged)
    found: list[Selection] = []
    for column in want.T:
        chosen: dict[int, int] = {}
        for first in range(0, threads, WARP_SIZE):
            wanted = column[first : first + WARP_SIZE]
            held = wanted >= 0
            if not held.any():
                continue
            fits = (have[first : first + WARP_SIZE] == wanted[:, None])[held].all(0)
            if not fits.any():
                return None
            slot = int(fits.argmax())
            chosen[slot] = chosen.get(slot, 0) | 1 << first // WARP_SIZE
        found.append(tuple(chosen.items()))
    return tuple(found)


@dataclass(frozen=True)
class Shuffle:
    """A move of an element to a slot from another lane of its warp.

    `lanes` has the lane that each lane reads. It finds the element in one of several slots: `sources` has each of them
    with the lanes for which it is the one, as bits of a mask.
    """

    lanes: tuple[int, ...]
    sources: tuple[tuple[int, int], ...]

    @property
    def distance(self) -> int | None:
        """The number whose XOR with the own lane is the lane that is read, if there is one."""
        distance = self.lanes[0]
        return distance if all(lane == own ^ distance for own, lane in enumerate(self.lanes)) else None


@bounded_cache
def plan_shuffles(
    source: TileLayout, result: TileLayout, shape: tuple[int, ...], threads: int, arranged: Arrangement | None = None
) -> tuple[Shuffle | None, ...] | None:
    """
    Plans how every slot of `result` is filled from slots of `source` in the same warp, None for slots without elements.

    None instead of a plan where elements come from other warps, or where warps differ.
    """
    if threads % WARP_SIZE:
        return None
    have, want = _ends(source, result, shape, threads, arranged)
    warps, slots = threads // WARP_SIZE, have.shape[1]
    where = np.full((warps, source.size()), -1, dtype=np.int64)
    for thread in range(threads - 1, -1, -1):
        held = np.flatnonzero(have[thread] >= 0)
        where[thread // WARP_SIZE, have[thread][held]] = thread % WARP_SIZE * slots + held
    found: list[Shuffle | None] = []
    for slot in range(want.shape[1]):
        wanted = want[:, slot].reshape(warps, WARP_SIZE)
        missing = wanted < 0
        if missing.all():
            found.append(None)
            continue
        places = np.where(missing, -1, where[np.arange(warps)[:, None], wanted])
        place = places.max(axis=0)
        if ((places != place) | (places < 0))[~missing].any():
            return None
        # Lanes without an element read their own.
        lanes = np.where(place < 0, np.arange(WARP_SIZE), place // slots)
        sources = np.where(place < 0, -1, place % slots)
        chosen = {int(s): sum(1 << int(n) for n in np.flatnonzero(sources == s)) for s in np.unique(sources) if s >= 0}
        found.append(Shuffle(tuple(int(lane) for lane in lanes), tuple(chosen.items())))
    return tuple(found)


def moved_slots(
    source: TileLayout, result: TileLayout, shape: tuple[int, ...], threads: int, arranged: Arrangement | None = None
) -> tuple[int | None, ...] | None:
    """Returns the slot of `source` that every thread moves to each slot of `result`, None for slots without elements.

    None instead where threads lack an element, or have it in different slots.
    """
    if arranged is None:
        try:
            return source_slots(result, shape, source, shape, threads)
        except LayoutError:
            return None
    selections = plan_selections(source, result, shape, threads, arranged)
    if selections is None or any(len(selection) > 1 for selection in selections):
        return None
    return tuple(selection[0][0] if selection else None for selection in selections)


_MODES: tuple[SwizzleMode, ...] = ("128B", "64B", "32B")


class Way(StrEnum):
    """A way to change the layout of a register tile."""

    MOVES = "moves"
    SELECTIONS = "selections"
    SHUFFLES = "shuffles"
    SHARED = "shared"


@dataclass(frozen=True)
class Exchange:
    """The way to change a layout, its cost in cycles of an SM, and the layout in shared memory for the way there."""

    way: Way
    cycles: float
    shared: TileLayout | ComposeLayout | None = None


@bounded_cache
def plan_exchange(
    source: TileLayout,
    result: TileLayout,
    shape: tuple[int, ...],
    element_bits: int,
    threads: int,
    arranged: Arrangement | None = None,
) -> Exchange:
    """The cheapest way from one layout of a register tile to another.

    Moves between registers of a thread where each has what it needs, selections where its slot depends on the warp;
    else shuffles, one for every slot that another lane may need, and a selection where there are several; or a store
    to shared memory and a load, with a layout there that has few bank conflicts, and two barriers. Raises LayoutError
    where no way leads there.
    """
    if moved_slots(source, result, shape, threads, arranged) is not None:
        return Exchange(Way.MOVES, 0.0)
    ways: list[Exchange] = []
    words = max(1, element_bits // 32)
    if element_bits >= SHUFFLED_BITS:
        if (selections := plan_selections(source, result, shape, threads, arranged)) is not None:
            chosen = sum(max(0, len(selection) - 1) for selection in selections)
            ways.append(Exchange(Way.SELECTIONS, chosen * words * threads / WARP_SIZE))
        if (shuffles := plan_shuffles(source, result, shape, threads, arranged)) is not None:
            reads = sum(len(shuffle.sources) for shuffle in shuffles if shuffle is not None)
            chosen = reads - sum(shuffle is not None for shuffle in shuffles)
            ways.append(Exchange(Way.SHUFFLES, (reads + chosen / 2) * words * threads / WARP_SIZE))
    problem: LayoutError | None = None
    for shared in _shared_layouts(shape, element_bits) if arranged is None else ():
        try:
            costs = [shared_cost(end, shared, shape, element_bits, threads) for end in (source, result)]
        except LayoutError as e:
            problem = problem or e
            continue
        ways.append(Exchange(Way.SHARED, sum(cost.cycles for cost in costs) + BARRIER_CYCLES, shared))
    if not ways:
        raise problem or LayoutError(f"expected layouts that shared memory can exchange, found {source} and {result}")
    return min(ways, key=lambda way: way.cycles)


def shared_cost(
    registers: TileLayout, shared: TileLayout | ComposeLayout, shape: Shape, element_bits: int, threads: int
) -> CopyCost:
    """The cost of a store or load of a register tile, counted on the addresses of the first warp.

    Raises AccessError where threads would move parts of bytes.
    """
    held = held_elements(registers, shape, threads)
    used = np.any(held >= 0, axis=0)
    addresses = shared.axis_table("m", (shared.size(),))[held]
    first = addresses[:WARP_SIZE][np.any(held[:WARP_SIZE] >= 0, axis=1)]
    found = instructions = 0
    for slot, count in widest_vectors(addresses, used, max(1, 8 * VECTOR_BYTES // element_bits)):
        if count * element_bits < 8:
            raise AccessError(f"expected neighbouring elements of whole bytes in threads, found {count} in {registers}")
        elements = first[:, slot, None] + np.arange(count, dtype=np.int64)
        lanes = max(1, min(len(first), 8 * SHARED_PHASE_BYTES // (count * element_bits)))
        found += wavefronts(elements, lanes, element_bits)
        instructions += 1
    warps = -(-threads // WARP_SIZE)
    return CopyCost(found * warps, 0, instructions * warps)


def _shared_layouts(shape: tuple[int, ...], element_bits: int) -> Iterator[TileLayout | ComposeLayout]:
    """Layouts in shared memory to choose from: each dimension the fastest, plain and with swizzles."""
    rank = len(shape)
    for fastest in reversed(range(rank)):
        order = [d for d in range(rank) if d != fastest] + [fastest]
        strides: dict[int, int] = {}
        step = 1
        for d in reversed(order):
            strides[d] = step
            step *= shape[d]
        plain = TileLayout([Iter(n, strides[d], "m") for d, n in enumerate(shape)])
        yield plain
        for name in _MODES:
            swizzle = SwizzleLayout.for_bits(element_bits, name)
            if prod(shape) % (1 << swizzle.per_element + swizzle.atom_len + swizzle.swizzle_len) == 0:
                yield ComposeLayout(swizzle, plain)
