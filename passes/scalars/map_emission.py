"""Maps over register tiles as scalar operations of every thread, and as packed ones where two elements fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType, bf16, f16, f32, f64, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.copy.access import THREAD_VARIABLE, plan_accesses
from tirx.copy.slots import source_slots
from tirx.dialects.definition import fill, item, quicken
from tirx.dialects.ptx.conversion import MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.packed import (
    HALVES,
    NARROW_FEATURES,
    CvtPairOp,
    PairFormat,
    PairOp,
    PairOperation,
    pair_features,
)
from tirx.dialects.tirx import IndexOp, MapOp, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.xdsl_private import operands_of, type_of
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import Iter, TileLayout
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.index_emission import IndexEmission
from tirx.passes.ir.register_values import (
    REGISTER_BITS,
    RegisterFormat,
    layout_of,
    register_format,
    require_inlined,
    zero_register,
)
from tirx.passes.match.product import legal
from tirx.passes.scalars.byte_floats import BY_INTEGERS, halves_of_bytes
from tirx.passes.scalars.fast_math import may_approximate
from tirx.passes.scalars.narrow_numbers import narrow_format
from tirx.passes.scalars.nibbles import NIBBLE, has_pairs, nibble, packed_nibbles, pair_of_floats
from tirx.rules import NoFormError, PackedElementsError
from tirx.values import dataclass, field

_FORMAT_OF: dict[Attribute, PairFormat] = {element: format_ for format_, element in HALVES.items()}

_PACKED: dict[type[Operation], PairOperation] = {
    arith.AddfOp: PairOperation.ADD,
    arith.SubfOp: PairOperation.SUB,
    arith.MulfOp: PairOperation.MUL,
    arith.MinnumfOp: PairOperation.MIN,
    arith.MaxnumfOp: PairOperation.MAX,
    arith.MinimumfOp: PairOperation.MIN_NAN,
    arith.MaximumfOp: PairOperation.MAX_NAN,
    arith.NegfOp: PairOperation.NEG,
    math.FmaOp: PairOperation.FMA,
    math.AbsFOp: PairOperation.ABS,
    math.Exp2Op: PairOperation.EX2,
    math.TanhOp: PairOperation.TANH,
}
"""Operations that f16x2 and bf16x2 have, where the target does."""


_AS_FMA: dict[PairOperation, int] = {
    PairOperation.ADD: 0x3F80,
    PairOperation.SUB: 0xBF80,
    PairOperation.MUL: 0x8000,
}
"""Arithmetic on bf16 that sm_80 has as fma only, with the constant (1, -1 or -0, as bits) that makes it one."""


@dataclass
class _Two:
    """The values of two neighbouring slots: as two scalars, as one packed register, or both once they are needed.

    Of two i4 `nibbles` are the registers that have them, each with the place of the element there.
    """

    low: SSAValue | None = None
    high: SSAValue | None = None
    packed: SSAValue | None = None
    nibbles: tuple[tuple[SSAValue, int], tuple[SSAValue, int]] | None = field(default=None, kw_only=True)

    @property
    def is_one(self) -> bool:
        """Returns True if both slots have the same value."""
        return self.low is not None and self.low is self.high


_Held = tuple[RegisterFormat, Sequence[SSAValue], Attribute, bool]
"""How a tile is held, its registers, its elements as scalars, and whether each register has one element as it is."""

_SPECIAL = (IndexOp, arith.TruncFOp, arith.ExtFOp, arith.SIToFPOp, arith.UIToFPOp)
"""Operations that may be done to two elements at a time, or to packed ones, by instructions of their own."""


class _Step:
    """An operation of a map, with what all of its copies have in common; of another type than its own if one is given.

    `is_plain` is True for one that is always done to each element by itself.
    """

    def __init__(self, op: Operation, type_: Attribute | None = None):
        self.op = op
        self.operands = operands_of(op)
        self.types = [type_ or type_of(result) for result in op.results]
        quicken(type(op))
        types = [*map(type_of, self.operands), *self.types]
        is_half = _FORMAT_OF.get(types[-1]) is not None
        is_special = isinstance(op, _SPECIAL) or (is_half and (type(op) in _PACKED or op.name.startswith("math.")))
        self.is_plain = not is_special and all(narrow_format(type_) is None for type_ in types)

    def emit(self, emit: Emitter, operands: Sequence[SSAValue]) -> SSAValue:
        """Emits the operation on other operands, for the passes that lower arith and math."""
        op = self.op
        copy = type(op).__new__(type(op))
        fill(copy, operands, self.types, op.properties.copy())
        copy.location = op.location
        emit.put(copy)
        if op.attributes:
            copy.attributes = op.attributes.copy()
        return item(copy.results, 0)


class MapEmission:
    """Computes one map in every thread, two slots at a time.

    `registers` has the registers of the operands, `threads` threads run the map and `thread` is the index of one among
    them (i32).
    """

    def __init__(
        self,
        emit: Emitter,
        op: MapOp,
        registers: Mapping[SSAValue, Sequence[SSAValue]],
        threads: int,
        thread: SSAValue,
        target: Target,
    ):
        self.emit = emit
        self.op = op
        self.registers = registers
        self.threads = threads
        self.thread = thread
        self.target = target
        self.whole = op.out_types[0]
        self.slots = [self._slots(tile) for tile in op.ins]
        self.used = self._slots(op.res[0])
        self.indices: dict[int, list[SSAValue | None]] = {}
        self.same: dict[SSAValue, SSAValue] = {}  # what is the same for all elements
        self.emission: IndexEmission | None = None

    def _slots(self, tile: SSAValue) -> Sequence[int | None]:
        """The slot of an operand for each slot of the results, None where they have none."""
        type_, whole = TileType.of(tile), self.whole
        with legal(self.op):
            return source_slots(
                layout_of(self.op, whole), whole.dims, layout_of(self.op, type_), type_.dims, self.threads
            )

    def run(self) -> list[Sequence[SSAValue]]:
        """Emits the map; returns the registers of each result."""
        require_inlined(self.op.body.block)
        body = [op for op in self.op.body.block.ops if op is not self.op.body.block.last_op]
        varying = [(item(op.results, 0), _Step(op)) for op in self._emit_same(body)]
        operands = [*zip(self.op.body.block.args, map(self._held, self.op.ins), self.slots, strict=True)]
        yielded = tuple(self.op.yielded)
        results: list[dict[int, _Two]] = [{} for _ in yielded]
        for slot, low, high in self._pairs():
            values: dict[SSAValue, _Two] = {}
            for argument, held, slots in operands:
                values[argument] = self._operand(held, slots[low], slots[high])
            for value, step in varying:
                values[value] = (
                    self._of_each(step, values) if step.is_plain else self._operation(step, values, low, high)
                )
            for result, value in zip(results, yielded, strict=True):
                result[slot] = self._value(value, values)
        return [self._registers(TileType.of(tile), result) for tile, result in zip(self.op.res, results, strict=True)]

    def _pairs(self) -> Iterator[tuple[int, int, int]]:
        """Slots two at a time: the even one, and those to compute; of an empty and a full one, the full one twice."""
        for slot in range(0, len(self.used), 2):
            full = [s for s in (slot, slot + 1) if s < len(self.used) and self.used[s] is not None]
            if full:
                yield slot, full[0], full[-1]

    # Values that do not depend on the element.

    def _emit_same(self, body: Sequence[Operation]) -> list[Operation]:
        """Emits what is the same for all elements; returns the other operations."""
        arguments = set(self.op.body.block.args)
        varying: list[Operation] = []
        depends: set[SSAValue] = set(arguments)
        for op in body:
            is_narrow = any(narrow_format(result.type) is not None for result in op.results)  # made two at a time
            if is_narrow or isinstance(op, IndexOp) or not depends.isdisjoint(operands_of(op)):
                varying.append(op)
                depends |= set(op.results)
            else:
                operands = [self.same.get(value, value) for value in operands_of(op)]
                self.same[op.results[0]] = _Step(op).emit(self.emit, operands)
        return varying

    def _value(self, value: SSAValue, values: Mapping[SSAValue, _Two]) -> _Two:
        if value in values:
            return values[value]
        same = self.same.get(value, value)
        return _Two(same, same)

    # Operations on two elements.

    def _of_each(self, step: _Step, values: Mapping[SSAValue, _Two]) -> _Two:
        """The operation on each of two elements; on one if they are the same."""
        lows: list[SSAValue] = []
        highs: list[SSAValue] = []
        same = True
        for value in step.operands:
            if (two := values.get(value)) is None:
                low = high = self.same.get(value, value)
            else:
                if two.low is None:
                    self._split(two, type_of(value))
                low, high = two.low, two.high
                assert low is not None and high is not None
                same = same and low is high
            lows.append(low)
            highs.append(high)
        first = step.emit(self.emit, lows)
        return _Two(first, first if same else step.emit(self.emit, highs))

    def _operation(self, step: _Step, values: Mapping[SSAValue, _Two], low: int, high: int) -> _Two:
        op, sources = step.op, step.operands
        if isinstance(op, IndexOp):
            indices = self._indices(op)
            return _Two(indices[low], indices[high])
        operands = [self._value(value, values) for value in sources]
        if isinstance(op, arith.TruncFOp) and (two := self._narrowed(op, operands[0])) is not None:
            return two
        if isinstance(op, arith.ExtFOp) and (two := self._widened(op, operands[0])) is not None:
            return two
        if isinstance(op, arith.SIToFPOp | arith.UIToFPOp) and (at := operands[0].nibbles) is not None:
            if has_pairs(self.target, type_ := op.results[0].type):
                emit = Emitter(self.emit.point, op.location)
                return _Two(packed=pair_of_floats(emit, *at, type_, signed=isinstance(op, arith.SIToFPOp)))
        if (two := self._packed_operation(op, operands)) is not None:
            return two
        if op.name.startswith("math.") and op.results[0].type in (f16, bf16) and not isinstance(op, math.FmaOp):
            return self._in_f32(op, operands)
        for value in (*sources, *op.results):
            if narrow_format(value.type) is not None:
                raise NoFormError(op, f"expected arith.extf and arith.truncf only on {value.type}, found '{op.name}'")
        return self._of_each(step, values)

    def _packed_operation(self, op: Operation, operands: Sequence[_Two]) -> _Two | None:
        """One instruction for both elements, if there is one and its operands differ between the two."""
        if (operation := _PACKED.get(type(op))) is None:
            return None
        format_ = _FORMAT_OF.get(op.results[0].type)
        if format_ is None or all(two.is_one for two in operands):
            return None
        if not supports(self.target, *pair_features(operation, format_)) and not (
            format_ is PairFormat.BF16X2
            and operation in _AS_FMA
            and supports(self.target, *pair_features(PairOperation.FMA, format_))
        ):
            return None
        if operation in (PairOperation.EX2, PairOperation.TANH) and not may_approximate(op):
            return None
        packed = [self._packed(two, value.type) for two, value in zip(operands, op.operands, strict=True)]
        if not supports(self.target, *pair_features(operation, format_)):
            first, second = packed
            by = self.emit(ConstantOp(bit_pattern(_AS_FMA[operation] * 0x10001, 32))).result
            packed = {
                PairOperation.ADD: [first, by, second],
                PairOperation.SUB: [second, by, first],
                PairOperation.MUL: [first, second, by],
            }[operation]
            operation = PairOperation.FMA
        return _Two(packed=Emitter(self.emit.point, op.location)(PairOp(operation, format_, packed)).result)

    def _in_f32(self, op: Operation, operands: Sequence[_Two]) -> _Two:
        """A function of 16-bit elements, computed in f32 and rounded two at a time."""
        type_ = op.results[0].type
        wide: list[_Two] = []
        for two, value in zip(operands, op.operands, strict=True):
            low = self.emit(arith.ExtFOp(self._low(two, value.type), f32)).result
            wide.append(_Two(low, low if two.is_one else self.emit(arith.ExtFOp(self._high(two), f32)).result))
        step = _Step(op, f32)
        low = step.emit(self.emit, [self._low(two, f32) for two in wide])
        if all(two.is_one for two in wide):
            low = self.emit(arith.TruncFOp(low, type_)).result
            return _Two(low, low)
        result = _Two(low, step.emit(self.emit, [self._high(two) for two in wide]))
        return self._rounded(result, _FORMAT_OF[type_], type_)

    def _rounded(self, two: _Two, format_: PairFormat, type_: Attribute) -> _Two:
        """Two f32 rounded to 16 bits, by one instruction where the target has it."""
        if supports(self.target, NARROW_FEATURES[format_]):
            return _Two(packed=self.emit(CvtPairOp(format_, self._low(two, f32), self._high(two))).result)
        return _Two(*(self.emit(arith.TruncFOp(value, type_)).result for value in (two.low, two.high) if value))

    def _narrowed(self, op: arith.TruncFOp, operand: _Two) -> _Two | None:
        """Both elements rounded by one instruction; None where two of one element do it."""
        source, target = op.operands[0].type, op.results[0].type
        format_ = _FORMAT_OF.get(target) or narrow_format(target)
        if format_ is None:
            return None
        if format_ in HALVES:
            if source != f32 or operand.is_one or not supports(self.target, NARROW_FEATURES[format_]):
                return None
        elif source in (f16, bf16):
            # f32 has all numbers of both, so that rounding is done once.
            low, high = self._low(operand, source), self._high(operand)
            operand = _Two(*(self.emit(arith.ExtFOp(value, f32)).result for value in (low, high)))
        elif source != f32:
            raise PackedElementsError(op, f"expected f16, bf16 or f32 to convert to {target}, found {source}")
        made = self.emit(CvtPairOp(format_, self._low(operand, f32), self._high(operand)))
        made.location = op.location
        return _Two(packed=made.result)

    def _widened(self, op: arith.ExtFOp, operand: _Two) -> _Two | None:
        """Elements of a byte by way of f16, which has all their numbers; None for wider ones."""
        source, target = op.operands[0].type, op.results[0].type
        if (format_ := narrow_format(source)) is None:
            return None
        if target not in (f16, bf16, f32, f64):
            raise PackedElementsError(op, f"expected f16, bf16, f32 or f64 to convert {source} to, found {target}")
        emit = Emitter(self.emit.point, op.location)
        by_integers = format_ in BY_INTEGERS and not supports(self.target, BY_INTEGERS[format_])
        halves = _Two(packed=halves_of_bytes(emit, format_, self._packed(operand, source), by_integers))
        middle = bf16 if format_ is PairFormat.UE8M0X2 else f16
        if target == middle:
            return halves
        scalars = [self._low(halves, middle), self._high(halves)]
        wide = [emit(arith.ExtFOp(value, f32)).result for value in scalars]
        if target == f32:
            return _Two(*wide)
        if target in (f16, bf16):
            return _Two(*(emit(arith.TruncFOp(value, target)).result for value in wide))
        return _Two(*(emit(arith.ExtFOp(value, target)).result for value in wide))

    def _low(self, two: _Two, type_: Attribute) -> SSAValue:
        if two.low is None:
            self._split(two, type_)
        assert two.low is not None
        return two.low

    @staticmethod
    def _high(two: _Two) -> SSAValue:
        assert two.high is not None, "of which the first element was asked for"
        return two.high

    def _split(self, two: _Two, type_: Attribute) -> None:
        if two.nibbles is not None:
            two.low, two.high = (nibble(self.emit, *each) for each in two.nibbles)
            return
        assert two.packed is not None
        halves = self.emit(UnpackOp(two.packed, type_))
        two.low, two.high = halves.low, halves.high

    def _packed(self, two: _Two, type_: Attribute) -> SSAValue:
        if two.packed is None:
            two.packed = self.emit(PackOp(self._low(two, type_), self._high(two))).result
        return two.packed

    # Indices.

    def _indices(self, op: IndexOp) -> list[SSAValue | None]:
        """The coordinate of every slot along a dimension, as index values."""
        dim = op.dim.value.data
        if dim not in self.indices:
            dims = self.whole.dims
            along = TileLayout([Iter(n, int(d == dim), "m") for d, n in enumerate(dims)])
            with legal(op):
                # Elements of 4 bytes that are read one by one.
                plan = plan_accesses(layout_of(self.op, self.whole), along, dims, 32, self.threads, 4, 4)
            if self.emission is None:
                self.emission = IndexEmission(self.emit, {THREAD_VARIABLE: self.thread}, i32)
            found: list[SSAValue | None] = [None] * len(self.used)
            for access in plan.accesses:
                at = self.emit.add(self.emission(access.base), access.const)
                found[access.register] = self.emit.cast(at, IndexType())
            self.indices[dim] = found
        return self.indices[dim]

    # Registers.

    def _held(self, tile: SSAValue) -> _Held:
        type_ = TileType.of(tile)
        format_, element = register_format(type_), scalar_type(type_.element_type)
        return format_, self.registers[tile], element, format_.packed == 1 and format_.type == element

    def _operand(self, held: _Held, low: int | None, high: int | None) -> _Two:
        """The elements of an operand in two slots."""
        assert low is not None and high is not None
        format_, registers, element, is_itself = held
        if format_.packed == 1:
            first, second = registers[low], registers[high]
            if not is_itself:  # tf32
                first, second = (self.emit(MovOp(value, element)).result for value in (first, second))
            return _Two(first, first if low == high else second)
        if format_.packed == 2:
            if low % 2 == 0 and high == low + 1:
                return _Two(packed=registers[low // 2])
            first, second = (self._half(registers[s // 2], s % 2, element) for s in (low, high))
            return _Two(first, first if low == high else second)
        if narrow_format(element) is not None:
            if format_.packed == 4 and low % 2 == 0 and high == low + 1:
                return _Two(packed=self._half(registers[low // 4], low % 4 // 2, i16))
            return _Two(packed=self._two_of_word(registers, low, high, REGISTER_BITS // format_.packed))
        if element == NIBBLE:
            first, second = ((registers[s // 8], s % 8) for s in (low, high))
            if low != high:
                return _Two(nibbles=(first, second))
            same = nibble(self.emit, *first)
            return _Two(same, same)
        first = self._byte(registers[low // 4], low % 4, element)
        return _Two(first, first if low == high else self._byte(registers[high // 4], high % 4, element))

    def _half(self, register: SSAValue, half: int, type_: Attribute) -> SSAValue:
        halves = self.emit(UnpackOp(register, type_))
        return halves.high if half else halves.low

    def _shifted(self, register: SSAValue, byte: int) -> SSAValue:
        """A register with this byte of another one in its low bits."""
        return self.emit.div(register, 1 << 8 * byte)

    def _two_of_word(self, registers: Sequence[SSAValue], low: int, high: int, bits: int) -> SSAValue:
        """Two elements of 4 or 8 bits each side by side (i16)."""
        count = REGISTER_BITS // bits
        first, second = (
            self.emit.bit_and(self.emit.div(registers[s // count], 1 << bits * (s % count)), (1 << bits) - 1)
            for s in (low, high)
        )
        both = self.emit.bit_or(first, self.emit.mul(second, 1 << bits))
        return self.emit(arith.TruncIOp(both, i16)).result

    def _byte(self, register: SSAValue, byte: int, type_: Attribute) -> SSAValue:
        """An 8-bit integer, as a value of type i8 that `convert-arith-to-ptx` keeps in 16 bits."""
        return self.emit(arith.TruncIOp(self._shifted(register, byte), IntegerType(8))).result

    def _registers(self, type_: TileType, pairs: Mapping[int, _Two]) -> Sequence[SSAValue]:
        """The registers of a result, from the values of its slots two at a time."""
        format_, element = register_format(type_), scalar_type(type_.element_type)
        registers: list[SSAValue] = []
        for first in range(0, format_.slots, format_.packed):
            parts = [pairs.get(slot) for slot in range(first - first % 2, first + format_.packed, 2)]
            if all(part is None for part in parts):
                registers.append(zero_register(self.emit, format_.type))
            elif format_.packed == 1:
                two = parts[0]
                assert two is not None
                value = self._high(two) if first % 2 else self._low(two, element)
                registers.append(value if format_.type == element else self._bits(value, type_, format_.type))
            elif format_.packed == 2:
                two = parts[0]
                assert two is not None
                registers.append(self._packed(two, element))
            else:
                registers.append(self._word(type_, parts, element))
        return registers

    def _bits(self, value: SSAValue, type_: TileType, register: Attribute) -> SSAValue:
        return self.emit(MovOp(value, register)).result

    def _word(self, type_: TileType, parts: Sequence[_Two | None], element: Attribute) -> SSAValue:
        """A register of four elements of a byte, or of eight of 4 bits."""
        pairs = [zero_register(self.emit, i16) if two is None else self._bytes(two, element) for two in parts]
        if len(pairs) == 2:
            return self.emit(PackOp(*pairs)).result
        return packed_bytes(self.emit, pairs)

    def _bytes(self, two: _Two, element: Attribute) -> SSAValue:
        """Two elements of a byte in 16 bits, of 4 bits in the low 8 of them."""
        if narrow_format(element) is not None:
            if two.packed is None:
                raise PackedElementsError(self.op, f"expected {element} to come from arith.truncf or an operand")
            return two.packed
        if element == NIBBLE:
            return packed_nibbles(self.emit, self._low(two, element), self._high(two))
        low, high = (self.emit.extend(value, i16) for value in (self._low(two, element), self._high(two)))
        shifted = self.emit.mul(high, 1 << 8)
        return self.emit.bit_or(low, shifted)


def packed_bytes(emit: Emitter, pairs: Sequence[SSAValue]) -> SSAValue:
    """The register (i32) of the low bytes of four values (i16)."""
    a, b, c, d = pairs
    halves = [emit.bit_or(low, emit.mul(high, 1 << 8)) for low, high in ((a, b), (c, d))]
    return emit(PackOp(*halves)).result
