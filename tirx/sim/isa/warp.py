"""Communication in a warp: shfl, vote, match, redux, elect, activemask (PTX ISA, sections 9.7.9 and 9.7.13)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, F32, PRED, S32, U32, WARP, Array, Mask
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics import modular
from tirx.sim.numerics.rounding import ordered, unordered
from tirx.sim.program.code import Step

_LANE = np.arange(WARP)
_WEIGHTS = (np.uint64(1) << np.arange(WARP, dtype=np.uint64)).astype(np.uint64)


def by_warp(values: Array) -> Array:
    """Lanes of a thread group as (warps, 32)."""
    return values.reshape(-1, WARP)


def to_bits(lanes: Array) -> Array:
    """(..., 32) booleans to bit masks, uint32."""
    return (lanes.astype(np.uint64) @ _WEIGHTS).astype(np.uint32)


def members_of(group: ThreadGroup, mask: Mask, values: Array) -> Mask | Outcome:
    """
    Returns for every lane the living lanes of its warp that its member mask names: (lanes, 32).

    Returns `Outcome.RETRY` if some of them are elsewhere, so that the thread group has to wait for them. Lanes outside
    of `mask` have no members.
    """
    named = (values[:, None] >> _LANE.astype(np.uint32) & np.uint32(1)).astype(np.bool_)
    named &= mask[:, None]
    own = named[np.arange(len(values)), group.lanes % WARP]
    if (mask & ~own).any():
        bad = mask & ~own
        raise SimError(f"expected a member mask that has the executing lane in it, found {int(values[bad][0]):#010x}")
    alive = np.repeat(by_warp(group.alive), WARP, axis=0)
    here = np.repeat(by_warp(mask), WARP, axis=0)
    missing = named & alive & ~here
    if missing.any():
        lanes = np.flatnonzero(missing.any(axis=0)).tolist()
        reason = f"waits for lanes {lanes} of its member mask, which have diverged"
        # Ready at once: the scheduler joins groups that have come to the same instruction.
        group.wait = Wait(lambda: True, lambda: reason)
        return Outcome.RETRY
    return named & alive


@instruction("shfl")
def _shfl(decoder: Decoder) -> Step:
    decoder.need("sync")
    mode = decoder.need("up", "down", "bfly", "idx")
    decoder.type(B32)
    decoder.finish(5)
    register, predicate = decoder.pair(0)
    put = decoder.destination(register, B32)
    put_valid = None if predicate is None else decoder.destination(predicate, PRED)
    value, offset, clamp, members = (decoder.source(index, kind) for index, kind in enumerate((B32, U32, U32, U32), 1))

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        named = members_of(group, mask, members(group, mask))
        if isinstance(named, Outcome):
            return named
        lane = group.lanes % WARP
        by, control = offset(group, mask).astype(np.int64) & 31, clamp(group, mask).astype(np.int64)
        segment, bound = control >> 8 & 31, control & 31
        low, high = lane & segment, (lane & segment) | (bound & ~segment)
        targets = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": low | (by & ~segment)}
        target = targets[mode]
        valid = target >= high if mode == "up" else target <= high
        target = np.where(valid, target, lane)
        readable = named[np.arange(len(lane)), target & 31]
        if (mask & ~readable).any():
            bad = int(np.flatnonzero(mask & ~readable)[0])
            raise SimError(
                f"lane {bad % WARP} reads lane {int(target[bad])}, which is not in the member mask or has exited"
            )
        put(group, mask, value(group, mask)[target + (group.lanes - lane - group.first)])
        if put_valid is not None:
            put_valid(group, mask, valid)
        return None

    return step


@instruction("vote")
def _vote(decoder: Decoder) -> Step:
    decoder.need("sync")
    mode = decoder.need("all", "any", "uni", "ballot")
    value_type = decoder.type(B32 if mode == "ballot" else PRED)
    decoder.finish(3)
    put = decoder.destination(0, value_type)
    value, members = decoder.source(1, PRED), decoder.source(2, U32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        named = members_of(group, mask, members(group, mask))
        if isinstance(named, Outcome):
            return named
        votes = np.repeat(by_warp(value(group, mask)), WARP, axis=0)
        trues, falses = named & votes, named & ~votes
        if mode == "ballot":
            put(group, mask, to_bits(trues))
        else:
            every, some = np.all(~falses, axis=1), np.any(trues, axis=1)
            put(group, mask, {"all": every, "any": some, "uni": every | ~some}[mode])
        return None

    return step


@instruction("match")
def _match(decoder: Decoder) -> Step:
    mode = decoder.need("any", "all")
    decoder.need("sync")
    value_type = decoder.type(B32, B64)
    decoder.finish(3)
    register, predicate = decoder.pair(0)
    put = decoder.destination(register, B32)
    put_all = None if predicate is None else decoder.destination(predicate, PRED)
    value, members = decoder.source(1, value_type), decoder.source(2, U32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        named = members_of(group, mask, members(group, mask))
        if isinstance(named, Outcome):
            return named
        own = value(group, mask)
        equal = named & (np.repeat(by_warp(own), WARP, axis=0) == own[:, None])
        if mode == "any":
            put(group, mask, to_bits(equal))
        else:
            same = (equal == named).all(axis=1)
            put(group, mask, np.where(same, to_bits(named), np.uint32(0)))
            if put_all is not None:
                put_all(group, mask, same)
        return None

    return step


_REDUCTIONS = {
    "add": (np.add, (U32, S32)),
    "min": (np.minimum, (U32, S32, F32)),
    "max": (np.maximum, (U32, S32, F32)),
    "and": (np.bitwise_and, (B32,)),
    "or": (np.bitwise_or, (B32,)),
    "xor": (np.bitwise_xor, (B32,)),
}


@instruction("redux")
def _redux(decoder: Decoder) -> Step:
    decoder.need("sync")
    name = decoder.need(*_REDUCTIONS)
    function, types = _REDUCTIONS[name]
    magnitude, propagate = decoder.flag("abs"), decoder.flag("NaN")
    value_type = decoder.type(*types)
    decoder.finish(3)
    if (magnitude or propagate) and value_type is not F32:
        raise decoder.error("expected .f32 with .abs or .NaN")
    is_modular = value_type is F32 and decoder.symbols.arithmetic == "modular"
    decoder.refuse_modular(magnitude)
    put = decoder.destination(0, value_type)
    value, members = decoder.source(1, value_type), decoder.source(2, U32)
    smaller = name == "min"

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        named = members_of(group, mask, members(group, mask))
        if isinstance(named, Outcome):
            return named
        own = value(group, mask)
        own = np.abs(own) if magnitude else modular.converted(own, F32.dtype) if is_modular else own
        own = ordered(own, smaller=smaller, propagate=propagate) if value_type is F32 else own
        result = own.copy()
        for lane in np.flatnonzero(mask).tolist():
            warp = lane // WARP * WARP
            result[lane] = function.reduce(own[warp : warp + WARP][named[lane]], dtype=own.dtype)
        put(group, mask, unordered(result) if value_type is F32 else result)
        return None

    return step


@instruction("elect")
def _elect(decoder: Decoder) -> Step:
    """One lane of the member mask is elected: the lowest, or with a seed some other."""
    decoder.need("sync")
    decoder.finish(2)
    register, predicate = decoder.pair(0)
    if predicate is None:
        raise decoder.error("expected two destinations d|p")
    put, put_leader = decoder.destination(register, U32), decoder.destination(predicate, PRED)
    members = decoder.source(1, U32)

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        named = members_of(group, mask, members(group, mask))
        if isinstance(named, Outcome):
            return named
        leaders = np.zeros(len(mask), np.uint32)
        for lane in np.flatnonzero(mask).tolist():
            candidates = np.flatnonzero(named[lane])
            leaders[lane] = candidates[group.cta.launch.elected % len(candidates)]
        put(group, mask, leaders)
        put_leader(group, mask, leaders == group.lanes % WARP)
        return None

    return step


@instruction("activemask")
def _activemask(decoder: Decoder) -> Step:
    decoder.type(B32)
    put = decoder.destination(decoder.only(), B32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        put(group, mask, np.repeat(to_bits(by_warp(mask)), WARP))

    return step
