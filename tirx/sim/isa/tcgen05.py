"""Decoders of tcgen05 instructions (PTX ISA, section 9.7.16). Their effects are in `tirx.sim.tensor`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, U32, Mask
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.isa.decoder import Decoder, single, uniform
from tirx.sim.isa.mbarriers import multicast, multicast_address, ranks_of, use
from tirx.sim.isa.registry import instruction
from tirx.sim.isa.tcgen05_common import cta_group, value_of, warp_wide
from tirx.sim.isa.tcgen05_mma import decode_mma
from tirx.sim.isa.tcgen05_transfers import decode_copy, decode_load, decode_shift, decode_store, decode_wait
from tirx.sim.memory import spaces
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.program.code import Step
from tirx.sim.targets import has
from tirx.sim.tensor.data_path import COLUMNS, MOST_COLUMNS


@instruction("tcgen05")
def _tcgen05(decoder: Decoder) -> Step:
    decoder.need_feature("tcgen05")
    operation = decoder.modifiers.pop(0) if decoder.modifiers else ""
    found = _DECODERS.get(operation)
    if found is None:
        raise decoder.error(f"unknown instruction 'tcgen05.{operation}'")
    return found(decoder, operation)


def _exclusive(decoder: Decoder) -> int:
    """Takes .exclusive. Returns the most columns that such an allocation has, 0 without it."""
    if not decoder.flag("exclusive"):
        return 0
    decoder.need_feature("tcgen05.alloc.exclusive")
    return MOST_COLUMNS if has(decoder.symbols.target, "tensor_memory.576_columns") else COLUMNS


def _alloc(decoder: Decoder, operation: str) -> Step:
    exclusive = _exclusive(decoder)
    group_size = cta_group(decoder)
    warp_wide(decoder)
    explicit = decoder.flag("shared::cta")
    decoder.type(B32)
    decoder.finish(2)
    # ptxas takes an address of the shared window without .shared::cta, too.
    addresses, counts = decoder.window_address(0, explicit, lenient=True), decoder.source(1, U32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        if group.warps > 1:
            return Outcome.SPLIT
        cta = group.cta
        cta.require_converged(group, mask, "tcgen05.alloc")
        address = uniform(addresses(group, mask), mask, "the address")
        count = uniform(counts(group, mask), mask, "the number of columns")
        column = cta.tensor.allocate(count, group_size, exclusive)
        if column is None:
            before = dict(cta.tensor.allocations)
            group.wait = Wait(
                lambda: cta.tensor.allocations != before,
                lambda: f"tcgen05.alloc of {count} columns, but {cta.tensor.describe()}",
            )
            return Outcome.RETRY
        first = np.array([int(np.flatnonzero(mask)[0])])
        values = np.array([[column]], np.uint32)
        spaces.store(group, first, "shared", np.array([address], np.uint64), values)
        return None

    return step


def _dealloc(decoder: Decoder, operation: str) -> Step:
    exclusive = _exclusive(decoder)
    group_size = cta_group(decoder)
    warp_wide(decoder)
    decoder.type(B32)
    decoder.finish(2)
    addresses, counts = decoder.source(0, U32), decoder.source(1, U32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        if group.warps > 1:
            return Outcome.SPLIT
        cta = group.cta
        cta.require_converged(group, mask, "tcgen05.dealloc")
        address = uniform(addresses(group, mask), mask, "the address")
        count = uniform(counts(group, mask), mask, "the number of columns")
        cta.tensor.free(address, count, group.first + cta.first_thread, group_size, exclusive)
        cta.launch.made_progress()
        return None

    return step


def _relinquish(decoder: Decoder, operation: str) -> Step:
    cta_group(decoder)
    warp_wide(decoder)
    decoder.finish(0)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "tcgen05.relinquish_alloc_permit")
        group.cta.tensor.relinquish()

    return step


def _fence(decoder: Decoder, operation: str) -> Step:
    decoder.finish(0)
    before = operation == "fence::before_thread_sync"

    def step(group: ThreadGroup, mask: Mask) -> None:
        threads, monitor = group.cta.threads(group, mask), group.cta.monitor
        (monitor.tensor_fence_before if before else monitor.tensor_fence_after)(threads)

    return step


def _commit(decoder: Decoder, operation: str) -> Step:
    cta_group(decoder)
    decoder.need("mbarrier::arrive::one")
    reads_a = decoder.flag("sync_restrict::shared::read::mma::a")
    if reads_a:
        decoder.need_feature("tcgen05.commit.sync_restrict")
    explicit = decoder.flag("shared::cluster")
    mask_type = multicast(decoder)
    decoder.type(B64)
    decoder.finish(1 if mask_type is None else 2)
    addresses = decoder.window_address(0, explicit)
    ctas = None if mask_type is None else decoder.source(1, mask_type, wide=True)

    def step(group: ThreadGroup, mask: Mask) -> None:
        lane = single(mask, "tcgen05.commit")
        cta = group.cta
        thread = group.thread(lane)
        address = value_of(addresses, group, mask, lane)
        targets = [address]
        if ctas is not None:
            targets = [multicast_address(address, rank) for rank in ranks_of(cta, value_of(ctas, group, mask, lane))]
        snapshot = cta.monitor.committed(thread, reads_a)
        for target in targets:
            barrier = use(group, target, thread, asynchronous=True)
            cta.monitor.commit_arrives(target >> RANK_SHIFT, thread)
            cta.cluster.after(lambda barrier=barrier: barrier.arrive(1, snapshot))

    return step


_DECODERS: dict[str, Callable[[Decoder, str], Step]] = {
    "alloc": _alloc,
    "dealloc": _dealloc,
    "relinquish_alloc_permit": _relinquish,
    "ld": decode_load,
    "st": decode_store,
    "wait::ld": decode_wait,
    "wait::st": decode_wait,
    "fence::before_thread_sync": _fence,
    "fence::after_thread_sync": _fence,
    "commit": _commit,
    "cp": decode_copy,
    "shift": decode_shift,
    "mma": decode_mma,
}
