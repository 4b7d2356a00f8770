"""`tirx-split-last-round`: blocks without a tile in the last round of a grid take parts of the others' sums."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerType, ModuleOp, StringAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.formula import Call
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.tirx.engines import Reduction, ReductionAttr
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.traits import is_pure, is_terminator
from tirx.passes.ir.emitter import Emitter, constant_value, erase, is_zero
from tirx.passes.ir.index_analysis import NARROW_LIMIT, narrow_sizes
from tirx.passes.ir.launch_values import launched, product_of, quotient_of, sum_of
from tirx.passes.match.narrow_places import require_small
from tirx.passes.match.slots import SPLIT
from tirx.passes.rings.start_values import at_once, check_multiprocessors, chosen_word, start_values
from tirx.passes.rings.tile_order import MOST_TILES, coordinates_of, counted_tiles, require_countable
from tirx.remarks import LastRoundSplit
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

NONE, LAST, STREAM, AUTO = WORDS = ("none", "last", "stream", "auto")

MOST_PARTS = 8
"""Parts of a tile: each of them adds to the same elements in memory."""


_ADD = ReductionAttr(Reduction.ADD)


@dataclass(frozen=True)
class TirxSplitLastRoundPass(ModulePass):
    """Splits the tiles of the last round of a grid along K, so that all multiprocessors have work until its end.

    Where T tiles are no multiple of the B blocks that run at once, the T mod B tiles of the last round become up to 8
    parts each: the grid counts whole tiles and parts, and the loop of a part has its share of the iterations. Sums are
    added up in another order then, so it is done on request only (`split=last`, or `attributes {tirx.split = "last"}`),
    for kernels that add what one loop sums up to memory (`reduce(add)`). B is the number of multiprocessors of the GPU,
    and at most `multiprocessors`.
    """

    name = "tirx-split-last-round"

    split: str = AUTO
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_multiprocessors(op, self.multiprocessors)
        for kernel in tirx.kernels(op):
            is_written = SPLIT in kernel.attributes
            word = chosen_word(kernel, SPLIT, self.split, "split to be", WORDS)
            if word == STREAM or (word == NONE and is_written):
                kernel.attributes[SPLIT] = StringAttr(word)  # of tirx-stream-k
            if word == LAST:
                _split(kernel, _splittable(kernel), self.multiprocessors)


def _has_effects(op: Operation) -> bool:
    return not isinstance(op, tirx.ReturnOp | tirx.AllocOp) and (bool(op.regions) or not is_pure(op))


def _splittable(kernel: tirx.KernelOp) -> scf.ForOp:
    """The loop along K of a kernel that only adds its sums to memory. Raises LocatedError for another kernel."""
    if kernel.grid is None:
        raise ScheduleOptionError(kernel, "expected a kernel that says its grid for split=last, found one without")
    ops = [op for op in kernel.body.block.ops if _has_effects(op)]
    sums = {op.accumulator for op in kernel.walk() if isinstance(op, tirx.MmaOp) and op.accumulate is None}
    loops = [op for op in ops if isinstance(op, scf.ForOp) and only_sums(op, sums)]
    fills = [op for op in ops if isinstance(op, tirx.FillOp) and op.tile in sums and is_zero(op.value)]
    adds = [op for op in ops if isinstance(op, tirx.CopyOp) and op.source in sums and op.reduce == _ADD]
    for op in ops:
        if op not in (*loops[:1], *fills, *adds):
            raise ScheduleOptionError(
                op,
                "expected only sums of one loop that begin at zero and are added to memory ('tirx.copy' with "
                f"reduce(add)) for split=last, found '{op.name}'",
            )
    if not loops or {fill.tile for fill in fills} != sums or {add.source for add in adds} != sums:
        raise ScheduleOptionError(kernel, "expected a loop of products whose sums are added to memory, found none")
    return loops[0]


def only_sums(loop: scf.ForOp, sums: set[SSAValue]) -> bool:
    """Returns True if all that is left of a loop behind it are the sums of its products."""
    if loop.iter_args:
        return False
    for op in loop.body.walk():
        read = {value for value in op.operands if value in sums}
        match op:
            case tirx.MmaOp():
                if read != {op.accumulator} or op.accumulate is not None:
                    return False
            case tirx.CopyOp() | tirx.LoadOp() | tirx.FillOp() if not read:
                if isinstance(op, tirx.CopyOp) and tirx.TileType.of(op.destination).memory is tirx.MemorySpace.GLOBAL:
                    return False
            case tirx.MapOp() if not read and not tirx.tile_effects(op).writes:
                pass
            case _ if read or not (is_pure(op) or is_terminator(op)):
                return False
            case _:
                pass
    return True


def _split(kernel: tirx.KernelOp, loop: scf.ForOp, most: int | None) -> None:
    """Lets the blocks count items: whole tiles, and behind those parts of tiles."""
    assert kernel.grid_formulas is not None
    columns, rows, depth = kernel.grid_formulas
    if depth != 1:
        raise ScheduleOptionError(kernel, f"expected a grid of two dimensions for split=last, found {depth} along z")
    ids = [op for op in kernel.walk() if isinstance(op, tirx.BlockIdOp)]
    blocks = at_once(most, kernel.cluster_size)
    tiles = product_of(rows, columns)
    whole = product_of(quotient_of(tiles, blocks), blocks)
    left = sum_of(tiles, product_of(whole, -1))
    parts = Call("max", (Call("min", (quotient_of(blocks, Call("max", (left, 1))), MOST_PARTS)), 1))
    kernel.grid = ArrayAttr([FormulaAttr(sum_of(whole, product_of(left, parts)))])

    start = kernel.body.block.first_op
    assert start is not None
    emit = Emitter.before(start)
    number, before, count = (
        emit.cast(emit(op).result, i32)
        for op in (tirx.BlockIdOp(tirx.GridAxis.X), tirx.LaunchValueOp(whole), tirx.LaunchValueOp(parts))
    )
    is_part = emit.compare(number, before, "sge")
    behind = emit(arith.SubiOp(number, before)).result
    tile = emit.select(is_part, emit.add(before, emit(arith.DivUIOp(behind, count)).result), number)
    part = emit.select(is_part, emit(arith.RemUIOp(behind, count)).result, emit.constant(0, i32))
    count = emit.select(is_part, count, emit.constant(1, i32))
    extents = [emit.cast(launched(emit, extent), i32) for extent in (rows, columns)]
    schedule = start_values(op for op in kernel.walk() if isinstance(op, ProductOp))
    counted = counted_tiles(schedule.order, schedule.group, rows, columns)
    if isinstance(counted, int) and counted > MOST_TILES:
        raise ScheduleOptionError(kernel, f"expected at most {MOST_TILES} tiles for split=last, found {counted}")
    require_countable(kernel, counted)
    i, j = (
        emit(arith.IndexCastOp(value, IndexType())).result
        for value in coordinates_of(schedule.order, emit, tile, extents, schedule.group)
    )
    for op in ids:
        at = {tirx.GridAxis.X: j, tirx.GridAxis.Y: i}.get(op.axis.data)
        op.result.replace_all_uses_with(emit.constant(0, IndexType()) if at is None else at)
        erase(op)
    share_iterations(kernel, loop, part, count)
    remark(kernel, LastRoundSplit(kernel.sym_name.data, str(tiles), MOST_PARTS))


def _type_of_trips(kernel: tirx.KernelOp, loop: scf.ForOp) -> IntegerType:
    """i32 if the iterations of a loop, times parts, fit into it, which launches then check; i64 otherwise."""
    low, step, sizes = constant_value(loop.lb), constant_value(loop.step), narrow_sizes(loop.ub)
    if low is None or low < 0 or not step or sizes is None or (NARROW_LIMIT // step + 1) * MOST_PARTS >= 1 << 31:
        return i64
    require_small(kernel, sizes)
    return i32


def share_iterations(kernel: tirx.KernelOp, loop: scf.ForOp, part: SSAValue, parts: SSAValue) -> None:
    """Leaves a loop one of so many equal shares of its iterations, or two that differ by one."""
    emit, type_ = Emitter.before(loop), _type_of_trips(kernel, loop)
    lower, upper, step = loop.lb, loop.ub, loop.step
    distance = emit.cast(emit(arith.SubiOp(upper, lower)).result, type_)
    distance = emit(arith.MaxSIOp(distance, emit.constant(0, type_))).result
    stride = emit.cast(step, type_)
    rounded = emit.add(distance, emit(arith.SubiOp(stride, emit.constant(1, type_))).result)
    trips = emit(arith.DivUIOp(rounded, stride)).result
    if type_ == i64:
        part, parts = (emit.extend(value, i64) for value in (part, parts))
    bounds: list[SSAValue] = []
    for number in (part, emit.add(part, 1)):
        first = emit(arith.DivUIOp(emit.mul(trips, number), parts)).result
        bounds.append(emit.add(lower, emit.mul(emit(arith.IndexCastOp(first, IndexType())).result, step)))
    loop.operands[0], loop.operands[1] = bounds
