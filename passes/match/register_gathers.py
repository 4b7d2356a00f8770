"""Gathers from register tiles: those that warps do by themselves, and those that go through shared memory."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tirx.copy.access import widest_vectors
from tirx.copy.distribute import VECTOR_BYTES
from tirx.copy.exchange import SHUFFLED_BITS
from tirx.copy.register_gather import RegisterGather, plan_register_gather, shared_gather_cycles
from tirx.dialects import tirx
from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrays import np
from tirx.layout.ownership import held_elements
from tirx.layout.reduction import reduced
from tirx.passes.ir.emitter import is_zero
from tirx.passes.ir.register_classes import same_layout


def register_gather(view: tirx.ViewOp, threads: int) -> RegisterGather | None:
    """Plans a view of a register tile within warps, where that is cheaper than a store to shared memory and a load.

    None where it is not, where layouts are not known, threads lack indices, index tiles name coordinates along several
    dimensions, the view is a part along others, elements are narrower than 16 bits, or `plan_register_gather` finds no
    way.
    """
    have, want = tirx.TileType.of(view.source).layout, view.result.type.layout
    if not isinstance(have, TileLayout) or not isinstance(want, TileLayout):
        return None
    try:
        for dim, index in view.index_tiles.items():
            held = tirx.TileType.of(index).layout
            if held is None or not same_layout(held, reduced(want, view.result.type.dims, view.still_dims(dim))):
                return None
        return _plan(view, have, want, threads)
    except LayoutError:
        return None


def layout_for_gather(op: tirx.LoadOp, threads: int) -> TileLayout | None:
    """Returns the layout of a loaded tile in which it would rather be gathered from the registers that were stored.

    It is that of the stored tile, of the same shape. None where shared memory is as good.
    """
    if (store := stored_before(op)) is None:
        return None
    view = tirx.indexed_view(op.source)
    assert view is not None, "stored_before looks for it"
    source = tirx.TileType.of(store.value)
    if not isinstance(source.layout, TileLayout) or source.dims != op.result.type.dims:
        return None
    return None if _plan(view, source.layout, source.layout, threads) is None else source.layout


def stored_before(op: tirx.LoadOp) -> tirx.StoreOp | None:
    """The store of a register tile that a load of elements which index tiles name reads, if it alone does.

    `tirx-mem2reg` makes them for a view of a value; a loop that is pipelined may have several pairs for one tile. None
    where the shared tile has other uses, or some load of it is not in the block of a store of its own.
    """
    view = tirx.indexed_view(op.source)
    if view is None or op.pad is not None or not isinstance(view.source.owner, tirx.AllocOp):
        return None
    return _stores_of_loads(view.source).get(op)


def _stores_of_loads(memory: SSAValue) -> dict[tirx.LoadOp, tirx.StoreOp]:
    """For each load of views of a tile the store before it in its block; none where that is not all that uses it."""
    moves: list[Operation] = []
    for use in memory.uses:
        user = use.operation
        moves += [each.operation for each in user.result.uses] if isinstance(user, tirx.ViewOp) else [user]
    stores = {each for each in moves if isinstance(each, tirx.StoreOp) and each.destination is memory}
    loads = [each for each in moves if isinstance(each, tirx.LoadOp) and each.source is not memory]
    if len(stores) + len(loads) < len(moves) or any(each.reduce is not None for each in stores):
        return {}
    found: dict[tirx.LoadOp, tirx.StoreOp] = {}
    around: dict[Block, set[Operation | None]] = {}
    for load in loads:
        assert (block := load.parent) is not None
        if block not in around:
            around[block] = {block.find_ancestor_op_in_block(each) for each in moves}
        last = load.prev_op
        while last is not None and last not in around[block]:
            last = last.prev_op
        if not isinstance(last, tirx.StoreOp) or last in found.values():
            return {}
        found[load] = last
    return found


def _plan(view: tirx.ViewOp, have: TileLayout, want: TileLayout, threads: int) -> RegisterGather | None:
    """Plans a view between tiles of these layouts, None where shared memory is cheaper or the only way."""
    source, result = tirx.TileType.of(view.source), view.result.type
    bits = source.dtype.storage_bits
    if len(view.index_tiles) > 1 or view.dims is not None or view.steps is not None or view.sizes:
        return None
    if bits < SHUFFLED_BITS or len(source.dims) != len(result.dims):
        return None
    (dim,) = view.index_tiles
    others = [d for d in range(len(source.dims)) if d != dim]
    if any(source.dims[d] != result.dims[d] or not is_zero(view.indices[d]) for d in others):
        return None
    try:
        plan = plan_register_gather(have, source.dims, want, result.dims, dim, threads)
    except LayoutError:
        return None
    if plan is None:
        return None
    last = len(result.dims) - 1
    elements = held_elements(want, result.dims, threads)
    used = np.any(elements >= 0, axis=0)
    # Neighbours with one index are loaded as vectors.
    widest = 8 * VECTOR_BYTES // bits if dim != last and last in view.still_dims(dim) else 1
    loaded = int(used.sum()), len(widest_vectors(elements, used, widest))
    cycles = shared_gather_cycles((have, TileLayout.row_major(source.dims)), source.dims, loaded, bits, threads)
    return plan if plan.cycles(bits, threads) < cycles else None
