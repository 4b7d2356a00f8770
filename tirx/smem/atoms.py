"""The canonical shared-memory atoms of tcgen05.mma, and operands tiled with them.

An atom is the smallest block that one swizzle mode permutes among itself: 8 rows (4 with 32-byte atomicity) of the row
bytes of the mode. The elements of a row are neighbours along K in a K-major atom and along MN in an MN-major one; rows
are the other dimension. Source: PTX ISA "Canonical layouts" (seed 9.7.16.3).
"""

from __future__ import annotations

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import OperandLayoutError, expect_steps
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.smem.swizzle_modes import (
    MAJORS,
    SWIZZLE_MODES,
    TCGEN05_OPERANDS,
    Major,
    OperandFamily,
    SwizzleMode,
    SwizzleName,
    legal_modes,
)

_MAJORS: dict[str, Major] = {name: name for name in MAJORS}


def find_modes(
    dtype: str | DType, major: str, family: OperandFamily = TCGEN05_OPERANDS
) -> tuple[DType, Major, tuple[SwizzleMode, ...]]:
    """The element type, the major-ness, and the swizzle modes that the type has in it, narrowest first.

    Raises LegalityError for a name that does not exist, and for a type that is never stored so.
    """
    element = find_dtype(dtype)
    direction = _MAJORS.get(major)
    if direction is None:
        raise OperandLayoutError(f"expected major-ness {' or '.join(MAJORS)}, found '{major}'")
    modes = tuple(SWIZZLE_MODES[name] for name in legal_modes(element, direction, family))
    if not modes:
        raise OperandLayoutError(
            f"{element.name} has no {direction}-major layout, only K-major: {family.instruction} never transposes "
            "this type"
        )
    return element, direction, modes


def find_mode(dtype: str | DType, mode: str, major: str) -> tuple[DType, Major, SwizzleMode]:
    """As `find_modes`, with the one mode of that name. Raises LegalityError when the type has it not, too."""
    element, direction, modes = find_modes(dtype, major)
    for found in modes:
        if found.name == mode:
            return element, direction, found
    names = ", ".join(found.name for found in modes)
    raise OperandLayoutError(f"{direction}-major {element.name}: expected swizzle {names}, found '{mode}'")


def container(element: DType, container_bits: int | None) -> int:
    """Bits that one element takes in shared memory: `container_bits`, or those of the type.

    4-bit and 6-bit elements may be padded to a byte. Raises LegalityError for any other container.
    """
    bits = element.storage_bits if container_bits is None else container_bits
    legal = sorted({element.storage_bits, max(element.storage_bits, 8)})
    if bits not in legal:
        raise OperandLayoutError(
            f"{element.name}: expected a container of {' or '.join(map(str, legal))} bits, found {bits}"
        )
    return bits


def atom_shape(
    dtype: str | DType, mode: str, major: str = "K", *, container_bits: int | None = None
) -> tuple[int, int]:
    """Elements of one atom along (MN, K). Raises LegalityError as `find_mode` does."""
    element, direction, found = find_mode(dtype, mode, major)
    row = found.row_bytes * 8 // container(element, container_bits)
    return (found.rows, row) if direction == "K" else (row, found.rows)


def smem_layout(
    dtype: str | DType, mode: SwizzleName, major: Major, shape: tuple[int, int], *, container_bits: int | None = None
) -> TileLayout | ComposeLayout:
    """An operand of `shape` (MN, K) elements made of atoms, over the rows first and then along the major dimension.

    A TMA box of all rows by the row bytes of the mode lands so. The major dimension must be whole rows of the mode; the
    last group of rows may be partly used, the next column of atoms starts behind it. `tirx.tcgen05.canonical_layout`
    finds this mode and major-ness in the result. Allocate it at the `base_alignment` of the mode.

    Raises LegalityError as `find_mode` does, and for a shape that is no whole rows, with the nearest that is.
    """
    element, direction, found = find_mode(dtype, mode, major)
    bits = container(element, container_bits)
    mn, k = shape
    along, rows, name = (k, mn, "K") if direction == "K" else (mn, k, "MN")
    row = found.row_bytes * 8 // bits
    what = f"{direction}-major {element.name}: expected {name}"
    blocks = expect_steps(OperandLayoutError, what, along, row, f" elements ({found.row_bytes} bytes)")
    if rows < 1:
        raise OperandLayoutError(f"expected a positive {'MN' if direction == 'K' else 'K'}, found {rows}")
    block_rows = -(-rows // found.rows) * found.rows
    block, line, column = Iter(blocks, block_rows * row), Iter(rows, row), Iter(row, 1)
    order = (line, block, column) if direction == "K" else (block, column, line)
    tile = TileLayout(it for it in order if it is not block or blocks > 1)
    return ComposeLayout(SwizzleLayout.for_bits(bits, found.name), tile) if found.swizzled else tile
