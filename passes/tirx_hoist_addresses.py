"""`tirx-hoist-addresses`: what addresses in a loop have in common in all iterations is computed in front of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.ptx.arith import AddOp, AndOp, MadLoOp, MulLoOp, MulWideOp, OrOp, ShlOp, ShrOp, SubOp, XorOp
from tirx.dialects.ptx.base import is_float
from tirx.dialects.ptx.conversion import CvtOp
from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp, entries
from tirx.passes.analysis.register_pressure import registers_alive, registers_of_thread, width
from tirx.passes.emit.emitter import Emitter, erase

_ARITHMETIC = (AddOp, AndOp, CvtOp, MadLoOp, MulLoOp, MulWideOp, OrOp, ShlOp, ShrOp, SubOp, XorOp)

_SAVED = 4
"""Instructions of an iteration that a register of 32 bits, which lives through the whole loop, has to save."""

_SPARE = 8
"""Registers of a thread that stay free in a loop; ptxas needs some for what it computes itself."""


class TirxHoistAddressesPass(ModulePass):
    """
    Loop-invariant code motion of integer arithmetic, where it saves several instructions an iteration for a register.

    Constant terms of sums are added first: `(tile + slot) + lane` becomes `slot + (tile + lane)`. ptxas leaves such
    arithmetic in loops whose products need most registers. Loops that need all registers stay as they are.
    """

    name = "tirx-hoist-addresses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            known: dict[Block | None, dict[Hashable, Operation]] = {}
            for loop in tuple(_loops(entry)):
                _hoist(loop, known.setdefault(loop.parent, {}))


def _loops(op: Operation) -> Iterator[scf.ForOp]:
    """Loops in program order, those inside before those around: what is in front of one may move on."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _loops(inner)
    if isinstance(op, scf.ForOp):
        yield op


def _hoist(loop: scf.ForOp, known: dict[Hashable, Operation]) -> None:
    """Hoists what one loop computes; `known` are the operations that have been put into the block around it."""
    same = _invariants(loop)
    free: int | None = None
    for value, op in tuple(same.items()):
        users = {use.operation for use in value.uses}
        if isinstance(op, ConstantOp) or (len(users) == 1 and all(_is_among(user, same) for user in users)):
            continue  # what is computed of it is what to keep
        needed = list(dict.fromkeys(_needed(op, same)))
        if sum(not isinstance(each, ConstantOp) for each in needed) < _SAVED * width(value):
            continue
        if free is None:
            free = registers_of_thread(loop) - registers_alive(loop) - _SPARE
        if free < width(value):
            break
        free -= width(value)
        new = _copied(needed, Emitter.before(loop), known)
        for use in tuple(value.uses):
            if loop.is_ancestor(use.operation):
                use.operation.operands[use.index] = new[value]
        del same[value]
    for op in reversed(tuple(loop.body.walk())):
        if _is_integer_arithmetic(op) and op.results[0].first_use is None:
            erase(op)


def _invariants(loop: scf.ForOp) -> dict[SSAValue, Operation]:
    """Integers that are the same in all iterations -> the operations in the loop that compute them, in order."""
    found: dict[SSAValue, Operation] = {}
    inside: set[SSAValue] = {
        arg for op in loop.walk() for region in op.regions for block in region.blocks for arg in block.args
    }
    for op in tuple(loop.body.walk()):
        inside.update(op.results)
        if isinstance(op, AddOp) and (constant := _constant_terms(op, found, inside)) is not None:
            found[constant.result] = constant
            inside.add(constant.result)
        if _is_integer_arithmetic(op) and all(operand in found or operand not in inside for operand in op.operands):
            found[op.results[0]] = op
    return found


def _is_integer_arithmetic(op: Operation) -> bool:
    if not isinstance(op, (ConstantOp, *_ARITHMETIC)):
        return False
    return not any(is_float(value.type) for value in (*op.operands, *op.results))


def _constant_terms(add: AddOp, same: dict[SSAValue, Operation], inside: set[SSAValue]) -> AddOp | None:
    """Turns `(x + a) + b` into `x + (a + b)`, where x changes from iteration to iteration; returns `a + b`."""
    first, second = _split(add, same, inside)
    if first is None or second is None or not isinstance(inner := first.owner, AddOp):
        return None
    changing, term = _split(inner, same, inside)
    if changing is None or term is None:
        return None
    constant = Emitter.before(add)(AddOp(term, second))
    add.operands = [changing, constant.result]
    return constant


def _split(
    add: AddOp, same: dict[SSAValue, Operation], inside: set[SSAValue]
) -> tuple[SSAValue | None, SSAValue | None]:
    """The term of a sum that changes, and the one that is the same in all iterations but not known to ptxas."""
    changing = [value for value in add.operands if value in inside and value not in same]
    others = [value for value in add.operands if value not in changing and not _is_known(value)]
    return (changing[0], others[0]) if len(changing) == len(others) == 1 else (None, None)


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


def _needed(op: Operation, same: dict[SSAValue, Operation]) -> Iterator[Operation]:
    """The operations that compute a value, operands first."""
    for operand in op.operands:
        if (inner := same.get(operand)) is not None:
            yield from _needed(inner, same)
    yield op


def _copied(ops: list[Operation], emit: Emitter, known: dict[Hashable, Operation]) -> dict[SSAValue, SSAValue]:
    """Values -> their copies in front of a loop. What is there already is not computed again."""
    new: dict[SSAValue, SSAValue] = {}
    for op in ops:
        operands = [new.get(operand, operand) for operand in op.operands]
        key = type(op), tuple(operands), frozenset(op.properties.items()), op.results[0].type
        if (copy := known.get(key)) is None:
            copy = known[key] = emit(op.clone(new))
        new[op.results[0]] = copy.results[0]
    return new
