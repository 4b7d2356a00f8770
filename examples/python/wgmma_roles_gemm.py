"""d = a b^T by roles: one warpgroup loads into a ring of four slots, and two multiply from it."""

from typing import Any

import tirx as tx
from tirx import Array, Scalar, f16, f32, index, op

SWIZZLED = "ComposeLayout(Swizzle(3, 3, 3), S[({rows}, 64):(64, 1)])"
A, B = (f16[rows, 64].tile("shared", SWIZZLED.format(rows=rows)) for rows in (128, 256))
SUMS = f32[128, 256].tile("register", "S[(2,4,2,8,32,4,2):(4@warpid,1@warpid,2,4@laneid,4,1@laneid,1)]")
GA, GB, GD = (each.tile("global") for each in (f16[128, 64], f16[256, 64], f32[128, 256]))
PENDING = tx.attribute(f"!tirx.pending<{SUMS}>")
RING = tx.attribute(f"!tirx.ring<a: {A}, b: {B}>")
TILES: dict[str, Any] = {"loop": "tile", "order": "group", "group": 8}
STATIONS = tx.attribute('["fill", "use"]')


@tx.jit(f16[None, 256], f16[None, 256], f32[None, 512], index, index, index, threads=384, target="sm_90a")
def wgmma_roles_gemm(a: Array, b: Array, d: Array, rows: Scalar, columns: Scalar, steps: Scalar) -> None:
    ab = op.tirx.ring(slots=4, stations=STATIONS, to=RING)

    @tx.region()
    def math() -> None:
        @tx.region(index, index)
        def tile(i: Scalar, j: Scalar) -> None:
            @tx.region(index, PENDING)
            def loop(step: Scalar, acc: object) -> None:
                sa, sb = op.tirx.acquire(ab, station="use", to=[A, B])
                product = op.tirx.async_mma(sa, sb, acc, to=PENDING)
                op.tirx.release(ab, station="use", after="wgmma")
                op.tirx.await_(queue="wgmma", pending=1)
                op.tirx.yield_([product])

            sums = op.tirx.for_([steps], [op.tirx.zero(to=SUMS)], body=loop, loop="k", to=PENDING)
            sums = op.tirx.await_([sums], to=SUMS)
            op.tirx.store(sums, op.tirx.view(d, [i * 128, j * 256], to=GD))

        op.tirx.tiles([], [rows, columns], body=tile, **TILES)

    @tx.region()
    def load() -> None:
        @tx.region(index, index)
        def tile(i: Scalar, j: Scalar) -> None:
            @tx.region(index)
            def loop(step: Scalar) -> None:
                sa, sb = op.tirx.acquire(ab, station="fill", to=[A, B])
                op.tirx.async_copy(op.tirx.view(a, [i * 128, step * 64], to=GA), sa, engine="tma")
                op.tirx.async_copy(op.tirx.view(b, [j * 256, step * 64], to=GB), sb, engine="tma")
                op.tirx.release(ab, station="fill", after="tma")
                op.tirx.yield_()

            op.tirx.for_([steps], body=loop, loop="k")

        op.tirx.tiles([], [rows, columns], body=tile, **TILES)

    @tx.region()
    def roles() -> None:
        op.tirx.role(body=math, sym_name="math", warps=8, registers=232)
        op.tirx.role(body=load, sym_name="load", warps=4, registers=40)

    op.tirx.roles(body=roles)
