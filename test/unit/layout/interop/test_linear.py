"""Linear layouts: facts that Triton's own tests state, both texts, and both conversions against brute force."""

from itertools import permutations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.layout import Axis, ComposeLayout, Iter, LayoutError, LinearLayout, SwizzleLayout, TileLayout, register_axis
from tirx.layout.interop.linear import from_linear, to_linear

Layout = TileLayout | ComposeLayout
AXIS = {"register": "m", "offset": "m", "lane": "laneid", "warp": "warpid"}


def layout(text: str) -> Layout:
    return (ComposeLayout if text.startswith("Compose") else TileLayout).parse(text)


# What Triton says of its encodings: unittest/Dialect/TritonGPU/LinearLayoutConversionsTest.cpp.

FACTS = [
    pytest.param(
        "S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]",
        (16, 16),
        "{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}",
        id="nvidia_mma version 2, 16x16",
    ),
    pytest.param(
        "S[(2, 2, 8, 4, 4, 2) : (16, 2, 4@laneid, 4, 1@laneid, 1)]",
        (32, 32),
        "{register = [[0, 1], [8, 0], [0, 8], [0, 16], [16, 0]], "
        "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}",
        id="nvidia_mma version 2, 32x32",
    ),
    pytest.param(
        "S[(2, 4, 2, 8, 2, 4, 2) : (8, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]",
        (128, 16),
        "{register = [[0, 1], [8, 0], [0, 8], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "
        "warp = [[16, 0], [32, 0]], block = []}",
        id="nvidia_mma version 3, 128x16",
    ),
    pytest.param(
        "S[(8, 4, 4) : (1, 1@warpid, 1@laneid)]",
        (128,),
        "{register = [[16], [32], [64]], lane = [[1], [2]], warp = [[4], [8]], block = []}",
        id="blocked, tensor larger than the layout",
    ),
    pytest.param(
        "S[(2, 4) : (1@laneid, 1)] + R[2 : 2@laneid] + R[4 : 1@warpid]",
        (8,),
        "{register = [[1], [2]], lane = [[4], [0]], warp = [[0], [0]], block = []}",
        id="blocked, tensor smaller than the layout",
    ),
    pytest.param(
        "S[(2, 32, 2, 4, 2, 2, 2, 2, 8, 2) : (2@cbx, 8, 2@warpid, 8@laneid, 2, 1@cbx, 4, 1@warpid, 1@laneid, 1)]",
        (1024, 128),
        "{register = [[0, 1], [1, 0], [0, 32], [16, 0], [32, 0], [64, 0], [128, 0], [256, 0]], "
        "lane = [[0, 2], [0, 4], [0, 8], [2, 0], [4, 0]], warp = [[0, 16], [8, 0]], block = [[0, 64], [512, 0]]}",
        id="blocked, several CTAs",
    ),
    pytest.param(
        "ComposeLayout(Swizzle(3, 1, 3), S[(8, 16) : (16, 1)])",
        (8, 16),
        "{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8]]}",
        id="nvmma_shared 32B, f16",
    ),
    pytest.param(
        "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])",
        (8, 64),
        "{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32]]}",
        id="nvmma_shared 128B, f16",
    ),
    pytest.param(
        "ComposeLayout(Swizzle(0, 2, 2), S[(4, 8) : (1, 4)])",
        (4, 8),
        "{offset = [[1, 0], [2, 0], [1, 1], [2, 2], [0, 4]]}",
        id="swizzled_shared, vec 1, perPhase 1, maxPhase 4, order [0, 1]",
    ),
    pytest.param(
        "S[(128, 64) : (1@TLane, 1@TCol)]",
        (128, 64),
        "{row = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], "
        "col = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}",
        id="tensor memory, 128 rows",
    ),
]


