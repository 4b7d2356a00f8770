"""Checks that wgmma products have the wgmma.fence that they need (PTX ISA, "wgmma.fence")."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.wgmma import FenceOp, MmaAsyncOp
from tirx.passes.ir.control_flow import ControlFlow
from tirx.passes.ir.in_place import passed_values
from tirx.rules import SynchronizationError

_SOURCE = 'PTX ISA, "wgmma.fence"'
_FIX = "put wgmma.fence before it"


def check_fences(control: ControlFlow, shared: Mapping[SSAValue, SSAValue]) -> None:
    """
    Raises LocatedError at a product whose registers some path touches without a wgmma.fence behind it.

    The first product needs one, and each whose accumulators or A other instructions have written; accumulators of a
    product of the same shape need none. `shared`: values with the register of another one (`shared_registers`).
    """
    for op in control.of_type(MmaAsyncOp):
        if (touching := _unfenced(op, control, shared)) is not None:
            what = "the start of the kernel" if isinstance(touching, EntryOp) else f"'{touching.name}'"
            raise SynchronizationError(
                op,
                f"expected wgmma.fence between {what}, which comes before or writes registers of this product, and "
                f"'{op.name}', found none; {_FIX} ({_SOURCE})",
            )


def _unfenced(op: MmaAsyncOp, flow: ControlFlow, shared: Mapping[SSAValue, SSAValue]) -> Operation | None:
    """Returns what touches registers of `op`, or the entry, where a path from there to `op` has no fence."""
    registers = {*op.c, *(() if op.a_is_descriptor else op.a)}
    owners = {register.owner for register in registers}
    writers = {owner for owner in owners if isinstance(owner, Operation) and not _is_alike(owner, op)}
    pending: list[tuple[Operation | None, Block | None]] = [(op.prev_op, op.parent)]
    seen: set[Block] = set()
    while pending:
        current, block = pending.pop()
        while current is not None and not isinstance(current, FenceOp):
            if current in writers:
                return current
            current = current.prev_op
        if current is not None or block is None:
            continue
        before = flow.predecessors(block)
        if not before:
            return block.parent_op()
        own = {argument for argument in block.args if argument in registers}
        for source in before:
            if (branch := source.last_op) is not None and own:
                passed = passed_values(branch)
                if any(one in own and shared.get(one, one) is not shared.get(other, other) for one, other in passed):
                    return branch
            if source not in seen:
                seen.add(source)
                pending.append((source.last_op, source))
    return None


def _is_alike(other: Operation, op: MmaAsyncOp) -> bool:
    """Returns True for a product of the same shape, whose accumulators need no fence."""
    return isinstance(other, MmaAsyncOp) and other.form.shape == op.form.shape
