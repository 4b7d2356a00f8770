"""One product, written in MLIR, in Python and as `linalg`: the same PTX for every generation of GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tirx
import tirx as tx
from tirx import embed, f16, f32
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass

_MLIR = (Path(__file__).parents[2] / "examples" / "gemm_any_target.mlir").read_text()

_LINALG = """
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
func.func @gemm_any_target(%a: memref<?x256xf16>, %b: memref<?x256xf16>, %bias: memref<?xf16>, %d: memref<?x?xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %d, %c0 : memref<?x?xf16>
  %n = memref.dim %d, %c1 : memref<?x?xf16>
  %sums = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x256xf16>, memref<?x256xf16>) outs(%sums : memref<?x?xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %bias : memref<?x?xf32>, memref<?xf16>) outs(%d : memref<?x?xf16>) {
  ^bb0(%x: f32, %y: f16, %old: f16):
    %wide = arith.extf %y : f16 to f32
    %sum = arith.addf %x, %wide : f32
    %positive = arith.maximumf %sum, %zero : f32
    %half = arith.truncf %positive : f32 to f16
    linalg.yield %half : f16
  }
  func.return
}
"""


@tx.jit(f16[None, 256], f16[None, 256], f16[1, None], f16[None, None], threads=128)
def gemm_any_target(a: tx.Array, b: tx.Array, bias: tx.Array, d: tx.Array) -> None:
    m, n = tx.grid((a.shape[0], 128), (b.shape[0], 64))
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(256, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = tx.maximum(acc + bias[:, n].to(f32), 0.0).to(f16)


def _from_linalg(target: str) -> str:
    module = embed.parse(_LINALG)
    embed.run(module, (TirxTileLinalgPass((128, 64, 64), 128, target), *embed.pipeline()))
    return embed.ptx(module)


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120a"])
@pytest.mark.sample(1)
def test_three_ways(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")  # what passes leave is verified by the tests of passes
    ptx = tirx.compile(_MLIR, target)
    assert f".target {target}" in ptx
    assert tirx.compile(gemm_any_target.module, target) == ptx
    assert _from_linalg(target) == ptx
