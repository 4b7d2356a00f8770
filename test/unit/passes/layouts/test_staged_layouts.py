"""Layouts of staged tiles: each is one that the tensor memory accelerator fills, and the best has no conflicts."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects.builtin import f16

from tirx.copy.cost import CopyEnd, fragment_cost, least_fragment_cost
from tirx.copy.tma import plan_boxes
from tirx.dialects.tirx import AllocOp, MemorySpace, TileType
from tirx.layout import TileLayout, element_type
from tirx.mma.fragments import VARIANTS
from tirx.mma.pick import ROW_ORDERS, pick_fragments
from tirx.passes.layouts.staged_layouts import contiguous_dimension, staged_tiles


@together(
    ("dims", "dtype", "swizzles"),
    [
        ((128, 16), "f64", ["none", "128B", "64B", "32B"]),
        ((64, 32), "f16", ["none", "64B", "32B"]),
        ((256, 128), "f16", ["none", "128B", "64B", "32B"]),
        ((128, 64), "s8", ["none", "64B", "32B"]),
        ((64, 24), "f16", ["none"]),
    ],
)
def test_staged_tiles_are_filled_by_boxes(dims: tuple[int, int], dtype: str, swizzles: list[str]) -> None:
    tiles = staged_tiles(dims, element_type(dtype).storage_bits, ("K",))
    assert sorted(swizzles) == sorted(tile.swizzle for tile in tiles)
    assert tiles[0].swizzle == "none"
    for tile in tiles:
        places = tile.layout.axis_table("m", dims).reshape(-1)
        assert np.array_equal(np.sort(places), np.arange(dims[0] * dims[1])), "each element has a place, and no gap"
        assert len(plan_boxes(tile.layout, dims, dtype, 1).boxes) == max(1, tile.blocks)


@together(
    ("dims", "layout", "dimension"),
    [
        ((8, 16), "S[(8, 16) : (16, 1)]", 1),
        ((8, 16), "S[(8, 16) : (1, 8)]", 0),
        ((16, 1), "S[(16, 1) : (1, 1)]", 0),
        ((1, 16), "S[(1, 16) : (1, 1)]", 1),
        ((1, 1), "S[(1, 1) : (1, 1)]", None),
        ((8, 16), "S[(8, 16) : (32, 2)]", None),
        ((8, 16), "S[(8, 16) : (16, 1)] + 5", 1),
        ((8, 16), "S[(8, 4, 4) : (4, 32, 1)]", 1),
    ],
)
def test_the_dimension_of_neighbours(dims: tuple[int, ...], layout: str, dimension: int | None) -> None:
    type_ = TileType.get(dims, f16, MemorySpace.SHARED).with_layout(TileLayout.parse(layout))
    assert contiguous_dimension(AllocOp(type_).result) == dimension


def test_columns_are_filled_by_boxes() -> None:
    for tile in staged_tiles((128, 32), 16, ("MN",)):
        boxes = plan_boxes(tile.layout, (128, 32), "f16", 0).boxes
        assert tile.swizzle == "none" or len(boxes) == tile.blocks


@pytest.mark.parametrize("variant", ["m8n8k4.row.col.f64", "m16n8k8.row.col.f64"])
def test_rows_of_f64_have_an_order_without_conflicts(variant: str) -> None:
    """In rows of 128 bytes with the swizzle of 128 bytes; the plain order takes twice the wavefronts."""
    staged = {
        k: next(tile.layout for tile in staged_tiles((64, k), 64, ("K",)) if tile.swizzle == "128B") for k in (16, 64)
    }

    def wavefronts(register: TileLayout, columns: int) -> int:
        end = CopyEnd(staged[columns], "shared")
        return fragment_cost(register, end, (64, columns), 64, 128, matrices=True).wavefronts

    for order, factor in ((ROW_ORDERS[0], 2), (ROW_ORDERS[1], 1)):
        row = VARIANTS[variant]
        fragments = pick_fragments(64, 64, 16, "f64", "f64", 4, variants=[row], row_orders=(order, order))
        least = least_fragment_cost(fragments.a, 64, 128).wavefronts
        assert least == 64 * 16 * 8 * 2 // 128, "two warps read each row"
        assert [wavefronts(layout, 16) for layout in (fragments.a, fragments.b)] == [factor * least] * 2
    assert wavefronts(fragments.c, 64) == 64 * 64 * 8 // 128, "and stores of sums have no conflicts"


@together(
    ("threads", "tile", "warp_tile"),
    [
        (128, (128, 128), (64, 64)),
        (256, (128, 256), (64, 64)),
        (256, (256, 128), (64, 64)),
        (512, (256, 256), (64, 64)),
    ],
)
def test_warps_share_a_tile_in_squares(threads: int, tile: tuple[int, int], warp_tile: tuple[int, int]) -> None:
    """Squares read the fewest bytes of shared memory for a product."""
    variant = VARIANTS["m16n8k16.row.col.f32.f16"]
    fragments = pick_fragments(*tile, 16, "f16", "f32", threads // 32, variants=[variant])
    elements = tuple(layout.span("m") * 32 // 16 for layout in (fragments.a, fragments.b))
    assert elements == warp_tile
