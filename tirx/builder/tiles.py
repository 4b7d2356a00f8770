"""Arrays in global memory, tiles, and arithmetic on them, with the notation of numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, NoReturn, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.memref import DimOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tirx.builder.context import BuildError, Point
from tirx.builder.dtypes import ArrayType, DType, dtype_of
from tirx.builder.index import Index
from tirx.dialects.tirx import (
    AllocOp,
    Combination,
    CopyOp,
    FillOp,
    MapOp,
    MemorySpace,
    MmaOp,
    ReduceOp,
    SubviewOp,
    TileType,
    ViewOp,
    YieldOp,
)
from tirx.dialects.tirx.maps import scalar_type
from tirx.layout import LayoutError


@dataclass(frozen=True)
class _Slice:
    """`start:stop:step` as it is written."""

    start: Any = None
    stop: Any = None
    step: Any = None

    @staticmethod
    def of(part: slice[Any, Any, Any]) -> _Slice:
        """The slice that Python has made."""
        return _Slice(part.start, part.stop, part.step)


def _parts(key: Any, rank: int) -> list[Any]:
    """The slices and indices of a key, one for each dimension."""
    given: list[Any] = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    parts: list[Any] = [_Slice.of(cast("slice[Any, Any, Any]", x)) if isinstance(x, slice) else x for x in given]
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    before, rest = (parts, list[Any]()) if at is None else (parts[:at], parts[at + 1 :])
    missing = rank - len(before) - len(rest)
    if missing < 0 or any(part is Ellipsis for part in rest):
        raise BuildError(f"expected at most {rank} slices, found {len(parts)}")
    return [*before, *[_Slice()] * missing, *rest]


@dataclass(frozen=True)
class Array:
    """
    An argument of a kernel in global memory. `a[i : i + 128, 0:64]` is a tile of it, `a[...] = tile` writes one.

    An integer in the place of a slice takes one row of a leading dimension. `a.shape[0]` is an extent, an index where
    it is known at launch only; `a.clipped[...]` may reach beyond the array: what is read there is zero.

    >>> from tirx.builder import f32, kernel
    >>> @kernel(f32[2, None, 64], f32[64, 64], threads=128)
    ... def corner(k, a, b):
    ...     b[:, :] = a.clipped[1, 0:64, :]
    """

    point: Point = field(repr=False)
    value: SSAValue = field(repr=False)
    type: ArrayType
    is_clipped: bool = False

    @property
    def clipped(self) -> Array:
        """The array, with tiles that may reach beyond it."""
        return Array(self.point, self.value, self.type, True)

    @property
    def shape(self) -> tuple[Index, ...]:
        """The extents."""
        return tuple(self._extent(i) for i in range(len(self.type.shape)))

    def _extent(self, dimension: int) -> Index:
        extent = self.type.shape[dimension]
        if extent is not None:
            return Index.constant(self.point, extent)
        index = self.point.constant(dimension, IndexType())
        return Index.of(self.point, self.point(DimOp(self.value, index)).result, is_natural=True)

    def __getitem__(self, key: Any) -> Tile:
        starts: list[Index] = []
        extents: list[int] = []
        for dimension, part in enumerate(_parts(key, len(self.type.shape))):
            if not isinstance(part, _Slice):
                if extents:
                    raise BuildError("expected indices in front of slices, found one behind")
                starts.append(self._index(part))
                continue
            if part.step is not None:
                raise BuildError(f"expected slices without a step, found {part.step}")
            start = self._index(0 if part.start is None else part.start)
            stop = self._extent(dimension) if part.stop is None else self._index(part.stop)
            extent, limit = stop.distance(start), self.type.shape[dimension]
            found = None
            if extent is None:
                found = "one whose extent depends on the launch"
            elif extent < 1:
                found = f"{extent} elements"
            elif limit is not None and not self.is_clipped and not start.terms and start.offset + extent > limit:
                found = f"{start.offset}:{start.offset + extent}"
            if extent is None or found is not None:
                raise BuildError(
                    f"expected slices of fixed extents within {self.type}, found {found} in dimension {dimension}"
                )
            starts.append(start)
            extents.append(extent)
        type_ = TileType.get(extents, self.type.dtype.attribute, MemorySpace.GLOBAL)
        view = ViewOp(self.value, [start.value for start in starts], type_, clipped=self.is_clipped)
        return Tile(self.point, self.point(view).result)

    def __iter__(self) -> NoReturn:
        raise BuildError("expected slices of an array, found a Python loop over it; k.loop counts in the kernel")

    def _index(self, value: Index | int) -> Index:
        return value if isinstance(value, Index) else Index.constant(self.point, value)

    def __setitem__(self, key: Any, value: Tile) -> None:
        self[key].store(value)


@dataclass(frozen=True, eq=False)
class Tile:
    """
    A tile in global, shared or tensor memory, or in registers.

    `tile[:] = other` copies or fills, `acc += a @ b.T` multiplies, `x + y`, `maximum(x, 0.0)`, `x.to(f16)` and
    `x.sum(1)` compute new tiles in registers from tiles in registers. `tile[i : i + 16]` is a part of a tile. In shared
    memory, and along the columns of tensor memory, the kernel may compute where it begins.

    >>> from tirx.builder import f32, kernel
    >>> @kernel(f32[64, 64], f32[64, 64], threads=128)
    ... def scale(k, a, b):
    ...     x = k.load(a[:, :])
    ...     b[:, :] = 2.0 * x + 1.0
    """

    point: Point = field(repr=False)
    value: SSAValue = field(repr=False)

    @property
    def ir_type(self) -> TileType:
        """The type in the IR."""
        return TileType.of(self.value)

    def __iter__(self) -> NoReturn:
        raise BuildError("expected slices of a tile, found a Python loop over it; apply works on its elements")

    def __bool__(self) -> NoReturn:
        raise BuildError("expected a condition that is known in Python, found a tile")

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtype_of(self.ir_type.element_type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.ir_type.dims

    @property
    def T(self) -> Transposed:
        """The second operand of a product, `a @ b.T`."""
        return Transposed(self)

    def __repr__(self) -> str:
        return f"a tile {ArrayType(self.dtype, self.shape)} in {self.ir_type.memory.place}"

    def __getitem__(self, key: Any) -> Tile:
        parts = _parts(key, len(self.shape))
        if all(isinstance(part, _Slice) and part == _Slice() for part in parts):
            return self
        starts: list[int | SSAValue] = []
        extents: list[int] = []
        for part, extent in zip(parts, self.shape, strict=True):
            if not isinstance(part, _Slice) or part.step is not None:
                found = f"one with step {part.step}" if isinstance(part, _Slice) else repr(part)
                raise BuildError(f"expected slices without a step of a tile, found {found}")
            start, stop = (0 if part.start is None else part.start), (extent if part.stop is None else part.stop)
            if isinstance(start, Index) or isinstance(stop, Index):
                start, stop = (x if isinstance(x, Index) else Index.constant(self.point, x) for x in (start, stop))
                length = stop.distance(start)
                if length is None or not 1 <= length <= extent:
                    found = "one whose extent the kernel computes" if length is None else f"{length} elements"
                    raise BuildError(f"expected slices of a fixed extent of 1 to {extent} elements, found {found}")
                starts.append(start.value)
                extents.append(length)
                continue
            if not isinstance(start, int) or not isinstance(stop, int) or not 0 <= start < stop <= extent:
                raise BuildError(f"expected slices within {extent} elements, found {start!r}:{stop!r}")
            starts.append(start)
            extents.append(stop - start)
        try:
            return Tile(self.point, self.point(SubviewOp.of(self.value, starts, extents)).result)
        except LayoutError as error:
            raise BuildError(str(error)) from error

    def __setitem__(self, key: Any, value: Tile | Product | float) -> None:
        part = value.value.owner if isinstance(value, Tile) else None
        if isinstance(part, SubviewOp) and part.source is self.value:
            return  # what `tile[...] += product` assigns: tiles do not overlap
        self[key].store(value)

    def store(self, value: Tile | Product | float) -> None:
        """Copies a tile here, fills with a number, or adds a product."""
        match value:
            case Tile():
                if value.value is self.value:
                    return  # what `tile += product` assigns
                self.point(CopyOp(value.value, self.value))
            case Product():
                raise BuildError("expected a product to be added with +=, found an assignment")
            case _:
                self.point(FillOp(self.value, self.point.constant(value, self.ir_type.element_type)))

    def __matmul__(self, other: Transposed) -> Product:
        if not isinstance(other, Transposed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError("expected a @ b.T, with B of N x K elements, found a @ b")
        return Product(self, other.tile)

    def __iadd__(self, product: Product) -> Tile:
        if not isinstance(product, Product):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError("expected a product a @ b.T behind +=, found another value; write x = x + y")
        self.point(MmaOp(product.a.value, product.b.value, self.value))
        return self

    def to(self, dtype: DType) -> Tile:
        """The elements converted to another type."""
        return apply(methodcaller("to", dtype), self)

    def _reduced(self, along: int, how: Combination) -> Tile:
        if not -len(self.shape) <= along < len(self.shape):
            raise BuildError(f"expected a dimension of {self!r}, found {along}")
        extents = [1 if d == along % len(self.shape) else n for d, n in enumerate(self.shape)]
        type_ = TileType.get(extents, self.ir_type.element_type, MemorySpace.REGISTER)
        op = self.point(ReduceOp([self.value], [along % len(self.shape)], how, [type_]))
        return Tile(self.point, op.res[0])

    def sum(self, along: int) -> Tile:
        """The sums along a dimension, whose extent becomes 1."""
        return self._reduced(along, Combination.ADD)

    def max(self, along: int) -> Tile:
        """The maxima along a dimension, whose extent becomes 1."""
        return self._reduced(along, Combination.MAX)

    def __add__(self, other: Tile | float) -> Tile:
        return apply(operator.add, self, other)

    def __radd__(self, other: float) -> Tile:
        return apply(operator.add, other, self)

    def __sub__(self, other: Tile | float) -> Tile:
        return apply(operator.sub, self, other)

    def __rsub__(self, other: float) -> Tile:
        return apply(operator.sub, other, self)

    def __mul__(self, other: Tile | float) -> Tile:
        return apply(operator.mul, self, other)

    def __rmul__(self, other: float) -> Tile:
        return apply(operator.mul, other, self)

    def __truediv__(self, other: Tile | float) -> Tile:
        return apply(_divide, self, other)


@dataclass(frozen=True)
class Transposed:
    """The second operand of a product, `b.T` for B of N x K elements."""

    tile: Tile


@dataclass(frozen=True)
class Product:
    """`a @ b.T`, to be added to an accumulator with `+=`."""

    a: Tile
    b: Tile


@dataclass(frozen=True, eq=False)
class Scalar:
    """One element inside of `apply`, with the operators of floats."""

    point: Point = field(repr=False)
    value: SSAValue = field(repr=False)

    def binary(self, other: Scalar | float, kind: type[Operation], swap: bool = False) -> Scalar:
        """An operation on two elements."""
        right = other.value if isinstance(other, Scalar) else self.point.constant(other, self.value.type)
        operands = [right, self.value] if swap else [self.value, right]
        return self._of(kind.create(operands=operands, result_types=[self.value.type], properties=_fast(kind)))

    def _of(self, op: Operation) -> Scalar:
        return Scalar(self.point, self.point(op).results[0])

    def to(self, dtype: DType) -> Scalar:
        """The element converted to another float type."""
        before, after = dtype_of(self.value.type), dtype
        if before == after:
            return self
        kind = arith.ExtFOp if _bits(before) < _bits(after) else arith.TruncFOp
        return self._of(kind(self.value, after.attribute))  # pyright: ignore[reportArgumentType]

    def __add__(self, other: Scalar | float) -> Scalar:
        return self.binary(other, arith.AddfOp)

    __radd__ = __add__

    def __sub__(self, other: Scalar | float) -> Scalar:
        return self.binary(other, arith.SubfOp)

    def __rsub__(self, other: float) -> Scalar:
        return self.binary(other, arith.SubfOp, swap=True)

    def __mul__(self, other: Scalar | float) -> Scalar:
        return self.binary(other, arith.MulfOp)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar | float) -> Scalar:
        return self.binary(other, arith.DivfOp)


def _divide(x: Scalar, y: Scalar | float) -> Scalar:
    return x / y


def _fast(kind: type[Operation]) -> dict[str, Attribute]:
    return {"fastmath": arith.FastMathFlagsAttr("none")} if "fastmath" in _properties(kind) else {}


def _properties(kind: type[Operation]) -> set[str]:
    return set(kind.get_irdl_definition().properties)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def _bits(dtype: DType) -> int:
    return TileType.get((1,), dtype.attribute, MemorySpace.GLOBAL).dtype.bits


def apply(function: Callable[..., Scalar], *operands: Tile | float) -> Tile:
    """
    Computes each element of a new tile in registers from the elements at the same place of others (`tirx.map`).

    Operands have the extents of the result, or 1 in their place. Numbers are the same for all elements.

    >>> from tirx.builder import apply, f32, kernel
    >>> @kernel(f32[64, 64], f32[64, 64], threads=128)
    ... def axpy(k, x, y):
    ...     y[:, :] = apply(lambda a, b: 2.0 * a + b, k.load(x[:, :]), k.load(y[:, :]))
    """
    tiles = [each for each in operands if isinstance(each, Tile)]
    if not tiles:
        raise BuildError("expected a tile among the operands, found numbers alone")
    for tile in tiles:
        if tile.ir_type.memory not in (MemorySpace.REGISTER, MemorySpace.ACCUMULATOR):
            raise BuildError(f"expected tiles in registers, found {tile}; k.load copies one to registers")
    point = tiles[0].point
    # The operation refuses ranks that differ.
    shape = tuple(max(extents) for extents in zip(*(tile.shape for tile in tiles), strict=False))
    block = Block(arg_types=[scalar_type(tile.ir_type.element_type) for tile in tiles])
    arguments = iter(block.args)
    with point.inside(block):
        given = [Scalar(point, next(arguments)) if isinstance(each, Tile) else each for each in operands]
        result = function(*given)
        point(YieldOp(result.value))
    type_ = TileType.get(shape, result.value.type, MemorySpace.REGISTER)
    op = MapOp([tile.value for tile in tiles], Region(block), [type_])
    op_location = point(op)
    return Tile(point, op_location.res[0])


def _function(kind: type[Operation]) -> Callable[[Scalar], Scalar]:
    def call(x: Scalar) -> Scalar:
        if not isinstance(x, Scalar):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected a tile in registers, or an element of one, found {x!r}")
        return x._of(kind.create(operands=[x.value], result_types=[x.value.type], properties=_fast(kind)))  # pyright: ignore[reportPrivateUsage]

    return call


def maximum(x: Any, y: Any) -> Any:
    """
    The larger one, of tiles, of elements inside `apply` or of one of these and a number; NaN if one is NaN.

    >>> from tirx.builder import f32, kernel, maximum
    >>> @kernel(f32[64, 64], threads=128)
    ... def relu(k, a):
    ...     a[:, :] = maximum(k.load(a[:, :]), 0.0)
    """
    if isinstance(x, Tile) or isinstance(y, Tile):
        return apply(maximum, x, y)
    if not isinstance(x, Scalar):
        x, y = y, x
    return x.binary(y, arith.MaximumfOp)


def exp(x: Any) -> Any:
    """
    The exponential of every element of a tile, or of one element inside `apply`.

    >>> from tirx.builder import exp, f32, kernel
    >>> @kernel(f32[64, 64], threads=128)
    ... def exponential(k, a):
    ...     a[:, :] = exp(k.load(a[:, :]))
    """
    return apply(exp, x) if isinstance(x, Tile) else _function(math.ExpOp)(x)


def allocate(point: Point, type_: ArrayType, memory: MemorySpace, layout: Any, fill: float | None) -> Tile:
    """A new tile, filled where a value is given."""
    if not isinstance(type_, ArrayType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BuildError(f"expected the type of a tile such as f32[64, 64], found {type_!r}")
    tile = Tile(
        point,
        point(AllocOp(TileType.get(type_.extents, type_.dtype.attribute, memory, layout))).result,
    )
    if fill is not None:
        tile.store(fill)
    return tile


def names(values: Sequence[SSAValue], given: Sequence[str]) -> None:
    """Gives values the names of Python's parameters."""
    for value, name in zip(values, given, strict=False):
        value.name_hint = name
