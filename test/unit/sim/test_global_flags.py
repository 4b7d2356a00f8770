"""Facts that are kept about flags in global memory."""

from __future__ import annotations

import numpy as np
import pytest

from tirx.sim.hazards import global_flags
from tirx.sim.hazards.global_access import Access, Kind, Scope
from tirx.sim.hazards.global_flags import GlobalFlags, Side
from tirx.sim.hazards.monitor import Monitor


def test_a_poll_is_one_acquisition() -> None:
    """The same threads that read the same records by the same scope say no more than they did before."""
    flags, side = GlobalFlags(), Side(0, 32, Monitor(), slice(None))
    polls = [
        ((0, 1), (5, 6), Scope.GPU, 1),
        ((0, 1), (5, 6), Scope.GPU, 1),
        ((0, 1), (5, 6), Scope.SYS, 2),
        ((0, 2), (5, 6), Scope.SYS, 3),
        ((0, 2), (5, 7), Scope.SYS, 4),
        ((0, 2), (5, 7), Scope.SYS, 4),
    ]
    for threads, records, scope, count in polls:
        flags.receive(side, np.array(threads), np.array(records), Access(Kind.STRONG, scope, acquires=True))
        assert flags._imports[0].count == count  # pyright: ignore[reportPrivateUsage]


def test_proxy_fences_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """One says as much as the one before it, of the same threads; of too many the older half is forgotten."""
    monkeypatch.setattr(global_flags, "_MOST_PROXIES", 4)
    flags, side = GlobalFlags(), Side(0, 32, Monitor(), slice(None))

    def fence(*threads: int) -> list[list[int]]:
        flags.proxy_fence(side, np.array(threads))
        return [known.tolist() for known, _, _ in flags._proxies[0]]  # pyright: ignore[reportPrivateUsage]

    def acquire(record: int) -> None:
        flags.receive(side, np.array([0]), np.array([record]), Access(Kind.STRONG, Scope.GPU, acquires=True))

    assert fence(0) == [], "nothing is acquired"
    acquire(5)
    assert fence(0) == fence(0) == [[0]]
    assert fence(0, 1) == [[0], [0, 1]]
    acquire(6)
    assert fence(0, 1) == [[0], [0, 1], [0, 1]]
    assert fence(2) == [[0], [0, 1], [0, 1], [2]] and not flags.forgotten
    assert fence(3) == [[0, 1], [2], [3]] and flags.forgotten


def test_what_may_be_acquired_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of reads of the same records by the same threads, one after the other, the last one counts; the oldest go."""
    monkeypatch.setattr(global_flags, "_MOST_PENDING", 3)
    flags, side = GlobalFlags(), Side(0, 32, Monitor(), slice(None))

    def read(threads: tuple[int, ...], records: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
        flags.receive(side, np.array(threads), np.array(records), Access(Kind.STRONG, Scope.GPU))
        found = flags._pending.get(0, [])  # pyright: ignore[reportPrivateUsage]
        return [(each.read.threads.tolist(), each.read.records.tolist()) for each in found]

    assert read((0, 1), (0, 0)) == []
    first, second, third, fourth = ([0, 1], [5, 6]), ([0, 2], [5, 6]), ([0, 1], [5, 7]), ([1], [6])
    assert read((0, 1, 2), (5, 6, 0)) == read((0, 1), (5, 6)) == [first]
    assert read((0, 2), (5, 6)) == [first, second]
    assert read((0, 1), (5, 6)) == [first, second, first] and not flags.forgotten
    assert read((0, 1), (5, 7)) == [second, first, third] and flags.forgotten
    assert read((0, 1), (0, 6)) == [first, third, fourth]
    assert read((1,), (6,)) == [first, third, fourth]
