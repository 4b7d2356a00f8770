"""cp.async.bulk of consecutive bytes, and waiting for groups of bulk copies (PTX ISA, section 9.7.9.25.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.types import B64, U16, U32, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import BULK
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import locate, multicast, multicast_address, ranks_of, use
from tirx.sim.memory import global_accesses
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.memory.region import Region
from tirx.sim.memory.tensor_copy import Runs
from tirx.sim.program.code import Step

_SHARED = ("shared::cta", "shared::cluster")
_COMPLETE = "mbarrier::complete_tx::bytes"
_UNIT = 16
_WHAT = "cp.async.bulk"


def linear(decoder: Decoder) -> Step:
    """cp.async.bulk.dst.src: `cp.async.bulk` has been taken."""
    if decoder.flag("prefetch"):
        return _prefetch(decoder)
    target, source = (*decoder.modifiers, "", "")[:2]
    if source == "global" and target in _SHARED:
        return _to_shared(decoder, from_global=True)
    if (target, source) == ("shared::cluster", "shared::cta"):
        return _to_shared(decoder, from_global=False)
    if (target, source) == ("global", "shared::cta"):
        return _to_global(decoder)
    raise decoder.error(f"expected a copy between .global and .shared, found from .{source} to .{target}")


def _prefetch(decoder: Decoder) -> Step:
    decoder.need("L2")
    decoder.need("global")
    hint = decoder.flag("L2::cache_hint")
    decoder.finish(2 + hint)
    return lambda group, mask: None


def check_unit(instruction: str, what: str, *values: int) -> None:
    """Raises SimError unless `values` are multiples of 16."""
    for value in values:
        if value % _UNIT:
            raise SimError(f"{instruction}: expected {what} that is a multiple of {_UNIT}, found {value:#x}")


def check_size(instruction: str, size: int) -> None:
    """Raises SimError unless `size` is a multiple of 16 bytes above 0: the PTX ISA does not say what 0 does."""
    check_unit(instruction, "a size", size)
    if not size:
        raise SimError(f"{instruction}: expected a size of {_UNIT} bytes or more, found 0")


def copy_to_shared(
    group: ThreadGroup,
    thread: int,
    targets: list[tuple[Cta, Array]],
    barriers: list[int],
    read: Callable[[], Array],
    ignored: int = 0,
    what: str = _WHAT,
    swizzle: int | None = None,
) -> None:
    """
    Schedules a write of the bytes that `read` returns to shared memory, and of the count to the mbarrier of each
    target.

    `targets` are CTAs and the places of the bytes; `barriers` addresses of the shared window, one for each target;
    `ignored` bytes more are counted than written. `swizzle` is that of a tensor copy, as a number. `what` is for
    messages.
    """
    cta = group.cta
    found = [use(group, address, thread, asynchronous=True) for address in barriers]
    _, told = locate(group, barriers[0])  # the same place in all of them
    for (target, places), address in zip(targets, barriers, strict=True):
        if address >> RANK_SHIFT != target.rank:
            cta.monitor.bulk_issued(address >> RANK_SHIFT, thread, in_group=False)
        if not places.size:  # all bytes are ignored
            continue
        region = Region.of(places)
        target.check_region(region, what)
        cta.monitor.async_write(target.rank, region, thread, what, told)
        if swizzle is not None:
            cta.monitor.swizzled_write(target.rank, region, swizzle)
        cta.launch.observed.moved("shared", "written", len(places))
    snapshot = cta.monitor.bulk_completed(thread, told)

    def arrive() -> None:
        data = read()
        for (target, places), barrier in zip(targets, found, strict=True):
            target.shared.data[places] = data
            barrier.deliver(len(data) + ignored, snapshot)

    cta.cluster.after(arrive)


def _to_shared(decoder: Decoder, *, from_global: bool) -> Step:
    """[target], [source], size [, ignored bytes left, right], [mbarrier] [, mask of CTAs] [, cache policy]"""
    own = decoder.modifiers[0] == "shared::cta"
    decoder.modifiers = decoder.modifiers[2:]
    decoder.need(_COMPLETE)
    ignores = 2 * (own and decoder.flag("ignore_oob"))
    mask_type = multicast(decoder) if from_global else None
    hint = from_global and decoder.flag("L2::cache_hint")
    decoder.finish(4 + ignores + (mask_type is not None) + hint)
    targets, sources = decoder.address(0).values, decoder.address(1, bits=64 if from_global else None).values
    sizes, barriers = decoder.source(2, U32), decoder.window_address(3 + ignores, True)
    masks = None if mask_type is None else decoder.source(4, mask_type)
    left_and_right = [decoder.source(3 + index, U32) for index in range(ignores)]

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        for lane in np.flatnonzero(mask).tolist():
            thread = group.thread(lane)
            target, source = int(targets(group, mask)[lane]), int(sources(group, mask)[lane])
            size, barrier = int(sizes(group, mask)[lane]), int(barriers(group, mask)[lane])
            check_unit(_WHAT, "an address", target, source)
            check_size(_WHAT, size)
            left, right = (int(each(group, mask)[lane]) for each in left_and_right) if ignores else (0, 0)
            if left >= _UNIT or right >= _UNIT or left + right > size:
                raise SimError(f"{_WHAT}: expected up to {_UNIT - 1} ignored bytes, found {left} and {right}")
            chosen = None if masks is None else int(masks(group, mask)[lane])
            ranks = [target >> RANK_SHIFT] if chosen is None else ranks_of(cta, chosen)
            told = [barrier] if chosen is None else [multicast_address(barrier, rank) for rank in ranks]
            count = size - left - right
            places = [(owner, offset + left + np.arange(count)) for owner, offset in _targets(group, target, ranks)]
            if from_global:
                read = _global_reader(group, lane, source + left, count)
            else:
                read = _shared_reader(group, source, size, thread)
            copy_to_shared(group, thread, places, told, read, left + right)
        cta.launch.made_progress()

    return step


def _targets(group: ThreadGroup, address: int, ranks: list[int]) -> list[tuple[Cta, int]]:
    return [locate(group, multicast_address(address, rank)) for rank in ranks]


def _global_reader(group: ThreadGroup, lane: int, address: int, size: int) -> Callable[[], Array]:
    data = group.cta.launch.global_memory.bytes_at(address, size, _WHAT)
    if group.cta.launch.order is not None and size:
        global_accesses.bulk(group, lane, data, Runs(np.zeros(1, np.int64), size, None), BULK)
    group.cta.launch.observed.moved("global", "read", size)
    return lambda: data.copy()


def _shared_reader(group: ThreadGroup, address: int, size: int, thread: int) -> Callable[[], Array]:
    places = read_places(group, address, np.arange(size), thread)
    group.cta.monitor.bulk_issued(group.cta.rank, thread, in_group=False)
    return lambda: group.cta.shared.data[places]


def read_places(group: ThreadGroup, address: int, offsets: Array, thread: int) -> Array:
    """Checks a bulk copy's read of the CTA's own shared memory, and returns the offsets of the bytes."""
    cta, start = locate(group, address)
    if cta is not group.cta:
        raise SimError(f"{_WHAT}: expected a source in the CTA's own shared memory, found that of CTA {cta.rank}")
    places = start + offsets
    if not places.size:  # a mask of no bytes
        return places
    region = Region.of(places)
    cta.check_region(region, _WHAT)
    cta.monitor.async_read(cta.rank, region, thread, _WHAT, bulk=True)
    cta.launch.observed.moved("shared", "read", places.size)
    return places


def _to_global(decoder: Decoder) -> Step:
    """Decodes [target], [source], size [, cache policy] [, byte mask]. The copy is done at once."""
    decoder.modifiers = decoder.modifiers[2:]
    decoder.need("bulk_group")
    hint, masked = decoder.flag("L2::cache_hint"), decoder.flag("cp_mask")
    decoder.finish(3 + hint + masked)
    targets, sources = decoder.address(0, bits=64).values, decoder.address(1).values
    sizes = decoder.source(2, U32)
    if hint:
        decoder.source(3, B64)
    byte_masks = decoder.source(3 + hint, U16) if masked else None

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        for lane in np.flatnonzero(mask).tolist():
            thread = group.thread(lane)
            target, source = int(targets(group, mask)[lane]), int(sources(group, mask)[lane])
            size = int(sizes(group, mask)[lane])
            check_unit(_WHAT, "an address", target, source)
            check_size(_WHAT, size)
            kept = np.arange(size)
            if byte_masks is not None:
                kept = kept[(int(byte_masks(group, mask)[lane]) >> kept % _UNIT & 1).astype(np.bool_)]
            data = cta.shared.data[read_places(group, source, kept, thread)]
            memory = cta.launch.global_memory.bytes_at(target, size, _WHAT, writes=True)
            if cta.launch.order is not None:
                width = size if byte_masks is None else 1
                starts = np.zeros(1, np.int64) if byte_masks is None else kept
                global_accesses.bulk(group, lane, memory, Runs(starts, width, data.reshape(-1, width)), BULK)
            memory[kept] = data
            cta.launch.observed.moved("global", "written", len(kept))
            issued(group, lane)

    return step


def issued(group: ThreadGroup, lane: int) -> None:
    """A bulk copy out of shared memory belongs to the next group of the thread."""
    cta = group.cta
    cta.bulk_copies.issued(group.lanes[lane : lane + 1], cta.monitor.mark())
    cta.monitor.bulk_issued(cta.rank, group.thread(lane))


def wait_group(decoder: Decoder) -> Step:
    """cp.async.bulk.wait_group[.read] N"""
    reads_only = decoder.flag("read")
    pending = decoder.constant(decoder.only())

    def step(group: ThreadGroup, mask: Mask) -> None:
        lanes = group.lanes[mask]
        marks = group.cta.bulk_copies.wait(lanes, pending)
        group.cta.monitor.bulk_reads_done(group.threads[mask], marks)
        if not reads_only:
            group.cta.monitor.bulk_writes_done(group.threads[mask], marks)

    return step
