"""Registers of a tile put together from slots of another one: moves, shuffles, selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, IntAttr, IntegerType, f64, i8, i16, i32, i64
from xdsl.ir import SSAValue

from tirx.copy.exchange import Selection, Shuffle, Way, moved_slots, plan_exchange, plan_selections, plan_shuffles
from tirx.copy.slots import source_slots
from tirx.dialects.ptx.conversion import MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.warp import ShflSyncOp
from tirx.dialects.tirx import BitcastOp, BroadcastOp, ConcatOp, ConvertOp, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.tirx.parts import slots_of
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.register_values import RegisterFormat, layout_of, register_format, zero_register
from tirx.passes.match.product import legal
from tirx.passes.scalars.narrow_numbers import narrow_format
from tirx.rules import StageError

Registers = Sequence[SSAValue]


def gathered(emit: Emitter, type_: TileType, registers: Registers, slots: Sequence[int | None]) -> Registers:
    """The registers of a tile of `type_` whose slot i is slot `slots[i]` of `registers`, of the same element type."""
    format_ = register_format(type_)
    made: list[SSAValue] = []
    for first in range(0, format_.slots, format_.packed):
        wanted = [slots[s] if s < len(slots) else None for s in range(first, first + format_.packed)]
        made.append(_register(emit, format_, type_.dtype.storage_bits, registers, wanted))
    return made


def _register(
    emit: Emitter, format_: RegisterFormat, bits: int, registers: Registers, wanted: Sequence[int | None]
) -> SSAValue:
    """One register of the slots `wanted`, those that are None with any contents."""
    known = [slot for slot in wanted if slot is not None]
    if not known:
        return zero_register(emit, format_.type)
    packed = format_.packed
    start = next(slot - i for i, slot in enumerate(wanted) if slot is not None)
    if start % packed == 0 and all(slot in (None, start + i) for i, slot in enumerate(wanted)):
        return registers[start // packed]
    if packed == 2:
        low, high = (_half(emit, registers, known[0] if slot is None else slot) for slot in wanted)
        return emit(PackOp(low, high)).result
    whole: SSAValue | None = None
    for i, slot in enumerate(wanted):
        if slot is None:
            continue
        part = emit.bit_and(emit.div(registers[slot // packed], 1 << slot % packed * bits), (1 << bits) - 1)
        part = emit.mul(part, 1 << i * bits)
        whole = part if whole is None else emit.bit_or(whole, part)
    assert whole is not None
    return whole


def _half(emit: Emitter, registers: Registers, slot: int) -> SSAValue:
    halves = emit(UnpackOp(registers[slot // 2], i16))
    return halves.high if slot % 2 else halves.low


def broadcast(emit: Emitter, op: BroadcastOp, registers: Registers, threads: int) -> Registers:
    """The registers of a tile whose elements are repeated."""
    source, result = TileType.of(op.source), op.result.type
    with legal(op):
        slots = source_slots(layout_of(op, result), result.dims, layout_of(op, source), source.dims, threads)
    return gathered(emit, result, registers, slots)


def convert(emit: Emitter, op: ConvertOp, registers: Registers, threads: int, thread: SSAValue) -> Registers:
    """The registers of a tile in another layout."""
    type_ = op.result.type
    source, result = layout_of(op, TileType.of(op.source)), layout_of(op, type_)
    ends = source, result, type_.dims
    with legal(op):
        way = plan_exchange(*ends, type_.dtype.storage_bits, threads, op.arranged).way
        if way is Way.MOVES and (slots := moved_slots(*ends, threads, op.arranged)) is not None:
            return gathered(emit, type_, registers, slots)
        if way is Way.SELECTIONS and (selections := plan_selections(*ends, threads, op.arranged)) is not None:
            return _selected(emit, TileType.of(op.source), type_, registers, selections, emit.div(thread, WARP_SIZE))
        shuffles = plan_shuffles(*ends, threads, op.arranged)
    if way is Way.SHARED or shuffles is None:
        raise StageError(op, "expected a change of layout within warps; run tirx-expand-exchanges first")
    return _Shuffling(emit, type_, registers, thread).run(shuffles)


def _selected(
    emit: Emitter,
    source: TileType,
    type_: TileType,
    registers: Registers,
    selections: Sequence[Selection],
    warp: SSAValue,
) -> Registers:
    """The registers of a tile whose slots the warp chooses."""
    elements = elements_of(emit, source, registers)
    chosen: list[SSAValue | None] = []
    for selection in selections:
        value: SSAValue | None = None
        for slot, warps in selection:
            found = elements[slot]
            value = found if value is None else emit.select(_bit(emit, warps, warp), found, value)
        chosen.append(value)
    return registers_of_elements(emit, type_, chosen)


def _bit(emit: Emitter, mask: int, at: SSAValue) -> SSAValue:
    """Emits if a bit of a mask is set."""
    table = emit(arith.ConstantOp(bit_pattern(mask, 32))).result
    return emit.compare(emit.bit_and(emit(arith.ShRUIOp(table, at)).result, 1), emit.constant(0, i32), "ne")


def elements_of(emit: Emitter, type_: TileType, registers: Registers) -> list[SSAValue]:
    """The scalars of a tile of elements of 16 bits or more, by slot."""
    format_, element = register_format(type_), scalar_type(type_.element_type)
    if format_.packed == 2:
        halves = [emit(UnpackOp(register, element)) for register in registers]
        return [half for both in halves for half in (both.low, both.high)]
    # tf32 is kept as bits
    return [each if format_.type == element else emit(MovOp(each, element)).result for each in registers]


def element(emit: Emitter, type_: TileType, registers: Registers) -> SSAValue:
    """The scalar in the first slot of a tile of elements of 8 bits or more."""
    found = scalar_type(type_.element_type)
    if found == i8 or narrow_format(found) is not None:
        byte = emit(arith.TruncIOp(registers[0], i8)).result
        return emit.retyped(byte, found)
    return elements_of(emit, type_, registers)[0]


def registers_of_elements(emit: Emitter, type_: TileType, values: Sequence[SSAValue | None]) -> Registers:
    """The registers of a tile of elements of 16 bits or more from its scalars, of which some may be missing."""
    format_, element = register_format(type_), scalar_type(type_.element_type)
    made: list[SSAValue] = []
    for first in range(0, format_.slots, format_.packed):
        known = [value for value in values[first : first + format_.packed] if value is not None]
        if not known:
            made.append(zero_register(emit, format_.type))
        elif format_.packed == 2:
            made.append(emit(PackOp(known[0], known[-1])).result)
        else:
            made.append(known[0] if format_.type == element else emit(MovOp(known[0], format_.type)).result)
    return made


def joined(emit: Emitter, op: ConcatOp, tiles: Sequence[Registers]) -> Registers:
    """The registers of tiles behind each other, of which each takes slots of its own."""
    type_ = TileType.of(op.ins[0])
    format_, count = register_format(type_), slots_of(layout_of(op, type_))
    slots = [i * format_.slots + slot for i in range(len(tiles)) for slot in range(count)]
    return gathered(emit, op.result.type, [register for tile in tiles for register in tile], slots)


def bitcast(emit: Emitter, op: BitcastOp, registers: Registers) -> Registers:
    """The same bits in registers of other types."""
    format_ = register_format(op.result.type)
    if format_.type in (f64, i64) and format_.count < len(registers):
        pairs = zip(registers[::2], registers[1::2], strict=True)
        words = [[emit(MovOp(each, i32)).result for each in pair] for pair in pairs]
        registers = [emit(PackOp(*pair)).result for pair in words]
    elif format_.count > len(registers):
        words = [emit(UnpackOp(emit(MovOp(each, i64)).result, i32)) for each in registers]
        registers = [half for both in words for half in (both.low, both.high)]
    return [each if each.type == format_.type else emit(MovOp(each, format_.type)).result for each in registers]


class _Shuffling:
    """Fills slots from those of other lanes."""

    def __init__(self, emit: Emitter, type_: TileType, registers: Registers, thread: SSAValue):
        self.emit = emit
        self.format = register_format(type_)
        self.registers = registers
        self.lane = emit.mod(thread, WARP_SIZE)
        self.lanes: dict[tuple[int, ...], SSAValue] = {}

    def run(self, shuffles: Sequence[Shuffle | None]) -> Registers:
        if self.format.packed == 1:
            slots = [zero_register(self.emit, self.format.type) if s is None else self._slot(s) for s in shuffles]
            missing = self.format.count - len(slots)
            return slots + [zero_register(self.emit, self.format.type)] * missing
        return [self._pair(low, high) for low, high in zip_longest(shuffles[::2], shuffles[1::2])]

    def _pair(self, low: Shuffle | None, high: Shuffle | None) -> SSAValue:
        if low is None and high is None:
            return zero_register(self.emit, i32)
        if low is not None and high is not None and low.lanes == high.lanes:
            paired = [
                (a // 2, mask)
                for (a, mask), (b, other) in zip(low.sources, high.sources, strict=False)
                if a % 2 == 0 and b == a + 1 and mask == other
            ]
            if len(paired) == len(low.sources) == len(high.sources):
                return self._selected(low, [(self.registers[register], mask) for register, mask in paired])
        halves = [self._half(shuffle) for shuffle in (low, high) if shuffle is not None]
        return self.emit(PackOp(halves[0], halves[-1])).result

    def _half(self, shuffle: Shuffle) -> SSAValue:
        """One element of 16 bits; both halves of the register that is shuffled are in it."""
        words: list[tuple[SSAValue, int]] = []
        for slot, mask in shuffle.sources:
            half = _half(self.emit, self.registers, slot)
            words.append((self.emit(PackOp(half, half)).result, mask))
        return self.emit(UnpackOp(self._selected(shuffle, words), i16)).low

    def _slot(self, shuffle: Shuffle) -> SSAValue:
        return self._selected(shuffle, [(self.registers[slot], mask) for slot, mask in shuffle.sources])

    def _selected(self, shuffle: Shuffle, words: Sequence[tuple[SSAValue, int]]) -> SSAValue:
        """Emits the value of the lane that is read, in the word that the own lane chooses."""
        result: SSAValue | None = None
        for word, mask in words:
            found = shuffled(self.emit, word, lambda x: self._shuffle(shuffle, x))
            if result is None:
                result = found
                continue
            result = self.emit.select(_bit(self.emit, mask, self.lane), found, result)
        assert result is not None
        return result

    def _shuffle(self, shuffle: Shuffle, word: SSAValue) -> SSAValue:
        if (distance := shuffle.distance) is not None:
            return self.emit(ShflSyncOp("bfly", word, self.emit.constant(distance, i32))).result
        return self.emit(ShflSyncOp("idx", word, self._source_lane(shuffle.lanes))).result

    def _source_lane(self, lanes: tuple[int, ...]) -> SSAValue:
        """The entry of a table of lanes for the own lane, bit by bit."""
        if lanes not in self.lanes:
            result: SSAValue | None = None
            for bit in range(WARP_SIZE.bit_length() - 1):
                mask = sum((lane >> bit & 1) << own for own, lane in enumerate(lanes))
                if mask == 0:
                    continue
                table = self.emit(arith.ConstantOp(bit_pattern(mask, 32))).result
                one = self.emit.bit_and(self.emit(arith.ShRUIOp(table, self.lane)).result, 1)
                one = self.emit.mul(one, 1 << bit)
                result = one if result is None else self.emit.bit_or(result, one)
            self.lanes[lanes] = zero_register(self.emit, i32) if result is None else result
        return self.lanes[lanes]


def shuffled(emit: Emitter, value: SSAValue, shuffle: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """A scalar of 16, 32 or 64 bits, shuffled as words of 32."""
    match value.type:
        case Float64Type():
            bits = shuffled(emit, emit(MovOp(value, i64)).result, shuffle)
            return emit(MovOp(bits, value.type)).result
        case IntegerType(width=width) if width.data == 64:
            halves = emit(UnpackOp(value, i32))
            return emit(PackOp(shuffle(halves.low), shuffle(halves.high))).result
        case Float16Type() | BFloat16Type() | IntegerType(width=IntAttr(data=16)):
            return emit(UnpackOp(shuffle(emit(PackOp(value, value)).result), value.type)).low
        case _:
            return shuffle(value)
