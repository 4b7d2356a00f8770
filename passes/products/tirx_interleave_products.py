"""`tirx-interleave-products`: products by wgmma begin while threads still make the A of later ones in registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.ptx.base import PureInstruction
from tirx.dialects.ptx.core import entries
from tirx.dialects.wgmma import CommitGroupOp, FenceOp, MmaAsyncOp, WaitGroupOp
from tirx.passes.ir.emitter import Emitter

_GROUPS = 4
"""Groups of products, of which two are in use at a time."""

_SIZES = 4, 8
"""The fewest and the most products of a group: they hold 4 registers of A each."""

_COLUMNS = 4
"""Columns of a product that take as long as an instruction with which each of four warps makes its A, about."""


def _products(fence: FenceOp) -> list[MmaAsyncOp]:
    """Returns the products between a fence and the next commit, if all have A in registers; none else."""
    found: list[MmaAsyncOp] = []
    op = fence.next_op
    while isinstance(op, MmaAsyncOp) and not op.a_is_descriptor:
        found.append(op)
        op = op.next_op
    return found if isinstance(op, CommitGroupOp) else []


def _made_for(groups: Sequence[Sequence[MmaAsyncOp]], fence: FenceOp) -> list[list[Operation]]:
    """Returns the instructions in front of a fence that only the A of products needs, by the first group to do so."""
    first: dict[Operation, int] = {op: number for number, group in enumerate(groups) for op in group}
    needed: set[SSAValue] = {value for group in groups for op in group for value in op.a}
    found: list[list[Operation]] = [[] for _ in groups]
    op = fence.prev_op
    while op is not None:
        if isinstance(op, PureInstruction) and any(result in needed for result in op.results):
            users = [use.operation for result in op.results for use in result.uses]
            if all(user in first for user in users):
                first[op] = min(first[user] for user in users)
                found[first[op]].append(op)
                needed.update(op.operands)
        op = op.prev_op
    return [ops[::-1] for ops in found]


def _interleave(fence: FenceOp) -> None:
    products = _products(fence)
    size = min(max(-(-len(products) // _GROUPS), _SIZES[0]), _SIZES[1])
    groups = [products[i : i + size] for i in range(0, len(products), size)]
    made = _made_for(groups, fence)
    if len(groups) < 2 or sum(map(len, made)) < sum(op.form.n for op in products) // _COLUMNS:
        return
    for number, (group, ops) in enumerate(zip(groups[1:], made[1:], strict=True), 1):
        emit = Emitter.before(group[0])
        emit(CommitGroupOp())
        if number > 1:
            emit(WaitGroupOp(1))  # for the registers that the next instructions write
        for op in ops:
            op.detach()
            emit(op)
        emit(FenceOp())


class TirxInterleaveProductsPass(ModulePass):
    """Lets products by wgmma begin while threads still make the A of later ones.

    Products between `wgmma.fence` and `wgmma.commit_group` whose A threads compute in registers become groups of four
    to eight, where computing takes as many instructions as products of so many columns take time. Each group begins
    behind the instructions that only its A needs. Two are pending at a time, so that a third one takes the registers of
    the first: threads hold half of A or less, and more blocks run on an SM. Sums have the order that they had.
    """

    name = "tirx-interleave-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            for fence in [inner for inner in entry.walk() if isinstance(inner, FenceOp)]:
                _interleave(fence)
