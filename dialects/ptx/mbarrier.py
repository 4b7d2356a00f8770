"""Mbarriers: phases that complete with a number of arrivals and of bytes. See PTX ISA, "mbarrier".

An mbarrier is 8 bytes of shared memory. Operations on one of another CTA of the cluster (flag `cluster`) take a
`shared::cluster` address, as `ptx.mapa` gives it. None of these ops has a memory-effect trait: unknown effects keep
every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, UnitAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, ThreadOp, address
from tirx.dialects.ptx.core import integer_of
from tirx.dialects.ptx.effects import (
    AccessKind,
    Bytes,
    Effects,
    MbarrierArrive,
    MbarrierInvalidate,
    MbarrierTransaction,
    MbarrierWait,
    MemoryAccess,
)
from tirx.rules import InstructionFormError

MBARRIER_BYTES = 8
"""Size of an mbarrier."""

_COUNT_LIMIT = 1 << 20
"""Pending arrivals and bytes have 20 bits (PTX ISA, "Contents of the mbarrier object")."""


def _check_count(count: int) -> None:
    if not 1 <= count < _COUNT_LIMIT:
        raise InstructionFormError(f"expected an arrival count from 1 to 2^20 - 1, found {count}")


def _check_bytes(count: int) -> None:
    if not 0 <= count < _COUNT_LIMIT:
        raise InstructionFormError(f"expected a transaction count from 0 to 2^20 - 1 bytes, found {count}")


MULTICAST = "mbarrier.multicast::cluster::32b"
"""What the target must have for operations on the mbarriers of several CTAs."""


def _check_mask(mask: SSAValue | None, cluster: UnitAttr | None) -> None:
    if mask is not None and cluster is None:
        raise InstructionFormError("expected multicast_32b with cluster, found it without")


def _multicast(reg: Names, mask: SSAValue | None) -> tuple[str, str]:
    """The modifier and the operand of a mask of CTAs."""
    return ("", "") if mask is None else (".multicast::cluster::32b", f", {reg(mask)}")


def _space(cluster: UnitAttr | None) -> str:
    return "shared::cta" if cluster is None else "shared::cluster"


@irdl_op_definition
class MbarrierInitOp(ThreadOp):
    """Initialises the 8-byte mbarrier at a shared address to expect `count` arrivals a phase.

    See PTX ISA, "mbarrier.init".
    """

    name = "ptx.mbarrier.init"
    FOLLOWS_TYPES: ClassVar = True
    NEEDS: ClassVar = ("mbarrier",)

    barrier = operand_def(i32)
    count = prop_def(IntegerAttr[I32])

    assembly_format = "$barrier `,` $count attr-dict"

    def verify_(self) -> None:
        _check_count(self.count.value.data)

    def effects(self) -> Effects:
        return Effects(
            MemoryAccess(AccessKind.INIT, writes=(Bytes(self.barrier, MBARRIER_BYTES),), barrier=self.barrier)
        )

    def emit(self, reg: Names) -> str:
        return f"mbarrier.init.shared::cta.b64 {address(reg, self.barrier)}, {self.count.value.data}"


@irdl_op_definition
class MbarrierInvalOp(ThreadOp):
    """Ends the use of a shared address as mbarrier. See PTX ISA, "mbarrier.inval"."""

    name = "ptx.mbarrier.inval"
    NEEDS: ClassVar = ("mbarrier",)

    barrier = operand_def(i32)

    assembly_format = "$barrier attr-dict"

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierInvalidate(self.barrier))

    def emit(self, reg: Names) -> str:
        return f"mbarrier.inval.shared::cta.b64 {address(reg, self.barrier)}"


@irdl_op_definition
class MbarrierArriveOp(ThreadOp):
    """Counts one arrival, or `count` of them; the phase token is dropped.

    `cluster`: the mbarrier may be that of another CTA, and what this thread did before is visible in the whole cluster.
    `remote`: the mbarrier may be that of another CTA, without this order; on an H200 it costs much less. `relaxed`: it
    orders nothing. `multicast_32b` (i32), with `cluster`: the mbarriers at the same place of the CTAs whose bits are
    set.

    ```mlir
    ptx.mbarrier.arrive %bar, 2
    ptx.mbarrier.arrive %remote cluster
    ptx.mbarrier.arrive %remote remote
    ```
    See PTX ISA, "mbarrier.arrive".
    """

    name = "ptx.mbarrier.arrive"

    barrier = operand_def(i32)
    count = opt_prop_def(IntegerAttr[I32])
    cluster = opt_prop_def(UnitAttr)
    remote = opt_prop_def(UnitAttr)
    relaxed = opt_prop_def(UnitAttr)
    multicast_32b = opt_operand_def(i32)

    assembly_format = """
    $barrier (`,` $count^)? (`cluster` $cluster^)? (`remote` $remote^)? (`relaxed` $relaxed^)?
    (`multicast_32b` $multicast_32b^)? attr-dict
    """

    def verify_(self) -> None:
        _check_mask(self.multicast_32b, self.cluster)
        if self.remote is not None and (self.cluster is not None or self.relaxed is not None):
            raise InstructionFormError("expected remote without cluster and relaxed, found one of them")
        if self.count is not None:
            _check_count(self.count.value.data)

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierArrive(self.barrier, relaxed=self.relaxed is not None))

    FORMS_NEED: ClassVar = ("mbarrier", "mbarrier.arrive.count", "mbarrier.cluster", "mbarrier.relaxed", MULTICAST)

    def features(self) -> tuple[str, ...]:
        return (
            *(() if self.multicast_32b is None else (MULTICAST,)),
            "mbarrier" if self.count is None else "mbarrier.arrive.count",
            *(() if self.cluster is None and self.remote is None else ("mbarrier.cluster",)),
            *(() if self.relaxed is None else ("mbarrier.relaxed",)),
        )

    def emit(self, reg: Names) -> str:
        count = "" if self.count is None else f", {self.count.value.data}"
        order = _order(self.cluster, self.relaxed, "release")
        space = _space(self.cluster or self.remote)
        form, mask = _multicast(reg, self.multicast_32b)
        return f"mbarrier.arrive{order}.{space}{form}.b64 _, {address(reg, self.barrier)}{count}{mask}"


def _order(cluster: UnitAttr | None, relaxed: UnitAttr | None, default: str) -> str:
    """`.sem.scope`; nothing for the default, release or acquire in the CTA."""
    if cluster is None and relaxed is None:
        return ""
    return f".{default if relaxed is None else 'relaxed'}.{'cta' if cluster is None else 'cluster'}"


@irdl_op_definition
class MbarrierArriveExpectTxOp(ThreadOp):
    """Announces `bytes` of asynchronous copies and counts one arrival. See PTX ISA, "mbarrier.arrive.expect_tx".

    `cluster` and `remote` as for `ptx.mbarrier.arrive`.
    """

    name = "ptx.mbarrier.arrive.expect_tx"
    NEEDS: ClassVar = ("mbarrier.expect_tx",)

    barrier = operand_def(i32)
    bytes = prop_def(IntegerAttr[I32])
    cluster = opt_prop_def(UnitAttr)
    remote = opt_prop_def(UnitAttr)

    assembly_format = "$barrier `,` $bytes (`cluster` $cluster^)? (`remote` $remote^)? attr-dict"

    def verify_(self) -> None:
        if self.remote is not None and self.cluster is not None:
            raise InstructionFormError("expected remote without cluster, found both")
        _check_bytes(self.bytes.value.data)

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierArrive(self.barrier, announces=True))

    def emit(self, reg: Names) -> str:
        order = _order(self.cluster, None, "release")
        where, space = address(reg, self.barrier), _space(self.cluster or self.remote)
        return f"mbarrier.arrive.expect_tx{order}.{space}.b64 _, {where}, {self.bytes.value.data}"


class _TxOp(ThreadOp, abc.ABC):
    """Changes the pending bytes of an mbarrier, without an arrival; `multicast_32b` as for `ptx.mbarrier.arrive`."""

    NEEDS: ClassVar = ("mbarrier.expect_tx",)
    OPTIONS_NEED: ClassVar = {"multicast_32b": MULTICAST}

    barrier = operand_def(i32)
    bytes = prop_def(IntegerAttr[I32])
    cluster = opt_prop_def(UnitAttr)
    multicast_32b = opt_operand_def(i32)

    assembly_format = "$barrier `,` $bytes (`cluster` $cluster^)? (`multicast_32b` $multicast_32b^)? attr-dict"

    def verify_(self) -> None:
        _check_mask(self.multicast_32b, self.cluster)
        _check_bytes(self.bytes.value.data)

    def emit(self, reg: Names) -> str:
        scope = "cta" if self.cluster is None else "cluster"
        form, mask = _multicast(reg, self.multicast_32b)
        form = f"{self.name.removeprefix('ptx.')}.relaxed.{scope}.{_space(self.cluster)}{form}.b64"
        return f"{form} {address(reg, self.barrier)}, {self.bytes.value.data}{mask}"


@irdl_op_definition
class MbarrierExpectTxOp(_TxOp):
    """Announces `bytes` of asynchronous copies. See PTX ISA, "mbarrier.expect_tx"."""

    name = "ptx.mbarrier.expect_tx"

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierTransaction(self.barrier, announces=True))


@irdl_op_definition
class MbarrierCompleteTxOp(_TxOp):
    """Counts `bytes` as copied, as an asynchronous copy does. See PTX ISA, "mbarrier.complete_tx"."""

    name = "ptx.mbarrier.complete_tx"

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierTransaction(self.barrier, announces=False))


class _WaitParityOp(ThreadOp, abc.ABC):
    """Looks whether the phase of a parity is complete."""

    OPTIONS_NEED: ClassVar = {"cluster": "mbarrier.cluster", "relaxed": "mbarrier.relaxed"}

    barrier = operand_def(i32)
    parity = operand_def(i32)
    cluster = opt_prop_def(UnitAttr)
    relaxed = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if (number := integer_of(self.parity)) not in (None, 0, 1):
            raise InstructionFormError(f"expected a parity of 0 or 1, found {number}")

    def effects(self) -> Effects:
        return Effects(synchronization=MbarrierWait(self.barrier))

    def _tested(self, reg: Names, done: str) -> str:
        form = f"parity{_order(self.cluster, self.relaxed, 'acquire')}.shared::cta.b64"
        return f"{form} {done}, {address(reg, self.barrier)}, {reg.imm(self.parity)}"


@irdl_op_definition
class MbarrierTestWaitParityOp(_WaitParityOp):
    """Tells if the phase of the given parity is complete; does not wait. See PTX ISA, "mbarrier.test_wait".

    `cluster`: what threads of other CTAs did before they arrived is visible. `relaxed`: it orders nothing.
    """

    name = "ptx.mbarrier.test_wait_parity"
    NEEDS: ClassVar = ("mbarrier",)

    done = result_def(i1)

    assembly_format = "$barrier `,` $parity (`cluster` $cluster^)? (`relaxed` $relaxed^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return f"mbarrier.test_wait.{self._tested(reg, reg(self.done))}"


@irdl_op_definition
class MbarrierWaitParityOp(_WaitParityOp):
    """Waits until the phase of the given parity (0 for the first) is complete.

    `cluster` and `relaxed` as for `ptx.mbarrier.test_wait_parity`; `hint` is for how many nanoseconds the hardware may
    suspend the thread at a time. More than one instruction: every user of `mbarrier.try_wait`, which may time out,
    needs the loop

    ```
    $wait0:
      mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0;
      @!%p0 bra $wait0;
    ```
    See PTX ISA, "mbarrier.test_wait/mbarrier.try_wait".
    """

    name = "ptx.mbarrier.wait_parity"
    NEEDS: ClassVar = ("mbarrier.try_wait",)

    hint = opt_prop_def(IntegerAttr[I32])

    assembly_format = "$barrier `,` $parity (`cluster` $cluster^)? (`relaxed` $relaxed^)? (`hint` $hint^)? attr-dict"

    def verify_(self) -> None:
        if self.hint is not None and self.hint.value.data < 0:
            raise InstructionFormError(f"expected a hint of 0 nanoseconds or more, found {self.hint.value.data}")
        super().verify_()

    def emit(self, reg: Names) -> str:
        label, done = reg.label("wait"), reg.scratch(i1)
        hint = "" if self.hint is None else f", {self.hint.value.data}"
        return f"{label}:\nmbarrier.try_wait.{self._tested(reg, done)}{hint}\n@!{done} bra {label}"
