"""
Products whose tiles the compiler chooses, beside the library and beside all tiles: `python benchmarks/gpu_choice.py`.

For each size a contraction in f16 is compiled with the tile that the timing model chooses. `--all` compiles every legal
tile, too, and says how far the choice is from the best. Prints predicted and measured times and the geometric mean
of the library's time over the kernel's; `--json FILE` keeps them. Needs a GPU and torch; `--build` only compiles.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any

from products import text_of
from xdsl.dialects.builtin import f16, f32

import tirx
from tirx import embed
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import Operands, TileChoice, choose_tiles
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass
from tirx.runtime import Program

Size = tuple[int, int, int]

_ROWS = (16, 64, 128, 256, 512, 1024, 2048, 4096)
_MODELS = ((2112, 7168), (6144, 4096), (7168, 2048), (28672, 4096), (4096, 14336), (10240, 2560))
SIZES: tuple[Size, ...] = (
    *((m, n, k) for n, k in _MODELS for m in _ROWS),
    *((512, 512, 512), (1000, 1000, 1000), (1536, 1536, 1536), (2048, 2048, 2048), (4096, 4096, 4096)),
)
"""Products of language models, from decoding to prefill, and squares."""


def compiled(size: Size, tile: TileChoice, target: str) -> Program:
    """The kernel for a size with a tile."""
    module = embed.parse(text_of("f16", size), "product.mlir")
    written = (*((tile.columns, tile.rows) if tile.exchanged else (tile.rows, tile.columns)), tile.depth)
    embed.run(module, [TirxTileLinalgPass(written, tile.threads, target, tile.exchanged)])
    return tirx.build(module, target)


def seconds_of(torch: Any, run: Any, rounds: int) -> float:
    """The median of the rounds, each of a graph of ten launches behind a pause."""
    for _ in range(2):
        run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            run()
    found: list[float] = []
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(rounds):
        torch.cuda.synchronize()
        time.sleep(random.uniform(0.004, 0.012))
        graph.replay()
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / 1e4)
    return sorted(found)[len(found) // 2]


def measured(torch: Any, size: Size, tiles: list[TileChoice], target: str, rounds: int) -> dict[str, Any]:
    """The times of the library and of kernels with some tiles, and their errors."""
    m, n, k = size
    a, b = (torch.randn(rows, k, device="cuda", dtype=torch.float16) for rows in (m, n))
    expected = a @ b.T
    row: dict[str, Any] = {
        "size": size,
        "library": seconds_of(torch, lambda: torch.matmul(a, b.T), rounds),
        "tiles": [],
    }
    for tile in tiles:
        start = time.perf_counter()
        kernel = compiled(size, tile, target).kernels["product"]
        build = time.perf_counter() - start
        d = torch.zeros_like(expected)
        kernel(a, b, d)
        error = float((d.float() - expected.float()).abs().max() / expected.float().abs().max())
        seconds = seconds_of(torch, lambda kernel=kernel, d=d: kernel(a, b, d), rounds)
        shape = (tile.rows, tile.columns, tile.threads, tile.exchanged)
        row["tiles"].append(
            {"tile": shape, "predicted": tile.score, "seconds": seconds, "error": error, "compile": build}
        )
    return row


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=480, help="stop in front of a size after so long")
    parser.add_argument("--target", default="sm_90a")
    options = parser.parse_args()
    start, ratios, best_ratios, rows = time.monotonic(), list[float](), list[float](), list[dict[str, Any]]()
    for size in SIZES:
        if time.monotonic() - start > options.seconds:
            break
        found = list(choose_tiles(Operands(size, f16, f16, f32, f16), Target.parse(options.target)))
        tiles = found if options.all else found[:1]
        if options.build:
            for tile in tiles:
                compiled(size, tile, options.target)
            continue
        import torch  # pyright: ignore[reportMissingImports]

        row = measured(torch, size, tiles, options.target, options.rounds)
        rows.append(row)
        first, best = row["tiles"][0], min(row["tiles"], key=lambda each: each["seconds"])
        ratios.append(log(row["library"] / first["seconds"]))
        best_ratios.append(log(row["library"] / best["seconds"]))
        print(
            f"{size}: {first['tile']}, predicted {1e6 * first['predicted']:.1f} us, measured "
            f"{1e6 * first['seconds']:.1f} us, library {1e6 * row['library']:.1f} us, error {first['error']:.1e}; best "
            f"{best['tile']} {1e6 * best['seconds']:.1f} us",
            flush=True,
        )
        if options.json is not None:
            options.json.write_text(json.dumps(rows))
    if ratios:
        chosen, best = (exp(sum(each) / len(each)) for each in (ratios, best_ratios))
        print(f"{len(ratios)} sizes: {chosen:.3f} x the library as chosen, {best:.3f} with the best tile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
