"""Every worked example of the tensor layout page, digit for digit."""

import numpy as np
import pytest
from unit.cases import together

from tirx.copy import bank_of, conflict_degree
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout

REGISTER_TILE = "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid"
TENSOR_MEMORY = "S[(2,128,112):(112@TCol,1@TLane,1@TCol)]"


@together(
    ("coord", "laneid", "warpids", "m"),
    [
        ((0, 0), 0, (5, 9), 0),
        ((0, 1), 0, (5, 9), 1),
        ((0, 2), 1, (5, 9), 0),
        ((1, 0), 4, (5, 9), 0),
        ((0, 8), 0, (6, 10), 0),
        ((7, 15), 31, (6, 10), 1),
    ],
)
def test_register_tile(coord: tuple[int, int], laneid: int, warpids: tuple[int, int], m: int) -> None:
    layout = TileLayout.parse(REGISTER_TILE)
    assert layout.apply(coord, (8, 16)) == {"laneid": laneid, "warpid": warpids[0], "m": m}
    assert layout.owners(coord, (8, 16)) == [{"laneid": laneid, "warpid": w, "m": m} for w in warpids]


def test_register_tile_formula() -> None:
    table = TileLayout.parse(REGISTER_TILE).table((8, 16))
    i, j = np.indices((8, 16))
    assert (table["laneid"] == 4 * i + j // 2 % 4).all()
    assert (table["warpid"] == j // 8 + 5).all()
    assert (table["m"] == j % 2).all()


@together(
    ("coord", "lane", "column"),
    [((0, 0, 0), 0, 0), ((0, 5, 3), 5, 3), ((1, 0, 0), 0, 112), ((1, 127, 111), 127, 223)],
)
def test_tensor_memory(coord: tuple[int, ...], lane: int, column: int) -> None:
    layout = TileLayout.parse(TENSOR_MEMORY)
    assert layout.apply(coord, (2, 128, 112)) == {"TCol": column, "TLane": lane}
    assert layout.owners(coord, (2, 128, 112)) == [{"TCol": column, "TLane": lane}]


def test_tensor_memory_facts() -> None:
    layout = TileLayout.parse(TENSOR_MEMORY)
    assert layout.span("TCol") == 224
    assert layout.span("TLane") == 128
    assert layout.is_injective()
    layout.check_bounds(32)


@pytest.mark.parametrize("per_mma", [1, 2, 4])
def test_scale_factor_atom(per_mma: int) -> None:
    atom = TileLayout.parse(f"S[(32, {per_mma}) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    for row, k in np.ndindex(32, per_mma):
        expected = [{"TLane": row + 32 * warp, "TCol": k} for warp in range(4)]
        assert atom.owners((row, k), (32, per_mma)) == expected
    assert atom.footprint() == {"TLane": (0, 127), "TCol": (0, per_mma - 1)}
    # Every warp of a warpgroup sees the whole group: lane l holds row l % 32.
    for lane in range(128):
        assert atom.inverse({"TLane": lane}) == [lane % 32 * per_mma + k for k in range(per_mma)]


def test_scale_factor_direct_sum() -> None:
    """128 rows of 8-bit scale factors: four row groups, four factors packed in each 32-bit column."""
    atom = TileLayout.parse("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    outer = TileLayout.parse("S[(4, 2) : (4@TCol, 16@TCol)]")
    whole = atom.direct_sum(outer, (4, 2), (32, 4))
    for row, k in np.ndindex(128, 8):
        expected = [
            {"TCol": 4 * (row // 32) + 16 * (k // 4) + k % 4, "TLane": row % 32 + 32 * warp} for warp in range(4)
        ]
        assert whole.owners((row, k), (128, 8)) == expected
    assert whole.is_injective()
    whole.check_bounds(8)


def test_scale_factor_reuse_and_pipeline() -> None:
    """A stride-0 iter reads a factor again; an outer iter double-buffers."""
    atom = TileLayout.parse("S[(32, 1) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    outer = TileLayout.parse("S[(2, 1, 4) : (16@TCol, 0@TCol, 0@TCol)]")
    layout = atom.direct_sum(outer, (2, 1, 4), (1, 32, 1))
    for stage, row, k in np.ndindex(2, 32, 4):
        assert layout.apply((stage, row, k), (2, 32, 4)) == {"TCol": 16 * stage, "TLane": row}
    assert not layout.is_injective()


def test_swizzled_f16_tile() -> None:
    swizzle = SwizzleLayout.for_dtype("f16", "128B")
    assert swizzle == SwizzleLayout(3, 3, 3)
    layout = ComposeLayout(swizzle, TileLayout.parse("S[(8,64):(64@m,1@m)]"))
    addresses = layout.table((8, 64))["m"]
    i, j = np.indices((8, 64))
    assert (addresses == 64 * i + 8 * ((j // 8) ^ i) + j % 8).all()
    assert addresses[:, 0].tolist() == [72 * row for row in range(8)]
    assert bank_of(addresses[:, 0], 16).bank.tolist() == [0, 4, 8, 12, 16, 20, 24, 28]
    assert bank_of(addresses[:, 0], 16).line.tolist() == list(range(8))
    assert (bank_of(addresses, 16).bank == addresses // 2 % 32).all()


def test_unswizzled_f16_tile_is_serialized() -> None:
    addresses = TileLayout.row_major((8, 64)).table((8, 64))["m"]
    for j in range(64):
        assert bank_of(addresses[:, j], 16).bank.tolist() == [j // 2] * 8
        # The page speaks of a 32-way conflict; eight rows make it 8-way.
        assert conflict_degree(addresses[:, j], 16) == 8


@together("dtype", ["e4m3", "f16", "tf32", "f64"])
@together(("mode", "row_bytes"), [("32B", 32), ("64B", 64), ("128B", 128)])
def test_columns_of_16_bytes_are_conflict_free(dtype: str, mode: str, row_bytes: int) -> None:
    """8 rows x 16 bytes, in any format whose row pitch is the width of the swizzle."""
    bits = {"e4m3": 8, "f16": 16, "tf32": 32, "f64": 64}[dtype]
    columns, chunk = row_bytes * 8 // bits, 128 // bits
    swizzle = {"32B": 1, "64B": 2, "128B": 3}[mode]
    layout = ComposeLayout(SwizzleLayout(chunk.bit_length() - 1, swizzle, 3), TileLayout.row_major((8, columns)))
    addresses = layout.table((8, columns))["m"]
    for start in range(0, columns, chunk):
        assert conflict_degree(addresses[:, start : start + chunk], bits) == 1


def test_row_pitch_wider_than_the_swizzle_conflicts() -> None:
    """Why the pitch matters: a 128-byte pitch under the 64-byte swizzle leaves a 2-way conflict."""
    tile = TileLayout.row_major((8, 64))
    for mode, degree in (("32B", 4), ("64B", 2), ("128B", 1)):
        swizzle = {"32B": 1, "64B": 2, "128B": 3}[mode]
        column = ComposeLayout(SwizzleLayout(3, swizzle, 3), tile).table((8, 64))["m"][:, :8]
        assert conflict_degree(column, 16) == degree


def test_device_mesh() -> None:
    layout = TileLayout.parse("S[(2,2,2,2):(1@pid,2,2@pid,1)]")
    assert layout.apply((3, 2), (4, 4)) == {"pid": 3, "m": 2}
    assert layout.canonicalize() == layout
    assert TileLayout.parse("S[(4,8):(1@pid,1)] + R[2:4@pid]").owners(8) == [{"pid": 1, "m": 0}, {"pid": 5, "m": 0}]
