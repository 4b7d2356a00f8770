"""tcgen05.ld, st, wait, cp and shift (PTX ISA, sections 9.7.16.8 and .9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, TYPES, WARP, Array, Mask, PtxType
from tirx.sim.core.wait import Outcome
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder, single, uniform
from tirx.sim.isa.tcgen05_common import cta_group, value_of, warp_wide
from tirx.sim.isa.words import word_destinations, word_sources
from tirx.sim.numerics.rounding import extremum_of, ordered
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Name, Operand
from tirx.sim.tensor.copies import COPY_FORMATS, COPY_MULTICASTS, COPY_SHAPES, is_copy, tensor_copy, tensor_shift
from tirx.sim.tensor.data_path import MAX_REGISTERS, REGISTERS, check_warp_lanes, register_cells

_QUARTERS = 4  # of tensor memory, each of which one of four warps may access
_WITH_SPLIT = "16x32bx2"
_REDUCED_SHAPES = ("32x32b", _WITH_SPLIT)
_REDUCED_TYPES = ("f32", "u32", "s32")
_OF = 4  # elements of a group, of which .sp::2:4 keeps two
_INDICES_OF_A_WORD = 16


def _shape(decoder: Decoder, shapes: tuple[str, ...]) -> tuple[str, int]:
    """Shape and repetitions."""
    shape = decoder.need(*shapes)
    repetitions = int(decoder.need(*(f"x{1 << power}" for power in range(8)))[1:])
    if repetitions * REGISTERS[shape] > MAX_REGISTERS:
        raise decoder.error(f"expected at most {MAX_REGISTERS} registers, found {repetitions * REGISTERS[shape]}")
    return shape, repetitions


def _cells(
    shape: str, repetitions: int, split: int, packed: bool
) -> Callable[[ThreadGroup, Mask, Array, str], list[tuple[Array, Array]]]:
    """
    Returns a function from the addresses of all lanes to cells (registers, lanes), for packed registers those of low
    and of high halves.
    """
    lanes, columns = register_cells(shape, repetitions, split)
    halves = (2 * columns, 2 * columns + 1) if packed else (columns,)

    def start(group: ThreadGroup, warp: int, address: int) -> tuple[int, int]:
        """Lane and column where the cells of a warp begin."""
        lane = address >> 16
        if group.cta.launch.strict:
            check_warp_lanes(shape, lane, warp)
        # Bits 21 and 22 are those of the warp, whatever the address says (CUTLASS, DeepGEMM; TVM has lane 0 there).
        lane = 32 * (warp % 4) + lane % 32
        check_warp_lanes(shape, lane, warp)
        return lane, address & 0xFFFF

    def cells(group: ThreadGroup, mask: Mask, addresses: Array, what: str) -> list[tuple[Array, Array]]:
        of_warps = zip(addresses.reshape(-1, WARP), mask.reshape(-1, WARP), strict=True)
        starts = [
            start(group, group.warp + index, uniform(own, threads, "the tensor memory address"))
            for index, (own, threads) in enumerate(of_warps)
        ]
        first_lanes, first_columns = (np.repeat(np.array(each), WARP) for each in zip(*starts, strict=True))
        found = [
            (np.tile(lanes, len(starts)) + first_lanes, np.tile(half, len(starts)) + first_columns) for half in halves
        ]
        for own_lanes, own_columns in found:
            group.cta.tensor.check_cells(own_lanes, own_columns, what)
        return found

    return cells


def decode_load(decoder: Decoder, operation: str) -> Step:
    reduced = decoder.modifiers[:1] == ["red"] and decoder.flag("red")
    compressed = decoder.modifiers[:1] == ["spcompress"] and decoder.flag("spcompress")
    what = f"tcgen05.ld{'.red' * reduced}{'.spcompress' * compressed}"
    warp_wide(decoder)
    shapes = (_REDUCED_SHAPES[: 1 + (not compressed)]) if reduced or compressed else tuple(REGISTERS)
    shape, repetitions = _shape(decoder, shapes)
    transform: Callable[[Array], Array] | None = None
    packed = False
    if compressed:
        transform = _compression(decoder, repetitions, reduced)
    elif reduced:
        decoder.need_feature("tcgen05.ld.red")
        transform = _with_reduction(_reduction(decoder, repetitions))
    else:
        packed = decoder.flag("pack::16b")
        decoder.type(B32)
    has_split = shape == _WITH_SPLIT
    first = 1 + reduced + compressed
    decoder.finish(first + 1 + has_split)
    split = decoder.constant(first + 1) if has_split else 0
    if compressed:
        words = -(-repetitions // (2 * _INDICES_OF_A_WORD))
        items = (*decoder.vector(0, words), *decoder.vector(1, repetitions // 2))
    else:
        items = decoder.vector(0, repetitions * REGISTERS[shape])
    written = [*items, decoder.operand(first - 1)] if reduced else items
    if len({item.name for item in written if isinstance(item, Name)}) != len(written):
        raise decoder.error("expected every destination register once")
    write = word_destinations(decoder, written, pending=True)
    mark = _undefined_marker(decoder, written, what)
    addresses = decoder.address(first, bits=32)
    cells = _cells(shape, repetitions, split, packed)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        cta = group.cta
        if group.warps > 1 and any(each is not group and each.wait is None for each in cta.groups):
            return Outcome.SPLIT  # lets the other warps catch up
        cta.require_converged(group, mask, what)
        address = addresses.values(group, mask)
        values: list[Array] = []
        carries = cta.launch.carries
        found = cells(group, mask, address, what)
        cta.monitor.tolerant = carries
        for lanes, columns in found:
            threads = np.broadcast_to(group.threads, lanes.shape)
            cta.monitor.tensor_load(cta.rank, lanes, columns, threads, what)
            values.append(cta.tensor.read(lanes, columns))
        cta.monitor.tolerant = False
        loaded = values[0]
        if packed:
            loaded = (loaded & np.uint32(0xFFFF)) | values[1] << np.uint32(16)
        write(group, mask, loaded if transform is None else transform(loaded))
        if carries:
            unwritten = [cta.monitor.tensor_undefined(cta.rank, lanes, columns) for lanes, columns in found]
            undefined = np.any(unwritten, axis=0)
            mark(group, mask, undefined.any(axis=0, keepdims=True).repeat(len(written), 0) if compressed else undefined)
        return None

    return step


def _undefined_marker(
    decoder: Decoder, written: Sequence[Operand], what: str
) -> Callable[[ThreadGroup, Mask, Mask], None]:
    """
    Returns a function that marks the registers of a load whose cells (registers, lanes) were never written. The result
    of a reduction, behind the others, is undefined in a lane if any of them is.
    """
    registers = [decoder.register_of(item) for item in written]
    line, text = decoder.instruction.line, decoder.instruction.text

    def mark(group: ThreadGroup, mask: Mask, undefined: Mask) -> None:
        if not undefined.any():
            return
        origin = SimError(f"{what} reads cells that were never written", line, text)
        of_registers = [*undefined, undefined.any(axis=0)][: len(registers)]
        for register, lanes in zip(registers, of_registers, strict=True):
            own = lanes & mask
            if register is not None and own.any():
                group.cta.load_is_undefined(group, register.state, own, origin)

    return mark


def _reduction(decoder: Decoder, repetitions: int) -> Callable[[Array], Array]:
    """The smallest or largest of the registers (registers, 32) of each thread, all as uint32."""
    if repetitions < 2:
        raise decoder.error("expected at least .x2 with .red, found .x1")
    smaller = decoder.need("min", "max") == "min"
    absolute, propagate = decoder.flag("abs"), decoder.flag("NaN")
    element: PtxType = TYPES[decoder.need(*_REDUCED_TYPES)]
    if (absolute or propagate) and not element.is_float:
        raise decoder.error(f"expected .abs and .NaN with .f32 only, found {element}")
    if not element.is_float:
        choose = np.min if smaller else np.max
        return lambda values: choose(values.view(element.dtype), axis=0).view(np.uint32)

    def reduce(values: Array) -> Array:
        numbers = values.view(np.float32)
        if absolute:
            numbers = np.abs(numbers)
        result = numbers[0]
        for each in numbers[1:]:
            result = extremum_of(result, each, smaller=smaller, propagate=propagate)
        canonical = np.where(np.isnan(result), np.uint32(0x7FFFFFFF), result.view(np.uint32))
        return canonical.astype(np.uint32)

    return reduce


def _with_reduction(reduce: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Returns a function that puts the reduction behind the registers."""
    return lambda loaded: np.concatenate((loaded, reduce(loaded)[None]))


