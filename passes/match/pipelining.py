"""Tiles of a loop that can become slots of a ring.

The test is made for each tile, not for the loop: a tile that every iteration fills from global memory before anything
reads it carries nothing from one iteration to the next, whatever other tiles do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import captured, operations, top_of, walk
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.scheduled import SCHEDULED, kernel_of
from tirx.passes.ir.views import argument_number
from tirx.values import dataclass


class NotApplicable(Exception):
    """Says why a pass leaves a tile, a loop or a kernel as it is, and at which operation."""

    def __init__(self, where: Operation, reason: str):
        super().__init__(reason)
        self.where = where
        self.reason = reason


@dataclass(frozen=True)
class Access:
    """An operation of the loop that reads or writes `tile`, a view of an allocation.

    `top` is the operation of the loop's body that is it or has it inside.
    """

    op: Operation
    top: Operation
    tile: SSAValue
    writes: bool


@dataclass(frozen=True)
class StagedTile:
    """A tile that every iteration fills from another memory before it reads it."""

    alloc: tirx.AllocOp
    fills: tuple[tirx.CopyOp, ...]
    reads: tuple[Access, ...]

    @property
    def name(self) -> str:
        """The tile in a message."""
        return tile_name(self.alloc)


def tile_name(alloc: tirx.AllocOp) -> str:
    """The tile of an allocation in a message."""
    hint = alloc.result.name_hint
    return f"%{hint}" if hint else "a tile"


def copies_to_shared(loop: scf.ForOp) -> list[tirx.CopyOp]:
    """The copies from global to shared memory in a loop, not those of the loops inside of it."""
    return [op for op in _own_operations(loop.body.block) if isinstance(op, tirx.CopyOp) and is_fill(op)]


def is_fill(op: tirx.CopyOp) -> bool:
    """True for a copy from global to shared memory that the slots of a ring could be filled by."""
    # Their threads know the indices.
    indexed = op.engine is not None and op.engine.data in (tirx.Engine.CP_ASYNC, tirx.Engine.TMA)
    for tile in op.operands:
        if isinstance(view := tile.owner, tirx.ViewOp) and not (view.joins_rings or (view.is_global and indexed)):
            return False
    return op.source_type.memory is tirx.MemorySpace.GLOBAL and op.destination_type.memory is tirx.MemorySpace.SHARED


def _own_operations(block: Block) -> Iterator[Operation]:
    for op in operations(block):
        yield op
        if op.regions and not isinstance(op, scf.ForOp | scf.WhileOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _own_operations(inner)


def accesses(tile: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """The operations that use a tile or a view of it, each with the value that it uses. They stay as they are
    meanwhile: a tile of many loops has many uses, and most who ask have enough of the first.
    """
    for use in tile.uses:
        match use.operation:
            case tirx.SubviewOp() | tirx.ReshapeOp() | tirx.TransposeOp() | tirx.WordsOp() as view:
                yield from accesses(view.result)
            case op:
                yield op, tile


def writes_to(op: Operation, tile: SSAValue) -> bool:
    """True if an operation may write a tile that it uses. Unknown operations write what they are given."""
    if isinstance(op, tirx.AsyncCopyOp):
        return op.destination is tile
    return any(tile is written for written in tirx.tile_effects(op).writes)


_HARDWARE = ("ptx.", "tcgen05.", "wgmma.", "tirx.address", "tirx.barrier", "tirx.leader")
"""How names of operations begin that say themselves which threads do what, and when."""

_VALUES = ("wgmma.uninitialized",)
"""Operations of these dialects that do nothing."""


def hardware_operation(kernel: Operation) -> Operation | None:
    """The first operation of a kernel that was written in the hardware's terms, whose threads and waits are not known,
    or that stores a number, which one thread does.
    """
    rare = (op for op in walk(kernel) if is_rare(type(op)))
    return next((op for op in rare if in_hardware_terms(op) or stores_number(op)), None)


@lru_cache(maxsize=1024)
def is_rare(kind: type[Operation]) -> bool:
    """Returns False for operations that are in no terms of the hardware, store no number and order nothing."""
    return kind.name.startswith(_HARDWARE) or issubclass(kind, memref.StoreOp | tirx.OrderingOp)


def in_hardware_terms(op: Operation) -> bool:
    """Returns True for an operation that says itself which threads do what, and when."""
    return op.name.startswith(_HARDWARE) and op.name not in _VALUES


def stores_number(op: Operation) -> bool:
    """Returns True for an operation by which one thread of the block stores a number to an argument."""
    return isinstance(op, memref.StoreOp) and not isinstance(op.memref.owner, memref.AllocaOp)  # a thread's variable


def is_ordering(op: Operation) -> bool:
    """Returns True for an operation that orders what its block does with what other blocks do."""
    return isinstance(op, tirx.OrderingOp) and (op.acquires or op.releases)


def require_whole_warps(kernel: tirx.KernelOp) -> None:
    """Raises NotApplicable for a kernel with a part of a warp, which cannot have rings."""
    if (threads := kernel.num_threads) % WARP_SIZE:
        raise NotApplicable(kernel, f"the {threads} threads of the kernel are not whole warps of {WARP_SIZE}")


def require_no_ordering(kernel: Operation) -> None:
    """Raises NotApplicable for a kernel whose blocks wait for each other, which stays as it is."""
    for op in walk(kernel):
        if is_rare(type(op)) and is_ordering(op):
            raise NotApplicable(op, f"'{op.name}' orders what blocks do")


def check_loop(loop: scf.ForOp) -> None:
    """Raises NotApplicable if an iteration cannot begin before the one in front of it has ended, whatever the tile."""
    for op in walk(loop):
        if stores_number(op):
            raise NotApplicable(op, f"the loop stays sequential: one thread does '{op.name}' in it")
        if isinstance(op, SCHEDULED):
            raise NotApplicable(op, f"the loop stays sequential: '{op.name}' in it has a schedule already")
        if is_ordering(op):
            raise NotApplicable(op, f"the loop stays sequential: '{op.name}' in it orders what blocks do")


def staged_tile(loop: scf.ForOp, alloc: tirx.AllocOp) -> StagedTile:
    """The tile as one that each iteration of `loop` fills and then reads. Raises NotApplicable if it is not."""
    name = tile_name(alloc)
    found: list[Access] = []
    for op, tile in accesses(alloc.result):
        if (top := top_of(op, loop)) is None:
            raise NotApplicable(op, f"{name} keeps one buffer: '{op.name}' uses it outside of the loop")
        if not isinstance(op, tirx.CopyOp | tirx.FillOp | tirx.LoadOp | tirx.MmaOp | tirx.StoreOp):
            raise NotApplicable(op, f"{name} keeps one buffer: what '{op.name}' does with it is not known")
        found.append(Access(op, top, tile, writes_to(op, tile)))
    order = {op: i for i, op in enumerate(operations(loop.body.block))}
    found.sort(key=lambda access: order[access.top])
    fills: list[tirx.CopyOp] = []
    for access in found:
        if not access.writes:
            continue
        if not isinstance(access.op, tirx.CopyOp) or access.tile is not access.op.destination:
            raise NotApplicable(
                access.op, f"{name} keeps one buffer: '{access.op.name}' writes it, which is no copy to it"
            )
        if access.top is not access.op:
            raise NotApplicable(
                access.op, f"{name} keeps one buffer: '{access.op.name}' fills it inside of '{access.top.name}'"
            )
        fills.append(access.op)
    reads = [access for access in found if not access.writes]
    if not fills or not reads:
        raise NotApplicable(alloc, f"{name} keeps one buffer: the loop does not both fill and read it")
    first = min(order[access.top] for access in reads)
    for fill in fills:
        if order[fill] > first:
            raise NotApplicable(
                fill, f"{name} keeps one buffer: '{fill.name}' writes it behind '{reads[0].op.name}', which reads it"
            )
    if (again := _overwriting(alloc, fills)) is not None:
        raise NotApplicable(again, f"{name} keeps one buffer: '{again.name}' writes elements that another copy fills")
    if not covers(alloc, [fill.destination for fill in fills], [read.tile for read in reads]):
        raise NotApplicable(
            reads[0].op, f"{name} keeps one buffer: '{reads[0].op.name}' reads more than is copied to it"
        )
    for fill in fills:
        check_source(loop, fill)
    return StagedTile(alloc, tuple(fills), tuple(reads))


def _overwriting(alloc: tirx.AllocOp, fills: Sequence[tirx.CopyOp]) -> tirx.CopyOp | None:
    """The first copy that may write what one before it writes: in a slot, copies are not in order."""
    if len(fills) < 2:
        return None
    written = np.zeros(alloc.result.type.dims, np.bool_)
    for number, fill in enumerate(fills):
        box = box_of(fill.destination, alloc.result)
        if number and (box is None or written[box].any()):
            return fill
        written[() if box is None else box] = True
    return None


def covers(alloc: tirx.AllocOp, writes: Sequence[SSAValue], reads: Iterable[SSAValue]) -> bool:
    """True if views of an allocation that are written have all elements of those that are read."""
    if alloc.result in writes:
        return True
    written = np.zeros(alloc.result.type.dims, np.bool_)
    for tile in writes:
        if (box := box_of(tile, alloc.result)) is not None:
            written[box] = True
    if written.all():
        return True
    for tile in reads:
        box = box_of(tile, alloc.result)
        if box is None or not written[box].all():
            return False
    return True


def box_of(tile: SSAValue, base: SSAValue) -> tuple[slice, ...] | None:
    """The elements of `base` that a view of it has, () for all; None if they are no known box of its dimensions."""
    extents = tirx.TileType.of(tile).dims
    starts, steps = list[int](), [1] * len(extents)
    whole = False
    while tile is not base:
        match tile.owner:
            case tirx.SubviewOp() as op if not whole and not op.indices:
                inner = starts or [0] * len(extents)
                starts = [a + n * step for a, n, step in zip(op.start, inner, op.step, strict=True)]
                steps = [n * step for n, step in zip(steps, op.step, strict=True)]
                tile = op.source
            case tirx.ReshapeOp() as op if not starts:
                # A reshape of all elements has all elements; of a part of them, any.
                whole, tile = True, op.source
                if tirx.TileType.of(op.result).num_elements != tirx.TileType.of(base).num_elements:
                    return None
            case tirx.AtOp() as op if isinstance(tile, OpResult) and (last := op.body.block.last_op) is not None:
                tile = last.operands[tile.index]
            case _:
                return None
    if whole:
        return ()
    return tuple(map(_elements, starts or [0] * len(extents), extents, steps))


def _elements(start: int, extent: int, step: int) -> slice:
    """The elements at `extent` positions along a dimension, in their order in memory."""
    low, high = sorted((start, start + (extent - 1) * step))
    return slice(low, high + 1, None if extent == 1 or abs(step) == 1 else abs(step))


def slice_of(value: SSAValue, loop: Operation) -> list[Operation]:
    """The operations inside of `loop` that compute a value and may be done again, operands first.

    They are pure, maps, or loads of arguments that the kernel does not write. Raises NotApplicable if the value depends
    on anything but these, the counter of the loop and values from outside of it.
    """
    found: dict[Operation, None] = {}
    if isinstance(value, OpResult):
        _add_slice(value, value.op, loop, found)
    return list(found)


def _add_slice(value: SSAValue, user: Operation, loop: Operation, found: dict[Operation, None]) -> None:
    if isinstance(value, BlockArgument):
        if value.block.parent_op() is loop and value.index > 0:
            raise NotApplicable(user, f"'{user.name}' needs a value that the loop carries")
        return  # no other one of the loop: what has regions is refused below
    if not isinstance(value, OpResult) or top_of(op := value.op, loop) is None or op in found:
        return
    if isinstance(op, tirx.LoadOp | memref.LoadOp):
        _require_constant(op, loop, user)
    elif not is_computed(op):
        raise NotApplicable(op, f"'{user.name}' needs the result of '{op.name}', which is no function of the iteration")
    for operand in needed_values(op):
        _add_slice(operand, op, loop, found)
    found[op] = None


def is_computed(op: Operation) -> bool:
    """Returns True for an operation whose results depend on `needed_values` alone: a pure one, or a map to values."""
    return (is_pure(op) and not op.regions) or (isinstance(op, tirx.MapOp) and not op.outs)


def needed_values(op: Operation) -> Sequence[SSAValue]:
    """Returns the operands of an operation, and the values from outside that its regions use."""
    return captured(op) if op.regions else op.operands


def _require_constant(load: tirx.LoadOp | memref.LoadOp, loop: Operation, user: Operation) -> None:
    """Raises NotApplicable unless a load gives the same in every round: it is of an argument that nothing writes."""
    source = tirx.base_allocation(load.operands[0])
    kernel = kernel_of(loop)
    what = f"'{user.name}' needs the result of '{load.name}'"
    if argument_number(source) is None:
        raise NotApplicable(load, f"{what}, which reads no argument of the kernel")
    for op in walk(kernel):
        if (name := written_memref(op, source)) is not None:
            raise NotApplicable(load, f"{what} from {name}, which '{op.name}' may write")


def check_source(loop: scf.ForOp, fill: tirx.CopyOp) -> None:
    """Raises NotApplicable unless a later iteration's source is known, and stays the same, in an earlier iteration."""
    for tile in (fill.source, fill.destination):
        try:
            slice_of(tile, loop)
        except NotApplicable as e:
            raise NotApplicable(e.where, f"'{fill.name}' cannot run ahead: {e.reason}") from e
    source = tirx.base_allocation(fill.source)
    for op in walk(loop):
        if (found := written_memref(op, source)) is not None:
            raise NotApplicable(op, f"'{fill.name}' cannot run ahead: '{op.name}' may write {found}, which it reads")


def written_memrefs(op: Operation) -> list[SSAValue]:
    """The arguments in global memory that an operation may write, not those that only others inside of it do."""
    if is_pure(op) or (op.regions and not tirx.is_foreign(op)):
        return []
    found: list[SSAValue] = []
    for operand in operands_of(op):
        if isinstance(operand.type, tirx.TileType):
            if operand.type.memory is not tirx.MemorySpace.GLOBAL or not writes_to(op, operand):
                continue
        elif not isinstance(operand.type, MemRefType) or op.name == "memref.load":
            continue
        elif tirx.is_foreign(op) and operand not in tirx.tile_effects(op).writes:
            continue
        found.append(tirx.base_allocation(operand))
    return found


def written_memref(op: Operation, source: SSAValue) -> str | None:
    """The name of `source`, an argument in global memory, if an operation may write it; arguments do not overlap."""
    if source not in written_memrefs(op):
        return None
    return f"%{source.name_hint}" if source.name_hint else "the memory"
