"""Tiles of the interpreter: parts of numpy arrays, with what is known about every element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from tirx.interp.formats import Array, viewed
from tirx.values import dataclass, field, replace

NOBODY, SEVERAL = -1, -2


class Conflict(Exception):
    """Blocks, which nothing orders, use an element of global memory, and one of them changes it."""


class Numbers(NamedTuple):
    """
    The elements of a tile: their values, which are `known` (None: all) and how far off they may be (None: not at all).

    An element that was never written is not known, and neither is what is computed from it.
    """

    data: Array
    known: Array | None = None
    error: Array | None = None

    def each(self, change: Callable[[Array], Array]) -> Numbers:
        """Returns the same change of all three arrays."""
        return Numbers(*(None if part is None else change(part) for part in self))  # pyright: ignore[reportArgumentType]

    @property
    def errors(self) -> Array:
        """The errors of all elements, zeros where there are none."""
        return np.zeros(self.data.shape) if self.error is None else self.error

    def uncertain(self, where: Array) -> Numbers:
        """Returns the numbers, of which some may be any others."""
        return self._replace(error=np.where(where, np.inf, self.errors))


def all_known(*parts: Array | None) -> Array | None:
    """Returns where all of some elements are known; None stands for everywhere."""
    some = [each for each in parts if each is not None]
    return np.logical_and.reduce(np.broadcast_arrays(*some)) if some else None


def sliced(starts: Sequence[int], extents: Sequence[int], steps: Sequence[int]) -> tuple[slice, ...]:
    """Returns the part of an array that has so many elements along each dimension; steps may be negative."""
    ends = [start + extent * step for start, extent, step in zip(starts, extents, steps, strict=True)]
    return tuple(
        slice(start, end if end >= 0 else None, step) for start, end, step in zip(starts, ends, steps, strict=True)
    )


def joined(tiles: Sequence[Numbers], dim: int) -> Numbers:
    """Returns the elements of tiles behind each other along a dimension."""

    def parts(each: Sequence[Array | None], default: Callable[[tuple[int, ...]], Array]) -> Array | None:
        if all(part is None for part in each):
            return None
        filled = [default(x.data.shape) if part is None else part for x, part in zip(tiles, each, strict=True)]
        return np.concatenate(filled, dim)

    known = parts([x.known for x in tiles], lambda shape: np.ones(shape, np.bool_))
    return Numbers(np.concatenate([x.data for x in tiles], dim), known, parts([x.error for x in tiles], np.zeros))


def reinterpreted(numbers: Numbers, dims: tuple[int, ...], dtype: np.dtype[Any]) -> Numbers:
    """Returns the elements of shape `dims` that have the bits of some: each is several of them, or part of one."""

    def resized(each: Array, join: Any) -> Array:
        narrow = each.repeat(max(1, dims[-1] // each.shape[-1]), -1)
        return join(narrow.reshape(*dims, -1), axis=-1)

    data, known, error = numbers
    # Bits of what is close to a number are anything.
    error = None if error is None else resized(np.where(error > 0, np.inf, 0.0), np.max)
    return Numbers(viewed(data, dtype), None if known is None else resized(known, np.all), error)


class Groups:
    """Numbers, below SEVERAL, of groups of marks that nothing orders among each other."""

    def __init__(self) -> None:
        self._members: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}

    def members(self, mark: int) -> frozenset[int]:
        """Returns the marks of the group with the number `mark`, or a mark alone."""
        return self._members[SEVERAL - 1 - mark] if mark < SEVERAL else frozenset((mark,))

    def number(self, members: frozenset[int]) -> int:
        """Returns the number of a group."""
        if members not in self._numbers:
            self._members.append(members)
            self._numbers[members] = SEVERAL - len(self._members)
        return self._numbers[members]


class Mark(NamedTuple):
    """The number that a block marks elements with, and those of accesses that flags order before it.

    `groups` are those of a launch in which blocks wait: all blocks that have read an element, say, may be ordered
    before the one that writes it. Without, elements that several blocks have marked are those of SEVERAL.
    """

    number: int
    before: frozenset[int] = frozenset()
    groups: Groups | None = None

    def is_ordered(self, marks: Array) -> Array:
        """Returns True where nobody has marked elements whom nothing orders before this one."""
        alone = (marks == self.number) | (marks == NOBODY)
        if not self.before:
            return alone
        known, own = list(self.before), self.before | {self.number}
        if self.groups is not None:
            known += [each for each in np.unique(marks[marks < SEVERAL]).tolist() if self.groups.members(each) <= own]
        return alone | np.isin(marks, known)

    def added(self, marks: Array) -> Array:
        """Returns marks to which this one is added: it takes the place of those that are ordered before it."""
        found = np.asarray(np.where(self.is_ordered(marks), self.number, SEVERAL))
        if self.groups is not None:
            others = found == SEVERAL
            for each in np.unique(marks[others]).tolist():
                left = self.groups.members(each) - self.before
                found[others & (marks == each)] = self.groups.number(left | {self.number})
        return found


@dataclass(frozen=True)
class Marks:
    """For each element of an argument the block that has read it, written it and combined it with something."""

    read: Array
    written: Array
    combined: Array

    @staticmethod
    def of(shape: tuple[int, ...]) -> Marks:
        """Marks of elements that no block has touched."""
        return Marks(*(np.full(shape, NOBODY, np.int32) for _ in range(3)))

    def note(self, marks: Array, mark: Mark, *others: Array) -> None:
        """Adds a block to `marks`, one of the three. Raises Conflict if another one is among `others`."""
        for each in others:
            if not mark.is_ordered(each).all():
                raise Conflict(
                    "expected elements of global memory that one block changes to be used by no other, found some"
                )
        marks[...] = mark.added(marks)


@dataclass(frozen=True)
class Tile:
    """A tile in some memory, or a register tile, which is a value.

    The arrays of `numbers` are views of the memory. Of a clipped tile they are the part `inside` of the memref: zeros
    are read elsewhere, and nothing is written. `peers` are the tiles at the same place in all blocks of the cluster.
    """

    shape: tuple[int, ...]
    numbers: Numbers
    marks: Marks | None = None
    inside: tuple[slice, ...] | None = None
    peers: tuple[Tile, ...] = ()

    @staticmethod
    def new(shape: Sequence[int], dtype: np.dtype[Any], *, bounds: bool, known: bool = False) -> Tile:
        """Returns a tile of zeros that nobody has written. With `bounds` errors of its elements are kept."""
        error = np.zeros(shape) if bounds else None
        return Tile(tuple(shape), Numbers(np.zeros(shape, dtype), np.full(shape, known), error))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.numbers.data.dtype

    def read(self, mark: Mark) -> Numbers:
        """Returns the elements, views of the memory where all are inside. Raises Conflict."""
        if self.marks is not None:
            self.marks.note(self.marks.read, mark, self.marks.written, self.marks.combined)
        if self.inside is None or self.numbers.data.shape == self.shape:
            return self.numbers
        data, known, error = self.numbers
        whole = Numbers(
            np.zeros(self.shape, data.dtype),
            None if known is None else np.ones(self.shape, np.bool_),
            None if error is None else np.zeros(self.shape),
        )
        for target, source in zip(whole, self.numbers, strict=True):
            if target is not None:
                target[self.inside] = source
        return whole

    def write(self, numbers: Numbers, mark: Mark) -> None:
        """Sets the elements. Raises Conflict if blocks have read them or written others than these."""
        numbers = self._part(numbers)
        if (marks := self.marks) is not None:
            old = self.numbers.data
            others = ~mark.is_ordered(marks.written)
            same = (old == numbers.data) | ((old != old) & (numbers.data != numbers.data))
            if (others & ~same).any():
                raise Conflict("expected blocks that write one element to write the same number, found different ones")
            marks.note(marks.written, mark, marks.read, marks.combined)
        self._set(numbers)

    def combine(self, numbers: Numbers, mark: Mark, combined: Callable[[Numbers, Numbers], Numbers]) -> None:
        """Sets the elements to `combined` of them and others. Blocks may do so in any order. Raises Conflict."""
        numbers = self._part(numbers)
        if (marks := self.marks) is not None:
            marks.note(marks.combined, mark, marks.read, marks.written)
        self._set(combined(self.numbers, numbers))

    @property
    def outside(self) -> Array:
        """Marks the elements of the tile that are not inside of the memory."""
        found = np.ones(self.shape, np.bool_)
        found[() if self.inside is None else self.inside] = False
        return found

    @property
    def repeated(self) -> Array:
        """Marks the elements of the tile at whose place in memory another one of it is."""
        return np.zeros(self.shape, np.bool_)

    def forget(self) -> None:
        """Makes all elements unknown: the tile is used for other elements."""
        if self.numbers.known is not None:
            self.numbers.known[...] = False

    def viewed(self, change: Callable[[Array], Array], shape: Sequence[int]) -> Tile:
        """Returns another view of the same memory, of all blocks."""
        marks = None if self.marks is None else Marks(*map(change, (*vars(self.marks).values(),)))
        peers = tuple(peer.viewed(change, shape) for peer in self.peers)
        return replace(self, shape=tuple(shape), numbers=self.numbers.each(change), marks=marks, peers=peers)

    def reshaped(self, dims: tuple[int, ...]) -> Tile:
        """Returns the elements in row-major order in another shape; where no view has them, each is found by itself."""
        data, inside = self.numbers.data, self.inside
        if inside is None and np.shares_memory(data.reshape(dims), data):
            return self.viewed(lambda each: each.reshape(dims), dims)
        at = [each.reshape(dims) for each in np.indices(self.shape)]
        if inside is not None:
            at = [each - region.start for each, region in zip(at, inside, strict=True)]
        ends = zip(at, data.shape, strict=True)
        exists = np.logical_and.reduce([(each >= 0) & (each < extent) for each, extent in ends])
        return Scattered(dims, self.numbers, self.marks, at=tuple(at), exists=exists)

    def part(self, starts: Sequence[int], dims: Sequence[int]) -> Tile:
        """Returns the part of the tile that begins at `starts`."""
        if self.inside is None:
            where = sliced(starts, dims, [1] * len(dims))
            return self.viewed(lambda each: each[where], dims)
        region: list[slice] = []
        inside: list[slice] = []
        for own, start, extent in zip(self.inside, starts, dims, strict=True):
            low = max(own.start, start)
            high = max(low, min(own.stop, start + extent))
            region.append(slice(low - own.start, high - own.start))
            inside.append(slice(low - start, high - start))
        return replace(self.viewed(lambda each: each[tuple(region)], dims), inside=tuple(inside))

    def _part(self, numbers: Numbers) -> Numbers:
        inside = self.inside
        return numbers if inside is None else numbers.each(lambda each: each[inside])

    def _set(self, numbers: Numbers) -> None:
        data, known, error = self.numbers
        data[...] = numbers.data
        if known is not None:
            known[...] = True if numbers.known is None else numbers.known
        if error is not None:
            error[...] = 0.0 if numbers.error is None else numbers.error


@dataclass(frozen=True)
class Scattered(Tile):
    """A tile whose elements are anywhere in an argument: `numbers` and `marks` are those of all of it.

    `at` has the coordinates of every element, along each dimension of the argument, and `exists` marks those that are
    inside; zeros are read elsewhere, and nothing is written. Those that are `anywhere` have these coordinates in some
    orders of the blocks only: of what is read there nothing is known, and of the argument nothing behind a write.
    """

    at: tuple[Array, ...] = ()
    exists: Array = field(default_factory=lambda: np.ones((), np.bool_))
    anywhere: Array | None = None

    @property
    def _inside(self) -> tuple[Array, ...]:
        return tuple(each[self.exists] for each in self.at)

    def read(self, mark: Mark) -> Numbers:
        if self.marks is not None:
            self._note("read", mark, "written", "combined")
        outside = self.numbers.each(lambda each: np.zeros(self.shape, each.dtype))
        if outside.known is not None:
            outside.known[...] = True
        for target, source in zip(outside, self.numbers, strict=True):
            if target is not None:
                target[self.exists] = cast(Array, source)[self._inside]
        if self.anywhere is not None:
            outside = outside.uncertain(self.anywhere)
        return outside

    def write(self, numbers: Numbers, mark: Mark) -> None:
        flat = np.ravel_multi_index(self._inside, self.numbers.data.shape)
        _, first, back = np.unique(flat, return_index=True, return_inverse=True)
        part = numbers.each(lambda each: each[self.exists])
        if (part.data.view(f"u{part.data.itemsize}") != part.data[first][back].view(f"u{part.data.itemsize}")).any():
            raise Conflict("expected equal numbers at one place of a scattered tile, found different ones")
        if self.marks is not None:
            others = self.marks.written[self._inside]
            same = self.numbers.data[self._inside] == part.data
            if (~mark.is_ordered(others) & ~same).any():
                raise Conflict("expected blocks that write one element to write the same number, found different ones")
            self._note("written", mark, "read", "combined")
        self._set_at(self._inside, part)

    def combine(self, numbers: Numbers, mark: Mark, combined: Callable[[Numbers, Numbers], Numbers]) -> None:
        if self.marks is not None:
            self._note("combined", mark, "read", "written")
        flat = np.ravel_multi_index(self._inside, self.numbers.data.shape)
        part, left = numbers.each(lambda each: each[self.exists]), np.arange(len(flat))
        while len(left):  # each element once: those of one place one after the other
            _, first = np.unique(flat[left], return_index=True)
            where, turn = tuple(each[left[first]] for each in self._inside), left[first]
            old, new = (n.each(lambda each, i=i: each[i]) for n, i in ((self.numbers, where), (part, turn)))
            self._set_at(where, combined(old, new))
            left = np.delete(left, first)

    @property
    def outside(self) -> Array:
        return ~self.exists

    @property
    def repeated(self) -> Array:
        found, flat = np.zeros(self.shape, np.bool_), np.ravel_multi_index(self._inside, self.numbers.data.shape)
        _, back, count = np.unique(flat, return_inverse=True, return_counts=True)
        found[self.exists] = count[back] > 1
        return found

    def reshaped(self, dims: tuple[int, ...]) -> Tile:
        return self.viewed(lambda each: each.reshape(dims), dims)

    def viewed(self, change: Callable[[Array], Array], shape: Sequence[int]) -> Tile:
        anywhere = None if self.anywhere is None else change(self.anywhere)
        at = tuple(map(change, self.at))
        return replace(self, shape=tuple(shape), at=at, exists=change(self.exists), anywhere=anywhere)

    def _note(self, name: str, mark: Mark, *others: str) -> None:
        marks = {key: value[self._inside] for key, value in vars(self.marks).items()}
        assert self.marks is not None
        self.marks.note(marks[name], mark, *(marks[other] for other in others))
        getattr(self.marks, name)[self._inside] = marks[name]

    def _set_at(self, where: tuple[Array, ...], numbers: Numbers) -> None:
        for target, source, default in zip(self.numbers, numbers, (0, True, 0.0), strict=True):
            if target is not None:
                target[where] = default if source is None else source
        if self.anywhere is not None and self.anywhere.any() and self.numbers.error is not None:
            self.numbers.error[...] = np.inf
