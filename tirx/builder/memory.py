"""Tiles in memory, what is stored to them and to views, and the products that are added to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DTYPES, LATE, ArrayType, DType, dtype_of, f32, f64, index
from tirx.builder.scalars import Number, Scalar
from tirx.builder.spans import Span, as_index
from tirx.builder.tiles import Tile, extents_of, full, read_parts, slice_of
from tirx.builder.trace import BuildError, Trace, current, root
from tirx.builder.views import Part, View, is_updated, part_read_later, refused_update, view_of
from tirx.dialects import tirx


def store(value: Any, place: Tile, *, reduce: str | None = None) -> None:
    """Stores a tile, a number or a scalar at a place in memory; `reduce` combines it with what is there.

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
        trace.before_write(place.source)
        number = trace.typed(functions.scalar(given, place.dtype).value, place.dtype.attribute)
        trace(memref.StoreOp.get(number, place.source, where))
        trace.writes += 1
        return
    if isinstance(place, View) and any(isinstance(at, Tile) and at.has_zeros_outside for at in place.places):
        raise BuildError(
            "expected indices that name nothing where there are none, found those of a clipped view, which are 0 "
            "outside; .load(pad=-1) or tx.where gives them another number"
        )
    if isinstance(place, View) and place.is_element:
        place = place.as_tile()
    if isinstance(value, View) and value.is_element:
        value = value.read()
    if isinstance(value, int | float | Scalar):
        if isinstance(place, Memory) and reduce is None:
            trace.before_write(target := place.op_value)
            trace(tirx.FillOp(target, functions.scalar(value, place.dtype).value))
            trace.writes += 1
            return
        value = full(place.dtype, value, *place.shape)
    if isinstance(value, Product):
        value = value.read()
    if not isinstance(value, Tile):
        raise BuildError(f"expected a tile or a number to store, found {value!r}")
    if value.dtype != place.dtype and value.dtype != index:
        raise BuildError(f"expected {place.dtype} to store, found {value.dtype}; .to({place.dtype}) converts")
    if value.shape != place.shape:
        shapes = ["x".join(map(str, each.shape)) for each in (place, value)]
        raise BuildError(f"expected a tile of {shapes[0]} to store, found {shapes[1]}")
    in_memory = isinstance(value, Memory) or (isinstance(value, View) and reduce is None)
    if in_memory and isinstance(value, View):
        value.check_copy()
    source = value.op_value if isinstance(value, View | Memory) and in_memory else value.ssa()
    target = place.op_value  # the place behind the value, as in Python
    if in_memory and not _is_register(target) and root(source) is root(target):  # they may overlap
        source, in_memory = value.load().ssa(), False
    trace.before_write(target)
    kind = tirx.CopyOp if in_memory or _is_register(target) else tirx.StoreOp
    trace(kind(source, target, reduce=reduce))
    trace.writes += 1


def _is_register(value: SSAValue) -> bool:
    return tirx.TileType.of(value).memory in (tirx.MemorySpace.REGISTER, tirx.MemorySpace.ACCUMULATOR)


