"""The threads of a block: which of them run an operation, and where they meet."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, IntegerAttr
from xdsl.irdl import prop_def, region_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, RecursiveMemoryEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.nesting import captured
from tirx.dialects.syntax import BODY, Clause, WrittenOp
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.thread_sets import OnThreads, ThreadSet, thread_owner
from tirx.dialects.traits import NoEnd
from tirx.rules import WarpgroupTilesError

WARPGROUP_THREADS = 128
"""Threads of a warpgroup: four warps, which together reach all lanes of tensor memory."""


@irdl_op_definition
class BarrierOp(DirectOperation):
    """`tirx.barrier`: no thread goes on before all that run the region have come; orders shared and global memory."""

    name = "tirx.barrier"

    assembly_format = "attr-dict"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class LeaderOp(DirectOperation):
    """`%p = tirx.leader`: true in exactly one of the threads that run the region, a thread of their first warp."""

    name = "tirx.leader"

    result = result_def(I1)

    assembly_format = "attr-dict"

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class WarpgroupOp(WrittenOp, OnThreads):
    """`tirx.warpgroup 1 { ... }`: what one warpgroup of the threads around does, threads 128 to 255 of them here.

    The others pass by. Nothing inside waits for threads of other warpgroups, and register tiles stay inside.
    """

    name = "tirx.warpgroup"

    index = prop_def(IntegerAttr[I32])
    body = region_def("single_block")

    SYNTAX: ClassVar = (Clause("", int, "index"),)
    BEHIND: ClassVar = (Clause("", BODY, "body"),)

    traits = traits_def(RecursiveMemoryEffect(), NoEnd())

    @property
    def thread_set(self) -> ThreadSet:
        around = self.parent_op()
        owner = None if around is None else thread_owner(around)
        first = 0 if owner is None else owner.thread_set.first
        return ThreadSet(first + WARPGROUP_THREADS * self.index.value.data, WARPGROUP_THREADS, barrier=None)

    def verify_(self) -> None:
        index, around = self.index.value.data, self.parent_op()
        if around is None:
            return
        if (owner := thread_owner(around)) is None:
            raise WarpgroupTilesError("expected a kernel around, found none")
        threads = owner.thread_set
        if not 0 <= index < threads.count // WARPGROUP_THREADS or threads.first % WARPGROUP_THREADS:
            raise WarpgroupTilesError(
                f"expected a warpgroup of the {threads.count} threads from thread {threads.first} on, found warpgroup "
                f"{index}"
            )
        for type_ in (value.type for value in captured(self)):
            if isinstance(type_, TileType) and type_.memory is MemorySpace.REGISTER:
                raise WarpgroupTilesError(
                    f"expected register tiles of this warpgroup's threads, found one of other threads: {type_}"
                )
