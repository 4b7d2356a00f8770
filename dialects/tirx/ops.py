"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, ParsePropInAttrDict, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.engines import Engine, EngineAttr, Reduction, ReductionAttr
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.dialects.tirx.syntax import in_parens, parse_attributes, parse_clauses, require_alike, write, write_types
from tirx.rules import ElementTypeError, PlaceError, TileMemoryError


@irdl_op_definition
class AllocOp(DirectOperation):
    """`%t = tirx.alloc : !tirx.tile<128x64xf16, shared>`: a tile with undefined contents, for the whole kernel.

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
        _ = type_.dims  # raises for parameters that the kernel does not declare
        placed = type_.memory in (MemorySpace.SHARED, MemorySpace.TENSOR)
        if self.start is not None and (not placed or self.start < 0):
            raise PlaceError(
                f"expected a place of 0 or more in shared or tensor memory, found {self.start} in {type_.memory.place}"
            )


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
    """Parses `%x, %y` with the clauses `reduce(...)` and `engine ...` in any order, attributes and the two types.

    Returns operands, properties and attributes.
    """
    operands = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    operands.append(parser.parse_unresolved_operand())
    clauses: dict[str, Callable[[], Attribute]] = {
        "reduce": lambda: ReductionAttr(in_parens(parser, lambda: parser.parse_str_enum(Reduction))),
        "engine": lambda: EngineAttr(parser.parse_str_enum(Engine)),
    }
    properties = parse_clauses(parser, clauses, before_types=True)
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
    write(printer, " ", op.operands)
    if reduce is not None:
        printer.print_string(f" reduce({reduce.data})")
    if engine is not None:
        printer.print_string(f" engine {engine.data}")
    write_types(printer, op, *op.operands)


@irdl_op_definition
class CopyOp(DirectOperation, TileOpInterface):
    """`tirx.copy %src, %dst : !tirx.tile<...>, !tirx.tile<...>`: element by element, between any two memories.

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
        require_alike(source, destination)
        if self.reduce is not None and (
            destination.memory is not MemorySpace.GLOBAL or source.memory is MemorySpace.GLOBAL
        ):
            raise TileMemoryError(
                f"expected a copy to global memory from another one with reduce, found one from {source.memory.place} "
                f"to {destination.memory.place}"
            )
