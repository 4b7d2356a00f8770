"""Random kernels that copy a tile to shared memory and back by the engines of a target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from unit.sim.assembled import assembled

import tirx
from tirx.layout import ComposeLayout, SwizzleLayout, SwizzleMode, TileLayout
from tirx.layout.dtypes import element_type

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "i32": np.int32,
}
TARGETS = {"tma": ("sm_90a", "sm_100a"), "cp_async": ("sm_80", "sm_90a", "sm_100a"), "ld_st": ("sm_80", "sm_100a")}
ROWS: dict[SwizzleMode, tuple[int, ...]] = {"none": (16, 32, 64, 96), "32B": (32,), "64B": (64,), "128B": (128,)}
BLOCKS = 2


@dataclass(frozen=True)
class BulkKernel:
    """
    Every block loads its tile of `a`, stores it to the same place of `d`, and to its own tile of `e`.

    `shape` and `strides` (elements) are those of `a` and `d`, of which the first `shape[0]` rows exist.
    """

    dtype: str
    target: str
    load: str
    store: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tile: tuple[int, ...]
    offset: tuple[int, ...]
    layout: TileLayout | ComposeLayout
    clipped: bool = False
    """Views are clipped: tiles may reach beyond all sizes, which are static."""

    @property
    def text(self) -> str:
        rank, dims = len(self.shape), "x".join(map(str, self.tile))
        sizes = "x".join((str(self.shape[0]) if self.clipped else "?", *map(str, self.shape[1:])))
        clipped = " clipped" if self.clipped else ""
        memref = f"memref<{sizes}x{self.dtype}, strided<[{', '.join(map(str, self.strides))}]>>"
        copied = f"memref<{BLOCKS}x{dims}x{self.dtype}>"
        name = "compose_layout" if isinstance(self.layout, ComposeLayout) else "tile_layout"
        layout = str(self.layout)
        if isinstance(self.layout, ComposeLayout):
            swizzle = self.layout.swizzle.arguments
            layout = f"#tirx.swizzle_layout<{swizzle}>, #tirx.tile_layout<{self.layout.tile}>"
        shared, view = (
            f"!tirx.tile<{dims}x{self.dtype}, shared, #tirx.{name}<{layout}>>",
            f"!tirx.tile<{dims}x{self.dtype}, global>",
        )
        constants = "\n".join(f"  %o{d} = arith.constant {at} : index" for d, at in enumerate(self.offset))
        indices = ", ".join(("%m", *(f"%o{d}" for d in range(1, rank))))
        return f"""
