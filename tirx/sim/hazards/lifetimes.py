"""Lifetimes of the CTAs of a cluster: each runs while others access its memory.

See PTX ISA, 5.1.5 and "barrier.cluster", and the CUDA C++ Programming Guide, "Distributed Shared Memory": a block exits
behind all operations on its shared memory.
"""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.monitor import Note

_BARRIER = (
    "a cluster barrier in between, with barrier.cluster.arrive.release behind the access and .wait.acquire before the "
    "exit"
)
# What says that an access is over, and what is expected where it does not: that a load or a store happens before the
# exit, that the thread of an mbarrier operation has gone on, or that an asynchronous operation is complete.
_COMPLETIONS = {
    Row.GENERIC: _BARRIER,
    Row.REACHED: _BARRIER,
    Row.TENSOR_DONE: "a wait on the mbarrier of a tcgen05.commit behind it, ordered before the exit",
    Row.BULK_WRITTEN: "a wait on its mbarrier, ordered before the exit",
    Row.BULK_READ: "cp.async.bulk.wait_group.read, ordered before the exit",
}
# What bulk copies do to the shared memory of the CTA that exits.
_BULK = {Row.BULK_WRITTEN: "access", Row.BULK_READ: "read"}


class Lifetimes:
    """
    Lifetimes of shared and tensor memory, from start to end of a CTA. Other CTAs know of both by synchronisation only.

    An access by a thread of another CTA must be behind something that a thread of the CTA did. The CTA exits with its
    last thread: one of its threads, whichever, must know until then that the access is over. Nor must it exit before
    its bulk copies are: the next CTA gets its shared memory.
    """

    def __init__(self, clocks: Clocks, ctas: int, lanes: int, note: Note | None):
        self._clocks = clocks
        self._note = note
        self._lanes = lanes
        self.line = 0
        """The line of the instruction that is executed."""
        # For each sort of access, CTA and thread: the last instant, and the line.
        self._last: dict[Row, Array] = {row: np.zeros((ctas, ctas * lanes), np.int32) for row in _COMPLETIONS}
        self._lines: dict[Row, Array] = {row: np.zeros((ctas, ctas * lanes), np.int32) for row in _COMPLETIONS}
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
        self._note_access(completion, rank, others)

    def start_copy(self, rank: int, thread: int, row: Row) -> None:
        """Notes that `thread` issues a bulk copy that reads or writes shared memory of CTA `rank`, until `row` says."""
        self._note_access(row, rank, thread)

    def _note_access(self, row: Row, rank: int, threads: Array | int) -> None:
        self._last[row][rank, threads] = self._clocks.now
        self._lines[row][rank, threads] = self.line

    def exit(self, rank: int) -> None:
        """The last thread of CTA `rank` exits."""
        self._exited[rank] = True
        own = self._own(rank)
        for row, last in self._last.items():
            late = last[rank] > self._clocks.known[row, own].max(axis=0)
            if not late.any():
                continue
            copier = int(np.argmax(late[own])) if late[own].any() else None
            late[own] = False
            if late.any():
                thread = int(np.argmax(late))
                raise HazardError(
                    f"data race: CTA {rank} of the cluster exits while the access to its memory on PTX line "
                    f"{int(self._lines[row][rank, thread])}, by thread {thread % self._lanes} of CTA "
                    f"{thread // self._lanes}, may not be over: expected {_COMPLETIONS[row]}"
                )
            if copier is not None:
                self._exit_before_copy(copier, int(self._lines[row][rank, own][copier]), row)

    def _exit_before_copy(self, thread: int, line: int, row: Row) -> None:
        message = (
            f"the CTA exits while the bulk copy that thread {thread} issued on PTX line {line} may still {_BULK[row]} "
            f"its shared memory: expected {_COMPLETIONS[row]}"
        )
        if self._note is None:
            raise HazardError(message)
        # No recording shows what a GPU does then.
        self._note("bulk copy at the end", message)
