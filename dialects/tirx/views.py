"""Other views of a tile: a part of it, or the same elements under another shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import I32, ArrayAttr, IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.syntax import Clause, parse_attributes, parse_integer, write, write_types
from tirx.dialects.tirx.attributes import MemorySpace, TileType, shape_text
from tirx.dialects.tirx.index_text import made, parse_offset
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.tirx.places import ViewOp, layout_strides
from tirx.hw.errors import LegalityError, OperandLayoutError
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.rules import DimensionError, InvalidOperation, PartError, TileMemoryError, TileShapeError
from tirx.tcgen05.stored_operand import UNIT, bitcast_to_words

PACKED_BITS = 6
"""Elements that global memory has packed and shared memory in a byte each, as layouts count them there."""

COMPUTED = -1
"""Stands for an offset that is an operand."""

_Layout = TileLayout | ComposeLayout


def _require_same_storage(source: TileType, part: TileType) -> None:
    if (part.element_type, part.memory) != (source.element_type, source.memory):
        raise PartError(
            f"expected {source.element_type} elements in {source.memory.place} like the source's, "
            f"found {part.element_type} in {part.memory.place}"
        )


def _same_places(expected: TileLayout | ComposeLayout, found: TileLayout | ComposeLayout | None) -> bool:
    match expected, found:
        case _, None:
            return False
        case TileLayout(), TileLayout():
            return expected.equivalent(found)
        case ComposeLayout(), _:
            return expected.equivalent(found)
        case TileLayout(), ComposeLayout():
            return found.equivalent(expected)


@lru_cache(maxsize=1024)
def _part_type(
    source: TileType, offsets: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...] | None
) -> TileType:
    layout = source.layout
    if layout is not None and steps is not None and any(step != 1 for step in steps):
        moved = dict(layout.offsets) if isinstance(layout, TileLayout) else {}
        strides = layout_strides(layout, source.dims)
        if strides is None or moved.keys() - {"m"}:
            raise LayoutError(
                f"expected a tile with one stride along each dimension, or without a layout, for steps, found {layout}"
            )
        first = moved.get("m", 0) + sum(start * stride for start, stride in zip(offsets, strides, strict=True))
        shard = [Iter(n, stride * step, "m") for n, stride, step in zip(shape, strides, steps, strict=True)]
        layout = TileLayout(shard, (), (("m", first),))
    elif layout is not None:
        region = tuple((start, start + extent) for start, extent in zip(offsets, shape, strict=True))
        layout = layout.slice(source.dims, region)
    return TileType.get(shape, source.element_type, source.memory, layout)


class _ViewOfView(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return _MergeReshapes(), _MergeSubviews()


_STEPS = Clause("steps [*]", int)


@irdl_op_definition
class SubviewOp(DirectOperation):
    """`%s = tirx.subview %t[0, %i] : !tirx.tile<128x128xf32, tensor, ...> -> !tirx.tile<128x32xf32, tensor, ...>`

    The part of a tile that starts at these coordinates. Its layout is the slice of the tile's. Coordinates that are
    computed are of type index; the slices at all of their values have one layout, and differ in their address only.
    `steps [1, -1]` behind the coordinates takes every n-th element along each dimension, or goes backwards; of tiles
    in memory those in shared memory, with one stride along each dimension. With a number in place of the result type,
    the part of a register tile is one element, which `tirx.element` hands to all threads.
    """

    name = "tirx.subview"

    source = operand_def(TileType)
    indices = var_operand_def(IndexType())
    offsets = prop_def(ArrayAttr[IntegerAttr[I32]])
    steps = opt_prop_def(ArrayAttr[IntegerAttr[I32]])
    result = result_def(TileType)

    traits = traits_def(Pure(), _ViewOfView())

    def __init__(
        self, source: SSAValue, offsets: Sequence[int | SSAValue], type_: Attribute, steps: Sequence[int] | None = None
    ):
        indices = [n for n in offsets if isinstance(n, SSAValue)]
        numbers = [n if isinstance(n, int) else COMPUTED for n in offsets]
        super().__init__(source=source, indices=indices, offsets=numbers, result=type_, steps=steps)

    @staticmethod
    def type_of(
        source: TileType, offsets: Sequence[int], shape: Sequence[int], steps: Sequence[int] | None = None
    ) -> TileType:
        """The type of a part of a tile. Raises LayoutError when the tile's layout has no such slice."""
        return _part_type(source, tuple(offsets), tuple(shape), None if steps is None else tuple(steps))

    @property
    def step(self) -> tuple[int, ...]:
        """The distance to the next element along each dimension, in elements of the source."""
        if self.steps is None:
            return (1,) * len(self.offsets)
        return tuple(n.value.data for n in self.steps)

    @staticmethod
    def of(source: SSAValue, offsets: Sequence[int | SSAValue], shape: Sequence[int]) -> SubviewOp:
        """The subview with its type derived. Raises LayoutError when the tile's layout has no such slice."""
        start = [n if isinstance(n, int) else 0 for n in offsets]
        return SubviewOp(source, offsets, SubviewOp.type_of(TileType.of(source), start, shape))

    @property
    def start(self) -> tuple[int, ...]:
        """The coordinates where the part starts, with 0 for those that are computed."""
        return tuple(0 if n.value.data == COMPUTED else n.value.data for n in self.offsets)

    @property
    def computed(self) -> dict[int, SSAValue]:
        """Dimension -> the coordinate in it that is computed."""
        dimensions = [d for d, n in enumerate(self.offsets) if n.value.data == COMPUTED]
        return dict(zip(dimensions, self.indices, strict=True))

    @property
    def mixed_offsets(self) -> list[int | SSAValue]:
        """The coordinates where the part starts."""
        return [self.computed.get(d, n) for d, n in enumerate(self.start)]

    def verify_(self) -> None:
        source, part = TileType.of(self.source), self.result.type
        if sum(n.value.data == COMPUTED for n in self.offsets) != len(self.indices):
            raise PartError(f"expected an operand for each computed offset, found {len(self.indices)}")
        if len(self.start) != len(source.dims) or len(part.dims) != len(source.dims):
            raise PartError(
                f"expected {len(source.dims)} offsets and a tile of that rank, "
                f"found {len(self.start)} offsets and a {shape_text(part)} tile"
            )
        if len(self.step) != len(source.dims) or 0 in self.step:
            raise PartError(f"expected {len(source.dims)} steps other than 0, found {list(self.step)}")
        if self.steps is not None and source.memory not in (MemorySpace.REGISTER, MemorySpace.SHARED):
            raise PartError(f"expected steps on a tile in registers or shared memory, found {source}")
        for start, extent, size, step in zip(self.start, part.dims, source.dims, self.step, strict=True):
            last = start + (extent - 1) * step
            if min(start, last) < 0 or max(start, last) >= size:
                raise PartError(
                    f"expected a part of the {shape_text(source)} tile, found {shape_text(part)} at {list(self.start)}"
                )
        _require_same_storage(source, part)
        try:
            expected = SubviewOp.type_of(source, self.start, part.dims, self.step)
        except LayoutError as e:
            raise PartError(str(e)) from e
        if expected.layout is not None and not _same_places(expected.layout, part.layout):
            raise PartError(f"expected the slice of the source's layout, {expected}, found {part}")

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operand = parser.parse_unresolved_operand()
        start = parser.pos
        offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_offset(parser))
        numbers = [n for n in offsets if isinstance(n, int)]
        if any(not 0 <= n < 2**31 for n in numbers):
            parser.raise_error(f"expected offsets of 0 or more, below 2**31, found {numbers}", start, parser.pos)
        found: dict[str, Any] = {}
        _STEPS.parse(parser, found)
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        source = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        result: Attribute = parser.parse_type()
        element = None if isinstance(result, TileType) or not is_register_tile(source) else result
        if element is not None:
            result = TileType.get([1] * len(offsets), TileType.of(source).element_type, MemorySpace.REGISTER)
        op = cls(source, offsets, result, **found)
        op.attributes.update(attributes)
        if element is None:
            return op
        kind = parser.ctx.get_op("tirx.element")
        return kind.create(operands=[made(parser, op)], result_types=[element])

    def print(self, printer: Printer) -> None:
        write(printer, " ", self.source)
        with printer.in_square_brackets():
            printer.print_list(self.mixed_offsets, lambda n: write(printer, str(n) if isinstance(n, int) else n))
        _STEPS.print(printer, self)
        write_types(printer, self, self.source)


