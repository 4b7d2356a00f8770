"""`tirx-inline`: calls of functions become their bodies, marked loops their iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, UnitAttr, i8, i16, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import enclosing
from tirx.dialects.tirx import AllocOp, FoldOp, KernelOp, MapOp, MemorySpace, kernels
from tirx.passes.ir.emitter import Emitter, constant_value, erase, take_over
from tirx.passes.ir.scheduled import STAGES
from tirx.passes.ir.stored_elements import elements_as_stored
from tirx.passes.ir.trip_count import trip_count
from tirx.rules import InlineError

if TYPE_CHECKING:
    from xdsl.dialects import affine, func

UNROLL = "tirx.unroll"
"""The attribute of a loop that becomes its iterations, or with a number has that many in one."""

MOST_ITERATIONS = 1024
"""The most that a loop may have which becomes them."""

_DEEPEST = 32
"""Calls within calls: more are taken for functions that call themselves."""


def _place(before: Operation, block: Block, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
    """Puts copies of the operations of a block but the last one in front of another; returns what that one gives."""
    for op in list(block.ops)[:-1]:
        copy = Emitter(before, op.location)(op.clone(values))
        values.update(zip(op.results, copy.results, strict=True))
    last = block.last_op
    assert last is not None, "the verifier asks for a terminator"
    return [values.get(value, value) for value in last.operands]


def _inline(module: ModuleOp, call: func.CallOp) -> None:
    from xdsl.dialects import func  # few kernels have calls

    callee = SymbolTable.lookup_symbol(module, call.callee)
    if not isinstance(callee, func.FuncOp) or len(callee.body.blocks) != 1:
        raise InlineError(call, f"expected a function of one block in this module, found {call.callee}")
    block = callee.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    results = _place(call, block, values)
    for old, new in zip(call.results, results, strict=True):
        old.replace_all_uses_with(new)
    erase(call)


def _factor(loop: scf.ForOp) -> int | None:
    """Returns how many iterations of a marked loop become one; None for all."""
    match loop.attributes.get(UNROLL, UnitAttr()):
        case UnitAttr():
            return None
        case IntegerAttr(value=value) if 2 <= value.data <= MOST_ITERATIONS and not _in_body(loop):
            return value.data
        case found:
            raise InlineError(
                loop,
                f"expected {UNROLL} without a value, for all iterations, or outside of maps and folds a number from 2 "
                f"to {MOST_ITERATIONS}, how many become one; found {found}",
            )


def _unroll_in_part(loop: scf.ForOp, factor: int) -> None:
    """Makes one iteration of `factor` of them; a second loop has what is left, which no ring is made for."""
    step = constant_value(loop.step)
    if step is None or step <= 0 or not isinstance(loop.lb.type, IndexType):
        raise InlineError(loop, "expected a counter of type index and a constant positive step of a loop to unroll")
    emit = Emitter(loop, loop.location)
    trips = trip_count(emit, loop)
    if isinstance(trips, int) and trips < factor:
        del loop.attributes[UNROLL]
        return
    if isinstance(trips, int):
        low = constant_value(loop.lb)
        assert low is not None  # or the number of iterations would not be known
        middle, left = emit.constant(low + trips // factor * factor * step, IndexType()), trips % factor > 0
    else:
        middle, left = emit.add(loop.lb, emit.mul(emit.div(trips, factor), factor * step)), True
    block, types = loop.body.block, [argument.type for argument in loop.body.block.args]
    body = Block(arg_types=types)
    for new, old in zip(body.args, block.args, strict=True):
        new.name_hint = old.name_hint
    inside = Emitter(InsertPoint.at_end(body), loop.location)
    end = inside(scf.YieldOp())
    carried: list[SSAValue] = list(body.args[1:])
    for turn in range(factor):
        index = Emitter(end, loop.location).add(body.args[0], turn * step)
        carried = _place(end, block, dict(zip(block.args, (index, *carried), strict=True)))
    inside(scf.YieldOp(*carried))
    erase(end)
    unrolled = emit(scf.ForOp(loop.lb, middle, emit.constant(factor * step, IndexType()), loop.iter_args, Region(body)))
    unrolled.attributes.update({name: value for name, value in loop.attributes.items() if name != UNROLL})
    results: Sequence[SSAValue] = unrolled.results
    if left:
        rest = emit(scf.ForOp(middle, loop.ub, loop.step, results, loop.detach_region(loop.body)))
        rest.attributes[STAGES] = i32_attr(1)
        results = rest.results
    for old, new in zip(loop.results, results, strict=True):
        take_over(old, new)
    erase(loop)


def _unroll(loop: scf.ForOp) -> None:
    low, high, step = (constant_value(value) for value in (loop.lb, loop.ub, loop.step))
    if low is None or high is None or step is None or step <= 0:
        raise InlineError(loop, "expected constant bounds and a positive step of a loop that becomes its iterations")
    turns = range(low, high, step)
    if len(turns) > MOST_ITERATIONS:
        raise InlineError(loop, f"expected at most {MOST_ITERATIONS} iterations, found {len(turns)}")
    emit, block = Emitter(loop, loop.location), loop.body.block
    carried: list[SSAValue] = list(loop.iter_args)
    index = cast("IndexType | IntegerType", loop.lb.type)
    for turn in turns:
        arguments = (emit.constant(turn, index), *carried)
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        carried = _place(loop, block, values)
    for old, new in zip(loop.results, carried, strict=True):
        old.replace_all_uses_with(new)
    erase(loop)


def _choose(branch: scf.IfOp) -> None:
    """Computes both ways of a branch in the body of a map or fold, and chooses of each two results."""
    ways = [_place(branch, region.block, {}) for region in branch.regions if region.blocks]
    for result, *values in zip(branch.results, *ways, strict=True):
        chosen = Emitter(branch, branch.location)(arith.SelectOp(branch.cond, *values))
        result.replace_all_uses_with(chosen.result)
    erase(branch)


def _apply(op: affine.ApplyOp) -> None:
    """Makes `arith` of an affine map of indices."""
    emit, operands, dims = Emitter.before(op), op.mapOperands, op.map.data.num_dims

    def value(expr: AffineExpr) -> SSAValue:
        match expr:
            case AffineConstantExpr():
                return emit.constant(expr.value, IndexType())
            case AffineDimExpr():
                return operands[expr.position]
            case AffineSymExpr():
                return operands[dims + expr.position]
            case AffineBinaryOpExpr():
                a, b = value(expr.lhs), value(expr.rhs)
                if expr.kind is not AffineBinaryOpKind.Mod:
                    return emit(_AFFINE[expr.kind](a, b)).results[0]
                whole = emit.mul(emit(arith.FloorDivSIOp(a, b)).result, b)
                return emit(arith.SubiOp(a, whole)).result
            case _:
                raise AssertionError(expr)

    op.result.replace_all_uses_with(value(op.map.data.results[0]))
    erase(op)


_AFFINE: dict[AffineBinaryOpKind, Callable[[SSAValue, SSAValue], Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


def _split_product(op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
    """Makes the halves of a product by one of twice as many bits, or those of 64 bits by parts."""
    if op.lhs.type not in (i8, i16, i32, i64):
        raise InlineError(op, f"expected '{op.name}' on i8, i16, i32 or i64, found {op.lhs.type}")
    emit, is_signed = Emitter.before(op), isinstance(op, arith.MulSIExtendedOp)
    if op.lhs.type == i64:
        halves = emit.mul(op.lhs, op.rhs), _high_half(emit, op.lhs, op.rhs, is_signed=is_signed)
    else:
        type_ = cast("IntegerType", op.lhs.type)
        double = IntegerType(2 * type_.width.data)
        extend = arith.ExtSIOp if is_signed else arith.ExtUIOp
        wide = emit.mul(emit(extend(op.lhs, double)).result, emit(extend(op.rhs, double)).result)
        high = emit.div(wide, 1 << type_.width.data)
        halves = emit(arith.TruncIOp(wide, type_)).result, emit(arith.TruncIOp(high, type_)).result
    for old, new in zip(op.results, halves, strict=True):
        old.replace_all_uses_with(new)
    erase(op)


def _high_half(emit: Emitter, a: SSAValue, b: SSAValue, *, is_signed: bool) -> SSAValue:
    """The upper 64 bits of a product of 128, as a sum of products of 32 bits, none of which carries beyond 64 bits."""
    (a0, a1), (b0, b1) = ((emit.bit_and(x, _LOW), emit.div(x, 1 << 32)) for x in (a, b))
    middle = emit.add(emit.mul(a1, b0), emit.div(emit.mul(a0, b0), 1 << 32))
    other = emit.add(emit.mul(a0, b1), emit.bit_and(middle, _LOW))
    high = emit.add(emit.add(emit.mul(a1, b1), emit.div(middle, 1 << 32)), emit.div(other, 1 << 32))
    if not is_signed:
        return high
    # A negative factor is 2^64 less than its bits without a sign.
    for x, y in ((a, b), (b, a)):
        sign = emit(arith.ShRSIOp(x, emit.constant(63, i64))).result
        high = emit(arith.SubiOp(high, emit.bit_and(sign, y))).result
    return high


_LOW = (1 << 32) - 1


def _move_ahead(alloc: AllocOp) -> None:
    """Moves an allocation in front of the loops and branches around it: the tile may be in a ring of each loop."""
    around: Operation = alloc
    while isinstance(outer := around.parent_op(), scf.ForOp | scf.IfOp | scf.WhileOp):
        around = outer
    if around is not alloc:
        alloc.detach()
        Emitter(around, alloc.location)(alloc)


class TirxInlinePass(ModulePass):
    """Puts the bodies of functions in the place of `func.call` in kernels, also in the bodies of maps and folds.

    Loops with `{tirx.unroll}`, and all in the bodies of maps and folds, become their iterations, whose number is
    constant. Of `{tirx.unroll = 4}` four become one, and a loop behind has what is left. Of branches in bodies both
    ways are computed, and results chosen. `affine.apply` becomes `arith`. A product with both halves
    (`arith.mului_extended`) becomes one of twice as many bits. Elements of i1 become bytes, those of index i64. Shared
    tiles are allocated in front of the loops around them.
    """

    name = "tirx-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for _ in range(_DEEPEST):
                calls = [each for each in kernel.walk() if each.name == "func.call"]
                if not calls:
                    break
                for call in calls:
                    _inline(op, cast("func.CallOp", call))
            else:
                raise InlineError(kernel, f"expected calls of at most {_DEEPEST} functions within another, found more")
            for each in reversed(list(kernel.walk())):  # inner loops first
                if isinstance(each, scf.ForOp) and (UNROLL in each.attributes or _in_body(each)):
                    if (factor := _factor(each)) is None:
                        _unroll(each)
                    else:
                        _unroll_in_part(each, factor)
                elif isinstance(each, scf.IfOp) and _in_body(each):
                    _choose(each)
                elif each.name == "affine.apply":
                    _apply(cast("affine.ApplyOp", each))
            for each in list(kernel.walk()):
                if isinstance(each, arith.MulUIExtendedOp | arith.MulSIExtendedOp):
                    _split_product(each)
                elif isinstance(each, AllocOp) and each.result.type.memory is MemorySpace.SHARED:
                    _move_ahead(each)
            elements_as_stored(kernel)


def _in_body(op: Operation) -> bool:
    """Returns True inside of the body of a map or fold."""
    return isinstance(enclosing(op, MapOp, FoldOp, KernelOp), MapOp | FoldOp)
