"""Tiles as values: what is computed element by element, and later, in one `tirx.map` for what it is used for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, i32
from xdsl.ir import Block, Region, SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DTYPES, LATE, DType, dtype_of, index
from tirx.builder.functions import compute, types
from tirx.builder.scalars import Elements, Number, Scalar, distance
from tirx.builder.trace import BuildError, Trace, current, name_value, python_location
from tirx.dialects import tirx
from tirx.layout import LayoutError

_numbers = count()
_NAMES = tuple("T argmax bitcast broadcast dtype load map max min prod reshape shape sum to transpose".split())


class _Node:
    """A function of tiles that is not computed yet. `name` is one of the table, `index`, `number` or `expand`."""

    def __init__(self, name: str, operands: tuple[Any, ...], flags: dict[str, Any], location: LocationAttr):
        self.name = name
        self.operands = operands
        self.flags = flags
        self.location = location

    @property
    def tiles(self) -> list[Tile]:
        return [each for each in self.operands if isinstance(each, Tile)]


class Tile(Elements):
    """A tile of values: operators, `tx.where`, `tx.exp` and others compute each element of a new one.

    Ranks of operands are equal, and extents equal or 1; element types are equal, and numbers take them.

    >>> import tirx as tx
    >>> from tirx import f32
    >>> @tx.jit(f32[64, 64], f32[64, 64], threads=128, target="sm_80")
    ... def scale(a: tx.Array, b: tx.Array) -> None:
    ...     b[:, :] = 2.0 * a[:, :] + 1.0
    >>> print(scale.ir().body.block.first_op.name)
    tirx.kernel
    """

    _way_out = "use tx.where, or a reduction such as .max(1)"

    def __init__(
        self,
        trace: Trace,
        shape: Sequence[int],
        dtype: DType,
        value: SSAValue | None = None,
        node: _Node | None = None,
    ):
        self.trace = trace
        self.shape: tuple[int, ...] = tuple(shape)
        self.dtype = dtype
        self.number = next(_numbers)
        self._value = value
        self._node = node
        self._made = 0
        """How often memory had been written when it was computed."""
        self.is_free = node is not None and all(each.is_free for each in node.tiles)
        """True for what depends on places and scalars only: it is computed again wherever it is used."""
        self.reads: set[SSAValue] = set() if node is None else {each for tile in node.tiles for each in tile.reads}
        """The tiles in memory that it is computed from, until it is."""
        self.has_zeros_outside = (
            node is not None and node.name != "where" and any(each.has_zeros_outside for each in node.tiles)
        )
        """True for what a clipped view has, and says nothing of its outside, and for what is computed from it."""
        self._name: str | None = None
        self.updates: tuple[Any, ...] | None = None
        """Of a part: the whole, and what stood in brackets."""
        if node is not None and not self.is_free:
            trace.pending[self.number] = self

    @staticmethod
    def of(value: SSAValue) -> Tile:
        """The tile that an operation has returned."""
        type_ = tirx.TileType.of(value)
        return Tile(current(), type_.dims, dtype_of(type_.element_type), value)

    def __repr__(self) -> str:
        return f"a {type(self).__name__.lower()} {self.dtype}[{', '.join(map(str, self.shape))}]"

    def read(self) -> Tile:
        """The tile in registers."""
        return self

    @property
    def lies_in(self) -> set[SSAValue]:
        """The memory that a view, or a tile written in place, is a part of; none of a value, which nobody changes."""
        return set()

    @property
    def is_constant(self) -> bool:
        """Returns True for a tile of one number."""
        return self._node is not None and self._node.name == "number"

    @property
    def constant(self) -> Scalar:
        """The number that all elements are."""
        assert self._node is not None
        return functions.scalar(self._node.operands[0], self.dtype)

    @property
    def type(self) -> tirx.TileType:
        """The type of the tile in registers."""
        return tirx.TileType.get(self.shape, self.dtype.attribute, tirx.MemorySpace.REGISTER)

    def ssa(self) -> SSAValue:
        """The value in the IR, computed if it is not yet."""
        if self._value is not None and self.trace.sees(self._value):
            return self._value
        if self._node is None:
            raise BuildError(f"expected a tile of this place, found {self!r} of a loop or branch that has ended")
        if self.dtype == index:
            return self.to(DTYPES["i32"]).ssa()
        at, self.trace.location = self.trace.location, self.trace.location or self._node.location
        try:
            if self.is_constant:
                number = self._node.operands[0]
                op = tirx.ZeroOp(self.type) if not isinstance(number, Scalar) and number == 0 else None
                op = tirx.SplatOp(self.constant.value, self.type) if op is None else op
                value: SSAValue = self.trace(op).results[0]
            else:
                value = self._map()
        finally:
            self.trace.location = at
        self._value = value
        name_value(value, self._name)
        if not self.is_free:
            self._node, self.reads = None, set()
            self.trace.pending.pop(self.number, None)
        return value

    def named(self, name: str) -> None:
        """Gives its value in the IR a name, when it is computed."""
        self._name = self._name or name
        if self._value is not None:
            name_value(self._value, name)

    def flush(self) -> None:
        """Computes the tile, unless it is one that is computed wherever it is used, and from what memory had then."""
        node = self._node
        if self.is_free or node is None:
            return
        if self.dtype.name not in ("i1", "index"):
            self.ssa()
        elif self.reads:
            for each in node.tiles:
                each.flush()
            node.operands = tuple(
                each.load() if isinstance(each, Tile) and each.reads else each for each in node.operands
            )
            self.reads = set()

    def _map(self) -> SSAValue:
        leaves: dict[SSAValue, None] = {}
        self._leaves(self.shape, leaves)
        return _emit_map(self.trace, leaves, self.shape, self.dtype, self._evaluate)

    @property
    def is_cheap(self) -> bool:
        """Returns True for what is computed for every element of a larger tile, not once for all of them."""
        node = self._node
        return self.is_free or self.dtype.name == "i1" or (node is not None and node.name == "cast")

    def computed(self) -> SSAValue | None:
        """The value, if it is computed, and not in a loop or branch that has ended."""
        return self._value if self._value is not None and self.trace.sees(self._value) else None

    def _leaves(self, shape: tuple[int, ...], leaves: dict[SSAValue, None]) -> None:
        """Adds the values that an element of a tile of this shape is computed from."""
        node = self._node
        if node is None:
            leaves[self.ssa()] = None
            return
        for each in node.tiles:
            if each.shape != shape and not each.is_cheap:
                each.ssa()  # computed once, not for every element that it stands for
            if not each.is_free:
                each._leaves(each.shape, leaves)

    def _evaluate(self, values: dict[Any, Scalar], at: tuple[int | None, ...]) -> Scalar:
        """One element, at these dimensions of the map (None: the first one)."""
        node = self._node
        if not self.is_free and (value := self.computed()) is not None:
            return values[value]
        assert node is not None
        if (key := (id(self), at)) in values:
            return values[key]
        trace = self.trace
        if node.name == "index":
            found = _place(trace, values, at[cast(int, node.operands[0])])
        elif node.name == "number":
            found = functions.scalar(node.operands[0], self.dtype)
        else:
            operands: list[Any] = []
            for each in node.operands:
                if not isinstance(each, Tile):
                    operands.append(each)
                elif node.name == "expand":
                    kept = {d: at[t] for t, d in enumerate(node.flags["dims"]) if d is not None}
                    operands.append(each._evaluate(values, tuple(kept[d] for d in range(len(each.shape)))))
                else:
                    inner = tuple(None if n == 1 else t for n, t in zip(each.shape, at, strict=True))
                    operands.append(each._evaluate(values, inner))
            trace.location, before = node.location, trace.location
            dtype = node.flags["dtype"] if "dtype" in node.flags else self.dtype
            flags = {name: flag for name, flag in node.flags.items() if name not in ("dtype", "dims")}
            found = operands[0] if node.name == "expand" else compute(node.name, tuple(operands), dtype, **flags)
            trace.location = before
        values[key] = found
        return found

    def _in_place(self, name: str, other: Any) -> Any:
        """Writes to memory in place, as numpy does, for `-=` and others."""
        if (found := self._binary(name, other)) is NotImplemented:
            return found
        LATE["store"](found, self)
        return self

    # products

    is_product = False

    def __matmul__(self, other: Tile) -> Tile:
        return LATE["matmul"](self, other)

    def _binary(self, name: str, other: Any, swap: bool = False) -> Any:
        if name == "add" and isinstance(other, Tile) and (self.is_product or other.is_product):
            return LATE["add product"](self, other)
        return super()._binary(name, other, swap)

    # parts

    def expand(self, dims: Sequence[int | None]) -> Tile:
        """The tile with dimensions of extent 1 where `dims` has None, and these of its own elsewhere."""
        shape = [1 if d is None else self.shape[d] for d in dims]
        if self.is_free:
            return Tile(self.trace, shape, self.dtype, node=_Node("expand", (self,), {"dims": dims}, python_location()))
        return self.reshape(*shape)

    def __getitem__(self, key: Any) -> Any:
        parts = read_parts(key)
        missing = len(self.shape) - sum(part is not None and part is not Ellipsis for part in parts)
        if missing < 0:
            raise BuildError(f"expected at most {len(self.shape)} slices of {self!r}, found {len(parts)}")
        at = parts.index(Ellipsis) if any(part is Ellipsis for part in parts) else len(parts)
        parts[at : at + 1] = [slice(None)] * missing
        given = [part for part in parts if part is not None]
        if any(isinstance(part, Tile) for part in given):
            return LATE["gather"](self, key)
        slices = [slice_of(part, extent) for part, extent in zip(given, self.shape, strict=True)]
        starts, extents, steps = ([each[i] for each in slices] for i in range(3))
        whole = all(type(n) is int and n == 0 for n in starts) and tuple(extents) == self.shape
        found = self if whole else self._part(starts, extents, steps)
        dropped = [isinstance(part, int | Scalar) for part in given]
        if all(dropped):
            value = self._part(starts, extents, steps).load().ssa()
            return Scalar(self.trace, self.trace(tirx.ElementOp(value, self.dtype.scalar)).result, self.dtype)
        if any(dropped) or len(given) < len(parts):
            own = iter(range(len(given)))
            dims = [None if part is None else next(own) for part in parts]
            if not any(dropped):
                return found.expand(dims)
            return found.reshape(*(1 if d is None else extents[d] for d in dims if d is None or not dropped[d]))
        return found

    def _part(self, starts: list[Any], extents: list[int], steps: list[int]) -> Tile:
        source = self.ssa()
        offsets = [n if type(n) is int else functions.scalar(n, index).value for n in starts]
        known = [n if type(n) is int else 0 for n in offsets]
        stepped = steps if set(steps) != {1} else None
        try:
            type_ = tirx.SubviewOp.type_of(tirx.TileType.of(source), known, extents, stepped)
        except LayoutError as error:
            raise BuildError(str(error)) from error
        return self._same(self.trace(tirx.SubviewOp(source, offsets, type_, stepped)).result)

    def _same(self, value: SSAValue) -> Tile:
        """A tile of the same memory."""
        return Tile.of(value)

    def reshape(self, *shape: int) -> Tile:
        """The same elements in row-major order, in another shape."""
        return self._same(self.trace(tirx.ReshapeOp(self.read().ssa(), self._reshaped_to(shape))).result)

    def _reshaped_to(self, shape: Sequence[Any]) -> tuple[int, ...]:
        extents = extents_of(shape)
        if prod(extents) != prod(self.shape):
            raise BuildError(f"expected extents of {prod(self.shape)} elements, those of {self!r}, found {extents}")
        return extents

    @property
    def T(self) -> Tile:
        """The tile with its last two dimensions exchanged."""
        order = list(range(len(self.shape)))
        order[-2:] = order[:-3:-1]
        return self.transpose(*order)

    def transpose(self, *order: int) -> Tile:
        """The tile whose dimension i is dimension `order[i]`."""
        self._check_order(order)
        value = self.read().ssa()
        type_ = tirx.TileType.get([self.shape[d] for d in order], self.dtype.attribute, tirx.MemorySpace.REGISTER)
        return Tile.of(self.trace(tirx.TransposeOp(value, order, type_)).result)

    def _check_order(self, order: Sequence[int]) -> None:
        if sorted(order) != list(range(len(self.shape))):
            raise BuildError(f"expected the dimensions of {self!r} in another order, found {order}")

    def broadcast(self, *shape: int) -> Tile:
        """The tile with elements repeated along dimensions of extent 1."""
        type_ = tirx.TileType.get(extents_of(shape), self.dtype.attribute, tirx.MemorySpace.REGISTER)
        return Tile.of(self.trace(tirx.BroadcastOp(self.read().ssa(), type_)).result)

    def load(self) -> Tile:
        """The tile in registers."""
        found = self.read()
        found.ssa()
        return found

    # folds

    def _reduced(self, dims: tuple[int, ...], how: str) -> Tile:
        return LATE["reduce"](self, dims or tuple(range(len(self.shape))), how)

    def sum(self, *dims: int) -> Tile:
        """The sums along dimensions, all if none is given, whose extents become 1."""
        return self._reduced(dims, "add")

    def prod(self, *dims: int) -> Tile:
        """The products along dimensions, all if none is given, whose extents become 1."""
        return self._reduced(dims, "mul")

    def max(self, *dims: int) -> Tile:
        """The maxima along dimensions, all if none is given, whose extents become 1; NaN is ignored."""
        return self._reduced(dims, "max")

    def min(self, *dims: int) -> Tile:
        """The minima along dimensions, all if none is given, whose extents become 1; NaN is ignored."""
        return self._reduced(dims, "min")

    def argmax(self, dim: int) -> Tile:
        """The first place of the largest element along a dimension, as i32; NaN is ignored."""
        return LATE["argmax"](self, dim)

    def map(self, function: Callable[..., Any], *others: Tile) -> Any:
        """The function of the elements of this tile and `others`; see `tx.map`."""
        return LATE["map"](function, self, *others)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise BuildError(
            f"expected a tile in memory to store to, found the value {self!r}; tx.where gives another value, and "
            "tx.shared(t) is written in place"
        )

    def __dir__(self) -> list[str]:
        """The names for kernels, which completion shows."""
        return [*_NAMES]

    def __iter__(self) -> NoReturn:
        raise BuildError("expected slices of a tile, found a Python loop over it; .map works on its elements")

    def __len__(self) -> NoReturn:
        raise BuildError("expected .shape of a tile, found len()")


def parts_of(key: Any) -> list[Any]:
    """The parts of what stands in brackets; integers of numpy are Python's."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return [int(cast(Any, each)) if isinstance(each, np.integer) else each for each in parts]


