"""Code for the rings of one role: slots and phases, waits, and arrivals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    BoolAttr,
    IndexType,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects import ptx, tirx
from tirx.dialects.definition import built
from tirx.dialects.schedule_names import RING
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import TileLayout
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.scheduled import BARRIERS
from tirx.passes.rings.ring_plan import INTEGER_BYTES, RingPlan, RingsPlan, Station, Tile
from tirx.rules import RingLoweringError, TileTypeError
from tirx.values import dataclass, field

_DEFAULTS = {"nontemporal": BoolAttr.from_bool(False)}
"""The properties of loads and stores of memrefs."""

_CELL = memref.AllocaOp.get(i32, shape=[])
"""A variable like all others."""


class RoleEmitter(Emitter):
    """Emits a constant once for a block and those inside of it. All operations come to the ends of blocks, in order."""

    def __init__(self, point: InsertPoint | Operation, location: LocationAttr):
        super().__init__(point, location)
        self._constants: dict[tuple[int, object], SSAValue] = {}
        self._of_blocks = {self._block: self._constants}

    def at(self, place: Block | Operation, location: LocationAttr | None = None) -> Self:
        found = super().at(place, location)
        found._of_blocks = known = self._of_blocks
        if (constants := known.get(found._block)) is None:
            constants = known[found._block] = self._constants.copy()  # what comes behind it is not known inside
        found._constants = constants
        return found

    def constant(self, value: int, type_: IntegerType | IndexType) -> SSAValue:
        key = value, IndexType if type(type_) is IndexType else id(type_)  # which the value keeps alive
        if (found := self._constants.get(key)) is None:
            found = self._constants[key] = super().constant(value, type_)
        return found


@dataclass
class Variable:
    """A scalar of every thread of a role, i32, that loops carry; `tirx-mem2reg` turns it into values."""

    cell: SSAValue
    _known: tuple[Block, SSAValue] | None = None
    """The block of code that read or set it last, and the value that it has there."""

    @staticmethod
    def declare(emit: Emitter, start: int | SSAValue) -> Variable:
        """A variable that starts as `start`."""
        variable = Variable(emit.value(built(memref.AllocaOp, (), _CELL.result_types, _CELL.properties)))
        variable.set(emit, emit.constant(start, i32) if isinstance(start, int) else start)
        return variable

    def get(self, emit: Emitter) -> SSAValue:
        if self._known is None or self._known[0] is not emit.block:
            self._known = emit.block, emit.value(built(memref.LoadOp, (self.cell,), (i32,), _DEFAULTS))
        return self._known[1]

    def set(self, emit: Emitter, value: SSAValue) -> None:
        emit(built(memref.StoreOp, (value, self.cell), properties=_DEFAULTS))
        self._known = emit.block, value


@dataclass(frozen=True)
class Counter:
    """The slot of the next use, and the parity of its phase where somebody waits for it."""

    slots: int
    slot: Variable
    parity: Variable | None

    @staticmethod
    def declare(emit: Emitter, slots: int, parity: int | None) -> Counter:
        """A counter that starts at slot 0; `parity` is that of the first phase to wait for."""
        return Counter(slots, Variable.declare(emit, 0), None if parity is None else Variable.declare(emit, parity))

    def advance(self, emit: Emitter, condition: SSAValue | None = None) -> None:
        """Goes on to the next use; where `condition` holds, for a counter without parity."""
        slot, following, flip = self.slot.get(emit), emit.constant(0, i32), 1
        if self.slots > 1:
            following = emit.add(slot, 1)
            wraps = emit.compare(following, emit.constant(self.slots, i32), "eq")
            following, flip = emit.select(wraps, emit.constant(0, i32), following), emit.extend(wraps, i32)
        if self.parity is not None:
            self.parity.set(emit, emit.xor(self.parity.get(emit), flip))
        if condition is not None:
            following = emit.select(condition, following, slot)
        self.slot.set(emit, following)


@dataclass
class RingStorage:
    """The shared memory of all rings of a kernel: one tile for each tile of a slot, and the mbarriers."""

    plan: RingsPlan
    target: Target
    tiles: dict[tuple[tirx.RingOp, int], SSAValue] = field(default_factory=dict[tuple[tirx.RingOp, int], SSAValue])
    words: dict[tirx.RingOp, SSAValue] = field(default_factory=dict[tirx.RingOp, SSAValue])
    """The addresses of slots that hold answers of cluster launch control or integers."""
    mbarriers: SSAValue | None = None
    _addresses: dict[tuple[Block, int, SSAValue], SSAValue] = field(
        default_factory=dict[tuple[Block, int, SSAValue], SSAValue]
    )
    """The block of code, the first mbarrier behind a station and the slot -> the address of its mbarrier."""

    def declare(self, emit: Emitter) -> None:
        """Emits the allocations."""
        for ring, plan in self.plan.rings.items():
            self._check_size(ring, plan)
            for index, tile in enumerate(plan.tiles):
                alloc = emit(tirx.AllocOp(self._storage(ring, plan, tile)))
                alloc.result.name_hint = ring.result.name_hint
                alloc.attributes[RING] = StringAttr(plan.name)
                self.tiles[(ring, index)] = alloc.result
            if plan.word_bytes:
                alloc = _words(emit, plan.slots, plan.word_bytes)
                alloc.result.name_hint = ring.result.name_hint
                alloc.attributes[RING] = StringAttr(plan.name)
                self.words[ring] = emit(tirx.AddressOp(alloc.result)).result
        if count := self.plan.num_barriers:
            alloc = _words(emit, count, ptx.MBARRIER_BYTES)
            alloc.attributes[BARRIERS] = UnitAttr()
            self.mbarriers = emit(tirx.AddressOp(alloc.result)).result

    def _check_size(self, ring: tirx.RingOp, plan: RingPlan) -> None:
        """Raises RingLoweringError for more slots than shared memory holds, before there is code for each of them."""
        tiles = sum(tile.stride for tile in plan.tiles if not tile.in_tensor_memory)
        slot = tiles + plan.word_bytes + ptx.MBARRIER_BYTES * sum(each.first is not None for each in plan.stations)
        if plan.slots * slot > self.target.shared_limit:
            raise RingLoweringError(
                ring,
                f"expected at most {self.target.shared_limit} bytes of shared memory on {self.target}, "
                f"found {plan.slots * slot} in {plan.slots} slots of {slot} bytes with their mbarriers",
            )

    def _storage(self, ring: tirx.RingOp, plan: RingPlan, tile: Tile) -> tirx.TileType:
        try:
            return tile.storage(plan.slots)
        except TileTypeError as e:  # columns beyond those of tensor memory
            raise RingLoweringError(ring, str(e)) from e

    def initialise(self, emit: Emitter, first_thread: SSAValue) -> None:
        """Initialises the mbarriers by one thread, and lets all threads wait for it."""
        if self.mbarriers is None:
            return
        inside = emit.branch(first_thread)
        for plan in self.plan.rings.values():
            for station in plan.stations:
                if station.first is None:
                    continue
                for slot in range(plan.slots):
                    at = inside.add(self.mbarriers, ptx.MBARRIER_BYTES * (station.first + slot))
                    inside(ptx.MbarrierInitOp(at, station.arrivals))
        if supports(self.target, "fence.mbarrier_init"):
            inside(ptx.FenceMbarrierInitOp())
        emit(tirx.BarrierOp())

    def mbarrier(self, emit: Emitter, station: Station, slot: SSAValue) -> SSAValue:
        """The address of the mbarrier for a slot, behind a station that has mbarriers."""
        assert self.mbarriers is not None and station.first is not None, station.index
        first = emit.block, 0, slot
        if (base := self._addresses.get(first)) is None:
            base = self._addresses[first] = emit.add(self.mbarriers, emit.mul(slot, ptx.MBARRIER_BYTES))
        if (found := self._addresses.get(key := (emit.block, station.first, slot))) is None:
            found = self._addresses[key] = emit.add(base, ptx.MBARRIER_BYTES * station.first)
        return found

    def slot(self, emit: Emitter, ring: tirx.RingOp, view: int, slot: SSAValue, hint: str | None = None) -> SSAValue:
        """A view of a slot as a tile; `view` counts all views of all tiles, as the results of an acquire do."""
        types = [(index, type_) for index, tile in enumerate(self.plan.rings[ring].tiles) for type_ in tile.views]
        index, type_ = types[view]
        result = emit(tirx.SlotOp(self.tiles[(ring, index)], slot, type_)).result
        result.name_hint = hint
        return result

    def address(self, emit: Emitter, ring: tirx.RingOp, slot: SSAValue) -> SSAValue:
        """The address of a slot that holds an answer of cluster launch control or integers."""
        return emit.add(self.words[ring], emit.mul(slot, self.plan.rings[ring].word_bytes))

    def wait(self, emit: Emitter, mbarrier: SSAValue, parity: SSAValue) -> None:
        """Waits for a phase of an mbarrier; sm_80 has no instruction that waits and asks again and again."""
        if supports(self.target, "mbarrier.try_wait"):
            emit(ptx.MbarrierWaitParityOp(mbarrier, parity))
            return
        asks, again = Block(), Block()
        inside = emit.at(asks)
        done = inside(ptx.MbarrierTestWaitParityOp(mbarrier, parity)).done
        inside(scf.ConditionOp(inside(arith.XOrIOp(done, inside.constant(1, i1))).result))
        emit.at(again)(scf.YieldOp())
        emit(scf.WhileOp([], [], Region(asks), Region(again)))


_NARROW = (i1, i8, i16)


def write_integers(emit: Emitter, address: SSAValue, values: Sequence[SSAValue]) -> None:
    """Stores integers to a slot of a ring, each in a register of its own."""
    for index, value in enumerate(values):
        if isinstance(value.type, IndexType):
            value = emit.cast(value, i64)
        elif value.type in _NARROW:
            value = emit.extend(value, i32)
        emit(ptx.StOp(ptx.Space.SHARED, address, [value], INTEGER_BYTES * index))


def read_integers(emit: Emitter, address: SSAValue, types: Iterable[Attribute]) -> list[SSAValue]:
    """Loads integers of these types from a slot of a ring."""
    found: list[SSAValue] = []
    for index, type_ in enumerate(types):
        stored = i64 if type_ in (IndexType(), i64) else i32
        (value,) = emit(ptx.LdOp(ptx.Space.SHARED, address, [stored], INTEGER_BYTES * index)).res
        if isinstance(type_, IndexType):
            value = emit.cast(value, type_)
        for narrow in _NARROW:
            if type_ == narrow:
                value = emit(arith.TruncIOp(value, narrow)).result
        found.append(value)
    return found


def _words(emit: Emitter, count: int, size: int) -> tirx.AllocOp:
    words = (count, size // 4)
    return emit(tirx.AllocOp(tirx.TileType.get(words, i32, tirx.MemorySpace.SHARED, TileLayout.row_major(words))))


@dataclass(frozen=True)
class Turns:
    """A baton that the parties of a role pass on, one after the other: `party` is the number of the thread's own.

    The mbarrier behind each party counts its arrivals. A party waits for the one before it; the first one's first turn
    needs none.
    """

    party: SSAValue
    others: int
    counter: Counter

    @staticmethod
    def declare(emit: Emitter, thread: SSAValue, threads: int, parties: int, slots: int) -> Turns:
        """Turns of parties of so many threads each; `thread` counts in the role."""
        party = emit.div(thread, threads)
        is_first = emit.compare(party, emit.constant(0, i32), "eq")
        parity = emit.extend(is_first, i32)
        return Turns(party, parties, Counter(slots, Variable.declare(emit, 0), Variable.declare(emit, parity)))

    def behind(self, emit: Emitter, first: SSAValue, back: int) -> SSAValue:
        """The address of the mbarrier behind the party `back` places before; `first` is that behind the first."""
        slot, at = self.counter.slot.get(emit), self.party
        if back:
            at = emit.mod(emit.add(self.party, self.others - back), self.others)
        at = emit.add(emit.mul(at, self.counter.slots), slot)
        return emit.add(first, emit.mul(at, ptx.MBARRIER_BYTES))


def arrive(emit: Emitter, mbarrier: SSAValue, ranks: Sequence[int | SSAValue] = ()) -> None:
    """One arrival, which orders what the thread has done before, at the mbarrier of the own block or those of `ranks`.

    Remote arrivals have the default order, which is enough behind a fence or wait and much cheaper than
    `.release.cluster` (PTX ISA, "mbarrier.arrive").
    """
    if not ranks:
        emit(ptx.MbarrierArriveOp(mbarrier))
    for rank in ranks:
        emit(ptx.MbarrierArriveOp(of_block(emit, mbarrier, rank), remote=True))


def of_block(emit: Emitter, mbarrier: SSAValue, rank: int | SSAValue) -> SSAValue:
    """The address of the same mbarrier in another block of the cluster."""
    return emit(ptx.MapaOp(mbarrier, emit.constant(rank, i32) if isinstance(rank, int) else rank)).result


def expect_bytes(emit: Emitter, mbarrier: SSAValue, count: int, ranks: Sequence[int | SSAValue] = ()) -> None:
    """One arrival that announces bytes of asynchronous copies, at the mbarrier of the own block or those of `ranks`."""
    if not ranks:
        emit(ptx.MbarrierArriveExpectTxOp(mbarrier, count))
    for rank in ranks:
        emit(ptx.MbarrierArriveExpectTxOp(of_block(emit, mbarrier, rank), count, remote=True))
