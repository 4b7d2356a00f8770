"""Order through global memory where places are known at run time only: index tiles, and numbers of arguments."""

from __future__ import annotations

import numpy as np
import pytest
from unit.examples import EXAMPLES

import tirx
from tirx import embed
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.passes import lower_to_ptx_passes
from tirx.text.verification import run_passes
from tirx.universe import new_context

_SCATTER = """
!ids = !tirx.tile<16xi32, register>
!g = !tirx.tile<16x64xf16, global>
!s = !tirx.tile<16x64xf16, shared>
!r = !tirx.tile<16x64xf16, register>
tirx.kernel @k(%x: memref<80x64xf16>, %ids: memref<80xi32>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s = tirx.alloc : !s
  scf.for %k = %c0 to %c64 step %c16 {
    %gx = tirx.view %x[%k, %c0] : memref<80x64xf16> -> !g
    tirx.copy %gx, %s : !g, !s
    %v = tirx.load %s : !s -> !r
    %gi = tirx.view %ids[%k] : memref<80xi32> -> !tirx.tile<16xi32, global>
    %i = tirx.load %gi : !tirx.tile<16xi32, global> -> !ids
    %gy = tirx.view %x[[%i], %c0] clipped : memref<80x64xf16>, !ids -> !g
    tirx.store %v, %gy REDUCE: !r, !g
  }
  tirx.return
}
"""


@pytest.mark.parametrize("reduce", ["", "reduce(add) "])
def test_scattered_rows_are_read_by_the_next_iteration(reduce: str) -> None:
    """A copy that a ring would start ahead waits for the scatter before it, which may write what it reads."""
    program = tirx.build(_SCATTER.replace("REDUCE", reduce))
    x = np.random.default_rng(0).integers(-3, 4, (80, 64)).astype(np.float16)
    ids = np.concatenate([np.arange(16, 80), np.zeros(16)]).astype(np.int32)
    assert "agree" in str(program.kernels["k"].check(x, ids))


_GATHERED = """
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, accumulator>
!go = !tirx.tile<64x64xf32, global>
!ids = !tirx.tile<64xi32, register>
tirx.kernel @gathered(%a: memref<?x?xf16>, %ids: memref<?xi32>, %b: memref<?x?xf16>, %d: memref<?x?xf32>)
    grid(ceildiv(size(2, 0), 64), ceildiv(size(1, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %size = memref.dim %a, %c1 : memref<?x?xf16>
  %gi = tirx.view %ids[%i * 64] clipped : memref<?xi32> -> !tirx.tile<64xi32, global>
  %rows = tirx.load %gi pad(%none) : !tirx.tile<64xi32, global> -> !ids
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %size step %c64 {
    %ga = tirx.view %a[[%rows], %k] clipped : memref<?x?xf16>, !ids -> !g
    %gb = tirx.view %b[%j * 64, %k] clipped : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%i * 64, %j * 64] clipped : memref<?x?xf32> -> !go
  tirx.copy %acc, %gd : !acc, !go
  tirx.return
}
"""


@pytest.mark.sample(5)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 256), (100, 76, 200), (16, 132, 64)])
@pytest.mark.parametrize(
    ("target", "slots"), [("sm_75", 0), ("sm_80", 4), ("sm_90a", 3), ("sm_100a", 6), ("sm_120a", 4)]
)
def test_gathered_rows_fill_a_ring(target: str, slots: int, m: int, n: int, k: int) -> None:
    """Rounds ahead, also of wgmma and tcgen05; an index outside is a row of zeros. Roles load indices themselves."""
    program = tirx.build(_GATHERED, target=target)
    schedule = program.kernels["gathered"].launch.schedule
    assert ("tile::gather4" in program.ptx) == (target in ("sm_100a", "sm_120a"))
    assert ("load" in [role.name for role in schedule.roles]) == (target in ("sm_90a", "sm_100a", "sm_120a"))
    assert [ring.slots for ring in schedule.rings if ring.name in ("sa", "sa_sb")] == [slots] * (slots > 0)
    a, b = (np.random.default_rng(i).integers(-2, 3, (rows, k)).astype(np.float16) for i, rows in ((0, 40), (1, n)))
    ids, d = np.random.default_rng(2).integers(-1, 40, m).astype(np.int32), np.zeros((m, n), np.float32)
    program.kernels["gathered"].simulate(a, ids, b, d, check="strict")
    rows = np.where(ids[:, None] >= 0, a[ids], 0).astype(np.float32)
    np.testing.assert_array_equal(d, rows @ b.astype(np.float32).T)


