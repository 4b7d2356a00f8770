"""Accesses that meet, and the search for those that may."""

from __future__ import annotations

from math import inf
from random import Random

import numpy as np
from xdsl.dialects import test

from tirx.dialects.ptx.effects import AccessKind
from tirx.passes.checks.memory_accesses import Access, AccessTable, Footprint, Operand, meet
from tirx.passes.checks.thread_flow import ActiveThreads
from tirx.passes.checks.thread_values import Symbol, ThreadValue
from tirx.smem.swizzle_modes import TCGEN05_OPERANDS

THREADS = 8
EVERYONE = np.ones(THREADS, np.bool_)
ALL = ActiveThreads((1 << THREADS) - 1, THREADS, frozenset(), frozenset())


def some_bytes(random: Random, divisor: int) -> Footprint:
    """Bytes that threads touch whose addresses differ by multiples of `divisor`."""
    distances = np.array([random.choice((0, random.randint(-6, 6))) for _ in range(THREADS)], np.int64)
    address = ThreadValue((), divisor * distances, THREADS)
    return Footprint.of_bytes(address, random.choice((1, 4, 16, 60)), offset=random.randint(-200, 200))


def test_those_that_meet_have_bits_in_common():
    random, met = Random(0), 0
    for _ in range(400):
        divisor = random.choice((64, 80, 256))
        one, other = some_bytes(random, divisor), some_bytes(random, divisor)
        touched = [{at + i for at in f.column.tolist() for i in range(f.columns)} for f in (one, other)]
        meets = not touched[0].isdisjoint(touched[1])
        assert (one.meets(EVERYONE, other, EVERYONE) is not None) == meets
        met += meets
        assert not meets or (one.folded & other.folded).any()
    assert 100 < met < 300


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


def cells_of(footprint: Footprint, thread: int) -> set[tuple[int, int]]:
    """The lanes and columns of tensor memory that a thread touches, as the docstring of `Footprint` says."""
    address = int(footprint.address.numbers[thread]) + footprint.offset
    lane, column = address >> 16, address & 0xFFFF
    lanes = {lane + i for i in range(footprint.rows)}
    if footprint.all_warps:
        lanes = {(each + 32 * warp) % 128 for each in lanes for warp in range(4)}
    return {(each, column + i) for each in lanes for i in range(footprint.columns)}


def some_cells(random: Random, symbols: tuple[Symbol, ...]) -> Footprint:
    lanes = np.array([random.choice((0, 3, 32, 67)) for _ in range(THREADS)], np.int64)
    columns = np.array([random.randrange(20, 40) for _ in range(THREADS)], np.int64)
    address = ThreadValue(symbols, (lanes << 16) + columns, THREADS)
    rows, width = random.choice((1, 16)), random.choice((1, 3, 8))
    offset = random.randrange(4) + (random.choice((0, 0, 3)) << 16)
    return Footprint(symbols, address, offset, rows, width, True, random.random() < 0.3)


def test_cells_of_tensor_memory():
    """Who touches what somebody else touches, pair by pair, where only some threads take part."""
    random, found = Random(1), 0
    slots = [(Symbol("tensor", name),) for name in ("a", "b")]
    for _ in range(90):
        one, other = some_cells(random, slots[0]), some_cells(random, slots[random.random() < 0.1])
        for f in (one, other):
            addresses = [at + f.offset for at in f.address.numbers.tolist()]
            assert (f.row.tolist(), f.column.tolist()) == ([a >> 16 for a in addresses], [a % 65536 for a in addresses])
        own, others = (np.array([random.random() < 0.7 for _ in range(THREADS)]) for _ in range(2))
        expected = np.zeros((THREADS, THREADS), np.bool_)
        mine, theirs = ([cells_of(f, thread) for thread in range(THREADS)] for f in (one, other))
        for t in np.flatnonzero(own).tolist() if one.origin == other.origin else ():
            for u in np.flatnonzero(others).tolist():
                expected[t, u] = not mine[t].isdisjoint(theirs[u])
        met = one.meets(own, other, others)
        assert (np.zeros_like(expected) if met is None else met).tolist() == expected.tolist()
        assert met is None or met.any()
        if met is not None:
            found += 1
            assert (one.folded & other.folded).any()
            assert one.bounds[0] < other.bounds[1] and other.bounds[0] < one.bounds[1]
    assert 30 < found < 85


