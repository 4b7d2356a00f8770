"""Tensor memory: where D and A lie, against the figures of the PTX ISA."""

from collections.abc import Callable
from typing import Any

import pytest
from unit.cases import together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import Iter, TileLayout
from tirx.tcgen05.tmem import (
    DATA_PATHS,
    DataPathLetter,
    accumulator_layout,
    allocation_columns,
    data_path,
    operand_a_layout,
    tmem_columns,
)

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


@together("letter", FIGURES)
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


@together("letter", FIGURES)
@together(("dtype", "step"), [("f32", 1), ("s32", 1), ("f16", 2)])
def test_data_paths_by_letter(letter: DataPathLetter, dtype: str, step: int):
    """By the rows of one CTA, or of both; 16-bit elements in the low half of every column."""
    (m, cta_group, ws, sparse), figure = FIGURES[letter]
    n = 32
    path = DATA_PATHS[letter]
    assert path.layout(n, dtype=dtype) == accumulator_layout(m, n, cta_group, ws, sparse, dtype=dtype)
    rows = m // cta_group
    for sub_slab in (0, 1) if letter in "CF" else (0,):
        layout = path.layout(n, base_lane=16 * sub_slab, dtype=dtype, rows=path.cta_rows)
        assert "cbx" not in layout.axes
        table = layout.table((rows, n))
        for i in range(rows):
            for j in range(n):
                _, lane, column = figure(i, j, n)
                assert (table["TLane"][i, j], table["TCol"][i, j]) == (lane + 16 * sub_slab, step * column)
        assert tmem_columns(layout, 32 // step) == n // data_path(m, cta_group, ws, sparse).column_groups


@pytest.mark.parametrize(
    ("letter", "n", "options", "message"),
    [
        ("E", 33, {}, "data path E: expected N in steps of 2, up to 512 columns, found 33"),
        ("D", 64, {"base_lane": 16}, "data path D: expected base lane 0, found 16"),
        ("D", 64, {"dtype": "bf16"}, "expected an accumulator of f16, f32, s32, found bf16"),
    ],
)
def test_data_paths_that_do_not_exist(letter: DataPathLetter, n: int, options: dict[str, Any], message: str):
    with pytest.raises(LegalityError, match=message):
        DATA_PATHS[letter].layout(n, **options)


@together("letter", FIGURES)
@together(("dtype", "k"), [("f16", 32), ("tf32", 8), ("e4m3", 64), ("s8", 32), ("e2m1", 64)])
def test_operand_a(letter: str, dtype: str, k: int):
    """A's rows are D's rows, in every group of lanes that holds some columns of D; K is packed into columns."""
    (m, cta_group, ws, sparse), figure = FIGURES[letter]
    layout = operand_a_layout(m, k, dtype, cta_group, ws, sparse)
    n = 64
    for i in range(0, m, 3):
        lanes = {figure(i, j, n)[:2] for j in range(n)}
        for kk in (0, 1, k // 2, k - 1):
            places = {(o.get("cbx", 0), o["TLane"]) for o in layout.owners((i, kk), (m, k))}
            assert places == lanes
            assert {o["TCol"] for o in layout.owners((i, kk), (m, k))} == {kk}
    bits = find_dtype(dtype).storage_bits
    assert tmem_columns(layout, bits) == k * bits // 32
    assert layout.is_injective()
    layout.check_bounds(bits)


def test_notation_of_operand_a():
    assert str(operand_a_layout(128, 64, "f16")) == "S[(128, 64) : (1@TLane, 1@TCol)]"
    assert (
        str(operand_a_layout(64, 64, "f16", base_lane=16)) == "S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane"
    )
    assert str(operand_a_layout(64, 64, "f16", ws=True)) == "S[(64, 64) : (1@TLane, 1@TCol)] + R[2 : 64@TLane]"
    assert str(operand_a_layout(32, 64, "f16", ws=True)) == "S[(32, 64) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]"
    assert str(operand_a_layout(128, 64, "f16", 2)) == ("S[(2, 64, 64) : (1@cbx, 1@TLane, 1@TCol)] + R[2 : 64@TLane]")


@together(
    ("arguments", "options", "message"),
    [
        (
            (128, 33, "f16"),
            {},
            r"steps of 2 elements of f16 \(one column\), up to 512 columns, found 33; nearest is 32",
        ),
        ((128, 4096, "f16"), {}, "up to 512 columns, found 4096; nearest is 1024"),
        ((128, 4, "e2m1"), {}, "steps of 8 elements of e2m1"),
        ((128, 6, "e2m1"), {"container_bits": 8}, "steps of 4 elements of e2m1"),
        ((128, 64, "f32"), {}, "expected A of f16, bf16, tf32, .*, found f32"),
        ((96, 64, "f16"), {}, "no data path for M = 96"),
        ((128, 64, "f16"), {"base_lane": 16}, "data path D: expected base lane 0, found 16"),
    ],
)
def test_operands_a_that_do_not_exist(arguments: tuple[int, int, str], options: dict[str, int], message: str):
    with pytest.raises(LegalityError, match=message):
        operand_a_layout(*arguments, **options)  # type: ignore[arg-type]


def test_notation_of_the_accumulators():
    assert str(accumulator_layout(128, 256)) == "S[(128, 256) : (1@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 32)) == "S[(4, 16, 32) : (32@TLane, 1@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 64, ws=True)) == "S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]"
    assert str(accumulator_layout(32, 64, ws=True)) == "S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]"
    assert str(accumulator_layout(64, 32, base_lane=16)).endswith("+ 16@TLane")


@together(
    ("arguments", "message"),
    [
        ((96, 64), "no data path for M = 96, cta_group 1: expected M = 64, 128"),
        ((64, 64, 2), "no data path for M = 64, cta_group 2: expected M = 128, 256"),
        ((128, 64, 2, True), "cta_group 2, .ws: expected cta_group 1, or cta_group 2 without .ws"),
        ((32, 66, 1, True), "data path G: expected N in steps of 4, up to 512 columns, found 66"),
        ((128, 513), "data path D: expected N in steps of 1, up to 512 columns, found 513"),
    ],
)
def test_accumulators_that_do_not_exist(arguments: tuple[int, int, int, bool], message: str):
    with pytest.raises(LegalityError, match=message):
        accumulator_layout(*arguments)


def test_base_lane_only_where_half_the_lanes_are_idle():
    with pytest.raises(LegalityError, match="data path D: expected base lane 0, found 16"):
        accumulator_layout(128, 64, base_lane=16)
    with pytest.raises(LegalityError, match="data path F: expected base lane 0 or 16, found 8"):
        accumulator_layout(64, 64, base_lane=8)


def test_allocation_columns():
    assert [allocation_columns(n) for n in (1, 32, 33, 224, 512)] == [32, 32, 64, 256, 512]
    for columns in (0, 513):
        with pytest.raises(LegalityError, match="expected 1 to 512 tensor-memory columns"):
            allocation_columns(columns)
    with pytest.raises(LegalityError, match="with axis TCol"):
        tmem_columns(TileLayout.row_major((4, 4)))
    with pytest.raises(LegalityError, match="at most 512 tensor-memory columns, found 600"):
        tmem_columns(TileLayout((Iter(600, 1, "TCol"),)))
