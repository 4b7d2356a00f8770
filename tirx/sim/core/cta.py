"""A CTA while it runs: its registers, memories, barriers and strands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tirx.sim.core.barrier import CtaBarriers, WarpBarriers
from tirx.sim.core.copies import CopyGroups, ProductGroups
from tirx.sim.core.mbarrier import MAX_COUNT, Mbarrier
from tirx.sim.core.strand import WARP, Frame, RegisterState, Strand
from tirx.sim.core.types import Array, Mask, RegisterFile
from tirx.sim.errors import SimError
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.memory.segment import Segment
from tirx.sim.tensor.collectors import Collectors
from tirx.sim.tensor.memory import TensorMemory

if TYPE_CHECKING:
    from tirx.sim.core.cluster import Cluster

_LOCAL_ALIGNMENT = 16


class Cta:
    """
    CTA `index` of the grid, number `rank` of its cluster.

    Lanes are numbered from 0, 32 for each warp; `first_thread` added gives the index in the cluster that `Monitor`
    speaks of.
    """

    def __init__(self, cluster: Cluster, rank: int, index: tuple[int, int, int]):
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
        self.lanes: Array = np.arange(count)
        self.existing: Mask = self.lanes < self.thread_count
        self.alive: Mask = self.existing.copy()
        ids = (self.lanes % x, self.lanes // x % y, self.lanes // (x * y))
        self.thread_ids = tuple(each.astype(np.uint32) for each in ids)

        self.registers = RegisterFile(program.register_counts, count)
        self.register_states = np.ones((len(program.watched), count), np.uint8)
        self.register_states[np.array(program.initially_undefined, np.bool_)] = 0
        # Watched registers that were not accessed since the last wgmma.fence.
        self.register_fenced = np.zeros((len(program.watched), count), np.bool_)
        self.last_update: Array = np.full(count, -1)  # where the last atomic was that changed memory, of every thread
        # What strands remember, which do not live as long: by thread, and of polls by the first lane of a strand.
        self.spinning: Mask = np.zeros(count, np.bool_)
        self.refused: Mask = np.zeros(count, np.bool_)
        self.polled: dict[int, tuple[int, set[tuple[int, bytes]]]] = {}
        self.loose: set[int] = set()  # warps some of whose lanes went on without those that they were to meet
        self.carry: Mask = np.zeros(count, np.bool_)  # CC.CF of every thread
        self.shared_window = np.uint64(rank << RANK_SHIFT)
        self.shared = Segment(np.zeros(-(-program.shared_end // 16) * 16, np.uint8), "shared memory")
        local = -(-program.local_bytes // _LOCAL_ALIGNMENT) * _LOCAL_ALIGNMENT
        self.local = Segment(np.zeros(local * count, np.uint8), "local memory")
        self.local_bytes = self.local.data.reshape(count, local)
        self.collectors = Collectors()
        self.stack = np.full(count, program.stack, np.uint64)  # the stack pointer of every thread
        self.tensor = TensorMemory(self.monitor, rank, launch.observed)
        self.barriers = CtaBarriers(self.thread_count, self.monitor, launch.made_progress)
        self.warp_barriers = [WarpBarriers(self.monitor, launch.made_progress) for _ in range(warps)]
        self.mbarriers: dict[int, Mbarrier] = {}
        self.copies = CopyGroups(count)
        self.bulk_copies = CopyGroups(count)
        self.warpgroup_products = [ProductGroups() for _ in range(warps)]
        self.cluster_generation = np.zeros(count, np.int64)
        self.strands: list[Strand] = []
        if launch.interleaves:
            for warp in range(warps):
                first, last = warp * WARP, (warp + 1) * WARP
                self.strands.append(Strand(self, first, last, 0, self.existing[first:last].copy()))
        else:
            self.strands.append(Strand(self, 0, count, 0, self.existing.copy()))

    @cached_property
    def local_undefined(self) -> Mask:
        """Which bytes of local memory hold what was never written."""
        return np.zeros(self.local.size, np.bool_)

    def watch_all(self) -> None:
        """The program now watches more registers than at the start, all of which were defined so far."""
        more = len(self.launch.program.watched) - len(self.register_states)
        self.register_states = np.pad(self.register_states, ((0, more), (0, 0)), constant_values=1)
        self.register_fenced = np.pad(self.register_fenced, ((0, more), (0, 0)))
        for strand in self.strands:
            strand.states = self.register_states[:, strand.first : strand.last]
            strand.fenced = self.register_fenced[:, strand.first : strand.last]

    @property
    def pair(self) -> tuple[Cta, Cta]:
        """This CTA and the one whose rank differs in the last bit, the even one first."""
        ctas, even = self.cluster.ctas, self.rank & ~1
        if even + 1 >= len(ctas):
            raise SimError(f"CTA {self.rank} of a cluster of {len(ctas)} has no peer for cta_group::2")
        return ctas[even], ctas[even + 1]

    # Threads

    def threads(self, strand: Strand, mask: Mask) -> Array:
        """The threads of `mask` as indices in the cluster."""
        return strand.lanes[mask] + self.first_thread

    def require_converged(self, strand: Strand, mask: Mask, what: str) -> None:
        """SimError unless all threads of the strand's warps execute `what` together (`.aligned`)."""
        if not np.array_equal(mask, strand.existing):
            missing = strand.existing & ~mask
            raise SimError(
                f"{what} is .aligned: expected all threads of the warp, but it is executed without "
                f"{strand.describe(missing)}"
            )

    def kill(self, strand: Strand, mask: Mask) -> None:
        """The threads of `mask` are gone: nobody waits for them any more."""
        self.alive[strand.first : strand.last] &= ~mask
        self.launch.made_progress()
        for warp in range(strand.warp, strand.warp + strand.warps):
            self.warp_barriers[warp].check(self.alive[warp * WARP : (warp + 1) * WARP])
        self.cluster.check_barrier()
        if not self.alive.any():
            self.monitor.exited(self.rank)

    def check_exit(self, strand: Strand, mask: Mask) -> None:
        """SimError if a thread of `mask` must not exit yet."""
        pending = (strand.states == RegisterState.PENDING)[:, mask].any(axis=1)
        if pending.any():
            name = self.launch.program.watched[int(np.argmax(pending))]
            raise SimError(f"the thread exits before tcgen05.wait::ld of register {name}")

    def loads_have_finished(self, strand: Strand) -> None:
        """tcgen05.wait::ld: what the strand has loaded may be read."""
        states = strand.states
        states[states == RegisterState.PENDING] = RegisterState.DEFINED

    def split(self, strand: Strand, runs: list[tuple[int, int]]) -> None:
        """
        Replaces a strand of several warps by one for each of the runs of lanes (first, last).

        They execute the strand's present instruction again, each for itself.
        """
        self.launch.observed.undone(strand, self.launch.program.code[strand.pc])
        self.strands.remove(strand)
        for first, last in runs:
            own = slice(first - strand.first, last - strand.first)
            frames: tuple[Frame, ...] = ()
            for frame in strand.frames:
                saved = None if frame.saved is None else frame.saved.of(own)
                frames += (Frame(frame.pc, frame.mask[own], frames, frame.call, saved),)
            part = Strand(self, first, last, strand.pc, strand.mask[own].copy(), frames)
            part.timed_out = strand.timed_out
            self.strands.append(part)

    def split_into_warps(self, strand: Strand) -> None:
        self.split(strand, [(first, first + WARP) for first in range(strand.first, strand.last, WARP)])

    def join_warps(self, released: Sequence[Strand]) -> None:
        """Of the strands that a barrier has just released, those of neighbouring converged warps become one."""
        joinable = [strand for strand in released if not strand.frames and np.array_equal(strand.mask, strand.existing)]
        joinable.sort(key=lambda strand: strand.first)
        run: list[Strand] = []
        for strand in [*joinable, None]:
            if strand is not None and run and run[-1].last == strand.first and run[-1].pc == strand.pc:
                run.append(strand)
                continue
            if len(run) > 1:
                self.strands = [each for each in self.strands if each not in run]
                first, last = run[0].first, run[-1].last
                self.strands.append(Strand(self, first, last, run[0].pc, self.existing[first:last].copy()))
            run = [] if strand is None else [strand]

    # Shared memory

    def check_shared(self, offsets: Array, width: int, what: str) -> None:
        """SimError unless `width` bytes at each of `offsets` belong to a variable."""
        launch = self.launch
        first, end = launch.shared_start, launch.program.shared_end
        if offsets.min() < first or offsets.max() + width > end:
            bad = int(offsets[(offsets < first) | (offsets + width > end)][0])
        elif launch.shared_gaps and not launch.shared_valid[offsets].all():
            bad = int(offsets[~launch.shared_valid[offsets]][0])
        else:
            return
        raise SimError(
            f"out-of-bounds shared {what} of {width} bytes at {bad:#x}: variables are in "
            f"{', '.join(f'[{start:#x}, {start + size:#x})' for start, size in launch.program.shared) or 'no place'}"
        )

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
        """SimError for what a CTA must not leave behind."""
        self.tensor.check_exit()