def read_parts(key: Any) -> list[Any]:
    """The parts of what stands in brackets; those that are elements of memory are read."""
    return [each.read() if isinstance(each, Tile) and not each.shape else each for each in parts_of(key)]


def extents_of(shape: Sequence[Any]) -> tuple[int, ...]:
    """The extents of a tile. Raises BuildError for what is none."""
    for n in shape:
        if type(n) is not int or n < 1:
            raise BuildError(f"expected positive extents of a tile, found {n!r}")
    if not shape:
        raise BuildError("expected extents of a tile, found none")
    return tuple(shape)


def index_of(place: Any, extent: int | None) -> Any:
    """An index within `extent` elements; numbers below 0 count from the end."""
    if extent is None or type(place) is not int:
        return place
    if not -extent <= place < extent:
        raise BuildError(f"expected an index of 0 to {extent - 1}, found {place}")
    return place % extent


def slice_of(part: Any, extent: int | None) -> tuple[Any, int, int]:
    """Start, extent and step of a slice, within `extent` elements, or None where the launch knows how many."""
    if isinstance(part, int | Scalar):
        return index_of(part, extent), 1, 1
    if not isinstance(part, slice):
        raise BuildError(f"expected a slice, an index or a span, found {part!r}")
    given = cast("slice[Any, Any, Any]", part)
    if given.step is not None and type(given.step) is not int:
        raise BuildError(f"expected a step that is a number, found {given.step!r}")
    step: int = 1 if given.step is None else given.step
    bounds = [each.read() if hasattr(each, "read") else each for each in (given.start, given.stop)]
    if all(each is None or type(each) is int for each in bounds):
        if extent is None and bounds[1] is None:
            raise BuildError("expected an extent that is a number, found `:` of one that the launch knows; use tx.tile")
        size = extent if extent is not None else cast(int, bounds[1])
        low = 0 if extent is None else -size
        beyond = [each for each in bounds if each is not None and not low <= each <= size]
        positions = range(size)[slice(bounds[0], bounds[1], step)]
        if beyond or not positions:
            shown = ":".join("" if each is None else str(each) for each in bounds)
            raise BuildError(f"expected a slice within {size} elements, found {shown}")
        return positions[0], len(positions), step
    start, stop = 0 if bounds[0] is None else bounds[0], bounds[1]
    ends = [functions.scalar(each, index).value for each in (start, stop)] if stop is not None else None
    length = None if ends is None else distance(ends[1], ends[0])
    if length is None or length < 1 or step != 1:
        raise BuildError(
            "expected a slice whose extent is a number, such as i : i + 64, found one that the kernel computes; "
            "tx.tile(start, 64, end=stop) has the elements up to an end"
        )
    return start, length, 1


