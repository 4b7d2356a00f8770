"""Which operations of an entry are executed before, after and besides others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.ir import Block, Operation

from tirx.dialects.ptx.core import EntryOp


class ControlFlow:
    """The blocks of an entry and the jumps between them; conditions are not looked at."""

    def __init__(self, entry: EntryOp):
        self._blocks = tuple(entry.body.blocks)
        self._position = {op: i for i, op in enumerate(entry.body.walk())}
        self._successors = {block: _successors(block) for block in self._blocks}

    def may_follow(self, later: Operation, earlier: Operation) -> bool:
        """Whether a thread that executed `earlier` may come to `later`."""
        first, second = earlier.parent, later.parent
        if first is None or second is None:
            return False
        if first is second and self._position[earlier] < self._position[later]:
            return True
        return second in self._reached(self._successors[first])

    def always_before(self, earlier: Operation, later: Operation) -> bool:
        """Whether every thread that executes `later` has executed `earlier`."""
        first, second = earlier.parent, later.parent
        if first is second:
            return self._position[earlier] < self._position[later]
        return second not in self._reached(self._blocks[:1], without=first)

    def by_every_thread(self, op: Operation) -> bool:
        """Whether no thread gets to its end without executing the operation."""
        return op.parent in self._by_every_thread

    @cached_property
    def _by_every_thread(self) -> set[Block]:
        ways = {block: self._reached(self._blocks[:1], without=block) for block in self._blocks}
        return {block for block, others in ways.items() if all(self._successors[other] for other in others)}

    def predecessors(self, block: Block) -> list[Block]:
        """The blocks that jump to a block."""
        return [other for other in self._blocks if block in self._successors[other]]

    def _reached(self, starts: Sequence[Block], without: Block | None = None) -> set[Block]:
        """The blocks on the ways from some blocks that do not pass a certain one."""
        reached: set[Block] = set()
        waiting = list(starts)
        while waiting:
            block = waiting.pop()
            if block is not without and block not in reached:
                reached.add(block)
                waiting += self._successors[block]
        return reached


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors
