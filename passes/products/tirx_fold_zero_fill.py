"""`tirx-fold-zero-fill`: the first product overwrites the accumulator instead of a fill with zeros."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias, TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, ModuleOp, i1
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import tirx
from tirx.dialects.wgmma import UninitializedOp
from tirx.passes.ir.emitter import Emitter, constant_value, erase, take_over
from tirx.passes.ir.index_analysis import trip_count_is_positive
from tirx.passes.ir.trip_count import trip_count
from tirx.passes.match.families import WGMMA, family_of
from tirx.passes.match.pipelining import accesses
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tensor_tiles import common_fragment


def _is_zero(value: SSAValue) -> bool:
    match value.owner:
        case arith.ConstantOp(value=FloatAttr(value=data)):
            # -0.0 + x is x, but 0.0 + -0.0 is 0.0: only the positive zero is what the product without input adds to.
            return str(data.data) == "0.0"
        case arith.ConstantOp(value=IntegerAttr(value=data)):
            return data.data == 0
        case _:
            return False


def _touches(op: Operation, tile: SSAValue) -> bool:
    """Returns True if `op`, or an operation inside it, reads or writes a view of the same allocation as `tile`."""
    if isinstance(op, tirx.SubviewOp | tirx.ReshapeOp):
        return False
    root = tirx.base_allocation(tile)
    return any(tirx.base_allocation(operand) is root for inner in op.walk() for operand in inner.operands)


def _first_touch(op: Operation | None, tile: SSAValue) -> Operation | None:
    while op is not None and not _touches(op, tile):
        op = op.next_op
    return op


Part: TypeAlias = tuple[tuple[int, int], ...]
"""(begin, end) along each dimension."""

_Overwriting: TypeAlias = tuple[Sequence[tirx.MmaOp], list[scf.ForOp], list[tirx.LoadOp | tirx.CopyOp]]
"""Products, the loops around them, and what reads their sums although the outermost loop may have had no iteration."""


def _products_of_all(op: Operation | None, tile: SSAValue) -> Sequence[tirx.MmaOp] | None:
    """Returns the products that use a tile first from `op` on in its block, if together they write all of it.

    They are one product of the whole tile, or products of parts that do not overlap, as those of 256 rows are. More
    products of the same parts may stand between them.
    """
    left = tirx.TileType.of(tile).num_elements
    found: dict[Part, tirx.MmaOp] = {}
    while left:
        op = _first_touch(op, tile)
        if not isinstance(op, tirx.MmaOp) or op.accumulate is not None:
            return None
        if (part := _part_of(op.accumulator, tile)) is None:
            return None
        if tirx.base_allocation(op.a) is tirx.base_allocation(tile):
            return None
        if part not in found:
            if any(_overlap(part, other) for other in found):
                return None
            found[part] = op
            left -= prod(end - start for start, end in part)
        op = op.next_op
    return list(found.values())


def _part_of(view: SSAValue, tile: SSAValue) -> Part | None:
    """The elements of a tile that a view of it has. None for a view of another tile, or at a computed place."""
    if view is tile:
        return tuple((0, extent) for extent in tirx.TileType.of(tile).dims)
    op = view.owner
    if not isinstance(op, tirx.SubviewOp) or op.source is not tile or op.indices:
        return None
    return tuple((start, start + extent) for start, extent in zip(op.start, op.result.type.dims, strict=True))


def _overlap(a: Part, b: Part) -> bool:
    return all(low < end and start < high for (low, high), (start, end) in zip(a, b, strict=True))


def _inside_loops(op: Operation | None, tile: SSAValue, loops: list[scf.ForOp]) -> Operation | None:
    """Returns what uses a tile first in the innermost of the loops from `op` on that surely run, and adds these."""
    while isinstance(op, scf.ForOp) and trip_count_is_positive(op):
        loops.append(op)
        op = _first_touch(op.body.block.first_op, tile)
    return op


def _overwriting_mmas(fill: tirx.FillOp) -> _Overwriting | None:
    """Returns the products that use the tile first on every path behind the fill."""
    loops: list[scf.ForOp] = []
    op = _inside_loops(_first_touch(fill.next_op, fill.tile), fill.tile, loops)
    found = _products_of_all(op, fill.tile)
    return None if found is None else (found, loops, [])


def _overwriting_mmas_if_any(fill: tirx.FillOp) -> _Overwriting | None:
    """The same where the outermost loop may have no iteration.

    None unless everything else that uses the tile reads it behind the loop, in its block.
    """
    outer = _first_touch(fill.next_op, fill.tile)
    root = tirx.base_allocation(fill.tile)
    if not isinstance(outer, scf.ForOp) or root is not fill.tile:
        return None
    if all(constant_value(bound) is not None for bound in (outer.lb, outer.ub, outer.step)):
        return None
    loops = [outer]
    op = _inside_loops(_first_touch(outer.body.block.first_op, fill.tile), fill.tile, loops)
    if (products := _products_of_all(op, fill.tile)) is None:
        return None
    readers: dict[tirx.LoadOp | tirx.CopyOp, None] = {}
    for user, tile in accesses(root):
        if user is fill or outer.is_ancestor(user):
            continue
        if user.parent is not outer.parent or not outer.is_before_in_block(user) or not _reads(user, tile):
            return None
        readers[user] = None
    return products, loops, list(readers)


def _reads(op: Operation, tile: SSAValue) -> TypeGuard[tirx.LoadOp | tirx.CopyOp]:
    """True for a load of a tile, and a copy of it to another memory."""
    match op:
        case tirx.LoadOp():
            return True
        case tirx.CopyOp():
            to_others = op.destination_type.memory is not tirx.MemorySpace.TENSOR
            return op.source is tile and to_others and op.reduce is None and op.engine is None
        case _:
            return False


def _read_if_any(reader: tirx.LoadOp | tirx.CopyOp, loop: scf.ForOp) -> None:
    """Reads zeros in the place of a tile that no iteration of the loop has written."""
    emit = Emitter.before(reader)
    trips = trip_count(emit, loop)
    assert isinstance(trips, SSAValue)
    some = emit.compare(trips, emit.constant(0, IndexType()), "ne")
    type_ = _registers_of(reader)
    loaded, zero = tirx.LoadOp(reader.source, type_), tirx.ZeroOp(type_)
    (value,) = emit.either(some, lambda inside: inside(loaded).results, lambda inside: inside(zero).results)
    if isinstance(reader, tirx.LoadOp):
        take_over(reader.result, value)
    else:
        emit(tirx.StoreOp(value, reader.destination))
    erase(reader)


def _registers_of(reader: tirx.LoadOp | tirx.CopyOp) -> tirx.TileType:
    """The register tile that a tile of tensor memory is read to. Raises LocatedError where no shape reads it."""
    if isinstance(reader, tirx.LoadOp):
        return tirx.TileType.of(reader.result)
    source = reader.source_type
    with legal(reader):
        layout = None if source.layout is None else common_fragment([source])
    return tirx.TileType.get(source.dims, source.element_type, tirx.MemorySpace.REGISTER, layout)


def _start_of(value: SSAValue, user: Operation) -> tuple[SSAValue, list[scf.ForOp]] | None:
    """Returns the first value of an accumulator that only `user` reads, and the loops that carry it, outermost last.

    None where something else reads it, or a loop may not run.
    """
    loops: list[scf.ForOp] = []
    while value.has_one_use():
        if not isinstance(value, BlockArgument):
            return value, loops
        loop = value.owner.parent_op()
        if not isinstance(loop, scf.ForOp) or user.parent_op() is not loop or not trip_count_is_positive(loop):
            return None
        loops.append(loop)
        value, user = loop.iter_args[value.index - 1], loop
    return None


def is_zero_tile(value: SSAValue) -> bool:
    """Returns True for a register tile of zeros, none of them negative."""
    match value.owner:
        case tirx.SplatOp() as op:
            return _is_zero(op.value)
        case owner:
            return isinstance(owner, tirx.ZeroOp)


def _fold_value(mma: tirx.MmaOp | tirx.AsyncMmaOp) -> None:
    """Lets a warpgroup's product overwrite an accumulator that starts at zero."""
    if mma.accumulate is not None or family_of(Product.of(mma)) is not WGMMA:
        return
    loops: list[scf.ForOp] = []
    if not is_zero_tile(mma.accumulator):
        found = _start_of(mma.accumulator, mma)
        if found is None or not is_zero_tile(start := found[0]):
            return
        loops, first = found[1], start.owner
        assert isinstance(first, Operation)
        uninitialized = Emitter.before(first)(UninitializedOp(tirx.TileType.of(start))).tile
        start.replace_all_uses_with(uninitialized)
        erase(first)
    accumulate = _is_later(Emitter.before(mma), loops)
    product = Emitter.before(mma)(mma.with_accumulate(accumulate))
    for old, new in zip(mma.results, product.results, strict=True):
        old.replace_all_uses_with(new)
    erase(mma)


