"""`tirx-expand-exchanges`: what warps need of each other goes through shared memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, i8, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.access import plan_accesses
from tirx.copy.exchange import Way, moved_slots, plan_exchange, plan_reduction, plan_scan, reduced_shape, split_scan
from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.nesting import Listed, walk
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.layout.axis import WARP_SIZE
from tirx.layout.ownership import held_elements
from tirx.layout.reduction import by_warp_and_lane, reduced, row_layout
from tirx.layout.shape import row_major_strides
from tirx.passes.copies.register_gathers import gather_in_registers
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.launch_values import product_of
from tirx.passes.ir.register_values import REGISTER_BITS, layout_of
from tirx.passes.match.product import legal
from tirx.remarks import LayoutChanged
from tirx.rules import RegisterLayoutError, WholeWarpsError

_MOST_TICKETS = 2**32 - 1
"""Blocks that a counter of 32 bits tells apart."""


def _as_tiles(op: tirx.AtomicOp, value: SSAValue, place: SSAValue, expected: SSAValue | None = None) -> tirx.AtomicOp:
    """The same operation on other values."""
    return tirx.AtomicOp(op.kind, value, place, value.type, expected=expected, order=op.order, scope=op.scope)


@lru_cache(maxsize=1024)
def _is_concerned(kind: type[Operation]) -> bool:
    """Returns True if threads of several warps may have to do an operation of a class."""
    return issubclass(
        kind,
        (tirx.PrintOp, tirx.AssertOp, tirx.LoadOp, tirx.FoldOp, tirx.ConvertOp, tirx.AtomicOp, tirx.WaitUntilOp),
    )


class _Expander:
    """Expands the reductions, scans and changes of layout of one kernel."""

    def __init__(self, kernel: tirx.KernelOp):
        self.kernel = kernel
        self.threads: int  # that do the operation

    def run(self) -> None:
        progress, grid = self.kernel.progress, self.kernel.grid_formulas
        if progress is not None:
            assert grid is not None, "the verifier asks for it"
            self._let_blocks_wait(progress.data, *grid)
        for op in Listed(walk(self.kernel)).where(_is_concerned):
            if isinstance(op, tirx.PrintOp | tirx.AssertOp):
                self._put_in_shared(op)
            if isinstance(op, tirx.LoadOp) and tirx.indexed_view(op.source) is not None:
                with legal(op):
                    gather_in_registers(op, tirx.thread_set(op).count)
            if not isinstance(op, tirx.FoldOp | tirx.ConvertOp | tirx.AtomicOp | tirx.WaitUntilOp):
                continue
            self.threads = tirx.thread_set(op).count
            with legal(op):
                self._expand(op)

    def _expand(self, op: tirx.FoldOp | tirx.ConvertOp | tirx.AtomicOp | tirx.WaitUntilOp) -> Sequence[SSAValue]:
        """Replaces an operation that threads of one warp do not do on their own. Returns the values of its results."""
        emit = Emitter.before(op)
        match op:
            case tirx.ReduceOp():
                made = self._reduce(emit, op)
            case tirx.ScanOp():
                made = self._scan(emit, op)
            case tirx.AtomicOp():
                made = self._atomic(emit, op)
            case tirx.WaitUntilOp():
                made = self._wait_until(emit, op)
            case _:
                assert isinstance(op, tirx.ConvertOp)
                made = self._convert(emit, op)
        if made is None:
            return op.results
        for old, new in zip(op.results, made, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        erase(op)
        return made

    def _put_in_shared(self, op: tirx.PrintOp | tirx.AssertOp) -> None:
        """Stores register tiles that single threads read to tiles in row-major order."""
        emit = Emitter.before(op)
        for i, tile in enumerate(op.operands):
            if not isinstance(tile.type, tirx.TileType):
                continue
            type_, layout = tile.type, TileLayout.row_major(tile.type.dims)
            if not tirx.is_register_tile(tile) and type_.layout != layout:
                raise RegisterLayoutError(
                    op, f"expected a tile in registers, or in shared memory in row-major order, found {type_}"
                )
            if tirx.is_register_tile(tile):
                op.operands[i] = self._memory(emit, type_.in_memory(tirx.MemorySpace.SHARED).with_layout(layout))
                emit(tirx.StoreOp(tile, op.operands[i]))

    def _through_shared(
        self, emit: Emitter, tile: SSAValue, shared: TileLayout | ComposeLayout, result: tirx.TileType
    ) -> SSAValue:
        """Stores a tile and loads it with the layout of `result`."""
        memory = self._memory(
            emit, tirx.TileType.get(result.dims, result.element_type, tirx.MemorySpace.SHARED, shared)
        )
        emit(tirx.StoreOp(tile, memory))
        return emit(tirx.LoadOp(memory, result)).result

    def _number(self, type_: Attribute, dims: Sequence[int] = (1,)) -> tirx.TileType:
        """The type of a register tile of one number that all threads have, and the first of them moves."""
        return tirx.TileType.get(dims, type_, tirx.MemorySpace.REGISTER, tirx.number_layout(self.threads))

    def _let_blocks_wait(self, progress: tirx.Progress, *grid: Formula) -> None:
        """Lets a launch check that all blocks run at once, or a block take the place that is next in the order."""
        count = product_of(product_of(grid[0], grid[1]), grid[2])
        if progress is tirx.Progress.COOPERATIVE:
            message = (
                "expected no more blocks than the GPU has multiprocessors, which run all at once (cooperative), found "
                "{value} blocks and {bound} multiprocessors"
            )
            add_requirement(self.kernel, Requirement(count, "at_most", Call("sm_count"), message))
            return
        if not isinstance(count, int) or count >= _MOST_TICKETS:
            message = f"expected at most {_MOST_TICKETS} blocks (in_order), found {{value}}"
            add_requirement(self.kernel, Requirement(count, "at_most", _MOST_TICKETS, message))
        ids = [op for op in self.kernel.walk() if isinstance(op, tirx.BlockIdOp)]
        first = self.kernel.body.block.first_op
        if not ids:
            return
        assert first is not None
        self.threads = self.kernel.num_threads
        emit = Emitter(InsertPoint.before(first), self.kernel.location)
        tile = emit.retyped(emit(tirx.TicketOp()).result, self._number(i32))
        left = emit.cast(emit.retyped(self._handed_out(emit, tile), i32), IndexType())
        places: dict[tirx.GridAxis, SSAValue] = {}
        for axis in (tirx.GridAxis.X, tirx.GridAxis.Y):
            extent = emit(tirx.GridDimOp(axis)).result
            places[axis] = emit(arith.RemUIOp(left, extent)).result
            left = emit(arith.DivUIOp(left, extent)).result
        places[tirx.GridAxis.Z] = left
        for op in ids:
            op.result.replace_all_uses_with(places[op.axis.data])
            erase(op)

    def _handed_out(self, emit: Emitter, tile: SSAValue) -> SSAValue:
        """The same tile, which those threads have that combine or load each of its elements once, in all threads."""
        type_ = tirx.TileType.of(tile)
        return self._through_shared(emit, tile, TileLayout.row_major(type_.dims), type_)

    def _atomic(self, emit: Emitter, op: tirx.AtomicOp) -> Sequence[SSAValue] | None:
        """Combines numbers as tiles of one element; what memory had goes to all threads that hold the element."""
        if isinstance(op.value.type, tirx.TileType):
            layout = layout_of(op, op.value.type)
            held = held_elements(layout, op.value.type.dims, self.threads)
            if int((held >= 0).sum()) == op.value.type.num_elements or op.result.first_use is None:
                return None
            return [self._handed_out(emit, emit(_as_tiles(op, op.value, op.place, op.expected)).result)]
        type_ = self._number(op.value.type, tirx.TileType.of(op.place).dims)
        value, *others = (
            emit(tirx.SplatOp(each, type_)).result for each in (op.value, op.expected) if each is not None
        )
        old = emit(_as_tiles(op, value, op.place, *others)).result
        if op.result.first_use is None:
            return [emit.retyped(old, op.value.type)]
        return [emit.retyped(self._handed_out(emit, old), op.value.type)]

    def _wait_until(self, emit: Emitter, op: tirx.WaitUntilOp) -> Sequence[SSAValue] | None:
        """Lets all threads have the flag that one of them has seen, where anybody asks for it."""
        if op.result.first_use is None:
            return None
        type_ = self._number(op.number.type)
        wait = emit(op.clone())
        tile = emit.retyped(wait.result, type_)
        return [emit.retyped(self._handed_out(emit, tile), op.number.type)]

    def _memory(self, emit: Emitter, type_: tirx.TileType) -> SSAValue:
        first = self.kernel.body.block.first_op
        assert first is not None, "the kernel holds the operation that is expanded"
        return Emitter(InsertPoint.before(first), emit.location)(tirx.AllocOp(type_)).result

    def _convert(self, emit: Emitter, op: tirx.ConvertOp) -> Sequence[SSAValue] | None:
        type_ = op.result.type
        source, result = layout_of(op, tirx.TileType.of(op.source)), layout_of(op, type_)
        if (arranged := op.arranged) is not None:
            return self._arrange(emit, op, arranged)
        plan = plan_exchange(source, result, type_.dims, type_.dtype.storage_bits, self.threads)
        if plan.way is not Way.MOVES:
            remark(op, LayoutChanged(type_.dims, str(type_.element_type), plan.way, plan.cycles))
        if plan.shared is None:
            return None
        if type_.dtype.bits != PACKED_BITS:
            return [self._through_shared(emit, op.source, plan.shared, type_)]
        # A byte each in registers, they would be packed in memory.
        bytes_of = [tirx.TileType.get(type_.dims, i8, type_.memory, layout) for layout in (source, result)]
        moved = self._through_shared(emit, emit.retyped(op.source, bytes_of[0]), plan.shared, bytes_of[1])
        return [emit.retyped(moved, type_)]

    def _arrange(self, emit: Emitter, op: tirx.ConvertOp, arranged: Arrangement) -> Sequence[SSAValue] | None:
        """Returns a tile of some elements of another one, None where warps have them.

        Otherwise it is what threads have of the other tile, which then changes its layout, unless they cannot tell who
        has it; or a part of that tile in shared memory. Raises LayoutError where it is neither.
        """
        type_, source = op.result.type, tirx.TileType.of(op.source)
        layout, bits = layout_of(op, source), type_.dtype.storage_bits
        ends = layout_of(op, type_), type_.dims
        try:
            plan_exchange(layout, *ends, bits, self.threads, arranged)
            return None
        except LayoutError:
            pass
        try:
            own = arranged.layout(layout)
            plan_accesses(own, TileLayout.row_major(type_.dims), type_.dims, REGISTER_BITS, self.threads, 4, 4)
            if moved_slots(layout, own, type_.dims, self.threads, arranged) is not None:
                part = emit(tirx.ConvertOp(op.source, type_.with_layout(own), op.elements)).result
                return self._converted(emit, [part], ends[0])
        except LayoutError:
            pass
        rows, steps = TileLayout.row_major(source.dims), arranged.steps(source.dims)
        is_whole = arranged == Arrangement(type_.dims, 0, row_major_strides(type_.dims))
        if steps is None and not is_whole:
            raise LayoutError(f"expected a part of a tile, or a layout of it that threads keep, found {layout}")
        memory = self._memory(emit, tirx.TileType.get(source.dims, source.element_type, tirx.MemorySpace.SHARED, rows))
        emit(tirx.StoreOp(op.source, memory))
        if steps is None:
            return [emit(tirx.LoadOp(emit(tirx.ReshapeOp(memory, type_.dims)).result, type_)).result]
        start, each = steps
        part = tirx.SubviewOp.type_of(tirx.TileType.of(memory), start, type_.dims, each)
        return [emit(tirx.LoadOp(emit(tirx.SubviewOp(memory, start, part, each)).result, type_)).result]

    def _converted(self, emit: Emitter, tiles: Sequence[SSAValue], layout: TileLayout) -> list[SSAValue]:
        """The tiles in another layout, by whichever way is the cheapest."""
        made = [emit(tirx.ConvertOp(tile, tirx.TileType.of(tile).with_layout(layout))) for tile in tiles]
        return [self._expand(op)[0] for op in made]

    def _in_rows(self, op: tirx.FoldOp) -> TileLayout:
        """A layout that gives every warp the lines that it combines, where it can.

        Threads share out the tile in other numbers than powers of two, or not in order.
        """
        if self.threads % WARP_SIZE:
            raise WholeWarpsError(op, f"expected whole warps to combine across threads, found {self.threads} threads")
        dims = tirx.TileType.of(op.source).dims
        bits = max(tirx.TileType.of(tile).dtype.storage_bits for tile in op.ins)
        return row_layout(dims, op.along, len(dims) - 1, bits, self.threads)

    def _reduce(self, emit: Emitter, op: tirx.ReduceOp) -> Sequence[SSAValue] | None:
        source = tirx.TileType.of(op.source)
        layout = layout_of(op, source)
        if plan_reduction(layout, source.dims, op.along, self.threads) is not None:
            return None
        if (result := self._by_warps(emit, op)) is not None:
            return result
        rows = self._in_rows(op)
        part = reduced(rows, source.dims, op.along)
        types = [tirx.TileType.of(result).with_layout(part) for result in op.res]
        again = emit(tirx.ReduceOp(self._converted(emit, op.ins, rows), op.along, _how(op), types))
        return self._as_results(emit, op, self._expand(again))

    def _as_results(self, emit: Emitter, op: tirx.FoldOp, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The results of another operation, in the layouts of those of `op`."""
        return [
            self._converted(emit, [value], layout_of(op, tirx.TileType.of(result)))[0]
            for value, result in zip(values, op.results, strict=True)
        ]

    def _by_warps(self, emit: Emitter, op: tirx.ReduceOp) -> Sequence[SSAValue] | None:
        """Reduces within each warp, and what warps found within each thread; None for layouts that do not allow it."""
        source = tirx.TileType.of(op.source)
        along = op.along
        try:
            split = by_warp_and_lane(layout_of(op, source))
            grouped, starts = split.group(source.dims)
        except LayoutError:
            return None
        # Every iter of a reduced dimension becomes a dimension; those of warps are kept for now.
        dims: list[int] = []
        inside: list[int] = []
        across: list[int] = []
        for d, extent in enumerate(source.dims):
            if d not in along:
                dims.append(extent)
                continue
            for it in grouped.shard[starts[d] : starts[d + 1]]:
                (across if it.axis == "warpid" and it.extent > 1 else inside).append(len(dims))
                dims.append(it.extent)
        if not across:
            return None
        partial = reduced(split, dims, inside)
        if plan_reduction(split, dims, inside, self.threads) is None:
            return None
        parts = [emit.retyped(tile, _like(tile, dims, split)) for tile in op.ins]
        shape = reduced_shape(dims, inside)
        if inside:
            types = [_like(tile, shape, partial) for tile in op.ins]
            parts = list(emit(tirx.ReduceOp(parts, inside, _how(op), types)).res)
        layout = _gathered(partial, shape, across)
        parts = self._gather(emit, parts, layout)
        last = reduced(layout, shape, across)
        types = [_like(tile, reduced_shape(shape, across), last) for tile in op.ins]
        totals = emit(tirx.ReduceOp(parts, across, _how(op), types)).res
        return [emit.retyped(total, tirx.TileType.of(result)) for total, result in zip(totals, op.res, strict=True)]

    def _gather(self, emit: Emitter, parts: Sequence[SSAValue], layout: TileLayout) -> list[SSAValue]:
        """Lets every thread have what all warps found."""
        shape = tirx.TileType.of(parts[0]).dims
        rows = TileLayout.row_major(shape)
        return [self._through_shared(emit, part, rows, _like(part, shape, layout)) for part in parts]

    def _scan(self, emit: Emitter, op: tirx.ScanOp) -> Sequence[SSAValue] | None:
        source, dim = tirx.TileType.of(op.source), op.along[0]
        layout = layout_of(op, source)
        if plan_scan(layout, source.dims, dim, self.threads) is not None:
            return None
        if not op.inits and op.body is not None:
            scanned = self._expand(_with_flags(emit, op))
            count = len(op.ins) + 1
            return [value for i, value in enumerate(scanned) if i % count]
        if (factors := split_scan(layout, source.dims, dim)) is not None:
            split, shape = by_warp_and_lane(layout), (*source.dims[:dim], *factors, *source.dims[dim + 1 :])
            if plan_scan(split, shape, dim + 2, self.threads) is not None:
                return self._scan_by_warps(emit, op, split, shape)
        rows = self._in_rows(op)
        totals = reduced(rows, source.dims, op.along)
        ins, inits = self._converted(emit, op.ins, rows), self._converted(emit, op.inits, totals)
        types = [tirx.TileType.of(each).with_layout(rows) for each in op.scanned]
        types += [tirx.TileType.of(each).with_layout(totals) for each in op.totals]
        exclusive, reverse = op.exclusive is not None, op.reverse is not None
        again = emit(tirx.ScanOp(ins, dim, _how(op), types, inits, exclusive=exclusive, reverse=reverse))
        return self._as_results(emit, op, self._expand(again))

    def _scan_by_warps(
        self, emit: Emitter, op: tirx.ScanOp, split: TileLayout, shape: tuple[int, ...]
    ) -> Sequence[SSAValue]:
        """Scans within each warp to know totals, these within each thread, and then each warp behind those before it.

        In `shape` the dimension is three: parts of a thread, warps, and what a warp scans.
        """
        dim, reverse = op.along[0], op.reverse is not None
        partial, part = reduced(split, shape, (dim + 2,)), reduced_shape(shape, (dim + 2,))
        parts = [emit.retyped(tile, _like(tile, shape, split)) for tile in op.ins]
        types = [type_ for dims, layout in ((shape, split), (part, partial)) for type_ in _likes(op.ins, dims, layout)]
        totals = emit(tirx.ScanOp(parts, dim + 2, _how(op), types, reverse=reverse)).totals
        layout = _gathered(partial, part, (dim, dim + 1))
        line = (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 3 :])
        gathered = [emit.retyped(tile, _like(tile, line, layout)) for tile in self._gather(emit, totals, layout)]
        one, last = reduced_shape(line, (dim,)), reduced(layout, line, (dim,))
        types = [*_likes(op.ins, line, layout), *_likes(op.ins, one, last)]
        inits = self._converted(emit, op.inits, last)
        before = emit(tirx.ScanOp(gathered, dim, _how(op), types, inits, exclusive=True, reverse=reverse))
        own = [emit.retyped(tile, _like(tile, part, layout)) for tile in before.scanned]
        types = _likes(op.ins, shape, split)
        own = self._converted(emit, own, partial)
        exclusive = op.exclusive is not None
        found = emit(tirx.ScanOp(parts, dim + 2, _how(op), types, own, exclusive=exclusive, reverse=reverse)).scanned
        scanned = [emit.retyped(tile, tirx.TileType.of(result)) for tile, result in zip(found, op.scanned, strict=True)]
        return scanned + [
            self._converted(emit, [total], layout_of(op, tirx.TileType.of(result)))[0]
            for total, result in zip(before.totals, op.totals, strict=False)
        ]


