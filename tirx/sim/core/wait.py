"""Outcomes of an instruction, and reasons why threads wait."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tirx.sim.core.mbarrier import Mbarrier


class Outcome(enum.Enum):
    """The outcomes of a step that is not simply done (None: go on with the next instruction)."""

    RETRY = enum.auto()
    """Not done: execute this instruction again once `ThreadGroup.wait` is ready."""
    WAIT = enum.auto()
    """Done, but go on only once `ThreadGroup.wait` is ready."""
    YIELD = enum.auto()
    """Done, and let others run first."""
    SPLIT = enum.auto()
    """Not done: execute this instruction again, every warp for itself."""
    SPLIT_WARPGROUPS = enum.auto()
    """The same, but whole warpgroups stay together."""


@dataclass(slots=True)
class Wait:
    """Why a thread group does not run; `reason` and `on` are for people (deadlock reports)."""

    ready: Callable[[], bool]
    reason: Callable[[], str]
    may_time_out: bool = False  # a try_wait: it may return false rather than wait for ever
    on: tuple[Mbarrier, ...] = ()  # what it waits for, where that is mbarrier objects


class Waiter(Protocol):
    """A thread group, as barriers see it."""

    wait: Wait | None
