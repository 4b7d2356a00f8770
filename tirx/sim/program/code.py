"""A program ready to run: decoded instructions, registers and variables in their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tirx.sim.core.strand import Outcome, Strand
from tirx.sim.core.types import Array, Mask, PtxType
from tirx.sim.reader.syntax import Variable

# Executes an instruction for the lanes of `mask`, none of which is empty.
Step: TypeAlias = Callable[[Strand, Mask], "Outcome | None"]
# The values of an operand: an array with an element for every lane of the strand.
Source: TypeAlias = Callable[[Strand, Mask], Array]
# Writes the lanes of `mask` of a result.
Destination: TypeAlias = Callable[[Strand, Mask, Array], None]


@dataclass(frozen=True, slots=True)
class Register:
    """
    Row `row` of the bank of its type. `state` is its row in `Strand.states` if it is watched, else -1; `is_fragment`: a
    wgmma.mma_async accesses it.
    """

    name: str
    type: PtxType
    row: int
    state: int = -1
    is_fragment: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """To `target`; diverged lanes meet again at `join` (None: when they return)."""

    target: int
    join: int | None


@dataclass(frozen=True, slots=True)
class TableBranch:
    """brx.idx: to `targets[index]`."""

    index: Source
    targets: tuple[int, ...]
    join: int | None


@dataclass(frozen=True, slots=True)
class Call:
    """
    To `target` (negative: a function of the runtime, which is in `before`), coming back to the next instruction.

    `before` passes the arguments, `after` takes over the results. A function that may call itself keeps its variables
    in one place: `saved` are those (first byte, end, in each thread's memory) that a call has to save, the results
    first; None for other functions.
    """

    target: int
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    saved: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class IndirectCall:
    """To the function whose address `selector` gives."""

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
    """A decoded instruction: `step` or `control`. `guard` gives its predicate, `negated` is the `!` of it."""

    step: Step | None
    control: Control | None
    guard: Source | None
    negated: bool
    opcode: str
    line: int
    text: str


@dataclass(slots=True)
class Program:
    """
    An entry and all that it calls.

    Sizes and offsets are in bytes. `shared` are (offset, size) of the shared variables, offsets of shared memory
    as `tirx.sim.memory.addresses` says; `dynamic_offset` is where dynamic shared memory starts.
    """

    name: str
    target: str
    code: list[Op]
    register_counts: dict[int, int]
    watched: tuple[str, ...]  # names of the watched registers, by state row
    initially_undefined: tuple[bool, ...]
    parameters: tuple[tuple[Variable, int], ...]
    parameter_bytes: int
    shared: tuple[tuple[int, int], ...]
    shared_end: int
    local_bytes: int
    stack: int  # where the stack of alloca starts in each thread's memory
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    look_closely: Callable[[], None] | None = None

    def watch_all(self) -> bool:
        """
        From now on every register is watched, and `code` carries undefined values to where they are used.

        False if that is so already, or nothing is checked. `code` stays the same list.
        """
        if self.look_closely is None:
            return False
        self.look_closely()
        self.look_closely = None
        return True
