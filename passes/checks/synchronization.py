"""Memory accesses of a kernel that are not complete, not visible or not ordered, at every point of its control flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.ptx.effects import (
    TENSOR_CORE_KINDS,
    SharedMatrix,
    Synchronization,
    TensorCommit,
    TensorFence,
    WaitAll,
)
from tirx.dialects.tcgen05 import CommitOp, DeallocOp
from tirx.passes.checks.access_reader import AccessReader
from tirx.passes.checks.memory_accesses import Access, AccessTable
from tirx.passes.checks.orderings import (
    CLUSTER,
    JUST_COMPLETE,
    JUST_FENCED,
    JUST_HEARD,
    NOTHING,
    OF_WARPS,
    OF_WHOLE_WARPS,
    Arrived,
    Barrier,
    Committed,
    Ordering,
    OrderingState,
    State,
    Waited,
    Younger,
    is_awaited,
    is_elsewhere,
)
from tirx.passes.checks.thread_flow import ActiveThreads, Edge, ThreadFlow, Worklist
from tirx.passes.ir.control_flow import ControlFlow
from tirx.rules import SynchronizationError

_Groups: TypeAlias = "ptx.CommitGroup | ptx.WaitGroup | WaitAll"

_Effect: TypeAlias = "tuple[tuple[_Change, ...], Waited, _Groups | None]"
"""What a synchronisation does to what is pending, the waits behind it, and itself where it is about groups."""

_MOST_KNOWN = 64
"""Orderings of which is kept what they become."""

MOST_PENDING = 1_500_000
"""Accesses that blocks wait for order behind, of all blocks: some two seconds and 150 MB."""


_OF_THREADS = (ptx.AccessKind.GENERIC, ptx.AccessKind.GLOBAL, ptx.AccessKind.INIT)
_OF_TENSOR_MEMORY = (*TENSOR_CORE_KINDS, *OF_WHOLE_WARPS)

_SETTLING = {
    **dict.fromkeys(ptx.AccessKind, JUST_COMPLETE),
    **dict.fromkeys(_OF_THREADS, frozenset((Ordering.SYNCED,))),
    **dict.fromkeys(_OF_TENSOR_MEMORY, frozenset((Ordering.COMPLETE, Ordering.AFTER, Ordering.SYNCED))),
    ptx.AccessKind.COPY: frozenset((Ordering.COMPLETE, Ordering.SYNCED)),
}
"""Kinds of accesses -> the events behind which nothing can be wrong any more, besides a fence of the proxy."""


def _settled(analysis: OrderingAnalysis, kind: ptx.AccessKind, ordering: OrderingState) -> bool:
    """Returns True if nothing that follows can be wrong any more."""
    if not ordering >= _SETTLING[kind]:
        return False
    has_proxies = analysis.has_boxes if kind is ptx.AccessKind.GLOBAL else analysis.has_proxies
    return Ordering.FENCED in ordering or not (has_proxies and kind.is_generic)


def _completed_apart(stated: ptx.MemoryAccess) -> Sequence[ptx.MemoryAccess]:
    """The access of an instruction, without and with the operand A of a product, which a commit may track alone."""
    apart = tuple(region for region in stated.reads if isinstance(region, SharedMatrix) and region.is_a)
    if not apart:
        return (stated,)
    rest = tuple(region for region in stated.reads if region not in apart)
    return replace(stated, reads=rest), ptx.MemoryAccess(ptx.AccessKind.TENSOR_A, apart)


def _gained(kind: ptx.AccessKind, ordering: OrderingState, relaxed: bool = False) -> frozenset[Ordering]:
    """Returns the events that threads learn of which meet those of an access."""
    complete = Ordering.COMPLETE in ordering
    if kind in _OF_THREADS:
        # fence.mbarrier_init releases, so that a relaxed arrival is enough.
        released = kind is ptx.AccessKind.INIT and Ordering.FENCED in ordering
        return frozenset() if relaxed and not released else _MET_AND_SYNCED
    # Bulk copies and products of warpgroups are settled once they are complete, whatever else is known of them.
    gained = _MET_AND_SYNCED if complete else _JUST_MET
    is_sent = Ordering.BEFORE in ordering and (complete or kind in TENSOR_CORE_KINDS)
    return gained | {Ordering.SENT} if is_sent else gained


_JUST_MET = frozenset((Ordering.MET,))
_MET_AND_SYNCED = frozenset((Ordering.MET, Ordering.SYNCED))

Check: TypeAlias = Callable[[Operation, "Sequence[Access]", "Synchronization | None", ActiveThreads, State], None]
"""Called with every instruction, its accesses, its synchronisation, who executes it, and the state before it."""


@cache
def _may_have_effects(kind: type[Operation]) -> bool:
    """Returns False for instructions that have none in all their forms."""
    return issubclass(kind, ptx.PTXInstruction) and (
        kind.effects is not ptx.PTXInstruction.effects or kind.EFFECTS is not ptx.NO_EFFECTS
    )


class OrderingAnalysis:
    """The dataflow over an entry: forward, to a fixed point."""

    def __init__(self, control: ControlFlow):
        self.entry = control.entry
        self.flow = ThreadFlow(control)
        self.accesses = AccessTable()
        self.stated: dict[Operation, ptx.MemoryAccess] = {}
        """Accesses to memory that instructions state."""
        self.synchronizations: dict[Operation, Synchronization] = {}
        """Synchronisations that instructions state."""
        self.latest: dict[Access, Operation] = {}
        """The last instruction that `visit` came to with each access."""
        self.has_proxies = False
        """True if anything gets at shared memory through the async proxy."""
        self.mbarriers: dict[Operation, SSAValue] = {}
        """Instructions that use an mbarrier, or start what does -> its address."""
        self._barriers: dict[SSAValue, Barrier] = {}
        self.announced: list[Barrier] = []
        """Mbarriers that bytes of asynchronous copies are announced on."""
        self.most_pending = Counter[ptx.AccessKind]()
        """The largest number of groups that a wait leaves pending, of each kind of accesses."""
        self.phases: dict[Barrier, int] = {}
        """Mbarriers whose address is known -> arrivals that complete a phase."""
        self._tracks_a = any(op.reads_a is not None for op in self.flow.control.of_type(CommitOp))
        reader, ops = AccessReader(self.entry, self.flow.values), self.flow.control.ops
        for block in self.flow.blocks:
            active = self.flow.active[block]
            for op in ops[block]:
                if not _may_have_effects(type(op)) or not isinstance(op, ptx.PTXInstruction):
                    continue
                if (effects := op.effects()) is not ptx.NO_EFFECTS:
                    self._read(op, effects, reader, active)
        self._accesses = reader.accesses(self.accesses)
        self.has_boxes = reader.has_boxes
        stepping = self._accesses.keys() | self.synchronizations.keys()
        self._stepping = [[op for op in ops[block] if op in stepping] for block in self.flow.blocks]
        """The instructions of each block that do anything to the state."""
        self._others = set[Operation](self.flow.control.of_type(DeallocOp))
        """Instructions that are checked although their accesses are not known, or count as none."""
        self._others |= self.mbarriers.keys()
        self._waits = {
            (self.barrier(found.barrier), self.flow.active[block])
            for block, ops in zip(self.flow.blocks, self._stepping, strict=True)
            for op in ops
            if isinstance(found := self.synchronizations.get(op), ptx.MbarrierWait)
        }
        self._waited_by_others: dict[ActiveThreads, frozenset[Barrier]] = {}
        self._bypassing: dict[Edge, bool] = {}
        self._effects: dict[tuple[Operation, Waited], _Effect] = {}
        """Synchronisations and the waits before them -> what they do."""
        accesses = [access for own in self._accesses.values() for access in own]
        self._fresh = {access: self._from_the_start(access) for access in accesses}
        """Accesses -> what is known of them from the start."""
        self._joined: list[list[Block]] = [[] for _ in self.flow.blocks]
        """The branches, on predicates of several ones, whose paths come together first at each block."""
        for block in self.flow.blocks:
            if isinstance(branch := block.last_op, ptx.CondBraOp) and self.flow.is_fixed(branch.condition):
                join = self.flow.control.post_dominators.immediate(block)
                if join is not None:
                    self._joined[control.position[join]].append(block)
        self._states = self._solve()

    def _read(self, op: Operation, effects: ptx.Effects, reader: AccessReader, active: ActiveThreads) -> None:
        """Notes what an instruction states."""
        if (synchronization := effects.synchronization) is not None:
            self.synchronizations[op] = synchronization
            self.has_proxies |= isinstance(synchronization, TensorCommit)
            match synchronization:
                case ptx.MbarrierArrive(address) | ptx.MbarrierTransaction(address):
                    self.mbarriers[op] = address
                    if synchronization.announces:
                        self.announced.append(self.barrier(address))
                case ptx.WaitGroup(kind, pending):
                    self.most_pending[kind] = max(pending, self.most_pending[kind])
                case ptx.MbarrierWait(address) | TensorCommit(address) | ptx.CopyArrive(address):
                    self.mbarriers[op] = address
                case _:
                    pass
        if effects.access is not None:
            self.stated[op] = effects.access
            if effects.access.barrier is not None and not effects.access.kind.is_in_order:
                self.mbarriers[op] = effects.access.barrier
            self.has_proxies |= effects.access.kind not in _OF_THREADS and not effects.access.kind.is_generic
            for part in _completed_apart(effects.access) if self._tracks_a else (effects.access,):
                reader.note(op, part, active, synchronizes=synchronization is not None)
        if effects.outside is not None:
            reader.note(op, effects.outside, active, synchronizes=False)
        if isinstance(op, ptx.MbarrierInitOp):
            self.phases[self.barrier(op.barrier)] = op.count.value.data

    @property
    def asynchronous(self) -> list[Operation]:
        """The instructions that write registers later."""
        kinds = ptx.AccessKind.TENSOR_LOAD, ptx.AccessKind.WARPGROUP
        return [op for op, accesses in self._accesses.items() if any(access.kind in kinds for access in accesses)]

    def is_of(self, op: Operation, kind: ptx.AccessKind) -> bool:
        """Returns True if `op` accesses memory in this way."""
        return any(access.kind is kind for access in self._accesses.get(op, ()))

    def uses_async_proxy(self, op: Operation) -> bool:
        """Returns True if `op` starts something asynchronous that arrives at its mbarrier."""
        return op in self._accesses or isinstance(self.synchronizations.get(op), TensorCommit)

    def barrier(self, address: SSAValue) -> Barrier:
        """The mbarrier at an address."""
        if (found := self._barriers.get(address)) is None:
            if (value := self.flow.values.get(address)) is None or (number := value.number) is None:
                found = Barrier(None)
            else:
                found = Barrier(value.symbols, number)
            self._barriers[address] = found
        return found

    def waited_by_others(self, active: ActiveThreads) -> frozenset[Barrier]:
        """The mbarriers that threads other than `active` wait for, somewhere."""
        if active not in self._waited_by_others:
            self._waited_by_others[active] = frozenset(
                barrier
                for barrier, others in self._waits
                if others.unknown or active.unknown or others.mask & ~active.mask
            )
        return self._waited_by_others[active]

    def visit(self, check: Check) -> None:
        """Calls `check` for every instruction that can be reached."""
        steps = self._accesses.keys() | self.synchronizations.keys()
        others = self._others - steps
        for at, block in enumerate(self.flow.blocks):
            state = self._states[at]
            if not (self._stepping[at] or state.loading or others):
                continue
            state = state.behind(self._joined[at])
            active = self.flow.active[block]
            for op in self.flow.control.ops[block]:
                if op in steps:
                    accesses = self._accesses.get(op, ())
                    check(op, accesses, self.synchronizations.get(op), active, state)
                    self._step(op, active, state)
                    for access in accesses:
                        self.latest[access] = op
                elif state.loading or op in others:  # on memory, or maybe on registers that come later
                    check(op, (), None, active, state)

    def _solve(self) -> Mapping[int, State]:
        """The state at the start of each block, by its position."""
        states, held = {0: State()}, 0
        waiting = Worklist()
        waiting.add(0)
        while (at := waiting.pop()) is not None:
            block = self.flow.blocks[at]
            active, state = self.flow.active[block], states[at]
            if self._joined[at] or self._stepping[at]:
                state = state.behind(self._joined[at])
            for op in self._stepping[at]:
                self._step(op, active, state)
            for edge in self.flow.edges[block]:
                arriving = state
                if edge.decision is not None:
                    taking = self.flow.along(edge, active)
                    if taking.mask != active.mask or self.flow.is_fixed(edge.decision[0]):
                        arriving = state.along(block, edge.decision, active, taking)
                    if block in self.flow.control.cyclic and self._bypasses_synchronization(block, edge):
                        arriving = State(loading=dict(state.loading), waited=state.waited)
                if edge.position not in states:
                    states[edge.position] = arriving.copy() if arriving is state else arriving
                    if (held := held + len(arriving.pending)) > MOST_PENDING:
                        raise SynchronizationError(
                            self.entry,
                            f"expected at most {MOST_PENDING} pairs of a block and an access to memory that is not "
                            f"ordered before it, found more in {len(self.flow.blocks)} blocks; use smaller tiles or "
                            "more threads",
                        )
                elif not states[edge.position].join(arriving):
                    continue
                waiting.add(edge.position)
        return states

    def _bypasses_synchronization(self, block: Block, edge: Edge) -> bool:
        """
        Returns True if all threads miss instructions that synchronise, for a reason that is not known: there may be
        nothing to wait for, as in the first turn of a loop.
        """
        if edge not in self._bypassing:
            self._bypassing[edge] = any(
                op in self.synchronizations
                for other in self.flow.bypassed(block, edge)
                for op in self._stepping[self.flow.control.position[other]]
            )
        return self._bypassing[edge]

    def _step(self, op: Operation, active: ActiveThreads, state: State) -> None:
        """Changes the state as an instruction does."""
        if (synchronization := self.synchronizations.get(op)) is not None:
            key = op, state.waited
            if (effect := self._effects.get(key)) is None:
                effect = self._effects[key] = _effect(self, synchronization, active, state.waited)
            changes, state.waited, groups = effect
            written = () if groups is None else self._written(groups, state)
            for change in changes:
                _advance(self, state, change)
            if groups is not None:
                state.pending.update((self.accesses.completed(access), JUST_FENCED) for access in written)
                _load(self, groups, state)
            elif type(synchronization) is ptx.MbarrierInvalidate:
                _mbarrier_inval(state, self.barrier(synchronization.barrier))
        pending = state.pending
        for access in self._accesses.get(op, ()):
            kind = access.kind
            if state.waited and kind.completes_at_mbarrier:
                state.waited = _forgotten(state.waited, active)
            if kind is ptx.AccessKind.TENSOR_LOAD or kind is ptx.AccessKind.WARPGROUP:
                state.loading[op] = 0
            # What is pending of the same access is ordered no less than this, but for a phase that is waited for.
            before = pending.pop(access, NOTHING)
            if before and is_awaited(before):
                pending[self.accesses.earlier(access)] = before
            pending[access] = self._fresh[access]

    def _written(self, groups: _Groups, state: State) -> list[Access]:
        """The bulk stores that are complete behind a wait for groups."""
        if not isinstance(groups, ptx.WaitGroup) or ptx.AccessKind.BULK_WRITE not in groups.kinds:
            return []
        last = _last_of(groups)
        found = [one for one, ordering in state.pending.items() if last in ordering]
        return [one for one in found if one.kind is ptx.AccessKind.BULK_WRITE]

    def _from_the_start(self, access: Access) -> OrderingState:
        if access.kind is ptx.AccessKind.BULK_LOAD:
            barrier = Barrier(None) if access.barrier is None else Barrier(*access.barrier)
            return frozenset((Committed(barrier),))
        return OF_WARPS if access.warp_wide else NOTHING


# What synchronising instructions do to what is pending


class _Change(NamedTuple):
    """
    The events that accesses gain of some kinds, or of all. `gained` sees no more of an access than its kind and its
    threads; `known` are orderings behind it of those and of the ordering before, None where nothing can be wrong.
    """

    gained: Callable[[Access, OrderingState], OrderingState]
    kinds: tuple[ptx.AccessKind, ...]
    known: dict[tuple[ptx.AccessKind, ActiveThreads, OrderingState], OrderingState | None]


def _change(
    gained: Callable[[Access, OrderingState], OrderingState], kinds: tuple[ptx.AccessKind, ...] = ()
) -> _Change:
    return _Change(gained, kinds, {})


def _advance(analysis: OrderingAnalysis, state: State, change: _Change) -> None:
    """Adds to the ordering of what is pending and drops what is settled."""
    gained, kinds, known = change
    pending = state.pending
    for access, ordering in tuple(pending.items()):
        if kinds and access.kind not in kinds:
            continue
        key = access.kind, access.active, ordering
        if key not in known:
            if len(known) == _MOST_KNOWN:
                known.clear()
            after = ordering | gained(access, ordering)
            if after == ordering:
                known[key] = ordering
            else:
                known[key] = None if _settled(analysis, access.kind, after) else after
        after = known[key]
        if after is None:
            del pending[access]
        elif after is not ordering:
            pending[access] = after


_KNOWN_COMPLETE = frozenset((Ordering.COMPLETE, Ordering.SENT, Ordering.MET, Ordering.SYNCED))


def _completed(ordering: OrderingState, waited: frozenset[Barrier]) -> frozenset[Ordering]:
    """Returns the events that follow for an access if `waited` have completed their phases."""
    committed = [one.barrier for one in ordering if type(one) is Committed]
    return _KNOWN_COMPLETE if any(one.may_be(other) for one in committed for other in waited) else frozenset()


def _meet(
    analysis: OrderingAnalysis,
    active: ActiveThreads,
    waited_here: Waited,
    gained: Callable[[Access, OrderingState], frozenset[Ordering]],
) -> _Effect:
    """
    Threads meet: each learns what the others know, and that includes completions that others waited for. Those that
    come to the barrier elsewhere may have waited for anything.
    """
    everyone = active.is_everyone
    waited = frozenset([barrier for barrier, _ in waited_here])
    if not everyone:
        waited |= analysis.waited_by_others(active)
    heard = frozenset[Ordering]() if everyone else JUST_HEARD

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        known = _completed(ordering, waited) | heard
        if Ordering.COMPLETE_THERE in ordering and active.exact and not access.active.mask & ~active.mask:
            known |= JUST_COMPLETE
        return known | gained(access, ordering | known)

    return (_change(learned),), frozenset() if everyone else waited_here, None


def _warp_barrier(active: ActiveThreads, waited: Waited) -> _Change:
    """The lanes of each warp meet: all learn which mbarriers one has waited for."""
    waiting: dict[Barrier, set[int]] = {}
    for barrier, warp in waited:
        waiting.setdefault(barrier, set()).add(warp)
    known = frozenset([barrier for barrier, warps in waiting.items() if warps.issuperset(active.warps)])

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        found = _completed(ordering, known).union(*[_arrivals(ordering, barrier) for barrier in known])
        if known:
            found |= JUST_HEARD
        return found | {Ordering.WARP_SYNCED} if access.kind.is_in_order else found

    return _change(learned)


def _arrivals(ordering: OrderingState, barrier: Barrier) -> frozenset[Ordering]:
    found = [one.gained for one in ordering if type(one) is Arrived and one.barrier.may_be(barrier)]
    return frozenset[Ordering]().union(*found)


def _arrive(active: ActiveThreads, barrier: Barrier, relaxed: bool) -> _Change:
    """Tells threads that wait at `barrier` of what the arriving ones did, not of others, whom they never met."""

    def arrived(access: Access, ordering: OrderingState) -> OrderingState:
        # A lane arrives for its warp, if that has met since.
        of_warps = Ordering.WARP_SYNCED in ordering or access.kind in OF_WHOLE_WARPS
        arriving = active.mask_of_warps if of_warps else active.mask
        if Ordering.MET not in ordering and access.active.mask & ~arriving:
            return NOTHING
        return frozenset((Arrived(barrier, _gained(access.kind, ordering, relaxed)),))

    return _change(arrived)


def _tensor_commit(analysis: OrderingAnalysis, op: TensorCommit, active: ActiveThreads) -> tuple[_Change, ...]:
    """A commit tracks what its own thread has issued, implies fence::before_thread_sync, and arrives (PTX ISA,
    "tcgen05.commit")."""
    barrier = analysis.barrier(op.barrier)
    kinds = (ptx.AccessKind.TENSOR_A,) if op.reads_a else TENSOR_CORE_KINDS
    tracked = _track(active, kinds, frozenset((Ordering.BEFORE, Committed(barrier))))
    return tracked, _arrive(active, barrier, False)


def _track(active: ActiveThreads, kinds: tuple[ptx.AccessKind, ...], committed: OrderingState) -> _Change:
    """Accesses of some kinds that these threads may have made are tracked by a barrier."""
    return _change(lambda one, _: NOTHING if is_elsewhere(one.active, active) else committed, kinds)


def _forgotten(waited: Waited, active: ActiveThreads) -> Waited:
    """
    Returns the waits without those of `active`: threads start something new, for which they cannot have waited yet.

    Barriers that only others have waited for stay: roles stand behind each other in the program and run side by side.
    """
    own = {barrier for barrier, warp in waited if warp in active.warps}
    return frozenset([one for one in waited if one[0] not in own]) if own else waited


def _mbarrier_wait(analysis: OrderingAnalysis, barrier: Barrier, active: ActiveThreads, waited_here: Waited) -> _Effect:
    # Whoever completes this phase may know of other mbarriers, and so of what they track.
    waited = analysis.waited_by_others(active) | {barrier}

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        return _arrivals(ordering, barrier) | _completed(ordering, waited) | JUST_HEARD

    return (_change(learned),), waited_here | {(barrier, warp) for warp in active.warps}, None


def _mbarrier_inval(state: State, barrier: Barrier) -> None:
    for access in tuple(state.pending):
        if access.kind is ptx.AccessKind.INIT and access.barrier and Barrier(*access.barrier).may_be(barrier):
            del state.pending[access]


def _always(ordering: Ordering, kinds: tuple[ptx.AccessKind, ...]) -> _Change:
    found = frozenset((ordering,))
    return _change(lambda access, before: found, kinds)


def _proxy_fence(op: ptx.ProxyFence) -> _Change:
    def fenced(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        # The fence orders what its thread knows to be done.
        pending = access.kind is ptx.AccessKind.COPY and Ordering.COMPLETE not in ordering
        return frozenset() if pending else JUST_FENCED

    return _change(fenced, op.kinds)


def _commit_group(analysis: OrderingAnalysis, op: ptx.CommitGroup) -> _Change:
    """Counts groups as far as waits tell them apart: all that are behind more than these are alike."""
    most = analysis.most_pending[op.kind]

    def committed(access: Access, ordering: OrderingState) -> OrderingState:
        if Ordering.GROUPED not in ordering:
            return frozenset((Ordering.GROUPED,))
        younger = 1 + sum(type(one) is Younger for one in ordering)
        return frozenset((Younger(younger),)) if younger <= most else NOTHING

    return _change(committed, op.kinds)


def _last_of(op: ptx.WaitGroup) -> Ordering | Younger:
    """The event behind accesses whose groups are complete: those with as many groups behind them on every path."""
    return Ordering.GROUPED if op.pending == 0 else Younger(op.pending)


def _wait_group(op: ptx.WaitGroup) -> _Change:
    """All but the last groups are complete."""
    last = _last_of(op)
    return _change(lambda access, ordering: JUST_COMPLETE if last in ordering else NOTHING, op.kinds)


def _tensor_fence(op: TensorFence) -> _Change:
    if not op.after:
        return _always(Ordering.BEFORE, _OF_TENSOR_MEMORY)
    after = frozenset((Ordering.AFTER,))
    return _change(lambda access, ordering: after if Ordering.SENT in ordering else NOTHING)


def _effect(analysis: OrderingAnalysis, op: Synchronization, active: ActiveThreads, waited: Waited) -> _Effect:
    """Returns the changes that a synchronisation makes. The bytes of an mbarrier order nothing."""
    match op:
        case ptx.BlockBarrier():
            return _meet(analysis, active, waited, lambda access, ordering: _gained(access.kind, ordering))
        case ptx.ClusterWait():
            return _meet(analysis, active, waited, lambda access, ordering: _arrivals(ordering, CLUSTER) | JUST_HEARD)
        case ptx.MbarrierWait(address):
            return _mbarrier_wait(analysis, analysis.barrier(address), active, waited)
        case ptx.CopyArrive(address):
            # The arrival follows the thread's copies so far, and says nothing of what else it did.
            committed = frozenset((Committed(analysis.barrier(address)),))
            return (_track(active, (ptx.AccessKind.COPY,), committed),), _forgotten(waited, active), None
        case ptx.CommitGroup():
            return (_commit_group(analysis, op),), waited, op
        case ptx.WaitGroup():
            return (_wait_group(op),), waited, op
        case WaitAll():
            return (_always(Ordering.COMPLETE, (op.kind,)),), waited, op
        case ptx.WarpBarrier():
            changes = (_warp_barrier(active, waited),)
        case ptx.ClusterArrive():
            changes = (_arrive(active, CLUSTER, op.relaxed),)
        case ptx.MbarrierArrive(address):
            changes = (_arrive(active, analysis.barrier(address), op.relaxed),)
        case TensorCommit():
            changes = _tensor_commit(analysis, op, active)
        case ptx.ProxyFence():
            changes = (_proxy_fence(op),)
        case TensorFence():
            changes = (_tensor_fence(op),)
        case _:
            changes = ()
    return changes, waited, None


def _load(analysis: OrderingAnalysis, op: _Groups, state: State) -> None:
    """Counts the groups behind what is loading, or drops what is complete."""
    most = analysis.most_pending[op.kind] if isinstance(op, ptx.CommitGroup) else 0
    for loading, groups in tuple(state.loading.items()):
        if not analysis.is_of(loading, op.kind):
            continue
        if isinstance(op, ptx.CommitGroup):
            state.loading[loading] = min(groups, most) + 1
        elif isinstance(op, WaitAll) or groups > op.pending:
            del state.loading[loading]
