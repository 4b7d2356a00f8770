"""Functions of structured operations compute as kernels what MLIR says that they do."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

import numpy as np
import pytest
from sweeps.linalg_products import check, program
from unit.cases import together
from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass

from tirx import embed
from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import AllocOp, MemorySpace, MmaOp
from tirx.passes.match.tile_choice import TileChoice
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass, _Tiling  # pyright: ignore[reportPrivateUsage]
from tirx.predict import Prediction, Work
from tirx.ptx.printer import print_ptx
from tirx.runtime import ArgumentError, Kernel
from tirx.runtime.describe import describe
from tirx.runtime.watch import Watch
from tirx.text.verification import run_passes

MAPS = """
#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#column = affine_map<(m, n) -> (n)>
#mm = affine_map<(m, n) -> (m, m)>
#nm = affine_map<(m, n) -> (n, m)>
#no = affine_map<(m, n) -> ()>
#x = affine_map<(m) -> (m)>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#mbk = affine_map<(b, m, n, k) -> (m, b, k)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#bkn = affine_map<(b, m, n, k) -> (b, k, n)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#bid = affine_map<(b, m, n) -> (b, m, n)>
#brow = affine_map<(b, m, n) -> (b, n)>
#each = affine_map<(b, m, n) -> (b)>
#one = affine_map<(b, m, n) -> ()>
#wide = affine_map<(a, b, c, k) -> (a, b, c, k)>
#left = affine_map<(a, b, c, k) -> (a, b, c)>
#vector = affine_map<(b, m, k) -> (b, k)>
#matrix = affine_map<(b, m, k) -> (b, m, k)>
#result = affine_map<(b, m, k) -> (b, m)>
"""

_PRODUCT = """
  linalg.generic {indexing_maps = [%s, %s, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%%a, %%b : memref<%s>, memref<%s>) outs(%%d : memref<%s>) {
  ^bb0(%%x: f16, %%y: f16, %%acc: f32):
    %%xe = arith.extf %%x : f16 to f32
    %%ye = arith.extf %%y : f16 to f32
    %%p = arith.mulf %%ye, %%xe : f32
    %%s = arith.addf %%acc, %%p : f32
    linalg.yield %%s : f32
  }
"""


def _kernel(text: str, *tile: int, threads: int = 128, target: str = "sm_80", exchanged: bool = False) -> Kernel:
    module = embed.parse(MAPS + text, "f.mlir")
    embed.run(module, (TirxTileLinalgPass(tile, threads, target, exchanged), *embed.pipeline()))
    (binary,) = embed.extract(module).values()
    (kernel,) = embed.program(binary).kernels.values()
    return kernel


def _agrees(text: str, *tile: int, threads: int = 128, target: str = "sm_80") -> None:
    """The function, its kernel, and the PTX in the simulator do the same."""
    module = embed.parse(MAPS + text, "f.mlir")
    watch = Watch.of(module)
    run_passes(embed.context(), module, [TirxTileLinalgPass(tile, threads, target)], watch.after)
    run_passes(embed.context(), module, embed.pipeline())
    watch.end(print_ptx(module), describe(module))
    assert list(watch.origins) == ["f"] and any(case.does_something for case in watch.cases["f"])


def _integers(rng: np.random.Generator, *shape: int, dtype: Any = np.float16) -> Any:
    return rng.integers(-3, 4, shape).astype(dtype)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("first", "second"), [("mk", "kn"), ("km", "nk")])
@pytest.mark.parametrize(
    ("tile", "target", "exchanged"),
    [
        ((32, 32, 32), "sm_80", False),
        ((16, 64, 64), "sm_90a", True),
        ((40, 128, 64), "sm_100a", True),
        ((8, 32, 32), "sm_120a", True),
    ],
)
def test_operands_in_either_order_and_an_epilogue(
    first: str, second: str, tile: tuple[int, int, int], target: str, exchanged: bool
) -> None:
    """`relu(D + A B + bias)`, sizes that tiles do not divide, operands as they lie in memory."""
    sizes = {"m": 40, "n": 72, "k": 48}
    shapes = ["x".join(str(sizes[d]) for d in dims) for dims in (first, second)]
    text = f"""
func.func @f(%a: memref<{shapes[0]}xf16>, %b: memref<{shapes[1]}xf16>, %bias: memref<72xf32>, %d: memref<40x72xf32>) {{
  {_PRODUCT % (f"#{first}", f"#{second}", f"{shapes[0]}xf16", f"{shapes[1]}xf16", "40x72xf32")}
  %zero = arith.constant 0.0 : f32
  linalg.generic {{indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%bias : memref<72xf32>) outs(%d : memref<40x72xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }}
  func.return
}}"""
    rng = np.random.default_rng(0)
    a, b = (_integers(rng, *(sizes[d] for d in dims)) for dims in (first, second))
    bias, d = _integers(rng, 72, dtype=np.float32), _integers(rng, 40, 72, dtype=np.float32)
    x, y = (each.astype(np.float32) for each in (a if first == "mk" else a.T, b if second == "nk" else b.T))
    expected = np.maximum(d + x @ y.T + bias, 0)
    kernel = _kernel(text, *tile, target=target, exchanged=exchanged)
    arguments = [each.T if turned else each for each, turned in ((a, first == "km"), (b, second == "kn"))]
    kernel.simulate(*arguments, bias[None], d)
    assert np.array_equal(d, expected)
    if (first, second) != ("mk", "nk"):
        with pytest.raises(ArgumentError, match=r"found \(\d+, \d+\); its transpose has it"):
            kernel.simulate(a, b, bias[None], d)


@pytest.mark.parametrize(
    ("first", "second", "tile", "target", "known"),
    [
        ("bmk", "bnk", (32, 32, 32), "sm_80", True),
        ("mbk", "bkn", (32, 32, 32), "sm_80", False),
        ("mbk", "bkn", (64, 64, 64), "sm_90a", False),
        ("mbk", "bnk", (128, 64, 64), "sm_100a", True),
    ],
)
@pytest.mark.sample(1)
def test_a_batch_of_products(first: str, second: str, tile: tuple[int, int, int], target: str, known: bool) -> None:
    """`scale * (A B + bias) + shift`, rounded to f16, where some of the operands differ from product to product."""
    sizes = {"b": 2, "m": 40, "n": 72, "k": 48}

    def type_of(dims: str, element: str) -> str:
        return "x".join([*(str(sizes[d]) if known else "?" for d in dims), element])

    a_type, b_type = type_of(first, "f16"), type_of(second, "f16")
    bias_type, shift_type = type_of("bn", "f32"), type_of("b", "f32")
    d_type, sums_type = type_of("bmn", "f16"), type_of("bmn", "f32")
    extents = "" if known else "%m, %n, %k"
    text = f"""
func.func @f(%a: memref<{a_type}>, %b: memref<{b_type}>, %bias: memref<{bias_type}>, %scale: memref<f32>,
             %shift: memref<{shift_type}>, %d: memref<{d_type}>) {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = memref.dim %d, %c0 : memref<{d_type}>
  %n = memref.dim %d, %c1 : memref<{d_type}>
  %k = memref.dim %d, %c2 : memref<{d_type}>
  %sums = memref.alloc({extents}) : memref<{sums_type}>
  linalg.fill ins(%zero : f32) outs(%sums : memref<{sums_type}>)
  linalg.generic {{indexing_maps = [#{first}, #{second}, #bmn],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%a, %b : memref<{a_type}>, memref<{b_type}>) outs(%sums : memref<{sums_type}>) {{
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{indexing_maps = [#bid, #brow, #one, #each, #bid],
                  iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%sums, %bias, %scale, %shift : memref<{sums_type}>, memref<{bias_type}>, memref<f32>, memref<{shift_type}>)
      outs(%d : memref<{d_type}>) {{
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32, %old: f16):
    %sum = arith.addf %x, %y : f32
    %scaled = arith.mulf %sum, %z : f32
    %shifted = arith.addf %scaled, %w : f32
    %half = arith.truncf %shifted : f32 to f16
    linalg.yield %half : f16
  }}
  memref.dealloc %sums : memref<{sums_type}>
  func.return
}}"""
    _agrees(text, *tile, target=target)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.sample(1)
def test_a_product_of_integers(target: str) -> None:
    text = """
func.func @f(%a: memref<128x64xi8>, %b: memref<64x64xi8>, %d: memref<128x64xi32>) {
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<128x64xi8>, memref<64x64xi8>) outs(%d : memref<128x64xi32>) {
  ^bb0(%x: i8, %y: i8, %acc: i32):
    %xe = arith.extsi %x : i8 to i32
    %ye = arith.extsi %y : i8 to i32
    %p = arith.muli %xe, %ye : i32
    %s = arith.addi %acc, %p : i32
    linalg.yield %s : i32
  }
  func.return
}"""
    _agrees(text, 128, 64, 64, target=target)


def test_matmul_of_one_type() -> None:
    text = """
func.func @f(%a: memref<32x16xf64>, %b: memref<16x24xf64>, %d: memref<32x24xf64>) {
  linalg.matmul ins(%a, %b : memref<32x16xf64>, memref<16x24xf64>) outs(%d : memref<32x24xf64>)
  func.return
}"""
    _agrees(text, 16, 24, 8, threads=32)


def test_one_number_for_all_elements() -> None:
    """An argument of no dimensions has two units in the kernel."""
    text = """
func.func @f(%a: memref<20x24xf32>, %scale: memref<f32>, %d: memref<20x24xf32>) {
  linalg.generic {indexing_maps = [#id, #no, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %scale : memref<20x24xf32>, memref<f32>) outs(%d : memref<20x24xf32>) {
  ^bb0(%x: f32, %s: f32, %old: f32):
    %y = arith.mulf %x, %s : f32
    linalg.yield %y : f32
  }
  func.return
}"""
    _agrees(text, 16, 16, threads=32)


def test_elementwise_operations_of_any_size_and_copies() -> None:
    text = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf16>) {
  %half = arith.constant 0.5 : f32
  linalg.generic {indexing_maps = [#x, #x, #x], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%b, %c : memref<?xf32>, memref<?xf16>) {
  ^bb0(%x: f32, %y: f32, %z: f16):
    %s = arith.mulf %x, %half : f32
    %t = arith.subf %s, %y : f32
    %u = arith.truncf %x : f32 to f16
    linalg.yield %t, %u : f32, f16
  }
  func.return
}
"""
    _agrees(text, 128)
    copy = """
func.func @f(%a: memref<40x24xf32>, %b: memref<40x24xf32>) attributes {tirx.kernel} {
  "memref.copy"(%a, %b) : (memref<40x24xf32>, memref<40x24xf32>) -> ()
  func.return
}"""
    _agrees(copy, 32, 32)


@pytest.mark.parametrize(("combine", "start"), [("addf", "0.0"), ("maxnumf", "-1.0e30")])
@pytest.mark.sample(1)
def test_reductions(combine: str, start: str) -> None:
    """The sum or the largest of the squares of each row, and what is left of them by an elementwise operation."""
    text = f"""
func.func @f(%a: memref<70x128xf16>, %d: memref<70xf32>, %scale: memref<70xf32>) {{
  %start = arith.constant {start} : f32
  linalg.fill ins(%start : f32) outs(%d : memref<70xf32>)
  linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%a : memref<70x128xf16>) outs(%d : memref<70xf32>) {{
  ^bb0(%x: f16, %acc: f32):
    %e = arith.extf %x : f16 to f32
    %q = arith.mulf %e, %e : f32
    %s = arith.{combine} %q, %acc : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{indexing_maps = [#x, #x], iterator_types = ["parallel"]}}
      ins(%scale : memref<70xf32>) outs(%d : memref<70xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""
    rng = np.random.default_rng(3)
    a, scale, d = _integers(rng, 70, 128), _integers(rng, 70, dtype=np.float32), np.zeros(70, np.float32)
    _kernel(text, 32, 64).simulate(a, d[:, None], scale[:, None])
    squares = a.astype(np.float32) ** 2
    assert np.array_equal(d, scale * (squares.sum(1) if combine == "addf" else squares.max(1)))


@pytest.mark.parametrize("combine", ["addf", "maxnumf", "minnumf"])
@pytest.mark.parametrize(("columns", "target"), [(77, "sm_80"), ("?", "sm_90a"), (3, "sm_100a")])
@pytest.mark.sample(2)
def test_reductions_that_end_within_a_tile(combine: str, columns: int | str, target: str) -> None:
    """Elements behind the end count nothing, whatever the sign of the others, and a row of NaN stays one."""
    text = f"""
func.func @f(%a: memref<20x{columns}xf32>, %d: memref<20xf32>) {{
  linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%a : memref<20x{columns}xf32>) outs(%d : memref<20xf32>) {{
  ^bb0(%x: f32, %acc: f32):
    %one = arith.constant 1.0 : f32
    %q = arith.addf %x, %one : f32
    %s = arith.{combine} %q, %acc : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""
    rng, size = np.random.default_rng(3), 77 if columns == "?" else int(columns)
    a, d = _integers(rng, 20, size, dtype=np.float32) - 100, _integers(rng, 20, dtype=np.float32) - 100
    a[3:] *= -1
    d[3:] *= -1
    a[5], d[5] = np.nan, np.nan
    by = {"addf": np.add, "maxnumf": np.fmax, "minnumf": np.fmin}[combine]
    expected = by(by.reduce(a + 1, axis=1), d)
    _kernel(text, 16, 32, threads=32, target=target).simulate(a, d[:, None])
    np.testing.assert_array_equal(d, expected)


def test_batches_of_reductions() -> None:
    """The largest of each row of a tensor of four dimensions, and matrices times vectors."""
    text = """
func.func @f(%a: memref<2x3x20x32xf32>, %d: memref<2x3x20xf32>) {
  linalg.generic {indexing_maps = [#wide, #left], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a : memref<2x3x20x32xf32>) outs(%d : memref<2x3x20xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.maxnumf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}"""
    _agrees(text, 16, 32, threads=32)
    text = """
func.func @f(%a: memref<3x20x32xf32>, %v: memref<3x32xf32>, %d: memref<3x20xf32>) {
  linalg.generic {indexing_maps = [#matrix, #vector, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %v : memref<3x20x32xf32>, memref<3x32xf32>) outs(%d : memref<3x20xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}"""
    _agrees(text, 16, 32, threads=32)


def test_named_operations() -> None:
    """`max(broadcast(v) + a, a^T)`, and the sum of each of its rows, with scalars and what no memref has."""
    text = """
func.func @f(%a: memref<40x40xf32>, %t: memref<40x40xf32>, %v: memref<40xf32>, %by: f32, %d: memref<40x40xf32>) {
  %wide = memref.alloc() : memref<40x40xf32>
  %turned = memref.alloc() : memref<40x40xf32>
  linalg.broadcast ins(%v : memref<40xf32>) outs(%wide : memref<40x40xf32>) dimensions = [0]
  linalg.add ins(%wide, %a : memref<40x40xf32>, memref<40x40xf32>) outs(%wide : memref<40x40xf32>)
  linalg.transpose ins(%t : memref<40x40xf32>) outs(%turned : memref<40x40xf32>) permutation = [1, 0]
  linalg.max ins(%wide, %turned : memref<40x40xf32>, memref<40x40xf32>) outs(%d : memref<40x40xf32>)
  linalg.generic {indexing_maps = [#no, #id], iterator_types = ["parallel", "parallel"]}
      ins(%by : f32) outs(%d : memref<40x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}"""
    _agrees(text, 32, 32)
    text = """
func.func @f(%a: memref<40x32xf32>, %d: memref<40xf32>) {
  linalg.reduce ins(%a : memref<40x32xf32>) outs(%d : memref<40xf32>) dimensions = [1]
    (%x: f32, %y: f32) {
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }
  func.return
}"""
    _agrees(text, 32, 16)


def test_other_functions_stay() -> None:
    text = """
func.func @host(%n: index) -> index {
  func.return %n : index
}
func.func @g(%a: memref<64xf32>, %b: memref<64xf32>) attributes {my.note = 1 : i32, tirx.kernel} {
  "memref.copy"(%a, %b) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}"""
    module = embed.parse(text)
    embed.run(module, [TirxTileLinalgPass((64,), 64, "sm_80")])
    host, kernel = module.ops
    assert (host.name, kernel.name) == ("func.func", "tirx.kernel")
    assert "my.note" in kernel.attributes


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("target", "kind", "size"),
    [
        ("sm_90a", "f16", (70, 130, 40)),
        ("sm_100a", "bf16", (129, 65, 33)),
        ("sm_120a", "f64", (33, 70, 19)),
        ("sm_89", "f8E4M3FN", (17, 40, 64)),
        ("sm_90a", "tf32", (1, 67, 36)),
        ("sm_100a", "f16", (7, 130, 40)),
        ("sm_90a", "bf16", (17, 70, 1000)),
        ("sm_90a", "f8E4M3FN", (7, 66, 777)),
    ],
)
def test_products_without_options(target: str, kind: str, size: tuple[int, int, int]) -> None:
    """Tiles are chosen for the size, the types and the target; `test/sweeps/linalg_products.py` has more."""
    assert check(target, kind, size, begins_at_zero=size[2] > 500) is None


def _accumulator(text: str, *passes: ModulePass) -> str:
    module = embed.parse(text, "f.mlir")
    embed.run(module, passes)
    types = [str(op.result.type) for op in module.walk() if isinstance(op, AllocOp)]
    return next(type_ for type_ in types if "accumulator" in type_)


def test_parts_of_k_are_chosen_for_sums_that_begin_at_zero() -> None:
    """Few tiles leave most of the GPU idle; what is added to D, or read otherwise, is one part; options hold."""
    few = 16, 2112, 7168
    for text, target, written, parts, most in (
        (program("f16", few, True), "sm_90a", None, "4", "8"),
        (program("f16", few, True), "sm_90a", 2, "2", "8"),
        (program("f16", few), "sm_90a", None, None, "12"),
        (program("f16", (4096, 4096, 4096), True), "sm_90a", None, None, None),
        (program("f16", few, True), "sm_100a", None, None, "12"),
    ):
        module = embed.parse(text, "f.mlir")
        embed.run(module, [TirxTileLinalgPass(target=target, parts=written)])
        printed = str(module)
        for name, value in (("parts", parts), ("most_stages", most)):
            found = re.search(rf"tirx.{name} = (\d+) : i32", printed)
            assert (None if found is None else found[1]) == value, (target, written, name)


@pytest.mark.parametrize(("step", "parts"), [("ins(%d : T) outs(%e : T)", True), ("ins(%e : T) outs(%e : T)", False)])
def test_blocks_that_share_out_k_write_only_what_comes_from_the_sums(step: str, parts: bool) -> None:
    """Else all blocks of a cluster would count E up, each after the others."""
    type_ = "memref<16x2112xf32>"
    text = program("f16", (16, 2112, 7168), True).replace(") attributes", f", %e: {type_}) attributes")
    body = "^bb0(%x: f32, %y: f32):\n    %one = arith.addf %x, %x : f32\n    linalg.yield %one : f32"
    maps = 'indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]'
    more = f"linalg.generic {{{maps}}} {step.replace('T', type_)} {{\n  {body}\n  }}\n  func.return"
    module = embed.parse(MAPS + text.replace("func.return", more), "f.mlir")
    embed.run(module, [TirxTileLinalgPass(target="sm_90a")])
    assert ("tirx.parts" in str(module)) == parts


_SUMS = MemorySpace.ACCUMULATOR


@together("is_ordered", [False, True])
@together(("shares", "cluster"), [(None, None), ("a", "columns"), ("b", "rows")])
@together("exchanged", [False, True])
def test_kernels_say_what_was_chosen(
    exchanged: bool, shares: Literal["a", "b"] | None, cluster: str | None, is_ordered: bool
) -> None:
    """Blocks of neighbouring columns share A, and those of neighbouring rows share B; D^T has the rows of B."""
    module = embed.parse(program("f16", (128, 256, 64)), "f.mlir")
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    tiling = _Tiling(function, options=TirxTileLinalgPass(target="sm_90a"))
    choice = TileChoice(
        64, 32, 16, 96, "wgmma", most=5, parts=1, is_ordered=is_ordered, shares=shares, exchanged=exchanged,
        streamed=False, work=cast(Work, None), prediction=cast(Prediction, None), score=1.0,
    )  # fmt: skip
    kernel = tiling._make(tiling.read(), choice)  # pyright: ignore[reportPrivateUsage]
    said = {name: kernel.attributes.get(f"tirx.{name}") for name in ("cluster", "order", "parts")}
    order = StringAttr("group") if is_ordered else None
    assert said == {"cluster": cluster and StringAttr(cluster), "order": order, "parts": None}
    (accumulator,) = (t for op in kernel.walk() if isinstance(op, AllocOp) and (t := op.result.type).memory is _SUMS)
    assert accumulator.dims == (64, 32) and kernel.num_threads == 96


def test_chosen_tiles() -> None:
    """Few rows have tiles of 64 rows, large products large ones; a remark says why, and what is written holds."""
    remarks: list[str] = []
    with diagnostic_handler(lambda each: remarks.append(each.message), remarks=True):
        for size, tile in (
            ((64, 2112, 7168), "64x16x"),
            ((8192, 8192, 8192), "192x168x"),
            ((17, 2112, 7168), "64x24x"),
        ):
            assert tile in _accumulator(program("f16", size), TirxTileLinalgPass(target="sm_90a"))
    assert remarks[0].startswith("@matmul multiplies tiles of 64x16x64: ") and "; 64x64x64: +" in remarks[0]
    assert remarks[2].startswith("@matmul multiplies tiles of 64x24x64 of D^T = B A^T: ")
    written = TirxTileLinalgPass((32, 16, 16), 128, "sm_90a")
    assert _accumulator(program("f16", (64, 64, 64)), written).startswith("!tirx.tile<32x16x")


_MATMUL = """
func.func @f(%a: memref<{m}x{k}x{t}>, %b: memref<{k}x{n}x{t}>, %d: memref<{m}x{n}x{t}>) {{
  linalg.matmul ins(%a, %b : memref<{m}x{k}x{t}>, memref<{k}x{n}x{t}>) outs(%d : memref<{m}x{n}x{t}>)
  func.return
}}"""

_LAST_LARGEST = """
func.func @f(%a: memref<{m}x{n}x{k}xi32>, %most: memref<{m}xi32>, %where: memref<{m}xi64>) {{
  linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, n, k)>, affine_map<(m, n, k) -> (m)>,
      affine_map<(m, n, k) -> (m)>], iterator_types = ["parallel", "reduction", "reduction"]}}
      ins(%a : memref<{m}x{n}x{k}xi32>) outs(%most, %where : memref<{m}xi32>, memref<{m}xi64>) {{
  ^bb0(%x: i32, %old: i32, %at: i64):
    %0 = linalg.index 1 : index
    %1 = linalg.index 2 : index
    %c100 = arith.constant 100 : index
    %2 = arith.muli %0, %c100 : index
    %3 = arith.addi %1, %2 : index
    %4 = arith.index_cast %3 : index to i64
    %more = arith.cmpi sge, %x, %old : i32
    %largest = arith.select %more, %x, %old : i32
    %place = arith.select %more, %4, %at : i64
    linalg.yield %largest, %place : i32, i64
  }}
  func.return
}}"""

_PLACES = """
func.func @f(%a: memref<{m}x{n}xi64>, %d: memref<{m}x{n}xi64>) {{
  linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%a : memref<{m}x{n}xi64>) outs(%d : memref<{m}x{n}xi64>) {{
  ^bb0(%x: i64, %old: i64):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = arith.muli %0, %1 : index
    %3 = arith.index_cast %2 : index to i64
    %4 = arith.addi %3, %x : i64
    linalg.yield %4 : i64
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("text", "tile", "target"),
    [
        (_MATMUL.replace("{t}", "f32"), (16, 16, 8), "sm_90a"),
        (_MATMUL.replace("{t}", "f64"), (16, 16, 8), "sm_75"),
        (_MATMUL.replace("{t}", "i16"), (32, 16, 2), "sm_80"),
        (_LAST_LARGEST, (16, 8), "sm_100a"),
        (_PLACES, (16, 32), "sm_80"),
    ],
)
@pytest.mark.sample(2)
@pytest.mark.parametrize("known", [True, False])
def test_one_element_after_the_other(text: str, tile: tuple[int, ...], target: str, known: bool) -> None:
    """Steps without a tensor core or a reduction, and bodies that know their place; sizes that tiles do not divide."""
    sizes = {"m": 33, "n": 21, "k": 19} if known else dict.fromkeys("mnk", "?")
    _agrees(text.format(**sizes), *tile, threads=32, target=target)


def test_sums_that_know_their_place() -> None:
    """`tirx.reduce` combines what a map computes without places along the dimension of the reduction."""
    _agrees(
        """
func.func @f(%a: memref<17x21xi64>, %d: memref<17xi64>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<17x21xi64>) outs(%d : memref<17xi64>) {
  ^bb0(%x: i64, %sum: i64):
    %0 = linalg.index 1 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.muli %1, %x : i64
    %3 = arith.addi %sum, %2 : i64
    linalg.yield %3 : i64
  }
  func.return
}""",
        16,
        8,
        threads=32,
    )


@pytest.mark.parametrize(
    ("types", "target", "expected"),
    [
        (("f32", "f32", "f32"), "sm_100a", False),
        (("f16", "f16", "f32"), "sm_75", True),
        (("bf16", "bf16", "f32"), "sm_75", False),
        (("f64", "f64", "f64"), "sm_75", False),
        (("f8E4M3FN", "f8E4M3FN", "f32"), "sm_80", True),
        (("f8E4M3FN", "f8E5M2", "f32"), "sm_90a", True),
        (("f8E4M3FN", "f8E5M2", "f32"), "sm_80", False),
        (("i8", "i8", "i32"), "sm_80", True),
        (("i8", "i8", "i8"), "sm_80", False),
    ],
)
def test_types_of_tensor_cores(types: tuple[str, str, str], target: str, expected: bool) -> None:
    a, b, d = types
    body = {
        "i8": "%p = arith.extsi %x : i8 to i32\n%q = arith.extsi %y : i8 to i32\n",
        "f": f"%p = arith.extf %x : {a} to f32\n%q = arith.extf %y : {b} to f32\n",
    }["i8" if a == "i8" else "f"]
    p, q = ("%p", "%q") if a != d else ("%x", "%y")
    kind = "i" if a == "i8" else "f"
    text = f"""
func.func @f(%a: memref<64x64x{a}>, %b: memref<64x64x{b}>, %d: memref<64x64x{d}>) {{
  linalg.generic {{indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : memref<64x64x{a}>, memref<64x64x{b}>) outs(%d : memref<64x64x{d}>) {{
  ^bb0(%x: {a}, %y: {b}, %acc: {d}):
    {body if a != d else ""}
    %r = arith.mul{kind} {p}, {q} : {d}
    %s = arith.add{kind} %acc, %r : {d}
    linalg.yield %s : {d}
  }}
  func.return
}}"""
    module = embed.parse(MAPS + text, "f.mlir")
    embed.run(module, (TirxTileLinalgPass((64, 64, 64), 128, target),))
    assert any(isinstance(op, MmaOp) for op in module.walk()) is expected
