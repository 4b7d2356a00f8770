"""Cluster launch control: a cluster takes over the work of one of its grid that has not started.

See PTX ISA, "clusterlaunchcontrol.try_cancel" and "clusterlaunchcontrol.query_cancel".
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i1, i32, i64
from xdsl.irdl import operand_def, opt_prop_def, result_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import SCRATCH_128, Names, PTXInstruction, PureInstruction, address
from tirx.dialects.ptx.effects import AccessKind, Bytes, Effects, Issue, MemoryAccess

ANSWER_BYTES = 16
"""Bytes of an answer, and its alignment."""


@irdl_op_definition
class TryCancelOp(PTXInstruction):
    """Asks for the cluster that would start next; the answer, 16 bytes at `dst`, counts on the mbarrier when it comes.

    With `multicast` every CTA of the asking cluster gets it, at the same offset, with the mbarrier at the same offset.
    A CTA that has seen a request fail must not ask again.

    ```mlir
    ptx.clusterlaunchcontrol.try_cancel %dst, %bar multicast
    ```
    See PTX ISA, "clusterlaunchcontrol.try_cancel".
    """

    name = "ptx.clusterlaunchcontrol.try_cancel"
    ISSUE: ClassVar = Issue.ONE_THREAD

    dst = operand_def(i32)
    barrier = operand_def(i32)
    multicast = opt_prop_def(UnitAttr)

    assembly_format = "$dst `,` $barrier (`multicast` $multicast^)? attr-dict"

    def effects(self) -> Effects:
        written = (Bytes(self.dst, ANSWER_BYTES),)
        return Effects(MemoryAccess(AccessKind.BULK_LOAD, writes=written, barrier=self.barrier))

    FORMS_NEED: ClassVar = ("clusterlaunchcontrol", "clusterlaunchcontrol.multicast")

    def features(self) -> tuple[str, ...]:
        return ("clusterlaunchcontrol" if self.multicast is None else "clusterlaunchcontrol.multicast",)

    def emit(self, reg: Names) -> str:
        multicast = "" if self.multicast is None else ".multicast::cluster::all"
        form = f"async.shared::cta.mbarrier::complete_tx::bytes{multicast}.b128"
        return f"clusterlaunchcontrol.try_cancel.{form} {address(reg, self.dst)}, {address(reg, self.barrier)}"


@irdl_op_definition
class QueryCancelOp(PureInstruction):
    """Reads an answer, two words of 64 bits: whether there is one more cluster, and the index of its first CTA.

    Without one the index is undefined. More than one instruction, since no value is a register of 128 bits:

    ```
    mov.b128 %rq0, {%rd0, %rd1};
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %rq0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, _}, %rq0;
    ```
    See PTX ISA, "clusterlaunchcontrol.query_cancel".
    """

    name = "ptx.clusterlaunchcontrol.query_cancel"
    NEEDS: ClassVar = ("clusterlaunchcontrol",)

    low = operand_def(i64)
    high = operand_def(i64)
    more = result_def(i1)
    x = result_def(i32)
    y = result_def(i32)
    z = result_def(i32)

    assembly_format = "$low `,` $high attr-dict"

    def emit(self, reg: Names) -> str:
        answer = reg.scratch(SCRATCH_128)
        index = ", ".join(map(reg, (self.x, self.y, self.z)))
        return (
            f"mov.b128 {answer}, {{{reg(self.low)}, {reg(self.high)}}}\n"
            f"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 {reg(self.more)}, {answer}\n"
            f"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{{index}, _}}, {answer}"
        )
