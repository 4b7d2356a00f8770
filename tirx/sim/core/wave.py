"""
CTAs that run side by side: one set of registers, so that an instruction that all of them execute is one step.

Only clusters of one CTA run so, beginning where all threads of each are together at the same instruction. Steps that
know nothing of CTAs (`Op.is_wide`) are executed once for all of them, others for one CTA after another. Lanes that go
different ways (`tirx.sim.core.ways`) take turns as long as there are such steps only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tirx.sim.core.cta import Cluster, Cta, Sides, ThreadGroup, new_place
from tirx.sim.core.launch import Launch
from tirx.sim.core.types import Array, Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.memory.segment import Segment

_LANES = 2048  # of all CTAs of a wave; a CTA has at most half of them
_MOST = 16  # CTAs


class Wave:
    """The clusters `indices`, of one CTA each, in this order."""

    def __init__(self, launch: Launch, indices: Sequence[tuple[int, int, int]], lanes: int):
        self.lanes = lanes
        self.place = new_place(launch.program, lanes, len(indices))
        self.bytes = self.place.bytes.stop
        self.clusters: list[Cluster] = []
        for number, index in enumerate(indices):
            own = slice(lanes * number, lanes * (number + 1))
            memory = slice(self.bytes * number, self.bytes * (number + 1))
            self.clusters.append(Cluster(launch, index, replace(self.place, lanes=own, bytes=memory)))

    def together(self) -> list[ThreadGroup]:
        """
        Returns the thread groups of neighbouring CTAs that can be one group: of all of their threads, and at the same
        instruction. Empty if there are fewer than two.
        """
        groups = (_whole(cta) for cluster in self.clusters for cta in cluster.ctas)
        neighbours = groupby(groups, lambda group: None if group is None else group.pc)
        runs = ([group for group in own if group is not None] for _, own in neighbours)
        best = max(runs, key=len)
        return best if len(best) > 1 else []


def wave_size(lanes: int) -> int:
    """Returns how many CTAs of so many lanes should run side by side."""
    return min(_MOST, _LANES // lanes)


def _whole(cta: Cta) -> ThreadGroup | None:
    """Returns the thread group of all threads of a CTA, if it can run now."""
    if len(cta.groups) != 1 or cta.loose:
        return None
    group = cta.groups[0]
    if group.frames or group.timed_out or not np.array_equal(group.mask, cta.existing):
        return None
    if group.wait is not None and (group.wait.may_time_out or not group.wait.ready()):
        return None
    return group


class WideGroup(ThreadGroup):
    """
    The threads of several CTAs of a wave, each with all of its threads in one of `parts`. `is_all`: no other CTA of the
    wave has threads.
    """

    __slots__ = ("parts", "lanes_of_cta", "is_all", "_existing")

    def __init__(self, wave: Wave, parts: list[ThreadGroup]):
        cta, place = parts[0].cta, wave.place
        number = wave.clusters.index(cta.cluster)
        self._existing: Mask = np.tile(cta.existing, len(parts))
        super().__init__(cta, 0, wave.lanes, parts[0].pc, self._existing)
        self.first, self.last = wave.lanes * number, wave.lanes * (number + len(parts))
        self.banks = place.registers.views(self.first, self.last)
        self.states, self.fenced = place.states[:, self.first : self.last], place.fenced[:, self.first : self.last]
        self.lanes: Array = np.tile(cta.lanes, len(parts))
        self.parts, self.lanes_of_cta = parts, wave.lanes
        self.is_all = len(parts) == sum(cluster.running for cluster in wave.clusters)
        bases = np.repeat(np.arange(number, number + len(parts)) * wave.bytes, wave.lanes)
        own = slice(self.first, self.last)
        copies = place.copies.part(own)
        self.sides = Sides(parts, Segment(place.shared), bases, copies, place.updates[own], place.spinning[own])

    def poll(self, addresses: Array, lanes: Array) -> Outcome | None:
        assert self.sides is not None
        again = self.has_polled(self.pc, addresses)
        self.sides.spinning[self.mask] = again
        return Outcome.YIELD if again else None

    def note_changes(self, lanes: Array) -> None:
        assert self.sides is not None
        self.cta.launch.made_progress()
        self.sides.updates[lanes] = self.pc

    def of_part(self, index: int) -> slice:
        """The lanes of a part."""
        return slice(self.lanes_of_cta * index, self.lanes_of_cta * (index + 1))

    @property
    def alive(self) -> Mask:
        return self._existing

    @property
    def existing(self) -> Mask:
        return self._existing
