"""Register tiles of 6-bit elements that go to memory: who holds what."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.copy.distribute import copy_distribution
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.hw.errors import OperandLayoutError
from tirx.layout import Iter, TileLayout
from tirx.tcgen05.stored_operand import UNIT


def run_distribution(dims: Sequence[int], threads: int) -> TileLayout:
    """Returns a layout in which threads hold runs of 16 neighbours of a row, which memory has in whole words.

    Raises LegalityError for rows that are no number of runs, LayoutError for a number of threads that no block has.
    """
    *outer, columns = dims
    if columns % UNIT:
        raise OperandLayoutError(
            f"expected rows of a multiple of {UNIT} elements of {PACKED_BITS} bits, found {columns}"
        )
    runs = (*outer, columns // UNIT)
    plain = TileLayout.row_major(runs)
    found = copy_distribution(runs, plain, plain, 8 * UNIT, threads)
    shard = (Iter(it.extent, it.stride * UNIT if it.axis == "m" else it.stride, it.axis) for it in found.shard)
    return TileLayout((*shard, Iter(UNIT, 1)), found.replica)
