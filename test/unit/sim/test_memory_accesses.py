"""Memories by themselves: segments, regions, gathers, flat memories, address spaces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together

from tirx.sim.core.traffic import Direction, Space, Traffic
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.memory import spaces
from tirx.sim.memory.flat import FlatMemory, address_behind
from tirx.sim.memory.gather import Gather
from tirx.sim.memory.region import Region
from tirx.sim.memory.segment import Segment, is_misaligned

_U8, _U16, _U32 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32)


def _addresses(*values: int) -> Array:
    return np.array(values, np.uint64)


def test_misaligned() -> None:
    for width in (1, 2, 3, 4, 8, 12, 16, 24):
        for value in range(30):
            assert is_misaligned(_addresses(0, 48, value), width) == (value % width != 0)


def test_segments() -> None:
    segment = Segment(np.arange(50, dtype=np.uint8), "s", 7)
    assert (segment.size, segment.base, segment.offset, segment.read_only) == (50, 7, 7, False)
    assert segment.rows(_U16, 3).shape == (8, 3) and segment.rows(_U8, 7).shape == (7, 7)
    assert segment.gather(np.array([12, 0, 42]), _U16, 3).tobytes() == bytes(
        [*range(12, 18), *range(6), *range(42, 48)]
    )
    assert segment.gather(np.array([8, 24]), _U32, 1).tolist() == [[0x0B0A0908], [0x1B1A1918]]
    segment.scatter(np.array([6, 18]), np.array([[1, 2, 3], [4, 5, 6]], np.uint16))
    segment.scatter(np.array([48, 0]), np.array([[7], [8]], np.uint16))
    expected = np.arange(50)
    expected[6:12], expected[18:24], expected[48:50], expected[:2] = (
        [1, 0, 2, 0, 3, 0],
        [4, 0, 5, 0, 6, 0],
        [7, 0],
        [8, 0],
    )
    assert segment.data.tolist() == expected.tolist()


@together(
    ("places", "first", "last", "words", "whole", "index"),
    [
        ([], 0, -1, slice(0, 0), True, slice(0, 0)),
        ([9], 9, 9, slice(2, 3), False, slice(9, 10)),
        ([8, 9, 10, 11], 8, 11, slice(2, 3), True, slice(8, 12)),
        ([6, 5, 4, 7], 4, 7, slice(1, 2), True, slice(4, 8)),
        ([5, 6, 7, 8], 5, 8, slice(1, 3), False, slice(5, 9)),
        ([4, 5, 6, 7, 8, 9], 4, 9, slice(1, 3), False, slice(4, 10)),
        ([*range(12, 20)], 12, 19, slice(3, 5), True, slice(12, 20)),
        ([*range(12, 16), *range(4, 8)], 4, 15, [1, 3], True, None),
        ([*range(12, 16), *range(4, 7)], 4, 15, [1, 3], False, None),
        ([0, 2], 0, 2, [0], False, None),
    ],
)
def test_regions(places: list[int], first: int, last: int, words: object, whole: bool, index: slice | None) -> None:
    region = Region.of(np.array(places, np.int64))
    assert (region.first, region.last, region.whole) == (first, last, whole)
    assert (region.words if isinstance(region.words, slice) else region.words.tolist()) == words
    assert region.index is region.places if index is None else region.index == index
    assert region.key == Region.of(np.array(places, np.int64)).key != Region.of(np.array([*places, 99])).key


def test_gathers() -> None:
    """Every piece of 1 to 16 bytes, whose rows or columns are contiguous, and several bases at once."""
    segment = Segment(np.random.default_rng(5).integers(0, 256, 4112, np.uint8))
    bases = np.array([32, 0, 1024])
    for unit in (1, 2, 4, 8, 16, 32):
        pieces = np.random.default_rng(unit).permutation(512 // unit)[:6] * unit
        flat = (pieces[:, None] + np.arange(unit)).reshape(-1)
        for addresses in (flat, flat.reshape(3, -1), flat.reshape(2, 3, unit)):
            assert Gather(addresses).width == min(unit, 16)
            assert (Gather(addresses).read(segment) == segment.data[addresses]).all()
            each = segment.data[np.add.outer(bases, addresses)]
            assert (Gather(addresses).read_each(segment, bases) == each).all()
    for element, stride in ((1, 32), (2, 64), (4, 64)):
        # (rows, depth, bytes): contiguous along the rows
        rows, depth = 16, 3
        addresses = (
            48 + np.arange(rows)[:, None, None] * element + np.arange(depth)[:, None] * stride + np.arange(element)
        )
        gather = Gather(addresses)
        assert gather.width == 16
        assert (gather.read(segment) == segment.data[addresses]).all()
        assert (gather.read_each(segment, bases) == segment.data[addresses + bases[:, None, None, None]]).all()
        shifted = addresses + 1  # no piece is aligned
        assert Gather(shifted).width == 1 and (Gather(shifted).read(segment) == segment.data[shifted]).all()
    addresses = np.arange(16)[:, None] + np.arange(3) * 64  # no elements of several bytes: as they are
    assert Gather(addresses).width == 1 and (Gather(addresses).read(segment) == segment.data[addresses]).all()
    assert (Gather(np.arange(4096, 4112)).read(segment) == segment.data[4096:]).all()


class _Moves(Traffic):
    def __init__(self) -> None:
        self.moves: list[tuple[str, str, int]] = []

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        self.moves.append((space, direction, count))


def _memory() -> tuple[FlatMemory, _Moves]:
    """Buffers `a` of 32 bytes at 0x1000, `b` of 8 that cannot be written, and `c` of none."""
    memory, moves = FlatMemory("global", 0x1000), _Moves()
    memory.observed = moves
    places = [
        memory.add(np.arange(32, dtype=np.uint8), "a"),
        memory.add(np.arange(100, 108, dtype=np.uint8), "b", read_only=True),
        memory.add(np.zeros(0, np.uint8), "c"),
    ]
    assert places == [0x1000, 0x11100, 0x21200]
    return memory, moves


def test_addresses_of_buffers() -> None:
    """64 KiB behind a buffer, at a multiple of 256 bytes."""
    expected = {(0, 0): 65536, (0, 1): 65792, (0, 256): 65792, (0, 257): 66048, (1, 0): 65792, (512, 300): 66560}
    assert {each: address_behind(*each) for each in expected} == expected


def test_flat_memory() -> None:
    memory, moves = _memory()
    a, b = 0x1000, 0x11100
    assert memory.load(_addresses(a, a + 28), _U32, 1).tolist() == [[0x03020100], [0x1F1E1D1C]]
    assert memory.load(_addresses(a + 24, b, a), _U32, 2).view(np.uint8).tolist() == [
        list(range(24, 32)), list(range(100, 108)), list(range(8)),
    ]  # fmt: skip
    memory.store(_addresses(a + 2, a + 30), np.array([[0xBBAA], [0xDDCC]], np.uint16))
    assert memory.bytes_at(a, 5, "x").tolist() == [0, 1, 0xAA, 0xBB, 4]
    assert memory.bytes_at(a + 29, 3, "x", writes=True).tolist() == [29, 0xCC, 0xDD]
    assert memory.bytes_at(b, 8, "x").tolist() == list(range(100, 108))
    assert memory.bytes_at(a + 32, 0, "x").tolist() == []
    memory.store(_addresses(a + 8, a + 16), np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint16))
    assert memory.bytes_at(a + 8, 16, "x")[::2].tolist() == list(range(1, 9))
    memory.add(np.zeros(4, np.uint8), "d")
    memory.store(_addresses(0x31200, a), np.array([[7], [9]], np.uint32))
    assert memory.load(_addresses(0x31200, a), _U32, 1).tolist() == [[7], [9]]
    assert moves.moves == [
        ("global", "read", 8), ("global", "read", 24), ("global", "written", 4), ("global", "written", 16),
        ("global", "written", 8), ("global", "read", 8),
    ]  # fmt: skip
    (whole,) = memory.locate(_addresses(a + 4, a), 4, "x")
    assert whole[0].name == "a" and whole[1] == slice(None) and whole[2].tolist() == [4, 0]
    parts = [(s.name, w, o.tolist()) for s, w, o in memory.locate(_addresses(b + 4, a, b), 4, "x")]
    assert [(name, np.arange(3)[which].tolist(), offsets) for name, which, offsets in parts] == [
        ("a", [1], [0]), ("b", [0, 2], [4, 0]),
    ]  # fmt: skip


_ERRORS: list[tuple[Callable[[FlatMemory], object], str]] = [
        (lambda m: m.load(_addresses(0x1004, 0x1002), _U32, 1),
         "misaligned global load: address 0x1002 is not a multiple of 4 bytes"),
        (lambda m: m.load(_addresses(0x1000, 0xFF8), _U32, 2),
         "out-of-bounds global load of 8 bytes at 0xff8: no buffer there"),
        (lambda m: m.load(_addresses(0x1000, 0x1020), _U16, 2),
         "out-of-bounds global load of 4 bytes at offset 32 of a, which has 32 bytes"),
        (lambda m: m.load(_addresses(0x1018, 0x1020), _U16, 4),
         "out-of-bounds global load of 8 bytes at offset 32 of a, which has 32 bytes"),
        (lambda m: m.store(_addresses(0x1000, 0x11108), np.zeros((2, 1), np.uint8)),
         "out-of-bounds global store of 1 bytes at offset 8 of b, which has 8 bytes"),
        (lambda m: m.store(_addresses(0x11100), np.zeros((1, 1), np.uint8)), "store to b, which is read-only"),
        (lambda m: m.store(_addresses(0x11100, 0x1000), np.zeros((2, 1), np.uint8)), "store to b, which is read-only"),
        (lambda m: m.store(_addresses(0x1004), np.zeros((1, 4), np.uint16)),
         "misaligned global store: address 0x1004 is not a multiple of 8 bytes"),
        (lambda m: FlatMemory("const", 64).load(_addresses(0x40, 0), _U8, 1),
         "out-of-bounds const load of 1 bytes at 0x40: no buffer there"),
        (lambda m: m.bytes_at(0xFFF, 1, "copy"), "out-of-bounds global copy of 1 bytes at 0xfff"),
        (lambda m: m.bytes_at(0x1001, 32, "copy"), "out-of-bounds global copy of 32 bytes at 0x1001"),
        (lambda m: m.bytes_at(0x11100, 1, "copy", writes=True), "copy to b, which is read-only"),
]  # fmt: skip


@together(("what", "message"), _ERRORS)
def test_errors_of_flat_memory(what: Callable[[FlatMemory], object], message: str) -> None:
    with pytest.raises(SimError) as caught:
        what(_memory()[0])
    assert caught.value.message == message


def test_generic_addresses() -> None:
    found = spaces.split_generic(
        _addresses(0x7A0000000010, 0x7F0000000020, 0x7A0100000030, 0x7C0000000040, 0x7B0000000050)
    )
    assert [(space, np.flatnonzero(which).tolist(), own.tolist()) for space, which, own in found] == [
        ("shared", [0, 2], [0x10, 0x100000030]), ("local", [4], [0x50]), ("const", [3], [0x7C0000000040]),
        ("global", [1], [0x7F0000000020]),
    ]  # fmt: skip
    with pytest.raises(SimError) as caught:
        spaces.split_generic(_addresses(0x7A0000000010, 0x790000000010, 0x790000000020))
    assert caught.value.message == "generic address 0x790000000010 is in no state space"