tirx.kernel @k(%a: {memref}, %d: {memref}, %e: {copied}) target("{self.target}") grid({BLOCKS}) threads(64) {{
  %i = tirx.block_id x
  %zero = arith.constant 0 : index
  %rows = arith.constant {self.tile[0]} : index
{constants}
  %at = arith.muli %i, %rows : index
  %m = arith.addi %at, %o0 : index
  %s = tirx.alloc : {shared}
  %ga = tirx.view %a[{indices}]{clipped} : {memref} -> {view}
  %gd = tirx.view %d[{indices}]{clipped} : {memref} -> {view}
  %ge = tirx.view %e[%i, {", ".join("%zero" for _ in self.tile)}] : {copied} -> {view}
  tirx.copy %ga, %s engine {self.load} : {view}, {shared}
  tirx.copy %s, %gd engine {self.store} : {shared}, {view}
  tirx.copy %s, %ge : {shared}, {view}
  tirx.return
}}
"""

    def check(self, seed: int) -> None:
        """Compiles, assembles and simulates the kernel, and compares every element."""
        program = tirx.build(self.text)
        assembled(program.ptx)
        rng = np.random.default_rng(seed)
        a, d = self._array(rng), self._array(None)
        e = np.zeros((BLOCKS, *self.tile), DTYPES[self.dtype])
        program.kernels["k"].simulate(a, d, e, check="strict", seed=seed)
        expected = np.zeros_like(np.ascontiguousarray(d))
        for block in range(BLOCKS):
            starts = (self.offset[0] + block * self.tile[0], *self.offset[1:])
            region = tuple(slice(at, at + n) for at, n in zip(starts, self.tile, strict=True))
            part = np.ascontiguousarray(a[region])
            expected[region] = part
            whole = np.zeros(self.tile, DTYPES[self.dtype])
            whole[tuple(slice(0, n) for n in part.shape)] = part
            assert e[block].tobytes() == whole.tobytes(), self
        assert np.ascontiguousarray(d).tobytes() == expected.tobytes(), self

    def _array(self, rng: np.random.Generator | None) -> Array:
        """An array of this shape and strides with small random integers, or zeros."""
        dtype = np.dtype(DTYPES[self.dtype])
        size = 1 + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        flat = np.zeros(size, dtype) if rng is None else rng.integers(-7, 8, size).astype(dtype)
        return np.lib.stride_tricks.as_strided(flat, self.shape, [n * dtype.itemsize for n in self.strides])


def random_kernel(seed: int) -> BulkKernel:
    """The kernel of a seed: rank, types, strides, offsets, swizzles and the order of atoms are random."""
    rng = Random(seed)
    load = rng.choice(("tma", "tma", "cp_async", "ld_st"))
    target = rng.choice(TARGETS[load])
    store = "tma_store" if target != "sm_80" and rng.random() < 0.6 else "ld_st"
    dtype = rng.choice(tuple(DTYPES))
    bits = element_type(dtype).storage_bits
    mode = rng.choice(tuple(ROWS))
    row = rng.choice(ROWS[mode]) * 8 // bits
    rank = rng.choice((1, 2, 2, 3, 4)) if mode == "none" else rng.choice((2, 3, 4))
    chunks = rng.choice((1, 1, 2, 3))
    outer = (rng.choice((2, 8, 16, 24)), *(rng.choice((1, 2, 3)) for _ in range(rank - 2)))[: rank - 1]
    tile = (*outer, chunks * row)
    # The chunks of a row are planes behind the others, or neighbours without a swizzle.
    behind = prod(outer) * row
    if rank == 1:
        layout = TileLayout.parse(f"S[{tile[0]} : 1]")
    elif behind * bits // 8 % 1024 == 0 or chunks == 1:
        strides = [row * prod(outer[k + 1 :]) for k in range(rank - 1)]
        text = f"S[({', '.join(map(str, (*outer, chunks, row)))}) : ({', '.join(map(str, (*strides, behind, 1)))})]"
        layout = TileLayout.parse(text)
    else:
        mode = "none"
        layout = TileLayout.row_major(tile)
    if mode != "none":
        layout = ComposeLayout(SwizzleLayout.for_dtype(dtype, mode), layout)
    unit = 16 * 8 // bits
    inner = tile[-1] + rng.choice((0, 1, 5, 24))
    extents = [n + rng.choice((0, 1, 4)) for n in tile[:-1]]
    shape = [*extents, inner]
    if rank > 1 or load == "ld_st":
        shape[0] = BLOCKS * tile[0] + rng.choice((0, 3))
    else:
        shape[0] = BLOCKS * tile[0]
    strides = [1] * rank
    for k in reversed(range(rank - 1)):
        strides[k] = -(-strides[k + 1] * shape[k + 1] // unit) * unit + rng.choice((0, unit))
    offset = tuple(rng.randrange(0, shape[d] - (1 if d else BLOCKS) * n + 1) for d, n in enumerate(tile))
    if load != "tma":
        # Threads need whole vectors or fall back to single elements; copies of less than 4 bytes do not exist.
        offset = (*offset[:-1], offset[-1] // unit * unit) if rank > 1 else (0,)
    return BulkKernel(dtype, target, load, store, tuple(shape), tuple(strides), tile, offset, layout)


def random_clipped_kernel(seed: int) -> BulkKernel:
    """A kernel like that of `random_kernel` on tensors that end anywhere, some before the tile begins."""
    rng = Random(seed)
    kernel = random_kernel(seed)
    while len(kernel.shape) < 2 or (kernel.load == "tma" and kernel.store != "tma_store" and rng.random() < 0.5):
        kernel = random_kernel(rng.randrange(1 << 20))
    shape = [max(1, n - rng.randrange(0, min(n, 2 * t) + 1)) for n, t in zip(kernel.shape, kernel.tile, strict=True)]
    shape[0] = max(1, kernel.shape[0] - rng.choice((0, 1, kernel.tile[0], kernel.tile[0] + 1)))
    return replace(kernel, shape=tuple(shape), clipped=True)
