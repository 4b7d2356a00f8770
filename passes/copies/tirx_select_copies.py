"""`tirx-select-copies`: the engine of every copy, decided once and stored on it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from tirx.copy.matrix import MATRIX_FORMS
from tirx.copy.tma import lanes_of_rows
from tirx.diagnostics import remark, warn
from tirx.dialects import tirx
from tirx.passes.ir.index_analysis import ranges_found_once
from tirx.passes.ir.views import clipped_view, unproved_starts
from tirx.passes.match.bulk_copies import CHOSEN, async_engine
from tirx.passes.match.copy_engines import beyond_threads, check_written, match_engine, match_transfer, threads_combine
from tirx.passes.match.pipelining import is_fill
from tirx.remarks import BoundsByThreads, CombinedByThreads, FasterEngine, Reason, RowsByIndex, TrapsBeforeMemref


def _explain(copy: tirx.AsyncCopyOp) -> None:
    """Says why a copy by threads is not one by the tensor memory accelerator, or that it could be."""
    if copy.engine.data is not tirx.Engine.CP_ASYNC:
        return
    choice = async_engine(copy)
    remark(copy, Reason(choice.reason) if choice.engine is tirx.Engine.CP_ASYNC else FasterEngine(choice.engine))


def _explain_clipped(copy: tirx.CopyOp) -> None:
    """Says why threads, and no tensor map, look at the bounds of a clipped view that shared memory is copied with."""
    memories = {copy.source_type.memory, copy.destination_type.memory}
    clipped = any(clipped_view(tile) is not None for tile in (copy.source, copy.destination))
    if clipped and memories == {tirx.MemorySpace.GLOBAL, tirx.MemorySpace.SHARED}:
        choice = async_engine(copy)
        if choice.engine not in (tirx.Engine.TMA, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE):
            remark(copy, BoundsByThreads(choice.reason))


def _explain_rows(copy: tirx.CopyOp, engine: tirx.Engine | None) -> None:
    """Says that bulk tensor copies take the rows which an index tile names."""
    view = tirx.indexed_view(copy.source) or tirx.indexed_view(copy.destination)
    if view is not None and (engine is tirx.Engine.TMA or engine is tirx.Engine.TMA_STORE):
        (index,) = view.index_tiles.values()
        remark(copy, RowsByIndex(engine, lanes_of_rows(tirx.TileType.of(index).num_elements)))


def _mark_start(copy: tirx.CopyOp | tirx.AsyncCopyOp) -> None:
    """Stores on the view of a bulk store that it begins inside the memref, or says that the kernel finds out."""
    if copy.engine is None or copy.engine.data not in (tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE):
        return
    if (view := clipped_view(copy.destination)) is None or view.begins_inside is not None:
        return
    if not (unproved := unproved_starts(copy.destination)):
        view.begins_inside = None if view.index_tiles else UnitAttr()
        return
    remark(copy, TrapsBeforeMemref(" and ".join(map(str, unproved))))


def _combine_by_threads(kernel: tirx.KernelOp, chosen: Sequence[tirx.CopyOp]) -> None:
    """Gives bulk reductions among `chosen` to threads where other threads combine elements of the same memref.

    Each is atomic towards its own kind: `red` is in the generic proxy, a bulk reduction in the async proxy (PTX ISA,
    "Proxies"), and blocks have no order between them.
    """
    reductions = [op for op in kernel.walk() if isinstance(op, tirx.CopyOp | tirx.StoreOp) and op.reduce is not None]
    by_threads = {
        tirx.base_allocation(op.destination)
        for op in reductions
        if op.engine != tirx.EngineAttr(tirx.Engine.TMA_REDUCE)
    }
    for copy in chosen:
        if (
            copy.engine != tirx.EngineAttr(tirx.Engine.TMA_REDUCE)
            or tirx.base_allocation(copy.destination) not in by_threads
        ):
            continue
        if copy.reduce is not None and beyond_threads(copy.destination) is None:
            if threads_combine(copy.reduce.data, copy.destination_type.element_type):
                copy.engine = tirx.EngineAttr(tirx.Engine.LD_ST)
                remark(copy, CombinedByThreads())


def _is_transposed_by_element(tile: tirx.TileType) -> bool:
    """Returns True if ldmatrix reads rows of a tile's type but not columns, and neighbours along K are not adjacent."""
    forms = {form.transposed for form in MATRIX_FORMS if tile.dtype.storage_bits in form.element_bits}
    if tile.memory is not tirx.MemorySpace.SHARED or tile.layout is None or forms != {False} or tile.dims[-1] == 1:
        return False
    first, second = (tile.layout.apply((*[0] * (len(tile.dims) - 1), k), tile.dims)["m"] for k in range(2))
    return second - first != 1


def _read_for(operand: SSAValue) -> tirx.LoadOp | SSAValue:
    """Returns the load that a register operand comes of, also by a conversion of its elements, or the operand."""
    while isinstance(op := operand.owner, tirx.ConvertOp) or (isinstance(op, tirx.MapOp) and len(op.ins) == 1):
        operand = op.source if isinstance(op, tirx.ConvertOp) else op.ins[0]
    return op if isinstance(op, tirx.LoadOp) else operand


