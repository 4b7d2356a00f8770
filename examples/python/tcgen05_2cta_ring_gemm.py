"""d = a b^T by pairs of blocks and roles: a ring of operands, and one of sums in tensor memory for an epilogue."""

from typing import Any

import tirx as tx
from tirx import Array, Scalar, f16, f32, index, op

SWIZZLED = "ComposeLayout(Swizzle(3, 3, 3), S[({rows}, 64):(64, 1)])"
A, B = (f16[rows, 64].tile("shared", SWIZZLED.format(rows=rows)) for rows in (128, 64))
SUMS = f32[128, 128].tile("tensor", "S[(128, 128):(1@TLane, 1@TCol)]")
GA, GB, GD = (each.tile("global") for each in (f16[128, 64], f16[64, 64], f32[128, 128]))
OPERANDS, ACCUMULATORS = (tx.attribute(f"!tirx.ring<{each}>") for each in (f"a: {A}, b: {B}", SUMS))
FILL_USE, SUM_READ = tx.attribute('["fill", "use"]'), tx.attribute('["sum", "read"]')
TILES: dict[str, Any] = {"loop": "tile", "order": "row"}


@tx.jit(
    *(f16[None, 256], f16[None, 256], f32[None, 256], index, index, index),
    threads=256,
    target="sm_100a",
    cluster=2,
    per_cta=True,
)
def tcgen05_2cta_ring_gemm(a: Array, b: Array, d: Array, tm: Scalar, tn: Scalar, nk: Scalar) -> None:
    ab = op.tirx.ring(slots=3, stations=FILL_USE, across="pair", to=OPERANDS)
    acc = op.tirx.ring(slots=2, stations=SUM_READ, across="pair", to=ACCUMULATORS)

    @tx.region()
    def epilogue() -> None:
        @tx.region(index, index)
        def tile(i: Scalar, j: Scalar) -> None:
            m = i * 256 + op.tirx.cta_rank() * 128
            loaded = op.tirx.load(op.tirx.acquire(acc, station="read", to=SUMS), to=f32[128, 128].register)
            op.tirx.release(acc, station="read")
            sums = op.arith.select(nk == 0, tx.zeros(f32, 128, 128), loaded)
            op.tirx.store(sums, op.tirx.view(d, [m, j * 128], to=GD))

        op.tirx.tiles([], [tm, tn], body=tile, **TILES)

    @tx.region()
    def load() -> None:
        @tx.region(index, index)
        def tile(i: Scalar, j: Scalar) -> None:
            rank = op.tirx.cta_rank()
            m, n = i * 256 + rank * 128, j * 128 + rank * 64

            @tx.region(index)
            def loop(step: Scalar) -> None:
                k = step * 64
                sa, sb = op.tirx.acquire(ab, station="fill", to=[A, B])
                op.tirx.async_copy(op.tirx.view(a, [m, k], to=GA), sa, engine="tma")
                op.tirx.async_copy(op.tirx.view(b, [n, k], to=GB), sb, engine="tma")
                op.tirx.release(ab, station="fill", after="tma")
                op.tirx.yield_()

            op.tirx.for_([nk], body=loop, loop="k")

        op.tirx.tiles([], [tm, tn], body=tile, **TILES)

    @tx.region()
    def mma() -> None:
        @tx.region(index, index)
        def tile(i: Scalar, j: Scalar) -> None:
            sums = op.tirx.acquire(acc, station="sum", to=SUMS)

            @tx.region(index)
            def loop(step: Scalar) -> None:
                sa, sb = op.tirx.acquire(ab, station="use", to=[A, B])
                op.tirx.async_mma(sa, sb, sums, accumulate=[step != 0], pair=True)
                op.tirx.release(ab, station="use", after="tcgen05")
                op.tirx.yield_()

            op.tirx.for_([nk], body=loop, loop="k")
            op.tirx.release(acc, station="sum", after="tcgen05")

        op.tirx.tiles([], [tm, tn], body=tile, **TILES)

    @tx.region()
    def roles() -> None:
        op.tirx.role(body=epilogue, sym_name="epilogue", warps=4)
        op.tirx.role(body=load, sym_name="load", warps=1)
        op.tirx.role(body=mma, sym_name="mma", warps=3)

    op.tirx.roles(body=roles)
