"""Loops whose parts run in different rounds, as plain loops without copies of the steady part."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from itertools import accumulate

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerType, Signedness, SignednessAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, OpResult, Region, SSAValue

from tirx.dialects import tirx
from tirx.dialects.traits import is_pure
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.rings.proof.slots import yielded
from tirx.passes.rings.role_code import RoleCode
from tirx.rules import RingLoweringError
from tirx.values import dataclass, replace


class Runs(Enum):
    """The rounds of a segment in which a part of a loop runs."""

    ALWAYS = auto()
    NEVER = auto()
    SOMETIMES = auto()


@dataclass(frozen=True)
class Key:
    """A value that lives for some rounds: a result of a part, or the slot that an acquire gave.

    `carried`: the argument of the loop whose next value it is; None for a value within an iteration.
    """

    value: SSAValue | tirx.AcquireOp
    part: tirx.AtOp
    carried: BlockArgument | None = None


@dataclass
class Chain:
    """The value of a key in the rounds before: `depth` of them. `start` is what it is before the first one."""

    key: Key
    depth: int
    start: SSAValue


@dataclass(frozen=True)
class Segment:
    """Rounds from `lower` to `upper`, and which parts run in them, by their offsets."""

    lower: SSAValue
    upper: SSAValue
    runs: dict[int, Runs]


class SkewedLoop:
    """Emits `tirx.for ... skew(d)`.

    Rounds 0 to d - 1, where the last part does not run yet, rounds d to n - 1, where all parts run, and the last d
    rounds, where the first part does not run any more, are three loops over the same chains of values. With parts at 0
    and d only, no round has a condition. A round of a chain is one step, whether its part runs or not.
    """

    def __init__(self, code: RoleCode, op: tirx.ForOp):
        self.code = code
        self.op = op
        self.skew = op.rounds_ahead
        self.sources = {arg: self._source(arg) for arg in op.carried}
        self.uses = self._uses()
        self.depths = self._depths()

    # What lives from round to round

    def _source(self, arg: BlockArgument) -> Key | None:
        """The result of a part that is the next value of a carried one; None for one that stays the same."""
        value = yielded(self.op)[arg.index - 1]
        if value is arg:
            return None
        if isinstance(value, OpResult) and isinstance(value.op, tirx.AtOp):
            return Key(value, value.op, arg)
        raise RingLoweringError(
            self.op, "expected a loop with a skew to compute what it carries in one of its parts, found another value"
        )

    def _uses(self) -> list[tuple[Key, int, tirx.AtOp]]:
        """Every value of another part or iteration that a part uses, how many rounds before, and the user."""
        found: list[tuple[Key, int, tirx.AtOp]] = []
        for user in self.op.parts:
            for value in self.used(user):
                if isinstance(part := value.owner, tirx.AtOp):
                    found += [(key, user.offset - part.offset, user) for key in self.keys(value, part)]
                elif isinstance(value, BlockArgument) and (key := self.sources[value]) is not None:
                    found.append((key, user.offset + 1 - key.part.offset, user))
        return found

    def used(self, part: tirx.AtOp) -> list[SSAValue]:
        """The results of other parts that a part uses, and the values that the loop carries."""
        operands = dict.fromkeys(operand for inner in part.body.walk() for operand in inner.operands)
        return [
            value
            for value in operands
            if value in self.sources
            or (isinstance(at := value.owner, tirx.AtOp) and at is not part and at.parent_op() is self.op)
        ]

    def keys(self, value: SSAValue, part: tirx.AtOp) -> list[Key]:
        """Returns the keys that live for a value: the value, or the slot that a tile in shared memory is in."""
        if not _is_slot(value):
            return [Key(value, part)]
        return [Key(acquire, part) for acquire in _acquires(_inner(value))]

    def _depths(self) -> dict[Key, int]:
        depths: dict[Key, int] = {key: 1 for key in self.sources.values() if key is not None}
        for key, rounds, user in self.uses:
            if rounds > 0 or user.is_before_in_block(key.part):
                depths[key] = max(depths.get(key, 1), rounds)
        return depths

    # Segments

    def emit(self, emit: Emitter) -> None:
        """Emits the loops."""
        code, op = self.code, self.op
        if self._is_peeled():
            self._emit_peeled(emit)
            return
        chains = [Chain(key, depth, self._start(emit, key)) for key, depth in self.depths.items()]
        trips = code.trips(op, emit)
        values = [chain.start for chain in chains for _ in range(chain.depth)]
        for segment in self._segments(emit, trips):
            lower, upper = constant_value(segment.lower), constant_value(segment.upper)
            if lower is not None and upper is not None and lower >= upper:
                continue

            def body(
                inside: Emitter, index: SSAValue, carried: Sequence[SSAValue], segment: Segment = segment
            ) -> Sequence[SSAValue]:
                return _Round(self, segment, chains, index, carried, trips).emit(inside)

            values = list(code.rounds(emit, segment.lower, segment.upper, values, body))
        ends = _by_key(chains, values)
        for final, arg, init in zip(op.finals, op.carried, op.inits, strict=True):
            key = self.sources[arg]
            code.values[final] = code.started(emit, init, arg.type) if key is None else ends[key][0]

    def _is_peeled(self) -> bool:
        """True if the first and the last round stand outside of the loop: parts that are one round apart, with register
        tiles that live on, and products that run on while threads compute. What the last round computes again has no
        registers in the loop then. Fragments of mma.sync that are loaded a round ahead would take more of them.
        """
        if not any(isinstance(inner, tirx.AsyncMmaOp) for part in self.op.parts for inner in part.body.walk()):
            return False
        tiles = any(
            isinstance(key.value, SSAValue) and isinstance(key.value.type, tirx.TileType) for key in self.depths
        )
        offsets = {part.offset for part in self.op.parts}
        return tiles and offsets == {0, 1} and not any(map(self.code.counts_rounds, self.op.parts))

    def _emit_peeled(self, emit: Emitter) -> None:
        """Emits the first round, a loop of the rounds in which all parts run, and the last round."""
        code, op = self.code, self.op
        trips = code.trips(op, emit)
        count = constant_value(trips)
        finals: Sequence[SSAValue] = [
            code.started(emit, init, arg.type) for init, arg in zip(op.inits, op.carried, strict=True)
        ]
        if count is None:
            # All rounds, or none.
            some = emit(arith.MinSIOp(trips, emit.constant(1, IndexType()))).result

            def body(inside: Emitter, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return self._peeled_rounds(inside, trips, carried)

            finals = code.rounds(emit, emit.constant(0, IndexType()), some, finals, body)
        elif count:
            finals = self._peeled_rounds(emit, trips, finals)
        for final, value in zip(op.finals, finals, strict=True):
            code.values[final] = value

    def _peeled_rounds(self, emit: Emitter, trips: SSAValue, inits: Sequence[SSAValue]) -> list[SSAValue]:
        """Emits the rounds of a loop with at least one iteration. Returns its results."""
        index = IndexType()
        zero_, one = emit.constant(0, index), emit.constant(1, index)
        both = {0: Runs.ALWAYS, 1: Runs.ALWAYS}
        later = {key for key, rounds, user in self.uses if rounds > 0 or user.is_before_in_block(key.part)}
        chains = [
            Chain(key, depth, self._start(emit, key) if key.carried is None else inits[key.carried.index - 1])
            for key, depth in self.depths.items()
        ]
        starts = [chain.start for chain in chains for _ in range(chain.depth)]
        first = Segment(zero_, one, {0: Runs.ALWAYS, 1: Runs.NEVER})
        values = _Round(self, first, chains, zero_, starts, trips).emit(emit)
        # Of the other carried values only those of the last round are used.
        lives = {chain.key: chain.key in later or chain.key.part.offset == 0 for chain in chains}
        living = [chain if lives[chain.key] else replace(chain, depth=0) for chain in chains]
        through = [value for key, own in _by_key(chains, values).items() if lives[key] for value in own]

        def body(inside: Emitter, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return _Round(self, Segment(one, trips, both), living, index, carried, trips).emit(inside)

        through = list(self.code.rounds(emit, one, trips, through, body))
        last = _Round(self, Segment(trips, trips, {0: Runs.NEVER, 1: Runs.ALWAYS}), living, trips, through, trips)
        last.emit(emit)
        return [
            init if (key := self.sources[arg]) is None else last.now[key]
            for arg, init in zip(self.op.carried, inits, strict=True)
        ]

    def _start(self, emit: Emitter, key: Key) -> SSAValue:
        if key.carried is not None:
            return self.code.started(emit, self.op.inits[key.carried.index - 1], key.carried.type)
        return zero(emit, i32 if isinstance(key.value, tirx.AcquireOp) else key.value.type)

    def _segments(self, emit: Emitter, trips: SSAValue) -> list[Segment]:
        """The rounds before all parts run, those where all do, and those behind."""
        offsets = {part.offset for part in self.op.parts}
        skew = self.skew
        index = IndexType()
        count = constant_value(trips)
        zero_, depth = emit.constant(0, index), emit.constant(skew, index)
        if count is None:
            least = emit(arith.MinSIOp(trips, depth)).result
            most = emit(arith.MaxSIOp(trips, depth)).result
            end = emit.add(trips, skew)
        else:
            least, most, end = (emit.constant(n, index) for n in (min(count, skew), max(count, skew), count + skew))
        # A round without any part may be left out if nothing counts rounds.
        ends_early = offsets <= {0, skew} and not self._counts_rounds()
        first = {offset: Runs.NEVER if offset == skew else Runs.SOMETIMES for offset in offsets}
        if ends_early or (count is not None and count >= skew):
            first[0] = Runs.ALWAYS
        last = {offset: Runs.NEVER if offset == 0 else Runs.SOMETIMES for offset in offsets}
        last[skew] = Runs.ALWAYS
        return [
            Segment(zero_, least if ends_early else depth, first),
            Segment(depth, trips, dict.fromkeys(offsets, Runs.ALWAYS)),
            Segment(most, end, last),
        ]

    def _counts_rounds(self) -> bool:
        """True if a value is used in another round than the next one of its own part, or if groups are counted."""
        lives_on = any(key.carried is None or depth > 1 for key, depth in self.depths.items())
        return lives_on or any(map(self.code.counts_rounds, self.op.parts))


def _by_key(chains: Sequence[Chain], values: Sequence[SSAValue]) -> dict[Key, Sequence[SSAValue]]:
    """Shares out what a loop carries among the chains that it is of."""
    ends = accumulate(chain.depth for chain in chains)
    return {chain.key: values[end - chain.depth : end] for chain, end in zip(chains, ends, strict=True)}


class _Round:
    def __init__(
        self,
        loop: SkewedLoop,
        segment: Segment,
        chains: Sequence[Chain],
        index: SSAValue,
        carried: Sequence[SSAValue],
        trips: SSAValue,
    ):
        self.loop = loop
        self.code = loop.code
        self.segment = segment
        self.index = index
        self.trips = trips
        self.before = _by_key(chains, carried)
        self.now: dict[Key, SSAValue] = {}

    def emit(self, emit: Emitter) -> Sequence[SSAValue]:
        """Emits the parts; returns the next values of all chains."""
        for part in self.loop.op.parts:
            self._part(part, emit.located(part.location))
        found: list[SSAValue] = []
        for key, before in self.before.items():
            if before:
                found += [self.now.get(key, before[0]), *before[:-1]]
        return found

    def _part(self, part: tirx.AtOp, emit: Emitter) -> None:
        code = self.code
        keys = [key for key in self.before if key.part is part]
        match self.segment.runs[part.offset]:
            case Runs.NEVER:
                code.skip(part, emit)
                code.close(emit)
                self.now.update((key, self.before[key][0]) for key in keys)
            case Runs.ALWAYS:
                self._body(part, emit)
                self.now.update((key, self._current(key)) for key in keys)
            case Runs.SOMETIMES:
                code.close(emit)
                # Values of this round that a later part of it uses have to leave the branch.
                found = list(dict.fromkeys((*keys, *self._used_at_once(part))))
                then, other = Block(), Block()
                inside = emit.at(then)
                self._body(part, inside)
                results = [self._current(key) for key in found]
                inside(scf.YieldOp(*results))
                outside = emit.at(other)
                code.skip(part, outside)
                code.close(outside)
                outside(
                    scf.YieldOp(
                        *(
                            self.before[key][0] if key in self.before else zero(outside, value.type)
                            for key, value in zip(found, results, strict=True)
                        )
                    )
                )
                types = [value.type for value in results]
                chosen = emit(scf.IfOp(self._guard(part, emit), types, Region(then), Region(other)))
                self.now.update(zip(found, chosen.results, strict=True))

    def _guard(self, part: tirx.AtOp, emit: Emitter) -> SSAValue:
        """Emits a predicate that holds if round i runs a part at(s): s <= i < n + s."""
        end = emit.add(self.trips, part.offset)
        below = emit.compare(self.index, end, "slt")
        if not part.offset:
            return below
        begun = emit.compare(self.index, emit.constant(part.offset, IndexType()), "sge")
        return emit.bit_and(begun, below)

    def _used_at_once(self, part: tirx.AtOp) -> list[Key]:
        return list(dict.fromkeys(key for key, rounds, _ in self.loop.uses if key.part is part and not rounds))

    def _body(self, part: tirx.AtOp, emit: Emitter) -> None:
        code, op = self.code, self.loop.op
        used = self.loop.used(part)
        code.values[op.index] = emit.add(self.index, -part.offset)
        for arg, key in self.loop.sources.items():
            if key is None:
                code.values[arg] = code.started(emit, op.inits[arg.index - 1], arg.type)
            elif arg in used:
                code.values[arg] = self._at(key, part.offset + 1 - key.part.offset)
        for value in used:
            if not isinstance(source := value.owner, tirx.AtOp):
                continue
            rounds = part.offset - source.offset
            if not _is_slot(value):
                code.values[value] = self._at(Key(value, source), rounds)
                continue
            keys = self.loop.keys(value, source)
            slots = {key.value: self._at(key, rounds) for key in keys if isinstance(key.value, tirx.AcquireOp)}
            code.values[value] = self._rebuilt(_inner(value), slots, emit)
        code.block(part.body.block, emit)

    def _at(self, key: Key, rounds: int) -> SSAValue:
        """A key as it was so many rounds before."""
        if rounds == 0:
            return self.now[key] if key in self.now else self._current(key)
        return self.before[key][rounds - 1]

    def _current(self, key: Key) -> SSAValue:
        """A key as the part has just computed it."""
        if isinstance(key.value, tirx.AcquireOp):
            return self.code.slot_of[key.value]
        return self.code.value(_inner(key.value))

    def _rebuilt(self, value: SSAValue, slots: dict[tirx.AcquireOp, SSAValue], emit: Emitter) -> SSAValue:
        """A part of a slot, computed again from the index of the slot."""
        if not _is_slot(value):
            return self.code.value(value)
        assert isinstance(value, OpResult)
        op = value.op
        if isinstance(op, tirx.AcquireOp):
            ring = tirx.RingOp.of(op.ring)
            return self.code.storage.slot(emit, ring, value.index, slots[op], value.name_hint)
        if not is_pure(op):
            raise RingLoweringError(op, f"expected a part of a slot, found '{op.name}'")
        operands = [self._rebuilt(operand, slots, emit) for operand in op.operands]
        new = emit(op.clone())
        new.operands = operands
        return new.results[value.index]


def zero(emit: Emitter, type_: Attribute) -> SSAValue:
    """A value that nothing reads, for rounds in which a part has not run yet."""
    match type_:
        case tirx.TileType() if type_.memory is tirx.MemorySpace.REGISTER:
            return emit(tirx.ZeroOp(type_)).result
        case IndexType() | IntegerType(signedness=SignednessAttr(data=Signedness.SIGNLESS)):
            return emit.constant(0, type_)
        case _ if isinstance(type_, AnyFloat) and type_.bitwidth <= 64:
            return emit(arith.ConstantOp(FloatAttr(0.0, type_))).result
        case tirx.PendingType():
            raise RingLoweringError(
                emit.location, "expected a pending tile to be carried by iter, found it used across parts"
            )
        case _:
            raise RingLoweringError(
                emit.location,
                "expected integers without a sign, floats of 64 bits or less, register tiles or parts of slots, found "
                f"{type_}",
            )


def _is_slot(value: SSAValue) -> bool:
    return isinstance(value.type, tirx.TileType) and value.type.memory is tirx.MemorySpace.SHARED


def _inner(value: SSAValue) -> SSAValue:
    """Returns the value in a part of a loop that the part gives as a result."""
    assert isinstance(value, OpResult) and isinstance(value.op, tirx.AtOp)
    return yielded(value.op)[value.index]


def _acquires(value: SSAValue) -> list[tirx.AcquireOp]:
    """The acquires that a part of a slot comes from."""
    if not isinstance(value, OpResult):
        return []
    if isinstance(value.op, tirx.AcquireOp):
        return [value.op]
    return list(dict.fromkeys(acquire for operand in value.op.operands for acquire in _acquires(operand)))