def _place(trace: Trace, values: dict[Any, Scalar], dim: int | None) -> Scalar:
    """The coordinate of the element along a dimension of the map; 0 where an operand does not have it."""
    if dim is None:
        return functions.scalar(0, index)
    if ("index", dim) not in values:
        op = tirx.IndexOp.create(properties={"dim": IntegerAttr(dim, i32)}, result_types=[IndexType()])
        values["index", dim] = Scalar(trace, trace(op).results[0], index, natural=True)
    return values["index", dim]


def _emit_map(
    trace: Trace,
    leaves: dict[SSAValue, None],
    shape: tuple[int, ...],
    dtype: DType,
    evaluate: Callable[[dict[Any, Scalar], tuple[int | None, ...]], Scalar],
) -> SSAValue:
    dtypes = [dtype_of(tirx.TileType.of(leaf).element_type) for leaf in leaves]
    block = Block(arg_types=[each.scalar for each in dtypes])
    with trace.inside(block):
        values: dict[Any, Scalar] = {
            leaf: Scalar(trace, argument, each) for leaf, argument, each in zip(leaves, block.args, dtypes, strict=True)
        }
        result = evaluate(values, tuple(range(len(shape))))
        trace(tirx.YieldOp(result.value))
    type_ = tirx.TileType.get(shape, dtype.attribute, tirx.MemorySpace.REGISTER)
    return trace(tirx.MapOp(ins=[*leaves], body=Region(block), res=[type_])).res[0]


