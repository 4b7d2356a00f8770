"""tcgen05.mma and tcgen05.cp (PTX ISA, section 9.7.16.10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.numerics.formats import bytes_used, decode_elements, unpack_groups
from tirx.sim.numerics.products import product
from tirx.sim.tensor.data_path import LANES, accumulator_cells, operand_lanes, pair_cells
from tirx.sim.tensor.instruction_descriptor import (
    KINDS,
    NARROW,
    InstructionDescriptor,
    decode_instruction_descriptor,
)
from tirx.sim.tensor.scale_factors import scale_factors
from tirx.sim.tensor.shared_descriptor import SharedDescriptor
from tirx.sim.tensor.sparsity import expand_sparse
from tirx.sim.tensor.zero_mask import expand_zero_mask

_KIND_NUMBERS = {name: number for number, name in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class MmaOperands:
    """
    The run-time values of an instruction: `d`, `a` (if `a_in_tensor_memory`) are tensor memory addresses.

    `scale_factors` are those of A and of B, each for `block` elements along K; `metadata` makes A sparse. All of them
    are in tensor memory. `pair` is cta_group::2: every address is of both CTAs.
    """

    d: int
    a: int
    b: int
    descriptor: int
    accumulate: bool
    a_in_tensor_memory: bool
    zero_mask: int | None = None
    disabled_lanes: tuple[int, ...] | None = None
    scale: int | None = None
    block: int = 0
    scale_factors: tuple[int, int] | None = None
    metadata: int | None = None
    pair: bool = False


def tensor_mma(cta: Cta, thread: int, kind: str, weight_stationary: bool, operands: MmaOperands) -> None:
    """
    D = A * B^T (+ D): the product in float64, rounded once to D's type.

    `thread` is the issuing one (index in the cluster).
    """
    what = "tcgen05.mma.ws" if weight_stationary else "tcgen05.mma"
    fields = decode_instruction_descriptor(
        operands.descriptor, kind, weight_stationary, operands.metadata is not None, operands.pair
    )  # fmt: skip
    ctas = cta.pair if operands.pair else (cta,)
    if ctas[0] is not cta:
        raise SimError(f"{what} with cta_group::2: expected the CTA of even rank to issue it, not CTA {cta.rank}")
    base_lane, base_column = operands.d >> 16, operands.d & 0xFFFF
    if operands.pair:
        lanes, columns, letter = pair_cells(fields.m, fields.n, base_lane)
    else:
        lanes, columns, letter = accumulator_cells(fields.m, fields.n, weight_stationary, base_lane)
    columns = columns + base_column
    zero, shift = np.zeros(fields.n, np.bool_), 0
    if operands.zero_mask is not None:
        zero, shift = expand_zero_mask(operands.zero_mask, fields.m, fields.n, fields.max_shift)
    rows, depth, name = np.arange(len(lanes)), fields.kind.depth, f"{what} A"
    a = np.concatenate([
        _tensor_operand(each, thread, operands.a, len(rows), fields, letter, base_lane, what)
        if operands.a_in_tensor_memory
        else _shared_operand(each, thread, operands.a, rows, None, fields, depth, fields.a, fields.transpose_a, name)
        for each in ctas
    ])  # fmt: skip
    if operands.metadata is not None:
        a = expand_sparse(cta, thread, a, operands.metadata, fields, letter, base_lane)
    used = ~zero
    b_rows, depth, name = shift + np.arange(fields.n // len(ctas)), fields.b_depth, f"{what} B"
    b = np.concatenate([
        _shared_operand(each, thread, operands.b, b_rows, own, fields, depth, fields.b, fields.transpose_b, name)
        for each, own in zip(ctas, np.split(used, len(ctas)), strict=True)
    ])  # fmt: skip
    b[zero] = 0.0
    if operands.scale_factors is not None:
        for operand, address, first, name in zip((a, b), operands.scale_factors, fields.scale_ids, "AB", strict=True):
            assert fields.scale is not None, "the descriptor is of a block-scaled kind"
            rows, depth = operand.shape
            factors = scale_factors(
                cta, thread, address, rows, first, depth, operands.block, fields.scale, f"{what} SF{name}"
            )
            operand *= np.repeat(factors, operands.block, axis=1)
    a = -a if fields.negate_a else a
    b = -b if fields.negate_b else b

    shape = ((fields.m << 10 | fields.n) << 3 | _KIND_NUMBERS[kind]) << 1 | int(weight_stationary)
    cta.launch.observed.multiplied(a, b)
    fresh = np.split(product(a, b), len(ctas))
    words = operands.disabled_lanes or (0,) * (4 * len(ctas))
    for number, each in enumerate(ctas):
        each.tensor.check_cells(lanes, columns, f"{what} D")
        written = _written(words[4 * number : 4 * number + 4], lanes)
        out_lanes, out_columns = lanes[written], columns[written]
        if out_lanes.size:
            if operands.accumulate:
                cta.monitor.tensor_async_read(each.rank, out_lanes, out_columns, thread, f"{what} D", shape)
            cta.monitor.tensor_async_write(each.rank, out_lanes, out_columns, thread, "mma", f"{what} D", shape)
        old = each.tensor.read(lanes, columns) if operands.accumulate else None
        result = _accumulate(fresh[number], old, fields, operands.scale)
        each.tensor.write(out_lanes, out_columns, result[written])
    cta.launch.made_progress()


def _written(disabled: tuple[int, ...], lanes: Array) -> Mask:
    off = np.zeros(LANES, np.bool_)
    for index, word in enumerate(disabled):
        off[32 * index : 32 * index + 32] = (word >> np.arange(32) & 1).astype(np.bool_)
    return ~off[lanes]


def _accumulate(fresh: Array, old: Array | None, fields: InstructionDescriptor, scale: int | None) -> Array:
    """The new cells (uint32) of D."""
    if fields.d == "s32":
        total = fresh.astype(np.int64)
        if old is not None:
            total = total + old.view(np.int32)
        if fields.saturate:
            total = np.clip(total, -(2**31), 2**31 - 1)
        return (total & 0xFFFFFFFF).astype(np.uint32)
    total = fresh
    if old is not None:
        values = old.view(np.float32) if fields.d == "f32" else (old & 0xFFFF).astype(np.uint16).view(np.float16)
        total = total + values.astype(np.float64) * 2.0 ** -(scale or 0)
    if fields.d == "f32":
        return total.astype(np.float32).view(np.uint32)
    return total.astype(np.float16).view(np.uint16).astype(np.uint32)


def read_async(cta: Cta, thread: int, addresses: Array, what: str, used: Array | None = None) -> Array:
    """Bytes of shared memory at `addresses` (any shape), read through the async proxy; `used`: those that matter."""
    wanted = np.unique(addresses if used is None else addresses[used])
    if len(wanted):
        cta.check_shared(wanted, 1, what)
        cta.monitor.async_read(cta.rank, wanted, thread, what)
        cta.launch.observed.moved("shared", "read", len(wanted))
    # What does not matter may lie anywhere; the field of 18 bits wraps around.
    return cta.shared.data[np.minimum(addresses, cta.shared.size - 1)]


def _shared_operand(
    cta: Cta,
    thread: int,
    bits: int,
    rows: Array,
    used_rows: Mask | None,
    fields: InstructionDescriptor,
    depth: int,
    element: str,
    transposed: bool,
    what: str,
) -> Array:
    """The operand as float64 (rows, `depth`)."""
    descriptor = SharedDescriptor(bits, what)
    size = fields.kind.row_bytes * depth // fields.kind.depth
    if transposed:
        addresses = descriptor.mn_major(rows, depth, fields.kind.element)
        used = np.ones(addresses.shape, np.bool_)
    else:
        addresses = descriptor.k_major(rows, size)
        padded = fields.kind.element == 1
        used = np.broadcast_to(bytes_used(size, element if padded else "u8"), addresses.shape)
    if used_rows is not None:
        used = used & used_rows.reshape((-1,) + (1,) * (addresses.ndim - 1))
    raw = read_async(cta, thread, addresses, what, None if used.all() else used).reshape(len(rows), -1)
    return _decode(raw, element, fields)


def _decode(raw: Array, element: str, fields: InstructionDescriptor) -> Array:
    """Elements of rows of bytes of shared memory, as float64."""
    if fields.kind.element == 0:
        return decode_elements(np.stack((raw & 15, raw >> 4), axis=2).reshape(len(raw), -1), element)
    return decode_elements(unpack_groups(raw, element) if element in NARROW else raw, element)


def _tensor_operand(
    cta: Cta,
    thread: int,
    address: int,
    rows: int,
    fields: InstructionDescriptor,
    letter: str,
    base_lane: int,
    what: str,
) -> Array:
    """`rows` rows of A from tensor memory, as float64 (rows, K)."""
    if fields.transpose_a:
        raise SimError(f"{what}: A in tensor memory cannot be MN-major")
    lane = address >> 16
    expected = base_lane if letter == "F" else 0
    if lane != expected:
        raise SimError(f"{what}: expected A at lane {expected}, like D, found lane {lane}")
    columns = (address & 0xFFFF) + np.arange(fields.kind.row_bytes // 4)[None, :]
    first: Array | None = None
    for copy in operand_lanes(rows, letter, base_lane):
        lanes, each = np.broadcast_arrays(copy[:, None], columns)
        cta.tensor.check_cells(lanes, each, f"{what} A")
        cta.monitor.tensor_async_read(cta.rank, lanes, each, thread, f"{what} A")
        words = cta.tensor.read(lanes, each)
        if first is not None and not np.array_equal(words, first):
            raise SimError(f"{what}: layout {letter} needs A in every group of {rows} lanes, but the copies differ")
        first = words
    assert first is not None, "there is at least one copy"
    raw = np.ascontiguousarray(first).view(np.uint8).reshape(rows, -1)
    if fields.kind.element == 0:
        return _decode(raw, fields.a, fields)
    # Narrow elements are in bytes; e2m1 in bits 2-5.
    return decode_elements(raw >> 2 if fields.a == "e2m1" else raw, fields.a)


# Rows and bytes of a tcgen05.cp shape, and for every multicast the lanes that row r goes to.
_COPIES: dict[tuple[str, str | None], tuple[int, int]] = {
    ("128x256b", None): (128, 32),
    ("128x128b", None): (128, 16),
    ("4x256b", None): (4, 32),
    ("64x128b", "warpx2::02_13"): (64, 16),
    ("64x128b", "warpx2::01_23"): (64, 16),
    ("32x128b", "warpx4"): (32, 16),
}
COPY_SHAPES = tuple(sorted({shape for shape, _ in _COPIES}))
COPY_MULTICASTS = tuple(sorted({multicast for _, multicast in _COPIES if multicast}))


def is_copy(shape: str, multicast: str | None) -> bool:
    return (shape, multicast) in _COPIES


def _copy_lanes(rows: int, multicast: str | None) -> list[Array]:
    row = np.arange(rows)
    if multicast == "warpx2::02_13":
        return [32 * (row // 32) + row % 32, 32 * (row // 32) + row % 32 + 64]
    if multicast == "warpx2::01_23":
        return [64 * (row // 32) + row % 32, 64 * (row // 32) + row % 32 + 32]
    if multicast == "warpx4":
        return [row + 32 * group for group in range(4)]
    return [32 * row if rows == 4 else row]


def tensor_copy(cta: Cta, thread: int, address: int, bits: int, shape: str, multicast: str | None) -> None:
    """tcgen05.cp from shared to tensor memory."""
    what = f"tcgen05.cp.{shape}"
    rows, size = _COPIES[shape, multicast]
    if address >> 16:
        raise SimError(f"{what}: expected lane 0 in the destination, found {address >> 16}")
    addresses = SharedDescriptor(bits, what).k_major(np.arange(rows), size)
    words = np.ascontiguousarray(read_async(cta, thread, addresses, what)).view(np.uint32)
    columns = (address & 0xFFFF) + np.arange(size // 4)
    for copy in _copy_lanes(rows, multicast):
        lanes, each = np.broadcast_arrays(copy[:, None], columns[None, :])
        cta.tensor.check_cells(lanes, each, what)
        cta.monitor.tensor_async_write(cta.rank, lanes, each, thread, "cp", what)
        cta.tensor.write(lanes, each, words)
    cta.launch.made_progress()
