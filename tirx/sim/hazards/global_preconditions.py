"""Needs of accesses of global memory besides order: acquired tensor maps, and the end of the grid before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_pairs import PairRules, Pairs, Side, Users
from tirx.sim.hazards.global_shadow import GlobalShadow, pc_of
from tirx.sim.memory.segment import Segment

_MOST_MAPS = 1024  # acquisitions of a tensor map by a cluster


class TensorMapOrder:
    """
    Tensor maps in global memory that threads have acquired (PTX ISA, section 8.9.5). `describe` says where an
    instruction stands, `place` which thread a thread of a cluster is.
    """

    def __init__(self, rules: PairRules, describe: Callable[[int], str], place: Callable[[int, int], str]):
        self._rules, self._describe, self._place = rules, describe, place
        # By cluster, buffer and offset: thread, instant and the writes that it saw.
        self._acquired: dict[tuple[int, int, int], list[tuple[int, int, Array]]] = {}

    def check(self, users: Users, segment: Segment, offset: int, size: int, shadow: GlobalShadow) -> None:
        """Raises HazardError if the map of `size` bytes was written, and its user is not behind an acquisition."""
        places = shadow.places(shadow.units(np.array([offset]), size)).ravel()
        writes = shadow.writes[places]
        (side,), thread = users.sides, users.threads[:1]
        if not writes.any() or any(
            np.array_equal(writes, seen) and _follows(side, thread, fencer, instant)
            for fencer, instant, seen in self._acquired.get((side.cluster, id(segment), offset), ())
        ):
            return
        made = int(shadow.write_hows[places][np.argmax(writes != 0)])
        raise HazardError(
            f"data race: {self._place(side.cluster, int(thread[0]))} uses the tensor map at byte {offset} of "
            f"{segment.name}, which {self._describe(pc_of(made))} has written: expected "
            "fence.proxy.tensormap::generic.acquire of it behind a synchronisation with the writer"
        )

    def acquire(self, users: Users, segment: Segment, offset: int, size: int, shadow: GlobalShadow) -> None:
        """Notes fence.proxy.tensormap::generic.acquire of a map by threads that are behind its writes."""
        places = shadow.places(shadow.units(np.array([offset]), size)).ravel()
        writes, hows = shadow.writes[places], shadow.write_hows[places]
        which = writes != 0
        count = int(which.sum())
        for side in users.sides:
            for thread in users.threads[side.own].tolist():
                pairs = Pairs(writes[which], hows[which], np.full(count, thread), np.full(count, offset))
                if self._rules.in_order(side, pairs, Row.VISIBLE)[0].all():
                    found = self._acquired.setdefault((side.cluster, id(segment), offset), [])
                    found.append((thread, side.monitor.instant(), writes))
                    del found[:-_MOST_MAPS]


def _follows(side: Side, thread: Array, other: int, instant: int) -> bool:
    """Returns True if a thread is behind what another one of its cluster did at an instant."""
    if int(thread[0]) == other:
        return True
    return bool(side.monitor.reached(Row.VISIBLE, thread, np.array([other]), np.array([instant])).all())


class Prerequisites:
    """Buffers that the grid before may still access. `place` says which thread a thread of a cluster is."""

    def __init__(self, place: Callable[[int, int], str]):
        self._place = place
        self._buffers: set[int] = set()
        self._waited: dict[int, list[tuple[Array, int]]] = {}  # by cluster: threads and instant

    def require(self, segments: Sequence[Segment]) -> None:
        """Makes accesses of some buffers wait for `griddepcontrol.wait`."""
        self._buffers = {id(each) for each in segments}

    def requires(self, segment: Segment) -> bool:
        """Returns True if accesses of a buffer wait for `griddepcontrol.wait`."""
        return id(segment) in self._buffers

    def waited(self, users: Users) -> None:
        """Notes that threads have executed griddepcontrol.wait."""
        for side in users.sides:
            found = self._waited.setdefault(side.cluster, [])
            threads = users.threads[side.own]
            for before, _ in found:  # who has waited is behind the grid before already
                threads = threads[~np.isin(threads, before)]
            if len(threads):
                found.append((threads.copy(), side.monitor.instant()))

    def check(self, users: Users, segment: Segment) -> None:
        """Raises HazardError if a thread that accesses a buffer is not behind griddepcontrol.wait."""
        if id(segment) not in self._buffers:
            return
        for side in users.sides:
            threads = users.threads[side.own]
            behind = np.zeros(len(threads), np.bool_)
            for waiters, instant in self._waited.get(side.cluster, ()):
                for waiter in waiters.tolist():
                    rest = np.flatnonzero(~behind)
                    if not len(rest):
                        break
                    own = threads[rest]
                    at = np.full(len(rest), instant)
                    known = side.monitor.reached(Row.VISIBLE, own, np.full(len(rest), waiter), at)
                    behind[rest] = (own == waiter) | known
            if not behind.all():
                raise HazardError(
                    f"{segment.name} may still be written or read by the grid before: expected griddepcontrol.wait of "
                    f"{self._place(side.cluster, int(threads[~behind][0]))}, or of one that it follows by a barrier"
                )
