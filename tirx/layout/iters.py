"""Iters, and the normal forms and factorisations of lists of iters.

Everything here works on plain tuples of iters, outermost first, so that the layout classes stay thin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from math import prod
from operator import index
from typing import TypeVar

from tirx.layout.arrays import IntArray, NDArray, np
from tirx.layout.axis import axis as registered
from tirx.layout.axis import canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.shape import row_major_strides
from tirx.values import dataclass


@dataclass(frozen=True)
class Iter:
    """`extent` steps of `stride` on the axis named `axis`. Stride 0 broadcasts; strides may be negative.

    >>> from tirx.layout import Iter, TileLayout
    >>> print(TileLayout([Iter(8, 4, "laneid"), Iter(2, 1)]))
    S[(8, 2) : (4@laneid, 1)]
    """

    HASHED_ONCE = True

    extent: int
    stride: int
    axis: str

    def __init__(self, extent: int, stride: int, axis: str = "m"):
        if extent.__class__ is not int:
            extent = index(extent)
        if extent < 1:
            raise LayoutError(f"the extent of an iter must be positive, found {extent}")
        registered(axis)
        # Thousands of iters are made: the dictionary is three times as fast as object.__setattr__.
        fields = self.__dict__
        fields["extent"] = extent
        fields["stride"] = stride if stride.__class__ is int else index(stride)
        fields["axis"] = axis

    def __str__(self) -> str:
        return f"{self.extent} : {scaled(self.stride, self.axis)}"


Iters = tuple[Iter, ...]
Table = dict[str, IntArray]
"""Coordinates by axis."""


def scaled(count: int, name: str) -> str:
    """`count@name`, with the default axis m left out."""
    return str(count) if name == "m" else f"{count}@{name}"


def row_major(shape: Sequence[int], axis_name: str = "m") -> Iters:
    """Compact iters for a shape, last dimension fastest."""
    return tuple(Iter(e, s, axis_name) for e, s in zip(shape, row_major_strides(shape), strict=True))


def size_of(iters: Iterable[Iter]) -> int:
    """Number of digit combinations."""
    return prod(it.extent for it in iters)


def axes_of(iters: Iterable[Iter]) -> tuple[str, ...]:
    """The axes of iters, in order of appearance."""
    return tuple(dict.fromkeys([it.axis for it in iters]))


def reach(iters: Iterable[Iter], name: str) -> tuple[int, int]:
    """Smallest and largest sum that the iters on one axis can produce."""
    ends = [(it.extent - 1) * it.stride for it in iters if it.axis == name]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)


def canonical_shard(iters: Iters) -> Iters:
    """The shortest shard of the same map: no unit iters, neighbours fused wherever they continue each other.

    This form is unique for a map: the innermost extent is the first index where the map stops being linear, and so
    on outwards. Only the axis of a zero stride is free; it stays what it is for the first of a run, so that the
    caller has to choose it. Returns `iters` itself if it is that form.
    """
    fused: list[Iter] = []
    changed = False
    outer_stride: int | None = None  # of the last iter in `fused`
    outer_axis = ""
    for it in iters:
        extent, stride, name = it.extent, it.stride, it.axis
        if extent == 1:
            changed = True
            continue
        own = canonical_name(name)
        if outer_stride == extent * stride and (outer_axis == own or not stride):
            fused[-1] = Iter(fused[-1].extent * extent, stride, own)
            changed = True
        elif own == name:
            fused.append(it)
        else:
            fused.append(Iter(extent, stride, own))
            changed = True
        outer_stride, outer_axis = stride, own
    return tuple(fused) if changed else iters


_Grouped = TypeVar("_Grouped")


def fused_if_needed(iters: Iters, grouped: Callable[[Iters], _Grouped]) -> _Grouped:
    """Returns what `grouped` gives for the iters as they are, or else for the shortest iters of the same map.

    The shortest iters line up with every shape that any iters of the map line up with. Raises their LayoutError.
    """
    try:
        return grouped(iters)
    except LayoutError:
        if (fused := canonical_shard(iters)) is iters:
            raise
    return grouped(fused)


def group_iters(iters: Sequence[Iter], shape: Sequence[int], unit_axis: str) -> tuple[Iters, tuple[int, ...]]:
    """Splits iters so that every dimension of `shape` owns a run of them: (iters, separators).

    `shape` has as many elements as the iters. Group d is iters[seps[d]:seps[d + 1]] and is never empty: a unit
    dimension gets one unit iter. Other unit iters go.
    Raises LayoutError when a dimension ends inside an iter in a place where the iter cannot be cut.
    """
    groups: list[list[Iter]] = []
    pending = list(iters)
    for d in range(len(shape) - 1, -1, -1):
        need = shape[d]
        group: list[Iter] = []
        if need == 1 and pending and pending[-1].extent == 1:
            group.append(pending.pop())
        while need > 1:
            it = pending.pop()
            if it.extent == 1:
                continue
            if need % it.extent == 0:
                need //= it.extent
                group.append(it)
            elif it.extent % need == 0:
                group.append(Iter(need, it.stride, it.axis))
                pending.append(Iter(it.extent // need, it.stride * need, it.axis))
                break
            else:
                raise LayoutError(
                    f"dimension {d} of shape {tuple(shape)} does not line up with the iters of the layout: "
                    f"{need} elements remain where an iter of extent {it.extent} stands, and neither divides the other"
                )
        groups.append(group or [Iter(1, 0, unit_axis)])
    assert all(it.extent == 1 for it in pending), shape
    seps = [0]
    result: list[Iter] = []
    for group in reversed(groups):
        result.extend(reversed(group))
        seps.append(len(result))
    return tuple(result), tuple(seps)


def _boundaries(extents: Sequence[int]) -> Counter[int]:
    """Counts each product of the innermost extents; a unit extent repeats one."""
    marks = Counter([1])
    for extent in reversed(extents):
        marks[max(marks) * extent] += 1
    return marks


def _separators(chain: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Finds the boundaries of the dimensions of a shape in a longer chain of boundaries, outermost first.

    Of a repeated boundary the shape takes the outermost ones: what is left over belongs to the dimension inside, and
    at the end to the last one.
    """
    wanted = _boundaries(shape)
    seps: list[int] = []
    begin = 0
    for mark, run in groupby(chain):
        seps.extend(range(begin, begin + wanted[mark]))
        begin += len(list(run))
    return (*seps[:-1], begin - 1) if shape else (0,)


