"""The page as a file: what is in it, and how large it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from unit.cases import together

from tirx.layout import TileLayout
from tirx.viz import Tile, page, presets, read_tiles
from tirx.viz.page import _as_function, inline_json, read_asset, script  # pyright: ignore[reportPrivateUsage]

_ASSETS = Path(__file__).parents[3] / "tirx" / "viz" / "page"
_LARGEST = 320_000


def _data(text: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_size() -> None:
    """A tile of 128 x 64 is a page of at most 320 kB."""
    text = page(read_tiles("ComposeLayout(Swizzle(3, 3, 3), S[(128, 64) : (64, 1)])", (128, 64)))
    assert len(text.encode()) <= _LARGEST


def test_needs_nothing_else() -> None:
    """No address is loaded: neither scripts nor styles, fonts or pictures."""
    text = page()
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", text.partition("<script")[0])
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|import)\s*\(", script())
    assert set(re.findall(r"https?://[^\s\"'`<]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_data_ends_no_script() -> None:
    """Text of a user cannot close the element that it is in."""
    hostile = "</script><script>alert(1)</script><!-- \u2028"
    tile = Tile(hostile, TileLayout.parse("S[4]"), (4,), place=hostile)
    text = page([tile], hostile)
    assert _data(text)["tiles"][0]["name"] == hostile
    assert text.count("</script>") == page().count("</script>")
    assert "<script>alert" not in text
    assert json.loads(inline_json({"x": hostile})) == {"x": hostile}


def test_tiles_come_first() -> None:
    found = _data(page(read_tiles("S[(8, 4) : (4@laneid, 1@laneid)]")))
    assert [each["text"] for each in found["tiles"]] == ["S[(8, 4) : (4@laneid, 1@laneid)]"]
    assert len(found["presets"]) == len(presets())


def test_every_module_is_in_the_script() -> None:
    """Each exactly once, behind those that it imports."""
    text = script()
    for path in _ASSETS.glob("*.js"):
        assert text.count(f"$modules.{path.stem} = ") == 1, path.name
    for used, _ in re.findall(r"= \$modules\.(\w+);()", text):
        assert text.index(f"$modules.{used} = (") < text.index(f"= $modules.{used};"), used
    assert "\nimport " not in text and "\nexport " not in text


def test_modules_become_functions() -> None:
    module = """import { a, b as c } from "./one.js";
import * as two from "./two.js";
export async function f() {}
export const g = c(a);
function h() {}
export { h, i };
"""
    assert (
        _as_function("m", module)
        == """$modules.m = (() => {
const { a, b: c } = $modules.one;
const two = $modules.two;
async function f() {}
const g = c(a);
function h() {}
return { f, g, h, i };
})();
"""
    )


def test_modules_are_short() -> None:
    """A file has one subject."""
    long = {path.name: count for path in _ASSETS.iterdir() if (count := len(read_asset(path.name).splitlines())) > 600}
    assert not long


def test_presets_are_distinct() -> None:
    names = [(tile.group, tile.name) for tile in presets()]
    assert len(set(names)) == len(names)


# PTX ISA, "Matrix Fragments for mma.m8n8k4": figure -> row and column of element i of a lane
_FIGURES: dict[int, Callable[[int, int], tuple[int, int]]] = {
    46: lambda lane, i: (lane % 4 + 4 * (lane >= 16), i),
    47: lambda lane, i: (i % 4 + 4 * (lane >= 16), lane % 4),
    48: lambda lane, i: (lane % 4, i + 4 * (lane >= 16)),
    49: lambda lane, i: (i, lane % 4 + 4 * (lane >= 16)),
    50: lambda lane, i: (lane % 4 + 4 * (lane >= 16), i),
    51: lambda lane, i: ((lane & 1) + (i & 2) + 4 * (lane >= 16), (i & 4) + (lane & 2) + (i & 1)),
    53: lambda lane, i: (lane >> 2, lane % 4),
    54: lambda lane, i: (lane % 4, lane >> 2),
    55: lambda lane, i: (lane >> 2, lane % 4 * 2 + i),
}


@together("figure", _FIGURES)
def test_figures_of_m8n8k4(figure: int) -> None:
    tile = next(tile for tile in presets() if tile.name.startswith(f"Figure {figure}"))
    assert isinstance(tile.layout, TileLayout)
    for place in np.ndindex(tile.shape):
        at = tile.layout.apply(place, tile.shape)
        lane, product = at["laneid"], place[0] if len(place) == 3 else None
        assert _FIGURES[figure](lane, at.get("m", 0)) == place[-2:]
        assert product in (None, lane % 16 // 4)
