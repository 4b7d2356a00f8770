"""Clusters and thread groups of a small kernel, with a monitor that notes what it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tirx.sim import SimError
from tirx.sim.core.cta import Cluster, Cta, ThreadGroup
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.types import Array, Mask
from tirx.sim.core.wait import Wait
from tirx.sim.hazards.monitor import Monitor, Note, Snapshot, Stored
from tirx.sim.setting import Setting

Dimensions = tuple[int, int, int]
_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 %r<4>; .reg .b64 %d<2>; .shared .b8 a[6]; .shared .b64 b[2]; .shared .b8 c[4]; .local .b8 l[20];
  mov.u32 %r0, %r1; mov.u64 %d0, %d1; ret;
}
"""


class Recorder(Monitor):
    """Notes who is told what."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.released = 0

    def _note(self, *what: Any) -> None:
        self.calls.append(tuple(each.tolist() if isinstance(each, np.ndarray) else each for each in what))

    def release(self, threads: Array) -> Snapshot:
        self._note("release", threads)
        self.released += 1
        return np.array([self.released])

    def relaxed(self, threads: Array) -> Snapshot:
        self._note("relaxed", threads)
        return np.array([0])

    def join(self, first: Snapshot, second: Snapshot) -> Snapshot:
        found = [each for each in (first, second) if each is not None]
        return np.concatenate(found) if found else None

    def acquire(self, threads: Array, snapshot: Snapshot) -> None:
        self._note("acquire", threads, snapshot)

    def loads_returned(self, threads: Array) -> None:
        self._note("loads", threads)

    def mbarrier_init(self, rank: int, offset: int, thread: int) -> None:
        self._note("init", rank, offset, thread)

    def mbarrier_inval(self, rank: int, offset: int, thread: int) -> None:
        self._note("inval", rank, offset, thread)

    def shared_load(self, rank: int, offsets: Array, width: int, threads: Array, strong: bool = False) -> None:
        self._note("load", rank, offsets, width, threads, strong)

    def shared_store(self, rank: int, offsets: Array, stored: Stored, threads: Array, strong: bool = False) -> None:
        self._note("store", rank, offsets, threads, strong)

    def shared_atomic(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        self._note("atomic", rank, offsets, width, threads)

    def exited(self, rank: int) -> None:
        self._note("exited", rank)

    def ended(self) -> None:
        self._note("ended")


def new_cluster(
    block: Dimensions = (32, 1, 1),
    cluster: Dimensions = (1, 1, 1),
    index: Dimensions = (0, 0, 0),
    grid: Dimensions | None = None,
    seed: int | None = None,
) -> tuple[Cluster, Recorder]:
    x, y, z = (2 * each for each in cluster)
    setting = Setting(_TEXT, "k", grid or (x, y, z), block, cluster, 0, "strict", "hardware", seed, None, 64)
    linked = setting.linked()
    launch = setting.launch(linked.program(), linked.symbols.memories({}), None, print)
    recorder = Recorder()

    def new_monitor(ctas: int, lanes: int, note: Note) -> Monitor:
        recorder.calls.append(("monitor", ctas, lanes))
        return recorder

    launch.new_monitor = new_monitor
    return Cluster(launch, index), recorder


def new_group(cta: Cta, first: int = 0, last: int = 32, pc: int = 0, *, lanes: slice = slice(None)) -> ThreadGroup:
    mask = np.zeros(last - first, np.bool_)
    mask[lanes] = True
    return ThreadGroup(cta, first, last, pc, mask)


def mask_of(*lanes: int, count: int = 32) -> Mask:
    return np.isin(np.arange(count), lanes)


def waiting(*, ready: bool = False, may_time_out: bool = False, on: tuple[Mbarrier, ...] = ()) -> Wait:
    return Wait(lambda: ready, lambda: "waits", may_time_out, on)


def message_of(what: Callable[[], object]) -> str:
    with pytest.raises(SimError) as caught:
        what()
    return caught.value.message
