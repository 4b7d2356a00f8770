"""`tirx-expand-async-copies`: a copy by an asynchronous engine is started, and waited for at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.cp_async import CpAsyncCommitGroupOp, CpAsyncWaitGroupOp
from tirx.dialects.ptx.mbarrier import MbarrierArriveExpectTxOp, MbarrierInitOp, MbarrierWaitParityOp
from tirx.dialects.ptx.sync import FenceMbarrierInitOp, FenceProxyAsyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp
from tirx.dialects.tirx import (
    AddressOp,
    AllocOp,
    BarrierOp,
    CopyOp,
    CpAsyncTileOp,
    Engine,
    FillOp,
    KernelOp,
    LeaderOp,
    MemorySpace,
    TileType,
    TmaLoadOp,
    TmaStoreOp,
    base_allocation,
    kernels,
    transfer,
)
from tirx.layout import TileLayout
from tirx.passes.emit.emitter import Emitter
from tirx.passes.plan.bulk_copies import ASYNC_SINCE, plan_tma
from tirx.passes.plan.product import ILLEGAL, target_of
from tirx.rules import StageError


def _writes(op: Operation, array: SSAValue) -> bool:
    """Returns True if `op` writes to an array in global memory by loads and stores of threads."""
    if isinstance(op, CopyOp) and op.engine is not None and op.engine.data in ASYNC_SINCE:
        return False
    written = op.tile if isinstance(op, FillOp) else ends[1] if (ends := transfer(op)) is not None else None
    return written is not None and base_allocation(written) is array


class _Expansion:
    """Expands the asynchronous copies of one kernel."""

    def __init__(self, kernel: KernelOp, copies: Sequence[CopyOp]):
        self._kernel = kernel
        self._copies = copies
        self._mbarrier: SSAValue
        self._parity: SSAValue
        self._leader: SSAValue

    def run(self) -> None:
        first = next(op for op in self._kernel.body.block.ops if not isinstance(op, AllocOp))
        start = Emitter.before(first)
        if any(_engine(copy) is not Engine.CP_ASYNC for copy in self._copies):
            self._leader = start(LeaderOp()).result
        if any(_engine(copy) is Engine.TMA for copy in self._copies):
            self._initialise(start)
        for copy in self._copies:
            emit = Emitter.before(copy)
            match _engine(copy):
                case Engine.TMA:
                    self._load(emit, copy)
                case Engine.CP_ASYNC:
                    emit(CpAsyncTileOp(copy.source, copy.destination))
                    emit(CpAsyncCommitGroupOp())
                    emit(CpAsyncWaitGroupOp(0))
                case _:
                    self._store(emit, copy)
            copy.detach()
            copy.erase()

    def _initialise(self, emit: Emitter) -> None:
        """Makes the mbarrier that loads complete, and the parity of the phase that the next one completes."""
        if self._kernel.memory is None:
            raise StageError(self._kernel, "expected a memory plan; tirx-allocate-memory chooses it")
        type_ = TileType.get((2,), i32, MemorySpace.SHARED, TileLayout.row_major((2,)))
        self._mbarrier = emit(AddressOp(emit(AllocOp(type_, self._kernel.memory.data.copies)).result)).result
        self._by_leader(emit, [MbarrierInitOp(self._mbarrier, 1), FenceMbarrierInitOp()])
        emit(BarrierOp())
        self._parity = emit(memref.AllocaOp.get(i32, shape=[])).results[0]
        emit(memref.StoreOp.get(emit.constant(0, i32), self._parity, []))

    def _by_leader(self, emit: Emitter, ops: Sequence[Operation]) -> None:
        """One thread executes some operations."""
        block = Block()
        inside = Emitter(InsertPoint.at_end(block), emit.location)
        for op in ops:
            inside(op)
        inside(scf.YieldOp())
        emit(scf.IfOp(self._leader, [], Region(block), Region()))

    def _load(self, emit: Emitter, copy: CopyOp) -> None:
        try:
            boxes = plan_tma(copy.source, copy.destination_type, target_of(copy)).boxes
        except ILLEGAL as e:
            raise LocatedError(copy, str(e)) from e
        # All threads are done with the tile, and what they did to both memories precedes the asynchronous copy.
        writes_source = any(_writes(op, base_allocation(copy.source)) for op in self._kernel.walk())
        emit(FenceProxyAsyncOp(None if writes_source else "shared::cta"))
        emit(BarrierOp())
        expect = MbarrierArriveExpectTxOp(self._mbarrier, boxes.num_bytes)
        self._by_leader(emit, [expect, TmaLoadOp(copy.source, copy.destination, self._mbarrier)])
        parity = emit(memref.LoadOp.get(self._parity, [])).results[0]
        emit(MbarrierWaitParityOp(self._mbarrier, parity))
        emit(memref.StoreOp.get(emit(arith.XOrIOp(parity, emit.constant(1, i32))).result, self._parity, []))

    def _store(self, emit: Emitter, copy: CopyOp) -> None:
        emit(FenceProxyAsyncOp("shared::cta"))
        emit(BarrierOp())
        store = TmaStoreOp(copy.source, copy.destination, None if copy.reduce is None else copy.reduce.data)
        self._by_leader(emit, [store, CpAsyncBulkCommitGroupOp(), CpAsyncBulkWaitGroupOp(0)])
        emit(BarrierOp())


def _engine(copy: CopyOp) -> Engine | None:
    return None if copy.engine is None else copy.engine.data


@dataclass(frozen=True)
class TirxExpandAsyncCopiesPass(ModulePass):
    """
    Expands copies with the engines `tma`, `cp_async`, `tma_store` and `tma_reduce` of sequential kernels.

    One thread starts a bulk tensor copy, behind a proxy fence and a barrier of all threads; loads complete on an
    mbarrier that all wait at, stores in a group that this thread waits for before a barrier. Every thread starts its
    share of a copy by `cp.async` and waits for it; barriers around it are those of `tirx-insert-barriers`.
    """

    name = "tirx-expand-async-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            copies = [copy for copy in kernel.walk() if isinstance(copy, CopyOp) and _engine(copy) in ASYNC_SINCE]
            if copies:
                _Expansion(kernel, copies).run()
