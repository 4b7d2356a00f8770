"""st.async and red.async to the shared memory of a cluster; st.bulk (PTX ISA, sections 9.7.9.12, .13 and 9.7.13.7)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B64, TYPES, Array, Mask, PtxType
from tirx.sim.errors import SimError
from tirx.sim.isa.bulk_reduce import SHARED_OPERATIONS
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import locate, use
from tirx.sim.memory import spaces
from tirx.sim.numerics.combine import combine_function
from tirx.sim.program.code import Source, Step

COMPLETE = "mbarrier::complete_tx::bytes"
_VECTORS = {"v2": 2, "v4": 4, None: 1}
_STORED = tuple(TYPES[name] for name in ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64"))
_MAX_BULK = 1 << 24


def store(decoder: Decoder) -> Step:
    """[target], values, [mbarrier]: `st.async` has been taken."""
    decoder.take("weak")
    decoder.take("shared::cluster")
    decoder.need(COMPLETE)
    count = _VECTORS[decoder.take("v2", "v4")]
    value_type = decoder.type(*_STORED)
    decoder.finish(3)
    items = decoder.items(1, count) if count == 1 else decoder.vector(1, count)
    return _later(decoder, [decoder.source(item, value_type) for item in items], value_type, None)


def reduction(decoder: Decoder) -> Step:
    """[target], value, [mbarrier]: `red.async` has been taken."""
    decoder.need("relaxed")
    decoder.need("cluster")
    decoder.take("shared::cluster")
    decoder.need(COMPLETE)
    name = decoder.need(*SHARED_OPERATIONS)
    value_type = decoder.type(*(TYPES[each] for each in SHARED_OPERATIONS[name]))
    decoder.finish(3)
    return _later(decoder, [decoder.source(1, value_type)], value_type, name)


def _later(decoder: Decoder, sources: list[Source], value_type: PtxType, operation: str | None) -> Step:
    """Decodes st.async and red.async: later writes the values, or results of an operation, and tells the mbarrier."""
    targets, barriers = decoder.window_address(0, True), decoder.window_address(2, True)
    what = f"{decoder.root}.async"
    width = len(sources) * value_type.bytes
    combine = None if operation is None else combine_function(operation, value_type, False, decoder.symbols.arithmetic)

    def step(group: ThreadGroup, mask: Mask) -> None:
        values = np.stack([source(group, mask) for source in sources], axis=1)
        for lane in np.flatnonzero(mask).tolist():
            issue(group, lane, int(targets(group, mask)[lane]), int(barriers(group, mask)[lane]), values[lane])
        group.cta.launch.made_progress()

    def issue(group: ThreadGroup, lane: int, target: int, address: int, operand: Array) -> None:
        cta, thread = group.cta, group.thread(lane)
        owner, offset = locate(group, target)
        of, told = locate(group, address)
        if of is not owner:
            raise SimError(f"{what}: expected the mbarrier in the CTA of the target")
        spaces.check_shared(group, owner.rank, np.array([offset]), width, what)
        cta.monitor.deferred_store(owner.rank, offset + np.arange(width), thread, what, told, combine is not None)
        cta.launch.observed.moved("shared", "written", width)
        barrier = use(group, address, thread)
        snapshot = cta.monitor.bulk_completed(thread, told)

        def arrive() -> None:
            memory = owner.shared.data[offset : offset + width].view(value_type.dtype)
            memory[:] = operand if combine is None else combine(memory.copy(), operand)
            barrier.deliver(width, snapshot)

        cta.cluster.after(arrive)

    return step


def fill(decoder: Decoder) -> Step:
    """[target], size, 0: zeros in shared memory; `st.bulk` has been taken."""
    decoder.take("weak")
    explicit = decoder.flag("shared::cta")
    decoder.finish(3)
    if decoder.constant(2, "0 as the initial value") != 0:
        raise decoder.error(f"expected 0 as the initial value, found {decoder.constant(2)}")
    targets, sizes = decoder.window_address(0, explicit), decoder.source(1, B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        where, size = targets(group, mask), sizes(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            count = int(size[lane])
            if count % 8 or count > _MAX_BULK:
                raise SimError(f"st.bulk: expected a size that is a multiple of 8 up to {_MAX_BULK}, found {count}")
            at = where[lane] + np.arange(0, count, 8).astype(np.uint64)
            if count:
                zeros = np.zeros((len(at), 1), np.uint64)
                spaces.store(group, np.full(len(at), lane), "shared", at, zeros)

    return step