_PARTS_OF_K = """
!ga = !tirx.tile<64x64xf16, global>
!gb = !tirx.tile<32x64xf16, global>
!a = !tirx.tile<64x64xf16, shared>
!b = !tirx.tile<32x64xf16, shared>
!acc = !tirx.tile<64x32xf32, accumulator>
!ids = !tirx.tile<64xi32, register>
tirx.kernel @split_k(%a: memref<64x320xf16>, %b: memref<32x320xf16>, %ids: memref<64xi32>, %d: memref<64x32xf32>)
    target("sm_90a") grid(4) threads(128) {
  %size = arith.constant 300 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %part = tirx.block_id x
  %start = arith.muli %part, %c128 : index
  %stop = arith.addi %start, %c128 : index
  %end = arith.minui %stop, %size : index
  %gi = tirx.view %ids[0] : memref<64xi32> -> !tirx.tile<64xi32, global>
  %rows = tirx.load %gi : !tirx.tile<64xi32, global> -> !ids
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %start to %end step %c64 {
    %left = arith.subi %end, %k : index
    %va = tirx.view %a[VIEW_A -> !ga
    %vb = tirx.view %b[VIEW_B : memref<32x320xf16> -> !gb
    tirx.copy %va, %sa : !ga, !a
    tirx.copy %vb, %sb : !gb, !b
    PRODUCT
  }
  %gd = tirx.view %d[0, 0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global>
  tirx.copy %acc, %gd reduce(add) : !acc, !tirx.tile<64x32xf32, global>
  tirx.return
}
"""
_PLAIN = "0, %k] : memref<64x320xf16>"
_ONE_END = "0, %k] clipped to [*, %left] : memref<64x320xf16>"
_TWO_ENDS = "0, %k] clipped to [50, %left] : memref<64x320xf16>"
_GATHERED_END = "[%rows], %k] clipped to [*, %left] : memref<64x320xf16>, !ids"
_PRODUCT = "tirx.mma %sa, %sb, %acc : !a, !b, !acc"
_BRANCH = f"%later = arith.cmpi ne, %k, %start : index\nscf.if %later {{ {_PRODUCT} }}"


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize(
    ("a", "b", "product"),
    [
        (_ONE_END, "0, %k] clipped to [*, %left]", _PRODUCT),
        (_TWO_ENDS, "0, %k]", _PRODUCT),
        (_PLAIN, "0, %k] clipped to [20, %left]", _PRODUCT),
        (_GATHERED_END, "0, %k] clipped", _PRODUCT),
        (_GATHERED_END, "0, %k] clipped to [*, %left]", _BRANCH),
    ],
)
def test_ends_of_parts_of_k(target: str, a: str, b: str, product: str) -> None:
    """Blocks of 2, 1 and 0 rounds; `cp.async` copies one or both operands to rings, with mbarriers and without."""
    program = tirx.build(_PARTS_OF_K.replace("VIEW_A", a).replace("VIEW_B", b).replace("PRODUCT", product), target)
    kernel = program.kernels["split_k"]
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-2, 3, (rows, 320)).astype(np.float16) for rows in (64, 32))
    ids, d = rng.integers(-1, 66, 64).astype(np.int32), np.zeros((64, 32), np.float32)
    kernel.simulate(x, y, ids, d, check="strict")
    inside = (ids >= 0) & (ids < 64)
    rows = np.where(inside[:, None], x[ids % 64], 0) if a is _GATHERED_END else x
    rows = np.where(np.arange(64)[:, None] < (50 if a is _TWO_ENDS else 64), rows, 0).astype(np.float32)
    columns = np.where(np.arange(32)[:, None] < (20 if "20" in b else 32), y, 0).astype(np.float32)
    read = (np.arange(320) < 300) & ((np.arange(320) % 128 >= 64) | (product is _PRODUCT))
    np.testing.assert_array_equal(d, rows[:, read] @ columns[:, read].T)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_no_rings_of_loops_that_never_run(target: str) -> None:
    """Nobody would arrive at their mbarriers."""
    text = _PARTS_OF_K.replace("VIEW_A", _ONE_END).replace("VIEW_B", "0, %k]").replace("PRODUCT", _PRODUCT)
    kernel = tirx.build(text.replace("%start to %end", "%c64 to %c64"), target).kernels["split_k"]
    assert not [ring for ring in kernel.launch.schedule.rings if "sa" in ring.name]
    d = np.full((64, 32), 7, np.float32)
    kernel.simulate(*(np.ones((rows, 320), np.float16) for rows in (64, 32)), np.zeros(64, np.int32), d, check="strict")
    assert (d == 7).all()