@pytest.mark.parametrize(("text", "shape", "bases"), FACTS)
def test_facts(text: str, shape: tuple[int, ...], bases: str) -> None:
    mine = layout(text)
    assert mine.size() == prod(shape)
    linear = to_linear(mine, shape)
    alignment = 16 if "offset" in bases else None
    name = "#ttg.linear<" if alignment is None else "#ttg.shared_linear<"
    end = ">" if alignment is None else ", alignment = 16>"
    assert linear.attribute(alignment) == name + bases + end
    # The attribute leaves out a block dimension of size 1 and the sizes of the tensor, which the bases tell.
    read = LinearLayout.parse(name + bases + end)
    assert (read.shape, read.matrix()) == (shape, linear.matrix())
    assert LinearLayout.parse(str(linear)) == linear
    back = from_linear(read)
    assert isinstance(back, TileLayout) == isinstance(mine, TileLayout)
    assert str(back) == str(mine.canonicalize())


def test_texts() -> None:
    linear = to_linear(
        TileLayout.parse("S[(2, 8, 2, 4) : (2, 4@laneid, 4, 1@laneid)] + R[2 : 1] + R[2 : 1@warpid]"), (16, 8)
    )
    text = """\
 - register=1 -> (0, 0)
   register=2 -> (8, 0)
   register=4 -> (0, 4)
 - lane=1 -> (0, 1)
   lane=2 -> (0, 2)
   lane=4 -> (1, 0)
   lane=8 -> (2, 0)
   lane=16 -> (4, 0)
 - warp=1 -> (0, 0)
 - block is a size 1 dimension
where out dims are: [dim0 (size 16), dim1 (size 8)]"""
    assert str(linear) == text
    assert LinearLayout.parse(f"\n{text}\n") == linear
    assert LinearLayout.parse(f"#linear = {linear.attribute()}") == linear
    assert LinearLayout.parse("#triton_gpu.linear<{register = [[1]], lane = [[2]]}>").shape == (4,)
    assert str(LinearLayout((), ())) == "(empty layout)"
    assert str(LinearLayout({}, {"dim0": 4})) == "(empty layout with out-dims [dim0 (size 4)])"
    for empty in (LinearLayout((), ()), LinearLayout({}, {"dim0": 4})):
        assert LinearLayout.parse(str(empty)) == empty
        with pytest.raises(LayoutError, match="found 'more'"):
            LinearLayout.parse(f"{empty} more")


def test_an_empty_block_dimension_is_left_out_of_shared_layouts() -> None:
    for block, shown in (((), ""), (((4,),), ", block = [[4]]")):
        linear = LinearLayout((("offset", ((1,), (2,))), ("warp", ()), ("block", block)), {"x": 8})
        assert linear.attribute(32) == f"#ttg.shared_linear<{{offset = [[1], [2]], warp = []{shown}}}, alignment = 32>"
        assert linear.attribute() == f"#ttg.linear<{{offset = [[1], [2]], warp = [], block = [{shown[11:-1]}]}}>"


def test_order_of_the_output_dimensions_does_not_change_the_tensor() -> None:
    linear = LinearLayout.parse(
        " - offset=1 -> (1, 0)\n   offset=2 -> (0, 1)\nwhere out dims are: [dim1 (size 2), dim0 (size 2)]"
    )
    assert linear.shape == (2, 2)
    assert linear.apply({"offset": 1}) == (0, 1)
    assert from_linear(linear) == TileLayout.parse("S[4 : 1]")
    assert str(LinearLayout.parse(str(linear))) == str(linear)


