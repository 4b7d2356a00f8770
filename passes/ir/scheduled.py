"""Recognises kernels of the scheduled level: rings, queues, skewed loops, roles."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tirx.dialects import tirx
from tirx.dialects.nesting import enclosing, walk
from tirx.dialects.schedule_names import RING
from tirx.rules import PairError, StageError

STAGES = "tirx.stages"
"""The attribute of an `scf.for` that says how many slots its rings get; 1 keeps the loop as it is."""

SCHEDULED = (
    tirx.AcquireOp,
    tirx.AsyncCopyOp,
    tirx.AsyncMmaOp,
    tirx.AsyncNextOp,
    tirx.AwaitOp,
    tirx.ForOp,
    tirx.ReleaseOp,
    tirx.RingOp,
    tirx.RolesOp,
    tirx.TilesOp,
)
"""Operations that say who works when, which sequential kernels do not have."""

_SCHEDULED = frozenset(SCHEDULED)

BARRIERS = "ring_barriers"
"""The attribute of the allocation of the mbarriers of lowered rings."""


def kernel_of(op: Operation) -> tirx.KernelOp:
    """The kernel around an operation."""
    found = enclosing(op, tirx.KernelOp)
    assert found is not None, op.name
    return found


def has_lowered_rings(kernel: tirx.KernelOp) -> bool:
    """True if rings of a kernel have been lowered to mbarriers, or to slots that threads fill and need none for."""
    marks = {BARRIERS, RING}
    return any(isinstance(op, tirx.AllocOp) and not marks.isdisjoint(op.attributes) for op in kernel.body.block.ops)


def is_scheduling(op: Operation) -> bool:
    """True if the operation or one inside of it waits, releases or starts asynchronous work."""
    return any(type(inner) in _SCHEDULED for inner in walk(op)) if op.regions else type(op) in _SCHEDULED


def is_cp_async(op: Operation) -> bool:
    """Returns True for a copy by `cp.async`."""
    return isinstance(op, tirx.AsyncCopyOp) and op.engine.data is tirx.Engine.CP_ASYNC


def require_sequential(kernel: tirx.KernelOp) -> None:
    """Raises LocatedError at the first operation of `kernel` that belongs to the scheduled level."""
    for op in kernel.walk():
        if isinstance(op, SCHEDULED):
            raise PairError(
                op,
                f"expected a sequential kernel in what a pair of blocks does, found '{op.name}'; rings and roles are "
                "those of one block, cluster(2) per_cta",
            )


LOWERED = _SCHEDULED - {tirx.RolesOp}
"""The operations that `tirx-lower-rings` lowers; roles stay until their warps are chosen."""


def is_lowered_with_products(op: Operation) -> bool:
    """Returns True for products, waiting for those into registers, and scale factors: they are lowered by family."""
    match op:
        case tirx.AsyncMmaOp():
            return True
        case tirx.AsyncCopyOp():
            return op.engine.data is tirx.Engine.TCGEN05_CP
        case tirx.AwaitOp():
            return op.awaited_queue is tirx.Queue.WGMMA
        case _:
            return False


def require_lowered(ops: Sequence[Operation]) -> None:
    """Raises LocatedError at the first one of the operations of a kernel that `tirx-lower-rings` lowers."""
    for op in ops:
        if type(op) in LOWERED and not is_lowered_with_products(op):
            message = f"expected rings, their loops and queues to be lowered before, found '{op.name}'"
            raise StageError(op, f"{message}; run tirx-lower-rings first")
