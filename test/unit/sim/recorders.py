"""A monitor and an observer that write down all that they are told, as short text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tirx.sim.core.observer import Observer
from tirx.sim.hazards.global_access import Fence
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.memory.region import Region

Array = npt.NDArray[Any]
_MOST = 4096  # bytes that are written out


def shown(value: Any) -> str:
    """A value as short text; arrays by a checksum."""
    if isinstance(value, Region):
        return shown(value.places)
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        return f"{array.dtype}{list(array.shape)}:{crc32(np.ascontiguousarray(array).tobytes()):x}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(shown, cast('Sequence[Any]', value)))})"
    if value is None or isinstance(value, int | float | str | np.generic | Fence):
        return str(cast("object", value))
    return type(value).__name__


def words(value: Any) -> str:
    """An array as hexadecimal words, so that a difference shows which of them differ; large ones by a checksum."""
    array = np.ascontiguousarray(value)
    if array.nbytes > _MOST:
        return shown(array)
    bits = array.view(f"u{array.itemsize}") if array.itemsize <= 8 else array.view(np.uint64)
    return f"{array.dtype}{list(array.shape)}: {' '.join(f'{each:x}' for each in bits.ravel().tolist())}"


def changes(name: str, before: Array, after: Array) -> str:
    """The bytes that are not what they were: their places (from - to), and what they are now."""
    if before.shape != after.shape:
        return f"{name}={words(after)}"
    old, new = (np.ascontiguousarray(each).view(np.uint8).ravel() for each in (before, after))
    places = np.flatnonzero(old != new)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    where = f"{name} {len(places)} of {shown(after)}"
    if len(places) > _MOST:
        return where
    return f"{where} {' '.join(f'[{run[0]}-{run[-1]}]={new[run].tobytes().hex()}' for run in runs)}"


class Recorder(Monitor):
    """Writes down everything that the monitor is told."""

    def __init__(self, log: list[str]):
        self._marks = 0
        for name in [each for each in vars(Monitor) if not each.startswith("_") and callable(getattr(Monitor, each))]:
            setattr(self, name, self._told(name, getattr(self, name), log))

    def mark(self) -> int:
        self._marks += 1
        return self._marks

    def _told(self, name: str, function: Callable[..., Any], log: list[str]) -> Callable[..., Any]:
        def told(*arguments: Any, **named: Any) -> Any:
            log.append(f"{name}{shown([*arguments, *(f'{key}={shown(each)}' for key, each in named.items())])}")
            return function(*arguments, **named)

        return told


class Heard(Observer):
    """Writes down what is moved and multiplied."""

    def __init__(self, log: list[str]):
        self._log = log

    def moved(self, space: str, direction: str, count: int) -> None:
        self._log.append(f"{direction} {space} {count}")

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        self._log.append(f"request {shown([lanes, offsets, width])}")

    def multiplied(self, a: Array, b: Array) -> None:
        self._log.append(f"multiplied {shown([a.astype(np.float64), b.astype(np.float64)])}")
