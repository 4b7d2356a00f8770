"""Tensor memory: where D lies, and what tcgen05.ld of it gives, simulated instruction by instruction with numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tirx.layout import Iter, TileLayout
from tirx.tcgen05 import (
    LD_SHAPES,
    LegalityError,
    TmemAccess,
    accumulator_layout,
    allocation_columns,
    data_path,
    pick_ld_shape,
    plan_tmem_access,
    register_image,
    tmem_columns,
)
from tirx.tcgen05.tmem_access import tile_cells, written_cells

# letter -> (m, cta_group, ws, sparse) and the ISA's figure: (i, j, N) -> (CTA, lane, column)
FIGURES: dict[str, tuple[tuple[int, int, bool, bool], Callable[[int, int, int], tuple[int, int, int]]]] = {
    "A": ((256, 2, False, False), lambda i, j, n: (i // 128, i % 128, j)),
    "B": ((128, 2, False, False), lambda i, j, n: (i // 64, i % 64 + 64 * (j // (n // 2)), j % (n // 2))),
    "C": ((128, 2, False, True), lambda i, j, n: (i // 64, 32 * (i % 64 // 16) + i % 16, j)),
    "D": ((128, 1, False, False), lambda i, j, n: (0, i, j)),
    "E": ((64, 1, True, False), lambda i, j, n: (0, i + 64 * (j // (n // 2)), j % (n // 2))),
    "F": ((64, 1, False, False), lambda i, j, n: (0, 32 * (i // 16) + i % 16, j)),
    "G": ((32, 1, True, False), lambda i, j, n: (0, i + 32 * (j // (n // 4)), j % (n // 4))),
}


@pytest.mark.parametrize("letter", FIGURES)
def test_data_paths(letter: str):
    (m, cta_group, ws, sparse), figure = FIGURES[letter]
    n = 64
    assert data_path(m, cta_group, ws, sparse).letter == letter
    layout = accumulator_layout(m, n, cta_group, ws, sparse)
    table = layout.table((m, n))
    for i in range(m):
        for j in range(n):
            cta, lane, column = figure(i, j, n)
            assert (table["TLane"][i, j], table["TCol"][i, j]) == (lane, column)
            assert ("cbx" not in table and cta == 0) or table["cbx"][i, j] == cta
    assert layout.is_injective()
    assert tmem_columns(layout) == n // data_path(m, cta_group, ws, sparse).column_groups


def test_notation_of_the_accumulators():
    assert str(accumulator_layout(128, 256)) == "S[(128, 256) : (1@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 32)) == "S[(4, 16, 32) : (32@TLane, 1@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 64, ws=True)) == "S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]"
    assert str(accumulator_layout(32, 64, ws=True)) == "S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 32, base_lane=16)).endswith("+ 16@TLane")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((96, 64), "no data path for M = 96, cta_group 1: expected M = 64, 128"),
        ((64, 64, 2), "no data path for M = 64, cta_group 2: expected M = 128, 256"),
        ((128, 64, 2, True), "cta_group 2, .ws: expected cta_group 1, or cta_group 2 without .ws"),
        ((32, 66, 1, True), "data path G: expected N in steps of 4, up to 512 columns, got 66"),
        ((128, 513), "data path D: expected N in steps of 1, up to 512 columns, got 513"),
    ],
)
def test_accumulators_that_do_not_exist(arguments: tuple[int, int, int, bool], message: str):
    with pytest.raises(LegalityError, match=message):
        accumulator_layout(*arguments)


def test_base_lane_only_where_half_the_lanes_are_idle():
    with pytest.raises(LegalityError, match="data path D: expected base lane 0, got 16"):
        accumulator_layout(128, 64, base_lane=16)
    with pytest.raises(LegalityError, match="data path F: expected base lane 0 or 16, got 8"):
        accumulator_layout(64, 64, base_lane=8)


def test_allocation_columns():
    assert [allocation_columns(n) for n in (1, 32, 33, 224, 512)] == [32, 32, 64, 256, 512]
    for columns in (0, 513):
        with pytest.raises(LegalityError, match="expected 1 to 512 tensor-memory columns"):
            allocation_columns(columns)
    with pytest.raises(LegalityError, match="with axis TCol"):
        tmem_columns(TileLayout.row_major((4, 4)))
    with pytest.raises(LegalityError, match="at most 512 tensor-memory columns, got 600"):
        tmem_columns(TileLayout((Iter(600, 1, "TCol"),)))


# The fragments of the ISA: (thread, register, split) -> (lane, column), relative to the address
FRAGMENTS: dict[str, tuple[int, int, Callable[[int, int, int], tuple[int, int]]]] = {
    "32x32b": (1, 128, lambda t, r, s: (t, r)),
    "16x64b": (1, 128, lambda t, r, s: ((t >> 2) + 8 * (t & 1), ((t >> 1) & 1) + 2 * r)),
    "16x128b": (2, 64, lambda t, r, s: ((t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1))),
    "16x256b": (4, 32, lambda t, r, s: ((t >> 2) + 8 * ((r >> 1) & 1), (r & 1) + 2 * (t & 3) + 8 * (r >> 2))),
    "16x32bx2": (1, 128, lambda t, r, s: (t % 16, r + t // 16 * s)),
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_register_maps(name: str):
    per, max_num, fragment = FRAGMENTS[name]
    shape = next(shape for shape in LD_SHAPES.values() if shape.name == name)
    assert (shape.registers_per_repeat, shape.max_num) == (per, max_num)
    for num in (1, 4, max_num):
        split = 2 * num
        table = shape.register_map(num, split).table((32, num * per))
        for t in range(32):
            for r in range(num * per):
                lane, column = fragment(t, r, split)
                assert (table["TLane"][t, r], table["TCol"][t, r]) == (lane, column)
    for num in (0, 3, 2 * max_num):
        with pytest.raises(LegalityError, match=f"expected NUM a power of two up to {max_num}, got {num}"):
            shape.register_map(num)


def run_loads(memory: np.ndarray, accesses: tuple[TmemAccess, ...], registers: int, column: int = 0) -> np.ndarray:
    """Executes tcgen05.ld by the ISA's fragments: registers[warp, thread, register]."""
    result = np.full((4, 32, registers), -1, dtype=np.int64)
    for access in accesses:
        per, max_num, fragment = FRAGMENTS[access.shape]
        assert access.num & (access.num - 1) == 0 and access.num <= max_num
        assert access.registers == per * access.num <= 128
        assert (access.split is not None) == (access.shape == "16x32bx2")
        for warp in range(4):
            for thread in range(32):
                for r in range(access.registers):
                    lane, delta = fragment(thread, r, access.split or 0)
                    place = 32 * warp + access.lane + lane, access.column + column + delta
                    result[warp, thread, access.first_register + r] = memory[place]
    return result


