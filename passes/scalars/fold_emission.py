"""Register tiles combined within each warp: reductions and scans, by a name or a region."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, Signedness, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation

from tirx.copy.exchange import Level, plan_reduction, plan_scan
from tirx.dialects.definition import built
from tirx.dialects.ptx.conversion import MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.packed import HALVES, PairOp, PairOperation, pair_features
from tirx.dialects.ptx.warp import ReduxSyncOp, ShflSyncOp
from tirx.dialects.tirx import Combination, ReduceOp, ScanOp, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import element_type
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.register_values import layout_of, register_format, require_inlined, zero_register
from tirx.passes.match.product import legal
from tirx.passes.scalars.register_moves import elements_of, registers_of_elements, shuffled
from tirx.rules import StageError

Registers = Sequence[SSAValue]
T = TypeVar("T")

_FLOATS: dict[Combination, type[IRDLOperation]] = {
    Combination.ADD: arith.AddfOp,
    Combination.MUL: arith.MulfOp,
    Combination.MAX: arith.MaxnumfOp,
    Combination.MIN: arith.MinnumfOp,
}
_SIGNED: dict[Combination, type[IRDLOperation]] = {
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


@cache
def _defaults(kind: type[IRDLOperation]) -> Mapping[str, Attribute]:
    """The properties of an operation that have a default, with that."""
    properties = kind.get_irdl_definition().properties.items()
    return {name: each.default_value for name, each in properties if each.default_value is not None}


Scalars = Sequence[SSAValue]
"""One scalar of each tile that is combined."""


class _Fold:
    """The combination of scalars that an operation names, or has as its region."""

    def __init__(self, emit: Emitter, op: ReduceOp | ScanOp, threads: int):
        self.emit, self.op, self.threads = emit, op, threads
        self.source = TileType.of(op.source)
        self.element = scalar_type(self.source.element_type)
        if op.body is not None:
            require_inlined(op.body.block)

    def combined(self, a: Scalars, b: Scalars) -> Scalars:
        """Emits the combination of two accumulators, of which `a` comes first."""
        how = self.op.how
        if isinstance(how, Combination):
            return [self.named(how, a[0], b[0])]
        values: dict[SSAValue, SSAValue] = dict(zip(how.block.args, (*a, *b), strict=True))
        for op in how.block.ops:
            if op is how.block.last_op:
                break
            copy = Emitter(self.emit.point, op.location)(op.clone(values))
            values.update(zip(op.results, copy.results, strict=True))
        assert (last := how.block.last_op) is not None
        return [values.get(value, value) for value in last.operands]

    def named(self, how: Combination, a: SSAValue, b: SSAValue) -> SSAValue:
        """Emits a named combination of two elements."""
        if isinstance(self.element, IntegerType):
            table = _UNSIGNED if _is_unsigned(self.source.element_type) else _SIGNED
        else:
            table = _FLOATS
        return self.emit.value(built(table[how], (a, b), (a.type,), _defaults(table[how])))

    def chosen(self, condition: SSAValue, a: Scalars, b: Scalars) -> Scalars:
        """Emits `a` where the condition holds, `b` elsewhere."""
        return [self.emit.select(condition, x, y) for x, y in zip(a, b, strict=True)]

    def shuffled(self, mode: str, values: Scalars, lane: SSAValue) -> Scalars:
        """Emits the scalars of another lane."""
        return [shuffled(self.emit, x, lambda each: self.emit(ShflSyncOp(mode, each, lane)).result) for x in values]


class RegionEmission(_Fold):
    """Reduces register tiles within each warp by a region; the accumulators of lower lanes come first."""

    def run(self, tiles: Sequence[Registers], lane: SSAValue) -> list[Registers]:
        """Emits the reduction; returns the registers of each result."""
        op = self.op
        plan = plan_reduction(layout_of(op, self.source), self.source.dims, op.along, self.threads)
        if plan is None:
            raise StageError(op, "expected a reduction within warps; run tirx-expand-exchanges first")
        elements = [elements_of(self.emit, TileType.of(tile), each) for tile, each in zip(op.ins, tiles, strict=True)]
        groups: dict[int, list[Scalars]] = {}
        for slot, result in enumerate(plan.slots):
            if result is not None:
                groups.setdefault(result, []).append([each[slot] for each in elements])
        found = {
            slot: self._across_lanes(tree(group, self.combined), plan.masks, lane) for slot, group in groups.items()
        }
        return _stored(self.emit, op.res, found)

    def _across_lanes(self, values: Scalars, masks: Sequence[int], lane: SSAValue) -> Scalars:
        for mask in masks:
            other = self.shuffled("bfly", values, self.emit.constant(mask, i32))
            # All lanes combine in one order, so that they have the same bits.
            is_upper = self.emit.compare(self.emit.bit_and(lane, mask), self.emit.constant(0, i32), "ne")
            values = self.combined(self.chosen(is_upper, other, values), self.chosen(is_upper, values, other))
        return values


def _stored(emit: Emitter, results: Sequence[SSAValue], found: Mapping[int, Scalars]) -> list[Registers]:
    """The registers of results, from the scalars of each slot."""
    made: list[Registers] = []
    for i, result in enumerate(results):
        type_ = TileType.of(result)
        values = [found[slot][i] if slot in found else None for slot in range(register_format(type_).slots)]
        made.append(registers_of_elements(emit, type_, values))
    return made


def tree(values: Sequence[T], combine: Callable[[T, T], T]) -> T:
    """The combination of all values, neighbours first: rounding errors grow with the logarithm of their number."""
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, *values[len(pairs) * 2 :]]
    return values[0]


class ScanEmission(_Fold):
    """Scans register tiles within each warp.

    Totals of the inner levels of a line are made first, and then what comes before each of them. A prefix of None
    stands for nothing before: elements are taken as they are. A prefix may be there for some lanes only, and then has
    the condition of those that lack it.
    """

    def __init__(self, emit: Emitter, op: ScanOp, tiles: Mapping[SSAValue, Registers], threads: int, thread: SSAValue):
        super().__init__(emit, op, threads)
        self.scan = op
        plan = plan_scan(layout_of(op, self.source), self.source.dims, op.along[0], threads)
        if plan is None:
            raise StageError(op, "expected a scan within warps; run tirx-expand-exchanges first")
        self.plan, self.thread = plan, thread
        self.elements, self.inits = (
            [elements_of(emit, TileType.of(tile), tiles[tile]) for tile in given] for given in (op.ins, op.inits)
        )
        self.reverse = op.reverse is not None
        self.known: dict[tuple[int, int, bool], Scalars] = {}
        self.found: dict[int, Scalars] = {}

    def run(self) -> list[Registers]:
        """Emits the scan; returns the registers of the scanned tiles and of the totals."""
        totals: dict[int, Scalars] = {}
        for line, total in self.plan.lines:
            start = _Prefix([each[total] for each in self.inits]) if self.inits else None
            totals[total] = self._scanned(0, line, start).values
        return _stored(self.emit, self.scan.scanned, self.found) + _stored(self.emit, self.scan.totals, totals)

    def _order(self, level: Level, slot: int) -> list[int]:
        slots = [slot + i * level.slots for i in range(level.extent)]
        return slots[::-1] if self.reverse else slots

    def _total(self, depth: int, slot: int) -> Scalars:
        """Everything of a line from a level inwards, in the order of the scan."""
        if depth == len(self.plan.levels):
            return [each[slot] for each in self.elements]
        if (key := (depth, slot, False)) not in self.known:
            level = self.plan.levels[depth]
            if level.lanes:
                mask = (level.extent - 1) * level.lanes
                lane = self.emit.mod(self.thread, WARP_SIZE)
                last = self.emit.bit_and(lane, WARP_SIZE - 1 - mask)
                last = last if self.reverse else self.emit.add(last, mask)
                self.known[key] = self.shuffled("idx", self._of_lanes(depth, slot), last)
            else:
                first, *rest = [self._total(depth + 1, each) for each in self._order(level, slot)]
                for each in rest:
                    first = self.combined(first, each)
                self.known[key] = first
        return self.known[key]

    def _position(self, level: Level) -> SSAValue:
        """The number of lanes of a level before the own one."""
        at = self.emit.mod(self.emit.div(self.thread, level.lanes), level.extent)
        return self.emit.xor(at, level.extent - 1) if self.reverse else at

    def _of_lanes(self, depth: int, slot: int) -> Scalars:
        """Everything of a level of lanes up to the own one."""
        if (key := (depth, slot, True)) not in self.known:
            level = self.plan.levels[depth]
            values, at, distance = self._total(depth + 1, slot), self._position(level), 1
            while distance < level.extent:
                other = self._before(level, values, distance)
                reaches = self.emit.compare(at, self.emit.constant(distance, i32), "sge")
                values = self.chosen(reaches, self.combined(other, values), values)
                distance *= 2
            self.known[key] = values
        return self.known[key]

    def _before(self, level: Level, values: Scalars, distance: int) -> Scalars:
        lanes = self.emit.constant(distance * level.lanes, i32)
        return self.shuffled("down" if self.reverse else "up", values, lanes)

    def _scanned(self, depth: int, slot: int, before: _Prefix | None) -> _Prefix:
        """Emits the accumulators from a level inwards; returns the last one."""
        if depth == len(self.plan.levels):
            element = [each[slot] for each in self.elements]
            last = self._after(before, element)
            if self.scan.exclusive is None:
                self.found[slot] = last.values
            else:
                self.found[slot] = self._identity() if before is None else before.values
            return last
        level = self.plan.levels[depth]
        if not level.lanes:
            after = before
            for each in self._order(level, slot):
                after = self._scanned(depth + 1, each, after)
            assert after is not None, "a level has an element"
            return after
        others = self._before(level, self._of_lanes(depth, slot), 1)
        is_first = self.emit.compare(self._position(level), self.emit.constant(0, i32), "eq")
        if before is not None:
            own = _Prefix(self.chosen(is_first, before.values, self._after(before, others).values), before.missing)
            if before.missing is not None:
                own = own._replace(missing=self.emit.bit_and(before.missing, is_first))
        elif self.scan.combination is not None:
            own = _Prefix(self.chosen(is_first, self._identity(), others))
        else:
            own = _Prefix(others, is_first)
        self._scanned(depth + 1, slot, own)
        return self._after(before, self._total(depth, slot))

    def _after(self, before: _Prefix | None, values: Scalars) -> _Prefix:
        if before is None:
            return _Prefix(values)
        both = self.combined(before.values, values)
        return _Prefix(both if before.missing is None else self.chosen(before.missing, values, both))

    def _identity(self) -> Scalars:
        how = self.scan.how
        assert isinstance(how, Combination), "the verifier asks for an init"
        return [self.emit(arith.ConstantOp(identity(how, self.source.element_type))).result]


class _Prefix(NamedTuple):
    """The accumulators before a part of a line, and the condition of the lanes that have none."""

    values: Scalars
    missing: SSAValue | None = None


def identity(how: Combination, element: Attribute) -> FloatAttr | IntegerAttr[IntegerType]:
    """The element that combines with every other to that one."""
    type_ = scalar_type(element)
    if isinstance(type_, AnyFloat):
        # Of two numbers of which one is NaN, max and min give the other; -0.0 + 0.0 is 0.0.
        return FloatAttr({Combination.ADD: -0.0, Combination.MUL: 1.0}.get(how, float("nan")), type_)
    bits = element_type(str(element)).bits
    least, most = (0, -1) if _is_unsigned(element) else (-1 << bits - 1, (1 << bits - 1) - 1)  # -1: all bits
    found = {Combination.ADD: 0, Combination.MUL: 1, Combination.MAX: least, Combination.MIN: most}[how]
    return bit_pattern(found & (1 << bits) - 1, bits)


class ReduceEmission(_Fold):
    """Reduces a register tile within each warp by a named combination."""

    def __init__(self, emit: Emitter, op: ReduceOp, registers: Registers, threads: int, target: Target):
        super().__init__(emit, op, threads)
        assert op.combination is not None
        self.result = TileType.of(op.res[0])
        self.combination = op.combination.data
        self.target = target
        self.format = register_format(self.result)
        self.as_bits = self.format.packed == 1 and self.format.type != self.element
        """Whether registers keep elements as another type than that of the arithmetic: tf32, which is f32 there."""
        self.registers = [emit(MovOp(each, self.element)).result for each in registers] if self.as_bits else registers
        with legal(op):
            plan = plan_reduction(layout_of(op, self.source), self.source.dims, op.along, threads)
        if plan is None:
            raise StageError(op, "expected a reduction within warps; run tirx-expand-exchanges first")
        self.plan = plan
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
            return tree([self.registers[slot] for slot in groups[0]], self._scalars)
        low, high = groups[0], groups[-1]
        if (
            self.pairs is not None
            and low is not high
            and all(a % 2 == 0 and b == a + 1 for a, b in zip(low, high, strict=True))
        ):
            return tree([self.registers[slot // 2] for slot in low], self._pair)
        if self.pairs is not None and low is high and self._whole_registers(low):
            # Pairs first, and then the two halves of the pair.
            both = tree([self.registers[slot // 2] for slot in low[::2]], self._pair)
            halves = self.emit(UnpackOp(both, self.element))
            one = self._scalars(halves.low, halves.high)
            return self.emit(PackOp(one, one)).result
        totals = [tree([self._element(slot) for slot in group], self._scalars) for group in (low, high)]
        return self.emit(PackOp(totals[0], totals[-1])).result

    @staticmethod
    def _whole_registers(slots: Sequence[int]) -> bool:
        return len(slots) % 2 == 0 and all(
            a % 2 == 0 and b == a + 1 for a, b in zip(slots[::2], slots[1::2], strict=True)
        )

    def _element(self, slot: int) -> SSAValue:
        halves = self.emit(UnpackOp(self.registers[slot // 2], self.element))
        return halves.high if slot % 2 else halves.low

    def _scalars(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.named(self.combination, a, b)

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
