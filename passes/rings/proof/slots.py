"""Finds the use of a ring that a tile belongs to, and the product that a pending tile waits for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tirx.dialects.nesting import enclosing, operations
from tirx.dialects.tirx import AcquireOp, AsyncMmaOp, AtOp, ForOp, MemorySpace, ReleaseOp, RingOp, TilesOp, TileType
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import operands_of, type_of
from tirx.passes.rings.proof.errors import UndecidedError
from tirx.values import dataclass

if TYPE_CHECKING:
    from tirx.passes.rings.proof.model import Rotation


Place: TypeAlias = tuple[RingOp, str]
"""A station of a ring."""


def place_of(op: AcquireOp | ReleaseOp) -> Place:
    """Returns the station at which an operation takes or passes on a slot."""
    return RingOp.of(op.ring), op.station.data


@dataclass(frozen=True)
class SlotTile:
    """A tile of a slot, or a part of one: the acquire that gave it, and which tile of the slot it is."""

    acquire: AcquireOp
    tile: int

    @property
    def ring(self) -> RingOp:
        return RingOp.of(self.acquire.ring)

    @property
    def place(self) -> Place:
        """The station at which the slot is held."""
        return place_of(self.acquire)

    @property
    def num_bytes(self) -> int:
        """Bytes of the whole tile."""
        views = self.ring.result.type.contents.data[self.tile]
        return max(view.type.num_bytes for view in views if isinstance(view.type, TileType))


def slot_tile(value: SSAValue) -> SlotTile | None:
    """The slot that a tile is a part of; None for other values. Raises RingError for a tile that cannot be followed."""
    if type(value) is not OpResult or type(type_ := type_of(value)) is not TileType:
        return None
    if type_.memory not in (MemorySpace.SHARED, MemorySpace.TENSOR):
        return None
    op = value.op
    match op:
        case AcquireOp():
            views = accumulate(len(views.data) for views in RingOp.of(op.ring).result.type.contents.data)
            return SlotTile(op, next(tile for tile, end in enumerate(views) if value.index < end))
        case AtOp():
            return slot_tile(yielded(op)[value.index])
        case _:
            sources = {found for operand in operands_of(op) if (found := slot_tile(operand)) is not None}
    if is_pure(op) and len(sources) <= 1:
        return next(iter(sources), None)
    yields = op.regions and any(slot_tile(inner) for last in _terminators(op) for inner in last.operands)
    if yields or is_pure(op):
        raise UndecidedError(f"cannot decide: which slot '{op.name}' gives", op)
    return None


def slot_tiles(op: Operation) -> list[tuple[SSAValue, SlotTile]]:
    """Returns the operands of an operation that are tiles of slots, each with its slot."""
    tiles = [value for value in operands_of(op) if type(type_of(value)) is TileType]
    return [(value, slot) for value in tiles if (slot := slot_tile(value)) is not None]


def _terminators(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            if block.last_op is not None:
                yield block.last_op


def enclosing_loop(op: Operation) -> Operation | None:
    """The innermost loop around an operation."""
    return enclosing(op, ForOp, TilesOp, scf.ForOp, scf.WhileOp)


def _part(op: Operation, loop: ForOp) -> tuple[int, int]:
    """The stage of the part of a loop that an operation is in, and where it stands in a round."""
    around = op
    while (parent := around.parent_op()) is not loop:
        assert parent is not None, op.name
        around = parent
    return (around.offset if isinstance(around, AtOp) else 0), list(operations(loop.body.block)).index(around)


def executions_since(producer: Operation, user: Operation, iterations: int = 0) -> int | Rotation:
    """Returns the number of executions of `producer` since the one that `user` refers to.

    That is the one of the user's own iteration of the loop around the producer, or of `iterations` before. A user
    behind the loop refers to the last iteration.
    """
    if not iterations and producer.parent is user.parent and producer.is_before_in_block(user):
        return 0
    loop = enclosing_loop(producer)
    if not isinstance(loop, ForOp) or not loop.is_ancestor(user):
        _require_same_parts(producer, user, loop)
        return iterations
    stage, position = _part(producer, loop)
    user_stage, user_position = _part(user, loop)
    behind = position > user_position or (position == user_position and not _precedes(producer, user))
    rounds = user_stage - stage + iterations - behind
    if not rounds:
        return 0
    from tirx.passes.rings.proof.model import Rotation  # many classes, which only kernels with rings need

    return Rotation(loop.loop.data, rounds, user_stage + iterations)


def _require_same_parts(producer: Operation, user: Operation, inner: Operation | None) -> None:
    """Raises RingError if a split loop around both runs `inner`, the loop around the producer, in another round."""
    around = inner
    while around is not None and (outer := enclosing_loop(around)) is not None:
        if isinstance(outer, ForOp) and outer.is_ancestor(user) and _part(around, outer)[0] != _part(user, outer)[0]:
            raise UndecidedError(f"cannot decide: how often '{producer.name}' has run before this round", user)
        around = outer


def _precedes(first: Operation, second: Operation) -> bool:
    """True if `first` stands before `second`, or before what `second` is in, in one block."""
    around: Operation | None = second
    while around is not None and around.parent is not first.parent:
        around = around.parent_op()
    return around is not None and around is not first and first.is_before_in_block(around)


def pending_product(value: SSAValue) -> tuple[AsyncMmaOp, int]:
    """The product that a pending tile waits for, and how many iterations of the loop around it before.

    Raises RingError for a value that cannot be followed.
    """
    iterations = 0
    seen: set[SSAValue] = set()
    while value not in seen:
        seen.add(value)
        match value:
            case OpResult(op=AsyncMmaOp() as op):
                return op, iterations
            case OpResult(op=AtOp() as part):
                value = yielded(part)[value.index]
            case OpResult(op=ForOp() as loop):
                value = yielded(loop)[value.index]
            case BlockArgument() if isinstance(loop := value.block.parent_op(), ForOp):
                if not isinstance(loop.inits[value.index - 1].type, TileType):
                    raise UndecidedError(
                        "cannot decide: which product a tile pending from before the loop waits for", loop
                    )
                value = yielded(loop)[value.index - 1]
                iterations += 1
            case _:
                break
    origin = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    raise UndecidedError("cannot decide: which product a pending tile waits for", origin)


def yielded(op: AtOp | ForOp) -> tuple[SSAValue, ...]:
    """The operands of the terminator of a body."""
    last = op.body.block.last_op
    return () if last is None else tuple(last.operands)
