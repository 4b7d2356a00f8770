"""Which operations are around another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Operation

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


def _inside(op: Operation, region_first: bool) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            following = block.first_op
            while following is not None:
                one, following = following, following.next_op
                if not one.regions:
                    yield one
                    continue
                if not region_first:
                    yield one
                yield from _inside(one, region_first)
                if region_first:
                    yield one


class QuickWalk(Operation):
    """An operation with many inside, which are walked in the order of xDSL, with one generator a nest."""

    def walk(self, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        """As `Operation.walk`."""
        if reverse:
            yield from super().walk(reverse=True, region_first=region_first)
            return
        if not region_first:
            yield self
        yield from _inside(self, region_first)
        if region_first:
            yield self
