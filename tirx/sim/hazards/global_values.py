"""Values of writes to global memory: those that differ in one instruction, and those that change nothing."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError
from tirx.sim.hazards.monitor import bytes_of
from tirx.sim.memory.segment import Segment


def refuse_clash(segment: Segment, offsets: Array, values: Array) -> None:
    """Raises HazardError if threads write different values to a byte by one instruction."""
    raw: Array = values.view(np.uint8)
    places, raw = bytes_of(offsets, raw.shape[1]).ravel(), raw.ravel()
    order = np.argsort(places)
    places, raw = places[order], raw[order]
    bad = (places[1:] == places[:-1]) & (raw[1:] != raw[:-1])
    if bad.any():
        raise HazardError(
            f"data race: lanes of one store write different values to byte {int(places[1:][bad][0])} of {segment.name}"
        )


def changes(segment: Segment, offsets: Array, values: Array | None, shape: tuple[int, ...]) -> Mask:
    """Returns for each granule of accesses whether they change what is in memory."""
    if values is None:
        return np.ones(shape, np.bool_)
    if values.dtype == np.uint8:
        changes = segment.data[offsets[:, None] + np.arange(values.shape[1])] != values
    else:
        changes = segment.gather(offsets, values.dtype, values.shape[1]) != values
    parts, units = changes.shape[1], shape[1]
    if units == parts:
        return changes
    if units > parts:
        return np.repeat(changes, units // parts, axis=1)
    return changes.reshape(shape[0], units, parts // units).any(axis=2)
