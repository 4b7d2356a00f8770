"""The sets of threads that run the regions of kernels and roles."""

from __future__ import annotations

from xdsl.ir import Operation

from tirx.values import dataclass


@dataclass(frozen=True)
class ThreadSet:
    """The threads `first` to `first + count - 1` of a block, by linear index, that run a region together.

    `barrier` is the number of the named barrier at which they meet: 0 for all threads of the block, None without one.
    """

    first: int
    count: int
    barrier: int | None = 0


class OnThreads:
    """An operation whose regions run on a thread set of its own: a kernel, a role."""

    @property
    def thread_set(self) -> ThreadSet:
        """The threads that run the regions of this operation."""
        raise NotImplementedError


def thread_owner(op: Operation) -> OnThreads | None:
    """The nearest kernel or role, `op` itself or one around it; None outside of kernels."""
    around: Operation | None = op
    while around is not None and not isinstance(around, OnThreads):
        around = around.parent_op()
    return around


def thread_set(op: Operation) -> ThreadSet:
    """The threads that run `op`: those of the nearest kernel or role, `op` itself or one around it."""
    if (owner := thread_owner(op)) is None:
        raise ValueError(f"expected '{op.name}' inside a kernel, found it in none")
    return owner.thread_set
