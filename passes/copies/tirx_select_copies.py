"""`tirx-select-copies`: the engine of every copy, decided once and stored on it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.copy.matrix import MATRIX_FORMS
from tirx.copy.tma import lanes_of_rows
from tirx.diagnostics import remark, warn
from tirx.dialects.tirx import (
    AsyncCopyOp,
    ConvertOp,
    CopyOp,
    Engine,
    EngineAttr,
    KernelOp,
    LoadOp,
    MemorySpace,
    MmaOp,
    StoreOp,
    TileType,
    base_allocation,
    indexed_view,
    kernels,
)
from tirx.passes.ir.views import clipped_view, unproved_starts
from tirx.passes.match.bulk_copies import CHOSEN, async_engine
from tirx.passes.match.copy_engines import beyond_threads, check_written, match_engine, match_transfer, threads_combine
from tirx.passes.match.pipelining import is_fill
from tirx.remarks import BoundsByThreads, CombinedByThreads, FasterEngine, Reason, RowsByIndex, TrapsBeforeMemref


def _explain(copy: AsyncCopyOp) -> None:
    """Says why a copy by threads is not one by the tensor memory accelerator, or that it could be."""
    if copy.engine.data is not Engine.CP_ASYNC:
        return
    choice = async_engine(copy)
    remark(copy, Reason(choice.reason) if choice.engine is Engine.CP_ASYNC else FasterEngine(choice.engine))


def _explain_clipped(copy: CopyOp) -> None:
    """Says why threads, and no tensor map, look at the bounds of a clipped view that shared memory is copied with."""
    memories = {copy.source_type.memory, copy.destination_type.memory}
    clipped = any(clipped_view(tile) is not None for tile in (copy.source, copy.destination))
    if clipped and memories == {MemorySpace.GLOBAL, MemorySpace.SHARED}:
        choice = async_engine(copy)
        if choice.engine not in (Engine.TMA, Engine.TMA_STORE, Engine.TMA_REDUCE):
            remark(copy, BoundsByThreads(choice.reason))


def _explain_rows(copy: CopyOp, engine: Engine | None) -> None:
    """Says that bulk tensor copies take the rows which an index tile names."""
    view = indexed_view(copy.source) or indexed_view(copy.destination)
    if view is not None and (engine is Engine.TMA or engine is Engine.TMA_STORE):
        (index,) = view.index_tiles.values()
        remark(copy, RowsByIndex(engine, lanes_of_rows(TileType.of(index).num_elements)))


def _mark_start(copy: CopyOp | AsyncCopyOp) -> None:
    """Stores on the view of a bulk store that it begins inside the memref, or says that the kernel finds out."""
    if copy.engine is None or copy.engine.data not in (Engine.TMA_STORE, Engine.TMA_REDUCE):
        return
    if (view := clipped_view(copy.destination)) is None or view.begins_inside is not None:
        return
    if not (unproved := unproved_starts(copy.destination)):
        view.begins_inside = None if view.index_tiles else UnitAttr()
        return
    remark(copy, TrapsBeforeMemref(" and ".join(map(str, unproved))))


def _combine_by_threads(kernel: KernelOp, chosen: Sequence[CopyOp]) -> None:
    """Gives bulk reductions among `chosen` to threads where other threads combine elements of the same memref.

    Each is atomic towards its own kind: `red` is in the generic proxy, a bulk reduction in the async proxy (PTX ISA,
    "Proxies"), and blocks have no order between them.
    """
    reductions = [op for op in kernel.walk() if isinstance(op, CopyOp | StoreOp) and op.reduce is not None]
    by_threads = {base_allocation(op.destination) for op in reductions if op.engine != EngineAttr(Engine.TMA_REDUCE)}
    for copy in chosen:
        if copy.engine != EngineAttr(Engine.TMA_REDUCE) or base_allocation(copy.destination) not in by_threads:
            continue
        if copy.reduce is not None and beyond_threads(copy.destination) is None:
            if threads_combine(copy.reduce.data, copy.destination_type.element_type):
                copy.engine = EngineAttr(Engine.LD_ST)
                remark(copy, CombinedByThreads())


def _is_transposed_by_element(tile: TileType) -> bool:
    """Returns True if ldmatrix reads rows of a tile's type but not columns, and neighbours along K are not adjacent."""
    forms = {form.transposed for form in MATRIX_FORMS if tile.dtype.storage_bits in form.element_bits}
    if tile.memory is not MemorySpace.SHARED or tile.layout is None or forms != {False} or tile.dims[-1] == 1:
        return False
    first, second = (tile.layout.apply((*[0] * (len(tile.dims) - 1), k), tile.dims)["m"] for k in range(2))
    return second - first != 1


