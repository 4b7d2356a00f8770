"""Barriers, fences, and instructions about scheduling (PTX ISA, sections 9.7.13 and 9.7.19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, PRED, U32, WARP, Array, Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import Fence, Scope
from tirx.sim.isa.decoder import Decoder, uniform
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import global_accesses
from tirx.sim.memory.addresses import SPACES, WINDOW_SHIFT
from tirx.sim.program.code import Source, Step

_SCOPES = frozenset(("cta", "cluster", "gpu", "sys"))
_SEMANTICS = frozenset(("sc", "acq_rel", "acquire", "release"))
_TENSOR_MAP_BYTES = 128
_BARRIER_OPERATIONS = ("sync", "arrive", "red")


@instruction("bar", "barrier")
def _bar(decoder: Decoder) -> Step:
    if decoder.modifiers[:1] == ["warp"]:
        return _warp_barrier(decoder)
    if decoder.flag("cluster"):
        return _cluster_barrier(decoder)
    decoder.drop(frozenset(("cta",)))
    operation = decoder.need(*_BARRIER_OPERATIONS)
    # `bar` is `barrier.cta.aligned`.
    aligned = decoder.root == "bar" or decoder.flag("aligned")
    if operation == "red":
        return _reduction(decoder, aligned)
    decoder.finish(1, 2)
    number = decoder.source(0, U32)
    count = decoder.source(1, U32) if len(decoder.operands) == 2 else None
    if operation == "arrive" and count is None:
        raise decoder.error("expected a thread count")
    what, waits = decoder.root, operation == "sync"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        return _arrive(group, mask, number, count, aligned, what, waits=waits)

    return step


def _arrive(
    group: ThreadGroup,
    mask: Mask,
    number: Source,
    count: Source | None,
    aligned: bool,
    what: str,
    *,
    waits: bool,
) -> Outcome | None:
    arrived = _arriving(group, mask, number, count, aligned, what)
    if arrived is None:
        return Outcome.SPLIT
    which, expected, arriving = arrived
    threads = group.cta.threads(group, mask)
    return group.cta.barriers.arrive(group, threads, arriving, which, expected, wait=waits)


def _arriving(
    group: ThreadGroup, mask: Mask, number: Source, count: Source | None, aligned: bool, what: str
) -> tuple[int, int | None, int] | None:
    """
    Returns the barrier, the expected threads and the arriving threads of this thread group. None if its warps differ.
    """
    numbers = number(group, mask)
    counts = None if count is None else count(group, mask)
    if group.warps > 1 and (_differs(numbers, mask) or (counts is not None and _differs(counts, mask))):
        return None
    if aligned and not np.array_equal(mask, group.alive):
        missing = group.alive & ~mask
        raise SimError(
            f"{what} is .aligned: expected all threads of the warp, but it is executed without "
            f"{group.describe(missing)}"
        )
    which = uniform(numbers, mask, "the barrier")
    expected = None if counts is None else uniform(counts, mask, "the thread count")
    if not aligned:
        arriving = int(mask.sum())
    elif expected is None:
        arriving = int(group.existing.sum())
    else:
        arriving = group.warps * WARP
    return which, expected, arriving


def _differs(values: Array, mask: Mask) -> bool:
    chosen = values[mask]
    return bool((chosen != chosen[0]).any())


def _reduction(decoder: Decoder, aligned: bool) -> Step:
    """barrier.red: all threads learn how many (popc), whether all (and) or whether any (or) have a true predicate."""
    operation = decoder.need("popc", "and", "or")
    value_type = decoder.type(U32 if operation == "popc" else PRED)
    decoder.finish(3, 4)
    put = decoder.destination(0, value_type)
    number = decoder.source(1, U32)
    count = decoder.source(2, U32) if len(decoder.operands) == 4 else None
    predicate = decoder.source(len(decoder.operands) - 1, PRED)
    what = f"{decoder.root}.red"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        arrived = _arriving(group, mask, number, count, aligned, what)
        if arrived is None:
            return Outcome.SPLIT
        which, expected, arriving = arrived
        holds = predicate(group, mask)
        total = group.cta.thread_count if expected is None else expected
        lanes = mask.copy()

        def result(trues: int) -> None:
            value = {"popc": trues, "and": trues == total, "or": trues > 0}[operation]
            put(group, lanes, np.full(len(lanes), value, value_type.dtype))

        threads, trues = group.cta.threads(group, mask), int((holds & mask).sum())
        barriers = group.cta.barriers
        return barriers.arrive(group, threads, arriving, which, expected, wait=True, trues=trues, result=result)

    return step


def _warp_barrier(decoder: Decoder) -> Step:
    decoder.need("warp")
    decoder.need("sync")
    members = decoder.source(decoder.only(), B32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        if group.warps > 1:
            # Converged warps with all their threads: nobody is to be waited for.
            wanted = (members(group, mask)[:, None] >> np.arange(WARP, dtype=np.uint32) & np.uint32(1)).astype(np.bool_)
            alive = np.repeat(group.alive.reshape(-1, WARP), WARP, axis=0)
            here = np.repeat(mask.reshape(-1, WARP), WARP, axis=0)
            if (wanted[mask] & alive[mask] & ~here[mask]).any() or _differs(members(group, mask), mask):
                return Outcome.SPLIT
            for first in range(0, len(mask), WARP):
                own = np.zeros_like(mask)
                own[first : first + WARP] = mask[first : first + WARP]
                threads = group.cta.threads(group, own)
                group.cta.monitor.acquire(threads, group.cta.monitor.release(threads))
            return None
        named = uniform(members(group, mask), mask, "the member mask")
        return group.cta.warp_barriers[group.warp].arrive(
            group, group.cta.threads(group, mask), mask, named, group.alive
        )

    return step


def _cluster_barrier(decoder: Decoder) -> Step:
    operation = decoder.need("arrive", "wait")
    relaxed = decoder.flag("relaxed")
    decoder.drop(frozenset(("release", "acquire")))
    aligned = decoder.flag("aligned")
    decoder.finish(0)
    what = f"barrier.cluster.{operation}"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        cta = group.cta
        if aligned and not np.array_equal(mask, group.alive):
            raise SimError(f"{what} is .aligned: expected all threads of the warp, found {group.describe(mask)}")
        threads = cta.threads(group, mask)
        own = cta.cluster_generation[group.first : group.last]
        barrier = cta.cluster.barrier
        if operation == "arrive":
            if (own[mask] >= 0).any():
                raise SimError(f"{what}: expected barrier.cluster.wait since the last arrival of the thread")
            own[mask] = barrier.generation
            barrier.arrive(threads, cta.cluster.alive, relaxed=relaxed)
            return None
        if (own[mask] < 0).any():
            raise SimError(f"{what}: expected barrier.cluster.arrive of the thread before")
        generation = int(own[mask].max())
        own[mask] = -1
        return barrier.wait(group, threads, generation)

    return step


# Fences that order the generic and the async proxy.
_PROXIES = ("async", "async::generic", "alias")


@instruction("fence", "membar")
def _fence(decoder: Decoder) -> Step:
    """Decodes fences. Instructions execute one after another, so only the monitor hears of them."""
    if decoder.flag("proxy"):
        return _proxy_fence(decoder)
    if decoder.flag("mbarrier_init"):
        decoder.need("release")
        decoder.need("cluster")
        decoder.finish(0)

        def mbarrier_fence(group: ThreadGroup, mask: Mask) -> None:
            group.cta.monitor.mbarrier_fence(group.cta.threads(group, mask))

        return mbarrier_fence
    modifiers = decoder.modifiers.copy()
    decoder.drop(
        _SCOPES | _SEMANTICS | frozenset(("gl", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"))
    )
    decoder.finish(0)
    # membar.{cta,gl,sys} are fence.sc.{cta,gpu,sys} (section 9.7.13.4).
    sc = decoder.root == "membar" or "sc" in modifiers
    return _thread_fence(Fence(_scope_of(modifiers), sc, "release" not in modifiers, "acquire" not in modifiers))


def _scope_of(modifiers: Sequence[str]) -> Scope:
    names = {**{each.name.lower(): each for each in Scope}, "gl": Scope.GPU}
    return next((names[each] for each in modifiers if each in names), Scope.SYS)


def _thread_fence(fence: Fence) -> Step:
    def step(group: ThreadGroup, mask: Mask) -> None:
        lanes = np.flatnonzero(mask)
        parts = [(group, slice(None))] if group.sides is None else group.sides.split(lanes)
        for part, own in parts:
            part.cta.monitor.fence(group.lanes[lanes[own]] + part.cta.first_thread, fence)
        global_accesses.fence(group, lanes, fence)

    return step


def _proxy_fence(decoder: Decoder) -> Step:
    if decoder.flag("tensormap::generic"):
        return _tensormap_fence(decoder)
    proxy = decoder.need(*_PROXIES)
    space = decoder.take("global", "shared::cta", "shared::cluster")
    decoder.drop(_SCOPES | _SEMANTICS | frozenset(("sync_restrict::shared::cta", "sync_restrict::shared::cluster")))
    decoder.finish(0)
    if proxy not in ("async", "async::generic"):
        return lambda group, mask: None

    def step(group: ThreadGroup, mask: Mask) -> None:
        threads = group.cta.threads(group, mask)
        if space != "global":
            group.cta.monitor.proxy_fence(threads)
        if space in (None, "global"):
            global_accesses.proxy_fence(group, np.flatnonzero(mask))

    return step


def _tensormap_fence(decoder: Decoder) -> Step:
    """Decodes fences between the generic proxy, which writes tensor maps, and the tensormap proxy, which reads them."""
    order = decoder.need("acquire", "release")
    scope = _scope_of([decoder.need(*sorted(_SCOPES))])
    fence = _thread_fence(Fence(scope, False, order == "acquire", order == "release"))
    if order == "release":
        decoder.finish(0)

        def release(group: ThreadGroup, mask: Mask) -> None:
            group.cta.launch.tensor_maps.released()
            fence(group, mask)

        return release
    decoder.finish(2)
    if decoder.constant(1) != _TENSOR_MAP_BYTES:
        raise decoder.error(f"expected a size of {_TENSOR_MAP_BYTES}, found {decoder.constant(1)}")
    addresses = decoder.address(0, bits=64).values

    def step(group: ThreadGroup, mask: Mask) -> None:
        launch, cta = group.cta.launch, group.cta.linear_index
        fence(group, mask)
        where = addresses(group, mask)
        for address in np.unique(where[mask]).tolist():
            if SPACES.get(address >> WINDOW_SHIFT) != "global":
                raise SimError(f"expected the address of a tensor map in global memory, found {address:#x}")
            raw = launch.global_memory.bytes_at(address, _TENSOR_MAP_BYTES, "fence.proxy.tensormap")
            launch.tensor_maps.acquire(cta, address, raw)
            global_accesses.map_acquired(group, np.flatnonzero(mask & (where == np.uint64(address))), raw)

    return step


# Instructions that tell the hardware something and compute nothing: the modifiers they may have, and their operands.
_HINTS = {
    "griddepcontrol": (frozenset(("wait", "launch_dependents")), 0),
    "pmevent": (frozenset(("mask",)), 1),
}


@instruction(*_HINTS)
def _hint(decoder: Decoder) -> Step:
    modifiers, operands = _HINTS[decoder.root]
    waits = decoder.root == "griddepcontrol" and "wait" in decoder.modifiers
    decoder.drop(modifiers)
    decoder.finish(operands)
    if not waits:
        return lambda group, mask: None

    def wait(group: ThreadGroup, mask: Mask) -> None:
        order = group.cta.launch.order
        if order is not None:
            order.prerequisites.waited(global_accesses.users_of(group, np.flatnonzero(mask)))

    return wait


@instruction("setmaxnreg")
def _setmaxnreg(decoder: Decoder) -> Step:
    decoder.need("inc", "dec")
    decoder.drop(frozenset(("sync", "aligned", "u32")))
    decoder.finish(1)
    count = decoder.constant(0)
    if count % 8 or not 24 <= count <= 256:
        raise decoder.error(f"expected a multiple of 8 from 24 to 256, found {count}")

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.warp_registers |= dict.fromkeys(range(group.warp, group.warp + group.warps), count)

    return step


@instruction("nanosleep")
def _nanosleep(decoder: Decoder) -> Step:
    decoder.type(U32)
    decoder.only()
    return lambda group, mask: Outcome.YIELD


@instruction("trap", "brkpt")
def _trap(decoder: Decoder) -> Step:
    decoder.finish(0)
    root = decoder.root

    def step(group: ThreadGroup, mask: Mask) -> NoReturn:
        raise SimError(f"the kernel executes {root}")

    return step
