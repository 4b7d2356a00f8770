"""
Tensor maps, as `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` make them (CUDA driver API; PTX ISA, sections 5.5
and 9.7.9.26.5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx.sim.errors import SimError

Swizzle = Literal["none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"]
Packing = Literal["none", "b4x16", "b4x16_p64", "b6x16_p32"]

# Bytes of a row of the swizzle pattern, and the steps of it: `address ^= (address >> shift) & mask` as (mask, shift).
SWIZZLES: dict[str, tuple[int, tuple[tuple[int, int], ...]]] = {
    "none": (0, ()),
    "32B": (32, ((0x10, 3),)),
    "64B": (64, ((0x30, 3),)),
    "128B": (128, ((0x70, 3),)),
    "128B_atom_32B": (128, ((0x60, 2),)),
    "128B_atom_32B_flip_8B": (128, ((0x60, 2), (0x08, 4))),
    "128B_atom_64B": (128, ((0x40, 1),)),
}
# Element types in the order of their numbers in tensormap.replace, and what holds them.
ELEMENTS: dict[str, Any] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "s32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f32.ftz": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "tf32.ftz": np.float32,
    "b4x16": np.uint8,
    "b4x16_p64": np.uint8,
    "b6x16_p32": np.uint8,
}
# Packed elements: bits of one, and bytes that 16 of them take in shared memory.
PACKINGS: dict[str, tuple[int, int]] = {"b4x16": (4, 8), "b4x16_p64": (4, 16), "b6x16_p32": (6, 16)}
_PADDED_ELEMENTS = 128  # of a row of a box
_MAX_RANK = 5
_MAX_SIZE = 1 << 32
_MAX_BYTES = 1 << 40
_MAX_BOX = 256
_MAX_STRIDE = 8
_MAX_PIXELS = 1024
# Bits of a corner of the bounding box, by the rank of the tensor.
_CORNER_BITS = {3: 16, 4: 8, 5: 5}


@dataclass(frozen=True, slots=True)
class Im2col:
    """
    The bounding box of a map for im2col modes, which have no box of elements (section 5.5.4).

    `lower` and `upper` are the corners of the bounding box (W, then H and D), relative to the first and the last
    pixel of an image; a copy takes `pixels` positions of the filter and `channels` elements of each.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