def test_bytes_that_threads_touch():
    """Bytes of two footprints, pair by pair; those of one address for all threads as well."""
    random = Random(2)
    for _ in range(150):
        footprints: list[Footprint] = []
        for _ in range(2):
            given = [random.randrange(60) for _ in range(THREADS)]
            address = ThreadValue((), given[0] if random.random() < 0.3 else np.array(given), THREADS)
            footprints.append(Footprint.of_bytes(address, random.choice((1, 4, 17)), random.randrange(-3, 4)))
        one, other = footprints
        touched = [[set(range(at, at + f.columns)) for at in f.column.tolist()] for f in footprints]
        assert [f.column.tolist() for f in footprints] == [(f.address.numbers + f.offset).tolist() for f in footprints]
        own, others = (np.array([random.random() < 0.7 for _ in range(THREADS)]) for _ in range(2))
        mine = [a if takes else set[int]() for a, takes in zip(touched[0], own, strict=True)]
        theirs = [b if takes else set[int]() for b, takes in zip(touched[1], others, strict=True)]
        expected = [[not a.isdisjoint(b) for b in theirs] for a in mine]
        met = one.meets(own, other, others)
        assert (np.zeros((THREADS, THREADS), np.bool_) if met is None else met).tolist() == expected
        for f, bytes_of in zip(footprints, touched, strict=True):
            everything = set[int]().union(*bytes_of)
            assert f.bounds == (min(everything), max(everything) + 1)
            bits = np.unpackbits(f.folded.view(np.uint8))
            assert set(np.flatnonzero(bits).tolist()) == {each // 16 % len(bits) for each in everything}


def access(footprints: tuple[Footprint, ...], *, write: bool, kind: AccessKind = AccessKind.GENERIC) -> Access:
    return Access(test.TestOp(), kind, ALL, () if write else footprints, footprints if write else ())


def test_accesses_are_found_by_what_they_touch():
    """Accesses near another are a superset of those that meet it, in the order of their addition."""
    random = Random(3)
    for divisor in (1, 64, 80):
        table = AccessTable()
        accesses = [access((some_bytes(random, divisor),), write=random.random() < 0.4) for _ in range(40)]
        accesses = list(dict.fromkeys(table.add(each) for each in accesses))
        for count in (9, 12, 13, 40):
            pending = random.sample(accesses, min(count, len(accesses)))
            for now in random.sample(accesses, 5):
                met = [one for one in accesses if one in pending and table.met(one, now, tensor=False) is not None]
                near = table.near(now, pending)
                assert set(met) <= set(near) <= set(pending)
                assert near == [one for one in accesses if one in near]
        for one in accesses:
            meeting = [other for other in accesses if table.met(one, other, tensor=False) is not None]
            assert not table.is_alone(one) or set(meeting) <= {one}


def test_reads_do_not_meet_and_tensor_memory_is_another():
    table = AccessTable()
    everywhere = ThreadValue((), 16, THREADS)
    bytes_, cells = Footprint.of_bytes(everywhere, 4), Footprint((), everywhere, 0, 1, 4, is_tensor=True)
    read, write = access((bytes_,), write=False), access((bytes_,), write=True)
    both = Access(test.TestOp(), AccessKind.TENSOR_CORE, read.active, (bytes_, cells), (cells,))
    assert both.footprints == (bytes_, cells, cells)
    assert both.in_tensor_memory == ((cells,), (cells,)) and both.elsewhere == ((bytes_,), ())
    found = {
        (name, other, tensor)
        for name, one in (("read", read), ("write", write), ("both", both))
        for other, another in (("read", read), ("write", write), ("both", both))
        for tensor in (False, True)
        if table.met(one, another, tensor=tensor) is not None
    }
    assert found == {
        ("read", "write", False),
        ("write", "read", False),
        ("write", "write", False),
        ("write", "both", False),
        ("both", "write", False),
        ("both", "both", True),
    }


def test_one_access_stands_for_all_that_do_the_same():
    """But writes of threads that may get in each other's way are apart: these overlap by a byte."""
    table = AccessTable()

    def stored(distance: int, offset: int = 0, kind: AccessKind = AccessKind.GENERIC) -> Access:
        rows = ThreadValue((), distance * np.arange(THREADS, dtype=np.int64)[::-1], THREADS)
        footprint = Footprint.of_bytes(rows, 8, offset)
        return table.add(Access(test.TestOp(), kind, ALL, (), (footprint,)))

    assert stored(8) is stored(8)
    assert stored(8) is not stored(8, 16) and stored(8) is not stored(9)
    assert stored(8) is not stored(8, kind=AccessKind.GLOBAL)
    assert stored(7) is not stored(7)
    assert stored(7, kind=AccessKind.BULK_LOAD) is stored(7, kind=AccessKind.BULK_LOAD)
    first = stored(8)
    assert table.earlier(first) is table.earlier(first) is not first
    assert (table.earlier(first).op, table.earlier(first).writes) == (first.op, first.writes)
    read = Footprint.of_bytes(ThreadValue((), 0, THREADS), 4)
    assert table.add(access((read,), write=False)) is table.add(access((read,), write=False))
    assert table.near(first, [first, table.earlier(first)]) == [first, table.earlier(first)]
    assert not table.is_alone(first)


def test_writes_of_each_byte_once_are_alone():
    """Also those that share granules of 16 bytes; not where one more is read, or written by a thread that is there."""
    rows = ThreadValue((), 32 * np.arange(THREADS, dtype=np.int64)[::-1], THREADS)
    first = ActiveThreads(1, THREADS, frozenset(), frozenset())

    def alone(*more: tuple[int, bool, ActiveThreads]) -> list[bool]:
        table = AccessTable()
        kept: list[Access] = []
        for offset, write, active in (*((8 * i, True, ALL) for i in range(4)), *more):
            footprints = (Footprint.of_bytes(rows, 8, offset),)
            own = ((), footprints) if write else (footprints, ())
            kept.append(table.add(Access(test.TestOp(), AccessKind.GLOBAL, active, *own)))
        return [table.is_alone(one) for one in kept]

    assert alone() == [True] * 4
    assert alone((32 * THREADS, True, ALL)) == [True] * 5
    assert not all(alone((28, True, ALL))[2:])
    assert not all(alone((25, False, ALL)))
    assert alone((32, True, first)) == [True] * 5
    assert not all(alone((32, True, ALL)))


def test_footprints_of_the_same_memory():
    rows = ThreadValue((), 8 * np.arange(THREADS, dtype=np.int64) + 20, THREADS)
    one = Footprint.of_bytes(rows, 6, 4)
    assert (one.origin, one.offset, one.rows, one.columns, one.is_tensor, one.all_warps) == ((), 4, 1, 6, False, False)
    further, nearer = (ThreadValue((), rows.numbers + by, THREADS) for by in (4, -4))
    assert one.key == Footprint.of_bytes(further, 6).key == Footprint.of_bytes(nearer, 6, 8).key
    slots = (Symbol("shared", "s"),)
    others = [
        *(
            Footprint.of_bytes(nearer, 6),
            Footprint.of_bytes(rows, 5, 4),
            Footprint.of_bytes(ThreadValue((), 24, 8), 6, 0),
        ),
        Footprint.of_bytes(ThreadValue(slots, rows.given, THREADS), 6, 4),
        Footprint((), rows, 4, 2, 6),
        Footprint((), rows, 4, 1, 6, is_tensor=True),
        Footprint((), rows, 4, 1, 6, all_warps=True),
    ]
    assert one.key not in {other.key for other in others} and len({other.key for other in others}) == 7


def test_what_several_footprints_touch():
    """All pairs that meet by some of them."""
    rows = 16 * np.arange(THREADS, dtype=np.int64)
    first, second, third = (Footprint.of_bytes(ThreadValue((), rows + at, THREADS), 4) for at in (0, 16, 4))
    own = np.arange(THREADS) != 2
    met = meet((first, second, third), own, (first, third), EVERYONE)
    assert met is not None
    assert met.tolist() == [[bool(own[t]) and (u == t or u == t + 1) for u in range(THREADS)] for t in range(THREADS)]
    assert meet((first, second), own, (third,), EVERYONE) is None
    assert meet((), own, (third,), EVERYONE) is None


def test_reads_have_no_company():
    """Two that read the same are alone, and with a write of some of it none is."""
    table = AccessTable()
    address = ThreadValue((), 64 * np.arange(THREADS, dtype=np.int64), THREADS)
    reads = [table.add(access((Footprint.of_bytes(address, 4, at),), write=False)) for at in (0, 2)]
    assert reads[0] is not reads[1] and [table.is_alone(each) for each in reads] == [True, True]
    table = AccessTable()
    accesses = [
        table.add(access((Footprint.of_bytes(address, 4, at),), write=write))
        for at, write in ((0, False), (2, False), (0, True))
    ]
    assert [table.is_alone(each) for each in accesses] == [False] * 3


def test_operands_are_found_by_all_of_their_rows():
    """Beside threads that are far apart as well."""
    table = AccessTable()
    plain = Operand(5 | 8 << 16 | 16 << 32 | 1 << 46, "K", (16, 16), 16, TCGEN05_OPERANDS)  # granules 5 to 36
    whole = table.add(access((Footprint((), ThreadValue((), 0, THREADS), 0, 1, 16, operand=plain),), write=False))
    rows = ThreadValue((), 64 * np.arange(THREADS, dtype=np.int64), THREADS)
    written = table.add(access((Footprint.of_bytes(rows, 4),), write=True))
    assert not table.is_alone(written) and not table.is_alone(whole)


def test_accesses_elsewhere_are_not_near():
    """Other rows of the same columns, of which threads have several."""
    table = AccessTable()
    rows = ThreadValue((), 4096 * np.arange(THREADS, dtype=np.int64), THREADS)
    accesses = [table.add(access((Footprint.of_bytes(rows, 4, 64 * i),), write=True)) for i in range(13)]
    assert table.near(accesses[3], accesses) == [accesses[3]]


def test_the_smallest_distance_between_threads():
    table = AccessTable()
    address = ThreadValue((), np.array([40, 8, 23, 0, 100, 101, 102, 103]), THREADS)

    def gap(mask: int) -> float:
        return table.gap(address, ActiveThreads(mask, THREADS, frozenset(), frozenset()))

    assert [gap(mask) for mask in (0xFF, 0x0F, 0x07, 0x05, 0x0B, 0x30, 0x01)] == [1, 8, 15, 17, 8, 1, inf]
    falling = ThreadValue((), np.arange(THREADS, 0, -1), THREADS)
    assert table.gap(falling, ALL) == 1 and table.gap(ThreadValue((), 7, THREADS), ALL) == 0


def test_operands_without_a_legal_layout_are_known_by_their_first_row():
    operand = Operand(5 | 1 << 61, "K", (128, 16), 16, TCGEN05_OPERANDS)  # layout type 1 is tf32 and MN-major only
    assert operand.granules == {5}
    footprint = Footprint((), ThreadValue((), 0, THREADS), 0, 1, 16, operand=operand)
    assert footprint.bounds == (80, 96)
    plain = Operand(5 | 8 << 16 | 16 << 32 | 1 << 46, "K", (16, 16), 16, TCGEN05_OPERANDS)
    # Two core matrices of 128 bytes along K, 8 granules apart, and two along the rows, 16 apart.
    assert plain.granules == set(range(5, 37))
    whole = Footprint((), ThreadValue((), 0, THREADS), 0, 1, 16, operand=plain)
    assert whole.bounds == (80, 592)
    sizes = [
        (64, 2, False),
        (79, 2, True),
        (591, 2, True),
        (592, 2, False),
        (0, 80, False),
        (0, 81, True),
        (0, 2048, True),
    ]
    for at, size, meets in sizes:
        other = Footprint.of_bytes(ThreadValue((), at, THREADS), size)
        assert (whole.meets(EVERYONE, other, EVERYONE) is not None) is meets
        assert (other.meets(EVERYONE, whole, EVERYONE) is not None) is meets
    some = Footprint.of_bytes(ThreadValue((), 16 * np.arange(THREADS, dtype=np.int64), THREADS), 17, -16)
    met = whole.meets(EVERYONE, some, EVERYONE)
    assert met is not None and met.tolist() == [[False] * 5 + [True] * 3] * THREADS
    met = some.meets(EVERYONE, whole, EVERYONE)
    assert met is not None and met.tolist() == [[False] * THREADS] * 5 + [[True] * THREADS] * 3
    up_to_a_granule = Footprint.of_bytes(some.address, 16, -16)
    met = whole.meets(EVERYONE, up_to_a_granule, EVERYONE)
    assert met is not None and met.tolist() == [[False] * 6 + [True] * 2] * THREADS
