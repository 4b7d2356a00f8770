"""
clusterlaunchcontrol: a cluster takes over the work of one that has not started (PTX ISA, section 9.7.13.17).

A request always succeeds while clusters of the grid have not started (with a seed, every other time): what a GPU does
depends on how full it is. A response is four words here: the index of the first CTA, and whether there is one.
"""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B128, PRED, U32, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.bulk_linear import copy_to_shared
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.mbarriers import locate, multicast_address
from tirx.sim.isa.registry import instruction
from tirx.sim.memory.addresses import RANK_SHIFT
from tirx.sim.program.code import Step

_COMPLETE = "mbarrier::complete_tx::bytes"
_WHAT = "clusterlaunchcontrol.try_cancel"
_BYTES = 16
_FOUND = 3
_IS_FOUND = 1
_NO_INDEX = 0xFFFFFFFF  # in every direction, after a request that failed
_AXES = ("get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z")


@instruction("clusterlaunchcontrol")
def _launch_control(decoder: Decoder) -> Step:
    if decoder.need("try_cancel", "query_cancel") == "try_cancel":
        return _request(decoder)
    return _query(decoder)


def _request(decoder: Decoder) -> Step:
    """[target of 16 bytes], [mbarrier]"""
    decoder.need("async")
    explicit = decoder.flag("shared::cta")
    decoder.need(_COMPLETE)
    everywhere = decoder.flag("multicast::cluster::all")
    decoder.type(B128)
    decoder.finish(2)
    targets, barriers = decoder.window_address(0, explicit), decoder.window_address(1, explicit)

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        if cta.was_refused:
            raise SimError("a request behind an answer that there is no cluster left: what it does is undefined")
        for lane in np.flatnonzero(mask).tolist():
            target, barrier = int(targets(group, mask)[lane]), int(barriers(group, mask)[lane])
            if target % _BYTES:
                raise SimError(f"expected an address that is a multiple of {_BYTES}, found {target:#x}")
            first = cta.launch.cancel()
            cta.cluster.taken_over += first is not None
            response = np.zeros(_BYTES, np.uint8)
            if first is not None:
                response.view(np.uint32)[:] = (*first, _IS_FOUND)
            ranks = range(len(cta.cluster.ctas)) if everywhere else [target >> RANK_SHIFT]
            owners = [locate(group, multicast_address(target, rank)) for rank in ranks]
            places = [(owner, offset + np.arange(_BYTES)) for owner, offset in owners]
            told = [multicast_address(barrier, rank) for rank in ranks]
            thread = group.thread(lane)
            copy_to_shared(group, thread, places, told, lambda response=response: response, what=_WHAT)
        cta.launch.made_progress()

    return step


def _words(values: Array) -> Array:
    """(lanes, 4)"""
    return np.ascontiguousarray(values).view(np.uint32).reshape(-1, 4)


def _query(decoder: Decoder) -> Step:
    operation = decoder.need("is_canceled", "get_first_ctaid", *_AXES)
    if operation == "is_canceled":
        decoder.need("pred")
    else:
        vector = operation == "get_first_ctaid" and decoder.flag("v4")
        decoder.need("b32")
        if operation == "get_first_ctaid" and not vector:
            raise decoder.error("expected .v4 or one of .::x, .::y and .::z with .get_first_ctaid")
    decoder.type(B128)
    decoder.finish(2)
    response = decoder.source(1, B128)
    if operation == "is_canceled":
        put = decoder.destination(0, PRED)

        def is_canceled(group: ThreadGroup, mask: Mask) -> None:
            found = _words(response(group, mask))[:, _FOUND] != 0
            group.cta.was_refused |= not bool(found[mask].all())
            put(group, mask, found)

        return is_canceled
    axes = list(range(3)) if operation == "get_first_ctaid" else [_AXES.index(operation)]
    items = decoder.vector(0, 4)[:3] if operation == "get_first_ctaid" else (decoder.operand(0),)
    puts = [decoder.destination(item, U32) for item in items]

    def step(group: ThreadGroup, mask: Mask) -> None:
        words = _words(response(group, mask)).copy()
        words[words[:, _FOUND] == 0] = _NO_INDEX  # undefined
        for put, axis in zip(puts, axes, strict=True):
            put(group, mask, words[:, axis])

    return step
