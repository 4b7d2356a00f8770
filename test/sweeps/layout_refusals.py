"""
Refusals of the layout algebra against a search: an operation refuses only what no layout of the notation is.

`python test/sweeps/layout_refusals.py --layouts 100000 --seed 0` makes random layouts, gives each to every operation
with random shapes, and counts what is answered and refused. A refusal is false if iters make the map that the operation
means. The search tries every way to write a sequence of coordinates as iters, and shares no code with the algebra.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from random import Random

from tirx.layout import Iter, LayoutError, TileLayout

Point = tuple[int, ...]
_AXES = ("m", "laneid", "warpid")
_MOST = 36  # elements of a layout


def points(layout: TileLayout) -> list[Point]:
    """Returns the base coordinate of every element on `_AXES`, by the definition of a layout."""
    found: list[Point] = []
    for digits in product(*(range(it.extent) for it in layout.shard)):
        at = dict(layout.offset)
        for digit, it in zip(digits, layout.shard, strict=True):
            at[it.axis] = at.get(it.axis, 0) + digit * it.stride
        found.append(tuple(at.get(name, 0) for name in _AXES))
    return found


def _less(a: Point, b: Point) -> Point:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _plus(a: Point, b: Point) -> Point:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def strided(values: Sequence[Point]) -> bool:
    """Returns True if some iters give these coordinates, up to an offset: tries every innermost extent."""
    if len(values) == 1:
        return True
    step = _less(values[1], values[0])
    if sum(map(bool, step)) > 1:
        return False
    for extent in range(2, len(values) + 1):
        if values[extent - 1] != _plus(values[0], tuple((extent - 1) * n for n in step)):
            return False
        if len(values) % extent == 0:
            blocks = [values[i : i + extent] for i in range(0, len(values), extent)]
            inner = [_less(value, values[0]) for value in blocks[0]]
            if all([_less(v, block[0]) for v in block] == inner for block in blocks) and strided(values[::extent]):
                return True
    return False


def groups(values: Sequence[Point], shape: Sequence[int]) -> bool:
    """Returns True if every dimension of `shape` is strided by itself, and the map the sum of them."""
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    lines = [[values[i * stride] for i in range(n)] for n, stride in zip(shape, strides, strict=True)]
    for index, value in zip(product(*map(range, shape)), values, strict=True):
        total = values[0]
        for line, i in zip(lines, index, strict=True):
            total = _plus(total, _less(line[i], values[0]))
        if total != value:
            return False
    return all(map(strided, lines))


def _refinement(shapes: Sequence[Sequence[int]]) -> list[int] | None:
    """Returns the shape that has the boundaries of all shapes; None if two of them do not nest."""
    marks = sorted({prod(shape[d:]) for shape in shapes for d in range(len(shape) + 1)}, reverse=True)
    extents = [high // low for high, low in zip(marks, marks[1:], strict=False)]
    return None if any(high % low for high, low in zip(marks, marks[1:], strict=False)) else extents


def _joined(
    left: list[Point], left_shape: Sequence[int], right: list[Point], right_shape: Sequence[int]
) -> list[Point]:
    """Returns left(o) + right(n) in the order of the interleaved shape."""
    found: list[Point] = []
    for index in product(*(range(n) for pair in zip(left_shape, right_shape, strict=True) for n in pair)):
        at = [0, 0]
        for which, shape in ((0, left_shape), (1, right_shape)):
            for i, extent in zip(index[which::2], shape, strict=True):
                at[which] = at[which] * extent + i
        found.append(_plus(left[at[0]], right[at[1]]))
    return found


class Layouts:
    """Random layouts and shapes of them."""

    def __init__(self, seed: int):
        self.random = Random(seed)

    def _split(self, size: int) -> list[int]:
        extents: list[int] = []
        while size > 1:
            extents.append(self.random.choice([n for n in range(2, size + 1) if size % n == 0]))
            size //= extents[-1]
        if self.random.random() < 0.2:
            extents.insert(self.random.randint(0, len(extents)), 1)
        return extents or [1]

    def shape(self, size: int) -> tuple[int, ...]:
        """Returns a shape of so many elements."""
        return tuple(self._split(size))

    def layout(self, most: int = _MOST) -> TileLayout:
        """Returns a layout whose strides continue one another now and then."""
        iters: list[Iter] = []
        stride, axis = 1, "m"
        for extent in self._split(self.random.randint(1, most)):
            if self.random.random() < 0.4:
                axis = self.random.choice(("m", "m", *_AXES))
                stride = self.random.choice((0, 1, 2, 3, 4, 6, -1, -2))
            iters.insert(0, Iter(extent, stride, axis))
            stride *= extent
        replica = [Iter(self.random.choice((1, 2)), self.random.choice((0, 1, 4)), self.random.choice(_AXES))]
        offset = {self.random.choice(_AXES): self.random.randint(0, 3)}
        return TileLayout(iters, self.random.choice(((), (), replica)), self.random.choice(({}, {}, offset)))


Case = tuple[str, Callable[[], object], Callable[[], bool]]
"""An operation, the call, and whether there is an answer."""


def cases(layouts: Layouts) -> Iterator[Case]:
    """The operations on one random layout."""
    random = layouts.random
    layout = layouts.layout()
    values, size = points(layout), layout.size()
    shape, other = layouts.shape(size), layouts.shape(size)
    perm = list(range(len(shape)))
    random.shuffle(perm)
    yield "group", lambda: layout.group(shape), lambda: groups(values, shape)
    yield "permute", lambda: layout.permute(perm, shape), lambda: groups(values, shape)
    yield "broadcast", lambda: layout.broadcast(2, len(shape), None, shape), lambda: groups(values, shape)

    def refines() -> bool:
        extents = _refinement([shape, other])
        return extents is not None and groups(values, extents)

    yield "group_many", lambda: layout.group_many([shape, other]), refines

    def is_cute() -> bool:
        copies = {tuple(at.values()) for at in layout.owners(0)}
        return len(copies) == 1 and not any(values[0]) and not any(any(p[1:]) for p in values) and groups(values, shape)

    yield "to_cute", lambda: layout.to_cute(shape), is_cute

    region = [tuple(sorted(random.sample(range(n + 1), 2))) for n in shape]
    bounds = [(begin, end) for begin, end in region]

    def box() -> bool:
        inside = [
            all(b <= i < e for i, (b, e) in zip(index, bounds, strict=True)) for index in product(*map(range, shape))
        ]
        return strided([value for value, keep in zip(values, inside, strict=True) if keep])

    yield "slice", lambda: layout.slice(shape, bounds), box

    factor = random.choice((1, 2, 3, 4))

    def packs() -> bool:
        if size % factor:
            return False
        wide = values[::factor]
        near = all(values[i] == _plus(values[i - i % factor], (i % factor, 0, 0)) for i in range(size))
        whole = all(owner.get("m", 0) % factor == 0 for i in range(0, size, factor) for owner in layout.owners(i))
        return near and whole and strided([(at[0] // factor, *at[1:]) for at in wide])

    yield "pack", lambda: layout.pack(factor), packs

    second = layouts.layout(8)
    second_shape, first_shape = layouts.shape(second.size()), shape
    rank = max(len(second_shape), len(first_shape))
    second_shape = (1,) * (rank - len(second_shape)) + second_shape
    first_shape = (1,) * (rank - len(first_shape)) + first_shape
    spans = [layout.span(name) for name in _AXES]
    scaled = [tuple(x * n for x, n in zip(at, spans, strict=True)) for at in points(second)]
    for name, outer in (("tile", scaled), ("direct_sum", points(second))):
        call = layout.tile if name == "tile" else layout.direct_sum
        yield (
            name,
            lambda call=call: call(second, second_shape, first_shape),
            lambda outer=outer: strided(_joined(outer, second_shape, values, first_shape)),
        )

    index = TileLayout([Iter(it.extent, abs(it.stride)) for it in layouts.layout(12).shard])
    at = [point[0] for point in points(index)]
    yield "compose", lambda: layout.compose(index), lambda: max(at) < size and strided([values[i] for i in at])


def sweep(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Returns how often each operation answers and refuses, and the false refusals of `count` layouts."""
    layouts = Layouts(seed)
    found: Counter[str] = Counter()
    false: list[str] = []
    for i in range(count):
        for name, call, is_possible in cases(layouts):
            try:
                call()
                found[f"{name}: answered"] += 1
            except LayoutError as error:
                found[f"{name}: refused"] += 1
                if is_possible():
                    false.append(f"layout {i}, {name}: {error}")
    return found, false


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layouts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts, wrong = sweep(arguments.layouts, arguments.seed)
    for line, number in sorted(counts.items()):
        print(f"{number:8} {line}")
    print(f"{len(wrong):8} false refusals")
    print("\n".join(wrong[:20]))
    sys.exit(bool(wrong))
