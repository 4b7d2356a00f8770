"""mov, with packing and unpacking; cvta, isspacep, mapa (PTX ISA, section 9.7.9)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, PRED, U32, U64, Array, Mask, bits_type
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.memory.addresses import GENERIC_BASE, OFFSET_MASK, RANK_SHIFT, SHARED_OFFSET_MASK, SPACES, WINDOW_SHIFT
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Address, Name, Operand, Vector

_RANK_MASK = 0xFF
# Generic global and constant addresses are their own; the other windows are subtracted.
_CVTA_SPACES = {
    "global": "global",
    "const": "const",
    "shared": "shared",
    "shared::cta": "shared",
    "shared::cluster": "shared",
    "local": "local",
    "param": "param",
    "param::entry": "param",
}


@instruction("mov")
def _mov(decoder: Decoder) -> Step:
    value_type = decoder.type()
    decoder.finish(2)
    target, value = decoder.operands
    if isinstance(target, Vector):
        return _unpack(decoder, value_type.bits, target)
    if isinstance(value, Vector):
        return _pack(decoder, value_type.bits, value)
    # mov.b32 %f, %r and mov.f32 %r, %f are accepted: only the width counts, except for literals.
    if isinstance(value, Name) and value_type.kind != "predicate":
        value_type = bits_type(value_type.bits)
    return elementwise(decoder, lambda a: a, value_type, value_type)


def _part_bits(decoder: Decoder, bits: int, vector: Vector) -> int:
    count = len(vector.items)
    if count not in (2, 4, 8) or bits // count not in (8, 16, 32, 64):
        raise decoder.error(f"expected {bits} bits as 2, 4 or 8 elements of 8 to 64 bits, found {count} elements")
    return bits // count


def _unpack(decoder: Decoder, bits: int, vector: Vector) -> Step:
    part = bits_type(_part_bits(decoder, bits, vector))
    source = decoder.source(1, bits_type(bits))
    puts = [decoder.destination(item, part) for item in vector.items]
    count = len(puts)

    def step(group: ThreadGroup, mask: Mask) -> None:
        # A copy: a destination may be the source.
        parts = source(group, mask).copy().view(part.dtype).reshape(-1, count)
        for index, put in enumerate(puts):
            put(group, mask, parts[:, index])

    return step


def _pack(decoder: Decoder, bits: int, vector: Vector) -> Step:
    part, whole = bits_type(_part_bits(decoder, bits, vector)), bits_type(bits)
    sources = [decoder.source(item, part) for item in vector.items]
    put = decoder.destination(0, whole)

    def step(group: ThreadGroup, mask: Mask) -> None:
        parts = np.stack([source(group, mask) for source in sources], axis=1)
        put(group, mask, parts.view(whole.dtype)[:, 0])

    return step


@instruction("cvta")
def _cvta(decoder: Decoder) -> Step:
    to = decoder.flag("to")
    space = _CVTA_SPACES[decoder.need(*_CVTA_SPACES)]
    value_type = decoder.type(B64, U64, U32)
    decoder.finish(2)
    if value_type is U32:
        raise decoder.error("expected .u64: generic addresses have 64 bits")
    operand = decoder.operand(1)
    base = np.uint64(GENERIC_BASE[space])
    if not to and isinstance(operand, Name) and decoder.register(operand.name) is None:
        variable = decoder.instruction.scope.variable(operand.name)
        if variable is not None and decoder.symbols.place(variable).space != space:
            raise decoder.error(f"expected a variable in .{space}, found {operand.name} in .{variable.space}")
    if not to:
        return elementwise(decoder, lambda a: a + base, B64, B64)
    window = base >> np.uint64(WINDOW_SHIFT)
    put, source = decoder.destination(0, B64), decoder.source(1, B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        addresses = source(group, mask)
        if base and (addresses[mask] >> np.uint64(WINDOW_SHIFT) != window).any():
            bad = addresses[mask][addresses[mask] >> np.uint64(WINDOW_SHIFT) != window]
            raise SimError(f"expected generic addresses of .{space}, found {int(bad[0]):#x}")
        put(group, mask, addresses - base)

    return step


@instruction("isspacep")
def _isspacep(decoder: Decoder) -> Step:
    name = decoder.need(*_CVTA_SPACES)
    space = _CVTA_SPACES[name]
    decoder.finish(2)
    put, source = decoder.destination(0, PRED), decoder.source(1, B64)

    def step(group: ThreadGroup, mask: Mask) -> None:
        addresses = source(group, mask)
        found = np.array([SPACES.get(window) == space for window in (addresses >> np.uint64(WINDOW_SHIFT)).tolist()])
        if name in ("shared", "shared::cta"):
            ranks = (addresses & np.uint64(OFFSET_MASK)) >> np.uint64(RANK_SHIFT)
            found &= ranks == np.uint64(group.cta.rank)
        put(group, mask, found)

    return step


@instruction("mapa")
def _mapa(decoder: Decoder) -> Step:
    """The address of the same variable in the shared memory of another CTA of the cluster."""
    explicit = decoder.flag("shared::cluster")
    value_type = decoder.type(*((U32, U64) if explicit else (U64,)))
    decoder.finish(3)
    operand: Operand = decoder.operand(1)
    if isinstance(operand, Address):
        raise decoder.error("expected a register or a variable without brackets")
    rank_shift, keep = value_type.dtype.type(RANK_SHIFT), value_type.dtype.type(SHARED_OFFSET_MASK)
    base = value_type.dtype.type(0 if explicit else GENERIC_BASE["shared"])
    put, source, rank = decoder.destination(0, value_type), decoder.source(1, value_type), decoder.source(2, U32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        # Whoever uses an address of a CTA that does not exist is told so.
        ranks: Array = rank(group, mask) & np.uint32(_RANK_MASK)
        offsets: Array = source(group, mask) & keep
        put(group, mask, base | offsets | ranks.astype(value_type.dtype) << rank_shift)

    return step


@instruction("getctarank")
def _getctarank(decoder: Decoder) -> Step:
    """Decodes getctarank: the rank of the CTA whose shared memory holds an address."""
    explicit = decoder.flag("shared::cluster")
    value_type = decoder.type(*((U32, U64) if explicit else (U64,)))
    decoder.finish(2)
    mask_bits = value_type.dtype.type(0xFFFFFFFF if explicit else OFFSET_MASK)

    def rank(addresses: Array) -> Array:
        return ((addresses & mask_bits) >> value_type.dtype.type(RANK_SHIFT)).astype(np.uint32)

    return elementwise(decoder, rank, B32, value_type)
