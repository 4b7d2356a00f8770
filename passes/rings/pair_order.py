"""The order of what the two blocks of a pair do to global memory: each block waits for its own threads only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

from xdsl.dialects import scf
from xdsl.ir import Operation

from tirx.diagnostics import in_line
from tirx.dialects.tirx import CopyOp, StoreOp
from tirx.passes.ir.tile_loops import view_extents
from tirx.passes.match.aliasing import difference, may_share, view_of
from tirx.passes.match.global_accesses import GlobalAccess
from tirx.rules import PairError
from tirx.values import dataclass


@dataclass(frozen=True)
class PairAccess:
    """An access to global memory, and the dimension of the tile whose halves the blocks take, or None."""

    op: Operation
    access: GlobalAccess
    split: int | None


def check_pair_order(accesses: Sequence[PairAccess]) -> None:
    """Raises PairError at an access to elements that the other block of the pair reads or writes, too, unordered."""
    for first, second in combinations_with_replacement(accesses, 2):
        if not (first.access.writes or second.access.writes) or (_reduces(first.op) and _reduces(second.op)):
            continue
        if _meets(first, second):
            raise PairError(
                second.op,
                "expected each block of the pair to touch here the half of global memory that it touches in "
                f"'{first.op.name}'{in_line(first.op)}, found a tile that may overlap the other half: a block does not "
                "wait for what the other one does to global memory",
            )


def _meets(first: PairAccess, second: PairAccess) -> bool:
    """Returns True if one block may touch with `second` what the other one touches with `first`."""
    tiles = first.access.tile, second.access.tile
    if first is not second and may_share(*tiles) and not _same_halves(first, second, None):
        return True
    loops = [loop for loop in _loops_around(first.op) if loop.is_ancestor(second.op)]
    return any(
        may_share(*tiles, loops[number:]) and not _same_halves(first, second, loop) for number, loop in enumerate(loops)
    )


def _same_halves(first: PairAccess, second: PairAccess, loop: Operation | None) -> bool:
    """Returns True if a block touches with both accesses the same half, also in other iterations of `loop`."""
    a, b = view_of(first.access.tile), view_of(second.access.tile)
    if a is None or b is None or a.result is not first.access.tile or b.result is not second.access.tile:
        return False  # parts of a view and other shapes of it may begin elsewhere
    if first.split is None or second.split is None or not (a.is_box and b.is_box):
        return False
    dimension = len(a.indices) - len(a.result.type.dims) + first.split
    if dimension != len(b.indices) - len(b.result.type.dims) + second.split:
        return False
    apart = difference(a.indices[dimension], b.indices[dimension], () if loop is None else (loop,))
    return apart == 0 and view_extents(a)[dimension] == view_extents(b)[dimension]


def _loops_around(op: Operation) -> list[Operation]:
    """The loops that an operation is in, the outermost first."""
    found: list[Operation] = []
    while (parent := op.parent_op()) is not None:
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            found.insert(0, parent)
        op = parent
    return found


def _reduces(op: Operation) -> bool:
    return isinstance(op, CopyOp | StoreOp) and op.reduce is not None
