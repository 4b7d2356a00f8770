"""Places: spans of elements, arrays in global memory, views of them, and tiles in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DTYPES, LATE, ArrayType, DType, dtype_of, f32, f64, index
from tirx.builder.scalars import Number, Scalar
from tirx.builder.tiles import Tile, full, indices, parts_of, slice_of
from tirx.builder.trace import BuildError, NeedsExtent, Trace, current
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call
from tirx.dialects.tirx import (
    AllocOp,
    CopyOp,
    FillOp,
    LoadOp,
    MemorySpace,
    MmaOp,
    ReshapeOp,
    StoreOp,
    SubviewOp,
    TileType,
    ViewOp,
)
from tirx.passes.ir.index_analysis import index_range

Place = Any
"""What stands in brackets behind an array: a span, an index, a slice or a tile of indices."""


class Span:
    """
    A range of indices: `extent` of them from `start` on, `step` apart, of which those below an end are there.

    `a[span]` is a view that is clipped at the end. `span + n`, `span * n` and `span // n` move, spread and divide it.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[256, 64], threads=32)
    ... def kernel(m: tx.Array) -> None:
    ...     rows = tx.tile(128, 64)
    ...     print(m[rows + 64, :], (rows // 2).extent)
    >>> _ = kernel.module
    a view f32[64, 64] 32
    """

    def __init__(
        self,
        start: Scalar,
        extent: int,
        end: Scalar | None = None,
        *,
        step: int = 1,
        count: Callable[[], Scalar | None] | None = None,
    ):
        self.start = start
        self.extent = extent
        self.step = step
        self.limit = end
        """The index from which on nothing is there, of a span with step 1 that has not been moved."""
        self._count = count
        self._size: Scalar | None = None

    @property
    def size(self) -> Scalar | None:
        """The number of positions that are there; negative or more than the extent for none or all; None if all are."""
        if self._size is None or not self.start.trace.sees(self._size.value):
            if self._count is not None:
                self._size = self._count()
            else:
                self._size = None if self.limit is None else self.limit - self.start
        return self._size

    @property
    def end(self) -> Scalar:
        """The index behind the last one that is there."""
        if self.limit is not None and self.step == 1:
            return functions.minimum(self.start + self.extent, self.limit)
        return self.start + (self.extent if self.size is None else self.size) * self.step

    @property
    def index(self) -> Tile:
        """The indices, as a tile of rank 1."""
        at = indices(0, self.extent)
        return (at if self.step == 1 else at * self.step) + self.start

    @property
    def inside(self) -> Tile:
        """Where the indices are there, as a tile of rank 1 of truths."""
        at = indices(0, self.extent)
        return at < (self.extent if self.size is None else self.size)

    def __add__(self, other: Scalar | int) -> Span:
        return Span(self.start + other, self.extent, step=self.step, count=lambda: self.size)

    __radd__ = __add__

    def __sub__(self, other: Scalar | int) -> Span:
        return Span(self.start - other, self.extent, step=self.step, count=lambda: self.size)

    def __mul__(self, other: int) -> Span:
        if other == 1:
            return self
        return Span(self.start * other, self.extent, step=self.step * other, count=lambda: self.size)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Span:
        if self.extent % other or self.step != 1:
            raise BuildError(f"expected a span whose extent {other} divides, found {self!r}")
        if self.limit is None and self._count is None:
            return Span(self.start // other, self.extent // other)
        return Span(
            self.start // other, self.extent // other, count=lambda: functions.ceildiv(cast(Scalar, self.size), other)
        )

    def __repr__(self) -> str:
        return f"a span of {self.extent} indices"


def as_index(value: Any) -> Scalar:
    """An index, from a number, a scalar or an element in memory."""
    given = value.read() if isinstance(value, View) else value
    if not isinstance(given, int | Scalar) or (isinstance(given, Scalar) and given.dtype.is_float):
        raise BuildError(f"expected an integer, found {given!r}")
    return functions.scalar(given, index)


def tile(start: Scalar | int, extent: int, end: Scalar | int | None = None) -> Span:
    """
    The span of `extent` indices from `start` on, which ends at `end` where that is less.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[None], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(a[tx.tile(8, 64, end=20)])
    >>> _ = kernel.module
    a view f32[64]
    """
    if type(extent) is not int or extent < 1:
        raise BuildError(f"expected a number of indices of a span, found {extent!r}")
    return Span(as_index(start), extent, None if end is None else as_index(end))


class Array:
    """
    An argument of a kernel in global memory: `a[m, k]` is a view of it, `a[m, k] = tile` stores, `+=` adds there.

    In brackets stand spans, indices, slices of extents that are numbers, `:` and tiles of indices. `a.shape[0]` is a
    number where it is known, and an index otherwise.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[None, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(a[tx.tile(0, 16), 0:32], a[3, 5].dtype, a.shape[1])
    ...     a[0:8, :] += tx.full(tx.f32, 1.0, 8, 64)
    >>> _ = kernel.module
    a view f32[16, 32] f32 64
    """

    def __init__(self, trace: Trace, value: SSAValue, type_: ArrayType, number: int):
        self.trace = trace
        self.value = value
        self.type = type_
        self.number = number
        """Its place among the arguments of the kernel."""

    def __repr__(self) -> str:
        return f"an array {self.type}"

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents: numbers, or indices of what the launch knows."""
        return tuple(self.extent(d) if n is None else n for d, n in enumerate(self.type.shape))

    def extent(self, dim: int) -> Scalar:
        """An extent as an index."""
        if (known := self.type.shape[dim]) is not None:
            return functions.scalar(known, index)
        key = (self.value, dim)
        if key not in self.trace.kept:
            at = self.trace.constant(dim, index.attribute)
            value = self.trace.at_entry(memref.DimOp(self.value, at)).result
            formula = Call("size", (self.number, dim)) if self.number >= 0 else None
            self.trace.kept[key] = Scalar(self.trace, value, index, natural=True, formula=formula)
        return self.trace.kept[key]

    def __getitem__(self, key: Place) -> View:
        return view_of(self.trace, self.value, self.type, key, self)

    def __setitem__(self, key: Place, value: Any) -> None:
        if isinstance(value, View) and value.is_added:
            value.is_added = False
            return
        store(value, self[key])


def _places(key: Place, rank: int) -> list[Any]:
    parts = parts_of(key)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = parts[at + 1 :]
    missing = rank - at - len(rest)
    if missing < 0:
        raise BuildError(f"expected at most {rank} places, found {len(parts)}")
    found = [*parts[:at], *[slice(None)] * missing, *rest]
    return [each.read() if isinstance(each, View) else each for each in found]


def view_of(trace: Trace, source: SSAValue, type_: ArrayType, key: Place, array: Array | None) -> View:
    """The view of an array, or of a tile in shared memory, at these places."""
    places = _places(key, len(type_.shape))
    spans: list[Span | Scalar | Tile] = []
    for place, extent in zip(places, type_.shape, strict=True):
        if isinstance(place, slice):
            if extent is None and cast(Any, place).stop is None and array is not None and trace.specialises:
                raise NeedsExtent(array.number, len(spans))
            start, size, step = slice_of(place, extent)
            spans.append(Span(as_index(start), size, step=step))
        elif isinstance(place, Span | Tile):
            spans.append(place)
        elif isinstance(place, int | Scalar):
            if type(place) is int and extent is not None and not 0 <= place < extent:
                raise BuildError(f"expected an index of 0 to {extent - 1}, found {place}")
            spans.append(as_index(place))
        else:
            raise BuildError(
                f"expected a span, an index, a slice or a tile of indices, found {place!r}; tx.tile makes a span"
            )
    return View(trace, source, type_, spans, array=array)


class View(Tile):
    """
    A part of an array, or of a tile in shared memory, at places: it is read where it is used.

    `.load(pad=...)` reads it, with another number than 0 for what is outside; `.T` has its dimensions exchanged.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[16, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(a[:, 0:8].T, a[:, 0:8].load())
    >>> _ = kernel.module
    a view f32[8, 16] a tile f32[16, 8]
    """

    def __init__(
        self,
        trace: Trace,
        source: SSAValue,
        type_: ArrayType,
        places: Sequence[Span | Scalar | Tile],
        dims: list[int | None] | None = None,
        array: Array | None = None,
        op_value: SSAValue | None = None,
    ):
        self.source = source
        self.array_type = type_
        self.places = list(places)
        self.array = array
        self.is_added = False
        self._loaded: tuple[int, Any] | None = None
        vectors = [d for d, place in enumerate(places) if isinstance(place, Tile) and len(place.shape) == 1]
        self.places = _paired(self.places, vectors) if len(vectors) > 1 else self.places
        full_rank = [place.shape for place in self.places if isinstance(place, Tile) and len(place.shape) > 1]
        own = [d for d, place in enumerate(self.places) if not isinstance(place, Scalar)]
        moving: list[int | None] = [*own]
        if full_rank:
            shape = list(full_rank[0])
            moving = [*[None] * (len(shape) - len(own)), *own]
            for t, d in enumerate(moving):
                if d is not None and isinstance(place := self.places[d], Span):
                    shape[t] = place.extent
        else:
            shape = [p.extent if isinstance(p := self.places[d], Span) else cast(Tile, p).shape[0] for d in own]
        self.dims: list[int | None] = moving if dims is None else dims
        if dims is not None:
            extents = dict(zip(moving, shape, strict=True))
            shape = [1 if d is None else extents[d] for d in dims]
        super().__init__(trace, shape, type_.dtype)
        self._op = op_value

    @property
    def op_value(self) -> SSAValue:
        """The view in the IR."""
        if self._op is None or not self.trace.sees(self._op):
            self._op = self.trace(self._view()).result
        return self._op

    def _view(self) -> ViewOp:
        where: list[SSAValue] = []
        sizes: dict[int, SSAValue] = {}
        is_inside = True
        for d, (place, extent) in enumerate(zip(self.places, self.array_type.shape, strict=True)):
            if isinstance(place, Tile):
                where.append(place.to(DTYPES["i32"]).ssa() if place.dtype == index else place.ssa())
                is_inside = False
                continue
            start, reach, step = (place, 1, 1) if isinstance(place, Scalar) else (place.start, place.extent, place.step)
            where.append(start.value)
            known = index_range(start.value)
            inside = extent is not None and known.least >= 0 and known.greatest + (reach - 1) * step < extent
            is_inside &= inside or (isinstance(place, Scalar) and extent is None)
            if isinstance(place, Span) and (size := self._size(place, d)) is not None:
                sizes[d] = size.value
        rank, moving = len(self.places), self.dims
        dims = None if moving == list(range(rank - len(moving), rank)) else [-1 if d is None else d for d in moving]
        steps = [place.step if isinstance(place, Span) else 1 for place in self.places]
        memory = MemorySpace.GLOBAL if self.array is not None else MemorySpace.SHARED
        return ViewOp(
            source=self.source,
            where=[*where, *sizes.values()],
            result=TileType.get(self.shape, self.dtype.attribute, memory),
            dims=dims,
            steps=steps if set(steps) != {1} else None,
            sized=ArrayAttr([i32_attr(d) for d in sizes]) if sizes else None,
            clipped=bool(sizes) or not is_inside,
        )

    def _size(self, span: Span, dim: int) -> Scalar | None:
        """The number of positions, where the extent of the array does not say so."""
        limit, extent = span.limit, self.array_type.shape[dim]
        if limit is not None and limit.formula is not None and self.array is not None:
            if isinstance(limit.formula, int):
                if limit.formula == extent:
                    return None
            elif limit.formula.function == "size":
                argument, of = cast("tuple[int, int]", limit.formula.operands)
                if (argument, of) != (self.array.number, dim):
                    self.trace.requires[(argument, of), (self.array.number, dim)] = None
                return None
        return span.size

    @property
    def is_element(self) -> bool:
        """Returns True for a single element, which is a scalar."""
        return not self.shape

    def read(self) -> Any:
        """The tile in registers, or the scalar, as it is in memory now."""
        return self.load()

    def load(self, pad: Number | Scalar | None = None) -> Any:
        """The tile in registers, or the scalar; `pad` stands for what is outside of the array (0)."""
        trace = self.trace
        if pad is None and self._loaded is not None and self._loaded[0] == trace.writes:
            found = self._loaded[1]
            if trace.sees(found.value) if isinstance(found, Scalar) else found.computed() is not None:
                return found
        if self.is_element:
            where = [as_index(place).value for place in self.places]
            value = trace(memref.LoadOp.get(self.source, where)).res
            found = Scalar(trace, value, self.dtype)
        else:
            padding = None if pad is None else functions.scalar(pad, self.dtype).value
            found = Tile.of(trace(LoadOp(self.op_value, self.type, pad=padding)).result)
        if pad is None:
            self._loaded = (trace.writes, found)
        return found

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def to(self, dtype: DType) -> Any:
        return functions.apply("cast", self, dtype)

    def transpose(self, *order: int) -> View:
        dims = [self.dims[d] for d in order]
        return View(self.trace, self.source, self.array_type, self.places, dims, self.array)

    def expand(self, dims: Sequence[int | None]) -> View:
        kept = [None if d is None else self.dims[d] for d in dims]
        return View(self.trace, self.source, self.array_type, self.places, kept, self.array)

    def __getitem__(self, key: Any) -> Tile:
        parts = parts_of(key)
        if all(part is None or part == slice(None) for part in parts) and None in parts:
            own = iter(range(len(self.shape)))
            given = [None if part is None else next(own) for part in parts]
            return self.expand([*given, *own])
        return self.read()[key]

    def reshape(self, *shape: int) -> View:
        """The same elements in row-major order, in another shape."""
        value = self.trace(ReshapeOp(self.op_value, shape)).result
        found = View(self.trace, self.source, self.array_type, self.places, list(self.dims), self.array, value)
        found.shape = shape
        return found

    def __iadd__(self, value: Any) -> View:
        store(value, self, reduce="add")
        self.is_added = True
        return self


def _paired(places: list[Any], vectors: list[int]) -> list[Any]:
    """Vectors of indices that go together along the first of their dimensions, as those of numpy."""
    raise BuildError(
        f"expected one tile of indices of rank 1, found {len(vectors)}; give them the rank of the view by [:, None]"
    )


def store(value: Any, place: Tile, *, reduce: str | None = None) -> None:
    """
    Stores a tile, a number or a scalar at a place in memory; `reduce` combines it with what is there.

    >>> import tirx as tx
    >>> @tx.jit(tx.i32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     tx.store(tx.full(tx.i32, 3, 64), a[:], reduce="max")
    >>> _ = kernel.module
    """
    if not isinstance(place, View | Memory):
        raise BuildError(f"expected a view of an array or a tile in memory, found {place!r}")
    trace = place.trace
    if isinstance(place, View) and place.is_element and reduce is None:
        given = value.read() if isinstance(value, Tile) else value
        where = [as_index(each).value for each in place.places]
        trace(memref.StoreOp.get(functions.scalar(given, place.dtype).value, place.source, where))
        trace.writes += 1
        return
    target = place.op_value
    if isinstance(value, int | float | Scalar):
        if isinstance(place, Memory) and reduce is None:
            place.before_write()
            trace(FillOp(target, functions.scalar(value, place.dtype).value))
            trace.writes += 1
            return
        value = full(place.dtype, value, *place.shape)
    if not isinstance(value, Tile):
        raise BuildError(f"expected a tile or a number to store, found {value!r}")
    if value.dtype != place.dtype and value.dtype != index:
        raise BuildError(f"expected {place.dtype} to store, found {value.dtype}; .to({place.dtype}) converts")
    if value.shape != place.shape:
        shapes = ["x".join(map(str, each.shape)) for each in (place, value)]
        raise BuildError(f"expected a tile of {shapes[0]} to store, found {shapes[1]}")
    in_memory = isinstance(value, Memory) or (isinstance(value, View) and reduce is None)
    source = value.op_value if isinstance(value, View | Memory) and in_memory else value.ssa()
    if isinstance(place, Memory):
        place.before_write()
    kind = CopyOp if in_memory or _is_register(target) else StoreOp
    trace(kind(source, target, reduce=reduce))
    trace.writes += 1


def _is_register(value: SSAValue) -> bool:
    return TileType.of(value).memory in (MemorySpace.REGISTER, MemorySpace.ACCUMULATOR)


class Memory(Tile):
    """
    A tile in shared or tensor memory, in registers or an accumulator, that is written in place.

    `t[:] = x` copies or fills, `t += x @ y` adds a product, `t[0:16]` is a part. `t[ids] += x` adds to what tiles of
    indices name.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[16, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     staged = tx.shared(a[:, :])
    ...     print(staged, staged[0:8, :])
    ...     a[:, :] = staged
    >>> _ = kernel.module
    a tile f32[16, 64] in shared memory a tile f32[8, 64] in shared memory
    """

    def __init__(self, trace: Trace, value: SSAValue):
        type_ = TileType.of(value)
        super().__init__(trace, type_.dims, dtype_of(type_.element_type), value)
        self.op_value = value
        self.memory = type_.memory
        self._is_read = False
        self._loaded: tuple[int, Tile] | None = None

    def __repr__(self) -> str:
        return f"a tile {self.dtype}[{', '.join(map(str, self.shape))}] in {self.memory.place}"

    def read(self) -> Tile:
        if _is_register(self.op_value):
            self._is_read = True
            return self
        if self._loaded is None or self._loaded[0] != self.trace.writes or self._loaded[1].computed() is None:
            self._loaded = self.trace.writes, Tile.of(self.trace(LoadOp(self.op_value, self.type)).result)
        return self._loaded[1]

    def load(self, pad: Number | Scalar | None = None) -> Tile:
        if pad is not None:
            raise BuildError("expected a pad of a view of an array, found one of a tile, of which nothing is outside")
        if _is_register(self.op_value):
            return Tile.of(self.trace(LoadOp(self.op_value, self.type)).result)
        return self.read()

    def before_write(self) -> None:
        """Computes what has been read of it and not yet used."""
        if self._is_read:
            self.trace.flush()
            self._is_read = False

    def _same(self, value: SSAValue) -> Memory:
        return Memory(self.trace, value)

    def _part(self, starts: list[Any], extents: list[int], steps: list[int]) -> Tile:
        return self._same(super()._part(starts, extents, steps).ssa())

    def reshape(self, *shape: int) -> Memory:
        return Memory(self.trace, self.trace(ReshapeOp(self.op_value, shape)).result)

    def transpose(self, *order: int) -> Tile:
        if self.memory is MemorySpace.SHARED and order == (1, 0):
            return Transposed(self)
        return super().transpose(*order)

    def __getitem__(self, key: Any) -> Tile:
        parts = parts_of(key)
        if any(isinstance(part, Tile | Span) for part in parts):
            return view_of(self.trace, self.op_value, ArrayType(self.dtype, self.shape), key, None)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, View) and value.is_added:
            value.is_added = False
            return
        if (
            isinstance(value, Memory)
            and isinstance(part := value.op_value.owner, SubviewOp)
            and part.source is self.op_value
        ):
            return  # what `t[...] += product` assigns
        place = self[key]
        if place is not value:
            store(value, place)

    def __iadd__(self, value: Any) -> Any:
        if isinstance(value, Product):
            return self.accumulate(value)
        return self + value

    def accumulate(self, product: Product, **clauses: Any) -> Memory:
        """Adds a product, in place; clauses are those of `tirx.mma`."""
        self.before_write()
        self.trace(MmaOp(product.a, product.b, self.op_value, **{**product.clauses, **clauses}))
        self.trace.writes += 1
        return self


class Transposed(Tile):
    """The second operand of a product, `x @ y.T`, for y of N x K elements in shared memory."""

    def __init__(self, memory: Memory):
        super().__init__(memory.trace, memory.shape[::-1], memory.dtype, memory.op_value)
        self.memory_tile = memory

    @property
    def T(self) -> Tile:
        return self.memory_tile

    def read(self) -> Tile:
        return self.memory_tile.read().transpose(1, 0)


class Product(Tile):
    """`x @ y`, which is added to an accumulator by `+=`, or computed from zero on where it is used otherwise."""

    is_product = True

    def __init__(self, trace: Trace, a: SSAValue, b: SSAValue, **clauses: Any):
        first, second = TileType.of(a), TileType.of(b)
        kind = dtype_of(first.element_type)
        dtype = f64 if kind == f64 else f32 if kind.is_float else DTYPES["i32"]
        if first.dims[-1] != second.dims[-1]:
            shapes = ["x".join(map(str, each.dims)) for each in (first, second)]
            raise BuildError(
                f"expected x @ y.T of two tiles with one K, their last dimension, found {shapes[0]} and {shapes[1]}"
            )
        super().__init__(trace, (*first.dims[:-1], second.dims[-2]), dtype)
        self.a, self.b, self.clauses = a, b, clauses
        self._memory: Memory | None = None

    def read(self) -> Tile:
        """The product, from zero on."""
        if self._memory is None or not self.trace.sees(self._memory.op_value):
            self._memory = accumulator(self.dtype, self.shape)
            store(0, self._memory)
            self._memory.accumulate(self)
        return self._memory.read()

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def flush(self) -> None:
        pass

    def added_to(self, tile: Tile) -> Tile:
        """The product added to a tile of values."""
        if tile.is_constant:
            memory = accumulator(tile.dtype, self.shape)
            store(tile.constant, memory)
            return memory.accumulate(self)
        start = tile.ssa()
        op = MmaOp(self.a, self.b, start, result_type=start.type, **self.clauses)
        return Tile.of(self.trace(op).results[0])


def allocate(type_: TileType) -> Memory:
    """
    A tile in memory that is written later; it is there in the whole kernel.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.allocate(tx.f32[64, 64].tile("tensor")))
    >>> _ = kernel.module
    a tile f32[64, 64] in tensor memory
    """
    trace = current()
    op = trace.at_entry(AllocOp(type_))
    first = next((each for each in trace.entry.ops if isinstance(each, AllocOp) and _adds_up(each)), op)
    if not _adds_up(op) and first is not op:  # operands stand in front of accumulators, as people write them
        op.detach()
        trace.entry.insert_op_before(op, first)
    return Memory(trace, op.result)


def _adds_up(op: AllocOp) -> bool:
    return TileType.of(op.result).memory is MemorySpace.ACCUMULATOR


def accumulator(dtype: DType, shape: Sequence[int]) -> Memory:
    """
    A tile that products are added to: in tensor memory where the target has it for them, in registers elsewhere.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.accumulator(tx.f32, (64, 64)).shape)
    >>> _ = kernel.module
    (64, 64)
    """
    return allocate(TileType.get(shape, dtype.attribute, MemorySpace.ACCUMULATOR))


def shared(what: Tile | DType, *shape: int) -> Memory:
    """
    A tile in shared memory: a copy of another tile or a view, or zeros of an element type.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.shared(a[:, 0:32]), tx.shared(tx.f32, 16))
    >>> _ = kernel.module
    a tile f32[64, 32] in shared memory a tile f32[16] in shared memory
    """
    dtype = what if isinstance(what, DType) else what.dtype
    extents = shape if isinstance(what, DType) else what.shape
    memory = allocate(TileType.get(extents, dtype.attribute, MemorySpace.SHARED))
    store(0 if isinstance(what, DType) else what, memory)
    return memory


def _operand(tile: Any) -> SSAValue:
    if isinstance(tile, View):
        return shared(tile).op_value
    if isinstance(tile, Memory):
        return tile.op_value
    if isinstance(tile, Tile):
        return tile.ssa()
    raise BuildError(f"expected a tile as an operand of a product, found {tile!r}")


def _matmul(x: Tile, y: Any) -> Product:
    if isinstance(y, Transposed):
        second = y.memory_tile.op_value
    elif isinstance(y, View):
        second = _operand(y.T)
    elif isinstance(y, Memory) and y.memory is MemorySpace.SHARED:
        raise BuildError(
            "expected y of N x K elements as x @ y.T, found one of K x N in shared memory; "
            "tx.shared(view.T) stages it as N x K"
        )
    elif isinstance(y, Tile):
        second = y.T.ssa()
    else:
        raise BuildError(f"expected a tile behind @, found {y!r}")
    return Product(x.trace, _operand(x), second)


def _added(x: Tile, y: Tile) -> Tile:
    """The sum of two tiles, one of which is a product: that of `tirx.mma` where the other one is a value."""
    one, product = (x, y) if isinstance(y, Product) else (y, x)
    assert isinstance(product, Product)
    if isinstance(one, Product | Memory) or one.shape != product.shape or one.dtype != product.dtype:
        return LATE["tile"]("add", (x.read(), y.read()), {})
    return product.added_to(one.read())


LATE["matmul"] = _matmul
LATE["add product"] = _added
