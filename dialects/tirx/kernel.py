"""Kernels, and what they know of their place in the grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import base, lazy_traits_def, opt_prop_def, prop_def, region_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import CallableOpInterface, HasParent, IsTerminator, Pure, SymbolOpInterface, SymbolTable
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import DirectOperation, enum_attribute, i32_attr, irdl_op_definition
from tirx.dialects.formula import Call, Formula, constant_divisors, lookups
from tirx.dialects.formula_attr import FormulaAttr, parse_formula
from tirx.dialects.nesting import QuickWalk, enclosing, operations
from tirx.dialects.syntax import (
    AnyOrder,
    Clause,
    Form,
    WrittenOp,
    identifier,
    parse_attributes,
    parse_integer,
    types_text,
    words,
)
from tirx.dialects.tirx.memory_plan import MemoryPlanAttr
from tirx.dialects.tirx.sizes import NAME, ParametersAttr, Size, SizeAttr, formula_names, parse_size
from tirx.dialects.tirx.thread_sets import OnThreads, ThreadSet
from tirx.dialects.traits import InSymbolTable, Isolated
from tirx.dialects.xdsl_parser import define
from tirx.dialects.xdsl_private import blocks
from tirx.hw.targets import Target, TargetError
from tirx.rules import (
    InvalidOperation,
    KernelError,
    KernelParameterError,
    LaunchValueError,
    NoTargetError,
    UnboundParameterError,
)


class GridAxis(StrEnum):
    """A dimension of the launch grid."""

    X = "x"
    Y = "y"
    Z = "z"


GridAxisAttr = enum_attribute("tirx.grid_axis", GridAxis)


class Progress(StrEnum):
    """Why a block may wait for others: blocks begin in the order of their ids, x fastest, or all run at once."""

    IN_ORDER = "in_order"
    COOPERATIVE = "cooperative"


ProgressAttr = enum_attribute("tirx.progress", Progress)

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z of a grid (CUDA C++ Programming Guide, "Compute Capabilities")."""


def grid_attr(dims: Sequence[Formula]) -> ArrayAttr[IntegerAttr[I32] | FormulaAttr]:
    """The attribute of a grid with these extents along x, y and z."""
    return ArrayAttr([IntegerAttr(n, i32) if isinstance(n, int) else FormulaAttr(n) for n in dims])


def _extents(grid: Iterable[IntegerAttr[I32] | FormulaAttr]) -> list[Formula]:
    return [n.data if isinstance(n, FormulaAttr) else n.value.data for n in grid]


def grid_problem(dims: Sequence[Formula]) -> str | None:
    """Why there is no such grid, or None when there is one."""
    fits = [not isinstance(n, int) or 1 <= n <= limit for n, limit in zip(dims, GRID_LIMITS, strict=False)]
    if 1 <= len(dims) <= 3 and all(fits):
        return None
    return (
        f"expected a grid of 1 to 3 positive extents of at most {', '.join(map(str, GRID_LIMITS))}, "
        f"found ({', '.join(map(str, dims))})"
    )


def _formula_problem(formula: Formula, arguments: Sequence[Attribute]) -> str | None:
    """Why a launch with `arguments` of these types cannot compute a formula, or None when it can."""
    for what, argument, dimension in lookups(formula):
        type_ = arguments[argument] if argument < len(arguments) else None
        if not isinstance(type_, MemRefType) or dimension >= type_.get_num_dims():
            return (
                f"expected a memref argument of the kernel that has {what}({argument}, {dimension}), found "
                f"{'no such argument' if type_ is None else type_}"
            )
    divisors = (divisor for divisor in constant_divisors(formula) if divisor < 1)
    if (divisor := next(divisors, None)) is not None:
        return f"expected a positive divisor in {formula}, found {divisor}"
    return None


class _CallableKernel(CallableOpInterface):
    """A kernel can be called, as a function without results: each of its blocks runs its body."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        assert isinstance(op, KernelOp)
        return op.body

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, KernelOp)
        return op.function_type.inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return ()


PAIR = 2
"""Blocks that a product of `.cta_group::2` spans."""

MOST_BLOCKS = 8
"""Blocks of a cluster that every GPU with clusters runs (CUDA C++ Programming Guide, "Thread Block Clusters")."""


def _parse_argument(parser: Parser) -> Parser.Argument:
    """`%name: type`, with the location that `--print-debuginfo` prints behind it."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


