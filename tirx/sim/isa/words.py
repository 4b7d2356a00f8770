"""Vectors of 32-bit registers that an instruction reads or writes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, Array, Mask, RegisterState
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Register
from tirx.sim.reader.syntax import Operand

# Reads the registers, as uint32 (registers, lanes).
ReadWords: TypeAlias = Callable[[ThreadGroup, Mask], Array]
# Writes (registers, lanes) in the lanes of a mask.
WriteWords: TypeAlias = Callable[[ThreadGroup, Mask, Array], None]


def word_sources(decoder: Decoder, items: Sequence[Operand]) -> ReadWords:
    """Reads operands of 32 bits: registers, literals or variables."""
    sources = [decoder.source(item, B32) for item in items]

    def one_by_one(group: ThreadGroup, mask: Mask) -> Array:
        return np.stack([source(group, mask) for source in sources])

    registers = [decoder.register_of(item) for item in items]
    known = [register for register in registers if register is not None and not register.is_fragment]
    if len(known) != len(items):
        return one_by_one
    rows, states = _rows(known), _states(known)

    def read(group: ThreadGroup, mask: Mask) -> Array:
        if (group.states[states] != RegisterState.DEFINED)[:, mask].any():
            return one_by_one(group, mask)  # names the register that is not
        return _read(group, rows)

    return read


def word_destinations(decoder: Decoder, items: Sequence[Operand], *, pending: bool = False) -> WriteWords:
    """Writes registers of 32 bits, each of them another one; `pending`: see `Decoder.destination`."""
    puts = [decoder.destination(item, B32, pending=pending) for item in items]

    def one_by_one(group: ThreadGroup, mask: Mask, values: Array) -> None:
        for put, value in zip(puts, values, strict=True):
            put(group, mask, value)

    registers = [decoder.register_of(item) for item in items]
    known = [register for register in registers if register is not None and not register.is_fragment]
    if len(known) != len(items):
        return one_by_one
    rows, states = _rows(known), _states(known)
    after = RegisterState.PENDING if pending else RegisterState.DEFINED

    def write(group: ThreadGroup, mask: Mask, values: Array) -> None:
        if (group.states[states] > RegisterState.DEFINED).any():
            one_by_one(group, mask, values)  # names the register that must not be written
            return
        _set_states(group, mask, states, after)
        _write(group, mask, rows, values)

    return write


def accumulator_words(
    registers: Sequence[Register],
) -> tuple[
    Callable[[ThreadGroup, Mask], None],
    Callable[[ThreadGroup, Mask], None],
    Callable[[ThreadGroup], Array],
    Callable[[ThreadGroup, Array], None],
]:
    """
    Returns functions for D of wgmma.mma_async: one that raises UndefinedError if a register was never written, one that
    marks them as being accumulated, one that reads them in all lanes, and one that writes them.
    """
    rows, states = _rows(registers), _states(registers)

    def check(group: ThreadGroup, mask: Mask) -> None:
        _check_asynchronous(group, mask, registers, states)

    def mark(group: ThreadGroup, mask: Mask) -> None:
        _set_states(group, mask, states, RegisterState.ACCUMULATING)

    def write(group: ThreadGroup, values: Array) -> None:
        group.banks[B32.bank][rows] = values

    return check, mark, lambda group: _read(group, rows), write


def fragment_words(registers: Sequence[Register]) -> tuple[ReadWords, Callable[[ThreadGroup, Mask], None]]:
    """
    Returns functions for registers of A of wgmma.mma_async: one that reads them, which is no access of the thread, and
    raises UndefinedError, and one that marks them as being read.
    """
    rows, states = _rows(registers), _states(registers)

    def read(group: ThreadGroup, mask: Mask) -> Array:
        _check_asynchronous(group, mask, registers, states)
        return _read(group, rows)

    def mark(group: ThreadGroup, mask: Mask) -> None:
        _set_states(group, mask, states, RegisterState.SUPPLYING)

    return read, mark


def _check_asynchronous(group: ThreadGroup, mask: Mask, registers: Sequence[Register], states: Array) -> None:
    undefined = (group.states[states] == RegisterState.UNDEFINED)[:, mask].any(axis=1)
    if undefined.any():
        first = states[undefined][0]
        raise group.cta.launch.undefined_use(next(each.name for each in registers if each.state == first), first)


def _rows(registers: Sequence[Register]) -> Array:
    return np.array([register.row for register in registers], np.intp)


def _states(registers: Sequence[Register]) -> Array:
    return np.array([register.state for register in registers if register.is_watched], np.intp)


def _set_states(group: ThreadGroup, mask: Mask, states: Array, state: RegisterState) -> None:
    lanes, whole = group.active(mask)
    if whole:
        group.states[states] = state
    else:
        group.states[states[:, None], lanes] = state


def _read(group: ThreadGroup, rows: Array) -> Array:
    bank = group.banks[B32.bank]
    return bank.take(rows, axis=0) if bank.flags.c_contiguous else bank[rows]


def _write(group: ThreadGroup, mask: Mask, rows: Array, values: Array) -> None:
    lanes, whole = group.active(mask)
    if whole:
        group.banks[B32.bank][rows] = values
    else:
        group.banks[B32.bank][rows[:, None], lanes] = values[:, lanes]