class Memory(Tile):
    """A tile in shared or tensor memory, in registers or an accumulator, that is written in place.

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
        type_ = tirx.TileType.of(value)
        super().__init__(trace, type_.dims, dtype_of(type_.element_type), value)
        self.op_value = value
        self.memory = type_.memory
        self.is_value = False
        """True for what began as a tile of one number: a second name for it has a tile of its own."""
        self._loaded: tuple[int, Tile] | None = None
        self.reads = {root(value)} if _is_register(value) else set()

    def __repr__(self) -> str:
        return f"a tile {self.dtype}[{', '.join(map(str, self.shape))}] in {self.memory.place}"

    @property
    def lies_in(self) -> set[SSAValue]:
        return {root(self.op_value)} if self.memory is tirx.MemorySpace.SHARED or self.updates is not None else set()

    def read(self) -> Tile:
        if _is_register(self.op_value):
            return self
        if self._loaded is None or self._loaded[0] != self.trace.writes or self._loaded[1].computed() is None:
            self._loaded = self.trace.writes, Tile.of(self.trace(tirx.LoadOp(self.op_value, self.type)).result)
        return self._loaded[1]

    def load(self, pad: Number | Scalar | None = None) -> Tile:
        if pad is not None:
            raise BuildError("expected a pad of a view of an array, found one of a tile, of which nothing is outside")
        if _is_register(self.op_value):
            return Tile.of(self.trace(tirx.LoadOp(self.op_value, self.type)).result)
        return self.read()

    def _same(self, value: SSAValue) -> Memory:
        return Memory(self.trace, value)

    def _part(self, starts: list[Any], extents: list[int], steps: list[int]) -> Tile:
        return self._same(super()._part(starts, extents, steps).ssa())

    def reshape(self, *shape: int) -> Memory:
        return Memory(self.trace, self.trace(tirx.ReshapeOp(self.op_value, self._reshaped_to(shape))).result)

    def transpose(self, *order: int) -> Tile:
        if self.memory is tirx.MemorySpace.SHARED and order == (1, 0):
            return Transposed(self)
        if not _is_register(self.op_value):
            self._check_order(order)
            return Part(self, lambda tile: tile.transpose(*order))
        return super().transpose(*order)

    def _at(self, key: Any) -> Tile:
        parts = read_parts(key)
        if not _is_register(self.op_value) and any(isinstance(part, Tile | Span) for part in parts):
            return view_of(self.trace, self.op_value, ArrayType(self.dtype, self.shape), key, None)
        return super().__getitem__(key)

    def __getitem__(self, key: Any) -> Tile:
        found = self._at(key)
        if isinstance(found, View):
            return found.part_of(self.op_value, key)
        if found is not self and isinstance(found, Tile):  # pyright: ignore[reportUnnecessaryIsInstance]
            found.updates = self.op_value, key
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = read_parts(key)
        if len(parts) == len(self.shape) and all(isinstance(each, int | Scalar) for each in parts):
            starts = [slice_of(each, extent)[0] for each, extent in zip(parts, self.shape, strict=True)]
            value = value.read() if isinstance(value, View) else value
            store(value, self[tuple(slice(start, start + 1) for start in starts)])
        elif not is_updated(value, self.op_value, key) and (place := self._at(key)) is not value:
            store(value, place)

    def __iadd__(self, value: Any) -> Any:
        """Adds in place what other names see, too: to shared memory, and to a part of anything in memory."""
        if isinstance(value, Product) and self.memory is not tirx.MemorySpace.SHARED:
            return self.accumulate(value)
        if self.lies_in:
            store(self + value, self)
            return self
        return self + value

    def _updated(self, name: str, other: Any) -> Any:
        return self._in_place(name, other) if self.lies_in else NotImplemented

    def accumulate(self, product: Tile, **clauses: Any) -> Memory:
        """Adds a product, in place; clauses are those of `tirx.mma`, such as `scale_a=fa` and `saturate=True`."""
        if not isinstance(product, Product):
            raise BuildError(f"expected a product x @ y.T to add, found {product!r}; t[:] = t + x adds another tile")
        self.trace.before_write(self.op_value)
        LATE["operation"]("tirx.mma", product.a, product.b, self, **clauses)
        return self


class Transposed(Tile):
    """A tile in shared memory with its dimensions exchanged, such as the second operand of `x @ y.T`."""

    def __init__(self, memory: Memory):
        super().__init__(memory.trace, memory.shape[::-1], memory.dtype)
        self.memory_tile = memory

    @property
    def T(self) -> Tile:
        return self.memory_tile

    @property
    def lies_in(self) -> set[SSAValue]:
        return self.memory_tile.lies_in

    def read(self) -> Tile:
        return self.memory_tile.read().transpose(1, 0)

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def __getitem__(self, key: Any) -> Any:
        return part_read_later(self, key)

    def _updated(self, name: str, other: Any) -> Any:
        raise refused_update(self)


class Product(Tile):
    """`x @ y`, which is added to an accumulator by `+=`, or computed from zero on where it is used otherwise."""

    is_product = True

    def __init__(self, trace: Trace, a: SSAValue, b: SSAValue):
        first, second = tirx.TileType.of(a), tirx.TileType.of(b)
        kind = dtype_of(first.element_type)
        dtype = f64 if kind == f64 else f32 if kind.is_float else DTYPES["i32"]
        if first.dims[-1] != second.dims[-1]:
            shapes = ["x".join(map(str, each.dims)) for each in (first, second)]
            raise BuildError(
                f"expected x @ y.T of two tiles with one K, their last dimension, found {shapes[0]} and {shapes[1]}"
            )
        super().__init__(trace, (*first.dims[:-1], second.dims[-2]), dtype)
        self.a, self.b = a, b
        self._memory: Memory | None = None
        self.reads = {root(each) for each in (a, b) if tirx.TileType.of(each).memory is not tirx.MemorySpace.REGISTER}
        trace.pending[self.number] = self

    def read(self) -> Tile:
        """The product, from zero on."""
        if self._memory is None:
            self.trace.pending.pop(self.number, None)
            self._memory = accumulator(self.dtype, self.shape)
            store(0, self._memory)
            self._memory.accumulate(self)
        return self._memory.read()

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def flush(self) -> None:
        self.read()

    def added_to(self, tile: Tile) -> Tile:
        """The product added to a tile of values."""
        if tile.is_constant:
            memory = accumulator(tile.dtype, self.shape)
            memory.is_value = True
            store(tile.constant, memory)
            return memory.accumulate(self)
        start = tile.ssa()
        op = tirx.MmaOp(self.a, self.b, start, result_type=start.type)
        return Tile.of(self.trace(op).results[0])


def allocate(type_: tirx.TileType) -> Memory:
    """A tile in memory that is written later; it is there in the whole kernel.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.allocate(tx.f32[64, 64].tile("tensor")))
    >>> _ = kernel.module
    a tile f32[64, 64] in tensor memory
    """
    trace = current()
    if not isinstance(type_, tirx.TileType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BuildError(f"expected the type of a tile in a memory, such as f32[64, 64].shared, found {type_!r}")
    op = trace.at_entry(tirx.AllocOp(type_))
    first = next((each for each in trace.entry.ops if isinstance(each, tirx.AllocOp) and _adds_up(each)), op)
    if not _adds_up(op) and first is not op:  # operands stand in front of accumulators, as people write them
        op.detach()
        trace.entry.insert_op_before(op, first)
    return Memory(trace, op.result)


def _adds_up(op: tirx.AllocOp) -> bool:
    return tirx.TileType.of(op.result).memory is tirx.MemorySpace.ACCUMULATOR


def accumulator(dtype: DType, shape: Sequence[int]) -> Memory:
    """A tile that products are added to: in tensor memory where the target has it for them, in registers elsewhere.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.accumulator(tx.f32, (64, 64)).shape)
    >>> _ = kernel.module
    (64, 64)
    """
    return allocate(tirx.TileType.get(shape, dtype.attribute, tirx.MemorySpace.ACCUMULATOR))


def shared(what: Tile | DType, *shape: int) -> Memory:
    """A tile in shared memory: a copy of another tile or a view, or zeros of an element type.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.shared(a[:, 0:32]), tx.shared(tx.f32, 16))
    >>> _ = kernel.module
    a tile f32[64, 32] in shared memory a tile f32[16] in shared memory
    """
    if not isinstance(what, Tile | DType) or (shape and isinstance(what, Tile)):  # pyright: ignore[reportUnnecessaryIsInstance]
        found = what if not shape else f"{what!r} with extents"
        raise BuildError(f"expected a tile, a view such as a[m, k], or an element type and extents, found {found}")
    dtype = what if isinstance(what, DType) else what.dtype
    extents = extents_of(shape) if isinstance(what, DType) else what.shape
    memory = allocate(tirx.TileType.get(extents, dtype.attribute, tirx.MemorySpace.SHARED))
    store(0 if isinstance(what, DType) else what, memory)
    return memory


def _operand(tile: Any) -> SSAValue:
    if isinstance(tile, View):
        return shared(tile).op_value
    if isinstance(tile, Transposed):
        return _turned(tile.memory_tile)
    if isinstance(tile, Memory):
        return tile.op_value
    if isinstance(tile, Tile):
        return tile.ssa()
    raise BuildError(f"expected a tile as an operand of a product, found {tile!r}")


def _turned(tile: Memory) -> SSAValue:
    """The same memory with its dimensions exchanged."""
    type_ = tirx.TileType.get(tile.shape[::-1], tile.dtype.attribute, tirx.MemorySpace.SHARED)
    return tile.trace(tirx.TransposeOp(tile.op_value, (1, 0), type_)).result


def _matmul(x: Tile, y: Any) -> Product:
    if not (isinstance(y, Tile) and len(x.shape) == len(y.shape) > 1):
        raise BuildError(f"expected matrices as operands of a product, found {x!r} and {y!r}")
    if isinstance(y, Transposed):
        second = y.memory_tile.op_value
    elif isinstance(y, View):
        second = _operand(y.T)
    elif isinstance(y, Memory) and y.memory is tirx.MemorySpace.SHARED:
        second = _turned(y)
    else:
        second = y.T.ssa()
    return Product(x.trace, _operand(x), second)


def _added(x: Tile, y: Tile) -> Tile:
    """The sum of two tiles, one of which is a product: that of `tirx.mma` where the other one is a value."""
    one, product = (x, y) if isinstance(y, Product) else (y, x)
    assert isinstance(product, Product)
    if isinstance(one, Product | Memory) or one.shape != product.shape or one.dtype != product.dtype:
        return LATE["tile"]("add", (x.read(), y.read()), {})
    return product.added_to(one.read())


LATE["store"] = store
LATE["matmul"] = _matmul
LATE["add product"] = _added