def _cluster_problem(found: int) -> str:
    return (
        f"expected cluster({PAIR}), a pair of blocks, cluster({PAIR} to {MOST_BLOCKS}) per_cta, or no cluster, "
        f"found cluster({found})"
    )


@irdl_op_definition
class KernelOp(QuickWalk, DirectOperation, OnThreads):
    """A kernel: what one block (CTA) of `threads` threads does.

    ```mlir
    tirx.kernel @gemm(%a: memref<512x256xf16>, %d: memref<512x1024xf32>) target("sm_100a") grid(4, 4) threads(128) {
      tirx.return
    }
    ```

    Arguments are memrefs in global memory (16-byte aligned, not overlapping) and scalars. `grid` is
    optional: with it, views are checked against the bounds of their memref. An extent of it may be a formula of the
    arguments (`#ptx.formula`), as in `grid(ceildiv(size(0, 1), 128), sm_count())`.

    With `cluster(2)` the body says what a *pair* of blocks does together (PTX ISA, "CTA Pair"): `threads` are those of
    each block, but `grid` and `tirx.block_id` count pairs, and a launch has twice as many blocks along x. Products on
    tensor memory are those of `.cta_group::2`. A tile whose layout has the axis `cbx`, and every operand and
    accumulator of such a product, is distributed: each block holds half of its rows in its own memory, the lower half
    in rank 0. So are the scale factors and the metadata of A. Of every other tile each block has a copy, which a layout
    may say by the replica `R[2 : 1@cbx]`. `tirx-split-pairs` turns this into what one block does, which
    `cluster(2) per_cta` marks; see `tirx.cta_rank`. Clusters of up to 8 blocks are always `per_cta`; in these, products
    on tensor memory are those of pairs with the clause `pair`, all of a kernel, and of one block without.

    Kernels stand in a symbol table: a `builtin.module`, or one inside of it such as a `gpu.module`, beside host code.

    `params(BM in [128, 64], D = size(0, 1) in [64, 128])` declares compile-time parameters with candidates, numbers or
    words, the first of which is the default. Extents of tiles (`!tirx.tile<[BM]x64xf16, shared>`), `grid`, `threads`,
    formulas, values (`tirx.param BM : index`) and attributes (`#tirx.size<BM>`) name them. One with a formula has the
    value that the formula has at the launch. `tirx-specialize` binds them.

    With `in_order` blocks begin in the order of their ids, x fastest, so that a block may wait for earlier ones by
    `tirx.wait_until`. With `cooperative` all blocks run at once: a launch refuses more than the GPU has room for.

    `memory(...)` says how much shared and tensor memory a block takes, see `#tirx.memory_plan`.
    """

    name = "tirx.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    target = opt_prop_def(StringAttr)
    grid = opt_prop_def(ArrayAttr[IntegerAttr[I32] | FormulaAttr])
    threads = prop_def(IntegerAttr[I32] | SizeAttr)
    params = opt_prop_def(ParametersAttr)
    cluster = opt_prop_def(IntegerAttr[I32])
    per_cta = opt_prop_def(UnitAttr)
    progress = opt_prop_def(ProgressAttr)
    memory = opt_prop_def(MemoryPlanAttr)
    body = region_def("single_block")

    traits = traits_def(InSymbolTable(), Isolated(), SymbolOpInterface(), _CallableKernel())

    def __init__(
        self,
        sym_name: str,
        arguments: Sequence[Attribute],
        threads: int | Attribute,
        body: Region | None = None,
        *,
        grid: Sequence[Formula] | None = None,
        **clauses: Any,
    ):
        """`clauses` are fields by name. Without `body` the kernel gets one block of `arguments`."""
        body = Region(Block(arg_types=arguments)) if body is None else body
        threads = i32_attr(threads) if isinstance(threads, int) else threads
        clauses["grid"] = None if grid is None else grid_attr(grid)
        super().__init__(sym_name, FunctionType.from_lists(arguments, ()), threads, body, **clauses)

    @property
    def in_clusters(self) -> bool:
        """Returns True if the blocks of the kernel form clusters."""
        return self.cluster is not None

    @property
    def is_whole_pair(self) -> bool:
        """Returns True if the body still says what a pair does, and not what each block of it does."""
        return self.in_clusters and self.per_cta is None

    @property
    def cluster_size(self) -> int:
        """Blocks of the cluster that each block is in: 1 without clusters."""
        return 1 if self.cluster is None else self.cluster.value.data

    @property
    def grid_dims(self) -> tuple[int, int, int] | None:
        """Blocks (pairs of them with `cluster(2)`) along x, y and z; None when the grid is not known."""
        if self.grid is None:
            return None
        dims = [n.value.data for n in self.grid if not isinstance(n, FormulaAttr)]
        if len(dims) < len(self.grid):
            return None
        x, y, z = dims + [1] * (3 - len(dims))
        return x, y, z

    @property
    def grid_formulas(self) -> tuple[Formula, Formula, Formula] | None:
        """Blocks (pairs of them with `cluster(2)`) along x, y and z; None when the grid is not given."""
        if self.grid is None:
            return None
        x, y, z = _extents(self.grid) + [1] * (3 - len(self.grid))
        return x, y, z

    @property
    def launch_grid(self) -> tuple[Formula, ...] | None:
        """Blocks of a launch along x, y and z, formulas of its arguments; None when the grid is not known."""
        if self.grid is None:
            return None
        dims = _extents(self.grid)
        if self.in_clusters:
            first = dims[0]
            dims[0] = self.cluster_size * first if isinstance(first, int) else Call("mul", (first, self.cluster_size))
        return tuple(dims)

    @property
    def num_threads(self) -> int:
        """Threads of a block. Raises UnboundParameterError where they depend on parameters."""
        threads = self.threads
        return threads.data.evaluate({}) if isinstance(threads, SizeAttr) else threads.value.data

    @property
    def thread_set(self) -> ThreadSet:
        return ThreadSet(0, self.num_threads)

    @property
    def target_info(self) -> Target | None:
        """The target's row, None for a kernel without a target. Raises TargetError if its name is unknown."""
        return None if self.target is None else Target.parse(self.target.data)

    def require_target(self) -> Target:
        """Returns the target's row. Raises NoTargetError for a kernel without a target."""
        if (target := self.target_info) is None:
            raise NoTargetError(
                self, 'expected a target, such as target("sm_100a"), on the kernel or on the command line'
            )
        return target

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != self.function_type.inputs.data:
            raise KernelError(
                f"expected the entry block to have the kernel's arguments {types_text(self.function_type.inputs)}, "
                f"found {types_text(self.body.block.arg_types)}"
            )
        if self.function_type.outputs:
            raise KernelError(f"expected a kernel without results, found {types_text(self.function_type.outputs)}")
        try:
            _ = self.target_info
        except TargetError as e:
            raise InvalidOperation(str(e)) from e
        if self.grid is not None and (problem := grid_problem(_extents(self.grid))) is not None:
            raise KernelError(problem)
        for extent in () if self.grid is None else _extents(self.grid):
            if (problem := _formula_problem(extent, self.function_type.inputs.data)) is not None:
                raise KernelError(f"grid: {problem}")
        for extent in () if self.grid is None else _extents(self.grid):
            self._require_declared(formula_names(extent))
        if isinstance(self.threads, SizeAttr):
            self._require_declared(self.threads.data.names)
        elif not 1 <= self.num_threads <= 1024:
            raise KernelError(f"expected 1 to 1024 threads, found {self.num_threads}")
        for each in () if self.params is None else self.params.data:
            if each.launch is not None and (problem := _formula_problem(each.launch, self.function_type.inputs.data)):
                raise KernelError(f"{each.name}: {problem}")
        blocks = self.cluster_size
        if self.cluster is not None and not PAIR <= blocks <= (MOST_BLOCKS if self.per_cta is not None else PAIR):
            raise KernelError(_cluster_problem(blocks))
        if self.in_clusters and (dims := self.grid_dims) is not None and blocks * dims[0] > GRID_LIMITS[0]:
            what = "pairs" if blocks == PAIR else f"clusters of {blocks}"
            raise KernelError(f"expected at most {GRID_LIMITS[0] // blocks} {what} of blocks along x, found {dims[0]}")
        if self.per_cta is not None and not self.in_clusters:
            raise KernelError("expected cluster(2) with per_cta, found no cluster")
        if self.progress is not None and (self.in_clusters or self.grid is None):
            raise KernelError(f"expected a grid, and no cluster, with {self.progress.data}")
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise KernelError("expected the kernel to end in 'tirx.return'")

    def _require_declared(self, names: Iterable[str]) -> None:
        known = () if self.params is None else [each.name for each in self.params.data]
        for name in names:
            if name not in known:
                found = ", ".join(known) or "none"
                raise KernelParameterError(f"expected a parameter that the kernel declares ({found}), found {name}")

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        found: dict[str, Any] = {}
        _CLAUSES.parse(parser, found)
        blocks, found["grid"] = found.get("grid", ((), None))
        found["cluster"], per_cta = found.pop("_blocks", (None, False))
        attributes = parse_attributes(parser, cls, keyword=True)
        body = _parse_body(parser, arguments, blocks)
        kernel = cls(name.data, [a.type for a in arguments], body=body, per_cta=per_cta, **found)
        return kernel.with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        _CLAUSES.print(printer, self)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @property
    def _blocks(self) -> tuple[int, bool] | None:
        return None if self.cluster is None else (self.cluster_size, self.per_cta is not None)


