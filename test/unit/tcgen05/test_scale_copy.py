"""Copies of scale factors by tcgen05.cp: followed byte by byte, as the PTX ISA describes the instruction."""

import numpy as np
import pytest

from tirx.layout import TileLayout
from tirx.tcgen05 import LegalityError, SmemDescriptor, scale_factor_smem_layout, scale_factor_tmem_layout
from tirx.tcgen05.scale_copy import BLOCK_DESCRIPTOR, scale_copies


def moved(shared: TileLayout, tensor: TileLayout, shape: tuple[int, ...]) -> np.ndarray:
    """Tensor memory [lane, byte] after the copies, -1 where nothing was written; shared memory counts its bytes."""
    memory = np.full((128, 512), -1)
    for copy in scale_copies(shared, tensor, shape):
        # 32x128b: 32 rows of 16 bytes, 8 of them to a core matrix of 128 bytes; warpx4: to lanes r, r + 32, ...
        for row in range(32):
            source = copy.offset_bytes + row // 8 * (BLOCK_DESCRIPTOR.sbo or 0) + row % 8 * 16
            memory[row::32, 4 * copy.column : 4 * copy.column + 16] = source + np.arange(16)
    return memory


@pytest.mark.parametrize(
    ("rows", "sf_k", "sf_per_mma", "pipe"), [(128, 4, 4, 1), (256, 8, 2, 1), (128, 16, 1, 1), (256, 4, 4, 2)]
)
def test_every_factor_arrives(rows: int, sf_k: int, sf_per_mma: int, pipe: int):
    shape = (pipe, rows, sf_k) if pipe > 1 else (rows, sf_k)
    shared = scale_factor_smem_layout(rows, sf_k, pipe=pipe)
    tensor = scale_factor_tmem_layout(rows, sf_k, sf_per_mma, pipe=pipe)
    memory = moved(shared, tensor, shape)
    for coordinate in np.ndindex(shape):
        for owner in tensor.owners(coordinate, shape):
            assert memory[owner["TLane"], owner["TCol"]] == shared.apply(coordinate, shape)["m"]
    # and nothing else is overwritten
    assert np.count_nonzero(memory >= 0) == 4 * rows * sf_k * pipe


def test_parts_of_tiles():
    """Rows 128 on, of a tile of 256: other columns than those of the first 128, with theirs in between."""
    region = ((128, 256), (0, 8))
    shared = scale_factor_smem_layout(256, 8).slice((256, 8), region)
    tensor = scale_factor_tmem_layout(256, 8, 4).slice((256, 8), region)
    found = scale_copies(shared, tensor, (128, 8))
    assert [(copy.offset_bytes, copy.column, copy.origin) for copy in found] == [(1024, 4, (0, 0)), (1536, 12, (0, 4))]


def test_the_descriptor_of_a_block():
    # No swizzle, K-major: 8 rows of 16 bytes, the next 8 directly behind them (PTX ISA, matrix descriptor).
    assert BLOCK_DESCRIPTOR.encode() == SmemDescriptor(0, None, 128, "none").encode() == 0x0000_4008_0001_0000


ROWS = "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)]"


@pytest.mark.parametrize(
    ("shared", "tensor", "shape", "message"),
    [
        (
            "S[(128, 4) : (4, 1)]",
            f"{ROWS} + R[4 : 32@TLane]",
            (128, 4),
            r"\(1, 0\) is expected at byte 16 .* at byte 4;",
        ),
        ("S[(4, 32, 4) : (4, 16, 1)] + 4", f"{ROWS} + R[4 : 32@TLane]", (128, 4), "multiples of 16 bytes, found .* 4$"),
        ("S[(4, 32, 4) : (4, 16, 1)]", ROWS, (128, 4), "with copies 32 lanes apart"),
        ("S[(4, 32, 4) : (4, 16, 1)]", f"{ROWS} + R[4 : 32@TLane] + 2@TCol", (128, 4), "whole 32-bit column"),
        (
            "S[(4, 32, 4) : (4, 16, 1)]",
            "S[(4, 32, 4) : (8@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]",
            (128, 4),
            "has 256 in those from column 0 on",
        ),
        (
            "S[(2, 32, 2, 4) : (4, 16, 8, 1)]",
            "S[(2, 32, 2, 4) : (4@TCol, 1@TLane, 8@TCol, 1@TCol)] + R[4 : 32@TLane]",
            (64, 8),
            "in blocks of 128x4, .* found 64x8",
        ),
        (
            "S[(2, 2, 2, 32, 4, 2, 2) : (2, 1024, 4, 16, 512, 8, 1)]",
            "S[(2, 2, 2, 32, 4, 2, 2) : (2@TCol, 32@TCol, 4@TCol, 1@TLane, 64@TCol, 8@TCol, 1@TCol)] + R[4 : 32@TLane]",
            (256, 16),
            "found those of several in the columns from 0 on",
        ),
    ],
)
def test_refused(shared: str, tensor: str, shape: tuple[int, ...], message: str):
    with pytest.raises(LegalityError, match=message):
        scale_copies(TileLayout.parse(shared), TileLayout.parse(tensor), shape)
