"""atom and red (PTX ISA, sections 9.7.13.4 to 9.7.13.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import TYPES, Array, Binary, Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.hazards.global_access import Kind
from tirx.sim.isa import asynchronous
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.ordering import HINTS, access_of, order
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import spaces
from tirx.sim.numerics.combine import combine_function, compare_and_swap, running_function
from tirx.sim.program.code import Source, Step

_SPACES = {"global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared"}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8, None: 1}
_INTEGERS = ("u32", "s32", "u64", "s64")
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2")
_BITS = ("b16", "b32", "b64", "b128")
# Types of each operation.
_OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": (*_INTEGERS, "f32", "f64", *_FLOATS),
    "min": (*_INTEGERS, *_FLOATS),
    "max": (*_INTEGERS, *_FLOATS),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64", "b128"),
    "cas": _BITS,
}


@instruction("atom", "red")
def _atom(decoder: Decoder) -> Step:
    if decoder.root == "red" and decoder.flag("async"):
        if asynchronous.COMPLETE in decoder.modifiers:
            return asynchronous.reduction(decoder)
        # To global memory: a reduction with release, which may be done at once.
        if "release" not in decoder.modifiers or "add" not in decoder.modifiers:
            raise decoder.error(f"expected .{asynchronous.COMPLETE}, or .release and .add, with red.async")
    space = _SPACES.get(decoder.take(*_SPACES) or "", "generic")
    how = replace(access_of(decoder.modifiers, Kind.UPDATE), reads=decoder.root == "atom")
    hint = decoder.flag("L2::cache_hint")
    decoder.drop(HINTS | {"acq_rel"})
    name = decoder.need(*_OPERATIONS)
    count = _VECTORS[decoder.take("v2", "v4", "v8")]
    keeps_subnormals = decoder.flag("noftz")
    value_type = decoder.type(*(TYPES[each] for each in _OPERATIONS[name]))
    returns = decoder.root == "atom"
    decoder.finish(int(returns) + 2 + (name == "cas") + hint)
    first = int(returns)
    found = decoder.address(first)
    place, addresses = found.space or space, found.values
    if place == "shared":
        addresses = decoder.of_own_cta(addresses)
    items = decoder.items(first + 1, count)
    operands = [decoder.source(item, value_type) for item in items]
    puts = [decoder.destination(item, value_type) for item in decoder.items(0, count)] if returns else []
    other = decoder.source(first + 2, value_type) if name == "cas" else None
    # atom.add.f32 on global memory flushes subnormal numbers; on shared memory, and the other types, it does not.
    ftz = value_type.name == "f32" and place == "global" and not keeps_subnormals
    combine = None if name == "cas" else combine_function(name, value_type, ftz, decoder.symbols.arithmetic)
    is_modular = decoder.symbols.arithmetic == "modular" and "f" in value_type.name
    running = None if name == "cas" or is_modular else running_function(name, value_type, ftz)
    dtype = value_type.dtype

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        lanes = np.flatnonzero(mask)
        at = addresses(group, mask)[lanes]
        order(group, lanes, place, at, how)
        values = np.stack([operand(group, mask)[lanes] for operand in operands], axis=1)
        new, fold = _update(group, mask, lanes, values, other, combine, running)

        def swaps(old: Array, which: Array) -> Mask:
            return (old == values[which]).all(axis=1)

        old = spaces.update(group, lanes, place, at, dtype, count, new, how, fold, None if other is None else swaps)
        for index, put in enumerate(puts):
            result = np.zeros(len(mask), dtype)
            result[lanes] = old[:, index]
            put(group, mask, result)
        if other is not None and (fails := (old != values).any(axis=1)).any():
            group.has_polled(group.pc, at[fails])  # who repeats it finds what there is now
        return group.poll(at, lanes) if returns else None

    return step


def _update(
    group: ThreadGroup,
    mask: Mask,
    lanes: Array,
    values: Array,
    other: Source | None,
    combine: Binary | None,
    running: Callable[[Array], Array | None] | None,
) -> tuple[spaces.Update, spaces.Fold | None]:
    if combine is not None:

        def fold(old: Array, which: Array) -> Array | None:
            return running(np.concatenate((old, values[which]), axis=1)) if running is not None else None

        def combined(old: Array, which: Array) -> Array:
            return combine(old.ravel(), values[which].ravel()).reshape(old.shape)

        return combined, fold if running is not None else None
    assert other is not None, "only cas has no function"
    replacement = other(group, mask)[lanes][:, None]
    return (
        lambda old, which: np.where(old == values[which], replacement[which], old),
        lambda old, which: compare_and_swap(old, values[which], replacement[which]),
    )
