"""`tirx-fit-index-tiles`: copies by tiles of indices have them where their threads need them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.copy.tma import index_layout
from tirx.dialects import tirx
from tirx.layout.reduction import reduced
from tirx.passes.copies.tirx_expand_copies import distribution
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.layouts.register_layouts import fit_index_tiles, fit_tiles
from tirx.passes.match.bulk_copies import plan_thread_copies
from tirx.passes.match.copy_engines import is_seen, match_transfer
from tirx.passes.match.product import legal, target_of
from tirx.passes.match.run_time_strides import placed
from tirx.passes.match.tensor_tiles import common_fragment


def _fit(copy: tirx.CopyOp) -> None:
    """Gives index tiles the layouts of the threads that start the copies; other copies become loads and stores."""
    engine = None if copy.engine is None else copy.engine.data
    if engine in (tirx.Engine.TMA, tirx.Engine.TMA_STORE):
        view = tirx.indexed_view(copy.source) or tirx.indexed_view(copy.destination)
        assert view is not None
        (index,) = view.index_tiles.values()
        fit_index_tiles(copy, view, {index: index_layout(tirx.TileType.of(index).num_elements)})
        return
    if engine is tirx.Engine.CP_ASYNC:
        view = tirx.indexed_view(copy.source)
        assert view is not None
        share = plan_thread_copies(copy.source, copy.destination_type, tirx.thread_set(copy).count).share
        dims = view.result.type.dims
        fit_index_tiles(
            copy, view, {index: reduced(share, dims, view.still_dims(d)) for d, index in view.index_tiles.items()}
        )
        return
    ends = [placed(tile) for tile in (copy.source, copy.destination)]
    tensors = [end for end in ends if end.memory is tirx.MemorySpace.TENSOR]
    emit, type_ = Emitter.before(copy), copy.source_type
    layout = common_fragment(tensors) if tensors else distribution(copy, type_.dims, *ends)
    load = emit(
        tirx.LoadOp(copy.source, tirx.TileType.get(type_.dims, type_.element_type, tirx.MemorySpace.REGISTER, layout))
    )
    store = emit(tirx.StoreOp(load.result, copy.destination, reduce=copy.reduce))
    for op in (load, store):
        fit_tiles(op, target_of(copy))
        if (engine := match_transfer(op)) is not None:
            op.engine = tirx.EngineAttr(engine)
    erase(copy)


class TirxFitIndexTilesPass(ModulePass):
    """Gives each copy from or to a view with index tiles those tiles in the layout in which its threads need them.

    Threads that start a `cp.async` hold the indices of what they copy, and so do the lanes of a warp that start bulk
    tensor copies of four rows each. Every other such copy between memories becomes a load and a store, with vectors
    over consecutive threads or the fragment of tensor memory in between.
    """

    name = "tirx-fit-index-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            for copy in list(kernel.walk()):
                if isinstance(copy, tirx.CopyOp) and (is_seen(copy) or any(map(tirx.indexed_view, copy.operands))):
                    with legal(copy):
                        _fit(copy)
