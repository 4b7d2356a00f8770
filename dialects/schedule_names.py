"""Names of the roles and rings of a lowered kernel, and where they are: for launch descriptors and timelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Literal, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation

from tirx.dialects.definition import i32_attr
from tirx.rules import LaunchParameterError
from tirx.values import dataclass, field

SCHEDULE = "tirx.schedule"
"""The attribute of kernels and entries that holds a `Schedule`."""

RING = "ring"
"""The attribute of an allocation that holds the slots of the ring of this name."""

_NOWHERE = -1
"""Stands for a place that does not exist, or that `tirx-allocate-memory` has not chosen yet."""


@dataclass(frozen=True)
class RoleWarps:
    """Warps `first` to `first + warps - 1` of a block have the role `name`."""

    name: str
    first: int
    warps: int


@dataclass(frozen=True)
class SlotTile:
    """The tile `name` of every slot of a ring: that of slot i is at `start + i * stride`, -1 if not placed yet.

    Counts bytes from the start of the kernel's shared memory, or columns of its tensor memory.
    """

    name: str
    memory: Literal["shared", "tensor"]
    start: int
    stride: int


@dataclass(frozen=True)
class RingPlace:
    """A ring. `barriers` has for each station the byte of shared memory where the mbarrier behind slot 0 is; those of
    the other slots follow. -1 for a station without mbarriers. Before `tirx-allocate-memory` they count from the first
    mbarrier of the kernel.
    """

    name: str
    slots: int
    stations: tuple[str, ...]
    barriers: tuple[int, ...]
    tiles: tuple[SlotTile, ...]

    def placed(self, barriers: int, starts: Iterable[int]) -> RingPlace:
        """With the mbarriers of the kernel from byte `barriers` on, and the tiles at `starts`."""
        tiles = tuple(
            SlotTile(tile.name, tile.memory, start, tile.stride) for tile, start in zip(self.tiles, starts, strict=True)
        )
        moved = tuple(_NOWHERE if at == _NOWHERE else barriers + at for at in self.barriers)
        return RingPlace(self.name, self.slots, self.stations, moved, tiles)


@dataclass(frozen=True)
class Schedule:
    """The roles and rings of a kernel."""

    roles: tuple[RoleWarps, ...] = ()
    rings: tuple[RingPlace, ...] = field(default=())

    def store(self, op: Operation) -> None:
        """Stores it on a kernel, unless there is nothing to store."""
        if self.roles or self.rings:
            op.attributes[SCHEDULE] = _attribute(asdict(self))

    @staticmethod
    def of(op: Operation) -> Schedule:
        """Returns the names that are stored on a kernel or an entry, without any if none are. Raises LocatedError."""
        stored = op.attributes.get(SCHEDULE)
        try:
            return Schedule() if stored is None else Schedule.from_json(_plain(stored))
        except ValueError as error:
            raise LaunchParameterError(op, str(error)) from error

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Schedule:
        """The counterpart of `asdict`, with lists for tuples. Raises ValueError for what is no schedule."""
        try:
            return Schedule(
                tuple(RoleWarps(**role) for role in data.get("roles", ())),
                tuple(
                    RingPlace(
                        ring["name"],
                        ring["slots"],
                        tuple(ring["stations"]),
                        tuple(ring["barriers"]),
                        tuple(SlotTile(**tile) for tile in ring["tiles"]),
                    )
                    for ring in data.get("rings", ())
                ),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"expected names of roles and rings, found ones with a fault: {error!r}") from error


def _attribute(value: object) -> Attribute:
    match value:
        case int():
            return i32_attr(value)
        case str():
            return StringAttr(value)
        case dict():
            return DictionaryAttr({key: _attribute(each) for key, each in cast("dict[str, object]", value).items()})
        case _:
            return ArrayAttr([_attribute(each) for each in cast("Iterable[object]", value)])


def _plain(attribute: Attribute) -> Any:
    match attribute:
        case IntegerAttr(value=IntAttr(data=number)):
            return number
        case StringAttr(data=text):
            return text
        case DictionaryAttr(data=items):
            return {key: _plain(each) for key, each in items.items()}
        case ArrayAttr(data=items):
            return [_plain(each) for each in cast("Iterable[Attribute]", items)]
        case _:
            raise ValueError(f"expected names and numbers of a schedule, found {attribute}")


__all__ = ["RING", "SCHEDULE", "RingPlace", "RoleWarps", "Schedule", "SlotTile"]
