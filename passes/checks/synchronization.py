"""Memory accesses of a kernel that are not complete, not visible or not ordered, at every point of its control flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias

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
    Younger,
    is_awaited,
    is_elsewhere,
)
from tirx.passes.checks.thread_flow import ActiveThreads, Edge, ThreadFlow, Worklist
from tirx.passes.ir.control_flow import ControlFlow
from tirx.rules import SynchronizationError

MOST_PENDING = 1_500_000
"""Accesses that blocks wait for order behind, of all blocks: some two seconds and 150 MB."""


def _settled(analysis: OrderingAnalysis, kind: ptx.AccessKind, ordering: OrderingState) -> bool:
    """Returns True if nothing that follows can be wrong any more."""
    match kind:
        case ptx.AccessKind.GLOBAL:
            return Ordering.SYNCED in ordering and (Ordering.FENCED in ordering or not analysis.has_boxes)
        case ptx.AccessKind.GENERIC | ptx.AccessKind.INIT:
            return Ordering.SYNCED in ordering and (Ordering.FENCED in ordering or not analysis.has_proxies)
        case ptx.AccessKind.COPY:
            fenced = Ordering.FENCED in ordering or not analysis.has_proxies
            return Ordering.COMPLETE in ordering and Ordering.SYNCED in ordering and fenced
        case (
            ptx.AccessKind.TENSOR_CORE
            | ptx.AccessKind.TENSOR_A
            | ptx.AccessKind.TENSOR_LOAD
            | ptx.AccessKind.TENSOR_STORE
        ):
            return Ordering.COMPLETE in ordering and Ordering.AFTER in ordering and Ordering.SYNCED in ordering
        case (
            ptx.AccessKind.BULK_LOAD | ptx.AccessKind.BULK_STORE | ptx.AccessKind.BULK_WRITE | ptx.AccessKind.WARPGROUP
        ):
            return Ordering.COMPLETE in ordering


def _completed_apart(stated: ptx.MemoryAccess) -> Sequence[ptx.MemoryAccess]:
    """The access of an instruction, without and with the operand A of a product, which a commit may track alone."""
    apart = tuple(region for region in stated.reads if isinstance(region, SharedMatrix) and region.is_a)
    if not apart:
        return (stated,)
    rest = tuple(region for region in stated.reads if region not in apart)
    return replace(stated, reads=rest), ptx.MemoryAccess(ptx.AccessKind.TENSOR_A, apart)


def _gained(kind: ptx.AccessKind, ordering: OrderingState, relaxed: bool = False) -> frozenset[Ordering]:
    """Returns the events that threads learn of which meet those of an access."""
    match kind:
        case ptx.AccessKind.INIT if Ordering.FENCED in ordering:
            # fence.mbarrier_init releases, so that a relaxed arrival is enough.
            return frozenset((Ordering.MET, Ordering.SYNCED))
        case ptx.AccessKind.GENERIC | ptx.AccessKind.GLOBAL | ptx.AccessKind.INIT:
            return frozenset() if relaxed else frozenset((Ordering.MET, Ordering.SYNCED))
        case (
            ptx.AccessKind.TENSOR_CORE
            | ptx.AccessKind.TENSOR_A
            | ptx.AccessKind.TENSOR_LOAD
            | ptx.AccessKind.TENSOR_STORE
        ):
            gained = {Ordering.MET}
            complete = Ordering.COMPLETE in ordering
            if complete:
                gained.add(Ordering.SYNCED)
            if Ordering.BEFORE in ordering and (complete or kind in TENSOR_CORE_KINDS):
                gained.add(Ordering.SENT)
            return frozenset(gained)
        case ptx.AccessKind.COPY if Ordering.COMPLETE in ordering:
            return frozenset((Ordering.MET, Ordering.SYNCED))
        case (
            ptx.AccessKind.COPY
            | ptx.AccessKind.BULK_LOAD
            | ptx.AccessKind.BULK_STORE
            | ptx.AccessKind.BULK_WRITE
            | ptx.AccessKind.WARPGROUP
        ):
            return frozenset((Ordering.MET,))


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
        self._joined: list[list[Block]] = [[] for _ in self.flow.blocks]
        """The branches whose paths come together first at each block."""
        for block in self.flow.blocks:
            if isinstance(block.last_op, ptx.CondBraOp):
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
            self.has_proxies |= not effects.access.kind.is_generic
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
        value = self.flow.values.get(address)
        if value is None or value.number is None:
            return Barrier(None)
        return Barrier(value.symbols, value.number)

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
        for at, block in enumerate(self.flow.blocks):
            state = self._states[at].behind(self._joined[at])
            active = self.flow.active[block]
            for op in self.flow.control.ops[block]:
                accesses, synchronization = self._accesses.get(op, ()), self.synchronizations.get(op)
                if not accesses and synchronization is None and not state.loading and op not in self._others:
                    continue  # neither on memory nor on registers that come later
                check(op, accesses, synchronization, active, state)
                if accesses or synchronization is not None:
                    self._step(op, active, state)
                    self.latest.update(dict.fromkeys(accesses, op))

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
                    arriving = state.along(block, edge.decision, active, self.flow.along(edge, active))
                    if self._bypasses_synchronization(block, edge):
                        arriving = State(loading=state.loading, waited=state.waited)
                if edge.position not in states:
                    states[edge.position] = arriving.copy()
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
            _synchronize(self, synchronization, active, state)
        for access in self._accesses.get(op, ()):
            if access.kind.completes_at_mbarrier:
                _forget_waits(state, active)
            if access.kind in (ptx.AccessKind.TENSOR_LOAD, ptx.AccessKind.WARPGROUP):
                state.loading[op] = 0
            # What is pending of the same access is ordered no less than this, but for a phase that is waited for.
            before = state.pending.pop(access, NOTHING)
            if is_awaited(before):
                state.pending[self.accesses.earlier(access)] = before
            state.pending[access] = self._from_the_start(access)

    def _from_the_start(self, access: Access) -> OrderingState:
        if access.kind is ptx.AccessKind.BULK_LOAD:
            barrier = Barrier(None) if access.barrier is None else Barrier(*access.barrier)
            return frozenset((Committed(barrier),))
        return OF_WARPS if access.warp_wide else NOTHING


# What synchronising instructions do to what is pending


def _advance(
    analysis: OrderingAnalysis,
    state: State,
    gained: Callable[[Access, OrderingState], frozenset[Ordering] | OrderingState],
    kinds: tuple[ptx.AccessKind, ...] = (),
) -> None:
    """Adds to the ordering of what is pending, of some kinds or of all, and drops what is settled.

    `gained` sees no more of an access than its kind and its threads.
    """
    known: dict[tuple[ptx.AccessKind, ActiveThreads, OrderingState], OrderingState | None] = {}
    for access, ordering in tuple(state.pending.items()):
        if kinds and access.kind not in kinds:
            continue
        key = access.kind, access.active, ordering
        if key not in known:
            after = ordering | gained(access, ordering)
            known[key] = None if after != ordering and _settled(analysis, access.kind, after) else after
        after = known[key]
        if after is None:
            del state.pending[access]
        elif after is not ordering:
            state.pending[access] = after


_KNOWN_COMPLETE = frozenset((Ordering.COMPLETE, Ordering.SENT, Ordering.MET, Ordering.SYNCED))


def _completed(ordering: OrderingState, waited: frozenset[Barrier]) -> frozenset[Ordering]:
    """Returns the events that follow for an access if `waited` have completed their phases."""
    committed = [one.barrier for one in ordering if isinstance(one, Committed)]
    return _KNOWN_COMPLETE if any(one.may_be(other) for one in committed for other in waited) else frozenset()


def _meet(
    analysis: OrderingAnalysis,
    active: ActiveThreads,
    state: State,
    gained: Callable[[Access, OrderingState], frozenset[Ordering]],
) -> None:
    """
    Threads meet: each learns what the others know, and that includes completions that others waited for. Those that
    come to the barrier elsewhere may have waited for anything.
    """
    everyone = active.is_everyone
    waited = frozenset(barrier for barrier, _ in state.waited)
    if not everyone:
        waited |= analysis.waited_by_others(active)
    heard = frozenset[Ordering]() if everyone else JUST_HEARD

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        known = _completed(ordering, waited) | heard
        if Ordering.COMPLETE_THERE in ordering and active.exact and not access.active.mask & ~active.mask:
            known |= JUST_COMPLETE
        return known | gained(access, ordering | known)

    _advance(analysis, state, learned)
    if everyone:
        state.waited = frozenset()


def _warp_barrier(analysis: OrderingAnalysis, active: ActiveThreads, state: State) -> None:
    """The lanes of each warp meet: all learn which mbarriers one has waited for."""
    waiting: dict[Barrier, set[int]] = {}
    for barrier, warp in state.waited:
        waiting.setdefault(barrier, set()).add(warp)
    known = frozenset([barrier for barrier, warps in waiting.items() if warps.issuperset(active.warps)])

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        found = _completed(ordering, known).union(*(_arrivals(ordering, barrier) for barrier in known))
        if known:
            found |= JUST_HEARD
        return found | {Ordering.WARP_SYNCED} if access.kind.is_in_order else found

    _advance(analysis, state, learned)


def _arrivals(ordering: OrderingState, barrier: Barrier) -> frozenset[Ordering]:
    found = [one.gained for one in ordering if isinstance(one, Arrived) and one.barrier.may_be(barrier)]
    return frozenset[Ordering]().union(*found)


def _arrive(analysis: OrderingAnalysis, state: State, active: ActiveThreads, barrier: Barrier, relaxed: bool) -> None:
    """Tells threads that wait at `barrier` of what the arriving ones did, not of others, whom they never met."""

    def arrived(access: Access, ordering: OrderingState) -> OrderingState:
        # A lane arrives for its warp, if that has met since.
        of_warps = Ordering.WARP_SYNCED in ordering or access.kind in OF_WHOLE_WARPS
        arriving = active.mask_of_warps if of_warps else active.mask
        if Ordering.MET not in ordering and access.active.mask & ~arriving:
            return NOTHING
        return frozenset((Arrived(barrier, _gained(access.kind, ordering, relaxed)),))

    _advance(analysis, state, arrived)


def _tensor_commit(analysis: OrderingAnalysis, op: TensorCommit, active: ActiveThreads, state: State) -> None:
    """A commit tracks what its own thread has issued, implies fence::before_thread_sync, and arrives (PTX ISA,
    "tcgen05.commit")."""
    barrier = analysis.barrier(op.barrier)
    kinds = (ptx.AccessKind.TENSOR_A,) if op.reads_a else TENSOR_CORE_KINDS
    _track(analysis, active, state, kinds, frozenset((Ordering.BEFORE, Committed(barrier))))
    _arrive(analysis, state, active, barrier, False)


def _copy_arrive(analysis: OrderingAnalysis, barrier: Barrier, active: ActiveThreads, state: State) -> None:
    """The arrival follows the thread's copies so far, and says nothing of what else it did."""
    _track(analysis, active, state, (ptx.AccessKind.COPY,), frozenset((Committed(barrier),)))
    _forget_waits(state, active)


