"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I1,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
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
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.tirx.attributes import Scope, TileType, ZeroColumnsAttr
from tirx.dialects.tirx.syntax import parse_attributes, shape_text
from tirx.layout import Iter, TileLayout


@irdl_op_definition
class AllocOp(IRDLOperation):
    """
    `%t = tirx.alloc : !tirx.tile<128x64xf16, shared>`: a tile with undefined contents, for the whole kernel.
    """

    name = "tirx.alloc"

    result = result_def(TileType)

    assembly_format = "attr-dict `:` type($result)"

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, type_: TileType):
        super().__init__(result_types=[type_])

    def verify_(self) -> None:
        type_ = self.result.type
        if type_.memory is Scope.GLOBAL:
            raise VerifyException(
                "expected a shared, tensor or register tile, found a global one: kernels get global memory "
                "as memref arguments"
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
        return f"expected static strides (only the outermost extent of a memref may be dynamic), found {type_}"
    static = [stride for stride in strides if stride is not None]
    if any(stride < 0 for stride in static):
        return f"expected strides of 0 or more, found {type_}"
    return TileLayout(Iter(n, s, "m") for n, s in zip(shape, static[len(static) - len(shape) :], strict=True))


@irdl_op_definition
class ViewOp(IRDLOperation):
    """
    `%t = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>`

    The tile of global memory whose first element is `%a[%m, %k]`. A tile of lower rank than the memref
    covers its trailing dimensions. The layout of the tile is given by the strides of the memref.
    """

    name = "tirx.view"

    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def(TileType)

    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], type_: TileType):
        super().__init__(operands=[source, indices], result_types=[type_])

    @property
    def source_type(self) -> MemRefType[Attribute]:
        type_ = self.source.type
        if not isinstance(type_, MemRefType):
            raise VerifyException(f"expected a memref, found {type_}")
        return type_  # pyright: ignore[reportUnknownVariableType]

    def verify_(self) -> None:
        source, tile = self.source_type, self.result.type
        if len(self.indices) != source.get_num_dims():
            raise VerifyException(f"expected {source.get_num_dims()} indices into {source}, found {len(self.indices)}")
        if not isinstance(source.memory_space, NoneAttr):
            raise VerifyException(f"expected a memref in global memory, without a memory space, found {source}")
        if tile.memory is not Scope.GLOBAL:
            raise VerifyException(f"expected a global tile, found a {tile.memory} one")
        if len(tile.dims) > source.get_num_dims():
            raise VerifyException(
                f"expected a tile of rank {source.get_num_dims()} or less in {source}, found {shape_text(tile)}"
            )
        if tile.element_type != source.element_type:
            raise VerifyException(f"expected {source.element_type} elements, found {tile.element_type}")
        for size, extent in zip(reversed(source.get_shape()), reversed(tile.dims), strict=False):
            if 0 <= size < extent:
                raise VerifyException(f"expected a tile that fits into {source}, found {shape_text(tile)}")
        layout = strided_layout(source, tile.dims)
        if isinstance(layout, str):
            raise VerifyException(layout)
        if isinstance(tile.placement, TileLayout) and not tile.placement.equivalent(layout):
            raise VerifyException(f"expected the layout of {source}, {layout}, found {tile.placement}")


@irdl_op_definition
class FillOp(IRDLOperation):
    """`tirx.fill %t, %v : f32, !tirx.tile<128x256xf32, tensor>`: every element becomes `%v`."""

    name = "tirx.fill"

    tile = operand_def(TileType)
    value = operand_def(AnyAttr())

    assembly_format = "$tile `,` $value attr-dict `:` type($value) `,` type($tile)"

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, tile: SSAValue, value: SSAValue):
        super().__init__(operands=[tile, value])

    @property
    def tile_type(self) -> TileType:
        return TileType.of(self.tile)

    def verify_(self) -> None:
        if self.value.type != self.tile_type.element_type:
            raise VerifyException(f"expected a value of type {self.tile_type.element_type}, found {self.value.type}")


@irdl_op_definition
class CopyOp(IRDLOperation):
    """
    `tirx.copy %src, %dst : !tirx.tile<...>, !tirx.tile<...>`: element by element, between any two memories.

    The two tiles must not overlap.
    """

    name = "tirx.copy"

    source = operand_def(TileType)
    destination = operand_def(TileType)

    assembly_format = "$source `,` $destination attr-dict `:` type($source) `,` type($destination)"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, source: SSAValue, destination: SSAValue):
        super().__init__(operands=[source, destination])

    @property
    def source_type(self) -> TileType:
        return TileType.of(self.source)

    @property
    def destination_type(self) -> TileType:
        return TileType.of(self.destination)

    def verify_(self) -> None:
        source, destination = self.source_type, self.destination_type
        if source.dims != destination.dims:
            raise VerifyException(
                f"expected tiles of one shape, found {shape_text(source)} and {shape_text(destination)}"
            )
        if source.element_type != destination.element_type:
            raise VerifyException(
                f"expected tiles of one element type, found {source.element_type} and {destination.element_type}"
            )


