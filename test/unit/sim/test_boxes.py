"""Boxes and columns of tensor maps against their definitions, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, TensorMap
from tirx.sim.core.types import Array
from tirx.sim.memory import columns, tensor_copy, tensor_map_bytes
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.tensor_map import Im2col


def _places(tensor_map: TensorMap, start: Sequence[int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Indices in the box, outermost first, and in the tensor, of the elements of a box that are inside."""
    steps = tensor_map.element_strides[::-1]
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for index in product(*(range(count) for count in tensor_map.box_shape)):
        at = tuple(first + i * step for first, i, step in zip(start[::-1], index, steps, strict=True))
        if all(0 <= each < size for each, size in zip(at, tensor_map.array.shape, strict=True)):
            found.append((index, at))
    return found


@together("steps", [(1, 1, 1), (1, 2, 1), (1, 3, 2)])
@together("fill", ["zero", "nan"])
def test_boxes(steps: tuple[int, ...], fill: Any) -> None:
    rng = np.random.default_rng(sum(steps))
    for start in zip(
        *(rng.integers(low, high, 16).tolist() for low, high in ((-9, 25), (-7, 6), (-4, 4))), strict=True
    ):
        array = np.arange(1, 3 * 5 * 24 + 1, dtype=np.float16).reshape(3, 5, 24)
        tensor_map = TensorMap(array, (8, 5, 4), element_strides=steps, oob_fill=fill)
        places = _places(tensor_map, start)
        expected = np.full(tensor_map.box_shape, np.nan if fill == "nan" else 0, np.float16)
        for index, at in places:
            expected[index] = array[at]
        found = tensor_copy.load_box(tensor_map, start).view(np.float16)
        assert np.array_equal(found, expected.ravel(), equal_nan=True), start
        if fill == "nan":
            continue
        data = np.arange(500, 500 + expected.size, dtype=np.float16).reshape(expected.shape)
        written, added = array.copy(), array.copy()
        for index, at in places:
            written[at] = data[index]
            added[at] += 2 * data[index]
        tensor_copy.store_box(tensor_map, start, data.view(np.uint8), lambda old, new: old + 2 * new)
        assert (array == added).all(), start
        tensor_copy.store_box(tensor_map, start, data.view(np.uint8))
        assert (array == written).all(), start


def test_sizes_of_boxes() -> None:
    array = np.zeros((3, 5, 24), np.float16)
    tensor_map = TensorMap(array, (8, 5, 4), element_strides=(1, 3, 3))
    assert (tensor_map.rank, tensor_map.box_shape) == (3, (2, 2, 8))
    assert (tensor_map.box_bytes, tensor_map.inner_bytes) == (64, 16)
    image = TensorMap.im2col(array, (0,), (0,), 8, 3, "32B", oob_fill="nan")
    assert (image.box, image.swizzle, image.oob_fill) == ((8, 1, 1), "32B", "nan")
    assert tensor_copy.shared_addresses(image, 128).tolist() == list(range(144, 160))
    assert tensor_copy.shared_addresses(tensor_map, 128).tolist() == list(range(128, 192))


def test_subnormal_elements() -> None:
    tiny = np.float32(2.0**-127)
    array = np.array([[1.0, tiny, -tiny, 2.0**-126], [0.0, -(2.0**-126), -0.0, 2 * tiny]], np.float32)
    kept = tensor_copy.load_box(TensorMap(array, (4, 2)), (0, 0)).view(np.float32)
    assert (kept == array.ravel()).all()
    flushed = tensor_copy.load_box(TensorMap(array, (4, 2), element="f32.ftz"), (0, 0)).view(np.float32)
    expected = np.array([1.0, 0.0, -0.0, 2.0**-126, 0.0, -(2.0**-126), -0.0, 2 * tiny], np.float32)
    assert flushed.tobytes() == expected.tobytes()


