"""Scale factors of block-scaled mma.sync in registers (PTX ISA, section 9.7.14.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, U16, WARP, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder, uniform
from tirx.sim.isa.mma_forms import Form
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.program.code import Source

# The factors of A and of B: (warps, 1, rows, factors).
Scale: TypeAlias = Callable[[ThreadGroup, Mask], tuple[Array, Array]]

_THREADS = {"A": 2, "B": 4}  # values of the thread id: pairs of the four threads of a row of A, threads of those of B


def read_scales(decoder: Decoder, first: int, form: Form) -> Scale:
    """
    Operands `first` and on: factors of A, {byte id, thread id}, factors of B, {byte id, thread id}.

    ptxas takes a register of factors with braces, as CUTLASS writes it, or without.
    """
    registers = [decoder.source(decoder.items(first + index, 1)[0], B32) for index in (0, 2)]
    choices = [[decoder.source(item, U16) for item in decoder.vector(first + index, 2)] for index in (1, 3)]

    def scale(group: ThreadGroup, mask: Mask) -> tuple[Array, Array]:
        a, b = (
            _factors(group, mask, register, choice, form, which)[:, None]
            for register, choice, which in zip(registers, choices, "AB", strict=True)
        )
        return a, b

    return scale


def _factors(group: ThreadGroup, mask: Mask, register: Source, choice: list[Source], form: Form, which: str) -> Array:
    """(warps, rows, factors): bytes `byte id` and on of the word of a thread."""
    byte, thread = (uniform(each(group, mask), mask, f"an id of the factors of {which}") for each in choice)
    if byte % form.factors or byte + form.factors > 4:
        raise SimError(f"{form.factors} scale factors of {which} cannot start at byte {byte} of a word")
    if thread >= _THREADS[which]:
        raise SimError(f"expected a thread id below {_THREADS[which]} for the factors of {which}, found {thread}")
    # Row r and column r are those of threads 4 (r % 8) and on: of a pair, the second has the rows 8 further down.
    row = np.arange(form.m if which == "A" else 8)
    lane = 4 * (row % 8) + (2 * thread + row // 8 if which == "A" else thread)
    words = np.ascontiguousarray(register(group, mask).reshape(-1, WARP)[:, lane])
    codes = words.view(np.uint8).reshape(*words.shape, 4)[..., byte : byte + form.factors]
    if form.factor_type == "ue4m3" and (codes >> 7).any():
        raise SimError(f"a ue4m3 factor of {which} has no sign, but bit 7 is set")
    return decode_elements(codes, form.factor_type)
