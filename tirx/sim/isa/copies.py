"""cp.async: copies from global to shared memory by threads (PTX ISA, section 9.7.9.25.3)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Sides, ThreadGroup
from tirx.sim.core.types import B64, PRED, U32, Array, Mask
from tirx.sim.hazards.global_access import COPY
from tirx.sim.isa import bulk
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import use
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import global_accesses, spaces
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Name, Negated

_SIZES = (4, 8, 16)
_PREFETCH = frozenset(("L2::64B", "L2::128B", "L2::256B"))


@instruction("cp")
def _cp(decoder: Decoder) -> Step:
    if decoder.flag("reduce"):
        return bulk.reduction(decoder)
    decoder.need("async")
    if decoder.flag("bulk"):
        return bulk.copy(decoder)
    if decoder.flag("commit_group"):
        decoder.finish(0)
        return _commit
    if decoder.flag("wait_group"):
        pending = decoder.constant(decoder.only())
        return lambda group, mask: _wait(group, mask, pending)
    if decoder.flag("wait_all"):
        decoder.finish(0)
        return _wait_all
    if decoder.flag("mbarrier"):
        return _arrive(decoder)
    return _copy(decoder)


def _copy(decoder: Decoder) -> Step:
    """cp.async.ca or .cg [shared], [global], size [, source size or predicate that it is ignored]"""
    level = decoder.need("ca", "cg")
    decoder.need("shared", "shared::cta")
    decoder.need("global")
    hint = decoder.flag("L2::cache_hint")
    decoder.drop(_PREFETCH)
    decoder.finish(*((4, 5) if hint else (3, 4)))
    size = decoder.constant(2)
    if size not in _SIZES or (level == "cg" and size != 16):
        raise decoder.error(f"expected a size of {'16' if level == 'cg' else '4, 8 or 16'} bytes, found {size}")
    target, source = decoder.address(0).values, decoder.address(1).values
    read = ignored = None
    if len(decoder.operands) - hint == 4:
        operand = decoder.operands[3]
        name = operand.predicate if isinstance(operand, Negated) else operand
        register = decoder.register(name.name) if isinstance(name, Name) else None
        if register is not None and register.type is PRED:
            ignored = decoder.source(operand, PRED)
        else:
            read = decoder.source(operand, U32)

    def part(group: ThreadGroup, lanes: Array, addresses: Array, used: Array, whole: Mask) -> Array:
        """The data where some lanes read less than `size` bytes; the rest are zeros."""
        cta = group.cta
        data = np.zeros((len(addresses), size // 4), np.uint32)
        raw = data.view(np.uint8)
        if whole.any():
            data[whole] = _global_words(group, lanes[whole], addresses[whole], size)
        for index in np.flatnonzero(~whole & (used > 0)).tolist():
            count = int(used[index])
            cta.launch.observed.moved("global", "read", count)
            raw[index, :count] = cta.launch.global_memory.bytes_at(int(addresses[index]), count, "cp.async")
            if cta.launch.order is not None:
                one, at = (
                    lanes[index : index + 1],
                    np.repeat(addresses[index], count) + np.arange(count, dtype=np.uint64),
                )
                places = cta.launch.global_memory.locate(at, 1, "cp.async")
                global_accesses.read(group, np.repeat(one, count), places, np.dtype(np.uint8), 1, COPY)
        return data

    def step(group: ThreadGroup, mask: Mask) -> None:
        lanes, _ = group.active(mask)
        cta = group.cta
        addresses = source(group, mask)[lanes]
        used = np.full(len(lanes), size)
        if read is not None:
            used = np.minimum(read(group, mask)[lanes].astype(np.int64), size)
        if ignored is not None:
            used = np.where(ignored(group, mask)[lanes], 0, size)
        whole = used == size
        data = (
            _global_words(group, lanes, addresses, size) if whole.all() else part(group, lanes, addresses, used, whole)
        )
        where = target(group, mask)[lanes]
        if group.sides is not None:
            _side_by_side(group, group.sides, lanes, where, data, size)
            return
        for rank, which, offsets in spaces.shared_targets(group, where):
            spaces.check_shared(group, rank, offsets, size, "cp.async")
            cta.monitor.copy_async(rank, offsets, size, group.threads[lanes[which]])
            cta.launch.observed.moved("shared", "written", len(offsets) * size)
            cta.cluster.ctas[rank].shared.scatter(offsets, data[which])
        cta.copies.issued(group.lanes[lanes], cta.monitor.mark())
        cta.launch.made_progress()

    return step


def _side_by_side(group: ThreadGroup, sides: Sides, lanes: Array, where: Array, data: Array, size: int) -> None:
    """Writes what the lanes of several CTAs copy, `size` bytes each."""
    offsets = spaces.own_offsets(group, where, size, "cp.async")

    def copies(part: ThreadGroup, own: slice) -> None:
        monitor = part.cta.monitor
        monitor.copy_async(0, offsets[own], size, group.lanes[lanes[own]])
        sides.copies.issued(lanes[own], monitor.mark())

    if group.cta.launch.checks:
        sides.tell(lanes, copies)
    sides.shared.scatter(offsets + sides.bases[lanes], data)
    group.cta.launch.made_progress()


def _global_words(group: ThreadGroup, lanes: Array, addresses: Array, size: int) -> Array:
    launch, word = group.cta.launch, np.dtype(np.uint32)
    places = launch.global_memory.locate(addresses, size, "load")
    if launch.order is not None:
        global_accesses.read(group, lanes, places, word, size // word.itemsize, COPY)
    return launch.global_memory.load(addresses, word, size // word.itemsize, places)


def _commit(group: ThreadGroup, mask: Mask) -> None:
    lanes, _ = group.active(mask)
    if group.sides is not None:
        group.sides.copies.commit(lanes)
    else:
        group.cta.copies.commit(group.lanes[lanes])


def _wait(group: ThreadGroup, mask: Mask, pending: int) -> None:
    lanes, _ = group.active(mask)
    if group.sides is not None:
        marks = group.sides.copies.wait(lanes, pending)
        for part, own in group.sides.split(lanes) if group.cta.launch.checks else ():
            part.cta.monitor.copies_waited(group.lanes[lanes[own]], marks[own])
        return
    marks = group.cta.copies.wait(group.lanes[lanes], pending)
    group.cta.monitor.copies_waited(group.threads[lanes], marks)


def _wait_all(group: ThreadGroup, mask: Mask) -> None:
    _commit(group, mask)
    _wait(group, mask, 0)


def _arrive(decoder: Decoder) -> Step:
    """cp.async.mbarrier.arrive: an arrival when the thread's copies so far are complete."""
    decoder.need("arrive")
    no_increment = decoder.flag("noinc")
    explicit = decoder.take("shared", "shared::cta") is not None
    decoder.type(B64)
    addresses = decoder.window_address(decoder.only(), explicit)

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        where = addresses(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            thread = group.thread(lane)
            barrier = use(group, int(where[lane]), thread)
            if not no_increment:
                barrier.pending += 1
            snapshot = cta.monitor.copies_completed(thread)
            cta.cluster.after(lambda barrier=barrier, snapshot=snapshot: barrier.arrive(1, snapshot))

    return step
