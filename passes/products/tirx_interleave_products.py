"""`tirx-interleave-products`: products by wgmma begin while threads still make the A of later ones in registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.nesting import walk
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


def _made_for(
    groups: Sequence[Sequence[MmaAsyncOp]],
    block: Block | None,
    places: Mapping[Operation, int],
    ops: Sequence[Operation],
) -> list[list[Operation]]:
    """Returns the instructions of a block that only the A of products needs, by the first group to do so.

    `places` says where each of `ops` stands. The last ones are looked at first: then their users have been.
    """
    first: dict[Operation, int] = {op: number for number, group in enumerate(groups) for op in group}
    found: list[list[Operation]] = [[] for _ in groups]
    waiting: list[int] = []
    seen: set[Operation] = set()

    def need(values: Iterable[SSAValue]) -> None:
        for value in values:
            op = value.owner
            if isinstance(op, PureInstruction) and op.parent is block and op not in seen:
                seen.add(op)
                heappush(waiting, -places[op])

    need(value for group in groups for op in group for value in op.a)
    while waiting:
        op = ops[-heappop(waiting)]
        if all(use.operation in first for result in op.results for use in result.uses):
            first[op] = min(first[use.operation] for result in op.results for use in result.uses)
            found[first[op]].append(op)
            need(op.operands)
    return [instructions[::-1] for instructions in found]


def _interleave(fence: FenceOp, places: Mapping[Operation, int], ops: Sequence[Operation]) -> None:
    products = _products(fence)
    size = min(max(-(-len(products) // _GROUPS), _SIZES[0]), _SIZES[1])
    groups = [products[i : i + size] for i in range(0, len(products), size)]
    if len(groups) < 2:
        return
    made = _made_for(groups, fence.parent, places, ops)
    if sum(map(len, made)) < sum(op.form.n for op in products) // _COLUMNS:
        return
    for number, (group, instructions) in enumerate(zip(groups[1:], made[1:], strict=True), 1):
        emit = Emitter.before(group[0])
        emit(CommitGroupOp())
        if number > 1:
            emit(WaitGroupOp(1))  # for the registers that the next instructions write
        for op in instructions:
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
            ops = walk(entry)
            places = {op: place for place, op in enumerate(ops)}
            for fence in (op for op in ops if isinstance(op, FenceOp)):
                _interleave(fence, places, ops)