def test_boxes_of_packed_elements() -> None:
    """Coordinates count elements of 4 or 6 bits; groups of 16 have padding behind them in shared memory."""
    array = np.arange(4 * 192, dtype=np.uint32).astype(np.uint8).reshape(4, 192)
    packed = TensorMap(array, (32, 2), packing="b4x16")
    assert packed.box_shape == (2, 16) and packed.box_bytes == 32
    assert tensor_copy.load_box(packed, (6, 1)).tolist() == [*array[1, 3:19], *array[2, 3:19]]
    six = TensorMap(array, (128, 2), packing="b6x16_p32")
    assert six.box_shape == (2, 96) and six.inner_bytes == 128
    assert tensor_copy.load_box(six, (128, 2)).tolist() == [*array[2, 96:], *array[3, 96:]]
    byte = np.arange(96)
    rows = 512 + byte // 12 * 16 + byte % 12
    assert tensor_copy.shared_addresses(six, 512).tolist() == [*rows, *(rows + 128)]
    four = TensorMap(array, (128, 1), packing="b4x16_p64")
    byte = np.arange(64)
    assert tensor_copy.shared_addresses(four, 0, 3).tolist() == [
        row * 128 + each for row in range(3) for each in byte // 8 * 16 + byte % 8
    ]
    for tensor_map, good, bad, unit in ((packed, 2, 3, 2), (six, 256, 192, 128), (four, 128, 64, 128)):
        tensor_copy.check_start(tensor_map, (good, 1))
        assert _message(tensor_copy.check_start, tensor_map, (bad, 1)) == (
            f"expected a first coordinate that is a multiple of {unit} for .{tensor_map.element}, found {bad}"
        )
    tensor_copy.check_start(TensorMap(array, (16, 1)), (3, 0))


_SWIZZLED = {
    # 16-byte (or smaller) pieces of address a, by the bits that are combined: (bits of a, bits of the pattern, shift)
    "none": (0, 0, 0),
    "32B": (0x10, 0x80, 3),
    "64B": (0x30, 0x180, 3),
    "128B": (0x70, 0x380, 3),
    "128B_atom_32B": (0x60, 0x180, 2),
    "128B_atom_64B": (0x40, 0x80, 1),
}


@together("swizzle", [*_SWIZZLED, "128B_atom_32B_flip_8B"])
def test_addresses_of_boxes(swizzle: Any) -> None:
    inner = {"none": 48, "32B": 32, "64B": 48}.get(swizzle, 112)
    pitch = {"none": 48, "32B": 32, "64B": 64}.get(swizzle, 128)
    tensor_map = TensorMap(np.zeros((40, 128), np.uint8), (inner, 20), swizzle)
    linear = [3072 + row * pitch + byte for row in range(20) for byte in range(inner)]
    if swizzle == "128B_atom_32B_flip_8B":
        expected = [a ^ (a >> 2 & 0x60) ^ (a >> 4 & 8) for a in linear]
    else:
        _, pattern, shift = _SWIZZLED[swizzle]
        expected = [a ^ (a & pattern) >> shift for a in linear]
    assert tensor_copy.shared_addresses(tensor_map, 3072).tolist() == expected
    assert tensor_copy.shared_addresses(tensor_map, 3072, 7).tolist() == expected[: 7 * inner]
    assert _message(tensor_copy.shared_addresses, tensor_map, 3072 + 64) == (
        "expected a multiple of 128 as the shared memory address of a box, found 0xc40"
    )


def test_rows() -> None:
    assert tensor_copy.rows_of((7, 1, 3, 2, 9)) == [(7, 1), (7, 3), (7, 2), (7, 9)]
    array = np.zeros((8, 16), np.uint8)
    tensor_copy.check_rows(TensorMap(array, (16, 1)))
    for tensor_map in (TensorMap(array, (16, 2)), TensorMap(array[None], (16, 1, 1)), TensorMap(array[0], (16,))):
        assert _message(tensor_copy.check_rows, tensor_map) == (
            "expected a tensor map of two dimensions with one row in a box for .tile::gather4 and .tile::scatter4, "
            f"found box {tensor_map.box}"
        )


def test_read_only_tensors() -> None:
    array = np.zeros((8, 16), np.uint8)
    array.flags.writeable = False
    message = "cp.async.bulk.tensor to a tensor that is read-only"
    assert _message(tensor_copy.store_box, TensorMap(array, (16, 2)), (0, 0), np.zeros(32, np.uint8)) == message
    images = TensorMap.im2col(array.reshape(2, 4, 16), (0,), (0,), 16, 2)
    assert _message(columns.store_column, images, 0, np.zeros((2, 2), int), np.zeros(32, np.uint8)) == message


def _message(function: Any, *arguments: Any) -> str:
    with pytest.raises(SimError) as caught:
        function(*arguments)
    return caught.value.message


# Columns of images

