"""Operations that move tiles from one memory to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, operand_def, opt_operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.syntax import VALUE, AnyOrder, Clause, defined_value, parse_attributes, write, write_types
from tirx.dialects.tirx.attributes import MemorySpace, MemorySpaceAttr, TileType, require_alike
from tirx.dialects.tirx.elements import is_element
from tirx.dialects.tirx.engines import Engine, EngineAttr, Reduction, ReductionAttr
from tirx.dialects.tirx.index_text import made
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.places import Where, indexed_view
from tirx.dialects.tirx.registers import require_register
from tirx.rules import ElementTypeError, EngineError, TileMemoryError, TileShapeError
from tirx.values import dataclass


@dataclass
class _TileText:
    """A tile as an operand: a value, or `%a[%m, %n] clipped`, for which a view is made in front of the operation."""

    name: UnresolvedOperand
    where: Where | None

    @staticmethod
    def parse(parser: Parser) -> _TileText:
        name = parser.parse_unresolved_operand()
        return _TileText(name, Where.parse_optional(parser, name, before_types=False))

    def parse_type(self, parser: Parser) -> SSAValue:
        """Parses the type of the tile, or that of what has the place. Returns that value."""
        if self.where is None:
            return parser.resolve_operand(self.name, parser.parse_type())
        return self.where.parse_source(parser)

    def tile(self, parser: Parser, value: SSAValue, other: Attribute) -> SSAValue:
        """Returns the tile: a value, or one of the extents of a tile of type `other` at the place."""
        if self.where is None:
            return value
        if not isinstance(other, TileType):
            message = f"expected one of two tiles at a place, whose extents are those of the other, found {other}"
            parser.raise_error(message, self.name.span)
        memory = MemorySpace.GLOBAL if isinstance(value.type, MemRefType) else MemorySpace.SHARED
        tiles = [defined_value(parser, tile) for tile in self.where.tiles]
        type_ = TileType(other.shape, other.element_type, MemorySpaceAttr(memory), NoneAttr())
        return made(parser, self.where.view(value, tiles, type_))


def _require_moved(register: TileType, memory: TileType, found: str) -> None:
    """Raises VerifyException unless a load or store can move these tiles; `found` names both in order."""
    require_register(register)
    if memory.memory is MemorySpace.REGISTER:
        raise TileMemoryError(f"expected a tile in global, shared or tensor memory, found {memory}")
    if (register.dims, register.element_type) != (memory.dims, memory.element_type):
        raise TileShapeError(f"expected tiles of one shape and element type, found {found}")


def _require_engine(found: EnumAttribute[Engine] | None, matrix: Engine, memory: TileType) -> None:
    """Raises VerifyException unless the engine of a load or store is one that the memory has."""
    if found is None:
        return
    shared = memory.memory is MemorySpace.SHARED
    expected = (Engine.LD_ST, matrix) if shared else (Engine.LD_ST,)
    if found.data not in expected:
        raise EngineError(
            f"expected engine {' or '.join(expected)} for a tile in {memory.memory.place}, found {found.data}"
        )


def of_indices(memory: SSAValue, register: SSAValue) -> list[Reduced]:
    """Returns what follows for the index tiles of a view: a thread that moves an element holds its indices."""
    if (view := indexed_view(memory)) is None:
        return []
    return [Reduced(register, index, view.still_dims(d)) for d, index in view.index_tiles.items()]


_CLAUSES = AnyOrder(Clause("reduce()", Reduction), Clause("engine ", Engine))
_CLAUSES_OF_LOADS = AnyOrder(Clause("engine ", Engine), Clause("pad()", VALUE))


class _TransferOp(DirectOperation, TileOpInterface):
    """Moves a tile to another: `%x, %y` with the clauses `reduce(...)` and `engine ...` in any order.

    One of the two may be a place, `%a[%m, %n] clipped`, whose type is that of `%a`.
    """

    engine = opt_prop_def(EngineAttr)
    reduce = opt_prop_def(ReductionAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = _TileText.parse(parser)
        parser.parse_punctuation(",")
        destination = _TileText.parse(parser)
        found: dict[str, Any] = {}
        _CLAUSES.parse(parser, found, before_types=True)
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        first = source.parse_type(parser)
        parser.parse_punctuation(",")
        second = destination.parse_type(parser)
        op = cls(source.tile(parser, first, second.type), destination.tile(parser, second, first.type), **found)
        return op.with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        write(printer, " ", self.operands)
        _CLAUSES.print(printer, self)
        write_types(printer, self, *self.operands)


@irdl_op_definition
class CopyOp(_TransferOp):
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

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse_source(cls, parser: Parser) -> _TileText:
        """Parses a tile, or a place, whose type comes later."""
        return _TileText.parse(parser)

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


@irdl_op_definition
class LoadOp(DirectOperation, TileOpInterface):
    """`%v = tirx.load %tile : !tirx.tile<..., shared, L> -> !tirx.tile<..., register, L2>`

    Every thread loads the elements that the register layout gives it from global, shared or tensor memory. The clause
    `engine ldmatrix` says which instructions load from shared memory; `tirx-select-copies` chooses them. With `pad(%x)`
    elements outside of a clipped view are `%x` instead of 0.
    """

    name = "tirx.load"

    source = operand_def(TileType)
    result = result_def(TileType)
    engine = opt_prop_def(EngineAttr)
    pad = opt_operand_def(AnyAttr())

    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        source = _TileText.parse(parser)
        found: dict[str, Any] = {}
        _CLAUSES_OF_LOADS.parse(parser, found)
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        value = source.parse_type(parser)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        return cls(source.tile(parser, value, result), result, **found).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        write(printer, " ", self.source)
        _CLAUSES_OF_LOADS.print(printer, self)
        write_types(printer, self, self.source)

    def tile_reads(self) -> Sequence[SSAValue]:
        return (self.source,)

    def tile_writes(self) -> Sequence[SSAValue]:
        return ()

    def reductions(self) -> Sequence[Reduced]:
        return of_indices(self.source, self.result)

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        _require_moved(result, source, f"{source} and {result}")
        if self.pad is not None and not is_element(self.pad.type, result):
            raise ElementTypeError(f"expected a pad of type {result.element_type}, found {self.pad.type}")
        _require_engine(self.engine, Engine.LDMATRIX, source)


@irdl_op_definition
class StoreOp(_TransferOp):
    """`tirx.store %v, %tile : !tirx.tile<..., register, L>, !tirx.tile<..., shared, L2>`

    Every thread stores the elements that it holds; of threads that hold the same ones, one does. The clause
    `engine stmatrix` says which instructions store to shared memory; `tirx-select-copies` chooses them. With
    `reduce(add)` the elements are combined with those in global or shared memory, by `red`.
    """

    name = "tirx.store"

    value = operand_def(TileType)
    destination = operand_def(TileType)

    traits = traits_def(MemoryWriteEffect())

    def tile_reads(self) -> Sequence[SSAValue]:
        return (self.value,)

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.destination,)

    def reductions(self) -> Sequence[Reduced]:
        return of_indices(self.destination, self.value)

    def verify_(self) -> None:
        value, destination = TileType.of(self.value), TileType.of(self.destination)
        _require_moved(value, destination, f"{value} and {destination}")
        _require_engine(self.engine, Engine.STMATRIX, destination)
        if self.reduce is not None and destination.memory is MemorySpace.TENSOR:
            raise TileMemoryError(
                f"expected reduce({self.reduce.data}) into global or shared memory, found {destination}"
            )


def transfer(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """The tile that a copy, load or store reads and the one that it writes; None for any other operation."""
    match op:
        case CopyOp():
            return op.source, op.destination
        case LoadOp():
            return op.source, op.result
        case StoreOp():
            return op.value, op.destination
        case _:
            return None
