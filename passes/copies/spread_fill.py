"""Fills by `cp.async` whose copies start between the steps of a product, some behind each."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects import tirx
from tirx.dialects.traits import is_pure
from tirx.layout import LayoutError
from tirx.passes.ir.emitter import Emitter, erase, erase_dead
from tirx.passes.match.bulk_copies import plan_thread_copies
from tirx.passes.match.product import ILLEGAL
from tirx.values import dataclass


@dataclass(frozen=True)
class SpreadFill:
    """The one fill of a loop, by `cp.async`, cut into `count` pieces of as many rows each.

    All copies at once would keep the loads of fragments waiting, as both go through the same unit. The first piece
    stays in the part of the fill; the others belong to a part one round later, and the last one releases the slot.
    """

    part: tirx.AtOp
    acquire: tirx.AcquireOp
    copies: tuple[tirx.AsyncCopyOp, ...]
    release: tirx.ReleaseOp
    count: int

    @staticmethod
    def of(loop: tirx.ForOp, use: int, count: int) -> SpreadFill | None:
        """
        The fill of a loop whose slots are acquired for use at offset `use`; None where it cannot be cut into `count`.

        A slot has to be complete before the round that acquires it, so the release may move by a round where at least
        one more is between.
        """
        fills = [part for part in loop.parts if any(isinstance(op, tirx.AsyncCopyOp) for op in part.body.walk())]
        if len(fills) != 1 or count < 2 or fills[0].values or use < fills[0].offset + 2:
            return None
        part = fills[0]
        others = [op for op in part.body.block.ops if not is_pure(op) and not isinstance(op, tirx.YieldOp)]
        match others:
            case [tirx.AcquireOp() as acquire, *copies, tirx.ReleaseOp() as release]:
                found = tuple(op for op in copies if isinstance(op, tirx.AsyncCopyOp))
                if len(found) < len(copies) or not found or release.ring is not acquire.ring:
                    return None
                fill = SpreadFill(part, acquire, found, release, count)
                return fill if all(map(fill._can_be_cut, found)) else None
            case _:
                return None

    def _can_be_cut(self, copy: tirx.AsyncCopyOp) -> bool:
        """Returns True if the pieces of a copy take as many instructions as the whole, of all threads."""
        threads = tirx.thread_set(copy).count
        if tirx.indexed_view(copy.source) is not None:
            return False  # threads hold the indices of the whole tile
        if copy.engine.data is not tirx.Engine.CP_ASYNC or tirx.TileType.of(copy.source).dims[0] % self.count:
            return False
        block = Block()
        emit = Emitter(InsertPoint.at_end(block), copy.location)
        try:
            whole = plan_thread_copies(copy.source, tirx.TileType.of(copy.destination), threads)
            plans = [
                plan_thread_copies(source, tirx.TileType.of(destination), threads)
                for source, destination in (self._ends(copy, i, {}, emit) for i in range(self.count))
            ]
        except (*ILLEGAL, LayoutError):
            return False
        finally:
            for op in reversed(tuple(block.ops)):
                erase(op)
        pieces = sum(len(plan.source.accesses) for plan in plans)
        return pieces == len(whole.source.accesses) and all(plan.owners is None for plan in plans)

    def _ends(
        self, copy: tirx.AsyncCopyOp, index: int, known: Mapping[SSAValue, SSAValue], emit: Emitter
    ) -> tuple[SSAValue, SSAValue]:
        rows, *others = tirx.TileType.of(copy.source).dims
        size = rows // self.count
        source, destination = (
            emit(tirx.SubviewOp.of(known.get(end, end), (index * size, *(0 for _ in others)), (size, *others))).result
            for end in (copy.source, copy.destination)
        )
        return source, destination

    def cut(self) -> list[tirx.AtOp]:
        """Replaces the part by one with the first piece, and returns parts with the others, which are in no loop."""
        block = self.part.body.block
        last = block.last_op
        assert last is not None
        pieces = [self._later(index) for index in range(1, self.count)]
        before = Emitter(InsertPoint.before(last), self.part.location)
        for copy in self.copies:
            self._piece(copy, 0, {}, before)
        for op in (*self.copies, self.release, last):
            erase(op)
        before = Emitter(InsertPoint.at_end(block), self.part.location)
        before(tirx.YieldOp(*self.acquire.tiles))
        new = tirx.AtOp(self.part.offset, self.part.detach_region(self.part.body))
        new.location = self.part.location
        Emitter.before(self.part)(new)
        erase(self.part)
        for tile, value in zip(self.acquire.tiles, new.values, strict=True):
            value.name_hint = tile.name_hint
            for use in tuple(tile.uses):
                if use.operation.parent is not block:
                    use.operation.operands[use.index] = value
        return pieces

    def _piece(self, copy: tirx.AsyncCopyOp, index: int, known: Mapping[SSAValue, SSAValue], emit: Emitter) -> None:
        emit = Emitter(emit.point, copy.location)
        emit(tirx.AsyncCopyOp(*self._ends(copy, index, known, emit), tirx.Engine.CP_ASYNC))

    def _later(self, index: int) -> tirx.AtOp:
        """The part with a piece; scalars and views are computed again, for the iteration of the round before."""
        block = Block()
        emit = Emitter(InsertPoint.at_end(block), self.part.location)
        known: dict[SSAValue, SSAValue] = {}
        for op in self.part.body.block.ops:
            if is_pure(op):
                new = op.clone(known)
                new.location = op.location
                block.add_op(new)
        for copy in self.copies:
            self._piece(copy, index, known, emit)
        if index == self.count - 1:
            emit(self.release.clone())
        erase_dead(block)
        part = tirx.AtOp(self.part.offset + 1, Region(block))
        part.location = self.part.location
        return part
