"""A layout as a picture: a grid of its elements, in SVG that needs nothing else.

Every cell is one element, with its coordinate on each axis; its colour is that of one axis. Layouts show themselves so
in notebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, prod

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import axis
from tirx.layout.iters import Iters, Table, broadcast_sums, reach, size_of
from tirx.layout.shape import Shape

# Eight colours that people with any colour vision tell apart (M. Okabe and K. Ito, "Color Universal Design", 2008), as
# tints that dark text is read on.
CATEGORIES = ("#78c3ed", "#e8a91a", "#2daf8c", "#db7321", "#d591b7", "#f2e85f", "#cce3f0", "#c4c4c4")

# Steps of the scale cividis (J. Nunez, C. Anderton and R. Renslow, PLOS ONE 13(7), 2018), whose lightness rises
# evenly, so that it is ordered for every colour vision and in grey.
SCALE = ("#7f90b3", "#949fb6", "#a9aeb5", "#bdbcae", "#d0c9a4", "#e0d493", "#efdf7c", "#faea5c")

_SHADES = 255
_MOST_NAMED = 4096  # cells with text
_MOST_ROWS, _MOST_COLUMNS = 256, 256
_MOST_COPIES = 1 << 12
_LINE, _FONT, _TITLE = 11, 10, 12
_ADVANCE = 0.62  # the width of a character of the widest font of _STYLE, in heights
_STYLE = 'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"'


def colour_axis(table: Table) -> str | None:
    """The axis that a picture is coloured by: the thread or device axis that reaches furthest, else that of memory."""
    reaches = {name: int(values.max()) - int(values.min()) for name, values in table.items()}
    moving = {name: reached for name, reached in reaches.items() if reached}
    return max(moving, key=lambda name: (axis(name).kind != "memory", moving[name]), default=None)


def _on_scale(position: float) -> str:
    """The colour at 0 to 1 of the scale."""
    at = min(max(position, 0.0), 1.0) * (len(SCALE) - 1)
    low = min(int(at), len(SCALE) - 2)
    a, b = ([int(SCALE[k][i : i + 2], 16) for i in (1, 3, 5)] for k in (low, low + 1))
    return "#" + "".join(f"{round(x + (y - x) * (at - low)):02x}" for x, y in zip(a, b, strict=True))


def colours(values: NDArray[np.int64]) -> NDArray[np.object_]:
    """A colour for every coordinate: a category each of up to eight, steps of a scale for more."""
    distinct, index = np.unique(values, return_inverse=True)
    if len(distinct) <= len(CATEGORIES):
        palette = list(CATEGORIES)
    else:
        low, high = int(distinct[0]), int(distinct[-1])
        index = ((values - low).astype(np.float64) / (high - low) * _SHADES).astype(np.int64)
        palette = [_on_scale(shade / _SHADES) for shade in range(_SHADES + 1)]
    return np.array(palette, dtype=np.object_)[index.reshape(values.shape)]


def _text(
    x: float, y: float, text: str, *, fill: str = "currentColor", anchor: str = "middle", size: int = _FONT
) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _ink(colour: str) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#16202c" if 0.299 * red + 0.587 * green + 0.114 * blue > 118 else "#ffffff"


def _steps(replica: Iters, name: str) -> list[int | None]:
    """Sums that owners of an element add to its coordinate on an axis, ascending; None for those that are left out.

    All of up to four, else the first two and the last.
    """
    if size_of(replica) > _MOST_COPIES:
        low, high = reach(replica, name)
        return [low, None, high] if low < high else [low]
    found: list[int | None] = [*np.unique(broadcast_sums(replica, name)).tolist()]
    return found if len(found) <= 4 else [*found[:2], None, found[-1]]


def svg(
    table: Table,
    shape: Shape,
    title: str,
    notes: Sequence[str] = (),
    most: tuple[int, int] = (_MOST_ROWS, _MOST_COLUMNS),
    replica: Iters = (),
) -> str:
    """A picture of a tile: the last dimension of `shape` across, all others down.

    table: base coordinates of the elements by axis, as `TileLayout.table` gives them. title, notes: lines above. most:
    rows and columns that are drawn; of larger tiles the first ones are, and a line says so. replica: that of the
    layout, by which a cell has the coordinates of all owners.
    """
    dims = tuple(shape) or (1,)
    columns = dims[-1]
    rows = prod(dims[:-1])
    shown_rows, shown = min(rows, most[0]), min(columns, most[1])
    cut = {name: values.reshape(rows, columns)[:shown_rows, :shown] for name, values in table.items()}
    names = list(cut)
    by = colour_axis(table)
    of_cells = colours(cut[by]) if by else np.full((shown_rows, shown), CATEGORIES[-1], dtype=np.object_)
    named = shown_rows * shown <= _MOST_NAMED
    steps = {name: _steps(replica, name) for name in names}

    def text_of(name: str, value: int) -> str:
        return ",".join("…" if step is None else str(value + step) for step in steps[name])

    digits = max([len(text_of(name, int(end(cut[name])))) for name in names for end in (np.min, np.max)] or [1])
    width = max(18, 7 * digits + 8) if named else 4
    height = max(16, _LINE * len(names) + 6) if named else 4
    lines = [*notes]
    if any(len(each) > 1 for each in steps.values()):
        lines.append("numbers with commas: an element has one owner for each combination of them")
    if names:
        lines.append(f"in each cell, from top to bottom: {', '.join(names)}" if named else f"axes: {', '.join(names)}")
    if by:
        lines.append(f"coloured by {by}")
    if (shown_rows, shown) != (rows, columns):
        lines.append(f"the first {shown_rows} x {shown} of {rows} x {columns} elements")
    left, top = 10 + 7 * len(str(rows)), 24 + 15 * len(lines) + 14
    body = [_text(4, 16, title, anchor="start", size=_TITLE)]
    body += [_text(4, 31 + 15 * k, line, anchor="start") for k, line in enumerate(lines)]
    step = 1 if named else 16
    body += [_text(left + (c + 0.5) * width, top - 4, str(c), size=9) for c in range(0, shown, step)]
    body += [
        _text(left - 4, top + (r + 0.5) * height + 3, str(r), anchor="end", size=9) for r in range(0, shown_rows, step)
    ]
    for r in range(shown_rows):
        body.append(_row(of_cells[r], left, top + r * height, width, height, 0.6 if named else 0))
        if named:
            texts = [[text_of(name, value) for value in cut[name][r].tolist()] for name in names]
            body += _cell_texts(texts, of_cells[r], left, top + r * height, width)
    needed = max(_TITLE * len(title), *(_FONT * len(line) for line in lines), 0) * _ADVANCE
    total = max(left + shown * width + 6, 8 + ceil(needed))
    size = f'width="{total:g}" height="{top + shown_rows * height + 6:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {total:g} {top + shown_rows * height + 6:g}" '
        f'{_STYLE} role="img" aria-label="{escape(title)}">\n' + "\n".join(body) + "\n</svg>\n"
    )


def _row(of_cells: NDArray[np.object_], left: float, top: float, width: int, height: int, gap: float) -> str:
    """The cells of a row; neighbours of one colour are one rectangle where cells have no text."""
    starts = list(range(len(of_cells))) if gap else [0, *(np.flatnonzero(of_cells[1:] != of_cells[:-1]) + 1).tolist()]
    ends = [*starts[1:], len(of_cells)]
    return "".join(
        f'<rect x="{left + a * width:g}" y="{top:g}" width="{(b - a) * width - gap:g}" height="{height - gap:g}" '
        f'fill="{of_cells[a]}"/>'
        for a, b in zip(starts, ends, strict=True)
    )


def _cell_texts(
    texts: Sequence[Sequence[str]], of_cells: NDArray[np.object_], left: float, top: float, width: int
) -> list[str]:
    return [
        _text(left + (c + 0.5) * width, top + _LINE * (k + 1), text, fill=_ink(str(of_cells[c])))
        for k, row in enumerate(texts)
        for c, text in enumerate(row)
    ]


_NOTEBOOK = (16, 32)
_MOST_IN_NOTEBOOK = 1 << 20


def html_of(
    text: str,
    extents: Sequence[int],
    table: Callable[[], Table],
    replica: Iters = (),
    shape: tuple[int, int] | None = None,
) -> str:
    """A small picture of a layout for notebooks, and its text alone where its table would be large.

    extents: those of the shard; without a shape the innermost ones that fit across are one dimension. replica: that of
    the layout.
    """
    if prod(extents) > _MOST_IN_NOTEBOOK:
        return f"<code>{escape(text)}</code>"
    shape = shape or _folded(extents)
    found = {name: values.reshape(shape) for name, values in table().items()}
    return svg(found, shape, text, most=_NOTEBOOK, replica=replica)


def _folded(extents: Sequence[int]) -> tuple[int, int]:
    dims = [extent for extent in extents if extent > 1]
    at = next((d for d in range(len(dims)) if prod(dims[d:]) <= _NOTEBOOK[1]), max(len(dims) - 1, 0))
    return prod(dims[:at]), prod(dims[at:])
