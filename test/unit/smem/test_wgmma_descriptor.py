"""The matrix descriptor of wgmma: fields, errors, and the walk of the hardware over every element of an operand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from unit.cases import together
from unit.wgmma.hardware import ROW_BYTES, hardware_bytes

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.sim.tensor.shared_descriptor import SharedDescriptor
from tirx.smem.canonical import operand_slices
from tirx.smem.operand_tile import operand_tile
from tirx.smem.pick import operand_candidates, pick_operand_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, WGMMA_OPERANDS, Major, SwizzleName, legal_modes
from tirx.smem.walk import read_addresses
from tirx.smem.wgmma_descriptor import WgmmaDescriptor, meaningless_wgmma, possible_wgmma_descriptors
from tirx.symbolic.integers import Integers

IntArray = NDArray[np.int64]

SWIZZLES: tuple[SwizzleName, ...] = ("none", "32B", "64B", "128B")


def simulator_bytes(word: int, major: str, element: int, shape: tuple[int, int]) -> IntArray:
    """The same by the simulator's own decoder."""
    descriptor = SharedDescriptor.of_wgmma(word, "operand")
    rows = np.arange(shape[0])
    if major == "K":
        return descriptor.k_major(rows, shape[1] * element)[:, ::element]
    return descriptor.mn_major(rows, shape[1], element)[:, :, 0]


OPERANDS = [
    (dtype, major, swizzle)
    for dtype in WGMMA_OPERANDS.dtypes
    for major in MAJORS
    for swizzle in legal_modes(find_dtype(dtype), major, WGMMA_OPERANDS)
]


def test_every_operand_is_known():
    """K-major all types in all four modes, MN-major the 16-bit types."""
    assert len(OPERANDS) == 7 * 4 + 2 * 4
    assert {swizzle for _, _, swizzle in OPERANDS} == set(SWIZZLES)


@pytest.mark.parametrize(("dtype", "major", "swizzle"), OPERANDS)
@pytest.mark.sample(3)
def test_the_walk_of_the_hardware(dtype: str, major: Major, swizzle: SwizzleName):
    for rows, k_steps in product([8, 24, 64, 72, 128, 192, 256], [1, 2, 4, 8]):
        check_walk(dtype, major, swizzle, rows, k_steps)


def check_walk(dtype: str, major: Major, swizzle: SwizzleName, rows: int, k_steps: int) -> None:
    """Elements that every slice's descriptor reads, by three walks, are those of the layout, at two bases."""
    element = find_dtype(dtype)
    size = element.storage_bits // 8
    k_step = 32 // size
    tile = operand_tile((rows, k_steps * k_step), element, major, swizzle)
    if tile is None:
        row = SWIZZLE_MODES[swizzle].row_bytes // size
        contiguous = k_steps * k_step if major == "K" else rows
        assert contiguous > row and contiguous % row
        return
    table = tile.layout.table((rows, k_steps * k_step))["m"] * size
    parts = operand_slices(tile.layout, (rows, k_steps * k_step), element, k_step, family=WGMMA_OPERANDS)
    for base in (0, 7 * 1024):
        for step, part in enumerate(parts):
            descriptor = WgmmaDescriptor.of(part.descriptor(base))
            word = descriptor.encode()
            wanted = table[:, step * k_step : (step + 1) * k_step] + base
            assert part.canonical.major == major
            assert (hardware_bytes(word, major, size, (rows, k_step)) == wanted).all()
            assert (simulator_bytes(word, major, size, (rows, k_step)) == wanted).all()
            decoded = WgmmaDescriptor.decode(word)
            assert decoded.encode() == word
            decoded.verify(dtype, major, k_bytes=32)
            assert (read_addresses(decoded.walk, major, (rows, k_step), size * 8) == wanted * 8).all()


FIELDS = st.integers(0, 0x3FFF)


@given(FIELDS, FIELDS, FIELDS, st.integers(0, 7), st.sampled_from(SWIZZLES))
def test_decode_encode(start: int, lbo: int, sbo: int, base_offset: int, swizzle: SwizzleName):
    descriptor = WgmmaDescriptor(start * 16, lbo * 16, sbo * 16, swizzle, base_offset)
    word = descriptor.encode()
    assert WgmmaDescriptor.decode(word) == descriptor
    assert (word & 0x3FFF, word >> 16 & 0x3FFF, word >> 32 & 0x3FFF, word >> 49 & 7) == (start, lbo, sbo, base_offset)
    assert ROW_BYTES[word >> 62] == SWIZZLE_MODES[swizzle].row_bytes
    assert not word >> 52 & 0x3FF and not word >> 46 & 0b111


def test_words_that_ran_on_hardware():
    """f16, K-major, 128B swizzle: SBO 1024, LBO field 1, mode 1 in bits 62-63."""
    layout = pick_operand_layout((128, 64), "f16", family=WGMMA_OPERANDS)
    words = [
        WgmmaDescriptor.of(part.descriptor(0)).encode()
        for part in operand_slices(layout, (128, 64), "f16", 16, family=WGMMA_OPERANDS)
    ]
    assert words == [1 << 62 | 64 << 32 | 1 << 16 | 2 * step for step in range(4)]


