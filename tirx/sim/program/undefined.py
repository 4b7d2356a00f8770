"""
Values that were never written.

Compilers copy and combine them where the result does not matter: padding, the first round of a loop, the element behind
the end, lanes of tensor memory beside those of a tile. So instructions that only compute may carry them, and to use
them (as an address, a condition, a result in global memory) is the error. Registers of a tcgen05.ld that is not waited
for are no exception, as GPUs complete the load before a use. That costs time; it is done from the first such value on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import PRED, U32, Array, Mask, RegisterState, is_undefined
from tirx.sim.core.wait import Outcome
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.memory import access_form, place_of
from tirx.sim.memory import spaces
from tirx.sim.program.code import Register, Step
from tirx.sim.program.partial import ALL, Parts, find_parts, remember
from tirx.sim.reader.syntax import Instruction, Operand

# Instructions whose results are undefined where an operand is, and that do nothing else.
_COMPUTING = frozenset(
    """
    abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma fns lg2 lop3 mad mad24 madc
    max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt sub subc szext
    tanh testp vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset
    vset2 vset4 vshl vshr vsub vsub2 vsub4 xor
    """.split()
)
_UNDEFINED = np.uint8(RegisterState.UNDEFINED)
# Which lanes get an undefined result.
_Spread = Callable[[ThreadGroup, Mask], Array]


def carries(instruction: Instruction) -> bool:
    """Returns True if an instruction may read undefined values and pass them on."""
    asynchronous = any(each in ("async", "bulk") for each in instruction.opcode.split("."))
    return instruction.root in _COMPUTING or (instruction.root in ("ld", "st", "shfl") and not asynchronous)


def carrying(decoder: Decoder, step: Step) -> Step:
    """Wraps `step`, which reads values whatever their state is: its results are undefined where an operand is."""
    if decoder.root == "st":
        return _store(decoder, step)
    if decoder.root == "ld":
        return _load(decoder, step)
    rows = [register.state for register in decoder.uses]
    targets = [register.state for register in decoder.definitions]
    names = [register.name for register in decoder.uses]
    if not rows:
        return step
    parts = find_parts(decoder)
    if parts is not None:
        return _moving(decoder, step, rows, names, parts)
    if decoder.root == "shfl":
        spread, targets = _shuffled(decoder, step), targets[:1]
    else:
        spread = _spread(decoder)

    def careful(group: ThreadGroup, mask: Mask) -> Outcome | None:
        found = is_undefined(group.states[rows]) & mask
        if not found.any():
            return step(group, mask)
        first = int(np.argmax(found.any(axis=1)))
        undefined = spread(group, mask)
        outcome = step(group, mask)
        if outcome is None:
            _mark(group, undefined & mask, targets, _origin(group, decoder.instruction, rows[first], names[first]))
        return outcome

    return careful


def _moving(decoder: Decoder, step: Step, rows: list[int], names: list[str], parts: Parts) -> Step:
    """Wraps an instruction that moves bytes: only those of its result are undefined that were before."""

    def careful(group: ThreadGroup, mask: Mask) -> Outcome | None:
        found = is_undefined(group.states[rows]) & mask
        if not found.any():
            return step(group, mask)
        first = int(np.argmax(found.any(axis=1)))
        origin = _origin(group, decoder.instruction, rows[first], names[first])
        moved = parts(group)
        outcome = step(group, mask)
        for row, bytes_ in moved if outcome is None else ():
            lanes = (bytes_ != 0) & mask
            _mark(group, lanes, [row], origin)
            if lanes.any():
                remember(group, row, lanes, bytes_)
        return outcome

    return careful


def _origin(group: ThreadGroup, instruction: Instruction, row: int, name: str) -> SimError:
    known = group.cta.launch.origins.get(row)
    return known or SimError(f"register {name} is read but was never written", instruction.line, instruction.text)


def _mark(group: ThreadGroup, lanes: Mask, targets: list[int], origin: SimError) -> None:
    for row in targets if lanes.any() else ():
        group.states[row][lanes] = _UNDEFINED
        if row in group.cta.undefined_bytes:
            remember(group, row, lanes, ALL)
        group.cta.launch.origins[row] = origin


def _spread(decoder: Decoder) -> _Spread:
    operands = decoder.operands
    modifiers = decoder.instruction.opcode.split(".")[1:]
    lenient = Decoder(decoder.symbols, decoder.instruction, lenient=True)
    if decoder.root == "selp":
        first, second, third = (lenient.undefined(operand) for operand in operands[1:])
        chosen = lenient.source(3, PRED)
        return lambda group, mask: np.where(chosen(group, mask), first(group), second(group)) | third(group)
    if decoder.root in ("and", "or") and modifiers == ["pred"]:
        return _decided(lenient, operands[1], operands[2], decides=decoder.root == "or")
    if decoder.root == "setp" and len(operands) == 4 and ("and" in modifiers or "or" in modifiers):
        compared = _any(lenient, operands[1:3])
        other, value, decides = lenient.undefined(operands[3]), lenient.source(3, PRED), "or" in modifiers
        return lambda group, mask: (
            (compared(group, mask) | other(group)) & (other(group) | (value(group, mask) != decides))
        )
    return _any(lenient, operands[1:])


def _any(lenient: Decoder, operands: tuple[Operand, ...]) -> _Spread:
    each = [lenient.undefined(item) for operand in operands for item in lenient.items(operand)]
    return lambda group, mask: np.any([undefined(group) for undefined in each], axis=0)


def _decided(lenient: Decoder, a: Operand, b: Operand, *, decides: bool) -> _Spread:
    """A predicate that is defined if one operand is, and decides."""
    undefined_a, undefined_b = lenient.undefined(a), lenient.undefined(b)
    value_a, value_b = lenient.source(a, PRED), lenient.source(b, PRED)

    def spread(group: ThreadGroup, mask: Mask) -> Array:
        unknown_a = undefined_a(group) | (value_a(group, mask) != decides)
        unknown_b = undefined_b(group) | (value_b(group, mask) != decides)
        return (undefined_a(group) | undefined_b(group)) & unknown_a & unknown_b

    return spread


def _shuffled(decoder: Decoder, step: Step) -> _Spread:
    """
    Wraps shfl: results are undefined where they come from an undefined lane. The states are shuffled like the values.
    """
    source = decoder.register_of(1)
    target = decoder.register_of(decoder.pair(0)[0])
    strict = Decoder(decoder.symbols, decoder.instruction)
    others = [strict.source(operand, U32) for operand in decoder.operands[2:]]

    def spread(group: ThreadGroup, mask: Mask) -> Array:
        for other in others:
            other(group, mask)
        if source is None or target is None:
            return np.zeros_like(mask)
        bank = group.banks[U32.bank]
        before, result = bank[source.row].copy(), bank[target.row].copy()
        bank[source.row] = is_undefined(group.states[source.state])
        done = step(group, mask) is None
        undefined = bank[target.row] != 0
        bank[target.row], bank[source.row] = result, before
        return undefined & mask if done else np.zeros_like(mask)

    return spread


# Memory: each place is of a state space, some addresses in it and the lanes that access them.


def _parts(space: str, addresses: Array) -> list[tuple[str, Array, Array]]:
    if space == "generic":
        return spaces.split_generic(addresses)
    return [(space, np.ones(len(addresses), np.bool_), addresses)]


def _store(decoder: Decoder, step: Step) -> Step:
    """Wraps st: undefined values may go to shared and local memory, whose bytes then are undefined."""
    strict = Decoder(decoder.symbols, decoder.instruction)
    form = access_form(strict)
    addresses, space = place_of(strict, 0, form.space)
    width = form.count * form.type.bytes
    registers = [decoder.register_of(item) for item in strict.items(1, form.count)]
    values = [register for register in registers if register is not None]

    def careful(group: ThreadGroup, mask: Mask) -> Outcome | None:
        lanes = np.flatnonzero(mask)
        at = addresses(group, mask)[lanes]
        undefined = _undefined(group, values)[lanes]
        parts = _parts(space, at)
        for own_space, which, _ in parts:
            if own_space == "global" and (undefined & which).any():
                raise _used(group, values, mask)
        outcome = step(group, mask)
        for own_space, which, own in parts:
            if own_space == "local":
                places = spaces.local_offsets(group, lanes[which], own, width, "store")
                group.cta.local_undefined[places[:, None] + np.arange(width)] = undefined[which][:, None]
            elif own_space == "shared" and (undefined & which).any():
                for rank, _, offsets in spaces.shared_targets(group, own[undefined[which]]):
                    group.cta.monitor.shared_forget(rank, offsets, width)
        return outcome

    return careful


def _undefined(group: ThreadGroup, registers: list[Register]) -> Array:
    states = [is_undefined(group.states[register.state]) for register in registers]
    return np.any(states, axis=0) if states else np.zeros(len(group.mask), np.bool_)


def _used(group: ThreadGroup, registers: list[Register], mask: Mask) -> SimError:
    for register in registers:
        if (is_undefined(group.states[register.state]) & mask).any():
            return group.cta.launch.undefined_use(register.name, register.state)
    raise AssertionError("one of the registers is undefined")


def _load(decoder: Decoder, step: Step) -> Step:
    strict = Decoder(decoder.symbols, decoder.instruction)
    form = access_form(strict)
    addresses, space = place_of(strict, 1, form.space)
    width = form.count * form.type.bytes
    targets = [register.state for register in decoder.definitions]
    line, text = decoder.instruction.line, decoder.instruction.text

    def careful(group: ThreadGroup, mask: Mask) -> Outcome | None:
        lanes = np.flatnonzero(mask)
        at = addresses(group, mask)[lanes].copy()
        monitor = group.cta.monitor
        monitor.tolerant = True
        outcome = step(group, mask)
        monitor.tolerant = False
        for own_space, which, own in _parts(space, at):
            if own_space == "local":
                places = spaces.local_offsets(group, lanes[which], own, width, "load")
                bad = group.cta.local_undefined[places[:, None] + np.arange(width)].any(axis=1)
                message = "a load reads local memory that holds what was never written"
                _mark_lanes(group, lanes[which][bad], targets, SimError(message, line, text))
            elif own_space == "shared":
                for rank, chosen, offsets in spaces.shared_targets(group, own):
                    bad = monitor.shared_undefined(rank, offsets, width)
                    address = int(offsets[int(np.argmax(bad))])
                    message = f"a load reads shared address {address:#x}, which was never written"
                    _mark_lanes(group, lanes[which][chosen][bad], targets, SimError(message, line, text))
        return outcome

    return careful


def _mark_lanes(group: ThreadGroup, lanes: Array, targets: list[int], origin: SimError) -> None:
    mask = np.zeros(len(group.mask), np.bool_)
    mask[lanes] = True
    _mark(group, mask, targets, origin)
