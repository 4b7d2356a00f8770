"""Clusters that share a checker get the answers of checkers of their own, however they differ and are interleaved."""

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

    def tick(self) -> None:
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
