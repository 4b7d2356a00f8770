"""CuTe text: every printed form against an evaluator of its own, and the units of swizzles."""

from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout, cute_shape

Tree: TypeAlias = "tuple[int, int] | list[Tree]"
"""A mode: one (extent, stride), or a list of modes."""

leaves = st.tuples(st.integers(1, 4), st.integers(-9, 70))


def forest(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.lists(children, max_size=3)


modes: st.SearchStrategy[Tree] = st.recursive(leaves, forest, max_leaves=3)
trees = st.lists(modes, min_size=1, max_size=3)


def text_of(tree: Tree, field: int, mark: str) -> str:
    if isinstance(tree, tuple):
        return f"{mark}{tree[field]}"
    return f"({','.join(text_of(child, field, mark) for child in tree)})"


def size_of(tree: Tree) -> int:
    return tree[0] if isinstance(tree, tuple) else prod(size_of(child) for child in tree)


def offset_of(tree: Tree, index: int) -> int:
    """The address of a linear index into a mode: the first factor is fastest."""
    if isinstance(tree, tuple):
        return index * tree[1]
    total = 0
    for child in tree:
        total += offset_of(child, index % size_of(child))
        index //= size_of(child)
    return total


def swizzle_of(address: int, bits: int, base: int, shift: int) -> int:
    """Sw<bits, base, shift>: the bits from `shift` places above `base` (below, when negative) flip those at the other
    place."""
    group = (1 << bits) - 1
    if shift >= 0:
        return address ^ ((address >> (base + shift) & group) << base)
    return address ^ ((address >> base & group) << (base - shift))


def cute_text(tree: list[Tree], mark: str) -> str:
    return f"{text_of(tree, 0, mark)}:{text_of(tree, 1, mark)}"


@given(trees, st.sampled_from(["", "_"]))
def test_any_nesting_means_what_colexicographic_order_says(tree: list[Tree], mark: str) -> None:
    text = cute_text(tree, mark)
    shape = tuple(size_of(mode) for mode in tree)
    assert cute_shape(text) == shape
    addresses = TileLayout.from_cute(text).axis_table("m", shape)
    for coordinate in np.ndindex(shape):
        assert addresses[coordinate] == sum(offset_of(mode, at) for mode, at in zip(tree, coordinate, strict=True))


@given(trees)
def test_strides_left_out_are_compact(tree: list[Tree]) -> None:
    layout = TileLayout.from_cute(text_of(tree, 0, ""))
    shape = tuple(size_of(mode) for mode in tree)
    addresses = layout.axis_table("m", shape)
    assert (addresses == np.arange(prod(shape)).reshape(shape, order="F")).all()


@given(trees)
def test_tiles_round_trip(tree: list[Tree]) -> None:
    text = cute_text(tree, "")
    layout, shape = TileLayout.from_cute(text), cute_shape(text)
    printed = layout.to_cute(shape)
    assert cute_shape(printed) == shape
    assert TileLayout.from_cute(printed).equivalent(layout)
    assert TileLayout.from_cute(printed).to_cute(shape) == printed


@given(
    st.lists(st.tuples(st.sampled_from([2, 4, 8]), st.integers(0, 300)), min_size=1, max_size=3),
    st.integers(0, 3).flatmap(lambda b: st.tuples(st.just(b), st.integers(0, 5), st.integers(b, 4), st.booleans())),
    st.integers(0, 99),
    st.sampled_from([4, 8, 16, 32, 64]),
)
def test_composed_layouts_mean_what_their_form_says(
    tree: list[Tree], numbers: tuple[int, int, int, bool], offset: int, width: int
) -> None:
    bits, base, shift, down = numbers
    shift = shift if down or not shift else -shift
    shape = tuple(size_of(mode) for mode in tree)
    body = cute_text(tree, "")
    addresses = np.array(
        [sum(offset_of(m, at) for m, at in zip(tree, c, strict=True)) for c in product(*map(range, shape))]
    ).reshape(shape)

    on_elements = ComposeLayout.from_cute(f"Sw<{bits},{base},{shift}> o {offset} o {body}")
    expected = [swizzle_of(int(x) + offset, bits, base, shift) for x in addresses.flat]
    assert on_elements.axis_table("m", shape).ravel().tolist() == expected
    assert ComposeLayout.from_cute(on_elements.to_cute(shape, form="layout")).equivalent(on_elements)

    # On byte addresses no element may be split: a unit is at least an element and at least a byte.
    base = max(base, width.bit_length() - 1 - 3, 0)
    for text in (
        f"Swizzle<{bits},{base},{shift}> o {body}",
        f"Sw<{bits},{base},{shift}> o smem_ptr[{width}b](unset) o {body}",
    ):
        on_bytes = ComposeLayout.from_cute(text, width)
        # A byte address is the upper part of the address of a bit.
        expected = [swizzle_of(int(x) * width, bits, base + 3, shift) // width for x in addresses.flat]
        assert on_bytes.axis_table("m", shape).ravel().tolist() == expected
        for form in ("isa", "pointer", "layout"):
            assert ComposeLayout.from_cute(on_bytes.to_cute(shape, width, form), width).equivalent(on_bytes)


@together(
    ("text", "swizzle", "tile"),
    [
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", SwizzleLayout(3, 3, 3), "S[(8, 64) : (64, 1)]"),
        ("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", SwizzleLayout(3, 3, 3), "S[(8, 64) : (64, 1)]"),
        ("Swizzle<2,3,4> o 64 o 8:1", SwizzleLayout(3, 2, 4), "S[8 : 1] + 64"),
        ("S<3,4,3> o 0 o 8:1", SwizzleLayout(4, 3, 3), "S[8 : 1]"),
        ("Sw<2,3,-3> o 0 o 8:1", SwizzleLayout(3, 2, 3, swizzle_inner=False), "S[8 : 1]"),
        (
            "Sw<3,4,3> o smem_ptr[16b](unset) o ((_128,_16),_1,_4):((_64,_1),_0,_16)",
            SwizzleLayout.for_dtype("f16", "128B"),
            "S[(16, 128, 1, 4) : (1, 64, 0, 16)]",
        ),
        ("Sw<1,4,3> o smem_ptr[32b](unset) o 8:1", SwizzleLayout.for_dtype("f32", "32B"), "S[8 : 1]"),
        ("Sw<3,4,3> o smem_ptr[4b](unset) o 8:1", SwizzleLayout.for_dtype("e2m1", "128B"), "S[8 : 1]"),
        ("Sw<3,4,3>_smem_ptr[16b](0x7f0000000400) o 8:1", SwizzleLayout(3, 3, 3), "S[8 : 1]"),
        ("(8,64):(64,1)", SwizzleLayout(0, 0, 0), "S[(8, 64) : (64, 1)]"),
    ],
)
def test_printed_forms(text: str, swizzle: SwizzleLayout, tile: str) -> None:
    layout = ComposeLayout.from_cute(text)
    assert layout == ComposeLayout(swizzle, TileLayout.parse(tile))
    assert prod(cute_shape(text)) == layout.size()


def test_the_three_forms_of_one_layout() -> None:
    layout = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout.row_major((8, 64)))
    texts = {
        "layout": "Sw<3,3,3> o 0 o (8,64):(64,1)",
        "pointer": "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
        "isa": "Swizzle<3,4,3> o (8,64):(64,1)",
    }
    assert layout.to_cute((8, 64), 16) == texts["isa"]
    assert layout.to_cute((8, 64), 16, "pointer") == texts["pointer"]
    assert layout.to_cute((8, 64), form="layout") == texts["layout"]
    for text in texts.values():
        assert ComposeLayout.from_cute(text, 16) == layout


@together(
    ("text", "width", "message", "position"),
    [
        ("Swizzle<3,4,3> o 8:1", None, "a swizzle on offsets in elements is written Sw<3,4,3> o 0 o", 0),
        ("  Sw<3,4,3> o smem_ptr[16b](unset) o 8:1", 8, "expected a pointer to elements of 8 bits, found 16 bits", 2),
        ("Sw<3,0,3> o smem_ptr[16b](unset) o 8:1", None, "would split elements of 16 bits", 0),
        ("Sw<3,4,3> o smem_ptr[12b](unset) o 8:1", None, "the element width must be a power of two, found 12", 0),
        (
            "Sw<3,4,3>_smem_ptr[16b](0x7f0010) o 8:1",
            None,
            "aligned to the 1024 bytes of the swizzle, found 0x7f0010",
            9,
        ),
        (
            "Sw<3,4,3> o smem_sparse<2>_ptr[8b](unset) o 8:1",
            None,
            "expected a layout, an integer offset or a pointer",
            12,
        ),
        ("Sw<3,4,3>_gmem_ptr[16b](0x0) o 8:1", None, "expected a layout, an integer offset or a pointer", 9),
        ("Sw<3,4,3> (8):(1)", 16, "expected 'o', found '('", 10),
        ("Sw<3,4,3> o smem_ptr[16b](unset) 8:1", 16, "expected 'o', found '8'", 33),
        ("Sw<3,4> o 8:1", 16, "expected ',', found '>'", 6),
        ("Sw<3,-4,3> o 8:1", 16, "expected M of the swizzle in 0..63, found -4", 5),
        ("Sw<3,4,999999> o 8:1", 16, "expected S of the swizzle in 0..63, found 999999", 7),
        ("Sw<3,4,2> o 8:1", 16, "atom_len must be at least swizzle_len (3), found 2", 0),
        ("Sw<3,4,3> o", 16, "expected a layout, an integer offset or a pointer", 11),
        ("Sw<3,4,3> o 0 o", 16, "expected an integer or '(', found the end of the text", 15),
        ("(128,8):(8@0,1@0)", None, "found the basis stride 8@...: a layout of coordinates gives no address", 10),
        ("(8,?):(1,8)", None, "found '?': only extents and strides known now make a layout", 3),
        ("(8,?{div=8}):(1,8)", None, "found '?'", 3),
        ("(8,(2,0)):(1,(8,16))", None, "extents must be positive, found 0", 6),
        ("(8,_-2):(1,8)", None, "extents must be positive, found -2", 3),
        ("(8,(2,2)):(1,8)", None, "expected strides nested like the shape", 10),
        ("((8,2),2):(8,(2,2))", None, "expected strides nested like the shape", 10),
        ("(8,,2):(1,2,3)", None, "expected an integer or '(', found ','", 3),
        ("(,8):(1,8)", None, "expected an integer or '(', found ','", 1),
        ("(8))", None, "expected the end of the layout, found ')'", 3),
        ("(0x8):(1)", None, "found '0x8'; write it in decimal: 8", 1),
        (f"({'9' * 999},{'9' * 999})", None, "expected an integer of at most 1000 digits", 0),
    ],
)
def test_errors_have_a_position(text: str, width: int | None, message: str, position: int) -> None:
    with pytest.raises(LayoutError) as caught:
        ComposeLayout.from_cute(text, width)
    assert message in str(caught.value)
    assert caught.value.position == position


def test_what_a_form_cannot_say() -> None:
    moved = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.parse("S[8 : 1] + 64"))
    assert moved.to_cute((8,), form="layout") == "Sw<3,3,3> o 64 o 8:1"
    with pytest.raises(LayoutError, match="CuTe text holds a shard on axis m only"):
        moved.to_cute((8,), 16)
    with pytest.raises(LayoutError, match="expected the width of an element for CuTe text of the form 'pointer'"):
        moved.to_cute((8,), form="pointer")
    with pytest.raises(LayoutError, match="CuTe text holds a shard on axis m only"):
        ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.parse("S[8 : 1] + R[2 : 8]")).to_cute((8,), form="layout")
    with pytest.raises(LayoutError, match=r"^a swizzle of 2\*\*0 elements of 4 bits splits a byte$"):
        ComposeLayout(SwizzleLayout(0, 3, 3), TileLayout.parse("S[8 : 1]")).to_cute((8,), 4)


def test_nesting_of_any_depth() -> None:
    deep = 5000
    text = f"{'(' * deep}8{')' * deep}:{'(' * deep}2{')' * deep}"
    assert TileLayout.from_cute(text) == TileLayout([Iter(8, 2)])
    assert cute_shape(f"({'1,' * deep}8)") == (1,) * deep + (8,)
    for broken in ("(" * deep, "(" * deep + "8", "(8," * deep, "Sw<3,4,3> o " * deep):
        with pytest.raises(LayoutError) as caught:
            TileLayout.from_cute(broken)
        assert caught.value.position is not None


@given(
    st.lists(
        st.sampled_from(
            ["(", ")", ",", ":", "8", "_", "-1", " o ", "Sw<3,4,3>", "smem_ptr[16b](unset)", "@", "?", "x"]
        ),
        max_size=14,
    ).map("".join)
)
def test_any_text_is_a_layout_or_an_error_with_a_position(text: str) -> None:
    try:
        layout = ComposeLayout.from_cute(text, 16)
    except LayoutError as error:
        assert error.position is not None and 0 <= error.position <= len(text)
    else:
        assert layout.size() == prod(cute_shape(text))
