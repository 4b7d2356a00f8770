"""The run of one thread group, instruction by instruction: what is done, told, counted and put off."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import mask_of, new_cluster, new_group, waiting

from tirx.sim import SimError, SimWarning
from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.execute import run_group
from tirx.sim.core.frames import Frame
from tirx.sim.core.types import Array, Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.errors import UndefinedError
from tirx.sim.program.code import Op, Program, Step


@dataclass
class _Work:
    """Work that a thread group has put off."""

    rows: frozenset[int]
    log: list[str]

    def finish(self, group: ThreadGroup) -> None:
        self.log.append(f"work at {group.pc}")


@dataclass
class _Run:
    """
    A block of so many threads whose instructions are `ops`, at lines 10, 11, ...

    `log` says what happens: `tick`, `see 3` and `undone 3` of the observer, `do 3` of a step, by instructions.
    """

    threads: int = 32
    log: list[str] = field(default_factory=list[str])
    warnings: list[SimWarning] = field(default_factory=list[SimWarning])

    def __post_init__(self) -> None:
        cluster, recorder = new_cluster((self.threads, 1, 1))
        self.launch, self.cta = cluster.launch, cluster.ctas[0]
        self.launch._report = self.warnings.append
        recorder.tick = lambda line=0: self.log.append("tick")
        program = self.launch.program
        assert isinstance(program, Program)
        self.program = program
        program.code.clear()
        self.group = new_group(self.cta, 0, self.threads)
        self.cta.groups = [self.group]

    def add(self, *outcomes: Outcome | SimError | None, opcode: str = "add.u32", **options: Any) -> None:
        """An instruction whose step has one outcome after another; the last one stays."""
        number, left = len(self.program.code), list(outcomes) or [None]

        def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
            self.log.append(f"do {number}" + ("" if mask.all() else f" {np.flatnonzero(mask).tolist()}"))
            found = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(found, SimError):
                raise found
            return found

        self.append(step, opcode, **options)

    def append(self, step: Step, opcode: str = "add.u32", **options: Any) -> None:
        number = len(self.program.code)
        self.program.code.append(Op(opcode, 10 + number, f"op {number};", step, **options))

    def run(self, limit: int = 100, observed: bool = True, watches: bool = False) -> int:
        def see(group: ThreadGroup, op: Op) -> None:
            self.log.append(f"see {op.line - 10}")

        def undone(group: ThreadGroup, op: Op) -> None:
            self.log.append(f"undone {op.line - 10}")

        def watch_all() -> bool:
            self.log.append("watch")
            return watches

        own = (see, undone) if observed else (None, None)
        return run_group(self.group, self.program, limit, *own, watch_all)


def test_limits() -> None:
    for limit in (1, 2, 3):
        run = _Run()
        for _ in range(5):
            run.add()
        for count in (1, 2):
            assert run.run(limit, observed=False) == limit and run.group.defers
            assert (run.group.pc, run.launch.executed) == ((limit, limit) if count == 1 else (2 * limit, 2 * limit))
            if limit == 3:
                break
        assert run.log == [each for n in range(run.group.pc) for each in ("tick", f"do {n}")]
    assert run.run(1) == 1 and not run.group.defers and run.log[-3:] == ["tick", "see 3", "do 3"]


@together(
    ("outcome", "threads", "pc", "log"),
    [
        (Outcome.WAIT, 32, 2, []),
        (Outcome.YIELD, 32, 2, []),
        (Outcome.RETRY, 32, 1, ["undone 1"]),
        (Outcome.SPLIT, 64, 1, ["undone 1"]),
        (Outcome.SPLIT_WARPGROUPS, 160, 1, ["undone 1"]),
    ],
)
def test_outcomes(outcome: Outcome, threads: int, pc: int, log: list[str]) -> None:
    """Outcomes that end a turn count; it starts again if it was not done."""
    run = _Run(threads)
    run.add()
    run.add(outcome)
    run.add()
    run.group.deferred = _Work(frozenset((4,)), run.log)
    for op in run.program.code:
        op.rows = frozenset((3,))
    assert (run.run(), run.launch.executed, run.group.pc) == (2, 2, pc)
    assert run.log == ["tick", "see 0", "do 0", "tick", "see 1", "do 1", f"work at {pc}", *log]
    assert [each.pc for each in run.cta.groups] == [pc] * {64: 2, 160: 2}.get(threads, 1)


def test_waits() -> None:
    """A group waits before its first instruction; the only one of a block goes on at once where it need not."""
    for ready, timed_out in ((False, False), (True, False), (False, True)):
        run = _Run()
        run.add()
        run.group.wait, run.group.timed_out = waiting(ready=ready), timed_out
        runs = ready or timed_out
        assert (run.run(1), run.group.wait is None, run.group.pc) == (runs, runs, runs)
        assert run.log == (["tick", "see 0", "do 0"] if runs else []) and run.launch.executed == runs
    for ready in (False, True):
        run = _Run()

        def step(group: ThreadGroup, mask: Mask, ready: bool = ready) -> Outcome:
            group.wait = waiting(ready=ready)
            return Outcome.WAIT

        run.append(step)
        run.add()
        assert run.run(2) == 1 + ready and (run.group.wait is None) is ready


@together(
    ("rows", "log"),
    [
        ((frozenset((1,)), frozenset((2, 5))), ["do 0", "do 1", "work at 2"]),
        ((frozenset((1,)), frozenset((2, 4))), ["do 0", "work at 1", "do 1"]),
        ((frozenset((3, 4)), frozenset((4,))), ["work at 0", "do 0", "do 1"]),
        ((frozenset[int](), None), ["do 0", "work at 1", "do 1"]),
        ((None, None), ["work at 0", "do 0", "do 1"]),
    ],
)
def test_deferred_work(rows: tuple[frozenset[int] | None, ...], log: list[str]) -> None:
    """It is done before an instruction that touches its registers, and at the end of a turn."""
    run = _Run()
    for each in rows:
        run.add(rows=each)
    run.group.deferred = _Work(frozenset((4, 6)), run.log)
    assert run.run(2, observed=False) == 2
    assert [each for each in run.log if each != "tick"] == log and run.group.deferred is None


def test_guards() -> None:
    """Steps get the lanes that are left; without any, the instruction is not executed, but counts."""

    def guard(lanes: Mask) -> Callable[[ThreadGroup, Mask], Array]:
        return lambda group, mask: lanes & mask

    every = np.ones(32, np.bool_)
    run = _Run()
    for lanes, negated in ((mask_of(3, 5), False), (mask_of(*range(2, 32)), True), (every, True), (every, False)):
        run.add(guard=guard(lanes), negated=negated)
    assert run.run(4, observed=False) == 4 and run.group.pc == 4
    assert [each for each in run.log if each != "tick"] == ["do 0 [3, 5]", "do 1 [0, 1]", "do 3"]
    assert run.log.count("tick") == 4


def test_frames() -> None:
    """A group stops where its innermost frame's lanes meet; that counts as an instruction of the turn."""
    every, some = np.ones(32, np.bool_), mask_of(0, 1)
    for pcs, entries, stops in (
        ((2,), (None,), True), ((2,), (7,), False), ((9, 2), (None, None), True), ((2, 9), (None, None), False),
        ((2, 2), (7, None), True), ((2, 2), (None, 7), False), ((3, 2), (7, None), True), ((2, 3), (None, 7), False),
    ):  # fmt: skip
        run = _Run()
        for _ in range(3):
            run.add()
        run.group.frames = frames = tuple(Frame(pc, every, (), entry) for pc, entry in zip(pcs, entries, strict=True))
        run.group.mask, run.group.deferred = some, _Work(frozenset((4,)), run.log)
        for op in run.program.code:
            op.rows = frozenset()
        assert run.run(3, observed=False) == 3
        assert run.launch.executed == (2 if stops else 3) and run.log[-1] == f"work at {2 if stops else 3}"
        assert [each.pc for each in run.cta.groups] == ([] if stops else [3])
        assert np.flatnonzero(frames[-1].arrived).tolist() == ([0, 1] if stops else [])


