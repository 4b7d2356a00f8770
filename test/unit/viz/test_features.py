"""Every feature of the page, by mouse, keyboard and address, in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from unit.viz.screenshots import SCENES
from unit.viz.viz_page import FIRST, Page

from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.mma.fragments import VARIANTS
from tirx.smem.canonical import canonical_layout
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.viz import Tile, page, presets, read_tiles, tile_svg
from tirx.viz.browser import Browser


def _open_preset(shown: Page, name: str) -> None:
    """Finds a preset by its name and clicks it."""
    shown.run(f"(() => {{ const box = document.getElementById('search'); box.value = {name!r}; "
              "box.dispatchEvent(new Event('input')); })()")  # fmt: skip
    shown.drawn()
    shown.press("#presets button")


def test_click_an_element(shown: Page) -> None:
    """A click shows all owners, in numbers and on the other grid."""
    shown.cell(0, 1, 10)
    assert shown.state["e"] == "26"
    layout = TileLayout.parse(FIRST)
    owners = [", ".join(f"{name} {at}" for name, at in owner.items()) for owner in layout.owners(26)]
    assert shown.run("[...document.querySelectorAll('.owners li')].map((each) => each.textContent)") == owners
    assert shown.run("tirx.grids()[1][1].marks.flatMap((each) => each.cells).length") == 2
    formula = shown.text("#inspector")
    assert "1·16 + 10 = 26" in formula
    assert "(1, 1, 1, 0) over (8, 2, 4, 2)" in formula


def test_click_a_place(shown: Page) -> None:
    """A click on a place shows its element: lane 5 of warp 10, second register."""
    row, column = shown.run("tirx.grids()[1][1].model.cellOf(27)[1]")
    shown.cell(1, row, column)
    assert shown.state["e"] == "27"
    assert "warpid 10" in shown.text(".panel:nth-child(2) .says")


def test_click_an_empty_place(shown: Page) -> None:
    shown.change(l="S[(4, 8) : (16@TLane, 1@TCol)]", s="4,8", d="f32", e="3")
    shown.run("tirx.grids()[1][1].pick(5, 3)")
    assert shown.state["e"] == ""
    assert "nothing" in shown.text(".panel:nth-child(2) .says")


def test_keyboard(shown: Page) -> None:
    """Arrows move over elements; digits are tabs; t is the theme; / searches; ? explains."""
    shown.run("tirx.grids()[0][1].canvas.focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "Home", "ArrowRight", "ArrowUp"):
        shown.browser.press(key)
    shown.drawn()
    assert shown.state["e"] == "1"
    before = shown.run("tirx.grids()[0][1].scale")
    shown.browser.press("+", "+")
    assert shown.run("tirx.grids()[0][1].scale") > before
    shown.browser.press("0", "0")
    shown.run("document.activeElement.blur()")
    theme = shown.run("document.documentElement.dataset.theme")
    shown.browser.press("t", "t")
    assert shown.run("document.documentElement.dataset.theme") != theme
    shown.browser.press("t", "t")
    shown.browser.press("4", "4")
    assert shown.state["tab"] == "cute"
    shown.browser.press("?", "?")
    assert shown.run("document.getElementById('help').open")
    shown.run("document.getElementById('help').close()")
    shown.browser.press("/", "/")
    assert shown.run("document.activeElement.id") == "search"


def test_errors(shown: Page) -> None:
    """Wrong text has a caret under the mistake, and the last picture stays."""
    shown.change(l="S[(8, 16) : (4@laneid, 1@lane)]")
    assert "unknown axis 'lane'" in shown.text("#error")
    assert shown.text("#error code").splitlines()[1].index("^") == 25
    shown.change(l="S[(8, 16) : (16, 1)]", s="8,15")
    assert "shape (8, 15) has 120" in shown.text("#error")
    shown.change(s="8,16")
    assert shown.run("document.getElementById('error').hidden")
    shown.change(l="S[(2, 2) : (1@laneid, 1)] + R[70000 : 1@warpid]", s="2,2")
    assert "expected at most 65536 copies of an element" in shown.text("#error")
    shown.change(l="S[64]", s="8,8")
    for tab, wrong, right in (
        ("algebra", {"op": "group", "os": "3,5"}, {"op": "canonicalize"}),
        ("cute", {"co": "complement", "ca": "(2,2):(1,1)"}, {"ca": "4:1"}),
    ):
        for state, stale in ((wrong, True), (right, False)):
            shown.change(tab=tab, **state)
            assert shown.run("document.querySelector('.tab').classList.contains('stale')") == stale


def test_validity(shown: Page) -> None:
    """Bounds, shared places, axes that overlap, alignment."""
    shown.change(l="S[(16, 4) : (4@laneid, 1@laneid)]", s="16,4")
    assert "laneid must stay in 0..31, found 0..63" in shown.text("#validity")
    shown.change(l="S[(4, 4) : (1, 1)]", s="4,4")
    assert "some elements share a place" in shown.text("#validity")
    shown.change(l="S[(4, 4) : (1@laneid, 1@tx)]", s="4,4")
    assert "depend on the same bits" in shown.text("#validity")
    _open_preset(shown, "8 x 64 f16, 128B")
    assert "aligned to 1024 bytes" in shown.text("#validity")


def test_banks(shown: Page) -> None:
    """Conflicts by pattern and swizzle, the worst phase in words, and the swizzle from the list."""
    _open_preset(shown, "8 x 64 f16, none")
    shown.press("[data-pattern=columnVector]")
    assert shown.state["p"] == "columnVector"
    row = "document.querySelector('[data-pattern=columnVector]').closest('tr')"
    assert shown.run(f"[...{row}.querySelectorAll('.degree')].map((each) => each.textContent)") == [
        *("8-way", "8-way", "4-way", "2-way", "1", "8 / 4"),
    ]
    assert "8 words of bank 0: lane 0 (0,0) in line 0" in shown.text("#worst")
    shown.run("(() => { const each = document.getElementById('mode'); each.value = '128B'; "
              "each.dispatchEvent(new Event('change')); })()")  # fmt: skip
    shown.drawn()
    assert shown.state["l"] == "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])"
    assert shown.run(f"{row}.querySelector('.degree').textContent") == "1"
    assert shown.run("tirx.grids()[1][1].model.say(1, 0)") == "line 1, bank 0, m 64: element (1,8)"


def test_tensor_memory(shown: Page) -> None:
    _open_preset(shown, "Scale factors, one atom")
    assert shown.run("[tirx.grids()[1][1].model.rows, tirx.grids()[1][1].model.cols]") == [128, 4]
    shown.cell(0, 3, 1)
    assert shown.run("tirx.grids()[1][1].marks.flatMap((each) => each.cells)")[:4] == [
        [3, 1],
        [35, 1],
        [67, 1],
        [99, 1],
    ]
    assert "1 columns of 32 bits" in shown.text("#validity")


def test_device_mesh(shown: Page) -> None:
    _open_preset(shown, "Mesh with replicas")
    shown.cell(0, 0, 0)
    assert shown.run("[...document.querySelectorAll('.part.chosen')].map((each) => each.dataset.part)") == ["0", "1"]
    assert "pid 2: 32 elements" in shown.text("#parts")
    shown.run("(() => { const each = document.getElementById('mesh'); each.value = '1x4'; "
              "each.dispatchEvent(new Event('change')); })()")  # fmt: skip
    shown.drawn()
    assert shown.run("document.getElementById('parts').dataset.mesh") == "1x4"


def test_compare(shown: Page) -> None:
    shown.change(tab="compare", l="S[(8, 16) : (16, 1)]", s="8,16", lb="S[(8, 16) : (1, 8)]", sb="8,16")
    assert shown.text("#verdict").startswith("126 of 128 elements lie elsewhere; the first is (0,1)")
    shown.change(lb="S[128 : 1]")
    assert shown.text("#verdict").startswith("equivalent")
    shown.cell(0, 2, 2)
    assert shown.state["e"] == "34"
    assert shown.run("tirx.grids()[1][1].cursor") == [2, 2]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("state", "result"),
    [
        (
            {"op": "tile", "lb": "S[(2, 4) : (1@warpid, 1)]", "sb": "2,4"},
            "S[(2, 8, 4, 4, 2) : (1@warpid, 4@laneid, 2, 1@laneid, 1)]",
        ),
        ({"op": "direct_sum", "lb": "S[(2, 1) : (9, 1)]", "sb": "2,1"}, "S[(2, 32, 2) : (9, 1@laneid, 1)]"),
        ({"op": "slice", "bx": "4:8, 0:8"}, "S[(16, 2) : (1@laneid, 1)] + 16@laneid"),
        ({"op": "group", "os": "4,2,8"}, "S[(4, 2, 4, 2) : (8@laneid, 4@laneid, 1@laneid, 1)]"),
        ({"op": "permute", "pm": "1,0"}, "S[(4, 2, 8) : (1@laneid, 1, 4@laneid)]"),
        ({"op": "compose", "lb": "S[8 : 8]", "sb": "8"}, "S[8 : 4@laneid]"),
        ({"op": "canonicalize"}, "S[(32, 2) : (1@laneid, 1)]"),
    ],
    ids=("tile", "direct_sum", "slice", "group", "permute", "compose", "canonicalize"),
)
def test_algebra(shown: Page, state: dict[str, str], result: str) -> None:
    shown.change(tab="algebra", l="S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]", s="8,8", **{"is": "", "os": ""} | state)
    assert shown.text("#algebra-result") == result


def test_cute(shown: Page) -> None:
    shown.change(tab="cute", co="logical_divide", ca="(4,2,3):(2,1,8)", cb="4:2")
    assert shown.text("#cute-result") == "((2,2),(2,3)):((4,1),(2,8))"
    grid = "tirx.grids()[2][1].model"
    assert shown.run(f"[{grid}.rows, {grid}.cols, {grid}.text(1, 2)[0]]") == [4, 6, "12"]
    shown.change(cb="5:2")
    assert "complement" in shown.text(".error:not([hidden])") or "multiple" in shown.text(".error:not([hidden])")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [name for name, variant in VARIANTS.items() if variant.codes is None])
def test_fragments(shown: Page, name: str) -> None:
    """Elements of A, B and C that a lane holds, in the order of its registers; a click on one chooses its lane."""
    shown.change(tab="fragments", fv=name, ft="6")
    variant = VARIANTS[name]
    for row, fragment in enumerate((variant.a, variant.b, variant.c)):
        shape = fragment.shape if fragment.shape[0] > 1 else fragment.shape[1:]
        flats = fragment.layout.inverse({"laneid": 6})
        flats.sort(key=lambda flat: fragment.layout.apply(flat).get("m", 0))
        places = [np.unravel_index(flat, shape) for flat in flats]
        if row == 1:  # N x K, shown as K x N
            places = [(*place[:-2], place[-1], place[-2]) for place in places]
        wanted = " ".join(f"({','.join(str(int(x)) for x in place)})" for place in places)
        assert shown.run(f"document.querySelectorAll('#held code')[{row}].textContent") == wanted
    shown.cell(0, 0, 1)
    *_, first = np.ndindex(2)
    flat = np.ravel_multi_index((0,) * (len(variant.a.shape) - 1) + first, variant.a.shape)
    assert shown.state["ft"] == str(variant.a.layout.apply(int(flat))["laneid"])
    shown.change(ft="32")
    assert "expected a lane from 0 to 31, found '32'" in shown.text(".error:not([hidden])")


def test_descriptor_of_a_tile(shown: Page) -> None:
    shown.change(
        tab="descriptor",
        l="ComposeLayout(Swizzle(3, 3, 3), S[(128, 64) : (64, 1)])",
        s="128,64",
        fam="tcgen05",
        base="0",
    )
    text = shown.text("#descriptor")
    assert "mov.b64 %rd1, 0x4000404000010000;" in text
    assert "0x4000404000010006" in text, "the fourth step of K"
    shown.change(fam="wgmma")
    assert "0x4000004000010000" in shown.text("#descriptor")
    shown.change(base="16")
    assert "aligned to 1024 bytes" in shown.text(".problem")
    shown.change(l="S[(128, 64) : (65, 1)]", base="0")
    assert "no descriptor reads this layout" in shown.text(".error:not([hidden])")


def test_bits(shown: Page) -> None:
    """Bits flip by a click, and what they mean follows."""
    shown.change(tab="descriptor", l=FIRST, s="8,16", fam="tcgen05", word="0x4000404000010000")
    assert "128B" in shown.text("#decoded")
    shown.press("#decoded [title='bit 62: swizzle']")
    assert shown.state["word"] == "0x0000404000010000"
    shown.change(word="0x4000402000010000")
    assert "SBO is 512 bytes, and one repeat of the pattern takes 1024" in shown.text("#decoded .problem")
    shown.change(word="0x4000404000010000")
    assert shown.run("document.querySelector('#decoded .problem')") is None
    shown.press("#decoded [title='bit 54: reserved']")
    assert "expected 0" in shown.text("#decoded .problem")


def test_instruction_descriptor(shown: Page) -> None:
    shown.change(tab="descriptor", kind="f16", idesc="0x08400010")
    assert "cta_group::1" in shown.text("#instruction")
    shown.run("(() => { const each = document.querySelector('[data-field=m]'); each.value = '64'; "
              "each.dispatchEvent(new Event('change')); })()")  # fmt: skip
    shown.drawn()
    assert shown.state["idesc"] == "0x04400010"


def test_zero_column_mask(shown: Page) -> None:
    """Columns make a descriptor, a descriptor makes columns, and what has none says at which column."""
    shown.change(tab="mask", mm="128", mn="16", mask="")
    for column in (2, 3, 10):
        shown.press(f"[data-column='{column}']")
    assert "all such runs must have that length" in shown.text(".error:not([hidden])")
    shown.press("[data-column='11']")
    assert int(shown.state["mask"], 16) == ZeroColumnMask.from_columns({2, 3, 10, 11}, 128, 16).encode()
    mask = ZeroColumnMask.from_columns({0, 1, 2, 8, 9, 10}, 64, 16, 3)
    shown.change(mm="64", mn="16", mask=hex(mask.encode()))
    assert shown.run("[...document.querySelectorAll('.column.zeroed')].map((each) => Number(each.dataset.column))") == [
        *(0, 1, 2, 8, 9, 10),
    ]


def test_address(shown: Page, browser: Browser) -> None:
    """The address keeps what is shown: a copy of it shows the same."""
    shown.change(l="S[(4, 8) : (8@laneid, 1@laneid)]", s="4,8", e="9", c="dim:1")
    address = shown.run("location.href")
    browser.open("about:blank", "true")
    browser.open(address)
    assert {name: shown.state[name] for name in ("l", "s", "e", "c")} == {
        "l": "S[(4, 8) : (8@laneid, 1@laneid)]",
        "s": "4,8",
        "e": "9",
        "c": "dim:1",
    }
    assert "Element (1,1)" in shown.text("#inspector")


def test_export(shown: Page) -> None:
    """SVG has every cell, PNG is one, and the print dialogue is asked for."""
    svg = shown.run("tirx.svg()")
    assert svg.count("<rect") == 1 + 8 * 16 + shown.run(
        "(([, each]) => each.model.rows * each.model.cols)(tirx.grids()[1])"
    )
    assert shown.run(
        "new DOMParser().parseFromString(tirx.svg(), 'image/svg+xml').querySelector('parsererror') === null"
    )
    assert shown.run("tirx.png().then((blob) => [blob.type, blob.size > 5000])") == ["image/png", True]
    shown.run("window.print = () => { window.printed = true; }")
    shown.run("(() => { const each = document.getElementById('export'); each.value = 'pdf'; "
              "each.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert shown.run("window.printed")


def test_colours_differ_for_every_vision(shown: Page) -> None:
    """Every two categories stay apart without red, green or blue receptors (Machado, Oliveira, Fernandes, 2009)."""
    function = """() => {
      const sight = [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
      ];
      const paint = tirx.colors.colouring(0, 7);
      const seen = Array.from({ length: 8 }, (_, k) => [16, 8, 0].map((shift) => (paint(k) >> shift) & 255));
      const least = [];
      for (const matrix of sight) {
        const simulated = seen.map((rgb) => matrix.map((row) => row.reduce((sum, x, i) => sum + x * rgb[i], 0)));
        for (let i = 0; i < 8; i++) for (let j = 0; j < i; j++) {
          least.push(Math.hypot(...simulated[i].map((value, k) => value - simulated[j][k])));
        }
      }
      return Math.min(...least);
    }"""
    for theme in ("dark", "light"):
        shown.run(f"document.documentElement.dataset.theme = {theme!r}")
        assert shown.call(function) > 40


@pytest.mark.sample(3)
@pytest.mark.parametrize("tile", presets(), ids=lambda tile: f"{tile.group}: {tile.name}")
def test_preset_opens(shown: Page, tile: Tile) -> None:
    """Both grids are drawn, the first element is found on both, and the page had no error."""
    shape = ",".join(map(str, tile.shape))
    shown.change(tab="layout", l=str(tile.layout), s=shape, d=tile.dtype, c="", v="", e="0")
    assert shown.run("document.getElementById('error').hidden")
    assert "agree" in shown.text("#note")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SCENES)
def test_scenes(shown: Page, name: str) -> None:
    """Scenes of the pictures of the documentation have no errors."""
    shown.change(**SCENES[name].state)
    assert shown.run("[...document.querySelectorAll('.error')].every((each) => each.hidden)")


@pytest.mark.sample(0)
def test_large_layout_opens_fast(shown: Page, browser: Browser, tmp_path: Path) -> None:
    """4096 x 4096 elements open in less than two seconds, measured beside a tile of 128 x 64 by the page's clock."""
    opened: dict[str, float] = {}
    for name, text, shape in (
        ("small", "ComposeLayout(Swizzle(3, 3, 3), S[(128, 64) : (64, 1)])", (128, 64)),
        ("large", "ComposeLayout(Swizzle(3, 3, 3), S[(4096, 64, 64) : (64, 262144, 1)])", (4096, 4096)),
    ):
        path = tmp_path / f"{name}.html"
        path.write_text(page(read_tiles(text, shape)), encoding="utf-8")
        browser.open(path.as_uri())
        browser.wait("document.querySelectorAll('canvas[data-painted]').length === 2")
        opened[name] = shown.run("performance.now()")
        shown.cell(0, 0, 0)
        assert shown.state["e"] == "0"
    browser.open(shown.path.as_uri())
    assert opened["large"] < max(2000, 4 * opened["small"]), opened


