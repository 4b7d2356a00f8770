"""Rules of reductions and scans: elements combined in the order of their indices, by a name or a region."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.interpreter import Interpreter, PythonValues, register_impls
from xdsl.ir import SSAValue

from tirx.dialects.tirx import ClusterSumOp, Combination, FoldOp, ReduceOp, ScanOp, TileType
from tirx.interp.formats import Array, dtype_of, is_float, largest_of, last_place
from tirx.interp.memory import Numbers, Tile, joined
from tirx.interp.numbers import data_of
from tirx.interp.products import reduce, scan
from tirx.interp.state import Functions, block_of
from tirx.interp.tiles import full, of_all, rule, tile_dtype, value_of

_EXACT = (arith.SelectOp, arith.CmpfOp, arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp)
"""Operations of floats that do not round, among `arith` and `math`."""

_ROOM = 2.0**-8
"""The part of the largest number up to which other bracketings, too, have finite accumulators."""


@register_impls
class FoldFunctions(Functions):
    """Combinations of elements along dimensions."""

    @rule(ReduceOp)
    def reduce(self, interpreter: Interpreter, op: ReduceOp, args: PythonValues) -> PythonValues:
        block = block_of(interpreter)
        tiles = [block.read(op, tile) for tile in args]
        if op.combination is not None:
            found = reduce(tiles[0], op.along, op.combination.data, **block.launch.arithmetic)
            return (Tile(TileType.of(op.res[0]).dims, block.launch.numbers(found)),)
        kept = [d for d in range(len(args[0].shape)) if d not in op.along]
        order, shape = (*op.along, *kept), tuple(args[0].shape[d] for d in kept)
        lines = [tile.each(lambda x: x.transpose(order).reshape(-1, *shape)) for tile in tiles]
        return _tiles(op.res, [each.each(lambda x: x[-1:]) for each in _Region(interpreter, op).scan(lines)])

    @rule(ClusterSumOp)
    def cluster_sum(self, interpreter: Interpreter, op: ClusterSumOp, args: PythonValues) -> PythonValues:
        block, columns = block_of(interpreter), op.result.type.dims[-1]
        share = block.rank % op.shares
        own = slice(share * columns, (share + 1) * columns)
        parts = [each.each(lambda x: x[None, ..., own]) for each in of_all(block, op, block.read(op, args[0]))]
        found = reduce(joined(parts, 0), (0,), "add", **block.launch.arithmetic)
        return (Tile(op.result.type.dims, block.launch.numbers(found).each(lambda x: x[0])),)

    @rule(ScanOp)
    def scan(self, interpreter: Interpreter, op: ScanOp, args: PythonValues) -> PythonValues:
        block, d, count = block_of(interpreter), op.along[0], len(op.ins)
        tiles = [block.read(op, tile) for tile in args]
        ins, inits = tiles[:count], tiles[count:]
        if op.reverse is not None:
            ins = [tile.each(lambda x: np.flip(x, d)) for tile in ins]
        if not inits and op.exclusive is not None:
            inits = [_identity(op, ins[0], d)]
        if inits:
            ins = [joined(pair, d) for pair in zip(inits, ins, strict=True)]
        if op.combination is not None:
            found = scan(ins[0], d, op.combination.data, **block.launch.arithmetic)
            scanned = [block.launch.numbers(found)]
        else:
            lines = [tile.each(lambda x: np.moveaxis(x, d, 0)) for tile in ins]
            scanned = [each.each(lambda x: np.moveaxis(x, 0, d)) for each in _Region(interpreter, op).scan(lines)]
        extent = TileType.of(op.source).dims[d]
        first = 1 if inits and op.exclusive is None else 0
        totals = [each.each(lambda x: np.take(x, [-1], d)) for each in scanned]
        scanned = [each.each(lambda x: np.take(x, range(first, first + extent), d)) for each in scanned]
        if op.reverse is not None:
            scanned = [each.each(lambda x: np.flip(x, d)) for each in scanned]
        return (*_tiles(op.scanned, scanned), *_tiles(op.totals, totals[: len(op.totals)]))


def _tiles(results: Sequence[SSAValue], found: Sequence[Numbers]) -> PythonValues:
    types = [TileType.of(result) for result in results]
    return tuple(
        Tile(t.dims, each.each(lambda x, t=t: x.reshape(t.dims))) for t, each in zip(types, found, strict=True)
    )


def _identity(op: ScanOp, like: Numbers, d: int) -> Numbers:
    """The element that a named combination does not change anything with."""
    assert op.combination is not None, "the verifier asks for an init"
    dtype = tile_dtype(TileType.of(op.source))
    how = op.combination.data
    if is_float(dtype):
        number: float = {Combination.ADD: -0.0, Combination.MUL: 1.0}.get(how, np.nan)
    else:
        limits = np.iinfo(dtype)
        number = {Combination.ADD: 0, Combination.MUL: 1, Combination.MAX: limits.min}.get(how, limits.max)
    shape = np.take(like.data, [0], d).shape
    return Numbers(np.full(shape, number).astype(dtype))


class _Region:
    """Combines lines, along the first dimension of arrays, by the region of an operation."""

    def __init__(self, interpreter: Interpreter, op: FoldOp):
        self._interpreter, self._op = interpreter, op
        assert op.body is not None
        self._body = op.body
        self._launch = block_of(interpreter).launch
        floats = [each for each in op.body.block.ops if each.results and is_float(dtype_of(each.results[0].type))]
        self._roundings = sum(not isinstance(each, (arith.ConstantOp, *_EXACT)) for each in floats)

    def scan(self, lines: Sequence[Numbers]) -> list[Numbers]:
        """Returns the accumulators behind each element.

        Where another bracketing gives other bits, the numbers are those of some lowerings only. Errors then are those
        of the operations of all steps, twice, at twice the largest accumulator or element so far: sums of elements in
        between are differences of two accumulators.
        """
        types = [argument.type for argument in self._body.block.args]
        values = [full(x.data.shape, value_of(x, own), dtype_of(own)) for x, own in zip(lines, types, strict=False)]
        found = self._sequential(values)
        if self._roundings and self._launch.exact and not _same(found, self._doubled(values)):
            self._launch.exact = False
            found = self._sequential(values)  # with the errors, which were not looked for before
        if not all(np.isfinite(each.data).all() for each in (*values, *found)):
            other = self._doubled(values)
            nan = [each.data != each.data for each in values]
            pairs = list(zip(found, other, strict=True))
            differs = [_differ(a, b) & ~(np.isfinite(a.data) & np.isfinite(b.data)) for a, b in pairs]
            unordered = np.logical_or.accumulate(np.logical_or.reduce([*nan, *differs]), 0)
            if unordered.any() and not _same(found, other):
                self._launch.exact = False
                found = [each.uncertain(unordered) for each in found]
            if self._roundings and not self._launch.exact:  # infinite in some orders, and no number in others
                found = [each.uncertain(~np.isfinite(each.data)) for each in found]
        return found

    def _sequential(self, values: list[Numbers]) -> list[Numbers]:
        steps, largest = [_at(values, slice(0, 1))], [np.zeros(())] * len(values)
        rounds = self._launch.bounds and self._roundings > 0
        for i in range(1, len(values[0].data)):
            element = _at(values, slice(i, i + 1))
            made = self._combined(steps[-1], element)
            if rounds:
                largest = [_largest(*each) for each in zip(largest, made, element, strict=True)]
                made = self._rounded(made, largest)
            steps.append(made)
        return [joined(each, 0) for each in zip(*steps, strict=True)]

    def _combined(self, a: Sequence[Numbers], b: Sequence[Numbers]) -> list[Numbers]:
        values = self._interpreter.run_ssacfg_region(self._body, tuple(map(value_of, (*a, *b))))
        return [full(a[0].data.shape, each, data_of(each).dtype) for each in values]

    def _rounded(self, values: list[Numbers], largest: Sequence[Array]) -> list[Numbers]:
        if self._launch.exact:
            return values
        made: list[Numbers] = []
        for value, most in zip(values, largest, strict=True):
            dtype = value.data.dtype
            own = 4 * self._roundings * last_place(most, dtype) if is_float(dtype) else np.zeros(())
            own = np.where(most > largest_of(dtype) * _ROOM, np.inf, own)
            made.append(value._replace(error=value.errors + own))
        return made

    def _doubled(self, values: list[Numbers]) -> list[Numbers]:
        """The accumulators by another bracketing: of 2, 4, 8 ... neighbours."""
        distance, count = 1, len(values[0].data)
        while distance < count:
            later = self._combined(_at(values, slice(0, -distance)), _at(values, slice(distance, None)))
            values = [joined(pair, 0) for pair in zip(_at(values, slice(0, distance)), later, strict=True)]
            distance *= 2
        return values


def _largest(before: Array, *values: Numbers) -> Array:
    """Returns the largest finite magnitudes of floats up to now."""
    for data in (each.data for each in values):
        if is_float(data.dtype):
            magnitudes = np.abs(data.astype(np.float64))
            before = np.maximum(before, np.where(np.isfinite(magnitudes), magnitudes, 0))
    return before


def _differ(x: Numbers, y: Numbers) -> Array:
    return (x.data != y.data) & ((x.data == x.data) | (y.data == y.data))


def _at(values: Sequence[Numbers], where: slice) -> list[Numbers]:
    return [each.each(lambda x: x[where]) for each in values]


def _same(a: Sequence[Numbers], b: Sequence[Numbers]) -> bool:
    return not any(_differ(*pair).any() for pair in zip(a, b, strict=True))
