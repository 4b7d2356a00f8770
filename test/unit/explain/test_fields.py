"""Fields of words for people: which there are, their numbers, and lines of text."""

from __future__ import annotations

import pytest
from unit.cases import together

from tirx.copy.tensor_map_bits import FIELDS, IM2COL_FIELDS
from tirx.diagnostics import Diagnostic
from tirx.explain import Explanation, explain_tensor_map
from tirx.explain.report import FieldValue
from tirx.explain.tensor_map import _meaning, _signed, _used  # pyright: ignore[reportPrivateUsage]
from tirx.hw.bits import deposit
from tirx.text.source import Source, file_location


@together(
    ("bits", "code", "shown"),
    [((3, 8), 200, "200"), ((3, 9), 200, "0xc8"), ((3, 9), None, "?"), ((0, 1), 0, "0")],
)
def test_lines_of_fields(bits: tuple[int, int], code: int | None, shown: str):
    line = FieldValue("a name", bits, code, "means it").text()
    assert line.split()[-5:] == ["a", "name", shown, "means", "it"]
    assert line.index(shown, 41) == 42 and line.index("a name") == 14
    assert not FieldValue("a name", bits, code, "").text().endswith(" ")


def test_lines_of_words():
    field = FieldValue("f", (0, 4), 3, "three")
    plain = Explanation("word", 0x1F, 16, (field,), "all of it")
    assert plain.legal and str(plain) == plain.text()
    assert plain.text() == f"word: 0x001f\n  {field.text()}"
    assert plain.brief("> ") == "0x001f: all of it"
    wrong = Explanation("word", None, 16, (), "all", (("note", "text"),), ("bad", "worse"), (0x12, "f 3 to 2"))
    assert not wrong.legal
    lines = ["  wrong: bad", "  wrong: worse", "  nearest: 0x0012 (f 3 to 2)"]
    assert wrong.text("> ").splitlines() == [
        f"> {line}" for line in ("word: not known before the kernel runs", "  note: text", *lines)
    ]
    assert wrong.brief("> ") == "\n> ".join(["all", *lines])


def test_fields_of_each_rank():
    for rank in range(1, 6):
        word = deposit(0, FIELDS["rank"], rank - 1)
        found = {field.name for field in explain_tensor_map(word.to_bytes(128, "little")).fields}
        for name in ("global_dim", "element_stride", "box_dim"):
            assert [f"{name}[{i}]" in found for i in range(5)] == [i < rank for i in range(5)]
        assert [f"global_stride[{i}]" in found for i in range(4)] == [i < rank - 1 for i in range(4)]


def test_numbers_of_fields():
    assert [_signed(word, (4, 4)) for word in (0x00, 0x70, 0x80, 0xF0, 0xF8F)] == [0, 7, -8, -1, -8]
    assert (_used("rank", 1), _used("box_dim[0]", 1), _used("box_dim[1]", 1)) == (True, True, False)
    assert (_meaning("rank", 2), _meaning("box_dim[3]", 7), _meaning("global_address", 31)) == ("3", "8", "0x1f")
    assert (_meaning("im2col", 0), _meaning("im2col", 1)) == ("for tiles", "for im2col modes")
    assert (_meaning("tf32", 0), _meaning("tf32", 1), _meaning("unknown", 1)) == ("", "rounds to tf32", "")
    assert _meaning("fill", 99) == "no meaning" and _meaning("fill", 0) != _meaning("fill", 1)


@together(
    ("length", "column", "row", "caret"),
    [
        (1000, 1000, "x" * 1000, 999),
        (1001, 1, "x" * 1000 + "...", 0),
        (1001, 500, "x" * 1000 + "...", 499),
        (1001, 501, "..." + "x" * 1000, 502),
        (3000, 1500, "..." + "x" * 1000 + "...", 502),
        (3000, 3000, "..." + "x" * 500, 502),
    ],
)
def test_long_lines(length: int, column: int, row: str, caret: int):
    """A thousand characters around the place are shown, with the caret below it."""
    source = Source("k", f"first\n{'x' * length}")
    found = source.render(Diagnostic("error", "wrong", file_location("k", 2, column)))
    assert found == f"k:2:{column}: error: wrong\n{row}\n{' ' * caret}^"


@together(("line", "shown"), [(0, False), (1, True), (2, True), (3, False)])
def test_lines_that_are_there(line: int, shown: bool):
    found = Source("k", "\ta\nb").render(Diagnostic("error", "wrong", file_location("k", line, 2)))
    assert found.count("\n") == (2 if shown else 0)
    if line == 1:
        assert found.endswith("\n\ta\n\t^")


@pytest.mark.parametrize(
    ("lower", "upper", "width"),
    [((-32768,), (32767,), 16), ((-3, 5), (7, -128), 8), ((-16, 0, 15), (1, -2, 3), 5)],
)
def test_corners_of_images(lower: tuple[int, ...], upper: tuple[int, ...], width: int):
    """Corners are signed numbers of 16, 8 or 5 bits for ranks 3, 4 and 5, the upper ones in the second half."""
    rank = len(lower) + 2
    word = deposit(deposit(0, FIELDS["im2col"], 1), FIELDS["rank"], rank - 1)
    for i in range(rank):
        word = deposit(word, FIELDS[f"global_dim[{i}]"], 10 + i)
    for half, corner in ((0, lower), (16, upper)):
        for i, number in enumerate(corner):
            word |= (number % (1 << width)) << (448 + half + width * i)
    word = deposit(deposit(word, IM2COL_FIELDS["channels"], 30), IM2COL_FIELDS["pixels"], 70)
    found = explain_tensor_map(word.to_bytes(128, "little"))
    dims = " x ".join(str(11 + i) for i in range(rank))
    assert found.legal and found.title == "tensor map for im2col"
    assert found.notes == (
        ("tensor", f"{dims}, innermost first"),
        ("bounding box", f"corners {[*lower]} and {[*upper]}, of the pixels' first and last"),
        ("copy", "71 pixels of 31 channels, swizzle none"),
    )


@together(
    ("swizzle", "atomicity", "said"),
    [(0, 1, "none"), (2, 3, "64B"), (3, 0, "128B"), (3, 1, "128B_atom_32B"), (3, 3, "128B_atom_64B")],
)
def test_swizzles_of_im2col(swizzle: int, atomicity: int, said: str) -> None:
    """The atomicity counts with a swizzle of 128 bytes only."""
    word = deposit(deposit(0, FIELDS["im2col"], 1), FIELDS["rank"], 2)
    word = deposit(deposit(word, FIELDS["swizzle"], swizzle), FIELDS["atomicity"], atomicity)
    found = explain_tensor_map(word.to_bytes(128, "little"))
    assert any(text.endswith(f"swizzle {said}") for _, text in found.notes), found.notes


def test_images_have_three_dimensions_or_more():
    word = deposit(deposit(0, FIELDS["im2col"], 1), FIELDS["rank"], 1)
    assert explain_tensor_map(word.to_bytes(128, "little")).problems == ("rank: expected 3 to 5 for im2col, found 2",)
