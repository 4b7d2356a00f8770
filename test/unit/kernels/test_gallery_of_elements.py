"""Kernels of `examples/gallery` about types and masks equal numpy, at three sizes each, for three generations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tirx.runtime.program import build

Array = NDArray[Any]
_GALLERY = Path(__file__).parents[3] / "examples" / "gallery"
_TARGETS = ("sm_80", "sm_90a", "sm_100a")


def _integers(*shape: int, seed: int = 0, dtype: Any = np.float32, most: int = 2) -> Array:
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(dtype)


def _w4a16(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    x, scales, w = _integers(m, k, dtype=np.float16), _integers(n, k // 32, dtype=np.float16), _integers(n, k, most=7)
    nibbles = w.astype(np.int8).view(np.uint8) & 15
    expected = x.astype(np.float32) @ (w * np.repeat(scales.astype(np.float32), 32, 1)).T
    return [x, nibbles[:, ::2] | nibbles[:, 1::2] << 4, scales, np.zeros_like(expected)], expected


_KERNELS: dict[str, tuple[Callable[..., tuple[list[Any], Array]], list[tuple[int, ...]]]] = {
    "w4a16": (_w4a16, [(64, 64, 64), (16, 128, 128), (77, 72, 96)]),
}
"""Kernel -> its arguments, the last of which are the results, and what they have to be, at some sizes."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("name", _KERNELS)
def test_kernels_of_numbers(name: str, size: int, target: str) -> None:
    make, sizes = _KERNELS[name]
    arguments, *expected = make(*sizes[size])
    (kernel,) = build((_GALLERY / f"{name}.mlir").read_text(), target=target).kernels.values()
    kernel.simulate(*arguments, check="strict")
    for found, wanted in zip(arguments[-len(expected) :], expected, strict=True):
        tolerance = 2e-3 if found.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=4 * tolerance)
