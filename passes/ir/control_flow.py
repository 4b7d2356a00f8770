"""The control flow graph of an entry: order, paths, loops. Conditions are not looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, cast

from xdsl.ir import Block, Operation

from tirx.dialects.nesting import operations
from tirx.dialects.ptx.core import EntryOp
from tirx.passes.ir.dominators import Dominators, predecessors, reverse_postorder, successors
from tirx.values import cached_property

_OpT = TypeVar("_OpT", bound=Operation)


class ControlFlow:
    """The blocks of an entry that its first block leads to, and the jumps between them. Built in linear time."""

    def __init__(self, entry: EntryOp):
        self.entry = entry
        first = entry.body.blocks[0]
        self.blocks: tuple[Block, ...] = reverse_postorder([first], successors)
        """In reverse post-order: each before its successors, but for those that close a loop."""
        self.position = {block: i for i, block in enumerate(self.blocks)}
        self._predecessors = predecessors(self.blocks)
        self._positions: dict[Block, dict[Operation, int]] = {}
        """A block -> the positions of its operations, where they were asked for."""

    @cached_property
    def ops(self) -> dict[Block, tuple[Operation, ...]]:
        """The operations of each of the blocks."""
        return {block: tuple(operations(block)) for block in self.blocks}

    def predecessors(self, block: Block) -> Sequence[Block]:
        """The blocks that jump to `block`."""
        return self._predecessors.get(block, ())

    def of_type(self, kind: type[_OpT]) -> Sequence[_OpT]:
        """The operations of the entry that are of a class, in order; also those that nothing leads to."""
        return cast(Sequence[_OpT], self._by_type.get(kind, ()))

    @property
    def kinds(self) -> Iterable[type[Operation]]:
        """The classes of the operations of the entry."""
        return self._by_type

    @cached_property
    def _by_type(self) -> dict[type[Operation], list[Operation]]:
        found: defaultdict[type[Operation], list[Operation]] = defaultdict(list)
        for block in self.entry.body.blocks:
            for op in self.ops.get(block) or block.ops:
                found[op.__class__].append(op)
        return found

    @cached_property
    def dominators(self) -> Dominators:
        """Blocks that lie on every path from the start."""
        return Dominators(self.blocks, self.blocks[:1], self._predecessors)

    @cached_property
    def post_dominators(self) -> Dominators:
        """Blocks that lie on every path to an end."""
        ends = [block for block in self.blocks if not successors(block)]
        order = reverse_postorder(ends, self.predecessors)
        return Dominators(order, ends, {block: successors(block) for block in order})

    def is_passed_by_all(self, target: Block, block: Block) -> bool:
        """Returns True if every path from the end of `block` to an end of the entry goes through `target`."""
        post = self.post_dominators
        return block not in post or (target is not block and post.dominates(target, block))

    def is_executed_by_all(self, op: Operation) -> bool:
        """Returns True if no path from the start to an end misses `op`."""
        first, block = self.blocks[0], op.parent
        if block is None or block not in self.position:
            return False
        return first not in self.post_dominators or self.post_dominators.dominates(block, first)

    def may_follow(self, later: Operation, earlier: Operation) -> bool:
        """Returns True if some path executes `later` behind `earlier`."""
        first, second = earlier.parent, later.parent
        if first is None or second is None or first not in self.position:
            return False
        if first is second and self._is_in_front(first, earlier, later):
            return True
        if first is not second and self.dominators.dominates(first, second):
            return True
        return second in self.reachable(first)

    def always_before(self, earlier: Operation, later: Operation) -> bool:
        """Returns True if every path to `later` executes `earlier` before."""
        first, second = earlier.parent, later.parent
        if first is None or second is None:
            return False
        if first is second:
            return self._is_in_front(first, earlier, later)
        return self.dominators.dominates(first, second)

    def _is_in_front(self, block: Block, first: Operation, second: Operation) -> bool:
        """Returns True if of two operations of a block the first comes first."""
        if (positions := self._positions.get(block)) is None:
            positions = self._positions[block] = {op: i for i, op in enumerate(operations(block))}
        return positions[first] < positions[second]

    @cached_property
    def cyclic(self) -> frozenset[Block]:
        """The blocks that control may come back to (Tarjan's strongly connected components)."""
        number: dict[Block, int] = {}
        low: dict[Block, int] = {}
        open_: dict[Block, None] = {}
        found = {block for block in self.blocks if block in successors(block)}
        walk: list[tuple[Block, Iterator[Block]]] = []
        for root in self.blocks:
            if root in number:
                continue
            pending = [root]
            while pending or walk:
                if pending:
                    block = pending.pop()
                    number[block] = low[block] = len(number)
                    open_[block] = None
                    walk.append((block, iter(successors(block))))
                block, rest = walk[-1]
                for successor in rest:
                    if successor not in number:
                        pending.append(successor)
                        break
                    if successor in open_:
                        low[block] = min(low[block], number[successor])
                else:
                    walk.pop()
                    if walk:
                        parent = walk[-1][0]
                        low[parent] = min(low[parent], low[block])
                    if low[block] == number[block]:
                        component = [open_.popitem()[0]]
                        while component[-1] is not block:
                            component.append(open_.popitem()[0])
                        if len(component) > 1:
                            found.update(component)
        return frozenset(found)

    def reachable(self, start: Block, *stops: Block | None) -> set[Block]:
        """The blocks that a path from the end of `start` leads to; paths end at `stops`, which are not counted."""
        pending, seen = [start], set[Block]()
        while pending:
            for successor in successors(pending.pop()):
                if successor not in seen and successor not in stops:
                    seen.add(successor)
                    pending.append(successor)
        return seen
