"""Schedules by themselves: who runs side by side, who waits for whom, and loops without an end."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.sim.machine import mask_of, new_cluster, new_group, waiting

from tirx.sim import Observer, SimError, run
from tirx.sim.core import execute, schedule
from tirx.sim.core.cta import Cluster, ThreadGroup
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.frames import Frame
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.wave import Wave, WideGroup, wave_size
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.program.code import Op, Program

_HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def _scheduler(cluster: Cluster) -> schedule.Scheduler:
    program = cluster.launch.program
    assert isinstance(program, Program)
    options: dict[str, Any] = {"observer": None, "progress": None, "max_instructions": None, "max_resident": 8}
    return schedule.Scheduler(cluster.launch, program, **options)


_PLAIN = ".visible .entry k(.param .u64 p) { .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; WORK ret; }"
_STORE, _ATOMIC = "st.global.u32 [%d], 1;", "atom.global.add.u32 %r, [%d], 1;"


@pytest.mark.parametrize(
    ("work", "options", "wide"),
    [
        (_STORE, {"grid": 17}, [8, 8]),  # the last one is alone
        (_STORE, {"grid": 5, "max_resident": 3}, [3, 2]),
        (_STORE, {"max_resident": 1}, []),
        (_STORE, {"grid": 5, "block": 1024, "check": False}, [2, 2]),
        (_STORE, {"seed": 1}, []),
        (_STORE, {"observer": Observer()}, []),
        (_ATOMIC, {}, [2]),
        ("mov.u32 %r, %clock;", {}, []),
        (_STORE, {"cluster": 2}, []),
        (_STORE, {"grid": (1, 2), "cluster": (1, 2)}, []),
        (_STORE, {"grid": (1, 1, 2), "cluster": (1, 1, 2)}, []),
    ],
)
def test_who_runs_side_by_side(
    work: str, options: dict[str, Any], wide: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def counted(group: WideGroup, program: Program, limit: int) -> int:
        found.append(len(group.parts))
        return run_wide(group, program, limit)

    monkeypatch.setattr(schedule, "run_wide", counted)
    usual: dict[str, Any] = {"grid": 2, "block": 256, "args": [np.zeros(1, np.int32)]}
    run(_HEAD + _PLAIN.replace("WORK", work), "k", **usual | options)
    assert found == wide


def test_ctas_that_part_execute_one_instruction_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end, of CTAs that have run side by side; all instructions of others."""
    limits: list[int] = []
    run_group = schedule.run_group

    def counted(group: ThreadGroup, program: Program, limit: int, *others: Any) -> int:
        limits.append(limit)
        return run_group(group, program, limit, *others)

    monkeypatch.setattr(schedule, "run_group", counted)
    for observer in (None, Observer()):
        run(_HEAD + _PLAIN.replace("WORK", _STORE), "k", 2, 32, [np.zeros(1, np.int32)], observer=observer)
    assert limits == [1, 1, 4096, 4096]