def group_many_iters(
    iters: Sequence[Iter], shapes: Sequence[Sequence[int]], unit_axis: str
) -> tuple[Iters, tuple[tuple[int, ...], ...]]:
    """Splits iters so that every dimension of every shape owns a run of them: (iters, separators of each shape).

    Iters are cut only where a shape asks for it. Raises LayoutError when two boundaries do not nest.
    """
    marks = _boundaries([it.extent for it in iters])
    for shape in shapes:
        marks |= _boundaries(shape)
    chain = sorted(marks.elements(), reverse=True)
    for high, low in zip(chain, chain[1:], strict=False):
        if high % low:
            raise LayoutError(
                f"dimensions of the shapes {', '.join(str(tuple(shape)) for shape in shapes)} or iters begin at the "
                f"innermost {low} and at the innermost {high} elements, and {low} does not divide {high}"
            )
    split, _ = group_iters(iters, [high // low for high, low in zip(chain, chain[1:], strict=False)], unit_axis)
    return split, tuple([_separators(chain, shape) for shape in shapes])


def broadcast_sums(iters: Iterable[Iter], name: str, base: int = 0) -> NDArray[np.int64]:
    """For every flat index, `base` plus the digits of the iters on axis `name` times their strides.

    Raises LayoutError for sums beyond 62 bits.
    """
    iters = tuple(iters)
    if sum((it.extent - 1) * abs(it.stride) for it in iters if it.axis == name) >> 62:
        raise LayoutError("expected coordinates that fit 62 bits")
    sums = np.full(1, base, dtype=np.int64)
    copies = 1
    # Growing from the inside out writes the whole array once, and little before that.
    for it in reversed(iters):
        if it.axis != name or not it.stride:
            copies *= it.extent
        else:
            steps = np.arange(0, it.extent * it.stride, it.stride, dtype=np.int64)
            sums = (steps[:, None] + _copied(sums, copies)).reshape(-1)
            copies = 1
    return _copied(sums, copies)


def _copied(values: NDArray[np.int64], copies: int) -> NDArray[np.int64]:
    """The values, so many times behind each other."""
    return values[None, :].repeat(copies, axis=0).reshape(-1)


def accumulate(iters: Sequence[Iter]) -> Table:
    """`broadcast_sums` for every axis of the iters."""
    return {name: broadcast_sums(iters, name) for name in axes_of(iters)}


@dataclass(frozen=True)
class NotStrided:
    """A sequence that no list of iters makes: only its first `prefix` elements lie on one line."""

    prefix: int


def infer_iters(values: Mapping[str, NDArray[np.int64]], count: int, broadcast_axis: str) -> Iters | NotStrided:
    """The canonical iters that produce a given sequence of coordinates starting at 0, or why there are none.

    Complete: by the uniqueness of the canonical form, the innermost extent can only be the first index at which the
    sequence stops being linear.
    """
    names = sorted(values)
    points = np.array([values[name] for name in names], dtype=np.int64).reshape(len(names), count).T
    found: list[Iter] = []
    covered = 1
    while len(points) > 1:
        step = points[1]
        moving = np.flatnonzero(step)
        if len(moving) > 1:
            return NotStrided(covered)
        line = np.arange(len(points), dtype=np.int64)[:, None] * step
        bent = (points != line).any(axis=1)
        extent = int(np.argmax(bent)) if bent.any() else len(points)
        if len(points) % extent:
            return NotStrided(covered * extent)
        outer = points[::extent]
        if (points.reshape(len(outer), extent, -1) != outer[:, None, :] + line[:extent]).any():
            return NotStrided(covered * extent)
        if len(moving):
            found.append(Iter(extent, int(step[moving[0]]), names[int(moving[0])]))
        else:
            found.append(Iter(extent, 0, broadcast_axis))
        points = outer
        covered *= extent
    return tuple(reversed(found))