class OneToOneOp(DirectOperation):
    """An operation that makes one tile of another."""

    source = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    traits = traits_def(Pure())


@irdl_op_definition
class ReshapeOp(OneToOneOp):
    """`%r = tirx.reshape %t : !tirx.tile<64x256xf32, tensor, L> -> !tirx.tile<64x2x128xf32, tensor, L>`

    The same elements in row-major order under another shape. A layout admits every shape of its size, so
    it stays as it is.
    """

    name = "tirx.reshape"

    traits = traits_def(Pure(), _ViewOfView())

    def __init__(self, source: SSAValue, shape: Sequence[int]):
        type_ = TileType.of(source)
        super().__init__(source, TileType.get(shape, type_.element_type, type_.memory, type_.layout))

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        if source.num_elements != result.num_elements:
            raise PartError(f"expected {source.num_elements} elements, found {result.num_elements}")
        _require_same_storage(source, result)
        if source.layout != result.layout:
            raise PartError(
                f"expected the layout of the source, {source.layout or 'none'}, found {result.layout or 'none'}"
            )


@irdl_op_definition
class TransposeOp(DirectOperation):
    """`%y = tirx.transpose %x [1, 0] : !tirx.tile<64x32xf16, register> -> !tirx.tile<32x64xf16, register>`

    The tile whose dimension i is dimension `permutation[i]` of another one, in registers or in shared memory. There it
    is the same memory: the layout is that of the source with its dimensions in another order.
    """

    name = "tirx.transpose"

    source = operand_def(TileType)
    permutation = prop_def(ArrayAttr[IntegerAttr[I32]])
    result = result_def(TileType)

    traits = traits_def(Pure())

    @staticmethod
    def layout_of(layout: _Layout, dims: Sequence[int], order: Sequence[int]) -> _Layout:
        """The layout of a tile in memory with its dimensions in another order."""
        return layout.permute(order, dims)

    @property
    def arranged(self) -> Arrangement:
        """The elements of the source that the result has."""
        return Arrangement.transposed(TileType.of(self.source).dims, self.order)

    @property
    def order(self) -> tuple[int, ...]:
        """The dimension of the source that each dimension of the result is."""
        return tuple(d.value.data for d in self.permutation)

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        if source.memory in (MemorySpace.GLOBAL, MemorySpace.TENSOR):
            raise TileMemoryError(f"expected a tile in registers or shared memory, found {source}")
        if source.memory is not MemorySpace.ACCUMULATOR or result.memory is not MemorySpace.REGISTER:
            _require_same_storage(source, result)
        rank = len(source.dims)
        if sorted(self.order) != list(range(rank)):
            raise DimensionError(f"expected each dimension from 0 to {rank - 1} once, found {list(self.order)}")
        expected = tuple(source.dims[d] for d in self.order)
        if (result.dims, result.element_type) != (expected, source.element_type):
            raise TileShapeError(
                f"expected a {'x'.join(map(str, expected))} tile of {source.element_type}, found {result}"
            )
        if source.memory is MemorySpace.SHARED and source.layout is not None:
            layout = TransposeOp.layout_of(source.layout, source.dims, self.order)
            if not _same_places(layout, result.layout):
                raise PartError(f"expected the layout of the source in another order, {layout}, found {result}")

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        operand = parser.parse_unresolved_operand()
        order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_integer(parser))
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        source = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        return cls(source, order, parser.parse_type()).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        write(printer, " ", self.source, f" {list(self.order)}")
        write_types(printer, self, self.source)


