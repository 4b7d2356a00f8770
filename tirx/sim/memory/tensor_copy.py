"""Boxes of tensors: their bytes in global memory, and where they go in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.tensor_map import SWIZZLES, TensorMap

_ALIGNMENT = 128


def load_box(tensor_map: TensorMap, coordinates: Sequence[int]) -> Array:
    """
    The bytes of the box at `coordinates` (elements, innermost first), in the order of shared memory before swizzling.

    Elements outside of the tensor are filled.
    """
    array, shape = tensor_map.array, tensor_map.box_shape
    box = np.zeros((*shape, array.itemsize), np.uint8)
    if tensor_map.oob_fill == "nan":
        box[:] = np.full((*shape, 1), np.nan).astype(array.dtype).view(np.uint8)
    source: list[slice] = []
    target: list[slice] = []
    steps = tuple(reversed(tensor_map.element_strides))
    for start, size, count, step in zip(reversed(coordinates), array.shape, shape, steps, strict=True):
        # Element i of the box is element start + i * step of the tensor.
        first = max(0, -(start // step)) if start < 0 else 0
        last = min(count, -(-(size - start) // step))
        if first >= last:
            return box.reshape(-1)
        source.append(slice(start + first * step, start + (last - 1) * step + 1, step))
        target.append(slice(first, last))
    part = np.ascontiguousarray(array[tuple(source)])
    box[tuple(target)] = part.view(np.uint8).reshape(*part.shape, array.itemsize)
    return box.reshape(-1)


def shared_addresses(tensor_map: TensorMap, start: int) -> Array:
    """The shared memory address of every byte of a box that goes to `start`."""
    span, mask, shift = SWIZZLES[tensor_map.swizzle]
    if start % _ALIGNMENT:
        raise SimError(f"expected a multiple of {_ALIGNMENT} as the shared memory address of a box, found {start:#x}")
    inner = tensor_map.box_shape[-1] * tensor_map.array.itemsize
    if not span:
        return start + np.arange(tensor_map.box_bytes)
    # Rows of the box are rows of the pattern, however much of them the box fills.
    rows = tensor_map.box_bytes // inner
    linear = start + (np.arange(rows)[:, None] * span + np.arange(inner)[None, :]).reshape(-1)
    return linear ^ ((linear >> shift) & mask)
