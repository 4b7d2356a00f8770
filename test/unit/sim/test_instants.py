"""Clocks, and the short cuts of checks: what they say, and that they are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim.errors import HazardError
from tirx.sim.hazards import clocks as clocks_of
from tirx.sim.hazards import instants
from tirx.sim.hazards.clocks import Clocks, Row, span_of
from tirx.sim.hazards.instants import Instants
from tirx.sim.hazards.monitor import (
    Stored,
    _are_apart,  # pyright: ignore[reportPrivateUsage]
)
from tirx.sim.hazards.shared_shadow import SharedShadow, Writer
from tirx.sim.memory.region import Region

_SETS = ([0], [5], [0, 1, 2], [3, 4, 5, 6], [0, 2], [1, 4, 6], [2, 3, 5])


def test_names_of_sets():
    named = [span_of(np.array(each)) for each in _SETS]
    assert named == [(0, 0), (5, 5), (0, 2), (3, 6), (-1, 0, 2), (-1, 1, 4, 6), (-1, 2, 3, 5)]


def test_what_all_know(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clocks_of, "_MOST_BOUNDS", 5)
    clocks = Clocks(7)
    clocks.known[Row.LOADED] = np.random.default_rng(3).integers(2, 9, (7, 7))
    for _ in range(2):
        for observers in _SETS:
            for threads in _SETS:
                least = int(clocks.known[Row.LOADED][np.ix_(observers, threads)].min())
                spans = span_of(np.array(observers)), span_of(np.array(threads))
                found = [clocks.all_know(Row.LOADED, *spans, least + more) for more in (-1, 0, 1)]
                assert found == [True, True, False]
                clocks.known[Row.LOADED][np.ix_(observers, threads)] += 1
                assert clocks.all_know(Row.LOADED, *spans, least + 1)
                assert len(clocks._bounds) <= 6  # pyright: ignore[reportPrivateUsage]
    assert not clocks.all_know(Row.STORED, (0, 6), (0, 6), 1) and clocks.all_know(Row.STORED, (0, 6), (0, 6), 0)


def test_answers_are_kept(monkeypatch: pytest.MonkeyPatch):
    """Until there are too many; then all go but the last one."""
    monkeypatch.setattr(clocks_of, "_MOST_BOUNDS", 3)
    clocks = Clocks(9)
    clocks.known[Row.LOADED] = 4
    sizes: list[int] = []
    for observer in (0, 0, 1, 2, 3, 3, 4, 5, 4):
        assert clocks.all_know(Row.LOADED, (observer, observer), (0, 8), 4)
        sizes.append(len(clocks._bounds))  # pyright: ignore[reportPrivateUsage]
    assert sizes == [1, 1, 2, 3, 4, 4, 1, 2, 2]


@together("threads", _SETS)
def test_what_threads_hand_on(threads: list[int]):
    """A release takes the most that any of them knows, and an acquire adds it to what each knows."""
    clocks, rng = Clocks(7), np.random.default_rng(1)
    clocks.known[:] = before = rng.integers(0, 9, clocks.known.shape)
    clocks.now = 50
    places = np.array(threads)
    before = before.copy()
    for thread in threads:
        before[[Row.GENERIC, Row.REACHED, Row.VISIBLE, Row.HANDED], thread, thread] = 50
    snapshot = clocks.release(places)
    expected = before[:, threads].max(axis=1)
    assert np.array_equal(snapshot, expected) and np.array_equal(clocks.known, before)
    clocks.acted(places)
    assert np.array_equal(clocks.known[:, places], before[:, threads])
    others = np.array(_SETS[-1])
    assert clocks.knows(others, snapshot) is False
    clocks.acquire(others, snapshot)
    assert clocks.knows(others, snapshot) is True
    before[:, others] = np.maximum(before[:, others], expected[:, None])
    assert np.array_equal(clocks.known, before)
    snapshot[Row.LOADED, 4] = 99
    assert not clocks.knows(others, snapshot)
    clocks.own(Row.READ, places)
    clocks.own_all(Row.STORED, others)
    clocks.own(Row.COPIED, others, np.array([3, 60, 70]))
    before[Row.READ, threads, threads] = 50
    before[Row.STORED][np.ix_(others, others)] = 50
    before[Row.COPIED, others, others] = np.maximum(before[Row.COPIED, others, others], [3, 60, 70])
    assert np.array_equal(clocks.known, before)
    assert clocks.nothing().shape == (len(Row), 7) and clocks.nothing_of_all().shape == (len(Row), 7, 7)
    assert not clocks.nothing().any() and not clocks.nothing_of_all().any()


def test_nobody_hands_on_nothing():
    clocks = Clocks(3)
    clocks.acquire(np.array([], np.int64), clocks.nothing() + 5)
    assert not clocks.known.any() and clocks.now == 1


# Words 0-2 by threads 0-2 at instant 5 (known by LOADED), 3-4 by thread 5 at 7 (STORED, and COPIED if foreign).


def _two() -> tuple[Clocks, Instants]:
    clocks = Clocks(7)
    found = Instants(clocks, 12)
    clocks.now = 5
    found.note(slice(0, 3), (0, 2), (Row.LOADED,), (Row.LOADED, Row.COPIED))
    clocks.now = 7
    found.note(np.array([[3], [4]]), (5, 5), (Row.STORED,), (Row.COPIED,))
    found.blur(slice(9, 10))
    return clocks, found


def test_words_that_are_settled():
    clocks, found = _two()
    observer = (6, 6)
    for words in (slice(5, 9), np.array([5, 10])):
        assert found.settled(words, observer) and not found.settled(words, observer, written=True)
    assert not found.settled(slice(5, 10), observer)
    for words in (slice(0, 2), slice(2, 6), np.array([4])):
        assert not found.settled(words, observer)
    clocks.known[Row.LOADED, 6, 0:3] = 4, 5, 5
    assert not found.settled(slice(0, 2), observer)
    clocks.known[Row.LOADED, 6, 0] = 5
    for words in (slice(0, 2), np.array([0, 7]), np.array([[2], [1]])):
        assert found.settled(words, observer)
        assert not found.settled(words, observer, foreign=True) and not found.settled(words, (5, 6))
    assert found.settled(slice(0, 3), observer, written=True)
    assert not found.settled(slice(0, 4), observer)
    clocks.known[Row.STORED, 6, 5] = 7
    assert found.settled(slice(0, 5), observer, written=True)
    assert not found.settled(slice(0, 6), observer, written=True) and found.settled(slice(0, 6), observer)
    clocks.known[Row.COPIED, 6] = 7
    assert found.settled(slice(0, 5), observer, foreign=True)


def test_how_much_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    clocks, found = Clocks(2), Instants(Clocks(2), 9)
    monkeypatch.setattr(instants, "_MOST", 2)
    monkeypatch.setattr(instants, "_KEPT", 4)
    for word in range(4):
        found.note(slice(word, word + 1), (0, 0), (), ())
    assert [found.settled(slice(first, 4), (1, 1)) for first in range(3)] == [False, True, True]
    assert found.settled(np.array([2, 8]), (1, 1)) and not found.settled(np.array([3, 8]), (1, 1))
    found.note(slice(4, 5), (0, 0), (), ())  # the fifth one: the first is forgotten
    assert found.settled(slice(1, 2), (1, 1)) and not found.settled(slice(0, 1), (1, 0))
    assert clocks.now == 1


def test_what_is_remembered(monkeypatch: pytest.MonkeyPatch):
    """An answer is looked up the next time, until there are too many."""
    clocks = Clocks(9)
    found = Instants(clocks, 9)
    found.note(slice(0, 9), (0, 0), (), ())
    monkeypatch.setattr(instants, "_KEPT", 2)
    known: Any = found._known  # pyright: ignore[reportPrivateUsage]
    sizes: list[int] = []
    for observer in (1, 1, 2, 3, 4, 3):
        assert found.settled(slice(0, 9), (observer, observer))
        sizes.append(len(known))
    assert sizes == [1, 1, 2, 3, 1, 2]
    monkeypatch.setattr(found, "_is_known", None)
    assert found.settled(slice(3, 4), (3, 3))


class _Looked(Exception):
    """A check looks at bytes."""


_HALVES = np.arange(1024, 1024 + 128, 4)
_ALL = np.arange(32)
_REGION = Region.of(np.arange(1024, 1024 + 128))
_PART = Region.of(np.concatenate([np.arange(1024, 1040), np.arange(1048, 1056)]))


def _store(shadow: SharedShadow, kind: Writer = Writer.GENERIC) -> None:
    shadow.store(_HALVES, 4, _ALL, kind)


def _settle(clocks: Clocks) -> None:
    clocks.known[:] = clocks.now
    clocks.now += 1


_EVENTS: dict[str, Callable[[SharedShadow], Any]] = {
    "load": lambda shadow: shadow.load(_HALVES, 4, _ALL, False),
    "load pairs": lambda shadow: shadow.load(1024 + np.arange(0, 128, 8), 8, np.arange(40, 56), False),
    "store": _store,
    "store bytes": lambda shadow: shadow.store(1024 + np.arange(32), 1, _ALL, Writer.GENERIC),
    "store halves": lambda shadow: shadow.store(1024 + np.arange(0, 64, 2), 2, _ALL, Writer.COPY),
    "store pairs": lambda shadow: shadow.store(1024 + np.arange(0, 128, 8), 8, np.arange(3, 35, 2), Writer.STRONG),
    "async read": lambda shadow: shadow.async_read(_REGION, np.array([3, 40]), "it", Row.BULK_READ),
    "async read of parts": lambda shadow: shadow.async_read(_PART, np.array([3]), "it", Row.TENSOR_DONE),
    "async write": lambda shadow: shadow.async_write(_REGION, 37, "it", 9),
    "async write of parts": lambda shadow: shadow.async_write(_PART, 37, "it", 9),
}


def test_what_is_known_is_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    """After any two accesses that are over, none of the others looks at bytes."""

    def refuse(*_: object) -> None:
        raise _Looked

    for first in _EVENTS:
        for second in _EVENTS:
            clocks = Clocks(64)
            shadow = SharedShadow(clocks, 2048, 2)
            _store(shadow)
            for name in (first, second):
                _settle(clocks)
                _EVENTS[name](shadow)
            _settle(clocks)
            for third in _EVENTS:
                with monkeypatch.context() as patch:
                    patch.setattr(shadow, "catch_up", refuse)
                    _EVENTS[third](shadow)
                _settle(clocks)


def test_a_part_of_a_word_is_looked_at():
    """Three bytes of a word: nothing is known of the fourth."""
    clocks = Clocks(64)
    shadow = SharedShadow(clocks, 2048, 2)
    _store(shadow)
    _settle(clocks)
    shadow.store(1024 + np.array([0, 1, 2]), 1, np.array([32, 33, 34]), Writer.GENERIC)
    found = shadow.writes(np.arange(1024, 1030))
    assert found.instants.tolist() == [2, 2, 2, 1, 1, 1] and found.by_threads.all()


def test_swizzles_of_copies():
    """They count where a bulk copy wrote last."""
    clocks = Clocks(64)
    shadow = SharedShadow(clocks, 2048, 2)
    _EVENTS["async write"](shadow)
    shadow.swizzles[1024:1060] = 3
    _settle(clocks)
    shadow.store(1024 + np.arange(8), 1, np.arange(8), Writer.COPY)
    places = np.array([1024, 1032, 1059, 1060, 1152])
    found = shadow.writes(places)
    assert found.swizzles.tolist() == [-1, 3, 3, -1, -1]
    assert found.by_threads.tolist() == [True, False, False, False, False]
    _settle(clocks)
    _EVENTS["async write"](shadow)
    assert (shadow.writes(places).swizzles == -1).all()


def test_what_is_put_off_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tirx.sim.hazards.shared_shadow._MOST_LATER", 3)
    clocks = Clocks(64)
    shadow = SharedShadow(clocks, 2048, 2)
    log: Any = shadow._log  # pyright: ignore[reportPrivateUsage]
    sizes: list[int] = []
    for offset in (1024, 1028, 1024, 1032, 1036, 1040):
        shadow.store(np.array([offset]), 4, np.array([1]), Writer.GENERIC)
        sizes.append(len(log))
        _settle(clocks)
    assert sizes == [1, 2, 2, 3, 0, 1]


def test_stores_that_are_apart():
    for width in (1, 2, 8):
        places = np.arange(16, 32) * width
        assert _are_apart(places.tobytes(), width) and _are_apart(places[:1].tobytes(), width)
        assert not _are_apart(np.append(places, places[3]).tobytes(), width)


def test_stores_that_clash():
    memory = np.zeros(2048, np.uint8)
    values = np.array([[0x01020304], [0x05060708], [0x01020304]], np.uint32)
    Stored(np.array([1024, 1028, 1024]), values, memory).refuse_clash(np.arange(3))
    values[2] = 0x01090304
    with pytest.raises(
        HazardError, match="data race: lanes of one store write different values to shared address 0x402"
    ):
        Stored(np.array([1024, 1028, 1024]), values, memory).refuse_clash(np.arange(3))
    for apart in (np.array([1024]), np.array([1024, 1028, 1032])):
        Stored(apart, values[: len(apart)], memory).refuse_clash(np.arange(3))
    same = np.array([1024, 1024])
    with pytest.raises(HazardError, match="different values to shared address 0x403"):
        Stored(same, np.array([[0x01020304], [0x02020304]], np.uint32), memory).refuse_clash(np.arange(3))
    stored = Stored(same, np.array([[0], [1 << 24]], np.uint32), memory)
    other = Stored(same, np.array([[1], [1 << 24]], np.uint32), memory)
    assert stored.finds_as(other) and stored.without_values().finds_as(other)
    assert stored.changes().tolist() == [False, True]
    kept = stored.without_values()
    assert kept.changes().tolist() == [False, True] and kept.width == 4
    assert not kept.finds_as(other) and kept.finds_as(Stored(same, np.array([[0], [5]], np.uint32), memory))
    assert not kept.finds_as(Stored(same, np.zeros((2, 1), np.uint64), memory))
