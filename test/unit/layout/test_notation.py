"""The notation: what is read, what is printed, and where the caret goes."""

import pytest
from unit.cases import together

from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout, parse_layout


@together(
    ("text", "printed"),
    [
        ("S[8:4@laneid]", "S[8 : 4@laneid]"),
        ("S[(8):(4@laneid)]", "S[8 : 4@laneid]"),
        ("S[(8,):(4@laneid,)]", "S[8 : 4@laneid]"),
        ("S[8,4,2]", "S[(8, 4, 2) : (8, 2, 1)]"),
        ("S[(8,4,2)]", "S[(8, 4, 2) : (8, 2, 1)]"),
        ("S[8]", "S[8 : 1]"),
        ("S[]", "S[]"),
        ("S[]+3@laneid", "S[] + 3@laneid"),
        ("S[1 : 0]", "S[1 : 0]"),
        ("S[(8,64):(64@m,1@m)]", "S[(8, 64) : (64, 1)]"),
        ("S[(2,4):(-4,0)]", "S[(2, 4) : (-4, 0)]"),
        ("S[8:1]+R[(2,4):(4@laneid,1@warpid)]", "S[8 : 1] + R[(2, 4) : (4@laneid, 1@warpid)]"),
        ("S[8:1]+R[2:8]+R[2:1@warpid]", "S[8 : 1] + R[(2, 2) : (8, 1@warpid)]"),
        ("S[8:1] + 64 + 5@warpid + 2", "S[8 : 1] + 66 + 5@warpid"),
        ("S[8:1] - 3 + -2@warpid", "S[8 : 1] - 3 - 2@warpid"),
        ("S[8:1] + 0@laneid", "S[8 : 1]"),
        ("S[8:1] + 5@warpid + R[2:4@warpid]", "S[8 : 1] + R[2 : 4@warpid] + 5@warpid"),
        (" S [ ( 8 , 2 )\n: ( 4 @ laneid , 1 ) ] ", "S[(8, 2) : (4@laneid, 1)]"),
        ("#tirx.tile_layout<S[8:1]>", "S[8 : 1]"),
        ("TileLayout(S[8:1])", "S[8 : 1]"),
        ("Swizzle(3,3,3)", "Swizzle(3, 3, 3)"),
        ("SwizzleLayout(M=3, B=2, S=4)", "Swizzle(3, 2, 4)"),
        ("SwizzleLayout(atom_len=4, swizzle_len=2, per_element=3)", "Swizzle(3, 2, 4)"),
        ("#tirx.swizzle_layout<3, 3, 3>", "Swizzle(3, 3, 3)"),
        ("ComposeLayout(Swizzle(3,3,3),S[8,64])", "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])"),
        (
            "#tirx.compose_layout<#tirx.swizzle_layout<3,3,3>, #tirx.tile_layout<S[8:1] + 8>>",
            "ComposeLayout(Swizzle(3, 3, 3), S[8 : 1] + 8)",
        ),
    ],
)
def test_reads_and_prints(text: str, printed: str) -> None:
    layout = parse_layout(text)
    assert str(layout) == printed
    assert parse_layout(printed) == layout


def test_attribute_bodies() -> None:
    """Texts between the angle brackets of each attribute."""
    assert SwizzleLayout.parse("3, 3, 3") == SwizzleLayout(3, 3, 3)
    assert ComposeLayout.parse("#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>") == ComposeLayout(
        SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64))
    )


