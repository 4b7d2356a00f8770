"""Bulk stores of a persistent kernel: the shared tile becomes a ring, so that a store ends while the next tile runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.passes.ir.emitter import Emitter, erase, keep_attributes
from tirx.remarks import StoreRingMade
from tirx.values import dataclass

WRITE, STORE = "write", "store"
"""Stations of a ring whose slots threads write and the accelerator stores."""


@dataclass(frozen=True)
class StagedStore:
    """A shared tile that threads write once in every tile of the loop, and one bulk store reads behind that."""

    alloc: tirx.AllocOp
    store: tirx.StoreOp
    copy: tirx.CopyOp


def staged_stores(kernel: tirx.KernelOp) -> dict[tirx.TilesOp, list[StagedStore]]:
    """The shared tiles of each tile loop that are written whole and then stored by `tma_store`."""
    loops = [op for op in kernel.body.block.ops if isinstance(op, tirx.TilesOp)]
    found = {loop: [staged for op in loop.body.block.ops if (staged := _staged(op)) is not None] for loop in loops}
    return {loop: stores for loop, stores in found.items() if stores}


def ring_stores(kernel: tirx.KernelOp, stores: Mapping[tirx.TilesOp, Sequence[StagedStore]]) -> None:
    """Makes a ring of every shared tile that `staged_stores` has found."""
    for loop, found in stores.items():
        for staged in found:
            _ring(kernel, staged)
        Emitter.after(loop)(tirx.AwaitOp(queue=tirx.Queue.STORE, pending=0))


def _staged(copy: Operation) -> StagedStore | None:
    if not isinstance(copy, tirx.CopyOp) or copy.engine is None or copy.engine.data is not tirx.Engine.TMA_STORE:
        return None
    if copy.reduce is not None or tirx.indexed_view(copy.destination) is not None:
        return None
    alloc = copy.source.owner
    if not isinstance(alloc, tirx.AllocOp):
        return None
    others = [use.operation for use in alloc.result.uses if use.operation is not copy]
    match others:
        case [tirx.StoreOp() as store] if store.is_before_in_block(copy):
            return StagedStore(alloc, store, copy)
        case _:
            return None


def _ring(kernel: tirx.KernelOp, staged: StagedStore) -> None:
    alloc, store, copy = staged.alloc, staged.store, staged.copy
    top: Operation = alloc
    while top.parent_op() is not kernel and (around := top.parent_op()) is not None:
        top = around
    label = alloc.result.name_hint or ""
    ring = Emitter(InsertPoint.before(top), alloc.location)(
        tirx.RingOp(1, (WRITE, STORE), tirx.RingType.get([(label, alloc.result.type)]))
    )
    ring.result.name_hint = alloc.result.name_hint
    before = Emitter.before(store)
    # The store of the tile before has had the time of this tile to read its slot.
    before(tirx.AwaitOp(queue=tirx.Queue.STORE, pending=0))
    written = before(tirx.AcquireOp(ring.result, WRITE)).tiles[0]
    written.name_hint = alloc.result.name_hint
    store.operands[1] = written
    Emitter.after(store)(tirx.ReleaseOp(ring.result, WRITE))
    at_copy = Emitter.before(copy)
    taken = at_copy(tirx.AcquireOp(ring.result, STORE)).tiles[0]
    taken.name_hint = alloc.result.name_hint
    keep_attributes(copy, at_copy(tirx.AsyncCopyOp(taken, copy.destination, tirx.Engine.TMA_STORE)))
    at_copy(tirx.ReleaseOp(ring.result, STORE, tirx.Queue.STORE))
    for op in (copy, alloc):
        erase(op)
    remark(ring, StoreRingMade(f"%{label or 'a tile'}"))