class _MergeReshapes(RewritePattern):
    """A reshape of a reshape is a reshape, and one to the same shape is nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif isinstance(inner := op.source.owner, ReshapeOp):
            rewriter.replace(op, ReshapeOp(inner.source, op.result.type.dims))


class _MergeSubviews(RewritePattern):
    """A part of a part is a part, and all of a tile is the tile."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubviewOp, rewriter: PatternRewriter) -> None:
        if op.steps is not None:
            return
        if op.source.type == op.result.type and not op.indices:
            rewriter.replace(op, [], [op.source])
        elif (
            isinstance(inner := op.source.owner, SubviewOp)
            and not op.indices
            and not inner.indices
            and inner.steps is None
        ):
            start = [a + b for a, b in zip(inner.start, op.start, strict=True)]
            rewriter.replace(op, SubviewOp(inner.source, start, op.result.type))


@irdl_op_definition
class WordsOp(OneToOneOp):
    """`%w = tirx.words %t : !tirx.tile<128x64xf6E2M3FN, shared, L> -> !tirx.tile<128x4x3xi32, shared, L2>`

    The 32-bit words that hold a tile of 6-bit elements, three for 16 neighbours: behind each other in global memory,
    where elements are packed, and in the first 12 of every 16 bytes in shared memory, as tensor cores read them.
    `tirx.pack` gives those of a tile in registers.
    """

    name = "tirx.words"

    def __init__(self, source: SSAValue):
        super().__init__(source, WordsOp.type_of(TileType.of(source)))

    @staticmethod
    def type_of(source: TileType) -> TileType:
        """The words of a placed tile. Raises LegalityError for one that has none: other elements, split units."""
        return _words_type(source)

    def verify_(self) -> None:
        try:
            if (source := TileType.of(self.source)).memory is MemorySpace.REGISTER:
                raise PartError(
                    f"expected a tile in global or shared memory, found {source}; tirx.pack is for registers"
                )
            expected = WordsOp.type_of(source)
        except LegalityError as e:
            raise InvalidOperation(str(e)) from e
        if self.result.type != expected:
            raise PartError(f"expected {expected}, found {self.result.type}")


