"""Matrix instructions of loads and stores, and steps of products whose operands they load."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, bf16, f32, i32, i64

from tirx.dialects.tirx import LoadOp, MmaOp, StoreOp
from tirx.passes.match.copy_engines import planned_matrices, threads_combine
from tirx.passes.products.fragment_steps import StagedProduct

KERNEL = """
#a = #tirx.tile_layout<S[(2, 2, 2, 8, 4, 4, 2) : (2@warpid, 16, 2, 4@laneid, 4, 1@laneid, 1)] + R[2 : 1@warpid]>
#b = #tirx.tile_layout<S[(2, 4, 8, 4, 4, 2) : (1@warpid, 8, 4@laneid, 2, 1@laneid, 1)] + R[2 : 2@warpid]>
#c = #tirx.tile_layout<S[(2, 2, 2, 8, 2, 4, 4, 2) : (2@warpid, 16, 2, 4@laneid, 1@warpid, 4, 1@laneid, 1)]>
#d = #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
#s = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[64, 32]>>
!s = !tirx.tile<64x32xf16, shared, #s>
!g = !tirx.tile<64x32xf16, global, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
!a = !tirx.tile<64x32xf16, register, #a>
!b = !tirx.tile<64x32xf16, register, #b>
!c = !tirx.tile<64x64xf32, register, #c>
!d = !tirx.tile<64x32xf16, register, #d>
tirx.kernel @k(%x: memref<64x32xf16>, %p: i32) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : memref<64x32xf16> -> !g
  %s = tirx.alloc : !s
  %c = tirx.zero : !c
  BODY
  tirx.return
}
"""


def _module(body: str) -> ModuleOp:
    return parsed(KERNEL.replace("BODY", body))


@pytest.mark.parametrize(("tile", "loads", "stores"), [("a", True, False), ("b", True, False), ("d", True, True)])
def test_copies_of_other_warps_are_loaded_only(tile: str, loads: bool, stores: bool) -> None:
    """`stmatrix` is for elements that one warp has."""
    module = _module(f"%r = tirx.load %s : !s -> !{tile}\n  tirx.store %r, %s : !{tile}, !s")
    found = [planned_matrices(op) is not None for op in module.walk() if isinstance(op, LoadOp | StoreOp)]
    assert found == [loads, stores]


LOADS = "%a = tirx.load {} -> !a\n  %b = tirx.load {} -> !b\n"
PRODUCT = """%r = tirx.mma %a, %b, %c plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"]) : !a, !b, !c -> !c"""
LOOP = "scf.for %i = %c0 to %c1 step %c1 {{\n {} \n}}"


@together(
    ("body", "is_staged"),
    [
        (LOADS.format("%s : !s", "%s : !s") + PRODUCT, True),
        # A is loaded from global memory, or B; outside of the loop with the product; or is used again.
        (LOADS.format("%g : !g", "%s : !s") + PRODUCT, False),
        (LOADS.format("%s : !s", "%g : !g") + PRODUCT, False),
        (LOADS.format("%s : !s", "%s : !s") + LOOP.format(PRODUCT), False),
        (LOOP.format(LOADS.format("%s : !s", "%s : !s") + PRODUCT), True),
        (LOADS.format("%s : !s", "%s : !s") + PRODUCT + "\n tirx.store %a, %s : !a, !s", False),
        ("%a = tirx.zero : !a\n %b = tirx.load %s : !s -> !b\n" + PRODUCT, False),
        ("%b = tirx.zero : !b\n %a = tirx.load %s : !s -> !a\n" + PRODUCT, False),
    ],
)
def test_products_whose_operands_are_loaded_for_them_alone(body: str, is_staged: bool) -> None:
    mma = next(op for op in _module(body).walk() if isinstance(op, MmaOp))
    assert (StagedProduct.of(mma) is not None) == is_staged


def test_what_threads_combine() -> None:
    for type_ in (bf16, f32, i32, i64):
        assert threads_combine("add", type_)
    assert threads_combine("max", i32) and not threads_combine("max", f32)
    assert not any(threads_combine("add", type_) for type_ in (IntegerType(16), IndexType()))
