"""The shadow of tensor memory against a definition, cell by cell (PTX ISA, 9.7.16.6): random accesses and orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of
from unit.sim.shadow_pair import Refused, ShadowPair

from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.tensor_shadow import TensorShadow

_THREADS = 96
_ASYNC = ("mma", "cp", "shift")
_PIPELINES = {
    "mma": ("mma", "cp", "shift"),
    "cp": ("cp",),
    "cp.4x256b": ("cp", "shift"),
    "shift": ("mma",),
}
"""Operations that another may follow without waiting for them."""
_UNFENCED = ", without tcgen05.fence::before_thread_sync there and ::after_thread_sync here"
_Cell = tuple[int, int]


@dataclass
class _Model:
    """Each cell's last write (kind, thread, time, shape), tcgen05.ld (thread, time) and asynchronous read."""

    clocks: Clocks
    has_notes: bool
    writes: dict[_Cell, tuple[str, int, int, int]] = field(default_factory=dict[_Cell, tuple[str, int, int, int]])
    loads: dict[_Cell, tuple[int, int]] = field(default_factory=dict[_Cell, tuple[int, int]])
    reads: dict[_Cell, tuple[int, int]] = field(default_factory=dict[_Cell, tuple[int, int]])
    forgotten: set[_Cell] = field(default_factory=set[_Cell])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def is_undefined(self, cell: _Cell) -> bool:
        return cell not in self.writes or cell in self.forgotten

    def misses(self, row: Row, user: int, thread: int, time: int) -> bool:
        return bool(self.clocks.known[row, user, thread] < time)

    def refuse(self, users: dict[_Cell, int], message: str, is_bad: Callable[[_Cell, int], bool]) -> None:
        for (lane, column), user in users.items():
            if is_bad((lane, column), user):
                raise Refused(f"{message} (lane {lane}, column {column})")

    def refuse_order(
        self, users: dict[_Cell, int], message: str, source: dict[_Cell, Any], is_bad: Callable[[_Cell, int], bool]
    ) -> None:
        """`source`: (..., thread, time) of cells, which a fence has to stand behind."""

        def thread_and_time(cell: _Cell) -> tuple[int, int]:
            return source[cell][-2:] if source is self.loads else source[cell][1:3]

        def is_unordered(cell: _Cell, user: int) -> bool:
            if not is_bad(cell, user):
                return False
            thread, time = thread_and_time(cell)
            return bool(self.clocks.tensor_order[user, thread] < time)

        def is_certain(cell: _Cell, user: int) -> bool:
            if not is_unordered(cell, user):
                return False
            return not self.has_notes or self.misses(Row.GENERIC, user, *thread_and_time(cell))

        self.refuse(users, message + _UNFENCED, is_certain)
        if any(is_unordered(cell, user) for cell, user in users.items()):
            self.notes.append(("tcgen05.fence", message + _UNFENCED))

    def by_async(self, cell: _Cell) -> bool:
        return cell in self.writes and self.writes[cell][0] in _ASYNC

    def by_store(self, cell: _Cell) -> bool:
        return cell in self.writes and self.writes[cell][0] == "store"

    def write_misses(self, row: Row, cell: _Cell, user: int) -> bool:
        _, writer, time, _ = self.writes[cell]
        return self.misses(row, user, writer, time)

    def read_misses(self, cell: _Cell, user: int) -> bool:
        return cell in self.reads and self.misses(Row.TENSOR_DONE, user, *self.reads[cell])

    def load_misses(self, cell: _Cell, user: int) -> bool:
        return cell in self.loads and self.misses(Row.LOADED, user, *self.loads[cell])

    def other_warp(self, cell: _Cell, user: int) -> bool:
        return self.writes[cell][1] // 32 != user // 32

    def behind_loads(self, users: dict[_Cell, int]) -> None:
        text = "it overwrites what a tcgen05.ld may still read: no tcgen05.wait::ld"
        self.refuse(users, text, self.load_misses)
        self.refuse_order(
            users,
            "it after another thread's tcgen05.ld",
            self.loads,
            lambda cell, user: cell in self.loads and self.loads[cell][0] // 32 != user // 32,
        )

    def order(self, users: dict[_Cell, int]) -> None:
        self.refuse_order(
            users,
            "it after a write by another thread",
            self.writes,
            lambda cell, user: (
                (self.by_async(cell) and self.writes[cell][1] != user)
                or (self.by_store(cell) and self.other_warp(cell, user))
            ),
        )

    def wrote(self, users: dict[_Cell, int], kind: str, shape: int) -> None:
        for cell, user in users.items():
            self.writes[cell] = kind, user, self.clocks.now, shape
            self.loads.pop(cell, None)
            self.forgotten.discard(cell)

    # What the shadow is told

    def allocated(self, cells: list[_Cell]) -> None:
        for cell in cells:
            for table in (self.writes, self.loads, self.reads):
                table.pop(cell, None)

    def freed(self, cells: list[_Cell], user: int) -> None:
        if any(
            (self.by_async(cell) and self.write_misses(Row.TENSOR_DONE, cell, user)) or self.read_misses(cell, user)
            for cell in cells
        ):
            raise Refused(
                "tcgen05.dealloc of columns that a tcgen05.mma, cp or shift may use: no commit was waited for"
            )
        if any(
            (self.by_store(cell) and self.write_misses(Row.STORED, cell, user)) or self.load_misses(cell, user)
            for cell in cells
        ):
            raise Refused(
                "tcgen05.dealloc of columns that a tcgen05.ld or st may still use: expected tcgen05.wait in that "
                "thread, and then a synchronisation"
            )

    def forget(self, cells: list[_Cell]) -> None:
        self.forgotten.update(cells)

    def load(self, users: dict[_Cell, int], tolerant: bool) -> None:
        if not tolerant:
            self.written(users)
        self.refuse(
            users,
            "it of the result of a tcgen05.mma, cp or shift before a commit was waited for",
            lambda cell, user: self.by_async(cell) and self.write_misses(Row.TENSOR_DONE, cell, user),
        )
        self.unstored(users)
        self.order(users)
        for cell, user in users.items():
            self.loads[cell] = user, self.clocks.now

    def written(self, users: dict[_Cell, int]) -> None:
        self.refuse(users, "it reads cells that were never written", lambda cell, user: self.is_undefined(cell))

    def unstored(self, users: dict[_Cell, int]) -> None:
        self.refuse(
            users,
            "it after a tcgen05.st without tcgen05.wait::st",
            lambda cell, user: self.by_store(cell) and self.write_misses(Row.STORED, cell, user),
        )

    def store(self, users: dict[_Cell, int]) -> None:
        self.refuse(
            users,
            "it to cells of a tcgen05.mma, cp or shift that was not waited for",
            lambda cell, user: (
                (self.by_async(cell) and self.write_misses(Row.TENSOR_DONE, cell, user)) or self.read_misses(cell, user)
            ),
        )
        self.refuse(
            users,
            "it over another warp's tcgen05.st that was not waited for",
            lambda cell, user: (
                self.by_store(cell) and self.other_warp(cell, user) and self.write_misses(Row.STORED, cell, user)
            ),
        )
        self.behind_loads(users)
        self.wrote(users, "store", 0)

    def behind_writes(self, users: dict[_Cell, int], access: str, shape: int | None) -> None:
        self.unstored(users)
        self.order(users)
        self.refuse(
            users,
            "it after a tcgen05.mma, cp or shift that it is in no pipeline with: no commit was waited for",
            lambda cell, user: (
                self.by_async(cell)
                and self.writes[cell][0] not in _PIPELINES[access]
                and self.write_misses(Row.TENSOR_DONE, cell, user)
            ),
        )
        if shape is not None:
            self.refuse(
                users,
                "it, which is the accumulator of a tcgen05.mma of another shape that was not waited for",
                lambda cell, user: (
                    cell in self.writes
                    and self.writes[cell][0] == "mma"
                    and self.writes[cell][3] != shape
                    and self.write_misses(Row.TENSOR_DONE, cell, user)
                ),
            )

    def async_read(self, users: dict[_Cell, int], kind: str, shape: int | None) -> None:
        self.written(users)
        self.behind_writes(users, kind, shape)
        for cell, user in users.items():
            self.reads[cell] = user, self.clocks.now

    def async_write(self, users: dict[_Cell, int], kind: str, shape: int) -> None:
        self.behind_writes(users, kind, shape or None)
        self.behind_loads(users)
        self.wrote(users, kind.partition(".")[0], shape)


