"""d = (a sa) (b sb)^T of e2m1 with a factor of e4m3 for every 16 numbers along K, by pairs of blocks."""

import tirx as tx
from tirx import Array, e2m1, e4m3, f32

FACTORS = (8192, 4, 16, 512, 1)


@tx.jit(
    e2m1[256, 1024],
    e2m1[512, 1024],
    e4m3[2, 4, 32, 16, 4].strided(*FACTORS),
    e4m3[4, 4, 32, 16, 4].strided(*FACTORS),
    f32[256, 512],
    threads=128,
    target="sm_100a",
    cluster=2,
)
def pair_nvfp4_gemm(a: Array, b: Array, sfa: Array, sfb: Array, d: Array) -> None:
    m, n = tx.grid((256, 256), (512, 256))
    sa, sb = (tx.allocate(e4m3[rows, 16].shared) for rows in (256, 256))
    ta, tb = (tx.allocate(e4m3[rows, 16].tile("tensor")) for rows in (256, 256))
    acc = tx.accumulator(f32, (256, 256))
    acc[:, :] = 0
    for k in tx.tiles(1024, 256):
        sa.reshape(2, 4, 32, 4, 4)[...] = sfa[m // 128, :, :, k // 64, :]
        sb.reshape(2, 4, 32, 4, 4)[...] = sfb[n // 128, :, :, k // 64, :]
        ta[:, :], tb[:, :] = sa, sb
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, scale_a=ta, scale_b=tb)
    d[m, n] = acc
