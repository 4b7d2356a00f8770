"""Single accesses of the shadow of shared memory: what it notes, when, and what it takes for known."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of

from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.shared_shadow import SharedShadow, Writer
from tirx.sim.memory.region import Region

_THREADS, _SIZE = 96, 1086


def _new() -> tuple[Clocks, SharedShadow]:
    clocks = Clocks(_THREADS)
    return clocks, SharedShadow(clocks, _SIZE, _THREADS // 32)


def _store(shadow: SharedShadow, offset: int, thread: int, width: int = 4, kind: Writer = Writer.GENERIC) -> None:
    shadow.store(np.array([offset]), width, np.array([thread]), kind)


def test_what_exists() -> None:
    """The first 1024 bytes are the system's, which has written them; words are counted up to the last byte."""
    _, shadow = _new()
    shadow.load(np.array([0, 512, 1020]), 4, np.array([1, 2, 3]), False)
    assert message_of(lambda: shadow.load(np.array([1020, 1024]), 4, np.array([1, 2]), False)) == (
        "a load reads shared address 0x400, which was never written"
    )
    assert shadow.undefined(np.array([[0, 1023], [1023, 1024], [1085, 0]])).tolist() == [False, True, True]
    assert [len(each) for each in (shadow._last_read, shadow._writes._numbers, shadow._async._numbers)] == [272] * 3
    assert shadow.swizzles.tolist() == [-1] * _SIZE


def test_the_last_of_equal_accesses_counts() -> None:
    """Writes that are put off are noted in their order, though one of them replaces its like."""
    clocks, shadow = _new()
    for thread in (1, 40, 1):
        clocks.known[:] = clocks.now
        clocks.now += 1
        _store(shadow, 1032, thread)
    assert [each.tolist() for each in shadow.writes_at(4)] == [[1032, 1033, 1034, 1035], [1] * 4]
    assert [each.tolist() for each in shadow.writes_at(3)] == [[], []]
    assert shadow.writes(np.array([1032, 1036])).instants.tolist() == [4, 0]