@together(
    ("text", "message", "position"),
    [
        (
            "register",
            "expected '- register=1 -> (..)', or #ttg.linear<..>, or #ttg.shared_linear<..>, found 'register'",
            0,
        ),
        (" - lane=2 -> (1)", "expected lane=1, found lane=2", 8),
        (" - lane=1 -> 1", "expected '(', found '1'", 13),
        (" - lane=1 -> (1)", "expected 'where', found the end of the text", 16),
        (" - lane=1 -> (-1)", "expected an integer of 0 or more, found '-1'", 14),
        (" - lane is 1", "expected 'a', found '1'", 11),
        ("#ttg.linear<{lane = [[1]]}", "expected '>', found the end of the text", 26),
        ("#ttg.linear<{lane = [[1]]}> x", "expected the end of the layout, found 'x'", 28),
        ("#ttg.linear<{lane = [1]}>", "expected '[', found '1'", 21),
        (" - lane=1 -> (1)\nwhere out dims are: [x (size 2)] y", "expected the end of the layout, found 'y'", 50),
        (" - l\u00e4ne=1 -> (1)", "expected an input dimension such as register or offset, found 'l\u00e4ne'", 3),
        (" - lane.x=1 -> (1)", "expected an input dimension such as register or offset, found 'lane.x'", 3),
        ("#ttg.linear<{[1]}>", "expected a dimension such as register or offset, found '['", 13),
    ],
)
def test_errors_in_texts(text: str, message: str, position: int) -> None:
    with pytest.raises(LayoutError) as caught:
        LinearLayout.parse(text)
    assert message in str(caught.value)
    assert caught.value.position == position


def test_errors_in_bases() -> None:
    with pytest.raises(LayoutError, match="size of output dimension dim0 must be a power of two, found 3"):
        LinearLayout({"offset": [(1,)]}, {"dim0": 3})
    with pytest.raises(LayoutError, match=r"expected 1 coordinates for offset=2, found \(1, 1\)"):
        LinearLayout({"offset": [(1,), (1, 1)]}, {"dim0": 4})
    with pytest.raises(LayoutError, match=r"the image of offset=1 must lie in 0..3 of dim0, found \(4,\)"):
        LinearLayout({"offset": [(4,)]}, {"dim0": 4})
    with pytest.raises(LayoutError, match="every input dimension must be given once, found lane, lane"):
        LinearLayout((("lane", ()), ("lane", ())), ())
    linear = LinearLayout({"lane": [(1,)]})
    with pytest.raises(LayoutError, match=r"lane = 2 is no index of this layout, expected 0\.\.1"):
        linear.apply({"lane": 2})
    with pytest.raises(LayoutError, match="warp = 0 is no index of this layout, expected one of lane"):
        linear.apply({"warp": 0})


# To linear layouts.


def test_axes_without_a_bound() -> None:
    register_axis(Axis("test_threads", "thread", "threads of any number", "thread", "cta", weight=1))
    found = to_linear(TileLayout("S[(64, 2) : (1@test_threads, 1)]"), (64, 2))
    assert (found.apply({"lane": 2}), found.apply({"warp": 1})) == ((2, 0), (32, 0))


def places(mine: Layout, names: tuple[str, ...]) -> dict[tuple[int, ...], set[int]]:
    """The elements in every place, by their owners."""
    found: dict[tuple[int, ...], set[int]] = {}
    for x in range(mine.size()):
        for owner in mine.owners(x):
            found.setdefault(tuple(owner.get(AXIS[name], 0) for name in names), set()).add(x)
    return found


def linear_by_brute_force(mine: Layout, names: tuple[str, ...]) -> bool:
    """Returns True if every place holds one element, and the element in the XOR of two places is the XOR of the two."""
    found = places(mine, names)
    if any(len(elements) > 1 or min(place) < 0 for place, elements in found.items()):
        return False
    sizes = [1 << max(place[k] for place in found).bit_length() for k in range(len(names))]
    if len(found) != prod(sizes):
        return False
    element = {place: min(elements) for place, elements in found.items()}
    return all(
        element[tuple(a ^ b for a, b in zip(p, q, strict=True))] == element[p] ^ element[q]
        for p, q in product(element, element)
    )


iters = st.builds(
    Iter,
    st.sampled_from([2, 2, 2, 4]),
    st.sampled_from([1, 2, 4, 8, 0, 3, 5, -1]),
    st.sampled_from(["m", "laneid", "warpid"]),
)
replicas = st.builds(
    Iter, st.sampled_from([1, 2, 2, 3]), st.sampled_from([1, 2, 4, 3]), st.sampled_from(["m", "laneid"])
)
swizzles = st.sampled_from([(0, 0, 0), (0, 1, 1), (1, 1, 1), (0, 1, 2), (0, 2, 2), (1, 1, 2)])


