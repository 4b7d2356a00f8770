"""Reading the operands of tcgen05.mma from shared and tensor memory (PTX ISA, sections 9.7.16.10.2 to .6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.memory.gather import Gather
from tirx.sim.memory.region import Region
from tirx.sim.numerics.formats import bytes_used, decode_elements, unpack_groups
from tirx.sim.tensor.data_path import DataPath, split_address
from tirx.sim.tensor.instruction_descriptor import NARROW, InstructionDescriptor
from tirx.sim.tensor.patterns import check_operand
from tirx.sim.tensor.shared_descriptor import SEGMENT_BIT, SharedDescriptor


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """
    Addresses of the elements of an operand, the bytes that matter (None: all), the region of these, and what reads the
    bytes.
    """

    addresses: Array
    used: Mask | None
    region: Region
    gather: Gather


@lru_cache(maxsize=1024)
def _descriptor(bits: int, what: str, target: str) -> SharedDescriptor:
    return SharedDescriptor(bits, what, target)


@lru_cache(maxsize=512)
def _places(
    descriptor: SharedDescriptor, first: int, rows: int, used_rows: bytes | None, size: int, width: int, element: str
) -> _Places:
    """
    Returns the addresses of `rows` rows of an operand from row `first` on; `used_rows` marks the rows that matter.

    `width` is the bytes of an element of an MN-major operand of `size` elements along K, and 0 for a K-major one of
    `size` bytes.
    """
    index = first + np.arange(rows)
    if width:
        addresses = descriptor.mn_major(index, size, width)
        used = np.ones(addresses.shape, np.bool_)
    else:
        addresses = descriptor.k_major(index, size)
        used = np.broadcast_to(bytes_used(size, element), addresses.shape)
    if used_rows is not None:
        used = used & np.frombuffer(used_rows, np.bool_).reshape((-1,) + (1,) * (addresses.ndim - 1))
    everything = bool(used.all())
    distinct = np.unique(addresses if everything else addresses[used])
    return _Places(addresses, None if everything else used, Region.of(distinct), Gather(addresses))


def read_async(cta: Cta, thread: int, addresses: Array, what: str, used: Mask | None = None) -> Array:
    """Reads bytes of shared memory at `addresses` (any shape) through the async proxy. Only the `used` ones matter."""
    region = Region.of(np.unique(addresses if used is None else addresses[used]))
    return _read(cta, thread, Gather(addresses), region, what)


def _read(cta: Cta, thread: int, bytes_: Gather, wanted: Region, what: str, as_a: bool = False) -> Array:
    """Reads bytes, of which only the `wanted` ones matter; `as_a`: as the operand A."""
    count = len(wanted.places)
    if count:
        cta.check_region(wanted, what)
        cta.monitor.async_read(cta.rank, wanted, thread, what, as_a=as_a)
        cta.launch.observed.moved("shared", "read", count)
    # What does not matter may lie anywhere; the field of 18 bits wraps around.
    return bytes_.read(cta.shared)


def read_tensor(cta: Cta, thread: int, lanes: Array, columns: Array, what: str) -> Array:
    """Reads words of tensor memory at `lanes` and `columns` (broadcast) for an asynchronous operation."""
    lanes, columns = np.broadcast_arrays(lanes, columns)
    cta.tensor.check_cells(lanes, columns, what)
    cta.monitor.tensor_async_read(cta.rank, lanes, columns, thread, what)
    return cta.tensor.read(lanes, columns)


def read_tensor_copies(cta: Cta, thread: int, path: DataPath, lanes: Array, columns: Array, what: str) -> Array:
    """
    Reads the words at `lanes` (groups, rows, ...) and `columns` (rows, ...). Raises SimError if the groups of lanes
    differ.

    Returns (rows, ...).
    """
    first: Array | None = None
    for own in lanes:
        words = read_tensor(cta, thread, own, columns, what)
        if first is not None and not np.array_equal(words, first):
            raise SimError(
                f"{what}: layout {path.letter} needs the same in every group of {path.rows} lanes, but the copies "
                "differ"
            )
        first = words
    assert first is not None, "there is at least one group"
    return first


def shared_operand(
    cta: Cta,
    thread: int,
    bits: int,
    first: int,
    rows: int,
    used_rows: Mask | None,
    fields: InstructionDescriptor,
    depth: int,
    element: str,
    transposed: bool,
    what: str,
    as_a: bool = False,
) -> Array:
    """Rows `first` and on of the operand as float32 (rows, `depth`)."""
    descriptor = _descriptor(bits, what, cta.launch.program.target)
    size, width = (depth, fields.kind.element) if transposed else (fields.kind.bytes_of(depth), 0)
    marks = None if used_rows is None or used_rows.all() else used_rows.tobytes()
    padded = element if fields.kind.element == 1 else "u8"
    places = _places(descriptor, first, rows, marks, size, width, padded)
    raw = _read(cta, thread, places.gather, places.region, what, as_a).reshape(rows, -1)
    check_operand(cta, descriptor, places.addresses, places.region.places, places.used, fields.kind.element)
    return _decode(raw, element, fields)


_INDEX_BITS = 3
_TABLE_DEPTH = 64  # K
_TABLE_ROWS = 8
_INDEXED_ROW = 48


def indexed_operand(
    cta: Cta, thread: int, bits: int, table: int, rows: int, fields: InstructionDescriptor, what: str
) -> Array:
    """
    Reads a CTA's rows of B, indices of three bits into a table, as float32 (rows, K).

    A row is 48 bytes in shared memory, of which the descriptor names a half. Eight rows share eight e4m3, in two
    columns of one lane of the CTA's own tensor memory.
    """
    if fields.depth != _TABLE_DEPTH or fields.b != "e4m3" or fields.transpose_b:
        major = "MN" if fields.transpose_b else "K"
        raise SimError(
            f"{what} with a table: expected K = {_TABLE_DEPTH} and a K-major e4m3, found K = {fields.depth} and a "
            f"{major}-major {fields.b}"
        )
    descriptor = _descriptor(bits & ~(1 << SEGMENT_BIT), what, cta.launch.program.target)
    half = _INDEXED_ROW // 2
    used = np.zeros(_INDEXED_ROW, np.bool_)
    first = half * (bits >> SEGMENT_BIT & 1)
    used[first : first + half] = True
    addresses = descriptor.k_major(np.arange(rows), _INDEXED_ROW)[:, used]
    packed = read_async(cta, thread, addresses, what)
    single = np.unpackbits(packed, axis=1, bitorder="little").reshape(rows, fields.depth, _INDEX_BITS)
    indices = single @ (1 << np.arange(_INDEX_BITS))
    lane, column = split_address(table)
    if column % 2:
        raise SimError(f"{what}: expected the table at an even column, found {column}")
    lanes = lane + np.arange(-(-rows // _TABLE_ROWS))[:, None]
    words = read_tensor(cta, thread, lanes, column + np.arange(2)[None, :], f"the table of {what}")
    entries = decode_elements(np.ascontiguousarray(words).view(np.uint8).reshape(len(lanes), -1), fields.b)
    return entries[np.arange(rows)[:, None] // _TABLE_ROWS, indices]


def _decode(raw: Array, element: str, fields: InstructionDescriptor) -> Array:
    """Elements of rows of bytes of shared memory, as float32."""
    if fields.kind.element == 0:
        return decode_elements(np.stack((raw & 15, raw >> 4), axis=2).reshape(len(raw), -1), element)
    return decode_elements(unpack_groups(raw, element) if element in NARROW else raw, element)


def tensor_operand(
    cta: Cta,
    thread: int,
    address: int,
    fields: InstructionDescriptor,
    path: DataPath,
    base_lane: int,
    what: str,
) -> Array:
    """Reads a CTA's rows of A from its tensor memory, as float32 (rows, K)."""
    if fields.transpose_a:
        raise SimError(f"{what}: A in tensor memory cannot be MN-major")
    lane, column = split_address(address)
    if lane != base_lane:
        raise SimError(f"{what}: expected A at lane {base_lane}, like D, found lane {lane}")
    columns = column + np.arange(fields.kind.bytes_of(fields.depth) // 4)[None, :]
    words = read_tensor_copies(cta, thread, path, path.row_lanes(base_lane)[:, :, None], columns, f"{what} A")
    raw = np.ascontiguousarray(words).view(np.uint8).reshape(path.rows, -1)
    if fields.kind.element == 0:
        return _decode(raw, fields.a, fields)
    # Narrow elements are in bytes; e2m1 in bits 2-5.
    return decode_elements(raw >> 2 if fields.a == "e2m1" else raw, fields.a)
