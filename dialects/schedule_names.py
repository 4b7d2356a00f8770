"""Names of the roles and rings of a lowered kernel, and where they are: for launch descriptors and timelines.

Launch descriptors are made of these values; they need no xDSL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from tirx.values import dataclass, field

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
