"""Checks that accesses of a kernel are complete, visible and ordered before others that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from tirx.diagnostics import LocatedError, in_line, nearest_location
from tirx.dialects.definition import item
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import CondBraOp, EntryOp
from tirx.dialects.ptx.effects import COMPLETIONS, AccessKind, Synchronization, TensorCommit
from tirx.dialects.ptx.mbarrier import MbarrierInitOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp
from tirx.dialects.tcgen05 import AllocOp, DeallocOp
from tirx.dialects.wgmma import FenceOp, MmaAsyncOp
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.arrays import BoolArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.counters import Counters
from tirx.passes.checks.mbarrier_phases import check_phases
from tirx.passes.checks.memory_accesses import Access, Footprint, meet
from tirx.passes.checks.operand_patterns import warn_of_patterns
from tirx.passes.checks.orderings import OF_WHOLE_WARPS, Barrier, Committed, Ordering, OrderingState, State
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.checks.thread_flow import ActiveThreads, Decision, ThreadFlow
from tirx.passes.checks.thread_values import ThreadValue, mask_of
from tirx.passes.ir.control_flow import ControlFlow
from tirx.passes.ir.in_place import may_overwrite, passed_values, shared_registers
from tirx.rules import AllocationError, SynchronizationError

_SOURCE = 'PTX ISA, "wgmma.fence"'
_FIX = "put wgmma.fence before it"


def check_fences(control: ControlFlow, shared: Mapping[SSAValue, SSAValue]) -> None:
    """
    Raises LocatedError at a product whose registers some path touches without a wgmma.fence behind it.

    The first product needs one, and each whose accumulators or A other instructions have written; accumulators of a
    product of the same shape need none. `shared`: values with the register of another one (`shared_registers`).
    """
    for op in control.of_type(MmaAsyncOp):
        if (touching := _unfenced(op, control, shared)) is not None:
            what = "the start of the kernel" if isinstance(touching, EntryOp) else f"'{touching.name}'"
            raise SynchronizationError(
                op,
                f"expected wgmma.fence between {what}, which comes before or writes registers of this product, and "
                f"'{op.name}', found none; {_FIX} ({_SOURCE})",
            )


def _unfenced(op: MmaAsyncOp, flow: ControlFlow, shared: Mapping[SSAValue, SSAValue]) -> Operation | None:
    """Returns what touches registers of `op`, or the entry, where a path from there to `op` has no fence."""
    registers = {*op.c, *(() if op.a_is_descriptor else op.a)}
    owners = {register.owner for register in registers}
    writers = {owner for owner in owners if isinstance(owner, Operation) and not _is_alike(owner, op)}
    pending: list[tuple[Operation | None, Block | None]] = [(op.prev_op, op.parent)]
    seen: set[Block] = set()
    while pending:
        current, block = pending.pop()
        while current is not None and not isinstance(current, FenceOp):
            if current in writers:
                return current
            current = current.prev_op
        if current is not None or block is None:
            continue
        before = flow.predecessors(block)
        if not before:
            return block.parent_op()
        own = {argument for argument in block.args if argument in registers}
        for source in before:
            if (branch := source.last_op) is not None and own:
                passed = passed_values(branch)
                if any(one in own and shared.get(one, one) is not shared.get(other, other) for one, other in passed):
                    return branch
            if source not in seen:
                seen.add(source)
                pending.append((source.last_op, source))
    return None


def _is_alike(other: Operation, op: MmaAsyncOp) -> bool:
    """Returns True for a product of the same shape, whose accumulators need no fence."""
    return isinstance(other, MmaAsyncOp) and other.form.shape == op.form.shape


_ORDER = 'PTX ISA, "tcgen05 Memory Consistency Model"'
_PROXY = 'PTX ISA, "Async Proxy"'


_OpT = TypeVar("_OpT", bound=Operation)


def check_synchronization(entry: EntryOp) -> None:
    """
    Raises LocatedError, with the fix, at the first access that a fence, wait, commit or barrier is missing before.

    What is wrong only perhaps is let through: addresses that depend on loads, on loop counters or on
    different allocations' addresses, threads chosen by loaded values, blocks of more than one dimension.
    """
    if not entry.body.blocks or entry.body.blocks[0].first_op is None:
        return
    control = ControlFlow(entry)
    shared = shared_registers(entry) if any(map(may_overwrite, control.kinds)) else {}
    check_fences(control, shared)
    analysis = OrderingAnalysis(control)
    checker = _Checker(analysis, shared)
    _check_deallocations(analysis.flow)
    checker.check_announced()
    analysis.visit(checker.check)
    counters = Counters(analysis.flow.values)
    checker.check_initialised(counters)
    check_phases(analysis, counters)
    warn_of_patterns(analysis, counters)


class _Checker:
    def __init__(self, analysis: OrderingAnalysis, shared: Mapping[SSAValue, SSAValue]):
        self._analysis = analysis
        self._shared = shared
        self._writers: dict[SSAValue, list[Operation]] = {}
        """Register -> the instructions that write it asynchronously."""
        self._products: dict[SSAValue, list[Operation]] = {}
        """Register -> the products of warpgroups that read A from it or write it."""
        self._alike: dict[tuple[bool, tuple[SSAValue, ...]], list[Operation]] = {}
        """Registers of which no other one is in either -> the instructions of all of them."""
        for op in analysis.asynchronous:
            self._add(self._writers, op, op.results)
            if isinstance(op, MmaAsyncOp):
                self._add(self._products, op, (*op.d, *(() if op.a_is_descriptor else op.a)))
        roots = self._writers.keys() | self._products.keys()
        self._watched = {*roots, *[value for value, root in shared.items() if root in roots]}
        """All values in these registers."""

    def _add(self, found: dict[SSAValue, list[Operation]], op: Operation, values: Sequence[SSAValue]) -> None:
        """Adds an instruction to those of the registers of values."""
        registers = tuple(map(self._shared.get, values, values)) if self._shared else tuple(values)
        if (own := self._alike.get(key := (found is self._writers, registers))) is not None:
            own.append(op)
        elif found.keys().isdisjoint(registers):
            own = self._alike[key] = [op]
            found.update(dict.fromkeys(registers, own))
        else:
            self._alike.clear()
            found.update([(register, [*found.get(register, ()), op]) for register in dict.fromkeys(registers)])

    def _register(self, value: SSAValue) -> SSAValue:
        return self._shared.get(value, value)

    def check(
        self,
        op: Operation,
        accesses: Sequence[Access],
        synchronization: Synchronization | None,
        active: ActiveThreads,
        state: State,
    ) -> None:
        """Raises LocatedError if something pending is in the way of `op`."""
        if state.loading:
            self._check_registers(op, state)
        if not state.pending:
            return
        for access in accesses:
            for before in self._analysis.accesses.near(access, state.pending.keys()):
                ordering = state.pending[before]
                if access.kind.is_tcgen05 and before.kind.is_tcgen05:
                    self._check_tensor(before, ordering, op, access)
                self._check_shared(before, ordering, op, access)
        if (mbarrier := self._analysis.mbarriers.get(op)) is not None:
            self._check_mbarrier(op, mbarrier, active, state)
        if isinstance(synchronization, TensorCommit):
            self._check_phase(op, self._analysis.barrier(synchronization.barrier), state)
        if isinstance(op, DeallocOp):
            self._check_dealloc(op, active, state)

    def _missing(self, what: str, before: Access, op: Operation, use: str, fix: str, source: str) -> LocatedError:
        earlier = self._analysis.latest.get(before, before.op)
        return _missing(what, earlier, op, use, fix, source)

    def _incomplete(self, before: Access, op: Operation, use: str) -> LocatedError:
        completion = COMPLETIONS[before.kind]
        source = _ORDER if before.kind.is_tcgen05 else _PROXY
        return self._missing(completion.by, before, op, use, completion.fix, source)

    def check_initialised(self, counters: Counters) -> None:
        """Checks that each mbarrier in use is initialised somewhere, the slots of rings one by one."""
        initialised = set[tuple[object, int]]()
        for op in self._analysis.flow.control.of_type(MbarrierInitOp):
            if (taken := counters.taken(op.barrier)) is None:
                return
            initialised.update(taken.places)
        for op, address in self._analysis.mbarriers.items():
            taken = counters.taken(address)
            if taken is None or taken.allocation is None:
                continue
            missing = next((place for place in taken.places if place not in initialised), None)
            if missing is not None:
                raise SynchronizationError(
                    op,
                    f"expected mbarrier.init of the mbarrier at byte {missing[1]} of '{taken.allocation.symbol.data}', "
                    "found none; put ptx.mbarrier.init at the start of the kernel, and ptx.bar.sync 0 behind it "
                    '(PTX ISA, "mbarrier.init")',
                )

    def check_announced(self) -> None:
        """A wait for a bulk copy waits for its bytes only if they are announced."""
        entry = self._analysis.entry
        if entry.cluster_size > 1:
            return
        announced = self._analysis.announced
        for op in self._analysis.flow.control.of_type(CpAsyncBulkTensorLoadOp):
            if entry.cluster is None and op.space.data != "shared::cta":
                continue  # a launch may make clusters, whose other blocks announce
            if not any(self._analysis.barrier(op.barrier).may_be(one) for one in announced):
                raise SynchronizationError(
                    op,
                    "expected mbarrier.expect_tx of the bytes of this copy on its mbarrier, found none: its phase may "
                    "complete before the bytes arrive; put ptx.mbarrier.arrive.expect_tx before it "
                    '(PTX ISA, "Tracking asynchronous operations by the mbarrier object")',
                )

    def _check_registers(self, op: Operation, state: State) -> None:
        """
        A use before the wait would get the value (PTX ISA 9.7.16.6.4.5, of true register dependencies), but would
        order no access to memory; here the wait is always asked for. The products of wgmma may add to what products
        before them have not finished (PTX ISA, "wgmma.mma_async").
        """
        is_free, get = self._watched.isdisjoint, self._shared.get
        if is_free(operands_of(op)) and is_free(op.results) and isinstance(op, PTXInstruction):
            return
        if isinstance(op, PTXInstruction):
            # What products write after each other they write in order.
            written = () if isinstance(op, MmaAsyncOp) else op.results
            kept = {item(operands_of(op), index) for _, index in op.in_place()}
        else:
            passed = passed_values(op)
            written = [one for one, other in passed if get(one, one) is not get(other, other)]
            kept = {other for one, other in passed if get(one, one) is get(other, other)}
        for value in written if self._products else ():
            users = self._products.get(self._register(value), ())
            if (product := next((one for one in users if one in state.loading), None)) is not None:
                completion = COMPLETIONS[AccessKind.WARPGROUP]
                use = "the next value in its registers"
                raise _missing(completion.by, product, op, use, completion.fix, 'PTX ISA, "wgmma.wait_group"')
        for value in operands_of(op):
            if value not in self._watched or value in kept:
                continue
            writers = self._writers.get(get(value, value), ())
            if (writer := next((one for one in writers if one in state.loading), None)) is not None:
                warpgroup = self._analysis.is_of(writer, AccessKind.WARPGROUP)
                completion = COMPLETIONS[AccessKind.WARPGROUP if warpgroup else AccessKind.TENSOR_LOAD]
                use = "the use of its registers"
                source = 'PTX ISA, "wgmma.wait_group"' if warpgroup else _ORDER
                raise _missing(completion.by, writer, op, use, completion.fix, source)

    def _check_dealloc(self, op: DeallocOp, active: ActiveThreads, state: State) -> None:
        base = self._analysis.flow.values.get(op.address)
        if base is None or base.is_known:
            return
        use = "the deallocation of its tensor memory"
        for before, ordering in state.pending.items():
            if not any(f.is_tensor and f.origin == base.symbols for f in before.footprints):
                continue
            if Ordering.COMPLETE not in ordering:
                raise self._incomplete(before, op, use)
            if Ordering.SYNCED not in ordering and _is_of_another_warp(before.active, active):
                raise self._missing("a barrier", before, op, use, "put ptx.bar.sync 0 before it, for all warps", _ORDER)

    def _check_mbarrier(self, op: Operation, address: SSAValue, active: ActiveThreads, state: State) -> None:
        """An mbarrier is used behind its initialisation: by instructions, and by what they start."""
        initialised = [item for item in state.pending.items() if item[0].kind is AccessKind.INIT]
        value = self._analysis.flow.values.get(address)
        if value is None or not initialised:
            return
        used = Footprint.of_bytes(value, 1)
        for before, ordering in initialised:
            if before.writes[0].meets(before.threads, used, active.threads) is None:
                continue
            if self._analysis.uses_async_proxy(op) and Ordering.FENCED not in ordering:
                raise self._missing(
                    "fence.mbarrier_init",
                    before,
                    op,
                    "the use of the mbarrier by the async proxy",
                    "put ptx.fence.mbarrier_init behind the initialisation",
                    'PTX ISA, "membar/fence: .mbarrier_init"',
                )
            strangers = active.mask & ~before.active.mask
            if Ordering.WARP_SYNCED in ordering:
                strangers &= ~before.active.mask_of_warps
            if Ordering.SYNCED not in ordering and before.active.exact and strangers:
                raise self._missing(
                    "a barrier",
                    before,
                    op,
                    "the use of the mbarrier by other threads",
                    "put ptx.bar.sync 0 behind the initialisation",
                    'PTX ISA, "mbarrier.init"',
                )

    def _check_phase(self, op: Operation, barrier: Barrier, state: State) -> None:
        """A wait tells phases apart by their parity only, so that there may be one more to wait for, not two."""
        if barrier.origin is None or self._analysis.phases.get(barrier) != 1:
            return
        for before, ordering in state.pending.items():
            if Committed(barrier) in ordering and Ordering.COMPLETE not in ordering and Ordering.HEARD not in ordering:
                raise self._missing(
                    "a wait on the mbarrier of its commit",
                    before,
                    op,
                    "the next commit to that mbarrier",
                    "put ptx.mbarrier.wait_parity before this",
                    'PTX ISA, "Phase of the mbarrier object"',
                )

    def _check_tensor(self, before: Access, ordering: OrderingState, op: Operation, now: Access) -> None:
        """Tensor memory: an asynchronous access behind another to the same cells, one of them a write."""
        if Ordering.COMPLETE in ordering and Ordering.AFTER in ordering:
            return
        use = "the access to the same tensor memory"
        met = self._analysis.accesses.met(before, now, tensor=True)
        if met is None:
            return
        kinds = before.kind, now.kind
        if kinds in ((kind, kind) for kind in OF_WHOLE_WARPS):
            return  # of one warp, since no other reaches these lanes
        if Ordering.COMPLETE not in ordering and not (before.kind is now.kind and _is_pipelined(before, now)):
            raise self._incomplete(before, op, use)
        match kinds:
            case AccessKind.TENSOR_CORE, AccessKind.TENSOR_CORE:
                other = before.active.exact and now.active.exact and not before.active.mask & now.active.mask
            case AccessKind.TENSOR_CORE, _:
                other = True
            case _, AccessKind.TENSOR_CORE:
                touching = replace(before.active, mask=before.active.mask & mask_of(np.asarray(met.any(axis=1))))
                other = _is_of_another_warp(touching, now.active)
            case _:
                other = False
        if not other or Ordering.AFTER in ordering:
            return
        if Ordering.SENT in ordering:
            what = "tcgen05.fence::after_thread_sync"
            fix = "put tcgen05.fence after_thread_sync behind the barrier or wait before it"
            raise self._missing(what, before, op, use, fix, _ORDER)
        if Ordering.BEFORE in ordering:
            what = "a barrier"
            fix = "put ptx.bar.sync 0 before it, behind tcgen05.fence before_thread_sync"
        else:
            what = "tcgen05.fence::before_thread_sync"
            fix = "put tcgen05.fence before_thread_sync before the barrier between them"
        raise self._missing(what, before, op, f"{use} by another thread", fix, _ORDER)

    def _check_shared(self, before: Access, ordering: OrderingState, op: Operation, now: Access) -> None:
        """Shared and global memory: an access behind another to the same bytes, one of them a write."""
        # A complete cp.async is a write of its thread.
        in_order = before.kind.is_in_order or (before.kind is AccessKind.COPY and Ordering.COMPLETE in ordering)
        if before.atomic and now.atomic:
            return
        if AccessKind.INIT in (before.kind, now.kind) or _is_ordered(before, ordering, now, in_order):
            return
        met = self._analysis.accesses.met(before, now, tensor=False)
        if met is None:
            return
        if not in_order:
            where = _memory_of(before, now)
            loads = now.kind is AccessKind.BULK_LOAD and where == "global"
            what = "write" if now.writes and not loads else "read"
            raise self._incomplete(before, op, f"this {what} of the same {where} memory")
        if before.writes and _goes_past(before, now) and not now.kind.is_generic and Ordering.FENCED not in ordering:
            raise self._missing(
                "fence.proxy.async",
                before,
                op,
                f"this {'read' if now.reads else 'write'} through the async proxy",
                f'put ptx.fence.proxy.async "{_FENCES[_memory_of(before, now)]}" behind the write, before the barrier',
                _PROXY,
            )
        self._check_threads(before, ordering, op, now, met)

    def _check_threads(
        self, before: Access, ordering: OrderingState, op: Operation, now: Access, met: BoolArray
    ) -> None:
        """A barrier stands between accesses of two threads; `met` are the pairs (before, now) with bytes in common."""
        if not before.active.exact or not now.active.exact or (before is now and now.kind.is_generic):
            return
        if now.kind.is_generic:
            met = met & ~np.eye(len(met), dtype=np.bool_)
        elif now.kind is not AccessKind.WARPGROUP:
            # One of those that issue it, or all of them: whoever wrote may be the one.
            met = met & ~now.threads[:, None]
        if Ordering.WARP_SYNCED in ordering or now.kind is AccessKind.WARPGROUP:  # which each warp executes for itself
            warps = np.arange(len(now.threads)) // WARP_SIZE
            met = met & (warps[:, None] != warps[None, :])
        if Ordering.SYNCED not in ordering and met.any():
            where = _memory_of(before, now)
            writer, reader = (int(x) for x in np.argwhere(met)[0])
            raise self._missing(
                "a barrier",
                before,
                op,
                f"this access to the same {where} memory by another thread ({reader} behind {writer})",
                "put ptx.bar.sync 0 before it",
                'PTX ISA, "Memory Consistency Model"',
            )


def _is_ordered(before: Access, ordering: OrderingState, now: Access, in_order: bool) -> bool:
    """Returns True if what stands between two accesses orders them for whatever threads."""
    if in_order:
        return Ordering.SYNCED in ordering and (now.kind.is_generic or Ordering.FENCED in ordering)
    own = Ordering.COMPLETE_THERE in ordering and not now.active.mask & ~before.active.mask
    if Ordering.COMPLETE in ordering or (own and before.kind is AccessKind.BULK_WRITE):
        return True
    # Reductions combine each element by itself.
    reduces = before.kind is not AccessKind.BULK_WRITE or bool(before.reads and now.reads)
    return before.kind is now.kind and reduces


_FENCES = {"shared": "shared::cta", "global": "global"}
"""Memory -> the space of the proxy fence that orders it."""


def _memory_of(before: Access, now: Access) -> str:
    """The memory that both accesses touch; bulk copies touch two."""
    return "global" if {before.kind, now.kind} & {AccessKind.GLOBAL, AccessKind.BULK_WRITE} else "shared"


def _goes_past(before: Access, now: Access) -> bool:
    """Returns True if an access through the async proxy may miss what a thread wrote: a read, or a store to global."""
    if _memory_of(before, now) == "global":
        return now.kind in (AccessKind.BULK_LOAD, AccessKind.BULK_WRITE)
    return bool(now.reads) and now.kind is not AccessKind.BULK_LOAD


def _missing(what: str, before: Operation, op: Operation, use: str, fix: str, source: str) -> LocatedError:
    if (where := in_line(before)) and nearest_location(before) != nearest_location(op):
        source = f"'{before.name}'{where}; {source}"
    return SynchronizationError(op, f"expected {what} between '{before.name}' and {use}, found none; {fix} ({source})")


def _is_of_another_warp(before: ActiveThreads, now: ActiveThreads) -> bool:
    """Returns True if some warp for certain did what only others go on from."""
    return before.exact and now.exact and before.mask & ~now.mask_of_warps != 0


def _is_pipelined(before: Access, now: Access) -> bool:
    """Returns True if the tensor core does two instructions of one thread in order (PTX ISA 9.7.16.6.2)."""
    # mma before shift is in the list. mma before cp is not, but CUTLASS overwrites scale factors without a wait.
    if before.shape is None or now.shape is None:
        return True
    if meet(before.writes, before.threads, now.reads, now.threads) is not None:
        return False
    return before.shape == now.shape or None in before.shape + now.shape


def _check_deallocations(flow: ThreadFlow) -> None:
    """All tensor memory is given back on every path to the end (PTX ISA, "tcgen05.alloc, tcgen05.dealloc").

    Where threads take different paths, one of them is enough. That some path gives it back is for the printer to check.
    """
    deallocations = _reached(flow, DeallocOp)
    if not deallocations:
        return
    for block, alloc in _reached(flow, AllocOp):
        frees = [(other, op) for other, op in deallocations if _may_free(op, alloc, flow)]
        if any(other is block and alloc.is_before_in_block(op) for other, op in frees):
            continue
        paths = _Paths(flow, flow.active[block].decisions)
        if not paths.come_to(block, paths.always_reached({other for other, _ in frees})):
            raise AllocationError(
                alloc,
                "expected a tcgen05.dealloc of what is allocated on every path to the end of the kernel, found a path "
                "without; the columns would stay taken on the multiprocessor",
            )


def _reached(flow: ThreadFlow, kind: type[_OpT]) -> list[tuple[Block, _OpT]]:
    """The operations of a class that the start of the kernel leads to, in the order of its blocks."""
    found = [(op.parent, op) for op in flow.control.of_type(kind)]
    reached = [(block, op) for block, op in found if block is not None and block in flow.control.position]
    return sorted(reached, key=lambda one: flow.control.position[one[0]])


def _may_free(op: DeallocOp, alloc: AllocOp, flow: ThreadFlow) -> bool:
    match flow.values.get(op.address):
        case ThreadValue(symbols=(symbol,)) if symbol.kind == "tensor":
            return symbol.key is alloc.address.owner
        case _:
            return True


class _Paths:
    """The paths through a kernel after some decisions have been taken."""

    def __init__(self, flow: ThreadFlow, decisions: frozenset[Decision]):
        self._flow = flow
        excluded = {(condition, not value) for condition, value in decisions}
        self._blocks = flow.blocks
        self._ways: dict[Block, tuple[list[Block], bool]] = {}
        """Blocks -> those that follow, and whether threads may take different ways there."""
        for block in flow.blocks:
            branch = block.last_op
            following = [edge.successor for edge in flow.edges[block] if edge.decision not in excluded]
            self._ways[block] = following, isinstance(branch, CondBraOp) and flow.is_split(branch.condition)

    def always_reached(self, targets: set[Block]) -> dict[Block, bool]:
        """For every block, whether all paths from its start come to one of `targets`, or some thread's path does."""
        reached = dict.fromkeys(self._blocks, True)
        changed = True
        while changed:
            changed = False
            for block in reversed(self._blocks):
                found = block in targets or self.come_to(block, reached)
                if found != reached[block]:
                    reached[block], changed = found, True
        return reached

    def come_to(self, block: Block, reached: dict[Block, bool]) -> bool:
        """Returns True if all paths from the end of a block go on to blocks that are `reached`."""
        following, is_split = self._ways[block]
        found = [reached[successor] for successor in following]
        return True in found if is_split else bool(found) and False not in found
