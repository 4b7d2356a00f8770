"""`tirx-inline`: calls of functions become their bodies, marked loops their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, UnitAttr, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from tirx.dialects.definition import i32_attr
from tirx.dialects.tirx import AllocOp, FoldOp, KernelOp, MapOp, MemorySpace, kernels
from tirx.passes.ir.emitter import Emitter, constant_value, erase
from tirx.passes.ir.scheduled import STAGES
from tirx.passes.ir.stored_elements import elements_as_stored
from tirx.passes.ir.trip_count import trip_count
from tirx.rules import InlineError

if TYPE_CHECKING:
    from xdsl.dialects import func

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
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    erase(loop)


def _unroll(loop: scf.ForOp) -> None:
    """Makes all iterations of a loop."""
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


def _split_product(op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
    """Makes the halves of a product by one of 64 bits."""
    if op.lhs.type != i32:
        raise InlineError(op, f"expected '{op.name}' on i32, found {op.lhs.type}")
    emit = Emitter.before(op)
    extend = arith.ExtUIOp if isinstance(op, arith.MulUIExtendedOp) else arith.ExtSIOp
    wide = emit(arith.MuliOp(emit(extend(op.lhs, i64)).result, emit(extend(op.rhs, i64)).result)).result
    high = emit(arith.ShRUIOp(wide, emit.constant(32, i64))).result
    halves = emit(arith.TruncIOp(wide, i32)).result, emit(arith.TruncIOp(high, i32)).result
    for old, new in zip(op.results, halves, strict=True):
        old.replace_all_uses_with(new)
    erase(op)


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
    constant. Of `{tirx.unroll = 4}` four become one, and a loop behind has what is left. Products with both halves
    (`arith.mului_extended`) become one of 64 bits, elements of i1 bytes. Shared tiles are allocated in front of the
    loops around them.
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
            for each in list(kernel.walk()):
                if isinstance(each, arith.MulUIExtendedOp | arith.MulSIExtendedOp):
                    _split_product(each)
                elif isinstance(each, AllocOp) and each.result.type.memory is MemorySpace.SHARED:
                    _move_ahead(each)
            elements_as_stored(kernel)


def _in_body(op: Operation) -> bool:
    """Returns True inside of the body of a map or fold."""
    around = op.parent_op()
    while around is not None and not isinstance(around, MapOp | FoldOp | KernelOp):
        around = around.parent_op()
    return isinstance(around, MapOp | FoldOp)
