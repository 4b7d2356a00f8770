"""The time of a variant as a formula of the sizes of a launch: the timing model in whole numbers.

The equations are those of `tirx.predict.model`, but for lines: tangents of the cube root in which transfers and latency
of a step meet, chords of the share that L2 does not keep, and one for the clock that falls. A formula is the larger one
of two times: the first one has few terms, and says of most variants that another one takes less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from math import exp, inf, log2

from tirx.dialects.formula import Call, Formula
from tirx.passes.ir.launch_values import ceildiv, product_of, sum_of
from tirx.passes.match.tile_choice import LOOP_GAIN, Operands, TileChoice
from tirx.predict import Gpu
from tirx.predict.model import FADING, HANDED_ON, TURNS, UNTHROTTLED
from tirx.predict.work import ALIGNED, SCATTERED, SECTOR, SUM_BYTES
from tirx.values import replace

_UNIT = 1e-12
"""Seconds that a formula counts."""

_LARGEST = 1 << 13
"""Rows and columns that are many tiles."""

_PART = 1 << 10
"""Parts of one in which shares are counted."""

_TANGENTS = (0.35, 0.7, 1.1, 1.7, 3.0)
"""Transfers, beside the latency without one, at which tangents touch the time of a step."""

_FADING = (0.0, 0.8, 1.6, 2.6, 4.5)
"""Ends of chords of the share that L2 does not keep, as logarithms of its odds, and of those that it keeps."""

_THROTTLED = 0.87
"""The clock where tensor cores are used much, beside the full one."""

_BETWEEN = 0.65
"""Use of the tensor cores up to which the time grows by one line with it, and above which by another one."""

_PRECISE = 30
"""Bits of the numbers that bytes are multiplied with."""

_WORD = 4
"""Bytes that a thread stores at once where rows are multiples of them."""

_EXACT = 10
"""Bits of the numbers that formulas are multiplied with, at least."""


def cost_of(tile: TileChoice, operands: Operands, sizes: Sequence[Formula], gpu: Gpu) -> Formula:
    """The time of a tile in picoseconds, a formula of M, N and K, each a number or a formula of a launch."""
    return _Cost(tile, operands, sizes, gpu).total(1 / LOOP_GAIN if tile.shares is not None or tile.is_ordered else 1)


class _Cost:
    """The parts of the time of one variant, in picoseconds."""

    def __init__(self, tile: TileChoice, operands: Operands, sizes: Sequence[Formula], gpu: Gpu):
        self.work, self.gpu, self.batch = tile.work, gpu, operands.batch
        self.cycle = 1 / (gpu.hertz * _UNIT)
        m, n, self.k = sizes
        self.around, self.elements = _sum(m, n), product_of(m, n)
        self.down, self.across = (n, m) if tile.exchanged != operands.exchanged else (m, n)
        together = self.work.together
        self.rows, self.columns = (
            product_of(ceildiv(size, extent * by), by)
            for size, extent, by in zip(
                (self.down, self.across), (self.work.rows, self.work.columns), together, strict=True
            )
        )
        large = replace(self.work, size=(_LARGEST, _LARGEST, 1), blocks=self.work.blocks and gpu.multiprocessors)
        self.large = large.counts(gpu)
        self.tiles = product_of(product_of(self.rows, self.columns), self.batch * self.work.parts)
        self.steps = ceildiv(self.k, self.work.parts * tile.depth)

    def total(self, gain: float) -> Formula:
        """The time of a launch, times `gain`: rounds of steps and an epilogue."""
        gpu, most = self.gpu, int(self.large.at)
        around = gpu.launch / _UNIT + (gpu.latency + gpu.slot) * self.cycle
        if self.work.streamed:
            return _scaled(self._of_stream(around), gain)
        rounds = _quotient(self.tiles, most)
        before, per = _sum(rounds, -1), -(-most // gpu.multiprocessors)
        last = _sum(self.tiles, product_of(before, -most))
        last_per = _quotient(last, gpu.multiprocessors)
        again = 0 if self.work.blocks else gpu.block * self.cycle

        def of_rounds(time: Callable[[Formula], Formula]) -> Formula:
            """The times of all rounds, of so many tiles on each multiprocessor."""
            return product_of(rounds, time(1)) if per == 1 else _sum(product_of(before, time(per)), time(last_per))

        def of_steps(steps: Formula, share: float, used: float = 0, stored: bool = True) -> Formula:
            """The time of steps in all rounds, with so much of tensor cores for each tile, and a share of the rest."""
            end = of_rounds(lambda per: self._epilogue(per, again, share, stored))
            steps = product_of(self.steps, _sum(steps, product_of(self.tiles, round(used))))
            return _sum(steps, end, round((around - again) * share))

        # The clock falls with the share of the time in which the tensor cores multiply.
        multiplied = gain * self.large.useful / gpu.multiprocessors * self.cycle
        share, slope = _slower(gpu, UNTHROTTLED, 1)
        share, used = gain * share, slope * multiplied
        soonest = of_rounds(lambda per: _scaled(_most(self._products(per), self._soonest), share))
        first, end = self._step(most, per), self._step(last, 1 if per == 1 else last_per)
        slower, step = (_sum(product_of(before, a), b) for a, b in zip(first, end, strict=True))
        whole = of_steps(_scaled(step, gain), gain)
        lines = [_slower(gpu, *each) for each in pairwise((UNTHROTTLED, _BETWEEN, 1))]
        multiplies = product_of(product_of(self.tiles, self.steps), round(multiplied * _PART / 2))
        total = whole
        for time in (  # as far as other things bind, too; and where nothing else does
            [_sum(_scaled(whole, (1 + a) / 2), _scaled(multiplies, b / _PART)) for a, b in lines],
            [of_steps(_scaled(slower, a * gain), a * gain, b * multiplied) for a, b in lines],
        ):
            total = _most(total, reduce(_least, time))
        total = _sum(total, _scaled(self._cold, self._far * gain))
        if self.work.slots > 1:
            products = of_rounds(lambda per: _scaled(self._products(per), share * _PART))
            least = self._least(products, rounds, of_rounds(lambda per: per), share)
            total = _most(of_steps(least, share, used), total)
        return _most(of_steps(soonest, share, used, stored=False), total)

    def _of_stream(self, around: float) -> Formula:
        """The time where the blocks share out the iterations of all tiles."""
        every = product_of(self.tiles, self.steps)
        at = _least(every, self.gpu.multiprocessors)
        run, whole = _quotient(every, _positive(at)), _positive(self.steps)
        transfer = _most(self._fill(at, 1), _most(self._l2(at), self._memory(at)))
        stored = self._epilogue(1)
        again = _sum(transfer, self._start, stored)
        others = _sum(_quotient(self.steps, _positive(run)), -1)
        exchanged = self.work.rows * self.work.columns * SUM_BYTES / self.gpu.exchange * self.cycle
        is_split = _least(_most(_sum(self.steps, product_of(run, -1)), 0), 1)
        return _sum(
            product_of(run, self._step(at, 1)[1]),
            *(stored, again, _quotient(product_of(run, again), whole), _scaled(others, exchanged)),
            *(_scaled(is_split, (HANDED_ON + self.gpu.meeting) * self.cycle), round(around)),
        )

    @property
    def _start(self) -> int:
        """The time until a slot whose transfer takes none is free again."""
        return round((self.gpu.latency + self.gpu.slot + self.large.product) * self.cycle)

    @property
    def _far(self) -> float:
        """The time more of what is not in L2, for a part of one."""
        return self.gpu.memory_latency * self.cycle / _PART

    def _products(self, per: Formula) -> Formula:
        """The time of the products of a step, `per` of them on each multiprocessor."""
        gpu, work = self.gpu, self.work
        pause = gpu.step * (1 + (work.slots == 1) / 2 + work.streamed / 2) + gpu.pair * self.large.paired
        return _sum(_scaled(per, self.large.product * self.cycle), round(pause * self.cycle))

    def _step(self, at: Formula, per: Formula) -> tuple[Formula, Formula]:
        """The time of a step of `at` tiles, `per` of them on each multiprocessor: with less of L2 and memory, as their
        cycles are fewer at a slower clock; and at the full one.
        """
        products, cold, lines = self._products(per), self._cold, list(self._lines(per))

        def taken(transfer: Formula) -> Formula:
            if not lines:
                alone = _sum(_quotient(transfer, per), self._start, _scaled(cold, self._far))
                return _most(alone, transfer) if self.large.per > 1 else alone
            found = (_sum(product_of(transfer, slope), product_of(cold, far), time) for slope, far, time in lines)
            return ceildiv(reduce(_most, found), _PART)

        through = _most(self._l2(at), self._memory(at))
        slower = _most(products, taken(_most(self._fill(at, per), _scaled(through, _THROTTLED))))
        return slower, _most(slower, taken(through))

    def _lines(self, per: Formula) -> Iterator[tuple[int, int, int]]:
        """Tangents of the time of a step, in parts of one: its growth with transfers and cold lines, and its start.

        None of those that are below the products where they are the largest. None where there is no ring.
        """
        products, slots = self._products(per), self.work.slots
        for beside, following in pairwise((*_TANGENTS, inf)):
            touched, end = (each * self._start / slots for each in (beside, following))
            if slots > 1 and (end == inf or self._bend(end, _PART)[0] > (products if isinstance(products, int) else 0)):
                time, slope, later = self._bend(touched)
                yield round(slope * _PART), round(later * self._far * _PART), round((time - slope * touched) * _PART)

    def _least(self, products: Formula, rounds: Formula, per: Formula, share: float) -> Formula:
        """A share of what steps take at least in all rounds, less than without L2: the most of products and one line.

        `per` are the tiles of a multiprocessor in all rounds.
        """
        filled = self.large.fill / self.gpu.fill * self.cycle
        time, slope, later = (each * share * _PART for each in self._bend(filled))
        start = _sum(product_of(self._cold, round(later * self._far)), round(time - slope * filled))
        more = (product_of(each, by) for each, by in zip(self._more, (self.columns, self.rows), strict=True))
        ends = product_of(_sum(*more), round(slope * self._outside * self.batch * self.work.parts))
        filling = product_of(product_of(self._filling, round(slope)), per)
        return ceildiv(_most(products, _sum(filling, product_of(rounds, start), ends)), _PART)

    def _bend(self, transfer: float, cold: float = 0) -> tuple[float, float, float]:
        """The time of a step with a ring that waits for transfers and latency; how much it grows with either."""
        slots = self.work.slots
        latency = (self._start + transfer + cold * self._far) / slots
        time = (transfer**3 + latency**3) ** (1 / 3)
        later = latency**2 / slots / time**2
        return time, transfer**2 / time**2 + later, later

    @property
    def _soonest(self) -> int:
        """The time of a step whose transfers take none."""
        return round(self._start / self.work.slots)

    def _fill(self, at: Formula, per: Formula) -> Formula:
        """The time of the way into shared memory for a step of `at` tiles, `per` of them on each multiprocessor."""
        ends = (
            _quotient(_scaled(product_of(more, at), self._outside), _positive(tiles))
            for more, tiles in zip(self._more, (self.rows, self.columns), strict=True)
        )
        return _sum(product_of(self._filling, per), *ends)

    @cached_property
    def _filling(self) -> Formula:
        """The time of the way of a tile into shared memory, if all of it is within the operands."""
        requests = _sum(self._requests, _scaled(self._by_threads, _PART * self._slower))
        return _scaled(product_of(_sum(*self._used), requests), self.work.step / self.gpu.fill * self.cycle / _PART)

    @property
    def _outside(self) -> float:
        """The time of a row of a tile that is outside of an operand, a share of that of all multiprocessors."""
        return self.gpu.outside / self.gpu.multiprocessors * self.cycle

    @cached_property
    def _more(self) -> tuple[Formula, Formula]:
        """Rows of A, and of B, in all tiles of a column, and of a row, that are outside."""
        rows, columns = product_of(self.rows, self.work.rows), product_of(self.columns, self.work.columns)
        return _sum(rows, product_of(self.down, -1)), _sum(columns, product_of(self.across, -1))

    @cached_property
    def _used(self) -> tuple[Formula, Formula]:
        """Rows of A and B that a tile loads."""
        return _least(self.down, self.work.rows), _least(self.across, self.work.columns)

    @cached_property
    def _by_threads(self) -> Formula:
        """1 if no bulk copy can read the rows of A and B, else 0."""
        return _rest(self.k, max(1, ALIGNED // self.work.element))

    @property
    def _slower(self) -> float:
        """The time of such a copy, beside that of a bulk copy."""
        return self.gpu.load_by_threads / ALIGNED * self.gpu.fill

    @cached_property
    def _requests(self) -> Formula:
        """Requests to L2 for a row of A or B, in parts of one: rows that bulk copies read may begin within a sector."""
        straddles = _sum(_rest(self.k, max(1, SECTOR // self.work.element)), product_of(self._by_threads, -1))
        return _sum(_PART, _scaled(straddles, _PART * (self.gpu.straddle - 1)))

    def _l2(self, at: Formula) -> Formula:
        """The time of L2 for a step of `at` tiles, neighbours of which read the same lines."""
        gpu, work, (rows, columns) = self.gpu, self.work, self._used
        down, across = work.together
        group = _least(self.rows, work.group) if work.group > 1 else 1
        by_rows = _most(self._of_neighbours(group), _quotient(_PART, _positive(self.columns)))
        by_columns = _least(_quotient(_PART, _positive(group)), self._of_neighbours(self.columns))
        shared = _sum(product_of(rows, by_rows), product_of(columns, by_columns))
        alone = _PART * gpu.spread / (1 - gpu.spread)
        read = _sum(shared, _scaled(rows, alone / across), _scaled(columns, alone / down))
        factor = (1 - gpu.spread) * work.step / gpu.l2 / _UNIT / _PART**2
        return _scaled(product_of(product_of(read, self._requests), at), factor)

    def _of_neighbours(self, tiles: Formula) -> Formula:
        """The share that some tiles are of those whose blocks are neighbours, in parts of one."""
        if self.batch * self.work.parts == 1:  # of fewer tiles L2 binds none
            return product_of(tiles, round(_PART / self.gpu.neighbours))
        every = _least(product_of(product_of(self.rows, self.columns), 2), round(2 * self.gpu.neighbours))
        return _quotient(product_of(tiles, 2 * _PART), _positive(every))

    @cached_property
    def _read(self) -> Formula:
        """Bytes of A and B."""
        return product_of(product_of(self.around, self.k), self.work.element * self.batch)

    @cached_property
    def _cold(self) -> Formula:
        """The share of what the launch touches that L2 does not keep, in parts of one."""
        touched = _sum(self._read, product_of(self.elements, self.work.out * self.batch))
        below, above = _least(touched, int(self.gpu.kept)), _most(touched, int(self.gpu.kept))
        little, much = 0, _PART << _PRECISE  # chords of what is below and above one half
        for first, last in pairwise(_FADING):
            share, end = (_PART / (1 + exp(-each)) for each in (first, last))
            slope = (end - share) / (last - first) / FADING
            grows, at_half = round(slope * (1 << _PRECISE)), share - slope * first * FADING
            little = _most(little, _sum(product_of(below, grows), _fixed(_PART - at_half - slope * self.gpu.kept)))
            much = _least(much, _sum(product_of(above, grows), _fixed(at_half - slope * self.gpu.kept)))
        return ceildiv(_sum(little, much, -(_PART << _PRECISE) // 2), 1 << _PRECISE)

    def _memory(self, at: Formula) -> Formula:
        """The time of memory for a step of `at` tiles, where L2 does not keep what the launch touches."""
        read = product_of(product_of(_scaled(self._read, 1 / self.gpu.memory / _UNIT), self._cold), at)
        return _quotient(ceildiv(read, _PART), _positive(product_of(self.tiles, self.steps)))

    def _epilogue(self, per: Formula, again: float = 0, share: float = 1, stored: bool = True) -> Formula:
        """A share of the time of the end of `per` tiles, and of `again`; not `stored`: as if bulk copies store them."""
        gpu, work = self.gpu, self.work
        ends, others = (work.cluster_shares, work.parts - 1) if work.cluster_shares else (1, 0)
        elements = work.rows * work.columns / ends
        each = self.large.out / gpu.store + elements * SUM_BYTES * others / gpu.exchange
        once = round(((gpu.epilogue + gpu.meeting * (others > 0)) * self.cycle + again) * share)
        least = _sum(product_of(per, round(each * self.cycle * share)), once)
        if not stored:
            return least
        row = self.down if work.turned else self.across
        by_threads = _sum(_rest(row, max(1, ALIGNED // work.out)), _rest(row, max(1, _WORD // work.out)))
        scattered = round(gpu.store_by_threads * elements / SCATTERED / 2 * self.cycle * share)
        return _sum(least, product_of(product_of(per, by_threads if work.bulk_stores else 1), scattered))


def _slower(gpu: Gpu, first: float, last: float) -> tuple[float, float]:
    """The time at the clock for these uses of the tensor cores, beside that at the full clock: a share, and its growth.

    It is a line between both.
    """

    def time_at(use: float) -> float:
        hertz = time = 1.0
        for _ in range(TURNS):
            time = 1 / hertz
            hertz = 1 - gpu.throttle * max(use / time - UNTHROTTLED, 0)
        return time

    slope = (time_at(last) - time_at(first)) / (last - first)
    return time_at(first) - slope * first, slope


def _sum(*terms: Formula) -> Formula:
    number, found = 0, None
    for term in terms:
        if isinstance(term, int):
            number += term
        else:
            found = term if found is None else sum_of(found, term)
    return number if found is None else found if number == 0 else sum_of(found, number)


def _least(a: Formula, b: Formula) -> Formula:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else Call("min", (a, b))


def _most(a: Formula, b: Formula) -> Formula:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else Call("max", (a, b))


def _positive(a: Formula) -> Formula:
    """A divisor of 1 or more: extents of a launch may be 0."""
    return _most(a, 1)


def _quotient(a: Formula, b: Formula) -> Formula:
    """A quotient that is rounded up."""
    return ceildiv(a, b) if isinstance(b, int) else Call("ceildiv", (a, b))


def _rest(a: Formula, unit: int) -> Formula:
    """0 for a multiple of `unit`, else 1."""
    more = _sum(product_of(ceildiv(a, unit), unit), product_of(a, -1))
    return _least(more, 1) if unit > 1 else 0


def _scaled(a: Formula, factor: float) -> Formula:
    """A formula times a factor, in whole numbers of some bits over a power of two."""
    if isinstance(a, int):
        return round(a * factor)
    if factor == 1:
        return a
    by = 1 << max(0, _EXACT - int(log2(factor)))
    return ceildiv(product_of(a, round(factor * by)), by)


def _fixed(a: float) -> int:
    """A number in units of which several are one."""
    return round(a * (1 << _PRECISE))
