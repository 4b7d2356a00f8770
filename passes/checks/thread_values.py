"""The integers that each thread of a block holds in its registers, as far as known before the kernel runs."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tirx.dialects import ptx
from tirx.dialects.definition import item
from tirx.dialects.tcgen05 import AllocOp
from tirx.dialects.xdsl_private import next_use, operands_of, type_of, user_of
from tirx.layout.arrays import BoolArray, IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.control_flow import ControlFlow, successors
from tirx.values import cached_property, dataclass

Numbers = IntArray
Threads = BoolArray
NumbersT = TypeVar("NumbersT", int, Numbers, "int | Numbers")

_LEAST_THREADS = {ptx.Issue.THREAD: 1, ptx.Issue.WARPGROUP: 4 * WARP_SIZE}
"""Threads of the smallest block that can execute an instruction; a warp for the others."""

_MOST_SYMBOLS = 16
"""Unknown numbers that are added up; a longer sum is an unknown number itself."""

_DESCRIPTOR_ADDRESS = 0x7FFF
"""Bits 0-14 of a matrix descriptor: the start address in units of 16 bytes (PTX ISA 9.7.16.4.1). Where the field has 14
bits, the next is 0."""


def mask_of(threads: Threads) -> int:
    """A set of threads as an integer: bit i for thread i."""
    return int.from_bytes(np.packbits(threads, bitorder="little").tobytes(), "little")


class Symbol(NamedTuple):
    """
    A number that is the same in all threads of a block at all times, and not known: the address of an allocation in
    `shared` or `tensor` memory (`key` is the operation that declares it or its slot), a descriptor's 16-byte units of a
    shared address, or any other `value`.
    """

    kind: Literal["shared", "tensor", "descriptor", "value"]
    key: object


@dataclass(eq=False)
class ThreadValue:
    """
    `symbols` all added up, plus a number of each of `count` threads, signed, of the bits of the type: `given` is that
    of all threads, or those of each.
    """

    symbols: tuple[Symbol, ...]
    given: int | Numbers
    count: int

    @property
    def is_known(self) -> bool:
        """Returns True if nothing but numbers is in it."""
        return not self.symbols

    @property
    def number(self) -> int | None:
        """The number of all threads, None if they differ."""
        return self.given if isinstance(self.given, int) else self._common

    @cached_property
    def _common(self) -> int | None:
        return self.first if (self.numbers == self.first).all() else None

    @cached_property
    def numbers(self) -> Numbers:
        """The number of each thread."""
        return np.full(self.count, self.given, np.int64) if isinstance(self.given, int) else self.given

    @property
    def first(self) -> int:
        """The number of thread 0."""
        return self.given if isinstance(self.given, int) else int(self.given[0])

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        return (self.given, self.given) if isinstance(self.given, int) else self._bounds

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        return int(self.numbers.min()), int(self.numbers.max())

    @cached_property
    def distances(self) -> bytes:
        """The distance of each thread's number from that of thread 0, as bytes; none if they are the same."""
        return b"" if self.number is not None else (self.numbers - self.first).tobytes()

    @property
    def allocation(self) -> ptx.SharedAllocOp | None:
        """The allocation of an address in shared memory, None for anything else."""
        if len(self.symbols) == 1:
            for kind, key in self.symbols:
                if kind == "shared" and isinstance(key, ptx.SharedAllocOp):
                    return key
        return None

    @cached_property
    def divisor(self) -> int:
        """The greatest number that divides all distances; 0 if all threads have the same number."""
        return 0 if self.number is not None else int(np.gcd.reduce(self.numbers - self.first))

    def equals(self, other: ThreadValue) -> bool:
        """Returns True if both are the same in every thread."""
        if self is other:
            return True
        if self.symbols != other.symbols or self.first != other.first or self.number != other.number:
            return False
        return self.number is not None or np.array_equal(self.numbers, other.numbers)

    def descriptor_start(self) -> ThreadValue | None:
        """The shared address that a matrix descriptor starts at; None if that is not known."""
        match self.symbols:
            case ():
                symbols = ()
            case (Symbol("descriptor", key),):
                symbols = (Symbol("shared", key),)
            case _:
                return None
        return ThreadValue(symbols, (self.given & _DESCRIPTOR_ADDRESS) << 4, self.count)


_INTEGERS = (1, 32, 64)


