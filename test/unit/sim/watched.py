"""Messages about registers that are not defined in a lane, and states that instructions make of those of others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from unit.sim.executed import MASKS, TARGETS, WHO, Scene, root_of
from unit.sim.recorders import shown

from tirx.sim import SimError
from tirx.sim.core.types import RegisterState
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import decode

_ROOTS = frozenset(
    """add selp setp mov cvt ld st atom shfl vadd2 mma wmma wgmma ldmatrix stmatrix movmatrix cp mbarrier bar lop3
    tcgen05.ld tcgen05.st tcgen05.mma tcgen05.alloc tcgen05.cp tcgen05.wait::ld""".split()
)
_FORMS = 2
"""Of an instruction with other operands, of which each is tried."""

_STATES = tuple(each for each in RegisterState if each is not RegisterState.DEFINED)


@cache
def _watched(target: str) -> Scene:
    return Scene(target, watched=True)


def _states(target: str, form: str) -> Iterator[str]:
    scene: Scene = _watched(target)
    instruction, symbols = scene.code[form], scene.linked.symbols
    mask = MASKS[WHO.get(instruction.root, ("some",))[-1 if instruction.root == "tcgen05" and "mma" in form else 0]]
    inside = int(np.flatnonzero(mask)[2 % mask.sum()])
    for state in _STATES:
        for lane, rows, strict in (
            (inside, slice(None), True),
            (inside, slice(1, None, 3), False),
            (2, slice(None), True),
        ):
            symbols.strict, symbols.cta_group = strict, None
            try:
                step = decode(Decoder(symbols, instruction))
            except SimError as error:
                yield f"{form}: {error.message}"
                return
            scene.prepare(instruction, mask, checks=False)
            group = scene.cta.groups[0]
            group.states[:], group.fenced[:] = RegisterState.DEFINED, True
            group.states[rows, lane] = state
            group.fenced[rows, lane] = state == RegisterState.PENDING
            said = "done"
            try:
                step(group, mask)
                group.finish_deferred()
            except SimError as error:
                said = f"{error.message} ({error.where})"
            group.wait = None
            notes = [": ".join(each) for each in scene.launch.notes]
            yield f"{form} {state.name} {lane}: {said} {notes} {shown([group.states, group.fenced])}"


def register_states() -> str:
    """Effects of instructions of all kinds on registers in each state."""
    lines: list[str] = []
    chosen: dict[tuple[str, str], int] = {}
    with np.errstate(all="ignore"):
        for target in TARGETS:
            scene: Scene = _watched(target)
            for form in scene.code:
                kind = root_of(form), form.partition(" ")[2]
                count = sum(1 for each in chosen if each[0] == kind[0])
                if kind[0] in _ROOTS and kind not in chosen and count < _FORMS:
                    chosen[kind] = 1
                    lines += _states(target, form)
    return "\n".join(lines)
