"""A quick look at a tile in the terminal, with colours (`rich`, an optional extra)."""

from __future__ import annotations

from math import prod
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirx.layout.picture import colour_axis, colours
from tirx.viz.tile import Tile


def print_tile(tile: Tile, stream: TextIO, width: int | None = None, rows: int = 32) -> None:
    """Prints the first `rows` rows of a tile, as many columns as fit across, a coordinate of each axis in a cell."""
    console = Console(file=stream, width=width, highlight=False)
    table = tile.layout.table(tile.shape)
    columns = tile.shape[-1] if tile.shape else 1
    count = prod(tile.shape) // columns
    cut = {name: values.reshape(count, columns) for name, values in table.items()}
    by = colour_axis(table)
    names = list(cut)
    cells = [
        [" ".join(str(int(cut[name][r, c])) for name in names) for c in range(columns)] for r in range(min(count, rows))
    ]
    widest = max(len(cell) for row in cells for cell in row)
    shown = max(1, min(columns, (console.width - 6) // (widest + 1)))
    if tile.place:
        console.print(Text(tile.place, style="dim"))
    console.print(Text(f"{tile.layout}  {' x '.join(map(str, tile.shape))}", style="bold"))
    legend = f"in each cell: {' '.join(names) or 'nothing'}" + (f"; coloured by {by}" if by else "")
    console.print(Text(legend, style="dim"))
    grid = Table.grid(padding=(0, 1, 0, 0))
    for _ in range(shown + 1):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_row("", *[Text(str(c), style="dim") for c in range(shown)])
    of_cells = colours(cut[by]) if by else None
    for r, row in enumerate(cells):
        texts = [
            Text(cell, style="" if of_cells is None else f"#141c26 on {of_cells[r, c]}")
            for c, cell in enumerate(row[:shown])
        ]
        grid.add_row(Text(str(r), style="dim"), *texts)
    console.print(grid)
    if (len(cells), shown) != (count, columns):
        console.print(Text(f"the first {len(cells)} x {shown} of {count} x {columns} elements", style="dim"))
