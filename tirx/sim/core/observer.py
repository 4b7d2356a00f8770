"""Interface for observers of a run. The base class does nothing."""

from __future__ import annotations

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.traffic import Direction, Space, Traffic
from tirx.sim.core.types import Array
from tirx.sim.program.code import Op


class Observer(Traffic):
    """Hears of every instruction, of the bytes that it moves and of the products of matrices that it computes."""

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        """The warps of `group` start `op`."""

    def undone(self, group: ThreadGroup, op: Op) -> None:
        """
        Takes back `op`, which started last but was not executed: it starts again later, or once for each part of
        `group`.
        """


class Observers(Observer):
    """Several observers, in their order."""

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
