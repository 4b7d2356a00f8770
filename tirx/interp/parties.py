"""Parties: the roles of a kernel and the blocks of a cluster, which take turns and wait for each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from threading import Semaphore, Thread

from xdsl.ir import Operation

from tirx.interp.errors import RunError
from tirx.values import dataclass, field


@dataclass(eq=False)
class _Party:
    """A thread of the interpreter; it goes on when `ready` holds, and stands at `at` until then."""

    ready: Callable[[], bool] = lambda: True
    at: Operation | None = None
    turn: Semaphore = field(default_factory=lambda: Semaphore(0))


class _Stopped(BaseException):
    """Another party has failed."""


class Parties:
    """Runs functions in turns, one at a time: each goes on until it waits for something that others do.

    With a random generator the turns change at random wherever a party could wait. An exception of one party stops all.
    """

    def __init__(self, rng: random.Random | None = None):
        self._rng = rng
        self._parties: list[_Party] = []
        self._running = _Party()
        self._failure: BaseException | None = None

    def run(self, functions: Sequence[Callable[[], None]]) -> None:
        """Runs all functions to their ends. Raises the first exception of one of them."""
        parent, outermost = self._running, not self._parties
        left = [_Party() for _ in functions]
        own = tuple(left)

        def work(party: _Party, function: Callable[[], None]) -> None:
            party.turn.acquire()
            self._running = party
            try:
                if self._failure is None:
                    function()
            except _Stopped:
                pass
            except BaseException as error:
                self._failure = error
            left.remove(party)
            self._parties.remove(party)
            self._next()

        if outermost:
            self._parties.append(parent)
        self._parties.extend(own)
        for party, function in zip(own, functions, strict=True):
            Thread(target=work, args=(party, function), daemon=True).start()
        parent.ready, parent.at = lambda: not left, None
        self._next()
        parent.turn.acquire()
        self._running = parent
        if outermost:
            self._parties.remove(parent)
        if self._failure is not None:
            if not outermost:
                raise _Stopped
            failure, self._failure = self._failure, None
            raise failure

    def wait(self, ready: Callable[[], bool], at: Operation) -> None:
        """Lets others go on until `ready` holds. Raises RunError if it never does."""
        if ready() and (self._rng is None or not self._parties or self._rng.random() < 0.5):
            return
        if not self._parties:
            raise _deadlock([at])
        party = self._running
        party.ready, party.at = ready, at
        self._next()
        party.turn.acquire()
        self._running, party.at = party, None
        if self._failure is not None:
            raise _Stopped

    def _next(self) -> None:
        """Gives the turn to a party that can go on."""
        if not self._parties:
            return
        able = [party for party in self._parties if party.ready()]
        if not able:
            self._failure = self._failure or _deadlock([each.at for each in self._parties if each.at is not None])
        if self._failure is not None:  # those that wait end first, then those that wait for their ends
            able = [party for party in self._parties if party.at is not None] or self._parties[-1:]
        (able[0] if self._rng is None else self._rng.choice(able)).turn.release()


def _deadlock(waiting: Sequence[Operation]) -> RunError:
    names = " and ".join(dict.fromkeys(f"'{op.name}'" for op in waiting))
    return RunError(waiting[0], "wait", f"expected somebody to do what {names} waits for, found nobody")
