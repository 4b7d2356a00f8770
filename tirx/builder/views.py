"""Arrays in global memory, and views: parts of them or of shared tiles, which are read where they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DTYPES, LATE, ArrayType, DType, index
from tirx.builder.scalars import Elements, Number, Scalar
from tirx.builder.spans import Span, as_index
from tirx.builder.tiles import Tile, common_shape, index_of, parts_of, slice_of
from tirx.builder.trace import BuildError, NeedsExtent, Trace, Unusable, name_value, python_location, root
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call
from tirx.dialects.tirx import LoadOp, MemorySpace, ReshapeOp, TileType, ViewOp
from tirx.passes.ir.index_analysis import index_range

Place = Any
"""What stands in brackets behind an array: a span, an index, a slice or a tile of indices."""


class Array:
    """An argument of a kernel in global memory: `a[m, k]` is a view of it, `a[m, k] = tile` stores, `+=` adds there.

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

    def __init__(self, trace: Trace, value: SSAValue, type_: ArrayType, number: int | None):
        self.trace = trace
        self.value = value
        self.type = type_
        self.number = number
        """Its place among the arguments of the kernel; None for the result of an operation."""

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
            formula = None if self.number is None else Call("size", (self.number, dim))
            self.trace.kept[key] = Scalar(self.trace, value, index, natural=True, formula=formula)
        return self.trace.kept[key]

    def __getitem__(self, key: Place) -> View:
        return view_of(self.trace, self.value, self.type, key, self).part_of(self.value, key)

    def __iter__(self) -> NoReturn:
        raise BuildError("expected a view of an array such as a[m, k], found a Python loop over it; tx.range counts")

    def __len__(self) -> int:
        extent = self.shape[0]
        return extent if isinstance(extent, int) else extent.__index__()

    def __setitem__(self, key: Place, value: Any) -> None:
        if not is_updated(value, self.value, key):
            LATE["store"](value, view_of(self.trace, self.value, self.type, key, self))


class Added(Unusable):
    """The value that `a[ids] += x` assigns to `a[ids]`; nobody has it elsewhere."""

    def __init__(self, *updates: Any):
        super().__init__(
            "expected a[ids] += x, which adds to what tiles of indices name, found += of a name: it has a copy in numpy"
        )
        object.__setattr__(self, "updates", updates)

    def __repr__(self) -> str:
        return "a copy, as numpy's, that += has added to; a[ids] += x adds to the array"


def is_updated(value: Any, source: SSAValue, key: Place) -> bool:
    """Returns True for what `source[key] += x` assigns: the part itself, which has been added to, or is now."""
    updates = value.updates if isinstance(value, Tile | Scalar | Added) else None
    if updates is None or updates[0] is not source or (isinstance(value, View) and value.is_copy):
        return False
    parts, others = parts_of(key), parts_of(updates[1])
    if len(parts) != len(others) or not all(map(_is_same_place, parts, others)):
        return False
    if len(updates) > 2:
        _, _, view, addend, writes = updates
        if writes != view.trace.writes:
            return False
        LATE["store"](addend, view, reduce="add")
    return True


def _is_same_place(a: Any, b: Any) -> bool:
    if isinstance(a, slice) and isinstance(b, slice):
        first, second = cast(Any, a), cast(Any, b)
        return first.start is second.start and first.stop is second.stop and first.step is second.step
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def _indices(place: Any) -> Any:
    """The value of a place, read if it is in memory: the outside of a view of indices names nothing."""
    if not isinstance(place, View):
        return place
    return place.read() if place.is_element or not place.dtype.is_signed else place.load(pad=-1)


def _places(key: Place, rank: int) -> list[Any]:
    parts = parts_of(key)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = parts[at + 1 :]
    missing = rank - at - len(rest)
    if missing < 0:
        raise BuildError(f"expected at most {rank} places, found {len(parts)}")
    found = [*parts[:at], *[slice(None)] * missing, *rest]
    return [_indices(each) for each in found]


