"""Engines that copy tiles, and the in-order queues that asynchronous work joins."""

from __future__ import annotations

from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute
from tirx.dialects.tirx.attributes import MemorySpace
from tirx.values import dataclass


class Queue(StrEnum):
    """The queue of asynchronous work: who completes it decides how a slot is released behind it."""

    TMA = "tma"
    STORE = "store"
    CP_ASYNC = "cp_async"
    TCGEN05 = "tcgen05"
    WGMMA = "wgmma"

    @property
    def has_groups(self) -> bool:
        """True if a thread can wait until at most k groups of the queue are pending (PTX `wait_group`)."""
        return self in (Queue.STORE, Queue.CP_ASYNC, Queue.WGMMA)


class Engine(StrEnum):
    """The instructions that move the elements of a copy."""

    TMA = "tma"
    TMA_MULTICAST = "tma_multicast"
    TMA_STORE = "tma_store"
    TMA_REDUCE = "tma_reduce"
    CP_ASYNC = "cp_async"
    LD_ST = "ld_st"
    LDMATRIX = "ldmatrix"
    STMATRIX = "stmatrix"
    TCGEN05_CP = "tcgen05_cp"
    TCGEN05_LD = "tcgen05_ld"
    TCGEN05_ST = "tcgen05_st"
    CLC = "clc"


@dataclass(frozen=True)
class AsyncEngine:
    """An engine of asynchronous copies: the memories that it copies between and the queue that its work joins."""

    source: MemorySpace
    destination: MemorySpace
    queue: Queue


ASYNC_ENGINES = {
    Engine.TMA: AsyncEngine(MemorySpace.GLOBAL, MemorySpace.SHARED, Queue.TMA),
    Engine.TMA_MULTICAST: AsyncEngine(MemorySpace.GLOBAL, MemorySpace.SHARED, Queue.TMA),
    Engine.TMA_STORE: AsyncEngine(MemorySpace.SHARED, MemorySpace.GLOBAL, Queue.STORE),
    Engine.TMA_REDUCE: AsyncEngine(MemorySpace.SHARED, MemorySpace.GLOBAL, Queue.STORE),
    Engine.CP_ASYNC: AsyncEngine(MemorySpace.GLOBAL, MemorySpace.SHARED, Queue.CP_ASYNC),
    Engine.TCGEN05_CP: AsyncEngine(MemorySpace.SHARED, MemorySpace.TENSOR, Queue.TCGEN05),
}
"""Engines of `tirx.async_copy` (PTX ISA, `cp.async.bulk.tensor`, `cp.async`, `tcgen05.cp`)."""


class Reduction(StrEnum):
    """The operation of a store on the elements in memory (PTX ISA, "cp.reduce.async.bulk.tensor")."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


ReductionAttr = enum_attribute("tirx.reduction", Reduction)

QueueAttr = enum_attribute("tirx.queue", Queue)

EngineAttr = enum_attribute("tirx.engine", Engine)
