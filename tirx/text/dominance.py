"""Checks that values are defined wherever they are used: the SSA rule that xDSL's verifier does not check."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tirx.dialects.nesting import operations
from tirx.dialects.traits import UsableBeforeDefinition
from tirx.passes.ir.dominators import Dominators, predecessors, reverse_postorder, successors


class Dominance:
    """Answers whether a value is defined before it is used, for IR that does not change in between.

    The bodies of all operations count as ordered, also that of `builtin.module`; only results of operations with the
    trait `UsableBeforeDefinition` may be used before them.
    """

    def __init__(self) -> None:
        self._positions: dict[int, dict[int, int]] = {}
        """The identity of a block -> that of each operation of it -> its position."""
        self._trees: dict[Region, Dominators] = {}

    def _is_before(self, a: Operation, b: Operation, block: Block) -> bool:
        positions = self._positions.get(id(block))
        if positions is None:
            positions = self._positions[id(block)] = {id(op): i for i, op in enumerate(operations(block))}
        return positions[id(a)] < positions[id(b)]

    def _dominates(self, a: Block, b: Block, region: Region) -> bool:
        """Returns True if every path from the entry to `b` goes through `a`, or none leads to `b`."""
        tree = self._trees.get(region)
        if tree is None:
            entry = [region.blocks[0]]
            order = reverse_postorder(entry, successors)
            tree = self._trees[region] = Dominators(order, entry, predecessors(order))
        return b not in tree or tree.dominates(a, b)

    def is_defined_at(self, value: SSAValue, user: Operation) -> bool:
        """Returns True if `value` is defined on every path that leads to `user`."""
        here = user.parent
        if type(value) is OpResult:
            if (block := value.op.parent) is here and block is not None:
                if self._is_before(value.op, user, block):
                    return True
                return value.op.has_trait(UsableBeforeDefinition)
        elif type(value) is BlockArgument and value.block is here:
            return True
        owner = value.op if type(value) is OpResult else value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        region = None if block is None else block.parent
        around: Operation | None = user
        while around is not None and around.parent_region() is not region:
            around = around.parent_op()
        if block is None or region is None or around is None or around.parent is None:
            return False
        if around.parent is not block:
            return self._dominates(block, around.parent, region)
        if isinstance(owner, Block) or self._is_before(owner, around, block):
            return True
        return owner.has_trait(UsableBeforeDefinition)
