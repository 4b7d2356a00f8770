"""Register tiles combined along dimensions, by a named operation or a region: reductions and scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import I32, ArrayAttr, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    opt_prop_def,
    opt_region_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import DirectOperation, enum_attribute, irdl_op_definition
from tirx.dialects.syntax import (
    TYPED,
    AnyOrder,
    Clause,
    parse_attributes,
    parse_integer,
    parse_operands,
    parse_typed,
    parse_types,
    write,
    write_types,
)
from tirx.dialects.tirx.attributes import TileType, shape_text
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.maps import YIELD, require_readable, verify_body
from tirx.dialects.tirx.registers import require_register
from tirx.dialects.tirx.scalar_text import ScalarText
from tirx.rules import DimensionError, ElementTypeError, MapBodyError, OperandFormError, TileShapeError

LEAST_BITS = 16
"""Bits of the elements that are combined: the arithmetic of narrower ones is done in wider registers."""


class Combination(StrEnum):
    """The operation on two elements; `max` and `min` of floats ignore NaN unless all are, as maxnumf does."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


CombinationAttr = enum_attribute("tirx.combination", Combination)


def _split(how: Combination | Region) -> tuple[Combination | None, Region | None]:
    return (None, how) if isinstance(how, Region) else (how, None)


class FoldOp(DirectOperation, TileOpInterface):
    """An operation that combines the elements of register tiles of one shape along dimensions."""

    ins = var_operand_def(TileType)
    combination = opt_prop_def(CombinationAttr)
    body = opt_region_def("single_block")

    CLAUSES: ClassVar = AnyOrder()
    """The clauses behind the dimensions and the combination."""

    traits = traits_def(Pure())

    @property
    def along(self) -> tuple[int, ...]:
        """The dimensions along which elements are combined."""
        raise NotImplementedError

    @property
    def source(self) -> SSAValue:
        """The first tile that is combined."""
        return self.ins[0]

    @property
    def how(self) -> Combination | Region:
        """The combination: a name, or a region of accumulators and elements."""
        found = self.body if self.combination is None else self.combination.data
        assert found is not None, "the verifier asks for one of them"
        return found

    def _verify_ins(self) -> tuple[int, ...]:
        """Verifies operands and body; returns the shape of what is combined along all dimensions."""
        if (self.combination is None) == (self.body is None):
            raise MapBodyError("expected a combination or a region, found " + ("both" if self.body else "neither"))
        if not self.ins or (self.body is None and len(self.ins) > 1):
            raise OperandFormError(f"expected one tile, or several with a region, found {len(self.ins)}")
        types = [TileType.of(tile) for tile in self.ins]
        for type_ in types:
            require_readable(type_)
            if type_.dtype.storage_bits < LEAST_BITS:
                raise ElementTypeError(
                    f"expected elements of {LEAST_BITS} bits or more to combine, found {type_.element_type}; a "
                    "tirx.map makes them wider"
                )
            if type_.dims != types[0].dims:
                raise TileShapeError(
                    f"expected tiles of one shape, found {shape_text(types[0])} and {shape_text(type_)}"
                )
        rank, along = len(types[0].dims), self.along
        if not along or len(set(along)) != len(along) or not all(0 <= d < rank for d in along):
            raise DimensionError(f"expected different dimensions from 0 to {rank - 1}, found {list(along)}")
        if self.body is not None:
            scalars = [scalar_type(type_.element_type) for type_ in types]
            verify_body(self.body.block, [*scalars, *scalars], scalars)
        return tuple(1 if d in along else n for d, n in enumerate(types[0].dims))

    def _verify_tiles(self, tiles: Sequence[SSAValue], dims: Sequence[int], results: bool = True) -> None:
        """Verifies that there is a tile in registers of these extents for each operand."""
        for tile, like in zip(tiles, self.ins, strict=True):
            type_, element = TileType.of(tile), TileType.of(like).element_type
            require_register(type_) if results else require_readable(type_)
            if (type_.dims, type_.element_type) != (tuple(dims), element):
                raise TileShapeError(f"expected a {'x'.join(map(str, dims))} tile of {element}, found {type_}")

    @classmethod
    def _dims(cls, dims: Sequence[int]) -> Any:
        """Returns what the constructor takes of the dimensions in the text."""
        return dims

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        found: dict[str, Any] = {}
        several = parser.parse_optional_keyword("ins") is not None
        ins, one = (parse_typed(parser), []) if several else ([], parse_operands(parser, 1))
        parser.parse_keyword("dim")
        dims = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_integer(parser))
        name = None if several else parser.parse_str_enum(Combination)
        cls.CLAUSES.parse(parser, found)
        attributes = parse_attributes(parser, cls, keyword=several)
        if one:
            ins = parse_types(parser, one)
        text = None if name else ScalarText.parse_optional(parser)
        how = name or (parser.parse_region() if text is None else None)
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if text is not None:
            tiles = [value.type for value in ins]
            how = text.region(parser, [*tiles, *tiles], tiles, YIELD)
        return cls(ins, cls._dims(dims), how, types, **found).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        if self.body is None:
            write(printer, " ", self.source)
        else:
            write(printer, " ins", *TYPED.shown(self.ins))
        write(printer, f" dim({', '.join(map(str, self.along))})")
        if self.combination is not None:
            write(printer, f" {self.combination.data}")
        self.CLAUSES.print(printer, self)
        if self.body is None:
            write_types(printer, self, self.source)
            return
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        write(printer, " -> ", [result.type for result in self.results])


