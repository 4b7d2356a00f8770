"""Timeline of a run: what warps and asynchronous units do, step by step, and who waits for whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from tirx.sim.core.cta import Cluster, ThreadGroup
from tirx.sim.core.observer import Observer
from tirx.sim.core.types import WARP, Array
from tirx.sim.hazards.monitor import Monitor, Note, Snapshot, Stored, TensorAccess
from tirx.sim.memory.region import Region
from tirx.sim.program.code import Op

Kind: TypeAlias = Literal["run", "memory", "issue", "product", "wait", "copy", "fill", "use", "stuck"]

# Opcodes (their beginnings) by what a warp does with them; all others are "run".
_MEMORY = ("ld.", "st.", "ldu", "ldmatrix", "stmatrix", "red.", "atom", "tcgen05.ld", "tcgen05.st")
_ISSUES = (
    "cp.", "wgmma.mma_async", "tcgen05.mma", "tcgen05.cp", "tcgen05.commit", "mbarrier.arrive", "st.async", "red.async",
)  # fmt: skip
_SYNCHRONOUS_PRODUCTS = ("mma.", "wmma.mma")
_WARP_TENSOR_CORES = 4  # an SM has four: a warp uses one of them
_MBARRIER_BYTES = 8


@dataclass(frozen=True)
class StepModel:
    """
    Durations in steps. An instruction of a warp takes one; these are the others.

    An asynchronous unit works on what it is given in order: `copy_bytes` bytes, or `products` multiplications, in a
    step; what is copied arrives `copy_latency` steps later. The values are of the order of an H100's: 2048 products of
    f16 and about 64 bytes of L2 in a clock of an SM, 600 clocks of latency. They make a picture, not a prediction.
    """

    copy_latency: int = 600
    copy_bytes: int = 64
    products: int = 2048


@dataclass(frozen=True)
class RoleName:
    """Warps `first` to `first + warps - 1` of a block have the role `name`."""

    name: str
    first: int
    warps: int


@dataclass(frozen=True)
class TileName:
    """
    The tile `name` of each slot of a ring: slot i starts at `start + i * stride`.

    Counts bytes from the start of the block's shared memory, or columns from the start of its tensor memory.
    """

    name: str
    memory: Literal["shared", "tensor"]
    start: int
    stride: int


@dataclass(frozen=True)
class RingName:
    """
    A ring of `slots` slots that pass the `stations` in order. `barriers` has for each station the place of the mbarrier
    behind slot 0 (those of the other slots follow), in bytes from the start of shared memory; None where there is none.
    """

    name: str
    slots: int
    stations: tuple[str, ...]
    barriers: tuple[int | None, ...]
    tiles: tuple[TileName, ...]


@dataclass(slots=True)
class Segment:
    """
    Steps `start` to `end` of a lane. `line` and `last_line` are PTX lines, `cause` the lane and the step at which
    something ended a wait.
    """

    start: int
    end: int
    kind: Kind
    label: str
    line: int
    last_line: int
    count: int = 1
    cause: tuple[int, int] | None = None


@dataclass
class Lane:
    """A row of the picture: a warp, an asynchronous unit or a slot of a ring. Segments of a unit may overlap."""

    block: tuple[int, int, int]
    group: str
    name: str
    kind: Literal["warp", "unit", "slot"]
    segments: list[Segment] = field(default_factory=list[Segment])


class Timeline(Observer):
    """
    Records the first `clusters` clusters of a run, which has to be one without checks (`check=False`).

    The simulator runs one warp after the other; the timeline gives each warp a clock of its own. An instruction takes
    one step, and a thread that waits goes on when the last one has arrived that it waits for: `model` says how long
    copies and products take. What a GPU's clock would show is another matter.

    `roles` and `rings` give names to warps and to shared and tensor memory. Call `finish` after the run, also when it
    failed: threads that still wait then wait for ever.

    >>> from tirx.sim import Timeline, run
    >>> timeline = Timeline()
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { bar.sync 0; ret; }"
    >>> run(ptx, "f", grid=1, block=64, args=[], observer=timeline, check=False)
    >>> timeline.finish()
    >>> [(lane.name, [(s.start, s.end, s.kind) for s in lane.segments]) for lane in timeline.lanes]
    [('warp 0', [(0, 2, 'run')]), ('warp 1', [(0, 2, 'run')])]
    """

    def __init__(
        self,
        roles: Sequence[RoleName] = (),
        rings: Sequence[RingName] = (),
        model: StepModel | None = None,
        clusters: int = 4,
    ):
        self.lanes: list[Lane] = []
        self.texts: dict[int, str] = {}
        self.roles, self.rings, self.model = tuple(roles), tuple(rings), model or StepModel()
        self._left = clusters
        self._clocks: list[_Clock] = []
        self._now: _Clock | None = None

    @property
    def steps(self) -> int:
        """The last step at which anything happens."""
        return max((segment.end for lane in self.lanes for segment in lane.segments), default=0)

    def monitor(self, ctas: int, lanes: int, note: Note) -> Monitor | None:
        if not self._left:
            return Monitor()
        self._left -= 1
        self._clocks.append(_Clock(self, ctas, lanes // WARP))
        return self._clocks[-1]

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        clock = group.cta.monitor
        self._now = clock if isinstance(clock, _Clock) else None
        if self._now is not None:
            self.texts.setdefault(op.line, op.text)
            self._now.start(group, op)

    def undone(self, group: ThreadGroup, op: Op) -> None:
        if self._now is not None:
            self._now.undo()

    def multiplied(self, a: Array, b: Array) -> None:
        if self._now is not None:
            self._now.products += a.size * b.shape[-2]
            self._now.shape = (math.prod(a.shape[:-1]), int(b.shape[-2]), int(a.shape[-1]))

    def finish(self) -> None:
        """Ends the recording: what still waits is marked, and lanes without segments are dropped."""
        for clock in self._clocks:
            clock.settle()
        end = self.steps + 1
        for clock in self._clocks:
            clock.finish(end)
        kept = [index for index, lane in enumerate(self.lanes) if lane.segments]
        order = sorted(kept, key=lambda index: self._place(self.lanes[index]))
        number = {old: new for new, old in enumerate(order)}
        self.lanes = [self.lanes[index] for index in order]
        for lane in self.lanes:
            for segment in lane.segments:
                if segment.cause is not None:
                    lane_of_cause = number.get(segment.cause[0])
                    segment.cause = None if lane_of_cause is None else (lane_of_cause, segment.cause[1])

    @staticmethod
    def _place(lane: Lane) -> tuple[object, ...]:
        x, y, z = lane.block
        return (z, y, x), ("warp", "unit", "slot").index(lane.kind)


class _Clock(Monitor):
    """The clocks of the warps of a cluster, and what its units do. A snapshot is a step and the number of its cause."""

    records = True

    def __init__(self, timeline: Timeline, ctas: int, warps: int):
        self.products = 0
        self.shape: tuple[int, ...] = ()  # M, N and K of the last product
        self._timeline, self._model = timeline, timeline.model
        self._warps = warps
        self._now = [0] * (ctas * warps)
        self._doing: dict[int, Op] = {}  # of the warps that have started: the present instruction
        self._places: list[int] = []  # the lane of each warp, from the first instruction on
        self._units: dict[tuple[int, str], int] = {}
        self._free: dict[tuple[int, str], int] = {}
        self._slots: dict[tuple[int, str, int], int] = {}
        self._causes: list[tuple[int, int]] = []
        self._cluster: Cluster | None = None
        self._columns: dict[int, int] = {}  # of the CTAs: where their tensor memory starts
        self._op: Op | None = None
        self._running: Sequence[int] = ()  # warps of the present instruction
        self._reads: list[tuple[int, str, int]] = []  # what asynchronous work of the instruction reads: CTA, memory, at
        self._written: list[tuple[int, int, int]] = []  # CTA, first byte, bytes
        self._sums: list[tuple[int, int]] = []
        self._waited: tuple[int, int] | None = None
        self._done = 0  # when the last asynchronous work ends
        self._copied: dict[int, int] = {}  # of the warps: when their last cp.async ends

    # Instructions

    def start(self, group: ThreadGroup, op: Op) -> None:
        """The warps of `group` start `op`."""
        self.settle()
        if self._cluster is None:
            self._cluster = group.cta.cluster
            self._make_lanes()
        first = group.cta.rank * self._warps + group.warp
        self._op, self._running = op, range(first, first + group.warps)
        self._waited = None
        kind = _kind(op.opcode)
        for warp in self._running:
            self._doing[warp] = op
            self._extend(warp, 1, kind, op)

    def undo(self) -> None:
        """Takes the instruction that started last back."""
        for warp in self._running:
            segments = self._lane(warp).segments
            segments[-1].end -= 1
            segments[-1].count -= 1
            self._now[warp] -= 1
            if segments[-1].start == segments[-1].end:
                segments.pop()

    def settle(self) -> None:
        """Gives the asynchronous work of the last instruction its place in time."""
        op = self._op
        if op is None or not (self.products or self._reads or self._sums):
            return
        cost = -(-self.products // self._model.products)
        what = "x".join(map(str, self.shape)) if self.products else "copy of scale factors"
        if op.opcode.startswith(_SYNCHRONOUS_PRODUCTS):
            for warp in self._running:
                self._extend(warp, -(-cost * _WARP_TENSOR_CORES // len(self._running)), "product", op)
        else:
            begin, end = self._work("tensor core", max(cost, 1), "product", what, 0)
            for cta, memory, at in self._reads:
                self._mark_slot(cta, memory, at, begin, end, "use", "read by the tensor core")
            for cta, column in self._sums:
                self._mark_slot(cta, "tensor", column, begin, end, "fill", "sums of the tensor core")
        self.products = 0
        self._reads.clear()
        self._sums.clear()

    def finish(self, end: int) -> None:
        """Marks the warps that still wait, up to the step `end`."""
        for cta in self._cluster.ctas if self._cluster is not None else ():
            for group in cta.groups:
                if group.wait is None or group.wait.ready():  # it has come, but another group ended the run
                    continue
                for warp in range(group.warp, group.warp + group.warps):
                    number = cta.rank * self._warps + warp
                    line = self._doing[number].line
                    label = f"for ever: {group.wait.reason()}"
                    self._lane(number).segments.append(Segment(self._now[number], end, "stuck", label, line, line))

    # Lanes

    def _make_lanes(self) -> None:
        assert self._cluster is not None, "the first instruction has been seen"
        for cta in self._cluster.ctas:
            for warp in range(self._warps):
                role = next((r for r in self._timeline.roles if r.first <= warp < r.first + r.warps), None)
                self._places.append(self._add(cta.rank, role.name if role else "warps", f"warp {warp}", "warp"))

    def _add(self, rank: int, group: str, name: str, kind: Literal["warp", "unit", "slot"]) -> int:
        assert self._cluster is not None, "the first instruction has been seen"
        self._timeline.lanes.append(Lane(self._cluster.ctas[rank].index, group, name, kind))
        return len(self._timeline.lanes) - 1

    def _lane(self, warp: int) -> Lane:
        return self._timeline.lanes[self._places[warp]]

    def _extend(self, warp: int, steps: int, kind: Kind, op: Op) -> None:
        now = self._now[warp]
        self._now[warp] = now + steps
        segments = self._lane(warp).segments
        if segments and segments[-1].kind == kind and segments[-1].end == now:
            last = segments[-1]
            last.end, last.count = now + steps, last.count + 1
            last.line, last.last_line = min(last.line, op.line), max(last.last_line, op.line)
        else:
            segments.append(Segment(now, now + steps, kind, "", op.line, op.line))

    def _work(self, unit: str, busy: int, kind: Kind, label: str, latency: int) -> tuple[int, int]:
        """Lets a unit work for `busy` steps once it is free. Returns the steps in which it does, latency included."""
        rank = self._running[0] // self._warps
        key = (rank, unit)
        if key not in self._units:
            self._units[key] = self._add(rank, "units", unit, "unit")
        now = max(self._now[warp] for warp in self._running)
        begin = max(now, self._free.get(key, now))
        self._free[key] = begin + busy
        end = begin + busy + latency
        lane, line = self._timeline.lanes[self._units[key]], self._line
        last = next(reversed(lane.segments), None)
        issued = (self._places[self._running[0]], now)
        if unit == "cp.async" and last is not None and begin <= last.start + last.count:
            last.end, last.count, last.last_line = end, last.count + 1, max(last.last_line, line)
        else:
            lane.segments.append(Segment(begin, end, kind, label, line, line, 1, issued))
        self._done = end
        return begin, end

    @property
    def _line(self) -> int:
        assert self._op is not None, "units work for instructions"
        return self._op.line

    def _mark_slot(self, rank: int, memory: str, at: int, start: int, end: int, kind: Kind, label: str) -> None:
        """Marks the slot of a ring that holds byte or column `at` as in use."""
        assert self._cluster is not None, "memory is used by instructions"
        base = self._cluster.launch.shared_start if memory == "shared" else self._columns[rank]
        for ring in self._timeline.rings:
            for tile in ring.tiles:
                slot = (at - base - tile.start) // max(tile.stride, 1)
                if tile.memory != memory or not 0 <= slot < ring.slots:
                    continue
                key = (rank, ring.name, slot)
                if key not in self._slots:
                    # All slots at once, so that they are neighbours.
                    for each in range(ring.slots):
                        name = f"{ring.name}[{each}]"
                        self._slots[(rank, ring.name, each)] = self._add(rank, f"ring {ring.name}", name, "slot")
                segments, line = self._timeline.lanes[self._slots[key]].segments, self._line
                for last in reversed(segments[-2:]):
                    if last.kind == kind and last.label == label and start <= last.end + 1:
                        last.end, last.count, last.last_line = max(last.end, end), last.count + 1, line
                        return
                segments.append(Segment(start, end, kind, label, line, line))
                return

    def _mbarrier_name(self, rank: int, offset: int) -> str:
        assert self._cluster is not None, "mbarriers are used by instructions"
        at = offset - self._cluster.launch.shared_start
        for ring in self._timeline.rings:
            for index, first in enumerate(ring.barriers):
                if first is not None and 0 <= at - first < ring.slots * _MBARRIER_BYTES:
                    slot = (at - first) // _MBARRIER_BYTES
                    behind = ring.stations[index]
                    return f"{ring.name}[{slot}] to pass '{behind}'"
        return f"the mbarrier at byte {at} of shared memory of block {rank}"

    # Order: a snapshot is a step and the number of the cause in `_causes`

    def _snapshot(self, step: int, lane: int) -> Snapshot:
        self._causes.append((lane, step))
        return np.array([step, len(self._causes) - 1])

    def release(self, threads: Array) -> Snapshot:
        warp = max(_warps(threads), key=self._now.__getitem__)
        steps = [self._now[warp]]
        if self._awaits_copies:
            steps += [self._copied[each] for each in self._running if each in self._copied]
        return self._snapshot(max(steps), self._places[warp])

    @property
    def _awaits_copies(self) -> bool:
        """Returns True at an instruction by which copies arrive at an mbarrier, some time."""
        return self._op is not None and self._op.opcode.startswith("cp.async.mbarrier")

    relaxed = release

    def join(self, first: Snapshot, second: Snapshot) -> Snapshot:
        if first is None or second is None:
            return second if first is None else first
        return first if first[0] >= second[0] else second

    def acquire(self, threads: Array, snapshot: Snapshot) -> None:
        if snapshot is not None:
            self._wait(threads, int(snapshot[0]), self._causes[int(snapshot[1])])

    acquire_relaxed = acquire

    def _wait(self, threads: Array, step: int, cause: tuple[int, int] | None) -> None:
        for warp in _warps(threads):
            now = self._now[warp]
            if now >= step:
                continue
            op = self._doing[warp]
            label = op.opcode
            if self._waited is not None and warp in self._running:
                label = self._mbarrier_name(*self._waited)
            self._lane(warp).segments.append(Segment(now, step, "wait", label, op.line, op.line, 1, cause))
            self._now[warp] = step

    def mbarrier_uses(self, rank: int, offset: int, threads: Array) -> None:
        self._waited = (rank, offset)

    # Copies

    def async_write(self, rank: int, region: Region, thread: int, what: str, barrier: int) -> None:
        self._written.append((rank, region.first, len(region.places)))

    def async_update(self, rank: int, offsets: Array, thread: int, what: str, barrier: int) -> None:
        if len(offsets):
            self._written.append((rank, int(offsets.min()), len(offsets)))

    def deferred_store(
        self, rank: int, offsets: Array, thread: int, what: str, barrier: int, updates: bool = False
    ) -> None:
        self.async_update(rank, offsets, thread, what, barrier)

    def bulk_completed(self, thread: int, barrier: int) -> Snapshot:
        count = self._written[0][2] if self._written else 0
        begin, end = self._work("copies in", self._steps(count), "copy", f"{count} bytes", self._model.copy_latency)
        for rank, at, _ in self._written:
            self._mark_slot(rank, "shared", at, begin, end, "fill", "filled by bulk copies")
        self._written.clear()
        return self._snapshot(end, self._units[self._running[0] // self._warps, "copies in"])

    def _steps(self, count: int) -> int:
        return -(-count // self._model.copy_bytes)

    def async_read(
        self, rank: int, region: Region, thread: int, what: str, bulk: bool = False, as_a: bool = False
    ) -> None:
        if not bulk:
            self._reads.append((rank, "shared", region.first))
            return
        count = len(region.places)
        begin, end = self._work("copies out", self._steps(count), "copy", f"{count} bytes", 0)
        self._mark_slot(rank, "shared", region.first, begin, end, "use", "read by bulk copies")

    def copy_async(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        count = len(offsets) * width
        begin, end = self._work("cp.async", self._steps(count), "copy", "cp.async", self._model.copy_latency)
        for warp in self._running:
            self._copied[warp] = end
        self._mark_slot(rank, "shared", int(offsets.min()), begin, end, "fill", "filled by cp.async")

    def mark(self) -> int:
        self.settle()
        return self._done

    def copies_waited(self, threads: Array, marks: Array) -> None:
        if not self._awaits_copies:
            self._wait(threads, int(marks.max()), None)

    bulk_reads_done = copies_waited

    def copies_completed(self, thread: int) -> Snapshot:
        self.copies_waited(np.array([thread]), np.array([self.mark()]))
        return self.release(np.array([thread]))

    # Products

    def warpgroup_read(self, rank: int, region: Region, threads: Array, what: str) -> None:
        self._reads.append((rank, "shared", region.first))

    def warpgroup_reads_done(self, done: Sequence[tuple[int, int, int]]) -> None:
        for thread, instant, observers in done:
            lane = self._units.get((thread // WARP // self._warps, "tensor core"))
            self._wait(np.array([observers]), instant, None if lane is None else (lane, instant))

    def committed(self, thread: int, reads_a: bool = False) -> Snapshot:
        rank = thread // WARP // self._warps
        key = (rank, "tensor core")
        now = self._now[thread // WARP]
        step = max(self._free.get(key, now), now)
        return self._snapshot(step, self._units.get(key, self._places[thread // WARP]))

    # Memory

    def shared_load(self, rank: int, offsets: Array, width: int, threads: Array, strong: bool = False) -> None:
        self._touch(rank, "shared", offsets, "use", "read by threads")

    def shared_store(self, rank: int, offsets: Array, stored: Stored, threads: Array, strong: bool = False) -> None:
        self._touch(rank, "shared", offsets, "fill", "written by threads")

    def _touch(self, rank: int, memory: str, places: Array, kind: Kind, label: str) -> None:
        if self._timeline.rings and places.size:
            end = max(self._now[warp] for warp in self._running)
            self._mark_slot(rank, memory, int(places.min()), end - 1, end, kind, label)

    def tensor_allocated(self, rank: int, column: int, count: int) -> None:
        self._columns.setdefault(rank, column)

    def tensor_load(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        self._touch(rank, "tensor", columns, "use", "read by threads")

    def tensor_store(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        self._touch(rank, "tensor", columns, "fill", "written by threads")

    def tensor_async_read(
        self,
        rank: int,
        lanes: Array,
        columns: Array,
        thread: int,
        what: str,
        shape: int | None = None,
        kind: TensorAccess = "mma",
    ) -> None:
        if shape is None:  # an operand or metadata, no sums
            self._reads.append((rank, "tensor", int(columns.min())))

    def tensor_async_write(
        self, rank: int, lanes: Array, columns: Array, thread: int, kind: TensorAccess, what: str, shape: int = 0
    ) -> None:
        self._sums.append((rank, int(columns.min())))


def _warps(threads: Array) -> list[int]:
    numbers: list[int] = (threads // WARP).tolist()
    return sorted(set(numbers))


def _kind(opcode: str) -> Kind:
    if opcode.startswith(_ISSUES):
        return "issue"
    if opcode.startswith(_SYNCHRONOUS_PRODUCTS):
        return "product"
    return "memory" if opcode.startswith(_MEMORY) else "run"
