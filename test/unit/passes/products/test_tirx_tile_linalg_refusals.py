"""Functions, tiles and numbers of threads of which `tirx-tile-linalg` makes no kernels."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.products.test_tirx_tile_linalg import MAPS

from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass

_COPY = '"memref.copy"(%a, %b) : (memref<64x64xf32>, memref<64x64xf32>) -> ()'
_ARGUMENTS = "%a: memref<64x64xf32>, %b: memref<64x64xf32>, %v: memref<64xf32>, %number: f32"


@together(
    ("body", "message"),
    [
        (
            f"{_COPY}\n  %z = memref.alloca() : memref<4xf32>",
            "expected operations of linalg, .* in a function that becomes a kernel, found 'memref.alloca'",
        ),
        (
            f'{_COPY}\n  "memref.copy"(%v, %v) : (memref<64xf32>, memref<64xf32>) -> ()',
            "expected 2 parallel dimensions, as the first operation of the function has, found 1",
        ),
        (
            """%t = memref.alloc() : memref<2x2x2x2xf32>
  linalg.fill ins(%number : f32) outs(%t : memref<2x2x2x2xf32>)""",
            "expected one to three parallel dimensions, found 4",
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
            """linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %k = "test.other"(%x) : (f32) -> f32
    linalg.yield %k : f32
  }""",
            "expected arith and math in the body of a structured operation, found 'test.other'",
        ),
        (
            """%t = memref.alloc() : memref<64x64xf32>
  linalg.add ins(%a, %t : memref<64x64xf32>, memref<64x64xf32>) outs(%b : memref<64x64xf32>)""",
            "expected a memref.alloc that is written before it is read",
        ),
        (
            """%t = arith.constant dense<0.0> : tensor<64xf32>
  linalg.broadcast ins(%t : tensor<64xf32>) outs(%b : memref<64x64xf32>) dimensions = [0]""",
            "expected a memref, found tensor<64xf32>; bufferize tensors first",
        ),
        (
            f"%t = memref.alloc() : memref<64x64xf32>\n  {_COPY.replace('%b', '%t')}",
            "expected a function that writes one of its arguments, found none",
        ),
        (
            "%z = arith.constant 0.0 : f16\n  linalg.fill ins(%z : f16) outs(%a : memref<64x64xf32>)",
            "expected values of the type of the output, f32, found f16; convert them first",
        ),
        (
            """%t = memref.alloc() : memref<64x64xf16>
  linalg.copy ins(%a : memref<64x64xf32>) outs(%t : memref<64x64xf16>)""",
            "expected values of the type of the output, f16, found f32; convert them first",
        ),
        (
            """linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %h = arith.truncf %x : f32 to f16
    linalg.yield %h : f16
  }""",
            "expected values of the type of the output, f32, found f16; convert them first",
        ),
        (
            """linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%b : memref<64x64xf32>) {
  ^bb0(%y: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    linalg.yield %y : f32
  }""",
            "expected a dimension of the 2 of 'linalg.generic', from 0, found 2",
        ),
        (
            '"linalg.batch_matmul"(%a, %b) : (memref<64x64xf32>, memref<64x64xf32>) -> ()',
            "expected an operation of linalg that xDSL knows .*, found 'linalg.batch_matmul'",
        ),
    ],
)
def test_what_has_no_tiles(body: str, message: str) -> None:
    text = f"{MAPS}func.func @f({_ARGUMENTS}) attributes {{tirx.kernel}} {{\n  {body}\n  func.return\n}}"
    module = embed.parse(text, "f.mlir", embed.context(allow_unregistered=True))
    with pytest.raises(LocatedError, match=f"f.mlir:.*{message}"):
        embed.run(module, [TirxTileLinalgPass((32, 32, 32), 64, "sm_80")])


@together(
    ("layout", "message"),
    [
        ("affine_map<(d0, d1) -> (d0 * 64 + d1)>", "expected a memref with a strided layout of its rank, found "),
        ("strided<[1]>", "expected a memref with a strided layout of its rank, found "),
        ("strided<[?]>", "expected a memref with a strided layout of its rank, found "),
        ("strided<[64, 1], offset: 4>", "expected a memref that starts at its pointer, without an offset, found "),
        ("strided<[?, 1], offset: ?>", "expected a memref that starts at its pointer, without an offset, found "),
        ("strided<[-64, 1]>", "expected strides of 0 or more, found "),
        ("strided<[64, 1]>, 3 : i32", "expected a memref in global memory, without a memory space, found "),
    ],
)
@together("index", ["id", "nm"])
def test_arguments_of_which_no_tile_is_a_view(layout: str, message: str, index: str) -> None:
    source = f"memref<64x64xf32, {layout}>"
    text = f"""{MAPS}func.func @f(%a: {source}, %b: memref<64x64xf32>) {{
  linalg.generic {{indexing_maps = [#{index}, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%a : {source}) outs(%b : memref<64x64xf32>) {{
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }}
  func.return
}}"""
    with pytest.raises(LocatedError) as error:
        embed.run(embed.parse(text, "f.mlir", embed.context()), [TirxTileLinalgPass((32, 32, 32), 64, "sm_80")])
    assert message + source.partition(",")[0] in str(error.value)


@together(
    ("tile", "threads", "target", "message"),
    [
        ((32,), 64, "sm_80", "expected 2 tile sizes, 2 of the last parallel dimensions, found 1"),
        ((0, 32, 32), 64, "sm_80", "expected positive tile sizes, found 0,32,32"),
        ((1, 2, 3, 4), 64, "sm_80", "expected at most 3 tile sizes, of two dimensions and a reduction, found 1,2,3,4"),
        ((1 << 40, 32, 32), 64, "sm_80", "expected at most 1048576 elements"),
        ((32, 32, 32), 0, "sm_80", "expected 1 to 1024 threads, found 0"),
        ((32, 32, 32), 64, "sm_1", "unknown target 'sm_1'"),
    ],
)
def test_what_no_kernel_has(tile: tuple[int, ...], threads: int, target: str, message: str) -> None:
    copy = '"memref.copy"(%a, %d) : (memref<40x24xf32>, memref<40x24xf32>) -> ()'
    arguments = "%a: memref<40x24xf32>, %d: memref<40x24xf32>"
    text = f"func.func @f({arguments}) attributes {{tirx.kernel}} {{\n  {copy}\n  func.return\n}}"
    with pytest.raises(LocatedError, match=f"f.mlir:1:.*{message}"):
        embed.run(embed.parse(text, "f.mlir"), [TirxTileLinalgPass(tile, threads, target)])


@pytest.mark.parametrize("sizes", [(16, 8), (1, 2, 0), (1, 2, 3, 4)])
def test_sizes_that_no_product_has(sizes: tuple[int, ...]) -> None:
    text = "func.func @f(%a: memref<8xf32>) attributes {tirx.kernel} {\n  func.return\n}"
    found = ",".join(map(str, sizes))
    with pytest.raises(LocatedError, match=f"f.mlir:1:.*expected sizes: M, N and K of 1 or more, found {found}"):
        embed.run(embed.parse(text, "f.mlir"), [TirxTileLinalgPass(target="sm_80", sizes=sizes)])


@together("variants", [0, -1])
def test_numbers_of_variants(variants: int) -> None:
    text = "func.func @f(%a: memref<8xf32>) attributes {tirx.kernel} {\n  func.return\n}"
    with pytest.raises(LocatedError, match=f"f.mlir:1:.*expected variants of 1 or more, found {variants}"):
        embed.run(embed.parse(text, "f.mlir"), embed.pipeline("sm_80", options=f"variants={variants}"))


@together("threads", [0, 1, 1024, 1025])
def test_numbers_of_threads(threads: int) -> None:
    text = """
func.func @f(%a: memref<8x8xf32>, %b: memref<8x8xf32>) attributes {tirx.kernel} {
  "memref.copy"(%a, %b) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  func.return
}"""
    module = embed.parse(text, "f.mlir")
    passes = (TirxTileLinalgPass((8, 8), threads, "sm_80"),)
    if 1 <= threads <= 1024:
        embed.run(module, passes)
        return
    with pytest.raises(LocatedError) as error:
        embed.run(module, passes)
    assert error.value.message == f"expected 1 to 1024 threads, found {threads}"
