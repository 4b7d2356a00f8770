"""Rules of rings that do not depend on the order of events: who takes part, arrival counts, who reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto
from functools import cached_property

from tirx.passes.rings.proof.errors import ArrivalError, PartyError, UndecidedError
from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Condition,
    If,
    Issue,
    Kernel,
    Loop,
    Mode,
    Release,
    Restart,
    Ring,
    Statement,
    Step,
    Use,
    walk,
)
from tirx.values import dataclass


class Happens(Flag):
    """Kinds of accesses to the slots of a ring at a station."""

    NOTHING = 0
    THREAD_READ = auto()
    THREAD_WRITE = auto()
    ASYNC_READ = auto()
    ASYNC_WRITE = auto()
    GENERIC_ASYNC_READ = auto()
    GENERIC_ASYNC_WRITE = auto()
    CARRY = auto()


WRITES = Happens.THREAD_WRITE | Happens.ASYNC_WRITE | Happens.GENERIC_ASYNC_WRITE
READS = Happens.THREAD_READ | Happens.ASYNC_READ | Happens.GENERIC_ASYNC_READ


@dataclass(frozen=True)
class Activity:
    """The kinds of accesses at every station of every ring, by all parties."""

    at: Mapping[tuple[str, int], Happens]

    @cached_property
    def _of_rings(self) -> Mapping[str, Happens]:
        found: dict[str, Happens] = {}
        for (ring, _), here in self.at.items():
            found[ring] = found.get(ring, Happens.NOTHING) | here
        return found

    @cached_property
    def _written(self) -> frozenset[tuple[str, int]]:
        return frozenset(place for place, here in self.at.items() if here & WRITES)

    @cached_property
    def _carrying(self) -> frozenset[str]:
        return frozenset(ring for ring, anywhere in self._of_rings.items() if Happens.CARRY in anywhere)

    def of(self, ring: Ring) -> Happens:
        """Returns the kinds of accesses at any station of a ring."""
        return self._of_rings[ring.name]

    def writes(self, ring: str, station: int) -> bool:
        """True if a party writes slots at the station."""
        return (ring, station) in self._written

    def carries(self, ring: Ring) -> bool:
        """True if the first station reads what the use before left."""
        return ring.name in self._carrying

    def needs_fence(self, ring: Ring, station: int) -> bool:
        """True if threads have to fence before they pass a slot on.

        A write by threads needs a proxy fence before any access through the asynchronous proxy, a read by threads
        before such a write (PTX ISA, "Proxies"; a missing one gave wrong numbers on an H200).
        """
        here, anywhere = self.at[(ring.name, station)], self.of(ring)
        if Happens.THREAD_WRITE in here:
            return bool(anywhere & (Happens.ASYNC_READ | Happens.ASYNC_WRITE))
        return Happens.THREAD_READ in here and Happens.ASYNC_WRITE in anywhere


def _happens(statement: Use | Issue, access: Access) -> int:
    """Returns the value of the kinds of an access: to combine flags takes several calls."""
    if isinstance(statement, Use):
        read, write = Happens.THREAD_READ, Happens.THREAD_WRITE
    elif statement.queue.generic_proxy:
        read, write = Happens.GENERIC_ASYNC_READ, Happens.GENERIC_ASYNC_WRITE
    else:
        read, write = Happens.ASYNC_READ, Happens.ASYNC_WRITE
    match access.mode:
        case Mode.READ:
            return read._value_
        case Mode.WRITE:
            return write._value_
        case Mode.CARRY | Mode.UPDATE:
            return read._value_ | Happens.CARRY._value_


def activity(kernel: Kernel) -> Activity:
    """Returns the kinds of accesses at stations. Raises RingError for a party that takes no part in a ring."""
    at = {(r.name, s): 0 for r in kernel.rings.values() for s in range(len(r.stations))}
    for role, body in kernel.roles.items():
        for statement in walk(body):
            match statement:
                case Restart():
                    raise UndecidedError(f"{role}: a counter is set back", statement.origin)
                case Acquire() | Release():
                    _require_party(kernel, role, statement.ring, statement.station, statement)
                case Use() | Issue():
                    for access in (statement.access,) if isinstance(statement, Use) else statement.accesses:
                        _require_party(kernel, role, access.ring, access.station, statement)
                        at[(access.ring, access.station)] |= _happens(statement, access)
                case _:
                    pass
    return Activity({place: Happens(value) for place, value in at.items()})


def _require_party(kernel: Kernel, role: str, ring: str, station: int, step: Step) -> None:
    if role not in kernel.rings[ring].stations[station]:
        raise PartyError(f"{role} works at {kernel.rings[ring].place(station)}, where it is not a party", step.origin)


def check_structure(kernel: Kernel, happens: Activity) -> None:
    """Raises RingError for a ring that is wrong in every order of events."""
    for ring in kernel.rings.values():
        for station, parties in enumerate(ring.stations):
            here = happens.at[(ring.name, station)]
            arrivals = ring.arrivals(station)
            if ring.counts is not None and ring.counts[station] != arrivals:
                raise ArrivalError(
                    f"expected a barrier for {arrivals} arrivals behind {ring.place(station)}, "
                    f"found one for {ring.counts[station]}",
                    ring.origin,
                )
            if len(parties) > 1 and here & WRITES and here & (READS | Happens.CARRY):
                raise PartyError(
                    f"several parties ({', '.join(parties)}) read and write at {ring.place(station)}, so that one may "
                    f"overwrite what another still reads",
                    ring.origin,
                )
        anywhere = happens.of(ring)
        if Happens.CARRY in anywhere and not anywhere & WRITES:
            raise PartyError(f"{ring.name} carries a value that nobody writes", ring.origin)
        if ring.multicast and not ring.signal_all:
            raise PartyError(f"{ring.name}: writers in another block are not told of the release", ring.origin)
    for role, body in kernel.roles.items():
        _check_conditions(role, body, skewed=False)


def _check_conditions(role: str, body: tuple[Statement, ...], skewed: bool) -> None:
    """Conditions are known by the round, so parts of one iteration in several rounds cannot share one."""
    for statement in body:
        match statement:
            case Loop():
                _check_conditions(role, statement.body, skewed or statement.extra != 0)
            case If(guard=Condition()) if skewed:
                raise UndecidedError(
                    f"{role}: cannot decide: a condition around operations of a ring in a loop with a skew",
                    statement.origin,
                )
            case If():
                _check_conditions(role, statement.body, skewed)
            case _:
                pass
