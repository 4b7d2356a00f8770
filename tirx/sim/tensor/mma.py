"""tcgen05.mma (PTX ISA, section 9.7.16.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.numerics.tensor_cores import ideal, multiply_scaled, multiply_values, rule_of
from tirx.sim.tensor.accumulation import accumulate, numbers_to_words, words_to_numbers
from tirx.sim.tensor.collectors import Collected
from tirx.sim.tensor.copies import SHIFTED_LANES, shift_rows
from tirx.sim.tensor.data_path import LANES, DataPath, data_path, split_address
from tirx.sim.tensor.instruction_descriptor import KINDS, InstructionDescriptor, decode_instruction_descriptor
from tirx.sim.tensor.operands import indexed_operand, shared_operand, tensor_operand
from tirx.sim.tensor.scale_factors import ScaleFactors
from tirx.sim.tensor.sparsity import expand_sparse
from tirx.sim.tensor.zero_mask import expand_zero_mask, late_start

_TRAPPING_M = 32
_SCALE_LANES = 32
_KIND_NUMBERS = {name: number for number, name in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class MmaForm:
    """
    Modifiers of a tcgen05.mma.

    `pair` is cta_group::2: every address is of both CTAs. `block`: elements of a dense A that share a scale factor, 0
    if the kind has none; `counted` if it is written as the number of factors. `collector` is the buffer that `usage` is
    about; `usage_b` is that of the buffer b, without .ws. With `table` B has indices.
    """

    kind: str
    weight_stationary: bool
    sparse: bool
    pair: bool
    block: int
    counted: bool
    ashift: bool
    collector: str
    usage: str
    usage_b: str = "discard"
    table: bool = False

    @property
    def name(self) -> str:
        return f"tcgen05.mma{'.ws' if self.weight_stationary else ''}{'.sp' if self.sparse else ''}"


@dataclass(frozen=True, slots=True)
class MmaOperands:
    """
    The run-time values of an instruction: `d`, `a` (if `a_in_tensor_memory`) are tensor memory addresses.

    `scale_factors` are those of A and of B, `metadata` makes A sparse, and B has indices into the `table`. All of them
    are in tensor memory.
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
    scale_factors: tuple[int, int] | None = None
    metadata: int | None = None
    table: int | None = None


def tensor_mma(cta: Cta, thread: int, form: MmaForm, operands: MmaOperands) -> None:
    """
    Computes D = A * B^T (+ D) and writes it.

    `thread` is the issuing one (index in the cluster).
    """
    what = form.name
    fields = decode_instruction_descriptor(
        operands.descriptor, form.kind, form.weight_stationary, form.sparse, form.pair, cta.launch.program.target
    )
    ctas = cta.pair if form.pair else (cta,)
    if ctas[0] is not cta:
        raise SimError(f"{what} with cta_group::2: expected the CTA of even rank to issue it, not CTA {cta.rank}")
    path = data_path(fields.m, weight_stationary=form.weight_stationary, pair=form.pair, sparse=form.sparse)
    base_lane, column = split_address(operands.d)
    path.check_lane(base_lane)
    parts, selected = zip(
        *(_a(each, thread, operands, fields, path, what, not form.weight_stationary) for each in ctas), strict=True
    )
    a = _joined(parts)
    kept = None if operands.metadata is None else np.concatenate(selected)
    b, zero, shift = _b(ctas, thread, operands, fields, what)
    of_b = form.weight_stationary
    for buffer, usage, is_b in ((form.collector, form.usage, of_b), ("b", form.usage_b, True)):
        if usage == "discard":
            ctas[0].collectors.discard(buffer)
        else:
            collected = _collected(form, operands, fields, b if is_b else a, is_b, zero, shift)
            ctas[0].collectors.apply(buffer, usage, collected, what)
    factors = None
    if operands.scale_factors is not None:
        factors = _scale_factors(ctas, thread, form, operands, fields, path)
    if zero.any():
        b = np.where(zero[:, None], np.float32(0), b)
    a = -a if fields.negate_a else a
    b = -b if fields.negate_b else b

    _note_what_sources_leave_open(cta, fields, shift, form.table and cta.launch.strict, what)
    shape = ((fields.m << 10 | fields.n) << 3 | _KIND_NUMBERS[form.kind]) << 1 | int(form.weight_stationary)
    cta.launch.observed.multiplied(a, b)
    lanes, columns = _cells(path, fields.n, base_lane, column)
    area = path.block(fields.n, base_lane, column)
    block = area or (lanes, columns)
    words, places = operands.disabled_lanes, list[Mask | None]()
    for number, each in enumerate(ctas):
        written = None if words is None else _written(words[4 * number : 4 * number + 4], lanes)
        if area is None:
            each.tensor.check_cells(lanes, columns, f"{what} D")
        else:
            each.tensor.check_block(*area, f"{what} D")
        cells = (lanes, columns) if written is None else (lanes[written], columns[written])
        if cells[0].size:
            _order_result(each, thread, what, cells, shape, operands.accumulate)
        places.append(written)
    is_hardware = cta.launch.program.arithmetic == "hardware"
    plain = words is None and kept is None and factors is None and not operands.scale and is_hardware
    memories = [each.tensor for each in ctas]
    target = cta.launch.program.target
    if plain and area is not None and accumulate(memories, area, fields, target, a, b, operands.accumulate):
        for each in memories:
            if operands.accumulate:
                each.moved("read", path.rows * fields.n)
            each.moved("written", path.rows * fields.n)
    else:
        old = _joined([each.read(*block) for each in memories]) if operands.accumulate else None
        total = _product(fields, a, b, factors, kept, _old_values(old, fields, operands.scale, a, b), cta)
        for each, written, own in zip(memories, places, _parted(_words(total, fields), len(ctas)), strict=True):
            if written is None:
                each.write(*block, own)
            else:
                each.write(lanes[written], columns[written], own[written])
    if form.ashift:
        for each in ctas:
            _shift_a(each, thread, operands, fields, what)
    cta.launch.made_progress()


