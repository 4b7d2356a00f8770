"""Tiles in tensor memory that threads and products of a loop hand to each other, and products that run ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import enclosing
from tirx.passes.ir.emitter import constant_value
from tirx.passes.match.memory_by_lifetime import allocated_columns
from tirx.passes.match.pipelining import NotApplicable, accesses, covers, slice_of, tile_name, top_of, writes_to
from tirx.rules import StageError
from tirx.tcgen05.tmem import COLUMNS
from tirx.values import dataclass, field


@dataclass(frozen=True)
class Turn:
    """Operations of one block, in order, that hold a slot at a station, which goes on once work of `queue` is complete.

    The slot is acquired in front of the first one, or `directly` behind the turn before.
    """

    station: str
    ops: tuple[Operation, ...]
    queue: tirx.Queue | None = None
    directly: bool = False


@dataclass(frozen=True)
class SharedTile:
    """A tile of tensor memory that becomes a ring of `slots` slots, which threads and products hold in turns."""

    alloc: tirx.AllocOp
    turns: tuple[Turn, ...]
    slots: int = 1
    carries: bool = False


class Exchange(Enum):
    """A way in which a tile changes hands in each iteration: the stations of its ring."""

    SUMS = "sum", "read"
    """Products overwrite it, then threads read it."""
    OPERAND = "write", "use"
    """Threads write it, then products read it."""
    CARRIED = "change", "sum"
    """Threads change what the products of the iteration before have left, then products add to it."""


@dataclass
class ExchangedTile:
    """A tile of tensor memory that becomes a ring between threads and products.

    `threads` and `products` are operations of the loop's body, `before` and `behind` are of the block of the loop; all
    are in the order of the program.
    """

    alloc: tirx.AllocOp
    exchange: Exchange
    threads: tuple[Operation, ...]
    products: tuple[tirx.MmaOp, ...]
    before: tuple[Operation, ...] = ()
    behind: tuple[Operation, ...] = ()
    slots: int = 1

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of an iteration, and around the loop, where the products leave a carried tile as it is."""
        first, second = self.exchange.value
        if self.exchange is Exchange.SUMS:
            return Turn(first, self.products, tirx.Queue.TCGEN05), Turn(second, self.threads)
        turns = [Turn(first, self.threads), Turn(second, self.products, tirx.Queue.TCGEN05)]
        for ops in (self.before, self.behind):
            turns += (Turn(first, ops), Turn(second, (), tirx.Queue.TCGEN05, directly=True)) if ops else ()
        return tuple(turns)

    @property
    def carries(self) -> bool:
        """True if a product adds to what the iteration before has left."""
        return self.exchange is Exchange.CARRIED

    @property
    def columns(self) -> int:
        """Columns of tensor memory of one slot."""
        return self.alloc.result.type.span_columns


def exchanged_tiles(loop: scf.ForOp, products: Sequence[tirx.MmaOp]) -> tuple[ExchangedTile, ...]:
    """The tiles of tensor memory that both threads and products use in a loop, each with one slot.

    Raises NotApplicable for a tile that changes hands in another way than `Exchange` has.
    """
    tiles = [tile for op in products for tile in (op.a, op.b, op.accumulator)]
    roots = dict.fromkeys(
        tirx.base_allocation(t) for t in tiles if tirx.TileType.of(t).memory is tirx.MemorySpace.TENSOR
    )
    found = tuple(tile for root in roots if (tile := _exchanged_tile(loop, products, root)) is not None)
    for op in products if found else ():
        if op.pair is not None or op.scales or op.metadata is not None:
            raise NotApplicable(
                op, f"'{op.name}' is of pairs, scaled or sparse, and threads use {tile_name(found[0].alloc)}"
            )
    return found


def early_products(
    loop: scf.ForOp, products: Sequence[tirx.MmaOp], exchanged: Sequence[ExchangedTile], staged: Iterable[tirx.AllocOp]
) -> tuple[tirx.MmaOp, ...]:
    """The products that can run while threads work on the iteration before.

    Every iteration overwrites their sums, and no product that adds to these reads what threads write. Raises
    NotApplicable if others read the same `staged` tiles.
    """
    sums = {tile.alloc.result for tile in exchanged if tile.exchange is Exchange.SUMS}
    operands = {tile.alloc.result for tile in exchanged if tile.exchange is Exchange.OPERAND}
    early: list[tirx.MmaOp] = []
    late: set[SSAValue] = set()
    for op in products:
        sums -= {tirx.base_allocation(op.accumulator)} if tirx.base_allocation(op.a) in operands else set()
    for op in products:
        read = {tirx.base_allocation(op.a), tirx.base_allocation(op.b)}
        if tirx.base_allocation(op.accumulator) in sums:
            early.append(op)
        else:
            late |= read
    both = late & {alloc.result for alloc in staged}
    for op in early:
        if {tirx.base_allocation(op.a), tirx.base_allocation(op.b)} & both:
            raise NotApplicable(op, f"'{op.name}' reads a tile that a product reads, too, which waits for threads")
        for operand in op.operands:
            slice_of(operand, loop)
    return tuple(early)


