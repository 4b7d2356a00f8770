"""Reads of threads beside products of wgmma, for whose end they wait in the same round of a loop."""

from __future__ import annotations

from xdsl.ir import Operation

from tirx.dialects.tirx import AcquireOp, AsyncMmaOp, AwaitOp, Queue, ReleaseOp
from tirx.dialects.traits import is_pure
from tirx.passes.rings.proof.slots import place_of, slot_tile


def read_beside(acquire: AcquireOp) -> tuple[Operation, ReleaseOp] | None:
    """The last read of a slot by threads, beside products that read it, too, and in front of a wait for these; and the
    release of the slot. A fence behind this read takes its time while the products run. None if there is no such read.
    """
    place, last, products, waits = place_of(acquire), None, False, False
    following = acquire.next_op
    while following is not None and not (isinstance(following, ReleaseOp) and place_of(following) == place):
        if isinstance(following, AwaitOp):
            waits = waits or following.awaited_queue is Queue.WGMMA
        elif not is_pure(following):
            slots = (slot_tile(value) for inner in following.walk() for value in inner.operands)
            if any(slot is not None and slot.acquire is acquire for slot in slots):
                if isinstance(following, AsyncMmaOp):
                    products = True
                else:
                    last, waits = following, False
        following = following.next_op
    if last is None or not products or not waits or not isinstance(following, ReleaseOp):
        return None
    return last, following
