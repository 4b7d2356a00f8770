"""Places: where tiles lie in global memory, as boxes, at steps, or by tiles of indices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import base, operand_def, opt_prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition, item
from tirx.dialects.syntax import AnyOrder, Clause, Form, Shown, parse_attributes, parse_integer, write, write_types
from tirx.dialects.tirx.attributes import MemorySpace, TileType, shape_text
from tirx.dialects.tirx.index_text import parse_index
from tirx.dialects.tirx.ops import AllocOp
from tirx.dialects.xdsl_private import operands_of
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.rules import ElementTypeError, TileMemoryError, ViewError, ViewLayoutError
from tirx.values import dataclass


def strides_problem(type_: MemRefType[Attribute]) -> str | None:
    """Why tiles of a memref have no layout, or None where they do."""
    strides = type_.get_strides()
    if strides is None or len(strides) != type_.get_num_dims():
        return f"expected a memref with a strided layout of its rank, found {type_}"
    if isinstance(type_.layout, StridedLayoutAttr) and type_.layout.get_offset() != 0:
        return f"expected a memref that starts at its pointer, without an offset, found {type_}"
    if any(stride is None for stride in strides):
        return f"expected static strides for a layout (only the outermost extent may be dynamic), found {type_}"
    if any(stride < 0 for stride in strides if stride is not None):
        return f"expected strides of 0 or more, found {type_}"
    return None


def strided_layout(type_: MemRefType[Attribute], shape: Sequence[int]) -> TileLayout | str:
    """The layout (axis `m`, elements) of a tile of `shape` in a memref, or why there is none.

    A tile of lower rank than the memref covers the trailing dimensions.
    """
    if (problem := strides_problem(type_)) is not None:
        return problem
    strides = type_.get_strides() or ()
    return TileLayout(Iter(n, s or 0, "m") for n, s in zip(shape, strides[len(strides) - len(shape) :], strict=True))


def has_run_time_strides(type_: MemRefType[Attribute]) -> bool:
    """Returns True for a memref that starts at its pointer, with strides of which some are known at the launch only."""
    strides = type_.get_strides()
    if isinstance(type_.layout, StridedLayoutAttr) and type_.layout.get_offset() != 0:
        return False
    return strides is not None and None in strides and len(strides) == type_.get_num_dims()


def memory_problem(type_: MemRefType[Attribute]) -> str | None:
    """Why no tile of global memory is a view of a memref, or None where tiles of its elements are."""
    if not isinstance(type_.memory_space, NoneAttr):
        return f"expected a memref in global memory, without a memory space, found {type_}"
    return None if has_run_time_strides(type_) else strides_problem(type_)


def tile_strides(type_: TileType) -> list[int] | None:
    """Returns the strides of a tile in memory that begins at its address, as `layout_strides` does."""
    layout = type_.layout
    return None if isinstance(layout, TileLayout) and layout.offsets else layout_strides(layout, type_.dims)


def layout_strides(layout: TileLayout | ComposeLayout | None, dims: Sequence[int]) -> list[int] | None:
    """Elements from one position to the next along each dimension in memory; None where there are others."""
    if not isinstance(layout, TileLayout) or layout.replica:
        return None
    try:
        grouped, starts = layout.group(dims)
    except LayoutError:
        return None
    found = [[it for it in grouped.shard[a:b] if it.extent > 1] for a, b in pairwise((*starts, len(grouped.shard)))]
    if any(len(iters) > 1 or any(it.axis != "m" for it in iters) for iters in found[: len(dims)]):
        return None
    return [iters[0].stride if iters else 1 for iters in found[: len(dims)]]


@dataclass(frozen=True)
class Place:
    """The place of a view along one dimension of its memref.

    `index` is where it begins, or an index tile: a register tile with the coordinate of every element, or of all
    elements at one position along `of_tile`. `of_tile` is the dimension of the tile, None for one that the tile does
    not have; `extent` are its positions and `step` the elements from one to the next. Positions from `size` on are
    outside of a clipped view.
    """

    index: SSAValue
    of_tile: int | None
    extent: int
    step: int
    size: SSAValue | None

    @property
    def is_plain(self) -> bool:
        """Returns True unless coordinates come from an index tile."""
        return not isinstance(self.index.type, TileType)

    @property
    def span(self) -> int:
        """The elements from the first to the last position, both included, of a plain place."""
        return (self.extent - 1) * self.step + 1


_NO_DIMENSION = -1
"""Stands for a dimension of the tile that the memref does not have."""


@irdl_op_definition
class ViewOp(DirectOperation):
    """`%t = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>`

    The tile of global memory whose first element is `%a[%m, %k]`. A tile of lower rank than the memref
    covers its trailing dimensions. The layout of the tile is given by the strides of the memref, which count elements;
    4-bit and 6-bit elements are packed, without padding, the first one in the low bits. With strides that are known at
    the launch only the tile has no layout.

    `dims(1, _)` says which dimension of the memref each dimension of the tile is; `_` is one of extent 1 that the
    memref does not have. `steps [1, 2]` are the elements from one position to the next along each dimension of the
    memref. In brackets, `%a[[%rows], %k]`, stands an index tile, a register value of i32 or i64: one of rank 1 has the
    coordinate of each position along its dimension, one of the tile's rank (extents of 1 repeat) that of each element.
    Copies from such a view gather, copies to it scatter. A tile in shared memory, in row-major order, has such views
    too, for loads, stores and copies: `%t = tirx.view %counts[[%bin]] : !counts, !bins -> !elements`. Of a register
    tile such a view is another one, with the elements that the indices name.

    With `clipped` the tile may reach beyond the memref: what is read there is zero, what is written is dropped.
    `clipped to [%n, *]` says how many positions along each dimension there are; none if it is 0 or less. Bulk
    tensor copies store no tile that begins before the memref. `clipped begins_inside` says that this one begins at 0 or
    later in every dimension. Without it, and where indices do not show it, threads store the tile, and the thread that
    starts a bulk store which is written traps where that is not so.
    """

    name = "tirx.view"

    source = operand_def(base(MemRefType) | base(TileType))
    where = var_operand_def(base(IndexType) | base(TileType))
    dims = opt_prop_def(ArrayAttr[IntegerAttr[I32]])
    steps = opt_prop_def(ArrayAttr[IntegerAttr[I32]])
    sized = opt_prop_def(ArrayAttr[IntegerAttr[I32]])
    clipped = opt_prop_def(UnitAttr)
    begins_inside = opt_prop_def(UnitAttr)
    result = result_def(TileType)

    traits = traits_def(Pure())

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The index, or index tile, along each dimension of the memref."""
        sized, operands = self.sized, operands_of(self)
        return item(operands, slice(1, None if sized is None else len(operands) - len(sized.data)))

    @property
    def sizes(self) -> Sequence[SSAValue]:
        """The sizes along the dimensions `sized` of the memref."""
        sized, operands = self.sized, operands_of(self)
        return () if sized is None else item(operands, slice(len(operands) - len(sized.data), None))

    @property
    def source_type(self) -> MemRefType[Attribute]:
        """The type of the memref, or that of a memref with the places of a shared tile, in row-major order at first."""
        if self.is_global:
            return cast("MemRefType[Attribute]", self.source.type)
        tile = TileType.of(self.source)
        strides = tile_strides(tile)
        layout = NoneAttr() if strides is None else StridedLayoutAttr(strides)
        return MemRefType(tile.element_type, tile.dims, layout)

    @property
    def is_global(self) -> bool:
        """Returns True for a view of a memref, False for one of a tile in shared memory."""
        return isinstance(self.source.type, MemRefType)

    @property
    def joins_rings(self) -> bool:
        """Returns True unless threads see a shared tile through the view, or hold indices of it."""
        return self.is_global and not self.index_tiles

    @property
    def of_memref(self) -> tuple[int | None, ...]:
        """For each dimension of the tile that of the memref which it is, None for one that the memref does not have."""
        return self._of_memref(len(self.indices))

    def _of_memref(self, rank: int) -> tuple[int | None, ...]:
        if self.dims is not None:
            return tuple(None if n.value.data == _NO_DIMENSION else n.value.data for n in self.dims)
        first = rank - len(self.result.type.shape.data)
        return (None,) * -first + tuple(range(max(first, 0), rank))

    @property
    def places(self) -> tuple[Place, ...]:
        """The places along the dimensions of the memref, in order."""
        indices = self.indices
        of_tile = {d: t for t, d in enumerate(self._of_memref(len(indices)))}
        extents = cast("tuple[int, ...]", self.result.type.extents)  # but for the printer, parameters are bound
        sizes = {n.value.data: size for n, size in zip(self.sized or (), self.sizes, strict=True)}
        steps = [n.value.data for n in self.steps or ()] or [1] * len(indices)
        return tuple(
            [
                Place(index, t := of_tile.get(d), 1 if t is None else extents[t], step, sizes.get(d))
                for d, (index, step) in enumerate(zip(indices, steps, strict=True))
            ]
        )

    def step(self, dimension: int) -> int:
        """Returns the elements from one position to the next along a dimension of the memref."""
        return steps.data[dimension].value.data if (steps := self.steps) else 1

    @property
    def index_tiles(self) -> dict[int, SSAValue]:
        """Dimension of the memref -> the index tile that its coordinates come from."""
        return {d: index for d, index in enumerate(self.indices) if isinstance(index.type, TileType)}

    @property
    def is_box(self) -> bool:
        """Returns True for neighbours along the trailing dimensions of the memref, as far as that reaches."""
        whole = self.dims is None and self.steps is None and not self.sizes
        return whole and self.joins_rings

    def still_dims(self, dimension: int) -> tuple[int, ...]:
        """Returns the dimensions of the tile along which the index tile of a dimension of the memref stays the same."""
        dims, found = self.result.type.dims, TileType.of(self.indices[dimension]).dims
        if len(found) < len(dims):
            return tuple(t for t in range(len(dims)) if t != self.places[dimension].of_tile)
        return tuple(t for t, (n, extent) in enumerate(zip(found, dims, strict=True)) if n < extent)

    def tile_strides(self) -> tuple[int | None, ...]:
        """Elements of memory from one position to the next along each dimension of the tile, but for index tiles.

        None for strides that are known at the launch only.
        """
        strides, indices = self.source_type.get_strides() or (), self.indices
        found: list[int | None] = []
        for d in self.of_memref:
            if d is None or isinstance(indices[d].type, TileType):
                found.append(0)
            else:
                stride = strides[d]
                found.append(None if stride is None else stride * self.step(d))
        return tuple(found)

    def derived_layout(self, shape: Sequence[int]) -> TileLayout | str:
        """The layout (axis `m`, elements) of a tile of `shape` in place of the view's, or why there is none."""
        if (problem := strides_problem(self.source_type)) is not None:
            return problem
        return TileLayout(Iter(n, s or 0, "m") for n, s in zip(shape, self.tile_strides(), strict=True))

    def verify_(self) -> None:
        source, tile = self.source_type, self.result.type
        if len(self.indices) != source.get_num_dims():
            noun = "index" if source.get_num_dims() == 1 else "indices"
            raise ViewError(f"expected {source.get_num_dims()} {noun} into {source}, found {len(self.indices)}")
        if self.begins_inside is not None and self.clipped is None:
            raise ViewError("expected begins_inside behind clipped only: other views are inside altogether")
        if not isinstance(source.memory_space, NoneAttr):
            raise ViewError(f"expected a memref in global memory, without a memory space, found {source}")
        memory = MemorySpace.GLOBAL if self.is_global else TileType.of(self.source).memory
        if memory is MemorySpace.REGISTER and not self.index_tiles:
            raise ViewError("expected a tile of indices in a view of a register tile; tirx.subview gives other parts")
        if memory not in (MemorySpace.GLOBAL, MemorySpace.SHARED, MemorySpace.REGISTER):
            raise TileMemoryError(
                f"expected a memref, or a tile in shared memory or registers, found {self.source.type}"
            )
        if tile.memory is not memory:
            raise TileMemoryError(f"expected a {memory} tile, found a {tile.memory} one")
        if (
            memory is MemorySpace.SHARED
            and (layout := TileType.of(self.source).layout) is not None
            and tile_strides(TileType.of(self.source)) is None
        ):
            raise ViewLayoutError(f"expected a shared tile with a stride along each dimension, found {layout}")
        self._verify_dims()
        if tile.element_type != source.element_type:
            raise ElementTypeError(f"expected {source.element_type} elements, found {tile.element_type}")
        places = self.places
        self._verify_steps_and_sizes(places)
        self._verify_index_tiles()
        for place, size in zip(places, source.get_shape(), strict=True):
            if 0 <= size < place.span and place.is_plain and self.clipped is None:
                raise ViewError(f"expected a tile that fits into {source}, found {shape_text(tile)}")
        if memory is MemorySpace.REGISTER:
            return
        if isinstance(self.source.owner, memref.SubviewOp) and tile.layout is None:
            return  # tirx-fold-subviews makes it one of the argument
        layout = self.derived_layout(tile.dims)
        if isinstance(layout, str):
            if tile.layout is not None or not has_run_time_strides(source):
                raise ViewLayoutError(layout)
            return
        if isinstance(tile.layout, TileLayout) and not tile.layout.equivalent(layout):
            raise ViewLayoutError(f"expected the layout of {source}, {layout}, found {tile.layout}")

    def _verify_dims(self) -> None:
        rank, tile = len(self.indices), self.result.type
        if self.steps is not None and len(self.steps) != rank:
            raise ViewError(f"expected steps along {rank} dimensions, found {len(self.steps)}")
        of_memref, index_tiles = self.of_memref, self.index_tiles
        found = [d for d in of_memref if d is not None]
        if self.dims is not None:
            if len(self.dims) != len(tile.dims):
                raise ViewError(f"expected dims of {len(tile.dims)} dimensions of the tile, found {len(self.dims)}")
            if len(set(found)) < len(found) or any(not 0 <= d < rank for d in found):
                raise ViewError(f"expected dims to name dimensions of {self.source_type}, each once, found {found}")
        elif len(tile.dims) > rank and not any(len(TileType.of(t).dims) > 1 for t in index_tiles.values()):
            raise ViewError(f"expected a tile of rank {rank} or less in {self.source_type}, found {shape_text(tile)}")
        full = [TileType.of(t).dims for t in index_tiles.values() if len(TileType.of(t).dims) == len(tile.dims)]
        for t, (d, extent) in enumerate(zip(of_memref, tile.dims, strict=True)):
            moves = d is not None and (d not in index_tiles or len(TileType.of(index_tiles[d]).dims) == 1)
            if extent > 1 and not moves and all(dims[t] == 1 for dims in full):
                raise ViewError(f"expected dimension {t} of the tile to be one of the memref, found none")

    def _verify_steps_and_sizes(self, places: Sequence[Place]) -> None:
        sized = [n.value.data for n in self.sized or ()]
        if sized and self.clipped is None:
            raise ViewError("expected sizes behind clipped only, found them without")
        if sorted(set(sized) & set(range(len(self.indices)))) != sized:
            raise ViewError(f"expected sizes of dimensions of {self.source_type}, in order, found {sized}")
        for d, place in enumerate(places):
            if place.step < 1 or (place.step != 1 and (place.of_tile is None or not place.is_plain)):
                raise ViewError(
                    f"expected a step of 1 or more along dimension {d}, and 1 where the tile does not move along it or "
                    f"an index tile says how, found {place.step}"
                )
            if place.size is not None and place.of_tile is None:
                raise ViewError(f"expected '*' for dimension {d}, which the tile does not have, found a size")

    def _verify_index_tiles(self) -> None:
        dims = self.result.type.dims
        for d, value in self.index_tiles.items():
            found, place = TileType.of(value), self.places[d]
            if found.memory is not MemorySpace.REGISTER or isinstance(value.owner, AllocOp):
                raise ViewError(f"expected a register value as index tile (tirx.load gives one), found {found}")
            if found.element_type not in (i32, i64, IndexType()):
                raise ElementTypeError(f"expected indices of i32, i64 or index, found {found.element_type}")
            vector = len(found.dims) == 1 and place.of_tile is not None and found.dims[0] == place.extent
            full = len(found.dims) == len(dims) and all(n in (1, m) for n, m in zip(found.dims, dims, strict=True))
            if not vector and not full:
                raise ViewError(
                    f"expected an index tile along dimension {d} of one index for each element of the "
                    f"{shape_text(self.result.type)} tile, or for each position along a dimension that it has, found "
                    f"{shape_text(found)}"
                )

    @property
    def _to(self) -> list[SSAValue | None] | None:
        """The sizes of a clipped view, none where those are the memref's; None for a view that is not clipped."""
        if self.clipped is None:
            return None
        return [place.size for place in self.places] if self.sizes else []

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        where = Where.parse_optional(parser, parser.parse_unresolved_operand(), before_types=True)
        if where is None:
            parser.raise_error("expected places in brackets, '['")
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        source = where.parse_source(parser)
        tiles: list[SSAValue] = []
        for tile in where.tiles:
            parser.parse_punctuation(",")
            tiles.append(parser.resolve_operand(tile, parser.parse_type()))
        parser.parse_punctuation("->")
        return where.view(source, tiles, cast(TileType, parser.parse_type())).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        write(printer, " ", self.source)
        with printer.in_square_brackets():
            printer.print_list(
                self.indices, lambda i: write(printer, *(("[", i, "]") if isinstance(i.type, TileType) else (i,)))
            )
        _CLAUSES.print(printer, self)
        write_types(printer, self, self.source, *self.index_tiles.values())


