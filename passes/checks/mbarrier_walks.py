"""The waits, arrivals and barriers of a warp in the order in which it comes to them, as far as they are known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.ptx.effects import TensorCommit
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.checks.thread_values import Numbers, ThreadValue, arithmetic_of, incoming, is_integer, wrapped
from tirx.passes.ir.control_flow import successors
from tirx.values import dataclass

_MOST_EVENTS = 2_000
"""Waits, arrivals and barriers of a warp that are played."""


_APART = 1 << 20
"""Bytes between two allocations, more than shared memory has."""


@dataclass(frozen=True, eq=False)
class _Lanes:
    """Numbers of the lanes of a warp, which differ."""

    numbers: Numbers


_Registers: TypeAlias = list[int | _Lanes | None]
"""The number of all lanes of a warp, or of each; None if it is not known."""


class Event(NamedTuple):
    """
    A wait for the phase with the parity `number` of the mbarrier at `place`, `number` arrivals there, or a barrier
    number `place` of `number` warps.
    """

    op: Operation
    does: type[ptx.MbarrierWait | ptx.MbarrierArrive | ptx.BlockBarrier]
    place: int
    number: int


class _End(Exception):
    """Nothing more is known of the way of a warp."""


class _Step(NamedTuple):
    """
    An operation from which an address, a parity or a condition is computed: the registers of its result, of `bits`
    bits, and of its operands, which `read` reads; `compute` does, None if it is not known how. `kept` are results of
    numbers that all lanes had before.
    """

    result: int
    operands: tuple[int, ...]
    read: Callable[[_Registers], object]
    compute: Callable[..., int | Numbers | None] | None
    bits: int
    is_minimum: bool
    kept: dict[object, int | _Lanes | None]

    def is_known(self, env: _Registers) -> bool:
        """Sets the result to the number of all lanes, or of each. Returns False if an operand is not known."""
        known = [each for operand in self.operands if (each := env[operand]) is not None]
        if is_known := len(known) == len(self.operands):
            env[self.result] = self._computed(known)
        return is_known

    def take(self, env: _Registers) -> None:
        """Sets the result in a walk, and keeps it; a minimum is that of what is known, as turns of loops are many."""
        known = [each for operand in self.operands if (each := env[operand]) is not None]
        if len(known) == len(self.operands):
            found = self._computed(known)
        else:
            found = known[0] if self.is_minimum and known else None
        env[self.result] = self.kept[self.read(env)] = found

    def _computed(self, known: list[int | _Lanes]) -> int | _Lanes | None:
        if self.compute is None:
            return None
        found = self.compute(*[each if isinstance(each, int) else each.numbers for each in known])
        if found is None or isinstance(found := wrapped(found, self.bits), int):
            return found
        return int(found[0]) if (found == found[0]).all() else _Lanes(found)


class Walks:
    """
    Walks of warps through an entry.

    What addresses, parities and conditions are computed from has registers. Those that no argument of a block changes
    are computed once for a warp.
    """

    def __init__(
        self,
        analysis: OrderingAnalysis,
        loops: Sequence[frozenset[Block]],
        turns: int,
    ):
        self._flow, self._turns = analysis.flow, turns
        self.warps = -(-self._flow.values.count // WARP_SIZE)
        """Of the block."""
        self._found: dict[Block, list[tuple[Operation, type, SSAValue | None]]] = defaultdict(list)
        """The operations of a block that are events, and the addresses of their mbarriers."""
        for op, found in analysis.synchronizations.items():
            block = op.parent
            assert block is not None
            match found:
                case ptx.MbarrierWait(address):
                    self._found[block].append((op, ptx.MbarrierWait, address))
                case ptx.CopyArrive() if isinstance(op, ptx.CpAsyncMbarrierArriveOp) and op.noinc is None:
                    pass  # counts up what it counts down
                case ptx.MbarrierArrive(address) | TensorCommit(address) | ptx.CopyArrive(address):
                    self._found[block].append((op, ptx.MbarrierArrive, address))
                case ptx.BlockBarrier():
                    self._found[block].append((op, ptx.BlockBarrier, None))
                case ptx.MbarrierInvalidate(address):
                    self._found[block].append((op, ptx.MbarrierInvalidate, address))
                case _:
                    pass
        self._loops = loops_around(loops)
        self._main = self._find_main(loops)
        self._inits = analysis.flow.control.of_type(ptx.MbarrierInitOp)
        self._registers: dict[SSAValue, int] = {}
        self._moving: dict[SSAValue, int] = {}
        """Those of arguments of blocks that may change."""
        self._start: _Registers = [None]
        """Registers with a number for all threads; the first is never known."""
        self._of_warps: list[tuple[int, list[int | _Lanes]]] = []
        """Registers with a number for all lanes of each warp, or one for each lane."""
        self._keys: list[list[int | bytes]] = [[] for _ in range(self.warps)]
        """These of each warp."""
        self._parameters: list[tuple[int, str]] = []
        """Registers of parameters, and their names."""
        self._all: dict[Block, list[_Step]] = {}
        self._conditions: list[SSAValue] = []
        """Those of branches that are not known for each thread."""
        self._passed: dict[Block, Block] = {}
        """The starts of branches between which there is nothing to note -> where the branches meet."""
        self._find_registers()
        self._moves: dict[tuple[Block, int], tuple[Block, list[tuple[int, int | None]], list[frozenset[Block]]]] = {}
        """A block and one of its ways -> where that leads, registers of arguments there, and of what they become, and
        the loops that it enters."""
        self._exits: dict[Block, frozenset[Block] | None] = {}
        """A block with two ways -> the innermost loop that one of them leaves."""

        firsts: dict[object, int] = {}
        self._like = [firsts.setdefault(self._depends_on(warp), warp) for warp in range(self.warps)]
        """Warps -> the first ones that walk the same way."""

    def _depends_on(self, warp: int) -> object:
        """Returns all that the walk of a warp depends on."""
        never = frozenset([condition for condition in self._conditions if self._never_holds(condition, warp)])
        main = frozenset([loop for loop, warps in self._main.items() if warp in warps])
        return tuple(self._keys[warp]), never, main, (warp + 1) * WARP_SIZE <= self._flow.values.count

    def begin(self, given: Mapping[str, int]) -> None:
        """Begins walks with these numbers of parameters."""
        self._common = list(self._start)
        for register, name in self._parameters:
            self._common[register] = given.get(name)
        self._steps = _unknown(self._all, self._common)
        """What may depend on arguments of blocks, or differ between warps."""
        self._walked: dict[int, list[Event]] = {}
        """The events of warps that walked."""
        self._env: _Registers = []
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
        self._env = self._common
        if not all(isinstance(self._value(op.barrier), int) for op in self._inits):
            self._begin(0)
            _unknown(self._steps, self._env)
        for op in self._inits:
            place = self._value(op.barrier)
            if not isinstance(place, int) or place in self.counts:
                self.counts.clear()
                return
            self.counts[place] = op.count.value.data

    def of_warp(self, warp: int) -> list[Event]:
        """Returns the waits, arrivals and barriers of a warp, as far as they are known."""
        self._warp, self._events = warp, []
        self._lanes = np.arange(min(WARP_SIZE, self._flow.values.count - WARP_SIZE * warp))
        if (like := self._like[warp]) != warp:
            self.returned |= {warp} if like in self.returned else set()
            return self._walked[like]
        self._walked[warp] = self._events
        self._begin(warp)
        self._left.clear()
        try:
            self._walk(self._flow.blocks[0], None)
        except _End:
            pass
        return self._events

    def _begin(self, warp: int) -> None:
        """Sets the registers that are known and do not change to those of a warp."""
        self._env = list(self._common)
        for register, own in self._of_warps:
            self._env[register] = own[warp]

    def _find_main(self, loops: Sequence[frozenset[Block]]) -> dict[frozenset[Block], set[int]]:
        """
        Returns loops that wait for mbarriers, and the warps for which they have the most events of those in the same
        loop: others are the first and last turns of loops that run through several stages at a time.
        """
        found: dict[frozenset[Block], set[int]] = defaultdict(set)
        events: dict[frozenset[Block], list[tuple[frozenset[int], list[type]]]] = defaultdict(list)
        for block, own in self._found.items():
            for loop in self._loops[block]:
                events[loop].append((self._flow.active[block].warps, [does for _, does, _ in own]))
        inside = [
            (loop, next((other for other in self._loops[next(iter(loop))] if loop < other), None), events[loop])
            for loop in loops
        ]
        for warp in range(self.warps):
            best: dict[frozenset[Block] | None, tuple[int, frozenset[Block]]] = {}
            for loop, around, found_there in inside:
                own = [does for warps, each in found_there if warp in warps for does in each]
                if ptx.MbarrierWait in own and (around not in best or best[around][0] < len(own)):
                    best[around] = len(own), loop
            for _, loop in best.values():
                found[loop].add(warp)
        return found

    def _find_registers(self) -> None:
        """Gives registers to all that addresses, parities and conditions are computed from."""
        pending: list[SSAValue] = [op.barrier for op in self._inits]
        for block in self._flow.blocks:
            for op, _, address in self._found.get(block, ()):
                pending += [] if address is None else [address]
                pending += [op.parity] if isinstance(op, ptx.MbarrierWaitParityOp) else []
            if isinstance(last := block.last_op, ptx.CondBraOp):
                if (join := self._join_of_silent(block)) is not None:
                    self._passed[block] = join
                    continue
                pending.append(last.condition)
                known = self._flow.values.get(last.condition)
                self._conditions += [last.condition] if known is None or not known.is_known else []
        allocations: dict[object, int] = {}
        needed = set[Operation]()
        of_threads: list[tuple[int, Numbers]] = []
        registers, values = self._registers, self._flow.values
        while pending:
            if (value := pending.pop()) in registers or not is_integer(value.type):
                continue
            registers[value] = register = len(self._start)
            self._start.append(None)
            known, owner = values.get(value), value.owner
            if known is not None and (place := _place(known, allocations)) is not None:
                if isinstance(known.given, int):
                    self._start[register] = place + known.given
                else:
                    of_threads.append((register, place + known.given))
            elif isinstance(owner, ptx.LdParamOp):
                self._parameters.append((register, owner.param.data))
            elif isinstance(value, BlockArgument):
                self._moving[value] = register
                pending += incoming(value.block, value)
            elif isinstance(owner, Operation) and operands_of(owner) and len(owner.results) == 1:
                needed.add(owner)
                pending += operands_of(owner)
        self._split(of_threads)
        for block in dict.fromkeys([op.parent for op in needed if op.parent is not None]):
            own = self._all[block] = list[_Step]()
            for op in self._flow.control.ops[block]:
                if op in needed:
                    (result,) = op.results
                    operands = tuple([registers.get(each, 0) for each in operands_of(op)])
                    compute, bits = arithmetic_of(op), cast(IntegerType, result.type).width.data
                    is_minimum = isinstance(op, ptx.MinOp)
                    own.append(_Step(registers[result], operands, itemgetter(*operands), compute, bits, is_minimum, {}))

    def _split(self, of_threads: Sequence[tuple[int, Numbers]]) -> None:
        """Gives registers the number of all lanes of each warp, or of each lane."""
        numbers = np.array([each for _, each in of_threads]).reshape(len(of_threads), self._flow.values.count)
        missing = self.warps * WARP_SIZE - numbers.shape[1]
        full = np.pad(numbers, ((0, 0), (0, missing)), "edge") if missing else numbers
        warps = full.reshape(len(of_threads), self.warps, WARP_SIZE)
        alike = (warps == warps[..., :1]).all(axis=2).tolist()
        for i, ((register, each), firsts) in enumerate(zip(of_threads, warps[..., 0].tolist(), strict=True)):
            own: list[int | _Lanes] = list(firsts)
            for warp in range(self.warps):
                if not alike[i][warp]:
                    own[warp] = _Lanes(each[WARP_SIZE * warp : WARP_SIZE * (warp + 1)])
                    firsts[warp] = warps[i, warp].tobytes()
                self._keys[warp].append(firsts[warp])
            self._of_warps.append((register, own))

    def _join_of_silent(self, block: Block) -> Block | None:
        """Returns where the two ways of a block meet in its loop, if there is nothing to note in between."""
        join = self._flow.control.post_dominators.immediate(block)
        if join is None or any(is_integer(argument.type) for argument in join.args):
            return None
        between = set[Block]().union(*(self._between(way, join) for way in successors(block)))
        if any(self._found.get(each) for each in between):
            return None
        loops = self._loops[block]
        return join if block not in between and all(self._loops[each] == loops for each in (*between, join)) else None

    def _number(self, value: SSAValue | None) -> int:
        """Returns the number that all lanes of the warp have."""
        if value is None or not isinstance(found := self._value(value), int):
            raise _End
        return found

    def _value(self, value: SSAValue) -> int | _Lanes | None:
        """Returns the number of all lanes of the warp, or of each; None if it is not known."""
        register = self._registers.get(value)
        return None if register is None else self._env[register]

    def _walk(self, block: Block, stop: Block | None) -> None:
        while block is not stop:
            env = self._env
            for step in self._steps.get(block, ()):
                try:
                    env[step.result] = step.kept[step.read(env)]
                except KeyError:
                    step.take(env)
            for op, does, address in self._found.get(block, ()):
                self._note(op, does, address)
            if (join := self._passed.get(block)) is not None:
                block = join
                continue
            match block.last_op:
                case ptx.BraOp():
                    block = self._enter(block, 0)
                case ptx.CondBraOp() as last:
                    taken = self._taken(block, last)
                    block = self._both(block, last) if taken is None else self._enter(block, 0 if taken else 1)
                case ptx.RetOp():
                    self.returned.add(self._warp)
                    raise _End
                case last:
                    raise AssertionError(last)

    def _note(self, op: Operation, does: type, address: SSAValue | None) -> None:
        if does is ptx.BlockBarrier:
            assert isinstance(op, ptx.BarSyncOp)
            warps = self.warps if op.threads is None else op.threads.value.data // WARP_SIZE
            event = Event(op, ptx.BlockBarrier, op.barrier.value.data, warps)
        else:
            if (place := self._number(address)) not in self.counts:
                raise _End
            if isinstance(op, ptx.MbarrierWaitParityOp):
                number = self._number(op.parity) & 1
            elif does is ptx.MbarrierArrive:
                each = op.count.value.data if isinstance(op, ptx.MbarrierArriveOp) and op.count is not None else 1
                number = each * len(self._lanes)
            else:
                raise _End
            event = Event(op, does, place, number)
        if len(self._events) >= _MOST_EVENTS:
            raise _End
        self._events.append(event)

    def _enter(self, block: Block, way: int) -> Block:
        """Returns the block that the first or second way of a branch leads to, whose arguments it sets."""
        if (block, way) not in self._moves:
            match block.last_op:
                case ptx.BraOp() as last:
                    successor, arguments = last.successors[0], last.arguments
                case ptx.CondBraOp() as last:
                    successor = (last.then_dest, last.else_dest)[way]
                    arguments = (last.then_arguments, last.else_arguments)[way]
                case last:
                    raise AssertionError(last)
            pairs = zip(successor.args, arguments, strict=True)
            registers, moving = self._registers, self._moving
            moves = [(moving[to], registers.get(value)) for to, value in pairs if to in moving]
            entered = [loop for loop in self._loops[successor] if block not in loop]
            self._moves[block, way] = successor, moves, entered
        successor, moves, entered = self._moves[block, way]
        for loop in entered:
            self._left.pop(loop, None)
        env = self._env
        for to, number in [(to, None if source is None else env[source]) for to, source in moves]:
            env[to] = number
        return successor

    def _taken(self, block: Block, branch: ptx.CondBraOp) -> bool | None:
        """Returns True if the lanes take the first way of a branch, None if they take both, or it is not known."""
        condition = self._value(branch.condition)
        if isinstance(condition, _Lanes):
            taking = condition.numbers[self._lanes] != 0
            return bool(taking[0]) if (taking == taking[0]).all() else None
        if condition is None and self._never_holds(branch.condition, self._warp):
            return False
        if block not in self._exits:
            ways = successors(block)
            self._exits[block] = next((loop for loop in self._loops[block] if not loop.issuperset(ways)), None)
        if (exits := self._exits[block]) is not None:
            return self._goes_on(branch, exits, condition)
        if condition is None:
            return None
        return bool(condition)

    def _never_holds(self, condition: SSAValue, warp: int) -> bool:
        """Returns True for a predicate that is known not to hold in any lane of a warp."""
        held = self._flow.values.holds(condition)
        return held is not None and not held[0] >> WARP_SIZE * warp & (1 << WARP_SIZE) - 1

    def _goes_on(self, branch: ptx.CondBraOp, loop: frozenset[Block], condition: int | None) -> bool:
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

    def _both(self, block: Block, branch: ptx.CondBraOp) -> Block:
        """Some lanes take one way, the others the other one, up to where the ways meet."""
        join = self._flow.control.post_dominators.immediate(block)
        if join is None:
            raise _End
        if not isinstance(condition := self._value(branch.condition), _Lanes):
            if any(self._found.get(each) for way in successors(block) for each in self._between(way, join)):
                raise _End
            for argument in join.args:
                if (register := self._moving.get(argument)) is not None:
                    self._env[register] = None
            return join
        before, lanes, ends = list(self._env), self._lanes, list[_Registers]()
        holds = condition.numbers[lanes] != 0
        for way, takes in enumerate((holds, ~holds)):
            self._env, self._lanes = list(before), lanes[takes]
            self._walk(self._enter(block, way), join)
            ends.append(self._env)
        self._lanes = lanes
        self._env = [
            a if a is b or (isinstance(a, int) and isinstance(b, int) and a == b) else None
            for a, b in zip(*ends, strict=True)
        ]
        return join

    def _between(self, first: Block, join: Block) -> set[Block]:
        found, pending = set[Block](), [first]
        while pending:
            if (block := pending.pop()) is not join and block not in found:
                found.add(block)
                pending += successors(block)
        return found


def loops_around(loops: Iterable[frozenset[Block]]) -> defaultdict[Block, list[frozenset[Block]]]:
    """Returns the loops around each block, inner ones first, as `loops` has them."""
    found: defaultdict[Block, list[frozenset[Block]]] = defaultdict(list)
    for loop in loops:
        for block in loop:
            found[block].append(loop)
    return found


def _place(known: ThreadValue, allocations: dict[object, int]) -> int | None:
    """Returns 0 for numbers, where an allocation begins for addresses in it, None for what is computed otherwise."""
    if not known.symbols:
        return 0
    if (alloc := known.allocation) is None:
        return None
    key = alloc if alloc.dynamic is None else ptx.SharedAllocOp
    return allocations.setdefault(key, _APART * (len(allocations) + 1))


def _unknown(steps: Mapping[Block, list[_Step]], env: _Registers) -> dict[Block, list[_Step]]:
    """Computes what depends on no argument of a block. Returns the other steps."""
    left = {block: [step for step in own if not step.is_known(env)] for block, own in steps.items()}
    return {block: own for block, own in left.items() if own}
