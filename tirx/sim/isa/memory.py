"""ld, st, prefetch and their relatives (PTX ISA, section 9.7.9)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B64, Mask, PtxType
from tirx.sim.core.wait import Outcome
from tirx.sim.hazards.global_access import Access as Order
from tirx.sim.hazards.global_access import Kind
from tirx.sim.isa import asynchronous
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.ordering import HINTS, access_of, order
from tirx.sim.isa.qualifiers import check_qualifiers, take_qualifiers
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import spaces
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Operand

_SPACES = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "shared::cluster": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8, None: 1}
_MAX_BYTES = 16
_MAX_GLOBAL_BYTES = 32  # sm_100: v8.b32 and v4.b64


@dataclass(frozen=True, slots=True)
class Access:
    """The data of a load or store: `count` elements of a type in a state space."""

    space: str
    type: PtxType
    count: int
    order: Order


def access_form(decoder: Decoder) -> Access:
    """Takes the modifiers of a load or store."""
    space = _SPACES.get(decoder.take(*_SPACES) or "", "generic")
    qualifiers = take_qualifiers(decoder)
    count = _VECTORS[decoder.take("v2", "v4", "v8")]
    value_type = decoder.type()
    decoder.finish(3 if "L2::cache_hint" in qualifiers else 2)
    size = count * value_type.bytes
    check_qualifiers(decoder, qualifiers, space, count, size)
    limit = _MAX_GLOBAL_BYTES if space in ("global", "generic") else _MAX_BYTES
    if value_type.kind == "predicate" or size > limit:
        raise decoder.error(f"expected an access of at most {limit} bytes to .{space}, found {size}")
    return Access(space, value_type, count, access_of(qualifiers))


def place_of(decoder: Decoder, which: int, space: str) -> tuple[Source, str]:
    """Returns the addresses of an operand and their state space. Parameters of functions are in local memory."""
    operand = decoder.operand(which)
    found = decoder.address(which, bits=64 if space == "generic" and not _is_symbol(decoder, operand) else None)
    if found.space is None:
        return decoder.of_own_cta(found.values) if space == "shared" else found.values, space
    if space not in ("generic", found.space) and not (space == "param" and found.space == "local"):
        raise decoder.error(f"expected a variable in .{space}, found one in .{found.space}")
    return found.values, found.space


def _is_symbol(decoder: Decoder, operand: Operand) -> bool:
    return isinstance(operand, Address) and decoder.address(operand).space is not None


@instruction("ld", "ldu")
def _ld(decoder: Decoder) -> Step:
    form = access_form(decoder)
    value_type, count, how = form.type, form.count, replace(form.order, writes=False)
    strong = how.strong
    addresses, space = place_of(decoder, 1, form.space)
    items = decoder.items(0, count) if count == 1 else decoder.vector(0, count)
    puts = [decoder.destination(item, value_type, wide=True) for item in items]
    dtype = value_type.dtype

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        lanes, whole = group.active(mask)
        at = addresses(group, mask)
        at = at if whole else at[lanes]
        if strong:
            order(group, lanes, space, at, how)
        values = loaded = spaces.load(group, lanes, space, at, dtype, count, how)
        if not whole:
            values = np.zeros((len(mask), count), dtype)
            values[lanes] = loaded
        for index, put in enumerate(puts):
            put(group, mask, values[:, index])
        return group.poll(at, lanes) if strong else None

    return step


@instruction("st")
def _st(decoder: Decoder) -> Step:
    if decoder.flag("bulk"):
        return asynchronous.fill(decoder)
    deferred = decoder.flag("async")
    if deferred:
        if asynchronous.COMPLETE in decoder.modifiers:
            return asynchronous.store(decoder)
        # To global memory: a store with release, which may be done at once.
        if "release" not in decoder.modifiers:
            raise decoder.error(f"expected .{asynchronous.COMPLETE} or .release with st.async")
    form = access_form(decoder)
    value_type, count, how = form.type, form.count, form.order
    how = replace(how, kind=Kind.DEFERRED if deferred else how.kind, reads=False)
    strong = how.strong
    addresses, space = place_of(decoder, 0, form.space)
    if space in ("const", "param"):
        raise decoder.error(f"expected a state space that can be written, found .{space}")
    items = decoder.items(1, count) if count == 1 else decoder.vector(1, count)
    sources = [decoder.source(item, value_type, wide=True) for item in items]

    def step(group: ThreadGroup, mask: Mask) -> None:
        lanes, whole = group.active(mask)
        at = addresses(group, mask)
        at = at if whole else at[lanes]
        if strong:
            order(group, lanes, space, at, how)
        values = np.empty((len(lanes), count), value_type.dtype)
        for index, source in enumerate(sources):
            found = source(group, mask)
            values[:, index] = found if whole else found[lanes]
        spaces.store(group, lanes, space, at, values, how)

    return step


@instruction("prefetch", "prefetchu", "applypriority", "discard")
def _prefetch(decoder: Decoder) -> Step:
    """Nothing: there are no caches. (`discard` allows the data to be lost; keeping them is as good.)"""
    decoder.drop(frozenset(("L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap", *_SPACES)))
    decoder.finish(2 if decoder.root in ("applypriority", "discard") else 1)
    return lambda group, mask: None


_POLICY_OPERANDS = {"fractional": (1, 2), "range": (4,), "cvt": (2,)}


@instruction("createpolicy")
def _createpolicy(decoder: Decoder) -> Step:
    """A cache policy has no effect; its value only must be there."""
    kind = decoder.need("fractional", "range", "cvt")
    decoder.drop(HINTS | frozenset(("L2", "global", "L2::evict_unchanged")))
    value_type = decoder.type(B64)
    decoder.finish(*_POLICY_OPERANDS[kind])
    put = decoder.destination(0, value_type)
    return lambda group, mask: put(group, mask, np.zeros(len(mask), value_type.dtype))
