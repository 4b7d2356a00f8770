"""Names for scalars that every role can compute: equal names mean equal values, whichever role computes them."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.arith import CmpiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import Pure

from tirx.dialects.tirx import AcquireOp, ForOp, RingOp, TilesOp


def scalar_name(value: SSAValue) -> Hashable:
    """
    A name of the value of a scalar.

    Pure expressions of the arguments of the kernel, of block ids and of the iterations of loops have equal names if
    they are equal terms. What a ring hands on has one name for all roles that read it once per iteration. Every other
    value has a name of its own.
    """
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if isinstance(loop, ForOp) and value.index == 0:
            return ("iteration", loop.loop.data)
        if isinstance(loop, TilesOp):
            return ("tile", loop.loop.data, value.index)
        return ("argument", id(value))
    if not isinstance(value, OpResult):
        return ("value", id(value))
    op = value.op
    if isinstance(op, AcquireOp) and _is_only_acquire(op):
        return ("ring", id(RingOp.of(op.ring)), value.index, loop_symbols(op))
    if not op.has_trait(Pure) or op.regions:
        return ("value", id(op), value.index)
    attributes = tuple(sorted((*op.properties.items(), *op.attributes.items()), key=lambda item: item[0]))
    return (op.name, value.index, attributes, tuple(map(scalar_name, op.operands)))


def loop_symbols(op: Operation) -> tuple[str, ...]:
    """The symbols of the loops around an operation, innermost first."""
    symbols: list[str] = []
    around = op.parent_op()
    while around is not None:
        if isinstance(around, ForOp | TilesOp):
            symbols.append(around.loop.data)
        around = around.parent_op()
    return tuple(symbols)


def _is_only_acquire(op: AcquireOp) -> bool:
    """True if the role of `op` acquires its ring at this station nowhere else."""
    role = _role(op)
    others = (use.operation for use in op.ring.uses)
    return not any(
        isinstance(other, AcquireOp) and other is not op and other.station == op.station and _role(other) is role
        for other in others
    )


def _role(op: Operation) -> Operation | None:
    around: Operation | None = op
    while around is not None and around.name not in ("tirx.role", "tirx.kernel"):
        around = around.parent_op()
    return around


def integer_constant(value: SSAValue) -> int | None:
    """The value of an integer constant, None for anything else."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) and isinstance(value.op.value, IntegerAttr):
        return value.op.value.value.data
    return None


def zero_test(condition: SSAValue) -> tuple[Hashable, bool] | None:
    """The scalar that a condition compares with 0, and whether it is true for 0; None for another condition."""
    if not isinstance(condition, OpResult) or not isinstance(condition.op, CmpiOp):
        return None
    compare = condition.op
    if integer_constant(compare.rhs) != 0:
        return None
    # Predicates of arith.cmpi: eq = 0, ne = 1, sgt = 4, ugt = 8. Numbers of iterations are not negative.
    match compare.predicate.value.data:
        case 0:
            return scalar_name(compare.lhs), True
        case 1 | 4 | 8:
            return scalar_name(compare.lhs), False
        case _:
            return None
