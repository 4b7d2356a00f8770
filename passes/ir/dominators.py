"""Dominance in a graph of blocks, and the order and edges that it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.ir import Block

from tirx.dialects.xdsl_private import successors_of


class Dominators:
    """The dominator tree of a graph (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm").

    `order` is a reverse post-order from `roots`, `predecessors` the edges against that direction.
    """

    def __init__(self, order: Sequence[Block], roots: Sequence[Block], predecessors: Mapping[Block, Sequence[Block]]):
        position = {block: i + 1 for i, block in enumerate(order)}  # 0 is above all roots
        is_root = set(roots)
        parents = [0] + [-1] * len(order)
        edges = [
            [0] * (block in is_root) + [position[p] for p in predecessors[block] if p in position] for block in order
        ]
        changed = True
        while changed:
            changed = False
            for i, before in enumerate(edges, 1):
                known = [p for p in before if parents[p] >= 0]
                parent = known[0]
                for other in known[1:]:
                    while parent != other:
                        if parent > other:
                            parent = parents[parent]
                        else:
                            other = parents[other]
                if parents[i] != parent:
                    parents[i], changed = parent, True
        self._order, self._position, self._parents = order, position, parents
        self._enter, self._leave = _intervals(parents)

    def __contains__(self, block: Block) -> bool:
        """Returns True if a root leads to `block`."""
        return block in self._position

    def immediate(self, block: Block) -> Block | None:
        """The nearest block that dominates `block` and is another one."""
        i = self._position.get(block)
        return None if i is None or not (parent := self._parents[i]) else self._order[parent - 1]

    def dominates(self, block: Block, other: Block) -> bool:
        """Returns True if every path from a root to `other` goes through `block`, or they are the same."""
        i, j = self._position.get(block), self._position.get(other)
        if i is None or j is None:
            return block is other
        return self._enter[i] <= self._enter[j] < self._leave[i]


def _intervals(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """The range of preorder numbers below each node of a tree, in which parents have smaller numbers."""
    sizes = [1] * len(parents)
    for node in range(len(parents) - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    enter, following = [0] * len(parents), [1] * len(parents)
    for node in range(1, len(parents)):
        parent = parents[node]
        enter[node] = following[parent]
        following[parent] += sizes[node]
        following[node] = enter[node] + 1
    return enter, [e + n for e, n in zip(enter, sizes, strict=True)]


def predecessors(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    """The blocks that jump to each; `blocks` holds all blocks that its blocks jump to."""
    found: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in dict.fromkeys(successors(block)):
            found[successor].append(block)
    return found


def successors(block: Block) -> Sequence[Block]:
    """The blocks that `block` jumps to."""
    return () if block.last_op is None else successors_of(block.last_op)


def reverse_postorder(roots: Sequence[Block], following: Callable[[Block], Sequence[Block]]) -> tuple[Block, ...]:
    """The blocks that `roots` lead to, each before those that follow it, but for those that close a loop."""
    order: list[Block] = []
    seen: set[Block] = set()
    for root in roots:
        seen.add(root)
        stack: list[tuple[Block, Iterator[Block]]] = [(root, iter(following(root)))]
        while stack:
            block, rest = stack[-1]
            for successor in rest:
                if successor not in seen:
                    seen.add(successor)
                    stack.append((successor, iter(following(successor))))
                    break
            else:
                order.append(block)
                stack.pop()
    return tuple(reversed(order))
