"""Functions of structured operations, run by themselves, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects import func

from tirx import embed
from tirx.interp import RunError, run_function
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass
from tirx.runtime.watch import Watch
from tirx.text.verification import CheckError, run_passes

_MAPS = """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
"""
_PRODUCT = """
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %bias: memref<?xf32>, %d: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%d : memref<?x?xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %ye, %xe : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.broadcast ins(%bias : memref<?xf32>) outs(%d : memref<?x?xf32>) dimensions = [0]
  func.return
}
"""
_ARGUMENTS = "%a: memref<4x6xf16>, %b: memref<6x5xf16>, %v: memref<6xf32>, %d: memref<4x5xf32>"


def _function(text: str) -> func.FuncOp:
    function = embed.parse(_MAPS + text, "f.mlir").body.block.first_op
    assert isinstance(function, func.FuncOp)
    return function


def test_the_operands_of_a_product_in_the_other_order() -> None:
    text = _PRODUCT.replace("[#mk, #kn, #mn]", "[#kn, #mk, #mn]").replace("ins(%a, %b :", "ins(%b, %a :")
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((5, 7), (7, 6)))
    run_function(
        _function(text.replace("linalg.broadcast", "//")),
        [a, b, np.zeros(6, np.float32), d := np.ones((5, 6), np.float32)],
    )
    assert np.array_equal(d, 1 + a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("numbers", ["integers", "normal"])
def test_a_product(numbers: str) -> None:
    """Sums of small integers are exact; of others each is within the bound of its error."""
    rng = np.random.default_rng(0)

    def some(*shape: int, dtype: Any = np.float16) -> Any:
        found = rng.integers(-3, 4, shape) if numbers == "integers" else rng.standard_normal(shape)
        return found.astype(dtype)

    a, b, bias, d = some(5, 7), some(7, 6), some(6, dtype=np.float32), some(5, 6, dtype=np.float32)
    expected = d + a.astype(np.float64) @ b.astype(np.float64)
    ran = run_function(_function(_PRODUCT.replace("linalg.broadcast", "//")), [a, b, bias, d], bounds=True)
    assert ran.exact == (numbers == "integers")
    error = ran.errors[3]
    assert error is not None
    assert (np.abs(d - expected) <= error + np.spacing(np.abs(expected).astype(np.float32))).all()


def test_operations_are_done_one_after_the_other() -> None:
    """A largest element of each row, from what the operations before it have left."""
    text = """
func.func @f(%a: memref<3x4xf32>, %v: memref<4xf32>, %d: memref<3xf32>) {
  %wide = memref.alloc() : memref<3x4xf32>
  %turned = memref.alloc() : memref<4x3xf32>
  linalg.broadcast ins(%v : memref<4xf32>) outs(%wide : memref<3x4xf32>) dimensions = [0]
  linalg.add ins(%wide, %a : memref<3x4xf32>, memref<3x4xf32>) outs(%wide : memref<3x4xf32>)
  linalg.transpose ins(%wide : memref<3x4xf32>) outs(%turned : memref<4x3xf32>) permutation = [1, 0]
  linalg.reduce ins(%turned : memref<4x3xf32>) outs(%d : memref<3xf32>) dimensions = [0]
    (%x: f32, %y: f32) {
      %s = arith.maxnumf %x, %y : f32
      linalg.yield %s : f32
    }
  func.return
}"""
    a, v, d = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([9, 0, 0, 1], np.float32), np.full(3, 11, "f4")
    assert run_function(_function(text), [a, v, d]).exact
    assert d.tolist() == [11, 13, 17]


def test_bodies_that_know_their_place() -> None:
    """The last place of the largest element of each row, by two outputs and an index."""
    text = """