CASES = [
    (128, 64, False, 0, "32x32b"),
    (128, 64, False, 0, "16x64b"),
    (128, 64, False, 0, "16x128b"),
    (128, 64, False, 0, "16x256b"),
    (128, 48, False, 0, "16x32bx2"),
    (128, 24, False, 0, None),
    (64, 128, True, 0, None),
    (64, 64, True, 0, "16x256b"),
    (32, 64, True, 0, None),
    (64, 96, False, 0, None),
    (64, 96, False, 16, None),
    (64, 32, False, 0, "32x32b"),
    (64, 32, False, 16, "32x32b"),
    (64, 32, False, 16, "16x64b"),
    (64, 32, False, 16, "16x128b"),
    (64, 32, False, 0, "16x256b"),
]


@pytest.mark.parametrize(("m", "n", "ws", "base_lane", "ld_shape"), CASES)
@pytest.mark.parametrize("max_registers", [128, 16])
def test_loading_an_accumulator(m: int, n: int, ws: bool, base_lane: int, ld_shape: str | None, max_registers: int):
    layout = accumulator_layout(m, n, ws=ws, base_lane=base_lane)
    layout = layout.with_offset(TCol=40)
    plan = plan_tmem_access(layout, (m, n), ld_shape, max_registers=max_registers, warp_axis="wid_in_wg")
    assert all(access.registers <= max_registers for access in plan.accesses)
    assert sum(access.registers for access in plan.accesses) == plan.registers
    place = layout.table((m, n))
    values = np.arange(m * n).reshape(m, n)
    memory = np.full((128, 512), -2, dtype=np.int64)
    memory[place["TLane"], place["TCol"]] = values
    registers = run_loads(memory, plan.accesses, plan.registers)
    image = plan.image.table((m, n))
    assert set(image) <= {"wid_in_wg", "laneid", "m"}
    zero = np.zeros((m, n), dtype=np.int64)
    found = registers[image.get("wid_in_wg", zero), image["laneid"], image["m"]]
    assert (found == values).all()
    assert plan.image.is_injective()


