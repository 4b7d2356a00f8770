"""alloca, stacksave and stackrestore (PTX ISA, section 9.7.18)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, U32, U64, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.program.code import Step

_ALIGNMENT = 8
_ALIGNMENTS = (1, 2, 4, 8, 16)


@instruction("alloca")
def _alloca(decoder: Decoder) -> Step:
    """d, size [, alignment]: memory of the thread until the function returns, as an address of local memory."""
    value_type = decoder.type(U32, U64)
    decoder.finish(2, 3)
    put, sizes = decoder.destination(0, value_type), decoder.source(1, value_type)
    alignment = decoder.constant(2) if len(decoder.operands) == 3 else _ALIGNMENT
    if alignment not in _ALIGNMENTS:
        raise decoder.error(f"expected an alignment of 1 to 16 bytes that is a power of two, found {alignment}")
    mask_of = np.uint64(alignment - 1)

    def step(group: ThreadGroup, mask: Mask) -> None:
        stack = group.cta.stack[group.first : group.last]
        first = (stack + mask_of) & ~mask_of
        end = first + sizes(group, mask).astype(np.uint64)
        limit = group.cta.launch.program.local_bytes
        if (end[mask] > limit).any():
            size = int(sizes(group, mask)[mask].max())
            raise SimError(f"alloca of {size} bytes: the stack of {limit - group.cta.launch.program.stack} is full")
        np.copyto(stack, end, where=mask)
        put(group, mask, first.astype(value_type.dtype))

    return step


@instruction("stacksave")
def _stacksave(decoder: Decoder) -> Step:
    value_type = decoder.type(U32, U64)
    put = decoder.destination(decoder.only(), value_type)

    def step(group: ThreadGroup, mask: Mask) -> None:
        put(group, mask, group.cta.stack[group.first : group.last].astype(value_type.dtype))

    return step


@instruction("stackrestore")
def _stackrestore(decoder: Decoder) -> Step:
    value_type = decoder.type(U32, U64)
    values = decoder.source(decoder.only(), B32 if value_type is U32 else B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        stack, saved = group.cta.stack[group.first : group.last], values(group, mask).astype(np.uint64)
        if (saved[mask] > stack[mask]).any() or (saved[mask] < group.cta.launch.program.stack).any():
            raise SimError("stackrestore: expected a value of stacksave, of a stack that was smaller")
        np.copyto(stack, saved, where=mask)

    return step
