"""Loads and stores of lanes in every state space; generic addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.traffic import Direction
from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import UPDATE, WEAK, Access
from tirx.sim.hazards.monitor import Stored
from tirx.sim.memory import global_accesses
from tirx.sim.memory.addresses import OFFSET_MASK, RANK_SHIFT, SHARED_OFFSET_MASK, SPACES, WINDOW_SHIFT
from tirx.sim.memory.segment import Segment, is_misaligned

_WINDOW_SHIFT = np.uint64(WINDOW_SHIFT)
_OFFSET_MASK = np.uint64(OFFSET_MASK)
_RANK_SHIFT = np.uint64(RANK_SHIFT)
_SHARED_OFFSET_MASK = np.uint64(SHARED_OFFSET_MASK)
# Spaces whose generic addresses are their own addresses.
_FLAT = ("global", "const")
_SHORT = 256  # keys that are sorted quickly as they are
_PADDED = 1 << 12  # updates of one instruction, repeated ones included, that are cheaper at once


def load(
    group: ThreadGroup,
    lanes: Array,
    space: str,
    addresses: Array,
    unit: np.dtype[Any],
    count: int,
    how: Access = WEAK,
) -> Array:
    """
    `count` elements of `unit` from each of `addresses` (uint64), one for each of `lanes` (indices in the thread group).

    Returns (lanes, count). The address must be a multiple of the size of all elements together. `how` says what the
    program says of other threads that may write there at the same time (volatile, relaxed, acquire).
    """
    if space == "global":
        launch = group.cta.launch
        places = launch.global_memory.locate(addresses, unit.itemsize * count, "load")
        if launch.order is not None:
            global_accesses.read(group, lanes, places, unit, count, how)
        return launch.global_memory.load(addresses, unit, count, places)
    if space == "shared":
        return _load_shared(group, lanes, addresses, unit, count, how.strong)
    if space == "generic":
        result = np.empty((len(addresses), count), unit)
        for own_space, which, own in split_generic(addresses):
            result[which] = load(group, lanes[which], own_space, own, unit, count, how)
        return result
    if space == "const":
        return group.cta.launch.const_memory.load(addresses, unit, count)
    if space == "local":
        return group.cta.local.gather(
            local_offsets(group, lanes, addresses, unit.itemsize * count, "load"), unit, count
        )
    if space == "param":
        segment = group.cta.launch.parameters
        return segment.gather(_bounded(addresses, unit.itemsize * count, segment.size, "parameter load"), unit, count)
    raise AssertionError(space)


def store(group: ThreadGroup, lanes: Array, space: str, addresses: Array, values: Array, how: Access = WEAK) -> None:
    """Writes the elements values[i] to addresses[i] for lane i of `lanes`; of equal addresses the last lane's stays."""
    launch = group.cta.launch
    if space == "global":
        launch.made_progress()
        places = launch.global_memory.locate(addresses, values.dtype.itemsize * values.shape[1], "store")
        if launch.order is not None:
            global_accesses.write(group, lanes, places, values, how)
        launch.global_memory.store(addresses, values, places)
    elif space == "shared":
        launch.made_progress()
        _store_shared(group, lanes, addresses, values, how.strong)
    elif space == "generic":
        for own_space, which, own in split_generic(addresses):
            store(group, lanes[which], own_space, own, values[which], how)
    elif space == "local":
        width = values.dtype.itemsize * values.shape[1]
        group.cta.local.scatter(local_offsets(group, lanes, addresses, width, "store"), values)
    else:
        raise SimError(f"expected a state space that can be written, found .{space}")


def split_generic(addresses: Array) -> list[tuple[str, Array, Array]]:
    """Splits generic addresses by state space: (space, mask of its addresses, addresses in that space)."""
    windows = addresses >> _WINDOW_SHIFT
    found: list[tuple[str, Array, Array]] = []
    for window in np.unique(windows).tolist():
        space = SPACES.get(window)
        which = windows == window
        if space is None:
            raise SimError(f"generic address {int(addresses[which][0]):#x} is in no state space")
        own = addresses[which]
        found.append((space, which, own if space in _FLAT else own & _OFFSET_MASK))
    return found


