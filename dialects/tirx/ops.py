"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I32, IndexType, IntegerAttr, MemRefType, NoneAttr, StridedLayoutAttr, UnitAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.engines import Engine, EngineAttr, Reduction, ReductionAttr
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.dialects.tirx.syntax import parse_attributes, parse_clauses, shape_text
from tirx.layout import Iter, TileLayout
from tirx.rules import ElementTypeError, PlaceError, TileMemoryError, TileShapeError, ViewError, ViewLayoutError


@irdl_op_definition
class AllocOp(DirectOperation):
    """
    `%t = tirx.alloc : !tirx.tile<128x64xf16, shared>`: a tile with undefined contents, for the whole kernel.

    `tirx.alloc at 1024 : ...` says where it lies: bytes from the start of the kernel's shared memory, or columns from
    that of its tensor memory. `tirx-allocate-memory` chooses the place.
    """

    name = "tirx.alloc"

    place = opt_prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "(`at` $place^)? attr-dict `:` type($result)"

    traits = traits_def(MemoryWriteEffect())

    @property
    def start(self) -> int | None:
        """The place as a number, None before there is one."""
        return None if self.place is None else self.place.value.data

    def verify_(self) -> None:
        type_ = self.result.type
        if type_.memory is MemorySpace.GLOBAL:
            raise TileMemoryError(
                "expected a shared, tensor or register tile, found a global one: kernels get global memory "
                "as memref arguments"
            )
        placed = type_.memory in (MemorySpace.SHARED, MemorySpace.TENSOR)
        if self.start is not None and (not placed or self.start < 0):
            raise PlaceError(
                f"expected a place of 0 or more in shared or tensor memory, found {self.start} in {type_.memory.place}"
            )


def strided_layout(type_: MemRefType[Attribute], shape: Sequence[int]) -> TileLayout | str:
    """
    The layout (axis `m`, elements) of a tile of `shape` in a memref, or why there is none.

    A tile of lower rank than the memref covers the trailing dimensions.
    """
    strides = type_.get_strides()
    if strides is None or len(strides) != type_.get_num_dims():
        return f"expected a memref with a strided layout of its rank, found {type_}"
    if isinstance(type_.layout, StridedLayoutAttr) and type_.layout.get_offset() != 0:
        return f"expected a memref that starts at its pointer, without an offset, found {type_}"
    if any(stride is None for stride in strides):
        return f"expected static strides for a layout (only the outermost extent may be dynamic), found {type_}"
    static = [stride for stride in strides if stride is not None]
    if any(stride < 0 for stride in static):
        return f"expected strides of 0 or more, found {type_}"
    return TileLayout(Iter(n, s, "m") for n, s in zip(shape, static[len(static) - len(shape) :], strict=True))


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
    layout = strided_layout(type_, ())
    return layout if isinstance(layout, str) and not has_run_time_strides(type_) else None


@irdl_op_definition
class ViewOp(DirectOperation):
    """
    `%t = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>`

    The tile of global memory whose first element is `%a[%m, %k]`. A tile of lower rank than the memref
    covers its trailing dimensions. The layout of the tile is given by the strides of the memref, which count elements;
    4-bit and 6-bit elements are packed, without padding, the first one in the low bits. With strides that are known at
    the launch only the tile has no layout.

    With `clipped` the tile may reach beyond the memref: what is read there is zero, what is written is dropped. Bulk
    tensor copies store no tile that begins before the memref. `clipped begins_inside` says that this one begins at 0 or
    later in every dimension. Without it, and where indices do not show it, threads store the tile, and the thread that
    starts a bulk store which is written traps where that is not so.
    """

    name = "tirx.view"

    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    clipped = opt_prop_def(UnitAttr)
    begins_inside = opt_prop_def(UnitAttr)
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `[` $indices `]` (`clipped` $clipped^)? (`begins_inside` $begins_inside^)? attr-dict `:` "
        "type($source) `->` type($result)"
    )

    traits = traits_def(Pure())

    @property
    def source_type(self) -> MemRefType[Attribute]:
        type_ = self.source.type
        assert isinstance(type_, MemRefType)
        return type_  # pyright: ignore[reportUnknownVariableType]

    def verify_(self) -> None:
        source, tile = self.source_type, self.result.type
        if len(self.indices) != source.get_num_dims():
            noun = "index" if source.get_num_dims() == 1 else "indices"
            raise ViewError(f"expected {source.get_num_dims()} {noun} into {source}, found {len(self.indices)}")
        if self.begins_inside is not None and self.clipped is None:
            raise ViewError("expected begins_inside behind clipped only: other views are inside altogether")
        if not isinstance(source.memory_space, NoneAttr):
            raise ViewError(f"expected a memref in global memory, without a memory space, found {source}")
        if tile.memory is not MemorySpace.GLOBAL:
            raise TileMemoryError(f"expected a global tile, found a {tile.memory} one")
        if len(tile.dims) > source.get_num_dims():
            raise ViewError(
                f"expected a tile of rank {source.get_num_dims()} or less in {source}, found {shape_text(tile)}"
            )
        if tile.element_type != source.element_type:
            raise ElementTypeError(f"expected {source.element_type} elements, found {tile.element_type}")
        for size, extent in zip(reversed(source.get_shape()), reversed(tile.dims), strict=False):
            if 0 <= size < extent and self.clipped is None:
                raise ViewError(f"expected a tile that fits into {source}, found {shape_text(tile)}")
        layout = strided_layout(source, tile.dims)
        if isinstance(layout, str):
            if tile.layout is not None or not has_run_time_strides(source):
                raise ViewLayoutError(layout)
            return
        if isinstance(tile.layout, TileLayout) and not tile.layout.equivalent(layout):
            raise ViewLayoutError(f"expected the layout of {source}, {layout}, found {tile.layout}")


