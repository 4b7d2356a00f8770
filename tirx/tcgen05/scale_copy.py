"""Copies of scale factors from shared to tensor memory by tcgen05.cp: block by block, to all partitions of lanes.

One instruction moves rows of 16 bytes, behind each other, to a lane of four neighbouring columns each: 32x128b.warpx4
row r to lanes r, r + 32, r + 64 and r + 96; 64x128b.warpx2::01_23 rows 0 to 31 to lanes r and r + 32, the others 64
lanes further on. Source: PTX ISA "tcgen05.cp"; the blocks are those of `scale_factors`.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tirx.hw.errors import ScaleFactorError
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.arrays import np
from tirx.smem.canonical_form import attribute_text
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.scale_factors import GROUP, PER_COLUMN, scale_factor_smem_layout
from tirx.values import dataclass

ROW_BYTES = 16
"""Bytes of one row of the instruction: one lane of `COLUMNS_PER_COPY` columns."""

COLUMNS_PER_COPY = ROW_BYTES // PER_COLUMN


@dataclass(frozen=True)
class CopyShape:
    """An instruction, as PTX writes it. `lanes`: where each 32 of its rows go; `copies`: how far off the same again."""

    name: str
    multicast: str
    lanes: tuple[int, ...]
    copies: tuple[int, ...]

    @property
    def block_bytes(self) -> int:
        return len(self.lanes) * GROUP * ROW_BYTES


COPY_SHAPES = (
    CopyShape("32x128b", "warpx4", (0,), (0, 32, 64, 96)),
    CopyShape("64x128b", "warpx2::01_23", (0, 64), (0, 32)),
)
"""Instructions that give every partition of lanes its scale factors."""

BLOCK_DESCRIPTOR = SmemDescriptor(start=0, lbo=None, sbo=8 * ROW_BYTES, swizzle="none")
"""The descriptor of a block but for its start address: K-major, 8 rows of 16 bytes and then the next 8 behind them."""


class ScaleCopy(NamedTuple):
    """One instruction: `offset_bytes` from the base of the shared tile to the first 32-bit `column` in tensor memory.

    `origin`, `extent`: the first element of the block that it moves, and the shape of that, (1, ..., 128, 4) for 128
    rows that are in four columns.
    """

    offset_bytes: int
    column: int
    origin: tuple[int, ...]
    extent: tuple[int, ...]
    shape: CopyShape


def scale_copies(
    shared: TileLayout | ComposeLayout, tensor: TileLayout, shape: tuple[int, ...]
) -> tuple[ScaleCopy, ...]:
    """The instructions that copy a tile of scale factors, bytes, of `shape` (..., rows, S), in order of their columns.

    Raises LegalityError, naming the first element at fault, where the tile is no number of whole blocks in shared
    memory that are four whole columns each in tensor memory.
    """
    if isinstance(shared, ComposeLayout) and not shared.swizzle.is_identity:
        raise ScaleFactorError(f"expected scale factors in shared memory without a swizzle, found {shared}")
    match shape:
        case (*outer, rows, factors) if rows % GROUP == 0 and factors % PER_COLUMN == 0:
            pass
        case _:
            raise ScaleFactorError(
                f"expected scale factors of shape MxS in steps of {GROUP}x{PER_COLUMN}, the lanes and bytes of a "
                f"column, found {'x'.join(map(str, shape))}"
            )
    instruction = _copy_shape(tensor)
    size = (tensor.size(),)
    zero = np.zeros(size, dtype=np.int64)
    table = tensor.table(size)
    lane, byte = (table.get(name, zero) for name in ("TLane", "TCol"))
    row = lane % GROUP + np.searchsorted(instruction.lanes, lane // GROUP * GROUP) * GROUP
    address = shared.axis_table("m", size)
    first = int(byte.min())
    block, inside = np.divmod(byte - first, ROW_BYTES)
    if first % PER_COLUMN:
        raise ScaleFactorError(f"expected scale factors from a whole 32-bit column on, found them at byte {first}")
    numbers, block, filled = np.unique(block, return_inverse=True, return_counts=True)  # blocks with factors only
    columns = (first // PER_COLUMN + numbers * COLUMNS_PER_COPY).tolist()
    if len(partial := np.flatnonzero(filled != instruction.block_bytes)):
        column = columns[partial[0]]
        raise ScaleFactorError(
            f"expected scale factors that fill blocks of {COLUMNS_PER_COPY} columns: tcgen05.cp.{instruction.name} "
            f"writes all their lanes, {instruction.block_bytes} factors, and the tile has {int(filled[partial[0]])} in "
            f"those from column {column} on"
        )
    start = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(start, block, address)
    wrong = np.flatnonzero(address != start[block] + row * ROW_BYTES + inside)
    if len(wrong):
        at = int(wrong[0])
        where = tuple(int(x) for x in np.unravel_index(at, shape))
        halves = len(instruction.lanes)
        suggestion = scale_factor_smem_layout(rows, factors, pipe=prod(outer), halves=halves)
        expected = int(start[block[at]] + row[at] * ROW_BYTES + inside[at])
        raise ScaleFactorError(
            f"expected scale factors in blocks of {instruction.block_bytes} bytes, {ROW_BYTES} for each lane of "
            f"{COLUMNS_PER_COPY} columns: element {where} is expected at byte {expected} of the shared tile and is at "
            f"byte {int(address[at])}; write {attribute_text(suggestion)}",
            suggestion=suggestion,
        )
    if len(misaligned := np.flatnonzero(start % ROW_BYTES)):
        raise ScaleFactorError(
            f"expected blocks of scale factors at multiples of {ROW_BYTES} bytes, found one at byte "
            f"{int(start[misaligned[0]])}"
        )
    copies: list[ScaleCopy] = []
    indices = np.array(np.unravel_index(np.arange(tensor.size()), shape))
    for i, column in enumerate(columns):
        own = indices[:, block == i]
        origin, last = own.min(axis=1), own.max(axis=1)
        extent = tuple(int(x) for x in last - origin + 1)
        if prod(extent) != instruction.block_bytes:
            raise ScaleFactorError(
                f"expected one block of scale factors in each {COLUMNS_PER_COPY} columns, found those of several in "
                f"the columns from {column} on"
            )
        copies.append(ScaleCopy(int(start[i]), column, tuple(int(x) for x in origin), extent, instruction))
    return tuple(copies)


def _copy_shape(tensor: TileLayout) -> CopyShape:
    """The instruction that writes these lanes. LegalityError unless all four partitions hold what they need."""
    copies = sorted(replica.get("TLane", 0) for replica in tensor.replicas())
    lanes = set(np.unique(tensor.axis_table("TLane", (tensor.size(),)) // GROUP * GROUP).tolist())
    for shape in COPY_SHAPES:
        if copies == list(shape.copies) and lanes == set(shape.lanes):
            return shape
    raise ScaleFactorError(
        f"expected scale factors in lanes 0 to {GROUP - 1}, with copies {GROUP} lanes apart, R[4 : {GROUP}@TLane], or "
        f"those of B in two halves 64 lanes apart (a pair, M = 128), R[2 : {GROUP}@TLane], found {tensor}"
    )