def _note_what_sources_leave_open(
    cta: Cta, fields: InstructionDescriptor, shift: int, has_table: bool, what: str
) -> None:
    """Notes a shift that may trap, and in strict mode a table of B, and a sum whose order nobody knows."""
    if shift and fields.m == _TRAPPING_M:
        cta.launch.note(
            "shift with M = 32",
            f"{what} with M = 32 shifts columns of B by {shift}: the ISA allows up to 16, but a comment in the probe "
            "of sf-tensor/tcgen05 says that a B200 trapped",
        )
    if has_table:
        cta.launch.note(
            "table of B",
            f"{what}: no source says when the table of B is read, or what a NaN in it becomes; here it may not change "
            "until the product is complete, and NaN stays NaN",
        )
    program = cta.launch.program
    if cta.launch.strict and fields.d != "s32" and program.arithmetic == "hardware":
        if rule_of(program.arithmetic, "tcgen05", program.target, fields.a) is None:
            cta.launch.note(
                "order of a sum",
                f"{what} on {program.target}: no source says in which order and how exactly it adds; here the sum "
                "is exact and rounded once",
            )


def _order_result(cta: Cta, thread: int, what: str, cells: tuple[Array, Array], shape: int, accumulates: bool) -> None:
    """Checks the order of a product's accesses of D in tensor memory: lanes and columns of `cells`."""
    if accumulates:
        cta.monitor.tensor_async_read(cta.rank, *cells, thread, f"{what} D", shape)
    cta.monitor.tensor_async_write(cta.rank, *cells, thread, "mma", f"{what} D", shape)


def _joined(parts: Sequence[Array]) -> Array:
    """The rows of all CTAs, contiguous."""
    return np.ascontiguousarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def _parted(rows: Array, count: int) -> Sequence[Array]:
    """The inverse: the rows of each CTA."""
    return [rows] if count == 1 else np.split(rows, count)


@lru_cache(maxsize=64)
def _cells(path: DataPath, n: int, base_lane: int, column: int) -> tuple[Array, Array]:
    """Lane and column of every element of a CTA's rows of D."""
    lanes, columns = path.cells(n, base_lane)
    return lanes, columns + column


def _collected(
    form: MmaForm,
    operands: MmaOperands,
    fields: InstructionDescriptor,
    rows: Array,
    is_b: bool,
    zero: Mask,
    shift: int,
) -> Collected:
    """Returns the operand, A or B, that a collector buffer keeps."""
    if is_b:
        key = (operands.b, form.kind, fields.b, fields.n, fields.transpose_b, form.sparse)
        return Collected(key, shift, rows, ~zero)
    key = (operands.a, operands.a_in_tensor_memory, form.kind, fields.a, fields.m, fields.transpose_a, form.sparse)
    return Collected(key, 0, rows, np.ones(len(rows), np.bool_))


