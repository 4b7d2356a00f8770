"""Verdicts of the check of rings on programs of parties: the known kernels, and random ones in every spelling."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import replace

from unit.passes.rings.proof.cases import CASES
from unit.passes.rings.proof.random_programs import generate, mutate

from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Await,
    AwaitIssue,
    Body,
    Completion,
    If,
    Issue,
    Kernel,
    Loop,
    Mode,
    Release,
    Ring,
    Rotation,
    Statement,
    Use,
    WorkQueue,
)
from tirx.passes.rings.proof.progress import check, smallest_slots

_SLOW = ("CUTLASS 3636", "wgmma without roles, 4", "wgmma without roles, 5", "tcgen05, one role skips")
"""Kernels that take longer than the others together, beside others like them."""

_RANDOM = 30


def rings() -> str:
    """Verdicts about kernels: the rule, the message, and every statement that it names."""
    lines = [f"{name}: {_verdict(kernel)}" for name, _, kernel in CASES if not name.startswith(_SLOW)]
    rng = random.Random(11)
    for _ in range(_RANDOM):
        kernel = generate(rng)
        for _ in range(rng.choice((0, 1, 2))):
            kernel = mutate(rng, kernel)
        if rng.random() < 0.6:
            kernel = _Spelling(rng, kernel).kernel()
        lines.append(_verdict(kernel))
        if lines[-1] == "accepted" and max(ring.slots for ring in kernel.rings.values()) < 3:
            lines.append(str(smallest_slots(kernel)))
    return "\n".join(lines)


def _verdict(kernel: Kernel) -> str:
    try:
        check(_located(kernel))
    except RingError as error:
        return f"{type(error).__name__} at {error.origin}: {error.message}; {error.others}"
    return "accepted"


def _located(kernel: Kernel) -> Kernel:
    """A kernel whose statements say where they are: the role, and the numbers of those around them and of their own."""

    def located(body: Body, at: str) -> Body:
        found: list[Statement] = []
        for number, statement in enumerate(body):
            here = f"{at}.{number}"
            if isinstance(statement, If | Loop):
                statement = replace(statement, body=located(statement.body, here))
            found.append(replace(statement, origin=here))
        return tuple(found)

    rings = {name: replace(ring, origin=name) for name, ring in kernel.rings.items()}
    return Kernel(rings, {role: located(body, role) for role, body in kernel.roles.items()})


class _Spelling:
    """A kernel with names of acquires, waits for named work, lags by the round, and other kinds of queues and slots."""

    def __init__(self, rng: random.Random, kernel: Kernel):
        self._rng, self._kernel = rng, kernel
        self._named, self._waits_by_name = rng.random() < 0.7, rng.random() < 0.7
        self._rotates, self._changes = rng.random() < 0.3, rng.random() < 0.3
        self._generic, self._commits = rng.random() < 0.3, rng.random() < 0.3
        self._unequal = rng.random() < 0.15
        self._around: list[str] = []

    def kernel(self) -> Kernel:
        rings = {name: self._ring(ring) for name, ring in self._kernel.rings.items()}
        return Kernel(rings, {role: self._body(body) for role, body in self._kernel.roles.items()})

    def _ring(self, ring: Ring) -> Ring:
        names = tuple(f"stop {station}" for station in range(len(ring.stations)))
        shares = tuple(range(7, 7 + len(ring.stations[0]))) if ring.bytes and self._unequal else None
        found = replace(ring, station_names=names, shares=shares, slots=1 if self._changes else ring.slots)
        return found if shares is None else replace(found, bytes=sum(shares))

    def _body(self, body: Body) -> Body:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case Acquire():
                return replace(statement, label=self._label(statement.ring, statement.station))
            case Use():
                return replace(statement, access=self._access(statement.access))
            case Issue():
                queue = self._queue(statement.queue)
                accesses = tuple(map(self._access, statement.accesses))
                return replace(statement, queue=queue, label=queue.name, accesses=accesses)
            case Await() if self._waits_by_name:
                queue = self._queue(statement.queue)
                return AwaitIssue(queue, queue.name, self._lag(statement.pending))
            case Await():
                return replace(statement, queue=self._queue(statement.queue))
            case If():
                return replace(statement, body=self._body(statement.body))
            case Loop():
                self._around.append(statement.name)
                body = self._body(statement.body)
                self._around.pop()
                return replace(statement, body=body)
            case Release(after=WorkQueue() as queue):
                return replace(statement, after=self._queue(queue))
            case _:
                return statement

    def _label(self, ring: str, station: int) -> Hashable:
        return f"get {ring} {station}" if self._named else None

    def _queue(self, queue: WorkQueue) -> WorkQueue:
        if queue.completion is not Completion.THREAD:
            return queue
        return replace(queue, generic_proxy=self._generic, commits_at_release=self._commits)

    def _lag(self, lag: int | Rotation) -> int | Rotation:
        assert isinstance(lag, int)
        if self._rotates and self._around and self._rng.random() < 0.4:
            return Rotation(self._rng.choice(self._around), lag + self._rng.randrange(2), self._rng.randint(-1, 1))
        return lag

    def _access(self, access: Access) -> Access:
        mode = access.mode
        if self._changes and self._rng.random() < 0.3:
            mode = self._rng.choice((Mode.UPDATE, Mode.CARRY))
        label = self._label(access.ring, access.station)
        return replace(access, mode=mode, acquire=label, lag=self._lag(access.lag))
