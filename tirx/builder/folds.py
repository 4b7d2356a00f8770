"""Operations with a function of elements: maps, and the folds along dimensions; and tiles behind each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Region, SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DTYPES, LATE, DType, dtype_of
from tirx.builder.scalars import Scalar
from tirx.builder.tiles import Tile, common_shape, indices
from tirx.builder.trace import BuildError, Trace, current
from tirx.dialects.tirx import Combination, ConcatOp, MapOp, MemorySpace, ReduceOp, ScanOp, TileType, YieldOp

Combine = str | Callable[..., Any]
"""How folds combine: `"add"`, `"mul"`, `"max"` or `"min"`, or a function of accumulators and elements."""


def _scalars(trace: Trace, block: Block, dtypes: Sequence[DType]) -> list[Scalar]:
    return [Scalar(trace, argument, dtype) for argument, dtype in zip(block.args, dtypes, strict=True)]


def _body(
    trace: Trace, arguments: Sequence[DType], function: Callable[..., Any], like: Any = None
) -> tuple[Region, list[DType]]:
    """The region of a function of scalars, and the types of what it returns."""
    block = Block(arg_types=[each.scalar for each in arguments])
    if not callable(function):
        raise BuildError(f"expected a function of elements, found {function!r}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise BuildError(f"expected a function of {len(arguments)} elements, found another one: {error}") from None
    with trace.inside(block), trace.of_elements():
        found = function(*_scalars(trace, block, arguments))
        returned = list(cast("Sequence[Any]", found)) if isinstance(found, tuple | list) else [found]
        if like is not None and len(like) != len(returned):
            raise BuildError(f"expected a function that returns {len(like)} accumulators, found {len(returned)}")
        if like is not None:
            returned = [functions.scalar(each, dtype) for each, dtype in zip(returned, like, strict=True)]
        for each in returned:
            if not isinstance(each, Scalar):
                raise BuildError(f"expected a function that returns elements, found {each!r}; .to(...) types a number")
        trace(YieldOp(*(each.value for each in returned)))
    return Region(block), [each.dtype for each in returned]


def map_tiles(function: Callable[..., Any], *tiles: Tile, shape: Sequence[int] | None = None) -> Any:
    """The tiles that a function computes, element by element, from the elements of others; it may return several.

    >>> import tirx as tx
    >>> from tirx import f32
    >>> @tx.jit(f32[64, 64], f32[64, 64], threads=128)
    ... def axpy(x: tx.Array, y: tx.Array) -> None:
    ...     y[:, :] = tx.map(lambda a, b: 2.0 * a + b, x[:, :], y[:, :])
    >>> [op.name for op in axpy.module.walk() if op.name == "tirx.map"]
    ['tirx.map']
    """
    trace, given = current(), _read(tiles)
    extents = common_shape("map", given) if given else tuple(shape or ())
    values = [tile.ssa() for tile in given]
    dtypes = [dtype_of(TileType.of(value).element_type) for value in values]
    region, found = _body(trace, dtypes, function)
    results = [TileType.get(extents, dtype.attribute, MemorySpace.REGISTER) for dtype in found]
    made = [Tile.of(value) for value in trace(MapOp(ins=values, body=region, res=results)).res]
    return made[0] if len(made) == 1 else tuple(made)


def _read(tiles: Sequence[Any]) -> list[Tile]:
    """The tiles in registers. Raises BuildError for anything else."""
    if (other := next((each for each in tiles if not isinstance(each, Tile)), None)) is not None:
        raise BuildError(f"expected a tile, found {other!r}")
    return [tile.read() for tile in tiles]


def _folded(tiles: Tile | tuple[Tile, ...]) -> tuple[list[Tile], list[SSAValue], list[DType]]:
    given = _read(tiles if isinstance(tiles, tuple) else (tiles,))
    if any(tile.dtype.name == "i1" for tile in given):
        raise BuildError("expected numbers, found a tile of truths; .to(i32) has 0 and 1")
    return given, [tile.ssa() for tile in given], [dtype_of(TileType.of(tile.ssa()).element_type) for tile in given]


def _how(trace: Trace, how: Combine, dtypes: list[DType]) -> Combination | Region:
    if isinstance(how, str):
        if how not in [each.value for each in Combination]:
            raise BuildError(f"expected a combination of {', '.join(Combination)}, or a function, found {how!r}")
        return Combination(how)
    return _body(trace, [*dtypes, *dtypes], how, dtypes)[0]


def _along(dims: int | tuple[int, ...], rank: int) -> list[int]:
    given = dims if isinstance(dims, tuple) else (dims,)
    for d in given:
        if type(d) is not int or not -rank <= d < rank:
            raise BuildError(f"expected a dimension of {rank}, found {d!r}")
    found = [d % rank for d in given]
    if len(set(found)) < len(found):
        raise BuildError(f"expected different dimensions, found {given}")
    return found


def reduce(tiles: Tile | tuple[Tile, ...], dims: int | tuple[int, ...], how: Combine) -> Any:
    """The combination of all elements along dimensions, whose extents become 1.

    A function combines several tiles at once: its arguments are the accumulators, and then an element of each tile.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[4, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.reduce(a[:, :], 1, "max"), tx.reduce(a[:, :], (0, 1), lambda x, y: x + y))
    >>> _ = kernel.module
    a tile f32[4, 1] a tile f32[1, 1]
    """
    trace = current()
    given, values, dtypes = _folded(tiles)
    along = _along(dims, len(given[0].shape))
    shape = [1 if d in along else n for d, n in enumerate(given[0].shape)]
    results = [TileType.get(shape, dtype.attribute, MemorySpace.REGISTER) for dtype in dtypes]
    made = [Tile.of(each) for each in trace(ReduceOp(values, along, _how(trace, how, dtypes), results)).res]
    return tuple(made) if isinstance(tiles, tuple) else made[0]


def scan(
    tiles: Tile | tuple[Tile, ...],
    dim: int,
    how: Combine = "add",
    *,
    init: Tile | tuple[Tile, ...] | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Any:
    """The accumulators at each element along a dimension, and the last ones: tiles as given, and their totals.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[4, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     sums, total = tx.scan(a[:, :], 1)
    ...     print(sums, total)
    >>> _ = kernel.module
    a tile f32[4, 64] a tile f32[4, 1]
    """
    trace = current()
    given, values, dtypes = _folded(tiles)
    along = _along(dim, len(given[0].shape))[0]
    total = [1 if d == along else n for d, n in enumerate(given[0].shape)]
    shapes = [given[0].shape] * len(given) + [tuple(total)] * len(given)
    results = [
        TileType.get(shape, dtype.attribute, MemorySpace.REGISTER)
        for shape, dtype in zip(shapes, [*dtypes, *dtypes], strict=True)
    ]
    inits = [] if init is None else _folded(init)[1]
    how_ = _how(trace, how, dtypes)
    op = trace(ScanOp(values, along, how_, results, inits, exclusive=exclusive, reverse=reverse))
    made = [Tile.of(each) for each in op.res]
    many = isinstance(tiles, tuple)
    return (tuple(made[: len(given)]), tuple(made[len(given) :])) if many else (made[0], made[1])


def concat(tiles: Sequence[Tile], dim: int) -> Tile:
    """The tiles behind each other along a dimension.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[4, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.concat([a[:, 0:16], a[:, 48:64]], 1))
    >>> _ = kernel.module
    a tile f32[4, 32]
    """
    if not (given := _read([*tiles])):
        raise BuildError("expected tiles to stand behind each other, found none")
    trace, values = current(), [tile.ssa() for tile in given]
    types_ = [TileType.of(value) for value in values]
    shape = list(types_[0].dims)
    (dim,) = _along(dim, len(shape))
    shape[dim] = sum(type_.dims[dim] for type_ in types_ if len(type_.dims) == len(shape))
    result: Attribute = TileType.get(shape, types_[0].element_type, MemorySpace.REGISTER)
    return Tile.of(trace(ConcatOp(values, dim, result)).result)


def _argmax(tile: Tile, dim: int) -> Tile:
    def first(a: Any, i: Any, b: Any, j: Any) -> tuple[Any, Any]:
        before, behind = ((x > y) | ((y != y) & (x == x)) for x, y in ((a, b), (b, a)))
        kept = before | (~behind & (i < j))
        return functions.where(kept, a, b), functions.where(kept, i, j)

    (dim,) = _along(dim, len(tile.shape))
    return reduce((tile, indices(dim, *tile.shape).to(DTYPES["i32"])), dim, first)[1]


LATE["reduce"] = reduce
LATE["argmax"] = _argmax
LATE["map"] = map_tiles