_IMAGES = np.arange(1, 3 * 4 * 5 * 24 + 1, dtype=np.float16).reshape(3, 4, 5, 24)  # N, H, W, C


def _pixels(map_: TensorMap, mode: str, coordinates: Sequence[int], info: Sequence[int]) -> Array:
    assert map_.columns is not None
    return columns.pixels(map_, map_.columns, mode, coordinates, info)


def test_pixels_of_columns() -> None:
    """W first, from one corner of the bounding box to the other, then H, then the next image."""
    image = TensorMap.im2col(_IMAGES, (-1, 0), (0, 1), 8, 17, element_strides=(1, 2, 3, 1))
    raster = [(w, h, n) for n in range(4) for h in (0, 3) for w in (-1, 1, 3)]
    found = _pixels(image, "im2col", (0, 1, 3, 0), (2, 1)).tolist()
    assert found == [[w + 2, h + 1, n] for w, h, n in raster[raster.index((1, 3, 0)) :]][:17]
    assert _pixels(image, "im2col", (0, 4, 4, 2), ()).tolist()[:5] == [
        [4, 4, 2], [-1, 0, 3], [1, 0, 3], [3, 0, 3], [-1, 3, 3],
    ]  # fmt: skip
    line = TensorMap.im2col(_IMAGES[0], (0,), (-1,), 8, 6)
    assert _pixels(line, "im2col", (0, 2, 1), (0,)).tolist() == [[2, 1], [3, 1], [0, 2], [1, 2], [2, 2], [3, 2]]
    cube = TensorMap.im2col(_IMAGES[None], (0, 1, 0), (-3, -2, -1), 8, 5)
    assert _pixels(cube, "im2col", (0, 1, 1, 0, 0), (1, 2, 3)).tolist() == [
        [2, 3, 3, 0], [1, 3, 4, 0], [2, 3, 4, 0], [1, 3, 3, 1], [2, 3, 3, 1],
    ]  # fmt: skip


def test_pixels_of_columns_along_w() -> None:
    image = TensorMap.im2col(_IMAGES, (-1, 0), (1, 1), 8, 8)
    # The bounding box moves with the offset; H stays.
    assert _pixels(image, "im2col::w", (0, -1, 2, 0), (0, 2)).tolist() == [
        [1, 2, 0], [2, 2, 0], [3, 2, 0], [4, 2, 0], [5, 2, 0], [6, 2, 0], [7, 2, 0], [1, 2, 1],
    ]  # fmt: skip
    assert _pixels(image, "im2col::w", (0, -2, 2, 0), (0, 0)).tolist()[:2] == [[-2, 2, 0], [-1, 2, 0]]
    fixed = _pixels(image, "im2col::w::128", (0, 5, 1, 1), (0, 31))
    assert fixed.shape == (128, 3) and fixed[:3].tolist() == [[36, 1, 1], [30, 1, 2], [31, 1, 2]]
    single, empty = (TensorMap.im2col(_IMAGES, (lower, 0), (-1, 0), 8, 8) for lower in (3, 4))
    assert _pixels(single, "im2col::w", (0, 2, 1, 0), (0, 0)).tolist()[:3] == [[2, 1, 0], [3, 1, 0], [3, 1, 1]]
    with pytest.raises(SimError, match=r"within the bounding box from \(4, 1\) to \(3, 1\), found \(2, 1\)"):
        _pixels(empty, "im2col::w", (0, 2, 1, 0), (0, 0))


@together(
    ("mode", "coordinates", "info", "message"),
    [
        ("im2col::w", (0, 0, 0, 0), (3, 0), "a halo of 3 pixels is not simulated: where it goes is not documented"),
        ("im2col::w", (0, 0, 0, 0), (0, 32), "expected a W offset from 0 to 31, found 32"),
        ("im2col::w", (0, 0, 0, 0), (0, -1), "expected a W offset from 0 to 31, found -1"),
        ("im2col", (0, 0, 0, 0), (255, 256), "expected im2col offsets from 0 to 255, found (255, 256)"),
        ("im2col", (0, 0, 0, 0), (-1, 0), "expected im2col offsets from 0 to 255, found (-1, 0)"),
        ("im2col", (0, -2, 0, 0), (0, 0),
         "expected the base of the filter within the bounding box from (-1, 0) to (5, 4), found (-2, 0)"),
        ("im2col", (0, 6, 0, 0), (0, 0),
         "expected the base of the filter within the bounding box from (-1, 0) to (5, 4), found (6, 0)"),
        ("im2col", (0, 5, 5, 0), (0, 0),
         "expected the base of the filter within the bounding box from (-1, 0) to (5, 4), found (5, 5)"),
        ("im2col::w", (0, 6, 1, 0), (0, 1),
         "expected the base of the filter within the bounding box from (0, 1) to (6, 1), found (7, 1)"),
    ],
)  # fmt: skip
def test_wrong_pixels(mode: str, coordinates: Sequence[int], info: Sequence[int], message: str) -> None:
    image = TensorMap.im2col(_IMAGES, (-1, 0), (1, 1), 8, 8)
    assert _message(_pixels, image, mode, coordinates, info) == message


