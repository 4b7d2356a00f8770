"""Elements of one operand that a matrix descriptor reads from the same bytes: legal, and nearly always a mistake."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tirx.layout.caching import bounded_cache
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import SWIZZLE_MODES, Major
from tirx.smem.walk import Shape, Walk, read_addresses


@bounded_cache
def aliased_elements(descriptor: SmemDescriptor, major: Major, shape: Shape, container_bits: int) -> str | None:
    """Says which two elements of an operand of `shape` (MN, K) share bytes, and where a field was meant otherwise.

    `container_bits`: the slot of an element in shared memory. Returns None if all elements have bytes of their own.
    Raises LegalityError where one descriptor does not reach all of the operand.
    """
    pair = _shared_pair(descriptor, major, shape, container_bits)
    if pair is None:
        return None
    first, second, byte = pair
    text = f"elements {first} and {second} (row, k) are both read from byte {byte} of shared memory"
    return f"{text}; {_cause(descriptor, major, shape, container_bits)}"


def _shared_pair(
    descriptor: SmemDescriptor, major: Major, shape: Shape, bits: int
) -> tuple[tuple[int, int], tuple[int, int], int] | None:
    """The first two elements, in row-major order, that are read from one place, and its byte."""
    flat = read_addresses(descriptor, major, shape, bits).ravel()
    order = np.argsort(flat, kind="stable")
    twice = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    if not len(twice):
        return None
    place = int(twice[np.argmin(order[twice + 1])])
    first, second = (divmod(int(order[index]), shape[1]) for index in (place, place + 1))
    return first, second, int(flat[order[place]]) // 8


def _cause(descriptor: SmemDescriptor, major: Major, shape: Shape, bits: int) -> str:
    """Which of LBO and SBO is too small, or whether they are swapped."""
    if not descriptor.lbo_absolute:
        swapped = replace(descriptor, lbo=descriptor.sbo or 0, sbo=descriptor.lbo or 0)
        if _shared_pair(swapped, major, shape, bits) is None:
            return f"LBO {descriptor.lbo} and SBO {descriptor.sbo} look swapped"
    mode = SWIZZLE_MODES[descriptor.swizzle]
    walk = Walk.of(major, mode, shape, bits)
    block = (8 if major == "K" else mode.rows) * mode.row_bytes
    mn, k = ("LBO", "SBO") if walk.traded else ("SBO", "LBO")
    values = {"LBO": descriptor.lbo or 0, "SBO": descriptor.sbo or 0}
    repeats = [(mn, int(walk.outer_mn[-1])), (k, int(walk.outer_k[-1]))]
    small = [f"{name} is {values[name]} bytes" for name, repeat in repeats if repeat and values[name] < block]
    if not small:
        return f"LBO {values['LBO']} and SBO {values['SBO']} let repeats of the pattern overlap"
    return f"{' and '.join(small)}, and one repeat of the pattern takes {block}"
