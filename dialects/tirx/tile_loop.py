"""The loop of a kernel over its tiles, and the orders in which it takes them."""

from __future__ import annotations

from xdsl.dialects.builtin import I32, IndexType, IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import DirectOperation, enum_attribute, irdl_op_definition
from tirx.dialects.syntax import parse_attributes, parse_defined, parse_integer, types_text, write
from tirx.dialects.tirx.ring_types import RingType
from tirx.dialects.tirx.rings import RingOp
from tirx.dialects.traits import NoEnd
from tirx.rules import LoopError, TileOrderError


class TileOrder(StrEnum):
    """The order in which the tile loop of a persistent kernel goes through the tiles."""

    ROW = "row"
    GROUP = "group"
    HILBERT = "hilbert"
    TABLE = "table"
    HARDWARE = "hardware"
    ITEMS = "items"


TileOrderAttr = enum_attribute("tirx.tile_order", TileOrder)


@irdl_op_definition
class TilesOp(DirectOperation):
    """`tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tn) { ... }`: the tile loop of a persistent kernel.

    A block runs the body once for each of its tiles `%i, %j` of `%tm` x `%tn`. Forms:

    - `order(row)`, `order(group 8)` (columns of that many tiles), `order(hilbert)` (in squares of 8 x 8 tiles), each
      `of (%tm, %tn)`,
    - `order(table %t : memref<?xi32>) of (%tm, %tn)`: `%t` has the numbers of all tiles, `%i * %tn + %j`, in any order,
    - `hardware(%clc, read)`: cluster launch control gives the next tile. Every role that has the loop reads one answer
      of the ring `%clc` at its station `read` at the end of the body, the last, negative one included,
    - `%i, %j, %k0, %k1 = items(%t : memref<?x4xi32>)`: rows of `%t`, each with a tile and the part `%k0` to `%k1` of
      its iterations along K.
    """

    name = "tirx.tiles"

    loop = prop_def(StringAttr)
    order = prop_def(TileOrderAttr)
    group = opt_prop_def(IntegerAttr[I32])
    station = opt_prop_def(StringAttr)
    body = region_def("single_block")
    source = opt_operand_def(AnyAttr())
    extents = var_operand_def(IndexType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), NoEnd())

    def verify_(self) -> None:
        order = self.order.data
        expected = (IndexType(),) * _coordinates(order)
        if tuple(self.body.block.arg_types) != expected:
            raise LoopError(
                f"expected a body with arguments {types_text(expected)} for {order}, "
                f"found {types_text(self.body.block.arg_types)}"
            )
        extents = 0 if order in (TileOrder.HARDWARE, TileOrder.ITEMS) else 2
        if len(self.extents) != extents:
            raise LoopError(f"expected {extents} numbers of tiles for {order}, found {len(self.extents)}")
        group = None if self.group is None else self.group.value.data
        if (group is not None) != (order is TileOrder.GROUP) or (group is not None and group < 1):
            raise TileOrderError(f"expected n of 1 or more for order(group n), and for no other order, found {order}")
        self._verify_source(order)

    def _verify_source(self, order: TileOrder) -> None:
        source = None if self.source is None else self.source.type
        match order:
            case TileOrder.TABLE | TileOrder.ITEMS:
                rank, columns, text = (1, (), "?") if order is TileOrder.TABLE else (2, (4,), "?x4")
                found = source.get_shape() if isa(source, MemRefType) and source.element_type == i32 else ()
                if len(found) != rank or found[1:] != columns:
                    raise TileOrderError(f"expected a table in memory for {order}, memref<{text}xi32>, found {source}")
            case TileOrder.HARDWARE:
                if self.source is None or not isinstance(source, RingType) or not source.is_tile_id:
                    raise TileOrderError(f"expected a ring of answers, !tirx.ring<tile_id>, found {source}")
                stations = RingOp.of(self.source).station_names[1:]
                if self.station is None or self.station.data not in stations:
                    found = None if self.station is None else self.station.data
                    readers = ", ".join(stations)
                    raise TileOrderError(f"expected a station where answers are read ({readers}), found {found}")
            case _:
                if source is not None:
                    raise TileOrderError(f"expected nothing to read the order {order} from, found {source}")
        if self.station is not None and order is not TileOrder.HARDWARE:
            raise TileOrderError(f"expected a station only for hardware, found {self.station.data} for {order}")

    @classmethod
    def parse(cls, parser: Parser) -> TilesOp:
        loop = parser.parse_symbol_name().data
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parser.parse_argument(expect_type=False).resolve(IndexType())
        )
        parser.parse_punctuation("=")
        source: SSAValue | None = None
        station: str | None = None
        group: int | None = None
        extents: list[SSAValue] = []
        if parser.parse_optional_keyword(TileOrder.HARDWARE) is not None:
            order = TileOrder.HARDWARE
            with parser.in_parens():
                source = parse_defined(parser)
                parser.parse_punctuation(",")
                station = parser.parse_identifier(context_msg=" of a station")
        elif parser.parse_optional_keyword(TileOrder.ITEMS) is not None:
            order = TileOrder.ITEMS
            with parser.in_parens():
                source = _parse_table(parser)
        else:
            parser.parse_keyword("order")
            with parser.in_parens():
                start = parser.pos
                order = parser.parse_str_enum(TileOrder)
                if order in (TileOrder.HARDWARE, TileOrder.ITEMS):
                    parser.raise_error(f"expected {order}(...) in the place of order(...)", start, parser.pos)
                if order is TileOrder.GROUP:
                    group = parse_integer(parser)
                if order is TileOrder.TABLE:
                    source = _parse_table(parser)
            parser.parse_keyword("of")
            extents = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType())
            )
        attributes = parse_attributes(parser, cls, keyword=True)
        return cls(loop, order, parser.parse_region(names), extents, group, station, source).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.loop.data)
        write(printer, " ", self.body.block.args)
        order = self.order.data
        standing_alone = order in (TileOrder.HARDWARE, TileOrder.ITEMS)
        printer.print_string(f" = {order}(" if standing_alone else f" = order({order}")
        if self.group is not None:
            printer.print_string(f" {self.group.value.data}")
        if self.source is not None:
            write(printer, "" if standing_alone else " ", self.source)
            if order is not TileOrder.HARDWARE:
                write(printer, " : ", self.source.type)
        if self.station is not None:
            printer.print_string(f", {self.station.data}")
        printer.print_string(")")
        if not standing_alone:
            write(printer, " of (", self.extents, ")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def _coordinates(order: TileOrder) -> int:
    return 4 if order is TileOrder.ITEMS else 2


def _parse_table(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())
