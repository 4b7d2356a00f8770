"""Loads and stores of lanes in every state space; generic addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim.core.strand import Strand
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.memory.addresses import OFFSET_MASK, RANK_SHIFT, SHARED_OFFSET_MASK, SPACES, WINDOW_SHIFT

_WINDOW_SHIFT = np.uint64(WINDOW_SHIFT)
_OFFSET_MASK = np.uint64(OFFSET_MASK)
_RANK_SHIFT = np.uint64(RANK_SHIFT)
_SHARED_OFFSET_MASK = np.uint64(SHARED_OFFSET_MASK)
# Spaces whose generic addresses are their own addresses.
_FLAT = ("global", "const")


def load(strand: Strand, lanes: Array, space: str, addresses: Array, unit: np.dtype[Any], count: int) -> Array:
    """
    `count` elements of `unit` from each of `addresses` (uint64), one for each of `lanes` (indices in the strand).

    Returns (lanes, count). The address must be a multiple of the size of all elements together.
    """
    if space == "global":
        return strand.cta.launch.global_memory.load(addresses, unit, count)
    if space == "shared":
        return _load_shared(strand, lanes, addresses, unit, count)
    if space == "generic":
        result = np.empty((len(addresses), count), unit)
        for own_space, which, own in split_generic(addresses):
            result[which] = load(strand, lanes[which], own_space, own, unit, count)
        return result
    if space == "const":
        return strand.cta.launch.const_memory.load(addresses, unit, count)
    if space == "local":
        return strand.cta.local.gather(_local(strand, lanes, addresses, unit.itemsize * count, "load"), unit, count)
    if space == "param":
        segment = strand.cta.launch.parameters
        return segment.gather(_bounded(addresses, unit.itemsize * count, segment.size, "parameter load"), unit, count)
    raise SimError(f"state space .{space} is not simulated")


def store(strand: Strand, lanes: Array, space: str, addresses: Array, values: Array) -> None:
    """Writes the elements values[i] to addresses[i] for lane i of `lanes`; of equal addresses the last lane's stays."""
    strand.cta.launch.progress += 1
    if space == "global":
        strand.cta.launch.global_memory.store(addresses, values)
    elif space == "shared":
        _store_shared(strand, lanes, addresses, values)
    elif space == "generic":
        for own_space, which, own in split_generic(addresses):
            store(strand, lanes[which], own_space, own, values[which])
    elif space == "local":
        width = values.dtype.itemsize * values.shape[1]
        strand.cta.local.scatter(_local(strand, lanes, addresses, width, "store"), values)
    else:
        raise SimError(f"expected a state space that can be written, found .{space}")


def split_generic(addresses: Array) -> list[tuple[str, Array, Array]]:
    """The windows that generic addresses lie in: (space, which addresses, addresses in that space)."""
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


def shared_targets(strand: Strand, addresses: Array) -> list[tuple[int, Array | slice, Array]]:
    """The CTAs whose shared memory `addresses` of the shared window lie in: (rank, which, offsets)."""
    ranks = addresses >> _RANK_SHIFT
    offsets = (addresses & _SHARED_OFFSET_MASK).astype(np.int64)
    first = int(ranks[0])
    if (ranks == first).all():
        found: list[tuple[int, Array | slice, Array]] = [(first, slice(None), offsets)]
    else:
        found = [(rank, ranks == rank, offsets[ranks == rank]) for rank in np.unique(ranks).tolist()]
    count = len(strand.cta.cluster.ctas)
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


def _local(strand: Strand, lanes: Array, addresses: Array, width: int, what: str) -> Array:
    cta = strand.cta
    own = _bounded(addresses, width, cta.launch.program.local_bytes, f"local {what}")
    return own + strand.lanes[lanes] * cta.local_bytes.shape[1]


def check_shared(strand: Strand, rank: int, offsets: Array, width: int, what: str) -> None:
    """SimError unless `width` bytes at each of `offsets` are aligned and in declared variables."""
    if (offsets % width).any():
        bad = int(offsets[offsets % width != 0][0])
        raise SimError(f"misaligned shared {what}: {bad:#x} is not a multiple of {width} bytes")
    strand.cta.cluster.ctas[rank].check_shared(offsets, width, what)


def _load_shared(strand: Strand, lanes: Array, addresses: Array, unit: np.dtype[Any], count: int) -> Array:
    result = np.empty((len(addresses), count), unit)
    width = unit.itemsize * count
    for rank, which, offsets in shared_targets(strand, addresses):
        check_shared(strand, rank, offsets, width, "load")
        strand.cta.monitor.shared_load(rank, offsets, width, strand.lanes[lanes[which]] + strand.cta.first_thread)
        result[which] = strand.cta.cluster.ctas[rank].shared.gather(offsets, unit, count)
    return result


def _store_shared(strand: Strand, lanes: Array, addresses: Array, values: Array) -> None:
    width = values.dtype.itemsize * values.shape[1]
    for rank, which, offsets in shared_targets(strand, addresses):
        check_shared(strand, rank, offsets, width, "store")
        own = values[which]
        strand.cta.monitor.shared_store(rank, offsets, own, strand.lanes[lanes[which]] + strand.cta.first_thread)
        strand.cta.cluster.ctas[rank].shared.scatter(offsets, own)