_WORDS_OF_RUN = {MemorySpace.GLOBAL: 3, MemorySpace.SHARED: 4, MemorySpace.REGISTER: 3}
"""Memory space -> words from one run of 16 elements to the next, where it holds such tiles."""


@lru_cache(maxsize=256)
def _words_type(source: TileType) -> TileType:
    layout = source.layout
    if source.dtype.bits != PACKED_BITS or source.memory not in _WORDS_OF_RUN or layout is None:
        raise OperandLayoutError(
            f"expected a tile of {PACKED_BITS}-bit elements and a layout in global or shared memory or in registers, "
            f"found {source}"
        )
    words = bitcast_to_words(layout, source.dims, _WORDS_OF_RUN[source.memory])
    shape = (*source.dims[:-1], source.dims[-1] // UNIT, 3)
    return TileType.get(shape, i32, source.memory, words)


PartOp = SubviewOp | ReshapeOp | TransposeOp | WordsOp
"""Operations whose result is a part of the memory of a tile."""


def views_in_use(tile: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """The operations that use a tile or a part of it, each with the value that it uses."""
    for use in tile.uses:
        match use.operation:
            case SubviewOp() | ReshapeOp() | TransposeOp() | ViewOp() as part:
                yield from views_in_use(part.result)
            case op:
                yield op, tile


def at_known_place(tile: SSAValue) -> SSAValue:
    """The smallest tile that `tile` is a part of, or is, whose place in the allocation does not depend on indices."""
    found = part = tile
    while isinstance(op := part.owner, SubviewOp | ReshapeOp | TransposeOp | ViewOp):
        part = op.source
        if isinstance(op, SubviewOp | ViewOp) and op.indices:
            found = part
    return found


def base_allocation(value: SSAValue) -> SSAValue:
    """The allocation or memref that a tile is a part of."""
    while isinstance(op := value.owner, _PARTS):
        value = op.source
    return value


_PARTS = (SubviewOp, ReshapeOp, TransposeOp, ViewOp, WordsOp)
"""Operations whose results are parts of their source."""
