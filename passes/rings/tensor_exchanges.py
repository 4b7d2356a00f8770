"""Tiles in tensor memory that threads and products of a loop hand to each other, and products that run ahead."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from enum import Enum

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import top_of
from tirx.passes.ir.emitter import constant_value
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.match.memory_by_lifetime import allocated_columns
from tirx.passes.match.pipelining import NotApplicable, StagedTile, accesses, covers, slice_of, tile_name, writes_to
from tirx.passes.rings.start_values import FILL, USE
from tirx.rules import StageError
from tirx.tcgen05.tmem import COLUMNS
from tirx.values import dataclass, field

METADATA_SLOTS = 2
"""Slots of a ring of metadata: four columns for 128 elements of K of f16."""
INIT, SUM, READ = "init", "sum", "read"
"""Stations of a ring of accumulators in tensor memory; the first one only where threads fill them."""


@dataclass(frozen=True)
class ScalePlan:
    """Scale factors in tensor memory that every iteration copies from shared memory, all by `tcgen05.cp`."""

    allocs: tuple[tirx.AllocOp, ...]
    copies: tuple[tirx.CopyOp, ...]


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
    kernel = kernel_of(loop)
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


def held_metadata(loop: scf.ForOp, products: Sequence[tirx.MmaOp]) -> tuple[SharedTile, ...]:
    """The metadata of sparse products. Raises NotApplicable for some that threads do not store in every iteration."""
    found: list[SharedTile] = []
    for root in dict.fromkeys(tirx.base_allocation(op.metadata) for op in products if op.metadata is not None):
        if not isinstance(alloc := root.owner, tirx.AllocOp):
            raise NotApplicable(loop, "the metadata of a product is in no allocation")
        if alloc.result.type.memory is not tirx.MemorySpace.TENSOR:
            continue
        copies: dict[tirx.CopyOp, None] = {}
        readers = [op for op in products if op.metadata is not None and tirx.base_allocation(op.metadata) is root]
        for op, tile in accesses(root):
            if op in readers:
                continue
            if (
                not isinstance(op, tirx.CopyOp)
                or op.destination is not tile
                or top_of(op, loop) is not op
                or op.source_type.memory is not tirx.MemorySpace.GLOBAL
            ):
                raise NotApplicable(op, f"'{op.name}' works on metadata {tile_name(alloc)}")
            if not all(op.is_before_in_block(reader) for reader in readers):
                raise NotApplicable(op, f"'{op.name}' stores metadata {tile_name(alloc)} behind a product")
            copies[op] = None
        if not copies or any(reader.pair is not None for reader in readers):
            raise NotApplicable(readers[0], f"the metadata {tile_name(alloc)} of '{readers[0].name}' is in no ring")
        turns = Turn(FILL, tuple(copies)), Turn(USE, tuple(readers), tirx.Queue.TCGEN05, directly=True)
        found.append(SharedTile(alloc, turns, METADATA_SLOTS))
    return tuple(found)


def copied_scales(loop: scf.ForOp, products: Sequence[tirx.MmaOp], tiles: Sequence[StagedTile]) -> ScalePlan | None:
    """The scale factors of products. Raises NotApplicable for some that do not come by `tcgen05.cp` in the loop."""
    roots = dict.fromkeys(tirx.base_allocation(scale) for op in products for scale in op.scales)
    allocs = [root.owner for root in roots]
    shared = {tile.alloc.result for tile in tiles}
    copies: dict[tirx.CopyOp, None] = {}
    for alloc in allocs:
        if not isinstance(alloc, tirx.AllocOp):
            raise NotApplicable(loop, "the scale factors of a product are in no allocation")
        for op, tile in accesses(alloc.result):
            if op in products and tile is alloc.result:
                continue
            if not isinstance(op, tirx.CopyOp) or op.destination is not tile or top_of(op, loop) is not op:
                raise NotApplicable(op, f"'{op.name}' works on scale factors {tile_name(alloc)}")
            if tirx.base_allocation(op.source) not in shared:
                raise NotApplicable(op, f"'{op.name}' reads a tile that is in no ring")
            copies[op] = None
    if not allocs:
        return None
    return ScalePlan(tuple(a for a in allocs if isinstance(a, tirx.AllocOp)), tuple(copies))


def shared_accumulators(
    loop: scf.ForOp, products: Sequence[tirx.MmaOp], exchanged: Container[Operation]
) -> tuple[SharedTile, ...]:
    """The other accumulators in tensor memory: filled by threads where they have to be, summed up, and read in turns.

    Readers that change the sums end a turn: what they have written is for those of the next one. Raises NotApplicable
    for uses that are neither before nor behind.
    """
    found: list[SharedTile] = []
    around = loop.parent
    roots = dict.fromkeys(tirx.base_allocation(op.accumulator) for op in products if op.on_tensor_memory)
    for root in roots:
        alloc = root.owner
        assert isinstance(alloc, tirx.AllocOp) and around is not None  # exchanged_tiles has looked for it
        if alloc in exchanged:
            continue
        order = {op: i for i, op in enumerate(around.ops)}
        fills: dict[Operation, None] = {}
        readers: dict[Operation, list[tuple[Operation, SSAValue]]] = {}
        for op, tile in accesses(alloc.result):
            if op in products:
                continue
            top = around.find_ancestor_op_in_block(op)
            if top is None or top is loop:
                raise NotApplicable(op, f"'{op.name}' uses the accumulator {tile_name(alloc)}")
            if top.is_before_in_block(loop):
                if not isinstance(op, tirx.FillOp) or top is not op:
                    raise NotApplicable(op, f"'{op.name}' uses the accumulator {tile_name(alloc)} before the loop")
                fills[top] = None
            else:
                readers.setdefault(top, []).append((op, tile))
        if not readers:
            raise NotApplicable(loop, f"nothing reads the accumulator {tile_name(alloc)} behind the loop")
        turns = [Turn(INIT, tuple(sorted(fills, key=order.__getitem__)))] if fills else []
        turns.append(Turn(SUM, (loop,), tirx.Queue.TCGEN05))
        reads = _turns({op: readers[op] for op in sorted(readers, key=order.__getitem__)})
        turns += [Turn(f"{READ}_{i}" if i else READ, ops) for i, ops in enumerate(reads)]
        found.append(SharedTile(alloc, tuple(turns)))
    return tuple(found)


def _turns(readers: Mapping[Operation, Sequence[tuple[Operation, SSAValue]]]) -> tuple[tuple[Operation, ...], ...]:
    """Cuts operations, each with its accesses to one tile, where one reads what another has written.

    Raises NotApplicable for an operation inside of which this happens.
    """
    turns: list[list[Operation]] = [[]]
    written = False
    for top, found in readers.items():
        writes = [(op, tile) for op, tile in found if writes_to(op, tile)]
        reads = [op for op, tile in found if (op, tile) not in writes]
        if isinstance(top, scf.IfOp | scf.WhileOp) and any(isinstance(op, tirx.MmaOp) for op, _ in writes):
            raise NotApplicable(top, f"'{top.name}' may add nothing to the accumulator")
        if writes and any(op is not top for op in reads):
            raise NotApplicable(top, f"'{top.name}' reads what it writes to the accumulator")
        if written and reads:
            turns.append([])
            written = False
        turns[-1].append(top)
        written = written or bool(writes)
    return tuple(map(tuple, turns))
