"""
Runs the clusters of a launch in several processes, which share global memory by a file.

Each process has an equal share of the clusters, those that follow each other, and checks these. Only kernels whose
clusters do not depend on the order in which they run are divided (`Program.independent`). Where one process has written
bytes of global memory that another one accesses, all clusters run again in one process, which decides.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tirx.sim.core.launch import Launch
from tirx.sim.core.types import Array
from tirx.sim.errors import HazardError, SimError, SimWarning, UndefinedError
from tirx.sim.hazards.global_order import GlobalOrder
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.program.code import Program
from tirx.sim.program.symbols import new_memories
from tirx.sim.setting import Setting

_ERRORS: dict[str, type[SimError]] = {each.__name__: each for each in (SimError, HazardError, UndefinedError)}
_ALIGNMENT = 256  # of buffers in the file
_COMMAND = "import sys; from tirx.sim.jobs import work; work(sys.argv[1], int(sys.argv[2]))"
# Processes divide the cores, not their libraries.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer of global or constant memory: bytes in the file, and how it was added."""

    start: int
    size: int
    name: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class _Task:
    """A launch, and the first cluster and the end of each share of them. Bytes are hexadecimal."""

    setting: Setting
    shares: Sequence[tuple[int, int]]
    parameters: str
    tensor_maps: Sequence[tuple[int, str]]
    global_buffers: Sequence[_Buffer]
    const_buffers: Sequence[_Buffer]
    prerequisite: Sequence[int]  # numbers of buffers of global memory

    @classmethod
    def read(cls, path: Path) -> _Task:
        """Reads what `json.dumps(asdict(task))` has made."""
        found: dict[str, Any] = json.loads(path.read_text())
        setting: dict[str, Any] = found["setting"]
        setting |= {name: tuple(setting[name]) for name in ("grid", "block", "cluster")}
        found["setting"] = Setting(**setting)
        for name in ("global_buffers", "const_buffers"):
            found[name] = [_Buffer(**each) for each in found[name]]
        return cls(**found)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The error of a process, if there was one, and its warnings."""

    error: SimError | None
    warnings: Sequence[SimWarning]

    @classmethod
    def read(cls, path: Path) -> _Outcome:
        """Reads what `write` has written."""
        found: dict[str, Any] = json.loads(path.read_text())
        error = None
        if found["error"] is not None:
            kind, *fields = found["error"]
            error = _ERRORS[kind](*fields)
        return cls(error, [SimWarning(**each) for each in found["warnings"]])

    def write(self, path: Path) -> None:
        """Writes JSON."""
        error = self.error
        fields = None if error is None else [type(error).__name__, error.message, error.line, error.text, error.where]
        path.write_text(json.dumps({"error": fields, "warnings": [asdict(each) for each in self.warnings]}))


def run_in_processes(
    setting: Setting,
    launch: Launch,
    program: Program,
    jobs: int,
    progress: Callable[[int, int], None] | None,
    report: Callable[[SimWarning], None],
) -> None:
    """
    Runs the clusters of a launch of `program` in up to `jobs` processes.

    Raises the SimError of the first share that has one. Each rule of a warning is reported once.
    """
    count = launch.clusters
    jobs = min(jobs, count)
    shares = tuple((count * job // jobs, count * (job + 1) // jobs) for job in range(jobs))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        global_buffers, end = _placed(launch.global_memory, 0)
        const_buffers, end = _placed(launch.const_memory, end)
        task = _Task(
            setting,
            shares,
            launch.parameters.data.tobytes().hex(),
            [(address, raw.hex()) for address, raw in launch.tensor_maps.initial.items()],
            global_buffers,
            const_buffers,
            _required(launch),
        )
        (place / "task").write_text(json.dumps(asdict(task)))
        with (place / "memory").open("wb") as file:
            file.truncate(max(end, 1))
        memory = _mapped(place)
        for own, buffers in ((launch.global_memory, global_buffers), (launch.const_memory, const_buffers)):
            for segment, buffer in zip(own.segments, buffers, strict=True):
                memory[buffer.start : buffer.start + buffer.size] = segment.data

        def ended(job: int) -> None:
            if progress is not None:
                progress(shares[job][1] * math.prod(launch.cluster), math.prod(launch.grid))

        outcomes = _outcomes(place, jobs, ended)
        if launch.order is not None and all(each.error is None for each in outcomes) and _meet(place, jobs):
            setting.run(launch, program, None, progress)
            return
        for segment, buffer in zip(launch.global_memory.segments, global_buffers, strict=True):
            if not buffer.read_only:
                segment.data[:] = memory[buffer.start : buffer.start + buffer.size]
    said: set[str] = set()
    for outcome in outcomes:
        for warning in outcome.warnings:
            if warning.rule not in said:
                said.add(warning.rule)
                report(warning)
        if outcome.error is not None:
            raise outcome.error


def _required(launch: Launch) -> list[int]:
    """Returns the numbers of the buffers that may be accessed behind griddepcontrol.wait only."""
    if launch.order is None:
        return []
    segments = launch.global_memory.segments
    return [number for number, segment in enumerate(segments) if launch.order.prerequisites.requires(segment)]


def _placed(memory: FlatMemory, start: int) -> tuple[tuple[_Buffer, ...], int]:
    """Gives the buffers of a memory their places in the file. Returns them and the end."""
    found: list[_Buffer] = []
    for segment in memory.segments:
        found.append(_Buffer(start, segment.size, segment.name, segment.read_only))
        start = -(-(start + segment.size) // _ALIGNMENT) * _ALIGNMENT
    return tuple(found), start


def _mapped(place: Path) -> Array:
    return np.memmap(place / "memory", np.uint8, "r+")


def _outcomes(place: Path, jobs: int, ended: Callable[[int], None]) -> list[_Outcome]:
    """Runs the processes; `ended` hears of each in their order."""
    path = os.pathsep.join(each for each in sys.path if each)
    environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": path}
    processes: list[subprocess.Popen[bytes]] = []
    found: list[_Outcome] = []
    try:
        for job in range(jobs):
            command = [sys.executable, "-P", "-c", _COMMAND, str(place), str(job)]
            processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE))
        for job, process in enumerate(processes):
            _, said = process.communicate()
            if process.returncode:
                raise RuntimeError(f"process {job} of the simulator ended with {process.returncode}: {said.decode()}")
            found.append(_Outcome.read(place / f"outcome{job}"))
            if found[-1].error is not None:
                return found
            ended(job)
    finally:
        for process in processes:
            with process:  # which waits, and closes its pipe
                process.kill()
    return found


def work(folder: str, job: int) -> None:
    """Runs a share of the clusters, in a process of its own."""
    place = Path(folder)
    task = _Task.read(place / "task")
    setting, memory = task.setting, _mapped(place)
    found = setting.linked()
    program, memories = found.program(), new_memories()
    for own, buffers in zip(memories, (task.global_buffers, task.const_buffers), strict=True):
        for buffer in buffers:
            own.add(memory[buffer.start : buffer.start + buffer.size], buffer.name, buffer.read_only)
    warnings: list[SimWarning] = []
    launch = setting.launch(program, memories, None, warnings.append)
    launch.parameters.data[:] = np.frombuffer(bytes.fromhex(task.parameters), np.uint8)
    launch.tensor_maps.initial.update({address: bytes.fromhex(raw) for address, raw in task.tensor_maps})
    launch.take_share(*task.shares[job])
    if launch.order is not None:
        launch.order.prerequisites.require([launch.global_memory.segments[number] for number in task.prerequisite])
    error: SimError | None = None
    try:
        setting.run(launch, program)
    except SimError as caught:
        error = caught
    if launch.order is not None and error is None:
        _write_touched(launch.order, launch.global_memory, place / f"touched{job}.npz")
    _Outcome(error, warnings).write(place / f"outcome{job}")


def _write_touched(order: GlobalOrder, memory: FlatMemory, path: Path) -> None:
    """Writes which granules of each buffer were written and read."""
    numbers = {id(segment): number for number, segment in enumerate(memory.segments)}
    arrays: dict[str, Any] = {}
    for segment, granule, written, read in order.touched():
        number = numbers[id(segment)]
        arrays |= {f"{number} size": np.array(granule), f"{number} written": written, f"{number} read": read}
    np.savez(path, **arrays)


def _meet(place: Path, jobs: int) -> bool:
    """Returns True if one process has written bytes that another one has accessed."""
    touched = [_read_arrays(place / f"touched{job}.npz") for job in range(jobs)]
    return any(_meets(first, second) for first in touched for second in touched if first is not second)


def _read_arrays(path: Path) -> dict[str, Array]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _meets(writer: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    for name in writer:
        buffer, what = name.split(" ")
        if what != "size" or name not in other:
            continue
        sizes = int(writer[name]), int(other[name])
        accessed = np.union1d(other[f"{buffer} written"], other[f"{buffer} read"])
        least = min(sizes)
        both = (_finer(writer[f"{buffer} written"], sizes[0] // least), _finer(accessed, sizes[1] // least))
        if len(np.intersect1d(*both)):
            return True
    return False


def _finer(units: Array, times: int) -> Array:
    return (units[:, None] * times + np.arange(times)).ravel()
