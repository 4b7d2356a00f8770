"""
The pictures of `docs/visualizer.md`: `python test/unit/viz/screenshots.py` draws them again, in a headless browser.

The tests open every scene and look for errors.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tirx.viz import page, presets
from tirx.viz.browser import Browser

IMAGES = Path(__file__).parents[3] / "docs" / "images"

_ROWS = "S[(8, 64) : (64, 1)]"


@dataclass(frozen=True)
class Scene:
    """A state of the page, and the size of its picture in CSS pixels."""

    state: dict[str, str]
    size: tuple[int, int]
    theme: str = "light"


def _preset(name: str, **state: str) -> dict[str, str]:
    tile = next(tile for tile in presets() if tile.name == name)
    shape = ",".join(map(str, tile.shape))
    plain = {"tab": "layout", "l": str(tile.layout), "s": shape, "d": tile.dtype, "c": "", "v": "", "e": "", "p": ""}
    return plain | state


SCENES: dict[str, Scene] = {
    "viz-layout": Scene(_preset("Tensor-core tile", e="26"), (1180, 640)),
    "viz-banks": Scene(_preset("8 x 64 f16, 128B", e="72", p="columnVector"), (1180, 600)),
    "viz-fragment": Scene(_preset("m8n8k4 C: row.col.f32.f16 (+3)", e="75"), (1180, 600), "dark"),
    "viz-tensor-memory": Scene(_preset("SFA, 128 x 16", e="137"), (1180, 640)),
    "viz-mesh": Scene(_preset("Mesh with replicas", e="9"), (1180, 560)),
    "viz-compare": Scene(
        _preset(
            "8 x 64 f16, 128B", tab="compare", lb="ComposeLayout(Swizzle(3, 2, 3), S[(8, 64) : (64, 1)])", sb="8,64"
        ),
        (1180, 400),
    ),
    "viz-algebra": Scene(
        {
            "tab": "algebra",
            "op": "tile",
            "l": "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]",
            "s": "8,8",
            "lb": "S[(2, 2) : (1@warpid, 1)]",
            "sb": "2,2",
            "os": "",
            "is": "",
        },
        (1180, 520),
    ),
    "viz-cute": Scene({"tab": "cute", "co": "logical_divide", "ca": "(4,2,3):(2,1,8)", "cb": "4:2"}, (1180, 400)),
    "viz-descriptors": Scene(_preset("f16 K-major 128B, 128 x 64", tab="descriptor"), (1180, 640)),
    "viz-mask": Scene({"tab": "mask", "mm": "64", "mn": "256", "mask": "0x010c00820000000b"}, (1180, 680)),
}


def main() -> None:
    """Draws all pictures."""
    with tempfile.TemporaryDirectory() as directory, Browser((1180, 640)) as browser:
        path = Path(directory) / "page.html"
        path.write_text(page(), encoding="utf-8")
        browser.open(path.as_uri())
        for name, scene in SCENES.items():
            browser.resize(*scene.size)
            browser.evaluate(f"document.documentElement.dataset.theme = {scene.theme!r}")
            browser.evaluate(f"tirx.app.change({json.dumps(scene.state)})")
            browser.evaluate("new Promise((done) => setTimeout(done, 300))")
            (IMAGES / f"{name}.png").write_bytes(browser.screenshot())


if __name__ == "__main__":
    main()
