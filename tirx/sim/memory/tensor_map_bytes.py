"""
Tensor maps as the 128 bytes that a kernel passes around, copies and changes (PTX ISA, sections 5.5.8 and 9.7.9.27).

What a GPU keeps in them is not documented; this arrangement is ours.
"""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.tensor_map import ELEMENTS, PACKINGS, Im2col, TensorMap

SIZE = 128
ALIGNMENT = 64
MAX_RANK = 5
MAGIC = 0x70616D74  # of 128 bytes that are a map
_NAMES = tuple(ELEMENTS)
# Swizzle modes and their atomicities, by the numbers of tensormap.replace.
_SWIZZLES = {
    "none": (0, 0),
    "32B": (1, 0),
    "64B": (2, 0),
    "128B": (3, 0),
    "128B_atom_32B": (3, 1),
    "128B_atom_32B_flip_8B": (3, 2),
    "128B_atom_64B": (3, 3),
}
_SWIZZLE_NAMES = {numbers: name for name, numbers in _SWIZZLES.items()}
_FILLS = ("zero", "nan")
# Rounding to tf32 is not documented.
_NOT_SIMULATED = ("tf32", "tf32.ftz")

FIELDS = np.dtype({
    "names": [
        "magic", "im2col", "rank", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode",
        "global_address", "global_dim", "box_dim", "element_stride", "global_stride", "lower", "upper", "channels",
        "pixels",
    ],
    "formats": [
        "u4", "u1", "u1", "u1", "u1", "u1", "u1", "u1", "u8", ("u4", 5), ("u2", 5), ("u1", 5), ("u8", 4), ("i2", 3),
        ("i2", 3), "u2", "u2",
    ],
    "offsets": [0, 4, 5, 6, 7, 8, 9, 10, 16, 24, 44, 54, 64, 96, 102, 108, 110],
    "itemsize": SIZE,
})  # fmt: skip


def encode(tensor_map: TensorMap, address: int) -> Array:
    """The bytes of a map of the tensor at `address` in global memory."""
    record = np.zeros(1, FIELDS)
    fields = record[0]
    array, rank = tensor_map.array, tensor_map.rank
    fields["magic"], fields["rank"], fields["global_address"] = MAGIC, rank - 1, address
    fields["elemtype"] = _NAMES.index(tensor_map.element)
    fields["swizzle_mode"], fields["swizzle_atomicity"] = _SWIZZLES[tensor_map.swizzle]
    fields["fill_mode"] = _FILLS.index(tensor_map.oob_fill)
    sizes = list(reversed(array.shape))
    if tensor_map.packing is not None:
        sizes[0] = sizes[0] * 8 // tensor_map.packing[0]
    fields["global_dim"][:rank] = sizes
    fields["global_stride"][: rank - 1] = list(reversed(array.strides[:-1]))
    fields["box_dim"][:rank] = tensor_map.box
    fields["element_stride"][:rank] = tensor_map.element_strides
    columns = tensor_map.columns
    if columns is not None:
        spatial = rank - 2
        fields["im2col"], fields["channels"], fields["pixels"] = 1, columns.channels, columns.pixels
        fields["lower"][:spatial], fields["upper"][:spatial] = columns.lower, columns.upper
    return record.view(np.uint8)


def decode(raw: Array, memory: FlatMemory) -> TensorMap:
    """Decodes a tensor map of 128 bytes over global memory. Raises SimError if the bytes are none."""
    fields = np.frombuffer(raw.tobytes(), FIELDS)[0]
    if fields["magic"] != MAGIC:
        raise SimError(f"expected a tensor map, found {SIZE} bytes that are none")
    rank = int(fields["rank"]) + 1
    element = _named(_NAMES, int(fields["elemtype"]), "element type")
    if element in _NOT_SIMULATED:
        raise SimError(f"tensor map: element type .{element} is not simulated: how it rounds is not documented")
    if fields["interleave_layout"]:
        raise SimError("tensor map: an interleave layout is not simulated: where its slices lie is not documented")
    numbers = int(fields["swizzle_mode"]), int(fields["swizzle_atomicity"])
    # The atomicity counts for 128B swizzle only.
    swizzle = _SWIZZLE_NAMES.get(numbers if numbers[0] == 3 else (numbers[0], 0))
    if swizzle is None or rank > MAX_RANK:
        raise SimError(f"tensor map: swizzle mode {numbers[0]} with atomicity {numbers[1]}, rank {rank}")
    bits = PACKINGS[element][0] if element in PACKINGS else 0
    dtype = np.dtype(ELEMENTS[element])
    sizes: list[int] = fields["global_dim"][:rank].tolist()
    if bits:
        sizes[0] = sizes[0] * bits // 8
    strides: list[int] = [dtype.itemsize, *fields["global_stride"][: rank - 1].tolist()]
    if min(sizes) < 1:
        raise SimError(f"tensor map: expected positive sizes, found {sizes}")
    address = int(fields["global_address"])
    if address % 16:
        raise SimError(f"tensor map: expected a global address that is a multiple of 16, found {address:#x}")
    span = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + dtype.itemsize
    data = memory.bytes_at(address, span, "tensor of a tensor map")
    first = data[: dtype.itemsize].view(dtype)
    array = np.lib.stride_tricks.as_strided(first, tuple(reversed(sizes)), tuple(reversed(strides)))
    columns = None
    if fields["im2col"]:
        lower, upper = (tuple(fields[name][: rank - 2].tolist()) for name in ("lower", "upper"))
        columns = Im2col(lower, upper, int(fields["channels"]), int(fields["pixels"]))
    return TensorMap(
        array,
        fields["box_dim"][:rank].tolist(),
        swizzle,  # type: ignore[arg-type]
        element_strides=fields["element_stride"][:rank].tolist(),
        oob_fill=_named(_FILLS, int(fields["fill_mode"]), "fill mode"),  # type: ignore[arg-type]
        element=element,
        columns=columns,
    )


def _named(names: tuple[str, ...], number: int, what: str) -> str:
    if number >= len(names):
        raise SimError(f"tensor map: expected {what} from 0 to {len(names) - 1}, found {number}")
    return names[number]


def bytes_of_tensor(array: Array) -> int:
    """Returns the bytes from the first to the last element of `array`, whose strides are not negative."""
    if not array.size:
        return 0
    return sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)) + array.itemsize
