"""Finds the operations around another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Block, Operation

_OpT = TypeVar("_OpT")


def ancestors(op: Operation) -> Iterator[Operation]:
    """The operations around `op`, innermost first."""
    around = op.parent_op()
    while around is not None:
        yield around
        around = around.parent_op()


def enclosing(op: Operation, *kinds: type[_OpT]) -> _OpT | None:
    """The innermost operation around `op` that is of one of the `kinds`, None if there is none."""
    return next((around for around in ancestors(op) if isinstance(around, kinds)), None)


def operations(block: Block) -> Iterator[Operation]:
    """As `block.ops`, whose iterator makes several calls for each operation."""
    following = block.first_op
    while following is not None:
        one, following = following, following._next_op  # pyright: ignore[reportPrivateUsage]
        yield one


def _blocks(op: Operation) -> Iterator[Block]:
    return (block for region in op.regions for block in region.blocks)


def walk(op: Operation, *, region_first: bool = False) -> Iterator[Operation]:
    """As `op.walk()`, in one generator: that of xDSL has three for each level of nesting, which all operations pass."""
    if not region_first:
        yield op
    nests: list[tuple[Operation, Iterator[Block], Operation | None]] = []
    """What to go on with behind each nest: an operation, the rest of its blocks, and that of a block."""
    around, blocks, following = op, _blocks(op), None
    while True:
        while following is not None:
            one, following = following, following._next_op  # pyright: ignore[reportPrivateUsage]
            if not one.regions:
                yield one
                continue
            if not region_first:
                yield one
            nests.append((around, blocks, following))
            around, blocks, following = one, _blocks(one), None
        block = next(blocks, None)
        if block is not None:
            following = block.first_op
            continue
        if region_first:
            yield around
        if not nests:
            return
        around, blocks, following = nests.pop()


class QuickWalk(Operation):
    """An operation with many inside, which are walked in the order of xDSL, but quickly."""

    def walk(self, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        """As `Operation.walk`."""
        if reverse:
            return super().walk(reverse=True, region_first=region_first)
        return walk(self, region_first=region_first)
