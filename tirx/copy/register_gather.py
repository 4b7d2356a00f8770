"""Gathers within register tiles: every thread takes elements of its warp whose coordinates it computes."""

from __future__ import annotations

from math import prod

from tirx.copy.cost import CopyCost
from tirx.copy.exchange import BARRIER_CYCLES, reduced_shape, shared_cost
from tirx.copy.slots import projected
from tirx.layout import ComposeLayout, LayoutError, TileLayout
from tirx.layout.arrays import IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.layout.ownership import held_elements
from tirx.layout.reduction import by_warp_and_lane
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class Digit:
    """Bits of an index, `width` of them from bit `first` on, that count lanes: `step` of the own warp for each."""

    first: int
    width: int
    step: int


@dataclass(frozen=True)
class RegisterGather:
    """A gather along one dimension of a register tile, by shuffles or by selections alone.

    The element with index 0 is in the own lane without the bits `mask`, in slot `bases[i]` for slot i of the result
    (None for slots without elements). From there an index leads by `lanes` to the lane that holds the element. Of
    `offsets`, slots from the base on, the bits `slot_bits` of the index choose one, the first of them in the low bit.
    """

    bases: tuple[int | None, ...]
    mask: int
    lanes: tuple[Digit, ...]
    offsets: tuple[int, ...]
    slot_bits: tuple[int, ...]

    def cycles(self, element_bits: int, threads: int) -> float:
        """The cycles of an SM, in the terms of `plan_exchange`: a selection counts half of a shuffle beside one."""
        slots, words, count = (
            sum(base is not None for base in self.bases),
            max(1, element_bits // 32),
            len(self.offsets),
        )
        each = count + (count - 1) / 2 if self.lanes else count - 1
        return (each * words + len(self.slot_bits)) * slots * threads / WARP_SIZE


@bounded_cache
def plan_register_gather(
    source: TileLayout,
    shape: tuple[int, ...],
    result: TileLayout,
    result_shape: tuple[int, ...],
    dim: int,
    threads: int,
) -> RegisterGather | None:
    """Plans a gather from a register tile of `shape` to one whose extents are the same but along `dim`.

    None where threads take elements of other warps, the places of elements along `dim` are no bits of their index, or
    lanes find their elements at different distances.
    """
    try:
        grouped, starts = by_warp_and_lane(source).group(shape)
    except LayoutError:
        return None
    lanes: list[Digit] = []
    slots: list[tuple[int, int]] = []  # the bit of an index, and how far it leads
    step = shape[dim]
    if step & step - 1:
        return None
    for it in grouped.shard[starts[dim] : starts[dim + 1]]:
        step //= it.extent
        first, width = step.bit_length() - 1, it.extent.bit_length() - 1
        if it.extent == 1:
            continue
        if it.axis == "m":
            slots += [(first + bit, it.stride << bit) for bit in range(width)]
        elif it.axis == "laneid" and it.stride > 0 and it.stride & it.stride - 1 == 0:
            lanes.append(Digit(first, width, it.stride))
        else:
            return None
    if lanes and threads % WARP_SIZE:
        return None
    slots.sort()
    offsets = np.zeros(1, np.int64)
    for _, distance in slots:
        offsets = np.concatenate([offsets, offsets + distance])
    mask = sum((1 << digit.width) - 1 << digit.step.bit_length() - 1 for digit in lanes)
    plan = RegisterGather((), mask, tuple(lanes), tuple(map(int, offsets)), tuple(bit for bit, _ in slots))
    # The elements of the source with index 0.
    inner, extent = prod(shape[dim + 1 :]), shape[dim]
    lines = projected(held_elements(result, result_shape, threads), result_shape, reduced_shape(shape, (dim,)))
    wanted = np.where(lines < 0, -1, lines // inner * inner * extent + lines % inner)
    bases = _bases(plan, held_elements(source, shape, threads), wanted, np.arange(extent), inner)
    return None if bases is None else replace(plan, bases=bases)


def _bases(
    plan: RegisterGather, held: IntArray, wanted: IntArray, index: IntArray, inner: int
) -> tuple[int | None, ...] | None:
    """Returns the slot of the element with index 0, `wanted`, for each slot of the result; None where `plan` does not
    lead from there to the elements with the others, which are `inner` apart.
    """
    zeros = np.zeros_like(index)
    at = sum(((index >> bit & 1) << place for place, bit in enumerate(plan.slot_bits)), zeros)
    slots = np.array(plan.offsets)[at]
    lanes = sum(((index >> each.first & (1 << each.width) - 1) * each.step for each in plan.lanes), zeros)
    own = np.arange(len(held)) & ~plan.mask
    found: list[int | None] = []
    for column in wanted.T:
        threads = np.flatnonzero(column >= 0)
        if not len(threads):
            found.append(None)
            continue
        first = column[threads]
        fits = np.flatnonzero((held[own[threads]] == first[:, None]).all(0))
        if not len(fits):
            return None
        base = int(fits[0])
        if (held[own[threads, None] + lanes, base + slots] != first[:, None] + index * inner).any():
            return None
        found.append(base)
    return tuple(found)


def shared_gather_cycles(
    ends: tuple[TileLayout, TileLayout | ComposeLayout],
    shape: tuple[int, ...],
    loaded: tuple[int, int],
    element_bits: int,
    threads: int,
) -> float:
    """The least cycles of a gather through shared memory: a store, loads without bank conflicts, and two barriers.

    `ends` are the layouts of the tile in registers and in shared memory. Every thread loads `loaded[0]` elements by
    `loaded[1]` instructions. Raises AccessError where threads would store parts of bytes.
    """
    (elements, instructions), warps = loaded, -(-threads // WARP_SIZE)
    load = CopyCost(elements * max(1, element_bits // 32) * warps, 0, instructions * warps)
    return (shared_cost(*ends, shape, element_bits, threads) + load).cycles + BARRIER_CYCLES
