"""Barriers of a CTA (bar, barrier), of a warp (bar.warp.sync) and of a cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.types import WARP, Array, Mask
from tirx.sim.core.wait import Outcome, Wait, Waiter
from tirx.sim.errors import SimError
from tirx.sim.hazards.monitor import Monitor, Snapshot

BARRIERS = 16


class _Round:
    """Threads that have arrived at a barrier; `generation` counts the completed rounds."""

    def __init__(self) -> None:
        self.generation = 0
        self.reset()

    def reset(self) -> None:
        self.arrived = 0
        self.expected: int | None = None
        self.trues = 0
        self.snapshot: Snapshot = None
        self.waiting: list[Array] = []
        self.results: list[Callable[[int], None]] = []
        self.members: list[Array] = []


class CtaBarriers:
    """The 16 barriers of a CTA of `threads` threads."""

    def __init__(self, threads: int, monitor: Monitor, progressed: Callable[[], None]):
        self._threads = threads
        self._monitor = monitor
        self._progressed = progressed
        self._rounds = [_Round() for _ in range(BARRIERS)]

    def arrive(
        self,
        group: Waiter,
        threads: Array,
        arriving: int,
        number: int,
        count: int | None,
        *,
        wait: bool,
        trues: int = 0,
        result: Callable[[int], None] | None = None,
    ) -> Outcome | None:
        """
        Lets `arriving` threads of the thread group arrive at barrier `number`, which expects `count` threads (None:
        all).

        With `wait` the thread group goes on only when it has completed. `threads` are indices in the cluster. `trues`
        is how many of the threads bring a true predicate (barrier.red); `result` is called with the sum of all.
        """
        if not 0 <= number < BARRIERS:
            raise SimError(f"expected a barrier from 0 to {BARRIERS - 1}, found {number}")
        if count is not None and (count <= 0 or count % WARP):
            raise SimError(f"expected a thread count that is a positive multiple of {WARP}, found {count}")
        expected = self._threads if count is None else count
        current = self._rounds[number]
        if current.expected not in (None, expected):
            raise SimError(
                f"barrier {number}: thread count {expected} differs from {current.expected} of those already there"
            )
        current.expected = expected
        current.arrived += arriving
        current.members.append(threads)
        current.trues += trues
        self._monitor.loads_returned(threads)
        current.snapshot = self._monitor.join(current.snapshot, self._monitor.release(threads))
        if wait:
            current.waiting.append(threads)
        if result is not None:
            current.results.append(result)
        if current.arrived > expected:
            raise SimError(f"barrier {number}: {current.arrived} threads arrived, it expects {expected}")
        self._progressed()
        generation = current.generation
        if current.arrived == expected:
            for each in current.waiting:
                self._monitor.acquire(each, current.snapshot)
            for deliver in current.results:
                deliver(current.trues)
            current.generation += 1
            current.reset()
        if not wait:
            return None
        # The thread group that completes the barrier waits for an instant too, so that the warps can be joined.
        group.wait = Wait(
            lambda: current.generation != generation,
            lambda: (
                f"at barrier {number}, where {current.arrived} of {current.expected} threads are{self._of(current)}"
            ),
        )
        return Outcome.WAIT

    def _of(self, current: _Round) -> str:
        """The warps of threads that have arrived."""
        count = -(-self._threads // WARP)
        warps = sorted({int(warp) % count for each in current.members for warp in np.unique(each // WARP)})
        return f" (of warps {', '.join(map(str, warps))})" if warps else ""


class WarpBarriers:
    """bar.warp.sync of one warp: lanes may come in several groups."""

    def __init__(self, monitor: Monitor, progressed: Callable[[], None]):
        self._monitor = monitor
        self._progressed = progressed
        self._rounds: dict[int, tuple[_Round, Mask, Mask]] = {}  # member mask -> round, arrived, members

    def arrive(self, group: Waiter, threads: Array, mask: Mask, members: int, alive: Mask) -> Outcome:
        if members not in self._rounds:
            wanted = (members >> np.arange(WARP) & 1).astype(np.bool_)
            self._rounds[members] = (_Round(), np.zeros(WARP, np.bool_), wanted)
        current, arrived, wanted = self._rounds[members]
        if (mask & ~wanted).any():
            raise SimError(f"bar.warp.sync by a lane that is not in its member mask {members:#010x}")
        arrived |= mask
        current.snapshot = self._monitor.join(current.snapshot, self._monitor.release(threads))
        current.waiting.append(threads)
        generation = current.generation
        group.wait = Wait(
            lambda: current.generation != generation, lambda: f"at bar.warp.sync with member mask {members:#010x}"
        )
        self.check(alive)
        return Outcome.WAIT

    def check(self, alive: Mask) -> None:
        """Completes the rounds that no running thread is missing in. Exited lanes are not waited for."""
        for current, arrived, wanted in self._rounds.values():
            if arrived.any() and (arrived >= (wanted & alive)).all():
                for threads in current.waiting:
                    self._monitor.acquire(threads, current.snapshot)
                arrived[:] = False
                current.generation += 1
                current.reset()
                self._progressed()


class ClusterBarrier:
    """barrier.cluster: all threads of all CTAs arrive, then wait."""

    def __init__(self, monitor: Monitor, progressed: Callable[[], None]):
        self._monitor = monitor
        self._progressed = progressed
        self.generation = 0
        self._arrived = 0
        self._snapshot: Snapshot = None
        self._visible: Snapshot = None

    def arrive(self, threads: Array, alive: int, *, relaxed: bool) -> None:
        self._monitor.loads_returned(threads)
        released = self._monitor.relaxed(threads) if relaxed else self._monitor.release(threads)
        self._snapshot = self._monitor.join(self._snapshot, released)
        self._arrived += len(threads)
        self._progressed()
        self.check(alive)

    def check(self, alive: int) -> None:
        if self._arrived and self._arrived >= alive:
            self.generation += 1
            self._arrived = 0
            self._visible, self._snapshot = self._snapshot, None
            self._progressed()

    def wait(self, group: Waiter, threads: Array, generation: int) -> Outcome:
        """Waits until the phase after `generation` has begun."""

        def ready() -> bool:
            if self.generation <= generation:
                return False
            self._monitor.acquire(threads, self._visible)
            return True

        group.wait = Wait(ready, lambda: f"at barrier.cluster.wait, where {self._arrived} threads have arrived")
        return Outcome.WAIT