def _parse_place(parser: Parser) -> UnresolvedOperand | SSAValue:
    if parser.parse_optional_punctuation("[") is None:
        return parse_index(parser)
    found = parser.parse_unresolved_operand()
    parser.parse_punctuation("]")
    return found


def _parse_to(parser: Parser) -> list[SSAValue | None]:
    """Parses the sizes behind `clipped to`, if there are any."""
    if parser.parse_optional_keyword("to") is None:
        return []
    star = parser.parse_optional_punctuation
    return parser.parse_comma_separated_list(
        Parser.Delimiter.SQUARE, lambda: None if star("*") is not None else parse_index(parser)
    )


def _shown_to(sizes: Sequence[SSAValue | None]) -> list[Shown]:
    return [" to [", *[part for size in sizes for part in (", ", size or "*")][1:], "]"] if sizes else []


_DIMENSION = Form(
    lambda parser: _NO_DIMENSION if parser.parse_optional_keyword("_") is not None else parse_integer(parser),
    lambda d: ["_" if d.value.data == _NO_DIMENSION else str(d.value.data)],
)
_CLAUSES = AnyOrder(
    Clause("dims(*)", _DIMENSION),
    Clause("steps [*]", int),
    Clause("clipped", Form(_parse_to, _shown_to), "_to"),
    Clause("begins_inside"),
)


