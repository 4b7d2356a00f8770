"""Which values are defined wherever they are used: the SSA rule that xDSL's verifier does not check."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue

from tirx.dialects.traits import UsableBeforeDefinition


def _postorder(entry: Block) -> list[Block]:
    """The blocks that can be reached from `entry`, successors first."""
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(entry.last_op.successors if entry.last_op else ()))]
    while stack:
        block, successors = stack[-1]
        successor = next(successors, None)
        if successor is None:
            order.append(block)
            stack.pop()
        elif successor not in seen:
            seen.add(successor)
            stack.append((successor, iter(successor.last_op.successors if successor.last_op else ())))
    return order


class _DominatorTree:
    """
    The immediate dominators of the blocks of a region.

    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). Blocks that no path from the entry reaches
    are not in the tree.
    """

    def __init__(self, entry: Block):
        order = _postorder(entry)
        self._index = {block: i for i, block in enumerate(order)}
        predecessors: dict[Block, list[Block]] = {block: [] for block in order}
        for block in order:
            for successor in block.last_op.successors if block.last_op else ():
                predecessors[successor].append(block)
        self._parent: dict[Block, Block] = {entry: entry}
        changed = True
        while changed:
            changed = False
            for block in reversed(order[:-1]):
                known = [p for p in predecessors[block] if p in self._parent]
                parent = known[0]
                for other in known[1:]:
                    parent = self._meet(parent, other)
                if self._parent.get(block) is not parent:
                    self._parent[block] = parent
                    changed = True
        self._intervals = self._number(entry)

    def _number(self, entry: Block) -> dict[Block, tuple[int, int]]:
        """Block -> its place in the tree, parents first, and the last place below it."""
        children: dict[Block, list[Block]] = {}
        for block, parent in self._parent.items():
            if block is not entry:
                children.setdefault(parent, []).append(block)
        order: list[Block] = []
        stack = [entry]
        while stack:
            order.append(stack.pop())
            stack += children.get(order[-1], ())
        place = {block: i for i, block in enumerate(order)}
        last = dict(place)
        for block in reversed(order):
            last[self._parent[block]] = max(last[self._parent[block]], last[block])
        return {block: (place[block], last[block]) for block in order}

    def _meet(self, a: Block, b: Block) -> Block:
        while a is not b:
            if self._index[a] < self._index[b]:
                a = self._parent[a]
            else:
                b = self._parent[b]
        return a

    def dominates(self, a: Block, b: Block) -> bool:
        """Whether every path from the entry to `b` goes through `a`; true of a `b` that no path reaches."""
        if b not in self._intervals:
            return True
        if a not in self._intervals:
            return False
        (first, last), (place, _) = self._intervals[a], self._intervals[b]
        return first <= place <= last


class Dominance:
    """
    Answers whether a value is defined before it is used, for IR that does not change in between.

    The bodies of all operations count as ordered, also that of `builtin.module`; only results of operations with the
    trait `UsableBeforeDefinition` may be used before them.
    """

    def __init__(self) -> None:
        self._positions: dict[Block, dict[Operation, int]] = {}
        self._trees: dict[Region, _DominatorTree] = {}

    def _is_before(self, a: Operation, b: Operation, block: Block) -> bool:
        positions = self._positions.get(block)
        if positions is None:
            positions = self._positions[block] = {op: i for i, op in enumerate(block.ops)}
        return positions[a] < positions[b]

    def _dominates(self, a: Block, b: Block, region: Region) -> bool:
        tree = self._trees.get(region)
        if tree is None:
            tree = self._trees[region] = _DominatorTree(region.blocks[0])
        return tree.dominates(a, b)

    def is_defined_at(self, value: SSAValue, user: Operation) -> bool:
        """Whether `value` is defined on every path that leads to `user`."""
        owner = value.owner
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
