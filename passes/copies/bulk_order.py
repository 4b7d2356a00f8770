"""The order of bulk copies with other accesses to the same global memory: waits for stores, and proxy fences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations, product

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import operations, walk
from tirx.dialects.ptx.sync import FenceProxyAsyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp
from tirx.dialects.tirx.threads import WarpgroupOp
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import blocks
from tirx.passes.ir.emitter import Emitter
from tirx.passes.match.aliasing import may_share
from tirx.passes.match.global_accesses import GlobalAccess, accesses_of, accessing_kinds, written_by
from tirx.remarks import WaitsForStore
from tirx.rules import RoleMemoryError
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class _Pending:
    """An access that later ones may have to be ordered behind: of threads, with no proxy fence since, or a bulk store.

    Since then the next iteration of `loops` has begun. Of a bulk store, `by` is the predicate of the thread that
    started it, which has made a group of it (`committed`), and has waited for its end (`complete`).
    """

    access: GlobalAccess
    loops: frozenset[Operation] = frozenset()
    by: SSAValue | None = None
    committed: bool = False
    complete: bool = False


_State = frozenset[_Pending]
_NOTHING: _State = frozenset()


def _conflicts(before: _Pending, now: GlobalAccess) -> bool:
    """Returns True if `now` may touch what a pending access touches, so that one has to wait for the other."""
    first = before.access
    if not (first.writes or now.writes) or (not first.bulk and (not now.bulk or now.fenced)):
        return False
    if first.bulk and now.bulk and first.reduces and now.reduces:
        return False  # each element is combined by itself, in any order
    return may_share(first.tile, now.tile, before.loops)


def _reads_any(writes: Iterable[_Pending], accesses: Iterable[GlobalAccess]) -> bool:
    """Returns True if one of `accesses` may read what one of `writes` writes."""
    reads = [one for one in accesses if not one.writes]
    return any(_conflicts(first, one) for first, one in product(writes, reads))


def order_bulk_copies(kernel: tirx.KernelOp) -> None:
    """Orders bulk copies with what the same threads do to the same global memory, where elements may be shared.

    Behind a bulk store stands, before the next access, a wait for its end and a barrier. Between accesses of threads
    and a bulk copy stand a proxy fence and a barrier. Roles hand tiles to each other through rings: raises LocatedError
    where one may read by a bulk copy what another one writes, or the other way round.
    """
    ops = walk(kernel)
    copies = (op for op in ops if type(op) is tirx.TmaStoreOp or type(op) is tirx.TmaLoadOp)
    if not (copied := {tirx.base_allocation(op.global_tile) for op in copies}):
        return
    kinds, written = accessing_kinds(ops), written_by(ops)
    accesses = {op: found for op in ops if type(op) in kinds and (found := accesses_of(op, written))}
    copied &= {tirx.base_allocation(one.tile) for found in accesses.values() for one in found if one.writes}
    if copied:
        ordering = _Ordering(copied, accesses)
        for op in ops:
            if isinstance(op, tirx.RolesOp):
                ordering.check_apart(op)
        ordering.block(kernel.body.block, _NOTHING, None, insert=True)


class _Ordering:
    """The pending accesses at each place of a kernel, in the order in which its threads come there."""

    def __init__(self, copied: set[SSAValue], accesses: Mapping[Operation, tuple[GlobalAccess, ...]]):
        """`accesses` of operations count to `copied`, the arguments that bulk copies touch which nobody waits for at
        once, and that the kernel writes.
        """
        self._accesses: dict[Operation, tuple[GlobalAccess, ...]] = {}
        for op, found in accesses.items():
            if own := tuple(one for one in found if tirx.base_allocation(one.tile) in copied):
                self._accesses[op] = own
        self._inside: dict[Operation, tuple[GlobalAccess, ...]] = {}
        self._ordered: dict[Block, tuple[Operation, ...]] = {}
        self._behind: dict[tuple[Operation, _State, SSAValue | None], tuple[_State, _State]] = {}

    def check_apart(self, op: tirx.RolesOp) -> None:
        """Raises LocatedError if a role may read what another one writes, and one of them by a bulk copy."""
        for role, other in permutations(op.roles, 2):
            writes = [_Pending(one) for one in self._all(role) if one.writes and not one.fenced]
            if not _reads_any(writes, self._all(other)):
                continue
            reader = next(inner for inner in walk(other) if _reads_any(writes, self._of(inner)))
            raise RoleMemoryError(
                reader,
                f"expected memory that role @{role.sym_name.data} does not write, since one of the two roles "
                "accesses it by a bulk copy, found elements that both may access; hand tiles on through a ring",
            )

    def block(self, block: Block, pending: _State, leader: SSAValue | None, *, insert: bool = False) -> _State:
        """Returns what is pending at the end of a block from what is at its start.

        `leader` is the predicate of the one thread that comes here, None where all threads do.
        """
        for op in self._ordering(block):
            pending = self._behind_waits(op, pending, leader)
            if isinstance(op, tirx.RolesOp):
                pending = self._roles(op, pending, leader, insert)
            elif isinstance(op, scf.IfOp) and leader is None and _is_elected(op):
                # Only one thread comes in: all others can meet it in front of the branch.
                others = frozenset(one for one in pending if one.by is not op.cond)
                pending = (pending - others) | self._meet(op, self._all(op), others, None, insert)
                pending = self.block(op.true_region.block, pending, op.cond, insert=insert)
            elif op.regions and not is_pure(op):
                pending = self._nested(op, pending, leader, insert)
            elif accesses := self._of(op):
                pending = self._meet(op, accesses, pending, leader, insert)
                pending |= {
                    _Pending(one, by=leader if one.bulk else None)
                    for one in accesses
                    if not one.fenced and (one.writes or not one.bulk)
                }
        return pending

    @staticmethod
    def _behind_waits(op: Operation, pending: _State, leader: SSAValue | None) -> _State:
        """Returns the accesses pending behind a barrier, a commit of a group or a wait for groups."""
        match op:
            case tirx.BarrierOp():
                return frozenset(one for one in pending if not one.complete)
            case CpAsyncBulkCommitGroupOp():
                own = {one for one in pending if one.access.bulk and one.by is leader}
                return (pending - own) | {replace(one, committed=True) for one in own}
            case CpAsyncBulkWaitGroupOp() if op.read is None and op.pending.value.data == 0:
                return _completed(pending, leader)
            case _:
                return pending

    def _roles(self, op: tirx.RolesOp, pending: _State, leader: SSAValue | None, insert: bool) -> _State:
        pending = self._meet(op, self._all(op), pending, leader, insert)
        # Bulk stores of a role are complete at its end, where all threads meet.
        ends = [self.block(role.body.block, _NOTHING, leader, insert=insert) for role in op.roles]
        return pending | {one for end in ends for one in end if not one.access.bulk}

    def _nested(self, op: Operation, pending: _State, leader: SSAValue | None, insert: bool) -> _State:
        """Returns the accesses pending behind an operation with regions, which may run any of them, or none."""
        if not isinstance(op, scf.IfOp):
            # In front of a loop once, rather than in each iteration; of a part of the threads all can meet there only.
            pending = self._meet(op, self._all(op), pending, leader, insert)
        start, end = self._around(op, pending, leader)
        if insert:
            for region in op.regions:
                for block in region.blocks:
                    self.block(block, start, leader, insert=True)
        return end

    def _around(self, op: Operation, pending: _State, leader: SSAValue | None) -> tuple[_State, _State]:
        """Returns the accesses pending at the start of the regions of an operation, and behind it."""
        key = op, pending, leader
        if key not in self._behind:
            start, end = pending, self._once(op, pending, leader)
            while not isinstance(op, scf.IfOp | WarpgroupOp):
                again = start | {replace(one, loops=one.loops | {op}) for one in end - pending}
                if again == start:
                    break
                start, end = again, self._once(op, again, leader)
            self._behind[key] = start, end
        return self._behind[key]

    def _once(self, op: Operation, pending: _State, leader: SSAValue | None) -> _State:
        blocks = (block for region in op.regions for block in region.blocks)
        return pending.union(*(self.block(block, pending, leader) for block in blocks))

    def _ordering(self, block: Block) -> tuple[Operation, ...]:
        """The operations of a block, before anything is inserted, that may change what is pending."""
        if (found := self._ordered.get(block)) is None:
            found = self._ordered[block] = tuple(
                op
                for op in operations(block)
                if op in self._accesses
                or type(op) in _ORDERING
                or (op.regions and any(self._ordering(each) for region in op.regions for each in blocks(region)))
            )
        return found

    def _of(self, op: Operation) -> tuple[GlobalAccess, ...]:
        """The accesses of an operation without regions that matter here."""
        return self._accesses.get(op, ())

    def _all(self, op: Operation) -> tuple[GlobalAccess, ...]:
        if (found := self._inside.get(op)) is None:
            blocks = (block for region in op.regions for block in region.blocks)
            inner = (access for block in blocks for each in self._ordering(block) for access in self._all(each))
            found = self._inside[op] = tuple(dict.fromkeys((*self._of(op), *inner)))
        return found

    @staticmethod
    def _meet(
        op: Operation, accesses: Iterable[GlobalAccess], pending: _State, leader: SSAValue | None, insert: bool
    ) -> _State:
        """Returns what is pending in front of `op`, behind the wait, the fence and the barrier that it needs."""
        found = [one for one in pending for access in accesses if _conflicts(one, access)]
        if not found:
            return pending
        stores = [one for one in found if one.access.bulk]
        wait, fence = any(not one.complete for one in stores), len(stores) < len(found)
        if insert:
            _insert(op, stores, wait, fence, leader)
        if leader is not None:
            return _completed(pending, leader) if wait else pending - set(found)
        return frozenset(
            one
            for one in pending
            if not (one.complete or (wait and one.access.bulk) or (fence and not one.access.bulk))
        )


def _insert(op: Operation, stores: list[_Pending], wait: bool, fence: bool, leader: SSAValue | None) -> None:
    """Puts in front of `op` the wait for bulk stores, the proxy fence and the barrier that it needs."""
    emit = Emitter.before(op)
    if wait and not all(one.committed for one in stores):
        emit(CpAsyncBulkCommitGroupOp())
    if wait:
        emit(CpAsyncBulkWaitGroupOp(0))
    if not (fence and not wait and leader is None and _widen_fence(op)):
        if fence:
            emit(FenceProxyAsyncOp("global"))
        if leader is None:
            emit(tirx.BarrierOp())
    for one in stores:
        name = tirx.base_allocation(one.access.tile).name_hint or "memory"
        remark(op, WaitsForStore(name, op.name))


def _completed(pending: _State, leader: SSAValue | None) -> _State:
    """Returns the accesses pending behind a wait for all groups of the threads that come there."""
    return frozenset(
        replace(one, complete=True) if one.committed and (leader is None or one.by is leader) else one
        for one in pending
    )


_ORDERING = (tirx.RolesOp, tirx.BarrierOp, CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp)
"""Operations that change what is pending without an access of their own."""

_PLACES = (tirx.SlotOp, memref.LoadOp, memref.StoreOp)
"""Operations between a barrier and a bulk copy that only compute where it is."""


def _is_elected(op: scf.IfOp) -> bool:
    """Returns True for a branch that one thread takes."""
    return isinstance(op.cond.owner, tirx.LeaderOp) and not op.false_region.blocks


def _widen_fence(op: Operation) -> bool:
    """Lets the proxy fence and the barrier right in front of `op` order global memory, too; False without them."""
    found: list[Operation] = []
    before = op.prev_op
    while before is not None and len(found) < 2:
        if isinstance(before, tirx.BarrierOp | FenceProxyAsyncOp):
            found.append(before)
        elif accesses_of(before) or not (is_pure(before) or isinstance(before, _PLACES)):
            return False
        before = before.prev_op
    match found:
        case [tirx.BarrierOp(), FenceProxyAsyncOp() as fence]:
            fence.space = None
            return True
        case _:
            return False
