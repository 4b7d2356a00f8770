"""Elements of a register tile whose coordinates threads compute: shuffles within warps, and selections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from tirx.copy.register_gather import RegisterGather
from tirx.dialects.ptx.warp import ShflSyncOp
from tirx.dialects.tirx import TileType, ViewOp
from tirx.layout.axis import WARP_SIZE
from tirx.passes.copies.index_tiles import slots_of_indices
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import layout_of, zero_register
from tirx.passes.match.product import legal
from tirx.passes.match.register_gathers import register_gather
from tirx.passes.scalars.register_moves import Registers, elements_of, registers_of_elements, shuffled
from tirx.rules import StageError
from tirx.values import dataclass


def gather(
    emit: Emitter, op: ViewOp, registers: Mapping[SSAValue, Registers], threads: int, thread: SSAValue
) -> Registers:
    """The registers of a view of a register tile; 0 outside where it is clipped.

    Raises StageError where that takes shared memory.
    """
    ((dim, index),) = op.index_tiles.items()
    with legal(op):
        if (plan := register_gather(op, threads)) is None:
            raise StageError(op, "expected a view of elements in the own warp; tirx-mem2reg takes others from memory")
        slots = slots_of_indices(op, dim, layout_of(op, op.result.type), threads)
    source = TileType.of(op.source)
    elements = elements_of(emit, source, registers[op.source])
    places = [_Place.of(emit, plan, value, thread) for value in registers[index]]
    found: list[SSAValue | None] = []
    for base, slot in zip(plan.bases, slots, strict=True):
        if base is None:
            found.append(None)
            continue
        assert slot is not None, "what has a place has an index"
        value = places[slot].element(emit, [elements[base + offset] for offset in plan.offsets])
        if op.clipped is not None:
            at = registers[index][slot]
            size = emit.constant(source.dims[dim], i64 if at.type == i64 else i32)
            inside = emit.compare(at, size, "ult")
            value = emit.select(inside, value, zero_register(emit, value.type))
        found.append(value)
    return registers_of_elements(emit, op.result.type, found)


@dataclass(frozen=True)
class _Place:
    """An index read as a place: the lane, None for the own one, and the bits that choose among slots, lowest first."""

    lane: SSAValue | None
    bits: Sequence[SSAValue]

    @staticmethod
    def of(emit: Emitter, plan: RegisterGather, index: SSAValue, thread: SSAValue) -> _Place:
        """Emits the place of an index of 32 or 64 bits. Indices outside lead to some place."""
        if index.type == i64:
            index = emit(arith.TruncIOp(index, i32)).result
        zero = emit.constant(0, i32)
        bits = [emit.compare(emit.bit_and(index, 1 << bit), zero, "ne") for bit in plan.slot_bits]
        if not plan.lanes:
            return _Place(None, bits)
        lane = emit.bit_and(thread, WARP_SIZE - 1 & ~plan.mask)
        for digit in plan.lanes:
            own = emit.mul(emit.bit_and(emit.div(index, 1 << digit.first), (1 << digit.width) - 1), digit.step)
            lane = emit.add(lane, own)
        return _Place(lane, bits)

    def element(self, emit: Emitter, slots: Sequence[SSAValue]) -> SSAValue:
        """Emits the element at the place, of the slots among which the bits choose."""
        if (lane := self.lane) is not None:
            slots = [shuffled(emit, each, lambda x: emit(ShflSyncOp("idx", x, lane)).result) for each in slots]
        for bit in self.bits:
            slots = [emit.select(bit, odd, even) for even, odd in zip(slots[::2], slots[1::2], strict=True)]
        return slots[0]
