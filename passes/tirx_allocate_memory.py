"""`tirx-allocate-memory`: a place in shared or tensor memory for every tile, decided once and stored on it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects.definition import i32_attr
from tirx.dialects.tirx import KernelOp, MemoryPlanAttr, kernels
from tirx.hw.targets import Target
from tirx.passes.plan.memory import allocate


@dataclass(frozen=True)
class TirxAllocateMemoryPass(ModulePass):
    """
    Places all shared and tensor tiles of a kernel, its mbarrier and the slot for the address of tensor memory.

    Tiles that are not in use at the same time share bytes or columns. Shared memory is static up to what an entry of
    the target may declare, and dynamic beyond that. Runs before `tirx-insert-barriers`, which keeps threads apart that
    would otherwise use shared bytes for two tiles at a time. A place that is written must be the one of the plan.
    """

    name = "tirx-allocate-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            _allocate(kernel)


def _allocate(kernel: KernelOp) -> None:
    if kernel.target is None:
        raise LocatedError(kernel, 'expected a target, such as target("sm_100a"), on the kernel or on the command line')
    allocation = allocate(kernel, Target.parse(kernel.target.data))
    if kernel.memory is not None and kernel.memory.data != allocation.plan:
        expected = MemoryPlanAttr(allocation.plan).body()
        raise LocatedError(kernel, f"expected memory({expected}), found memory({kernel.memory.body()})")
    for alloc, start in allocation.starts.items():
        if alloc.start not in (None, start):
            raise LocatedError(alloc, f"expected the tile at {start}, found it at {alloc.start}")
        alloc.place = i32_attr(start)
    kernel.memory = MemoryPlanAttr(allocation.plan)