def shared_targets(group: ThreadGroup, addresses: Array) -> list[tuple[int, Array | slice, Array]]:
    """Splits shared `addresses` by the CTA that owns the memory: (rank, indices of its addresses, offsets)."""
    lowest, highest = int(np.minimum.reduce(addresses)), int(np.maximum.reduce(addresses))
    first, highest = lowest >> RANK_SHIFT, highest >> RANK_SHIFT
    offsets = (addresses & _SHARED_OFFSET_MASK if highest else addresses).view(np.int64)
    if first == highest:
        found: list[tuple[int, Array | slice, Array]] = [(first, slice(None), offsets)]
    else:
        ranks = addresses >> _RANK_SHIFT
        found = [(rank, ranks == rank, offsets[ranks == rank]) for rank in np.unique(ranks).tolist()]
    count = len(group.cta.cluster.ctas)
    for rank, _, own in found:
        if rank >= count:
            raise SimError(
                f"out-of-bounds shared memory access at {int(own[0]) | rank << RANK_SHIFT:#x}: "
                f"the cluster has {count} CTAs, no CTA {rank}"
            )
    return found


def _bounded(addresses: Array, width: int, size: int, what: str) -> Array:
    offsets = addresses.astype(np.int64)
    if (offsets % width).any():
        raise SimError(
            f"misaligned {what}: {int(offsets[offsets % width != 0][0]):#x} is not a multiple of {width} bytes"
        )
    if offsets.min() < 0 or offsets.max() + width > size:
        bad = int(offsets[(offsets < 0) | (offsets + width > size)][0])
        raise SimError(f"out-of-bounds {what} of {width} bytes at {bad:#x}: there are {size} bytes")
    return offsets


def local_offsets(group: ThreadGroup, lanes: Array, addresses: Array, width: int, what: str) -> Array:
    """Addresses in .local of lanes as offsets into the memory of the CTA."""
    cta = group.cta
    own = _bounded(addresses, width, cta.launch.program.local_bytes, f"local {what}")
    return own + group.lanes[lanes] * cta.local_bytes.shape[1]


def check_shared(group: ThreadGroup, rank: int, offsets: Array, width: int, what: str) -> None:
    """Raises SimError unless `width` bytes at each of `offsets` are aligned and in declared variables."""
    if is_misaligned(offsets, width):
        bad = int(offsets[offsets % width != 0][0])
        raise SimError(f"misaligned shared {what}: {bad:#x} is not a multiple of {width} bytes")
    group.cta.cluster.ctas[rank].check_shared(offsets, width, what)


def own_offsets(group: ThreadGroup, addresses: Array, width: int, what: str) -> Array:
    """
    Returns the offsets in the shared memory of its CTA that each lane of several CTAs side by side accesses.

    Raises SimError for an access that is out of bounds or misaligned.
    """
    ((_, _, offsets),) = shared_targets(group, addresses)
    check_shared(group, group.cta.rank, offsets, width, what)
    return offsets


def _load_shared(
    group: ThreadGroup, lanes: Array, addresses: Array, unit: np.dtype[Any], count: int, strong: bool
) -> Array:
    result: Array | None = None
    width = unit.itemsize * count
    if group.sides is not None:
        places = own_offsets(group, addresses, width, "load")

        def loads(part: ThreadGroup, own: slice) -> None:
            part.cta.monitor.shared_load(part.cta.rank, places[own], width, group.lanes[lanes[own]], strong)

        if group.cta.launch.checks:
            group.sides.tell(lanes, loads)
        return group.sides.shared.gather(places + group.sides.bases[lanes], unit, count)
    for rank, which, offsets in shared_targets(group, addresses):
        check_shared(group, rank, offsets, width, "load")
        threads = group.lanes[lanes[which]] + group.cta.first_thread
        group.cta.monitor.shared_load(rank, offsets, width, threads, strong)
        _observe_shared(group, lanes[which], offsets, width, "read")
        values = group.cta.cluster.ctas[rank].shared.gather(offsets, unit, count)
        if isinstance(which, slice):
            return values
        if result is None:
            result = np.empty((len(addresses), count), unit)
        result[which] = values
    assert result is not None, "there is at least one address"
    return result


