"""`tirx-promote-registers`: variables that live in registers become SSA values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import (
    AllocOp,
    CopyOp,
    FillOp,
    KernelOp,
    LoadOp,
    MmaOp,
    ReshapeOp,
    Scope,
    SplatOp,
    StoreOp,
    SubviewOp,
    TileType,
)
from tirx.layout import TileLayout
from tirx.passes.emit.emitter import Emitter

_Values = dict[SSAValue, SSAValue]
"""The current value of every variable that has one."""


def _is_register(value: SSAValue) -> bool:
    return isinstance(value.type, TileType) and value.type.memory is Scope.REGISTER


def _declares_variable(op: Operation) -> bool:
    match op:
        case AllocOp():
            return op.result.type.memory is Scope.REGISTER
        case memref.AllocaOp():
            return op.memref.type.get_num_dims() == 0
        case _:
            return False


def _zero(emit: Emitter, type_: Attribute) -> SSAValue:
    match type_:
        case TileType():
            return emit(SplatOp(_zero(emit, type_.element_type), type_)).result
        case IntegerType() | IndexType():
            return emit(arith.ConstantOp(IntegerAttr(0, type_))).result
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return emit(arith.ConstantOp(FloatAttr(0.0, type_))).result
        case _:
            raise LocatedError(emit.location, f"expected a register tile or a scalar in a register, found {type_}")


class _Promoter:
    """Promotes the variables of one kernel: loops carry them, branches merge them."""

    def __init__(self, kernel: KernelOp):
        self.kernel = kernel
        self.declarations = [op for op in kernel.walk() if _declares_variable(op)]
        self.variables = {op.results[0] for op in self.declarations}
        # Before anything is rewritten: a loop's variable may be read by an operation before the loop, in the next
        # round of a loop around both.
        self.read_outside = {op: self._read_outside(op) for op in kernel.walk() if isinstance(op, scf.ForOp | scf.IfOp)}

    def run(self) -> None:
        self._block(self.kernel.body.block, {})
        for op in self.declarations:
            op.detach()
            op.erase()

    # What an operation does with variables, without regard to operations inside it.

    def _written(self, op: Operation) -> SSAValue | None:
        match op:
            case memref.StoreOp():
                target = op.memref
            case CopyOp():
                target = op.destination
            case FillOp():
                target = op.tile
            case MmaOp():
                target = op.accumulator
            case _:
                return None
        return target if target in self.variables else None

    def _read(self, op: Operation) -> list[SSAValue]:
        written = self._written(op)
        overwrites = not isinstance(op, MmaOp)
        return [v for v in op.operands if v in self.variables and not (overwrites and v is written)]

    def _written_inside(self, op: Operation) -> list[SSAValue]:
        written = (self._written(inner) for inner in op.walk())
        return list(dict.fromkeys(v for v in written if v is not None))

    def _first_reads(self, block: Block) -> tuple[dict[SSAValue, Operation], set[SSAValue]]:
        """The variables that `block` may read before it writes them, each with a reader, and those it always writes."""
        reads: dict[SSAValue, Operation] = {}
        written: set[SSAValue] = set()

        def note(found: Iterable[tuple[SSAValue, Operation]]) -> None:
            for variable, reader in found:
                if variable not in written:
                    reads.setdefault(variable, reader)

        for op in block.ops:
            note((v, op) for v in self._read(op))
            branches = [self._first_reads(b) for region in op.regions for b in region.blocks]
            for inner_reads, _ in branches:
                note(inner_reads.items())
            if isinstance(op, scf.IfOp) and len(branches) == 2:
                written |= branches[0][1] & branches[1][1]
            elif (target := self._written(op)) is not None:
                written.add(target)
        return reads, written

    def _read_outside(self, op: Operation) -> set[SSAValue]:
        """The variables that `op` writes and that operations outside of it read."""
        return {
            variable
            for variable in self._written_inside(op)
            for use in variable.uses
            if not op.is_ancestor(use.operation) and variable in self._read(use.operation)
        }

    # The walk.

    def _current(self, values: _Values, tile: SSAValue, reader: Operation) -> SSAValue:
        if tile not in self.variables:
            return tile
        if tile not in values:
            raise LocatedError(reader, "expected a register tile that was written before, found one without contents")
        return values[tile]

    def _block(self, block: Block, values: _Values) -> None:
        for op in tuple(block.ops):
            match op:
                case scf.ForOp():
                    self._for(op, values)
                case scf.IfOp():
                    self._if(op, values)
                case _:
                    if op.regions and self._written_inside(op):
                        raise LocatedError(
                            op, f"expected scf.for or scf.if around what is kept in registers, found {op.name}"
                        )
                    for inner in tuple(op.walk()) if op.regions else (op,):
                        self._operation(inner, values)

    def _operation(self, op: Operation, values: _Values) -> None:
        emit = Emitter.before(op)
        match op:
            case memref.LoadOp() if op.memref in self.variables:
                op.res.replace_all_uses_with(self._current(values, op.memref, op))
            case memref.StoreOp() if op.memref in self.variables:
                values[op.memref] = op.value
            case CopyOp() if _is_register(op.source) or _is_register(op.destination):
                self._copy(op, emit, values)
            case SubviewOp() | ReshapeOp() if op.source in self.variables:
                raise LocatedError(op, "expected whole register tiles, found a part of one; allocate the parts instead")
            case FillOp() if op.tile in self.variables:
                values[op.tile] = emit(SplatOp(op.value, op.tile_type)).result
            case MmaOp() if op.accumulator in self.variables:
                a, b, acc = (self._current(values, t, op) for t in (op.a, op.b, op.accumulator))
                instruction = None if op.instruction is None else op.instruction.data
                product = emit(MmaOp(a, b, acc, result_type=op.accumulator_type, instruction=instruction))
                product.plan = op.plan
                if (result := product.result) is None:
                    raise LocatedError(op, "expected the product of register tiles to have a result")
                values[op.accumulator] = result
            case _:
                for i, operand in enumerate(op.operands):
                    if operand in self.variables:
                        op.operands[i] = self._current(values, operand, op)
                return
        op.detach()
        op.erase()

    def _copy(self, op: CopyOp, emit: Emitter, values: _Values) -> None:
        if not _is_register(op.destination):
            emit(StoreOp(self._current(values, op.source, op), op.destination))
            return
        if not _is_register(op.source):
            values[op.destination] = emit(LoadOp(op.source, op.destination_type)).result
            return
        source, destination = op.source_type.placement, op.destination_type.placement
        same = isinstance(source, TileLayout) and isinstance(destination, TileLayout) and source.equivalent(destination)
        if not same:
            raise LocatedError(
                op,
                f"expected register tiles of one layout, found {source} and {destination}; "
                "copy through shared memory to change who holds what",
            )
        value = self._current(values, op.source, op)
        if value.type != op.destination.type:
            value = emit(_retyped(value, op.destination_type)).results[0]
        values[op.destination] = value

    def _for(self, op: scf.ForOp, values: _Values) -> None:
        first_reads, _ = self._first_reads(op.body.block)
        carried: list[SSAValue] = []
        for variable in self._written_inside(op):
            if variable in first_reads:
                self._current(values, variable, first_reads[variable])
                carried.append(variable)
            elif variable in self.read_outside[op]:
                carried.append(variable)
        emit = Emitter.before(op)
        inits = [values[v] if v in values else _zero(emit, _contents(v)) for v in carried]
        body = op.detach_region(op.body)
        block = body.block
        inside = dict(values)
        for variable in self._written_inside_block(block):
            inside.pop(variable, None)
        for variable, init in zip(carried, inits, strict=True):
            inside[variable] = block.insert_arg(init.type, len(block.args))
        self._block(block, inside)
        _extend_yield(block, [inside[v] for v in carried])
        loop = emit(scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *inits], body))
        loop.attributes.update(op.attributes)
        self._finish(op, loop, carried, values)

    def _written_inside_block(self, block: Block) -> list[SSAValue]:
        return [v for op in block.ops for v in self._written_inside(op)]

    def _if(self, op: scf.IfOp, values: _Values) -> None:
        carried = self._written_inside(op)
        carried = [v for v in carried if v in values or v in self.read_outside[op]]
        if not carried:
            for region in (op.true_region, op.false_region):
                for block in region.blocks:
                    self._block(block, dict(values))
            return
        emit = Emitter.before(op)
        before = {v: values[v] if v in values else _zero(emit, _contents(v)) for v in carried}
        regions: list[Region] = []
        for region in (op.true_region, op.false_region):
            region = op.detach_region(region)
            if not region.blocks:
                region.add_block(Block([scf.YieldOp()]))
            branch = values | before
            self._block(region.block, branch)
            _extend_yield(region.block, [branch[v] for v in carried])
            regions.append(region)
        types = [*(r.type for r in op.results), *(before[v].type for v in carried)]
        merged = emit(scf.IfOp(op.cond, types, regions[0], regions[1]))
        merged.attributes.update(op.attributes)
        self._finish(op, merged, carried, values)

    @staticmethod
    def _finish(old: Operation, new: Operation, carried: list[SSAValue], values: _Values) -> None:
        results = new.results
        for result, replacement in zip(old.results, results, strict=False):
            result.replace_all_uses_with(replacement)
        values.update(zip(carried, results[len(old.results) :], strict=True))
        old.detach()
        old.erase()


def _contents(variable: SSAValue) -> Attribute:
    """The type of the values of a variable."""
    match variable.owner:
        case memref.AllocaOp() as op:
            return op.memref.type.element_type
        case _:
            return variable.type


def _retyped(value: SSAValue, type_: TileType) -> Operation:
    """Another spelling of an equivalent layout; the registers are the same."""
    return UnrealizedConversionCastOp.get([value], [type_])


def _extend_yield(block: Block, values: list[SSAValue]) -> None:
    last = block.last_op
    if values and isinstance(last, scf.YieldOp):
        emit = Emitter.before(last)
        emit(scf.YieldOp(*last.arguments, *values))
        last.detach()
        last.erase()


@dataclass(frozen=True)
class TirxPromoteRegistersPass(ModulePass):
    """
    Register tiles (`tirx.alloc` in `register`) and scalars (`memref.alloca() : memref<i32>`) become SSA values
    that loops carry and branches merge. Copies of them become `tirx.load` and `tirx.store`, fills `tirx.splat`,
    products `tirx.mma` with a result.
    """

    name = "tirx-promote-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                _Promoter(kernel).run()
