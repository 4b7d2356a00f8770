"""The slot of one register tile that, in every thread alike, stands for a slot of another."""

from __future__ import annotations

from tirx.layout.arrays import IntArray, np
from tirx.layout.caching import bounded_cache
from tirx.layout.ownership import AccessError, describe_element, held_elements
from tirx.layout.shape import Shape, check_shape
from tirx.layout.tile import TileLayout


def projected(elements: IntArray, shape: Shape, part: Shape) -> IntArray:
    """The flat indices in a tile of shape `part` of the elements of one of `shape` that are broadcast from them.

    Extents of `part` are those of `shape` or 1. An index of -1, no element, stays.
    """
    coordinates = np.unravel_index(np.maximum(elements, 0), tuple(shape))
    kept = [np.where(extent == 1, 0, at) for at, extent in zip(coordinates, part, strict=True)]
    flat = np.ravel_multi_index(tuple(kept), tuple(part)).astype(np.int64)
    return np.where(elements < 0, -1, flat)


def source_slots(
    whole: TileLayout, shape: Shape, part: TileLayout, part_shape: Shape, threads: int
) -> tuple[int | None, ...]:
    """For each slot of `whole`, the slot of `part` in the same thread with the element that stands for it.

    `whole` is the layout of a tile of `shape`, `part` that of a tile with the same extents or 1 in their place; the
    result is None for slots that hold nothing. Raises AccessError when a thread lacks the element, or has it in
    another slot than other threads.
    """
    check_shape(shape, whole.size())
    check_shape(part_shape, part.size())
    return _source_slots(whole, tuple(shape), part, tuple(part_shape), threads)


@bounded_cache
def _source_slots(
    whole: TileLayout, shape: tuple[int, ...], part: TileLayout, part_shape: tuple[int, ...], threads: int
) -> tuple[int | None, ...]:
    held = held_elements(whole, shape, threads)
    wanted = projected(held, shape, part_shape)
    available = held_elements(part, part_shape, threads)
    found: list[int | None] = []
    for slot in range(wanted.shape[1]):
        column = wanted[:, slot]
        holding = np.flatnonzero(column >= 0)
        if not len(holding):
            found.append(None)
            continue
        first = int(holding[0])
        for source in np.flatnonzero(available[first] == column[first]):
            if bool((available[holding, source] == column[holding]).all()):
                found.append(int(source))
                break
        else:
            element = describe_element(int(column[first]), part_shape)
            raise AccessError(
                f"expected every thread to hold what it needs in one slot, found element {element}, for slot {slot}, "
                f"in none or in different ones: {part} does not follow from {whole}"
            )
    return tuple(found)