def _how(op: tirx.FoldOp) -> tirx.Combination | Region:
    """The combination of an operation, for another one."""
    return op.how if isinstance(op.how, tirx.Combination) else op.how.clone()


def _like(tile: SSAValue, dims: Sequence[int], layout: TileLayout) -> tirx.TileType:
    type_ = tirx.TileType.of(tile)
    return tirx.TileType.get(dims, type_.element_type, type_.memory, layout)


def _likes(tiles: Sequence[SSAValue], dims: Sequence[int], layout: TileLayout) -> list[tirx.TileType]:
    return [_like(tile, dims, layout) for tile in tiles]


def _with_flags(emit: Emitter, op: tirx.ScanOp) -> tirx.ScanOp:
    """The same scan with an init, and with a tile of flags in front of the others.

    The init has the flag 0, which says that there is no accumulator yet; elements have 1.
    """
    one, flags = emit.constant(1, i32), layout_of(op, tirx.TileType.of(op.source))
    dims = tirx.TileType.of(op.source).dims
    part, totals = reduced_shape(dims, op.along), reduced(flags, dims, op.along)
    types = [tirx.TileType.get(n, i32, tirx.MemorySpace.REGISTER, each) for n, each in ((dims, flags), (part, totals))]
    ins = [emit(tirx.SplatOp(one, types[0])).result, *op.ins]
    inits = [emit(tirx.ZeroOp(type_)).result for type_ in (types[1], *_likes(op.ins, part, totals))]
    assert op.body is not None
    old, count = op.body.block, len(op.ins)
    arguments = [argument.type for argument in old.args]
    block = Block(arg_types=[i32, *arguments[:count], i32, *arguments[count:]])
    own, other = block.args[: count + 1], block.args[count + 1 :]
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, (*own[1:], *other[1:]), strict=True))
    inside = Emitter(InsertPoint.at_end(block), op.location)
    for each in list(old.ops)[:-1]:
        values.update(zip(each.results, inside(each.clone(values)).results, strict=True))
    has_one = inside.compare(own[0], inside.constant(0, i32), "ne")
    last = old.last_op
    assert last is not None
    chosen = [
        inside.select(has_one, values.get(value, value), element)
        for value, element in zip(last.operands, other[1:], strict=True)
    ]
    inside(tirx.YieldOp(inside.bit_or(own[0], other[0]), *chosen))
    results = [types[0], *(result.type for result in op.scanned)]
    if op.totals:
        results += [types[1], *(result.type for result in op.totals)]
    return emit(tirx.ScanOp(ins, op.along[0], Region(block), results, inits, reverse=op.reverse is not None))


def _gathered(partial: TileLayout, shape: Sequence[int], across: Collection[int]) -> TileLayout:
    """The layout of the parts of a reduction in which every thread has those along `across`, in slots."""
    left = reduced(partial, shape, across)
    grouped, starts = left.group(reduced_shape(shape, across))
    slots = left.span("m")
    shard: list[Iter] = []
    for d, extent in enumerate(shape):
        if d in across:
            shard.append(Iter(extent, slots, "m"))
            slots *= extent
        else:
            shard += grouped.shard[starts[d] : starts[d + 1]]
    return TileLayout(shard, grouped.replica, grouped.offset).canonicalize()


class TirxExpandExchangesPass(ModulePass):
    """Takes reductions, scans and changes of layout across warps through shared memory.

    A reduction becomes one within each warp, a store and a load of what the warps found, and one within each thread; a
    scan goes on from there to what a warp scans behind the warps before it. A
    change of layout stays where shuffles or moves are cheaper (see `plan_exchange`). A tile that is stored to be loaded
    by index tiles becomes a view of the stored value, where shuffles and selections within warps are cheaper.
    """

    name = "tirx-expand-exchanges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            _Expander(kernel).run()
