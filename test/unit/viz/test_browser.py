"""What is said when a browser, or a page, does not do what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser, BrowserError


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
