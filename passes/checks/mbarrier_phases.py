"""
Phases of mbarriers in loops, such as those of the slots of a ring: nobody runs ahead of the threads that wait for them.

A wait tells phases apart by their parity only, and a phase counts arrivals, no matter whose (PTX ISA, "Phase of the
mbarrier object"). So threads that arrive at an mbarrier in a loop have to stop while a thread that waits for it in a
loop stands still: otherwise, once the loops run often enough, they arrive twice in one phase or complete two of them.
Threads stop in a loop at a barrier of the block or the cluster, and at a wait for an mbarrier at which some thread
arrives that has stopped, or that does not come again.

The blocks of a cluster run the same program and are taken together: what may stop a thread in any of them counts. Where
two rings connect the same threads, each stops what the other one lets through; how far, `mbarrier_rounds` counts.
Spinning on memory is not looked at; nothing that is emitted does that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tirx.diagnostics import in_line
from tirx.dialects import ptx
from tirx.dialects.ptx.effects import TensorCommit
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.counters import Counters
from tirx.passes.checks.mbarrier_rounds import find_overrun
from tirx.passes.checks.mbarrier_walks import loops_around
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.checks.thread_values import incoming
from tirx.passes.ir.control_flow import ControlFlow
from tirx.rules import SynchronizationError
from tirx.values import dataclass, replace

_Places: TypeAlias = frozenset[tuple[object, int]]
"""Bytes of allocations at which an mbarrier may lie, slot by slot."""


@dataclass(frozen=True, eq=False)
class _Use:
    """
    An operation that waits, or that arrives at an mbarrier, and the warps of the threads that execute it.

    `places`: where the mbarrier lies, None if that is not known, or for a barrier. `loop`: the blocks of the loop that
    brings the next phase, None outside of loops. `most`: the most arrivals in a phase, None if that is not known.
    """

    op: Operation
    warps: frozenset[int]
    places: _Places | None = None
    loop: frozenset[Block] | None = None
    most: int | None = None

    def meets(self, other: _Use) -> bool:
        """Returns True if both may be about one mbarrier."""
        return self.places is None or other.places is None or not self.places.isdisjoint(other.places)


def check_phases(analysis: OrderingAnalysis, counters: Counters) -> None:
    """
    Raises LocatedError at a wait for an mbarrier at which nobody arrives, or fewer than it counts in each phase, and at
    an arrival in a loop that does not stop for the threads that wait for it in a loop.

    A wait for parity 1 outside of loops is let through: it may be for the phase before the first.
    """
    if not any(isinstance(found, ptx.MbarrierWait) for found in analysis.synchronizations.values()):
        return
    uses = _Uses(analysis, counters)
    if analysis.flow.control.cyclic - frozenset[Block]().union(*uses.loops):
        return  # a cycle with two entries
    # A wait with a result is one try, in a loop of its own.
    waits = [one for one in uses.waits if one.places is not None and isinstance(one.op, ptx.MbarrierWaitParityOp)]
    at_places = {wait.places: wait for wait in waits}  # many may wait for one mbarrier
    met = {places: [one for one in uses.arrivals if wait.meets(one)] for places, wait in at_places.items()}
    short = {places: uses.short_of(wait, met[places]) for places, wait in at_places.items()}
    arrivals = {wait: met[wait.places] for wait in waits}
    for wait, own in arrivals.items():
        if not own and (wait.loop is not None or _is_for_first_phase(counters, wait.op)):
            raise SynchronizationError(
                wait.op,
                f"expected an arrival at the mbarrier that '{wait.op.name}' waits for, found none; put "
                "ptx.mbarrier.arrive or a commit where the threads behind it may go on "
                '(PTX ISA, "Phase of the mbarrier object")',
            )
        if (counts := short[wait.places]) is not None:
            raise SynchronizationError(
                wait.op,
                f"expected {counts[0]} arrivals in each phase of the mbarrier that '{wait.op.name}' waits for, as its "
                f"ptx.mbarrier.init says, found at most {counts[1]}; put ptx.mbarrier.arrive where the others arrive "
                '(PTX ISA, "Phase of the mbarrier object")',
            )
    stopped: dict[frozenset[int], set[_Use]] = {}
    checked = set[tuple[_Places | None, frozenset[int]]]()
    for wait, own in arrivals.items():
        for warps in _apart(analysis, wait) if wait.loop is not None else ():
            if (wait.places, warps) in checked:
                continue
            checked.add((wait.places, warps))
            if warps not in stopped:
                stopped[warps] = uses.stopped(warps)
            _check_stopping(wait, own, stopped[warps])
    slots = max((len(wait.places or ()) for wait in waits), default=0)
    found = find_overrun(analysis, uses.loops, slots)
    if found is not None and found.arrival is None:
        raise SynchronizationError(
            found.wait,
            f"expected an arrival for each phase that '{found.wait.name}' waits for, found fewer: all threads "
            "come to wait for each other; put ptx.mbarrier.arrive or a commit where the threads behind it may go on "
            '(PTX ISA, "Phase of the mbarrier object")',
        )
    if found is not None and found.arrival is not None:
        raise SynchronizationError(
            found.arrival,
            f"expected that '{found.arrival.name}' waits for the threads that wait for its mbarrier at "
            f"'{found.wait.name}'{in_line(found.wait)}, found that it may arrive for the next phase but one while they "
            "still wait; put ptx.mbarrier.wait_parity before the slot is used again, on the mbarrier at which these "
            'threads pass it on (PTX ISA, "Phase of the mbarrier object")',
        )


def _is_for_first_phase(counters: Counters, wait: Operation) -> bool:
    """Returns True for parity 0; before any arrival, a wait for parity 1 goes on."""
    taken = counters.taken(wait.parity) if isinstance(wait, ptx.MbarrierWaitParityOp) else None
    return taken is not None and taken.numbers.tolist() == [0]


def _check_stopping(wait: _Use, arrivals: Sequence[_Use], stopped: set[_Use]) -> None:
    stopping = frozenset[int]().union(*{one.warps for one in arrivals if one.loop is not None and one in stopped})
    for one in arrivals:
        # A loop without waits may fill the slots for the first time.
        if one.loop is None or one.places is None or not stopping.isdisjoint(one.warps):
            continue
        raise SynchronizationError(
            one.op,
            f"expected a wait in the loop around '{one.op.name}' for the threads that wait for its mbarrier at "
            f"'{wait.op.name}'{in_line(wait.op)}, found none: it may arrive for the next phase but one while they "
            "still wait; put ptx.mbarrier.wait_parity before the slot is used again, on the mbarrier at which these "
            'threads pass it on (PTX ISA, "Phase of the mbarrier object")',
        )


def _apart(analysis: OrderingAnalysis, wait: _Use) -> Iterable[frozenset[int]]:
    """The warps of a wait one by one; all of them together where it is not known which of them wait."""
    block = wait.op.parent
    exact = block is not None and (len(wait.warps) == 1 or analysis.flow.active[block].exact)
    return (frozenset((warp,)) for warp in sorted(wait.warps)) if exact else (wait.warps,)


class _Uses:
    """The operations of an entry that wait and arrive."""

    def __init__(self, analysis: OrderingAnalysis, counters: Counters):
        self._analysis, self._counters = analysis, counters
        self.loops = _natural_loops(analysis.flow.control)
        self._around = loops_around(self.loops)
        self.waits: list[_Use] = []
        self.arrivals: list[_Use] = []
        self.barriers: list[_Use] = []
        self._counts: dict[tuple[object, int], int] = {}
        for op in analysis.flow.control.of_type(ptx.MbarrierInitOp):
            for place in self._places(op.barrier) or ():
                self._counts[place] = op.count.value.data
        for op, found in analysis.synchronizations.items():
            match found:
                case ptx.MbarrierWait(address):
                    self.waits.append(self._use(op, address))
                case ptx.MbarrierArrive(address) | TensorCommit(address) | ptx.CopyArrive(address):
                    self.arrivals.append(self._use(op, address, arrives=True))
                case ptx.BlockBarrier() | ptx.ClusterWait():
                    self.barriers.append(_Use(op, self._warps(op)))
                case _:
                    pass
        for uses in (self.waits, self.arrivals):
            uses[:] = [one if one.places is not None else self._of_station(one) for one in uses]

        self._barriers_in: dict[frozenset[Block], list[_Use]] = defaultdict(list)
        self._waits_in: dict[frozenset[Block], set[tuple[frozenset[int], _Places | None]]] = defaultdict(set)
        """Loops -> the warps of their waits, and where the mbarriers may lie."""
        for barrier in self.barriers:
            for loop in self._loops_of(barrier.op):
                self._barriers_in[loop].append(barrier)
        for wait in self.waits:
            for loop in self._loops_of(wait.op):
                self._waits_in[loop].add((wait.warps, wait.places))
        self._stops = {one: self._stops_of(one, one.loop) for one in self.arrivals if one.loop is not None}

    def short_of(self, wait: _Use, arrivals: Sequence[_Use]) -> tuple[int, int] | None:
        """
        Returns the arrivals that an mbarrier of a wait counts in a phase, and those that there are at most, if these
        are fewer; None if they are not, or are not known.
        """
        for place in wait.places or ():
            own = [one.most for one in arrivals if one.places is None or place in one.places]
            known = [most for most in own if most is not None]
            if own and len(known) == len(own) and sum(known) < self._counts.get(place, 0):
                return self._counts[place], sum(known)
        return None

    def stopped(self, warps: frozenset[int]) -> set[_Use]:
        """The arrivals that do not happen, again and again, as long as `warps` stand still."""
        stopped: set[_Use] = set()
        touched, anywhere = set[tuple[object, int]](), False  # places of those that stopped, and whether one is unknown
        changed = True
        while changed:
            changed = False
            for one in self.arrivals:
                if one in stopped:
                    continue
                if (found := self._stops.get(one)) is not None and not warps & found[0]:
                    if not any(
                        anywhere or (stopped if own is None else not own.isdisjoint(touched)) for own in found[1]
                    ):
                        continue
                stopped.add(one)
                touched.update(one.places or ())
                anywhere |= one.places is None
                changed = True
        return stopped

    def _stops_of(self, one: _Use, loop: frozenset[Block]) -> tuple[frozenset[int], set[_Places | None]] | None:
        """
        The warps of an arrival and those that it meets at barriers in its loop, and the places of their waits in the
        loop; None if it meets all warps of the block.
        """
        warps = one.warps
        for barrier in self._barriers_in.get(loop, ()):
            if warps & barrier.warps:
                threads = barrier.op.threads if isinstance(barrier.op, ptx.BarSyncOp) else None
                if threads is None or threads.value.data != len(barrier.warps) * WARP_SIZE:
                    return None
                warps |= barrier.warps
        return warps, {places for others, places in self._waits_in.get(loop, ()) if warps & others}

    def _loops_of(self, op: Operation) -> list[frozenset[Block]]:
        """The loops around an operation, inner ones first."""
        assert op.parent is not None
        return self._around.get(op.parent, [])

    def _warps(self, op: Operation) -> frozenset[int]:
        assert op.parent is not None
        return self._analysis.flow.active[op.parent].warps

    def _use(self, op: Operation, address: SSAValue, *, arrives: bool = False) -> _Use:
        around = self._loops_of(op)
        varying = {loop for loop in around if _varies(address, loop, set())}
        places = self._places(address)
        if arrives and places is not None:
            # A loop that ends before it comes to a slot again is one turn of the loop around it.
            control = self._analysis.flow.control
            most = {loop: len(places) if loop in varying else 1 for loop in around}
            around = [loop for loop in around if not _is_bounded(op, most[loop], loop, control)]
        loop = next((one for one in around if one in varying), None)
        if loop is None and around:
            # One mbarrier in all loops: a turn of the innermost one completes a phase, if one arrival does.
            alone = places is not None and all(self._counts.get(place) == 1 for place in places)
            loop = around[0] if alone else around[-1]
        slot_by_slot = loop is None or (loop is around[0] and loop in varying)
        return _Use(op, self._warps(op), places, loop, self._most(op) if arrives and slot_by_slot else None)

    def _most(self, op: Operation) -> int:
        """Returns how often the threads of all blocks of a cluster arrive at most when they execute `op` once."""
        assert op.parent is not None
        count = op.count.value.data if isinstance(op, ptx.MbarrierArriveOp) and op.count is not None else 1
        entry = self._analysis.flow.control.entry
        return self._analysis.flow.active[op.parent].mask.bit_count() * count * entry.cluster_size

    def _places(self, address: SSAValue) -> _Places | None:
        while isinstance(address.owner, ptx.MapaOp):
            address = address.owner.address
        taken = self._counters.taken(address)
        if taken is None or taken.allocation is None:
            return None
        return frozenset(taken.places)

    def _of_station(self, one: _Use) -> _Use:
        """
        With the places of the mbarriers in a row, one for each slot, that begin at the constant part of the address: a
        slot that the program chooses by more than one counter is one of them.
        """
        if (start := self._constant_part(self._analysis.mbarriers[one.op])) is None:
            return one
        rows = (each.places for each in (*self.waits, *self.arrivals) if each.places is not None)
        row = next((row for row in rows if start in row and start[1] == min(number for _, number in row)), None)
        return replace(one, places=row)

    def _constant_part(self, address: SSAValue) -> tuple[object, int] | None:
        key, number, pending = None, 0, [address]
        while pending:
            value = pending.pop()
            if (taken := self._counters.taken(value)) is not None and len(taken.numbers) == 1:
                number += int(taken.numbers[0])
                key = key if taken.allocation is None else taken.base
            elif isinstance(value.owner, ptx.AddOp):
                pending += value.owner.operands
        return None if key is None else (key, number)


def _varies(value: SSAValue, loop: frozenset[Block], seen: set[SSAValue]) -> bool:
    """Returns True if `value` may be another one in the next turn of a loop."""
    if value in seen:
        return False
    seen.add(value)
    if isinstance(value, BlockArgument):
        if value.block not in loop:
            return False
        others = {other for other in incoming(value.block, value) if other is not value}
        return len(others) > 1 or any(_varies(other, loop, seen) for other in others)
    op = value.owner
    return isinstance(op, Operation) and any(_varies(operand, loop, seen) for operand in operands_of(op))


def _natural_loops(control: ControlFlow) -> list[frozenset[Block]]:
    """The blocks of each loop with one entry, inner loops before those around them."""
    bodies: dict[Block, set[Block]] = {}
    for block in control.blocks:
        for header in set(_back_edges(control, block)):
            body = bodies.setdefault(header, {header})
            pending = [block]
            while pending:
                if (one := pending.pop()) not in body:
                    body.add(one)
                    pending.extend(control.predecessors(one))
    return sorted(map(frozenset, bodies.values()), key=len)


def _is_bounded(op: Operation, most: int, loop: frozenset[Block], control: ControlFlow) -> bool:
    """Returns True if a loop that counts from a constant to a constant executes `op` at most so often."""
    header = next((block for block in loop if not loop.issuperset(control.predecessors(block))), None)
    if header is None or op.parent is header:  # the header is executed once more
        return False
    if not isinstance(last := header.last_op, ptx.CondBraOp) or last.else_dest in loop:
        return False
    test = last.condition.owner
    if not isinstance(test, ptx.SetpOp) or test.comparison.data is not ptx.Comparison.LT or test.unsigned is not None:
        return False
    counter, end = test.lhs, ptx.integer_of(test.rhs)
    if not isinstance(counter, BlockArgument) or counter.block is not header or end is None:
        return False
    starts: list[int | None] = []
    steps: list[int | None] = []
    for value in incoming(header, counter):
        if isinstance(add := value.owner, ptx.AddOp) and add.lhs is counter:
            steps.append(ptx.integer_of(add.rhs))
        else:
            starts.append(ptx.integer_of(value))
    match starts, steps:
        case [int(start)], [int(step)] if step > 0:
            return start + most * step >= end
        case _:
            return False


def _back_edges(control: ControlFlow, block: Block) -> Iterator[Block]:
    last = block.last_op
    for successor in () if last is None else last.successors:
        if control.dominators.dominates(successor, block):
            yield successor