@irdl_op_definition
class MmaOp(IRDLOperation):
    """
    `tirx.mma %a, %b, %acc : !tirx.tile<MxK...>, !tirx.tile<NxK...>, !tirx.tile<MxN...>`

    `acc[m, n] += sum_k a[m, k] * b[n, k]`; leading dimensions, if any, are a batch. Major-ness is a property
    of the layouts. With operands in shared memory and the accumulator in tensor memory this is `tcgen05.mma`,
    with all three in registers `mma.sync`. Clauses, in this order:

    - `zero_columns(...)`: these columns of B count as zero (`tcgen05.mma.ws`), see `#tirx.zero_columns`,
    - `negate_a`, `negate_b`: the operand is negated,
    - `accumulate(%p)`: with `%p` false the accumulator is overwritten instead of added to.

    With a result the accumulator is a register value: the result is its new contents.
    """

    name = "tirx.mma"

    a = operand_def(TileType)
    b = operand_def(TileType)
    accumulator = operand_def(TileType)
    accumulate = opt_operand_def(I1)
    zero_columns = opt_prop_def(ZeroColumnsAttr)
    negate_a = opt_prop_def(UnitAttr)
    negate_b = opt_prop_def(UnitAttr)
    result = opt_result_def(TileType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        accumulator: SSAValue,
        accumulate: SSAValue | None = None,
        zero_columns: ZeroColumnsAttr | None = None,
        negate_a: bool = False,
        negate_b: bool = False,
        result_type: TileType | None = None,
    ):
        super().__init__(
            operands=[a, b, accumulator, [] if accumulate is None else [accumulate]],
            properties={
                "zero_columns": zero_columns,
                "negate_a": UnitAttr() if negate_a else None,
                "negate_b": UnitAttr() if negate_b else None,
            },
            result_types=[[] if result_type is None else [result_type]],
        )

    @property
    def a_type(self) -> TileType:
        return TileType.of(self.a)

    @property
    def b_type(self) -> TileType:
        return TileType.of(self.b)

    @property
    def accumulator_type(self) -> TileType:
        return TileType.of(self.accumulator)

    @property
    def on_tensor_memory(self) -> bool:
        """Whether this is a tcgen05 product, as opposed to one in registers."""
        return self.accumulator_type.memory is Scope.TENSOR

    def verify_(self) -> None:
        a, b, acc = self.a_type, self.b_type, self.accumulator_type
        if acc.memory not in (Scope.TENSOR, Scope.REGISTER):
            raise VerifyException(
                f"expected the accumulator in tensor memory or registers, found it in {acc.memory.place}"
            )
        wanted = Scope.SHARED if self.on_tensor_memory else Scope.REGISTER
        for name, type_ in (("A", a), ("B", b)):
            if type_.memory is not wanted:
                raise VerifyException(
                    f"expected {name} in {wanted.place} for an accumulator in {acc.memory.place}, "
                    f"found it in {type_.memory.place}"
                )
        if len(acc.dims) < 2 or len(a.dims) != len(acc.dims) or len(b.dims) != len(acc.dims):
            raise VerifyException(
                f"expected A as MxK, B as NxK and the accumulator as MxN, all with the same batch dimensions or none, "
                f"found {shape_text(a)}, {shape_text(b)} and {shape_text(acc)}"
            )
        *batch, m, n = acc.dims
        shift = 0 if self.zero_columns is None else self.zero_columns.data.shift
        k = a.dims[-1]
        if a.dims != (*batch, m, k):
            raise VerifyException(f"expected A as {'x'.join(map(str, (*batch, m)))}xK, found {shape_text(a)}")
        if b.dims != (*batch, n + shift, k):
            shifted = f" (N = {n} plus a shift of {shift})" if shift else ""
            raise VerifyException(
                f"expected B as {'x'.join(map(str, (*batch, n + shift, k)))}{shifted}, found {shape_text(b)}"
            )
        if not self.on_tensor_memory:
            for name, clause in (
                ("zero_columns", self.zero_columns),
                ("negate_a", self.negate_a),
                ("negate_b", self.negate_b),
                ("accumulate", self.accumulate),
            ):
                if clause is not None:
                    raise VerifyException(
                        f"expected an accumulator in tensor memory for {name}, found one in registers"
                    )
        if self.result is not None and (self.on_tensor_memory or self.result.type != acc):
            raise VerifyException(
                f"expected a result only for an accumulator in registers, of its type, "
                f"found a result of type {self.result.type} for an accumulator of type {acc}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> MmaOp:
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        zero_columns: ZeroColumnsAttr | None = None
        if parser.parse_optional_keyword("zero_columns") is not None:
            with parser.in_parens():
                zero_columns = ZeroColumnsAttr(ZeroColumnsAttr.parse_body(parser))
        negate_a = parser.parse_optional_keyword("negate_a") is not None
        negate_b = parser.parse_optional_keyword("negate_b") is not None
        accumulate: SSAValue | None = None
        if parser.parse_optional_keyword("accumulate") is not None:
            with parser.in_parens():
                accumulate = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        types = [parser.parse_type()]
        for _ in range(2):
            parser.parse_punctuation(",")
            types.append(parser.parse_type())
        result: Attribute | None = None
        if parser.parse_optional_punctuation("->") is not None:
            result = parser.parse_type()
        a, b, accumulator = (parser.resolve_operand(o, t) for o, t in zip(operands, types, strict=True))
        op = cls(a, b, accumulator, accumulate, zero_columns, negate_a, negate_b)
        if result is not None:
            op = cls.create(
                operands=op.operands, result_types=[result], properties=op.properties, attributes=op.attributes
            )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.a, self.b, self.accumulator), printer.print_ssa_value)
        if self.zero_columns is not None:
            printer.print_string(" zero_columns")
            with printer.in_parens():
                self.zero_columns.print_body(printer)
        if self.negate_a is not None:
            printer.print_string(" negate_a")
        if self.negate_b is not None:
            printer.print_string(" negate_b")
        if self.accumulate is not None:
            printer.print_string(" accumulate")
            with printer.in_parens():
                printer.print_ssa_value(self.accumulate)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.a.type, self.b.type, self.accumulator.type), printer.print_attribute)
        if self.result is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)
