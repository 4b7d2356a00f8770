"""Branches, calls and instructions of whole warps: groups that split, join, wait and go on."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from unit.sim.machine import mask_of, message_of, new_cluster, new_group, waiting

from tirx.sim import SimError, run
from tirx.sim.core import execute
from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.frames import Frame
from tirx.sim.core.types import Array, Mask, bits_type
from tirx.sim.core.wait import Outcome
from tirx.sim.program.code import Branch, Call, Exit, IndirectCall, Op, Program, Return, SavedSpans, TableBranch

_HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def _executed(
    control: Branch | TableBranch | Call | IndirectCall | Exit | Return, mask: Mask, group: ThreadGroup
) -> Outcome | None:
    cluster = group.cta.cluster
    group.cta.groups = [group]
    program = cluster.launch.program
    assert isinstance(program, Program)
    return execute.execute(group, program, Op("bra", 1, "bra X;", control=control), mask)


_Groups: TypeAlias = list[tuple[int, list[int], list[int]]]
_Found: TypeAlias = tuple[Outcome | None, int, _Groups]


def _groups(cta: Cta) -> _Groups:
    """Of each group: the instruction, the lanes, and where its frames meet."""
    return [(g.pc, (g.first + np.flatnonzero(g.mask)).tolist(), [f.pc for f in g.frames]) for g in cta.groups]


def test_branches() -> None:
    cta = new_cluster((96, 1, 1))[0].ctas[0]
    every = list(range(32))
    branch = Branch(20, 30)
    for mask, pc in ((mask_of(*every), 20), (mask_of(), 6)):
        assert _executed(branch, mask, new_group(cta, 0, 32, 5)) is None
        assert _groups(cta) == [(pc, every, [])]
    cases: list[tuple[list[int], list[int]]] = [([], [30]), ([30], [30]), ([31], [31, 30])]
    for pcs, expected in cases:
        group = new_group(cta, 0, 32, 5)
        for pc in pcs:
            group.frames += (Frame(pc, group.mask, ()),)
        assert _executed(branch, mask_of(3, 4), group) is Outcome.YIELD
        assert _groups(cta) == [(6, [0, 1, 2, *range(5, 32)], expected), (20, [3, 4], expected)]
        assert cta.diverged.pop(0) == 5
    group = new_group(cta, 0, 32, 5)
    group.frames = (Frame(30, group.mask, (), entry=7),)
    _executed(branch, mask_of(3), group)
    assert [each[2] for each in _groups(cta)] == [[30, 30]] * 2
    _executed(Branch(20, None), mask_of(3), new_group(cta, 0, 32, 5))
    assert [each[2] for each in _groups(cta)] == [[], []]


def test_table_branches() -> None:
    cta = new_cluster((64, 1, 1))[0].ctas[0]

    def table(index: Array) -> TableBranch:
        return TableBranch(lambda group, mask: index, (20, 21, 22), 30)

    every = list(range(32))
    indices = np.arange(32) % 3
    assert _executed(table(indices), mask_of(), new_group(cta, 0, 32, 5)) is None and _groups(cta) == [(6, every, [])]
    same = np.full(32, 2)
    assert _executed(table(same), mask_of(*every), new_group(cta, 0, 32, 5)) is None and _groups(cta) == [
        (22, every, [])
    ]
    assert _executed(table(indices), mask_of(0, 2, 3, 4), new_group(cta, 0, 32, 5)) is Outcome.YIELD
    rest = [1, *range(5, 32)]
    assert _groups(cta) == [(20, [0, 3], [30]), (21, [4], [30]), (22, [2], [30]), (6, rest, [30])]
    assert message_of(lambda: _executed(table(np.full(32, 3)), mask_of(1), new_group(cta, 0, 32, 5))) == (
        "expected an index below 3, the number of targets, found 3"
    )
    both = new_group(cta, 0, 64, 5)
    assert _executed(table(np.arange(64) // 32), mask_of(*range(64), count=64), both) is Outcome.RETRY
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
        group.wait = waiting(ready=ready)
        assert execute.goes_on(group) is expected and (group.wait is None) is expected


def test_lanes_that_meet_before_aligned_instructions() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    aligned, meeting, other = (
        Op(opcode, 9, "") for opcode in ("mma.sync.aligned.m16n8k8", "shfl.sync.bfly.b32", "add.u32")
    )
    everybody, nobody, some = np.ones(32, np.bool_), np.zeros(32, np.bool_), mask_of(1, 2)
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
        mask = mask_of(*lanes, count=last)
        found = execute.execute(group, program, Op(opcode, 1, "", step, guard=guard), mask)
        assert found is (Outcome.RETRY if splits else None) and (len(cta.groups) > 1) is splits
        assert executed == ([] if splits or not lanes else [len(lanes)]) and group.pc == (5 if splits else 6)
    unguarded = new_group(cta, 0, 96, 5)
    assert execute.execute(unguarded, program, Op("bar.sync", 1, "", step), mask_of(5, count=96)) is None


def test_lanes_that_went_on_alone_wait_at_aligned_instructions() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    some, rest = new_group(cta, 32, 64, 5, lanes=slice(0, 4)), new_group(cta, 32, 64, 4, lanes=slice(4, 32))
    both = new_group(cta, 0, 64, 5)
    op = Op("mma.sync.aligned", 1, "", lambda group, mask: None)
    assert execute.execute(some, program, op, some.mask) is None and some.pc == 6  # nobody went on alone
    some.pc = both.pc = 5
    cta.loose = {0}  # neither of several warps, nor of another one
    for group in (both, some):
        mask = some.mask if group is some else some.mask.repeat(2)
        assert execute.execute(group, program, op, mask) is None and cta.loose == {0} and group.wait is None
    some.pc = both.pc = 5
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


def test_guarded_calls_and_exits() -> None:
    """All, none or some of the lanes of one warp or two."""
    cta = new_cluster((64, 1, 1))[0].ctas[0]
    stepped: list[int] = []

    def step(group: ThreadGroup, mask: Mask) -> None:
        stepped.append(int(mask.sum()))

    every, both, rest = [*range(32)], [*range(64)], [*range(2, 32)]
    call, runtime = Call(20, (step,), ()), Call(None, (step, step), ())
    nobody: _Found = None, 0, [(6, every, [])]
    cases: list[tuple[Call | Exit | Return, int, list[int], _Found]] = [
        (call, 32, [], nobody), (runtime, 32, [], nobody), (Exit(), 32, [], nobody), (Return(), 32, [], nobody),
        (call, 32, every, (None, 1, [(20, every, [5])])),
        (call, 32, [0, 1], (Outcome.YIELD, 0, [(6, rest, [6]), (5, [0, 1], [6])])),
        (call, 64, every, (Outcome.RETRY, 0, [(5, every, []), (5, [*range(32, 64)], [])])),
        (runtime, 32, [0, 1], (None, 2, [(6, every, [])])), (runtime, 64, [40], (None, 2, [(6, both, [])])),
        (Exit(), 32, [0, 1], (None, 0, [(6, rest, [])])), (Return(), 32, [0, 1], (None, 0, [(6, rest, [])])),
        (Exit(), 64, [40], (Outcome.RETRY, 0, [(5, every, []), (5, [*range(32, 64)], [])])),
        (Exit(), 64, both, (Outcome.YIELD, 0, [])), (Return(), 32, every, (Outcome.YIELD, 0, [])),
    ]  # fmt: skip
    for control, last, lanes, expected in cases:
        cta.alive[:] = True
        stepped.clear()
        mask = mask_of(*lanes, count=last)
        found = _executed(control, mask, new_group(cta, 0, last, 5))
        assert (found, len(stepped), _groups(cta)) == expected
        assert stepped == [len(lanes)] * expected[1]
        gone = lanes if not isinstance(control, Call) and found is not Outcome.RETRY else []
        assert np.flatnonzero(~cta.alive).tolist() == gone


def test_guarded_returns() -> None:
    """Lanes that return wait for the others; the last ones, also by their exit, let all that are left go on."""
    cluster, _ = new_cluster((64, 1, 1))
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    done: list[list[int]] = []

    def after(group: ThreadGroup, mask: Mask) -> None:
        done.append(np.flatnonzero(mask).tolist())

    call = Call(20, (), (after,))
    program.code[2:3] = [Op("call", 1, "call f;", control=call)]
    some, rest, every = [0, 1, 7], [n for n in range(32) if n not in (0, 1, 7)], [*range(32)]
    for last in (32, 64):
        done.clear()
        group = new_group(cta, 0, last, 2)
        assert _executed(call, group.mask, group) is None and _groups(cta) == [(20, [*range(last)], [2])]
        assert _executed(Return(), mask_of(count=last), group) is None and group.pc == 21
        if last == 64:
            assert _executed(Return(), mask_of(*every, count=64), group) is Outcome.RETRY
            assert _groups(cta) == [(21, every, [2]), (21, [*range(32, 64)], [2])]
            assert _executed(Return(), np.ones(32, np.bool_), cta.groups[1]) is Outcome.YIELD
            assert _groups(cta) == [(3, [*range(32, 64)], [])] and done == [every]
            continue
        assert _executed(Return(), mask_of(*some), group) is Outcome.YIELD
        assert _groups(cta) == [(22, rest, [2]), (21, some, [2])] and cta.diverged.pop(0) == 21
        others, own = cta.groups
        assert _executed(Return(), own.mask, own) is Outcome.YIELD and _groups(cta) == [] and not done
        assert _executed(Return(), mask_of(), others) is None and others.pc == 23
        assert _executed(Exit(), mask_of(*rest[:3]), others) is None and _groups(cta) == [(24, rest[3:], [2])]
        assert not done
        assert _executed(Exit(), others.mask, others) is Outcome.YIELD
        assert _groups(cta) == [(3, some, [])] and done == [some]
        cta.alive[:] = True


def test_returns_from_inner_calls() -> None:
    """To the call that was made last, by address or not; it gets its stack, and a recursive one its registers back."""
    cluster, _ = new_cluster()
    cta, program = cluster.ctas[0], cluster.launch.program
    assert isinstance(program, Program)
    done: list[str] = []
    spans = SavedSpans((), ())

    def after(name: str) -> Callable[[ThreadGroup, Mask], None]:
        return lambda group, mask: done.append(f"{name} at {group.pc}")

    by_address = IndirectCall(
        lambda group, mask: np.full(32, 101),
        {100: Call(20, (), (after("first"),)), 101: Call(21, (), (after("second"),), spans)},
    )
    outer = Call(0, (), (after("outer"),))
    program.code[0], program.code[2] = (Op("call", 1, "call f;", control=each) for each in (by_address, outer))
    group = new_group(cta, pc=2)
    registers = group.banks[bits_type(32).bank]
    group.states[:], registers[:] = 1, np.arange(32)
    before = registers.copy()
    for control, stack in ((outer, 64), (by_address, 48)):
        cta.stack[:] = stack
        assert _executed(control, group.mask, group) is None
    assert _groups(cta) == [(21, [*range(32)], [2, 0])]
    cta.stack[:], group.states[:], registers[:] = 32, 2, 5
    for pc, frames, stack, log in ((1, [2], 48, "second at 0"), (3, [], 64, "outer at 2")):
        (group,) = cta.groups
        assert _executed(Return(), group.mask, group) is Outcome.YIELD
        assert _groups(cta) == [(pc, [*range(32)], frames)] and done.pop() == log and not done
        assert cta.stack.tolist() == [stack] * 32 and (cta.register_states == 1).all()
        assert np.array_equal(registers, before)


def test_exits_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    cta = new_cluster()[0].ctas[0]
    checked: list[list[int]] = []

    def check(group: ThreadGroup, mask: Mask) -> None:
        checked.append(np.flatnonzero(mask).tolist())

    monkeypatch.setattr(cta, "check_exit", check)
    group = new_group(cta, pc=5)
    for lanes in ([3, 4], [], [n for n in range(32) if n not in (3, 4)]):
        _executed(Exit(), mask_of(*lanes), group)
    assert checked == [[3, 4], [n for n in range(32) if n not in (3, 4)]]


def test_calls_by_several_addresses() -> None:
    """Threads that go elsewhere execute the call again; all meet behind it."""
    cta = new_cluster((64, 1, 1))[0].ctas[0]
    addresses = 100 + np.arange(64) % 3
    control = IndirectCall(
        lambda group, mask: addresses[: len(mask)], {100 + n: Call(20 + n, (), ()) for n in range(3)}
    )
    group = new_group(cta, 0, 32, 5)
    assert _executed(control, mask_of(), group) is None and _groups(cta) == [(6, [*range(32)], [])]
    for frames, expected in (
        ([], [6]), ([(6, None)], [6]), ([(8, None)], [8, 6]), ([(6, None), (9, None)], [6, 9, 6]),
        ([(6, 3)], [6, 6]), ([(6, 3), (6, None)], [6, 6]), ([(6, None), (6, 3)], [6, 6, 6]),
    ):  # fmt: skip
        group = new_group(cta, 0, 32, 5)
        group.frames = tuple(Frame(pc, group.mask, (), entry) for pc, entry in frames)
        assert _executed(control, group.mask, group) is None
        ours, others = _groups(cta)
        assert ours == (20, [*range(0, 32, 3)], [*expected, 5])
        assert others == (5, [each for each in range(32) if each % 3], expected)
    assert _executed(control, mask_of(*range(64), count=64), new_group(cta, 0, 64, 5)) is Outcome.RETRY
    assert [(each.first, each.last, each.pc) for each in cta.groups] == [(0, 32, 5), (32, 64, 5)]
    addresses[:] = 101
    group = new_group(cta, 0, 64, 5)
    assert _executed(control, group.mask, group) is None and _groups(cta) == [(21, [*range(64)], [5])]
    addresses[7] = 103
    assert message_of(lambda: _executed(control, mask_of(6, 7), new_group(cta, 0, 32, 5))) == (
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
