"""Operations on layouts: results and messages that random tests do not pin down."""

import numpy as np
import pytest
from unit.cases import together

from tirx.layout import (
    ComposeLayout,
    LayoutError,
    SwizzleLayout,
    SwizzleMode,
    TileLayout,
    axis,
    cute_shape,
    element_type,
    parse_layout,
    resolve,
)


def tile(text: str) -> TileLayout:
    return TileLayout.parse(text)


def test_domain_is_checked() -> None:
    layout = tile("S[(8, 8) : (10, 1)]")
    with pytest.raises(LayoutError, match="flat index 64 is outside the layout of 64 elements"):
        layout.apply(64)
    with pytest.raises(LayoutError, match="flat index -1 is outside"):
        layout.apply(-1)
    with pytest.raises(LayoutError, match=r"the layout has 64 elements, shape \(4, 8\) has 32"):
        layout.apply((0, 0), (4, 8))
    with pytest.raises(LayoutError, match=r"coordinate \(0, 8\) is outside shape \(8, 8\): 8 is not in 0..7"):
        layout.owners((0, 8), (8, 8))
    with pytest.raises(LayoutError, match=r"expected a coordinate of rank 2 for shape \(8, 8\), found \(1,\)"):
        layout.apply((1,))
    with pytest.raises(LayoutError, match=r"every extent of a shape must be positive, found \(-8, -8\)"):
        layout.table((-8, -8))
    assert layout.apply((1, 2)) == {"m": 12}
    assert layout.apply(np.int64(10)) == {"m": 12}


def test_axes_only_in_replica_or_offset_have_a_base() -> None:
    layout = tile("S[2 : 1] + R[2 : 4@warpid] + 3@laneid")
    assert layout.apply(1) == {"m": 1, "warpid": 0, "laneid": 3}
    assert layout.axis_table("TCol", (2,)).tolist() == [0, 0]


def test_empty_shard() -> None:
    layout = tile("S[] + 3@laneid")
    assert layout.size() == 1
    assert layout.apply(()) == layout.apply(0) == {"laneid": 3}
    assert layout.table((1, 1))["laneid"].tolist() == [[3]]
    assert layout.group((1, 1))[1] == (0, 1, 2)
    assert layout.group(())[1] == layout.group_many([()])[1][0] == (0,)
    assert tile("S[1 : 5] + 3@laneid").canonicalize() == layout
    assert layout.is_injective()


def test_canonical_form_of_replicas() -> None:
    assert str(tile("S[2 : 1] + R[(2, 2) : (2@laneid, 1@laneid)]").canonicalize()) == "S[2 : 1] + R[4 : 1@laneid]"
    assert str(tile("S[2 : 1] + R[(2, 1, 3) : (-2, 7, 0)]").canonicalize()) == "S[2 : 1] + R[2 : 2] - 2"
    # {0, 2, ..., 8, 10}: as many of the smallest steps as possible.
    assert str(tile("S[2 : 64] + R[(3, 3) : (2, 3)]").canonicalize()) == "S[2 : 64] + R[(3, 3) : (3, 2)]"
    # {0, 2, 3, 5, 7, 8, 10}: seven places are no sum of disjoint runs.
    odd = tile("S[2 : 64] + R[(2, 2, 2) : (3, 2, 5)]")
    assert str(odd.canonicalize()) == "S[2 : 64] + R[(2, 2, 2) : (5, 3, 2)]"
    assert odd.equivalent(tile("S[2 : 64] + R[(2, 2, 2) : (-3, 2, 5)] + 3"))
    assert not odd.equivalent(tile("S[2 : 64] + R[(2, 2, 2) : (3, 2, 4)]"))


def test_broadcast_iters_take_an_axis_of_the_layout() -> None:
    scale = tile("S[(32, 2, 2) : (1@TLane, 0@TCol, 0@TLane)]")
    assert str(scale.canonicalize()) == "S[(32, 4) : (1@TLane, 0@TLane)]"
    assert scale.equivalent(tile("S[(32, 4) : (1@TLane, 0)]"))