def is_integer(type_: Attribute) -> bool:
    """Returns True for the integers whose values are followed."""
    if type(type_) is not IntegerType or type_.width.data not in _INTEGERS:
        return False
    return type_.signedness.data is Signedness.SIGNLESS


def wrapped(numbers: NumbersT, bits: int) -> NumbersT:
    """The signed reading of the bits that a register of so many keeps."""
    if bits == 1:
        return numbers & 1
    if isinstance(numbers, int):
        half = 1 << bits - 1
        return numbers if -half <= numbers < half else (numbers + half & (1 << bits) - 1) - half
    return numbers.astype(np.int32).astype(np.int64) if bits == 32 else numbers


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
            issues = {op.issue for op in entry.walk() if isinstance(op, ptx.PTXInstruction)}
            extents = [max((_LEAST_THREADS.get(issue, WARP_SIZE) for issue in issues), default=1)]
        self.count = extents[0] if all(n == 1 for n in extents[1:]) else 0
        """0 for a block of more than one dimension, of which nothing is known."""
        self._values: dict[SSAValue, ThreadValue] = {}
        self.get: Callable[[SSAValue], ThreadValue | None] = self._values.get
        """Returns the number of each thread, None if it is not known."""
        self._held: dict[SSAValue, tuple[int, bool] | None] = {}
        slots = Counter(op.address for op in flow.of_type(AllocOp))
        self.slots = {slot for slot, allocations in slots.items() if allocations == 1}
        """Places where one allocation of tensor memory, and no other, stores its address."""
        self.ids = np.arange(self.count, dtype=np.int64)
        unknown: list[ptx.AndOp] = []
        if self.count:
            for block in blocks:
                if block.args:
                    self._block_arguments(block)
                for op in flow.ops[block]:
                    if len(results := op.results) != 1:
                        continue
                    type_ = type_of(result := item(results, 0))
                    if type(type_) is not IntegerType or (bits := type_.width.data) not in _INTEGERS:
                        continue
                    if type_.signedness.data is Signedness.SIGNLESS:
                        self._define(op, result, bits)
                        if bits == 1 and type(op) is ptx.AndOp and result not in self._values:
                            unknown.append(op)
        self._varying: dict[SSAValue, bool] = {}
        self._choosing: dict[Block, list[SSAValue]] = {}
        for op in unknown:
            self._bound(op, op.result)

    def holds(self, condition: SSAValue) -> tuple[int, bool] | None:
        """
        Returns a mask of the threads in which a predicate holds, and True if it holds in all of them, False if in some
        of them. None if it may hold in any thread.
        """
        if condition not in self._held:
            value, held = self.get(condition), None
            if value is not None and value.is_known:
                everyone = (1 << self.count) - 1
                uniform = value.number
                held = mask_of(value.numbers != 0) if uniform is None else everyone if uniform else 0
            self._held[condition] = None if held is None else (held, True)
        return self._held[condition]

    def is_varying(self, value: SSAValue) -> bool:
        """Returns True if two threads of the block may disagree on `value`, by what it is computed from."""
        if value not in self._varying:
            self._find_varying(value)
        return self._varying[value]

    def _find_varying(self, value: SSAValue) -> None:
        """Follows what differs between threads from where it comes from to `value`, and to what that depends on."""
        dependents: dict[SSAValue, list[SSAValue]] = {value: []}
        waiting, differing = [value], list[SSAValue]()
        while waiting:
            one = waiting.pop()
            if one in self._varying:
                differing += [one] * self._varying[one]
                continue
            self._varying[one] = False
            if (known := self._values.get(one)) is not None and known.number is not None:
                continue
            if self._is_varying_source(one):
                differing.append(one)
                continue
            for source in self._sources_of(one):
                if source not in dependents:
                    dependents[source] = []
                    waiting.append(source)
                dependents[source].append(one)
        while differing:
            one = differing.pop()
            self._varying[one] = True
            for dependent in dependents[one]:
                if not self._varying[dependent]:
                    self._varying[dependent] = True
                    differing.append(dependent)

    def _is_varying_source(self, value: SSAValue) -> bool:
        if isinstance(owner := value.owner, Operation):
            return owner.parent in self._flow.position and not _is_uniform_source(owner)
        return owner is self._flow.blocks[0]

    def _sources_of(self, value: SSAValue) -> Sequence[SSAValue]:
        if isinstance(owner := value.owner, Operation):
            # All threads read the same answers, whatever is known of where they are.
            return () if isinstance(owner, ptx.QueryCancelOp) else owner.operands
        if owner not in self._choosing:
            self._choosing[owner] = _choosing(owner, self._flow) if owner in self._flow.position else []
        assert isinstance(value, BlockArgument)
        return [*incoming(owner, value), *self._choosing[owner]]

    def _block_arguments(self, block: Block) -> None:
        for argument in block.args:
            if type(type_of(argument)) is not IntegerType:
                continue
            sources = [self.get(value) for value in incoming(block, argument)]
            first = sources[0] if sources else None
            if first is not None and all(source is not None and first.equals(source) for source in sources):
                self._values[argument] = first

    def _define(self, op: Operation, result: SSAValue, bits: int) -> None:
        source = _SOURCES.get(type(op))
        value = None if source is None else source(op, self)
        if type(op) is ptx.AndOp and self._is_zero(op):
            value = ThreadValue((), 0, self.count)
        if value is None:
            operands: list[ThreadValue] = []
            for operand in operands_of(op):
                if (known := self._values.get(operand)) is None:
                    return
                operands.append(known)
            if not operands:
                return
            value = self._computed(op, operands)
            if value is None:
                if not _is_uniform_source(op) or not all(operand.number is not None for operand in operands):
                    return
                value = _symbol(self, "value", result)
        given = value.given
        if bits == 1:
            given = given & 1
        elif not isinstance(given, int) or not -1 << 31 <= given < 1 << 31:
            given = wrapped(given, bits)
        self._values[result] = value if given is value.given else ThreadValue(value.symbols, given, self.count)

    def _is_zero(self, op: ptx.AndOp) -> bool:
        """Returns True if one operand is known to be 0 in all threads, so that the other does not matter."""
        operands = (self._values.get(op.lhs), self._values.get(op.rhs))
        return any(one is not None and one.is_known and one.number == 0 for one in operands)

    def _bound(self, op: ptx.AndOp, result: SSAValue) -> None:
        """The `and` of two predicates holds in no more threads than the one that differs between them."""
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (held := self.holds(one)) is not None and not self.is_varying(other):
                self._held[result] = held[0], False

    def _computed(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        for operand in operands:
            if operand.symbols:
                return self._of_symbols(op, operands)
        if (function := _FUNCTIONS.get(type(op))) is not None:
            return ThreadValue((), function(*[operand.given for operand in operands]), self.count)
        rule = _RULES.get(type(op))
        found = None if rule is None else rule(op, *[operand.given for operand in operands])
        return None if found is None else ThreadValue((), found, self.count)

    def _of_symbols(self, op: Operation, operands: list[ThreadValue]) -> ThreadValue | None:
        """Sums, and what makes a matrix descriptor of an address."""
        match op, operands:
            case ptx.AddOp(), [a, b]:
                if len(a.symbols) + len(b.symbols) > _MOST_SYMBOLS:
                    return None
                return ThreadValue(_sum(a.symbols, b.symbols), a.given + b.given, self.count)
            case ptx.SubOp(), [a, b] if b.is_known:
                return ThreadValue(a.symbols, a.given - b.given, self.count)
            case ptx.CvtOp(), [a]:
                return a
            case ptx.ShrOp(), [ThreadValue(symbols=(Symbol("shared", ptx.SharedAllocOp() as alloc),)) as a, b]:
                if alloc.align.data % 16 or b.symbols or b.number != 4 or _any(a.given % 16 != 0):
                    return None
                return ThreadValue((Symbol("descriptor", alloc),), a.given >> 4, self.count)
            case ptx.AndOp(), [a, b] if b.is_known:
                # Shared memory has less than 2^18 bytes: no bit of an address, or of its 16-byte units, is lost.
                address_bits = {"shared": 18, "descriptor": 14}.get(a.symbols[0].kind) if len(a.symbols) == 1 else None
                if address_bits is None or _any(~b.given & (1 << address_bits) - 1 != 0):
                    return None
                return a
            case ptx.OrOp(), [ThreadValue(symbols=(Symbol("descriptor"),)) as a, b] if b.is_known:
                if _any(b.given & _DESCRIPTOR_ADDRESS != 0):
                    return None
                return ThreadValue(a.symbols, a.given + b.given, self.count)
            case _:
                return None


def _symbol(values: ThreadValues, kind: Literal["shared", "tensor", "value"], key: object) -> ThreadValue:
    return ThreadValue((Symbol(kind, key),), 0, values.count)


def _constant(op: ptx.ConstantOp, values: ThreadValues) -> ThreadValue | None:
    return ThreadValue((), value.value.data, values.count) if isinstance(value := op.value, IntegerAttr) else None


def _elected(op: ptx.ElectSyncOp, values: ThreadValues) -> ThreadValue:
    # Some lane of each warp, always the same: any choice shows who is another thread.
    return ThreadValue((), np.asarray(values.ids % WARP_SIZE == 0, np.int64), values.count)


def _loaded(op: ptx.LdOp, values: ThreadValues) -> ThreadValue | None:
    if op.space.data is ptx.Space.SHARED and op.address in values.slots and not op.offset.value.data:
        return _symbol(values, "tensor", op.address.owner)
    return None


def _special(op: ptx.ReadSpecialOp, values: ThreadValues) -> ThreadValue:
    match name := op.register.data.value:
        case "tid.x":
            return ThreadValue((), values.ids, values.count)
        case "laneid":
            return ThreadValue((), values.ids % WARP_SIZE, values.count)
        case "tid.y" | "tid.z":
            return ThreadValue((), 0, values.count)
        case _:
            return _symbol(values, "value", name)


_SOURCES: Mapping[type[Operation], Callable[[Any, ThreadValues], ThreadValue | None]] = {
    ptx.ConstantOp: _constant,
    ptx.ReadSpecialOp: _special,
    ptx.SharedAllocOp: lambda op, values: _symbol(values, "shared", op),
    ptx.LdParamOp: lambda op, values: _symbol(values, "value", op.param.data),
    ptx.CvtaToGlobalOp: lambda op, values: values.get(op.operand),
    ptx.ElectSyncOp: _elected,
    ptx.LdOp: _loaded,
}
"""Operations whose results are not computed from numbers -> their values."""


def arithmetic(op: Operation, numbers: Sequence[int | Numbers]) -> int | Numbers | None:
    """
    Computes an operation on integers, number by number, before they are `wrapped`. None if it does not say what.

    Operands are one integer each for all numbers, or as many integers as the others.
    """
    compute = arithmetic_of(op)
    return None if compute is None else compute(*numbers)


def arithmetic_of(op: Operation) -> Callable[..., int | Numbers | None] | None:
    """Returns the function of the operands that `arithmetic` computes; None if the operation does not say what."""
    if (function := _FUNCTIONS.get(type(op))) is not None:
        return function
    rule = _RULES.get(type(op))
    return None if rule is None else partial(rule, op)


def _any(found: bool | Threads) -> bool:
    return found if isinstance(found, bool) else bool(found.any())


def _and(a: NumbersT, b: NumbersT) -> NumbersT:
    return a & b


def _or(a: NumbersT, b: NumbersT) -> NumbersT:
    return a | b


def _xor(a: NumbersT, b: NumbersT) -> NumbersT:
    return a ^ b


def _not(op: ptx.NotOp, a: NumbersT) -> NumbersT:
    return 1 - a if op.result.type == i1 else ~a


def _cvt(op: ptx.CvtOp, a: NumbersT) -> NumbersT:
    return _unsigned(a, op.operand) if op.unsigned is not None and op.result.type == i64 else a


def _mul_wide(op: ptx.MulWideOp, a: NumbersT, b: NumbersT) -> NumbersT:
    return a * b if op.unsigned is None else _unsigned(a, op.lhs) * _unsigned(b, op.rhs)


def _setp(op: ptx.SetpOp, a: NumbersT, b: NumbersT) -> int | Numbers | None:
    if (compare := _COMPARE.get(op.comparison.data)) is None:
        return None
    if op.unsigned is not None:
        a, b = _unsigned(a, op.lhs), _unsigned(b, op.rhs)
        if _any(a < 0) or _any(b < 0):
            return None
    found = compare(a, b)
    return int(found) if isinstance(found, bool) else found.astype(np.int64)


def _selp(op: ptx.SelpOp, condition: int | Numbers, a: int | Numbers, b: int | Numbers) -> int | Numbers:
    if isinstance(condition, int):
        return a if condition else b
    return np.where(condition != 0, a, b)


def _shl(op: ptx.ShlOp, a: NumbersT, b: NumbersT) -> NumbersT | None:
    return a << b if _is_shift(op, b) else None


def _shr(op: ptx.ShrOp, a: NumbersT, b: NumbersT) -> NumbersT | None:
    if op.unsigned is not None and _any((a := _unsigned(a, op.value)) < 0):
        return None
    return a >> b if _is_shift(op, b) else None


def _is_shift(op: ptx.ShlOp | ptx.ShrOp, amount: int | Numbers) -> bool:
    return not _any(amount < 0) and not _any(amount >= ptx.width(op.result.type))


def _div(op: ptx.DivOp, a: NumbersT, b: NumbersT) -> NumbersT | None:
    # Truncation towards zero; of numbers that are not negative.
    return None if _any(a < 0) or _any(b <= 0) else a // b


def _rem(op: ptx.RemOp, a: NumbersT, b: NumbersT) -> NumbersT | None:
    return None if _any(a < 0) or _any(b <= 0) else a % b


def _extremum(op: ptx.MinOp | ptx.MaxOp, a: NumbersT, b: NumbersT) -> int | Numbers | None:
    if op.unsigned is not None:
        a, b = _unsigned(a, op.lhs), _unsigned(b, op.rhs)
        if _any(a < 0) or _any(b < 0):
            return None
    least = isinstance(op, ptx.MinOp)
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if least else max(a, b)
    return np.minimum(a, b) if least else np.maximum(a, b)


def _mad_lo(op: ptx.MadLoOp, a: NumbersT, b: NumbersT, c: NumbersT) -> NumbersT:
    return a * b + c


_FUNCTIONS: Mapping[type[Operation], Callable[..., int | Numbers]] = {
    ptx.AddOp: operator.add,
    ptx.SubOp: operator.sub,
    ptx.MulLoOp: operator.mul,
    ptx.AndOp: _and,
    ptx.OrOp: _or,
    ptx.XorOp: _xor,
}
_RULES: Mapping[type[Operation], Callable[..., int | Numbers | None]] = {
    ptx.MadLoOp: _mad_lo,
    ptx.MinOp: _extremum,
    ptx.MaxOp: _extremum,
    ptx.NotOp: _not,
    ptx.CvtOp: _cvt,
    ptx.MulWideOp: _mul_wide,
    ptx.SetpOp: _setp,
    ptx.SelpOp: _selp,
    ptx.ShlOp: _shl,
    ptx.ShrOp: _shr,
    ptx.DivOp: _div,
    ptx.RemOp: _rem,
}

_COMPARE: Mapping[ptx.Comparison, Callable[[Any, Any], bool | Threads]] = {
    ptx.Comparison.EQ: operator.eq,
    ptx.Comparison.NE: operator.ne,
    ptx.Comparison.LT: operator.lt,
    ptx.Comparison.LE: operator.le,
    ptx.Comparison.GT: operator.gt,
    ptx.Comparison.GE: operator.ge,
}


def _sum(a: tuple[Symbol, ...], b: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    return tuple(sorted((*a, *b), key=lambda s: (s.kind, id(s.key)))) if a and b else a or b


def _unsigned(numbers: NumbersT, value: SSAValue) -> NumbersT:
    """The unsigned reading; negative numbers stay where it has more than 63 bits."""
    return numbers & 0xFFFFFFFF if ptx.width(value.type) == 32 else numbers


_OF_THREADS = (
    ptx.SpecialRegister.TID_X,
    ptx.SpecialRegister.TID_Y,
    ptx.SpecialRegister.TID_Z,
    ptx.SpecialRegister.LANEID,
)


def _is_uniform_source(op: Operation) -> bool:
    """Returns True if the results of `op` are the same in all threads whose operands are."""
    if type(op) is ptx.ReadSpecialOp:
        return op.register.data not in _OF_THREADS
    return isinstance(op, ptx.PureInstruction)


def incoming(block: Block, argument: BlockArgument) -> list[SSAValue]:
    """The values that branches pass for an argument of a block."""
    found: list[SSAValue] = []
    use = block.first_use
    while use is not None:
        branch = user_of(use)
        if type(branch) is ptx.BraOp:
            found.append(item(operands_of(branch), argument.index))
        elif type(branch) is ptx.CondBraOp:
            found.append(item(branch.then_arguments if use.index == 0 else branch.else_arguments, argument.index))
        use = next_use(use)
    return found


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
            if len(ways) > 1 and isinstance(branch := other.last_op, ptx.CondBraOp):
                found[branch.condition] = None
    return list(found)
