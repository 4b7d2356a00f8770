"""A tile in the terminal, line by line; tiles of texts in every notation."""

from __future__ import annotations

import io
from typing import Any

import pytest
from unit.cases import together

from tirx.layout import LayoutError, TileLayout, parse_layout
from tirx.layout.picture import CATEGORIES
from tirx.viz import Tile, picture, read_tiles
from tirx.viz.sources import read_thread_value
from tirx.viz.terminal import print_tile
from tirx.viz.tile import DIGEST_PRIME, digest_of


def _printed(tile: Tile, width: int, rows: int = 32) -> list[str]:
    stream = io.StringIO()
    print_tile(tile, stream, width, rows)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def _tile(shape: tuple[int, ...], place: str | None = None) -> Tile:
    layout = TileLayout.row_major(shape)
    return Tile("t", layout, shape, place=place)


def test_a_tile_that_fits() -> None:
    tile = _tile((2, 3), "k.mlir:1:2")
    assert _printed(tile, 60) == [
        "k.mlir:1:2",
        f"{tile.layout}  2 x 3",
        "in each cell: m; coloured by m",
        "  0 1 2",
        "0 0 1 2",
        "1 3 4 5",
    ]


@together(("width", "columns"), [(6, 1), (38, 10), (41, 11), (42, 12), (80, 12)])
def test_a_tile_that_is_cut(width: int, columns: int) -> None:
    """Cells of two digits take three columns of the terminal; six are for the numbers of rows."""
    lines = _printed(_tile((3, 4, 12)), width, rows=5)
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["0", "0"]) - 1
    assert [[int(n) for n in line.split()] for line in lines[start : start + 6]] == [
        [*range(columns)],
        *([row, *range(12 * row, 12 * row + columns)] for row in range(5)),
    ]
    assert "".join(lines[start + 6 :]).replace(" ", "") == f"thefirst5x{columns}of12x12elements"


def test_the_last_row() -> None:
    assert any(line.startswith("the first 3 x 12 of 4 x 12") for line in _printed(_tile((4, 12)), 60, rows=3))
    assert not any(line.startswith("the first") for line in _printed(_tile((4, 12)), 60, rows=4))


def test_cells_of_several_axes() -> None:
    """They are flush right, and as wide as the widest of their column."""
    tile = Tile("t", TileLayout.parse("S[(2, 3) : (70@laneid, 5)]"), (2, 3))
    head = [f"{tile.layout}  2 x 3", "in each cell: laneid m; coloured by laneid"]
    assert _printed(tile, 60) == [*head, "     0    1     2", "0  0 0  0 5  0 10", "1 70 0 70 5 70 10"]
    # What does not even fit alone is cut.
    lines = _printed(tile, 5)
    at = lines.index("    0")
    assert lines[at : at + 3] == ["    0", "0 0 0", "1 70…"]
    scalar = Tile("t", TileLayout.parse("S[]"), ())
    assert _printed(scalar, 60) == ["S[]", "in each cell: nothing", "  0", "0"]