def choose_slots(loop: scf.ForOp, exchanged: Sequence[ExchangedTile], early: Sequence[tirx.MmaOp]) -> None:
    """Gives rings of sums that are ready early two slots, and others where there are columns for them.

    Raises NotApplicable if tensor memory has too few columns, and LocatedError at a tile without a layout.
    """
    if not exchanged:
        return
    for tile in exchanged:
        if (type_ := tile.alloc.result.type).layout is None:
            raise StageError(tile.alloc, f"expected a layout on {type_}; tirx-pick-layouts chooses one")
    kernel = enclosing(loop, tirx.KernelOp)
    assert kernel is not None
    left = COLUMNS - sum(map(allocated_columns, kernel.walk()))
    ahead = {tirx.base_allocation(op.accumulator) for op in early}
    order = sorted(exchanged, key=lambda tile: tile.alloc.result not in ahead)
    for tile in order:
        if tile.exchange is Exchange.CARRIED:
            continue
        if tile.columns <= left:
            tile.slots = 2
            left -= tile.columns
        elif tile.alloc.result in ahead:
            raise NotApplicable(
                tile.products[0],
                f"{tile_name(tile.alloc)} has no room for a second slot: {tile.columns} columns, with {left} left",
            )


@dataclass
class _Accesses:
    """The users of a tile, as operations of one block; `written` are views that are written whatever the conditions."""

    loop: scf.ForOp
    alloc: tirx.AllocOp
    threads: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    """Operation of the loop's body -> whether it writes the tile."""
    before: dict[Operation, None] = field(default_factory=dict[Operation, None])
    behind: dict[Operation, None] = field(default_factory=dict[Operation, None])
    written: list[SSAValue] = field(default_factory=list[SSAValue])
    filled: list[SSAValue] = field(default_factory=list[SSAValue])
    """The same as `written`, in front of the loop."""

    def add(self, op: Operation, tile: SSAValue) -> None:
        """Adds what threads do."""
        name = tile_name(self.alloc)
        if not isinstance(op, tirx.CopyOp | tirx.FillOp | tirx.LoadOp | tirx.StoreOp):
            raise NotApplicable(op, f"what '{op.name}' does with {name} is not known")
        writes = writes_to(op, tile)
        if (top := top_of(op, self.loop)) is not None:
            self.threads[top] = self.threads.get(top, False) or writes
            if writes and top is op:
                self.written.append(tile)
            return
        around = self.loop.parent
        assert around is not None
        if (top := around.find_ancestor_op_in_block(op)) is None:
            raise NotApplicable(op, f"'{op.name}' uses {name} in another place than the loop")
        ahead = top.is_before_in_block(self.loop)
        (self.before if ahead else self.behind)[top] = None
        if ahead and writes and top is op:
            self.filled.append(tile)


def _exchanged_tile(loop: scf.ForOp, products: Sequence[tirx.MmaOp], root: SSAValue) -> ExchangedTile | None:
    """A tile as threads and products of a loop use it, None if threads do not use it there."""
    if not isinstance(alloc := root.owner, tirx.AllocOp):
        raise NotApplicable(loop, "a tile of the products in tensor memory is no allocation")
    sums = [op for op in products if tirx.base_allocation(op.accumulator) is root]
    readers = [op for op in products if root in (tirx.base_allocation(op.a), tirx.base_allocation(op.b))]
    others = [(op, tile) for op, tile in accesses(root) if op not in products]
    if not readers and all(top_of(op, loop) is None for op, _ in others):
        return None
    found = _Accesses(loop, alloc)
    for op, tile in others:
        found.add(op, tile)
    order = {op: i for i, op in enumerate(loop.body.block.ops)}
    threads = tuple(sorted(found.threads, key=order.__getitem__))
    users = tuple(sums or readers)
    if sums and readers:
        raise NotApplicable(readers[0], f"'{readers[0].name}' reads {tile_name(alloc)}, which products write")
    if not threads:
        raise NotApplicable(readers[0], f"'{readers[0].name}' reads {tile_name(alloc)}, which the loop does not write")
    outside = bool(found.before or found.behind)
    if readers:
        written = all(found.threads.values()) and covers(alloc, found.written, [alloc.result])
        if outside or not written or readers[0].is_before_in_block(threads[-1]):
            raise NotApplicable(
                readers[0], f"{tile_name(alloc)} is not written by each iteration before products read it"
            )
        return ExchangedTile(alloc, Exchange.OPERAND, threads, users)
    return _exchanged_sums(found, alloc, threads, sums)


def _exchanged_sums(
    found: _Accesses, alloc: tirx.AllocOp, threads: tuple[Operation, ...], sums: Sequence[tirx.MmaOp]
) -> ExchangedTile:
    """Sums that `threads` of a loop read, or change in front of the products. Raises NotApplicable for others."""
    users = tuple(sums)
    outside = bool(found.before or found.behind)
    is_read_behind = not outside and not any(found.threads.values()) and sums[-1].is_before_in_block(threads[0])
    if is_read_behind and _overwrite(alloc, sums):
        return ExchangedTile(alloc, Exchange.SUMS, threads, users)
    changed_late = sums[0].is_before_in_block(threads[-1])
    if changed_late or not found.behind or not covers(alloc, found.filled, [alloc.result]):
        raise NotApplicable(
            sums[0],
            f"{tile_name(alloc)} is neither overwritten in each iteration and then read, nor filled before the loop, "
            "changed in front of the products and read behind the loop",
        )
    return ExchangedTile(alloc, Exchange.CARRIED, threads, users, *_in_order(found))


def _in_order(found: _Accesses) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    around = found.loop.parent
    assert around is not None
    order = {op: i for i, op in enumerate(around.ops)}
    before, behind = (tuple(sorted(ops, key=order.__getitem__)) for ops in (found.before, found.behind))
    return before, behind


def _overwrite(alloc: tirx.AllocOp, sums: Sequence[tirx.MmaOp]) -> bool:
    """True if the first product on each part of a tile overwrites it, and all parts have one."""
    written: list[SSAValue] = []
    for op in sums:
        if op.accumulate is not None and constant_value(op.accumulate) == 0:
            written.append(op.accumulator)
        elif not covers(alloc, written, [op.accumulator]):
            return False
    return covers(alloc, written, [alloc.result])
