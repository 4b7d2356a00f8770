"""tcgen05 instructions (PTX ISA, section 9.7.16): decoding; what they do is in `tirx.sim.tensor`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.strand import WARP, Outcome, Strand, Wait
from tirx.sim.core.types import B32, B64, PRED, U16, U32, Array, Mask
from tirx.sim.isa.decoder import Decoder, single, uniform
from tirx.sim.isa.mbarriers import use
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import spaces
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Name, Vector
from tirx.sim.tensor.copies import COPY_MULTICASTS, COPY_SHAPES, is_copy, tensor_copy
from tirx.sim.tensor.data_path import MAX_REGISTERS, REGISTERS, check_warp_lanes, register_cells
from tirx.sim.tensor.instruction_descriptor import KINDS
from tirx.sim.tensor.mma import MmaOperands, tensor_mma
from tirx.sim.tensor.scale_factors import BLOCKS

_SCALED_KINDS = ("f16", "tf32")  # kinds with scale-input-d
_MAX_SCALE = 15
_OPERATIONS = ("fill", "use", "lastuse", "discard")
# Which buffers a collector may be of: without and with .ws.
_COLLECTORS = {
    weight_stationary: tuple(f"collector::{buffer}::{operation}" for buffer in buffers for operation in _OPERATIONS)
    for weight_stationary, buffers in ((False, ("a",)), (True, ("b0", "b1", "b2", "b3")))
}


@instruction("tcgen05")
def _tcgen05(decoder: Decoder) -> Step:
    operation = decoder.modifiers.pop(0) if decoder.modifiers else ""
    found = _DECODERS.get(operation)
    if found is None:
        raise decoder.error(f"unknown instruction 'tcgen05.{operation}'")
    return found(decoder, operation)


def _warp_wide(decoder: Decoder) -> None:
    decoder.need("sync")
    decoder.need("aligned")


def _group(decoder: Decoder) -> int:
    """cta_group: 1, or 2 for a pair of CTAs."""
    return int(decoder.need("cta_group::1", "cta_group::2")[-1])


def _value(source: Source, strand: Strand, mask: Mask, lane: int) -> int:
    return int(source(strand, mask)[lane])


# Allocation


def _alloc(decoder: Decoder, operation: str) -> Step:
    group = _group(decoder)
    _warp_wide(decoder)
    explicit = decoder.flag("shared::cta")
    decoder.type(B32)
    decoder.finish(2)
    addresses, counts = decoder.window_address(0, explicit), decoder.source(1, U32)

    def step(strand: Strand, mask: Mask) -> Outcome | None:
        if strand.warps > 1:
            return Outcome.SPLIT
        cta = strand.cta
        cta.require_converged(strand, mask, "tcgen05.alloc")
        address = uniform(addresses(strand, mask), mask, "the address")
        count = uniform(counts(strand, mask), mask, "the number of columns")
        column = cta.tensor.allocate(count, group)
        if column is None:
            before = dict(cta.tensor.allocations)
            strand.wait = Wait(
                lambda: cta.tensor.allocations != before,
                lambda: f"tcgen05.alloc of {count} columns, but {cta.tensor.describe()}",
            )
            return Outcome.RETRY
        first = np.array([int(np.flatnonzero(mask)[0])])
        values = np.array([[column]], np.uint32)
        spaces.store(strand, first, "shared", np.array([address], np.uint64), values)
        return None

    return step


def _dealloc(decoder: Decoder, operation: str) -> Step:
    group = _group(decoder)
    _warp_wide(decoder)
    decoder.type(B32)
    decoder.finish(2)
    addresses, counts = decoder.source(0, U32), decoder.source(1, U32)

    def step(strand: Strand, mask: Mask) -> Outcome | None:
        if strand.warps > 1:
            return Outcome.SPLIT
        cta = strand.cta
        cta.require_converged(strand, mask, "tcgen05.dealloc")
        address = uniform(addresses(strand, mask), mask, "the address")
        count = uniform(counts(strand, mask), mask, "the number of columns")
        cta.tensor.free(address, count, strand.first + cta.first_thread, group)
        cta.launch.made_progress()
        return None

    return step


def _relinquish(decoder: Decoder, operation: str) -> Step:
    _group(decoder)
    _warp_wide(decoder)
    decoder.finish(0)

    def step(strand: Strand, mask: Mask) -> None:
        strand.cta.require_converged(strand, mask, "tcgen05.relinquish_alloc_permit")
        strand.cta.tensor.relinquish()

    return step


# Loads and stores


def _shape(decoder: Decoder, packing: str) -> tuple[str, int, bool]:
    """Shape, repetitions, and whether two columns go into one register."""
    shape = decoder.need(*REGISTERS)
    repetitions = int(decoder.need(*(f"x{1 << power}" for power in range(8)))[1:])
    packed = decoder.flag(packing)
    decoder.type(B32)
    if repetitions * REGISTERS[shape] > MAX_REGISTERS:
        raise decoder.error(f"expected at most {MAX_REGISTERS} registers, found {repetitions * REGISTERS[shape]}")
    return shape, repetitions, packed


def _cells(
    shape: str, repetitions: int, split: int, packed: bool
) -> Callable[[Strand, int, str], list[tuple[Array, Array]]]:
    """For an address the cells of (registers, 32), for packed registers those of the low and of the high halves."""
    lanes, columns = register_cells(shape, repetitions, split)

    def cells(strand: Strand, address: int, what: str) -> list[tuple[Array, Array]]:
        lane, column = address >> 16, address & 0xFFFF
        check_warp_lanes(shape, lane, strand.warp)
        halves = (2 * columns, 2 * columns + 1) if packed else (columns,)
        found = [(lanes + lane, half + column) for half in halves]
        for own_lanes, own_columns in found:
            strand.cta.tensor.check_cells(own_lanes, own_columns, what)
        return found

    return cells


def _ld(decoder: Decoder, operation: str) -> Step:
    _warp_wide(decoder)
    shape, repetitions, packed = _shape(decoder, "pack::16b")
    has_split = shape == "16x32bx2"
    decoder.finish(3 if has_split else 2)
    split = decoder.constant(2) if has_split else 0
    items = decoder.vector(0, repetitions * REGISTERS[shape])
    names = {item.name for item in items if isinstance(item, Name)}
    if len(names) != len(items):
        raise decoder.error("expected every destination register once")
    puts = [decoder.destination(item, B32, pending=True) for item in items]
    addresses = decoder.address(1, bits=32)
    cells = _cells(shape, repetitions, split, packed)
    what = "tcgen05.ld"

    def step(strand: Strand, mask: Mask) -> Outcome | None:
        if strand.warps > 1:
            return Outcome.SPLIT
        cta = strand.cta
        cta.require_converged(strand, mask, what)
        address = uniform(addresses.values(strand, mask), mask, "the tensor memory address")
        values: list[Array] = []
        for lanes, columns in cells(strand, address, what):
            threads = np.broadcast_to(strand.lanes + cta.first_thread, lanes.shape)
            cta.monitor.tensor_load(cta.rank, lanes, columns, threads, what)
            values.append(cta.tensor.read(lanes, columns))
        loaded = values[0]
        if packed:
            loaded = (loaded & np.uint32(0xFFFF)) | values[1] << np.uint32(16)
        for index, put in enumerate(puts):
            put(strand, mask, loaded[index])
        return None

    return step


def _st(decoder: Decoder, operation: str) -> Step:
    _warp_wide(decoder)
    shape, repetitions, packed = _shape(decoder, "unpack::16b")
    has_split = shape == "16x32bx2"
    decoder.finish(3 if has_split else 2)
    split = decoder.constant(1) if has_split else 0
    items = decoder.vector(2 if has_split else 1, repetitions * REGISTERS[shape])
    sources = [decoder.source(item, B32) for item in items]
    addresses = decoder.address(0, bits=32)
    cells = _cells(shape, repetitions, split, packed)
    what = "tcgen05.st"

    def step(strand: Strand, mask: Mask) -> Outcome | None:
        if strand.warps > 1:
            return Outcome.SPLIT
        cta = strand.cta
        cta.require_converged(strand, mask, what)
        address = uniform(addresses.values(strand, mask), mask, "the tensor memory address")
        values = np.stack([source(strand, mask) for source in sources])
        halves = (values & np.uint32(0xFFFF), values >> np.uint32(16)) if packed else (values,)
        for (lanes, columns), half in zip(cells(strand, address, what), halves, strict=True):
            threads = np.broadcast_to(strand.lanes + cta.first_thread, lanes.shape)
            cta.monitor.tensor_store(cta.rank, lanes, columns, threads, what)
            cta.tensor.write(lanes, columns, half)
        cta.launch.made_progress()
        return None

    return step


def _wait(decoder: Decoder, operation: str) -> Step:
    _warp_wide(decoder)
    decoder.finish(0)
    is_load = operation == "wait::ld"

    def step(strand: Strand, mask: Mask) -> None:
        cta = strand.cta
        cta.require_converged(strand, mask, f"tcgen05.{operation}")
        for first in range(0, len(mask), WARP):
            own = strand.lanes[first : first + WARP][mask[first : first + WARP]] + cta.first_thread
            cta.monitor.tensor_waited(own, "ld" if is_load else "st")
        if is_load:
            cta.loads_have_finished(strand)

    return step


def _fence(decoder: Decoder, operation: str) -> Step:
    decoder.finish(0)
    before = operation == "fence::before_thread_sync"

    def step(strand: Strand, mask: Mask) -> None:
        threads, monitor = strand.cta.threads(strand, mask), strand.cta.monitor
        (monitor.tensor_fence_before if before else monitor.tensor_fence_after)(threads)

    return step


# Asynchronous operations, issued by one thread


def _commit(decoder: Decoder, operation: str) -> Step:
    _group(decoder)
    decoder.need("mbarrier::arrive::one")
    explicit = decoder.flag("shared::cluster")
    multicast = decoder.flag("multicast::cluster")
    decoder.type(B64)
    decoder.finish(2 if multicast else 1)
    addresses = decoder.window_address(0, explicit)
    ctas = decoder.source(1, U16, wide=True) if multicast else None

    def step(strand: Strand, mask: Mask) -> None:
        lane = single(mask, "tcgen05.commit")
        cta = strand.cta
        thread = int(strand.lanes[lane]) + cta.first_thread
        address = _value(addresses, strand, mask, lane)
        targets = [address]
        if ctas is not None:
            chosen, offset = _value(ctas, strand, mask, lane), address & ((1 << RANK_SHIFT) - 1)
            targets = [rank << RANK_SHIFT | offset for rank in range(16) if chosen >> rank & 1]
        snapshot = cta.monitor.committed(thread)
        for target in targets:
            barrier = use(strand, target, thread, asynchronous=True)
            cta.cluster.after(lambda barrier=barrier: barrier.arrive(1, snapshot))

    return step


def _cp(decoder: Decoder, operation: str) -> Step:
    group = _group(decoder)
    shape = decoder.need(*COPY_SHAPES)
    multicast = decoder.take(*COPY_MULTICASTS)
    if any(modifier.startswith(("b8x16", "b6x16", "b4x16")) for modifier in decoder.modifiers):
        raise decoder.error("decompression of tcgen05.cp is not simulated")
    decoder.finish(2)
    if not is_copy(shape, multicast):
        raise decoder.error(f"there is no tcgen05.cp of .{shape} with {multicast or 'no multicast'}")
    addresses, descriptors = decoder.address(0, bits=32), decoder.source(1, B64)

    def step(strand: Strand, mask: Mask) -> None:
        lane = single(mask, "tcgen05.cp")
        thread = int(strand.lanes[lane]) + strand.cta.first_thread
        address = _value(addresses.values, strand, mask, lane)
        descriptor = _value(descriptors, strand, mask, lane)
        for cta in strand.cta.pair if group == 2 else (strand.cta,):
            tensor_copy(cta, thread, address, descriptor, shape, multicast)

    return step


def _mma(decoder: Decoder, operation: str) -> Step:
    weight_stationary = decoder.modifiers[:1] == ["ws"] and decoder.flag("ws")
    sparse = decoder.modifiers[:1] == ["sp"] and decoder.flag("sp")
    what = f"tcgen05.mma{'.ws' if weight_stationary else ''}{'.sp' if sparse else ''}"
    group = _group(decoder)
    kind = decoder.need(*(f"kind::{name}" for name in KINDS))[len("kind::") :]
    if kind in BLOCKS and weight_stationary:
        raise decoder.error(f"there is no tcgen05.mma.ws of kind::{kind}")
    if group == 2 and weight_stationary:
        raise decoder.error("there is no tcgen05.mma.ws of cta_group::2")
    block = _block(decoder, kind) if kind in BLOCKS else 0
    decoder.take(*_COLLECTORS[weight_stationary])
    counts = (7,) if block else (5, 6, 7)
    decoder.finish(*(count + sparse for count in counts))
    operands = list(decoder.operands)
    metadata = decoder.address(operands.pop(3), bits=32).values if sparse else None
    d = decoder.address(operands[0], bits=32).values
    in_tensor = isinstance(operands[1], Address)
    a = decoder.address(operands[1], bits=32).values if in_tensor else decoder.source(operands[1], B64)
    b, idesc = decoder.source(operands[2], B64), decoder.source(operands[3], U32)
    rest = operands[4:]
    factors = [decoder.address(operand, bits=32).values for operand in rest[:2]] if block else []
    if block:
        del rest[:2]
    disabled: list[Source] = []
    first = rest[0]
    if isinstance(first, Vector):
        if (
            weight_stationary
            or len(first.items) != 4 * group
            or not all(isinstance(item, Name) for item in first.items)
        ):
            raise decoder.error("expected registers of lanes to disable, four for each CTA, and not with .ws")
        disabled = [decoder.source(item, U32) for item in first.items]
        del rest[0]
    if not 1 <= len(rest) <= 2:
        raise decoder.error("expected enable-input-d as the last operand but one, or the last")
    enable = decoder.source(rest[0], PRED)
    mask_source = decoder.source(rest[1], B64) if len(rest) == 2 and weight_stationary else None
    scale = decoder.constant(rest[1]) if len(rest) == 2 and not weight_stationary else None
    if scale is not None and (kind not in _SCALED_KINDS or not 0 <= scale <= _MAX_SCALE):
        raise decoder.error(f"expected scale-input-d from 0 to {_MAX_SCALE} with kind f16 or tf32, found {scale}")

    def step(strand: Strand, mask: Mask) -> None:
        lane = single(mask, what)
        operands = MmaOperands(
            d=_value(d, strand, mask, lane),
            a=_value(a, strand, mask, lane),
            b=_value(b, strand, mask, lane),
            descriptor=_value(idesc, strand, mask, lane),
            accumulate=bool(enable(strand, mask)[lane]),
            a_in_tensor_memory=in_tensor,
            zero_mask=None if mask_source is None else _value(mask_source, strand, mask, lane),
            disabled_lanes=tuple(_value(source, strand, mask, lane) for source in disabled) or None,
            scale=scale,
            block=block,
            scale_factors=(_value(factors[0], strand, mask, lane), _value(factors[1], strand, mask, lane))
            if factors
            else None,
            pair=group == 2,
            metadata=None if metadata is None else _value(metadata, strand, mask, lane),
        )
        thread = int(strand.lanes[lane]) + strand.cta.first_thread
        tensor_mma(strand.cta, thread, kind, weight_stationary, operands)

    return step


def _block(decoder: Decoder, kind: str) -> int:
    """How many elements share a scale factor."""
    decoder.need("block_scale")
    blocks = BLOCKS[kind]
    size = decoder.take(*(name for name in blocks if name is not None))
    if size not in blocks:
        raise decoder.error(f"kind::{kind} must say how many elements share a scale factor: .block16 or .block32")
    return blocks[size]


_DECODERS: dict[str, Callable[[Decoder, str], Step]] = {
    "alloc": _alloc,
    "dealloc": _dealloc,
    "relinquish_alloc_permit": _relinquish,
    "ld": _ld,
    "st": _st,
    "wait::ld": _wait,
    "wait::st": _wait,
    "fence::before_thread_sync": _fence,
    "fence::after_thread_sync": _fence,
    "commit": _commit,
    "cp": _cp,
    "mma": _mma,
}
