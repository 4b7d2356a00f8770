"""Groups of asynchronous copies of each thread: cp.async and cp.async.bulk commit and wait for them in order."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array


class CopyGroups:
    """For `lanes` threads: the instants (of the monitor) at which their committed groups had been issued."""

    def __init__(self, lanes: int):
        self._open = np.zeros(lanes, np.int64)  # instant of the last copy that is in no group
        self._groups: list[list[int]] = [list[int]() for _ in range(lanes)]

    def issued(self, lanes: Array, instant: int) -> None:
        self._open[lanes] = instant

    def commit(self, lanes: Array) -> None:
        chosen: list[int] = lanes.tolist()
        for lane in chosen:
            self._groups[lane].append(int(self._open[lane]))

    def wait(self, lanes: Array, pending: int) -> Array:
        """All but the last `pending` groups complete; returns the instants until which copies are."""
        marks = np.zeros(len(lanes), np.int64)
        chosen: list[int] = lanes.tolist()
        for index, lane in enumerate(chosen):
            groups = self._groups[lane]
            done = len(groups) - pending
            if done > 0:
                marks[index] = max(groups[:done])
                del groups[:done]
        return marks
