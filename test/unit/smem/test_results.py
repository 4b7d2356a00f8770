"""Operands of many sizes in shared memory: whole descriptors, layouts, suggestions and messages."""

from pathlib import Path

from unit.cases import results

from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.smem import (
    aliasing,
    atoms,
    canonical,
    canonical_form,
    operand_fit,
    packing,
    pick,
    smem_descriptor,
    swizzle_modes,
    walk,
    wgmma_descriptor,
)
from tirx.symbolic.integers import Integers


def _swizzled(mode: swizzle_modes.SwizzleName, text: str, bits: int = 16) -> ComposeLayout:
    return ComposeLayout(SwizzleLayout.for_bits(bits, mode), TileLayout.parse(text))


def _slices(*arguments: object, **named: object) -> str:
    found = canonical.operand_slices(*arguments, **named)  # pyright: ignore[reportArgumentType]
    return "; ".join(f"{part.offset_bytes}: {part.canonical}" for part in found)


MODULES = (
    aliasing,
    atoms,
    canonical,
    canonical_form,
    operand_fit,
    packing,
    pick,
    smem_descriptor,
    swizzle_modes,
    walk,
    wgmma_descriptor,
)
NAMES = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "P": TileLayout.parse,
    "S": _swizzled,
    "C": canonical.canonical_layout,
    "O": _slices,
    "Integers": Integers,
    "aliasing": aliasing,
    "pick": pick,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "results.txt", NAMES)
    assert found == expected
