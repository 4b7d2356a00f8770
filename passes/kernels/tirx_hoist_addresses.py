"""`tirx-hoist-addresses`: what addresses in a loop have in common in all iterations is computed in front of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.definition import item
from tirx.dialects.nesting import operations
from tirx.dialects.ptx.arith import (
    AddOp,
    AndOp,
    DivOp,
    MadLoOp,
    MulLoOp,
    MulWideOp,
    OrOp,
    RemOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.dialects.ptx.base import FLOAT_TYPES
from tirx.dialects.ptx.conversion import CvtOp
from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp, entries
from tirx.dialects.ptx.sync import SetMaxNRegOp
from tirx.dialects.xdsl_private import blocks, clone, operands_of, type_of, users_of
from tirx.passes.ir.emitter import Emitter, erase, replace_uses
from tirx.passes.kernels.register_pressure import registers_alive, registers_of_threads, width

_INSTRUCTIONS: dict[type[Operation], tuple[int, int]] = {
    **dict.fromkeys((AddOp, AndOp, OrOp, ShlOp, ShrOp, SubOp, XorOp), (1, 2)),
    **dict.fromkeys((CvtOp, MulWideOp), (1, 1)),
    **dict.fromkeys((MadLoOp, MulLoOp), (1, 3)),
    **dict.fromkeys((DivOp, RemOp), (20, 80)),
}
"""Integer arithmetic -> instructions that 32 and 64 bits of it take, about: the GPU has none that divides."""

_SAVED = 3
"""Instructions of an iteration that a register of 32 bits, which lives through the whole loop, has to save."""

_SPARE = 8
"""Registers of a thread that stay free in a loop; ptxas needs some for what it computes itself."""


class TirxHoistAddressesPass(ModulePass):
    """
    Loop-invariant code motion of integer arithmetic, where it saves several instructions an iteration for a register.

    Constant terms of sums are added first: `(tile + slot) + lane` becomes `slot + (tile + lane)`. ptxas leaves such
    arithmetic in loops whose products need most registers. Of loops that need all registers only divisions are hoisted.
    """

    name = "tirx-hoist-addresses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            _Nest().hoist_from(entry, registers_of_threads(entry))


class _Nest:
    """The loops of an entry, those inside before those around: what is in front of one may move on.

    What changes in a loop changes in those around it, so that each loop looks at its own operations and at what its
    inner loops have left of what is the same in all their iterations.
    """

    def __init__(self):
        self._depths: dict[Block | None, int] = {}
        self._known: dict[Block | None, dict[Hashable, Operation]] = {}
        """Block -> the operations that have been put into it."""
        self._left: dict[scf.ForOp, list[Operation]] = {}

    def hoist_from(self, op: Operation, registers: int, depth: int = 0) -> None:
        """Hoists what loops in an operation compute, in blocks so deep, where threads have so many registers."""
        for region in op.regions:
            for block in blocks(region):
                self._depths[block] = depth
                of_threads = registers
                for inner in operations(block):
                    if isinstance(inner, SetMaxNRegOp):
                        of_threads = inner.count.value.data
                    if inner.regions:
                        self.hoist_from(inner, of_threads, depth + 1)
                        if isinstance(inner, scf.ForOp):
                            self._hoist(inner, of_threads)

    def _ops(self, op: Operation) -> list[Operation]:
        """The integer arithmetic in `op`, of inner loops only what is the same in all their iterations."""
        found: list[Operation] = []
        for region in op.regions:
            for block in blocks(region):
                for inner in operations(block):
                    if inner.regions:
                        found += self._left[inner] if isinstance(inner, scf.ForOp) else self._ops(inner)
                    elif _is_integer_arithmetic(inner):
                        found.append(inner)
        return found

    def _hoist(self, loop: scf.ForOp, registers: int) -> None:
        """Hoists what one loop computes, whose threads have so many registers."""
        known = self._known.setdefault(loop.parent, {})
        ops = self._ops(loop)
        same = _Invariants(loop, self._depths)
        same.find(ops)
        free: int | None = None
        full = False
        used = set[SSAValue]()
        """What operations in the loop use of what has been put in front of it."""
        for value, op in tuple(same.found.items()):
            users = {*users_of(value)}
            if len(users) == 1 and all(_is_among(user, same.found) for user in users):
                continue  # what is computed of it is what to keep
            needed = list(dict.fromkeys(same.needed(op)))
            new = _copied(needed, None, known)  # in front of this loop, or of an earlier one: then it lives longer
            if new is None or new[value] not in used:
                if new is None and sum(map(_instructions, needed)) < _SAVED * width(value):
                    continue
                if free is None:
                    free = registers - registers_alive(loop) - _SPARE
                full = full or free < width(value)
                if full and not any(isinstance(each, DivOp | RemOp) for each in needed):
                    continue
                free -= width(value)
                new = _copied(needed, Emitter.before(loop), known)
                assert new is not None
            for use in tuple(value.uses):
                if loop.is_ancestor(use.operation):
                    use.operation.operands[use.index] = new[value]
                    used.add(new[value])
            del same.found[value]
        addresses = [op for op in ops if type(op) is AddOp and same.is_worth_carrying(op)]
        if addresses and free is None:
            free = registers - registers_alive(loop) - _SPARE
        if addresses and not full and free is not None and free >= 2 * len(addresses):
            loop = _carried(loop, addresses, same)
        same.erase_unused(ops)
        self._left[loop] = [op for op in same.found.values() if op.parent is not None]


class _Invariants:
    """Integers that are the same in all iterations of a loop."""

    def __init__(self, loop: scf.ForOp, depths: Mapping[Block | None, int]):
        self.loop, self._depth, self._depths = loop, depths[loop.parent], depths
        self.found: dict[SSAValue, Operation] = {}
        """The operations in the loop that compute them, in order, but for constants."""
        self._made: list[Operation] = []

    def find(self, ops: Iterable[Operation]) -> None:
        """Finds the addresses among `ops`, which come in order."""
        for op in ops:
            if isinstance(op, ConstantOp):
                continue
            if isinstance(op, AddOp) and (constant := self._constant_terms(op)) is not None:
                self.found[constant.result] = constant
                self._made.append(constant)
            if not any(map(self._is_changing, operands_of(op))):
                self.found[op.results[0]] = op

    def _is_changing(self, value: SSAValue) -> bool:
        if value in self.found or (type(value) is OpResult and type(value.op) is ConstantOp):
            return False
        return self._is_inside(value)

    def _is_inside(self, value: SSAValue) -> bool:
        """Returns True if the loop defines a value that it uses."""
        owner = value.op if type(value) is OpResult else value.owner
        return self._depths[owner if isinstance(owner, Block) else owner.parent] > self._depth

    def needed(self, op: Operation) -> Iterator[Operation]:
        """The operations in the loop that compute a value, operands first."""
        for operand in operands_of(op):
            inner = self.found.get(operand)
            if inner is not None:
                yield from self.needed(inner)
            elif isinstance(operand.owner, ConstantOp) and self._is_inside(operand):
                yield operand.owner
        yield op

    def step(self, value: SSAValue) -> int | None:
        """The number that each iteration adds to an integer, None where it differs."""
        if not self._is_changing(value):
            return 0
        match op := value.owner:
            case Block():
                is_counter = op is self.loop.body.block and value is op.args[0]
                return _number(self.loop.step) if is_counter else None
            case AddOp():
                first, second = map(self.step, op.operands)
                return None if first is None or second is None else first + second
            case ShlOp() | MulLoOp() if (by := _number(op.operands[1])) is not None:
                # Of more bits than there are, nothing is left (PTX ISA, "shl").
                factor = by if isinstance(op, MulLoOp) else 1 << by if 0 <= by < width(value) * 32 else 0
                step = self.step(op.operands[0])
                return None if step is None else step * factor
            case _:
                return None

    def is_worth_carrying(self, address: AddOp) -> bool:
        """Returns True for an address of 64 bits that a sum in each iteration replaces, with fewer instructions.

        What others use as well counts in part.
        """
        if width(address.result) != 2 or address.parent is not self.loop.body.block or not self.step(address.result):
            return False
        if all(type(user) is AddOp and self.step(user.result) for user in users_of(address.result)):
            return False
        saved = sum(
            _instructions(op) / max(1, len(users_of(item(op.results, 0)))) for op in set(self.computed(address))
        )
        return saved > _instructions(address)

    def computed(self, op: Operation) -> Iterator[Operation]:
        """The operations in the loop that compute an address, operands first."""
        for operand in operands_of(op):
            if isinstance(owner := operand.owner, Operation) and self._is_inside(operand):
                yield from self.computed(owner)
        yield op

    def erase_unused(self, ops: Iterable[Operation]) -> None:
        """Erases what nothing uses of `ops` in the loop, and of what they are computed from."""
        pending = [*ops, *self._made]
        while pending:
            op = pending.pop()
            if op.parent is None or item(op.results, 0).first_use is not None:
                continue
            for operand in operands_of(op):
                if isinstance(operand.owner, Operation) and self._is_inside(operand):
                    pending += [operand.owner] * _is_integer_arithmetic(operand.owner)
            erase(op)

    def _constant_terms(self, add: AddOp) -> AddOp | None:
        """Turns `(x + a) + b` into `x + (a + b)`, where x changes from iteration to iteration; returns `a + b`."""
        if (parts := self._split(add)) is None:
            return None
        first, second = parts
        if not isinstance(inner := first.owner, AddOp) or (parts := self._split(inner)) is None:
            return None
        changing, term = parts
        constant = Emitter.before(add)(AddOp(term, second))
        add.operands = [changing, constant.result]
        return constant

    def _split(self, add: AddOp) -> tuple[SSAValue, SSAValue] | None:
        """The term of a sum that changes, and the one that is the same in all iterations but not known to ptxas."""
        changing = [value for value in operands_of(add) if self._is_changing(value)]
        others = [value for value in operands_of(add) if value not in changing and not _is_known(value)]
        return (changing[0], others[0]) if len(changing) == len(others) == 1 else None


def _instructions(op: Operation) -> int:
    narrow, wide = _INSTRUCTIONS.get(type(op), (0, 0))
    return wide if width(item(op.results, 0)) == 2 else narrow


def _carried(loop: scf.ForOp, addresses: list[AddOp], same: _Invariants) -> scf.ForOp:
    """Lets a loop carry addresses that grow by a constant; returns the loop in its place."""
    body, emit = loop.body.block, Emitter.before(loop)
    last = body.last_op
    assert isinstance(last, scf.YieldOp)
    steps = [same.step(address.result) for address in addresses]
    start: dict[SSAValue, SSAValue] = {body.args[0]: loop.lb}
    for op in dict.fromkeys(op for address in addresses for op in same.computed(address)):
        start[op.results[0]] = emit(op.clone(start)).results[0]
    first = [start[address.result] for address in addresses]
    end = Emitter.before(last)
    for address, step in zip(addresses, steps, strict=True):
        place = body.insert_arg(i64, len(body.args))
        replace_uses(address.result, place)
        by = end(ConstantOp.integer(step or 0, i64)).result
        last.operands = [*last.operands, end(AddOp(place, by)).result]
    operands, types = [*loop.operands, *first], [*(result.type for result in loop.results), *(i64 for _ in first)]
    made = emit(scf.ForOp.create(operands=operands, result_types=types, regions=[loop.detach_region(loop.body)]))
    for old, result in zip(loop.results, made.results, strict=False):
        replace_uses(old, result)
    made.attributes.update(loop.attributes)
    erase(loop)
    return made


def _number(value: SSAValue) -> int | None:
    """The value of an integer constant, None of others."""
    constant = value.owner.value if isinstance(value.owner, ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def _is_integer_arithmetic(op: Operation) -> bool:
    if (kind := type(op)) is not ConstantOp and kind not in _INSTRUCTIONS:
        return False
    if type(type_of(item(op.results, 0))) in FLOAT_TYPES:
        return False
    return kind is not CvtOp or type(type_of(item(operands_of(op), 0))) not in FLOAT_TYPES


def _is_known(value: SSAValue) -> bool:
    """Returns True for numbers and places in shared memory, which are part of instructions."""
    match value.owner:
        case ConstantOp() | SharedAllocOp():
            return True
        case AddOp() as add:
            return all(map(_is_known, add.operands))
        case _:
            return False


def _is_among(op: Operation, found: dict[SSAValue, Operation]) -> bool:
    return bool(op.results) and op.results[0] in found


def _copied(
    ops: list[Operation], emit: Emitter | None, known: dict[Hashable, Operation]
) -> dict[SSAValue, SSAValue] | None:
    """Values -> their copies in front of a loop. What is there already is not computed again; None without `emit` if
    something is not there."""
    new: dict[SSAValue, SSAValue] = {}
    for op in ops:
        operands = tuple([new.get(operand, operand) for operand in operands_of(op)])
        key = type(op), operands, frozenset(op.properties.items()), type_of(item(op.results, 0))
        if (copy := known.get(key)) is None:
            if emit is None:
                return None
            copy = known[key] = emit(clone(op, new))
        new[op.results[0]] = copy.results[0]
    return new
