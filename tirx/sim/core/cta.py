"""A cluster while it runs: its CTAs with their registers, memories and barriers, and the threads that run together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from tirx.sim.core.barrier import ClusterBarrier, CtaBarriers, WarpBarriers
from tirx.sim.core.copies import CopyGroups, ProductGroups
from tirx.sim.core.frames import Frame
from tirx.sim.core.launch import Launch, Resources
from tirx.sim.core.mbarrier import MAX_COUNT, Mbarrier
from tirx.sim.core.types import WARP, WIDTHS, Array, Mask, RegisterFile, RegisterSlice, RegisterState, bits_type
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import SimError
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.memory.region import Region
from tirx.sim.memory.segment import Segment
from tirx.sim.tensor.collectors import Collectors
from tirx.sim.tensor.memory import TensorMemory

_LOCAL_ALIGNMENT = 16
_REGISTERS, _REGISTER_UNIT = 1 << 16, 8
"""Registers of a CTA, and the unit in which threads get them."""
_MAX_POLLED = 64


@dataclass(frozen=True, slots=True)
class Place:
    """
    State of CTAs that run side by side: registers with their states and fences, groups of copies by threads,
    `Cta.last_update` and `Cta.spinning`, and bytes of shared memory. `lanes` and `bytes` are those of one CTA.
    """

    registers: RegisterFile
    states: Array
    fenced: Mask
    copies: CopyGroups
    updates: Array
    spinning: Mask
    shared: Array
    lanes: slice
    bytes: slice


def new_place(program: Resources, lanes: int, ctas: int) -> Place:
    """Returns registers and memory of `ctas` CTAs of so many lanes; `lanes` and `bytes` are those of the first."""
    count, watched = lanes * ctas, len(program.watched)
    size = -(-program.shared_end // 16) * 16
    states, fenced = np.ones((watched, count), np.uint8), np.zeros((watched, count), np.bool_)
    shared = np.zeros(ctas * size, np.uint8)
    registers = RegisterFile(program.register_counts, count)
    updates, spinning = np.full(count, -1), np.zeros(count, np.bool_)
    copies = CopyGroups(count)
    return Place(registers, states, fenced, copies, updates, spinning, shared, slice(0, lanes), slice(0, size))


class Cluster:
    """
    Cluster number `index` of the grid. `place` is where the registers of its only CTA are, if others are there, too.

    `events` is what asynchronous operations have still to do (arrivals of commits, bulk copies), oldest first.
    """

    def __init__(self, launch: Launch, index: tuple[int, int, int], place: Place | None = None):
        self.launch = launch
        x, y, z = launch.cluster
        block_x, block_y, block_z = launch.block
        lanes = -(-(block_x * block_y * block_z) // 32) * 32
        self.monitor = launch.new_monitor(x * y * z, lanes, launch.note)
        counts = [size // each for size, each in zip(launch.grid, launch.cluster, strict=True)]
        self.number = index[0] + counts[0] * (index[1] + counts[1] * index[2])
        self.taken_over = 0  # clusters that did not start because this one does their work
        self.events: deque[Callable[[], None]] = deque()
        self.barrier = ClusterBarrier(self.monitor, launch.made_progress)
        self.ctas: list[Cta] = []
        for rank in range(x * y * z):
            within = (rank % x, rank // x % y, rank // (x * y))
            at = tuple(index[axis] * launch.cluster[axis] + within[axis] for axis in range(3))
            self.ctas.append(Cta(self, rank, (at[0], at[1], at[2]), place))

    @property
    def running(self) -> bool:
        return any(cta.groups for cta in self.ctas)

    def check_barrier(self) -> None:
        """Completes barrier.cluster if only exited threads are missing."""
        self.barrier.check(self.alive)

    @property
    def alive(self) -> int:
        """The number of threads that have not exited."""
        return sum(int(cta.alive.sum()) for cta in self.ctas)

    def after(self, event: Callable[[], None]) -> None:
        """Schedules `event` for some time from now."""
        self.events.append(event)

    def finish(self) -> None:
        """
        Ends a cluster whose threads have all exited. Raises SimError for anything that they must not leave behind.
        """
        while self.events:
            self.events.popleft()()
        for cta in self.ctas:
            cta.finish()
        self.monitor.ended()


class Cta:
    """
    CTA `index` of the grid, number `rank` of its cluster.

    Lanes are numbered from 0, 32 for each warp; `first_thread` added gives the index in the cluster that `Monitor`
    speaks of.
    """

    def __init__(self, cluster: Cluster, rank: int, index: tuple[int, int, int], place: Place | None = None):
        launch = cluster.launch
        program = launch.program
        self.cluster = cluster
        self.launch = launch
        self.monitor = cluster.monitor
        self.rank = rank
        self.index = index
        grid = launch.grid
        self.linear_index = index[0] + grid[0] * (index[1] + grid[1] * index[2])
        x, y, z = launch.block
        self.thread_count = x * y * z
        warps = -(-self.thread_count // WARP)
        count = warps * WARP
        self.first_thread = rank * count
        self.was_refused = False  # has read the answer that there is no other cluster whose work it may do
        self.lanes: Array = np.arange(count)
        self.existing: Mask = self.lanes < self.thread_count
        self.alive: Mask = self.existing.copy()
        ids = (self.lanes % x, self.lanes // x % y, self.lanes // (x * y))
        self.thread_ids = tuple(each.astype(np.uint32) for each in ids)

        place = new_place(program, count, 1) if place is None else place
        self.registers = RegisterSlice(place.registers, place.lanes.start)
        self.register_states = place.states[:, place.lanes]
        self.register_states[np.array(program.initially_undefined, np.bool_)] = 0
        # Watched registers that were not accessed since the last wgmma.fence.
        self.register_fenced = place.fenced[:, place.lanes]
        self.undefined_bytes: dict[int, Array] = {}  # by row: of each lane, if its register is undefined
        self.last_update = place.updates[place.lanes]  # where the last atomic was that changed memory, of every thread
        # What groups remember, which do not live as long: by thread, and of polls by the first lane of a thread group.
        self.spinning = place.spinning[place.lanes]
        self.refused: Mask = np.zeros(count, np.bool_)
        self.polled: dict[int, tuple[int, set[tuple[int, bytes]]]] = {}
        self.diverged: dict[int, int] = {}  # warps whose lanes took different ways, and the branch
        self.loose: set[int] = set()  # warps some of whose lanes went on without those that they were to meet
        self.carry: Mask = np.zeros(count, np.bool_)  # CC.CF of every thread
        self.shared_window = np.uint64(rank << RANK_SHIFT)
        self.shared = Segment(place.shared[place.bytes], "shared memory")
        local = -(-program.local_bytes // _LOCAL_ALIGNMENT) * _LOCAL_ALIGNMENT
        self.local = Segment(np.zeros(local * count, np.uint8), "local memory")
        self.local_bytes = self.local.data.reshape(count, local)
        self.collectors = Collectors()
        self.stack = np.full(count, program.stack, np.uint64)  # the stack pointer of every thread
        self.tensor = TensorMemory(self.monitor, rank, launch.observed)
        self.barriers = CtaBarriers(self.thread_count, self.monitor, launch.made_progress)
        self.warp_barriers = [WarpBarriers(self.monitor, launch.made_progress) for _ in range(warps)]
        self.mbarriers: dict[int, Mbarrier] = {}
        self.copies = place.copies.part(place.lanes)
        self.bulk_copies = CopyGroups(count)
        self.warpgroup_products = [ProductGroups() for _ in range(warps)]
        # The phase of barrier.cluster that a thread has arrived at and has not waited for; -1 for none.
        self.cluster_generation = np.full(count, -1, np.int64)
        self.warp_registers: dict[int, int] = {}  # by warp: registers of each thread, as its last setmaxnreg says
        self.groups: list[ThreadGroup] = []
        if launch.interleaves:
            for warp in range(warps):
                first, last = warp * WARP, (warp + 1) * WARP
                self.groups.append(ThreadGroup(self, first, last, 0, self.existing[first:last].copy()))
        else:
            self.groups.append(ThreadGroup(self, 0, count, 0, self.existing.copy()))

    @cached_property
    def local_undefined(self) -> Mask:
        """Marks the bytes of local memory that nobody has written, or that hold undefined values."""
        return np.zeros(self.local.size, np.bool_)

    def watch_all(self) -> None:
        """Adds states, all of them defined, for the registers that the program has begun to watch."""
        more = len(self.launch.program.watched) - len(self.register_states)
        self.register_states = np.pad(self.register_states, ((0, more), (0, 0)), constant_values=1)
        self.register_fenced = np.pad(self.register_fenced, ((0, more), (0, 0)))
        for group in self.groups:
            group.states = self.register_states[:, group.first : group.last]
            group.fenced = self.register_fenced[:, group.first : group.last]

    @property
    def pair(self) -> tuple[Cta, Cta]:
        """Returns this CTA and its peer, whose rank differs in the last bit; the even one first."""
        ctas, even = self.cluster.ctas, self.rank & ~1
        if even + 1 >= len(ctas):
            raise SimError(f"CTA {self.rank} of a cluster of {len(ctas)} has no peer for cta_group::2")
        return ctas[even], ctas[even + 1]

    # Threads

    def threads(self, group: ThreadGroup, mask: Mask) -> Array:
        """The threads of `mask` as indices in the cluster."""
        return group.lanes[mask] + self.first_thread

    def require_converged(self, group: ThreadGroup, mask: Mask, what: str) -> None:
        """Raises SimError unless all threads of the thread group's warps execute `what` together (`.aligned`)."""
        if not group.active(mask)[1] and not np.array_equal(mask, group.existing):
            missing = group.existing & ~mask
            raise SimError(
                f"{what} is .aligned: expected all threads of the warp, but it is executed without "
                f"{group.describe(missing)}"
            )

    def kill(self, group: ThreadGroup, mask: Mask) -> None:
        """The threads of `mask` are gone: nobody waits for them any more."""
        self.alive[group.first : group.last] &= ~mask
        self.launch.made_progress()
        for warp in range(group.warp, group.warp + group.warps):
            self.warp_barriers[warp].check(self.alive[warp * WARP : (warp + 1) * WARP])
        self.cluster.check_barrier()
        if not self.alive.any():
            self.monitor.exited(self.rank)

    def check_exit(self, group: ThreadGroup, mask: Mask) -> None:
        """Raises SimError if a thread of `mask` exits before tcgen05.wait::ld of its loads."""
        own = group.states[:, mask]
        pending = ((own == RegisterState.PENDING) | (own == RegisterState.PENDING_UNDEFINED)).any(axis=1)
        if pending.any():
            name = self.launch.program.watched[int(np.argmax(pending))]
            raise SimError(f"the thread exits before tcgen05.wait::ld of register {name}")

    def loads_have_finished(self, group: ThreadGroup) -> None:
        """Completes the thread group's tcgen05.ld, as tcgen05.wait::ld does: their registers may be read."""
        states = group.states
        states[states == RegisterState.PENDING] = RegisterState.DEFINED
        if self.launch.carries:
            states[states == RegisterState.PENDING_UNDEFINED] = RegisterState.UNDEFINED

    def load_is_undefined(self, group: ThreadGroup, row: int, lanes: Mask, origin: SimError) -> None:
        """Notes that a tcgen05.ld, which is not waited for, leaves a register undefined in some lanes."""
        group.states[row][lanes] = RegisterState.PENDING_UNDEFINED
        if row in self.undefined_bytes:
            self.undefined_bytes[row][group.first : group.last][lanes] = 0xFF
        self.launch.origins[row] = origin

    # Shared memory

    def check_shared(self, offsets: Array, width: int, what: str) -> None:
        """Raises SimError unless `width` bytes at each of `offsets` belong to a variable."""
        launch = self.launch
        first, end = launch.shared_start, launch.program.shared_end
        if np.minimum.reduce(offsets) < first or np.maximum.reduce(offsets) + width > end:
            bad = int(offsets[(offsets < first) | (offsets + width > end)][0])
        elif launch.shared_gaps and not launch.shared_valid[offsets].all():
            bad = int(offsets[~launch.shared_valid[offsets]][0])
        else:
            return
        raise SimError(
            f"out-of-bounds shared {what} of {width} bytes at {bad:#x}: variables are in "
            f"{', '.join(f'[{start:#x}, {start + size:#x})' for start, size in launch.program.shared) or 'no place'}"
        )

    def check_region(self, region: Region, what: str) -> None:
        """Raises SimError unless all bytes belong to a variable."""
        launch = self.launch
        if region.first < launch.shared_start or region.last >= launch.program.shared_end or launch.shared_gaps:
            self.check_shared(region.places, 1, what)

    # mbarriers

    def mbarrier(self, offset: int) -> Mbarrier:
        found = self.mbarriers.get(offset)
        if found is None:
            reason = "an mbarrier object is 8-byte aligned" if offset % 8 else "it was not initialised, or invalidated"
            raise SimError(f"no mbarrier object at shared address {offset:#x}: {reason}")
        return found

    def init_mbarrier(self, offset: int, count: int, thread: int) -> None:
        if offset % 8:
            raise SimError(f"expected an address that is a multiple of 8 for an mbarrier object, found {offset:#x}")
        if not 1 <= count <= MAX_COUNT:
            raise SimError(f"expected an mbarrier count from 1 to {MAX_COUNT}, found {count}")
        self.check_shared(np.array([offset]), 8, "mbarrier.init")
        if offset in self.mbarriers:
            raise SimError(f"the mbarrier object at {offset:#x} is initialised again without mbarrier.inval")
        self.monitor.mbarrier_init(self.rank, offset, thread)
        self.mbarriers[offset] = Mbarrier(count, self.monitor)
        self.launch.made_progress()

    def inval_mbarrier(self, offset: int, thread: int) -> None:
        self.mbarrier(offset)
        self.monitor.mbarrier_inval(self.rank, offset, thread)
        del self.mbarriers[offset]

    # The end

    def finish(self) -> None:
        """Checks the end of the CTA. Raises SimError for anything that it must not leave behind."""
        self.tensor.check_exit()
        (entry,) = self.launch.program.directives.get("maxnreg", (0,))  # without it setmaxnreg is ignored
        if not entry or not self.warp_registers:
            return
        each = -(-entry // _REGISTER_UNIT) * _REGISTER_UNIT
        if (count := each * len(self.lanes)) > _REGISTERS:
            raise SimError(f"expected .maxnreg of at most {_REGISTERS} registers of all threads, found {count}")
        if (missing := WARP * sum(own - each for own in self.warp_registers.values())) > 0:
            raise SimError(
                f"setmaxnreg.inc waits for ever: expected setmaxnreg.dec of {missing} registers more, by any warp"
            )


class Deferred(Protocol):
    """Work of a thread group that waits until somebody needs its results: 32-bit registers in `rows` of their bank."""

    rows: frozenset[int]

    def finish(self, group: ThreadGroup) -> None:
        """Does the work."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """
    Several CTAs side by side as one thread group: the groups that it consists of, their shared memory as one, where
    that of the CTA of each lane begins, and for all lanes what `Place` has.
    """

    parts: Sequence[ThreadGroup]
    shared: Segment
    bases: Array
    copies: CopyGroups
    updates: Array
    spinning: Mask

    def split(self, lanes: Array) -> Iterator[tuple[ThreadGroup, slice]]:
        """Yields the parts that `lanes` (indices in the thread group, ascending) are in, and at which places."""
        count = len(self.bases) // len(self.parts)
        ends = np.searchsorted(lanes, range(count, len(self.bases) + 1, count)).tolist()
        for part, first, end in zip(self.parts, [0, *ends], ends, strict=False):
            if first < end:
                yield part, slice(first, end)

    def tell(self, lanes: Array, tell: Callable[[ThreadGroup, slice], None]) -> None:
        """Calls `tell` for each part that `lanes` are in. Errors are about the threads of that part."""
        for part, own in self.split(lanes):
            try:
                tell(part, own)
            except SimError as error:
                mask = np.zeros(len(part.mask), np.bool_)
                mask[lanes[own] % len(mask)] = True
                raise error.at(None, where=part.describe(mask)) from None


class ThreadGroup:
    """
    Converged threads in whole warps: lanes [first, last) of a CTA. The lanes in `mask` execute at `pc`.

    Converged warps at the same instruction may be one thread group, which is faster; only one of a single warp may be
    diverged. All arrays of a step (operands, results, masks) have `last - first` elements. `banks[type.bank][row]` is
    a register. `lanes` are the indices of the lanes in the CTA (thread = lane; the last warp may have lanes
    without a thread, which are in no mask).
    """

    __slots__ = (
        "cta", "first", "last", "banks", "states", "fenced", "lanes", "pc", "mask", "frames", "wait", "timed_out",
        "deferred", "defers", "passed_wait", "held", "sides", "_mask", "_active",
    )  # fmt: skip

    held: bool
    """Has it waited at `passed_wait` for warps that are about to come by the same wait?"""

    def __init__(self, cta: Cta, first: int, last: int, pc: int, mask: Mask, frames: tuple[Frame, ...] = ()):
        self.cta = cta
        self.first = first
        self.last = last
        self.banks: tuple[Array, ...] = cta.registers.views(first, last)
        self.states = cta.register_states[:, first:last]
        self.fenced = cta.register_fenced[:, first:last]
        self.lanes: Array = cta.lanes[first:last]
        self.pc = pc
        self.mask = mask
        self.frames = frames
        self.wait: Wait | None = None
        self.timed_out = False
        self.deferred: Deferred | None = None
        self.passed_wait: int | None = None  # the instruction behind the wait at which the group has let others run
        self.defers = False  # may an instruction leave its work for later?
        self.sides: Sides | None = None  # if it is of several CTAs
        self._mask: Mask | None = None  # that of the last `active`
        self._active: Array = np.zeros(0, np.int64)

    @property
    def threads(self) -> Array:
        """The indices in the cluster of the threads of all lanes."""
        return self.lanes + self.cta.first_thread

    def thread(self, lane: int) -> int:
        """The index in the cluster of the thread of a lane."""
        return int(self.lanes[lane]) + self.cta.first_thread

    def finish_deferred(self) -> None:
        """Does the work that waits, if there is any."""
        waiting, self.deferred = self.deferred, None
        if waiting is not None:
            waiting.finish(self)

    def poll(self, addresses: Array, lanes: Array) -> Outcome | None:
        """
        Notes that `lanes` poll `addresses`, which other threads may write, by the current instruction.

        If it has done so before, and nothing has changed anywhere, the others have to run first.
        """
        again = self.has_polled(self.pc, addresses)
        self.cta.spinning[self.first : self.last][self.mask] = again
        return Outcome.YIELD if again else None

    def has_polled(self, pc: int, addresses: Array) -> bool:
        """Returns True if the instruction has polled `addresses` before, and nothing has changed since; notes it."""
        progress = self.cta.launch.progress
        instant, polled = self.cta.polled.get(self.first, (None, set[tuple[int, bytes]]()))
        if instant != progress or len(polled) > _MAX_POLLED:
            polled = set[tuple[int, bytes]]()
            self.cta.polled[self.first] = (progress, polled)
        key = (pc, addresses.tobytes())
        again = key in polled
        polled.add(key)
        return again

    def note_changes(self, lanes: Array) -> None:
        """Notes that atomic accesses of `lanes` have changed memory."""
        self.cta.launch.made_progress()
        self.cta.last_update[self.first + lanes] = self.pc

    def registers(self) -> int:
        """A hash of the registers of the lanes that are here."""
        return hash(tuple(self.banks[bits_type(width).bank][:, self.mask].tobytes() for width in WIDTHS))

    def active(self, mask: Mask) -> tuple[Array, bool]:
        """The indices of the lanes in `mask`, and whether these are all."""
        if mask is not self._mask:
            self._mask, self._active = mask, np.flatnonzero(mask)
        return self._active, len(self._active) == len(mask)

    @property
    def spinning(self) -> bool:
        """Returns True if all active threads repeat a request."""
        return bool(self.cta.spinning[self.first : self.last][self.mask].all())

    @property
    def refused(self) -> bool:
        """Returns True if the last mbarrier.try_wait or test_wait of any active thread returned false."""
        return bool(self.cta.refused[self.first : self.last][self.mask].any())

    @refused.setter
    def refused(self, value: bool) -> None:
        self.cta.refused[self.first : self.last][self.mask] = value

    @property
    def warps(self) -> int:
        return (self.last - self.first) // WARP

    @property
    def warp(self) -> int:
        """Index in the CTA of the (first) warp."""
        return self.first // WARP

    @property
    def alive(self) -> Mask:
        """Lanes whose thread has not exited."""
        return self.cta.alive[self.first : self.last]

    @property
    def existing(self) -> Mask:
        """Lanes that have a thread."""
        return self.cta.existing[self.first : self.last]

    def describe(self, mask: Mask | None = None) -> str:
        """Describes threads and their CTA for messages."""
        lanes = self.lanes[self.mask if mask is None else mask]
        threads = "no thread" if len(lanes) == 0 else _ranges(lanes)
        warps = f"warp {self.warp}" if self.warps == 1 else f"warps {self.warp}-{self.warp + self.warps - 1}"
        return f"{warps} ({threads}), CTA {self.cta.index}"


def _ranges(lanes: Array) -> str:
    values: list[int] = lanes.tolist()
    if len(values) == 1:
        return f"thread {values[0]}"
    if values[-1] - values[0] + 1 == len(values):
        return f"threads {values[0]}-{values[-1]}"
    shown = ", ".join(str(value) for value in values[:6])
    return f"threads {shown}" + (", ..." if len(values) > 6 else "")