def common_shape(name: str, tiles: Sequence[Tile]) -> tuple[int, ...]:
    """The extents of a function of tiles. Raises BuildError where theirs are neither equal nor 1."""
    shapes = list(dict.fromkeys(tile.shape for tile in tiles))
    if len({len(shape) for shape in shapes}) > 1:
        found = " and ".join("x".join(map(str, shape)) for shape in shapes)
        raise BuildError(f"expected tiles of one rank for {name}, found {found}; t[:, None] has a dimension more")
    result = tuple(max(extents) for extents in zip(*shapes, strict=True))
    for shape in shapes:
        if any(n not in (1, full) for n, full in zip(shape, result, strict=True)):
            found = " and ".join("x".join(map(str, shape)) for shape in shapes)
            raise BuildError(f"expected extents that are equal or 1 for {name}, found {found}")
    return result


def _tile_function(name: str, operands: tuple[Any, ...], flags: dict[str, Any]) -> Tile:
    for each in operands:
        if not isinstance(each, Elements | int | float | DType):
            raise BuildError(f"expected tiles, scalars or numbers for {name}, found {each!r}")
    tiles = [each for each in operands if isinstance(each, Tile)]
    shape = common_shape(functions.OPERATOR_NAMES.get(name, name), tiles)
    dtype, result = types(name, operands)
    if name == "bitcast" and "i1" in (tiles[0].dtype.name, result.name):
        raise BuildError("expected numbers for .bitcast, found truths; .to(i32) has 0 and 1")
    if name == "cast" and tiles[0].is_constant:
        return full(result, tiles[0].constant.to(result), *shape)
    if name not in ("cast", "bitcast"):
        flags = {**flags, "dtype": dtype}
    elif tiles[0].dtype == result:
        return tiles[0]
    elif name == "bitcast" and tiles[0].dtype.bits != result.bits and index not in (tiles[0].dtype, result):
        return _other_width(tiles[0], result)
    return Tile(tiles[0].trace, shape, result, node=_Node(name, operands, flags, python_location()))


