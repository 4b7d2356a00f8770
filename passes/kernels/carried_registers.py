"""Loops and branches that carry register tiles: they carry the registers of one thread instead."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, SSAValue

from tirx.passes.ir.register_values import held_tile, register_format, shared_out
from tirx.passes.kernels.kernel_lowering import Place, Registers, Rules


def _expand_arguments(at: Place, block: Block, first: int) -> None:
    """Adds one argument for each register of the arguments from `first` on, which go once nothing uses them."""
    old = block.args[first:]
    new = [block.insert_arg(type_, len(block.args)) for type_ in _expanded_types(old)]
    at.bind(old, shared_out(old, new))
    at.kernel.lowered += old


def _expand_end(at: Place, block: Block) -> None:
    if isinstance(last := block.last_op, scf.YieldOp | scf.ConditionOp):
        last.operands = at.expanded(last.operands)


def _expanded_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of values with those of the registers of a tile in its place."""
    types: list[Attribute] = []
    for value in values:
        format_ = None if (type_ := held_tile(value.type)) is None else register_format(type_)
        types += [value.type] if format_ is None else [format_.type] * format_.count
    return types


def _for(op: scf.ForOp, at: Place) -> Sequence[Registers]:
    block = op.body.block
    _expand_arguments(at, block, 1)
    at.block(block)
    _expand_end(at, block)
    loop = at.emit(scf.ForOp(op.lb, op.ub, op.step, at.expanded(op.iter_args), op.detach_region(op.body)))
    return shared_out(op.results, loop.results)


def _while(op: scf.WhileOp, at: Place) -> Sequence[Registers]:
    for region in op.regions:
        _expand_arguments(at, region.block, 0)
        at.block(region.block)
        _expand_end(at, region.block)
    regions = [op.detach_region(region) for region in (op.before_region, op.after_region)]
    types = _expanded_types(op.results)
    loop = at.emit(scf.WhileOp(at.expanded(op.arguments), types, regions[0], regions[1]))
    return shared_out(op.results, loop.results)


def _if(op: scf.IfOp, at: Place) -> Sequence[Registers]:
    for region in (op.true_region, op.false_region):
        for block in region.blocks:
            at.block(block)
            _expand_end(at, block)
    types = _expanded_types(op.results)
    true, false = op.true_region, op.false_region
    merged = at.emit(scf.IfOp(op.cond, types, op.detach_region(true), op.detach_region(false)))
    return shared_out(op.results, merged.results)


CONTROL_FLOW: Rules = MappingProxyType({scf.ForOp: _for, scf.WhileOp: _while, scf.IfOp: _if})
"""Loop or branch -> its lowering, which expands the tiles that it carries into registers."""
