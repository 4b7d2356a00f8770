"""Tiles that products of a loop read and that bulk copies fill once, before it."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf

from tirx.dialects import tirx
from tirx.dialects.nesting import top_of, walk
from tirx.passes.match.aliasing import may_share
from tirx.passes.match.bulk_copies import ring_engine
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.memory_by_lifetime import aligned_bytes
from tirx.passes.match.pipelining import accesses, is_fill, writes_to
from tirx.values import dataclass


@dataclass(frozen=True)
class HeldTile:
    """A tile that bulk tensor copies in the block of a loop fill before it, and that only the loop reads."""

    alloc: tirx.AllocOp
    fills: tuple[tirx.CopyOp, ...]

    @property
    def slot_bytes(self) -> int:
        return aligned_bytes(self.alloc.result.type)


def held_tiles(loop: scf.ForOp, staged: set[tirx.AllocOp]) -> Iterator[HeldTile]:
    """The tiles that products of the loop read and that are loaded once, before it."""
    products = [op for op in walk(loop) if isinstance(op, tirx.MmaOp)]
    for root in dict.fromkeys(tirx.base_allocation(tile) for op in products for tile in (op.a, op.b)):
        if not isinstance(alloc := root.owner, tirx.AllocOp) or alloc in staged:
            continue
        fills: list[tirx.CopyOp] = []
        for op, tile in accesses(root):
            if isinstance(op, tirx.CopyOp) and is_fill(op) and op.destination is tile and op.parent is loop.parent:
                fills.append(op)
            elif top_of(op, loop) is None or writes_to(op, tile):
                break
        else:
            ahead = [op for op in fills if op.is_before_in_block(loop) and ring_engine(op).engine is tirx.Engine.TMA]
            if fills and len(ahead) == len(fills) and not any(_is_overwritten(fill, loop) for fill in fills):
                yield HeldTile(alloc, tuple(fills))


def _is_overwritten(fill: tirx.CopyOp, loop: scf.ForOp) -> bool:
    """Returns True if something between a copy and a loop behind it may write what the copy reads."""
    following = fill.next_op
    while following is not None and following is not loop:
        for op in walk(following):
            if any(access.writes and may_share(fill.source, access.tile) for access in accesses_of(op)):
                return True
        following = following.next_op
    return False
