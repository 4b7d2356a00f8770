"""`tirx-insert-barriers`: a barrier wherever threads of a block would race on shared or global memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.tirx import (
    BarrierOp,
    CopyOp,
    FillOp,
    KernelOp,
    LoadOp,
    MmaOp,
    Scope,
    StoreOp,
    TileType,
    owner_root,
)
from tirx.passes.emit.emitter import Emitter
from tirx.passes.plan.tcgen05_scales import is_scale_copy

_SYNCHRONISED = (Scope.SHARED, Scope.GLOBAL)


@dataclass(frozen=True)
class _Pending:
    """Allocations and memrefs read and written since the last barrier, by any thread."""

    reads: frozenset[SSAValue] = frozenset()
    writes: frozenset[SSAValue] = frozenset()

    def __or__(self, other: _Pending) -> _Pending:
        return _Pending(self.reads | other.reads, self.writes | other.writes)

    def conflicts(self, access: _Pending) -> bool:
        return bool(access.reads & self.writes or access.writes & (self.reads | self.writes))


def _access(op: Operation) -> _Pending:
    """What one tile operation reads and writes through the memory that threads share."""

    def roots(*tiles: SSAValue) -> frozenset[SSAValue]:
        return frozenset(owner_root(t) for t in tiles if TileType.of(t).memory in _SYNCHRONISED)

    match op:
        case CopyOp():
            return _Pending(roots(op.source), roots(op.destination))
        case FillOp():
            return _Pending(writes=roots(op.tile))
        case LoadOp():
            return _Pending(roots(op.source))
        case StoreOp():
            return _Pending(writes=roots(op.destination))
        case _:
            return _Pending()


def _is_barrier(op: Operation) -> bool:
    """
    A tcgen05 product synchronises the whole block before it starts and waits for its end. So does a copy of scale
    factors, or the product that it goes with.
    """
    match op:
        case BarrierOp():
            return True
        case MmaOp():
            return op.on_tensor_memory
        case CopyOp():
            return is_scale_copy(op)
        case _:
            return False


def _visit(block: Block, pending: _Pending, insert: bool) -> _Pending:
    """The accesses pending at the end of `block`, given those pending at its start."""
    for op in tuple(block.ops):
        if _is_barrier(op):
            pending = _Pending()
        elif op.regions:
            before = pending
            if not isinstance(op, scf.IfOp):
                # What a loop has pending at its end meets what it does at its start. More at the start may move its
                # barriers and so leave more at the end: until nothing is new.
                while (after := before | _after_regions(op, before, insert=False)) != before:
                    before = after
            pending = _after_regions(op, before, insert)
        else:
            access = _access(op)
            if pending.conflicts(access):
                if insert:
                    Emitter.before(op)(BarrierOp())
                pending = _Pending()
            pending |= access
    return pending


def _after_regions(op: Operation, pending: _Pending, insert: bool) -> _Pending:
    """The accesses pending after `op`, which may run any of its regions or none."""
    after = pending
    for region in op.regions:
        for block in region.blocks:
            after |= _visit(block, pending, insert)
    return after


@dataclass(frozen=True)
class TirxInsertBarriersPass(ModulePass):
    """
    Tile operations are sequential; threads are not. Inserts `tirx.barrier` between two operations that touch the
    same allocation or memref, one of them writing, when no barrier stands between them on some path.

    Memrefs are taken not to overlap (see `tirx.kernel`).
    """

    name = "tirx-insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                _visit(kernel.body.block, _Pending(), insert=True)