def test_copies_by_threads_for_products_rounds_apart() -> None:
    """Products of attention, which run rounds apart with TMA, are awaited where cp.async fills the rings."""
    text = (EXAMPLES / "flash_attention.mlir").read_text()
    text = text.replace("tirx.copy %gk, %sk :", "tirx.copy %gk, %sk engine cp_async :")
    text = text.replace("tirx.copy %gv, %sv :", "tirx.copy %gv, %sv engine cp_async :")
    found: list[Diagnostic] = []
    passes = lower_to_ptx_passes().passes
    last = [each.name for each in passes].index("tirx-pipeline-loops")
    with diagnostic_handler(found.append):
        run_passes(new_context(), embed.parse(text), passes[: last + 1])
    assert any(
        "products would run rounds apart from cp_async, for which threads have to wait" in each.message
        for each in found
    )
    assert sum("filled 1 iteration ahead by cp_async, read by wgmma" in each.message for each in found) == 4


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("i64", np.int64)])
def test_numbers_are_stored_for_the_next_load(element: str, dtype: type[np.generic]) -> None:
    text = f"""
tirx.kernel @k(%x: memref<?x?x{element}>, %i: index) target("sm_75") grid(1) threads(64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %j = %c0 to %c3 step %c1 {{
    %v = memref.load %x[%i, %j] : memref<?x?x{element}>
    %k = arith.addi %j, %c1 : index
    memref.store %v, %x[%i, %k] : memref<?x?x{element}>
  }}
  tirx.return
}}"""
    kernel = tirx.build(text).kernels["k"]
    x = np.arange(35).reshape(5, 7).astype(dtype)
    assert "agree" in str(kernel.check(x, 3))
    kernel.simulate(x, 3, check="strict")
    assert (x[3, :4] == x[3, 0]).all()
    assert x[3, 4] == 25


_STEPPED = """
!rows = memref<?x20xf32, strided<[?, 2], offset: ?>>
!fewer = memref<?x9xf32, strided<[?, 4], offset: ?>>
!t = !tirx.tile<16x32xf32, register>
tirx.kernel @k(%a: memref<?x?xf32>, %d: memref<?x?xf32>, %n: index, %m: index) target("sm_80") grid(1) threads(64) {
  %x = memref.subview %a[1, %n] [%m, 20] [3, 2] : memref<?x?xf32> to !rows
  %t = tirx.load %x[1, 2] clipped : !rows -> !t
  %y = memref.subview %x[0, 1] [%m, 9] [1, 2] : !rows to !fewer
  %c = arith.constant 2 : index
  %e = memref.load %y[%c, %c] : !fewer
  %r = tirx.map ins(%t : !t) (%p) { %p + %e } -> !t
  tirx.store %r, %d[0, 0] clipped : !t, memref<?x?xf32>
}
"""


@pytest.mark.parametrize(("n", "m"), [(3, 12), (0, 5)])
def test_steps_of_parts_of_arguments(n: int, m: int) -> None:
    """A part of every third row and second column, its end, a part of it, and an element of that."""
    a, d = np.random.default_rng(0).integers(-9, 10, (40, 60)).astype(np.float32), np.zeros((16, 32), np.float32)
    kernel = tirx.build(_STEPPED).kernels["k"]
    kernel.simulate(a, d, n, m, check="strict")
    part = a[1:, n:][: 3 * m : 3, :40:2]
    expected = np.zeros((16, 32), np.float32)
    expected[: m - 1, :18] = part[1:, 2:]
    np.testing.assert_array_equal(d, expected + part[:, 1:][:, ::2][2, 2])
    assert "agree" in str(kernel.check(a, d, n, m))
