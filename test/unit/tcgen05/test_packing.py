"""Sub-byte elements in shared memory, by kind."""

import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.pick import pick_operand_layout
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.packing import smem_packing

# (kinds, type, slot, elements in 16 bytes, bytes of data)
PACKINGS = [
    (("f8f6f4", "mxf8f6f4"), "e2m1", 8, 16, 8),
    (("f8f6f4", "mxf8f6f4"), "e2m3", 8, 16, 12),
    (("f8f6f4", "mxf8f6f4"), "e3m2", 8, 16, 12),
    (("f8f6f4", "mxf8f6f4"), "e4m3", 8, 16, 16),
    (("mxf4", "mxf4nvf4"), "e2m1", 4, 32, 16),
    (("i8",), "s8", 8, 16, 16),
    (("f16",), "bf16", 16, 8, 16),
    (("tf32",), "tf32", 32, 4, 16),
]


@together(("kinds", "dtype", "slot", "elements", "data"), PACKINGS)
def test_packings(kinds: tuple[str, ...], dtype: str, slot: int, elements: int, data: int):
    for kind in kinds:
        found = smem_packing(kind, dtype)
        assert (found.container_bits, found.elements, found.elements * found.bits // 8) == (slot, elements, data)
        # One dense instruction reads two units of 16 bytes of K.
        k = KINDS[kind].k
        assert k == 2 * elements
        layout = pick_operand_layout((64, 4 * k), dtype, container_bits=slot)
        assert len(operand_slices(layout, (64, 4 * k), dtype, k, container_bits=slot)) == 4


def test_padding_lies_behind_sixteen_elements():
    padded = smem_packing("mxf8f6f4", "e3m2")
    assert [padded.bit_of_slot(8 * i) for i in (0, 1, 15, 16, 17)] == [0, 6, 90, 128, 134]
    assert [smem_packing("mxf4", "e2m1").bit_of_slot(4 * i) for i in (0, 1, 31, 32)] == [0, 4, 124, 128]


def test_errors_name_real_bytes():
    # Rows of 16 slots, 17 apart: row 1 starts in slot 17, the second one of its 16 bytes, 6 bits into them.
    with pytest.raises(LegalityError) as caught:
        canonical_layout(TileLayout.parse("S[(8, 16) : (17, 1)]"), (8, 16), "e3m2")
    assert (caught.value.element, caught.value.expected, caught.value.found) == ((1, 0), 16, 16.75)


def test_types_of_other_kinds():
    with pytest.raises(LegalityError, match="kind mxf4: expected an operand type e2m1, found e3m2"):
        smem_packing("mxf4", "e3m2")
    with pytest.raises(LegalityError, match="kind f16: expected an operand type f16, bf16, found e4m3"):
        smem_packing("f16", "e4m3")
