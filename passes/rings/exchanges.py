"""The shared memory that changes of layout and reductions across warps will take."""

from __future__ import annotations

from tirx.copy.exchange import plan_exchange, plan_reduction
from tirx.dialects.tirx import ConvertOp, KernelOp, MemorySpace, ReduceOp, TileType, thread_set
from tirx.layout import LayoutError, TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.passes.match.memory_by_lifetime import aligned_bytes


def exchange_bytes(kernel: KernelOp) -> int:
    """
    Returns the bytes of the largest tile that `tirx-expand-exchanges` will allocate, tiles have layouts.

    No two of these tiles are in use at a time.
    """
    return max((_bytes(op) for op in kernel.walk() if isinstance(op, ConvertOp | ReduceOp)), default=0)


def _bytes(op: ConvertOp | ReduceOp) -> int:
    source, result, threads = TileType.of(op.source), op.result.type, thread_set(op).count
    if not isinstance(source.layout, TileLayout) or not isinstance(result.layout, TileLayout):
        return 0
    try:
        if isinstance(op, ConvertOp):
            plan = plan_exchange(source.layout, result.layout, source.dims, source.dtype.storage_bits, threads)
            if plan.shared is None:
                return 0
            return aligned_bytes(TileType.get(source.dims, source.element_type, MemorySpace.SHARED, plan.shared))
        if plan_reduction(source.layout, source.dims, op.along, threads) is not None:
            return 0
    except LayoutError:
        return 0  # the pass that expands it says what is wrong
    return min(source.num_bytes, -(-threads // WARP_SIZE) * result.num_bytes)
