"""The model that the check of rings explores: rings, and one program of waits, accesses and releases for every party.

A party is a set of threads that moves together. Nothing in here knows the IR: `origin` of a statement is what an error
about it points at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import TypeAlias

from tirx.values import dataclass, field


class Completion(Enum):
    """The agent that passes a slot on when asynchronous work on it is complete."""

    __hash__ = object.__hash__  # that of Enum is not built in

    BYTES = auto()
    """The barrier of the slot counts the bytes that have come (TMA)."""
    HARDWARE = auto()
    """Hardware arrives (`tcgen05.commit`, `cp.async.mbarrier.arrive.noinc`)."""
    THREAD = auto()
    """A thread waits for groups of work, then arrives itself (wgmma, bulk stores, groups of `cp.async`)."""


@dataclass(frozen=True, slots=True)
class WorkQueue:
    """A queue of asynchronous work of one party. With `generic_proxy` it needs no proxy fences (cp.async).

    With `commits_at_release` a release after the queue makes a group of the work since the one before, for which
    threads wait (`cp.async.commit_group`, `cp.async.bulk.commit_group`); without, each work is a group.
    """

    name: str
    completion: Completion
    generic_proxy: bool = False
    commits_at_release: bool = False


class Mode(Enum):
    """The effect of an access on a slot."""

    __hash__ = object.__hash__  # that of Enum is not built in

    READ = "reads"
    WRITE = "writes"
    CARRY = "reads what the use before left"
    UPDATE = "reads what the use before left, or what this use has written"


@dataclass(frozen=True, slots=True)
class Rotation:
    """The number of executions of an acquire between it and a use of its slot in a later round of the loop `loop`.

    In round i of n iterations: the smaller of `rounds` and n - 1 - i + `left`, which is less where the loop drains.
    """

    loop: str
    rounds: int
    left: int


@dataclass(frozen=True, slots=True)
class Access:
    """An access to a held slot of a ring.

    The use is the newest that the party has acquired but `lag`, counted among the acquires called `acquire` or, without
    a name, among all at the station. `bytes` are those that TMA announces for it. `as_a`: it is over before the rest of
    its work is, and hardware can tell (A of a product of tcgen05).
    """

    ring: str
    station: int
    mode: Mode
    lag: int | Rotation = 0
    acquire: Hashable = None
    bytes: int = 0
    as_a: bool = False


@dataclass(frozen=True, slots=True)
class Acquire:
    """Waits until this party's next use of the ring has come to the station."""

    ring: str
    station: int
    label: Hashable = None
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Release:
    """Passes the oldest held use on: now, or when this party's work in `after` on it is complete; `early`: when that
    work, all of which reads it `as_a`, has done so."""

    ring: str
    station: int
    after: WorkQueue | None = None
    early: bool = False
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Use:
    """An access by the threads themselves."""

    access: Access
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Fence:
    """A proxy fence: accesses by threads of this party so far are complete for asynchronous ones too.

    With `at`, a ring and a station, only those to slots held there are: the fence, if any, is for them alone.
    """

    origin: object = field(default=None, compare=False)
    at: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Issue:
    """Starts asynchronous work, a group of its own in a queue whose groups threads wait for."""

    queue: WorkQueue
    accesses: tuple[Access, ...]
    label: Hashable = None
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Await:
    """Waits until at most `pending` groups of the queue are unfinished."""

    queue: WorkQueue
    pending: int
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AwaitIssue:
    """Waits for the group of the newest but `lag` execution of the issue called `label`, if it is unfinished."""

    queue: WorkQueue
    label: Hashable
    lag: int | Rotation = 0
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Restart:
    """Sets a counter of a ring back to 0, which is always wrong."""

    ring: str
    station: int
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FromRound:
    """True in round i >= `round`."""

    round: int


@dataclass(frozen=True, slots=True)
class BeforeLast:
    """True in round i with i + `rounds` < the number of rounds."""

    rounds: int


@dataclass(frozen=True, slots=True)
class Condition:
    """Any condition; the same name means the same value in every role, in the same round."""

    name: Hashable
    value: bool = True


Guard: TypeAlias = FromRound | BeforeLast | Condition


@dataclass(frozen=True, slots=True)
class If:
    """A body under a guard."""

    guard: Guard
    body: tuple[Statement, ...]
    origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """`trips` + `extra` rounds of a body; `trips` names a number that is not known.

    Loops called the same in two programs are one loop of the program that they were split from; among loops whose
    order the programs leave open, the smaller `rank` comes first.
    """

    name: str
    trips: Hashable
    extra: int
    body: tuple[Statement, ...]
    rank: int = 0
    origin: object = field(default=None, compare=False)


Step: TypeAlias = Acquire | Release | Use | Fence | Issue | Await | AwaitIssue | Restart
"""A statement that a party executes at once."""

Statement: TypeAlias = Step | If | Loop
Body: TypeAlias = tuple[Statement, ...]


def block_of(party: str) -> int:
    """Returns the block in the name of a party, `x@1`."""
    return int(party.rpartition("@")[2])


@dataclass(frozen=True)
class Ring:
    """A ring of slots.

    `stations` holds the parties of each station; a slot travels 0, 1, ..., last, 0. `counts` are the arrivals that the
    barrier behind each station is initialised with, None if they are derived. `bytes` is what one use expects by TMA,
    of all parties of station 0 together; `shares` says how much each of them sends, None for equal shares. Under
    `multicast`, parties are called `x@0`, `x@1` after their block and writes at station 0 reach the slot of every
    block, or only of those whose number, combined by exclusive or with that of the own block, is among `differences`.
    These wait for one another's fills and releases, no others. `signal_all` says that a release is told to every block
    whose parties wait for it. `station_names` are for messages.
    """

    name: str
    slots: int
    stations: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...] | None = None
    bytes: int = 0
    shares: tuple[int, ...] | None = None
    multicast: bool = False
    signal_all: bool = True
    differences: frozenset[int] = frozenset()
    station_names: tuple[str, ...] = field(default=(), compare=False)
    origin: object = field(default=None, compare=False)

    def place(self, station: int) -> str:
        """A station in a message."""
        return f"station {self.station_names[station] if self.station_names else station} of {self.name}"

    def arrivals(self, station: int) -> int:
        """Arrivals at one barrier behind a station: of the own block's writers under multicast, else of all parties
        that reach the block.
        """
        parties = self.reaching(self.stations[station], "@0")
        return sum(not self.multicast or station > 0 or p.endswith("@0") for p in parties)

    def reaching(self, parties: Sequence[str], party: str) -> Sequence[str]:
        """Returns those of `parties` whose blocks share slots with the block of `party`."""
        if not self.differences:
            return parties
        own = block_of(party)
        return [each for each in parties if block_of(each) ^ own in self.differences]

    def share(self, party: str) -> int:
        """The bytes that a party of station 0 sends to fill a use."""
        parties = self.stations[0]
        return self.bytes // len(parties) if self.shares is None else self.shares[parties.index(party)]


@dataclass(frozen=True)
class Kernel:
    """Rings by name, and the program of every party."""

    rings: Mapping[str, Ring]
    roles: Mapping[str, Body]


def walk(body: Iterable[Statement]) -> list[Statement]:
    """Returns every statement of a body, those around others first."""
    found: list[Statement] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, Loop | If):
            found += walk(statement.body)
    return found


def accesses(statement: Statement) -> tuple[Access, ...]:
    """The accesses of a statement itself."""
    match statement:
        case Use():
            return (statement.access,)
        case Issue():
            return statement.accesses
        case _:
            return ()