def _is_later(emit: Emitter, loops: Sequence[scf.ForOp]) -> SSAValue:
    """Emits a predicate that holds in all iterations but the first of all these loops together."""
    later: SSAValue | None = None
    for loop in loops:
        here = emit.compare(loop.body.block.args[0], loop.lb, "ne")
        later = here if later is None else emit.bit_or(later, here)
    return emit.constant(0, i1) if later is None else later


class TirxFoldZeroFillPass(ModulePass):
    """`tirx.fill %acc, 0` followed by products becomes `accumulate(%p)` on the first product, or the first ones of
    parts that make up the tile, with `%p` false the first time they run. For tensor memory, where the hardware has this
    as `enable-input-d`, and for accumulators of wgmma (`scale-d`), which then need no start value. Where the loop of
    the products may have no iterations, what reads a tile of tensor memory behind it reads zeros then. A product that
    is -0 stays -0, where 0 + -0 would be 0.
    """

    name = "tirx-fold-zero-fill"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fill in [f for kernel in tirx.kernels(op) for f in kernel.walk() if isinstance(f, tirx.FillOp)]:
            if fill.tile_type.memory is not tirx.MemorySpace.TENSOR or not _is_zero(fill.value):
                continue
            if (found := _overwriting_mmas(fill) or _overwriting_mmas_if_any(fill)) is None:
                continue
            products, loops, readers = found
            for reader in readers:
                _read_if_any(reader, loops[0])
            later = _is_later(Emitter.before(products[0]), loops)
            for mma in products:
                Emitter.before(mma)(mma.with_accumulate(later))
                erase(mma)
            erase(fill)
        for kernel in tirx.kernels(op):
            for mma in list(kernel.walk()):
                if isinstance(mma, tirx.MmaOp | tirx.AsyncMmaOp) and mma.result is not None:
                    _fold_value(mma)
