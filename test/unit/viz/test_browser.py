"""Pictures that only a browser draws, and what is said when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx.viz import read_tiles, tile_svg
from tirx.viz.browser import Browser, BrowserError, draw_svg


def test_png_and_pdf(browser: Browser) -> None:
    """PNG of twice the size of the picture, for sharp text; PDF on one page."""
    svg = tile_svg(read_tiles("S[(4, 8) : (8@laneid, 1@laneid)]")[0])
    pdf = draw_svg(svg, "pdf", (320, 200), browser)
    assert pdf.startswith(b"%PDF") and b"/Count 1" in pdf
    png = draw_svg(svg, "png", (320, 200), browser)
    browser.resize(1400, 900)
    assert png.startswith(b"\x89PNG") and png[16:24] == (640).to_bytes(4) + (400).to_bytes(4)


def test_errors_of_a_page(browser: Browser, tmp_path: Path) -> None:
    """An exception of the page is an error of what waits for it."""
    path = tmp_path / "wrong.html"
    path.write_text("<script>throw new Error('broken')</script>")
    with pytest.raises(BrowserError, match="broken"):
        browser.open(path.as_uri())
    browser.errors.clear()
    with pytest.raises(BrowserError, match="ReferenceError"):
        browser.evaluate("nothing.at.all")


def test_browser_that_is_none(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_BROWSER", "true")
    with pytest.raises(BrowserError, match="the browser ended"):
        Browser(timeout=5)
