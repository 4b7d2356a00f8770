"""Two copies into the same bytes of one use of a slot: nothing orders them, so that either may be the last."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations

from xdsl.dialects import scf
from xdsl.ir import Operation, OpResult, SSAValue

from tirx.dialects import tirx
from tirx.passes.match.pipelining import box_of
from tirx.passes.rings.proof.errors import SlotUseError
from tirx.passes.rings.proof.extraction import Extraction, loop_inside
from tirx.passes.rings.proof.model import Mode
from tirx.passes.rings.proof.parties import SELF, Owner
from tirx.passes.rings.proof.slots import SlotTile, yielded
from tirx.values import dataclass

_UNORDERED = (tirx.Engine.CP_ASYNC, tirx.Engine.TMA, tirx.Engine.TMA_MULTICAST)
"""Engines whose copies come in any order. Those to tensor memory, `tcgen05.cp`, come in the order of their thread."""


@dataclass(frozen=True)
class _Copy:
    """A copy into a slot: who issues it, and under which conditions."""

    op: tirx.AsyncCopyOp
    slot: SlotTile
    owner: Owner
    conditions: frozenset[tuple[Hashable, bool]]

    def may_meet(self, other: _Copy) -> bool:
        """True if both may fill one use: one acquire gave the slot to both, or two roles have it at the same time."""
        mine, others = self.slot, other.slot
        if (mine.ring, mine.tile) != (others.ring, others.tile):
            return False
        if mine.acquire is not others.acquire:
            station = mine.acquire.station.data
            if self.owner is other.owner or station != others.acquire.station.data or station == SELF:
                return False
        return not any((name, not value) in other.conditions for name, value in self.conditions)


def check_copies(extraction: Extraction) -> None:
    """Raises RingError for two copies by TMA or cp.async that certainly write the same bytes of one use of a slot.

    Threads wait for their groups, and mbarriers for their bytes, behind the release of the slot only (PTX ISA,
    "cp.async.commit_group" and "Tracking asynchronous operations by mbarrier"). Parts at computed coordinates are not
    compared.
    """
    copies = list(_copies(extraction))
    for copy in copies:
        loop = loop_inside(copy.op, copy.slot.acquire)
        if loop is not None and _has_more_rounds(loop) and _overlap(copy.op, copy.op):
            raise _race(extraction, copy, "the loop that repeats it", loop)
    for first, second in _pairs(copies):
        if first.may_meet(second) and _overlap(first.op, second.op):
            raise _race(extraction, second, "the other copy", first.op)


def _pairs(copies: Iterable[_Copy]) -> Iterator[tuple[_Copy, _Copy]]:
    """The pairs of copies into one tile of a ring; where one role issues them, of those that one acquire gave."""
    tiles: dict[Hashable, list[_Copy]] = {}
    for copy in copies:
        tiles.setdefault((copy.slot.ring, copy.slot.tile), []).append(copy)
    for own in tiles.values():
        groups: dict[Hashable, list[_Copy]] = {}
        several = len({copy.owner for copy in own}) > 1
        for copy in own:
            groups.setdefault(None if several else copy.slot.acquire, []).append(copy)
        for group in groups.values():
            yield from combinations(group, 2)


def _copies(extraction: Extraction) -> Iterator[_Copy]:
    for owner, accesses in extraction.accesses.items():
        for access in accesses:
            op = access.op
            if access.mode is Mode.WRITE and isinstance(op, tirx.AsyncCopyOp) and op.engine.data in _UNORDERED:
                yield _Copy(op, access.slot, owner, frozenset(_conditions(extraction, op)))


def _conditions(extraction: Extraction, op: Operation) -> Iterable[tuple[Hashable, bool]]:
    """The conditions that hold where `op` is executed."""
    region = op.parent_region()
    while region is not None and (around := region.parent) is not None:
        if isinstance(around, scf.IfOp):
            yield extraction.scalar(around.cond), region is around.true_region
        region = around.parent_region()


def _has_more_rounds(loop: Operation) -> bool:
    """True for a loop that may have two iterations or more."""
    return not isinstance(loop, tirx.ForOp) or not isinstance(n := loop.iterations, int) or n > 1


def _race(extraction: Extraction, copy: _Copy, what: str, where: Operation) -> SlotUseError:
    return SlotUseError(
        f"expected one copy to each byte of a slot of {extraction.names[copy.slot.ring]}, found a second one, "
        f"which may come before the first",
        copy.op,
        [(what, where)],
    )


@dataclass(frozen=True)
class _Part:
    """The bytes that a copy writes: a box of a view of the slot's bytes, () for all of it."""

    view: OpResult
    box: tuple[slice, ...]

    @staticmethod
    def of(tile: SSAValue) -> _Part | None:
        """The part that a tile is; None where that is not known."""
        view = _view(tile)
        box = None if view is None else box_of(tile, view)
        return None if view is None or box is None else _Part(view, box)

    @property
    def num_bytes(self) -> int:
        """The bytes of the view, from the first one of the slot's tile, if all of them are written; else 0."""
        type_ = tirx.TileType.of(self.view)
        return type_.num_bytes if self.box in ((), tuple(slice(0, n) for n in type_.dims)) else 0

    def meets(self, other: _Part) -> bool:
        """True if two parts of one tile of a slot certainly share bytes."""
        if self.view.index == other.view.index:
            return all(map(_meet, self.box, other.box))
        sizes = tirx.TileType.of(self.view).num_bytes, tirx.TileType.of(other.view).num_bytes
        return self.num_bytes >= sizes[1] or other.num_bytes >= sizes[0]


def _meet(a: slice, b: slice) -> bool:
    """True if two sets of positions have one in common."""
    (few, many) = sorted((range(each.start, each.stop, each.step or 1) for each in (a, b)), key=len)
    return any(n in many for n in few)


def _overlap(first: tirx.AsyncCopyOp, second: tirx.AsyncCopyOp) -> bool:
    """True if two copies to one tile of a slot certainly write the same bytes."""
    one, other = _Part.of(first.destination), _Part.of(second.destination)
    return one is not None and other is not None and one.meets(other)


def _view(tile: SSAValue) -> OpResult | None:
    """The view of the slot's bytes that a tile is a part of; None where that is not followed."""
    while isinstance(tile, OpResult):
        match tile.op:
            case tirx.AcquireOp():
                return tile
            case tirx.SubviewOp() | tirx.ReshapeOp() | tirx.TransposeOp() as part:
                tile = part.source
            case tirx.AtOp() as part:
                tile = yielded(part)[tile.index]
            case _:
                return None
    return None
