"""Code for the asynchronous copies of one role: how they start, join groups and are waited for."""

from __future__ import annotations

from weakref import proxy

from xdsl.dialects import arith
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import SSAValue

from tirx.dialects import tirx
from tirx.dialects.ptx.cp_async import CpAsyncCommitGroupOp, CpAsyncMbarrierArriveOp, CpAsyncWaitGroupOp
from tirx.dialects.ptx.sync import BarWarpSyncOp, FenceProxyAsyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp
from tirx.dialects.tirx.block_groups import BlockGroup
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.barrier_rounds import commits_group, groups_behind
from tirx.passes.rings.proof.parties import issuer
from tirx.passes.rings.proof.slots import executions_since, place_of, slot_tile
from tirx.passes.rings.ring_code import of_block
from tirx.passes.rings.ring_plan import Passing, To
from tirx.passes.rings.role_code import RoleCode
from tirx.rules import RingLoweringError


class CopyCode:
    """The asynchronous copies of one role."""

    def __init__(self, code: RoleCode):
        self.code: RoleCode = proxy(code)  # which knows it: only the collector would notice that both are not needed
        copies = [op for op in code.owner.walk() if isinstance(op, tirx.AsyncCopyOp)]
        self.stores = any(op.queue is tirx.Queue.STORE for op in copies)
        self.waits_itself = code.plan.awaits(code.owner, tirx.Queue.CP_ASYNC)
        self.groups = dict.fromkeys(op.group for op in copies if op.group is not None)
        self.masks: dict[BlockGroup, SSAValue] = {}

    def begin(self, rank: SSAValue, emit: Emitter) -> None:
        """Computes the masks of the blocks that copies come to, from the rank of the own one."""
        for group in self.groups:
            others = self.code.plan.kernel.cluster_size - 1 - group.digit
            first = emit.constant(group.first_mask, i32)
            mask = first if others == 0 else emit.value(arith.ShLIOp(first, emit.bit_and(rank, others)))
            self.masks[group] = emit.value(arith.TruncIOp(mask, i16))

    def copy(self, op: tirx.AsyncCopyOp, emit: Emitter) -> None:
        """Starts a copy."""
        code = self.code
        source, destination = code.value(op.source), code.value(op.destination)
        match op.engine.data:
            case tirx.Engine.TMA | tirx.Engine.TMA_MULTICAST as engine:
                mbarrier, group = self._fill_mbarrier(op, emit)
                mask = self._mask(op, emit) if engine is tirx.Engine.TMA_MULTICAST else None
                load = tirx.TmaLoadOp(source, destination, mbarrier, mask, group)
                if tirx.indexed_view(op.source) is None:
                    code.elected(emit, lambda inside: inside(load))
                else:  # lanes of the elected thread's warp start it, behind its wait for the slot
                    code.close(emit)
                    emit(load)
                    emit(BarWarpSyncOp())
            case tirx.Engine.TMA_STORE | tirx.Engine.TMA_REDUCE as engine:
                store = tirx.TmaStoreOp(source, destination, "add" if engine is tirx.Engine.TMA_REDUCE else None)
                code.elected(emit, lambda inside: inside(store))
            case tirx.Engine.CP_ASYNC:
                code.close(emit)
                emit(tirx.CpAsyncTileOp(source, destination))
            case tirx.Engine.TCGEN05_CP:
                copy = tirx.AsyncCopyOp(source, destination, tirx.Engine.TCGEN05_CP)
                code.elected(emit, lambda inside: inside(copy), issuer(op))
            case other:
                raise AssertionError(other)  # the verifier knows the engines of asynchronous copies

    def _mask(self, op: tirx.AsyncCopyOp, emit: Emitter) -> SSAValue:
        """The blocks that a copy comes to, a bit for each."""
        if op.group is not None:
            return self.masks[op.group]
        return emit.constant((1 << self.code.plan.kernel.cluster_size) - 1, i16)

    def _fill_mbarrier(self, op: tirx.AsyncCopyOp, emit: Emitter) -> tuple[SSAValue, int | None]:
        """The mbarrier that counts the bytes of a copy to a slot: the one behind the station that fills it.

        Where it is that of the first block of a pair, the copy needs cta_group 2, which comes with it.
        """
        code = self.code
        slot = slot_tile(op.destination)
        if slot is None:
            raise RingLoweringError(
                op, "expected a slot of a ring as the destination of a copy by TMA, found another tile"
            )
        station = code.plan.station(slot.place)
        if station.side(code.owner).passing is not Passing.BYTES or executions_since(slot.acquire, op) != 0:
            raise RingLoweringError(
                op, "expected a copy by TMA to a slot acquired in the same round and released after(tma), found another"
            )
        mbarrier = code.storage.mbarrier(emit, station, code.slot_of[slot.acquire])
        return (of_block(emit, mbarrier, code.first_block), 2) if station.to is To.FIRST else (mbarrier, None)

    def commit(self, op: tirx.ReleaseOp, emit: Emitter) -> None:
        """Makes a group of the copies so far, where threads wait for groups."""
        if op.after is None:
            return
        match op.after.data:
            case tirx.Queue.STORE:
                self.code.elected(emit, lambda inside: inside(CpAsyncBulkCommitGroupOp()))
            case tirx.Queue.CP_ASYNC:
                self.code.close(emit)
                emit(CpAsyncCommitGroupOp())
            case _:
                pass

    def counts_rounds(self, part: tirx.AtOp) -> bool:
        """True if a part of a loop commits a group in every round, perhaps an empty one."""
        return any(map(commits_group, part.body.walk()))

    def skip(self, part: tirx.AtOp, emit: Emitter) -> None:
        """Commits the empty groups of a part of a loop that does not run in this round."""
        for op in part.body.block.ops:
            if commits_group(op):
                self.code.close(emit)
                emit(CpAsyncCommitGroupOp())

    def wait_for_fill(self, op: tirx.AcquireOp, emit: Emitter) -> None:
        """Waits for the copies by cp.async that have filled a slot, where no mbarrier says that they have come."""
        ring, station = place_of(op)
        before = ring.station_names[ring.station_names.index(station) - 1]
        commits = [each for each in self.code.owner.walk() if isinstance(each, tirx.ReleaseOp) and commits_group(each)]
        if any(place_of(each) == (ring, before) for each in commits) and not self.waits_itself:
            self.code.close(emit)
            emit(CpAsyncWaitGroupOp(groups_behind(self.code.owner, op)))

    def wait(self, op: tirx.AwaitOp, emit: Emitter) -> None:
        """Waits for groups; copies that the async proxy reads are fenced by the threads that made them."""
        assert op.pending is not None
        pending = op.pending.value.data
        match op.awaited_queue:
            case tirx.Queue.STORE:
                self.code.elected(emit, lambda inside: inside(CpAsyncBulkWaitGroupOp(pending, read=True)))
            case tirx.Queue.CP_ASYNC:
                self.code.close(emit)
                emit(CpAsyncWaitGroupOp(pending))
                if self.code.plan.extraction.fills_for_async_proxy(self.code.owner):
                    emit(FenceProxyAsyncOp("shared::cta"))
            case other:
                raise AssertionError(other)  # the verifier knows the queues that threads wait for

    def drain(self, emit: Emitter) -> None:
        """Waits at the end of a role for its bulk stores, which read shared memory and write global memory."""
        if self.stores:
            self.code.elected(emit, lambda inside: inside(CpAsyncBulkWaitGroupOp(0)))

    def arrive_by_hardware(self, mbarrier: SSAValue, emit: Emitter) -> None:
        """Every thread lets the hardware arrive when its copies so far are complete."""
        self.code.close(emit)
        emit(CpAsyncMbarrierArriveOp(mbarrier, noinc=True))
