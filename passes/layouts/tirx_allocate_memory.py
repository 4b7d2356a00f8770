"""`tirx-allocate-memory`: a place in shared or tensor memory for every tile, decided once and stored on it."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tirx.diagnostics import for_each
from tirx.dialects.definition import i32_attr
from tirx.dialects.schedule_attr import SCHEDULE, store_schedule, stored_schedule
from tirx.dialects.schedule_names import RING, Schedule
from tirx.dialects.tirx import AllocOp, KernelOp, MemoryPlanAttr, kernels
from tirx.passes.ir.scheduled import BARRIERS
from tirx.passes.match.memory_by_lifetime import allocate
from tirx.rules import WrittenChoiceError


class TirxAllocateMemoryPass(ModulePass):
    """Places all shared and tensor tiles of a kernel, its mbarrier and the slot for the address of tensor memory.

    Tiles that are not in use at the same time share bytes or columns. Those of one iteration of a loop do only where
    there is no other room: threads meet between their uses in every iteration. Shared memory is static up to what an
    entry of the target may declare, and dynamic beyond that. Runs before `tirx-insert-barriers`, which keeps threads
    apart that would otherwise use shared bytes for two tiles at a time. A place that is written must be the one of the
    plan.
    """

    name = "tirx-allocate-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(kernels(op), _allocate)


def _allocate(kernel: KernelOp) -> None:
    allocation = allocate(kernel, kernel.require_target())
    if kernel.memory is not None and kernel.memory.data != allocation.plan:
        expected = MemoryPlanAttr(allocation.plan).body()
        raise WrittenChoiceError(kernel, f"expected memory({expected}), found memory({kernel.memory.body()})")
    for alloc, start in allocation.starts.items():
        if alloc.start not in (None, start):
            raise WrittenChoiceError(alloc, f"expected the tile at {start}, found it at {alloc.start}")
        alloc.place = i32_attr(start)
    if kernel.memory is None:
        kernel.memory = MemoryPlanAttr(allocation.plan)
        _place_rings(kernel)


def _place_rings(kernel: KernelOp) -> None:
    """Stores where the slots and mbarriers of lowered rings are."""
    schedule = stored_schedule(kernel)
    if not schedule.rings:
        return
    starts: dict[str, list[int]] = {}
    barriers = 0
    for op in kernel.body.block.ops:
        if isinstance(op, AllocOp) and op.start is not None:
            if isinstance(ring := op.attributes.get(RING), StringAttr):
                starts.setdefault(ring.data, []).append(op.start)
            elif BARRIERS in op.attributes:
                barriers = op.start
    if any(len(starts.get(ring.name, ())) != len(ring.tiles) for ring in schedule.rings):
        raise WrittenChoiceError(kernel, f"expected a tile with {RING} = NAME for each tile of the rings of {SCHEDULE}")
    rings = (ring.placed(barriers, starts.get(ring.name, ())) for ring in schedule.rings)
    store_schedule(kernel, Schedule(schedule.roles, tuple(rings)))
