"""States of the page: text is readable and whole, focus stays, and what is shown is what the library says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from unit.viz.screenshots import SCENES
from unit.viz.viz_page import Page

from tirx.layout import TileLayout, to_linear
from tirx.tools.tirx_viz import main as tirx_viz
from tirx.viz import presets, read_tiles
from tirx.viz.tile import digest_of

_READABLE = """() => {
  const channel = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => below.map((v, i) => v * (1 - top[3] / 255) + top[i] * (top[3] / 255));
  const behind = (e) =>
    e ? over(colour(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (!e.offsetParent || e.disabled || !e.checkVisibility({ opacityProperty: true })) continue;
    const says = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (says || /INPUT|SELECT/.test(e.tagName)) {
      const below = behind(e);
      const [low, high] = [light(over(colour(style.color), below)), light(below)].sort((a, b) => a - b);
      if ((high + 0.05) / (low + 0.05) < 4.5) found.push(`contrast: ${e.tagName}.${e.className}`);
    }
    const scrolls = style.overflowX === "auto" && innerWidth > 1000 && !e.matches(".source, .parts");
    const hides = scrolls || (style.overflowX === "hidden" && e.className !== "canvas");
    if (hides && e.clientWidth && e.scrollWidth > e.clientWidth + 1) {
      found.push(`cut: ${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`);
    }
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`wide: ${page.scrollWidth}`);
  return found;
}"""


STATES = {
    "unknown axis": {"tab": "layout", "l": "S[(8, 4) : (4@lanid, 1@laneid)]", "s": "8,4"},
    "long layout": {"tab": "layout", "l": f"S[({', '.join(['1'] * 60)})]", "s": "1,1"},
    "C in f16, D in f32": {"tab": "fragments", "fv": "m8n8k4.row.col.f32.f16, C in f16", "ft": "5"},
    "no such lane": {"tab": "fragments", "ft": "99"},
    "no tensor map": {"tab": "copies", "eng": "tma", "tb": "16, 640", "tw": "128B"},
    "no descriptor": {"tab": "descriptor", "l": "S[(8, 8) : (1, 9)]", "s": "8,8", "word": "0xffffffffffffffff"},
    "no mask": {"tab": "mask", "mm": "64", "mn": "250", "mask": "0xffff"},
    "nothing to compare": {"tab": "compare", "l": "S[4]", "s": "4", "lb": "S[8]", "sb": "8"},
    "no such operation": {"tab": "algebra", "op": "group", "os": "3,5"},
    "no complement": {"tab": "cute", "co": "complement", "ca": "(2,2):(1,1)", "cb": "4"},
}
"""Errors and extremes of each tab."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of a program, of one with two errors, and of one that no parser takes, with a long message."""
    text = Path("examples/tcgen05_gemm.mlir").read_text()
    late = text.replace("!tirx.tile<128x64xf16, shared>", "!tirx.tile<96x64xf16, shared>")
    long = text.replace("tirx.mma", "tirx.m" + "m" * 200 + "a")
    directory = tmp_path_factory.mktemp("programs")
    for name, each in {"program": text, "late": late, "long": long}.items():
        (path := directory / f"{name}.mlir").write_text(each)
        assert tirx_viz([str(path), "-o", str(directory / f"{name}.html")]) == int(name != "program")
    return {name: directory / f"{name}.html" for name in ("program", "late", "long")}


@pytest.mark.parametrize("width", [420, 1100, 1400])
def test_readable(shown: Page, width: int, programs: dict[str, Path]) -> None:
    """No text is cut, none is pale, and no page is wider than the screen."""
    found: list[object] = []
    shown.browser.resize(width, 900)
    for theme in ("light", "dark") if width == 1400 else ("light",):
        shown.run(f"document.documentElement.dataset.theme = {theme!r}")
        for name, state in {**{name: scene.state for name, scene in SCENES.items()}, **STATES}.items():
            shown.change(**state)
            found += [(name, theme, each) for each in shown.call(_READABLE)]
            bar, chosen = shown.run(
                "['#tabs', '#tabs [aria-selected=true]'].map((each) => "
                "document.querySelector(each).getBoundingClientRect()).map((box) => [box.left, box.right])"
            )
            found += [] if bar[0] <= chosen[0] and chosen[1] <= bar[1] + 1 else [(name, "the tab is out of sight")]
    shown.run("document.querySelector('#keys').click()")
    found += [("keys", each) for each in shown.call(_READABLE)]
    for name, path in programs.items():
        shown.browser.open(path.as_uri())
        assert shown.run("tirx.state.tab") == "program"
        assert shown.run("document.querySelector('.t-operation').textContent") == "tirx.kernel"
        assert shown.run("document.querySelectorAll('.wrong').length") == {"program": 0, "late": 2, "long": 1}[name]
        for view in ("", "ptx"):
            shown.change(pv=view, pl="29")
            found += [(name, view, each) for each in shown.call(_READABLE)]
    shown.browser.resize(1400, 900)
    shown.browser.open(shown.path.as_uri())
    assert not found


def test_presets_on_narrow_screens(shown: Page) -> None:
    shown.browser.resize(420, 900)
    assert not shown.run("!!document.querySelector('aside').offsetParent")
    shown.press("#list")
    assert shown.run("!!document.querySelector('aside').offsetParent")
    shown.press("#presets button:nth-of-type(3)")
    assert shown.run("[tirx.state.l, !!document.querySelector('aside').offsetParent]") == [
        "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]",
        False,
    ]
    shown.browser.resize(1400, 900)


def test_focus(shown: Page) -> None:
    """Arrows move between tabs, and a control that is made anew keeps the focus."""
    shown.run("document.querySelector('#tabs [data-tab=layout]').focus()")
    for key, tab in (("ArrowRight", "compare"), ("ArrowRight", "algebra"), ("Home", "layout"), ("ArrowLeft", "mask")):
        shown.browser.press(key)
        assert shown.run("[tirx.state.tab, document.activeElement.dataset.tab, document.activeElement.tabIndex]") == [
            *(tab, tab),
            0,
        ]
    shown.change(tab="layout")
    shown.run("document.querySelector('#colour').focus()")
    shown.change(c="mod8:laneid")
    assert shown.run("[document.activeElement.id, document.activeElement.value]") == ["colour", "mod8:laneid"]


def test_order_of_focus(shown: Page) -> None:
    """Tab goes through the header, the presets and the inputs, as they are read, and every stop is seen."""
    shown.run("document.querySelector('#tabs [data-tab=layout]').focus()")
    stops: list[str] = []
    while "colour" not in stops:
        shown.browser.press("Tab")
        stop = "(document.activeElement.id || document.activeElement.parentElement.tagName)"
        stops.append(shown.run(stop))
        assert shown.run("getComputedStyle(document.activeElement).outlineStyle") != "none", stops
        assert len(stops) < 100
    assert list(dict.fromkeys(stops)) == [
        *("export", "theme", "keys", "search", "DETAILS", "layout", "shape", "dtype", "colour")
    ]


_LINES = "[...document.querySelectorAll('.lines path')].length"


def test_the_status_line_is_never_stale(shown: Page) -> None:
    shown.change(e="26")
    assert "".join(shown.run("[...document.querySelectorAll('.says')].map((each) => each.textContent + '|')")) == (
        "element (1,10): laneid 5, warpid 6, m 0; laneid 5, warpid 10, m 0|warpid 6, m 0, laneid 5: element (1,10)|"
    )
    assert shown.run(_LINES) == 2
    shown.change(l="S[(8, 4) : (4@laneid, 1@laneid)]", s="8,4", e="")
    assert shown.run("[...document.querySelectorAll('.says')].map((each) => each.textContent)") == ["", ""]
    assert shown.run(_LINES) == 0
    shown.change(e="3")
    shown.change(l="S[(8, 4) : (4@lanid, 1@laneid)]")
    assert shown.run("[...document.querySelectorAll('.says')].map((each) => each.textContent)") == ["", ""]
    assert "unknown axis 'lanid'; did you mean 'laneid'?" in shown.text("#error")
    assert shown.text("#facts") + shown.text("#note") == ""
    shown.change(l="S[(8, 4) : (4@laneid, 1@laneid)]")
    assert shown.text("#facts").startswith("32 elements") and "All 32 elements agree" in shown.text("#note")


_LANES = "[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]"
TEXTS = (
    *(
        "Swizzle<1,4,3> o (8,16):(16,1)",
        "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
    ),
    *("S<3,4,3> o (8,64):(64,1)", "(8,8):(8,1)", "((4,2),(2,4)):((1,16),(4,8))", "(_8,_4):(_4,_1)", "8:1"),
    *("#tirx.tile_layout<S[(8,4):(4@laneid,1@laneid)] + R[2 : 1@warpid]>", "S[8, 16]", "TileLayout(S[4])"),
    "#tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8,64):(64,1)]>>",
    f"#ttg.linear<{{register = [[0, 1], [8, 0]], lane = {_LANES}, warp = [], block = []}}>",
    f"#ttg.linear<{{register = [[0, 1]], lane = {_LANES}, warp = [[0, 0], [8, 0]], block = []}}>",
    "- register=1 -> (1, 0)\n- lane=1 -> (0, 1)\n  lane=2 -> (0, 2)\n"
    "where out dims are: [dim0 (size 2), dim1 (size 4)]",
    to_linear(read_tiles("ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])")[0].layout, (8, 64)).attribute(1024),
    to_linear(TileLayout("S[(4, 2, 8) : (2@laneid, 1@laneid, 1)]"), (8, 8)).attribute(),
)
"""Layouts in every notation that the command line reads."""

_READ = """(text, shape) => {
  const tile = tirx.tiles.readTile(text, shape, "f16", tirx.app.tables);
  return [tile.shape, tirx.algebra.digest(tile.layout)];
}"""


@pytest.mark.parametrize("text", TEXTS)
def test_notations(shown: Page, text: str) -> None:
    (tile,) = read_tiles(text)
    assert shown.call(_READ, text, "") == [list(tile.shape), digest_of(tile.layout)]


def test_examples_of_masks(shown: Page) -> None:
    """Masks of the PTX ISA: no columns, runs of three from the right, two windows, four windows."""
    shown.change(tab="mask", mask="")
    columns = "[...document.querySelectorAll('.column')].map((each) => Number(each.ariaPressed === 'true')).join('')"
    first = {}
    for i in range(1, 5):
        shown.press(f"[data-example='{i}']")
        first[i] = shown.run(columns)
    assert first[1] == "0" * 64
    assert first[2][:14] == "00001110000111"
    assert first[3][:10] + first[3][32:42] == "1110000111" + "0000111000"
    assert [first[4][j : j + 7] for j in (0, 16, 32, 48)] == ["1110000", "1100001", "0011100", "0001110"]


def test_twenty_random_steps(shown: Page) -> None:
    """After every click and input the page shows the element, its owners and the table of the library."""
    chance = random.Random(0)
    small = [tile for tile in presets() if tile.layout.size() <= 1024]
    for _ in range(20):
        match chance.choice(("preset", "text", "click", "key", "colour", "mod8")):
            case "preset":
                tile = chance.choice(small)
                shown.change(l=str(tile.layout), s=",".join(map(str, tile.shape)), d=tile.dtype, e="", c="", v="")
            case "text":
                shown.change(l=chance.choice(TEXTS), s="", d="f16", e="", c="", v="")
            case "click":
                shown.cell(0, 0, chance.choice((0, 1)))
            case "key":
                shown.run("tirx.grids()[0][1].canvas.focus()")
                shown.browser.press(chance.choice(("ArrowDown", "ArrowRight", "End")))
                shown.drawn()
            case _:
                shown.change(c=chance.choice(("dim:0", "mod8:laneid", "bank")))
        text, shape, dtype, element = shown.run("[tirx.state.l, tirx.state.s, tirx.state.d, tirx.state.e]")
        (tile,) = read_tiles(text, [int(n) for n in shape.split(",")] if shape else None, dtype)
        assert shown.run("document.querySelector('#error').hidden"), text
        said = shown.run("[...document.querySelectorAll('.owners li')].map((each) => each.textContent)")
        status = shown.run("document.querySelector('.says').textContent")
        if not element:
            assert (said, status) == ([], "")
            continue
        layout = tile.layout
        owners = layout.owners(int(element)) if isinstance(layout, TileLayout) else [layout.apply(int(element))]
        read = [{name: int(n) for name, n in (part.split(" ")[:2] for part in line.split(", "))} for line in said]
        key = sorted(owners[0])
        assert sorted(tuple(each[name] for name in key) for each in read) == sorted(
            tuple(each[name] for name in key) for each in owners[:12]
        )
        assert all(f"{name} {owners[0][name]}" in status for name in key)
