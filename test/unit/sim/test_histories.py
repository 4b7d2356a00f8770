"""Clusters that share a checker get the answers of checkers of their own, however they differ and are interleaved."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from tirx.sim.hazards import shared_checker
from tirx.sim.hazards.monitor import Stored
from tirx.sim.hazards.shared_checker import ClusterChecker, SharedChecker
from tirx.sim.memory.region import Region

_QUERIES = ("knows", "shared_undefined", "shared_writes", "shared_writes_at")


class _Recorder:
    """A checker whose answers name everything that it was told."""

    made = told_in_all = 0

    def __init__(self) -> None:
        _Recorder.made += 1
        self.told: tuple[object, ...] = ()
        self.now, self.tolerant = 1, False

    def copy(self) -> _Recorder:
        found = _Recorder()
        found.told, found.now = self.told, self.now
        return found

    def tick(self, line: int = 0) -> None:
        self.now += 1

    def mark(self) -> int:
        return self.now

    def __getattr__(self, name: str) -> Callable[..., object]:
        def method(*arguments: Any, **options: Any) -> object:
            _Recorder.told_in_all += 1
            event = (name, self.now, self.tolerant, tuple(map(_digest, arguments)), tuple(options.items()))
            if name not in _QUERIES:
                self.told = hash((self.told, event)), len(self.told)
            return hash((self.told, event))

        return method


def _digest(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return cast("Any", value).shape, tuple(cast("Any", value).ravel().tolist())
    match value:
        case Region():
            return value.key
        case Stored():
            return value.width, tuple(value.changes().tolist())
        case _:
            return value


Event = tuple[str, tuple[Any, ...], dict[str, Any], int, bool]
"""Name, arguments, options, instructions that start before it, and whether the monitor is tolerant."""


def _event(rng: np.random.Generator) -> Event:
    offsets = rng.integers(0, 2, 3) * 4
    threads = np.arange(3)
    ticks, tolerant = int(rng.integers(0, 3)), bool(rng.random() < 0.2)
    match int(rng.integers(8)):
        case 0:
            return "shared_load", (0, offsets, 4, threads), {}, ticks, tolerant
        case 1:
            return "shared_load", (0, offsets, 4, threads), {"strong": bool(rng.integers(2))}, ticks, tolerant
        case 2:
            large = np.zeros(513, np.int64)  # more than is compared as bytes
            large[-1] = rng.integers(2)
            return "shared_atomic", (0, large, 4, np.arange(513)), {}, ticks, tolerant
        case 3:
            return "acquire", (threads, rng.integers(0, 2, (2, 1))), {}, ticks, tolerant
        case 4:
            return "knows", (threads, rng.integers(0, 2, (2, 1))), {}, ticks, tolerant
        case 5:
            region = Region.of(np.arange(1024, 1024 + 4 * int(rng.integers(1, 3))))
            return "async_read", (0, region, 1, "it"), {}, ticks, tolerant
        case 6:
            values = rng.integers(0, 2, (3, 1)).astype(np.uint32)
            stored = Stored(np.arange(0, 12, 4), values, np.zeros(12, np.uint8))
            return "shared_store", (0, np.arange(0, 12, 4), stored, threads, bool(rng.integers(2))), {}, ticks, tolerant
        case _:
            return "mark", (), {}, ticks, tolerant


def _program(rng: np.random.Generator, base: list[Event]) -> list[Event]:
    """The events of a cluster: those of others with a change or two."""
    found = list(base)
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 3))):
            place = int(rng.integers(len(found)))
            if rng.random() < 0.5:
                found[place] = _event(rng)
            else:
                found[place:place] = [("knows", (np.arange(2), None), {}, 0, False)]
    if rng.random() < 0.2:
        del found[int(rng.integers(1, len(found))) :]
    return found


class _Cluster:
    """A cluster that tells both its shared monitor and a recorder of its own."""

    def __init__(self, monitor: Any, events: list[Event]):
        self.monitor, self.events, self.place = monitor, events, 0
        self.own: Any = _Recorder()
        self.ticks = 0

    def step(self) -> bool:
        """Tells of one event; False at the end."""
        if self.place == len(self.events):
            self.monitor.ended()
            return False
        name, arguments, options, ticks, tolerant = self.events[self.place]
        self.place += 1
        for _ in range(ticks):
            self.monitor.tick()
        self.ticks += ticks
        self.monitor.tolerant = self.own.tolerant = tolerant
        # Registers, which change behind the access.
        given: tuple[Any, ...] = tuple(each.copy() if getattr(each, "ndim", 0) == 1 else each for each in arguments)
        found = getattr(self.monitor, name)(*given, **options)
        for each, old in zip(given, arguments, strict=True):
            if each is not old:
                each[:] = -1
        if self.ticks and name not in _QUERIES:
            self.ticks = 0
            self.own.tick()  # several instructions without events are one
        expected = getattr(self.own, name)(*arguments, **options)
        assert found == (None if name == "shared_store" else expected), (name, self.place)
        return True


@pytest.mark.parametrize(
    ("seed", "limit", "budget", "small"),
    [(1, 1 << 26, 1 << 27, 4096), (2, 6000, 1 << 27, 8), (3, 3000, 9000, 24), (4, 0, 0, 0), (5, 2000, 1 << 27, 4096)],
)
def test_answers(monkeypatch: pytest.MonkeyPatch, seed: int, limit: int, budget: int, small: int):
    monkeypatch.setattr(shared_checker, "_LIMIT", limit)
    monkeypatch.setattr(shared_checker, "_BUDGET", budget)
    monkeypatch.setattr(shared_checker, "_SMALL", small)
    rng = np.random.default_rng(seed)
    for _ in range(7):
        base = [_event(rng) for _ in range(25)]
        shared = SharedChecker(_Recorder)  # pyright: ignore[reportArgumentType]
        programs = [base, base]
        for _ in range(6):
            programs.append(_program(rng, programs[rng.integers(len(programs))]))
        waiting: list[list[Event]] = [programs[i] for i in rng.permutation(len(programs))]
        running: list[_Cluster] = []
        while running or waiting:
            if waiting and (not running or rng.random() < 0.1):
                running.append(_Cluster(shared.of_cluster(), waiting.pop()))
            cluster = running[rng.integers(len(running))]
            for _ in range(int(rng.integers(1, 30))):
                if not cluster.step():
                    running.remove(cluster)
                    break


_SAME: list[Event] = [("acquire", (np.arange(3), np.full((2, 2), number)), {}, 1, False) for number in range(10)]
_PARTS = [*_SAME[:6], _SAME[0], *_SAME[7:]]


def _count(shared: SharedChecker, programs: list[list[Event]], turns: bool = False) -> tuple[int, int]:
    """Returns how many checkers are made, and how many events they are told."""
    _Recorder.made = _Recorder.told_in_all = 0
    clusters: list[tuple[Any, list[Event]]] = []
    for events in programs:
        clusters.append((shared.of_cluster(), events))
        if not turns:
            _run(*clusters[-1])
    if turns:
        for place in range(10):
            for monitor, events in clusters:
                _run(monitor, events[place : place + 1], place == 9)
    return _Recorder.made, _Recorder.told_in_all


def _run(monitor: ClusterChecker, events: list[Event], end: bool = True) -> None:
    for name, arguments, options, _, _ in events:
        monitor.tick()
        getattr(monitor, name)(*arguments, **options)
    if end:
        monitor.ended()


def test_what_is_shared(monkeypatch: pytest.MonkeyPatch):
    new: Any = _Recorder
    assert _count(SharedChecker(new), [_SAME] * 5) == (1, 10)
    # A question that is not asked by all of them.
    asked: Event = ("knows", (np.arange(3), None), {}, 0, False)
    assert _count(SharedChecker(new), [[*_SAME[:3], asked, *_SAME[3:]], _SAME]) == (1, 11)
    # Two that part after six events: each needs a checker, and the second is told the six again.
    assert _count(SharedChecker(new), [_SAME, _PARTS, _PARTS, _SAME]) == (2, 20)
    assert _count(SharedChecker(new), [_SAME, _PARTS] * 3, turns=True) == (2, 20)
    # A shorter one first: the longer one goes on behind its events.
    assert _count(SharedChecker(new), [_SAME[:4], _SAME]) == (2, 14)
    monkeypatch.setattr(shared_checker, "_BUDGET", 10 * (500 + 24 + 32) - 1)
    assert _count(SharedChecker(new), [_SAME] * 5) == (5, 50)
    monkeypatch.setattr(shared_checker, "_BUDGET", 10 * (500 + 24 + 32))
    assert _count(SharedChecker(new), [_SAME] * 5) == (1, 10)
    # A record of five events: the first cluster alone forgets them, and the next one starts anew.
    monkeypatch.setattr(shared_checker, "_LIMIT", 5 * (500 + 24 + 32))
    assert _count(SharedChecker(new), [_SAME] * 3) == (3, 30)
    # Side by side, one needs what the other has: only what lies behind both goes.
    assert _count(SharedChecker(new), [_SAME] * 3, turns=True)[0] <= 2


def test_records_of_branches_count(monkeypatch: pytest.MonkeyPatch):
    """Ten events and four behind them that differ."""
    new: Any = _Recorder
    size = 14 * (500 + 24 + 32)
    for budget, found in ((size, (2, 20)), (size - 1, (3, 30))):
        monkeypatch.setattr(shared_checker, "_BUDGET", budget)
        assert _count(SharedChecker(new), [_SAME, _PARTS, _SAME]) == found


def test_arguments_are_compared():
    """Small arrays of one dimension as bytes; all others by what they hold."""
    count = shared_checker._SMALL // 8
    short, long = np.arange(count), np.arange(count + 1)
    assert shared_checker._mark(short) == short.tobytes()
    for kept in (long, np.zeros((2, 2)), "it", 7, None):
        assert shared_checker._mark(kept) is kept
    region, stored = Region.of(np.arange(1024, 1040)), Stored(np.array([8]), np.ones((1, 4), np.uint8), np.zeros(12))
    stored.changes()
    table, places, memory = np.array([[1, 2], [3, 4]]), np.array([4]), np.zeros(12)
    cases: list[tuple[object, object, object]] = [
        (short.tobytes(), short.copy(), np.append(short[:-1], 0)),
        (long, long.copy(), np.append(long[:-1], 0)),
        (table, table.copy(), table.T),
        (region, Region.of(np.arange(1024, 1040)), Region.of(np.arange(1024, 1036))),
        (
            stored.without_values(),
            Stored(places, np.full((1, 1), 5, np.uint32), memory),
            Stored(places, np.zeros((1, 4), np.uint8), memory),
        ),
        ("it", "it", "its"), (7, 7, 8), (None, None, 0), (b"ab", np.frombuffer(b"ab", np.uint8), short.reshape(1, -1)),
    ]  # fmt: skip
    for index, (mark, _, other) in enumerate(cases):
        found = [each for each, (_, equal, _) in enumerate(cases) if shared_checker._is_same(mark, equal)]
        assert found == [index] and not shared_checker._is_same(mark, other)
        assert not shared_checker._is_same(mark, short.reshape(1, -1))
    narrow = Stored(places, np.full((1, 1), 5, np.uint16), memory)
    assert not shared_checker._is_same(stored.without_values(), narrow)


def _history(monkeypatch: pytest.MonkeyPatch, limit: int) -> shared_checker._History:
    monkeypatch.setattr(shared_checker, "_BRANCH_LIMIT", 1 << 20)
    new: Any = _Recorder
    return shared_checker._History(new, limit, 0, [], None)


def test_branches_of_a_record(monkeypatch: pytest.MonkeyPatch):
    """A cluster follows the branch that has its next event; a branch that has forgotten it is none for it."""
    history = _history(monkeypatch, 1 << 20)
    _run(ClusterChecker(history), _SAME[:6], False)
    calls: list[Any] = [(name, arguments, {}, True, False) for name, arguments, *_ in _SAME[7:9]]
    empty, one = history.branch(6, calls[0]), history.branch(6, calls[0])
    assert empty is not one and history.branches == {6: [empty, one]}
    assert (one.first, one.events, one.size) == (0, history.events, 0) and one.events is not history.events
    one.add(shared_checker._Event(*calls[0]))
    assert (one.end, one.size, history.size) == (7, _SIZE, 7 * _SIZE)
    assert history.branch(6, calls[0]) is one
    other = history.branch(6, calls[1])
    other.add(shared_checker._Event(*calls[1]))
    assert history.branches == {6: [empty, one, other]} and history.branch(6, calls[1]) is other
    for first, follows in ((6, True), (7, False)):
        one.first, one.events = first, one.events[-1:] * 2
        assert (history.branch(6, calls[0]) is one) is follows


def test_clusters_that_part_leave_a_record(monkeypatch: pytest.MonkeyPatch):
    """It needs no checker once all have left."""
    history = _history(monkeypatch, 1 << 20)
    first, second = ClusterChecker(history), ClusterChecker(history)
    _run(first, _SAME[:7], False)
    _run(second, _PARTS[:6], False)
    assert history.members == {first, second}
    _run(second, _PARTS[6:8], False)
    (branch,) = history.branches[6]
    assert history.members == {first} and branch.members == {second} and (history.end, branch.end) == (7, 8)
    assert history.checker is not None and branch.checker is not None
    _run(first, _SAME[7:8])
    assert not history.members and history.checker is None and branch.checker is not None
    second.ended()
    assert not branch.members and branch.checker is None


_SIZE = 500 + 24 + 32
"""Bytes of an event of `_SAME`."""


def test_what_a_record_forgets(monkeypatch: pytest.MonkeyPatch):
    """Branches behind all clusters are forgotten; those that start later stay."""
    history = _history(monkeypatch, 6 * _SIZE)
    own, behind = ClusterChecker(history), ClusterChecker(history)
    _run(behind, _SAME[:4], False)
    for number in (3, 4, 5):
        if number == 5:
            _run(own, _SAME[:6], False)
        history.branches[number] = []
    assert (history.first, history.end, history.size) == (0, 6, 6 * _SIZE)
    _run(own, _SAME[6:7], False)
    assert (history.first, history.end, history.size) == (4, 7, 3 * _SIZE)
    assert [*history.branches] == [4, 5]
    # The one that is behind goes on; both have what a checker of their own would have answered.
    _run(behind, _SAME[4:9], False)
    assert (history.first, history.end) == (4, 9) and (own.number, behind.number) == (7, 9)
    _run(behind, (_SAME * 2)[9:11], False)
    assert (history.first, history.end, [*history.branches]) == (7, 11, [])
    # Nothing can be forgotten before event 7: the record may grow by another limit.
    _run(behind, (_SAME * 2)[11:13], False)
    assert (history.first, history.end, history._limit) == (7, 13, 6 * _SIZE)
    _run(behind, (_SAME * 2)[13:14], False)
    assert (history.first, history.end, history._limit) == (7, 14, 12 * _SIZE)
    behind.ended()
    assert history.checker is not None
    own.ended()
    assert history.checker is None