def test_colours_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    tile = Tile("t", TileLayout.parse("S[(2, 2) : (7@laneid, 50)]"), (2, 2), place="k.mlir:1:2")
    print_tile(tile, stream, 60)

    def styled(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m"

    def cell(colour: str, text: str) -> str:
        ground = ";".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
        return styled(f"38;2;20;28;38;48;2;{ground}", text)

    dim, bold = "2", "1"
    first, second = CATEGORIES[:2]
    assert stream.getvalue().splitlines() == [
        styled(dim, "k.mlir:1:2"),
        styled(bold, "S[(2, 2) : (7@laneid, 50)]  2 x 2"),
        styled(dim, "in each cell: laneid m; coloured by laneid"),
        f"  {styled(dim, '  0')} {styled(dim, '   1')}",
        f"{styled(dim, '0')} {cell(first, '0 0')} {cell(first, '0 50')}",
        f"{styled(dim, '1')} {cell(second, '7 0')} {cell(second, '7 50')}",
    ]


@pytest.mark.parametrize(
    ("layout", "name", "place", "notes"),
    [
        ("S[(2, 3) : (3, 1)]", None, None, []),
        ("S[(2, 3) : (3, 1)]", "a name", None, ["a name"]),
        ("S[(2, 3) : (3, 1)]", None, "k.mlir:3:4", ["k.mlir:3:4"]),
        ("S[(2, 3) : (3, 1)] + R[2 : 2@warpid]", None, None, ["every element has 2 owners"]),
        ("S[(2, 3) : (3, 1)] + R[3 : 2@warpid]", "a name", "k.mlir:3:4",
         ["a name", "k.mlir:3:4", "every element has 3 owners"]),
    ],
)  # fmt: skip
def test_notes_of_pictures(
    monkeypatch: pytest.MonkeyPatch, layout: str, name: str | None, place: str | None, notes: list[str]
) -> None:
    drawn: list[tuple[Any, ...]] = []

    def svg(*given: Any, replica: Any) -> str:
        drawn.append((*given, replica))
        return "picture"

    monkeypatch.setattr(picture, "svg", svg)
    found = TileLayout.parse(layout)
    assert picture.tile_svg(Tile(name or str(found), found, (3, 2), place=place)) == "picture"
    ((table, *rest),) = drawn
    assert rest == [(3, 2), str(found), notes, found.replica]
    assert table["m"].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_digests() -> None:
    """The page computes the same with its own algebra."""
    layout = parse_layout("S[(4, 3) : (5@laneid, 7)]")
    assert isinstance(layout, TileLayout)
    expected = 0
    for flat in range(12):
        coordinates = {"laneid": flat // 3 * 5, "m": flat % 3 * 7}
        for k, name in enumerate(sorted(coordinates)):
            expected += coordinates[name] * (flat * (k + 3) + k + 1)
    assert digest_of(layout) == expected % DIGEST_PRIME
    assert digest_of(TileLayout.row_major((256, 256))) is not None
    assert digest_of(TileLayout.row_major((256, 257))) is None


@together(
    ("text", "shape", "dtype", "found"),
    [
        ("S[(8, 2) : (2, 1)]", None, "f16", ((8, 2), "S[(8, 2) : (2, 1)]")),
        ("S[(8, 2) : (2, 1)]", (4, 4), "f32", ((4, 4), "S[(8, 2) : (2, 1)]")),
        ("S[]", None, "f16", ((1,), "S[]")),
        ("(4,6):(6,1)", None, "f16", ((4, 6), "S[(4, 6) : (6, 1)]")),
        ("(4,6):(6,1)", (2, 12), "f16", ((2, 12), "S[(4, 6) : (6, 1)]")),
        ("  _4:_2", None, "f16", ((4,), "S[4 : 2]")),
    ],
)
def test_tiles_of_texts(
    text: str, shape: tuple[int, ...] | None, dtype: str, found: tuple[tuple[int, ...], str]
) -> None:
    (tile,) = read_tiles(text, shape, dtype)
    assert (tile.shape, str(tile.layout), tile.dtype, tile.group) == (*found, dtype, "Given")
    assert tile.name == str(tile.layout)


def test_swizzles_need_a_shape() -> None:
    with pytest.raises(LayoutError, match="a swizzle alone has no size: expected --shape") as found:
        read_tiles("Swizzle(3, 3, 3)")
    assert found.value.position == 0
    (tile,) = read_tiles("Swizzle(3, 3, 3)", (8, 64))
    assert tile.shape == (8, 64)


def test_thread_values() -> None:
    """Four threads with two elements each of 2 x 4: indices count the first dimension fastest, or name it."""
    plain = read_thread_value("((2,2),2):((1,2),4)", (2, 4))
    named = read_thread_value("((2,2),2):((1@0,1@1),2@1)", (2, 4), "f32")
    assert (str(plain.layout), plain.shape, plain.dtype) == (str(named.layout), (2, 4), "f16")
    assert named.dtype == "f32" and plain.group == "Given"
    table = plain.layout.table((2, 4))
    # Element (i, j) belongs to thread i + 2 (j % 2), in register j // 2.
    assert table["laneid"].tolist() == [[0, 2, 0, 2], [1, 3, 1, 3]]
    assert table["m"].tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]
    with pytest.raises(LayoutError, match="^expected a dimension below 2, found '1@2'$"):
        read_thread_value("(2,4):(1@0,1@2)", (2, 4))