@st.composite
def strided(draw: st.DrawFn, axes: tuple[str, ...]) -> TileLayout:
    """Every bit of the places of up to three axes is a bit of the element or a copy, in any order."""
    bits = [(name, 1 << i) for name in axes for i in range(draw(st.integers(0, 3)))]
    bits = draw(st.permutations(bits))
    count = draw(st.integers(0, min(2, len(bits))))
    return TileLayout([Iter(2, s, a) for a, s in bits[count:]], [Iter(2, s, a) for a, s in bits[:count]])


@given(
    st.one_of(
        strided(("m", "laneid", "warpid")),
        st.builds(TileLayout, st.lists(iters, max_size=4), st.lists(replicas, max_size=1)),
    )
)
def test_to_linear_of_distributed_layouts(mine: TileLayout) -> None:
    names = ("register", "lane", "warp")
    if not {"laneid", "warpid"} & set(mine.canonicalize().axes):
        names = ("offset",)
    check_to_linear(mine, names)


@given(
    swizzles,
    st.booleans(),
    st.one_of(
        strided(("m",)),
        st.builds(TileLayout, st.lists(st.builds(Iter, st.just(2), st.sampled_from([1, 2, 4, 3])), max_size=4)),
    ),
)
def test_to_linear_of_swizzled_layouts(numbers: tuple[int, int, int], inner: bool, tile: TileLayout) -> None:
    check_to_linear(ComposeLayout(SwizzleLayout(*numbers, swizzle_inner=inner), tile), ("offset",))


def check_to_linear(mine: Layout, names: tuple[str, ...]) -> None:
    """Conversion succeeds exactly for linear layouts, says where every element is, and comes back equivalent."""
    shape = (mine.size(),)
    if not linear_by_brute_force(mine, names):
        with pytest.raises(LayoutError, match="linear|must stay in"):
            to_linear(mine, shape)
        return
    linear = to_linear(mine, shape)
    found = places(mine, names)
    assert prod(linear.in_sizes.values()) == len(found)
    for place, elements in found.items():
        index = {name: at for name, at in zip(names, place, strict=True) if name in linear.in_sizes}
        assert linear.apply(index) == (min(elements),)
    assert places(from_linear(linear), names) == found


# From linear layouts.


@given(st.data(), st.integers(0, 4))
def test_from_linear(data: st.DataObject, element_bits: int) -> None:
    """Every element gets exactly the places that the linear layout has it in, or there is an error."""
    units = [1 << i for i in range(element_bits)]
    images = data.draw(st.permutations(units + data.draw(st.lists(st.sampled_from([0, 0, 1, 3]), max_size=2))))
    bases: dict[str, list[tuple[int, ...]]] = {"register": [], "lane": [], "warp": []}
    for image in images:
        if image < 1 << element_bits:
            bases[data.draw(st.sampled_from(sorted(bases)))].append((image,))
    linear = LinearLayout(bases, {"dim0": 1 << element_bits})
    expected: dict[int, set[tuple[int, ...]]] = {}
    for place in product(*(range(size) for size in linear.in_sizes.values())):
        expected.setdefault(linear.apply(dict(zip(bases, place, strict=True)))[0], set()).add(place)
    simple = set(images) <= {0, *units}
    try:
        mine = from_linear(linear)
    except LayoutError:
        # Distinct units and zeros are strided for sure.
        assert not simple or len([i for i in images if i]) != element_bits
        return
    for x in range(1 << element_bits):
        owners = {tuple(owner.get(AXIS[name], 0) for name in bases) for owner in mine.owners(x)}
        assert owners == expected[x]


