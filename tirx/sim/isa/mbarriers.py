"""mbarrier instructions (PTX ISA, section 9.7.13.15)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.types import B64, PRED, U16, U32, Array, Mask, PtxType
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import Scope
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.memory.addresses import RANK_SHIFT, SHARED_OFFSET_MASK
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Operand

_SHARED = ("shared", "shared::cta", "shared::cluster")
_ORDERS = frozenset(("acquire", "release", "cta", "cluster"))
_OPERATIONS = (
    "init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count",
)  # fmt: skip
# The state of an mbarrier object, which is opaque: the phase, and above it the arrivals that were pending.
_PENDING_SHIFT = 44
_PHASE_MASK = np.uint64((1 << _PENDING_SHIFT) - 1)
_SPURIOUS = 0.1  # how often, with a seed, a try_wait returns false for no reason


def locate(group: ThreadGroup, address: int) -> tuple[Cta, int]:
    """The CTA and the offset of an address in the shared window."""
    rank, offset = address >> RANK_SHIFT, address & SHARED_OFFSET_MASK
    ctas = group.cta.cluster.ctas
    if rank >= len(ctas):
        raise SimError(f"shared address {address:#x} is of CTA {rank}, but the cluster has {len(ctas)} CTAs")
    return ctas[rank], offset


def multicast(decoder: Decoder) -> PtxType | None:
    """Takes the modifier of a multicast to CTAs of the cluster. Returns the type of its mask, None without one."""
    taken = decoder.take("multicast::cluster", "multicast::cluster::16b", "multicast::cluster::32b")
    if taken == "multicast::cluster::32b":
        decoder.need_feature(taken)
        return U32
    return U16 if taken else None


def ranks_of(cta: Cta, chosen: int) -> list[int]:
    """Returns the ranks of a multicast mask. Raises SimError for ranks that the cluster does not have."""
    count = len(cta.cluster.ctas)
    if chosen >> count or not chosen:
        raise SimError(f"expected a mask of the {count} CTAs of the cluster, found {chosen:#x}")
    return [rank for rank in range(count) if chosen >> rank & 1]


def multicast_address(address: int, rank: int) -> int:
    """The same offset in the shared memory of another CTA."""
    return address & SHARED_OFFSET_MASK | rank << RANK_SHIFT


def use(group: ThreadGroup, address: int, thread: int, *, asynchronous: bool = False) -> Mbarrier:
    """The mbarrier object at an address of the shared window, about to be used by `thread`."""
    cta, offset = locate(group, address)
    found = cta.mbarrier(offset)
    group.cta.monitor.mbarrier_use(cta.rank, offset, thread, asynchronous)
    found.users[group.pc] = thread
    return found


@instruction("mbarrier")
def _mbarrier(decoder: Decoder) -> Step:
    operation = decoder.need(*_OPERATIONS)
    return _DECODERS[operation](decoder, operation)


def _end(decoder: Decoder, *counts: int) -> bool:
    """Takes the remaining modifiers. Returns True if the address is of the shared window, False if it is generic."""
    explicit = decoder.take(*_SHARED) is not None
    decoder.type(B64)
    decoder.finish(*counts)
    return explicit


def _addresses(decoder: Decoder, which: int | Operand, explicit: bool) -> Source:
    """The addresses of mbarriers, in the shared window: those of other CTAs with `.shared::cluster` or generic ones."""
    found = decoder.window_address(which, explicit)
    return decoder.of_own_cta(found) if explicit else found


def _init(decoder: Decoder, operation: str) -> Step:
    explicit = _end(decoder, 2)
    addresses, counts = _addresses(decoder, 0, explicit), decoder.source(1, U32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        where, count = addresses(group, mask), counts(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            cta, offset = locate(group, int(where[lane]))
            cta.init_mbarrier(offset, int(count[lane]), group.thread(lane))

    return step


def _inval(decoder: Decoder, operation: str) -> Step:
    explicit = _end(decoder, 1)
    addresses = _addresses(decoder, decoder.only(), explicit)

    def step(group: ThreadGroup, mask: Mask) -> None:
        where = addresses(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            cta, offset = locate(group, int(where[lane]))
            cta.inval_mbarrier(offset, group.thread(lane))

    return step


def _takes_mask(decoder: Decoder) -> bool:
    """Returns True for an operation on the mbarriers of several CTAs, whose modifier it takes."""
    if (taken := multicast(decoder)) not in (None, U32):
        raise decoder.error("expected .multicast::cluster::32b of mbarriers")
    return taken is not None


def _everywhere(group: ThreadGroup, address: int, ctas: Source | None, mask: Mask, lane: int) -> list[int]:
    """The address, or those at the same place of the CTAs that the mask of a lane names."""
    if ctas is None:
        return [address]
    return [multicast_address(address, rank) for rank in ranks_of(group.cta, int(ctas(group, mask)[lane]))]


def _transactions(decoder: Decoder, operation: str) -> Step:
    decoder.drop(_ORDERS | frozenset(("relaxed",)))
    is_of_many = _takes_mask(decoder)
    explicit = _end(decoder, 2 + is_of_many)
    addresses, sizes = _addresses(decoder, 0, explicit), decoder.source(1, U32)
    ctas = decoder.source(2, U32) if is_of_many else None
    sign = 1 if operation == "expect_tx" else -1

    def step(group: ThreadGroup, mask: Mask) -> None:
        where, size = addresses(group, mask), sizes(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            for address in _everywhere(group, int(where[lane]), ctas, mask, lane):
                use(group, address, group.thread(lane)).expect(sign * int(size[lane]))
        group.cta.launch.made_progress()

    return step


def _arrive(decoder: Decoder, operation: str) -> Step:
    """[state,] [address] [, count]; with .expect_tx the last operand is bytes, and the count is 1."""
    expects = decoder.flag("expect_tx")
    no_complete = decoder.flag("noComplete")
    relaxed = decoder.flag("relaxed")
    scope = Scope.CLUSTER if "cluster" in decoder.modifiers else Scope.CTA
    decoder.drop(_ORDERS)
    is_of_many = _takes_mask(decoder)
    has_state = not (decoder.operands and isinstance(decoder.operands[0], Address))
    first = 1 if has_state else 0
    counts = (first + 2,) if expects or no_complete else (first + 1, first + 2)
    explicit = _end(decoder, *(count + is_of_many for count in counts))
    put = decoder.destination(0, B64) if has_state else None
    addresses = _addresses(decoder, first, explicit)
    last = len(decoder.operands) - is_of_many
    amounts = decoder.source(first + 1, U32) if last > first + 1 else None
    ctas = decoder.source(last, U32) if is_of_many else None
    drops = operation == "arrive_drop"

    def step(group: ThreadGroup, mask: Mask) -> None:
        where = addresses(group, mask)
        amount = np.ones(len(mask), np.uint32) if amounts is None else amounts(group, mask)
        states = np.zeros(len(mask), np.uint64)
        monitor = group.cta.monitor
        for lane in np.flatnonzero(mask).tolist():
            thread, count = group.thread(lane), 1 if expects else int(amount[lane])
            threads = np.array([thread])
            for address in _everywhere(group, int(where[lane]), ctas, mask, lane):
                barrier = use(group, address, thread)
                states[lane] = barrier.phase | barrier.pending << _PENDING_SHIFT
                if relaxed:
                    snapshot = monitor.relaxed(threads)
                elif locate(group, address)[0] is not group.cta:
                    snapshot = monitor.release_far(threads, scope)
                else:
                    snapshot = monitor.release(threads)
                if expects:
                    barrier.expect(int(amount[lane]))
                if no_complete and count >= barrier.pending:
                    raise SimError(f"mbarrier.arrive.noComplete of {count} completes the phase: {barrier.describe()}")
                (barrier.drop if drops else barrier.arrive)(count, snapshot)
        group.cta.launch.made_progress()
        if put is not None:
            put(group, mask, states)

    return step


def _wait(decoder: Decoder, operation: str) -> Step:
    parity = decoder.flag("parity")
    relaxed = decoder.flag("relaxed")
    far = "cluster" in decoder.modifiers and not relaxed
    decoder.drop(_ORDERS)
    explicit = _end(decoder, 3, 4) if operation == "try_wait" else _end(decoder, 3)
    put = decoder.destination(0, PRED)
    addresses = _addresses(decoder, 1, explicit)
    phases = decoder.source(2, U32 if parity else B64)
    if len(decoder.operands) == 4:
        decoder.source(3, U32)  # a time limit
    may_block = operation == "try_wait"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        where, phase = addresses(group, mask), phases(group, mask)
        if not parity:
            phase = phase & _PHASE_MASK
        if parity and (phase[mask] > 1).any():
            raise SimError(f"expected parity 0 or 1, found {int(phase[mask].max())}")
        barriers: dict[int, Mbarrier] = {}
        lanes, _ = group.active(mask)
        own = where[lanes]
        for address in dict.fromkeys(own.tolist()):
            cta, offset = locate(group, address)
            barriers[address] = barrier = cta.mbarrier(offset)
            if not parity and (old := phase[lanes][own == np.uint64(address)]).min() + 1 < barrier.phase:
                raise SimError(
                    f"mbarrier.{operation}: expected a state of the current phase or of the one before, which is "
                    f"{barrier.phase - 1}, found one of phase {int(old.min())}"
                )
            threads = group.threads[lanes[own == np.uint64(address)]]
            group.cta.monitor.mbarrier_uses(cta.rank, offset, threads)

        def completed() -> Array:
            result = np.zeros(len(mask), np.bool_)
            for address, barrier in barriers.items():
                own = phase != np.uint32(barrier.phase & 1) if parity else phase < np.uint64(barrier.phase)
                result |= own & mask & (where == np.uint64(address))
            return result

        def at(address: int) -> Array:
            return group.cta.threads(group, done & (where == np.uint64(address)))

        done = completed()
        monitor = group.cta.monitor
        known = all(monitor.knows(at(address), barrier.visible) for address, barrier in barriers.items())
        if not group.refused and not known:
            # It might not be complete yet: programs that do not try again are found out.
            done = np.zeros_like(done)
        random = group.cta.launch.random
        spurious = random is not None and random.random() < _SPURIOUS
        if may_block and not done.any() and group.refused and not group.timed_out and not spurious:
            on = tuple(dict.fromkeys(barriers.values()))
            group.wait = Wait(lambda: bool(completed().any()), _reason(barriers, phase, mask), True, on)
            return Outcome.RETRY
        group.timed_out = False
        group.refused = not done.any()
        for address, barrier in barriers.items():
            threads = at(address)
            if len(threads):
                (monitor.acquire_relaxed if relaxed else monitor.acquire)(threads, barrier.visible)
                if far:
                    monitor.acquire_far(threads, barrier.visible)
        put(group, mask, done)
        if not done[mask].all():
            return Outcome.YIELD
        if len(group.cta.groups) > 1 and random is None:
            group.passed_wait, group.held = group.pc + 1, False
            return Outcome.YIELD  # other warps may come by the wait, too
        return None

    return step


def _reason(barriers: dict[int, Mbarrier], phase: Array, mask: Mask) -> Callable[[], str]:
    wanted = sorted(set(phase[mask].tolist()))
    return lambda: "; ".join(
        f"waits for phase {', '.join(map(str, wanted))} of the mbarrier at {address:#x} ({barrier.describe()})"
        for address, barrier in barriers.items()
    )


def _pending_count(decoder: Decoder, operation: str) -> Step:
    """Decodes mbarrier.pending_count: the arrivals pending before the arrival that returned the state."""
    decoder.type(B64)
    decoder.finish(2)
    put, states = decoder.destination(0, U32), decoder.source(1, B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        put(group, mask, (states(group, mask) >> np.uint64(_PENDING_SHIFT)).astype(np.uint32))

    return step


_DECODERS: dict[str, Callable[[Decoder, str], Step]] = {
    "init": _init,
    "inval": _inval,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _transactions,
    "complete_tx": _transactions,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending_count,
}
