"""Sizes that the launch of a kernel may have: those at which its lowering may go wrong, and the time that they take."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from math import ceil, prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, BlockArgument, SSAValue

from tirx.dialects.nesting import ancestors, walk
from tirx.dialects.tirx import ForOp, KernelOp, ViewOp
from tirx.passes.ir.emitter import constant_value
from tirx.values import dataclass, field

MOST_ELEMENTS = 1 << 22
"""Elements of all arrays of a launch that is made up."""

MOST_OPERATIONS = 100_000
"""Operations of the tile program in a launch that is made up: more may never end."""

_TILES = (
    (0, 0, 1), (7.5, 1.5, 0), (4.5, 1, 0), (1.5, 2.5, 0), (0, 1, 0), (2.5, 0, 1), (2, 1, 1), (1, 3, -1), (9, 1, 0),
    (2, 1.5, 0),
)  # fmt: skip
"""Sizes by the tiles of views: tiles of dimensions that the innermost loop goes through, tiles of others, and elements
beyond. Rings of a few slots go round, kernels that loop over tiles have several, and tiles are cut off: those of the
loop not in the last ones, since rows of few scale factors take the place of long ones of something else.
"""

_SIZES = (1, 16, 40, 72, 130, 256, 7, 64, 129, 0, 200, 512)
"""Sizes of dimensions that the launch knows: small, at edges of tiles, odd and none."""

_MUCH_WORK = 50
"""Tiles and turns of the innermost loop of a size that is not among the first."""

_TRIPS = (1, 2, 3, 0, 5, 4)
"""Values of integer arguments, which mostly count tiles or steps."""

_DIFFERENT_TRIPS = (2, 3, 1)
"""Values of several of them, instead of 2 for each: an argument that is taken for another one shows."""

_Dimension = tuple[int, int]
"""The number of an argument, and a dimension of it."""


@dataclass(frozen=True)
class Sizes:
    """The extents of each memref of a kernel, None for numbers, and the values of its integer arguments."""

    shapes: tuple[tuple[int, ...] | None, ...]
    numbers: tuple[int, ...]
    work: float = field(default=1, compare=False)
    """About how many tiles are computed, times the turns of the innermost loop."""

    @property
    def elements(self) -> int:
        """Elements of all arrays."""
        return sum(prod(shape) for shape in self.shapes if shape is not None)

    def __str__(self) -> str:
        shapes = ", ".join("x".join(map(str, shape)) for shape in self.shapes if shape is not None)
        return shapes + (f" and numbers {', '.join(map(str, self.numbers))}" if self.numbers else "")


@dataclass
class Pace:
    """CPU time that launches may take. How long the next one will take follows from the last two."""

    seconds: float
    start: float = field(default_factory=time.process_time)
    _rates: tuple[float, ...] = ()
    _begun: float = 0

    def allows(self, size: Sizes, share: float = 1) -> bool:
        """Returns True if a launch is the first one, or will take at most a share of the time that is left."""
        self._begun = time.process_time()
        left = self.start + self.seconds - self._begun
        return not self._rates or (size.work + 1) * max(self._rates) <= share * left

    def done(self, size: Sizes) -> None:
        """Learns from a launch that has ended; one without work says nothing of others."""
        if size.work or not self._rates:
            self._rates = (*self._rates[-1:], (time.process_time() - self._begun) / (size.work + 1))


@dataclass(frozen=True)
class _Walked:
    """Dimensions of memrefs that views walk through together, such as M of A and D.

    `extent` is that of the largest tile, in elements. `is_inner`: the innermost loop of the kernel goes through them.
    `steps` are the elements that one turn goes on along each: 128 of A and 1 of its scale factors.
    """

    dimensions: frozenset[_Dimension]
    extent: int
    is_inner: bool
    steps: Mapping[_Dimension, int]

    def part(self, own: _Dimension, size: int) -> int:
        """Elements along a dimension while those that go on fastest have `size`."""
        return ceil(size * self.steps[own] / max(self.steps.values()))

    def turns(self, own: _Dimension, size: int) -> int:
        """Turns that go through `size` elements of a dimension."""
        return ceil(size / max(1, self.part(own, self.extent)))


def sizes_of(kernel: KernelOp, seed: int) -> Sequence[Sizes]:
    """Returns sizes of the arguments, each once, those of much work last. They need not be legal.

    Static kernels have one.
    """
    return sorted(_sizes_of(kernel, seed), key=lambda each: each.work > _MUCH_WORK and not each.numbers)


def _sizes_of(kernel: KernelOp, seed: int) -> Iterator[Sizes]:
    rng = random.Random(seed)
    types = kernel.function_type.inputs.data
    memrefs = {argument: type_.get_shape() for argument, type_ in enumerate(types) if isinstance(type_, MemRefType)}
    dynamic = [(argument, d) for argument, shape in memrefs.items() for d, n in enumerate(shape) if n == DYNAMIC_INDEX]
    count = sum(not isinstance(each, MemRefType) and not str(each).startswith("f") for each in types)
    walked = [each for each in _walked(kernel) if not each.dimensions.isdisjoint(dynamic)]

    def by_tiles(inner: float, others: float, beyond: int) -> dict[_Dimension, int]:
        found = dict.fromkeys(dynamic, max(int(others * 16) + beyond, 0))
        tiles = cycle((others, others - 0.25 if others % 1 else others))  # so that M is not N
        for each in walked:
            size = max(int((inner if each.is_inner else next(tiles)) * each.extent) + beyond, 0)
            found |= {own: each.part(own, size) for own in dynamic if own in each.dimensions}
        return found

    def chosen() -> Iterator[tuple[tuple[int, ...], dict[_Dimension, int]]]:
        if count:  # of tiles or steps: memory has room for them
            for attempt in range(8 * len(_TRIPS)):
                numbers = tuple(rng.choice(_TRIPS) if attempt >= len(_TRIPS) else _TRIPS[attempt] for _ in range(count))
                numbers = tuple(islice(cycle(_DIFFERENT_TRIPS), count)) if attempt == 1 else numbers
                yield numbers, by_tiles(4 * max(numbers), 4 * max(numbers), 0)
        else:
            yield from (((), by_tiles(*tiles)) for tiles in _TILES)
        for attempt in range(8 * len(_SIZES)):
            numbers = tuple(rng.choice(_TRIPS) for _ in range(count))
            if attempt < len(_SIZES):
                yield numbers, dict.fromkeys(dynamic, _SIZES[attempt])
            elif attempt < 4 * len(_SIZES):  # by their place in a memref
                by_place = {d: rng.choice(_SIZES) for d in sorted({d for _, d in dynamic})}
                yield numbers, {own: by_place[own[1]] for own in dynamic}
            else:
                yield numbers, {own: rng.choice(_SIZES) for own in dynamic}

    seen: set[Sizes] = set()
    for numbers, sizes in chosen():
        shapes = {a: tuple(sizes.get((a, d), n) for d, n in enumerate(shape)) for a, shape in memrefs.items()}
        found = Sizes(tuple(shapes.get(a) for a in range(len(types))), numbers, _work(shapes, walked))
        if found not in seen:
            seen.add(found)
            yield found


def _work(shapes: dict[int, tuple[int, ...]], walked: list[_Walked]) -> float:
    if not any(map(prod, shapes.values())):
        return 0
    return prod(max(1, *(each.turns((a, d), shapes[a][d]) for a, d in each.dimensions)) for each in walked)


def _walked(kernel: KernelOp) -> list[_Walked]:
    together: dict[SSAValue | _Dimension, frozenset[_Dimension]] = {}
    extents, steps = (defaultdict[_Dimension, int](lambda: 1) for _ in range(2))
    depths = defaultdict[_Dimension, int](int)
    for view in walk(kernel):
        if not isinstance(view, ViewOp) or not isinstance(source := view.source, BlockArgument):
            continue
        for d, place in enumerate(view.places if source.block is kernel.body.block else ()):
            own, by = (source.index, d), _variables(place.index)
            variables = sorted(by, key=_depth)
            extents[own] = max(extents[own], place.span)
            depths[own] = max([depths[own], *map(_depth, variables)])
            joined = together.get(own, frozenset({own}))
            for slowest in variables[:1]:  # the others go through a tile of it
                steps[own] = max(steps[own], abs(by[slowest]))
                joined |= together.get(slowest, frozenset())
                together[slowest] = joined
            together |= dict.fromkeys([own, *(key for key, each in together.items() if each & joined)], joined)
    inner = max(depths.values(), default=0)
    return [
        _Walked(
            each,
            max(extents[own] for own in each),
            0 < inner == max(depths[own] for own in each),
            {own: steps[own] for own in each},
        )
        for each in dict.fromkeys(together[own] for own in sorted(extents))
    ]


def _depth(index: SSAValue) -> int:
    """Returns how many loops are around a value."""
    owner = index.owner
    first = owner.parent_op() if isinstance(owner, Block) else owner
    return sum(isinstance(each, scf.ForOp | ForOp) for each in ([] if first is None else [first, *ancestors(first)]))


def _variables(index: SSAValue, by: int = 1) -> dict[SSAValue, int]:
    """Returns the values that an index is computed from, by sums and by products with constants, times `by`."""
    match op := index.owner:
        case arith.ConstantOp():
            return {}
        case arith.AddiOp() | arith.SubiOp():
            return {value: n for operand in op.operands for value, n in _variables(operand, by).items()}
        case arith.MuliOp() if known := [n for each in op.operands if (n := constant_value(each)) is not None]:
            return {value: n for operand in op.operands for value, n in _variables(operand, by * known[0]).items()}
        case _:
            return {index: by}
