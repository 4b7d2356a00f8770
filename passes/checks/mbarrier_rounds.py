"""
Rounds of mbarriers: one thread stands still at a wait, and all others go on as far as they get.

`mbarrier_phases` asks for each ring by itself who stops whom. Where several rings connect the same roles, as those of K
and V in attention, one of them stops what another one lets through, and only counting tells how far. So each warp is
walked through: its waits, its arrivals and its barriers, with the slots and parities that counters of loops give. A
loop that waits for mbarriers and whose end is not known runs on for some turns; other loops run as often as constants
say. A walk ends where something is not known, and as all walks are beginnings of what warps do in a kernel whose loops
run often enough, what they show is certain.

Then a warp stops at each of its waits in turn. If the others complete the phase that it waits for, and the next one,
it waits for ever or takes a later phase for its own (PTX ISA, "Phase of the mbarrier object").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tirx.dialects.ptx.arith import MinOp
from tirx.dialects.ptx.base import width
from tirx.dialects.ptx.core import BraOp, CondBraOp, ConstantOp, RetOp, SharedAllocOp
from tirx.dialects.ptx.cp_async import CpAsyncMbarrierArriveOp
from tirx.dialects.ptx.effects import (
    BlockBarrier,
    CopyArrive,
    MbarrierArrive,
    MbarrierInvalidate,
    MbarrierTransaction,
    MbarrierWait,
    TensorCommit,
)
from tirx.dialects.ptx.mbarrier import MbarrierArriveOp, MbarrierInitOp, MbarrierWaitParityOp
from tirx.dialects.ptx.sync import BarSyncOp
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.checks.thread_values import Numbers, arithmetic, incoming, is_integer, wrapped
from tirx.passes.ir.control_flow import successors

_MOST_EVENTS = 2_000
"""Waits, arrivals and barriers of a warp that are played."""

_APART = 1 << 20
"""Bytes between two allocations, more than shared memory has."""


@dataclass(frozen=True, eq=False)
class Event:
    """
    A wait for the phase with the parity `number` of the mbarrier at `place`, `number` arrivals there, or a barrier
    number `place` of `number` warps.
    """

    op: Operation
    does: type[MbarrierWait | MbarrierArrive | BlockBarrier]
    place: int
    number: int


@dataclass(frozen=True)
class Overrun:
    """
    `arrival` completes the phase behind the one that is waited for at `wait`, while threads stand there; None if
    threads wait there for ever.
    """

    wait: Operation
    arrival: Operation | None


def find_overrun(analysis: OrderingAnalysis, loops: Sequence[frozenset[Block]], slots: int) -> Overrun | None:
    """
    Returns a wait that the others may overrun, or one that never ends; None if there is none.

    `loops` has inner loops before outer ones; `slots` are the most mbarriers that one operation uses in turns.
    """
    if analysis.entry.cluster_size > 1 or not analysis.flow.values.count or not _announce_their_own(analysis):
        return None
    walks = _Walks(analysis, loops, 2 * slots + 2)
    events = [walks.of_warp(warp) for warp in range(-(-analysis.flow.values.count // WARP_SIZE))]
    if not walks.counts:
        return None
    usual = _Play(walks.counts, events)
    ends = [len(each) for each in events]
    usual.run(ends)
    forever = _stuck(walks, events, usual.at)
    known: set[tuple[Operation, ...]] = set()
    for warp, own in enumerate(events):
        if (key := tuple(each.op for each in own)) in known:
            continue
        known.add(key)
        for at in _chosen(own):
            if (least := usual.passed.get((warp, at))) is None:
                if forever is None or at != usual.at[warp]:
                    continue
                least = 1 - own[at].number  # something waits for ever, maybe as this is the phase that it missed
            play = _Play(walks.counts, events)
            play.run([at if other == warp else end for other, end in enumerate(ends)])
            if play.phases[own[at].place] > least:
                return Overrun(own[at].op, play.completed_by[own[at].place])
    return None if forever is None else Overrun(forever, None)


def _announce_their_own(analysis: OrderingAnalysis) -> bool:
    """
    Returns True if each copy is issued by the threads that have just announced its bytes: their arrival stands for the
    copy, too.
    """
    for block in analysis.flow.blocks:
        announced = False
        for op in analysis.flow.control.ops[block]:
            match analysis.synchronizations.get(op):
                case MbarrierArrive(announces=True) | MbarrierTransaction(announces=True):
                    announced = True
                case MbarrierTransaction():
                    return False
                case MbarrierWait() | BlockBarrier():
                    announced = False
                case None if op in analysis.mbarriers and not announced:
                    return False
                case _:
                    pass
    return True


def _stuck(walks: _Walks, events: Sequence[Sequence[Event]], at: Sequence[int]) -> Operation | None:
    """Returns a wait that never ends, None unless no warp that uses mbarriers comes to the end of what is known."""
    waits = [own[place] for own, place in zip(events, at, strict=True) if place < len(own)]
    waits = [event for event in waits if event.does is MbarrierWait]
    ended = [warp for warp, own in enumerate(events) if at[warp] == len(own)]
    using = {warp for warp, own in enumerate(events) if any(event.does is not BlockBarrier for event in own)}
    if not waits or not walks.returned.issuperset(ended) or (walks.runs_on and using & walks.returned):
        return None  # a loop whose end is not known with one that has ended
    arrivals = Counter(event.place for own in events for event in own if event.does is MbarrierArrive)
    return min(waits, key=lambda event: arrivals[event.place]).op


def _chosen(events: Sequence[Event]) -> Iterable[int]:
    """Returns the places of the first wait of each operation, and of the first that comes to a slot again."""
    found: dict[Operation, list[int]] = defaultdict(list)
    for at, event in enumerate(events):
        if event.does is MbarrierWait:
            found[event.op].append(at)
    for places in found.values():
        slots = len({events[at].place for at in places})
        yield places[0]
        if len(places) > slots:
            yield places[slots]


class _Play:
    """Warps go through their events, each as far as the others let it."""

    def __init__(self, counts: Mapping[int, int], events: Sequence[Sequence[Event]]):
        self._counts, self._events = counts, events
        self.phases = Counter[int]()
        """Completed phases of each mbarrier."""
        self.completed_by: dict[int, Operation] = {}
        """The arrivals that completed the last ones."""
        self.passed: dict[tuple[int, int], int] = {}
        """Warps and their waits -> phases that were completed when they went on."""
        self._arrived = Counter[int]()
        """Arrivals in the present phase of each mbarrier; `~barrier`: warps that have come to a barrier."""
        self._turns: dict[tuple[int, int], int] = {}

    def run(self, ends: Sequence[int]) -> None:
        """Lets each warp take one event at a time, up to its end, until none can go on."""
        self.at = at = [0] * len(ends)
        moving = True
        while moving:
            moving = False
            for warp, end in enumerate(ends):
                if at[warp] < end and self._takes(warp, at[warp]):
                    at[warp] += 1
                    moving = True

    def _takes(self, warp: int, at: int) -> bool:
        event = self._events[warp][at]
        if event.does is BlockBarrier:
            return self._meets(warp, at, event)
        if event.does is MbarrierWait:
            if self.phases[event.place] & 1 == event.number:
                return False
            self.passed[warp, at] = self.phases[event.place]
            return True
        self._arrived[event.place] += event.number
        if self._arrived[event.place] >= self._counts[event.place]:
            self._arrived[event.place] -= self._counts[event.place]
            self.phases[event.place] += 1
            self.completed_by[event.place] = event.op
        return True

    def _meets(self, warp: int, at: int, event: Event) -> bool:
        """The warps that came to a barrier go on once as many as it is for have come."""
        if (warp, at) not in self._turns:
            self._turns[warp, at] = self._arrived[~event.place] // event.number + 1
            self._arrived[~event.place] += 1
        return self._arrived[~event.place] >= self._turns[warp, at] * event.number


class _End(Exception):
    """Nothing more is known of the way of a warp."""


class _Walks:
    """Walks of warps through an entry."""

    def __init__(self, analysis: OrderingAnalysis, loops: Sequence[frozenset[Block]], turns: int):
        self._flow, self._turns = analysis.flow, turns
        self._warps = -(-self._flow.values.count // WARP_SIZE)
        """Of the block."""
        self._found: dict[Block, list[tuple[Operation, type, SSAValue | None]]] = defaultdict(list)
        """The operations of a block that are events, and the addresses of their mbarriers."""
        waiting = set[Block]()
        for op, found in analysis.synchronizations.items():
            block = op.parent
            assert block is not None
            match found:
                case MbarrierWait(address):
                    self._found[block].append((op, MbarrierWait, address))
                    waiting.add(block)
                case CopyArrive() if isinstance(op, CpAsyncMbarrierArriveOp) and op.noinc is None:
                    pass  # counts up what it counts down
                case MbarrierArrive(address) | TensorCommit(address) | CopyArrive(address):
                    self._found[block].append((op, MbarrierArrive, address))
                case BlockBarrier():
                    self._found[block].append((op, BlockBarrier, None))
                case MbarrierInvalidate(address):
                    self._found[block].append((op, MbarrierInvalidate, address))
                case _:
                    pass
        self._loops: dict[Block, list[frozenset[Block]]] = defaultdict(list)
        """The loops around a block, inner ones first."""
        for loop in loops:
            for block in loop:
                self._loops[block].append(loop)
        self._main = self._find_main(loops)
        self._allocations: dict[object, int] = {}
        self._operands: dict[SSAValue, tuple[Operation, tuple[SSAValue, ...], int]] = {}
        self._needed = self._find_needed()
        self._env: dict[SSAValue, int | Numbers | None] = {}
        self._varying = self._find_varying()
        self._known: dict[SSAValue, int | Numbers | None] = {}
        """Numbers computed from block arguments, in the present block."""
        self._fixed: dict[SSAValue, int | Numbers | None] = {}
        """Numbers that are the same wherever the warp is."""
        self._warp, self._lanes = 0, np.arange(0)
        self._events: list[Event] = []
        self.returned = set[int]()
        """Warps that are known to their ends."""
        self.runs_on = False
        """True if a loop whose end is not known has run on."""
        self._left = Counter[frozenset[Block]]()
        """Loops whose ends are not known -> turns."""
        self.counts: dict[int, int] = {}
        """Arrivals that complete a phase of the mbarrier at each place."""
        for op in analysis.flow.control.of_type(MbarrierInitOp):
            place = self._value(op.barrier)
            if not isinstance(place, int) or place in self.counts:
                self.counts.clear()
                return
            self.counts[place] = op.count.value.data

    def of_warp(self, warp: int) -> list[Event]:
        """Returns the waits, arrivals and barriers of a warp, as far as they are known."""
        self._warp, self._events = warp, []
        self._lanes = np.arange(min(WARP_SIZE, self._flow.values.count - WARP_SIZE * warp))
        self._env.clear()
        self._known, self._fixed = {}, {}
        self._left.clear()
        try:
            self._walk(self._flow.blocks[0], None)
        except _End:
            pass
        return self._events

    def _find_main(self, loops: Sequence[frozenset[Block]]) -> dict[frozenset[Block], set[int]]:
        """
        Returns loops that wait for mbarriers, and the warps for which they have the most events of those in the same
        loop: others are the first and last turns of loops that run through several stages at a time.
        """
        found: dict[frozenset[Block], set[int]] = defaultdict(set)
        for warp in range(self._warps):
            best: dict[frozenset[Block] | None, tuple[int, frozenset[Block]]] = {}
            for loop in loops:
                own = [each for block in loop if warp in self._flow.active[block].warps for each in self._found[block]]
                if any(does is MbarrierWait for _, does, _ in own):
                    around = next((other for other in loops if loop < other), None)
                    if around not in best or best[around][0] < len(own):
                        best[around] = len(own), loop
            for _, loop in best.values():
                found[loop].add(warp)
        return found

    def _find_needed(self) -> set[SSAValue]:
        """Block arguments from which addresses, parities and conditions are computed."""
        found = set[SSAValue]()
        pending: list[SSAValue] = []
        for block in self._flow.blocks:
            for op, _, address in self._found.get(block, ()):
                pending += [] if address is None else [address]
                pending += [op.parity] if isinstance(op, MbarrierWaitParityOp) else []
            if isinstance(last := block.last_op, CondBraOp):
                pending.append(last.condition)
        while pending:
            if (value := pending.pop()) in found or not is_integer(value.type):
                continue
            found.add(value)
            if isinstance(value, BlockArgument):
                pending += incoming(value.block, value)
            elif isinstance(value.owner, Operation):
                pending += value.owner.operands
        return found

    def _find_varying(self) -> set[SSAValue]:
        """Values that are computed from block arguments, of those in `_needed`."""
        pending: list[SSAValue] = [value for value in self._needed if isinstance(value, BlockArgument)]
        found = {*pending}
        while pending:
            for use in pending.pop().uses:
                for result in use.operation.results:
                    if result in self._needed and result not in found:
                        found.add(result)
                        pending.append(result)
        return found

    def _number(self, value: SSAValue | None) -> int:
        """Returns the number that all lanes of the warp have."""
        if value is None or not isinstance(found := self._value(value), int):
            raise _End
        return found

    def _value(self, value: SSAValue) -> int | Numbers | None:
        """Returns the number of all lanes of the warp, or of each; None if it is not known."""
        if isinstance(value, BlockArgument):
            return self._env.get(value)
        known = self._known if value in self._varying else self._fixed
        if (found := known.get(value, ...)) is ...:
            found = self._computed(value)
            if isinstance(found, np.ndarray) and (found == found[0]).all():
                found = int(found[0])
            known[value] = found
        return found

    def _computed(self, value: SSAValue) -> int | Numbers | None:
        if (known := self._operands.get(value)) is None:
            known = self._operands[value] = self._operands_of(value)
        op, operands, bits = known
        if bits == 0:
            return None
        if isinstance(op, SharedAllocOp):
            key = op if op.dynamic is None else "dynamic"
            return self._allocations.setdefault(key, _APART * (len(self._allocations) + 1))
        if isinstance(op, ConstantOp):
            return wrapped(op.value.value.data, bits) if isinstance(op.value, IntegerAttr) else None
        if operands:
            numbers = [each for operand in operands if (each := self._value(operand)) is not None]
            if len(numbers) == len(operands):
                found = arithmetic(op, numbers)
                return None if found is None else wrapped(found, bits)
            if len(numbers) == 1 and isinstance(op, MinOp):
                return numbers[0]  # the number of turns of a loop is large
        given = self._flow.values.get(value)
        if given is None or not given.is_known:
            return None
        return given.numbers[WARP_SIZE * self._warp : WARP_SIZE * (self._warp + 1)]

    @staticmethod
    def _operands_of(value: SSAValue) -> tuple[Operation, tuple[SSAValue, ...], int]:
        """
        Returns the operation of a value, the operands from which it may be computed, and its bits, 0 where it is not
        followed.
        """
        op = value.owner
        assert isinstance(op, Operation)
        if not is_integer(value.type) and not isinstance(op, ConstantOp):
            return op, (), 0
        return op, tuple(op.operands) if len(op.results) == 1 else (), width(value.type)

    def _walk(self, block: Block, stop: Block | None) -> None:
        while block is not stop:
            for op, does, address in self._found.get(block, ()):
                self._note(op, does, address)
            match block.last_op:
                case BraOp() as last:
                    block = self._enter(block, last.successors[0], last.arguments)
                case CondBraOp() as last:
                    if (taken := self._taken(block, last)) is None:
                        block = self._both(block, last)
                    else:
                        arguments = last.then_arguments if taken else last.else_arguments
                        block = self._enter(block, last.then_dest if taken else last.else_dest, arguments)
                case RetOp():
                    self.returned.add(self._warp)
                    raise _End
                case _:
                    raise _End

    def _note(self, op: Operation, does: type, address: SSAValue | None) -> None:
        if does is BlockBarrier:
            if not isinstance(op, BarSyncOp):
                raise _End
            warps = self._warps if op.threads is None else op.threads.value.data // WARP_SIZE
            event = Event(op, BlockBarrier, op.barrier.value.data, warps)
        else:
            if (place := self._number(address)) not in self.counts:
                raise _End
            if isinstance(op, MbarrierWaitParityOp):
                number = self._number(op.parity) & 1
            elif does is MbarrierArrive:
                each = op.count.value.data if isinstance(op, MbarrierArriveOp) and op.count is not None else 1
                number = each * len(self._lanes)
            else:
                raise _End
            event = Event(op, does, place, number)
        if len(self._events) >= _MOST_EVENTS:
            raise _End
        self._events.append(event)

    def _enter(self, block: Block, successor: Block, arguments: Sequence[SSAValue]) -> Block:
        found: dict[SSAValue, int | Numbers | None] = {
            argument: self._value(value)
            for argument, value in zip(successor.args, arguments, strict=True)
            if argument in self._needed
        }
        for loop in self._loops[successor]:
            if block not in loop:
                self._left.pop(loop, None)
        self._env.update(found)
        self._known = {}
        return successor

    def _taken(self, block: Block, branch: CondBraOp) -> bool | None:
        """Returns True if the lanes take the first way of a branch, None if they take both, or it is not known."""
        condition = self._value(branch.condition)
        if isinstance(condition, np.ndarray):
            taking = condition[self._lanes] != 0
            return bool(taking[0]) if (taking == taking[0]).all() else None
        if condition is None and (held := self._flow.values.holds(branch.condition)) is not None:
            if not held[0] >> WARP_SIZE * self._warp & (1 << WARP_SIZE) - 1:
                return False
        exits = next((loop for loop in self._loops[block] if not loop.issuperset(successors(block))), None)
        if exits is not None:
            return self._goes_on(branch, exits, condition)
        if condition is None:
            return None
        return bool(condition)

    def _goes_on(self, branch: CondBraOp, loop: frozenset[Block], condition: int | None) -> bool:
        """Returns the value of a condition that leaves a loop, or that with which it runs on."""
        stays = branch.then_dest in loop
        runs_on = self._warp in self._main.get(loop, ())
        if condition is not None:
            return bool(condition)
        if not runs_on or self._left[loop] == self._turns or (branch.else_dest in loop) is stays:
            raise _End
        self._left[loop] += 1
        self.runs_on = True
        return stays

    def _both(self, block: Block, branch: CondBraOp) -> Block:
        """Some lanes take one way, the others the other one, up to where the ways meet."""
        join = self._flow.control.post_dominators.immediate(block)
        if join is None:
            raise _End
        ways = (branch.then_dest, branch.then_arguments), (branch.else_dest, branch.else_arguments)
        if not isinstance(condition := self._value(branch.condition), np.ndarray):
            if any(self._found.get(each) for way, _ in ways for each in self._between(way, join)):
                raise _End
            self._env.update(dict.fromkeys(join.args))
            self._known = {}
            return join
        before, lanes, ends = dict(self._env), self._lanes, list[dict[SSAValue, int | Numbers | None]]()
        for (way, arguments), takes in zip(ways, (condition[lanes] != 0, condition[lanes] == 0), strict=True):
            self._env, self._known, self._lanes = dict(before), {}, lanes[takes]
            self._walk(self._enter(block, way, arguments), join)
            ends.append(self._env)
        first, second = ends
        self._lanes = lanes
        numbers = {key: value for key, value in second.items() if isinstance(value, int)}
        self._env = {key: value for key, value in first.items() if isinstance(value, int) and value == numbers.get(key)}
        self._known = {}
        return join

    def _between(self, first: Block, join: Block) -> set[Block]:
        found, pending = set[Block](), [first]
        while pending:
            if (block := pending.pop()) is not join and block not in found:
                found.add(block)
                pending += successors(block)
        return found
