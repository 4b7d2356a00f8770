"""Accesses to tiles of slots by operations."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects import tirx
from tirx.dialects.nesting import operations
from tirx.dialects.traits import is_pure, is_terminator
from tirx.dialects.xdsl_private import blocks, operands_of
from tirx.passes.ir.emitter import constant_value
from tirx.passes.ir.scheduled import is_scheduling
from tirx.passes.rings.proof.model import Mode
from tirx.passes.rings.proof.slots import SlotTile, slot_tiles
from tirx.values import dataclass


@dataclass(frozen=True)
class TileAccess:
    """An access to a tile of a slot, by an operation of a role."""

    slot: SlotTile
    mode: Mode
    op: Operation
    is_conditional: bool = False
    as_a: bool = False

    @property
    def station(self) -> str:
        return self.slot.place[1]


_NO_ACCESSES = (tirx.AcquireOp, tirx.ReleaseOp, tirx.AtOp)


def tile_accesses(op: Operation) -> list[TileAccess]:
    """Returns the accesses of an operation itself to tiles of slots, reads first."""
    return _own_accesses(op, False)


def _own_accesses(op: Operation, is_conditional: bool) -> list[TileAccess]:
    if not operands_of(op) or type(op) in _NO_ACCESSES or is_pure(op) or is_terminator(op):
        return []
    slots = [(_modes(op, value), value, slot) for value, slot in slot_tiles(op)]
    return [
        TileAccess(slot, mode, op, is_conditional, reads_as_a(op, value))
        for mode in ((Mode.READ, Mode.WRITE) if slots else ())
        for modes, value, slot in slots
        if mode in modes
    ]


def reads_as_a(op: Operation, value: SSAValue) -> bool:
    """True for a tile in shared memory that a product of tcgen05 reads as A, and as nothing else."""
    if not isinstance(op, tirx.MmaOp | tirx.AsyncMmaOp) or not op.on_tensor_memory or op.a is not value:
        return False
    if op.weight_stationary is not None or op.zero_columns is not None:  # no source says that of tcgen05.mma.ws
        return False
    return op.a_type.memory is tirx.MemorySpace.SHARED and sum(operand is value for operand in op.operands) == 1


def _modes(op: Operation, value: SSAValue) -> tuple[Mode, ...]:
    """Returns how an operation accesses an operand. Unknown operations read and write it."""
    match op:
        case tirx.CopyOp() | tirx.AsyncCopyOp():
            return tuple(m for m, v in ((Mode.READ, op.source), (Mode.WRITE, op.destination)) if v is value)
        case tirx.AsyncMmaOp() | tirx.MmaOp():
            return (Mode.WRITE,) if value is op.accumulator else (Mode.READ,)
        case tirx.FillOp() | tirx.StoreOp():
            return (Mode.WRITE,)
        case tirx.LoadOp():
            return (Mode.READ,)
        case _:
            if op.has_trait(MemoryReadEffect, value_if_unregistered=False) and not op.has_trait(MemoryWriteEffect):
                return (Mode.READ,)
            return (Mode.READ, Mode.WRITE)


def accesses_in(op: Operation, is_conditional: bool = False) -> list[TileAccess]:
    """Returns the accesses of an operation and of those inside of it, in order."""
    found = _own_accesses(op, is_conditional)
    if not op.regions:
        return found
    skipped = is_conditional or _may_be_skipped(op)
    later: list[TileAccess] = []
    for region in op.regions:
        inside: list[TileAccess] = []
        for inner in (inner for block in blocks(region) for inner in operations(block)):
            inside += accesses_in(inner, skipped) if inner.regions else _own_accesses(inner, skipped)
        # Of two branches one runs: what the other one writes is not yet there when this one reads.
        reads = next((i for i, access in enumerate(inside) if access.mode is Mode.WRITE), len(inside))
        found += inside[:reads]
        later += inside[reads:]
    return found + later


def _may_be_skipped(op: Operation) -> bool:
    """True for an operation that is no part of the schedule and whose body may run not at all."""
    if isinstance(op, tirx.AtOp | tirx.KernelOp) or is_scheduling(op):
        return False
    if isinstance(op, scf.ForOp):
        lower, upper = constant_value(op.lb), constant_value(op.ub)
        return lower is None or upper is None or lower >= upper
    return True