def _compression(decoder: Decoder, repetitions: int, reduced: bool) -> Callable[[Array], Array]:
    """Returns a function from the registers (registers, lanes) of each thread to words of metadata, the two of four
    that are kept, and the reduction of all where it is asked for.

    The two smallest or largest are kept in the order of their indices, by their magnitudes with `.abs`; a NaN is kept,
    and of equal ones those of lower index. Metadata: 2-bit indices, 16 in a word, lowest bits first.
    """
    decoder.need_feature("tcgen05.ld.spcompress")
    if repetitions < _OF:
        raise decoder.error(f"expected at least .x{_OF} with .spcompress, found .x{repetitions}")
    decoder.need("sp::2:4")
    decoder.need("b2")
    smaller, absolute = "min" in decoder.modifiers, "abs" in decoder.modifiers
    if absolute and reduced:
        raise decoder.error(".red.spcompress with .abs is not simulated: no source says if magnitudes are reduced")
    if not reduced and "NaN" in decoder.modifiers:
        raise decoder.error("expected .NaN with .red only")
    reduce = _reduction(decoder, repetitions)

    def compress(loaded: Array) -> Array:
        groups = loaded.reshape(-1, _OF, loaded.shape[1])
        numbers = groups.view(np.float32)
        keys = ordered(np.abs(numbers) if absolute else numbers, smaller=smaller, propagate=True).astype(np.int64)
        best = np.argsort(keys if smaller else -keys, axis=1, kind="stable")
        chosen = np.sort(best[:, :2], axis=1)
        kept = np.take_along_axis(groups, chosen, axis=1).reshape(-1, loaded.shape[1])
        indices = chosen.reshape(-1, loaded.shape[1]).astype(np.uint32)
        words = np.zeros((-(-len(indices) // _INDICES_OF_A_WORD), loaded.shape[1]), np.uint32)
        for place, own in enumerate(indices):
            words[place // _INDICES_OF_A_WORD] |= own << np.uint32(2 * (place % _INDICES_OF_A_WORD))
        return np.concatenate((words, kept, reduce(loaded)[None]) if reduced else (words, kept))

    return compress


def decode_store(decoder: Decoder, operation: str) -> Step:
    warp_wide(decoder)
    shape, repetitions = _shape(decoder, tuple(REGISTERS))
    packed = decoder.flag("unpack::16b")
    decoder.type(B32)
    has_split = shape == _WITH_SPLIT
    decoder.finish(3 if has_split else 2)
    split = decoder.constant(1) if has_split else 0
    items = decoder.vector(2 if has_split else 1, repetitions * REGISTERS[shape])
    read = word_sources(decoder, items)
    read_any = word_sources(Decoder(decoder.symbols, decoder.instruction, lenient=True), items)
    undefined = [decoder.undefined(item) for item in items]
    addresses = decoder.address(0, bits=32)
    cells = _cells(shape, repetitions, split, packed)
    what = "tcgen05.st"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        if group.warps > _QUARTERS:
            return Outcome.SPLIT  # warps that write the same lanes are told apart
        cta = group.cta
        cta.require_converged(group, mask, what)
        address = addresses.values(group, mask)
        carries = cta.launch.carries
        values = (read_any if carries else read)(group, mask)
        unwritten = np.stack([each(group) for each in undefined]) & mask if carries else None
        halves = (values & np.uint32(0xFFFF), values >> np.uint32(16)) if packed else (values,)
        for (lanes, columns), half in zip(cells(group, mask, address, what), halves, strict=True):
            threads = np.broadcast_to(group.threads, lanes.shape)
            cta.monitor.tensor_store(cta.rank, lanes, columns, threads, what)
            cta.tensor.write(lanes, columns, half)
            if unwritten is not None and unwritten.any():
                cta.monitor.tensor_forget(cta.rank, lanes[unwritten], columns[unwritten])
        cta.launch.made_progress()
        return None

    return step


def decode_wait(decoder: Decoder, operation: str) -> Step:
    warp_wide(decoder)
    decoder.finish(0)
    is_load = operation == "wait::ld"

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        cta.require_converged(group, mask, f"tcgen05.{operation}")
        for first in range(0, len(mask), WARP):
            own = group.threads[first : first + WARP][mask[first : first + WARP]]
            cta.monitor.tensor_waited(own, "ld" if is_load else "st")
        if is_load:
            cta.loads_have_finished(group)

    return step


def decode_copy(decoder: Decoder, operation: str) -> Step:
    group_size = cta_group(decoder)
    shape = decoder.need(*COPY_SHAPES)
    multicast = decoder.take(*COPY_MULTICASTS)
    packing = None
    if decoder.flag("b8x16"):
        packing = decoder.need(*COPY_FORMATS)
    decoder.finish(2)
    if not is_copy(shape, multicast):
        raise decoder.error(f"there is no tcgen05.cp of .{shape} with {multicast or 'no multicast'}")
    addresses, descriptors = decoder.address(0, bits=32), decoder.source(1, B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        lane = single(mask, "tcgen05.cp")
        thread = group.thread(lane)
        address = value_of(addresses.values, group, mask, lane)
        descriptor = value_of(descriptors, group, mask, lane)
        for cta in group.cta.pair if group_size == 2 else (group.cta,):
            tensor_copy(cta, thread, address, descriptor, shape, multicast, packing)

    return step


def decode_shift(decoder: Decoder, operation: str) -> Step:
    decoder.need_feature("tcgen05.shift")
    group_size = cta_group(decoder)
    decoder.need("down")
    addresses = decoder.address(decoder.only(), bits=32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        lane = single(mask, "tcgen05.shift")
        address = value_of(addresses.values, group, mask, lane)
        for cta in group.cta.pair if group_size == 2 else (group.cta,):
            tensor_shift(cta, group.thread(lane), address)

    return step
