"""Completion and ordering of the asynchronous tcgen05 operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I16, I32, UnitAttr
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_prop_def, prop_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, address
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, TensorCommit, TensorFence, WaitAll
from tirx.dialects.tcgen05.attributes import FencePosition, FencePositionAttr, WaitFor, WaitForAttr
from tirx.dialects.tcgen05.common import CtaGroupOp, Tcgen05Op
from tirx.rules import InstructionFormError


@irdl_op_definition
class CommitOp(CtaGroupOp):
    """
    `tcgen05.commit %mbar`: the mbarrier gets one arrival when all asynchronous work of this thread so far is complete.

    `tcgen05.commit %mbar multicast %ctas cta_group 2`: so do the mbarriers at the same place of those CTAs of the
    cluster whose bits of the mask (i16) are set; `multicast_32b %ctas` has a mask of 32 bits (i32).

    `tcgen05.commit %mbar reads_a`: the arrival comes as soon as the products so far have read A from shared memory. It
    says nothing of B, of tensor memory or of what `tcgen05.cp` reads. PTX ISA, "tcgen05.commit".
    """

    name = "tcgen05.commit"
    ISSUE: ClassVar = Issue.ONE_THREAD
    OPTIONS_NEED: ClassVar = {
        "reads_a": "tcgen05.commit.sync_restrict",
        "multicast_32b": "tcgen05.commit.multicast::cluster::32b",
    }

    barrier = operand_def(I32)
    multicast = opt_operand_def(I16)
    multicast_32b = opt_operand_def(I32)
    reads_a = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $barrier (`reads_a` $reads_a^)? (`multicast` $multicast^)? (`multicast_32b` $multicast_32b^)?
    (`cta_group` $cta_group^)? attr-dict
    """

    def verify_(self) -> None:
        super().verify_()
        if self.multicast is not None and self.multicast_32b is not None:
            raise InstructionFormError("expected one mask of CTAs, of 16 or of 32 bits, found both")

    def effects(self) -> Effects:
        return Effects(synchronization=TensorCommit(self.barrier, reads_a=self.reads_a is not None))

    def emit(self, reg: Names) -> str:
        reads = "" if self.reads_a is None else ".sync_restrict::shared::read::mma::a"
        masks = ((".multicast::cluster", self.multicast), (".multicast::cluster::32b", self.multicast_32b))
        multicast, mask = next(((name, f", {reg(given)}") for name, given in masks if given is not None), ("", ""))
        form = f"{self.group}.mbarrier::arrive::one{reads}.shared::cluster{multicast}.b64"
        return f"tcgen05.commit.{form} {address(reg, self.barrier)}{mask}"


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
