"""The choice of which thread moves which elements of a copy between two memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import gcd, prod
from typing import Literal

from tirx.copy.banks import count_distinct, wavefronts
from tirx.layout.arrays import IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.layout.compose import ComposeLayout
from tirx.layout.iters import Iter
from tirx.layout.ownership import MAX_THREADS, AccessError
from tirx.layout.shape import Shape, check_shape
from tirx.layout.tile import TileLayout
from tirx.values import dataclass

Memory = Literal["global", "shared"]

THREAD_AXIS = "tx"
VECTOR_BYTES = 16
SECTOR_BYTES = 32
"""What one request to global memory fetches at least."""

SHARED_PHASE_BYTES = 128
"""What shared memory serves at once: wider accesses of a warp go in phases of fewer threads."""

RUN_BYTES = (128, 64, 32)
"""How many neighbouring bytes of one memory are tried before a numbering of threads turns to the other."""


def count_sectors(elements: IntArray, element_bits: int) -> int:
    """The sectors of global memory that the elements at every row of addresses lie in, counted together."""
    return count_distinct(elements * element_bits // (8 * SECTOR_BYTES))


@dataclass(frozen=True)
class _Mode:
    """`extent` steps of `weight` in the flat index of the tile."""

    weight: int
    extent: int

    def split(self, inner: int) -> tuple[_Mode, _Mode]:
        """The inner `inner` steps, and the others."""
        return _Mode(self.weight, inner), _Mode(self.weight * inner, self.extent // inner)


@dataclass(frozen=True)
class _Side:
    """One memory of the copy: element addresses by flat index, with the swizzle and without."""

    memory: Memory
    addresses: IntArray
    unswizzled: IntArray
    weights: tuple[int, ...]

    @staticmethod
    def of(layout: TileLayout | ComposeLayout, memory: Memory) -> _Side:
        tile = layout.tile if isinstance(layout, ComposeLayout) else layout
        size = (layout.size(),)
        weights = tuple(prod(tile.extents[k:]) for k in range(len(tile.extents)))
        unswizzled = tile.axis_table("m", size)
        return _Side(memory, unswizzled if tile is layout else layout.axis_table("m", size), unswizzled, weights)

    def step(self, mode: _Mode) -> int:
        """The stride of the mode at the start of the tile, before the swizzle."""
        return abs(int(self.unswizzled[mode.weight] - self.unswizzled[0]))

    def cost(self, starts: IntArray, vector: int, element_bits: int) -> float:
        """The transactions of one vector access of a warp, relative to the fewest possible."""
        at = self.addresses[starts]
        if self.memory == "global":
            return count_sectors(at, element_bits) / max(1.0, len(starts) * vector * element_bits / (8 * SECTOR_BYTES))
        group = max(1, min(len(at), 8 * SHARED_PHASE_BYTES // (vector * element_bits)))
        elements = at[:, None] + np.arange(vector, dtype=np.int64)
        return wavefronts(elements, group, element_bits) / -(-len(at) // group)


def _modes(size: int, sides: Sequence[_Side]) -> list[_Mode]:
    """The flat index as modes in which both layouts are linear, innermost first.

    Where the layouts cut the index in incompatible ways, the cuts that nest are kept: any modes give a copy,
    only the vectors depend on them being linear, and those are checked on the addresses.
    """
    chain = [1]
    for weight in sorted(({weight for side in sides for weight in side.weights} | {size}) - {1}):
        if weight % chain[-1] == 0:
            chain.append(weight)
    return [_Mode(low, high // low) for low, high in zip(chain, chain[1:], strict=False)]


def _offsets(modes: Sequence[_Mode]) -> IntArray:
    """Flat indices of all steps of the modes; the first mode is the fastest."""
    flat = np.zeros(1, dtype=np.int64)
    for mode in modes:
        flat = (np.arange(mode.extent, dtype=np.int64)[:, None] * mode.weight + flat[None, :]).reshape(-1)
    return flat


def _is_vector(sides: Sequence[_Side], vector: Sequence[_Mode], rest: Sequence[_Mode]) -> bool:
    """Returns True if both sides have all vectors at consecutive and aligned addresses."""
    inside = _offsets(vector)
    flat = _offsets(rest)[:, None] + inside[None, :]
    for side in sides:
        at = side.addresses[flat]
        if (at[:, 0] % len(inside)).any() or (at != at[:, :1] + np.arange(len(inside), dtype=np.int64)).any():
            return False
    return True


def _vectors(
    modes: Sequence[_Mode], sides: Sequence[_Side], limit: int
) -> Iterator[tuple[tuple[_Mode, ...], tuple[_Mode, ...]]]:
    """The modes of every vector of 1 to `limit` elements that both sides allow, with the modes that are left.

    Widths are powers of two.
    """
    vector: tuple[_Mode, ...] = ()
    rest = tuple(modes)
    yield vector, rest
    width = 1
    while width < limit:
        following = next((d for d in rest if d.extent > 1 and all(side.step(d) == width for side in sides)), None)
        if following is None or following.extent % 2:
            return
        inner, outer = following.split(2)
        vector = (*vector, inner)
        rest = tuple(outer if d == following else d for d in rest)
        width *= 2
        if _is_vector(sides, vector, rest):
            yield vector, rest


@dataclass(frozen=True)
class _Order:
    """A way to number the threads: they take `first` modes, but at most `run` steps of them, then `second` ones.

    A run of None is no limit.
    """

    first: tuple[_Mode, ...]
    run: int | None = None
    second: tuple[_Mode, ...] = ()

    def assign(self, threads: int) -> tuple[list[_Mode], list[_Mode]]:
        """The modes of the thread number, fastest first, and what is left for the registers."""
        taken: list[_Mode] = []
        left = {mode.weight: mode for mode in (*self.first, *self.second)}
        for modes, budget in ((self.first, self.run), (self.second, None)):
            for weight in (mode.weight for mode in modes):
                count = gcd(left[weight].extent, threads if budget is None else gcd(threads, budget))
                inner, outer = left[weight].split(count)
                left[weight] = outer
                threads //= count
                budget = budget if budget is None else budget // count
                taken.append(inner)
        return taken, [mode for mode in left.values() if mode.extent > 1]


def _orders(modes: Sequence[_Mode], sides: Sequence[_Side], vector_bytes: int) -> Iterator[_Order]:
    """The neighbours of one side first, as far as they go, or only for a few bytes and then those of the other.

    Orders that start with the first side come first.
    """
    by_side = [tuple(sorted(modes, key=side.step)) for side in sides]
    for first, second in (by_side, by_side[::-1]):
        yield _Order(first)
        yield from (_Order(first, run // vector_bytes, second) for run in RUN_BYTES if run > vector_bytes)


def _thread_counts(vectors: int, threads: int) -> list[int]:
    """The numbers of threads to try: all, and the largest that divides the work if all do not."""
    if vectors % threads == 0:
        return [threads]
    return [threads, next(n for n in range(threads, 0, -1) if vectors % n == 0)]


def copy_distribution(
    shape: Shape,
    source: TileLayout | ComposeLayout,
    destination: TileLayout | ComposeLayout,
    element_bits: int,
    threads: int,
    source_memory: Memory = "global",
    destination_memory: Memory = "shared",
    base_align_bytes: int = VECTOR_BYTES,
) -> TileLayout:
    """A register layout, on axes tx and m, for copying a tile from one memory to another by `threads` threads.

    Each thread makes as few accesses as both sides allow, by vectors of up to 16 bytes, or `base_align_bytes`, the
    alignment that is promised of both base addresses; wider vectors that save no access are not used, but elements of 4
    bits go in pairs wherever there are pairs. Threads are numbered so that a warp touches few sectors of global memory
    and each bank of shared memory once, where one numbering does both. Where there are fewer vectors than threads, or
    their numbers do not divide, several threads move the same elements, or fewer threads take part, whichever needs
    fewer accesses. Every thread that takes part holds the same number of elements, and `plan_accesses` accepts the
    layout for both sides.

    Raises LayoutError when the shape has another size than the layouts, AccessError for a number of threads
    that no block has.
    """
    dims = check_shape(shape, source.size())
    check_shape(dims, destination.size())
    if not 1 <= threads <= MAX_THREADS:
        raise AccessError(f"expected 1 to {MAX_THREADS} threads, found {threads}")
    most = max(1, 8 * min(VECTOR_BYTES, base_align_bytes) // element_bits)
    return _distribution(source, destination, element_bits, threads, (source_memory, destination_memory), most)


@dataclass(frozen=True)
class _Candidate:
    """One way to share out a copy: modes of the flat index for the vector, the thread number and the registers."""

    vector: tuple[_Mode, ...]
    threads: tuple[_Mode, ...]
    registers: tuple[_Mode, ...]
    taking_part: int

    @property
    def width(self) -> int:
        """Elements of a vector."""
        return prod(mode.extent for mode in self.vector)

    def accesses(self, size: int, element_bits: int) -> tuple[int, ...]:
        """The criteria before the cost: bits of a byte left over, accesses of a thread, elements of a thread."""
        held = size // prod(mode.extent for mode in self.threads)
        return self.width * element_bits % 8, held // self.width, held

    def layout(self) -> TileLayout:
        """The register layout, on axes tx and m."""
        steps: list[tuple[_Mode, int, str]] = []
        for modes, axis in (((*self.vector, *self.registers), "m"), (self.threads, THREAD_AXIS)):
            stride = 1
            for mode in modes:
                steps.append((mode, stride, axis))
                stride *= mode.extent
        used = prod(mode.extent for mode in self.threads)
        steps.sort(key=lambda step: -step[0].weight)
        shard = [Iter(mode.extent, stride, axis) for mode, stride, axis in steps]
        return TileLayout(shard, (Iter(self.taking_part // used, used, THREAD_AXIS),)).canonicalize()


@bounded_cache
def _distribution(
    source: TileLayout | ComposeLayout,
    destination: TileLayout | ComposeLayout,
    element_bits: int,
    threads: int,
    memories: tuple[Memory, Memory],
    most: int,
) -> TileLayout:
    """`copy_distribution` with vectors of at most `most` elements, for layouts of one size."""
    size = source.size()
    sides = [_Side.of(layout, memory) for layout, memory in zip((source, destination), memories, strict=True)]
    # Numberings are tried from the side whose accesses have to be neighbours: global memory, when there is one.
    by_coalescing = sorted(sides, key=lambda side: side.memory != "global")
    candidates: list[_Candidate] = []
    for vector, rest in _vectors(_modes(size, sides), sides, most):
        width = prod(mode.extent for mode in vector)
        for order in _orders([d for d in rest if d.extent > 1], by_coalescing, max(1, width * element_bits // 8)):
            for taking_part in _thread_counts(size // width, threads):
                taken, registers = order.assign(taking_part)
                registers.sort(key=by_coalescing[0].step)
                candidates.append(_Candidate(vector, tuple(taken), tuple(registers), taking_part))
    # Only where the accesses are as few as possible it matters what they cost; many orders number threads alike.
    fewest = min(candidate.accesses(size, element_bits) for candidate in candidates)

    @cache
    def cost(width: int, taken: tuple[_Mode, ...]) -> float:
        starts = _offsets(taken)[:WARP_SIZE]
        return sum(side.cost(starts, width, element_bits) for side in sides)

    best = [candidate for candidate in candidates if candidate.accesses(size, element_bits) == fewest]
    return min(best, key=lambda candidate: cost(candidate.width, candidate.threads)).layout()
