"""The shadow of global memory against a definition, byte by byte: random accesses of all widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirx.sim.hazards import global_shadow
from tirx.sim.hazards.global_access import Kind, Scope
from tirx.sim.hazards.global_shadow import (
    CLUSTER_SHIFT,
    INSTANT_MASK,
    THREAD_SHIFT,
    GlobalShadow,
    ReadLog,
    Reads,
    clusters_of,
    how,
    kinds_of,
    pc_of,
    scopes_of,
    threads_of,
    widths_of,
)

_SIZE = 3 * (1 << 16) + 48


def _token(cluster: int, thread: int, instant: int) -> int:
    return (cluster + 1 << CLUSTER_SHIFT) + (thread << THREAD_SHIFT) + instant


def _reads(offsets: list[int], width: int, tokens: list[int], kind: Kind = Kind.WEAK) -> Reads:
    return Reads(np.array(offsets), width, np.array(tokens), how(kind, width, Scope.GPU, 5))


def test_tokens_and_ways_of_access():
    cases = [(0, 0, 1), (3, 77, 12), (global_shadow.MOST_CLUSTERS - 2, (1 << 14) - 1, INSTANT_MASK)]
    tokens = np.array([_token(*each) for each in cases])
    assert (tokens > 0).all()
    assert [*zip(clusters_of(tokens), threads_of(tokens), tokens & INSTANT_MASK, strict=True)] == cases
    for kind in Kind:
        for logarithm in range(7):
            for scope in Scope:
                made = how(kind, 1 << logarithm, scope, 70000 + kind)
                silent = made | global_shadow.SILENT
                for each in (made, silent):
                    assert (kinds_of(each), widths_of(each), scopes_of(each)) == (kind, logarithm, scope)
                    assert pc_of(each) == 70000 + kind
    assert widths_of(how(0, 0, 0, 0)) == 0


def test_granules_become_as_small_as_accesses():
    """All that is known of a granule is known of its parts."""
    shadow = GlobalShadow(_SIZE, ReadLog())
    units = shadow.units(np.array([64, 32]), 32)
    assert shadow.granule == 16 and units.tolist() == [[4, 5], [2, 3]]
    places = shadow.places(units)
    names = ("writes", "reads", "write_hows", "read_hows", "chains")
    for number, name in enumerate(names, start=1):
        getattr(shadow, name)[places] = units * 10 + number
    shadow.several[places[0]] = True
    shadow.ensure("firsts")[places] = units
    shadow.add_silent(7, np.array([4, 2]))
    for offset, width, granule in ((48, 16, 16), (72, 8, 8), (72, 12, 4), (2, 4, 2), (33, 2, 1), (64, 16, 1)):
        found = shadow.units(np.array([offset]), width)
        assert shadow.granule == granule
        assert found.tolist() == [[*range(offset // granule, (offset + width) // granule)]]
        every = np.arange(32 // granule, 96 // granule)
        old = every * granule // 16
        places = shadow.places(every)
        for number, name in enumerate(names, start=1):
            assert getattr(shadow, name)[places].tolist() == (old * 10 + number).tolist()
        assert shadow.several[places].tolist() == (old >= 4).tolist()
        assert shadow.firsts is not None and shadow.firsts[places].tolist() == old.tolist()
        times = 16 // granule
        silent = shadow.silent_of(7)
        assert silent is not None
        assert silent.tolist() == [*range(2 * times, 3 * times), *range(4 * times, 5 * times)]
    assert shadow.first_hows is None and shadow.records is None


def test_pages_are_taken_as_they_are_accessed():
    shadow = GlobalShadow(_SIZE, ReadLog())
    assert len(shadow.writes) == 0 and not len(shadow.touched_units())
    page = (1 << 16) // 16
    last = shadow.places(np.array([3 * page + 2]))
    shadow.writes[last] = 9
    others = shadow.places(np.array([page, 3 * page + 2, page + 1, 0]))
    assert len({*others.tolist()}) == 4 and others[1] == last[0] and shadow.writes[others].tolist() == [0, 9, 0, 0]
    assert shadow.touched_units().tolist() == [*range(2 * page), *range(3 * page, 4 * page)]
    assert len(shadow.ensure("records")) == len(shadow.writes)
    shadow.places(np.array([2 * page]))
    assert shadow.records is not None and len(shadow.records) == len(shadow.writes) >= 4 * page


def _readers_of(shadow: GlobalShadow, bytes_: Any) -> dict[int, dict[tuple[int, int], int]]:
    """Returns for each byte the last instant at which each thread has read it in each way."""
    units = shadow.units(bytes_, 1) if shadow.granule == 1 else (bytes_ // shadow.granule)[:, None]
    distinct = np.unique(units)
    found: dict[int, dict[tuple[int, int], int]] = {}
    for which, tokens, made in shadow.readers(distinct, shadow.places(distinct))[0]:
        for unit, token in zip(distinct[which].tolist(), tokens.tolist(), strict=True):
            for byte in range(unit * shadow.granule, (unit + 1) * shadow.granule):
                own, key = found.setdefault(byte, {}), (token >> THREAD_SHIFT, made)
                own[key] = max(own.get(key, 0), token & INSTANT_MASK)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.sample(2)
def test_random_reads(seed: int):
    """All readers of each byte since it was written, with the last instant of each; one reader needs no look."""
    rng = np.random.default_rng(seed)
    shadow = GlobalShadow(256, ReadLog())
    model: dict[int, dict[tuple[int, int], int]] = {}
    widths = [4, 8, 16] if seed % 2 else [1, 2, 4, 8, 16, 32]
    for instant in range(1, 120):
        width, count = int(rng.choice(widths)), int(rng.choice([1, 1, 2, 8]))
        offsets = rng.integers(0, 256 // width, count) * width
        if rng.random() < 0.2:  # a write forgets the readers
            places = shadow.places(shadow.units(offsets, width))
            shadow.reads[places], shadow.chains[places], shadow.several[places] = 0, 0, False
            for offset in offsets.tolist():
                for byte in range(offset, offset + width):
                    model.pop(byte, None)
            continue
        kind = Kind.STRONG if rng.random() < 0.3 else Kind.WEAK
        tokens = [_token(int(cluster), int(thread), instant) for cluster, thread in rng.integers(0, 3, (count, 2))]
        reads = _reads(offsets.tolist(), width, tokens, kind)
        shadow.note_reads(reads)
        for offset, token in zip(offsets.tolist(), tokens, strict=True):
            for byte in range(offset, offset + width):
                model.setdefault(byte, {})[token >> THREAD_SHIFT, reads.how] = instant
    every = np.arange(256)
    known = _readers_of(shadow, every)
    places = shadow.places(every // shadow.granule)
    for byte, place in zip(every.tolist(), places.tolist(), strict=True):
        expected = model.get(byte, {})
        if not shadow.several[place]:
            last: set[tuple[int, int]] = (
                {(int(shadow.reads[place]) >> THREAD_SHIFT, int(shadow.read_hows[place]))} if expected else set()
            )
            assert {*expected} == last
        assert {thread for thread, _ in known.get(byte, {})} == {thread for thread, _ in expected}
        for (thread, made), instant in expected.items():
            assert known[byte][thread, made] == instant
    assert max(len(each) for each in model.values()) > 3


def test_a_poll_takes_no_memory():
    """A thread that reads a word again and again: only its last read is kept, until it reads in another way."""
    log = ReadLog()
    shadow = GlobalShadow(64, log)
    for instant in range(1, 9):
        shadow.note_reads(_reads([16], 4, [_token(0, 3, instant)]))
    assert log.get(1) is not None and log.get(2) is None
    assert _readers_of(shadow, np.arange(64))[17] == {(_token(0, 3, 0) >> THREAD_SHIFT, how(1, 4, 2, 5)): 8}
    shadow.note_reads(_reads([16], 4, [_token(0, 3, 9)], Kind.READ_ONLY))
    assert log.get(2) is not None and shadow.several[shadow.places(np.array([4]))].all()
    assert sorted(_readers_of(shadow, np.arange(64))[16].values()) == [8, 9]


@pytest.mark.parametrize(("first", "width", "threads"), [([0, 4], 4, [3, 4]), ([0], 8, [3]), ([0, 8], 4, [3, 3])])
def test_a_read_of_a_part_again(first: list[int], width: int, threads: list[int]):
    """It counts for that part only, and for all who look later."""
    shadow = GlobalShadow(64, ReadLog())
    shadow.units(np.array([4]), 4)
    shadow.note_reads(_reads(first, width, [_token(0, thread, 5) for thread in threads]))
    shadow.note_reads(_reads([0], 4, [_token(0, 3, 8)]))
    shadow.note_reads(_reads(first, width, [_token(0, 9, 9)] * len(first)))
    found = _readers_of(shadow, np.arange(64))
    assert {byte for byte, own in found.items() if 8 in own.values()} == {0, 1, 2, 3}
    assert all(sorted({*own.values()} - {8}) in ([5, 9], [9]) for own in found.values())


def test_a_read_of_a_smaller_granule_again():
    shadow = GlobalShadow(64, ReadLog())
    shadow.note_reads(_reads([16], 16, [_token(0, 3, 5)]))
    shadow.note_reads(Reads(np.array([16]), 4, np.array([_token(0, 3, 8)]), how(Kind.WEAK, 16, Scope.GPU, 5)))
    shadow.note_reads(_reads([16], 16, [_token(0, 9, 9)]))
    found = _readers_of(shadow, np.arange(64))
    assert {byte for byte, own in found.items() if 8 in own.values()} == {16, 17, 18, 19} and len(found) == 16


def test_the_oldest_reads_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    log = ReadLog()
    size = 3 * _reads([0], 4, [1]).size
    monkeypatch.setattr(global_shadow, "_BUDGET", 2 * size)
    shadow = GlobalShadow(64, log)
    for thread in range(4):
        shadow.note_reads(_reads([16], 4, [_token(0, thread, 7)]))
        assert log.forgotten == max(0, thread - 1)
    assert {thread & 7 for thread, _ in _readers_of(shadow, np.arange(64))[16]} == {2, 3}
    assert log.get(2) is None and log.get(3) is not None
    assert shadow.readers(np.array([4]), shadow.places(np.array([4])))[1]
    assert shadow.readers(np.array([5]), shadow.places(np.array([5]))) == ([], False)
