"""Where accesses are looked up: those that meet have a page in common."""

from __future__ import annotations

from math import gcd
from random import Random

import numpy as np
from xdsl.dialects import test

from tirx.dialects.ptx.effects import AccessKind
from tirx.passes.analysis.memory_accesses import Access, AccessTable, Footprint
from tirx.passes.analysis.thread_flow import ActiveThreads
from tirx.passes.analysis.thread_values import ThreadValue

THREADS = 8
EVERYONE = np.ones(THREADS, np.bool_)


def some_bytes(random: Random, divisor: int) -> Footprint:
    """What threads touch whose addresses differ by multiples of `divisor`."""
    distances = np.array([random.choice((0, random.randint(-6, 6))) for _ in range(THREADS)], np.int64)
    address = ThreadValue((), divisor * distances, THREADS)
    return Footprint.of_bytes(address, random.choice((1, 4, 16, 60)), offset=random.randint(-200, 200))


def test_those_that_meet_share_a_page():
    random, met = Random(0), 0
    for _ in range(400):
        divisor = random.choice((64, 80, 256))
        one, other = some_bytes(random, divisor), some_bytes(random, divisor)
        touched = [{at + i for at in f.column.tolist() for i in range(f.columns)} for f in (one, other)]
        meets = not touched[0].isdisjoint(touched[1])
        assert (one.meets(EVERYONE, other, EVERYONE) is not None) == meets
        if meets:
            met += 1
            assert not one.pages.isdisjoint(other.pages)
            grid = gcd(one.address.divisor, other.address.divisor) or divisor, max(one.extent, other.extent)
            assert not one.pages_of_grid(*grid).isdisjoint(other.pages_of_grid(*grid))
    assert 100 < met < 300


def test_threads_far_apart_touch_few_pages():
    """Rows of a matrix: one granule each, wherever they are."""
    rows = ThreadValue((), 4096 * np.arange(THREADS, dtype=np.int64), THREADS)
    footprint = Footprint.of_bytes(rows, 16, offset=32)
    assert len(footprint.pages) == THREADS
    assert len(footprint.pages_of_grid(rows.divisor, footprint.extent)) <= 2


def test_rows_that_are_no_multiple_of_granules():
    """Rows of 72 bytes, of which two threads read the end, and 32 bytes across that are written together."""
    table = AccessTable()
    everyone = ActiveThreads((1 << THREADS) - 1, THREADS, frozenset(), frozenset())
    rows = ThreadValue((), 72 * np.arange(THREADS, dtype=np.int64), THREADS)
    reads = Footprint.of_bytes(rows, 8, offset=64)
    writes = Footprint.of_bytes(ThreadValue((), 128, THREADS), 32)
    assert reads.meets(EVERYONE, writes, EVERYONE) is not None
    read, write = (
        table.add(Access(test.TestOp(), AccessKind.GENERIC, everyone, *footprints))
        for footprints in (((reads,), ()), ((), (writes,)))
    )
    assert not table.is_alone(read)
    assert not table.is_alone(write)
