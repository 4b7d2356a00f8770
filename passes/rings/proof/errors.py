"""What the check of rings raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class RingError(Exception):
    """
    A kernel that is wrong, or that the check cannot decide.

    `origin` is the place of the error; `others` are further places, each with what happens there.
    """

    rule: ClassVar[str]

    def __init__(self, message: str, origin: object = None, others: Iterable[tuple[str, object]] = ()):
        super().__init__(message)
        self.message = message
        self.origin = origin
        self.others = tuple(others)


class ArrivalError(RingError):
    rule = "ring-arrivals"


class AwaitError(RingError):
    rule = "ring-awaits"


class DeadlockError(RingError):
    rule = "ring-deadlock"


class LaunchControlError(RingError):
    rule = "ring-launch-control"


class PartyError(RingError):
    rule = "ring-parties"


class SlotUseError(RingError):
    rule = "ring-slot-use"


class UndecidedError(RingError):
    rule = "ring-undecided"


class EndlessError(UndecidedError):
    """The replay comes to no end: parties wait for ever, or more and more work is open."""
