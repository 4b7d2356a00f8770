"""Order and completion of the asynchronous wgmma operations.

No pass may move, merge or remove them: none has a memory-effect trait.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.irdl import prop_def, var_operand_def, var_result_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import FixedOp, Names, PTXInstruction
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, CommitGroup, Effects, Issue, WaitGroup
from tirx.dialects.tirx import PendingType, TileType
from tirx.rules import QueueError
from tirx.wgmma.kinds import MAX_PENDING


class WgmmaOp(PTXInstruction, abc.ABC):
    """All threads of a warpgroup execute it together."""

    ISSUE: ClassVar = Issue.WARPGROUP
    NEEDS: ClassVar = ("wgmma",)


@irdl_op_definition
class FenceOp(FixedOp, WgmmaOp):
    """`wgmma.fence`: orders what threads did with registers and shared memory before the products that follow.

    Needed before the first product, and whenever registers of A or accumulators were touched by anything else than
    products of one shape. PTX ISA, "wgmma.fence".
    """

    name = "wgmma.fence"
    EFFECTS: ClassVar = NO_EFFECTS
    TEXT: ClassVar = "wgmma.fence.sync.aligned"


@irdl_op_definition
class CommitGroupOp(FixedOp, WgmmaOp):
    """`wgmma.commit_group`: the products since the last one form a group. PTX ISA, "wgmma.commit_group"."""

    name = "wgmma.commit_group"
    EFFECTS: ClassVar = Effects(synchronization=CommitGroup(AccessKind.WARPGROUP))
    TEXT: ClassVar = "wgmma.commit_group.sync.aligned"


@irdl_op_definition
class WaitGroupOp(WgmmaOp):
    """`%d = wgmma.wait_group 0(%p : !tirx.pending<T>) -> T`

    Waits until at most so many groups are pending. The results are the accumulators that are complete then, in the same
    registers; there are none where accumulators are registers. PTX ISA, "wgmma.wait_group".
    """

    name = "wgmma.wait_group"

    pending = prop_def(IntegerAttr[I32])
    values = var_operand_def(PendingType)
    tiles = var_result_def(TileType)

    assembly_format = "$pending (`(` $values^ `:` type($values) `)` `->` type($tiles))? attr-dict"

    def verify_(self) -> None:
        if not 0 <= (pending := self.pending.value.data) <= MAX_PENDING:
            raise QueueError(f"expected 0 to {MAX_PENDING} pending groups, found {pending}")
        expected = [PendingType.tile_of(value) for value in self.values]
        if list(self.tiles.types) != expected:
            raise QueueError(
                f"expected the pending tiles as results, ({', '.join(map(str, expected))}), found "
                f"({', '.join(map(str, self.tiles.types))})"
            )

    def effects(self) -> Effects:
        return Effects(synchronization=WaitGroup(AccessKind.WARPGROUP, self.pending.value.data))

    def emit(self, reg: Names) -> str:
        return f"wgmma.wait_group.sync.aligned {self.pending.value.data}"
