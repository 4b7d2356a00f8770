"""
Products without tile sizes beside cuBLAS: `python benchmarks/products.py [--types f16,tf32] [--sizes 16x512x512,..]`.

Every product is a function of `linalg` with nothing written but its types: the compiler chooses tiles and threads. It
is compared with cuBLAS (what torch calls), and a wrong result is a failure. Sizes are M x N x K; without any, 35 of
language models, to which `--drawn` adds random ones, whose seed is printed. `--json FILE` writes all seconds. Options
are those of the pipeline, and `tile=128x96x64 threads=256 exchanged=yes`, which say what is to be compared with the
choice. `python benchmarks/product_search.py` compares it with every other candidate.

Needs torch with CUDA and `pip install 'tirx-compiler[cuda]'`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from gpu_cases import Case
from gpu_measure import Variant, error_of, measure, operands, peer

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass
from tirx.runtime.program import Program

Size = tuple[int, int, int]

TYPES: dict[str, tuple[str, str, str, float]] = {
    "f16": ("f16", "float16", "f16", 2e-3),
    "f16f32": ("f16", "float16", "f32", 2e-3),
    "bf16": ("bf16", "bfloat16", "bf16", 2e-2),
    "e4m3": ("f8E4M3FN", "float8_e4m3fn", "bf16", 2e-2),
    "tf32": ("tf32", "float32", "f32", 2e-3),
}
"""Types of A and B -> in the IR, in torch; that of D; the largest error, relative to the largest result.

Where D is f32 beside f16, cuBLAS writes f16.
"""

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}

SIZES: tuple[Size, ...] = (
    *((m, n, k) for m in (16, 64, 128, 256, 512, 1024, 2048, 4096) for n, k in
      ((2112, 7168), (6144, 4096), (7168, 2048), (28672, 4096))),
    *((512, 512, 512), (1000, 1000, 1000), (2048, 2048, 2048)),
)  # fmt: skip


def text_of(kind: str, size: Size) -> str:
    """The product D = A B^T in `linalg`, with f32 sums that become D."""
    m, n, k = size
    a, _, d, _ = TYPES[kind]
    types = f"memref<{m}x{k}x{a}>, memref<{n}x{k}x{a}>"
    arguments = f"%a: memref<{m}x{k}x{a}>, %b: memref<{n}x{k}x{a}>, %d: memref<{m}x{n}x{d}>"
    widen, factors = f"%p = arith.extf %x : {a} to f32\n    %q = arith.extf %y : {a} to f32", "%p, %q"
    narrow, last = (f"%w = arith.truncf %x : f32 to {d}", "%w") if d != "f32" else ("", "%x")
    return f"""