def _store_shared(group: ThreadGroup, lanes: Array, addresses: Array, values: Array, strong: bool) -> None:
    width = values.dtype.itemsize * values.shape[1]
    if group.sides is not None:
        places = own_offsets(group, addresses, width, "store")

        def stores(part: ThreadGroup, own: slice) -> None:
            stored = Stored(places[own], values[own], part.cta.shared.data)
            part.cta.monitor.shared_store(part.cta.rank, places[own], stored, group.lanes[lanes[own]], strong)

        if group.cta.launch.checks:
            group.sides.tell(lanes, stores)
        group.sides.shared.scatter(places + group.sides.bases[lanes], values)
        return
    for rank, which, offsets in shared_targets(group, addresses):
        check_shared(group, rank, offsets, width, "store")
        own = values[which]
        threads = group.lanes[lanes[which]] + group.cta.first_thread
        segment = group.cta.cluster.ctas[rank].shared
        group.cta.monitor.shared_store(rank, offsets, Stored(offsets, own, segment.data), threads, strong)
        _observe_shared(group, lanes[which], offsets, width, "written")
        segment.scatter(offsets, own)


def _observe_shared(group: ThreadGroup, lanes: Array, offsets: Array, width: int, *directions: Direction) -> None:
    observed = group.cta.launch.observed
    for direction in directions:
        observed.moved("shared", direction, len(offsets) * width)
    observed.shared_request(lanes, offsets, width)


# Atomic updates: old values and the operands of some lanes to new values.
Update: TypeAlias = Callable[[Array, Array], Array]
# Atomic updates of the same places one after another: old values (places, 1, elements) and lanes (places, updates) to
# the values before, between and behind them (places, 1 + updates, elements); None if that has to be found in turns.
_ResultT = TypeVar("_ResultT")
Fold: TypeAlias = Callable[[Array, Array], "Array | None"]


def _of(function: Callable[[Array, Array], _ResultT], lanes: Array) -> Callable[[Array, Array], _ResultT]:
    """Returns the function for some of the lanes, which count from 0."""
    return lambda old, which: function(old, lanes[which])


def update(
    group: ThreadGroup,
    lanes: Array,
    space: str,
    addresses: Array,
    unit: np.dtype[Any],
    count: int,
    new: Update,
    how: Access = UPDATE,
    fold: Fold | None = None,
    done: Callable[[Array, Array], Mask] | None = None,
) -> Array:
    """
    Atomic read-modify-write, lane by lane where addresses are equal; returns the old values (lanes, count).

    `new(old, which)` gives the new values of the lanes `which` (indices into `lanes`); `fold` says the same of several
    updates of a place at once. `done` says of old values of lanes whether they write; None: they do.
    """
    result = np.empty((len(addresses), count), unit)
    if space == "generic":
        for own_space, chosen, own in split_generic(addresses):
            which = np.flatnonzero(chosen)
            result[chosen] = update(
                group, lanes[chosen], own_space, own, unit, count,
                _of(new, which), how, None if fold is None else _of(fold, which),
                None if done is None else _of(done, which),
            )  # fmt: skip
        return result
    segments = _segments(group, lanes, space, addresses, unit.itemsize * count)
    publish = global_accesses.update(group, lanes, segments, unit, count, how) if space == "global" else None
    for segment, which, offsets in segments:
        for turns, own in _turns(offsets):
            chosen, places = which[turns], offsets[turns[:, 0]]
            old = segment.gather(places, unit, count)[:, None]
            values = fold(old, chosen) if fold is not None and turns.shape[1] > 1 else None
            if values is None:
                steps = [old[:, 0]]
                for each in chosen.T:
                    steps.append(np.ascontiguousarray(new(steps[-1], each)))
                values = np.stack(steps, axis=1)
            changes: Mask = (values[:, 1:] != values[:, :-1]).any(axis=2)
            if own.all():
                segment.scatter(places, values[:, -1])
                result[chosen] = values[:, :-1]
            else:
                segment.scatter(places, values[np.arange(len(own)), own.sum(axis=1)])
                result[chosen[own]] = values[:, :-1][own]
                changes = changes & own
            changed = chosen[changes]
            if len(changed):
                group.note_changes(lanes[changed])
    if publish is not None:
        publish(np.ones(len(result), np.bool_) if done is None else done(result, np.arange(len(result))))
    return result