def _parse_extent(parser: Parser) -> tuple[UnresolvedOperand | None, Formula]:
    """Parses an extent of the grid or, with a name for the position of the block along it, `%i = 8`."""
    if (name := parser.parse_optional_unresolved_operand()) is not None:
        parser.parse_punctuation("=")
    return name, parse_formula(parser)


def _parse_parameters(parser: Parser) -> ParametersAttr:
    return ParametersAttr(ParametersAttr.parse_list(parser, parser.Delimiter.PAREN))


def _parse_grid(parser: Parser) -> tuple[list[tuple[UnresolvedOperand, GridAxis]], list[Formula]]:
    """Parses extents of the grid. Returns the names of the positions along axes, and the extents."""
    start = parser.pos
    extents = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_extent(parser))
    dims = [formula for _, formula in extents]
    if (problem := grid_problem(dims)) is not None:
        parser.raise_error(problem, start, parser.pos)
    return [(name, axis) for (name, _), axis in zip(extents, GridAxis, strict=False) if name is not None], dims


def _parse_threads(parser: Parser) -> Attribute:
    start = parser.pos
    threads = parse_size(parser)
    if isinstance(threads, Size):
        return SizeAttr(threads)
    if not 1 <= threads <= 1024:
        parser.raise_error(f"expected 1 to 1024 threads, found {threads}", start, parser.pos)
    return i32_attr(threads)


