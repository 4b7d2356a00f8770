"""Order and completion of the asynchronous wgmma operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import i32_attr, irdl_op_definition
from tirx.dialects.tirx import PendingType, TileType
from tirx.rules import QueueError
from tirx.wgmma import MAX_PENDING

EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())
"""Traits of all that is asynchronous or orders it: no pass moves, merges or removes it."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """
    `wgmma.fence`: orders what threads did with registers before the products that follow.

    Needed before the first product, and whenever registers of A or accumulators were touched by anything else than
    products of one shape. PTX ISA, "wgmma.fence".
    """

    name = "wgmma.fence"

    assembly_format = "attr-dict"
    traits = traits_def(*EFFECTS)


@irdl_op_definition
class CommitGroupOp(IRDLOperation):
    """`wgmma.commit_group`: the products since the last one form a group. PTX ISA, "wgmma.commit_group"."""

    name = "wgmma.commit_group"

    assembly_format = "attr-dict"
    traits = traits_def(*EFFECTS)


@irdl_op_definition
class WaitGroupOp(IRDLOperation):
    """
    `%d = wgmma.wait_group 0(%p : !tirx.pending<T>) -> T`

    Waits until at most so many groups are pending. The results are the accumulators that are complete then, in the same
    registers. PTX ISA, "wgmma.wait_group".
    """

    name = "wgmma.wait_group"

    pending = prop_def(IntegerAttr[I32])
    values = var_operand_def(PendingType)
    tiles = var_result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$pending (`(` $values^ `:` type($values) `)` `->` type($tiles))? attr-dict"
    traits = traits_def(*EFFECTS)

    def __init__(self, pending: int, values: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[values],
            properties={"pending": i32_attr(pending)},
            result_types=[[PendingType.tile_of(value) for value in values]],
        )

    def verify_(self) -> None:
        if not 0 <= (pending := self.pending.value.data) <= MAX_PENDING:
            raise QueueError(f"expected 0 to {MAX_PENDING} pending groups, found {pending}")
        expected = [PendingType.tile_of(value) for value in self.values]
        if list(self.tiles.types) != expected:
            raise QueueError(
                f"expected the pending tiles as results, ({', '.join(map(str, expected))}), found "
                f"({', '.join(map(str, self.tiles.types))})"
            )
