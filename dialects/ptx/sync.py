"""Barriers, fences, mbarriers and the election of one thread.

None of these ops has a memory-effect trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import I32, I64, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.ptx.base import Names, PTXInstruction, address, expect_choice

Value = SSAValue | Operation

FULL_WARP = 0xFFFFFFFF
"""The member mask of all 32 lanes."""

_FENCE_SPACES = ("shared::cta", "global")


def _check_mask(mask: int) -> None:
    if not 0 < mask <= FULL_WARP:
        raise VerifyException(f"expected a non-zero mask of 32 lanes, got {mask:#x}")


@irdl_op_definition
class BarSyncOp(PTXInstruction):
    """`bar.sync 0` for all threads of the block, `bar.sync 1, 64` for some. See PTX ISA, "bar"."""

    name = "ptx.bar.sync"

    barrier = prop_def(IntegerAttr[I32])
    threads = opt_prop_def(IntegerAttr[I32])

    assembly_format = "$barrier (`threads` $threads^)? attr-dict"

    def __init__(self, barrier: int = 0, threads: int | None = None):
        super().__init__(
            properties={
                "barrier": IntegerAttr(barrier, 32),
                "threads": None if threads is None else IntegerAttr(threads, 32),
            }
        )

    def verify_(self) -> None:
        if not 0 <= (barrier := self.barrier.value.data) < 16:
            raise VerifyException(f"expected a barrier from 0 to 15, got {barrier}")
        if self.threads is not None and (n := self.threads.value.data) % 32 | (n <= 0):
            raise VerifyException(f"expected a positive multiple of 32 threads, got {n}")

    def emit(self, reg: Names) -> str:
        threads = "" if self.threads is None else f", {self.threads.value.data}"
        return f"bar.sync {self.barrier.value.data}{threads}"


@irdl_op_definition
class BarWarpSyncOp(PTXInstruction):
    """`bar.warp.sync 0xffffffff`: the lanes of `mask` wait for each other. See PTX ISA, "bar.warp.sync"."""

    name = "ptx.bar.warp.sync"

    mask = prop_def(IntegerAttr[I64], default_value=IntegerAttr(FULL_WARP, 64))

    assembly_format = "(`mask` $mask^)? attr-dict"

    def __init__(self, mask: int = FULL_WARP):
        super().__init__(properties={"mask": IntegerAttr(mask, 64)})

    def verify_(self) -> None:
        _check_mask(self.mask.value.data)

    def features(self) -> tuple[str, ...]:
        return ("bar.warp.sync",)

    def emit(self, reg: Names) -> str:
        return f"bar.warp.sync {self.mask.value.data:#x}"


@irdl_op_definition
class FenceProxyAsyncOp(PTXInstruction):
    """Orders accesses through the generic proxy with those through the async proxy (TMA, tcgen05.mma).

    See PTX ISA, "Parallel Synchronization and Communication Instructions: membar/fence".
    """

    name = "ptx.fence.proxy.async"

    space = opt_prop_def(StringAttr)

    assembly_format = "($space^)? attr-dict"

    def __init__(self, space: str | None = None):
        """`space` narrows the fence to `"shared::cta"` or `"global"`."""
        super().__init__(properties={"space": None if space is None else StringAttr(space)})

    def verify_(self) -> None:
        if self.space is not None:
            expect_choice("space", self.space.data, _FENCE_SPACES)

    def features(self) -> tuple[str, ...]:
        return ("fence.proxy.async",)

    def emit(self, reg: Names) -> str:
        return "fence.proxy.async" if self.space is None else f"fence.proxy.async.{self.space.data}"


@irdl_op_definition
class FenceMbarrierInitOp(PTXInstruction):
    """Makes `mbarrier.init` visible to the cluster and the async proxy: `fence.mbarrier_init.release.cluster`."""

    name = "ptx.fence.mbarrier_init"

    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()

    def features(self) -> tuple[str, ...]:
        return ("fence.mbarrier_init",)

    def emit(self, reg: Names) -> str:
        return "fence.mbarrier_init.release.cluster"


@irdl_op_definition
class MbarrierInitOp(PTXInstruction):
    """Initialises the 8-byte mbarrier at a shared address to expect `count` arrivals a phase.

    See PTX ISA, "mbarrier.init".
    """

    name = "ptx.mbarrier.init"

    barrier = operand_def(i32)
    count = prop_def(IntegerAttr[I32])

    assembly_format = "$barrier `,` $count attr-dict"

    def __init__(self, barrier: Value, count: int = 1):
        super().__init__(operands=[barrier], properties={"count": IntegerAttr(count, 32)})

    def verify_(self) -> None:
        _check_count(self.count.value.data)

    def features(self) -> tuple[str, ...]:
        return ("mbarrier",)

    def emit(self, reg: Names) -> str:
        return f"mbarrier.init.shared::cta.b64 {address(reg, self.barrier)}, {self.count.value.data}"


def _check_count(count: int) -> None:
    if not 1 <= count < 1 << 20:
        raise VerifyException(f"expected an arrival count from 1 to 2^20 - 1, got {count}")


@irdl_op_definition
class MbarrierInvalOp(PTXInstruction):
    """Ends the use of a shared address as mbarrier. See PTX ISA, "mbarrier.inval"."""

    name = "ptx.mbarrier.inval"

    barrier = operand_def(i32)

    assembly_format = "$barrier attr-dict"

    def __init__(self, barrier: Value):
        super().__init__(operands=[barrier])

    def features(self) -> tuple[str, ...]:
        return ("mbarrier",)

    def emit(self, reg: Names) -> str:
        return f"mbarrier.inval.shared::cta.b64 {address(reg, self.barrier)}"


@irdl_op_definition
class MbarrierArriveOp(PTXInstruction):
    """Counts one arrival, or `count` of them; the phase token is dropped. See PTX ISA, "mbarrier.arrive"."""

    name = "ptx.mbarrier.arrive"

    barrier = operand_def(i32)
    count = opt_prop_def(IntegerAttr[I32])

    assembly_format = "$barrier (`,` $count^)? attr-dict"

    def __init__(self, barrier: Value, count: int | None = None):
        super().__init__(operands=[barrier], properties={"count": None if count is None else IntegerAttr(count, 32)})

    def verify_(self) -> None:
        if self.count is not None:
            _check_count(self.count.value.data)

    def features(self) -> tuple[str, ...]:
        return ("mbarrier",) if self.count is None else ("mbarrier.arrive.count",)

    def emit(self, reg: Names) -> str:
        count = "" if self.count is None else f", {self.count.value.data}"
        return f"mbarrier.arrive.shared::cta.b64 _, {address(reg, self.barrier)}{count}"


@irdl_op_definition
class MbarrierArriveExpectTxOp(PTXInstruction):
    """Announces `bytes` of asynchronous copies and counts one arrival. See PTX ISA, "mbarrier.arrive.expect_tx"."""

    name = "ptx.mbarrier.arrive.expect_tx"

    barrier = operand_def(i32)
    bytes = prop_def(IntegerAttr[I32])

    assembly_format = "$barrier `,` $bytes attr-dict"

    def __init__(self, barrier: Value, bytes: int):
        super().__init__(operands=[barrier], properties={"bytes": IntegerAttr(bytes, 32)})

    def verify_(self) -> None:
        if not 0 <= (found := self.bytes.value.data) < 1 << 20:
            raise VerifyException(f"expected a transaction count from 0 to 2^20 - 1 bytes, got {found}")

    def features(self) -> tuple[str, ...]:
        return ("mbarrier.expect_tx",)

    def emit(self, reg: Names) -> str:
        where = address(reg, self.barrier)
        return f"mbarrier.arrive.expect_tx.shared::cta.b64 _, {where}, {self.bytes.value.data}"


@irdl_op_definition
class MbarrierWaitParityOp(PTXInstruction):
    """Waits until the phase of the given parity (0 for the first) is complete.

    The one op that is more than one instruction: every user of `mbarrier.try_wait`, which may time out, needs the loop

    ```
    $wait0:
      mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0;
      @!%p0 bra $wait0;
    ```
    See PTX ISA, "mbarrier.test_wait/mbarrier.try_wait".
    """

    name = "ptx.mbarrier.wait_parity"

    barrier = operand_def(i32)
    parity = operand_def(i32)

    assembly_format = "$barrier `,` $parity attr-dict"

    def __init__(self, barrier: Value, parity: Value):
        super().__init__(operands=[barrier, parity])

    def features(self) -> tuple[str, ...]:
        return ("mbarrier.try_wait",)

    def emit(self, reg: Names) -> str:
        label, done = reg.label("wait"), reg.scratch(i1)
        where, parity = address(reg, self.barrier), reg.imm(self.parity)
        return f"{label}:\nmbarrier.try_wait.parity.shared::cta.b64 {done}, {where}, {parity}\n@!{done} bra {label}"


@irdl_op_definition
class ElectSyncOp(PTXInstruction):
    """True in exactly one of the lanes of `mask`, always the same one. See PTX ISA, "elect.sync"."""

    name = "ptx.elect.sync"

    mask = prop_def(IntegerAttr[I64], default_value=IntegerAttr(FULL_WARP, 64))
    result = result_def(i1)

    assembly_format = "(`mask` $mask^)? attr-dict"

    def __init__(self, mask: int = FULL_WARP):
        super().__init__(properties={"mask": IntegerAttr(mask, 64)}, result_types=[i1])

    def verify_(self) -> None:
        _check_mask(self.mask.value.data)

    def features(self) -> tuple[str, ...]:
        return ("elect.sync",)

    def emit(self, reg: Names) -> str:
        return f"elect.sync _|{reg(self.result)}, {self.mask.value.data:#x}"
