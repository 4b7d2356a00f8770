"""Lanes of CTAs side by side that go different ways, until they meet again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.frames import Frame
from tirx.sim.core.types import WARP, Array, Mask

_NOWHERE = -1  # where no lanes meet


@dataclass(slots=True, eq=False)
class _Way:
    """Lanes that go on at `pc`, and where they meet others before they come back to those around them."""

    pc: int
    mask: Mask
    joins: list[_Join] = field(default_factory=list["_Join"])

    @property
    def lanes(self) -> Mask:
        """Returns all lanes of the way, those that wait as well."""
        found = self.mask
        for _, mask in self.places():
            found = found | mask
        return found

    def places(self) -> Iterator[tuple[int, Mask]]:
        """Yields where lanes are."""
        yield self.pc, self.mask
        for join in self.joins:
            yield join.pc, join.arrived
            for way in join.waiting:
                yield from way.places()


@dataclass(slots=True, eq=False)
class _Join:
    """Lanes that meet at instruction `pc`: those that have arrived, and ways that wait for their turn."""

    pc: int
    arrived: Mask
    waiting: list[_Way] = field(default_factory=list[_Way])


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
        self._diverged[_warps(taken) & _warps(rest)] = pc
        if not self.meet_at(join):
            self._joins.append(_Join(join, np.zeros_like(mask)))
        self._joins[-1].waiting += [_Way(target, taken), _Way(pc + 1, rest)]
        return self._next()

    def arrive(self, mask: Mask) -> tuple[int, Mask]:
        """Notes that lanes have arrived where they meet others. Returns who goes on, and where."""
        self._joins[-1].arrived = self._joins[-1].arrived | mask
        return self._next()

    def _next(self) -> tuple[int, Mask]:
        join = self._joins[-1]
        while join.waiting:
            way = join.waiting.pop()
            if way.pc != join.pc or way.joins:
                self._joins += way.joins
                return way.pc, way.mask
            join.arrived = join.arrived | way.mask
        self._joins.pop()
        return join.pc, join.arrived

    def pass_by(self, pc: int, mask: Mask) -> tuple[int, Mask] | None:
        """
        Lets lanes that have arrived go on before `mask`, which repeat a request at `pc`: those of warps of which nobody
        else is to come. Returns who goes on, and where; None if there are none.
        """
        inside = mask
        for depth in reversed(range(len(self._joins))):
            join = self._joins[depth]
            for way in join.waiting:
                inside = inside | way.lanes
            free = join.arrived & ~np.repeat(_warps(inside), WARP)
            inside = inside | join.arrived
            if not free.any():
                continue
            join.arrived = join.arrived & ~free
            spinning = _Way(pc, mask, self._joins[depth:])
            del self._joins[depth:]
            if not self._joins:
                self._joins.append(_Join(_NOWHERE, np.zeros_like(mask)))
            self._joins[-1].waiting.append(spinning)
            return join.pc, free
        return None

    def note_diverged(self, ctas: list[Cta]) -> None:
        """Tells the CTAs which of their warps have parted."""
        for warp in np.flatnonzero(self._diverged >= 0).tolist():
            cta, own = divmod(warp, len(self._diverged) // len(ctas))
            ctas[cta].diverged[own] = int(self._diverged[warp])
        self._diverged[:] = -1

    def leave(self, ctas: list[Cta], lanes: int, pc: int, mask: Mask) -> None:
        """
        Gives each CTA, of so many lanes, thread groups of its own: `mask` are the lanes that execute, at `pc`.

        Warps whose lanes are at different places get frames.
        """
        way = _Way(pc, mask, self._joins)
        pcs, masks = zip(*way.places(), strict=True)
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
                existing = cta.existing[own].copy()
                if whole[begin] >= 0:
                    cta.groups.append(ThreadGroup(cta, own.start, own.stop, pcs[whole[begin]], existing))
                else:
                    of_all = slice(lanes * number + own.start, lanes * number + own.stop)
                    _add_groups(cta, own, of_all, way, existing, ())
                begin = warp


def _warps(mask: Mask) -> Mask:
    """Returns which warps have lanes in a mask."""
    found: Mask = np.logical_or.reduce(mask.reshape(-1, WARP), axis=1)
    return found


def _add_groups(cta: Cta, own: slice, of_all: slice, way: _Way, rest: Mask, frames: tuple[Frame, ...]) -> None:
    """Adds the thread groups of lanes `rest` of a warp on a way: lanes `own` of a CTA, `of_all` of all CTAs."""
    for join in way.joins:
        arrived, inside = join.arrived[of_all] & rest, rest & ~join.arrived[of_all]
        waiting = [(each, lanes) for each in join.waiting if (lanes := each.lanes[of_all]).any()]
        for _, lanes in waiting:
            inside = inside & ~lanes
        if bool(arrived.any()) + len(waiting) + bool(inside.any()) > 1:
            frame = Frame(join.pc, rest, frames)
            frame.arrived |= arrived
            frames = (*frames, frame)
        elif arrived.any():
            cta.groups.append(ThreadGroup(cta, own.start, own.stop, join.pc, arrived, frames))
        for each, lanes in waiting:
            _add_groups(cta, own, of_all, each, lanes, frames)
        rest = inside
    if rest.any():
        cta.groups.append(ThreadGroup(cta, own.start, own.stop, way.pc, rest, frames))
