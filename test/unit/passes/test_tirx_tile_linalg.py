"""Functions of structured operations compute as kernels what MLIR says that they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.passes.tirx_tile_linalg import TirxTileLinalgPass
from tirx.runtime import Kernel

_EXAMPLES = Path(__file__).parents[3] / "examples"

_MAPS = """
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
#x = affine_map<(m) -> (m)>
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


def _kernel(text: str, *tile: int, threads: int = 128, target: str = "sm_80") -> Kernel:
    module = embed.parse(_MAPS + text, "f.mlir")
    embed.run(module, (TirxTileLinalgPass(tile, threads, target), *embed.pipeline()))
    (binary,) = embed.extract(module).values()
    (kernel,) = embed.program(binary).kernels.values()
    return kernel


def _integers(rng: np.random.Generator, *shape: int, dtype: Any = np.float16) -> Any:
    return rng.integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize(
    ("example", "name", "m", "n", "threads", "target"),
    [
        ("wgmma_gemm", "wgmma_gemm", 256, 512, 256, "sm_90a"),
        ("tcgen05_gemm", "gemm", 512, 1024, 128, "sm_100a"),
    ],
)
def test_a_product_is_that_of_tiles(example: str, name: str, m: int, n: int, threads: int, target: str) -> None:
    """The PTX of `linalg`, pipelined, is that of the tile program that somebody writes by hand."""
    a, b, d = f"{m}x256xf16", f"{n}x256xf16", f"{m}x{n}xf32"
    text = f"""
func.func @{name}(%a: memref<{a}>, %b: memref<{b}>, %d: memref<{d}>) {{
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<{d}>)
  {_PRODUCT % ("#mk", "#nk", a, b, d)}
  func.return
}}"""
    module = embed.parse(_MAPS + text)
    embed.run(module, (TirxTileLinalgPass((128, 256, 64), threads, target), *embed.pipeline()))
    by_hand = embed.parse((_EXAMPLES / f"{example}.mlir").read_text())
    embed.run(by_hand, embed.pipeline())
    assert embed.ptx(module) == embed.ptx(by_hand)


@pytest.mark.parametrize(("first", "second"), [("mk", "kn"), ("km", "nk")])
def test_operands_in_either_order_and_an_epilogue(first: str, second: str) -> None:
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
    kernel = _kernel(text, 32, 32, 32)
    arguments = [each.T if turned else each for each, turned in ((a, first == "km"), (b, second == "kn"))]
    kernel.simulate(*arguments, bias[None], d)
    assert np.array_equal(d, expected)


def test_matmul_of_one_type() -> None:
    text = """
func.func @f(%a: memref<32x16xf64>, %b: memref<16x24xf64>, %d: memref<32x24xf64>) {
  linalg.matmul ins(%a, %b : memref<32x16xf64>, memref<16x24xf64>) outs(%d : memref<32x24xf64>)
  func.return
}"""
    rng = np.random.default_rng(1)
    a, b, d = (_integers(rng, *shape, dtype=np.float64) for shape in ((32, 16), (16, 24), (32, 24)))
    expected = d + a @ b
    _kernel(text, 16, 24, 8, threads=32).simulate(a, b.T, d)
    assert np.array_equal(d, expected)


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
    rng = np.random.default_rng(2)
    a, b, c = _integers(rng, 300, dtype=np.float32), _integers(rng, 300, dtype=np.float32), np.zeros(300, np.float16)
    expected = a / 2 - b
    _kernel(text, 128).simulate(a, b, c)
    assert np.array_equal(b, expected)
    assert np.array_equal(c, a)
    copy = """
func.func @g(%a: memref<40x24xf32>, %b: memref<40x24xf32>) {
  "memref.copy"(%a, %b) : (memref<40x24xf32>, memref<40x24xf32>) -> ()
  func.return
}"""
    a, b = _integers(rng, 40, 24, dtype=np.float32), np.zeros((40, 24), np.float32)
    _kernel(copy, 32, 32).simulate(a, b)
    assert np.array_equal(a, b)


@pytest.mark.parametrize(("combine", "start"), [("addf", "0.0"), ("maxnumf", "-1.0e30")])
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


def test_other_functions_stay() -> None:
    text = """
func.func @host(%n: index) -> index {
  func.return %n : index
}
func.func @g(%a: memref<64xf32>, %b: memref<64xf32>) attributes {my.note = 1 : i32} {
  "memref.copy"(%a, %b) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}"""
    module = embed.parse(text)
    embed.run(module, [TirxTileLinalgPass((64,), 64, "sm_80")])
    host, kernel = module.ops
    assert (host.name, kernel.name) == ("func.func", "tirx.kernel")
    assert "my.note" in kernel.attributes


_COPY = '"memref.copy"(%a, %b) : (memref<64x64xf32>, memref<64x64xf32>) -> ()'
_ARGUMENTS = "%a: memref<64x64xf32>, %b: memref<64x64xf32>, %v: memref<64xf32>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f"{_COPY}\n  %z = memref.alloc() : memref<4xf32>",
            "expected linalg.generic, .* in a function that becomes a kernel, found 'memref.alloc'",
        ),
        (
            f'{_COPY}\n  "memref.copy"(%v, %v) : (memref<64xf32>, memref<64xf32>) -> ()',
            "expected one or two parallel dimensions, the same number in all operations of @f, found 1",
        ),
        (
            """linalg.generic {indexing_maps = [#nm, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%a : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }""",
            "expected what this function writes to be read where it is written",
        ),
        (
            """linalg.generic {indexing_maps = [#mm, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }""",
            "expected indexing maps to different dimensions",
        ),
        (
            """linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<64x64xf32>) outs(%v : memref<64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %y, %x : f32
    linalg.yield %s : f32
  }""",
            "expected a product of two inputs .* or a reduction by addf, maxnumf or minnumf over one",
        ),
        (
            """linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    linalg.yield %k : f32
  }""",
            "expected arith and math in the body of a structured operation, found 'linalg.index'",
        ),
    ],
)
def test_what_has_no_tiles(body: str, message: str) -> None:
    module = embed.parse(f"{_MAPS}func.func @f({_ARGUMENTS}) {{\n  {body}\n  func.return\n}}", "f.mlir")
    with pytest.raises(LocatedError, match=f"f.mlir:.*{message}"):
        embed.run(module, [TirxTileLinalgPass((32, 32, 32), 64, "sm_80")])


@pytest.mark.parametrize(
    ("tile", "threads", "target", "message"),
    [
        ((0, 32, 32), 64, "sm_80", "expected positive tile sizes, found 0,32,32"),
        ((1 << 40, 32, 32), 64, "sm_80", "expected at most 1048576 elements"),
        ((32, 32, 32), 0, "sm_80", "expected 1 to 1024 threads, found 0"),
        ((32, 32, 32), 64, "sm_1", "unknown target 'sm_1'"),
    ],
)
def test_what_no_kernel_has(tile: tuple[int, ...], threads: int, target: str, message: str) -> None:
    copy = '"memref.copy"(%a, %d) : (memref<40x24xf32>, memref<40x24xf32>) -> ()'
    text = f"func.func @f(%a: memref<40x24xf32>, %d: memref<40x24xf32>) {{\n  {copy}\n  func.return\n}}"
    with pytest.raises(LocatedError, match=f"f.mlir:1:.*{message}"):
        embed.run(embed.parse(text, "f.mlir"), [TirxTileLinalgPass(tile, threads, target)])
