"""`cp.async`: each thread copies a few bytes from global to shared memory, and does not wait for them.

These copies belong to the generic proxy (PTX ISA, "cp.async operations are performed in the generic proxy"). None of
these ops has a memory-effect trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I32, I64, IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import FixedOp, Names, ThreadOp, address, expect_choice
from tirx.dialects.ptx.core import integer_of
from tirx.dialects.ptx.effects import (
    AccessKind,
    Bytes,
    CommitGroup,
    CopyArrive,
    Effects,
    MemoryAccess,
    WaitGroup,
)
from tirx.rules import InstructionFormError

CP_ASYNC_BYTES: Mapping[str, tuple[int, ...]] = {"ca": (4, 8, 16), "cg": (16,)}
"""Cache operator -> bytes that one copy may move: `ca` caches in L1 and L2, `cg` in L2 only (PTX ISA, "cp.async")."""


@irdl_op_definition
class CpAsyncOp(ThreadOp):
    """Starts to copy `bytes` bytes from a global to a shared address; both are aligned to `bytes`.

    With `source_bytes` (i32) only so many are read and the rest of the destination becomes zero; with 0 of them the
    global address is not read at all. `offset` and `source_offset` are added to the addresses, in bytes.

    ```mlir
    ptx.cp.async "cg" %dst, %src bytes 16
    ptx.cp.async "ca" %dst offset 64, %src source_offset 128 bytes 4 source_bytes %n
    ```
    See PTX ISA, "cp.async".
    """

    name = "ptx.cp.async"
    NEEDS: ClassVar = ("cp.async",)

    dst = operand_def(i32)
    src = operand_def(i64)
    source_bytes = opt_operand_def(i32)
    bytes = prop_def(IntegerAttr[I32])
    cache = prop_def(StringAttr)
    offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, 64))
    source_offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, 64))

    assembly_format = """
    $cache $dst (`offset` $offset^)? `,` $src (`source_offset` $source_offset^)? `bytes` $bytes
    (`source_bytes` $source_bytes^)? attr-dict
    """

    def verify_(self) -> None:
        expect_choice("cache", self.cache.data, tuple(CP_ASYNC_BYTES))
        expect_choice(f"bytes of cp.async.{self.cache.data}", self.size, CP_ASYNC_BYTES[self.cache.data])
        count = None if self.source_bytes is None else integer_of(self.source_bytes)
        if count is not None and not 0 <= count <= self.size:
            raise InstructionFormError(f"expected 0 to {self.size} source_bytes, found {count}")

    @property
    def size(self) -> int:
        """Bytes of shared memory that are written."""
        return self.bytes.value.data

    def effects(self) -> Effects:
        written = Bytes(self.dst, self.size, self.offset.value.data)
        return Effects(MemoryAccess(AccessKind.COPY, writes=(written,)))

    def emit(self, reg: Names) -> str:
        target = address(reg, self.dst, self.offset.value.data)
        source = address(reg, self.src, self.source_offset.value.data)
        count = "" if self.source_bytes is None else f", {reg.imm(self.source_bytes)}"
        return f"cp.async.{self.cache.data}.shared.global {target}, {source}, {self.size}{count}"


@irdl_op_definition
class CpAsyncCommitGroupOp(FixedOp, ThreadOp):
    """Makes a group, perhaps an empty one, of the copies that this thread has started since the last group.

    See PTX ISA, "cp.async.commit_group".
    """

    name = "ptx.cp.async.commit_group"
    EFFECTS: ClassVar = Effects(synchronization=CommitGroup(AccessKind.COPY))
    NEEDS: ClassVar = ("cp.async",)
    TEXT: ClassVar = "cp.async.commit_group"


@irdl_op_definition
class CpAsyncWaitGroupOp(ThreadOp):
    """Waits until at most `pending` of the newest groups of this thread are open. See PTX ISA, "cp.async.wait_group".

    The copies of other threads become visible behind a barrier.
    """

    name = "ptx.cp.async.wait_group"
    NEEDS: ClassVar = ("cp.async",)

    pending = prop_def(IntegerAttr[I32])

    assembly_format = "$pending attr-dict"

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            raise InstructionFormError(f"expected 0 or more pending groups, found {self.pending.value.data}")

    def effects(self) -> Effects:
        return Effects(synchronization=WaitGroup(AccessKind.COPY, self.pending.value.data))

    def emit(self, reg: Names) -> str:
        return f"cp.async.wait_group {self.pending.value.data}"


@irdl_op_definition
class CpAsyncMbarrierArriveOp(ThreadOp):
    """Arrives at an mbarrier once all copies that this thread has started are complete.

    With `noinc` the arrival is one of those that the mbarrier was initialised for; without, the pending count grows by
    one first, so that the phase does not count it. See PTX ISA, "cp.async.mbarrier.arrive".
    """

    name = "ptx.cp.async.mbarrier.arrive"
    NEEDS: ClassVar = ("cp.async", "mbarrier")

    barrier = operand_def(i32)
    noinc = opt_prop_def(UnitAttr)

    assembly_format = "(`noinc` $noinc^)? $barrier attr-dict"

    def effects(self) -> Effects:
        return Effects(synchronization=CopyArrive(self.barrier))

    def emit(self, reg: Names) -> str:
        noinc = "" if self.noinc is None else ".noinc"
        return f"cp.async.mbarrier.arrive{noinc}.shared.b64 {address(reg, self.barrier)}"
