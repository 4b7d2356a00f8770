"""Recognises kernels of the scheduled level: rings, queues, skewed loops, roles."""

from __future__ import annotations

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import (
    AcquireOp,
    AsyncCopyOp,
    AsyncMmaOp,
    AsyncNextOp,
    AwaitOp,
    ForOp,
    GlobalPostOp,
    GlobalWaitOp,
    KernelOp,
    ReleaseOp,
    RingOp,
    RolesOp,
    TilesOp,
)

SCHEDULED = (
    AcquireOp,
    AsyncCopyOp,
    AsyncMmaOp,
    AsyncNextOp,
    AwaitOp,
    ForOp,
    GlobalPostOp,
    GlobalWaitOp,
    ReleaseOp,
    RingOp,
    RolesOp,
    TilesOp,
)
"""Operations that say who works when, which sequential kernels do not have."""


def require_sequential(kernel: KernelOp) -> None:
    """Raises LocatedError at the first operation of `kernel` that belongs to the scheduled level."""
    for op in kernel.walk():
        if isinstance(op, SCHEDULED):
            raise LocatedError(
                op,
                f"expected a sequential kernel, found '{op.name}': rings, roles, their loops and asynchronous "
                "operations are not lowered yet",
            )
