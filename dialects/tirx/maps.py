"""Arithmetic on register tiles: elementwise maps, broadcasts, and changes of layout."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import I32, I64, ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure

from tirx.diagnostics import operation_name
from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.ptx.base import PureInstruction
from tirx.dialects.syntax import parse_attributes, parse_typed, types_text, write
from tirx.dialects.tirx.attributes import MemorySpace, TileType, shape_text
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.tirx.interface import Reduced, ScalarOpInterface, TileOpInterface
from tirx.dialects.tirx.registers import require_register
from tirx.dialects.tirx.scalar_text import ScalarText
from tirx.dialects.tirx.views import OneToOneOp
from tirx.layout import TileLayout
from tirx.layout.arrangement import Arrangement, in_order
from tirx.rules import DimensionError, ElementTypeError, MapBodyError, TileShapeError

HALF_BYTE = 4
"""Bits of elements of which two fill a byte."""

YIELD = "tirx.yield"
INLINED = ("func.call", "scf.for", "scf.if", "affine.apply")
"""Operations that bodies of maps and folds may have, too, until `tirx-inline` puts scalars in its place."""


def require_readable(type_: TileType) -> None:
    if type_.memory is not MemorySpace.ACCUMULATOR:
        require_register(type_)


def require_broadcast(source: TileType, result: TileType) -> None:
    """Raises VerifyException unless every extent of `source` is that of `result`, or 1."""
    fits = len(source.dims) == len(result.dims) and all(
        a in (1, b) for a, b in zip(source.dims, result.dims, strict=True)
    )
    if not fits:
        raise TileShapeError(
            f"expected a tile of the extents of the result, {shape_text(result)}, or 1 in their place, "
            f"found {shape_text(source)}"
        )


def is_reordered(source: TileType, whole: TileType) -> bool:
    """Returns True for elements of 4 bits that threads have in another order than those of `whole`, the same ones.

    Eight of them fill a register. What a map makes of each takes it from where it is.
    """
    if source.dtype.bits != HALF_BYTE or not (
        isinstance(layout := source.layout, TileLayout) and isinstance(other := whole.layout, TileLayout)
    ):
        return False
    return not layout.equivalent(other) and in_order(layout).equivalent(in_order(other))


def _broadcast(source: SSAValue, result: SSAValue) -> list[Reduced]:
    """Returns the constraint of a tile of which one element stands for several of `result`; none for equal shapes."""
    pairs = zip(TileType.of(source).dims, TileType.of(result).dims, strict=True)
    dims = tuple(d for d, (a, b) in enumerate(pairs) if a != b)
    return [Reduced(result, source, dims)] if dims else []


class _WritesOuts(MemoryEffect):
    """A map writes the register tiles after `outs`; without them it is a function of its operands."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, MapOp)
        return {EffectInstance(MemoryEffectKind.WRITE, out) for out in op.outs}


