"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import (
    I1,
    I32,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i1,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.tirx.attributes import Scope, TileType, ZeroColumnsAttr
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.ptx.targets import Target, TargetError


def _shape(type_: TileType) -> str:
    return "x".join(map(str, type_.dims))


def _types(types: Iterable[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


class GridAxis(StrEnum):
    """A dimension of the launch grid."""

    X = "x"
    Y = "y"
    Z = "z"


@irdl_attr_definition
class GridAxisAttr(EnumAttribute[GridAxis], SpacedOpaqueSyntaxAttribute):
    """`#tirx<grid_axis x>`"""

    name = "tirx.grid_axis"


GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z of a grid (CUDA C++ Programming Guide, "Compute Capabilities")."""


def _grid_problem(dims: Sequence[int]) -> str | None:
    """Why there is no such grid, or None when there is one."""
    if 1 <= len(dims) <= 3 and all(1 <= n <= limit for n, limit in zip(dims, GRID_LIMITS, strict=False)):
        return None
    return (
        f"expected a grid of 1 to 3 positive extents of at most {', '.join(map(str, GRID_LIMITS))}, "
        f"found ({', '.join(map(str, dims))})"
    )


def _integer(parser: Parser) -> int:
    return parser.parse_integer(allow_boolean=False)


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    A kernel: what one block (CTA) of `threads` threads does.

    ```mlir
    tirx.kernel @gemm(%a: memref<512x256xf16>, %d: memref<512x1024xf32>) target("sm_100a") grid(4, 4) threads(128) {
      tirx.return
    }
    ```

    Arguments are memrefs in global memory (16-byte aligned, not overlapping) and scalars. `grid` is
    optional: with it, views are checked against the bounds of their memref.
    """

    name = "tirx.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    target = opt_prop_def(StringAttr)
    grid = opt_prop_def(ArrayAttr[IntegerAttr[I32]])
    threads = prop_def(IntegerAttr[I32])
    body = region_def("single_block")

    traits = traits_def(HasParent(ModuleOp), IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        arguments: Sequence[Attribute],
        threads: int,
        body: Region | None = None,
        target: str | None = None,
        grid: Sequence[int] | None = None,
    ):
        super().__init__(
            regions=[Region(Block(arg_types=arguments)) if body is None else body],
            properties={
                "sym_name": StringAttr(sym_name),
                "function_type": FunctionType.from_lists(arguments, ()),
                "target": None if target is None else StringAttr(target),
                "grid": None if grid is None else ArrayAttr([IntegerAttr(n, i32) for n in grid]),
                "threads": IntegerAttr(threads, i32),
            },
        )

    @property
    def grid_dims(self) -> tuple[int, int, int] | None:
        """Blocks along x, y and z; None when the grid is not known."""
        if self.grid is None:
            return None
        dims = [n.value.data for n in self.grid]
        x, y, z = dims + [1] * (3 - len(dims))
        return x, y, z

    @property
    def num_threads(self) -> int:
        return self.threads.value.data

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != self.function_type.inputs.data:
            raise VerifyException(
                f"expected the entry block to have the kernel's arguments {_types(self.function_type.inputs)}, "
                f"found {_types(self.body.block.arg_types)}"
            )
        if self.function_type.outputs:
            raise VerifyException(f"expected a kernel without results, found {_types(self.function_type.outputs)}")
        if self.target is not None:
            try:
                Target.parse(self.target.data)
            except TargetError as e:
                raise VerifyException(str(e)) from e
        if self.grid is not None and (problem := _grid_problem([n.value.data for n in self.grid])) is not None:
            raise VerifyException(problem)
        if not 1 <= self.num_threads <= 1024:
            raise VerifyException(f"expected 1 to 1024 threads, found {self.num_threads}")
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("expected the kernel to end in 'tirx.return'")

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        target: StringAttr | None = None
        grid: ArrayAttr[IntegerAttr[I32]] | None = None
        if parser.parse_optional_keyword("target") is not None:
            with parser.in_parens():
                target = StringAttr(parser.parse_str_literal())
        if parser.parse_optional_keyword("grid") is not None:
            start = parser.pos
            dims = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _integer(parser))
            if (problem := _grid_problem(dims)) is not None:
                parser.raise_error(problem, start, parser.pos)
            grid = ArrayAttr([IntegerAttr(n, i32) for n in dims])
        parser.parse_keyword("threads")
        with parser.in_parens():
            start = parser.pos
            threads = _integer(parser)
            if not 1 <= threads <= 1024:
                parser.raise_error(f"expected 1 to 1024 threads, found {threads}", start, parser.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        kernel = cls.create(
            properties={
                "sym_name": name,
                "function_type": FunctionType.from_lists([a.type for a in arguments], ()),
                "threads": IntegerAttr(threads, i32),
            },
            attributes={} if attributes is None else dict(attributes.data),
            regions=[body],
        )
        kernel.target = target
        kernel.grid = grid
        return kernel

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        if self.target is not None:
            printer.print_string(" target(")
            printer.print_string_literal(self.target.data)
            printer.print_string(")")
        if self.grid is not None:
            printer.print_string(" grid")
            with printer.in_parens():
                printer.print_list(self.grid, lambda n: printer.print_int(n.value.data))
        printer.print_string(f" threads({self.num_threads}) ")
        if self.attributes:
            printer.print_string("attributes ")
            printer.print_attr_dict(self.attributes)
            printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a kernel."""

    name = "tirx.return"

    assembly_format = "attr-dict"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(KernelOp)))


@irdl_op_definition
class BlockIdOp(IRDLOperation):
    """`%i = tirx.block_id y`: the position of this block in the grid."""

    name = "tirx.block_id"

    axis = prop_def(GridAxisAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())

    def __init__(self, axis: GridAxis):
        super().__init__(properties={"axis": GridAxisAttr(axis)}, result_types=[IndexType()])

    @classmethod
    def parse(cls, parser: Parser) -> BlockIdOp:
        op = cls(parser.parse_str_enum(GridAxis))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.axis.data}")
        if self.attributes:
            printer.print_op_attributes(self.attributes)


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
                f"expected a tile of rank {source.get_num_dims()} or less in {source}, found {_shape(tile)}"
            )
        if tile.element_type != source.element_type:
            raise VerifyException(f"expected {source.element_type} elements, found {tile.element_type}")
        for size, extent in zip(reversed(source.get_shape()), reversed(tile.dims), strict=False):
            if 0 <= size < extent:
                raise VerifyException(f"expected a tile that fits into {source}, found {_shape(tile)}")
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
    """`tirx.copy %src, %dst : !tirx.tile<...>, !tirx.tile<...>`: element by element, between any two memories."""

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
            raise VerifyException(f"expected tiles of one shape, found {_shape(source)} and {_shape(destination)}")
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
                f"found {_shape(a)}, {_shape(b)} and {_shape(acc)}"
            )
        *batch, m, n = acc.dims
        shift = 0 if self.zero_columns is None else self.zero_columns.data.shift
        k = a.dims[-1]
        if a.dims != (*batch, m, k):
            raise VerifyException(f"expected A as {'x'.join(map(str, (*batch, m)))}xK, found {_shape(a)}")
        if b.dims != (*batch, n + shift, k):
            shifted = f" (N = {n} plus a shift of {shift})" if shift else ""
            raise VerifyException(
                f"expected B as {'x'.join(map(str, (*batch, n + shift, k)))}{shifted}, found {_shape(b)}"
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
        attributes = parser.parse_optional_attr_dict()
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


def _require_same_storage(source: TileType, part: TileType) -> None:
    if (part.element_type, part.memory) != (source.element_type, source.memory):
        raise VerifyException(
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


@irdl_op_definition
class SubviewOp(IRDLOperation):
    """
    `%s = tirx.subview %t[0, 32] : !tirx.tile<128x128xf32, tensor, ...> -> !tirx.tile<128x32xf32, tensor, ...>`

    The part of a tile that starts at these (static) coordinates. Its layout is the slice of the tile's.
    """

    name = "tirx.subview"

    source = operand_def(TileType)
    offsets = prop_def(ArrayAttr[IntegerAttr[I32]])
    result = result_def(TileType)

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, offsets: Sequence[int], type_: TileType):
        super().__init__(
            operands=[source],
            properties={"offsets": ArrayAttr([IntegerAttr(n, i32) for n in offsets])},
            result_types=[type_],
        )

    @staticmethod
    def type_of(source: TileType, offsets: Sequence[int], shape: Sequence[int]) -> TileType:
        """The type of a part of a tile. Raises LayoutError when the tile's layout has no such slice."""
        layout = source.placement
        if layout is not None:
            region = tuple((start, start + extent) for start, extent in zip(offsets, shape, strict=True))
            layout = layout.slice(source.dims, region)
        return TileType.get(shape, source.element_type, source.memory, layout)

    @staticmethod
    def of(source: SSAValue, offsets: Sequence[int], shape: Sequence[int]) -> SubviewOp:
        """The subview with its type derived. Raises LayoutError when the tile's layout has no such slice."""
        return SubviewOp(source, offsets, SubviewOp.type_of(TileType.of(source), offsets, shape))

    @property
    def start(self) -> tuple[int, ...]:
        return tuple(n.value.data for n in self.offsets)

    def verify_(self) -> None:
        source, part = TileType.of(self.source), self.result.type
        if len(self.start) != len(source.dims) or len(part.dims) != len(source.dims):
            raise VerifyException(
                f"expected {len(source.dims)} offsets and a tile of that rank, "
                f"found {len(self.start)} offsets and a {_shape(part)} tile"
            )
        for start, extent, size in zip(self.start, part.dims, source.dims, strict=True):
            if start < 0 or start + extent > size:
                raise VerifyException(
                    f"expected a part of the {_shape(source)} tile, found {_shape(part)} at {list(self.start)}"
                )
        _require_same_storage(source, part)
        try:
            expected = SubviewOp.type_of(source, self.start, part.dims)
        except LayoutError as e:
            raise VerifyException(str(e)) from e
        if expected.placement is not None and not _same_places(expected.placement, part.placement):
            raise VerifyException(f"expected the slice of the source's layout, {expected}, found {part}")

    @classmethod
    def parse(cls, parser: Parser) -> SubviewOp:
        operand = parser.parse_unresolved_operand()
        start = parser.pos
        offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _integer(parser))
        if any(not 0 <= n < 2**31 for n in offsets):
            parser.raise_error(f"expected offsets of 0 or more, below 2**31, found {offsets}", start, parser.pos)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        result = parser.parse_type()
        op = cls.create(
            operands=[source],
            properties={"offsets": ArrayAttr([IntegerAttr(n, i32) for n in offsets])},
            result_types=[result],
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            printer.print_list(self.start, printer.print_int)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """
    `%r = tirx.reshape %t : !tirx.tile<64x256xf32, tensor, L> -> !tirx.tile<64x2x128xf32, tensor, L>`

    The same elements in row-major order under another shape. A layout admits every shape of its size, so
    it stays as it is.
    """

    name = "tirx.reshape"

    source = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, shape: Sequence[int]):
        type_ = TileType.of(source)
        result = TileType.get(shape, type_.element_type, type_.memory, type_.placement)
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        if source.num_elements != result.num_elements:
            raise VerifyException(f"expected {source.num_elements} elements, found {result.num_elements}")
        _require_same_storage(source, result)
        if source.layout != result.layout:
            raise VerifyException(
                f"expected the layout of the source, {source.placement or 'none'}, found {result.placement or 'none'}"
            )


def owner_root(value: SSAValue) -> SSAValue:
    """The allocation or memref that a tile is a part of."""
    while isinstance(op := value.owner, Operation):
        match op:
            case SubviewOp() | ReshapeOp() | ViewOp():
                value = op.source
            case _:
                return value
    return value
