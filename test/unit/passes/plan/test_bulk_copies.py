"""The engine of a copy between global and shared memory, with the reasons against the faster ones."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.formula import Call
from tirx.dialects.tirx import CopyOp, Engine, TileType
from tirx.passes.plan.bulk_copies import EngineChoice, async_engine, plan_tma
from tirx.passes.plan.product import target_of

KERNEL = """
tirx.kernel @k(%a: {memref}) target("{target}") threads(128) {{
  %c0 = arith.constant 0 : index
  %column = arith.constant {offset} : index
  %s = tirx.alloc : {shared}
  %ga = tirx.view %a[%c0, %column] : {memref} -> {view}
  tirx.copy %ga, %s : {view}, {shared}
  tirx.return
}}
"""
SWIZZLED = "#tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>"
ROWS = "#tirx.tile_layout<S[(64, 64) : (64, 1)]>"


def _copy(memref: str, target: str, layout: str, stride: int = 128, offset: int = 8) -> CopyOp:
    view = f"!tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : ({stride}, 1)]>>"
    shared = f"!tirx.tile<64x64xf16, shared, {layout}>"
    text = KERNEL.format(memref=memref, target=target, shared=shared, view=view, offset=offset)
    module = parsed(text)
    return next(op for op in module.walk() if isinstance(op, CopyOp))


CASES = [
    ("memref<256x128xf16>", "sm_90a", SWIZZLED, 128, 8, Engine.TMA, ""),
    ("memref<256x128xf16>", "sm_80", SWIZZLED, 128, 8, Engine.CP_ASYNC, "no tma: expected sm_90 or later, found sm_80"),
    ("memref<256x128xf16>", "sm_75", ROWS, 128, 8, Engine.LD_ST, "no cp_async: expected sm_80 or later, found sm_75"),
    (
        "memref<256x130xf16>",
        "sm_90",
        ROWS,
        130,
        2,
        Engine.CP_ASYNC,
        "found a stride of 130 f16 elements",
    ),
    ("memref<256x129xf16>", "sm_90", ROWS, 129, 2, Engine.LD_ST, "found none with S[(64, 64) : (129, 1)]"),
]


@pytest.mark.parametrize(("memref", "target", "layout", "stride", "offset", "engine", "reason"), CASES)
def test_engines(memref: str, target: str, layout: str, stride: int, offset: int, engine: Engine, reason: str):
    choice = async_engine(_copy(memref, target, layout, stride, offset))
    assert choice.engine is engine and reason in choice.reason
    assert choice.is_asynchronous == (engine is not Engine.LD_ST)
    assert (choice.reason == "") == (reason == "")


def test_tensor_map():
    copy = _copy("memref<?x128xf16>", "sm_90a", SWIZZLED)
    found = plan_tma(copy.source, TileType.of(copy.destination), target_of(copy)).tensor_map
    assert (found.argument, found.type, found.swizzle) == (0, "f16", "128B")
    assert (found.dims, found.strides, found.box) == ((128, Call("size", (0, 0))), (256,), (64, 64))
    assert async_engine(copy) == EngineChoice(Engine.TMA)
