"""mbarrier objects (PTX ISA, section 9.7.13.15)."""

from __future__ import annotations

from tirx.sim.errors import SimError
from tirx.sim.hazards.monitor import Monitor, Snapshot

MAX_COUNT = (1 << 20) - 1
_MAX_TRANSACTIONS = (1 << 20) - 1


class Mbarrier:
    """
    A phase completes when no arrivals and no transactions (bytes) are pending; `phase` counts the completed ones.

    `released` is what the arrivals of the current phase publish, `visible` what those of the completed ones did.
    """

    def __init__(self, count: int, monitor: Monitor):
        self.count = count
        self.pending = count
        self.transactions = 0
        self.phase = 0
        self._monitor = monitor
        self._released: Snapshot = None
        self.visible: Snapshot = None
        self.users: dict[int, int] = {}  # instruction -> the last thread that used the object by it

    def arrive(self, count: int, snapshot: Snapshot) -> None:
        if not count:
            raise SimError(f"mbarrier: expected a count of arrivals from 1 to {MAX_COUNT}, found 0")
        if count > self.pending:
            raise SimError(
                f"mbarrier: {count} arrivals, but the phase expects only {self.pending} more of {self.count}"
            )
        self.pending -= count
        self._released = self._monitor.join(self._released, snapshot)
        self._complete()

    def expect(self, size: int) -> None:
        """Raises the transaction count by `size` bytes, which are to come."""
        self.transactions += size
        if abs(self.transactions) > _MAX_TRANSACTIONS:
            raise SimError(f"mbarrier: transaction count {self.transactions} is not within +-(2^20 - 1)")
        self._complete()

    def deliver(self, size: int, snapshot: Snapshot) -> None:
        """Lowers the transaction count by `size` bytes, which have come."""
        self._released = self._monitor.join(self._released, snapshot)
        self.transactions -= size
        self._complete()

    def drop(self, count: int, snapshot: Snapshot) -> None:
        """arrive_drop: arrives, and later phases expect `count` fewer."""
        self.count -= count
        self.arrive(count, snapshot)

    def _complete(self) -> None:
        if self.pending == 0 and self.transactions == 0:
            self.phase += 1
            self.pending = self.count
            self.visible = self._monitor.join(self.visible, self._released)
            self._released = None

    def describe(self) -> str:
        return (
            f"{self.phase} phases completed, {self.pending} of {self.count} arrivals and "
            f"{self.transactions} bytes pending"
        )
