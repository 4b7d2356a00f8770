"""The shadow of shared memory against a definition, byte by byte: random accesses, orders and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from unit.sim.shadow_pair import Refused, ShadowPair

from tirx.sim.hazards import instants
from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.monitor import Stored
from tirx.sim.hazards.shared_shadow import SharedShadow, Writer
from tirx.sim.memory.region import Region

_THREADS, _BASE, _SIZE = 96, 1024, 1024 + 48
_OVER = {
    Writer.GENERIC: Row.GENERIC,
    Writer.STRONG: Row.GENERIC,
    Writer.COPY: Row.COPIED,
    Writer.BULK: Row.FILLED,
    Writer.UPDATE: Row.FILLED,
}
"""Row that a thread must know of, by the writer of a byte."""
_WAITS = {
    Row.BULK_READ: ("a bulk copy", "cp.async.bulk.wait_group"),
    Row.TENSOR_DONE: ("tcgen05", "the mbarrier of a tcgen05.commit"),
    Row.A_READ: ("tcgen05", "the mbarrier of a tcgen05.commit"),
    Row.WARPGROUP_READ: ("wgmma", "wgmma.wait_group"),
}


def _column(thread: int) -> int:
    """The place of the mbarrier of all bulk copies of a thread."""
    return (thread + 7) % _THREADS


def _issuer(column: int) -> int:
    return (column - 7) % _THREADS


@dataclass
class _Model:
    """Each byte's last write (kind, thread, time), reads by warp (thread, time) and asynchronous read."""

    clocks: Clocks
    has_notes: bool
    writes: dict[int, tuple[Writer, int, int]] = field(default_factory=dict[int, tuple[Writer, int, int]])
    written: set[int] = field(default_factory=lambda: {*range(_BASE)})
    mbarriers: set[int] = field(default_factory=set[int])
    reads: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    readers: dict[int, tuple[int, int, Row]] = field(default_factory=dict[int, tuple[int, int, Row]])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def knows(self, row: Row, user: int, thread: int, time: int) -> bool:
        return bool(self.clocks.known[row, user, thread] >= time)

    def refuse_mbarriers(self, bytes_: list[int], what: str) -> None:
        for byte in bytes_:
            if byte in self.mbarriers:
                raise Refused(f"{what} touches shared address {byte:#x}, which is in an mbarrier object")

    def require_written(self, bytes_: list[int], what: str) -> None:
        for byte in bytes_:
            if byte not in self.written:
                raise Refused(f"{what} reads shared address {byte:#x}, which was never written")

    def behind_writers(
        self, users: list[tuple[int, int]], what: str, strong: bool, same: frozenset[int] = frozenset()
    ) -> None:
        """`users`: (byte, thread); `same`: threads that change nothing."""
        for byte, user in users:
            if byte not in self.writes:
                continue
            kind, writer, time = self.writes[byte]
            simple = kind in (Writer.GENERIC, Writer.STRONG)
            if self.knows(_OVER[kind], user, writer, time) or (simple and (writer == user or user in same)):
                continue
            if strong and kind is Writer.STRONG:
                continue
            text = {
                Writer.COPY: f"before the cp.async of thread {writer} to it was waited for",
                Writer.BULK: f"before the bulk copy that thread {_issuer(writer)} issued to it was waited for",
                Writer.UPDATE: f"before the bulk copy that thread {_issuer(writer)} issued to it was waited for",
            }.get(kind, f"though the write by thread {writer} is not ordered before that: data race")
            raise Refused(f"shared address {byte:#x} {what} by thread {user} {text}")

    def behind_readers(self, users: list[tuple[int, int]], asynchronous: bool = False) -> None:
        for warp in range(_THREADS // 32):
            found = [(byte, user, *self.reads[warp, byte]) for byte, user in users if (warp, byte) in self.reads]
            for byte, user, reader, time in found:
                if reader != user and not self.knows(Row.GENERIC, user, reader, time):
                    raise Refused(
                        f"shared address {byte:#x} is written by thread {user} though the read by thread {reader} is "
                        "not ordered before that: data race"
                    )
            bad = [each for each in found if not self.knows(Row.PROXY, each[1], each[2], each[3])]
            early = [each for each in bad if not self.knows(Row.READ, each[1], each[2], each[3])]
            if asynchronous and bad:
                byte, user, reader, _ = (early or bad)[0]
                message = (
                    f"shared address {byte:#x} is written by an asynchronous copy of thread {user}, but thread "
                    f"{reader} has read it through the generic proxy: expected fence.proxy.async in that thread behind "
                    "the read, before it synchronises with the copy's thread, or in the latter after that"
                )
                self.report("fence.proxy.async behind reads", message, bool(early))
        for byte, user in users:
            if byte in self.readers:
                thread, time, row = self.readers[byte]
                if not self.knows(row, user, thread, time):
                    reader, waited = _WAITS[row]
                    raise Refused(
                        f"shared address {byte:#x} is written by thread {user} while {reader} may still read it: "
                        f"{waited} was not waited for"
                    )

    def report(self, rule: str, message: str, certain: bool) -> None:
        if certain or not self.has_notes:
            raise Refused(message)
        self.notes.append((rule, message))

    def proxy_order(self, bytes_: list[int], thread: int, what: str, overwrites: bool = False) -> None:
        bad: list[tuple[int, Writer, int, bool]] = []
        for byte in bytes_:
            kind, writer, time = self.writes.get(byte, (Writer.GENERIC, 0, 0))
            rows = (Row.FILLED,) if kind in (Writer.BULK, Writer.UPDATE) else (Row.PROXY,)
            rows += (Row.COPIED,) if kind is Writer.COPY else ()
            if any(not self.knows(row, thread, writer, time) for row in rows):
                ordered = kind is not Writer.COPY and self.knows(Row.GENERIC, thread, writer, time)
                bad.append((byte, kind, writer, ordered))
        if not bad:
            return
        byte, kind, writer, _ = bad[0]
        if kind in (Writer.BULK, Writer.UPDATE):
            copy = f"the bulk copy that thread {_issuer(writer)} issued to it"
            raise Refused(f"{what} shared address {byte:#x} before {copy} was waited for")
        message = (
            f"{what} shared address {byte:#x}, which thread {writer} has written through the generic proxy: expected "
            "fence.proxy.async in that thread before it synchronises with this one, or here after that"
        )
        self.report("fence.proxy.async between writes", message, not overwrites or not all(each[3] for each in bad))

    def wrote(self, users: list[tuple[int, int]], kind: Writer) -> None:
        for byte, user in users:
            self.writes[byte] = kind, user, self.clocks.now
            self.written.add(byte)

    # What the shadow is told

    def load(self, users: list[tuple[int, int]], strong: bool, tolerant: bool) -> None:
        bytes_ = [byte for byte, _ in users]
        self.refuse_mbarriers(bytes_, "a load")
        if not tolerant:
            self.require_written(bytes_, "a load")
        self.behind_writers(users, "is read", strong)
        if not strong:
            for byte, user in users:
                self.reads[user // 32, byte] = user, self.clocks.now

    def store(self, users: list[tuple[int, int]], kind: Writer, same: frozenset[int]) -> None:
        self.refuse_mbarriers([byte for byte, _ in users], "a store")
        self.behind_writers(users, "is written", kind is Writer.STRONG, same)
        self.behind_readers(users)
        self.wrote(users, kind)

    def async_read(self, bytes_: list[int], threads: list[int], row: Row) -> None:
        self.refuse_mbarriers(bytes_, "it")
        self.require_written(bytes_, "it")
        for thread in threads:
            self.proxy_order(bytes_, thread, "it reads")
        for byte in bytes_:
            self.readers[byte] = threads[-1], self.clocks.now, row

    def async_write(self, bytes_: list[int], thread: int) -> None:
        users = [(byte, thread) for byte in bytes_]
        self.refuse_mbarriers(bytes_, "it")
        self.proxy_order(bytes_, thread, "it writes", True)
        self.behind_readers(users, True)
        self.wrote([(byte, _column(thread)) for byte in bytes_], Writer.BULK)

    def async_update(self, bytes_: list[int], thread: int) -> None:
        users = [(byte, thread) for byte in bytes_]
        self.refuse_mbarriers(bytes_, "it")
        self.require_written(bytes_, "it")
        others = [byte for byte in bytes_ if self.writes.get(byte, (None,))[0] is not Writer.UPDATE]
        self.proxy_order(others, thread, "it updates")
        self.behind_readers(users, True)
        self.wrote([(byte, _column(thread)) for byte in bytes_], Writer.UPDATE)

    def deferred_store(self, bytes_: list[int], thread: int, updates: bool) -> None:
        users = [(byte, thread) for byte in bytes_]
        self.refuse_mbarriers(bytes_, "it")
        if updates:
            self.require_written(bytes_, "it")
        ordered = [each for each in users if not updates or self.writes.get(each[0], (None,))[0] is not Writer.UPDATE]
        self.behind_writers(ordered, "is written", False)
        self.behind_readers(users)
        self.wrote([(byte, _column(thread)) for byte in bytes_], Writer.UPDATE if updates else Writer.BULK)

    def set_mbarrier(self, offset: int, thread: int, live: bool) -> None:
        bytes_ = [*range(offset, offset + 8)]
        if live:
            users = [(byte, thread) for byte in bytes_]
            self.behind_writers(users, "is made an mbarrier object", False)
            self.behind_readers(users)
            self.wrote(users, Writer.STRONG)
            self.mbarriers.update(bytes_)
        else:
            self.mbarriers.difference_update(bytes_)
        self.written.difference_update(bytes_)


def _some_threads(rng: np.random.Generator) -> Any:
    count = int(rng.choice([1, 2, 5, 32]))
    if rng.random() < 0.6:
        first = int(rng.integers(_THREADS - count + 1))
        return np.arange(first, first + count)
    return np.sort(rng.choice(_THREADS, count, replace=False))


def _some_bytes(rng: np.random.Generator) -> Any:
    first, count = int(rng.integers(_BASE, _SIZE - 8)), int(rng.choice([4, 7, 8]))
    if rng.random() < 0.7:
        return np.arange(first // 4 * 4, first // 4 * 4 + count)
    return rng.permutation(np.arange(_BASE, _SIZE))[:count]


class _Pair(ShadowPair):
    def __init__(self, seed: int, has_notes: bool):
        super().__init__(seed, _THREADS)
        self.shadow = SharedShadow(self.clocks, _SIZE, _THREADS // 32, self.note if has_notes else None)
        self.model = _Model(self.clocks, has_notes)

    def tell(self, name: str, told: tuple[Any, ...], model: tuple[Any, ...]) -> bool:
        self.clocks.now += 1
        return super().tell(name, told, model)

    def step(self) -> None:
        rng = self.rng
        threads, bytes_ = _some_threads(rng), _some_bytes(rng)
        thread, listed = int(threads[0]), bytes_.tolist()
        match int(rng.integers(9)):
            case 0 | 1:
                self.access("load", threads)
            case 2 | 3:
                self.access("store", threads)
            case 4:
                row = list(_WAITS)[rng.integers(len(_WAITS))]
                few = threads[:3]
                self.tell("async_read", (Region.of(bytes_), few, "it", row), (listed, few.tolist(), row))
            case 5:
                self.tell("async_write", (Region.of(bytes_), thread, "it", _column(thread)), (listed, thread))
            case 6:
                self.tell("async_update", (bytes_, thread, "it", _column(thread)), (listed, thread))
            case 7:
                updates = bool(rng.integers(2))
                self.tell("deferred_store", (bytes_, thread, "it", updates, _column(thread)), (listed, thread, updates))
            case _:
                offset = int(rng.integers(_BASE // 8, _SIZE // 8)) * 8
                live = offset not in self.model.mbarriers
                self.tell("set_mbarrier", (offset, thread, live), (offset, thread, live))
                if live and rng.random() < 0.7:
                    self.tell("set_mbarrier", (offset, thread, False), (offset, thread, False))

    def access(self, name: str, threads: Any) -> None:
        rng = self.rng
        width = int(rng.choice([1, 2, 4, 8]))
        places = (_SIZE - _BASE) // width
        offsets = _BASE + width * rng.permutation(np.arange(places).repeat(max(1, 32 // places + 1)))[: len(threads)]
        if rng.random() < 0.5:
            first = int(rng.integers(places))
            offsets = _BASE + width * ((first + np.arange(len(threads))) % places)
        users = [(int(o) + i, int(t)) for o, t in zip(offsets, threads, strict=True) for i in range(width)]
        if name == "load":
            strong, tolerant = bool(rng.random() < 0.3), bool(rng.random() < 0.7)
            self.tell("load", (offsets, width, threads, strong, tolerant), (users, strong, tolerant))
            return
        kind = Writer((Writer.GENERIC, Writer.GENERIC, Writer.STRONG, Writer.COPY)[rng.integers(4)])
        stored, same = None, frozenset[int]()
        if rng.random() < 0.5:
            memory = np.zeros(_SIZE, np.uint8)
            values = np.zeros((len(threads), width), np.uint8)
            if rng.random() < 0.3:
                values[:, -1] = offsets == offsets[0]
            stored = Stored(offsets, values, memory)
            same = frozenset(threads[~values.any(axis=1)].tolist())
        self.tell("store", (offsets, width, threads, kind, stored), (users, kind, same))

    def learn(self) -> None:
        """Some threads get to know of others."""
        rng = self.rng
        rows = rng.choice(len(Row), int(rng.choice([1, 3, len(Row)])), replace=False)
        observers, threads = _some_threads(rng), _some_threads(rng)
        if rng.random() < 0.5:
            observers = threads = np.arange(_THREADS)
        self.clocks.known[np.ix_(rows, observers, threads)] = self.clocks.now


@pytest.mark.parametrize("seed", range(3))
def test_random_accesses(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(instants, "_KEPT", (8192, 5, 20)[seed])
    monkeypatch.setattr(instants, "_MOST", (64, 64, 3)[seed])
    monkeypatch.setattr("tirx.sim.hazards.shared_shadow._MOST_LATER", (4096, 6, 4096)[seed])
    monkeypatch.setattr("tirx.sim.hazards.shared_shadow._MOST_READERS", (32, 4, 32)[seed])
    pair = _Pair(seed, seed > 0)
    for _ in range(150):
        pair.step()
        while pair.rng.random() < 0.6:
            pair.learn()
        if pair.rng.random() < 0.05:
            bytes_ = _some_bytes(pair.rng)
            pair.shadow.forget(bytes_[:, None])
            pair.model.written.difference_update(bytes_.tolist())
        places = np.arange(_BASE, _SIZE).reshape(-1, 3)
        if pair.rng.random() < 0.05:
            undefined = [any(byte not in pair.model.written for byte in row) for row in places.tolist()]
            assert pair.shadow.undefined(places).tolist() == undefined
            writes, bytes_ = pair.model.writes, range(_BASE, _SIZE)
            found = pair.shadow.writes(np.arange(_BASE, _SIZE))
            assert found.instants.tolist() == [writes[byte][2] if byte in writes else 0 for byte in bytes_]
            threads = [byte in writes and writes[byte][0] in (Writer.GENERIC, Writer.COPY) for byte in bytes_]
            assert found.by_threads.tolist() == threads
            assert (found.swizzles == -1).all()
            instant = max(each[2] for each in writes.values())
            at = {byte: writer for byte, (_, writer, time) in writes.items() if time == instant}
            assert [each.tolist() for each in pair.shadow.writes_at(instant)] == [
                [*sorted(at)],
                [at[b] for b in sorted(at)],
            ]
    # Both outcomes of everything.
    assert len(pair.outcomes) >= 13, sorted(pair.outcomes)


def _accesses(whole: bool, thread: int) -> dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """
    Accesses of a thread, or of it and the next one, to two words or to a part of each: the method, and what shadow and
    model are told.
    """
    threads, width = np.array([thread, thread + 1]), 4 if whole else 3
    offsets, generic = np.array([1032, 1036]), 4 if whole else 2
    bytes_ = (offsets[:, None] + np.arange(width)).ravel()
    users = [(int(offset) + i, int(t)) for offset, t in zip(offsets, threads, strict=True) for i in range(generic)]
    listed, region = bytes_.tolist(), Region.of(bytes_)
    found: dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]] = {
        "bulk write": ("async_write", (region, thread, "it", _column(thread)), (listed, thread)),
        "bulk update": ("async_update", (bytes_, thread, "it", _column(thread)), (listed, thread)),
        "st.async": ("deferred_store", (bytes_, thread, "it", False, _column(thread)), (listed, thread, False)),
        "red.async": ("deferred_store", (bytes_, thread, "it", True, _column(thread)), (listed, thread, True)),
        "mbarrier": ("set_mbarrier", (1032, thread, True), (1032, thread, True)),
    }
    for strong in (False, True):
        found[f"load {strong}"] = "load", (offsets, generic, threads, strong), (users, strong, False)
    for kind in (Writer.GENERIC, Writer.STRONG, Writer.COPY):
        found[f"store {kind}"] = "store", (offsets, generic, threads, kind), (users, kind, frozenset())
    for row in _WAITS:
        found[f"read {row}"] = "async_read", (region, threads, "it", row), (listed, threads.tolist(), row)
    return found


def _rows_of(access: str) -> list[Row]:
    """Rows that later accesses may have to know of."""
    match access.split():
        case "read", row:
            return [Row(int(row))]
        case "load", strong:
            return [] if strong == "True" else [Row.GENERIC, Row.PROXY, Row.READ]
        case "store", kind:
            return [Row.GENERIC, Row.PROXY, *([Row.COPIED] if int(kind) == Writer.COPY else [])]
        case _:
            return [Row.FILLED]


@pytest.mark.parametrize(("whole", "second"), [(False, 10), (False, 40), (True, 40)])
def test_pairs_of_accesses(whole: bool, second: int):
    """Each access behind each other one, by the same thread or another one that does not know one sort of effects."""
    pair = _Pair(0, True)
    every, offsets = np.arange(12), 1024 + 4 * np.arange(12)
    known = [(int(offset) + i, thread) for offset, thread in zip(offsets, range(12), strict=True) for i in range(4)]
    first, others = _accesses(whole, 10), _accesses(whole, second)
    del (
        first["mbarrier"],
        others[f"read {Row.TENSOR_DONE}"],
        others[f"read {Row.WARPGROUP_READ}"],
        others[f"read {Row.A_READ}"],
    )
    for name, before in first.items():
        for row in (None, *_rows_of(name)):
            for behind in others.values():
                pair.shadow = SharedShadow(pair.clocks, _SIZE, 3, pair.note)
                pair.model = _Model(pair.clocks, True)
                pair.notes.clear()
                pair.clocks._bounds.clear()  # pyright: ignore[reportPrivateUsage]
                pair.clocks.now = 1
                pair.shadow.store(offsets, 4, every, Writer.GENERIC)
                pair.model.wrote(known, Writer.GENERIC)
                pair.clocks.known[:], pair.clocks.now = 1, 4
                assert pair.tell(*before)
                pair.clocks.known[:], pair.clocks.now = 5, 6
                if row is not None:
                    pair.clocks.known[row] = 4
                pair.tell(*behind)
    assert len(pair.outcomes) == 14, sorted(pair.outcomes)
