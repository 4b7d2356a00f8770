"""Barriers of a block and of a cluster, fences, the election of one thread, and what a launch schedules.

None of these ops has a memory-effect trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import I32, I64, IntegerAttr, StringAttr, UnitAttr, i1
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import FixedOp, Names, PTXInstruction, ThreadOp, expect_choice
from tirx.dialects.ptx.effects import (
    NO_EFFECTS,
    AccessKind,
    BlockBarrier,
    ClusterArrive,
    ClusterWait,
    Effects,
    Issue,
    ProxyFence,
    WarpBarrier,
)
from tirx.layout.axis import WARP_SIZE
from tirx.rules import InstructionFormError

FULL_WARP = 0xFFFFFFFF
"""The member mask of all 32 lanes."""

_FENCE_SPACES = ("shared::cta", "global")

_REGISTER_COUNTS = range(24, 257, 8)
"""Registers that a thread can ask for (PTX ISA, "setmaxnreg")."""


BLOCK_BARRIERS = 16
"""The barriers of a block. See PTX ISA, "bar"."""


class MaskedOp(PTXInstruction, abc.ABC):
    """The lanes of `mask` execute it together."""

    mask = prop_def(IntegerAttr[I64], default_value=IntegerAttr(FULL_WARP, 64))

    @property
    def issue(self) -> Issue:
        return Issue.WARP if self.mask.value.data == FULL_WARP else Issue.THREAD

    def verify_(self) -> None:
        if not 0 < (mask := self.mask.value.data) <= FULL_WARP:
            raise InstructionFormError(f"expected a non-zero mask of 32 lanes, found {mask:#x}")


@irdl_op_definition
class BarSyncOp(PTXInstruction):
    """`bar.sync 0` for all threads of the block, `bar.sync 1, 64` for some. See PTX ISA, "bar"."""

    name = "ptx.bar.sync"
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = Effects(synchronization=BlockBarrier())

    barrier = prop_def(IntegerAttr[I32])
    threads = opt_prop_def(IntegerAttr[I32])

    assembly_format = "$barrier (`threads` $threads^)? attr-dict"

    def verify_(self) -> None:
        if not 0 <= (barrier := self.barrier.value.data) < BLOCK_BARRIERS:
            raise InstructionFormError(f"expected a barrier from 0 to {BLOCK_BARRIERS - 1}, found {barrier}")
        if self.threads is not None and ((n := self.threads.value.data) % WARP_SIZE or n < WARP_SIZE):
            raise InstructionFormError(f"expected a positive multiple of 32 threads, found {n}")

    def emit(self, reg: Names) -> str:
        threads = "" if self.threads is None else f", {self.threads.value.data}"
        return f"bar.sync {self.barrier.value.data}{threads}"


@irdl_op_definition
class BarWarpSyncOp(MaskedOp):
    """`bar.warp.sync 0xffffffff`: the lanes of `mask` wait for each other. See PTX ISA, "bar.warp.sync"."""

    name = "ptx.bar.warp.sync"
    FOLLOWS_TYPES: ClassVar = True
    EFFECTS: ClassVar = Effects(synchronization=WarpBarrier())
    NEEDS: ClassVar = ("bar.warp.sync",)

    assembly_format = "(`mask` $mask^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return f"bar.warp.sync {self.mask.value.data:#x}"


@irdl_op_definition
class TrapOp(ThreadOp):
    """Ends the kernel with an error if the condition holds: `@%p trap`. See PTX ISA, "trap"."""

    name = "ptx.trap"
    EFFECTS: ClassVar = NO_EFFECTS

    condition = operand_def(i1)

    assembly_format = "$condition attr-dict"

    def emit(self, reg: Names) -> str:
        return f"@{reg(self.condition)} trap"


@irdl_op_definition
class FenceProxyAsyncOp(ThreadOp):
    """Orders accesses through the generic proxy with those through the async proxy (TMA, tcgen05.mma).

    `space` narrows the fence to `"shared::cta"` or `"global"`.
    See PTX ISA, "Parallel Synchronization and Communication Instructions: membar/fence".
    """

    name = "ptx.fence.proxy.async"
    NEEDS: ClassVar = ("fence.proxy.async",)

    space = opt_prop_def(StringAttr)

    assembly_format = "($space^)? attr-dict"

    def verify_(self) -> None:
        if self.space is not None:
            expect_choice("space", self.space.data, _FENCE_SPACES)

    def effects(self) -> Effects:
        kinds: tuple[AccessKind, ...] = ()
        if self.space is None or self.space.data == "shared::cta":
            kinds = AccessKind.GENERIC, AccessKind.COPY, AccessKind.INIT
        if self.space is None or self.space.data == "global":
            kinds = *kinds, AccessKind.GLOBAL
        return Effects(synchronization=ProxyFence(kinds))

    def emit(self, reg: Names) -> str:
        return "fence.proxy.async" if self.space is None else f"fence.proxy.async.{self.space.data}"


@irdl_op_definition
class FenceMbarrierInitOp(FixedOp, ThreadOp):
    """Makes `mbarrier.init` visible to the cluster and the async proxy: `fence.mbarrier_init.release.cluster`."""

    name = "ptx.fence.mbarrier_init"
    EFFECTS: ClassVar = Effects(synchronization=ProxyFence((AccessKind.INIT,)))
    NEEDS: ClassVar = ("fence.mbarrier_init",)
    TEXT: ClassVar = "fence.mbarrier_init.release.cluster"


@irdl_op_definition
class ElectSyncOp(MaskedOp):
    """True in exactly one of the lanes of `mask`, always the same one. See PTX ISA, "elect.sync"."""

    name = "ptx.elect.sync"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("elect.sync",)

    result = result_def(i1)

    assembly_format = "(`mask` $mask^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return f"elect.sync _|{reg(self.result)}, {self.mask.value.data:#x}"


class _ClusterBarrierOp(PTXInstruction, abc.ABC):
    NEEDS: ClassVar = ("barrier.cluster",)

    aligned = opt_prop_def(UnitAttr)

    @property
    def issue(self) -> Issue:
        return Issue.THREAD if self.aligned is None else Issue.WARP


@irdl_op_definition
class BarrierClusterArriveOp(_ClusterBarrierOp):
    """Counts this thread as arrived at the barrier of all threads of the cluster; `ptx.barrier.cluster.wait` follows.

    `relaxed`: orders nothing, otherwise what the thread did before is visible to those that wait. `aligned`: all
    threads of the warp execute it together.

    ```mlir
    ptx.barrier.cluster.arrive aligned
    ptx.barrier.cluster.wait aligned
    ```
    See PTX ISA, "barrier.cluster".
    """

    name = "ptx.barrier.cluster.arrive"

    relaxed = opt_prop_def(UnitAttr)

    assembly_format = "(`relaxed` $relaxed^)? (`aligned` $aligned^)? attr-dict"

    def effects(self) -> Effects:
        return Effects(synchronization=ClusterArrive(self.relaxed is not None))

    def emit(self, reg: Names) -> str:
        order = "release" if self.relaxed is None else "relaxed"
        return f"barrier.cluster.arrive.{order}{'' if self.aligned is None else '.aligned'}"


@irdl_op_definition
class BarrierClusterWaitOp(_ClusterBarrierOp):
    """Waits until all threads of the cluster have arrived; `aligned` as there. See PTX ISA, "barrier.cluster"."""

    name = "ptx.barrier.cluster.wait"
    EFFECTS: ClassVar = Effects(synchronization=ClusterWait())

    assembly_format = "(`aligned` $aligned^)? attr-dict"

    def emit(self, reg: Names) -> str:
        return f"barrier.cluster.wait.acquire{'' if self.aligned is None else '.aligned'}"


class RegisterChange(StrEnum):
    """The two forms of `setmaxnreg`: asking for registers and giving some back."""

    INC = "inc"
    DEC = "dec"


RegisterChangeAttr = enum_attribute("ptx.register_change", RegisterChange)


@irdl_op_definition
class SetMaxNRegOp(PTXInstruction):
    """Changes the registers of each thread of a warpgroup to `count`; all its warps execute it.

    ```mlir
    ptx.setmaxnreg inc 232
    ```
    See PTX ISA, "setmaxnreg".
    """

    name = "ptx.setmaxnreg"
    ISSUE: ClassVar = Issue.WARPGROUP
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("setmaxnreg",)

    change = prop_def(RegisterChangeAttr)
    count = prop_def(IntegerAttr[I32])

    assembly_format = "$change $count attr-dict"

    def verify_(self) -> None:
        if (count := self.count.value.data) not in _REGISTER_COUNTS:
            raise InstructionFormError(f"expected a multiple of 8 registers from 24 to 256, found {count}")

    def emit(self, reg: Names) -> str:
        return f"setmaxnreg.{self.change.data.value}.sync.aligned.u32 {self.count.value.data}"


class _GridDependencyOp(FixedOp, ThreadOp, abc.ABC):
    """Programmatic dependent launch: a grid that starts before the one it depends on ends."""

    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("griddepcontrol",)


@irdl_op_definition
class GridDepControlWaitOp(_GridDependencyOp):
    """Waits until the grids that this one depends on are complete. See PTX ISA, "griddepcontrol"."""

    name = "ptx.griddepcontrol.wait"
    TEXT: ClassVar = "griddepcontrol.wait"


@irdl_op_definition
class GridDepControlLaunchDependentsOp(_GridDependencyOp):
    """Lets the grids that depend on this one start. See PTX ISA, "griddepcontrol"."""

    name = "ptx.griddepcontrol.launch_dependents"
    TEXT: ClassVar = "griddepcontrol.launch_dependents"
