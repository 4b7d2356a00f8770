"""
The choice of tiles beside every candidate: `python benchmarks/product_search.py [--sizes f16:16x512x512,..]`.

60 products are compiled as the compiler chooses, and with every candidate (tile, slots, order, pairs, parts of K) that
the timing model gives at most `--within` times the time of its first one, but with 24 at least. 45 of the products are
those of language models, types in turn; a quarter is drawn at random, and the seed is printed. All candidates are
measured shortly; then the choice, the three fastest and cuBLAS together, in rounds. A wrong result is a failure. Prints
how fast the choice is beside the fastest, in geometric mean; `--json FILE` keeps all times and what the model counts.

Kernels are compiled and assembled by `--jobs` processes before anything is measured. `--build` only compiles, which
needs no GPU. `--seconds` ends in front of a product.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from gpu_cases import Case
from gpu_measure import Variant, error_of, measure, operands, peer
from products import DTYPES, TYPES, Size, compiled, drawn, text_of
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp

from tirx import embed
from tirx.dialects.structured import memref_type
from tirx.hw.targets import Target
from tirx.passes.match.slots import MOST_SLOTS
from tirx.passes.match.tile_choice import Operands, TileChoice, every_tile
from tirx.passes.products.tirx_tile_linalg import SCHEDULES
from tirx.runtime.driver import GpuError, device
from tirx.runtime.program import Program
from tirx.values import fields

Product = tuple[str, Size]

MODELS = (
    *((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192), (7168, 2048)),
    *((2112, 7168), (24576, 1536), (7168, 4096), (5120, 5120), (3584, 18944), (5120, 2880), (2880, 4096), (1536, 7168)),
)
"""N and K of layers of language models."""

ROWS = ((1, 64, 1024), (8, 128, 2048), (16, 192, 4096), (32, 256, 512), (48, 384, 768))
"""Rows of tokens, in turn."""

KINDS = ("f16", "bf16", "e4m3", "tf32", "f16f32")
SIZES: tuple[Product, ...] = tuple(
    (KINDS[(i + j) % len(KINDS)], (m, n, k))
    for i, (n, k) in enumerate(MODELS)
    for j, m in enumerate(ROWS[i % len(ROWS)])
)
"""45 products, each in one type."""

DRAWN = len(SIZES) // 3
FEWEST = 24
"""Candidates of a product at least."""
FASTEST = 3
"""Candidates that are measured again, beside the choice."""
LONGEST = 1e12
"""Operations of a random product at most."""
_WRONG = "differs from cuBLAS"
SHORTLY = (0.002, 0.006)
"""Seconds of the pause before each of the first measurements."""


def candidates(product: Product, within: float) -> dict[str, TileChoice]:
    """Options -> what they make, of candidates that the model gives at most `within` times the time of the first."""
    kind, size = product
    function = next(op for op in embed.parse(text_of(kind, size)).walk() if isinstance(op, FuncOp))
    a, b, d = (memref_type(argument).element_type for argument in function.body.block.args)
    found = every_tile(Operands(size, a, b, f32, d), Target.parse("sm_90a"), SCHEDULES)
    return {
        options_of(each): each for i, each in enumerate(found) if i < FEWEST or each.score < within * found[0].score
    }


def options_of(choice: TileChoice) -> str:
    """The options that make a candidate."""
    rows, columns = (choice.columns, choice.rows) if choice.exchanged else (choice.rows, choice.columns)
    words = [f"tile={rows}x{columns}x{choice.depth} threads={choice.threads} parts={choice.parts}"]
    if choice.exchanged:
        words.append("exchanged=yes")
    if choice.most != MOST_SLOTS:
        words.append(f"stages={choice.work.slots}")
    if choice.is_ordered:
        words.append("order=group")
    if choice.shares is not None:
        words.append(f"cluster={'columns' if choice.shares == 'a' else 'rows'}")
    return " ".join(words)


def assembled(is_only_built: bool, work: tuple[str, Size, str]) -> str:
    """`compiled`, whose code the driver has then in its cache."""
    text = compiled(work)
    if not is_only_built and not text.startswith("error: "):
        program = Program.from_json(text)
        try:
            device(0).function(program.ptx, "product", 0, 1)
        except GpuError as error:
            return f"error: {error}"
    return text


def random_products(count: int, seed: int) -> list[Product]:
    """Products of random sizes, types in turn, none of them too long."""
    sizes = (size for size in drawn(20 * count, seed) if 2.0 * math.prod(size) < LONGEST)
    return [(KINDS[i % len(KINDS)], size) for i, size in zip(range(count), sizes, strict=False)]


def named(texts: str) -> list[Product]:
    """The products of `--sizes`."""
    found: list[Product] = []
    for kind, size in (each.split(":") for each in texts.split(",")):
        m, n, k = map(int, size.split("x"))
        found.append((kind, (m, n, k)))
    return found


def measured(torch: Any, product: Product, programs: dict[str, str], rounds: int) -> dict[str, Any]:
    """Seconds of a product: of each candidate, and of the choice (`""`), the fastest and cuBLAS in the same rounds."""
    kind, size = product
    _, dtype, d, most = TYPES[kind]
    a, b, out = operands(torch, Case("product", "", dtype, DTYPES[d], most, ""), size)
    library = peer(torch, Case("product", "", dtype, DTYPES[d], most, ""), a, b)
    expected = library()
    ready: dict[str, Variant] = {}
    failed: dict[str, str] = {}
    flops = 2.0 * math.prod(size)
    for options, text in programs.items():
        if text.startswith("error: "):
            failed[options] = text
            continue
        kernel = Program.from_json(text).kernels["product"]
        out.zero_()
        try:
            kernel(a, b, out)
        except GpuError as error:
            failed[options] = f"error: {error}"
            continue
        if (error := error_of(torch, out, expected)) > most:
            failed[options] = f"{_WRONG} by {error:.2g} of the largest result"
            continue
        ready[options] = Variant(options, flops, partial(kernel, a, b, out))
    first = {name: min(times) for name, times in measure(torch, list(ready.values()), 2, SHORTLY).items()}
    fastest = sorted((name for name in first if name), key=lambda name: first[name])[:FASTEST]
    again = [ready[""], *(ready[name] for name in fastest), Variant("cublas", flops, library)]
    return {"first": first, "again": measure(torch, again, rounds), "failed": failed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--within", type=float, default=1.5)
    parser.add_argument("--sizes", help="TYPE:MxNxK, separated by commas, instead of the 60")
    parser.add_argument("--seed", type=int, help="of the quarter that is drawn at random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=8, help="processes that compile")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    flags = parser.parse_args()
    start = time.monotonic()
    seed = random.randrange(2**32) if flags.seed is None else flags.seed
    products = named(flags.sizes) if flags.sizes else [*SIZES, *random_products(DRAWN, seed)]
    found = {product: candidates(product, flags.within) for product in products}
    work = [(kind, size, options) for (kind, size), each in found.items() for options in ("", *each)]
    print(f"seed {seed}, {len(products)} products, {len(work)} kernels", flush=True)
    os.environ.setdefault("CUDA_CACHE_MAXSIZE", str(1 << 32))  # bytes of what the driver has assembled
    with ProcessPoolExecutor(flags.jobs, get_context("spawn")) as pool:
        programs = dict(zip(work, pool.map(partial(assembled, flags.build), work, chunksize=8), strict=True))
    refused = sum(text.startswith("error: ") for text in programs.values())
    print(f"compiled in {time.monotonic() - start:.0f} s, {refused} refused", flush=True)
    return 0 if flags.build else report(found, programs, flags, start + flags.seconds)


def report(
    found: dict[Product, dict[str, TileChoice]], programs: dict[tuple[str, Size, str], str], flags: Any, end: float
) -> int:
    """Measures and prints. Returns the number of candidates whose results were wrong."""
    torch: Any = importlib.import_module("torch")
    rows: list[dict[str, Any]] = []
    shares: list[float] = []
    ratios: list[float] = []
    wrong = 0
    for product, choices in found.items():
        if time.monotonic() > end:
            print("out of time")
            break
        kind, size = product
        try:
            row = measured(torch, product, {each: programs[(*product, each)] for each in ("", *choices)}, flags.rounds)
        except RuntimeError as error:  # of the library, for sizes that it does not take
            print(f"{kind} {'x'.join(map(str, size))} not measured: {str(error).splitlines()[0]}")
            continue
        row |= {"kind": kind, "size": size}
        row["work"] = {name: counted(each) for name, each in choices.items() if name in row["first"]}
        rows.append(row)
        for options, why in row["failed"].items():
            print(f"{kind} {'x'.join(map(str, size))} {options}: {why.splitlines()[0]}")
            wrong += why.startswith(_WRONG)
        seconds = {name: median(times) for name, times in row["again"].items()}
        best = min((name for name in seconds if name != "cublas"), key=lambda name: seconds[name])
        shares.append(seconds[best] / seconds[""])
        ratios.append(seconds["cublas"] / seconds[""])
        print(
            f"{kind} {'x'.join(map(str, size))}: {1e6 * seconds['']:.1f} us, {shares[-1]:.3f} of the fastest of "
            f"{len(row['first'])} ({best or 'the choice'}), {ratios[-1]:.2f} x cuBLAS",
            flush=True,
        )
        if flags.json is not None:
            flags.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": rows}))
    for name, each in (("of the fastest candidate", shares), ("x cuBLAS", ratios)):
        print(f"{len(each)} products: {mean(each):.3f} {name} in geometric mean, least {min(each, default=0):.2f}")
    return wrong


def counted(choice: TileChoice) -> dict[str, Any]:
    """Counts of the timing model for a candidate, and the seconds that it predicts."""
    return {each.name: getattr(choice.work, each.name) for each in fields(choice.work)} | {"predicted": choice.score}


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / max(len(values), 1))


if __name__ == "__main__":
    sys.exit(main())
