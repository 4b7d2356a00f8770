"""Matrix accesses: what `ldmatrix` puts into registers is what the register layout says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together

from tirx.copy.access import THREAD_VARIABLE
from tirx.copy.matrix import MatrixPlan, _cut, plan_matrices  # pyright: ignore[reportPrivateUsage]
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.layout.ownership import held_elements
from tirx.mma.fragments import VARIANTS
from tirx.mma.pick import pick_fragments

Memory = TileLayout | ComposeLayout


def _rows(shape: tuple[int, int], major: str = "K") -> TileLayout:
    m, k = shape
    return TileLayout.parse(f"S[({m}, {k}) : ({k}, 1)]" if major == "K" else f"S[({m}, {k}) : (1, {m})]")


def _loaded(plan: MatrixPlan, memory: Memory, bits: int, threads: int) -> NDArray[np.int64]:
    """The flat index of the element in every place of every thread, as PTX ISA, "ldmatrix", defines it."""
    flat = np.argsort(memory.axis_table("m", (memory.size(),)))  # of a compact memory, by address
    packed, lanes = 32 // bits, np.arange(32)
    found: list[NDArray[np.int64]] = []
    for row in plan.rows:
        starts = row.base.evaluate({THREAD_VARIABLE: np.arange(threads)}) + row.const
        starts = np.broadcast_to(starts, (threads,)).reshape(-1, 4, 8)
        for matrix in range(plan.count):
            for e in range(packed):
                if plan.transposed:
                    at = starts[:, matrix, 2 * (lanes % 4) + e] + lanes // 4
                else:
                    at = starts[:, matrix, lanes // 4] + lanes % 4 * packed + e
                found.append(flat[at].reshape(threads))
    return np.stack(found, axis=1)


@pytest.mark.parametrize(
    ("variant", "bits", "shape", "major"),
    [
        ("m16n8k16.row.col.f32.f16", 16, (64, 64, 64), "K"),
        ("m16n8k16.row.col.f32.f16", 16, (64, 64, 64), "MN"),
        ("m16n8k16.row.col.f32.bf16", 16, (32, 16, 16), "K"),
        ("m16n8k8.row.col.f32.tf32", 32, (32, 32, 32), "K"),
        ("m16n8k32.row.col.s32.s8", 8, (32, 32, 128), "K"),
    ],
)
@pytest.mark.parametrize("warps", [1, 4])
def test_fragments_of_all_types_are_matrices(
    variant: str, bits: int, shape: tuple[int, int, int], major: str, warps: int
) -> None:
    row = VARIANTS[variant]
    m, n, k = shape
    fragments = pick_fragments(m, n, k, row.operand_type, row.accumulator_type, warps, variants=[row])
    for layout, extent in ((fragments.a, m), (fragments.b, n)):
        for swizzle in (0, 2):
            memory: Memory = _rows((extent, k), major)
            if swizzle:
                memory = ComposeLayout(SwizzleLayout((128 // bits).bit_length() - 1, swizzle, 3), memory)
            plan = plan_matrices(layout, memory, (extent, k), bits, 32 * warps)
            assert plan is not None
            assert plan.transposed == (major == "MN")
            held = held_elements(layout, (extent, k), 32 * warps)
            assert (_loaded(plan, memory, bits, 32 * warps) == held).all()


def test_registers_decide_how_many_matrices_an_instruction_moves() -> None:
    for tiles, count in ((1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (8, 4)):
        register = TileLayout.parse(f"S[({tiles}, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]")
        plan = plan_matrices(register, _rows((8 * tiles, 8)), (8 * tiles, 8), 16, 32)
        assert plan is not None
        assert (plan.count, len(plan.rows)) == (count, tiles // count)


@together(
    ("register", "memory", "shape", "bits"),
    [
        # Rows of less than 16 bytes, and rows that do not start at a multiple of 16 bytes.
        ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]", "S[(8, 2, 4) : (4, 32, 1)]", (8, 8), 16),
        ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]", "S[(8, 8) : (12, 1)]", (8, 8), 16),
        # Vectors of a thread, and elements of 8 bytes.
        ("S[(32, 8) : (1@laneid, 1)]", "S[(32, 8) : (8, 1)]", (32, 8), 16),
        ("S[(8, 4) : (4@laneid, 1@laneid)]", "S[(8, 4) : (4, 1)]", (8, 4), 64),
        # Columns of bytes: .trans has elements of 16 bits.
        ("S[(8, 4, 4) : (4@laneid, 1@laneid, 1)]", "S[(8, 16) : (1, 8)]", (8, 16), 8),
        # Lanes that no iter of a power of two covers.
        ("S[(3, 8) : (4@laneid, 1)]", "S[(3, 8) : (8, 1)]", (3, 8), 16),
    ],
)
def test_other_accesses_have_no_matrices(register: str, memory: str, shape: tuple[int, ...], bits: int) -> None:
    assert plan_matrices(TileLayout.parse(register), TileLayout.parse(memory), shape, bits, 32) is None


def test_registers_that_are_no_rows_of_matrices():
    registers = TileLayout.parse("S[(8, 8, 4, 8, 2) : (2, 2, 2, 3, 1@laneid)]")  # 3 does not divide a row
    assert plan_matrices(registers, TileLayout.row_major((4096,)), (4096,), 16, 32) is None


def test_whole_warps_and_all_elements() -> None:
    register = TileLayout.parse("S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]")
    square, rows = TileLayout.row_major((16, 16)), TileLayout.row_major((16, 32))
    found = {n: plan_matrices(register, square, (16, 16), 16, n) is not None for n in (32, 48, 64)}
    assert found == {32: True, 48: False, 64: True}
    assert plan_matrices(register, rows, (16, 16), 16, 32) is None


@together(
    ("iters", "bounds", "expected"),
    [
        ("8 : 2", (4, 8), "[2 : 8, 2 : 4, 2 : 2]"),
        ("2 : 8", (4,), "[2 : 8]"),
        ("4 : 1", (4,), "[4 : 1]"),
        ("4 : 0", (4,), "[4 : 0]"),
        ("8 : 3", (4,), "expected an iter that can be cut at 4, found 8 : 3"),
        ("6 : 2", (8,), "expected an iter that can be cut at 8, found 6 : 2"),
    ],
)
def test_cuts(iters: str, bounds: tuple[int, ...], expected: str) -> None:
    extent, stride = map(int, iters.split(" : "))
    try:
        found = str([f"{it.extent} : {it.stride}" for it in _cut((Iter(extent, stride, "m"),), bounds)])
    except LayoutError as error:
        found = str(error)
    assert found.replace("'", "") == expected
