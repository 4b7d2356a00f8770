"""Arrays for the arguments of a kernel, and what a product of matrices must be."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tirx.runtime.arrays import STORAGE
from tirx.runtime.frameworks import row_major
from tirx.runtime.launch import Launch, PointerArgument

Array = npt.NDArray[Any]


def dtype_of(argument: PointerArgument) -> np.dtype[Any]:
    """The best numpy dtype for the elements of an argument."""
    assert argument.element is not None
    name = STORAGE[argument.element].dtypes[0]
    return np.dtype(getattr(ml_dtypes, name, None) or name)


Grid = tuple[int, int, int]
_TILES: dict[str, int | tuple[int, ...]] = {
    "a": (384, 256), "b": (512, 256), "d": (384, 512), "rows": 3, "columns": 2, "steps": 4,
}  # fmt: skip
DYNAMIC: dict[str, tuple[dict[str, int | tuple[int, ...]], Grid | None]] = {
    "wgmma_ring_gemm": (_TILES, (2, 1, 1)),
    "wgmma_roles_gemm": (_TILES, (2, 1, 1)),
    "layer_norm": ({"x": (16, 512), "y": (16, 512)}, None),
    "rms_norm": ({"x": (16, 512), "y": (16, 512)}, None),
    "softmax": ({"x": (8, 1024), "y": (8, 1024)}, None),
    "gemm_any_target": ({"a": (200, 256), "b": (264, 256), "bias": (1, 264), "d": (200, 264)}, None),
    "flash_attention": ({"q": (4, 200, 128), "k": (2, 300, 128), "v": (2, 128, 300), "o": (4, 200, 128)}, None),
    "causal_flash_attention": ({"q": (4, 300, 128), "k": (2, 300, 128), "v": (2, 128, 300), "o": (4, 300, 128)}, None),
    "tensor_attention": ({"q": (4, 200, 128), "k": (2, 300, 128), "v": (2, 128, 300), "o": (4, 200, 128)}, None),
    "causal_tensor_attention": ({"q": (4, 300, 128), "k": (2, 300, 128), "v": (2, 128, 300), "o": (4, 300, 128)}, None),
    "grouped_gemm": ({"x": (256, 128), "w": (3, 256, 128), "experts": (2,), "y": (256, 256)}, None),
    "bias_relu_residual": ({"a": (200, 128), "r": (200, 128), "d": (200, 128)}, None),
    "alpha_beta": ({"a": (200, 128), "c": (200, 128)}, None),
    "fp8_output": ({"a": (200, 128), "d": (200, 128)}, None),
    "wgmma_any_size_gemm": ({"a": (200, 72), "b": (264, 72), "d": (200, 264)}, None),
}
"""Kernels whose sizes are not in their file -> numbers and shapes by argument, and the grid if it is not there."""


def _known(launch: Launch, name: str, value: Any) -> Any:
    if value is None:
        pytest.fail(f"DYNAMIC has nothing for argument '{name}' of '{launch.entry}'")
    return value


def random_arguments(launch: Launch, rng: np.random.Generator) -> list[Any]:
    """
    An array for each argument: small integers, whose sums of products are exact, and zeros for what is only written.

    Strides are those of the kernel; `DYNAMIC` has what the kernel does not say.
    """
    arrays: list[Any] = []
    numbers = DYNAMIC[launch.entry][0] if launch.entry in DYNAMIC else {}
    for argument in launch.passed:
        if not isinstance(argument, PointerArgument):
            default = 0.5 if argument.type.startswith("f") else None
            arrays.append(_known(launch, argument.name, numbers.get(argument.name, default)))
            continue
        assert argument.shape is not None and argument.strides is not None
        fixed = None if None in argument.shape else argument.shape
        shape: tuple[int, ...] = _known(launch, argument.name, numbers.get(argument.name, fixed))
        strides = [m if n is None else n for m, n in zip(row_major(shape), argument.strides, strict=True)]
        dtype = dtype_of(argument)
        memory = np.zeros(1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)), dtype)
        array = np.lib.stride_tricks.as_strided(memory, shape, [stride * dtype.itemsize for stride in strides])
        if argument.access != "write":
            low = 0 if dtype.kind == "u" else -2
            array[...] = rng.integers(low, 3, shape).astype(dtype)
        arrays.append(array)
    return arrays


def product_of(launch: Launch, arrays: list[Any]) -> Array | None:
    """A times the transpose of B for a kernel `...gemm` of A, B and D, that only writes D; None for others."""
    if not launch.entry.endswith("gemm") or len(arrays) < 3:
        return None
    matrices: list[Array] = [array for array in arrays if isinstance(array, np.ndarray)]
    if len(matrices) != 3 or any(array.ndim < 2 for array in matrices):
        return None
    a, b, d = matrices
    if a.shape[-1] != b.shape[-1] or d.shape != (*a.shape[:-1], b.shape[-2]) or launch.passed[2].name != "d":
        return None
    return (a.astype(np.float64) @ np.swapaxes(b.astype(np.float64), -1, -2)).astype(d.dtype)
