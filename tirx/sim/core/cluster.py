"""The CTAs of a cluster, which run at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tirx.sim.core.barrier import ClusterBarrier
from tirx.sim.core.cta import Cta

if TYPE_CHECKING:
    from tirx.sim.core.launch import Launch


class Cluster:
    """
    Cluster number `index` of the grid.

    `events` is what asynchronous operations have still to do (arrivals of commits, bulk copies), oldest first.
    """

    def __init__(self, launch: Launch, index: tuple[int, int, int]):
        self.launch = launch
        x, y, z = launch.cluster
        block_x, block_y, block_z = launch.block
        lanes = -(-(block_x * block_y * block_z) // 32) * 32
        self.monitor = launch.new_monitor(x * y * z, lanes)
        self.taken_over = 0  # clusters that did not start because this one does their work
        self.events: deque[Callable[[], None]] = deque()
        self.barrier = ClusterBarrier(self.monitor, launch.made_progress)
        self.ctas: list[Cta] = []
        for rank in range(x * y * z):
            within = (rank % x, rank // x % y, rank // (x * y))
            place = tuple(index[axis] * launch.cluster[axis] + within[axis] for axis in range(3))
            self.ctas.append(Cta(self, rank, (place[0], place[1], place[2])))

    @property
    def running(self) -> bool:
        return any(cta.strands for cta in self.ctas)

    def check_barrier(self) -> None:
        """Completes barrier.cluster if only exited threads are missing."""
        self.barrier.check(self.alive)

    @property
    def alive(self) -> int:
        """How many threads have not exited."""
        return sum(int(cta.alive.sum()) for cta in self.ctas)

    def after(self, event: Callable[[], None]) -> None:
        """`event` happens some time from now."""
        self.events.append(event)

    def finish(self) -> None:
        """All threads have exited; SimError for what they must not leave behind."""
        while self.events:
            self.events.popleft()()
        for cta in self.ctas:
            cta.finish()
