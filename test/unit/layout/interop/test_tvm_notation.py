"""The spellings of TVM: what it prints and what its users write is read, what we print it reads."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout, known_axes, parse_layout, to_tvm

PRINTED = json.loads((Path(__file__).parent / "tvm_printed.json").read_text())
"""Layouts printed by TVM itself, three generations of which print differently, with what they mean."""

names = st.sampled_from([row.name for row in known_axes()])
strides = st.one_of(st.integers(-9, 70), st.integers(-(2**63), 2**63 - 1))
iters = st.builds(Iter, st.sampled_from([1, 2, 3, 32, 2**31 - 1]), strides, names)
offsets = st.dictionaries(names, strides, max_size=3)
tiles = st.builds(TileLayout, st.lists(iters, max_size=2), st.lists(iters, max_size=2), offsets)
linear = st.builds(
    TileLayout,
    st.lists(st.builds(Iter, st.integers(1, 64), strides), max_size=4),
    st.lists(st.builds(Iter, st.integers(1, 4), strides), max_size=2),
    st.dictionaries(st.just("m"), strides, max_size=1),
)
swizzles = st.integers(0, 3).flatmap(
    lambda bits: st.builds(SwizzleLayout, st.integers(0, 5), st.just(bits), st.integers(bits, 5), st.booleans())
)
layouts = st.one_of(tiles, st.builds(ComposeLayout, swizzles, linear))


@together("row", PRINTED)
def test_reads_what_tvm_prints(row: dict[str, str]) -> None:
    assert str(parse_layout(row["text"])) == row["notation"]


def test_prints_what_tvm_prints() -> None:
    """Letter by letter, but for zero offsets, which we do not keep, and for axes that TVM's own text cannot name."""
    compared = 0
    for row in PRINTED:
        if "0.27" in row["printed_by"] and not re.search(r"[+(] ?0|pid|tid\b|tid\)|from_iters", row["text"]):
            assert to_tvm(parse_layout(row["text"])) == row["text"]
            compared += 1
    assert compared > 20


@together(
    ("text", "printed"),
    [
        ("T.TileLayout(T.S[(2, 4):(4 @ Axis.wgid, 1 @ Axis.warpid)])", "S[(2, 4) : (4@wgid, 1@warpid)]"),
        (
            "T.TileLayout(T.S[2:1] + T.R[2:4@Axis.warpid] + (3 @ Axis.laneid + 7 + 5 @ Axis.warpid))",
            "S[2 : 1] + R[2 : 4@warpid] + 3@laneid + 7 + 5@warpid",
        ),
        ("TileLayout(S[8, 4, 2])", "S[(8, 4, 2) : (8, 2, 1)]"),
        ('S[(8, 4) : ((4, "laneid"), 1)]', "S[(8, 4) : (4@laneid, 1)]"),
        ('S[(8, 4) : ("laneid", 1)]', "S[(8, 4) : (1@laneid, 1)]"),
        ("S[8 : 'laneid']", "S[8 : 1@laneid]"),
        ('S[8 : 4@"laneid"]', "S[8 : 4@laneid]"),
        ('S[8 : 4 @ Axis.get("laneid")] + 2 @ Axis.get("warpid")', "S[8 : 4@laneid] + 2@warpid"),
        ("T.S[8 : T.int64(4) @ laneid] - (3 - 2@warpid)", "S[8 : 4@laneid] - 3 + 2@warpid"),
        ("T.TileLayout(T.R[2:3 @ Axis.laneid])", "S[] + R[2 : 3@laneid]"),
        ("TileLayout.from_iters()", "S[]"),
        ("T.TileLayout.from_iters(shard=[], replica=[], offset=None)", "S[]"),
        ('T.TileLayout.from_iters(offset={"m": 3, Axis.laneid: 1})', "S[] + 1@laneid + 3"),
        ("TileLayout.from_iters(offset={Axis.m: 3})", "S[] + 3"),
        (
            'TileLayout.from_iters(\n    [T.Iter(2, 4, "wgid"), Iter(4, 1, Axis.warpid)],\n    [T.Iter(2, 8, "m")],\n)',
            "S[(2, 4) : (4@wgid, 1@warpid)] + R[2 : 8]",
        ),
        ("TileLayout.from_iters(shard=(Iter(extent=8, stride=1, axis='m'),))", "S[8 : 1]"),
        (
            "T.ComposeLayout(3, 2, 4, T.TileLayout(T.S[(8, 64):(64, 1)]))",
            "ComposeLayout(Swizzle(3, 2, 4), S[(8, 64) : (64, 1)])",
        ),
        (
            "ComposeLayout(3, 2, 4, TileLayout(S[8:1]), swizzle_inner=False)",
            "ComposeLayout(Swizzle(3, 2, 4, swizzle_inner=False), S[8 : 1])",
        ),
        (
            "ComposeLayout(3, 2, 4, S[8:1], False)",
            "ComposeLayout(Swizzle(3, 2, 4, swizzle_inner=False), S[8 : 1])",
        ),
        (
            "ComposeLayout(per_element=3, swizzle_len=2, atom_len=4, tile_layout=S[8:1])",
            "ComposeLayout(Swizzle(3, 2, 4), S[8 : 1])",
        ),
        (
            "T.ComposeLayout(T.SwizzleLayout(3, 3, 3, swizzle_inner=True), T.TileLayout(T.S[8:1]))",
            "ComposeLayout(Swizzle(3, 3, 3), S[8 : 1])",
        ),
        (
            "ComposeLayout(SwizzleLayout(3, 3, 3, swizzle_inner=False), TileLayout.from_iters([Iter(8, 1, 'm')]))",
            "ComposeLayout(Swizzle(3, 3, 3, swizzle_inner=False), S[8 : 1])",
        ),
        ("T.SwizzleLayout(3, 3, 3, swizzle_inner=True)", "Swizzle(3, 3, 3)"),
        ("SwizzleLayout(3, 2, 3, False)", "Swizzle(3, 2, 3, swizzle_inner=False)"),
    ],
)
def test_reads_what_users_write(text: str, printed: str) -> None:
    layout = parse_layout(text)
    assert str(layout) == printed
    assert parse_layout(printed) == layout


