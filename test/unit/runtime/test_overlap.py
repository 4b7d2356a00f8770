"""Arrays that share bytes, against the sets of their bytes."""

import random

import numpy as np
import pytest
from unit.cases import together

from tirx.runtime.arrays import ArgumentError, ArrayView
from tirx.runtime.launch import Access, Launch, PointerArgument
from tirx.runtime.overlap import check_overlap, overlap, overlaps_itself


def _view(rng: random.Random) -> ArrayView:
    rank, size = rng.randrange(4), rng.choice([1, 2, 4])
    shape = tuple(rng.choice([0, 1, 2, 3, 4] if rng.random() < 0.1 else [1, 2, 3, 5]) for _ in range(rank))
    strides = tuple(rng.choice([0, 1, 2, 3, 5, 7, 15, 40]) for _ in range(rank))
    return ArrayView(1000 + rng.randrange(120), shape, strides, f"u{8 * size}", size)


def _places(view: ArrayView) -> list[int]:
    """The addresses of the elements."""
    found = np.zeros(view.shape, np.int64)
    for index, stride in zip(np.indices(view.shape), view.strides, strict=True):
        found += index * stride * view.itemsize
    return [view.address + int(place) for place in found.reshape(-1)]


def _bytes(view: ArrayView) -> set[int]:
    return {place + byte for place in _places(view) for byte in range(view.itemsize)}


def test_random_arrays() -> None:
    rng = random.Random(7)
    found = [0, 0]
    for _ in range(3000):
        a, b = _view(rng), _view(rng)
        shares, repeats = not _bytes(a).isdisjoint(_bytes(b)), len(set(_places(a))) < len(_places(a))
        assert overlap(a, b) == overlap(b, a) == shares, (a, b)
        assert overlaps_itself(a) == repeats, a
        found[0] += shares
        found[1] += repeats
    assert min(found) > 300


@together(
    ("a", "b", "shares"),
    [
        # Columns of one matrix, rows in turn, and halves of 2^33 elements.
        (((1 << 20, 32), (64, 1), 0), ((1 << 20, 32), (64, 1), 32), False),
        (((1 << 20, 33), (64, 1), 0), ((1 << 20, 32), (64, 1), 32), True),
        (((1 << 20, 64), (128, 1), 0), ((1 << 20, 64), (128, 1), 64), False),
        (((1 << 33,), (1,), 0), ((1 << 33,), (1,), 1 << 33), False),
        (((1 << 33,), (1,), 0), ((1 << 33,), (1,), (1 << 33) - 1), True),
        (((1 << 33,), (2,), 0), ((1 << 33,), (2,), 1), False),
    ],
)
def test_large_arrays(
    a: tuple[tuple[int, ...], tuple[int, ...], int], b: tuple[tuple[int, ...], tuple[int, ...], int], shares: bool
) -> None:
    """Each is shape, strides and first element, of one byte."""
    views = [ArrayView(4096 + first, shape, strides, "uint8", 1) for shape, strides, first in (a, b)]
    assert overlap(*views) == shares


def test_what_takes_too_long_counts_as_overlapping() -> None:
    """Strides of which sums are hard to find: as many ways as there are subsets."""
    strides = tuple(2**30 + 2 * 3**i for i in range(18))
    array = ArrayView(0, (2,) * 18, strides, "uint8", 1)
    assert overlaps_itself(array)


def test_only_what_is_written() -> None:
    once, twice = ArrayView(0, (4, 4), (4, 1), "float32", 4), ArrayView(64, (4, 4), (0, 1), "float32", 4)
    cases: tuple[tuple[tuple[Access, Access], bool], ...] = (
        (("read", "read"), False), (("write", "read"), False), (("read", "read_write"), True)
    )  # fmt: skip
    for accesses, refused in cases:
        arguments = tuple(
            PointerArgument(name, "f32", (None, None), (None, 1), 4, access)
            for name, access in zip("xy", accesses, strict=True)
        )
        launch = Launch("k", "sm_80", (1, 1, 1), (32, 1, 1), (1, 1, 1), 0, arguments)
        if not refused:
            check_overlap(launch, (once, twice))
            continue
        with pytest.raises(ArgumentError) as error:
            check_overlap(launch, (once, twice))
        assert str(error.value) == (
            "argument 'y': expected elements that do not overlap, since the kernel writes them, found shape (4, 4) "
            "with strides (0, 1)"
        )