def test_fuse_threads() -> None:
    fused = {
        "S[(4, 32) : (1@warpid, 1@laneid)]": "S[128 : 1@tx]",
        "S[(4, 32) : (1@wid_in_wg, 1@laneid)]": "S[128 : 1@tid_in_wg]",
        "S[(2, 4) : (1@wgid, 1@wid_in_wg)] + 3@wgid": "S[8 : 1@warpid] + 12@warpid",
        "S[(2, 128) : (1@wgid, 1@tid_in_wg)]": "S[256 : 1@tx]",
        "S[32 : 1@laneid]": "S[32 : 1@laneid]",
        "S[(4, 32, 8) : (1@bx, 1@tid, 1)]": "S[(4, 32, 8) : (1@bx, 1@tx, 1)]",
    }
    for before, after in fused.items():
        assert str(tile(before).fuse_threads()) == after
        assert tile(before).canonicalize(fuse_threads=True) == tile(after)
    with pytest.raises(LayoutError, match="'laneid' .thread in warp. and 'wgid' .warpgroup in cta. leave a level open"):
        tile("S[(2, 32) : (1@wgid, 1@laneid)]").fuse_threads()
    with pytest.raises(LayoutError, match="overlap"):
        tile("S[(2, 32) : (1@warpid, 1@tid_in_wg)]").fuse_threads()
    with pytest.raises(LayoutError, match="overlap"):
        tile("S[(2, 32) : (1@laneid, 1@tx)]").fuse_threads()


def test_fusing_keeps_the_thread() -> None:
    """A fused layout names the thread that the separate axes name."""
    layout = tile("S[(32, 4, 2) : (1@laneid, 1@wid_in_wg, 1@wgid)]")
    threads = layout.fuse_threads().flat_table()["tx"]
    for name, values in layout.flat_table().items():
        assert (axis(name).of_thread(threads) == values).all()


def test_check_bounds() -> None:
    tile("S[(128, 1024) : (1@TLane, 1@TCol)]").check_bounds(16)
    with pytest.raises(LayoutError, match="axis 'TCol' must stay in 0..511, the layout .* reaches 0..1023"):
        tile("S[(128, 1024) : (1@TLane, 1@TCol)]").check_bounds(32)
    with pytest.raises(LayoutError, match="axis 'TLane' must stay in 0..127, the layout .* reaches 16..143"):
        tile("S[128 : 1@TLane] + 16@TLane").check_bounds()
    with pytest.raises(LayoutError, match="axis 'm' must stay in 0 or more"):
        tile("S[8 : -1]").check_bounds()


def test_tile_scales_by_extent_not_by_end() -> None:
    """The offset of the inner layout does not space the copies apart; replica and offset of the outer are scaled."""
    inner, outer = tile("S[8 : 1] + 5"), tile("S[4 : 1] + R[2 : 4] + 1")
    assert inner.tile(outer, (4,), (8,)) == tile("S[32 : 1] + R[2 : 32] + 13")
    # Negative strides: the span is that of the footprint.
    assert tile("S[4 : -1] + 3").tile(tile("S[2 : 1]"), (2,), (4,)) == tile("S[(2, 4) : (4, -1)] + 3")
    # Holes are kept.
    assert tile("S[(4, 2) : (4, 1)]").tile(tile("S[2 : 1]"), (2,), (8,)) == tile("S[(2, 4, 2) : (14, 4, 1)]")


def test_tile_errors() -> None:
    with pytest.raises(LayoutError, match=r"expected shapes of one rank, found \(4,\) and \(2, 4\)"):
        tile("S[8 : 1]").tile(tile("S[4 : 1]"), (4,), (2, 4))
    with pytest.raises(LayoutError, match=r"the layout has 8 elements, shape \(2, 3\) has 6"):
        tile("S[8 : 1]").tile(tile("S[4 : 1]"), (4, 1), (2, 3))
    with pytest.raises(LayoutError, match=r"dimension 1 of shape \(4, 3\) does not line up"):
        tile("S[(6, 2) : (5, 1)]").tile(tile("S[4 : 1]"), (2, 2), (4, 3))