@together(
    ("text", "message", "at"),
    [
        ("", "expected a layout", ""),
        ("T[8:1]", "expected a layout", "T["),
        ("S", "expected '[', found the end of the text", ""),
        ("S[8 : 1", "expected ']', found the end of the text", ""),
        ("S[8 : 1] x", "expected the end of the layout, found 'x'", "x"),
        ("S[8 : ]", "expected a stride", "]"),
        ("S[(8, a) : (1, 1)]", "expected an extent", "a)"),
        ("S[(8, 0) : (1, 1)]", "an extent must be positive, found 0", "0)"),
        ("S[-8 : 1]", "an extent must be positive, found -8", "-8"),
        ("S[(8, 2) : (4@laneid)]", "expected 2 strides for 2 extents, found 1", "(4@"),
        ("S[8 : (4, 1)]", "expected 1 strides for 1 extents, found 2", "(4,"),
        ("S[(8, 2 : (1, 1)]", "expected ')', found ':'", ": ("),
        ("S[8 1]", "expected ':' and the strides, or ']', found '1'", "1]"),
        ("S[0x8 : 1]", "expected an extent (a positive integer), found '0x8'; write it in decimal: 8", "0x8"),
        ("S[8 : 0b11@laneid]", "found '0b11'; write it in decimal: 3", "0b11"),
        ("S[8.0 : 1]", "expected an extent (a positive integer), found '8.0'", "8.0"),
        ("S[8 : 1] + 1_000", "found '1_000'", "1_000"),
        ("S[8 : 4laneid]", "expected a stride (an integer, or integer@axis), found '4laneid'", "4laneid"),
        ("S[8 : 4@LaneId]", "unknown axis 'LaneId'; did you mean 'laneid'?", "LaneId"),
        ("S[8 : 1@tcol]", "did you mean 'TCol'?", "tcol"),
        ("   ", "expected a layout", ""),
        ("S[8 : 1@läneid]", "unknown axis 'läneid'; did you mean 'laneid'?", "läneid"),
        (f"S[8 : {'7' * 1001}]", "expected an integer of at most 1000 digits, found 1001 digits", "7"),
        (f"S[1 : 0] + {'9' * 1000} + 1", "expected an integer of at most 1000 digits", "1\0"),
        (f"S[{'9' * 999}, {'9' * 999}]", "expected an integer of at most 1000 digits", "9"),
        ("S[8 : 4@lane]", "unknown axis 'lane'; did you mean 'laneid'?", "lane]"),
        ("S[8 : 4@]", "expected an axis name after '@', found ']'", "]"),
        ("S[8 : laneid]", "expected a stride (an integer, or integer@axis), found 'laneid'", "laneid"),
        ("S[8 : 1] + R[2 : 1@qqq]", "unknown axis 'qqq'; known axes: bx, by,", "qqq"),
        ("S[8 : 1] + S[2 : 2]", "expected an offset (an integer, or integer@axis) or 'R[', found 'S'", "S[2"),
        ("#tirx.tile_layout<>", "expected a tile layout starting with 'S[', found '>'", ">"),
        ("#tirx.tile_layout<S[8 : 1] * 2>", "expected '>', found '*'", "*"),
        ("S[8 : 1] + R[2]", "expected ':' and the strides", "]\0"),
        ("S[8 : 1] + ", "expected an offset (an integer, or integer@axis) or 'R['", ""),
        ("S[8 : 1] - R[2 : 1]", "expected an offset (an integer, or integer@axis), found 'R'", "R["),
        ("S[8 : 1] + 5@nowhere", "unknown axis 'nowhere'", "nowhere"),
        ("S[8 : 1] + 5@Axis.nowhere", "unknown axis 'nowhere'", "nowhere"),
        ("Swizzle(3, 3)", "expected ',' and atom_len, found ')'", ")"),
        ("Swizzle(3, x, 3)", "expected swizzle_len (an integer), found 'x'", "x"),
        ("Swizzle(-1, 3, 3)", "per_element of a swizzle must not be negative, found -1", "Swizzle"),
        ("#tirx.swizzle_layout<>", "expected per_element, found '>'", ">"),
        ("Swizzle(3, 3, 3, 3)", "expected swizzle_inner (True or False), found '3'", "3)\0"),
        ("Swizzle(3, 3, 3, True, 1)", "expected ')'", "1)"),
        ("Swizzle(x=3, 3, 3)", "expected one of the keywords per_element,", "x="),
        ("Swizzle(M=3, 3, 3)", "expected a keyword, as before", "3, 3)\0"),
        ("Swizzle(M=3, M=3, S=3)", "per_element is given twice", "M=3, S"),
        ("Swizzle<3, 4, 3>", "Swizzle<B, M, S> is the CuTe spelling", "<3"),
        (" Swizzle(3, 3, 2)", "atom_len must be at least swizzle_len (3), found 2", "Swizzle"),
        ("ComposeLayout(Swizzle(3, 3, 3))", "expected ','", ")\0"),
        ("ComposeLayout(S[8 : 1], S[8 : 1])", "expected a swizzle", "S[8 : 1], "),
        ("ComposeLayout(Swizzle(3, 3, 3), S[8 : 1@laneid])", "expected a layout on axis m only, found laneid", "S[8"),
        ("ComposeLayout(Swizzle(3, 3, 3), S[8 : 1@x])", "unknown axis 'x'", "x]"),
    ],
)
def test_errors_have_a_position(text: str, message: str, at: str) -> None:
    """`at` is what stands at the caret; with a final NUL, the last such place; empty for the end of the text."""
    with pytest.raises(LayoutError) as caught:
        parse_layout(text)
    assert message in str(caught.value)
    expected = text.rindex(at[:-1]) if at.endswith("\0") else text.index(at) if at else len(text.rstrip())
    assert caught.value.position is not None
    assert text[: caught.value.position].rstrip() == text[:expected].rstrip()


def test_constructor_errors() -> None:
    with pytest.raises(LayoutError, match="extent of an iter must be positive, found 0"):
        Iter(0, 1)
    with pytest.raises(LayoutError, match="unknown axis 'lane'") as caught:
        Iter(8, 1, "lane")
    assert caught.value.position is None
    with pytest.raises(LayoutError, match="unknown axis 'q'"):
        TileLayout(offset={"q": 1})
    with pytest.raises(LayoutError, match="swizzle_len of a swizzle must not be negative"):
        SwizzleLayout(3, -1, 3)


def test_values_are_hashable_and_normalised() -> None:
    a = TileLayout([Iter(8, 1)], offset={"warpid": 1, "m": 0, "laneid": 2})
    b = TileLayout((Iter(8, 1, "m"),), (), [("laneid", 2), ("warpid", 3), ("warpid", -2)])
    assert a == b and hash(a) == hash(b)
    assert a.offset == (("laneid", 2), ("warpid", 1))
    assert a.offsets == {"laneid": 2, "warpid": 1}
    assert a.axes == ("m", "laneid", "warpid")
    assert len({a, b, TileLayout(), ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout())}) == 3
