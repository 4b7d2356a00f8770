"""Lowers `scf` inside `ptx.entry` to blocks and branches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.nesting import Listed, operations
from tirx.dialects.ptx.arith import AddOp, Comparison, SetpOp
from tirx.dialects.ptx.base import register_class
from tirx.dialects.ptx.core import BraOp, CondBraOp, EntryOp, entries
from tirx.dialects.xdsl_private import move_arguments, move_rest, place, replace_all
from tirx.passes.ir.emitter import erase
from tirx.passes.ir.rule_tables import Rules
from tirx.rules import NoFormError, StageError


class ConvertScfToPtxPass(ModulePass):
    """Replaces `scf.for`, `scf.if` and `scf.while` inside a `ptx.entry` by blocks; carried values become arguments.

    Runs after `convert-arith-to-ptx`. Raises LocatedError for other `scf` ops and for values without register.
    """

    name = "convert-scf-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            convert_entry(entry)


def convert_entry(entry: EntryOp) -> None:
    """Applies the pass to one entry: outer constructs first, of a block the last first, which moves few operations."""
    pending = list(entry.body.blocks)
    while pending:
        block = pending.pop()
        constructs = Listed(operations(block)).where(lambda kind: kind.name.startswith("scf."))
        for op in constructs:
            if type(op) not in RULES:
                supported = ", ".join(sorted(t.name for t in RULES))
                raise NoFormError(op, f"no PTX form for '{op.name}'; convert-scf-to-ptx lowers {supported}")
        for op in reversed(constructs):
            pending += RULES[type(op)](op)


RULES: Rules[Sequence[Block]] = Rules()
"""Op -> its lowering, which replaces it by blocks and returns those that were inside of it."""

_rule = RULES.of


def _append(block: Block, op: Operation, like: Operation) -> None:
    op.location = like.location
    place(op, block, None)


def _written(end: Operation, op: Operation) -> Operation:
    """Returns the operation whose location a branch gets: the terminator, or `op` where none was written."""
    return op if end.location == UNKNOWN_LOC else end


def _check_registers(op: Operation, types: Sequence[Attribute]) -> None:
    for type_ in types:
        if register_class(type_) is None:
            raise StageError(op, f"'{op.name}': no PTX register holds {type_}; run convert-arith-to-ptx first")


def _split(op: Operation, name: str, arg_types: Sequence[Attribute] = ()) -> tuple[Block, Block]:
    """Cuts the block of `op` in two: what comes before `op`, and a block `name` of `op` and what follows it."""
    before = op.parent_block()
    assert before is not None and before.parent is not None, f"'{op.name}' is detached"
    # As `split_before`, which counts the blocks of the region, and looks at each operation that it moves.
    after = Block(arg_types=arg_types)
    move_rest(op, after)
    before.parent.insert_block_after(after, before)
    after.name_hint = name
    return before, after


def _replace(op: Operation, values: Sequence[SSAValue]) -> None:
    replace_all(dict(zip(op.results, values, strict=True)))
    erase(op)


def _take_arguments(block: Block, values: Sequence[SSAValue]) -> None:
    replace_all(dict(zip(block.args, values, strict=True)))
    for argument in reversed(block.args):
        block.erase_arg(argument)


def _move_before(region: Region, target: Block, name: str) -> Block:
    """Moves the single block of `region` to before `target` and names it."""
    block = region.block
    block.name_hint = name
    region.move_blocks_before(target)
    return block


def _end(block: Block) -> tuple[Operation, tuple[SSAValue, ...]]:
    """Erases the terminator of `block`; gives it and what were its operands."""
    terminator = block.last_op
    if terminator is None:
        raise AssertionError("expected a terminator, found an empty block")
    operands = tuple(terminator.operands)
    erase(terminator)
    return terminator, operands


@_rule(scf.ForOp)
def _for(op: scf.ForOp) -> Sequence[Block]:
    """The header tests, the body advances; the carried values are arguments of the header, which dominates the rest."""
    _check_registers(op, (op.lb.type, *op.result_types))
    before, after = _split(op, "loop_end")
    header = Block()
    if (region := after.parent) is None:
        raise AssertionError("expected 'scf.for' to be in a region, found a detached block")
    region.insert_block_before(header, after)
    header.name_hint = "loop"
    body = _move_before(op.body, after, "loop_body")
    move_arguments(body, header)
    induction, *carried = header.args

    _append(before, BraOp(header, [op.lb, *op.iter_args]), op)
    more = SetpOp(Comparison.LT, induction, op.ub)
    _append(header, more, op)
    _append(header, CondBraOp(more, body, after), op)
    end, results = _end(body)
    advance = AddOp(induction, op.step)
    _append(body, advance, op)
    _append(body, BraOp(header, [advance.result, *results]), _written(end, op))
    _replace(op, carried)
    return (body,)


@_rule(scf.IfOp)
def _if(op: scf.IfOp) -> Sequence[Block]:
    """Both arms jump to the rest of the block, which takes the results as arguments."""
    _check_registers(op, op.result_types)
    before, after = _split(op, "end_if", op.result_types)
    arms: list[Block] = []
    for region, name in ((op.true_region, "then"), (op.false_region, "else")):
        if not region.blocks:
            arms.append(after)
            continue
        arm = _move_before(region, after, name)
        end, results = _end(arm)
        _append(arm, BraOp(after, results), _written(end, op))
        arms.append(arm)
    then_arm, else_arm = arms
    _append(before, CondBraOp(op.cond, then_arm, else_arm), op)
    _replace(op, after.args)
    return [arm for arm in arms if arm is not after]


@_rule(scf.WhileOp)
def _while(op: scf.WhileOp) -> Sequence[Block]:
    """The first region is the header; what it passes on dominates both the body and the rest."""
    _check_registers(op, (*op.arguments.types, *op.result_types))
    before, after = _split(op, "loop_end")
    header = _move_before(op.before_region, after, "loop")
    body = _move_before(op.after_region, after, "loop_body")
    _append(before, BraOp(header, op.arguments), op)
    condition, (more, *values) = _end(header)
    _append(header, CondBraOp(more, body, after), condition)
    _take_arguments(body, values)
    end, results = _end(body)
    _append(body, BraOp(header, results), _written(end, op))
    _replace(op, values)
    return header, body