@together(
    ("text", "message", "at"),
    [
        ("T.TileLayout(T.S[(4, n):(4, 1)])", "expected an extent (a positive integer), found 'n'", "n)"),
        ("T.TileLayout(T.S[8:1 @ Axis.lane])", "unknown axis 'lane'; did you mean 'laneid'?", "lane]"),
        ('S[8 : 4@"lane"]', "unknown axis 'lane'", 'lane"'),
        ("S[8 : 4@'laneid]", "expected an axis name", "'laneid"),
        ("S[8 : 4 @ Axis.get(laneid)]", "expected an axis name in quotes, found 'laneid'", "laneid)"),
        ('S[8 : (4, "laneid")]', "found 2; a stride on an axis is written 4@laneid", "(4,"),
        ('S[(8, 2) : ((4, "laneid", 1), 2)]', "expected ')', found ','", ", 1)"),
        ('S[(8, 2) : ((4@m, "laneid"), 2)]', "expected ',', found '@'", "@m"),
        ("S[8:1] + (3 + )", "expected an offset (an integer, or integer@axis), found ')'", ")"),
        ("S[8:1] + (3", "expected ')', found the end of the text", ""),
        ("S[8:1] + ((3))", "expected an offset (an integer, or integer@axis), found '('", "(3)"),
        ("TileLayout.from_iters(T.Iter(2, 4, 'm'))", "expected '[', found 'T.Iter'", "T.Iter"),
        ("TileLayout.from_iters(shard=[8])", "expected an iter such as Iter(8, 4, \"laneid\"), found '8'", "8"),
        ("TileLayout.from_iters(shard=[Iter(8)])", "expected ',' and stride, found ')'", ")]"),
        ("TileLayout.from_iters(shard=[Iter(8, 1, 'q')])", "unknown axis 'q'", "q'"),
        ("TileLayout.from_iters(shard=[Iter(0, 1)])", "an extent must be positive, found 0", "0,"),
        ("TileLayout.from_iters(shards=[])", "expected one of the keywords shard, replica, offset", "shards"),
        ("TileLayout.from_iters(offset={'m': 3, 'm': 4})", "the offset on axis m is given twice", "'m': 4"),
        ("TileLayout.from_iters(offset={m: 1.5})", "expected an offset (an integer), found '1.5'", "1.5"),
        ("TileLayout.from_iters([], [], {}, 1)", "expected ')', found '1'", "1)"),
        ("ComposeLayout(3, 3, S[8:1])", "expected atom_len (an integer), found 'S'", "S[8"),
        ("ComposeLayout(3, 3, 3)", "expected ',' and tile_layout, found ')'", ")"),
        ("ComposeLayout(3, 3, 2, S[8:1])", "atom_len must be at least swizzle_len (3), found 2", "3, 3, 2"),
        ("ComposeLayout(3, 3, 3, S[8:1], maybe)", "expected swizzle_inner (True or False), found 'maybe'", "maybe"),
        ("ComposeLayout(3, 3, 3, Swizzle(3, 3, 3))", "expected a tile layout starting with 'S['", "Swizzle"),
        ("S[T.int64(8 : 1]", "expected ')', found ':'", ": 1"),
    ],
)
def test_errors_have_a_position(text: str, message: str, at: str) -> None:
    with pytest.raises(LayoutError) as caught:
        parse_layout(text)
    assert message in str(caught.value)
    assert caught.value.position == (text.index(at) if at else len(text))


