"""
Warnings about operands in shared memory that a descriptor reads otherwise than they were written.

They are no errors: a kernel may want elements that share bytes, or may have swizzled its data in global memory. Both
are nearly always mistakes: LBO and SBO that are swapped, a transpose bit, or a swizzle that only one side knows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import WARP, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.tensor.shared_descriptor import SWIZZLE_MODES, SharedDescriptor
from tirx.sim.tensor_map import SWIZZLES

ALIAS = "operand with elements that share bytes"
PATTERN = "operand in another pattern than it was written"

# The swizzles of tensor maps by their numbers in the shadow, and the modes of descriptors that read what they write.
_COPIED = tuple(SWIZZLES)
_READ_BY = {"none": 0, "32B": 6, "64B": 4, "128B": 2, "128B_atom_32B": 1}
_LOOKS = 3  # at the operand of one form: tiles are written alike
_INSTANTS = 8  # of stores that one look takes into account


def check_operand(
    cta: Cta, descriptor: SharedDescriptor, addresses: Array, distinct: Array, used: Mask | None, element: int
) -> None:
    """
    Warns if elements of an operand share bytes, or if they were written in the pattern of another swizzle.

    `addresses` (rows, bytes along K), or (rows, K, bytes of an element) if MN-major; `distinct`: those that matter,
    without repetition; `used` marks them. `element`: bytes of an element, 0 for half a byte.
    """
    launch = cta.launch
    if not launch.checks or not distinct.size:
        return
    count = addresses.size if used is None else int(np.count_nonzero(used))
    if len(distinct) < count and not launch.has_noted(ALIAS):
        launch.note(ALIAS, _shared_bytes(descriptor, addresses, used, element))
    if launch.has_noted(PATTERN) or not launch.looks_at((descriptor.what, descriptor.bits >> 14), _LOOKS):
        return
    if (message := _other_copy(cta, descriptor, distinct) or _other_stores(cta, descriptor, distinct)) is not None:
        launch.note(PATTERN, message)


def _shared_bytes(descriptor: SharedDescriptor, addresses: Array, used: Mask | None, element: int) -> str:
    """Names two elements that share a byte, and what was probably meant."""
    flat = addresses.ravel() if used is None else addresses[used]
    order = np.argsort(flat, kind="stable")
    place = int(np.flatnonzero(flat[order][1:] == flat[order][:-1])[0])
    index = np.arange(addresses.size).reshape(addresses.shape)
    chosen = index.ravel() if used is None else index[used]
    places: list[str] = []
    for each in (order[place], order[place + 1]):
        row, k, *_ = (int(x) for x in np.unravel_index(int(chosen[each]), addresses.shape))
        if addresses.ndim == 2:
            k = 2 * k if element == 0 else k // element
        places.append(f"({row}, {k})")
    fields = f"LBO {descriptor.leading}, SBO {descriptor.stride}, swizzle {descriptor.mode.name}"
    return (
        f"{descriptor.what}: elements {places[0]} and {places[1]} (row, k) are both read from shared address "
        f"{int(flat[order[place]]):#x}; {fields}{_meant(descriptor, addresses, element)}"
    )


def _meant(descriptor: SharedDescriptor, addresses: Array, element: int) -> str:
    """Says so if no bytes were shared with LBO and SBO swapped, or with the other major-ness."""
    rows = np.arange(len(addresses))
    swapped = descriptor.swapped()
    mn_major = addresses.ndim == 3
    size = addresses.shape[1] * (element if mn_major else 1)
    if _distinct(swapped, rows, size, element, mn_major):
        return ": they look swapped"
    if element and size % element == 0 and _distinct(descriptor, rows, size, element, not mn_major):
        found, other = ("MN", "K") if mn_major else ("K", "MN")
        return f": the instruction says {found}-major, as a {other}-major operand no bytes would be shared"
    return ""


def _distinct(descriptor: SharedDescriptor, rows: Array, size: int, element: int, mn_major: bool) -> bool:
    try:
        if mn_major:
            addresses = descriptor.mn_major(rows, size // element, element)
        else:
            addresses = descriptor.k_major(rows, size)
    except SimError:  # there is no such operand
        return False
    return len(np.unique(addresses)) == addresses.size


def _other_copy(cta: Cta, descriptor: SharedDescriptor, distinct: Array) -> str | None:
    """Says with which other swizzle a bulk tensor copy wrote the bytes; None if none did."""
    writes = cta.monitor.shared_writes(cta.rank, distinct)
    if writes is None:
        return None
    for swizzle in np.unique(writes.swizzles[writes.swizzles >= 0]):
        name = _COPIED[int(swizzle)]
        if _READ_BY.get(name) != descriptor.number:
            byte = int(distinct[np.argmax(writes.swizzles == swizzle)])
            return (
                f"{descriptor.what} is read with swizzle {descriptor.mode.name}, but a bulk tensor copy wrote shared "
                f"address {byte:#x} with swizzle {name}"
            )
    return None


def _other_stores(cta: Cta, descriptor: SharedDescriptor, distinct: Array) -> str | None:
    """Says in the pattern of which other swizzle threads wrote an operand; None if that cannot be told."""
    writes = cta.monitor.shared_writes(cta.rank, distinct)
    if writes is None:
        return None
    # All that stores to the operand wrote: a descriptor with the wrong swizzle may look at rows of one half only.
    instants = np.unique(writes.instants[writes.by_threads])
    chosen = instants[np.linspace(0, len(instants) - 1, _INSTANTS).astype(int)] if len(instants) else instants
    stores = [
        found
        for instant in np.unique(chosen).tolist()
        for found in _steps(*cta.monitor.shared_writes_at(cta.rank, instant))
    ]
    # Under the swizzle of the writer stores are regular, and alike for all warps.
    kinds = {number: len({each.get(number) for each in stores}) for number in SWIZZLE_MODES
             if all(number in each for each in stores)}  # fmt: skip
    possible = {number for number, count in kinds.items() if count == min(kinds.values())}
    if not stores or not possible or descriptor.number in possible:
        return None
    names = " or ".join(SWIZZLE_MODES[number].name for number in sorted(possible))
    if 0 in possible:
        names += " (right only if the data were swizzled before)"
    read = f"{descriptor.what} is read with swizzle {descriptor.mode.name}"
    return f"{read}, but threads wrote it in the pattern of swizzle {names}"


def _steps(places: Array, threads: Array) -> Iterator[dict[int, tuple[int, ...]]]:
    """
    Yields for each warp of a store the modes under which it is regular, and what each bit of the lane adds.

    Regular: its addresses, before the XOR, are linear in the bits of the lane. Warps with lanes that do not store, and
    stores that are regular under no mode, are left out.
    """
    order = np.lexsort((places, threads))
    users, first = np.unique(threads[order], return_index=True)
    starts = places[order][first]
    bits = 1 << np.arange(5)
    lanes = (np.arange(WARP)[:, None] & bits) != 0
    for warp in np.unique(users // WARP).tolist():
        own = starts[users // WARP == warp]
        if len(own) != WARP:
            continue
        found: dict[int, tuple[int, ...]] = {}
        for number, mode in SWIZZLE_MODES.items():
            linear = own ^ ((own >> mode.shift) & mode.mask)
            steps = linear[bits] - linear[0]
            if np.array_equal(linear[0] + lanes @ steps, linear):
                found[number] = tuple(steps.tolist())
        if found:
            yield found
