"""One browser, and one page of the visualizer in it, for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unit.viz.viz_page import FIRST, Page

from tirx.viz import page, read_tiles
from tirx.viz.browser import Browser, BrowserError, find_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        find_browser()
    except BrowserError as error:
        pytest.skip(str(error))
    with Browser((1400, 900)) as found:
        yield found


@pytest.fixture(scope="session")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("viz") / "layout.html"
    path.write_text(page(read_tiles(FIRST, (8, 16))), encoding="utf-8")
    browser.open(path.as_uri())
    return Page(browser, path)


@pytest.fixture
def shown(opened: Page) -> Page:
    """The page as it is at the start."""
    if opened.run("window.tirx === undefined"):  # another test opened something else
        opened.browser.open(opened.path.as_uri())
    opened.change(tab="layout", l=FIRST, s="8,16", d="f16", c="", v="", e="", p="", mesh="", lb="", sb="", os="")
    return opened