@together(
    ("text", "shape", "expected", "separators"),
    [
        ("S[(2, 1, 2) : (1, 7, 2)]", (2, 2), "S[(2, 2) : (1, 2)]", (0, 1, 2)),
        ("S[(2, 1, 2) : (1, 7, 2)]", (2, 1, 2), "S[(2, 1, 2) : (1, 7, 2)]", (0, 1, 2, 3)),
        ("S[(1, 2, 2, 1) : (1, 1, 2, 1)]", (1, 2, 2), "S[(1, 2, 2) : (1, 1, 2)]", (0, 1, 2, 3)),
        ("S[(1, 4, 1) : (5, 1, 6)]", (1, 2, 2, 1), "S[(1, 2, 2, 1) : (5, 2, 1, 6)]", (0, 1, 2, 3, 4)),
        ("S[(1, 1) : (5, 6)] + R[(1, 2) : (1, 8)]", (), "S[] + R[(1, 2) : (1, 8)]", (0,)),
    ],
)
def test_group_keeps_the_unit_iters_that_dimensions_ask_for(
    text: str, shape: tuple[int, ...], expected: str, separators: tuple[int, ...]
) -> None:
    assert tile(text).group(shape) == (tile(expected), separators)


@pytest.mark.parametrize(
    ("text", "shapes", "separators"),
    [
        ("S[8 : 1]", [(2, 1, 1, 4), (2, 1, 4), (2, 4), (4, 2)], [(0, 1, 2, 3, 5), (0, 1, 2, 5), (0, 1, 5), (0, 4, 5)]),
        ("S[4 : 1]", [(1, 1, 4, 1, 1), (1, 4, 1), (4,)], [(0, 1, 2, 3, 4, 5), (0, 1, 3, 5), (0, 5)]),
        ("S[(2, 1, 2, 1) : (1, 1, 2, 1)]", [(2, 2)], [(0, 1, 4)]),
    ],
)
def test_unit_iters_of_other_shapes_belong_to_the_dimension_inside(
    text: str, shapes: list[tuple[int, ...]], separators: list[tuple[int, ...]]
) -> None:
    assert tile(text).group_many(shapes)[1] == tuple(separators)


def test_group_many() -> None:
    layout = tile("S[(8, 16) : (16, 1)] + 3@laneid")
    grouped, seps = layout.group_many([(4, 32), (8, 4, 4), (2, 64)])
    assert grouped == tile("S[(2, 2, 2, 4, 4) : (64, 32, 16, 4, 1)] + 3@laneid")
    assert seps == ((0, 2, 5), (0, 3, 4, 5), (0, 1, 5))
    assert layout.group_many([]) == (layout, ())
    # A unit dimension owns a unit iter; to other shapes it belongs to the dimension inside.
    grouped, seps = layout.group_many([(8, 1, 16), (8, 16), (1, 128, 1)])
    assert grouped.extents == (1, 8, 1, 16, 1)
    assert seps == ((0, 2, 3, 5), (0, 2, 5), (0, 1, 4, 5))
    with pytest.raises(
        LayoutError,
        match=(
            r"^dimensions of the shapes \(6, 2\), \(4, 3\) or iters begin at the innermost 2 and at the "
            "innermost 3 elements, and 2 does not divide 3$"
        ),
    ):
        tile("S[12 : 1]").group_many([(6, 2), (4, 3)])
    with pytest.raises(LayoutError, match=r"the layout has 12 elements, shape \(6,\) has 6"):
        tile("S[12 : 1]").group_many([(6,)])


