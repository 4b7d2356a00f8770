"""Groups of asynchronous operations, committed and waited for in order: cp.async, cp.async.bulk, wgmma."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError

_KEPT = 64  # groups of a thread that are remembered


class CopyGroups:
    """
    Groups of copies of `lanes` threads: the instants of the monitor at which each committed group had been issued.

    Instants never decrease, so that the groups of a thread up to one are complete when that one is.
    """

    def __init__(self, lanes: int):
        self._open = np.zeros(lanes, np.int64)  # instant of the last copy that is in no group
        self._counts = np.zeros(lanes, np.int64)
        self._instants = np.zeros((_KEPT, lanes), np.int64)  # of the last groups of each thread, as a ring

    def part(self, lanes: slice) -> CopyGroups:
        """The groups of some of the threads, which are the same."""
        found = CopyGroups(0)
        found._open, found._counts, found._instants = self._open[lanes], self._counts[lanes], self._instants[:, lanes]
        return found

    def issued(self, lanes: Array, instant: int) -> None:
        self._open[lanes] = instant

    def commit(self, lanes: Array) -> None:
        self._instants[self._counts[lanes] % _KEPT, lanes] = self._open[lanes]
        self._counts[lanes] += 1

    def wait(self, lanes: Array, pending: int) -> Array:
        """Completes all but the last `pending` groups. Returns the instants up to which copies are complete."""
        last = self._counts[lanes] - pending - 1
        if pending >= _KEPT - 1 and (last >= 0).any():
            raise SimError(f"expected at most {_KEPT - 2} groups of copies that may be pending, found {pending}")
        return np.where(last >= 0, self._instants[last % _KEPT, lanes], 0)


@dataclass(frozen=True, slots=True)
class Products:
    """
    A group of wgmma.mma_async of a warp: rows of `ThreadGroup.states` of the registers they write, and the last
    instant.
    """

    registers: frozenset[int] = frozenset()
    instant: int = 0

    def joined(self, other: Products) -> Products:
        return Products(self.registers | other.registers, max(self.instant, other.instant))


class ProductGroups:
    """Counts the wgmma groups of one warp, and keeps those that it has not waited for."""

    def __init__(self) -> None:
        self._open = Products()
        self._groups: list[Products] = []
        self._instants: list[int] = []  # of the last product of each group that was committed
        self.issues = 0
        self.completed = 0  # groups

    def instant_of(self, count: int) -> int:
        """Returns the instant of the last product of the first `count` groups; the group may not be committed yet."""
        if count > len(self._instants):
            return self._open.instant
        return self._instants[count - 1] if count else 0

    def issued(self, registers: frozenset[int], instant: int) -> None:
        self.issues += 1
        self._open = self._open.joined(Products(registers, instant))

    def commit(self) -> None:
        self._groups.append(self._open)
        self._instants.append(max(self._open.instant, self.instant_of(len(self._instants))))
        self._open = Products()

    def wait(self, pending: int) -> Products:
        """
        Completes all but the last `pending` groups. Returns them without the registers that other groups still write.
        """
        count = max(len(self._groups) - pending, 0)
        done, self._groups = self._groups[:count], self._groups[count:]
        self.completed += count
        busy = frozenset[int]().union(self._open.registers, *(group.registers for group in self._groups))
        complete = Products()
        for group in done:
            complete = complete.joined(group)
        return Products(complete.registers - busy, complete.instant)
