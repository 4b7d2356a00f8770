"""Runs the clusters of a launch one after another, the thread groups of a cluster in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from tirx.sim.core.cta import Cluster, Cta, ThreadGroup
from tirx.sim.core.execute import join_warps, merge_splits, release_arrived, run_group
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.launch import Launch
from tirx.sim.core.observer import Observer
from tirx.sim.core.types import WARP
from tirx.sim.core.wave import Wave, WideGroup, wave_size
from tirx.sim.errors import SimError
from tirx.sim.program.code import Op, Program

# Instructions that a thread group may execute before others run: in the fixed order, and with a seed.
_QUANTUM = 4096
_RANDOM_QUANTA = range(1, 64)
# The same of CTAs that have run side by side in this turn: the instruction that parts them.
_PARTING = 1
# Instructions without any effect on others after which groups may be in loops without end. A turn of all groups counts
# as `_TURN` instructions at least; as just so many where all of them ask for something, which may give up some time.
_QUIET_INSTRUCTIONS = 200_000
_TURN = 100
# Turns after which a thread group that finds nothing changed is taken to wait for another.
_NO_ARRIVALS = ("test_wait", "try_wait", "mbarrier.init", "mbarrier.inval", "pending_count")
_IDLE_ROUNDS = 3
_SHOWN = 16  # lines of a report of a deadlock


class Scheduler:
    """
    Runs a launch of `program`.

    `observer` hears of every instruction. `progress` hears how many CTAs have ended, and of how many. The run ends
    with an error after `max_instructions` warp instructions; at most `max_resident` clusters run at once.
    """

    def __init__(
        self,
        launch: Launch,
        program: Program,
        *,
        observer: Callable[[ThreadGroup, Op], None] | None,
        progress: Callable[[int, int], None] | None,
        max_instructions: int | None,
        max_resident: int,
    ):
        self._launch = launch
        self._program = program
        self._observer = observer
        self._undone = observer.undone if isinstance(observer, Observer) else None
        self._progress = progress
        self._running: list[Cluster] = []
        self._max_instructions = max_instructions
        self._max_resident = max_resident
        self._wave: Wave | None = None
        self._ran_together: set[int] = set()  # ids of CTAs that have run together in this turn
        one = launch.cluster == (1, 1, 1) and launch.random is None
        self._side_by_side = one and observer is None and program.side_by_side

    def run(self) -> None:
        """
        Runs all clusters, x fastest.

        The next one starts when those that run are finished, or wait for something that only another CTA can do.
        """
        running = self._running
        ended, total = 0, math.prod(self._launch.grid)
        with np.errstate(all="ignore"):
            while True:
                if not running or self._stalled(running):
                    index = next(self._launch.waiting, None) if len(running) < self._max_resident else None
                    if index is None and not running:
                        return
                    if index is not None:
                        running += self._started(index, alone=bool(running))
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

    def _started(self, index: tuple[int, int, int], *, alone: bool) -> list[Cluster]:
        """Starts cluster `index`, and others at its side unless it has to be `alone`."""
        launch = self._launch
        x, y, z = launch.block
        lanes = -(-(x * y * z) // WARP) * WARP
        if alone or not self._side_by_side:
            return [Cluster(launch, index)]
        others = islice(launch.waiting, min(wave_size(lanes), self._max_resident) - 1)
        self._wave = Wave(launch, [index, *others], lanes)
        return list(self._wave.clusters)

    # Scheduling

    def _stalled(self, running: Sequence[Cluster], patient: bool = False) -> bool:
        """
        Runs the clusters until one of them has finished (False) or nothing happens any more (True).

        What only asks again and again for something is stalled; unless `patient`, which waits for it to give up.
        """
        quiet = turns = idle = 0
        seen: set[tuple[object, ...]] = set()
        timed_out_at: int | None = None
        while True:
            before = self._launch.progress
            ran = self._turn_together() + sum(self._turn(cluster) for cluster in running)
            if self._max_instructions is not None and self._launch.executed > self._max_instructions:
                raise self._deadlock(running, f"more than {self._max_instructions} warp instructions")
            if any(not cluster.running for cluster in running):
                return False
            self._fire_events(running, ran)
            if self._launch.progress != before:
                quiet = turns = idle = 0
                seen.clear()
                continue
            quiet, turns = quiet + max(ran, _TURN), turns + 1
            idle = idle + 1 if all(each.wait or each.spinning for each in _groups(running)) else 0
            if idle > _IDLE_ROUNDS and self._release(running, same_update=not patient):
                idle = 0
            elif ran == 0 or (idle > _IDLE_ROUNDS and not patient):
                if timed_out_at != self._launch.progress and self._time_out(running):
                    timed_out_at = self._launch.progress
                elif ran or not patient or not self._release(running, same_update=False, waiting=True):
                    return True
            elif idle and turns * _TURN > _QUIET_INSTRUCTIONS:
                return True
            elif quiet > _QUIET_INSTRUCTIONS and _repeats(running, seen):
                return True

    def _release(self, running: Sequence[Cluster], *, same_update: bool, waiting: bool = False) -> bool:
        """Releases lanes that groups which spin, or are `waiting`, may wait for. Returns True if there are any."""
        groups = [
            each for each in _groups(running) if (waiting or each.spinning) and (each.wait is not None) == waiting
        ]
        released = [release_arrived(group, same_update=same_update) for group in groups]
        return any(released)

    def _turn_together(self) -> int:
        """
        Runs the CTAs of a wave that are at the same instruction, then each of them one instruction that parts them.

        Returns the number of instructions executed.
        """
        self._ran_together.clear()
        if self._wave is None or not self._side_by_side:
            return 0
        for cluster in self._wave.clusters:
            self._gather(cluster.ctas[0])
        parts = self._wave.together()
        if not parts:
            return 0
        ran = run_wide(WideGroup(self._wave, parts), self._program, _QUANTUM)
        self._ran_together.update(id(part.cta) for part in parts)
        return ran

    def _turn(self, cluster: Cluster) -> int:
        """Every group of the cluster once; returns the number of instructions executed."""
        ran = 0
        for cta in cluster.ctas:
            self._gather(cta)
            groups = list(cta.groups)
            if self._launch.random is not None:
                self._launch.random.shuffle(groups)
            for group in groups:
                if group in cta.groups and not _holds(cta, group):
                    ran += self._run_group(group)
        return ran

    def _run_group(self, group: ThreadGroup) -> int:
        limit = _PARTING if id(group.cta) in self._ran_together else self._quantum()
        return run_group(group, self._program, limit, self._observer, self._undone, self._watch_all)

    def _watch_all(self) -> bool:
        """Watches every register from now on. Returns False if that is so already, or nothing is checked."""
        if not self._program.watch_all():
            return False
        self._launch.carries = True
        self._side_by_side = False
        for cluster in self._running:
            for cta in cluster.ctas:
                cta.watch_all()
        return True

    def _gather(self, cta: Cta) -> None:
        cta.groups = merge_splits(cta.groups)
        if self._launch.interleaves:
            return
        released = [
            group
            for group in cta.groups
            if group.wait is not None and not group.wait.may_time_out and group.wait.ready()
        ]
        for group in released:
            group.wait = None
        # Warps that have just come by the same wait go on together, too.
        join_warps(cta, released + [group for group in cta.groups if group.passed_wait == group.pc])

    def _quantum(self) -> int:
        return _QUANTUM if self._launch.random is None else self._launch.random.choice(_RANDOM_QUANTA)

    def _fire_events(self, running: Sequence[Cluster], ran: int) -> None:
        """Finishes asynchronous operations, with a seed only some of them, which is progress."""
        for cluster in running:
            while cluster.events and not (
                self._launch.random is not None and ran and self._launch.random.random() < self._launch.delay
            ):
                cluster.events.popleft()()
                self._launch.made_progress()

    def _time_out(self, running: Sequence[Cluster]) -> bool:
        """Lets every waiting try_wait return false. Returns True if there is one."""
        waiting = [group for group in _groups(running) if group.wait is not None and group.wait.may_time_out]
        for group in waiting:
            group.timed_out = True
        return bool(waiting)

    def _deadlock(self, running: Sequence[Cluster], reason: str = "deadlock: no thread can go on") -> SimError:
        lines: list[str] = []
        ops = [self._program.code[group.pc] for group in _groups(running)]
        for group, op in zip(_groups(running), ops, strict=True):
            doing = group.wait.reason() if group.wait is not None else "runs without effect"
            lines.append(f"{group.describe()}, line {op.line}: {doing}")
            lines += self._users(group, running)
        for cluster in running:
            for cta in cluster.ctas:
                gone = int((cta.existing & ~cta.alive).sum())
                if gone:
                    lines.append(f"{gone} threads of CTA {cta.index} have exited")
        more = [f"and {len(lines[_SHOWN:])} more"] if lines[_SHOWN:] else []
        message = "\n    ".join((reason, *lines[:_SHOWN], *more))
        return next((SimError(message, op.line, op.text) for op in ops), SimError(message))

    def _users(self, group: ThreadGroup, running: Sequence[Cluster]) -> list[str]:
        """Says who has arrived at the mbarriers that a group waits for, by what instruction, and where they are now."""
        lines: list[str] = []
        for barrier in group.wait.on if group.wait is not None else ():
            for pc, thread in barrier.users.items():
                op = self._program.code[pc]
                if any(part in op.opcode for part in _NO_ARRIVALS):
                    continue
                own = (each for each in _groups(running) if thread in each.cta.threads(each, each.mask))
                now = next((f"now at line {self._program.code[each.pc].line}" for each in own), "and is gone")
                lines.append(f"    thread {thread} has used it on line {op.line} ({op.opcode}), {now}")
            if not lines:
                lines.append("    nobody has arrived there, and no copy or commit was told to")
        return lines


def _holds(cta: Cta, group: ThreadGroup) -> bool:
    """Returns True if a group that has just come by a wait should let others, which have been refused, do so, too."""
    if group.passed_wait != group.pc or group.held:
        return False
    group.held = True
    return any(each.wait is None and each.passed_wait != each.pc and each.refused for each in cta.groups)


def _repeats(running: Sequence[Cluster], seen: set[tuple[object, ...]]) -> bool:
    """Returns True if every running group is in a state that it was in before, so that nothing will ever change."""
    states = [
        (group.cta.linear_index, group.first, group.pc, group.mask.tobytes(), group.registers())
        for group in _groups(running)
        if group.wait is None
    ]
    known = all(state in seen for state in states)
    seen.update(states)
    return known


def _groups(running: Sequence[Cluster]) -> list[ThreadGroup]:
    return [group for cluster in running for cta in cluster.ctas for group in cta.groups]
