"""Clusters in several processes compute what they compute in one, and find the same errors."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tirx.sim import SimError, SimWarning, TensorMap, jobs, run
from tirx.sim.core.launch import Launch
from tirx.sim.errors import HazardError, UndefinedError
from tirx.sim.program.code import Program
from tirx.sim.program.symbols import new_memories
from tirx.sim.setting import Setting

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
# Block i of 8 copies rows 2 i and 2 i + 1 with a bulk tensor copy and adds a variable; {more} is for mistakes.
_COPY = (
    _HEAD
    + """.global .u32 added = 7;
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 bad) {{
  .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>;
  .shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shl.b32 %r2, %r1, 1; ld.param.u32 %r9, [bad]; mov.u32 %r3, 0;
  ld.param.u64 %d0, [out]; mov.b64 %d1, map; cvta.param.u64 %d1, %d1; setp.eq.u32 %p0, %r0, 0;
  setp.ge.u32 %p2, %r1, %r9;
  @!%p0 bra WAIT;
  mbarrier.init.shared.b64 [bar], 1; {fence}
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {{%r3, %r2}}], [bar];
WAIT:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra AGAIN;
  shl.b32 %r4, %r0, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4; {more}
  ld.shared.u32 %r6, [%r5]; ld.global.u32 %r7, [added]; add.u32 %r6, %r6, %r7;
  mad.lo.u32 %r8, %r1, 64, %r0; mul.wide.u32 %d2, %r8, 4; add.u64 %d2, %d2, %d0; st.global.u32 [%d2], %r6;
  ret;
}}
"""
)
_FENCE = "fence.mbarrier_init.release.cluster;"
_RACE = "xor.b32 %r10, %r4, 128; mov.u32 %r11, s; add.u32 %r11, %r11, %r10; @%p2 st.shared.u32 [%r11], %r0;"


def _copied(more: str = "", bad: int = 99, fence: str = _FENCE, **options: object) -> np.ndarray:
    rows = np.arange(16 * 32, dtype=np.uint32).reshape(16, 32)
    out = np.zeros((16, 32), np.uint32)
    arguments = [TensorMap(rows, (32, 2), "none"), out, bad]
    run(_COPY.format(more=more, fence=fence), "copy", 8, 64, arguments, **options)  # type: ignore[arg-type]
    assert np.array_equal(rows, np.arange(16 * 32).reshape(16, 32))
    return out - rows


def test_results_and_progress() -> None:
    ended: list[tuple[int, int]] = []

    def progress(count: int, everything: int) -> None:
        ended.append((count, everything))

    held = np.array([9], np.uint32)
    assert (_copied(jobs=2, check="strict", variables={"added": held}, progress=progress) == 9).all()
    assert ended == [(4, 8), (8, 8)]


def test_each_process_runs_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of two processes, one after the other in this one."""
    written: list[list[bool]] = []

    def outcomes(place: Path, count: int, ended: Callable[[int], None]) -> list[jobs._Outcome]:
        for job in range(count):
            jobs.work(str(place), job)
            task = jobs._Task.read(place / "task")
            starts = [each.start for each in (*task.global_buffers, *task.const_buffers)]
            assert starts[0] == 0 and all(start % jobs._ALIGNMENT == 0 for start in starts)
            out = next(each for each in task.global_buffers if each.name == "argument out")
            found = np.fromfile(place / "memory", np.uint8)[out.start : out.start + out.size].view(np.uint32)
            written.append([bool(row.any()) for row in found.reshape(16, 32)])
            ended(job)
        return [jobs._Outcome.read(place / f"outcome{job}") for job in range(count)]

    monkeypatch.setattr(jobs, "_outcomes", outcomes)
    assert (_copied(jobs=3) == 7).all()
    assert written == [[row < end for row in range(16)] for end in (4, 10, 16)]


@pytest.mark.usefixtures("shares_in_turn")
def test_the_first_error_is_raised() -> None:
    with pytest.raises(SimError, match=r"data race(.|\n)*CTA \(5, 0, 0\)"):
        _copied(_RACE, 5, jobs=2, check="strict")


@pytest.mark.usefixtures("shares_in_turn")
def test_a_warning_is_reported_once() -> None:
    found: list[SimWarning] = []
    assert (_copied(jobs=2, fence="", report=found.append) == 7).all()
    assert [each.rule for each in found] == ["fence.mbarrier_init"]


_SUM = (
    _HEAD
    + """.visible .entry sum(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %d<2>;
  ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; atom.global.add.u32 %r1, [%d0], %r0; ret;
}
"""
)


def test_clusters_that_depend_on_each_other_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    out = np.zeros(1, np.uint32)
    run(_SUM, "sum", 6, 1, [out], jobs=4)
    assert out[0] == 15
    assert (_copied(jobs=4, seed=1) == 7).all()


