"""d = a b^T with three columns of zeros before every four."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[64, 64], f16[66, 64], f32[64, 64], threads=128, target="sm_100a", grid=[1])
def ws_zero_columns(a: Array, b: Array, d: Array) -> None:
    acc = tx.accumulator(f32, (64, 64))
    acc[:, :] = 0
    tx.op.tirx.mma(tx.shared(a[:, :]), tx.shared(b[:, :]), acc, zero_columns="start = 0, zero = 3, use = 4, shift = 2")
    d[:, :] = acc
