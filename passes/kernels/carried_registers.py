"""Loops and branches that carry register tiles: they carry the registers of one thread instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.passes.ir.register_values import held_tile, register_format, shared_out
from tirx.passes.kernels.kernel_lowering import Place, Registers


def _expanded_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of values with those of the registers of a tile in its place."""
    types: list[Attribute] = []
    for value in values:
        format_ = None if (type_ := held_tile(value.type)) is None else register_format(type_)
        types += [value.type] if format_ is None else [format_.type] * format_.count
    return types


def _expanded(op: scf.ForOp | scf.IfOp | scf.WhileOp, at: Place) -> Sequence[Registers]:
    """Lets a loop or branch take, pass on and give the registers of tiles in their place."""
    first = 1 if isinstance(op, scf.ForOp) else 0  # behind the counter
    for block in [block for region in op.regions for block in region.blocks]:
        old = block.args[first:]
        new = [block.insert_arg(type_, len(block.args)) for type_ in _expanded_types(old)]
        at.bind(old, shared_out(old, new))
        at.kernel.lowered += old  # which go once nothing uses them
        at.block(block)
        if isinstance(last := block.last_op, scf.YieldOp | scf.ConditionOp):
            last.operands = at.expanded(last.operands)
    operands, types = at.expanded(op.operands), _expanded_types(op.results)
    regions = [op.detach_region(region) for region in tuple(op.regions)]
    made = at.emit(type(op).create(operands=operands, result_types=types, regions=regions))
    return shared_out(op.results, made.results)


CONTROL_FLOW: Mapping[type[Operation], Callable[..., Sequence[Registers]]] = dict.fromkeys(
    (scf.ForOp, scf.IfOp, scf.WhileOp), _expanded
)
"""Loop or branch -> its lowering, which expands the tiles that it carries into registers."""
