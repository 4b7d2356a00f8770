"""The shared-memory descriptor: fields, errors, and 260 descriptors made by a CUDA C++ template library."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.tcgen05 import CanonicalLayout, LegalityError, SmemDescriptor, canonical_layout, operand_slices

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


def read_by_hardware(found: CanonicalLayout) -> int:
    """Mask of the descriptor bits that the hardware reads for this layout."""
    mask = (1 << 64) - 1
    return mask & ~(LBO_FIELD if found.lbo is None else 0) & ~(SBO_FIELD if found.sbo is None else 0)


def is_legal(vector: dict[str, Any]) -> bool:
    """The vectors also cover combinations that the library lays out but the hardware does not multiply."""
    if vector["swizzle"] == "128B_base32B":
        return vector["dtype"] == "tf32"
    return vector["major"] == "K" or vector["dtype"] != "tf32"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['id']}-{v['major']}-{v['swizzle']}-{v['dtype']}")
def test_vectors(vector: dict[str, Any]):
    layout, shape, dtype = layout_of(vector["smem_layout"]), (vector["mn"], vector["k"]), vector["dtype"]
    table = layout.table(shape)["m"]
    for mn, k, address in vector["phys_samples"]:
        assert table[mn, k] == address
    wanted = int(vector["desc"], 16)
    step = vector["mma_k"] if vector["form"] == "mma_instr" else vector["k"]
    height = vector["mma_mn"] if vector["form"] == "mma_instr" else vector["mn"]
    if not is_legal(vector):
        with pytest.raises(LegalityError, match=f"which the hardware does not read for {dtype}") as caught:
            operand_slices(layout, shape, dtype, step, rows=(0, height))
        found = caught.value.nearest
        assert found is not None and (found.major, found.swizzle) == (vector["major"], vector["swizzle"])
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
        word = SmemDescriptor(part.offset_bytes, found.lbo, found.sbo, found.swizzle).encode()
        assert (word ^ int(desc, 16)) & read_by_hardware(found) == 0


@pytest.mark.parametrize("vector", VECTORS[::7], ids=lambda v: str(v["id"]))
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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((8, None, 0, "none"), "start address: expected a multiple of 16 bytes, got 8; nearest is 0"),
        ((0, 40, 0, "none"), "LBO: expected a multiple of 16 bytes, got 40; nearest is 32"),
        ((0, 0, 1 << 18, "none"), "SBO: expected 0 to 262128 bytes, got 262144"),
        ((-16, 0, 0, "none"), "start address: expected 0 to"),
        ((16, None, 0, "128B_base32B"), "multiple of the 32-byte atom of swizzle 128B_base32B, got 16"),
        ((0, None, 0, "256B"), "swizzle: expected one of none, 32B, 64B, 128B, 128B_base32B, got '256B'"),
        ((0, None, 0, "128B", 8), "matrix base offset: expected 0 to 7, got 8"),
        ((0, 16, 0, "64B", 0, True), "absolute LBO: expected swizzle 128B"),
        ((0, 16, 0, "128B", 1, True), "absolute LBO: expected matrix base offset 0, got 1"),
        ((0, None, 0, "128B", 0, True), "absolute LBO: expected the byte address"),
    ],
)
def test_fields_that_no_descriptor_holds(fields: tuple[Any, ...], message: str):
    with pytest.raises(LegalityError, match=message):
        SmemDescriptor(*fields)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (0, "bits 46-48: expected 0b001, got 0b000"),
        (1 << 46 | 1 << 14, "bits 14-15: expected 0, got 0x1"),
        (1 << 46 | 1 << 60, "bits 53-60: expected 0, got 0x80"),
        (1 << 46 | 3 << 61, r"bits 61-63: expected a swizzle mode \[0, 1, 2, 4, 6\], got 3"),
        (1 << 64, "expected a 64-bit"),
    ],
)
def test_words_that_are_no_descriptor(word: int, message: str):
    with pytest.raises(LegalityError, match=message):
        SmemDescriptor.decode(word)
