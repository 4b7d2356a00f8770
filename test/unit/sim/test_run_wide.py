"""The run of three CTAs side by side: what is done once for all of them, what for each, and where they part."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import new_cluster, waiting

from tirx.sim import SimError, SimWarning
from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.execute_wide import _PATIENCE, run_wide
from tirx.sim.core.types import Array, Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.core.wave import Wave, WideGroup
from tirx.sim.errors import UndefinedError
from tirx.sim.program.code import Branch, Exit, Op, Program


@dataclass
class _Work:
    rows: frozenset[int]
    name: str
    log: list[str]

    def finish(self, group: ThreadGroup) -> None:
        self.log.append(f"work of {self.name}")


@dataclass
class _Run:
    """
    CTAs 1, 2 and 3 of 40 threads, whose instructions are at lines 10, 11, ...

    `log` has, by instructions, `all 3` of a step for all CTAs and `2 of 3` of one in CTA 2.
    """

    log: list[str] = field(default_factory=list[str])
    warnings: list[SimWarning] = field(default_factory=list[SimWarning])
    ticks: int = 0

    def __post_init__(self) -> None:
        self.launch = launch = new_cluster((40, 1, 1), grid=(5, 1, 1))[0].launch
        launch._report = self.warnings.append
        self.wave = Wave(launch, [(x, 0, 0) for x in range(4)], 64)
        self.wave.clusters[0].ctas[0].groups.clear()
        self.wide = WideGroup(self.wave, self.wave.together())
        self.parts = self.wide.parts
        assert isinstance(launch.program, Program)
        self.program = launch.program
        self.program.code.clear()
        for part in self.parts:
            part.cta.monitor.tick = self._tick

    def _tick(self, line: int = 0) -> None:
        self.ticks += 1

    def add(
        self, outcomes: dict[int, Outcome | SimError] | None = None, opcode: str = "add.u32", **options: Any
    ) -> None:
        """An instruction; `outcomes` of its step by CTAs, 0 for all of them together. `guard`: by lanes of a CTA."""
        number, guard = len(self.program.code), options.pop("guard", None)

        def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
            cta = 0 if isinstance(group, WideGroup) else group.cta.index[0]
            missing = np.flatnonzero(group.existing & ~mask).tolist()
            name = f"{cta} of {number}" if cta else f"all {number}"
            self.log.append(name + (f" but {missing}" if missing else ""))
            found = (outcomes or {}).get(cta)
            if isinstance(found, SimError):
                raise found
            return found

        def holds(group: ThreadGroup, mask: Mask) -> Array:
            return guard[: len(mask)] & mask

        if guard is not None:
            options["guard"] = holds
        found: dict[str, Any] = {"step": step} | options
        self.program.code.append(Op(opcode, 10 + number, f"op {number};", **found))

    def run(self, limit: int = 100) -> int:
        return run_wide(self.wide, self.program, limit)

    @property
    def pcs(self) -> list[int]:
        return [part.pc for part in self.parts]


def _each(number: int) -> list[str]:
    return [f"{cta} of {number}" for cta in (1, 2, 3)]


def test_steps_for_all_and_for_each() -> None:
    for limit in (1, 2, 3):
        run = _Run()
        run.add(is_wide=True)
        run.add()
        run.add(is_wide=True)
        run.add({0: Outcome.RETRY}, is_wide=True)  # not for all at once
        for part in run.parts:
            part.wait = waiting(ready=True)
        assert (run.run(limit), run.launch.executed, run.ticks) == (3 * limit, 3 * limit, 3 * limit)
        assert run.log == ["all 0", *_each(1), "all 2"][: (1, 4, 5)[limit - 1]] and run.pcs == [limit] * 3
        assert all(part.wait is None and part.defers for part in run.parts) and run.wide.defers
    run.log.clear()
    run.wide.pc = 3
    assert run.run(1) == 3 and run.log == ["all 3", *_each(3)] and run.pcs == [4] * 3
    run = _Run()
    run.add({0: Outcome.YIELD}, is_wide=True)  # done, but others run first
    run.add()
    run.wide.is_all = False
    assert run.run() == 3 and run.log == ["all 0"] and run.pcs == [1] * 3
    run = _Run()
    run.add({0: Outcome.YIELD}, is_wide=True)  # nobody else has threads: for some time they go on
    run.add(step=None, control=Branch(0, None))
    assert run.run() == 3 * (2 * _PATIENCE - 1) and run.log == ["all 0"] * _PATIENCE and run.pcs == [1] * 3
    run = _Run()
    run.add({0: Outcome.RETRY}, is_wide=True, guard=np.arange(192) % 64 == 5)
    lanes = [lane for lane in range(40) if lane != 5]
    assert run.run(1) == 3 and run.log[1:] == [f"{name} but {lanes}" for name in _each(0)]
    run = _Run()
    run.launch.checks = False
    run.add()
    assert run.run(1) == 3 and run.ticks == 0


@together("is_wide", [False, True])
@together(
    ("outcomes", "pcs"),
    [
        ({2: Outcome.YIELD}, [2, 2, 2]),
        ({1: Outcome.RETRY}, [1, 2, 2]),
        ({3: Outcome.WAIT}, [2, 2, 2]),
        ({1: Outcome.RETRY, 3: Outcome.RETRY}, [1, 2, 1]),
        ({2: UndefinedError("why")}, [2, 1, 1]),
    ],
)
def test_ctas_that_part(is_wide: bool, outcomes: dict[int, Outcome | SimError], pcs: list[int]) -> None:
    """Each is where its own instruction has left it. One that meets undefined values executes it again."""
    run = _Run()
    run.add()
    run.add(({0: Outcome.RETRY} if is_wide else {}) | outcomes, is_wide=is_wide)
    run.add()
    if outcomes.get(3) is Outcome.WAIT:
        run.parts[2].wait = None
        run.program.code[1].step = _waits(run)
    assert (run.run(), run.pcs) == (6, pcs)
    stops = isinstance(outcomes.get(2), UndefinedError)
    assert [each for each in run.log if "all" not in each] == [*_each(0), *_each(1)[: 2 if stops else 3]]


def _waits(run: _Run) -> Any:
    """CTA 3 has to wait for something, the others only seem to."""

    def step(group: ThreadGroup, mask: Mask) -> Outcome:
        if not isinstance(group, WideGroup):
            run.log.append(f"{group.cta.index[0]} of 1")
            group.wait = waiting(ready=group.cta.index[0] != 3)
        return Outcome.WAIT

    return step


def test_ctas_that_need_not_wait() -> None:
    """They go on together; one that lets others run first parts them, whatever it waits for."""
    for outcome, count in ((Outcome.WAIT, 3), (Outcome.YIELD, 1)):
        run = _Run()

        def step(group: ThreadGroup, mask: Mask, outcome: Outcome = outcome) -> Outcome:
            group.wait = waiting(ready=True)
            return outcome

        run.add(step=step)
        run.add()
        run.add()
        assert run.run(3) == 3 * count and run.pcs == [count] * 3
        assert all((part.wait is None) is (count == 3) for part in run.parts)


def test_guards_and_branches() -> None:
    """An instruction that a part of the lanes execute is for all CTAs at once, or the end."""
    every, some = np.ones(192, np.bool_), np.tile(np.arange(64) < 30, 3)
    missing = [each for n in range(3) for each in range(64 * n + 30, 64 * n + 40)]
    branch = {"step": None, "control": Branch(5, None)}
    cases: list[tuple[dict[str, Any], list[str], int]] = [
        ({"guard": every}, _each(0), 1), ({"guard": every, "negated": True}, [], 1), ({"guard": ~every}, [], 1),
        ({"guard": some}, [], 0), ({"guard": some, "is_wide": True}, [f"all 0 but {missing}"], 1),
        ({"guard": ~every, "is_wide": True}, [], 1), ({"guard": every, "is_wide": True}, ["all 0"], 1),
        (branch, [], 5), (branch | {"guard": every}, [], 5), (branch | {"guard": ~every}, [], 1),
        (branch | {"guard": some}, [], 0), ({"step": None, "control": Exit()}, [], 0),
    ]  # fmt: skip
    for options, log, pc in cases:
        run = _Run()
        run.add(**options)
        assert run.run(1) == (3 if pc else 0) and run.launch.executed == (3 if pc else 0)
        assert run.pcs == [pc] * 3 and run.log == log and run.ticks == 3


def test_errors() -> None:
    """One without a place is left to the CTA that it is about, which executes the instruction itself."""
    for error in (SimError("why"), UndefinedError("why", 7, "x;", "y")):
        run = _Run()
        run.add(is_wide=True)
        run.add({0: error}, is_wide=True)
        assert (run.run(), run.pcs, run.launch.executed) == (3, [1] * 3, 3)
    for error, text in (
        (SimError("why", 7, "x;"), "PTX line 7: why\n    x;"),
        (SimError("why", where="warp 0"), "PTX line 11: why\n    op 1;\n    in warp 0"),
    ):
        run = _Run()
        run.add(is_wide=True)
        run.add({0: error}, is_wide=True)
        with pytest.raises(SimError) as caught:
            run.run()
        assert str(caught.value) == text and run.launch.executed == 3
    run = _Run()
    run.add()
    run.add({2: SimError("why")})
    with pytest.raises(SimError) as caught:
        run.run()
    assert str(caught.value) == (
        "PTX line 11: why\n    op 1;\n    in warps 0-1 (threads 0-39), CTA (2, 0, 0)"
    ) and run.log == [*_each(0), "1 of 1", "2 of 1"]


def test_notes() -> None:
    """Of a step for all CTAs they name the first one, with its lanes."""
    lanes = np.arange(192) >= 2
    lanes[3:64] = False
    for is_wide in (False, True):
        run = _Run()
        options: dict[str, Any] = {"guard": lanes} if is_wide else {}
        run.add(is_wide=is_wide, **options)
        original = run.program.code[0].step
        assert original is not None

        def step(group: ThreadGroup, mask: Mask, run: _Run = run, original: Any = original) -> Outcome | None:
            run.launch.note("rule" if len(run.log) < 2 else "other", "text")
            return original(group, mask)

        run.program.code[0].step = step
        run.run(1)
        threads = "thread 2" if is_wide else "threads 0-39"
        where = [f"warps 0-1 ({threads}), CTA ({x}, 0, 0)" for x in (1, 3)]
        expected = [
            SimWarning(rule, "text", 10, "op 0;", at) for rule, at in zip(("rule", "other"), where, strict=True)
        ]
        assert run.warnings == expected[: 2 - is_wide] and run.launch.notes == []


@together(
    ("rows", "opcode", "is_wide", "before"),
    [
        ((3, 5), "add.u32", True, []), ((3, 5), "add.u32", False, []),
        ((3, 4), "add.u32", True, ["all", "2"]), ((3, 4), "add.u32", False, ["all", "2"]),
        (None, "add.u32", True, ["all", "2"]), (None, "add.u32", False, ["all", "2"]),
        ((3, 5), "wgmma.mma_async.sync", True, ["2"]), ((3, 5), "mma.sync", True, ["2"]),
        ((3, 5), "wgmma.mma_async.sync", False, ["all"]), ((3, 5), "mma.sync", False, ["all"]),
    ],
)  # fmt: skip
def test_deferred_work(rows: tuple[int, ...] | None, opcode: str, is_wide: bool, before: list[str]) -> None:
    """Of all CTAs, and of one of them: before an instruction that touches its registers, or at the end."""
    run = _Run()
    run.add(opcode=opcode, is_wide=is_wide, rows=None if rows is None else frozenset(rows))
    run.wide.deferred = _Work(frozenset((4, 6)), "all", run.log)
    run.parts[1].deferred = _Work(frozenset((4, 6)), "2", run.log)
    assert run.run(1) == 3
    steps = ["all 0"] if is_wide else _each(0)
    place = {name: run.log.index(f"work of {name}") for name in ("all", "2")}
    own = {"all": run.log.index(steps[0]), "2": run.log.index(steps[0] if is_wide else steps[1])}
    assert [name for name in place if place[name] < own[name]] == before
    assert [each for each in run.log if "work" not in each] == steps and len(run.log) == len(steps) + 2


def test_deferred_work_of_ctas_that_part() -> None:
    """A step that is not for all of them at once finds it done, and so does what runs the CTAs behind."""
    run = _Run()
    run.add({0: Outcome.RETRY, 2: Outcome.YIELD}, is_wide=True, rows=frozenset())
    run.wide.deferred = _Work(frozenset((4,)), "all", run.log)
    for part in run.parts:
        part.deferred = _Work(frozenset((4,)), str(part.cta.index[0]), run.log)
    assert run.run() == 3
    assert run.log == [
        "all 0", "work of all", "1 of 0", "2 of 0", "work of 2", "3 of 0", "work of 1", "work of 3",
    ]  # fmt: skip


@pytest.mark.parametrize(("opcode", "noted"), [("shfl.sync.bfly.b32", False), ("mma.sync.aligned", True)])
def test_lanes_that_took_different_ways(opcode: str, noted: bool) -> None:
    run = _Run()
    run.add(opcode=opcode, is_wide=True)
    cta = run.parts[1].cta
    cta.diverged = {1: 0}
    assert run.run(1) == 3
    assert [each.where for each in run.warnings] == ["warps 0-1 (threads 0-39), CTA (2, 0, 0)"] * noted
    assert cta.diverged == {} and all(not part.cta.diverged for part in run.parts)