@irdl_op_definition
class ReduceOp(FoldOp):
    """`%m = tirx.reduce %x dim(1) max : !tirx.tile<128x64xf32, register> -> !tirx.tile<128x1xf32, register>`

    Combines the elements along one or several dimensions, whose extents in the result are 1. A name is done in the
    element type; integers with a sign of their own are compared with it, `i32` as signed. A region combines several
    tiles of one shape at once: its arguments are the accumulators and then one element of each tile, and it yields the
    new accumulators. It has to be associative and commutative.

    ```mlir
    %most, %where = tirx.reduce ins(%x, %at : !tirx.tile<8x64xf32, register>, !tirx.tile<8x64xi32, register>) dim(1) {
    ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
      %first = arith.cmpf oge, %a, %b : f32
      %c = arith.select %first, %a, %b : f32
      %k = arith.select %first, %i, %j : i32
      tirx.yield %c, %k : f32, i32
    } -> !tirx.tile<8x1xf32, register>, !tirx.tile<8x1xi32, register>
    ```

    The order is not specified, but the same in every run of a kernel.
    """

    name = "tirx.reduce"

    dims = prop_def(ArrayAttr[IntegerAttr[I32]])
    res = var_result_def(TileType)

    def __init__(
        self,
        ins: Sequence[SSAValue],
        dims: Sequence[int],
        how: Combination | Region,
        types: Sequence[Attribute],
    ):
        name, body = _split(how)
        super().__init__(ins=ins, combination=name, body=body, dims=dims, res=types)

    @property
    def along(self) -> tuple[int, ...]:
        return tuple(d.value.data for d in self.dims)

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [self.ins] if len(self.ins) > 1 else []

    def reductions(self) -> Sequence[Reduced]:
        return [Reduced(tile, part, self.along) for tile, part in zip(self.ins, self.res, strict=True)]

    def verify_(self) -> None:
        part = self._verify_ins()
        if len(self.res) != len(self.ins):
            raise OperandFormError(f"expected one result for each of {len(self.ins)} tiles, found {len(self.res)}")
        self._verify_tiles(self.res, part)


@irdl_op_definition
class ScanOp(FoldOp):
    """`%y = tirx.scan %x dim(1) add : !tirx.tile<8x64xf32, register> -> !tirx.tile<8x64xf32, register>`

    Combines along one dimension and gives every accumulator on the way: `acc = init; for i: acc = f(acc, x[i]); y[i] =
    acc`. With `exclusive` y[i] is the accumulator before, with `reverse` the last element comes first. Without `init`
    the first element is the first accumulator; `exclusive` needs an init, or a name, whose identity it takes. A second
    result for each tile is the last accumulator: its extent along the dimension is 1, as that of the tiles of `init`,
    so that a loop carries it from one part to the next.

    ```mlir
    %y, %all = tirx.scan %x dim(1) add exclusive reverse init(%c : !tirx.tile<8x1xi32, register>)
      : !tirx.tile<8x64xi32, register> -> !tirx.tile<8x64xi32, register>, !tirx.tile<8x1xi32, register>
    ```

    A region scans several tiles of one shape at once, as that of `tirx.reduce` does; it has to be associative. The
    bracketing is not specified, but the same in every run of a kernel.
    """

    name = "tirx.scan"

    ins = var_operand_def(TileType)  # the first operands
    dim = prop_def(IntegerAttr[I32])
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)
    inits = var_operand_def(TileType)
    res = var_result_def(TileType)

    CLAUSES: ClassVar = AnyOrder(Clause("exclusive"), Clause("reverse"), Clause("init", TYPED, "inits"))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        ins: Sequence[SSAValue],
        dim: int,
        how: Combination | Region,
        types: Sequence[Attribute],
        inits: Sequence[SSAValue] = (),
        *,
        exclusive: bool = False,
        reverse: bool = False,
    ):
        """`types` are those of the scanned tiles, and behind them those of the totals or none."""
        name, body = _split(how)
        flags = {"exclusive": exclusive, "reverse": reverse}
        super().__init__(ins=ins, combination=name, body=body, dim=dim, inits=inits, res=types, **flags)

    @property
    def along(self) -> tuple[int, ...]:
        return (self.dim.value.data,)

    @property
    def scanned(self) -> Sequence[SSAValue]:
        """The accumulators at each element."""
        return self.res[: len(self.ins)]

    @property
    def totals(self) -> Sequence[SSAValue]:
        """The last accumulators, or none."""
        return self.res[len(self.ins) :]

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [[*self.ins, *self.scanned]]

    def reductions(self) -> Sequence[Reduced]:
        return [Reduced(self.ins[0], part, self.along) for part in (*self.inits, *self.totals)]

    def verify_(self) -> None:
        part = self._verify_ins()
        count = len(self.ins)
        if len(self.res) not in (count, 2 * count):
            raise OperandFormError(f"expected {count} results, or as many totals behind them, found {len(self.res)}")
        self._verify_tiles(self.scanned, TileType.of(self.source).dims)
        if self.totals:
            self._verify_tiles(self.totals, part)
        if self.inits:
            if len(self.inits) != count:
                raise OperandFormError(f"expected one init for each of {count} tiles, found {len(self.inits)}")
            self._verify_tiles(self.inits, part, results=False)
        elif self.exclusive is not None and self.body is not None:
            raise MapBodyError("expected init(...) for an exclusive scan with a region: its first element is the init")

    @classmethod
    def _dims(cls, dims: Sequence[int]) -> int:
        if len(dims) != 1:
            raise DimensionError(f"expected one dimension of a scan, found {dims}")
        return dims[0]