@irdl_op_definition
class FillOp(DirectOperation, TileOpInterface):
    """`tirx.fill %t, %v : f32, !tirx.tile<128x256xf32, tensor>`: every element becomes `%v`."""

    name = "tirx.fill"

    tile = operand_def(TileType)
    value = operand_def(AnyAttr())

    assembly_format = "$tile `,` $value attr-dict `:` type($value) `,` type($tile)"

    traits = traits_def(MemoryWriteEffect())

    @property
    def tile_type(self) -> TileType:
        return TileType.of(self.tile)

    def tile_reads(self) -> Sequence[SSAValue]:
        return ()

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.tile,)

    def verify_(self) -> None:
        if self.value.type != self.tile_type.element_type:
            raise ElementTypeError(f"expected a value of type {self.tile_type.element_type}, found {self.value.type}")


def parse_transfer(
    parser: Parser, op: type[IRDLOperation]
) -> tuple[list[SSAValue], dict[str, Attribute], dict[str, Attribute]]:
    """
    Parses `%x, %y` with the clauses `reduce(...)` and `engine ...` in any order, attributes and the two types.

    Returns operands, properties and attributes.
    """
    operands = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    operands.append(parser.parse_unresolved_operand())

    def parse_reduce() -> Attribute:
        with parser.in_parens():
            return ReductionAttr(parser.parse_str_enum(Reduction))

    properties = parse_clauses(
        parser,
        {"reduce": parse_reduce, "engine": lambda: EngineAttr(parser.parse_str_enum(Engine))},
        before_types=True,
    )
    attributes = parse_attributes(parser, op)
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    parser.parse_punctuation(",")
    types.append(parser.parse_type())
    values: list[SSAValue] = [parser.resolve_operand(x, type_) for x, type_ in zip(operands, types, strict=True)]
    return values, properties, attributes


def print_transfer(
    printer: Printer, op: IRDLOperation, engine: EnumAttribute[Engine] | None, reduce: EnumAttribute[Reduction] | None
) -> None:
    """The counterpart of `parse_transfer`."""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    if reduce is not None:
        printer.print_string(f" reduce({reduce.data})")
    if engine is not None:
        printer.print_string(f" engine {engine.data}")
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_list([value.type for value in op.operands], printer.print_attribute)


@irdl_op_definition
class CopyOp(DirectOperation, TileOpInterface):
    """
    `tirx.copy %src, %dst : !tirx.tile<...>, !tirx.tile<...>`: element by element, between any two memories.

    `tirx.copy %src, %dst reduce(add)` combines the elements with those in global memory: from shared memory by a bulk
    copy (`Reduction`) or `engine ld_st`, from registers and tensor memory by `red`.

    The two tiles must not overlap. The clause `engine ld_st` says which instructions move the elements, see
    `#tirx.engine`; `tirx-select-copies` chooses them. Between global and shared memory `tma`, `cp_async` and
    `tma_store` may be written.
    """

    name = "tirx.copy"

    source = operand_def(TileType)
    destination = operand_def(TileType)
    engine = opt_prop_def(EngineAttr)
    reduce = opt_prop_def(ReductionAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> CopyOp:
        operands, properties, attributes = parse_transfer(parser, cls)
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_transfer(printer, self, self.engine, self.reduce)

    def tile_reads(self) -> Sequence[SSAValue]:
        return (self.source,)

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.destination,)

    @property
    def source_type(self) -> TileType:
        return TileType.of(self.source)

    @property
    def destination_type(self) -> TileType:
        return TileType.of(self.destination)

    def verify_(self) -> None:
        source, destination = self.source_type, self.destination_type
        if source.dims != destination.dims:
            raise TileShapeError(
                f"expected tiles of one shape, found {shape_text(source)} and {shape_text(destination)}"
            )
        if source.element_type != destination.element_type:
            raise ElementTypeError(
                f"expected tiles of one element type, found {source.element_type} and {destination.element_type}"
            )
        if self.reduce is not None and (
            destination.memory is not MemorySpace.GLOBAL or source.memory is MemorySpace.GLOBAL
        ):
            raise TileMemoryError(
                f"expected a copy to global memory from another one with reduce, found one from {source.memory.place} "
                f"to {destination.memory.place}"
            )
