"""The instructions, one module for each family; importing the package registers all of them."""

from __future__ import annotations

from tirx.sim.isa import (
    atomics,
    bits,
    bulk,
    compare,
    convert,
    copies,
    floating,
    integer,
    matrix,
    mbarriers,
    memory,
    mma_sync,
    move,
    synchronize,
    tcgen05,
    tensor_maps,
    video,
    warp,
    wgmma,
    wmma,
)

__all__ = [
    "atomics",
    "bits",
    "bulk",
    "compare",
    "convert",
    "copies",
    "floating",
    "integer",
    "matrix",
    "mbarriers",
    "memory",
    "mma_sync",
    "move",
    "synchronize",
    "tcgen05",
    "tensor_maps",
    "video",
    "warp",
    "wgmma",
    "wmma",
]
