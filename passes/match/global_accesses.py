"""Accesses of operations to global memory, in the generic or the async proxy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import enclosing, walk
from tirx.values import dataclass, replace

_BULK_ENGINES = (tirx.Engine.TMA, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)
"""Engines of copies through the async proxy, whose expansion waits for their end."""


@dataclass(frozen=True)
class GlobalAccess:
    """An access of an operation to a tile of global memory, or to all of a memref.

    `bulk`: through the async proxy, as bulk copies do. `reduces`: it combines elements, by one instruction for each.
    `fenced`: the expansion of the operation fences what threads did before.
    """

    tile: SSAValue
    writes: bool
    bulk: bool = False
    reduces: bool = False
    fenced: bool = False


_ACCESSING = (
    tirx.TmaLoadOp,
    tirx.TmaStoreOp,
    tirx.CopyOp,
    tirx.CpAsyncTileOp,
    memref.LoadOp,
    memref.StoreOp,
    tirx.MmaOp,
    tirx.AsyncMmaOp,
    tirx.AtomicOp,
    tirx.SignalOp,
    tirx.WaitUntilOp,
    tirx.TileOpInterface,
)


@lru_cache(maxsize=1024)
def _is_accessing(kind: type[Operation]) -> bool:
    return issubclass(kind, _ACCESSING)


def may_access(op: Operation) -> bool:
    """Returns False for operations that access neither tiles nor memrefs, by their class: most of them."""
    return _is_accessing(type(op)) or tirx.is_foreign(op)


def accessing_kinds(ops: Sequence[Operation]) -> set[type[Operation]]:
    """Returns the classes of those operations that access tiles or memrefs."""
    return {kind for kind, op in one_of_each_kind(ops).items() if may_access(op)}


def one_of_each_kind(ops: Sequence[Operation]) -> dict[type[Operation], Operation]:
    """Returns one of those operations for each class."""
    return dict(zip(map(type, ops), ops, strict=True))


def accesses_of(op: Operation, written: tuple[SSAValue, ...] | None = None) -> tuple[GlobalAccess, ...]:
    """Returns what an operation without regions does to global memory; `written` as in `handed_on_at`."""
    if not may_access(op):
        return ()
    match op:
        case tirx.TmaLoadOp():
            return (GlobalAccess(op.source, writes=False, bulk=True),)
        case tirx.TmaStoreOp():
            return (GlobalAccess(op.destination, writes=True, bulk=True, reduces=op.reduce is not None),)
        case tirx.CopyOp() if op.engine is not None and op.engine.data in _BULK_ENGINES:
            found = [GlobalAccess(op.source, False, bulk=True), GlobalAccess(op.destination, True, bulk=True)]
            combines = op.reduce is not None
            return tuple(replace(one, reduces=combines, fenced=True) for one in found if _is_global(one.tile))
        case _:
            effects = effects_of(op, written)
            accesses = (
                GlobalAccess(tile, writes)
                for tiles, writes in ((effects.reads, False), (effects.writes, True))
                for tile in tiles
            )
            return tuple(one for one in accesses if _is_global(one.tile))


def effects_of(op: Operation, written: tuple[SSAValue, ...] | None = None) -> tirx.TileEffects:
    """Returns the tiles and memrefs that threads read and write by an operation; `written` as in `handed_on_at`."""
    match op:
        case tirx.CpAsyncTileOp():
            return tirx.TileEffects((op.source,), ())
        case memref.LoadOp():
            return tirx.TileEffects((op.memref,), ())
        case memref.StoreOp():
            return tirx.TileEffects((), (op.memref,))
        case tirx.AtomicOp() | tirx.SignalOp() | tirx.WaitUntilOp():
            effects, handed_on = tirx.tile_effects(op), handed_on_at(op, written)
            return tirx.TileEffects((*effects.reads, *handed_on.reads), (*effects.writes, *handed_on.writes))
        case _ if tirx.is_foreign(op) or isinstance(op, tirx.TileOpInterface):
            return tirx.tile_effects(op)
        case _:
            return tirx.TileEffects((), ())


def handed_on_at(op: tirx.OrderingOp, written: tuple[SSAValue, ...] | None = None) -> tirx.TileEffects:
    """Returns what an operation that orders blocks does to the memory that the kernel writes.

    One that releases reads it for other blocks, one that acquires may find anything there. `written` is that memory
    (`written_by`): who asks about many operations of a kernel finds it once.
    """
    if not (op.releases or op.acquires):
        return tirx.TileEffects((), ())
    if written is None:
        kernel = enclosing(op, tirx.KernelOp)
        written = () if kernel is None else written_by(walk(kernel))
    return tirx.TileEffects(written if op.releases else (), written if op.acquires else ())


def written_by(ops: Sequence[Operation]) -> tuple[SSAValue, ...]:
    """Returns the memory that the operations of a kernel write; nothing if none of them orders blocks."""
    if not any(issubclass(kind, tirx.OrderingOp) for kind in {*map(type, ops)}):
        return ()
    written: dict[SSAValue, None] = {}
    for inner in ops:
        if isinstance(inner, tirx.OrderingOp):
            found = tirx.tile_effects(inner).writes
        elif inner.regions and not tirx.is_foreign(inner):
            continue
        else:
            found = [one.tile for one in accesses_of(inner) if one.writes]
        written.update((base, None) for tile in found if _is_global(tile) and (base := tirx.base_allocation(tile)))
    return tuple(written)


def _is_global(tile: SSAValue) -> bool:
    """Returns True for a tile of global memory and for an argument; variables of a thread are memrefs, too."""
    if isinstance(tile.type, tirx.TileType):
        return tile.type.memory is tirx.MemorySpace.GLOBAL
    return isinstance(tile.type, MemRefType) and not isinstance(tile.owner, memref.AllocaOp)
