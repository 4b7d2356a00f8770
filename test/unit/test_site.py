"""The site of the documentation, opened as files: search finds what people type, pages fit into a phone."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from tirx.viz.browser import Browser, BrowserError, find_browser

pytest.importorskip("material", reason="the extra docs is not installed")
_BUILD: dict[str, Any] = run_path(str(Path(__file__).parents[2] / "docs" / "build.py"))

TYPED = {
    "swizzle": "Layouts",
    "bank conflict": "tirx.copy",
    "mbarrier": "The simulator",
    "TMA": "Passes",
    "wgmma": "tirx.wgmma",
    "SmemDescriptor": "tirx.tcgen05",
    "ldmatrix": "Examples",
    "zero column": "tirx.tcgen05",
    "multicast": "Passes",
    "from_cute": "tirx.layout",
    "epilogue": "Passes",
}
"""Words that people type, and a page that they look for."""

_FOUND = """(async () => {
  for (let i = 0; i < 100; i++) {
    await new Promise((done) => setTimeout(done, 100));
    if (/match/.test(document.querySelector(".md-search-result__meta").textContent)) break;
  }
  return [...document.querySelectorAll(".md-search-result__item :is(h1, h2)")].map((each) => each.textContent);
})()"""


def test_site() -> None:
    try:
        find_browser()
    except BrowserError as error:
        pytest.skip(str(error))
    _BUILD["build_site"]()
    with Browser((1100, 800)) as browser:
        ready = "document.readyState === 'complete'"
        for width in (420, 1100, 1500):
            browser.resize(width, 800)
            for name in ("index", "about", "passes", "api/tirx.layout"):
                browser.open((_BUILD["SITE"] / f"{name}.html").as_uri(), ready)
                page = "document.documentElement"
                assert browser.evaluate(f"{page}.scrollWidth <= {page}.clientWidth"), (name, width)
                names = "[...document.querySelectorAll('.md-ellipsis')]"
                whole = f"{names}.every((each) => !each.clientWidth || each.scrollWidth <= each.clientWidth + 1)"
                assert browser.evaluate(whole), (name, width)
        middle = "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
        browser.click(*browser.evaluate(f"{middle}(document.querySelector('.md-search').getBoundingClientRect())"))
        for words, page in TYPED.items():
            browser.evaluate("document.querySelector('[data-md-component=search-query]').value = ''")
            for letter in words:
                browser.press(letter, letter)
            assert page in browser.evaluate(_FOUND), (words, json.dumps(browser.errors))
        assert not browser.errors