def _warn_of_columns(mma: MmaOp, chosen: Sequence[LoadOp]) -> None:
    """Warns of a product of which `chosen` loads an operand element by element, as no instruction transposes it."""
    found: list[str] = []
    for name, value in zip("AB", (mma.a, mma.b), strict=True):
        while isinstance(op := value.owner, ConvertOp):
            value = op.source
        if isinstance(op, LoadOp) and op in chosen and op.engine == EngineAttr(Engine.LD_ST):
            if _is_transposed_by_element(source := TileType.of(op.source)):
                found.append(f"{name} of {source.element_type}")
    if found:
        warn(
            mma,
            f"{' and '.join(found)} loaded element by element: neighbours along K are apart in shared memory, and "
            "ldmatrix transposes elements of 16 bits only; it loads tiles of a memref in which they are adjacent",
            "slower-product",
        )


class TirxSelectCopiesPass(ModulePass):
    """Stores on every copy between memories the engine that moves its elements: `tcgen05_cp` for scale factors of a
    product, `tcgen05_ld` and `tcgen05_st` for tensor memory, `ld_st` for all others. Loads and stores of fragments in
    shared memory get `ldmatrix` and `stmatrix` where target and layouts have them; operands of 8 or 32 bits that it
    would have to transpose are a warning.

    Later passes read the engine. One that is written stays where it can do the copy, and is an error elsewhere: `tma`,
    `cp_async` and `tma_store` between global and shared memory need a target and layouts that allow them. Views that
    are clipped, whose strides the launch gives, or of whose rows an index tile has the numbers, have `tma` and
    `tma_store` where that is legal. Clipped views that
    bulk stores write get `begins_inside` where their indices show it. Reductions from shared memory have `tma_reduce`,
    but `ld_st` where threads combine other elements of the memref. Remarks say why a copy does not have the fastest
    engine of its target.
    """

    name = "tirx-select-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            chosen: list[CopyOp] = []
            loads: list[LoadOp] = []
            for move in kernel.walk():
                if isinstance(move, CopyOp):
                    if move.engine is None:
                        chosen.append(move)
                        _explain_clipped(move)
                    engine = match_engine(move)
                    _explain_rows(move, engine)
                elif isinstance(move, LoadOp | StoreOp):
                    if isinstance(move, LoadOp) and move.engine is None:
                        loads.append(move)
                    engine = match_transfer(move)
                elif isinstance(move, AsyncCopyOp):
                    check_written(move, move.engine.data)
                    _explain(move)
                    _mark_start(move)
                    continue
                else:
                    continue
                if isinstance(move, CopyOp) and move.engine is None and engine is Engine.LD_ST and is_fill(move):
                    move.attributes[CHOSEN] = UnitAttr()
                if engine is not None:
                    move.engine = EngineAttr(engine)
                if isinstance(move, CopyOp):
                    _mark_start(move)
            _combine_by_threads(kernel, chosen)
            for mma in [move for move in kernel.walk() if isinstance(move, MmaOp)]:
                _warn_of_columns(mma, loads)