def _some_threads(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """One thread for each cell, most of the time the same."""
    return np.full(shape, rng.integers(_THREADS)) if rng.random() < 0.7 else rng.choice(_THREADS, shape)


class _Pair(ShadowPair):
    def __init__(self, seed: int):
        super().__init__(seed, _THREADS)
        self.shadow = TensorShadow(self.clocks, self.note if seed % 2 else None)
        self.model = _Model(self.clocks, bool(seed % 2))
        lanes, columns = np.mgrid[31:34, 5:9]
        self.places = [
            (lanes[a:b, c:d].copy(), columns[a:b, c:d].copy())
            for a, b, c, d in ((0, 3, 0, 4), (0, 1, 0, 2), (1, 3, 1, 4), (2, 3, 3, 4), (0, 3, 2, 3))
        ]

    def step(self) -> None:
        rng = self.rng
        self.clocks.now += 1
        lanes, columns = self.places[rng.integers(len(self.places))]
        cells = [*zip(lanes.ravel().tolist(), columns.ravel().tolist(), strict=True)]
        threads = _some_threads(rng, lanes.shape)
        thread = int(threads.ravel()[0])
        users, alone = dict(zip(cells, threads.ravel().tolist(), strict=True)), dict.fromkeys(cells, thread)
        match int(rng.integers(11)):
            case 0:
                column, count = (int(each) for each in rng.integers((4, 1), (9, 4)))
                of = [(lane, each) for lane in range(30, 35) for each in range(column, column + count)]
                self.tell("freed", (column, count, thread), (of, thread))
                if rng.random() < 0.3:
                    self.tell("allocated", (column, count), (of,))
            case 1 | 2:
                tolerant = bool(rng.random() < 0.3)
                self.tell("load", (lanes, columns, threads, "it", tolerant), (users, tolerant))
            case 3 | 4:
                stored = self.tell("store", (lanes, columns, threads, "it"), (users,))
                if stored and rng.random() < 0.3:
                    some = [cell for cell in cells if rng.random() < 0.3]
                    own = np.array(some, np.int64).reshape(-1, 2)
                    self.tell("forget", (own[:, 0], own[:, 1]), (some,))
            case 5:
                kind = ("mma", "cp", "cp.4x256b", "shift")[rng.integers(4)]
                self.tell("async_read", (lanes, columns, thread, kind, "it", None), (alone, kind, None))
            case 6 | 7:
                # Products behind each other, which the shadow may take together.
                for _ in range(int(rng.integers(1, 4))):
                    if rng.random() < 0.3:
                        self.learn()
                    self.clocks.now += 1
                    shape = int(rng.choice([64, 64, 128]))
                    if rng.random() < 0.6:
                        told = lanes, columns, thread, "mma", "it", shape
                        if not self.tell("async_read", told, (alone, "mma", shape)):
                            break
                    told = lanes, columns, thread, "mma", "it", shape
                    if not self.tell("async_write", told, (alone, "mma", shape)):
                        break
            case 8:
                undefined = [self.model.is_undefined(cell) for cell in cells]
                np.testing.assert_array_equal(self.shadow.undefined(lanes, columns).ravel(), undefined)
            case _:
                kind = ("cp", "cp.4x256b", "shift")[rng.integers(3)]
                self.tell("async_write", (lanes, columns, thread, kind, "it", 0), (alone, kind, 0))

    def learn(self) -> None:
        rng = self.rng
        known = self.clocks.known
        tables = [*known[Row.TENSOR_DONE : Row.STORED + 1], self.clocks.tensor_order, known[Row.GENERIC]]
        if rng.random() < 0.5:
            tables = [each for each in tables if rng.random() < 0.6]
        threads = [*range(_THREADS)] if rng.random() < 0.6 else sorted(rng.choice(_THREADS, 40, replace=False).tolist())
        for table in tables:
            table[threads] = self.clocks.now


@pytest.mark.parametrize("seed", range(4))
def test_random_accesses(seed: int):
    pair = _Pair(seed)
    for _ in range(250):
        pair.step()
        if pair.rng.random() < 0.45:
            pair.learn()
    assert len(pair.outcomes) == 12, sorted(pair.outcomes)


def test_products_behind_each_other_are_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    shadow = TensorShadow(Clocks(_THREADS))
    lanes, columns = np.mgrid[0:2, 0:3]
    shadow.async_write(lanes, columns, 5, "mma", "it", 64)
    looked: list[str] = []
    monkeypatch.setattr(shadow, "_behind_writes", lambda *_: looked.append("writes"))  # pyright: ignore
    for _ in range(2):
        shadow.async_read(lanes, columns, 5, "mma", "it", 64)
        shadow.async_write(lanes, columns, 5, "mma", "it", 64)
    assert not looked
    shadow.async_write(lanes, columns, 6, "mma", "it", 64)
    assert looked == ["writes"]


_UNCOMMITTED = "tcgen05.dealloc of columns that a tcgen05.mma, cp or shift may use: no commit was waited for"


_Access = Callable[[TensorShadow, Any, Any], None]
_BEHIND: dict[str, _Access] = {
    "free": lambda shadow, lanes, columns: shadow.freed(6, 1, 40),
    "load": lambda shadow, lanes, columns: shadow.load(lanes, columns, np.full((2, 3), 40), "it"),
    "store": lambda shadow, lanes, columns: shadow.store(lanes, columns, np.full((2, 3), 40), "it"),
    "write": lambda shadow, lanes, columns: shadow.async_write(lanes, columns, 40, "mma", "it", 128),
    "read": lambda shadow, lanes, columns: shadow.async_read(lanes, columns, 40, "cp", "it", None),
}
_FIRST = " (lane 0, column 4)"


@together(
    ("access", "message"),
    [
        ("free", _UNCOMMITTED),
        ("load", "it of the result of a tcgen05.mma, cp or shift before a commit was waited for" + _FIRST),
        ("store", "it to cells of a tcgen05.mma, cp or shift that was not waited for" + _FIRST),
        (
            "write",
            "it, which is the accumulator of a tcgen05.mma of another shape that was not waited for" + _FIRST,
        ),
        (
            "read",
            "it after a tcgen05.mma, cp or shift that it is in no pipeline with: no commit was waited for" + _FIRST,
        ),
    ],
)
def test_the_last_of_products_behind_each_other_counts(access: str, message: str):
    """A commit of those before it is not enough, whatever comes first behind them."""
    clocks = Clocks(_THREADS)
    shadow = TensorShadow(clocks)
    lanes, columns = np.mgrid[0:2, 4:7]
    for clocks.now in (5, 6, 7):
        shadow.async_write(lanes, columns, 33, "mma", "it", 64)
    clocks.known[:] = clocks.tensor_order[:] = 7
    clocks.known[Row.TENSOR_DONE] = 6
    clocks.now = 9
    assert message_of(lambda: _BEHIND[access](shadow, lanes, columns)) == message
    clocks.known[Row.TENSOR_DONE, 40, 33] = 7
    _BEHIND[access](shadow, lanes, columns)


@pytest.mark.parametrize("first", [0, 127])
def test_all_lanes_are_freed(first: int):
    clocks = Clocks(_THREADS)
    shadow = TensorShadow(clocks)
    shadow.async_write(np.array([first]), np.array([4]), 33, "cp", "it", 0)
    assert message_of(lambda: shadow.freed(4, 1, 40)) == _UNCOMMITTED
    clocks.known[Row.TENSOR_DONE, 40, 33] = clocks.now
    shadow.freed(4, 1, 40)


@together("told", [False, True])
@together(
    ("before", "behind", "what"),
    [
        ("load", "store", "another thread's tcgen05.ld"),
        ("load", "write", "another thread's tcgen05.ld"),
        ("store", "load", "a write by another thread"),
        ("store", "read", "a write by another thread"),
    ],
)
def test_synchronisation_without_fences(before: str, behind: str, what: str, told: bool):
    """The letter of the ISA asks for fences, too; without synchronisation it is an error for sure."""
    notes: list[tuple[str, str]] = []
    message = f"it after {what}{_UNFENCED}"
    for known, fenced in ((4, 4), (5, 4), (4, 5), (5, 5)):
        clocks = Clocks(_THREADS)
        shadow = TensorShadow(clocks, (lambda rule, text: notes.append((rule, text))) if told else None)
        lanes, columns = np.mgrid[0:2, 4:7]
        shadow.store(lanes, columns, np.full((2, 3), 40), "it")
        clocks.known[:] = clocks.tensor_order[:] = 4
        clocks.now = 5
        (shadow.load if before == "load" else shadow.store)(lanes, columns, np.full((2, 3), 70), "it")
        clocks.known[:] = clocks.tensor_order[:] = 5
        clocks.now = 6
        clocks.tensor_order[40, 70], clocks.known[Row.GENERIC, 40, 70] = fenced, known
        notes.clear()
        if fenced == 4 and (known == 4 or not told):
            assert message_of(partial(_BEHIND[behind], shadow, lanes, columns)) == message + _FIRST
            assert notes == []
        else:
            _BEHIND[behind](shadow, lanes, columns)
            assert notes == ([("tcgen05.fence", message)] if fenced == 4 else [])


def test_reads_of_products_behind_each_other():
    """Another thread's product of the same shape reads the accumulator last: the one who frees it waits for that."""
    clocks = Clocks(_THREADS)
    shadow = TensorShadow(clocks)
    lanes, columns = np.mgrid[0:2, 4:7]
    clocks.now = 5
    shadow.async_write(lanes, columns, 33, "mma", "it", 64)
    for clocks.now in (6, 7):
        shadow.async_read(lanes, columns, 33, "mma", "it", 64)
        shadow.async_write(lanes, columns, 33, "mma", "it", 64)
    clocks.known[:] = clocks.tensor_order[:] = 7
    clocks.now = 8
    clocks.known[Row.TENSOR_DONE, 40, 33] = 6
    for _ in range(2):
        assert message_of(lambda: shadow.freed(0, 5, 40)) == _UNCOMMITTED
        shadow.freed(0, 4, 40)
        shadow.freed(7, 3, 40)
        # A write of somebody who may do so leaves the read, which is still not known to thread 40.
        clocks.known[Row.TENSOR_DONE, 41] = 7
        shadow.store(lanes, columns, np.full((2, 3), 41), "it")
        clocks.known[Row.STORED] = 8
    clocks.known[Row.TENSOR_DONE, 40, 33] = 7
    shadow.freed(0, 5, 40)
    # New columns have no past.
    clocks.known[Row.TENSOR_DONE] = clocks.known[Row.STORED] = 0
    shadow.allocated(4, 2)
    shadow.freed(0, 6, 40)
    assert message_of(lambda: shadow.freed(6, 1, 40)) == _UNCOMMITTED
    assert shadow.undefined(lanes, columns).tolist() == [[True, True, False]] * 2
    clocks.known[:] = clocks.tensor_order[:] = 8
    for clocks.now in (9, 10):
        shadow.async_write(lanes, columns, 33, "mma", "it", 64)
    shadow.allocated(4, 3)
    shadow.freed(4, 3, 40)
    shadow.async_write(lanes, columns, 33, "mma", "it", 64)
    assert not shadow.undefined(lanes, columns).any()
