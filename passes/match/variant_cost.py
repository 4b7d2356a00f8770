"""The time of a variant as a formula of the sizes of a launch: the timing model in whole numbers.

The equations are those of `tirx.predict.model`, simplified: two tangents stand for the cube root in which transfers and
latency of a step meet, a line for the hits of L2 that fade and one for the clock that falls. The last round takes as
long as the others where a multiprocessor has one tile at a time. Formulas are trees: what they use several times is
written several times, and so kept short.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log2

from tirx.dialects.formula import Call, Formula
from tirx.passes.ir.launch_values import ceildiv, product_of, sum_of
from tirx.passes.match.tile_choice import LOOP_GAIN, Operands, TileChoice
from tirx.predict import Gpu
from tirx.predict.model import FADING, HANDED_ON, TURNS, UNTHROTTLED
from tirx.predict.work import ALIGNED, SCATTERED, SECTOR, SUM_BYTES
from tirx.values import replace

_UNIT = 1e-15
"""Seconds that a formula counts."""

_LARGEST = 1 << 13
"""Rows and columns that are many tiles."""

_PART = 64
"""Parts of one in which shares are counted."""

_TANGENTS = (0.7, 2.0)
"""Transfers, beside the latency without one, at which tangents touch the time of a step."""

_EXACT = 10
"""Bits of the numbers that formulas are multiplied with, at least."""


def cost_of(tile: TileChoice, operands: Operands, sizes: Sequence[Formula], gpu: Gpu) -> Formula:
    """The time of a tile in femtoseconds, a formula of M, N and K, each a number or a formula of a launch."""
    total = _Cost(tile, operands, sizes, gpu).total()
    return _scaled(total, 1 / LOOP_GAIN) if tile.shares is not None or tile.is_ordered else total


class _Cost:
    """The parts of the time of one variant, in femtoseconds."""

    def __init__(self, tile: TileChoice, operands: Operands, sizes: Sequence[Formula], gpu: Gpu):
        self.work, self.gpu, self.batch = tile.work, gpu, operands.batch
        self.cycle = 1 / (gpu.hertz * _UNIT)
        m, n, self.k = sizes
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

    def total(self) -> Formula:
        """The time of a launch: rounds of steps and an epilogue."""
        gpu, most = self.gpu, int(self.large.at)
        around = gpu.launch / _UNIT + (gpu.latency + gpu.slot) * self.cycle
        if self.work.streamed:
            return self._of_stream(around)
        again = 0 if self.work.blocks else round(gpu.block * self.cycle)
        rounds, around = _quotient(self.tiles, most), round(around - again)
        if most > gpu.multiprocessors:  # fewer tiles on each in the last round take less time
            last = _sum(self.tiles, product_of(_sum(rounds, -1), -most))
            more, each = _sum(rounds, -1), self._round(most, _quotient(most, gpu.multiprocessors), again)
            end = self._round(last, _quotient(last, gpu.multiprocessors), again)
            whole, loop = (_sum(product_of(more, a), b, around) for a, b in zip(each, end, strict=True))
        else:
            each = self._round(_least(self.tiles, most), 1, again)
            whole, loop = (_sum(product_of(rounds, a), around) for a in each)
        # The clock falls with the share of the time in which the tensor cores multiply, if L2 and memory do not bind.
        slower = (_at_full_use(gpu) - 1) / (1 - UNTHROTTLED)
        used = round(slower * self.large.useful / gpu.multiprocessors * self.cycle)
        steps = product_of(product_of(self.tiles, self.steps), used)
        return _most(whole, _sum(_scaled(loop, 1 - UNTHROTTLED * slower), steps))

    def _round(self, at: Formula, per: Formula, again: int) -> tuple[Formula, Formula]:
        """The time of a round of `at` tiles, `per` of them on each multiprocessor; and if L2 and memory take none."""
        products, end = self._products(per), _sum(self._epilogue(per), again)
        steps = self._step(products, at, per), _most(products, self._resting)
        whole, loop = (_sum(product_of(self.steps, each), end) for each in steps)
        return whole, loop

    def _of_stream(self, around: float) -> Formula:
        """The time where the blocks share out the iterations of all tiles."""
        every = product_of(self.tiles, self.steps)
        at = _least(every, self.gpu.multiprocessors)
        run, whole = _quotient(every, _positive(at)), _positive(self.steps)
        transfer, stored = self._transfer(at, 1), self._epilogue(1)
        again = _sum(transfer, self._start, stored)
        others = _sum(_quotient(self.steps, _positive(run)), -1)
        exchanged = self.work.rows * self.work.columns * SUM_BYTES / self.gpu.exchange * self.cycle
        is_split = _least(_most(_sum(self.steps, product_of(run, -1)), 0), 1)
        return _sum(
            product_of(run, self._step(self._products(1), at, 1)),
            *(stored, again, _quotient(product_of(run, again), whole), _scaled(others, exchanged)),
            *(_scaled(is_split, (HANDED_ON + self.gpu.meeting) * self.cycle), round(around)),
        )

    @property
    def _start(self) -> int:
        """The time until a slot whose transfer takes none is free again."""
        return round((self.gpu.latency + self.gpu.slot + self.large.product) * self.cycle)

    def _products(self, per: Formula) -> Formula:
        """The time of the products of a step, `per` of them on each multiprocessor."""
        gpu, work = self.gpu, self.work
        pause = gpu.step * (1 + (work.slots == 1) / 2 + work.streamed / 2) + gpu.pair * self.large.paired
        return _sum(_scaled(per, self.large.product * self.cycle), round(pause * self.cycle))

    def _step(self, products: Formula, at: Formula, per: Formula) -> Formula:
        """The time of a step of `at` tiles, `per` of them on each multiprocessor."""
        start, slots, far = self._start, self.work.slots, self.gpu.memory_latency * self.cycle / _PART
        transfer = self._transfer(at, per)
        if slots == 1:
            alone = _sum(_quotient(transfer, per), start, _scaled(self._cold, far))
            return _most(products, _most(alone, transfer) if self.large.per > 1 else alone)
        step = products
        for beside in _TANGENTS:
            x = beside * start / slots
            time, slope, later = self._bend(x)
            waits = _scaled(self._cold, later * far), round(time - slope * x)
            step = _most(step, _sum(_scaled(transfer, slope), *waits))
        return step

    def _bend(self, transfer: float) -> tuple[float, float, float]:
        """The time of a step with a ring that waits for transfers and latency; how much it grows with either."""
        slots = self.work.slots
        latency = (self._start + transfer) / slots
        time = (transfer**3 + latency**3) ** (1 / 3)
        later = latency**2 / slots / time**2
        return time, transfer**2 / time**2 + later, later

    @property
    def _resting(self) -> int:
        """The time of such a step of a whole tile that is in L2."""
        filled = self.large.fill / self.gpu.fill * self.cycle
        return round(self._bend(filled)[0]) if self.work.slots > 1 else 0

    def _transfer(self, at: Formula, per: Formula) -> Formula:
        """The time until a slot is filled: the way into shared memory, L2 or memory."""
        gpu, work = self.gpu, self.work
        used_rows, used_columns = _least(self.down, work.rows), _least(self.across, work.columns)
        straddles = _rest(self.k, max(1, SECTOR // work.element))
        requests = _sum(_PART, _scaled(straddles, _PART * (gpu.straddle - 1)))
        fill = product_of(_sum(used_rows, used_columns), requests)
        fill = product_of(_scaled(fill, work.step / gpu.fill * self.cycle / _PART), per)
        outside = gpu.outside / gpu.multiprocessors * self.cycle
        for size, tiles, extent in ((self.down, self.rows, work.rows), (self.across, self.columns, work.columns)):
            more = _sum(product_of(tiles, extent), product_of(size, -1))
            fill = _sum(fill, product_of(_quotient(_scaled(more, outside), _positive(tiles)), at))
        return _most(fill, product_of(_most(self._l2(used_rows, used_columns, requests), self._memory()), at))

    def _l2(self, used_rows: Formula, used_columns: Formula, requests: Formula) -> Formula:
        """The time of L2 for a step of one tile, neighbours of which read the same lines."""
        gpu, work = self.gpu, self.work
        down, across = work.together
        group = _least(self.rows, work.group) if work.group > 1 else 1
        by_rows = _most(self._of_neighbours(group), _quotient(_PART, _positive(self.columns)))
        by_columns = _least(_quotient(_PART, _positive(group)), self._of_neighbours(self.columns))
        shared = _sum(product_of(used_rows, by_rows), product_of(used_columns, by_columns))
        alone = _PART * gpu.spread / (1 - gpu.spread)
        read = _sum(shared, _scaled(used_rows, alone / across), _scaled(used_columns, alone / down))
        return _scaled(product_of(read, requests), (1 - gpu.spread) * work.step / gpu.l2 / _UNIT / _PART**2)

    def _of_neighbours(self, tiles: Formula) -> Formula:
        """The share that some tiles are of those whose blocks are neighbours, in parts of one."""
        if self.batch * self.work.parts == 1:  # of fewer tiles L2 binds none
            return product_of(tiles, round(_PART / self.gpu.neighbours))
        every = _least(product_of(product_of(self.rows, self.columns), 2), round(2 * self.gpu.neighbours))
        return _quotient(product_of(tiles, 2 * _PART), _positive(every))

    @cached_property
    def _read(self) -> Formula:
        """Bytes of A and B."""
        return product_of(product_of(_sum(self.down, self.across), self.k), self.work.element * self.batch)

    @cached_property
    def _cold(self) -> Formula:
        """The share of what the launch touches that L2 does not keep, in parts of one."""
        touched = _sum(self._read, product_of(product_of(self.down, self.across), self.work.out * self.batch))
        first = int(self.gpu.kept - 2 * FADING)
        return _least(_quotient(_most(_sum(touched, -first), 0), int(4 * FADING) // _PART), _PART)

    def _memory(self) -> Formula:
        """The time of memory for a step of one tile, where L2 does not keep what the launch touches."""
        read = _scaled(product_of(self._read, self._cold), 1 / self.gpu.memory / _UNIT / _PART)
        return _quotient(read, _positive(product_of(self.tiles, self.steps)))

    def _epilogue(self, per: Formula) -> Formula:
        """The time of the end of a tile."""
        gpu, work = self.gpu, self.work
        ends, others = (work.cluster_shares, work.parts - 1) if work.cluster_shares else (1, 0)
        elements = work.rows * work.columns / ends
        each = self.large.out / gpu.store + elements * SUM_BYTES * others / gpu.exchange
        once = gpu.epilogue + gpu.meeting * (others > 0)
        row, unit = self.down if work.turned else self.across, max(1, ALIGNED // work.out)
        by_threads = _rest(row, unit) if work.bulk_stores else 1
        scattered = gpu.store_by_threads * elements / SCATTERED / 2 * self.cycle
        stored = _sum(round(each * self.cycle), _scaled(by_threads, scattered))
        return _sum(product_of(per, stored), round(once * self.cycle))


def _at_full_use(gpu: Gpu) -> float:
    """The time of products that nothing else holds up, beside that at the full clock."""
    hertz = time = 1.0
    for _ in range(TURNS):
        time = 1 / hertz
        hertz = 1 - gpu.throttle * (1 / time - UNTHROTTLED)
    return time


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
    by = 1 << max(0, _EXACT - int(log2(factor)))
    return ceildiv(product_of(a, round(factor * by)), by)
