"""Short spellings of the programs of parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Await,
    BeforeLast,
    Body,
    Completion,
    Condition,
    Fence,
    FromRound,
    Guard,
    If,
    Issue,
    Kernel,
    Loop,
    Mode,
    Release,
    Ring,
    Statement,
    Use,
    WorkQueue,
)

Part: TypeAlias = "Statement | Sequence[Part]"
"""Statements, in lists of any depth."""

TMA = WorkQueue("tma", Completion.BYTES)
HARDWARE = WorkQueue("tcgen05", Completion.HARDWARE)
GROUPS = WorkQueue("wgmma", Completion.THREAD)
STORES = WorkQueue("store", Completion.THREAD)
FENCE = Fence()

READ, WRITE, CARRY = Mode.READ, Mode.WRITE, Mode.CARRY


def flat(parts: Sequence[Part]) -> Body:
    """The statements of nested lists, in order."""
    out: list[Statement] = []
    for part in parts:
        out += flat(part) if isinstance(part, Sequence) else [part]
    return tuple(out)


def kernel(*rings: Ring, **roles: Sequence[Part]) -> Kernel:
    """A kernel of these rings; `load_AT_0` is the program of the party `load@0`."""
    return Kernel({r.name: r for r in rings}, {name.replace("_AT_", "@"): flat(body) for name, body in roles.items()})


def acquire(ring: str, station: int) -> Acquire:
    return Acquire(ring, station)


def release(ring: str, station: int, after: WorkQueue | None = None) -> Release:
    return Release(ring, station, after)


def use(ring: str, station: int, mode: Mode = READ, lag: int = 0) -> Use:
    return Use(Access(ring, station, mode, lag))


def work(queue: WorkQueue, *accesses: tuple[str, int, Mode] | tuple[str, int, Mode, int]) -> Issue:
    """Asynchronous work on the newest slots held: ring, station, mode and, by TMA, bytes."""
    return Issue(queue, tuple(Access(a[0], a[1], a[2], bytes=a[3] if len(a) == 4 else 0) for a in accesses))


def wait(queue: WorkQueue, pending: int = 0) -> Await:
    return Await(queue, pending)


def loop(name: str, trips: str, *body: Part, extra: int = 0) -> Loop:
    return Loop(name, trips, extra, flat(body))


def when(guard: Guard, *body: Part) -> If:
    return If(guard, flat(body))


def early(rounds: int) -> Guard:
    """In rounds that are not among the last `rounds`."""
    return BeforeLast(rounds)


def late(round: int) -> Guard:
    """From this round on."""
    return FromRound(round)


def condition(name: str) -> Guard:
    return Condition(name)


def fill(ring: str, size: int) -> list[Statement]:
    """Fills a slot by TMA."""
    return [acquire(ring, 0), work(TMA, (ring, 0, WRITE, size)), release(ring, 0, TMA)]


def product(ring: str, pending: int = 0) -> list[Statement]:
    """Reads a slot by wgmma and releases it when at most `pending` products are unfinished behind it."""
    return [acquire(ring, 1), work(GROUPS, (ring, 1, READ)), release(ring, 1, GROUPS), wait(GROUPS, pending)]


def read(ring: str, station: int = 1, *behind: Statement) -> list[Statement]:
    """Reads a slot by threads."""
    return [acquire(ring, station), use(ring, station), *behind, release(ring, station)]


def write(ring: str, station: int = 0, *behind: Statement) -> list[Statement]:
    """Writes a slot by threads."""
    return [acquire(ring, station), use(ring, station, WRITE), *behind, release(ring, station)]
