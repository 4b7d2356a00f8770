"""The boxes in which the tensor memory accelerator copies a tile, from the layout of the tile in shared memory."""

from __future__ import annotations

from typing import Literal

TensorMapSwizzle = Literal["none", "32B", "64B", "128B", "128B_atom_32B"]
"""CUtensorMapSwizzle. The last one is the mode `128B_base32B` of layouts; it begins with sm_100."""

SWIZZLE_WIDTHS: dict[TensorMapSwizzle, int] = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}
"""Bytes that a row of a box may have at most, 0 for any (CUDA driver API, `cuTensorMapEncodeTiled`: `swizzle`)."""

TENSOR_MAP_TYPES: dict[str, int] = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "s32": 4,
    "u64": 8,
    "s64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Element types of tensor maps (CUtensorMapDataType) that tirx uses, and their bytes."""

MAX_RANK = 5
"""Dimensions that a tensor map may have (`cuTensorMapEncodeTiled`)."""

MAX_BOX = 256
"""Elements that a box may have along a dimension (same page)."""

ROW_UNIT = 16
"""Rows of a box, strides of a tensor and its address are multiples of so many bytes (same page)."""


def box_problem(row_bytes: int, swizzle: TensorMapSwizzle) -> str | None:
    """Why a box cannot have rows of so many bytes, None where it can."""
    width = SWIZZLE_WIDTHS[swizzle]
    if row_bytes % ROW_UNIT == 0 and (not width or row_bytes <= width):
        return None
    limit = f" of at most {width}" if width else ""
    return f"expected rows of a box of a multiple of {ROW_UNIT} bytes{limit}, found {row_bytes}"
