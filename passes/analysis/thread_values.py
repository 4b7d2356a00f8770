"""The integers that each thread of a block holds in its registers, as far as known before the kernel runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tirx.dialects.ptx.arith import (
    AddOp,
    AndOp,
    Comparison,
    DivOp,
    MadLoOp,
    MulLoOp,
    MulWideOp,
    NotOp,
    OrOp,
    RemOp,
    SelpOp,
    SetpOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.dialects.ptx.base import PTXInstruction, PureInstruction, width
from tirx.dialects.ptx.conversion import CvtOp
from tirx.dialects.ptx.core import BraOp, CondBraOp, ConstantOp, ReadSpecialOp, SharedAllocOp, SpecialRegister
from tirx.dialects.ptx.effects import Issue
from tirx.dialects.ptx.launch_control import QueryCancelOp
from tirx.dialects.ptx.memory import CvtaToGlobalOp, LdOp, LdParamOp, Space
from tirx.dialects.ptx.sync import ElectSyncOp
from tirx.dialects.ptx.tcgen05 import Tcgen05AllocOp
from tirx.layout.arrays import BoolArray, IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.analysis.control_flow import ControlFlow, successors

Numbers = IntArray
Threads = BoolArray

_LEAST_THREADS = {Issue.THREAD: 1, Issue.WARPGROUP: 4 * WARP_SIZE}
"""Threads of the smallest block that can execute an instruction; a warp for the others."""

_MOST_SYMBOLS = 16
"""Unknown numbers that are added up; a longer sum is an unknown number itself."""

_DESCRIPTOR_ADDRESS = 0x3FFF
"""Bits 0-13 of a matrix descriptor: the start address in units of 16 bytes (PTX ISA 9.7.16.4.1)."""


def warp_numbers(threads: Threads) -> frozenset[int]:
    """The warps that some of `threads` are in."""
    return frozenset(np.flatnonzero(_warps(threads)).tolist())


def threads_of_warps(threads: Threads) -> Threads:
    """All threads of the warps that some of `threads` are in."""
    return np.repeat(_warps(threads), WARP_SIZE)[: len(threads)]


def _warps(threads: Threads) -> Threads:
    """The warps that some of `threads` are in; the last one need not be whole."""
    whole = np.zeros(-(-len(threads) // WARP_SIZE) * WARP_SIZE, np.bool_)
    whole[: len(threads)] = threads
    return np.logical_or.reduce(whole.reshape(-1, WARP_SIZE), axis=1)


@dataclass(frozen=True)
class Symbol:
    """
    A number that is the same in all threads of a block at all times, and not known: the address of an allocation in
    `shared` or `tensor` memory (`key` is the operation that declares it or its slot), a descriptor's 16-byte units of a
    shared address, or any other `value`.
    """

    kind: Literal["shared", "tensor", "descriptor", "value"]
    key: object


@dataclass(frozen=True, eq=False)
class ThreadValue:
    """`symbols` all added up, plus a number of each thread, signed, of the bits of the type."""

    symbols: tuple[Symbol, ...]
    numbers: Numbers

    @property
    def is_known(self) -> bool:
        """Returns True if nothing but numbers is in it."""
        return not self.symbols

    @property
    def is_uniform(self) -> bool:
        """Returns True if all threads have the same."""
        return bool((self.numbers == self.numbers[0]).all())

    def descriptor_start(self) -> ThreadValue | None:
        """The shared address that a matrix descriptor starts at; None if that is not known."""
        match self.symbols:
            case ():
                symbols = ()
            case (Symbol("descriptor", key),):
                symbols = (Symbol("shared", key),)
            case _:
                return None
        return ThreadValue(symbols, (self.numbers & _DESCRIPTOR_ADDRESS) << 4)


_BINARY: Mapping[type[Operation], Callable[[Numbers, Numbers], Numbers]] = {
    MulLoOp: np.multiply,
    AndOp: np.bitwise_and,
    OrOp: np.bitwise_or,
    XorOp: np.bitwise_xor,
    ShlOp: np.left_shift,
    ShrOp: np.right_shift,
    # Truncation towards zero; of numbers that are not negative.
    DivOp: np.floor_divide,
    RemOp: np.remainder,
}
_NOT_NEGATIVE = (DivOp, RemOp)

_COMPARE: Mapping[Comparison, Callable[[Numbers, Numbers], Threads]] = {
    Comparison.EQ: np.equal,
    Comparison.NE: np.not_equal,
    Comparison.LT: np.less,
    Comparison.LE: np.less_equal,
    Comparison.GT: np.greater,
    Comparison.GE: np.greater_equal,
}

_INTEGERS = (i1, i32, i64)
_WIDTHS = tuple(type_.width.data for type_ in _INTEGERS)


def _is_integer(type_: Attribute) -> bool:
    """Returns True for the integers whose values are followed."""
    return type(type_) is IntegerType and type_.width.data in _WIDTHS and type_ in _INTEGERS


def wrapped(numbers: Numbers, type_: Attribute) -> Numbers:
    """The signed reading of the bits that a register of this type keeps."""
    match width(type_):
        case 1:
            return numbers & 1
        case 32:
            return numbers.astype(np.int32).astype(np.int64)
        case _:
            return numbers


class ThreadValues:
    """
    The integers of an entry in each thread of its block of `count` threads; thread i has `%tid.x` i.

    Without `.reqntid` a block may have any size: there are as few threads as its instructions need.
    """

    def __init__(self, flow: ControlFlow):
        entry, blocks = flow.entry, flow.blocks
        self._flow = flow
        extents = [n.data for n in entry.reqntid or ()]
        if not extents:
            issues = {op.issue for op in entry.walk() if isinstance(op, PTXInstruction)}
            extents = [max((_LEAST_THREADS.get(issue, WARP_SIZE) for issue in issues), default=1)]
        self.count = extents[0] if all(n == 1 for n in extents[1:]) else 0
        """0 for a block of more than one dimension, of which nothing is known."""
        self._values: dict[SSAValue, ThreadValue] = {}
        self._bounds: dict[SSAValue, Threads] = {}
        slots = Counter(op.dst for op in entry.walk() if isinstance(op, Tcgen05AllocOp))
        self._slots = {slot for slot, allocations in slots.items() if allocations == 1}
        if self.count:
            self._ids = np.arange(self.count, dtype=np.int64)
            for block in blocks:
                self._block_arguments(block)
                for op in block.ops:
                    if len(op.results) == 1 and _is_integer((result := op.results[0]).type):
                        self._define(op, result)
        self._varying = self._find_varying()
        for block in blocks:
            for op in block.ops:
                if isinstance(op, AndOp) and op.result.type == i1 and op.result not in self._values:
                    self._bound(op, op.result)

    def get(self, value: SSAValue) -> ThreadValue | None:
        """Returns the number of each thread, None if it is not known."""
        return self._values.get(value)

    def holds(self, condition: SSAValue) -> tuple[Threads, bool] | None:
        """
        Returns the threads in which a predicate holds, and True if it holds in all of them, False if in some of them.
        None if it may hold in any thread.
        """
        if (value := self.get(condition)) is not None and value.is_known:
            return value.numbers != 0, True
        bound = self._bounds.get(condition)
        return None if bound is None else (bound, False)

    def is_varying(self, value: SSAValue) -> bool:
        """Returns True if two threads of the block may disagree on `value`, by what it is computed from."""
        return value in self._varying

    def _find_varying(self) -> set[SSAValue]:
        """Follows what differs between threads from where it comes from to all that is computed from it."""
        choices: dict[SSAValue, list[Block]] = {}
        for block in self._flow.blocks:
            if block.args:
                for condition in _choosing(block, self._flow):
                    choices.setdefault(condition, []).append(block)
        pending: list[SSAValue] = []
        for block in self._flow.blocks:
            for op in block.ops:
                if not _is_uniform_source(op):
                    pending += op.results
            if block is self._flow.blocks[0]:
                pending += block.args
        varying: set[SSAValue] = set()
        computed: set[int] = set()  # operations whose results are in `pending` or have been
        while pending:
            value = pending.pop()
            if value in varying or ((known := self._values.get(value)) is not None and known.is_uniform):
                continue
            varying.add(value)
            for use in value.uses:
                # All threads read the same answers, whatever is known of where they are.
                if id(use.operation) not in computed and not isinstance(use.operation, QueryCancelOp):
                    computed.add(id(use.operation))
                    pending += use.operation.results
                if use.operation.successors:
                    pending += _passed_on(use.operation, use.index)
            for block in choices.get(value, ()):
                pending += block.args
        return varying

    def _block_arguments(self, block: Block) -> None:
        for argument in block.args:
            sources = [self.get(value) for value in incoming(block, argument)]
            first = sources[0] if sources else None
            if first is not None and all(
                s is not None and s.symbols == first.symbols and np.array_equal(s.numbers, first.numbers)
                for s in sources
            ):
                self._values[argument] = first

    def _define(self, op: Operation, result: SSAValue) -> None:
        if (value := self._source(op)) is None:
            operands = [self.get(operand) for operand in op.operands]
            known = [operand for operand in operands if operand is not None]
            if not operands or len(known) < len(operands):
                return
            value = self._computed(op, known)
            if value is None:
                if not _is_uniform_source(op) or not all(operand.is_uniform for operand in known):
                    return
                value = self._symbol("value", result)
        self._values[result] = ThreadValue(value.symbols, wrapped(value.numbers, result.type))

    def _bound(self, op: AndOp, result: SSAValue) -> None:
        """The `and` of two predicates holds in no more threads than the one that differs between them."""
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (held := self.holds(one)) is not None and not self.is_varying(other):
                self._bounds[result] = held[0]

    def _symbol(self, kind: Literal["shared", "tensor", "value"], key: object) -> ThreadValue:
        return ThreadValue((Symbol(kind, key),), np.zeros(self.count, np.int64))

    def _source(self, op: Operation) -> ThreadValue | None:
        match op:
            case ConstantOp(value=IntegerAttr() as number):
                return ThreadValue((), np.full(self.count, number.value.data, np.int64))
            case ReadSpecialOp():
                return self._special(op)
            case SharedAllocOp():
                return self._symbol("shared", op)
            case LdParamOp():
                return self._symbol("value", op.param.data)
            case CvtaToGlobalOp():
                return self.get(op.operand)
            case ElectSyncOp():
                # Some lane of each warp, always the same: any choice shows who is another thread.
                return ThreadValue((), np.asarray(self._ids % WARP_SIZE == 0, np.int64))
            case LdOp() if op.space.data is Space.SHARED and op.address in self._slots and not op.offset.value.data:
                return self._symbol("tensor", op.address.owner)
            case _:
                return None

    def _special(self, op: ReadSpecialOp) -> ThreadValue:
        match name := op.register.data.value:
            case "tid.x":
                return ThreadValue((), self._ids)
            case "laneid":
                return ThreadValue((), self._ids % WARP_SIZE)
            case "tid.y" | "tid.z":
                return ThreadValue((), self._ids * 0)
            case _:
                return self._symbol("value", name)

    def _computed(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        if any(not operand.is_known for operand in operands):
            return self._of_symbols(op, operands)
        found = arithmetic(op, [operand.numbers for operand in operands])
        return None if found is None else ThreadValue((), found)

    def _of_symbols(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        """Sums, and what makes a matrix descriptor of an address."""
        match op, operands:
            case AddOp(), [a, b]:
                if len(a.symbols) + len(b.symbols) > _MOST_SYMBOLS:
                    return None
                return ThreadValue(_sum(a.symbols, b.symbols), a.numbers + b.numbers)
            case SubOp(), [a, b] if b.is_known:
                return ThreadValue(a.symbols, a.numbers - b.numbers)
            case CvtOp(), [a]:
                return a
            case ShrOp(), [ThreadValue(symbols=(Symbol("shared", SharedAllocOp() as alloc),)) as a, b]:
                if alloc.align.data % 16 or (b.numbers != 4).any() or (a.numbers % 16).any():
                    return None
                return ThreadValue((Symbol("descriptor", alloc),), a.numbers >> 4)
            case AndOp(), [a, b] if b.is_known:
                # Shared memory has less than 2^18 bytes: no bit of an address, or of its 16-byte units, is lost.
                address_bits = {"shared": 18, "descriptor": 14}.get(a.symbols[0].kind) if len(a.symbols) == 1 else None
                if address_bits is None or (~b.numbers & (1 << address_bits) - 1).any():
                    return None
                return a
            case OrOp(), [ThreadValue(symbols=(Symbol("descriptor"),)) as a, b] if b.is_known:
                if (b.numbers & _DESCRIPTOR_ADDRESS).any():
                    return None
                return ThreadValue(a.symbols, a.numbers + b.numbers)
            case _:
                return None


def arithmetic(op: Operation, numbers: list[Numbers]) -> Numbers | None:
    """Computes an operation on integers, number by number, before they are `wrapped`. None if it does not say what."""
    match op, numbers:
        case AddOp(), [a, b]:
            found = a + b
        case SubOp(), [a, b]:
            found = a - b
        case MadLoOp(), [a, b, c]:
            found = a * b + c
        case NotOp(), [a]:
            found = 1 - a if op.result.type == i1 else ~a
        case CvtOp(), [a]:
            found = _unsigned(a, op.operand) if op.unsigned is not None and op.result.type == i64 else a
        case MulWideOp(), [a, b]:
            found = _unsigned(a, op.lhs) * _unsigned(b, op.rhs) if op.unsigned is not None else a * b
        case SetpOp(), [a, b] if (compare := _COMPARE.get(op.comparison.data)) is not None:
            if op.unsigned is not None:
                a, b = _unsigned(a, op.lhs), _unsigned(b, op.rhs)
                if (a < 0).any() or (b < 0).any():
                    return None
            found = np.asarray(compare(a, b), np.int64)
        case SelpOp(), [condition, a, b]:
            found = np.where(condition != 0, a, b)
        case _, [a, b] if (function := _BINARY.get(type(op))) is not None:
            if isinstance(op, ShrOp) and op.unsigned is not None and ((a := _unsigned(a, op.value)) < 0).any():
                return None
            if isinstance(op, ShlOp | ShrOp) and ((b < 0) | (b >= width(op.result.type))).any():
                return None
            if isinstance(op, _NOT_NEGATIVE) and ((a < 0) | (b <= 0)).any():
                return None
            found = function(a, b)
        case _:
            return None
    return found


def _sum(a: tuple[Symbol, ...], b: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    return tuple(sorted((*a, *b), key=lambda s: (s.kind, id(s.key)))) if a and b else a or b


def _unsigned(numbers: Numbers, value: SSAValue) -> Numbers:
    """The unsigned reading; negative numbers stay where it has more than 63 bits."""
    return numbers & 0xFFFFFFFF if width(value.type) == 32 else numbers


_OF_THREADS = (SpecialRegister.TID_X, SpecialRegister.TID_Y, SpecialRegister.TID_Z, SpecialRegister.LANEID)


def _is_uniform_source(op: Operation) -> bool:
    """Returns True if the results of `op` are the same in all threads whose operands are."""
    if type(op) is ReadSpecialOp:
        return op.register.data not in _OF_THREADS
    return isinstance(op, PureInstruction)


def incoming(block: Block, argument: BlockArgument) -> list[SSAValue]:
    """The values that branches pass for an argument of a block."""
    found: list[SSAValue] = []
    for use in block.uses:
        match use.operation:
            case BraOp() as branch:
                found.append(branch.arguments[argument.index])
            case CondBraOp() as branch:
                arguments = branch.then_arguments if use.index == 0 else branch.else_arguments
                found.append(arguments[argument.index])
            case _:
                pass
    return found


def _passed_on(branch: Operation, operand: int) -> list[SSAValue]:
    """The block argument that a branch passes its operand (by number) to; none for the condition."""
    match branch:
        case BraOp():
            return [branch.dest.args[operand]]
        case CondBraOp() if operand > 0:
            first = len(branch.then_arguments)
            if operand <= first:
                return [branch.then_dest.args[operand - 1]]
            return [branch.else_dest.args[operand - 1 - first]]
        case _:
            return []


def _choosing(block: Block, flow: ControlFlow) -> list[SSAValue]:
    """
    The predicates that choose by which edge a thread comes to `block`.

    These are the conditions of branches behind the immediate dominator of `block` that lead to two of its edges; no
    branch leads to an edge that enters a loop and to one that goes on with it.
    """
    edges = [(other, i) for other in flow.predecessors(block) for i, to in enumerate(successors(other)) if to is block]
    back = [edge for edge in edges if flow.dominators.dominates(block, edge[0])]
    forward = [edge for edge in edges if edge not in back]
    found: dict[SSAValue, None] = {}
    for group in (forward, back):
        if len(group) < 2:
            continue
        stop = block if group is back else flow.dominators.immediate(block)
        leading: dict[Block, set[tuple[Block, int]]] = {}
        for edge in group:
            pending, seen = [edge[0]], set[Block]()
            while pending:
                other = pending.pop()
                if other in seen:
                    continue
                seen.add(other)
                leading.setdefault(other, set()).add(edge)
                if other is not stop:
                    pending += [before for before in flow.predecessors(other) if other is not block]
        for other, ways in leading.items():
            if len(ways) > 1 and isinstance(branch := other.last_op, CondBraOp):
                found[branch.condition] = None
    return list(found)
