"""The engine of a copy between global and shared memory, with the reasons against the faster ones."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

import tirx
from tirx.copy.tma import TmaError
from tirx.diagnostics import LocatedError
from tirx.dialects.formula import Call
from tirx.dialects.tirx import AsyncCopyOp, CopyOp, Engine, TileType
from tirx.hw.errors import MissingLayoutError, ThreadCopyError
from tirx.passes.match.bulk_copies import EngineChoice, async_engine, check_engine, plan_thread_copies, plan_tma
from tirx.passes.match.product import target_of
from tirx.rules import WrittenChoiceError

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


def _part(memref: str, at: str, view: str, shared: str, target: str = "sm_90a", clipped: bool = False) -> CopyOp:
    text = f"""
tirx.kernel @k(%a: {memref}, %n: index) target("{target}") threads(32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<{shared}>
  %ga = tirx.view %a[{at}] {"clipped " if clipped else ""}: {memref} -> !tirx.tile<{view}>
  tirx.copy %ga, %s : !tirx.tile<{view}>, !tirx.tile<{shared}>
  tirx.return
}}
"""
    return next(op for op in parsed(text).walk() if isinstance(op, CopyOp))


@together(
    ("memref", "at", "dims", "strides", "box"),
    [
        # Rows of 40 bytes, whose stride no tensor map has: all of them are one dimension.
        ("memref<64x20xf16>", "%c1, %c0", (1280,), (), (160,)),
        ("memref<?x20xf16>", "%n, %c0", (Call("mul", (Call("size", (0, 0)), 20)),), (), (160,)),
        ("memref<6x64x20xf16>", "%c1, %n, %c0", (1280, 6), (2560,), (160, 1)),
        ("memref<6x7x64x20xf16>", "%c1, %c1, %n, %c0", (1280, 7, 6), (2560, 17920), (160, 1, 1)),
    ],
)
def test_rows_that_are_one_dimension(
    memref: str, at: str, dims: tuple[object, ...], strides: tuple[int, ...], box: tuple[int, ...]
) -> None:
    rows = "#tirx.tile_layout<S[(8, 20) : (20, 1)]>"
    copy = _part(memref, at, f"8x20xf16, global, {rows}", f"8x20xf16, shared, {rows}")
    found = plan_tma(copy.source, TileType.of(copy.destination), target_of(copy)).tensor_map
    assert (found.dims, found.strides, found.box) == (dims, strides, box)


def test_atoms_of_32_bytes() -> None:
    """Since sm_100."""
    shared = "32x32xf32, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 2>, #tirx.tile_layout<S[32, 32]>>"
    view = "32x32xf32, global, #tirx.tile_layout<S[(32, 32) : (128, 1)]>"
    old, new = (_part("memref<64x128xf32>", "%n, %c0", view, shared, target) for target in ("sm_90a", "sm_100"))
    assert plan_tma(new.source, TileType.of(new.destination), target_of(new)).tensor_map.swizzle == "128B_atom_32B"
    with pytest.raises(TmaError, match=r"^expected sm_100 or later for swizzles of 32-byte atoms .*, found sm_90a$"):
        plan_tma(old.source, TileType.of(old.destination), target_of(old))


def _rows(rows: int, columns: int, element: str, stride: int, memory: str) -> str:
    return f"{rows}x{columns}x{element}, {memory}, #tirx.tile_layout<S[({rows}, {columns}) : ({stride}, 1)]>"


@pytest.mark.parametrize(
    ("memref", "stride", "element"),
    [("memref<?x13xi8>", 13, "i8"), ("memref<?x26xi8>", 26, "i8"), ("memref<?x16xf4E2M1FN>", 16, "f4E2M1FN")],
)
def test_alignment_of_clipped_rows(memref: str, stride: int, element: str) -> None:
    """Copies that lie within the bounds or outside of them, of a byte at least."""
    view, shared = (_rows(64, 13, element, n, to) for n, to in ((stride, "global"), (13, "shared")))
    copy = _part(memref, "%n, %c0", view, shared, clipped=True)
    with pytest.raises(ThreadCopyError, match=r"\(aligned to 1 bytes\)"):
        plan_thread_copies(copy.source, TileType.of(copy.destination), 32)


def test_copies_without_layouts() -> None:
    placed = [_rows(64, 12, "f16", 12, memory) for memory in ("global", "shared")]
    plain = ["64x12xf16, global", "64x12xf16, shared"]
    for view, shared in ((placed[0], plain[1]), (plain[0], placed[1])):
        copy = _part("memref<64x12xf16>", "%c0, %c0", view, shared)
        with pytest.raises(MissingLayoutError, match="^expected layouts on "):
            plan_thread_copies(copy.source, TileType.of(copy.destination), 32)


@pytest.mark.parametrize(
    ("element", "expected"),
    [("f32", None), ("i8", "expected elements of .* for add in a bulk tensor copy, found s8")],
)
def test_asynchronous_reductions_add(element: str, expected: str | None) -> None:
    shared, view = (f"!tirx.tile<{_rows(8, 64, element, 64, memory)}>" for memory in ("shared", "global"))
    text = f"""