def _parse_cluster(parser: Parser) -> tuple[int, bool]:
    """Parses `(2) per_cta`. Returns the blocks, and whether the body says what each of them does."""
    with parser.in_parens():
        start = parser.pos
        size = parse_integer(parser)
        end = parser.pos
    per_cta = parser.parse_optional_keyword("per_cta") is not None
    if not PAIR <= size <= (MOST_BLOCKS if per_cta else PAIR):
        parser.raise_error(_cluster_problem(size), start, end)
    return size, per_cta


_CLAUSES = AnyOrder(
    Clause("target()", str),
    Clause("params", Form(_parse_parameters, lambda params: [f"({', '.join(map(str, params.data))})"])),
    Clause("grid", Form(_parse_grid, lambda grid: [f"({', '.join(map(str, _extents(grid)))})"])),
    Clause("cluster", Form(_parse_cluster, lambda found: [f"({found[0]}){' per_cta' if found[1] else ''}"]), "_blocks"),
    Clause("threads()", Form(_parse_threads, lambda n: [str(n.data if isinstance(n, SizeAttr) else n.value.data)])),
    *words("progress", ProgressAttr, Progress),
    Clause("memory()", MemoryPlanAttr),
    needed=("threads", "expected the clause threads(n), next to target(...) and grid(...)"),
)


