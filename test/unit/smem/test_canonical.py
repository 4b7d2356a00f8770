"""Canonical layouts: the seed's figures digit for digit, and what is refused, with the facts in the error."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, SwizzleMode, TileLayout, cute_shape
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.canonical_form import CanonicalLayoutError
from tirx.smem.pick import pick_operand_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.walk import read_addresses

# (CuTe text, type, major, swizzle, T, m, k, LBO in elements or None, SBO in elements, encoded LBO, encoded SBO)
FIGURES = [
    ("Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", "tf32", "K", "none", 4, 2, 2, 64, 32, 16, 8),
    ("Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", "tf32", "K", "32B", 4, 2, 2, None, 64, 1, 16),
    ("Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", "bf16", "MN", "none", 8, 2, 2, 128, 64, 16, 8),
    ("Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", "bf16", "MN", "32B", 8, 2, 2, 128, 256, 16, 32),
    ("Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", "bf16", "MN", "64B", 8, 2, 2, 256, 512, 32, 64),
]


def from_cute(text: str, dtype: str) -> tuple[ComposeLayout, tuple[int, int]]:
    mn, k = cute_shape(text.partition(" o ")[2])
    return ComposeLayout.from_cute(text, find_dtype(dtype).bits), (mn, k)


@together("figure", FIGURES)
def test_seed_figures(figure: tuple[str, str, str, str, int, int, int, int | None, int, int, int]):
    text, dtype, major, swizzle, t, m, k, lbo, sbo, lbo_field, sbo_field = figure
    layout, shape = from_cute(text, dtype)
    found = canonical_layout(layout, shape, dtype)
    size = find_dtype(dtype).bits // 8
    assert (found.major, found.swizzle, found.t, found.m, found.k) == (major, swizzle, t, m, k)
    assert found.lbo == (None if lbo is None else lbo * size)
    assert found.sbo == sbo * size
    word = found.descriptor().encode()
    assert (word >> 16 & 0x3FFF, word >> 32 & 0x3FFF) == (lbo_field, sbo_field)
    assert found.cute() == text


@pytest.mark.parametrize(("swizzle", "alignment"), [("32B", 256), ("64B", 512), ("128B", 1024)])
def test_base_alignment(swizzle: str, alignment: int):
    k = {"32B": 16, "64B": 32, "128B": 64}[swizzle]
    found = canonical_layout(pick_operand_layout((64, k), "f16"), (64, k))
    assert (found.swizzle, found.base_alignment) == (swizzle, alignment)
    assert found.descriptor(3 * alignment).start == 3 * alignment
    with pytest.raises(LegalityError, match=f"aligned to {alignment} bytes, found 16; nearest is 0"):
        found.descriptor(16)


def test_base_alignment_of_the_other_modes():
    assert canonical_layout(pick_operand_layout((64, 8), "f16"), (64, 8)).base_alignment == 16
    assert canonical_layout(pick_operand_layout((64, 8), "tf32", "MN"), (64, 8), "tf32").base_alignment == 1024


def test_how_a_layout_is_written_plays_no_role():
    tile = TileLayout.parse("S[(2, 64, 4, 16) : (4096, 64, 16, 1)]")
    assert canonical_layout(ComposeLayout(SwizzleLayout(3, 3, 3), tile), (128, 64)).swizzle == "128B"


def test_tile_inside_a_buffer_keeps_its_offset():
    layout = pick_operand_layout((128, 64), "f16")
    assert isinstance(layout, ComposeLayout)
    moved = ComposeLayout(layout.swizzle, layout.tile.with_offset(m=8192))
    found = canonical_layout(moved, (128, 64))
    assert (found.start, found.sbo) == (16384, 1024)
    assert found.descriptor(1024).start == 17408


def test_start_in_another_row_of_the_pattern_is_refused():
    layout = pick_operand_layout((128, 64), "f16")
    assert isinstance(layout, ComposeLayout)
    moved = ComposeLayout(layout.swizzle, layout.tile.with_offset(m=64))
    with pytest.raises(LegalityError, match="not canonical"):
        canonical_layout(moved, (128, 64))


def test_an_mn_major_slice_starts_with_an_atom():
    """Along MN the swizzle pattern is stepped over as a whole; K-major slices start inside of its first row."""
    layout = pick_operand_layout((128, 64), "f16", "MN")
    assert canonical_layout(layout, (128, 64)).swizzle == "128B"  # atoms of 64 rows
    assert operand_slices(layout, (128, 64), "f16", 16, rows=(64, 128))[0].offset_bytes == 64 * 64 * 2
    with pytest.raises(LegalityError, match="is not canonical: .*nearest canonical layout is MN-major, swizzle 128B"):
        operand_slices(layout, (128, 64), "f16", 16, rows=(16, 64))
    tile, swizzle = TileLayout.parse("S[(48, 64) : (1, 64)]"), SwizzleLayout(3, 3, 3)
    assert canonical_layout(ComposeLayout(swizzle, tile), (48, 64)).major == "MN"
    with pytest.raises(LegalityError, match="is not canonical"):
        canonical_layout(ComposeLayout(swizzle, tile.with_offset(m=16)), (48, 64))
    k_major = pick_operand_layout((128, 64), "f16", "K")
    assert [part.offset_bytes for part in operand_slices(k_major, (128, 64), "f16", 16)] == [0, 32, 64, 96]
    plain = TileLayout.parse("S[(16, 8, 8, 8) : (64, 1, 1024, 8)]")  # no swizzle: every 8 rows are an atom
    assert operand_slices(plain, (128, 64), "f16", 16, rows=(16, 64))[0].offset_bytes == 256


def test_row_major_misses_only_its_swizzle():
    with pytest.raises(CanonicalLayoutError, match="of which only the swizzle is missing") as caught:
        canonical_layout(TileLayout.parse("S[(128, 64) : (64, 1)]"), (128, 64))
    error = caught.value
    assert (error.element, error.expected, error.found) == ((1, 0), 144, 128)
    assert error.nearest is not None and error.nearest.swizzle == "128B"


def test_padded_rows_name_the_first_element():
    tile = TileLayout.parse("S[(128, 64) : (72, 1)]")
    with pytest.raises(LegalityError) as caught:
        canonical_layout(tile, (128, 64))
    error = caught.value
    assert error.element is not None and error.nearest is not None
    table = tile.table((128, 64))["m"] * 2
    assert error.found == table[error.element] != error.expected


def test_stride_that_no_field_holds_is_refused():
    tile = TileLayout.parse("S[(2, 8, 2, 8) : (132, 8, 64, 1)]")  # SBO of 264 bytes is no multiple of 16
    with pytest.raises(LegalityError, match=r"element \(8, 0\)"):
        canonical_layout(tile, (16, 16))
    tile = TileLayout.parse("S[(2, 8, 2, 8) : (131072, 8, 64, 1)]")  # 2**18 bytes
    with pytest.raises(LegalityError, match=r"element \(8, 0\)"):
        canonical_layout(tile, (16, 16))


@together("swizzle", ["none", "32B", "64B", "128B"])
def test_tf32_is_mn_major_only_with_32_byte_atoms(swizzle: SwizzleMode):
    row = {"none": 4, "32B": 8, "64B": 16, "128B": 32}[swizzle]
    tile = TileLayout.parse(f"S[({64 // row}, {row}, 8) : ({row * 8}, 1, {row})]")
    layout = ComposeLayout(SwizzleLayout.for_dtype("tf32", swizzle), tile)
    with pytest.raises(CanonicalLayoutError, match="MN-major 128B_base32B") as caught:
        canonical_layout(layout, (64, 8), "tf32")
    assert caught.value.nearest.swizzle == swizzle


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_only_tf32_uses_32_byte_atoms(dtype: str):
    tile = TileLayout.parse("S[(2, 64, 16) : (1024, 1, 64)]")
    layout = ComposeLayout(SwizzleLayout.for_dtype(dtype, "128B_base32B"), tile)
    with pytest.raises(LegalityError, match="MN-major with swizzle 128B_base32B, which the hardware does not read"):
        canonical_layout(layout, (128, 16), dtype)


def test_sub_byte_types_are_never_mn_major():
    layout = ComposeLayout(SwizzleLayout.for_bits(8, "64B"), TileLayout.parse("S[(64, 16) : (1, 64)]"))
    with pytest.raises(LegalityError, match="MN-major not at all"):
        canonical_layout(layout, (64, 16), "e3m2")
    with pytest.raises(LegalityError, match="no MN-major layout"):
        pick_operand_layout((64, 64), "e2m1", "MN")


def test_padded_e2m1_uses_byte_containers():
    layout = pick_operand_layout((64, 128), "e2m1", container_bits=8)
    found = canonical_layout(layout, (64, 128), "e2m1", container_bits=8)
    assert (found.swizzle, found.t, found.sbo) == ("128B", 16, 1024)
    with pytest.raises(LegalityError, match=r"element \(1, 0\) is expected at byte 64 of the tile and is at byte 72"):
        canonical_layout(layout, (64, 128), "e2m1")


@together(
    ("shape", "dtype", "message"),
    [
        ((12, 64), "f16", "MN in steps of 8, found 12; nearest is 16"),
        ((16, 20), "f16", r"K in steps of 8 elements of f16 \(16 bytes\), found 20; nearest is 16"),
        ((16, 64), "f32", "found f32; f32 data are multiplied as tf32"),
        ((16, 64), "f17", "unknown element type 'f17'"),
    ],
)
def test_shapes_and_types_that_no_operand_has(shape: tuple[int, int], dtype: str, message: str):
    with pytest.raises(LegalityError, match=message):
        canonical_layout(TileLayout.row_major(shape), shape, dtype)


def test_other_axes_and_replicas_are_refused():
    with pytest.raises(LegalityError, match="^expected a shared-memory layout, on axis m only, found axis TLane$"):
        canonical_layout(TileLayout.parse("S[(16, 16) : (1@TLane, 1)]"), (16, 16))
    with pytest.raises(LegalityError, match="replicas"):
        canonical_layout(TileLayout.parse("S[(16, 16) : (16, 1)] + R[2 : 256]"), (16, 16))


def test_slices_may_lie_anywhere():
    # K in two halves, 1024 bytes apart.
    layout = TileLayout.parse("S[(2, 8, 2, 2, 8) : (64, 8, 512, 128, 1)]")
    parts = operand_slices(layout, (16, 32), "f16", 16)
    assert [part.offset_bytes for part in parts] == [0, 1024]
    assert (parts[0].canonical.lbo, parts[0].canonical.sbo) == (256, 128)


def test_slices_must_share_one_descriptor():
    # Four 16-byte columns: the last one lies 8 elements further than the pitch of the others says.
    class Uneven(TileLayout):
        def table(self, shape: Sequence[int] | None = None) -> dict[str, NDArray[np.int64]]:
            table = super().table(shape)["m"]
            table[:, 24:] += 8
            return {"m": table}

    layout = Uneven(TileLayout.parse("S[(2, 8, 4, 8) : (256, 8, 64, 1)]").shard)
    with pytest.raises(LegalityError, match=r"the layout of K elements \[16, 32\) is not canonical") as caught:
        operand_slices(layout, (16, 32), "f16", 16)
    error = caught.value
    assert (error.element, error.expected, error.found) == ((0, 24), 384, 400)


def test_k_steps_of_the_instruction():
    layout = pick_operand_layout((16, 32), "f16")
    with pytest.raises(LegalityError, match="K in steps of 24 elements, one per instruction, found 32"):
        operand_slices(layout, (16, 32), "f16", 24)
    with pytest.raises(LegalityError, match=r"instructions of K in steps of 8 elements \(16 bytes\), found 4"):
        operand_slices(layout, (16, 32), "f16", 4)


def test_rows_of_a_larger_tile():
    layout = pick_operand_layout((256, 64), "f16")
    lower, upper = (operand_slices(layout, (256, 64), "f16", 16, rows=r) for r in ((0, 128), (128, 256)))
    assert [part.offset_bytes for part in lower] == [0, 32, 64, 96]
    assert [part.offset_bytes for part in upper] == [16384, 16416, 16448, 16480]
    assert lower[0].canonical == upper[0].canonical
    with pytest.raises(LegalityError, match="steps of 8"):
        operand_slices(layout, (256, 64), "f16", 16, rows=(4, 128))


def test_moving_any_element_is_noticed():
    layout = pick_operand_layout((64, 32), "f16")
    assert isinstance(layout, ComposeLayout)
    table = layout.table((64, 32))["m"]

    class Given(TileLayout):
        def table(self, shape: Sequence[int] | None = None) -> dict[str, NDArray[np.int64]]:
            return {"m": table}

    moved = Given(layout.tile.shard)
    assert canonical_layout(moved, (64, 32)).swizzle == "64B"
    rng = np.random.default_rng(0)
    for row, column in zip(rng.integers(0, 64, 20), rng.integers(1, 32, 20), strict=True):
        table[row, column] += 1
        with pytest.raises(LegalityError, match="the layout is not canonical"):
            canonical_layout(moved, (64, 32))
        table[row, column] -= 1


# ---- absolute LBO mode: 48 bytes of K a step, over 128-byte rows


def test_steps_of_48_bytes_cross_rows_only_in_absolute_mode():
    shape = (128, 768)
    layout = pick_operand_layout(shape, "e2m1")
    with pytest.raises(LegalityError, match=r"\(0, 256\), at byte 16384 .* past the 128-byte row") as caught:
        operand_slices(layout, shape, "e2m1", 96)
    assert "in absolute LBO mode (sm_103a, " in str(caught.value)
    assert caught.value.expected is None and caught.value.suggestion is not None
    assert len(operand_slices(caught.value.suggestion, shape, "e2m1", 96)) == 8
    parts = operand_slices(layout, shape, "e2m1", 96, absolute_lbo=True)
    table = layout.table(shape)["m"] * 4
    base = 5 * 1024
    for step, part in enumerate(parts):
        crossing = step in (2, 5)
        assert part.canonical.lbo_absolute == crossing
        assert part.canonical.lbo == ({2: 16384, 5: 32768}[step] if crossing else None)
        descriptor = SmemDescriptor.decode(part.descriptor(base).encode())
        descriptor.verify("e2m1", "K", k_bytes=48, target="sm_103a")
        read = read_addresses(descriptor, "K", (128, 96), 4)
        assert (read - base * 8 == table[:, step * 96 : step * 96 + 96]).all()


@pytest.mark.parametrize(("swizzle", "row"), [("32B", 64), ("64B", 128)])
def test_absolute_mode_is_that_of_the_128_byte_swizzle(swizzle: SwizzleMode, row: int):
    tile = TileLayout.parse(f"S[(64, {384 // row}, {row}) : ({row}, {64 * row}, 1)]")
    layout = ComposeLayout(SwizzleLayout.for_dtype("e2m1", swizzle), tile)
    with pytest.raises(LegalityError) as caught:
        operand_slices(layout, (64, 384), "e2m1", 96, absolute_lbo=True)
    assert "absolute" not in str(caught.value)
    assert caught.value.suggestion is not None
    operand_slices(caught.value.suggestion, (64, 384), "e2m1", 96, absolute_lbo=True)


def test_the_second_chunk_must_be_aligned():
    swizzle = SwizzleLayout.for_dtype("e2m1", "128B")
    apart = ComposeLayout(swizzle, TileLayout.parse("S[(64, 3, 256) : (256, 18432, 1)]"))  # chunks 9 KiB apart
    found = operand_slices(apart, (64, 768), "e2m1", 96, absolute_lbo=True)[2]
    assert (found.offset_bytes, found.canonical.lbo) == (96, 9216)
    off = ComposeLayout(swizzle, TileLayout.parse("S[(64, 3, 256) : (256, 16640, 1)]"))  # 128 bytes off
    with pytest.raises(LegalityError, match=r"K elements \[192, 288\)"):
        operand_slices(off, (64, 768), "e2m1", 96, absolute_lbo=True)


# ---- what the errors suggest


def suggested(error: LegalityError) -> ComposeLayout | TileLayout:
    text = str(error).rpartition("; write ")[2]
    return ComposeLayout.parse(text) if text.startswith("#tirx.compose") else TileLayout.parse(text)


@together(
    ("text", "shape", "suggestion"),
    [
        ("S[(128, 64) : (64, 1)]", (128, 64), "K 128B"),
        ("S[(128, 128) : (128, 1)]", (128, 128), "K 128B"),
        ("S[(128, 64) : (72, 1)]", (128, 64), "K 128B"),
        ("S[(128, 48) : (48, 1)]", (128, 48), "K 32B"),
        ("S[(128, 64) : (1, 128)]", (128, 64), "MN 128B"),
        ("S[(96, 64) : (1, 96)]", (96, 64), "MN 64B"),
        ("S[(64, 4, 16) : (16, 2048, 1)]", (64, 64), "K 32B"),
    ],
)
def test_the_whole_tile_is_suggested(text: str, shape: tuple[int, int], suggestion: str):
    with pytest.raises(LegalityError) as caught:
        operand_slices(TileLayout.parse(text), shape, "f16", 16)
    layout = suggested(caught.value)
    parts = operand_slices(layout, shape, "f16", 16)
    assert f"{parts[0].canonical.major} {parts[0].canonical.swizzle}" == suggestion
    assert layout == caught.value.suggestion


def test_a_tile_that_needs_one_descriptor_per_step():
    layout = pick_operand_layout((128, 128), "f16")
    with pytest.raises(LegalityError, match="one descriptor for every 64 elements of K, not one for all 128") as caught:
        canonical_layout(layout, (128, 128))
    assert caught.value.element == (0, 64) and caught.value.nearest is not None


def test_k_major_has_no_32_byte_atoms():
    layout = ComposeLayout(SwizzleLayout.for_dtype("tf32", "128B_base32B"), TileLayout.parse("S[(16, 32) : (32, 1)]"))
    with pytest.raises(LegalityError, match="K-major with swizzle 128B_base32B, which the hardware does not read"):
        canonical_layout(layout, (16, 32), "tf32")


def test_elements_outside_shared_memory():
    with pytest.raises(LegalityError, match=r"from byte 0 to 262143 .* element \(8, 0\) is at byte 262144") as caught:
        canonical_layout(TileLayout.parse("S[(2, 8, 8) : (64, 8, 1)] + 131008"), (16, 8))
    assert caught.value.element == (8, 0)


@pytest.mark.parametrize("shape", [(64,), (8, 64, 2)])
def test_an_operand_has_two_dimensions(shape: tuple[int, int]) -> None:
    layout = TileLayout.row_major(shape)
    with pytest.raises(LegalityError, match=rf"expected an operand of shape \(MN, K\), found rank {len(shape)}"):
        canonical_layout(layout, shape, "f16")
    with pytest.raises(LegalityError, match=r"expected an operand of shape \(MN, K\)"):
        operand_slices(layout, shape, "f16", 16)


@pytest.mark.parametrize(
    ("dtype", "shape", "container", "message"),
    [
        ("f16", (64, 64), 8, "f16: expected a container of 16 bits, found 8"),
        ("f16", (0, 64), None, "expected a positive MN, found 0"),
    ],
)
def test_what_has_no_canonical_layout(dtype: str, shape: tuple[int, int], container: int | None, message: str) -> None:
    with pytest.raises(LegalityError, match=message):
        canonical_layout(TileLayout.row_major((64, 64)), shape, dtype, container_bits=container)
