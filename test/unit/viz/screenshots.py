"""
The pictures of `docs/visualizer.md`: `python test/unit/viz/screenshots.py` draws them again, in a headless browser.

The tests open every scene and look for errors.
"""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tirx.tools.tirx_viz import main as tirx_viz
from tirx.viz import page, presets
from tirx.viz.browser import Browser

_ROOT = Path(__file__).parents[3]
IMAGES = _ROOT / "docs" / "images"

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
    "viz-layout": Scene(_preset("Tensor-core tile", e="26"), (1400, 700)),
    "viz-banks": Scene(_preset("8 x 64 f16, 128B", e="72", p="columnVector"), (1400, 620)),
    "viz-fragment": Scene(_preset("m8n8k4 C: row.col.f32.f16 (+3)", e="75"), (1400, 620), "dark"),
    "viz-tensor-memory": Scene(_preset("SFA, 128 x 16", e="137"), (1400, 700)),
    "viz-mesh": Scene(_preset("Mesh with replicas", e="9"), (1400, 600)),
    "viz-compare": Scene(
        _preset(
            "8 x 64 f16, 128B", tab="compare", lb="ComposeLayout(Swizzle(3, 2, 3), S[(8, 64) : (64, 1)])", sb="8,64"
        ),
        (1400, 420),
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
        (1400, 560),
    ),
    "viz-cute": Scene({"tab": "cute", "co": "logical_divide", "ca": "(4,2,3):(2,1,8)", "cb": "4:2"}, (1400, 420)),
    "viz-fragments": Scene({"tab": "fragments", "fv": "m16n8k16.row.col.f32.f16", "ft": "5"}, (1400, 800)),
    "viz-wgmma": Scene(
        {"tab": "fragments", "fv": "m64nNk16.f32: f16 x f16, bf16 x bf16", "fn": "16", "ft": "37"}, (1400, 700)
    ),
    "viz-box": Scene(
        {
            "tab": "copies",
            "eng": "tma",
            "d": "f16",
            "td": "256, 192",
            "tb": "8, 64",
            "ts": "250, 64",
            "tw": "128B",
            "e": "70",
        },
        (1400, 720),
    ),
    "viz-accesses": Scene(
        {
            "tab": "copies",
            "eng": "threads",
            "d": "f16",
            "l": "ComposeLayout(Swizzle(1, 3, 3), S[(16, 16) : (16, 1)])",
            "s": "16,16",
            "rl": "S[(2, 8, 2, 4, 2) : (4, 4@laneid, 2, 1@laneid, 1)]",
            "ft": "5",
            "ka": "0",
            "e": "",
        },
        (1400, 760),
    ),
    "viz-descriptors": Scene(_preset("f16 K-major 128B, 128 x 64", tab="descriptor"), (1400, 700)),
    "viz-mask": Scene({"tab": "mask", "mm": "64", "mn": "256", "mask": "0x010c00820000000b"}, (1400, 760)),
}


PROGRAM = Scene({"tab": "program", "pl": "29"}, (1400, 900))
"""Decisions about the GEMM of the examples."""


def with_palette(png: bytes) -> bytes:
    """The same picture with at most 256 colours: the most frequent ones, and for others the nearest of them."""
    chunks: list[tuple[bytes, bytes]] = []
    at = 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[0][1][:10])
    assert depth == 8 and kind in (2, 6), "as browsers write it"
    pixels = _unfiltered(
        zlib.decompress(b"".join(data for name, data in chunks if name == b"IDAT")), width, height, kind
    )
    packed = pixels[..., 0].astype(np.int64) << 16 | pixels[..., 1].astype(np.int64) << 8 | pixels[..., 2]
    colours, index, counts = np.unique(packed, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-counts)[:256])
    channels = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    nearest = ((channels[:, None] - channels[kept][None]) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    rows = np.concatenate((np.zeros((height, 1), np.uint8), nearest[index.reshape(height, width)]), axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", channels[kept].astype(np.uint8).tobytes()))
    ends = ((b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return png[:8] + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in (*parts, *ends)
    )


def _unfiltered(data: bytes, width: int, height: int, kind: int) -> NDArray[np.uint8]:
    """The pixels, (height, width, 3), of the lines of a PNG; PNG specification, "Filtering"."""
    size = 3 if kind == 2 else 4
    lines = np.frombuffer(data, np.uint8).reshape(height, 1 + width * size)
    found = np.zeros((height + 1, width + 1, size), np.int64)
    for y in range(height):
        line, above = lines[y, 1:].reshape(width, size).astype(np.int64), found[y]
        match lines[y, 0]:
            case 0:
                found[y + 1, 1:] = line
            case 1:
                found[y + 1, 1:] = np.cumsum(line, axis=0) % 256
            case 2:
                found[y + 1, 1:] = (line + above[1:]) % 256
            case filtered:
                for x in range(width):
                    left, up, corner = found[y + 1, x], above[x + 1], above[x]
                    guess = (left + up) // 2 if filtered == 3 else _paeth(left, up, corner)
                    found[y + 1, x + 1] = (line[x] + guess) % 256
    return found[1:, 1:, :3].astype(np.uint8)


def _paeth(left: NDArray[np.int64], up: NDArray[np.int64], corner: NDArray[np.int64]) -> NDArray[np.int64]:
    guess = left + up - corner
    a, b, c = (abs(guess - each) for each in (left, up, corner))
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))


def main() -> None:
    """Draws all pictures."""
    with chdir(_ROOT), tempfile.TemporaryDirectory() as directory, Browser((1400, 700)) as browser:
        plain, program = Path(directory) / "page.html", Path(directory) / "program.html"
        plain.write_text(page(), encoding="utf-8")
        assert tirx_viz(["examples/tcgen05_gemm.mlir", "-o", str(program)]) == 0
        for path, scenes in ((plain, SCENES), (program, {"viz-program": PROGRAM})):
            browser.open(path.as_uri())
            for name, scene in scenes.items():
                browser.resize(*scene.size)
                browser.evaluate(f"document.documentElement.dataset.theme = {scene.theme!r}")
                browser.evaluate(f"tirx.app.change({json.dumps(scene.state)})")
                browser.evaluate("new Promise((done) => setTimeout(done, 300))")
                (IMAGES / f"{name}.png").write_bytes(with_palette(browser.screenshot(fast=True)))


if __name__ == "__main__":
    main()