func.func @product({arguments}) attributes {{tirx.kernel}} {{
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<{m}x{n}xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<{m}x{n}xf32>)
  linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {types}) outs(%sums : memref<{m}x{n}xf32>) {{
  ^bb0(%x: {a}, %y: {a}, %z: f32):
    {widen}
    %r = arith.mulf {factors} : f32
    %s = arith.addf %z, %r : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}} ins(%sums : memref<{m}x{n}xf32>) outs(%d : memref<{m}x{n}x{d}>) {{
  ^bb0(%x: f32, %old: {d}):
    {narrow}
    linalg.yield {last} : {d}
  }}
  func.return
}}"""


def compiled(work: tuple[str, Size, str]) -> str:
    """The program of a product, with options, as JSON, or why there is none, behind `error: `."""
    kind, size, options = work
    words = dict(word.split("=") for word in options.split())
    tile, threads, exchanged = words.pop("tile", None), words.pop("threads", "256"), "exchanged" in words
    words.pop("exchanged", None)
    module = embed.parse(text_of(kind, size), "product.mlir")
    try:
        if tile is not None:
            extents = tuple(map(int, tile.split("x")))
            embed.run(module, [TirxTileLinalgPass(extents, int(threads), "sm_90a", exchanged)])
        return tirx.build(module, "sm_90a", " ".join(map("=".join, words.items()))).to_json()
    except LocatedError as error:
        return f"error: {error}"


def drawn(count: int, seed: int) -> list[Size]:
    """Random sizes: M of few to many tokens, N and K multiples of 64 such as models have."""
    rng = random.Random(seed)
    rows = [1, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096]
    return [(rng.choice(rows), 64 * rng.randint(8, 256), 64 * rng.randint(8, 160)) for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="f16", help=f"of {', '.join(TYPES)} (f16)")
    parser.add_argument("--sizes", help="MxNxK, separated by commas; MxNxK:OPTIONS:OPTIONS has options of its own")
    parser.add_argument("--options", default="", help="such as parts=4; several, separated by commas")
    parser.add_argument("--drawn", type=int, default=0, help="so many random sizes more")
    parser.add_argument("--seed", type=int, help="of the random sizes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=8, help="processes that compile")
    parser.add_argument("--json", type=Path, metavar="FILE")
    flags = parser.parse_args()
    seed = random.randrange(2**32) if flags.seed is None else flags.seed
    print(f"seed {seed}")
    written = flags.sizes.split(",") if flags.sizes else ["x".join(map(str, size)) for size in SIZES]
    written += ["x".join(map(str, size)) for size in drawn(flags.drawn, seed)]
    work: list[tuple[str, Size, str]] = []
    for kind in flags.types.split(","):
        for size, *own in (each.split(":") for each in written):
            m, n, k = map(int, size.split("x"))
            work += [(kind, (m, n, k), options) for options in own or flags.options.split(",")]
    with ProcessPoolExecutor(flags.jobs, get_context("spawn")) as pool:
        programs = dict(zip(work, pool.map(compiled, work), strict=True))
    import torch

    seconds: dict[str, Any] = {}
    ratios: list[float] = []
    for each, program in programs.items():
        name = " ".join([each[0], "x".join(map(str, each[1])), each[2]]).strip()
        if program.startswith("error: "):
            print(name, program, flush=True)
            continue
        try:
            found = seconds[name] = _measured(torch, *each[:2], Program.from_json(program), flags.rounds)
        except RuntimeError as error:  # cuBLAS has e4m3 for multiples of 16 only
            print(name, f"not measured: {str(error).splitlines()[0]}", flush=True)
            continue
        ratios.append(median(library / own for library, own in zip(found["cublas"], found["tirx"], strict=True)))
        own = median(found["tirx"])
        flops = 2 * math.prod(each[1]) / own / 1e12
        print(f"{name}: {1e6 * own:.1f} us, {flops:.0f} TFLOP/s, {ratios[-1]:.2f} x cuBLAS", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))
    least = min(ratios, default=0)
    print(f"{len(ratios)} of {len(work)} products: {mean:.3f} x cuBLAS in geometric mean, least {least:.2f}")
    if flags.json is not None:
        flags.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "seed": seed, "seconds": seconds}))


def _measured(torch: Any, kind: str, size: Size, program: Program, rounds: int) -> dict[str, list[float]]:
    """Seconds of a product and of its peer in each round. Raises SystemExit for a wrong result."""
    _, a, d, most = TYPES[kind]
    case = Case("product", "", a, DTYPES[d], most, "")
    arrays = operands(torch, case, size)
    library, kernel = peer(torch, case, *arrays[:2]), program.kernels["product"]
    kernel(*arrays)
    torch.cuda.synchronize()
    if (error := error_of(torch, arrays[2], library())) > most:
        raise SystemExit(f"{kind} {size}: differs from cuBLAS by {error:.2g} of the largest result")
    flops = 2.0 * math.prod(size)
    both = [Variant("tirx", flops, lambda: kernel(*arrays)), Variant("cublas", flops, library)]
    return measure(torch, both, rounds)


if __name__ == "__main__":
    main()
