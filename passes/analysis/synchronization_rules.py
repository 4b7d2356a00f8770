"""Which accesses of a kernel must be complete, visible or ordered before which others."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Block, Operation

from tirx.diagnostics import LocatedError, nearest_location
from tirx.dialects.ptx.core import CondBraOp, EntryOp
from tirx.dialects.ptx.mbarrier import (
    MbarrierArriveExpectTxOp,
    MbarrierArriveOp,
    MbarrierExpectTxOp,
    MbarrierTestWaitParityOp,
    MbarrierWaitParityOp,
)
from tirx.dialects.ptx.tcgen05 import Tcgen05AllocOp, Tcgen05CommitOp, Tcgen05DeallocOp
from tirx.dialects.ptx.tcgen05_mma import Tcgen05MmaBlockScaleOp, Tcgen05MmaOp, Tcgen05MmaWsOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp
from tirx.passes.analysis.memory_effects import Effect, Means, Place
from tirx.passes.analysis.synchronization import Committed, Mark, Notes, State, Synchronization
from tirx.passes.analysis.thread_flow import Decision, Edge, ThreadFlow, Visitors, edges
from tirx.passes.analysis.thread_values import WARP, Threads, ThreadValue, threads_of_warps

_ORDER = 'PTX ISA, "tcgen05 Memory Consistency Model"'
_PROXY = 'PTX ISA, "Async Proxy"'

_MbarrierUser: TypeAlias = (
    MbarrierArriveOp
    | MbarrierArriveExpectTxOp
    | MbarrierExpectTxOp
    | MbarrierTestWaitParityOp
    | MbarrierWaitParityOp
    | Tcgen05CommitOp
    | CpAsyncBulkTensorLoadOp
)
_ASYNCHRONOUS_USERS = (Tcgen05CommitOp, CpAsyncBulkTensorLoadOp)

_MMA = (Tcgen05MmaOp, Tcgen05MmaBlockScaleOp, Tcgen05MmaWsOp)


def check_synchronization(entry: EntryOp) -> None:
    """
    Raises LocatedError, with the fix, at the first access that a fence, wait, commit or barrier is missing before.

    What may be wrong, but is not for sure, is let through: addresses that depend on loads, on loop counters or on
    different allocations' addresses, threads chosen by loaded values, blocks of more than one dimension.
    """
    if not entry.body.blocks or entry.body.blocks[0].first_op is None:
        return
    analysis = Synchronization(entry)
    checker = _Checker(analysis)
    _check_deallocations(analysis.flow)
    checker.check_announced()
    analysis.visit(checker.check)


def _missing(what: str, effect: Effect, op: Operation, use: str, fix: str, source: str) -> LocatedError:
    location = nearest_location(effect.op)
    if isinstance(location, FileLineColLoc) and location != nearest_location(op):
        source = f"'{effect.op.name}' in line {location.line.data}; {source}"
    return LocatedError(op, f"expected {what} between '{effect.op.name}' and {use}, got none; {fix} ({source})")


class _Checker:
    def __init__(self, analysis: Synchronization):
        self._analysis = analysis

    def check(self, op: Operation, effect: Effect | None, visitors: Visitors, state: State) -> None:
        """Raises LocatedError if something pending is in the way of `op`."""
        if not state.pending:
            return
        self._check_registers(op, state)
        if effect is not None:
            for before, notes in state.pending.items():
                if effect.means in _TENSOR and before.means in _TENSOR:
                    _check_tensor(before, notes, effect)
                if effect.places and before.places:
                    _check_shared(before, notes, effect)
        if isinstance(op, Tcgen05DeallocOp):
            self._check_dealloc(op, visitors, state)
        if isinstance(op, _MbarrierUser):
            self._check_mbarrier(op, visitors, state)
        if isinstance(op, Tcgen05CommitOp):
            self._check_phase(op, visitors, state)

    def check_announced(self) -> None:
        """A wait for a bulk copy waits for its bytes only if they are announced."""
        entry = self._analysis.entry
        if entry.cluster_size > 1:
            return
        announced = [
            self._analysis.barrier(op.barrier)
            for op in entry.body.walk()
            if isinstance(op, MbarrierArriveExpectTxOp | MbarrierExpectTxOp)
        ]
        for op in entry.body.walk():
            if not isinstance(op, CpAsyncBulkTensorLoadOp) or (
                entry.cluster is None and op.space.data != "shared::cta"
            ):
                continue  # a launch may make clusters, whose other blocks announce
            if not any(self._analysis.barrier(op.barrier).may_be(one) for one in announced):
                raise LocatedError(
                    op,
                    "expected mbarrier.expect_tx of the bytes of this copy on its mbarrier, got none: its phase may "
                    "complete before the bytes arrive; put ptx.mbarrier.arrive.expect_tx before it "
                    '(PTX ISA, "Tracking asynchronous operations by the mbarrier object")',
                )

    def _check_registers(self, op: Operation, state: State) -> None:
        """
        A use before the wait would get the value (PTX ISA 9.7.16.6.4.5, of true register dependencies), but would
        order no access to memory; here the wait is always asked for.
        """
        for operand in op.operands:
            before = self._analysis.loaded.get(operand)
            if before is None or before.means is not Means.TENSOR_LOAD or before not in state.pending:
                continue
            if Mark.COMPLETE not in state.pending[before]:
                raise _incomplete(before, op, "the use of its registers")

    def _check_dealloc(self, op: Tcgen05DeallocOp, visitors: Visitors, state: State) -> None:
        base = self._analysis.flow.values.get(op.taddr)
        if base is None or base.is_known:
            return
        use = "the deallocation of its tensor memory"
        for before, notes in state.pending.items():
            if all(place.origin != base.symbols for place in before.tensor_places):
                continue
            if Mark.COMPLETE not in notes:
                raise _incomplete(before, op, use)
            if Mark.SYNCED not in notes and _is_of_another_warp(before.visitors, visitors):
                raise _missing("a barrier", before, op, use, "put ptx.bar.sync 0 before it, for all warps", _ORDER)

    def _check_mbarrier(self, op: _MbarrierUser, visitors: Visitors, state: State) -> None:
        value = self._analysis.flow.values.get(op.barrier)
        if value is None:
            return
        place = Place.linear(value, 1)
        for before, notes in state.pending.items():
            if (
                before.means is not Means.INIT
                or before.writes[0].meets(before.threads, place, visitors.threads) is None
            ):
                continue
            if isinstance(op, _ASYNCHRONOUS_USERS) and Mark.FENCED not in notes:
                raise _missing(
                    "fence.mbarrier_init",
                    before,
                    op,
                    "the use of the mbarrier by the async proxy",
                    "put ptx.fence.mbarrier_init behind the initialisation",
                    'PTX ISA, "membar/fence: .mbarrier_init"',
                )
            strangers = visitors.threads & ~before.threads
            if Mark.WARP_SYNCED in notes:
                strangers &= ~threads_of_warps(before.threads)
            if Mark.SYNCED not in notes and before.visitors.exact and strangers.any():
                raise _missing(
                    "a barrier",
                    before,
                    op,
                    "the use of the mbarrier by other threads",
                    "put ptx.bar.sync 0 behind the initialisation",
                    'PTX ISA, "mbarrier.init"',
                )

    def _check_phase(self, op: Tcgen05CommitOp, visitors: Visitors, state: State) -> None:
        """A wait tells phases apart by their parity only, so that there may be one more to wait for, not two."""
        barrier = self._analysis.barrier(op.barrier)
        if barrier.origin is None or self._analysis.phases.get(barrier) != 1:
            return
        for before, notes in state.pending.items():
            if Committed(barrier) in notes and Mark.COMPLETE not in notes and Mark.HEARD not in notes:
                raise _missing(
                    "a wait on the mbarrier of its commit",
                    before,
                    op,
                    "the next commit to that mbarrier",
                    "put ptx.mbarrier.wait_parity before this",
                    'PTX ISA, "Phase of the mbarrier object"',
                )


_TENSOR = (Means.TENSOR_CORE, Means.TENSOR_LOAD, Means.TENSOR_STORE)

_IN_ORDER = (Means.GENERIC, Means.GLOBAL)

_FIXES = {
    Means.TENSOR_LOAD: ("tcgen05.wait::ld", "put ptx.tcgen05.wait.ld before it"),
    Means.TENSOR_STORE: ("tcgen05.wait::st", "put ptx.tcgen05.wait.st before it"),
    Means.TENSOR_CORE: (
        "a tcgen05.commit and a wait on its mbarrier",
        "put ptx.tcgen05.commit behind it and ptx.mbarrier.wait_parity before this",
    ),
    Means.BULK_LOAD: ("a wait on its mbarrier", "put ptx.mbarrier.wait_parity before this"),
    Means.BULK_STORE: (
        "cp.async.bulk.commit_group and wait_group.read",
        "put ptx.cp.async.bulk.wait_group 0 read before this",
    ),
}


def _incomplete(before: Effect, op: Operation, use: str) -> LocatedError:
    what, fix = _FIXES[before.means]
    source = _PROXY if before.means in (Means.BULK_LOAD, Means.BULK_STORE) else _ORDER
    return _missing(what, before, op, use, fix, source)


def _is_of_another_warp(before: Visitors, now: Visitors) -> bool:
    """Whether some warp for sure did what only others go on from."""
    return before.exact and now.exact and bool((before.threads & ~threads_of_warps(now.threads)).any())


def _meet(before: tuple[Place, ...], own: Threads, after: tuple[Place, ...], others: Threads) -> Threads | None:
    """[t, u]: thread t of `own` touches some of `before` where thread u of `others` touches some of `after`."""
    found: Threads | None = None
    for one in before:
        for other in after:
            if (met := one.meets(own, other, others)) is not None:
                found = met if found is None else found | met
    return found


def _check_tensor(before: Effect, notes: Notes, now: Effect) -> None:
    """Tensor memory: an asynchronous access behind another to the same cells, one of them a write."""
    use = "the access to the same tensor memory"
    written = _meet(before.tensor_writes, before.threads, now.tensor_places, now.threads)
    met = written
    if met is None:
        met = _meet(before.tensor_reads, before.threads, now.tensor_writes, now.threads)
    if met is None:
        return
    match before.means, now.means:
        case Means.TENSOR_CORE, Means.TENSOR_CORE:
            if Mark.COMPLETE not in notes and not _is_pipelined(before, now):
                raise _incomplete(before, now.op, use)
            other = before.visitors.exact and now.visitors.exact and not (before.threads & now.threads).any()
        case (Means.TENSOR_STORE, Means.TENSOR_STORE) | (Means.TENSOR_LOAD, Means.TENSOR_LOAD):
            return  # of one warp, since no other reaches these lanes
        case (Means.TENSOR_LOAD | Means.TENSOR_STORE, Means.TENSOR_CORE):
            if Mark.COMPLETE not in notes:
                raise _incomplete(before, now.op, use)
            touching = Visitors(before.threads & met.any(axis=1), before.visitors.unknown, before.visitors.decisions)
            other = _is_of_another_warp(touching, now.visitors)
        case (Means.TENSOR_CORE, _):
            if Mark.COMPLETE not in notes:
                raise _incomplete(before, now.op, use)
            other = True
        case _:
            if Mark.COMPLETE not in notes:
                raise _incomplete(before, now.op, use)
            return
    if other and Mark.AFTER not in notes:
        if Mark.SENT in notes:
            raise _missing(
                "tcgen05.fence::after_thread_sync",
                before,
                now.op,
                use,
                "put ptx.tcgen05.fence.after_thread_sync behind the barrier or wait before it",
                _ORDER,
            )
        if Mark.BEFORE in notes:
            raise _missing(
                "a barrier",
                before,
                now.op,
                f"{use} by another thread",
                "put ptx.bar.sync 0 before it, behind ptx.tcgen05.fence.before_thread_sync",
                _ORDER,
            )
        raise _missing(
            "tcgen05.fence::before_thread_sync",
            before,
            now.op,
            f"{use} by another thread",
            "put ptx.tcgen05.fence.before_thread_sync before the barrier between them",
            _ORDER,
        )


def _is_pipelined(before: Effect, now: Effect) -> bool:
    """Whether the tensor core does two instructions of one thread in order (PTX ISA 9.7.16.6.2)."""
    if not isinstance(before.op, _MMA):
        return True
    if not isinstance(now.op, _MMA):
        # mma before shift is in the list. mma before cp is not, but CUTLASS overwrites scale factors without a wait.
        return True
    if _meet(before.tensor_writes, before.threads, now.tensor_reads, now.threads) is not None:
        return False
    return before.shape == now.shape or None in before.shape + now.shape


def _check_shared(before: Effect, notes: Notes, now: Effect) -> None:
    """Shared memory: an access behind another to the same bytes, one of them a write."""
    if before.means is Means.INIT or now.means is Means.INIT:
        return
    if before.means in _IN_ORDER and now.means in _IN_ORDER and Mark.SYNCED in notes:
        return
    met = _meet(before.writes, before.threads, now.reads + now.writes, now.threads)
    if met is None:
        met = _meet(before.reads, before.threads, now.writes, now.threads)
    if met is None:
        return
    if before.means not in _IN_ORDER:
        if before.means is now.means:
            return
        if Mark.COMPLETE not in notes:
            what = "write" if now.writes else "read"
            raise _incomplete(before, now.op, f"this {what} of the same shared memory")
        return
    if now.means in _IN_ORDER:
        if before.op is now.op:
            return
        np.fill_diagonal(met, False)
    elif before.writes and now.reads and Mark.FENCED not in notes:
        raise _missing(
            "fence.proxy.async",
            before,
            now.op,
            "this read through the async proxy",
            'put ptx.fence.proxy.async "shared::cta" behind the write, before the barrier',
            _PROXY,
        )
    else:
        # One of those that issue it, or all of them: whoever wrote may be the one.
        met &= ~now.threads[:, None]
    if Mark.WARP_SYNCED in notes:
        warps = np.arange(len(now.threads)) // WARP
        met &= warps[:, None] != warps[None, :]
    if Mark.SYNCED not in notes and before.visitors.exact and now.visitors.exact and met.any():
        where = "global" if now.means is Means.GLOBAL else "shared"
        writer, reader = (int(x) for x in np.argwhere(met)[0])
        raise _missing(
            "a barrier",
            before,
            now.op,
            f"this access to the same {where} memory by another thread ({reader} behind {writer})",
            "put ptx.bar.sync 0 before it",
            'PTX ISA, "Memory Consistency Model"',
        )


def _check_deallocations(flow: ThreadFlow) -> None:
    """All tensor memory is given back on every way to the end (PTX ISA, "tcgen05.alloc, tcgen05.dealloc").

    Where threads go different ways, one of them is enough. That some way gives it back is for the printer to check.
    """
    if not any(isinstance(op, Tcgen05DeallocOp) for op in flow.entry.body.walk()):
        return
    for block in flow.blocks:
        for alloc in block.ops:
            if not isinstance(alloc, Tcgen05AllocOp):
                continue
            frees = [op for other in flow.blocks for op in other.ops if _may_free(op, alloc, flow)]
            if any(op.parent_block() is block and alloc.is_before_in_block(op) for op in frees):
                continue
            targets = {other for op in frees if (other := op.parent_block()) is not None}
            ways = _Ways(flow, flow.visitors[block].decisions)
            if not ways.come_to(block, ways.always_reached(targets)):
                raise LocatedError(
                    alloc,
                    "expected a tcgen05.dealloc of what is allocated on every way to the end of the kernel, got a way "
                    "without; the columns would stay taken on the multiprocessor",
                )


def _may_free(op: Operation, alloc: Tcgen05AllocOp, flow: ThreadFlow) -> bool:
    if not isinstance(op, Tcgen05DeallocOp):
        return False
    match flow.values.get(op.taddr):
        case ThreadValue(symbols=(symbol,)) if symbol.kind == "tensor":
            return symbol.key is alloc.dst.owner
        case _:
            return True


class _Ways:
    """The ways through a kernel after some decisions have been taken."""

    def __init__(self, flow: ThreadFlow, decisions: frozenset[Decision]):
        self._flow = flow
        self._decisions = decisions

    def always_reached(self, targets: set[Block]) -> dict[Block, bool]:
        """For every block, whether all ways from its start come to one of `targets`, or some thread's way does."""
        reached = dict.fromkeys(self._flow.blocks, True)
        changed = True
        while changed:
            changed = False
            for block in reversed(self._flow.blocks):
                found = block in targets or self.come_to(block, reached)
                if found != reached[block]:
                    reached[block], changed = found, True
        return reached

    def come_to(self, block: Block, reached: dict[Block, bool]) -> bool:
        """Whether all ways from the end of a block go on to blocks that are `reached`."""
        following = [reached[edge.successor] for edge in edges(block) if not self._is_excluded(edge)]
        branch = block.last_op
        if isinstance(branch, CondBraOp) and self._flow.is_split(branch.condition):
            return any(following)
        return bool(following) and all(following)

    def _is_excluded(self, edge: Edge) -> bool:
        return edge.decision is not None and (edge.decision[0], not edge.decision[1]) in self._decisions