class TensorMap:
    """
    A tensor in global memory, seen by bulk tensor copies in boxes.

    `array` has its innermost dimension last (row-major), as in numpy; its bytes are read and written in place. `box`
    and `element_strides` are innermost first, as in CUDA. Elements outside of the array are read as zero (`oob_fill`
    "zero") or NaN ("nan"). With a `packing`, `array` are bytes that hold 4- or 6-bit elements without gaps, and the
    innermost size of `box` counts elements. `element` is the type (of `ELEMENTS`), if it is not to be that of the
    array; `columns` are those of a map for im2col modes (`im2col`). Raises SimError for what the driver would refuse.

    >>> import numpy as np
    >>> from tirx.sim import TensorMap
    >>> boxes = TensorMap(np.zeros((64, 64), np.float16), box=(64, 8), swizzle="128B")
    """

    def __init__(
        self,
        array: npt.NDArray[Any],
        box: Sequence[int],
        swizzle: Swizzle = "none",
        *,
        element_strides: Sequence[int] | None = None,
        oob_fill: Literal["zero", "nan"] = "zero",
        packing: Packing = "none",
        element: str | None = None,
        columns: Im2col | None = None,
    ):
        self.array = array
        self.box = tuple(int(size) for size in box)
        self.swizzle: Swizzle = swizzle
        strides = (1,) * len(self.box) if element_strides is None else element_strides
        self.element_strides = tuple(int(stride) for stride in strides)
        self.oob_fill = oob_fill
        self.element = element or (packing if packing != "none" else element_of(array.dtype))
        self.columns = columns
        self._check()

    @classmethod
    def im2col(
        cls,
        array: npt.NDArray[Any],
        lower: Sequence[int],
        upper: Sequence[int],
        channels: int,
        pixels: int,
        swizzle: Swizzle = "none",
        *,
        element_strides: Sequence[int] | None = None,
        oob_fill: Literal["zero", "nan"] = "zero",
    ) -> TensorMap:
        """A batch of images (N, [[D,] H,] W, C) for im2col modes; see `Im2col`."""
        columns = Im2col(tuple(lower), tuple(upper), channels, pixels)
        box = (channels, *(1,) * (array.ndim - 1))
        return cls(array, box, swizzle, element_strides=element_strides, oob_fill=oob_fill, columns=columns)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return self.array.ndim

    @property
    def packing(self) -> tuple[int, int] | None:
        """Bits of a packed element, and bytes of 16 of them in shared memory. None for elements of whole bytes."""
        return PACKINGS.get(self.element)

    @property
    def box_bytes(self) -> int:
        """Bytes of a box in global memory, which its copy adds to the mbarrier (packed elements: without padding)."""
        return int(np.prod(self.box_shape)) * self.array.itemsize

    @property
    def box_shape(self) -> tuple[int, ...]:
        """Units of the array in a box, innermost last."""
        sizes = [-(-size // stride) for size, stride in zip(self.box, self.element_strides, strict=True)]
        if self.packing is not None:
            sizes[0] = sizes[0] * self.packing[0] // 8
        return tuple(reversed(sizes))

    def _check(self) -> None:
        array, rank = self.array, len(self.box)
        if self.element not in ELEMENTS or np.dtype(ELEMENTS[self.element]).itemsize != array.itemsize:
            raise SimError(
                f"tensor map: expected an element type of {array.itemsize} bytes of {', '.join(ELEMENTS)}, "
                f"found {self.element!r}"
            )
        if not 1 <= array.ndim <= _MAX_RANK or rank != array.ndim or len(self.element_strides) != array.ndim:
            raise SimError(
                f"tensor map: expected an array of 1 to {_MAX_RANK} dimensions and a box of as many, "
                f"found {array.ndim} and {rank}"
            )
        if any(not 1 <= size <= _MAX_SIZE for size in array.shape):
            raise SimError(f"tensor map: expected sizes from 1 to {_MAX_SIZE}, found {array.shape}")
        if array.strides[-1] != array.itemsize or any(
            stride % 16 or stride != abs(stride) for stride in array.strides[:-1]
        ):
            raise SimError(
                f"tensor map: expected contiguous rows and strides of multiples of 16 bytes, found {array.strides}"
            )
        if any(stride >= _MAX_BYTES for stride in array.strides[:-1]):
            raise SimError(f"tensor map: expected strides below {_MAX_BYTES} bytes, found {array.strides}")
        self._check_box()

    def _check_box(self) -> None:
        if any(not 1 <= size <= _MAX_BOX for size in self.box):
            raise SimError(f"tensor map: expected box sizes from 1 to {_MAX_BOX}, found {self.box}")
        if any(not 1 <= stride <= _MAX_STRIDE for stride in self.element_strides):
            raise SimError(
                f"tensor map: expected element strides from 1 to {_MAX_STRIDE}, found {self.element_strides}"
            )
        if self.element_strides[0] != 1:
            # Section 5.5.3.2; the driver ignores it, so that no copy strides over elements of a row.
            raise SimError(f"tensor map: expected element stride 1 of dimension 0, found {self.element_strides[0]}")
        if self.swizzle not in SWIZZLES:
            raise SimError(f"tensor map: expected a swizzle of {', '.join(SWIZZLES)}, found {self.swizzle!r}")
        if self.oob_fill == "nan" and not self.element.startswith(("f", "bf", "tf")):
            raise SimError(f"tensor map: expected oob_fill zero for .{self.element}, found nan")
        if self.columns is not None:
            self._check_columns(self.columns)
        if self.packing is not None:
            self._check_packing(*self.packing)
        inner, span = self.inner_bytes, SWIZZLES[self.swizzle][0]
        if inner % 16 or (span and inner > span):
            limit = f" of at most {span}" if span else ""
            raise SimError(f"tensor map: expected an inner box of a multiple of 16 bytes{limit}, found {inner}")

    @property
    def inner_bytes(self) -> int:
        """Bytes of a row of a box in shared memory."""
        if self.packing is None:
            return self.box[0] * self.array.itemsize
        return self.box[0] * self.packing[1] // 16

    def _check_packing(self, bits: int, group: int) -> None:
        if self.box[0] % 16:
            raise SimError(f"tensor map: expected groups of 16 elements of .{self.element}, found {self.box[0]}")
        if group != 16:
            return
        row = _PADDED_ELEMENTS * bits // 8
        if self.box[0] != _PADDED_ELEMENTS or self.array.shape[-1] % row:
            raise SimError(
                f"tensor map: expected rows of {_PADDED_ELEMENTS} elements in a box and of a multiple of {row} bytes "
                f"in the array for .{self.element}, found {self.box[0]} and {self.array.shape[-1]}"
            )
        if any(stride % 32 for stride in self.array.strides[:-1]) or self.swizzle not in (
            "none", "128B", "128B_atom_32B", "128B_atom_64B",
        ):  # fmt: skip
            raise SimError(
                f"tensor map: expected strides of multiples of 32 bytes and swizzle none or 128B for .{self.element}, "
                f"found {self.array.strides[:-1]} and {self.swizzle}"
            )

    def _check_columns(self, columns: Im2col) -> None:
        spatial = self.rank - 2
        if self.rank not in _CORNER_BITS or len(columns.lower) != spatial or len(columns.upper) != spatial:
            raise SimError(
                f"tensor map: expected images of 3 to 5 dimensions and corners of two fewer, found {self.rank}, "
                f"{len(columns.lower)} and {len(columns.upper)}"
            )
        limit = 1 << (_CORNER_BITS[self.rank] - 1)
        if any(not -limit <= corner < limit for corner in (*columns.lower, *columns.upper)):
            raise SimError(f"tensor map: expected corners from {-limit} to {limit - 1}, found {columns}")
        if not 1 <= columns.pixels <= _MAX_PIXELS or not 1 <= columns.channels <= _MAX_BOX:
            raise SimError(
                f"tensor map: expected 1 to {_MAX_PIXELS} pixels and 1 to {_MAX_BOX} channels, found {columns.pixels} "
                f"and {columns.channels}"
            )
        if self.packing is not None:
            raise SimError(f"tensor map: im2col of .{self.element} is not simulated")


def element_of(dtype: np.dtype[Any]) -> str:
    """
    Returns the element type of a map of an array of `dtype`. Other types count as unsigned integers of their size.
    """
    for name in ("s32", "s64", "f16", "f32", "f64", "bf16"):
        if np.dtype(ELEMENTS[name]) == dtype:
            return name
    return f"u{8 * dtype.itemsize}"
