"""Completion and ordering of the asynchronous tcgen05 operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I16, I32
from xdsl.irdl import operand_def, opt_operand_def, prop_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, address
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, TensorCommit, TensorFence, WaitAll
from tirx.dialects.tcgen05.attributes import FencePosition, FencePositionAttr, WaitFor, WaitForAttr
from tirx.dialects.tcgen05.common import CtaGroupOp, Tcgen05Op


@irdl_op_definition
class CommitOp(CtaGroupOp):
    """
    `tcgen05.commit %mbar`: the mbarrier gets one arrival when all asynchronous work of this thread so far is complete.

    `tcgen05.commit %mbar multicast %ctas cta_group 2`: so do the mbarriers at the same place of those CTAs of the
    cluster whose bits of the mask (i16) are set. PTX ISA, "tcgen05.commit".
    """

    name = "tcgen05.commit"
    ISSUE: ClassVar = Issue.ONE_THREAD

    barrier = operand_def(I32)
    multicast = opt_operand_def(I16)

    assembly_format = "$barrier (`multicast` $multicast^)? (`cta_group` $cta_group^)? attr-dict"

    def effects(self) -> Effects:
        return Effects(synchronization=TensorCommit(self.barrier))

    def emit(self, reg: Names) -> str:
        multicast = "" if self.multicast is None else ".multicast::cluster"
        mask = "" if self.multicast is None else f", {reg(self.multicast)}"
        where = address(reg, self.barrier)
        return f"tcgen05.commit.{self.group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 {where}{mask}"


_WAITED: Mapping[WaitFor, Effects] = {
    WaitFor.LD: Effects(synchronization=WaitAll(AccessKind.TENSOR_LOAD)),
    WaitFor.ST: Effects(synchronization=WaitAll(AccessKind.TENSOR_STORE)),
}


@irdl_op_definition
class WaitOp(Tcgen05Op):
    """`tcgen05.wait ld`: this thread's `tcgen05.ld` (or `st`) are complete. PTX ISA, "tcgen05.wait"."""

    name = "tcgen05.wait"
    ISSUE: ClassVar = Issue.WARP

    kind = prop_def(WaitForAttr)

    assembly_format = "$kind attr-dict"

    def effects(self) -> Effects:
        return _WAITED[self.kind.data]

    def emit(self, reg: Names) -> str:
        return f"tcgen05.wait::{self.kind.data.value}.sync.aligned"


@irdl_op_definition
class FenceOp(Tcgen05Op):
    """`tcgen05.fence before_thread_sync`: orders asynchronous tcgen05 work with a synchronisation of threads.

    Earlier work of this thread before a barrier that follows; `after_thread_sync`: later work after one that precedes.
    PTX ISA, "tcgen05.fence".
    """

    name = "tcgen05.fence"
    ISSUE: ClassVar = Issue.THREAD

    position = prop_def(FencePositionAttr)

    assembly_format = "$position attr-dict"

    def effects(self) -> Effects:
        return Effects(synchronization=TensorFence(after=self.position.data is FencePosition.AFTER))

    def emit(self, reg: Names) -> str:
        return f"tcgen05.fence::{self.position.data.value}"
