"""cp.reduce.async.bulk of consecutive elements (PTX ISA, section 9.7.9.25.5)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B64, TYPES, U32, Array, Binary, Mask, PtxType
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import REDUCE
from tirx.sim.isa.bulk_linear import check_size, check_unit, issued, read_places
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import locate, use
from tirx.sim.memory import global_accesses
from tirx.sim.memory.region import Region
from tirx.sim.memory.tensor_copy import Runs
from tirx.sim.numerics.combine import combine_function
from tirx.sim.program.code import Step

_WHAT = "cp.reduce.async.bulk"
_COMPLETE = "mbarrier::complete_tx::bytes"
_HALVES = ("f16", "bf16")
_BITS = ("b32", "b64")
# Types of each operation on global memory, and on the shared memory of a cluster.
_GLOBAL: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f32", "f64", *_HALVES),
    "min": ("u32", "s32", "u64", "s64", *_HALVES),
    "max": ("u32", "s32", "u64", "s64", *_HALVES),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": _BITS,
    "or": _BITS,
    "xor": _BITS,
}
SHARED_OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64"),
    "min": ("u32", "s32"),
    "max": ("u32", "s32"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32",),
    "or": ("b32",),
    "xor": ("b32",),
}


def reduction(decoder: Decoder) -> Step:
    """cp.reduce.async.bulk.dst.shared::cta: `cp.reduce.async.bulk` has been taken."""
    space = decoder.need("global", "shared::cluster")
    decoder.need("shared::cta")
    decoder.need("bulk_group" if space == "global" else _COMPLETE)
    operations = _GLOBAL if space == "global" else SHARED_OPERATIONS
    hint = space == "global" and decoder.flag("L2::cache_hint")
    name = decoder.need(*operations)
    no_flush = decoder.flag("noftz")
    value_type = decoder.type(*(TYPES[each] for each in operations[name]))
    if no_flush != (name == "add" and value_type.name in _HALVES):
        raise decoder.error("expected .noftz with .add of .f16 and .bf16, and only with it")
    # add.f32 flushes subnormal numbers, as red.global.add.f32 does.
    combine = combine_function(name, value_type, value_type.name == "f32", decoder.symbols.arithmetic)
    if space == "global":
        decoder.finish(3 + hint)
        if hint:
            decoder.source(3, B64)
        return _to_global(decoder, value_type, combine)
    decoder.finish(4)
    return _to_shared(decoder, value_type, combine)


def _elements(group: ThreadGroup, source: int, size: int, thread: int, value_type: PtxType) -> Array:
    check_unit(_WHAT, "an address", source)
    check_size(_WHAT, size)
    places = read_places(group, source, np.arange(size), thread)
    return group.cta.shared.data[places].view(value_type.dtype)


def _to_global(decoder: Decoder, value_type: PtxType, combine: Binary) -> Step:
    """Decodes [target], [source], size [, cache policy]. The reduction is done at once."""
    targets, sources = decoder.address(0, bits=64).values, decoder.address(1).values
    sizes = decoder.source(2, U32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        launch = group.cta.launch
        for lane in np.flatnonzero(mask).tolist():
            thread = group.thread(lane)
            target, source = int(targets(group, mask)[lane]), int(sources(group, mask)[lane])
            size = int(sizes(group, mask)[lane])
            check_unit(_WHAT, "an address", target)
            operand = _elements(group, source, size, thread, value_type)
            memory = launch.global_memory.bytes_at(target, size, _WHAT, writes=True).view(value_type.dtype)
            if launch.order is not None:
                runs = Runs(np.zeros(1, np.int64), size, None)
                global_accesses.bulk(group, lane, memory, runs, REDUCE, value_type.bytes)
            launch.observed.moved("global", "read", size)
            launch.observed.moved("global", "written", size)
            memory[:] = combine(memory.copy(), operand)
            issued(group, lane)
        launch.made_progress()

    return step


def _to_shared(decoder: Decoder, value_type: PtxType, combine: Binary) -> Step:
    """[target], [source], size, [mbarrier]: into the shared memory of a CTA of the cluster."""
    targets, sources = decoder.address(0).values, decoder.address(1).values
    sizes, barriers = decoder.source(2, U32), decoder.window_address(3, True)

    def step(group: ThreadGroup, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            target, source = int(targets(group, mask)[lane]), int(sources(group, mask)[lane])
            issue(group, lane, target, source, int(sizes(group, mask)[lane]), int(barriers(group, mask)[lane]))
        group.cta.launch.made_progress()

    def issue(group: ThreadGroup, lane: int, target: int, source: int, size: int, address: int) -> None:
        cta, thread = group.cta, group.thread(lane)
        check_unit(_WHAT, "an address", target)
        operand = _elements(group, source, size, thread, value_type).copy()
        cta.monitor.bulk_issued(cta.rank, thread, in_group=False)
        owner, offset = locate(group, target)
        of, told = locate(group, address)
        if of is not owner:
            raise SimError(f"{_WHAT}: expected the mbarrier in the CTA of the target")
        places = offset + np.arange(size)
        owner.check_region(Region.of(places), _WHAT)
        cta.monitor.async_update(owner.rank, places, thread, _WHAT, told)
        for direction in ("read", "written"):
            cta.launch.observed.moved("shared", direction, size)
        barrier = use(group, address, thread, asynchronous=True)
        snapshot = cta.monitor.bulk_completed(thread, told)

        def arrive() -> None:
            memory = owner.shared.data[offset : offset + size].view(value_type.dtype)
            memory[:] = combine(memory.copy(), operand)
            barrier.deliver(size, snapshot)

        cta.cluster.after(arrive)

    return step
