"""The check of rings: no deadlock, no slot overwritten or read stale, for all numbers of iterations and conditions.

The programs are fed loop by loop, in lockstep: round i of a loop appends one iteration of every role that has the loop
to what that role still has to do; then every role goes as far as it gets. A loop is run until the states behind a round
have been seen before. Rounds that are far from both ends do the same to equal states, so what follows covers every
larger number of iterations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product

from tirx.passes.rings.proof.errors import EndlessError, PartyError, RingError, UndecidedError
from tirx.passes.rings.proof.model import (
    Access,
    AwaitIssue,
    BeforeLast,
    Body,
    Condition,
    FromRound,
    If,
    Issue,
    Kernel,
    Loop,
    Rotation,
    Statement,
    Step,
    Use,
    walk,
)
from tirx.passes.rings.proof.replay import ROUND_LIMIT, State
from tirx.passes.rings.proof.structure import Activity, activity, check_structure
from tirx.values import dataclass, replace

States = dict[Hashable, State]
"""States by what decides how the replay goes on."""

TRAIL = 4
"""Loops whose numbers of iterations an error names, the last ones."""

FEW = 7
"""Runs with 0, 1, ... iterations of every loop that look for a plain error."""

MANY = 10**9
"""Stands for a number of iterations that is far from its end."""


def check(kernel: Kernel) -> Activity:
    """Raises RingError, or returns the kinds of accesses: every party ends, all accesses are in order, for all numbers
    of iterations.

    What it cannot decide is an error as well, with a message that says so.
    """
    happens = activity(kernel)
    check_structure(kernel, happens)
    start = State(kernel, happens)
    try:
        _run(_Progress(), start)
    except EndlessError:
        # The error of a run with few iterations says what goes wrong.
        for trips in range(FEW):
            _run(_FixedTrips(trips), start.copy())
        raise
    return happens


def _run(progress: _Progress, start: State) -> None:
    """Replays the kernel from the start and checks every end."""
    whole = {role: Loop("kernel", 1, 0, body) for role, body in start.kernel.roles.items()}
    for state in progress.round(whole, {start.key(): start}, 0, 1).values():
        try:
            state.check_end()
        except RingError as error:
            raise _with_trail(error, state.trail) from None


def smallest_slots(kernel: Kernel) -> dict[str, int]:
    """The least number of slots of every ring of an accepted kernel that is accepted as well, the others as they are.

    More slots only weaken the waits at the first station, so every larger number is accepted too.
    """

    def is_accepted(name: str, slots: int) -> bool:
        rings = {**kernel.rings, name: replace(kernel.rings[name], slots=slots)}
        try:
            check(Kernel(rings, kernel.roles))
        except RingError:
            return False
        return True

    return {
        name: next((slots for slots in range(1, ring.slots) if is_accepted(name, slots)), ring.slots)
        for name, ring in kernel.rings.items()
    }


def _iterations(n: int) -> str:
    return f"{n} iteration{'' if n == 1 else 's'}"


def _with_trail(error: RingError, trail: tuple[str, ...]) -> RingError:
    """An error with the numbers of iterations that lead to it in its message."""
    return type(error)(f"{error.message}, when {', '.join(trail)}", error.origin, error.others) if trail else error


@dataclass(frozen=True)
class _Segment:
    """The statements of roles between two loops."""

    bodies: dict[str, Body]


@dataclass(frozen=True)
class _Loops:
    """A loop of the program, and what each role does in it."""

    name: str
    loops: dict[str, Loop]


def _common_order(loops: Mapping[str, Sequence[Loop]]) -> list[str]:
    """Returns the names of all loops in an order that every role agrees with; `loops` are those of each role."""
    left = {role: deque(loop.name for loop in found) for role, found in loops.items()}
    behind = {role: set(names) for role, names in left.items()}
    ranks = {loop.name: (loop.rank, loop.name) for found in loops.values() for loop in found}
    order: list[str] = []
    while heads := {role: names[0] for role, names in left.items() if names}:
        ready = [
            head for head in heads.values() if all(heads[role] == head or head not in behind[role] for role in heads)
        ]
        if not ready:
            names = ", ".join(f"@{name}" for name in dict.fromkeys(n for names in left.values() for n in names))
            first = next(loop for found in loops.values() for loop in found)
            raise UndecidedError(
                f"cannot decide: the loops {names} stand in different order in different roles", first.origin
            )
        order.append(min(ready, key=ranks.__getitem__))
        for role, head in heads.items():
            if head == order[-1]:
                behind[role].discard(left[role].popleft())
    return order


def _aligned(bodies: Mapping[str, Body]) -> list[_Segment | _Loops]:
    """Brings the loops of all roles into an order that every role agrees with."""
    loops: dict[str, list[Loop]] = {}
    between: dict[str, list[Body]] = {}
    for role, body in bodies.items():
        loops[role], between[role] = _split(role, body)
    items: list[_Segment | _Loops] = [_Segment({role: parts[0] for role, parts in between.items()})]
    places = {role: {loop.name: (i, loop) for i, loop in enumerate(found)} for role, found in loops.items()}
    for name in _common_order(loops):
        members = {role: found[name] for role, found in places.items() if name in found}
        _require_same_trips(name, {role: loop for role, (_, loop) in members.items()})
        items.append(_Loops(name, {role: loop for role, (_, loop) in members.items()}))
        items.append(_Segment({role: between[role][i + 1] for role, (i, _) in members.items()}))
    return items


def _split(role: str, body: Body) -> tuple[list[Loop], list[Body]]:
    """The loops of a body that do something, and what stands before, between and behind them.

    A condition around loops is a loop itself, which has one iteration or none.
    """
    loops: list[Loop] = []
    between: list[list[Statement]] = [[]]
    for statement in body:
        inner = _first_loop(statement.body) if isinstance(statement, If) else None
        if isinstance(statement, If) and inner is not None:
            if not isinstance(statement.guard, Condition):
                raise UndecidedError(
                    f"{role}: cannot decide: a loop @{inner.name} in a part of a loop with a skew", inner.origin
                )
            name = f"{inner.name} under a condition"
            statement = Loop(name, statement.guard, 0, statement.body, inner.rank, statement.origin)
        if not isinstance(statement, Loop):
            between[-1].append(statement)
        elif statement.body:
            loops.append(statement)
            between.append([])
    seen: set[str] = set()
    for loop in loops:
        if loop.name in seen:
            raise UndecidedError(f"{role}: cannot decide: loop @{loop.name} twice in a row", loop.origin)
        seen.add(loop.name)
    return loops, [tuple(part) for part in between]


def _first_loop(body: Body) -> Loop | None:
    return next((statement for statement in walk(body) if isinstance(statement, Loop)), None)


def _require_same_trips(name: str, loops: Mapping[str, Loop]) -> None:
    (first, loop), *others = loops.items()
    for role, other in others:
        if other.trips != loop.trips:
            raise PartyError(
                f"the numbers of iterations of @{name} may differ between {first} and {role}",
                other.origin,
                [(f"the loop of {first}", loop.origin)],
            )


@dataclass(frozen=True)
class _Steps:
    """The steps of each role between two loops of a round: one entry for all values of the conditions together."""

    choices: tuple[dict[str, tuple[Step, ...]], ...]


@dataclass(frozen=True)
class _Look:
    """Guards and lags of the body of a loop: all that depends on which round it is, and on how many are left."""

    from_round: tuple[int, ...]
    before_last: tuple[int, ...]
    lags: tuple[Rotation, ...]

    @staticmethod
    def of(loop: Loop) -> _Look:
        from_round: dict[int, None] = {}
        before_last: dict[int, None] = {}
        lags: dict[Rotation, None] = {}
        for statement in walk(loop.body):
            if isinstance(statement, If):
                match statement.guard:
                    case FromRound(round=number):
                        from_round[number] = None
                    case BeforeLast(rounds=number):
                        before_last[number] = None
                    case Condition():
                        pass
            for lag in _rotations(statement, loop.name):
                lags[lag] = None
        return _Look(tuple(from_round), tuple(before_last), tuple(lags))

    def at(self, i: int, n: int, rounds: int) -> Hashable:
        """Equal for rounds i of `rounds`, of n iterations, in which the body is the same."""
        return (
            tuple([i >= each for each in self.from_round]),
            tuple([i + each < rounds for each in self.before_last]),
            tuple([_lag_at(each, i, n) for each in self.lags]),
        )

    @property
    def start(self) -> int:
        """The first round from which on it does not matter which round it is."""
        return max(self.from_round, default=0)

    def end(self, extra: int) -> int:
        """In rounds i < n - `end` of n + `extra` it does not matter how many are left."""
        guarded = max(self.before_last, default=0) - extra
        return max([guarded, *(lag.rounds - lag.left for lag in self.lags)])


def _lag_at(lag: Rotation, i: int, n: int) -> int:
    return min(lag.rounds, n - 1 - i + lag.left)


class _Progress:
    """Feeds the programs to the replay."""

    is_for_all = True
    """False for one run, whose errors say which use of a ring they are about: equal states count from other ones."""

    def __init__(self) -> None:
        self.rounds: list[str] = []
        self._prepared: dict[Hashable, list[_Steps | _Loops]] = {}
        self._done: dict[Hashable, States] = {}
        self._looks: dict[Hashable, dict[str, _Look]] = {}
        self._found: dict[int, tuple[Loop, _Look]] = {}
        self._alike: dict[Hashable, list[_Segment | _Loops]] = {}
        self._behind: dict[Hashable, tuple[_Loops, States]] = {}

    def round(self, loops: Mapping[str, Loop], states: States, i: int, n: int) -> States:
        """The states behind round i of a loop of n iterations, for the roles that still have a round."""
        rounds = {role: n + loop.extra for role, loop in loops.items() if i < n + loop.extra}
        if not rounds:
            return states
        names, looks = self._looked(loops, rounds)
        # Equal for rounds in which the roles do the same.
        kind = names, tuple([looks[role].at(i, n, total) for role, total in rounds.items()])
        if kind not in self._prepared:
            items = self._items(names, loops, looks, i, n)
            self._prepared[kind] = [
                _prepared(item.bodies, i, rounds) if isinstance(item, _Segment) else item for item in items
            ]
        # Equal states go on in the same way; their trails, which are for messages, may differ.
        key = kind, frozenset(states)
        if key not in self._done or not self.is_for_all:
            for item in self._prepared[kind]:
                states = self._segment(item, states) if isinstance(item, _Steps) else self._loop(item, states)
            self._done[key] = states
        return self._done[key]

    def _looked(self, loops: Mapping[str, Loop], rounds: Mapping[str, int]) -> tuple[Hashable, dict[str, _Look]]:
        """A key of the loops of the roles that still have a round, and what of a round each of them looks at."""
        names = tuple([(role, id(loops[role])) for role in rounds])
        if (looks := self._looks.get(names)) is None:
            looks = self._looks[names] = {role: self._look(loops[role]) for role in rounds}
        return names, looks

    def _look(self, loop: Loop) -> _Look:
        # The loop too: its identity is the key.
        if (found := self._found.get(id(loop))) is None:
            found = self._found[id(loop)] = loop, _Look.of(loop)
        return found[1]

    def _items(
        self, names: Hashable, loops: Mapping[str, Loop], looks: Mapping[str, _Look], i: int, n: int
    ) -> list[_Segment | _Loops]:
        """The loops of a round and what stands between them: the same in all rounds unless lags depend on them."""
        if names in self._alike:
            return self._alike[names]
        rotates = any(look.lags for look in looks.values())
        items = _aligned(
            {role: _in_round(loops[role], i, n) if look.lags else loops[role].body for role, look in looks.items()}
        )
        if not rotates:
            self._alike[names] = items
        return items

    def _segment(self, item: _Steps, states: States) -> States:
        """The states behind statements without loops, for all values of their conditions."""
        out: States = {}
        for state in states.values():
            for steps in item.choices:
                new = state.copy()
                for role, found in steps.items():
                    new.waiting[role] += found
                try:
                    new.run()
                except RingError as error:
                    raise _with_trail(error, (*state.trail, *self.rounds)) from None
                out[new.key()] = new
        if len(out) > 2 * ROUND_LIMIT:
            raise UndecidedError("cannot decide: too many conditions or too many ways to get here")
        return out

    def _loop(self, item: _Loops, states: States) -> States:
        """The states behind a loop, found once for equal states before it: most rounds around it have the same ones."""
        key = tuple((role, id(loop)) for role, loop in item.loops.items()), frozenset(states)
        if key not in self._behind or not self.is_for_all:
            self._behind[key] = item, self._iterated(item, states)  # the loops too: their identities are in the key
        return self._behind[key][1]

    def _iterated(self, item: _Loops, states: States) -> States:
        """The union of the states behind a loop over all numbers of iterations, of which a condition has 0 and 1."""
        if any(isinstance(loop.trips, Condition) for loop in item.loops.values()):
            return {**states, **self.round(item.loops, states, 0, 1)}
        looks = [(loop.extra, self._look(loop)) for loop in item.loops.values()]
        most = max(extra for extra, _ in looks)
        start = max(look.start for _, look in looks)
        end = max(0, max(look.end(extra) for extra, look in looks))
        out: States = {}
        prefix = states  # behind `first` rounds that are all far from the end, which is `end` rounds later at least
        seen: list[frozenset[Hashable]] = []
        for first in range(ROUND_LIMIT):
            few = [(n, states, 0) for n in range(end)] if first == 0 else []
            for n, last, begin in [*few, (first + end, prefix, first)]:
                for i in range(begin, n + most):
                    last = self._named_round(item, last, i, n)
                for key, state in last.items():
                    if key not in out:
                        out[key] = state.copy()
                        out[key].trail = (*state.trail, f"@{item.name} has {_iterations(n)}")[-TRAIL:]
            if first >= start:
                if (keys := frozenset(prefix)) in seen:
                    return out
                seen.append(keys)
            prefix = self._named_round(item, prefix, first, MANY)
        raise EndlessError(
            f"cannot decide: loop @{item.name} comes back to no state that was seen before: what is put into a ring "
            f"and taken out of it differs, or ever more work is pending",
            next(iter(item.loops.values())).origin,
        )

    def _named_round(self, item: _Loops, states: States, i: int, n: int) -> States:
        self.rounds.append(f"in round {i} of @{item.name}")
        states = self.round(item.loops, states, i, n)
        self.rounds.pop()
        return states


class _FixedTrips(_Progress):
    """Feeds the programs with the same number of iterations for every loop."""

    is_for_all = False

    def __init__(self, trips: int):
        super().__init__()
        self.trips = trips

    def _iterated(self, item: _Loops, states: States) -> States:
        if any(isinstance(loop.trips, Condition) for loop in item.loops.values()):
            return super()._iterated(item, states)
        for i in range(max(0, self.trips + max(loop.extra for loop in item.loops.values()))):
            states = self._named_round(item, states, i, self.trips)
        for state in states.values():
            state.trail = (f"every loop has {_iterations(self.trips)}",)
        return states


def _prepared(bodies: Mapping[str, Body], i: int, rounds: Mapping[str, int]) -> _Steps:
    """Returns the steps of bodies without loops in round i of each role's `rounds`, for all values of conditions."""
    names = {
        statement.guard.name: None
        for body in bodies.values()
        for statement in walk(body)
        if isinstance(statement, If) and isinstance(statement.guard, Condition)
    }
    values = (dict(zip(names, chosen, strict=True)) for chosen in product((False, True), repeat=len(names)))
    return _Steps(
        tuple(
            {role: tuple(_steps(body, i, rounds.get(role, 1), known)) for role, body in bodies.items()}
            for known in values
        )
    )