@given(layouts, st.sampled_from(["sum", "iters"]))
def test_round_trips(layout: TileLayout | ComposeLayout, form: str) -> None:
    assert parse_layout(to_tvm(layout, "sum" if form == "sum" else "iters")) == layout


@given(swizzles)
def test_a_bare_swizzle_is_the_composition_with_one_period(swizzle: SwizzleLayout) -> None:
    read = parse_layout(to_tvm(swizzle))
    assert isinstance(read, ComposeLayout)
    assert read.swizzle == swizzle and read.tile == TileLayout([Iter(swizzle.period, 1)])


def test_integers_have_32_bits_unless_they_say_otherwise() -> None:
    written = [to_tvm(TileLayout([Iter(2, stride)])) for stride in (-(2**31), -(2**31) - 1, 2**31 - 1, 2**31)]
    numbers = ("-2147483648", "T.int64(-2147483649)", "2147483647", "T.int64(2147483648)")
    assert written == [f"T.TileLayout(T.S[2:{number}])" for number in numbers]


def test_axes_that_tvm_lacks_are_written_as_strings() -> None:
    layout = TileLayout.parse("S[(2, 4) : (1@pid, 1)] + 3")
    assert to_tvm(layout) == (
        'T.TileLayout.from_iters(shard=[T.Iter(2, 1, "pid"), T.Iter(4, 1, "m")], offset={"m": 3})'
    )
    with pytest.raises(LayoutError, match="TVM integers have at most 64 bits, found 9223372036854775808"):
        to_tvm(TileLayout(offset={"m": 2**63}))


PIECES = [
    *("S[", "R[", "T.", "TileLayout(", "Swizzle(", "ComposeLayout(", "Iter(", "Axis.", ".from_iters(", "laneid"),
    *("(", ")", "[", "]", "{", "}", "<", ":", ",", "+", "-", "@", "=", '"', "'", "8", "-1", "0x8", "é", "\n"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_a_layout_or_an_error_with_a_position(text: str) -> None:
    try:
        layout = parse_layout(text)
    except LayoutError as error:
        assert error.position is not None and 0 <= error.position <= len(text)
    else:
        assert parse_layout(str(layout)) == layout


@together("piece", ["(", "[", "S[", "S[(", "TileLayout(", "ComposeLayout(", "S[8:1]+(", "-", "Axis.get("])
def test_no_depth_is_too_deep(piece: str) -> None:
    for text in (piece * 20000, f"S[8 : {piece * 20000}"):
        with pytest.raises(LayoutError) as caught:
            parse_layout(text)
        assert caught.value.position is not None and caught.value.position <= len(text)


def test_huge_numbers() -> None:
    with pytest.raises(LayoutError, match="at most 1000 digits, found 10000 digits") as caught:
        parse_layout(f"S[8 : {'9' * 10000}]")
    assert caught.value.position == 6
    assert parse_layout(f"S[8 : {'0' * 10000}1]") == TileLayout.row_major((8,))
    huge = TileLayout([Iter(8, -(10**999))], offset={"laneid": 10**999})
    assert parse_layout(str(huge)) == huge
