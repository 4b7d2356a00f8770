"""
tirx inside another compiler: build a kernel from xDSL objects, run tirx's passes with one of your own between them,
print PTX.

    python examples/embed.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import StringIO

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, f16, f32
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.dialects import tcgen05
from tirx.dialects.tirx import (
    AllocOp,
    BlockIdOp,
    CopyOp,
    FillOp,
    GridAxis,
    KernelOp,
    MemorySpace,
    MmaOp,
    ReturnOp,
    TileType,
    ViewOp,
)
from tirx.passes import lower_to_ptx_passes
from tirx.ptx.printer import PtxTarget
from tirx.text.verification import run_passes
from tirx.universe import new_context


def gemm(m: int, n: int, k: int, target: str) -> ModuleOp:
    """D = A * B^T for f16 matrices of `m` x `k` and `n` x `k` elements, in blocks of 128 x 128."""
    tile_m, tile_n, tile_k = 128, 128, 64
    kernel = KernelOp(
        "gemm",
        [MemRefType(f16, [m, k]), MemRefType(f16, [n, k]), MemRefType(f32, [m, n])],
        threads=128,
        target=target,
        grid=(n // tile_n, m // tile_m),
    )
    a, b, d = kernel.body.block.args
    build = Builder(InsertPoint.at_end(kernel.body.block))

    def index(value: int):
        return build.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result

    row = build.insert(arith.MuliOp(build.insert(BlockIdOp(GridAxis.Y)), index(tile_m))).result
    column = build.insert(arith.MuliOp(build.insert(BlockIdOp(GridAxis.X)), index(tile_n))).result
    shared_a = build.insert(AllocOp(TileType.get((tile_m, tile_k), f16, MemorySpace.SHARED))).result
    shared_b = build.insert(AllocOp(TileType.get((tile_n, tile_k), f16, MemorySpace.SHARED))).result
    accumulator = build.insert(AllocOp(TileType.get((tile_m, tile_n), f32, MemorySpace.TENSOR))).result
    build.insert(FillOp(accumulator, build.insert(arith.ConstantOp(FloatAttr(0.0, f32))).result))

    body = Block(arg_types=[IndexType()])
    build.insert(scf.ForOp(index(0), index(k), index(tile_k), [], Region(body)))
    loop = Builder(InsertPoint.at_end(body))
    step = body.args[0]
    for matrix, start, tile, extent in ((a, row, shared_a, tile_m), (b, column, shared_b, tile_n)):
        view = loop.insert(ViewOp(matrix, [start, step], TileType.get((extent, tile_k), f16, MemorySpace.GLOBAL)))
        loop.insert(CopyOp(view.result, tile))
    loop.insert(MmaOp(shared_a, shared_b, accumulator))
    loop.insert(scf.YieldOp())

    result = build.insert(ViewOp(d, [row, column], TileType.get((tile_m, tile_n), f32, MemorySpace.GLOBAL))).result
    build.insert(CopyOp(accumulator, result))
    build.insert(ReturnOp())
    return ModuleOp([kernel])


@dataclass(frozen=True)
class CountProductsPass(ModulePass):
    """A pass that tirx knows nothing of: it looks at the hardware level and counts instructions."""

    name = "count-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = sum(isinstance(inner, tcgen05.MmaOp) for inner in op.walk())
        print(f"// {count} tcgen05.mma for every step of the loop", file=sys.stderr)


def main() -> str:
    """PTX of the kernel."""
    module = gemm(512, 512, 256, "sm_100a")
    passes = list(lower_to_ptx_passes().passes)
    after = next(i for i, p in enumerate(passes) if p.name == "convert-tirx-to-tcgen05")
    passes.insert(after + 1, CountProductsPass())
    context = new_context()
    run_passes(context, module, passes)
    ptx = StringIO()
    PtxTarget().emit(context, module, ptx)
    return ptx.getvalue()


if __name__ == "__main__":
    print(main())
