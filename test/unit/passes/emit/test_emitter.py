"""What the helpers of lowerings refuse: places in no block, and layouts that are not of the tile."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import f16
from xdsl.ir import Block

from tirx.dialects.tirx import AllocOp, MemorySpace, TileType
from tirx.layout import TileLayout
from tirx.passes.emit.emitter import Emitter
from tirx.passes.emit.placement import place
from tirx.rules import LayoutChoiceError


def test_an_operation_in_no_block_has_no_place_before_it() -> None:
    with pytest.raises(ValueError, match=r"expected an operation in a block, found 'test\.op' in none"):
        Emitter.before(test.TestOp())


def test_a_picked_layout_is_of_as_many_elements() -> None:
    alloc = AllocOp(TileType.get((8, 8), f16, MemorySpace.SHARED))
    Block([alloc])
    with pytest.raises(LayoutChoiceError) as caught:
        place(alloc.result, TileLayout.row_major((8, 4)))
    assert caught.value.message == (
        "the layout picked for the tile does not fit its memory: expected a layout of 64 elements for a 8x8 tile, "
        "found one of 32: S[(8, 4) : (4, 1)]"
    )
