"""Loops and branches that carry register tiles: they carry the registers of one thread instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import held_tile, register_format


class TileRegisters(Protocol):
    """What a lowering of blocks knows of the registers of tiles."""

    lowered: list[Operation | BlockArgument]

    def block(self, block: Block) -> None:
        """Lowers the operations of a block."""
        ...

    def expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns the values with every register tile replaced by its registers."""
        ...

    def collapsed(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue | None]:
        """Notes which of the values `new` are the registers of tiles; returns the others."""
        ...


def _expand_arguments(lowering: TileRegisters, block: Block, first: int) -> None:
    """Adds one argument for each register of the arguments from `first` on, which go once nothing uses them."""
    old = block.args[first:]
    new = [block.insert_arg(type_, len(block.args)) for type_ in _expanded_types(old)]
    for argument, value in zip(old, lowering.collapsed(old, new), strict=True):
        if value is not None:
            argument.replace_all_uses_with(value)
        lowering.lowered.append(argument)


def _expand_end(lowering: TileRegisters, block: Block) -> None:
    if isinstance(last := block.last_op, scf.YieldOp | scf.ConditionOp):
        last.operands = lowering.expanded(last.operands)


def _expanded_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of values with those of the registers of a tile in its place."""
    types: list[Attribute] = []
    for value in values:
        format_ = None if (type_ := held_tile(value.type)) is None else register_format(type_)
        types += [value.type] if format_ is None else [format_.type] * format_.count
    return types


def _for(lowering: TileRegisters, op: scf.ForOp, emit: Emitter) -> Sequence[SSAValue | None]:
    block = op.body.block
    _expand_arguments(lowering, block, 1)
    lowering.block(block)
    _expand_end(lowering, block)
    loop = emit(scf.ForOp(op.lb, op.ub, op.step, lowering.expanded(op.iter_args), op.detach_region(op.body)))
    return lowering.collapsed(op.results, loop.results)


def _while(lowering: TileRegisters, op: scf.WhileOp, emit: Emitter) -> Sequence[SSAValue | None]:
    for region in op.regions:
        _expand_arguments(lowering, region.block, 0)
        lowering.block(region.block)
        _expand_end(lowering, region.block)
    regions = [op.detach_region(region) for region in (op.before_region, op.after_region)]
    types = _expanded_types(op.results)
    loop = emit(scf.WhileOp(lowering.expanded(op.arguments), types, regions[0], regions[1]))
    return lowering.collapsed(op.results, loop.results)


def _if(lowering: TileRegisters, op: scf.IfOp, emit: Emitter) -> Sequence[SSAValue | None]:
    for region in (op.true_region, op.false_region):
        for block in region.blocks:
            lowering.block(block)
            _expand_end(lowering, block)
    types = _expanded_types(op.results)
    true, false = op.true_region, op.false_region
    merged = emit(scf.IfOp(op.cond, types, op.detach_region(true), op.detach_region(false)))
    return lowering.collapsed(op.results, merged.results)


CONTROL_FLOW: Mapping[type[Operation], Callable[[Any, Any, Emitter], Sequence[SSAValue | None]]] = MappingProxyType(
    {scf.ForOp: _for, scf.WhileOp: _while, scf.IfOp: _if}
)
"""Operation -> its lowering, which emits the replacement and returns the new results, None for tiles."""
