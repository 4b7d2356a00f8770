"""Products of matrices with rings, written for many engines, numbers of slots and roles, and what numpy says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.assembled import assembled

import tirx
from tirx.runtime.program import Kernel

Array = npt.NDArray[Any]

STEP = 16
"""Elements along K of a slot."""


@dataclass(frozen=True)
class RingKernel:
    """
    D = 2 A B^T (with an `output` ring, A B^T) of 64x64 tiles, `STEP` elements of K in a slot.

    `skew`: rounds that the fill runs ahead where the same threads fill and multiply. `roles`: the fill has warps of its
    own, without a skew. `tiles`: the blocks go through all tiles of D, otherwise there is one. `engine` fills slots.
    `use_first`: the slot that is read is acquired in front of the fill of the same round.
    `registers`: those of each thread in the role that fills and in the one that multiplies. `output`: slots of a ring
    through which D is stored by TMA; 0 for stores from registers. `cluster`: two blocks share B, of which each loads a
    half for both (roles and TMA only).
    """

    slots: int = 3
    skew: int = 2
    roles: bool = False
    tiles: bool = False
    engine: str = "ld_st"
    use_first: bool = False
    output: int = 0
    registers: tuple[int, int] | None = None
    cluster: bool = False

    @property
    def target(self) -> str:
        return "sm_90a" if self.engine == "tma" or self.output or self.registers else "sm_80"

    @property
    def threads(self) -> int:
        return 256 if self.roles else 128

    @property
    def text(self) -> str:
        """The kernel, whose number of iterations along K is an argument."""
        fill = """
          %kk = arith.muli %k, %step : index
          %ga = tirx.view %a[%m, %kk] : memref<?x128xf16> -> !g
          %gb = tirx.view %b[%n, %kk] : memref<?x128xf16> -> !g
          %fa, %fb = tirx.acquire %ab at(fill)
          COPY %ga, %fa ENGINE : !g, !s
          COPY %gb, %fb ENGINE : !g, !s
          tirx.release %ab at(fill) AFTER"""
        if self.engine == "ld_st":
            fill = fill.replace("COPY", "tirx.copy").replace("ENGINE", "").replace("AFTER", "")
        else:
            fill = fill.replace("COPY", "tirx.async_copy").replace("ENGINE", f"engine({self.engine})")
            fill = fill.replace("AFTER", f"after({self.engine})")
        if self.cluster:
            halves = [
                f"%h{i} = tirx.subview %fb[{i}, 0] : !s -> !h{i} "
                f"tirx.async_copy %gb, %h{i} engine(tma_multicast) : !hg, !h{i}"
                for i in (0, 32)
            ]
            fill = fill.replace("%b[%n, %kk] : memref<?x128xf16> -> !g", "%b[%half, %kk] : memref<?x128xf16> -> !hg")
            fill = fill.replace(
                "tirx.async_copy %gb, %fb engine(tma) : !g, !s",
                f"scf.if %first {{ {halves[0]} }} else {{ {halves[1]} }}",
            )
        acquire = "%ua, %ub = tirx.acquire %ab at(use)"
        use = f"""
          {"" if self.use_first else acquire}
          %xa = tirx.load %ua : !s -> !f
          %xb = tirx.load %ub : !s -> !f
          %product = tirx.mma %xa, %xb, %acc : !f, !f, !acc -> !acc
          tirx.release %ab at(use)
          tirx.yield %product"""
        coordinates = """
          %m = arith.muli %i, %c64 : index
          %n = arith.muli %j, %c64 : index"""
        if self.cluster:
            coordinates = """
          %rank = tirx.cta_rank
          %even = arith.addi %i, %i : index
          %row = arith.addi %even, %rank : index
          %m = arith.muli %row, %c64 : index
          %n = arith.muli %j, %c64 : index
          %above = arith.muli %rank, %c32 : index
          %half = arith.addi %n, %above : index
          %first = arith.cmpi eq, %rank, %zero : index"""
        store = """
          %twice = tirx.map ins(%sum : !acc) {
          ^bb0(%x: f32):
            %y = arith.addf %x, %x : f32
            tirx.yield %y : f32
          } -> !acc
          %gd = tirx.view %d[%m, %n] : memref<?x128xf32> -> !tirx.tile<64x64xf32, global>
          tirx.store %twice, %gd : !acc, !tirx.tile<64x64xf32, global>"""
        rings = ""
        if self.output:
            rings = f"%out = tirx.ring slots({self.output}) stations(write, store) : !tirx.ring<!o>"
            store = f"""
          %gd = tirx.view %d[%m, %n] : memref<?x128xf32> -> !tirx.tile<64x64xf32, global>
          %o = tirx.acquire %out at(write)
          tirx.store %sum, %o : !acc, !o
          tirx.release %out at(write)
          %full = tirx.acquire %out at(store)
          tirx.async_copy %full, %gd engine(tma_store) : !o, !tirx.tile<64x64xf32, global>
          tirx.release %out at(store) after(store)
          tirx.await store pending({self.output - 1})"""
        end = "tirx.await store pending(0)" if self.output > 1 else ""
        skew = f"skew({self.skew})" if self.skew else ""
        loop = f"%sum = tirx.for @k %k = 0 to %nk {skew} iter(%acc = %zeros)"
        if self.roles:
            load = f"{coordinates} tirx.for @k %k = 0 to %nk {{ {fill} }}"
            math = f"{coordinates} %zeros = tirx.zero : !acc {loop} {{ {use} }} {store}"
            first, second = ("", "") if self.registers is None else (f"registers({count})" for count in self.registers)
            body = f"""
            tirx.roles {{
              tirx.role @load warps(4) {first} {{ {self._tiles(load)} }}
              tirx.role @math warps(4) {second} {{ {self._tiles(math)} {end} }}
            }}"""
        elif self.skew:
            first = f"%ua, %ub = tirx.at({self.skew}) {{ {acquire} tirx.yield %ua, %ub }}" if self.use_first else ""
            parts = f"{first} tirx.at(0) {{ {fill} }} %next = tirx.at({self.skew}) {{ {use} }} tirx.yield %next"
            body = self._tiles(f"{coordinates} %zeros = tirx.zero : !acc {loop} {{ {parts} }} {store}") + end
        else:
            body = self._tiles(f"{coordinates} %zeros = tirx.zero : !acc {loop} {{ {fill} {use} }} {store}") + end
        cluster, across = ("cluster(2) per_cta", "across(cluster)") if self.cluster else ("", "")
        return f"""
        !s = !tirx.tile<64x{STEP}xf16, shared, #tirx.tile_layout<S[(64, {STEP}) : ({STEP}, 1)]>>
        !g = !tirx.tile<64x{STEP}xf16, global>
        !f = !tirx.tile<64x{STEP}xf16, register>
        !h0 = !tirx.tile<32x{STEP}xf16, shared, #tirx.tile_layout<S[(32, {STEP}) : ({STEP}, 1)]>>
        !h32 = !tirx.tile<32x{STEP}xf16, shared, #tirx.tile_layout<S[(32, {STEP}) : ({STEP}, 1)] + {32 * STEP}>>
        !hg = !tirx.tile<32x{STEP}xf16, global>
        !acc = !tirx.tile<64x64xf32, register>
        !o = !tirx.tile<64x64xf32, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
        tirx.kernel @product(%a: memref<?x128xf16>, %b: memref<?x128xf16>, %d: memref<?x128xf32>, %nk: index,
            %tm: index, %tn: index) target("{self.target}") {cluster} threads({self.threads}) {{
          %step = arith.constant {STEP} : index
          %c64 = arith.constant 64 : index
          %i = arith.constant 0 : index
          %j = arith.constant 0 : index
          %c32 = arith.constant 32 : index
          %zero = arith.constant 0 : index
          %ab = tirx.ring slots({self.slots}) stations(fill, use) {across} : !tirx.ring<a: !s, b: !s>
          {rings}
          {body}
          tirx.return
        }}
        """

    def _tiles(self, body: str) -> str:
        if not self.tiles:
            return body
        inner = re.sub(r"%(i|j)\b", r"%t\1", body)
        return f"tirx.tiles @tile %ti, %tj = order(group 2) of (%tm, %tn) {{ {inner} }}"


@lru_cache(maxsize=64)
def kernel_of(kernel: RingKernel) -> Kernel:
    """The compiled kernel, whose PTX ptxas has assembled."""
    program = tirx.build(kernel.text)
    assembled(program.ptx)
    return program.kernels["product"]


def check(kernel: RingKernel, trips: int, blocks: int = 1, seed: int = 0, extents: tuple[int, int] = (1, 1)) -> None:
    """Runs a kernel with `trips` iterations along K on `blocks` blocks and compares it with numpy, bit for bit."""
    rng = np.random.default_rng(seed)
    rows, columns = (64 * extent for extent in extents)
    rows *= 2 if kernel.cluster else 1
    a = rng.integers(-3, 4, (rows, 128)).astype(np.float16)
    b = rng.integers(-3, 4, (columns, 128)).astype(np.float16)
    d: Array = np.full((rows, 128), 7, np.float32)
    expected = d.copy()
    k = STEP * trips
    product = a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T
    expected[:, :columns] = product if kernel.output else 2 * product
    kernel_of(kernel).simulate(a, b, d, trips, *extents, grid=(blocks, 1, 1), check="strict", seed=seed)
    np.testing.assert_array_equal(d, expected)
