"""Boxes of tensors: their bytes in global memory, and where they go in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

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
    slices = _overlap(tensor_map, coordinates)
    if slices is not None:
        in_tensor, in_box = slices
        part = np.ascontiguousarray(array[in_tensor])
        box[in_box] = part.view(np.uint8).reshape(*part.shape, array.itemsize)
    return box.reshape(-1)


def store_box(tensor_map: TensorMap, coordinates: Sequence[int], data: Array) -> None:
    """Writes the bytes of a box, as `load_box` gives them; elements outside of the tensor are dropped."""
    array = tensor_map.array
    if not array.flags.writeable:
        raise SimError("cp.async.bulk.tensor to a tensor that is read-only")
    slices = _overlap(tensor_map, coordinates)
    if slices is not None:
        in_tensor, in_box = slices
        box = np.ascontiguousarray(data).view(array.dtype).reshape(tensor_map.box_shape)
        array[in_tensor] = box[in_box]


_Slices: TypeAlias = tuple[slice, ...]


def _overlap(tensor_map: TensorMap, coordinates: Sequence[int]) -> tuple[_Slices, _Slices] | None:
    """Where the box at `coordinates` is in the tensor, and which part of the box that is; None if nowhere."""
    in_tensor: list[slice] = []
    in_box: list[slice] = []
    sizes, counts, steps = tensor_map.array.shape, tensor_map.box_shape, tuple(reversed(tensor_map.element_strides))
    for start, size, count, step in zip(reversed(coordinates), sizes, counts, steps, strict=True):
        # Element i of the box is element start + i * step of the tensor.
        first = max(0, -(start // step)) if start < 0 else 0
        last = min(count, -(-(size - start) // step))
        if first >= last:
            return None
        in_tensor.append(slice(start + first * step, start + (last - 1) * step + 1, step))
        in_box.append(slice(first, last))
    return tuple(in_tensor), tuple(in_box)


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