def test_tile_atoms_in_column_order() -> None:
    """The usual swizzled operand: 8x64 atoms down the rows first, then across."""
    atom = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64)))
    operand = atom.tile_by(tile("S[(16, 2) : (1, 16)]"), (16, 2), (8, 64))
    i, j = np.indices((128, 128))
    expected = 8192 * (j // 64) + 64 * i + 8 * ((j // 8 % 8) ^ (i % 8)) + j % 8
    assert (operand.table((128, 128))["m"] == expected).all()
    with pytest.raises(LayoutError, match="period 512 elements, the tile spans 256"):
        ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((4, 64))).tile_by(tile("S[2 : 1]"), (2, 1), (4, 64))


def test_slice_errors_say_how_far() -> None:
    layout = tile("S[(4, 4) : (16, 1)]")
    with pytest.raises(LayoutError) as caught:
        layout.slice((16,), [(2, 7)])
    assert str(caught.value) == (
        "no tile layout describes [2, 7) of dimension 0 of shape (16,): "
        "the longest part from 2 that one does starts with [2, 4)"
    )
    assert layout.slice((16,), [(2, 4)]) == tile("S[2 : 1] + 2")
    # A straddle in the middle is strided as well: 2 + 2 elements, 16 apart.
    assert layout.slice((16,), [(2, 6)]) == tile("S[(2, 2) : (14, 1)] + 2")
    with pytest.raises(LayoutError, match=r"dimension 0 of the region must satisfy .* <= 16, found \(8, 24\)"):
        layout.slice((16,), [(8, 24)])
    with pytest.raises(LayoutError, match=r"found \(4, 4\)"):
        layout.slice((16,), [(4, 4)])
    with pytest.raises(LayoutError, match="expected a region of rank 2 .* found rank 1"):
        layout.slice((4, 4), [(0, 4)])


def test_slice_across_axes_is_not_strided() -> None:
    layout = tile("S[(4, 2) : (1@laneid, 1)]")
    assert layout.slice((8,), [(2, 6)]) == tile("S[(2, 2) : (1@laneid, 1)] + 1@laneid")
    assert layout.slice((8,), [(1, 2)]) == tile("S[] + 1")
    with pytest.raises(LayoutError, match=r"\[1, 3\) of dimension 0 .* starts with \[1, 2\)"):
        layout.slice((8,), [(1, 3)])


def test_slice_of_a_swizzled_tile_keeps_the_offset_inside() -> None:
    layout = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64)))
    part = layout.slice((8, 64), [(1, 3), (16, 32)])
    assert part.tile == tile("S[(2, 16) : (64, 1)] + 80")
    assert (part.table((2, 16))["m"] == layout.table((8, 64))["m"][1:3, 16:32]).all()


def test_permute() -> None:
    layout = tile("S[(2, 4, 8) : (32, 8, 1)]")
    assert layout.permute((2, 0, 1)) == tile("S[(8, 2, 4) : (1, 32, 8)]")
    assert layout.permute((1, 0), (8, 8)) == tile("S[(8, 2, 4) : (1, 32, 8)]")
    with pytest.raises(LayoutError, match=r"expected a permutation of 0..1, found \(0, 0\)"):
        layout.permute((0, 0), (8, 8))


def test_pack() -> None:
    fragment = tile("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)] + 2")
    assert fragment.pack(2) == tile("S[32 : 1@laneid] + 1")
    assert fragment.pack(2).unpack(2).equivalent(fragment)
    with pytest.raises(LayoutError, match="expected 2 contiguous elements on axis m innermost"):
        tile("S[(2, 8) : (1, 2)]").pack(2)
    with pytest.raises(LayoutError, match="strides and offsets on axis m must be multiples of 2, found 9"):
        tile("S[(4, 8) : (9, 1)]").pack(2)
    with pytest.raises(LayoutError, match="expected a factor that divides the 6 elements, found 4"):
        tile("S[6 : 1]").pack(4)


