"""Chooses the shared-memory layout of an operand: canonical by construction, with the widest swizzle that fits."""

from __future__ import annotations

from tirx.layout import ComposeLayout, TileLayout
from tirx.tcgen05.atoms import container, find_modes, smem_layout
from tirx.tcgen05.dtypes import DType
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.swizzle_modes import Major


def pick_operand_layout(
    shape: tuple[int, int], dtype: str | DType, major: Major = "K", *, container_bits: int | None = None
) -> TileLayout | ComposeLayout:
    """A layout for an operand of `shape` (MN, K) elements that tcgen05.mma can read, each K step with one descriptor.

    The swizzle is the widest of the type whose row divides the major dimension, because bank conflicts fall with its
    width; `smem_layout` tiles its atoms. `container_bits`: 8 for e2m1 padded to a byte; packed by default. Allocate the
    tile at the `base_alignment` of its canonical layout.

    Raises LegalityError when no layout exists for this shape and type, saying what does.
    """
    element, direction, modes = find_modes(dtype, major)
    bits = container(element, container_bits)
    mn, k = shape
    along = k if direction == "K" else mn
    fitting = [mode for mode in modes if along * bits % (mode.row_bytes * 8) == 0]
    # Where not even the narrowest fits, it says what would.
    mode = fitting[-1] if fitting else modes[0]
    layout = smem_layout(element, mode.name, direction, shape, container_bits=bits)
    if direction == "MN" and k % mode.rows:
        raise LegalityError(f"MN-major {element.name}: expected K in steps of {mode.rows}, got {k}")
    return layout
