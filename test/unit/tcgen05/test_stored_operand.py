"""Padded 4-bit and packed 6-bit operands, followed element by element."""

import numpy as np
import pytest
from unit.cases import together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.smem.canonical import operand_slices
from tirx.smem.operand_tile import operand_tiles
from tirx.tcgen05.stored_operand import bitcast_to_words, is_padded, nibbles_of_slots, slots_of_nibbles, stored_slices

SHAPES = [(128, 128), (64, 32), (8, 64)]


@pytest.mark.parametrize("shape", SHAPES)
def test_places_and_slots(shape: tuple[int, int]):
    """Slot s is byte s; its element is the 4 bits s % 16 of the 16 bytes that it is in."""
    for tile in operand_tiles(shape, find_dtype("e2m1"), 8):
        slots = tile.layout.table(shape)["m"]
        nibbles = nibbles_of_slots(tile.layout)
        assert (nibbles.table(shape)["m"] == slots // 16 * 32 + slots % 16).all()
        assert (slots_of_nibbles(nibbles).table(shape)["m"] == slots).all()
        read = operand_slices(tile.layout, shape, "e2m1", 32, container_bits=8)
        assert stored_slices(nibbles, shape, "e2m1", 32, padded=True) == read


def test_an_offset_moves_whole_units():
    slots = TileLayout.parse("S[(8, 2, 16) : (16, 128, 1)] + 256")
    assert nibbles_of_slots(slots).axis_table("m", (8, 32))[0, 0] == 512
    assert slots_of_nibbles(nibbles_of_slots(slots)).equivalent(slots)


@pytest.mark.parametrize(
    "layout",
    [
        TileLayout.parse("S[(128, 64) : (64, 1)]"),  # packed
        TileLayout.parse("S[(128, 4, 16) : (128, 32, 1)] + 8"),  # into the padding
        ComposeLayout(SwizzleLayout(4, 3, 3), TileLayout.parse("S[(128, 4, 16) : (128, 32, 1)]")),  # splits 16 bytes
    ],
)
def test_elements_in_the_padding(layout: TileLayout | ComposeLayout):
    with pytest.raises(LegalityError, match=r"16 neighbours along K in the first 8 of every 16 bytes"):
        slots_of_nibbles(layout)


@together(
    "text",
    [
        "S[(3, 12, 2) : (384, 8, 4)]",
        "S[(6, 5) : (48, -3)] + 44",
        "S[(6, 8) : (48, -4)] + 62",
        "S[(6, 5) : (-48, 0)] + 600",
        "S[(6, 2, 4, 4) : (48, -16, 1, 4)] + 64",
        "S[(6, 3, 12) : (48, 16, 1)] + 36",
        "S[(6, 1) : (48, 33)]",
    ],
)
def test_any_order_inside_of_units(text: str):
    layout = TileLayout.parse(text)
    slots = layout.flat_table()["m"]
    nibbles = nibbles_of_slots(layout)
    assert (nibbles.flat_table()["m"] == slots // 16 * 32 + slots % 16).all()
    assert (slots_of_nibbles(nibbles).flat_table()["m"] == slots).all()


def test_slots_that_split_units():
    with pytest.raises(LegalityError, match="expected units of 16 neighbouring slots"):
        nibbles_of_slots(TileLayout.parse("S[(8, 24) : (48, 1)]"))


def test_the_suggestion_counts_places():
    layout = TileLayout.parse("S[(128, 8, 16) : (256, 32, 1)]")
    with pytest.raises(LegalityError) as error:
        stored_slices(layout, (128, 128), "e2m1", 32, padded=True)
    suggestion = error.value.suggestion
    assert suggestion is not None
    assert len(stored_slices(suggestion, (128, 128), "e2m1", 32, padded=True)) == 4
    assert str(error.value).endswith(
        "write #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 8, 16) : (256, 32, 1)]>>"
    )


def test_which_tiles_are_padded():
    assert is_padded("f8f6f4", "e2m1")
    assert is_padded("mxf8f6f4", "e2m1")
    assert not is_padded("mxf4", "e2m1")
    assert not is_padded("f8f6f4", "e2m3")  # its slots are what it is stored in
    assert not is_padded("f8f6f4", "e4m3")
    with pytest.raises(LegalityError, match="expected an operand type"):
        is_padded("mxf4", "e4m3")


@pytest.mark.parametrize("shape", SHAPES)
def test_words_of_6_bit_elements(shape: tuple[int, int]):
    """The three words of 16 elements are at the start of their 16 bytes in shared memory."""
    rows, k = shape
    for tile in operand_tiles(shape, find_dtype("e3m2"), 8):
        if tile.major != "K":
            continue
        first = tile.layout.table(shape)["m"][:, ::16]
        words = bitcast_to_words(tile.layout, shape, 4).table((rows, k // 16, 3))["m"]
        assert (words == (first // 4)[:, :, None] + np.arange(3)).all()
    packed = bitcast_to_words(TileLayout.parse(f"S[({rows}, {k}) : (256, 1)] + 32"), shape, 3)
    expected = 6 + 48 * np.arange(rows)[:, None] + np.arange(k // 16 * 3)
    assert (packed.table((rows, k // 16 * 3))["m"] == expected).all()


@together(
    ("layout", "shape", "message"),
    [
        (TileLayout.parse("S[(8, 24) : (24, 1)]"), (8, 24), "K in steps of 16, found 24"),
        (TileLayout.parse("S[(8, 32) : (1, 8)]"), (8, 32), "runs of 16 neighbours along K"),
        (TileLayout.parse("S[(8, 32) : (40, 1)]"), (8, 32), "runs of 16 neighbours along K"),
        (TileLayout.parse("S[(8, 32) : (32, 1)] + 4"), (8, 32), "runs of 16 neighbours along K"),
        (
            ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.parse("S[(8, 32) : (32, 1)]")),
            (8, 32),
            "a swizzle that keeps 16 bytes together",
        ),
    ],
)
def test_no_words(layout: TileLayout | ComposeLayout, shape: tuple[int, int], message: str):
    with pytest.raises(LegalityError, match=message):
        bitcast_to_words(layout, shape, 4)