def _segments(
    group: ThreadGroup, lanes: Array, space: str, addresses: Array, width: int
) -> list[tuple[Segment, Array, Array]]:
    """Splits the addresses of an atomic access by memory: (segment, indices of its addresses, offsets)."""
    everything = np.arange(len(addresses))
    if space == "global":
        memory = group.cta.launch.global_memory
        found = [(segment, everything[which], own) for segment, which, own in memory.locate(addresses, width, "atomic")]
        for segment, _, _ in found:
            if segment.read_only:
                raise SimError(f"atomic access to {segment.name}, which is read-only")
        for direction in ("read", "written"):
            memory.observed.moved("global", direction, len(addresses) * width)
        return found
    if space == "local":
        return [(group.cta.local, everything, local_offsets(group, lanes, addresses, width, "atomic"))]
    if space != "shared":
        raise SimError(f"expected global or shared memory for an atomic access, found .{space}")
    if group.sides is not None:
        places = own_offsets(group, addresses, width, "atomic access")

        def updates(part: ThreadGroup, own: slice) -> None:
            part.cta.monitor.shared_atomic(part.cta.rank, places[own], width, group.lanes[lanes[own]])

        if group.cta.launch.checks:
            group.sides.tell(lanes, updates)
        return [(group.sides.shared, everything, places + group.sides.bases[lanes])]
    shared: list[tuple[Segment, Array, Array]] = []
    for rank, which, offsets in shared_targets(group, addresses):
        check_shared(group, rank, offsets, width, "atomic access")
        threads = group.lanes[lanes[which]] + group.cta.first_thread
        group.cta.monitor.shared_atomic(rank, offsets, width, threads)
        _observe_shared(group, lanes[which], offsets, width, "read", "written")
        shared.append((group.cta.cluster.ctas[rank].shared, everything[which], offsets))
    return shared


def _turns(offsets: Array) -> Iterator[tuple[Array, Mask]]:
    """
    Yields indices of `offsets` (places, updates of each): all offsets of a row are equal, those of rows are not, and
    equal ones come in their order. Behind its updates a row repeats its last one: the mask is False there.

    Rows come together, or with those that are at most twice as long: few steps for many places, and little is repeated.
    """
    if len(offsets) and (offsets == offsets[0]).all():  # as of a lock
        yield np.arange(len(offsets))[None], np.ones((1, len(offsets)), np.bool_)
        return
    keys = offsets
    if len(keys) > _SHORT:
        least, most = np.minimum.reduce(offsets), np.maximum.reduce(offsets)
        if most - least < 1 << 16:
            keys = (offsets - least).astype(np.uint16)  # which numpy sorts in linear time
    order = np.argsort(keys, kind="stable")
    ordered = offsets[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    counts: Array = np.diff(starts, append=len(offsets))
    most = int(counts.max(initial=0))
    while most:
        least = most // 2 if most * len(counts) > _PADDED + 2 * len(offsets) else 0
        rows: Mask = (counts > least) & (counts <= most)
        if rows.any():
            of_rows = counts[rows, None]
            steps = np.arange(int(of_rows.max()))
            yield order[starts[rows, None] + np.minimum(steps, of_rows - 1)], steps < of_rows
        most = least
