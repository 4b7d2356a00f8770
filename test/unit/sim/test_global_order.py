"""The order of global memory: pairs of accesses against the table of the rules, messages, flags through clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of

from tirx.sim import SimError
from tirx.sim.hazards import global_flags, global_order, global_pairs, global_shadow
from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.global_access import (
    BULK,
    COPY,
    READ_ONLY,
    REDUCE,
    UPDATE,
    WEAK,
    Access,
    Fence,
    Kind,
    Scope,
)
from tirx.sim.hazards.global_order import GlobalOrder
from tirx.sim.hazards.global_pairs import Side, Users
from tirx.sim.memory.segment import Segment

_LANES = 32
RELEASE = Access(Kind.STRONG, Scope.GPU, releases=True)
ACQUIRE = Access(Kind.STRONG, Scope.GPU, acquires=True)
RELAXED = Access(Kind.STRONG, Scope.GPU)
_GPU_FENCE = Fence()


class _Machine:
    """Clusters of two CTAs each, whose threads access one buffer; thread 32 is the first of the second CTA."""

    def __init__(self, *, strict: bool = False, clusters: int = 4):
        self.notes: list[tuple[str, str]] = []
        self.segment = Segment(np.zeros(256, np.uint8), "argument x")
        self.order = GlobalOrder(
            lambda rule, text: self.notes.append((rule, text)),
            lambda rule: rule in [each for each, _ in self.notes],
            lambda pc: f"line {pc}",
            lambda cluster, thread: f"thread {thread} of cluster {cluster}",
            clusters,
            strict=strict,
        )
        self.checkers = [Checker(2, _LANES, 2048) for _ in range(clusters)]

    def _users(self, cluster: int, threads: Sequence[int], pc: int) -> Users:
        checker = self.checkers[cluster]
        checker.tick()
        return Users(np.array(threads), (Side(cluster, _LANES, checker, slice(None)),), pc)

    def read(self, cluster: int, thread: int, at: int = 64, how: Access = WEAK, pc: int = 1, width: int = 4) -> None:
        users = self._users(cluster, [thread], pc)
        self.order.read(users, self.segment, np.array([at]), width, how, width)

    def write(
        self, cluster: int, thread: int, value: int = 7, at: int = 64, how: Access = WEAK, pc: int = 2, width: int = 4
    ) -> None:
        """Writes an element whose bytes are all `value`, as loads, atomics or bulk copies do."""
        users, offsets = self._users(cluster, [thread], pc), np.array([at])
        data = np.full((1, width), value, np.uint8)
        if how.strong:
            self.order.write(users, self.segment, offsets, width, how, width, None)
            self.order.publish(users, self.segment, offsets, width, how)
        elif how.kind in (Kind.BULK, Kind.REDUCE):
            known, element = (data, 0) if how.kind is Kind.BULK else (None, width)
            self.order.write(users, self.segment, offsets, width, how, element, known)
        else:
            self.order.write(users, self.segment, offsets, width, how, width, data.view(f"u{width}"))
        self.segment.data[at : at + width] = value

    def use_map(self, cluster: int, thread: int, at: int = 0) -> None:
        users = self._users(cluster, [thread], 4)
        self.order.read_map(users, self.segment, at, 128, WEAK)

    def acquire_map(self, cluster: int, thread: int, at: int = 0) -> None:
        self.order.acquire_map(self._users(cluster, [thread], 5), self.segment, at, 128)

    def fence(self, cluster: int, thread: int, fence: Fence = _GPU_FENCE) -> None:
        users = self._users(cluster, [thread], 3)
        self.checkers[cluster].fence(np.array([thread]), fence)
        self.order.fence(users, fence)

    def barrier(self, cluster: int, *threads: int) -> None:
        checker, own = self.checkers[cluster], np.array(threads)
        checker.tick()
        checker.loads_returned(own)
        checker.acquire(own, checker.release(own))

    def rules(self) -> list[str]:
        return [rule for rule, _ in self.notes]


def test_errors_name_both_and_what_is_missing():
    machine = _Machine()
    machine.write(0, 3, at=64, pc=11)
    assert message_of(lambda: machine.read(0, 40, at=66, pc=12, width=2)) == (
        "data race: the access of thread 40 of cluster 0 reads byte 66 of argument x, which line 11 "
        "(thread 3 of cluster 0) has written: expected a synchronisation of the two threads in between"
    )
    flag = (
        "expected a flag with .release and .acquire, or fences on both sides, of a scope that has both threads between "
        "CTAs that are not of one cluster"
    )
    assert message_of(lambda: machine.write(2, 40, 9)) == (
        "data race: the access of thread 40 of cluster 2 writes byte 64 of argument x, which line 11 "
        f"(thread 3 of cluster 0) has written: {flag}"
    )
    machine.read(1, 5, at=128, pc=13)
    assert message_of(lambda: machine.write(2, 0, at=128)) == (
        "data race: the access of thread 0 of cluster 2 writes byte 128 of argument x, which line 13 "
        f"(thread 5 of cluster 1) has read: {flag}"
    )


def test_tensor_maps_of_which_a_part_is_written():
    """The error names the first write, wherever it is; an acquisition is for all of them."""
    machine = _Machine()
    for at, pc in ((72, 21), (100, 22)):
        machine.write(0, 3, at=at, pc=pc)
    problem = (
        "data race: thread 5 of cluster 0 uses the tensor map at byte 0 of argument x, which line 21 has written: "
        "expected fence.proxy.tensormap::generic.acquire of it behind a synchronisation with the writer"
    )
    machine.acquire_map(0, 5)
    assert message_of(lambda: machine.use_map(0, 5)) == problem
    machine.barrier(0, 3, 5)
    assert message_of(lambda: machine.use_map(0, 5)) == problem
    machine.acquire_map(0, 5)
    machine.use_map(0, 5)


_BARRIER = "expected a synchronisation of the two threads in between"
_GROUP = "expected cp.async.bulk.wait_group (without .read) of the issuing thread, and then a synchronisation"
_PROXY = "expected fence.proxy.async (or .async.global) in between, on the way of the synchronisation"
_NC = "ld.global.nc is for memory that the launch does not write"
_MBARRIER = "expected a wait for the mbarrier of the copy, and then a synchronisation"
_SCOPE = "the scope of one of them does not have the other thread, or they differ in size"
_CTA_UPDATE = Access(Kind.UPDATE, Scope.CTA)
_Way = tuple[str, Access]
_READ, _WRITE = "read", "write"


def _does(machine: _Machine, thread: int, way: _Way, value: int, width: int = 4) -> None:
    if way[0] == _READ:
        machine.read(0, thread, how=way[1], width=width)
    else:
        machine.write(0, thread, value, how=way[1], width=width)


@together(
    ("first", "second", "unordered", "ordered"),
    [
        ((_WRITE, WEAK), (_READ, WEAK), _BARRIER, ""),
        ((_WRITE, WEAK), (_WRITE, WEAK), _BARRIER, ""),
        ((_READ, WEAK), (_READ, WEAK), "", ""),
        ((_READ, WEAK), (_WRITE, WEAK), _BARRIER, ""),
        ((_WRITE, WEAK), (_WRITE, UPDATE), _BARRIER, ""),
        ((_WRITE, UPDATE), (_WRITE, WEAK), _BARRIER, ""),
        ((_WRITE, UPDATE), (_WRITE, UPDATE), "", ""),
        ((_WRITE, RELAXED), (_READ, RELAXED), "", ""),
        ((_READ, RELAXED), (_WRITE, RELAXED), "", ""),
        ((_WRITE, _CTA_UPDATE), (_WRITE, _CTA_UPDATE), _SCOPE, ""),
        ((_WRITE, UPDATE), (_READ, WEAK), "global weak read of an atomic", ""),
        ((_READ, WEAK), (_WRITE, UPDATE), "global weak read of an atomic", ""),
        ((_WRITE, REDUCE), (_WRITE, REDUCE), "", ""),
        ((_WRITE, REDUCE), (_WRITE, UPDATE), "global atomics of two proxies", "global atomics of two proxies"),
        ((_WRITE, UPDATE), (_WRITE, REDUCE), "global atomics of two proxies", "global atomics of two proxies"),
        ((_WRITE, BULK), (_READ, WEAK), _GROUP, _GROUP),
        ((_WRITE, BULK), (_WRITE, WEAK), _GROUP, _GROUP),
        ((_WRITE, WEAK), (_READ, BULK), _BARRIER, _PROXY),
        ((_WRITE, WEAK), (_WRITE, BULK), _BARRIER, _PROXY),
        ((_READ, WEAK), (_WRITE, BULK), _BARRIER, "global fence.proxy.async behind reads"),
        ((_READ, BULK), (_WRITE, WEAK), _MBARRIER, _MBARRIER),
        ((_READ, COPY), (_WRITE, WEAK), "expected cp.async.wait_group of that thread", "cp.async.wait_group"),
        ((_WRITE, WEAK), (_READ, READ_ONLY), _NC, _NC),
        ((_READ, READ_ONLY), (_WRITE, WEAK), _NC, "global ld.nc"),
    ],
)  # fmt: skip
def test_pairs(first: _Way, second: _Way, unordered: str, ordered: str):
    """Of threads of two CTAs of a cluster, with and without a barrier: an error, a warning or nothing."""
    for expected, synchronised in ((unordered, False), (ordered, True)):
        for strict in (False, True):
            machine = _Machine(strict=strict)
            _does(machine, 3, first, 7)
            if synchronised:
                machine.barrier(0, 3, 40)
            is_rule = expected.startswith("global ")
            if not expected or (is_rule and not strict):
                _does(machine, 40, second, 9)
                assert machine.rules() == ([expected] if is_rule else [])
            else:
                found = message_of(lambda machine=machine: _does(machine, 40, second, 9))
                assert found.startswith(f"{expected}: " if is_rule else "data race: ") and expected in found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((_WRITE, RELAXED), (_READ, RELAXED)),
        ((_READ, RELAXED), (_WRITE, RELAXED)),
        ((_WRITE, UPDATE), (_WRITE, UPDATE)),
    ],
)
def test_strong_accesses_of_two_sizes(first: _Way, second: _Way):
    machine = _Machine()
    _does(machine, 3, first, 7)
    _does(machine, 40, second, 9, width=2)
    assert machine.rules() == ["global mixed sizes"]
    machine = _Machine(strict=True)
    _does(machine, 3, first, 7)
    assert message_of(lambda: _does(machine, 40, second, 9, width=2)).startswith("global mixed sizes: ")


def test_a_thread_is_in_order_with_itself_but_not_with_its_copies():
    machine = _Machine(strict=True)
    for how in (WEAK, RELAXED, UPDATE):
        machine.read(0, 3, how=WEAK if how is UPDATE else how)
        machine.write(0, 3, how=how)
    machine.write(0, 3, 8, how=WEAK)
    assert _PROXY in message_of(lambda: machine.read(0, 3, how=BULK))
    machine.checkers[0].global_proxy_fence(np.array([3]))
    machine.write(0, 3, 9, how=BULK)
    assert _GROUP in message_of(lambda: machine.read(0, 3))
    machine.checkers[0].bulk_writes_done(np.array([3]), np.array([machine.checkers[0].mark()]))
    machine.read(0, 3)
    machine.write(0, 3, at=128, how=Access(Kind.DEFERRED, Scope.GPU, releases=True))
    assert "data race" in message_of(lambda: machine.read(0, 3, at=128))


def test_writes_of_what_is_there():
    """They race with nobody, but the value is still that of the first write, unless it is that of the launch."""
    machine = _Machine()
    machine.write(0, 3, 0)
    machine.read(1, 4)
    machine.write(0, 3, 7, at=128)
    machine.write(1, 4, 7, at=128)
    machine.read(0, 3, at=128)
    machine.read(1, 4, at=128)
    machine.read(1, 9, at=128)  # of a CTA that has written it
    first = "which line 2 (thread 4 of cluster 1) has written"
    assert first in message_of(lambda: machine.read(2, 5, at=128))
    machine.write(2, 5, 7, at=128)
    machine.read(2, 5, at=128)
    assert "(thread 5 of cluster 2) has written" in message_of(lambda: machine.write(1, 4, 8, at=128))
    machine = _Machine()
    machine.write(0, 3, 7)
    machine.write(0, 40, 7)
    machine.barrier(0, 40, 50)
    assert "(thread 3 of cluster 0) has written" in message_of(lambda: machine.write(0, 50, 8))
    machine.barrier(0, 3, 50)
    machine.write(0, 50, 8)


def test_equal_values_of_two_sizes():
    for strict in (False, True):
        machine = _Machine(strict=strict)
        machine.write(0, 3, 7)
        if strict:
            assert message_of(partial(machine.write, 0, 40, 7, width=2)).startswith("global: ")
        else:
            machine.write(0, 40, 7, width=2)
            assert not machine.notes


def test_lanes_of_one_store():
    machine = _Machine()
    users = machine._users(0, [3, 4, 5], 1)  # pyright: ignore[reportPrivateUsage]
    values = np.array([[0x01020304], [9], [0x01090304]], np.uint32)
    offsets = np.array([64, 68, 64])
    assert message_of(lambda: machine.order.write(users, machine.segment, offsets, 4, WEAK, 4, values)) == (
        "data race: lanes of one store write different values to byte 66 of argument x"
    )
    values[2] = values[0]
    machine.order.write(users, machine.segment, offsets, 4, WEAK, 4, values)


def test_several_readers():
    """A write has to be behind all of them, not the last one only."""
    for behind in ([3, 9, 40], [9, 40]):
        machine = _Machine()
        for thread in (3, 9, 3, 40):
            machine.read(0, thread, pc=thread)
        machine.write(0, 60, at=128)
        machine.barrier(0, 60, *behind)
        if 3 in behind:
            machine.read(0, 60)
            machine.write(0, 60)
        else:
            assert "line 3 (thread 3 of cluster 0) has read" in message_of(lambda m=machine: m.write(0, 60))


def test_reads_before_the_first_write(monkeypatch: pytest.MonkeyPatch):
    """They are kept as they are until then, or until there are too many."""
    for limit in (1 << 28, 300):
        monkeypatch.setattr(global_order, "_LOG_LIMIT", limit)
        machine = _Machine()
        for thread in (3, 9):
            machine.read(0, thread, at=64 + thread // 9)
        ((_, granule, written, read),) = machine.order.touched()
        assert not len(written) and {*(read * granule).tolist()} == {64 + each for each in range(5)}
        assert "(thread 9 of cluster 0) has read" in message_of(lambda m=machine: m.write(0, 3))


@pytest.mark.parametrize("strict", [False, True])
def test_reads_that_are_forgotten(monkeypatch: pytest.MonkeyPatch, strict: bool):
    """One warning, on both levels; what is remembered is checked."""
    machine = _Machine(strict=strict)
    machine.write(0, 3, at=0)
    monkeypatch.setattr(global_shadow, "_BUDGET", 1400)
    for thread in range(8, 16):
        machine.read(0, thread)
        machine.read(0, thread, at=72)
    machine.barrier(0, 60, *range(10, 16))
    for at in (64, 72):
        machine.write(0, 60, at=at)
    assert machine.notes == [
        ("global reads forgotten", "too many reads of global memory to check all later writes against")
    ]
    machine = _Machine(strict=strict)
    machine.write(0, 3, at=0)
    for thread in range(8, 16):
        machine.read(0, thread)
    machine.barrier(0, 60, *range(8, 15))
    assert "(thread 15 of cluster 0) has read" in message_of(lambda: machine.write(0, 60))


@pytest.mark.parametrize("strict", [False, True])
def test_flags_that_are_forgotten(monkeypatch: pytest.MonkeyPatch, strict: bool):
    """One warning, on both levels, in the place of errors that may be wrong."""
    monkeypatch.setattr(global_flags, "_MOST_PENDING", 0)
    relaxed = Access(Kind.STRONG, Scope.GPU)
    machine = _Machine(strict=strict)
    machine.write(0, 3, at=64)
    machine.fence(0, 3)
    machine.write(0, 3, at=0, how=relaxed)
    machine.read(1, 5, at=0, how=relaxed)
    machine.fence(1, 5)
    machine.read(1, 5, at=64)
    assert machine.notes == [
        ("global flags forgotten", "too many flags in global memory to know all order between CTAs")
    ]


@pytest.mark.parametrize(
    ("limit", "value", "first", "warns"),
    [
        ("_BUDGET", 1 << 28, 0, False),
        ("_BUDGET", 8 * (500 + 24 + 512), 0, False),  # eight writes by one thread, whose flags take 512 bytes
        ("_BUDGET", 8 * (500 + 24 + 512) - 1, 3, True),
        ("_BUDGET", 8 * (500 + 24 + 512) - 1, 4, False),
        ("_MOST_IMPORTS", 8, 0, False),
        ("_MOST_IMPORTS", 7, 3, True),
        ("_MOST_IMPORTS", 7, 4, False),
        ("_MOST_SOURCES", 1, 0, False),
        ("_MOST_PENDING", 1, 0, False),
    ],
)
def test_flags_of_many_threads(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, first: int, warns: bool):
    """
    Each of eight hands on a word, of which those from `first` on are read. What is released and acquired may be too
    much to remember: then the older half is forgotten. No error is wrong.
    """
    monkeypatch.setattr(global_flags, limit, value)
    relaxed = Access(Kind.STRONG, Scope.GPU)
    machine = _Machine()
    for i in range(8):
        machine.write(0, 3 + i, at=8 * i)
        machine.fence(0, 3 + i)
        machine.write(0, 3 + i, at=128 + 8 * i, how=relaxed)
        machine.read(1, 5, at=128 + 8 * i, how=relaxed)
        machine.fence(1, 5)
    for i in range(first, 8):
        machine.read(1, 5, at=8 * i)
    assert machine.rules() == ["global flags forgotten"] * warns


def test_a_map_is_acquired_as_it_is_and_for_those_behind():
    """Writes behind an acquisition, and threads that are not behind it, take another one."""
    machine = _Machine()
    machine.write(0, 3, at=0)
    machine.acquire_map(0, 3)
    machine.use_map(0, 3)
    assert "thread 5 of cluster 0 uses the tensor map" in message_of(lambda: machine.use_map(0, 5))
    machine.barrier(0, 3, 5)
    machine.use_map(0, 5)
    machine.barrier(0, 3, 5)
    machine.write(0, 3, 9, at=16)
    machine.barrier(0, 3, 5)
    assert "thread 3 of cluster 0 uses the tensor map" in message_of(lambda: machine.use_map(0, 3))
    assert "thread 5 of cluster 0 uses the tensor map" in message_of(lambda: machine.use_map(0, 5))
    machine.acquire_map(0, 3)
    machine.use_map(0, 3)


def test_more_instructions_than_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    machine = _Machine()
    machine.read(0, 3)
    last = machine.checkers[0].instant() + 1
    monkeypatch.setattr(global_pairs, "INSTANT_MASK", last)
    machine.read(0, 3)
    with pytest.raises(SimError, match=f"^expected at most {last} instructions of a cluster to check: use check=False"):
        machine.read(0, 3)


# Flags

_DATA, _FLAG, _NEXT = 64, 128, 192
_Steps = Sequence[Callable[[_Machine], None]]


def _data(machine: _Machine) -> None:
    machine.write(0, 3, at=_DATA)


def _seen(cluster: int, thread: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.read(cluster, thread, at=_DATA)


def _set(how: Access, cluster: int = 0, thread: int = 3, at: int = _FLAG) -> Callable[[_Machine], None]:
    return lambda machine: machine.write(cluster, thread, at=at, how=how)


def _ask(how: Access, cluster: int = 1, thread: int = 3, at: int = _FLAG) -> Callable[[_Machine], None]:
    return lambda machine: machine.read(cluster, thread, at=at, how=how)


def _fence(cluster: int, thread: int = 3, **how: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.fence(cluster, thread, Fence(**how))


def _barrier(cluster: int, *threads: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.barrier(cluster, *threads)


_RED = Access(Kind.UPDATE, Scope.GPU, reads=False)
_CLUSTER_RELEASE = Access(Kind.STRONG, Scope.CLUSTER, releases=True)
_CLUSTER_ACQUIRE = Access(Kind.STRONG, Scope.CLUSTER, acquires=True)
_CTA_RELEASE = Access(Kind.STRONG, Scope.CTA, releases=True)


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([_set(RELEASE), _ask(ACQUIRE), _seen(1, 3)], ""),
        ([_set(RELAXED), _ask(ACQUIRE), _seen(1, 3)], "error"),
        ([_set(RELEASE), _ask(RELAXED), _seen(1, 3)], "error"),
        ([_set(RELEASE), _ask(ACQUIRE), _seen(1, 4)], "error"),
        ([_set(RELEASE), _ask(ACQUIRE), _barrier(1, 3, 4), _seen(1, 4)], ""),
        ([_barrier(0, 3, 50), _set(RELEASE, 0, 50), _ask(ACQUIRE), _seen(1, 3)], ""),
        ([_fence(0), _set(RELAXED), _ask(RELAXED), _fence(1), _seen(1, 3)], ""),
        ([_set(RELAXED), _fence(0), _ask(RELAXED), _fence(1), _seen(1, 3)], "error"),
        ([_fence(0), _set(RELAXED), _fence(1), _ask(RELAXED), _seen(1, 3)], "error"),
        ([_fence(0, acquires=False), _set(RELAXED), _ask(RELAXED), _fence(1, releases=False), _seen(1, 3)], ""),
        ([_fence(0, releases=False), _set(RELAXED), _ask(ACQUIRE), _seen(1, 3)], "error"),
        ([_fence(0, scope=Scope.CLUSTER), _set(RELAXED), _ask(ACQUIRE), _seen(1, 3)], "error"),
        ([_set(RELEASE), _ask(RELAXED), _fence(1, scope=Scope.CLUSTER), _seen(1, 3)], "error"),
        ([_set(_CLUSTER_RELEASE), _ask(_CLUSTER_ACQUIRE, 0, 40), _seen(0, 40)], ""),
        ([_set(_CLUSTER_RELEASE), _ask(ACQUIRE), _seen(1, 3)], "error"),
        ([_set(_CTA_RELEASE), _ask(ACQUIRE, 0, 4), _seen(0, 4)], ""),
        ([_set(_CTA_RELEASE), _ask(ACQUIRE, 0, 40), _seen(0, 40)], "error"),
        # Chains: updates continue a release, stores of others end it.
        ([_set(RELEASE), _set(_RED, 2), _ask(ACQUIRE), _seen(1, 3)], ""),
        ([_set(RELEASE), _set(_RED, 2), _seen(2, 3)], "error"),
        ([_set(RELEASE), _set(RELAXED), _ask(ACQUIRE), _seen(1, 3)], ""),
        ([_set(RELEASE), _set(RELAXED, 2), _ask(ACQUIRE), _seen(1, 3)], "error"),
        ([_set(RELEASE), _ask(RELAXED, 2), _set(RELAXED, 2), _ask(ACQUIRE), _seen(1, 3)],
         "global chain through a relaxed store"),
        # From cluster to cluster: what was acquired is released again.
        ([_set(RELEASE), _ask(ACQUIRE), _set(RELEASE, 1, 3, _NEXT), _ask(ACQUIRE, 2, 9, _NEXT), _seen(2, 9)], ""),
        ([_set(RELEASE), _ask(ACQUIRE), _barrier(1, 3, 40), _set(RELEASE, 1, 40, _NEXT), _ask(ACQUIRE, 2, 9, _NEXT),
          _seen(2, 9)], ""),
        ([_set(RELEASE), _set(RELEASE, 1, 3, _NEXT), _ask(ACQUIRE), _ask(ACQUIRE, 2, 9, _NEXT), _seen(2, 9)], "error"),
        ([_set(RELEASE), _ask(ACQUIRE), _set(RELAXED, 1, 3, _NEXT), _ask(ACQUIRE, 2, 9, _NEXT), _seen(2, 9)], "error"),
        # Fences of other threads, which barriers carry on.
        ([_fence(0), _barrier(0, 3, 50), _set(RELAXED, 0, 50), _ask(ACQUIRE), _seen(1, 3)],
         "global fence of another thread"),
        ([_fence(0, sc=True), _barrier(0, 3, 50), _set(RELAXED, 0, 50), _ask(ACQUIRE), _seen(1, 3)], ""),
        ([_set(RELEASE), _ask(RELAXED), _barrier(1, 3, 4), _fence(1, 4), _seen(1, 4)],
         "global fence of another thread"),
        ([_set(RELEASE), _ask(RELAXED), _barrier(1, 3, 4), _fence(1, 4, sc=True), _seen(1, 4)], ""),
        ([_set(RELEASE), _ask(RELAXED), _fence(1, 4), _seen(1, 4)], "error"),
    ],
)  # fmt: skip
def test_flags(steps: _Steps, verdict: str):
    """Data of thread 3 of cluster 0: whether the last thread may read it."""
    for strict in (False, True):
        machine = _Machine(strict=strict)
        for step in (_data, *steps[:-1]):
            step(machine)
        if verdict == "error" or (verdict.startswith("global ") and strict):
            found = message_of(lambda machine=machine: steps[-1](machine))
            assert found.startswith("data race: " if verdict == "error" else f"{verdict}: ")
            assert "byte 64 of argument x, which line 2 (thread 3 of cluster 0) has written" in found
        else:
            steps[-1](machine)
            assert machine.rules() == ([verdict] if verdict.startswith("global ") else [])


def test_bulk_copies_behind_flags():
    """The fence of proxies may stand on either side of the flag, in a thread on the way."""
    for fences in ([], [0], [1], [0, 1]):
        machine = _Machine(strict=True)
        machine.write(0, 3, at=_DATA)
        if 0 in fences:
            machine.order.proxy_fence(machine._users(0, [3], 1))  # pyright: ignore[reportPrivateUsage]
        machine.write(0, 3, at=_FLAG, how=RELEASE)
        machine.read(1, 5, at=_FLAG, how=ACQUIRE)
        if 1 in fences:
            machine.order.proxy_fence(machine._users(1, [5], 1))  # pyright: ignore[reportPrivateUsage]
        machine.barrier(1, 5, 6)
        if fences:
            machine.read(1, 6, at=_DATA, how=BULK)
        else:
            assert _PROXY in message_of(lambda m=machine: m.read(1, 6, at=_DATA, how=BULK))


# Launches


def test_clusters_are_limited():
    most = global_shadow.MOST_CLUSTERS
    text = f"expected fewer than {most} clusters, found {most}: use check=False"

    def note(rule: str, message: str) -> None:
        raise AssertionError(rule, message)

    def make(count: int) -> GlobalOrder:
        return GlobalOrder(note, bool, str, lambda cluster, thread: "", count, strict=True)

    make(most - 1)
    assert message_of(lambda: make(most)) == text


def test_prerequisites():
    machine = _Machine()
    machine.order.prerequisites.require([machine.segment])
    other = Segment(np.zeros(64, np.uint8), "argument y")
    assert machine.order.prerequisites.requires(machine.segment) and not machine.order.prerequisites.requires(other)
    message = (
        "argument x may still be written or read by the grid before: expected griddepcontrol.wait of thread {}, or of "
        "one that it follows by a barrier"
    )
    for access in (machine.read, machine.write):
        assert message_of(lambda access=access: access(0, 3)) == message.format("3 of cluster 0")
    machine.order.read(machine._users(0, [3], 1), other, np.array([0]), 4, WEAK, 4)  # pyright: ignore[reportPrivateUsage]
    machine.order.prerequisites.waited(machine._users(0, [3], 1))  # pyright: ignore[reportPrivateUsage]
    machine.write(0, 3)
    assert message_of(lambda: machine.read(0, 40)) == message.format("40 of cluster 0")
    assert message_of(lambda: machine.read(1, 3)) == message.format("3 of cluster 1")
    machine.barrier(0, 3, 40)
    machine.read(0, 40)


def test_what_was_touched():
    machine = _Machine()
    machine.write(0, 3, at=64, width=8)
    machine.read(0, 3, at=80, width=4)
    ((segment, granule, written, read),) = machine.order.touched()
    assert segment is machine.segment and granule == 4
    assert written.tolist() == [16, 17] and read.tolist() == [20]
