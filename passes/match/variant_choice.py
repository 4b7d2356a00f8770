"""The choice of tiles for sizes that only a launch knows: some variants, each with a formula of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, reduce
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any, Literal, cast

from tirx.dialects.formula import OPERATORS, Call, Formula, Requirement
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
    VariantChoice,
    rated_tile,
    ring_of,
    rings_of,
    shapes_of,
)
from tirx.passes.match.variant_cost import cost_of
from tirx.predict import gpu_of
from tirx.predict.model import seconds_of
from tirx.predict.work import SECTOR, Work
from tirx.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_VARIANTS = 64
"""Kernels of one function at most, each of which takes a second to compile."""

_LOSS = 1.03
"""Time that a size may take with the variants, beside the best tile of all."""

_NONE = 4.0
"""Times of the best tile that a size counts with before it has a variant."""

_LARGEST = 8192

_STEP = 8
"""Tiles end at multiples of it, and N and K mostly are some."""

_EVERY = 512
"""The largest M below which all are rated, where N and K are known."""

_ENDS = (
    (*range(1, _EVERY), *range(_EVERY, 1024, _STEP), *range(1024, _LARGEST + 1, 32)),
    *[range(_STEP, _LARGEST + 1, _STEP)] * 2,
)
"""M, N and K between which times of fast tiles do not jump."""

_SPARE = 4
"""One more of so many kernels may be needed until others are needless."""

_OF_SEVERAL, _FOR_EACH = 200, 50
"""Sizes where more than one extent is open, and as many more for each kernel."""

_APART = {2: 1.324717957244746, 3: 1.2207440846057596}
"""Open extents, and the root of x^(n+1) = x + 1: multiples of its inverse powers are places evenly apart."""

_FIRST = -(1 << 62)
"""The cost of a variant for sizes for which other costs are wrong."""

_OFTEN, _RARE = 128, 10
"""The least N and K of most of the latter, as of models, of which every other one has multiples of it; and one of how
many may have fewer.
"""

_AT_ONCE = 1 << 13
"""Times that are computed at once, in arrays that stay in the cache."""

_DIFFERENT = "rows", "columns", "slots", "at_once"
"""Fields of the work in which tiles differ that are rated at once."""

_UNIT = 1e-15
"""Seconds that a formula counts."""

_EXTENT = Call("size", (0, 0))
"""An extent that stands for any."""

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


@dataclass(frozen=True)
class OpenProduct:
    """A product whose sizes, formulas of a launch, are not all known; at most `most` kernels do it."""

    operands: Operands
    sizes: Sizes
    target: Target
    schedules: Schedules
    most: int

    @property
    def variants(self) -> Sequence[VariantChoice]:
        """Tiles that are compiled together, in the order of a launch descriptor."""
        return choose_variants(self.operands, self.sizes, self.target, self.schedules, self.most)

    def best(self, given: Sequence[int]) -> Sequence[VariantChoice]:
        """The tile for a size, of which `given` says what is not known; empty where none may multiply these types."""
        size, found = self._size(given), candidates(self.operands, self.target, self.schedules)
        if not found:
            return ()
        place = int(times_of(found, self.operands, size)[:, 0].argmin())
        return [VariantChoice(found[place].at(self.operands, size, self.target))]

    def faster(self, place: int, given: Sequence[int]) -> int | None:
        """The number of the best candidate for a size of which `variants[place]` takes more than 3 % longer."""
        found, kind = candidates(self.operands, self.target, self.schedules), self.variants[place].tile.kind
        times = times_of(found, self.operands, self._size(given))[:, 0]
        best, taken = int(times.argmin()), next(i for i, each in enumerate(found) if each.kind == kind)
        return best if times[taken] > _LOSS * times[best] else None

    def _size(self, given: Sequence[int]) -> _Size:
        m, n, k = (known or other for known, other in zip(self.operands.size, given, strict=True))
        return m, n, k


@lru_cache(maxsize=64)
def choose_variants(
    operands: Operands, sizes: Sizes, target: Target, schedules: Schedules = PLAIN, most: int = MOST_VARIANTS
) -> Sequence[VariantChoice]:
    """The fewest tiles with which sizes take little more time than with the best one of each, at most `most`.

    Costs are formulas of `sizes` (see `cost_of`). Where one extent is open, they are a few terms that are fitted to
    predictions; where these are too wrong for some of its sizes up to 8192, a tile occurs once more for just these.
    Empty where no instructions multiply these types.
    """
    drawn = _drawn(operands, most)
    every = tuple(np.array([size[d] for size in drawn]) if n is None else n for d, n in enumerate(operands.size))
    tiles = candidates(operands, target, schedules)
    if not tiles:
        return ()
    seconds = times_of(tiles, operands, every)
    relative = seconds / seconds.min(axis=0)
    chosen = _cover(relative, _weights(operands, drawn), most)
    variants = [tiles[i].at(operands, drawn[int(relative[i].argmin())], target) for i in chosen]
    if operands.size.count(None) > 1:
        gpu = gpu_of(target)
        return tuple(VariantChoice(tile, cost_of(tile, operands, sizes, gpu)) for tile in variants)
    return tuple(_of_one_extent(variants, operands, sizes, target, drawn, seconds[chosen], relative[chosen]))


def _of_one_extent(
    tiles: Sequence[TileChoice],
    operands: Operands,
    sizes: Sizes,
    target: Target,
    drawn: Sequence[_Size],
    seconds: NDArray[Any],
    relative: NDArray[Any],
) -> Iterator[VariantChoice]:
    """Tiles with costs for one open extent, and once more those which have the least time where others cost less.

    `seconds`, and `relative` to those of the best candidate, have a column for each of the sizes that are `drawn`.
    """
    d = operands.size.index(None)
    extents, costs = np.array([each[d] for each in drawn]), list[Any]()
    for tile, times, beside in zip(tiles, seconds, relative, strict=True):
        terms, weights = _terms(tile, operands, target, sizes[d]), 1 / (times * beside**2)  # fast sizes most exactly
        values = np.array([_value(each, extents) + 0 * extents for each in _terms(tile, operands, target, _EXTENT)])
        scale = np.maximum(values.max(axis=1), 1)
        columns, wanted = (values.T / scale) * weights[:, None], times * weights
        solution = cast("NDArray[Any]", np.linalg.lstsq(columns, wanted, rcond=1e-6)[0])
        numbers = np.rint(solution / (scale * _UNIT)).astype(int).tolist()
        costs.append(np.array(numbers, float) @ values)
        yield VariantChoice(tile, reduce(sum_of, map(product_of, numbers, terms)))
    taken, places = np.array(costs).argmin(axis=0), np.searchsorted(_ENDS[d], extents)
    for place, first, last in _exceptions(relative, taken, places):
        least = _ENDS[d][first - 1] + 1 if first else 1
        within = Requirement(sizes[d], "at_least", least, ""), Requirement(sizes[d], "at_most", _ENDS[d][last], "")
        yield VariantChoice(tiles[place], _FIRST, within)


@dataclass(frozen=True)
class Candidate:
    """A tile with a schedule. `rating` are those that `rated_tile` takes, behind the target."""

    ring: Ring
    exchanged: bool
    is_ordered: bool
    rating: tuple[Any, ...]

    @property
    def kind(self) -> tuple[object, ...]:
        """All that says which tile it is, as `TileChoice.kind` does."""
        tile, threads, _, shares, parts, most, is_ordered, streamed = self.rating
        return *tile, threads, most, parts, is_ordered, shares, self.exchanged, streamed

    def work(self, operands: Operands, size: _Sizes) -> Work:
        """The work of sizes, which may be arrays."""
        m, n, k = size
        work = self.ring.of((n, m, k) if self.exchanged else size, None in operands.size[:2])
        return replace(work, group=GROUP) if self.is_ordered else work

    def at(self, operands: Operands, size: _Size, target: Target) -> TileChoice:
        """The choice for a size."""
        given = replace(operands, size=size, is_open=None in operands.size[:2])
        found = rated_tile(given.exchange() if self.exchanged else given, target, *self.rating)
        assert found is not None
        return found


def times_of(tiles: Sequence[Candidate], operands: Operands, size: _Sizes) -> NDArray[Any]:
    """Seconds by the timing model: a row for each of `tiles`, and a column for each size.

    Tiles that differ in their extents and slots only are rated at once.
    """
    works = [each.work(operands, size) for each in tiles]
    alike: dict[_Key, list[int]] = {}
    for i, (each, work) in enumerate(zip(tiles, works, strict=True)):
        others = work.family, work.shares, work.parts, work.cluster_shares, work.streamed, work.blocks, work.group
        alike.setdefault((each.exchanged, each.is_ordered, work.bulk_stores, work.slots == 1, *others), []).append(i)
    count = max(np.size(n) for n in size)
    found, at_once = np.empty((len(tiles), count)), max(1, _AT_ONCE // count)
    for every in alike.values():
        for rows in (every[i : i + at_once] for i in range(0, len(every), at_once)):
            first, gpu = works[rows[0]], tiles[rows[0]].ring.gpu
            columns = {name: np.array([[getattr(works[i], name)] for i in rows]) for name in _DIFFERENT}
            is_worth = first.shares is not None or tiles[rows[0]].is_ordered
            found[rows] = seconds_of(replace(first, **columns).counts(gpu), gpu)[0] / (LOOP_GAIN if is_worth else 1)
    return found


@lru_cache(maxsize=64)
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


def _drawn(operands: Operands, most: int) -> Sequence[_Size]:
    """All sizes between which times do not jump, ascending, where a single extent is open; of several any.

    Any are dealt out evenly by their logarithm (Roberts' sequence), N and K in multiples of 8, half of them of 128.
    """
    m, n, k = operands.size
    if operands.size.count(None) == 1:
        if m is None:
            rows = sorted({*_ENDS[0], *(end + 1 for end in _ENDS[0][:-1])})
            return [(each, n or 1, k or 1) for each in rows]
        return [(m, n or end, k or end) for end in _ENDS[1]]
    unknown = [d for d, known in enumerate(operands.size) if known is None]

    def drawn(i: int) -> _Size:
        size = [known or 1 for known in operands.size]
        for power, d in enumerate(unknown, 1):
            least = 1 if d == 0 or i % _RARE == 0 else _OFTEN
            share = (i + 1) / _APART[len(unknown)] ** power % 1
            unit = 1 if d == 0 else _OFTEN if i % 2 else _STEP
            size[d] = -(-round(least * (_LARGEST / least) ** share) // unit) * unit
        m, n, k = size
        return m, n, k

    return [drawn(i) for i in range(_OF_SEVERAL + _FOR_EACH * most)]


def _weights(operands: Operands, drawn: Sequence[_Size]) -> NDArray[Any]:
    """Weights of sizes, as if launches had any logarithm of them, and N and K of 128 or more."""
    if operands.size.count(None) > 1:
        return np.ones(len(drawn))
    d = operands.size.index(None)
    extents = np.array([size[d] for size in drawn])
    return np.gradient(extents) / np.maximum(extents, _OFTEN if d else 1)


def _cover(times: NDArray[Any], weights: NDArray[Any], most: int) -> Sequence[int]:
    """The rows that gain most first, until the least of each column is no more than it may be beside 1.

    The fourth powers of times count, as large losses do. Rows without which no time is too much are left out again.
    """
    powers, allowed = (times * times) ** 2, _LOSS**4
    np.maximum(powers, allowed, out=powers)
    now, chosen = np.full(times.shape[1], _NONE**4), list[int]()
    gains = [(-float(gain), row) for row, gain in enumerate((now - np.minimum(now, powers)) @ weights)]
    heapify(gains)
    while len(chosen) < most + most // _SPARE and (now > allowed).any():
        _, row = gains[0]
        gain = float((now - np.minimum(now, powers[row])) @ weights)
        heapreplace(gains, (-gain, row))
        if gains[0][1] == row:  # the gains of others were more before, and get less; now its own is 0
            chosen.append(row)
            np.minimum(now, powers[row], out=now)
    for row in list(chosen):
        others = [each for each in chosen if each != row]
        if others and (times[others].min(axis=0) <= _LOSS).all():
            chosen = others
    return chosen[:most]


def _exceptions(relative: NDArray[Any], taken: NDArray[Any], places: NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """Variants, and the first and last place where they are taken instead of those that have the least cost.

    These take too much more time there than the best candidate, or than the best variant where all of them do.
    `relative` has a column for each size, of which `places` says the first end that is not below it, ascending.
    """
    begins = np.searchsorted(places, range(places[-1] + 1))
    times = np.maximum.reduceat(relative, begins, axis=1)
    least = times.min(axis=0)
    allowed = np.where(least > _LOSS, least * _LOSS, _LOSS)
    found = np.maximum.reduceat(relative[taken, range(len(taken))], begins)
    wrong = np.flatnonzero(found > allowed).tolist()
    fits, start = times <= allowed, 0
    for at in wrong:
        if at < start:
            continue
        ends = [next((i for i in range(at, len(begins)) if not row[i]), len(begins)) for row in fits]
        start = max(ends)
        last = max(each for each in wrong if each < start)
        yield ends.index(start), at, last


def _value(formula: Formula, extent: NDArray[Any]) -> Any:
    """The values of a formula of `_EXTENT`."""
    match formula:
        case Call("size"):
            return extent
        case Call("min", (a, b)):
            return np.minimum(_value(a, extent), _value(b, extent))
        case Call(function, (a, b)):
            return OPERATORS[function](_value(a, extent), _value(b, extent))
        case _:
            return formula


def _terms(tile: TileChoice, operands: Operands, target: Target, extent: Formula) -> Sequence[Formula]:
    """The terms of the time of a tile where one extent is open: one, the extent, and rounds and tiles, or steps.

    Of K, there are steps with rows that end within a sector, too.
    """
    m, n, k = (extent if each is None else each for each in operands.size)
    if operands.size[2] is None:
        steps, sector = ceildiv(k, tile.parts * tile.depth), SECTOR // tile.work.element
        rest = Call("min", (sum_of(product_of(ceildiv(k, sector), sector), product_of(k, -1)), 1))
        return 1, k, steps, product_of(steps, rest)
    down, across = (n, m) if tile.exchanged != operands.exchanged else (m, n)
    in_rows, in_columns = (
        product_of(ceildiv(size, each * by), by)
        for size, each, by in zip((down, across), (tile.rows, tile.columns), tile.work.together, strict=True)
    )
    tiles = product_of(product_of(in_rows, in_columns), operands.batch * tile.parts)
    gpu = gpu_of(target)
    work = replace(tile.work, size=(_LARGEST, _LARGEST, 1), blocks=tile.work.blocks and gpu.multiprocessors)
    return 1, extent, ceildiv(tiles, int(work.counts(gpu).at)), tiles
