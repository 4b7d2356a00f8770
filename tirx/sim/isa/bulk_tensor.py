"""cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and their prefetches (PTX ISA, section 9.7.9.26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.types import B64, S32, TYPES, U16, Array, Binary, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import BULK, REDUCE
from tirx.sim.isa.bulk_linear import copy_to_shared, issued, read_places
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import locate, multicast, multicast_address, ranks_of
from tirx.sim.isa.tensor_maps import map_at
from tirx.sim.memory import global_accesses
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.memory.columns import load_column, pixels, runs_of_column, store_column
from tirx.sim.memory.tensor_copy import (
    Runs,
    check_rows,
    check_start,
    load_box,
    rows_of,
    runs_of_box,
    shared_addresses,
    store_box,
)
from tirx.sim.numerics.combine import combine_function
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Operand, Vector
from tirx.sim.tensor_map import SWIZZLES, TensorMap

_WHAT = "cp.async.bulk.tensor"
_SWIZZLE_NUMBERS = {name: number for number, name in enumerate(SWIZZLES)}
_DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
_COMPLETE = "mbarrier::complete_tx::bytes"
_LOAD_MODES = ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")
_STORE_MODES = ("tile", "tile::scatter4", "im2col_no_offs")
_REDUCE_MODES = ("tile", "im2col_no_offs")
_ROWS = ("tile::gather4", "tile::scatter4")
# Element types of each operation of cp.reduce.async.bulk.tensor, by those of the tensor map.
_OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f32.ftz", "f64"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("u32", "s32", "u64", "s64"),
    "or": ("u32", "s32", "u64", "s64"),
    "xor": ("u32", "s32", "u64", "s64"),
}


@dataclass(frozen=True, slots=True)
class _Box:
    """Operands that name a box: a tensor map, coordinates, the offsets of im2col modes, and an address of the tensor in
    place of that of the map.
    """

    rank: int
    mode: str
    maps: Source
    coordinates: Sequence[Source]
    info: Sequence[Source]
    address: Source | None = None
    stores: bool = False

    def find(self, group: ThreadGroup, mask: Mask, lane: int) -> _Part:
        moved = None if self.address is None else int(self.address(group, mask)[lane])
        tensor_map = map_at(group, lane, int(self.maps(group, mask)[lane]), self.rank, moved, stores=self.stores)
        at, info = ([int(each(group, mask)[lane]) for each in values] for values in (self.coordinates, self.info))
        if self.mode in _ROWS:
            check_rows(tensor_map)
        if tensor_map.columns is None and self.mode.startswith("im2col"):
            raise SimError(f"expected a tensor map for im2col with .{self.mode}, found one for tiles")
        if tensor_map.columns is None:
            check_start(tensor_map, at)
            return _Part(tensor_map, self.mode, at, None)
        if not self.mode.startswith("im2col"):
            raise SimError(f"expected a tensor map for tiles with .{self.mode}, found one for im2col")
        return _Part(tensor_map, self.mode, at, pixels(tensor_map, tensor_map.columns, self.mode, at, info))


@dataclass(frozen=True, slots=True)
class _Part:
    """The box that one thread copies; `column` are the pixels of im2col modes."""

    tensor_map: TensorMap
    mode: str
    at: list[int]
    column: Array | None

    @property
    def size(self) -> int:
        """Bytes that are copied."""
        boxes = 4 if self.mode in _ROWS else 1 if self.column is None else len(self.column)
        return self.tensor_map.box_bytes * boxes

    def places(self, start: int) -> Array:
        """The shared memory addresses of its bytes, from `start` on."""
        rows = None
        if self.column is not None:
            rows = len(self.column)
        elif self.mode in _ROWS:
            rows = 4
        return shared_addresses(self.tensor_map, start, rows)

    def load(self) -> Array:
        """Its bytes, in the order of `places`."""
        if self.column is not None:
            return load_column(self.tensor_map, self.at[0], self.column)
        if self.mode in _ROWS:
            return np.concatenate([load_box(self.tensor_map, each) for each in rows_of(self.at)])
        return load_box(self.tensor_map, self.at)

    def runs(self, data: Array | None = None) -> list[Runs]:
        """Returns the bytes of the tensor that it has, and what `data` writes there."""
        if self.column is not None:
            return [runs_of_column(self.tensor_map, self.at[0], self.column, data)]
        boxes = rows_of(self.at) if self.mode in _ROWS else [self.at]
        found = (runs_of_box(self.tensor_map, at, data) for at in boxes)
        return [each for each in found if each is not None and each.width]

    def store(self, data: Array, combine: Binary | None) -> None:
        """Writes its bytes (`combine`: the results for the old and these)."""
        if min(self.at) < 0:
            raise SimError(f"{_WHAT}: expected coordinates that are not negative in a store, found {tuple(self.at)}")
        if self.tensor_map.swizzle == "128B_atom_32B_flip_8B" or self.tensor_map.element == "b4x16_p64":
            raise SimError(
                f"{_WHAT}: expected a copy to shared memory with swizzle 128B_atom_32B_flip_8B and with .b4x16_p64"
            )
        columns = self.tensor_map.columns
        if self.column is not None and columns is not None:
            if min(columns.lower) < 0 or max(columns.upper) > 0:
                raise SimError(f"{_WHAT}: expected a bounding box within the tensor in a store, found {columns}")
            store_column(self.tensor_map, self.at[0], self.column, data, combine)
        else:
            store_box(self.tensor_map, self.at, data, combine)

    def boxes(self, data: Array) -> list[tuple[_Part, Array]]:
        """Returns what is stored one after another, with its bytes: equal rows may have one place."""
        if self.mode not in _ROWS:
            return [(self, data)]
        rows = zip(rows_of(self.at), data.reshape(4, -1), strict=True)
        return [(replace(self, mode="tile", at=list(at)), row) for at, row in rows]


def _overrides(decoder: Decoder) -> bool:
    """Takes the modifier of a copy with an address in place of that of the tensor map."""
    if taken := decoder.flag("override::global_address"):
        decoder.need_feature("override::global_address")
    return taken


def _box(decoder: Decoder, rank: int, mode: str, which: int, info: int | None, overrides: bool) -> _Box:
    """`[tensor map, {coordinates}]`, `[tensor map, address, {coordinates}]` for one that `overrides` the address of the
    map, and with `info` the operand that has the offsets of an im2col mode.
    """
    operand = decoder.operand(which)
    count = 1 + overrides
    if not isinstance(operand, Address) or len(operand.rest) != count or not isinstance(operand.rest[-1], Vector):
        raise decoder.error(f"expected [tensor map, {'address, ' * overrides}{{coordinates}}]")
    if overrides and mode != "tile":
        raise decoder.error(f"expected .tile with .override::global_address, found .{mode}")
    if mode in _ROWS and rank != 2:
        raise decoder.error(f"expected .2d with .{mode}, found .{rank}d")
    if mode.startswith("im2col") and rank < 3:
        raise decoder.error(f"expected .3d, .4d or .5d with .{mode}, found .{rank}d")
    maps = decoder.address(Address(operand.base, operand.offset), bits=64).values
    count = 5 if mode in _ROWS else rank
    coordinates = [decoder.source(item, S32) for item in decoder.items(operand.rest[-1], count)]
    address = decoder.source(operand.rest[0], B64) if overrides else None
    offsets: tuple[Operand, ...] = ()
    if info is not None:
        offsets = decoder.vector(info, rank - 2 if mode == "im2col" else 2)
    return _Box(rank, mode, maps, coordinates, [decoder.source(item, U16) for item in offsets], address)


def _has_info(mode: str) -> bool:
    return mode in ("im2col", "im2col::w", "im2col::w::128")


def prefetch(decoder: Decoder) -> Step:
    """cp.async.bulk.prefetch.tensor: nothing is read, but the operands have to be right; `.tensor` has been taken."""
    rank = int(decoder.need(*_DIMENSIONS)[0])
    decoder.need("L2")
    decoder.need("global")
    mode = decoder.take(*_LOAD_MODES) or "tile"
    hint, has_info, overrides = decoder.flag("L2::cache_hint"), _has_info(mode), _overrides(decoder)
    decoder.finish(1 + has_info + hint)
    box = _box(decoder, rank, mode, 0, 1 if has_info else None, overrides)
    _policy(decoder, 1 + has_info, hint)

    def step(group: ThreadGroup, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            box.find(group, mask, lane)

    return step


def _policy(decoder: Decoder, which: int, hint: bool) -> None:
    """A cache policy changes nothing, but its register has to be defined."""
    if hint:
        decoder.source(which, B64)


def copy(decoder: Decoder) -> Step:
    """cp.async.bulk.tensor; `.tensor` has been taken."""
    rank = int(decoder.need(*_DIMENSIONS)[0])
    spaces = [each for each in decoder.modifiers if each in ("global", "shared::cta", "shared::cluster")]
    if spaces == ["global", "shared::cta"]:
        return _store(decoder, rank, _STORE_MODES, None)
    if len(spaces) != 2 or spaces[1] != "global":
        raise decoder.error(f"expected a copy between .global and .shared, found {' '.join(spaces) or 'none'}")
    return _load(decoder, rank, spaces[0])


def _load(decoder: Decoder, rank: int, space: str) -> Step:
    """[target], [tensor map, {coordinates}], [mbarrier] [, {offsets}] [, mask of CTAs] [, cache policy]"""
    decoder.need(space)
    decoder.need("global")
    mode = decoder.take(*_LOAD_MODES) or "tile"
    decoder.need(_COMPLETE)
    mask_type = multicast(decoder) if space == "shared::cluster" else None
    cta_group = decoder.take("cta_group::1", "cta_group::2")
    hint, has_info, is_masked = decoder.flag("L2::cache_hint"), _has_info(mode), mask_type is not None
    overrides = _overrides(decoder)
    decoder.finish(3 + has_info + is_masked + hint)
    targets, barriers = decoder.address(0).values, decoder.window_address(2, True)
    box = _box(decoder, rank, mode, 1, 3 if has_info else None, overrides)
    chosen = None if mask_type is None else decoder.source(3 + has_info, mask_type)
    _policy(decoder, 3 + has_info + is_masked, hint)
    in_pair, is_own = cta_group == "cta_group::2", space == "shared::cta"

    def step(group: ThreadGroup, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            ranks = None if chosen is None else ranks_of(group.cta, int(chosen(group, mask)[lane]))
            target, barrier = int(targets(group, mask)[lane]), int(barriers(group, mask)[lane])
            load(group, lane, box.find(group, mask, lane), target, barrier, ranks)

    def load(group: ThreadGroup, lane: int, part: _Part, target: int, barrier: int, ranks: list[int] | None) -> None:
        cta = group.cta
        thread = group.thread(lane)
        _check_barrier(cta, target, barrier, in_pair=in_pair, is_own=is_own, multicast=ranks is not None)
        into = [target >> RANK_SHIFT] if ranks is None else ranks
        owners = [locate(group, multicast_address(target, each)) for each in into]
        if ranks is None:
            told = [barrier]
        elif in_pair:
            # To the CTA of each pair that has the parity of the mbarrier's.
            told = [multicast_address(barrier, each & ~1 | barrier >> RANK_SHIFT & 1) for each in ranks]
        else:
            told = [multicast_address(barrier, each) for each in ranks]
        places = [(owner, part.places(offset)) for owner, offset in owners]
        cta.launch.observed.moved("global", "read", part.size)
        if cta.launch.order is not None:
            for runs in part.runs():
                global_accesses.bulk(group, lane, part.tensor_map.array, runs, BULK)
        swizzle = _SWIZZLE_NUMBERS[part.tensor_map.swizzle]
        copy_to_shared(group, thread, places, told, part.load, what=_WHAT, swizzle=swizzle)
        cta.launch.made_progress()

    return step


def _check_barrier(cta: Cta, target: int, barrier: int, *, in_pair: bool, is_own: bool, multicast: bool) -> None:
    """Raises SimError for an mbarrier in a CTA where the copy cannot reach it."""
    to, at = target >> RANK_SHIFT, barrier >> RANK_SHIFT
    if is_own and (to != cta.rank or at != cta.rank):
        raise SimError(
            f"{_WHAT}: expected target and mbarrier in the CTA's own shared memory with .shared::cta, found those of "
            f"CTAs {to} and {at} in CTA {cta.rank}"
        )
    if not in_pair and to != at:
        raise SimError(
            f"{_WHAT}: expected the mbarrier in the CTA of the target without .cta_group::2, found CTAs {at} and {to}"
        )
    if in_pair and not multicast and to >> 1 != at >> 1:
        raise SimError(f"{_WHAT}: expected the mbarrier in the pair of CTAs of the target, found CTAs {at} and {to}")


def reduction(decoder: Decoder) -> Step:
    """cp.reduce.async.bulk.tensor; `.tensor` has been taken."""
    rank = int(decoder.need(*_DIMENSIONS)[0])
    operation = decoder.need(*_OPERATIONS)
    return _store(decoder, rank, _REDUCE_MODES, operation)


def _combine(tensor_map: TensorMap, operation: str | None, arithmetic: str) -> Binary | None:
    if operation is None:
        return None
    if tensor_map.element not in _OPERATIONS[operation]:
        raise SimError(
            f"expected elements of type {', '.join(_OPERATIONS[operation])} with .{operation}, "
            f"found .{tensor_map.element}"
        )
    name = tensor_map.element.removesuffix(".ftz")
    # add.f32 flushes subnormal numbers, as red.global.add.f32 does.
    return combine_function(operation, TYPES[name], name == "f32", arithmetic)


def _store(decoder: Decoder, rank: int, modes: tuple[str, ...], operation: str | None) -> Step:
    """Decodes [tensor map, {coordinates}], [source] [, cache policy]. The copy is done at once."""
    decoder.need("global")
    decoder.need("shared::cta")
    mode = decoder.take(*modes) or "tile"
    decoder.need("bulk_group")
    hint, overrides = decoder.flag("L2::cache_hint"), _overrides(decoder)
    decoder.finish(2 + hint)
    box = replace(_box(decoder, rank, mode, 0, None, overrides), stores=True)
    sources = decoder.address(1).values
    _policy(decoder, 2, hint)

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        for lane in np.flatnonzero(mask).tolist():
            thread = group.thread(lane)
            part = box.find(group, mask, lane)
            source = int(sources(group, mask)[lane])
            places = read_places(group, source, part.places(source) - source, thread)
            if operation is not None:
                cta.launch.observed.moved("global", "read", part.size)
            cta.launch.observed.moved("global", "written", part.size)
            data, combine = cta.shared.data[places], _combine(part.tensor_map, operation, cta.launch.program.arithmetic)
            for stored, written in part.boxes(data):
                if cta.launch.order is not None:
                    for runs in stored.runs(None if operation else written):
                        how, size = (REDUCE, part.tensor_map.array.itemsize) if operation else (BULK, 0)
                        global_accesses.bulk(group, lane, part.tensor_map.array, runs, how, size)
                stored.store(written, combine)
            issued(group, lane)
        cta.launch.made_progress()

    return step