_CUT = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < room.left - 1 || box.right > room.right + 1 || box.bottom > room.bottom + 2;
  }).map((text) => text.textContent);
})"""


def test_pictures_are_whole(browser: Browser, shown: Page, tmp_path: Path) -> None:
    """No text of SVG, as files, notebooks and exports have it, leaves its picture; PNG and PDF are drawn from it."""
    long = "S[(2, 2, 2, 2, 2, 2) : (1@laneid, 2@laneid, 4@laneid, 8@laneid, 16@laneid, 1@warpid)] + R[3 : 2@warpid]"
    swizzled = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout("S[(8, 64) : (64, 1)]"))
    ones = ", ".join(["1"] * 60)
    shown.change(l=f"S[({ones}) : ({ones})]", s="1,1")
    pictures = [
        shown.run("tirx.svg()"),
        *(tile_svg(Tile(f"a name beside {long}", TileLayout(long), shape)) for shape in ((64, 1), (8, 8))),
        *(each._repr_html_() for each in (  # pyright: ignore[reportPrivateUsage]
            TileLayout(long), swizzled, canonical_layout(swizzled, shape=(8, 64), dtype="f16"), ZeroColumnMask(),
            VARIANTS["m16n8k16.row.col.f32.f16"].a,
        )),
    ]  # fmt: skip
    path = tmp_path / "pictures.html"
    path.write_text("<!doctype html><meta charset=utf-8>" + "<br>".join(pictures), encoding="utf-8")
    browser.open(path.as_uri(), "document.readyState === 'complete'")
    try:
        assert shown.run("document.querySelectorAll('svg text').length") > 1000
        assert shown.call(_CUT) == []
    finally:
        browser.open(shown.path.as_uri())