def test_sets_of_readers_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets with too many readers become all threads, which includes those that have read."""
    monkeypatch.setattr("tirx.sim.hazards.shared_shadow._MOST_READERS", 2)
    clocks, shadow = _new()
    _store(shadow, 1024, 5)
    clocks.known[:] = clocks.now
    found: list[set[tuple[int, ...]]] = []
    for threads in ([3], [3], [40, 41], [3], [70], [3]):
        clocks.now += 1
        shadow.load(np.full(len(threads), 1024), 4, np.array(threads), False)
        found.append(set(shadow._readers))
    few = {(3, 3), (40, 41)}
    assert found == [{(3, 3)}] * 2 + [few] * 2 + [{(0, 95), (70, 70)}, {(0, 95), (3, 3)}]
    assert shadow._warp_reads.tolist() == [True] * 3


@pytest.mark.parametrize("width", [1, 2, 4])
def test_forgotten_bytes(width: int) -> None:
    """They are as never written until the next write, also where all that happened is known."""
    clocks, shadow = _new()
    offsets, threads = np.arange(1024, 1056, 4), np.arange(8)
    words = np.arange(1024, 1056).reshape(-1, 4)

    def load() -> None:
        shadow.load(offsets, 4, threads, False)

    def read() -> None:
        shadow.async_read(Region.of(np.arange(1040, 1048)), np.array([3]), "it", Row.BULK_READ)

    shadow.store(offsets, 4, threads, Writer.GENERIC)
    clocks.known[:] = clocks.now
    load()
    shadow.forget(np.arange(1045, 1045 + width)[None])
    assert np.flatnonzero(shadow.undefined(words)).tolist() == ([5, 6] if width == 4 else [5])
    assert message_of(load) == "a load reads shared address 0x415, which was never written"
    assert message_of(read) == "it reads shared address 0x415, which was never written"
    shadow.load(np.array([1040, 1052]), 4, np.array([4, 7]), False)
    for offset in (1044, 1048):
        _store(shadow, offset, 9)
    clocks.known[:] = clocks.now
    load()
    read()


@together(
    ("row", "reader", "waited"),
    [
        (Row.BULK_READ, "a bulk copy", "cp.async.bulk.wait_group"),
        (Row.TENSOR_DONE, "tcgen05", "the mbarrier of a tcgen05.commit"),
        (Row.A_READ, "tcgen05", "the mbarrier of a tcgen05.commit"),
        (Row.WARPGROUP_READ, "wgmma", "wgmma.wait_group"),
    ],
)
@together("last", [1047, 1045])
def test_writes_behind_asynchronous_reads(row: Row, reader: str, waited: str, last: int) -> None:
    """The writer knows of the last reader's completion: of its thread, by its row, at its time."""
    clocks, shadow = _new()
    for offset in (1040, 1044):
        _store(shadow, offset, 2)
    clocks.known[:] = clocks.now
    clocks.now = 7
    shadow.async_read(Region.of(np.arange(1040, last + 1)), np.array([30, 33]), "it", row)
    clocks.known[[each for each in Row if each is not row]] = 7
    clocks.known[row, 50, :33] = clocks.known[row, 50, 34:] = 7
    clocks.known[row, :, 33] = 6
    clocks.known[row, 51, 33] = 7
    clocks.now = 9
    message = f"is written by thread 50 while {reader} may still read it: {waited} was not waited for"
    region = Region.of(np.arange(1036, 1048))
    both = np.array([1036, 1044]), 4, np.array([51, 50]), Writer.GENERIC
    for write, address in (
        (lambda: shadow.store(*both), "0x414"),
        (lambda: shadow.async_write(region, 50, "it", 9), "0x410"),
        (lambda: shadow.deferred_store(np.arange(1039, 1044), 50, "it", False, 9), "0x410"),
        (lambda: shadow.set_mbarrier(1040, 50, True), "0x410"),
    ):
        assert message_of(write) == f"shared address {address} {message}"
    _store(shadow, 1036, 50)
    if last == 1045:
        _store(shadow, 1046, 50, 1)
    clocks.known[row, 50, 33] = 7
    _store(shadow, 1044, 50)
    shadow.async_write(Region.of(np.arange(1040, 1043)), 51, "it", 9)


_RACE = "is written by thread 50 though the read by thread {} is not ordered before that: data race"
_UNFENCED = (
    "is written by an asynchronous copy of thread 50, but thread {} has read it through the generic proxy: expected "
    "fence.proxy.async in that thread behind the read, before it synchronises with the copy's thread, or in the latter "
    "after that"
)


