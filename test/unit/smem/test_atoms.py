"""Canonical atoms: against swizzled rows by hand, and against the recogniser, for every type, mode and major-ness."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleMode, TileLayout
from tirx.smem.atoms import atom_shape, smem_layout
from tirx.smem.canonical import canonical_layout
from tirx.smem.pick import pick_operand_layout
from tirx.smem.swizzle_modes import MAJORS, OPERAND_DTYPES, SWIZZLE_MODES, Major, legal_modes

ALL: list[tuple[str, SwizzleMode, Major, int]] = [
    (dtype, mode, major, container)
    for dtype in OPERAND_DTYPES
    for major in MAJORS
    for mode in legal_modes(find_dtype(dtype), major)
    for container in ((4, 8) if dtype == "e2m1" else (find_dtype(dtype).storage_bits,))
]

# PTX ISA, "Shared memory swizzling": bits of the byte address that are changed <- bits that change them
XOR = {"none": (0, 0), "32B": (0x10, 3), "64B": (0x30, 3), "128B": (0x70, 3), "128B_base32B": (0x60, 2)}
ROW_BYTES = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_base32B": 128}


def bit_address(mode: str, row: int, bit: int) -> int:
    """Where bit `bit` of row `row` of an atom lies: rows behind each other, then the XOR on the byte address."""
    mask, shift = XOR[mode]
    byte, rest = divmod(row * ROW_BYTES[mode] * 8 + bit, 8)
    return (byte ^ (byte >> shift & mask)) * 8 + rest


@together(("dtype", "mode", "major", "container"), ALL)
def test_atoms(dtype: str, mode: SwizzleMode, major: Major, container: int):
    """8 rows (4 with 32-byte atomicity) of the row bytes of the mode, permuted within themselves."""
    rows = 4 if mode == "128B_base32B" else 8
    row = ROW_BYTES[mode] * 8 // container
    shape = atom_shape(dtype, mode, major, container_bits=container)
    assert shape == ((rows, row) if major == "K" else (row, rows))
    atom = smem_layout(dtype, mode, major, shape, container_bits=container)
    assert isinstance(atom, TileLayout if mode == "none" else ComposeLayout)
    table = atom.table(shape)["m"]
    along_rows = table if major == "K" else table.T
    for r in range(rows):
        for c in range(row):
            assert along_rows[r, c] * container == bit_address(mode, r, c * container)
    assert sorted(table.reshape(-1).tolist()) == list(range(rows * row))


@together(("dtype", "mode", "major", "container"), ALL)
@together(("repeat_mn", "repeat_k"), [(1, 1), (4, 1), (2, 2), (3, 2), (1, 3)])
def test_tiled_atoms_are_recognised(
    dtype: str, mode: SwizzleMode, major: Major, container: int, repeat_mn: int, repeat_k: int
):
    """`canonical_layout` reads each instruction's part with the mode and the major-ness asked for."""
    atom = atom_shape(dtype, mode, major, container_bits=container)
    mn, k = atom[0] * repeat_mn, atom[1] * repeat_k
    k_instr = 256 // container  # 32 bytes along K
    layout = smem_layout(dtype, mode, major, (mn, k), container_bits=container)
    table = layout.table((mn, k))["m"]
    assert len(np.unique(table)) == table.size
    assert table.min() == 0 and table.max() == table.size - 1
    if k % k_instr:
        return
    part = layout.slice((mn, k), ((0, mn), (0, k_instr)))
    found = canonical_layout(part, (mn, k_instr), dtype, container_bits=container)
    assert (found.major, found.swizzle) == (major, mode)
    chunk = atom[0] * atom[1] * container // 8
    if repeat_mn > 1:
        swaps = major == "MN" and mode != "none"
        over_mn = found.lbo if swaps else found.sbo
        assert over_mn == (chunk if major == "K" else k // atom[1] * chunk)


@together(("dtype", "mode", "major", "container"), ALL)
def test_an_operand_is_its_atom_tiled_over_rows_first(dtype: str, mode: SwizzleMode, major: Major, container: int):
    shape = atom_shape(dtype, mode, major, container_bits=container)
    atom = smem_layout(dtype, mode, major, shape, container_bits=container)
    outer = TileLayout.parse("S[(3, 2) : (1, 3)]" if major == "K" else "S[(3, 2) : (2, 1)]")
    tiled = atom.tile_by(outer, (3, 2), shape) if isinstance(atom, ComposeLayout) else atom.tile(outer, (3, 2), shape)
    whole = smem_layout(dtype, mode, major, (3 * shape[0], 2 * shape[1]), container_bits=container)
    assert whole.equivalent(tiled)  # type: ignore[arg-type]


def test_notation():
    assert str(smem_layout("f16", "128B", "K", (8, 64))) == "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])"
    assert str(smem_layout("f16", "128B", "MN", (64, 8))) == "ComposeLayout(Swizzle(3, 3, 3), S[(64, 8) : (1, 64)])"
    assert (
        str(smem_layout("tf32", "128B_base32B", "MN", (32, 4)))
        == "ComposeLayout(Swizzle(3, 2, 2), S[(32, 4) : (1, 32)])"
    )
    assert str(smem_layout("e4m3", "none", "K", (8, 16))) == "S[(8, 16) : (16, 1)]"
    assert str(smem_layout("f16", "64B", "K", (128, 64))) == (
        "ComposeLayout(Swizzle(3, 2, 3), S[(128, 2, 32) : (32, 4096, 1)])"
    )


def test_a_picked_layout_is_one_of_these():
    assert pick_operand_layout((128, 96), "f16") == smem_layout("f16", "64B", "K", (128, 96))
    assert pick_operand_layout((64, 16), "bf16", "MN") == smem_layout("bf16", "128B", "MN", (64, 16))


def test_a_tile_may_end_inside_a_group_of_rows():
    """The next column of atoms starts where the pattern of rows does."""
    table = smem_layout("f16", "128B", "K", (12, 128)).table((12, 128))["m"]
    assert table[0, 64] == 16 * 64


@together("mode", SWIZZLE_MODES)
def test_container_of_a_byte(mode: SwizzleMode):
    if mode == "128B_base32B":
        with pytest.raises(
            LegalityError, match="K-major e2m1: expected swizzle none, 32B, 64B, 128B, found '128B_base"
        ):
            atom_shape("e2m1", mode)
        return
    assert atom_shape("e2m1", mode, container_bits=8) == atom_shape("e4m3", mode)


@together(
    ("arguments", "message"),
    [
        (("f16", "256B", "K", (8, 64)), "K-major f16: expected swizzle none, 32B, 64B, 128B, found '256B'"),
        (("tf32", "128B", "MN", (32, 8)), "MN-major tf32: expected swizzle 128B_base32B, found '128B'"),
        (("e2m1", "128B", "MN", (256, 8)), "e2m1 has no MN-major layout, only K-major"),
        (("f16", "128B", "N", (64, 64)), "expected major-ness K or MN, found 'N'"),
        (("f32", "128B", "K", (64, 64)), "expected an operand type .*; f32 data are multiplied as tf32"),
        (("f16", "128B", "K", (64, 48)), r"expected K in steps of 64 elements \(128 bytes\), found 48; nearest is 64"),
        (
            ("f16", "128B", "MN", (48, 64)),
            r"expected MN in steps of 64 elements \(128 bytes\), found 48; nearest is 64",
        ),
        (("f16", "128B", "K", (0, 64)), "expected a positive MN, found 0"),
        (("f16", "128B", "MN", (64, 0)), "expected a positive K, found 0"),
    ],
)
def test_layouts_that_do_not_exist(arguments: tuple[str, SwizzleMode, Major, tuple[int, int]], message: str):
    with pytest.raises(LegalityError, match=message):
        smem_layout(*arguments)


def test_containers_that_do_not_exist():
    with pytest.raises(LegalityError, match="e2m1: expected a container of 4 or 8 bits, found 16"):
        atom_shape("e2m1", "128B", container_bits=16)
    with pytest.raises(LegalityError, match="f16: expected a container of 16 bits, found 8"):
        atom_shape("f16", "128B", container_bits=8)
