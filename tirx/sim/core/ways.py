"""Lanes of CTAs side by side that go different ways, until they meet again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.frames import Frame
from tirx.sim.core.types import WARP, Array, Mask


@dataclass(slots=True, eq=False)
class _Join:
    """Lanes that meet at instruction `pc`: those that have arrived, and where others wait for their turn."""

    pc: int
    arrived: Mask
    waiting: list[tuple[int, Mask]] = field(default_factory=list[tuple[int, Mask]])


class Ways:
    """
    The lanes of CTAs that have parted at branches, as frames of warps have them (`tirx.sim.core.frames`), but of all
    warps at once. Lanes of one way are executed until they arrive where they meet the others, then those of the next.
    """

    def __init__(self, lanes: int) -> None:
        self._joins: list[_Join] = []
        # By warp: the last branch at which its lanes have parted; -1 for none.
        self._diverged: Array = np.full(lanes // WARP, -1)

    def __bool__(self) -> bool:
        return bool(self._joins)

    def meet_at(self, pc: int) -> bool:
        """Returns True if the lanes that execute meet others at an instruction."""
        return bool(self._joins) and self._joins[-1].pc == pc

    def part(self, pc: int, mask: Mask, taken: Mask, target: int, join: int) -> tuple[int, Mask]:
        """Lets the lanes `taken` of `mask` branch from `pc` to `target`. Returns who goes on, and where."""
        rest = mask & ~taken
        both = taken.reshape(-1, WARP).any(axis=1) & rest.reshape(-1, WARP).any(axis=1)
        self._diverged[both] = pc
        if not self.meet_at(join):
            self._joins.append(_Join(join, np.zeros_like(mask)))
        self._joins[-1].waiting += [(target, taken), (pc + 1, rest)]
        return self._next()

    def note_diverged(self, ctas: list[Cta]) -> None:
        """Tells the CTAs which of their warps have parted."""
        for warp in np.flatnonzero(self._diverged >= 0).tolist():
            cta, own = divmod(warp, len(self._diverged) // len(ctas))
            ctas[cta].diverged[own] = int(self._diverged[warp])
        self._diverged[:] = -1

    def arrive(self, mask: Mask) -> tuple[int, Mask]:
        """Notes that lanes have arrived where they meet others. Returns who goes on, and where."""
        self._joins[-1].arrived = self._joins[-1].arrived | mask
        return self._next()

    def _next(self) -> tuple[int, Mask]:
        join = self._joins[-1]
        while join.waiting:
            pc, mask = join.waiting.pop()
            if pc != join.pc:
                return pc, mask
            join.arrived = join.arrived | mask
        self._joins.pop()
        return join.pc, join.arrived

    def leave(self, ctas: list[Cta], lanes: int, pc: int, mask: Mask) -> None:
        """
        Gives each CTA, of so many lanes, thread groups of its own: `mask` are the lanes that execute, at `pc`.

        Warps whose lanes are at different places get frames.
        """
        pcs = [pc, *(at for join in self._joins for at, _ in ((join.pc, join.arrived), *join.waiting))]
        masks = [mask, *(own for join in self._joins for own in (join.arrived, *(each for _, each in join.waiting)))]
        places: Array = np.full(len(mask), -1)
        for place, own in enumerate(masks):
            places[own] = place
        warps = places.reshape(-1, WARP)
        lowest, highest = np.where(warps < 0, len(masks), warps).min(axis=1), warps.max(axis=1)
        for number, cta in enumerate(ctas):
            cta.groups = []
            first, end = (lanes // WARP * each for each in (number, number + 1))
            whole: list[int] = np.where(lowest == highest, highest, -1)[first:end].tolist()
            begin = 0
            for warp in range(1, len(whole) + 1):
                if warp < len(whole) and whole[warp] == whole[begin] >= 0:
                    continue
                own = slice(WARP * begin, WARP * warp)
                if whole[begin] >= 0:
                    existing = cta.existing[own].copy()
                    cta.groups.append(ThreadGroup(cta, own.start, own.stop, pcs[whole[begin]], existing))
                else:
                    self._add_groups(cta, own, slice(lanes * number + own.start, lanes * number + own.stop), pc, mask)
                begin = warp

    def _add_groups(self, cta: Cta, own: slice, lanes: slice, pc: int, mask: Mask) -> None:
        """Adds the thread groups of a warp of a CTA: lanes `own` of it, `lanes` of all CTAs."""
        rest, frames = cta.existing[own].copy(), tuple[Frame, ...]()
        for join in self._joins:
            arrived = join.arrived[lanes] & rest
            waiting = [(at, each[lanes]) for at, each in join.waiting if each[lanes].any()]
            inside = rest & ~arrived
            for _, each in waiting:
                inside &= ~each
            if bool(arrived.any()) + len(waiting) + bool(inside.any()) > 1:
                frame = Frame(join.pc, rest, frames)
                frame.arrived |= arrived
                frames = (*frames, frame)
            elif arrived.any():
                waiting = [(join.pc, arrived)]
            for at, each in waiting:
                cta.groups.append(ThreadGroup(cta, own.start, own.stop, at, each.copy(), frames))
            rest = inside
        if rest.any():
            cta.groups.append(ThreadGroup(cta, own.start, own.stop, pc, rest, frames))