def test_from_linear_finds_every_swizzle() -> None:
    """Of all 168 linear layouts of 8 elements in 8 places, those that are a swizzle of a strided one, and no other."""
    all_swizzles = [
        SwizzleLayout(m, b, s, way) for m, b, s in ((0, 0, 0), (0, 1, 1), (1, 1, 1), (0, 1, 2)) for way in (True, False)
    ]
    known = {
        tuple(swizzle.apply(sum(1 << order[i] for i in range(3) if x >> i & 1)) for x in range(8))
        for swizzle in all_swizzles
        for order in permutations(range(3))
    }
    found = 0
    for columns in permutations(range(1, 8), 3):
        if columns[0] ^ columns[1] == columns[2]:
            continue
        linear = LinearLayout({"offset": [(c,) for c in columns]}, {"dim0": 8})
        place = {linear.apply({"offset": at})[0]: at for at in range(8)}
        table = tuple(place[x] for x in range(8))
        if table in known:
            found += 1
            assert tuple(from_linear(linear).flat_table()["m"].tolist()) == table
        else:
            with pytest.raises(LayoutError, match=r"neither strided nor a swizzle .* element \([124],\)"):
                from_linear(linear)
    assert found == len(known)


@given(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
def test_swizzled_shared(vec: int, per_phase: int, max_phase: int, more: int, rows: int) -> None:
    """Triton's swizzled_shared<vec, perPhase, maxPhase>, row-major, by its formula; all numbers are logarithms."""
    columns = vec + max_phase + more
    swizzle = SwizzleLayout(vec, max_phase, columns - vec + per_phase)
    shape = (1 << (rows + per_phase + max_phase), 1 << columns)
    linear = to_linear(ComposeLayout(swizzle, TileLayout.row_major(shape)), shape)
    for row in range(0, shape[0], max(1, shape[0] // 8)):
        for column in range(shape[1]):
            phase = (row >> per_phase) % (1 << max_phase)
            offset = row * shape[1] + ((column >> vec ^ phase) << vec) + column % (1 << vec)
            assert linear.apply({"offset": offset}) == (row, column)
    tile = TileLayout.row_major(shape).canonicalize()
    assert from_linear(linear) == (ComposeLayout(swizzle, tile) if max_phase else tile)


def test_warp_axes() -> None:
    linear = LinearLayout.parse("#ttg.linear<{register = [[1]], lane = [[2]], warp = [[4]], block = [[8]]}>")
    assert from_linear(linear) == TileLayout.parse("S[(2, 2, 2, 2) : (1@cbx, 1@warpid, 1@laneid, 1)]")
    assert from_linear(linear, "wid_in_wg") == TileLayout.parse("S[(2, 2, 2, 2) : (1@cbx, 1@wid_in_wg, 1@laneid, 1)]")
    for text in ("S[(64, 4) : (1@tid_in_wg, 1)]", "S[(64, 4) : (1@tx, 1)]", "S[(2, 32, 4) : (1@warpid, 1@laneid, 1)]"):
        found = to_linear(TileLayout.parse(text), (256,))
        assert found.in_sizes == {"register": 4, "lane": 32, "warp": 2, "block": 1}
        assert found.apply({"lane": 3, "warp": 1, "register": 2}) == (142,)


@together(
    ("text", "shape", "message"),
    [
        (
            "S[(128, 224) : (1@TLane, 1@TCol)]",
            (128, 224),
            r"powers of two only, found 224 in dimension 1 of shape \(128, 224\)",
        ),
        ("S[(8, 8) : (8, 1)] + 8", (8, 8), "element 0 in place 0, .* has an offset"),
        (
            "S[8 : 3]",
            (8,),
            (
                r"^not linear over GF\(2\): the place of element \(3,\) is not the XOR of the places of its "
                r"bits in S\[8 : 3\]; strides must be powers of two whose bits do not overlap$"
            ),
        ),
        (
            "S[(4, 2) : (1, -4)]",
            (4, 2),
            (r"^a linear layout has no negative coordinates, found -4 of offset in S\[\(4, 2\) : \(1, " r"-4\)\]$"),
        ),
        ("S[(8, 8) : (16, 1)]", (8, 8), "an element in each of the 128 places, .* in 64 of them only"),
        (
            "S[(8, 8) : (0, 1)]",
            (8, 8),
            r"^a linear layout has one element in a place, S\[\(8, 8\) : \(0, 1\)\] has several$",
        ),
        ("S[8 : 1@laneid] + R[3 : 8@laneid]", (8,), r"not linear over GF\(2\): the copies of an element are no XOR"),
        ("S[8 : 1@laneid] + R[2 : 1@laneid]", (8,), r"not linear over GF\(2\): the copies of an element are no XOR"),
        ("S[64 : 1@laneid]", (64,), r"axis 'laneid' must stay in 0\.\.31, .* reaches 0\.\.63"),
        ("S[(2, 8) : (1@wgid, 1@laneid)]", (16,), "leave a level open"),
        ("S[(2, 8) : (1@pid, 1@laneid)]", (16,), "none of the input dimensions register, .* stands for axis pid"),
        ("S[(2, 8) : (1, 1@TCol)]", (16,), "none of the input dimensions row, col stands for axis m"),
        (
            "ComposeLayout(Swizzle(3, 3, 3), S[(8, 32) : (64, 1)])",
            (8, 32),
            "in each of the 512 places, .* in 256 of them",
        ),
        ("ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (72, 1)])", (8, 64), r"not linear over GF\(2\)"),
        ("S[(8, 8) : (8, 1)]", (8, 4), "the layout has 64 elements"),
    ],
)
def test_layouts_that_are_not_linear(text: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        to_linear(layout(text), shape)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{register = [[2]], lane = [[4]]}", r"no place holds element \(1,\) of the tensor"),
        (
            "{register = [[1]], lane = [[1]]}",
            "^linear, but neither strided nor a swizzle: its copies are no replicas along one axis each$",
        ),
        (
            "{register = [[1], [2]], lane = [[3], [4]]}",
            "^linear, but neither strided nor a swizzle: its copies are no replicas along one axis each$",
        ),
        ("{register = [[1, 1]], lane = [[0, 1]]}", r"element \(1, 0\) lies at no power-of-two step"),
        (
            "{thread = [[1]]}",
            "expected the input dimensions register, lane, warp, block, offset, row, col, found thread",
        ),
        ("{lane = [[1], [2], [4], [8], [16], [32]]}", "a warp has 32 lanes, found 64"),
        ("{register = [[1]], offset = [[2]]}", "expected register or offset, not both"),
    ],
)
def test_linear_layouts_that_are_no_layout(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        from_linear(LinearLayout.parse(f"#ttg.linear<{text}>"))


@pytest.mark.parametrize("copies", [0, 1])
def test_a_large_layout_that_is_no_swizzle_is_refused_quickly(copies: int) -> None:
    """14 bits, each but the first also in the next one, with and without a copy of everything."""
    chain = [(0,)] * copies + [(1,), *((1 << i | 1 << (i - 1),) for i in range(1, 14))]
    with pytest.raises(
        LayoutError,
        match=(
            r"^linear, but neither strided nor a swizzle of a strided layout: element \(2,\) lies at no "
            "power-of-two step on one axis that is free of other elements$"
        ),
    ):
        from_linear(LinearLayout({"offset": chain}))


@given(st.integers(0, 4), st.integers(1, 3), st.integers(0, 2), st.booleans(), st.data())
def test_swizzled_copies(unit: int, count: int, more: int, inner: bool, data: st.DataObject) -> None:
    """A swizzle is found behind copies as well: some address bits are no bit of the element."""
    swizzle = SwizzleLayout(unit, count, count + more, inner)
    steps = [1 << i for i in data.draw(st.permutations(range(swizzle.address_bits)))]
    copies = data.draw(st.integers(0, 2))
    mine = ComposeLayout(
        swizzle, TileLayout([Iter(2, step) for step in steps[copies:]], [Iter(2, step) for step in steps[:copies]])
    )
    found = from_linear(to_linear(mine, (mine.size(),)))
    assert places(found, ("offset",)) == places(mine, ("offset",))
