"""The shared memory that changes of layout and reductions across warps will take."""

from __future__ import annotations

from tirx.copy.exchange import plan_exchange, plan_reduction, plan_scan, split_scan
from tirx.dialects.nesting import walk
from tirx.dialects.tirx import ConvertOp, FoldOp, KernelOp, MemorySpace, ReduceOp, ScanOp, TileType, thread_set
from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.layout.axis import WARP_SIZE
from tirx.passes.match.memory_by_lifetime import aligned_bytes


def exchange_bytes(kernel: KernelOp) -> int:
    """Returns the bytes of the tiles that `tirx-expand-exchanges` will allocate for one operation of the kernel's body.

    Tiles have layouts. Those of different operations are not in use at a time, but all tiles of one loop are.
    """
    return max(
        sum(_bytes(op) for op in walk(each) if isinstance(op, ConvertOp | FoldOp)) for each in kernel.body.block.ops
    )


def _bytes_of_part(source: TileType, result: TileType, threads: int, arranged: Arrangement) -> int:
    """The bytes on the way to some elements of a tile: none where threads, or the lanes of a warp, have them."""
    assert isinstance(source.layout, TileLayout) and isinstance(result.layout, TileLayout)
    try:
        plan_exchange(source.layout, result.layout, result.dims, source.dtype.storage_bits, threads, arranged)
    except LayoutError:
        return source.num_bytes
    return 0


def _bytes(op: ConvertOp | FoldOp) -> int:
    source, result, threads = TileType.of(op.source), TileType.of(op.results[0]), thread_set(op).count
    assert isinstance(source.layout, TileLayout) and isinstance(result.layout, TileLayout)
    warps = -(-threads // WARP_SIZE)
    try:
        match op:
            case ConvertOp() if (arranged := op.arranged) is not None:
                return _bytes_of_part(source, result, threads, arranged)
            case ConvertOp():
                plan = plan_exchange(source.layout, result.layout, source.dims, source.dtype.storage_bits, threads)
                if plan.shared is None:
                    return 0
                return aligned_bytes(TileType.get(source.dims, source.element_type, MemorySpace.SHARED, plan.shared))
            case ScanOp():
                if plan_scan(source.layout, source.dims, op.along[0], threads) is not None:
                    return 0
                factors = split_scan(source.layout, source.dims, op.along[0])
                parts = source.num_elements if factors is None else source.num_elements // factors[2]
                # A scan with a region and no init has flags, too.
                return sum(parts * TileType.of(tile).dtype.storage_bits // 8 for tile in op.ins) + parts * 4
            case _:
                assert isinstance(op, ReduceOp)
                if plan_reduction(source.layout, source.dims, op.along, threads) is not None:
                    return 0
    except LayoutError:
        return 0  # the pass that expands it says what is wrong
    ends = zip(map(TileType.of, op.ins), map(TileType.of, op.res), strict=True)
    return sum(min(tile.num_bytes, warps * part.num_bytes) for tile, part in ends)
