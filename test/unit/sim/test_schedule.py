"""Schedules by themselves: who runs side by side, who waits for whom, groups that split, join and go on."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from unit.sim.machine import message_of, new_cluster, new_group

from tirx.sim import Observer, SimError, run
from tirx.sim.core import execute, schedule
from tirx.sim.core.cta import Cluster, Cta, ThreadGroup
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.frames import Frame
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.types import Array, Mask
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.core.wave import Wave, WideGroup, wave_size
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.program.code import Branch, Call, IndirectCall, Op, Program, TableBranch

_HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def _scheduler(cluster: Cluster) -> schedule.Scheduler:
    program = cluster.launch.program
    assert isinstance(program, Program)
    options: dict[str, Any] = {"observer": None, "progress": None, "max_instructions": None, "max_resident": 8}
    return schedule.Scheduler(cluster.launch, program, **options)


def _waiting(*, ready: bool = False, may_time_out: bool = False, on: tuple[Mbarrier, ...] = ()) -> Wait:
    return Wait(lambda: ready, lambda: "waits", may_time_out, on)


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
        (_ATOMIC, {}, []),
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
    cta.groups[1].wait = _waiting()
    assert not scheduler._time_out([cluster])
    cta.groups[2].wait, cta.groups[3].wait = _waiting(may_time_out=True), _waiting(may_time_out=True)
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
    one.wait, two.wait = _waiting(on=(used,)), _waiting(on=(unused,))
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
        groups[0].wait = _waiting(ready=True, may_time_out=True)
        for each in groups[1:4]:
            each.wait = _waiting(ready=True)
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
        (lambda: setattr(other, "wait", _waiting()), False), (lambda: setattr(other, "wait", None), True),
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
    other.pc, other.wait = 99, _waiting()
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
        group.wait = _waiting()
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
        group.wait = {"waits": _waiting(), "may time out": _waiting(ready=True, may_time_out=True),
                      "ready": _waiting(ready=True)}.get(what)  # fmt: skip
        cta.loose.clear()
        match what:
            case "frames":
                group.frames = (frame,)
            case "timed out":
                group.timed_out = True
            case "mask":
                group.mask = _mask(1, 2, count=64)
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


# Branches


def _mask(*lanes: int, count: int = 32) -> Mask:
    return np.isin(np.arange(count), lanes)


def _executed(control: Branch | TableBranch | IndirectCall, mask: Mask, group: ThreadGroup) -> Outcome | None:
    cluster = group.cta.cluster
    group.cta.groups = [group]
    program = cluster.launch.program
    assert isinstance(program, Program)
    return execute.execute(group, program, Op("bra", 1, "bra X;", control=control), mask)


_Groups: TypeAlias = list[tuple[int, list[int], list[int]]]


def _groups(cta: Cta) -> _Groups:
    """Of each group: the instruction, the lanes, and where its frames meet."""
    return [(g.pc, (g.first + np.flatnonzero(g.mask)).tolist(), [f.pc for f in g.frames]) for g in cta.groups]


def test_branches() -> None:
    cta = new_cluster((96, 1, 1))[0].ctas[0]
    every = list(range(32))
    branch = Branch(20, 30)
    for mask, pc in ((_mask(*every), 20), (_mask(), 6)):
        assert _executed(branch, mask, new_group(cta, 0, 32, 5)) is None
        assert _groups(cta) == [(pc, every, [])]
    cases: list[tuple[list[int], list[int]]] = [([], [30]), ([30], [30]), ([31], [31, 30])]
    for pcs, expected in cases:
        group = new_group(cta, 0, 32, 5)
        for pc in pcs:
            group.frames += (Frame(pc, group.mask, ()),)
        assert _executed(branch, _mask(3, 4), group) is Outcome.YIELD
        assert _groups(cta) == [(6, [0, 1, 2, *range(5, 32)], expected), (20, [3, 4], expected)]
        assert cta.diverged.pop(0) == 5
    group = new_group(cta, 0, 32, 5)
    group.frames = (Frame(30, group.mask, (), entry=7),)
    _executed(branch, _mask(3), group)
    assert [each[2] for each in _groups(cta)] == [[30, 30]] * 2
    _executed(Branch(20, None), _mask(3), new_group(cta, 0, 32, 5))
    assert [each[2] for each in _groups(cta)] == [[], []]


def test_table_branches() -> None:
    cta = new_cluster((64, 1, 1))[0].ctas[0]

    def table(index: Array) -> TableBranch:
        return TableBranch(lambda group, mask: index, (20, 21, 22), 30)

    every = list(range(32))
    indices = np.arange(32) % 3
    assert _executed(table(indices), _mask(), new_group(cta, 0, 32, 5)) is None and _groups(cta) == [(6, every, [])]
    same = np.full(32, 2)
    assert _executed(table(same), _mask(*every), new_group(cta, 0, 32, 5)) is None and _groups(cta) == [(22, every, [])]
    assert _executed(table(indices), _mask(0, 2, 3, 4), new_group(cta, 0, 32, 5)) is Outcome.YIELD
    rest = [1, *range(5, 32)]
    assert _groups(cta) == [(20, [0, 3], [30]), (21, [4], [30]), (22, [2], [30]), (6, rest, [30])]
    assert message_of(lambda: _executed(table(np.full(32, 3)), _mask(1), new_group(cta, 0, 32, 5))) == (
        "expected an index below 3, the number of targets, found 3"
    )
    both = new_group(cta, 0, 64, 5)
    assert _executed(table(np.arange(64) // 32), _mask(*range(64), count=64), both) is Outcome.RETRY
    assert _groups(cta) == [(5, every, []), (5, [*range(32, 64)], [])]


def test_split_groups() -> None:
    """Neighbouring warps stay together if a branch takes all or none of them."""
    cta = new_cluster((320, 1, 1))[0].ctas[0]
    group = new_group(cta, 0, 320, 5)
    taken = np.zeros(320, np.bool_)
    taken[64:128] = taken[128:130] = taken[160:170] = taken[192:256] = True
    assert _executed(Branch(20, 30), taken, group) is Outcome.RETRY
    assert [(each.first, each.last) for each in cta.groups] == [
        (0, 64), (64, 128), (128, 160), (160, 192), (192, 256), (256, 320),
    ]  # fmt: skip
    for split, first, last, expected in (
        (execute._split_into_warpgroups, 32, 320, [32, 64, 96, 128, 256, 288, 320]),
        (execute._split_into_warpgroups, 0, 256, [0, 128, 256]),
        (execute._split_into_warps, 64, 160, [64, 96, 128, 160]),
    ):
        group = new_group(cta, first, last, 5)
        group.mask[::3] = False
        group.timed_out = True
        cta.groups = [group]
        assert split(group) is Outcome.RETRY
        assert [(each.first, each.last) for each in cta.groups] == list(zip(expected, expected[1:], strict=False))
        assert np.array_equal(np.concatenate([each.mask for each in cta.groups]), group.mask)
        assert all(each.timed_out and each.pc == 5 for each in cta.groups)


def test_who_goes_on_at_once() -> None:
    cta = new_cluster((64, 1, 1))[0].ctas[0]
    for groups, ready, expected in ((1, True, True), (1, False, False), (2, True, False)):
        cta.groups = [new_group(cta, first, first + 32) for first in (0, 32)[:groups]]
        group = cta.groups[0]
        group.wait = _waiting(ready=ready)
        assert execute.goes_on(group) is expected and (group.wait is None) is expected


def test_lanes_that_meet_before_aligned_instructions() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    aligned, meeting, other = (
        Op(opcode, 9, "") for opcode in ("mma.sync.aligned.m16n8k8", "shfl.sync.bfly.b32", "add.u32")
    )
    everybody, nobody, some = np.ones(32, np.bool_), np.zeros(32, np.bool_), _mask(1, 2)
    for op, mask, stays, noted in (
        (other, everybody, True, False), (aligned, nobody, True, False), (aligned, some, True, False),
        (aligned, everybody, False, True), (meeting, some, True, False), (meeting, everybody, False, False),
    ):  # fmt: skip
        cluster.launch.notes.clear()
        cluster.launch._reported.clear()
        cta.diverged = {1: 0}
        execute.check_converged(new_group(cta, 0, 32), program, op, mask)
        assert (cta.diverged, cluster.launch.notes) == ({1: 0}, [])
        execute.check_converged(new_group(cta, 32, 64), program, op, mask)
        assert (cta.diverged == {1: 0}) is stays and bool(cluster.launch.notes) is noted
    execute.check_converged(new_group(cta, 0, 64), program, meeting, np.ones(64, np.bool_))
    message = (
        "mma.sync.aligned.m16n8k8 is .aligned, but the lanes of the warp took different ways at line 6: expected "
        "bar.warp.sync behind that"
    )
    cta.diverged = {0: 0, 1: 0}
    execute.check_converged(new_group(cta, 0, 64), program, aligned, np.ones(64, np.bool_))
    assert cluster.launch.notes == [("bar.warp.sync", message)] and cta.diverged == {1: 0}
    cluster.launch.checks = False
    execute.check_converged(new_group(cta, 32, 64), program, aligned, everybody)
    assert cta.diverged == {1: 0}


def test_guarded_aligned_instructions() -> None:
    """Warps that execute them and those that do not go on by themselves; so do warps with a part of their lanes."""
    cta = new_cluster((96, 1, 1))[0].ctas[0]
    program = cta.launch.program
    assert isinstance(program, Program)
    executed: list[int] = []

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        executed.append(int(mask.sum()))
        return None

    def guard(group: ThreadGroup, mask: Mask) -> Array:
        return mask

    every, nobody, second = list(range(96)), list[int](), list(range(32, 64))
    for opcode, last, lanes, splits in (
        ("bar.sync", 96, second, True), ("x.aligned", 96, [5], True), ("add.u32", 96, second, False),
        ("bar.sync", 96, every, False), ("bar.sync", 96, nobody, False), ("bar.sync", 32, [5], False),
        ("bar.sync", 64, [5], True),
    ):  # fmt: skip
        executed.clear()
        group = new_group(cta, 0, last, 5)
        cta.groups = [group]
        mask = _mask(*lanes, count=last)
        found = execute.execute(group, program, Op(opcode, 1, "", step, guard=guard), mask)
        assert found is (Outcome.RETRY if splits else None) and (len(cta.groups) > 1) is splits
        assert executed == ([] if splits or not lanes else [len(lanes)]) and group.pc == (5 if splits else 6)
    unguarded = new_group(cta, 0, 96, 5)
    assert execute.execute(unguarded, program, Op("bar.sync", 1, "", step), _mask(5, count=96)) is None


def test_lanes_that_went_on_alone_wait_at_aligned_instructions() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    some, rest = new_group(cta, 32, 64, 5, lanes=slice(0, 4)), new_group(cta, 32, 64, 4, lanes=slice(4, 32))
    both = new_group(cta, 0, 64, 5)
    op = Op("mma.sync.aligned", 1, "", lambda group, mask: None)
    assert execute.execute(some, program, op, some.mask) is None and some.pc == 6  # nobody went on alone
    some.pc = 5
    cta.loose, cta.groups = {1}, [both, some, rest]
    assert execute.execute(both, program, op, some.mask.repeat(2)) is None and cta.loose == {1}
    assert execute.execute(some, program, op, some.mask) is Outcome.RETRY and some.pc == 5 and cta.loose == {1}
    wait = some.wait
    assert wait is not None and wait.reason() == "at an aligned instruction, for the other threads of the warp"
    cta.groups = [some, rest]
    assert not wait.ready()
    rest.pc = 5
    assert wait.ready()
    rest.first = 0
    assert not wait.ready()
    cta.alive[36:] = False
    assert wait.ready()
    assert execute.execute(some, program, op, some.mask) is None and cta.loose == set() and some.pc == 6


def test_calls_by_several_addresses() -> None:
    """Those that go elsewhere execute the call again; all meet behind it."""
    cta = new_cluster((64, 1, 1))[0].ctas[0]
    addresses = 100 + np.arange(64) % 3
    control = IndirectCall(
        lambda group, mask: addresses[: len(mask)], {100 + n: Call(20 + n, (), ()) for n in range(3)}
    )
    group = new_group(cta, 0, 32, 5)
    assert _executed(control, _mask(), group) is None and _groups(cta) == [(6, [*range(32)], [])]
    for pcs, entry, expected in (
        ([], None, [6]), ([6], None, [6]), ([8], None, [8, 6]), ([6, 9], None, [6, 9, 6]), ([6], 3, [6, 6]),
    ):  # fmt: skip
        group = new_group(cta, 0, 32, 5)
        group.frames = tuple(Frame(pc, group.mask, (), entry) for pc in pcs)
        assert _executed(control, group.mask, group) is None
        ours, others = _groups(cta)
        assert ours == (20, [*range(0, 32, 3)], [*expected, 5])
        assert others == (5, [each for each in range(32) if each % 3], expected)
    assert _executed(control, _mask(*range(64), count=64), new_group(cta, 0, 64, 5)) is Outcome.RETRY
    assert [(each.first, each.last, each.pc) for each in cta.groups] == [(0, 32, 5), (32, 64, 5)]
    addresses[:] = 101
    group = new_group(cta, 0, 64, 5)
    assert _executed(control, group.mask, group) is None and _groups(cta) == [(21, [*range(64)], [5])]
    addresses[7] = 103
    assert message_of(lambda: _executed(control, _mask(6, 7), new_group(cta, 0, 32, 5))) == (
        "expected the address of a function that the call may reach, found 0x67"
    )


def test_depth_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """.func f(.param .b32 n) {
  .reg .b32 %n; .reg .pred %p; ld.param.b32 %n, [n]; sub.u32 %n, %n, 1; setp.eq.u32 %p, %n, 0;
  @!%p call f, (%n); ret; }
.visible .entry k() { call f, (6); ret; }"""
    monkeypatch.setattr(execute, "_MAX_DEPTH", 5)
    run(_HEAD + text, "k", 1, 1, [])
    monkeypatch.setattr(execute, "_MAX_DEPTH", 4)
    with pytest.raises(SimError, match="^PTX line 6: more than 4 calls and branches inside of each other"):
        run(_HEAD + text, "k", 1, 1, [])
