"""Bulk stores of a persistent kernel: the shared tile becomes a ring, so that a store ends while the next tile runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects.tirx import (
    AcquireOp,
    AllocOp,
    AsyncCopyOp,
    AwaitOp,
    CopyOp,
    Engine,
    KernelOp,
    Queue,
    ReleaseOp,
    RingOp,
    RingType,
    StoreOp,
    TilesOp,
)
from tirx.passes.ir.emitter import Emitter, erase
from tirx.remarks import StoreRingMade

WRITE, STORE = "write", "store"
"""Stations of a ring whose slots threads write and the accelerator stores."""


@dataclass(frozen=True)
class StagedStore:
    """A shared tile that threads write once in every tile of the loop, and one bulk store reads behind that."""

    alloc: AllocOp
    store: StoreOp
    copy: CopyOp


def staged_stores(kernel: KernelOp) -> dict[TilesOp, list[StagedStore]]:
    """The shared tiles of each tile loop that are written whole and then stored by `tma_store`."""
    loops = [op for op in kernel.body.block.ops if isinstance(op, TilesOp)]
    found = {loop: [staged for op in loop.body.block.ops if (staged := _staged(op)) is not None] for loop in loops}
    return {loop: stores for loop, stores in found.items() if stores}


def ring_stores(kernel: KernelOp, stores: Mapping[TilesOp, Sequence[StagedStore]]) -> None:
    """Makes a ring of every shared tile that `staged_stores` has found."""
    for loop, found in stores.items():
        for staged in found:
            _ring(kernel, staged)
        Emitter.after(loop)(AwaitOp(queue=Queue.STORE, pending=0))


def _staged(copy: Operation) -> StagedStore | None:
    if not isinstance(copy, CopyOp) or copy.engine is None or copy.engine.data is not Engine.TMA_STORE:
        return None
    if copy.reduce is not None:
        return None
    alloc = copy.source.owner
    if not isinstance(alloc, AllocOp):
        return None
    others = [use.operation for use in alloc.result.uses if use.operation is not copy]
    match others:
        case [StoreOp() as store] if store.is_before_in_block(copy):
            return StagedStore(alloc, store, copy)
        case _:
            return None


def _ring(kernel: KernelOp, staged: StagedStore) -> None:
    alloc, store, copy = staged.alloc, staged.store, staged.copy
    top: Operation = alloc
    while top.parent_op() is not kernel and (around := top.parent_op()) is not None:
        top = around
    label = alloc.result.name_hint or ""
    ring = Emitter(InsertPoint.before(top), alloc.location)(
        RingOp(1, (WRITE, STORE), RingType.get([(label, alloc.result.type)]))
    )
    ring.result.name_hint = alloc.result.name_hint
    before = Emitter.before(store)
    # The store of the tile before has had the time of this tile to read its slot.
    before(AwaitOp(queue=Queue.STORE, pending=0))
    written = before(AcquireOp(ring.result, WRITE)).tiles[0]
    written.name_hint = alloc.result.name_hint
    store.operands[1] = written
    Emitter.after(store)(ReleaseOp(ring.result, WRITE))
    at_copy = Emitter.before(copy)
    taken = at_copy(AcquireOp(ring.result, STORE)).tiles[0]
    taken.name_hint = alloc.result.name_hint
    at_copy(AsyncCopyOp(taken, copy.destination, Engine.TMA_STORE))
    at_copy(ReleaseOp(ring.result, STORE, Queue.STORE))
    for op in (copy, alloc):
        erase(op)
    remark(ring, StoreRingMade(f"%{label or 'a tile'}"))
