"""Whom the checker asks about each event: the shadows of the CTA whose memory it is, and the CTAs' lifetimes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from unit.cases import together
from unit.sim.machine import message_of

from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.monitor import Stored
from tirx.sim.hazards.shared_shadow import Writer
from tirx.sim.memory.region import Region


class _Asked:
    """Notes the calls of its methods, and answers with their names."""

    def __init__(self, name: str, log: list[tuple[Any, ...]]):
        self._name, self._log = name, log

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def method(*arguments: Any) -> Any:
            plain = (each.tolist() if isinstance(each, np.ndarray) else each for each in arguments)
            self._log.append((f"{self._name}.{name}", *plain))
            return f"{self._name}.{name}"

        return method


_AT, _BY, _REGION = np.array([1040, 1048]), np.array([33, 35]), Region.of(np.arange(1040, 1048))
_LANES, _COLUMNS = np.array([3, 4]), np.array([7, 8])
_STORED = Stored(_AT, np.zeros((2, 1), np.uint32), np.zeros(2048, np.uint8))
_BULK, _DONE = Row.BULK_WRITTEN, Row.TENSOR_DONE
_CELLS = [[3, 4], [7, 8]]


@together(
    ("name", "arguments", "asked"),
    [
        ("shared_load", (_AT, 4, _BY), [("life.use", 1, [33, 35], "a load", Row.GENERIC),
                                        ("shared.load", [1040, 1048], 4, [33, 35], False, True)]),
        ("shared_store", (_AT, _STORED, _BY),
         [("life.use", 1, [33, 35], "a store", Row.GENERIC),
          ("shared.store", [1040, 1048], 4, [33, 35], Writer.GENERIC, _STORED)]),
        ("shared_store", (_AT, _STORED, _BY, True),
         [("life.use", 1, [33, 35], "a store", Row.GENERIC),
          ("shared.store", [1040, 1048], 4, [33, 35], Writer.STRONG, _STORED)]),
        ("shared_atomic", (_AT, 8, _BY), [("life.use", 1, [33, 35], "an atomic access", Row.GENERIC),
                                          ("shared.load", [1040, 1048], 8, [33, 35], True),
                                          ("shared.store", [1040, 1048], 8, [33, 35], Writer.STRONG)]),
        ("shared_undefined", (_AT, 2), [("shared.undefined", [[1040, 1041], [1048, 1049]])]),
        ("shared_forget", (_AT, 2), [("shared.forget", [[1040, 1041], [1048, 1049]])]),
        ("copy_async", (_AT, 8, _BY), [("shared.store", [1040, 1048], 8, [33, 35], Writer.COPY)]),
        ("async_read", (_REGION, 33, "it"), [("life.use", 1, [33], "it", _DONE),
                                             ("shared.async_read", _REGION, [33], "it", _DONE)]),
        ("async_read", (_REGION, 33, "it", False, True), [("life.use", 1, [33], "it", _DONE),
                                                          ("shared.async_read", _REGION, [33], "it", Row.A_READ)]),
        ("async_read", (_REGION, 33, "it", True), [("shared.async_read", _REGION, [33], "it", Row.BULK_READ)]),
        ("async_write", (_REGION, 33, "it", 520),
         [("life.use", 1, [33], "it", _BULK), ("life.start_copy", 1, 33, _BULK),
          ("shared.async_write", _REGION, 33, "it", 1)]),
        ("async_update", (_AT, 33, "it", 520), [("life.use", 1, [33], "it", _BULK), ("life.start_copy", 1, 33, _BULK),
                                           ("shared.async_update", [1040, 1048], 33, "it", 1)]),
        ("deferred_store", (_AT, 33, "it", 520), [("life.use", 1, [33], "it", _BULK),
                                             ("shared.deferred_store", [1040, 1048], 33, "it", False, 1)]),
        ("deferred_store", (_AT, 33, "it", 520, True), [("life.use", 1, [33], "it", _BULK),
                                                   ("shared.deferred_store", [1040, 1048], 33, "it", True, 1)]),
        ("bulk_issued", (33,), [("life.start_copy", 1, 33, Row.BULK_READ)]),
        ("bulk_issued", (33, False), [("life.start_copy", 1, 33, _BULK)]),
        ("warpgroup_read", (_REGION, _BY, "it"),
         [("shared.async_read", _REGION, [33, 35], "it", Row.WARPGROUP_READ)]),
        ("shared_writes", (_AT,), [("shared.writes", [1040, 1048])]),
        ("shared_writes_at", (7,), [("shared.writes_at", 7)]),
        ("exited", (), [("life.exit", 1)]),
        ("commit_arrives", (33,), [("life.use", 1, [33], "tcgen05.commit", _DONE)]),
        ("tensor_allocated", (32, 64), [("tensor.allocated", 32, 64)]),
        ("tensor_freed", (32, 64, 33), [("tensor.freed", 32, 64, 33)]),
        ("tensor_load", (_LANES, _COLUMNS, _BY, "it"), [("tensor.load", *_CELLS, [33, 35], "it", True)]),
        ("tensor_undefined", (_LANES, _COLUMNS), [("tensor.undefined", *_CELLS)]),
        ("tensor_forget", (_LANES, _COLUMNS), [("tensor.forget", *_CELLS)]),
        ("tensor_store", (_LANES, _COLUMNS, _BY, "it"), [("tensor.store", *_CELLS, [33, 35], "it")]),
        ("tensor_async_read", (_LANES, _COLUMNS, 33, "it", 64, "cp"),
         [("life.use", 1, [33], "it", _DONE), ("tensor.async_read", *_CELLS, 33, "cp", "it", 64)]),
        ("tensor_async_read", (_LANES, _COLUMNS, 33, "it"),
         [("life.use", 1, [33], "it", _DONE), ("tensor.async_read", *_CELLS, 33, "mma", "it", None)]),
        ("tensor_async_write", (_LANES, _COLUMNS, 33, "cp", "it"),
         [("life.use", 1, [33], "it", _DONE), ("tensor.async_write", *_CELLS, 33, "cp", "it", 0)]),
    ],
)  # fmt: skip
def test_who_is_asked(name: str, arguments: tuple[Any, ...], asked: list[tuple[Any, ...]]) -> None:
    checker: Any = Checker(2, 32, 2048)
    log: list[tuple[Any, ...]] = []
    checker._shared, checker._tensor = [None, _Asked("shared", log)], [None, _Asked("tensor", log)]
    checker._lifetimes, checker.tolerant = _Asked("life", log), True
    found = getattr(checker, name)(1, *arguments)
    assert log == asked
    answers = ("shared_undefined", "shared_writes", "shared_writes_at", "tensor_undefined")
    assert found == (asked[-1][0] if name in answers else None)


def test_a_new_checker() -> None:
    """Threads are those of all CTAs; instants go up by one."""
    checker = Checker(3, 64, 2048)
    assert checker._clocks.known.shape[1:] == (192, 192)
    assert [shadow._warp_reads.shape for shadow in checker._shared] == [(6,)] * 3 and len(checker._tensor) == 3
    assert len(checker._fenced) == len(checker._inits_fenced) == 192
    marks = [checker.mark()]
    for _ in range(2):
        checker.tick()
        marks.append(checker.mark())
    assert marks == [1, 2, 3]


def test_a_copy_of_a_checker() -> None:
    """It knows the same, and goes on by itself; both tell their notes to the same one."""
    notes: list[str] = []

    def note(rule: str, message: str) -> None:
        notes.append(rule)

    checker = Checker(1, 32, 2048, note)
    checker.shared_store(0, _AT, _STORED, np.array([3, 5]))
    other = checker.copy()
    assert other._note is note and other._shared[0]._clocks is other._clocks is not checker._clocks
    assert other._shared[0]._write_time[1040] == 1 and not checker._shared[0]._log
    checker.tick()
    assert (checker.mark(), other.mark()) == (2, 1)
    checker.release(np.array([3]))
    assert not other._clocks.known.any()


def test_clashes_are_refused() -> None:
    """Threads write different values to a byte: not by strong stores, which do so one after another."""
    checker, both = Checker(1, 32, 2048), np.array([1040, 1040])
    stored = Stored(both, np.array([[1], [2]], np.uint32), np.zeros(2048, np.uint8))
    assert message_of(lambda: checker.shared_store(0, both, stored, np.array([3, 4]))) == (
        "data race: lanes of one store write different values to shared address 0x410"
    )
    checker.shared_store(0, both, stored, np.array([3, 4]), True)


def test_mbarrier_objects() -> None:
    """Who uses or invalidates one has to be behind its initialisation; the async proxy needs a fence behind that."""
    checker = Checker(2, 32, 2048)
    clocks = checker._clocks
    clocks.known[Row.REACHED], clocks.now = 1, 5
    checker.mbarrier_init(1, 1032, 40)
    assert np.flatnonzero(checker._shared[1]._mbarrier).tolist() == [*range(1032, 1040)]
    assert not checker._shared[0]._mbarrier.any() and checker._mbarriers == {(1, 1032): (40, 5)}
    unordered = "the mbarrier object at 0x408 is used by thread {}, not ordered behind its initialisation by thread 40"
    assert message_of(lambda: checker.mbarrier_inval(1, 1032, 33)) == unordered.format(33)
    clocks.known[Row.GENERIC, 41:44, 40] = 5
    checker.mbarrier_uses(1, 1032, np.array([40, 41, 42]))
    clocks.known[Row.GENERIC, 42, 40] = 4
    assert message_of(lambda: checker.mbarrier_uses(1, 1032, np.array([40, 41, 42]))) == unordered.format(42)
    for instant in (4, 5):
        checker._fenced[40] = instant
        if instant == 5:
            checker.mbarrier_use(1, 1032, 41, True)
        else:
            assert "thread 40 has not executed fence.mbarrier_init or fence.proxy.async" in message_of(
                lambda: checker.mbarrier_use(1, 1032, 41, True)
            )
    checker.mbarrier_inval(1, 1032, 41)
    assert checker._mbarriers == {} and not checker._shared[1]._mbarrier.any()