def _shift_a(cta: Cta, thread: int, operands: MmaOperands, fields: InstructionDescriptor, what: str) -> None:
    """
    .ashift: behind the product, A in tensor memory moves down as tcgen05.shift moves rows.

    The ISA only says that rows of A shift; that this comes after the product and stays in tensor memory is what the
    CUTLASS example 1cta_mma_a_from_tmem.py observed on a B200.
    """
    if fields.m not in (128, 256):
        raise SimError(f"{what}.ashift: expected M = 128 or 256, found {fields.m}")
    _, column = split_address(operands.a)
    for first in range(0, LANES, SHIFTED_LANES):
        shift_rows(cta, thread, first, column, fields.kind.bytes_of(fields.depth) // 4, "mma", what)


def _a(
    cta: Cta,
    thread: int,
    operands: MmaOperands,
    fields: InstructionDescriptor,
    path: DataPath,
    what: str,
    as_a: bool,
) -> tuple[Array, Mask]:
    """Returns a CTA's rows of A, zeros of a sparse A included, and the mask of places that its metadata selects.

    `as_a`: a commit may track its reads from shared memory alone.
    """
    base_lane, _ = split_address(operands.d)
    if operands.a_in_tensor_memory:
        stored = tensor_operand(cta, thread, operands.a, fields, path, base_lane, what)
    else:
        stored = shared_operand(
            *(cta, thread, operands.a, 0, path.rows, None, fields, fields.depth, fields.a, fields.transpose_a),
            f"{what} A",
            as_a=as_a,
        )
    if operands.metadata is None:
        return stored, np.ones(0, np.bool_)
    name = f"the sparsity metadata of {what}"
    return expand_sparse(cta, thread, stored, operands.metadata, fields, path, base_lane, name)


def _b(
    ctas: tuple[Cta, ...], thread: int, operands: MmaOperands, fields: InstructionDescriptor, what: str
) -> tuple[Array, Mask, int]:
    """
    Returns B (N, K), the mask of columns that count as zero, and the row of shared memory where it begins. Each CTA of
    a pair has an equal part of the rows.
    """
    zero, shift = np.zeros(fields.n, np.bool_), 0
    if operands.zero_mask is not None:
        zero, shift = expand_zero_mask(operands.zero_mask, fields.m, fields.n, fields.max_shift)
        if (message := late_start(operands.zero_mask, fields.m)) is not None:
            ctas[0].launch.note("start count of a mask", f"{what}: {message}")
    rows = fields.n // len(ctas)
    if operands.table is not None:
        found = [indexed_operand(each, thread, operands.b, operands.table, rows, fields, f"{what} B") for each in ctas]
        return _joined(found), zero, shift
    parts = [
        shared_operand(
            each,
            thread,
            operands.b,
            shift,
            rows,
            own,
            fields,
            fields.b_depth,
            fields.b,
            fields.transpose_b,
            f"{what} B",
        )
        for each, own in zip(ctas, _parted(~zero, len(ctas)), strict=True)
    ]
    return _joined(parts), zero, shift


def _scale_factors(
    ctas: tuple[Cta, ...],
    thread: int,
    form: MmaForm,
    operands: MmaOperands,
    fields: InstructionDescriptor,
    path: DataPath,
) -> tuple[Array, Array]:
    """Returns the factors of A and of B (rows, count). Each CTA has the factors of its rows of A and all of B."""
    assert fields.scale is not None, "the descriptor is of a block-scaled kind"
    assert operands.scale_factors is not None, "the instruction is block-scaled"
    what = form.name
    if form.counted and fields.depth != fields.kind.depth:
        raise SimError(f"{what}: expected .block16 or .block32 with K = {fields.depth}, found .scale_vec")
    count = fields.depth // form.block
    halves = (1, path.groups)
    found: list[list[Array]] = []
    for address, first, half, rows, name in zip(
        operands.scale_factors, fields.scale_ids, halves, (path.rows, fields.n), "AB", strict=True
    ):
        place = ScaleFactors(
            *(address, first, count, fields.scale, half), fields.a_scale_lanes if name == "A" else _SCALE_LANES
        )
        place.check(form.block, f"{what} SF{name}")
        found.append([place.read(each, thread, rows, f"{what} SF{name}") for each in ctas])
    if not all(np.array_equal(found[1][0], other, equal_nan=True) for other in found[1]):
        raise SimError(f"{what} SFB: expected the same factors in both CTAs")
    return np.concatenate(found[0]), found[1][0]


def _written(disabled: tuple[int, ...], lanes: Array) -> Mask:
    off = np.zeros(LANES, np.bool_)
    for index, word in enumerate(disabled):
        off[32 * index : 32 * index + 32] = (word >> np.arange(32) & 1).astype(np.bool_)
    return ~off[lanes]


def _old_values(old: Array | None, fields: InstructionDescriptor, scale: int | None, a: Array, b: Array) -> Array:
    """The numbers of D before the product."""
    if old is None:
        return np.zeros((len(a), len(b)), np.float32)
    if fields.d == "s32":
        return old.view(np.int32).astype(np.float64)
    values = words_to_numbers(old, fields.d)
    return values.astype(np.float64) * 2.0**-scale if scale else values


def _product(
    fields: InstructionDescriptor,
    a: Array,
    b: Array,
    factors: tuple[Array, Array] | None,
    kept: Mask | None,
    c: Array,
    cta: Cta,
) -> Array:
    """A times the transpose of B, each times its scale factors, plus C."""
    rule = rule_of(cta.launch.program.arithmetic, "tcgen05", cta.launch.program.target, fields.a)
    types = "f32", fields.a, fields.b, "f32"
    if factors is not None:
        assert fields.scale is not None, "the descriptor is of a block-scaled kind"
        grouped = "e2m1x2" if fields.kind.element == 0 else fields.a
        return multiply_scaled(rule, (a, b), factors, c, (types[0], grouped, fields.b, types[3]), fields.scale, kept)
    if rule is None:
        return ideal(a, b, c)
    return multiply_values(rule, a, b, c, (fields.a, fields.b), fields.d, kept)


def _words(total: Array, fields: InstructionDescriptor) -> Array:
    """The new cells (uint32) of D."""
    if fields.d == "s32":
        whole = total.astype(np.int64)
        if fields.saturate:
            whole = np.clip(whole, -(2**31), 2**31 - 1)
        return (whole & 0xFFFFFFFF).astype(np.uint32)
    return numbers_to_words(total, fields.d)
