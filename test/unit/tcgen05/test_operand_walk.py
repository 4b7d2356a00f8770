"""Descriptors against the hardware's walk: an address function written from the ISA, fed with descriptor bits only."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx.layout import ComposeLayout, TileLayout
from tirx.tcgen05 import (
    LegalityError,
    SmemDescriptor,
    canonical_layout,
    find_dtype,
    legal_modes,
    operand_slices,
    pick_operand_layout,
)
from tirx.tcgen05.swizzle_modes import MAJORS, Major

K_OF_DTYPE = {"tf32": 8, "f16": 16, "bf16": 16, "e4m3": 32, "s8": 32, "u8": 32, "e2m3": 32, "e2m1": 64}


def hardware_byte(descriptor: int, major: str, bits: int, mn: int, k: int) -> float:
    """Byte address of element (mn, k), from the fields of the descriptor (PTX ISA, shared-memory descriptor)."""
    start, lbo, sbo = ((descriptor >> shift & 0x3FFF) * 16 for shift in (0, 16, 32))
    code = descriptor >> 61
    row_bytes = {0: 16, 6: 32, 4: 64, 2: 128, 1: 128}[code]
    if major == "K":
        byte = k * bits / 8
        chunk, rest = divmod(byte, 16)
        address = start + mn % 8 * row_bytes + mn // 8 * sbo + chunk * (16 if code else lbo) + rest
    else:
        group = 4 if code == 1 else 8
        chunk, rest = divmod(mn, row_bytes * 8 // bits)
        address = start + rest * bits / 8 + chunk * (lbo if code else sbo)
        address += k % group * row_bytes + k // group * (sbo if code else lbo)
    whole = int(address)
    taken, shift = {0: (0, 0), 6: (0x10, 3), 4: (0x30, 3), 2: (0x70, 3), 1: (0x60, 2)}[code]
    return (whole ^ (whole >> shift & taken)) + (address - whole)


def check_every_element(
    layout: TileLayout | ComposeLayout, shape: tuple[int, int], dtype: str, major: str, base: int
) -> None:
    element = find_dtype(dtype)
    k_instr = K_OF_DTYPE[dtype]
    table = layout.table(shape)["m"]
    for step, part in enumerate(operand_slices(layout, shape, dtype, k_instr)):
        found = part.canonical
        word = SmemDescriptor(base + part.offset_bytes, found.lbo, found.sbo, found.swizzle).encode()
        assert found.major == major
        for mn, k in itertools.product(range(shape[0]), range(k_instr)):
            byte = hardware_byte(word, major, element.storage_bits, mn, k)
            assert byte - base == table[mn, step * k_instr + k] * element.storage_bits / 8


@pytest.mark.parametrize("dtype", K_OF_DTYPE)
@pytest.mark.parametrize("major", MAJORS)
def test_picked_layouts_of_every_type(dtype: str, major: Major):
    if not legal_modes(find_dtype(dtype), major):
        with pytest.raises(LegalityError, match="no MN-major layout"):
            pick_operand_layout((64, 64), dtype, major)
        return
    k = K_OF_DTYPE[dtype]
    shapes = [(32, k), (32, 2 * k), (64, 3 * k), (64, 4 * k), (96, 2 * k)]
    for shape in shapes:
        layout = pick_operand_layout(shape, dtype, major)
        check_every_element(layout, shape, dtype, major, base=5 * 1024)


def test_narrow_operands_without_swizzle():
    for shape in ((24, 32), (8, 16)):
        check_every_element(pick_operand_layout(shape, "f16", "MN"), shape, "f16", "MN", base=16)
    core_matrices = TileLayout.parse("S[(3, 8, 4, 8) : (256, 8, 64, 1)]")
    check_every_element(core_matrices, (24, 32), "f16", "K", base=16)


def test_widest_swizzle_is_picked():
    swizzles = {64: "128B", 128: "128B", 96: "64B", 32: "64B", 48: "32B", 16: "32B", 8: "none", 24: "none"}
    for k, swizzle in swizzles.items():
        parts = operand_slices(pick_operand_layout((16, k), "f16"), (16, k), "f16", 8)
        assert parts[0].canonical.swizzle == swizzle
        parts = operand_slices(pick_operand_layout((k, 16), "f16", "MN"), (k, 16), "f16", 16)
        assert parts[0].canonical.swizzle == swizzle


@pytest.mark.parametrize(
    ("shape", "dtype", "major", "message"),
    [
        ((64, 12), "f16", "K", r"K in steps of 8 elements \(16 bytes\), got 12; nearest is 16"),
        ((16, 16), "tf32", "MN", r"MN in steps of 32 elements \(128 bytes\), got 16; nearest is 32"),
        ((0, 64), "f16", "K", "a positive MN, got 0"),
        ((64, 12), "f16", "MN", "K in steps of 8, got 12"),
        ((64, 64), "f16", "N", "major-ness K or MN, got 'N'"),
        ((64, 64), "s32", "K", "got s32"),
    ],
)
def test_what_cannot_be_picked(shape: tuple[int, int], dtype: str, major: str, message: str):
    with pytest.raises(LegalityError, match=message):
        pick_operand_layout(shape, dtype, major)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(K_OF_DTYPE)),
    st.sampled_from(MAJORS),
    st.integers(1, 16),
    st.integers(1, 6),
    st.integers(0, 7),
)
def test_every_slice_of_a_picked_layout_is_canonical(dtype: str, major: Major, mn: int, k: int, offset: int):
    shape = (mn * 16, k * K_OF_DTYPE[dtype])
    try:
        layout = pick_operand_layout(shape, dtype, major)
    except LegalityError:
        assert major == "MN" and (dtype in ("e2m1", "e2m3") or (dtype == "tf32" and mn % 2))
        return
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    moved = tile.with_offset(m=offset * 1024 * 8 // find_dtype(dtype).storage_bits)
    if isinstance(layout, ComposeLayout):
        moved = ComposeLayout(layout.swizzle, moved)
    parts = operand_slices(moved, shape, dtype, K_OF_DTYPE[dtype])
    assert len(parts) == k and len({part.canonical for part in parts}) == 1
    assert parts[0].offset_bytes == offset * 1024
    table = moved.table(shape)["m"]
    assert len(np.unique(table)) == table.size  # every element has its own place
    for step in range(k):
        piece = moved.slice(shape, ((0, shape[0]), (step * K_OF_DTYPE[dtype], (step + 1) * K_OF_DTYPE[dtype])))
        found = canonical_layout(piece, (shape[0], K_OF_DTYPE[dtype]), dtype)
        assert (found.lbo, found.sbo, found.start) == (
            parts[step].canonical.lbo,
            parts[step].canonical.sbo,
            parts[step].offset_bytes,
        )