@together(
    ("text", "notation", "shape"),
    [
        ("((8,2),(4,4)):((4,32),(1,64))", "S[(2, 8, 4, 4) : (32, 4, 64, 1)]", (16, 16)),
        ("((8,1,2),(8,2)):((1,8,64),(8,128))", "S[(2, 1, 8, 2, 8) : (64, 8, 1, 128, 8)]", (16, 16)),
        ("(8,64):(64,1)", "S[(8, 64) : (64, 1)]", (8, 64)),
        ("((4,2)):((1,8))", "S[(2, 4) : (8, 1)]", (8,)),
        ("8:2", "S[8 : 2]", (8,)),
    ],
)
def test_cute(text: str, notation: str, shape: tuple[int, ...]) -> None:
    layout = TileLayout.from_cute(text)
    assert layout == tile(notation)
    assert cute_shape(text) == shape
    assert layout.to_cute(shape) == text


@together(
    ("text", "element_bits", "mode"),
    [
        ("Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", 32, "none"),
        ("Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", 32, "32B"),
        ("Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", 16, "none"),
        ("Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", 16, "32B"),
        ("Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", 16, "64B"),
    ],
)
def test_cute_texts_of_the_canonical_layouts(text: str, element_bits: int, mode: SwizzleMode) -> None:
    """The way the PTX ISA writes exact layouts, 9.7.16.3.3."""
    layout = ComposeLayout.from_cute(text, element_bits)
    assert layout.swizzle == SwizzleLayout.for_bits(element_bits, mode)
    assert layout.to_cute(cute_shape(text), element_bits) == text


