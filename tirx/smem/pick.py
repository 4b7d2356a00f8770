"""The shared-memory layouts that an operand can have, and their order of preference."""

from __future__ import annotations

from tirx.hw.dtypes import DType
from tirx.hw.errors import OperandLayoutError
from tirx.layout import ComposeLayout, TileLayout
from tirx.smem.atoms import container, find_modes, smem_layout
from tirx.smem.operand_tile import OperandTile, operand_tiles
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, TCGEN05_OPERANDS, Major, OperandFamily


def operand_candidates(
    shape: tuple[int, int],
    dtype: str | DType,
    *,
    container_bits: int | None = None,
    k_bytes: int | None = None,
    family: OperandFamily = TCGEN05_OPERANDS,
) -> list[OperandTile]:
    """The layouts of an operand of `shape` (MN, K) elements, best first as far as the shape alone tells.

    Less padding comes first, then K-major, which every type has in every mode, then fewer blocks: fewer boxes for a
    copy engine, and the widest swizzle. What copies and products say comes on top, see `tirx-pick-layouts`.
    `container_bits`: 8 for e2m1 padded to a byte; packed by default. `k_bytes`: bytes along K that one instruction
    reads: 32, or 64 of the B of a sparse product, which do not fit in the row of a K-major 32B swizzle. None for any.

    Raises LegalityError when there is none, saying what there is.
    """
    found = operand_tiles(shape, find_modes(dtype, "K", family)[0], container_bits, family)
    found = [tile for tile in found if k_bytes is None or _has_rows_of(tile, k_bytes)]
    if not found:
        pick_operand_layout(shape, dtype, container_bits=container_bits, family=family)  # says why
    return sorted(found, key=lambda tile: (tile.padding_bytes, MAJORS.index(tile.major), tile.blocks))


def _has_rows_of(tile: OperandTile, k_bytes: int) -> bool:
    """Returns True if one descriptor reads so many bytes along K: it never passes the end of a swizzled row."""
    mode = SWIZZLE_MODES[tile.swizzle]
    return tile.major == "MN" or not mode.swizzled or mode.row_bytes >= k_bytes


def pick_operand_layout(
    shape: tuple[int, int],
    dtype: str | DType,
    major: Major = "K",
    *,
    container_bits: int | None = None,
    family: OperandFamily = TCGEN05_OPERANDS,
) -> TileLayout | ComposeLayout:
    """A layout for an operand of `shape` (MN, K) elements that `family` can read, each K step with one descriptor.

    The swizzle is the widest of the type whose row divides the major dimension, because bank conflicts fall with its
    width; `smem_layout` tiles its atoms. `container_bits`: 8 for e2m1 padded to a byte; packed by default. Allocate the
    tile at the `base_alignment` of its canonical layout.

    Raises LegalityError when no layout exists for this shape and type, saying what does.
    """
    element, direction, modes = find_modes(dtype, major, family)
    bits = container(element, container_bits)
    mn, k = shape
    along = k if direction == "K" else mn
    fitting = [mode for mode in modes if along * bits % (mode.row_bytes * 8) == 0]
    # Where not even the narrowest fits, it says what would.
    mode = fitting[-1] if fitting else modes[0]
    layout = smem_layout(element, mode.name, direction, shape, container_bits=bits)
    if direction == "MN" and k % mode.rows:
        raise OperandLayoutError(f"MN-major {element.name}: expected K in steps of {mode.rows}, found {k}")
    return layout
