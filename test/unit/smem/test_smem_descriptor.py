"""The shared-memory descriptor: fields, errors, and 260 descriptors made by a CUDA C++ template library."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import Sampled, together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, SwizzleMode, TileLayout
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.canonical_form import CanonicalLayout, CanonicalLayoutError
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import legal_modes
from tirx.smem.walk import read_addresses

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/smem_descriptors.json").read_text())[
    "vectors"
]

LBO_FIELD, SBO_FIELD = 0x3FFF << 16, 0x3FFF << 32
START_FIELD = 0x3FFF


def modes(shape: str, stride: str) -> list[list[tuple[int, int]]]:
    """Top-level modes of a CuTe layout as (extent, stride) leaves, first leaf fastest."""

    def read(text: str) -> Any:
        return json.loads(text.replace("_", "").replace("(", "[").replace(")", "]"))

    def leaves(value: Any) -> list[int]:
        return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]  # type: ignore[misc]

    return [list(zip(leaves(s), leaves(d), strict=True)) for s, d in zip(read(shape), read(stride), strict=True)]


def layout_of(text: str) -> ComposeLayout:
    """`Sw<B,M,S> o smem_ptr[bits](unset) o shape:stride` as a layout of (MN, K), row-major."""
    match = re.fullmatch(r"Sw<(\d),(\d),(\d)> o smem_ptr\[(\d+)b\]\(unset\) o (.*):(.*)", text)
    assert match is not None, text
    b, m, s, bits = (int(match[i]) for i in range(1, 5))
    elements_per_byte_log2 = {4: 1, 8: 0, 16: -1, 32: -2}[bits]
    iters = [Iter(e, d, "m") for mode in modes(match[5], match[6]) for e, d in reversed(mode)]
    return ComposeLayout(SwizzleLayout(m + elements_per_byte_log2, b, s), TileLayout(tuple(iters)))


def fnv1a64(tables: list[NDArray[np.uint64]]) -> list[int]:
    """FNV-1a over the 8 little-endian bytes of every entry, for many tables at once; entries are below 2**24."""
    prime, seed = 0x100000001B3, 1469598103934665603  # the seed of the data, one digit short of the usual one
    longest = max(len(table) for table in tables)
    entries = np.zeros((longest, len(tables)), dtype=np.uint64)
    for column, table in enumerate(tables):
        entries[: len(table), column] = table
    lengths = np.array([len(table) for table in tables])
    hashes, result = np.full(len(tables), seed, dtype=np.uint64), [0] * len(tables)
    zeros = np.uint64(pow(prime, 5, 1 << 64))  # the five bytes above
    for i, row in enumerate(entries, start=1):
        for shift in (0, 8, 16):
            hashes = (hashes ^ (row >> np.uint64(shift) & np.uint64(0xFF))) * np.uint64(prime)
        hashes = hashes * zeros
        for column in np.flatnonzero(lengths == i):
            result[int(column)] = int(hashes[column])
    return result


def test_every_element_of_every_vector(sampled: Sampled):
    """The hash over all physical element indices, which samples of elements could miss; of every layout once."""
    layouts = sampled({(v["smem_layout"], v["mn"], v["k"]): v for v in VECTORS}.values(), 8)
    tables = [layout_of(v["smem_layout"]).table((v["mn"], v["k"]))["m"].T.reshape(-1) for v in layouts]
    assert all(0 <= table.min() and table.max() < 1 << 24 for table in tables)
    hashes = fnv1a64([table.astype(np.uint64) for table in tables])
    assert hashes == [int(v["phys_fnv1a64"], 16) for v in layouts]


def read_by_hardware(found: CanonicalLayout) -> int:
    """Mask of the descriptor bits that the hardware reads for this layout."""
    mask = (1 << 64) - 1
    return mask & ~(LBO_FIELD if found.lbo is None else 0) & ~(SBO_FIELD if found.sbo is None else 0)


def is_legal(vector: dict[str, Any]) -> bool:
    """The vectors also cover combinations that the library lays out but the hardware does not multiply."""
    if vector["swizzle"] == "128B_base32B":
        return vector["dtype"] == "tf32"
    return vector["major"] == "K" or vector["dtype"] != "tf32"


@together("vector", VECTORS)
def test_vectors(vector: dict[str, Any]):
    layout, shape, dtype = layout_of(vector["smem_layout"]), (vector["mn"], vector["k"]), vector["dtype"]
    table = layout.table(shape)["m"]
    for mn, k, address in vector["phys_samples"]:
        assert table[mn, k] == address
    wanted = int(vector["desc"], 16)
    step = vector["mma_k"] if vector["form"] == "mma_instr" else vector["k"]
    height = vector["mma_mn"] if vector["form"] == "mma_instr" else vector["mn"]
    if not is_legal(vector):
        with pytest.raises(CanonicalLayoutError, match=f"which the hardware does not read for {dtype}") as caught:
            operand_slices(layout, shape, dtype, step, rows=(0, height))
        found = caught.value.nearest
        assert (found.major, found.swizzle) == (vector["major"], vector["swizzle"])
        assert (found.descriptor().encode() ^ wanted) & read_by_hardware(found) == 0
        return
    if vector["form"] == "whole_tile":
        found = canonical_layout(layout, shape, dtype)
        assert (found.major, found.swizzle) == (vector["major"], vector["swizzle"])
        assert (found.descriptor().encode() ^ wanted) & read_by_hardware(found) == 0
        return
    for m_index, k_index, start, desc in vector["instrs"]:
        first = int(m_index) * int(height)
        rows = (first, first + int(height))
        part = operand_slices(layout, shape, dtype, step, rows=rows)[int(k_index)]
        found = part.canonical
        assert (found.major, found.swizzle) == (vector["major"], vector["swizzle"])
        assert part.offset_bytes == start * 16
        word = part.descriptor().encode()
        assert (word ^ int(desc, 16)) & read_by_hardware(found) == 0


@together("vector", VECTORS[::7])
def test_decode_is_the_inverse_of_encode(vector: dict[str, Any]):
    word = int(vector["desc"], 16)
    found = SmemDescriptor.decode(word)
    assert found.encode() == word
    assert (found.start, found.lbo, found.sbo) == (
        vector["start_enc"] * 16,
        vector["lbo_enc"] * 16,
        vector["sbo_enc"] * 16,
    )
    assert found.swizzle == vector["swizzle"]


def test_ready_made_constant_of_a_128_byte_swizzle():
    assert SmemDescriptor(0, None, 1024, "128B").encode() == 0x4000404000010000
    assert SmemDescriptor(0x1230, None, 1024, "128B").encode() == 0x4000404000010000 | 0x123
    assert SmemDescriptor.decode(0x4000404000010000) == SmemDescriptor(0, 16, 1024, "128B")


def test_every_field_round_trips():
    full = SmemDescriptor(0x3FFF0, 0x3FFF0, 0x3FFF0, "128B", base_offset=0, lbo_absolute=True)
    assert SmemDescriptor.decode(full.encode()) == full
    based = SmemDescriptor(16, 32, 48, "64B", base_offset=5)
    assert SmemDescriptor.decode(based.encode()) == based
    assert based.encode() >> 49 & 7 == 5 and full.encode() >> 52 & 1 == 1


@together(
    ("fields", "message"),
    [
        ((8, None, 0, "none"), "start address: expected a multiple of 16 bytes, found 8; nearest is 0"),
        ((0, 40, 0, "none"), "LBO: expected a multiple of 16 bytes, found 40; nearest is 32"),
        ((0, 0, 1 << 18, "none"), "SBO: expected 0 to 262128 bytes, found 262144"),
        ((-16, 0, 0, "none"), "start address: expected 0 to"),
        ((0, 24, 0, "none"), "LBO: expected a multiple of 16 bytes, found 24; nearest is 32"),
        ((0, 0, 56, "none"), "SBO: expected a multiple of 16 bytes, found 56; nearest is 64"),
        ((0, 1 << 19, 0, "none"), "LBO: expected 0 to 524272 bytes, found 524288; nearest is 524272"),
        ((1 << 19, 0, 0, "none"), "start address: expected 0 to 524272 bytes, found 524288; nearest is 524272"),
        ((0, None, 0, "256B"), "swizzle: expected one of none, 32B, 64B, 128B, 128B_base32B, found '256B'"),
        ((0, None, 0, "128B", 8), "matrix base offset: expected 0 to 7, found 8"),
        ((0, None, 0, "128B", 0, True), "absolute LBO: expected the byte address of the second data chunk, found None"),
        ((0, 16, 1024, "128B", 0, False, 3), "segment of K: expected byte 0 or 24, found 3"),
    ],
)
def test_fields_that_no_descriptor_holds(fields: tuple[Any, ...], message: str):
    with pytest.raises(LegalityError, match=message):
        SmemDescriptor(*fields)


@together(
    ("fields", "target", "message"),
    [
        ((16, None, 0, "128B_base32B"), None, "multiple of the 32-byte atom of swizzle 128B_base32B, found 16"),
        ((0, 16, 0, "64B", 0, True), None, "absolute LBO: expected swizzle 128B"),
        ((0, 16, 0, "128B", 1, True), None, "^matrix base offset: expected 0, found 1; align the tile to 1024 bytes"),
        (
            (1 << 18, 16, 0, "none"),
            "sm_100a",
            "start address: expected 0 to 262128 bytes on sm_100a, found 262144; sm_107a",
        ),
        (
            (0, 1 << 18, 0, "none"),
            "sm_103a",
            "^LBO: expected 0 to 262128 bytes on sm_103a, found 262144; sm_107a has up to 524272$",
        ),
        ((0, 16, 0, "none", 0, False, 24), "sm_100a", "segment of K: expected byte 0 on sm_100a, found 24"),
        (
            (0, 16, 0, "none", 0, False, 24),
            "sm_107a",
            (
                r"^segment of K: expected byte 0, found 24, which is for the B of \.decompress::lut::b with "
                "24 bytes of K$"
            ),
        ),
    ],
)
def test_fields_that_are_not_legal_together(fields: tuple[Any, ...], target: str | None, message: str):
    with pytest.raises(LegalityError, match=message):
        SmemDescriptor(*fields).verify_place("K", k_bytes=32, target=target)


@together(
    ("word", "message"),
    [
        (0, "bits 46-48: expected 0b001, found 0b000"),
        (1 << 46 | 1 << 15, "bit 15: expected 0, found 0x1"),
        (1 << 46 | 1 << 60, "bits 54-60: expected 0, found 0x40"),
        (1 << 46 | 3 << 61, r"bits 61-63: expected a swizzle mode \[0, 1, 2, 4, 6\], found 3"),
        (1 << 64, "expected a 64-bit"),
    ],
)
def test_words_that_are_no_descriptor(word: int, message: str):
    with pytest.raises(LegalityError, match=message):
        SmemDescriptor.decode(word)


@together(
    ("descriptor", "dtype", "major", "k_bytes", "target", "message"),
    [
        # Types and major-ness.
        (SmemDescriptor(0, 16, 1024, "64B"), "tf32", "MN", 32, None, "tf32: expected swizzle 128B_base32B, found 64B"),
        (SmemDescriptor(0, 16, 0, "none"), "tf32", "MN", 32, None, "expected swizzle 128B_base32B, found none"),
        (SmemDescriptor(0, 16, 512, "128B_base32B"), "tf32", "K", 32, None, "none, 32B, 64B, 128B, found 128B_base32B"),
        (SmemDescriptor(0, 16, 512, "128B_base32B"), "f16", "MN", 32, None, "none, 32B, 64B, 128B, found 128B_base32B"),
        (SmemDescriptor(0, 16, 1024, "128B"), "e2m1", "MN", 32, None, "of K-major layouts only, found 128B"),
        (SmemDescriptor(0, 16, 1024, "128B"), "e3m2", "MN", 32, None, "of K-major layouts only, found 128B"),
        (SmemDescriptor(0, 16, 1024, "128B"), "f32", "K", 32, None, "f32 data are multiplied as tf32"),
        # Alignment to the pattern of the swizzle.
        (
            SmemDescriptor(0, 16, 1024, "128B", 3),
            "f16",
            "K",
            32,
            None,
            "expected 0, found 3; align the tile to 1024",
        ),
        (
            SmemDescriptor(1152, 16, 1024, "128B"),
            "f16",
            "K",
            32,
            None,
            "1024-byte .* found 1152; nearest is 1024",
        ),
        (SmemDescriptor(960, 16, 512, "64B"), "f16", "MN", 32, None, "512-byte pattern .* found 960; nearest is 1024"),
        (
            SmemDescriptor(1056, 0, 512, "64B"),
            "s8",
            "MN",
            32,
            None,
            "the start .MN-major. .* found 1056; nearest is 1024",
        ),
        (SmemDescriptor(32, 0, 512, "128B_base32B"), "tf32", "MN", 32, None, "the start .* found 32; nearest is 0"),
        (SmemDescriptor(224, 16, 256, "32B"), "f16", "K", 32, None, "256-byte pattern .* found 224; nearest is 256"),
        (SmemDescriptor(640, 16, 0, "128B_base32B"), "tf32", "MN", 32, None, "512-byte pattern .* nearest is 512"),
        # One descriptor stays within a row of the pattern.
        (SmemDescriptor(112, 16, 1024, "128B"), "f16", "K", 32, None, "found byte 112 of a row; nearest is byte 96"),
        (SmemDescriptor(0, 16, 256, "32B"), "f16", "K", 64, None, "at most 32 bytes of K, found 64; a wider swizzle"),
        (
            SmemDescriptor(96, 16, 1024, "128B"),
            "e2m1",
            "K",
            48,
            "sm_103a",
            "found byte 96 of a row; nearest is byte 80",
        ),
        # Absolute LBO mode.
        (
            SmemDescriptor(96, 1024, 0, "128B", 0, True),
            "e2m1",
            "K",
            48,
            "sm_100a",
            "expected target",
        ),
        (
            SmemDescriptor(0, 1024, 0, "128B", 0, True),
            "f16",
            "MN",
            48,
            None,
            "expected a K-major operand",
        ),
        (
            SmemDescriptor(96, 1024, 0, "128B", 0, True),
            "e2m1",
            "K",
            32,
            None,
            r"^absolute LBO: expected 48 bytes of K \(K = 96 of 4-bit elements\), found 32$",
        ),
        (
            SmemDescriptor(96, 1040, 0, "128B", 0, True),
            "e2m1",
            "K",
            48,
            None,
            "to 1024 bytes, found 1040; nearest is 1024",
        ),
    ],
)
def test_what_only_the_operand_can_tell(
    descriptor: SmemDescriptor, dtype: str, major: Any, k_bytes: int, target: str | None, message: str
):
    assert SmemDescriptor.decode(descriptor.encode()) == descriptor  # the fields alone are fine
    with pytest.raises(LegalityError, match=message):
        descriptor.verify(dtype, major, k_bytes=k_bytes, target=target)


def test_absolute_addresses_of_mn_major_operands():
    with pytest.raises(LegalityError, match="^absolute LBO: expected a K-major operand, found MN-major$"):
        SmemDescriptor(0, 0, 1024, "128B", lbo_absolute=True).verify("f16", "MN")


def test_descriptors_that_the_hardware_reads():
    SmemDescriptor(96, None, 1024, "128B").verify("f16", "K", k_bytes=32)
    SmemDescriptor(96, None, 1024, "128B").verify("f16", "K")
    SmemDescriptor(80, 160, 320, "none").verify("e2m3", "K", k_bytes=32, target="sm_100a")
    SmemDescriptor(1024 + 32, None, 512, "64B").verify("s8", "K", k_bytes=32)
    SmemDescriptor(1024 + 512, 2048, 512, "64B").verify("s8", "MN", k_bytes=32)
    SmemDescriptor(1024 + 48, 2048, 512, "none").verify("s8", "MN", k_bytes=32)
    SmemDescriptor(96, 2048, 1024, "128B", lbo_absolute=True).verify("e2m1", "K", k_bytes=48, target="sm_103a")


@pytest.mark.parametrize("swizzle", ["32B", "64B", "128B"])
def test_lbo_of_a_k_major_swizzled_operand_is_not_read(swizzle: SwizzleMode):
    row = {"32B": 16, "64B": 32, "128B": 64}[swizzle]
    tile = TileLayout.parse(f"S[(2, 8, {row}) : ({8 * row}, {row}, 1)]")
    found = canonical_layout(ComposeLayout(SwizzleLayout.for_dtype("f16", swizzle), tile), (16, row))
    assert found.lbo is None
    word = found.descriptor().encode()
    assert word >> 16 & 0x3FFF == 1
    for lbo in (0, 1, 77):
        other = SmemDescriptor.decode(word & ~LBO_FIELD | lbo << 16)
        assert (
            read_addresses(other, "K", (16, row), 16) == read_addresses(found.descriptor(), "K", (16, row), 16)
        ).all()


def test_lbo_and_sbo_trade_roles():
    """MN-major: LBO steps along K without a swizzle and along MN with one."""
    for swizzle, width in (("none", 8), ("64B", 32)):
        descriptor = SmemDescriptor(0, 4096, 2048, swizzle)  # type: ignore[arg-type]
        read = read_addresses(descriptor, "MN", (2 * width, 16), 16) // 8
        along_mn, along_k = int(read[width, 0]), int(read[0, 8])
        assert (along_mn, along_k) == ((2048, 4096) if swizzle == "none" else (4096, 2048))


def test_reading_past_the_row_of_a_swizzle():
    with pytest.raises(
        LegalityError,
        match=(
            r"^expected an operand within one 128-byte row of swizzle 128B, found element \(0, 32\) past "
            "its end: one descriptor reads no further, and every K step has its own$"
        ),
    ):
        read_addresses(SmemDescriptor(64, None, 1024, "128B"), "K", (8, 64), 16)


def test_legal_modes_by_type():
    narrow = ("none", "32B", "64B", "128B")
    for dtype in ("f16", "bf16", "e4m3", "e5m2", "s8", "u8"):
        assert legal_modes(find_dtype(dtype), "K") == legal_modes(find_dtype(dtype), "MN") == narrow
    for dtype in ("e2m1", "e2m3", "e3m2"):
        assert (legal_modes(find_dtype(dtype), "K"), legal_modes(find_dtype(dtype), "MN")) == (narrow, ())
    assert (legal_modes(find_dtype("tf32"), "K"), legal_modes(find_dtype("tf32"), "MN")) == (narrow, ("128B_base32B",))
