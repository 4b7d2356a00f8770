"""The bytes of tensor maps: what is encoded is decoded, and limits are those of the driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.cases import together

from tirx.copy.tensor_map_bits import ELEMENTS, FIELDS, FILLS, L2_PROMOTIONS, SWIZZLES, TensorMapBits
from tirx.explain import explain_tensor_map
from tirx.hw.errors import LegalityError


@st.composite
def _maps(draw: st.DrawFn) -> TensorMapBits:
    rank = draw(st.integers(1, 5))
    return TensorMapBits(
        draw(st.integers(0, (1 << 59) - 1)) * 16,
        draw(st.sampled_from(["f16", "f32", "tf32", "bf16", "u8", "tf32.ftz"])),
        tuple(draw(st.lists(st.integers(1, 1 << 32), min_size=rank, max_size=rank))),
        tuple(draw(st.lists(st.integers(0, (1 << 36) - 1), min_size=rank - 1, max_size=rank - 1).map(
            lambda each: [x * 16 for x in each]))),
        (16, *draw(st.lists(st.integers(1, 256), min_size=rank - 1, max_size=rank - 1))),
        tuple(draw(st.lists(st.integers(1, 8), min_size=rank, max_size=rank))),
        draw(st.sampled_from(["none", "64B", "128B", "128B_atom_32B"])),
        "none",
        draw(st.sampled_from(["zero", "nan"])),
    )  # fmt: skip


@given(_maps())
@settings(max_examples=60)
def test_round_trip(tensor_map: TensorMapBits) -> None:
    assert TensorMapBits.decode(tensor_map.encode()) == tensor_map


_NAMES = ("none", "32B", "64B", "128B")
_RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/tensor_maps.json").read_text())


def _bytes(recorded: dict[str, Any]) -> bytes:
    return bytes.fromhex(recorded["bytes"].ljust(256, "0"))


def test_bytes_of_the_driver() -> None:
    """Words of tensor maps are those of cuTensorMapEncodeTiled, byte for byte."""
    for recorded in _RECORDED:
        if recorded["kind"] != "tiled":
            continue
        tensor_map = TensorMapBits(
            recorded["address"],
            recorded["type"],
            tuple(recorded["dims"]),
            tuple(recorded["strides"]),
            tuple(recorded["box"]),
            tuple(recorded["steps"]),
            _NAMES[int(recorded["swizzle"])],
            fill=FILLS[int(recorded["fill"])],
            l2_promotion=L2_PROMOTIONS[int(recorded["l2"])],
        )
        assert tensor_map.encode() == _bytes(recorded)
        assert TensorMapBits.decode(_bytes(recorded)) == tensor_map


def test_im2col_maps_of_the_driver() -> None:
    for recorded in _RECORDED:
        if recorded["kind"] == "im2col":
            notes = dict(explain_tensor_map(_bytes(recorded)).notes)
            assert f"corners {recorded['lower']} and {recorded['upper']}" in notes["bounding box"]
            assert notes["copy"].startswith(f"{recorded['pixels']} pixels of {recorded['channels']} channels")
            with pytest.raises(LegalityError, match="found one for im2col"):
                TensorMapBits.decode(_bytes(recorded))


def test_fields_do_not_overlap() -> None:
    bits = [bit for first, width in FIELDS.values() for bit in range(first, first + width)]
    assert len(bits) == len(set(bits)) and max(bits) < 1024


@together(
    ("changes", "message"),
    [
        ({"strides": (8,)}, "global stride 0: expected 0 to"),
        ({"box": (64, 300)}, "box dimension 1: expected 1 to 256"),
        ({"box": (128, 8)}, "of at most 128, the row of swizzle 128B, found 256"),
        ({"element": "f8"}, "element type: expected one of u8"),
        ({"swizzle": "16B"}, "swizzle: expected one of none"),
        ({"strides": ()}, "expected 1 to 5 dimensions"),
        ({"address": 8}, "global address 0: expected 0 to"),
    ],
)
def test_limits(changes: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {
        "address": 0, "element": "f16", "dims": (64, 64), "strides": (128,), "box": (64, 8), "swizzle": "128B",
    }  # fmt: skip
    with pytest.raises(LegalityError, match=message):
        TensorMapBits(**(fields | changes)).encode()  # pyright: ignore[reportArgumentType]


@together(
    ("element", "elements", "expected"),
    [("u8", 128, 128), ("f16", 64, 128), ("f64", 16, 128), ("tf32", 32, 128), ("b4x16", 256, 128),
     ("b4x16_p64", 128, 128), ("b6x16_p32", 128, 128)],
)  # fmt: skip
def test_bytes_of_a_row_of_a_box(element: str, elements: int, expected: int) -> None:
    """Elements of 4 and 6 bits with padding take a byte each."""
    assert TensorMapBits(0, element, (1024,), (), (elements,)).box_row_bytes == expected


def test_names_have_codes() -> None:
    assert len(ELEMENTS) <= 16 and len(set(SWIZZLES.values())) == len(SWIZZLES)
    with pytest.raises(LegalityError, match="rank: expected 1 to 5"):
        TensorMapBits.decode(bytes([*[0] * 8, 0x70, *[0] * 119]))
    with pytest.raises(LegalityError, match="expected the 128 bytes of a tensor map, found 4"):
        TensorMapBits.decode(bytes(4))
    codes = {
        "element": (15, "expected a code from 0 to 13, found 15"),
        "interleave": (3, "expected a code from 0 to 2, found 3"),
        "swizzle_96B": (1, r"expected codes \[\(0, 0, 0\), .*\], found \(1, 0, 1\)"),
    }
    for name, (code, expected) in codes.items():
        word = code << FIELDS[name][0] | (1 << FIELDS["swizzle"][0] if name == "swizzle_96B" else 0)
        with pytest.raises(LegalityError, match=f"^{name.partition('_')[0]}: {expected}$"):
            TensorMapBits.decode(word.to_bytes(128, "little"))