def _steps(body: Body, i: int, rounds: int, known: Mapping[Hashable, bool]) -> Iterator[Step]:
    """Yields the steps of a body without loops in round i of `rounds`."""
    for statement in body:
        match statement:
            case If(guard=guard):
                match guard:
                    case Condition():
                        taken = known[guard.name] == guard.value
                    case FromRound():
                        taken = i >= guard.round
                    case BeforeLast():
                        taken = i + guard.rounds < rounds
                if taken:
                    yield from _steps(statement.body, i, rounds, known)
            case Loop():
                raise AssertionError(f"expected no loop between loops, found @{statement.name}")
            case _:
                yield statement


def _in_round(loop: Loop, i: int, n: int) -> Body:
    """The body of a loop in round i of n iterations, with the lags that depend on the round."""

    def lag(found: int | Rotation) -> int | Rotation:
        if not isinstance(found, Rotation) or found.loop != loop.name:
            return found
        return _lag_at(found, i, n)

    return _with_lags(loop.body, loop.name, lag)


def _with_lags(body: Body, loop: str, lag: Callable[[int | Rotation], int | Rotation]) -> Body:
    if not _rotates(body, loop):
        return body
    return tuple(_with_lag(statement, loop, lag) for statement in body)


def _with_lag(statement: Statement, loop: str, lag: Callable[[int | Rotation], int | Rotation]) -> Statement:
    def changed(access: Access) -> Access:
        return replace(access, lag=lag(access.lag))

    match statement:
        case Use():
            return replace(statement, access=changed(statement.access))
        case Issue():
            return replace(statement, accesses=tuple(map(changed, statement.accesses)))
        case AwaitIssue():
            return replace(statement, lag=lag(statement.lag))
        case If() | Loop():
            return replace(statement, body=_with_lags(statement.body, loop, lag))
        case _:
            return statement


def _rotates(body: Body, loop: str) -> bool:
    """True if a lag in the body depends on the round of the loop."""
    return any(_rotations(statement, loop) for statement in walk(body))


def _rotations(statement: Statement, loop: str) -> Sequence[Rotation]:
    """The lags of a statement that depend on the round of the loop."""
    match statement:
        case Use(access=access):
            lags = (access.lag,)
        case Issue():
            lags = [access.lag for access in statement.accesses]
        case AwaitIssue():
            lags = (statement.lag,)
        case _:
            return ()
    return [lag for lag in lags if isinstance(lag, Rotation) and lag.loop == loop]
