"""Boxes whose begin is not known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import factorisations, fits, layouts, owner_set, same_map, shapes_of
from unit.cases import together

from tirx.layout import LayoutError, SwizzleLayout, TileLayout, slicing, swizzled_slice


def tile(text: str) -> TileLayout:
    return TileLayout.parse(text)


def strided(values: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> bool:
    """Returns True if some list of iters gives these coordinates, by trying all of them."""
    lines = np.stack([v.reshape(-1) for v in values.values()]) if values else np.zeros((0, 1), dtype=np.int64)
    return any(fits(lines - lines[:, :1], factors) for factors in factorisations(lines.shape[1]))


@given(st.data(), layouts())
def test_slice_dynamic(data: st.DataObject, layout: TileLayout) -> None:
    """Right at every begin, and refused only when the boxes differ or when they or their begins are no layout."""
    if data.draw(st.booleans()):
        shape = data.draw(shapes_of(layout))
    else:
        shape = data.draw(st.sampled_from(factorisations(layout.size())))
    sizes = tuple(data.draw(st.integers(1, extent)) for extent in shape)
    multiples = tuple(data.draw(st.sampled_from([None, 0, 1, 2, 3, 4])) for _ in shape)
    counts = tuple((e - n) // m + 1 if m else 1 for e, n, m in zip(shape, sizes, multiples, strict=True))
    table = layout.table(shape)

    def box(begin: tuple[int, ...]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        where = tuple(slice(b, b + n) for b, n in zip(begin, sizes, strict=True))
        return {name: values[where] for name, values in table.items()}

    begins = {k: tuple(i * (m or 0) for i, m in zip(k, multiples, strict=True)) for k in np.ndindex(*counts)}
    origin = (0,) * len(shape)
    first = box(origin)
    try:
        found = layout.slice_dynamic(shape, sizes, multiples)
    except LayoutError:
        moved = all(
            (values - values[origin] == first[name] - first[name][origin]).all()
            for begin in begins.values()
            for name, values in box(begin).items()
        )
        at = {name: np.array([values[begin] for begin in begins.values()]) for name, values in table.items()}
        assert not (moved and strided(first) and strided(at))
        return
    assert found.begin_shape == counts
    assert not found.begin.replica and not found.begin.offset
    for step, begin in begins.items():
        part = found.at(step)
        for y, coord in enumerate(np.ndindex(*sizes)):
            x = np.ravel_multi_index([b + c for b, c in zip(begin, coord, strict=True)], shape) if shape else 0
            assert owner_set(part, y) == owner_set(layout, int(x))
        if begin == origin:
            assert same_map(part, found.layout)


def test_stages_of_a_buffer() -> None:
    """A tile of a pipeline: the stage is not known, and neither is the step of k inside of it."""
    buffer = tile("S[(3, 128, 64) : (8192, 64, 1)] + 4096")
    found = buffer.slice_dynamic((3, 128, 64), (1, 128, 16), (1, None, 16))
    assert found.layout == tile("S[(128, 16) : (64, 1)] + 4096")
    assert found.begin == tile("S[(3, 4) : (8192, 16)]")
    assert found.begin_shape == (3, 1, 4)
    assert found.at((2, 0, 3)) == tile("S[(128, 16) : (64, 1)] + 20528")
    with pytest.raises(LayoutError, match=r"coordinate \(3, 0, 0\) is outside shape \(3, 1, 4\)"):
        found.at((3, 0, 0))


def test_large_tensors_are_not_listed() -> None:
    found = TileLayout.row_major((2**20, 2**20)).slice_dynamic((2**20, 2**20), (128, 64), (1, 1))
    assert found.layout == tile("S[(128, 64) : (1048576, 1)]")
    assert found.begin_shape == (2**20 - 127, 2**20 - 63)


def test_errors() -> None:
    layout = tile("S[(4, 4, 8) : (64, 1, 4)]")
    with pytest.raises(LayoutError) as caught:
        layout.slice_dynamic((16, 8), (4, 8), (1, None))
    assert str(caught.value) == (
        "the box of dimension 0 of shape (16, 8) that begins at 1 has another layout than the first; the begin may "
        "not be any multiple of 1, begins at multiples of 4 work"
    )
    with pytest.raises(LayoutError, match="that begins at 10 .* any multiple of 10, no larger multiple of it works"):
        layout.slice_dynamic((16, 8), (4, 8), (10, None))
    with pytest.raises(
        LayoutError,
        match=(
            r"^no tile layout describes a box of dimension 0 of shape \(16, 8\): only its first 4 " "elements have one$"
        ),
    ):
        layout.slice_dynamic((16, 8), (5, 8), (None, None))
    with pytest.raises(
        LayoutError,
        match=(
            r"^no tile layout describes where boxes of dimension 0 of shape \(16, 8\) begin: only the "
            "first 2 begins have one$"
        ),
    ):
        layout.slice_dynamic((16, 8), (1, 8), (3, None))
    with pytest.raises(LayoutError, match="expected multiples above 0, or 0 or None .* found"):
        layout.slice_dynamic((16, 8), (4, 8), (-1, 0))
    with pytest.raises(LayoutError, match="expected one multiple per dimension"):
        layout.slice_dynamic((16, 8), (4, 8), (1,))
    with pytest.raises(LayoutError, match="dimension 0 of the region must satisfy"):
        layout.slice_dynamic((16, 8), (17, 8), (1, 1))
    # A shape that the layout does not split by.
    with pytest.raises(LayoutError, match=r"the box of shape \(4, 3\) that begins at \(0, 1\) has another layout"):
        tile("S[(6, 2) : (5, 1)]").slice_dynamic((4, 3), (1, 2), (1, 1))


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_boxes_that_move_whatever_is_compared_at_once(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "_CHUNK", chunk)
    rows, columns = np.array([0, 1, 2, 5, 6, 7, 9, 10, 11, 12]), np.array([0, 3, 6, 0, 3, 6, 1, 2, 3, 4])
    box = np.array([0, 1, 2])
    for tables in ((rows,), (columns,), (rows, columns)):
        expected = [all((v[at : at + 3] - v[at] == v[:3]).all() for v in tables) for at in range(8)]
        table = {str(k): values for k, values in enumerate(tables)}
        found = slicing._movable(table, np.arange(8), box)  # pyright: ignore[reportPrivateUsage]
        assert found.tolist() == expected


@together(
    ("together", "multiples", "torn", "legal"),
    [
        ([[1, 0], [1, 1]], (2, 3), "(0, 3)", "(2, 0)"),
        ([[1, 1], [1, 0]], (2, 3), "(2, 3)", None),
        ([[1, 1, 1], [0, 1, 1], [1, 1, 1]], (5, 2), "(5, 0)", "(10, 2)"),
        ([[1, 0, 1], [0, 0, 0], [1, 0, 0]], (5, 2), "(0, 2)", None),
        ([1, 0, 1, 0, 1], (4,), "(4,)", "(8)"),
        ([1, 1, 0], (4,), "(8,)", "(0)"),
        ([1, 0, 0, 1], (2,), "(2,)", "(6)"),
        ([[1], [1], [0]], (3, None), "(6, 0)", "(0, 0)"),
    ],
)
def test_begins_that_work_after_a_swizzle(
    together: list[object], multiples: tuple[int | None, ...], torn: str, legal: str | None
) -> None:
    """The first torn box, and the smallest multiples along each dimension alone, if they work together."""
    marks = np.array(together, dtype=np.bool_)
    found = swizzled_slice._why_not(SwizzleLayout(3, 2, 3), marks, multiples)  # pyright: ignore[reportPrivateUsage]
    text = f"Swizzle(3, 2, 3) tears the box that begins at {torn}: its elements do not all move by one displacement"
    assert found == (text if legal is None else f"{text}; begins at multiples of {legal} work")
