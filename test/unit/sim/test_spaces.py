"""Loads, stores and atomics in every state space: places, values, and who is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of, new_cluster, new_group

from tirx.sim.core.traffic import Direction, Space, Traffic
from tirx.sim.core.types import Array
from tirx.sim.hazards.global_access import STRONG
from tirx.sim.memory import spaces
from tirx.sim.memory.addresses import GENERIC_BASE
from tirx.sim.memory.segment import Segment


def test_owners_of_shared_memory() -> None:
    cluster, _ = new_cluster(cluster=(3, 1, 1))
    group = new_group(cluster.ctas[1])
    window = 1 << 24
    ((rank, which, offsets),) = spaces.shared_targets(group, np.array([2 * window + 8, 2 * window + 4], np.uint64))
    assert (rank, which, offsets.tolist()) == (2, slice(None), [8, 4])
    found = spaces.shared_targets(group, np.array([window + 8, 4, window, 2 * window + 1], np.uint64))
    assert [(r, np.arange(4)[w].tolist(), o.tolist()) for r, w, o in found] == [
        (0, [1], [4]), (1, [0, 2], [8, 0]), (2, [3], [1]),
    ]  # fmt: skip
    assert message_of(lambda: spaces.shared_targets(group, np.array([window, 3 * window + 20, 5], np.uint64))) == (
        "out-of-bounds shared memory access at 0x3000014: the cluster has 3 CTAs, no CTA 3"
    )


def test_addresses_in_local_memory() -> None:
    cluster, _ = new_cluster()
    group, lanes = new_group(cluster.ctas[0]), np.array([3, 5])
    assert spaces.local_offsets(group, lanes, np.array([4, 16], np.uint64), 4, "load").tolist() == [100, 176]
    assert spaces.local_offsets(group, lanes, np.array([28, 0], np.uint64), 4, "load").tolist() == [124, 160]
    for address, width, message in (
        (6, 4, "misaligned local load: 0x6 is not a multiple of 4 bytes"),
        (32, 4, "out-of-bounds local load of 4 bytes at 0x20: there are 32 bytes"),
        (2**64 - 1, 1, "out-of-bounds local load of 1 bytes at -0x1: there are 32 bytes"),
        (2**64 - 8, 8, "out-of-bounds local load of 8 bytes at -0x8: there are 32 bytes"),
    ):
        addresses = np.array([0, address], np.uint64)
        assert message_of(lambda a=addresses, w=width: spaces.local_offsets(group, lanes, a, w, "load")) == message


def test_atomics_at_equal_addresses() -> None:
    """One lane after another, in the order of the lanes."""
    cluster, _ = new_cluster()
    cta = cluster.ctas[0]
    group = new_group(cta, pc=4)
    segment = cta.shared
    addresses = np.array([1032, 1040, 1032, 1044, 1040, 1032], np.uint64)
    lanes, progress = np.array([1, 2, 3, 5, 8, 9]), cluster.launch.progress
    added = np.array([[1], [10], [100], [0], [20], [1000]], np.uint32)
    old = spaces.update(
        group, lanes, "shared", addresses, np.dtype(np.uint32), 1, lambda before, which: before + added[which]
    )
    assert old.ravel().tolist() == [0, 0, 1, 0, 10, 101]
    assert segment.data[1032:1048].view(np.uint32).tolist() == [1101, 0, 30, 0]
    assert np.flatnonzero(cta.last_update == 4).tolist() == [1, 2, 3, 8, 9] and cluster.launch.progress == progress + 1


@pytest.mark.parametrize("function", [np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor])
@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.uint64, np.int64])
@pytest.mark.sample(6)
def test_atomics_without_turns(function: np.ufunc, dtype: Any) -> None:
    """Lanes with equal addresses get the old values, and leave the new ones, that they have one after another."""
    rng, unit = np.random.default_rng(5), np.dtype(dtype)
    addresses = (1032 + unit.itemsize * rng.integers(0, 16 // unit.itemsize, 30)).astype(np.uint64)
    operands = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (30, 1), dtype, endpoint=True)
    operands[::7] = 0
    found: list[Any] = []

    def running(old: Array, which: Array) -> Array:
        return function.accumulate(np.concatenate((old, operands[which]), axis=1), axis=1, dtype=unit)

    for fold in (None, running):
        cluster, _ = new_cluster()
        cta = cluster.ctas[0]
        group = new_group(cta, pc=4)
        cta.shared.data[1024:1056] = np.arange(32) * 5
        old = spaces.update(
            group, np.arange(1, 31), "generic", addresses | np.uint64(GENERIC_BASE["shared"]), unit, 1,
            lambda before, which: function(before, operands[which]), fold=fold,
        )  # fmt: skip
        found.append([old.tolist(), cta.shared.data[1024:1056].tolist(), cta.last_update.tolist()])
    assert found[0] == found[1]


class _Traffic(Traffic):
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        self.calls.append((space, direction, count))

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        self.calls.append((lanes.tolist(), offsets.tolist(), width))


def test_shared_memory_of_a_cluster() -> None:
    """Who owns the memory, who is told of which threads, and what is counted."""
    cluster, recorder = new_cluster(cluster=(3, 1, 1))
    traffic = cluster.launch.observed = _Traffic()
    group, lanes = new_group(cluster.ctas[1], pc=4), np.array([2, 3, 5, 8])
    recorder.calls.clear()
    window, pair = 1 << 24, np.dtype(np.uint32)
    addresses = np.array([window + 1032, 1040, window + 1040, 2 * window + 1032], np.uint64)
    values = np.arange(1, 9, dtype=np.uint32).reshape(4, 2)
    spaces.store(group, lanes, "shared", addresses, values)
    assert [cta.shared.data[1032:1048].view(np.uint32).tolist() for cta in cluster.ctas] == [
        [0, 0, 3, 4], [1, 2, 5, 6], [7, 8, 0, 0],
    ]  # fmt: skip
    assert spaces.load(group, lanes, "shared", addresses, pair, 2, STRONG).tolist() == values.tolist()
    generic = addresses + np.uint64(0x7A << 40)
    spaces.store(group, lanes[:2], "generic", generic[:2], values[2:])
    assert spaces.load(group, lanes[1:3], "generic", generic[:2], pair, 2).tolist() == [[5, 6], [7, 8]]
    spaces.update(group, lanes[:1], "shared", addresses[:1], pair, 1, lambda old, which: old + np.uint32(1))
    spaces.store(group, lanes[:1], "shared", addresses[:1], values[:1], STRONG)
    assert cluster.launch.progress == 4 and (cluster.ctas[1].last_update == 4).nonzero()[0].tolist() == [2]
    assert recorder.calls == [
        ("store", 0, [1040], [35], False), ("store", 1, [1032, 1040], [34, 37], False),
        ("store", 2, [1032], [40], False), ("load", 0, [1040], 8, [35], True),
        ("load", 1, [1032, 1040], 8, [34, 37], True), ("load", 2, [1032], 8, [40], True),
        ("store", 0, [1040], [35], False), ("store", 1, [1032], [34], False),
        ("load", 0, [1040], 8, [37], False), ("load", 1, [1032], 8, [35], False),
        ("atomic", 1, [1032], 4, [34]), ("store", 1, [1032], [34], True),
    ]  # fmt: skip
    assert traffic.calls[:6] == [
        ("shared", "written", 8), ([3], [1040], 8), ("shared", "written", 16), ([2, 5], [1032, 1040], 8),
        ("shared", "written", 8), ([8], [1032], 8),
    ]  # fmt: skip
    assert traffic.calls[6:8] == [("shared", "read", 8), ([3], [1040], 8)]
    assert traffic.calls[-5:] == [
        ("shared", "read", 4), ("shared", "written", 4), ([2], [1032], 4), ("shared", "written", 8), ([2], [1032], 8),
    ]  # fmt: skip


def test_errors_of_spaces() -> None:
    group, lanes = new_group(new_cluster()[0].ctas[0]), np.arange(3)
    words, word = np.zeros((3, 1), np.uint32), np.dtype(np.uint32)
    wrong = np.array([1032, 1038, 1041], np.uint64)
    for what, message in (
        (lambda: spaces.load(group, lanes, "shared", wrong, word, 1),
         "misaligned shared load: 0x40e is not a multiple of 4 bytes"),
        (lambda: spaces.store(group, lanes, "shared", wrong, words),
         "misaligned shared store: 0x40e is not a multiple of 4 bytes"),
        (lambda: spaces.update(group, lanes, "shared", wrong, word, 1, lambda old, which: old),
         "misaligned shared atomic access: 0x40e is not a multiple of 4 bytes"),
        (lambda: spaces.load(group, lanes, "local", np.array([0, 4, 6], np.uint64), word, 1),
         "misaligned local load: 0x6 is not a multiple of 4 bytes"),
        (lambda: spaces.store(group, lanes, "local", np.array([0, 4, 32], np.uint64), words),
         "out-of-bounds local store of 4 bytes at 0x20: there are 32 bytes"),
        (lambda: spaces.load(group, lanes, "param", np.array([0, 4, 0], np.uint64), word, 1),
         "out-of-bounds parameter load of 4 bytes at 0x0: there are 0 bytes"),
        (lambda: spaces.store(group, lanes, "const", wrong, words),
         "expected a state space that can be written, found .const"),
        (lambda: spaces.update(group, lanes, "const", wrong, word, 1, lambda old, which: old),
         "expected global or shared memory for an atomic access, found .const"),
    ):  # fmt: skip
        assert message_of(what) == message


def test_accesses_of_several_elements() -> None:
    """They are aligned and in bounds as a whole, and writes are progress."""
    cluster, _ = new_cluster()
    launch, group, unit = cluster.launch, new_group(cluster.ctas[0]), np.dtype(np.uint32)
    launch.parameters = Segment(np.arange(32, dtype=np.uint8), "parameters")
    address = launch.global_memory.add(np.arange(32, dtype=np.uint8), "x")
    lane = np.array([3])

    def at(place: int) -> Array:
        return np.array([place], np.uint64)

    assert spaces.load(group, lane, "param", at(8), unit, 2).tobytes() == bytes(range(8, 16))
    for place, count, message in (
        (4, 2, "misaligned parameter load: 0x4 is not a multiple of 8 bytes"),
        (8, 4, "misaligned parameter load: 0x8 is not a multiple of 16 bytes"),
        (32, 2, "out-of-bounds parameter load of 8 bytes at 0x20: there are 32 bytes"),
    ):
        assert message_of(lambda p=place, c=count: spaces.load(group, lane, "param", at(p), unit, c)) == message

    def double(old: Array, which: Array) -> Array:
        return old * np.uint32(2)

    assert launch.progress == 0
    old = spaces.update(group, lane, "global", at(address + 8), unit, 2, double)
    assert (old.tobytes(), launch.progress) == (bytes(range(8, 16)), 1)
    message = f"misaligned global atomic: address {address + 4:#x} is not a multiple of 8 bytes"
    assert message_of(lambda: spaces.update(group, lane, "global", at(address + 4), unit, 2, double)) == message
    spaces.update(group, lane, "global", at(address + 8), unit, 1, lambda old, which: old)  # changes nothing
    spaces.store(group, lane, "global", at(address), np.zeros((1, 2), np.uint32))
    assert launch.progress == 2 and launch.global_memory.segments[0].data[:9].tolist() == [0] * 8 + [16]


def test_local_memory_of_threads() -> None:
    """32 bytes of each thread, one after another."""
    cta = new_cluster((64, 1, 1))[0].ctas[0]
    group, lanes = new_group(cta, 32, 64), np.array([1, 4])
    values = np.array([[1, 2], [3, 4]], np.uint32)
    spaces.store(group, lanes, "local", np.array([8, 24], np.uint64), values)
    assert cta.local_bytes[33, 8:16].view(np.uint32).tolist() == [1, 2]
    assert cta.local_bytes[36, 24:32].view(np.uint32).tolist() == [3, 4] and int(cta.local_bytes.sum()) == 10
    generic = np.array([8, 24], np.uint64) + np.uint64(0x7B << 40)
    assert spaces.load(group, lanes, "generic", generic, np.dtype(np.uint32), 2).tolist() == values.tolist()
    old = spaces.update(
        group, lanes, "local", np.array([8, 24], np.uint64), np.dtype(np.uint32), 2, lambda before, which: before + 1
    )
    assert old.tolist() == values.tolist() and int(cta.local_bytes.sum()) == 14


@together(
    ("offsets", "expected"),
    [
        ([], []),
        ([5], [([[0]], [[True]])]),
        ([5, 5, 5], [([[0, 1, 2]], [[True] * 3])]),
        ([5, 9], [([[0], [1]], [[True], [True]])]),
        ([9, 5, 9], [([[1, 1], [0, 2]], [[True, False], [True, True]])]),
    ],
)
def test_turns_of_places(offsets: list[int], expected: Any) -> None:
    """A row for each place, with its updates in their order."""
    found = [(turns.tolist(), own.tolist()) for turns, own in spaces._turns(np.array(offsets, np.int64))]  # pyright: ignore[reportPrivateUsage]
    assert found == expected