def test_offsets_of_every_rank() -> None:
    for array, spatial, bits in ((_IMAGES[0], 1, 16), (_IMAGES, 2, 8), (_IMAGES[None], 3, 5)):
        image = TensorMap.im2col(array, (0,) * spatial, (0,) * spatial, 8, 1)
        most = (1 << bits) - 1
        zeros = (0,) * (spatial + 2)
        assert _pixels(image, "im2col", zeros, (most,) * spatial).tolist() == [[most] * spatial + [0]]
        assert _message(_pixels, image, "im2col", zeros, (most + 1,) * spatial) == (
            f"expected im2col offsets from 0 to {most}, found {(most + 1,) * spatial}"
        )


def test_columns() -> None:
    """Channels `first` and on of each pixel; what is outside is filled, or dropped."""
    inside, below = [[0, 0, 0], [4, 3, 2], [2, 1, 1]], [[-1, 0, 0], [0, -1, 1], [0, 0, -1]]
    pixels: list[list[int]] = [*inside, *below, [5, 0, 0], [0, 4, 1], [0, 0, 3]]
    places = np.array(pixels)
    for first in (-16, -9, -8, -3, 0, 5, 16, 17, 23, 24, 30):
        array = _IMAGES.copy()
        image = TensorMap.im2col(array, (0, 0), (0, 0), 8, len(places), oob_fill="nan")
        expected = np.full((len(places), 8), np.nan, np.float16)
        data = np.arange(600, 600 + expected.size, dtype=np.float16).reshape(expected.shape)
        written, added = array.copy(), array.copy()
        for (row, (w, h, n)), channel in product(enumerate(pixels), range(8)):
            c = first + channel
            if 0 <= w < 5 and 0 <= h < 4 and 0 <= n < 3 and 0 <= c < 24:
                expected[row, channel] = array[n, h, w, c]
                written[n, h, w, c], added[n, h, w, c] = data[row, channel], array[n, h, w, c] + 2 * data[row, channel]
        found = columns.load_column(image, first, places).view(np.float16)
        assert np.array_equal(found, expected.ravel(), equal_nan=True), first
        columns.store_column(image, first, places, data.view(np.uint8), lambda old, new: old + 2 * new)
        assert (array == added).all(), first
        array[:] = _IMAGES
        columns.store_column(image, first, places, data.view(np.uint8))
        assert (array == written).all(), first


# The bytes of tensor maps


def _parts(tensor_map: TensorMap) -> tuple[object, ...]:
    return (
        *(tensor_map.array.shape, tensor_map.array.strides, tensor_map.array.dtype, tensor_map.box),
        *(tensor_map.swizzle, tensor_map.element_strides, tensor_map.oob_fill, tensor_map.element, tensor_map.columns),
    )


