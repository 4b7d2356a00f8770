"""How tcgen05.cp takes scale factors from shared to tensor memory: block by block, to all four partitions of lanes.

One tcgen05.cp.32x128b.warpx4 moves 32 rows of 16 bytes, 512 bytes behind each other: row r to lanes r, r + 32, r + 64
and r + 96 of four neighbouring columns. Source: PTX ISA "tcgen05.cp"; the blocks are those of `scale_factors`.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from tirx.layout import ComposeLayout, TileLayout
from tirx.tcgen05.canonical_form import attribute_text
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.scale_factors import BLOCK_ROWS, GROUP, PER_COLUMN, scale_factor_smem_layout
from tirx.tcgen05.smem_descriptor import SmemDescriptor
from tirx.tcgen05.tmem import LANES

ROW_BYTES = 16
"""Bytes of one row of the instruction: one lane of `COLUMNS_PER_COPY` columns."""

COLUMNS_PER_COPY = ROW_BYTES // PER_COLUMN

BLOCK_BYTES = GROUP * ROW_BYTES

CP_SHAPE, CP_MULTICAST = "32x128b", "warpx4"
"""The instruction, as PTX writes it."""

BLOCK_DESCRIPTOR = SmemDescriptor(start=0, lbo=None, sbo=8 * ROW_BYTES, swizzle="none")
"""The descriptor of a block but for its start address: K-major, 8 rows of 16 bytes and then the next 8 behind them."""


class ScaleCopy(NamedTuple):
    """One instruction: `offset_bytes` from the base of the shared tile to the first 32-bit `column` in tensor memory.

    `origin`: the first element of the block of (1, ..., 128, 4) elements that it moves.
    """

    offset_bytes: int
    column: int
    origin: tuple[int, ...]


def scale_copies(
    shared: TileLayout | ComposeLayout, tensor: TileLayout, shape: tuple[int, ...]
) -> tuple[ScaleCopy, ...]:
    """The instructions that copy a tile of scale factors, bytes, of `shape` (..., rows, S), in order of their columns.

    Raises LegalityError, naming the first element at fault, where the tile is no number of whole blocks of 512 bytes
    in shared memory that are four whole columns each in tensor memory.
    """
    if isinstance(shared, ComposeLayout) and not shared.swizzle.is_identity:
        raise LegalityError(f"expected scale factors in shared memory without a swizzle, found {shared}")
    block_shape = BLOCK_ROWS, PER_COLUMN
    if len(shape) < 2 or shape[-2] % BLOCK_ROWS or shape[-1] % PER_COLUMN:
        raise LegalityError(
            f"expected scale factors of shape MxS in blocks of {BLOCK_ROWS}x{PER_COLUMN}, which tcgen05.cp copies, "
            f"found {'x'.join(map(str, shape))}"
        )
    _check_partitions(tensor)
    size = (tensor.size(),)
    zero = np.zeros(size, dtype=np.int64)
    table = tensor.table(size)
    lane, byte = (table.get(name, zero) for name in ("TLane", "TCol"))
    address = shared.axis_table("m", size)
    first = int(byte.min())
    block, inside = np.divmod(byte - first, ROW_BYTES)
    if first % PER_COLUMN:
        raise LegalityError(f"expected scale factors from a whole 32-bit column on, found them at byte {first}")
    blocks = int(block.max()) + 1
    filled = np.bincount(block, minlength=blocks)
    if len(partial := np.flatnonzero((filled > 0) & (filled != BLOCK_BYTES))):
        column = first // PER_COLUMN + int(partial[0]) * COLUMNS_PER_COPY
        raise LegalityError(
            f"expected scale factors that fill blocks of {BLOCK_ROWS} rows by {PER_COLUMN}: tcgen05.cp.{CP_SHAPE} "
            f"writes all lanes of {COLUMNS_PER_COPY} columns, {BLOCK_BYTES} factors, and the tile has "
            f"{int(filled[partial[0]])} in those from column {column} on"
        )
    start = np.full(blocks, np.iinfo(np.int64).max)
    np.minimum.at(start, block, address)
    wrong = np.flatnonzero(address != start[block] + lane * ROW_BYTES + inside)
    if len(wrong):
        at = int(wrong[0])
        where = tuple(int(x) for x in np.unravel_index(at, shape))
        suggestion = scale_factor_smem_layout(shape[-2], shape[-1], pipe=prod(shape[:-2]))
        expected = int(start[block[at]] + lane[at] * ROW_BYTES + inside[at])
        raise LegalityError(
            f"expected scale factors in blocks of {BLOCK_BYTES} bytes, {ROW_BYTES} for each lane of {COLUMNS_PER_COPY} "
            f"columns: element {where} is expected at byte {expected} of the shared tile and is at byte "
            f"{int(address[at])}; write {attribute_text(suggestion)}",
            suggestion=suggestion,
        )
    if len(misaligned := np.flatnonzero((filled > 0) & (start % ROW_BYTES != 0))):
        raise LegalityError(
            f"expected blocks of scale factors at multiples of {ROW_BYTES} bytes, found one at byte "
            f"{int(start[misaligned[0]])}"
        )
    copies: list[ScaleCopy] = []
    indices = np.array(np.unravel_index(np.arange(tensor.size()), shape))
    units = np.array((*(1 for _ in shape[:-2]), *block_shape))[:, None]
    for i in (int(i) for i in np.flatnonzero(filled)):
        origins = np.unique(indices[:, block == i] // units * units, axis=1)
        if origins.shape[1] > 1:
            raise LegalityError(
                f"expected each block of {BLOCK_ROWS}x{PER_COLUMN} scale factors in {COLUMNS_PER_COPY} columns, found "
                f"those of several in the columns from {first // PER_COLUMN + i * COLUMNS_PER_COPY} on"
            )
        origin = tuple(int(x) for x in origins[:, 0])
        copies.append(ScaleCopy(int(start[i]), first // PER_COLUMN + i * COLUMNS_PER_COPY, origin))
    return tuple(copies)


def _check_partitions(tensor: TileLayout) -> None:
    """LegalityError unless all four partitions of lanes hold all scale factors."""
    copies = {replica.get("TLane", 0) for replica in tensor.replicas()}
    wanted = set(range(0, LANES, GROUP))
    lanes = tensor.axis_table("TLane", (tensor.size(),))
    if copies != wanted or len(tensor.replicas()) != len(wanted) or int(lanes.min()) < 0 or int(lanes.max()) >= GROUP:
        raise LegalityError(
            f"expected scale factors in lanes 0 to {GROUP - 1}, with copies {GROUP} lanes apart, R[{len(wanted)} : "
            f"{GROUP}@TLane], found {tensor}"
        )
