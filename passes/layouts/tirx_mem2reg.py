"""`tirx-mem2reg`: register tiles and scalar variables become SSA values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from tirx.diagnostics import for_each, operation_name
from tirx.dialects import tirx
from tirx.dialects.formula import Call
from tirx.dialects.nesting import operations, walk
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.xdsl_private import blocks, operands_of
from tirx.layout import TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.layout.shape import row_major_strides
from tirx.passes.ir.emitter import Emitter, constant_value, erase, keep_attributes, take_over
from tirx.passes.ir.register_classes import same_layout
from tirx.passes.match.copy_engines import match_engine
from tirx.passes.match.families import MMA_SYNC, family_of
from tirx.passes.match.mma_product import has_widening_form
from tirx.passes.match.product import Product
from tirx.passes.match.register_gathers import register_gather
from tirx.rules import ForeignOperationError, KernelArgumentError, RegisterValueError, StageError, UnwrittenError

_Values = dict[SSAValue, SSAValue]
"""The current value of every variable that has one."""


def _declares_variable(op: Operation) -> bool:
    match op:
        case tirx.AllocOp():
            return op.result.type.memory is tirx.MemorySpace.REGISTER
        case memref.AllocaOp():
            return op.memref.type.get_num_dims() == 0
        case _:
            return False


def _written(op: Operation) -> Sequence[SSAValue]:
    """Returns the variables, or tiles in memory, that `op` overwrites or updates in place."""
    if isinstance(op, memref.StoreOp):
        return (op.memref,)
    return op.tile_writes() if isinstance(op, tirx.TileOpInterface) and not tirx.is_foreign(op) else ()


@lru_cache(maxsize=1024)
def _may_pass_on(kind: type[Operation]) -> bool:
    """Returns True for control flow, `arith.select`, which takes any type, and operations that are not of tirx."""
    is_scf = kind.name.startswith("scf.") and kind not in (scf.YieldOp, scf.ConditionOp)
    return is_scf or kind is arith.SelectOp or tirx.is_foreign_class(kind)


def _check_tiles(op: Operation) -> None:
    """Raises LocatedError if control flow other than loops and branches passes on tiles, or any but register tiles."""
    tiles = [type_ for value in (*operands_of(op), *op.results) if type(type_ := value.type) is tirx.TileType]
    if not tiles:
        return
    if tirx.is_foreign(op):
        _check_foreign(op)
        return
    if not isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp | arith.SelectOp):
        raise RegisterValueError(
            op, f"expected tiles to go through scf.for, scf.while, scf.if and arith.select only, found {op.name}"
        )
    for type_ in tiles:
        if type_.memory is not tirx.MemorySpace.REGISTER:
            raise RegisterValueError(op, f"expected {op.name} on register tiles, which are values, found {type_}")


def _check_foreign(op: Operation) -> None:
    """Raises LocatedError if an operation of another dialect may write register tiles, or makes tiles in memory."""
    name = operation_name(op)
    for value in tirx.tile_effects(op).writes:
        if is_register_tile(value):
            raise ForeignOperationError(
                op,
                f"expected '{name}' not to write {value.type}: register tiles are values; let it return a new one "
                "and be Pure, give it a TileOpInterface, or lower it before tirx-mem2reg",
            )
    for result in op.results:
        if isinstance(type_ := result.type, tirx.TileType) and type_.memory is not tirx.MemorySpace.REGISTER:
            raise ForeignOperationError(
                op,
                f"expected tiles in memory of tirx.alloc, tirx.view and views of these, found {type_} of '{name}'; "
                "give it the tile as an operand",
            )


class _Effects:
    """The reads and writes of variables by a region and all regions inside it.

    `reads` counts the reads of each variable. `first_reads` has a reader for each variable that may be read before the
    region writes it. `written` are the variables written on some path, in order; `surely_written` those on every path.
    """

    def __init__(self) -> None:
        self.reads: dict[SSAValue, int] = defaultdict(int)
        self.first_reads: dict[SSAValue, Operation] = {}
        self.written: dict[SSAValue, None] = {}
        self.surely_written: set[SSAValue] = set()

    def read(self, variable: SSAValue, reader: Operation) -> None:
        self.reads[variable] += 1
        if variable not in self.surely_written:
            self.first_reads.setdefault(variable, reader)

    def write(self, variable: SSAValue) -> None:
        self.written[variable] = None
        self.surely_written.add(variable)

    def then(self, branches: Sequence[_Effects], one_runs: bool) -> None:
        """Adds an operation that may run each of these regions, exactly one of them if `one_runs`."""
        for branch in branches:
            for variable, reader in branch.first_reads.items():
                if variable not in self.surely_written:
                    self.first_reads.setdefault(variable, reader)
        for branch in branches:
            for variable, count in branch.reads.items():
                self.reads[variable] += count
            self.written.update(branch.written)
        if one_runs:
            self.surely_written |= set[SSAValue].intersection(*(branch.surely_written for branch in branches))


_ON_VARIABLES = frozenset(
    (
        memref.LoadOp,
        memref.StoreOp,
        tirx.CopyOp,
        tirx.SubviewOp,
        tirx.ReshapeOp,
        tirx.TransposeOp,
        tirx.ConcatOp,
        tirx.ViewOp,
        tirx.FillOp,
        tirx.MapOp,
        tirx.MmaOp,
    )
)
"""Operations that do more with a variable than to use its value."""

_CELLS = (MemRefType, tirx.TileType)
"""Types of variables."""


class _Promoter:
    """Promotes the variables of one kernel: loops carry them, branches merge them."""

    def __init__(self, kernel: tirx.KernelOp, allocations: Sequence[Operation]):
        self.kernel = kernel
        self.declarations: list[Operation] = []
        for op in allocations:
            if isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.ACCUMULATOR:
                raise StageError(op, "expected accumulators with a memory; tirx-resolve-accumulators chooses it")
            if _declares_variable(op):
                self.declarations.append(op)
        self.variables = {op.results[0] for op in self.declarations}
        self.effects: dict[Operation, _Effects] = {}  # of operations with regions
        self.concerned: dict[Block, list[Operation]] = {}
        """Block -> its operations that have to do with variables, or have such ones inside."""
        self.total = self._effects_of(kernel.body)

    def run(self) -> None:
        self._block(self.kernel.body.block, {})
        for op in self.declarations:
            erase(op)

    def _effects_of(self, region: Region) -> _Effects:
        found = _Effects()
        for block in blocks(region):
            concerned = self.concerned[block] = []
            for op in operations(block):
                kind = type(op)
                if _may_pass_on(kind):
                    _check_tiles(op)
                is_concerned = kind in _ON_VARIABLES
                written: Sequence[SSAValue] = ()
                if not self.variables.isdisjoint(operands_of(op)):
                    is_concerned = True
                    written = _written(op)
                    known = op if isinstance(op, tirx.TileOpInterface) and not tirx.is_foreign(op) else None
                    for operand in operands_of(op) if known is None else known.tile_reads():
                        if operand in self.variables and (known is not None or operand not in written):
                            found.read(operand, op)
                if op.regions:
                    branches = [self._effects_of(inner) for inner in op.regions]
                    own = self.effects[op] = _Effects()
                    if isinstance(op, scf.WhileOp):
                        own.then(branches[:1], one_runs=True)
                        own.then(branches[1:], one_runs=False)
                    else:
                        both = isinstance(op, scf.IfOp) and bool(op.false_region.blocks)
                        own.then(branches, one_runs=both)
                    found.then([own], one_runs=True)
                    is_concerned |= any(self.concerned[inner] for each in op.regions for inner in blocks(each))
                for variable in written:
                    if variable in self.variables:
                        found.write(variable)
                if is_concerned:
                    concerned.append(op)
        return found

    def _carried(self, op: Operation) -> list[SSAValue]:
        """Returns the variables that `op` writes and that are read behind it, or inside in the next round of a loop."""
        effects, total = self.effects[op], self.total.reads
        return [
            variable
            for variable in effects.written
            if variable in effects.first_reads or total[variable] > effects.reads[variable]
        ]

    def _current(self, values: _Values, tile: SSAValue, reader: Operation) -> SSAValue:
        if tile not in self.variables:
            return tile
        if tile not in values:
            raise UnwrittenError(reader, "expected a register tile that was written before, found one without contents")
        return values[tile]

    def _block(self, block: Block, values: _Values) -> None:
        for op in self.concerned[block]:
            match op:
                case _ if not op.regions:
                    self._operation(op, values)
                case scf.ForOp() | scf.WhileOp():
                    self._loop(op, values)
                case scf.IfOp():
                    self._if(op, values)
                case tirx.MapOp():
                    self._map(op, values)
                case _:
                    if self._carried(op):  # roles may keep tiles of their own in registers
                        raise RegisterValueError(
                            op,
                            f"expected scf.for, scf.while or scf.if around what is kept in registers, found {op.name}",
                        )
                    self._read_operands(op, values)
                    for region in op.regions:
                        for inner in region.blocks:
                            self._block(inner, dict(values))

    def _operation(self, op: Operation, values: _Values) -> None:
        match op:
            case _ if type(op) not in _ON_VARIABLES:
                self._read_operands(op, values)
                return
            case memref.LoadOp() if op.memref in self.variables:
                op.res.replace_all_uses_with(self._current(values, op.memref, op))
            case memref.StoreOp() if op.memref in self.variables:
                values[op.memref] = self._current(values, op.value, op)
            case tirx.CopyOp() if is_register_tile(op.source) or is_register_tile(op.destination):
                self._copy(op, values)
            case tirx.SubviewOp() | tirx.ReshapeOp() | tirx.TransposeOp() if is_register_tile(op.source):
                self._read_operands(op, values)
                op.results[0].replace_all_uses_with(_arranged(self.kernel, op))
            case tirx.ViewOp() if is_register_tile(op.result):
                self._read_operands(op, values)
                if register_gather(op, tirx.thread_set(op).count) is not None:
                    return
                op.result.replace_all_uses_with(_gathered(self.kernel, op))
            case tirx.ConcatOp() if len({tirx.TileType.of(tile).dims for tile in op.ins}) > 1:
                self._read_operands(op, values)
                op.result.replace_all_uses_with(_joined(self.kernel, op))
            case tirx.FillOp() if is_register_tile(op.tile):
                self._require_variable(op, op.tile)
                values[op.tile] = Emitter.before(op)(tirx.SplatOp(op.value, op.tile_type)).result
            case tirx.MmaOp() if op.result is None and is_register_tile(op.accumulator):
                self._require_variable(op, op.accumulator)
                accumulator = op.accumulator
                self._read_operands(op, values)
                product = op.with_operands(op.a, op.b, op.accumulator, op.accumulate, op.accumulator.type)
                values[accumulator] = Emitter.before(op)(product).results[0]
            case _:
                self._read_operands(op, values)
                return
        erase(op)

    def _is_variable(self, value: SSAValue) -> bool:
        return type(value.type) in _CELLS and value in self.variables

    def _read_operands(self, op: Operation, values: _Values) -> None:
        for i, operand in enumerate(operands_of(op)):
            if self._is_variable(operand):
                op.operands[i] = self._current(values, operand, op)

    def _require_variable(self, op: Operation, tile: SSAValue) -> None:
        if tile not in self.variables:
            raise RegisterValueError(
                op, f"expected 'tirx.alloc' to write to in registers, found a value, which never changes: {tile.type}"
            )

    def _copy(self, op: tirx.CopyOp, values: _Values) -> None:
        if op.engine is not None:
            match_engine(op)  # a written one has to be right, although not all loads and stores have it
        emit = Emitter.before(op)
        source, destination = op.source, op.destination
        of_tensor = tirx.MemorySpace.TENSOR in (op.source_type.memory, op.destination_type.memory)
        engine = op.engine.data if op.engine is not None and not of_tensor else None
        if not is_register_tile(destination):
            store = emit(tirx.StoreOp(self._current(values, source, op), destination, engine, op.reduce))
            keep_attributes(op, store)
            return
        self._require_variable(op, destination)
        if is_register_tile(source):
            value = self._current(values, source, op)
            values[destination] = _retyped(emit, value, op.destination_type)
        else:
            load = emit(tirx.LoadOp(source, op.destination_type, engine))
            keep_attributes(op, load)
            values[destination] = load.result

    def _map(self, op: tirx.MapOp, values: _Values) -> None:
        """Makes values of what a map reads and writes. Its body cannot write, and scalars that it reads have values."""
        for block in op.body.blocks:
            self._block(block, dict(values))
        ins = [self._current(values, tile, op) for tile in op.ins]
        for tile in op.outs:
            self._require_variable(op, tile)
        outs = list(op.outs)
        made = Emitter.before(op)(
            tirx.MapOp(ins, op.detach_region(op.body), [out.type for out in outs] or op.res.types)
        )
        made.attributes.update(op.attributes)
        for old, new in zip(op.res, made.res, strict=False):
            take_over(old, new)
        values.update(zip(outs, made.res, strict=False))
        erase(op)

    def _loop(self, op: scf.ForOp | scf.WhileOp, values: _Values) -> None:
        """Gives each region the carried variables; the first of two passes them on to the other and to what follows."""
        self._read_operands(op, values)
        carried = self._carried(op)
        inits = self._inits(op, carried, values, Emitter.before(op))
        inside = dict(values)
        for region in op.regions:
            block = region.block
            for variable, init in zip(carried, inits, strict=True):
                inside[variable] = block.insert_arg(init.type, len(block.args))
            self._block(block, inside)
            _extend_end(block, [inside[v] for v in carried])
        _carry(op, carried, inits, values)

    def _inits(self, op: Operation, carried: Sequence[SSAValue], values: _Values, emit: Emitter) -> list[SSAValue]:
        """Returns the values of carried variables at the start of a loop, zeros for those that it writes first."""
        first_reads = self.effects[op].first_reads
        inits: list[SSAValue] = []
        for variable in carried:
            if variable in first_reads:
                inits.append(self._current(values, variable, first_reads[variable]))
            else:
                inits.append(values[variable] if variable in values else _zero(emit, _contents(variable)))
        return inits

    def _if(self, op: scf.IfOp, values: _Values) -> None:
        carried = self._carried(op)
        regions = [op.true_region, op.false_region]
        branches: list[_Values] = []
        for region in regions:
            branches.append(branch := dict(values))
            for block in region.blocks:
                self._block(block, branch)
        if not carried:
            return
        emit = Emitter.before(op)
        missing = [v for v in carried if any(v not in branch for branch in branches)]
        zeros = {v: _zero(emit, _contents(v)) for v in missing}
        for region, branch in zip(regions, branches, strict=True):
            if not region.blocks:
                region.add_block(Block([scf.YieldOp()]))
            _extend_end(region.block, [branch.get(v) or zeros[v] for v in carried])
        _carry(op, carried, [], values)


def _carry(op: Operation, carried: Sequence[SSAValue], inits: Sequence[SSAValue], values: _Values) -> None:
    """Replaces a loop or branch by one with more results, for the variables that it carries, unless there are none."""
    if not carried:
        return
    types = [*op.result_types, *map(_contents, carried)]
    regions = [op.detach_region(region) for region in tuple(op.regions)]
    new = Emitter.before(op)(type(op).create(operands=[*op.operands, *inits], result_types=types, regions=regions))
    new.attributes.update(op.attributes)
    own = len(op.results)
    for result, replacement in zip(op.results, new.results[:own], strict=True):
        take_over(result, replacement)
    values.update(zip(carried, new.results[own:], strict=True))
    erase(op)


def _contents(variable: SSAValue) -> Attribute:
    """Returns the type of the values of a variable."""
    match variable.owner:
        case memref.AllocaOp() as op:
            return op.memref.type.element_type
        case _:
            return variable.type


def _zero(emit: Emitter, type_: Attribute) -> SSAValue:
    match type_:
        case tirx.TileType():
            return emit(tirx.ZeroOp(type_)).result
        case IntegerType(signedness=sign) if sign.data is Signedness.SIGNLESS:
            return emit(arith.ConstantOp(IntegerAttr(0, type_))).result
        case IndexType():
            return emit(arith.ConstantOp(IntegerAttr(0, type_))).result
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return emit(arith.ConstantOp(FloatAttr(0.0, type_))).result
        case _:
            raise RegisterValueError(
                emit.location, f"expected a scalar of a type that arith has constants of, found {type_}"
            )


def _retyped(emit: Emitter, value: SSAValue, type_: tirx.TileType) -> SSAValue:
    """A register tile as a value of another type, whose layout may give threads other elements or be open."""
    source, destination = tirx.TileType.of(value).layout, type_.layout
    if value.type == type_ and source is not None:
        return value
    if source is not None and destination is not None and same_layout(source, destination):
        return emit.retyped(value, type_)
    return emit(tirx.ConvertOp(value, type_)).result


def _extend_end(block: Block, values: Sequence[SSAValue]) -> None:
    """Lets a block of a loop or branch pass on more values."""
    if isinstance(last := block.last_op, scf.YieldOp | scf.ConditionOp):
        last.operands = [*last.operands, *values]


def _arranged(kernel: tirx.KernelOp, op: tirx.SubviewOp | tirx.ReshapeOp | tirx.TransposeOp) -> SSAValue:
    """A value with some elements of another one; at computed places it is loaded from shared memory."""
    source, type_ = tirx.TileType.of(op.source), tirx.TileType.of(op.results[0])
    emit = Emitter.before(op)
    match op:
        case tirx.SubviewOp() if op.indices:
            steps = None if op.steps is None else op.step
            rows = None if steps is None else TileLayout.row_major(source.dims)
            memory = _shared(kernel, emit, source.dims, source.element_type, rows)
            emit(tirx.StoreOp(op.source, memory))
            part = tirx.SubviewOp.type_of(tirx.TileType.of(memory), op.start, type_.dims, steps)
            return emit(tirx.LoadOp(emit(tirx.SubviewOp(memory, op.mixed_offsets, part, steps)).result, type_)).result
        case tirx.SubviewOp():
            arranged = Arrangement.part(source.dims, op.start, op.step, type_.dims)
        case tirx.ReshapeOp():
            arranged = Arrangement(type_.dims, 0, row_major_strides(type_.dims))
        case tirx.TransposeOp():
            arranged = op.arranged
    made = emit(tirx.ConvertOp.of(op.source, arranged)).result
    return made if type_.layout is None else emit(tirx.ConvertOp(made, type_)).result


def _gathered(kernel: tirx.KernelOp, op: tirx.ViewOp) -> SSAValue:
    """The elements of a value that index tiles name, by way of shared memory."""
    emit, source, type_ = Emitter.before(op), tirx.TileType.of(op.source), op.result.type
    memory = _shared(kernel, emit, source.dims, source.element_type)
    emit(tirx.StoreOp(op.source, memory))
    seen = tirx.TileType.get(type_.dims, type_.element_type, tirx.MemorySpace.SHARED)
    view = tirx.ViewOp.create(operands=[memory, *op.where], properties=dict(op.properties), result_types=[seen])
    return emit(tirx.LoadOp(emit(view).result, type_)).result


def _joined(kernel: tirx.KernelOp, op: tirx.ConcatOp) -> SSAValue:
    """Tiles of several extents behind each other, by way of shared memory."""
    emit, dim, at = Emitter.before(op), op.dim.value.data, 0
    memory = _shared(kernel, emit, op.result.type.dims, op.result.type.element_type)
    for tile in op.ins:
        dims = tirx.TileType.of(tile).dims
        start = [at if d == dim else 0 for d in range(len(dims))]
        emit(tirx.StoreOp(tile, emit(tirx.SubviewOp.of(memory, start, dims)).result))
        at += dims[dim]
    return emit(tirx.LoadOp(memory, op.result.type)).result


def _shared(
    kernel: tirx.KernelOp, emit: Emitter, dims: Sequence[int], element: Attribute, layout: TileLayout | None = None
) -> SSAValue:
    """A tile in shared memory, allocated at the start of the kernel."""
    first = kernel.body.block.first_op
    assert first is not None, "a kernel ends in a return"
    at = Emitter(InsertPoint.before(first), emit.location)
    return at(tirx.AllocOp(tirx.TileType.get(dims, element, tirx.MemorySpace.SHARED, layout))).result


class TirxMem2regPass(ModulePass):
    """Register tiles (`tirx.alloc` in `register`) and scalars (`memref.alloca() : memref<i32>`) become SSA values that
    loops carry and branches merge.

    Copies to and from them become `tirx.load` and `tirx.store`, fills `tirx.splat`, products `tirx.mma` with a result.
    What a loop or a branch may leave unwritten is zero. Layouts are not needed: `tirx-pick-layouts` picks them later.
    Sizes of arguments (`memref.dim`) and extents of the grid (`tirx.grid_dim`) become numbers that the launch computes,
    or constants.
    """

    name = "tirx-mem2reg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(tirx.kernels(op), _promote)


_PROMOTED = frozenset((tirx.AllocOp, memref.AllocaOp, memref.DimOp, tirx.GridDimOp, tirx.MmaOp))


def _promote(kernel: tirx.KernelOp) -> None:
    allocations: list[Operation] = []
    for op in [op for op in walk(kernel) if type(op) in _PROMOTED]:
        match op:
            case tirx.AllocOp() | memref.AllocaOp():
                allocations.append(op)
            case memref.DimOp():
                _promote_size(kernel, op)
            case tirx.GridDimOp():
                _promote_extent(kernel, op)
            case tirx.MmaOp() if op.is_widening:
                _widen(op)
            case _:
                pass
    _Promoter(kernel, allocations).run()


def _widen(mma: tirx.MmaOp) -> None:
    """Converts an accumulator of f16 to f32, which is exact, in front of a product whose result is f32.

    Where an instruction takes it in f16, the product stays; the accumulator may then get fragments of its own.
    """
    assert mma.result is not None
    product = Product.of(mma)
    if family_of(product) is MMA_SYNC and has_widening_form(product):
        if not product.is_placed:
            mma.operands[2] = Emitter.before(mma)(tirx.ConvertOp(mma.accumulator, mma.accumulator_type)).result
        return
    emit, accumulator, type_ = Emitter.before(mma), tirx.TileType.of(mma.accumulator), tirx.TileType.of(mma.result)
    block = Block(arg_types=[accumulator.element_type])
    inside = Emitter(InsertPoint.at_end(block), mma.location)
    inside(tirx.YieldOp(inside.value(arith.ExtFOp(block.args[0], type_.element_type))))
    wide = tirx.TileType.get(accumulator.dims, type_.element_type, tirx.MemorySpace.REGISTER, accumulator.layout)
    start: SSAValue = emit(tirx.MapOp([mma.accumulator], Region(block), [wide])).res[0]
    if wide != type_:
        start = emit(tirx.ConvertOp(start, type_)).result
    product = emit(mma.clone())
    product.operands[2] = start
    assert product.result is not None
    mma.result.replace_all_uses_with(product.result)
    erase(mma)


def _promote_extent(kernel: tirx.KernelOp, dim: tirx.GridDimOp) -> None:
    """Replaces an extent of the grid by the number or the formula that the kernel gives; no grid has none."""
    if (grid := kernel.grid_formulas) is None:
        return
    formula = grid[tuple(tirx.GridAxis).index(dim.axis.data)]
    emit = Emitter.before(dim)
    if isinstance(formula, int):
        value = emit.constant(formula, IndexType())
    else:
        value = emit(tirx.LaunchValueOp(formula)).result
    _replace(dim, value)


def _replace(old: tirx.GridDimOp | memref.DimOp, value: SSAValue) -> None:
    take_over(old.result, value)
    erase(old)


def _promote_size(kernel: tirx.KernelOp, dim: memref.DimOp) -> None:
    """Replaces the size of an argument; raises LocatedError for one that no launch knows."""
    arguments = kernel.body.block.args
    index = constant_value(dim.index)
    if dim.source not in arguments or index is None:
        raise KernelArgumentError(dim, "expected a memref argument of the kernel and a constant index, found another")
    type_ = dim.source.type
    if not isa(type_, MemRefType) or not 0 <= index < type_.get_num_dims():
        raise KernelArgumentError(dim, f"expected a dimension of {type_}, found {index}")
    emit = Emitter.before(dim)
    size = type_.get_shape()[index]
    if size != DYNAMIC_INDEX:
        value = emit.constant(size, IndexType())
    else:
        value = emit(tirx.LaunchValueOp(Call("size", (arguments.index(dim.source), index)))).result
    _replace(dim, value)
