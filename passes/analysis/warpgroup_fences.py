"""Where wgmma products need a wgmma.fence (PTX ISA, "wgmma.fence")."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import BraOp, CondBraOp, EntryOp
from tirx.dialects.ptx.wgmma import WgmmaFenceOp, WgmmaMmaAsyncOp
from tirx.passes.analysis.control_flow import ControlFlow

_SOURCE = 'PTX ISA, "wgmma.fence"'
_FIX = "put ptx.wgmma.fence before it"


def check_fences(entry: EntryOp) -> None:
    """
    Raises LocatedError at a product whose registers some path touches without a wgmma.fence behind it.

    The first product needs one, and each whose accumulators or A other instructions have written; accumulators of a
    product of the same shape need none.
    """
    products = [op for op in entry.body.walk() if isinstance(op, WgmmaMmaAsyncOp)]
    flow = ControlFlow(entry) if products else None
    for op in products:
        if flow is not None and (touching := _unfenced(op, flow)) is not None:
            what = "the start of the kernel" if isinstance(touching, EntryOp) else f"'{touching.name}'"
            raise LocatedError(
                op,
                f"expected wgmma.fence between {what}, which comes before or writes registers of this product, and "
                f"'{op.name}', found none; {_FIX} ({_SOURCE})",
            )


def _unfenced(op: WgmmaMmaAsyncOp, flow: ControlFlow) -> Operation | None:
    """Returns what touches registers of `op`, or the entry, where a path from there to `op` has no fence."""
    registers = {*op.c, *(() if op.a_is_descriptor else op.a)}
    writers = {r.owner for r in registers if isinstance(r.owner, Operation) and not _is_alike(r, op)}
    pending: list[tuple[Operation | None, Block | None]] = [(op.prev_op, op.parent)]
    seen: set[Block] = set()
    while pending:
        current, block = pending.pop()
        while current is not None and not isinstance(current, WgmmaFenceOp):
            if current in writers:
                return current
            current = current.prev_op
        if current is not None or block is None:
            continue
        before = flow.predecessors(block)
        if not before:
            return block.parent_op()
        own = {argument for argument in block.args if argument in registers}
        for other in before:
            if (branch := other.last_op) is not None and own:
                if not own <= kept_registers(branch, block):
                    return branch
            if other not in seen:
                seen.add(other)
                pending.append((other.last_op, other))
    return None


def _is_alike(value: SSAValue, op: WgmmaMmaAsyncOp) -> bool:
    """Returns True for the accumulators of a product of the same shape."""
    return isinstance(value.owner, WgmmaMmaAsyncOp) and value.owner.form.shape == op.form.shape


def passed_values(branch: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The arguments of the blocks that a branch leads to, each with the value that it gets."""
    match branch:
        case BraOp():
            ways = [(branch.dest, branch.arguments)]
        case CondBraOp():
            ways = [(branch.then_dest, branch.then_arguments), (branch.else_dest, branch.else_arguments)]
        case _:
            ways = []
    return [pair for dest, values in ways for pair in zip(dest.args, values, strict=True)]


def kept_registers(branch: Operation, block: Block | None = None) -> set[SSAValue]:
    """The block arguments (of `block`) that a branch passes on in their registers, where products have left them."""
    return {
        argument
        for argument, value in passed_values(branch)
        if _root(value) is argument and block in (None, argument.owner)
    }


def _root(value: SSAValue) -> SSAValue:
    """The value whose register it is."""
    while isinstance(value.owner, PTXInstruction):
        previous = dict(value.owner.in_place()).get(value)
        if previous is None:
            break
        value = value.owner.operands[previous]
    return value
