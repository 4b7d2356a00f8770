"""Registers of a tile put together from slots of another one: moves, shuffles, reductions across lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, IntegerType, Signedness, f32, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.copy.exchange import Shuffle, Way, plan_exchange, plan_reduction, plan_shuffles
from tirx.copy.slots import source_slots
from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.conversion import MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.packed import HALVES, PairOp, PairOperation, pair_features
from tirx.dialects.ptx.warp import ReduxSyncOp, ShflSyncOp
from tirx.dialects.tirx import BroadcastOp, Combination, ConvertOp, ReduceOp, TileType
from tirx.dialects.tirx.maps import scalar_type
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import LayoutError
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.register_values import RegisterFormat, layout_of, register_format, zero_register
from tirx.rules import PackedElementsError, StageError

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
    try:
        slots = source_slots(layout_of(op, result), result.dims, layout_of(op, source), source.dims, threads)
    except LayoutError as e:
        raise LocatedError(op, str(e)) from e
    return gathered(emit, result, registers, slots)


def convert(emit: Emitter, op: ConvertOp, registers: Registers, threads: int, thread: SSAValue) -> Registers:
    """The registers of a tile in another layout."""
    type_ = op.result.type
    source, result = layout_of(op, TileType.of(op.source)), layout_of(op, type_)
    bits = type_.dtype.storage_bits
    try:
        way = plan_exchange(source, result, type_.dims, bits, threads).way
        if way is Way.MOVES:
            return gathered(emit, type_, registers, source_slots(result, type_.dims, source, type_.dims, threads))
        shuffles = plan_shuffles(source, result, type_.dims, threads)
    except LayoutError as e:
        raise LocatedError(op, str(e)) from e
    if way is Way.SHARED or shuffles is None:
        raise StageError(op, "expected a change of layout within warps; run tirx-expand-exchanges first")
    return _Shuffling(emit, type_, registers, thread).run(shuffles)


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
            chosen = self.emit(arith.ConstantOp(bit_pattern(mask, 32))).result
            bit = self.emit.bit_and(self.emit(arith.ShRUIOp(chosen, self.lane)).result, 1)
            condition = self.emit.compare(bit, self.emit.constant(0, i32), "ne")
            result = self.emit.select(condition, found, result)
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
    """A register of 32 or 64 bits, shuffled as words of 32."""
    match value.type:
        case Float64Type():
            bits = shuffled(emit, emit(MovOp(value, i64)).result, shuffle)
            return emit(MovOp(bits, value.type)).result
        case IntegerType(width=width) if width.data == 64:
            halves = emit(UnpackOp(value, i32))
            return emit(PackOp(shuffle(halves.low), shuffle(halves.high))).result
        case _:
            return shuffle(value)


_FLOATS: dict[Combination, type[Operation]] = {
    Combination.ADD: arith.AddfOp,
    Combination.MUL: arith.MulfOp,
    Combination.MAX: arith.MaxnumfOp,
    Combination.MIN: arith.MinnumfOp,
}
_SIGNED: dict[Combination, type[Operation]] = {
    Combination.ADD: arith.AddiOp,
    Combination.MUL: arith.MuliOp,
    Combination.MAX: arith.MaxSIOp,
    Combination.MIN: arith.MinSIOp,
}
_UNSIGNED = _SIGNED | {Combination.MAX: arith.MaxUIOp, Combination.MIN: arith.MinUIOp}

_PAIRED: dict[Combination, PairOperation] = {
    Combination.ADD: PairOperation.ADD,
    Combination.MUL: PairOperation.MUL,
    Combination.MAX: PairOperation.MAX,
    Combination.MIN: PairOperation.MIN,
}


def _is_unsigned(element: Attribute) -> bool:
    match element:
        case IntegerType(signedness=sign):
            return sign.data is Signedness.UNSIGNED
        case _:
            return False


class ReduceEmission:
    """Reduces a register tile within each warp."""

    def __init__(self, emit: Emitter, op: ReduceOp, registers: Registers, threads: int, target: Target):
        self.emit = emit
        self.op = op
        self.source, self.result = TileType.of(op.source), op.result.type
        self.element = scalar_type(self.source.element_type)
        self.combination = op.combination.data
        self.target = target
        self.format = register_format(self.result)
        self.as_bits = self.format.packed == 1 and self.format.type != self.element
        """Whether registers keep elements as another type than that of the arithmetic: tf32, which is f32 there."""
        self.registers = [emit(MovOp(each, self.element)).result for each in registers] if self.as_bits else registers
        try:
            plan = plan_reduction(layout_of(op, self.source), self.source.dims, op.along, threads)
        except LayoutError as e:
            raise LocatedError(op, str(e)) from e
        if plan is None:
            raise StageError(op, "expected a reduction within warps; run tirx-expand-exchanges first")
        self.plan = plan
        if self.format.packed not in (1, 2):
            raise PackedElementsError(
                op, f"expected elements of 16 bits or more in a reduction, found {self.source.element_type}"
            )
        self.pairs = next((format_ for format_, element in HALVES.items() if element == self.element), None)
        if self.pairs is not None and not supports(target, *pair_features(_PAIRED[self.combination], self.pairs)):
            self.pairs = None

    def run(self) -> Registers:
        """Emits the reduction; returns the registers of the result."""
        made: list[SSAValue] = []
        groups: dict[int, list[int]] = {}
        for slot, result in enumerate(self.plan.slots):
            if result is not None:
                groups.setdefault(result, []).append(slot)
        for first in range(0, self.format.slots, self.format.packed):
            parts = [groups[slot] for slot in range(first, first + self.format.packed) if slot in groups]
            made.append(self._kept(self._across_lanes(self._register(parts))) if parts else self._zero())
        return made

    def _kept(self, register: SSAValue) -> SSAValue:
        """A combination as the registers of the result keep it."""
        return self.emit(MovOp(register, self.format.type)).result if self.as_bits else register

    def _zero(self) -> SSAValue:
        return zero_register(self.emit, self.format.type)

    def _register(self, groups: Sequence[Sequence[int]]) -> SSAValue:
        """The slots of each group combined, in one register."""
        if self.format.packed == 1:
            return self._tree([self.registers[slot] for slot in groups[0]], self._scalars)
        low, high = groups[0], groups[-1]
        if (
            self.pairs is not None
            and low is not high
            and all(a % 2 == 0 and b == a + 1 for a, b in zip(low, high, strict=True))
        ):
            return self._tree([self.registers[slot // 2] for slot in low], self._pair)
        if self.pairs is not None and low is high and self._whole_registers(low):
            # Pairs first, and then the two halves of the pair.
            both = self._tree([self.registers[slot // 2] for slot in low[::2]], self._pair)
            halves = self.emit(UnpackOp(both, self.element))
            one = self._scalars(halves.low, halves.high)
            return self.emit(PackOp(one, one)).result
        totals = [self._tree([self._element(slot) for slot in group], self._scalars) for group in (low, high)]
        return self.emit(PackOp(totals[0], totals[-1])).result

    @staticmethod
    def _whole_registers(slots: Sequence[int]) -> bool:
        return len(slots) % 2 == 0 and all(
            a % 2 == 0 and b == a + 1 for a, b in zip(slots[::2], slots[1::2], strict=True)
        )

    def _element(self, slot: int) -> SSAValue:
        halves = self.emit(UnpackOp(self.registers[slot // 2], self.element))
        return halves.high if slot % 2 else halves.low

    @staticmethod
    def _tree(values: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """The combination of all values, neighbours first: rounding errors grow with the logarithm of their number."""
        while len(values) > 1:
            pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
            values = [*pairs, *values[len(pairs) * 2 :]]
        return values[0]

    def _scalars(self, a: SSAValue, b: SSAValue) -> SSAValue:
        if isinstance(self.element, IntegerType):
            table = _UNSIGNED if _is_unsigned(self.source.element_type) else _SIGNED
        else:
            table = _FLOATS
        return self.emit(table[self.combination].create(operands=[a, b], result_types=[a.type])).results[0]

    def _pair(self, a: SSAValue, b: SSAValue) -> SSAValue:
        assert self.pairs is not None
        return self.emit(PairOp(_PAIRED[self.combination], self.pairs, [a, b])).result

    def _registers_combined(self, a: SSAValue, b: SSAValue) -> SSAValue:
        if self.format.packed == 1:
            return self._scalars(a, b)
        if self.pairs is not None:
            return self._pair(a, b)
        first, second = (self.emit(UnpackOp(value, self.element)) for value in (a, b))
        low, high = self._scalars(first.low, second.low), self._scalars(first.high, second.high)
        return self.emit(PackOp(low, high)).result

    def _across_lanes(self, register: SSAValue) -> SSAValue:
        if len(self.plan.masks) == WARP_SIZE.bit_length() - 1 and (whole := self._redux(register)) is not None:
            return whole
        for mask in self.plan.masks:
            lane = self.emit.constant(mask, i32)
            other = shuffled(self.emit, register, lambda x, lane=lane: self.emit(ShflSyncOp("bfly", x, lane)).result)
            register = self._registers_combined(register, other)
        return register

    def _redux(self, register: SSAValue) -> SSAValue | None:
        """One instruction for all lanes, where the target has it for the type."""
        if self.combination is Combination.MUL or self.format.packed > 1:
            return None
        if register.type == f32:
            usable = self.combination is not Combination.ADD and supports(self.target, "redux.sync.f32")
        else:
            usable = register.type == i32 and supports(self.target, "redux.sync")
        if not usable:
            return None
        unsigned = _is_unsigned(self.source.element_type) and self.combination is not Combination.ADD
        return self.emit(ReduxSyncOp(self.combination.value, register, unsigned=unsigned)).result


__all__ = ["ReduceEmission", "broadcast", "convert", "gathered"]
