"""`tirx-expand-async-copies`: a copy by an asynchronous engine is started, and waited for at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.dialects import ptx, tirx
from tirx.dialects.traits import is_pure
from tirx.layout import TileLayout
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.bulk_copies import ASYNC_FEATURES, plan_tma
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.memory_by_lifetime import MBARRIER_BYTES
from tirx.passes.match.product import legal, target_of
from tirx.rules import StageError, WrittenChoiceError


def _by_threads(kernel: tirx.KernelOp) -> dict[SSAValue, bool]:
    """The arrays that threads of a kernel access -> whether they write them."""
    found: dict[SSAValue, bool] = {}
    for access in (access for op in kernel.walk() for access in accesses_of(op) if not access.bulk):
        array = tirx.base_allocation(access.tile)
        found[array] = access.writes or found.get(array, False)
    return found


class _Expansion:
    """Expands the asynchronous copies that the same threads do together: all of a kernel, or those of a role."""

    def __init__(
        self,
        copies: Sequence[tirx.CopyOp],
        by_threads: Mapping[SSAValue, bool],
        start: Emitter,
        leader: SSAValue | None,
        mbarrier: SSAValue | None,
    ):
        """
        Emits at `start` the parity of the phase that the next load completes, and elects the thread that starts copies.

        `leader` is that thread, if it is elected; `mbarrier` the address (i32) of the one that completes bulk loads, if
        there are any. `by_threads` are the arrays that threads access, and whether they write them.
        """
        self._copies = copies
        self._by_threads = by_threads
        self._mbarrier = mbarrier
        if leader is None and any(_engine(copy) is not tirx.Engine.CP_ASYNC for copy in copies):
            leader = start(tirx.LeaderOp()).result
        self._leader = leader
        self._parity = None
        if mbarrier is not None:
            self._parity = start(memref.AllocaOp.get(i32, shape=[])).results[0]
            start(memref.StoreOp.get(start.constant(0, i32), self._parity, []))

    def run(self, kernel: tirx.KernelOp) -> None:
        """Expands them."""
        for copy in self._copies:
            emit = Emitter.before(copy)
            stores = _engine(copy) not in (tirx.Engine.TMA, tirx.Engine.CP_ASYNC)
            ends = copy.source_type.memory, copy.destination_type.memory
            wanted = tirx.MemorySpace.GLOBAL, tirx.MemorySpace.SHARED
            if ends != (wanted[::-1] if stores else wanted):
                raise WrittenChoiceError(
                    copy,
                    f"expected engine {_engine(copy)} on a copy from {wanted[stores].place} to "
                    f"{wanted[not stores].place}, found one from {ends[0].place} to {ends[1].place}",
                )
            match _engine(copy):
                case tirx.Engine.TMA:
                    self._load(emit, copy)
                case tirx.Engine.CP_ASYNC:
                    emit(tirx.CpAsyncTileOp(copy.source, copy.destination))
                    emit(ptx.CpAsyncCommitGroupOp())
                    emit(ptx.CpAsyncWaitGroupOp(0))
                case _:
                    self._store(emit, copy, kernel)
            erase(copy)

    def _fence_space(self, array: SSAValue, *, is_store: bool) -> str | None:
        """The memory that a proxy fence before a bulk copy has to order; None for all, if threads access it, too."""
        writes = self._by_threads.get(array)
        return None if writes or (is_store and writes is not None) else "shared::cta"

    def _load(self, emit: Emitter, copy: tirx.CopyOp) -> None:
        assert self._mbarrier is not None and self._parity is not None and self._leader is not None
        with legal(copy):
            planned = plan_tma(copy.source, copy.destination_type, target_of(copy))
        # All threads are done with the tile, and what they did to both memories precedes the asynchronous copy.
        emit(ptx.FenceProxyAsyncOp(self._fence_space(tirx.base_allocation(copy.source), is_store=False)))
        emit(tirx.BarrierOp())
        expect = ptx.MbarrierArriveExpectTxOp(self._mbarrier, planned.boxes.num_bytes)
        load = tirx.TmaLoadOp(copy.source, copy.destination, self._mbarrier)
        if planned.is_indexed:
            emit.branch(self._leader, [expect])
            emit(load)
        else:
            emit.branch(self._leader, [expect, load])
        parity = emit(memref.LoadOp.get(self._parity, [])).results[0]
        emit(ptx.MbarrierWaitParityOp(self._mbarrier, parity))
        # Instructions of whole warps may follow.
        emit(ptx.BarWarpSyncOp())
        emit(memref.StoreOp.get(emit(arith.XOrIOp(parity, emit.constant(1, i32))).result, self._parity, []))

    def _store(self, emit: Emitter, copy: tirx.CopyOp, kernel: tirx.KernelOp) -> None:
        assert self._leader is not None
        emit(ptx.FenceProxyAsyncOp(self._fence_space(tirx.base_allocation(copy.destination), is_store=True)))
        emit(tirx.BarrierOp())
        store = tirx.TmaStoreOp(copy.source, copy.destination, None if copy.reduce is None else copy.reduce.data)
        # Memory is written when the kernel ends: only what follows, of this block, has to wait for it.
        wait = ptx.CpAsyncBulkWaitGroupOp(0, read=_is_last(copy, kernel))
        ops = [store, ptx.CpAsyncBulkCommitGroupOp(), wait]
        if tirx.indexed_view(copy.destination) is None:
            emit.branch(self._leader, ops)
        else:  # lanes have groups of their own
            for op in ops:
                emit(op)
            emit(ptx.BarWarpSyncOp())
        emit(tirx.BarrierOp())


def _is_last(copy: tirx.CopyOp, kernel: tirx.KernelOp) -> bool:
    following = copy if copy.parent is kernel.body.block else None
    while following is not None and (following is copy or is_pure(following)):
        following = following.next_op
    return isinstance(following, tirx.ReturnOp)


def _engine(copy: tirx.CopyOp) -> tirx.Engine | None:
    return None if copy.engine is None else copy.engine.data


def _expand(kernel: tirx.KernelOp, copies: Sequence[tirx.CopyOp]) -> None:
    by_threads = _by_threads(kernel)
    start = Emitter.before(next(op for op in kernel.body.block.ops if not isinstance(op, tirx.AllocOp)))
    by_owner: dict[tirx.OnThreads | None, list[tirx.CopyOp]] = {}
    for copy in copies:
        by_owner.setdefault(tirx.thread_owner(copy), []).append(copy)
    loading = [owner for owner, own in by_owner.items() if any(_engine(copy) is tirx.Engine.TMA for copy in own)]
    leader = None
    if loading or any(_engine(copy) is not tirx.Engine.CP_ASYNC for copy in by_owner.get(kernel, ())):
        leader = start(tirx.LeaderOp()).result
    mbarriers = _mbarriers(kernel, len(loading), start, leader) if leader is not None and loading else []
    found: list[_Expansion] = []
    for owner, own in by_owner.items():
        mbarrier = mbarriers[loading.index(owner)] if owner in loading else None
        if isinstance(owner, tirx.RoleOp | tirx.WarpgroupOp):
            inside = Emitter(InsertPoint.at_start(owner.body.block), owner.location)
            found.append(_Expansion(own, by_threads, inside, None, mbarrier))
        else:
            found.append(_Expansion(own, by_threads, start, leader, mbarrier))
    for expansion in found:
        expansion.run(kernel)


def _mbarriers(kernel: tirx.KernelOp, count: int, emit: Emitter, leader: SSAValue) -> list[SSAValue]:
    """The addresses (i32) of mbarriers that bulk loads complete: one for all threads, or for each role that loads."""
    if kernel.memory is None:
        raise StageError(kernel, "expected a memory plan; tirx-allocate-memory chooses it")
    words = 2 * count
    type_ = tirx.TileType.get((words,), i32, tirx.MemorySpace.SHARED, TileLayout.row_major((words,)))
    first = emit(tirx.AddressOp(emit(tirx.AllocOp(type_, kernel.memory.data.copies)).result)).result
    found = [emit.add(first, MBARRIER_BYTES * i) for i in range(count)]
    emit.branch(leader, [*(ptx.MbarrierInitOp(each, 1) for each in found), ptx.FenceMbarrierInitOp()])
    emit(tirx.BarrierOp())
    return found


class TirxExpandAsyncCopiesPass(ModulePass):
    """Expands copies with the engines `tma`, `cp_async`, `tma_store` and `tma_reduce` that wait for their end.

    All threads of the kernel do them, or all of a role. One thread starts a bulk tensor copy, behind a proxy fence and
    a barrier of all of them; loads complete on an mbarrier that they wait at, stores in a group that this thread waits
    for before a barrier. Every thread starts its share of a copy by `cp.async` and waits for it; barriers around it are
    those of `tirx-insert-barriers`.
    """

    name = "tirx-expand-async-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            copies = [
                copy for copy in kernel.walk() if isinstance(copy, tirx.CopyOp) and _engine(copy) in ASYNC_FEATURES
            ]
            if copies:
                _expand(kernel, copies)