tirx.kernel @k(%a: memref<8x64x{element}>) target("sm_90a") threads(32) {{
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : {shared}
  %ga = tirx.view %a[%c0, %c0] : memref<8x64x{element}> -> {view}
  tirx.async_copy %s, %ga engine(tma_reduce) : {shared}, {view}
  tirx.return
}}
"""
    copy = next(op for op in parsed(text).walk() if isinstance(op, AsyncCopyOp))
    if expected is None:
        assert check_engine(copy, Engine.TMA_REDUCE) == ()
    else:
        with pytest.raises(TmaError, match=f"^{expected}$"):
            check_engine(copy, Engine.TMA_REDUCE)


_FAR = """
tirx.kernel @k(%m: memref<MEMREF>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %i = arith.constant INDEX : index
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %g = tirx.view %m[%i, %c0] : memref<MEMREF> -> !tirx.tile<64x64xf16, global>
  tirx.copy %g, %s engine tma : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.return
}
"""


@pytest.mark.parametrize(
    ("memref", "index", "said"),
    [
        ("2146435072x64xf16", 0, None),
        (
            "2146435073x64xf16",
            0,
            "at most 2146435072 elements along dimension 0 of the memref for a tensor map, found 2146435073",
        ),
        ("?x64xf16", 2146435072, None),
        ("?x64xf16", 2146435073, "an index of at most 2146435072 for a tensor map, found 2146435073"),
        ("128x64xf16, strided<[549755813880, 1]>", 0, None),
        (
            "128x64xf16, strided<[549755813888, 1]>",
            0,
            "strides below 1099511627776 bytes for a tensor map, found 1099511627776 in dimension 0",
        ),
    ],
)
def test_how_far_tensor_maps_reach(memref: str, index: int, said: str | None) -> None:
    text = _FAR.replace("MEMREF", memref).replace("INDEX", str(index))
    if said is None:
        tirx.compile(text)
        return
    with pytest.raises(LocatedError) as caught:
        tirx.compile(text)
    assert caught.value.diagnostic.message == f"expected a copy that engine tma can do: expected {said}"


_LATE = """
tirx.kernel @k(%a: memref<?xf16>, %d: memref<16xf16>) target("sm_90a") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<16xf16, shared>
  %v = tirx.view %a[%c0] : memref<?xf16> -> !tirx.tile<1048576xf16, global>
  %g = tirx.subview %v[{first}] : !tirx.tile<1048576xf16, global> -> !tirx.tile<16xf16, global>
  tirx.copy %g, %s engine tma : !tirx.tile<16xf16, global>, !tirx.tile<16xf16, shared>
  %y = tirx.view %d[%c0] : memref<16xf16> -> !tirx.tile<16xf16, global>
  tirx.copy %s, %y : !tirx.tile<16xf16, shared>, !tirx.tile<16xf16, global>
  tirx.return
}}
"""


def test_how_far_behind_the_place_of_a_view_tensor_maps_reach() -> None:
    assert "cp.async.bulk" in tirx.build(_LATE.format(first=2**20 - 17)).ptx
    said = (
        "expected a part within the first 1048575 elements of a view for a tensor map, found one that ends at 1048576"
    )
    with pytest.raises(WrittenChoiceError, match=f"expected a copy that engine tma can do: {said}"):
        tirx.build(_LATE.format(first=2**20 - 16))
