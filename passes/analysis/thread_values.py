"""What integers of the ptx dialect are in each thread of a block, as far as that is known before the kernel runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

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
from tirx.dialects.ptx.base import width
from tirx.dialects.ptx.conversion import CvtOp
from tirx.dialects.ptx.core import BraOp, CondBraOp, ConstantOp, EntryOp, ReadSpecialOp, SharedAllocOp, SpecialRegister
from tirx.dialects.ptx.matrix import LdMatrixOp, StMatrixOp
from tirx.dialects.ptx.memory import CvtaToGlobalOp, LdOp, LdParamOp, Space
from tirx.dialects.ptx.sync import BarWarpSyncOp, ElectSyncOp
from tirx.dialects.ptx.tcgen05 import Tcgen05AllocOp, Tcgen05Op

Numbers: TypeAlias = npt.NDArray[np.int64]
Threads: TypeAlias = npt.NDArray[np.bool_]

WARP = 32
_WARP_WIDE = (Tcgen05Op, ElectSyncOp, BarWarpSyncOp, LdMatrixOp, StMatrixOp)
"""Instructions that no block of less than a warp executes."""

_DESCRIPTOR_ADDRESS = 0x3FFF
"""Bits 0-13 of a matrix descriptor: the start address in units of 16 bytes (PTX ISA 9.7.16.4.1)."""


def warp_numbers(threads: Threads) -> frozenset[int]:
    """The warps that some of `threads` are in."""
    return frozenset((np.flatnonzero(threads) // WARP).tolist())


def threads_of_warps(threads: Threads) -> Threads:
    """All threads of the warps that some of `threads` are in."""
    return np.isin(np.arange(len(threads)) // WARP, list(warp_numbers(threads)))


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
        """Whether nothing but numbers is in it."""
        return not self.symbols

    @property
    def is_uniform(self) -> bool:
        """Whether all threads have the same."""
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


def _wrapped(numbers: Numbers, type_: Attribute) -> Numbers:
    """The signed reading of the bits that a register of this type keeps."""
    match width(type_):
        case 1:
            return numbers & 1
        case 32:
            return ((numbers + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        case _:
            return numbers


class ThreadValues:
    """
    The integers of an entry in each thread of its block of `count` threads; thread i has `%tid.x` i.

    Without `.reqntid` a block may have any size: there are as few threads as its instructions need.
    """

    def __init__(self, entry: EntryOp, blocks: Iterable[Block]):
        """`blocks` in an order in which definitions come before uses."""
        extents = [n.data for n in entry.reqntid or ()]
        if not extents:
            extents = [WARP if any(isinstance(op, _WARP_WIDE) for op in entry.body.walk()) else 1]
        self.count = extents[0] if all(n == 1 for n in extents[1:]) else 0
        """0 for a block of more than one dimension, of which nothing is known."""
        self._values: dict[SSAValue, ThreadValue] = {}
        self._bounds: dict[SSAValue, Threads] = {}
        slots = Counter(op.dst for op in entry.body.walk() if isinstance(op, Tcgen05AllocOp))
        self._slots = {slot for slot, allocations in slots.items() if allocations == 1}
        if self.count:
            self._ids = np.arange(self.count, dtype=np.int64)
            for block in blocks:
                self._block_arguments(block)
                for op in block.ops:
                    if len(op.results) == 1 and op.results[0].type in _INTEGERS:
                        self._define(op, op.results[0])

    def get(self, value: SSAValue) -> ThreadValue | None:
        """What `value` is; None if that is not known."""
        return self._values.get(value)

    def holds(self, condition: SSAValue) -> tuple[Threads, bool] | None:
        """
        The threads in which a predicate holds, and whether it is exactly those or some of them. None if it may be any.
        """
        if (value := self.get(condition)) is not None and value.is_known:
            return value.numbers != 0, True
        bound = self._bounds.get(condition)
        return None if bound is None else (bound, False)

    def is_varying(self, value: SSAValue) -> bool:
        """Whether two threads of the block may disagree on `value`, by what it is computed from."""
        pending, seen = [value], set[SSAValue]()
        while pending:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            if (known := self.get(one)) is not None and known.is_uniform:
                continue
            owner = one.owner
            if isinstance(owner, Block):
                pending += _incoming(owner, one) + _choosing(owner)
            elif _is_uniform_source(owner):
                pending += owner.operands
            else:
                return True
        return False

    def _block_arguments(self, block: Block) -> None:
        for argument in block.args:
            sources = [self.get(value) for value in _incoming(block, argument)]
            first = sources[0] if sources else None
            if first is not None and all(
                s is not None and s.symbols == first.symbols and np.array_equal(s.numbers, first.numbers)
                for s in sources
            ):
                self._values[argument] = first

    def _define(self, op: Operation, result: SSAValue) -> None:
        if (value := self._source(op)) is None:
            operands = [self.get(operand) for operand in op.operands]
            if isinstance(op, AndOp) and result.type == i1:
                self._bound(op, result)
            known = [operand for operand in operands if operand is not None]
            if not operands or len(known) < len(operands):
                return
            value = self._computed(op, known)
            if value is None:
                if not _is_uniform_source(op) or not all(operand.is_uniform for operand in known):
                    return
                value = self._symbol("value", result)
        self._values[result] = ThreadValue(value.symbols, _wrapped(value.numbers, result.type))

    def _bound(self, op: AndOp, result: SSAValue) -> None:
        """Of a predicate that is the same in all threads and of one that is not, the second is what tells threads
        apart."""
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
                return ThreadValue((), np.asarray(self._ids % WARP == 0, np.int64))
            case LdOp() if op.space.data is Space.SHARED and op.address in self._slots and not op.offset.value.data:
                return self._symbol("tensor", op.address.owner)
            case _:
                return None

    def _special(self, op: ReadSpecialOp) -> ThreadValue:
        match name := op.register.data.value:
            case "tid.x":
                return ThreadValue((), self._ids)
            case "laneid":
                return ThreadValue((), self._ids % WARP)
            case "tid.y" | "tid.z":
                return ThreadValue((), self._ids * 0)
            case _:
                return self._symbol("value", name)

    def _computed(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        if any(not operand.is_known for operand in operands):
            return self._of_symbols(op, operands)
        numbers = [operand.numbers for operand in operands]
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
        return ThreadValue((), found)

    def _of_symbols(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        """Sums, and what makes a matrix descriptor of an address."""
        match op, operands:
            case AddOp(), [a, b]:
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


def _sum(a: tuple[Symbol, ...], b: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    return tuple(sorted((*a, *b), key=lambda s: (s.kind, id(s.key)))) if a and b else a or b


def _unsigned(numbers: Numbers, value: SSAValue) -> Numbers:
    """The unsigned reading; negative numbers stay where it has more than 63 bits."""
    return numbers & 0xFFFFFFFF if width(value.type) == 32 else numbers


_OF_THREADS = (SpecialRegister.TID_X, SpecialRegister.TID_Y, SpecialRegister.TID_Z, SpecialRegister.LANEID)

_UNIFORM_SOURCES = (
    *_BINARY,
    MulWideOp,
    AddOp,
    SubOp,
    MadLoOp,
    NotOp,
    CvtOp,
    SetpOp,
    SelpOp,
    ConstantOp,
    SharedAllocOp,
    LdParamOp,
    CvtaToGlobalOp,
)


def _is_uniform_source(op: Operation) -> bool:
    """Whether an operation gives the same in all threads for operands that are the same."""
    if isinstance(op, ReadSpecialOp):
        return op.register.data not in _OF_THREADS
    return isinstance(op, _UNIFORM_SOURCES)


def _incoming(block: Block, argument: SSAValue) -> list[SSAValue]:
    """What branches pass for an argument of a block."""
    index = next(i for i, own in enumerate(block.args) if own is argument)
    found: list[SSAValue] = []
    for use in block.uses:
        match use.operation:
            case BraOp() as branch:
                found.append(branch.arguments[index])
            case CondBraOp() as branch:
                arguments = branch.then_arguments if use.index == 0 else branch.else_arguments
                found.append(arguments[index])
            case _:
                pass
    return found


def _choosing(block: Block) -> list[SSAValue]:
    """The predicates that choose which branch a thread comes to a block by."""
    region = block.parent
    assert region is not None
    found: list[SSAValue] = []
    for other in region.blocks:
        if isinstance(branch := other.last_op, CondBraOp) and len(_entered_by(other, block)) > 1:
            found.append(branch.condition)
    return found


def _entered_by(first: Block, last: Block) -> set[tuple[Block, int]]:
    """The edges, by where they start, that ways from the end of `first` come to `last` by."""
    pending, seen, found = [first], {first}, set[tuple[Block, int]]()
    while pending:
        block = pending.pop()
        for i, successor in enumerate(() if block.last_op is None else block.last_op.successors):
            if successor is last:
                found.add((block, i))
            elif successor not in seen:
                seen.add(successor)
                pending.append(successor)
    return found
