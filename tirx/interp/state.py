"""The state of a run of a kernel: the launch, and of each block its place, its rings and what it tells its pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from tirx.diagnostics import operation_name
from tirx.dialects.formula import LaunchSizes
from tirx.dialects.tirx import AtomicOp, KernelOp, RingOp, WaitUntilOp
from tirx.interp.errors import RunError, UndefinedUse
from tirx.interp.memory import Conflict, Groups, Mark, Numbers, Tile
from tirx.interp.numbers import Near, UndefinedValue
from tirx.interp.parties import Parties
from tirx.interp.products import Sum
from tirx.values import dataclass, field

OpT = TypeVar("OpT", bound=Operation)


@dataclass
class Launch:
    """A run of one kernel. `exact`: so far every lowering has the same bits. `bounds`: errors of elements are kept.
    `modular`: floats stand for residues. `prints`: `tirx.print` writes to standard output. `guests`: implementations of
    operations of other dialects.

    `causes` are operations without a result for some elements, and what they expect of their operands; None of those
    that have read elements which nobody had written.
    """

    kernel: KernelOp | func.FuncOp
    grid: tuple[int, int, int]
    sizes: LaunchSizes
    parties: Parties
    bounds: bool = False
    max_operations: int | None = None
    modular: bool = False
    watch: Interpreter.Listener | None = None
    prints: bool = True
    guests: tuple[InterpreterFunctions, ...] = ()
    exact: bool = True
    causes: dict[Operation, str | None] = field(default_factory=dict[Operation, str | None])
    marks: int = 0
    posted: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """The address of a flag -> marks of all accesses before somebody has set it."""
    operations: int = 0

    def __post_init__(self) -> None:
        waits = any(isinstance(op, WaitUntilOp | AtomicOp) and op.acquires for op in self.kernel.walk())
        self._groups = Groups() if waits else None

    @property
    def arithmetic(self) -> Mapping[str, bool]:
        """The way in which products and sums of the launch are computed."""
        return {"bounds": self.bounds, "modular": self.modular}

    def numbers(self, found: Sum) -> Numbers:
        """Returns the numbers of a sum, and notes whether every lowering has their bits."""
        self.exact = self.exact and found.exact
        return found.numbers

    def new_mark(self, before: frozenset[int] = frozenset()) -> Mark:
        """Returns a mark that no block has used."""
        self.marks += 1
        return Mark(self.marks, before, self._groups)

    @property
    def blocks(self) -> int:
        """Blocks of the grid; pairs of them for kernels of pairs."""
        x, y, z = self.grid
        return x * y * z


@dataclass(eq=False)
class Ring:
    """Slots of a ring, for each block that shares it, and how often each party has acquired and released one.

    A party is a block and a role. `parties` are those of each station.
    """

    op: RingOp
    slots: dict[int, list[tuple[Any, ...]]]
    parties: tuple[frozenset[Operation], ...]
    acquired: Counter[tuple[int, Operation, int]] = field(default_factory=Counter[tuple[int, Operation, int]])
    released: Counter[tuple[int, Operation, int]] = field(default_factory=Counter[tuple[int, Operation, int]])

    def passed(self, station: int) -> int:
        """Returns how many uses all parties of a station have passed on."""
        uses = (self.released[rank, owner, station] for rank in self.slots for owner in self.parties[station])
        return min(uses, default=0)

    def is_free(self, station: int, use: int) -> bool:
        """Returns True if a use has come to a station: the one before has passed it on, or its slot has gone round."""
        before = station - 1 if station else len(self.parties) - 1
        return self.passed(before) > (use if station else use - self.op.num_slots)

    def slot(self, rank: int, use: int) -> tuple[Any, ...]:
        """Returns what the slot of a use has."""
        return self.slots[rank][use % self.op.num_slots]

    def release(self, party: tuple[int, Operation, int], values: tuple[Any, ...]) -> None:
        """Passes the oldest use of a party on, with other values if there are any. What has gone round is unknown."""
        rank, _, station = party
        use = self.released[party]
        if values:
            self.slots[rank][use % self.op.num_slots] = values
        self.released[party] += 1
        if station == len(self.parties) - 1 and self.op.carries is None and self.passed(station) > use:
            for tile in (each for rank in self.slots for each in self.slot(rank, use) if isinstance(each, Tile)):
                tile.forget()


@dataclass(eq=False)
class Cluster:
    """The state that blocks of a pair share: rings across blocks, and operands of products of both."""

    rings: dict[Operation, Ring] = field(default_factory=dict[Operation, Ring])
    operands: dict[tuple[Operation, int, int], Numbers] = field(
        default_factory=dict[tuple[Operation, int, int], Numbers]
    )


@dataclass(eq=False)
class Block:
    """One block of a run, or a pair of blocks that is still whole."""

    launch: Launch
    number: int
    rank: int = 0
    cluster: Cluster = field(default_factory=Cluster)
    rings: dict[Operation, Ring] = field(default_factory=dict[Operation, Ring])
    done: Counter[Operation] = field(default_factory=Counter[Operation])
    dims: tuple[int, ...] = ()
    """The extents of the map whose body runs."""
    coordinates: dict[int, Any] = field(default_factory=dict[int, Any])
    """Those of elements along each dimension of the structured operation whose body runs, as arrays."""

    @property
    def at(self) -> tuple[int, int, int]:
        """The position in the grid, along x, y and z."""
        x, y, _ = self.launch.grid
        return self.number % x, self.number // x % y, self.number // (x * y)

    def __post_init__(self) -> None:
        self.mark = self.launch.new_mark()

    def post(self, flag: int) -> None:
        """Orders what the block has done so far before what blocks do behind a wait for a flag."""
        done = self.mark.before | {self.mark.number}
        self.launch.posted[flag] = self.launch.posted.get(flag, frozenset()) | done
        self.mark = self.launch.new_mark(done)

    def wait(self, flag: int) -> None:
        """Orders what blocks have done before they posted a flag before what this one does from here on."""
        before = self.mark.before | self.launch.posted.get(flag, frozenset())
        self.mark = self.mark._replace(before=before)

    def read(self, op: Operation, tile: Tile) -> Numbers:
        """Returns the elements of a tile that `op` reads."""
        return self.note(op, tile.read(self.mark))

    def note(self, op: Operation, numbers: Numbers) -> Numbers:
        """Returns elements that `op` reads, and notes that it does if nobody has written some of them."""
        if numbers.known is not None and not numbers.known.all():
            self.launch.causes.setdefault(op, None)
        return numbers

    def write(
        self, op: Operation, tile: Tile, numbers: Numbers, how: Callable[[Numbers, Mark], None] | None = None
    ) -> None:
        """Writes a tile, by `how` where that is not `Tile.write`. Raises UndefinedUse for unknown ones in arguments."""
        if tile.numbers.known is None and numbers.known is not None:
            if not (numbers.known | tile.outside).all():
                raise UndefinedUse(op, "what an argument gets")
        tile.write(numbers, self.mark) if how is None else how(numbers, self.mark)


class _Limit(Interpreter.Listener):
    """Counts the operations of all blocks of a launch. Raises RunError beyond its limit."""

    def __init__(self, launch: Launch):
        self._launch = launch

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        launch = self._launch
        assert launch.max_operations is not None
        launch.operations += 1
        if launch.operations > launch.max_operations:
            found = "more, in a loop that may have no end"
            raise RunError(op, "too-long", f"expected at most {launch.max_operations} operations, found {found}")


class Functions(InterpreterFunctions):
    """Implementations that know the block which runs them."""


def block_of(interpreter: Interpreter) -> Block:
    """Returns the block that an interpreter runs."""
    return interpreter.get_data(Functions, "block", lambda: None)


def definite(op: Operation, value: Any) -> Any:
    """Returns a number by which `op` decides something. Raises RunError for one that is undefined or may be another."""
    if not isinstance(value, Near):
        return value
    if value.known is not None:
        raise UndefinedUse(op, f"an operand of '{operation_name(op)}'")
    if (off := np.max(value.error)) > 0:
        wanted = f"expected operands of '{operation_name(op)}' that every order of additions gives"
        raise RunError(op, "undefined", f"{wanted}, found one that may be off by {off:.2g}")
    return np.asarray(value.value)[()]


def located(
    function: Callable[[Any, Interpreter, OpT, Any], Any], *, carries: bool = False
) -> Callable[[Any, Interpreter, OpT, Any], Any]:
    """Returns an implementation whose errors name the operation.

    One that `carries` numbers on takes those that are undefined or may be others, too.
    """

    def run(self: Any, interpreter: Interpreter, op: OpT, args: Any) -> Any:
        given = args if carries else tuple(definite(op, each) for each in args)
        try:
            return function(self, interpreter, op, given)
        except Conflict as error:
            raise RunError(op, "conflict", str(error)) from error
        except UndefinedValue as error:
            raise RunError(op, "undefined", str(error)) from error

    return run


def interpreter_for(functions: tuple[InterpreterFunctions, ...], block: Block) -> Interpreter:
    """Returns an interpreter that runs `block`."""
    launch = block.launch
    listeners = () if launch.max_operations is None else (_Limit(launch),)
    listeners += () if launch.watch is None else (launch.watch,)
    interpreter = Interpreter(ModuleOp([]), listeners=listeners)
    for each in (*functions, *launch.guests):
        interpreter.register_implementations(each)
    interpreter.set_data(Functions, "block", block)
    return interpreter
