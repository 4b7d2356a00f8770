"""The page of the visualizer, driven as a user does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tirx.viz.browser import Browser

FIRST = "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid"


class Page:
    """The page, driven as a user does: by its controls, the mouse and the keyboard."""

    def __init__(self, browser: Browser, path: Path):
        self.browser = browser
        self.path = path

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; fails when the page had an error."""
        found = self.browser.evaluate(expression)
        assert not self.browser.errors, self.browser.errors
        return found

    def call(self, function: str, *arguments: Any) -> Any:
        """The value of a JavaScript function of plain data."""
        return self.run(f"({function})(...{json.dumps(arguments)})")

    def change(self, **state: str) -> None:
        """Changes what the page shows, as a link to it would, and waits until it is drawn."""
        self.run(f"tirx.app.change({json.dumps(state)})")
        self.drawn()

    def drawn(self) -> None:
        """Waits for two frames, after which every canvas is painted."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def text(self, selector: str) -> str:
        """The text of the first element that a CSS selector names."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def press(self, selector: str) -> None:
        """Clicks the middle of an element with the mouse."""
        box = self.run(
            f"(() => {{ const each = document.querySelector({json.dumps(selector)}); each.scrollIntoView({{block: "
            "'center'}); const { x, y, width, height } = each.getBoundingClientRect(); "
            "return [x + width / 2, y + height / 2]; })()"
        )
        self.browser.click(*box)
        self.drawn()

    def cell(self, grid: int, row: int, column: int) -> None:
        """Clicks a cell of a grid, by its number on the tab."""
        x, y = self.run(
            f"(() => {{ const [, grid] = tirx.grids()[{grid}]; grid.canvas.scrollIntoView({{block: 'center'}}); "
            f"const [x, y] = grid.place({row}, {column}); const box = grid.canvas.getBoundingClientRect(); "
            "return [box.x + x + grid.cellWidth() / 2, box.y + y + grid.cellHeight() / 2]; })()"
        )
        self.browser.click(x, y)
        self.drawn()

    @property
    def state(self) -> dict[str, str]:
        """State of the page."""
        return self.run("({ ...tirx.state })")
