"""Arguments of methods of layouts that make no sense: LayoutError, or TypeError for a wrong type."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.copy import analyse_access, bank_of, conflict_degree
from tirx.layout import (
    BitMatrix,
    ComposeLayout,
    Iter,
    LayoutError,
    LinearLayout,
    Mesh,
    SwizzleLayout,
    SymbolicTileLayout,
    TileLayout,
    concrete,
    parse_layout,
    resolve,
    to_linear,
    to_tvm,
)
from tirx.layout.interop import mesh

LAYOUT: Any = TileLayout.parse("S[(8, 4) : (1, 8@laneid)]")
PLAIN: Any = TileLayout.parse("S[(8, 4) : (4, 1)]")
SWIZZLED: Any = ComposeLayout(SwizzleLayout(0, 1, 1), PLAIN)
AnyType: Any = TileLayout
AnyIter: Any = Iter
AnyCompose: Any = ComposeLayout
AnyLinear: Any = LinearLayout
AnySymbolic: Any = SymbolicTileLayout
REGISTERS = TileLayout.parse("S[(32, 4) : (1@laneid, 1)]")


@together(
    ("call", "said"),
    [
        (lambda: AnyIter(4, 1, 5), "expected the name of an axis, found 5"),
        (lambda: AnyIter(4, 1, None), "expected the name of an axis, found None"),
        (lambda: AnyIter(4.0, 1), "object cannot be interpreted as an integer"),
        (lambda: AnyType(4), "'int' object is not iterable"),
        (lambda: AnyType([(4, 1, "m")]), "expected iters in a layout, found (4, 1, 'm'); TileLayout.parse reads texts"),
        (lambda: AnyType((), [4]), "expected iters in a layout, found 4; TileLayout.parse reads texts"),
        (lambda: AnyType((), (), "m"), "expected pairs of axis name and integer as offset, found 'm'"),
        (lambda: AnyType((), (), {3: 1}), "expected the name of an axis, found 3"),
        (lambda: AnyCompose(SwizzleLayout(3, 3, 3), None), "expected a TileLayout, found None"),
        (lambda: AnyCompose("Swizzle(3, 3, 3)", PLAIN), "expected a SwizzleLayout, found 'Swizzle(3, 3, 3)'"),
        (lambda: LAYOUT.equivalent(None), "expected a TileLayout or a ComposeLayout, found None"),
        (lambda: PLAIN.overlaps("S[4 : 1]"), "expected a TileLayout or a ComposeLayout, found 'S[4 : 1]'"),
        (lambda: LAYOUT.tile(SWIZZLED, (8, 4), (8, 4)), "expected a TileLayout, found "),
        (lambda: LAYOUT.direct_sum(None, (8, 4), (8, 4)), "expected a TileLayout, found None"),
        (lambda: LAYOUT.is_tile_inner(SWIZZLED, (8, 4), (8, 4)), "expected a TileLayout, found "),
        (lambda: LAYOUT.is_tile_outer(SWIZZLED, (8, 4), (8, 4)), "expected a TileLayout, found "),
        (lambda: LAYOUT.is_direct_sum_left(SWIZZLED, (8, 4), (8,)), "expected a TileLayout, found "),
        (lambda: LAYOUT.is_direct_sum_right(SWIZZLED, (8, 4), (4,)), "expected a TileLayout, found "),
        (lambda: LAYOUT.compose(SWIZZLED), "expected a TileLayout, found "),
        (lambda: LAYOUT.inverse({"m": 1.5}), "object cannot be interpreted as an integer"),
        (lambda: SwizzleLayout.for_bits(AnyType, "32B"), "object cannot be interpreted as an integer"),
        (
            lambda: SWIZZLED.swizzle.compose(PLAIN),
            f"expected a SwizzleLayout, found {PLAIN!r}; ComposeLayout is a swizzle after a tile",
        ),
        (lambda: ComposeLayout(SWIZZLED.swizzle, AnyType), "expected a TileLayout, found "),
        (lambda: AnyLinear({"register": [(1.0,)]}), "object cannot be interpreted as an integer"),
        (lambda: AnyLinear({"register": [(1,)]}, {"dim0": 2.0}), "object cannot be interpreted as an integer"),
        (lambda: AnySymbolic("n", None, 1), "expected a TileLayout, found None"),
        (
            lambda: SymbolicTileLayout("n", TileLayout(), 1).equivalent(PLAIN),
            f"expected a SymbolicTileLayout, found {PLAIN!r}",
        ),
    ],
)
def test_wrong_types(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        call()


@together(
    "call",
    [
        lambda: LAYOUT.size("foo"),
        lambda: LAYOUT.span("foo"),
        lambda: LAYOUT.axis_table("foo"),
        lambda: LAYOUT.pack(1, "foo"),
        lambda: LAYOUT.broadcast(2, 1, ""),
        lambda: SWIZZLED.size("foo"),
        lambda: SWIZZLED.span("foo"),
        lambda: SWIZZLED.axis_table("foo"),
        lambda: SwizzleLayout(3, 3, 3).span("foo"),
    ],
)
def test_unknown_axes(call: Callable[[], object]) -> None:
    with pytest.raises(LayoutError, match="unknown axis"):
        call()


@pytest.mark.parametrize("region", [[(0,), (1,)], [(0, 1, 2), (1, 2)], [(), ()]])
def test_a_region_is_made_of_pairs(region: Any) -> None:
    with pytest.raises(LayoutError, match=r"expected \(begin, end\) for every dimension"):
        LAYOUT.slice((8, 4), region)


@together("bound", [(0, 4, 5), (0,), (), 0, -3, (4, 4)])
@together("layout", [LAYOUT, SWIZZLED])
def test_a_box_has_a_begin_and_a_later_end(layout: Any, bound: Any) -> None:
    with pytest.raises(LayoutError, match="expected begin < end on axis 'm'"):
        layout.is_surjective({"m": bound})


@pytest.mark.parametrize("bits", [0, -8, 2**60])
def test_no_element_has_that_width(bits: int) -> None:
    with pytest.raises(LayoutError, match="expected elements of 1 to 16384 bits on axis 'TCol'"):
        TileLayout([Iter(4, 1, "TCol")]).check_bounds(bits)


def test_both_names_of_an_axis_count() -> None:
    layout = TileLayout.parse("S[(4, 2) : (1@tid, 4@tx)]")
    for name in ("tid", "tx"):
        assert layout.size(name) == 8
        assert layout.span(name) == 8
        assert layout.axis_table(name).tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    with pytest.raises(LayoutError, match="axis 'tx' must stay in 0..1023"):
        TileLayout.parse("S[(1024, 2) : (1@tid, 1000@tx)]").check_bounds()
    assert TileLayout.parse("S[4 : 1@tx]").unpack(2, "tid") == TileLayout.parse("S[(4, 2) : (2@tx, 1@tx)]")
    assert TileLayout.parse("S[8 : 1@tid]").pack(2, "tid").equivalent(TileLayout.parse("S[4 : 1@tx]"))


def test_a_tile_is_compared_with_a_swizzled_one() -> None:
    assert not PLAIN.equivalent(SWIZZLED)
    assert PLAIN.equivalent(ComposeLayout(SwizzleLayout(0, 0, 0), PLAIN))
    assert PLAIN.overlaps(SWIZZLED)
    assert not PLAIN.with_offset(m=32).overlaps(SWIZZLED)


@together(
    ("call", "expected"),
    [
        (lambda: LinearLayout.parse(f" - lane=1 -> ({'9' * 6000})"), "an integer of at most 1000 digits"),
        (lambda: LinearLayout.parse(" - lane=1 -> (\u0663)"), "an integer of 0 or more"),
        (lambda: BitMatrix((), -1), "0 or more rows"),
        (lambda: SWIZZLED.to_cute((8, 4), 16, "ISA"), "a form of CuTe text isa, layout, pointer, found 'ISA'"),
        (lambda: to_tvm(PLAIN, AnyType), "a form of TVM text sum, iters"),
        (lambda: conflict_degree(np.array([], dtype=np.int64), 16), "at least one address"),
        (lambda: bank_of(4, 0), "elements of 1 bit or more"),
        (lambda: analyse_access(PLAIN, (8, 4), [[1], [1, 2]], 16), "as many elements for every thread"),
        (
            lambda: analyse_access(PLAIN, (32,), TileLayout.parse("S[(16, 2) : (1@laneid, 1099511627776)]"), 16),
            "at most 67108864 elements in a table",
        ),
        (
            lambda: mesh.to_placements(mesh.from_placements([None], Mesh((2**60,)), (4,)), (4,), Mesh((2**60,))),
            r"at most 1048576 copies of a shard, found 1152921504606846976 on mesh\(d0=1152921504606846976\)$",
        ),
    ],
)
def test_values_without_meaning(call: Callable[[], object], expected: str) -> None:
    with pytest.raises(LayoutError, match=f"expected .*{expected}"):
        call()


def test_a_bare_swizzle_is_linear_too() -> None:
    swizzle = SwizzleLayout(1, 1, 1)
    assert to_linear(swizzle, (4, 2)) == to_linear(ComposeLayout(swizzle, TileLayout.row_major((4, 2))), (4, 2))


@together(
    ("text", "trivial"),
    [
        ("S[]", True),
        ("S[(8, 1, 4) : (4, 9, 1)]", True),
        ("S[32 : 1@TCol] + R[1 : 8]", True),
        ("S[(8, 4) : (1, 8)]", False),
        ("S[8 : 1@laneid]", False),
        ("S[8 : 1] + 1", False),
        ("S[8 : 1] + R[2 : 8]", False),
        ("S[8 : 2]", False),
    ],
)
def test_trivial_tiles(text: str, trivial: bool) -> None:
    assert TileLayout.parse(text).is_trivial() is trivial


@pytest.mark.parametrize(
    "text", ["S[(n, 64) : (64, 1)]", "S[n*4 : 2] + 3@laneid", "#tirx.tile_layout<S[(n, 4) : (4, 1)]>"]
)
def test_any_layout_may_be_symbolic(text: str) -> None:
    found = parse_layout(text)
    assert found == SymbolicTileLayout.parse(text)
    assert parse_layout(str(found)) == found
    assert parse_layout("T.TileLayout(T.S[(n, 4):(4, 1)])") == parse_layout("S[(n, 4) : (4, 1)]")


def test_a_symbolic_layout_where_numbers_are_needed() -> None:
    found = parse_layout("S[(n, 64) : (64, 1)]")
    for call in (lambda: resolve(found, (4, 64)), lambda: to_tvm(found), lambda: concrete(found)):
        with pytest.raises(
            LayoutError,
            match=r"^expected a layout with numbers as extents, found S\[\(n, 64\) : \(64, 1\)\]; bind makes one$",
        ):
            call()
    assert concrete(PLAIN) is PLAIN


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("S[(4, n) : (n, 1)]", 6, r"an extent \(a positive integer\), found 'n'$"),
        ("S[(n, 4) : (4, x)]", 15, r"a stride \(an integer, or integer@axis\), found 'x'$"),
        ("s[4 : 1]", 0, r"a layout: S\[...\], Swizzle\(...\) or ComposeLayout\(..., ...\), found 's'$"),
    ],
)
def test_a_wrong_text_says_where(text: str, position: int, expected: str) -> None:
    with pytest.raises(LayoutError, match=f"^expected {expected}") as caught:
        parse_layout(text)
    assert caught.value.position == position