@together("told", [False, True])
@together(
    ("late", "store", "copy", "certain"),
    [
        ({}, "", "", False),
        # Of thread 3, which reads at 0x40c, the writer knows too little.
        ({3: [Row.GENERIC]}, "0x40c " + _RACE.format(3), "0x40c " + _RACE.format(3), True),
        ({3: [Row.PROXY]}, "", "0x40c " + _UNFENCED.format(3), False),
        ({3: [Row.PROXY, Row.READ]}, "", "0x40c " + _UNFENCED.format(3), True),
        ({3: [Row.READ]}, "", "", False),
        # Thread 4 reads at 0x410; the load that has not returned is the one to be reported.
        ({3: [Row.PROXY], 4: [Row.PROXY, Row.READ]}, "", "0x410 " + _UNFENCED.format(4), True),
        ({3: [Row.READ], 4: [Row.PROXY]}, "", "0x410 " + _UNFENCED.format(4), False),
        ({3: [Row.PROXY], 4: [Row.GENERIC]}, "0x410 " + _RACE.format(4), "0x410 " + _RACE.format(4), True),
        # Thread 70, of another warp, has read 0x410 as well; its own reads do not race with the writer.
        ({70: [Row.GENERIC]}, "0x410 " + _RACE.format(70), "0x410 " + _RACE.format(70), True),
        ({70: [Row.PROXY]}, "", "0x410 " + _UNFENCED.format(70), False),
        ({50: [Row.GENERIC]}, "", "", False),
        ({50: [Row.PROXY]}, "", "0x414 " + _UNFENCED.format(50), False),
    ],
)
def test_writes_behind_generic_reads(
    told: bool, late: dict[int, list[Row]], store: str, copy: str, certain: bool
) -> None:
    """An asynchronous copy needs a fence of the proxy too. If the load has returned, GPUs do without."""
    notes: list[tuple[str, str]] = []
    copied = Region.of(np.arange(1032, 1047))
    for is_copy, expected in ((False, store), (True, copy)):
        clocks = Clocks(_THREADS)
        shadow = SharedShadow(clocks, _SIZE, 3, (lambda rule, text: notes.append((rule, text))) if told else None)
        shadow.store(np.arange(1024, 1056, 4), 4, np.arange(8), Writer.GENERIC)
        clocks.known[:] = 5
        clocks.now = 6
        shadow.load(np.array([1036, 1040]), 4, np.array([3, 4]), False)
        shadow.load(np.array([1044, 1040]), 4, np.array([50, 70]), False)
        clocks.known[:, :, [3, 4, 50, 70]] = 6
        for thread, rows in late.items():
            clocks.known[rows, 50, thread] = 5
        clocks.now = 8

        def write(shadow: SharedShadow = shadow, is_copy: bool = is_copy) -> None:
            if is_copy:
                shadow.async_write(copied, 50, "it", 9)
            else:
                shadow.store(np.arange(1032, 1048, 4), 4, np.full(4, 50), Writer.GENERIC)

        if expected and (certain or not told):
            assert message_of(write) == f"shared address {expected}"
        else:
            write()
    noted = told and copy and not certain
    assert notes == ([("fence.proxy.async behind reads", f"shared address {copy}")] if noted else [])


@together(("read", "refused"), [(1028, False), (1032, True), (1036, True), (1040, False)])
def test_places_of_mbarrier_objects(read: int, refused: bool) -> None:
    """Two words, of which nothing is taken for known any more."""
    clocks, shadow = _new()
    shadow.store(np.arange(1024, 1048, 4), 4, np.arange(6), Writer.GENERIC)
    clocks.known[:] = clocks.now
    clocks.now = 3
    shadow.load(np.array([read]), 4, np.array([40]), False)
    if refused:
        assert message_of(lambda: shadow.set_mbarrier(1032, 50, True)) == (
            f"shared address {read:#x} {_RACE.format(40)}"
        )
        clocks.known[Row.GENERIC, 50, 40] = 3
    shadow.set_mbarrier(1032, 50, True)
    numbers = shadow._writes._numbers
    assert np.flatnonzero(numbers == -1).tolist() == [258, 259] and numbers[256:262].tolist() == [1, 1, -1, -1, 1, 1]
    clocks.known[:] = clocks.now
    for offset, width in ((1032, 4), (1036, 4), (1024, 16)):
        inside = f"touches shared address {max(offset, 1032):#x}, which is in an mbarrier object"
        for strong in (False, True):
            load = partial(shadow.load, np.array([offset]), width, np.array([50]), strong)
            assert message_of(load) == f"a load {inside}"
        assert message_of(partial(_store, shadow, offset, 50, width)) == f"a store {inside}"
    for offset in (1028, 1040):
        shadow.load(np.array([offset]), 4, np.array([50]), False)
    shadow.set_mbarrier(1032, 50, False)
    assert shadow.undefined(np.arange(1028, 1044).reshape(4, 4)).tolist() == [False, True, True, False]
    _store(shadow, 1032, 50, 8)
    shadow.load(np.array([1032]), 8, np.array([50]), False)
