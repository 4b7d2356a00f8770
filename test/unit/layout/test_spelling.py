"""Layouts spelled in Python are those of the text."""

from __future__ import annotations

import pickle

import pytest
from unit.cases import together

from tirx.layout import Axis, LayoutError, R, S, TileLayout, axes, known_axes, register_axis
from tirx.layout.axes import TCol, TLane, laneid, m, pid, warpid


def test_the_spelling_of_the_notation() -> None:
    spelled = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid)
    text = "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid"
    assert spelled == TileLayout(text) == TileLayout.parse(text)
    assert str(spelled) == text


def test_copies_spell_the_same() -> None:
    shard, replica = pickle.loads(pickle.dumps((S, R)))
    assert shard[4 : 1 @ laneid] + replica[2 : 4 @ laneid] == S[4 : 1 @ laneid] + R[2 : 4 @ laneid]


@together(
    ("spelled", "text"),
    [
        (S[8, 4], "S[8, 4]"),
        (S[8], "S[8 : 1]"),
        (S[8:2], "S[8 : 2]"),
        (S[()], "S[]"),
        (S[(128, 64) : (1 @ TLane, 1 @ TCol)], "S[(128, 64) : (1@TLane, 1@TCol)]"),
        (S[4 : 1 @ pid] + R[(2, 3) : (4 @ pid, 8 @ pid)], "S[4 : 1@pid] + R[(2, 3) : (4@pid, 8@pid)]"),
        (S[8 : 1 @ m] + 3 + 2 @ laneid + 1 @ laneid, "S[8 : 1] + 3 + 3@laneid"),
        (R[2 : 1 @ warpid] + S[32 : 1 @ laneid], "S[32 : 1@laneid] + R[2 : 1@warpid]"),
        (2 @ laneid + S[8:-1], "S[8 : -1] + 2@laneid"),
    ],
)
def test_other_spellings(spelled: object, text: str) -> None:
    assert TileLayout(spelled) == TileLayout(text)  # pyright: ignore[reportArgumentType]


def test_every_axis_has_an_object() -> None:
    builtin = [each.name for each in known_axes() if hasattr(axes, each.name)]
    assert {"laneid", "warpid", "pid", "TLane", "tx", "m"} <= set(builtin)
    assert all(getattr(axes, name).name == name for name in builtin)
    mine = register_axis(Axis("spelled_axis", "memory", "an axis of a user"))
    assert TileLayout(S[4 : 2 @ mine]) == TileLayout("S[4 : 2@spelled_axis]")


def test_mistakes() -> None:
    with pytest.raises(
        LayoutError, match=r"^expected a stride for each extent in S\[\.\.\.\], found 2 extents and 1 strides$"
    ):
        S[(2, 3) : 1]
    with pytest.raises(LayoutError, match=r"expected one S\[...\] in a layout, found two"):
        _ = S[2] + S[3]
    with pytest.raises(LayoutError, match=r"^expected R\[extents : strides\], found R\[slice\(2, 1, 3\)\]$"):
        R[2:1:3]
    with pytest.raises(LayoutError, match=r"expected S\[extents : strides\]"):
        S[2:]
    with pytest.raises(LayoutError, match=r"expected S\[extents : strides\]"):
        S[:1]
    with pytest.raises(LayoutError, match="unknown axis 'lane'"):
        TileLayout("S[8 : 1@lane]")
    with pytest.raises(
        TypeError, match=r"^expected a text or S\[\.\.\.\] \+ R\[\.\.\.\] alone, found replica or offset beside it$"
    ):
        TileLayout("S[8 : 1]", offset={"m": 1})