func.func @f(%a: memref<3x5xi32>, %most: memref<3xi32>, %where: memref<3xi64>) {
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<3x5xi32>) outs(%most, %where : memref<3xi32>, memref<3xi64>) {
  ^bb0(%x: i32, %old: i32, %at: i64):
    %k = linalg.index 1 : index
    %n = arith.index_cast %k : index to i64
    %more = arith.cmpi sge, %x, %old : i32
    %largest = arith.select %more, %x, %old : i32
    %place = arith.select %more, %n, %at : i64
    linalg.yield %largest, %place : i32, i64
  }
  func.return
}"""
    a = np.array([[3, 9, 9, 1, 0], [5, 5, 5, 5, 5], [-7, -7, -8, -9, -9]], np.int32)
    most, where = np.full(3, -8, np.int32), np.full(3, -1, np.int64)
    run_function(_function(text), [a, most, where])
    assert most.tolist() == [9, 5, -7] and where.tolist() == [2, 4, 1]


@together(
    ("maps", "kinds", "shapes"),
    [
        ("mk,kn->mn", "ppr", [(3, 4), (4, 5), (3, 5)]),
        ("km,nk->mn", "ppr", [(4, 3), (5, 4), (3, 5)]),
        ("mk,k->m", "pr", [(3, 4), (4,), (3,)]),
        ("mkl,kln->mn", "pprr", [(3, 4, 2), (4, 2, 5), (3, 5)]),
        ("mk,n->mn", "ppr", [(3, 4), (5,), (3, 5)]),
        ("m,kn->mn", "ppr", [(3,), (4, 5), (3, 5)]),
        ("bmk,bnk->bmn", "pppr", [(2, 3, 4), (2, 5, 4), (2, 3, 5)]),
        ("mk,nk->nm", "ppr", [(3, 4), (5, 4), (5, 3)]),
        ("mnk,kn->mn", "ppr", [(3, 5, 4), (4, 5), (3, 5)]),
    ],
)
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_sums_of_products(maps: str, kinds: str, shapes: list[tuple[int, ...]], element: str) -> None:
    """Products of matrices, and others: an operand lacks a dimension or has one more, or there are several sums.

    Tensor cores multiply f16, but not f32.
    """
    inputs, _, out = maps.partition("->")
    names = sorted({*maps} & {*"bmn"}, key="bmn".index) + sorted({*maps} & {*"kl"})
    forms = [f"affine_map<({', '.join(names)}) -> ({', '.join(own)})>" for own in (*inputs.split(","), out)]
    elements = [element, element, "f32"]
    types = [f"memref<{'x'.join(map(str, shape))}x{each}>" for shape, each in zip(shapes, elements, strict=True)]
    given = ("", "") if element == "f32" else ("%x = arith.extf %xe : f16 to f32", "%y = arith.extf %ye : f16 to f32")
    own = ("%x", "%y") if element == "f32" else ("%xe", "%ye")
    iterators = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)
    text = f"""
func.func @f(%a: {types[0]}, %b: {types[1]}, %d: {types[2]}) {{
  %none = memref.alloc() : memref<0xf32>
  linalg.generic {{indexing_maps = [{", ".join(forms)}], iterator_types = [{iterators}]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs(%d : {types[2]}) {{
  ^bb0({own[0]}: {element}, {own[1]}: {element}, %acc: f32):
    {given[0]}
    {given[1]}
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""
    rng = np.random.default_rng(3)
    a, b, d = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    expected = d + np.einsum(maps, a, b)
    a, b = (each.astype(element.replace("f", "float")) for each in (a, b))
    assert run_function(_function(text), [a, b, d]).exact
    assert np.array_equal(d, expected)


@together(
    ("text", "kind", "message"),
    [
        (_PRODUCT, "bounds", "f.mlir:.*expected operands with one extent along dimension 1, found 6 and 5"),
        (
            _PRODUCT.replace("memref<?x?xf32>) {", "memref<?x?xf32>, %n: index) {", 1),
            "arguments",
            "expected 5 arguments",
        ),
        (
            f"func.func @f({_ARGUMENTS}) {{\n  %t = memref.alloca() : memref<4xf32>\n  func.return\n}}",
            "unsupported",
            "f.mlir:6:8: expected a scalar variable such as memref<f32>, found memref<4xf32>",
        ),
        (
            f"func.func @f({_ARGUMENTS}) {{\n  %t = memref.alloc() : memref<4x5xf32>\n"
            "  linalg.copy ins(%t : memref<4x5xf32>) outs(%d : memref<4x5xf32>)\n  func.return\n}",
            "never-written",
            "f.mlir:7:3: expected elements that have been written",
        ),
    ],
)
def test_functions_without_a_result(text: str, kind: str, message: str) -> None:
    arguments = [np.zeros((4, 6), "f2"), np.zeros((6, 5), "f2"), np.zeros(6, "f4"), np.zeros((4, 5), "f4")]
    with pytest.raises(RunError, match=message) as error:
        run_function(_function(text), arguments)
    assert error.value.kind == kind


def test_a_fault_of_the_first_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function says what a kernel means, not what `tirx-tile-linalg` has made of it."""
    module = embed.parse(_MAPS + _PRODUCT.replace("linalg.broadcast", "//"), "f.mlir")
    monkeypatch.setattr(TirxTileLinalgPass, "_tile", _without_products(TirxTileLinalgPass._tile))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(
        CheckError, match=r"@f, arguments of .*; first behind tirx-tile-linalg: .* elements of %d differ"
    ):
        run_passes(embed.context(), module, [TirxTileLinalgPass((16, 16, 16), 64, "sm_80")], Watch.of(module).after)


def _without_products(tile: Any) -> Any:
    def made(self: TirxTileLinalgPass, function: func.FuncOp) -> None:
        module = function.parent_op()
        assert module is not None
        tile(self, function)
        for op in [op for op in module.walk() if op.name == "tirx.mma"]:
            op.detach()

    return made