def view_of(trace: Trace, source: SSAValue, type_: ArrayType, key: Place, array: Array | None) -> View:
    """The view of an array, or of a tile in shared memory, at these places."""
    places = _places(key, len(type_.shape))
    spans: list[Span | Scalar | Tile] = []
    for place, extent in zip(places, type_.shape, strict=True):
        if isinstance(place, slice):
            if extent is None and cast(Any, place).stop is None and trace.specialises:
                assert array is not None
                if array.number is not None:
                    raise NeedsExtent(array.number, len(spans))
            start, size, step = slice_of(place, extent)
            if step < 1:
                raise BuildError(f"expected a positive step of a view, found {step}; .load()[::-1] turns a tile around")
            spans.append(Span(as_index(start), size, step=step))
        elif isinstance(place, Span | Tile):
            spans.append(place)
        elif isinstance(place, int | Scalar) and not isinstance(place, bool):
            if extent is None and type(place) is int and place < 0:
                assert array is not None
                place = array.extent(len(spans)) + place
            spans.append(as_index(index_of(place, extent)))
        else:
            raise BuildError(
                f"expected a span, an index, a slice or a tile of indices, found {place!r}; tx.tile makes a span"
            )
    return View(trace, source, type_, spans, array=array)


def _gathered(tile: Tile, key: Place) -> Tile:
    """The elements of a value that tiles of indices name; those outside are 0."""
    source = tile.read().ssa()
    return Tile.of(view_of(tile.trace, source, ArrayType(tile.dtype, tile.shape), key, None).op_value)


LATE["gather"] = _gathered


class _Together(NamedTuple):
    """Places of a view, dimensions of the source that its own are (None: of none), and its shape."""

    places: list[Span | Scalar | Tile]
    dims: list[int | None]
    shape: list[int]
    full: frozenset[int]
    """Places of tiles of indices that have the view's rank."""


def _together(places: Sequence[Span | Scalar | Tile]) -> _Together:
    """The view at these places. Several tiles of indices of rank 1 go along one dimension, as those of numpy do."""
    found, own = [*places], [d for d, place in enumerate(places) if not isinstance(place, Scalar)]
    tiles = {d: place for d, place in enumerate(places) if isinstance(place, Tile)}
    vectors = {d: place for d, place in tiles.items() if len(place.shape) == 1}
    if len(vectors) > 1:
        _check_vectors(tiles, vectors, own)
        first = min(vectors)
        own = [d for d in own if d == first or d not in vectors]
        at = [0 if d == first else None for d in own]
        full = {d: place.expand(at) for d, place in vectors.items()}
        for d, place in full.items():
            found[d] = place
    else:
        full = {d: place for d, place in tiles.items() if d not in vectors}
    if not full:
        extents = [each.extent if isinstance(each := places[d], Span) else cast(Tile, each).shape[0] for d in own]
        return _Together(found, [*own], extents, frozenset())
    shape = list(common_shape("indices", [*full.values()]))
    others = [d for d in own if d in full][1:]  # those of one dimension with another one
    own = [d for d in own if d not in others[len(others) - max(0, len(own) - len(shape)) :]]
    if len(own) > len(shape):
        raise BuildError(f"expected tiles of indices of the view's rank, {len(own)}, found {len(shape)}")
    moving = [*[None] * (len(shape) - len(own)), *own]
    for t, d in enumerate(moving):
        if d is not None and d not in full:
            shape[t] = place.extent if isinstance(place := found[d], Span) else cast(Tile, place).shape[0]
    return _Together(found, moving, shape, frozenset(full))


def _check_vectors(tiles: dict[int, Tile], vectors: dict[int, Tile], own: list[int]) -> None:
    """Raises BuildError for tiles of indices that do not name one element, or part, after the other together."""
    extents = list(dict.fromkeys(each.shape[0] for each in vectors.values()))
    if len(extents) > 1:
        raise BuildError(f"expected tiles of indices of one extent, found {extents[0]} and {extents[1]}")
    if len(tiles) > len(vectors):
        raise BuildError("expected tiles of indices of one rank, found several; [:, None] gives them another one")
    if any(d not in vectors for d in own if min(vectors) < d < max(vectors)):
        raise BuildError("expected tiles of indices behind each other, found a span between them")


