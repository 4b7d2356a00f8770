"""cp.async.bulk and cp.reduce.async.bulk (PTX ISA, sections 9.7.9.25.4 and .5)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.strand import Strand
from tirx.sim.core.types import S32, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.bulk_linear import issued, linear, read_places, wait_group
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import use
from tirx.sim.memory.tensor_copy import load_box, shared_addresses, store_box
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Vector
from tirx.sim.tensor_map import TensorMap

_DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
_COMPLETE = "mbarrier::complete_tx::bytes"


def reduction(decoder: Decoder) -> Step:
    """cp.reduce.async.bulk"""
    raise decoder.error("cp.reduce.async.bulk is not simulated")


def copy(decoder: Decoder) -> Step:
    """cp.async.bulk and what belongs to it; `cp.async.bulk` has been taken."""
    if decoder.flag("commit_group"):
        decoder.finish(0)
        return lambda strand, mask: strand.cta.bulk_copies.commit(strand.lanes[mask])
    if decoder.flag("tensor"):
        return _tensor(decoder)
    if decoder.flag("wait_group"):
        return wait_group(decoder)
    return linear(decoder)


def _tensor(decoder: Decoder) -> Step:
    rank = int(decoder.need(*_DIMENSIONS)[0])
    if decoder.modifiers[:2] == ["global", "shared::cta"]:
        return _tensor_store(decoder, rank)
    if not decoder.modifiers or decoder.modifiers[0] not in ("shared::cta", "shared::cluster"):
        raise decoder.error("this form of cp.async.bulk.tensor is not simulated: expected a copy to shared memory")
    decoder.need("shared::cta", "shared::cluster")
    decoder.need("global")
    decoder.take("tile")
    decoder.need(_COMPLETE)
    decoder.finish(3)
    target, barriers = decoder.address(0).values, decoder.window_address(2, True)
    maps, coordinates = _tensor_operand(decoder, 1, rank)

    def step(strand: Strand, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            load(strand, mask, lane)

    def load(strand: Strand, mask: Mask, lane: int) -> None:
        cta = strand.cta
        thread = int(strand.lanes[lane]) + cta.first_thread
        tensor_map = find_map(strand, int(maps(strand, mask)[lane]), rank)
        at = [int(each(strand, mask)[lane]) for each in coordinates]
        barrier = use(strand, int(barriers(strand, mask)[lane]), thread, asynchronous=True)
        places = shared_addresses(tensor_map, int(target(strand, mask)[lane]) & 0xFFFFFF)
        cta.check_shared(places, 1, "cp.async.bulk.tensor")
        cta.monitor.async_write(cta.rank, places, thread, "cp.async.bulk.tensor")
        snapshot = cta.monitor.bulk_completed(thread)

        cta.launch.observed.moved("global", "read", tensor_map.box_bytes)
        cta.launch.observed.moved("shared", "written", tensor_map.box_bytes)

        def arrive() -> None:
            cta.shared.data[places] = load_box(tensor_map, at)
            barrier.deliver(tensor_map.box_bytes, snapshot)

        cta.cluster.after(arrive)

    return step


def _tensor_store(decoder: Decoder, rank: int) -> Step:
    """[tensor map, {coordinates}], [source] [, cache policy]: done at once, as it may be."""
    decoder.modifiers = decoder.modifiers[2:]
    decoder.take("tile")
    decoder.need("bulk_group")
    hint = decoder.flag("L2::cache_hint")
    decoder.finish(2 + hint)
    maps, coordinates = _tensor_operand(decoder, 0, rank)
    sources = decoder.address(1).values

    def step(strand: Strand, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            thread = int(strand.lanes[lane]) + strand.cta.first_thread
            tensor_map = find_map(strand, int(maps(strand, mask)[lane]), rank)
            source = int(sources(strand, mask)[lane])
            places = read_places(strand, source, shared_addresses(tensor_map, source) - source, thread)
            at = [int(each(strand, mask)[lane]) for each in coordinates]
            strand.cta.launch.observed.moved("global", "written", tensor_map.box_bytes)
            store_box(tensor_map, at, strand.cta.shared.data[places])
            issued(strand, lane)

    return step


def _tensor_operand(decoder: Decoder, which: int, rank: int) -> tuple[Source, list[Source]]:
    """`[tensor map, {coordinates}]`"""
    operand = decoder.operand(which)
    if not isinstance(operand, Address) or len(operand.rest) != 1 or not isinstance(operand.rest[0], Vector):
        raise decoder.error("expected [tensor map, {coordinates}]")
    maps = decoder.address(Address(operand.base, operand.offset), bits=64).values
    return maps, [decoder.source(item, S32) for item in decoder.items(operand.rest[0], rank)]


def find_map(strand: Strand, address: int, rank: int) -> TensorMap:
    """The tensor map at a generic address."""
    found = strand.cta.launch.tensor_maps.get(address)
    if found is None:
        raise SimError(f"expected the generic address of a tensor map, found {address:#x}")
    if found.rank != rank:
        raise SimError(f"expected a tensor map of {rank} dimensions, found one of {found.rank}")
    return found
