"""
Losses of kernels of open sizes: `python benchmarks/open_sizes.py` chooses variants of f16 products and launches others.

For each combination of sizes that only a launch knows: the number of kernels, the seconds that choosing them takes, and
how much longer than with the best of all candidates, and than with the best of the kernels, launches of other sizes
take, by the timing model: in the mean, at most, and in how many of them more than 3 %. M is drawn evenly by its
logarithm from 1 to 8192, N and K from `--least` on, multiples of `--multiple`. `--kernels 8,48` bounds the kernels;
with `--seeds 1,2,3` as many `--sizes` are drawn of each. No GPU is needed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from math import exp, log
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16, f32

from tirx.dialects.formula import Call, LaunchSizes
from tirx.dialects.formula_code import LeastCost
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import Operands
from tirx.passes.match.variant_choice import candidates, choose_variants, times_of
from tirx.passes.products.tirx_tile_linalg import SCHEDULES
from tirx.predict import gpu_of

OPEN = ((None, 6144, 4096), (None, 2112, 7168), (4096, None, 4096), (None, None, 4096), (None, None, None))
"""M, N and K, None where only a launch knows."""


def sizes_of(size: Sequence[int | None], count: int, least: int, multiple: int, seed: int) -> list[tuple[int, ...]]:
    """Sizes that a launch may have; N and K are multiples of a number."""
    random = Random(seed)

    def drawn(d: int) -> int:
        n = round(exp(random.uniform(log(least if d else 1), log(8192))))
        return -(-n // multiple) * multiple if d else n

    return [tuple(drawn(d) if n is None else n for d, n in enumerate(size)) for _ in range(count)]


def losses_of(
    size: tuple[int | None, int | None, int | None], most: int, sizes: Sequence[tuple[int, ...]]
) -> tuple[int, float, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The number of kernels, the seconds of choosing them, and relative losses of sizes: beside the best candidate,
    and beside the best kernel.
    """
    operands, target = Operands(size, f16, f16, f32, f16), Target.parse("sm_90a")
    formulas = tuple(Call("size", (0, d)) if n is None else n for d, n in enumerate(size))
    start = time.process_time()
    variants = choose_variants(operands, formulas, target, SCHEDULES, most)  # pyright: ignore[reportArgumentType]
    seconds = time.process_time() - start
    every = tuple(np.array(each) if n is None else n for each, n in zip(zip(*sizes, strict=True), size, strict=True))
    found = candidates(operands, target, SCHEDULES)
    times = times_of(found, operands, every)
    kinds = {each.at(operands, sizes[0], target).kind: i for i, each in enumerate(found)}  # pyright: ignore
    rows = [kinds[each.tile.kind] for each in variants]
    least = LeastCost([each.cost for each in variants], [each.conditions for each in variants])
    places = [least.place(LaunchSizes([each], [], gpu_of(target).multiprocessors)) for each in sizes]
    chosen = times[[rows[place] for place in places if place is not None], np.arange(len(sizes))]
    kernels = times[sorted({*rows})]
    return len(kernels), seconds, chosen / times.min(axis=0) - 1, chosen / kernels.min(axis=0) - 1


def main() -> None:
    """Prints a line for each combination and number of kernels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="8,16,48")
    parser.add_argument("--sizes", type=int, default=500)
    parser.add_argument("--seeds", default="7")
    parser.add_argument("--least", type=int, default=128)
    parser.add_argument("--multiple", type=int, default=8)
    options = parser.parse_args()
    seeds = [int(each) for each in options.seeds.split(",")]
    columns = "in the mean | at most | more than 3 %"
    print(f"| M, N, K | kernels | seconds | {columns} | of the kernels: {columns} |\n" + "|---" * 9 + "|")
    for size in OPEN:
        each = (sizes_of(size, options.sizes, options.least, options.multiple, seed) for seed in seeds)
        sizes = [one for drawn in each for one in drawn]
        for most in map(int, options.kernels.split(",")):
            count, seconds, *losses = losses_of(size, most, sizes)
            name = ", ".join("?" if n is None else str(n) for n in size)
            shares = " | ".join(f"{each.mean():.1%} | {each.max():.0%} | {(each > 0.03).mean():.2%}" for each in losses)
            print(f"| {name} | {count} | {seconds:.2f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