def test_clusters_that_start() -> None:
    """As many as fit side by side, but one where others run already or its kernel does not allow more."""
    for block, alone, side_by_side, expected in (
        ((32, 1, 1), False, True, 8), ((32, 1, 1), True, True, 1), ((32, 1, 1), False, False, 1),
        ((32, 1, 1), True, False, 1), ((8, 16, 5), False, True, 3), ((9, 10, 11), False, True, 2),
    ):  # fmt: skip
        launch = new_cluster(block, grid=(3, 7, 1))[0].launch
        assert isinstance(launch.program, Program)
        options: dict[str, Any] = {"observer": None, "progress": None, "max_instructions": None, "max_resident": 8}
        scheduler = schedule.Scheduler(launch, launch.program, **options)
        scheduler._side_by_side = side_by_side
        started = scheduler._started(next(launch.waiting), alone=alone)
        assert [each.ctas[0].index for each in started] == [(n % 3, n // 3, 0) for n in range(expected)]
        assert next(launch.waiting) == (expected % 3, expected // 3, 0)
        assert (scheduler._wave is not None) is (side_by_side and not alone)
        assert all(each.ctas[0].thread_count == np.prod(block) for each in started)


def test_clusters_that_take_over_others_count_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are finished one by one, once all of their threads have exited."""
    launch = new_cluster((32, 1, 1), (2, 1, 1), grid=(12, 1, 1))[0].launch
    assert isinstance(launch.program, Program)
    heard: list[tuple[int, int]] = []
    options: dict[str, Any] = {"observer": None, "max_instructions": None, "max_resident": 3}

    def progress(ended: int, total: int) -> None:
        heard.append((ended, total))

    scheduler = schedule.Scheduler(launch, launch.program, progress=progress, **options)
    finished: list[int] = []

    def stalled(running: list[Cluster], patient: bool = False) -> bool:
        if len(running) < 3 and not finished:
            return True  # the next one starts
        running[0].taken_over = (0, 2, 1)[len(finished)]
        for cta in running[0].ctas:
            cta.groups.clear()
        return False

    def finish(cluster: Cluster) -> None:
        finished.append(cluster.ctas[0].index[0])
        if len(finished) == 3:
            launch.waiting = iter(())

    monkeypatch.setattr(scheduler, "_stalled", stalled)
    monkeypatch.setattr(Cluster, "finish", finish)
    scheduler.run()
    assert finished == [0, 2, 4] and heard == [(2, 12), (8, 12), (12, 12)]


@pytest.mark.parametrize(
    ("most", "reason"), [(3, "deadlock of the 3 clusters that may run at once"), (4, "deadlock: ")]
)
def test_deadlocks(monkeypatch: pytest.MonkeyPatch, most: int, reason: str) -> None:
    """Whoever waits may wait for a cluster that has not started, as long as there is one and a place for it."""
    launch = new_cluster(grid=(5, 1, 1))[0].launch
    assert isinstance(launch.program, Program)
    launch.take_share(0, 3)
    options: dict[str, Any] = {"observer": None, "progress": None, "max_instructions": None, "max_resident": most}
    scheduler = schedule.Scheduler(launch, launch.program, **options)
    asked: list[tuple[int, bool]] = []

    def stalled(running: list[Cluster], patient: bool = False) -> bool:
        asked.append((len(running), patient))
        return asked.count((3, True)) != 1 or not patient

    monkeypatch.setattr(scheduler, "_stalled", stalled)
    scheduler._side_by_side = False
    with pytest.raises(SimError, match=f"^.*{reason}"):
        scheduler.run()
    assert asked == [(1, False), (2, False), *[(3, False), (3, True)] * 2]


def test_progress_counts_ctas() -> None:
    heard: list[tuple[int, int]] = []

    def progress(ended: int, total: int) -> None:
        heard.append((ended, total))

    text = _HEAD + _PLAIN.replace("WORK", _ATOMIC)
    run(text, "k", (2, 3, 4), 1, [np.zeros(1, np.int32)], cluster=(2, 1, 2), progress=progress)
    assert heard == [(count, 24) for count in range(4, 25, 4)]


def test_waits_that_time_out() -> None:
    """A thread that is refused arrives itself."""
    text = """.visible .entry k(.param .u64 p) {
  .reg .b64 %d; .reg .pred %q; .shared .b64 bar;
  ld.param.u64 %d, [p]; mbarrier.init.shared.b64 [bar], 1;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q st.global.u32 [%d], 7; @!%q mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q mbarrier.arrive.shared.b64 _, [bar]; @!%q bra AGAIN;
  ret; }"""
    out = np.zeros(1, np.int32)
    run(_HEAD + text, "k", 1, 1, [out])
    assert out[0] == 7


def test_time_out() -> None:
    cluster, _ = new_cluster((128, 1, 1))
    cta, scheduler = cluster.ctas[0], _scheduler(cluster)
    cta.groups = [new_group(cta, first, first + 32) for first in range(0, 128, 32)]
    cta.groups[1].wait = waiting()
    assert not scheduler._time_out([cluster])
    cta.groups[2].wait, cta.groups[3].wait = waiting(may_time_out=True), waiting(may_time_out=True)
    assert scheduler._time_out([cluster])
    assert [group.timed_out for group in cta.groups] == [False, False, True, True]


def test_report_of_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits, who has used the mbarrier, where these threads are now, and who has exited."""
    cluster, _ = new_cluster((64, 1, 1), (2, 1, 1))
    program, scheduler = cluster.launch.program, _scheduler(cluster)
    assert isinstance(program, Program)
    monkeypatch.setattr(schedule, "_SHOWN", 7)
    used, unused = Mbarrier(1, Monitor()), Mbarrier(1, Monitor())
    for opcode in ("mbarrier.init.shared.b64", "mbarrier.try_wait.parity.shared.b64", "mbarrier.arrive.shared.b64"):
        program.code.append(Op(opcode, len(program.code) + 10, f"{opcode};"))
    first = len(program.code) - 3
    used.users = {first: 0, first + 1: 1, first + 2: 97, 0: 40}
    for rank, cta in enumerate(cluster.ctas):
        low, high = new_group(cta, 0, 32, pc=1), new_group(cta, 32, 64, pc=2)
        cta.groups = [low] if rank == 0 else [low, high]
    one, two, three = (group for cta in cluster.ctas for group in cta.groups)
    one.wait, two.wait = waiting(on=(used,)), waiting(on=(unused,))
    cluster.ctas[0].alive[32:] = False
    text = program.code[1].text
    error = scheduler._deadlock([cluster], "why")
    assert (error.line, error.text) == (6, text)
    expected = [
        "warp 0 (threads 0-31), CTA (0, 0, 0), line 6: waits",
        f"    thread 97 has used it on line {program.code[-1].line} (mbarrier.arrive.shared.b64), now at line 6",
        "    thread 40 has used it on line 6 (mov.u32), and is gone",
        "warp 0 (threads 0-31), CTA (1, 0, 0), line 6: waits",
        "    nobody has arrived there, and no copy or commit was told to",
        "warp 1 (threads 32-63), CTA (1, 0, 0), line 6: runs without effect",
        "32 threads of CTA (0, 0, 0) have exited",
    ]
    assert error.message.split("\n    ") == ["why", *expected]
    cluster.ctas[1].alive[60:] = False
    assert scheduler._deadlock([cluster], "why").message.split("\n    ") == ["why", *expected, "and 1 more"]
    assert three.wait is None and scheduler._deadlock([], "more").message == "more"


def test_gathered_groups() -> None:
    """Warps that have come by the same wait go on as one group; with a seed each for itself."""
    apart = [(first, first + 32, 5) for first in range(0, 224, 32)]
    for seed, expected in ((None, [(0, 32, 5), (192, 224, 5), (32, 192, 5)]), (1, apart)):
        cluster, _ = new_cluster((224, 1, 1), seed=seed)
        cta = cluster.ctas[0]
        cta.groups = groups = [new_group(cta, first, first + 32, 5) for first in range(0, 224, 32)]
        groups[0].wait = waiting(ready=True, may_time_out=True)
        for each in groups[1:4]:
            each.wait = waiting(ready=True)
        groups[4].passed_wait = groups[5].passed_wait = 5
        _scheduler(cluster)._gather(cta)
        assert sorted(((g.first, g.last, g.pc) for g in cta.groups), key=lambda each: each[1] - each[0]) == expected
        assert groups[0].wait is not None and (seed is not None or groups[1].wait is None)


def test_who_lets_others_come_by_a_wait() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta = cluster.ctas[0]
    cta.groups = [own, other] = [new_group(cta, 0, 32, 5), new_group(cta, 32, 64, 4)]
    own.passed_wait, other.refused = 5, True

    def holds() -> bool:
        own.held = False
        return schedule._holds(cta, own)

    assert holds() and own.held and not schedule._holds(cta, own)  # once
    for change, expected in (
        (lambda: setattr(other, "wait", waiting()), False), (lambda: setattr(other, "wait", None), True),
        (lambda: setattr(other, "passed_wait", 4), False), (lambda: setattr(other, "passed_wait", -1), True),
        (lambda: setattr(other, "refused", False), False), (lambda: setattr(other, "refused", True), True),
        (lambda: setattr(own, "pc", 6), False),
    ):  # fmt: skip
        change()
        assert holds() is expected


def test_states_that_repeat() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta = cluster.ctas[0]
    cta.groups = [one, other] = [new_group(cta, 0, 32, 5), new_group(cta, 32, 64, 4)]
    seen: set[tuple[object, ...]] = set()
    assert [schedule._repeats([cluster], seen) for _ in range(2)] == [False, True]
    one.pc = 6
    assert [schedule._repeats([cluster], seen) for _ in range(2)] == [False, True]
    cta.registers.views(32, 64)[0]
    other.banks[[bank.dtype.itemsize for bank in other.banks].index(4)][0][3] = 1
    assert [schedule._repeats([cluster], seen) for _ in range(2)] == [False, True]
    other.pc, other.wait = 99, waiting()
    assert schedule._repeats([cluster], seen)


def test_spinning_groups_let_those_go_that_have_arrived() -> None:
    """Lanes 0-3 wait at instruction 9 for lanes 4-31, which spin at instruction 5."""
    for same_update, last_update, expected in ((False, -1, True), (True, 4, True), (True, 5, False), (True, -1, False)):
        cluster, _ = new_cluster()
        cta, scheduler = cluster.ctas[0], _scheduler(cluster)
        frame = Frame(9, np.ones(32, np.bool_), ())
        frame.arrived[:4] = True
        group = ThreadGroup(cta, 0, 32, 5, ~frame.arrived, (frame,))
        cta.groups = [group]
        cta.last_update[2] = last_update
        assert not scheduler._release([cluster], same_update=same_update)  # does not spin
        cta.spinning[:] = True
        assert not scheduler._release([cluster], same_update=same_update, waiting=True)
        group.wait = waiting()
        assert not scheduler._release([cluster], same_update=same_update)
        group.wait = None
        assert scheduler._release([cluster], same_update=same_update) is expected
        assert [(each.pc, int(each.mask.sum())) for each in cta.groups] == [(5, 28), (9, 4)][: 1 + expected]
        assert cta.loose == ({0} if expected else set())
        assert (int(frame.mask.sum()), int(frame.arrived.sum())) == ((28, 0) if expected else (32, 4))
        assert not scheduler._release([cluster], same_update=same_update)
    call = Frame(9, np.ones(32, np.bool_), (), entry=0)
    inner = Frame(9, np.ones(32, np.bool_), (call,))
    call.arrived[:4] = True
    assert not execute.release_arrived(ThreadGroup(cta, 0, 32, 5, ~call.arrived, (call, inner)), same_update=False)


def test_groups_of_neighbouring_ctas() -> None:
    """The first of the longest runs of CTAs whose threads are all at the same instruction."""
    launch = new_cluster((40, 1, 1), grid=(9, 1, 1))[0].launch
    wave = Wave(launch, [(x, 0, 0) for x in range(9)], 64)
    assert (wave_size(1024), wave_size(160), wave_size(128), wave_size(32)) == (2, 12, 16, 16)

    def runs(*pcs: int) -> list[int]:
        for cluster, pc in zip(wave.clusters, pcs, strict=True):
            cluster.ctas[0].groups[0].pc = pc
        found = wave.together()
        return [wave.clusters.index(part.cta.cluster) for part in found]

    assert runs(*[0] * 9) == [*range(9)] and runs(*range(9)) == []
    wide = WideGroup(wave, wave.together()[3:6] if runs(*[0] * 9) else [])
    assert (wide.first, wide.last, len(wide.mask), wide.banks[0].shape[-1]) == (192, 384, 192, 192)
    assert [wide.of_part(index) for index in range(3)] == [slice(first, first + 64) for first in (0, 64, 128)]
    assert wide.lanes.tolist() == [*range(64)] * 3 and int(wide.existing.sum()) == int(wide.alive.sum()) == 120
    sides = wide.sides
    assert sides is not None and sides.bases.tolist() == np.repeat([wave.bytes * n for n in (3, 4, 5)], 64).tolist()
    assert runs(0, 0, 1, 1, 1, 2, 1, 0, 0) == [2, 3, 4] and runs(0, 1, 1, 2, 2, 3, 4, 4, 5) == [1, 2]
    cta = wave.clusters[4].ctas[0]
    (group,) = cta.groups
    frame = Frame(9, group.mask, ())
    mask = group.mask
    runs(*[0] * 9)

    def change(what: str) -> None:
        group.frames, group.timed_out, group.mask, cta.groups = (), False, mask, [group]
        group.wait = {"waits": waiting(), "may time out": waiting(ready=True, may_time_out=True),
                      "ready": waiting(ready=True)}.get(what)  # fmt: skip
        cta.loose.clear()
        match what:
            case "frames":
                group.frames = (frame,)
            case "timed out":
                group.timed_out = True
            case "mask":
                group.mask = mask_of(1, 2, count=64)
            case "two":
                cta.groups = [group, group]
            case "none":
                cta.groups = []
            case "loose":
                cta.loose.add(0)
            case _:
                pass

    for what in ("frames", "timed out", "mask", "two", "none", "loose", "waits", "may time out"):
        change(what)
        assert [wave.clusters.index(part.cta.cluster) for part in wave.together()] == [0, 1, 2, 3], what
    for what in ("ready", ""):
        change(what)
        assert runs(*[7] * 9) == [*range(9)]


@pytest.mark.parametrize("options", [{}, {"observer": Observer()}])
def test_instructions_are_counted(options: dict[str, Any]) -> None:
    """Three instructions of each of 5 CTAs, side by side or one after another."""
    text = _HEAD + _PLAIN.replace("WORK", _STORE)
    for most in (15, 14):
        if most == 15:
            run(text, "k", 5, 64, [np.zeros(1, np.int32)], max_instructions=most, **options)
            continue
        with pytest.raises(SimError, match="more than 14 warp instructions"):
            run(text, "k", 5, 64, [np.zeros(1, np.int32)], max_instructions=most, **options)


def test_parts_of_a_warp_go_on_together() -> None:
    cluster, _ = new_cluster()
    cta, scheduler = cluster.ctas[0], _scheduler(cluster)
    cta.groups = [new_group(cta, pc=2, lanes=slice(0, 16)), new_group(cta, pc=2, lanes=slice(16, 32))]
    assert (scheduler._turn_together(), scheduler._turn(cluster), cta.groups) == (0, 1, [])


def test_asynchronous_operations_end() -> None:
    """All of them, in their order; with a seed some later, unless nothing else happens."""
    for seed, ran, delay, ended in ((None, 5, 1.0, [1, 2]), (1, 5, 1.0, []), (1, 0, 1.0, [1, 2]), (1, 5, 0.0, [1, 2])):
        cluster, _ = new_cluster(seed=seed)
        cluster.launch.delay = delay
        found: list[int] = []
        for number in (1, 2):
            cluster.after(lambda number=number, found=found: found.append(number))
        _scheduler(cluster)._fire_events([cluster], ran)
        assert (found, cluster.launch.progress) == (ended, len(ended))


class _Script:
    """A scheduler whose turns execute 5 instructions without effect; it answers as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, quiet: int, *, idle: bool, progress: int | None = None):
        self.cluster, _ = new_cluster()
        self.scheduler, self.turns, self.log = _scheduler(self.cluster), 0, list[str]()
        self._progress = progress
        self.ran = 5
        if idle:
            self.cluster.ctas[0].groups[0].wait = waiting()
        monkeypatch.setattr(schedule, "_QUIET_INSTRUCTIONS", quiet)
        monkeypatch.setattr(schedule, "_repeats", self._repeats)
        for name, method in (("_turn", self._turn), ("_release", self._release), ("_time_out", self._time_out)):
            monkeypatch.setattr(self.scheduler, name, method)

    def _turn(self, cluster: Cluster) -> int:
        self.turns += 1
        if self.turns == self._progress:
            cluster.launch.made_progress()
        return self.ran

    def _repeats(self, running: list[Cluster], seen: set[tuple[object, ...]]) -> bool:
        seen.add((self.turns,))
        self.log.append(f"{self.turns}: {len(seen)} states")
        return len(seen) == 2

    def _release(self, running: list[Cluster], *, same_update: bool, waiting: bool = False) -> bool:
        how = " by update" if same_update else " of those that wait" if waiting else ""
        self.log.append(f"{self.turns}: release{how}")
        return self.turns == 4

    def _time_out(self, running: list[Cluster]) -> bool:
        self.log.append(f"{self.turns}: time out")
        return self.turns < 10


def test_loops_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn counts as 100 instructions at least; progress begins anew."""
    for quiet, progress, log in (
        (300, None, ["4: 1 states", "5: 2 states"]), (299, None, ["3: 1 states", "4: 2 states"]),
        (300, 5, ["4: 1 states", "9: 1 states", "10: 2 states"]),
        (299, 4, ["3: 1 states", "7: 1 states", "8: 2 states"]),
    ):  # fmt: skip
        script = _Script(monkeypatch, quiet, idle=False, progress=progress)
        assert script.scheduler._stalled([script.cluster]) and script.log == log
    script = _Script(monkeypatch, 400, idle=False)
    script.ran = 201
    assert script.scheduler._stalled([script.cluster]) and script.log == ["2: 1 states", "3: 2 states"]


def test_who_asks_may_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread asks six times for what never comes, and computes for long in between: only turns count."""
    work = """P: ld.volatile.global.u32 %r, [%d]; mov.u32 %n, 0;
L: add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 300; @%p bra L;
add.u32 %m, %m, 1; setp.lt.u32 %p, %m, 6; @%p bra P; st.volatile.global.u32 [%d], %m;"""
    text = _PLAIN.replace("{", "{ .reg .pred %p; .reg .b32 %n, %m; mov.u32 %m, 0;", 1).replace("WORK", work)
    found = np.zeros(1, np.int32)
    monkeypatch.setattr(schedule, "_QUIET_INSTRUCTIONS", 800)
    run(_HEAD + text, "k", 1, 32, [found])
    assert found == [6]
    monkeypatch.setattr(schedule, "_QUIET_INSTRUCTIONS", 100)
    with pytest.raises(SimError, match="deadlock"):
        run(_HEAD + text, "k", 1, 32, [np.zeros(1, np.int32)])


def test_groups_that_only_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes are released after some turns, then try_wait gives up, once; a patient scheduler waits longer."""
    script = _Script(monkeypatch, 10_000, idle=True)
    assert script.scheduler._stalled([script.cluster])
    releases = [f"{turn}: release by update" for turn in (4, 8, 9)]
    assert script.log == [releases[0], releases[1], "8: time out", releases[2]]
    script = _Script(monkeypatch, 10_000, idle=True, progress=9)
    assert script.scheduler._stalled([script.cluster])
    assert script.log == [*releases[:2], "8: time out", *(f"13: {what}" for what in ("release by update", "time out"))]
    script = _Script(monkeypatch, 1000, idle=True)
    assert script.scheduler._stalled([script.cluster], patient=True)
    assert script.log == [f"{turn}: release" for turn in (4, 8, 9, 10, 11)] and script.turns == 11
    script = _Script(monkeypatch, 1000, idle=True)
    script.ran = 0
    assert script.scheduler._stalled([script.cluster]) and script.log == ["1: time out"]
    script.log.clear()
    script.turns = 2
    assert script.scheduler._stalled([script.cluster], patient=True)
    assert script.log == ["3: time out", "4: release of those that wait", "5: release of those that wait"]
    script = _Script(monkeypatch, 10_000, idle=True)
    script.cluster.ctas[0].groups.clear()
    assert not script.scheduler._stalled([script.cluster]) and script.log == []