def test_bytes_of_maps() -> None:
    """A map is what its bytes say, and reads and writes the same memory."""
    raw = np.arange(4096, dtype=np.uint32).view(np.uint8)
    words, halves = raw[:2048].view(np.uint32), raw.view(np.float16)
    maps = [
        TensorMap(words[:480].reshape(5, 6, 16)[:, :, :12], (4, 3, 2), element_strides=(1, 2, 1)),
        TensorMap(halves[:512].reshape(8, 64), (64, 8), "128B", oob_fill="nan"),
        TensorMap(halves[:512].reshape(16, 32), (16, 2), "32B"),
        TensorMap(raw[:512].reshape(8, 64), (64, 2), "64B"),
        TensorMap(raw[:512].reshape(8, 64), (32, 2), "128B_atom_32B"),
        TensorMap(raw[:512].reshape(8, 64), (48, 2), "128B_atom_32B_flip_8B"),
        TensorMap(raw[:512].reshape(8, 64), (16, 1), "128B_atom_64B"),
        TensorMap(raw[:384].reshape(4, 96), (128, 2), packing="b6x16_p32"),
        TensorMap(raw[:384].reshape(4, 96), (32, 2), packing="b4x16"),
        TensorMap(words[:64].reshape(64), (4,), element="u32"),
        TensorMap(words[:64].reshape(1, 64), (4, 1)),
        TensorMap.im2col(halves[:480].reshape(2, 3, 5, 16), (-1, 2), (3, -4), 8, 100),
        TensorMap.im2col(halves[:480].reshape(6, 5, 16), (-300,), (7,), 8, 99, element_strides=(1, 2, 1)),
        TensorMap(words[:480].view(np.float32).reshape(2, 2, 2, 3, 20), (4, 1, 2, 1, 2), element="f32.ftz"),
    ]
    for tensor_map in maps:
        memory = FlatMemory("global", 256)
        address = memory.add(raw, "raw") + tensor_map_bytes.bytes_of_tensor(raw[:0])
        found = tensor_map_bytes.decode(tensor_map_bytes.encode(tensor_map, address), memory)
        assert _parts(found) == _parts(tensor_map)
        raw_map = tensor_map_bytes.encode(tensor_map, address)
        flag = raw_map.view(tensor_map_bytes.FIELDS)["im2col"].tolist()
        assert raw_map.nbytes == 128 and flag == [int(tensor_map.columns is not None)]
        assert np.shares_memory(found.array, raw) and found.array.tobytes() == tensor_map.array.tobytes()


def test_sizes_of_tensors() -> None:
    array = np.zeros((3, 5, 8), np.uint16)
    expected = [(array, 240), (array[:, :, :3], 230), (array[:2, :4], 144), (array[:, 1:2, 4], 162), (array[:0], 0)]
    assert [tensor_map_bytes.bytes_of_tensor(each) for each, _ in expected] == [size for _, size in expected]


def test_fields_of_maps() -> None:
    """Where the fields are, which tensormap.replace changes."""
    array = np.zeros((3, 5, 8), np.uint16)
    fields = tensor_map_bytes.encode(TensorMap(array, (8, 4, 2), "32B", element_strides=(1, 2, 3)), 0x1230)
    record = fields.view(tensor_map_bytes.FIELDS)[0]
    assert {name: record[name].tolist() for name in tensor_map_bytes.FIELDS.names or ()} == {
        "magic": 0x70616D74, "im2col": 0, "rank": 2, "elemtype": 1, "interleave_layout": 0, "swizzle_mode": 1,
        "swizzle_atomicity": 0, "fill_mode": 0, "global_address": 0x1230, "global_dim": [8, 5, 3, 0, 0],
        "box_dim": [8, 4, 2, 0, 0], "element_stride": [1, 2, 3, 0, 0], "global_stride": [16, 80, 0, 0],
        "lower": [0, 0, 0], "upper": [0, 0, 0], "channels": 0, "pixels": 0,
    }  # fmt: skip


@together(
    ("field", "value", "message"),
    [
        ("magic", 1, "expected a tensor map, found 128 bytes that are none"),
        ("elemtype", 16, "tensor map: expected element type from 0 to 15, found 16"),
        ("elemtype", 11, "tensor map: element type .tf32 is not simulated: how it rounds is not documented"),
        ("interleave_layout", 1,
         "tensor map: an interleave layout is not simulated: where its slices lie is not documented"),
        ("swizzle_mode", 4, "tensor map: swizzle mode 4 with atomicity 1, rank 2"),
        ("swizzle_mode", 3, None),
        ("swizzle_mode", 2, None),
        ("rank", 5, "tensor map: swizzle mode 0 with atomicity 1, rank 6"),
        ("global_dim", (8, 0, 0, 0, 0), "tensor map: expected positive sizes, found [8, 0]"),
        ("global_address", 0x108, "tensor map: expected a global address that is a multiple of 16, found 0x108"),
        ("global_address", 0x110, "out-of-bounds global tensor of a tensor map of 80 bytes at 0x110"),
        ("global_stride", (15, 0, 0, 0),
         "tensor map: expected contiguous rows and strides of multiples of 16 bytes, found (15, 2)"),
        ("fill_mode", 2, "tensor map: expected fill mode from 0 to 1, found 2"),
        ("box_dim", (8, 257, 0, 0, 0), "tensor map: expected box sizes from 1 to 256, found (8, 257)"),
    ],
)  # fmt: skip
def test_changed_bytes_of_maps(field: str, value: Any, message: str | None) -> None:
    memory = FlatMemory("global", 256)
    array = np.zeros((5, 8), np.uint16)
    address = memory.add(array.view(np.uint8).ravel(), "a")
    raw = tensor_map_bytes.encode(TensorMap(array, (8, 4)), address)
    record = raw.view(tensor_map_bytes.FIELDS)[0]
    record[field] = value
    record["swizzle_atomicity"] = 1
    if message is None:
        swizzle = {3: "128B_atom_32B", 2: "64B"}[value]
        assert tensor_map_bytes.decode(raw, memory).swizzle == swizzle
    else:
        assert _message(tensor_map_bytes.decode, raw, memory) == message


