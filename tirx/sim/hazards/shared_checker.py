"""
One checker for all clusters of a launch that do the same.

What a checker finds depends on nothing but the accesses and the synchronisation that it hears of. The first cluster
that comes to such an event tells the checker of it; clusters behind it compare theirs with the record. One that does
something else goes on with another checker, which has been told the record up to there. So every cluster has the
verdict of a checker of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import isfunction
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.global_access import Access
from tirx.sim.hazards.monitor import Flag, Monitor, Note, Stored
from tirx.sim.memory.region import Region

_LIMIT = 1 << 26  # bytes of a record
_BRANCH_LIMIT = _LIMIT // 8  # of one that parts from another, as there may be many
_BUDGET = 1 << 27  # bytes of all records that clusters which have not started may follow
_MOST_FLAGS = 32  # accesses of one instruction; more are of data, which several threads share
_OVERHEAD = 500  # bytes of an event without its arrays
_SMALL = 1 << 12  # bytes of arrays that are compared as bytes

# Events that change nothing: a cluster may leave them out.
_QUERIES = frozenset(
    ("knows", "reached", "received", "shared_undefined", "shared_writes", "shared_writes_at", "tensor_undefined")
)
# Of an event: name, arguments, options, ticks and tolerant.
_Call: TypeAlias = tuple[str, tuple[object, ...], dict[str, Any], bool, bool]


@dataclass(slots=True, eq=False)
class _Event:
    """
    A call of a method of the monitor, and what it returned.

    `ticks`: an instruction has started since the event before. `tolerant` is that of the monitor. `line` is that of the
    instruction in the first cluster: others may do the same elsewhere.
    """

    name: str
    arguments: tuple[object, ...]
    options: dict[str, Any]
    ticks: bool
    tolerant: bool
    line: int = 0
    result: object = None
    instant: int = 0  # of the checker
    size: int = 0  # bytes
    marks: tuple[object, ...] = ()  # the arguments as they are compared: small arrays as bytes

    def tell(self, checker: Checker) -> object:
        """Tells a checker of the event. Returns its answer."""
        if self.ticks:
            checker.tick(self.line)
        checker.tolerant = self.tolerant
        return getattr(checker, self.name)(*self.arguments, **self.options)

    def is_like(
        self, name: str, arguments: tuple[object, ...], options: dict[str, Any], ticks: bool, tolerant: bool
    ) -> bool:
        """Returns True if the event of another cluster is the same as this one, which has been recorded."""
        if self.name != name or self.ticks is not ticks or self.tolerant is not tolerant or self.options != options:
            return False
        for mark, found in zip(self.marks, arguments, strict=True):
            if mark is not found and not _is_same(mark, found):
                return False
        return True

    def keep(self, result: object, instant: int) -> None:
        """Adds what the checker says, and makes the event independent of memory and registers."""
        self.arguments, self.result, self.instant = tuple(map(_kept, self.arguments)), result, instant
        self.marks = tuple(map(_mark, self.arguments))
        self.size = _OVERHEAD + sum(_size(each) for each in (*self.arguments, result))


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def _mark(argument: object) -> object:
    return argument.tobytes() if _is_array(argument) and argument.ndim == 1 and argument.nbytes <= _SMALL else argument


def _is_same(mark: object, found: object) -> bool:
    if isinstance(mark, bytes):
        return _is_array(found) and found.ndim == 1 and mark == found.tobytes()
    if _is_array(mark):
        return _is_array(found) and np.array_equal(mark, found)
    if isinstance(mark, Region):
        return isinstance(found, Region) and mark.key == found.key
    if isinstance(mark, Stored):
        return isinstance(found, Stored) and mark.finds_as(found)
    return not _is_array(found) and mark == found


def _kept(argument: object) -> object:
    """Addresses may be registers. Other arrays (snapshots, cells) are never changed."""
    if _is_array(argument):
        return argument.copy() if argument.ndim == 1 else argument
    return argument.without_values() if isinstance(argument, Stored) else argument


def _size(value: object) -> int:
    if isinstance(value, Region):
        return value.places.nbytes
    if isinstance(value, list):
        return sum(each.nbytes for each in cast("list[Flag]", value))
    return value.nbytes if _is_array(value) else 0


class _History:
    """
    Events from number `first` on, which clusters have in common.

    `base` is a checker that knows the events before these, None if there are none; `checker` one that knows all, None
    if nobody needs it at present. `branches` are other histories, by the number of the first event that differs.
    """

    def __init__(self, new: Callable[[], Checker], limit: int, first: int, events: list[_Event], base: Checker | None):
        self._new, self._step = new, limit
        self.first, self.events, self._base = first, events, base
        self.checker: Checker | None = None
        self.branches: dict[int, list[_History]] = {}
        self.members: set[ClusterChecker] = set()
        self._own = 0  # bytes of the events that are in no other history
        self._limit = limit

    @property
    def end(self) -> int:
        return self.first + len(self.events)

    @property
    def size(self) -> int:
        """Bytes of the record, branches included."""
        return self._own + sum(branch.size for each in self.branches.values() for branch in each)

    def before(self, number: int) -> Checker:
        """Returns a new checker that knows the events before one."""
        checker = self._new() if self._base is None else self._base.copy()
        _tell(checker, self.events[: number - self.first])
        return checker

    def branch(self, number: int, call: _Call) -> _History:
        """Returns the history that parts from this one with an event: that of another cluster, if it is the same."""
        for branch in self.branches.setdefault(number, []):
            if branch.first <= number < branch.end and branch.events[number - branch.first].is_like(*call):
                return branch
        base = None if self._base is None else self._base.copy()
        made = _History(self._new, _BRANCH_LIMIT, self.first, self.events[: number - self.first], base)
        self.branches[number].append(made)
        return made

    def add(self, event: _Event) -> None:
        """Tells the checker of the next event, and records it."""
        if self.checker is None:
            self.checker = self.before(self.end)
        event.keep(event.tell(self.checker), self.checker.mark())
        self.events.append(event)
        self._own += event.size
        if self._own > self._limit:
            self._shorten()

    def _shorten(self) -> None:
        """Forgets the events that lie behind all clusters. None that has not started can follow any more."""
        first = min(member.number for member in self.members)
        if len(self.members) > 1:
            self._base = self._base or self._new()
            _tell(self._base, self.events[: first - self.first])
        else:
            first = self.end  # nobody will ask for what was before
        if first == self.first:
            self._limit += self._step
            return
        del self.events[: first - self.first]
        self.first = first
        self._own = sum(event.size for event in self.events)
        self.branches = {number: each for number, each in self.branches.items() if number >= first}


def _tell(checker: Checker, events: Iterable[_Event]) -> None:
    for event in events:
        if event.name not in _QUERIES:
            event.tell(checker)


class SharedChecker:
    """The checkers of a launch. `new` returns one for a cluster that has not begun, `note` is that of all of them."""

    def __init__(self, new: Callable[[], Checker], note: Note | None = None):
        self._new, self._note = new, note
        self._root = _History(new, _LIMIT, 0, [], None)

    def of_cluster(self) -> Monitor:
        """Returns the monitor of a cluster that starts."""
        if self._root.first or self._root.size > _BUDGET:
            self._root = _History(self._new, _LIMIT, 0, [], None)
        return ClusterChecker(self._root, self._note)


class ClusterChecker(Monitor):
    """The monitor of a cluster that shares a checker. `number` is that of its next event."""

    def __init__(self, history: _History, note: Note | None = None):
        self._history, self._note = history, note
        self._names: dict[int, int] = {}  # of addresses of ordered accesses
        # The thread that makes all ordered accesses of a place, and the last instant before them; None: there are more.
        self._alone: dict[tuple[str, int], tuple[int, int] | None] = {}
        # At "strict": places that somebody has written, and an access behind which nothing else has happened.
        self._written = set[tuple[str, int]]()
        self._last: tuple[object, ...] | None = None
        self._ticks, self._line = False, 0
        self._instant = 1
        self.number = 0
        history.members.add(self)

    def tick(self, line: int = 0) -> None:
        self._ticks, self._line = True, line

    def ended(self) -> None:
        self._leave()

    def _leave(self) -> None:
        history = self._history
        history.members.discard(self)
        if not history.members:
            history.checker = None

    def shared_store(self, rank: int, offsets: Array, stored: Stored, threads: Array, strong: bool = False) -> None:
        # The values are the cluster's own.
        if not strong:
            stored.refuse_clash(threads, self._note)
        self.hear("shared_store", (rank, offsets, stored, threads, strong), {})

    def instant(self) -> int:
        # An instruction that has started counts with the next event.
        if self._ticks:
            self._last = None
        return self._instant + self._ticks

    def ordered_access(self, space: str, addresses: Array, threads: Array, how: Access | None = None) -> None:
        if how is not None:
            self._exact_access(space, addresses, threads, how)
            return
        # Only which accesses are to the same address matters, and that is often the same for all clusters.
        if not np.count_nonzero(addresses != addresses[0]):
            address = int(addresses[0])
            if self._is_alone((space, address), threads):
                return
            names = np.full(len(threads), self._name(address))
        else:
            if len(addresses) > _MOST_FLAGS:
                for address in addresses.tolist() if self._alone else ():
                    self._no_longer_alone((space, address))
            else:
                users: dict[int, list[int]] = {}
                for address, thread in zip(addresses.tolist(), threads.tolist(), strict=True):
                    users.setdefault(address, []).append(thread)
                alone = [address for address, own in users.items() if self._is_alone((space, address), own)]
                several = ~np.isin(addresses, np.array(alone, addresses.dtype))
                addresses, threads = addresses[several], threads[several]
            names = np.array([self._name(address) for address in addresses.tolist()])
        if len(names):
            self.hear("ordered_access", (space, names, threads, None), {})

    def _exact_access(self, space: str, addresses: Array, threads: Array, how: Access) -> None:
        """
        Tells of an access that orders as exactly as it says. Blocks that wait differ only in how often they ask and
        whom: to read what no thread of the cluster has written orders nothing, nor does to repeat an access at once,
        which counts as one with it.
        """
        places = [(space, address) for address in addresses.tolist()]
        if how.writes:
            self._written.update(places)
        elif self._written.isdisjoint(places):
            return
        call = (space, addresses.tobytes(), threads.tobytes(), how)
        if call == self._last:
            self._ticks = False
            return
        names = np.array([self._name(address) for address in addresses.tolist()])
        self.hear("ordered_access", (space, names, threads, how), {})
        self._last = call

    def _name(self, address: int) -> int:
        return self._names.setdefault(address, len(self._names))

    def _is_alone(self, place: tuple[str, int], threads: Sequence[int] | Array) -> bool:
        """Returns True if one thread makes all ordered accesses of a place, as yet: they order nothing."""
        before = self._alone.get(place)
        is_new = place not in self._alone and place[1] not in self._names
        if len(threads) == 1 and (is_new or (before is not None and before[0] == threads[0])):
            self._alone[place] = int(threads[0]), self._instant
            return True
        self._no_longer_alone(place)
        self._alone[place] = None
        return False

    def _no_longer_alone(self, place: tuple[str, int]) -> None:
        """Tells of the accesses of the thread that has made all those of a place."""
        if (before := self._alone.get(place)) is not None:
            space, address = place
            self._alone[place] = None
            self.hear("ordered_alone", (space, self._name(address), *before), {})

    def mark(self) -> int:
        return self.hear("mark", (), {}) if self._ticks else self._instant

    def hear(self, name: str, arguments: tuple[object, ...], options: dict[str, Any]) -> Any:
        """Returns the answer of the checker to an event."""
        history, ticks = self._history, self._ticks and name not in _QUERIES
        if name not in _QUERIES:
            self._last = None
        call = (name, arguments, options, ticks, self.tolerant)
        while True:
            place = self.number - history.first
            if place == len(history.events):
                event = _Event(*call, self._line)
                history.add(event)
                break
            event = history.events[place]
            if event.is_like(*call):
                break
            if event.name in _QUERIES:
                self.number += 1
                continue
            self._leave()
            self._history = history = history.branch(self.number, call)
            history.members.add(self)
        self.number += 1
        self._instant = event.instant
        if ticks:
            self._ticks = False
        return event.result


def _told(name: str) -> Callable[..., Any]:
    def method(self: ClusterChecker, *arguments: object, **options: Any) -> Any:
        return self.hear(name, arguments, options)

    return method


# All that a monitor is told.
for _name, _value in vars(Monitor).items():
    if isfunction(_value) and not _name.startswith("_") and _name not in vars(ClusterChecker):
        setattr(ClusterChecker, _name, _told(_name))
