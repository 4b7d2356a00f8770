"""Copies of threads by `cp.async` as PTX instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from tirx.copy.access import Access
from tirx.copy.cp_async import CpAsyncPlan
from tirx.dialects.ptx.cp_async import CP_ASYNC_BYTES, CpAsyncOp
from tirx.dialects.tirx import CpAsyncTileOp
from tirx.layout import TileLayout
from tirx.passes.copies.clipping import NO_COORDINATES, Clip
from tirx.passes.copies.index_tiles import IndexTiles
from tirx.passes.copies.memory_access import Addresses, MemoryTile, on_owners
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.index_emission import IndexEmission
from tirx.passes.match.bulk_copies import plan_thread_copies
from tirx.passes.match.product import legal


def emit_cp_async(
    emit: Emitter,
    op: CpAsyncTileOp,
    source: MemoryTile,
    destination: MemoryTile,
    threads: int,
    tid: SSAValue,
    clip: Clip | None = None,
    indices: Callable[[TileLayout], IndexTiles | None] = lambda _: None,
) -> None:
    """Starts the copies of each of `threads` threads, of linear index `tid` (i32), by `cp.async`.

    With `clip` the bytes that do not exist are zeros: fewer are read than are written (PTX ISA, "cp.async": src-size).
    """
    with legal(op):
        plan = plan_thread_copies(op.source, destination.type, threads)
    tiles = indices(plan.share)

    def start(emit: Emitter, bounds: Clip | None) -> Sequence[SSAValue]:
        def held(inside: Emitter) -> Sequence[SSAValue]:
            return _start_copies(inside, source, destination, plan, tid, bounds, tiles)

        return held(emit) if plan.owners is None else on_owners(emit, tid, plan.owners, held, None)

    if clip is None or clip.plan.never_whole or not clip.bounds:
        start(emit, clip)
        return
    others = clip.of_index_tiles()
    emit.either(clip.contains_tile(emit), lambda inside: start(inside, others), lambda inside: start(inside, clip))


def _start_copies(
    emit: Emitter,
    source: MemoryTile,
    destination: MemoryTile,
    plan: CpAsyncPlan,
    tid: SSAValue,
    clip: Clip | None,
    indices: IndexTiles | None = None,
) -> tuple[()]:
    ends = Addresses(emit, source, tid), Addresses(emit, destination, tid)
    bounds = None if clip is None else clip.emission(emit, tid)
    for read, written in plan.pairs:
        (src, source_offset), (dst, offset) = ends[0].place(read), ends[1].place(written)
        size = plan.bytes(read)
        cache = "cg" if size in CP_ASYNC_BYTES["cg"] else "ca"
        count = None
        if clip is not None:
            assert bounds is not None
            coordinates = NO_COORDINATES if indices is None else indices.coordinates(emit, read)
            count = _bytes_within(clip, bounds, plan, read, coordinates)
        if indices is not None:
            src = indices.displaced(emit, src, read)
        emit(CpAsyncOp(dst, src, size, cache=cache, source_bytes=count, offset=offset, source_offset=source_offset))
    return ()


def _bytes_within(
    clip: Clip, bounds: IndexEmission, plan: CpAsyncPlan, read: Access, coordinates: Mapping[int, SSAValue]
) -> SSAValue:
    """The bytes (i32) of a copy that exist: those up to the innermost bound, if the other bounds hold."""
    emit, flat, size = bounds.emit, plan.source.flat(read), plan.bytes(read)
    zero = emit.constant(0, i32)
    count = emit.constant(size, i32)
    if (bound := clip.innermost) is not None:
        at, none = clip.position(bounds, bound, flat), emit.constant(0, bound.type)
        left = emit(arith.SubiOp(bound.size, at)).result
        # As many elements as are left; a copy that begins below 0 ends there too.
        some = emit(arith.MinSIOp(emit(arith.MaxSIOp(left, none)).result, emit.constant(read.count, bound.type))).result
        begins = emit.compare(at, none, "sge")
        some = emit.select(begins, some, none)
        if bound.type == i64:
            some = emit(arith.TruncIOp(some, i32)).result
        count = emit.div(emit.mul(some, plan.source.element_bits), 8)
    return emit.select(clip.contains(bounds, flat, inner=False, coordinates=coordinates), count, zero)
