"""d = a b^T in f64 from registers: where each element of the operands and of the sums is, is written."""

import tirx as tx
from tirx import Array, f64

A = f64[64, 16].tile("register", "S[(2,4,8,4,4):(2@warpid,1,4@laneid,4,1@laneid)] + R[2:1@warpid]")
B = f64[64, 16].tile("register", "S[(2,4,8,4,4):(1@warpid,1,4@laneid,4,1@laneid)] + R[2:2@warpid]")
SUMS = f64[64, 64].tile("register", "S[(2,4,8,2,4,4,2):(2@warpid,8,4@laneid,1@warpid,2,1@laneid,1)]")


@tx.jit(f64[256, 128], f64[192, 128], f64[256, 192], threads=128, target="sm_80")
def dgemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 64), (192, 64))
    ra, rb, acc = map(tx.allocate, (A, B, SUMS))
    acc[:, :] = 0
    for k in tx.tiles(128, 16):
        ra[:, :], rb[:, :] = a[m, k], b[n, k]
        tx.op.tirx.mma(ra, rb, acc)
    d[m, n] = acc