def test_cute_map_is_colexicographic() -> None:
    layout = TileLayout.from_cute("((8,2),(4,4)):((4,32),(1,64))")
    for mn, k in np.ndindex(16, 16):
        assert layout.apply((mn, k), (16, 16)) == {"m": 4 * (mn % 8) + 32 * (mn // 8) + k % 4 + 64 * (k // 4)}
    assert TileLayout.from_cute("(4, 8)") == tile("S[(4, 8) : (1, 4)]")
    assert TileLayout.from_cute("((2,(3,4)))").size() == 24


def test_cute_swizzles_count_bytes() -> None:
    text = "Swizzle<3,4,3> o (8,64):(64,1)"
    layout = ComposeLayout.from_cute(text, 16)
    assert layout == ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout.row_major((8, 64)))
    assert layout.to_cute((8, 64), 16) == text
    assert ComposeLayout.from_cute("Swizzle<3,4,3> o 8:1", 4).swizzle == SwizzleLayout.for_dtype("e2m1", "128B")
    with pytest.raises(LayoutError, match="use ComposeLayout.from_cute"):
        TileLayout.from_cute(text)
    with pytest.raises(LayoutError, match="^a swizzle of units of 8 bits would split elements of 16 bits$"):
        ComposeLayout.from_cute("Swizzle<3,0,3> o 8:1", 16)


@together(
    ("text", "message", "position"),
    [
        ("(8,2):(1)", "expected strides nested like the shape", 6),
        ("(8,2:(1,2)", "expected ',' or ')'", 4),
        ("(8,x):(1,2)", "expected an integer or '('", 3),
        ("(8,0):(1,2)", "extents must be positive, found 0", 3),
        ("8:1 z", "expected the end of the layout, found 'z'", 4),
        ("", "expected an integer or '(', found the end of the text", 0),
    ],
)
def test_cute_errors(text: str, message: str, position: int) -> None:
    with pytest.raises(LayoutError) as caught:
        TileLayout.from_cute(text)
    assert message in str(caught.value)
    assert caught.value.position == position


def test_to_cute_takes_a_shard_on_m_only() -> None:
    for text in ("S[8 : 1@laneid]", "S[8 : 1] + 1", "S[8 : 1] + R[2 : 8]"):
        with pytest.raises(LayoutError, match="CuTe text holds a shard on axis m only"):
            tile(text).to_cute((8,))


@together(
    ("dtype", "base"),
    [
        ("e2m1", 5),
        ("e2m3", 4),
        ("f6E3M2FN", 4),
        ("e4m3", 4),
        ("f8E5M2", 4),
        ("s8", 4),
        ("bf16", 3),
        ("tf32", 2),
        ("f64", 1),
    ],
)
@together(("mode", "bits"), [("none", 0), ("32B", 1), ("64B", 2), ("128B", 3)])
def test_swizzle_modes(dtype: str, base: int, mode: SwizzleMode, bits: int) -> None:
    swizzle = SwizzleLayout.for_dtype(dtype, mode)
    assert swizzle == SwizzleLayout(base, bits, 3)
    assert swizzle.mode(element_type(dtype).storage_bits) == mode


@together(
    ("mode", "shift", "mask"),
    [("none", 3, 0), ("32B", 3, 0x10), ("64B", 3, 0x30), ("128B", 3, 0x70), ("128B_base32B", 2, 0x60)],
)
@together("element_bits", [8, 16, 32, 64])
def test_swizzle_modes_on_bytes(mode: SwizzleMode, shift: int, mask: int, element_bits: int) -> None:
    """In bytes a mode is one XOR, whatever the element."""
    width = element_bits // 8
    swizzle = SwizzleLayout.for_bits(element_bits, mode)
    for byte in range(0, 4096, width):
        assert swizzle.apply(byte // width) * width == byte ^ ((byte >> shift) & mask)


def test_swizzle_of_32_byte_atoms() -> None:
    """Byte address bits [8:7] go into [6:5]: rows of 128 bytes, pattern over 4 rows."""
    swizzle = SwizzleLayout.for_dtype("tf32", "128B_base32B")
    assert swizzle == SwizzleLayout(3, 2, 2)
    for byte in range(0, 1024, 4):
        assert swizzle.apply(byte // 4) * 4 == byte ^ ((byte >> 7 & 3) << 5)
    assert swizzle.period * 4 == 512


def test_swizzle_errors() -> None:
    with pytest.raises(LayoutError, match="unknown element type 'fp16'; did you mean"):
        SwizzleLayout.for_dtype("fp16", "128B")
    with pytest.raises(LayoutError, match="unknown swizzle mode '256B'; known modes: none, 32B"):
        SwizzleLayout.for_dtype("f16", "256B")  # pyright: ignore[reportArgumentType]
    with pytest.raises(LayoutError, match="must be a power of two up to 128 bits, found 24"):
        SwizzleLayout.for_bits(24, "128B")
    assert SwizzleLayout(3, 3, 4).mode(16) is None


def test_bare_swizzle_is_row_major() -> None:
    layout = resolve(parse_layout("Swizzle(3, 3, 3)"), (8, 64))
    assert layout == ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64)))
    assert resolve(tile("S[8 : 1]"), (8,)) == tile("S[8 : 1]")


def test_compose_equivalence_compares_sets() -> None:
    """Two swizzles may send the copies of an element to the same places in another order."""
    pair = tile("S[] + R[2 : 1] + 2")
    assert ComposeLayout(SwizzleLayout(0, 1, 1), pair).equivalent(ComposeLayout(SwizzleLayout(0, 0, 1), pair))
    single = tile("S[] + 2")
    assert not ComposeLayout(SwizzleLayout(0, 1, 1), single).equivalent(ComposeLayout(SwizzleLayout(0, 0, 1), single))


def test_compose_facts() -> None:
    layout = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64)))
    assert layout.size() == 512
    assert layout.span() == 512
    assert layout.footprint() == {"m": (0, 511)}
    assert layout.is_injective()
    assert layout.inverse({"m": 72}) == [64]
    assert not layout.equivalent(layout.tile)
    assert ComposeLayout(SwizzleLayout(3, 0, 3), layout.tile).equivalent(layout.tile)
    assert layout.permute((1, 0), (8, 64)).apply((0, 1), (64, 8)) == {"m": 72}
    assert layout.group((4, 2, 64))[1] == (0, 1, 2, 3)
