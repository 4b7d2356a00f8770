"""Memory accesses of a kernel that are not complete, not visible or not ordered, at every point of its control flow."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.matrix import LdMatrixOp
from tirx.dialects.ptx.mbarrier import (
    MbarrierArriveExpectTxOp,
    MbarrierArriveOp,
    MbarrierInitOp,
    MbarrierInvalOp,
    MbarrierTestWaitParityOp,
    MbarrierWaitParityOp,
)
from tirx.dialects.ptx.sync import (
    BarrierClusterArriveOp,
    BarrierClusterWaitOp,
    BarSyncOp,
    BarWarpSyncOp,
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
)
from tirx.dialects.ptx.tcgen05 import (
    Tcgen05AllocOp,
    Tcgen05CommitOp,
    Tcgen05FenceAfterThreadSyncOp,
    Tcgen05FenceBeforeThreadSyncOp,
    Tcgen05WaitLdOp,
    Tcgen05WaitStOp,
)
from tirx.dialects.ptx.tma import CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp
from tirx.passes.analysis.memory_effects import Effect, Means, effect_of
from tirx.passes.analysis.thread_flow import Edge, ThreadFlow, Visitors, edges
from tirx.passes.analysis.thread_values import Symbol, threads_of_warps, warp_numbers


class Mark(enum.Enum):
    """What has happened to an access since, on every way to a point of the kernel."""

    COMPLETE = enum.auto()
    """A wait of the sort that its means ask for."""
    GROUPED = enum.auto()
    """cp.async.bulk.commit_group."""
    SYNCED = enum.auto()
    """Its threads, done with it, have met those that are here."""
    MET = enum.auto()
    """Its threads have met those that are here, done or not."""
    WARP_SYNCED = enum.auto()
    """The lanes of its warp have met."""
    FENCED = enum.auto()
    """fence.proxy.async, or fence.mbarrier_init for an mbarrier.init."""
    BEFORE = enum.auto()
    """tcgen05.fence::before_thread_sync."""
    SENT = enum.auto()
    """A synchronisation behind that."""
    AFTER = enum.auto()
    """tcgen05.fence::after_thread_sync behind that."""
    HEARD = enum.auto()
    """Some wait for what threads elsewhere do."""


@dataclass(frozen=True)
class Barrier:
    """An mbarrier by its address (`origin` None: any address), or the barrier of the cluster."""

    origin: tuple[Symbol, ...] | None
    number: int = 0
    of_cluster: bool = False

    def may_be(self, other: Barrier) -> bool:
        """Whether both may be the same one."""
        if self.of_cluster or other.of_cluster:
            return self == other
        if self.origin is None or other.origin is None:
            return True
        if self.origin == other.origin:
            return self.number == other.number
        # Different allocations do not overlap.
        return not all(len(origin) == 1 and origin[0].kind == "shared" for origin in (self.origin, other.origin))


CLUSTER = Barrier(None, of_cluster=True)


@dataclass(frozen=True)
class Committed:
    """`barrier` completes a phase when the access is complete."""

    barrier: Barrier


@dataclass(frozen=True)
class _Arrived:
    """Its threads have arrived at `barrier`; who waits for them there gets `marks`."""

    barrier: Barrier
    marks: frozenset[Mark]


Note: TypeAlias = Mark | Committed | _Arrived
Notes: TypeAlias = frozenset[Note]

_NOTHING: Notes = frozenset()


def _arrivals_in(notes: Notes) -> Notes:
    """A phase waits for all arrivals: who waits knows that they happened, even if others took a way without."""
    return frozenset(note for note in notes if isinstance(note, _Arrived))


@dataclass
class State:
    """
    The accesses that a later one may have to be ordered behind, and what has been done about each on every way here.

    `waited` are mbarriers that some thread of a warp has waited for since all last met: at their next meeting all know
    of it, and at that of the warp its lanes do.
    """

    pending: dict[Effect, Notes] = field(default_factory=dict[Effect, Notes])
    waited: frozenset[tuple[Barrier, int]] = frozenset()

    def copy(self) -> State:
        return State(dict(self.pending), self.waited)

    def join(self, other: State) -> bool:
        """Adds what is pending on another way; whether anything is new."""
        changed = False
        for effect, notes in other.pending.items():
            before = self.pending.get(effect)
            after = notes if before is None else before & notes | _arrivals_in(before | notes)
            if after != before:
                self.pending[effect] = after
                changed = True
        if not other.waited <= self.waited:
            self.waited |= other.waited
            changed = True
        return changed

    def along(self, visitors: Visitors) -> State:
        """
        What of it those know that take a branch. Accesses of threads that do not take it are known only where the
        threads have met since.
        """
        kept = {
            effect: notes
            for effect, notes in self.pending.items()
            if Mark.MET in notes or not _is_elsewhere(effect.visitors, visitors)
        }
        return State(kept, self.waited)


def _is_elsewhere(who: Visitors, here: Visitors) -> bool:
    if any((condition, not value) in here.decisions for condition, value in who.decisions):
        return True
    return who.exact and bool(who.threads.any()) and not (who.threads & here.threads).any()


_COMPLETES_AT_BARRIER = (Means.TENSOR_CORE, Means.BULK_LOAD)
_WAITED_FOR = (Means.TENSOR_LOAD, Means.TENSOR_STORE)
_ACCESSED_BY_LANES = (Means.GENERIC, Means.GLOBAL, Means.INIT)


def _settled(means: Means, notes: Notes) -> bool:
    """Whether nothing can be wrong any more."""
    match means:
        case Means.GLOBAL:
            return Mark.SYNCED in notes
        case Means.GENERIC | Means.INIT:
            return Mark.SYNCED in notes and Mark.FENCED in notes
        case Means.TENSOR_CORE | Means.TENSOR_LOAD | Means.TENSOR_STORE:
            return Mark.COMPLETE in notes and Mark.AFTER in notes and Mark.SYNCED in notes
        case Means.BULK_LOAD | Means.BULK_STORE:
            return Mark.COMPLETE in notes


def _gained(means: Means, notes: Notes, relaxed: bool = False) -> frozenset[Mark]:
    """What those who meet the threads of an access learn of it."""
    match means:
        case Means.INIT if Mark.FENCED in notes:
            # fence.mbarrier_init releases, so that a relaxed arrival is enough.
            return frozenset((Mark.MET, Mark.SYNCED))
        case Means.GENERIC | Means.GLOBAL | Means.INIT:
            return frozenset() if relaxed else frozenset((Mark.MET, Mark.SYNCED))
        case Means.TENSOR_CORE | Means.TENSOR_LOAD | Means.TENSOR_STORE:
            gained = {Mark.MET}
            complete = Mark.COMPLETE in notes
            if complete:
                gained.add(Mark.SYNCED)
            if Mark.BEFORE in notes and (complete or means is Means.TENSOR_CORE):
                gained.add(Mark.SENT)
            return frozenset(gained)
        case Means.BULK_LOAD | Means.BULK_STORE:
            return frozenset((Mark.MET,))


_Transfer: TypeAlias = "Callable[[Synchronization, Operation, Visitors, State], None]"

Check: TypeAlias = Callable[[Operation, Effect | None, Visitors, State], None]
"""Called with every instruction, its effect, who executes it, and the state before it."""


class Synchronization:
    """The dataflow over an entry: forward, to a fixed point."""

    def __init__(self, entry: EntryOp):
        self.entry = entry
        self.flow = ThreadFlow(entry)
        self._effects: dict[Operation, Effect] = {}
        for block in self.flow.blocks:
            visitors = self.flow.visitors[block]
            for op in block.ops:
                if (effect := effect_of(op, self.flow.values, visitors)) is not None:
                    self._effects[op] = effect
        self._interesting = {
            block: [op for op in block.ops if op in self._effects or type(op) in _TRANSFER]
            for block in self.flow.blocks
        }
        self._waits = [
            (self.barrier(op.barrier), self.flow.visitors[block])
            for block, ops in self._interesting.items()
            for op in ops
            if isinstance(op, MbarrierTestWaitParityOp | MbarrierWaitParityOp)
        ]
        self.phases = {
            self.barrier(op.barrier): op.count.value.data
            for ops in self._interesting.values()
            for op in ops
            if isinstance(op, MbarrierInitOp)
        }
        """Mbarriers whose address is known -> arrivals that complete a phase."""
        self.loaded: Mapping[SSAValue, Effect] = {
            register: effect for op, effect in self._effects.items() for register in op.results
        }
        """What instructions with an effect give, among it the registers of tcgen05.ld."""
        self._states = self._solve()

    def barrier(self, address: SSAValue) -> Barrier:
        """The mbarrier at an address."""
        value = self.flow.values.get(address)
        if value is None or not value.is_uniform:
            return Barrier(None)
        return Barrier(value.symbols, int(value.numbers[0]))

    def waited_by_others(self, visitors: Visitors) -> frozenset[Barrier]:
        """The mbarriers that threads other than `visitors` wait for, somewhere."""
        return frozenset(
            barrier
            for barrier, others in self._waits
            if others.unknown or visitors.unknown or (others.threads & ~visitors.threads).any()
        )

    def visit(self, check: Check) -> None:
        """Calls `check` for every instruction that can be reached."""
        for block in self.flow.blocks:
            state = self._states[block].copy()
            visitors = self.flow.visitors[block]
            for op in block.ops:
                check(op, self._effects.get(op), visitors, state)
                self._step(op, visitors, state)

    def _solve(self) -> Mapping[Block, State]:
        states = {self.flow.blocks[0]: State()}
        waiting = dict.fromkeys(self.flow.blocks)
        while waiting:
            block = next(b for b in self.flow.blocks if b in waiting)
            del waiting[block]
            if block not in states:
                continue
            state = states[block].copy()
            for op in self._interesting[block]:
                self._step(op, self.flow.visitors[block], state)
            for edge in edges(block):
                taking = self.flow.along(edge, self.flow.visitors[block])
                arriving = state.along(taking) if edge.decision is not None else state
                if self._passes_synchronization(block, edge):
                    arriving = State(waited=state.waited)
                if edge.successor not in states:
                    states[edge.successor] = arriving.copy()
                elif not states[edge.successor].join(arriving):
                    continue
                waiting[edge.successor] = None
        return states

    def _passes_synchronization(self, block: Block, edge: Edge) -> bool:
        """
        Whether all threads go past instructions that synchronise, for a reason that is not known: there may be nothing
        to wait for, as in the first turn of a loop.
        """
        return any(type(op) in _TRANSFER for other in self.flow.passed(block, edge) for op in self._interesting[other])

    def _step(self, op: Operation, visitors: Visitors, state: State) -> None:
        """What an instruction does to the state."""
        if (transfer := _TRANSFER.get(type(op))) is not None:
            transfer(self, op, visitors, state)
        if (effect := self._effects.get(op)) is not None:
            if effect.means in _COMPLETES_AT_BARRIER:
                # What was waited for before cannot be this.
                state.waited = frozenset()
            state.pending[effect] = self._from_the_start(effect)

    def _from_the_start(self, effect: Effect) -> Notes:
        if effect.means is Means.BULK_LOAD and effect.barrier is not None:
            return frozenset((Committed(self.barrier(effect.barrier)),))
        if isinstance(effect.op, Tcgen05AllocOp | LdMatrixOp):
            # Of a whole warp, and done for all of it.
            return frozenset((Mark.WARP_SYNCED,))
        return _NOTHING


# What synchronising instructions do to what is pending


def _note(
    state: State, note: Callable[[Effect, Notes], frozenset[Mark] | frozenset[Note]], means: tuple[Means, ...] = ()
) -> None:
    """Adds notes to what is pending by some means (by all where none is said), and drops what is settled."""
    for effect, notes in tuple(state.pending.items()):
        if means and effect.means not in means:
            continue
        added = note(effect, notes)
        if not added <= notes:
            notes |= added
            if _settled(effect.means, notes):
                del state.pending[effect]
            else:
                state.pending[effect] = notes


def _mark(*marks: Mark, means: tuple[Means, ...]) -> _Transfer:
    """The transfer of an instruction that does the same to all that is pending by some means."""
    added = frozenset(marks)

    def transfer(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
        _note(state, lambda effect, notes: added, means)

    return transfer


_KNOWN_COMPLETE = frozenset((Mark.COMPLETE, Mark.SENT, Mark.MET, Mark.SYNCED))


def _completed(notes: Notes, waited: frozenset[Barrier]) -> frozenset[Mark]:
    """What those know of an access who know that `waited` have completed their phases."""
    committed = [note.barrier for note in notes if isinstance(note, Committed)]
    return _KNOWN_COMPLETE if any(one.may_be(other) for one in committed for other in waited) else frozenset()


def _meet(
    analysis: Synchronization,
    visitors: Visitors,
    state: State,
    gained: Callable[[Effect, Notes], frozenset[Mark]],
) -> None:
    """
    Threads meet: each learns what the others know, and that includes completions that others waited for. Those that
    come to the barrier elsewhere may have waited for anything.
    """
    everyone = not visitors.unknown and bool(visitors.threads.all())
    waited = frozenset(barrier for barrier, _ in state.waited)
    if not everyone:
        waited |= analysis.waited_by_others(visitors)
    heard = frozenset[Mark]() if everyone else frozenset((Mark.HEARD,))

    def learned(effect: Effect, notes: Notes) -> frozenset[Mark]:
        marks = _completed(notes, waited) | heard
        return marks | gained(effect, notes | marks)

    _note(state, learned)
    state.waited = frozenset()


def _bar_sync(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    _meet(analysis, visitors, state, lambda effect, notes: _gained(effect.means, notes))


def _cluster_wait(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    _meet(analysis, visitors, state, lambda effect, notes: _arrivals(notes, CLUSTER) | {Mark.HEARD})


def _warp_sync(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    """The lanes of each warp meet: what one has waited for, all know of."""
    warps = warp_numbers(visitors.threads)
    known = frozenset(barrier for barrier, _ in state.waited if all((barrier, warp) in state.waited for warp in warps))

    def learned(effect: Effect, notes: Notes) -> frozenset[Mark]:
        marks = _completed(notes, known).union(*(_arrivals(notes, barrier) for barrier in known))
        if known:
            marks |= {Mark.HEARD}
        return marks | {Mark.WARP_SYNCED} if effect.means in _ACCESSED_BY_LANES else marks

    _note(state, learned)


def _arrivals(notes: Notes, barrier: Barrier) -> frozenset[Mark]:
    found = [note.marks for note in notes if isinstance(note, _Arrived) and note.barrier.may_be(barrier)]
    return frozenset[Mark]().union(*found)


def _arrive(state: State, visitors: Visitors, barrier: Barrier, relaxed: bool) -> None:
    """Who waits at `barrier` learns of what the arriving threads did: not of what others did, whom they never met."""

    def arrived(effect: Effect, notes: Notes) -> frozenset[Note]:
        # A lane arrives for its warp, if that has met since.
        of_warps = Mark.WARP_SYNCED in notes or effect.means in _WAITED_FOR
        arriving = threads_of_warps(visitors.threads) if of_warps else visitors.threads
        if Mark.MET not in notes and (effect.threads & ~arriving).any():
            return frozenset()
        return frozenset((_Arrived(barrier, _gained(effect.means, notes, relaxed)),))

    _note(state, arrived)


def _cluster_arrive(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    assert isinstance(op, BarrierClusterArriveOp)
    _arrive(state, visitors, CLUSTER, op.relaxed is not None)


def _mbarrier_arrive(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    assert isinstance(op, MbarrierArriveOp | MbarrierArriveExpectTxOp)
    relaxed = isinstance(op, MbarrierArriveOp) and op.relaxed is not None
    _arrive(state, visitors, analysis.barrier(op.barrier), relaxed)


def _commit(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    """A commit tracks what its own thread has issued, implies fence::before_thread_sync, and arrives (PTX ISA,
    "tcgen05.commit")."""
    assert isinstance(op, Tcgen05CommitOp)
    barrier = analysis.barrier(op.barrier)

    def committed(effect: Effect, notes: Notes) -> frozenset[Note]:
        if _is_elsewhere(effect.visitors, visitors):
            return frozenset()
        return frozenset((Mark.BEFORE, Committed(barrier)))

    _note(state, committed, (Means.TENSOR_CORE,))
    _arrive(state, visitors, barrier, False)


def _mbarrier_wait(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    assert isinstance(op, MbarrierWaitParityOp | MbarrierTestWaitParityOp)
    barrier = analysis.barrier(op.barrier)

    # Whoever completes this phase may know of other mbarriers, and so of what they track.
    waited = analysis.waited_by_others(visitors) | {barrier}

    def learned(effect: Effect, notes: Notes) -> frozenset[Mark]:
        return _arrivals(notes, barrier) | _completed(notes, waited) | {Mark.HEARD}

    _note(state, learned)
    state.waited |= {(barrier, warp) for warp in warp_numbers(visitors.threads)}


def _mbarrier_inval(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    assert isinstance(op, MbarrierInvalOp)
    barrier = analysis.barrier(op.barrier)
    for effect in tuple(state.pending):
        if effect.means is Means.INIT and effect.barrier and analysis.barrier(effect.barrier).may_be(barrier):
            del state.pending[effect]


def _proxy_fence(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    assert isinstance(op, FenceProxyAsyncOp)
    if op.space is None or op.space.data == "shared::cta":
        _note(state, lambda effect, notes: frozenset((Mark.FENCED,)), (Means.GENERIC, Means.INIT))


def _bulk_wait(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    # Which groups may still be open is counted while the kernel runs: any wait may be the one.
    def waited(effect: Effect, notes: Notes) -> frozenset[Mark]:
        return frozenset((Mark.COMPLETE,)) if Mark.GROUPED in notes else frozenset()

    _note(state, waited, (Means.BULK_STORE,))


def _fence_after(analysis: Synchronization, op: Operation, visitors: Visitors, state: State) -> None:
    def ordered(effect: Effect, notes: Notes) -> frozenset[Mark]:
        return frozenset((Mark.AFTER,)) if Mark.SENT in notes else frozenset()

    _note(state, ordered)


_TENSOR = (Means.TENSOR_CORE, *_WAITED_FOR)

_TRANSFER: Mapping[type[Operation], _Transfer] = {
    BarSyncOp: _bar_sync,
    BarWarpSyncOp: _warp_sync,
    BarrierClusterArriveOp: _cluster_arrive,
    BarrierClusterWaitOp: _cluster_wait,
    MbarrierArriveOp: _mbarrier_arrive,
    MbarrierArriveExpectTxOp: _mbarrier_arrive,
    MbarrierWaitParityOp: _mbarrier_wait,
    MbarrierTestWaitParityOp: _mbarrier_wait,
    MbarrierInvalOp: _mbarrier_inval,
    FenceMbarrierInitOp: _mark(Mark.FENCED, means=(Means.INIT,)),
    FenceProxyAsyncOp: _proxy_fence,
    CpAsyncBulkCommitGroupOp: _mark(Mark.GROUPED, means=(Means.BULK_STORE,)),
    CpAsyncBulkWaitGroupOp: _bulk_wait,
    Tcgen05CommitOp: _commit,
    Tcgen05WaitLdOp: _mark(Mark.COMPLETE, means=(Means.TENSOR_LOAD,)),
    Tcgen05WaitStOp: _mark(Mark.COMPLETE, means=(Means.TENSOR_STORE,)),
    Tcgen05FenceBeforeThreadSyncOp: _mark(Mark.BEFORE, means=_TENSOR),
    Tcgen05FenceAfterThreadSyncOp: _fence_after,
}
