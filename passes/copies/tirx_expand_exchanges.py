"""`tirx-expand-exchanges`: what warps need of each other goes through shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp, i8
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.exchange import Way, plan_exchange, plan_reduction, reduced_shape
from tirx.diagnostics import LocatedError, remark
from tirx.dialects.tirx import (
    AllocOp,
    ConvertOp,
    KernelOp,
    LoadOp,
    MemorySpace,
    ReduceOp,
    StoreOp,
    TileType,
    kernels,
    thread_set,
)
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.layout.reduction import by_warp_and_lane, reduced, row_layout
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import layout_of
from tirx.remarks import LayoutChanged
from tirx.rules import PackedElementsError, WholeWarpsError

LEAST_BITS = 16
"""Bits of the elements that are combined: the arithmetic of narrower ones is done in wider registers."""


def _recast(emit: Emitter, tile: SSAValue, type_: TileType) -> SSAValue:
    """The same registers as a tile of another shape."""
    return tile if tile.type == type_ else emit(UnrealizedConversionCastOp.get([tile], [type_])).results[0]


class _Expander:
    """Expands the reductions and changes of layout of one kernel."""

    def __init__(self, kernel: KernelOp):
        self.kernel = kernel
        self.threads: int  # that do the operation

    def run(self) -> None:
        for op in list(self.kernel.walk()):
            if not isinstance(op, ReduceOp | ConvertOp):
                continue
            self.threads = thread_set(op).count
            try:
                self._expand(op)
            except LayoutError as e:
                raise LocatedError(op, str(e)) from e

    def _expand(self, op: ReduceOp | ConvertOp) -> SSAValue:
        """Replaces an operation that threads of one warp do not do on their own. Returns the value of its result."""
        emit = Emitter.before(op)
        result = self._reduce(emit, op) if isinstance(op, ReduceOp) else self._convert(emit, op)
        if result is None:
            return op.result
        result.name_hint = result.name_hint or op.result.name_hint
        op.result.replace_all_uses_with(result)
        erase(op)
        return result

    def _through_shared(
        self, emit: Emitter, tile: SSAValue, shared: TileLayout | ComposeLayout, result: TileType
    ) -> SSAValue:
        """Stores a tile and loads it with the layout of `result`."""
        type_ = TileType.get(result.dims, result.element_type, MemorySpace.SHARED, shared)
        first = self.kernel.body.block.first_op
        assert first is not None, "the kernel holds the operation that is expanded"
        memory = Emitter(InsertPoint.before(first), emit.location)(AllocOp(type_)).result
        emit(StoreOp(tile, memory))
        return emit(LoadOp(memory, result)).result

    def _convert(self, emit: Emitter, op: ConvertOp) -> SSAValue | None:
        type_ = op.result.type
        source, result = layout_of(op, TileType.of(op.source)), layout_of(op, type_)
        plan = plan_exchange(source, result, type_.dims, type_.dtype.storage_bits, self.threads)
        if plan.way is not Way.MOVES:
            remark(op, LayoutChanged(type_.dims, str(type_.element_type), plan.way, plan.cycles))
        if plan.shared is None:
            return None
        if type_.dtype.bits != PACKED_BITS:
            return self._through_shared(emit, op.source, plan.shared, type_)
        # A byte each in registers, they would be packed in memory.
        bytes_of = [TileType.get(type_.dims, i8, type_.memory, layout) for layout in (source, result)]
        moved = self._through_shared(emit, _recast(emit, op.source, bytes_of[0]), plan.shared, bytes_of[1])
        return _recast(emit, moved, type_)

    def _reduce(self, emit: Emitter, op: ReduceOp) -> SSAValue | None:
        source = TileType.of(op.source)
        layout = layout_of(op, source)
        if plan_reduction(layout, source.dims, op.along, self.threads) is not None:
            return None
        if source.dtype.bits < LEAST_BITS:
            raise PackedElementsError(
                op, f"expected elements of {LEAST_BITS} bits or more in a reduction, found {source.element_type}"
            )
        if (result := self._by_warps(emit, op)) is not None:
            return result
        if self.threads % WARP_SIZE:
            raise WholeWarpsError(
                op, f"expected whole warps for a reduction across threads, found {self.threads} threads"
            )
        # Threads that share out the tile in other numbers than powers of two: give every warp what it combines.
        rows = row_layout(source.dims, op.along, len(source.dims) - 1, source.dtype.storage_bits, self.threads)
        moved = emit(ConvertOp(op.source, source.with_layout(rows)))
        part = op.result.type.with_layout(reduced(rows, source.dims, op.along))
        again = emit(ReduceOp(moved.result, op.along, op.combination.data, part))
        back = emit(ConvertOp(again.result, op.result.type))
        self._expand(moved)
        self._expand(again)
        return self._expand(back)

    def _by_warps(self, emit: Emitter, op: ReduceOp) -> SSAValue | None:
        """Reduces within each warp, and what warps found within each thread; None for layouts that do not allow it."""
        source = TileType.of(op.source)
        combination, along = op.combination.data, op.along
        try:
            split = by_warp_and_lane(layout_of(op, source))
            grouped, starts = split.group(source.dims)
        except LayoutError:
            return None
        # Every iter of a reduced dimension becomes a dimension; those of warps are kept for now.
        dims: list[int] = []
        inside: list[int] = []
        across: dict[int, Iter] = {}
        for d, extent in enumerate(source.dims):
            if d not in along:
                dims.append(extent)
                continue
            for it in grouped.shard[starts[d] : starts[d + 1]]:
                if it.axis == "warpid" and it.extent > 1:
                    across[len(dims)] = it
                else:
                    inside.append(len(dims))
                dims.append(it.extent)
        if not across:
            return None
        whole = TileType.get(dims, source.element_type, source.memory, split)
        partial = reduced(split, dims, inside)
        if inside and plan_reduction(split, dims, inside, self.threads) is None:
            return None
        parts = _recast(emit, op.source, whole)
        shape = reduced_shape(dims, inside)
        if inside:
            type_ = TileType.get(shape, source.element_type, source.memory, partial)
            parts = emit(ReduceOp(parts, inside, combination, type_)).result
        gathered = TileType.get(shape, source.element_type, source.memory, _gathered(partial, shape, across))
        parts = self._through_shared(emit, parts, TileLayout.row_major(shape), gathered)
        rest = reduced_shape(shape, across.keys())
        last = TileType.get(
            rest, source.element_type, source.memory, reduced(layout_of(op, gathered), shape, across.keys())
        )
        total = emit(ReduceOp(parts, tuple(across), combination, last)).result
        return _recast(emit, total, op.result.type)


def _gathered(partial: TileLayout, shape: Sequence[int], across: dict[int, Iter]) -> TileLayout:
    """The layout of the parts of a reduction in which every thread has those of all warps, in slots."""
    left = reduced(partial, shape, across.keys())
    grouped, starts = left.group(reduced_shape(shape, across.keys()))
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
    """
    Takes reductions and changes of layout across warps through shared memory.

    A reduction becomes one within each warp, a store and a load of what the warps found, and one within each thread. A
    change of layout stays where shuffles or moves are cheaper (see `plan_exchange`).
    """

    name = "tirx-expand-exchanges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            _Expander(kernel).run()
