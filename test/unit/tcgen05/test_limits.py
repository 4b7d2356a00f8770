"""Both sides of the limits of tensor memory, its shapes and what is stored there: whole results, and whole messages."""

from pathlib import Path

from unit.cases import results

from tirx import tcgen05
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.tcgen05 import scale_factors, shapes, stored_operand, tmem, tmem_access

NAMES = {
    **vars(tcgen05),
    **vars(scale_factors),
    **vars(stored_operand),
    **vars(tmem),
    **vars(tmem_access),
    "P": TileLayout.parse,
    "ComposeLayout": ComposeLayout,
    "SwizzleLayout": SwizzleLayout,
    "shapes": shapes,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "limits.txt", NAMES)
    assert found == expected
