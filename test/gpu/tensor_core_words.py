"""
Sums of tensor cores on the hardware: the simulator gives the same words as a GPU of sm_90a, bit for bit.

`python test/gpu/tensor_core_words.py --words 100000` runs every dense mma.sync and wgmma with floating-point elements
on random operands of each of `NUMBERS`, on the GPU and in the simulator, and compares the words of D. Every
kernel is a tile program with one instruction, whose blocks work on operands of their own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tirx
from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import layout_attr
from tirx.hw.features import supporting_targets
from tirx.mma.fragments import VARIANTS, WIDENING, MmaVariant
from tirx.wgmma.kinds import KINDS

Array = npt.NDArray[Any]

TARGET = "sm_90a"
N = 64
"""Columns of D of a wgmma."""

NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "f32": np.float32,
    "f64": np.float64,
}
MLIR = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
"""PTX names of element types -> those of the IR, where they differ."""

PART = 12_500
"""Words of each of `NUMBERS` that one process simulates at once."""

F64_K = 4
"""K of the f64 products with all words: the simulator adds f64 numbers of very different sizes one by one."""

NUMBERS: tuple[str, ...] = ("bits", "finite", "normal", "cancelling")
"""
Random bits; those that are finite numbers; normally distributed numbers; and normally distributed A and B with a C that
nearly cancels their product.
"""


@dataclass(frozen=True)
class Words:
    """
    D = A B^T + C by one instruction: `count` blocks, each with `products` matrices of m x n x k.

    `addend` is the type of C where it is not that of D.
    """

    name: str
    elements: tuple[str, str]
    result: str
    shape: tuple[int, int, int]
    text: str
    count: int
    products: int
    seed: int
    addend: str = ""

    def operands(self) -> list[Array]:
        """A, B and C; a fourth of the blocks for each of `NUMBERS`."""
        rng = np.random.default_rng(self.seed)
        m, n, k = self.shape
        parts = [self._random(rng, numbers, self.count // len(NUMBERS) * self.products) for numbers in NUMBERS]
        shapes = (m, k), (n, k), (m, n)
        return [
            np.ascontiguousarray(np.concatenate(own)).reshape(self.count * self.products, *shape)
            for own, shape in zip(zip(*parts, strict=True), shapes, strict=True)
        ]

    def _random(self, rng: np.random.Generator, numbers: str, count: int) -> tuple[Array, Array, Array]:
        m, n, k = self.shape
        shapes = (count, m, k), (count, n, k), (count, m, n)
        dtypes = [np.dtype(NUMPY[each]) for each in (*self.elements, self.addend or self.result)]
        if numbers in ("bits", "finite"):
            a, b, c = (_bits(rng, s, d, numbers == "finite") for s, d in zip(shapes, dtypes, strict=True))
            return a, b, c
        a, b, c = (rng.standard_normal(s).astype(d) for s, d in zip(shapes, dtypes, strict=True))
        if numbers == "cancelling":
            ideal = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)
            c = (-ideal * (1 + rng.standard_normal(ideal.shape) * 2.0**-12)).astype(dtypes[2])
        return a, b, c

    def kernel(self) -> Any:
        """The compiled kernel; the warning that f16 m8n8k4 is emulated is not shown."""
        with diagnostic_handler(lambda _: None):
            return tirx.build(self.text).kernels["words"]

    def arguments(self) -> list[Array]:
        """The operands, of which D takes the place of C unless it is of another type."""
        found = self.operands()
        return [*found, np.zeros(found[2].shape, NUMPY[self.result])] if self.addend else found

    def simulated(self) -> tuple[Array, float]:
        """D in the simulator, and how many seconds it took."""
        start = perf_counter()
        arguments = self.arguments()
        self.kernel().simulate(*arguments, check=False)
        return arguments[-1], perf_counter() - start

    def recorded(self) -> Array:
        """D on the GPU."""
        arguments = self.arguments()
        self.kernel()(*arguments)
        return arguments[-1]


def _bits(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], finite: bool) -> Array:
    codes = rng.integers(0, 1 << 8 * dtype.itemsize, shape, np.dtype(f"u{dtype.itemsize}"))
    while finite:
        with np.errstate(invalid="ignore"):
            bad = ~np.isfinite(codes.view(dtype).astype(np.float64))
        if not bad.any():
            break
        codes[bad] = rng.integers(0, 1 << 8 * dtype.itemsize, int(bad.sum()), codes.dtype)
    return codes.view(dtype)


def _text(
    elements: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    tiles: Sequence[str],
    threads: int,
    count: int,
    products: int,
) -> str:
    """
    A kernel of `count` blocks, each with the tiles (A, B, C) at its place of the arguments; D goes where C was, or is a
    fourth tile.
    """
    names = ("a", "b", "d") if len(tiles) == 3 else ("a", "b", "c", "d")
    sizes = ["x".join(map(str, (*shape, MLIR.get(each, each)))) for each, shape in zip(elements, shapes, strict=True)]
    arguments: list[str] = []
    lines: list[str] = []
    types = [f"!tirx.tile<{size}, {tile}>" for size, tile in zip(sizes, tiles, strict=True)]
    for name, size, shape, tile in zip(names, sizes, shapes, types, strict=True):
        # Tiles of mma.sync have their products as first dimension, those of wgmma have none.
        memory = f"memref<{count * products}x{size.split('x', 1)[1] if len(shape) == 3 else size}>"
        arguments.append(f"%{name}: {memory}")
        lines.append(f"%g{name} = tirx.view %{name}[%first, %c0, %c0] : {memory} -> !tirx.tile<{size}, global>")
        if name not in names[3:]:
            lines.append(f"%t{name} = tirx.alloc : {tile}")
            lines.append(f"tirx.copy %g{name}, %t{name} : !tirx.tile<{size}, global>, {tile}")
    product = f"tirx.mma %ta, %tb, %td : {', '.join(types)}"
    if len(types) == 4:
        product = f"%td = tirx.mma %ta, %tb, %tc : {', '.join(types[:3])} -> {types[3]}"
    body = "\n  ".join(lines)
    return f"""
