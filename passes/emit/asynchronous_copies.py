"""Code for the asynchronous copies of one role: how they start, join groups and are waited for."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import AcquireOp, AsyncCopyOp, AtOp, AwaitOp, ReleaseOp, RingOp
from tirx.passes.emit.emitter import Emitter
from tirx.passes.emit.role_code import RoleCode


class CopyCode:
    """The asynchronous copies of one role."""

    def __init__(self, code: RoleCode):
        self.code = code

    def copy(self, op: AsyncCopyOp, emit: Emitter) -> None:
        """Starts a copy."""
        raise LocatedError(op, f"expected a copy that is lowered, found one by {op.engine.data}")

    def commit(self, op: ReleaseOp, emit: Emitter) -> None:
        """Makes a group of the copies so far, where threads wait for groups."""
        if op.after is not None:
            raise LocatedError(op, f"expected a release that is lowered, found one after({op.after.data})")

    def skip(self, part: AtOp, emit: Emitter) -> None:
        """Commits the empty groups of a part of a loop that does not run in this round."""

    def wait_for_fill(self, op: AcquireOp, emit: Emitter) -> None:
        """Waits for the copies that have filled a slot, where no mbarrier says that they have come."""

    def wait(self, op: AwaitOp, emit: Emitter) -> None:
        """Waits for groups."""
        raise LocatedError(op, f"expected an await that is lowered, found one of {op.awaited_queue}")

    def drain(self, emit: Emitter) -> None:
        """Waits at the end of a role for all that still reads shared memory."""

    def arrive_by_hardware(self, op: ReleaseOp, mbarrier: SSAValue, emit: Emitter) -> None:
        """Lets the hardware arrive when the copies of each thread are complete."""
        raise LocatedError(op, "expected a release that is lowered, found one after(cp_async)")

    def are_read_asynchronously(self, ring: RingOp) -> bool:
        """True if an asynchronous operation other than cp.async reads slots of a ring."""
        return False
