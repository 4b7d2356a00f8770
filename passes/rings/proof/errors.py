"""The errors of the check of rings."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from xdsl.ir import Operation

from tirx.diagnostics import HasRule, LocatedError, Note, nearest_location


class RingError(HasRule, Exception):
    """A kernel that is wrong, or that the check cannot decide.

    `origin` is the place of the error; `others` are further places, each with what happens there.
    """

    def __init__(self, message: str, origin: object = None, others: Iterable[tuple[str, object]] = ()):
        super().__init__(message)
        self.message = message
        self.origin = origin
        self.others = tuple(others)


# fmt: off
class ArrivalError(RingError, rule="ring-arrivals"): ...
class AwaitError(RingError, rule="ring-awaits"): ...
class DeadlockError(RingError, rule="ring-deadlock"): ...
class LaunchControlError(RingError, rule="ring-launch-control"): ...
class PartyError(RingError, rule="ring-parties"): ...
class SlotUseError(RingError, rule="ring-slot-use"): ...
class UndecidedError(RingError, rule="ring-undecided"): ...
# fmt: on


class EndlessError(UndecidedError):
    """The replay comes to no end: parties wait for ever, or more and more work is open."""


@contextmanager
def located(around: Operation, kind: type[LocatedError] = LocatedError) -> Generator[None]:
    """Raises a RingError as an error of a pass, at the operation in question or else at the one `around`."""
    try:
        yield
    except RingError as error:
        origin = error.origin if isinstance(error.origin, Operation) else around
        notes = [Note(text, nearest_location(op)) for text, op in error.others if isinstance(op, Operation)]
        raise kind(origin, error.message, notes) from error
