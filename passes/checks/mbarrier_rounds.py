"""
Rounds of mbarriers: one thread stands still at a wait, and all others go on as far as they get.

`mbarrier_phases` asks for each ring by itself who stops whom. Where several rings connect the same roles, as those of K
and V in attention, one of them stops what another one lets through, and only counting tells how far. So each warp is
walked through: its waits, its arrivals and its barriers, with the slots and parities that counters of loops give. A
loop that waits for mbarriers and whose end is not known runs on for some turns; other loops run as often as constants
say. Where one parameter says how often a loop inside of another runs, maybe as the least of it and of what each tile
says, there are walks with one turn of it, too: then those of the outer loop follow each other. A walk ends where
something is not known, and as all walks are beginnings of what warps do in a kernel whose loops run often enough,
what they show is certain.

Then a warp stops at each of its waits in turn. If the others complete the phase that it waits for, and the next one,
it waits for ever or takes a later phase for its own (PTX ISA, "Phase of the mbarrier object").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects import ptx
from tirx.layout.arrays import np
from tirx.passes.checks.counters import evaluated
from tirx.passes.checks.mbarrier_walks import Event, Walks, loops_around
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.ir.control_flow import successors
from tirx.values import dataclass

_LARGE = 1 << 30
"""A number of which only that it is large is known."""


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
    walks = Walks(analysis, loops, 2 * slots + 2)
    for given in (dict[str, int](), *({name: number} for name, number in _single_turns(loops).items())):
        walks.begin(given)
        if (found := _find_overrun(walks)) is not None:
            return found
    return None


def _find_overrun(walks: Walks) -> Overrun | None:
    events = [walks.of_warp(warp) for warp in range(walks.warps)]
    if not walks.counts:
        return None
    firsts: dict[tuple[Operation, ...], int] = {}
    """What warps do -> the first that does it."""
    stops = [
        (warp, at)
        for warp, own in enumerate(events)
        if firsts.setdefault(tuple([each.op for each in own]), warp) == warp
        for at in _chosen(own)
    ]
    usual = _Play(walks.counts, events, frozenset(stops))
    usual.run()
    forever = _stuck(walks, events, usual.at)
    for warp, at in stops:
        found = usual.overruns.get((warp, at))
        if forever is not None and at == usual.at[warp]:
            # Something waits for ever, maybe as this is the phase that it missed.
            found = usual.overrun(event := events[warp][at], 1 - event.number)
        if found is not None:
            return found
    return None if forever is None else Overrun(forever, None)


def _single_turns(loops: Sequence[frozenset[Block]]) -> dict[str, int]:
    """
    Returns parameters that say alone how often loops inside of others run, and the greatest powers of two for which
    these run once, as they count from 0 to 1.
    """
    found: dict[str, int] = {}
    around = loops_around(loops)
    for loop in loops:
        if not any(loop < other for other in around[next(iter(loop))]):
            continue
        for block in loop:
            condition = last.condition.owner if isinstance(last := block.last_op, ptx.CondBraOp) else None
            if loop.issuperset(successors(block)) or not isinstance(condition, ptx.SetpOp):
                continue
            if condition.comparison.data is not ptx.Comparison.LT or (only := _only_parameter(condition.rhs)) is None:
                continue
            param, large = only
            ends = evaluated(condition.rhs, param.result, 1 << np.arange(31), dict.fromkeys(large, _LARGE))
            if ends is None or isinstance(ends, int) or ends[-1] == 1 or not (ends == 1).any():
                continue
            name, number = param.param.data, 1 << int(np.flatnonzero(ends == 1)[-1])
            found[name] = min(number, found.get(name, number))
    return found


def _only_parameter(value: SSAValue) -> tuple[ptx.LdParamOp, set[SSAValue]] | None:
    """
    Returns the parameter that a number is computed from besides constants, None if there are others or none; and what
    stands beside it in minima, such as the row of a tile in how many keys it sees, which is taken to be large.
    """
    found: dict[SSAValue, frozenset[ptx.LdParamOp] | None] = {}
    """Numbers -> the parameters that they are computed from, None where other numbers take part."""
    large, pending = set[SSAValue](), [value]
    while pending:
        op = (one := pending[-1]).owner
        if isinstance(op, ptx.LdParamOp):
            found[one] = frozenset((op,))
        elif isinstance(op, Block) or not (op.operands or isinstance(op, ptx.ConstantOp)):
            found[one] = None
        elif left := [operand for operand in op.operands if operand not in found]:
            pending += left
            continue
        else:
            others = {operand for operand in op.operands if found[operand] is None}
            known = [each for operand in op.operands if (each := found[operand]) is not None]
            is_known = not others or (isinstance(op, ptx.MinOp) and known)
            found[one] = frozenset[ptx.LdParamOp]().union(*known) if is_known else None
            large |= others if is_known else set()
        pending.pop()
    parameters = found[value]
    return (next(iter(parameters)), large) if parameters is not None and len(parameters) == 1 else None


def _announce_their_own(analysis: OrderingAnalysis) -> bool:
    """
    Returns True if each copy is issued by the threads that have just announced its bytes: their arrival stands for the
    copy, too.
    """
    ops = {*analysis.synchronizations, *analysis.mbarriers}
    for block in {op.parent: None for op in ops if op.parent is not None}:
        announced = False
        for op in analysis.flow.control.ops[block]:
            if op not in ops:
                continue
            match analysis.synchronizations.get(op):
                case ptx.MbarrierArrive(announces=True) | ptx.MbarrierTransaction(announces=True):
                    announced = True
                case ptx.MbarrierTransaction():
                    return False
                case ptx.MbarrierWait() | ptx.BlockBarrier():
                    announced = False
                case None if op in analysis.mbarriers and not announced:
                    return False
                case _:
                    pass
    return True


def _stuck(walks: Walks, events: Sequence[Sequence[Event]], at: Sequence[int]) -> Operation | None:
    """Returns a wait that never ends, None unless no warp that uses mbarriers comes to the end of what is known."""
    waits = [own[place] for own, place in zip(events, at, strict=True) if place < len(own)]
    waits = [event for event in waits if event.does is ptx.MbarrierWait]
    ended = [warp for warp, own in enumerate(events) if at[warp] == len(own)]
    using = {warp for warp, own in enumerate(events) if any(event.does is not ptx.BlockBarrier for event in own)}
    if not waits or not walks.returned.issuperset(ended) or (walks.runs_on and using & walks.returned):
        return None  # a loop whose end is not known with one that has ended
    arrivals = Counter(event.place for own in events for event in own if event.does is ptx.MbarrierArrive)
    return min(waits, key=lambda event: arrivals[event.place]).op


def _chosen(events: Sequence[Event]) -> Iterable[int]:
    """Returns the places of the first wait of each operation, and of the first that comes to a slot again."""
    found: dict[Operation, list[int]] = defaultdict(list)
    for at, event in enumerate(events):
        if event.does is ptx.MbarrierWait:
            found[event.op].append(at)
    for places in found.values():
        slots = len({events[at].place for at in places})
        yield places[0]
        if len(places) > slots:
            yield places[slots]


class _Play:
    """Warps go through their events, each as far as the others let it."""

    def __init__(
        self,
        counts: Mapping[int, int],
        events: Sequence[Sequence[Event]],
        stops: frozenset[tuple[int, int]] = frozenset(),
    ):
        """`stops` are warps and waits at which they stop in plays of their own, which begin as this one."""
        self._counts, self._events, self._stops = counts, events, stops
        self.at = [0] * len(events)
        """The event that each warp is at."""
        self._phases = defaultdict[int, int](int)
        """Completed phases of each mbarrier."""
        self._completed_by: dict[int, Operation] = {}
        """The arrivals that completed the last ones."""
        self.overruns: dict[tuple[int, int], Overrun | None] = {}
        """Those of `stops` that warps have passed -> what the others overrun while the warp stands there."""
        self._arrived = defaultdict[int, int](int)
        """Arrivals in the present phase of each mbarrier; `~barrier`: warps that have come to a barrier."""
        self._turns = [0] * len(events)
        """The turn of the barrier at which each warp stands, 0 elsewhere."""

    def overrun(self, wait: Event, least: int) -> Overrun | None:
        """The overrun of a wait that goes on behind `least` phases, None if no more are completed."""
        if self._phases[wait.place] <= least:
            return None
        return Overrun(wait.op, self._completed_by[wait.place])

    def run(self, stopped: int | None = None, first: int = 0) -> None:
        """Lets each warp but `stopped` take one event at a time until none can go on; warps from `first` on begin."""
        at, turn = self.at, range(first, len(self.at))
        ends = [*map(len, self._events)]
        while True:
            moving = len(turn) < len(at)
            for warp in turn:
                if warp != stopped and at[warp] < ends[warp] and self._takes(warp, at[warp]):
                    at[warp] += 1
                    moving = True
            if not moving:
                return
            turn = range(len(at))

    def _takes(self, warp: int, at: int) -> bool:
        event, arrived = self._events[warp][at], self._arrived
        place, number = event.place, event.number
        if event.does is ptx.BlockBarrier:  # whose warps go on once as many as it is for have come
            if not (turn := self._turns[warp]):
                turn = self._turns[warp] = arrived[~place] // number + 1
                arrived[~place] += 1
            if arrived[~place] < turn * number:
                return False
            self._turns[warp] = 0
            return True
        if event.does is ptx.MbarrierWait:
            if self._phases[place] & 1 == number:
                return False
            if (warp, at) in self._stops:
                self.overruns[warp, at] = self._while_stopped(warp).overrun(event, self._phases[place])
            return True
        arrived[place] += number
        if arrived[place] >= self._counts[place]:
            arrived[place] -= self._counts[place]
            self._phases[place] += 1
            self._completed_by[place] = event.op
        return True

    def _while_stopped(self, warp: int) -> _Play:
        """The play of the others from here on, while a warp, whose turn it is, stands still."""
        play = _Play(self._counts, self._events)
        play.at, play._turns = [*self.at], [*self._turns]
        play._phases, play._arrived = self._phases.copy(), self._arrived.copy()
        play._completed_by = self._completed_by.copy()
        play.run(warp, warp + 1)
        return play
