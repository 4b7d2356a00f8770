"""Refusals by the facts about tcgen05, message by message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.tcgen05.packing import smem_packing
from tirx.tcgen05.scale_copy import scale_copies
from tirx.tcgen05.scale_factors import scale_factor_a_layout, scale_factor_atom
from tirx.tcgen05.shapes import check_transposed_b
from tirx.tcgen05.stored_operand import bitcast_to_words
from tirx.tcgen05.tmem import DATA_PATHS, operand_a_layout
from tirx.tcgen05.tmem_access import ld_fragment, plan_tmem_access
from tirx.tcgen05.zero_column_mask import sub_mask_width

_read = TileLayout.parse
_CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: smem_packing("f16", "e4m3"), "kind f16: expected an operand type f16, bf16, found e4m3"),
    (
        lambda: scale_copies(_read("S[30, 4]"), _read("S[(30, 4) : (1@TLane, 1@TCol)]"), (30, 4)),
        "expected scale factors of shape MxS in steps of 32x4, the lanes and bytes of a column, found 30x4",
    ),
    (
        lambda: scale_copies(_read("S[32, 6]"), _read("S[(32, 6) : (1@TLane, 1@TCol)]"), (32, 6)),
        "expected scale factors of shape MxS in steps of 32x4, the lanes and bytes of a column, found 32x6",
    ),
    (
        lambda: scale_factor_atom(3),
        "expected 1, 2, 4 scale factors of each row per instruction (scale_vec::1X",
    ),
    (
        lambda: scale_factor_a_layout(64, 4, 4, 1),
        "expected M = 128 with cta_group 1, M = 256 with cta_group 2, M = 128 with cta_group 2 for block",
    ),
    (lambda: check_transposed_b("e4m3", 16, 3), "expected cta_group 1 or 2, found 3"),
    (
        lambda: bitcast_to_words(_read("S[(12, 12) : (13, 1)]"), (9, 16), 3),
        "dimension 2 of shape (9, 1, 16) does not line up",
    ),
    (lambda: DATA_PATHS["A"].layout(16, base_lane=16), "data path A: expected base lane 0, found 16"),
    (lambda: DATA_PATHS["A"].layout(16, dtype="e4m3"), "expected an accumulator of f16, f32, s32, found e4m3"),
    (lambda: operand_a_layout(128, 16, "f64"), "expected A of f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8"),
    (lambda: ld_fragment("32x32b", 1, 64), "tcgen05.ld.32x32b: expected 128 rows, found 64"),
    (
        lambda: plan_tmem_access(
            _read("S[(128, 32) : (1@TLane, 1@TCol)] + 1@TCol"), (128, 32), "32x32b", element_bits=16
        ),
        "expected a TCol offset of whole 32-bit columns, in steps of 2 elements, found 1",
    ),
    (
        lambda: plan_tmem_access(_read("S[(128, 32) : (1, 1@TCol)]"), (128, 32), "32x32b"),
        "expected a tensor-memory layout with axis TLane, found S[(128, 32) : (1, 1@TCol)]",
    ),
    (
        lambda: plan_tmem_access(_read("S[(24, 32) : (1@TLane, 1@TCol)]"), (24, 32), "16x64b"),
        "tcgen05.ld.16x64b: expected lanes that the threads of a warp and their registers count, in steps of 1, 8, 16,",
    ),
    (lambda: sub_mask_width(100, 16), "zero-column mask: expected M = 128, 64, 32, found 100"),
]


@together(("refused", "message"), _CASES)
def test_refusals(refused: Callable[[], object], message: str):
    with pytest.raises(LegalityError) as found:
        refused()
    assert str(found.value).startswith(message)