def test_32_lanes_only_rename_the_axes():
    assert str(register_image(accumulator_layout(128, 64), (128, 64), "32x32b")) == (
        "S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]"
    )
    image = register_image(accumulator_layout(128, 64), (128, 64), "32x32b", "wid_in_wg")
    assert image.axes == ("wid_in_wg", "laneid", "m")


def test_m_64_without_ws_uses_all_threads():
    layout = accumulator_layout(64, 96)
    assert pick_ld_shape(layout) == "16x32bx2"
    plan = plan_tmem_access(layout, (64, 96))
    assert [(access.num, access.column, access.split) for access in plan.accesses] == [(32, 0, 48), (16, 32, 48)]
    assert str(plan.image) == "S[(4, 16, 2, 48) : (1@warpid, 1@laneid, 16@laneid, 1)]"
    assert pick_ld_shape(TileLayout.parse("S[(64, 1) : (1@TLane, 1@TCol)]")) == "32x32b"


def test_a_pair_of_ctas_keeps_its_axis():
    image = register_image(accumulator_layout(256, 64, 2), (256, 64), "32x32b")
    assert str(image) == "S[(2, 4, 32, 64) : (1@cbx, 1@warpid, 1@laneid, 1)]"


def test_replicated_lanes_are_loaded_by_every_warp():
    layout = TileLayout.parse("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    image = register_image(layout, (32, 4), "32x32b")
    assert image == TileLayout.parse("S[(32, 4) : (1@laneid, 1)] + R[4 : 1@warpid]")


@pytest.mark.parametrize(
    ("layout", "ld_shape", "message"),
    [
        ("S[(128, 6) : (1@TLane, 1@TCol)]", "16x128b", "expected columns in steps of 4, got 6"),
        ("S[(128, 3) : (1@TLane, 1@TCol)]", "16x32bx2", "expected columns in steps of 2, got 3"),
        ("S[(128, 4) : (1@TLane, 1@TCol)]", "8x8b", r"expected a tcgen05.ld shape \(32x32b, .*got '8x8b'"),
        (
            "S[(43, 4) : (3@TLane, 1@TCol)]",
            "32x32b",
            "expected lanes and columns that split at 1, 32@TLane, got 43 : 3",
        ),
        ("S[(129, 4) : (1@TLane, 1@TCol)]", "32x32b", "expected lanes 0 to 127, got 0 to 128"),
        ("S[(2, 16, 4) : (24@TLane, 1@TLane, 1@TCol)]", "32x32b", "split at 1, 32@TLane, got 2 : 24@TLane"),
        ("S[(2, 32, 4) : (4@TLane, 1@TLane, 1@TCol)]", "32x32b", r"element \(.*\) is at lane 32, column 0"),
    ],
)
def test_tiles_without_a_register_image(layout: str, ld_shape: str, message: str):
    tile = TileLayout.parse(layout)
    with pytest.raises(LegalityError, match=message):
        register_image(tile, tile.extents, ld_shape)


def test_room_for_one_repeat():
    with pytest.raises(LegalityError, match="expected room for 4 registers, got 2"):
        plan_tmem_access(accumulator_layout(128, 64), (128, 64), "16x256b", max_registers=2)


@pytest.mark.parametrize(
    ("layout", "shape", "ld_shape", "lanes", "columns"),
    [
        ("S[(128, 16) : (1@TLane, 1@TCol)] + 4@TCol", (128, 16), "32x32b", range(32), range(4, 20)),
        ("S[(32, 16) : (1@TLane, 1@TCol)] + 32@TLane", (32, 16), "32x32b", range(32), range(16)),
        ("S[(4, 16, 8) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane", (64, 8), "16x32bx2", range(16, 32), range(8)),
        ("S[128 : 1@TLane] + 7@TCol", (128, 1), "32x32b", range(32), range(7, 8)),
    ],
)
def test_every_warp_writes_all_lanes_of_the_shape(
    layout: str, shape: tuple[int, ...], ld_shape: str, lanes: range, columns: range
):
    written = written_cells(TileLayout.parse(layout), shape, ld_shape)
    for warp in range(4):
        lane, column = np.nonzero(written[warp])
        assert set(zip(lane.tolist(), column.tolist(), strict=True)) == {(i, j) for i in lanes for j in columns}


def test_cells_of_a_tile():
    cells = tile_cells(TileLayout.parse("S[(32, 2) : (1@TLane, 1@TCol)] + R[2 : 64@TLane] + 5@TCol"))
    assert cells.sum(axis=(1, 2)).tolist() == [64, 0, 64, 0]
    assert np.flatnonzero(cells.any(axis=(0, 1))).tolist() == [5, 6]
