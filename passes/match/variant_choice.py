"""The choice of tiles for sizes that only a launch knows: some variants, each with a formula of its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from math import exp, inf, log
from random import Random
from typing import TYPE_CHECKING, Any, Literal, cast

from tirx.dialects.formula import OPERATORS, Call, Formula
from tirx.hw.targets import Target
from tirx.layout.arrays import np
from tirx.passes.ir.launch_values import ceildiv, product_of, sum_of
from tirx.passes.match.slots import MOST_SLOTS
from tirx.passes.match.tile_choice import (
    FAMILIES,
    GROUP,
    LOOP_GAIN,
    PLAIN,
    Operands,
    Ring,
    Schedules,
    TileChoice,
    rated_tile,
    ring_of,
    rings_of,
    shapes_of,
)
from tirx.predict import gpu_of
from tirx.predict.model import seconds_of
from tirx.predict.work import SECTOR
from tirx.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_VARIANTS = 48
"""Kernels of one function at most, each of which takes a second to compile."""

_LOSS = 1.03
"""Time that a size may take with the variants, beside the best tile of all."""

_NONE = 4.0
"""Times of the best tile that a size counts with before it has a variant."""

_LARGEST = 8192

_ENDS = (*range(8, 1024, 8), *range(1024, _LARGEST + 1, 32), *range(1032, _LARGEST + 1, 64))
"""Sizes that tiles of many kinds end with, or just behind them."""

_ANY, _OF_SEVERAL = 340, 1000
"""Other sizes beside these; sizes where more than one extent is open."""

_OFTEN, _RARE = 128, 10
"""The least N and K of most of the latter, as of models, and one of how many may have fewer."""

_TURNS = 6
"""Fits of the formulas, each with the mistakes of the one before."""

_UNIT = 1e-15
"""Seconds that a formula counts: times of terms are rounded to a whole number of them."""

_Size = tuple[int, int, int]
_Key = tuple[object, ...]
_Sizes = tuple[Any, ...]
"""M, N and K: numbers, or arrays where only a launch knows them."""

_Shared = Literal["a", "b"] | None
_Plan = tuple[_Shared, int, int, bool]
"""The operand that pairs load together, parts of K, slots at most, and whether the iterations are shared out."""

_LARGER: dict[_Shared, Callable[[tuple[int, int, int]], bool]] = {
    "a": lambda tile: tile[0] >= tile[1],
    "b": lambda tile: tile[0] <= tile[1],
}
"""The larger operand of a tile, which pairs may load together: what they saved of the other was less than it cost."""

Sizes = tuple[Formula, Formula, Formula]
"""M, N and K of a product as a launch finds them."""


@lru_cache(maxsize=64)
def choose_variants(
    operands: Operands, sizes: Sizes, target: Target, schedules: Schedules = PLAIN, most: int = MOST_VARIANTS
) -> Sequence[tuple[TileChoice, Formula]]:
    """The fewest tiles with which sizes take little more time than with the best one of each, at most `most`.

    Each has the time that the model predicts, as a formula of `sizes` in femtoseconds: a launch takes the variant with
    the least one. The formulas are fitted to predictions for sizes up to 8192, those of fast variants most exactly.
    Empty where no instructions multiply these types.
    """
    drawn = _drawn(operands)
    every = tuple(np.array([size[d] for size in drawn]) if n is None else n for d, n in enumerate(operands.size))
    tiles = candidates(operands, target, schedules)
    if not tiles:
        return ()
    seconds = np.array([np.broadcast_to(each.seconds(operands, every), len(drawn)) for each in tiles])
    relative = seconds / seconds.min(axis=0)
    chosen = _cover(relative, most)
    variants = [tiles[i].at(operands, drawn[int(relative[i].argmin())], target) for i in chosen]
    opened = tuple(Call("size", (0, d)) if n is None else n for d, n in enumerate(operands.size))
    values = [
        np.array([np.broadcast_to(_value(each, every), len(drawn)) for each in _terms(tile, operands, opened, target)])
        for tile in variants
    ]
    costs = _fitted(values, seconds[chosen], relative[chosen])
    terms = [_terms(tile, operands, sizes, target) for tile in variants]
    return tuple(
        (tile, reduce(sum_of, (product_of(n, term) for n, term in zip(numbers, each, strict=True) if n), 0))
        for tile, numbers, each in zip(variants, costs, terms, strict=True)
    )


@dataclass(frozen=True)
class Candidate:
    """A tile with a schedule. `rating` are those that `rated_tile` takes, behind the target."""

    ring: Ring
    exchanged: bool
    is_ordered: bool
    rating: tuple[Any, ...]

    def seconds(self, operands: Operands, size: _Sizes) -> Any:
        """Predicted times of sizes."""
        m, n, k = size
        work = self.ring.of((n, m, k) if self.exchanged else size, None in operands.size[:2])
        work = replace(work, group=GROUP) if self.is_ordered else work
        times, _ = seconds_of(work.counts(self.ring.gpu), self.ring.gpu)
        is_worth = work.shares is not None or self.is_ordered
        return times / (LOOP_GAIN if is_worth else 1)

    def at(self, operands: Operands, size: _Size, target: Target) -> TileChoice:
        """The choice for a size."""
        given = replace(operands, size=size, is_open=None in operands.size[:2])
        found = rated_tile(given.exchange() if self.exchanged else given, target, *self.rating)
        assert found is not None
        return found


def candidates(operands: Operands, target: Target, schedules: Schedules = PLAIN) -> Sequence[Candidate]:
    """Legal tiles with each of the schedules, for any sizes, of the first family of instructions that has some."""
    found = (_candidates_of(family, operands, target, schedules) for family in FAMILIES)
    return next((each for each in found if each), ())


def _candidates_of(family: str, operands: Operands, target: Target, schedules: Schedules) -> list[Candidate]:
    """The legal tiles of a family with each of the schedules, for any sizes."""
    is_open, asked = None in operands.size[:2], schedules.asked
    found: dict[_Key, Candidate] = {}
    for side, tile, threads in shapes_of(family, operands, target, schedules, every_width=True):
        rings = list(rings_of(target, tile, schedules))
        plans: list[_Plan] = [(None, parts, slots, False) for parts, slots in rings]
        plans += [(None, 1, MOST_SLOTS, True)] * schedules.streams
        for shares, is_larger in _LARGER.items():
            if schedules.ordered and family == "wgmma" and side is operands and is_larger(tile):
                plans.extend((shares, 1, slots, False) for parts, slots in rings if parts == 1)
        for shares, parts, slots, streamed in plans:
            ring = ring_of(side, target, tile, threads, asked, shares, parts, slots, streamed)
            if ring is None or ring.work.family != family:
                continue
            orders = (False, True) if schedules.ordered and ring.may_order and not is_open else (False,)
            differ = ring.work.slots if parts > 1 or not is_open else 0  # as many as fit: blocks are alone there
            for ordered in orders:
                rating = tile, threads, asked, shares, parts, slots, ordered, streamed
                key = side is operands, tile, threads, shares, parts, ordered, streamed, differ
                found[key] = Candidate(ring, side is not operands, ordered, rating)
    return list(found.values())


def _drawn(operands: Operands) -> Sequence[_Size]:
    """Sizes where a single extent that is not known ends tiles, or is any; several are any ones.

    Any are drawn evenly by their logarithm, N and K in multiples of 8.
    """
    random, is_alone = Random(0), operands.size.count(None) == 1

    def drawn(known: int | None, d: int, i: int) -> int:
        if known is not None:
            return known
        if is_alone and i < len(_ENDS):
            return _ENDS[i]
        least = 1 if is_alone or d == 0 or i % _RARE == 0 else _OFTEN
        n = round(exp(random.uniform(log(least), log(_LARGEST))))
        return -(-n // 8) * 8 if d else n

    m, n, k = operands.size
    return [
        (drawn(m, 0, i), drawn(n, 1, i), drawn(k, 2, i)) for i in range(len(_ENDS) + _ANY if is_alone else _OF_SEVERAL)
    ]


def _cover(times: NDArray[Any], most: int) -> Sequence[int]:
    """The rows that gain most first, until the least of each column is no more than it may be beside 1.

    Rows without which it still is are left out again.
    """
    now, chosen = np.full(times.shape[1], _NONE), list[int]()
    while len(chosen) < most and (now > _LOSS).any():
        chosen.append(int(np.maximum(np.minimum(now, times), _LOSS).sum(axis=1).argmin()))
        now = np.minimum(now, times[chosen[-1]])
    for row in list(chosen):
        others = [each for each in chosen if each != row]
        if others and (times[others].min(axis=0) <= _LOSS).all():
            chosen = others
    return chosen


def _value(formula: Formula, size: _Sizes) -> Any:
    """The values of a formula of the extents of `size` as if these were the first argument."""
    match formula:
        case Call("size", (_, int(d))):
            return size[d]
        case Call("min", (a, b)):
            return np.minimum(_value(a, size), _value(b, size))
        case Call(function, (a, b)):
            return OPERATORS[function](_value(a, size), _value(b, size))
        case _:
            return formula


def _fitted(terms: Sequence[NDArray[Any]], seconds: NDArray[Any], relative: NDArray[Any]) -> list[list[int]]:
    """The numbers whose sum with the terms of a variant is its time in femtoseconds.

    The least sum has to be that of a fast variant. So fast variants weigh more, and so do, from turn to turn, sizes
    of which a slow one has the least sum.
    """
    weights, every = 1 / (seconds * relative**2), range(seconds.shape[1])
    numbers: list[list[int]] = [[] for _ in terms]
    best, sums, kept = inf, np.zeros(seconds.shape), numbers
    changed = set(range(len(terms)))
    for _ in range(_TURNS):
        for i in changed:
            scale = np.maximum(terms[i].max(axis=1), 1)
            columns, times = terms[i].T / scale * weights[i, :, None], seconds[i] * weights[i]
            solution = cast("NDArray[Any]", np.linalg.lstsq(columns, times, rcond=1e-6)[0])
            numbers[i] = np.rint(solution / (scale * _UNIT)).astype(int).tolist()
            sums[i] = np.array(numbers[i], float) @ terms[i]
        taken, fastest = sums.argmin(axis=0), seconds.argmin(axis=0)
        loss = seconds[taken, every] / seconds[fastest, every]
        mean = float(np.maximum(loss, _LOSS).mean())
        if mean < best:
            best, kept = mean, list(numbers)
        slow = np.flatnonzero(loss > _LOSS)
        for rows in (taken, fastest):
            weights[rows[slow], slow] *= np.minimum(loss[slow], 2) ** 2
        changed = {*taken[slow].tolist(), *fastest[slow].tolist()}
    return kept


def _terms(tile: TileChoice, operands: Operands, sizes: Sequence[Formula], target: Target) -> Sequence[Formula]:
    """The terms of a time: one, rounds and tiles, each of them a step, too, and elements of A, B and D.

    Where M and N are open, rows and columns of tiles that are outside of D count, too, and K that is no multiple of
    sectors where it is. Terms that are the same for all launches, or times of others, are left out.
    """
    (m, n, k), (has_m, has_n, has_k) = sizes, (each is not None for each in operands.size)
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
    terms = [1, product_of(sum_of(m, n), k)]
    if not (has_m and has_n):
        terms += [rounds, tiles]
    if not has_k:
        sector = SECTOR // tile.work.element
        rest = Call("min", (sum_of(product_of(ceildiv(k, sector), sector), product_of(k, -1)), 1))
        by_rest = (product_of(steps, product_of(rest, each)) for each in (rounds, tiles))
        terms += [steps, *(product_of(steps, each) for each in terms[2:]), *by_rest]
    if not (has_m or has_n):
        inside = product_of(in_columns, down), product_of(in_rows, across)
        used = (product_of(rounds, Call("min", pair)) for pair in ((down, tile.rows), (across, tile.columns)))
        terms += [product_of(m, n), *(product_of(steps, each) for each in (*inside, *used))]
    return terms
