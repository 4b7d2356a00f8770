"""Kernels, and what they know of their place in the grid."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Region, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.tirx.syntax import parse_attributes, parse_integer, types_text
from tirx.ptx.targets import Target, TargetError


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
                f"expected the entry block to have the kernel's arguments {types_text(self.function_type.inputs)}, "
                f"found {types_text(self.body.block.arg_types)}"
            )
        if self.function_type.outputs:
            raise VerifyException(f"expected a kernel without results, found {types_text(self.function_type.outputs)}")
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
        threads: int | None = None
        while True:  # the clauses, in any order
            if target is None and parser.parse_optional_keyword("target") is not None:
                with parser.in_parens():
                    target = StringAttr(parser.parse_str_literal())
            elif grid is None and parser.parse_optional_keyword("grid") is not None:
                start = parser.pos
                dims = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_integer(parser))
                if (problem := _grid_problem(dims)) is not None:
                    parser.raise_error(problem, start, parser.pos)
                grid = ArrayAttr([IntegerAttr(n, i32) for n in dims])
            elif threads is None and parser.parse_optional_keyword("threads") is not None:
                with parser.in_parens():
                    start = parser.pos
                    threads = parse_integer(parser)
                    if not 1 <= threads <= 1024:
                        parser.raise_error(f"expected 1 to 1024 threads, found {threads}", start, parser.pos)
            else:
                break
        if threads is None:
            parser.raise_error("expected the clause threads(n), next to target(...) and grid(...)")
        has_attributes = parser.parse_optional_keyword("attributes") is not None
        attributes = parse_attributes(parser, cls) if has_attributes else {}
        body = parser.parse_region(arguments)
        kernel = cls.create(
            properties={
                "sym_name": name,
                "function_type": FunctionType.from_lists([a.type for a in arguments], ()),
                "threads": IntegerAttr(threads, i32),
            },
            attributes=attributes,
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
        op.attributes.update(parse_attributes(parser, cls))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.axis.data}")
        if self.attributes:
            printer.print_op_attributes(self.attributes)
