"""The shares in which the threads of a region copy a tile from global to shared memory by `cp.async`."""

from __future__ import annotations

from collections.abc import Iterator

from tirx.copy.access import Access, AccessPlan, Owners, plan_accesses
from tirx.copy.distribute import VECTOR_BYTES, copy_distribution
from tirx.hw.errors import ThreadCopyError
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.caching import bounded_cache
from tirx.layout.shape import Shape
from tirx.values import dataclass

CP_ASYNC_WIDTHS = (16, 8, 4)
"""Bytes that one `cp.async` can move (PTX ISA, "cp.async")."""


@dataclass(frozen=True)
class CpAsyncPlan:
    """The copies of each thread, as accesses to both memories: access i of `source` goes to access i of `destination`.

    Registers in the accesses are positions in the thread's share, of layout `share`; nothing passes through registers.
    """

    source: AccessPlan
    destination: AccessPlan
    share: TileLayout

    @property
    def owners(self) -> Owners | None:
        """The threads that take part, None for all of them."""
        return self.source.owners

    @property
    def pairs(self) -> Iterator[tuple[Access, Access]]:
        """Returns the place that each copy reads and the place that it writes."""
        return zip(self.source.accesses, self.destination.accesses, strict=True)

    def bytes(self, access: Access) -> int:
        """Bytes of one copy."""
        return access.count * self.source.element_bits // 8


@bounded_cache
def plan_cp_async(
    source: TileLayout | ComposeLayout,
    destination: TileLayout | ComposeLayout,
    shape: Shape,
    element_bits: int,
    threads: int,
    source_alignment: int = VECTOR_BYTES,
) -> CpAsyncPlan:
    """Shares out a tile of `shape` among `threads` threads, in copies as wide as both layouts allow.

    `source` maps to global memory, which starts at a multiple of `source_alignment` bytes, `destination` to shared
    memory, which is aligned as its swizzle needs. Raises LegalityError where elements have no neighbours in both
    memories for copies of 4 bytes, LayoutError for layouts of other sizes and for memory that is not plain.
    """
    # Small tiles are shared out in single elements where there are threads enough: fewer threads take wider ones.
    for taking_part in (threads >> k for k in range(threads.bit_length())):
        registers = copy_distribution(
            shape, source, destination, element_bits, taking_part, base_align_bytes=source_alignment
        )
        for width in CP_ASYNC_WIDTHS:
            if width > source_alignment or width * 8 < element_bits:
                continue
            ends = [
                plan_accesses(registers, layout, shape, element_bits, threads, width, alignment, once=True)
                for layout, alignment in ((source, source_alignment), (destination, VECTOR_BYTES))
            ]
            counts = [[(access.register, access.count) for access in plan.accesses] for plan in ends]
            widths = {access.count * element_bits / 8 for plan in ends for access in plan.accesses}
            if counts[0] == counts[1] and widths <= set(CP_ASYNC_WIDTHS):
                return CpAsyncPlan(ends[0], ends[1], registers)
    raise ThreadCopyError(
        f"expected runs of 4, 8 or 16 bytes that are neighbours in global and in shared memory and aligned for "
        f"cp.async, found none with {source} in global memory (aligned to {source_alignment} bytes) and {destination} "
        f"in shared memory"
    )
