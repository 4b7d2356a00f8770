"""Tensor maps: what `cuTensorMapEncodeTiled` makes on a GPU (CUDA driver API; PTX ISA, section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tirx.sim.errors import SimError

Swizzle = Literal["none", "32B", "64B", "128B", "128B_atom_32B"]

# Bytes of a row of the swizzle pattern, and the mask and shift of `address ^= (address >> shift) & mask`.
SWIZZLES: dict[str, tuple[int, int, int]] = {
    "none": (0, 0, 0),
    "32B": (32, 0x10, 3),
    "64B": (64, 0x30, 3),
    "128B": (128, 0x70, 3),
    "128B_atom_32B": (128, 0x60, 2),
}
_MAX_RANK = 5
_MAX_BOX = 256
_MAX_STRIDE = 8


class TensorMap:
    """
    A tensor in global memory, seen by bulk tensor copies in boxes.

    `array` has its innermost dimension last (row-major), as in numpy; its bytes are read and written in place. `box`
    and `element_strides` are innermost first, as in CUDA. Elements outside of the array are read as zero (`oob_fill`
    "zero") or NaN ("nan"). Raises SimError for what the driver would refuse.
    """

    def __init__(
        self,
        array: npt.NDArray[Any],
        box: Sequence[int],
        swizzle: Swizzle = "none",
        *,
        element_strides: Sequence[int] | None = None,
        oob_fill: Literal["zero", "nan"] = "zero",
    ):
        self.array = array
        self.box = tuple(box)
        self.swizzle: Swizzle = swizzle
        self.element_strides = tuple(element_strides) if element_strides is not None else (1,) * len(self.box)
        self.oob_fill = oob_fill
        self._check()

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def box_bytes(self) -> int:
        """Bytes that one box takes in shared memory, and that its copy adds to the mbarrier."""
        return int(np.prod(self.box_shape)) * self.array.itemsize

    @property
    def box_shape(self) -> tuple[int, ...]:
        """Elements of a box in shared memory, innermost last."""
        sizes = [-(-size // stride) for size, stride in zip(self.box, self.element_strides, strict=True)]
        return tuple(reversed(sizes))

    def _check(self) -> None:
        array, box = self.array, self.box
        if not 1 <= array.ndim <= _MAX_RANK or len(box) != array.ndim or len(self.element_strides) != array.ndim:
            raise SimError(
                f"tensor map: expected an array of 1 to {_MAX_RANK} dimensions and a box of as many, "
                f"found {array.ndim} and {len(box)}"
            )
        if array.strides[-1] != array.itemsize or any(stride % 16 or stride < 0 for stride in array.strides[:-1]):
            raise SimError(
                f"tensor map: expected contiguous rows and strides of multiples of 16 bytes, found {array.strides}"
            )
        if any(not 1 <= size <= _MAX_BOX for size in box):
            raise SimError(f"tensor map: expected box sizes from 1 to {_MAX_BOX}, found {box}")
        if any(not 1 <= stride <= _MAX_STRIDE for stride in self.element_strides):
            raise SimError(
                f"tensor map: expected element strides from 1 to {_MAX_STRIDE}, found {self.element_strides}"
            )
        if self.swizzle not in SWIZZLES:
            raise SimError(f"tensor map: expected a swizzle of {', '.join(SWIZZLES)}, found {self.swizzle!r}")
        inner = box[0] * array.itemsize
        span = SWIZZLES[self.swizzle][0]
        if inner % 16 or (span and inner > span):
            limit = f" of at most {span}" if span else ""
            raise SimError(f"tensor map: expected an inner box of a multiple of 16 bytes{limit}, found {inner}")
