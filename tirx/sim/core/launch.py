"""A kernel launch: the grid's clusters one after another, the strands of a cluster in turn."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from tirx.sim.core.cluster import Cluster
from tirx.sim.core.cta import Cta
from tirx.sim.core.execute import merge_splits, release_arrived, run_strand
from tirx.sim.core.observer import Observer
from tirx.sim.core.strand import Strand
from tirx.sim.core.tensor_maps import TensorMaps
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError, UndefinedError
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.memory.addresses import SHARED_BASE
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.memory.segment import Segment
from tirx.sim.program.code import Op, Program

# Instructions that a strand may execute before others run.
_QUANTUM = 4096
_RANDOM_QUANTUM = 64
# Instructions, and turns of all strands, without any effect on others after which they may be in loops without end.
_QUIET_INSTRUCTIONS = 200_000
_QUIET_ROUNDS = 2_000
# Turns after which a strand that finds nothing changed is taken to wait for another.
_IDLE_ROUNDS = 3

Dimensions = tuple[int, int, int]


class Launch:
    """
    The state of one `run`.

    `random` is None for the fast deterministic order; otherwise it decides which strand runs when and for how long,
    which lane elect.sync elects, and when asynchronous operations finish. `observer` hears of every instruction; if it
    is an `Observer`, `observed` is the same one. `progress` hears how many CTAs have ended, and of how many. `checks`:
    hazards are reported.
    """

    def __init__(
        self,
        program: Program,
        global_memory: FlatMemory,
        const_memory: FlatMemory,
        grid: Dimensions,
        block: Dimensions,
        cluster: Dimensions,
        dynamic_shared: int,
        *,
        seed: int | None,
        new_monitor: Callable[[int, int], Monitor],
        observer: Callable[[Strand, Op], None] | None,
        progress: Callable[[int, int], None] | None,
        max_instructions: int | None,
        max_resident: int,
        checks: bool,
    ):
        self.program = program
        self.global_memory = global_memory
        self.const_memory = const_memory
        self.parameters = Segment(np.zeros(-(-program.parameter_bytes // 16) * 16, np.uint8), "parameters")
        x, y, z = (grid[axis] // cluster[axis] for axis in range(3))
        self._waiting = ((i, j, k) for k in range(z) for j in range(y) for i in range(x))
        self.checks = checks
        self.tensor_maps = TensorMaps(global_memory)
        self.grid = grid
        self.block = block
        self.cluster = cluster
        self.dynamic_shared = dynamic_shared
        self.random = None if seed is None else random.Random(seed)
        self.elected = 0 if self.random is None else self.random.randrange(32)
        self.new_monitor = new_monitor
        self.observer = observer
        self.observed = observer if isinstance(observer, Observer) else Observer()
        self.global_memory.observed = self.observed
        self._progress = progress
        self._running: list[Cluster] = []
        self.origins: dict[int, SimError] = {}  # why a register is undefined, by its state row
        self.executed = 0
        self.progress = 0
        self._max_instructions = max_instructions
        self._max_resident = max_resident
        covered = np.zeros(program.shared_end, np.bool_)
        for start, size in program.shared:
            covered[start : start + size] = True
        self.shared_valid: Array = covered
        self.shared_start = min((start for start, _ in program.shared), default=SHARED_BASE)
        self.shared_gaps = not covered[self.shared_start :].all()

    @cached_property
    def grid_workspace(self) -> int:
        """The address of what the driver gives to a cooperative launch: a size, and the barrier of the grid."""
        return self.global_memory.add(np.array([8, 0], np.uint32).view(np.uint8), "the workspace of the grid")

    @property
    def interleaves(self) -> bool:
        """Whether warps run in random order, each for itself."""
        return self.random is not None

    def made_progress(self) -> None:
        """Something happened that another strand may have waited for."""
        self.progress += 1

    def watch_all(self) -> bool:
        """From now on every register is watched; False if that is so already, or nothing is checked."""
        if not self.program.watch_all():
            return False
        for cluster in self._running:
            for cta in cluster.ctas:
                cta.watch_all()
        return True

    def undefined_use(self, name: str, row: int, where: str = "") -> UndefinedError:
        """The error for the use of a register that is undefined, at the place that made it so."""
        origin = self.origins.get(row)
        if origin is None:
            return UndefinedError(f"register {name} is read but was never written", where=where)
        return UndefinedError(f"{origin.message}, and {name} depends on it", origin.line, origin.text, where)

    def print(self, text: str) -> None:
        """The output of printf."""
        sys.stdout.write(text)

    def run(self) -> None:
        """
        Runs all clusters, x fastest.

        The next one starts when those that run are finished, or wait for something that only another CTA can do.
        """
        running = self._running
        ended, total = 0, self.grid[0] * self.grid[1] * self.grid[2]
        with np.errstate(all="ignore"):
            while True:
                if not running or self._stalled(running):
                    index = next(self._waiting, None) if len(running) < self._max_resident else None
                    if index is None and not running:
                        return
                    if index is not None:
                        running.append(Cluster(self, index))
                    elif not self._stalled(running, patient=True):
                        continue
                    elif len(running) == self._max_resident:
                        raise self._deadlock(running, f"deadlock of the {len(running)} clusters that may run at once")
                    else:
                        raise self._deadlock(running)
                for cluster in [each for each in running if not each.running]:
                    cluster.finish()
                    running.remove(cluster)
                    ended += len(cluster.ctas) * (1 + cluster.taken_over)
                    if self._progress is not None:
                        self._progress(ended, total)

    def cancel(self) -> Dimensions | None:
        """The next cluster does not start: the index of its first CTA. None if there is none (or, with a seed, so)."""
        if self.random is not None and self.random.random() < 0.5:
            return None
        index = next(self._waiting, None)
        if index is None:
            return None
        x, y, z = (index[axis] * self.cluster[axis] for axis in range(3))
        return x, y, z

    # Scheduling

    def _stalled(self, running: Sequence[Cluster], patient: bool = False) -> bool:
        """
        Runs the clusters until one of them has finished (False) or nothing happens any more (True).

        What only asks again and again for something is stalled; unless `patient`, which waits for it to give up.
        """
        quiet = rounds = idle = 0
        seen: set[tuple[object, ...]] = set()
        timed_out_at = -1
        while True:
            before = self.progress
            ran = sum(self._turn(cluster) for cluster in running)
            if self._max_instructions is not None and self.executed > self._max_instructions:
                raise self._deadlock(running, f"more than {self._max_instructions} warp instructions")
            if any(not cluster.running for cluster in running):
                return False
            if self._fire_events(running, ran) or self.progress != before:
                quiet = rounds = idle = 0
                seen.clear()
                continue
            quiet, rounds = quiet + ran, rounds + 1
            idle = idle + 1 if all(each.wait or each.spinning for each in _strands(running)) else 0
            if idle > _IDLE_ROUNDS and self._release(running, same_update=not patient):
                idle = 0
            elif ran == 0 or (idle > _IDLE_ROUNDS and not patient):
                if timed_out_at == self.progress or not self._time_out(running):
                    return True
                timed_out_at = self.progress
            elif idle and rounds > _QUIET_ROUNDS:
                return True
            elif (quiet > _QUIET_INSTRUCTIONS or rounds > _QUIET_ROUNDS) and _repeats(running, seen):
                return True

    def _release(self, running: Sequence[Cluster], *, same_update: bool) -> bool:
        """Lets lanes go on for which a spinning strand waits perhaps; says whether there are any."""
        spinning = [strand for strand in _strands(running) if strand.spinning and strand.wait is None]
        released = [release_arrived(strand, same_update=same_update) for strand in spinning]
        return any(released)

    def _turn(self, cluster: Cluster) -> int:
        """Every strand of the cluster once; returns the number of instructions executed."""
        ran = 0
        for cta in cluster.ctas:
            if len(cta.strands) > 1:
                self._gather(cta)
            strands = list(cta.strands)
            if self.random is not None:
                self.random.shuffle(strands)
            for strand in strands:
                if any(strand is each for each in cta.strands):
                    ran += run_strand(strand, self._quantum())
        return ran

    def _gather(self, cta: Cta) -> None:
        cta.strands = merge_splits(cta.strands)
        if self.interleaves:
            return
        released = [
            strand
            for strand in cta.strands
            if strand.wait is not None and not strand.wait.may_time_out and strand.wait.ready()
        ]
        for strand in released:
            strand.wait = None
        cta.join_warps(released)

    def _quantum(self) -> int:
        return _QUANTUM if self.random is None else self.random.randrange(1, _RANDOM_QUANTUM)

    def _fire_events(self, running: Sequence[Cluster], ran: int) -> bool:
        """Lets asynchronous operations finish; with a seed, some of them later. Says whether any did."""
        fired = False
        for cluster in running:
            while cluster.events and not (self.random is not None and ran and self.random.random() < 0.5):
                cluster.events.popleft()()
                self.progress += 1
                fired = True
        return fired

    def _time_out(self, running: Sequence[Cluster]) -> bool:
        """Lets every waiting try_wait return false; says whether there is one."""
        found = False
        for strand in _strands(running):
            if strand.wait is not None and strand.wait.may_time_out:
                strand.timed_out = found = True
        return found

    def _deadlock(self, running: Sequence[Cluster], reason: str = "deadlock: no thread can go on") -> SimError:
        lines: list[str] = []
        first: Op | None = None
        for strand in _strands(running):
            op = self.program.code[strand.pc]
            first = first or op
            doing = strand.wait.reason() if strand.wait is not None else "runs without effect"
            lines.append(f"{strand.describe()}, line {op.line}: {doing}")
        for cluster in running:
            for cta in cluster.ctas:
                gone = int((cta.existing & ~cta.alive).sum())
                if gone:
                    lines.append(f"{gone} threads of CTA {cta.index} have exited")
        shown = "".join(f"\n    {line}" for line in lines[:16])
        more = f"\n    and {len(lines) - 16} more" if len(lines) > 16 else ""
        message = reason + shown + more
        return SimError(message) if first is None else SimError(message, first.line, first.text)


def _repeats(running: Sequence[Cluster], seen: set[tuple[object, ...]]) -> bool:
    """Whether all strands that run have been in the state before in which they are now: they will be in it again."""
    states = [
        (strand.cta.linear_index, strand.first, strand.pc, strand.mask.tobytes(), strand.registers())
        for strand in _strands(running)
        if strand.wait is None
    ]
    known = all(state in seen for state in states)
    seen.update(states)
    return known


def _strands(running: Sequence[Cluster]) -> list[Strand]:
    return [strand for cluster in running for cta in cluster.ctas for strand in cta.strands]
