"""Bulk stores of a loop: the shared tile becomes a ring, so that a store ends while the next tile or iteration runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors, walk
from tirx.dialects.tirx.product import ProductOp
from tirx.passes.ir.emitter import Emitter, erase, keep_attributes
from tirx.remarks import StoreRingMade
from tirx.values import dataclass

WRITE, STORE = "write", "store"
"""Stations of a ring whose slots threads write and the accelerator stores."""

_STORES = (tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)


@dataclass(frozen=True)
class StagedStore:
    """A shared tile that threads write once in every round of a loop, and one bulk store reads behind that."""

    alloc: tirx.AllocOp
    store: tirx.StoreOp
    copy: tirx.CopyOp


def staged_stores(kernel: tirx.KernelOp) -> dict[tirx.TilesOp | tirx.ForOp, list[StagedStore]]:
    """The shared tiles of each loop that are written whole and then stored by `tma_store` or `tma_reduce`."""
    loops = [op for op in walk(kernel) if isinstance(op, tirx.TilesOp | tirx.ForOp) and not _in_role(op)]
    found = {loop: [each for op in _own(loop) if (each := _staged(op)) is not None] for loop in loops}
    return {loop: stores for loop, stores in found.items() if stores}


def _in_role(loop: Operation) -> bool:
    """Returns True for a loop of a role that is written by hand."""
    return any(isinstance(around, tirx.RoleOp) for around in ancestors(loop))


def ring_stores(kernel: tirx.KernelOp, stores: Mapping[tirx.TilesOp | tirx.ForOp, Sequence[StagedStore]]) -> None:
    """Makes a ring of every shared tile that `staged_stores` has found."""
    for loop, found in stores.items():
        for staged in found:
            _ring(kernel, staged, "tile" if isinstance(loop, tirx.TilesOp) else "iteration")
        Emitter.after(loop)(tirx.AwaitOp(queue=tirx.Queue.STORE, pending=0))


def _own(loop: tirx.TilesOp | tirx.ForOp) -> Iterator[Operation]:
    """The operations of the body of a loop and of its parts."""
    for op in loop.body.block.ops:
        if isinstance(op, tirx.AtOp):
            yield from op.body.block.ops
        yield op


def _staged(copy: Operation) -> StagedStore | None:
    if not isinstance(copy, tirx.CopyOp) or copy.engine is None or copy.engine.data not in _STORES:
        return None
    if (copy.reduce is not None and copy.reduce.data != "add") or tirx.indexed_view(copy.destination) is not None:
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


def _meeting(store: tirx.StoreOp) -> Operation:
    """The last product in front of a store that reads what threads write in this round: they meet there anyway, and so
    all know that the slot is free. The store itself, if there is none.
    """
    written: set[SSAValue] = set()
    found: Operation = store
    assert store.parent is not None
    for op in store.parent.ops:
        if op is store:
            break
        if isinstance(op, tirx.StoreOp):
            written.add(tirx.base_allocation(op.destination))
        elif isinstance(op, ProductOp) and not written.isdisjoint(map(tirx.base_allocation, (op.a, op.b))):
            found = op
    return found


def _ring(kernel: tirx.KernelOp, staged: StagedStore, rounds: str) -> None:
    """Makes the ring; `rounds` is what the loop goes through, for the remark."""
    alloc, store, copy = staged.alloc, staged.store, staged.copy
    top: Operation = alloc
    while top.parent_op() is not kernel and (around := top.parent_op()) is not None:
        top = around
    label = alloc.result.name_hint or ""
    ring = Emitter(InsertPoint.before(top), alloc.location)(
        tirx.RingOp(1, (WRITE, STORE), tirx.RingType.get([(label, alloc.result.type)]))
    )
    ring.result.name_hint = alloc.result.name_hint
    before = Emitter.before(_meeting(store))
    # The store of the round before has had the time of this round to read its slot.
    before(tirx.AwaitOp(queue=tirx.Queue.STORE, pending=0))
    written = before(tirx.AcquireOp(ring.result, WRITE)).tiles[0]
    written.name_hint = alloc.result.name_hint
    store.operands[1] = written
    Emitter.after(store)(tirx.ReleaseOp(ring.result, WRITE))
    at_copy = Emitter.before(copy)
    taken = at_copy(tirx.AcquireOp(ring.result, STORE)).tiles[0]
    taken.name_hint = alloc.result.name_hint
    assert copy.engine is not None
    keep_attributes(copy, at_copy(tirx.AsyncCopyOp(taken, copy.destination, copy.engine.data)))
    at_copy(tirx.ReleaseOp(ring.result, STORE, tirx.Queue.STORE))
    for op in (copy, alloc):
        erase(op)
    remark(ring, StoreRingMade(f"%{label or 'a tile'}", rounds))
