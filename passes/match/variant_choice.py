"""The choice of tiles for sizes that only a launch knows: some variants, each with a formula of its time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import exp, inf, log
from random import Random
from typing import TYPE_CHECKING, Any, cast

from tirx.dialects.formula import Formula
from tirx.hw.targets import Target
from tirx.layout.arrays import np
from tirx.passes.ir.launch_values import ceildiv, product_of, sum_of
from tirx.passes.match.tile_choice import PLAIN, Operands, Schedules, TileChoice, choose_tiles, rated_tile
from tirx.predict import gpu_of
from tirx.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_VARIANTS = 32
"""Kernels of one function at most, each of which takes a second to compile."""

_LOSS = 1.03
"""Time that a size may take with the variants, beside the best tile of all."""

_NONE = 4.0
"""Times of the best tile that a size counts with before it has a variant."""

_LARGEST = 8192

_ENDS = (
    *(*range(8, 128, 8), *range(128, 256, 16), *range(256, 1024, 64), *range(1024, 2048, 128)),
    *(*range(2048, 4096, 256), *range(4096, _LARGEST + 1, 512)),
)
"""Sizes that tiles of many kinds end with."""

_CHOSEN, _RATED = 100, 200
"""Combinations of these whose best tiles may become variants, and other sizes for which these are rated, too."""

_UNIT = 1e-15
"""Seconds that a formula counts: times of terms are rounded to a whole number of them."""

_Size = tuple[int, int, int]
_Key = tuple[object, ...]

Sizes = tuple[Formula, Formula, Formula]
"""M, N and K of a product as a launch finds them."""


def choose_variants(
    operands: Operands, sizes: Sizes, target: Target, schedules: Schedules = PLAIN, most: int = MOST_VARIANTS
) -> Sequence[tuple[TileChoice, Formula]]:
    """The fewest tiles with which sizes take little more time than with the best one of each, at most `most`.

    Each has the time that the model predicts, as a formula of `sizes` in femtoseconds: a launch takes the variant with
    the least one. The formulas are fitted to predictions for sizes up to 8192, those of fast variants most exactly.
    Empty where `choose_tiles` has none.
    """
    drawn = [*(ends := _drawn(operands, ends=True)), *_drawn(operands, ends=False)]
    given = [replace(operands, size=size, is_open=None in operands.size[:2]) for size in drawn]
    exchanged = [each.exchange() for each in given]
    pool: dict[_Key, TileChoice] = {}
    for each in given[: len(ends)]:
        found = choose_tiles(each, target, schedules)
        pool |= {each.kind: each for each in found if each.score < _LOSS * found[0].score}
    if not pool:
        return ()
    tiles = list(pool.values())
    sides = ((tile, given if tile.exchanged == operands.exchanged else exchanged) for tile in tiles)
    seconds = np.array([[_seconds(tile, each, target, schedules.asked) for each in side] for tile, side in sides])
    relative = seconds / seconds.min(axis=0)
    return [
        (tiles[i], _fitted(tiles[i], operands, sizes, drawn, seconds[i], 1 / (seconds[i] * relative[i] ** 2), target))
        for i in _cover(relative, most)
    ]


def _drawn(operands: Operands, ends: bool) -> Sequence[_Size]:
    """Sizes where those that are not known are ends of tiles, or any ones, M and N evenly by their logarithm."""
    random, is_alone = Random(0), operands.size.count(None) == 1

    def drawn(known: int | None, d: int, i: int) -> int:
        if known is not None:
            return known
        if ends:
            return _ENDS[i] if is_alone else random.choice(_ENDS)
        n = max(1, round(exp(random.random() * log(_LARGEST))))
        return n if d == 0 else -(-n // 8) * 8

    m, n, k = operands.size
    count = len(_ENDS) if ends and is_alone else _CHOSEN if ends else _RATED
    return [(drawn(m, 0, i), drawn(n, 1, i), drawn(k, 2, i)) for i in range(count)]


def _seconds(tile: TileChoice, operands: Operands, target: Target, asked: int | None) -> float:
    """The predicted time of a tile for operands of known sizes."""
    shape = tile.rows, tile.columns, tile.depth
    again = rated_tile(
        *(operands, target, shape, tile.threads, asked, tile.shares, tile.parts, tile.most, tile.is_ordered),
        streamed=tile.streamed,
    )
    return inf if again is None else again.score


def _cover(times: NDArray[Any], most: int) -> Sequence[int]:
    """The rows that gain most first, until the least of each column is no more than it may be beside 1."""
    now, chosen = np.full(times.shape[1], _NONE), list[int]()
    while len(chosen) < most and (now > _LOSS).any():
        chosen.append(int(np.maximum(np.minimum(now, times), _LOSS).sum(axis=1).argmin()))
        now = np.minimum(now, times[chosen[-1]])
    return chosen


def _fitted(
    tile: TileChoice,
    operands: Operands,
    sizes: Sizes,
    drawn: Sequence[_Size],
    seconds: NDArray[Any],
    weights: NDArray[Any],
    target: Target,
) -> Formula:
    """The time of a tile as a sum of terms, each a number times a formula of sizes."""
    known = [each is not None for each in operands.size]
    rows = np.array([_terms(tile, operands, size, known, target) for size in drawn], float)
    scale = rows.max(axis=0)
    solution = cast("Any", np.linalg.lstsq(rows / scale * weights[:, None], seconds * weights, rcond=1e-6)[0])
    found = cast("list[float]", (solution / scale).tolist())
    terms = _terms(tile, operands, sizes, known, target)
    numbers = (round(each / _UNIT) for each in found)
    return reduce(sum_of, (product_of(n, term) for n, term in zip(numbers, terms, strict=True) if n), 0)


def _terms(
    tile: TileChoice, operands: Operands, sizes: Sizes, known: Sequence[bool], target: Target
) -> Sequence[Formula]:
    """The terms of a time: one, rounds and tiles, each of them a step, too, and elements of A, B and D.

    Terms that are the same for all launches, or times of others, are left out.
    """
    (m, n, k), (has_m, has_n, has_k) = sizes, known
    down, across = (n, m) if tile.exchanged != operands.exchanged else (m, n)
    pairs = 2 if tile.shares == "b" else 1, 2 if tile.shares == "a" else 1
    in_rows, in_columns = (
        product_of(ceildiv(size, extent * by), by)
        for size, extent, by in zip((down, across), (tile.rows, tile.columns), pairs, strict=True)
    )
    tiles = product_of(product_of(in_rows, in_columns), operands.batch * tile.parts)
    gpu = gpu_of(target)
    work = replace(tile.work, size=(_LARGEST, _LARGEST, 1), blocks=tile.work.blocks and gpu.multiprocessors)
    rounds = ceildiv(tiles, int(work.counts(gpu).at))
    steps = ceildiv(k, tile.parts * tile.depth)
    of_grid = () if has_m and has_n else (rounds, tiles)
    of_steps = () if has_k else (steps, *(product_of(steps, each) for each in of_grid))
    read = product_of(sum_of(m, n), k)
    return 1, *of_grid, *of_steps, read, *(() if has_m or has_n else (product_of(m, n),))
