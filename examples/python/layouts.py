"""Tiles with layouts of every memory, from arrays and back."""

import tirx as tx
from tirx import Array, f16, f32

SWIZZLED = f16[8, 64].tile("shared", "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64):(64, 1)])")
STAGES = f32[2, 128, 112].tile("tensor", "S[(2, 128, 112):(112@TCol, 1@TLane, 1@TCol)]")
SCALES = f32[32, 4].tile("tensor", "S[(32, 4):(1@TLane, 1@TCol)] + R[4:32@TLane]")
FRAGMENT = f32[8, 16].tile("register", "S[(8, 2, 4, 2):(4@laneid, 1@warpid, 1@laneid, 1)] + R[2:4@warpid] + 5@warpid")


@tx.jit(f16[8, 64], f16[8, 64], f32[2, 128, 112], f32[32, 4], threads=128, target="sm_100a", grid=[1])
def memories(x: Array, y: Array, d: Array, s: Array) -> None:
    shared, stages, scales = map(tx.allocate, (SWIZZLED, STAGES, SCALES))
    shared[:, :] = x[:, :]
    y[:, :] = shared
    stages[:, :, :] = 2.0
    d[:, :, :] = stages
    scales[:, :] = s[:, :]
    s[:, :] = scales


@tx.jit(f32[8, 16], f32[8, 16], threads=352, target="sm_100a", grid=[1])
def registers(x: Array, y: Array) -> None:
    tile = tx.allocate(FRAGMENT)
    tile[:, :] = x[:, :]
    y[:, :] = tile
