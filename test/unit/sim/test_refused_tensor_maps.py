"""Tensor maps that the simulator refuses, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, TensorMap

_IMAGES = np.zeros((2, 8, 8, 16), np.float16)
_MAPS: list[tuple[dict[str, Any], str]] = [
    ({"box": (64, 8, 2)}, "expected an array of 1 to 5 dimensions and a box of as many, found 2 and 3"),
    ({"array": np.zeros((64, 65), np.float16)}, "expected contiguous rows and strides of multiples of 16 bytes, found"),
    ({"array": np.zeros((0, 64), np.float16)}, "expected sizes from 1 to 4294967296, found (0, 64)"),
    (
        {"array": np.lib.stride_tricks.as_strided(np.zeros(64, np.float16), (2, 64), (2**40, 2))},
        "expected strides below 1099511627776 bytes, found (1099511627776, 2)",
    ),
    ({"element_strides": (1, 9)}, "expected element strides from 1 to 8, found (1, 9)"),
    ({"swizzle": "256B"}, "expected a swizzle of none, 32B, 64B, 128B, "),
    ({"packing": "b4x16"}, "expected an element type of 2 bytes of "),
    (
        {"array": np.zeros((64, 64), np.uint8), "packing": "b4x16", "box": (24, 8)},
        "expected groups of 16 elements of .b4x16",
    ),
    (
        {"array": np.zeros((64, 80), np.uint8), "packing": "b4x16_p64", "box": (128, 8)},
        "expected rows of 128 elements in a box and of a multiple of 64 bytes in the array for .b4x16_p64",
    ),
    (
        {"array": np.zeros((64, 64), np.uint8), "packing": "b4x16_p64", "box": (128, 8), "swizzle": "32B"},
        "expected strides of multiples of 32 bytes and swizzle none or 128B for .b4x16_p64",
    ),
]
_COLUMNS: list[tuple[Any, Any, int, int, str]] = [
    ((0, 0), (0,), 16, 8, "expected images of 3 to 5 dimensions and corners of two fewer, found 4, 2 and 1"),
    ((0, 0), (0, 128), 16, 8, "expected corners from -128 to 127, found "),
    ((-129, 0), (0, 0), 16, 8, "expected corners from -128 to 127, found "),
    ((-128, 0), (127, 0), 1, 8, "expected an inner box of a multiple of 16 bytes, found 2"),
    ((0, 0), (0, 0), 16, 0, "expected 1 to 1024 pixels and 1 to 256 channels, found 0 and 16"),
    ((0, 0), (0, 0), 16, 1025, "expected 1 to 1024 pixels and 1 to 256 channels, found 1025 and 16"),
    ((0, 0), (0, 0), 0, 1024, "expected box sizes from 1 to 256, found (0, 1, 1, 1)"),
    ((0, 0), (0, 0), 257, 1, "expected box sizes from 1 to 256, found (257, 1, 1, 1)"),
]


@together(("changed", "message"), _MAPS)
def test_tensor_maps(changed: dict[str, Any], message: str):
    arguments: dict[str, Any] = {"array": np.zeros((64, 64), np.float16), "box": (64, 8), **changed}
    with pytest.raises(SimError) as found:
        TensorMap(**arguments)
    assert found.value.message.startswith(f"tensor map: {message}")


@together(("lower", "upper", "channels", "pixels", "message"), _COLUMNS)
def test_tensor_maps_of_images(lower: Any, upper: Any, channels: int, pixels: int, message: str):
    with pytest.raises(SimError) as found:
        TensorMap.im2col(_IMAGES, lower, upper, channels, pixels)
    assert found.value.message.startswith(f"tensor map: {message}")
