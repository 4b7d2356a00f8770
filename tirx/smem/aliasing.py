"""Elements of one operand that a matrix descriptor reads from the same bytes: legal, and nearly always a mistake."""

from __future__ import annotations

from dataclasses import replace

from tirx.hw.bits import extract
from tirx.hw.rules import result
from tirx.layout.arrays import np
from tirx.layout.caching import bounded_cache
from tirx.smem.smem_descriptor import FIELDS, SmemDescriptor, possible_descriptors
from tirx.smem.swizzle_modes import SWIZZLE_MODES, TCGEN05_OPERANDS, WGMMA_OPERANDS, Major, OperandFamily
from tirx.smem.walk import Shape, Walk, read_addresses
from tirx.smem.wgmma_descriptor import FIELDS as WGMMA_FIELDS
from tirx.smem.wgmma_descriptor import WgmmaDescriptor, possible_wgmma_descriptors
from tirx.symbolic.integers import Integers


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


def aliased_operand(
    value: SmemDescriptor | WgmmaDescriptor | Integers | int | None,
    major: Major,
    shape: Shape,
    container_bits: int,
    family: OperandFamily = TCGEN05_OPERANDS,
) -> str | None:
    """`aliased_elements` of a descriptor of which some bits may not be known.

    Returns None unless the swizzle is known, and LBO and SBO where the hardware reads them. Returns None where the
    bits have no meaning or the operand is out of reach.
    """
    if value is None:
        return None
    if family is WGMMA_OPERANDS:
        fields = WGMMA_FIELDS
        found = () if isinstance(value, SmemDescriptor) else possible_wgmma_descriptors(value)
        descriptors = tuple(each.walk for each in found)
    else:
        fields = FIELDS
        descriptors = () if isinstance(value, WgmmaDescriptor) else possible_descriptors(value)
    if not descriptors or (
        isinstance(value, Integers)
        and any(extract(value.unknown, fields[name]) for name in _read(descriptors[0], major, shape, container_bits))
    ):
        return None
    return result(lambda: aliased_elements(descriptors[0], major, shape, container_bits))


def _read(descriptor: SmemDescriptor, major: Major, shape: Shape, bits: int) -> list[str]:
    """The fields that say where elements are, besides the start: LBO and SBO where the pattern repeats."""
    walk = Walk.of(major, SWIZZLE_MODES[descriptor.swizzle], shape, bits)
    mn, k = ("lbo", "sbo") if walk.traded else ("sbo", "lbo")
    repeats = {mn: int(walk.outer_mn[-1]), k: int(walk.outer_k[-1])}
    return ["swizzle", *(name for name, last in repeats.items() if last)]


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
    """Says which of LBO and SBO is too small, or that they are swapped."""
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
