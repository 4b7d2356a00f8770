"""
im2col: columns of pixels of images, at the places of a convolution's filter (PTX ISA, sections 5.5.4 and 5.5.5).

Only figures show where the halo of .im2col::w goes, so that it is not simulated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx.sim.core.types import Array, Binary
from tirx.sim.errors import SimError
from tirx.sim.memory.tensor_copy import Runs, filled
from tirx.sim.tensor_map import Im2col, TensorMap

_FIXED_PIXELS = 128  # of .im2col::w::128
# Bits of an offset, by the rank of the tensor.
_OFFSET_BITS = {3: 16, 4: 8, 5: 5}
_MAX_OFFSET_W = 32


def pixels(tensor_map: TensorMap, columns: Im2col, mode: str, coordinates: Sequence[int], info: Sequence[int]) -> Array:
    """
    Returns the pixels of a column: (pixels, rank - 1) coordinates W, [H, [D,]] N, which may be outside of the tensor.

    `coordinates` are C, the filter's base W, [H, [D,]] and N; `info` what the load mode has more: offsets of W, [H,
    [D]] for im2col, and the halo and the offset of W for the others.
    """
    sizes = [int(size) for size in reversed(tensor_map.array.shape)][1:-1]
    low, high = list(columns.lower), [size - 1 + upper for size, upper in zip(sizes, columns.upper, strict=True)]
    base, image = [int(each) for each in coordinates[1:-1]], int(coordinates[-1])
    steps = list(tensor_map.element_strides[1:-1])
    leftmost = low
    if mode.startswith("im2col::w"):
        halo, shift = info
        if halo:
            raise SimError(f"a halo of {halo} pixels is not simulated: where it goes is not documented")
        if not 0 <= shift < _MAX_OFFSET_W:
            raise SimError(f"expected a W offset from 0 to {_MAX_OFFSET_W - 1}, found {shift}")
        offsets = [0] * len(sizes)
        low[0], high[0], base[0] = low[0] + shift, high[0] + shift, base[0] + shift
        low[1:], high[1:] = base[1:], base[1:]
        leftmost = base  # the first pixel may be to the left of the bounding box
    else:
        offsets = list(info) or [0] * len(sizes)
        limit = 1 << _OFFSET_BITS[tensor_map.rank]
        if any(not 0 <= offset < limit for offset in offsets):
            raise SimError(f"expected im2col offsets from 0 to {limit - 1}, found {tuple(offsets)}")
    # Pixels behind the first one are inside, of which an empty box has none.
    if low[0] > high[0] or not all(first <= at <= last for first, at, last in zip(leftmost, base, high, strict=True)):
        raise SimError(
            f"expected the base of the filter within the bounding box from {tuple(low)} to {tuple(high)}, "
            f"found {tuple(base)}"
        )
    found: list[list[int]] = []
    for _ in range(_FIXED_PIXELS if mode == "im2col::w::128" else columns.pixels):
        found.append([*(at + offset for at, offset in zip(base, offsets, strict=True)), image])
        for axis in range(len(base)):
            base[axis] += steps[axis]
            if base[axis] <= high[axis]:
                break
            base[axis] = low[axis]
        else:
            image += 1
    return np.array(found)


def _inside(tensor_map: TensorMap, first: int, places: Array) -> tuple[tuple[Array, ...], Array, slice]:
    """
    Returns indices (outermost first) of the pixels inside the tensor, their places in the column, and their channels.
    """
    sizes = np.array(list(reversed(tensor_map.array.shape)))
    valid = ((places >= 0) & (places < sizes[1:])).all(axis=1)
    low, high = max(first, 0), min(first + tensor_map.box[0], int(sizes[0]))
    return tuple(places[valid].T[::-1]), np.flatnonzero(valid), slice(low, max(low, high))


def runs_of_column(tensor_map: TensorMap, first: int, places: Array, data: Array | None = None) -> Runs:
    """Returns the bytes of the tensor in channels `first`, ... of pixels, which `data` is stored to."""
    array = tensor_map.array
    index, which, own = _inside(tensor_map, first, places)
    offsets = np.full(len(which), own.start * array.strides[-1])
    for each, stride in zip(index, array.strides[:-1], strict=True):
        offsets = offsets + each * stride
    width = (own.stop - own.start) * array.itemsize
    if data is None:
        return Runs(offsets, width, None)
    column = np.ascontiguousarray(data).view(array.dtype).reshape(len(places), tensor_map.box[0])
    part = np.ascontiguousarray(column[which, own.start - first : own.stop - first])
    return Runs(offsets, width, part.view(np.uint8).reshape(len(which), width))


def load_column(tensor_map: TensorMap, first: int, places: Array) -> Array:
    """The bytes of channels `first`, ... of the pixels at `places`."""
    column = filled(tensor_map, (len(places), tensor_map.box[0]))
    index, which, own = _inside(tensor_map, first, places)
    column[which, own.start - first : own.stop - first] = tensor_map.array[index][:, own]
    return column.ravel().view(np.uint8)


def store_column(tensor_map: TensorMap, first: int, places: Array, data: Array, combine: Binary | None = None) -> None:
    """Writes a column, as `load_column` gives it; what is outside of the tensor is dropped."""
    array = tensor_map.array
    if not array.flags.writeable:
        raise SimError("cp.async.bulk.tensor to a tensor that is read-only")
    index, which, own = _inside(tensor_map, first, places)
    column = np.ascontiguousarray(data).view(array.dtype).reshape(len(places), tensor_map.box[0])
    part = column[which, own.start - first : own.stop - first]
    if combine is not None:
        old = array[index][:, own]
        part = combine(old.ravel(), part.ravel()).reshape(part.shape)
    array[(*index, own)] = part
