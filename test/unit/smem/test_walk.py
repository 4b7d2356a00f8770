"""Descriptors against the hardware's walk: an address function written from the ISA, fed with descriptor bits only."""

from itertools import cycle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from unit.cases import together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.canonical_form import CanonicalLayoutError
from tirx.smem.operand_tile import operand_tile
from tirx.smem.pick import pick_operand_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import GEOMETRIES, MAJORS, SWIZZLE_MODES, Major, SwizzleName, legal_modes
from tirx.smem.walk import read_addresses

K_OF_DTYPE = {"tf32": 8, "f16": 16, "bf16": 16, "e4m3": 32, "s8": 32, "u8": 32, "e2m3": 32, "e2m1": 64}

IntArray = NDArray[np.int64]
Layout = TileLayout | ComposeLayout


def hardware_bits(descriptor: int, major: str, bits: int, shape: tuple[int, int]) -> IntArray:
    """Bit address of every element of (MN, K), from the fields of the descriptor (PTX ISA, shared memory descriptor).

    Written from the text alone: nothing of the library is used here.
    """
    start, lbo, sbo = ((descriptor >> shift & 0x3FFF) * 16 for shift in (0, 16, 32))
    code = descriptor >> 61
    row_bytes = {0: 16, 6: 32, 4: 64, 2: 128, 1: 128}[code]
    mn, k = (x.astype(np.int64) for x in np.indices(shape))
    if major == "K":
        byte, rest = k * bits // 8, k * bits % 8
        if descriptor >> 52 & 1:
            column = start % 128 + byte
            row_of = np.where(column < 128, start - start % 128, lbo) + column % 128
            address = row_of + mn % 8 * row_bytes + mn // 8 * sbo
        else:
            address = start + mn % 8 * row_bytes + mn // 8 * sbo + byte // 16 * (16 if code else lbo) + byte % 16
    else:
        group, width = (4 if code == 1 else 8), row_bytes * 8 // bits
        rest = np.zeros_like(mn)
        address = start + mn % width * (bits // 8) + mn // width * (lbo if code else sbo)
        address += k % group * row_bytes + k // group * (sbo if code else lbo)
    taken, shift = {0: (0, 0), 6: (0x10, 3), 4: (0x30, 3), 2: (0x70, 3), 1: (0x60, 2)}[code]
    return (address ^ (address >> shift & taken)) * 8 + rest


def check_every_element(
    layout: Layout, shape: tuple[int, int], dtype: str, major: str, base: int, k_instr: int, container: int
) -> None:
    """All slices of a tile at `base`: what the descriptors read is what the layout says, by two walks."""
    table = layout.table(shape)["m"] * container + base * 8
    parts = operand_slices(layout, shape, dtype, k_instr, container_bits=container)
    for step, part in enumerate(parts):
        word = part.descriptor(base).encode()
        wanted = table[:, step * k_instr : (step + 1) * k_instr]
        assert part.canonical.major == major
        assert (hardware_bits(word, major, container, (shape[0], k_instr)) == wanted).all()
        decoded = SmemDescriptor.decode(word)
        decoded.verify(dtype, part.canonical.major, k_bytes=k_instr * container // 8)
        assert (read_addresses(decoded, part.canonical.major, (shape[0], k_instr), container) == wanted).all()


# (type, container bits): every way in which elements lie in shared memory.
SWEPT = (("e2m1", 4), ("e2m1", 8), ("e3m2", 8), ("e4m3", 8), ("f16", 16), ("tf32", 32))


OPERANDS = [
    (dtype, container, major, swizzle)
    for dtype, container in SWEPT
    for major in MAJORS
    for swizzle in legal_modes(find_dtype(dtype), major)
]


@pytest.mark.parametrize(("dtype", "container", "major", "swizzle"), OPERANDS)
@pytest.mark.sample(3)
def test_sweep(dtype: str, container: int, major: Major, swizzle: SwizzleName):
    """MN from 8 to 256, K of one to four atoms in turn: each slice reads what the layout says."""
    mode = SWIZZLE_MODES[swizzle]
    row, k_instr = mode.row_bytes * 8 // container, 256 // container
    checked = 0
    for mn, atoms in zip(range(8, 257, 8), cycle((1, 2, 3, 4, 3)), strict=False):
        k = atoms * max(row, k_instr) if major == "K" else atoms * k_instr
        tile = operand_tile((mn, k), find_dtype(dtype), major, swizzle, container)
        if tile is None:
            assert major == "MN" and (mn > row and mn % row or mn * container % (mode.atom_bytes * 8))
            continue
        check_every_element(tile.layout, (mn, k), dtype, major, 3072, k_instr, container)
        checked += 1
    assert checked >= 256 // max(row, 8)


def test_the_sweep_covers_all_modes():
    assert {(major, swizzle) for _, _, major, swizzle in OPERANDS} == set(GEOMETRIES) - {("K", "128B_base32B")}


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", K_OF_DTYPE)
@pytest.mark.parametrize("major", MAJORS)
def test_picked_layouts_of_every_type(dtype: str, major: Major):
    element = find_dtype(dtype)
    if not legal_modes(element, major):
        with pytest.raises(LegalityError, match="no MN-major layout"):
            pick_operand_layout((64, 64), dtype, major)
        return
    k = K_OF_DTYPE[dtype]
    shapes = [(32, k), (32, 2 * k), (64, 3 * k), (64, 4 * k), (96, 2 * k)]
    for shape in shapes:
        layout = pick_operand_layout(shape, dtype, major)
        check_every_element(layout, shape, dtype, major, 5 * 1024, k, element.storage_bits)


def test_narrow_operands_without_swizzle():
    for shape in ((24, 32), (8, 16)):
        check_every_element(pick_operand_layout(shape, "f16", "MN"), shape, "f16", "MN", 1024, 16, 16)
    core_matrices = TileLayout.parse("S[(3, 8, 4, 8) : (256, 8, 64, 1)]")
    check_every_element(core_matrices, (24, 32), "f16", "K", 16, 16, 16)


def fields(major: Major, swizzle: SwizzleName, lbo: int, sbo: int) -> dict[str, int]:
    """Steps along MN and along K, by which of LBO and SBO the table of the ISA has for each."""
    traded = major == "MN" and swizzle != "none"
    return {"mn": lbo if traded else sbo, "k": sbo if traded else lbo}


@st.composite
def descriptors(draw: st.DrawFn) -> tuple[SmemDescriptor, Major, str, int, tuple[int, int]]:
    """A legal descriptor with any strides, and an operand that it reads: type, container, shape."""
    dtype, container = draw(st.sampled_from(SWEPT))
    major: Major = draw(st.sampled_from([x for x in MAJORS if legal_modes(find_dtype(dtype), x)]))
    swizzle = draw(st.sampled_from(legal_modes(find_dtype(dtype), major)))
    mode = SWIZZLE_MODES[swizzle]
    row = mode.row_bytes * 8 // container
    if major == "K":
        wide = draw(st.integers(1, mode.row_bytes // 16 if mode.swizzled else 8))
        mn, k = 8 * draw(st.integers(1, 8)), wide * 128 // container
        room = mode.row_bytes // 16 - wide if mode.swizzled else 40
        column = 16 * draw(st.integers(0, room))
    else:
        mn, column = row * draw(st.integers(1, 4)), 0
        k = 128 // container * draw(st.integers(1, 4))
        k = -(-k // mode.rows) * mode.rows
    start = 1024 * draw(st.integers(0, 20)) + column
    lbo, sbo = (16 * draw(st.integers(0, 1000)) for _ in range(2))  # so that all ends below 256 KiB
    return SmemDescriptor(start, lbo, sbo, swizzle), major, dtype, container, (mn, k)


def as_layout(descriptor: SmemDescriptor, major: Major, container: int, shape: tuple[int, int]) -> Layout:
    """The operand that a descriptor reads, as a tile layout put together from the table of canonical layouts."""
    mode = SWIZZLE_MODES[descriptor.swizzle]
    row, t = mode.row_bytes * 8 // container, 128 // container
    step = fields(major, descriptor.swizzle, descriptor.lbo or 0, descriptor.sbo or 0)
    step = {name: value * 8 // container for name, value in step.items()}
    mn, k = shape
    if major == "K":
        along_k = (Iter(k, 1, "m"),) if mode.swizzled else (Iter(k // t, step["k"], "m"), Iter(t, 1, "m"))
        iters = (Iter(mn // 8, step["mn"], "m"), Iter(8, row, "m"), *along_k)
    else:
        along_k = Iter(k // mode.rows, step["k"], "m"), Iter(mode.rows, row, "m")
        iters = (Iter(mn // row, step["mn"], "m"), Iter(row, 1, "m"), *along_k)
    tile = TileLayout(iters).with_offset(m=descriptor.start * 8 // container)
    return ComposeLayout(SwizzleLayout.for_bits(container, descriptor.swizzle), tile) if mode.swizzled else tile


@given(descriptors())
def test_any_descriptor_is_found_again(drawn: tuple[SmemDescriptor, Major, str, int, tuple[int, int]]):
    descriptor, major, dtype, container, shape = drawn
    layout = as_layout(descriptor, major, container, shape)
    table = layout.table(shape)["m"] * container
    word = descriptor.encode()
    assert (hardware_bits(word, major, container, shape) == table).all()
    assert (read_addresses(SmemDescriptor.decode(word), major, shape, container) == table).all()
    found = canonical_layout(layout, shape, dtype, container_bits=container)
    # Strides that make two geometries read the same places leave the choice open; the places do not.
    again = found.descriptor().encode()
    assert (hardware_bits(again, found.major, container, shape) == table).all()
    if (found.major, found.swizzle) == (major, descriptor.swizzle):
        assert found.start == descriptor.start
        assert found.lbo in (None, descriptor.lbo) and found.sbo in (None, descriptor.sbo)


@given(descriptors(), st.randoms(use_true_random=False))
def test_what_is_suggested_is_legal(drawn: tuple[SmemDescriptor, Major, str, int, tuple[int, int]], random: Random):
    """A layout with one stride spoilt: the error names the first element, and its suggestion is canonical."""
    descriptor, major, dtype, container, shape = drawn
    layout = as_layout(descriptor, major, container, shape)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    which = random.randrange(len(tile.shard))
    spoilt = [Iter(it.extent, it.stride + (3 if i == which else 0), "m") for i, it in enumerate(tile.shard)]
    broken: Layout = TileLayout(spoilt).with_offset(m=tile.offsets.get("m", 0))
    if isinstance(layout, ComposeLayout):
        broken = ComposeLayout(layout.swizzle, broken)
    try:
        found = canonical_layout(broken, shape, dtype, container_bits=container)
    except LegalityError as error:
        if not isinstance(error, CanonicalLayoutError) or error.suggestion is None:
            assert error.element is not None or "does not read" in str(error)
            return
        assert error.element is not None
        # Padded elements lie at the start of their 16 bytes.
        bits = find_dtype(dtype).bits

        def in_bytes(slots: IntArray) -> NDArray[np.float64]:
            return (slots // 128 * 128 + slots % 128 // container * bits) / 8

        at = in_bytes(broken.table(shape)["m"] * container)
        assert error.found == at[error.element]
        read = in_bytes(hardware_bits(error.nearest.descriptor().encode(), error.nearest.major, container, shape))
        assert error.expected == read[error.element]
        differ = np.argwhere(read != at)
        assert tuple(differ[0]) == error.element
        assert str(error).endswith(">") and "; write #tirx." in str(error)
        text = str(error).rpartition("; write ")[2]
        pasted: Layout = ComposeLayout.parse(text) if "compose" in text else TileLayout.parse(text)
        assert (in_bytes(pasted.table(shape)["m"] * container) == read).all()
        assert canonical_layout(pasted, shape, dtype, container_bits=container) is not None
    else:
        table = broken.table(shape)["m"] * container
        assert (hardware_bits(found.descriptor().encode(), found.major, container, shape) == table).all()


def test_widest_swizzle_is_picked():
    swizzles = {64: "128B", 128: "128B", 96: "64B", 32: "64B", 48: "32B", 16: "32B", 8: "none", 24: "none"}
    for k, swizzle in swizzles.items():
        parts = operand_slices(pick_operand_layout((16, k), "f16"), (16, k), "f16", 8)
        assert parts[0].canonical.swizzle == swizzle
        parts = operand_slices(pick_operand_layout((k, 16), "f16", "MN"), (k, 16), "f16", 16)
        assert parts[0].canonical.swizzle == swizzle


@together(
    ("shape", "dtype", "major", "message"),
    [
        ((64, 12), "f16", "K", r"K in steps of 8 elements \(16 bytes\), found 12; nearest is 16"),
        ((16, 16), "tf32", "MN", r"MN in steps of 32 elements \(128 bytes\), found 16; nearest is 32"),
        ((0, 64), "f16", "K", "a positive MN, found 0"),
        ((64, 12), "f16", "MN", "K in steps of 8, found 12"),
        ((64, 64), "f16", "N", "major-ness K or MN, found 'N'"),
        ((64, 64), "s32", "K", "found s32"),
    ],
)
def test_what_cannot_be_picked(shape: tuple[int, int], dtype: str, major: str, message: str):
    with pytest.raises(LegalityError, match=message):
        pick_operand_layout(shape, dtype, major)  # type: ignore[arg-type]


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