def test_notes_and_errors() -> None:
    run = _Run(64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        run.launch.note("rule", "text")

    def guard(group: ThreadGroup, mask: Mask) -> Array:
        return mask_of(2, count=64)

    run.append(step, guard=guard)
    run.add(SimError("why"))
    with pytest.raises(SimError) as caught:
        run.run(3)
    error = caught.value
    assert (error.line, error.text, error.where) == (11, "op 1;", "warps 0-1 (threads 0-63), CTA (0, 0, 0)")
    assert run.warnings == [SimWarning("rule", "text", 10, "op 0;", "warps 0-1 (thread 2), CTA (0, 0, 0)")]
    assert run.launch.notes == [] and run.launch.executed == 2 and run.log[-1] == "do 1"


@pytest.mark.parametrize("watches", [False, True])
def test_undefined_values(watches: bool) -> None:
    """The instruction starts again when all registers are watched; if they are, that is the error."""
    run = _Run()
    run.add()
    run.add(UndefinedError("why"), None)
    for op in run.program.code:
        op.rows = frozenset()
    run.group.deferred = _Work(frozenset((4,)), run.log)
    steps = ["tick", "see 0", "do 0", "tick", "see 1", "do 1", "watch"]
    if watches:
        assert run.run(2, watches=True) == 2 and run.group.pc == 1
        assert run.log == [*steps, "work at 1", "undone 1"] and run.group.deferred is None
        run.log.clear()
        assert run.run(1) == 1 and run.group.pc == 2 and run.log == ["tick", "see 1", "do 1"]
    else:
        with pytest.raises(UndefinedError) as caught:
            run.run(2)
        assert str(caught.value).startswith("PTX line 11: why\n    op 1;\n    in warp 0 (threads 0-31), CTA (0, 0, 0)")
        assert run.log == steps
    assert run.launch.executed == (3 if watches else 2)


@pytest.mark.parametrize(("opcode", "met"), [("shfl.sync.bfly.b32", True), ("add.u32", False)])
def test_lanes_that_took_different_ways(opcode: str, met: bool) -> None:
    run = _Run()
    run.add(opcode=opcode)
    run.cta.diverged = {0: 0}
    run.run(1)
    assert (run.cta.diverged == {}) is met