def _parse_body(
    parser: Parser, arguments: Sequence[Parser.Argument], blocks: Sequence[tuple[UnresolvedOperand, GridAxis]]
) -> Region:
    """Parses the body of a kernel, in which positions of the block have names, and adds its end if there is none."""
    ids = [BlockIdOp(axis) for _, axis in blocks]
    for (name, _), op in zip(blocks, ids, strict=True):
        define(parser, name.operand_name, [op.result], name.span)
    body = parser.parse_region(arguments)
    for name, _ in blocks:
        del parser.ssa_values[name.operand_name]
    if body.blocks:
        block = body.blocks[0]
        if (first := block.first_op) is not None:
            block.insert_ops_before(ids, first)
        else:
            block.add_ops(ids)
        if (last := block.last_op) is None or not last.has_trait(IsTerminator):
            block.add_op(ReturnOp())
    return body


def kernels(table: Operation) -> Iterator[KernelOp]:
    """The kernels of a symbol table, such as a module, and of the symbol tables inside it, in order.

    Everything else in there is host code, which passes leave as it is.
    """
    for op in [op for region in table.regions for block in blocks(region) for op in operations(block)]:
        if isinstance(op, KernelOp):
            yield op
        elif op.regions and op.has_trait(SymbolTable, value_if_unregistered=True):
            yield from kernels(op)


@irdl_op_definition
class ReturnOp(DirectOperation):
    """Ends a kernel."""

    name = "tirx.return"

    assembly_format = "attr-dict"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(KernelOp)))


@irdl_op_definition
class LaunchValueOp(WrittenOp):
    """`%n = tirx.launch_value ceildiv(size(0, 1), 128)`: a number that the launch computes from the kernel's arguments.

    It is the same in all threads; the entry has a parameter for it. See `Call` for the functions.
    """

    name = "tirx.launch_value"

    formula = prop_def(FormulaAttr)
    result = result_def(IndexType())

    SYNTAX: ClassVar = (Clause("", Form(parse_formula, lambda formula: [str(formula.data)]), "formula"),)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        around = enclosing(self, KernelOp)
        if around is None:
            return
        if (problem := _formula_problem(self.formula.data, around.function_type.inputs.data)) is not None:
            raise LaunchValueError(problem)


def _parse_type(parser: Parser) -> Attribute:
    parser.parse_punctuation(":")
    return parser.parse_type()


@irdl_op_definition
class ParamOp(WrittenOp):
    """`%bm = tirx.param BM : index`: the value of a parameter of the kernel, an index or an integer."""

    name = "tirx.param"

    parameter = prop_def(StringAttr)
    result = result_def(base(IndexType) | base(IntegerType))

    SYNTAX: ClassVar = (Clause("", identifier(" of a parameter"), "parameter"),)
    BEHIND: ClassVar = (Clause("", Form(_parse_type, lambda result: [": ", result.type]), "result"),)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        name = self.parameter.data
        if NAME.fullmatch(name) is None:
            raise KernelParameterError(f"expected a name that begins with a capital letter, found {name}")
        raise UnboundParameterError.of([name])


class _GridOp(DirectOperation):
    """A number about the grid along one axis."""

    axis = prop_def(GridAxisAttr)
    result = result_def(IndexType())

    assembly_format = "$axis attr-dict"

    traits = traits_def(Pure())


@irdl_op_definition
class BlockIdOp(_GridOp):
    """`%i = tirx.block_id y`: the position of this block in the grid, with `cluster(2)` that of its pair."""

    name = "tirx.block_id"


@irdl_op_definition
class GridDimOp(_GridOp):
    """`%n = tirx.grid_dim y`: how many blocks the grid has along an axis, with `cluster(2)` how many pairs."""

    name = "tirx.grid_dim"


@irdl_op_definition
class CtaRankOp(DirectOperation):
    """`%r = tirx.cta_rank`: which block of its cluster this is, from 0 on, in a kernel with `cluster(...) per_cta`."""

    name = "tirx.cta_rank"

    result = result_def(IndexType())

    assembly_format = "attr-dict"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        around = enclosing(self, KernelOp)
        if around is not None and around.per_cta is None:
            raise KernelError("expected a kernel with cluster(2) per_cta around, found one without")