@dataclass
class Where:
    """The text of a view without its types: `%a[%m, [%rows]] dims(0, 1) clipped`.

    `places` has an index, or the name of an index tile, for each dimension of the source, and `sizes` what stands
    behind `clipped to`.
    """

    source: UnresolvedOperand
    places: list[UnresolvedOperand | SSAValue]
    sizes: list[SSAValue | None]
    clauses: dict[str, Any]

    @staticmethod
    def parse_optional(parser: Parser, source: UnresolvedOperand, *, before_types: bool) -> Where | None:
        """Parses what stands behind the source, if there are places. With `before_types` no other word may follow."""
        places = parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_place(parser))
        if places is None:
            return None
        start = parser.pos
        found: dict[str, Any] = {}
        _CLAUSES.parse(parser, found, before_types)
        found["clipped"] = "_to" in found
        sizes: list[SSAValue | None] = found.pop("_to", [])
        if sizes and len(sizes) != len(places):
            parser.raise_error(f"expected {len(places)} sizes or '*', found {len(sizes)}", start, parser.pos)
        if any(size is not None for size in sizes):
            found["sized"] = [d for d, size in enumerate(sizes) if size is not None]
        return Where(source, places, sizes, found)

    @property
    def tiles(self) -> list[UnresolvedOperand]:
        """The names of index tiles, in order."""
        return [place for place in self.places if not isinstance(place, SSAValue)]

    def parse_source(self, parser: Parser) -> SSAValue:
        """Parses the type of the source, a memref or a tile. Returns the source."""
        at = parser.pos
        if not isinstance(type_ := parser.parse_type(), MemRefType | TileType):
            parser.raise_error(f"{type_} should be of base attribute memref", at, parser.pos)
        return parser.resolve_operand(self.source, cast(Attribute, type_))

    def view(self, source: SSAValue, tiles: Sequence[SSAValue], type_: TileType) -> ViewOp:
        """The view with these index tiles."""
        left = iter(tiles)
        where = [place if isinstance(place, SSAValue) else next(left) for place in self.places]
        return ViewOp(source, [*where, *(size for size in self.sizes if size is not None)], type_, **self.clauses)


def indexed_view(tile: SSAValue) -> ViewOp | None:
    """The view with index tiles that a tile is; None for any other tile."""
    view = tile.owner
    return view if isinstance(view, ViewOp) and view.index_tiles else None
