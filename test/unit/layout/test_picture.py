"""Layouts as SVG, and how they show themselves in notebooks."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from unit.cases import together

from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout, picture
from tirx.layout.picture import CATEGORIES, colour_axis, colours, html_of, svg

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("layout", "cells"),
    [
        (TileLayout("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]"), 64),
        (ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((8, 64))), 8 * 32),
        (TileLayout(), 1),
    ],
    ids=str,
)
def test_notebook(layout: TileLayout | ComposeLayout, cells: int) -> None:
    """A cell for every element that is shown."""
    found = ElementTree.fromstring(layout._repr_html_())  # pyright: ignore[reportPrivateUsage]
    assert len(found.findall(f"{_SVG}rect")) == cells


def test_shape_of_a_notebook() -> None:
    """Dimensions that fit across are one row, unless a shape is given."""
    for shape, rows in (((4, 2), 4), (None, 1)):
        found = ElementTree.fromstring(html_of("a", (4, 2), TileLayout.row_major((4, 2)).table, shape=shape))
        assert len({each.get("y") for each in found.findall(f"{_SVG}rect")}) == rows


def test_notebook_of_a_large_layout() -> None:
    """Text alone, in no time."""
    layout = TileLayout.row_major((1 << 20, 1 << 20))
    assert layout._repr_html_() == f"<code>{layout}</code>"  # pyright: ignore[reportPrivateUsage]


def test_owners() -> None:
    """A cell has the coordinates of all owners; of many the first two and the last."""

    def texts(layout: str) -> list[str | None]:
        shown = TileLayout(layout)._repr_html_()  # pyright: ignore[reportPrivateUsage]
        return [each.text for each in ElementTree.fromstring(shown).findall(f"{_SVG}text")]

    two = texts("S[2 : 1@laneid] + R[(2, 2) : (4@warpid, 8@laneid)]")
    assert "numbers with commas: an element has one owner for each combination of them" in two
    assert two[-4:] == ["0,8", "1,9", "0,4", "0,4"]
    assert texts("S[1 : 1@laneid] + R[(2, 8) : (-3@m, 2@m)]")[-1] == "-3,-1,…,14"
    assert texts("S[1 : 1] + R[1000000000 : 2@m]")[-1] == "0,…,1999999998"
    assert not any("," in text for text in texts("S[2 : 1@laneid] + R[4 : 0@laneid]")[2:] if text is not None)


def test_cells_have_their_coordinates() -> None:
    layout = TileLayout("S[(2, 3) : (7@laneid, 2)]")
    root = ElementTree.fromstring(svg(layout.table(), (2, 3), "a < b", ["note"]))
    texts = [each.text for each in root.findall(f"{_SVG}text")]
    assert texts[:2] == ["a < b", "note"]
    assert texts[-6:] == ["7", "7", "7", "0", "2", "4"]


def test_large_tiles_are_runs_of_colours() -> None:
    """No text, neighbours of one colour are one rectangle, and the size is bounded."""
    layout = TileLayout.row_major((1024, 1024))
    text = svg(layout.table(), (1024, 1024), "large")
    assert "the first 256 x 256 of 1024 x 1024 elements" in text
    assert len(text) < 8_000_000
    by_row = TileLayout("S[(256, 256) : (1@tx, 1)]")
    assert svg(by_row.table(), (256, 256), "rows").count("<rect") == 256


def test_colours() -> None:
    """Up to eight values are categories, more are a scale that rises."""
    assert colours(np.array([5, 9, 5])).tolist() == [CATEGORIES[0], CATEGORIES[1], CATEGORIES[0]]
    scale = colours(np.arange(32)).tolist()
    assert len(set(scale)) == 32
    assert colour_axis(TileLayout("S[(2, 8) : (1@warpid, 1)]").table()) == "warpid"
    assert colour_axis(TileLayout("S[(2, 8) : (8, 1)]").table()) == "m"


@together(
    ("table", "axis"),
    [
        ({"laneid": (5, 5), "m": (0, 3)}, "m"),
        ({"laneid": (3, 4), "warpid": (0, 2)}, "warpid"),
        ({"laneid": (-3, 3), "warpid": (5, 10)}, "laneid"),
        ({"m": (0, 9), "laneid": (1, 2), "bx": (0, 0)}, "laneid"),
        ({"m": (4, 4)}, None),
        ({}, None),
    ],
)
def test_the_axis_that_reaches_furthest_has_the_colours(table: dict[str, tuple[int, int]], axis: str | None) -> None:
    assert colour_axis({name: np.array(values) for name, values in table.items()}) == axis


def test_ink_on_both_sides_of_the_threshold() -> None:
    """Luminance of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, above 118 of 255: dark text."""
    ink = picture._ink  # pyright: ignore[reportPrivateUsage]
    for colour in ("#ff4800", "#0098ff", "#767777", "#777777", "#ffffff", "#c800ff", "#b10fff"):
        red, green, blue = bytes.fromhex(colour[1:])
        dark = 299 * red + 587 * green + 114 * blue > 118_000
        assert ink(colour) == ("#16202c" if dark else "#ffffff")
    assert [ink(each) for each in ("#ff4700", "#0097ff", "#000000", "#767576")] == ["#ffffff"] * 4


@together(
    ("extents", "rows", "columns"),
    [
        ((40, 1), 1, 32),
        ((1, 40), 1, 32),
        ((4, 2, 16), 4, 32),
        ((4, 3, 16), 12, 16),
        ((3, 33), 3, 32),
        ((33, 2, 1), 16, 2),
        ((1, 1), 1, 1),
        ((), 1, 1),
    ],
)
def test_the_innermost_extents_that_fit_are_one_dimension(extents: tuple[int, ...], rows: int, columns: int) -> None:
    size = math.prod(extents)
    root = ElementTree.fromstring(picture.html_of("t", extents, lambda: {"m": np.arange(size)}))
    places = [(float(each.attrib["y"]), float(each.attrib["x"])) for each in root.findall(f"{_SVG}rect")]
    assert (len({y for y, _ in places}), len({x for _, x in places}), len(places)) == (rows, columns, rows * columns)


@together(
    ("text", "shown"),
    [
        ("S[2 : 1] + R[4 : 2]", [0, 2, 4, 6]),
        ("S[2 : 1] + R[5 : 2]", [0, 2, None, 8]),
        ("S[2 : 1] + R[4096 : 2]", [0, 2, None, 8190]),
        ("S[2 : 1] + R[4097 : 2]", [0, None, 8192]),
        ("S[2 : 1] + R[4097 : 1@laneid]", [0]),
    ],
)
def test_copies_of_an_element_are_named_by_their_steps(text: str, shown: list[int | None]) -> None:
    assert picture._steps(TileLayout.parse(text).replica, "m") == shown  # pyright: ignore[reportPrivateUsage]
