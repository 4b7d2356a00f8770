"""State of a launch, shared by its CTAs."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np

from tirx.sim.core.tensor_maps import TensorMaps
from tirx.sim.core.traffic import Traffic
from tirx.sim.core.types import WARP, Array
from tirx.sim.errors import SimError, SimWarning, UndefinedError
from tirx.sim.hazards.global_order import GlobalOrder
from tirx.sim.hazards.monitor import Monitor, Note
from tirx.sim.memory.addresses import SHARED_BASE
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.memory.segment import Segment
from tirx.sim.reader.syntax import Variable

Dimensions: TypeAlias = tuple[int, int, int]
# Sums of tensor cores: as the hardware computes them, or exact and rounded once.
Arithmetic: TypeAlias = Literal["hardware", "exact", "modular"]
# What is an error: what goes wrong on a GPU, or all that the letter of the ISA forbids.
Level: TypeAlias = Literal["hardware", "strict"]

# With even and with odd seeds: how probable it is that an asynchronous operation goes on for another turn.
_DELAYS = (0.5, 0.98)
_PADDED = 16  # parameters end at a multiple of so many bytes, the most that one load reads


@dataclass(slots=True)
class Resources:
    """
    The resources of an entry and of the functions that it calls: registers, parameters, memory. Code is not included.

    Sizes and offsets are in bytes. `shared` are (offset, size) of the shared variables, offsets of shared memory
    as `tirx.sim.memory.addresses` says. `watched` are the names of the watched registers, by state row.
    """

    name: str
    target: str
    register_counts: dict[int, int]
    watched: tuple[str, ...]
    initially_undefined: tuple[bool, ...]
    parameters: tuple[tuple[Variable, int], ...]
    parameter_bytes: int
    shared: tuple[tuple[int, int], ...]
    shared_end: int
    local_bytes: int
    arithmetic: Arithmetic
    stack: int  # where the stack of alloca starts in each thread's memory
    directives: dict[str, tuple[int, ...]]


class Launch:
    """
    The state that all CTAs of one `run` share: memories, dimensions, and counters of progress.

    `random` is None for the fast deterministic order; otherwise it decides which thread group runs when and for how
    long, which lane elect.sync elects, and when asynchronous operations finish. `checks` says which hazards are
    errors, None that there are no checks; those that only the letter of the ISA forbids go to `report`.
    `prints`: printf writes to standard output.
    """

    def __init__(
        self,
        program: Resources,
        global_memory: FlatMemory,
        const_memory: FlatMemory,
        grid: Dimensions,
        block: Dimensions,
        cluster: Dimensions,
        dynamic_shared: int,
        *,
        seed: int | None,
        new_monitor: Callable[[int, int, Note], Monitor],
        traffic: Traffic,
        checks: Level | None,
        report: Callable[[SimWarning], None],
        prints: bool,
    ):
        self.program = program
        self.global_memory = global_memory
        self.const_memory = const_memory
        self.parameters = Segment(np.zeros(-(-program.parameter_bytes // _PADDED) * _PADDED, np.uint8), "parameters")
        x, y, z = (grid[axis] // cluster[axis] for axis in range(3))
        self.clusters = x * y * z
        self.waiting: Iterator[Dimensions]  # clusters to start
        self.waiting = ((i, j, k) for k in range(z) for j in range(y) for i in range(x))
        self.checks = checks is not None
        self.strict = checks == "strict"
        self._report = report
        self._prints = prints
        self._reported: set[str] = set()
        self._looks: Counter[object] = Counter()
        self.notes: list[tuple[str, str]] = []  # rules and messages of the instruction that executes
        self.tensor_maps = TensorMaps(global_memory)
        self.grid = grid
        self.block = block
        self.cluster = cluster
        self.dynamic_shared = dynamic_shared
        self.random = None if seed is None else random.Random(seed)
        self.delay = 0.0 if seed is None else _DELAYS[seed % 2]
        self.elected = 0 if self.random is None else self.random.randrange(WARP)
        self.new_monitor = new_monitor
        self.order: GlobalOrder | None = None  # of global memory; None: it is not checked
        self.observed = traffic
        self.global_memory.observed = traffic
        self.origins: dict[int, SimError] = {}  # why a register is undefined, by its state row
        self.carries = False  # are undefined values carried to their uses?
        self.executed = 0
        self.progress = 0
        covered = np.zeros(program.shared_end, np.bool_)
        for start, size in program.shared:
            covered[start : start + size] = True
        self.shared_valid: Array = covered
        self.shared_start = min((start for start, _ in program.shared), default=SHARED_BASE)
        self.shared_gaps = not covered[self.shared_start :].all()

    def take_share(self, first: int, end: int) -> None:
        """Leaves only the clusters from number `first` to `end`, x fastest, to start."""
        self.waiting = islice(self.waiting, first, end)

    @cached_property
    def grid_workspace(self) -> int:
        """Returns the address of the workspace of a cooperative launch: a size, and the barrier of the grid."""
        return self.global_memory.add(np.array([8, 0], np.uint32).view(np.uint8), "the workspace of the grid")

    @property
    def interleaves(self) -> bool:
        """Returns True if warps run in random order, each for itself."""
        return self.random is not None

    def note(self, rule: str, message: str) -> None:
        """Adds a warning for the current instruction. Each rule is reported once."""
        if rule not in self._reported:
            self._reported.add(rule)
            self.notes.append((rule, message))

    def has_noted(self, rule: str) -> bool:
        """Returns True if there is a warning of this rule."""
        return rule in self._reported

    def looks_at(self, what: object, limit: int) -> bool:
        """Returns True for the first `limit` calls with `what`: for checks that need not see all of them."""
        self._looks[what] += 1
        return self._looks[what] <= limit

    def report_notes(self, line: int, text: str, where: str) -> None:
        """Reports the notes of the instruction that has executed."""
        for rule, message in self.notes:
            self._report(SimWarning(rule, message, line, text, where))
        self.notes.clear()

    def made_progress(self) -> None:
        """Something happened that another group may have waited for."""
        self.progress += 1

    def undefined_use(self, name: str, row: int, where: str = "") -> UndefinedError:
        """
        Returns the error for a read of an undefined register. It names the instruction where the undefined value began.
        """
        origin = self.origins.get(row)
        if origin is None:
            return UndefinedError(f"register {name} is read but was never written", where=where)
        return UndefinedError(f"{origin.message}, and {name} depends on it", origin.line, origin.text, where)

    def place_of_thread(self, cluster: int, thread: int) -> str:
        """Names a thread of cluster number `cluster` for messages."""
        x, y, z = self.block
        lanes = -(-(x * y * z) // WARP) * WARP
        rank, lane = divmod(thread, lanes)
        counts = [size // each for size, each in zip(self.grid, self.cluster, strict=True)]
        first = (cluster % counts[0], cluster // counts[0] % counts[1], cluster // (counts[0] * counts[1]))
        width, height, _ = self.cluster
        within = (rank % width, rank // width % height, rank // (width * height))
        index = tuple(at * size + more for at, size, more in zip(first, self.cluster, within, strict=True))
        return f"thread {lane} of CTA {index}"

    def print(self, text: str) -> None:
        """The output of printf."""
        if self._prints:
            sys.stdout.write(text)

    def cancel(self) -> Dimensions | None:
        """
        Cancels the next cluster that has not started. Returns the index of its first CTA, or None if there is none (or,
        with a seed, at random).
        """
        if self.random is not None and self.random.random() < 0.5:
            return None
        index = next(self.waiting, None)
        if index is None:
            return None
        x, y, z = (index[axis] * self.cluster[axis] for axis in range(3))
        return x, y, z
