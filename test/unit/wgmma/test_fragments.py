"""Fragments of wgmma against the formulas of the PTX ISA, for every warp, lane and register."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together
from unit.wgmma.hardware import a_place_8, a_place_16, a_place_32, d_place, metadata_place

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.layout.ownership import held_elements
from tirx.sim.isa.sparse import Metadata
from tirx.wgmma.fragments import (
    SPARSE_METADATA,
    Warpgroups,
    accumulator_layout,
    metadata_layout,
    operand_a_layout,
)
from tirx.wgmma.kinds import KINDS, ROWS, find_kind
from tirx.wgmma.match import pick_warpgroups

A_PLACE: dict[int, Callable[[int, int], tuple[int, int]]] = {8: a_place_8, 16: a_place_16, 32: a_place_32}
SPARSE_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")


@pytest.mark.sample(8)
@pytest.mark.parametrize("n", range(8, 257, 8))
def test_accumulator(n: int):
    held = held_elements(accumulator_layout(ROWS, n), (ROWS, n), 128)
    assert held.shape == (128, n // 2)
    for thread in range(128):
        for i in range(n // 2):
            row, column = d_place(thread % 32, i)
            assert held[thread, i] == (16 * (thread // 32) + row) * n + column


def test_the_accumulator_as_it_is_written():
    assert accumulator_layout(64, 32).equivalent(
        TileLayout.parse("S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]")
    )
    assert accumulator_layout(128, 256, Warpgroups(2, 1, 4)).equivalent(
        TileLayout.parse("S[(2, 4, 2, 8, 32, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)] + 4@warpid")
    )


@together(("m", "n"), [(64, 32), (128, 16), (192, 48), (256, 64)])
@together(("along_m", "along_n"), [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (4, 1), (1, 4)])
@together("first_warp", [0, 4])
def test_accumulator_of_several_warpgroups(m: int, n: int, along_m: int, along_n: int, first_warp: int):
    grid = Warpgroups(along_m, along_n, first_warp)
    if m % (64 * along_m) or n % (8 * along_n):
        with pytest.raises(LegalityError, match="expected [MN] in steps of"):
            accumulator_layout(m, n, grid)
        return
    threads = 128 * grid.count + 32 * first_warp
    held = held_elements(accumulator_layout(m, n, grid), (m, n), threads)
    rows, columns = m // along_m, n // along_n
    assert held.shape[1] == rows * columns // 128
    assert (held[: 32 * first_warp] < 0).all()
    for group in range(grid.count):
        group_m, group_n = divmod(group, along_n)
        for thread in (0, 37, 64, 127):
            for register in range(held.shape[1]):
                block, i = divmod(register, columns // 2)
                row, column = d_place(thread % 32, i)
                row += 16 * (thread // 32) + 64 * block + rows * group_m
                assert held[32 * first_warp + 128 * group + thread, register] == row * n + column + columns * group_n


@together("types", KINDS)
@together("steps", [1, 3])
def test_operand_a(types: tuple[str, str], steps: int):
    kind = KINDS[types]
    if kind.bits == 1:
        layout = operand_a_layout(ROWS, kind.k * steps, "b1")
        assert layout.equivalent(operand_a_layout(ROWS, kind.k * steps, "b1", b="b1"))
        # 32 bits of a register are those of a 32-bit element.
        words = held_elements(layout, (ROWS, kind.k * steps), 128)[:, ::32]
        wide = held_elements(operand_a_layout(ROWS, 8 * steps, "tf32"), (ROWS, 8 * steps), 128)
        assert (words == wide * 32).all()
        return
    k = kind.k * steps
    held = held_elements(operand_a_layout(ROWS, k, kind.a, b=kind.b), (ROWS, k), 128)
    each = 4 * kind.elements_per_register
    assert held.shape == (128, each * steps)
    for thread in range(128):
        for register in range(each * steps):
            step, i = divmod(register, each)
            row, column = A_PLACE[kind.bits](thread % 32, i)
            assert held[thread, register] == (16 * (thread // 32) + row) * k + column + step * kind.k


def test_d_of_one_product_is_a_of_the_next():
    assert accumulator_layout(64, 64).equivalent(operand_a_layout(64, 64, "f16"))
    assert accumulator_layout(128, 64, Warpgroups(2)).equivalent(operand_a_layout(128, 64, "bf16", Warpgroups(2)))


def test_warpgroups_along_n_hold_copies_of_a():
    held = held_elements(operand_a_layout(128, 32, "f16", Warpgroups(2, 2)), (128, 32), 512).reshape(4, 128, -1)
    assert (held[0] == held[1]).all() and (held[2] == held[3]).all()
    assert (held[2] == held[0] + 64 * 32).all()


@together("dtype", SPARSE_TYPES)
@together("steps", [1, 2, 3, 4])
def test_metadata(dtype: str, steps: int):
    """Every code is where the formula has it, by the selector of its step, and where the simulator looks for it."""
    kind = find_kind(dtype, dtype)
    facts = SPARSE_METADATA[kind.bits]
    k = kind.instruction_k(sparse=True) * steps
    codes = facts.codes * steps
    held = held_elements(metadata_layout(ROWS, k, dtype), (ROWS, codes), 128)
    pairs = facts.selectors if steps % facts.selectors == 0 else 1
    assert held.shape == (128, 8 * (steps // pairs))
    seen = np.zeros(ROWS * codes, dtype=np.bool_)
    for step in range(steps):
        register, selector = divmod(step, pairs)
        for thread in range(128):
            for code in range(8):
                place = metadata_place(thread % 32, code, kind.bits, selector)
                if place is not None:
                    flat = (16 * (thread // 32) + place[0]) * codes + place[1] + step * facts.codes
                    assert held[thread, 8 * register + code] == flat
                    seen[flat] = True
    assert seen.all()
    # The simulator: words of random codes, read back.
    values = np.random.default_rng(steps).integers(0, 16, ROWS * codes).astype(np.uint32)
    for step in range(steps):
        register, selector = divmod(step, pairs)
        own = held[:, 8 * register : 8 * register + 8]
        words = (np.where(own < 0, 0, values[own]) << np.arange(8, dtype=np.uint32) * 4).sum(axis=1, dtype=np.uint32)
        theirs = Metadata(dtype, kind.instruction_k(sparse=True), selector).codes(words.reshape(4, 32))
        wanted = values.reshape(4, 16, codes)[:, :, step * facts.codes : (step + 1) * facts.codes]
        assert (theirs == wanted).all()


@together(
    ("make", "message"),
    [
        (lambda: accumulator_layout(96, 16), "expected M in steps of 64 for 1 .* found 96; nearest is 128"),
        (lambda: accumulator_layout(64, 12), "expected N in steps of 8 .* found 12; nearest is 16"),
        (lambda: operand_a_layout(64, 24, "f16"), "expected K in steps of 16 stored elements of f16, found 24"),
        (lambda: operand_a_layout(64, 16, "f16", b="bf16"), "expected element types"),
        (lambda: metadata_layout(64, 16, "f16"), "sparse f16: expected K in steps of 32 elements, found 16"),
        (lambda: metadata_layout(64, 512, "b1"), "expected a type that can be sparse, found b1"),
        (lambda: Warpgroups(0), "expected 1 or more warpgroups"),
        (lambda: Warpgroups(1, 1, 2), "expected a first warp that is a multiple of 4, found 2"),
    ],
)
def test_sizes_that_do_not_exist(make: Callable[[], object], message: str):
    with pytest.raises(LegalityError, match=message):
        make()


def test_grids():
    assert pick_warpgroups(128, 256, 2) == Warpgroups(2, 1)
    assert pick_warpgroups(64, 256, 2, first_warp=4) == Warpgroups(1, 2, 4)
    assert pick_warpgroups(192, 192, 3) == Warpgroups(3, 1)
    assert pick_warpgroups(128, 256, 4) == Warpgroups(2, 2)
    assert pick_warpgroups(384, 64, 4) == Warpgroups(2, 2)
    with pytest.raises(LegalityError, match="expected M in steps of 64, found 96; nearest is 128"):
        pick_warpgroups(96, 64, 1)
    with pytest.raises(LegalityError, match="for each of 3 warpgroups, found D of 64x64"):
        pick_warpgroups(64, 64, 3)
