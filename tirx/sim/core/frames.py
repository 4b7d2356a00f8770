"""Frames of branches and calls: where diverged or called threads meet again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """
    The state that a call saves: stack pointers, and for a recursive function registers, their states, the variables of
    results and the others.
    """

    stack: Array
    registers: tuple[Array, ...] = ()
    states: Array | None = None
    results: tuple[Array, ...] = ()
    variables: tuple[Array, ...] = ()

    def of(self, lanes: slice) -> SavedState:
        """Returns the saved state of some of the lanes."""
        states = None if self.states is None else self.states[:, lanes]
        registers = tuple(bank[:, lanes] for bank in self.registers)
        results, variables = (tuple(each[lanes] for each in own) for own in (self.results, self.variables))
        return SavedState(self.stack[lanes], registers, states, results, variables)


class Frame:
    """
    Lanes that meet again: at instruction `pc`, or for a call once each of them has returned; then they go on at `pc`.

    `mask` are the lanes that are to come (exited ones drop out), `arrived` those that are there. `parent` are the
    frames around this one. `entry` is the first instruction of a called function;
    `saved` is what the call must not change.
    """

    __slots__ = ("pc", "mask", "arrived", "parent", "entry", "saved")

    def __init__(
        self,
        pc: int,
        mask: Mask,
        parent: tuple[Frame, ...],
        entry: int | None = None,
        saved: SavedState | None = None,
    ):
        self.pc = pc
        self.mask = mask.copy()
        self.arrived = np.zeros_like(mask)
        self.parent = parent
        self.entry = entry
        self.saved = saved

    @property
    def is_call(self) -> bool:
        return self.entry is not None
