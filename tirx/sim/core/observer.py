"""Interface for observers of a run. The base class does nothing."""

from __future__ import annotations

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.traffic import Direction, Space, Traffic
from tirx.sim.core.types import Array
from tirx.sim.hazards.monitor import Monitor, Note
from tirx.sim.program.code import Op


class Observer(Traffic):
    """Hears of every instruction, of the bytes that it moves and of the products of matrices that it computes.

    >>> from tirx.sim import Observer, run
    >>> class Lines(Observer):
    ...     def __call__(self, group, op):
    ...         print(op.text)
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { bar.sync 0; ret; }"
    >>> run(ptx, "f", grid=1, block=32, args=[], observer=Lines())
    bar.sync 0;
    ret;
    """

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        """The warps of `group` start `op`."""

    def undone(self, group: ThreadGroup, op: Op) -> None:
        """
        Takes back `op`, which started last but was not executed: it starts again later, or once for each part of
        `group`.
        """

    def monitor(self, ctas: int, lanes: int, note: Note) -> Monitor | None:
        """
        Returns what is told of all accesses and synchronisation of a cluster of `ctas` CTAs with `lanes` lanes each, in
        the place of the checker of a run without checks. None: nothing is.
        """
        return None


class Observers(Observer):
    """Several observers, in their order.

    >>> from tirx.sim import Observers, Profile, run
    >>> first, second = Profile(), Profile()
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { bar.sync 0; ret; }"
    >>> run(ptx, "f", grid=1, block=64, args=[], observer=Observers(first, second))
    >>> first.instructions == second.instructions
    True
    """

    def __init__(self, *observers: Observer):
        self._observers = observers

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        for observer in self._observers:
            observer(group, op)

    def undone(self, group: ThreadGroup, op: Op) -> None:
        for observer in self._observers:
            observer.undone(group, op)

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        for observer in self._observers:
            observer.moved(space, direction, count)

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        for observer in self._observers:
            observer.shared_request(lanes, offsets, width)

    def multiplied(self, a: Array, b: Array) -> None:
        for observer in self._observers:
            observer.multiplied(a, b)

    def monitor(self, ctas: int, lanes: int, note: Note) -> Monitor | None:
        return next((m for each in self._observers if (m := each.monitor(ctas, lanes, note)) is not None), None)
