"""Copies of scale factors by tcgen05.cp: followed byte by byte, as the PTX ISA describes the instruction."""

from functools import partial

import numpy as np
import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.scale_copy import BLOCK_DESCRIPTOR, scale_copies
from tirx.tcgen05.scale_factors import (
    scale_factor_a_layout,
    scale_factor_b_layout,
    scale_factor_k_step,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)
from tirx.tcgen05.tmem import of_one_cta


def moved(shared: TileLayout, tensor: TileLayout, shape: tuple[int, ...]) -> np.ndarray:
    """Tensor memory [lane, byte] after the copies, -1 where nothing was written; shared memory counts its bytes."""
    memory = np.full((128, 512), -1)
    for copy in scale_copies(shared, tensor, shape):
        # Rows of 16 bytes, 8 of them to a core matrix of 128 bytes.
        for row in range(64 if copy.shape.name == "64x128b" else 32):
            source = copy.offset_bytes + row // 8 * (BLOCK_DESCRIPTOR.sbo or 0) + row % 8 * 16
            # Which warps have the lanes that the row goes to.
            warps = {"warpx4": (0, 1, 2, 3), "warpx2::01_23": (row // 32 * 2, row // 32 * 2 + 1)}[copy.shape.multicast]
            for warp in warps:
                memory[32 * warp + row % 32, 4 * copy.column : 4 * copy.column + 16] = source + np.arange(16)
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


@pytest.mark.parametrize(("rows", "sf_k", "halves"), [(64, 8, 1), (64, 24, 1), (64, 32, 2), (128, 16, 2), (256, 8, 2)])
def test_factors_of_a_pair_with_64_rows_each(rows: int, sf_k: int, halves: int):
    """SFA of 64 rows and SFB in two halves of the lanes: blocks of four columns have more factors along K."""
    shared = scale_factor_smem_layout(rows, sf_k, halves=halves)
    both = (scale_factor_a_layout if halves == 1 else partial(scale_factor_b_layout, 128))(
        rows * 2 // halves, sf_k, 4, 2
    )
    tensor = of_one_cta(both)
    shape = (rows, sf_k)
    memory = moved(shared, tensor, shape)
    for coordinate in np.ndindex(shape):
        for owner in tensor.owners(coordinate, shape):
            assert memory[owner["TLane"], owner["TCol"]] == shared.apply(coordinate, shape)["m"]
    assert np.count_nonzero(memory >= 0) == 4 // halves * rows * sf_k
    step = scale_factor_k_step(rows, halves)
    blocks = {copy.extent for copy in scale_copies(shared, tensor, shape)}
    assert blocks == {(512 * halves // step, step)}


def test_parts_of_tiles():
    """Rows 128 on, of a tile of 256: other columns than those of the first 128, with theirs in between."""
    region = ((128, 256), (0, 8))
    shared = scale_factor_smem_layout(256, 8).slice((256, 8), region)
    tensor = scale_factor_tmem_layout(256, 8, 4).slice((256, 8), region)
    found = scale_copies(shared, tensor, (128, 8))
    assert [(copy.offset_bytes, copy.column, copy.origin) for copy in found] == [(1024, 4, (0, 0)), (1536, 12, (0, 4))]


def test_no_swizzle():
    tile, tensor = scale_factor_smem_layout(128, 4), scale_factor_tmem_layout(128, 4, 4)
    with pytest.raises(LegalityError, match="without a swizzle, found ComposeLayout"):
        scale_copies(ComposeLayout(SwizzleLayout.for_bits(8, "32B"), tile), tensor, (128, 4))
    plain = ComposeLayout(SwizzleLayout(0, 0, 0), tile)
    assert scale_copies(plain, tensor, (128, 4)) == scale_copies(tile, tensor, (128, 4))


def test_the_descriptor_of_a_block():
    # No swizzle, K-major: 8 rows of 16 bytes, the next 8 directly behind them (PTX ISA, matrix descriptor).
    assert BLOCK_DESCRIPTOR.encode() == SmemDescriptor(0, None, 128, "none").encode() == 0x0000_4008_0001_0000


ROWS = "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)]"


@together(
    ("shared", "tensor", "shape", "message"),
    [
        (
            "S[(128, 4) : (4, 1)]",
            f"{ROWS} + R[4 : 32@TLane]",
            (128, 4),
            r"\(1, 0\) is expected at byte 16 .* at byte 4;",
        ),
        (
            "S[(4, 32, 4) : (4, 16, 1)] + 4",
            f"{ROWS} + R[4 : 32@TLane]",
            (128, 4),
            "^expected blocks of scale factors at multiples of 16 bytes, found one at byte 4$",
        ),
        (
            "S[(4, 32, 4) : (4, 16, 1)]",
            ROWS,
            (128, 4),
            (
                r"^expected scale factors in lanes 0 to 31, with copies 32 lanes apart, R\[4 : 32@TLane\], or "
                r"those of B in two halves 64 lanes apart \(a pair, M = 128\), R\[2 : 32@TLane\], found "
                r"S\[\(4, 32, 4\) : \(4@TCol, 1@TLane, 1@TCol\)\]$"
            ),
        ),
        (
            "S[(4, 32, 4) : (4, 16, 1)]",
            f"{ROWS} + R[4 : 32@TLane] + 2@TCol",
            (128, 4),
            "^expected scale factors from a whole 32-bit column on, found them at byte 2$",
        ),
        (
            "S[(4, 32, 4) : (4, 16, 1)]",
            "S[(4, 32, 4) : (8@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]",
            (128, 4),
            (
                r"^expected scale factors that fill blocks of 4 columns: tcgen05\.cp\.32x128b writes all "
                "their lanes, 512 factors, and the tile has 256 in those from column 0 on$"
            ),
        ),
        (
            "S[(5, 32, 4) : (4, 16, 1)]",
            "S[(5, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 32@TCol",
            (160, 4),
            "has 128 in those from column 12 on",
        ),
        (
            "S[(2, 32, 4) : (4, 16, 1)]",
            "S[(2, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]",
            (64, 4),
            "32x128b writes all their lanes, 512 factors, and the tile has 256 in those from column 0 on",
        ),
        (
            "S[(2, 2, 32, 2, 4) : (512, 8, 16, 4, 1)]",
            "S[(2, 2, 32, 2, 4) : (64@TLane, 4@TCol, 1@TLane, 8@TCol, 1@TCol)] + R[2 : 32@TLane]",
            (128, 8),
            r"blocks of 1024 bytes, .* \(0, 4\) is expected at byte 8 .* at byte 4; write .*"
            r"S\[\(2, 2, 32, 2, 4\) : \(512, 4, 16, 8, 1\)\]",
        ),
        ("S[(40, 4) : (4, 1)]", f"{ROWS} + R[4 : 32@TLane]", (40, 4), "in steps of 32x4, .* found 40x4"),
        (
            "S[(2, 2, 2, 32, 4, 2, 2) : (2, 1024, 4, 16, 512, 8, 1)]",
            "S[(2, 2, 2, 32, 4, 2, 2) : (2@TCol, 32@TCol, 4@TCol, 1@TLane, 64@TCol, 8@TCol, 1@TCol)] + R[4 : 32@TLane]",
            (256, 16),
            (
                "^expected one block of scale factors in each 4 columns, found those of several in the "
                "columns from 0 on$"
            ),
        ),
    ],
)
def test_refused(shared: str, tensor: str, shape: tuple[int, ...], message: str):
    with pytest.raises(LegalityError, match=message):
        scale_copies(TileLayout.parse(shared), TileLayout.parse(tensor), shape)
