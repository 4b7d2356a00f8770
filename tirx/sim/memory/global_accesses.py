"""Tells the order of global memory (`tirx.sim.hazards.global_order`) what instructions access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import WARP, Array, Mask
from tirx.sim.hazards.global_access import BULK, MAP, WEAK, Access, Fence, Kind
from tirx.sim.hazards.global_pairs import Side, Users
from tirx.sim.memory.flat import Places
from tirx.sim.memory.segment import Segment
from tirx.sim.memory.tensor_copy import Runs

_ALL = slice(None)
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def users_of(group: ThreadGroup, lanes: Array, how: Access = WEAK) -> Users:
    """Returns the threads of some lanes of a thread group; of accesses by a warp together, its first one."""
    if how.collective:
        lanes = lanes // WARP * WARP
    if group.sides is None:
        cta = group.cta
        side = Side(cta.cluster.number, len(cta.lanes), cta.monitor, _ALL)
        return Users(group.lanes[lanes] + cta.first_thread, (side,), group.pc)
    sides = [
        Side(part.cta.cluster.number, len(part.cta.lanes), part.cta.monitor, own)
        for part, own in group.sides.split(lanes)
    ]
    return Users(group.lanes[lanes], sides, group.pc)


def read(group: ThreadGroup, lanes: Array, places: Places, unit: np.dtype[Any], count: int, how: Access) -> None:
    """Each of `lanes` reads `count` elements of `unit` at its place."""
    launch, width = group.cta.launch, unit.itemsize * count
    assert launch.order is not None
    for segment, which, offsets in places:
        launch.order.read(users_of(group, lanes[which], how), segment, offsets, width, how, unit.itemsize)


def write(group: ThreadGroup, lanes: Array, places: Places, values: Array, how: Access) -> None:
    """Each of `lanes` writes a row of `values` to its place."""
    launch = group.cta.launch
    element, count = values.dtype.itemsize, values.shape[1]
    assert launch.order is not None
    for segment, which, offsets in places:
        users = users_of(group, lanes[which], how)
        if how.strong:
            launch.order.write(users, segment, offsets, element * count, how, element, None)
            launch.order.publish(users, segment, offsets, element * count, how)
        else:
            bits = np.ascontiguousarray(values[which]).view(_BITS.get(element, np.uint8))
            launch.order.write(users, segment, offsets, element * count, how, element, bits)


def update(
    group: ThreadGroup,
    lanes: Array,
    places: Sequence[tuple[Segment, Array, Array]],
    unit: np.dtype[Any],
    count: int,
    how: Access,
) -> Callable[[Mask], None] | None:
    """
    Each of `lanes` updates `count` elements of `unit` at its place. The function that is returned notes that they
    acquire what is released there, and release what they do where they are done. None: nothing is checked.
    """
    order, width = group.cta.launch.order, unit.itemsize * count
    if order is None:
        return None
    users = [users_of(group, lanes[which]) for _, which, _ in places]
    for own, (segment, _, offsets) in zip(users, places, strict=True):
        order.write(own, segment, offsets, width, how, unit.itemsize, None)

    def publish(done: Mask) -> None:
        for own, (segment, which, offsets) in zip(users, places, strict=True):
            order.publish(own, segment, offsets, width, how, done[which])

    return publish


def bulk(group: ThreadGroup, lane: int, memory: Array, runs: Runs, how: Access, element: int = 0) -> None:
    """
    A bulk copy, or reduction of elements of `element` bytes, of a lane accesses runs of bytes behind the first of
    `memory`, part of a buffer.
    """
    launch = group.cta.launch
    assert launch.order is not None
    if not len(runs.offsets):  # a mask of no bytes
        return
    segment, start = launch.global_memory.place_of(memory)
    users = users_of(group, np.full(len(runs.offsets), lane))
    if how.kind is Kind.BULK and runs.data is None:
        launch.order.read(users, segment, start + runs.offsets, runs.width, how)
    else:
        launch.order.write(users, segment, start + runs.offsets, runs.width, how, element, runs.data)


def map_read(group: ThreadGroup, lane: int, address: int, raw: Array, *, stores: bool) -> None:
    """A bulk tensor copy of a lane reads the bytes `raw` of a tensor map in global memory."""
    order = group.cta.launch.order
    if order is not None:
        segment, offset = group.cta.launch.global_memory.place_of(raw)
        order.read_map(users_of(group, np.array([lane])), segment, offset, len(raw), MAP if stores else BULK)


def map_acquired(group: ThreadGroup, lanes: Array, raw: Array) -> None:
    """`lanes` execute fence.proxy.tensormap::generic.acquire of the bytes `raw` in global memory."""
    order = group.cta.launch.order
    if order is not None:
        segment, offset = group.cta.launch.global_memory.place_of(raw)
        order.acquire_map(users_of(group, lanes), segment, offset, len(raw))


def fence(group: ThreadGroup, lanes: Array, fence: Fence) -> None:
    """`lanes` execute a fence."""
    order = group.cta.launch.order
    if order is not None:
        order.fence(users_of(group, lanes), fence)


def proxy_fence(group: ThreadGroup, lanes: Array) -> None:
    """`lanes` execute fence.proxy.async of global memory."""
    order = group.cta.launch.order
    if order is not None:
        order.proxy_fence(users_of(group, lanes))
