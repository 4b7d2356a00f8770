"""The description of a run, from which its launch is made, in this process or in another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.launch import Arithmetic, Dimensions, Launch, Level
from tirx.sim.core.observer import Observer
from tirx.sim.core.schedule import Scheduler
from tirx.sim.core.traffic import Traffic
from tirx.sim.errors import SimWarning
from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.clocks import rows_of
from tirx.sim.hazards.global_order import GlobalOrder
from tirx.sim.hazards.monitor import Monitor, Note
from tirx.sim.hazards.shared_checker import SharedChecker
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.program.code import Op, Program
from tirx.sim.program.linker import Linked, link
from tirx.sim.reader import Module, parse

# Hears of every instruction.
Listener = Callable[[ThreadGroup, Op], None]


@lru_cache(maxsize=16)
def parsed(text: str) -> Module:
    """Returns the module that is PTX text."""
    return parse(text)


@lru_cache(maxsize=16)
def linked(text: str, entry: str, dynamic_shared: int, check: Level | None, arithmetic: Arithmetic) -> Linked:
    """A launch of the same kernel again, on other arguments or in another order, is decoded already."""
    return link(parsed(text), entry, dynamic_shared, check=check, arithmetic=arithmetic)


@dataclass(frozen=True, slots=True)
class Setting:
    """All parameters of a run (`tirx.sim.run`) but arguments, and whatever listens or talks."""

    text: str
    entry: str
    grid: Dimensions
    block: Dimensions
    cluster: Dimensions
    dynamic_shared: int
    check: Level | None
    arithmetic: Arithmetic
    seed: int | None
    max_instructions: int | None
    max_resident: int
    prints: bool = True

    def linked(self) -> Linked:
        """Returns the decoded entry."""
        return linked(self.text, self.entry, self.dynamic_shared, self.check, self.arithmetic)

    def launch(
        self,
        program: Program,
        memories: tuple[FlatMemory, FlatMemory],
        observer: Listener | None,
        report: Callable[[SimWarning], None],
    ) -> Launch:
        """Returns a launch of `program` with global and constant memory, still without arguments."""
        shared: SharedChecker | None = None
        clustered = self.cluster != (1, 1, 1)
        rows = rows_of(bulk=program.has_bulk, clusters=clustered, fences=program.has_fences)

        def new_monitor(ctas: int, lanes: int, note: Note) -> Monitor:
            nonlocal shared
            if self.check is None:
                own = observer.monitor(ctas, lanes, note) if isinstance(observer, Observer) else None
                return own or Monitor()

            heard = None if self.check == "strict" else note

            def new_checker() -> Checker:
                return Checker(ctas, lanes, program.shared_end, heard, rows)

            if self.seed is not None or self.grid == self.cluster:  # one cluster, or each in an order of its own
                return new_checker()
            shared = shared or SharedChecker(new_checker, heard)
            return shared.of_cluster()

        launch = Launch(
            program,
            *memories,
            self.grid,
            self.block,
            self.cluster,
            self.dynamic_shared,
            seed=self.seed,
            new_monitor=new_monitor,
            traffic=observer if isinstance(observer, Observer) else Traffic(),
            checks=self.check,
            report=report,
            prints=self.prints,
        )
        if self.check is not None:
            launch.order = GlobalOrder(
                launch.note,
                launch.has_noted,
                lambda pc: f"line {program.code[pc].line} ({program.code[pc].opcode})",
                launch.place_of_thread,
                launch.clusters,
                strict=launch.strict,
            )
        return launch

    def run(
        self,
        launch: Launch,
        program: Program,
        observer: Listener | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Runs the clusters of a launch in this process."""
        Scheduler(
            launch,
            program,
            observer=observer,
            progress=progress,
            max_instructions=self.max_instructions,
            max_resident=self.max_resident,
        ).run()