def _maps(array: Array, box: Sequence[int], **options: Any) -> tuple[Any, ...]:
    return array, box, options


_BYTES, _HALVES = np.zeros((64, 96), np.uint8), np.zeros((64, 64), np.float16)
_WRONG: list[tuple[tuple[Any, ...], str | None]] = [
    (_maps(_HALVES, (256, 256)), None),
    (_maps(_HALVES, (8, 1), element_strides=(1, 8)), None),
    (_maps(_HALVES, (8, 257)), "expected box sizes from 1 to 256, found (8, 257)"),
    (_maps(_HALVES, (8, 0)), "expected box sizes from 1 to 256, found (8, 0)"),
    (_maps(_HALVES, (8, 1), element_strides=(1, 9)), "expected element strides from 1 to 8, found (1, 9)"),
    (_maps(_HALVES, (8, 1), element_strides=(1, 0)), "expected element strides from 1 to 8, found (1, 0)"),
    (_maps(_HALVES, (8, 1), element_strides=(2, 1)), "expected element stride 1 of dimension 0, found 2"),
    (_maps(_HALVES, (8,)), "expected an array of 1 to 5 dimensions and a box of as many, found 2 and 1"),
    (_maps(_HALVES, (8, 1), element_strides=(1,)),
     "expected an array of 1 to 5 dimensions and a box of as many, found 2 and 2"),
    (_maps(np.zeros((1, 1, 1, 1, 1, 8), np.float16), (8, 1, 1, 1, 1, 1)),
     "expected an array of 1 to 5 dimensions and a box of as many, found 6 and 6"),
    (_maps(np.zeros((1, 1, 1, 1, 8), np.float16), (8, 1, 1, 1, 1)), None),
    (_maps(np.zeros((), np.float16), ()), "expected an array of 1 to 5 dimensions and a box of as many, found 0 and 0"),
    (_maps(_HALVES[:, ::2], (8, 1)),
     "expected contiguous rows and strides of multiples of 16 bytes, found (128, 4)"),
    (_maps(_HALVES[::-1], (8, 1)),
     "expected contiguous rows and strides of multiples of 16 bytes, found (-128, 2)"),
    (_maps(np.zeros((4, 12), np.float16), (8, 1)),
     "expected contiguous rows and strides of multiples of 16 bytes, found (24, 2)"),
    (_maps(_HALVES, (8, 1), swizzle="16B"),
     "expected a swizzle of none, 32B, 64B, 128B, 128B_atom_32B, 128B_atom_32B_flip_8B, 128B_atom_64B, found '16B'"),
    (_maps(_BYTES, (16, 1), oob_fill="nan"), "expected oob_fill zero for .u8, found nan"),
    (_maps(_HALVES, (12, 1)), "expected an inner box of a multiple of 16 bytes, found 24"),
    (_maps(_HALVES, (16, 1), swizzle="32B"), None),
    (_maps(_HALVES, (24, 1), swizzle="32B"), "expected an inner box of a multiple of 16 bytes of at most 32, found 48"),
    (_maps(_HALVES, (72, 1), swizzle="128B"),
     "expected an inner box of a multiple of 16 bytes of at most 128, found 144"),
    (_maps(_HALVES, (8, 1), element="u8"),
     "expected an element type of 2 bytes of u8, u16, u32, s32, u64, s64, f16, f32, f32.ftz, f64, bf16, tf32, "
     "tf32.ftz, b4x16, b4x16_p64, b6x16_p32, found 'u8'"),
    (_maps(_HALVES, (8, 1), element="x"),
     "expected an element type of 2 bytes of u8, u16, u32, s32, u64, s64, f16, f32, f32.ftz, f64, bf16, tf32, "
     "tf32.ftz, b4x16, b4x16_p64, b6x16_p32, found 'x'"),
    (_maps(_BYTES, (24, 1), packing="b4x16"), "expected groups of 16 elements of .b4x16, found 24"),
    (_maps(_BYTES, (128, 1), packing="b6x16_p32", swizzle="128B"), None),
    (_maps(_BYTES, (96, 1), packing="b6x16_p32"),
     "expected rows of 128 elements in a box and of a multiple of 96 bytes in the array for .b6x16_p32, "
     "found 96 and 96"),
    (_maps(_BYTES, (128, 1), packing="b4x16_p64"),
     "expected rows of 128 elements in a box and of a multiple of 64 bytes in the array for .b4x16_p64, "
     "found 128 and 96"),
    (_maps(np.zeros((4, 112), np.uint8)[:, :64], (128, 1), packing="b4x16_p64"),
     "expected strides of multiples of 32 bytes and swizzle none or 128B for .b4x16_p64, found (112,) and none"),
    (_maps(_BYTES, (128, 1), packing="b6x16_p32", swizzle="64B"),
     "expected strides of multiples of 32 bytes and swizzle none or 128B for .b6x16_p32, found (96,) and 64B"),
]  # fmt: skip