@irdl_op_definition
class MapOp(DirectOperation, TileOpInterface):
    """Computes every element of one or several register tiles from the elements at the same place of others:

    ```mlir
    %y = tirx.map ins(%x, %bias : !tirx.tile<128x64xf32, register>, !tirx.tile<1x64xf16, register>) {
    ^bb0(%a: f32, %b: f16):
      %c = arith.extf %b : f16 to f32
      %s = arith.addf %a, %c : f32
      %h = arith.truncf %s : f32 to f16
      tirx.yield %h : f16
    } -> !tirx.tile<128x64xf16, register>
    ```

    Operands have the rank of the results, and their extents or 1: such an operand has one element for all places
    along the dimension. Threads hold the same elements of all tiles, those of 4 bits in any order. The body has
    operations of `arith` and `math` and `tirx.index`, and may use scalars from outside. Results are values, or, with
    `outs(%d : T)` instead of a result type, allocations in registers. Operands and allocations may be accumulators.
    `%n = tirx.map () { %i * 16 } -> index` is an expression of scalars, which is parsed as its operations of `arith`.
    """

    name = "tirx.map"

    ins = var_operand_def(TileType)
    body = region_def("single_block")
    res = var_result_def(TileType)
    outs = var_operand_def(TileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_WritesOuts())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        ins = parse_typed(parser) if parser.parse_optional_keyword("ins") is not None else []
        outs = parse_typed(parser) if parser.parse_optional_keyword("outs") is not None else []
        attributes = parse_attributes(parser, cls, keyword=True)
        text = ScalarText.parse_optional(parser)
        body = parser.parse_region() if text is None else None
        types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if text is not None and types and not (ins or outs or any(isinstance(each, TileType) for each in types)):
            return text.scalar(parser, types, YIELD)
        if text is not None:
            found = types or [tile.type for tile in outs]
            body = text.region(parser, [tile.type for tile in ins], found, YIELD)
        assert body is not None
        return cls.create(
            operands=[*ins, *outs],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [len(ins), len(outs)])},
            attributes=attributes,
            result_types=types,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        for name, tiles in (("ins", self.ins), ("outs", self.outs)):
            if tiles:
                write(printer, f" {name}(", tiles, " : ", [tile.type for tile in tiles], ")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        if self.res:
            write(printer, " -> ", [value.type for value in self.res])

    @property
    def out_types(self) -> list[TileType]:
        """The types of the tiles that are computed, values or allocations."""
        return [TileType.of(value) for value in (*self.res, *self.outs)]

    def tile_reads(self) -> Sequence[SSAValue]:
        return self.ins

    def tile_writes(self) -> Sequence[SSAValue]:
        return self.outs

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        whole = self.out_types[0]
        tiles = [tile for tile in self.ins if TileType.of(tile).dims == whole.dims]
        return [[*(tile for tile in tiles if not is_reordered(TileType.of(tile), whole)), *self.res]]

    def reductions(self) -> Sequence[Reduced]:
        return [found for tile in self.ins for found in _broadcast(tile, (*self.res, *self.outs)[0])]

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The scalars that become the elements of the results."""
        last = self.body.block.last_op
        return () if last is None else last.operands

    def verify_(self) -> None:
        if bool(self.res) == bool(self.outs):
            raise MapBodyError(
                "expected result types or outs(...), one of the two, found " + ("both" if self.res else "neither")
            )
        first, *others = self.out_types
        for value in self.res:
            require_register(TileType.of(value))
        for tile in (*self.ins, *self.outs):
            require_readable(TileType.of(tile))
        for type_ in others:
            if type_.dims != first.dims:
                raise TileShapeError(
                    f"expected results of one shape, found {shape_text(first)} and {shape_text(type_)}"
                )
        for tile in self.ins:
            require_broadcast(TileType.of(tile), first)
        self._verify_body()

    def _verify_body(self) -> None:
        arguments = [scalar_type(TileType.of(tile).element_type) for tile in self.ins]
        yielded = [scalar_type(type_.element_type) for type_ in self.out_types]
        verify_body(self.body.block, arguments, yielded, "tirx.index")


def verify_body(block: Block, arguments: list[Attribute], yielded: list[Attribute], *others: str) -> None:
    """Raises MapBodyError unless a block computes scalars from scalars; it may have the operations `others`, too."""
    if (found := [argument.type for argument in block.args]) != arguments:
        raise MapBodyError(f"expected a body with arguments {types_text(arguments)}, found {types_text(found)}")
    last = block.last_op
    if last is None or last.name != YIELD:
        raise MapBodyError(f"expected a body that ends in '{YIELD}'")
    if (found := [value.type for value in last.operands]) != yielded:
        raise MapBodyError(f"expected '{YIELD}' with {types_text(yielded)}, found {types_text(found)}")
    _verify_scalars(block, last, others)


def _verify_scalars(block: Block, last: Operation | None, others: tuple[str, ...]) -> None:
    for op in block.ops:
        known = op.name.startswith(("arith.", "math.", *others)) or (
            isinstance(op, ScalarOpInterface | PureInstruction) and len(op.results) == 1
        )
        if op.name in INLINED:
            for inner in (inner for region in op.regions for inner in region.blocks):
                _verify_scalars(inner, inner.last_op, others)
        elif op is not last and (op.regions or not known):
            where = "a map" if others else "a reduction or scan"
            raise MapBodyError(
                f"expected {', '.join(('arith', 'math', *others))}, operations with ScalarOpInterface and pure "
                f"instructions of one result in the body of {where}, found '{operation_name(op)}'"
            )


@irdl_op_definition
class IndexOp(DirectOperation):
    """`%j = tirx.index 1`: inside of a map, where the element lies along dimension 1 of the result."""

    name = "tirx.index"

    dim = prop_def(IntegerAttr[I32])
    result = result_def(IndexType())

    assembly_format = "$dim attr-dict"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        around = self.parent_op()
        if not isinstance(around, MapOp):
            raise MapBodyError(f"expected a 'tirx.map' around, found {'none' if around is None else around.name}")
        rank = len(around.out_types[0].dims)
        if not 0 <= self.dim.value.data < rank:
            raise DimensionError(f"expected a dimension from 0 to {rank - 1}, found {self.dim.value.data}")


class _RegisterOp(OneToOneOp, TileOpInterface):
    """An operation that makes one register tile of another."""

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        require_readable(source)
        require_register(result)
        if source.element_type != result.element_type:
            raise ElementTypeError(f"expected {source.element_type} elements, found {result.element_type}")


@irdl_op_definition
class BroadcastOp(_RegisterOp):
    """`%b = tirx.broadcast %x : !tirx.tile<128x1xf32, register> -> !tirx.tile<128x64xf32, register>`

    Repeats the elements along the dimensions whose extent is 1.
    """

    name = "tirx.broadcast"

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [] if self.reductions() else [(self.source, self.result)]

    def reductions(self) -> Sequence[Reduced]:
        return _broadcast(self.source, self.result)

    def verify_(self) -> None:
        super().verify_()
        require_broadcast(TileType.of(self.source), self.result.type)


@irdl_op_definition
class ConvertOp(_RegisterOp):
    """`%c = tirx.convert %x : !tirx.tile<64x64xf16, register, L> -> !tirx.tile<64x64xf16, register, L2>`

    The same elements in other threads or other registers of them. With `elements [offset, strides]` those of
    the result are some of the source's, counted in row-major order: `tirx-mem2reg` makes it of a part of a value, a
    reshaped or a transposed one.
    """

    name = "tirx.convert"

    elements = opt_prop_def(ArrayAttr[IntegerAttr[I64]])

    assembly_format = "$source (`elements` $elements^)? attr-dict `:` type($source) `->` type($result)"

    @staticmethod
    def of(source: SSAValue, arranged: Arrangement) -> ConvertOp:
        """Returns the operation that makes a tile of some elements of another, which has no layout yet."""
        type_ = TileType.of(source)
        numbers = [arranged.offset, *arranged.strides]
        return ConvertOp(source, TileType.get(arranged.dims, type_.element_type, type_.memory), numbers)

    @property
    def arranged(self) -> Arrangement | None:
        """The elements of the source that the result has, None if it has all of them in their place."""
        if self.elements is None:
            return None
        offset, *strides = (n.value.data for n in self.elements)
        return Arrangement(self.result.type.dims, offset, tuple(strides))

    def verify_(self) -> None:
        super().verify_()
        source, result = TileType.of(self.source), self.result.type
        if (arranged := self.arranged) is None:
            if source.dims != result.dims:
                raise TileShapeError(
                    f"expected tiles of one shape, found {shape_text(source)} and {shape_text(result)}"
                )
            return
        if len(arranged.strides) != len(result.dims):
            raise DimensionError(
                f"expected an offset and {len(result.dims)} strides, found {len(arranged.strides)} strides"
            )
        reach = [stride * (n - 1) for stride, n in zip(arranged.strides, result.dims, strict=True)]
        first, last = (arranged.offset + sum(end(0, n) for n in reach) for end in (min, max))
        if first < 0 or last >= source.num_elements:
            raise DimensionError(f"expected elements from 0 to {source.num_elements - 1}, found {first} to {last}")
