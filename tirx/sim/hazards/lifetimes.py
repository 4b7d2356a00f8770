"""Lifetimes of the CTAs of a cluster: each runs while others access its memory (PTX ISA, 5.1.5 and barrier.cluster)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.monitor import Note

# What says that an access is over: that its thread has gone on, or that the asynchronous operation is complete.
_COMPLETIONS = (Row.REACHED, Row.TENSOR_DONE, Row.BULK_WRITTEN, Row.BULK_READ)
# What bulk copies do to the shared memory of the CTA that exits, and what would have been waited for.
_BULK = {
    Row.BULK_WRITTEN: ("write", "a wait on its mbarrier"),
    Row.BULK_READ: ("read", "cp.async.bulk.wait_group.read"),
}


class Lifetimes:
    """
    Lifetimes of shared and tensor memory, from start to end of a CTA. Other CTAs know of both by synchronisation only.

    An access by a thread of another CTA must be behind something that a thread of the CTA did, and the CTA must not
    exit before it knows that the access is over. Nor must it exit before its bulk copies are: the next CTA gets its
    shared memory.
    """

    def __init__(self, clocks: Clocks, ctas: int, lanes: int, note: Note | None):
        self._clocks = clocks
        self._note = note
        self._lanes = lanes
        # For each sort of access, CTA and thread: the last instant.
        self._last: dict[Row, Array] = {row: np.zeros((ctas, ctas * lanes), np.int32) for row in _COMPLETIONS}
        self._exited = np.zeros(ctas, np.bool_)

    def _own(self, rank: int) -> slice:
        return slice(rank * self._lanes, (rank + 1) * self._lanes)

    def use(self, rank: int, threads: Array, what: str, completion: Row = Row.REACHED) -> None:
        """Checks and notes that `threads` access memory of CTA `rank`."""
        if len(self._exited) == 1:
            return
        others = threads[threads // self._lanes != rank]
        if not len(others):
            return
        if self._exited[rank]:
            raise HazardError(f"{what} accesses CTA {rank} of the cluster, which has exited")
        known = self._clocks.known[Row.REACHED, others, self._own(rank)].max(axis=1)
        if not known.all():
            message = (
                f"{what} by thread {int(others[np.argmin(known)])} accesses CTA {rank} of the cluster, which may not "
                "have started: expected a cluster barrier before"
            )
            if self._note is None:
                raise HazardError(message)
            # GPUs start the CTAs of a cluster together.
            self._note("barrier.cluster at the start", message)
        self._last[completion][rank, others] = self._clocks.now

    def start_copy(self, rank: int, thread: int, row: Row) -> None:
        """Notes that `thread` issues a bulk copy that reads or writes shared memory of CTA `rank`, until `row` says."""
        self._last[row][rank, thread] = self._clocks.now

    def exit(self, rank: int) -> None:
        """The last thread of CTA `rank` exits."""
        self._exited[rank] = True
        for row, last in self._last.items():
            known = self._clocks.known[row, self._own(rank)].max(axis=0)
            late = last[rank] > known
            if not late.any():
                continue
            thread = int(np.argmax(late))
            if row in _BULK and thread // self._lanes == rank:
                self._exit_before_copy(thread % self._lanes, row)
                continue
            raise HazardError(
                f"CTA {rank} of the cluster exits while an access to its memory by thread {thread} of CTA "
                f"{thread // self._lanes} may not be over: expected a cluster barrier before"
            )

    def _exit_before_copy(self, thread: int, row: Row) -> None:
        does, missing = _BULK[row]
        message = (
            f"the CTA exits while a bulk copy that thread {thread} issued may still {does} its shared memory: expected "
            f"{missing} before"
        )
        if self._note is None:
            raise HazardError(message)
        # No recording shows what a GPU does then.
        self._note("bulk copy at the end", message)
