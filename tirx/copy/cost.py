"""The cost of a copy between two memories, counted on the addresses that its threads touch.

The counts are exact for the first warp and taken to hold for all; the weights are ratios of throughput of one SM, not
measured latencies. They rank layouts of one tile, where everything else is equal.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

from tirx.copy.access import THREAD_VARIABLE, plan_accesses
from tirx.copy.banks import MATRIX_ROW_BITS, MATRIX_ROWS, wavefronts
from tirx.copy.distribute import (
    SECTOR_BYTES,
    SHARED_PHASE_BYTES,
    VECTOR_BYTES,
    Memory,
    copy_distribution,
    count_sectors,
)
from tirx.copy.matrix import plan_matrices
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.arrays import IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.values import dataclass


@dataclass(frozen=True)
class CostTerm:
    """A count of `CopyCost` by name, and the cycles of an SM that one of it takes."""

    name: str
    cycles: float


COST_TERMS = (
    # Shared memory serves 128 bytes a cycle; lanes that want different words of one bank are served one by one.
    CostTerm("wavefronts", 1.0),
    # 64 bytes a cycle reach an SM from L2: two sectors of 32 bytes, which come whole even when one byte is wanted.
    CostTerm("sectors", 0.5),
    # Loads and stores of a warp, which vectors of up to 16 bytes per lane make fewer.
    CostTerm("instructions", 1.0),
)
"""The terms of the cost of a copy. A layout of equal cost wins by less padding, then K-major, then fewer blocks."""


@dataclass(frozen=True)
class CopyCost:
    """`wavefronts` of shared memory, `sectors` of global memory, `instructions` of warps."""

    wavefronts: int = 0
    sectors: int = 0
    instructions: int = 0

    @property
    def cycles(self) -> float:
        """The weighted sum of the terms."""
        return sum(term.cycles * getattr(self, term.name) for term in COST_TERMS)

    def __add__(self, other: CopyCost) -> CopyCost:
        return CopyCost(
            self.wavefronts + other.wavefronts, self.sectors + other.sectors, self.instructions + other.instructions
        )

    def __str__(self) -> str:
        terms = " + ".join(f"{getattr(self, term.name)} {term.name} x {term.cycles:g}" for term in COST_TERMS)
        return f"{self.cycles:g} cycles ({terms})"


@dataclass(frozen=True)
class CopyEnd:
    """One side of a copy: a layout in global or shared memory."""

    layout: TileLayout | ComposeLayout
    memory: Memory


def least_cost(shape: tuple[int, ...], ends: tuple[CopyEnd, CopyEnd], element_bits: int) -> CopyCost:
    """A lower bound of the cost: whole wavefronts, whole sectors, 16 bytes for each lane and instruction."""
    size = prod(shape) * element_bits // 8
    shared, global_ = (sum(end.memory == memory for end in ends) for memory in ("shared", "global"))
    return CopyCost(
        shared * -(-size // SHARED_PHASE_BYTES),
        global_ * -(-size // SECTOR_BYTES),
        len(ends) * -(-size // (VECTOR_BYTES * WARP_SIZE)),
    )


@bounded_cache
def copy_cost(shape: tuple[int, ...], ends: tuple[CopyEnd, CopyEnd], element_bits: int, threads: int) -> CopyCost:
    """The cost of copying a tile of `shape`, elements of `element_bits` bits in memory, by `threads` threads.

    Raises LayoutError when the threads cannot share out the copy.
    """
    source, destination = ends
    registers = copy_distribution(
        shape, source.layout, destination.layout, element_bits, threads, source.memory, destination.memory
    )
    total = CopyCost()
    for end in ends:
        total += _end_cost(registers, end, shape, element_bits, threads)
    return total


def least_fragment_cost(registers: TileLayout, element_bits: int, threads: int) -> CopyCost:
    """A lower bound of `fragment_cost`, where no two lanes hold the same."""
    size = threads * registers.span("m") * element_bits // 8
    return CopyCost(-(-size // SHARED_PHASE_BYTES), 0, -(-size // (VECTOR_BYTES * WARP_SIZE)))


@bounded_cache
def fragment_cost(
    registers: TileLayout, end: CopyEnd, shape: tuple[int, ...], element_bits: int, threads: int, matrices: bool
) -> CopyCost:
    """
    The cost of moving a register tile of `shape` from or to memory, by matrix instructions if `matrices` allows them.

    Raises LayoutError when loads and stores cannot move the tile.
    """
    plan = plan_matrices(registers, end.layout, shape, element_bits, threads) if matrices else None
    if plan is None:
        return _end_cost(registers, end, shape, element_bits, threads)
    lanes = np.arange(WARP_SIZE, dtype=np.int64)
    starts = [
        np.broadcast_to(row.base.evaluate({THREAD_VARIABLE: lanes}) + row.const, lanes.shape) for row in plan.rows
    ]
    served = np.array(starts)[:, : plan.count * MATRIX_ROWS, None]
    elements = served + np.arange(MATRIX_ROW_BITS // element_bits, dtype=np.int64)
    warps = threads // WARP_SIZE
    return CopyCost(wavefronts(elements, MATRIX_ROWS, element_bits) * warps, 0, len(plan.rows) * warps)


def _end_cost(registers: TileLayout, end: CopyEnd, shape: tuple[int, ...], element_bits: int, threads: int) -> CopyCost:
    plan = plan_accesses(registers, end.layout, shape, element_bits, threads)
    thread = np.arange(threads, dtype=np.int64)
    active = thread if plan.owners is None else thread[plan.owners.holds(thread)]
    warps = len(np.unique(active // WARP_SIZE))
    first = active[active // WARP_SIZE == active[0] // WARP_SIZE]
    bases = {base: np.broadcast_to(base.evaluate({THREAD_VARIABLE: first}), first.shape) for base in plan.bases}
    starts = defaultdict[int, list[IntArray]](list)
    for access in plan.accesses:
        starts[access.count].append(bases[access.base] + access.const)
    found = sectors = 0
    for count, at in starts.items():
        elements = np.array(at)[..., None] + np.arange(count, dtype=np.int64)
        if end.memory == "global":
            sectors += count_sectors(elements.reshape(len(at), -1), element_bits)
        else:
            lanes = max(1, min(len(first), 8 * SHARED_PHASE_BYTES // (count * element_bits)))
            found += wavefronts(elements, lanes, element_bits)
    return CopyCost(found * warps, sectors * warps, len(plan.accesses) * warps)
