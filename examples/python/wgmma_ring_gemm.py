"""d = a b^T by a ring of four slots: a step is loaded two rounds before it is multiplied, in one loop for all warps."""

import tirx as tx
from tirx import Array, Scalar, f16, f32, index, op

SWIZZLED = "ComposeLayout(Swizzle(3, 3, 3), S[({rows}, 64):(64, 1)])"
A, B = (f16[rows, 64].tile("shared", SWIZZLED.format(rows=rows)) for rows in (128, 256))
SUMS = f32[128, 256].tile("register", "S[(2,4,2,8,32,4,2):(4@warpid,1@warpid,2,4@laneid,4,1@laneid,1)]")
GA, GB, GD = (each.tile("global") for each in (f16[128, 64], f16[256, 64], f32[128, 256]))
PENDING = tx.attribute(f"!tirx.pending<{SUMS}>")
RING = tx.attribute(f"!tirx.ring<a: {A}, b: {B}>")
STATIONS = tx.attribute('["fill", "use"]')


@tx.jit(f16[None, 256], f16[None, 256], f32[None, 512], index, index, index, threads=256, target="sm_90a")
def wgmma_ring_gemm(a: Array, b: Array, d: Array, rows: Scalar, columns: Scalar, steps: Scalar) -> None:
    ab = op.tirx.ring(slots=4, stations=STATIONS, to=RING)

    @tx.region(index, index)
    def tile(i: Scalar, j: Scalar) -> None:
        m, n = i * 128, j * 256

        @tx.region(index, PENDING)
        def loop(step: Scalar, acc: object) -> None:
            @tx.region()
            def load() -> None:
                k = step * 64
                sa, sb = op.tirx.acquire(ab, station="fill", to=[A, B])
                op.tirx.async_copy(op.tirx.view(a, [m, k], to=GA), sa, engine="tma")
                op.tirx.async_copy(op.tirx.view(b, [n, k], to=GB), sb, engine="tma")
                op.tirx.release(ab, station="fill", after="tma")
                op.tirx.yield_()

            @tx.region()
            def multiply() -> None:
                sa, sb = op.tirx.acquire(ab, station="use", to=[A, B])
                product = op.tirx.async_mma(sa, sb, acc, to=PENDING)
                op.tirx.release(ab, station="use", after="wgmma")
                op.tirx.await_(queue="wgmma", pending=1)
                op.tirx.yield_([product])

            op.tirx.at(body=load, stage=0)
            op.tirx.yield_([op.tirx.at(body=multiply, stage=2, to=PENDING)])

        sums = op.tirx.for_([steps], [op.tirx.zero(to=SUMS)], body=loop, loop="k", skew=2, to=PENDING)
        op.tirx.store(op.tirx.await_([sums], to=SUMS), op.tirx.view(d, [m, n], to=GD))

    op.tirx.tiles([], [rows, columns], body=tile, loop="tile", order="group", group=8)