LATE["tile"] = _tile_function


def _other_width(tile: Tile, dtype: DType) -> Tile:
    """The bits of a tile as elements of more or fewer bits."""
    columns, rest = divmod(tile.shape[-1] * tile.dtype.bits, dtype.bits)
    if rest:
        raise BuildError(f"expected a last extent of whole {dtype} for .bitcast, found {tile!r}")
    type_ = tirx.TileType.get((*tile.shape[:-1], columns), dtype.attribute, tirx.MemorySpace.REGISTER)
    return Tile.of(tile.trace(tirx.BitcastOp(tile.load().ssa(), type_)).result)


def full(dtype: DType, value: Number | Elements, *shape: int) -> Tile:
    """A tile whose elements are all one number.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.full(tx.f32, 1.0, 64))
    >>> _ = kernel.module
    a tile f32[64]
    """
    if not isinstance(dtype, DType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BuildError(f"expected an element type in front, such as tx.f32, found {dtype!r}")
    is_scalar = isinstance(value, Scalar) or getattr(value, "is_element", False)
    if isinstance(value, Tile) and not is_scalar:
        raise BuildError(
            f"expected one number, found {value!r}; .broadcast({', '.join(map(str, shape))}) repeats a tile"
        )
    number = functions.scalar(value, dtype) if is_scalar else value
    return Tile(current(), extents_of(shape), dtype, node=_Node("number", (number,), {}, python_location()))


def zeros(dtype: DType, *shape: int) -> Tile:
    """A tile of zeros; products that are added to it are accumulated.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.zeros(tx.f32, 64, 32))
    >>> _ = kernel.module
    a tile f32[64, 32]
    """
    return full(dtype, 0, *shape)


def indices(dim: int, *shape: int) -> Tile:
    """The tile whose elements are their own coordinate along a dimension.

    >>> import tirx as tx
    >>> @tx.jit(tx.i32[4, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     a[:, :] = tx.indices(1, 4, 64).to(tx.i32)
    >>> _ = kernel.module
    """
    extents = extents_of(shape)
    if type(dim) is not int or not 0 <= dim < len(shape):
        raise BuildError(f"expected a dimension of {len(shape)}, found {dim!r}")
    return Tile(current(), extents, index, node=_Node("index", (dim,), {}, python_location()))