def test_jobs_are_counted_from_one() -> None:
    with pytest.raises(SimError, match="expected 1 or more jobs, found 0"):
        _copied(jobs=0)


def test_a_process_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_COMMAND", "raise SystemExit('gone')")
    with pytest.raises(RuntimeError, match="process 0 of the simulator ended with 1: gone"):
        _copied(jobs=2)


class _Process:
    """A process that has ended."""

    made: ClassVar[list[_Process]] = []

    def __init__(self, command: list[str], env: dict[str, str], stderr: int):
        self.command, self.environment, self.returncode = command, env, 0
        self.log: list[str] = []
        self.made.append(self)

    def communicate(self) -> tuple[None, bytes]:
        self.log.append("waited for")
        return None, b""

    def kill(self) -> None:
        self.log.append("killed")

    def __enter__(self) -> None:
        self.log.append("entered")

    def __exit__(self, *_: object) -> None:
        self.log.append("left")


@pytest.mark.parametrize("failing", [0, 1, 2, 9])
def test_outcomes_are_read_until_one_has_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: int
) -> None:
    """All processes end; their outcomes survive being written."""
    monkeypatch.setattr(subprocess, "Popen", _Process)
    monkeypatch.setattr(_Process, "made", [])
    error, warning = HazardError("why", 7, "ret;", "warp 0"), SimWarning("rule", "text", 8, "bar.sync 0;", "warp 1")
    for job in range(4):
        jobs._Outcome(error if job >= failing else None, [warning] * job).write(tmp_path / f"outcome{job}")
    ended: list[int] = []
    found = jobs._outcomes(tmp_path, 4, ended.append)
    count = min(failing + 1, 4)
    assert ended == [*range(min(failing, 4))]
    assert [each.warnings for each in found] == [[warning] * job for job in range(count)]
    for job, each in enumerate(found):
        if job < failing:
            assert each.error is None
        else:
            assert type(each.error) is HazardError and vars(each.error) == vars(error)
    assert [each.command[1:] for each in _Process.made] == [
        ["-P", "-c", jobs._COMMAND, str(tmp_path), str(job)] for job in range(4)
    ]
    end = ["entered", "killed", "left"]
    assert [each.log for each in _Process.made] == [["waited for"] * (job < count) + end for job in range(4)]
    assert all(each.environment["OMP_NUM_THREADS"] == "1" for each in _Process.made)


def test_what_a_process_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The launch of the task, of which it runs a share; memories are in a file."""
    setting = Setting(
        _SUM.replace("(", "(.param .u32 x, ", 1), "sum", (3, 2, 2), (5, 2, 1), (1, 2, 1), 16, None, "exact", 7, 1000, 3
    )
    count = len(setting.launch(setting.linked().program(), new_memories(), None, print).parameters.data)
    raw = np.arange(count, dtype=np.uint8)
    buffers = [[jobs._Buffer(4, 6, "a", False), jobs._Buffer(256, 3, "b", True)], [jobs._Buffer(512, 2, "c", False)]]
    maps = [(4096, "00ff"), (8192, "0a")]
    task = jobs._Task(setting, [(0, 2), (2, 5), (5, 6)], raw.tobytes().hex(), maps, buffers[0], buffers[1], [])
    (tmp_path / "task").write_text(json.dumps(asdict(task)))
    memory = np.arange(514) % 251
    memory.astype(np.uint8).tofile(tmp_path / "memory")
    launches: list[Launch] = []

    def run_launch(own: Setting, launch: Launch, program: Program) -> None:
        assert own == setting and program is launch.program
        launches.append(launch)
        launch.note("rule", "text")
        launch.report_notes(1, "ret;", "warp 0")
        raise UndefinedError("why")

    monkeypatch.setattr(Setting, "run", run_launch)
    jobs.work(str(tmp_path), 1)
    (launch,) = launches
    assert [*launch.waiting] == [(2, 0, 0), (0, 0, 1), (1, 0, 1)]
    assert launch.parameters.data.tolist() == raw.tolist()
    assert launch.tensor_maps.initial == {4096: b"\x00\xff", 8192: b"\x0a"}
    for own, expected in zip((launch.global_memory, launch.const_memory), buffers, strict=True):
        held = [(each.name, each.read_only, each.data.tolist()) for each in own.segments]
        assert held == [(b.name, b.read_only, memory[b.start : b.start + b.size].tolist()) for b in expected]
    outcome = jobs._Outcome.read(tmp_path / "outcome1")
    assert type(outcome.error) is UndefinedError and outcome.error.message == "why"
    assert outcome.warnings == [SimWarning("rule", "text", 1, "ret;", "warp 0")]
