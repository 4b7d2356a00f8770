"""The accesses by which threads move the elements of a memory tile that a register layout gives them.

Both layouts map the same flat index. The register layout is solved for it, given the thread; the memory layout
turns it into an address. What is left per register is a constant, wherever the layouts allow it.
"""

from __future__ import annotations

from functools import cache
from math import prod

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import WARP_SIZE, axis
from tirx.layout.caching import bounded_cache
from tirx.layout.compose import ComposeLayout
from tirx.layout.iters import Iter
from tirx.layout.ownership import AccessError, held_elements, thread_axes
from tirx.layout.shape import Shape, check_shape
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout
from tirx.symbolic.index_expr import IndexExpr, add, const, var
from tirx.values import dataclass

THREAD_VARIABLE = "tid"
"""The variable of offsets: the linear index of the thread in the block."""


@dataclass(frozen=True)
class Access:
    """`count` consecutive registers from `register` on, at as many consecutive memory elements.

    The first lies `base + const` elements after the base address of the tile. Accesses of a plan that differ
    by a constant have equal bases.
    """

    register: int
    count: int
    base: IndexExpr
    const: int

    @property
    def offset(self) -> IndexExpr:
        """The whole offset in elements, a function of the variable `tid`."""
        return self.base + self.const


@dataclass(frozen=True)
class Owners:
    """The threads of a block that hold a part of a tile: those of the given warps on the given lanes, below a thread.

    Bit w of `warps` stands for warp w (thread // 32), bit l of `lanes` for lane l (thread % 32). `below` is None where
    the masks say it all.
    """

    warps: int
    lanes: int
    below: int | None = None

    @staticmethod
    def around(held: NDArray[np.bool_]) -> Owners:
        """The fewest warps and lanes that include all threads that are marked, up to the last if that is needed."""
        by_warp = np.pad(held, (0, -len(held) % WARP_SIZE)).reshape(-1, WARP_SIZE)
        warps: NDArray[np.bool_] = np.any(by_warp, axis=1)
        in_warp: NDArray[np.bool_] = np.any(by_warp, axis=0)
        owners = Owners(_mask(warps), _mask(in_warp))
        if len(owners.others(held)):
            return Owners(owners.warps, owners.lanes, int(np.flatnonzero(held)[-1]) + 1)
        return owners

    def others(self, held: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The threads that these owners cannot tell from those that are marked."""
        return np.flatnonzero(held != self.holds(np.arange(len(held), dtype=np.int64)))

    def holds(self, thread: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Marks the threads that are among the owners."""
        marked = (self.warps >> thread // WARP_SIZE & self.lanes >> thread % WARP_SIZE & 1).astype(np.bool_)
        return marked if self.below is None else marked & (thread < self.below)


def _mask(bits: NDArray[np.bool_]) -> int:
    return sum(1 << int(i) for i in np.flatnonzero(bits))


def _taking_part(held: NDArray[np.int64], once: bool) -> tuple[NDArray[np.bool_], Owners | None]:
    """The threads that take part, as booleans and as masks, None for all of them; with `once` no thread that repeats
    an earlier one.
    """
    holding: NDArray[np.bool_] = np.any(held >= 0, axis=1)
    if once:
        firsts: dict[bytes, int] = {}
        for thread, elements in enumerate(held):
            firsts.setdefault(elements.tobytes(), thread)
        alone = np.zeros_like(holding)
        alone[[*firsts.values()]] = True
        alone &= holding
        if alone.all():
            return alone, None
        owners = Owners.around(alone)
        if not len(owners.others(alone)):
            return alone, owners
    if holding.all():
        return holding, None
    owners = Owners.around(holding)
    if len(others := owners.others(holding)):
        raise AccessError(
            f"expected a tile on the same lanes of every warp that holds a part of it, up to some thread; thread "
            f"{others[0]} does not fit"
        )
    return holding, owners


@dataclass(frozen=True)
class AccessPlan:
    """All accesses by which the threads of a block load or store their parts of a tile, in register order.

    `owners` are the threads that take part, None for all of them. The element in register r of a thread has the flat
    index `thread_part` + `register_part[r]`.
    """

    accesses: tuple[Access, ...]
    threads: int
    element_bits: int
    owners: Owners | None
    thread_part: IndexExpr
    register_part: tuple[int, ...]

    def flat(self, access: Access) -> IndexExpr:
        """The flat index in the tile of the first element of an access."""
        return self.thread_part + self.register_part[access.register]

    @property
    def registers(self) -> int:
        """One more than the last register used, in elements."""
        return max(access.register + access.count for access in self.accesses)

    @property
    def bases(self) -> tuple[IndexExpr, ...]:
        """The distinct thread-dependent parts, in order of first use."""
        return tuple(dict.fromkeys(access.base for access in self.accesses))


def _solve_axis(layout: TileLayout, name: str, threads: int) -> list[tuple[int, IndexExpr]]:
    """The digits of the iters on one thread axis: (what a step adds to the flat index, 0 for a replica; digit).

    Takes the iter with the largest stride first. This is right whenever the smaller ones together stay below
    each stride, which the caller checks on all threads.
    """
    row = axis(name)
    assert row.weight is not None, row
    coordinate = var(THREAD_VARIABLE, threads) // row.weight
    if row.bound is not None:
        coordinate = coordinate % row.bound
    coordinate = coordinate - layout.offsets.get(name, 0)
    weighted = [*zip(_inner_sizes(layout.shard), layout.shard, strict=True), *((0, it) for it in layout.replica)]
    moving = [(weight, it) for weight, it in weighted if it.axis == name and it.extent > 1 and it.stride]
    for _, it in moving:
        coordinate = coordinate - (it.extent - 1) * min(it.stride, 0)
    digits: list[tuple[int, IndexExpr]] = []
    for weight, it in sorted(moving, key=lambda item: -abs(item[1].stride)):
        digit = coordinate // abs(it.stride)
        coordinate = coordinate % abs(it.stride)
        digits.append((weight, digit if it.stride > 0 else it.extent - 1 - digit))
    return digits


def _inner_sizes(iters: tuple[Iter, ...]) -> list[int]:
    """The number of elements below each iter: what a step of its digit adds to the flat index."""
    return [prod(it.extent for it in iters[k + 1 :]) for k in range(len(iters))]


def _thread_part(register: TileLayout, threads: int) -> IndexExpr:
    """The flat index of an element held by a thread, less a constant of the register."""
    digits = [item for name in thread_axes(register) for item in _solve_axis(register, name, threads)]
    return add(digit * weight for weight, digit in digits)


def _swizzled(address: IndexExpr, swizzle: SwizzleLayout) -> IndexExpr:
    lower, upper = 1 << swizzle.per_element, 1 << (swizzle.per_element + swizzle.atom_len)
    source, target = (upper, lower) if swizzle.swizzle_inner else (lower, upper)
    return address ^ (address // source % (1 << swizzle.swizzle_len) * target)


def element_address(flat: IndexExpr, memory: TileLayout | ComposeLayout) -> IndexExpr:
    """The address on axis m, in elements, of the element with a flat index."""
    tile = memory.tile if isinstance(memory, ComposeLayout) else memory
    terms: list[IndexExpr] = []
    for k, (it, below) in enumerate(zip(tile.shard, _inner_sizes(tile.shard), strict=True)):
        digit = flat // below
        terms.append((digit % it.extent if k else digit) * it.stride)
    address = add((*terms, const(tile.offsets.get("m", 0))))
    return _swizzled(address, memory.swizzle) if isinstance(memory, ComposeLayout) else address


def _check_memory(memory: TileLayout | ComposeLayout) -> None:
    tile = memory.tile if isinstance(memory, ComposeLayout) else memory
    others = [name for name in tile.axes if name != "m"]
    if others:
        raise AccessError(f"expected a memory layout on axis m only, found axis {others[0]} in {memory}")
    if len(tile.replicas()) > 1:
        raise AccessError(f"expected every element once in memory, found replicas in {memory}")


def _check_width(element_bits: int, max_vector_bytes: int, base_align_bytes: int) -> None:
    for what, value in (
        ("element_bits", element_bits),
        ("max_vector_bytes", max_vector_bytes),
        ("base_align_bytes", base_align_bytes),
    ):
        if value < 1 or value & (value - 1):
            raise AccessError(f"expected {what} to be a power of two, found {value}")
    if element_bits // 8 > base_align_bytes:
        raise AccessError(f"expected a base aligned to its {element_bits}-bit elements, found {base_align_bytes} bytes")


def widest_vectors(addresses: NDArray[np.int64], used: NDArray[np.bool_], largest: int) -> list[tuple[int, int]]:
    """(first register, count) of the widest accesses that every thread can do, in register order."""
    found: list[tuple[int, int]] = []
    registers = addresses.shape[1]

    @cache
    def vectors(count: int) -> list[bool]:
        """Returns for every `count` registers whether each thread can reach them at once."""
        whole = registers // count * count
        blocks = addresses[:, :whole].reshape(-1, whole // count, count)
        fits = (blocks == blocks[..., :1] + np.arange(count)) & (blocks[..., :1] % count == 0)
        together: list[bool] = (fits.all(axis=(0, 2)) & used[:whole].reshape(-1, count).all(axis=1)).tolist()
        return together

    first = 0
    while first < registers:
        if not used[first]:
            first += 1
            continue
        count = largest
        while first % count or first + count > registers or not vectors(count)[first // count]:  # one register is one
            count //= 2
        found.append((first, count))
        first += count
    return found


def plan_accesses(
    register: TileLayout,
    memory: TileLayout | ComposeLayout,
    shape: Shape,
    element_bits: int,
    threads: int,
    max_vector_bytes: int = 16,
    base_align_bytes: int = 16,
    *,
    once: bool = False,
) -> AccessPlan:
    """The loads or stores by which `threads` threads move the tile between memory and their registers.

    `register` maps elements to thread axes and to m (the register, counted in elements), `memory` to m (the
    address in elements after the base of the tile). `element_bits` is what an element takes in memory, a power
    of two. The base address is promised to be aligned to `base_align_bytes`, and to the period of the swizzle
    when there is one, so that swizzling the offset is swizzling the address. Every vector is at most
    `max_vector_bytes` wide, aligned in memory, and starts at a multiple of its length in registers.

    All copies of an element are loaded, or stored, by all threads that hold it; threads that hold nothing take no part.

    Raises AccessError when a thread lacks an element in a register where others have one, when a register would
    hold two elements or an element is on no thread, when the iters on a thread axis do not form a mixed-radix
    number, when the memory is not plain (replicas, other axes), and when elements of less than a byte cannot be
    moved in whole bytes.
    """
    dims = check_shape(shape, register.size())
    check_shape(dims, memory.size())
    _check_memory(memory)
    _check_width(element_bits, max_vector_bytes, base_align_bytes)
    largest = max(1, 8 * min(max_vector_bytes, base_align_bytes) // element_bits)
    return _plan(register, memory, dims, element_bits, threads, largest, once)


@bounded_cache
def _plan(
    register: TileLayout,
    memory: TileLayout | ComposeLayout,
    dims: tuple[int, ...],
    element_bits: int,
    threads: int,
    largest: int,
    once: bool,
) -> AccessPlan:
    """`plan_accesses` with vectors of at most `largest` elements, for arguments that are checked."""
    held = held_elements(register, dims, threads)
    used: NDArray[np.bool_] = np.any(held >= 0, axis=0)
    holding, owners = _taking_part(held, once)
    # Every iter is on one axis: what threads hold is every one of some slots.
    assert not ((held < 0) & used & holding[:, None]).any(), register

    tids = np.flatnonzero(holding)
    held = held[tids]
    thread_part = _thread_part(register, threads)
    thread_values = thread_part.evaluate({THREAD_VARIABLE: tids})
    register_part = held[0] - thread_values[0]
    wrong = np.argwhere((held != thread_values[:, None] + register_part) & used)
    if len(wrong):
        thread, slot = int(tids[wrong[0][0]]), int(wrong[0][1])
        raise AccessError(
            f"expected the iters on each thread axis to form a mixed-radix number (each stride larger than what "
            f"the smaller ones reach together), found {register}: it cannot be solved for thread {thread}, "
            f"register {slot}"
        )

    addresses = memory.axis_table("m", (memory.size(),))[held]
    accesses: list[Access] = []
    leaders: dict[bytes, tuple[int, Access]] = {}
    for first, count in widest_vectors(addresses, used, largest):
        if count * element_bits < 8:
            raise AccessError(
                f"expected at least {8 // element_bits} consecutive {element_bits}-bit elements in the registers of "
                f"every thread, to move whole bytes; found {count} from register {first} on with {register}"
            )
        column = addresses[:, first]
        start = int(column[0])
        by_thread = (column - start).tobytes()
        if by_thread in leaders:
            at, leader = leaders[by_thread]
            accesses.append(Access(first, count, leader.base, leader.const + start - at))
            continue
        base, addend = element_address(thread_part + int(register_part[first]), memory).split_const()
        assert (base.evaluate({THREAD_VARIABLE: tids}) + addend == column).all(), "the expression is not the layout"
        accesses.append(Access(first, count, base, addend))
        leaders[by_thread] = start, accesses[-1]
    return AccessPlan(tuple(accesses), threads, element_bits, owners, thread_part, tuple(register_part.tolist()))