def _track(
    analysis: OrderingAnalysis,
    active: ActiveThreads,
    state: State,
    kinds: tuple[ptx.AccessKind, ...],
    committed: OrderingState,
) -> None:
    """Accesses of some kinds that these threads may have made are tracked by a barrier."""
    _advance(analysis, state, lambda one, _: NOTHING if is_elsewhere(one.active, active) else committed, kinds)


def _forget_waits(state: State, active: ActiveThreads) -> None:
    """
    Forgets waits of `active`: threads start something new, for which they cannot have waited yet.

    Barriers that only others have waited for stay: roles stand behind each other in the program and run side by side.
    """
    warps = active.warps
    own = {barrier for barrier, warp in state.waited if warp in warps}
    state.waited = frozenset(one for one in state.waited if one[0] not in own)


def _mbarrier_wait(analysis: OrderingAnalysis, barrier: Barrier, active: ActiveThreads, state: State) -> None:
    # Whoever completes this phase may know of other mbarriers, and so of what they track.
    waited = analysis.waited_by_others(active) | {barrier}

    def learned(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        return _arrivals(ordering, barrier) | _completed(ordering, waited) | JUST_HEARD

    _advance(analysis, state, learned)
    state.waited |= {(barrier, warp) for warp in active.warps}


def _mbarrier_inval(state: State, barrier: Barrier) -> None:
    for access in tuple(state.pending):
        if access.kind is ptx.AccessKind.INIT and access.barrier and Barrier(*access.barrier).may_be(barrier):
            del state.pending[access]


def _always(ordering: Ordering) -> Callable[[Access, OrderingState], frozenset[Ordering]]:
    found = frozenset((ordering,))
    return lambda access, before: found


def _proxy_fence(analysis: OrderingAnalysis, op: ptx.ProxyFence, state: State) -> None:
    def fenced(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        # The fence orders what its thread knows to be done.
        pending = access.kind is ptx.AccessKind.COPY and Ordering.COMPLETE not in ordering
        return frozenset() if pending else frozenset((Ordering.FENCED,))

    _advance(analysis, state, fenced, op.kinds)


def _commit_group(analysis: OrderingAnalysis, op: ptx.CommitGroup, state: State) -> None:
    """Counts groups as far as waits tell them apart: all that are behind more than these are alike."""
    most = analysis.most_pending[op.kind]

    def committed(access: Access, ordering: OrderingState) -> OrderingState:
        if Ordering.GROUPED not in ordering:
            return frozenset((Ordering.GROUPED,))
        younger = 1 + sum(isinstance(one, Younger) for one in ordering)
        return frozenset((Younger(younger),)) if younger <= most else NOTHING

    _advance(analysis, state, committed, op.kinds)
    for loading, groups in state.loading.items():
        if groups <= most and analysis.is_of(loading, op.kind):
            state.loading[loading] = groups + 1


def _wait_group(analysis: OrderingAnalysis, op: ptx.WaitGroup, state: State) -> None:
    """All but the last groups are complete: those with as many behind them on every path."""
    last = Ordering.GROUPED if op.pending == 0 else Younger(op.pending)

    def waited(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        return JUST_COMPLETE if last in ordering else frozenset()

    written = [
        access
        for access, ordering in state.pending.items()
        if access.kind is ptx.AccessKind.BULK_WRITE and access.kind in op.kinds and last in ordering
    ]
    _advance(analysis, state, waited, op.kinds)
    state.pending.update((analysis.accesses.completed(access), JUST_FENCED) for access in written)
    done = [one for one, groups in state.loading.items() if groups > op.pending and analysis.is_of(one, op.kind)]
    for loaded in done:
        del state.loading[loaded]


def _wait_all(analysis: OrderingAnalysis, op: WaitAll, state: State) -> None:
    _advance(analysis, state, _always(Ordering.COMPLETE), (op.kind,))
    for loaded in [one for one in state.loading if analysis.is_of(one, op.kind)]:
        del state.loading[loaded]


def _tensor_fence(analysis: OrderingAnalysis, op: TensorFence, state: State) -> None:
    def ordered(access: Access, ordering: OrderingState) -> frozenset[Ordering]:
        return frozenset((Ordering.AFTER,)) if Ordering.SENT in ordering else frozenset()

    if op.after:
        _advance(analysis, state, ordered)
    else:
        _advance(analysis, state, _always(Ordering.BEFORE), (*TENSOR_CORE_KINDS, *OF_WHOLE_WARPS))


def _synchronize(analysis: OrderingAnalysis, op: Synchronization, active: ActiveThreads, state: State) -> None:
    """Does to what is pending what a synchronisation does. The bytes of an mbarrier order nothing."""
    match op:
        case ptx.BlockBarrier():
            _meet(analysis, active, state, lambda access, ordering: _gained(access.kind, ordering))
        case ptx.WarpBarrier():
            _warp_barrier(analysis, active, state)
        case ptx.ClusterArrive():
            _arrive(analysis, state, active, CLUSTER, op.relaxed)
        case ptx.ClusterWait():
            _meet(analysis, active, state, lambda access, ordering: _arrivals(ordering, CLUSTER) | JUST_HEARD)
        case ptx.MbarrierArrive(address):
            _arrive(analysis, state, active, analysis.barrier(address), op.relaxed)
        case ptx.MbarrierWait(address):
            _mbarrier_wait(analysis, analysis.barrier(address), active, state)
        case ptx.MbarrierInvalidate(address):
            _mbarrier_inval(state, analysis.barrier(address))
        case TensorCommit():
            _tensor_commit(analysis, op, active, state)
        case ptx.CopyArrive(address):
            _copy_arrive(analysis, analysis.barrier(address), active, state)
        case ptx.ProxyFence():
            _proxy_fence(analysis, op, state)
        case ptx.CommitGroup():
            _commit_group(analysis, op, state)
        case ptx.WaitGroup():
            _wait_group(analysis, op, state)
        case WaitAll():
            _wait_all(analysis, op, state)
        case TensorFence():
            _tensor_fence(analysis, op, state)
        case _:
            pass