class View(Tile):
    """A part of an array, or of a tile in shared memory, at places: it is read where it is used, as a view of numpy.

    An element, and what tiles of indices name, are copies in numpy: the element is read before anybody writes to
    memory, and the other is an error if it is read behind that. `.load(pad=...)` reads it, with another
    number than 0 for what is outside; `.T` has its dimensions exchanged.

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
        shape: Sequence[int] = (),
        full: frozenset[int] = frozenset(),
    ):
        self.source = source
        self.array_type = type_
        self.places = list(places)
        self.array = array
        self._loaded: tuple[int, Any] | None = None
        self._kept: Scalar | None = None
        """An element that was read before memory was written."""
        self._since = trace.writes
        if dims is None:
            found = _together(self.places)
            self.places, self.dims, shape, self._full = found.places, found.dims, found.shape, found.full
        else:
            self.dims, self._full = dims, full
        super().__init__(trace, shape, type_.dtype)
        self._op: SSAValue | None = None
        self._reshaped: View | None = None
        """The view of which this one has the elements in another shape."""

    @property
    def op_value(self) -> SSAValue:
        """The view in the IR."""
        if self._op is None or not self.trace.sees(self._op):
            whole = self._reshaped
            op = self._view() if whole is None else ReshapeOp(whole.op_value, self.shape)
            self._op = self.trace(op).results[0]
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
            start, last = (place, 0) if isinstance(place, Scalar) else (place.start, (place.extent - 1) * place.step)
            where.append(start.value)
            known = index_range(start.value)
            inside = extent is not None and known.least >= 0 and known.greatest + last < extent
            is_inside &= inside or (isinstance(place, Scalar) and extent is None)
            if isinstance(place, Span) and (size := self._size(place, d)) is not None:
                sizes[d] = size.value
        rank, moving = len(self.places), self.dims
        dims = None if moving == list(range(rank - len(moving), rank)) else [-1 if d is None else d for d in moving]
        steps = [place.step if isinstance(place, Span) else 1 for place in self.places]
        memory = MemorySpace.GLOBAL if self.array is not None else TileType.of(self.source).memory
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
        number = None if self.array is None else self.array.number
        if limit is not None and limit.formula is not None and number is not None:
            if isinstance(limit.formula, int):
                if limit.formula == extent:
                    return None
            elif limit.formula.function == "size":
                argument, of = cast("tuple[int, int]", limit.formula.operands)
                if (argument, of) != (number, dim):
                    self.trace.requires[(argument, of), (number, dim)] = None
                return None
        return span.size

    @property
    def is_clipped(self) -> bool:
        """Returns True for a view with places that may be outside."""
        op = (self if self._reshaped is None else self._reshaped).op_value.owner
        return isinstance(op, ViewOp) and op.clipped is not None

    @property
    def is_element(self) -> bool:
        """Returns True for a single element, which is a scalar."""
        return not self.shape

    @property
    def is_copy(self) -> bool:
        """Returns True for what numpy copies: an element, and what tiles of indices name."""
        return self.is_element or any(isinstance(place, Tile) for place in self.places)

    @property
    def lies_in(self) -> set[SSAValue]:
        return set() if self.is_copy else {root(self.source)}

    def part_of(self, whole: SSAValue, key: Place) -> View:
        """The view as what stands in brackets behind the whole."""
        self.updates = whole, key
        if self.is_element:
            self.reads = {root(whole)}
            self._location = self.trace.location or python_location()
            self.trace.pending[self.number] = self
        return self

    def check_copy(self) -> None:
        """Raises BuildError where what tiles of indices name is read behind a write to it."""
        if not self.is_element and self.is_copy:
            self.trace.copies.append((root(self.source), self._since))
            self.trace.check_copies(self.trace.copies[-1:], self._since + 1)

    def flush(self) -> None:
        """Reads an element, before memory is written. Nobody has one of a branch that has ended."""
        if not all(self.trace.sees(as_index(place).value) for place in self.places):
            return
        self.trace.location, before = self._location, self.trace.location
        self._kept = self.load()
        self.trace.location = before
        self.trace.pending.pop(self.number, None)

    def as_tile(self) -> View:
        """The element as a tile of one."""
        spans = [Span(as_index(each), 1) for each in self.places]
        return View(self.trace, self.source, self.array_type, spans, array=self.array)

    def read(self) -> Any:
        """The tile in registers, or the scalar, as it is in memory now."""
        return self.load()

    def load(self, pad: Number | Elements | None = None) -> Any:
        """The tile in registers, or the scalar; `pad` stands for what is outside of the array (0)."""
        trace = self.trace
        if self._kept is not None:
            return self._kept
        self.check_copy()
        if pad is None and self._loaded is not None and self._loaded[0] == trace.writes:
            found = self._loaded[1]
            if trace.sees(found.value) if isinstance(found, Scalar) else found.computed() is not None:
                return found
        if self.is_element:
            where = [as_index(place).value for place in self.places]
            value = trace(memref.LoadOp.get(self.source, where)).res
            found = Scalar(trace, trace.typed(value, self.dtype.scalar), self.dtype)
        else:
            padding = None if pad is None else functions.scalar(pad, self.dtype).value
            found = Tile.of(trace(LoadOp(self.op_value, self.type, pad=padding)).result)
            name_value(found.ssa(), self._name)
            found.has_zeros_outside = pad is None and self.is_clipped
        if pad is None:
            self._loaded = (trace.writes, found)
        return found

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def to(self, dtype: DType) -> Any:
        return functions.apply("cast", self, dtype)

    def transpose(self, *order: int) -> Any:
        self._check_order(order)
        if self._reshaped is not None:
            return Part(self, lambda tile: tile.transpose(*order))
        return self._with_dims(order, lambda tile: tile.transpose(*order))

    def expand(self, dims: Sequence[int | None]) -> View:
        if self._reshaped is not None:
            return self.reshape(*(1 if d is None else self.shape[d] for d in dims))
        return self._with_dims(dims, lambda tile: tile.expand(dims))

    def _with_dims(self, own: Sequence[int | None], change: Callable[[Tile], Tile]) -> View:
        """The view with these of its dimensions, None for one of extent 1; `change` does so to tiles of indices."""
        places = [change(cast(Tile, p)) if d in self._full else p for d, p in enumerate(self.places)]
        dims = [None if d is None else self.dims[d] for d in own]
        shape = [1 if d is None else self.shape[d] for d in own]
        return View(self.trace, self.source, self.array_type, places, dims, self.array, shape, self._full)

    def __getitem__(self, key: Any) -> Tile:
        parts = parts_of(key)
        if all(part is None or part == slice(None) for part in parts) and None in parts:
            own = iter(range(len(self.shape)))
            given = [None if part is None else next(own) for part in parts]
            return self.expand([*given, *own])
        return part_read_later(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if any(part != slice(None) for part in parts_of(key)):
            raise BuildError(
                f"expected a[m, k] = x of the array, or v[:] = x of a whole view, found a part of {self!r}"
            )
        if value is not self:
            LATE["store"](value, self)

    def reshape(self, *shape: int) -> View:
        """The same elements in row-major order, in another shape."""
        own, made = [*self.dims], self._reshaped_to(shape)
        found = View(self.trace, self.source, self.array_type, self.places, own, self.array, made, self._full)
        found._reshaped = self
        return found

    def __iadd__(self, value: Any) -> Any:
        if self.is_copy:
            if self.updates is None or not self.is_element:
                return Added(*(self.updates or (None, None)), self, value, self.trace.writes)
            found = self.read() + value
            found.updates = (*self.updates, self, value, self.trace.writes)
            return found
        LATE["store"](value, self, reduce="add")
        return self

    def _updated(self, name: str, other: Any) -> Any:
        return NotImplemented if self.is_copy else self._in_place(name, other)


class Part(Tile):
    """A part of a view, or a view turned, that is read where it is used, too."""

    def __init__(self, view: Tile, part: Callable[[Tile], Any]):
        self._view, self._of = view, part
        self._read: Any = part(view.read())
        self._at = view.trace.writes
        like: Any = self._read
        super().__init__(view.trace, getattr(like, "shape", ()), like.dtype)
        self.has_zeros_outside = view.read().has_zeros_outside

    @property
    def lies_in(self) -> set[SSAValue]:
        return self._view.lies_in

    def read(self) -> Any:
        if self._at != self.trace.writes or (isinstance(self._read, Tile) and self._read.computed() is None):
            self._at, self._read = self.trace.writes, self._of(self._view.read())
            self._read.named(self._name)
        return self._read

    def ssa(self) -> SSAValue:
        return self.read().ssa()

    def named(self, name: str) -> None:
        super().named(name)
        self._read.named(name)

    def __getitem__(self, key: Any) -> Any:
        return part_read_later(self, key)

    def transpose(self, *order: int) -> Tile:
        return Part(self, lambda tile: tile.transpose(*order))

    def __iadd__(self, value: Any) -> Any:
        return self._updated("add", value)

    def _updated(self, name: str, other: Any) -> Any:
        if not self.lies_in:
            return NotImplemented
        raise refused_update(self)


def part_read_later(view: Tile, key: Any) -> Any:
    """A part of a view by what stands in brackets behind it: a tile that is read where it is used, or an element."""
    found = Part(view, lambda tile: tile[key])
    return found if isinstance(found.read(), Tile) else found.read()


def refused_update(tile: Tile) -> BuildError:
    """Returns the error for an update in place of a part of a view, or of a view turned."""
    return BuildError(
        f"expected a[m, k] += x of the array, or v += x of a view, found an update of a part of one: {tile!r}"
    )