@together(
    ("word", "message"),
    [
        (1 << 14, "bits 14-15: expected 0"),
        (1 << 31, "bits 30-31: expected 0"),
        (1 << 46, "bits 46-48: expected 0, found 0x1"),
        (1 << 52, "bits 52-61: expected 0"),
        (1 << 61, "bits 52-61: expected 0"),
        (1 << 64, "expected a 64-bit matrix descriptor"),
        (-1, "expected a 64-bit matrix descriptor"),
    ],
)
def test_words_without_a_meaning(word: int, message: str):
    with pytest.raises(LegalityError, match=message):
        WgmmaDescriptor.decode(word)
    assert message in str(meaningless_wgmma(word))


@together(
    ("make", "message"),
    [
        (lambda: WgmmaDescriptor(8, None, 1024, "128B"), "start address: expected a multiple of 16 bytes"),
        (lambda: WgmmaDescriptor(0, 1 << 18, 1024, "128B"), "LBO: expected 0 to 262128 bytes"),
        (lambda: WgmmaDescriptor(0, None, 1024, "128B", 8), "matrix base offset: expected 0 to 7"),
        (lambda: WgmmaDescriptor(0, None, 1024, "128B_base32B"), "swizzle: expected one of none, 32B, 64B, 128B"),
        (
            lambda: WgmmaDescriptor.of(SmemDescriptor(0, 1024, 1024, "128B", lbo_absolute=True)),
            "^expected a relative LBO for wgmma, found an absolute one$",
        ),
    ],
)
def test_fields_that_do_not_exist(make: Callable[[], WgmmaDescriptor], message: str):
    with pytest.raises(LegalityError, match=message):
        make()


@together(
    ("descriptor", "dtype", "major", "message"),
    [
        (
            WgmmaDescriptor(0, None, 1024, "128B"),
            "s8",
            "MN",
            "^MN-major s8: expected a K-major operand, wgmma transposes 16-bit types only, found 128B$",
        ),
        (WgmmaDescriptor(0, None, 1024, "128B"), "tf32", "MN", "MN-major tf32: expected a K-major operand"),
        (WgmmaDescriptor(0, None, 1024, "128B"), "e2m1", "K", "expected an operand type of wgmma.mma_async"),
        (WgmmaDescriptor(0, None, 1024, "128B", 1), "f16", "K", "matrix base offset: expected 0"),
        (WgmmaDescriptor(128, None, 1024, "128B"), "f16", "K", "expected the first 128 bytes of a 1024-byte pattern"),
        (
            WgmmaDescriptor(16, None, 1024, "128B"),
            "f16",
            "MN",
            r"expected the start \(MN-major\) of a 1024",
        ),
        (WgmmaDescriptor(112, None, 1024, "128B"), "f16", "K", "expected 32 bytes of K within one 128-byte row"),
    ],
)
def test_places_that_the_hardware_does_not_read(descriptor: WgmmaDescriptor, dtype: str, major: Major, message: str):
    with pytest.raises(LegalityError, match=message):
        descriptor.verify(dtype, major, k_bytes=32)


def test_partly_known_words():
    """Unknown bits of addresses break nothing; an unknown swizzle leaves four descriptors."""
    known = Integers(64, zeros=(1 << 64) - 1 & ~(0x3FFF | 0b11 << 62), ones=0)
    assert {each.swizzle for each in possible_wgmma_descriptors(known)} == set(SWIZZLES)
    assert meaningless_wgmma(known) is None
    bad = Integers(64, zeros=0, ones=1 << 46)
    assert possible_wgmma_descriptors(bad) == ()
    assert "bits 46-48" in str(meaningless_wgmma(bad))


def test_layouts_that_only_tcgen05_reads():
    """MN-major 8-bit and 32-bit operands have a descriptor of tcgen05, and none of wgmma."""
    with pytest.raises(LegalityError, match="never transposes this type"):
        pick_operand_layout((128, 64), "s8", "MN", family=WGMMA_OPERANDS)
    tiles = operand_candidates((128, 64), "s8", family=WGMMA_OPERANDS)
    assert {tile.major for tile in tiles} == {"K"}
    for dtype in ("s8", "tf32"):
        layout = pick_operand_layout((128, 64), dtype, "MN")
        with pytest.raises(LegalityError, match=f"which the hardware does not read for {dtype}.*MN-major not at all"):
            operand_slices(layout, (128, 64), dtype, 32 // (find_dtype(dtype).bits // 8), family=WGMMA_OPERANDS)


def test_suggestions_are_readable():
    """A layout that nothing reads comes with one that wgmma does."""
    layout = ComposeLayout(SwizzleLayout(4, 2, 2), TileLayout.parse("S[(128, 64) : (64, 1)]"))
    with pytest.raises(LegalityError) as error:
        operand_slices(layout, (128, 64), "s8", 32, family=WGMMA_OPERANDS)
    assert error.value.suggestion is not None
    assert operand_slices(error.value.suggestion, (128, 64), "s8", 32, family=WGMMA_OPERANDS)[0].canonical.major == "K"