def _warn_of_columns(mma: tirx.MmaOp, chosen: Set[tirx.LoadOp]) -> None:
    """Warns of a product of which `chosen` loads an operand element by element, as no instruction transposes it."""
    found: list[str] = []
    for name, value in zip("AB", (mma.a, mma.b), strict=True):
        load = _read_for(value)
        if isinstance(load, tirx.LoadOp) and load in chosen and load.engine == tirx.EngineAttr(tirx.Engine.LD_ST):
            if _is_transposed_by_element(source := tirx.TileType.of(load.source)):
                found.append(f"{name} of {source.element_type}")
    if found:
        warn(
            mma,
            f"{' and '.join(found)} loaded element by element: neighbours along K are apart in shared memory, and "
            "ldmatrix transposes elements of 16 bits only; it loads tiles of a memref in which they are adjacent",
            "slower-product",
        )


def _is_turned(copy: tirx.CopyOp) -> bool:
    """Returns True if neighbours in the memref that a shared tile is filled from are apart in the tile."""
    tile, view = copy.destination_type, copy.source.owner
    if tile.memory is not tirx.MemorySpace.SHARED or tile.layout is None or not isinstance(view, tirx.ViewOp):
        return False
    strides = cast("MemRefType[Attribute]", view.source.type).get_strides()
    for t, d in enumerate(view.of_memref):
        if d is None or strides is None or strides[d] != 1 or view.places[d].step != 1 or tile.dims[t] == 1:
            continue
        ends = [tile.layout.apply([n * (each == t) for each in range(len(tile.dims))], tile.dims)["m"] for n in (0, 1)]
        return ends[1] - ends[0] != 1
    return False


def _warn_of_turned_copies(products: Sequence[tirx.MmaOp], chosen: Sequence[tirx.CopyOp]) -> None:
    """Warns of copies of operands that move one element at a time, each once."""
    turned = {
        tirx.base_allocation(copy.destination): copy
        for copy in chosen
        if copy.engine == tirx.EngineAttr(tirx.Engine.LD_ST) and _is_turned(copy)
    }
    for mma in products:
        for name, value in zip("AB", (mma.a, mma.b), strict=True):
            read = _read_for(value)
            copy = turned.pop(tirx.base_allocation(read.source if isinstance(read, tirx.LoadOp) else read), None)
            if copy is not None:
                element = copy.destination_type.element_type
                warn(
                    copy,
                    f"{name} of {element} copied element by element: neighbours in global memory are apart in shared "
                    "memory; a memref in which neighbours along K are adjacent is copied in vectors",
                    "slower-product",
                )


class TirxSelectCopiesPass(ModulePass):
    """Stores on every copy between memories the engine that moves its elements: `tcgen05_cp` for scale factors of a
    product, `tcgen05_ld` and `tcgen05_st` for tensor memory, `ld_st` for all others. Loads and stores of fragments in
    shared memory get `ldmatrix` and `stmatrix` where target and layouts have them; operands of 8 or 32 bits that it
    would have to transpose are a warning, and so are those that copies turn element by element.

    Later passes read the engine. One that is written stays where it can do the copy, and is an error elsewhere: `tma`,
    `cp_async` and `tma_store` between global and shared memory need a target and layouts that allow them. Views that
    are clipped, whose strides the launch gives, or of whose rows an index tile has the numbers, have `tma` and
    `tma_store` where that is legal. Clipped views that
    bulk stores write get `begins_inside` where their indices show it. Reductions from shared memory have `tma_reduce`,
    but `ld_st` where threads combine other elements of the memref. Remarks say why a copy does not have the fastest
    engine of its target.
    """

    name = "tirx-select-copies"

    @ranges_found_once()
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            chosen: list[tirx.CopyOp] = []
            loads: set[tirx.LoadOp] = set()
            for move in kernel.walk():
                if isinstance(move, tirx.CopyOp):
                    if move.engine is None:
                        chosen.append(move)
                        _explain_clipped(move)
                    engine = match_engine(move)
                    _explain_rows(move, engine)
                elif isinstance(move, tirx.LoadOp | tirx.StoreOp):
                    if isinstance(move, tirx.LoadOp) and move.engine is None:
                        loads.add(move)
                    engine = match_transfer(move)
                elif isinstance(move, tirx.AsyncCopyOp):
                    check_written(move, move.engine.data)
                    _explain(move)
                    _mark_start(move)
                    continue
                else:
                    continue
                if (
                    isinstance(move, tirx.CopyOp)
                    and move.engine is None
                    and engine is tirx.Engine.LD_ST
                    and is_fill(move)
                ):
                    move.attributes[CHOSEN] = UnitAttr()
                if engine is not None:
                    move.engine = tirx.EngineAttr(engine)
                if isinstance(move, tirx.CopyOp):
                    _mark_start(move)
            _combine_by_threads(kernel, chosen)
            products = [move for move in kernel.walk() if isinstance(move, tirx.MmaOp)]
            for mma in products:
                _warn_of_columns(mma, loads)
            _warn_of_turned_copies(products, chosen)
