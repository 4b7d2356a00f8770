"""A program ready to run: decoded instructions, registers and variables in their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.launch import Resources
from tirx.sim.core.types import Array, Mask, PtxType
from tirx.sim.core.wait import Outcome

# Executes an instruction for the lanes of `mask`, none of which is empty.
Step: TypeAlias = Callable[[ThreadGroup, Mask], "Outcome | None"]
# The values of an operand: an array with an element for every lane of the thread group.
Source: TypeAlias = Callable[[ThreadGroup, Mask], Array]
# Writes the lanes of `mask` of a result.
Destination: TypeAlias = Callable[[ThreadGroup, Mask, Array], None]


@dataclass(frozen=True, slots=True)
class Register:
    """
    Row `row` of the bank of its type.

    `state` is its row in `ThreadGroup.states` if it is watched, else -1. `is_fragment`: a wgmma.mma_async accesses it.
    """

    name: str
    type: PtxType
    row: int
    state: int = -1
    is_fragment: bool = False

    @property
    def is_watched(self) -> bool:
        return self.state >= 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch to `target`; diverged lanes meet again at `join` (None: when they return)."""

    target: int
    join: int | None


@dataclass(frozen=True, slots=True)
class TableBranch:
    """brx.idx: to `targets[index]`."""

    index: Source
    targets: tuple[int, ...]
    join: int | None


@dataclass(frozen=True, slots=True)
class SavedSpans:
    """
    Places of the variables of results, and of the others, of a function that may call itself: (first byte, end) in
    each thread's memory.
    """

    results: tuple[tuple[int, int], ...]
    variables: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call of `target` (None: a function of the runtime, which is in `before`); returns to the next instruction.

    `before` passes the arguments, `after` takes over the results. A function that may call itself keeps its variables
    in one place, and calls save them: `saved`; None for other functions.
    """

    target: int | None
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    saved: SavedSpans | None = None


@dataclass(frozen=True, slots=True)
class IndirectCall:
    """A call of the function at the address that `selector` reads."""

    selector: Source
    calls: dict[int, Call]


@dataclass(frozen=True, slots=True)
class Return:
    """Back to the caller; of an entry: exit."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The thread ends."""


Control: TypeAlias = Branch | TableBranch | Call | IndirectCall | Return | Exit


@dataclass(slots=True)
class Op:
    """
    A decoded instruction: `step` or `control`. `guard` gives its predicate, `negated` is the `!` of it.

    `is_wide`: the step knows nothing of CTAs, so that it may be executed for threads of several ones at once. `rows`
    are the 32-bit registers before which deferred work has to be done; None: before it in any case. `uses` and
    `definitions` are the registers that it reads and writes, for observers.
    """

    opcode: str
    line: int
    text: str
    step: Step | None = None
    control: Control | None = None
    guard: Source | None = None
    negated: bool = False
    rows: frozenset[int] | None = None
    is_wide: bool = False
    uses: tuple[Register, ...] = ()
    definitions: tuple[Register, ...] = ()


def _releases(opcode: str) -> bool:
    """Returns True for fences of threads, and for accesses of memory that release as they do."""
    root, *modifiers = opcode.split(".")
    if root in ("fence", "membar"):
        return "mbarrier_init" not in modifiers and ("proxy" not in modifiers or "tensormap::generic" in modifiers)
    return root != "mbarrier" and root != "barrier" and not {"release", "acq_rel"}.isdisjoint(modifiers)


@dataclass(slots=True)
class Program(Resources):
    """An entry and all that it calls, decoded."""

    code: list[Op]
    side_by_side: bool = False  # may CTAs run at the same time?
    independent: bool = False  # may they run in any order, or in several processes?
    look_closely: Callable[[], None] | None = None

    @property
    def has_bulk(self) -> bool:
        """Returns True if the program has bulk copies, or fences for their proxy."""
        return any(op.opcode.startswith(("cp.async.bulk", "cp.reduce", "fence.proxy")) for op in self.code)

    @property
    def has_fences(self) -> bool:
        """Returns True if the program has fences of threads, or accesses that release."""
        return any(_releases(op.opcode) for op in self.code)

    def watch_all(self) -> bool:
        """
        Watches every register from now on, so that `code` carries undefined values to their uses.

        False if that is so already, or nothing is checked. `code` stays the same list.
        """
        if self.look_closely is None:
            return False
        self.look_closely()
        self.look_closely = None
        return True
