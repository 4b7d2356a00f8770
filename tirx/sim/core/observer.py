"""What a run tells whoever watches it. The base class does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tirx.sim.core.types import Array

if TYPE_CHECKING:
    from tirx.sim.core.strand import Strand
    from tirx.sim.program.code import Op

Space: TypeAlias = Literal["global", "shared", "tensor"]
Direction: TypeAlias = Literal["read", "written"]


class Observer:
    """Hears of every instruction, of the bytes that it moves and of the products of matrices that it computes."""

    def __call__(self, strand: Strand, op: Op) -> None:
        """The warps of `strand` start `op`."""

    def undone(self, strand: Strand, op: Op) -> None:
        """`op`, which started last, has not been executed: it starts again later, or once for each part of `strand`."""

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        """`count` bytes of a memory were read or written, by threads or asynchronously."""

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        """Each of `lanes` (32 to a warp) reads or writes `width` bytes at its place of `offsets` in shared memory."""

    def multiplied(self, a: Array, b: Array) -> None:
        """A tensor core computes a (..., M, K) times the transpose of b (..., N, K)."""


class Observers(Observer):
    """Several observers, in their order."""

    def __init__(self, *observers: Observer):
        self._observers = observers

    def __call__(self, strand: Strand, op: Op) -> None:
        for observer in self._observers:
            observer(strand, op)

    def undone(self, strand: Strand, op: Op) -> None:
        for observer in self._observers:
            observer.undone(strand, op)

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        for observer in self._observers:
            observer.moved(space, direction, count)

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        for observer in self._observers:
            observer.shared_request(lanes, offsets, width)

    def multiplied(self, a: Array, b: Array) -> None:
        for observer in self._observers:
            observer.multiplied(a, b)