@together(("given", "message"), _WRONG)
def test_checks_of_maps(given: tuple[Any, ...], message: str | None) -> None:
    array, box, options = given
    if message is None:
        TensorMap(array, box, **options)
    else:
        assert _message(lambda: TensorMap(array, box, **options)) == f"tensor map: {message}"


def test_checks_of_maps_of_images() -> None:
    images = {3: np.zeros((4, 8, 16), np.uint8), 4: np.zeros((2, 4, 8, 16), np.uint8)}
    images |= {2: images[3][0], 5: images[4][None]}
    good = [
        (3, (-32768,), (32767,), 16, 1), (4, (-128, 127), (127, -128), 256, 1024), (5, (-16,) * 3, (15,) * 3, 16, 5),
    ]  # fmt: skip
    for rank, lower, upper, channels, count in good:
        assert TensorMap.im2col(images[rank], lower, upper, channels, count).columns == Im2col(
            lower, upper, channels, count
        )
    for rank, lower, upper, channels, count, message in (
        (2, (), (), 16, 1, "expected images of 3 to 5 dimensions and corners of two fewer, found 2, 0 and 0"),
        (4, (0,), (0, 0), 16, 1, "expected images of 3 to 5 dimensions and corners of two fewer, found 4, 1 and 2"),
        (4, (0, 0), (0,), 16, 1, "expected images of 3 to 5 dimensions and corners of two fewer, found 4, 2 and 1"),
        (3, (-32769,), (0,), 16, 1, f"expected corners from -32768 to 32767, found {Im2col((-32769,), (0,), 16, 1)}"),
        (4, (0, 0), (0, 128), 16, 1, f"expected corners from -128 to 127, found {Im2col((0, 0), (0, 128), 16, 1)}"),
        (5, (0, 0, 16), (0,) * 3, 16, 1,
         f"expected corners from -16 to 15, found {Im2col((0, 0, 16), (0,) * 3, 16, 1)}"),
        (4, (0, 0), (0, 0), 16, 0, "expected 1 to 1024 pixels and 1 to 256 channels, found 0 and 16"),
        (4, (0, 0), (0, 0), 16, 1025, "expected 1 to 1024 pixels and 1 to 256 channels, found 1025 and 16"),
    ):  # fmt: skip
        assert _message(TensorMap.im2col, images[rank], lower, upper, channels, count) == f"tensor map: {message}"
    packed = Im2col((0,), (0,), 16, 1)
    assert _message(lambda: TensorMap(images[3], (16, 1, 1), packing="b4x16", columns=packed)) == (
        "tensor map: im2col of .b4x16 is not simulated"
    )
    assert _message(lambda: TensorMap(images[3], (16, 1, 1), columns=Im2col((0,), (0,), 257, 1))) == (
        "tensor map: expected 1 to 1024 pixels and 1 to 256 channels, found 1 and 257"
    )
