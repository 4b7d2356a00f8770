"""`tirx-tile-loop`: a grid with one block for each tile becomes a loop over tiles in as many blocks as run at once."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.traits import is_pure
from tirx.hw.features import UnsupportedFeature, required_version, supports
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.launch_values import launched, product_of
from tirx.passes.ir.scheduled import is_scheduling
from tirx.passes.match.memory_by_lifetime import aligned_bytes
from tirx.passes.match.pipelining import (
    NotApplicable,
    accesses,
    copies_to_shared,
    hardware_operation,
    is_fill,
    require_no_ordering,
    require_whole_warps,
)
from tirx.passes.match.slots import BARRIER_BYTES, ORDER, operand_limit
from tirx.passes.rings.start_values import at_once, check_multiprocessors, chosen_word, fewest_slots, start_values
from tirx.passes.rings.tile_order import MOST_TILES, counted_tiles, require_countable
from tirx.remarks import GridKept, TileLoopMade, TilesTakenOver
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

AUTO, NONE = "auto", "none"
_ORDERS = (tirx.TileOrder.ROW, tirx.TileOrder.GROUP, tirx.TileOrder.HILBERT, tirx.TileOrder.HARDWARE)

ASK, READ = "ask", "read"
"""Stations of a ring of answers of cluster launch control."""

ANSWERS = 2
"""Slots of such a ring: a block asks for the tile after the next one while the next one begins."""

DEFAULT_GROUP = 8
"""Tiles side by side in a column of `order(group n)`."""


@dataclass(frozen=True)
class TirxTileLoopPass(ModulePass):
    """Puts a `tirx.tiles` loop around what a block, or a pair of blocks, does, and lets a launch have one block for
    each multiprocessor.

    The tile `%i, %j` takes the place of `tirx.block_id y` and `x`; with a third dimension of the grid, `%i` counts its
    rows too. `order` is `row`, `group` or `hilbert`; `auto` looks it up by the family of the products, for kernels that
    stage tiles in a loop and have more tiles than the target has multiprocessors, but keeps the grid of loops with
    several products where that is not known to be faster, and of those in which threads make A of wgmma, or an operand
    of mma.sync: blocks of them run side by side on a multiprocessor. `none` keeps every grid. With `hardware` (sm_100
    and newer) the grid stays, too, and blocks that run ask for the tiles of those that have not started (cluster launch
    control). `attributes {tirx.order = "group"}` says it for one kernel.

    `multiprocessors` is how many of them a kernel may count on, in place of all that the largest GPU of its target has
    and of all that the GPU of a launch has: for a part of a GPU (a MIG slice, one that another kernel shares), and to
    see persistent kernels at work on few tiles. A persistent grid has no more blocks; `hardware` takes no such number.
    """

    name = "tirx-tile-loop"

    order: str | int = AUTO
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_multiprocessors(op, self.multiprocessors)
        for kernel in tirx.kernels(op):
            word = chosen_word(kernel, ORDER, self.order, "an order of", (AUTO, NONE, *_ORDERS))
            if word != NONE and (order := _order(kernel, word, self.multiprocessors)) is not None:
                _loop(kernel, *order, self.multiprocessors)


def _order(kernel: tirx.KernelOp, word: str, most: int | None) -> tuple[tirx.TileOrder, int | None] | None:
    """The order of tiles, with the width of a group; None if the grid stays."""
    asked = word != AUTO
    schedule = start_values(op for op in kernel.walk() if isinstance(op, ProductOp))
    if asked:
        order = tirx.TileOrder(word)
        group = (schedule.group or DEFAULT_GROUP) if order is tirx.TileOrder.GROUP else None
    else:
        order, group = schedule.order, schedule.group
        loops = _staging_loops(kernel)
        if not loops or not schedule.persistent:
            return None
        if any(_products(loop) > 1 for loop in loops):
            # Blocks side by side in a row of the grid share what each loads of the second operands.
            order, group = tirx.TileOrder.ROW, None
    try:
        _check(kernel, order, group, asked, most)
    except NotApplicable as e:
        if asked:
            message = f"expected a kernel that can loop over its tiles, found that {e.reason}"
            raise ScheduleOptionError(e.where, message) from e
        remark(e.where, GridKept(kernel.sym_name.data, e.reason))
        return None
    return order, group


def _staging_loops(kernel: tirx.KernelOp) -> list[scf.ForOp]:
    return [op for op in kernel.walk() if isinstance(op, scf.ForOp) and copies_to_shared(op)]


def _products(loop: scf.ForOp) -> int:
    """Counts the products of a loop; those of parts of one A with one B (`tirx-split-sums`) are one."""
    products = [op for op in loop.walk() if isinstance(op, tirx.MmaOp)]
    parts = {
        tuple(map(tirx.base_allocation, (op.a, op.b))) for op in products if isinstance(op.a.owner, tirx.SubviewOp)
    }
    return len(parts) + sum(not isinstance(op.a.owner, tirx.SubviewOp) for op in products)


def _check(kernel: tirx.KernelOp, order: tirx.TileOrder, group: int | None, asked: bool, most: int | None) -> None:
    """Raises NotApplicable at the operation that keeps a kernel from having a tile loop."""
    if kernel.grid is None or kernel.grid_formulas is None:
        raise NotApplicable(kernel, "it does not say its grid")
    if asked and order is tirx.TileOrder.HARDWARE:
        _require_launch_control(kernel)
        if most is not None:
            raise NotApplicable(kernel, f"the GPU hands out tiles to all of its multiprocessors, not to {most}")
    if (written := hardware_operation(kernel)) is not None:
        raise NotApplicable(written, f"'{written.name}' is in the terms of the hardware")
    require_whole_warps(kernel)
    require_no_ordering(kernel)
    for op in kernel.body.block.ops:
        if isinstance(op, tirx.ClusterSumOp):
            raise NotApplicable(op, "all warps of a cluster meet where it adds its sums")
        if is_scheduling(op):
            raise NotApplicable(op, f"'{op.name}' gives it a schedule already")
    dims, target = kernel.grid_dims, kernel.target_info
    count = None if target is None else most or target.multiprocessors
    if not asked and dims is not None and count is not None:
        blocks = kernel.cluster_size
        tiles, clusters = prod(dims), count // blocks
        if tiles <= clusters:
            of = "multiprocessors" if blocks == 1 else f"clusters of {blocks} multiprocessors"
            raise NotApplicable(kernel, f"its {tiles} tiles are no more than {clusters} {of}")
    for loop in () if asked else _staging_loops(kernel):
        if _products(loop) > 1:
            _require_fast(kernel, loop)
    counted = _counted(order, group, *kernel.grid_formulas)
    if isinstance(counted, int) and counted > MOST_TILES:
        raise NotApplicable(kernel, f"it has more than {MOST_TILES} tiles")


def _require_fast(kernel: tirx.KernelOp, loop: scf.ForOp) -> None:
    """Raises NotApplicable where a loop with several products does not get faster by a tile loop around it.

    Measured on an H100: attention with heads of 128 takes 0.82 of the time at 512 keys, 0.97 at 4096 and 0.99 at 16384
    if what is loaded in front of the loop has two slots, 1.0 to 1.09 if it has one, and up to 1.4 where causal blocks
    differ in length. On other targets than those with wgmma nothing has been measured.
    """
    slower = "blocks that start when others have ended are faster"
    target = kernel.target_info
    if target is None or not supports(target, "wgmma"):
        raise NotApplicable(loop, f"its loop has several products: {slower}, as far as is known")
    if any(_depends_on_block(bound) for bound in (loop.lb, loop.ub)):
        raise NotApplicable(loop, f"its loop has several products and is not as long in each block: {slower}")
    slots = fewest_slots(_products(loop))
    shared = [
        op for op in kernel.walk() if isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.SHARED
    ]
    need = sum(aligned_bytes(op.result.type) * (slots if _is_loaded(op) else 1) for op in shared)
    if need > operand_limit(target) - BARRIER_BYTES:
        raise NotApplicable(loop, f"its loop has several products, and no room for two of each tile: {slower}")


def _is_loaded(alloc: tirx.AllocOp) -> bool:
    """Returns True for a tile in shared memory that a copy from global memory fills."""
    filled = ((op, tile) for op, tile in accesses(alloc.result) if isinstance(op, tirx.CopyOp))
    return any(is_fill(op) and op.destination is tile for op, tile in filled)


def _depends_on_block(value: SSAValue) -> bool:
    """Returns True if a scalar is computed from the number of a block."""
    owner = value.owner
    return isinstance(owner, tirx.BlockIdOp) or (
        isinstance(owner, Operation) and any(map(_depends_on_block, owner.operands))
    )


def _require_launch_control(kernel: tirx.KernelOp) -> None:
    if (target := kernel.target_info) is None:
        raise NotApplicable(kernel, "it has no target")
    feature = "clusterlaunchcontrol" if kernel.cluster is None else "clusterlaunchcontrol.multicast"
    try:
        required_version(feature, target)
    except UnsupportedFeature as e:
        raise NotApplicable(kernel, str(e)) from e


def _loop(kernel: tirx.KernelOp, order: tirx.TileOrder, group: int | None, most: int | None) -> None:
    assert kernel.grid_formulas is not None
    x, y, z = kernel.grid_formulas
    block = kernel.body.block
    last = block.last_op
    assert isinstance(last, tirx.ReturnOp)
    body = Block(arg_types=[IndexType(), IndexType()])
    row, column = body.args
    row.name_hint, column.name_hint = "i", "j"
    moved = _per_tile(block)
    emit = Emitter(InsertPoint.at_end(body), kernel.location)
    before = Emitter(InsertPoint.before(last), kernel.location)
    ids: dict[tirx.GridAxis, SSAValue] = {tirx.GridAxis.X: column, tirx.GridAxis.Y: row}
    if z != 1 and isinstance(y, int):
        ids[tirx.GridAxis.Y], ids[tirx.GridAxis.Z] = emit.mod(row, y), emit.div(row, y)
    elif z != 1:
        rows = launched(before, y)
        ids[tirx.GridAxis.Y] = emit(arith.RemUIOp(row, rows)).result
        ids[tirx.GridAxis.Z] = emit(arith.DivUIOp(row, rows)).result
    for op in moved:
        op.detach()
        if not isinstance(op, tirx.BlockIdOp):
            body.add_op(op)
            continue
        position = ids.get(op.axis.data)
        op.result.replace_all_uses_with(emit.constant(0, IndexType()) if position is None else position)
        op.erase()
    tiles = product_of(product_of(x, y), z)
    require_countable(kernel, _counted(order, group, x, y, z))
    if order is tirx.TileOrder.HARDWARE:
        _ask(kernel, body, before)
        remark(kernel, TilesTakenOver(kernel.sym_name.data, str(tiles)))
        return
    extents = [launched(before, product_of(y, z)), launched(before, x)]
    before(tirx.TilesOp("tile", order, Region(body), extents, group=group))
    blocks = at_once(most, kernel.cluster_size)
    kernel.grid = ArrayAttr([FormulaAttr(Call("min", (tiles, blocks)))])
    named = order if group is None else f"{order} {group}"
    remark(kernel, TileLoopMade(kernel.sym_name.data, str(tiles), named))


def _counted(order: tirx.TileOrder, group: int | None, x: Formula, y: Formula, z: Formula) -> Formula:
    """The tiles that blocks count. With `hardware` they count rows only."""
    return counted_tiles(order, group, product_of(y, z), 1 if order is tirx.TileOrder.HARDWARE else x)


def _ask(kernel: tirx.KernelOp, body: Block, before: Emitter) -> None:
    """Puts a loop around `body` that begins each tile with a request for another one."""
    across = None if kernel.cluster is None else tirx.Across.CLUSTER
    ring = before(tirx.RingOp(ANSWERS, (ASK, READ), tirx.RingType.get([("", tirx.TileIdType())]), across)).result
    ring.name_hint = "clc"
    start = Emitter(InsertPoint.at_start(body), kernel.location)
    for op in (tirx.AcquireOp(ring, ASK), tirx.AsyncNextOp(ring), tirx.ReleaseOp(ring, ASK, tirx.Queue.TMA)):
        start(op)
    before(tirx.TilesOp("tile", tirx.TileOrder.HARDWARE, Region(body), source=ring, station=READ))


def _per_tile(block: Block) -> list[Operation]:
    """
    Returns the operations that each tile repeats: all but tiles in memory, and scalars that do not depend on the block.

    Registers that start at a constant are set in each tile, since they would be occupied between tiles otherwise.
    """
    kept: set[Operation] = set()
    moved: list[Operation] = []
    for op in block.ops:
        tiles = any(isinstance(value.type, tirx.TileType) for value in op.results)
        scalar = is_pure(op) and not op.regions and not tiles and not isinstance(op, tirx.BlockIdOp)
        known = all(not isinstance(v.owner, Operation) or v.owner in kept for v in op.operands)
        if isinstance(op, tirx.AllocOp) or (scalar and known):
            kept.add(op)
        elif not isinstance(op, tirx.ReturnOp):
            moved.append(op)
    return moved
