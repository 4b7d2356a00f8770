"""Boxes of tensors: their bytes in global memory, and their addresses in shared memory (PTX ISA, section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tirx.sim.core.types import Array, Binary
from tirx.sim.errors import SimError
from tirx.sim.numerics.formats import OOB_NAN
from tirx.sim.tensor_map import SWIZZLES, TensorMap

_ALIGNMENT = 128
# First coordinates of packed elements are multiples of these: of padded ones, and of 4-bit ones, which start bytes.
_PADDED_START = 128
_PACKED_START = 2


def filled(tensor_map: TensorMap, shape: tuple[int, ...]) -> Array:
    """Elements outside of the tensor."""
    array = tensor_map.array
    if tensor_map.oob_fill == "nan":
        return np.full(shape, OOB_NAN[array.dtype], f"u{array.itemsize}").view(array.dtype)
    return np.zeros(shape, array.dtype)


def load_box(tensor_map: TensorMap, coordinates: Sequence[int]) -> Array:
    """
    The bytes of the box at `coordinates` (elements, innermost first), in the order of shared memory before swizzling.

    Elements outside of the tensor are filled.
    """
    box = filled(tensor_map, tensor_map.box_shape)
    slices = _overlap(tensor_map, coordinates)
    if slices is not None:
        in_tensor, in_box = slices
        box[in_box] = tensor_map.array[in_tensor]
    if tensor_map.element == "f32.ftz":
        subnormal = np.abs(box) < np.finfo(np.float32).smallest_normal
        box[subnormal] = np.copysign(np.float32(0), box[subnormal])
    return box.ravel().view(np.uint8)


def store_box(tensor_map: TensorMap, coordinates: Sequence[int], data: Array, combine: Binary | None = None) -> None:
    """
    Writes the bytes of a box, as `load_box` gives them; elements outside of the tensor are dropped.

    `combine`: writes its result for the old and the new elements.
    """
    array = _writable(tensor_map)
    slices = _overlap(tensor_map, coordinates)
    if slices is None:
        return
    in_tensor, in_box = slices
    part = np.ascontiguousarray(data).view(array.dtype).reshape(tensor_map.box_shape)[in_box]
    if combine is not None:
        part = combine(array[in_tensor].ravel(), part.ravel()).reshape(part.shape)
    array[in_tensor] = part


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """
    Bytes of a tensor: `width` consecutive ones at each of `offsets` from its first element; `data` are those that are
    written there (runs, width).
    """

    offsets: Array
    width: int
    data: Array | None


def runs_of_box(tensor_map: TensorMap, coordinates: Sequence[int], data: Array | None = None) -> Runs | None:
    """Returns the bytes of the tensor in the box at `coordinates`, which `data` is stored to; None if it has none."""
    slices = _overlap(tensor_map, coordinates)
    if slices is None:
        return None
    in_tensor, in_box = slices
    array, last = tensor_map.array, in_tensor[-1]
    whole = last.step == 1
    dimensions: list[Array] = [np.arange(each.start, each.stop, each.step) for each in in_tensor]
    if whole:
        dimensions[-1] = dimensions[-1][:1]
    offsets: Array = np.zeros(1, np.int64)
    for index, stride in zip(dimensions, array.strides, strict=True):
        offsets = (offsets[:, None] + index * stride).ravel()
    width = (last.stop - last.start if whole else 1) * array.itemsize
    if data is None:
        return Runs(offsets, width, None)
    part = np.ascontiguousarray(data).view(array.dtype).reshape(tensor_map.box_shape)[in_box]
    return Runs(offsets, width, np.ascontiguousarray(part).view(np.uint8).reshape(len(offsets), width))


def _writable(tensor_map: TensorMap) -> Array:
    if not tensor_map.array.flags.writeable:
        raise SimError("cp.async.bulk.tensor to a tensor that is read-only")
    return tensor_map.array


_Slices: TypeAlias = tuple[slice, ...]


def _overlap(tensor_map: TensorMap, coordinates: Sequence[int]) -> tuple[_Slices, _Slices] | None:
    """
    Intersects the box at `coordinates` with the tensor: slices of the tensor and of the box. None if they are disjoint.
    """
    in_tensor: list[slice] = []
    in_box: list[slice] = []
    sizes, counts, steps = tensor_map.array.shape, tensor_map.box_shape, tuple(reversed(tensor_map.element_strides))
    starts = _units(tensor_map, coordinates)
    for start, size, count, step in zip(reversed(starts), sizes, counts, steps, strict=True):
        # Element i of the box is element start + i * step of the tensor.
        first = max(0, -(start // step))
        last = min(count, -(-(size - start) // step))
        if first >= last:
            return None
        in_tensor.append(slice(start + first * step, start + (last - 1) * step + 1, step))
        in_box.append(slice(first, last))
    return tuple(in_tensor), tuple(in_box)


def _units(tensor_map: TensorMap, coordinates: Sequence[int]) -> list[int]:
    """Coordinates in units of the array: packed elements are counted in bytes there."""
    first, *rest = coordinates
    return [first if tensor_map.packing is None else first * tensor_map.packing[0] // 8, *rest]


def check_start(tensor_map: TensorMap, coordinates: Sequence[int]) -> None:
    """Raises SimError unless packed elements start at a legal coordinate (section 9.7.9.26.5.1)."""
    if tensor_map.packing is None:
        return
    unit = _PADDED_START if tensor_map.packing[1] == 16 else _PACKED_START
    if coordinates[0] % unit:
        raise SimError(
            f"expected a first coordinate that is a multiple of {unit} for .{tensor_map.element}, "
            f"found {coordinates[0]}"
        )


def rows_of(coordinates: Sequence[int]) -> list[tuple[int, int]]:
    """The boxes of .tile::gather4 and .tile::scatter4 (section 5.5.3.4): a column, and four rows."""
    column, *rows = coordinates
    return [(column, row) for row in rows]


def check_rows(tensor_map: TensorMap) -> None:
    """Raises SimError unless a map may be used by .tile::gather4 and .tile::scatter4."""
    if tensor_map.rank != 2 or tensor_map.box[1] != 1:
        raise SimError(
            f"expected a tensor map of two dimensions with one row in a box for .tile::gather4 and .tile::scatter4, "
            f"found box {tensor_map.box}"
        )


def shared_addresses(tensor_map: TensorMap, start: int, rows: int | None = None) -> Array:
    """
    Returns the shared memory address of every byte of a box stored at `start`, in the order of `load_box`.

    `rows`: how many rows, if not those of one box.
    """
    span, swaps = SWIZZLES[tensor_map.swizzle]
    if start % _ALIGNMENT:
        raise SimError(f"expected a multiple of {_ALIGNMENT} as the shared memory address of a box, found {start:#x}")
    inner, row_bytes = tensor_map.box_shape[-1] * tensor_map.array.itemsize, tensor_map.inner_bytes
    if rows is None:
        rows = tensor_map.box_bytes // inner
    byte = np.arange(inner)
    if tensor_map.packing is not None:
        bits, group = tensor_map.packing
        # Groups of 16 elements are followed by padding, which is not written.
        byte = byte // (2 * bits) * group + byte % (2 * bits)
    # Rows of the box are rows of the pattern, however much of them the box fills.
    linear = start + (np.arange(rows)[:, None] * (span or row_bytes) + byte[None, :]).ravel()
    result = linear
    for mask, shift in swaps:
        result = result ^ ((linear >> shift) & mask)
    return result