tirx.kernel @words({", ".join(arguments)}) target("{TARGET}") grid({count}) threads({threads}) {{
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %products = arith.constant {products} : index
  %first = arith.muli %i, %products : index
  {body}
  {product}
  tirx.copy %td, %gd : {types[-1]}, !tirx.tile<{sizes[-1]}, global>
  tirx.return
}}"""


def _blocks(words: int, each: int) -> int:
    """Blocks of `each` words, so that there are `words` of each of `NUMBERS`."""
    return len(NUMBERS) * -(-words // each)


def _of_mma(variant: MmaVariant, words: int, seed: int, widens: bool = False) -> Words:
    """The case of a variant, or of its form that has C in f16 and D in f32."""
    fragments = (variant.a, variant.b, *([WIDENING[variant.name].c] if widens else []), variant.c)
    products, m, k = variant.a.shape
    n = variant.b.shape[1]
    if variant.a.dtype == "f64":
        words = words * F64_K // k
    count = _blocks(words, products * m * n)
    text = _text(
        [each.dtype for each in fragments],
        [each.shape for each in fragments],
        [f"register, {layout_attr(each.layout)}" for each in fragments],
        32,
        count,
        products,
    )
    elements = variant.a.dtype, variant.b.dtype
    name, addend = (f"mma.sync {variant.name}.f16", "f16") if widens else (f"mma.sync {variant.name}", "")
    return Words(name, elements, variant.c.dtype, (m, n, k), text, count, products, seed, addend)


def cases(words: int, seed: int) -> Iterator[Words]:
    """Every instruction, for `words` words of each of `NUMBERS`."""
    forms = [(kind, result) for kind in KINDS.values() for result in kind.results if result in ("f16", "f32")]
    for number, (kind, result) in enumerate(forms):
        count = _blocks(words, 64 * N)
        types, shapes = (kind.a, kind.b, result), ((64, kind.k), (N, kind.k), (64, N))
        text = _text(types, shapes, ("shared", "shared", "register"), 128, count, 1)
        name = f"wgmma {result}.{kind.a}.{kind.b}"
        yield Words(name, (kind.a, kind.b), result, (64, N, kind.k), text, count, 1, seed + number)
    for number, variant in enumerate(VARIANTS.values()):
        if variant.codes is not None:
            continue
        if variant.c.dtype in ("f16", "f32", "f64") and TARGET in supporting_targets(variant.feature):
            yield _of_mma(variant, words, seed + 100 + number)
        if variant.name in WIDENING:
            yield _of_mma(variant, words, seed + 200 + number, widens=True)


def differing(found: Array, expected: Array) -> dict[str, int]:
    """Counts the words that differ, for each of `NUMBERS`."""
    unsigned = f"u{found.itemsize}"
    unequal = (found.view(unsigned) != expected.view(unsigned)).reshape(len(NUMBERS), -1)
    return dict(zip(NUMBERS, unequal.sum(axis=1).tolist(), strict=True))


def examples(case: Words, found: Array, expected: Array) -> Iterator[str]:
    """The first differences of each of `NUMBERS`, with all that goes into them."""
    unsigned = f"u{found.itemsize}"
    a, b, c = case.operands()
    places = np.argwhere(found.view(unsigned) != expected.view(unsigned))
    per_numbers = len(found) // len(NUMBERS)
    for numbers, kind in product(range(len(NUMBERS)), range(2)):
        own = places[places[:, 0] // per_numbers == numbers]
        if kind >= len(own):
            continue
        item, row, column = own[kind].tolist()
        parts = a[item, row], b[item, column], c[item, row, column : column + 1]
        shown = [each.view(f"u{each.itemsize}").tolist() for each in parts]
        words = (f"{int(each.view(unsigned)[item, row, column]):#x}" for each in (found, expected))
        gpu, simulated = words
        yield f"  {NUMBERS[numbers]}: GPU {gpu}, simulator {simulated}, A {shown[0]}, B {shown[1]}, C {shown[2]}"


def _simulated(case: Words) -> tuple[Array, float]:
    return case.simulated()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares all words, prints a line for each instruction, and returns for how many instructions some differ."""
    parser = argparse.ArgumentParser(description="words of D of tensor cores: a GPU against the simulator")
    parser.add_argument("--words", type=int, default=100_000, help="for each instruction and kind of numbers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that simulate")
    parser.add_argument("--simulate", action="store_true", help="compare two runs of the simulator: needs no GPU")
    parser.add_argument("--only", default="", metavar="TEXT", help="instructions whose names contain this")
    parser.add_argument("--json", type=Path, help="writes how many words of each instruction differ")
    flags = parser.parse_args(arguments)
    parts = -(-flags.words // PART)
    seeds = range(flags.seed, flags.seed + 1000 * parts, 1000)
    per_part = [list(cases(-(-flags.words // parts), seed)) for seed in seeds]
    chosen = [own for own in zip(*per_part, strict=True) if flags.only in own[0].name]
    report: dict[str, Any] = {}
    with ProcessPoolExecutor(flags.jobs, get_context("spawn")) as pool:
        simulations = [[pool.submit(_simulated, part) for part in own] for own in chosen]
        recorded = [[part.simulated()[0] if flags.simulate else part.recorded() for part in own] for own in chosen]
        for own, simulated, found in zip(chosen, simulations, recorded, strict=True):
            name, wrong, spent = own[0].name, dict.fromkeys(NUMBERS, 0), 0.0
            for case, simulation, words in zip(own, simulated, found, strict=True):
                expected, seconds = simulation.result()
                spent += seconds
                for numbers, count in differing(words, expected).items():
                    wrong[numbers] += count
                for line in examples(case, words, expected):
                    print(line, flush=True)
            size = sum(each.size for each in found)
            report[name] = {"words": size, "differ": wrong}
            print(f"{name}: {sum(wrong.values())} of {size} words differ ({spent:.1f} s)", flush=True)
            if flags.json is not None:
                flags.json.write_text(json.dumps(report, indent=1))
    failed = sum(any(each["differ"].values()) for each in report.values())
    total = sum(each["words"] for each in report.values())
    print(f"{len(report)} instructions, {total} words: {failed} instructions have words that differ")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
